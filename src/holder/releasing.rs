//! Giving a lease back.

use crate::fence::Fence;
use crate::id::AttemptId;
use crate::protocol::{Operation, Response};

use super::TransportFailure;
use super::config::Config;
use super::context::Context;
use super::errand::Errand;
use super::event::{Done, Event, Failure, Release};
use super::held::HeldLease;
use super::tickets::{Ticket, Tickets};
use super::timers::Timer;

/// A lease on its way back to the host. It is not held any more: the holder was out before the
/// request left.
pub(super) struct Releasing {
    errand: Errand,
    fence: Option<Fence>,
    tickets: Tickets,
}

impl Releasing {
    pub fn start(config: &Config, ctx: &mut Context, held: HeldLease, tickets: Tickets) -> Self {
        let credential = held.credential();
        held.end(ctx, &super::lost("released"));
        let errand = Errand::start(config, ctx, Operation::Release(credential));
        ctx.timers.set(Timer::Attempt, errand.due());
        Self {
            errand,
            fence: credential.fence,
            tickets,
        }
    }

    /// Somebody else wants it released, too.
    pub fn join(&mut self, ctx: &mut Context, ticket: Ticket) {
        self.tickets.add(ctx, ticket);
    }

    /// Takes an answer. Whether that was the end of it.
    pub fn answered(&mut self, ctx: &mut Context, attempt: AttemptId, response: &Response) -> bool {
        if self.errand.answered(attempt).is_none() {
            return false;
        }
        let outcome = match response {
            response if !self.errand.is_settled_by(ctx, response) => None,
            Response::Released { about } if *about == self.fence => Some(Ok(Release::Done)),
            Response::NotHolder { about, ended, .. } if *about == self.fence => {
                Some(Ok(Release::NotHeld(*ended)))
            }
            // The host will not do it: the lease is left to its term's end.
            Response::Refused(refusal) => Some(Err(refusal.into())),
            // Any other makes no sense and tells nothing of what was done: the host is asked again.
            _ => {
                self.errand.unreadable(ctx);
                None
            }
        };
        let is_over = outcome.is_some();
        match outcome {
            Some(outcome) => self.end(ctx, outcome),
            None => ctx.timers.set(Timer::Attempt, self.errand.due()),
        }
        is_over
    }

    pub fn failed(&mut self, ctx: &mut Context, attempt: AttemptId, failure: TransportFailure) {
        if self.errand.failed(ctx, attempt, failure) {
            ctx.timers.set(Timer::Attempt, self.errand.due());
        }
    }

    /// Does what is due. Whether that was the end of it.
    pub fn run(&mut self, ctx: &mut Context) -> bool {
        let goes_on = self.errand.run(ctx);
        if goes_on {
            ctx.timers.set(Timer::Attempt, self.errand.due());
        } else {
            self.end(ctx, Ok(Release::Unconfirmed));
        }
        !goes_on
    }

    /// Whoever asked is told why the host refuses.
    fn end(&mut self, ctx: &mut Context, outcome: Result<Release, Failure>) {
        self.errand.abandon(ctx);
        ctx.timers.stop_all();
        let release = *outcome.as_ref().unwrap_or(&Release::Unconfirmed);
        ctx.emit(Event::Released(release));
        core::mem::take(&mut self.tickets).settle(ctx, &outcome.map(Done::Released));
    }
}
