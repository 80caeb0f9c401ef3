//! On the way to a lease: one intention, as many attempts as it takes, nothing left behind.

mod common;

use common::holding::*;
use common::*;
use leasehold::holder::{Delivery, ErrorCode, Event, Grant, Input};
use leasehold::id::OpId;
use leasehold::protocol::{Code, Credential, Ended, Operation, Response};
use leasehold::time::Span;

fn ops(driver: &Driver) -> Vec<OpId> {
    let ops = driver.sends.iter().map(|(_, send)| send.request.op);
    ops.collect()
}

fn code(driver: &Driver) -> Option<ErrorCode> {
    driver.failure().map(|failure| failure.code)
}

#[test]
fn a_grant_is_told_with_its_fence_and_what_is_left_of_it() {
    let mut driver = Driver::started(config(1_000));
    assert_eq!(driver.last_operation(), &acquire("a", LEASE, 1_000, 0));
    driver.answer(20, granted(LEASE, u64::MAX, 1_000));
    let grant = Grant {
        lease: lease(LEASE),
        fence: fence(u64::MAX),
        slot: 0,
        wanted: 0,
        remaining: ms(910), // 930 − 20
    };
    assert_eq!(driver.events, [(at(20), Event::Granted(Box::new(grant)))]);
}

#[test]
fn without_a_wait_there_is_exactly_one_attempt() {
    for (what, response) in every_response() {
        let mut driver = Driver::started(config(1_000));
        driver.input(1, Input::Wake); // the clock ticks
        driver.answer(20, response);
        driver.run(100_000, |_| Fate::Answer(20, Response::Cancelled));
        assert_eq!(driver.sent(is_acquire), 1, "{what}");
    }
    for fate in [|| Fate::Hang, || Fate::Fail(20, Delivery::Never)] {
        let mut driver = Driver::started(config(1_000));
        driver.run(100_000, |send| match send.request.operation {
            Operation::Acquire(_) => fate(),
            _ => Fate::Answer(20, Response::Cancelled),
        });
        assert_eq!(driver.sent(is_acquire), 1);
        assert_eq!(code(&driver), Some(ErrorCode::Unavailable));
    }
}

#[test]
fn an_attempt_after_a_failure_is_the_same_op_and_adopts_the_grant() {
    let mut driver = Driver::started(waiting(1_000, 10_000));
    driver.fail(30, Delivery::Unknown);
    driver.run(200, |_| Fate::Hang);
    assert_eq!(ops(&driver), [op(1_001), op(1_001)]);
    let (again, _) = driver.sends[1];
    // The host granted at 10 and has that much less to tell; the deadline counts from the attempt
    // that is answered: s + 0.99·880 − 10 − 44.
    let now = again.as_millis_ceil() + 20;
    driver.answer(now, replayed(LEASE, 1, 880));
    let ends = again + Span::from_micros(871_200 - 10_000 - 44_000);
    assert_eq!(driver.machine.remaining(at(now)), ends.since(at(now)));
    // Nothing but the lease's own timers is left.
    assert!(driver.wake.is_some_and(|(wake, _)| wake <= ends));
    driver.run_until(10_000);
    assert!(driver.closed);
}

#[test]
fn only_a_certain_never_delivered_leaves_nothing_to_take_back() {
    for (delivery, cancels) in [(Delivery::Never, 0), (Delivery::Unknown, 1)] {
        let mut driver = Driver::started(config(1_000));
        driver.fail(20, delivery);
        assert_eq!(code(&driver), Some(ErrorCode::Unavailable));
        assert_eq!(driver.sent(is_cancel), cancels, "{delivery:?}");
        driver.run(10_000, |_| Fate::Answer(20, Response::Cancelled));
        assert!(driver.closed);
    }
}

#[test]
fn an_unanswered_acquire_is_cancelled_under_its_own_op() {
    let mut driver = Driver::started(config(1_000));
    driver.run(5_000, |_| Fate::Hang);
    assert_eq!(code(&driver), Some(ErrorCode::Unavailable));
    assert_eq!(driver.last_operation(), &Operation::Cancel);
    assert_eq!(ops(&driver), [op(1_001), op(1_001)]);
}

#[test]
fn every_acquire_ends_within_its_wait_and_the_time_for_one_operation() {
    for wait in [0, 1, 100, 1_000, 30_000] {
        let limit = at(wait + 5_000);
        let mut scripts: Vec<(String, Box<dyn Fn() -> Fate>)> = vec![
            ("hangs".into(), Box::new(|| Fate::Hang)),
            ("never".into(), Box::new(|| Fate::Fail(5, Delivery::Never))),
            (
                "reset".into(),
                Box::new(|| Fate::Fail(5, Delivery::Unknown)),
            ),
        ];
        for (what, response) in every_response() {
            for delay in [0, 20, 2_000] {
                let response = response.clone();
                let script = move || Fate::Answer(delay, response.clone());
                scripts.push((format!("{what} after {delay}"), Box::new(script)));
            }
        }
        for (what, script) in scripts {
            let mut driver = Driver::started(waiting(1_000, wait));
            driver.run(wait + 5_000, |_| script());
            let end = driver
                .events
                .iter()
                .find(|(_, event)| matches!(event, Event::Granted(_) | Event::Failed(_)));
            assert!(
                end.is_some_and(|(at, _)| *at <= limit),
                "{what}, wait {wait}"
            );
            let acquires = driver.sent(is_acquire);
            assert!(
                acquires <= 2 + usize::try_from(wait / 80).expect("small"),
                "{what}, wait {wait}: {acquires} attempts"
            );
        }
    }
}

#[test]
fn no_two_causes_share_a_code() {
    let cases = [
        (held_by("b", 500), ErrorCode::Held),
        (refused(Code::Denied, None), ErrorCode::Denied),
        (refused(Code::Invalid, None), ErrorCode::Invalid),
        (refused(Code::Unavailable, None), ErrorCode::Unavailable),
        (
            refused(Code::Unavailable, Some(100)),
            ErrorCode::Unavailable,
        ),
        (RELEASED, ErrorCode::Unavailable),
        (free(), ErrorCode::Unavailable),
    ];
    for (response, expected) in cases {
        let mut driver = Driver::started(config(1_000));
        driver.answer(20, response.clone());
        assert_eq!(code(&driver), Some(expected), "{response:?}");
    }
    let mut driver = Driver::started(config(1_000));
    driver.answer(20, held_by("b", 500));
    let failure = driver.failure().expect("failed");
    assert_eq!(failure.holder, Some(name("b")));
    assert_eq!(failure.retry_after, Some(ms(500)));
}

#[test]
fn a_wait_that_runs_out_behind_another_is_a_timeout() {
    let mut driver = Driver::started(waiting(1_000, 2_000));
    driver.run(60_000, |send| match send.request.operation {
        Operation::Acquire(_) => Fate::Answer(10, held_by("b", 5_000)),
        _ => Fate::Answer(10, Response::Cancelled),
    });
    assert_eq!(code(&driver), Some(ErrorCode::Timeout));
    assert_eq!(
        driver.failure().and_then(|failure| failure.holder.clone()),
        Some(name("b"))
    );
}

#[test]
fn a_denial_is_an_ops_outcome_and_asking_again_is_another_op() {
    let mut driver = Driver::started(waiting(1_000, 10_000));
    driver.answer(20, held_by("b", 1_000));
    driver.run(1_200, |_| Fate::Hang);
    assert_eq!(ops(&driver), [op(1_001), op(1_002)]);
    assert_eq!(
        driver.last_operation(),
        &Operation::Acquire(leasehold::protocol::Acquire::new(
            name("a"),
            lease(LEASE + 1),
            ms(1_000),
            at(10_000).since(driver.sends[1].0)
        ))
    );
}

#[test]
fn a_host_that_asks_for_no_pause_at_all_is_not_asked_in_a_storm() {
    let mut driver = Driver::started(waiting(1_000, 10_000));
    driver.run(10_000, |_| {
        Fate::Answer(1, refused(Code::Unavailable, Some(0)))
    });
    // 100, 200, 400, 800, 1600, then 2000 ms apart.
    assert!(driver.sent(is_acquire) <= 10, "{}", driver.sent(is_acquire));
}

#[test]
fn a_host_that_names_a_pause_is_not_asked_sooner() {
    let answers = [
        held_by("b", 700),
        Response::Queued {
            ahead: 1,
            retry_after: ms(700),
        },
        refused(Code::Unavailable, Some(700)),
    ];
    for response in answers {
        // Whether the answer comes quickly or slowly.
        for flight in [1, 50, 100, 150, 400] {
            let mut driver = Driver::started(waiting(1_000, 20_000));
            driver.run(10_000, |_| Fate::Answer(flight, response.clone()));
            for pair in driver.sends.windows(2) {
                let pause = pair[1].0.since(pair[0].0);
                assert!(
                    pause >= ms(700 + flight),
                    "{pause:?} with {response:?}, flight {flight}"
                );
                // A host that refuses over and over is asked less and less, up to 2 s ± 10 %.
                let longest = match response {
                    Response::Refused(_) => 2_201,
                    _ => 771,
                };
                assert!(
                    pause <= ms(longest + flight),
                    "{pause:?} with {response:?}, flight {flight}"
                );
            }
        }
    }
    let mut driver = Driver::started(waiting(1_000, 20_000));
    driver.input(20, failure_asking(driver.last_attempt(), ms(700)));
    driver.run(800, |_| Fate::Hang);
    assert!(driver.sends[1].0 >= at(720), "{:?}", driver.sends[1].0);
}

#[test]
fn failures_are_met_with_growing_pauses() {
    let mut driver = Driver::started(waiting(1_000, 60_000));
    driver.run(60_000, |_| Fate::Fail(0, Delivery::Unknown));
    let gaps: Vec<Span> = driver
        .sends
        .windows(2)
        .map(|pair| pair[1].0.since(pair[0].0))
        .collect();
    // 100, 200, 400, 800, 1600, then 2000, each ± 10 %.
    for (gap, expected) in gaps
        .iter()
        .zip([100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000])
    {
        assert!(
            (ms(expected * 9 / 10)..=ms(expected * 11 / 10)).contains(gap),
            "{gap:?} for {expected}"
        );
    }
}

#[test]
fn a_queued_waiter_polls_at_once_where_the_host_lets_it_wait() {
    let mut driver = Driver::started(waiting(1_000, 60_000));
    driver.answer(20_010, queued(3));
    assert!(
        driver
            .events
            .contains(&(at(20_010), Event::Queued { ahead: 3 }))
    );
    let (sent, send) = &driver.sends[1];
    assert_eq!(*sent, at(20_010));
    assert_eq!(send.request.op, op(1_001), "the place belongs to the op");
    let Operation::Acquire(acquire) = &send.request.operation else {
        panic!("a poll is an acquire");
    };
    assert_eq!(acquire.wait, ms(39_990));
}

#[test]
fn a_host_that_lets_nobody_wait_is_polled_at_a_bounded_rate() {
    let mut driver = Driver::started(waiting(1_000, 10_000));
    driver.run(10_000, |_| Fate::Answer(1, queued(1)));
    let polls = driver.sent(is_acquire);
    assert!((80..=112).contains(&polls), "{polls} polls in 10 s");
}

#[test]
fn a_first_request_lost_in_silence_costs_a_part_of_the_wait_only() {
    let mut driver = Driver::started(waiting(1_000, 10_000));
    let mut attempts = 0;
    driver.run(9_000, |send| {
        attempts += usize::from(is_acquire(&send.request.operation));
        match (attempts, is_acquire(&send.request.operation)) {
            (1, _) => Fate::Hang,
            (_, true) => Fate::Answer(10, granted(LEASE, 1, 1_000)),
            (_, false) => Fate::Answer(10, renewed(1_000)),
        }
    });
    let granted = driver
        .events
        .iter()
        .find(|(_, event)| matches!(event, Event::Granted(_)));
    // A poll of this term lasts 2 s; another attempt goes out a second later.
    let granted = granted.map(|(granted_at, _)| *granted_at);
    assert_eq!(granted, Some(at(3_010)));
}

#[test]
fn an_hour_of_waiting_keeps_nothing() {
    let mut driver = Driver::started(waiting(30_000, 3_600_000));
    driver.run(3_500_000, |_| Fate::Answer(20_000, queued(1)));
    assert_eq!(code(&driver), None);
    // A second one after 2.5 s without a word, answered at 22.5 s; then one every 20 s.
    assert_eq!(driver.sent(is_acquire), 176);
    assert!(driver.dropped.is_empty());
}

#[test]
fn a_grant_that_comes_too_late_is_given_back_and_asked_for_anew() {
    let mut driver = Driver::started(waiting(200, 10_000));
    driver.answer(300, granted(LEASE, 1, 200));
    driver.run(500, |_| Fate::Hang);
    assert_eq!(driver.sent(is_release), 1);
    assert_eq!(driver.sent(is_acquire), 2);
    let released = driver
        .sends
        .iter()
        .find(|(_, send)| is_release(&send.request.operation));
    assert_eq!(
        released.map(|(_, send)| send.request.operation.clone()),
        Some(of(1, release(LEASE)))
    );
    let (_, again) = driver.sends.last().expect("sent");
    assert_ne!(again.request.op, op(1_001), "another op, another grant");
}

#[test]
fn the_last_try_that_comes_too_late_is_given_back_and_fails() {
    let mut driver = Driver::started(config(200));
    driver.answer(300, granted(LEASE, 1, 200));
    assert_eq!(code(&driver), Some(ErrorCode::Unavailable));
    assert_eq!(driver.sent(is_release), 1);
    assert_eq!(driver.sent(is_cancel), 0);
    driver.answer(600, RELEASED);
    assert!(driver.closed);
}

#[test]
fn whatever_sends_a_waiter_back_to_the_start_it_pauses_between_the_starts() {
    let answers = [
        granted(LEASE, 1, 0),
        Response::Cancelled,
        not_holder(Ended::Expired),
        not_holder(Ended::Finished),
        held_by("b", 0),
        Response::Revoked(1),
    ];
    for response in answers {
        let mut driver = Driver::started(waiting(1_000, 10_000));
        driver.run(10_000, |_| Fate::Answer(1, response.clone()));
        let acquires = driver.sent(is_acquire);
        assert!(acquires <= 112, "{response:?}: {acquires} acquires in 10 s");
    }
}

#[test]
fn an_abort_is_told_at_once_and_takes_everything_back() {
    let mut driver = Driver::started(waiting(1_000, 10_000));
    driver.input(30, Input::Cancel);
    assert_eq!(code(&driver), Some(ErrorCode::Aborted));
    assert_eq!(driver.last_operation(), &Operation::Cancel);
    assert_eq!(ops(&driver), [op(1_001), op(1_001)]);
    assert_eq!(driver.dropped.len(), 1, "the acquire is awaited no more");
    driver.answer(50, Response::Cancelled);
    assert!(driver.closed);
    let told: Vec<&Event> = driver.events.iter().map(|(_, event)| event).collect();
    assert!(
        matches!(told[..], [Event::Failed(_), Event::Closed]),
        "{told:?}"
    );
}

#[test]
fn a_grant_that_arrives_after_the_abort_is_given_back() {
    let mut driver = Driver::started(waiting(1_000, 10_000));
    let acquire = driver.last_attempt();
    driver.input(30, Input::Cancel);
    driver.input(150, Input::Answered(acquire, granted(LEASE, 1, 1_000)));
    assert!(!driver.is_held());
    assert_eq!(driver.last_operation(), &of(1, release(LEASE)));
}

#[test]
fn an_abort_during_a_pause_is_told_at_once() {
    let mut driver = Driver::started(waiting(1_000, 10_000));
    driver.fail(5, Delivery::Never);
    driver.input(20, Input::Cancel);
    assert_eq!(code(&driver), Some(ErrorCode::Aborted));
    assert!(driver.closed, "nothing was delivered: nothing to take back");
    assert_eq!(driver.wake, None);
}

#[test]
fn an_abort_in_the_queue_gives_the_place_up() {
    let mut driver = Driver::started(waiting(1_000, 60_000));
    driver.answer(10, queued(1)); // quick: the next poll is due later
    driver.input(20, Input::Cancel);
    assert_eq!(driver.sent(is_cancel), 1);
}

#[test]
fn taking_back_is_tried_again_and_given_up_in_bounded_time() {
    let mut driver = Driver::started(config(1_000));
    driver.input(10, Input::Cancel);
    driver.run(60_000, |_| Fate::Fail(5, Delivery::Unknown));
    let (last, _) = driver.events.last().expect("closed");
    assert!(driver.closed && *last <= at(5_010), "{last:?}");
    let cancels = driver.sent(is_cancel);
    assert!((2..=10).contains(&cancels), "{cancels}");
}

#[test]
fn resuming_claims_the_lease_under_a_new_id() {
    let mut driver = Driver::resume(config(10_000), by_lease(500));
    driver.input(0, Input::Start);
    let claim = transfer(by_lease(500), "a", LEASE, 10_000);
    assert_eq!(driver.last_operation(), &claim);
    driver.fail(30, Delivery::Unknown);
    driver.run(200, |_| Fate::Hang);
    assert_eq!(
        ops(&driver),
        [op(1_001), op(1_001)],
        "a lost answer is asked for again"
    );
    let now = driver.now.as_millis_ceil();
    driver.answer(now, replayed(LEASE, 8, 9_900));
    assert!(driver.is_held());
}

#[test]
fn resuming_believes_no_grant_whose_fence_is_not_above_that_of_the_handle() {
    let handle = Credential {
        fence: Some(fence(7)),
        ..by_lease(500)
    };
    for told in [0, 6, 7] {
        let mut driver = Driver::resume(config(10_000), handle);
        driver.input(0, Input::Start);
        driver.answer(20, granted(LEASE, told, 10_000));
        assert!(!driver.is_held(), "{told}");
        // It may have been carried out all the same, and is asked for again.
        driver.run(1_000, |_| Fate::Hang);
        driver.answer(1_000, replayed(LEASE, 8, 9_000));
        assert!(driver.is_held(), "{told}");
    }
}

#[test]
fn resuming_what_somebody_else_has_claimed_is_lost() {
    for ended in [Ended::Transferred, Ended::Expired, Ended::Unknown] {
        let mut driver = Driver::resume(config(10_000), by_lease(500));
        driver.input(0, Input::Start);
        driver.answer(20, not_holder(ended));
        let failure = driver.failure().expect("failed");
        assert_eq!(
            (failure.code, failure.reason.as_ref()),
            (ErrorCode::Lost, ended.name())
        );
        assert!(driver.closed);
    }
}
