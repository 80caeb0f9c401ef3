//! A lease is lost by the holder's own clock, in time, once, and for good.

mod common;

use common::holding::*;
use common::*;
use leasehold::clock::Clock;
use leasehold::holder::{Ask, Delivery, Done, ErrorCode, Event, Input, LossReason};
use leasehold::time::{ClockBounds, Span};

/// ttl, D = 0.99·ttl − 10, and D less the lead of min(ttl / 20, 500).
const TABLE: [(u64, u64, u64); 7] = [
    (100, 89, 84),
    (200, 188, 178),
    (1_000, 980, 930),
    (5_000, 4_940, 4_690),
    (10_000, 9_890, 9_390),
    (15_000, 14_840, 14_340),
    (30_000, 29_690, 29_190),
];

#[test]
fn loss_comes_before_d_whatever_the_renewals_do() {
    for (ttl, d, ends) in TABLE {
        let hang: fn() -> Fate = || Fate::Hang;
        let fast: fn() -> Fate = || Fate::Fail(0, Delivery::Never);
        let slow: fn() -> Fate = || Fate::Fail(40, Delivery::Unknown);
        for fate in [hang, fast, slow] {
            let mut driver = Driver::held(config(ttl));
            driver.run(100_000, |_| fate());
            assert_eq!(
                driver.loss(),
                Some((at(ends), LossReason::Expired)),
                "ttl {ttl}"
            );
            assert!(ends < d);
        }
    }
}

#[test]
fn the_deadline_counts_from_the_send_whatever_the_answer_took() {
    for flight in [0, 20, 500, 900] {
        let mut driver = Driver::started(manual(1_000));
        driver.answer(flight, granted(2_001, 1, 1_000));
        assert_eq!(driver.remaining_ms(), 930 - flight);
        driver.run_until(5_000);
        assert_eq!(driver.loss(), Some((at(930), LossReason::Expired)));
    }
}

#[test]
fn after_a_wait_the_deadline_counts_from_the_grant() {
    // s = 0, the host kept the request for 1500: (1000 + 1500)·0.99 − 10 − 50 = 2415.
    let mut driver = Driver::started(waiting(1_000, 10_000));
    driver.answer(1_520, granted_after(2_001, 1, 1_000, 1_500));
    assert_eq!(driver.remaining_ms(), 895);
    // A host that claims more than the exchange took: (1000 + 1520)·0.99 − 60 = 2434.8.
    let mut driver = Driver::started(waiting(1_000, 10_000));
    driver.answer(1_520, granted_after(2_001, 1, 1_000, 9_000));
    assert_eq!(driver.remaining_ms(), 914);
}

#[test]
fn the_clock_decides_at_the_moment_of_asking_and_no_timer_is_needed() {
    let driver = Driver::held(manual(1_000));
    for (now, held, left) in [
        (20, true, 910),
        (929, true, 1),
        (930, false, 0),
        (1_300, false, 0),
    ] {
        assert_eq!(driver.machine.is_held(at(now)), held, "at {now}");
        assert_eq!(driver.machine.remaining(at(now)), ms(left), "at {now}");
        assert_eq!(driver.machine.is_overdue(at(now)), !held, "at {now}");
    }
}

#[test]
fn the_deadline_is_armed_in_the_drain_that_tells_of_the_grant() {
    for settings in [config(1_000), manual(1_000)] {
        let mut driver = Driver::started(settings);
        driver.answer(20, granted(2_001, 1, 1_000));
        let (due, _) = driver.wake.expect("a timer");
        assert!(due <= at(930));
        // An end between the grant and the first look is seen.
        assert!(!driver.machine.is_held(at(930)));
    }
}

#[test]
fn by_the_time_the_loss_is_told_nothing_is_held() {
    let mut driver = Driver::held(config(1_000));
    driver.machine.handle(at(930), Input::Wake);
    // Nothing has been drained yet.
    assert!(!driver.machine.is_held(at(0)), "time does not run back");
    assert!(driver.machine.remaining(at(0)).is_zero());
    assert!(!driver.machine.is_overdue(at(930)), "it has been told");
}

#[test]
fn a_late_success_revives_nothing() {
    let mut driver = Driver::held(config(5_000));
    driver.run_until(10_000);
    assert_eq!(driver.loss(), Some((at(4_690), LossReason::Expired)));
    let attempt = driver.last_attempt();
    driver.input(60_000, Input::Answered(attempt, renewed(5_000)));
    assert!(!driver.is_held());
    assert!(driver.closed);
}

#[test]
fn an_answer_that_comes_with_the_deadline_is_too_late() {
    let mut driver = Driver::held(config(1_000));
    driver.run(900, |_| Fate::Hang);
    let attempt = driver.last_attempt();
    driver.input(930, Input::Answered(attempt, renewed(1_000)));
    assert_eq!(driver.loss(), Some((at(930), LossReason::Expired)));
    assert!(!driver.is_held());
}

#[test]
fn no_tolerance_is_added_when_the_host_comes_back() {
    let mut driver = Driver::held(config(10_000));
    driver.run(100_000, |_| Fate::Answer(9_900, renewed(10_000)));
    assert_eq!(driver.loss(), Some((at(9_390), LossReason::Expired)));
    assert!(!driver.is_held());
}

#[test]
fn a_lost_lease_is_told_once_and_sends_nothing_more() {
    // The loop was blocked: the first look is long after the end, a renewal is due as well.
    for late in [930, 1_000, 100_000] {
        let mut driver = Driver::held(config(1_000));
        driver.input(late, Input::Wake);
        driver.run_until(late + 100_000);
        assert!(driver.sends.is_empty(), "{:?}", driver.sends);
        let told: Vec<&Event> = driver.events.iter().map(|(_, event)| event).collect();
        assert_eq!(told, [&Event::Lost(LossReason::Expired), &Event::Closed]);
    }
}

#[test]
fn failed_renewals_are_told_with_the_time_left_and_cost_nothing() {
    let mut driver = Driver::held(config(10_000));
    let mut tries = 0;
    driver.run(8_000, |_| {
        tries += 1;
        if tries <= 3 {
            Fate::Fail(10, Delivery::Unknown)
        } else {
            Fate::Answer(20, renewed(10_000))
        }
    });
    let failed: Vec<(u64, u64)> = driver
        .events
        .iter()
        .filter_map(|(at, event)| match event {
            Event::RenewFailed { failure, remaining } => {
                assert_eq!(failure.code, ErrorCode::Unavailable);
                Some((at.as_micros(), remaining.as_micros()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(failed.len(), 3);
    for (at, remaining) in failed {
        assert_eq!(at + remaining, 9_390_000, "time left until 9390");
    }
    assert_eq!(driver.loss(), None);
    assert!(driver.is_held());
}

#[test]
fn a_machine_that_slept_knows_at_its_first_look() {
    let hour = 3_600_000;
    // Both clocks jump; or the wall clock alone, the monotonic one having stopped in sleep.
    for monotonic in [hour, 100] {
        let mut clock = Clock::new();
        let mut driver = Driver::acquire(config(30_000));
        let start = clock.sample(ms(0), ms(hour));
        driver.step(start, Input::Start);
        let attempt = driver.last_attempt();
        let now = clock.sample(ms(20), ms(hour + 20));
        driver.step(now, Input::Answered(attempt, granted(2_001, 1, 30_000)));
        assert!(driver.is_held());
        let now = clock.sample(ms(20 + monotonic), ms(hour + 20 + hour));
        assert!(!driver.machine.is_held(now));
        assert!(driver.machine.is_overdue(now));
        driver.step(now, Input::Wake);
        assert_eq!(
            driver.loss().map(|(_, reason)| reason),
            Some(LossReason::Expired)
        );
    }
}

#[test]
fn a_wall_clock_set_back_lengthens_nothing() {
    let mut clock = Clock::new();
    let mut driver = Driver::acquire(manual(1_000));
    driver.step(clock.sample(ms(0), ms(7_200_000)), Input::Start);
    let attempt = driver.last_attempt();
    let now = clock.sample(ms(20), ms(7_200_020));
    driver.step(now, Input::Answered(attempt, granted(2_001, 1, 1_000)));
    assert!(driver.machine.is_held(clock.sample(ms(929), ms(3_600_929))));
    assert!(!driver.machine.is_held(clock.sample(ms(930), ms(3_600_930))));
}

#[test]
fn time_that_runs_back_is_clamped() {
    let mut driver = Driver::held(manual(1_000));
    driver.input(500, Input::Wake);
    driver.input(100, Input::Wake);
    assert_eq!(driver.machine.remaining(at(100)), ms(430));
    // A renewal asked for at "100" is sent at 500: (1000)·0.99 − 10 − 50 + 500 = 1430.
    driver.input(100, asked(Ask::Renew(None)));
    driver.answer(520, renewed(1_000));
    assert_eq!(driver.machine.remaining(at(520)), ms(910));
}

#[test]
fn a_renewal_never_shortens() {
    // Granted for 10 000 at s = 0: until 9390. Renewed at s = 100 for what the answer says.
    for (told, ends) in [(10_000, 9_490), (9_000, 9_390), (1_000, 9_390), (0, 9_390)] {
        let mut driver = Driver::held(manual(10_000));
        driver.input(100, asked(Ask::Renew(None)));
        driver.answer(120, renewed(told));
        assert_eq!(driver.remaining_ms(), ends - 120, "told {told}");
    }
}

#[test]
fn a_verification_shortens_nothing_and_keeps_the_lead() {
    // Asked at s = 5000, with the lead of the term of 10 000, which is 500:
    // 5000 + 9900·0.99 − 10 − 500 = 14 291; 5000 + 4450·0.99 − 510 = 8895.5 is earlier than 9390.
    for (told, ends) in [(0, 9_390), (1_000, 9_390), (4_450, 9_390), (9_900, 14_291)] {
        let mut driver = Driver::held(manual(10_000));
        driver.input(5_000, asked(Ask::Verify));
        driver.answer(5_020, renewed(told));
        assert_eq!(driver.remaining_ms(), ends - 5_020, "told {told}");
        assert_eq!(
            driver.events,
            [(at(5_020), Event::Settled(TICKET, Ok(Done::Verified)))]
        );
    }
}

#[test]
fn a_verification_does_not_put_the_warning_off() {
    let mut driver = Driver::held(config(30_000));
    driver.run(15_000, |_| Fate::Hang);
    driver.input(15_000, asked(Ask::Verify));
    driver.answer(15_020, renewed(15_000));
    driver.run_until(40_000);
    let warned = driver
        .events
        .iter()
        .find(|(_, event)| matches!(event, Event::Jeopardy { .. }));
    assert_eq!(
        warned.map(|(at, _)| *at),
        Some(at(20_000)),
        "two thirds of the term"
    );
}

#[test]
fn a_grant_that_is_dead_on_receipt_was_never_held() {
    let mut driver = Driver::started(config(200)); // D − lead = 178
    driver.answer(178, granted(2_001, 1, 200));
    assert!(!driver.is_held());
    assert_eq!(
        driver.failure().map(|failure| failure.code),
        Some(ErrorCode::Unavailable)
    );
    let mut driver = Driver::started(config(200));
    driver.answer(177, granted(2_001, 1, 200));
    assert!(driver.is_held());
}

#[test]
fn wider_clock_bounds_end_a_lease_earlier() {
    // ρ = 5 %, ε = 100 ms: 10 000·0.9 − 100 − 500 = 8400.
    let mut settings = manual(10_000);
    settings.bounds = ClockBounds {
        rate_error_ppm: 50_000,
        quantum: Span::from_millis(100),
    };
    let mut driver = Driver::held(settings);
    driver.run_until(20_000);
    assert_eq!(driver.loss(), Some((at(8_400), LossReason::Expired)));
}

#[test]
fn a_detached_lease_renews_no_more_and_still_ends_in_time() {
    let mut driver = Driver::held(config(1_000));
    driver.input(100, Input::Detach);
    driver.run(10_000, |_| Fate::Answer(20, renewed(1_000)));
    assert_eq!(driver.sent(is_renew), 0);
    assert_eq!(driver.loss(), Some((at(930), LossReason::Expired)));
}
