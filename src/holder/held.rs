//! Holding: renewing in time, and knowing when to stop.

use crate::fence::Fence;
use crate::id::{AttemptId, LeaseId};
use crate::protocol::{Credential, Granted, Operation, Request, Response};
use crate::time::{Instant, Span};

use super::config::{Config, Schedule};
use super::context::Context;
use super::errand::Errand;
use super::event::{ErrorCode, Event, Failure, Grant, LossReason, Timer};
use super::pursuit::Pursuit;
use super::term::Term;
use super::{Due, TransportFailure};

/// The most renewal attempts in one term that nobody asked for.
const MAX_TRIES: u32 = 10;

/// No pause between two renewal attempts is shorter than this part of the term.
const MIN_PAUSE_PART: u64 = 24;

/// The first pause after a failed renewal, as a part of the term; it doubles from there.
const PAUSE_PART: u64 = 25;

/// The most attempts at a renewal that was asked for while none is scheduled.
const MAX_MANUAL_TRIES: u32 = 3;

/// No renewal attempt is given less time than this to be answered.
const MIN_TIMEOUT: Span = Span::from_millis(50);

/// A lease that is held.
pub(super) struct Held {
    lease: LeaseId,
    fence: Fence,
    /// Length of the grants to ask for.
    ttl: Span,
    /// Length of the running term, by the host's last answer.
    granted: Span,
    term: Term,
    schedule: Option<Schedule>,
    /// When the next renewal is to begin, while none is under way.
    renew_at: Option<Instant>,
    renewal: Option<Pursuit>,
    /// Renewal attempts since the term began.
    tries: u32,
    asked: Asked,
    in_jeopardy: bool,
    verification: Option<Errand>,
}

/// Whether somebody waits for a renewal by hand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    No,
    /// The renewal under way was begun before; another one has to follow.
    Next,
    /// The renewal under way is the one.
    Now,
}

impl Held {
    pub fn new(config: &Config, ctx: &mut Context, granted: &Granted, term: Term) -> Self {
        let mut held = Self {
            lease: granted.lease,
            fence: granted.fence,
            ttl: config.ttl,
            granted: granted.ttl,
            term,
            schedule: config.renewal,
            renew_at: None,
            renewal: None,
            tries: 0,
            asked: Asked::No,
            in_jeopardy: false,
            verification: None,
        };
        // A grant much shorter than asked for is a first term given to a waiter: confirming that
        // we are there, by renewing, gives the rest of it.
        if granted.ttl < config.ttl.scale(2, 3) {
            held.renew_at = Some(ctx.now);
        } else {
            held.schedule_renewal(ctx);
        }
        held
    }

    /// From this instant on the lease is not held.
    pub fn ends(&self) -> Instant {
        self.term.ends
    }

    pub fn credential(&self) -> Credential {
        Credential {
            lease: self.lease,
            fence: Some(self.fence),
        }
    }

    pub fn grant(&self, ctx: &Context) -> Grant {
        Grant {
            lease: self.lease,
            fence: self.fence,
            remaining: self.remaining(ctx),
        }
    }

    fn remaining(&self, ctx: &Context) -> Span {
        self.term.ends.since(ctx.now)
    }

    fn schedule_renewal(&mut self, ctx: &mut Context) {
        self.renew_at = self
            .schedule
            .map(|schedule| self.term.begins + ctx.fuzz(schedule.first(self.granted)));
    }

    /// Takes an answer. Some reason means that the lease is lost.
    pub fn answered(
        &mut self,
        config: &Config,
        ctx: &mut Context,
        attempt: AttemptId,
        response: Response,
    ) -> Option<LossReason> {
        if let Some(sent) = take_answer(&mut self.renewal, ctx.now, attempt) {
            return self.renewal_answered(config, ctx, sent, response);
        }
        let errand = self.verification.as_mut()?;
        let sent = errand.answered(ctx.now, attempt)?;
        if !errand.is_settled_by(ctx, &response) {
            return None;
        }
        self.verification = None;
        let outcome = match response {
            Response::Renewed { ttl, .. } => {
                let term = Term::new(config.bounds, sent, ctx.now, ttl, Span::ZERO);
                self.term = self
                    .term
                    .lasting_as(term.stopping_ahead_by(Term::lead(self.granted)));
                Ok(())
            }
            Response::NotHolder { ended, .. } => {
                ctx.emit(Event::VerifySettled(Err(super::lost(ended.name()))));
                return Some(LossReason::NotHolder(ended));
            }
            other => Err(refused(other)),
        };
        ctx.emit(Event::VerifySettled(outcome));
        None
    }

    fn renewal_answered(
        &mut self,
        config: &Config,
        ctx: &mut Context,
        sent: Instant,
        response: Response,
    ) -> Option<LossReason> {
        match response {
            Response::Renewed { ttl, .. } => {
                self.renewed(config, ctx, sent, ttl);
                None
            }
            Response::NotHolder { ended, .. } => Some(LossReason::NotHolder(ended)),
            other => {
                self.renewal_failed(ctx, refused(other));
                None
            }
        }
    }

    fn renewed(&mut self, config: &Config, ctx: &mut Context, sent: Instant, ttl: Span) {
        let term = Term::new(config.bounds, sent, ctx.now, ttl, Span::ZERO);
        let longer = term.ends > self.term.ends;
        if longer {
            self.term = term;
            self.granted = ttl;
        }
        self.renewal = None;
        self.tries = 0;
        let remaining = self.remaining(ctx);
        if core::mem::take(&mut self.in_jeopardy) {
            ctx.emit(Event::Safe { remaining });
        }
        ctx.emit(Event::Renewed { remaining });
        if self.another_is_asked_for(ctx, Ok(())) {
            return;
        }
        if longer {
            self.schedule_renewal(ctx);
        } else {
            self.renew_later(ctx);
        }
    }

    /// Plans the next renewal after one that has not lengthened the term. To count from the term's
    /// start would make it due at once, and again with the next answer.
    fn renew_later(&mut self, ctx: &mut Context) {
        let left = self.remaining(ctx);
        let shortest = self.granted.div(MIN_PAUSE_PART);
        self.renew_at = self
            .schedule
            .map(|schedule| ctx.now + ctx.fuzz(schedule.first(left).max(shortest)));
    }

    /// A failed attempt costs nothing but the attempt: the lease is as valid as before.
    fn renewal_failed(&mut self, ctx: &mut Context, failure: Failure) {
        let retry_after = failure.retry_after;
        ctx.emit(Event::RenewFailed {
            failure: failure.clone(),
            remaining: self.remaining(ctx),
        });
        self.renewal = None;
        self.renew_at = None;
        if self.another_is_asked_for(ctx, Err(failure)) {
            return;
        }
        if self.schedule.is_some() || self.tries < MAX_MANUAL_TRIES {
            self.retry_renewal(ctx, retry_after);
        }
    }

    /// Tells whoever asked for the renewal that has ended how it did. Whether somebody asked for
    /// another meanwhile, which then is due.
    fn another_is_asked_for(&mut self, ctx: &mut Context, outcome: Result<(), Failure>) -> bool {
        match self.asked {
            Asked::Next => {
                self.asked = Asked::Now;
                self.renew_at = Some(ctx.now);
                true
            }
            Asked::Now => {
                self.asked = Asked::No;
                ctx.emit(Event::RenewSettled(outcome));
                false
            }
            Asked::No => false,
        }
    }

    /// Plans the next attempt so that at least two more fit into what is left.
    fn retry_renewal(&mut self, ctx: &mut Context, retry_after: Option<Span>) {
        let left = self.remaining(ctx);
        let shortest = self.granted.div(MIN_PAUSE_PART);
        let pause = match self.schedule {
            // DHCP's rule (RFC 2131, 4.4.5): half of what is left.
            Some(Schedule { t2: Some(_), .. }) => left.div(2),
            _ => {
                let doublings = self.tries.saturating_sub(1).min(MAX_TRIES);
                self.granted
                    .div(PAUSE_PART)
                    .scale(1 << doublings, 1)
                    .min(left.div(4))
            }
        };
        // What the host asks for is honoured as long as the lease is not given up for it.
        let asked = retry_after.unwrap_or(Span::ZERO).min(left.div(2));
        let pause = pause.max(shortest).max(asked);
        let pause = ctx.fuzz(pause);
        if self.tries < MAX_TRIES && pause + MIN_TIMEOUT < left {
            self.renew_at = Some(ctx.now + pause);
        }
    }

    /// Takes note of an attempt that failed.
    pub fn failed(&mut self, ctx: &mut Context, attempt: AttemptId, failure: TransportFailure) {
        if let Some(renewal) = &mut self.renewal
            && renewal.failed(ctx.now, attempt, failure)
        {
            self.renewal_failed(ctx, unreachable("unreachable", failure.retry_after));
        } else if let Some(verification) = &mut self.verification {
            verification.failed(ctx, attempt, failure);
        }
    }

    /// Does what is due.
    pub fn run_timers(&mut self, config: &Config, ctx: &mut Context) {
        if let Some(renewal) = &mut self.renewal
            && renewal.timed_out(ctx)
        {
            self.renewal_failed(ctx, unreachable("no-answer", None));
        }
        if self.renewal.is_none() && self.renew_at.is_some_and(|at| at <= ctx.now) {
            self.send_renewal(config, ctx);
        }
        if !self.in_jeopardy && self.jeopardy_at().is_some_and(|at| at <= ctx.now) {
            self.in_jeopardy = true;
            ctx.emit(Event::Jeopardy {
                remaining: self.remaining(ctx),
            });
        }
        if let Some(verification) = &mut self.verification
            && !verification.run_timers(ctx)
        {
            self.verification = None;
            ctx.emit(Event::VerifySettled(Err(unreachable("no-answer", None))));
        }
    }

    fn send_renewal(&mut self, config: &Config, ctx: &mut Context) {
        self.renew_at = None;
        // What somebody asks for by hand takes nothing from what goes on by itself.
        self.tries += u32::from(self.asked != Asked::Now);
        let timeout = self
            .remaining(ctx)
            .div(4)
            .max(MIN_TIMEOUT)
            .min(config.op_timeout);
        let rebind = self
            .schedule
            .and_then(|schedule| schedule.rebind(self.granted))
            .is_some_and(|rebind| self.term.begins + rebind <= ctx.now);
        let request = Request {
            key: config.key.clone(),
            op: ctx.next_op(),
            operation: Operation::Renew {
                credential: self.credential(),
                ttl: self.ttl,
            },
        };
        self.renewal = Some(Pursuit::start(ctx, request, timeout, rebind));
    }

    fn jeopardy_at(&self) -> Option<Instant> {
        self.schedule
            .map(|_| self.term.begins + Term::jeopardy(self.granted))
    }

    pub fn due(&self) -> Due {
        let mut due = (self.term.ends, Timer::End);
        if let Some(renewal) = &self.renewal {
            due = due.min((renewal.due(), Timer::Retry));
        } else if let Some(at) = self.renew_at {
            due = due.min((at, Timer::Renew));
        }
        if !self.in_jeopardy
            && let Some(at) = self.jeopardy_at()
        {
            due = due.min((at, Timer::Jeopardy));
        }
        if let Some(verification) = &self.verification {
            due = due.min(verification.due());
        }
        due
    }

    /// Renews as soon as no other renewal is under way.
    pub fn renew_now(&mut self, config: &Config, ctx: &mut Context, ttl: Option<Span>) {
        if let Some(ttl) = ttl {
            self.ttl = ttl;
        }
        if self.renewal.is_some() {
            self.asked = Asked::Next;
        } else {
            self.asked = Asked::Now;
            self.send_renewal(config, ctx);
        }
    }

    /// Asks the host whether the lease is still held.
    pub fn verify(&mut self, config: &Config, ctx: &mut Context) {
        if self.verification.is_some() {
            return;
        }
        let operation = Operation::Verify(self.credential());
        self.verification = Some(Errand::start(config, ctx, operation));
    }

    /// Renews no more. A renewal under way is left to its end: the lease may have no more than the
    /// short first term of a waiter without it.
    pub fn detach(&mut self) {
        self.schedule = None;
        self.renew_at = None;
        self.tries = MAX_MANUAL_TRIES;
    }

    /// Stops awaiting anything; whoever waits for an outcome is told `why`.
    pub fn end(mut self, ctx: &mut Context, why: &Failure) {
        self.stop(ctx, why);
    }

    /// Like [`Held::end`], for a lease that may be taken up again.
    pub fn stop(&mut self, ctx: &mut Context, why: &Failure) {
        self.renew_at = None;
        if let Some(renewal) = self.renewal.take() {
            renewal.abandon(ctx);
        }
        self.settle_renewal(ctx, why);
        if let Some(verification) = self.verification.take() {
            verification.abandon(ctx);
            ctx.emit(Event::VerifySettled(Err(why.clone())));
        }
    }

    /// Goes on renewing after [`Held::stop`].
    pub fn go_on(&mut self, ctx: &mut Context) {
        self.schedule_renewal(ctx);
    }

    fn settle_renewal(&mut self, ctx: &mut Context, why: &Failure) {
        if self.asked != Asked::No {
            self.asked = Asked::No;
            ctx.emit(Event::RenewSettled(Err(why.clone())));
        }
    }
}

fn take_answer(pursuit: &mut Option<Pursuit>, now: Instant, attempt: AttemptId) -> Option<Instant> {
    pursuit.as_mut()?.answered(now, attempt)
}

/// The failure in an answer that is neither yes nor no.
fn refused(response: Response) -> Failure {
    match response {
        Response::Refused(refusal) => refusal.into(),
        _ => unreachable("unreadable-answer", None),
    }
}

fn unreachable(reason: &'static str, retry_after: Option<Span>) -> Failure {
    Failure {
        retry_after,
        ..Failure::new(ErrorCode::Unavailable, reason)
    }
}
