//! Instants, spans and the bounds on how wrong a clock may be.
//!
//! The core never reads a clock: every entry point is given `now`. Instants are microseconds on
//! whatever clock the caller keeps (monotonic or epoch); two clocks are never compared, only spans
//! travel between machines.

use core::ops::{Add, Sub};

/// A point on one clock, in whole microseconds since that clock's own origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The clock's origin.
    pub const ZERO: Self = Self(0);
    /// Further away than any deadline; arithmetic saturates here.
    pub const FAR_FUTURE: Self = Self(u64::MAX);

    /// The instant `micros` microseconds after the clock's origin.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// The instant `millis` milliseconds after the clock's origin.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    /// Microseconds since the clock's origin.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Milliseconds since the clock's origin, rounded up: a timer set by it is never early.
    pub const fn as_millis_ceil(self) -> u64 {
        self.0.div_ceil(1_000)
    }

    /// Time from `earlier` to `self`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

/// A length of time in whole microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A span of `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// A span of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    /// A span of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000))
    }

    /// The span in microseconds.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// The span in milliseconds, rounded down: what is left is never overstated.
    pub const fn as_millis_floor(self) -> u64 {
        self.0 / 1_000
    }

    /// The span in milliseconds, rounded up.
    pub const fn as_millis_ceil(self) -> u64 {
        self.0.div_ceil(1_000)
    }

    /// Whether this is no time at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// `self - other`, or zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self · numerator / denominator`, rounded down. Exact, and without the 128-bit division that
    /// would make up a good part of the wasm, as long as `numerator · denominator` is below 2^64.
    // A copy at each of its uses would make up another.
    #[inline(never)]
    pub const fn scale(self, numerator: u64, denominator: u64) -> Self {
        let whole = (self.0 / denominator).saturating_mul(numerator);
        let rest = (self.0 % denominator).saturating_mul(numerator) / denominator;
        Self(whole.saturating_add(rest))
    }

    /// `self / divisor`, rounded down.
    pub const fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

impl Add<Span> for Instant {
    type Output = Self;

    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub<Span> for Instant {
    type Output = Self;

    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Add for Span {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// How wrong the holder's and the host's clocks may be while guarantee A still holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockBounds {
    /// ρ: the most either clock's rate differs from true time, in parts per million.
    pub rate_error_ppm: u32,
    /// ε: how coarse the holder's clock may be.
    pub quantum: Span,
}

impl ClockBounds {
    /// ρ = 0.5 %, ε = 10 ms.
    pub const DEFAULT: Self = Self {
        rate_error_ppm: 5_000,
        quantum: Span::from_millis(10),
    };

    /// How much of `term` a holder may use: `term · (1 − 2ρ) − ε`.
    ///
    /// A fast host frees the key after `term / (1 + ρ)` of true time, a slow holder's clock shows
    /// only `(1 − ρ)` of it; `1 − 2ρ` is below the product. The rule is DHCP's (RFC 2131, 4.4.5)
    /// with the clock bound of the Leases paper (Gray and Cheriton, SOSP 1989) made explicit.
    pub const fn usable(self, term: Span) -> Span {
        let kept = 1_000_000_u64.saturating_sub(2 * self.rate_error_ppm as u64);
        term.scale(kept, 1_000_000).saturating_sub(self.quantum)
    }
}

impl Default for ClockBounds {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usable_term_matches_the_published_table() {
        // Worked out by hand from ttl·0.99 − 10 ms.
        for (ttl, usable) in [
            (100, 89),
            (200, 188),
            (1_000, 980),
            (5_000, 4_940),
            (10_000, 9_890),
            (15_000, 14_840),
            (30_000, 29_690),
        ] {
            assert_eq!(
                ClockBounds::DEFAULT.usable(Span::from_millis(ttl)),
                Span::from_millis(usable),
                "ttl {ttl}"
            );
        }
    }

    #[test]
    fn a_term_shorter_than_the_quantum_is_of_no_use() {
        assert!(ClockBounds::DEFAULT.usable(Span::from_millis(5)).is_zero());
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(
            Instant::FAR_FUTURE + Span::from_secs(1),
            Instant::FAR_FUTURE
        );
        assert_eq!(Instant::ZERO - Span::from_secs(1), Instant::ZERO);
        assert_eq!(
            Instant::from_millis(1).since(Instant::from_millis(2)),
            Span::ZERO
        );
        assert_eq!(
            Span::from_micros(u64::MAX).scale(3, 2),
            Span::from_micros(u64::MAX)
        );
    }

    #[test]
    fn rounding_is_conservative() {
        assert_eq!(Span::from_micros(1_999).as_millis_floor(), 1);
        assert_eq!(Instant::from_micros(1_001).as_millis_ceil(), 2);
    }
}
