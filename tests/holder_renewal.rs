//! Renewing in time, with patience, and never in a storm.

mod common;

use common::holding::*;
use common::*;
use leasehold::holder::{
    Ask, Config, Delivery, Done, Event, Holder, Input, LossReason, Schedule, Seed,
};
use leasehold::protocol::{Code, Ended, Field, MAX_TTL, MIN_TTL, Response};
use leasehold::time::{Instant, Span};

const TERMS: [u64; 11] = [
    100, 101, 150, 200, 500, 1_000, 1_250, 5_000, 30_000, 600_000, 86_400_000,
];

#[test]
fn while_the_host_is_down_a_term_sees_ten_tries_at_most() {
    for ttl in TERMS {
        let hang: fn(u64) -> Fate = |_| Fate::Hang;
        let fast: fn(u64) -> Fate = |_| Fate::Fail(0, Delivery::Never);
        let slow: fn(u64) -> Fate = |n| Fate::Fail(n % 50, Delivery::Unknown);
        for (kind, fate) in [
            ("hanging", hang),
            ("failing at once", fast),
            ("failing", slow),
        ] {
            let mut driver = Driver::held(config(ttl));
            let mut tries = 0;
            driver.run(2 * ttl, |_| {
                tries += 1;
                fate(tries)
            });
            let tries = driver.sent(is_renew);
            assert!((1..=10).contains(&tries), "{kind}, ttl {ttl}: {tries}");
            let (lost, _) = driver.loss().expect("lost");
            for (sent, send) in driver.sends.iter().take(tries) {
                assert_eq!(*sent + send.timeout, lost, "{kind}, ttl {ttl}");
            }
        }
    }
}

#[test]
fn the_pauses_between_failures_grow() {
    let mut driver = Driver::held(config(30_000));
    driver.run(60_000, |_| Fate::Fail(0, Delivery::Unknown));
    let renewals = driver.sends.iter().take(driver.sent(is_renew));
    let sent: Vec<Instant> = renewals.map(|(at, _)| *at).collect();
    assert_eq!(sent.len(), 10);
    // In the proportion 1 : 2 : … : 9, each ± 10 %, which the last one makes up for.
    let gaps: Vec<Span> = sent.windows(2).map(|pair| pair[1].since(pair[0])).collect();
    assert!(gaps[..8].is_sorted(), "{gaps:?}");
    assert!(gaps[8] > gaps[0].scale(6, 1), "{gaps:?}");
    // An answer takes 20 ms: what was sent by 29 170 can come back before 29 190.
    assert!(
        (at(29_070)..=at(29_170)).contains(&sent[9]),
        "{:?}",
        sent[9]
    );
}

#[test]
fn while_the_host_is_well_a_term_sees_four_renewals_at_most() {
    for ttl in TERMS {
        for flight in [0, 1, 20] {
            let mut driver = Driver::held(config(ttl));
            driver.run(20 + 50 * ttl, |_| Fate::Answer(flight, renewed(ttl)));
            assert_eq!(driver.loss(), None, "ttl {ttl}, flight {flight}");
            let renewals = driver.sent(is_renew);
            assert!(
                renewals <= 200,
                "ttl {ttl}, flight {flight}: {renewals} in 50 terms"
            );
            assert!(
                renewals >= 50,
                "ttl {ttl}, flight {flight}: {renewals} in 50 terms"
            );
        }
    }
}

#[test]
fn terms_that_no_host_grants_are_refused_before_anything_is_sent() {
    let seed = Seed { ops: 1, leases: 2 };
    let with = |ttl: Span| {
        Holder::acquire(
            Config {
                ttl,
                ..config(1_000)
            },
            seed,
        )
    };
    let micro = Span::from_micros(1);
    for ttl in [
        Span::ZERO,
        micro,
        ms(1),
        ms(10),
        ms(50),
        MIN_TTL.saturating_sub(micro),
        MAX_TTL + micro,
        Span::from_micros(u64::MAX),
    ] {
        let refused = with(ttl).err().map(|invalid| invalid.field);
        assert_eq!(refused, Some(Field::Ttl), "{ttl:?}");
    }
    for ttl in [MIN_TTL, ms(101), ms(1_250), MAX_TTL] {
        assert!(with(ttl).is_ok(), "{ttl:?}");
    }
}

#[test]
fn settings_that_do_not_fit_together_are_refused() {
    let seed = Seed { ops: 1, leases: 2 };
    let schedule = |t1, t2| Config {
        renewal: Some(Schedule { t1, t2 }),
        ..config(10_000)
    };
    // Jeopardy is at 667 of the term, the usable end at 939.
    for (t1, t2, fits) in [
        (333, None, true),
        (0, None, false),
        (667, None, false),
        (1_000, None, false),
        (500, Some(875), true),
        (500, Some(500), false),
        (500, Some(400), false),
        (500, Some(940), false),
    ] {
        let refused = Holder::acquire(schedule(t1, t2), seed).err();
        assert_eq!(refused.is_none(), fits, "t1 {t1}, t2 {t2:?}");
        assert!(refused.is_none_or(|invalid| invalid.field == Field::Renewal));
    }
    let long_wait = Config {
        wait: ms(86_400_001),
        ..config(10_000)
    };
    let refused = Holder::acquire(long_wait, seed).err();
    assert_eq!(refused.map(|invalid| invalid.field), Some(Field::Wait));
}

#[test]
fn the_first_renewal_is_due_at_a_third_of_the_term() {
    let mut driver = Driver::held(config(30_000));
    driver.run_until(12_000);
    let (sent, send) = &driver.sends[0];
    // 9990 ± 10 % after the send of the grant.
    assert!((at(8_991)..=at(10_989)).contains(sent), "{sent:?}");
    assert_eq!(send.request.operation, of(1, renew(2_001, 30_000)));
    assert!(!send.rebind);
}

#[test]
fn holders_with_different_seeds_do_not_renew_in_step() {
    let first_renewal = |ops: u128| {
        let mut machine = Holder::acquire(config(30_000), Seed { ops, leases: 1 }).expect("sound");
        let mut wake = None;
        let answer = leasehold::id::AttemptId(1);
        for input in [Input::Start, Input::Answered(answer, granted(2, 1, 30_000))] {
            machine.handle(at(0), input);
            while let Some(output) = machine.poll_output() {
                if let leasehold::holder::Output::Wake { at, .. } = output {
                    wake = Some(at);
                }
            }
        }
        wake
    };
    let times: std::collections::BTreeSet<_> = (0..100_u128)
        .map(|n| first_renewal(n.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .collect();
    assert!(times.len() > 50, "{}", times.len());
}

#[test]
fn one_failed_renewal_ends_neither_the_lease_nor_renewing() {
    let mut driver = Driver::held(config(1_000));
    let mut tries = 0;
    driver.run(10_000, |_| {
        tries += 1;
        if tries == 1 {
            Fate::Fail(10, Delivery::Unknown)
        } else {
            Fate::Answer(10, renewed(1_000))
        }
    });
    assert!(driver.is_held());
    assert_eq!(driver.sent(is_release), 0);
    assert!(tries > 10);
}

#[test]
fn two_refusals_then_success_leave_the_schedule_as_it_was() {
    let mut driver = Driver::held(config(30_000));
    let mut tries = 0;
    driver.run(60_000, |_| {
        tries += 1;
        match tries {
            1 | 2 => Fate::Answer(10, refused(Code::Unavailable, None)),
            _ => Fate::Answer(10, renewed(30_000)),
        }
    });
    assert_eq!(driver.loss(), None);
    let sent: Vec<Instant> = driver.sends.iter().map(|(at, _)| *at).collect();
    let pause = sent[3].since(sent[2]);
    assert!((ms(8_991)..=ms(11_000)).contains(&pause), "{pause:?}");
}

#[test]
fn a_definite_no_ends_the_lease_at_once_and_an_error_does_not() {
    for (what, response) in every_response() {
        let mut driver = Driver::held(config(30_000));
        driver.input(1_000, asked(Ask::Renew(None)));
        driver.answer(1_020, response.clone());
        match response {
            Response::NotHolder { ended, .. } => {
                assert_eq!(
                    driver.loss(),
                    Some((at(1_020), LossReason::NotHolder(ended)))
                );
                assert!(driver.closed, "{what}");
            }
            _ => assert!(driver.is_held(), "{what}"),
        }
    }
}

#[test]
fn jeopardy_is_told_at_two_thirds_and_safety_once_it_is_over() {
    let mut driver = Driver::held(config(30_000));
    driver.run(20_000, |_| Fate::Hang);
    let left = ms(29_190 - 20_000);
    let (at_, event) = driver.events.last().expect("an event");
    assert_eq!(
        (*at_, event),
        (at(20_000), &Event::Jeopardy { remaining: left })
    );
    driver.forget();
    driver.run(29_000, |_| Fate::Answer(20, renewed(30_000)));
    let first = driver
        .events
        .iter()
        .position(|(_, event)| matches!(event, Event::Safe { .. }));
    let next = driver
        .events
        .iter()
        .position(|(_, event)| matches!(event, Event::Renewed { .. }));
    assert!(first.is_some() && first < next, "{:?}", driver.events);
    assert_eq!(
        driver
            .events
            .iter()
            .filter(|(_, event)| matches!(event, Event::Jeopardy { .. }))
            .count(),
        0
    );
}

#[test]
fn jeopardy_is_told_once_a_term() {
    let mut driver = Driver::held(config(30_000));
    driver.run(40_000, |_| Fate::Fail(5, Delivery::Never));
    let told = driver
        .events
        .iter()
        .filter(|(_, event)| matches!(event, Event::Jeopardy { .. }));
    assert_eq!(told.count(), 1);
}

#[test]
fn from_t2_on_the_carrier_is_asked_for_a_new_way() {
    let mut driver = Driver::held(Config {
        renewal: Some(Schedule {
            t1: 500,
            t2: Some(700),
        }),
        ..config(30_000)
    });
    driver.run(40_000, |_| Fate::Fail(5, Delivery::Unknown));
    let renewals = driver.sent(is_renew);
    assert!(renewals >= 3);
    for (sent, send) in driver.sends.iter().take(renewals) {
        assert_eq!(send.rebind, *sent >= at(21_000), "at {sent:?}");
    }
}

#[test]
fn a_short_first_term_is_confirmed_at_once() {
    // A grant that ended a wait: 3 s of the 30 s asked for.
    for settings in [config(30_000), manual(30_000)] {
        let mut driver = Driver::started(settings);
        driver.answer(20, granted_after(2_001, 1, 3_000, 0));
        assert_eq!(driver.last_operation(), &of(1, renew(2_001, 30_000)));
        driver.answer(40, renewed(30_000));
        assert_eq!(driver.remaining_ms(), 20 + 29_190 - 40);
    }
}

#[test]
fn without_a_schedule_only_what_is_asked_for_is_sent() {
    let mut driver = Driver::held(manual(30_000));
    driver.run(10_000, |_| Fate::Hang);
    assert!(driver.sends.is_empty());
    driver.input(10_000, asked(Ask::Renew(None)));
    driver.answer(10_020, renewed(30_000));
    let settled: Vec<&Event> = driver.events.iter().map(|(_, event)| event).collect();
    let remaining = ms(10_000 + 29_190 - 10_020);
    assert_eq!(
        settled,
        [
            &Event::Renewed { remaining },
            &Event::Settled(TICKET, Ok(Done::Renewed))
        ]
    );
    driver.run_until(39_000);
    assert_eq!(driver.sent(is_renew), 1);
    assert!(
        !driver
            .events
            .iter()
            .any(|(_, event)| matches!(event, Event::Jeopardy { .. }))
    );
}

#[test]
fn a_renewal_asked_for_goes_out_beside_the_one_under_way() {
    let mut driver = Driver::held(config(30_000));
    let (first, _) = driver.wake.expect("a renewal is due");
    driver.step(first, Input::Wake);
    let by_itself = driver.last_attempt();
    let now = first.as_millis_ceil();
    driver.input(now, asked(Ask::Renew(Some(ms(60_000)))));
    assert_eq!(driver.sent(is_renew), 2);
    assert_eq!(driver.last_operation(), &of(1, renew(2_001, 60_000)));
    // The one that was under way may have been carried out before anybody asked.
    let settled = |driver: &Driver| {
        let settled = driver.events.iter();
        settled
            .filter(|(_, event)| matches!(event, Event::Settled(..)))
            .count()
    };
    driver.input(now + 10, Input::Answered(by_itself, renewed_of(1, 30_000)));
    assert_eq!(settled(&driver), 0);
    // Whoever asks meanwhile waits for the next: for one, however many they are.
    driver.input(now + 20, asked(Ask::Renew(None)));
    driver.input(now + 20, asked(Ask::Renew(None)));
    assert_eq!(driver.sent(is_renew), 2);
    driver.answer(now + 30, renewed(60_000));
    assert_eq!(settled(&driver), 1);
    assert_eq!(driver.sent(is_renew), 3);
    driver.answer(now + 50, renewed(60_000));
    assert_eq!(settled(&driver), 3);
    assert!(driver.events.iter().all(|(_, event)| {
        !matches!(event, Event::Settled(..)) || *event == Event::Settled(TICKET, Ok(Done::Renewed))
    }));
}

#[test]
fn renewing_by_a_shorter_term_makes_no_storm() {
    // The host never shortens: it answers with what is left of the longer term, less the time
    // on the way, so no answer lengthens what the holder knows.
    for (shorter, flight) in [
        (100, 0),
        (1_000, 1),
        (1_000, 100),
        (10_000, 150),
        (1_000, 250),
    ] {
        let expires = 30_010;
        let mut server_now = 1_000;
        let mut driver = Driver::held(config(30_000));
        driver.input(1_000, asked(Ask::Renew(Some(ms(shorter)))));
        while driver.loss().is_none() && server_now < 29_000 {
            let (sent, _) = driver.sends.last().expect("sent");
            let arrives = sent.as_millis_ceil() + flight;
            let told = expires_after(arrives, expires, shorter);
            let count = driver.sends.len();
            driver.answer(arrives + 1, renewed(told));
            while driver.sends.len() == count && driver.loss().is_none() {
                let (wake, _) = driver.wake.expect("something is due");
                driver.step(wake, Input::Wake);
            }
            server_now = arrives;
            assert!(
                driver.sends.len() < 25,
                "{} renewals by {server_now}",
                driver.sends.len()
            );
        }
    }
}

fn expires_after(now: u64, expires: u64, ttl: u64) -> u64 {
    expires.max(now + ttl) - now
}

#[test]
fn a_host_that_renews_by_nothing_makes_no_storm() {
    for told in [0, 1, 10] {
        let mut driver = Driver::held(config(30_000));
        driver.run(60_000, |_| Fate::Answer(1, renewed(told)));
        assert_eq!(driver.loss(), Some((at(29_190), LossReason::Expired)));
        let renewals = driver.sent(is_renew);
        assert!(renewals <= 24, "told {told}: {renewals}");
    }
}

#[test]
fn a_host_that_asks_for_patience_gets_it() {
    let mut driver = Driver::held(config(30_000));
    let (sent, _) = driver.wake.expect("a renewal is due");
    driver.step(sent, Input::Wake);
    let failed = sent + ms(10);
    driver.step(failed, failure_asking(driver.last_attempt(), ms(5_000)));
    driver.run_until(25_000);
    let (again, _) = driver.sends[1];
    assert!(
        again >= failed + ms(5_000),
        "{:?} after being asked for 5 s",
        again.since(failed)
    );
}

#[test]
fn after_a_loss_the_same_key_is_acquired_and_renewed_anew() {
    let mut driver = Driver::held(config(1_000));
    driver.run_until(5_000);
    assert!(driver.loss().is_some());
    let mut driver = Driver::held(config(1_000));
    driver.run(3_000, |_| Fate::Answer(20, renewed(1_000)));
    assert!(driver.is_held());
}

#[test]
fn a_verification_asks_and_a_no_ends_the_lease() {
    let mut driver = Driver::held(manual(30_000));
    driver.input(100, asked(Ask::Verify));
    assert_eq!(driver.last_operation(), &of(1, verify(2_001)));
    driver.answer(120, not_holder(Ended::Revoked));
    let told: Vec<&Event> = driver.events.iter().map(|(_, event)| event).collect();
    assert!(matches!(told[0], Event::Settled(_, Err(_))));
    assert_eq!(told[1], &Event::Lost(LossReason::NotHolder(Ended::Revoked)));
    assert!(driver.closed);
}

#[test]
fn the_time_that_a_verification_tells_of_is_used_to_renew_in() {
    // Answers take 3 s. Those to both renewals that fit into the term get lost, though the host has
    // carried them out.
    let mut driver = Driver::started(config(10_000));
    driver.answer(3_000, granted(LEASE, 1, 10_000));
    driver.run(8_000, |_| Fate::Hang);
    assert_eq!(driver.sent(is_renew), 2);
    driver.input(8_000, asked(Ask::Verify));
    driver.answer(8_500, renewed(9_000));
    driver.run(60_000, |_| Fate::Answer(500, renewed(10_000)));
    assert!(driver.is_held());
}

#[test]
fn a_verification_without_an_answer_ends_in_doubt_and_the_lease_goes_on() {
    let mut driver = Driver::held(manual(30_000));
    driver.input(100, asked(Ask::Verify));
    driver.run_until(5_100); // the time for one operation is 5 s
    assert!(matches!(
        driver.events.last(),
        Some((_, Event::Settled(_, Err(failure)))) if failure.reason == "no-answer"
    ));
    assert!(driver.is_held());
}

#[test]
fn a_long_pause_asked_for_does_not_cost_the_lease() {
    // Ttl 30 s: the first renewal, at about 10 s, is refused once, "not before 30 s".
    let mut driver = Driver::held(config(30_000));
    let mut renewals = 0;
    driver.run(60_000, |send| {
        renewals += usize::from(is_renew(&send.request.operation));
        match renewals {
            1 => Fate::Answer(5, refused(Code::Unavailable, Some(30_000))),
            _ => Fate::Answer(5, renewed(30_000)),
        }
    });
    assert!(driver.is_held());
}

#[test]
fn renewals_asked_for_in_vain_take_nothing_from_those_that_go_on_by_themselves() {
    let mut driver = Driver::held(config(30_000));
    for n in 0..12 {
        driver.input(1_000 + n * 50, asked(Ask::Renew(None)));
        driver.fail(1_010 + n * 50, Delivery::Unknown);
    }
    driver.run(60_000, |_| Fate::Answer(5, renewed(30_000)));
    assert!(driver.is_held());
}
