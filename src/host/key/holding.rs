//! What holders, and operators, do with running grants.

use super::super::config::HostConfig;
use super::super::effects::Effects;
use super::super::record::{GrantRecord, Offer, PastOutcome};
use super::{Asked, KeyMachine, usable};
use crate::fence::Fence;
use crate::protocol::{Credential, Ended, Refusal, Response, Transfer};
use crate::time::{Instant, Span};

impl KeyMachine {
    pub(super) fn renew(
        &mut self,
        config: &HostConfig,
        now: Instant,
        credential: Credential,
        ttl: Span,
    ) -> Response {
        if let Some(position) = self.grants.opened_by(credential)
            && let Some(grant) = self.grants.get_mut(position)
        {
            grant.confirm(now, ttl);
        }
        self.verify(config, now, credential)
    }

    pub(super) fn verify(
        &mut self,
        config: &HostConfig,
        now: Instant,
        credential: Credential,
    ) -> Response {
        let about = credential.fence;
        let wanted = self.queue.present(now);
        let position = self.grants.opened_by(credential);
        match position.and_then(|position| self.grants.get_mut(position)) {
            Some(grant) => Response::Renewed {
                about,
                ttl: usable(config, &grant.record, now),
                wanted,
            },
            None => self.not_holder(about, self.memory.end_of(credential)),
        }
    }

    pub(super) fn release(
        &mut self,
        asked: Asked,
        credential: Credential,
        fx: &mut Effects,
    ) -> Response {
        let Asked { op, now, .. } = asked;
        let about = credential.fence;
        if self.memory.was_ended_by(op, Ended::Released) {
            return Response::Released { about };
        }
        match self.grants.opened_by(credential) {
            Some(position) => {
                self.end(position, Ended::Released, Some(op), now, fx);
                Response::Released { about }
            }
            None => self.not_holder(about, self.memory.end_of(credential)),
        }
    }

    /// Ends one grant and begins the successor's in its place in the same step: the key is never
    /// free between. The entries stay where they are; the numbers of their changes start anew.
    pub(super) fn transfer(
        &mut self,
        config: &HostConfig,
        asked: Asked,
        transfer: Transfer,
    ) -> Response {
        let Asked { op, now, .. } = asked;
        if let Some(response) = self.repeated(config, asked) {
            return response;
        }
        let credential = transfer.credential;
        let Some(position) = self.grants.opened_by(credential) else {
            return self.not_holder(credential.fence, self.memory.end_of(credential));
        };
        if self.next_fence(now).is_none() {
            return Response::Refused(Refusal::FENCES_EXHAUSTED);
        }
        let same = self.grants.with_lease(transfer.lease);
        if same.is_some_and(|same| same != position) {
            return Response::Refused(Refusal::SAME_LEASE);
        }
        let Some(giver) = self.grants.remove(position) else {
            return self.not_holder(credential.fence, Ended::Unknown);
        };
        self.remember_end(&giver.record, Ended::Transferred, Some(op), now);
        let record = GrantRecord {
            lease: transfer.lease,
            op,
            holder: transfer.successor,
            since: now,
            term: transfer.ttl,
            expires: now + transfer.ttl,
            offer: Offer::Confirmed,
            entered: 0,
            ..giver.record
        };
        let begun = self.begin(record, now);
        match begun.and_then(|position| self.grants.get_mut(position)) {
            Some(grant) => {
                grant.entries = giver.entries;
                let record = grant.record.clone();
                self.granted(config, &record, now, Span::ZERO, false)
            }
            None => Response::Refused(Refusal::FENCES_EXHAUSTED),
        }
    }

    /// Ends the grants, or the one with this fence, and the mark that the key is done.
    pub(super) fn revoke(
        &mut self,
        asked: Asked,
        only: Option<Fence>,
        fx: &mut Effects,
    ) -> Response {
        let Asked { op, now, .. } = asked;
        if let Some(PastOutcome::Revoked(revoked)) = self.memory.outcome_of(op) {
            return Response::Revoked(revoked);
        }
        let meant = |fence: Fence| only.is_none_or(|only| only == fence);
        let mut revoked = 0;
        while let Some(position) = self.grants.position(|grant| meant(grant.fence)) {
            self.end(position, Ended::Revoked, Some(op), now, fx);
            revoked += 1;
        }
        if self.done.as_ref().is_some_and(|done| meant(done.fence)) {
            self.done = None;
            self.changed = true;
            revoked += 1;
        }
        self.memory.remember(op, PastOutcome::Revoked(revoked), now);
        self.dirty = true;
        Response::Revoked(revoked)
    }
}
