//! Renewing a lease: in time, patiently, and never in a storm.

use alloc::sync::Arc;

use crate::id::AttemptId;
use crate::protocol::{Ended, Operation, Response};
use crate::time::{Instant, Span};

use super::attempts::Attempts;
use super::config::{Config, Schedule};
use super::context::Context;
use super::event::{Done, Event, Failure};
use super::held::{HeldLease, Word};
use super::pace::{MAX_TRIES, Pace};
use super::term::Term;
use super::tickets::{Ticket, Tickets};
use super::timers::Timer;

/// The most attempts at a renewal that was asked for, or confirms a grant, while none is scheduled.
const MAX_MANUAL_TRIES: u32 = 3;

/// The most attempts that are younger than three round trips.
const MAX_YOUNG: usize = 3;

/// The most that are open at once, those that somebody asked for included.
const MAX_OPEN: usize = 16;

/// The renewals of a lease.
pub(super) struct Renewing {
    /// When to renew by itself.
    pub schedule: Option<Schedule>,
    /// Length of the terms to ask for.
    ttl: Span,
    pub attempts: Attempts,
    /// Attempts since the term began that nobody asked for.
    tries: u32,
    /// Whether an attempt has failed since the term began.
    has_failed: bool,
    /// The attempt that somebody asked for, and who waits for it.
    asked: Option<(AttemptId, Tickets)>,
    /// Who asked for another one since.
    next: Tickets,
}

impl Renewing {
    pub fn new(config: &Config) -> Self {
        Self {
            schedule: config.renewal,
            ttl: config.ttl,
            attempts: Attempts::at_most(MAX_OPEN),
            tries: 0,
            has_failed: false,
            asked: None,
            next: Tickets::default(),
        }
    }

    /// Renews no more by itself.
    pub fn stop(&mut self) {
        self.schedule = None;
        self.tries = MAX_TRIES;
    }

    fn most_tries(&self) -> u32 {
        match self.schedule {
            Some(_) => MAX_TRIES,
            None => MAX_MANUAL_TRIES,
        }
    }

    /// Awaits nothing any more.
    pub fn end(&mut self, ctx: &mut Context, why: &Arc<Failure>) {
        self.attempts.drop_all(ctx);
        if let Some((_, mut tickets)) = self.asked.take() {
            tickets.settle(ctx, Err(why.clone()));
        }
        self.next.settle(ctx, Err(why.clone()));
    }
}

impl HeldLease {
    fn pace(&self, ctx: &Context) -> Pace {
        Pace::new(self.term, self.told, ctx.round_trip)
    }

    /// Plans the first renewal of all.
    pub(super) fn plan_first(&mut self, ctx: &mut Context) {
        // A grant much shorter than asked for is a first term given to a waiter: confirming that
        // we are there, by renewing, gives the rest of it.
        if self.told < ctx.config.ttl.scale(2, 3) {
            ctx.timers.set(Timer::Renew, ctx.now);
        } else {
            self.plan_by_schedule(ctx);
        }
    }

    fn plan_by_schedule(&mut self, ctx: &mut Context) {
        let pace = self.pace(ctx);
        let open = self.renewing.attempts.last_open();
        let at = self
            .renewing
            .schedule
            .filter(|_| !self.is_last_term())
            .map(|schedule| pace.first(ctx, schedule.first(self.told), open));
        ctx.timers.set(Timer::Renew, at);
    }

    /// A renewal that nobody asked for is due.
    pub(super) fn renew_by_itself(&mut self, ctx: &mut Context) {
        // While a transfer is out the term may run out before anybody looks.
        if self.remaining(ctx).is_zero() {
            return;
        }
        if let Some(free) = self.crowded_until(ctx) {
            return ctx.timers.set(Timer::Renew, free);
        }
        self.renewing.tries += 1;
        self.send_renewal(ctx);
        self.plan_another(ctx);
    }

    /// If no answer comes, another attempt goes out beside the one that was sent just now.
    fn plan_another(&mut self, ctx: &mut Context) {
        let tries = self.renewing.tries;
        let at = (tries < self.renewing.most_tries())
            .then(|| self.pace(ctx).beside(ctx, tries))
            .flatten();
        ctx.timers.set(Timer::Renew, at);
    }

    /// The term has turned out to be longer than was known: there is room for another attempt.
    pub(super) fn plan_on(&mut self, ctx: &mut Context) {
        let tries = self.renewing.tries;
        if tries > 0 && tries < self.renewing.most_tries() {
            let planned = ctx.timers.get(Timer::Renew).unwrap_or(ctx.now);
            let open = self.renewing.attempts.last_open();
            let at = self.pace(ctx).beside_open(ctx, planned, open);
            ctx.timers.set(Timer::Renew, at);
        }
    }

    /// Until when there are as many young attempts as there may be, if there are.
    fn crowded_until(&self, ctx: &Context) -> Option<Instant> {
        let youth = self.pace(ctx).youth();
        let free = self.renewing.attempts.fewer_than(MAX_YOUNG, youth)?;
        Some(free).filter(|free| *free > ctx.now)
    }

    fn send_renewal(&mut self, ctx: &mut Context) -> AttemptId {
        let rebind = self
            .renewing
            .schedule
            .and_then(|schedule| schedule.rebind(self.told))
            .is_some_and(|rebind| self.term.begins + rebind <= ctx.now);
        // Each is a new op: to repeat a renewal is to renew again.
        let op = ctx.next_op();
        let ttl = self.at_most(ctx, self.renewing.ttl);
        self.ask_for(ttl);
        let renew = Operation::Renew {
            credential: self.credential(),
            ttl,
        };
        let id = ctx.send(ctx.request(op, renew), self.remaining(ctx), rebind);
        self.renewing.attempts.sent(ctx, id);
        self.watch_jeopardy(ctx);
        id
    }

    /// Renews at once, on somebody's behalf. While such a renewal is under way the next one follows
    /// it: the one under way may have been carried out before.
    pub fn renew_now(&mut self, ctx: &mut Context, ticket: Ticket, ttl: Option<Span>) {
        if let Some(ttl) = ttl {
            self.renewing.ttl = ttl;
        }
        self.renewing.next.add(ctx, ticket);
        self.renew_for_next(ctx);
    }

    /// Sends the renewal that somebody waits for, unless one is under way.
    fn renew_for_next(&mut self, ctx: &mut Context) {
        let idle = self.renewing.asked.is_none() && !self.renewing.next.is_empty();
        if !idle || self.remaining(ctx).is_zero() {
            return;
        }
        if let Some(free) = self.crowded_until(ctx) {
            return ctx.timers.set(Timer::Patience, free);
        }
        let id = self.send_renewal(ctx);
        let tickets = core::mem::take(&mut self.renewing.next);
        self.renewing.asked = Some((id, tickets));
        let patience = ctx.round_trip.budget(ctx.config.op_timeout);
        ctx.timers.set(Timer::Patience, ctx.now + patience);
        match self.renewing.schedule {
            // Its answer does as well as that of one that is planned meanwhile.
            Some(_) => {
                let pace = self.pace(ctx);
                let planned = ctx.timers.get(Timer::Renew);
                let at = planned.map(|at| pace.beside_open(ctx, at, Some(ctx.now)).max(at));
                ctx.timers.set(Timer::Renew, at);
            }
            None => {
                self.renewing.tries = 0;
                self.plan_another(ctx);
            }
        }
    }

    /// Whoever asked for a renewal waits no longer for its answer; it still counts when it comes.
    pub(super) fn out_of_patience(&mut self, ctx: &mut Context) {
        self.settle_asked(ctx, Err(Failure::no_answer()));
    }

    fn settle_asked(&mut self, ctx: &mut Context, outcome: Result<Done, Arc<Failure>>) {
        ctx.timers.stop(Timer::Patience);
        if let Some((_, mut tickets)) = self.renewing.asked.take() {
            tickets.settle(ctx, outcome);
        }
        self.renew_for_next(ctx);
    }

    pub(super) fn renewal_answered(
        &mut self,
        ctx: &mut Context,
        attempt: AttemptId,
        response: &Response,
    ) -> Option<Ended> {
        let sent = self.renewing.attempts.answered(attempt)?;
        let unreadable = !matches!(response, Response::Refused(_));
        match self.read(response) {
            Ok(Word::Stays(left, wanted)) => {
                self.want(ctx, wanted);
                ctx.round_trip.learn(ctx.now.since(sent));
                // What comes after the end revives nothing.
                if self.term.ends > ctx.now {
                    self.renewed(ctx, (attempt, sent), left);
                }
            }
            Ok(Word::Ended(ended)) => return Some(ended),
            Err(failure) => {
                if unreadable {
                    self.renewing.attempts.leave_in_doubt();
                }
                self.renewal_failed(ctx, attempt, failure);
            }
        }
        None
    }

    fn renewed(&mut self, ctx: &mut Context, (attempt, sent): (AttemptId, Instant), left: Span) {
        let term = Term::new(ctx.config.bounds, sent, ctx.now, left, Span::ZERO);
        let longer = term.ends > self.term.ends;
        if longer {
            self.set_term(ctx, term);
            self.told = left;
        }
        self.renewing.attempts.drop_before(ctx, attempt);
        self.renewing.tries = 0;
        self.renewing.has_failed = false;
        let remaining = self.remaining(ctx);
        if core::mem::take(&mut self.in_jeopardy) {
            self.tell(ctx, Event::Safe { remaining });
        }
        self.tell(ctx, Event::Renewed { remaining });
        self.watch_jeopardy(ctx);
        if longer {
            self.plan_by_schedule(ctx);
        } else {
            let schedule = self.renewing.schedule.filter(|_| !self.is_last_term());
            let at = schedule.and_then(|schedule| {
                let pace = self.pace(ctx);
                let open = self.renewing.attempts.last_open();
                pace.later(ctx, |left| schedule.first(left), open)
            });
            ctx.timers.set(Timer::Renew, at);
        }
        let asked = self.renewing.asked.as_ref();
        if asked.is_some_and(|(asked, _)| *asked <= attempt) {
            self.settle_asked(ctx, Ok(Done::Renewed));
        }
    }

    /// A failed attempt costs nothing but the attempt: the lease is as valid as before.
    pub(super) fn renewal_failed(
        &mut self,
        ctx: &mut Context,
        attempt: AttemptId,
        failure: Arc<Failure>,
    ) {
        self.renewing.has_failed = true;
        let retry_after = failure.retry_after;
        let remaining = self.remaining(ctx);
        self.tell(
            ctx,
            Event::RenewFailed {
                failure: failure.clone(),
                remaining,
            },
        );
        self.watch_jeopardy(ctx);
        let tries = self.renewing.tries;
        if self.renewing.attempts.is_last(attempt) && tries > 0 {
            let at = (tries < self.renewing.most_tries())
                .then(|| self.pace(ctx).after_failure(ctx, tries, retry_after))
                .flatten();
            ctx.timers.set(Timer::Renew, at);
        }
        let asked = self.renewing.asked.as_ref();
        if asked.is_some_and(|(asked, _)| *asked == attempt) {
            self.settle_asked(ctx, Err(failure));
        }
    }

    /// An unrenewed lease is in jeopardy at two thirds of its term, if an attempt to renew it has
    /// failed or is late.
    pub(super) fn watch_jeopardy(&self, ctx: &mut Context) {
        let renewing = &self.renewing;
        let trouble = if renewing.has_failed {
            Some(ctx.now)
        } else {
            let late = self.pace(ctx).late();
            renewing.attempts.oldest().map(|open| open.sent + late)
        };
        let watched = renewing.schedule.is_some() && !self.in_jeopardy && !self.is_out();
        let warning = self.term.begins + Term::jeopardy(self.told);
        let at = trouble.filter(|_| watched).map(|at| at.max(warning));
        ctx.timers.set(Timer::Jeopardy, at);
    }

    pub(super) fn come_into_jeopardy(&mut self, ctx: &mut Context) {
        self.in_jeopardy = true;
        let remaining = self.remaining(ctx);
        self.tell(ctx, Event::Jeopardy { remaining });
    }
}
