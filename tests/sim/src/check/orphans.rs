//! No orphan: once the network is well, what a cancelled or failed acquire was given is soon gone, and
//! what a renewal may have prolonged of a lost lease.

use leasehold::id::{LeaseId, OpId};
use leasehold::name::Key;
use leasehold::time::Instant;

use super::{Verdict, ensure};
use crate::store::Store;

const CHECK: &str = "orphans";

/// What one holder has asked for.
#[derive(Clone, Debug, Default)]
pub struct Orphans {
    asked: Vec<(OpId, LeaseId)>,
}

impl Orphans {
    /// An acquire or a claim was sent.
    pub fn asked(&mut self, op: OpId, lease: LeaseId) {
        if !self.asked.contains(&(op, lease)) {
            self.asked.push((op, lease));
        }
    }

    /// Whether this lease id is one that the holder has asked for.
    pub fn has_asked_for(&self, lease: LeaseId) -> bool {
        self.asked.iter().any(|(_, asked)| *asked == lease)
    }

    /// The holder has ended without a lease, and a while has passed.
    ///
    /// # Errors
    /// When the host still keeps something for it.
    pub fn gone(&self, key: &Key, store: &Store, now: Instant) -> Verdict {
        for (op, lease) in &self.asked {
            let granted = store
                .grants(key)
                .any(|grant| grant.expires > now && grant.op == *op && grant.lease == *lease);
            ensure(!granted, CHECK, || {
                format!("{key:?} is granted to one who gave up, or has lost it")
            })?;
            let waits = store.waiters(key).any(|waiter| waiter.op == *op);
            ensure(!waits, CHECK, || {
                format!("one who gave up waits for {key:?}")
            })?;
        }
        Ok(())
    }
}
