//! Any sequence of inputs: what must hold of a holder whatever happens.

mod common;

use std::collections::BTreeMap;

use common::holding::*;
use common::*;
use leasehold::holder::{
    Ask, Config, Delivery, Event, Holder, Input, Output, Schedule, Seed, TransportFailure,
};
use leasehold::id::AttemptId;
use leasehold::json::Json;
use leasehold::name::EntryName;
use leasehold::protocol::{Acquire, Code, Ended, Granted, Operation, Request, Response, Transfer};
use leasehold::time::{Instant, Span};
use proptest::prelude::*;

/// One thing that happens to a holder.
#[derive(Clone, Debug)]
enum Happening {
    /// An answer to one of the attempts so far, counted from the latest; about what that asked for,
    /// or as it is.
    Answer(usize, Response, bool),
    /// A failure of one of them.
    Fail(usize, Delivery, Option<u64>),
    /// The wake-up, so many milliseconds after it was due.
    Wake(u64),
    /// A wake-up that nobody asked for.
    Nudge,
    Tell(Input),
}

/// A kind of answer; the fitting one is by far the most likely.
fn answers() -> impl Strategy<Value = Response> {
    let ends = vec![
        Ended::Expired,
        Ended::Released,
        Ended::Transferred,
        Ended::Unknown,
    ];
    let span = prop_oneof![Just(0_u64), 1_u64..100, 100_u64..40_000];
    prop_oneof![
        8 => (any::<bool>(), span.clone(), 0_u64..3_000, 2_001_u128..2_006).prop_map(|(exact, ttl, waited, bits)| {
            granted_after(if exact { bits } else { 77 }, 5, ttl, waited)
        }),
        6 => span.clone().prop_map(renewed),
        2 => prop::sample::select(ends).prop_map(not_holder),
        2 => Just(RELEASED),
        1 => Just(Response::Cancelled),
        1 => span.clone().prop_map(|retry| held_by("z", retry)),
        1 => (0_u32..5, span.clone()).prop_map(|(ahead, retry)| Response::Queued { ahead, retry_after: ms(retry) }),
        1 => prop::option::of(span).prop_map(|retry| refused(Code::Unavailable, retry)),
        1 => Just(refused(Code::Denied, None)),
        2 => Just(Response::Entered { about: None }),
        2 => Just(Response::Finished { about: None }),
        1 => Just(free()),
        1 => Just(Response::Revoked(1)),
    ]
}

fn happenings() -> impl Strategy<Value = Happening> {
    let which = prop_oneof![6 => Just(0_usize), 1 => 1_usize..4];
    let late = prop_oneof![6 => Just(0_u64), 2 => 1_u64..200, 1 => 200_u64..50_000];
    let deliveries = prop::sample::select(vec![Delivery::Never, Delivery::Unknown]);
    let told = prop_oneof![
        Just(Input::Start),
        Just(Input::Cancel),
        Just(Input::Detach),
        Just(asked(Ask::Release)),
        prop::option::of(0_u64..60_000).prop_map(|ttl| asked(Ask::Renew(ttl.map(ms)))),
        (0_u64..60_000).prop_map(|ttl| asked(Ask::Transfer {
            successor: name("b"),
            lease: lease(900),
            ttl: ms(ttl)
        })),
        Just(asked(Ask::Verify)),
        any::<bool>().prop_map(|set| asked(Ask::Entry {
            name: EntryName::parse("e").expect("a legal name"),
            value: Json::parse("1").filter(|_| set),
        })),
        Just(asked(Ask::Finish {
            result: Json::parse("1").expect("JSON"),
            keep: ms(60_000),
        })),
    ];
    prop_oneof![
        10 => (which.clone(), answers(), prop::bool::weighted(0.8))
            .prop_map(|(which, answer, fits)| Happening::Answer(which, answer, fits)),
        3 => (which, deliveries, prop::option::of(0_u64..3_000))
            .prop_map(|(which, delivery, retry)| Happening::Fail(which, delivery, retry)),
        8 => late.prop_map(Happening::Wake),
        1 => Just(Happening::Nudge),
        3 => told.prop_map(Happening::Tell),
    ]
}

fn settings() -> impl Strategy<Value = (Config, bool)> {
    let schedules = prop::sample::select(vec![
        None,
        Some(Schedule::DEFAULT),
        Some(Schedule {
            t1: 500,
            t2: Some(700),
        }),
    ]);
    (
        100_u64..40_000,
        prop_oneof![Just(0_u64), 1_u64..60_000],
        schedules,
        any::<bool>(),
        prop::option::of(100_u64..100_000),
    )
        .prop_map(|(ttl, wait, renewal, resume, most)| {
            let config = Config {
                wait: ms(wait),
                max_hold: most.map(ms),
                renewal,
                ..common::holding::config(ttl)
            };
            (config, resume)
        })
}

/// What may be concluded from the inputs alone, by the formula and nothing else.
#[derive(Default)]
struct Watch {
    /// When each attempt was sent, and what it asked.
    sent: BTreeMap<u32, (Instant, Operation)>,
    /// Attempts that are awaited: sent, not answered, not failed, not dropped.
    open: BTreeMap<u32, bool>,
    /// No lease can be valid from here on.
    valid_until: Instant,
    /// The longest term that was ever asked for.
    longest: Span,
    /// The attempt that the present input is about. Where its answer comes together with the end,
    /// the end comes first and drops it.
    reported: Option<AttemptId>,
    terminals: usize,
    closed: bool,
}

impl Watch {
    /// Takes note of an answer before the holder does. Every grant or renewal that was ever asked
    /// for may have lengthened the term; nothing else may, least of all an answer about another
    /// grant or one that no host can have given.
    fn answered(&mut self, now: Instant, attempt: AttemptId, response: &Response) {
        self.open.remove(&attempt.0);
        let Some((sent, asked)) = self.sent.get(&attempt.0) else {
            return;
        };
        let (ttl, waited) = match (response, asked) {
            (
                Response::Granted(granted),
                Operation::Acquire(Acquire { lease, .. })
                | Operation::Transfer(Transfer { lease, .. }),
            ) if granted.lease == *lease => (granted.ttl, granted.waited.min(now.since(*sent))),
            (
                Response::Renewed { about, ttl, .. },
                Operation::Renew { credential, .. } | Operation::Verify(credential),
            ) if *about == credential.fence => (*ttl, Span::ZERO),
            _ => return,
        };
        if ttl > self.longest {
            return;
        }
        // s + (ttl + min(w, r − s))·0.99 − 10 ms − lead, the lead being min(ttl / 20, 500 ms).
        let term = (ttl + waited).as_micros() * 99 / 100;
        let lead = match asked {
            // The lead stays that of the running term.
            Operation::Verify(_) => 0,
            _ => (ttl.as_micros() / 20).min(500_000),
        };
        let until = sent.as_micros() + term.saturating_sub(10_000).saturating_sub(lead);
        self.valid_until = self.valid_until.max(Instant::from_micros(until));
    }

    fn output(&mut self, now: Instant, output: &Output) {
        match output {
            Output::Send(send) => {
                let operation = &send.request.operation;
                if self.terminals > 0 {
                    assert!(
                        matches!(operation, Operation::Release(_) | Operation::Cancel),
                        "after the end: {operation:?}"
                    );
                }
                assert!(!send.timeout.is_zero(), "an attempt without time");
                self.sent.insert(send.attempt.0, (now, operation.clone()));
                self.open.insert(send.attempt.0, true);
                if let Operation::Acquire(Acquire { ttl, .. })
                | Operation::Transfer(Transfer { ttl, .. })
                | Operation::Renew { ttl, .. } = operation
                {
                    self.longest = self.longest.max(*ttl);
                }
                let renewals = self.open.keys();
                let renewals = renewals
                    .filter(|attempt| matches!(&self.sent[attempt].1, Operation::Renew { .. }));
                assert!(renewals.count() <= 16, "too many renewals are awaited");
                assert!(
                    self.open.len() <= 32,
                    "{} attempts at once",
                    self.open.len()
                );
            }
            Output::Drop(attempt) => {
                let awaited = self.open.remove(&attempt.0).is_some();
                assert!(
                    awaited || self.reported == Some(*attempt),
                    "dropped what is not awaited"
                );
            }
            Output::Event(event) => {
                self.terminals += usize::from(is_terminal(event));
                assert!(self.terminals <= 1, "a second end: {event:?}");
                if *event == Event::Closed {
                    assert_eq!(self.terminals, 1, "closed without an end");
                    assert!(self.open.is_empty(), "closed with attempts awaited");
                    self.closed = true;
                }
            }
            Output::Wake { .. } => {}
        }
    }
}

fn check(config: Config, resume: bool, story: Vec<(u64, Happening)>) {
    let mut driver = if resume {
        Driver::resume(config, by_lease(500))
    } else {
        Driver::acquire(config)
    };
    let mut watch = Watch::default();
    let mut now = Instant::from_millis(1_000);
    step(&mut driver, &mut watch, now, Input::Start);
    for (pause, happening) in story {
        now = now + ms(pause);
        let latest = driver.sends.len();
        let sent = |which: usize| {
            let index = latest.checked_sub(1 + which)?;
            driver.sends.get(index).map(|(_, send)| send)
        };
        let input = match happening {
            Happening::Answer(which, response, fits) => match sent(which) {
                Some(send) if fits => {
                    Input::Answered(send.attempt, fitting(&send.request, response))
                }
                Some(send) => Input::Answered(send.attempt, response),
                None => continue,
            },
            Happening::Fail(which, delivery, retry) => match sent(which) {
                Some(send) => Input::Failed(
                    send.attempt,
                    TransportFailure {
                        delivery,
                        retry_after: retry.map(ms),
                    },
                ),
                None => continue,
            },
            Happening::Wake(late) => match driver.wake {
                Some((at, _)) => {
                    now = now.max(at + ms(late));
                    Input::Wake
                }
                None => continue,
            },
            Happening::Nudge => Input::Wake,
            Happening::Tell(input) => input,
        };
        step(&mut driver, &mut watch, now, input);
    }
    finish(&mut driver, &mut watch, now);
}

/// The response as a host may give it to this request.
fn fitting(request: &Request, response: Response) -> Response {
    match (response, &request.operation) {
        (Response::Granted(granted), Operation::Acquire(Acquire { lease, ttl, .. }))
        | (Response::Granted(granted), Operation::Transfer(Transfer { lease, ttl, .. })) => {
            Response::Granted(Granted {
                lease: *lease,
                ttl: granted.ttl.min(*ttl),
                ..granted
            })
        }
        (response, _) => about(request, response),
    }
}

fn step(driver: &mut Driver, watch: &mut Watch, now: Instant, input: Input) {
    watch.reported = match &input {
        Input::Answered(attempt, _) | Input::Failed(attempt, _) => Some(*attempt),
        _ => None,
    };
    if let Input::Answered(attempt, response) = &input {
        watch.answered(now, *attempt, response);
    }
    if let Some(attempt) = watch.reported {
        watch.open.remove(&attempt.0);
    }
    let was_closed = watch.closed;
    for output in driver.step(now, input) {
        watch.output(now, &output);
    }
    assert!(!was_closed || driver.wake.is_none());
    if driver.machine.is_held(now) {
        assert!(now < watch.valid_until, "held beyond what was granted");
        assert!(now + driver.machine.remaining(now) <= watch.valid_until);
        assert!(driver.wake.is_some_and(|(at, _)| at <= watch.valid_until));
        assert_eq!(watch.terminals, 0, "held after the end");
    }
    assert!(
        driver.wake.is_some() || watch.terminals > 0,
        "nothing is due and nothing has ended"
    );
}

/// With timers served and a host that is silent, everything comes to its end.
fn finish(driver: &mut Driver, watch: &mut Watch, mut now: Instant) {
    for _ in 0..300 {
        let Some((at, _)) = driver.wake else { break };
        now = now.max(at);
        step(driver, watch, now, Input::Wake);
    }
    assert!(watch.closed, "it never ends: {:?}", driver.wake);
}

proptest! {
    #![proptest_config(common::cases(2_000))]

    #[test]
    fn whatever_happens_the_rules_hold(
        (config, resume) in settings(),
        story in prop::collection::vec((prop_oneof![Just(0_u64), 0_u64..50, 0_u64..3_000], happenings()), 0..60),
    ) {
        check(config, resume, story);
    }

    #[test]
    fn the_same_inputs_give_the_same_outputs(
        (config, _) in settings(),
        story in prop::collection::vec((0_u64..500, answers()), 0..20),
        ops in any::<u128>(),
    ) {
        let run = || {
            let mut machine = Holder::acquire(config.clone(), Seed { ops, leases: 2_000 }).expect("sound");
            let mut outputs = Vec::new();
            let mut now = 0;
            machine.handle(at(0), Input::Start);
            for (pause, answer) in &story {
                while let Some(output) = machine.poll_output() {
                    outputs.push(output);
                }
                now += pause;
                let sent = outputs.iter().rev().find_map(|output| match output {
                    Output::Send(send) => Some(send.attempt),
                    _ => None,
                });
                machine.handle(at(now), Input::Answered(sent.unwrap_or(AttemptId(0)), answer.clone()));
            }
            outputs
        };
        prop_assert_eq!(run(), run());
    }
}
