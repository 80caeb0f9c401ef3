//! Many holders of one key: each puts up with so many, itself included.

mod common;

use common::hosting::{Server, held};
use common::*;
use leasehold::host::HostConfig;
use leasehold::protocol::{Acquire, Ended, KeyState, Limit, Operation, Response};

fn limited(holder: &str, bits: u128, limit: u64, wait: u64) -> Operation {
    let Operation::Acquire(acquire) = acquire(holder, bits, 10_000, wait) else {
        unreachable!("an acquire");
    };
    Operation::Acquire(Acquire {
        limit: Limit::parse(limit).expect("a limit"),
        ..acquire
    })
}

fn state(server: &mut Server, at: u64) -> KeyState {
    match server.raw(at, 999, Operation::Inspect) {
        Response::State(state) => state,
        other => panic!("{other:?}"),
    }
}

fn slots(server: &mut Server, at: u64) -> Vec<(String, u32)> {
    let holders = state(server, at).holders.into_iter();
    holders
        .map(|holder| (holder.holder.as_str().to_string(), holder.slot))
        .collect()
}

fn slot(response: &Response) -> Option<u32> {
    match response {
        Response::Granted(granted) => Some(granted.slot),
        _ => None,
    }
}

#[test]
fn each_is_let_in_only_if_all_put_up_with_it() {
    // Limits of those who hold, the limit of who asks, whether it is let in.
    let table: [(&[u64], u64, bool); 12] = [
        (&[], 1, true),
        (&[1], 1, false),
        (&[1], 1_024, false),
        (&[2], 1, false),
        (&[2], 2, true),
        (&[2, 2], 3, false),
        (&[3, 3], 2, false),
        (&[3, 3], 3, true),
        (&[1_024, 1_024], 1_024, true),
        (&[1_024, 1_024], 1, false),
        (&[5, 3], 5, true),
        (&[5, 3, 5], 5, false),
    ];
    for (holders, limit, let_in) in table {
        let mut server = Server::new();
        for (n, holder) in (10..).zip(holders) {
            let answer = server.ask(0, n, limited("h", n, *holder, 0));
            assert!(matches!(answer, Response::Granted(_)), "{holders:?}");
        }
        let answer = server.ask(1, 90, limited("x", 90, limit, 0));
        let granted = matches!(answer, Response::Granted(_));
        assert_eq!(granted, let_in, "{limit} beside {holders:?}");
    }
}

#[test]
fn a_grant_takes_the_lowest_slot_that_is_free_and_keeps_it() {
    let mut server = Server::new();
    for n in 0..4 {
        let answer = server.ask(0, 10 + n, limited("h", 10 + n, 9, 0));
        assert_eq!(slot(&answer), Some(n as u32));
    }
    server.ask(1, 50, release(11));
    server.ask(1, 51, release(10));
    assert_eq!(slot(&server.ask(2, 20, limited("i", 20, 9, 0))), Some(0));
    // A hand-over keeps the place, and the limit.
    let handed = server.ask(3, 60, transfer(by_lease(12), "j", 60, 10_000));
    assert_eq!(slot(&handed), Some(2));
    server.restart(4);
    assert_eq!(slot(&server.ask(5, 21, limited("k", 21, 9, 0))), Some(1));
    let expected = [("i", 0), ("k", 1), ("j", 2), ("h", 3)];
    assert_eq!(
        slots(&mut server, 6),
        expected.map(|(name, slot)| (name.to_string(), slot))
    );
    assert_eq!(state(&mut server, 6).holders[2].limit, 9);
}

#[test]
fn fences_rise_over_all_slots() {
    let mut server = Server::new();
    let mut last = 0;
    for n in 0..10_u64 {
        let bits = 10 + u128::from(n);
        let Response::Granted(granted) = server.raw(n, bits, limited("h", bits, 3, 0)) else {
            continue;
        };
        assert!(granted.fence.value() > last);
        last = granted.fence.value();
    }
    assert_eq!(slots(&mut server, 20).len(), 3);
}

#[test]
fn a_contender_learns_when_it_can_be_let_in_at_the_earliest() {
    let mut server = Server::new();
    for (n, ttl) in [(10, 5_000), (11, 9_000), (12, 7_000)] {
        let Operation::Acquire(acquire) = limited("h", n, 4, 0) else {
            unreachable!("an acquire");
        };
        let acquire = Acquire {
            ttl: ms(ttl),
            ..acquire
        };
        server.ask(0, n, Operation::Acquire(acquire));
    }
    let retry = |server: &mut Server, bits: u128, limit: u64| match server.ask(
        1_000,
        bits,
        limited("x", bits, limit, 0),
    ) {
        Response::Held(held) => Some(held.retry_after.as_millis_ceil()),
        _ => None,
    };
    // Beside one other: two have to go, at 5 s and 7 s. Beside nobody: all, the last at 9 s.
    assert_eq!(retry(&mut server, 90, 3), Some(4_000));
    assert_eq!(retry(&mut server, 91, 2), Some(6_000));
    assert_eq!(retry(&mut server, 92, 1), Some(8_000));
    assert_eq!(retry(&mut server, 93, 4), None, "there is room");
}

#[test]
fn nobody_passes_a_head_that_does_not_fit_yet() {
    let mut server = Server::new();
    server.ask(0, 10, limited("reader", 10, 1_024, 0));
    let writer = server.post(1, 11, limited("writer", 11, 1, 60_000));
    let late = server.post(2, 12, limited("reader", 12, 1_024, 60_000));
    assert_eq!(server.reply(late), None, "a writer waits before it");
    let refused = server.ask(3, 13, limited("reader", 13, 1_024, 0));
    assert!(matches!(refused, Response::Held(_)));
    server.ask(4, 50, release(10));
    assert!(matches!(server.reply(writer), Some(Response::Granted(_))));
    assert_eq!(server.reply(late), None);
    server.ask(5, 51, release(11));
    assert!(matches!(server.reply(late), Some(Response::Granted(_))));
}

#[test]
fn all_who_fit_are_let_in_together() {
    let mut server = held(10_000);
    let readers: Vec<_> = (0..5)
        .map(|n| server.post(1, 20 + n, limited("r", 20 + n, 3, 60_000)))
        .collect();
    server.ask(2, 50, release(11));
    let granted = readers.iter().filter(|to| server.reply(**to).is_some());
    assert_eq!(granted.count(), 3);
    assert_eq!(slots(&mut server, 3).len(), 3);
    assert_eq!(state(&mut server, 3).waiters, 2);
}

#[test]
fn holders_hear_how_many_want_the_key() {
    let mut server = held(10_000);
    let waiter = server.post(1, 20, acquire("b", 20, 10_000, 60_000));
    server.post(1, 21, acquire("c", 21, 10_000, 60_000));
    let wanted = |response| match response {
        Response::Renewed { wanted, .. } => wanted,
        other => panic!("{other:?}"),
    };
    assert_eq!(wanted(server.raw(2, 50, renew(11, 10_000))), 2);
    assert_eq!(wanted(server.raw(2, 51, verify(11))), 2);
    // One that is known to be gone wants nothing.
    server.input(3, leasehold::host::HostInput::Gone(waiter));
    assert_eq!(wanted(server.raw(4, 52, renew(11, 10_000))), 1);
    let Response::Held(told) = server.raw(5, 53, acquire("d", 53, 10_000, 0)) else {
        panic!("it is held");
    };
    assert_eq!(told.waiters, 2, "both have their places");
    assert_eq!(told.fence.map(|fence| fence.value()), Some(1));
}

#[test]
fn a_thief_gets_the_key_before_all_who_wait_and_they_keep_their_places() {
    let mut server = Server::new();
    for n in [10, 11] {
        server.ask(0, n, limited("reader", n, 5, 0));
    }
    let first = server.post(1, 20, limited("writer", 20, 1, 60_000));
    let Operation::Acquire(acquire) = limited("thief", 30, 1, 0) else {
        unreachable!("an acquire");
    };
    let steal = Operation::Acquire(Acquire {
        steal: true,
        ..acquire
    });
    let stolen = server.ask(2, 30, steal.clone());
    assert_eq!(stolen, granted(30, 3, 10_000));
    assert_eq!(server.ask(3, 30, steal), replayed(30, 3, 9_999), "once");
    for lease in [10, 11] {
        let told = server.ask(4, 40 + lease, verify(lease));
        assert_eq!(told, not_holder(Ended::Revoked));
    }
    assert_eq!(server.reply(first), None);
    server.ask(5, 50, release(30));
    assert!(matches!(server.reply(first), Some(Response::Granted(_))));
}

#[test]
fn an_acquire_that_proposes_a_running_grants_id_extends_it_only_if_it_says_so() {
    let again = |bits: u128, extend: bool| {
        let Operation::Acquire(plain) = acquire("a", 11, 20_000, 0) else {
            unreachable!("an acquire");
        };
        (bits, Operation::Acquire(Acquire { extend, ..plain }))
    };
    let mut server = held(10_000);
    let (bits, operation) = again(2, false);
    assert_eq!(server.ask(1_000, bits, operation), held_by("a", 9_000));
    let (bits, operation) = again(3, true);
    assert_eq!(server.ask(1_000, bits, operation), granted(11, 1, 20_000));
    assert_eq!(server.look(1_000), Some(("a".to_string(), 1, 20_000, 0)));
    // It never shortens, and cancelling it ends nothing.
    let (bits, operation) = again(4, true);
    assert_eq!(server.ask(2_000, bits, operation), granted(11, 1, 20_000));
    server.ask(2_000, 3, Operation::Cancel);
    assert_eq!(server.look(2_000), Some(("a".to_string(), 1, 20_000, 0)));
    // With room for more it is still the same lease.
    let mut server = Server::new();
    server.ask(0, 1, limited("a", 11, 5, 0));
    assert!(matches!(
        server.ask(1, 2, limited("a", 11, 5, 0)),
        Response::Held(_)
    ));
    assert_eq!(slots(&mut server, 2).len(), 1);
}

#[test]
fn a_revocation_can_be_for_one_grant_alone() {
    let mut server = Server::new();
    for n in [10, 11, 12] {
        server.ask(0, n, limited("h", n, 5, 0));
    }
    let revoke = |value| Operation::Revoke {
        fence: Some(fence(value)),
    };
    assert_eq!(server.ask(1, 50, revoke(2)), Response::Revoked(1));
    assert_eq!(
        server.ask(2, 50, revoke(2)),
        Response::Revoked(1),
        "by the same op"
    );
    assert_eq!(server.ask(3, 51, revoke(2)), Response::Revoked(0));
    assert_eq!(slots(&mut server, 4).len(), 2);
    assert_eq!(
        server.ask(5, 52, Operation::Revoke { fence: None }),
        Response::Revoked(2)
    );
    assert_eq!(
        server.ask(6, 52, Operation::Revoke { fence: None }),
        Response::Revoked(2)
    );
    assert_eq!(slots(&mut server, 7), []);
}

#[test]
fn every_slot_is_stored_and_restored() {
    let mut server = Server::with(HostConfig::DURABLE_OBJECT);
    for n in 0..100_u128 {
        server.ask(0, 100 + n, limited(&format!("h{n}"), 100 + n, 1_024, 0));
    }
    for n in (0..100_u128).step_by(3) {
        server.ask(1, 500 + n, release(100 + n));
    }
    let before = state(&mut server, 2);
    server.restart(2);
    assert_eq!(state(&mut server, 2), before);
    assert_eq!(server.store.grants.len(), 66);
    for n in (1..100_u128).filter(|n| n % 3 > 0) {
        assert_eq!(server.ask(3, 700 + n, release(100 + n)), RELEASED);
    }
    assert!(server.store.grants.is_empty());
}
