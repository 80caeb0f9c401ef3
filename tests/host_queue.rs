//! Waiting: first come first served, a place kept between polls, and what the dead cost.

mod common;

use common::hosting::{Server, contended, held, small};
use common::*;
use leasehold::host::{HostConfig, HostInput, ReplyTo};
use leasehold::protocol::{Code, Operation, Response};

/// A held key with waiters 1 to `count`, queued 10 ms apart from t = 10, each waiting for 60 s.
/// Waiter n has op and lease 100 + n.
fn queue(ttl_ms: u64, count: u64) -> (Server, Vec<ReplyTo>) {
    let mut server = held(ttl_ms);
    let waiters = (1..=count)
        .map(|n| {
            let bits = 100 + u128::from(n);
            server.post(n * 10, bits, acquire(&format!("w{n}"), bits, 1_000, 60_000))
        })
        .collect();
    (server, waiters)
}

#[test]
fn b88_waiters_are_served_in_order_of_arrival() {
    let (mut server, waiters) = queue(5_000, 10);
    let mut now = 1_000;
    server.post(now, 50, release(11));
    for (n, waiter) in (1..).zip(&waiters) {
        // Waiter n came at 10 n and is granted at `now`, with the next fence.
        assert_eq!(
            server.reply_at(*waiter),
            Some((
                now,
                granted_after(100 + u128::from(n), 1 + n, 1_000, now - n * 10)
            ))
        );
        now += 100;
        server.post(now, 200 + u128::from(n), release(100 + u128::from(n)));
    }
    assert_eq!(server.look(now), None);
    assert!(server.store.waiters.is_empty());
}

#[test]
fn b88_a_newcomer_never_passes_a_queue() {
    let (mut server, waiter) = contended(1_000);
    // At the very instant the key falls free the waiter comes first, whoever asks.
    assert_eq!(
        server.ask(1_000, 3, acquire("c", 13, 1_000, 0)),
        held_by("b", 1_000)
    );
    assert_eq!(
        server.reply_at(waiter),
        Some((1_000, granted_after(12, 2, 1_000, 990)))
    );
}

#[test]
fn b87_release_transfer_revoke_expiry_and_cancel_serve_the_next_in_the_same_step() {
    let ends: [(&str, u128, Operation); 3] = [
        ("release", 50, release(11)),
        ("revoke", 50, Operation::Revoke { fence: None }),
        ("cancel", 1, Operation::Cancel),
    ];
    for (what, bits, operation) in ends {
        let (mut server, waiter) = contended(10_000);
        server.post(500, bits, operation);
        assert_eq!(
            server.reply_at(waiter),
            Some((500, granted_after(12, 2, 3_000, 490))),
            "{what}"
        );
    }
    let (mut server, waiter) = contended(1_000);
    assert_eq!(server.alarm, Some(at(1_000)));
    server.run_until(1_000);
    assert_eq!(
        server.reply_at(waiter),
        Some((1_000, granted_after(12, 2, 1_000, 990)))
    );
}

#[test]
fn a_waiter_confirms_its_short_first_term_by_renewing() {
    let (mut server, waiter) = contended(30_000);
    server.post(1_000, 50, release(11));
    assert_eq!(server.reply(waiter), Some(granted_after(12, 2, 3_000, 990)));
    assert_eq!(server.ask(1_020, 51, renew(12, 30_000)), renewed(30_000));
    assert_eq!(server.look(1_020), Some(("b".to_string(), 2, 30_000, 0)));
}

#[test]
fn b88_a_dead_head_of_the_queue_costs_one_offer_once() {
    let (mut server, waiters) = queue(10_000, 3);
    // Waiter 1 is dead but its connection seems alive: it is offered the key for 1 s (its own
    // term is shorter than the offer of 3 s). Waiter 2 gets it then, waiter 3 after waiter 2.
    server.post(1_000, 50, release(11));
    server.run_until(2_000);
    assert_eq!(server.reply_at(waiters[1]).map(|(at, _)| at), Some(2_000));
    server.post(2_100, 51, release(102));
    assert_eq!(server.reply_at(waiters[2]).map(|(at, _)| at), Some(2_100));
}

#[test]
fn b88_an_offer_to_a_dead_waiter_lasts_three_seconds() {
    let (mut server, _) = contended(30_000);
    let next = server.post(20, 3, acquire("c", 13, 30_000, 60_000));
    server.post(1_000, 50, release(11));
    server.run_until(3_999);
    assert_eq!(server.reply(next), None);
    server.run_until(4_000);
    assert_eq!(server.reply(next), Some(granted_after(13, 3, 3_000, 3_980)));
}

#[test]
fn a_waiter_that_is_known_to_be_gone_costs_nothing_after_its_grace() {
    let (mut server, waiter) = contended(30_000);
    let next = server.post(20, 3, acquire("c", 13, 30_000, 60_000));
    server.input(100, HostInput::Gone(waiter)); // away until 3100
    server.post(3_101, 50, release(11));
    assert_eq!(
        server.reply_at(next),
        Some((3_101, granted_after(13, 2, 3_000, 3_081)))
    );
    assert_eq!(server.reply(waiter), None, "nobody is there to be told");
}

#[test]
fn a_place_is_kept_between_two_polls() {
    let mut server = held(60_000);
    let first = server.post(0, 2, acquire("b", 12, 10_000, 45_000));
    let second = server.post(0, 3, acquire("c", 13, 10_000, 45_000));
    // One poll lasts 20 s at most.
    server.run_until(20_000);
    assert_eq!(server.reply_at(first), Some((20_000, queued(0))));
    assert_eq!(server.reply_at(second), Some((20_000, queued(1))));
    // The second is back first, and still second.
    let second = server.post(20_010, 3, acquire("c", 13, 10_000, 24_990));
    let first = server.post(20_020, 2, acquire("b", 12, 10_000, 24_980));
    server.post(21_000, 50, release(11));
    assert_eq!(server.reply(first), Some(granted_after(12, 2, 3_000, 980)));
    assert_eq!(server.reply(second), None);
}

#[test]
fn a_place_is_lost_by_staying_away_too_long() {
    let mut server = held(60_000);
    server.post(0, 2, acquire("b", 12, 10_000, 45_000));
    server.run_until(23_000); // polled until 20 000, grace until 23 000
    assert_eq!(server.look(23_000), Some(("a".to_string(), 1, 37_000, 0)));
    // Its op has had its outcome.
    assert_eq!(
        server.ask(23_001, 2, acquire("b", 12, 10_000, 20_000)),
        held_by("a", 36_999)
    );
}

#[test]
fn a_waiter_between_polls_is_granted_the_key_and_learns_of_it_at_the_next() {
    let mut server = held(60_000);
    server.post(0, 2, acquire("b", 12, 10_000, 45_000));
    server.run_until(20_000);
    server.post(20_010, 50, release(11));
    assert_eq!(server.look(20_010), Some(("b".to_string(), 2, 3_000, 0)));
    assert_eq!(
        server.ask(20_030, 2, acquire("b", 12, 10_000, 24_970)),
        replayed(12, 2, 2_980)
    );
}

#[test]
fn patience_that_has_run_out_is_told_so() {
    let mut server = held(60_000);
    let waiter = server.post(10, 2, acquire("b", 12, 10_000, 5_000));
    server.run_until(5_009);
    assert_eq!(server.reply(waiter), None);
    server.run_until(5_010);
    assert_eq!(server.reply(waiter), Some(held_by("a", 54_990)));
    assert!(server.store.waiters.is_empty());
}

#[test]
fn a_repeated_poll_takes_the_place_of_the_one_before() {
    let (mut server, first) = contended(10_000);
    let again = server.post(500, 2, acquire("b", 12, 10_000, 59_500));
    assert_eq!(server.reply(first), Some(queued(0)));
    server.post(600, 50, release(11));
    // The wait counted is that of the request that is answered.
    assert_eq!(server.reply(again), Some(granted_after(12, 2, 3_000, 100)));
    assert_eq!(server.look(600), Some(("b".to_string(), 2, 3_000, 0)));
}

#[test]
fn a_poll_without_patience_leaves_the_queue_and_leaves_no_request_behind() {
    let (mut server, first) = contended(10_000);
    assert_eq!(
        server.ask(500, 2, acquire("b", 12, 10_000, 0)),
        held_by("a", 9_500)
    );
    assert_eq!(server.reply(first), Some(held_by("a", 9_500)));
    assert!(server.store.waiters.is_empty());
}

#[test]
fn a_late_alarm_costs_a_waiter_time_and_not_its_place() {
    let mut server = held(20_005);
    let first = server.post(0, 2, acquire("b", 12, 1_000, 60_000));
    let second = server.post(1, 3, acquire("c", 13, 1_000, 60_000));
    // The polls should have been answered at 2000 and 2001, and the key fell free at 20 005;
    // the alarm comes at 21 000. The first request still lies here, so it is served.
    server.input(21_000, HostInput::Tick);
    assert_eq!(
        server.reply(first),
        Some(granted_after(12, 2, 1_000, 21_000))
    );
    // The second keeps its place: it is granted the key while it is between two polls.
    assert_eq!(server.reply(second), Some(queued(0)));
    server.run_until(22_000);
    assert_eq!(server.look(22_000), Some(("c".to_string(), 3, 1_000, 0)));
}

#[test]
fn a_late_alarm_does_not_grant_to_a_waiter_whose_patience_is_over() {
    let mut server = held(5_005);
    let first = server.post(0, 2, acquire("b", 12, 10_000, 5_000));
    let second = server.post(1, 3, acquire("c", 13, 10_000, 60_000));
    server.input(6_000, HostInput::Tick);
    let Some(Response::Held(held)) = server.reply(first) else {
        panic!("the first has no patience left");
    };
    assert_eq!(held.holder, None);
    assert_eq!(
        server.reply(second),
        Some(granted_after(13, 2, 3_000, 5_999))
    );
}

#[test]
fn b32_the_many_that_cancel_leave_those_that_stay_in_order() {
    let mut server = Server::with(HostConfig {
        max_waiters: 1_000,
        ..HostConfig::EMBEDDED
    });
    server.post(0, 1, acquire("a", 11, 60_000, 0));
    let waiters: Vec<ReplyTo> = (0..1_000)
        .map(|n| server.post(1, 1_000 + n, acquire("w", 1_000 + n, 60_000, 60_000)))
        .collect();
    for n in (0..1_000).filter(|n| n % 100 != 50) {
        assert_eq!(
            server.ask(2, 1_000 + n, Operation::Cancel),
            Response::Cancelled
        );
    }
    assert_eq!(server.look(2).map(|(.., waiters)| waiters), Some(10));
    let mut running = 11;
    for n in (0..1_000).filter(|n| n % 100 == 50) {
        server.post(3, 5_000 + n, release(running));
        running = 1_000 + n;
        let answer = server.reply(waiters[usize::try_from(n).expect("small")]);
        assert!(
            matches!(&answer, Some(Response::Granted(granted)) if granted.lease == lease(running)),
            "{answer:?}"
        );
    }
}

#[test]
fn a_cancelled_waiter_is_told_and_its_place_is_free() {
    let (mut server, waiter) = contended(10_000);
    assert_eq!(server.ask(500, 2, Operation::Cancel), Response::Cancelled);
    assert_eq!(server.reply(waiter), Some(Response::Cancelled));
    server.post(600, 50, release(11));
    assert_eq!(server.look(600), None);
}

#[test]
fn a_full_queue_refuses_the_next_without_harm_to_those_in_it() {
    let mut server = Server::with(small());
    server.post(0, 1, acquire("a", 11, 10_000, 0));
    let first = server.post(1, 2, acquire("b", 12, 10_000, 60_000));
    server.post(2, 3, acquire("c", 13, 10_000, 60_000));
    let Response::Refused(refusal) = server.ask(3, 4, acquire("d", 14, 10_000, 60_000)) else {
        panic!("a third waiter was let in");
    };
    assert_eq!(refusal.code, Code::Unavailable);
    assert_eq!(refusal.reason, "too-many-waiters");
    assert_eq!(refusal.retry_after, Some(ms(1_000)));
    // A waiter that polls again is not one more.
    server.post(4, 2, acquire("b", 12, 10_000, 59_997));
    assert_eq!(server.reply(first), Some(queued(0)));
    // The refusal is no outcome: the same op may come again.
    server.post(5, 3, Operation::Cancel);
    let fourth = server.post(6, 4, acquire("d", 14, 10_000, 60_000));
    assert_eq!(server.reply(fourth), None);
    assert_eq!(server.look(6).map(|(.., waiters)| waiters), Some(2));
}

#[test]
fn waiters_outlive_the_host_and_keep_their_order() {
    let (mut server, _) = queue(2_500, 3);
    server.restart(1_000);
    assert_eq!(server.look(1_000), Some(("a".to_string(), 1, 1_500, 3)));
    // All of them poll again, in another order.
    let polls = [3, 1, 2].map(|n| {
        let poll = acquire(&format!("w{n}"), 100 + n, 1_000, 59_000);
        (n, server.post(1_010, 100 + n, poll))
    });
    server.run_until(2_500);
    let answered: Vec<u128> = polls
        .iter()
        .filter(|(_, to)| server.reply(*to).is_some())
        .map(|(n, _)| *n)
        .collect();
    assert_eq!(answered, [1]);
    // A newcomer goes to the end.
    let last = server.post(2_600, 9, acquire("z", 19, 1_000, 60_000));
    server.post(2_700, 51, release(101));
    server.post(2_800, 52, release(102));
    assert_eq!(server.reply(last), None);
    server.post(2_900, 53, release(103));
    assert!(server.reply(last).is_some());
}

#[test]
fn waiters_that_do_not_come_back_after_a_restart_lose_their_places() {
    let (mut server, _) = queue(5_000, 3);
    server.restart(1_000);
    server.run_until(4_000); // grace is over at 4000
    assert_eq!(server.look(4_000), Some(("a".to_string(), 1, 1_000, 0)));
    assert!(server.store.waiters.is_empty());
}

#[test]
fn the_alarm_is_set_for_the_first_thing_a_waiter_needs() {
    let (mut server, waiter) = contended(15_000);
    assert_eq!(server.alarm, Some(at(15_000)), "the holder's expiry");
    server.ask(100, 50, renew(11, 60_000));
    assert_eq!(server.alarm, Some(at(20_010)), "the end of the poll");
    server.input(200, HostInput::Gone(waiter));
    assert_eq!(server.alarm, Some(at(3_200)), "the end of the grace");
    server.run_until(3_200);
    assert_eq!(server.alarm, None, "nobody waits");
}

#[test]
fn ticks_at_any_time_change_nothing_but_what_is_due() {
    let (mut server, waiter) = contended(5_000);
    for at in [0, 100, 4_999] {
        server.input(at, HostInput::Tick);
        assert_eq!(
            server.alarm,
            Some(common::at(5_000)),
            "the alarm is set again"
        );
        assert_eq!(server.reply(waiter), None);
    }
    server.input(5_000, HostInput::Tick);
    server.input(5_000, HostInput::Tick);
    assert!(server.reply(waiter).is_some());
}
