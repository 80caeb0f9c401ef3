//! Every state of a holder × every input: what comes out, in order.

mod common;

use common::holding::*;
use common::*;
use leasehold::holder::{Ask, Config, Delivery, Done, ErrorCode, Event, Input, Output};
use leasehold::id::AttemptId;
use leasehold::json::Json;
use leasehold::name::EntryName;
use leasehold::protocol::{Ended, Operation, Response};

const STATES: [&str; 9] = [
    "new",
    "acquiring",
    "pausing",
    "held",
    "renewing",
    "releasing",
    "transferring",
    "over",
    "closed",
];

/// A holder in this state, at t = 5000 at the latest.
fn holder(state: &str) -> Driver {
    let mut driver = match state {
        "new" => Driver::acquire(waiting(30_000, 60_000)),
        // An attempt that is not given up yet at t = 5000.
        "acquiring" => Driver::started(Config {
            op_timeout: ms(20_000),
            ..waiting(30_000, 60_000)
        }),
        "pausing" => {
            let mut driver = Driver::started(waiting(30_000, 60_000));
            driver.answer(4_900, held_by("b", 10_000));
            driver
        }
        "held" => Driver::held(config(30_000)),
        "renewing" => {
            let mut driver = Driver::held(config(30_000));
            driver.input(4_000, asked(Ask::Renew(None)));
            driver
        }
        "releasing" => {
            let mut driver = Driver::held(config(30_000));
            driver.input(4_000, asked(Ask::Release));
            driver
        }
        "transferring" => {
            let mut driver = Driver::held(config(30_000));
            driver.input(4_000, hand_over());
            driver
        }
        "over" => {
            let mut driver = Driver::started(waiting(30_000, 60_000));
            driver.input(4_000, Input::Cancel);
            driver
        }
        "closed" => {
            let mut driver = Driver::held(config(30_000));
            driver.input(4_000, asked(Ask::Release));
            driver.answer(4_020, RELEASED);
            driver
        }
        other => panic!("{other}"),
    };
    driver.events.clear();
    driver
}

/// An output in a word or two.
fn short(output: &Output) -> String {
    match output {
        Output::Drop(_) => "drop".into(),
        Output::Send(send) => match &send.request.operation {
            Operation::Acquire(_) => "send acquire",
            Operation::Cancel => "send cancel",
            Operation::Inspect => "send inspect",
            Operation::Release(_) => "send release",
            Operation::Renew { .. } => "send renew",
            Operation::Revoke { .. } => "send revoke",
            Operation::Entry(_) => "send entry",
            Operation::Finish(_) => "send finish",
            Operation::Watch(_) => "send watch",
            Operation::Transfer(_) => "send transfer",
            Operation::Verify(_) => "send verify",
        }
        .into(),
        Output::Wake { .. } => "wake".into(),
        Output::Event(event) => match event {
            Event::Closed => "closed".into(),
            Event::Failed(failure) => format!("failed {}", failure.code.name()),
            Event::Finished => "finished".into(),
            Event::Granted(_) => "granted".into(),
            Event::Jeopardy { .. } => "jeopardy".into(),
            Event::Lost(reason) => format!("lost {}", reason.name()),
            Event::Queued { ahead } => format!("queued {ahead}"),
            Event::Released(release) => format!("released {release:?}"),
            Event::RenewFailed { .. } => "renewal failed".into(),
            Event::Renewed { .. } => "renewed".into(),
            Event::Safe { .. } => "safe".into(),
            Event::Settled(_, Ok(Done::Entered)) => "settled entered".into(),
            Event::Settled(_, Ok(Done::Finished)) => "settled finished".into(),
            Event::Settled(_, Ok(Done::Released(_))) => "settled released".into(),
            Event::Settled(_, Ok(Done::Renewed)) => "settled renewed".into(),
            Event::Settled(_, Ok(Done::Transferred(_))) => "settled transferred".into(),
            Event::Settled(_, Ok(Done::Verified)) => "settled verified".into(),
            Event::Settled(_, Err(failure)) => format!("settled {}", failure.code.name()),
            Event::Transferred => "transferred".into(),
            Event::Wanted { waiters } => format!("wanted {waiters}"),
        },
    }
}

/// Tells each state the same at this millisecond; the rows are in the order of [`STATES`].
fn table(
    what: &str,
    millis: u64,
    input: impl Fn(&Driver) -> Option<Input>,
    expected: [&[&str]; 9],
) {
    for (state, expected) in STATES.into_iter().zip(expected) {
        let mut driver = holder(state);
        let Some(input) = input(&driver) else {
            assert!(expected.is_empty(), "{what} when {state}");
            continue;
        };
        let outputs: Vec<String> = driver.input(millis, input).iter().map(short).collect();
        assert_eq!(outputs, expected, "{what} when {state}");
    }
}

/// An input about the last attempt; of none in a state that has sent nothing.
fn about_last(input: impl Fn(AttemptId) -> Input) -> impl Fn(&Driver) -> Option<Input> {
    move |driver| driver.sends.last().map(|(_, send)| input(send.attempt))
}

fn answer(response: Response) -> impl Fn(&Driver) -> Option<Input> {
    move |driver| {
        let (_, send) = driver.sends.last()?;
        let response = about(&send.request, response.clone());
        Some(Input::Answered(send.attempt, response))
    }
}

fn tell(input: Input) -> impl Fn(&Driver) -> Option<Input> {
    move |_| Some(input.clone())
}

const NOTHING: &[&str] = &[];

#[test]
fn start_starts_once() {
    let mut expected = [NOTHING; 9];
    expected[0] = &["send acquire"];
    table("start", 5_000, tell(Input::Start), expected);
}

#[test]
fn a_wake_up_too_early_does_nothing() {
    table("wake", 5_000, tell(Input::Wake), [NOTHING; 9]);
}

#[test]
fn a_wake_up_just_before_anything_is_due_does_nothing() {
    for state in STATES {
        let mut driver = holder(state);
        let Some((at, _)) = driver.wake else { continue };
        let early = at - leasehold::time::Span::from_micros(1);
        let outputs = driver.step(early, Input::Wake);
        assert_eq!(outputs, [], "{state}");
        assert_eq!(driver.wake.map(|(again, _)| again), Some(at), "{state}");
        assert_ne!(driver.step(at, Input::Wake), [], "{state}, on time");
    }
}

#[test]
fn a_wake_up_an_hour_late_ends_what_has_run_out() {
    table(
        "late wake",
        3_600_000,
        tell(Input::Wake),
        [
            &[],
            &["failed UNAVAILABLE", "drop", "send cancel"],
            &["failed TIMEOUT", "closed"],
            &["lost expired", "closed"],
            // The renewal may have been carried out: the key must not be kept for nobody.
            &["lost expired", "drop", "settled LOST", "send release"],
            &["drop", "released Unconfirmed", "settled released", "closed"],
            // Neither the successor's grant nor the lease itself may be stranded.
            &[
                "drop",
                "settled UNAVAILABLE",
                "lost unknown",
                "send cancel",
                "send release",
            ],
            &["drop", "closed"],
            &[],
        ],
    );
}

#[test]
fn cancel_ends_the_way_to_a_lease_and_nothing_else() {
    table(
        "cancel",
        5_000,
        tell(Input::Cancel),
        [
            &["failed ABORTED", "closed"],
            &["failed ABORTED", "drop", "send cancel"],
            &["failed ABORTED", "closed"],
            &[],
            &[],
            &[],
            &[],
            &[],
            &[],
        ],
    );
}

#[test]
fn release_gives_back_what_is_held_and_disturbs_nothing_else() {
    table(
        "release",
        5_000,
        tell(asked(Ask::Release)),
        [
            &["settled LOST"],
            &["settled LOST"],
            &["settled LOST"],
            &["send release"],
            &["drop", "settled LOST", "send release"],
            &[], // is told what becomes of the one under way
            &[], // or of the transfer
            &["settled LOST"],
            &["settled LOST"],
        ],
    );
    // What was under way goes on.
    for state in ["acquiring", "pausing", "releasing", "transferring", "over"] {
        let mut driver = holder(state);
        let due = driver.wake;
        driver.input(5_000, asked(Ask::Release));
        assert_eq!(driver.wake, due, "{state}");
    }
}

#[test]
fn detach_stops_renewing() {
    // Not even to the renewal under way, which is left to its end.
    table("detach", 5_000, tell(Input::Detach), [NOTHING; 9]);
}

#[test]
fn what_is_detached_is_not_held_and_can_only_be_released() {
    let mut driver = holder("held");
    driver.input(5_000, Input::Detach);
    assert!(!driver.is_held());
    assert_eq!(driver.machine.remaining(at(5_000)), ms(0));
    assert!(!driver.machine.is_overdue(at(5_000)));
    let entry = Ask::Entry {
        name: EntryName::parse("n").expect("a name"),
        value: None,
    };
    let finish = Ask::Finish {
        result: Json::parse("1").expect("JSON"),
        keep: ms(60_000),
    };
    for ask in [
        asked(Ask::Renew(None)),
        asked(Ask::Verify),
        hand_over(),
        asked(entry),
        asked(finish),
    ] {
        let text = format!("{ask:?}");
        let outputs = driver.input(5_000, ask);
        let [Output::Event(Event::Settled(_, Err(failure)))] = &outputs[..] else {
            panic!("{text}: {outputs:?}");
        };
        assert_eq!(
            (failure.code, failure.reason.as_ref()),
            (ErrorCode::Lost, "detached")
        );
    }
    driver.input(5_000, asked(Ask::Release));
    assert_eq!(driver.sent(is_release), 1);
}

#[test]
fn renew_asks_the_host_where_something_is_held() {
    let no: &[&str] = &["settled LOST"];
    let mut expected = [no; 9];
    expected[3] = &["send renew"];
    expected[4] = &[]; // follows the one under way
    table("renew", 5_000, tell(asked(Ask::Renew(None))), expected);
}

#[test]
fn verify_asks_the_host_where_something_is_held() {
    let no: &[&str] = &["settled LOST"];
    let mut expected = [no; 9];
    expected[3] = &["send verify"];
    expected[4] = &["send verify"];
    table("verify", 5_000, tell(asked(Ask::Verify)), expected);
}

#[test]
fn transfer_hands_over_where_something_is_held() {
    let no: &[&str] = &["settled LOST"];
    let mut expected = [no; 9];
    expected[3] = &["send transfer"];
    expected[4] = &["send transfer"]; // the lease may come back
    table("transfer", 5_000, tell(hand_over()), expected);
}

#[test]
fn an_answer_to_an_attempt_that_never_was_does_nothing() {
    for response in [
        renewed(1_000),
        not_holder(Ended::Revoked),
        RELEASED,
        queued(1),
    ] {
        let unknown = tell(Input::Answered(AttemptId(99), response));
        table("stray answer", 5_000, unknown, [NOTHING; 9]);
    }
    let unknown = tell(failure(AttemptId(99), Delivery::Unknown));
    table("stray failure", 5_000, unknown, [NOTHING; 9]);
}

#[test]
fn a_grant_answers_an_acquire_and_is_given_back_after_the_end() {
    table(
        "granted",
        5_000,
        answer(granted(LEASE, 1, 30_000)),
        [
            &[],
            &["granted"],
            &[], // that attempt has been answered
            &[], // so has the one that was granted
            &["renewal failed", "settled UNAVAILABLE"],
            &[],         // unreadable: the release is tried again later
            &[],         // nor is this the grant that was asked for
            &["closed"], // to the cancel: as good as done
            &[],
        ],
    );
    let mut driver = Driver::started(waiting(30_000, 60_000));
    let acquire = driver.last_attempt();
    driver.input(4_000, Input::Cancel);
    let late = driver.input(5_000, Input::Answered(acquire, granted(LEASE, 1, 30_000)));
    assert_eq!(late.iter().map(short).collect::<Vec<_>>(), ["send release"]);
}

#[test]
fn not_holder_ends_whatever_asked_for_a_lease() {
    table(
        "not holder",
        5_000,
        answer(not_holder(Ended::Revoked)),
        [
            &[],
            &[], // asks anew after a pause
            &[],
            &[],
            &["lost revoked", "settled LOST", "closed"],
            &["released NotHeld(Revoked)", "settled released", "closed"],
            &["settled LOST", "lost revoked", "closed"],
            &["closed"],
            &[],
        ],
    );
}

#[test]
fn a_failure_is_tried_again_and_ends_nothing() {
    for delivery in [Delivery::Never, Delivery::Unknown] {
        let mut expected = [NOTHING; 9];
        expected[4] = &["renewal failed", "settled UNAVAILABLE"];
        let failed = about_last(move |attempt| failure(attempt, delivery));
        table("failure", 5_000, failed, expected);
        for state in ["acquiring", "renewing", "releasing", "transferring", "over"] {
            let mut driver = holder(state);
            let sent = driver.sends.len();
            driver.fail(5_000, delivery);
            // What was asked for is not: the lease goes on being renewed by its schedule.
            driver.run(11_500, |_| Fate::Hang);
            assert!(driver.sends.len() > sent, "{state} is not tried again");
        }
    }
}

#[test]
fn held_is_told_by_the_state_and_the_clock() {
    for state in STATES {
        let driver = holder(state);
        let held = matches!(state, "held" | "renewing");
        assert_eq!(driver.machine.is_held(at(5_000)), held, "{state}");
        // 30 000·0.99 − 10 − 500 = 29 190.
        let left = if held { 29_190 - 5_000 } else { 0 };
        assert_eq!(driver.machine.remaining(at(5_000)), ms(left), "{state}");
        assert_eq!(driver.machine.is_overdue(at(29_190)), held, "{state}");
        assert!(!driver.machine.is_overdue(at(29_189)), "{state}");
    }
}
