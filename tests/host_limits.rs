//! Everything that grows has a limit, and what is forgotten leaves its fence behind.

mod common;

use common::hosting::{Server, held, small};
use common::*;
use leasehold::protocol::{Code, Operation, Response};

fn take(server: &mut Server, at: u64, text: &str, bits: u128) -> Response {
    server.ask_about(at, text, bits, acquire("a", bits, 1_000, 0))
}

#[test]
fn b77_a_forgotten_key_leaves_its_fence_in_the_floor() {
    let mut server = Server::with(small()); // three keys
    for n in 0..5 {
        take(&mut server, 0, "k", 10 + n);
        server.ask(0, 50 + n, release(10 + n));
    }
    assert_eq!(take(&mut server, 10, "l", 20), granted(20, 1, 1_000));
    assert_eq!(take(&mut server, 20, "m", 21), granted(21, 1, 1_000));
    // A fourth: "k" has been idle for longest. Its last fence was 5.
    assert_eq!(take(&mut server, 30, "n", 22), granted(22, 6, 1_000));
    assert!(!server.store.keys.contains_key(&key("k")));
    assert_eq!(server.store.floor, fence(5));
    // It comes back with a higher fence than it ever had.
    server.ask_about(40, "n", 60, release(22));
    assert_eq!(take(&mut server, 50, "k", 23), granted(23, 7, 1_000));
}

#[test]
fn b77_fences_rise_across_forgetting_whatever_the_order() {
    let mut server = Server::with(small());
    let mut highest = std::collections::BTreeMap::new();
    for round in 0..200_u64 {
        let text =
            ["a", "b", "c", "d", "e", "f", "g"][usize::try_from(round * round % 7).expect("small")];
        let bits = 1_000 + u128::from(round);
        let now = round * 2_000;
        if round % 17 == 0 {
            server.restart(now);
        }
        let Response::Granted(granted) = take(&mut server, now, text, bits) else {
            panic!("everything has expired");
        };
        let before = highest.insert(text, granted.fence);
        assert!(before < Some(granted.fence), "{text}: {before:?} again");
        assert!(server.store.keys.len() <= 3);
    }
}

#[test]
fn live_keys_are_never_forgotten() {
    let mut server = Server::with(small());
    for (n, text) in ["k", "l", "m"].into_iter().enumerate() {
        take(&mut server, 0, text, 10 + n as u128);
    }
    for (bits, operation) in [(20, acquire("a", 20, 1_000, 0)), (21, Operation::Cancel)] {
        let Response::Refused(refusal) = server.ask_about(999, "n", bits, operation) else {
            panic!("a fourth live key was let in");
        };
        assert_eq!(refusal.code, Code::Unavailable);
        assert_eq!(refusal.reason, "too-many-keys");
        assert!(refusal.retry_after.is_some());
    }
    // A key with waiters is alive though its holder's term is over.
    server.send(
        999,
        leasehold::protocol::Request {
            key: key("k"),
            op: op(30),
            operation: acquire("b", 30, 1_000, 60_000),
        },
    );
    assert_eq!(take(&mut server, 1_000, "n", 22), granted(22, 2, 1_000));
    assert!(server.store.keys.contains_key(&key("k")));
    assert!(!server.store.keys.contains_key(&key("l")));
}

#[test]
fn asking_about_keys_that_were_never_granted_takes_no_room() {
    let mut server = Server::new();
    for n in 0..100_u128 {
        let text = format!("key {n}");
        for operation in [
            Operation::Inspect,
            verify(n),
            renew(n, 1_000),
            release(n),
            transfer(by_lease(n), "b", n, 1_000),
        ] {
            server.ask_about(0, &text, 1_000 + n, operation);
        }
    }
    assert!(server.store.keys.is_empty());
    assert!(server.store.waiters.is_empty());
}

#[test]
fn an_idle_keys_record_is_bounded() {
    let mut server = held(1_000);
    for n in 0..1_000_u128 {
        server.ask(0, 10_000 + n, Operation::Cancel);
    }
    server.ask(0, 50, release(11));
    for n in 0..1_000_u128 {
        server.ask(0, 20_000 + n, acquire("a", 30_000 + n, 1_000, 0));
        server.ask(0, 40_000 + n, release(30_000 + n));
        server.ask(0, 50_000 + n, Operation::Revoke { fence: None });
        server.ask(0, 60_000 + n, release(30_000 + n));
    }
    let record = &server.store.keys[&key("k")];
    assert!(record.past.len() <= 16, "{}", record.past.len());
    assert_eq!(record.fence, fence(1_001));
}

#[test]
fn at_least_the_last_sixteen_ops_of_a_key_are_remembered_for_a_minute() {
    let mut server = Server::new();
    for n in 0..16_u128 {
        server.ask(0, 100 + n, Operation::Cancel);
    }
    for n in 0..16_u128 {
        let late = acquire("a", 11, 1_000, 0);
        assert_eq!(
            server.ask(59_999, 100 + n, late),
            Response::Cancelled,
            "{n}"
        );
    }
}

#[test]
fn what_was_remembered_for_a_minute_makes_room() {
    let mut server = Server::new();
    server.ask(0, 100, Operation::Cancel);
    server.ask(60_000, 101, Operation::Cancel);
    assert_eq!(server.store.keys[&key("k")].past.len(), 1);
}
