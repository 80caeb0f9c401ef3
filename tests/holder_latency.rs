//! Nobody loses a lease that nothing threatens: at any constant latency that leaves room for a renewal,
//! and whatever went unanswered as long as there was room for one more.

mod common;

use common::holding::*;
use common::*;
use leasehold::holder::{Ask, Config, Delivery, Done, Event, Input, Schedule};
use leasehold::protocol::{Operation, Request, Response, longest_poll};
use leasehold::time::{Instant, Span};

const TERMS: [u64; 10] = [
    100, 150, 200, 300, 500, 1_000, 5_000, 30_000, 600_000, 86_400_000,
];

/// What a holder may use of a term of so many µs: 0.99·told − 10 ms − min(told / 20, 500 ms).
fn usable(told: Span) -> u64 {
    let told = told.as_micros();
    told * 99 / 100 - 10_000 - (told / 20).min(500_000)
}

/// The longest round trip at which such a term is promised never to be lost: 2·L < usable − 0.01·w.
fn longest_trip(told: Span, waited: Span) -> Span {
    let room = usable(told).saturating_sub(waited.as_micros() / 100);
    Span::from_micros((room / 2).saturating_sub(1))
}

/// A host that is well, grants at once or after a wait, and renews.
struct Host {
    waits: Span,
    /// Length of the first term.
    first: Span,
    expires: Instant,
}

impl Host {
    fn new(first: Span, waits: Span) -> Self {
        Self {
            waits,
            first,
            expires: Instant::ZERO,
        }
    }

    /// The answer to a request that arrives now, and how long it is kept waiting.
    fn answer(&mut self, now: Instant, request: &Request) -> (Span, Response) {
        match &request.operation {
            Operation::Acquire(acquire) => {
                self.expires = now + self.waits + self.first;
                let ttl = self.first.as_millis_floor();
                let waited = self.waits.as_millis_floor();
                let lease = acquire.lease.to_bits();
                (self.waits, granted_after(lease, 1, ttl, waited))
            }
            Operation::Renew { ttl, .. } => {
                assert!(now < self.expires, "the key would have been free");
                self.expires = self.expires.max(now + *ttl);
                let left = self.expires.since(now).as_millis_floor();
                (Span::ZERO, renewed(left))
            }
            _ => (Span::ZERO, RELEASED),
        }
    }
}

/// A holder at so long a round trip, of which this many hundredths are the way there.
struct Trial {
    driver: Driver,
    host: Host,
    trip: Span,
    there: Span,
}

impl Trial {
    fn new(config: Config, host: Host, trip: Span, part: u64) -> Self {
        Self {
            driver: Driver::started(config),
            host,
            trip,
            there: trip.scale(part, 100),
        }
    }

    fn run(&mut self, until: Instant) {
        let Self {
            driver,
            host,
            trip,
            there,
        } = self;
        driver.run_with(until, |sent, send| {
            let (kept, response) = host.answer(sent + *there, &send.request);
            Fate::AnswerAfter(*trip + kept, response)
        });
    }

    fn told(&self, which: fn(&Event) -> bool) -> usize {
        let events = self.driver.events.iter();
        events.filter(|(_, event)| which(event)).count()
    }
}

/// A holder that lets the first answer take as long as the term.
fn patient(ttl: Span) -> Config {
    Config {
        op_timeout: ttl.max(Config::OP_TIMEOUT),
        ..config(ttl.as_millis_floor())
    }
}

/// Round trips from none to the longest that is promised to lose nothing.
fn trips(longest: Span) -> impl Iterator<Item = Span> {
    (0..=12).map(move |n| longest.scale(n, 12))
}

#[test]
fn no_constant_latency_within_the_formula_loses_a_lease() {
    for ttl in TERMS.map(ms) {
        for trip in trips(longest_trip(ttl, Span::ZERO)) {
            for part in [0, 50, 100] {
                let settings = patient(ttl);
                let host = Host::new(ttl, Span::ZERO);
                let mut trial = Trial::new(settings, host, trip, part);
                trial.run(Instant::ZERO + ttl.scale(20, 1));
                let case = format!("ttl {ttl:?}, round trip {trip:?}, {part} % there");
                assert_eq!(trial.driver.loss(), None, "{case}");
                assert!(trial.driver.is_held(), "{case}");
                let renewals = trial.driver.sent(is_renew);
                // Where one that is late leaves no time to wait for it, another goes out beside it.
                let most = if trip.scale(4, 1) < ttl { 80 } else { 140 };
                assert!(
                    (19..=most).contains(&renewals),
                    "{case}: {renewals} in 20 terms"
                );
                // None of its answers is late.
                let warnings = trial.told(|event| matches!(event, Event::Jeopardy { .. }));
                assert_eq!(warnings, 0, "{case}");
            }
        }
    }
}

#[test]
fn nor_does_one_after_a_wait_with_its_short_first_term() {
    for ttl in TERMS.map(ms) {
        let first = ttl.min(ms(3_000));
        for waits in [ms(1), ms(400), longest_poll(ttl)] {
            // Whoever hears nothing for a second more than a poll lasts asks again.
            for trip in trips(longest_trip(first, waits).min(ms(900))) {
                let wait = longest_poll(ttl).as_millis_floor();
                let settings = Config {
                    op_timeout: ms(200_000),
                    ..waiting(ttl.as_millis_floor(), wait)
                };
                let mut trial = Trial::new(settings, Host::new(first, waits), trip, 50);
                trial.run(Instant::ZERO + waits + trip + ttl.scale(5, 1));
                let case = format!("ttl {ttl:?}, waited {waits:?}, round trip {trip:?}");
                assert_eq!(trial.driver.sent(is_acquire), 1, "{case}");
                assert_eq!(trial.driver.loss(), None, "{case}");
                assert!(trial.driver.is_held(), "{case}");
            }
        }
    }
}

#[test]
fn late_schedules_lose_nothing_either() {
    for (t1, ttl) in [(500, 1_000), (660, 1_000), (660, 30_000), (600, 300)] {
        let ttl = ms(ttl);
        for trip in trips(longest_trip(ttl, Span::ZERO)) {
            let settings = Config {
                renewal: Some(Schedule { t1, t2: None }),
                ..patient(ttl)
            };
            let mut trial = Trial::new(settings, Host::new(ttl, Span::ZERO), trip, 50);
            trial.run(Instant::ZERO + ttl.scale(20, 1));
            assert_eq!(trial.driver.loss(), None, "t1 {t1}, ttl {ttl:?}, {trip:?}");
        }
    }
}

#[test]
fn a_renewal_asked_for_and_carried_out_does_not_reject() {
    for ttl in TERMS.map(ms) {
        for trip in trips(longest_trip(ttl, Span::ZERO)) {
            let settings = patient(ttl);
            let mut trial = Trial::new(settings, Host::new(ttl, Span::ZERO), trip, 50);
            for n in 1..20 {
                trial.run(Instant::ZERO + trip + ttl.scale(n * 7, 20));
                let now = trial.driver.now;
                trial.driver.step(now, asked(Ask::Renew(None)));
            }
            trial.run(Instant::ZERO + ttl.scale(20, 1));
            let done = trial.told(|event| matches!(event, Event::Settled(_, Ok(Done::Renewed))));
            assert_eq!(done, 19, "ttl {ttl:?}, round trip {trip:?}");
            assert_eq!(
                trial.driver.loss(),
                None,
                "ttl {ttl:?}, round trip {trip:?}"
            );
        }
    }
}

/// A lease of this term at this round trip, of which the first `lost` renewals come to nothing.
fn with_lost(ttl: Span, trip: Span, lost: usize, fate: fn() -> Fate) -> Trial {
    let settings = patient(ttl);
    let mut trial = Trial::new(settings, Host::new(ttl, Span::ZERO), trip, 50);
    let Trial { driver, host, .. } = &mut trial;
    let mut renewals = 0;
    driver.run_with(Instant::ZERO + ttl.scale(2, 1), |sent, send| {
        renewals += usize::from(is_renew(&send.request.operation));
        if (1..=lost).contains(&renewals) {
            return fate();
        }
        let (kept, response) = host.answer(sent + trip.div(2), &send.request);
        Fate::AnswerAfter(trip + kept, response)
    });
    trial
}

#[test]
fn up_to_nine_renewals_that_fail_lose_nothing() {
    for ttl in TERMS.map(ms) {
        for trip in [ttl.div(100), ttl.div(20), ttl.div(10), ttl.div(5)] {
            for lost in 0..=9 {
                let fate = || Fate::Fail(0, Delivery::Unknown);
                let trial = with_lost(ttl, trip, lost, fate);
                assert_eq!(
                    trial.driver.loss(),
                    None,
                    "ttl {ttl:?}, {trip:?}, {lost} lost"
                );
            }
        }
    }
}

#[test]
fn unanswered_renewals_lose_nothing_while_there_is_room_for_one_more() {
    for ttl in TERMS.map(ms) {
        for part in [1_000, 100, 20, 10, 5, 4, 3] {
            let trip = ttl.div(part);
            for lost in 0..=9 {
                let trial = with_lost(ttl, trip, lost, || Fate::Hang);
                let case = format!("ttl {ttl:?}, round trip {trip:?}, {lost} lost");
                let Some((end, _)) = trial.driver.loss() else {
                    continue;
                };
                // The last of those that came to nothing left no room for another: a little of the
                // term is for a timer that is somewhat late.
                let renewals = trial.driver.sends.iter();
                let renewals = renewals.filter(|(_, send)| is_renew(&send.request.operation));
                let (last, _) = renewals.take(lost).last().expect("it was sent");
                let spare = trip + ms(1) + ttl.div(64).min(ms(50));
                assert!(
                    *last + spare >= end,
                    "{case}: {last:?} was the last before {end:?}"
                );
            }
        }
    }
}

#[test]
fn at_short_round_trips_nine_unanswered_renewals_always_leave_room() {
    for ttl in TERMS.map(ms) {
        for lost in 0..=9 {
            let trial = with_lost(ttl, ttl.div(100), lost, || Fate::Hang);
            assert_eq!(trial.driver.loss(), None, "ttl {ttl:?}, {lost} lost");
        }
    }
    // As they were once lost: one or two unanswered, ten milliseconds away.
    for (ttl, lost) in [(100, 1), (200, 1), (200, 3), (300, 2), (300, 5)] {
        let trial = with_lost(ms(ttl), ms(10), lost, || Fate::Hang);
        assert_eq!(trial.driver.loss(), None, "ttl {ttl}, {lost} lost");
    }
}

#[test]
fn a_host_that_is_back_for_the_last_third_of_a_term_finds_the_lease_alive() {
    for ttl in TERMS.map(ms) {
        for trip in [Span::ZERO, ttl.div(100), ttl.div(20), ttl.div(10)] {
            for fate in [|| Fate::Hang, || Fate::Fail(0, Delivery::Never)] {
                let settings = config(ttl.as_millis_floor());
                let mut trial = Trial::new(settings, Host::new(ttl, Span::ZERO), trip, 50);
                let back = Instant::ZERO + trip.div(2) + ttl.scale(2, 3);
                let Trial { driver, host, .. } = &mut trial;
                driver.run_with(Instant::ZERO + ttl.scale(2, 1), |sent, send| {
                    let arrives = sent + trip.div(2);
                    if arrives < back && is_renew(&send.request.operation) {
                        return fate();
                    }
                    let (kept, response) = host.answer(arrives, &send.request);
                    Fate::AnswerAfter(trip + kept, response)
                });
                assert_eq!(
                    trial.driver.loss(),
                    None,
                    "ttl {ttl:?}, round trip {trip:?}"
                );
            }
        }
    }
}

#[test]
fn an_answer_counts_by_the_send_of_its_own_attempt() {
    // Granted at s = 0 for 30 s. The first renewal's answer comes when others are out already.
    let mut driver = Driver::held(config(30_000));
    driver.run_until(16_000);
    let sent: Vec<_> = driver
        .sends
        .iter()
        .map(|(sent, send)| (*sent, send.attempt))
        .collect();
    let [(first, attempt), (second, other), .., (last, _)] = sent[..] else {
        panic!("{sent:?}");
    };
    assert!(last > second);
    driver.input(16_000, Input::Answered(attempt, renewed_of(1, 30_000)));
    assert_eq!(
        driver.machine.remaining(at(16_000)),
        (first + ms(29_190)).since(at(16_000))
    );
    // Those that were sent later are open yet, and lengthen the term further.
    assert!(driver.dropped.is_empty());
    driver.input(16_500, Input::Answered(other, renewed_of(1, 30_000)));
    assert_eq!(
        driver.machine.remaining(at(16_500)),
        (second + ms(29_190)).since(at(16_500))
    );
    assert!(driver.is_held());
}

#[test]
fn an_answer_that_was_long_on_its_way_shortens_nothing() {
    let mut driver = Driver::held(config(30_000));
    driver.run_until(16_000);
    let attempts: Vec<_> = driver.sends.iter().map(|(_, send)| send.attempt).collect();
    driver.answer(16_000, renewed(30_000));
    let left = driver.machine.remaining(at(16_000));
    for attempt in attempts {
        let late = renewed_of(1, 100);
        driver.input(16_000, Input::Answered(attempt, late));
        assert_eq!(driver.machine.remaining(at(16_000)), left);
    }
}

#[test]
fn no_more_than_three_attempts_are_younger_than_three_round_trips() {
    // The grant took 2 s. Nothing more is answered, and somebody asks all the time.
    for ttl in [7_000, 10_000, 30_000, 600_000] {
        let mut driver = Driver::started(config(ttl));
        driver.answer(2_000, granted(LEASE, 1, ttl));
        while driver.loss().is_none() {
            let now = driver.now + ms(100);
            driver.run_with(now, |_, _| Fate::Hang);
            driver.step(now, asked(Ask::Renew(None)));
        }
        let sent: Vec<Instant> = driver
            .sends
            .iter()
            .filter(|(_, send)| is_renew(&send.request.operation))
            .map(|(sent, _)| *sent)
            .collect();
        assert!(sent.len() >= 2, "{}", sent.len());
        for four in sent.windows(4) {
            assert!(four[3].since(four[0]) >= ms(6_000), "{four:?}");
        }
    }
}

#[test]
fn jeopardy_needs_an_attempt_that_is_late() {
    // 450 ms away and a term of 1000: sent at 450 and expected at 900, long after two thirds.
    let mut driver = Driver::started(config(1_000));
    driver.answer(450, granted(LEASE, 1, 1_000));
    assert_eq!(driver.sent(is_renew), 1);
    let warned = |driver: &Driver| {
        let events = driver.events.iter();
        let warning = |(_, event): &&(Instant, Event)| matches!(event, Event::Jeopardy { .. });
        events.filter(warning).count()
    };
    driver.run_until(899);
    assert_eq!(warned(&driver), 0);
    driver.answer(900, renewed(1_000));
    assert!(driver.is_held());
    assert_eq!(warned(&driver), 0);
    // 20 ms away it is late at two thirds, and told then.
    let mut driver = Driver::held(config(1_000));
    driver.run_until(930);
    let warning = driver
        .events
        .iter()
        .find(|(_, event)| matches!(event, Event::Jeopardy { .. }));
    assert_eq!(
        warning.map(|(at, _)| *at),
        Some(Instant::from_micros(666_666))
    );
}
