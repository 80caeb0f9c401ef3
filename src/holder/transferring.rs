//! Handing a lease over to a successor.

use alloc::boxed::Box;

use crate::id::AttemptId;
use crate::protocol::{Ended, Granted, Operation, Response, Transfer};

use super::TransportFailure;
use super::config::Config;
use super::context::Context;
use super::errand::Errand;
use super::event::{Done, Event, Failure, LossReason, Successor};
use super::held::Held;
use super::tickets::{Ticket, Tickets};
use super::timers::Timer;

/// A lease on its way to a successor. Nobody holds it meanwhile; it is renewed as before, in case
/// that it comes back.
pub(super) struct Transferring {
    errand: Errand,
    transfer: Transfer,
    ticket: Ticket,
    pub held: Box<Held>,
    /// Who wants it released if it comes back.
    release: Tickets,
}

/// What follows from a step of a transfer.
pub(super) enum Next {
    /// Nothing yet.
    Wait,
    /// The transfer has not happened, for this reason: the lease stays with its holder.
    Back(Failure),
    /// The lease is the successor's.
    Gone(Successor),
    /// The lease has ended.
    Lost(Failure, LossReason),
    /// The transfer may have happened or may still do.
    InDoubt(Failure),
}

impl Transferring {
    pub fn start(
        config: &Config,
        ctx: &mut Context,
        mut held: Box<Held>,
        ticket: Ticket,
        transfer: Transfer,
    ) -> Self {
        held.go_out(ctx);
        let errand = Errand::start(config, ctx, Operation::Transfer(transfer.clone()));
        ctx.timers.set(Timer::Attempt, errand.due());
        Self {
            errand,
            transfer,
            ticket,
            held,
            release: Tickets::default(),
        }
    }

    /// Somebody wants the lease released if it comes back.
    pub fn release(&mut self, ticket: Ticket) {
        self.release.add(ticket);
    }

    /// Takes an answer. One to a renewal may lengthen the term that the lease comes back to; that it
    /// is not held any more decides nothing, since the transfer may be what has ended it.
    pub fn answered(
        &mut self,
        config: &Config,
        ctx: &mut Context,
        attempt: AttemptId,
        response: Response,
    ) -> Next {
        if self.errand.answered(attempt).is_none() {
            self.held.answered(config, ctx, attempt, response);
            return Next::Wait;
        }
        let own = self.transfer.credential.fence;
        match response {
            response if !self.errand.is_settled_by(ctx, &response) => {}
            Response::Granted(granted) if self.is_ours(&granted) => {
                return Next::Gone(Successor {
                    holder: self.transfer.successor.clone(),
                    lease: self.transfer.lease,
                    fence: granted.fence,
                    ttl: self.transfer.ttl,
                });
            }
            Response::NotHolder { about, ended, .. } if about == own => {
                let reason = LossReason::NotHolder(ended);
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

    /// Whether this is the grant that the transfer asked for.
    fn is_ours(&self, granted: &Granted) -> bool {
        granted.lease == self.transfer.lease
            && Some(granted.fence) > self.transfer.credential.fence
            && granted.ttl <= self.transfer.ttl
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

    /// The transfer has not happened: the lease, if its term is not over, and who wants it released.
    pub fn come_back(
        mut self,
        ctx: &mut Context,
        failure: Failure,
    ) -> Option<(Box<Held>, Tickets)> {
        self.errand.abandon(ctx);
        ctx.timers.stop(Timer::Attempt);
        ctx.emit(Event::Settled(self.ticket, Err(failure)));
        if self.held.ends() > ctx.now {
            self.held.come_back(ctx);
            return Some((self.held, self.release));
        }
        Self::lose(ctx, *self.held, self.release, LossReason::Expired);
        None
    }

    /// The lease is the successor's.
    pub fn succeed(mut self, ctx: &mut Context, successor: Successor) {
        self.errand.abandon(ctx);
        ctx.emit(Event::Transferred);
        let done = Done::Transferred(successor);
        ctx.emit(Event::Settled(self.ticket, Ok(done)));
        let why = super::lost("transferred");
        self.held.end(ctx, &why);
        self.release.settle(ctx, &Err(why));
    }

    /// The lease is lost.
    pub fn fail(mut self, ctx: &mut Context, failure: Failure, reason: LossReason) {
        self.errand.abandon(ctx);
        ctx.emit(Event::Settled(self.ticket, Err(failure)));
        Self::lose(ctx, *self.held, self.release, reason);
    }

    /// The transfer may have happened or may still do. Nobody has learnt the successor's id, so the
    /// transfer and the lease itself have to be taken back.
    pub fn take_back(self, config: &Config, ctx: &mut Context, failure: Failure) {
        let release = Operation::Release(self.transfer.credential);
        let requests = [
            super::request(config, self.errand.op(), Operation::Cancel),
            super::request(config, ctx.next_op(), release),
        ];
        self.fail(ctx, failure, LossReason::NotHolder(Ended::Unknown));
        for request in requests {
            ctx.leave_behind(request);
        }
    }

    fn lose(ctx: &mut Context, held: Held, release: Tickets, reason: LossReason) {
        ctx.emit(Event::Lost(reason));
        let why = super::lost(reason.name());
        held.end(ctx, &why);
        release.settle(ctx, &Err(why));
    }
}
