//! One request to a Redis that answers what it likes.

use std::borrow::Cow;

use leasehold::protocol::{Operation, Request, Response};
use leasehold::redis::{Call, Prefix, Reply, Step, channel};
use leasehold::time::Span;

use crate::bytes::Bytes;
use crate::sample;
use crate::seen::{Seen, roughly};

/// What servers say when they refuse.
pub const ERRORS: [&str; 18] = [
    "NOSCRIPT No matching script",
    "Unexpected flag in script shebang: x",
    "ERR Error compiling script (new function)",
    "WRONGTYPE Operation against a key",
    "ERR value is not an integer",
    "WRONGPASS invalid",
    "NOAUTH Authentication required.",
    "Unauthorized",
    "NOPERM this user",
    "ERR unknown command 'EVALSHA'",
    "ERR max daily request limit exceeded",
    "ERR max requests limit exceeded",
    "READONLY You can't write",
    "MISCONF Errors writing",
    "OOM command not allowed",
    "ERR Error running script, with args beginning with 'NOSCRIPT'",
    "LOADING",
    "",
];

const KINDS: [&str; 6] = ["string", "hash", "list", "set", "stream", "value"];

const NAMES: [&str; 14] = [
    "cancelled",
    "foreign",
    "free",
    "granted",
    "held",
    "info",
    "not-holder",
    "queued",
    "released",
    "renewed",
    "revoked",
    "too-many-waiters",
    "granted",
    "queued",
];

/// No server can make a call send more than this between two pauses.
const MOST_SENDS: usize = 8;

/// The longest pause: a gap of 1.5 s, a tenth longer at random, with room for rounding.
const LONGEST_GAP: Span = Span::from_millis(1_651);

/// Drives one call to its end, or until the bytes are used up.
pub fn run(data: &[u8], seen: &mut Seen) {
    let mut bytes = Bytes::new(data);
    let request = sample::request(&mut bytes);
    let prefix = match bytes.below(4) {
        0 => Prefix::parse(&bytes.text(70)).unwrap_or_else(|_| Prefix::standard()),
        _ => Prefix::standard(),
    };
    let mut call = Call::new(&prefix, &request, bytes.once_in(2));
    let waits =
        matches!(&request.operation, Operation::Acquire(acquire) if !acquire.wait.is_zero());
    seen.note(sample::operation_kind(&request.operation));
    let hint = channel(&prefix, request.op);
    assert!(
        !hint.contains(&request.op.to_hex()),
        "the channel tells the op"
    );
    let mut step = call.poll();
    let (mut sends, mut rests) = (0, 0);
    loop {
        match step {
            Step::Send {
                command, timeout, ..
            } => {
                sends += 1;
                assert!(sends <= MOST_SENDS, "sent again and again");
                assert!(!timeout.is_zero());
                is_a_script_call(&command, &request);
                if bytes.is_empty() {
                    return;
                }
                let reply = reply(&mut bytes);
                let word = match &reply {
                    Reply::Error(text) => text.split(' ').next().unwrap_or_default().to_string(),
                    Reply::Words(words) => words.first().cloned().unwrap_or_default(),
                };
                step = call.replied(&reply);
                let known = NAMES.contains(&word.as_str())
                    || ERRORS.iter().any(|error| error.starts_with(&word));
                seen.note((waits, known.then_some(word), step_kind(&step)));
                if let Step::Done(response) = &step {
                    is_told_by(response, &reply);
                }
            }
            Step::Rest { gap, channel } => {
                assert!(!gap.is_zero() && gap <= LONGEST_GAP, "{gap:?}");
                assert_eq!(channel, hint);
                assert!(waits, "only who is willing to wait waits");
                (sends, rests) = (0, rests + 1);
                seen.note(("rests", roughly(rests), gap.as_micros().ilog2()));
                step = call.poll();
            }
            Step::Done(response) => return can_travel(response),
            Step::Failed => return,
        }
    }
}

fn step_kind(step: &Step) -> &'static str {
    match step {
        Step::Done(response) => sample::kind(response),
        Step::Failed => "failed",
        Step::Rest { .. } => "rest",
        Step::Send { command, .. } => match command[0].as_str() {
            "EVAL" => "send by text",
            _ => "send by hash",
        },
    }
}

fn is_a_script_call(command: &[String], request: &Request) {
    let [name, script, count, rest @ ..] = command else {
        panic!("no script call: {command:?}");
    };
    match name.as_str() {
        "EVAL" => assert!(script.len() > 40),
        "EVALSHA" => assert_eq!(script.len(), 40),
        other => panic!("{other}"),
    }
    let count: usize = count.parse().expect("how many keys");
    assert!((1..=4).contains(&count) && count <= rest.len());
    let place = ["{k:", request.key.as_str(), "}:"].concat();
    assert!(rest[..count].iter().all(|key| key.contains(&place)));
    assert!(rest.len() - count <= 9);
}

/// An answer says no more than the reply did, and a refusal is in our words.
fn is_told_by(response: &Response, reply: &Reply) {
    match (response, reply) {
        (Response::Granted(granted), Reply::Words(words)) => {
            let [_, lease, fence, left, _, _, replayed] = &words[..] else {
                panic!("a grant of {words:?}");
            };
            assert_eq!(granted.lease.to_hex(), lease.to_lowercase());
            assert_eq!(fence.parse(), Ok(granted.fence));
            assert!(granted.ttl <= millis(left));
            assert_eq!(granted.replayed, replayed == "1");
            assert!(granted.waited.is_zero() || !granted.replayed);
        }
        (Response::Renewed { ttl, .. }, Reply::Words(words)) => assert!(*ttl <= millis(&words[1])),
        (Response::Refused(refusal), _) => {
            // What is a part of the program quotes nothing.
            assert!(matches!(refusal.reason, Cow::Borrowed(_)));
            assert!(match &refusal.message {
                Cow::Borrowed(text) => !text.is_empty(),
                Cow::Owned(text) => names_a_kind(text),
            });
        }
        (_, Reply::Error(text)) => panic!("{response:?} out of the error {text:?}"),
        (_, Reply::Words(_)) => {}
    }
}

/// Whether the text is the one that is put together, of a kind of value and words of ours.
fn names_a_kind(text: &str) -> bool {
    KINDS.iter().any(|kind| {
        let (before, after) = text.split_once(kind).unwrap_or_default();
        before == "A " && after.starts_with(" of somebody else's is stored")
    })
}

fn millis(word: &str) -> Span {
    Span::from_millis(word.parse().expect("milliseconds"))
}

fn can_travel(response: Response) {
    let kind = sample::kind(&response);
    let back = Response::from_json(&response.to_json());
    assert_eq!(back.as_ref().map(sample::kind), Ok(kind));
}

fn reply(bytes: &mut Bytes) -> Reply {
    match bytes.below(8) {
        0 => Reply::Error(bytes.text(60)),
        1 => Reply::Error(bytes.pick(&ERRORS).to_string()),
        2 => Reply::Words((0..bytes.below(8)).map(|_| word(bytes)).collect()),
        _ => Reply::Words(fitting(bytes)),
    }
}

/// A reply of the length that its first word calls for.
fn fitting(bytes: &mut Bytes) -> Vec<String> {
    let name = bytes.pick(&NAMES);
    let lease = |bytes: &mut Bytes| sample::lease_of(sample::op(bytes)).to_hex();
    let mut words = vec![name.to_string()];
    match name {
        "granted" => {
            words.push(lease(bytes));
            words.extend((0..4).map(|_| number(bytes)));
            words.push(["0", "1"][bytes.below(2)].to_string());
        }
        "foreign" => words.push(match bytes.below(8) {
            index if index < KINDS.len() => KINDS[index].to_string(),
            _ => word(bytes),
        }),
        "held" => words.extend([word(bytes), number(bytes)]),
        "info" => words.extend([word(bytes), number(bytes), number(bytes), number(bytes)]),
        "not-holder" => {
            words.push(bytes.pick(&["c", "e", "f", "r", "t", "v", "?"]).to_string());
            words.extend(about(bytes));
        }
        "released" => words.extend(about(bytes)),
        "queued" => words.extend([number(bytes), number(bytes), number(bytes)]),
        "renewed" => {
            words.extend([number(bytes), number(bytes)]);
            words.extend(about(bytes));
        }
        "revoked" => words.push(["0", "1"][bytes.below(2)].to_string()),
        _ => {}
    }
    words
}

/// The fence that the request named: none, or not even the word for none.
fn about(bytes: &mut Bytes) -> Option<String> {
    match bytes.below(4) {
        0 => None,
        1 => Some(String::new()),
        _ => Some(number(bytes)),
    }
}

fn word(bytes: &mut Bytes) -> String {
    match bytes.below(6) {
        0 => bytes.text(40),
        1 => bytes.pick(&NAMES).to_string(),
        2 => sample::lease_of(sample::op(bytes)).to_hex(),
        3 => "a".to_string(),
        _ => number(bytes),
    }
}

fn number(bytes: &mut Bytes) -> String {
    match bytes.below(12) {
        0 => bytes.number().to_string(),
        1 => "-1".to_string(),
        which => {
            let all = [
                0, 1, 9, 500, 1_000, 19_999, 20_000, 20_001, 60_000, 86_400_000,
            ];
            all[which - 2].to_string()
        }
    }
}
