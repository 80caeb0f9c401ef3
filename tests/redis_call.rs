//! One request to a Redis, step by step: when it is sent, and how long a waiter waits.

mod common;

use common::*;
use leasehold::fence::Revision;
use leasehold::json::Json;
use leasehold::name::EntryName;
use leasehold::protocol::{self, Entry, Finish, List, Operation, Request, Transfer, Watch};
use leasehold::redis::{Call, Step};
use leasehold::time::{Instant, Span};
use proptest::prelude::*;
use serde_json::{Value, json};

fn call(operation: Operation) -> Call {
    call_of(request(0xf0, operation))
}

fn call_of(request: Request) -> Call {
    Call::new(&request.to_json()).expect("a request")
}

/// How long the request has lain waiting, and whether it waits on.
fn sent(step: Step) -> (Span, bool) {
    match step {
        Step::Send { waited, waits, .. } => (waited, waits),
        other => panic!("nothing is sent: {other:?}"),
    }
}

fn gap(step: Step) -> Span {
    match step {
        Step::Rest { gap, .. } => gap,
        other => panic!("no rest: {other:?}"),
    }
}

/// A waiter that asks at this time and is told that so many are before it, for as long.
fn queued_at(call: &mut Call, now: Instant, ahead: u32, left_ms: u64) -> Step {
    call.poll(now);
    call.queued(now, ahead, Some(ms(left_ms)))
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
    let mut texts: Vec<Value> = operations()
        .into_iter()
        .map(|operation| serde_json::from_str(&request(1, operation).to_json()).expect("JSON"))
        .collect();
    let list = List {
        prefix: "k".to_string(),
        after: Some("1".to_string()),
    };
    texts.push(serde_json::from_str(&list.to_json()).expect("JSON"));
    for whole in texts {
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
                assert_eq!(
                    Call::new(&text).err(),
                    protocol::Call::from_json(&text).err(),
                    "{text}"
                );
            }
        }
    }
}

fn operations() -> Vec<Operation> {
    let json = |text: &str| Json::parse(text).expect("JSON");
    vec![
        acquire("a", 1, 1_000, 1_000),
        Operation::Cancel,
        Operation::Entry(Entry {
            credential: by_lease(0xab),
            name: EntryName::parse("a b").expect("a name"),
            value: Some(json("1")),
            number: 7,
        }),
        Operation::Finish(Finish {
            credential: by_lease(0xab),
            result: json("{\"a\": 1}"),
            keep: Span::from_secs(60),
        }),
        Operation::Inspect,
        Operation::Release(by_lease(1)),
        renew(1, 1_000),
        Operation::Revoke {
            fence: Some(fence(1)),
        },
        Operation::Transfer(Transfer {
            credential: by_lease(1),
            successor: name("b"),
            lease: lease(2),
            ttl: ms(1_000),
        }),
        Operation::Verify(by_lease(1)),
        watch(1_000),
    ]
}

fn watch(wait_ms: u64) -> Operation {
    Operation::Watch(Watch {
        after: Some(Revision::from_value(9)),
        wait: ms(wait_ms),
    })
}

#[test]
fn only_who_is_willing_to_waits_and_asks_again_when_no_reply_comes() {
    for (operation, waits) in [
        (acquire("a", 1, 1_000, 0), false),
        (acquire("a", 1, 1_000, 5), true),
        (watch(0), false),
        (watch(5), true),
        (Operation::Inspect, false),
        (renew(1, 1_000), false),
    ] {
        let step = call(operation.clone()).poll(at(0));
        let Step::Send { timeout, .. } = &step else {
            panic!("{step:?}");
        };
        assert_eq!(timeout.is_some(), waits, "{operation:?}");
        assert_eq!(sent(step), (Span::ZERO, waits), "{operation:?}");
    }
}

#[test]
fn a_call_counts_from_the_first_command_that_was_not_refused_as_a_whole() {
    let mut call = call(acquire("a", 1, 1_000, 9_000));
    call.poll(at(50_000));
    let again = call.resend(at(50_300));
    assert!(matches!(again, Step::Send { afresh: true, .. }));
    assert_eq!(sent(again).0, Span::ZERO);
    call.queued(at(50_400), 1, Some(ms(9_000)));
    assert_eq!(sent(call.poll(at(51_300))).0, ms(1_000));
    // What came before was carried out, however short ago.
    let mut at_once = self::call(acquire("a", 1, 1_000, 9_000));
    queued_at(&mut at_once, at(50_000), 0, 0);
    at_once.poll(at(50_000));
    assert!(matches!(
        at_once.resend(at(50_000)),
        Step::Send { afresh: false, .. }
    ));
    let again = call.resend(at(51_400));
    assert!(matches!(again, Step::Send { afresh: false, .. }));
    assert_eq!(sent(again).0, ms(1_100));
}

#[test]
fn a_waiter_rests_ever_longer_and_never_longer_than_its_place_lasts() {
    let mut last = Span::ZERO;
    let mut call = call(acquire("a", 1, 1_000, 20_000));
    for poll in 0..6 {
        let rest = gap(queued_at(&mut call, at(poll), 3, 9_000));
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
            gap(queued_at(&mut call, at(0), 3, 9_000))
        })
        .collect();
    assert!(gaps.len() > 20);
}

#[test]
fn the_next_in_turn_asks_when_a_place_may_come_free_and_nobody_else_does() {
    for (ahead, left, least, most) in [
        (0, 80, 80, 80),
        (0, 3, 3, 3),
        (0, 0, 10, 10),
        (1, 80, 900, 1_100),
    ] {
        let mut call = call(acquire("a", 1, 1_000, 20_000));
        let rest = gap(queued_at(&mut call, at(0), ahead, left));
        assert!(
            rest >= ms(least) && rest <= ms(most),
            "{rest:?} behind {ahead}"
        );
    }
}

#[test]
fn patience_ends_exactly_with_the_wait_by_the_clients_clock() {
    let mut call = call(acquire("a", 1, 1_000, 1_200));
    assert!(gap(queued_at(&mut call, at(50_000), 1, 9_000)) <= ms(1_100));
    assert_eq!(gap(queued_at(&mut call, at(51_000), 1, 9_000)), ms(200));
    assert_eq!(gap(queued_at(&mut call, at(51_199), 1, 9_000)), ms(1));
    let (_, waits) = sent(queued_at(&mut call, at(51_200), 1, 9_000));
    assert!(!waits, "it leaves the queue");
}

#[test]
fn a_server_that_answers_queued_to_the_last_look_is_asked_no_more() {
    let mut call = call(acquire("a", 1, 1_000, 700));
    queued_at(&mut call, at(50_000), 1, 9_000);
    sent(queued_at(&mut call, at(50_700), 1, 9_000));
    assert_eq!(queued_at(&mut call, at(50_700), 1, 9_000), Step::Failed);
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
        queued_at(&mut call, at(50_000), 4, 9_000);
        let end = 50_000 + poll;
        assert_eq!(gap(queued_at(&mut call, at(end - 1), 4, 9_000)), ms(1));
        assert_eq!(
            queued_at(&mut call, at(end), 2, 9_000),
            Step::Queued(2),
            "{ttl}"
        );
    }
}

#[test]
fn a_call_that_another_has_taken_the_place_of_waits_no_longer() {
    let mut call = call(acquire("a", 1, 1_000, 20_000));
    queued_at(&mut call, at(50_000), 4, 9_000);
    assert_eq!(call.superseded(at(50_100)), Step::Queued(4));
}

#[test]
fn a_watcher_rests_until_something_may_have_changed() {
    let mut call = call(watch(5_000));
    call.poll(at(1_000));
    let step = call.queued(at(1_000), 0, Some(ms(80_000)));
    assert!(matches!(
        step,
        Step::Rest {
            is_hinted: true,
            ..
        }
    ));
    let rest = gap(step);
    assert!(rest >= ms(900) && rest <= ms(1_100));
    call.poll(at(1_500));
    // A term ends sooner than it would look again.
    assert_eq!(gap(call.queued(at(1_500), 0, Some(ms(200)))), ms(200));
    assert!(sent(call.poll(at(1_700))).1);
}

#[test]
fn a_watcher_looks_every_100_ms_at_most_however_many_hints_come() {
    let mut call = call(watch(5_000));
    call.poll(at(1_000));
    call.queued(at(1_000), 0, None);
    assert_eq!(
        call.poll(at(1_030)),
        Step::Rest {
            gap: ms(70),
            is_hinted: false
        }
    );
    sent(call.poll(at(1_100)));
}

#[test]
fn a_watch_ends_with_the_present_state() {
    let mut call = call(watch(300));
    call.poll(at(1_000));
    assert_eq!(gap(call.queued(at(1_000), 0, None)), ms(300));
    call.poll(at(1_300));
    let (_, waits) = sent(call.queued(at(1_300), 0, None));
    assert!(!waits, "the present state is asked for");
}

#[test]
fn what_stands_for_an_op_and_a_key_is_safe_in_a_path_and_does_not_show_the_op() {
    let mut seen = std::collections::BTreeSet::new();
    for bits in 0..200_u128 {
        let secret = op(bits << 64 | bits);
        let call = call_of(Request {
            key: key("k, \u{e9}"),
            op: secret,
            operation: acquire("a", 1, 1_000, 1_000),
        });
        for name in [&call.names().op, &call.names().key] {
            assert_eq!(name.len(), 16);
            assert!(name.bytes().all(|byte| byte.is_ascii_hexdigit()));
        }
        let hex = secret.to_hex();
        assert!(![&hex[..16], &hex[16..]].contains(&&*call.names().op));
        seen.insert(call.names().op.clone());
    }
    assert_eq!(seen.len(), 200);
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn a_call_ends_whatever_it_is_told(
        replies in prop::collection::vec((0..4_u32, any::<Option<u32>>(), 0..6_000_u64), 1..60),
        wait in 0..3_000_u64,
        watches in any::<bool>(),
    ) {
        let operation = if watches { watch(wait) } else { acquire("a", 1, 1_000, wait) };
        let mut call = call(operation);
        let (mut now, mut looks_in_a_row) = (1_000, 0);
        let mut step = call.poll(at(now));
        for (ahead, quiet, late) in replies {
            match step {
                Step::Send { .. } => {
                    looks_in_a_row += 1;
                    // The last look comes without a pause.
                    prop_assert!(looks_in_a_row <= 2, "asked without a pause");
                    now += late;
                    step = call.queued(at(now), ahead, quiet.map(|quiet| ms(quiet.into())));
                }
                Step::Rest { gap, .. } => {
                    prop_assert!(gap > Span::ZERO && gap <= ms(1_650), "{gap:?}");
                    looks_in_a_row = 0;
                    now += gap.as_millis_ceil();
                    step = call.poll(at(now));
                }
                Step::Queued(_) | Step::Failed => break,
            }
        }
    }
}
