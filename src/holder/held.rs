//! Holding: what the host says about the lease, and what follows from it. Renewing in time is in
//! [`super::renewing`].

use alloc::boxed::Box;
use alloc::sync::Arc;

use crate::fence::Fence;
use crate::id::{AttemptId, LeaseId};
use crate::protocol::{Credential, Ended, Granted, MIN_TTL, Operation, Response};
use crate::time::{Instant, Span};

use super::TransportFailure;
use super::context::Context;
use super::entering::Entering;
use super::errand::Errand;
use super::event::{Done, Event, Failure, Grant, LossReason};
use super::queue::Queue;
use super::renewing::Renewing;
use super::term::Term;
use super::tickets::{Ticket, Tickets};
use super::timers::Timer;

/// A lease that is held.
pub(super) struct HeldLease {
    lease: LeaseId,
    fence: Fence,
    slot: u32,
    /// How many wait for the key, by the host's last answer.
    wanted: u32,
    /// From here on it may not be held, whatever the host says.
    latest: Option<Instant>,
    pub(super) entering: Entering,
    /// The longest term that was asked for under this fence: no host tells a longer one.
    longest: Span,
    pub(super) term: Term,
    /// Length of the running term, by the host's last answer.
    pub(super) told: Span,
    pub(super) renewing: Renewing,
    verifications: Queue,
    pub(super) in_jeopardy: bool,
    /// Whether a transfer is out: nobody holds the lease meanwhile, and it may come back.
    is_out: bool,
    is_detached: bool,
}

/// What a host's answer says of a lease.
pub(super) enum Word {
    /// It goes on, so much is left of it, and so many wait for the key.
    Stays(Span, u32),
    /// It has ended.
    Ended(Ended),
}

impl HeldLease {
    pub fn new(ctx: &mut Context, granted: &Granted, term: Term) -> Box<Self> {
        let config = &ctx.config;
        let mut held = Box::new(Self {
            lease: granted.lease,
            fence: granted.fence,
            slot: granted.slot,
            wanted: granted.wanted,
            latest: config.max_hold.map(|most| term.begins + most),
            entering: Entering::default(),
            longest: config.ttl,
            term,
            told: granted.ttl,
            renewing: Renewing::new(config),
            verifications: Queue::default(),
            in_jeopardy: false,
            is_out: false,
            is_detached: false,
        });
        ctx.timers.stop_all();
        held.set_term(ctx, term);
        held.plan_first(ctx);
        held
    }

    /// From this instant on the lease is not held.
    pub fn ends(&self) -> Instant {
        self.term.ends
    }

    /// Why the lease is lost at its end.
    pub fn end_reason(&self) -> LossReason {
        if self.is_last_term() {
            LossReason::MaxHold
        } else {
            LossReason::Expired
        }
    }

    /// Whether the term reaches about as far as the lease may be held: nothing is left to renew.
    pub(super) fn is_last_term(&self) -> bool {
        let told_until = self.term.begins + self.told;
        let spare = self.told.div(10).max(MIN_TTL);
        self.latest
            .is_some_and(|latest| latest <= told_until + spare)
    }

    /// The longest term that may begin now, up to this one.
    pub(super) fn at_most(&self, ctx: &Context, ttl: Span) -> Span {
        match self.latest {
            Some(latest) => ttl.min(latest.since(ctx.now).max(MIN_TTL)),
            None => ttl,
        }
    }

    /// The term, ending when the lease has to at the latest.
    fn capped(&self, term: Term) -> Term {
        Term {
            ends: self
                .latest
                .map_or(term.ends, |latest| latest.min(term.ends)),
            ..term
        }
    }

    /// The last instant at which nobody else can hold the key.
    pub fn valid_until(&self) -> Instant {
        self.term.valid_until
    }

    pub fn credential(&self) -> Credential {
        Credential {
            lease: self.lease,
            fence: Some(self.fence),
        }
    }

    pub fn is_detached(&self) -> bool {
        self.is_detached
    }

    pub(super) fn is_out(&self) -> bool {
        self.is_out
    }

    /// Whether the host may keep the key for longer than the holder knows of.
    pub fn is_in_doubt(&self) -> bool {
        self.renewing.attempts.may_take_effect()
    }

    pub fn grant(&self, ctx: &Context) -> Box<Grant> {
        Box::new(Grant {
            lease: self.lease,
            fence: self.fence,
            slot: self.slot,
            wanted: self.wanted,
            remaining: self.remaining(ctx),
        })
    }

    pub(super) fn remaining(&self, ctx: &Context) -> Span {
        self.term.ends.since(ctx.now)
    }

    /// Takes note of how many wait for the key.
    pub(super) fn want(&mut self, ctx: &mut Context, wanted: u32) {
        if core::mem::replace(&mut self.wanted, wanted) != wanted {
            self.tell(ctx, Event::Wanted { waiters: wanted });
        }
    }

    /// From now on such a term may be told.
    pub(super) fn ask_for(&mut self, ttl: Span) {
        self.longest = self.longest.max(ttl);
    }

    pub(super) fn set_term(&mut self, ctx: &mut Context, term: Term) {
        self.term = self.capped(term);
        ctx.timers.set(Timer::End, self.ends());
    }

    /// Tells whoever listens, unless the lease is on its way to another holder or left to one.
    pub(super) fn tell(&self, ctx: &mut Context, event: Event) {
        if !self.is_out && !self.is_detached {
            ctx.emit(event);
        }
    }

    /// What the host says of this very grant. An answer about another one, or one that no host can
    /// have given, says nothing.
    pub(super) fn read(&self, response: &Response) -> Result<Word, Arc<Failure>> {
        match response {
            Response::Renewed { about, ttl, wanted }
                if *about == Some(self.fence) && *ttl <= self.longest =>
            {
                Ok(Word::Stays(*ttl, *wanted))
            }
            Response::NotHolder { about, ended, .. } if *about == Some(self.fence) => {
                Ok(Word::Ended(*ended))
            }
            Response::Refused(refusal) => Err(Failure::refused(refusal)),
            _ => Err(Failure::unreadable()),
        }
    }

    /// Takes an answer: how the lease has ended, if it says so. What comes after the end changes nothing.
    pub fn answered(
        &mut self,
        ctx: &mut Context,
        attempt: AttemptId,
        response: &Response,
    ) -> Option<Ended> {
        if self.renewing.attempts.awaits(attempt) {
            return self.renewal_answered(ctx, attempt, response);
        }
        if self.entering.changes.awaits(attempt) {
            return self.entry_answered(ctx, attempt, response);
        }
        self.verification_answered(ctx, attempt, response)
    }

    fn verification_answered(
        &mut self,
        ctx: &mut Context,
        attempt: AttemptId,
        response: &Response,
    ) -> Option<Ended> {
        let errand = self.verifications.running()?;
        let sent = errand.answered(attempt)?;
        if !errand.is_settled_by(ctx, response) {
            return None;
        }
        match self.read(response) {
            Ok(Word::Stays(left, wanted)) => {
                self.want(ctx, wanted);
                ctx.round_trip.learn(ctx.now.since(sent));
                let term = Term::new(ctx.config.bounds, sent, ctx.now, left, Span::ZERO);
                let term = term.stopping_ahead_by(Term::lead(self.told));
                if self.term.ends > ctx.now && term.ends > self.term.ends {
                    self.set_term(ctx, self.term.lasting_as(term));
                    self.plan_on(ctx);
                }
                self.verifications.next(ctx, Ok(Done::Verified));
            }
            Ok(Word::Ended(ended)) => {
                self.verifications
                    .next(ctx, Err(Failure::lost(ended.name())));
                return Some(ended);
            }
            Err(failure) => self.verifications.next(ctx, Err(failure)),
        }
        None
    }

    /// Takes note of an attempt that failed.
    pub fn failed(&mut self, ctx: &mut Context, attempt: AttemptId, failure: TransportFailure) {
        if self.renewing.attempts.failed(attempt, failure) {
            let failed = Failure::unreachable(failure.retry_after);
            self.renewal_failed(ctx, attempt, failed);
        } else {
            self.verifications.failed(ctx, attempt, failure);
            self.entering.changes.failed(ctx, attempt, failure);
        }
    }

    /// This attempt counts from now.
    pub fn resent(&mut self, attempt: AttemptId, now: Instant) {
        self.renewing.attempts.resent(attempt, now);
        if let Some(errand) = self.verifications.running() {
            errand.resent(attempt, now);
        }
    }

    /// Does what is due.
    pub fn on_timer(&mut self, ctx: &mut Context, timer: Timer) {
        match timer {
            Timer::Renew => self.renew_by_itself(ctx),
            Timer::Patience => self.out_of_patience(ctx),
            Timer::Entry => self.entering.changes.run(ctx),
            Timer::Jeopardy => self.come_into_jeopardy(ctx),
            Timer::Verify => self.verifications.run(ctx),
            Timer::End | Timer::GiveUp | Timer::Attempt | Timer::TidyUp => {}
        }
    }

    /// Asks the host whether the lease is still held. Whoever asks while a verification is under way
    /// waits for the next: the one under way may have been answered already.
    pub fn verify(&mut self, ctx: &mut Context, ticket: Ticket) {
        if let Some(next) = self.verifications.waiting() {
            return next.tickets.add(ctx, ticket);
        }
        let verify = Operation::Verify(self.credential());
        let errand = Errand::new(ctx, Timer::Verify, verify, Tickets::of(ticket));
        self.verifications.add(ctx, errand);
    }

    /// Leaves the lease to another holder: it is renewed no more, and not held here. A renewal under
    /// way is left to its end: the lease may have no more than the short first term of a waiter
    /// without it.
    pub fn detach(&mut self, ctx: &mut Context) {
        self.is_detached = true;
        self.renewing.stop();
        ctx.timers.stop(Timer::Renew);
        ctx.timers.stop(Timer::Jeopardy);
    }

    /// A transfer goes out. The holder is out with it, whatever becomes of it.
    pub fn go_out(&mut self, ctx: &mut Context) {
        self.is_out = true;
        ctx.timers.stop(Timer::Jeopardy);
    }

    /// The transfer has not happened.
    pub fn come_back(&mut self, ctx: &mut Context) {
        self.is_out = false;
        self.watch_jeopardy(ctx);
    }

    /// Awaits nothing any more; whoever waits for an outcome is told `why`.
    pub fn end(&mut self, ctx: &mut Context, why: &Arc<Failure>) {
        ctx.timers.stop_all();
        self.entering.changes.end(ctx, why);
        self.renewing.end(ctx, why);
        self.verifications.end(ctx, why);
    }
}
