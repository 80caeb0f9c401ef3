//! One intention has one effect: repeated, late, doubled and cancelled operations.

mod common;

use common::hosting::{Server, contended, held};
use common::*;
use leasehold::json::Json;
use leasehold::protocol::{Acquire, Ended, Finish, Operation, Response};

#[test]
fn a_repeated_acquire_finds_its_own_grant_and_mints_no_second_fence() {
    let mut server = held(10_000);
    for at in [0, 1, 5_000] {
        let again = server.ask(at, 1, acquire("a", 11, 10_000, 0));
        assert_eq!(again, replayed(11, 1, 10_000 - at));
    }
    assert_eq!(server.ask(6_000, 2, release(11)), RELEASED);
    assert_eq!(
        server.ask(6_000, 3, acquire("b", 12, 10_000, 0)),
        granted(12, 2, 10_000)
    );
}

#[test]
fn an_acquire_that_extended_a_grant_has_nothing_left_once_that_has_ended() {
    let extending = Operation::Acquire(Acquire {
        extend: true,
        ..Acquire::new(name("a"), lease(11), ms(20_000), ms(0))
    });
    for restarts in [false, true] {
        let mut server = held(10_000);
        let told = server.ask(1_000, 2, extending.clone());
        assert_eq!(told, granted(11, 1, 20_000));
        let again = server.ask(2_000, 2, extending.clone());
        assert_eq!(again, replayed(11, 1, 19_000), "what is left");
        if restarts {
            server.restart(2_500);
        }
        server.ask(3_000, 50, release(11));
        let late = server.ask(4_000, 2, extending.clone());
        assert_eq!(late, replayed(11, 1, 0), "restarts: {restarts}");
        assert_eq!(server.look(4_000), None);
        assert_eq!(
            server.ask(4_000, 51, verify(11)),
            not_holder(Ended::Released)
        );
    }
}

#[test]
fn a_repeated_transfer_is_told_of_its_grant_though_the_successor_has_finished() {
    let mut server = held(10_000);
    let handed = transfer(by_lease(11), "d", 14, 5_000);
    assert_eq!(server.ask(100, 50, handed.clone()), granted(14, 2, 5_000));
    let finish = Operation::Finish(Finish {
        credential: by_lease(14),
        result: Json::parse("1").expect("JSON"),
        keep: ms(60_000),
    });
    server.ask(200, 51, finish);
    assert_eq!(server.ask(300, 50, handed), replayed(14, 2, 0));
}

#[test]
fn after_a_restart_what_may_have_been_denied_wins_no_more_than_an_offer() {
    let mut server = held(60_000);
    let loser = acquire("b", 12, 60_000, 0);
    assert_eq!(server.ask(100, 2, loser.clone()), held_by("a", 59_900));
    server.restart(200);
    server.ask(300, 50, release(11));
    assert_eq!(server.ask(400, 2, loser), granted(12, 2, 3_000));
    server.ask(500, 51, release(12));
    let later = acquire("c", 13, 60_000, 0);
    assert_eq!(server.ask(15_200, 3, later), granted(13, 3, 60_000));
}

#[test]
fn a_key_that_nobody_held_lately_is_granted_in_full_after_a_restart() {
    let mut server = held(10_000);
    server.ask(100, 50, release(11));
    server.restart(15_100);
    let next = acquire("b", 12, 60_000, 0);
    assert_eq!(server.ask(15_200, 2, next), granted(12, 2, 60_000));
}

#[test]
fn a_repeated_loser_stays_a_loser() {
    let mut server = held(10_000);
    let loser = acquire("b", 12, 10_000, 0);
    assert_eq!(server.ask(1, 2, loser.clone()), held_by("a", 9_999));
    assert_eq!(server.ask(2, 2, loser.clone()), held_by("a", 9_998));
    server.post(3, 3, release(11));
    // Even when the key has fallen free since: the op has had its outcome.
    let Response::Held(held) = server.ask(4, 2, loser) else {
        panic!("one op had two outcomes");
    };
    assert_eq!(held.holder, None);
    assert_eq!(server.look(4), None);
}

#[test]
fn a_repeated_acquire_of_an_ended_grant_has_nothing_left() {
    let ends: [(u64, u128, Operation); 4] = [
        (500, 50, release(11)),
        (500, 50, Operation::Revoke { fence: None }),
        (500, 50, transfer(by_lease(11), "d", 14, 100)),
        (20_000, 50, Operation::Inspect), // expired
    ];
    for (end, bits, operation) in ends {
        let mut server = held(10_000);
        server.ask(end, bits, operation.clone());
        assert_eq!(
            server.ask(end + 200, 1, acquire("a", 11, 10_000, 0)),
            replayed(11, 1, 0),
            "{operation:?}"
        );
        assert_eq!(server.look(end + 200), None, "{operation:?}");
    }
}

#[test]
fn a_cancel_takes_back_a_grant_whose_answer_was_lost() {
    let mut server = held(10_000);
    assert_eq!(server.ask(900, 1, Operation::Cancel), Response::Cancelled);
    assert_eq!(
        server.ask(900, 2, acquire("b", 12, 1_000, 0)),
        granted(12, 2, 1_000)
    );
}

#[test]
fn a_tombstone_stops_an_acquire_that_comes_after_its_cancel() {
    let mut server = Server::new();
    assert_eq!(server.ask(0, 1, Operation::Cancel), Response::Cancelled);
    for (at, wait) in [(1, 0), (2, 60_000)] {
        let late = acquire("a", 11, 10_000, wait);
        assert_eq!(server.ask(at, 1, late), Response::Cancelled);
    }
    assert_eq!(server.look(3), None);
    // It is in storage: a restart does not raise the dead.
    server.restart(4);
    assert_eq!(
        server.ask(5, 1, acquire("a", 11, 10_000, 0)),
        Response::Cancelled
    );
    // It stands in nobody else's way.
    assert_eq!(
        server.ask(6, 2, acquire("b", 12, 10_000, 0)),
        granted(12, 1, 10_000)
    );
}

#[test]
fn a_tombstone_stops_a_transfer_that_comes_after_its_cancel() {
    let mut server = held(10_000);
    server.post(1, 50, Operation::Cancel);
    let late = transfer(by_lease(11), "d", 14, 5_000);
    assert_eq!(server.ask(2, 50, late), Response::Cancelled);
    assert_eq!(server.ask(3, 51, verify(11)), renewed(9_997));
}

#[test]
fn a_cancel_touches_no_other_op() {
    let (mut server, waiter) = contended(10_000);
    server.ask(500, 77, Operation::Cancel);
    assert_eq!(server.look(500), Some(("a".to_string(), 1, 9_500, 1)));
    server.ask(600, 2, Operation::Cancel);
    assert_eq!(server.reply(waiter), Some(Response::Cancelled));
    assert_eq!(server.look(600), Some(("a".to_string(), 1, 9_400, 0)));
}

#[test]
fn cancelling_an_acquire_whose_lease_has_moved_on_leaves_the_successor_alone() {
    let mut server = held(10_000);
    server.ask(100, 50, transfer(by_lease(11), "d", 14, 5_000));
    assert_eq!(server.ask(200, 1, Operation::Cancel), Response::Cancelled);
    assert_eq!(server.look(200), Some(("d".to_string(), 2, 4_900, 0)));
}

#[test]
fn cancelling_a_transfer_takes_the_successors_grant_back() {
    let mut server = held(10_000);
    server.ask(100, 50, transfer(by_lease(11), "d", 14, 5_000));
    assert_eq!(server.ask(200, 50, Operation::Cancel), Response::Cancelled);
    assert_eq!(server.look(200), None);
}

#[test]
fn a_cancelled_op_gets_nothing_even_if_it_was_used_for_two_things() {
    // One op both waits for the key and has transferred it: no client of ours does that.
    let mut server = held(10_000);
    let waits = server.post(1, 5, acquire("b", 15, 10_000, 5_000));
    server.ask(2, 5, transfer(by_lease(11), "c", 16, 10_000));
    assert_eq!(server.ask(3, 5, Operation::Cancel), Response::Cancelled);
    assert_eq!(server.reply(waits), Some(Response::Cancelled));
    assert_eq!(server.look(3), None);
}

#[test]
fn a_repeated_release_is_told_released_again_and_frees_nobody_elses_grant() {
    let mut server = held(10_000);
    assert_eq!(server.ask(100, 50, release(11)), RELEASED);
    assert_eq!(
        server.ask(110, 2, acquire("b", 12, 10_000, 0)),
        granted(12, 2, 10_000)
    );
    assert_eq!(server.ask(120, 50, release(11)), RELEASED);
    // Another release of the same lease is another op: there is nothing to give back.
    assert_eq!(
        server.ask(130, 51, release(11)),
        not_holder(Ended::Released)
    );
    assert_eq!(server.look(130), Some(("b".to_string(), 2, 9_980, 0)));
}

/// Every operation that ends a grant, of this fence where it names one: repeated once the same
/// holder, or anybody, holds again, it must not end that grant, too.
fn ending_operations(fence: u64) -> [Operation; 3] {
    [
        Operation::Revoke { fence: None },
        of(fence, release(11)),
        of(fence, transfer(by_lease(11), "d", 14, 100)),
    ]
}

#[test]
fn a_repetition_spares_the_grant_that_came_after() {
    for operation in ending_operations(1) {
        let mut server = held(10_000);
        let first = server.ask(100, 50, operation.clone());
        // What a transfer gave has expired by then.
        assert_eq!(server.ask(1_000, 60, Operation::Inspect), free());
        let later = server.ask(1_000, 2, acquire("a", 21, 10_000, 0));
        assert!(matches!(later, Response::Granted(_)));
        for at in 1_001..1_005 {
            let again = server.ask(at, 50, operation.clone());
            assert_eq!(
                matches!(again, Response::NotHolder { .. }),
                matches!(first, Response::NotHolder { .. }),
                "{operation:?}: {first:?}, then {again:?}"
            );
            assert_eq!(
                server.ask(at, 61, verify(21)),
                renewed(11_000 - at),
                "{operation:?}"
            );
        }
        server.restart(1_005);
        server.ask(1_006, 50, operation.clone());
        assert_eq!(
            server.ask(1_006, 61, verify(21)),
            renewed(9_994),
            "{operation:?}, restarted"
        );
    }
}

#[test]
fn what_found_nothing_to_end_ends_nothing_when_it_comes_again() {
    for operation in ending_operations(99) {
        for known in [false, true] {
            let mut server = Server::new();
            if known {
                server.ask(0, 90, acquire("z", 90, 10_000, 0));
                server.ask(0, 91, release(90));
            }
            let first = server.ask(100, 50, operation.clone());
            server.ask(200, 1, acquire("a", 11, 10_000, 0));
            for at in [300, 400] {
                let again = server.ask(at, 50, operation.clone());
                assert_eq!(again, first, "{operation:?}, key known: {known}");
            }
            assert_eq!(
                server.ask(400, 61, verify(11)),
                renewed(9_800),
                "{operation:?}"
            );
        }
    }
}

#[test]
fn a_repeated_renewal_or_verification_does_no_harm() {
    let mut server = held(10_000);
    for at in [100, 200, 300] {
        assert_eq!(server.ask(at, 50, renew(11, 10_000)), renewed(10_000));
        assert_eq!(server.ask(at, 51, verify(11)), renewed(10_000));
    }
    server.ask(400, 52, release(11));
    for at in [500, 600] {
        assert_eq!(
            server.ask(at, 50, renew(11, 10_000)),
            not_holder(Ended::Released)
        );
        assert_eq!(server.look(at), None);
    }
}

#[test]
fn every_op_sent_one_to_five_times_has_the_effect_of_one() {
    // The story of a key: each step's op is sent `times` times in a row, and all earlier ops
    // once more in between. The key's state after each step is that of the story told once.
    let story: [(u128, Operation); 7] = [
        (1, acquire("a", 11, 10_000, 0)),
        (2, renew(11, 20_000)),
        (3, transfer(by_lease(11), "b", 12, 20_000)),
        (4, acquire("c", 13, 20_000, 0)),
        (5, release(12)),
        (6, acquire("c", 14, 20_000, 0)),
        (7, Operation::Cancel),
    ];
    let tell = |times: usize, echo: bool| {
        let mut server = Server::new();
        let mut states = Vec::new();
        for (step, (bits, operation)) in story.iter().enumerate() {
            for _ in 0..times {
                server.ask(100, *bits, operation.clone());
            }
            if echo {
                for (bits, operation) in &story[..step] {
                    server.ask(100, *bits, operation.clone());
                }
            }
            states.push(server.look(100));
        }
        states
    };
    let once = tell(1, false);
    for times in 1..=5 {
        for echo in [false, true] {
            assert_eq!(tell(times, echo), once, "{times} times, echo: {echo}");
        }
    }
}

#[test]
fn a_claim_by_another_name_for_the_same_lease_is_one_too_many() {
    let mut server = held(10_000);
    let claim = |bits| transfer(by_lease(11), "c", bits, 10_000);
    assert_eq!(server.ask(100, 50, claim(21)), granted(21, 2, 10_000));
    assert_eq!(
        server.ask(100, 51, claim(22)),
        not_holder(Ended::Transferred)
    );
    // The winner may ask again, the loser too: nothing changes.
    assert_eq!(server.ask(200, 50, claim(21)), replayed(21, 2, 9_900));
    assert_eq!(
        server.ask(200, 51, claim(22)),
        not_holder(Ended::Transferred)
    );
}
