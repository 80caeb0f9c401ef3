//! A finished work stays finished: until its result has been kept for long enough, or an operator
//! clears it, nobody gets the key.

use std::collections::{BTreeMap, BTreeSet};

use leasehold::host::{Mutation, PastOutcome};
use leasehold::id::OpId;
use leasehold::name::Key;
use leasehold::protocol::{Ended, Operation, Request, Response};
use leasehold::time::{Instant, Span};

use super::{HostStep, Verdict, ensure};
use crate::store::Store;

const CHECK: &str = "done";

/// The works that are finished.
#[derive(Default)]
pub struct Done {
    keys: BTreeMap<Key, Instant>,
    /// How long the result of each finish is to be kept.
    keeps: BTreeMap<OpId, Span>,
    /// The finishes that have taken effect: repeated, they finish nothing.
    ops: BTreeSet<OpId>,
}

impl Done {
    /// Takes note of a request that is about to be given.
    pub fn asked(&mut self, request: &Request) {
        if let Operation::Finish(finish) = &request.operation {
            self.keeps.insert(request.op, finish.keep);
        }
    }

    /// The host goes on from an older copy of its storage: what was finished since is not.
    pub fn rolled_back(&mut self, store: &Store) {
        let done = store.keys().filter_map(|record| {
            let done = record.done.as_ref()?;
            Some((record.key.clone(), done.until))
        });
        self.keys = done.collect();
        self.ops.clear();
    }

    /// Takes note of what is stored, whether anybody was told or not: a work is finished, or an
    /// operator has cleared the mark.
    pub fn stored(&mut self, mutation: &Mutation) {
        let Mutation::PutKey(record) = mutation else {
            return;
        };
        for past in record.past.iter().filter(|past| past.at == record.written) {
            match past.outcome {
                PastOutcome::Grant {
                    ended: Ended::Finished,
                    by: Some(op),
                    ..
                } if self.ops.insert(op) => {
                    let keep = self.keeps.get(&op).copied().unwrap_or(Span::ZERO);
                    self.keys.insert(record.key.clone(), record.written + keep);
                }
                PastOutcome::Revoked(1..) if record.done.is_none() => {
                    self.keys.remove(&record.key);
                }
                _ => {}
            }
        }
    }

    /// Takes note of an answer.
    ///
    /// # Errors
    /// When a finished key is given away.
    pub fn told(&self, request: &Request, response: &Response, now: Instant) -> Verdict {
        let granted = matches!(response, Response::Granted(granted) if !granted.ttl.is_zero());
        let key = &request.key;
        let kept = self.keys.get(key).is_some_and(|until| *until > now);
        ensure(!(granted && kept), CHECK, || {
            format!("{key:?} is done and was granted")
        })
    }

    /// Looks at a step.
    ///
    /// # Errors
    /// When a key is done and held, or done and waited for.
    pub fn step(&self, step: &HostStep<'_>) -> Verdict {
        for record in step.store.keys() {
            let Some(done) = record.done.as_ref().filter(|done| done.until > step.now) else {
                continue;
            };
            let held = step
                .store
                .grants(&record.key)
                .any(|grant| grant.expires > step.now);
            let waited_for = step.store.waiters(&record.key).next().is_some();
            ensure(!held && !waited_for, CHECK, || {
                format!("{:?} is done under {} and in use", record.key, done.fence)
            })?;
        }
        Ok(())
    }
}
