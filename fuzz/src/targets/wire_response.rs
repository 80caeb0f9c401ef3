//! Responses as they travel: any bytes, any response, and any of these with a part changed.

use leasehold::protocol::Response;
use leasehold::protocol::wire::{FieldSchema, RESPONSE, Unreadable};
use serde_json::Value;

use crate::bytes::Bytes;
use crate::oracle;
use crate::sample;
use crate::seen::Seen;

/// What occurs in a response.
pub const WORDS: [&str; 20] = [
    "{\"v\":1,\"outcome\":\"granted\"",
    "cancelled",
    "held",
    "state",
    "not-holder",
    "queued",
    "refused",
    "released",
    "renewed",
    "revoked",
    ",\"code\":\"UNAVAILABLE\"",
    ",\"reason\":\"expired\"",
    ",\"message\":\"m\"",
    ",\"lease\":\"ffffffffffffffffffffffffffffffff\"",
    ",\"fence\":\"18446744073709551615\"",
    ",\"holder\":\"h\"",
    ",\"ttlMs\":18446744073709551615",
    ",\"waitedMs\":1",
    ",\"retryAfterMs\":18446744073709551615",
    ",\"waiters\":4294967295",
];

/// A first byte of zero leaves the rest as it is; else a response is made of it, and perhaps
/// damaged on its way.
pub fn run(data: &[u8], seen: &mut Seen) {
    let mut bytes = Bytes::new(data);
    let text = match bytes.byte() % 3 {
        0 => String::from_utf8_lossy(bytes.remainder()).into_owned(),
        1 => ours(&mut bytes).to_json(),
        _ => damaged(ours(&mut bytes).to_json(), &mut bytes),
    };
    let read = Response::from_json(&text);
    agree(&text, read.as_ref().ok().map(Response::to_json), RESPONSE);
    assert_eq!(Response::is_in(&text), read.is_ok());
    let to_holder = Response::from_json_to_holder(&text);
    match &read {
        Ok(Response::State(_) | Response::Listed { .. }) => assert_eq!(to_holder, Err(Unreadable)),
        _ => assert_eq!(to_holder, read),
    }
    match read {
        Ok(response) => {
            seen.note(sample::kind(&response));
            comes_back(response);
        }
        Err(Unreadable) => seen.note(("no response", text.len().min(8))),
    }
}

/// What was read fits the table, and when it is written it says what a general reader reads.
pub fn agree(text: &str, written: Option<String>, schema: &[FieldSchema]) {
    let Some(written) = written else { return };
    // It takes no lone surrogate where nobody looks.
    let Ok(said) = serde_json::from_str::<Value>(text) else {
        assert!(text.contains(['\\', 'e', 'E']), "{text}");
        return;
    };
    let written = serde_json::from_str(&written).expect("our own record");
    let agrees = oracle::fits(&said, schema) && oracle::says(&said, &written, schema);
    assert!(agrees, "{text}");
}

fn ours(bytes: &mut Bytes) -> Response {
    sample::response(bytes, |bytes| sample::lease_of(sample::op(bytes)))
}

fn read(text: &str) -> Response {
    Response::from_json(text).expect("our own response")
}

/// A response that has travelled once is in whole milliseconds, and stays as it is from then on.
fn comes_back(response: Response) {
    let once = response.to_json();
    let travelled = read(&once);
    assert_eq!(sample::kind(&travelled), sample::kind(&response));
    let twice = travelled.to_json();
    assert_eq!(read(&twice), travelled);
    match (response, travelled) {
        // The term is never overstated.
        (Response::Granted(before), Response::Granted(after)) => {
            assert!(after.ttl <= before.ttl && after.waited <= before.waited);
            assert_eq!((after.lease, after.fence), (before.lease, before.fence));
        }
        (
            Response::Renewed {
                about, ttl: before, ..
            },
            Response::Renewed {
                about: same,
                ttl: after,
                ..
            },
        ) => {
            assert!(after <= before);
            assert_eq!(about, same);
        }
        // A pause is never understated.
        (Response::Held(before), Response::Held(after)) => {
            assert!(after.retry_after >= before.retry_after);
            assert_eq!(after.holder, before.holder);
        }
        (Response::Refused(before), Response::Refused(after)) => {
            assert!(after.retry_after >= before.retry_after);
            assert_eq!((after.code, after.reason), (before.code, before.reason));
        }
        _ => {}
    }
}

/// Some bytes replaced, doubled or cut out.
fn damaged(text: String, bytes: &mut Bytes) -> String {
    let mut text = text.into_bytes();
    for _ in 0..=bytes.below(3) {
        if text.is_empty() {
            break;
        }
        let at = bytes.below(text.len().min(256));
        match bytes.below(4) {
            0 => text[at] = bytes.byte(),
            1 => {
                text.remove(at);
            }
            2 => text.insert(at, text[at]),
            _ => text[at] = bytes.pick(b"0123456789{}[]\",:-.enull"),
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}
