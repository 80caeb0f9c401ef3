//! What a server's errors become, and that nothing of their text goes on: it may quote secrets.

mod common;

use common::*;
use leasehold::protocol::{Code, List, Operation, Refusal, Response};
use leasehold::redis::{Call, Reply, Step};
use proptest::prelude::*;

/// What becomes of an error to a script sent as text, without the flag: nothing is left to try.
fn outcome(text: &str) -> Step {
    let asked = request(1, Operation::Inspect).to_json();
    let mut call = Call::new("leasehold", &asked, false);
    call.poll(at(0));
    let mut error = |text: &str| call.replied(at(0), &Reply::Error(text.to_string()));
    error("NOSCRIPT No matching script.");
    error(text)
}

/// An acquire that waits for so long.
fn waiting(wait_ms: u64) -> String {
    request(7, acquire("a", 1, 1_000, wait_ms)).to_json()
}

fn refused(step: &Step) -> Option<Refusal> {
    let Step::Done(text) = step else { return None };
    match Response::from_json(text) {
        Ok(Response::Refused(refusal)) => Some(refusal),
        other => panic!("{other:?}"),
    }
}

fn refusal(text: &str) -> Option<(Code, String, bool)> {
    let step = outcome(text);
    assert!(matches!(step, Step::Done(_) | Step::Failed), "{step:?}");
    let refusal = refused(&step)?;
    Some((
        refusal.code,
        refusal.reason.to_string(),
        refusal.retry_after.is_some(),
    ))
}

#[test]
fn errors_are_told_by_their_words() {
    use Code::{Denied, Invalid, Unavailable};
    let table = [
        (
            "WRONGPASS invalid or missing auth token",
            Denied,
            "unauthorized",
            false,
        ),
        (
            "NOAUTH Authentication required.",
            Denied,
            "unauthorized",
            false,
        ),
        ("Unauthorized", Denied, "unauthorized", false),
        (
            "NOPERM this user has no permissions to run the 'evalsha' command",
            Denied,
            "not-permitted",
            false,
        ),
        (
            "ERR unknown command 'EVALSHA', with args beginning with: '0f' ",
            Denied,
            "no-scripts",
            false,
        ),
        (
            "ERR unknown command `EVAL`, with args beginning with: `0f`, ",
            Denied,
            "no-scripts",
            false,
        ),
        (
            "ERR max daily request limit exceeded. Limit: 10000, Usage: 10000.",
            Unavailable,
            "quota",
            false,
        ),
        (
            "ERR max requests limit exceeded. Limit: 500000",
            Unavailable,
            "quota",
            false,
        ),
        (
            "READONLY You can't write against a read only replica.",
            Unavailable,
            "read-only",
            true,
        ),
        (
            "ERR Error running script (call to f_0a): @user_script:24: @user_script: 24: -READONLY You can't write",
            Unavailable,
            "read-only",
            true,
        ),
        (
            "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to",
            Unavailable,
            "cannot-persist",
            true,
        ),
        (
            "NOREPLICAS Not enough good replicas to write.",
            Unavailable,
            "cannot-persist",
            true,
        ),
        (
            "LOADING Redis is loading the dataset in memory",
            Unavailable,
            "loading",
            true,
        ),
        (
            "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
            Unavailable,
            "busy",
            true,
        ),
        (
            "CLUSTERDOWN Hash slot not served",
            Unavailable,
            "cluster-down",
            true,
        ),
        (
            "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
            Unavailable,
            "cluster-down",
            true,
        ),
        ("MOVED 3999 127.0.0.1:6381", Invalid, "cluster", false),
        (
            "CROSSSLOT Keys in request don't hash to the same slot",
            Invalid,
            "cluster",
            false,
        ),
        ("ASK 3999 127.0.0.1:6381", Invalid, "cluster", false),
        (
            "OOM command not allowed when used memory > 'maxmemory'.",
            Unavailable,
            "out-of-memory",
            true,
        ),
        (
            "WRONGTYPE Operation against a key holding the wrong kind of value script: 0a, on @user_script:9.",
            Unavailable,
            "foreign-value",
            false,
        ),
        (
            "ERR value is not an integer or out of range",
            Unavailable,
            "foreign-value",
            false,
        ),
    ];
    for (text, code, reason, passing) in table {
        assert_eq!(
            refusal(text),
            Some((code, reason.to_string(), passing)),
            "{text}"
        );
    }
}

#[test]
fn an_error_that_leaves_it_open_what_happened_is_no_refusal() {
    for text in [
        "",
        "ERR",
        "ERR internal error",
        "ERR LOADING, it said",
        "NOSCRIPT again",
        "ERR Unexpected flag in script shebang: allow-key-locking",
        "<html>502 Bad Gateway</html>",
    ] {
        assert_eq!(refusal(text), None, "{text}");
    }
}

/// Servers put a missing permission in different words, inside a script and outside.
#[test]
fn a_missing_permission_is_named() {
    let script = |what: &str, line: usize| {
        format!(
            "ERR The user executing the script can't {what} script: 0a1b, on @user_script:{line}."
        )
    };
    // Without the flag's line, as the call that is made here.
    let text = leasehold::redis::text(false);
    let time = 1 + text
        .lines()
        .position(|line| line.contains("redis.call('TIME')"))
        .expect("it asks for the time");
    for (error, named) in [
        (
            "NOPERM this user has no permissions to run the 'eval' command".to_string(),
            "may not run EVAL:",
        ),
        (
            "NOPERM User lease has no permissions to run the 'client|info' command".to_string(),
            "may not run CLIENT|INFO:",
        ),
        (
            "ERR ACL failure in script: User lease has no permissions to run the 'set' command"
                .to_string(),
            "may not run SET:",
        ),
        (
            script("run this command or subcommand", time),
            "may not run TIME:",
        ),
        (
            script("run this command or subcommand", 99_999),
            "may not run a command",
        ),
        (
            script(
                "access at least one of the keys mentioned in the command arguments",
                time,
            ),
            "may not touch the keys",
        ),
        (
            "NOPERM No permissions to access a key".to_string(),
            "may not touch the keys",
        ),
        (
            "NOPERM this user has no permissions to access one of the keys used as arguments"
                .to_string(),
            "may not touch the keys",
        ),
        (
            script("publish to the channel mentioned in the command", time),
            "may not publish",
        ),
    ] {
        let refusal = refused(&outcome(&error)).expect(&error);
        assert_eq!(
            (refusal.code, &*refusal.reason),
            (Code::Denied, "not-permitted")
        );
        assert!(
            refusal.message.contains(named),
            "{error} became {}",
            refusal.message
        );
    }
}

#[test]
fn what_an_error_quotes_of_the_command_does_not_decide() {
    for word in [
        "NOSCRIPT",
        "WRONGPASS",
        "NOPERM",
        "READONLY",
        "OOM",
        "WRONGTYPE",
        "unknown command",
    ] {
        for text in [
            format!("ERR internal error, args: 'leasehold:{{k:{word}}}:lease'"),
            format!("ERR internal error, command was: [\"evalsha\",\"{word}\"]"),
            format!("ERR internal error near `{word}`"),
        ] {
            assert_eq!(refusal(&text), None, "{text}");
        }
        assert_eq!(
            refusal(&format!("ERR unknown command 'EVAL', with args: '{word}'"))
                .map(|(_, reason, _)| reason),
            Some("no-scripts".to_string())
        );
    }
}

/// Texts that begin like errors and go on with anything.
fn texts() -> impl Strategy<Value = String> {
    let begin = prop::sample::select(vec![
        "",
        "ERR ",
        "NOSCRIPT ",
        "WRONGPASS ",
        "NOPERM ",
        "READONLY ",
        "MISCONF ",
        "OOM ",
        "WRONGTYPE ",
        "ERR unknown command ",
        "ERR Unexpected flag in script shebang",
        "ERR max requests limit ",
    ]);
    (begin, any::<String>()).prop_map(|(begin, rest)| format!("{begin}{rest}"))
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn no_text_is_passed_on(begin in texts(), secret in "[0-9a-f]{32}") {
        for text in [format!("{begin}{secret}"), format!("{secret}{begin}"), begin.replace(' ', &secret)] {
            let step = outcome(&text);
            let shown = format!("{step:?}");
            prop_assert!(!shown.contains(&secret), "{shown}");
            prop_assert!(step == Step::Failed || refused(&step).is_some());
        }
    }

    #[test]
    fn whatever_the_words_there_is_an_answer_or_an_error(
        words in prop::collection::vec(
            prop_oneof![
                prop::sample::select(vec![
                    "granted", "held", "queued", "renewed", "revoked", "not-holder", "state", "done",
                    "listed", "same", "~",
                    "0", "1", "18446744073709551615", "18446744073709551616", "9007199254740993", "-1",
                    "000000000000000000000000000000ab", "",
                ]).prop_map(str::to_string),
                any::<u64>().prop_map(|number| number.to_string()),
                any::<String>(),
            ],
            0..9,
        ),
        wait in 0..90_000_u64,
        polls in 1..6_usize,
    ) {
        let listing = List::default().to_json();
        for asked in [listing, waiting(wait)] {
            let mut call = Call::new("leasehold", &asked, true);
            for poll in 0..polls {
                let now = at(poll as u64 * 1_000);
                call.poll(now);
                if !matches!(call.replied(now, &Reply::Words(words.clone())), Step::Rest { .. }) {
                    break;
                }
            }
        }
    }

    #[test]
    fn a_call_ends_whatever_the_server_answers(
        replies in prop::collection::vec(
            prop::sample::select(vec![
                "NOSCRIPT No matching script.", "ERR Unexpected flag in script shebang", "ERR what",
                "queued", "late",
            ]),
            1..60,
        ),
        wait in 0..3_000_u64,
    ) {
        let mut call = Call::new("leasehold", &waiting(wait), true);
        let mut step = call.poll(at(1_000));
        let mut sends_in_a_row = 0;
        let mut now = 1_000_u64;
        for reply in replies {
            match step {
                Step::Send { .. } => {
                    sends_in_a_row += 1;
                    // By hash and as text, with the flag and without; the last look once more.
                    prop_assert!(sends_in_a_row <= 8, "asked without a pause");
                    now += if reply == "late" { 5_000 } else { 0 };
                    step = call.replied(at(now), &match reply {
                        "queued" | "late" => {
                            Reply::Words(["queued", "1", "50000"].map(str::to_string).to_vec())
                        }
                        error => Reply::Error(error.to_string()),
                    });
                }
                Step::Rest { gap, .. } => {
                    prop_assert!(gap.as_millis_ceil() >= 1 && gap.as_millis_ceil() <= 1_650);
                    sends_in_a_row = 0;
                    now += gap.as_millis_ceil();
                    step = call.poll(at(now));
                }
                Step::Done(_) | Step::Failed => break,
            }
        }
    }
}
