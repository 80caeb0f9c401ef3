//! Everything that grows has a limit, and what is forgotten leaves its fence behind.

mod common;

use common::hosting::{Server, held, small};
use common::*;
use leasehold::host::{Host, HostConfig, HostInput, HostOutput, ReplyTo};
use leasehold::protocol::{Code, Operation, Request, Response};

fn take(server: &mut Server, at: u64, text: &str, bits: u128) -> Response {
    server.ask_about(at, text, bits, acquire("a", bits, 1_000, 0))
}

#[test]
fn a_key_forgotten_for_want_of_room_leaves_its_fence_in_the_floor() {
    let mut server = Server::with(small()); // three keys
    for n in 0..5 {
        take(&mut server, 0, "k", 10 + n);
        server.ask(0, 50 + n, release(10 + n));
    }
    take(&mut server, 10, "l", 20);
    take(&mut server, 20, "m", 21);
    // A fourth: "k" has been idle for longest. Its last fence was 5.
    take(&mut server, 30, "n", 22);
    assert!(!server.store.keys.contains_key(&key("k")));
    assert_eq!(server.store.floor.fence, fence(5));
}

#[test]
fn what_is_new_gets_only_offers_while_something_may_have_been_forgotten() {
    let mut server = Server::with(small());
    for (n, text) in ["k", "l", "m"].into_iter().enumerate() {
        take(&mut server, 0, text, 10 + n as u128);
    }
    server.ask(100, 50, release(10));
    // "k" has to go at 200, and what it remembered until 15 100 with it.
    let long = |bits| acquire("a", bits, 60_000, 0);
    assert_eq!(
        server.ask_about(200, "n", 20, long(20)),
        granted(20, 1, 3_000)
    );
    assert_eq!(
        server.ask_about(300, "n", 60, renew(20, 60_000)),
        renewed(60_000)
    );
    server.ask_about(400, "n", 61, release(20));
    // A host that is restored knows it as well, of this key and of all others. Now "l" has to go,
    // whose last op ended at 600.
    server.restart(500);
    server.ask_about(600, "l", 63, release(11));
    assert_eq!(
        server.ask_about(700, "o", 64, long(64)),
        granted(64, 1, 3_000)
    );
    assert_eq!(
        server.ask_about(15_599, "n", 21, long(21)),
        granted(21, 2, 3_000)
    );
    server.ask_about(15_599, "n", 62, release(21));
    assert_eq!(
        server.ask_about(15_600, "n", 22, long(22)),
        granted(22, 3, 60_000)
    );
}

#[test]
fn fences_rise_across_forgetting_whatever_the_order() {
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
    let Response::Refused(refusal) = take(&mut server, 999, "n", 20) else {
        panic!("a fourth live key was let in");
    };
    assert_eq!(refusal.code, Code::Unavailable);
    assert_eq!(refusal.reason, "too-many-keys");
    assert!(refusal.retry_after.is_some());
    // A key with waiters is alive though its holder's term is over.
    server.send(
        999,
        leasehold::protocol::Request {
            key: key("k"),
            op: op(30),
            operation: acquire("b", 30, 1_000, 60_000),
        },
    );
    assert_eq!(take(&mut server, 1_000, "n", 22), granted(22, 1, 1_000));
    assert!(server.store.keys.contains_key(&key("k")));
    assert!(!server.store.keys.contains_key(&key("l")));
}

#[test]
fn what_ends_something_is_served_by_a_full_host_too() {
    let mut server = Server::with(small()); // three keys, and one to spare
    for (n, text) in ["k", "l", "m"].into_iter().enumerate() {
        take(&mut server, 0, text, 10 + n as u128);
    }
    for round in 0..5_u128 {
        let text = format!("new {round}");
        let op = 100 + round;
        let cancelled = server.ask_about(1, &text, op, Operation::Cancel);
        assert_eq!(cancelled, Response::Cancelled);
        let revoked = server.ask_about(2, &text, 200 + round, Operation::Revoke { fence: None });
        assert_eq!(revoked, Response::Revoked(0));
        let late = server.ask_about(3, &text, op, acquire("a", op, 1_000, 0));
        assert_eq!(late, Response::Cancelled, "it was cancelled before it came");
        assert!(matches!(
            take(&mut server, 4, "other", 300 + round),
            Response::Refused(_)
        ));
        assert_eq!(server.store.keys.len(), 4);
    }
    for (bits, text) in [(10, "k"), (11, "l"), (12, "m")] {
        assert_eq!(
            server.ask_about(5, text, 400 + bits, release(bits)),
            Response::Released { about: None }
        );
    }
    let next = take(&mut server, 6, "other", 500);
    assert!(matches!(next, Response::Granted(_)), "{next:?}");
    assert_eq!(server.store.keys.len(), 3);
}

#[test]
fn a_full_host_does_not_look_at_all_its_keys_for_each_that_it_refuses() {
    const KEYS: u128 = 20_000;
    let mut host = Host::new(HostConfig {
        max_keys: KEYS as usize,
        ..HostConfig::EMBEDDED
    });
    let mut ask = |millis, text: &str, bits, operation| {
        let asked = Request {
            key: key(text),
            ..request(bits, operation)
        };
        host.handle(at(millis), HostInput::Request(ReplyTo(0), asked));
        let outputs = std::iter::from_fn(|| host.poll_output());
        let replies = outputs.filter_map(|output| match output {
            HostOutput::Reply(_, response) => Some(response),
            _ => None,
        });
        replies.last().expect("an answer at once")
    };
    for n in 0..KEYS {
        ask(0, &n.to_string(), n, acquire("a", n, 1_000, 0));
    }
    // Each is held on, though it might have been free by then.
    for n in 0..KEYS {
        ask(500, &n.to_string(), KEYS + n, renew(n, 60_000));
    }
    // To go through all of them each time would be 400 million steps.
    let begun = std::time::Instant::now();
    for n in 0..KEYS {
        let told = ask(2_000, "other", 2 * KEYS + n, acquire("a", 1, 1_000, 0));
        assert!(matches!(told, Response::Refused(_)), "{told:?}");
    }
    let spent = begun.elapsed();
    assert!(spent < std::time::Duration::from_secs(15), "{spent:?}");
}

#[test]
fn the_keys_of_one_scope_leave_room_for_those_of_the_others() {
    let config = HostConfig {
        max_keys: 48,
        ..small()
    };
    let mut server = Server::with(config);
    server
        .host
        .share_among(["orders:", "orders:eu:", "jobs:"].map(String::from));
    let mut bits = 0;
    let mut fill = |server: &mut Server, at: u64, prefix: &str| -> u32 {
        let mut granted = 0;
        for n in 0..60 {
            bits += 1;
            let text = format!("{prefix}{n}-{bits}");
            match take(server, at, &text, bits) {
                Response::Granted(_) => granted += 1,
                Response::Refused(refusal) => assert_eq!(refusal.reason, "too-many-keys"),
                other => panic!("{other:?}"),
            }
        }
        granted
    };
    // Of half of 48 each of four scopes has six; the other half is for whoever comes first.
    assert_eq!(fill(&mut server, 0, "orders:"), 30);
    assert_eq!(fill(&mut server, 1, "jobs:"), 6);
    assert_eq!(fill(&mut server, 2, "orders:eu:"), 6);
    assert_eq!(fill(&mut server, 3, "anything else"), 6);
    assert_eq!(fill(&mut server, 4, "orders:"), 0);
    // All have run out but the memory of them: the room is free again, whoever comes.
    assert_eq!(fill(&mut server, 2_000, "jobs:"), 30);
}

#[test]
fn a_scope_does_not_come_to_more_than_its_share_by_keys_it_had_before() {
    let config = HostConfig {
        max_keys: 40,
        ..small()
    };
    let mut server = Server::with(config);
    server.host.share_among(["orders:"].map(String::from));
    let text = |n: u128| format!("orders:{n}");
    for n in 0..40 {
        take(&mut server, 0, &text(n), 100 + n);
        server.ask_about(0, &text(n), 200 + n, release(100 + n));
    }
    // All are known and idle. Half of 40, and half of the other half, may come back to life.
    let granted = (0..40).filter(|n| {
        let answer = take(&mut server, 5_000, &text(*n), 300 + n);
        matches!(answer, Response::Granted(_))
    });
    assert_eq!(granted.count(), 30);
    let other = take(&mut server, 5_001, "jobs:1", 400);
    assert!(matches!(other, Response::Granted(_)), "{other:?}");
}

#[test]
fn without_scopes_the_whole_room_is_anybodys() {
    let mut server = Server::with(small());
    for (n, text) in ["k", "l", "m"].into_iter().enumerate() {
        let answer = take(&mut server, 0, text, 10 + n as u128);
        assert!(matches!(answer, Response::Granted(_)));
    }
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
    assert!(record.past.len() <= 64, "{}", record.past.len());
    assert_eq!(record.fence, fence(1_001));
}

#[test]
fn ops_are_remembered_for_fifteen_seconds_and_no_longer() {
    let mut server = Server::new();
    for n in 0..64_u128 {
        server.ask(0, 100 + n, Operation::Cancel);
    }
    let late = acquire("a", 11, 60_000, 0);
    for n in 0..64_u128 {
        let told = server.ask(14_999, 100 + n, late.clone());
        assert_eq!(told, Response::Cancelled, "{n}");
    }
    // A request that comes later is a new one.
    assert_eq!(server.ask(15_000, 100, late), granted(11, 1, 60_000));
}

#[test]
fn a_key_that_had_to_forget_younger_ops_grants_only_offers_meanwhile() {
    let mut server = Server::new();
    for n in 0..65_u64 {
        server.ask(n, 100 + u128::from(n), Operation::Cancel);
    }
    // The first, of t = 0, is forgotten: its duplicate could come until 15 000.
    let grant = |server: &mut Server, at: u64, bits: u128| {
        let told = server.ask(at, bits, acquire("a", bits, 60_000, 0));
        server.ask(at, 5_000 + bits, release(bits));
        told
    };
    server.restart(500);
    assert_eq!(grant(&mut server, 1_000, 100), granted(100, 1, 3_000));
    assert_eq!(grant(&mut server, 14_999, 11), granted(11, 2, 3_000));
    assert_eq!(grant(&mut server, 15_100, 12), granted(12, 3, 60_000));
}

#[test]
fn an_acquire_that_was_denied_stays_denied() {
    let mut server = held(10_000);
    assert_eq!(
        server.ask(100, 2, acquire("b", 12, 10_000, 0)),
        held_by("a", 9_900)
    );
    server.ask(200, 50, release(11));
    let Response::Held(held) = server.ask(300, 2, acquire("b", 12, 10_000, 0)) else {
        panic!("a denied op was granted");
    };
    assert_eq!((held.holder, held.retry_after), (None, ms(0)));
    assert_eq!(
        server.ask(15_100, 2, acquire("b", 12, 10_000, 0)),
        granted(12, 2, 10_000)
    );
}
