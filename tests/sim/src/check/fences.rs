//! Guarantee B at the host: every grant of a key has a higher fence than all before it, through
//! crashes and after the key was forgotten.

use std::collections::{BTreeMap, BTreeSet};

use leasehold::fence::Fence;
use leasehold::host::{HostOutput, KeyRecord, Mutation, PastOutcome};
use leasehold::id::LeaseId;
use leasehold::name::Key;
use leasehold::protocol::Granted;

use super::{Verdict, ensure};

const CHECK: &str = "fences";

/// All grants that were ever stored or told, per key.
#[derive(Default)]
pub struct Fences {
    keys: BTreeMap<Key, Vec<(Fence, LeaseId)>>,
}

/// The grants that a record tells of: the one that runs, and those that are remembered. One may
/// have begun and ended in one step.
fn grants_in(record: &KeyRecord) -> Vec<(Fence, LeaseId)> {
    let past = record.past.iter().filter_map(|past| match past.outcome {
        PastOutcome::Grant { lease, fence, .. } => Some((fence, lease)),
        PastOutcome::Cancelled | PastOutcome::Revoked(_) => None,
    });
    let running = record.grant.iter().map(|grant| (grant.fence, grant.lease));
    past.chain(running).collect()
}

impl Fences {
    /// Takes note of what is stored.
    ///
    /// # Errors
    /// When a fence falls or is used twice.
    pub fn stored(&mut self, outputs: &[HostOutput]) -> Verdict {
        let mut new: BTreeMap<Key, BTreeSet<(Fence, LeaseId)>> = BTreeMap::new();
        for output in outputs {
            let (key, grants) = match output {
                HostOutput::Persist(Mutation::PutGrant { key, grant }) => {
                    (key, vec![(grant.fence, grant.lease)])
                }
                HostOutput::Persist(Mutation::PutKey(record)) => (&record.key, grants_in(record)),
                _ => continue,
            };
            new.entry(key.clone()).or_default().extend(grants);
        }
        for (key, grants) in new {
            for (fence, lease) in grants {
                self.granted(&key, fence, lease)?;
            }
        }
        Ok(())
    }

    /// Takes note of what a holder is told.
    ///
    /// # Errors
    /// When a fence falls or is used twice.
    pub fn told(&mut self, key: &Key, granted: &Granted) -> Verdict {
        self.granted(key, granted.fence, granted.lease)
    }

    /// Where a grant stands in the order of grants of its key.
    pub fn order(&self, key: &Key, fence: Fence, lease: LeaseId) -> Option<usize> {
        let grants = self.keys.get(key)?;
        grants.iter().position(|grant| *grant == (fence, lease))
    }

    fn highest(&self, key: &Key) -> Fence {
        let last = self.keys.get(key).and_then(|grants| grants.last());
        last.map_or(Fence::NONE, |(fence, _)| *fence)
    }

    fn granted(&mut self, key: &Key, fence: Fence, lease: LeaseId) -> Verdict {
        let highest = self.highest(key);
        let grants = self.keys.entry(key.clone()).or_default();
        if grants.last() == Some(&(fence, lease)) || grants.contains(&(fence, lease)) {
            return Ok(());
        }
        grants.push((fence, lease));
        ensure(fence > highest, CHECK, || {
            format!("a new grant has fence {fence}, {highest} was granted before")
        })
    }
}
