//! What is believed of an answer: only what is about this very grant, and only what a host can have
//! said. Whatever else comes in changes nothing.

mod common;

use common::holding::*;
use common::*;
use leasehold::holder::{Ask, Config, Delivery, ErrorCode, Event, Input, LossReason, Release};
use leasehold::protocol::{Code, Ended, Operation, Response};

/// Answers to a question about fence 5, held for 30 s, that say nothing of it.
fn foreign() -> Vec<(&'static str, Response)> {
    vec![
        ("renewed, of the fence before", renewed_of(4, 30_000)),
        ("renewed, of the next fence", renewed_of(6, 30_000)),
        ("renewed, of no fence", renewed(30_000)),
        (
            "renewed for longer than was ever asked for",
            renewed_of(5, 30_001),
        ),
        (
            "not the holder, of the fence before",
            not_holder_of(4, Ended::Revoked),
        ),
        ("not the holder, of no fence", not_holder(Ended::Revoked)),
        (
            "released",
            Response::Released {
                about: Some(fence(5)),
            },
        ),
        ("granted, under another fence", granted(LEASE, 3, 30_000)),
        ("granted, another lease", granted(77, 6, 30_000)),
        ("revoked", Response::Revoked(1)),
    ]
}

/// Fence 5 of the lease, granted at t = 20 for 30 s.
fn held_under_five() -> Driver {
    let mut driver = Driver::started(config(30_000));
    driver.answer(20, granted(LEASE, 5, 30_000));
    driver.forget();
    driver
}

#[test]
fn an_answer_about_another_grant_changes_nothing() {
    for ask in [Ask::Renew(None), Ask::Verify] {
        for (what, response) in foreign() {
            let mut driver = held_under_five();
            driver.input(1_000, asked(ask.clone()));
            let attempt = driver.last_attempt();
            driver.input(1_020, Input::Answered(attempt, response));
            assert!(driver.is_held(), "{what}");
            assert_eq!(driver.remaining_ms(), 29_190 - 1_020, "{what}");
            let told = driver.events.iter().any(|(_, event)| {
                matches!(event, Event::Settled(_, Err(failure))
                    if failure.code == ErrorCode::Unavailable && failure.reason == "unreadable-answer")
            });
            assert!(told, "{what}: {:?}", driver.events);
        }
    }
}

#[test]
fn only_foreign_answers_until_the_end_lose_the_lease_by_its_own_clock() {
    for (what, response) in foreign() {
        let mut driver = held_under_five();
        driver.run_with(at(60_000), |_, send| match send.request.operation {
            Operation::Renew { .. } => Fate::Raw(20, response.clone()),
            _ => Fate::Hang,
        });
        assert_eq!(
            driver.loss(),
            Some((at(29_190), LossReason::Expired)),
            "{what}"
        );
    }
}

#[test]
fn a_longer_term_is_believed_once_it_was_asked_for() {
    let mut driver = held_under_five();
    driver.input(1_000, asked(Ask::Renew(Some(ms(60_000)))));
    driver.answer(1_020, renewed(60_000));
    // 1000 + 0.99·60 000 − 10 − 500.
    assert_eq!(driver.remaining_ms(), 1_000 + 58_890 - 1_020);
    // What was asked for once is still to be had by a host that never shortens.
    driver.input(2_000, asked(Ask::Renew(Some(ms(1_000)))));
    driver.answer(2_020, renewed(59_000));
    assert!(driver.is_held());
    assert!(driver.remaining_ms() > 57_000);
}

#[test]
fn a_grant_that_no_host_can_have_made_is_not_believed() {
    for (what, response) in [
        ("another lease", granted(LEASE + 1, 1, 30_000)),
        ("a lease of nobody here", granted(77, 1, 30_000)),
        ("no fence", granted(LEASE, 0, 30_000)),
        ("a longer term", granted(LEASE, 1, 30_001)),
        (
            "a longer term, after a wait",
            granted_after(LEASE, 1, 30_001, 10),
        ),
    ] {
        let mut driver = Driver::started(config(30_000));
        driver.answer(20, response.clone());
        assert!(!driver.is_held(), "{what}");
        let reason = driver.failure().map(|failure| failure.reason.clone());
        assert_eq!(reason.as_deref(), Some("unreadable-answer"), "{what}");
        // Whatever the host has done, it is taken back.
        assert_eq!(driver.last_operation(), &Operation::Cancel, "{what}");
        // One that waits asks again.
        let mut driver = Driver::started(waiting(30_000, 10_000));
        driver.answer(20, response);
        driver.run(200, |_| Fate::Hang);
        assert_eq!(driver.sent(is_acquire), 2, "{what}");
        driver.answer(210, granted(LEASE, 1, 30_000));
        assert!(driver.is_held(), "{what}");
    }
}

#[test]
fn a_release_is_confirmed_by_an_answer_about_it_alone() {
    for (what, response) in foreign() {
        let mut driver = held_under_five();
        driver.input(1_000, asked(Ask::Release));
        let attempt = driver.last_attempt();
        driver.input(1_020, Input::Answered(attempt, response.clone()));
        let done = matches!(response, Response::Released { .. });
        let told = driver
            .events
            .contains(&(at(1_020), Event::Released(Release::Done)));
        assert_eq!(told, done, "{what}");
        driver.run(1_200, |_| Fate::Hang);
        assert_eq!(driver.sent(is_release), if done { 1 } else { 2 }, "{what}");
    }
}

#[test]
fn what_is_not_the_hosts_own_word_never_ends_a_lease() {
    // A page of a firewall, a refused token, a record of somebody else's: each until the term's end.
    let refusals = [Code::Denied, Code::Invalid, Code::Unavailable];
    let answers = refusals.map(|code| Fate::Answer(20, refused(code, None)));
    let failures = [Delivery::Never, Delivery::Unknown].map(|delivery| Fate::Fail(20, delivery));
    for fate in answers.into_iter().chain(failures) {
        let mut driver = held_under_five();
        driver.run(29_189, |_| match &fate {
            Fate::Answer(delay, response) => Fate::Answer(*delay, response.clone()),
            Fate::Fail(delay, delivery) => Fate::Fail(*delay, *delivery),
            _ => Fate::Hang,
        });
        assert!(driver.is_held());
    }
}

// Acquiring: several attempts of one op.

/// A waiter whose first attempt was sent at t = 0 and whose second at t = 2500.
fn with_two_attempts() -> Driver {
    let mut driver = Driver::started(waiting(30_000, 60_000));
    driver.run_until(2_500);
    assert_eq!(driver.sent(is_acquire), 2);
    assert!(driver.dropped.is_empty(), "the first is open yet");
    driver
}

#[test]
fn a_grant_to_an_earlier_attempt_counts_by_that_ones_send() {
    let mut driver = with_two_attempts();
    let (_, first) = driver.sends[0].clone();
    driver.input(
        2_600,
        Input::Answered(first.attempt, granted(LEASE, 1, 30_000)),
    );
    assert_eq!(driver.remaining_ms(), 29_190 - 2_600);
    assert_eq!(
        driver.dropped.len(),
        1,
        "nothing more is awaited of the other"
    );
}

#[test]
fn queued_to_an_earlier_attempt_starts_nothing() {
    let mut driver = with_two_attempts();
    let (_, first) = driver.sends[0].clone();
    driver.input(2_600, Input::Answered(first.attempt, queued(3)));
    driver.run(4_000, |_| Fate::Hang);
    assert_eq!(
        driver.sent(is_acquire),
        2,
        "the newest is in the queue in its place"
    );
    driver.answer(4_000, queued(2));
    assert_eq!(driver.sent(is_acquire), 3);
}

#[test]
fn whatever_ends_an_acquire_without_a_grant_it_cancels_what_is_open_or_in_doubt() {
    type End = fn(&mut Driver);
    let ends: [(&str, End); 4] = [
        ("abort", |driver| {
            driver.input(3_000, Input::Cancel);
        }),
        ("no more time", |driver| driver.run_until(66_000)),
        ("denied", |driver| {
            driver.answer(3_000, refused(Code::Denied, None));
        }),
        ("held, and another op from then on", |driver| {
            driver.answer(3_000, held_by("b", 60_000));
        }),
    ];
    for (what, end) in ends {
        let mut driver = with_two_attempts();
        end(&mut driver);
        let cancel = driver
            .sends
            .iter()
            .find(|(_, send)| is_cancel(&send.request.operation));
        let cancelled = cancel.map(|(_, send)| send.request.op);
        assert_eq!(cancelled, Some(op(1_001)), "{what}");
    }
    // An attempt that is known to have been answered or never to have arrived leaves nothing.
    let mut driver = Driver::started(waiting(30_000, 60_000));
    driver.fail(10, Delivery::Never);
    driver.run(200, |_| Fate::Hang);
    driver.answer(210, refused(Code::Denied, None));
    assert_eq!(driver.sent(is_cancel), 0);
}

#[test]
fn a_first_attempt_refused_as_a_whole_counts_from_the_one_that_ran() {
    // Three round trips of 200 ms for the first acquire of a fresh server: the script is missing, a
    // flag of it is not known, and only then it runs.
    let mut driver = Driver::started(config(1_000));
    let attempt = driver.last_attempt();
    driver.input(200, Input::Resent(attempt));
    driver.input(400, Input::Resent(attempt));
    driver.answer(600, granted(LEASE, 1, 1_000));
    // 400 + 0.99·1000 − 10 − 50 = 1330.
    assert_eq!(driver.remaining_ms(), 730);
    // And so does a renewal, and the round trip is taken for what it is: 200.
    driver.run_until(740);
    let renewal = driver.last_attempt();
    assert_eq!(driver.sent(is_renew), 1);
    driver.input(800, Input::Resent(renewal));
    driver.answer(1_000, renewed(1_000));
    assert_eq!(driver.remaining_ms(), 730);
    // What was never sent, or has been answered, counts from nowhere else.
    driver.input(1_100, Input::Resent(attempt));
    driver.input(1_100, Input::Resent(renewal));
    assert_eq!(driver.remaining_ms(), 630);
}

// A transfer beside open renewals.

/// A lease of 10 s whose renewal and transfer are both on their way, in this order.
fn renewing_and_transferring() -> (Driver, leasehold::id::AttemptId) {
    let mut driver = Driver::held(config(10_000));
    driver.input(1_000, asked(Ask::Renew(None)));
    let renewal = driver.last_attempt();
    driver.input(1_010, hand_over());
    assert!(!driver.is_held());
    (driver, renewal)
}

#[test]
fn renewed_beside_a_transfer_lengthens_the_term_that_it_falls_back_to() {
    let (mut driver, renewal) = renewing_and_transferring();
    let response = renewed_of(1, 10_000);
    driver.input(1_020, Input::Answered(renewal, response));
    assert!(!driver.is_held(), "the transfer may have happened");
    driver.answer_to(is_transfer, 1_030, refused(Code::Unavailable, None));
    assert!(driver.is_held());
    // 1000 + 0.99·10 000 − 10 − 500.
    assert_eq!(driver.remaining_ms(), 10_390 - 1_030);
}

#[test]
fn not_holder_beside_a_transfer_decides_nothing() {
    let gone = not_holder_of(1, Ended::Transferred);
    let (mut driver, renewal) = renewing_and_transferring();
    driver.input(1_020, Input::Answered(renewal, gone.clone()));
    assert_eq!(driver.loss(), None);
    driver.answer_to(is_transfer, 1_030, granted(900, 2, 5_000));
    assert!(driver.events.contains(&(at(1_030), Event::Transferred)));
    // The transfer's own answer does.
    let (mut driver, renewal) = renewing_and_transferring();
    driver.input(1_020, Input::Answered(renewal, gone));
    driver.answer_to(is_transfer, 1_030, not_holder(Ended::Revoked));
    let lost = LossReason::NotHolder(Ended::Revoked);
    assert_eq!(driver.loss(), Some((at(1_030), lost)));
}

#[test]
fn a_transfer_that_takes_its_time_costs_nothing_if_it_is_refused() {
    // Refused after 4 s, longer than the term: it was renewed meanwhile.
    let mut driver = Driver::held(config(1_000));
    driver.input(500, hand_over());
    driver.run(4_500, |send| match &send.request.operation {
        Operation::Transfer(_) => Fate::Hang,
        _ => Fate::Answer(20, renewed(1_000)),
    });
    let transfers: Vec<_> = driver
        .sends
        .iter()
        .filter(|(_, send)| is_transfer(&send.request.operation))
        .map(|(_, send)| send.attempt)
        .collect();
    // Each attempt was certainly never carried out, and the last one is refused.
    for attempt in &transfers[..transfers.len() - 1] {
        driver.input(4_500, failure(*attempt, Delivery::Never));
    }
    driver.answer_to(is_transfer, 4_500, refused(Code::Unavailable, None));
    assert!(driver.is_held(), "{:?}", driver.events);
}

#[test]
fn a_giver_takes_back_the_grant_it_proposed_and_its_own_and_no_other() {
    let mut driver = Driver::held(config(60_000));
    driver.input(100, hand_over());
    driver.run(5_200, |_| Fate::Hang);
    let op = driver.sends[0].1.request.op;
    let taken_back: Vec<_> = driver
        .sends
        .iter()
        .map(|(_, send)| (send.request.op, send.request.operation.clone()))
        .filter(|(_, operation)| !is_transfer(operation) && !is_renew(operation))
        .collect();
    let [(cancelled, Operation::Cancel), (_, released)] = &taken_back[..] else {
        panic!("{taken_back:?}");
    };
    assert_eq!(*cancelled, op, "the grant that the transfer proposed");
    assert_eq!(
        *released,
        of(1, release(LEASE)),
        "its own, if nothing has happened"
    );
}

// What is given back after a loss.

/// When, after the loss at 930 of a term of 1000, the lease is given back.
fn given_back(driver: &mut Driver) -> Vec<u64> {
    driver.run_until(10_000);
    let releases = driver.sends.iter();
    let releases = releases.filter(|(_, send)| is_release(&send.request.operation));
    let ops: std::collections::BTreeSet<_> =
        releases.clone().map(|(_, send)| send.request.op).collect();
    assert!(ops.len() <= 1, "one release");
    releases
        .take(1)
        .map(|(sent, _)| sent.as_millis_ceil())
        .collect()
}

#[test]
fn whoever_loses_a_lease_with_a_renewal_in_doubt_gives_it_back() {
    // The term is valid until 980 and its holder stops at 930: whoever worked under it has until 1030
    // to stop, and does not have the key freed under its hands before 980.
    let lost = || {
        let mut driver = Driver::held(config(1_000));
        driver.run_until(940);
        assert_eq!(driver.loss(), Some((at(930), LossReason::Expired)));
        driver
    };
    assert_eq!(given_back(&mut lost()), [1_030]);
    for (stopped, expected) in [(945, 980), (979, 980), (1_000, 1_000), (1_200, 1_030)] {
        let mut driver = lost();
        driver.run_until(stopped);
        driver.input(stopped, asked(Ask::Release));
        assert_eq!(given_back(&mut driver), [expected], "stopped at {stopped}");
    }
    // With what it was granted under.
    let mut driver = lost();
    given_back(&mut driver);
    let releases = driver.sends.iter();
    let mut releases = releases.filter(|(_, send)| is_release(&send.request.operation));
    let (_, send) = releases.next().expect("released");
    assert_eq!(send.request.operation, of(1, release(LEASE)));
    assert!(driver.closed);
}

#[test]
fn whoever_loses_a_lease_with_nothing_in_doubt_gives_nothing_back() {
    type Lose = fn(&mut Driver);
    let silent: Lose = |driver| driver.run_until(940);
    let cases: [(&str, Driver, Lose); 5] = [
        ("it never renewed", Driver::held(manual(1_000)), silent),
        (
            "no attempt arrived",
            Driver::held(config(1_000)),
            |driver| {
                driver.run(940, |_| Fate::Fail(1, Delivery::Never));
            },
        ),
        ("all were refused", Driver::held(config(1_000)), |driver| {
            driver.run(940, |_| Fate::Answer(1, refused(Code::Unavailable, None)));
        }),
        ("it was told no", Driver::held(config(1_000)), |driver| {
            driver.run(940, |_| Fate::Answer(400, not_holder(Ended::Revoked)));
        }),
        (
            "it is detached, and somebody may carry on",
            Driver::held(config(1_000)),
            |driver| {
                driver.run_until(500);
                driver.input(500, Input::Detach);
                driver.run_until(940);
            },
        ),
    ];
    for (what, mut driver, lose) in cases {
        lose(&mut driver);
        assert!(driver.loss().is_some(), "{what}");
        assert_eq!(given_back(&mut driver), [], "{what}");
    }
    // Nor does one that has handed it on.
    let mut driver = Driver::held(Config::clone(&config(1_000)));
    driver.run_until(500);
    driver.input(500, hand_over());
    driver.answer_to(is_transfer, 520, granted(900, 2, 5_000));
    assert_eq!(given_back(&mut driver), []);
}
