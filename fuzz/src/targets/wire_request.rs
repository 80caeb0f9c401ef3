//! Requests as they travel: any bytes, and any record of odd fields.

use leasehold::id::{LeaseId, OpId};
use leasehold::protocol::wire::WireRequest;
use leasehold::protocol::{Acquire, Code, Operation, Refusal, Request};
use leasehold::time::Span;
use serde_json::Value;

use crate::bytes::Bytes;
use crate::sample;
use crate::seen::Seen;

const OPERATIONS: [&str; 8] = [
    "acquire", "cancel", "inspect", "release", "renew", "revoke", "transfer", "verify",
];

/// What occurs in a request.
pub const WORDS: [&str; 14] = [
    "{\"v\":1,\"operation\":\"acquire\"",
    ",\"key\":\"k\"",
    ",\"op\":\"000000000000000000000000000000aB\"",
    ",\"holder\":\"h\"",
    ",\"lease\":\"ffffffffffffffffffffffffffffffff\"",
    ",\"fence\":\"7\"",
    ",\"toHolder\":\"n\"",
    ",\"toLease\":\"00000000000000000000000000000000\"",
    ",\"ttlMs\":100",
    ",\"waitMs\":86400000",
    ",\"reentrant\":true",
    "null}",
    "18446744073709551616",
    "\\ud800",
];

/// A first byte of zero leaves the rest as it is; else a record is made of it.
pub fn run(data: &[u8], seen: &mut Seen) {
    let mut bytes = Bytes::new(data);
    let text = match bytes.byte() % 4 {
        0 => bytes.remainder().to_vec(),
        1 => written(&WireRequest::from(&sample::request(&mut bytes))),
        _ => written(&odd(&mut bytes)),
    };
    let wire = match serde_json::from_slice::<WireRequest>(&text) {
        Ok(wire) => wire,
        Err(error) => return seen.note(("unreadable", format!("{:?}", error.classify()))),
    };
    let parsed = Request::try_from(wire.clone());
    match &parsed {
        Ok(request) => {
            seen.note((
                sample::operation_kind(&request.operation),
                request.key.as_str().len() == 1,
            ));
            within_limits(request);
            said_so(&text, request);
            comes_back(request);
            keeps_its_secrets(request);
        }
        Err(invalid) => {
            let known = OPERATIONS.iter().position(|name| *name == wire.operation);
            seen.note((known, invalid.field.name(), invalid.expected));
            let refusal = Refusal::from(*invalid);
            assert_eq!(refusal.code, Code::Invalid);
            assert_eq!(refusal.message, invalid.to_string());
            assert!(refusal.message.starts_with(invalid.field.name()));
        }
    }
}

fn written(wire: &WireRequest) -> Vec<u8> {
    serde_json::to_vec(wire).expect("every record can be written")
}

fn within_limits(request: &Request) {
    assert!((1..=512).contains(&request.key.as_str().len()));
    let term = |ttl: Span| {
        let whole = Span::from_millis(ttl.as_millis_floor()) == ttl;
        assert!(whole && (100..=86_400_000).contains(&ttl.as_millis_floor()));
    };
    match &request.operation {
        Operation::Acquire(Acquire {
            holder, ttl, wait, ..
        }) => {
            assert!((1..=256).contains(&holder.as_str().len()));
            assert!(wait.as_millis_ceil() <= 86_400_000);
            term(*ttl);
        }
        Operation::Renew { ttl, .. } => term(*ttl),
        Operation::Transfer(transfer) => {
            assert!((1..=256).contains(&transfer.successor.as_str().len()));
            term(transfer.ttl);
        }
        Operation::Cancel
        | Operation::Inspect
        | Operation::Release(_)
        | Operation::Revoke
        | Operation::Verify(_) => {}
    }
}

/// What was accepted is what somebody reads who knows JSON and nothing else.
fn said_so(text: &[u8], request: &Request) {
    let Ok(Value::Object(said)) = serde_json::from_slice(text) else {
        return;
    };
    assert_eq!(said["v"], 1);
    assert_eq!(said["key"], request.key.as_str());
    let operation = said["operation"].as_str().expect("a name");
    assert!(OPERATIONS.contains(&operation), "{operation}");
    let op = said["op"].as_str().expect("an op").to_lowercase();
    assert_eq!(op, request.op.to_hex());
}

fn comes_back(request: &Request) {
    let wire = WireRequest::from(request);
    let again: WireRequest = serde_json::from_slice(&written(&wire)).expect("our own form");
    assert_eq!(again, wire);
    assert_eq!(Request::try_from(again).as_ref(), Ok(request));
}

fn keeps_its_secrets(request: &Request) {
    let shown = format!("{request:?}");
    let secret = request.op.to_hex();
    assert!(request.key.as_str().contains(&secret) || !shown.contains(&secret));
}

/// A record whose fields need not fit together.
fn odd(bytes: &mut Bytes) -> WireRequest {
    let operation = match bytes.below(10) {
        index if index < OPERATIONS.len() => OPERATIONS[index].to_string(),
        _ => bytes.text(10),
    };
    let name = |bytes: &mut Bytes| match bytes.below(8) {
        0 => None,
        1 => Some("x".repeat(250 + bytes.below(10))),
        2 => Some(bytes.text(255)),
        _ => Some("h".to_string()),
    };
    let id = |bytes: &mut Bytes| u128::from(bytes.number()) << bytes.below(65);
    let millis = |bytes: &mut Bytes| match bytes.below(8) {
        0 => None,
        1 => Some(bytes.number()),
        _ => Some(bytes.pick(&[0, 99, 100, 1_000, 86_400_000, 86_400_001])),
    };
    WireRequest {
        v: if bytes.once_in(16) {
            bytes.byte().into()
        } else {
            1
        },
        operation: operation.into(),
        key: match bytes.below(6) {
            0 => "k".repeat(508 + bytes.below(8)),
            1 => bytes.text(255),
            _ => "k".to_string(),
        },
        op: (!bytes.once_in(8)).then(|| OpId::from_bits(id(bytes))),
        holder: name(bytes),
        lease: bytes.once_in(2).then(|| LeaseId::from_bits(id(bytes))),
        fence: sample::about(bytes),
        to_holder: name(bytes),
        to_lease: bytes.once_in(2).then(|| LeaseId::from_bits(id(bytes))),
        ttl_ms: millis(bytes),
        wait_ms: millis(bytes),
        reentrant: bytes.once_in(2),
    }
}
