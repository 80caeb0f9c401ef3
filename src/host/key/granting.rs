//! How a grant begins and ends, and what its holder is told of it.

use alloc::vec::Vec;

use super::super::config::HostConfig;
use super::super::effects::Effects;
use super::super::record::{GrantRecord, Mutation, Offer, PastOutcome};
use super::KeyMachine;
use super::grants::Grant;
use crate::fence::Fence;
use crate::id::OpId;
use crate::protocol::{Ended, Granted, Response};
use crate::time::{Instant, Span};

impl KeyMachine {
    /// Ends the grants whose time is over. One that was offered and never confirmed shows that
    /// nobody knows which waiters are still there.
    pub(super) fn expire(&mut self, config: &HostConfig, now: Instant, fx: &mut Effects) {
        let mut lapsed = false;
        while let Some(position) = self.grants.expired(now) {
            let grant = self.end(position, Ended::Expired, None, now, fx);
            lapsed |= grant.is_some_and(|grant| grant.record.offer != Offer::Confirmed);
        }
        if lapsed {
            self.queue.call_roll(now, config.grace, fx);
        }
    }

    /// Begins a grant, and gives its position. `None` when there is no fence left.
    pub(super) fn begin(&mut self, mut record: GrantRecord, now: Instant) -> Option<usize> {
        self.fence = self.next_fence(now)?;
        record.fence = self.fence;
        self.changed = true;
        self.dirty = true;
        Some(self.grants.add(Grant {
            record,
            entries: Vec::new(),
            dirty: true,
        }))
    }

    /// Ends a grant with its entries, and remembers how.
    pub(super) fn end(
        &mut self,
        position: usize,
        ended: Ended,
        by: Option<OpId>,
        now: Instant,
        fx: &mut Effects,
    ) -> Option<Grant> {
        let grant = self.grants.remove(position)?;
        let slot = grant.record.slot;
        for (name, _) in &grant.entries {
            fx.persist(Mutation::DeleteEntry {
                key: self.key.clone(),
                slot,
                name: name.clone(),
            });
        }
        if slot != 0 {
            fx.persist(Mutation::DeleteGrant {
                key: self.key.clone(),
                slot,
            });
        }
        self.remember_end(&grant.record, ended, by, now);
        Some(grant)
    }

    pub(super) fn remember_end(
        &mut self,
        grant: &GrantRecord,
        ended: Ended,
        by: Option<OpId>,
        now: Instant,
    ) {
        let outcome = PastOutcome::Grant {
            lease: grant.lease,
            fence: grant.fence,
            ended,
            by,
        };
        // An expiry may come to light long after.
        self.memory
            .remember(grant.op, outcome, now.min(grant.expires));
        self.changed = true;
        self.dirty = true;
    }

    /// A grant that runs, as its holder is to learn of it.
    pub(super) fn granted(
        &self,
        config: &HostConfig,
        grant: &GrantRecord,
        now: Instant,
        waited: Span,
        replayed: bool,
    ) -> Response {
        Response::Granted(Granted {
            lease: grant.lease,
            fence: grant.fence,
            slot: grant.slot,
            ttl: usable(config, grant, now),
            waited,
            replayed,
            wanted: self.queue.present(now),
        })
    }

    pub(super) fn not_holder(&self, about: Option<Fence>, ended: Ended) -> Response {
        Response::NotHolder {
            about,
            ended,
            present: self.grants.highest_fence(),
        }
    }
}

/// What is left of the grant, less the margin for the host's own clock.
pub(super) fn usable(config: &HostConfig, grant: &GrantRecord, now: Instant) -> Span {
    grant
        .expires
        .since(now)
        .saturating_sub(config.margin.of(grant.term))
}
