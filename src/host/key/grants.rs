//! The running grants of one key, and who fits beside them.

use alloc::vec::Vec;

use super::super::record::{GrantRecord, Offer};
use crate::fence::Fence;
use crate::id::{LeaseId, OpId};
use crate::json::Json;
use crate::name::{EntryName, Fingerprint};
use crate::protocol::{Credential, Limit};
use crate::time::{Instant, Span};

/// A running grant with what its holder has set.
#[derive(Debug)]
pub(super) struct Grant {
    pub record: GrantRecord,
    /// In order of the names.
    pub entries: Vec<(EntryName, Json)>,
    /// Whether the record differs from the stored one.
    pub dirty: bool,
}

/// The grants, by slot.
#[derive(Debug, Default)]
pub(super) struct Grants(Vec<Grant>);

impl Grants {
    pub fn iter(&self) -> impl Iterator<Item = &Grant> {
        self.0.iter()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Grant> {
        self.0.iter_mut()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn first(&self) -> Option<&GrantRecord> {
        self.0.first().map(|grant| &grant.record)
    }

    pub fn get_mut(&mut self, position: usize) -> Option<&mut Grant> {
        self.0.get_mut(position)
    }

    /// Adds a grant in its slot, and gives its position.
    pub fn add(&mut self, grant: Grant) -> usize {
        let slot = grant.record.slot;
        let position = self.0.partition_point(|other| other.record.slot < slot);
        self.0.insert(position, grant);
        position
    }

    pub fn remove(&mut self, position: usize) -> Option<Grant> {
        (position < self.0.len()).then(|| self.0.remove(position))
    }

    pub fn position(&self, wanted: impl Fn(&GrantRecord) -> bool) -> Option<usize> {
        self.0.iter().position(|grant| wanted(&grant.record))
    }

    /// Where the grant is that the credential opens.
    pub fn opened_by(&self, credential: Credential) -> Option<usize> {
        self.position(|grant| {
            grant.lease == credential.lease
                && credential.fence.is_none_or(|fence| fence == grant.fence)
        })
    }

    /// Where the grant is that `op` has won.
    pub fn won_by(&self, op: OpId) -> Option<usize> {
        self.position(|grant| grant.op == op)
    }

    /// Where the grant is that has this id.
    pub fn with_lease(&self, lease: LeaseId) -> Option<usize> {
        self.position(|grant| grant.lease == lease)
    }

    /// Where a grant is whose time is over.
    pub fn expired(&self, now: Instant) -> Option<usize> {
        self.position(|grant| grant.expires <= now)
    }

    /// Whether one with this limit and id may join: everybody has to put up with everybody.
    pub fn admit(&self, limit: Limit, lease: LeaseId) -> bool {
        let limits = self.0.iter().map(|grant| grant.record.limit);
        fits(self.0.len(), limits.min(), limit) && self.with_lease(lease).is_none()
    }

    /// The lowest slot that is free.
    pub fn free_slot(&self) -> u32 {
        let taken = (0..).zip(&self.0);
        let free = taken.take_while(|(slot, grant)| grant.record.slot == *slot);
        free.count() as u32
    }

    /// When one with this limit can join at the earliest: as soon as enough grants have expired.
    pub fn admit_from(&self, limit: Limit) -> Option<Instant> {
        let mut grants: Vec<&GrantRecord> = Vec::with_capacity(self.0.len());
        for grant in self.iter().map(|grant| &grant.record) {
            let position = grants.partition_point(|other| other.expires <= grant.expires);
            grants.insert(position, grant);
        }
        (0..=grants.len())
            .find(|over| {
                let rest = &grants[*over..];
                fits(
                    rest.len(),
                    rest.iter().map(|grant| grant.limit).min(),
                    limit,
                )
            })
            .and_then(|over| grants.get(over.checked_sub(1)?))
            .map(|grant| grant.expires)
    }

    /// When the first of them expires.
    pub fn first_expiry(&self) -> Option<Instant> {
        self.iter().map(|grant| grant.record.expires).min()
    }

    /// When the last of them expires.
    pub fn last_expiry(&self) -> Option<Instant> {
        self.iter().map(|grant| grant.record.expires).max()
    }

    /// The highest fence of a running grant.
    pub fn highest_fence(&self) -> Option<Fence> {
        self.iter().map(|grant| grant.record.fence).max()
    }

    /// Whether somebody works on another input.
    pub fn conflict_with(&self, fingerprint: Option<&Fingerprint>) -> bool {
        self.iter()
            .any(|grant| differ(grant.record.fingerprint.as_ref(), fingerprint))
    }
}

fn fits(holders: usize, least: Option<Limit>, limit: Limit) -> bool {
    let least = least.map_or(limit, |least| least.min(limit));
    holders < least.holders() as usize
}

/// Whether both are given and are not the same.
pub(super) fn differ(one: Option<&Fingerprint>, other: Option<&Fingerprint>) -> bool {
    one.is_some() && other.is_some() && one != other
}

impl Grant {
    /// The value of an entry.
    pub fn get(&self, name: &EntryName) -> Option<&Json> {
        let (_, value) = self.entries.get(self.position(name).ok()?)?;
        Some(value)
    }

    /// Sets an entry, in place of any of the same name, or removes it.
    pub fn set(&mut self, name: EntryName, value: Option<Json>) {
        let position = self.position(&name);
        if let Ok(position) = position {
            self.entries.remove(position);
        }
        if let Some(value) = value {
            let position = position.unwrap_or_else(|free| free);
            self.entries.insert(position, (name, value));
        }
    }

    /// Where the entry of this name is, or else where it would be.
    fn position(&self, name: &EntryName) -> Result<usize, usize> {
        self.entries.binary_search_by(|(other, _)| other.cmp(name))
    }

    /// Its holder has shown that it is there: the term is as long as it asks for, never less than
    /// it was.
    pub fn confirm(&mut self, now: Instant, ttl: Span) {
        let expires = now + ttl;
        if expires > self.record.expires {
            self.record.term = ttl;
            self.record.expires = expires;
            self.dirty = true;
        }
        if self.record.offer != Offer::Confirmed {
            self.record.offer = Offer::Confirmed;
            self.dirty = true;
        }
    }
}
