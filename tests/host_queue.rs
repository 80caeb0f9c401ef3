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
            server.post(
                n * 10,
                bits,
                acquire(&format!("w{n}"), bits, 10_000, 60_000),
            )
        })
        .collect();
    (server, waiters)
}

#[test]
fn waiters_are_served_in_order_of_arrival() {
    let (mut server, waiters) = queue(5_000, 10);
    let mut now = 1_000;
    server.post(now, 50, release(11));
    for (n, waiter) in (1..).zip(&waiters) {
        // Waiter n came at 10 n and is granted at `now`, with the next fence.
        assert_eq!(
            server.reply_at(*waiter),
            Some((
                now,
                granted_after(100 + u128::from(n), 1 + n, 3_000, now - n * 10)
            ))
        );
        now += 100;
        server.post(now, 200 + u128::from(n), release(100 + u128::from(n)));
    }
    assert_eq!(server.look(now), None);
    assert!(server.store.waiters.is_empty());
}

#[test]
fn a_newcomer_never_passes_a_queue() {
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
fn release_transfer_revoke_expiry_and_cancel_serve_the_next_in_the_same_step() {
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

/// Whoever is sent away asks again at once; waiters in `dead` never do. Gives when each of the
/// others was granted.
fn serve(
    server: &mut Server,
    mut waiters: Vec<ReplyTo>,
    dead: &[u64],
    until: u64,
) -> Vec<(u64, u64)> {
    let mut granted = Vec::new();
    let mut seen = 0;
    while let Some(alarm) = server.alarm.filter(|alarm| *alarm <= at(until)) {
        server.step(alarm, HostInput::Tick);
        while let Some((when, to, response)) = server.replies.get(seen).cloned() {
            seen += 1;
            let Some(index) = waiters.iter().position(|waiter| *waiter == to) else {
                continue;
            };
            let n = index as u64 + 1;
            let bits = 100 + u128::from(n);
            let millis = when.as_millis_ceil();
            match response {
                Response::Queued { .. } if !dead.contains(&n) => {
                    let poll = acquire(&format!("w{n}"), bits, 30_000, 60_000);
                    waiters[index] = server.post(millis, bits, poll);
                }
                Response::Granted(_) if !dead.contains(&n) => {
                    granted.push((n, millis));
                    server.post(millis, 900 + bits, release(bits));
                }
                _ => {}
            }
        }
    }
    granted
}

#[test]
fn any_number_of_dead_waiters_costs_one_offer_and_one_roll_call() {
    for count in [1, 8, 100, 1_000] {
        let (mut server, waiters) = crowd(count + 2);
        server.post(2_000, 50, release(11));
        let dead: Vec<u64> = (1..=count).collect();
        // The first dead one is offered the key until 5000; when that lapses all are sent away, and
        // the other dead are not back by 5500.
        let served = if count == 1 { 5_000 } else { 5_500 };
        let granted = serve(&mut server, waiters, &dead, 5_600);
        assert_eq!(granted, [(count + 1, served), (count + 2, served)]);
    }
}

/// A held key with waiters 1 to `count`, queued in one millisecond, each for 30 s.
fn crowd(count: u64) -> (Server, Vec<ReplyTo>) {
    let mut server = held(60_000);
    let waiters = (1..=count)
        .map(|n| {
            let bits = 100 + u128::from(n);
            server.post(1, bits, acquire(&format!("w{n}"), bits, 30_000, 60_000))
        })
        .collect();
    (server, waiters)
}

#[test]
fn the_first_in_order_ends_the_roll_call_by_being_back() {
    let (mut server, _) = crowd(3);
    server.post(1_000, 50, release(11));
    server.run_until(4_000); // the first had the offer, and it has lapsed
    let third = server.post(4_100, 103, acquire("w3", 103, 30_000, 55_000));
    server.run_until(4_150);
    assert_eq!(server.reply(third), None, "the second may still come");
    let second = server.post(4_200, 102, acquire("w2", 102, 30_000, 55_000));
    assert_eq!(server.reply(second), Some(granted_after(102, 3, 3_000, 0)));
    assert_eq!(server.reply(third), None);
}

#[test]
fn after_a_roll_call_that_nobody_answered_whoever_comes_first_is_served() {
    let (mut server, _) = crowd(3);
    server.post(1_000, 50, release(11));
    server.run_until(4_600);
    assert_eq!(server.look(4_600), None);
    let newcomer = server.ask(4_700, 9, acquire("z", 19, 30_000, 0));
    assert_eq!(newcomer, granted(19, 3, 30_000));
    // Those who were late have kept their places.
    let third = server.post(4_800, 103, acquire("w3", 103, 30_000, 55_000));
    let second = server.post(4_900, 102, acquire("w2", 102, 30_000, 55_000));
    server.post(5_000, 51, release(19));
    assert_eq!(
        server.reply(second),
        Some(granted_after(102, 4, 3_000, 100))
    );
    assert_eq!(server.reply(third), None);
}

#[test]
fn a_newcomer_does_not_pass_those_who_are_being_called() {
    let (mut server, _) = crowd(3);
    server.post(1_000, 50, release(11));
    server.run_until(4_100);
    let Response::Held(held) = server.ask(4_100, 9, acquire("z", 19, 30_000, 0)) else {
        panic!("a newcomer passed the queue");
    };
    assert_eq!((held.holder, held.retry_after), (None, ms(400)));
}

#[test]
fn an_offer_to_a_dead_waiter_lasts_three_seconds() {
    let (mut server, _) = contended(30_000);
    let next = server.post(20, 3, acquire("c", 13, 30_000, 60_000));
    server.post(1_000, 50, release(11));
    server.run_until(3_999);
    assert_eq!(server.reply(next), None);
    server.run_until(4_000);
    assert_eq!(server.reply(next), Some(queued(0)), "to see who is there");
    let back = server.post(4_010, 3, acquire("c", 13, 30_000, 56_000));
    assert_eq!(server.reply(back), Some(granted_after(13, 3, 3_000, 0)));
}

#[test]
fn a_confirmed_lease_that_expires_sends_nobody_away() {
    let (mut server, waiters) = crowd(2);
    server.post(1_000, 50, release(11));
    server.ask(1_100, 51, renew(101, 5_000));
    server.run_until(6_100);
    assert_eq!(
        server.reply_at(waiters[1]),
        Some((6_100, granted_after(102, 3, 3_000, 6_099)))
    );
}

#[test]
fn a_waiter_that_is_known_to_be_gone_costs_nothing() {
    let (mut server, waiter) = contended(30_000);
    let next = server.post(20, 3, acquire("c", 13, 30_000, 60_000));
    server.input(100, HostInput::Gone(waiter));
    server.post(200, 50, release(11));
    assert_eq!(
        server.reply_at(next),
        Some((200, granted_after(13, 2, 3_000, 180)))
    );
    assert_eq!(server.reply(waiter), None, "nobody is there to be told");
    // It keeps its place for three seconds.
    let back = server.post(3_000, 2, acquire("b", 12, 30_000, 50_000));
    server.post(3_050, 51, release(13));
    assert_eq!(server.reply(back), Some(granted_after(12, 3, 3_000, 50)));
}

#[test]
fn an_asker_that_has_gone_is_counted_as_long_as_its_place_is_kept() {
    let (mut server, waiter) = contended(30_000);
    server.post(20, 3, acquire("c", 13, 30_000, 60_000));
    server.input(100, HostInput::Gone(waiter));
    let mut waiters = |at| server.look(at).map(|(_, _, _, waiters)| waiters);
    assert_eq!(waiters(100), Some(2));
    assert_eq!(waiters(3_099), Some(2));
    assert_eq!(waiters(3_100), Some(1));
}

#[test]
fn a_poll_lasts_two_terms_but_at_least_a_second_and_at_most_twenty() {
    for (ttl, poll) in [
        (100, 1_000),
        (400, 1_000),
        (1_000, 2_000),
        (9_000, 18_000),
        (30_000, 20_000),
    ] {
        let mut server = held(60_000);
        let waiter = server.post(0, 2, acquire("b", 12, ttl, 45_000));
        server.run_until(poll - 1);
        assert_eq!(server.reply(waiter), None, "{ttl}");
        server.run_until(poll);
        assert_eq!(server.reply(waiter), Some(queued(0)), "{ttl}");
    }
}

#[test]
fn a_place_is_kept_between_two_polls() {
    let mut server = held(60_000);
    let first = server.post(0, 2, acquire("b", 12, 10_000, 45_000));
    let second = server.post(0, 3, acquire("c", 13, 10_000, 45_000));
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
fn an_offer_made_between_two_polls_starts_anew_at_the_first_that_comes() {
    let mut server = held(60_000);
    server.post(0, 2, acquire("b", 12, 10_000, 45_000));
    server.run_until(20_000);
    server.post(20_010, 50, release(11));
    assert_eq!(server.look(20_010), Some(("b".to_string(), 2, 3_000, 0)));
    let poll = acquire("b", 12, 10_000, 24_000);
    assert_eq!(server.ask(21_000, 2, poll.clone()), replayed(12, 2, 3_000));
    // Once: a repetition of the poll gets what is left.
    assert_eq!(server.ask(21_500, 2, poll.clone()), replayed(12, 2, 2_500));
    assert_eq!(server.ask(23_999, 2, poll.clone()), replayed(12, 2, 1));
    assert_eq!(server.ask(24_000, 2, poll), replayed(12, 2, 0));
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
    assert_eq!(
        server.reply(first),
        Some(queued(0)),
        "the newer request gets the answer"
    );
    assert!(server.store.waiters.is_empty());
}

#[test]
fn a_late_alarm_costs_a_waiter_time_and_not_its_place() {
    let mut server = held(20_005);
    let first = server.post(0, 2, acquire("b", 12, 10_000, 60_000));
    let second = server.post(1, 3, acquire("c", 13, 10_000, 60_000));
    // The polls should have been answered at 20 000 and 20 001, and the key fell free at 20 005;
    // the alarm comes at 21 000. The first request still lies here, so it is served.
    server.input(21_000, HostInput::Tick);
    assert_eq!(
        server.reply(first),
        Some(granted_after(12, 2, 3_000, 21_000))
    );
    // The second keeps its place: it is granted the key while it is between two polls.
    assert_eq!(server.reply(second), Some(queued(0)));
    server.post(22_000, 51, release(12));
    assert_eq!(server.look(22_000), Some(("c".to_string(), 3, 3_000, 0)));
}

#[test]
fn a_late_alarm_does_not_grant_to_a_waiter_whose_patience_is_over() {
    let mut server = held(5_005);
    let first = server.post(0, 2, acquire("b", 12, 10_000, 5_000));
    let second = server.post(1, 3, acquire("c", 13, 10_000, 60_000));
    server.input(6_000, HostInput::Tick);
    assert_eq!(
        server.reply(second),
        Some(granted_after(13, 2, 3_000, 5_999))
    );
    assert_eq!(server.reply(first), Some(held_by("c", 3_000)));
}

#[test]
fn the_many_that_cancel_leave_those_that_stay_in_order() {
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
    let (mut server, _) = queue(5_000, 3);
    server.restart(3_000);
    assert_eq!(server.look(3_000), Some(("a".to_string(), 1, 2_000, 3)));
    // All of them poll again, in another order.
    let polls = [3, 1, 2].map(|n| {
        let poll = acquire(&format!("w{n}"), 100 + n, 10_000, 59_000);
        (n, server.post(3_010, 100 + n, poll))
    });
    server.run_until(5_000);
    let answered: Vec<u128> = polls
        .iter()
        .filter(|(_, to)| server.reply(*to).is_some())
        .map(|(n, _)| *n)
        .collect();
    assert_eq!(answered, [1]);
    // A newcomer goes to the end.
    let last = server.post(5_100, 9, acquire("z", 19, 1_000, 60_000));
    server.post(5_200, 51, release(101));
    server.post(5_300, 52, release(102));
    assert_eq!(server.reply(last), None);
    server.post(5_400, 53, release(103));
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
