//! What is stored goes only when nobody needs it any more; asking leaves nothing.

use leasehold::fence::Fence;
use leasehold::host::{HostConfig, HostOutput, Mutation};
use leasehold::name::Key;
use leasehold::protocol::Operation;
use leasehold::time::{Instant, Span};

use super::{HostStep, Verdict, ensure};
use crate::store::Store;

const CHECK: &str = "forgetting";

/// So long an op is remembered.
const MEMORY: Span = Span::from_secs(15);

/// The rules of forgetting.
pub struct Forgetting {
    config: HostConfig,
}

impl Forgetting {
    /// Those of a host with these settings.
    pub const fn new(config: HostConfig) -> Self {
        Self { config }
    }

    /// Looks at what is about to be stored; `watched` keys are known to the host though nothing is
    /// stored about them.
    ///
    /// # Errors
    /// When a key is forgotten that is still needed.
    pub fn stored(
        &self,
        mutation: &Mutation,
        store: &Store,
        watched: usize,
        now: Instant,
    ) -> Verdict {
        let Mutation::DeleteKey(key) = mutation else {
            return Ok(());
        };
        let Some(record) = store.key(key) else {
            return ensure(false, CHECK, || format!("{key:?} is not stored"));
        };
        let running = store.grants(key).any(|grant| grant.expires > now);
        let waited_for = store.waiters(key).next().is_some();
        let done = record.done.as_ref().is_some_and(|done| done.until > now);
        ensure(!running && !waited_for && !done, CHECK, || {
            format!("{key:?} is forgotten and in use")
        })?;
        let is_full = store.keys().count() + watched >= self.config.max_keys;
        let remembered = record.past.iter().any(|past| now.since(past.at) < MEMORY);
        let old = Instant::from_micros(record.fence.value()) + self.config.retention <= now;
        let vanishes = !remembered && (old || record.fence == Fence::NONE);
        ensure(is_full || vanishes, CHECK, || {
            format!(
                "{key:?} is forgotten too early, with fence {}",
                record.fence
            )
        })?;
        let left = store.entries_left(key);
        ensure(!left, CHECK, || format!("{key:?} leaves entries behind"))
    }

    /// Looks at a step; `known` says whether its key was stored before.
    ///
    /// # Errors
    /// When a mere question has left something.
    pub fn step(&self, step: &HostStep<'_>, known: bool) -> Verdict {
        let Some((_, request)) = step.request else {
            return Ok(());
        };
        let acts = matches!(
            request.operation,
            Operation::Acquire(_) | Operation::Cancel | Operation::Revoke { .. }
        );
        let about = |output: &HostOutput| match output {
            HostOutput::Persist(mutation) => key_of(mutation) == Some(&request.key),
            HostOutput::Alarm(_) | HostOutput::Reply(..) => false,
        };
        let left = !acts && !known && step.outputs.iter().any(about);
        ensure(!left, CHECK, || {
            format!(
                "{:?} has left something for an unknown key",
                request.operation
            )
        })
    }
}

fn key_of(mutation: &Mutation) -> Option<&Key> {
    match mutation {
        Mutation::PutKey(record) => Some(&record.key),
        Mutation::PutWaiter(record) => Some(&record.key),
        Mutation::PutEntry(record) => Some(&record.key),
        Mutation::PutGrant { key, .. } => Some(key),
        _ => None,
    }
}
