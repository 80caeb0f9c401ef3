//! On the way to a lease: asking, waiting in the queue, asking again.

use alloc::boxed::Box;

use crate::id::{AttemptId, OpId};
use crate::protocol::{
    Acquire, Credential, Ended, Granted, MAX_POLL, Operation, Request, Response, Transfer,
};
use crate::time::{Instant, Span};

use super::config::Config;
use super::context::Context;
use super::event::{ErrorCode, Event, Failure, Timer};
use super::held::Held;
use super::pursuit::Pursuit;
use super::term::Term;
use super::{Due, Goal, TransportFailure};

/// The shortest pause between two polls of a host that does not let requests wait.
const MIN_POLL_GAP: Span = Span::from_millis(100);

/// What is kept of a limited time for the answer to come back after the wait.
fn flight(limit: Span) -> Span {
    limit.div(4).min(Span::from_millis(500))
}

/// A holder that has no lease yet.
pub(super) struct Acquiring {
    plan: Plan,
    pursuit: Pursuit,
    /// Whether the next attempt begins a new op.
    anew: bool,
    /// Whether the host keeps a place in its queue for us.
    queued: bool,
    /// What to report if time runs out now.
    standing: Failure,
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

    /// How long the answer to an attempt sent now may take, after so many that had none.
    ///
    /// A host that lets us wait looks the same as one that never got the request. So until it has
    /// said that we are `queued`, a long wait is asked for again after a while, each time with more
    /// patience; a host that knows the op keeps its place.
    fn timeout(self, config: &Config, now: Instant, unanswered: u32, queued: bool) -> Span {
        if self.single {
            return config.op_timeout.min(self.give_up.since(now));
        }
        let slack = config.op_timeout.div(2);
        let poll = self.wait(now).min(MAX_POLL);
        let patience = slack.scale(1 << unanswered.min(8), 1);
        let timeout = if !queued && poll > patience + slack {
            patience
        } else {
            poll + slack
        };
        timeout.min(self.give_up.since(now))
    }

    /// Sends the first attempt of a new op.
    fn begin(self, config: &Config, ctx: &mut Context) -> Pursuit {
        let lease = ctx.next_lease();
        let operation = match self.goal {
            Goal::Acquire => Operation::Acquire(Acquire::new(
                config.holder.clone(),
                lease,
                config.ttl,
                self.wait(ctx.now),
            )),
            Goal::Claim(held) => Operation::Transfer(Transfer {
                credential: held,
                successor: config.holder.clone(),
                lease,
                ttl: config.ttl,
            }),
        };
        let request = Request {
            key: config.key.clone(),
            op: ctx.next_op(),
            operation,
        };
        let timeout = self.timeout(config, ctx.now, 0, false);
        Pursuit::start(ctx, request, timeout, false)
    }
}

/// What follows from a step.
pub(super) enum Next {
    /// Nothing yet.
    Wait,
    /// The lease is held.
    Held(Box<Held>),
    /// This grant reached us too late to be of use and has to be given back; with a failure, that
    /// was the last try.
    TooLate(Credential, Option<Failure>),
    /// There will be no lease.
    Failed(Failure),
}

impl Acquiring {
    /// Sends the first attempt.
    pub fn start(config: &Config, ctx: &mut Context, goal: Goal) -> Self {
        let plan = Plan::new(config, ctx.now, goal);
        Self {
            plan,
            pursuit: plan.begin(config, ctx),
            anew: false,
            queued: false,
            standing: Failure::new(ErrorCode::Unavailable, "no-answer"),
        }
    }

    /// Takes an answer.
    pub fn answered(
        &mut self,
        config: &Config,
        ctx: &mut Context,
        attempt: AttemptId,
        response: Response,
    ) -> Next {
        let Some(sent) = self.pursuit.answered(ctx.now, attempt) else {
            // Of an attempt given up. Its op is still pursued, so the host will say it again.
            return Next::Wait;
        };
        match response {
            Response::Granted(granted) => self.granted(config, ctx, sent, &granted),
            Response::Held(held) => {
                self.pursuit.heard();
                self.queued = false;
                self.standing = Failure {
                    holder: held.holder,
                    retry_after: Some(held.retry_after),
                    ..Failure::new(ErrorCode::Timeout, "held-by-another")
                };
                if self.plan.single {
                    return Next::Failed(Failure {
                        code: ErrorCode::Held,
                        ..self.standing.clone()
                    });
                }
                // A denial is the op's outcome: asking again is another op.
                self.anew = true;
                self.pursuit
                    .back_off(ctx, Some(held.retry_after.max(MIN_POLL_GAP)));
                Next::Wait
            }
            Response::Queued { ahead, retry_after } => {
                self.pursuit.heard();
                self.queued = true;
                self.standing = Failure::new(ErrorCode::Timeout, "queued");
                ctx.emit(Event::Queued { ahead });
                if ctx.now.since(sent) < MIN_POLL_GAP || !retry_after.is_zero() {
                    self.pursuit
                        .back_off(ctx, Some(retry_after.max(MIN_POLL_GAP)));
                }
                Next::Wait
            }
            Response::NotHolder { ended, .. } => match self.plan.goal {
                Goal::Claim(_) => Next::Failed(super::lost(ended.name())),
                Goal::Acquire => self.start_over(ctx, ended.name()),
            },
            Response::Cancelled => self.start_over(ctx, Ended::Cancelled.name()),
            Response::Refused(refusal) => {
                let passing = refusal.retry_after.is_some() && !self.plan.single;
                let retry_after = refusal.retry_after;
                let failure = Failure::from(refusal);
                if !passing {
                    return Next::Failed(failure);
                }
                self.standing = failure;
                self.pursuit.back_off(ctx, retry_after);
                Next::Wait
            }
            _ => {
                self.pursuit.leave_trace();
                self.unanswered(ctx, "unreadable-answer", None)
            }
        }
    }

    fn granted(
        &mut self,
        config: &Config,
        ctx: &mut Context,
        sent: Instant,
        granted: &Granted,
    ) -> Next {
        let term = Term::new(config.bounds, sent, ctx.now, granted.ttl, granted.waited);
        if term.ends > ctx.now && !ctx.has_dropped(granted.lease) {
            return Next::Held(Box::new(Held::new(config, ctx, granted, term)));
        }
        let ours = ctx.has_proposed(granted.lease);
        let next = self.start_over(ctx, "granted-too-late");
        match (ours, next) {
            (true, Next::Failed(failure)) => Next::TooLate(granted.into(), Some(failure)),
            (true, _) => Next::TooLate(granted.into(), None),
            // A re-entrant grant is somebody else's as well: it is not ours to give back.
            (false, next) => next,
        }
    }

    /// Asks for a new grant under a new op, if there is time. Not at once: a host that always answers
    /// like this must not be asked as fast as it answers.
    fn start_over(&mut self, ctx: &mut Context, reason: &'static str) -> Next {
        self.queued = false;
        self.standing = Failure::new(ErrorCode::Unavailable, reason);
        if self.plan.single || ctx.now >= self.plan.deadline {
            return Next::Failed(self.standing.clone());
        }
        self.anew = true;
        self.pursuit.back_off(ctx, None);
        Next::Wait
    }

    fn begin_anew(&mut self, config: &Config, ctx: &mut Context) {
        self.anew = false;
        self.pursuit = self.plan.begin(config, ctx);
    }

    /// Takes note of an attempt that failed.
    pub fn failed(
        &mut self,
        ctx: &mut Context,
        attempt: AttemptId,
        failure: TransportFailure,
    ) -> Next {
        if !self.pursuit.failed(ctx.now, attempt, failure) {
            return Next::Wait;
        }
        self.unanswered(ctx, "unreachable", failure.retry_after)
    }

    fn unanswered(
        &mut self,
        ctx: &mut Context,
        reason: &'static str,
        retry_after: Option<Span>,
    ) -> Next {
        let failure = Failure {
            retry_after,
            ..Failure::new(ErrorCode::Unavailable, reason)
        };
        if self.plan.single {
            return Next::Failed(failure);
        }
        if self.standing.code != ErrorCode::Timeout {
            self.standing = failure;
        }
        self.pursuit.back_off(ctx, retry_after);
        Next::Wait
    }

    /// Does what is due.
    pub fn run_timers(&mut self, config: &Config, ctx: &mut Context) -> Next {
        if self.pursuit.timed_out(ctx)
            && let Next::Failed(failure) = self.unanswered(ctx, "no-answer", None)
        {
            return Next::Failed(failure);
        }
        if ctx.now >= self.plan.deadline && !self.pursuit.is_awaiting() {
            return Next::Failed(self.standing.clone());
        }
        if self.pursuit.is_rested(ctx.now) && self.anew {
            self.begin_anew(config, ctx);
        } else if self.pursuit.is_rested(ctx.now) {
            if let Operation::Acquire(acquire) = self.pursuit.operation_mut() {
                acquire.wait = self.plan.wait(ctx.now);
            }
            let unanswered = self.pursuit.unanswered();
            let timeout = self.plan.timeout(config, ctx.now, unanswered, self.queued);
            self.pursuit.send(ctx, timeout, false);
        }
        Next::Wait
    }

    pub fn due(&self) -> Due {
        let due = self.pursuit.due();
        let at = if self.pursuit.is_awaiting() {
            due
        } else {
            due.min(self.plan.deadline)
        };
        (at, Timer::Retry)
    }

    /// Stops, and names the op that has to be cancelled at the host, if any may live on there.
    pub fn end(self, ctx: &mut Context) -> Option<OpId> {
        let live = self.queued || self.pursuit.may_take_effect();
        let op = self.pursuit.op();
        self.pursuit.abandon(ctx);
        live.then_some(op)
    }
}
