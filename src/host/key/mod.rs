//! One key: a step from its state and an input to its next state, with answers and what to store.
//!
//! Nothing here knows of other keys or of where the state is kept: a table of keys over rows drives
//! it, and so could a single document.

mod acquire;
mod done;
mod entries;
mod granting;
mod grants;
mod holding;
mod memory;
mod waiting;
mod watch;

pub(crate) use memory::{MAX_PAST, MEMORY};

use alloc::vec::Vec;

use super::ReplyTo;
use super::config::HostConfig;
use super::effects::Effects;
use super::record::{
    DoneRecord, EntryRecord, Floor, GrantRecord, KeyRecord, Mutation, Offer, WaiterRecord,
};
use super::timers::{Timer, TimerTable};
use crate::fence::{Fence, Revision};
use crate::id::OpId;
use crate::name::Key;
use crate::protocol::{HolderState, KeyState, Operation, Request, Response};
use crate::time::{Instant, Span};

use granting::usable;
use grants::{Grant, Grants};
use memory::Memory;
use waiting::Queue;
use watch::Watchers;

/// The state of one key.
#[derive(Debug)]
pub(super) struct KeyMachine {
    key: Key,
    /// The highest that was granted.
    fence: Fence,
    /// None was ever granted above this before anything else was known of the key.
    floor: Fence,
    revision: Revision,
    grants: Grants,
    queue: Queue,
    memory: Memory,
    done: Option<DoneRecord>,
    watchers: Watchers,
    timers: TimerTable,
    /// Whether an observer sees something else than before.
    changed: bool,
    /// Whether the key's record differs from the stored one.
    dirty: bool,
    /// Whether there is a stored record.
    stored: bool,
}

/// The request being served.
#[derive(Clone, Copy)]
struct Asked {
    to: ReplyTo,
    op: OpId,
    now: Instant,
}

/// What becomes of a grant that begins.
struct Term {
    length: Span,
    offer: Offer,
}

impl KeyMachine {
    /// A key of which nothing more is known.
    pub fn new(key: Key, floor: Floor) -> Self {
        Self {
            key,
            fence: Fence::NONE,
            floor: floor.fence,
            revision: Revision::ABSENT,
            grants: Grants::default(),
            queue: Queue::default(),
            memory: Memory::cautious(floor.cautious_until),
            done: None,
            watchers: Watchers::default(),
            timers: TimerTable::default(),
            changed: false,
            dirty: false,
            stored: false,
        }
    }

    /// A key as it was stored.
    pub fn restore(record: KeyRecord, floor: Floor) -> Self {
        let mut key = Self::new(record.key, floor);
        key.fence = record.fence;
        key.revision = record.revision;
        key.memory = Memory::restore(record.past, record.cautious_until);
        key.done = record.done;
        key.stored = true;
        if let Some(grant) = record.grant {
            key.restore_grant(grant);
        }
        key
    }

    /// Adds a stored grant.
    pub fn restore_grant(&mut self, record: GrantRecord) {
        self.grants.add(Grant {
            record,
            entries: Vec::new(),
            dirty: false,
        });
    }

    /// Adds a stored entry to its grant.
    pub fn restore_entry(&mut self, entry: EntryRecord) {
        let mut grants = self.grants.iter_mut();
        if let Some(grant) = grants.find(|grant| grant.record.slot == entry.slot) {
            grant.set(entry.name, Some(entry.value));
        }
    }

    /// Puts a stored waiter in its place in the queue. The key's record may be older than it.
    pub fn restore_waiter(&mut self, config: &HostConfig, now: Instant, record: WaiterRecord) {
        self.queue.restore(record, now, config.grace);
        self.changed = true;
    }

    /// All that is stored has been restored. As long as somebody held the key, others may have been
    /// denied it.
    pub fn restored(&mut self, now: Instant) {
        let held = self.grants.last_expiry().max(self.memory.last_end());
        if let Some(until) = held {
            self.memory.forget_denied(until.min(now));
        }
        self.arm();
    }

    pub fn key(&self) -> &Key {
        &self.key
    }

    pub fn fence(&self) -> Fence {
        self.fence
    }

    /// The fence of a grant that would begin now. `None` when there is none left.
    fn next_fence(&self, now: Instant) -> Option<Fence> {
        let next = self.fence.max(self.floor).next()?;
        Some(next.max(Fence::from_value(now.as_micros())))
    }

    /// When the last of the running grants ends unless it is renewed.
    pub fn last_expiry(&self) -> Option<Instant> {
        self.grants.last_expiry()
    }

    /// Whether nobody has an interest in this key now.
    pub fn is_idle(&self, now: Instant) -> bool {
        self.idle_from(now).is_some_and(|idle| idle <= now)
    }

    /// Whether an observer sees more than that there once was something.
    pub fn is_visible(&self) -> bool {
        !self.grants.is_empty() || !self.queue.is_empty() || self.done.is_some()
    }

    /// Whether there is a stored record.
    pub fn is_stored(&self) -> bool {
        self.stored
    }

    /// When something has to be done that no request will bring about.
    pub fn due(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// From when on nobody has an interest in this key.
    pub fn idle_from(&self, now: Instant) -> Option<Instant> {
        if !self.queue.is_empty() || !self.watchers.is_empty() {
            return None;
        }
        let done = self.done.as_ref().map(|done| done.until);
        Some(self.grants.last_expiry().max(done).unwrap_or(now))
    }

    /// Until when ops are remembered.
    pub fn remembers_until(&self) -> Instant {
        self.memory.ends().unwrap_or(Instant::ZERO)
    }

    /// When the key can be forgotten, its fence included.
    pub fn vanishes_from(&self, config: &HostConfig, now: Instant) -> Option<Instant> {
        let granted = Instant::from_micros(self.fence.value());
        let kept = match self.fence {
            Fence::NONE => Instant::ZERO,
            _ => granted + config.retention,
        };
        let idle = self.idle_from(now)?;
        let from = idle.max(kept).max(self.remembers_until());
        (from < Instant::FAR_FUTURE).then_some(from)
    }

    /// Brings the key up to `now`.
    pub fn settle(&mut self, config: &HostConfig, now: Instant, fx: &mut Effects) {
        self.advance(config, now, fx);
        self.conclude(now, fx);
    }

    fn advance(&mut self, config: &HostConfig, now: Instant, fx: &mut Effects) {
        self.memory.prune(now);
        self.expire(config, now, fx);
        self.end_done(now);
        self.admit(config, now, fx);
        self.dismiss(config, now, fx);
        // With one less in front the next may be served.
        self.admit(config, now, fx);
        self.revise(now);
    }

    /// Serves one request.
    pub fn serve(
        &mut self,
        config: &HostConfig,
        now: Instant,
        to: ReplyTo,
        request: Request,
        fx: &mut Effects,
    ) {
        self.advance(config, now, fx);
        let asked = Asked {
            to,
            op: request.op,
            now,
        };
        let answer = match request.operation {
            Operation::Acquire(acquire) => self.acquire(config, asked, acquire, fx),
            Operation::Cancel => Some(self.cancel(asked, fx)),
            Operation::Entry(entry) => Some(self.enter(entry, fx)),
            Operation::Finish(finish) => Some(self.finish_work(asked, finish, fx)),
            Operation::Inspect => Some(Response::State(self.state(now))),
            Operation::Release(credential) => Some(self.release(asked, credential, fx)),
            Operation::Renew { credential, ttl } => Some(self.renew(config, now, credential, ttl)),
            Operation::Revoke { fence } => Some(self.revoke(asked, fence, fx)),
            Operation::Transfer(transfer) => Some(self.transfer(config, asked, transfer)),
            Operation::Verify(credential) => Some(self.verify(config, now, credential)),
            Operation::Watch(watch) => self.watch(config, asked, watch),
        };
        if let Some(answer) = answer {
            fx.reply(to, answer);
        }
        self.admit(config, now, fx);
        self.conclude(now, fx);
    }

    /// The asker of a parked request has gone.
    pub fn gone(&mut self, config: &HostConfig, now: Instant, to: ReplyTo, fx: &mut Effects) {
        self.queue.gone(to, now + config.grace);
        self.watchers.gone(to);
        // Those behind it may be served.
        self.advance(config, now, fx);
        self.conclude(now, fx);
    }

    /// Ends a step: what observers see, what is stored, which timers are set.
    fn conclude(&mut self, now: Instant, fx: &mut Effects) {
        self.revise(now);
        if self.watchers.are_due(self.revision, now) {
            let state = self.state(now);
            self.watchers.answer(&state, now, fx);
        }
        self.store(now, fx);
        self.arm();
    }

    fn revise(&mut self, now: Instant) {
        if core::mem::take(&mut self.changed) {
            let next = self.revision.value().saturating_add(1);
            self.revision = Revision::from_value(next.max(now.as_micros()));
        }
    }

    /// Sets the timers by the state.
    fn arm(&mut self) {
        let interest = !self.queue.is_empty() || !self.watchers.is_empty();
        let done = self.done.as_ref().map(|done| done.until);
        let expiry = self.grants.first_expiry().into_iter().chain(done).min();
        let timers = &mut self.timers;
        timers.set(Timer::Expiry, expiry.filter(|_| interest));
        timers.set(Timer::Poll, self.queue.due());
        timers.set(Timer::RollCall, self.queue.roll_call());
        timers.set(Timer::Watch, self.watchers.due(self.revision));
    }

    fn store(&mut self, now: Instant, fx: &mut Effects) {
        for grant in self.grants.iter_mut() {
            if core::mem::take(&mut grant.dirty) {
                if grant.record.slot == 0 {
                    self.dirty = true;
                } else {
                    fx.persist(Mutation::PutGrant {
                        key: self.key.clone(),
                        grant: grant.record.clone(),
                    });
                }
            }
        }
        if core::mem::take(&mut self.dirty) {
            let (past, cautious_until) = self.memory.records();
            self.stored = true;
            fx.persist(Mutation::PutKey(KeyRecord {
                key: self.key.clone(),
                fence: self.fence,
                revision: self.revision,
                written: now,
                grant: self.grants.first().filter(|grant| grant.slot == 0).cloned(),
                past,
                cautious_until,
                done: self.done.clone(),
            }));
        }
    }

    /// The key as an observer sees it.
    pub fn state(&self, now: Instant) -> KeyState {
        let holder = |Grant {
                          record, entries, ..
                      }: &Grant| HolderState {
            holder: record.holder.clone(),
            fence: record.fence,
            slot: record.slot,
            limit: record.limit.holders(),
            age_ms: now.since(record.since).as_millis_floor(),
            remaining_ms: record.expires.since(now).as_millis_floor(),
            entries: entries.clone(),
        };
        KeyState {
            key: self.key.clone(),
            revision: self.revision,
            holders: self.grants.iter().map(holder).collect(),
            waiters: u32::try_from(self.queue.len()).unwrap_or(u32::MAX),
            done: self.done_state(now),
        }
    }
}

fn queued(position: usize) -> Response {
    Response::Queued {
        ahead: u32::try_from(position).unwrap_or(u32::MAX),
        retry_after: Span::ZERO,
    }
}
