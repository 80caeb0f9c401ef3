//! Responses as they travel: any bytes, any response, and any of these with a part changed.

use leasehold::protocol::Response;
use leasehold::protocol::wire::{Unreadable, WireResponse};

use crate::bytes::Bytes;
use crate::sample;
use crate::seen::Seen;

/// What occurs in a response.
pub const WORDS: [&str; 20] = [
    "{\"v\":1,\"outcome\":\"granted\"",
    "cancelled",
    "held",
    "inspected",
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
        0 => bytes.remainder().to_vec(),
        1 => written(ours(&mut bytes)),
        _ => damaged(written(ours(&mut bytes)), &mut bytes),
    };
    let wire = match serde_json::from_slice::<WireResponse>(&text) {
        Ok(wire) => wire,
        Err(error) => return seen.note(("unreadable", format!("{:?}", error.classify()))),
    };
    let outcome = wire.outcome.clone();
    match Response::try_from(wire) {
        Ok(response) => {
            seen.note(sample::kind(&response));
            comes_back(response);
        }
        Err(Unreadable) => seen.note(("no response", outcome.len())),
    }
}

fn ours(bytes: &mut Bytes) -> Response {
    sample::response(bytes, |bytes| sample::lease_of(sample::op(bytes)))
}

fn written(response: Response) -> Vec<u8> {
    serde_json::to_vec(&WireResponse::from(response)).expect("every response can be written")
}

fn read(text: &[u8]) -> Response {
    let wire: WireResponse = serde_json::from_slice(text).expect("our own form");
    wire.try_into().expect("our own response")
}

/// A response that has travelled once is in whole milliseconds, and stays as it is from then on.
fn comes_back(response: Response) {
    let once = written(response.clone());
    let travelled = read(&once);
    assert_eq!(sample::kind(&travelled), sample::kind(&response));
    let twice = written(travelled.clone());
    assert_eq!(read(&twice), travelled);
    match (response, travelled) {
        // The term is never overstated.
        (Response::Granted(before), Response::Granted(after)) => {
            assert!(after.ttl <= before.ttl && after.waited <= before.waited);
            assert_eq!((after.lease, after.fence), (before.lease, before.fence));
        }
        (
            Response::Renewed { about, ttl: before },
            Response::Renewed {
                about: same,
                ttl: after,
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
fn damaged(mut text: Vec<u8>, bytes: &mut Bytes) -> Vec<u8> {
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
    text
}
