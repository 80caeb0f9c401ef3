//! Finishing: out at once, one result, and nothing lives on. Being told that somebody else has.

mod common;

use common::holding::*;
use common::*;
use leasehold::holder::{Ask, Delivery, Done, ErrorCode, Event, Input, LossReason, State};
use leasehold::json::Json;
use leasehold::protocol::{self, Code, Ended, Finish, Operation, Response};
use leasehold::time::Span;

const FINISHED: Response = Response::Finished { about: None };
const KEEP: Span = Span::from_secs(60);

fn finish() -> Input {
    asked(Ask::Finish {
        result: Json::parse("{\"n\":1}").unwrap(),
        keep: KEEP,
    })
}

fn finishing() -> Driver {
    let mut driver = Driver::held(config(10_000));
    driver.input(100, finish());
    driver
}

fn is_finish(operation: &Operation) -> bool {
    matches!(operation, Operation::Finish(_))
}

fn outcome(driver: &Driver) -> Option<Result<Done, ErrorCode>> {
    driver.events.iter().find_map(|(_, event)| match event {
        Event::Settled(TICKET, outcome) => Some(outcome.clone().map_err(|failure| failure.code)),
        _ => None,
    })
}

#[test]
fn a_finish_ends_the_lease_before_its_request_leaves() {
    let mut driver = finishing();
    assert!(!driver.is_held());
    assert_eq!(driver.machine.state(), State::Releasing);
    let Operation::Finish(Finish {
        credential,
        result,
        keep,
    }) = driver.last_operation()
    else {
        panic!("{:?}", driver.last_operation());
    };
    assert_eq!(credential.fence, Some(fence(1)));
    assert_eq!((result.as_str(), *keep), ("{\"n\":1}", KEEP));
    driver.answer(120, FINISHED);
    assert_eq!(driver.machine.state(), State::Finished);
    let events: Vec<_> = driver
        .events
        .iter()
        .map(|(_, event)| event.clone())
        .collect();
    let done = Event::Settled(TICKET, Ok(Done::Finished));
    assert_eq!(events, [Event::Finished, done, Event::Closed]);
    assert_eq!(driver.wake, None);
}

#[test]
fn a_finish_whose_answer_was_lost_is_repeated_and_known_again() {
    for answer in [FINISHED, not_holder(Ended::Finished)] {
        let mut driver = finishing();
        driver.fail(120, Delivery::Unknown);
        driver.run(400, |_| Fate::Hang);
        assert_eq!(driver.sent(is_finish), 2);
        let (first, last) = (&driver.sends[0].1, &driver.sends[driver.sends.len() - 1].1);
        assert_eq!(first.request, last.request);
        driver.answer(420, answer);
        assert_eq!(outcome(&driver), Some(Ok(Done::Finished)));
        assert!(driver.closed);
    }
}

#[test]
fn a_refused_finish_brings_the_lease_back() {
    let mut driver = finishing();
    driver.answer(120, refused(Code::Invalid, None));
    assert_eq!(outcome(&driver), Some(Err(ErrorCode::Invalid)));
    assert!(driver.is_held());
    assert_eq!(driver.machine.state(), State::Held);
}

#[test]
fn a_lease_that_was_detached_meanwhile_comes_back_as_detached() {
    let mut driver = finishing();
    driver.input(110, Input::Detach);
    driver.answer(120, refused(Code::Invalid, None));
    assert_eq!(outcome(&driver), Some(Err(ErrorCode::Invalid)));
    assert!(!driver.is_held());
    assert_eq!(driver.machine.state(), State::Detached);
}

#[test]
fn a_finish_without_an_answer_loses_the_lease_and_gives_the_key_back() {
    let mut driver = finishing();
    driver.run(6_000, |_| Fate::Hang);
    assert_eq!(outcome(&driver), Some(Err(ErrorCode::Unavailable)));
    let unknown = LossReason::NotHolder(Ended::Unknown);
    assert_eq!(driver.loss().map(|(_, reason)| reason), Some(unknown));
    // It is no harm where the key is done: there is no grant to end.
    assert_eq!(driver.sent(is_release), 1);
    assert_eq!(driver.sent(is_cancel), 0);
}

#[test]
fn a_finish_of_what_is_gone_is_lost() {
    let mut driver = finishing();
    driver.answer(120, not_holder(Ended::Revoked));
    assert_eq!(outcome(&driver), Some(Err(ErrorCode::Lost)));
    let revoked = LossReason::NotHolder(Ended::Revoked);
    assert_eq!(driver.loss(), Some((at(120), revoked)));
}

#[test]
fn an_acquire_is_told_that_the_work_is_done() {
    let done = protocol::Done {
        fence: fence(9),
        age: ms(1_234),
        remaining: ms(50_000),
        result: Json::parse("[1]"),
    };
    for wait in [0, 10_000] {
        let mut driver = Driver::started(waiting(1_000, wait));
        if wait > 0 {
            driver.answer(20, queued(1));
            driver.run_until(200);
        }
        driver.answer(220, Response::Done(done.clone()));
        let failure = driver.failure().expect("it ends");
        assert_eq!(failure.code, ErrorCode::Done);
        assert_eq!(failure.finished.as_deref(), Some(&done));
        // The place in the queue is gone with it.
        assert_eq!(driver.sent(is_cancel), 0);
        assert!(driver.closed);
    }
}
