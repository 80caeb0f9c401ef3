//! What a lease is asked for with, and the longest that it is held. Who waits for the key.

mod common;

use common::holding::*;
use common::*;
use leasehold::holder::{Ask, Config, ErrorCode, Event, Input, LossReason, Ticket};
use leasehold::name::Fingerprint;
use leasehold::protocol::{Acquire, Granted, Limit, Operation, Response};
use leasehold::time::Instant;

fn most(ttl: u64, max_hold: u64) -> Config {
    Config {
        max_hold: Some(ms(max_hold)),
        ..config(ttl)
    }
}

/// The terms that renewals asked for, in milliseconds.
fn asked_for(driver: &Driver) -> Vec<u64> {
    let terms = driver
        .sends
        .iter()
        .filter_map(|(_, send)| match send.request.operation {
            Operation::Renew { ttl, .. } => Some(ttl.as_millis_floor()),
            _ => None,
        });
    terms.collect()
}

/// Lives through it with a host that does as asked, 10 ms away each way.
fn live(driver: &mut Driver, until: u64) {
    driver.run(until, |send| match send.request.operation {
        Operation::Renew { ttl, .. } => Fate::Answer(20, renewed(ttl.as_millis_floor())),
        _ => Fate::Hang,
    });
}

#[test]
fn what_is_asked_for_is_what_was_set() {
    let driver = Driver::started(Config {
        limit: Limit::parse(5).unwrap(),
        steal: true,
        fingerprint: Fingerprint::parse("v1").ok(),
        ..config(1_000)
    });
    let Operation::Acquire(acquire) = driver.last_operation() else {
        panic!("{:?}", driver.last_operation());
    };
    let plain = Acquire::new(name("a"), lease(LEASE), ms(1_000), ms(0));
    assert_eq!(
        *acquire,
        Acquire {
            limit: Limit::parse(5).unwrap(),
            steal: true,
            fingerprint: Fingerprint::parse("v1").ok(),
            ..plain
        }
    );
}

#[test]
fn no_renewal_reaches_beyond_the_longest_hold() {
    let mut driver = Driver::held(most(9_000, 20_000));
    live(&mut driver, 40_000);
    for (sent, send) in &driver.sends {
        if let Operation::Renew { ttl, .. } = send.request.operation {
            assert!(*sent + ttl <= at(20_000), "{sent:?} + {ttl:?}");
        }
    }
    let (lost, reason) = driver.loss().expect("it ends");
    assert_eq!(reason, LossReason::MaxHold);
    assert!(lost <= at(20_000) && lost > at(17_000), "{lost:?}");
    assert!(asked_for(&driver).len() < 10, "{:?}", asked_for(&driver));
}

#[test]
fn a_first_term_is_no_longer_than_the_longest_hold() {
    let mut driver = Driver::started(most(30_000, 2_000));
    let asked = acquire("a", LEASE, 2_000, 0);
    assert_eq!(driver.last_operation(), &asked);
    driver.answer(20, granted(LEASE, 1, 2_000));
    live(&mut driver, 10_000);
    assert_eq!(asked_for(&driver), []);
    let (lost, reason) = driver.loss().expect("it ends");
    assert_eq!(reason, LossReason::MaxHold);
    // 2000 · 0.99 − 10 − 100: the lead is a twentieth of the term.
    assert_eq!(lost, at(1_870));
}

#[test]
fn a_host_that_tells_more_than_was_asked_is_not_believed() {
    let mut driver = Driver::held(most(9_000, 20_000));
    driver.run(19_000, |send| match send.request.operation {
        Operation::Renew { .. } => Fate::Answer(20, renewed(9_000)),
        _ => Fate::Hang,
    });
    driver.run(40_000, |_| Fate::Hang);
    let (lost, reason) = driver.loss().expect("it ends");
    assert_eq!(reason, LossReason::MaxHold);
    assert!(lost <= at(20_000), "{lost:?}");
}

#[test]
fn without_a_limit_it_is_held_for_as_long_as_it_is_renewed() {
    let mut driver = Driver::held(config(9_000));
    live(&mut driver, 200_000);
    assert!(driver.is_held());
}

#[test]
fn who_waits_is_told_when_it_is_another_number() {
    let wanted = |driver: &Driver| -> Vec<u32> {
        let told = driver.events.iter().filter_map(|(_, event)| match event {
            Event::Wanted { waiters } => Some(*waiters),
            _ => None,
        });
        told.collect()
    };
    let mut driver = Driver::started(config(9_000));
    let Response::Granted(grant) = granted(LEASE, 1, 9_000) else {
        unreachable!()
    };
    driver.answer(20, Response::Granted(Granted { wanted: 2, ..grant }));
    assert!(matches!(&driver.events[0].1, Event::Granted(grant) if grant.wanted == 2));
    let mut now = 100;
    for waiters in [2, 3, 3, 0] {
        driver.input(now, asked(Ask::Renew(None)));
        let answer = Response::Renewed {
            about: Some(fence(1)),
            ttl: ms(9_000),
            wanted: waiters,
        };
        let attempt = driver.last_attempt();
        driver.input(now + 20, Input::Answered(attempt, answer));
        now += 100;
    }
    assert_eq!(wanted(&driver), [3, 0]);
}

#[test]
fn so_many_wait_for_one_answer_and_more_are_refused() {
    const CALLS: u32 = 3_000;
    for ask in [Ask::Verify, Ask::Renew(None), Ask::Release] {
        let mut driver = Driver::held(config(30_000));
        for ticket in 0..CALLS {
            driver.input(1_000, Input::Ask(Ticket(ticket), ask.clone()));
        }
        let refused = |(_, event): &&(Instant, Event)| {
            matches!(event, Event::Settled(_, Err(failure))
                if failure.code == ErrorCode::Unavailable && failure.reason == "too-many-calls")
        };
        // One question is under way, and 1,024 wait for the next; of a release there is only one.
        let waiting = 1_024 + u32::from(ask != Ask::Release);
        let count = driver.events.iter().filter(refused).count();
        assert_eq!(count, (CALLS - waiting) as usize, "{ask:?}");
        // Whoever was not refused is told in the end, too.
        driver.run(100_000, |_| Fate::Hang);
        let settled = driver.events.iter().filter_map(|(_, event)| match event {
            Event::Settled(Ticket(ticket), _) => Some(*ticket),
            _ => None,
        });
        let mut settled: Vec<u32> = settled.collect();
        settled.sort_unstable();
        assert_eq!(settled, (0..CALLS).collect::<Vec<_>>(), "{ask:?}");
    }
}

#[test]
fn an_answer_with_more_than_was_asked_for_is_not_believed_however_long_the_asker_wanted_it() {
    let mut driver = Driver::held(most(2_000, 2_000));
    driver.input(40, Input::Ask(TICKET, Ask::Renew(Some(ms(30_000)))));
    assert_eq!(asked_for(&driver), [1_960]);
    driver.answer(60, renewed(30_000));
    // 2000 · 0.99 − 10 − 100: the first term's end.
    assert_eq!(at(60) + driver.machine.remaining(at(60)), at(1_870));
}
