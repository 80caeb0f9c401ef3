//! The holder's clock: monotonic time plus the suspended time that a monotonic clock misses.

use crate::time::{Instant, Span};

/// Combines samples of a monotonic and a wall clock into one clock that never runs backwards.
///
/// Monotonic clocks may stop while a machine sleeps; the wall clock shows the gap afterwards. Wall
/// time that passed and monotonic time did not is therefore added, so a holder that slept notices
/// at its next look. A wall clock stepped back is ignored. A wall clock stepped forward ends leases
/// early, which is safe; where both samples are the same clock (Workers) it is that clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    last: Option<(Span, Span)>,
    elapsed: Span,
    /// Wall time gained over the monotonic clock that is too little to call a gap yet.
    drift: i64,
}

/// Up to this (µs), a lead of the wall clock over the monotonic one is slewing and rounding, not a
/// gap. It stays below the quantum ε that every deadline allows for.
const GAP: i64 = 5_000;

impl Clock {
    /// A clock whose origin is its first sample.
    pub const fn new() -> Self {
        Self {
            last: None,
            elapsed: Span::ZERO,
            drift: 0,
        }
    }

    /// The present instant, from one sample of each clock taken together.
    pub fn sample(&mut self, monotonic: Span, wall: Span) -> Instant {
        if let Some((last_monotonic, last_wall)) = self.last {
            let ran = monotonic.saturating_sub(last_monotonic);
            self.elapsed = self.elapsed + ran;
            self.drift = self
                .drift
                .saturating_add(signed(wall.as_micros(), last_wall.as_micros()))
                .saturating_sub(signed(ran.as_micros(), 0));
            if self.drift > GAP {
                self.elapsed = self.elapsed + Span::from_micros(self.drift.unsigned_abs());
                self.drift = 0;
            } else if self.drift < -GAP {
                self.drift = 0;
            }
        }
        self.last = Some((monotonic, wall));
        Instant::ZERO + self.elapsed
    }
}

/// `later - earlier`, each of them counted up to the largest `i64`.
fn signed(later: u64, earlier: u64) -> i64 {
    let clamped = |micros: u64| micros.min(i64::MAX.unsigned_abs()) as i64;
    clamped(later) - clamped(earlier)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(clock: &mut Clock, monotonic_ms: u64, wall_ms: u64) -> u64 {
        clock
            .sample(Span::from_millis(monotonic_ms), Span::from_millis(wall_ms))
            .as_micros()
            / 1_000
    }

    #[test]
    fn follows_the_monotonic_clock() {
        let mut clock = Clock::new();
        assert_eq!(at(&mut clock, 500, 9_000), 0);
        assert_eq!(at(&mut clock, 700, 9_200), 200);
        assert_eq!(at(&mut clock, 1_500, 10_000), 1_000);
    }

    #[test]
    fn counts_time_the_monotonic_clock_slept_through() {
        let mut clock = Clock::new();
        at(&mut clock, 0, 1_000);
        assert_eq!(at(&mut clock, 10, 3_601_010), 3_600_010);
    }

    #[test]
    fn counts_a_sleep_once_when_both_clocks_show_it() {
        let mut clock = Clock::new();
        at(&mut clock, 0, 1_000);
        assert_eq!(at(&mut clock, 3_600_000, 3_601_000), 3_600_000);
    }

    #[test]
    fn ignores_a_wall_clock_stepped_back() {
        let mut clock = Clock::new();
        at(&mut clock, 0, 3_600_000);
        assert_eq!(at(&mut clock, 100, 100), 100);
        assert_eq!(at(&mut clock, 200, 200), 200);
    }

    #[test]
    fn many_small_gaps_add_up() {
        let mut clock = Clock::new();
        at(&mut clock, 0, 0);
        let mut last = 0;
        for step in 1..=100 {
            last = at(&mut clock, step, step * 40);
        }
        // True time is 4,000 ms; at most one gap's worth may still be unaccounted for.
        assert!((3_995..=4_000).contains(&last), "{last}");
    }

    #[test]
    fn never_runs_backwards() {
        let mut clock = Clock::new();
        at(&mut clock, 1_000, 1_000);
        let before = at(&mut clock, 1_100, 1_100);
        assert!(at(&mut clock, 900, 50) >= before);
        assert!(at(&mut clock, 0, 0) >= before);
    }
}
