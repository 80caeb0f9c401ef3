//! An operation with a budget of time: release, transfer, verify, and what takes back.

use crate::id::{AttemptId, OpId};
use crate::protocol::{Operation, Request, Response};
use crate::time::{Instant, Span};

use super::TransportFailure;
use super::attempts::Attempts;
use super::config::Config;
use super::context::Context;
use super::pause::pause_after;

/// The most attempts that are open at once.
const MAX_OPEN: usize = 3;

/// One operation, tried again under its op until it is answered or its time is over.
pub(super) struct Errand {
    request: Request,
    attempts: Attempts,
    /// Attempts that came to nothing.
    failures: u32,
    /// When the next attempt is due.
    next: Instant,
    give_up: Instant,
}

impl Errand {
    /// Sends the first attempt of a new op.
    pub fn start(config: &Config, ctx: &mut Context, operation: Operation) -> Self {
        let request = Request {
            key: config.key.clone(),
            op: ctx.next_op(),
            operation,
        };
        let mut errand = Self::planned(ctx, request, ctx.now);
        errand.send(ctx);
        errand
    }

    /// Sends the first attempt at this instant.
    pub fn planned(ctx: &Context, request: Request, at: Instant) -> Self {
        Self {
            request,
            attempts: Attempts::at_most(MAX_OPEN),
            failures: 0,
            next: at,
            give_up: at + budget(ctx),
        }
    }

    pub fn op(&self) -> OpId {
        self.request.op
    }

    pub fn awaits(&self, attempt: AttemptId) -> bool {
        self.attempts.awaits(attempt)
    }

    pub fn resent(&mut self, attempt: AttemptId, now: Instant) {
        self.attempts.resent(attempt, now);
    }

    /// When this attempt was sent, if it was open.
    pub fn answered(&mut self, attempt: AttemptId) -> Option<Instant> {
        self.attempts.answered(attempt)
    }

    /// Whether some attempt may have been carried out, or may still be.
    pub fn is_in_doubt(&self) -> bool {
        self.attempts.may_take_effect()
    }

    /// Tries again after an answer that does not tell whether the attempt was carried out.
    pub fn unreadable(&mut self, ctx: &mut Context) {
        self.attempts.leave_in_doubt();
        self.back_off(ctx, None);
    }

    fn back_off(&mut self, ctx: &mut Context, retry_after: Option<Span>) {
        self.failures = self.failures.saturating_add(1);
        self.next = ctx.now + pause_after(ctx, self.failures, retry_after);
    }

    /// Whether an answer ends the errand. One that asks to come back later does not: that is planned.
    pub fn is_settled_by(&mut self, ctx: &mut Context, response: &Response) -> bool {
        match response {
            Response::Refused(refusal) if refusal.retry_after.is_some() => {
                self.back_off(ctx, refusal.retry_after);
                false
            }
            _ => true,
        }
    }

    /// Whether this attempt was open. It has failed.
    pub fn failed(
        &mut self,
        ctx: &mut Context,
        attempt: AttemptId,
        failure: TransportFailure,
    ) -> bool {
        let was_open = self.attempts.failed(attempt, failure);
        if was_open {
            self.back_off(ctx, failure.retry_after);
        }
        was_open
    }

    /// When the next attempt is due, or the end.
    pub fn due(&self) -> Instant {
        self.next.min(self.give_up)
    }

    /// Does what is due. Whether there is time left.
    pub fn run(&mut self, ctx: &mut Context) -> bool {
        if self.give_up <= ctx.now {
            return false;
        }
        if self.next <= ctx.now {
            self.send(ctx);
        }
        true
    }

    /// Sends an attempt; if no answer has come after half of the budget, another goes out beside it.
    fn send(&mut self, ctx: &mut Context) {
        let left = self.give_up.since(ctx.now);
        let id = ctx.send(self.request.clone(), left, false);
        self.attempts.sent(ctx, id);
        self.next = ctx.now + budget(ctx).div(2);
    }

    /// Sends the first attempt no later than at this instant.
    pub fn bring_forward(&mut self, ctx: &Context, to: Instant) {
        if !self.attempts.may_take_effect() && to < self.next {
            self.next = to;
            self.give_up = to + budget(ctx);
        }
    }

    /// Awaits nothing any more.
    pub fn abandon(&mut self, ctx: &mut Context) {
        self.attempts.drop_all(ctx);
    }
}

/// Time for all attempts together.
fn budget(ctx: &Context) -> Span {
    ctx.round_trip.budget(ctx.op_timeout)
}
