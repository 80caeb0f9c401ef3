//! Any sequence of inputs to a holder: never held for longer than was granted, one end, no storm.

mod watch;

use leasehold::holder::{
    Ask, Config, Delivery, Holder, Input, Schedule, Seed, Ticket, TransportFailure,
};
use leasehold::id::{AttemptId, LeaseId};
use leasehold::json::Json;
use leasehold::name::{EntryName, HolderName, Key};
use leasehold::protocol::Credential;
use leasehold::time::{ClockBounds, Instant, Span};

use crate::bytes::Bytes;
use crate::sample;
use crate::seen::Seen;
use watch::Watch;

/// No story is longer.
const MOST_INPUTS: usize = 100;

/// The lease id that the first proposal comes after.
const LEASES: u128 = 2_000;

/// Sets a holder up, tells it a story, and then leaves it to its timers.
pub fn run(data: &[u8], seen: &mut Seen) {
    let mut bytes = Bytes::new(data);
    let config = config(&mut bytes);
    let seed = Seed {
        ops: u128::from(bytes.byte()),
        leases: LEASES,
    };
    let bounds = config.bounds;
    let holder = if bytes.once_in(4) {
        let lease = Credential {
            lease: LeaseId::from_bits(500),
            fence: None,
        };
        Holder::resume(config, lease, seed)
    } else {
        Holder::acquire(config, seed)
    };
    let holder = match holder {
        Ok(holder) => holder,
        Err(invalid) => return seen.note((invalid.field.name(), invalid.expected)),
    };
    let mut now = match bytes.below(16) {
        15 => Instant::FAR_FUTURE - Span::from_secs(60),
        _ => Instant::from_millis(1_000),
    };
    let mut watch = Watch::new(holder, bounds);
    if !bytes.once_in(16) {
        watch.step(now, Input::Start, seen);
    }
    let mut tickets = 0;
    for _ in 0..MOST_INPUTS {
        if bytes.is_empty() {
            break;
        }
        now = pause(&mut bytes, now);
        let input = match bytes.below(16) {
            0..=6 => {
                let attempt = attempt(&mut bytes, watch.attempts);
                let response = sample::response(&mut bytes, lease);
                match bytes.below(4) {
                    0 => Input::Answered(attempt, response),
                    _ => Input::Answered(attempt, watch.fitting(attempt, response)),
                }
            }
            7 | 8 => Input::Failed(attempt(&mut bytes, watch.attempts), failure(&mut bytes)),
            9..=12 => {
                let Some(due) = watch.wake else { continue };
                now = now.max(due + late(&mut bytes));
                Input::Wake
            }
            13 => match bytes.once_in(2) {
                true => Input::Wake,
                false => Input::Resent(attempt(&mut bytes, watch.attempts)),
            },
            _ => {
                tickets += 1;
                told(&mut bytes, Ticket(tickets))
            }
        };
        watch.step(now, input, seen);
    }
    watch.run_out(seen);
}

fn config(bytes: &mut Bytes) -> Config {
    let key = Key::parse("k").expect("a legal key");
    let holder = HolderName::parse("a").expect("a legal name");
    let ttl = match bytes.below(16) {
        15 => sample::span(bytes),
        _ => sample::ttl(bytes),
    };
    Config {
        wait: match bytes.below(16) {
            15 => sample::span(bytes),
            _ => sample::wait(bytes),
        },
        renewal: match bytes.below(6) {
            0..=2 => Some(Schedule::DEFAULT),
            3 => None,
            4 => Some(Schedule {
                t1: 500,
                t2: Some(700),
            }),
            _ => Some(Schedule {
                t1: bytes.number() as u16,
                t2: bytes.once_in(2).then(|| bytes.number() as u16),
            }),
        },
        bounds: match bytes.below(4) {
            0..=2 => ClockBounds::DEFAULT,
            _ => ClockBounds {
                rate_error_ppm: u32::from(bytes.byte()) * 2_000,
                quantum: sample::span(bytes),
            },
        },
        max_hold: bytes.once_in(4).then(|| sample::ttl(bytes)),
        op_timeout: match bytes.below(8) {
            7 => Span::from_millis(100) + sample::span(bytes),
            _ => Config::OP_TIMEOUT,
        },
        ..Config::new(key, holder, ttl)
    }
}

fn pause(bytes: &mut Bytes, now: Instant) -> Instant {
    match bytes.below(8) {
        0..=2 => now,
        3 => now + Span::from_millis(10),
        4 => now + Span::from_millis(300),
        5 => now + Span::from_millis(2_000),
        6 => now + sample::span(bytes),
        _ => now - Span::from_millis(700),
    }
}

fn late(bytes: &mut Bytes) -> Span {
    match bytes.below(4) {
        3 => sample::span(bytes),
        _ => Span::ZERO,
    }
}

/// The latest attempt, an earlier one, or one that never was.
fn attempt(bytes: &mut Bytes, attempts: u32) -> AttemptId {
    match bytes.below(8) {
        0..=5 => AttemptId(attempts),
        6 => AttemptId(attempts.saturating_sub(bytes.below(4) as u32)),
        _ => AttemptId(bytes.number() as u32),
    }
}

/// A lease id that the holder may have proposed, or another's.
fn lease(bytes: &mut Bytes) -> LeaseId {
    match bytes.below(8) {
        7 => LeaseId::from_bits(77),
        which => LeaseId::from_bits(LEASES + 1 + which as u128 / 3),
    }
}

fn failure(bytes: &mut Bytes) -> TransportFailure {
    TransportFailure {
        delivery: bytes.pick(&[Delivery::Unknown, Delivery::Never]),
        retry_after: bytes.once_in(3).then(|| sample::span(bytes)),
    }
}

fn told(bytes: &mut Bytes, ticket: Ticket) -> Input {
    match bytes.below(8) {
        0 => Input::Start,
        1 => Input::Cancel,
        2 => Input::Detach,
        _ => Input::Ask(ticket, ask(bytes)),
    }
}

fn ask(bytes: &mut Bytes) -> Ask {
    match bytes.below(7) {
        0 => Ask::Release,
        1 => Ask::Renew(None),
        2 => Ask::Renew(Some(sample::span(bytes))),
        3 => Ask::Transfer {
            successor: sample::holder(bytes),
            lease: LeaseId::from_bits(900),
            ttl: sample::span(bytes),
        },
        4 => Ask::Entry {
            name: EntryName::parse("e").expect("a legal name"),
            value: Json::parse("[1]").filter(|_| bytes.once_in(2)),
        },
        5 => Ask::Finish {
            result: Json::parse("1").expect("JSON"),
            keep: sample::span(bytes),
        },
        _ => Ask::Verify,
    }
}
