//! The holder's clock, on samples that jump as they like.

use leasehold::clock::Clock;
use leasehold::time::{Instant, Span};

use crate::bytes::Bytes;
use crate::seen::Seen;

/// What may be missing of the wall clock's way, in microseconds: twice what counts as no gap.
const SLACK: i128 = 10_000;

/// Beyond this the clock's own arithmetic may saturate, and only its order is checked.
const FAR: i128 = 1 << 60;

/// Takes up to 64 samples, each a step on from the last.
pub fn run(data: &[u8], seen: &mut Seen) {
    let mut bytes = Bytes::new(data);
    let mut clock = Clock::new();
    let (mut monotonic, mut wall) = (bytes.number(), bytes.number());
    let mut now = sample(&mut clock, monotonic, wall);
    assert_eq!(now, Instant::ZERO, "the first sample is the origin");
    let mut samples = vec![(now, wall)];
    let mut most = 0_i128;
    while !bytes.is_empty() && samples.len() < 64 {
        let (last_monotonic, last_wall) = (monotonic, wall);
        step(&mut bytes, &mut monotonic, &mut wall);
        let before = now;
        now = sample(&mut clock, monotonic, wall);
        let ran = monotonic.saturating_sub(last_monotonic);
        assert!(now >= before, "it runs backwards");
        assert!(
            now == Instant::FAR_FUTURE || now.since(before).as_micros() >= ran,
            "it is slower than the monotonic clock"
        );
        let walked = i128::from(wall) - i128::from(last_wall);
        most += i128::from(ran) + (walked - i128::from(ran)).max(0);
        assert!(i128::from(now.as_micros()) <= most, "time from nowhere");
        samples.push((now, wall));
        seen.note((
            walked.signum(),
            ran > 0,
            (walked - i128::from(ran)).signum(),
            now.since(before)
                .as_micros()
                .checked_ilog2()
                .map(|bits| bits / 8),
        ));
    }
    let tame = |value: u64| i128::from(value) < FAR;
    if samples
        .iter()
        .all(|(at, wall)| tame(at.as_micros()) && tame(*wall))
    {
        no_sleep_is_missed(&samples);
    }
}

/// From any sample to any later one, at least the wall clock's way has passed, but for the slack.
fn no_sleep_is_missed(samples: &[(Instant, u64)]) {
    for (index, (earlier, wall)) in samples.iter().enumerate() {
        for (later, later_wall) in &samples[index..] {
            let passed = i128::from(later.since(*earlier).as_micros());
            let walked = i128::from(*later_wall) - i128::from(*wall);
            assert!(
                passed >= walked - SLACK,
                "{walked} µs of wall time, {passed} of ours"
            );
        }
    }
}

fn step(bytes: &mut Bytes, monotonic: &mut u64, wall: &mut u64) {
    let small = u64::from(bytes.byte()) * 100;
    match bytes.below(8) {
        0 => *monotonic = bytes.number(),
        1 => *wall = bytes.number(),
        2 => *wall = wall.saturating_sub(small),
        3 => *wall = wall.saturating_add(small),
        4 => *monotonic = monotonic.saturating_sub(small),
        5 => *monotonic = monotonic.saturating_add(small),
        6 => {
            *monotonic = monotonic.saturating_add(small);
            *wall = wall.saturating_add(small + u64::from(bytes.byte()));
        }
        _ => {
            let both = bytes.number();
            *monotonic = monotonic.saturating_add(both);
            *wall = wall.saturating_add(both);
        }
    }
}

fn sample(clock: &mut Clock, monotonic: u64, wall: u64) -> Instant {
    clock.sample(Span::from_micros(monotonic), Span::from_micros(wall))
}
