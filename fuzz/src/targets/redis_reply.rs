//! One request to a Redis that answers what it likes.

use leasehold::protocol::{self, List, Operation, Response, Watch};
use leasehold::redis::{Call, Reply, Step};
use leasehold::time::{Instant, Span};

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

const NAMES: [&str; 20] = [
    "cancelled",
    "done",
    "entered",
    "entries-full",
    "fences-exhausted",
    "fingerprint",
    "finished",
    "foreign",
    "granted",
    "granted",
    "held",
    "listed",
    "not-holder",
    "queued",
    "queued",
    "released",
    "renewed",
    "revoked",
    "same",
    "state",
];

/// No server can make a call send more than this between two pauses: a list goes through the names
/// in eight steps, and every script may go by hash and as text, with the flag and without.
const MOST_SENDS: usize = 14;

/// The longest pause: a gap of 1.5 s, a tenth longer at random, with room for rounding.
const LONGEST_GAP: Span = Span::from_millis(1_651);

/// Drives one call to its end, or until the bytes are used up.
pub fn run(data: &[u8], seen: &mut Seen) {
    let mut bytes = Bytes::new(data);
    let prefix = match bytes.below(4) {
        0 => bytes.text(70),
        _ => "leasehold".to_string(),
    };
    let asked = asked(&mut bytes);
    let (text, waits) = match &asked {
        protocol::Call::List(list) => (list.to_json(), false),
        protocol::Call::Request(request) => {
            seen.note(sample::operation_kind(&request.operation));
            (request.to_json(), !wait(&request.operation).is_zero())
        }
    };
    let mut call = Call::new(&prefix, &text, bytes.once_in(2));
    let mut now = Instant::ZERO;
    let mut step = call.poll(now);
    let (mut sends, mut rests) = (0, 0);
    loop {
        match step {
            Step::Send {
                command,
                timeout,
                afresh,
            } => {
                sends += 1;
                assert!(sends <= MOST_SENDS, "sent again and again");
                assert!(timeout.is_none_or(|timeout| !timeout.is_zero()));
                assert!(!afresh || rests == 0, "what waits was carried out");
                is_a_call(&command, &asked);
                if bytes.is_empty() {
                    return;
                }
                let reply = reply(&mut bytes);
                let word = match &reply {
                    Reply::Error(text) => text.split(' ').next().unwrap_or_default().to_string(),
                    Reply::Words(words) => words.first().cloned().unwrap_or_default(),
                };
                now = now + Span::from_millis(bytes.below(50) as u64);
                step = call.replied(now, &reply);
                let known = NAMES.contains(&word.as_str())
                    || ERRORS.iter().any(|error| error.starts_with(&word));
                seen.note((waits, known.then_some(word), step_kind(&step)));
                if let Step::Done(text) = &step {
                    is_told_by(&response(text), &reply);
                }
            }
            Step::Rest { gap, channel } => {
                assert!(!gap.is_zero() && gap <= LONGEST_GAP, "{gap:?}");
                if let (Some(channel), protocol::Call::Request(request)) = (channel, &asked) {
                    assert!(channel.starts_with(&prefix), "another's channel");
                    assert!(
                        !channel.contains(&request.op.to_hex()),
                        "the channel tells the op"
                    );
                }
                assert!(waits, "only who is willing to wait waits");
                (sends, rests) = (0, rests + 1);
                seen.note(("rests", roughly(rests), gap.as_micros().ilog2()));
                now = now + if bytes.once_in(3) { Span::ZERO } else { gap };
                step = call.poll(now);
            }
            Step::Done(_) | Step::Failed => return,
        }
    }
}

fn asked(bytes: &mut Bytes) -> protocol::Call {
    if bytes.once_in(8) {
        return protocol::Call::List(List {
            prefix: bytes.text(8),
            after: bytes.once_in(2).then(|| word(bytes)),
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

fn step_kind(step: &Step) -> &'static str {
    match step {
        Step::Done(text) => sample::kind(&response(text)),
        Step::Failed => "failed",
        Step::Rest { .. } => "rest",
        Step::Send { command, .. } => match command[0].as_str() {
            "EVAL" => "send by text",
            _ => "send by hash",
        },
    }
}

fn is_a_call(command: &[String], asked: &protocol::Call) {
    let [name, script, count, rest @ ..] = command else {
        panic!("no call: {command:?}");
    };
    match name.as_str() {
        "EVAL" => assert!(script.len() > 40),
        "EVALSHA" => assert_eq!(script.len(), 40),
        "SCAN" => {
            assert!(matches!(asked, protocol::Call::List(_)));
            assert!(script.bytes().all(|byte| byte.is_ascii_digit()));
            return;
        }
        other => panic!("{other}"),
    }
    let count: usize = count.parse().expect("how many keys");
    assert!(count.is_multiple_of(2) && count <= rest.len());
    if let protocol::Call::Request(request) = asked {
        let place = ["{k:", request.key.as_str(), "}:"].concat();
        assert_eq!(count, 2);
        assert!(rest[..count].iter().all(|key| key.contains(&place)));
    }
    assert!(rest.len() - count <= 20);
}

fn response(text: &str) -> Response {
    Response::from_json(text).expect("a response")
}

/// An answer says no more than the reply did, and a refusal is in our words.
fn is_told_by(response: &Response, reply: &Reply) {
    match (response, reply) {
        (Response::Granted(granted), Reply::Words(words)) => {
            let [_, lease, fence, _, left, _, _, replayed] = &words[..] else {
                panic!("a grant of {words:?}");
            };
            assert_eq!(granted.lease.to_hex(), lease.to_lowercase());
            assert_eq!(fence.parse(), Ok(granted.fence));
            assert!(granted.ttl <= micros(left));
            assert_eq!(granted.replayed, replayed == "1");
        }
        (Response::Renewed { ttl, .. }, Reply::Words(words)) => assert!(*ttl <= micros(&words[1])),
        (Response::Refused(refusal), _) => {
            let told = &*refusal.message;
            let Reply::Error(text) = reply else { return };
            // Whatever is quoted is no word of the server's, but the name of a command.
            assert!(!told.is_empty() && (text.len() < 16 || !told.contains(text.as_str())));
        }
        (_, Reply::Error(text)) => panic!("{response:?} out of the error {text:?}"),
        (_, Reply::Words(_)) => {}
    }
}

fn micros(word: &str) -> Span {
    Span::from_micros(word.parse().expect("microseconds"))
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
    let mut numbers = |bytes: &mut Bytes, count: usize| {
        words.extend((0..count).map(|_| number(bytes)));
    };
    match name {
        "done" => {
            numbers(bytes, 3);
            words.push(bytes.pick(&["null", "%22x%22", "{", "~"]).to_string());
        }
        "granted" => {
            words.push(lease(bytes));
            words.extend((0..5).map(|_| number(bytes)));
            words.push(["0", "1"][bytes.below(2)].to_string());
        }
        "foreign" => words.push(match bytes.below(8) {
            index if index < KINDS.len() => KINDS[index].to_string(),
            _ => word(bytes),
        }),
        "held" => {
            words.extend([optional(bytes, word), optional(bytes, number)]);
            words.extend([number(bytes), number(bytes)]);
        }
        "listed" => words.extend((0..bytes.below(3)).flat_map(|_| state(bytes))),
        "not-holder" => {
            let ends = ["c", "e", "f", "r", "t", "v", "?"];
            words.push(bytes.pick(&ends).to_string());
            words.push(optional(bytes, number));
        }
        "queued" => numbers(bytes, 2),
        "renewed" => numbers(bytes, 3),
        "revoked" => numbers(bytes, 1),
        "same" => words.push(optional(bytes, number)),
        "state" => words = state(bytes),
        _ => {}
    }
    words
}

/// A key's state, of one holder at most.
fn state(bytes: &mut Bytes) -> Vec<String> {
    let mut words = vec!["state".to_string(), number(bytes), number(bytes)];
    if bytes.once_in(2) {
        words.push("~".to_string());
    } else {
        words.extend((0..3).map(|_| number(bytes)));
    }
    let holders = bytes.below(2);
    words.push(holders.to_string());
    if holders > 0 {
        words.push(word(bytes));
        words.extend((0..5).map(|_| number(bytes)));
        let entries = bytes.below(2);
        words.push(entries.to_string());
        words.extend((0..2 * entries).map(|_| word(bytes)));
    }
    words
}

fn optional(bytes: &mut Bytes, read: fn(&mut Bytes) -> String) -> String {
    match bytes.below(3) {
        0 => "~".to_string(),
        _ => read(bytes),
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
