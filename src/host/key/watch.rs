//! Watchers: whoever wants to know when a key is not as it was.

use alloc::vec::Vec;

use super::super::ReplyTo;
use super::super::config::HostConfig;
use super::super::effects::Effects;
use super::{Asked, KeyMachine};
use crate::fence::Revision;
use crate::protocol::{KeyState, MAX_POLL, Refusal, Response, Watch};
use crate::time::{Instant, Span};

/// Changes that follow each other faster are told together.
const ROUND: Span = Span::from_millis(100);

/// A request that waits for a change.
#[derive(Debug)]
struct Watcher {
    to: ReplyTo,
    after: Revision,
    until: Instant,
}

/// The watchers of a key.
#[derive(Debug, Default)]
pub(super) struct Watchers {
    parked: Vec<Watcher>,
    /// Before then nobody is told of a change.
    quiet_until: Instant,
}

impl Watchers {
    pub fn is_empty(&self) -> bool {
        self.parked.is_empty()
    }

    pub fn gone(&mut self, to: ReplyTo) {
        self.parked.retain(|watcher| watcher.to != to);
    }

    /// Whether somebody is to be answered now.
    pub fn are_due(&self, revision: Revision, now: Instant) -> bool {
        self.due(revision).is_some_and(|due| due <= now)
    }

    /// When somebody is to be answered.
    pub fn due(&self, revision: Revision) -> Option<Instant> {
        let due = self.parked.iter().map(|watcher| {
            if watcher.after == revision {
                watcher.until
            } else {
                watcher.until.min(self.quiet_until)
            }
        });
        due.min()
    }

    /// Answers those for whom the state is news, and those who have waited for long enough.
    pub fn answer(&mut self, state: &KeyState, now: Instant, fx: &mut Effects) {
        let told = self.quiet_until <= now;
        let mut news = false;
        self.parked.retain(|watcher| {
            let is_news = told && watcher.after != state.revision;
            news |= is_news;
            if is_news || watcher.until <= now {
                fx.reply(watcher.to, Response::State(state.clone()));
                return false;
            }
            true
        });
        if news {
            self.quiet_until = now + ROUND;
        }
    }
}

impl KeyMachine {
    /// The answer, unless the request is kept waiting. It may be answered in the same step.
    pub(super) fn watch(
        &mut self,
        config: &HostConfig,
        asked: Asked,
        watch: Watch,
    ) -> Option<Response> {
        let Asked { to, now, .. } = asked;
        let Some(after) = watch.after.filter(|_| !watch.wait.is_zero()) else {
            return Some(Response::State(self.state(now)));
        };
        if self.watchers.parked.len() >= config.max_watchers {
            return Some(Response::Refused(Refusal::TOO_MANY_WATCHERS));
        }
        self.watchers.parked.push(Watcher {
            to,
            after,
            until: now + watch.wait.min(MAX_POLL),
        });
        None
    }
}
