//! The holder's deadline: how long a grant may be believed.

use crate::time::{ClockBounds, Instant, Span};

/// One term of a lease, by the holder's own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Term {
    /// When the term may first have begun.
    pub begins: Instant,
    /// The holder stops here, a little before [`Term::valid_until`].
    pub ends: Instant,
    /// The last instant at which nobody else can hold the key.
    pub valid_until: Instant,
}

impl Term {
    /// The term that an answer grants.
    ///
    /// `sent` is the own clock before the attempt went out, `received` at its answer, `ttl` what
    /// the host says is left, `waited` how long the host kept the attempt waiting:
    /// `valid_until = sent + (ttl + min(waited, received − sent)) · (1 − 2ρ) − ε`. Counting from
    /// `sent` holds whatever the network did; counting from `received` would be wrong by the
    /// answer's flight, which has no bound.
    pub fn new(
        bounds: ClockBounds,
        sent: Instant,
        received: Instant,
        ttl: Span,
        waited: Span,
    ) -> Self {
        let waited = waited.min(received.since(sent));
        let valid_until = sent + bounds.usable(ttl + waited);
        Self {
            begins: sent + waited,
            ends: valid_until - Self::lead(ttl),
            valid_until,
        }
    }

    /// The same term, left this much before its last valid instant.
    pub fn stopping_ahead_by(self, lead: Span) -> Self {
        Self {
            ends: self.valid_until - lead,
            ..self
        }
    }

    /// How long before the last valid instant the holder stops: time to wind down in.
    pub fn lead(ttl: Span) -> Span {
        ttl.div(20).min(Span::from_millis(500))
    }

    /// When an unrenewed lease is in jeopardy, after the start of a term of `ttl`.
    pub fn jeopardy(ttl: Span) -> Span {
        ttl.scale(2, 3)
    }

    /// This term, as long as `other` if that ends later: never shorter than it was, and begun when
    /// it began.
    pub fn lasting_as(self, other: Self) -> Self {
        if other.ends > self.ends {
            Self {
                begins: self.begins,
                ..other
            }
        } else {
            self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn term(sent: u64, received: u64, ttl: u64, waited: u64) -> Term {
        Term::new(
            ClockBounds::DEFAULT,
            ms(sent),
            ms(received),
            Span::from_millis(ttl),
            Span::from_millis(waited),
        )
    }

    #[test]
    fn counts_from_the_send_whatever_the_flight_took() {
        assert_eq!(term(0, 20, 1_000, 0).valid_until, ms(980));
        assert_eq!(term(0, 900, 1_000, 0).valid_until, ms(980));
        assert_eq!(term(5_000, 5_001, 200, 0).valid_until, ms(5_188));
    }

    #[test]
    fn a_wait_at_the_host_lengthens_the_term_no_more_than_it_took_here() {
        // (1000 + 1500) · 0.99 − 10 = 2465.
        assert_eq!(term(0, 1_520, 1_000, 1_500).valid_until, ms(2_465));
        // The host claims a wait longer than the whole exchange: (1000 + 100) · 0.99 − 10 = 1079.
        assert_eq!(term(0, 100, 1_000, 60_000).valid_until, ms(1_079));
    }

    #[test]
    fn stops_ahead_of_the_last_valid_instant() {
        assert_eq!(term(0, 20, 1_000, 0).ends, ms(930));
        assert_eq!(term(0, 20, 30_000, 0).ends, ms(29_190));
    }
}
