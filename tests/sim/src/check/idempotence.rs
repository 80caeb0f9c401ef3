//! One op, one outcome: a repeated acquire or transfer gets the same lease and fence, a cancelled
//! one gets nothing, as long as the host promises to remember.

use std::collections::BTreeMap;

use leasehold::fence::Fence;
use leasehold::host::{KeyRecord, Mutation};
use leasehold::id::{LeaseId, OpId};
use leasehold::name::Key;
use leasehold::protocol::{Granted, Request};
use leasehold::time::{Instant, Span};

use super::{Verdict, ensure};

const CHECK: &str = "idempotence";

/// What a key promises to remember: so many ended ops,
pub(super) const REMEMBERED: usize = 16;

/// each for so long.
pub(super) const MEMORY: Span = Span::from_secs(60);

/// The outcomes of all ops, as far as a key is remembered at all.
#[derive(Default)]
pub struct Idempotence {
    keys: BTreeMap<Key, Outcomes>,
}

#[derive(Default)]
struct Outcomes {
    granted: BTreeMap<OpId, (LeaseId, Fence)>,
    /// Every op that has ended, oldest first.
    ended: Vec<(OpId, Instant)>,
}

impl Idempotence {
    /// Takes note of what is stored.
    ///
    /// # Errors
    /// When an op has a second outcome.
    pub fn stored(&mut self, mutation: &Mutation) -> Verdict {
        match mutation {
            Mutation::DeleteKey(key) => {
                self.keys.remove(key);
                Ok(())
            }
            Mutation::PutKey(record) => self.stored_key(record),
            Mutation::DeleteWaiter { .. } | Mutation::PutFloor(_) | Mutation::PutWaiter(_) => {
                Ok(())
            }
        }
    }

    fn stored_key(&mut self, record: &KeyRecord) -> Verdict {
        let Outcomes { granted, ended } = self.keys.entry(record.key.clone()).or_default();
        for past in &record.past {
            if !ended.contains(&(past.op, past.at)) {
                ended.push((past.op, past.at));
                // It may have begun and ended in one step.
                if let Some(outcome) = past.grant {
                    granted.insert(past.op, outcome);
                }
            }
        }
        let Some(grant) = &record.grant else {
            return Ok(());
        };
        let outcome = (grant.lease, record.fence);
        if granted.get(&grant.op) == Some(&outcome) {
            return Ok(());
        }
        let first = granted.insert(grant.op, outcome);
        let known = ended.iter().rposition(|(op, _)| *op == grant.op);
        let Some(known) = known else {
            return ensure(first.is_none(), CHECK, || {
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

    /// Takes note of an op that is told to be cancelled.
    pub fn cancelled(&mut self, request: &Request, now: Instant) {
        let outcomes = self.keys.entry(request.key.clone()).or_default();
        if !outcomes.ended.iter().any(|(op, _)| *op == request.op) {
            outcomes.ended.push((request.op, now));
        }
    }

    /// Takes note of a grant that is told.
    ///
    /// # Errors
    /// When it is not what the op was granted.
    pub fn told(&self, request: &Request, granted: &Granted) -> Verdict {
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
