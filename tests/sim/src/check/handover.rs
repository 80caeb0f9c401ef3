//! A hand-over is one step: the key passes from the lease that was named to its successor, and is
//! never free in between.

use leasehold::host::HostOutput;
use leasehold::protocol::{Operation, Response};

use super::{HostStep, Verdict, ensure};

const CHECK: &str = "handover";

/// The check; it needs no memory.
pub struct Handover;

impl Handover {
    /// Looks at a step.
    ///
    /// # Errors
    /// When a transfer was granted to one who did not hold, or has left the key to somebody else.
    pub fn step(step: &HostStep<'_>) -> Verdict {
        let Some((to, request)) = step.request else {
            return Ok(());
        };
        let Operation::Transfer(transfer) = &request.operation else {
            return Ok(());
        };
        let fresh = |output: &HostOutput| {
            matches!(output, HostOutput::Reply(asker, Response::Granted(granted))
                if *asker == to && !granted.replayed)
        };
        if !step.outputs.iter().any(fresh) {
            return Ok(());
        }
        let lease = transfer.credential.lease;
        let giver = step.before.iter().find(|grant| grant.lease == lease);
        let Some(giver) = giver else {
            return ensure(false, CHECK, || {
                "a lease was handed over by one who did not hold it".into()
            });
        };
        let mut grants = step.store.grants(&request.key);
        let holds = grants.any(|grant| {
            grant.lease == transfer.lease
                && grant.expires > step.now
                && (grant.slot, grant.limit) == (giver.slot, giver.limit)
        });
        ensure(holds, CHECK, || {
            "a lease was handed over, and its successor does not hold it".into()
        })
    }
}
