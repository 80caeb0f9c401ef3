//! What a host answers: every state of a key × every operation, and what stays true of its grants.

mod common;

use common::hosting::{Server, contended, held};
use common::*;
use leasehold::host::{HostConfig, HostInput};
use leasehold::protocol::{Credential, Ended, MAX_TTL, Operation, Response};
use leasehold::time::Span;

/// The states a key can be in, each at t = 1000. Op 1 and lease 11 are those of `"a"`.
fn states() -> Vec<(&'static str, Server)> {
    let mut released = held(10_000);
    released.post(500, 90, release(11));
    let (queued, _) = contended(10_000);
    let (mut offered, _) = contended(10_000);
    offered.post(500, 90, release(11));
    vec![
        ("never seen", Server::new()),
        ("free with a fence", released),
        ("held", held(10_000)),
        ("held, expired", held(500)),
        ("held, queued behind", queued),
        ("offered to a waiter", offered),
    ]
}

/// Asks each state the same; the rows are in the order of [`states`].
fn table(operation: &Operation, expected: [Response; 6]) {
    for ((state, mut server), expected) in states().into_iter().zip(expected) {
        assert_eq!(
            server.ask(1_000, 50, operation.clone()),
            expected,
            "{operation:?} when {state}"
        );
    }
}

#[test]
fn an_acquire_gets_a_free_key_and_only_that() {
    table(
        &acquire("c", 13, 5_000, 0),
        [
            granted(13, 1, 5_000),
            granted(13, 2, 5_000),
            held_by("a", 9_000), // 10 000 − 1000
            granted(13, 2, 5_000),
            held_by("a", 9_000),
            held_by("b", 2_500), // offered for 3000 at 500
        ],
    );
}

#[test]
fn an_inspect_tells_who_holds() {
    table(
        &Operation::Inspect,
        [
            free(),
            free(),
            info("a", 1, 9_000, 0),
            free(),
            info("a", 1, 9_000, 1),
            info("b", 2, 2_500, 0),
        ],
    );
}

/// What an operation of lease 11 gets where the lease is not the running one.
const NOT_11: [Ended; 6] = [
    Ended::Unknown,
    Ended::Released,
    Ended::Unknown, // held: not used
    Ended::Expired,
    Ended::Unknown, // held: not used
    Ended::Released,
];

/// A row of the table for lease 11: `yes` where it is the running lease.
fn for_lease_11(yes: &Response) -> [Response; 6] {
    core::array::from_fn(|state| match state {
        2 | 4 => yes.clone(),
        _ => not_holder(NOT_11[state]),
    })
}

#[test]
fn a_release_needs_the_running_lease() {
    table(&release(11), for_lease_11(&RELEASED));
}

#[test]
fn a_renewal_needs_the_running_lease_and_never_shortens_it() {
    table(&renew(11, 5_000), for_lease_11(&renewed(9_000)));
    table(&renew(11, 20_000), for_lease_11(&renewed(20_000)));
}

#[test]
fn a_verification_needs_the_running_lease_and_changes_nothing() {
    table(&verify(11), for_lease_11(&renewed(9_000)));
}

#[test]
fn a_transfer_needs_the_running_lease() {
    table(
        &transfer(by_lease(11), "d", 14, 5_000),
        for_lease_11(&granted(14, 2, 5_000)),
    );
}

#[test]
fn a_revoke_ends_whatever_runs() {
    let [no, yes] = [0, 1].map(Response::Revoked);
    table(
        &Operation::Revoke { fence: None },
        [no.clone(), no.clone(), yes.clone(), no, yes.clone(), yes],
    );
}

#[test]
fn a_cancel_is_always_through() {
    table(
        &Operation::Cancel,
        core::array::from_fn(|_| Response::Cancelled),
    );
}

#[test]
fn what_an_operation_leaves_behind() {
    let a = Some(("a".to_string(), 1, 9_000, 0));
    let b = |remaining| Some(("b".to_string(), 2, remaining, 0));
    let nobody = None::<(String, u64, u64, u32)>;
    // Of a held key without waiters, and of one with the waiter "b", who gets an offer of 3 s.
    let cases = [
        (release(11), nobody.clone(), b(3_000)),
        (Operation::Revoke { fence: None }, nobody, b(3_000)),
        (
            transfer(by_lease(11), "d", 14, 5_000),
            Some(("d".to_string(), 2, 5_000, 0)),
            Some(("d".to_string(), 2, 5_000, 1)),
        ),
        (verify(11), a.clone(), Some(("a".to_string(), 1, 9_000, 1))),
        (
            renew(11, 20_000),
            Some(("a".to_string(), 1, 20_000, 0)),
            Some(("a".to_string(), 1, 20_000, 1)),
        ),
        (release(99), a, Some(("a".to_string(), 1, 9_000, 1))),
    ];
    for (operation, alone, contended_for) in cases {
        let mut server = held(10_000);
        server.ask(1_000, 50, operation.clone());
        assert_eq!(server.look(1_000), alone, "{operation:?}");
        let (mut server, _) = contended(10_000);
        server.ask(1_000, 50, operation.clone());
        assert_eq!(
            server.look(1_000),
            contended_for,
            "{operation:?}, contended"
        );
    }
}

#[test]
fn k7_key_and_fence_open_nothing_without_the_lease_id() {
    for wrong in [0, 1, 12, u128::MAX] {
        let mut server = held(10_000);
        let unknown = not_holder(Ended::Unknown);
        assert_eq!(server.ask(1, 50, release(wrong)), unknown);
        assert_eq!(server.ask(1, 51, renew(wrong, 20_000)), unknown);
        assert_eq!(server.ask(1, 52, verify(wrong)), unknown);
        let stolen = transfer(by_lease(wrong), "x", 99, 20_000);
        assert_eq!(server.ask(1, 53, stolen), unknown);
        assert_eq!(server.look(1), Some(("a".to_string(), 1, 9_999, 0)));
    }
}

#[test]
fn an_answer_names_the_fence_that_was_asked_about() {
    let about = |fence_value| Credential {
        fence: Some(fence(fence_value)),
        ..by_lease(11)
    };
    let mine = Some(fence(1));
    let renewed = |ttl| Response::Renewed {
        wanted: 0,
        about: mine,
        ttl: ms(ttl),
    };
    let mut server = held(10_000);
    assert_eq!(
        server.ask(0, 50, Operation::Verify(about(1))),
        renewed(10_000)
    );
    let renew = Operation::Renew {
        credential: about(1),
        ttl: ms(30_000),
    };
    assert_eq!(server.ask(0, 51, renew), renewed(30_000));
    let release = Operation::Release(about(1));
    let released = Response::Released { about: mine };
    assert_eq!(server.ask(0, 52, release.clone()), released);
    assert_eq!(server.ask(0, 52, release), released);
    let gone = Response::NotHolder {
        present: None,
        about: mine,
        ended: Ended::Released,
    };
    assert_eq!(server.ask(0, 53, Operation::Verify(about(1))), gone);
}

#[test]
fn an_id_with_another_grants_fence_opens_nothing() {
    for other in [0, 2, u64::MAX] {
        let credential = Credential {
            fence: Some(fence(other)),
            ..by_lease(11)
        };
        let operations = [
            Operation::Release(credential),
            Operation::Renew {
                credential,
                ttl: ms(20_000),
            },
            Operation::Verify(credential),
            transfer(credential, "x", 99, 20_000),
        ];
        for (op, operation) in (50..).zip(operations) {
            let mut server = held(10_000);
            let refused = Response::NotHolder {
                present: None,
                about: Some(fence(other)),
                ended: Ended::Unknown,
            };
            assert_eq!(
                server.ask(1, op, operation.clone()),
                refused,
                "{operation:?}"
            );
            assert_eq!(server.look(1), Some(("a".to_string(), 1, 9_999, 0)));
        }
    }
}

#[test]
fn only_the_holders_own_term_counts() {
    let mut server = held(30_000);
    for (op, at) in [(50, 1), (51, 10_000), (52, 10_001), (53, 29_999)] {
        let left = 30_000 - at;
        let shorter = acquire("b", 12, 10_000, 0);
        assert_eq!(server.ask(at, op, shorter), held_by("a", left));
    }
    assert_eq!(
        server.ask(30_000, 54, acquire("b", 12, 10_000, 0)),
        granted(12, 2, 10_000)
    );
}

#[test]
fn the_first_try_after_a_dead_holders_term_gets_the_key() {
    let mut server = held(1_000);
    assert_eq!(
        server.ask(1_001, 2, acquire("b", 12, 1_000, 0)),
        granted(12, 2, 1_000)
    );
}

#[test]
fn renewing_what_has_expired_makes_nothing() {
    let mut server = held(100);
    assert_eq!(
        server.ask(150, 2, renew(11, 10_000)),
        not_holder(Ended::Expired)
    );
    assert_eq!(server.look(150), None);
    let mut server = Server::new();
    server.ask(150, 2, renew(11, 10_000));
    assert!(server.store.keys.is_empty());
}

#[test]
fn the_fence_rises_with_every_grant_and_transfer_and_with_nothing_else() {
    let mut server = held(1_000);
    // Renewed, verified, asked again: still 1.
    server.ask(100, 2, renew(11, 2_000));
    server.ask(100, 3, verify(11));
    assert_eq!(
        server.ask(100, 1, acquire("a", 11, 1_000, 0)),
        replayed(11, 1, 2_000)
    );
    // Released, expired, transferred, restarted, a year idle: one more each time.
    server.ask(200, 5, release(11));
    assert_eq!(
        server.ask(200, 6, acquire("b", 13, 100, 0)),
        granted(13, 2, 100)
    );
    assert_eq!(
        server.ask(400, 7, acquire("c", 14, 100, 0)),
        granted(14, 3, 100)
    );
    let handed = transfer(by_lease(14), "d", 15, 100);
    assert_eq!(server.ask(450, 8, handed), granted(15, 4, 100));
    server.restart(460);
    let year = 31_536_000_000;
    assert_eq!(
        server.ask(year, 9, acquire("e", 16, 100, 0)),
        granted(16, 5, 100)
    );
    server.restart(2 * year);
    assert_eq!(
        server.ask(2 * year, 10, acquire("f", 17, 100, 0)),
        granted(17, 6, 100)
    );
}

#[test]
fn k1_a_second_acquire_leaves_the_first_lease_alone() {
    let mut server = held(10_000);
    assert_eq!(
        server.ask(500, 2, acquire("a", 12, 10_000, 0)),
        held_by("a", 9_500)
    );
    assert_eq!(server.ask(600, 3, verify(11)), renewed(9_400));
    assert_eq!(server.ask(600, 4, release(11)), RELEASED);
}

#[test]
fn the_holder_is_told_less_than_the_key_is_kept_for() {
    // min(1 s, ttl / 20) less: 100 → 95, 1000 → 950, 20 000 → 19 000, 30 000 → 29 000.
    for (ttl, told) in [
        (100, 95),
        (1_000, 950),
        (20_000, 19_000),
        (30_000, 29_000),
        (86_400_000, 86_399_000),
    ] {
        let mut server = Server::with(HostConfig::DURABLE_OBJECT);
        assert_eq!(
            server.ask(0, 1, acquire("a", 11, ttl, 0)),
            granted(11, 1, told)
        );
        assert_eq!(server.ask(0, 2, renew(11, ttl)), renewed(told));
        assert_eq!(server.ask(0, 3, verify(11)), renewed(told));
        let rival = acquire("b", 12, ttl, 0);
        assert_eq!(server.ask(ttl - 1, 4, rival.clone()), held_by("a", 1));
        assert_eq!(server.ask(ttl, 5, rival), granted(12, 2, told));
    }
}

#[test]
fn a_clock_that_runs_backwards_frees_nothing_early_and_nothing_twice() {
    let mut server = held(10_000);
    assert_eq!(server.look(9_000), Some(("a".to_string(), 1, 1_000, 0)));
    // The clock steps back by 5 s: the host stays at 9000 until it catches up.
    assert_eq!(server.look(4_000), Some(("a".to_string(), 1, 1_000, 0)));
    assert_eq!(server.ask(4_000, 2, renew(11, 10_000)), renewed(10_000));
    assert_eq!(server.look(18_999), Some(("a".to_string(), 1, 1, 0)));
    assert_eq!(server.look(19_000), None);
}

#[test]
fn a_host_restarted_on_a_clock_behind_gives_more_time_never_less() {
    for back_to in [0, 300, 500] {
        let mut server = held(1_000);
        server.ask(500, 2, renew(11, 1_000)); // until 1500, written at 500
        server.restart(back_to);
        let rival = acquire("b", 12, 1_000, 0);
        assert_eq!(server.ask(1_499, 3, rival.clone()), held_by("a", 1));
        assert_eq!(server.ask(1_500, 4, rival), granted(12, 2, 1_000));
    }
}

#[test]
fn expiry_is_decided_by_the_clock_not_by_the_alarm() {
    let mut server = held(1_000);
    assert_eq!(server.alarm, None, "nobody waits: no alarm is needed");
    assert_eq!(server.look(999), Some(("a".to_string(), 1, 1, 0)));
    assert_eq!(server.look(1_000), None);
    // Ticks too many do no harm.
    for at in [1_000, 1_000, 500, 2_000] {
        server.input(at, HostInput::Tick);
    }
    assert_eq!(server.look(2_000), None);
}

#[test]
fn terms_at_the_ends_of_what_the_clock_can_say_do_not_wrap() {
    let mut server = Server::new();
    let far = u64::MAX / 1_000;
    server.input(far, HostInput::Tick);
    let longest = Operation::Acquire(leasehold::protocol::Acquire::new(
        name("a"),
        lease(11),
        MAX_TTL,
        Span::ZERO,
    ));
    let answer = server.ask(far, 1, longest);
    assert!(matches!(answer, Response::Granted(_)), "{answer:?}");
}
