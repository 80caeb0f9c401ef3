//! The memory of ops that have had their outcome, so that a repetition gets the same one.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::super::record::{Past, PastOutcome};
use crate::fence::Fence;
use crate::id::{LeaseId, OpId};
use crate::protocol::{Credential, Ended};
use crate::time::{Instant, Span};

/// How long an op is remembered after its end. A request that arrives later is a new one.
pub const MEMORY: Span = Span::from_secs(15);

/// The most ended ops that one key remembers.
pub const MAX_PAST: usize = 64;

/// The most denied ops that one key remembers. They leave no trace in storage: see
/// [`Memory::forget_denied`].
const MAX_DENIED: usize = 1_024;

/// What one key remembers.
#[derive(Debug, Default)]
pub(super) struct Memory {
    past: VecDeque<Past>,
    /// Acquires that were answered without a grant.
    denied: VecDeque<(OpId, Instant)>,
    /// Until when an op that was forgotten early may come again: it must not win a whole term.
    cautious_until: Instant,
}

impl Memory {
    pub fn restore(past: Vec<Past>, cautious_until: Instant) -> Self {
        Self {
            past: past.into(),
            denied: VecDeque::new(),
            cautious_until,
        }
    }

    /// A memory of which so much may be missing.
    pub fn cautious(until: Instant) -> Self {
        Self::restore(Vec::new(), until)
    }

    /// When the last of the grants has ended that it knows of.
    pub fn last_end(&self) -> Option<Instant> {
        let is_grant = |past: &&Past| matches!(past.outcome, PastOutcome::Grant { .. });
        self.past.iter().filter(is_grant).map(|past| past.at).max()
    }

    /// What was denied until then is not known any more.
    pub fn forget_denied(&mut self, until: Instant) {
        self.cautious_until = self.cautious_until.max(until + MEMORY);
    }

    pub fn records(&self) -> (Vec<Past>, Instant) {
        (self.past.iter().cloned().collect(), self.cautious_until)
    }

    /// Whether a request that seems new may be one that had to be forgotten.
    pub fn is_cautious(&self, now: Instant) -> bool {
        now < self.cautious_until
    }

    /// When all is forgotten, if there is anything.
    pub fn ends(&self) -> Option<Instant> {
        let past = self.past.iter().map(|past| past.at).max();
        let denied = self.denied.back().map(|(_, at)| *at);
        past.max(denied).map(|at| at + MEMORY)
    }

    /// Forgets what is old.
    pub fn prune(&mut self, now: Instant) {
        let is_old = |at: Instant| now.since(at) >= MEMORY;
        self.past.retain(|past| !is_old(past.at));
        while self.denied.front().is_some_and(|(_, at)| is_old(*at)) {
            self.denied.pop_front();
        }
    }

    /// Remembers an op that ended then.
    pub fn remember(&mut self, op: OpId, outcome: PastOutcome, at: Instant) {
        if self.past.len() >= MAX_PAST
            && let Some(early) = self.past.pop_front()
        {
            self.cautious_until = self.cautious_until.max(early.at + MEMORY);
        }
        self.past.push_back(Past { op, at, outcome });
    }

    pub fn remember_denied(&mut self, op: OpId, now: Instant) {
        if self.denied.len() >= MAX_DENIED
            && let Some((_, early)) = self.denied.pop_front()
        {
            self.cautious_until = self.cautious_until.max(early + MEMORY);
        }
        self.denied.push_back((op, now));
    }

    pub fn was_denied(&self, op: OpId) -> bool {
        self.denied.iter().any(|(denied, _)| *denied == op)
    }

    /// The op's own outcome, if it has had one.
    pub fn outcome_of(&self, op: OpId) -> Option<PastOutcome> {
        let past = self.past.iter().find(|past| past.op == op);
        past.map(|past| past.outcome)
    }

    /// Whether the grant that the op had won has ended with a result.
    pub fn has_finished(&self, op: OpId) -> bool {
        let outcome = self.outcome_of(op);
        matches!(outcome, Some(PastOutcome::Grant { ended, .. }) if ended == Ended::Finished)
    }

    /// Whether `op` is what ended a grant in this way.
    pub fn was_ended_by(&self, op: OpId, ended: Ended) -> bool {
        self.grants()
            .any(|(_, _, how, by)| by == Some(op) && how == ended)
    }

    /// How the grant that this credential is for has ended.
    pub fn end_of(&self, credential: Credential) -> Ended {
        let mut grants = self.grants();
        grants
            .rfind(|(lease, fence, ..)| {
                *lease == credential.lease && credential.fence.is_none_or(|named| named == *fence)
            })
            .map_or(Ended::Unknown, |(_, _, ended, _)| ended)
    }

    fn grants(&self) -> impl DoubleEndedIterator<Item = (LeaseId, Fence, Ended, Option<OpId>)> {
        self.past.iter().filter_map(|past| match past.outcome {
            PastOutcome::Grant {
                lease,
                fence,
                ended,
                by,
            } => Some((lease, fence, ended, by)),
            PastOutcome::Cancelled | PastOutcome::Revoked(_) => None,
        })
    }
}
