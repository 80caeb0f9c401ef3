//! Revisions and watchers: what still holds is never missed.

mod common;

use common::hosting::{Server, contended, held};
use common::*;
use leasehold::fence::Revision;
use leasehold::host::{HostInput, ReplyTo};
use leasehold::json::Json;
use leasehold::name::EntryName;
use leasehold::protocol::{Entry, Finish, KeyState, List, Operation, Response, Watch};

fn watch(after: Option<Revision>, wait_ms: u64) -> Operation {
    Operation::Watch(Watch {
        after,
        wait: ms(wait_ms),
    })
}

fn seen(server: &Server, to: ReplyTo) -> Option<KeyState> {
    match server.raw_reply(to) {
        Some(Response::State(state)) => Some(state),
        None => None,
        other => panic!("{other:?}"),
    }
}

fn revision(server: &mut Server, at: u64) -> Revision {
    match server.raw(at, 999, Operation::Inspect) {
        Response::State(state) => state.revision,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_revision_rises_with_the_time_and_with_every_change_but_a_renewal() {
    let mut server = Server::new();
    assert_eq!(revision(&mut server, 5), Revision::ABSENT);
    let steps: Vec<(u64, u128, Operation, bool)> = vec![
        (100, 1, acquire("a", 11, 10_000, 0), true),
        (200, 2, renew(11, 10_000), false),
        (210, 3, verify(11), false),
        (220, 4, acquire("b", 14, 10_000, 0), false),
        (230, 5, acquire("b", 15, 10_000, 60_000), true),
        (240, 5, Operation::Cancel, true),
        (250, 6, entry(11, 1, Some("1")), true),
        (251, 6, entry(11, 1, Some("2")), false),
        (260, 7, entry(11, 2, Some("1")), false),
        (270, 8, entry(11, 3, None), true),
        (280, 9, transfer(by_lease(11), "b", 19, 10_000), true),
        (290, 10, finish(19), true),
        (300, 11, Operation::Revoke { fence: None }, true),
        (310, 12, release(19), false),
    ];
    let mut before = Revision::ABSENT;
    for (at, bits, operation, changes) in steps {
        server.post(at, bits, operation.clone());
        let after = revision(&mut server, at);
        if changes {
            assert_eq!(after.value(), at * 1_000, "{operation:?}");
        } else {
            assert_eq!(after, before, "{operation:?}");
        }
        before = after;
    }
    // Two changes in one microsecond are still two revisions.
    server.post(400, 20, acquire("a", 21, 10_000, 0));
    server.post(400, 22, release(21));
    assert_eq!(revision(&mut server, 400).value(), 400_001);
    server.restart(401);
    assert_eq!(revision(&mut server, 401).value(), 400_001);
}

fn entry(lease_bits: u128, number: u64, value: Option<&str>) -> Operation {
    Operation::Entry(Entry {
        credential: by_lease(lease_bits),
        name: EntryName::parse("n").expect("a name"),
        value: value.and_then(Json::parse),
        number,
    })
}

fn finish(lease_bits: u128) -> Operation {
    Operation::Finish(Finish {
        credential: by_lease(lease_bits),
        result: Json::parse("1").expect("JSON"),
        keep: ms(60_000),
    })
}

#[test]
fn a_watcher_without_a_revision_or_with_another_is_answered_at_once() {
    let mut server = held(10_000);
    let now = revision(&mut server, 1_000);
    for after in [
        None,
        Some(Revision::ABSENT),
        Some(Revision::from_value(u64::MAX)),
    ] {
        let mut server = held(10_000);
        let to = server.post(1_000, 2, watch(after, 20_000));
        assert_eq!(
            seen(&server, to).map(|state| state.revision),
            Some(now),
            "{after:?}"
        );
    }
    let to = server.post(2_000, 2, watch(Some(now), 0));
    assert!(seen(&server, to).is_some(), "no patience");
    let to = server.post(2_000, 3, watch(Some(now), 20_000));
    assert_eq!(seen(&server, to), None);
}

#[test]
fn a_change_is_told_to_all_who_watch_and_none_is_told_twice() {
    let mut server = held(10_000);
    let now = revision(&mut server, 0);
    let watchers: Vec<ReplyTo> = (0..1_000)
        .map(|n| server.post(1_000, 100 + n, watch(Some(now), 20_000)))
        .collect();
    server.post(2_000, 50, release(11));
    for to in &watchers {
        let state = seen(&server, *to).expect("told");
        assert!(state.holders.is_empty() && state.revision > now);
    }
    // One more than are allowed.
    let next = revision(&mut server, 2_000);
    for n in 0..1_024 {
        server.post(2_500, 5_000 + n, watch(Some(next), 20_000));
    }
    let Response::Refused(refusal) = server.raw(2_500, 9_000, watch(Some(next), 20_000)) else {
        panic!("let in");
    };
    assert_eq!(refusal.reason, "too-many-watchers");
}

#[test]
fn changes_that_follow_fast_are_told_together() {
    let mut server = Server::new();
    let absent = Some(Revision::ABSENT);
    let first = server.post(0, 1, watch(absent, 20_000));
    server.post(1_000, 2, acquire("a", 11, 10_000, 0));
    let told = seen(&server, first).expect("at once").revision;
    let second = server.post(1_010, 3, watch(Some(told), 20_000));
    server.post(1_020, 4, release(11));
    server.post(1_030, 5, acquire("b", 12, 10_000, 0));
    assert_eq!(
        seen(&server, second),
        None,
        "not within 100 ms of the last time"
    );
    server.run_until(1_099);
    assert_eq!(seen(&server, second), None);
    server.run_until(1_100);
    let state = seen(&server, second).expect("told");
    assert_eq!(
        state.holders[0].holder.as_str(),
        "b",
        "what came and went is left out"
    );
}

#[test]
fn a_watcher_is_told_of_an_expiry_and_of_the_end_of_a_result() {
    let mut server = held(5_000);
    let now = revision(&mut server, 0);
    let to = server.post(100, 2, watch(Some(now), 20_000));
    server.run_until(4_999);
    assert_eq!(seen(&server, to), None);
    server.run_until(5_000);
    assert!(seen(&server, to).expect("told").holders.is_empty());

    let mut server = held(5_000);
    server.post(1_000, 2, finish(11));
    let now = revision(&mut server, 1_000);
    server.run_until(50_000);
    let to = server.post(50_000, 3, watch(Some(now), 20_000));
    server.run_until(61_000);
    assert_eq!(seen(&server, to).expect("told").done, None);
}

#[test]
fn a_watcher_that_hears_of_nothing_gets_the_present_state_at_the_end() {
    let mut server = held(60_000);
    let now = revision(&mut server, 0);
    let short = server.post(100, 2, watch(Some(now), 3_000));
    let long = server.post(100, 3, watch(Some(now), 86_400_000));
    server.run_until(3_100);
    assert_eq!(seen(&server, short).map(|state| state.revision), Some(now));
    server.run_until(20_099);
    assert_eq!(seen(&server, long), None);
    server.run_until(20_100);
    assert!(seen(&server, long).is_some());
}

#[test]
fn a_watcher_that_has_gone_is_not_answered() {
    let mut server = held(10_000);
    let now = revision(&mut server, 0);
    let to = server.post(100, 2, watch(Some(now), 20_000));
    server.input(200, HostInput::Gone(to));
    server.post(300, 50, release(11));
    assert_eq!(seen(&server, to), None);
}

#[test]
fn waiters_are_seen() {
    let (mut server, _) = contended(10_000);
    let now = revision(&mut server, 20);
    let to = server.post(20, 3, watch(Some(now), 20_000));
    server.post(30, 4, acquire("c", 14, 10_000, 60_000));
    assert_eq!(seen(&server, to).map(|state| state.waiters), Some(2));
}

#[test]
fn a_state_that_was_seen_has_another_revision_when_it_differs_after_a_restart() {
    // One waits, seen before and after.
    let mut server = held(60_000);
    let before = revision(&mut server, 10);
    server.post(20, 2, acquire("b", 12, 10_000, 60_000));
    server.restart(30);
    let to = server.post(40, 3, watch(Some(before), 20_000));
    assert_eq!(seen(&server, to).map(|state| state.waiters), Some(1));
    // Nobody waits any more.
    let (mut server, _) = contended(60_000);
    server.post(20, 3, acquire("c", 13, 10_000, 60_000));
    server.restart(25);
    let two = revision(&mut server, 30);
    server.post(31, 3, acquire("c", 13, 10_000, 0));
    server.restart(40);
    let to = server.post(50, 4, watch(Some(two), 20_000));
    assert_eq!(seen(&server, to).map(|state| state.waiters), Some(1));
}

#[test]
fn watching_and_asking_leave_nothing_behind() {
    let mut server = Server::new();
    let to = server.post(0, 1, watch(Some(Revision::ABSENT), 10_000));
    server.post(1, 2, watch(None, 10_000));
    server.run_until(10_000);
    assert_eq!(seen(&server, to), Some(KeyState::absent(key("k"))));
    assert!(server.host.is_empty());
    assert!(server.store.keys.is_empty());
    assert_eq!(server.alarm, None);
}

fn list(
    server: &mut Server,
    at: u64,
    prefix: &str,
    after: Option<&str>,
) -> (Vec<String>, Option<String>) {
    let to = ReplyTo(1_000_000 + at);
    let list = List {
        prefix: prefix.to_string(),
        after: after.map(str::to_string),
    };
    server.input(at, HostInput::List(to, list));
    match server.raw_reply(to) {
        Some(Response::Listed { states, after }) => {
            let names = states.iter().map(|state| state.key.as_str().to_string());
            (names.collect(), after)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_page_ends_early_where_its_states_are_long() {
    let mut server = Server::new();
    let value = format!("\"{}\"", "x".repeat(4_000));
    for n in 0..5_u128 {
        let text = format!("k{n}");
        server.ask_about(0, &text, 100 + n, acquire("h", 100 + n, 10_000, 0));
        for number in 0..12_u64 {
            let entry = Operation::Entry(Entry {
                credential: by_lease(100 + n),
                name: EntryName::parse(&format!("e{number}")).expect("a name"),
                number: 1 + number,
                value: Json::parse(&value),
            });
            server.ask_about(1, &text, 1_000 + n * 20 + u128::from(number), entry);
        }
    }
    // Each state is about 48 KB long: a page ends with the one that makes it longer than 128 KiB.
    let (first, after) = list(&mut server, 10, "", None);
    assert_eq!(
        (first, after.as_deref()),
        (names(&["k0", "k1", "k2"]), Some("k2"))
    );
    let (second, end) = list(&mut server, 11, "", after.as_deref());
    assert_eq!((second, end), (names(&["k3", "k4"]), None));
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn keys_are_listed_in_order_page_by_page() {
    let mut server = Server::new();
    for n in 0..250_u128 {
        let text = format!("{}:{n:03}", if n % 2 == 0 { "a" } else { "b" });
        server.ask_about(0, &text, 100 + n, acquire("h", 100 + n, 10_000, 0));
    }
    server.ask_about(1, "a:004", 900, release(104));
    let (first, after) = list(&mut server, 10, "a:", None);
    assert_eq!(first.len(), 100);
    assert_eq!(
        first[..3],
        ["a:000", "a:002", "a:006"],
        "a free key has nothing to show"
    );
    let (second, end) = list(&mut server, 11, "a:", after.as_deref());
    assert_eq!((second.len(), end), (24, None));
    assert!(first.iter().chain(&second).is_sorted());
    let (all, _) = list(&mut server, 12, "", None);
    assert_eq!(all.len(), 100);
    assert_eq!(list(&mut server, 13, "c", None), (vec![], None));
    // What has expired is not listed, though nobody has asked for it.
    assert_eq!(list(&mut server, 10_000, "", None).0, Vec::<String>::new());
}
