//! One request to a Redis, step by step: what is sent, what each answer becomes, how long a waiter
//! waits.

mod common;

use common::*;
use leasehold::fence::Revision;
use leasehold::json::Json;
use leasehold::name::EntryName;
use leasehold::protocol::{
    self, Code, Done, DoneState, Ended, Entry, Finish, Granted, Held, HolderState, KeyState,
    Operation, Refusal, Request, Response, Transfer, Watch,
};
use leasehold::redis::{Call, Reply, Step, hash};
use leasehold::time::{Instant, Span};
use serde_json::{Value, json};

const NOSCRIPT: &str = "NOSCRIPT No matching script. Please use EVAL.";
const NO_FLAG: &str = "ERR Unexpected flag in script shebang: allow-key-locking";
const ID: &str = "000000000000000000000000000000ab";

fn call(operation: Operation) -> Call {
    call_of(request(0xf0, operation))
}

fn call_of(request: Request) -> Call {
    Call::new("leasehold", &request.to_json(), true)
}

fn words(text: &[&str]) -> Reply {
    Reply::Words(text.iter().map(|word| (*word).to_string()).collect())
}

fn error(text: &str) -> Reply {
    Reply::Error(text.to_string())
}

fn sent(step: Step) -> Vec<String> {
    match step {
        Step::Send { command, .. } => command,
        other => panic!("nothing is sent: {other:?}"),
    }
}

/// What an operation is answered, when the script says this.
fn answered(operation: Operation, text: &[&str]) -> Step {
    let mut call = call(operation);
    call.poll(at(0));
    call.replied(at(0), &words(text))
}

/// The response that the call has come to.
fn done(step: &Step) -> Option<Response> {
    match step {
        Step::Done(text) => Response::from_json(text).ok(),
        _ => None,
    }
}

/// No field that a host needs is left out, and none is refused that it takes.
#[test]
fn what_no_host_would_accept_is_refused_at_once_and_named() {
    let spoilt = [
        json!(null),
        json!(""),
        json!(0),
        json!("\u{e9}".repeat(300)),
        json!(1_u64 << 60),
    ];
    for operation in operations() {
        let whole: Value = serde_json::from_str(&request(1, operation).to_json()).expect("JSON");
        for name in whole.as_object().expect("a record").keys() {
            let mut records = vec![whole.clone()];
            records[0].as_object_mut().expect("a record").remove(name);
            records.extend(spoilt.iter().map(|value| {
                let mut record = whole.clone();
                record[name] = value.clone();
                record
            }));
            for record in records {
                let text = record.to_string();
                let told = done(&Call::new("leasehold", &text, true).poll(at(0)));
                let refusal = Request::from_json(&text)
                    .err()
                    .map(|invalid| Response::Refused(invalid.into()));
                assert_eq!(told, refusal, "{text}");
            }
        }
    }
}

fn operations() -> Vec<Operation> {
    let transfer = Transfer {
        credential: by_lease(1),
        successor: name("b"),
        lease: lease(2),
        ttl: ms(1_000),
    };
    vec![
        acquire("a", 1, 1_000, 1_000),
        Operation::Cancel,
        entry(Some("1")),
        finish(),
        Operation::Inspect,
        Operation::Release(by_lease(1)),
        renew(1, 1_000),
        Operation::Revoke {
            fence: Some(fence(1)),
        },
        Operation::Transfer(transfer),
        Operation::Verify(by_lease(1)),
        watch(Some(1), 1_000),
    ]
}

fn json(text: &str) -> Json {
    Json::parse(text).expect("JSON")
}

fn entry(value: Option<&str>) -> Operation {
    Operation::Entry(Entry {
        credential: by_lease(0xab),
        name: EntryName::parse("a b").expect("a name"),
        value: value.map(json),
        number: 7,
    })
}

fn finish() -> Operation {
    Operation::Finish(Finish {
        credential: by_lease(0xab),
        result: json("{\"a\": 1}"),
        keep: Span::from_secs(60),
    })
}

fn watch(after: Option<u64>, wait_ms: u64) -> Operation {
    Operation::Watch(Watch {
        after: after.map(Revision::from_value),
        wait: ms(wait_ms),
    })
}

#[test]
fn every_answer_of_the_script_has_its_response() {
    let grant = |ttl: u64, fence_value: u64, replayed| {
        Response::Granted(Granted {
            lease: lease(0xab),
            fence: fence(fence_value),
            slot: 3,
            ttl: ms(ttl),
            waited: Span::ZERO,
            replayed,
            wanted: 2,
        })
    };
    let asked = || acquire("a", 0xab, 1_000, 0);
    let table: &[(Operation, &[&str], Response)] = &[
        (Operation::Cancel, &["cancelled"], Response::Cancelled),
        // The margin is a fortieth of the term, 500 ms at most.
        (
            asked(),
            &["granted", ID, "17", "3", "1000000", "1000000", "2", "0"],
            grant(975, 17, false),
        ),
        (
            asked(),
            &[
                "granted",
                ID,
                "9007199254740991",
                "3",
                "90000000",
                "90000000",
                "2",
                "1",
            ],
            grant(89_500, 9_007_199_254_740_991, true),
        ),
        // Of an op whose grant has ended since.
        (
            asked(),
            &["granted", ID, "17", "3", "0", "0", "2", "1"],
            grant(0, 17, true),
        ),
        // The rest of a longer term: the margin is the term's.
        (
            asked(),
            &["granted", ID, "17", "3", "20000", "1000000", "2", "1"],
            grant(0, 17, true),
        ),
        (
            asked(),
            &["held", "ann%20b", "9", "70000", "4"],
            Response::Held(Held {
                holder: Some(name("ann b")),
                fence: Some(fence(9)),
                retry_after: ms(70),
                waiters: 4,
            }),
        ),
        // Free, but with others first in turn.
        (
            asked(),
            &["held", "~", "~", "0", "1"],
            Response::Held(Held {
                holder: None,
                fence: None,
                retry_after: Span::ZERO,
                waiters: 1,
            }),
        ),
        (
            asked(),
            &["done", "9", "5000", "60000000", "%22%C3%A9%22"],
            Response::Done(Done {
                fence: fence(9),
                age: ms(5),
                remaining: Span::from_secs(60),
                result: Some(json("\"é\"")),
            }),
        ),
        (entry(None), &["entered"], Response::Entered { about: None }),
        (finish(), &["finished"], Response::Finished { about: None }),
        (
            release(0xab),
            &["released"],
            Response::Released { about: None },
        ),
        (
            renew(0xab, 1_000),
            &["renewed", "1000000", "1000000", "0"],
            renewed(975),
        ),
        (
            verify(0xab),
            &["renewed", "10000", "4000000", "0"],
            renewed(0),
        ),
        (
            Operation::Revoke { fence: None },
            &["revoked", "3"],
            Response::Revoked(3),
        ),
        (
            Operation::Inspect,
            &["state", "0", "0", "~", "0"],
            Response::State(KeyState::absent(key("k"))),
        ),
    ];
    for (operation, answer, response) in table {
        let step = answered(operation.clone(), answer);
        assert_eq!(done(&step).as_ref(), Some(response), "{answer:?}");
    }
}

#[test]
fn a_state_has_all_that_the_key_shows() {
    let answer = [
        "state", "12", "5", "9", "3000", "60000000", "2", "ann", "10", "0", "2", "1500", "30000",
        "2", "b", "1", "a%20a", "null", "b%C3%A9", "11", "4", "1024", "0", "1", "0",
    ];
    let holder = |holder: &str, fence_value, slot, limit, age_ms, remaining_ms| HolderState {
        holder: name(holder),
        fence: fence(fence_value),
        slot,
        limit,
        age_ms,
        remaining_ms,
        entries: Default::default(),
    };
    let mut ann = holder("ann", 10, 0, 2, 1, 30);
    for (entry, value) in [("b", "1"), ("a a", "null")] {
        let name = EntryName::parse(entry).expect("a name");
        ann.entries.insert(name, json(value));
    }
    let expected = KeyState {
        key: key("k"),
        revision: Revision::from_value(12),
        holders: vec![ann, holder("bé", 11, 4, 1_024, 0, 0)],
        waiters: 5,
        done: Some(DoneState {
            fence: fence(9),
            age_ms: 3,
            remaining_ms: 60_000,
        }),
    };
    let step = answered(Operation::Inspect, &answer);
    assert_eq!(done(&step), Some(Response::State(expected)));
}

#[test]
fn an_end_has_its_reason_and_names_the_fence_asked_about_and_the_present_one() {
    let ended = [
        ("c", Ended::Cancelled),
        ("e", Ended::Expired),
        ("f", Ended::Finished),
        ("n", Ended::Unknown),
        ("r", Ended::Released),
        ("t", Ended::Transferred),
        ("v", Ended::Revoked),
        ("what", Ended::Unknown),
    ];
    for (state, ended) in ended {
        for (word, present) in [("~", None), ("9", Some(fence(9)))] {
            let step = answered(of(4, renew(1, 1_000)), &["not-holder", state, word]);
            let about = Some(fence(4));
            let expected = Response::NotHolder {
                about,
                ended,
                present,
            };
            assert_eq!(done(&step), Some(expected));
        }
    }
}

#[test]
fn refusals_of_the_script_have_their_reasons() {
    use Code::{Invalid, Unavailable};
    let table: [(&[&str], Code, &str, bool); 9] = [
        (&["entries-full"], Invalid, "entries-full", false),
        (
            &["fences-exhausted"],
            Unavailable,
            "fences-exhausted",
            false,
        ),
        (&["fingerprint"], Invalid, "fingerprint", false),
        (&["foreign", "hash"], Unavailable, "foreign-value", false),
        (&["foreign", "secret"], Unavailable, "foreign-value", false),
        (&["key-too-large"], Invalid, "key-too-large", false),
        (&["not-exclusive"], Invalid, "not-exclusive", false),
        (&["same-lease"], Invalid, "toLease", false),
        (&["too-many-waiters"], Unavailable, "too-many-waiters", true),
    ];
    for (answer, code, reason, passing) in table {
        match done(&answered(Operation::Inspect, answer)) {
            Some(Response::Refused(refusal)) => {
                assert_eq!(refusal.code, code);
                assert_eq!(refusal.reason, reason);
                assert_eq!(refusal.retry_after.is_some(), passing);
                assert!(!refusal.message.contains("secret"));
            }
            other => panic!("not refused: {other:?}"),
        }
    }
}

#[test]
fn what_the_script_does_not_answer_is_no_response() {
    let nonsense: &[&[&str]] = &[
        &[],
        &[""],
        &["OK"],
        &["Granted"],
        &["granted"],
        &["granted", ID, "17", "0", "1000", "1000", "0"],
        &["granted", ID, "17", "0", "1000", "1000", "0", "0", "x"],
        &["granted", "ab", "17", "0", "1000", "1000", "0", "0"],
        &["granted", ID, "-1", "0", "1000", "1000", "0", "0"],
        &["granted", ID, "1e3", "0", "1000", "1000", "0", "0"],
        &["granted", ID, "17", "0", "", "1000", "0", "0"],
        &["granted", ID, "17", "0", "1000", "1.5", "0", "0"],
        &["held", "ann", "1", "0"],
        &["held", "ann", "1", "soon", "0"],
        &["held", "", "1", "0", "0"],
        &["done", "1", "0", "0", "{"],
        &["not-holder", "e"],
        &["not-holder", "e", "f"],
        &["queued", "x", "2"],
        &["queued", "1"],
        &["renewed", "1000", "1000"],
        &["revoked"],
        &["state", "0", "0", "~", "1"],
        &["state", "0", "0", "~", "0", "0"],
        &["state", "0", "0", "~", "99999999999"],
        &["same"],
    ];
    for answer in nonsense {
        assert_eq!(
            answered(Operation::Inspect, answer),
            Step::Failed,
            "{answer:?}"
        );
    }
}

#[test]
fn the_script_is_sent_by_its_hash_with_both_records_in_one_slot() {
    for text in ["k", "{", "}{", "a}b", "ключ", "\0"] {
        let request = Request {
            key: key(text),
            op: op(0xf0),
            operation: Operation::Inspect,
        };
        let command = sent(call_of(request).poll(at(0)));
        assert_eq!(command[..3], ["EVALSHA", hash(true), "2"]);
        let names = ["lease", "entries"].map(|what| format!("leasehold:{{k:{text}}}:{what}"));
        assert_eq!(command[3..5], names);
    }
}

#[test]
fn each_operation_has_its_arguments_and_no_op_is_among_them() {
    let fenced = |operation| of(12, operation);
    let table: &[(Operation, &[&str])] = &[
        (
            acquire("a b", 0xab, 1_000, 0),
            &["acquire", ID, "a%20b", "1000000", "1", "0", "0", "~", "0"],
        ),
        (
            acquire("a", 0xab, 1_000, 5),
            &["acquire", ID, "a", "1000000", "1", "0", "0", "~", "1"],
        ),
        (Operation::Cancel, &["cancel"]),
        (
            entry(Some("\"é\"")),
            &[
                "entry",
                ID,
                "~",
                "a%20b",
                "\"%C3%A9\"",
                "7",
                "7",
                "64",
                "65536",
            ],
        ),
        (
            entry(None),
            &["entry", ID, "~", "a%20b", "~", "3", "7", "64", "65536"],
        ),
        (finish(), &["finish", ID, "~", "{\"a\":%201}", "60000000"]),
        (Operation::Inspect, &["inspect"]),
        (fenced(release(0xab)), &["release", ID, "12"]),
        (renew(0xab, 100), &["renew", ID, "~", "100000"]),
        (Operation::Revoke { fence: None }, &["revoke", "~"]),
        (
            Operation::Revoke {
                fence: Some(fence(7)),
            },
            &["revoke", "7"],
        ),
        (
            fenced(transfer(by_lease(0xab), "b", 0xab, 100)),
            &["transfer", ID, "12", "b", ID, "100000"],
        ),
        (verify(0xab), &["verify", ID, "~"]),
        (watch(None, 0), &["watch", "~", "0"]),
        (watch(Some(9), 5), &["watch", "9", "1"]),
    ];
    for (operation, expected) in table {
        let command = sent(call(operation.clone()).poll(at(0)));
        // Two names, nine settings; the time is left to the server.
        assert_eq!(command[5], "");
        let (name, rest) = command[14..].split_first().expect("an operation");
        let (mark, arguments) = rest.split_first().expect("an op");
        assert_eq!(mark.len(), 16);
        assert!(!command.contains(&op(0xf0).to_hex()));
        let shown: Vec<&str> = [name]
            .into_iter()
            .chain(arguments)
            .map(|word| &**word)
            .collect();
        assert_eq!(&shown, expected);
    }
}

#[test]
fn a_missing_script_is_sent_as_text_once() {
    let mut call = call(Operation::Inspect);
    let by_hash = sent(call.poll(at(0)));
    let again = call.replied(at(1), &error(NOSCRIPT));
    // The call counts from here: nothing was carried out before.
    assert!(matches!(again, Step::Send { afresh: true, .. }));
    let by_text = sent(again);
    assert_eq!(by_text[0], "EVAL");
    assert!(by_text[1].starts_with("#!lua flags=allow-key-locking\n"));
    assert_eq!(by_text[2..], by_hash[2..]);
    assert_eq!(call.replied(at(2), &error(NOSCRIPT)), Step::Failed);
}

#[test]
fn a_refused_flag_is_left_out_from_then_on() {
    let before_7 =
        "ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'";
    for refusal in [NO_FLAG, before_7] {
        let mut call = call(Operation::Inspect);
        assert!(call.key_locking());
        call.poll(at(0));
        call.replied(at(0), &error(NOSCRIPT));
        let plain = sent(call.replied(at(0), &error(refusal)));
        assert_eq!(plain[..2], ["EVALSHA", hash(false)]);
        assert!(!call.key_locking());
        let text = sent(call.replied(at(0), &error(NOSCRIPT)));
        assert!(!text[1].contains("#!"));
        assert_eq!(call.replied(at(0), &error(refusal)), Step::Failed);

        let asked = request(1, Operation::Inspect).to_json();
        let mut next = Call::new("leasehold", &asked, call.key_locking());
        assert_eq!(sent(next.poll(at(0)))[1], hash(false));
    }
}

/// A waiter that asks at this time and is told that so many are before it.
fn queued_at(call: &mut Call, now: Instant, ahead: &str, left: &str) -> Step {
    call.poll(now);
    call.replied(now, &words(&["queued", ahead, left]))
}

fn gap(step: &Step) -> Span {
    match step {
        Step::Rest { gap, .. } => *gap,
        other => panic!("no rest: {other:?}"),
    }
}

#[test]
fn a_waiter_rests_ever_longer_and_never_longer_than_its_place_lasts() {
    let mut last = Span::ZERO;
    let mut call = call(acquire("a", 1, 1_000, 20_000));
    for poll in 0..6 {
        let rest = gap(&queued_at(&mut call, at(poll), "3", "9000000"));
        // 1 s, then 1.5 s, each a tenth less or more.
        let base = if poll == 0 { 1_000 } else { 1_500 };
        assert!(
            rest >= ms(base * 9 / 10) && rest <= ms(base * 11 / 10),
            "{rest:?}"
        );
        assert!(poll > 1 || rest > last);
        last = rest;
    }
}

#[test]
fn waiters_do_not_poll_in_step() {
    let gaps: std::collections::BTreeSet<Span> = (0..40_u128)
        .map(|bits| {
            let mut call = call_of(request(bits * 77, acquire("a", 1, 1_000, 20_000)));
            gap(&queued_at(&mut call, at(0), "3", "9000000"))
        })
        .collect();
    assert!(gaps.len() > 20);
}

#[test]
fn the_next_in_turn_asks_when_a_place_may_come_free_and_nobody_else_does() {
    for (ahead, left, least, most) in [
        ("0", "80000", 80, 80),
        ("0", "0", 10, 10),
        ("1", "80000", 900, 1_100),
    ] {
        let mut call = call(acquire("a", 1, 1_000, 20_000));
        let rest = gap(&queued_at(&mut call, at(0), ahead, left));
        assert!(
            rest >= ms(least) && rest <= ms(most),
            "{rest:?} behind {ahead}"
        );
    }
}

#[test]
fn patience_ends_exactly_with_the_wait_by_the_clients_clock() {
    let mut call = call(acquire("a", 1, 1_000, 1_200));
    assert!(gap(&queued_at(&mut call, at(50_000), "1", "9000000")) <= ms(1_100));
    assert_eq!(
        gap(&queued_at(&mut call, at(51_000), "1", "9000000")),
        ms(200)
    );
    assert_eq!(
        gap(&queued_at(&mut call, at(51_199), "1", "9000000")),
        ms(1)
    );
    let last_look = sent(queued_at(&mut call, at(51_200), "1", "9000000"));
    assert_eq!(
        last_look.last().map(String::as_str),
        Some("0"),
        "it leaves the queue: {last_look:?}"
    );
    let answer = call.replied(at(51_201), &words(&["held", "b", "9", "9000000", "0"]));
    assert!(
        matches!(done(&answer), Some(Response::Held(_))),
        "{answer:?}"
    );
}

#[test]
fn a_server_that_answers_queued_to_the_last_look_is_asked_no_more() {
    let mut call = call(acquire("a", 1, 1_000, 700));
    queued_at(&mut call, at(50_000), "1", "9000000");
    sent(queued_at(&mut call, at(50_700), "1", "9000000"));
    assert_eq!(
        queued_at(&mut call, at(50_700), "1", "9000000"),
        Step::Failed
    );
}

#[test]
fn a_longer_wait_than_one_request_lasts_goes_on_in_another() {
    // Two terms, at least a second and at most 20 s.
    for (ttl, poll) in [
        (100, 1_000),
        (1_000, 2_000),
        (3_000, 6_000),
        (60_000, 20_000),
    ] {
        let mut call = call(acquire("a", 1, ttl, poll + 1));
        queued_at(&mut call, at(50_000), "4", "9000000");
        let end = 50_000 + poll;
        assert_eq!(
            gap(&queued_at(&mut call, at(end - 1), "4", "9000000")),
            ms(1)
        );
        assert_eq!(
            done(&queued_at(&mut call, at(end), "2", "9000000")),
            Some(Response::Queued {
                ahead: 2,
                retry_after: Span::ZERO,
            })
        );
    }
}

#[test]
fn a_call_that_another_has_taken_the_place_of_waits_no_longer() {
    let mut call = call(acquire("a", 1, 1_000, 20_000));
    queued_at(&mut call, at(50_000), "4", "9000000");
    assert_eq!(
        done(&call.superseded(at(50_100))),
        Some(Response::Queued {
            ahead: 4,
            retry_after: Span::ZERO,
        })
    );
}

#[test]
fn a_term_counts_from_the_command_that_was_answered_with_it() {
    let granted = words(&["granted", ID, "17", "0", "1000000", "1000000", "0", "0"]);
    let waited = |step: Step| match done(&step) {
        Some(Response::Granted(granted)) => granted.waited,
        other => panic!("not granted: {other:?}"),
    };
    let mut call = call(acquire("a", 1, 1_000, 9_000));
    queued_at(&mut call, at(50_000), "1", "9000000");
    queued_at(&mut call, at(50_400), "0", "9000000");
    call.poll(at(50_777));
    // Sent again, since that did not run; but what came before did.
    let again = call.replied(at(50_800), &error(NOSCRIPT));
    assert!(matches!(again, Step::Send { afresh: false, .. }));
    assert_eq!(waited(call.replied(at(50_900), &granted)), ms(800));

    let mut at_once = call_of(request(1, acquire("a", 1, 1_000, 9_000)));
    at_once.poll(at(50_000));
    assert_eq!(waited(at_once.replied(at(51_000), &granted)), Span::ZERO);
}

#[test]
fn a_script_lost_between_two_polls_is_sent_again() {
    let mut call = call(acquire("a", 1, 1_000, 9_000));
    for poll in 0..3 {
        assert_eq!(sent(call.poll(at(poll)))[0], "EVALSHA");
        assert_eq!(sent(call.replied(at(poll), &error(NOSCRIPT)))[0], "EVAL");
        let answer = words(&["queued", "1", "9000000"]);
        assert!(matches!(call.replied(at(poll), &answer), Step::Rest { .. }));
    }
}

#[test]
fn a_watcher_rests_until_something_may_have_changed() {
    let mut call = call(watch(Some(9), 5_000));
    call.poll(at(1_000));
    let Step::Rest { gap, channel } = call.replied(at(1_000), &words(&["same", "80000000"])) else {
        panic!("no rest");
    };
    assert!(gap >= ms(900) && gap <= ms(1_100));
    assert!(channel.is_some_and(|channel| channel.starts_with("leasehold:watch:")));
    call.poll(at(1_500));
    // A term ends sooner than it would look again.
    let soon = call.replied(at(1_500), &words(&["same", "200000"]));
    assert_eq!(self::gap(&soon), ms(200));
    let state = call.poll(at(1_700));
    assert_eq!(sent(state).last().map(String::as_str), Some("1"));
    let answer = call.replied(at(1_700), &words(&["state", "10", "0", "~", "0"]));
    assert!(matches!(done(&answer), Some(Response::State(_))));
}

#[test]
fn a_watcher_looks_every_100_ms_at_most_however_many_hints_come() {
    let mut call = call(watch(Some(9), 5_000));
    call.poll(at(1_000));
    call.replied(at(1_000), &words(&["same", "~"]));
    let step = call.poll(at(1_030));
    assert_eq!(
        step,
        Step::Rest {
            gap: ms(70),
            channel: None
        }
    );
    sent(call.poll(at(1_100)));
}

#[test]
fn a_watch_ends_with_the_present_state() {
    let mut call = call(watch(Some(9), 300));
    call.poll(at(1_000));
    let rest = call.replied(at(1_000), &words(&["same", "~"]));
    assert_eq!(gap(&rest), ms(300));
    call.poll(at(1_300));
    let last_look = sent(call.replied(at(1_300), &words(&["same", "~"])));
    assert_eq!(last_look.last().map(String::as_str), Some("0"));
    let answer = call.replied(at(1_300), &words(&["state", "9", "0", "~", "0"]));
    assert!(matches!(done(&answer), Some(Response::State(_))));
}

fn list(prefix: &str, after: Option<&str>) -> Call {
    let list = protocol::List {
        prefix: prefix.to_string(),
        after: after.map(str::to_string),
    };
    Call::new("leasehold", &list.to_json(), true)
}

fn found(cursor: &str, keys: &[&str]) -> Reply {
    let mut reply = vec![cursor.to_string()];
    reply.extend(
        keys.iter()
            .map(|key| format!("leasehold:{{k:{key}}}:lease")),
    );
    Reply::Words(reply)
}

#[test]
fn a_list_goes_through_the_names_and_reads_the_documents() {
    let mut call = list("a*[b]?\\c", None);
    let scan = sent(call.poll(at(0)));
    assert_eq!(
        scan,
        [
            "SCAN",
            "0",
            "MATCH",
            "leasehold:{k:a\\*\\[b\\]\\?\\\\c*}:lease",
            "COUNT",
            "100"
        ]
    );
    // Nothing found: it looks at more.
    let scan = sent(call.replied(at(0), &found("17", &[])));
    assert_eq!((scan[1].as_str(), scan[5].as_str()), ("17", "200"));
    let read = sent(call.replied(at(0), &found("5", &["a", "b", "a", "c"])));
    assert_eq!(read[..3], ["EVALSHA", hash(true), "6"]);
    let names: Vec<String> = ["a", "b", "c"]
        .into_iter()
        .flat_map(|key| ["lease", "entries"].map(|what| format!("leasehold:{{k:{key}}}:{what}")))
        .collect();
    assert_eq!(read[3..9], names);
    assert_eq!(read.last().map(String::as_str), Some("list"));
    let text = sent(call.replied(at(0), &error(NOSCRIPT)));
    assert_eq!(text[2..], read[2..]);
    // The first shows nothing, of the second nothing is left, somebody waits for the third.
    let answer = words(&[
        "listed", "state", "4", "0", "~", "0", "~", "state", "7", "1", "~", "0",
    ]);
    let expected = Response::Listed {
        states: vec![KeyState {
            revision: Revision::from_value(7),
            waiters: 1,
            ..KeyState::absent(key("c"))
        }],
        after: Some("5".to_string()),
    };
    assert_eq!(done(&call.replied(at(0), &answer)), Some(expected));
    assert_eq!(sent(list("", Some("5")).poll(at(0)))[1], "5");
}

#[test]
fn what_a_step_finds_is_read_in_hundreds_and_told_in_one_answer() {
    let names: Vec<String> = (0..250).map(|index| format!("key-{index}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut call = list("", None);
    call.poll(at(0));
    let mut step = call.replied(at(0), &found("5", &names));
    for keys in [100, 100, 50] {
        assert_eq!(sent(step)[2], (2 * keys).to_string());
        let mut answer = vec!["listed"];
        for _ in 0..keys {
            answer.extend(["state", "7", "1", "~", "0"]);
        }
        step = call.replied(at(0), &words(&answer));
    }
    let Some(Response::Listed { states, after }) = done(&step) else {
        panic!("{step:?}");
    };
    assert_eq!((states.len(), after.as_deref()), (250, Some("5")));
    assert_eq!(states[249].key, key("key-249"));
}

#[test]
fn a_list_without_a_find_ends_with_the_names_or_after_eight_steps() {
    let nothing = |after: Option<&str>| {
        Some(Response::Listed {
            states: vec![],
            after: after.map(str::to_string),
        })
    };
    let mut call = list("", None);
    call.poll(at(0));
    assert_eq!(done(&call.replied(at(0), &found("0", &[]))), nothing(None));

    let mut call = list("", None);
    call.poll(at(0));
    for step in 1..8_u32 {
        let scan = sent(call.replied(at(0), &found("9", &[])));
        assert_eq!(scan[5], (100 << step.min(3)).to_string());
    }
    let last = call.replied(at(0), &found("9", &[]));
    assert_eq!(done(&last), nothing(Some("9")));
}

#[test]
fn a_list_goes_on_only_where_an_answer_of_ours_ended() {
    for after in ["", "-1", "1 MATCH", "x"] {
        match done(&list("", Some(after)).poll(at(0))) {
            Some(Response::Refused(Refusal { code, reason, .. })) => {
                assert_eq!((code, &*reason), (Code::Invalid, "after"));
            }
            other => panic!("not refused: {other:?}"),
        }
    }
}

#[test]
fn the_channel_is_safe_in_a_path_and_does_not_show_the_op() {
    let mut seen = std::collections::BTreeSet::new();
    for bits in 0..200_u128 {
        let secret = op(bits << 64 | bits);
        let request = Request {
            key: key("k"),
            op: secret,
            operation: acquire("a", 1, 1_000, 1_000),
        };
        let mut call = Call::new("my.app:v1_-", &request.to_json(), true);
        let Step::Rest { channel, .. } = queued_at(&mut call, at(0), "1", "9000000") else {
            panic!("it does not rest");
        };
        let channel = channel.expect("a channel");
        assert!(channel.starts_with("my.app:v1_-:wake:"));
        let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
        assert!(channel.bytes().all(safe));
        let hex = secret.to_hex();
        assert!(!channel.contains(&hex[..16]) && !channel.contains(&hex[16..]));
        seen.insert(channel);
    }
    assert_eq!(seen.len(), 200);
}

#[test]
fn refusal_texts_are_ours() {
    let mut call = call(Operation::Inspect);
    call.poll(at(0));
    let error = error("NOPERM this user has no permissions to run the 'eval' command");
    let refused = done(&call.replied(at(0), &error));
    let Some(Response::Refused(Refusal { message, .. })) = refused else {
        panic!("not refused");
    };
    assert!(!message.contains("this user"));
}
