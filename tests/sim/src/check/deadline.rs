//! The holder's deadline: never later than the rule allows, never sooner for having renewed, told
//! at the latest when a timer is served in time.
//!
//! Works out the end of the term a second time, from nothing but what was sent and answered.

use leasehold::holder::{Done, Event, Send};
use leasehold::id::AttemptId;
use leasehold::protocol::{Operation, Response};
use leasehold::time::{Instant, Span};

use super::{Verdict, ensure};

const CHECK: &str = "deadline";

/// What a holder may use of a term with the default bounds: ρ = 0.5 %, ε = 10 ms.
fn usable(term: Span) -> Span {
    Span::from_micros((term.as_micros() * 99 / 100).saturating_sub(10_000))
}

/// One holder's deadline.
#[derive(Default)]
pub struct Deadline {
    sent: Vec<(AttemptId, Instant, Kind)>,
    /// The latest that the holder may stop by its own clock, once it has been granted a lease.
    ends: Option<Instant>,
    /// The lead of the running term.
    lead: Span,
    /// Whether the holder has a lease and is not giving it back.
    open: bool,
    /// Whether it has ended for good.
    over: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Grant,
    Renew,
    Verify,
    Other,
}

/// What a holder shows after an input.
#[derive(Clone, Copy)]
pub struct Shown {
    /// Its own clock.
    pub now: Instant,
    /// How long it may trust the lease.
    pub remaining: Span,
    /// When it wants to be woken.
    pub wake: Option<Instant>,
}

impl Deadline {
    /// Takes note of an attempt.
    pub fn sent(&mut self, send: &Send, now: Instant, claim: bool) {
        let kind = match &send.request.operation {
            Operation::Acquire(_) => Kind::Grant,
            Operation::Transfer(_) if claim => Kind::Grant,
            Operation::Renew { .. } => Kind::Renew,
            Operation::Verify(_) => Kind::Verify,
            _ => Kind::Other,
        };
        self.sent.push((send.attempt, now, kind));
    }

    /// The attempt is awaited no more: whatever comes of it is not heard.
    pub fn dropped(&mut self, attempt: AttemptId) {
        self.sent.retain(|(id, ..)| *id != attempt);
    }

    /// Takes note of an answer that the holder is about to be given.
    pub fn answered(&mut self, attempt: AttemptId, response: &Response, now: Instant) {
        if self.open && self.ends.is_some_and(|ends| ends <= now) {
            self.over = true;
        }
        let Some(&(_, sent, kind)) = self.sent.iter().find(|(id, ..)| *id == attempt) else {
            return;
        };
        self.dropped(attempt);
        let (ttl, waited) = match (kind, response) {
            (Kind::Grant, Response::Granted(granted)) => (granted.ttl, granted.waited),
            (Kind::Renew | Kind::Verify, Response::Renewed { ttl, .. }) => (*ttl, Span::ZERO),
            _ => return,
        };
        let lead = match kind {
            // Asking whether a lease is held does not make its term a short one.
            Kind::Verify => self.lead,
            _ => ttl.div(20).min(Span::from_millis(500)),
        };
        let term = ttl + waited.min(now.since(sent));
        let ends = sent + usable(term) - lead;
        // What comes after its own end was never held.
        if !self.over && ends > now && self.ends.is_none_or(|before| ends > before) {
            self.ends = Some(ends);
            self.lead = lead;
        }
    }

    /// The holder is about to give the lease back or to hand it over.
    pub fn ending(&mut self) {
        self.open = false;
    }

    /// Looks at what an input has brought about.
    ///
    /// # Errors
    /// When the holder trusts its lease too long, or would not notice its end in time.
    pub fn after(&mut self, shown: Shown, events: &[Event]) -> Verdict {
        let Shown {
            now,
            remaining,
            wake,
        } = shown;
        let held = !remaining.is_zero();
        ensure(!(held && self.over), CHECK, || {
            "a lease that was over is held again".into()
        })?;
        let ends = self.ends.unwrap_or(now);
        ensure(remaining <= ends.since(now), CHECK, || {
            format!(
                "trusts its lease {remaining:?} more, allowed are {:?}",
                ends.since(now)
            )
        })?;
        if held {
            ensure(wake.is_some_and(|at| at <= ends), CHECK, || {
                format!("wakes at {wake:?}, the lease ends at {ends:?}")
            })?;
        }
        let was_open = std::mem::replace(&mut self.open, held);
        let lost = events.iter().any(|event| matches!(event, Event::Lost(_)));
        ensure(!was_open || held || lost, CHECK, || {
            "the lease is held no more and nobody was told".into()
        })
    }

    /// Looks at a renewal's effect.
    ///
    /// # Errors
    /// When it has shortened the lease.
    pub fn renewed(before: Span, after: Span, events: &[Event]) -> Verdict {
        let renewed = |event: &Event| {
            matches!(
                event,
                Event::Renewed { .. } | Event::Settled(_, Ok(Done::Verified))
            )
        };
        ensure(
            !events.iter().any(renewed) || after >= before,
            CHECK,
            || format!("a renewal shortened the lease from {before:?} to {after:?}"),
        )
    }
}
