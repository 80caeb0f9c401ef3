//! Who gets the lease: grants, queues, expiry, fences.
//!
//! A [`Host`] decides by one clock, the one whose instants it is given: microseconds since 1970, the
//! same on every host, since fences are floored by it. Feed it one [`HostInput`] at a time with
//! [`Host::handle`], then drain [`Host::poll_output`] and carry the outputs out in order: whatever
//! has to be stored comes before the answers that rest on it.

mod config;
mod effects;
mod key;
mod query;
mod record;
mod shares;
mod stored;
mod table;
mod timers;

pub use config::{HostConfig, Margin};
pub(crate) use key::{MAX_PAST, MEMORY};
pub use record::{
    DoneRecord, EntryRecord, Floor, GrantRecord, KeyRecord, Mutation, Offer, Past, PastOutcome,
    Snapshot, WaiterRecord,
};
pub use stored::{Row, kind};

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

use crate::name::Key;
use crate::protocol::{
    Code, KeyState, List, MAX_LISTED, MAX_LISTED_BYTES, Operation, Refusal, Request, Response,
};
use crate::time::{Instant, Span};

use effects::Effects;
use key::KeyMachine;
use shares::Shares;
use table::Table;

/// Names who awaits an answer. Chosen by the driver, never reused while one is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReplyTo(pub u64);

/// What a host is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostInput {
    /// The asker of this request is gone; an answer would reach nobody.
    Gone(ReplyTo),
    /// A list is asked for.
    List(ReplyTo, List),
    /// A request has come in.
    Request(ReplyTo, Request),
    /// The instant of the last [`HostOutput::Alarm`] has come. A tick too many does no harm, a
    /// tick that never comes costs waiters time and nothing else.
    Tick,
}

/// What a host wants done, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostOutput {
    /// Come back at this instant with [`HostInput::Tick`], or not at all. Replaces the last alarm.
    Alarm(Option<Instant>),
    /// Store this, in one transaction with the other mutations of the same drain, before any of
    /// its answers leaves.
    Persist(Mutation),
    /// Answer.
    Reply(ReplyTo, Response),
}

/// The lease host's state.
pub struct Host {
    config: HostConfig,
    shares: Shares,
    now: Instant,
    table: Table,
    /// Which key each request that is kept waiting waits for.
    parked: BTreeMap<ReplyTo, Key>,
    floor: Floor,
    effects: Effects,
    alarm: Option<Instant>,
    outputs: VecDeque<HostOutput>,
}

impl Host {
    /// A host that has never granted anything.
    pub fn new(config: HostConfig) -> Self {
        Self::restore(config, Snapshot::default(), Instant::ZERO)
    }

    /// A host that carries on from what another has stored. Stored waiters keep their places for
    /// a moment, in which their next poll has to come.
    pub fn restore(config: HostConfig, snapshot: Snapshot, now: Instant) -> Self {
        let mut host = Self {
            config,
            shares: Shares::default(),
            now: snapshot.written().max(now),
            table: Table::default(),
            parked: BTreeMap::new(),
            floor: snapshot.floor,
            effects: Effects::default(),
            alarm: None,
            outputs: VecDeque::new(),
        };
        for record in snapshot.keys {
            let key = record.key.clone();
            host.table
                .get_or_insert(&key, || KeyMachine::restore(record, snapshot.floor));
        }
        for (key, grant) in snapshot.grants {
            host.known(&key).restore_grant(grant);
        }
        for entry in snapshot.entries {
            host.known(&entry.key).restore_entry(entry);
        }
        let now = host.now;
        for waiter in snapshot.waiters {
            host.effects.last_number = host.effects.last_number.max(waiter.number);
            host.known(&waiter.key.clone())
                .restore_waiter(&config, now, waiter);
        }
        host.table.book_all(&config, host.now);
        host
    }

    /// Keeps a share of the room for the keys of each of these prefixes, and one for all others.
    pub fn share_among(&mut self, prefixes: impl IntoIterator<Item = String>) {
        self.shares = Shares::among(prefixes);
    }

    /// Takes one input. An earlier `now` than any before counts as the latest before.
    pub fn handle(&mut self, now: Instant, input: HostInput) {
        self.now = self.now.max(now);
        match input {
            HostInput::Gone(to) => self.gone(to),
            HostInput::List(to, list) => self.list(to, &list),
            HostInput::Request(to, request) => self.serve(to, request),
            HostInput::Tick => self.alarm = None,
        }
        while let Some(key) = self.table.first_due(self.now) {
            self.settle(&key);
        }
        while let Some(key) = self.table.first_vanishing(self.now) {
            self.settle(&key);
            if self.table.vanish(&self.config, &key, self.now) {
                self.effects.persist(Mutation::DeleteKey(key));
            }
        }
        self.conclude();
    }

    /// The next thing to do; `None` when the input has been dealt with.
    pub fn poll_output(&mut self) -> Option<HostOutput> {
        self.outputs.pop_front()
    }

    /// Whether nothing is left to be remembered, in storage or here.
    pub fn is_empty(&self) -> bool {
        self.table.len() == 0
    }

    /// The key's machine; one that knows nothing if there is none.
    fn known(&mut self, key: &Key) -> &mut KeyMachine {
        let floor = self.floor;
        self.table
            .get_or_insert(key, || KeyMachine::new(key.clone(), floor))
    }

    fn settle(&mut self, key: &Key) {
        if let Some(machine) = self.table.get_mut(key) {
            machine.settle(&self.config, self.now, &mut self.effects);
        }
        self.table.book(&self.config, key, self.now);
    }

    fn serve(&mut self, to: ReplyTo, request: Request) {
        let key = request.key.clone();
        let known = self.table.contains(&key);
        let needs_room = leaves_a_trace(&request.operation);
        let has_room = self.admits(&key, &request.operation)
            && (known || !needs_room || self.make_room(&request.operation));
        if !has_room {
            return self.effects.reply(to, too_many_keys());
        }
        let (config, now) = (self.config, self.now);
        if known || needs_room {
            self.known(&key);
            if let Some(machine) = self.table.get_mut(&key) {
                machine.serve(&config, now, to, request, &mut self.effects);
            }
            self.table.book(&config, &key, now);
        } else {
            // Asking about a key that was never granted must not take up room.
            let mut stranger = KeyMachine::new(key.clone(), self.floor);
            stranger.serve(&config, now, to, request, &mut self.effects);
        }
        if !self.effects.has_replied(to) {
            self.parked.insert(to, key);
        }
    }

    /// Whether the key may come into use, if that is what is asked.
    fn admits(&mut self, key: &Key, operation: &Operation) -> bool {
        let room = self.config.max_keys;
        !matches!(operation, Operation::Acquire(_))
            || !self.shares.matter(room, &self.table)
            || !self.table.is_idle(key, self.now)
            || self.shares.admit(room, key, &self.table, self.now)
    }

    /// Room for one more key: where there is none, the keys that have been idle for longest are
    /// forgotten. What only ends something has room of its own, and leaves nothing that is not idle.
    fn make_room(&mut self, operation: &Operation) -> bool {
        let most = self.config.max_keys;
        let most = match operation {
            Operation::Cancel | Operation::Revoke { .. } => {
                most.saturating_add(self.config.spare_keys)
            }
            _ => most,
        };
        let over = (self.table.len() + 1).saturating_sub(most);
        if !self.table.has_idle(self.now, over) {
            return false;
        }
        for _ in 0..over {
            self.forget_idle();
        }
        true
    }

    /// Forgets the key that has been idle for longest, if one is. The floor keeps every later fence
    /// above its own; what it remembered could come again, so nothing that is new is granted for long
    /// meanwhile.
    fn forget_idle(&mut self) {
        let Some(key) = self.table.longest_idle() else {
            return;
        };
        // What has expired goes with all that belongs to it.
        self.settle(&key);
        let Some(machine) = self.table.remove(&key) else {
            return;
        };
        let floor = Floor {
            fence: self.floor.fence.max(machine.fence()),
            cautious_until: self.floor.cautious_until.max(machine.remembers_until()),
        };
        if floor != self.floor {
            self.floor = floor;
            self.effects.persist(Mutation::PutFloor(floor));
        }
        if machine.is_stored() {
            self.effects.persist(Mutation::DeleteKey(key));
        }
    }

    fn gone(&mut self, to: ReplyTo) {
        let Some(key) = self.parked.remove(&to) else {
            return;
        };
        if let Some(machine) = self.table.get_mut(&key) {
            machine.gone(&self.config, self.now, to, &mut self.effects);
        }
        self.table.book(&self.config, &key, self.now);
    }

    fn list(&mut self, to: ReplyTo, list: &List) {
        let page = self
            .table
            .page(&list.prefix, list.after.as_deref(), MAX_LISTED);
        let mut last = page.last().filter(|_| page.len() == MAX_LISTED).cloned();
        let mut states: Vec<KeyState> = Vec::new();
        let mut length = 0;
        for key in page {
            self.settle(&key);
            if let Some(machine) = self.table.get_mut(&key)
                && machine.is_visible()
            {
                let state = machine.state(self.now);
                length += state.to_json().len();
                states.push(state);
            }
            if length > MAX_LISTED_BYTES {
                last = Some(key);
                break;
            }
        }
        let after = last.map(|key| String::from(key.as_str()));
        self.effects.reply(to, Response::Listed { states, after });
    }

    /// Ends the step: what is to be stored goes first, then the answers, then the alarm.
    fn conclude(&mut self) {
        let mutations = self.effects.mutations.drain(..).map(HostOutput::Persist);
        self.outputs.extend(mutations);
        for (to, response) in self.effects.replies.drain(..) {
            self.parked.remove(&to);
            self.outputs.push_back(HostOutput::Reply(to, response));
        }
        let forgetting = self.table.next_vanishing();
        let forgetting = forgetting.filter(|_| self.config.wakes_to_forget);
        let due = self.table.next_due().into_iter().chain(forgetting).min();
        if due != self.alarm {
            self.alarm = due;
            self.outputs.push_back(HostOutput::Alarm(due));
        }
    }
}

/// Whether the operation needs a place even for a key of which nothing is known: repeated after a
/// later grant it must not have another effect than the first time.
fn leaves_a_trace(operation: &Operation) -> bool {
    match operation {
        Operation::Acquire(_) | Operation::Cancel | Operation::Revoke { .. } => true,
        Operation::Watch(watch) => watch.after.is_some() && !watch.wait.is_zero(),
        _ => false,
    }
}

fn too_many_keys() -> Response {
    Response::Refused(Refusal {
        retry_after: Some(Span::from_secs(1)),
        ..Refusal::new(
            Code::Unavailable,
            "too-many-keys",
            "The host has as many live keys as it allows, or as it allows one scope: spread them over \
             more hosts.",
        )
    })
}
