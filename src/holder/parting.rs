//! Ending a lease in favour of a successor, or of a result.

use alloc::boxed::Box;

use crate::id::AttemptId;
use crate::protocol::{Credential, Ended, Finish, Granted, Operation, Response, Transfer};

use super::TransportFailure;
use super::config::Config;
use super::context::Context;
use super::errand::Errand;
use super::event::{Done, Event, Failure, LossReason, Successor};
use super::held::HeldLease;
use super::state::State;
use super::tickets::{Ticket, Tickets};
use super::timers::Timer;

/// A lease on its way out. Nobody holds it meanwhile; it is renewed as before, in case that it comes
/// back.
pub(super) struct Parting {
    errand: Errand,
    way: Way,
    ticket: Ticket,
    pub held: Box<HeldLease>,
    /// Who wants it released if it comes back.
    release: Tickets,
}

/// What it ends for.
pub(super) enum Way {
    Finish(Finish),
    Transfer(Transfer),
}

impl Way {
    fn operation(&self) -> Operation {
        match self {
            Self::Finish(finish) => Operation::Finish(finish.clone()),
            Self::Transfer(transfer) => Operation::Transfer(transfer.clone()),
        }
    }

    fn credential(&self) -> Credential {
        match self {
            Self::Finish(finish) => finish.credential,
            Self::Transfer(transfer) => transfer.credential,
        }
    }

    /// What the answer says was done, if it is the answer to this.
    fn done(&self, response: &Response) -> Option<Done> {
        let own = self.credential().fence;
        match (self, response) {
            (Self::Finish(_), Response::Finished { about }) if *about == own => {
                Some(Done::Finished)
            }
            // Nobody else could have: an earlier attempt did, and its answer was lost.
            (
                Self::Finish(_),
                Response::NotHolder {
                    about,
                    ended: Ended::Finished,
                    ..
                },
            ) if *about == own => Some(Done::Finished),
            (Self::Transfer(transfer), Response::Granted(granted))
                if is_granted(transfer, granted) =>
            {
                Some(Done::Transferred(Successor {
                    holder: transfer.successor.clone(),
                    lease: transfer.lease,
                    fence: granted.fence,
                    ttl: transfer.ttl,
                }))
            }
            _ => None,
        }
    }
}

/// Whether this is the grant that the transfer asked for.
pub(super) fn is_granted(transfer: &Transfer, granted: &Granted) -> bool {
    granted.lease == transfer.lease
        && Some(granted.fence) > transfer.credential.fence
        && granted.ttl <= transfer.ttl
}

/// What follows from a step.
pub(super) enum Next {
    /// Nothing yet.
    Wait,
    /// It has not happened, for this reason: the lease stays with its holder.
    Back(Failure),
    /// It has happened.
    Gone(Done),
    /// The lease has ended.
    Lost(Failure, LossReason),
    /// It may have happened or may still do.
    InDoubt(Failure),
}

impl Parting {
    pub fn start(
        config: &Config,
        ctx: &mut Context,
        mut held: Box<HeldLease>,
        ticket: Ticket,
        way: Way,
    ) -> Self {
        held.go_out(ctx);
        let errand = Errand::start(config, ctx, way.operation());
        ctx.timers.set(Timer::Attempt, errand.due());
        Self {
            errand,
            way,
            ticket,
            held,
            release: Tickets::default(),
        }
    }

    /// Somebody wants the lease released if it comes back.
    pub fn release(&mut self, ctx: &mut Context, ticket: Ticket) {
        self.release.add(ctx, ticket);
    }

    /// Takes an answer. One to a renewal may lengthen the term that the lease comes back to; that it
    /// is not held any more decides nothing, since this may be what has ended it.
    pub fn answered(
        &mut self,
        config: &Config,
        ctx: &mut Context,
        attempt: AttemptId,
        response: &Response,
    ) -> Next {
        if self.errand.answered(attempt).is_none() {
            self.held.answered(config, ctx, attempt, response);
            return Next::Wait;
        }
        if let Some(done) = self.way.done(response) {
            return Next::Gone(done);
        }
        let own = self.way.credential().fence;
        match response {
            response if !self.errand.is_settled_by(ctx, response) => {}
            Response::NotHolder { about, ended, .. } if *about == own => {
                let reason = LossReason::NotHolder(*ended);
                return Next::Lost(super::lost(ended.name()), reason);
            }
            // It has not happened, unless an earlier attempt got through and its answer was lost.
            Response::Refused(_) if self.errand.is_in_doubt() => return Self::in_doubt(),
            Response::Refused(refusal) => return Next::Back(refusal.into()),
            _ => self.errand.unreadable(ctx),
        }
        ctx.timers.set(Timer::Attempt, self.errand.due());
        Next::Wait
    }

    /// Takes note of an attempt that failed.
    pub fn failed(
        &mut self,
        config: &Config,
        ctx: &mut Context,
        attempt: AttemptId,
        failure: TransportFailure,
    ) {
        if self.errand.failed(ctx, attempt, failure) {
            ctx.timers.set(Timer::Attempt, self.errand.due());
        } else {
            self.held.failed(config, ctx, attempt, failure);
        }
    }

    /// Does what is due.
    pub fn run(&mut self, ctx: &mut Context) -> Next {
        if !self.errand.run(ctx) {
            return Self::in_doubt();
        }
        ctx.timers.set(Timer::Attempt, self.errand.due());
        Next::Wait
    }

    fn in_doubt() -> Next {
        Next::InDoubt(Failure::unavailable("no-answer", None))
    }

    /// It has not happened: the lease, if its term is not over, and who wants it released.
    pub fn come_back(
        mut self,
        ctx: &mut Context,
        failure: Failure,
    ) -> Result<(Box<HeldLease>, Tickets), LossReason> {
        self.errand.abandon(ctx);
        ctx.timers.stop(Timer::Attempt);
        ctx.emit(Event::Settled(self.ticket, Err(failure)));
        if self.held.ends() > ctx.now {
            self.held.come_back(ctx);
            return Ok((self.held, self.release));
        }
        let reason = self.held.end_reason();
        Self::lose(ctx, *self.held, self.release, reason);
        Err(reason)
    }

    /// It has happened: where the lease stands now.
    pub fn succeed(mut self, ctx: &mut Context, done: Done) -> State {
        self.errand.abandon(ctx);
        let (event, state) = match self.way {
            Way::Finish(_) => (Event::Finished, State::Finished),
            Way::Transfer(_) => (Event::Transferred, State::Transferred),
        };
        ctx.emit(event);
        ctx.emit(Event::Settled(self.ticket, Ok(done)));
        let why = super::lost(state.name());
        self.held.end(ctx, &why);
        self.release.settle(ctx, &Err(why));
        state
    }

    /// The lease is lost.
    pub fn fail(mut self, ctx: &mut Context, failure: Failure, reason: LossReason) {
        self.errand.abandon(ctx);
        ctx.emit(Event::Settled(self.ticket, Err(failure)));
        Self::lose(ctx, *self.held, self.release, reason);
    }

    /// It may have happened or may still do. The lease has to be taken back, and a transfer, too:
    /// nobody has learnt the successor's id.
    pub fn take_back(self, config: &Config, ctx: &mut Context, failure: Failure) {
        let release = Operation::Release(self.way.credential());
        if let Way::Transfer(_) = self.way {
            ctx.leave_behind(super::request(config, self.errand.op(), Operation::Cancel));
        }
        let op = ctx.next_op();
        ctx.leave_behind(super::request(config, op, release));
        self.fail(ctx, failure, LossReason::NotHolder(Ended::Unknown));
    }

    fn lose(ctx: &mut Context, held: HeldLease, release: Tickets, reason: LossReason) {
        ctx.emit(Event::Lost(reason));
        let why = super::lost(reason.name());
        held.end(ctx, &why);
        release.settle(ctx, &Err(why));
    }
}
