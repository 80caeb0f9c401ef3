//! Guarantee A at the host: no more holders of a key than each of them puts up with, each in a slot
//! of its own.

use std::collections::BTreeSet;

use leasehold::protocol::Operation;

use super::{HostStep, Verdict, ensure};

const CHECK: &str = "admission";

/// The check; it needs no memory.
pub struct Admission;

impl Admission {
    /// Looks at a step.
    ///
    /// # Errors
    /// When somebody was let in too many, or into a place that is taken.
    pub fn step(step: &HostStep<'_>) -> Verdict {
        for record in step.store.keys() {
            let running = step.store.running(&record.key, step.now);
            let least = running.iter().map(|grant| grant.limit.holders()).min();
            ensure(
                least.is_none_or(|least| running.len() <= least as usize),
                CHECK,
                || {
                    let count = running.len();
                    format!(
                        "{count} hold {:?}, one of them puts up with {least:?}",
                        record.key
                    )
                },
            )?;
            let slots: BTreeSet<u32> = running.iter().map(|grant| grant.slot).collect();
            let leases: BTreeSet<_> = running.iter().map(|grant| grant.lease).collect();
            ensure(
                slots.len() == running.len() && leases.len() == running.len(),
                CHECK,
                || format!("two grants of {:?} have one slot or one id", record.key),
            )?;
        }
        // Other requests may have freed a lower one, or have kept one, in the same step.
        let asked = step.request.is_none_or(|(_, request)| {
            matches!(&request.operation, Operation::Acquire(acquire) if !acquire.steal)
        });
        for granted in step.granted.iter().filter(|_| asked) {
            let taken: BTreeSet<u32> = step
                .store
                .grants(&granted.key)
                .map(|grant| grant.slot)
                .collect();
            let lower = (0..granted.grant.slot).find(|slot| !taken.contains(slot));
            ensure(lower.is_none(), CHECK, || {
                format!("slot {} was given, {lower:?} is free", granted.grant.slot)
            })?;
        }
        Ok(())
    }
}
