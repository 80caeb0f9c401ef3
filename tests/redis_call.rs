//! One request to a Redis, step by step: what is sent, what each answer becomes, how long a waiter
//! waits.

mod common;

use common::*;
use leasehold::protocol::{
    Code, Ended, Granted, Held, Operation, Refusal, Request, Response, Transfer,
};
use leasehold::redis::{Call, Prefix, Reply, SCRIPTS, Step, channel};
use leasehold::time::Span;

const NOSCRIPT: &str = "NOSCRIPT No matching script. Please use EVAL.";
const NO_FLAG: &str = "ERR Unexpected flag in script shebang: allow-key-locking";

fn call(operation: Operation) -> Call {
    Call::new(&Prefix::standard(), &request(0xf0, operation), true)
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

fn hash_of(name: &str, key_locking: bool) -> &'static str {
    let script = SCRIPTS.iter().find(|script| script.name == name);
    script.expect("a script").hash(key_locking)
}

/// How an inspect is answered, which is how any request is.
fn answered(reply: &Reply) -> Step {
    let mut call = call(Operation::Inspect);
    call.poll();
    call.replied(reply)
}

fn done(text: &[&str]) -> Response {
    match answered(&words(text)) {
        Step::Done(response) => response,
        other => panic!("no response: {other:?}"),
    }
}

#[test]
fn every_answer_of_a_script_has_its_response() {
    const ID: &str = "000000000000000000000000000000ab";
    let grant = |ttl: u64, fence_value: u64, replayed| {
        Response::Granted(Granted {
            slot: 0,
            wanted: 0,
            lease: lease(0xab),
            fence: fence(fence_value),
            ttl: ms(ttl),
            waited: Span::ZERO,
            replayed,
        })
    };
    let ended = [
        ("c", Ended::Cancelled),
        ("e", Ended::Expired),
        ("n", Ended::Unknown),
        ("r", Ended::Released),
        ("t", Ended::Transferred),
        ("v", Ended::Revoked),
        ("what", Ended::Unknown),
    ];
    for (state, expected) in ended {
        assert_eq!(done(&["not-holder", state]), not_holder(expected));
        assert_eq!(done(&["not-holder", state, ""]), not_holder(expected));
        let about = Some(fence(17));
        assert_eq!(
            done(&["not-holder", state, "17"]),
            Response::NotHolder {
                present: None,
                about,
                ended: expected
            }
        );
    }
    let held = |holder: Option<&str>, after| {
        Response::Held(Held {
            fence: None,
            waiters: 0,
            holder: holder.map(name),
            retry_after: ms(after),
        })
    };
    let table: &[(&[&str], Response)] = &[
        (&["cancelled"], Response::Cancelled),
        (&["free"], free()),
        (&["released", ""], RELEASED),
        (
            &["released", "17"],
            Response::Released {
                about: Some(fence(17)),
            },
        ),
        (&["revoked", "1"], Response::Revoked(1)),
        (&["revoked", "0"], Response::Revoked(0)),
        (&["held", "ann b", "70"], held(Some("ann b"), 70)),
        // Free, but with others first in turn.
        (&["held", "", "0"], held(None, 0)),
        // The margin is a fortieth of the term, 500 ms at most.
        (
            &["granted", ID, "17", "1000", "1000", "5", "0"],
            grant(975, 17, false),
        ),
        (
            &[
                "granted",
                ID,
                "9007199254740993",
                "90000",
                "90000",
                "5",
                "1",
            ],
            grant(89_500, 9_007_199_254_740_993, true),
        ),
        // Of an op whose grant has ended since.
        (
            &["granted", ID, "17", "0", "0", "5", "1"],
            grant(0, 17, true),
        ),
        // The rest of a longer term: the margin is the term's.
        (
            &["granted", ID, "17", "20", "1000", "5", "1"],
            grant(0, 17, true),
        ),
        (
            &["renewed", "1000", "1000", "17"],
            Response::Renewed {
                wanted: 0,
                about: Some(fence(17)),
                ttl: ms(975),
            },
        ),
        (&["renewed", "10", "4000", ""], renewed(0)),
        (
            &["info", "ann", "18446744073709551615", "30", "2"],
            info("ann", u64::MAX, 30, 2),
        ),
    ];
    for (answer, response) in table {
        assert_eq!(&done(answer), response, "{answer:?}");
    }
}

#[test]
fn refusals_of_a_script_have_their_reasons() {
    let table: [(&[&str], &str, bool, &str); 4] = [
        (&["foreign", "hash"], "foreign-value", false, "A hash of"),
        (
            &["foreign", "string"],
            "foreign-value",
            false,
            "A string of",
        ),
        (&["foreign", "secret"], "foreign-value", false, "A value of"),
        (
            &["too-many-waiters"],
            "too-many-waiters",
            true,
            "The key has",
        ),
    ];
    for (answer, reason, passing, begin) in table {
        match done(answer) {
            Response::Refused(refusal) => {
                assert_eq!(refusal.code, Code::Unavailable);
                assert_eq!(refusal.reason, reason);
                assert_eq!(refusal.retry_after.is_some(), passing);
                assert!(refusal.message.starts_with(begin), "{}", refusal.message);
            }
            other => panic!("not refused: {other:?}"),
        }
    }
}

#[test]
fn what_no_script_answers_is_no_response() {
    const ID: &str = "000000000000000000000000000000ab";
    let nonsense: &[&[&str]] = &[
        &[],
        &[""],
        &["OK"],
        &["Granted"],
        &["granted"],
        &["granted", ID, "17", "1000", "1000", "5"],
        &["granted", ID, "17", "1000", "1000", "5", "0", "x"],
        &["granted", "ab", "17", "1000", "1000", "5", "0"],
        &["granted", ID, "-1", "1000", "1000", "5", "0"],
        &[
            "granted",
            ID,
            "18446744073709551616",
            "1000",
            "1000",
            "5",
            "0",
        ],
        &["granted", ID, "1e3", "1000", "1000", "5", "0"],
        &["granted", ID, "17", "", "1000", "5", "0"],
        &["granted", ID, "17", "1000", "1.5", "5", "0"],
        &["granted", ID, "17", "1000", "1000", "now", "0"],
        &["held", "ann"],
        &["held", "ann", "soon"],
        &["info", "", "1", "1", "1"],
        &["info", "ann", "1", "1", "-1"],
        &["queued", "1", "2"],
        &["queued", "x", "2", "3"],
        &["renewed", "1000", "1000"],
        &["renewed", "1000", "1000", "x"],
        &["released"],
        &["released", "-"],
        &["not-holder", "r", "1.5"],
        &["revoked"],
        &["free", "free"],
    ];
    for answer in nonsense {
        assert_eq!(answered(&words(answer)), Step::Failed, "{answer:?}");
    }
}

#[test]
fn a_script_is_sent_by_its_hash_with_all_keys_in_one_slot() {
    let credential = by_lease(0xab);
    let table: &[(&str, Operation, &[&str])] = &[
        (
            "acquire",
            acquire("a", 1, 1_000, 0),
            &["lease", "fence", "queue", "presence"],
        ),
        ("cancel", Operation::Cancel, &["lease", "queue", "presence"]),
        (
            "inspect",
            Operation::Inspect,
            &["lease", "queue", "presence"],
        ),
        (
            "release",
            Operation::Release(credential),
            &["lease", "queue", "presence"],
        ),
        (
            "renew",
            Operation::Renew {
                credential,
                ttl: ms(1_000),
            },
            &["lease"],
        ),
        ("renew", Operation::Verify(credential), &["lease"]),
        (
            "revoke",
            Operation::Revoke { fence: None },
            &["lease", "queue", "presence"],
        ),
        (
            "transfer",
            Operation::Transfer(Transfer {
                credential,
                successor: name("b"),
                lease: lease(2),
                ttl: ms(1_000),
            }),
            &["lease", "fence"],
        ),
    ];
    for (script, operation, records) in table {
        for text in ["k", "{", "}{", "a}b", "ключ", "\0"] {
            let request = Request {
                key: key(text),
                op: op(0xf0),
                operation: operation.clone(),
            };
            let command = sent(Call::new(&Prefix::standard(), &request, true).poll());
            assert_eq!(command[0], "EVALSHA");
            assert_eq!(command[1], hash_of(script, true));
            assert_eq!(command[2], records.len().to_string());
            let names: Vec<String> = records
                .iter()
                .map(|record| format!("leasehold:{{k:{text}}}:{record}"))
                .collect();
            assert_eq!(command[3..3 + records.len()], names);
        }
    }
}

#[test]
fn a_missing_script_is_sent_as_text_once() {
    let mut call = call(Operation::Inspect);
    let by_hash = sent(call.poll());
    let by_text = sent(call.replied(&error(NOSCRIPT)));
    assert_eq!(by_text[0], "EVAL");
    assert!(by_text[1].starts_with("#!lua flags=allow-key-locking\n"));
    assert_eq!(by_text[2..], by_hash[2..]);
    assert_eq!(call.replied(&error(NOSCRIPT)), Step::Failed);
}

#[test]
fn what_was_refused_as_a_whole_counts_from_where_it_is_sent_again() {
    let afresh = |step: Step| match step {
        Step::Send { afresh, .. } => afresh,
        other => panic!("nothing is sent: {other:?}"),
    };
    let mut first = call(acquire("a", 1, 1_000, 9_000));
    assert!(!afresh(first.poll()), "nothing was sent before");
    assert!(afresh(first.replied(&error(NOSCRIPT))));
    assert!(afresh(first.replied(&error(NO_FLAG))));
    // From the first answer on a script has run: what is missing later was there before.
    queued(&mut first, "1", "9000", 50_000);
    assert!(!afresh(first.poll()));
    assert!(!afresh(first.replied(&error(NOSCRIPT))));
}

#[test]
fn a_refused_flag_is_left_out_from_then_on() {
    let before_7 =
        "ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'";
    for refusal in [NO_FLAG, before_7] {
        let mut call = call(Operation::Inspect);
        assert!(call.key_locking());
        call.poll();
        call.replied(&error(NOSCRIPT));
        let plain = sent(call.replied(&error(refusal)));
        assert_eq!(plain[..2], ["EVALSHA", hash_of("inspect", false)]);
        assert!(!call.key_locking());
        let text = sent(call.replied(&error(NOSCRIPT)));
        assert!(!text[1].contains("#!"));
        assert_eq!(call.replied(&error(refusal)), Step::Failed);

        let next = Call::new(
            &Prefix::standard(),
            &request(1, Operation::Inspect),
            call.key_locking(),
        );
        let mut next = next;
        assert_eq!(sent(next.poll())[1], hash_of("inspect", false));
    }
}

/// A waiter that was told at `at` that `ahead` are before it.
fn queued(call: &mut Call, ahead: &str, left: &str, at: u64) -> Step {
    call.poll();
    call.replied(&words(&["queued", ahead, left, &at.to_string()]))
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
        let rest = gap(&queued(&mut call, "3", "9000", 1_000 + poll));
        // 500 ms, 1 s, 1.5 s, each a tenth less or more.
        let base = [500, 1_000, 1_500][usize::try_from(poll.min(2)).expect("small")];
        assert!(
            rest >= ms(base * 9 / 10) && rest <= ms(base * 11 / 10),
            "{rest:?}"
        );
        assert!(poll > 2 || rest > last);
        last = rest;
    }
}

#[test]
fn waiters_do_not_poll_in_step() {
    let gaps: std::collections::BTreeSet<Span> = (0..40_u128)
        .map(|bits| {
            let request = request(bits * 77, acquire("a", 1, 1_000, 20_000));
            let mut call = Call::new(&Prefix::standard(), &request, true);
            gap(&queued(&mut call, "3", "9000", 1_000))
        })
        .collect();
    assert!(gaps.len() > 20);
}

#[test]
fn the_next_in_turn_asks_when_the_running_grant_may_end_and_nobody_else_does() {
    for (ahead, left, least, most) in [
        ("0", "80", 80, 80),
        ("0", "0", 10, 10),
        ("1", "80", 450, 550),
    ] {
        let mut call = call(acquire("a", 1, 1_000, 20_000));
        let rest = gap(&queued(&mut call, ahead, left, 1_000));
        assert!(
            rest >= ms(least) && rest <= ms(most),
            "{rest:?} behind {ahead}"
        );
    }
}

#[test]
fn patience_ends_exactly_with_the_wait_by_the_servers_clock() {
    let mut call = call(acquire("a", 1, 1_000, 700));
    assert!(gap(&queued(&mut call, "1", "9000", 50_000)) <= ms(550));
    assert_eq!(gap(&queued(&mut call, "1", "9000", 50_500)), ms(200));
    assert_eq!(gap(&queued(&mut call, "1", "9000", 50_699)), ms(1));
    let last_look = sent(queued(&mut call, "1", "9000", 50_700));
    let waits = &last_look[3 + 4 + 4];
    assert_eq!(waits, "0", "it leaves the queue: {last_look:?}");
    let held = Response::Held(Held {
        fence: None,
        waiters: 0,
        holder: Some(name("b")),
        retry_after: ms(9_000),
    });
    assert_eq!(
        call.replied(&words(&["held", "b", "9000"])),
        Step::Done(held)
    );
}

#[test]
fn a_server_that_answers_queued_to_the_last_look_is_asked_no_more() {
    let mut call = call(acquire("a", 1, 1_000, 700));
    queued(&mut call, "1", "9000", 50_000);
    sent(queued(&mut call, "1", "9000", 50_700));
    assert_eq!(queued(&mut call, "1", "9000", 50_700), Step::Failed);
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
        queued(&mut call, "4", "9000", 50_000);
        let end = 50_000 + poll;
        assert!(gap(&queued(&mut call, "4", "9000", end - 1)) == ms(1));
        assert_eq!(
            queued(&mut call, "2", "9000", end),
            Step::Done(Response::Queued {
                ahead: 2,
                retry_after: Span::ZERO,
            })
        );
    }
}

#[test]
fn waiting_is_counted_by_the_servers_clock_and_only_for_what_this_call_waited() {
    const ID: &str = "000000000000000000000000000000ab";
    let grant =
        |at: &str, replayed: &str| words(&["granted", ID, "17", "1000", "1000", at, replayed]);
    let waited = |step: Step| match step {
        Step::Done(Response::Granted(granted)) => granted.waited,
        other => panic!("not granted: {other:?}"),
    };
    let mut first = call(acquire("a", 1, 1_000, 9_000));
    queued(&mut first, "1", "9000", 50_000);
    queued(&mut first, "0", "9000", 50_400);
    first.poll();
    assert_eq!(waited(first.replied(&grant("50777", "0"))), ms(777));
    // Granted earlier, to an attempt whose answer was lost: how long that one waited is unknown.
    let mut again = call(acquire("a", 1, 1_000, 9_000));
    queued(&mut again, "1", "9000", 50_000);
    again.poll();
    assert_eq!(waited(again.replied(&grant("50777", "1"))), Span::ZERO);
    let mut at_once = call(acquire("a", 1, 1_000, 9_000));
    at_once.poll();
    assert_eq!(waited(at_once.replied(&grant("50777", "0"))), Span::ZERO);
    // A clock set back does not count below nothing.
    let mut back = call(acquire("a", 1, 1_000, 9_000));
    queued(&mut back, "1", "9000", 50_000);
    back.poll();
    assert_eq!(waited(back.replied(&grant("49000", "0"))), Span::ZERO);
}

#[test]
fn a_script_lost_between_two_polls_is_sent_again() {
    let mut call = call(acquire("a", 1, 1_000, 9_000));
    for at in 0..3 {
        assert_eq!(sent(call.poll())[0], "EVALSHA");
        assert_eq!(sent(call.replied(&error(NOSCRIPT)))[0], "EVAL");
        let answer = words(&["queued", "1", "9000", &(50_000 + at).to_string()]);
        assert!(matches!(call.replied(&answer), Step::Rest { .. }));
    }
}

#[test]
fn the_channel_is_safe_in_a_path_and_does_not_show_the_op() {
    let prefix = Prefix::parse("my.app:v1_-").expect("a prefix");
    let mut seen = std::collections::BTreeSet::new();
    for bits in 0..200_u128 {
        let secret = op(bits << 64 | bits);
        let channel = channel(&prefix, secret);
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
    let Step::Done(Response::Refused(Refusal { message, .. })) = answered(&error(
        "NOPERM this user has no permissions to run the 'eval' command",
    )) else {
        panic!("not refused");
    };
    assert!(!message.contains("this user"));
}
