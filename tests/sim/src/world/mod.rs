//! One run: machines, processes, holders, a network and a host on virtual time.
//!
//! First the faults of the scenario, then a healthy time in which everything has to come to rest
//! and every waiter has to be served.

mod belief;
mod client;
mod disturb;
mod host;
mod network;
mod observer;
mod rest;
mod trace;
mod user;

use std::collections::BTreeMap;

use leasehold::clock::Clock;
use leasehold::fence::Revision;
use leasehold::id::LeaseId;
use leasehold::name::{HolderName, Key};
use leasehold::protocol::Credential;

use crate::agenda::Agenda;
use crate::check::{Belief, Exclusion, HostChecks, Resource, Verdict, Violation};
use crate::fault::{Fault, Odds, Tally};
use crate::machine::{Machine, TrueTime};
use crate::rng::Rng;
use crate::scenario::Scenario;

use client::Client;
use host::HostNode;
use network::{Link, Parcel};
use trace::Trace;

/// What came of a run.
pub struct Outcome {
    /// The first rule that was broken, guarantee A excepted.
    pub violation: Option<Violation>,
    /// Two holders that believed at one time.
    pub overlap: Option<(Belief, Belief)>,
    /// How often each fault came about.
    pub tally: Tally,
    /// Grants that holders took up.
    pub grants: u64,
    /// What happened, if it was to be traced.
    pub trace: Vec<String>,
    /// True time at the end.
    pub ended: TrueTime,
}

impl Outcome {
    /// Of a run that ended in a panic.
    pub fn panicked() -> Self {
        Self {
            violation: Some(Violation {
                check: "panic",
                what: "something panicked".into(),
            }),
            overlap: None,
            tally: Tally::default(),
            grants: 0,
            trace: Vec::new(),
            ended: 0,
        }
    }
}

/// A running process: its own clock on a machine's clocks.
struct Process {
    machine: usize,
    clock: Clock,
}

/// A lease that somebody may carry on.
struct Handle {
    key: usize,
    lease: Credential,
}

/// A place in time at which something is to be done.
enum Event {
    /// Something in the world goes wrong.
    Disturb,
    /// Somebody looks at a key.
    Observe,
    /// An attempt that was refused as a whole goes out again.
    Resend {
        from: network::From,
        send: Box<leasehold::holder::Send>,
    },
    /// A message reaches the host.
    ToHost(Box<Parcel>),
    /// A message reaches a client.
    ToClient(Box<client::Mail>),
    /// A client does something by itself.
    Act { client: usize, number: u64 },
    /// A client that stood still may run again.
    GoOn(usize),
    /// A client's timer goes off.
    Wake {
        client: usize,
        life: u32,
        number: u64,
    },
    /// A write reaches the fenced resource.
    Write(client::Write),
    /// The host's alarm goes off.
    Alarm { number: u64 },
    /// The host comes back.
    HostUp,
    /// A machine wakes.
    MachineUp(usize),
    /// A partition heals.
    LinkUp(usize),
    /// Time to look whether anything is left of a holder that gave up.
    Sweep {
        key: usize,
        of: Box<crate::check::Orphans>,
    },
    /// The faults stop.
    Heal,
    /// From here on nobody begins anything new.
    WindDown,
    /// Everything must have come to rest; everybody asks once more.
    Contend,
    /// Everybody must have been served.
    End,
}

/// The whole world.
pub struct World {
    scenario: Scenario,
    rng: Rng,
    now: TrueTime,
    agenda: Agenda<Event>,
    odds: Odds,
    stage: Stage,
    machines: Vec<Machine>,
    processes: Vec<Process>,
    clients: Vec<Client>,
    links: Vec<Link>,
    host: HostNode,
    keys: Vec<Key>,
    mailbox: Vec<Handle>,
    /// With how many others each lease puts up.
    limits: BTreeMap<LeaseId, u32>,
    /// The revisions that observers have been told.
    revisions: BTreeMap<Key, Revision>,
    /// How much was asked for so far.
    tickets: u32,
    exclusion: Exclusion,
    resource: Resource,
    checks: HostChecks,
    tally: Tally,
    grants: u64,
    /// How many of those who ask last were served and are through.
    served: usize,
    disturbances: u64,
    observations: u64,
    trace: Trace,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// Faults come about.
    Faulty,
    /// They have stopped.
    Healthy,
    /// Nobody begins anything new.
    WindingDown,
    /// Everybody asks a last time.
    Contending,
}

impl World {
    /// The world of a seed.
    ///
    /// # Panics
    /// When a name of ours is refused, which would be a fault of this simulation.
    pub fn new(seed: u64, traced: bool) -> Self {
        let mut rng = Rng::new(seed);
        let scenario = Scenario::draw(seed, &mut rng);
        let machines = (0..=if scenario.is_embedded() {
            0
        } else {
            scenario.clients
        })
            .map(|_| {
                let rate = rng.either_way(scenario.rate_error);
                let wall_rate = rng.either_way(scenario.rate_error);
                let quantum = rng.pick(&[1, 1_000]);
                Machine::new(1_000_000_000_000, rate, wall_rate, quantum)
            })
            .collect();
        let processes = (0..if scenario.is_embedded() {
            1
        } else {
            scenario.clients
        })
            .map(|process| Process {
                machine: if scenario.is_embedded() {
                    0
                } else {
                    process + 1
                },
                clock: Clock::new(),
            })
            .collect();
        // Two clients may share a name: then re-entrant acquires have something to find.
        let names = rng.range(1, scenario.clients as u64);
        let clients = (0..scenario.clients)
            .map(|client| {
                let name = format!("holder-{}", client as u64 % names);
                let name = HolderName::parse(&name).expect("a short name is valid");
                Client::new(name, if scenario.is_embedded() { 0 } else { client })
            })
            .collect();
        let keys = (0..scenario.keys)
            .map(|key| Key::parse(&format!("key-{key}")).expect("a short key is valid"))
            .collect();
        let offset = scenario.host_band / 2;
        Self {
            now: 0,
            agenda: Agenda::default(),
            odds: scenario.odds,
            stage: Stage::Faulty,
            machines,
            processes,
            links: (0..scenario.clients).map(|_| Link::default()).collect(),
            clients,
            host: HostNode::new(scenario.host_config, offset),
            keys,
            mailbox: Vec::new(),
            limits: BTreeMap::new(),
            revisions: BTreeMap::new(),
            tickets: 0,
            exclusion: Exclusion::default(),
            resource: Resource::default(),
            checks: HostChecks::new(scenario.host_config),
            tally: Tally::default(),
            grants: 0,
            served: 0,
            disturbances: 0,
            observations: 0,
            trace: Trace::new(traced),
            rng,
            scenario,
        }
    }

    /// Runs it to its end, or until a rule is broken.
    pub fn run(mut self) -> Outcome {
        if self.scenario.rate_error > 100_000 {
            self.tally.count(Fault::RateBeyondBound);
        }
        for client in 0..self.clients.len() {
            self.act_later(client);
        }
        self.agenda.put(0, Event::Disturb);
        if self.scenario.is_watched {
            self.agenda.put(0, Event::Observe);
        }
        let violation = self.steps().err();
        for client in 0..self.clients.len() {
            self.settle_belief(client);
            self.end_belief(client, self.now);
        }
        Outcome {
            violation,
            overlap: self.exclusion.overlap(),
            tally: self.tally,
            grants: self.grants,
            trace: self.trace.into_lines(),
            ended: self.now,
        }
    }

    fn steps(&mut self) -> Verdict {
        while let Some((at, event)) = self.agenda.take() {
            self.now = at.max(self.now);
            if matches!(event, Event::End) {
                return self.everybody_was_served();
            }
            self.step(event)?;
        }
        Ok(())
    }

    fn step(&mut self, event: Event) -> Verdict {
        match event {
            Event::Disturb => self.disturb(),
            Event::Observe => self.observe(),
            Event::Resend { from, send } => self.resend(from, &send),
            Event::ToHost(parcel) => self.reach_host(*parcel),
            Event::ToClient(mail) => self.reach_client(*mail),
            Event::Act { client, number } => self.act(client, number),
            Event::GoOn(client) => self.go_on(client),
            Event::Wake {
                client,
                life,
                number,
            } => self.wake(client, life, number),
            Event::Write(write) => self.write_arrives(&write),
            Event::Alarm { number } => self.alarm(number),
            Event::HostUp => self.host_up(),
            Event::MachineUp(machine) => self.machine_up(machine),
            Event::LinkUp(client) => {
                self.links[client].heal();
                Ok(())
            }
            Event::Sweep { key, of } => of.gone(&self.keys[key], &self.host.store, self.host.seen),
            Event::Heal => self.heal(),
            Event::WindDown => {
                self.stage = Stage::WindingDown;
                Ok(())
            }
            Event::Contend => self.contend(),
            Event::End => Ok(()),
        }
    }
}
