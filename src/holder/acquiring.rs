//! On the way to a lease: asking, waiting in the queue, asking again.

use alloc::boxed::Box;
use alloc::sync::Arc;

use crate::fence::Fence;
use crate::id::{AttemptId, LeaseId, OpId};
use crate::protocol::{
    Acquire, Ended, Granted, Held, Operation, Request, Response, Transfer, longest_poll,
};
use crate::time::{Instant, Span};

use super::attempts::Attempts;
use super::config::Config;
use super::context::Context;
use super::event::{ErrorCode, Event, Failure};
use super::held::HeldLease;
use super::pause::pause_after;
use super::term::Term;
use super::timers::Timer;
use super::{Goal, TransportFailure};

/// The shortest pause between two polls of a host that does not let requests wait.
const MIN_POLL_GAP: Span = Span::from_millis(100);

/// How long an answer that is due at the host may be on its way before the next poll goes out: a
/// waiter that is not back in time loses its place.
const MAX_FLIGHT: Span = Span::from_secs(1);

/// The most attempts that are open at once.
const MAX_OPEN: usize = 3;

/// What is kept of a limited time for the answer to come back after the wait.
fn flight(limit: Span) -> Span {
    limit.div(4).min(Span::from_millis(500))
}

/// A holder that has no lease yet.
pub(super) struct Acquiring {
    plan: Plan,
    op: OpId,
    /// The id that the lease will have.
    lease: LeaseId,
    attempts: Attempts,
    /// Attempts that came to nothing since the host last answered to the purpose.
    failures: u32,
    /// Whether the next attempt begins a new op.
    anew: bool,
    /// Whether the host keeps a place in its queue for us.
    queued: bool,
    /// What to report if time runs out now.
    standing: Arc<Failure>,
}

/// What is wanted, and how long to go on for it.
#[derive(Clone, Copy)]
struct Plan {
    goal: Goal,
    /// Whether exactly one attempt is to be made.
    single: bool,
    /// No attempt is started after this, the first excepted.
    deadline: Instant,
    /// No answer is awaited after this.
    give_up: Instant,
}

impl Plan {
    fn new(config: &Config, now: Instant, goal: Goal) -> Self {
        match goal {
            Goal::Acquire => {
                let limit = config.time_limit.unwrap_or(config.wait + config.op_timeout);
                Self {
                    goal,
                    single: config.wait.is_zero(),
                    deadline: now + config.wait.min(limit.saturating_sub(flight(limit))),
                    give_up: now + limit,
                }
            }
            Goal::Claim(_) => {
                let limit = config.time_limit.unwrap_or(config.op_timeout);
                Self {
                    goal,
                    single: false,
                    deadline: now + limit,
                    give_up: now + limit,
                }
            }
        }
    }

    /// How much longer to wait for a grant.
    fn wait(self, now: Instant) -> Span {
        match self.goal {
            Goal::Acquire => self.deadline.since(now),
            Goal::Claim(_) => Span::ZERO,
        }
    }

    /// How long to wait for the answer to an attempt sent now before another one goes out beside it,
    /// after so many that had none.
    ///
    /// A host that lets us wait looks the same as one that never got the request. So until it has
    /// said that we are `queued`, a long wait is asked for again after a while, and while there is no
    /// answer at all each time with more patience; a host that knows the op keeps its place.
    fn patience(self, config: &Config, now: Instant, unanswered: u32, queued: bool) -> Span {
        if self.single {
            return config.op_timeout.min(self.give_up.since(now));
        }
        let patience = config.op_timeout.div(2);
        let poll = self.wait(now).min(longest_poll(config.ttl));
        let answered = poll + patience.min(MAX_FLIGHT);
        match unanswered {
            0 if queued || poll <= patience.scale(2, 1) => answered,
            0 => patience,
            _ => answered.max(patience.scale(1 << unanswered.min(3), 1)),
        }
    }
}

/// What follows from a step.
pub(super) enum Next {
    /// Nothing yet.
    Wait,
    /// The lease is held.
    Held(Box<HeldLease>),
    /// There will be no lease.
    Failed(Arc<Failure>),
}

impl Acquiring {
    /// Sends the first attempt.
    pub fn start(ctx: &mut Context, goal: Goal) -> Self {
        let mut acquiring = Self {
            plan: Plan::new(&ctx.config, ctx.now, goal),
            op: ctx.next_op(),
            lease: ctx.next_lease(),
            attempts: Attempts::at_most(MAX_OPEN),
            failures: 0,
            anew: false,
            queued: false,
            standing: Failure::no_answer(),
        };
        acquiring.send(ctx);
        acquiring
    }

    /// What is asked for now: a repeated attempt differs in what is left of the wait.
    fn request(&self, ctx: &Context) -> Arc<Request> {
        let config = &ctx.config;
        let holder = config.holder.clone();
        let operation = match self.plan.goal {
            Goal::Acquire => Operation::Acquire(Acquire {
                limit: config.limit,
                steal: config.steal,
                fingerprint: config.fingerprint.clone(),
                ..Acquire::new(holder, self.lease, config.ttl, self.plan.wait(ctx.now))
            }),
            Goal::Claim(credential) => Operation::Transfer(Transfer {
                credential,
                successor: holder,
                lease: self.lease,
                ttl: config.ttl,
            }),
        };
        ctx.request(self.op, operation)
    }

    /// Sends an attempt; one before it that had no answer yet stays open beside it.
    fn send(&mut self, ctx: &mut Context) {
        let timeout = self.plan.give_up.since(ctx.now);
        let id = ctx.send(self.request(ctx), timeout, false);
        self.attempts.sent(ctx, id);
        let patience = self
            .plan
            .patience(&ctx.config, ctx.now, self.failures, self.queued);
        let until = (ctx.now + patience).min(self.plan.give_up);
        ctx.timers.set(Timer::Attempt, until);
        ctx.timers.set(Timer::GiveUp, self.plan.give_up);
    }

    /// Puts the next attempt off. None is started after the deadline.
    fn rest(&mut self, ctx: &mut Context, pause: Span) {
        ctx.timers.set(Timer::Attempt, ctx.now + pause);
        ctx.timers.set(Timer::GiveUp, self.plan.deadline);
    }

    fn back_off(&mut self, ctx: &mut Context, retry_after: Option<Span>) {
        self.failures = self.failures.saturating_add(1);
        let pause = pause_after(ctx, self.failures, retry_after);
        self.rest(ctx, pause);
    }

    /// Takes an answer.
    pub fn answered(&mut self, ctx: &mut Context, attempt: AttemptId, response: &Response) -> Next {
        let is_newest = self.attempts.is_last(attempt);
        let Some(sent) = self.attempts.answered(attempt) else {
            return Next::Wait;
        };
        match response {
            Response::Granted(granted) if self.is_ours(ctx, granted) => {
                self.granted(ctx, (sent, is_newest), granted)
            }
            // The host says the same to the newest attempt, or what has come of it since.
            _ if !is_newest => {
                self.failures = 0;
                Next::Wait
            }
            Response::Held(held) => self.held_by_another(ctx, held),
            Response::Done(done) => {
                self.queued = false;
                Next::Failed(Failure::done(done))
            }
            Response::Queued { ahead, retry_after } => {
                self.failures = 0;
                self.queued = true;
                self.standing = Failure::new(ErrorCode::Timeout, "queued");
                ctx.emit(Event::Queued { ahead: *ahead });
                if ctx.now.since(sent) < MIN_POLL_GAP || !retry_after.is_zero() {
                    self.back_off(ctx, Some((*retry_after).max(MIN_POLL_GAP)));
                } else {
                    self.rest(ctx, Span::ZERO);
                }
                Next::Wait
            }
            Response::NotHolder { ended, .. } => match self.plan.goal {
                Goal::Claim(_) => Next::Failed(Failure::lost(ended.name())),
                Goal::Acquire => self.start_over(ctx, ended.name()),
            },
            Response::Cancelled => self.start_over(ctx, Ended::Cancelled.name()),
            Response::Refused(refusal) => {
                let passing = refusal.retry_after.is_some() && !self.plan.single;
                let retry_after = refusal.retry_after;
                let failure = Failure::refused(refusal);
                if !passing {
                    return Next::Failed(failure);
                }
                self.standing = failure;
                self.back_off(ctx, retry_after);
                Next::Wait
            }
            _ => {
                self.attempts.leave_in_doubt();
                self.unanswered(ctx, Failure::unreadable())
            }
        }
    }

    /// Whether a host can have granted this to what was asked.
    fn is_ours(&self, ctx: &Context, granted: &Granted) -> bool {
        let above = match self.plan.goal {
            Goal::Acquire => Some(Fence::NONE),
            Goal::Claim(credential) => credential.fence,
        };
        granted.lease == self.lease && Some(granted.fence) > above && granted.ttl <= ctx.config.ttl
    }

    /// A denial is the op's outcome: asking again is another op.
    fn held_by_another(&mut self, ctx: &mut Context, held: &Held) -> Next {
        if self.plan.single {
            self.queued = false;
            return Next::Failed(Failure::held(ErrorCode::Held, held));
        }
        self.failures = 0;
        self.queued = false;
        self.standing = Failure::held(ErrorCode::Timeout, held);
        self.give_op_up(ctx);
        self.back_off(ctx, Some(held.retry_after.max(MIN_POLL_GAP)));
        Next::Wait
    }

    fn granted(
        &mut self,
        ctx: &mut Context,
        (sent, is_newest): (Instant, bool),
        granted: &Granted,
    ) -> Next {
        let flight = ctx.now.since(sent);
        ctx.round_trip.learn(flight.saturating_sub(granted.waited));
        let term = Term::new(
            ctx.config.bounds,
            sent,
            ctx.now,
            granted.ttl,
            granted.waited,
        );
        if term.ends > ctx.now {
            self.attempts.drop_all(ctx);
            return Next::Held(HeldLease::new(ctx, granted, term));
        }
        if !is_newest {
            // The newest attempt may be told of it in time.
            return Next::Wait;
        }
        ctx.leave_release(granted.into());
        self.attempts.drop_all(ctx);
        self.attempts = Attempts::at_most(MAX_OPEN);
        self.start_over(ctx, "granted-too-late")
    }

    /// Asks for a new grant under a new op, if there is time. Not at once: a host that always answers
    /// like this must not be asked as fast as it answers.
    fn start_over(&mut self, ctx: &mut Context, reason: &'static str) -> Next {
        self.queued = false;
        self.standing = Failure::new(ErrorCode::Unavailable, reason);
        if self.plan.single || ctx.now >= self.plan.deadline {
            return Next::Failed(self.standing.clone());
        }
        self.give_op_up(ctx);
        self.back_off(ctx, None);
        Next::Wait
    }

    /// The op has had an outcome that is no grant: the next attempt begins another one. Should an
    /// attempt of it still be on its way, it must not be granted.
    fn give_op_up(&mut self, ctx: &mut Context) {
        if core::mem::replace(&mut self.anew, true) {
            return;
        }
        if self.attempts.may_take_effect() {
            ctx.leave_cancel(self.op);
        }
        self.attempts.drop_all(ctx);
        self.attempts = Attempts::at_most(MAX_OPEN);
    }

    /// Takes note of an attempt that failed.
    pub fn failed(
        &mut self,
        ctx: &mut Context,
        attempt: AttemptId,
        failure: TransportFailure,
    ) -> Next {
        let is_newest = self.attempts.is_last(attempt);
        if !self.attempts.failed(attempt, failure) || !is_newest {
            return Next::Wait;
        }
        self.unanswered(ctx, Failure::unreachable(failure.retry_after))
    }

    /// This attempt counts from now.
    pub fn resent(&mut self, attempt: AttemptId, now: Instant) {
        self.attempts.resent(attempt, now);
    }

    fn unanswered(&mut self, ctx: &mut Context, failure: Arc<Failure>) -> Next {
        if self.plan.single {
            return Next::Failed(failure);
        }
        let retry_after = failure.retry_after;
        if self.standing.code != ErrorCode::Timeout {
            self.standing = failure;
        }
        self.back_off(ctx, retry_after);
        Next::Wait
    }

    /// The next attempt is due: the one before has had no answer yet, or a pause is over.
    pub fn attempt(&mut self, ctx: &mut Context) -> Next {
        if self.attempts.awaits_last() {
            self.failures = self.failures.saturating_add(1);
            if self.standing.code != ErrorCode::Timeout {
                self.standing = Failure::no_answer();
            }
        }
        if self.plan.single || ctx.now >= self.plan.deadline {
            return Next::Failed(self.standing.clone());
        }
        if core::mem::take(&mut self.anew) {
            self.failures = 0;
            self.op = ctx.next_op();
            self.lease = ctx.next_lease();
        }
        self.send(ctx);
        Next::Wait
    }

    /// There is no more time for another attempt, or for any answer.
    pub fn give_up(&self) -> Next {
        Next::Failed(self.standing.clone())
    }

    /// Stops, and leaves behind what has to be cancelled at the host, if anything may live on there.
    pub fn end(&mut self, ctx: &mut Context) {
        ctx.timers.stop_all();
        if !self.anew && (self.queued || self.attempts.may_take_effect()) {
            ctx.leave_cancel(self.op);
        }
        self.attempts.drop_all(ctx);
    }
}
