//! One op, one outcome: a repeated acquire or transfer gets the same lease and fence, a cancelled
//! one gets nothing, as long as the host promises to remember.

use std::collections::BTreeMap;

use leasehold::fence::Fence;
use leasehold::host::{KeyRecord, Mutation};
use leasehold::id::{LeaseId, OpId};
use leasehold::name::Key;
use leasehold::time::{Instant, Span};

use super::{Verdict, ensure};

const CHECK: &str = "idempotence";

/// What a key promises to remember: so many ended ops,
pub(super) const REMEMBERED: usize = 16;

/// each for so long.
pub(super) const MEMORY: Span = Span::from_secs(60);

/// The outcomes of all ops.
#[derive(Default)]
pub struct Idempotence {
    granted: BTreeMap<OpId, (LeaseId, Fence)>,
    ended: BTreeMap<Key, Vec<(OpId, Instant)>>,
}

impl Idempotence {
    /// Takes note of what is stored.
    ///
    /// # Errors
    /// When an op has a second outcome.
    pub fn stored(&mut self, mutation: &Mutation) -> Verdict {
        match mutation {
            Mutation::DeleteKey(key) => {
                self.ended.remove(key);
                Ok(())
            }
            Mutation::PutKey(record) => self.stored_key(record),
            Mutation::DeleteWaiter { .. } | Mutation::PutFloor(_) | Mutation::PutWaiter(_) => {
                Ok(())
            }
        }
    }

    fn stored_key(&mut self, record: &KeyRecord) -> Verdict {
        let ended = self.ended.entry(record.key.clone()).or_default();
        for past in &record.past {
            if !ended.contains(&(past.op, past.at)) {
                ended.push((past.op, past.at));
                // It may have begun and ended in one step.
                if let Some(outcome) = past.grant {
                    self.granted.insert(past.op, outcome);
                }
            }
        }
        let Some(grant) = &record.grant else {
            return Ok(());
        };
        let outcome = (grant.lease, record.fence);
        if self.granted.get(&grant.op) == Some(&outcome) {
            return Ok(());
        }
        let first = self.granted.insert(grant.op, outcome);
        let known = ended.iter().rposition(|(op, _)| *op == grant.op);
        let Some(known) = known else {
            return ensure(first.is_none() || ended.is_empty(), CHECK, || {
                format!("an op that holds {first:?} was granted {outcome:?} as well")
            });
        };
        let newer = ended.len() - 1 - known;
        let age = record.written.since(ended[known].1);
        ensure(newer >= REMEMBERED || age >= MEMORY, CHECK, || {
            format!(
                "an op that ended {age:?} and {newer} ops ago (first outcome {first:?}) was \
                 granted {outcome:?}"
            )
        })
    }

    /// Takes note of a grant that is told.
    ///
    /// # Errors
    /// When it is not what the op was granted.
    pub fn told(&mut self, op: OpId, lease: LeaseId, fence: Fence, reentrant: bool) -> Verdict {
        let Some(granted) = self.granted.get(&op) else {
            // A re-entrant acquire is answered with another op's grant.
            return ensure(reentrant, CHECK, || {
                format!("an op is told fence {fence}, which it was not granted")
            });
        };
        ensure(reentrant || *granted == (lease, fence), CHECK, || {
            format!("an op is told fence {fence}, it was granted {granted:?}")
        })
    }
}
