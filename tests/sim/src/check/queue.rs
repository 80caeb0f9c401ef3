//! The queue: first come, first served among those who are there; nobody is offered what others wait
//! for while it is being found out who is; every request that is kept waiting will be answered.

use std::collections::BTreeMap;

use leasehold::host::{HostConfig, HostInput, HostOutput, Offer, ReplyTo, WaiterRecord};
use leasehold::id::OpId;
use leasehold::name::Key;
use leasehold::protocol::{Acquire, MAX_POLL, Operation, Response};
use leasehold::time::{Instant, Span};

use super::{HostStep, NewGrant, Verdict, ensure};
use crate::store::Store;

const CHECK: &str = "queue";

/// So long whoever was sent away by a lapsed offer has to come back.
const ROLL_CALL: Span = Span::from_millis(500);

/// What the host owes to whom.
pub struct Queues {
    config: HostConfig,
    parked: BTreeMap<ReplyTo, Parked>,
    /// The waiters that are not parked.
    away: BTreeMap<(Key, OpId), Away>,
    /// Until when those who wait for a key are being called.
    calls: BTreeMap<Key, Instant>,
}

#[derive(Clone)]
struct Parked {
    key: Key,
    op: OpId,
    until: Instant,
    last: bool,
}

#[derive(Clone, Copy)]
struct Away {
    until: Instant,
    /// Whether it was not there when it was called, or is known to be gone.
    missing: bool,
}

/// A poll lasts two terms, at least a second and at most what any does.
fn poll(ttl: Span) -> Span {
    ttl.scale(2, 1).max(Span::from_secs(1)).min(MAX_POLL)
}

impl Queues {
    /// The queues of a host with these settings.
    pub fn new(config: HostConfig) -> Self {
        Self {
            config,
            parked: BTreeMap::new(),
            away: BTreeMap::new(),
            calls: BTreeMap::new(),
        }
    }

    /// The host went down: nobody is parked any more.
    pub fn crashed(&mut self) {
        self.parked.clear();
        self.calls.clear();
    }

    /// The host is back, with what is stored.
    pub fn restored(&mut self, store: &Store, now: Instant) {
        let until = now + self.config.grace;
        let keys = store.all_waiters().map(|waiter| waiter.key.clone());
        self.calls = keys.map(|key| (key, now + ROLL_CALL)).collect();
        let waiters = store.all_waiters();
        let missing = false;
        self.away = waiters
            .map(|waiter| (place(waiter), Away { until, missing }))
            .collect();
    }

    /// Takes note of an input that is about to be given.
    pub fn input(&mut self, input: &HostInput, now: Instant, store: &Store) {
        match input {
            HostInput::Request(to, request) => {
                let Operation::Acquire(Acquire { wait, ttl, .. }) = request.operation else {
                    return;
                };
                // Of a waiter that is back, what it said first counts.
                let mut waiters = store.waiters(&request.key);
                let waiter = waiters.find(|waiter| waiter.op == request.op);
                let ttl = waiter.map_or(ttl, |waiter| waiter.ttl);
                let parked = Parked {
                    key: request.key.clone(),
                    op: request.op,
                    until: now + wait.min(poll(ttl)),
                    last: wait <= poll(ttl),
                };
                self.parked.insert(*to, parked);
            }
            HostInput::Gone(to) => {
                if let Some(parked) = self.parked.remove(to) {
                    self.leaves(&parked, now, true);
                }
            }
            HostInput::List(..) | HostInput::Tick => {}
        }
    }

    /// Looks at a step.
    ///
    /// # Errors
    /// When somebody was served or left out wrongly.
    pub fn step(&mut self, step: &HostStep<'_>) -> Verdict {
        self.call(step);
        for output in step.outputs {
            if let HostOutput::Reply(to, response) = output {
                self.answered(step, *to, response)?;
            }
        }
        self.end_calls(step);
        for granted in step.granted {
            self.in_turn(step, granted)?;
        }
        for waiter in step.store.all_waiters() {
            self.may_wait(step, waiter)?;
        }
        self.nobody_forgotten(step)
    }

    /// A lapsed offer begins a roll call.
    fn call(&mut self, step: &HostStep<'_>) {
        for key in step.lapsed {
            let waits = |parked: &&Parked| parked.key == *key;
            let parked = self.parked.values().any(|parked| waits(&parked));
            if parked || step.store.waiters(key).next().is_some() {
                self.calls.insert(key.clone(), step.now + ROLL_CALL);
            }
        }
    }

    /// A roll call ends when the first in order is there, or after its time.
    fn end_calls(&mut self, step: &HostStep<'_>) {
        let calls = std::mem::take(&mut self.calls);
        for (key, until) in &calls {
            let first = step.store.waiters(key).next();
            let is_back = first.is_none_or(|first| self.is_parked(first));
            let was_back = step.granted.iter().any(|granted| {
                granted.key == *key
                    && granted
                        .waiter
                        .is_some_and(|number| first.is_none_or(|first| number < first.number))
            });
            if is_back || was_back {
                continue;
            }
            if *until > step.now {
                self.calls.insert(key.clone(), *until);
                continue;
            }
            for waiter in step.store.waiters(key) {
                if let Some(away) = self.away.get_mut(&place(waiter)) {
                    away.missing = true;
                }
            }
        }
    }

    fn parked(&self, waiter: &WaiterRecord) -> Option<&Parked> {
        let mut parked = self.parked.values();
        parked.find(|parked| parked.op == waiter.op && parked.key == waiter.key)
    }

    fn is_parked(&self, waiter: &WaiterRecord) -> bool {
        self.parked(waiter).is_some()
    }

    /// Whether nobody may pass this one.
    fn is_present(&self, waiter: &WaiterRecord, now: Instant) -> bool {
        let away = self.away.get(&place(waiter));
        self.parked(waiter)
            .is_some_and(|parked| !parked.last || parked.until >= now)
            || away.is_some_and(|away| !away.missing && away.until >= now)
    }

    /// A grant goes to the first waiter that is there, for a short term, or to nobody's loss.
    fn in_turn(&mut self, step: &HostStep<'_>, granted: &NewGrant) -> Verdict {
        let NewGrant { key, grant, waiter } = granted;
        let op = grant.op;
        let before = |number: u64| {
            let mut waiters = step.store.waiters(key);
            waiters.find(|other| {
                // Whoever comes in this very step may come after the grant.
                let comes = step
                    .request
                    .is_some_and(|(_, request)| request.op == other.op);
                other.number < number && !comes && self.is_present(other, step.now)
            })
        };
        let Some(number) = *waiter else {
            let asked = step.request.is_some_and(|(_, request)| {
                let steals =
                    matches!(&request.operation, Operation::Acquire(acquire) if acquire.steal);
                request.op == op && !steals && matches!(request.operation, Operation::Acquire(_))
            });
            let passed = before(u64::MAX).map(|waiter| waiter.number);
            return ensure(!asked || passed.is_none(), CHECK, || {
                format!("a newcomer passed waiter {passed:?} of {key:?}")
            });
        };
        let passed = before(number).map(|waiter| waiter.number);
        ensure(passed.is_none(), CHECK, || {
            format!("waiter {number} of {key:?} was granted before {passed:?}")
        })?;
        // It may have been confirmed by the very request that brought the step about.
        let confirmed = step.request.is_some_and(|(_, request)| {
            matches!(
                request.operation,
                Operation::Acquire(_) | Operation::Renew { .. }
            )
        });
        let is_offer = match grant.offer {
            Offer::Made | Offer::Collected => grant.term <= self.config.offer,
            Offer::Confirmed => confirmed,
        };
        ensure(is_offer, CHECK, || {
            format!("an offer for {:?}, longer than allowed", grant.term)
        })?;
        let answered = step.outputs.iter().any(|output| {
            matches!(output, HostOutput::Reply(_, Response::Granted(told)) if told.fence == grant.fence)
        });
        let away = self.away.remove(&(key.clone(), op));
        let waits = away.is_some_and(|away| !away.missing && away.until >= step.now);
        ensure(answered || waits, CHECK, || {
            format!("waiter {number} of {key:?} has gone, and was granted")
        })
    }

    /// Whoever waits has a reason to, and somebody will see to it.
    fn may_wait(&self, step: &HostStep<'_>, waiter: &WaiterRecord) -> Verdict {
        let key = &waiter.key;
        let parked = self.parked(waiter);
        let mut waiters = step.store.waiters(key);
        let first = waiters.find(|waiter| self.is_present(waiter, step.now));
        let is_first = first.is_some_and(|first| first.number == waiter.number);
        if is_first && !self.calls.contains_key(key) {
            let running = step.store.running(key, step.now);
            let limits = running.iter().map(|grant| grant.limit);
            let least = limits.chain([waiter.limit]).min();
            let fits = least.is_none_or(|least| running.len() < least.holders() as usize);
            let same = running.iter().any(|grant| grant.lease == waiter.lease);
            ensure(!fits || same, CHECK, || {
                format!("there is room on {key:?} beside waiter {}", waiter.number)
            })?;
        }
        let expiry = step.store.grants(key).map(|grant| grant.expires).min();
        let due = parked.map(|parked| parked.until);
        let due = [due, expiry, self.calls.get(key).copied()]
            .into_iter()
            .flatten()
            .min();
        let alarmed = due.is_none_or(|due| step.alarm.is_some_and(|at| at <= due));
        ensure(alarmed, CHECK, || {
            format!(
                "somebody waits for {key:?} until {due:?}, and the alarm is {:?}",
                step.alarm
            )
        })
    }

    fn answered(&mut self, step: &HostStep<'_>, to: ReplyTo, response: &Response) -> Verdict {
        let Some(parked) = self.parked.remove(&to) else {
            return Ok(());
        };
        let superseded = step.request.is_some_and(|(by, request)| {
            by != to && request.op == parked.op && request.key == parked.key
        });
        match response {
            Response::Queued { .. } => {
                if !superseded {
                    self.leaves(&parked, step.now, false);
                }
                let called = step.lapsed.contains(&parked.key);
                ensure(
                    superseded || called || parked.until <= step.now,
                    CHECK,
                    || "a waiter was sent away to poll again too early".into(),
                )
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
            let mut waiters = step.store.waiters(&parked.key);
            ensure(waiters.any(|waiter| waiter.op == parked.op), CHECK, || {
                let key = &parked.key;
                format!("a request for {key:?} is kept, but not in the queue")
            })
        })
    }

    fn leaves(&mut self, parked: &Parked, now: Instant, missing: bool) {
        let until = now + self.config.grace;
        let place = (parked.key.clone(), parked.op);
        self.away.insert(place, Away { until, missing });
    }
}

fn place(waiter: &WaiterRecord) -> (Key, OpId) {
    (waiter.key.clone(), waiter.op)
}
