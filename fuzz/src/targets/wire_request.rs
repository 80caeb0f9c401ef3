//! Requests as they travel: any bytes, and any record of odd fields.

use leasehold::protocol::wire::{REQUEST, Verb};
use leasehold::protocol::{Acquire, Code, Field, Operation, Refusal, Request};
use leasehold::time::Span;
use serde_json::{Map, Value, json};

use crate::bytes::Bytes;
use crate::sample;
use crate::seen::Seen;
use crate::targets::wire_response::agree;

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
    ",\"limit\":1024,\"repeat\":\"extend\",\"steal\":true",
    "null}",
    "18446744073709551616",
    "\\ud800",
];

/// A first byte of zero leaves the rest as it is; else a record is made of it.
pub fn run(data: &[u8], seen: &mut Seen) {
    let mut bytes = Bytes::new(data);
    let text = match bytes.byte() % 4 {
        0 => String::from_utf8_lossy(bytes.remainder()).into_owned(),
        1 => sample::request(&mut bytes).to_json(),
        _ => odd(&mut bytes).to_string(),
    };
    let read = Request::from_json(&text);
    let written = read.as_ref().ok().map(Request::to_json);
    agree(&text, written, REQUEST);
    match &read {
        Ok(request) => {
            seen.note((
                sample::operation_kind(&request.operation),
                request.key.as_str().len() == 1,
            ));
            within_limits(request);
            assert_eq!(Request::from_json(&request.to_json()).as_ref(), Ok(request));
            keeps_its_secrets(request);
        }
        Err(invalid) => {
            seen.note((invalid.field.name(), invalid.expected));
            let refusal = Refusal::from(*invalid);
            assert_eq!(refusal.code, Code::Invalid);
            assert_eq!(refusal.message, invalid.to_string());
            assert!(refusal.message.starts_with(invalid.field.name()));
        }
    }
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
        | Operation::Entry(_)
        | Operation::Finish(_)
        | Operation::Watch(_)
        | Operation::Revoke { .. }
        | Operation::Verify(_) => {}
    }
}

fn keeps_its_secrets(request: &Request) {
    let shown = format!("{request:?}");
    let secret = request.op.to_hex();
    assert!(request.key.as_str().contains(&secret) || !shown.contains(&secret));
}

/// A record whose fields need not fit together.
fn odd(bytes: &mut Bytes) -> Value {
    let mut record = Map::from_iter([("v".to_string(), Value::from(1))]);
    for field in REQUEST {
        if bytes.once_in(3) {
            continue;
        }
        let value = if bytes.once_in(24) {
            match bytes.below(5) {
                0 => Value::Null,
                1 => json!(true),
                2 => json!([{"a": [1]}]),
                3 => json!(1.5),
                _ => json!(""),
            }
        } else {
            plausible(bytes, field.field)
        };
        record.insert(field.field.name().to_string(), value);
    }
    Value::Object(record)
}

fn plausible(bytes: &mut Bytes, field: Field) -> Value {
    match field {
        Field::Version => json!(1),
        Field::Operation => match bytes.below(Verb::ALL.len() + 1) {
            index if index < Verb::ALL.len() => json!(Verb::ALL[index].name()),
            _ => json!(bytes.text(10)),
        },
        Field::Key | Field::Holder | Field::ToHolder => match bytes.below(6) {
            0 => json!("k".repeat(250 + bytes.below(10))),
            1 => json!("k".repeat(508 + bytes.below(8))),
            2 => json!(bytes.text(255)),
            _ => json!("k"),
        },
        Field::Op | Field::Lease | Field::ToLease => {
            let id = u128::from(bytes.number()) << bytes.below(65);
            json!(format!("{id:032x}"))
        }
        Field::Fence => json!(bytes.number().to_string()),
        Field::Ttl | Field::Wait => match bytes.below(8) {
            0 => json!(bytes.number()),
            _ => json!(bytes.pick(&[0, 99, 100, 1_000, 86_400_000, 86_400_001])),
        },
        _ => json!(bytes.once_in(2)),
    }
}
