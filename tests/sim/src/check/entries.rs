//! Entries: what was last set by a holder is what stands, and it ends with the grant.

use std::collections::BTreeMap;

use leasehold::fence::Fence;
use leasehold::host::HostOutput;
use leasehold::json::Json;
use leasehold::name::{EntryName, Key};
use leasehold::protocol::{Operation, Response};

use super::{HostStep, Verdict, ensure};
use crate::store::Store;

const CHECK: &str = "entries";

/// What the entries of each grant must be.
#[derive(Default)]
pub struct Entries {
    /// By key and fence: the highest number seen, and what is set.
    grants: BTreeMap<(Key, Fence), (u64, BTreeMap<EntryName, Json>)>,
}

impl Entries {
    /// The host is back: a step that was cut off may not have taken place.
    pub fn restored(&mut self, store: &Store) {
        let grants = store.keys().flat_map(|record| {
            let key = &record.key;
            let grants = store.grants(key);
            grants.map(move |grant| {
                let entries = store.entries(key, grant.slot);
                ((key.clone(), grant.fence), (grant.entered, entries))
            })
        });
        self.grants = grants.collect();
    }

    /// Looks at a step.
    ///
    /// # Errors
    /// When a grant has other entries than it should.
    pub fn step(&mut self, step: &HostStep<'_>) -> Verdict {
        self.change(step);
        for record in step.store.keys() {
            let key = &record.key;
            for slot in 0..=step
                .store
                .grants(key)
                .map(|grant| grant.slot)
                .max()
                .unwrap_or(0)
                + 1
            {
                let stored = step.store.entries(key, slot);
                let grant = step.store.grants(key).find(|grant| grant.slot == slot);
                let meant = grant.and_then(|grant| self.grants.get(&(key.clone(), grant.fence)));
                let same = match meant {
                    Some((_, meant)) => *meant == stored,
                    None => stored.is_empty(),
                };
                ensure(same, CHECK, || {
                    format!("slot {slot} of {key:?} has {stored:?}, not {meant:?}")
                })?;
            }
        }
        Ok(())
    }

    fn change(&mut self, step: &HostStep<'_>) {
        let Some((to, request)) = step.request else {
            return;
        };
        let answer = step.outputs.iter().find_map(|output| match output {
            HostOutput::Reply(asker, response) if *asker == to => Some(response),
            _ => None,
        });
        match (&request.operation, answer) {
            (Operation::Entry(entry), Some(Response::Entered { .. })) => {
                // It may have been granted in this very step.
                let since = step.store.grants(&request.key);
                let held = step.before.iter().chain(since).find(|grant| {
                    let named = entry.credential.fence;
                    grant.lease == entry.credential.lease
                        && named.is_none_or(|fence| fence == grant.fence)
                });
                let Some(grant) = held else { return };
                let (number, entries) = self
                    .grants
                    .entry((request.key.clone(), grant.fence))
                    .or_default();
                if entry.number <= *number {
                    return;
                }
                *number = entry.number;
                match &entry.value {
                    Some(value) => drop(entries.insert(entry.name.clone(), value.clone())),
                    None => drop(entries.remove(&entry.name)),
                }
            }
            (Operation::Transfer(transfer), Some(Response::Granted(granted))) => {
                let giver = step
                    .before
                    .iter()
                    .find(|grant| grant.lease == transfer.credential.lease);
                if let Some(giver) = giver.filter(|_| !granted.replayed) {
                    let from = (request.key.clone(), giver.fence);
                    if let Some((_, entries)) = self.grants.remove(&from) {
                        let to = (request.key.clone(), granted.fence);
                        self.grants.insert(to, (0, entries));
                    }
                }
            }
            _ => {}
        }
    }
}
