//! One key: its grant, its queue, its fence. What is asked of it is in [`operations`].

mod operations;

use super::config::HostConfig;
use super::past::Memory;
use super::queue::{Parked, Presence, Queue, Waiter};
use super::record::{GrantRecord, KeyRecord, Mutation, Past, WaiterRecord};
use super::{Effects, ReplyTo};
use crate::fence::Fence;
use crate::id::OpId;
use crate::name::Key;
use crate::protocol::{
    Acquire, Code, Ended, Granted, Held, MAX_TTL, Refusal, Response, longest_poll,
};
use crate::time::{Instant, Span};

/// The state of one key.
#[derive(Debug)]
pub(super) struct Slot {
    key: Key,
    fence: Fence,
    grant: Option<GrantRecord>,
    queue: Queue,
    memory: Memory,
    /// Whether the record differs from the stored one.
    dirty: bool,
    /// Under which instants the host's indexes list this key.
    pub indexed: super::table::Indexed,
}

/// The request being served.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub to: ReplyTo,
    pub op: OpId,
    pub now: Instant,
}

impl Slot {
    /// A key never seen before, on a host that has granted fences up to `floor` elsewhere.
    pub fn new(key: Key, floor: Fence) -> Self {
        Self {
            key,
            fence: floor,
            grant: None,
            queue: Queue::default(),
            memory: Memory::default(),
            dirty: false,
            indexed: super::table::Indexed::default(),
        }
    }

    /// A key as it was stored.
    pub fn restore(record: KeyRecord) -> Self {
        Self {
            fence: record.fence,
            grant: record.grant,
            memory: Memory::restore(record.past),
            ..Self::new(record.key, Fence::NONE)
        }
    }

    /// Puts a stored waiter at the end of the queue. It has until `away_until` to come back.
    pub fn restore_waiter(&mut self, record: WaiterRecord, away_until: Instant) {
        self.queue.push(Waiter {
            record,
            presence: Presence::Away(away_until),
        });
    }

    pub fn key(&self) -> &Key {
        &self.key
    }

    pub fn fence(&self) -> Fence {
        self.fence
    }

    /// When the running grant ends unless it is renewed.
    pub fn expires(&self) -> Option<Instant> {
        self.grant.as_ref().map(|grant| grant.expires)
    }

    /// When something has to be done that no request will bring about.
    pub fn due(&self) -> Option<Instant> {
        let expiry = self.expires();
        self.queue
            .due()
            .map(|due| expiry.map_or(due, |expiry| due.min(expiry)))
    }

    /// From when on nobody has an interest in this key.
    pub fn idle_from(&self, now: Instant) -> Option<Instant> {
        if !self.queue.is_empty() {
            return None;
        }
        Some(self.grant.as_ref().map_or(now, |grant| grant.expires))
    }

    /// Whether somebody has an interest in this key now.
    pub fn is_alive(&self, now: Instant) -> bool {
        self.idle_from(now).is_none_or(|idle| idle > now)
    }

    /// The record to store, if it has changed since this was last asked.
    pub fn take_record(&mut self, now: Instant) -> Option<KeyRecord> {
        core::mem::take(&mut self.dirty).then(|| KeyRecord {
            key: self.key.clone(),
            fence: self.fence,
            written: now,
            grant: self.grant.clone(),
            past: self.memory.records(),
        })
    }

    /// Brings the key up to `now`: ends what has expired, grants a free key to the first waiter that
    /// is still there, and dismisses those whose time is up.
    pub fn settle(&mut self, config: &HostConfig, now: Instant, fx: &mut Effects) {
        if self
            .grant
            .as_ref()
            .is_some_and(|grant| grant.expires <= now)
        {
            self.end_grant(Ended::Expired, None, now);
        }
        self.grant_next(config, now, fx);
        self.dismiss(config, now, fx);
    }

    fn dismiss(&mut self, config: &HostConfig, now: Instant, fx: &mut Effects) {
        let mut start = 0;
        while let Some(position) = self.queue.next_due(start, now) {
            match self.queue.get(position).and_then(Waiter::parked) {
                Some(parked) if !parked.last => {
                    self.queue
                        .move_to(position, Presence::Away(now + config.grace));
                    fx.reply(parked.to, queued(position));
                    start = position + 1;
                }
                _ => {
                    if let Some(waiter) = self.queue.remove(position) {
                        self.turn_away(&waiter, now, fx);
                    }
                    start = position;
                }
            }
        }
    }

    /// Ends a wait without a grant.
    fn turn_away(&mut self, waiter: &Waiter, now: Instant, fx: &mut Effects) {
        self.leave(waiter, fx);
        match waiter.parked() {
            Some(parked) => self.deny(parked.to, waiter.record.op, now, fx),
            None => self.memory.remember_denied(waiter.record.op),
        }
    }

    fn leave(&self, waiter: &Waiter, fx: &mut Effects) {
        fx.persist(Mutation::DeleteWaiter {
            key: self.key.clone(),
            number: waiter.record.number,
        });
    }

    /// Grants a free key to the first waiter. The term is short until the waiter shows, by
    /// renewing, that it is still there.
    fn grant_next(&mut self, config: &HostConfig, now: Instant, fx: &mut Effects) {
        while self.grant.is_none()
            && let Some(waiter) = self.queue.pop()
        {
            if !waiter.is_present(now) {
                self.turn_away(&waiter, now, fx);
                continue;
            }
            self.leave(&waiter, fx);
            let parked = waiter.parked();
            let record = waiter.record;
            let term = record.ttl.min(config.offer);
            let response = self.grant(
                config,
                now,
                GrantRecord {
                    lease: record.lease,
                    op: record.op,
                    holder: record.holder,
                    term,
                    expires: now + term,
                },
                parked.map_or(Span::ZERO, |parked| now.since(parked.since)),
            );
            if let Some(parked) = parked {
                fx.reply(parked.to, response);
            }
        }
    }

    fn grant(
        &mut self,
        config: &HostConfig,
        now: Instant,
        grant: GrantRecord,
        waited: Span,
    ) -> Response {
        let Some(fence) = self.fence.next() else {
            return exhausted();
        };
        self.fence = fence;
        self.grant = Some(grant);
        self.dirty = true;
        self.granted(config, now, waited, false)
    }

    /// The running grant, as its holder is to learn of it.
    fn granted(&self, config: &HostConfig, now: Instant, waited: Span, replayed: bool) -> Response {
        match &self.grant {
            Some(grant) => Response::Granted(Granted {
                lease: grant.lease,
                fence: self.fence,
                slot: 0,
                ttl: told(config, grant, now),
                waited,
                replayed,
                wanted: 0,
            }),
            None => not_holder(None, Ended::Unknown),
        }
    }

    fn end_grant(&mut self, ended: Ended, by: Option<OpId>, now: Instant) {
        if let Some(grant) = self.grant.take() {
            self.memory.remember(
                Past {
                    op: grant.op,
                    grant: Some((grant.lease, self.fence)),
                    ended_by: by,
                    ended,
                    at: now,
                },
                now,
            );
            self.dirty = true;
        }
    }

    fn deny(&mut self, to: ReplyTo, op: OpId, now: Instant, fx: &mut Effects) {
        self.memory.remember_denied(op);
        fx.reply(to, self.held(now));
    }

    fn held(&self, now: Instant) -> Response {
        let grant = self.grant.as_ref();
        Response::Held(Held {
            holder: grant.map(|grant| grant.holder.clone()),
            fence: None,
            waiters: 0,
            retry_after: grant.map_or(Span::ZERO, |grant| grant.expires.since(now)),
        })
    }

    fn enqueue(&mut self, config: &HostConfig, asked: Asked, acquire: Acquire, fx: &mut Effects) {
        if self.queue.len() >= config.max_waiters {
            return fx.reply(
                asked.to,
                Response::Refused(Refusal {
                    retry_after: Some(Span::from_secs(1)),
                    ..Refusal::new(
                        Code::Unavailable,
                        "too-many-waiters",
                        "The key has as many waiters as the host allows: try again later.",
                    )
                }),
            );
        }
        let record = WaiterRecord {
            key: self.key.clone(),
            number: fx.next_number(),
            op: asked.op,
            lease: acquire.lease,
            holder: acquire.holder,
            ttl: acquire.ttl,
        };
        fx.persist(Mutation::PutWaiter(record.clone()));
        self.queue.push(Waiter {
            record,
            presence: Presence::Parked(park(asked, acquire.wait, acquire.ttl)),
        });
    }

    /// A waiter is back for its next poll, or repeats the present one: it keeps its place, and the
    /// newer request gets the answer.
    fn park_again(&mut self, asked: Asked, position: usize, wait: Span, fx: &mut Effects) {
        if wait.is_zero() {
            if let Some(waiter) = self.queue.remove(position) {
                self.turn_away(&waiter, asked.now, fx);
            }
            return fx.reply(asked.to, self.held(asked.now));
        }
        let ttl = self.queue.get(position).map(|waiter| waiter.record.ttl);
        let parked = Presence::Parked(park(asked, wait, ttl.unwrap_or(MAX_TTL)));
        if let Some(Presence::Parked(before)) = self.queue.move_to(position, parked) {
            fx.reply(before.to, queued(position));
        }
    }

    /// The asker of a parked request has gone; its place is kept a little longer.
    pub fn gone(&mut self, config: &HostConfig, now: Instant, to: ReplyTo) {
        self.queue.unpark(to, now + config.grace);
    }
}

/// What is left of the grant, less the margin for the host's own clock.
fn told(config: &HostConfig, grant: &GrantRecord, now: Instant) -> Span {
    grant
        .expires
        .since(now)
        .saturating_sub(config.margin.of(grant.term))
}

fn park(asked: Asked, wait: Span, ttl: Span) -> Parked {
    let poll = longest_poll(ttl);
    Parked {
        to: asked.to,
        since: asked.now,
        until: asked.now + wait.min(poll),
        last: wait <= poll,
    }
}

fn queued(position: usize) -> Response {
    Response::Queued {
        ahead: u32::try_from(position).unwrap_or(u32::MAX),
        retry_after: Span::ZERO,
    }
}

fn not_holder(about: Option<Fence>, ended: Ended) -> Response {
    Response::NotHolder {
        about,
        ended,
        present: None,
    }
}

fn exhausted() -> Response {
    Response::Refused(Refusal::new(
        Code::Unavailable,
        "fences-exhausted",
        "The key has been granted 2^64 times: use another key.",
    ))
}
