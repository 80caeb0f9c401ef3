//! What is asked of a key: acquire, cancel, inspect, release, renew, revoke, transfer, verify.

use super::super::Effects;
use super::super::config::HostConfig;
use super::super::record::{GrantRecord, Past};
use super::{Asked, Slot, exhausted, not_holder, told};
use crate::id::OpId;
use crate::protocol::{
    Acquire, Credential, Ended, Granted, HolderState, KeyState, Response, Transfer,
};
use crate::time::{Instant, Span};

impl Slot {
    pub fn acquire(
        &mut self,
        config: &HostConfig,
        asked: Asked,
        acquire: Acquire,
        fx: &mut Effects,
    ) {
        let Asked { to, op, now } = asked;
        if let Some(response) = self.outcome_of(config, op, now) {
            return fx.reply(to, response);
        }
        if let Some(position) = self.queue.position(op) {
            return self.park_again(asked, position, acquire.wait, fx);
        }
        if self.memory.was_denied(op) {
            return fx.reply(to, self.held(now));
        }
        match &self.grant {
            None => {
                let grant = GrantRecord {
                    lease: acquire.lease,
                    op,
                    holder: acquire.holder,
                    term: acquire.ttl,
                    expires: now + acquire.ttl,
                };
                let response = self.grant(config, now, grant, Span::ZERO);
                fx.reply(to, response);
            }
            Some(_) if acquire.wait.is_zero() => self.deny(to, op, now, fx),
            Some(_) => self.enqueue(config, asked, acquire, fx),
        }
    }

    /// The outcome that the acquire or transfer `op` has had already.
    fn outcome_of(&self, config: &HostConfig, op: OpId, now: Instant) -> Option<Response> {
        if self.grant.as_ref().is_some_and(|grant| grant.op == op) {
            return Some(self.granted(config, now, Span::ZERO, true));
        }
        self.memory.of(op).map(|past| match past.grant {
            Some((lease, fence)) => Response::Granted(Granted {
                lease,
                fence,
                slot: 0,
                ttl: Span::ZERO,
                waited: Span::ZERO,
                replayed: true,
                wanted: 0,
            }),
            None if past.ended == Ended::Cancelled => Response::Cancelled,
            None => not_holder(None, past.ended),
        })
    }

    pub fn cancel(&mut self, config: &HostConfig, asked: Asked, fx: &mut Effects) {
        let Asked { to, op, now } = asked;
        // First of all: the key must not go to the very op that is cancelled.
        if let Some(waiter) = self
            .queue
            .position(op)
            .and_then(|position| self.queue.remove(position))
        {
            self.leave(&waiter, fx);
            if let Some(parked) = waiter.parked() {
                fx.reply(parked.to, Response::Cancelled);
            }
        }
        if self.grant.as_ref().is_some_and(|grant| grant.op == op) {
            self.end_grant(Ended::Cancelled, Some(op), now);
            self.grant_next(config, now, fx);
        } else if self.memory.of(op).is_none() {
            self.bury(op, Ended::Cancelled, now);
        }
        fx.reply(to, Response::Cancelled);
    }

    /// Leaves a tombstone: should the op still arrive, or arrive again, it must have no effect.
    fn bury(&mut self, op: OpId, ended: Ended, now: Instant) {
        self.memory.remember(
            Past {
                op,
                grant: None,
                ended_by: None,
                ended,
                at: now,
            },
            now,
        );
        self.dirty = true;
    }

    pub fn renew(
        &mut self,
        config: &HostConfig,
        now: Instant,
        credential: Credential,
        ttl: Span,
    ) -> Response {
        match self.matching(credential) {
            Ok(grant) => {
                let changed = extend(grant, now, ttl);
                let ttl = told(config, grant, now);
                self.dirty |= changed;
                renewed(credential, ttl)
            }
            Err(ended) => not_holder(credential.fence, ended),
        }
    }

    pub fn verify(
        &mut self,
        config: &HostConfig,
        now: Instant,
        credential: Credential,
    ) -> Response {
        match self.matching(credential) {
            Ok(grant) => renewed(credential, told(config, grant, now)),
            Err(ended) => not_holder(credential.fence, ended),
        }
    }

    pub fn release(
        &mut self,
        config: &HostConfig,
        asked: Asked,
        credential: Credential,
        fx: &mut Effects,
    ) {
        let Asked { to, op, now } = asked;
        let about = credential.fence;
        let response = if self.memory.was_ended_by(op, Ended::Released) {
            Response::Released { about }
        } else if let Err(ended) = self.matching(credential) {
            not_holder(about, ended)
        } else {
            self.end_grant(Ended::Released, Some(op), now);
            self.grant_next(config, now, fx);
            Response::Released { about }
        };
        fx.reply(to, response);
    }

    /// Ends one grant and begins the successor's in the same step: the key is never free between.
    pub fn transfer(&mut self, config: &HostConfig, asked: Asked, transfer: Transfer) -> Response {
        let Asked { op, now, .. } = asked;
        if let Some(response) = self.outcome_of(config, op, now) {
            return response;
        }
        if let Err(ended) = self.matching(transfer.credential) {
            return not_holder(transfer.credential.fence, ended);
        }
        if self.fence.next().is_none() {
            return exhausted();
        }
        self.end_grant(Ended::Transferred, Some(op), now);
        let grant = GrantRecord {
            lease: transfer.lease,
            op,
            holder: transfer.successor,
            term: transfer.ttl,
            expires: now + transfer.ttl,
        };
        self.grant(config, now, grant, Span::ZERO)
    }

    pub fn revoke(&mut self, config: &HostConfig, asked: Asked, fx: &mut Effects) {
        let Asked { to, op, now } = asked;
        let revoked = if self.memory.was_ended_by(op, Ended::Revoked) {
            true
        } else if self.memory.was_in_vain(op).is_some() {
            false
        } else if self.grant.is_some() {
            self.end_grant(Ended::Revoked, Some(op), now);
            self.grant_next(config, now, fx);
            true
        } else {
            self.bury(op, Ended::Revoked, now);
            false
        };
        fx.reply(to, Response::Revoked(u32::from(revoked)));
    }

    pub fn inspect(&self, now: Instant) -> Response {
        let holder = self.grant.as_ref().map(|grant| HolderState {
            holder: grant.holder.clone(),
            fence: self.fence,
            slot: 0,
            limit: 1,
            age_ms: 0,
            remaining_ms: grant.expires.since(now).as_millis_floor(),
            entries: Default::default(),
        });
        Response::State(KeyState {
            holders: holder.into_iter().collect(),
            waiters: u32::try_from(self.queue.len()).unwrap_or(u32::MAX),
            ..KeyState::absent(self.key.clone())
        })
    }

    /// The running grant, if the credential opens it.
    fn matching(&mut self, credential: Credential) -> Result<&mut GrantRecord, Ended> {
        let ended = self.memory.end_of(credential.lease);
        let meant = credential.fence.is_none_or(|fence| fence == self.fence);
        match &mut self.grant {
            Some(grant) if meant && grant.lease == credential.lease => Ok(grant),
            _ => Err(ended),
        }
    }
}

fn renewed(credential: Credential, ttl: Span) -> Response {
    Response::Renewed {
        about: credential.fence,
        ttl,
        wanted: 0,
    }
}

/// Sets the expiry anew, never earlier than it was. Whether that changed anything.
fn extend(grant: &mut GrantRecord, now: Instant, ttl: Span) -> bool {
    let expires = now + ttl;
    if expires <= grant.expires {
        return false;
    }
    grant.term = ttl;
    grant.expires = expires;
    true
}
