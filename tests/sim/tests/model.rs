//! The smallest interesting world, exhaustively: two holders, one key, a short term; every order of
//! deliveries, doubles and losses, timers on time, late or never, a host that crashes at any point.
//!
//! The machines are the real ones. A holder is rebuilt in each state from the inputs it has had.
//! The host is restored from its storage before each request, as if it crashed between any two; a
//! crash before it has stored anything is a lost request, a crash after that a lost answer. A
//! message that is lost is one that is never delivered.

use std::collections::BTreeSet;

use leasehold::fence::Fence;
use leasehold::holder::{Ask, Config, Event, Holder, Input, Output, Seed, Ticket};
use leasehold::host::{
    Host, HostConfig, HostInput, HostOutput, KeyRecord, Mutation, ReplyTo, Snapshot,
};
use leasehold::id::{AttemptId, LeaseId};
use leasehold::name::{HolderName, Key};
use leasehold::protocol::{Ended, Granted, Held, Request, Response};
use leasehold::time::{Instant, Span};
use leasehold_sim::store::Store;
use stateright::{Checker, Model, Property};

const TTL_MS: u64 = 1_000;
/// How long the second holder waits in the queue; the first asks once.
const WAIT_MS: u64 = 0;
/// Time goes on in steps of this.
const TICK_MS: u64 = 500;
/// How many requests may be delivered twice. An answer is heard once: doubles find nobody.
const DOUBLES: u8 = 1;
/// The attempts of a holder that may get through; later ones are lost.
const ATTEMPTS: u32 = 3;

/// More would not fit in an ordinary machine's memory.
const MOST_STATES: usize = 4_000_000;

/// How far the exploration goes.
struct World {
    ticks: u8,
}

/// What distinguishes one state from another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    tick: u8,
    stored: Snapshot,
    holders: [Vec<(u8, Told)>; 2],
    requests: BTreeSet<(usize, u32)>,
    doubles_left: u8,
    answers: BTreeSet<(usize, u32, Answer)>,
    /// The grants made, in order.
    grants: Vec<(u64, u128)>,
}

/// Whether a delivered request may come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Copies {
    One,
    Two,
}

/// One input of a holder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Told {
    Start,
    Wake,
    Release,
    Answer(u32, Answer),
}

/// A response, as far as these holders tell one from another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Answer {
    Cancelled,
    Granted(u128, u64, u64, u64, bool),
    Held(u64),
    NotHolder(Option<u64>),
    Queued(u32),
    Released(Option<u64>),
    Renewed(Option<u64>, u64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Action {
    Tick,
    Tell(usize, Told),
    Request(usize, u32, Copies),
    Answer(usize, u32, Answer),
}

impl Model for World {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            tick: 0,
            stored: Snapshot::default(),
            holders: [Vec::new(), Vec::new()],
            requests: BTreeSet::new(),
            doubles_left: DOUBLES,
            answers: BTreeSet::new(),
            grants: Vec::new(),
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.tick < self.ticks {
            actions.push(Action::Tick);
        }
        for number in 0..2 {
            let holder = Replayed::new(state, number);
            let mut tell = |told| actions.push(Action::Tell(number, told));
            if state.holders[number].is_empty() {
                tell(Told::Start);
                continue;
            }
            if holder.wake.is_some_and(|at| at <= now(state.tick)) {
                tell(Told::Wake);
            }
            // Only the first gives back before its term ends.
            if number == 0 && holder.holder.is_held(now(state.tick)) {
                tell(Told::Release);
            }
        }
        for (holder, attempt) in &state.requests {
            actions.push(Action::Request(*holder, *attempt, Copies::One));
            if state.doubles_left > 0 {
                actions.push(Action::Request(*holder, *attempt, Copies::Two));
            }
        }
        for (holder, attempt, answer) in &state.answers {
            actions.push(Action::Answer(*holder, *attempt, answer.clone()));
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Tick => state.tick += 1,
            Action::Tell(number, told) => state.tell(number, told),
            Action::Answer(number, attempt, answer) => {
                // One answer of an attempt is heard; whatever else comes of it finds nobody.
                state
                    .answers
                    .retain(|(other, id, _)| (*other, *id) != (number, attempt));
                state.tell(number, Told::Answer(attempt, answer));
            }
            Action::Request(number, attempt, copies) => {
                match copies {
                    Copies::One => _ = state.requests.remove(&(number, attempt)),
                    Copies::Two => state.doubles_left -= 1,
                }
                state.ask(number, attempt);
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("one holder at a time", |_, state: &State| {
                let held = |number| Replayed::new(state, number).holder.is_held(now(state.tick));
                !(held(0) && held(1))
            }),
            Property::always("fences rise", |_, state: &State| {
                state.grants.is_sorted_by(|one, next| one.0 < next.0)
            }),
            Property::sometimes("both are served", |_, state: &State| {
                (0..2).all(|number| Replayed::new(state, number).granted)
            }),
            Property::sometimes("a lease is renewed", |_, state: &State| {
                (0..2).any(|number| Replayed::new(state, number).renewed)
            }),
        ]
    }
}

impl State {
    fn tell(&mut self, number: usize, told: Told) {
        let before = Replayed::new(self, number).sent.len();
        self.holders[number].push((self.tick, told));
        let after = Replayed::new(self, number);
        let heard = after.sent[before..].iter();
        for (attempt, _) in heard.filter(|(attempt, _)| attempt.0 <= ATTEMPTS) {
            self.requests.insert((number, attempt.0));
        }
    }

    fn ask(&mut self, number: usize, attempt: u32) {
        let sent = Replayed::new(self, number).sent;
        let Some((_, request)) = sent.into_iter().find(|(id, _)| id.0 == attempt) else {
            return;
        };
        let mut host = Host::restore(config(), self.stored.clone(), now(self.tick));
        let mut store = Store::from(self.stored.clone());
        host.handle(now(self.tick), HostInput::Request(ReplyTo(0), request));
        while let Some(output) = host.poll_output() {
            match output {
                HostOutput::Persist(mutation) => {
                    self.note_grant(&mutation);
                    store.apply(mutation);
                }
                HostOutput::Reply(_, response) => {
                    let answer = Answer::of(&response);
                    self.answers.insert((number, attempt, answer));
                }
                HostOutput::Alarm(_) => {}
            }
        }
        self.stored = store.snapshot();
    }

    fn note_grant(&mut self, mutation: &Mutation) {
        if let Mutation::PutKey(KeyRecord {
            fence,
            grant: Some(grant),
            ..
        }) = mutation
        {
            let grant = (fence.value(), grant.lease.to_bits());
            if !self.grants.contains(&grant) {
                self.grants.push(grant);
            }
        }
    }
}

/// A holder, rebuilt from its inputs.
struct Replayed {
    holder: Holder,
    sent: Vec<(AttemptId, Request)>,
    wake: Option<Instant>,
    granted: bool,
    renewed: bool,
}

impl Replayed {
    fn new(state: &State, number: usize) -> Self {
        let mut config = Config::new(key(), name(number), Span::from_millis(TTL_MS));
        config.wait = Span::from_millis(if number == 0 { 0 } else { WAIT_MS });
        config.op_timeout = Span::from_millis(2 * TTL_MS);
        // The first renews by itself, the second holds one term.
        config.renewal = config.renewal.filter(|_| number == 0);
        let bits = (number as u128 + 1) << 64;
        let seed = Seed {
            ops: bits,
            leases: bits,
        };
        let holder = Holder::acquire(config, seed).expect("the settings fit together");
        let mut replayed = Self {
            holder,
            sent: Vec::new(),
            wake: None,
            granted: false,
            renewed: false,
        };
        for (tick, told) in &state.holders[number] {
            replayed.tell(*tick, told);
        }
        replayed
    }

    fn tell(&mut self, tick: u8, told: &Told) {
        let input = match told {
            Told::Start => Input::Start,
            Told::Wake => Input::Wake,
            Told::Release => Input::Ask(Ticket(1), Ask::Release),
            Told::Answer(attempt, answer) => {
                Input::Answered(AttemptId(*attempt), answer.response())
            }
        };
        self.holder.handle(now(tick), input);
        self.wake = None;
        while let Some(output) = self.holder.poll_output() {
            match output {
                Output::Send(send) => self.sent.push((send.attempt, send.request)),
                Output::Wake { at, .. } => self.wake = Some(at),
                Output::Event(event) => {
                    self.granted |= matches!(event, Event::Granted(_));
                    self.renewed |= matches!(event, Event::Renewed { .. });
                }
                Output::Drop(_) => {}
            }
        }
    }
}

impl Answer {
    fn of(response: &Response) -> Self {
        match response {
            Response::Cancelled => Self::Cancelled,
            Response::Granted(granted) => Self::Granted(
                granted.lease.to_bits(),
                granted.fence.value(),
                granted.ttl.as_micros(),
                granted.waited.as_micros(),
                granted.replayed,
            ),
            Response::Held(held) => Self::Held(held.retry_after.as_micros()),
            Response::NotHolder { about, .. } => Self::NotHolder(about.map(Fence::value)),
            Response::Queued { ahead, .. } => Self::Queued(*ahead),
            Response::Released { about } => Self::Released(about.map(Fence::value)),
            Response::Renewed { about, ttl, .. } => {
                Self::Renewed(about.map(Fence::value), ttl.as_micros())
            }
            _ => {
                unreachable!("nobody here asks for that: {response:?}")
            }
        }
    }

    fn response(&self) -> Response {
        match *self {
            Self::Cancelled => Response::Cancelled,
            Self::Granted(lease, fence, ttl, waited, replayed) => Response::Granted(Granted {
                slot: 0,
                wanted: 0,
                lease: LeaseId::from_bits(lease),
                fence: Fence::from_value(fence),
                ttl: Span::from_micros(ttl),
                waited: Span::from_micros(waited),
                replayed,
            }),
            Self::Held(retry_after) => Response::Held(Held {
                fence: None,
                waiters: 0,
                holder: None,
                retry_after: Span::from_micros(retry_after),
            }),
            Self::NotHolder(about) => Response::NotHolder {
                present: None,
                about: about.map(Fence::from_value),
                ended: Ended::Unknown,
            },
            Self::Queued(ahead) => Response::Queued {
                ahead,
                retry_after: Span::ZERO,
            },
            Self::Released(about) => Response::Released {
                about: about.map(Fence::from_value),
            },
            Self::Renewed(about, ttl) => Response::Renewed {
                wanted: 0,
                about: about.map(Fence::from_value),
                ttl: Span::from_micros(ttl),
            },
        }
    }
}

fn config() -> HostConfig {
    HostConfig::EMBEDDED
}

fn now(tick: u8) -> Instant {
    Instant::from_millis(u64::from(tick) * TICK_MS)
}

fn key() -> Key {
    Key::parse("key").expect("a short key is valid")
}

fn name(number: usize) -> HolderName {
    HolderName::parse(["one", "two"][number]).expect("a short name is valid")
}

#[test]
fn no_order_of_events_breaks_a_guarantee() {
    let ticks = std::env::var("LEASEHOLD_TICKS")
        .ok()
        .and_then(|ticks| ticks.parse().ok());
    let ticks = ticks.unwrap_or(if cfg!(debug_assertions) { 1 } else { 3 });
    let started = std::time::Instant::now();
    let checker = World { ticks }
        .checker()
        .threads(2)
        .target_state_count(MOST_STATES)
        .spawn_bfs()
        .join();
    println!(
        "{} states ({} distinct) to depth {}, {ticks} ticks of {TICK_MS} ms, in {:.1} s",
        checker.state_count(),
        checker.unique_state_count(),
        checker.max_depth(),
        started.elapsed().as_secs_f64(),
    );
    assert!(checker.state_count() < MOST_STATES, "not exhausted");
    checker.assert_properties();
}
