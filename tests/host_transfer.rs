//! Handing over: one step, a new fence, a dead old id, and exactly one successor.

mod common;

use common::hosting::{Server, contended, held};
use common::*;
use leasehold::host::HostConfig;
use leasehold::protocol::{Code, Ended, Operation, Response};

#[test]
fn the_old_credential_is_dead_for_every_operation() {
    let mut server = held(10_000);
    let handed = transfer(by_lease(11), "b", 12, 5_000);
    assert_eq!(server.ask(100, 50, handed), granted(12, 2, 5_000));
    let dead = not_holder(Ended::Transferred);
    assert_eq!(server.ask(101, 51, renew(11, 20_000)), dead);
    assert_eq!(server.ask(102, 52, verify(11)), dead);
    assert_eq!(server.ask(103, 53, release(11)), dead);
    assert_eq!(
        server.ask(104, 54, transfer(by_lease(11), "c", 13, 5_000)),
        dead
    );
    assert_eq!(server.look(105), Some(("b".to_string(), 2, 4_995, 0)));
    assert_eq!(server.ask(106, 55, renew(12, 10_000)), renewed(10_000));
    assert_eq!(server.ask(107, 56, release(12)), RELEASED);
}

#[test]
fn the_key_is_never_free_in_between() {
    let (mut server, waiter) = contended(10_000);
    server.ask(500, 50, transfer(by_lease(11), "d", 14, 2_000));
    assert_eq!(server.reply(waiter), None, "the waiter goes on waiting");
    assert_eq!(
        server.ask(500, 3, acquire("c", 13, 100, 0)),
        held_by("d", 2_000)
    );
    server.run_until(2_500);
    assert_eq!(
        server.reply(waiter),
        Some(granted_after(12, 3, 3_000, 2_490))
    );
}

#[test]
fn of_two_that_claim_exactly_one_wins() {
    for order in [[21, 22], [22, 21]] {
        let mut server = held(10_000);
        let answers = order.map(|bits| {
            let claim = transfer(by_lease(11), "c", bits, 10_000);
            server.ask(100, bits, claim)
        });
        assert_eq!(answers[0], granted(order[0], 2, 10_000));
        assert_eq!(answers[1], not_holder(Ended::Transferred));
    }
}

#[test]
fn a_successor_may_get_a_shorter_or_longer_term_with_its_own_margin() {
    // Told: less min(1 s, ttl / 20).
    for (ttl, told) in [(1_000, 950), (60_000, 59_000)] {
        let mut server = Server::with(HostConfig::DURABLE_OBJECT);
        server.ask(0, 1, acquire("a", 11, 10_000, 0));
        let handed = transfer(by_lease(11), "b", 12, ttl);
        assert_eq!(server.ask(100, 50, handed), granted(12, 2, told));
        assert_eq!(server.look(100), Some(("b".to_string(), 2, ttl, 0)));
    }
}

#[test]
fn a_chain_of_transfers_raises_the_fence_each_time_and_leaves_one_holder() {
    let mut server = held(10_000);
    for n in 1..100_u128 {
        let handed = transfer(by_lease(10 + n), "a", 11 + n, 10_000);
        let fence = 1 + u64::try_from(n).expect("small");
        assert_eq!(
            server.ask(0, 100 + n, handed),
            granted(11 + n, fence, 10_000)
        );
    }
    assert_eq!(server.look(0), Some(("a".to_string(), 100, 10_000, 0)));
    assert_eq!(server.ask(0, 999, verify(110)), renewed(10_000));
}

#[test]
fn a_transfer_survives_a_restart_on_either_side() {
    let mut server = held(10_000);
    server.restart(50);
    assert_eq!(
        server.ask(100, 50, transfer(by_lease(11), "b", 12, 5_000)),
        granted(12, 2, 5_000)
    );
    server.restart(150);
    assert_eq!(
        server.ask(200, 50, transfer(by_lease(11), "b", 12, 5_000)),
        replayed(12, 2, 4_900)
    );
    assert_eq!(
        server.ask(200, 51, verify(11)),
        not_holder(Ended::Transferred)
    );
}

/// A host whose key `"k"` has been granted 2^64 − 1 times, the last time to `"a"` with lease 11.
fn exhausted() -> Server {
    let mut server = held(10_000);
    for record in server.store.keys.values_mut() {
        record.fence = fence(u64::MAX);
    }
    server.restart(0);
    server
}

#[test]
fn when_the_fences_are_used_up_nothing_is_granted_and_nothing_is_lost() {
    let refused = |response: Response| {
        assert!(
            matches!(&response, Response::Refused(refusal)
                if refusal.code == Code::Unavailable && refusal.reason == "fences-exhausted"),
            "{response:?}"
        );
    };
    let mut server = exhausted();
    refused(server.ask(100, 50, transfer(by_lease(11), "b", 12, 5_000)));
    assert_eq!(
        server.look(100),
        Some(("a".to_string(), 1, 9_900, 0)),
        "a refused transfer leaves the lease with its holder"
    );
    let waiter = server.post(100, 2, acquire("b", 12, 5_000, 60_000));
    server.ask(200, 51, release(11));
    refused(server.reply(waiter).expect("waiting is of no use"));
    refused(server.ask(300, 3, acquire("c", 13, 5_000, 0)));
    assert_eq!(server.ask(300, 4, Operation::Inspect), free());
}
