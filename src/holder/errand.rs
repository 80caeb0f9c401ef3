//! An operation with a fixed budget of time: release, transfer, verify, cancel.

use crate::id::{AttemptId, OpId};
use crate::protocol::{Operation, Request, Response};
use crate::time::{Instant, Span};

use super::config::Config;
use super::context::Context;
use super::event::Timer;
use super::pursuit::Pursuit;
use super::{Due, TransportFailure};

/// A pursuit that is given up when the time for one operation is over.
pub(super) struct Errand {
    pursuit: Pursuit,
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
        Self::send(ctx, request)
    }

    /// Sends the first attempt of this request.
    pub fn send(ctx: &mut Context, request: Request) -> Self {
        Self {
            pursuit: Pursuit::start(ctx, request, attempt_timeout(ctx), false),
            give_up: ctx.now + ctx.op_timeout,
        }
    }

    pub fn op(&self) -> OpId {
        self.pursuit.op()
    }

    pub fn awaits(&self, attempt: AttemptId) -> bool {
        self.pursuit.awaits(attempt)
    }

    /// When the awaited attempt was sent, if `attempt` is that one. It then is awaited no more.
    pub fn answered(&mut self, now: Instant, attempt: AttemptId) -> Option<Instant> {
        self.pursuit.answered(now, attempt)
    }

    /// Whether some attempt may have been carried out without our learning of it.
    pub fn is_in_doubt(&self) -> bool {
        self.pursuit.may_take_effect()
    }

    /// Takes note of an answer that does not tell whether the attempt was carried out.
    pub fn leave_in_doubt(&mut self) {
        self.pursuit.leave_trace();
    }

    /// Tries again later.
    pub fn back_off(&mut self, ctx: &mut Context, retry_after: Option<Span>) {
        self.pursuit.back_off(ctx, retry_after);
    }

    /// Whether an answer ends the errand. One that asks to come back later does not: that is planned.
    pub fn is_settled_by(&mut self, ctx: &mut Context, response: &Response) -> bool {
        match response {
            Response::Refused(refusal) if refusal.retry_after.is_some() => {
                self.pursuit.back_off(ctx, refusal.retry_after);
                false
            }
            _ => true,
        }
    }

    /// Takes note of an attempt that failed, if it is the awaited one.
    pub fn failed(&mut self, ctx: &mut Context, attempt: AttemptId, failure: TransportFailure) {
        if self.pursuit.failed(ctx.now, attempt, failure) {
            self.pursuit.back_off(ctx, failure.retry_after);
        }
    }

    /// Does what is due. Whether there is time left.
    pub fn run_timers(&mut self, ctx: &mut Context) -> bool {
        if self.pursuit.timed_out(ctx) {
            self.pursuit.back_off(ctx, None);
        }
        if self.give_up <= ctx.now {
            return false;
        }
        if self.pursuit.is_rested(ctx.now) {
            let timeout = attempt_timeout(ctx).min(self.give_up.since(ctx.now));
            self.pursuit.send(ctx, timeout, false);
        }
        true
    }

    pub fn due(&self) -> Due {
        (self.pursuit.due().min(self.give_up), Timer::Retry)
    }

    pub fn abandon(&self, ctx: &mut Context) {
        self.pursuit.abandon(ctx);
    }
}

/// Time for one attempt, so that a second fits into the budget.
fn attempt_timeout(ctx: &Context) -> Span {
    ctx.op_timeout.div(2)
}
