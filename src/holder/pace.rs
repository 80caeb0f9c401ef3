//! When renewals go out: how long an answer takes is learnt, the rest follows from the term.

use crate::time::{Instant, Span};

use super::context::Context;
use super::term::Term;

/// The most renewals of one term that nobody asked for.
pub(super) const MAX_TRIES: u32 = 10;

/// The longest that an operation is given because answers take long.
const LONGEST_BUDGET: Span = Span::from_secs(60);

/// How long the way to the host and back takes.
#[derive(Clone, Copy, Default)]
pub(super) struct RoundTrip(Span);

impl RoundTrip {
    /// Takes a measured one. A longer one counts at once, a shorter one by half: an answer that is
    /// expected too late costs less than one that is taken for lost too early.
    pub fn learn(&mut self, measured: Span) {
        let between = measured + self.0.saturating_sub(measured).div(2);
        self.0 = measured.max(between);
    }

    /// After how long an answer is late.
    fn late(self) -> Span {
        self.0 + self.0.div(8) + Span::from_millis(1)
    }

    /// How long an operation may take: as long as is allowed, or so that two attempts have their answers
    /// in it. A clock that has jumped makes a round trip look longer than any is.
    pub fn budget(self, allowed: Span) -> Span {
        allowed.max(self.late().scale(2, 1).min(LONGEST_BUDGET))
    }
}

/// What the pace of a term's renewals depends on.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    pub term: Term,
    /// Length of the term, by the host's word.
    pub told: Span,
    trip: Span,
}

impl Pace {
    /// Of round trips that take more than half of the term no renewal would ever come back in time:
    /// such a one was an exception.
    pub fn new(term: Term, told: Span, trip: RoundTrip) -> Self {
        Self {
            term,
            told,
            trip: trip.0.min(told.div(2)),
        }
    }

    /// An attempt counts as young for so long.
    pub fn youth(&self) -> Span {
        self.trip.scale(3, 1)
    }

    /// After how long an answer is late.
    pub fn late(&self) -> Span {
        RoundTrip(self.trip).late()
    }

    /// The last moment at which an attempt's answer can still be expected in time.
    pub fn last(&self) -> Instant {
        let slack = Span::from_millis(1) + self.told.div(64).min(Span::from_millis(50));
        self.term.ends - (self.trip + slack)
    }

    /// When to renew for the first time in a term, if that is planned `after` so long. Where answers
    /// take long it is sooner, so that after one that is late there is room for another.
    ///
    /// An attempt that is open already may do as well: it is waited for until it is late.
    pub fn first(&self, ctx: &mut Context, after: Span, open: Option<Instant>) -> Instant {
        let planned = self.term.begins + ctx.fuzz(after);
        self.beside_open(ctx, planned.min(self.last() - self.late()), open)
    }

    /// When to renew again after an answer that has not lengthened the term. To count from the
    /// term's start would make it due at once, and again with the next answer.
    pub fn later(
        &self,
        ctx: &mut Context,
        part: impl Fn(Span) -> Span,
        open: Option<Instant>,
    ) -> Option<Instant> {
        if self.last() <= ctx.now {
            return self.half_of_the_rest(ctx.now);
        }
        let left = self.term.ends.since(ctx.now);
        let planned = ctx.now + ctx.fuzz(part(left).max(self.told.div(24)));
        Some(self.beside_open(ctx, planned, open))
    }

    /// Not before the attempt that was sent at `open` is late, and not after the last moment.
    pub fn beside_open(&self, ctx: &Context, planned: Instant, open: Option<Instant>) -> Instant {
        let Some(sent) = open else {
            return planned.min(self.last()).max(ctx.now);
        };
        let at = planned.max(sent + self.late());
        // One that goes out shortly before the last moment would bar the one that is due then.
        let is_last = at + self.trip.scale(3, 4) > self.last();
        let at = if is_last { self.last() } else { at };
        at.max(ctx.now)
    }

    /// When to try again after the n-th attempt of a term, which has failed just now.
    ///
    /// Pauses grow, and the tenth attempt goes out at the last moment.
    pub fn after_failure(&self, ctx: &mut Context, n: u32, asked: Option<Span>) -> Option<Instant> {
        if n >= MAX_TRIES {
            return None;
        }
        let window = self.last().since(ctx.now);
        if window.is_zero() {
            return self.half_of_the_rest(ctx.now);
        }
        // What the host asks for is honoured as long as the lease is not given up for it.
        let asked = match asked.unwrap_or(Span::ZERO) {
            asked if asked > window => window.div(2),
            asked => asked,
        };
        let pause = pause(n, window);
        let pause = if n + 1 < MAX_TRIES {
            ctx.fuzz(pause)
        } else {
            pause
        };
        Some((ctx.now + pause.max(asked)).min(self.last()))
    }

    /// When to send another attempt beside the n-th of a term, which was sent just now, if no
    /// answer comes: not before that is late, but at the last moment for another one.
    pub fn beside(&self, ctx: &mut Context, n: u32) -> Option<Instant> {
        let planned = self.after_failure(ctx, n, None)?;
        let late = ctx.now + self.late();
        if self.last() > ctx.now {
            return Some(self.beside_open(ctx, planned, Some(ctx.now)));
        }
        if ctx.now + self.trip < self.term.ends {
            return Some(late).filter(|late| *late < self.term.ends);
        }
        Some(planned)
    }

    /// Without an answer in time to be expected, it may still come sooner than it did.
    fn half_of_the_rest(&self, now: Instant) -> Option<Instant> {
        let half = self.term.ends.since(now).div(2);
        (half >= self.told.div(128)).then(|| now + half)
    }
}

/// The pause after the n-th of ten attempts, in a window that the rest of them is to fill: each is
/// longer than the one before, in the proportion 1 : 2 : … : 9.
fn pause(n: u32, window: Span) -> Span {
    let n = u64::from(n.clamp(1, MAX_TRIES - 1));
    let rest: u64 = (n..u64::from(MAX_TRIES)).sum();
    window.scale(n, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_pauses_that_grow_fill_the_window() {
        let mut left = Span::from_millis(45_000);
        let mut pauses = alloc::vec::Vec::new();
        for n in 1..MAX_TRIES {
            let pause = pause(n, left);
            left = left.saturating_sub(pause);
            pauses.push(pause.as_millis_floor());
        }
        assert_eq!(
            pauses,
            [
                1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000, 9_000
            ]
        );
        assert!(left.is_zero());
    }

    #[test]
    fn a_longer_round_trip_counts_at_once_and_a_shorter_one_by_half() {
        let mut trip = RoundTrip::default();
        for (measured, learnt) in [(80, 80), (200, 200), (100, 150), (100, 125), (300, 300)] {
            trip.learn(Span::from_millis(measured));
            assert_eq!(trip.0, Span::from_millis(learnt));
        }
    }
}
