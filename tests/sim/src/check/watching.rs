//! Watchers: a change that stands is told within a tenth of a second, one revision means one state,
//! and asking changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use leasehold::fence::{Fence, Revision};
use leasehold::host::{HostInput, HostOutput, ReplyTo};
use leasehold::json::Json;
use leasehold::name::{EntryName, Key};
use leasehold::protocol::{KeyState, MAX_POLL, Operation, Response};
use leasehold::time::{Instant, Span};

use super::{HostStep, Verdict, ensure};
use crate::store::Store;

const CHECK: &str = "watching";

/// So long a change may be kept back, to be told with the next.
const ROUND: Span = Span::from_millis(100);

/// What an observer sees, ages and terms left out.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shape {
    holders: Vec<(u32, Fence, BTreeMap<EntryName, Json>)>,
    waiters: usize,
    done: Option<Fence>,
}

impl Shape {
    fn stored(store: &Store, key: &Key, now: Instant) -> Self {
        let running = store.grants(key).filter(|grant| grant.expires > now);
        let done = store.key(key).and_then(|record| record.done.as_ref());
        Self {
            holders: running
                .map(|grant| (grant.slot, grant.fence, store.entries(key, grant.slot)))
                .collect(),
            waiters: store.waiters(key).count(),
            done: done.filter(|done| done.until > now).map(|done| done.fence),
        }
    }

    fn told(state: &KeyState) -> Self {
        let holders = state.holders.iter();
        Self {
            holders: holders
                .map(|holder| {
                    let entries = holder.entries.iter().cloned().collect();
                    (holder.slot, holder.fence, entries)
                })
                .collect(),
            waiters: state.waiters as usize,
            done: state.done.as_ref().map(|done| done.fence),
        }
    }
}

/// Who watches what.
#[derive(Default)]
pub struct Watching {
    parked: BTreeMap<ReplyTo, Watcher>,
    told: BTreeMap<(Key, Revision), Shape>,
}

struct Watcher {
    key: Key,
    until: Instant,
    seen: Shape,
    /// Since when it is otherwise.
    news: Option<Instant>,
}

impl Watching {
    /// The host went down.
    pub fn crashed(&mut self) {
        self.parked.clear();
        self.told.clear();
    }

    /// How many keys are watched of which nothing is stored.
    pub fn unknown_to(&self, store: &Store) -> usize {
        let keys: BTreeSet<&Key> = self.parked.values().map(|watcher| &watcher.key).collect();
        keys.into_iter().filter(|key| !store.knows(key)).count()
    }

    /// Takes note of an input that is about to be given.
    pub fn input(&mut self, input: &HostInput, now: Instant, store: &Store) {
        match input {
            HostInput::Gone(to) => drop(self.parked.remove(to)),
            HostInput::Request(to, request) => {
                if let Operation::Watch(watch) = request.operation {
                    let watcher = Watcher {
                        key: request.key.clone(),
                        until: now + watch.wait.min(MAX_POLL),
                        seen: Shape::stored(store, &request.key, now),
                        news: None,
                    };
                    self.parked.insert(*to, watcher);
                }
            }
            HostInput::List(..) | HostInput::Tick => {}
        }
    }

    /// Looks at a step.
    ///
    /// # Errors
    /// When somebody was told something wrong, or not told.
    pub fn step(&mut self, step: &HostStep<'_>) -> Verdict {
        for output in step.outputs {
            if let HostOutput::Reply(to, response) = output {
                self.parked.remove(to);
                if let Response::State(state) = response {
                    self.state(step, state)?;
                }
            }
        }
        for watcher in self.parked.values_mut() {
            let shape = Shape::stored(step.store, &watcher.key, step.now);
            if shape == watcher.seen {
                watcher.news = None;
            } else {
                watcher.news.get_or_insert(step.now);
            }
            let late = watcher
                .news
                .is_some_and(|since| step.now.since(since) >= ROUND);
            ensure(!late && watcher.until > step.now, CHECK, || {
                format!("one who watches {:?} was not told in time", watcher.key)
            })?;
            let due = watcher.news.map_or(watcher.until, |since| since + ROUND);
            ensure(step.alarm.is_some_and(|at| at <= due), CHECK, || {
                format!(
                    "somebody watches {:?}, and the alarm is {:?}",
                    watcher.key, step.alarm
                )
            })?;
        }
        Ok(())
    }

    fn state(&mut self, step: &HostStep<'_>, state: &KeyState) -> Verdict {
        let shape = Shape::told(state);
        let stored = Shape::stored(step.store, &state.key, step.now);
        ensure(shape == stored, CHECK, || {
            format!("{:?} is told as {shape:?} and is {stored:?}", state.key)
        })?;
        if state.revision == Revision::ABSENT {
            return Ok(());
        }
        let known = self
            .told
            .entry((state.key.clone(), state.revision))
            .or_insert_with(|| shape.clone());
        ensure(*known == shape, CHECK, || {
            format!(
                "revision {} of {:?} was another state",
                state.revision, state.key
            )
        })
    }
}
