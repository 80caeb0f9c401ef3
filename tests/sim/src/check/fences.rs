//! Guarantee B at the host: every grant of a key has a higher fence than all before it, through
//! crashes and after the key was forgotten.

use std::collections::BTreeMap;

use leasehold::fence::Fence;
use leasehold::host::Mutation;
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

impl Fences {
    /// Takes note of what is stored.
    ///
    /// # Errors
    /// When a fence falls or is used twice.
    pub fn stored(&mut self, mutation: &Mutation) -> Verdict {
        let Mutation::PutKey(record) = mutation else {
            return Ok(());
        };
        // A grant may have begun and ended in one step.
        for (lease, fence) in record.past.iter().filter_map(|past| past.grant) {
            self.granted(&record.key, fence, lease)?;
        }
        if let Some(grant) = &record.grant {
            self.granted(&record.key, record.fence, grant.lease)?;
        }
        let highest = self.highest(&record.key);
        ensure(record.fence >= highest, CHECK, || {
            format!("the stored fence fell from {highest} to {}", record.fence)
        })
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
