//! Entries of a lease: one change after the other, each through once, none after the end.

mod common;

use common::holding::*;
use common::*;
use leasehold::holder::{Ask, Delivery, Done, ErrorCode, Event, Input, LossReason, Ticket};
use leasehold::json::Json;
use leasehold::name::EntryName;
use leasehold::protocol::{Code, Ended, Operation, Response};

const ENTERED: Response = Response::Entered { about: None };

fn enter(ticket: u32, entry: &str, value: Option<&str>) -> Input {
    let ask = Ask::Entry {
        name: EntryName::parse(entry).unwrap(),
        value: value.map(|json| Json::parse(json).unwrap()),
    };
    Input::Ask(Ticket(ticket), ask)
}

/// Name, value and number of each change that was sent.
fn changes(driver: &Driver) -> Vec<(String, Option<String>, u64)> {
    let entries = driver.sends.iter().filter_map(|(_, send)| {
        let Operation::Entry(entry) = &send.request.operation else {
            return None;
        };
        assert_eq!(entry.credential.fence, Some(fence(1)));
        let value = entry.value.as_ref().map(|json| json.as_str().into());
        Some((entry.name.as_str().into(), value, entry.number))
    });
    entries.collect()
}

/// What became of each ticket, in order.
fn settled(driver: &Driver) -> Vec<(u32, Result<(), ErrorCode>)> {
    let outcomes = driver.events.iter().filter_map(|(_, event)| match event {
        Event::Settled(ticket, Ok(Done::Entered)) => Some((ticket.0, Ok(()))),
        Event::Settled(ticket, Err(failure)) => Some((ticket.0, Err(failure.code))),
        _ => None,
    });
    outcomes.collect()
}

fn is_entry(operation: &Operation) -> bool {
    matches!(operation, Operation::Entry(_))
}

#[test]
fn changes_go_out_one_after_the_other_with_rising_numbers() {
    let mut driver = Driver::held(config(30_000));
    driver.input(100, enter(1, "a", Some("1")));
    driver.input(101, enter(2, "a", Some("[2]")));
    driver.input(102, enter(3, "b", None));
    assert_eq!(driver.sent(is_entry), 1);
    driver.answer(120, ENTERED);
    driver.answer(140, ENTERED);
    driver.answer(160, ENTERED);
    assert_eq!(
        changes(&driver),
        [
            ("a".into(), Some("1".into()), 1),
            ("a".into(), Some("[2]".into()), 2),
            ("b".into(), None, 3),
        ]
    );
    assert_eq!(settled(&driver), [(1, Ok(())), (2, Ok(())), (3, Ok(()))]);
}

#[test]
fn a_change_without_an_answer_is_repeated_as_it_is() {
    let mut driver = Driver::held(config(30_000));
    driver.input(100, enter(1, "a", Some("1")));
    driver.fail(120, Delivery::Unknown);
    driver.run_until(400);
    let ops: Vec<_> = driver
        .sends
        .iter()
        .filter(|(_, send)| is_entry(&send.request.operation))
        .map(|(_, send)| (send.request.op, send.request.operation.clone()))
        .collect();
    assert_eq!(ops.len(), 2);
    assert_eq!(ops[0], ops[1]);
    driver.answer(420, ENTERED);
    assert_eq!(settled(&driver), [(1, Ok(()))]);
}

#[test]
fn a_change_in_vain_fails_after_its_time_and_the_next_one_follows() {
    let mut driver = Driver::held(config(60_000));
    driver.input(100, enter(1, "a", Some("1")));
    driver.input(100, enter(2, "a", Some("2")));
    driver.run(5_100, |_| Fate::Hang);
    assert_eq!(settled(&driver), [(1, Err(ErrorCode::Unavailable))]);
    assert!(driver.is_held());
    let now = driver.now.as_millis_ceil();
    driver.answer(now + 10, ENTERED);
    assert_eq!(settled(&driver).last(), Some(&(2, Ok(()))));
    let last = changes(&driver).pop().unwrap();
    assert_eq!(last, ("a".into(), Some("2".into()), 2));
}

#[test]
fn a_refused_change_is_told_and_costs_nothing_else() {
    let mut driver = Driver::held(config(30_000));
    driver.input(100, enter(1, "a", Some("1")));
    driver.answer(120, refused(Code::Invalid, None));
    assert_eq!(settled(&driver), [(1, Err(ErrorCode::Invalid))]);
    assert!(driver.is_held());
    // A refusal that passes is waited out.
    driver.input(200, enter(2, "a", Some("1")));
    driver.answer(220, refused(Code::Unavailable, Some(300)));
    driver.run_until(500);
    assert_eq!(driver.sent(is_entry), 2);
    driver.run_until(560);
    assert_eq!(driver.sent(is_entry), 3);
    driver.answer(580, ENTERED);
    assert_eq!(settled(&driver).last(), Some(&(2, Ok(()))));
}

#[test]
fn who_is_not_the_holder_any_more_learns_it_from_a_change() {
    let mut driver = Driver::held(config(30_000));
    driver.input(100, enter(1, "a", Some("1")));
    driver.input(100, enter(2, "a", Some("2")));
    driver.answer(120, not_holder(Ended::Revoked));
    let revoked = LossReason::NotHolder(Ended::Revoked);
    assert_eq!(driver.loss(), Some((at(120), revoked)));
    let lost = Err(ErrorCode::Lost);
    assert_eq!(settled(&driver), [(1, lost), (2, lost)]);
}

#[test]
fn an_answer_about_another_grant_is_none() {
    let mut driver = Driver::held(config(30_000));
    driver.input(100, enter(1, "a", Some("1")));
    let attempt = driver.last_attempt();
    for response in [
        Response::Entered {
            about: Some(fence(2)),
        },
        not_holder_of(2, Ended::Revoked),
        renewed_of(1, 30_000),
    ] {
        driver.input(120, Input::Answered(attempt, response));
        assert!(driver.is_held());
        assert_eq!(settled(&driver), []);
    }
    driver.run_until(400);
    driver.answer(420, ENTERED);
    assert_eq!(settled(&driver), [(1, Ok(()))]);
}

#[test]
fn what_waits_when_the_lease_ends_is_refused() {
    for (millis, end) in [(200, asked(Ask::Release)), (9_390, Input::Wake)] {
        let mut driver = Driver::held(config(10_000));
        driver.input(100, enter(1, "a", Some("1")));
        driver.input(100, enter(2, "b", Some("1")));
        let attempt = driver.last_attempt();
        driver.input(millis, end);
        assert!(driver.dropped.contains(&attempt));
        let lost = Err(ErrorCode::Lost);
        assert_eq!(
            settled(&driver)
                .iter()
                .filter(|(_, end)| *end == lost)
                .count(),
            2
        );
        driver.input(9_400, enter(3, "c", None));
        assert_eq!(settled(&driver).last(), Some(&(3, lost)));
    }
}

#[test]
fn no_more_changes_wait_than_there_can_be_entries() {
    let mut driver = Driver::held(config(30_000));
    for ticket in 1..=66 {
        driver.input(100, enter(ticket, "a", Some("1")));
    }
    assert_eq!(settled(&driver), [(66, Err(ErrorCode::Unavailable))]);
    for _ in 0..65 {
        driver.answer(120, ENTERED);
    }
    assert_eq!(driver.sent(is_entry), 65);
}
