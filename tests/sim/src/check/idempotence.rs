//! One op, one outcome: a repeated acquire or transfer gets the same lease and fence, a cancelled
//! one gets nothing, as long as the host promises to remember.

use std::collections::BTreeMap;

use leasehold::fence::Fence;
use leasehold::host::{GrantRecord, HostConfig, Mutation, Offer, PastOutcome};
use leasehold::id::{LeaseId, OpId};
use leasehold::name::Key;
use leasehold::protocol::{Granted, Operation, Request};
use leasehold::time::{Instant, Span};

use super::{Verdict, ensure};
use crate::store::Store;

const CHECK: &str = "idempotence";

/// How long an op is remembered after its end.
pub(super) const MEMORY: Span = Span::from_secs(15);

/// The outcomes of all ops.
pub struct Idempotence {
    config: HostConfig,
    keys: BTreeMap<Key, Outcomes>,
}

#[derive(Default)]
struct Outcomes {
    granted: BTreeMap<OpId, (LeaseId, Fence)>,
    /// When each op has ended.
    ended: BTreeMap<OpId, Instant>,
    /// When the grant of each op was to expire.
    expires: BTreeMap<OpId, Instant>,
}

impl Idempotence {
    /// Those of a host with these settings.
    pub fn new(config: HostConfig) -> Self {
        Self {
            config,
            keys: BTreeMap::new(),
        }
    }

    /// The host goes on from an older copy of its storage, and knows what that tells.
    ///
    /// # Errors
    /// When the copy contradicts itself.
    pub fn rolled_back(&mut self, store: &Store) -> Verdict {
        self.keys.clear();
        let snapshot = store.snapshot();
        for record in snapshot.keys {
            self.stored(&Mutation::PutKey(record))?;
        }
        for (key, grant) in snapshot.grants {
            self.granted(&key, &grant)?;
        }
        Ok(())
    }

    /// Takes note of what is stored.
    ///
    /// # Errors
    /// When an op has a second outcome.
    pub fn stored(&mut self, mutation: &Mutation) -> Verdict {
        match mutation {
            Mutation::PutGrant { key, grant } => self.granted(key, grant),
            Mutation::PutKey(record) => {
                let outcomes = self.keys.entry(record.key.clone()).or_default();
                for past in &record.past {
                    outcomes.ended.insert(past.op, past.at);
                    // It may have begun and ended in one step.
                    if let PastOutcome::Grant { lease, fence, .. } = past.outcome {
                        outcomes.granted.insert(past.op, (lease, fence));
                    }
                }
                let grant = record.grant.as_ref();
                grant.map_or(Ok(()), |grant| self.granted(&record.key, grant))
            }
            _ => Ok(()),
        }
    }

    /// An op is granted twice only after its time, or for no longer than an offer.
    fn granted(&mut self, key: &Key, grant: &GrantRecord) -> Verdict {
        let Outcomes {
            granted,
            ended,
            expires,
        } = self.keys.entry(key.clone()).or_default();
        let outcome = (grant.lease, grant.fence);
        let expired = expires.insert(grant.op, grant.expires);
        if granted.get(&grant.op) == Some(&outcome) {
            return Ok(());
        }
        let first = granted.insert(grant.op, outcome);
        // An expiry that comes to light when it need not be remembered any more is not stored.
        let over = expired.filter(|expired| *expired <= grant.since);
        let Some(at) = ended.get(&grant.op).copied().or(over) else {
            return ensure(first.is_none(), CHECK, || {
                format!("an op that holds {first:?} was granted {outcome:?} as well")
            });
        };
        let age = grant.since.since(at);
        let is_offer = grant.offer != Offer::Confirmed && grant.term <= self.config.offer;
        ensure(is_offer || age >= MEMORY, CHECK, || {
            format!("an op that ended {age:?} ago (first {first:?}) was granted {outcome:?}")
        })
    }

    /// Takes note of an op that is told to be cancelled.
    pub fn cancelled(&mut self, request: &Request, now: Instant) {
        let outcomes = self.keys.entry(request.key.clone()).or_default();
        outcomes.ended.entry(request.op).or_insert(now);
    }

    /// Takes note of a grant that is told.
    ///
    /// # Errors
    /// When it is not what the op was granted.
    pub fn told(&self, request: &Request, granted: &Granted) -> Verdict {
        // What proposes the id of a running grant is told that grant, which another op has won.
        if matches!(&request.operation, Operation::Acquire(acquire) if acquire.extend) {
            return Ok(());
        }
        let outcomes = self.keys.get(&request.key);
        let outcome = outcomes.and_then(|outcomes| outcomes.granted.get(&request.op));
        ensure(
            outcome == Some(&(granted.lease, granted.fence)),
            CHECK,
            || {
                let fence = granted.fence;
                format!("an op is told fence {fence}, what it was granted is {outcome:?}")
            },
        )
    }
}
