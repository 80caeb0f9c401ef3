//! An operation with a budget of time: release, transfer, finish, entry, verify, and what takes back.

use alloc::sync::Arc;

use crate::id::{AttemptId, OpId};
use crate::protocol::{Credential, Ended, Operation, Request, Response};
use crate::time::{Instant, Span};

use super::TransportFailure;
use super::attempts::Attempts;
use super::context::Context;
use super::event::{Done, Failure};
use super::pause::pause_after;
use super::tickets::Tickets;
use super::timers::Timer;

/// The most attempts that are open at once.
const MAX_OPEN: usize = 3;

/// One operation, tried again under its op until it is answered or its time is over.
pub(super) struct Errand {
    request: Arc<Request>,
    /// Tells when it is due.
    timer: Timer,
    /// Who waits for its outcome.
    pub tickets: Tickets,
    attempts: Attempts,
    /// Attempts that came to nothing.
    failures: u32,
    /// When the next attempt is due.
    next: Instant,
    give_up: Instant,
}

/// What the host says of what was asked.
pub(super) enum Verdict {
    /// It is done.
    Done,
    /// The lease that it is about has ended.
    Ended(Ended),
    /// It will not be done.
    Refused(Arc<Failure>),
    /// Nothing that makes sense here: it does not tell whether the attempt was carried out.
    Unreadable,
}

impl Errand {
    /// A new op. Nothing is sent yet.
    pub fn new(ctx: &mut Context, timer: Timer, operation: Operation, tickets: Tickets) -> Self {
        let op = ctx.next_op();
        let request = ctx.request(op, operation);
        Self {
            tickets,
            ..Self::planned(ctx, timer, request, ctx.now)
        }
    }

    /// Sends the first attempt of a new op.
    pub fn start(ctx: &mut Context, timer: Timer, operation: Operation, tickets: Tickets) -> Self {
        let mut errand = Self::new(ctx, timer, operation, tickets);
        errand.begin(ctx);
        errand
    }

    /// Sends the first attempt: time runs from now on.
    pub fn begin(&mut self, ctx: &mut Context) {
        self.give_up = ctx.now + budget(ctx);
        self.send(ctx);
    }

    /// Sends the first attempt at this instant.
    pub fn planned(ctx: &Context, timer: Timer, request: Arc<Request>, at: Instant) -> Self {
        Self {
            request,
            timer,
            tickets: Tickets::default(),
            attempts: Attempts::at_most(MAX_OPEN),
            failures: 0,
            next: at,
            give_up: at + budget(ctx),
        }
    }

    pub fn op(&self) -> OpId {
        self.request.op
    }

    pub fn operation(&self) -> &Operation {
        &self.request.operation
    }

    /// Proof of holding the lease that it is about.
    pub fn credential(&self) -> Option<&Credential> {
        self.request.operation.credential()
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
        self.arm(ctx);
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

    /// What an answer says of it.
    pub fn read(&self, response: &Response) -> Verdict {
        let own = self.credential().and_then(|own| own.fence);
        match (self.operation(), response) {
            (Operation::Entry(_), Response::Entered { about })
            | (Operation::Finish(_), Response::Finished { about })
            | (Operation::Release(_), Response::Released { about })
                if *about == own =>
            {
                Verdict::Done
            }
            (Operation::Finish(_), Response::NotHolder { about, ended, .. })
                if *about == own && *ended == Ended::Finished =>
            {
                // Nobody else could have: an earlier attempt did, and its answer was lost.
                Verdict::Done
            }
            (Operation::Transfer(transfer), Response::Granted(granted))
                if granted.lease == transfer.lease
                    && Some(granted.fence) > own
                    && granted.ttl <= transfer.ttl =>
            {
                Verdict::Done
            }
            (_, Response::NotHolder { about, ended, .. }) if *about == own => {
                Verdict::Ended(*ended)
            }
            (_, Response::Refused(refusal)) => Verdict::Refused(Failure::refused(refusal)),
            _ => Verdict::Unreadable,
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

    fn arm(&self, ctx: &mut Context) {
        ctx.timers.set(self.timer, self.due());
    }

    /// Does what is due. Whether there is time left.
    pub fn run(&mut self, ctx: &mut Context) -> bool {
        if self.give_up <= ctx.now {
            return false;
        }
        if self.next <= ctx.now {
            self.send(ctx);
        } else {
            self.arm(ctx);
        }
        true
    }

    /// Sends an attempt; if no answer has come after half of the budget, another goes out beside it.
    fn send(&mut self, ctx: &mut Context) {
        let left = self.give_up.since(ctx.now);
        let id = ctx.send(self.request.clone(), left, false);
        self.attempts.sent(ctx, id);
        self.next = ctx.now + budget(ctx).div(2);
        self.arm(ctx);
    }

    /// Sends the first attempt no later than at this instant.
    pub fn bring_forward(&mut self, ctx: &Context, to: Instant) {
        if !self.attempts.may_take_effect() && to < self.next {
            self.next = to;
            self.give_up = to + budget(ctx);
        }
    }

    /// Awaits nothing any more: whoever waits is told how it ended.
    pub fn end(&mut self, ctx: &mut Context, outcome: Result<Done, Arc<Failure>>) {
        self.abandon(ctx);
        self.tickets.settle(ctx, outcome);
    }

    /// Awaits nothing any more.
    pub fn abandon(&mut self, ctx: &mut Context) {
        self.attempts.drop_all(ctx);
        ctx.timers.stop(self.timer);
    }
}

/// Time for all attempts together.
fn budget(ctx: &Context) -> Span {
    ctx.round_trip.budget(ctx.config.op_timeout)
}
