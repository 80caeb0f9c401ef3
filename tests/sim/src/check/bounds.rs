//! Everything that grows has a limit.

use leasehold::holder::{Event, Output};
use leasehold::host::HostConfig;
use leasehold::id::AttemptId;
use leasehold::protocol::Operation;

use super::{HostStep, Verdict, ensure};

const CHECK: &str = "bounds";

/// One attempt for the lease, one to verify, and those that take back stray grants.
const MAX_IN_FLIGHT: usize = 6;

/// The most outputs of a holder for one input.
const MAX_OUTPUTS: usize = 24;

/// The most renewals sent between two that succeeded, unless somebody asks for more.
const MAX_RENEWALS: u32 = 10;

/// One holder's bounds.
#[derive(Default)]
pub struct HolderBounds {
    in_flight: Vec<AttemptId>,
    renewals: u32,
    asked: u32,
}

impl HolderBounds {
    /// An attempt has had its answer or its failure.
    pub fn settled(&mut self, attempt: AttemptId) {
        self.in_flight.retain(|other| *other != attempt);
    }

    /// A renewal was asked for by hand.
    pub fn asked(&mut self) {
        self.asked += 1;
    }

    /// Looks at what came of one input.
    ///
    /// # Errors
    /// When it is too much.
    pub fn step(&mut self, outputs: &[Output]) -> Verdict {
        ensure(outputs.len() <= MAX_OUTPUTS, CHECK, || {
            format!("{} outputs for one input", outputs.len())
        })?;
        for output in outputs {
            match output {
                Output::Send(send) => {
                    self.in_flight.push(send.attempt);
                    self.renewals +=
                        u32::from(matches!(send.request.operation, Operation::Renew { .. }));
                }
                Output::Drop(attempt) => self.settled(*attempt),
                Output::Event(Event::Renewed { .. }) => (self.renewals, self.asked) = (0, 0),
                Output::Event(_) | Output::Wake { .. } => {}
            }
        }
        ensure(self.in_flight.len() <= MAX_IN_FLIGHT, CHECK, || {
            format!("{} attempts in flight", self.in_flight.len())
        })?;
        ensure(
            self.renewals <= MAX_RENEWALS + 4 * self.asked,
            CHECK,
            || format!("{} renewals in one term", self.renewals),
        )
    }
}

/// A host's bounds; they need no memory.
pub struct HostBounds;

impl HostBounds {
    /// Looks at a step.
    ///
    /// # Errors
    /// When something has grown too much.
    pub fn step(config: &HostConfig, step: &HostStep<'_>) -> Verdict {
        let keys = step.store.keys().count();
        ensure(keys <= config.max_keys + config.spare_keys, CHECK, || {
            format!("{keys} keys stored")
        })?;
        // Each waiter may leave and be answered, each key be stored, and little else.
        let most = 8 + 4 * (config.max_waiters.min(64) + 1) * (keys + 1);
        ensure(step.outputs.len() <= most, CHECK, || {
            format!("{} outputs for one input", step.outputs.len())
        })?;
        step.store.keys().try_for_each(|record| {
            let waiters = step.store.waiters(&record.key).count();
            ensure(waiters <= config.max_waiters, CHECK, || {
                format!("{waiters} waiters for {:?}", record.key)
            })?;
            let grant = record.grant.as_ref();
            let ahead = grant.filter(|grant| grant.expires.since(step.now) > grant.term);
            ensure(ahead.is_none(), CHECK, || {
                format!("a grant that lasts longer than its term: {ahead:?}")
            })?;
            ensure(record.past.len() <= 16, CHECK, || {
                format!("{} ended ops remembered", record.past.len())
            })
        })
    }
}
