//! One request to a Redis that answers when and what it likes.

use leasehold::protocol::{self, List, Operation, Watch};
use leasehold::redis::{Call, Step};
use leasehold::time::{Instant, Span};

use crate::bytes::Bytes;
use crate::sample;
use crate::seen::{Seen, roughly};

/// Between two pauses a call sends once, and a last time without a pause; each may be refused as a whole
/// three times: by hash and as text, with the flag and without.
const MOST_SENDS: usize = 8;

/// The longest pause: a gap of 1.5 s, a tenth longer at random, with room for rounding.
const LONGEST_GAP: Span = Span::from_millis(1_651);

/// Drives one call to its end, or until the bytes are used up.
pub fn run(data: &[u8], seen: &mut Seen) {
    let mut bytes = Bytes::new(data);
    let asked = asked(&mut bytes);
    let (text, waits) = match &asked {
        protocol::Call::List(list) => (list.to_json(), false),
        protocol::Call::Request(request) => {
            seen.note(sample::operation_kind(&request.operation));
            (request.to_json(), !wait(&request.operation).is_zero())
        }
    };
    let mut call = Call::new(&text).expect("what our own writer writes");
    names_show_nothing(&call, &asked);
    let mut now = Instant::ZERO;
    let mut started = now;
    let mut step = call.poll(now);
    let (mut sends, mut refusals, mut rests) = (0, 0, 0);
    while !bytes.is_empty() {
        match step {
            Step::Send {
                waited,
                waits: waits_on,
                timeout,
                afresh,
            } => {
                sends += 1;
                assert!(sends <= MOST_SENDS, "sent again and again");
                assert!(timeout.is_none_or(|timeout| !timeout.is_zero()));
                assert!(!afresh || rests == 0, "what waits was carried out");
                assert!(waits || !waits_on, "only who is willing to wait waits");
                if afresh {
                    started = now;
                }
                assert_eq!(waited, now.since(started));
                seen.note((waits_on, afresh, refusals));
                now = now + Span::from_millis(bytes.below(50) as u64);
                step = if refusals < 3 && bytes.once_in(4) {
                    refusals += 1;
                    call.resend(now)
                } else {
                    refusals = 0;
                    let ahead = bytes.below(5) as u32;
                    let quiet = bytes.once_in(2).then(|| sample::wait(&mut bytes));
                    call.queued(now, ahead, quiet)
                };
            }
            Step::Rest { gap, is_hinted } => {
                assert!(!gap.is_zero() && gap <= LONGEST_GAP, "{gap:?}");
                assert!(waits, "only who is willing to wait waits");
                (sends, rests) = (0, rests + 1);
                seen.note(("rests", roughly(rests), gap.as_micros().ilog2()));
                let is_woken = is_hinted && bytes.once_in(3);
                now = now + if is_woken { Span::ZERO } else { gap };
                step = if bytes.once_in(16) {
                    call.superseded(now)
                } else {
                    call.poll(now)
                };
            }
            Step::Queued(_) | Step::Failed => return,
        }
    }
}

/// An op is a secret.
fn names_show_nothing(call: &Call, asked: &protocol::Call) {
    if let protocol::Call::Request(request) = asked {
        let op = request.op.to_hex();
        let names = call.names();
        assert!(![&op[..16], &op[16..]].contains(&&*names.op));
        assert_eq!((names.op.len(), names.key.len()), (16, 16));
    }
}

fn asked(bytes: &mut Bytes) -> protocol::Call {
    if bytes.once_in(8) {
        return protocol::Call::List(List {
            prefix: bytes.text(8),
            after: bytes.once_in(2).then(|| bytes.text(8)),
        });
    }
    let mut request = sample::request(bytes);
    if bytes.once_in(8) {
        request.operation = Operation::Watch(Watch {
            after: None,
            wait: sample::wait(bytes),
        });
    }
    protocol::Call::Request(request)
}

fn wait(operation: &Operation) -> Span {
    match operation {
        Operation::Acquire(acquire) => acquire.wait,
        Operation::Watch(watch) => watch.wait,
        _ => Span::ZERO,
    }
}
