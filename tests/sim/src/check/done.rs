//! A finished work stays finished: until its result has been kept for long enough, or an operator
//! clears it, nobody gets the key.

use std::collections::{BTreeMap, BTreeSet};

use leasehold::id::OpId;
use leasehold::name::Key;
use leasehold::protocol::{Operation, Request, Response};
use leasehold::time::Instant;

use super::{HostStep, Verdict, ensure};
use crate::store::Store;

const CHECK: &str = "done";

/// The works that are finished.
#[derive(Default)]
pub struct Done {
    keys: BTreeMap<Key, Instant>,
    /// The finishes that were told: repeated, they finish nothing.
    ops: BTreeSet<OpId>,
}

impl Done {
    /// The host goes on from an older copy of its storage: what was finished since is not.
    pub fn rolled_back(&mut self, store: &Store) {
        let done = store.keys().filter_map(|record| {
            let done = record.done.as_ref()?;
            Some((record.key.clone(), done.until))
        });
        self.keys = done.collect();
        self.ops.clear();
    }

    /// Takes note of an answer.
    ///
    /// # Errors
    /// When a finished key is given away.
    pub fn told(&mut self, request: &Request, response: &Response, now: Instant) -> Verdict {
        let key = &request.key;
        match (&request.operation, response) {
            (Operation::Finish(finish), Response::Finished { .. }) => {
                if self.ops.insert(request.op) {
                    self.keys.insert(key.clone(), now + finish.keep);
                }
                Ok(())
            }
            (Operation::Revoke { .. }, Response::Revoked(count)) if *count > 0 => {
                self.keys.remove(key);
                Ok(())
            }
            (Operation::Acquire(_), Response::Granted(granted)) if !granted.ttl.is_zero() => {
                let kept = self.keys.get(key).filter(|until| **until > now);
                ensure(kept.is_none(), CHECK, || {
                    format!("{key:?} is done and was granted")
                })
            }
            _ => Ok(()),
        }
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
