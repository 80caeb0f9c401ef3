//! The smallest interesting world, exhaustively: two holders, one key, a short term; every order of
//! deliveries, doubles and losses, timers on time, late or never, a host that crashes at any point.
//!
//! The machines are the real ones. A holder is rebuilt from the inputs it has had with each one that
//! it gets. The host is restored from its storage before each request, as if it crashed between any
//! two; a crash before it has stored anything is a lost request, a crash after that a lost answer. A
//! message that is lost is one that is never delivered; an answer that nobody awaits is one.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

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
const MOST_STATES: usize = 8_000_000;

/// How far the exploration goes.
struct World {
    ticks: u8,
}

/// What distinguishes one state from another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    tick: u8,
    stored: Snapshot,
    holders: [Arc<Life>; 2],
    requests: BTreeSet<(usize, u32)>,
    doubles_left: u8,
    answers: BTreeSet<(usize, u32, Answer)>,
    /// The grants made, in order.
    grants: Vec<(u64, u128)>,
}

/// A holder: the inputs it has had, which alone tell one from another, and what follows from them.
#[derive(Debug, Default)]
struct Life {
    told: Vec<(u8, Told)>,
    sent: Vec<(AttemptId, Request)>,
    /// The attempts whose answer is awaited.
    open: Vec<AttemptId>,
    wake: Option<Instant>,
    /// Until when it believes that it holds the key.
    believes_until: Option<Instant>,
    granted: bool,
    renewed: bool,
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
            holders: Default::default(),
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
        let now = now(state.tick);
        for (number, life) in state.holders.iter().enumerate() {
            let mut tell = |told| actions.push(Action::Tell(number, told));
            if life.told.is_empty() {
                tell(Told::Start);
                continue;
            }
            if life.wake.is_some_and(|at| at <= now) {
                tell(Told::Wake);
            }
            // Only the first gives back before its term ends.
            if number == 0 && life.believes(now) {
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
                let now = now(state.tick);
                !state.holders.iter().all(|life| life.believes(now))
            }),
            Property::always("fences rise", |_, state: &State| {
                state.grants.is_sorted_by(|one, next| one.0 < next.0)
            }),
            Property::sometimes("both are served", |_, state: &State| {
                state.holders.iter().all(|life| life.granted)
            }),
            Property::sometimes("a lease is renewed", |_, state: &State| {
                state.holders.iter().any(|life| life.renewed)
            }),
        ]
    }
}

impl State {
    fn tell(&mut self, number: usize, told: Told) {
        let before = &self.holders[number];
        let mut inputs = before.told.clone();
        inputs.push((self.tick, told));
        let life = Life::replay(number, inputs);
        let sent = life.sent[before.sent.len()..].iter();
        for (attempt, _) in sent.filter(|(attempt, _)| attempt.0 <= ATTEMPTS) {
            self.requests.insert((number, attempt.0));
        }
        self.answers
            .retain(|(other, attempt, _)| *other != number || life.awaits(*attempt));
        self.holders[number] = Arc::new(life);
    }

    fn ask(&mut self, number: usize, attempt: u32) {
        let sent = &self.holders[number].sent;
        let Some((_, request)) = sent.iter().find(|(id, _)| id.0 == attempt).cloned() else {
            return;
        };
        let is_awaited = self.holders[number].awaits(attempt);
        let mut host = Host::restore(config(), self.stored.clone(), now(self.tick));
        let mut store = Store::from(self.stored.clone());
        host.handle(now(self.tick), HostInput::Request(ReplyTo(0), request));
        while let Some(output) = host.poll_output() {
            match output {
                HostOutput::Persist(mutation) => {
                    self.note_grant(&mutation);
                    store.apply(mutation);
                }
                HostOutput::Reply(_, response) if is_awaited => {
                    let answer = Answer::of(&response);
                    self.answers.insert((number, attempt, answer));
                }
                HostOutput::Reply(..) | HostOutput::Alarm(_) => {}
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

impl Life {
    /// What becomes of a holder that is told this.
    fn replay(number: usize, told: Vec<(u8, Told)>) -> Self {
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
        let mut holder = Holder::acquire(config, seed).expect("the settings fit together");
        let mut life = Self::default();
        for (tick, told) in &told {
            life.step(&mut holder, now(*tick), told);
        }
        life.told = told;
        life
    }

    fn step(&mut self, holder: &mut Holder, now: Instant, told: &Told) {
        let input = match told {
            Told::Start => Input::Start,
            Told::Wake => Input::Wake,
            Told::Release => Input::Ask(Ticket(1), Ask::Release),
            Told::Answer(attempt, answer) => {
                self.settle(AttemptId(*attempt));
                Input::Answered(AttemptId(*attempt), answer.response())
            }
        };
        holder.handle(now, input);
        self.wake = None;
        while let Some(output) = holder.poll_output() {
            match output {
                Output::Send(send) => {
                    self.open.push(send.attempt);
                    self.sent.push((send.attempt, (*send.request).clone()));
                }
                Output::Wake { at, .. } => self.wake = Some(at),
                Output::Event(event) => {
                    self.granted |= matches!(event, Event::Granted(_));
                    self.renewed |= matches!(event, Event::Renewed { .. });
                }
                Output::Drop(attempt) => self.settle(attempt),
            }
        }
        self.believes_until = holder.is_held(now).then(|| now + holder.remaining(now));
    }

    fn settle(&mut self, attempt: AttemptId) {
        self.open.retain(|open| *open != attempt);
    }

    fn awaits(&self, attempt: u32) -> bool {
        self.open.contains(&AttemptId(attempt))
    }

    fn believes(&self, now: Instant) -> bool {
        self.believes_until.is_some_and(|until| now < until)
    }
}

impl PartialEq for Life {
    fn eq(&self, other: &Self) -> bool {
        self.told == other.told
    }
}

impl Eq for Life {}

impl Hash for Life {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.told.hash(state);
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
