//! What must be true of every run, one file per rule.

mod admission;
mod bounds;
mod deadline;
mod done;
mod durability;
mod entries;
mod exclusion;
mod fences;
mod forgetting;
mod handover;
mod host;
mod idempotence;
mod needless;
mod orphans;
mod queue;
mod resource;
mod terminal;
mod watching;

pub use admission::Admission;
pub use bounds::{HolderBounds, HostBounds};
pub use deadline::{Deadline, Shown};
pub use done::Done;
pub use durability::Durability;
pub use entries::Entries;
pub use exclusion::{Belief, Exclusion, Who};
pub use fences::Fences;
pub use forgetting::Forgetting;
pub use handover::Handover;
pub use host::HostChecks;
pub use idempotence::Idempotence;
pub use needless::Needless;
pub use orphans::Orphans;
pub use queue::Queues;
pub use resource::Resource;
pub use terminal::Terminal;
pub use watching::Watching;

use std::collections::BTreeSet;

use leasehold::host::{GrantRecord, HostOutput, ReplyTo};
use leasehold::name::Key;
use leasehold::protocol::Request;
use leasehold::time::Instant;

use crate::store::Store;

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which rule, by the name of its file here.
    pub check: &'static str,
    /// What happened.
    pub what: String,
}

/// What a check says.
pub type Verdict = Result<(), Violation>;

/// Breaks the rule `check` unless `holds`.
pub fn ensure(holds: bool, check: &'static str, what: impl FnOnce() -> String) -> Verdict {
    if holds {
        return Ok(());
    }
    Err(Violation {
        check,
        what: what(),
    })
}

/// One input of the host with everything that came of it, carried out in full.
pub struct HostStep<'a> {
    /// The host's time, never running back.
    pub now: Instant,
    /// The request, if the input was one.
    pub request: Option<(ReplyTo, &'a Request)>,
    /// Everything that came of it.
    pub outputs: &'a [HostOutput],
    /// The grants that began and stand at the end of the step.
    pub granted: &'a [NewGrant],
    /// What the grants of the key asked about were before, if it was about one.
    pub before: &'a [GrantRecord],
    /// The keys on which an offer ended that was not confirmed.
    pub lapsed: &'a BTreeSet<Key>,
    /// The storage afterwards.
    pub store: &'a Store,
    /// The alarm that is set afterwards.
    pub alarm: Option<Instant>,
}

/// A grant that began in a step.
pub struct NewGrant {
    /// The key.
    pub key: Key,
    /// The grant.
    pub grant: GrantRecord,
    /// Its place in the queue, if it came from there.
    pub waiter: Option<u64>,
}
