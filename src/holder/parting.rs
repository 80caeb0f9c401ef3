//! Ending a lease in favour of a successor, or of a result.

use alloc::boxed::Box;
use alloc::sync::Arc;

use crate::id::AttemptId;
use crate::protocol::{Ended, Operation, Response};

use super::TransportFailure;
use super::context::Context;
use super::errand::{Errand, Verdict};
use super::event::{Done, Event, Failure, LossReason, Successor};
use super::held::HeldLease;
use super::state::State;
use super::tickets::{Ticket, Tickets};
use super::timers::Timer;

/// A lease on its way out. Nobody holds it meanwhile; it is renewed as before, in case that it comes
/// back.
pub(super) struct Parting {
    /// The transfer or the finish.
    errand: Errand,
    pub held: Box<HeldLease>,
    /// Who wants it released if it comes back.
    release: Tickets,
}

/// How it has come out.
pub(super) enum End {
    /// It has not happened, for this reason: the lease stays with its holder.
    Back(Arc<Failure>),
    /// It has happened.
    Gone(Done),
    /// The lease has ended.
    Lost(Ended),
    /// It may have happened or may still do.
    InDoubt,
}

impl Parting {
    pub fn start(
        ctx: &mut Context,
        mut held: Box<HeldLease>,
        ticket: Ticket,
        operation: Operation,
    ) -> Self {
        held.go_out(ctx);
        Self {
            errand: Errand::start(ctx, Timer::Attempt, operation, Tickets::of(ticket)),
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
        ctx: &mut Context,
        attempt: AttemptId,
        response: &Response,
    ) -> Option<End> {
        if self.errand.answered(attempt).is_none() {
            self.held.answered(ctx, attempt, response);
            return None;
        }
        match self.errand.read(response) {
            Verdict::Done => return Some(End::Gone(self.done(response))),
            _ if !self.errand.is_settled_by(ctx, response) => {}
            Verdict::Ended(ended) => return Some(End::Lost(ended)),
            // It has not happened, unless an earlier attempt got through and its answer was lost.
            Verdict::Refused(_) if self.errand.is_in_doubt() => return Some(End::InDoubt),
            Verdict::Refused(failure) => return Some(End::Back(failure)),
            Verdict::Unreadable => self.errand.unreadable(ctx),
        }
        None
    }

    /// What the answer says was done.
    fn done(&self, response: &Response) -> Done {
        match (self.errand.operation(), response) {
            (Operation::Transfer(transfer), Response::Granted(granted)) => {
                Done::Transferred(Box::new(Successor {
                    holder: transfer.successor.clone(),
                    lease: transfer.lease,
                    fence: granted.fence,
                    ttl: transfer.ttl,
                }))
            }
            _ => Done::Finished,
        }
    }

    /// Takes note of an attempt that failed.
    pub fn failed(&mut self, ctx: &mut Context, attempt: AttemptId, failure: TransportFailure) {
        if !self.errand.failed(ctx, attempt, failure) {
            self.held.failed(ctx, attempt, failure);
        }
    }

    /// Does what is due.
    pub fn run(&mut self, ctx: &mut Context) -> Option<End> {
        (!self.errand.run(ctx)).then_some(End::InDoubt)
    }

    /// It has not happened: the lease, and who wants it released.
    pub fn come_back(
        mut self,
        ctx: &mut Context,
        failure: Arc<Failure>,
    ) -> (Box<HeldLease>, Tickets) {
        self.errand.end(ctx, Err(failure));
        self.held.come_back(ctx);
        (self.held, self.release)
    }

    /// It has happened: where the lease stands now.
    pub fn succeed(&mut self, ctx: &mut Context, done: Done) -> State {
        let (event, state) = match done {
            Done::Transferred(_) => (Event::Transferred, State::Transferred),
            _ => (Event::Finished, State::Finished),
        };
        ctx.emit(event);
        self.errand.end(ctx, Ok(done));
        self.end(ctx, state.name());
        state
    }

    /// The lease is lost.
    pub fn lose(&mut self, ctx: &mut Context, failure: Arc<Failure>, reason: LossReason) {
        self.errand.end(ctx, Err(failure));
        ctx.emit(Event::Lost(reason));
        self.end(ctx, reason.name());
    }

    /// The lease has to be taken back, and a transfer, too: nobody has learnt the successor's id.
    pub fn take_back(&self, ctx: &mut Context) {
        if let Operation::Transfer(_) = self.errand.operation() {
            ctx.leave_cancel(self.errand.op());
        }
        ctx.leave_release(self.held.credential());
    }

    fn end(&mut self, ctx: &mut Context, why: &'static str) {
        let why = Failure::lost(why);
        self.held.end(ctx, &why);
        self.release.settle(ctx, Err(why));
    }
}
