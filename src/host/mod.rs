//! Who gets the lease: grants, queues, expiry, fences.
//!
//! A [`Host`] decides by one clock, the one whose instants it is given. Feed it one [`HostInput`]
//! at a time with [`Host::handle`], then drain [`Host::poll_output`] and carry the outputs out in
//! order: whatever has to be stored comes before the answers that rest on it.

mod config;
mod past;
mod query;
mod queue;
mod record;
mod shares;
mod slot;
mod table;

pub use config::{HostConfig, Margin};
pub use record::{GrantRecord, KeyRecord, Mutation, Past, Snapshot, WaiterRecord};

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

use crate::fence::Fence;
use crate::name::Key;
use crate::protocol::{Code, Field, Invalid, Operation, Refusal, Request, Response};
use crate::time::{Instant, Span};

use shares::Shares;
use slot::{Asked, Slot};
use table::Table;

/// Names who awaits an answer. Chosen by the driver, never reused while one is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReplyTo(pub u64);

/// What a host is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostInput {
    /// The asker of this request is gone; an answer would reach nobody.
    Gone(ReplyTo),
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
    floor: Fence,
    effects: Effects,
    alarm: Option<Instant>,
    outputs: VecDeque<HostOutput>,
}

/// What a step has brought about so far.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    mutations: Vec<Mutation>,
    replies: Vec<(ReplyTo, Response)>,
    last_number: u64,
}

impl Effects {
    fn persist(&mut self, mutation: Mutation) {
        self.mutations.push(mutation);
    }

    fn reply(&mut self, to: ReplyTo, response: Response) {
        self.replies.push((to, response));
    }

    fn has_replied(&self, to: ReplyTo) -> bool {
        self.replies.iter().any(|(replied, _)| *replied == to)
    }

    fn next_number(&mut self) -> u64 {
        self.last_number = self.last_number.saturating_add(1);
        self.last_number
    }
}

impl Host {
    /// A host that has never granted anything.
    pub fn new(config: HostConfig) -> Self {
        Self::restore(config, Snapshot::default(), Instant::ZERO)
    }

    /// A host that carries on from what another has stored. Stored waiters keep their places for
    /// a moment, in which their next poll has to come.
    pub fn restore(config: HostConfig, mut snapshot: Snapshot, now: Instant) -> Self {
        let written = snapshot.keys.iter().map(|record| record.written).max();
        let now = written.map_or(now, |written| now.max(written));
        let mut host = Self {
            config,
            shares: Shares::default(),
            now,
            table: Table::default(),
            parked: BTreeMap::new(),
            floor: snapshot.floor,
            effects: Effects::default(),
            alarm: None,
            outputs: VecDeque::new(),
        };
        for record in snapshot.keys {
            let key = record.key.clone();
            host.table.insert(key.clone(), Slot::restore(record));
            host.table.book(&key, now);
        }
        snapshot.waiters.sort_by_key(|waiter| waiter.number);
        for waiter in snapshot.waiters {
            let key = waiter.key.clone();
            host.effects.last_number = waiter.number;
            host.table
                .get_or_insert(&key, host.floor)
                .restore_waiter(waiter, now + config.grace);
            host.table.book(&key, now);
        }
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
            HostInput::Request(to, request) => self.serve(to, request),
            HostInput::Tick => self.alarm = None,
        }
        while let Some(key) = self.table.first_due(self.now) {
            if let Some(slot) = self.table.get_mut(&key) {
                slot.settle(&self.config, self.now, &mut self.effects);
            }
            self.store(&key);
        }
        self.finish();
    }

    /// The next thing to do; `None` when the input has been dealt with.
    pub fn poll_output(&mut self) -> Option<HostOutput> {
        self.outputs.pop_front()
    }

    fn serve(&mut self, to: ReplyTo, request: Request) {
        let Request { key, op, operation } = request;
        let known = self.table.contains(&key);
        if !self.admits(&key, &operation) {
            return self.effects.reply(to, too_many_keys());
        }
        let has_place = known || (leaves_a_trace(&operation) && self.make_room(&operation));
        if !has_place && matches!(operation, Operation::Acquire(_) | Operation::Cancel) {
            return self.effects.reply(to, too_many_keys());
        }
        let config = &self.config;
        let fx = &mut self.effects;
        let now = self.now;
        // Asking about a key that was never granted must not take up room.
        let mut stranger = Slot::new(key.clone(), self.floor);
        let slot = if has_place {
            self.table.get_or_insert(&key, self.floor)
        } else {
            &mut stranger
        };
        slot.settle(config, now, fx);
        let asked = Asked { to, op, now };
        match operation {
            Operation::Acquire(acquire) => slot.acquire(config, asked, acquire, fx),
            Operation::Cancel => slot.cancel(config, asked, fx),
            Operation::Inspect => fx.reply(to, slot.inspect(now)),
            Operation::Release(credential) => slot.release(config, asked, credential, fx),
            Operation::Renew { credential, ttl } => {
                fx.reply(to, slot.renew(config, now, credential, ttl));
            }
            Operation::Revoke { .. } => slot.revoke(config, asked, fx),
            Operation::Entry(_) | Operation::Finish(_) | Operation::Watch(_) => {
                fx.reply(to, not_yet());
            }
            Operation::Transfer(transfer) => {
                fx.reply(to, slot.transfer(config, asked, transfer));
            }
            Operation::Verify(credential) => {
                fx.reply(to, slot.verify(config, now, credential));
            }
        }
        self.store(&key);
        if !self.effects.has_replied(to) {
            self.parked.insert(to, key);
        }
    }

    /// Room for one more key: where there is none, the keys that have been idle for longest are
    /// forgotten. The floor keeps every later fence above theirs. What only ends something has room
    /// of its own, and leaves nothing that is not idle.
    fn make_room(&mut self, operation: &Operation) -> bool {
        let most = self.config.max_keys;
        let most = match operation {
            Operation::Acquire(_) => most,
            _ => most.saturating_add(self.config.spare_keys),
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

    /// Whether the key may become alive, if that is what is asked.
    fn admits(&mut self, key: &Key, operation: &Operation) -> bool {
        let room = self.config.max_keys;
        !matches!(operation, Operation::Acquire(_))
            || !self.shares.matter(room, &self.table)
            || self.table.is_alive(key, self.now)
            || self.shares.admit(room, key, &self.table, self.now)
    }

    fn forget_idle(&mut self) {
        if let Some((key, slot)) = self.table.forget_idle(self.now) {
            if slot.fence() > self.floor {
                self.floor = slot.fence();
                self.effects.persist(Mutation::PutFloor(self.floor));
            }
            self.effects.persist(Mutation::DeleteKey(key));
        }
    }

    fn gone(&mut self, to: ReplyTo) {
        if let Some(key) = self.parked.remove(&to)
            && let Some(slot) = self.table.get_mut(&key)
        {
            slot.gone(&self.config, self.now, to);
            self.store(&key);
        }
    }

    fn store(&mut self, key: &Key) {
        if let Some(record) = self.table.book(key, self.now) {
            self.effects.persist(Mutation::PutKey(record));
        }
    }

    /// Ends the step: what is to be stored goes first, then the answers, then the alarm.
    fn finish(&mut self) {
        let mutations = self.effects.mutations.drain(..).map(HostOutput::Persist);
        self.outputs.extend(mutations);
        for (to, response) in self.effects.replies.drain(..) {
            self.parked.remove(&to);
            self.outputs.push_back(HostOutput::Reply(to, response));
        }
        let due = self.table.next_due();
        if due != self.alarm {
            self.alarm = due;
            self.outputs.push_back(HostOutput::Alarm(due));
        }
    }
}

/// Whether the operation is to be remembered though its key is not: repeated after a later grant
/// it must not have another effect than the first time.
fn leaves_a_trace(operation: &Operation) -> bool {
    match operation {
        Operation::Acquire(_) | Operation::Cancel | Operation::Revoke { .. } => true,
        Operation::Entry(_)
        | Operation::Finish(_)
        | Operation::Watch(_)
        | Operation::Inspect
        | Operation::Release(_)
        | Operation::Renew { .. }
        | Operation::Transfer(_)
        | Operation::Verify(_) => false,
    }
}

fn not_yet() -> Response {
    let invalid = Invalid::new(
        Field::Operation,
        "must be another: this host does not know it",
    );
    Response::Refused(invalid.into())
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
