//! Release and transfer: out at once, through once, and nothing lives on.

mod common;

use std::sync::Arc;

use common::holding::*;
use common::*;
use leasehold::holder::{
    Ask, Delivery, Done, ErrorCode, Event, Failure, Input, LossReason, Release, Successor,
};
use leasehold::protocol::{Code, Ended, Operation, Response};

fn lost(reason: &'static str) -> Arc<Failure> {
    Arc::new(Failure {
        code: ErrorCode::Lost,
        reason: reason.into(),
        message: "".into(),
        holder: None,
        retry_after: None,
        finished: None,
    })
}

fn told(driver: &Driver) -> Vec<Event> {
    let events = driver.events.iter().map(|(_, event)| event.clone());
    events.collect()
}

fn released(how: Release) -> [Event; 3] {
    [
        Event::Released(how),
        Event::Settled(TICKET, Ok(Done::Released(how))),
        Event::Closed,
    ]
}

/// What is told of a release to which the host has answered so: whoever asked hears why.
fn refused_release(answer: Response) -> [Event; 3] {
    let Response::Refused(refusal) = answer else {
        panic!("not refused: {answer:?}");
    };
    [
        Event::Released(Release::Unconfirmed),
        Event::Settled(TICKET, Err(Arc::new((&refusal).into()))),
        Event::Closed,
    ]
}

fn events(driver: &Driver) -> Vec<&Event> {
    driver.events.iter().map(|(_, event)| event).collect()
}

#[test]
fn a_release_ends_the_lease_before_its_request_leaves() {
    let mut driver = Driver::held(config(10_000));
    driver.machine.handle(at(100), asked(Ask::Release));
    assert!(
        !driver.machine.is_held(at(100)),
        "nothing has been drained yet"
    );
    let mut driver = Driver::held(config(10_000));
    driver.input(100, asked(Ask::Release));
    assert_eq!(driver.last_operation(), &of(1, release(LEASE)));
    driver.answer(120, RELEASED);
    assert_eq!(told(&driver), released(Release::Done));
    assert_eq!(driver.wake, None);
}

#[test]
fn a_release_after_the_end_sends_nothing() {
    for late in [9_390, 100_000] {
        let mut driver = Driver::held(config(10_000));
        driver.input(late, asked(Ask::Release));
        assert_eq!(driver.sent(is_release), 0);
        assert_eq!(
            events(&driver),
            [
                &Event::Lost(LossReason::Expired),
                &Event::Settled(TICKET, Err(lost("expired"))),
                &Event::Closed
            ]
        );
    }
}

#[test]
fn a_release_whose_answer_was_lost_is_repeated_under_its_op() {
    let mut driver = Driver::held(config(10_000));
    driver.input(100, asked(Ask::Release));
    driver.fail(120, Delivery::Unknown);
    driver.run(300, |_| Fate::Hang);
    let ops: Vec<_> = driver
        .sends
        .iter()
        .map(|(_, send)| send.request.op)
        .collect();
    assert_eq!(ops.len(), 2);
    assert_eq!(ops[0], ops[1]);
    let now = driver.now.as_millis_ceil();
    driver.answer(now, not_holder(Ended::Released));
    let gone = Release::NotHeld(Ended::Released);
    assert_eq!(told(&driver), released(gone));
}

#[test]
fn after_a_release_the_renewal_under_way_is_nobodys() {
    for late in [renewed(10_000), not_holder(Ended::Released)] {
        let mut driver = Driver::held(config(10_000));
        driver.run_until(4_000);
        let renewals: Vec<_> = driver.sends.iter().map(|(_, send)| send.attempt).collect();
        assert!(renewals.len() > 1);
        driver.input(4_000, asked(Ask::Release));
        assert_eq!(driver.dropped, renewals);
        driver.input(4_010, Input::Answered(renewals[0], late.clone()));
        driver.answer(4_020, RELEASED);
        driver.input(4_030, Input::Answered(renewals[1], late));
        driver.run_until(100_000);
        assert_eq!(told(&driver), released(Release::Done));
        assert_eq!(driver.sent(is_renew), renewals.len());
    }
}

#[test]
fn acquire_and_release_back_to_back_send_no_renewal() {
    let mut driver = Driver::started(config(1_000));
    driver.answer(20, granted(LEASE, 1, 1_000));
    driver.input(20, asked(Ask::Release));
    driver.run(100_000, |send| match send.request.operation {
        Operation::Release(_) => Fate::Answer(20, RELEASED),
        _ => Fate::Hang,
    });
    assert_eq!(driver.sent(is_renew), 0);
    assert!(driver.closed);
}

#[test]
fn a_second_release_is_no_second_request() {
    let mut driver = Driver::held(config(10_000));
    driver.input(100, asked(Ask::Release));
    driver.input(100, asked(Ask::Release));
    driver.input(110, asked(Ask::Release));
    driver.answer(120, RELEASED);
    driver.input(130, asked(Ask::Release));
    assert_eq!(driver.sent(is_release), 1);
    let done = || Event::Settled(TICKET, Ok(Done::Released(Release::Done)));
    assert_eq!(
        told(&driver),
        [
            Event::Released(Release::Done),
            done(),
            done(),
            done(),
            Event::Closed,
            Event::Settled(TICKET, Err(lost("released")))
        ]
    );
}

#[test]
fn a_release_that_the_host_will_not_do_is_left_to_the_terms_end() {
    for code in [Code::Denied, Code::Invalid, Code::Unavailable] {
        let mut driver = Driver::held(config(10_000));
        driver.input(100, asked(Ask::Release));
        driver.answer(120, refused(code, None));
        assert!(!driver.is_held());
        assert_eq!(told(&driver), refused_release(refused(code, None)));
    }
}

#[test]
fn a_release_without_an_answer_is_given_up_in_bounded_time() {
    for fate in [|| Fate::Hang, || Fate::Fail(1, Delivery::Unknown)] {
        let mut driver = Driver::held(config(60_000));
        driver.input(100, asked(Ask::Release));
        driver.run(100_000, |_| fate());
        assert_eq!(
            driver.events[0],
            (at(5_100), Event::Released(Release::Unconfirmed))
        );
        assert!(driver.closed);
        assert!(driver.sent(is_release) <= 10);
    }
}

#[test]
fn every_answer_to_a_release_ends_in_one_released_and_nothing_else() {
    for (what, response) in every_response() {
        let mut driver = Driver::held(config(60_000));
        driver.input(100, asked(Ask::Release));
        driver.run(100_000, |_| Fate::Answer(20, response.clone()));
        let expected = match response {
            Response::Released { .. } => released(Release::Done),
            Response::NotHolder { ended, .. } => released(Release::NotHeld(ended)),
            Response::Refused(ref refusal) if refusal.retry_after.is_none() => {
                refused_release(response)
            }
            _ => released(Release::Unconfirmed),
        };
        assert_eq!(told(&driver), expected, "{what}");
        assert!(driver.sent(is_release) <= 60, "{what}");
    }
}

#[test]
fn a_transfer_ends_the_lease_before_its_request_leaves() {
    let mut driver = Driver::held(config(10_000));
    driver.input(100, hand_over());
    assert!(!driver.is_held());
    assert_eq!(
        driver.last_operation(),
        &of(1, transfer(by_lease(LEASE), "b", 900, 5_000))
    );
    driver.answer(120, granted(900, 2, 5_000));
    let successor = Successor {
        holder: name("b"),
        lease: lease(900),
        fence: fence(2),
        ttl: ms(5_000),
    };
    assert_eq!(
        events(&driver),
        [
            &Event::Transferred,
            &Event::Settled(TICKET, Ok(Done::Transferred(Box::new(successor)))),
            &Event::Closed
        ]
    );
    driver.run_until(100_000);
    assert_eq!(driver.sends.len(), 1, "the giver is out");
}

#[test]
fn a_repeated_transfer_keeps_its_op() {
    let mut driver = Driver::held(config(10_000));
    driver.input(100, hand_over());
    driver.fail(120, Delivery::Unknown);
    driver.run(300, |_| Fate::Answer(5, replayed(900, 2, 4_900)));
    let ops: Vec<_> = driver
        .sends
        .iter()
        .map(|(_, send)| send.request.op)
        .collect();
    assert_eq!(ops.len(), 2);
    assert_eq!(ops[0], ops[1]);
    assert!(matches!(
        events(&driver)[..],
        [Event::Transferred, Event::Settled(_, Ok(_)), Event::Closed]
    ));
}

#[test]
fn a_refused_transfer_has_not_happened_and_the_lease_goes_on() {
    for code in [Code::Denied, Code::Invalid, Code::Unavailable] {
        let mut driver = Driver::held(config(10_000));
        driver.input(100, hand_over());
        driver.answer(120, refused(code, None));
        assert!(matches!(events(&driver)[..], [Event::Settled(_, Err(_))]));
        assert!(driver.is_held());
        assert_eq!(driver.remaining_ms(), 9_390 - 120);
        driver.run(30_000, |_| Fate::Answer(20, renewed(10_000)));
        assert!(driver.is_held(), "and is renewed");
    }
}

#[test]
fn a_transfer_refused_after_an_attempt_in_doubt_does_not_come_back() {
    // The first attempt may have been carried out: the successor may hold the key already.
    let unreadable = every_response().into_iter().filter(|(_, response)| {
        !matches!(
            response,
            Response::Granted(_) | Response::NotHolder { .. } | Response::Refused(_)
        )
    });
    for (what, response) in unreadable
        .map(|(what, response)| (what, Some(response)))
        .chain([("lost", None)])
    {
        let mut driver = Driver::held(config(60_000));
        driver.input(100, hand_over());
        match response {
            Some(response) => driver.answer(120, response),
            None => driver.fail(120, Delivery::Unknown),
        };
        driver.run(300, |_| Fate::Hang);
        assert_eq!(driver.sent(is_transfer), 2, "{what}");
        driver.answer(320, refused(Code::Unavailable, None));
        assert!(!driver.is_held(), "{what}");
        assert!(driver.loss().is_some(), "{what}");
    }
    // After one that was certainly not, it does.
    let mut driver = Driver::held(config(60_000));
    driver.input(100, hand_over());
    driver.fail(120, Delivery::Never);
    driver.run(300, |_| Fate::Hang);
    driver.answer(320, refused(Code::Unavailable, None));
    assert!(driver.is_held());
}

#[test]
fn a_transfer_refused_after_the_end_of_the_term_is_a_loss() {
    let mut driver = Driver::held(config(1_000));
    driver.input(900, hand_over());
    driver.answer_to(is_transfer, 930, refused(Code::Denied, None));
    assert!(matches!(
        events(&driver)[..],
        [
            Event::Settled(_, Err(_)),
            Event::Lost(LossReason::Expired),
            Event::Closed
        ]
    ));
}

#[test]
fn every_answer_to_a_transfer_settles_it_once_and_ends_the_lease_once() {
    let foreign = every_response().into_iter();
    for (what, response) in foreign.chain([("the one asked for", granted(900, 2, 5_000))]) {
        let mut driver = Driver::held(config(60_000));
        driver.input(100, hand_over());
        driver.run(4_000_000, |send| match send.request.operation {
            Operation::Transfer(_) => Fate::Answer(20, response.clone()),
            _ => Fate::Hang,
        });
        let told = events(&driver);
        let settled = told
            .iter()
            .filter(|event| matches!(event, Event::Settled(..)));
        assert_eq!(settled.count(), 1, "{what}: {told:?}");
        let ends = told.iter().filter(|event| is_terminal(event)).count();
        assert_eq!(ends, 1, "{what}: {told:?}");
        assert!(driver.closed, "{what}");
        assert!(driver.sent(is_transfer) <= 60, "{what}");
        let yes = told.iter().any(|event| matches!(event, Event::Transferred));
        assert_eq!(yes, what == "the one asked for");
    }
}

#[test]
fn a_transfer_without_an_answer_is_in_doubt_and_the_lease_is_lost() {
    let mut driver = Driver::held(config(60_000));
    driver.input(100, hand_over());
    driver.run(100_000, |_| Fate::Hang);
    let told = events(&driver);
    assert!(
        matches!(told[..], [Event::Settled(_, Err(failure)), Event::Lost(LossReason::NotHolder(Ended::Unknown)), Event::Closed]
            if failure.code == ErrorCode::Unavailable),
        "{told:?}"
    );
}

#[test]
fn the_successors_lease_is_never_given_back_by_the_giver() {
    // A first grant came too late and its return is still under way when the lease that followed
    // is handed over; then the answer to the transfer's first attempt arrives after all.
    let mut driver = Driver::started(waiting(60_000, 60_000));
    driver.answer(2_000, granted(LEASE, 1, 1_000));
    driver.run(2_500, |_| Fate::Hang);
    assert_eq!(driver.sent(is_release), 1);
    let now = driver.now.as_millis_ceil();
    driver.answer(now, granted(LEASE + 1, 2, 60_000));
    assert!(driver.is_held());
    driver.input(now + 10, hand_over());
    let first = driver.last_attempt();
    driver.input(now + 20, failure(first, Delivery::Unknown));
    driver.run(now + 200, |_| Fate::Hang);
    assert_eq!(driver.sent(is_transfer), 2);
    driver.answer(now + 210, granted(900, 3, 5_000));
    driver.input(now + 220, Input::Answered(first, granted(900, 3, 5_000)));
    let given_back: Vec<_> = driver
        .sends
        .iter()
        .filter(|(_, send)| send.request.operation == release(900))
        .collect();
    assert!(given_back.is_empty(), "{given_back:?}");
}

#[test]
fn whoever_waits_for_an_outcome_is_told_when_the_lease_ends() {
    let ends: [(&str, Input); 4] = [
        ("release", asked(Ask::Release)),
        ("transfer", hand_over()),
        ("loss", Input::Wake),
        ("no", Input::Wake),
    ];
    for (what, end) in ends {
        let mut driver = Driver::held(config(10_000));
        driver.input(100, asked(Ask::Renew(None)));
        driver.input(100, asked(Ask::Verify));
        let when = if what == "loss" { 9_390 } else { 110 };
        driver.input(when, end);
        match what {
            // It may be refused, and the lease come back.
            "transfer" => {
                assert!(driver.events.is_empty());
                driver.answer(130, granted(900, 2, 5_000));
            }
            "no" => {
                driver.answer(130, not_holder(Ended::Revoked));
            }
            _ => {}
        }
        let lost = |event: &Event| match event {
            Event::Settled(_, Err(failure)) => failure.code == ErrorCode::Lost,
            _ => false,
        };
        let told = events(&driver)
            .into_iter()
            .filter(|event| lost(event))
            .count();
        assert_eq!(told, 2, "{what}: {:?}", driver.events);
    }
}

#[test]
fn terms_that_no_host_grants_are_refused_before_anything_is_sent() {
    for ttl in [0, 1, 99, 86_400_001] {
        let mut driver = Driver::held(config(10_000));
        driver.input(100, asked(Ask::Renew(Some(ms(ttl)))));
        driver.input(
            100,
            asked(Ask::Transfer {
                successor: name("b"),
                lease: lease(900),
                ttl: ms(ttl),
            }),
        );
        let told = events(&driver);
        assert!(
            matches!(told[..], [Event::Settled(_, Err(renewal)), Event::Settled(_, Err(transfer))]
                if renewal.code == ErrorCode::Invalid && transfer.code == ErrorCode::Invalid),
            "ttl {ttl}: {told:?}"
        );
        assert!(driver.sends.is_empty());
        assert!(driver.is_held());
    }
}
