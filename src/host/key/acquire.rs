//! Getting a grant: at once, after a wait, or not.

use super::super::config::HostConfig;
use super::super::effects::Effects;
use super::super::record::{GrantRecord, Mutation, Offer, PastOutcome, WaiterRecord};
use super::grants::Grant;
use super::waiting::{Parked, Waiter};
use super::{Asked, KeyMachine, Term};
use crate::fence::Fence;
use crate::protocol::{Acquire, Ended, Granted, Held, Limit, MAX_TTL, Refusal, Response};
use crate::time::{Instant, Span};

impl KeyMachine {
    /// The answer, unless the request is kept waiting.
    pub(super) fn acquire(
        &mut self,
        config: &HostConfig,
        asked: Asked,
        acquire: Acquire,
        fx: &mut Effects,
    ) -> Option<Response> {
        let Asked { op, now, .. } = asked;
        if self.memory.has_finished(op)
            && let Some(response) = self.settled_by_done(None, now)
        {
            return Some(response);
        }
        if let Some(response) = self.repeated(config, asked) {
            return Some(response);
        }
        if let Some(position) = self.queue.position(op) {
            return self.poll_again(asked, position, acquire.wait, fx);
        }
        if let Some(response) = self.settled_by_done(acquire.fingerprint.as_ref(), now) {
            return Some(response);
        }
        if self.memory.was_denied(op) {
            return Some(self.held(acquire.limit, now));
        }
        if self.grants.conflict_with(acquire.fingerprint.as_ref()) {
            return Some(Response::Refused(Refusal::ANOTHER_INPUT));
        }
        if let Some(position) = self.grants.with_lease(acquire.lease) {
            return Some(self.proposed_again(config, asked, &acquire, position));
        }
        if acquire.steal {
            while !self.grants.is_empty() {
                self.end(0, Ended::Revoked, Some(op), now, fx);
            }
            return Some(self.grant_at_once(config, asked, acquire));
        }
        let is_free = self.queue.present(now) == 0 && self.queue.roll_call().is_none();
        if is_free && self.grants.admit(acquire.limit, acquire.lease) {
            return Some(self.grant_at_once(config, asked, acquire));
        }
        if acquire.wait.is_zero() {
            return Some(self.deny(asked, acquire.limit));
        }
        self.enqueue(config, asked, acquire, fx)
    }

    /// The outcome that the acquire or transfer with this op has had already.
    pub(super) fn repeated(&mut self, config: &HostConfig, asked: Asked) -> Option<Response> {
        let Asked { op, now, .. } = asked;
        if let Some(position) = self.grants.won_by(op) {
            let grant = self.grants.get_mut(position)?;
            if grant.record.offer == Offer::Made {
                // Nobody may have heard of it before: the short term starts anew, once.
                grant.record.offer = Offer::Collected;
                grant.record.expires = now + grant.record.term;
                grant.dirty = true;
            }
            let record = grant.record.clone();
            return Some(self.granted(config, &record, now, Span::ZERO, true));
        }
        Some(match self.memory.outcome_of(op)? {
            PastOutcome::Cancelled => Response::Cancelled,
            PastOutcome::Grant { lease, fence, .. } => {
                let own =
                    |grant: &&Grant| (grant.record.lease, grant.record.fence) == (lease, fence);
                match self.grants.iter().find(own) {
                    // It has extended this one.
                    Some(grant) => self.granted(config, &grant.record, now, Span::ZERO, true),
                    None => Response::Granted(Granted {
                        lease,
                        fence,
                        slot: 0,
                        ttl: Span::ZERO,
                        waited: Span::ZERO,
                        replayed: true,
                        wanted: self.queue.present(now),
                    }),
                }
            }
            PastOutcome::Revoked(_) => self.not_holder(None, Ended::Unknown),
        })
    }

    /// The proposed id is that of a running grant. What extends it is remembered with it: should the op
    /// come again after its end, it must not win another.
    fn proposed_again(
        &mut self,
        config: &HostConfig,
        asked: Asked,
        acquire: &Acquire,
        position: usize,
    ) -> Response {
        match self.grants.get_mut(position) {
            Some(grant) if acquire.extend => {
                grant.confirm(asked.now, acquire.ttl);
                let record = grant.record.clone();
                let outcome = PastOutcome::Grant {
                    lease: record.lease,
                    fence: record.fence,
                    ended: Ended::Unknown,
                    by: None,
                };
                self.memory.remember(asked.op, outcome, asked.now);
                self.dirty = true;
                self.granted(config, &record, asked.now, Span::ZERO, false)
            }
            _ => self.deny(asked, acquire.limit),
        }
    }

    fn grant_at_once(&mut self, config: &HostConfig, asked: Asked, acquire: Acquire) -> Response {
        let Asked { op, now, .. } = asked;
        let term = if self.memory.is_cautious(now) {
            Term {
                length: acquire.ttl.min(config.offer),
                offer: Offer::Made,
            }
        } else {
            Term {
                length: acquire.ttl,
                offer: Offer::Confirmed,
            }
        };
        let record = WaiterRecord {
            key: self.key.clone(),
            number: 0,
            op,
            lease: acquire.lease,
            holder: acquire.holder,
            ttl: acquire.ttl,
            limit: acquire.limit,
            fingerprint: acquire.fingerprint,
        };
        self.grant(config, now, record, term, Span::ZERO)
    }

    fn grant(
        &mut self,
        config: &HostConfig,
        now: Instant,
        asker: WaiterRecord,
        term: Term,
        waited: Span,
    ) -> Response {
        let record = GrantRecord {
            slot: self.grants.free_slot(),
            fence: Fence::NONE,
            lease: asker.lease,
            op: asker.op,
            holder: asker.holder,
            limit: asker.limit,
            since: now,
            term: term.length,
            expires: now + term.length,
            offer: term.offer,
            fingerprint: asker.fingerprint,
            entered: 0,
        };
        let begun = self.begin(record, now);
        match begun.and_then(|position| self.grants.get_mut(position)) {
            Some(grant) => {
                let record = grant.record.clone();
                self.granted(config, &record, now, waited, false)
            }
            None => Response::Refused(Refusal::FENCES_EXHAUSTED),
        }
    }

    /// Gives the key to those whose turn it is, as long as they fit. The term is short until the
    /// waiter shows, by renewing, that it is still there.
    pub(super) fn admit(&mut self, config: &HostConfig, now: Instant, fx: &mut Effects) {
        self.queue.end_roll_call(now);
        while let Some(position) = self.queue.next(now) {
            let next = self.queue.get(position).map(|waiter| &waiter.record);
            let fits = next.is_some_and(|next| self.grants.admit(next.limit, next.lease));
            let Some(waiter) = fits.then(|| self.queue.remove(position, fx)).flatten() else {
                break;
            };
            self.changed = true;
            let parked = waiter.parked();
            let term = Term {
                length: waiter.record.ttl.min(config.offer),
                offer: Offer::Made,
            };
            let waited = parked.map_or(Span::ZERO, |parked| now.since(parked.since));
            let response = self.grant(config, now, waiter.record, term, waited);
            if let Some(parked) = parked {
                fx.reply(parked.to, response);
            }
        }
    }

    /// Sends away whose poll is over, and takes the place of those who have left or lost patience.
    pub(super) fn dismiss(&mut self, config: &HostConfig, now: Instant, fx: &mut Effects) {
        let mut start = 0;
        while let Some(position) = self.queue.dismiss(start, now, config.grace, fx) {
            if let Some(waiter) = self.queue.remove(position, fx) {
                self.turn_away(&waiter, now, fx);
            }
            start = position;
        }
    }

    /// Ends a wait without a grant.
    fn turn_away(&mut self, waiter: &Waiter, now: Instant, fx: &mut Effects) {
        self.changed = true;
        // Nothing else of it is stored, and nobody would see it after a restart.
        self.dirty = true;
        self.memory.remember_denied(waiter.record.op, now);
        if let Some(parked) = waiter.parked() {
            fx.reply(parked.to, self.held(waiter.record.limit, now));
        }
    }

    fn deny(&mut self, asked: Asked, limit: Limit) -> Response {
        self.memory.remember_denied(asked.op, asked.now);
        self.held(limit, asked.now)
    }

    fn held(&self, limit: Limit, now: Instant) -> Response {
        let first = self.grants.first();
        let from = self.grants.admit_from(limit).max(self.queue.roll_call());
        Response::Held(Held {
            holder: first.map(|grant| grant.holder.clone()),
            fence: first.map(|grant| grant.fence),
            retry_after: from.map_or(Span::ZERO, |from| from.since(now)),
            waiters: u32::try_from(self.queue.len()).unwrap_or(u32::MAX),
        })
    }

    fn enqueue(
        &mut self,
        config: &HostConfig,
        asked: Asked,
        acquire: Acquire,
        fx: &mut Effects,
    ) -> Option<Response> {
        if self.queue.len() >= config.max_waiters {
            return Some(Response::Refused(Refusal::TOO_MANY_WAITERS));
        }
        let parked = Parked::new(asked.to, asked.now, acquire.wait, acquire.ttl);
        let record = WaiterRecord {
            key: self.key.clone(),
            number: fx.next_number(),
            op: asked.op,
            lease: acquire.lease,
            holder: acquire.holder,
            ttl: acquire.ttl,
            limit: acquire.limit,
            fingerprint: acquire.fingerprint,
        };
        fx.persist(Mutation::PutWaiter(record.clone()));
        self.queue.push(Waiter::new(record, parked));
        self.changed = true;
        None
    }

    fn poll_again(
        &mut self,
        asked: Asked,
        position: usize,
        wait: Span,
        fx: &mut Effects,
    ) -> Option<Response> {
        let ttl = self.queue.get(position).map(|waiter| waiter.record.ttl);
        let parked = Parked::new(asked.to, asked.now, wait, ttl.unwrap_or(MAX_TTL));
        self.queue.park_again(position, parked, fx);
        if wait.is_zero()
            && let Some(waiter) = self.queue.remove(position, fx)
        {
            self.turn_away(&waiter, asked.now, fx);
        }
        None
    }

    pub(super) fn cancel(&mut self, asked: Asked, fx: &mut Effects) -> Response {
        let Asked { op, now, .. } = asked;
        // First of all: the key must not go to the very op that is cancelled.
        let waiting = self.queue.position(op);
        if let Some(waiter) = waiting.and_then(|position| self.queue.remove(position, fx)) {
            self.changed = true;
            if let Some(parked) = waiter.parked() {
                fx.reply(parked.to, Response::Cancelled);
            }
        }
        if let Some(position) = self.grants.won_by(op) {
            self.end(position, Ended::Cancelled, Some(op), now, fx);
        } else if self.memory.outcome_of(op).is_none() {
            // Should the op still arrive, or arrive again, it must have no effect.
            self.memory.remember(op, PastOutcome::Cancelled, now);
            self.dirty = true;
        }
        Response::Cancelled
    }
}
