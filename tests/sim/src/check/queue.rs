//! The queue: first come, first served among the living; the dead are skipped; a free key never
//! lies beside a live waiter; every request that is kept waiting will be answered.

use std::collections::BTreeMap;

use leasehold::host::{HostConfig, HostInput, HostOutput, ReplyTo};
use leasehold::id::OpId;
use leasehold::name::Key;
use leasehold::protocol::{Acquire, MAX_POLL, Operation, Response};
use leasehold::time::{Instant, Span};

use super::{HostStep, NewGrant, Verdict, ensure};

const CHECK: &str = "queue";

/// A poll lasts no longer than so many of the terms that are waited for,
const POLL_TERMS: u64 = 2;

/// but may last so long.
const SHORT_POLL: Span = Span::from_secs(1);

/// What the host owes to whom.
pub struct Queues {
    config: HostConfig,
    parked: BTreeMap<ReplyTo, Parked>,
    /// Until when each waiter that is not parked keeps its place.
    away: BTreeMap<OpId, Instant>,
}

#[derive(Clone)]
struct Parked {
    key: Key,
    op: OpId,
    until: Instant,
    last: bool,
}

impl Queues {
    /// The queues of a host with these settings.
    pub fn new(config: HostConfig) -> Self {
        Self {
            config,
            parked: BTreeMap::new(),
            away: BTreeMap::new(),
        }
    }

    /// The host went down: nobody is parked any more.
    pub fn crashed(&mut self) {
        self.parked.clear();
    }

    /// The host is back, with these waiters.
    pub fn restored(&mut self, waiters: impl Iterator<Item = OpId>, now: Instant) {
        let until = now + self.config.grace;
        self.away = waiters.map(|op| (op, until)).collect();
    }

    /// Takes note of an input that is about to be given.
    pub fn input(&mut self, input: &HostInput, now: Instant) {
        match input {
            HostInput::Request(to, request) => {
                let (until, last) = match &request.operation {
                    Operation::Acquire(Acquire { wait, ttl, .. }) => {
                        let poll = ttl.scale(POLL_TERMS, 1).max(SHORT_POLL).min(MAX_POLL);
                        (now + (*wait).min(poll), *wait <= poll)
                    }
                    _ => (now, true),
                };
                let (key, op) = (request.key.clone(), request.op);
                let parked = Parked {
                    key,
                    op,
                    until,
                    last,
                };
                self.parked.insert(*to, parked);
            }
            HostInput::Gone(to) => {
                if let Some(parked) = self.parked.remove(to) {
                    self.leaves(&parked, now);
                }
            }
            HostInput::Tick => {}
        }
    }

    /// Looks at a step.
    ///
    /// # Errors
    /// When somebody was served or left out wrongly.
    pub fn step(&mut self, step: &HostStep<'_>) -> Verdict {
        for granted in step.granted {
            self.in_turn(step, granted)?;
        }
        for output in step.outputs {
            if let HostOutput::Reply(to, response) = output {
                self.answered(step, *to, response)?;
            }
        }
        self.nobody_forgotten(step)?;
        step.store
            .keys()
            .filter(|record| step.store.waiters(&record.key).next().is_some())
            .try_for_each(|record| {
                let held = record
                    .grant
                    .as_ref()
                    .filter(|grant| grant.expires > step.now);
                let parked = self.parked.values().any(|parked| parked.key == record.key);
                ensure(held.is_some() || !parked, CHECK, || {
                    format!("{:?} is free beside a waiter", record.key)
                })?;
                let alarmed =
                    held.is_none_or(|grant| step.alarm.is_some_and(|at| at <= grant.expires));
                ensure(alarmed, CHECK, || {
                    format!(
                        "waiters for {:?}, and the alarm is {:?}",
                        record.key, step.alarm
                    )
                })
            })
    }

    /// A grant goes to the first waiter that is there, for a short term, or to nobody's loss.
    fn in_turn(&self, step: &HostStep<'_>, granted: &NewGrant) -> Verdict {
        let NewGrant { key, grant, waiter } = granted;
        let op = grant.op;
        let mut behind = step.store.waiters(key);
        let Some(number) = *waiter else {
            let asked = step.request.is_some_and(|(_, request)| {
                request.op == op && matches!(request.operation, Operation::Acquire(_))
            });
            return ensure(!asked || behind.next().is_none(), CHECK, || {
                format!("a newcomer passed the queue of {key:?}")
            });
        };
        ensure(behind.all(|other| other.number > number), CHECK, || {
            format!("waiter {number} of {key:?} was granted before an earlier one")
        })?;
        ensure(grant.term <= self.config.offer, CHECK, || {
            format!("an offer for {:?}, longer than allowed", grant.term)
        })?;
        let parked = self.parked.values().any(|parked| parked.op == op);
        let away = self.away.get(&op).is_some_and(|until| *until >= step.now);
        ensure(parked || away, CHECK, || {
            format!("waiter {number} of {key:?} has gone, and was granted")
        })
    }

    fn answered(&mut self, step: &HostStep<'_>, to: ReplyTo, response: &Response) -> Verdict {
        let Some(parked) = self.parked.remove(&to) else {
            return ensure(false, CHECK, || {
                format!("{response:?} to one who did not ask")
            });
        };
        let superseded = step
            .request
            .is_some_and(|(by, request)| by != to && request.op == parked.op);
        match response {
            Response::Queued { .. } => {
                self.leaves(&parked, step.now);
                ensure(superseded || parked.until <= step.now, CHECK, || {
                    "a waiter was sent away to poll again too early".into()
                })
            }
            Response::Held(_) if step.request.is_none_or(|(by, _)| by != to) => {
                let timely = parked.last && parked.until <= step.now;
                ensure(superseded || timely, CHECK, || {
                    "a waiter was turned away before its time".into()
                })
            }
            _ => Ok(()),
        }
    }

    /// Whoever is kept waiting stands in the queue.
    fn nobody_forgotten(&self, step: &HostStep<'_>) -> Verdict {
        self.parked.values().try_for_each(|parked| {
            let queued = step
                .store
                .waiters(&parked.key)
                .any(|waiter| waiter.op == parked.op);
            ensure(queued, CHECK, || {
                format!(
                    "a request for {:?} is kept, but not in the queue",
                    parked.key
                )
            })
        })
    }

    fn leaves(&mut self, parked: &Parked, now: Instant) {
        self.away.insert(parked.op, now + self.config.grace);
    }
}
