//! Any sequence of inputs to a host: who may have what, judged by what it stores and answers.

mod restart;
mod storage;
mod watch;

use leasehold::fence::Fence;
use leasehold::host::{Host, HostConfig, HostInput, Margin, ReplyTo, Snapshot};
use leasehold::time::{Instant, Span};

use crate::bytes::Bytes;
use crate::sample;
use crate::seen::Seen;
use watch::Watch;

/// No story is longer.
const MOST_INPUTS: usize = 100;

/// Sets a host up and tells it a story.
pub fn run(data: &[u8], seen: &mut Seen) {
    let mut bytes = Bytes::new(data);
    let config = config(&mut bytes);
    let floor = match bytes.below(8) {
        7 => Fence::from_value(u64::MAX - 3),
        _ => Fence::NONE,
    };
    let start = match bytes.below(16) {
        15 => Instant::FAR_FUTURE - Span::from_secs(60),
        _ => Instant::from_millis(100_000),
    };
    let snapshot = Snapshot {
        floor,
        ..Snapshot::default()
    };
    let host = Host::restore(config, snapshot, start);
    // Of clients that mix their ops up answers may make no sense; all the rest must.
    let careless = bytes.once_in(8);
    let mut watch = Watch::new(host, config, floor, start, careless);
    let mut now = start;
    let mut asked = 0;
    for _ in 0..MOST_INPUTS {
        if bytes.is_empty() {
            break;
        }
        now = pause(&mut bytes, now);
        let input = match bytes.below(16) {
            0 => HostInput::Tick,
            1..=3 => {
                // The alarm, on time or late.
                let Some(alarm) = watch.alarm else { continue };
                now = now.max(alarm + late(&mut bytes));
                HostInput::Tick
            }
            4 => HostInput::Gone(ReplyTo(asked - asked.min(bytes.below(6) as u64))),
            5 => {
                let behind = bytes.once_in(4).then(|| sample::span(&mut bytes));
                watch.restart(now, behind.unwrap_or(Span::ZERO));
                now = watch.now;
                continue;
            }
            _ => {
                asked += 1;
                let request = if careless {
                    sample::careless_request(&mut bytes)
                } else {
                    sample::request(&mut bytes)
                };
                HostInput::Request(ReplyTo(asked), request)
            }
        };
        watch.step(now, &input, seen);
    }
    watch.restart(now, Span::ZERO);
}

fn config(bytes: &mut Bytes) -> HostConfig {
    HostConfig {
        margin: bytes.pick(&[
            HostConfig::DURABLE_OBJECT.margin,
            Margin::NONE,
            Margin {
                part: 0,
                most: Span::from_millis(50),
            },
        ]),
        max_keys: [3, 4, 1, 2][bytes.below(4)],
        spare_keys: 2,
        max_waiters: [2, 3, 1, 0][bytes.below(4)],
        ..HostConfig::EMBEDDED
    }
}

/// Mostly no time or little; now and then the clock steps back.
fn pause(bytes: &mut Bytes, now: Instant) -> Instant {
    match bytes.below(10) {
        0..=3 => now,
        4 => now + Span::from_millis(1),
        5 => now + Span::from_millis(450),
        6 => now + Span::from_millis(3_000),
        7 => now + Span::from_millis(20_000),
        8 => now + sample::span(bytes),
        _ => now - Span::from_millis(1_500),
    }
}

fn late(bytes: &mut Bytes) -> Span {
    match bytes.below(4) {
        3 => sample::span(bytes),
        _ => Span::ZERO,
    }
}
