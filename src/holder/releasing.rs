//! Giving a lease back.

use alloc::sync::Arc;

use crate::id::AttemptId;
use crate::protocol::{Operation, Response};

use super::TransportFailure;
use super::context::Context;
use super::errand::{Errand, Verdict};
use super::event::{Done, Event, Failure, Release};
use super::held::HeldLease;
use super::tickets::{Ticket, Tickets};
use super::timers::Timer;

/// A lease on its way back to the host. It is not held any more: the holder was out before the
/// request left.
pub(super) struct Releasing {
    errand: Errand,
}

impl Releasing {
    pub fn start(ctx: &mut Context, held: &mut HeldLease, tickets: Tickets) -> Self {
        held.end(ctx, &Failure::lost("released"));
        let release = Operation::Release(held.credential());
        Self {
            errand: Errand::start(ctx, Timer::Attempt, release, tickets),
        }
    }

    /// Somebody else wants it released, too.
    pub fn join(&mut self, ctx: &mut Context, ticket: Ticket) {
        self.errand.tickets.add(ctx, ticket);
    }

    /// Takes an answer. Whether that was the end of it.
    pub fn answered(&mut self, ctx: &mut Context, attempt: AttemptId, response: &Response) -> bool {
        if self.errand.answered(attempt).is_none() || !self.errand.is_settled_by(ctx, response) {
            return false;
        }
        let outcome = match self.errand.read(response) {
            Verdict::Done => Ok(Release::Done),
            Verdict::Ended(ended) => Ok(Release::NotHeld(ended)),
            // The host will not do it: the lease is left to its term's end.
            Verdict::Refused(failure) => Err(failure),
            Verdict::Unreadable => {
                self.errand.unreadable(ctx);
                return false;
            }
        };
        self.end(ctx, outcome);
        true
    }

    pub fn failed(&mut self, ctx: &mut Context, attempt: AttemptId, failure: TransportFailure) {
        self.errand.failed(ctx, attempt, failure);
    }

    /// Does what is due. Whether that was the end of it.
    pub fn run(&mut self, ctx: &mut Context) -> bool {
        let goes_on = self.errand.run(ctx);
        if !goes_on {
            self.end(ctx, Ok(Release::Unconfirmed));
        }
        !goes_on
    }

    /// Whoever asked is told why the host refuses.
    fn end(&mut self, ctx: &mut Context, outcome: Result<Release, Arc<Failure>>) {
        self.errand.abandon(ctx);
        let release = *outcome.as_ref().unwrap_or(&Release::Unconfirmed);
        ctx.emit(Event::Released(release));
        self.errand.end(ctx, outcome.map(Done::Released));
    }
}
