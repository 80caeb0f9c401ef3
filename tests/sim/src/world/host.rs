//! The host's side: its storage, its alarm, its clock, its crashes.

use std::collections::BTreeMap;

use leasehold::holder::Delivery;
use leasehold::host::{Host, HostConfig, HostInput, HostOutput, Mutation, PastOutcome, ReplyTo};
use leasehold::id::LeaseId;
use leasehold::protocol::{Ended, Response};
use leasehold::time::Instant;

use super::network::{From, Parcel};
use super::{Event, Stage, World};
use crate::check::{Durability, Verdict};
use crate::fault::Fault;
use crate::store::Store;

/// The host and what is around it.
pub struct HostNode {
    /// The machine, unless it is down.
    host: Option<Host>,
    config: HostConfig,
    /// What survives.
    pub store: Store,
    /// An older copy of it.
    pub backup: Option<Store>,
    /// The latest instant the running host was given.
    pub seen: Instant,
    alarm: Option<Instant>,
    alarm_number: u64,
    /// How far its clock is ahead of its machine's wall clock, in µs.
    offset: u64,
    asked: BTreeMap<ReplyTo, From>,
    next_reply: u64,
    /// What came while its process stood still.
    pub piled_up: Vec<Event>,
}

impl HostNode {
    /// A new host whose clock is so far ahead.
    pub fn new(config: HostConfig, offset: u64) -> Self {
        Self {
            host: Some(Host::new(config)),
            config,
            store: Store::default(),
            backup: None,
            seen: Instant::ZERO,
            alarm: None,
            alarm_number: 0,
            offset,
            asked: BTreeMap::new(),
            next_reply: 0,
            piled_up: Vec::new(),
        }
    }

    /// Whether it is up.
    pub fn is_up(&self) -> bool {
        self.host.is_some()
    }
}

impl World {
    /// A request arrives.
    pub(super) fn reach_host(&mut self, parcel: Parcel) -> Verdict {
        if self.host_stands_still() {
            self.host.piled_up.push(Event::ToHost(Box::new(parcel)));
            return Ok(());
        }
        let Parcel { from, request } = parcel;
        self.put_to_host(from, |to| HostInput::Request(to, request))
    }

    /// Asks the host, if it is up.
    pub(super) fn put_to_host(
        &mut self,
        from: From,
        question: impl FnOnce(ReplyTo) -> HostInput,
    ) -> Verdict {
        if !self.host.is_up() {
            if self.rng.per_mille(500) {
                self.fail(from, Delivery::Unknown);
            }
            return Ok(());
        }
        self.host.next_reply += 1;
        let to = ReplyTo(self.host.next_reply);
        self.host.asked.insert(to, from);
        self.tell_host(question(to))
    }

    /// A client has dropped an attempt; the host may notice.
    pub(super) fn hang_up(&mut self, from: From) -> Verdict {
        let asked = self.host.asked.iter().find(|(_, asker)| **asker == from);
        let Some(to) = asked.map(|(to, _)| *to) else {
            return Ok(());
        };
        if !self.host.is_up() {
            return Ok(());
        }
        self.host.asked.remove(&to);
        self.tell_host(HostInput::Gone(to))
    }

    /// The alarm goes off.
    pub(super) fn alarm(&mut self, number: u64) -> Verdict {
        if number != self.host.alarm_number || !self.host.is_up() {
            return Ok(());
        }
        let Some(at) = self.host.alarm else {
            return Ok(());
        };
        if self.host_stands_still() {
            self.host.piled_up.push(Event::Alarm { number });
            return Ok(());
        }
        if self.host_now() < at {
            self.set_alarm_event();
            return Ok(());
        }
        self.tell_host(HostInput::Tick)
    }

    /// An embedded host sleeps with its process.
    pub(super) fn host_stands_still(&self) -> bool {
        self.scenario.is_embedded() && self.machines[0].is_asleep()
    }

    /// Steps the host's clock within its band. Says whether it went forward.
    pub(super) fn move_host_clock(&mut self) -> bool {
        let before = self.host.offset;
        let band = self.scenario.host_band;
        let anywhere = self.rng.range(0, band);
        self.host.offset = self.rng.pick(&[0, anywhere, band]);
        self.host.offset > before
    }

    /// The host comes back, perhaps on another machine.
    pub(super) fn host_up(&mut self) -> Verdict {
        if self.host.is_up() {
            return Ok(());
        }
        if self.stage == Stage::Faulty && self.scenario.host_band > 0 && self.rng.per_mille(600) {
            let ahead = self.move_host_clock();
            self.tally.count(if ahead {
                Fault::HostAhead
            } else {
                Fault::HostBehind
            });
        }
        if self.stage == Stage::Faulty
            && self.rng.per_mille(300)
            && let Some(backup) = self.host.backup.take()
        {
            self.tally.count(Fault::HostRestored);
            self.checks.rolled_back(&backup)?;
            self.host.store = backup;
        }
        let now = self.host_now();
        let snapshot = self.host.store.snapshot();
        self.host.seen = now.max(snapshot.written());
        self.host.host = Some(Host::restore(self.host.config, snapshot, now));
        self.checks.restored(&self.host.store, self.host.seen);
        self.trace.note(self.now, || format!("host up at {now:?}"));
        self.set_alarm_event();
        Ok(())
    }

    /// What the host's clock shows.
    fn host_now(&mut self) -> Instant {
        if self.scenario.is_embedded() {
            return self.read_clock(0);
        }
        let (_, wall) = self.machines[0].sample(self.now);
        // A Durable Object's clock shows whole milliseconds.
        let micros = wall.as_micros() + self.host.offset;
        Instant::from_millis(micros / 1_000)
    }

    /// Gives the host one input and carries out what comes of it.
    pub(super) fn tell_host(&mut self, input: HostInput) -> Verdict {
        let now = self.host_now();
        self.host.seen = self.host.seen.max(now);
        self.checks.input(&input, self.host.seen, &self.host.store);
        self.trace
            .note(self.now, || format!("host {now:?} <- {input:?}"));
        let Some(host) = &mut self.host.host else {
            return Ok(());
        };
        host.handle(now, input.clone());
        let outputs: Vec<HostOutput> = std::iter::from_fn(|| host.poll_output()).collect();
        if self.rng.per_mille(self.odds.crash) {
            return self.crash_in(&input, &outputs);
        }
        self.carry_out_all(&input, &outputs)
    }

    fn carry_out_all(&mut self, input: &HostInput, outputs: &[HostOutput]) -> Verdict {
        for output in outputs {
            self.carry_out(output);
        }
        let HostNode {
            seen, alarm, store, ..
        } = &mut self.host;
        self.checks.step(input, *seen, outputs, *alarm, store)
    }

    /// The host goes down in the middle of a step or right after it.
    fn crash_in(&mut self, input: &HostInput, outputs: &[HostOutput]) -> Verdict {
        let persists = outputs
            .iter()
            .take_while(|output| matches!(output, HostOutput::Persist(_)))
            .count();
        let cut = self.rng.range(0, outputs.len() as u64) as usize;
        // One step is one transaction.
        let (fault, done) = if cut == outputs.len() {
            (Fault::CrashIdle, cut)
        } else if cut < persists {
            (Fault::CrashBeforePersist, 0)
        } else if cut == persists {
            (Fault::CrashAfterPersist, cut)
        } else {
            (Fault::CrashAmidReplies, cut)
        };
        self.tally.count(fault);
        self.trace
            .note(self.now, || format!("host goes down: {fault:?}"));
        if fault == Fault::CrashIdle {
            self.carry_out_all(input, outputs)?;
            if let Some(memory) = self.host.host.take() {
                let HostNode {
                    config,
                    store,
                    seen,
                    ..
                } = &self.host;
                Durability::restored(memory, *config, store, *seen)?;
            }
        } else {
            let done = &outputs[..done];
            let HostNode { seen, store, .. } = &mut self.host;
            self.checks.store(done, *seen, store)?;
            for output in done {
                if let HostOutput::Reply(to, response) = output {
                    self.checks.told(*to, response, self.host.seen)?;
                }
                self.carry_out(output);
            }
        }
        self.host.host = None;
        self.host.alarm_number += 1;
        self.checks.crashed();
        for (_, from) in std::mem::take(&mut self.host.asked) {
            if self.rng.per_mille(500) {
                self.fail(from, Delivery::Unknown);
            }
        }
        let downtime = self.rng.magnitude(1_000, 20_000_000);
        self.agenda.put(self.now + downtime, Event::HostUp);
        Ok(())
    }

    /// Does what an output asks for, what is to be stored excepted.
    fn carry_out(&mut self, output: &HostOutput) {
        self.trace
            .note(self.now, || format!("host      -> {output:?}"));
        match output {
            HostOutput::Alarm(at) => self.set_alarm(*at),
            HostOutput::Persist(mutation) => {
                self.note_revoked(mutation);
                self.note_limits(mutation);
            }
            HostOutput::Reply(to, response) => {
                if let Response::State(state) = response {
                    self.revisions.insert(state.key.clone(), state.revision);
                }
                if let Some(from) = self.host.asked.remove(to) {
                    self.send_back(from, response.clone());
                }
            }
        }
    }

    fn set_alarm(&mut self, at: Option<Instant>) {
        self.host.alarm = at;
        self.host.alarm_number += 1;
        let Some(at) = at else {
            return;
        };
        if !self.rng.per_mille(self.odds.alarm) {
            return self.set_alarm_event();
        }
        match self.rng.below(3) {
            0 => self.tally.count(Fault::AlarmLost),
            1 => {
                self.tally.count(Fault::AlarmDoubled);
                self.set_alarm_event();
                self.set_alarm_event();
            }
            _ => {
                self.tally.count(Fault::AlarmLate);
                let number = self.host.alarm_number;
                let late = self.rng.magnitude(1_000, 30_000_000);
                let due = self.true_time_of(at) + late;
                self.agenda.put(due, Event::Alarm { number });
            }
        }
    }

    /// Lets the alarm, if one is set, go off in time.
    pub(super) fn set_alarm_event(&mut self) {
        if let Some(at) = self.host.alarm {
            let number = self.host.alarm_number;
            let due = self.true_time_of(at);
            self.agenda.put(due, Event::Alarm { number });
        }
    }

    /// About when the host's clock will show this; never much later.
    fn true_time_of(&mut self, at: Instant) -> u64 {
        let now = self.host_now();
        let left = at.since(now).as_micros().max(1_000);
        self.now + self.machines[0].true_time_for(left)
    }

    fn note_limits(&mut self, mutation: &Mutation) {
        let grant = match mutation {
            Mutation::PutGrant { grant, .. } => Some(grant),
            Mutation::PutKey(record) => record.grant.as_ref(),
            _ => None,
        };
        if let Some(grant) = grant {
            self.limits.insert(grant.lease, grant.limit.holders());
        }
    }

    /// What an operator ends, its holder is not to blame for believing.
    fn note_revoked(&mut self, mutation: &Mutation) {
        let Mutation::PutKey(record) = mutation else {
            return;
        };
        let Some(key) = self.keys.iter().position(|key| *key == record.key) else {
            return;
        };
        let now = record.past.iter().filter(|past| past.at == record.written);
        let leases: Vec<LeaseId> = now
            .filter_map(|past| match past.outcome {
                PastOutcome::Grant {
                    lease,
                    ended: Ended::Revoked,
                    ..
                } => Some(lease),
                _ => None,
            })
            .collect();
        for lease in leases {
            self.exclusion.revoked(key, lease, self.now);
        }
    }
}
