//! The holder's deadline: never later than the rule allows, never sooner for having renewed, told
//! at the latest when a timer is served in time.
//!
//! Works out the end of the term a second time, from nothing but what was sent and answered.

use leasehold::fence::Fence;
use leasehold::holder::{Done, Event, LossReason, Send};
use leasehold::id::{AttemptId, LeaseId};
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
    /// How long it may be held in all, if that is limited.
    max_hold: Option<Span>,
    /// From here on it may not be held, whatever the host says.
    latest: Option<Instant>,
    /// The lead of the running term.
    lead: Span,
    /// Whether the holder has a lease and is not giving it back.
    open: bool,
    /// Whether it has ended for good.
    over: bool,
    /// Whether the holder has given its lease back, or away, on purpose.
    parted: bool,
    /// The longest term that was ever asked for.
    longest: Span,
    /// The lease that it was granted last.
    lease: Option<LeaseId>,
    /// The last instant at which the lease was valid that it has lost.
    expired: Option<Instant>,
}

/// What an attempt asks, as far as its answer has to fit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Grant(LeaseId),
    Renew(Option<Fence>),
    Verify(Option<Fence>),
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
    /// The deadline of a holder that may hold for so long in all.
    pub fn new(max_hold: Option<Span>) -> Self {
        Self {
            max_hold,
            ..Self::default()
        }
    }

    /// Takes note of an attempt.
    ///
    /// # Errors
    /// When it gives a lease back that was lost, before the last instant at which it was valid.
    pub fn sent(&mut self, send: &Send, now: Instant, claim: bool) -> Verdict {
        let (kind, ttl) = match &send.request.operation {
            Operation::Acquire(acquire) => (Kind::Grant(acquire.lease), acquire.ttl),
            Operation::Transfer(transfer) if claim => (Kind::Grant(transfer.lease), transfer.ttl),
            Operation::Renew { credential, ttl } => (Kind::Renew(credential.fence), *ttl),
            Operation::Verify(credential) => (Kind::Verify(credential.fence), Span::ZERO),
            _ => (Kind::Other, Span::ZERO),
        };
        self.longest = self.longest.max(ttl);
        self.sent.push((send.attempt, now, kind));
        let gives_back = matches!(&send.request.operation, Operation::Release(credential)
            if Some(credential.lease) == self.lease);
        let too_early = self.expired.is_some_and(|valid_until| now < valid_until);
        ensure(!(gives_back && too_early), CHECK, || {
            "a lost lease is given back while work under it may go on".into()
        })
    }

    /// What this attempt has sent so far was not carried out: it counts from now.
    pub fn resent(&mut self, attempt: AttemptId, now: Instant) {
        for (id, sent, _) in &mut self.sent {
            if *id == attempt {
                *sent = now;
            }
        }
    }

    /// The attempt is awaited no more: whatever comes of it is not heard.
    pub fn dropped(&mut self, attempt: AttemptId) {
        self.sent.retain(|(id, ..)| *id != attempt);
    }

    /// Takes note of an answer that the holder is about to be given. Whether it tells anything of the
    /// term.
    pub fn answered(&mut self, attempt: AttemptId, response: &Response, now: Instant) -> bool {
        if self.open && self.ends.is_some_and(|ends| ends <= now) {
            self.over = true;
        }
        let Some(&(_, sent, kind)) = self.sent.iter().find(|(id, ..)| *id == attempt) else {
            return false;
        };
        self.dropped(attempt);
        // Nothing else is about this very grant, or can have been said by a host.
        let (ttl, waited) = match (kind, response) {
            (Kind::Grant(lease), Response::Granted(granted))
                if granted.lease == lease && granted.fence != Fence::NONE =>
            {
                self.lease = Some(lease);
                (granted.ttl, granted.waited)
            }
            (Kind::Renew(fence) | Kind::Verify(fence), Response::Renewed { about, ttl, .. })
                if *about == fence =>
            {
                (*ttl, Span::ZERO)
            }
            _ => return false,
        };
        if ttl > self.longest {
            return false;
        }
        let lead = match kind {
            // Asking whether a lease is held does not make its term a short one.
            Kind::Verify(_) => self.lead,
            _ => ttl.div(20).min(Span::from_millis(500)),
        };
        let term = ttl + waited.min(now.since(sent));
        if let Kind::Grant(_) = kind
            && let Some(most) = self.max_hold
        {
            self.latest = Some(sent + waited.min(now.since(sent)) + most);
        }
        let ends = sent + usable(term) - lead;
        let ends = self.latest.map_or(ends, |latest| latest.min(ends));
        // What comes after its own end was never held.
        if !self.over && ends > now && self.ends.is_none_or(|before| ends > before) {
            self.ends = Some(ends);
            self.lead = lead;
        }
        true
    }

    /// The holder is about to give the lease back or to hand it over.
    pub fn ending(&mut self) {
        self.open = false;
        self.parted = true;
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
        if events.contains(&Event::Lost(LossReason::Expired)) && !self.parted {
            self.expired = self.ends.map(|ends| ends + self.lead);
        }
        self.parted &= !held;
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
