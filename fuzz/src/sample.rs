//! Keys, names, ids, requests and responses out of bytes: mostly fitting, few of each, so that
//! they meet again.

use leasehold::fence::{Fence, Revision};
use leasehold::id::{LeaseId, OpId};
use leasehold::json::Json;
use leasehold::name::{EntryName, Fingerprint, HolderName, Key};
use leasehold::protocol::{
    Acquire, Code, Credential, DoneState, Ended, Entry, Finish, Granted, Held, HolderState,
    KeyState, Limit, Operation, Refusal, Request, Response, Transfer, Watch,
};
use leasehold::time::Span;

use crate::bytes::Bytes;

/// One of four keys.
pub fn key(bytes: &mut Bytes) -> Key {
    parsed(Key::parse(bytes.pick(&["k", "l", "order:42", "é"])))
}

/// One of three holders' names.
pub fn holder(bytes: &mut Bytes) -> HolderName {
    parsed(HolderName::parse(bytes.pick(&["a", "b", "worker-1"])))
}

/// The op of an acquire, one of twelve, or of a transfer, one of four.
pub fn op(bytes: &mut Bytes) -> OpId {
    OpId::from_bits(1 + bytes.below(16) as u128)
}

/// An op for this kind of operation: no intention has another's op.
fn op_for(bytes: &mut Bytes, operation: &Operation) -> OpId {
    let (first, count) = match operation {
        Operation::Acquire(_) => (1, 12),
        Operation::Transfer(_) => (13, 4),
        Operation::Cancel => (1, 16),
        Operation::Release(_) => (31, 4),
        Operation::Revoke { .. } => (41, 4),
        Operation::Entry(_) | Operation::Finish(_) | Operation::Watch(_) => (45, 4),
        Operation::Inspect | Operation::Renew { .. } | Operation::Verify(_) => (51, 1),
    };
    OpId::from_bits(first + bytes.below(count) as u128)
}

/// The lease id that an acquire or transfer under `op` proposes.
pub fn lease_of(op: OpId) -> LeaseId {
    LeaseId::from_bits(op.to_bits() + 100)
}

/// A legal term: mostly short, now and then as long as may be.
pub fn ttl(bytes: &mut Bytes) -> Span {
    let millis = bytes.pick(&[100, 200, 1_000, 3_000, 10_000, 30_000, 120_000, 86_400_000]);
    Span::from_millis(millis)
}

/// A legal wait.
pub fn wait(bytes: &mut Bytes) -> Span {
    let millis = bytes.pick(&[0, 0, 1, 500, 5_000, 19_999, 20_001, 60_000, 86_400_000]);
    Span::from_millis(millis)
}

/// A span of any length.
pub fn span(bytes: &mut Bytes) -> Span {
    let all = [0, 1, 50, 99, 100, 500, 1_000, 2_500, 5_000, 30_000, 60_000];
    match bytes.below(all.len() + 1) {
        index if index < all.len() => Span::from_millis(all[index]),
        _ => Span::from_micros(bytes.number()),
    }
}

/// Proof of holding: the id of one of the few ops' grants, for any or for one fence.
pub fn credential(bytes: &mut Bytes) -> Credential {
    Credential {
        lease: lease_of(op(bytes)),
        fence: about(bytes),
    }
}

/// The fence that a request names, if it names one.
pub fn about(bytes: &mut Bytes) -> Option<Fence> {
    let value = bytes.below(8) as u64;
    (value < 6).then(|| Fence::from_value(value))
}

/// Any request, as one of our clients would make it.
pub fn request(bytes: &mut Bytes) -> Request {
    let key = key(bytes);
    let mut operation = operation(bytes);
    let op = op_for(bytes, &operation);
    match &mut operation {
        // One that extends proposes the id that another op's grant has.
        Operation::Acquire(acquire) => {
            acquire.lease = lease_of(if acquire.extend { self::op(bytes) } else { op });
        }
        Operation::Transfer(transfer) => transfer.lease = lease_of(op),
        _ => {}
    }
    Request { key, op, operation }
}

fn operation(bytes: &mut Bytes) -> Operation {
    match bytes.below(18) {
        0..=5 => Operation::Acquire(Acquire {
            limit: parsed(Limit::parse(bytes.pick(&[1, 1, 1, 2, 3, 1_024]))),
            steal: bytes.once_in(16),
            extend: bytes.once_in(8),
            fingerprint: bytes
                .once_in(8)
                .then(|| parsed(Fingerprint::parse(bytes.pick(&["f", "g"])))),
            ..Acquire::new(
                holder(bytes),
                LeaseId::from_bits(0),
                ttl(bytes),
                wait(bytes),
            )
        }),
        6 => Operation::Cancel,
        7 => Operation::Inspect,
        8 | 9 => Operation::Release(credential(bytes)),
        10 => Operation::Renew {
            credential: credential(bytes),
            ttl: ttl(bytes),
        },
        11 => Operation::Revoke {
            fence: about(bytes),
        },
        12 => Operation::Transfer(Transfer {
            credential: credential(bytes),
            successor: holder(bytes),
            lease: LeaseId::from_bits(0),
            ttl: ttl(bytes),
        }),
        13 | 14 => Operation::Entry(Entry {
            credential: credential(bytes),
            name: parsed(EntryName::parse(bytes.pick(&["n", "o"]))),
            value: bytes
                .pick(&[Some("1"), Some("[2]"), None])
                .and_then(Json::parse),
            number: bytes.below(6) as u64,
        }),
        15 => Operation::Finish(Finish {
            credential: credential(bytes),
            result: json(bytes.pick(&["null", "{}"])),
            keep: Span::from_millis(bytes.pick(&[60_000, 86_400_000])),
        }),
        16 => Operation::Watch(Watch {
            after: bytes.pick(&[None, Some(Revision::ABSENT), Some(LAST_TOLD)]),
            wait: wait(bytes),
        }),
        _ => Operation::Verify(credential(bytes)),
    }
}

/// Stands for the revision that was last told, where there is a host to tell one.
pub const LAST_TOLD: Revision = Revision::from_value(u64::MAX);

/// How a grant ended.
pub fn ended(bytes: &mut Bytes) -> Ended {
    bytes.pick(&[
        Ended::Cancelled,
        Ended::Expired,
        Ended::Finished,
        Ended::Released,
        Ended::Revoked,
        Ended::Transferred,
        Ended::Unknown,
    ])
}

/// Any response; a grant is of the lease that `lease` chooses.
pub fn response(bytes: &mut Bytes, lease: impl FnOnce(&mut Bytes) -> LeaseId) -> Response {
    match bytes.below(16) {
        0..=3 => Response::Granted(Granted {
            lease: lease(bytes),
            fence: Fence::from_value(bytes.number()),
            ttl: span(bytes),
            waited: span(bytes),
            replayed: bytes.once_in(4),
            slot: bytes.byte().into(),
            wanted: bytes.byte().into(),
        }),
        4..=6 => Response::Renewed {
            about: about(bytes),
            ttl: span(bytes),
            wanted: bytes.byte().into(),
        },
        7 => Response::Cancelled,
        8 => Response::Held(Held {
            holder: bytes.once_in(2).then(|| holder(bytes)),
            fence: about(bytes),
            retry_after: span(bytes),
            waiters: bytes.byte().into(),
        }),
        9 => Response::State(state(bytes)),
        10 => Response::NotHolder {
            about: about(bytes),
            ended: ended(bytes),
            present: about(bytes),
        },
        11 | 12 => Response::Queued {
            ahead: bytes.byte().into(),
            retry_after: span(bytes),
        },
        13 => Response::Refused(Refusal {
            retry_after: bytes.once_in(2).then(|| span(bytes)),
            ..Refusal::new(
                bytes.pick(&[Code::Denied, Code::Invalid, Code::Unavailable]),
                "a-reason",
                "A sentence.",
            )
        }),
        14 => Response::Released {
            about: about(bytes),
        },
        _ => Response::Revoked(bytes.byte().into()),
    }
}

fn json(text: &str) -> Json {
    match Json::parse(text) {
        Some(json) => json,
        None => unreachable!("the samples are legal"),
    }
}

fn state(bytes: &mut Bytes) -> KeyState {
    let holder = |bytes: &mut Bytes| HolderState {
        holder: holder(bytes),
        fence: Fence::from_value(bytes.number()),
        slot: bytes.byte().into(),
        limit: bytes.byte().into(),
        age_ms: bytes.byte().into(),
        remaining_ms: bytes.byte().into(),
        entries: (0..bytes.below(3))
            .map(|_| {
                (
                    parsed(EntryName::parse(&["n", &bytes.text(20)].concat())),
                    json("[1]"),
                )
            })
            .collect(),
    };
    KeyState {
        revision: Revision::from_value(bytes.number()),
        holders: (0..bytes.below(3)).map(|_| holder(bytes)).collect(),
        waiters: bytes.byte().into(),
        done: bytes.once_in(4).then(|| DoneState {
            fence: Fence::from_value(bytes.number()),
            age_ms: bytes.byte().into(),
            remaining_ms: bytes.byte().into(),
        }),
        ..KeyState::absent(key(bytes))
    }
}

fn parsed<T, E>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(_) => unreachable!("the samples are legal"),
    }
}

/// The word for a response's kind.
pub fn kind(response: &Response) -> &'static str {
    match response {
        Response::Cancelled => "cancelled",
        Response::Granted(granted) if granted.replayed => "granted again",
        Response::Granted(_) => "granted",
        Response::Held(_) => "held",
        Response::NotHolder { ended, .. } => ended.name(),
        Response::Queued { .. } => "queued",
        Response::Refused(refusal) => refusal.code.name(),
        Response::Released { .. } => "released",
        Response::Renewed { .. } => "renewed",
        Response::Revoked(0) => "not revoked",
        Response::Revoked(_) => "revoked",
        Response::State(state) if state.holders.is_empty() => "free",
        Response::State(_) => "state",
        Response::Done(_) => "done",
        Response::Entered { .. } => "entered",
        Response::Finished { .. } => "finished",
        Response::Listed { .. } => "listed",
    }
}

/// The word for an operation's kind.
pub fn operation_kind(operation: &Operation) -> &'static str {
    match operation {
        Operation::Acquire(acquire) if acquire.steal => "steal",
        Operation::Acquire(acquire) if acquire.extend => "extend",
        Operation::Acquire(acquire) if acquire.wait.is_zero() => "acquire",
        Operation::Acquire(_) => "acquire, waiting",
        Operation::Cancel => "cancel",
        Operation::Inspect => "inspect",
        Operation::Release(_) => "release",
        Operation::Renew { .. } => "renew",
        Operation::Revoke { .. } => "revoke",
        Operation::Transfer(_) => "transfer",
        Operation::Verify(_) => "verify",
        Operation::Entry(_) => "entry",
        Operation::Finish(_) => "finish",
        Operation::Watch(_) => "watch",
    }
}
