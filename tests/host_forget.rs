//! Fences rise with the time; keys that nobody uses vanish.

mod common;

use common::hosting::{Server, held, small};
use common::*;
use leasehold::fence::Fence;
use leasehold::host::{Floor, Host, HostConfig, HostInput, Snapshot};
use leasehold::protocol::{Ended, Operation, Response};

const DAY: u64 = 86_400_000;

/// A host that comes back by itself to forget.
fn sleeping(ttl_ms: u64) -> Server {
    let mut server = Server::with(HostConfig {
        wakes_to_forget: true,
        ..HostConfig::EMBEDDED
    });
    server.post(0, 1, acquire("a", 11, ttl_ms, 0));
    server
}

fn raw_fence(server: &mut Server, at: u64, bits: u128) -> u64 {
    match server.raw(at, bits, acquire("a", bits, 1_000, 0)) {
        Response::Granted(granted) => granted.fence.value(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_fence_is_the_hosts_time_in_microseconds_or_one_more_than_the_last() {
    let mut server = Server::new();
    assert_eq!(raw_fence(&mut server, 1_000, 1), 1_000_000);
    server.ask(1_000, 50, release(1));
    assert_eq!(raw_fence(&mut server, 1_000, 2), 1_000_001);
    let handed = server.raw(1_000, 51, transfer(by_lease(2), "b", 3, 1_000));
    assert!(matches!(handed, Response::Granted(granted) if granted.fence.value() == 1_000_002));
    assert_eq!(raw_fence(&mut server, 5_000, 4), 5_000_000);
}

#[test]
fn fences_rise_when_the_storage_is_lost_or_an_older_copy_comes_back() {
    let mut server = Server::new();
    let first = raw_fence(&mut server, 1_000, 1);
    let backup = server.store.clone();
    let second = raw_fence(&mut server, 100_000, 2);
    server.store = backup;
    server.restart(200_000);
    let third = raw_fence(&mut server, 200_000, 3);
    server.store = common::hosting::Store::default();
    server.restart(300_000);
    let fourth = raw_fence(&mut server, 300_000, 4);
    assert!(first < second && second < third && third < fourth);
}

#[test]
fn a_key_that_nobody_uses_vanishes_after_thirty_days() {
    let mut server = sleeping(10_000);
    server.ask(1_000, 50, release(11));
    server.run_until(30 * DAY - 1);
    assert_eq!(server.store.keys.len(), 1);
    server.run_until(30 * DAY + 1);
    assert!(server.store.keys.is_empty());
    assert!(server.host.is_empty());
    assert_eq!(server.alarm, None);
    // A late release or renewal is about a lease that is not known any more.
    assert_eq!(
        server.ask(31 * DAY, 51, release(11)),
        not_holder(Ended::Unknown)
    );
    assert!(server.store.keys.is_empty(), "and brings nothing back");
    assert!(raw_fence(&mut server, 31 * DAY, 2) > 30 * DAY * 1_000);
}

#[test]
fn what_is_in_use_does_not_vanish() {
    let mut server = sleeping(DAY);
    let end = 99 * (DAY - 1_000);
    for day in 1..100 {
        let now = day * (DAY - 1_000);
        server.run_until(now);
        assert_eq!(server.ask(now, 5, renew(11, DAY)), renewed(DAY));
    }
    assert_eq!(server.store.keys.len(), 1);
    // The fence is old, so the key goes as soon as it is free and nothing is remembered.
    server.ask(end, 50, release(11));
    server.run_until(end + 14_999);
    assert_eq!(server.store.keys.len(), 1);
    server.run_until(end + 15_000);
    assert!(server.store.keys.is_empty());
}

#[test]
fn an_op_that_was_cancelled_on_an_unknown_key_is_remembered_for_its_time_only() {
    let mut server = sleeping(100);
    server.ask(0, 50, release(11));
    server.ask_about(0, "l", 1, Operation::Cancel);
    server.run_until(14_999);
    assert_eq!(
        server.ask_about(14_999, "l", 1, acquire("a", 1, 1_000, 0)),
        Response::Cancelled
    );
    assert_eq!(server.store.keys.len(), 2);
    server.run_until(15_000);
    assert_eq!(server.store.keys.len(), 1, "the key that was granted stays");
}

#[test]
fn that_is_so_after_a_key_had_to_be_forgotten_early_too() {
    let mut server = Server::with(small()); // three keys, and one to spare
    for (n, text) in ["k", "l", "m", "n"].into_iter().enumerate() {
        let bits = 10 + n as u128;
        server.ask_about(n as u64, text, bits, acquire("a", bits, 1_000, 0));
        server.ask_about(n as u64, text, 50 + bits, release(bits));
    }
    assert!(server.store.floor.fence > Fence::NONE);
    server.ask_about(10, "o", 1, Operation::Cancel);
    server.restart(20);
    assert!(server.store.keys.contains_key(&key("o")));
    server.ask_about(15_010, "l", 2, Operation::Inspect);
    assert!(!server.store.keys.contains_key(&key("o")));
}

#[test]
fn a_host_whose_alarms_never_come_answers_as_one_whose_alarms_come() {
    let mut server = held(1_000);
    server.ask(40 * DAY, 2, Operation::Inspect);
    assert_eq!(server.look(40 * DAY), None);
    assert!(raw_fence(&mut server, 40 * DAY, 3) > 1);
}

#[test]
fn a_host_that_starts_far_in_the_future_does_not_wrap() {
    let snapshot = Snapshot {
        floor: Floor {
            fence: Fence::from_value(u64::MAX - 1),
            ..Floor::default()
        },
        ..Snapshot::default()
    };
    let mut host = Host::restore(HostConfig::EMBEDDED, snapshot, at(u64::MAX / 1_000));
    host.handle(at(u64::MAX / 1_000), HostInput::Tick);
    assert!(host.poll_output().is_none());
}

#[test]
fn a_host_that_does_not_come_back_for_that_forgets_with_the_next_input() {
    let mut server = held(1_000);
    server.ask(100, 50, release(11));
    assert_eq!(server.alarm, None);
    server.ask_about(31 * DAY, "l", 2, Operation::Inspect);
    assert!(server.store.keys.is_empty());
}
