//! All that must be true of a host, whoever drives it: the simulation, a fuzz target, a test.

use std::collections::{BTreeMap, BTreeSet};

use leasehold::fence::Fence;
use leasehold::host::{HostConfig, HostInput, HostOutput, Mutation, Offer, ReplyTo};
use leasehold::name::Key;
use leasehold::protocol::{Request, Response};
use leasehold::time::Instant;

use super::{
    Admission, Done, Durability, Entries, Fences, Forgetting, Handover, HostBounds, HostStep,
    Idempotence, NewGrant, Queues, Verdict, Watching,
};
use crate::store::Store;

/// The rules of a host and what they remember.
pub struct HostChecks {
    config: HostConfig,
    asked: BTreeMap<ReplyTo, Request>,
    /// Every fence that was ever granted or told.
    pub fences: Fences,
    idempotence: Idempotence,
    queues: Queues,
    entries: Entries,
    done: Done,
    watching: Watching,
    forgetting: Forgetting,
}

impl HostChecks {
    /// The rules of a host with these settings.
    pub fn new(config: HostConfig) -> Self {
        Self {
            config,
            asked: BTreeMap::new(),
            fences: Fences::default(),
            idempotence: Idempotence::new(config),
            queues: Queues::new(config),
            entries: Entries::default(),
            done: Done::default(),
            watching: Watching::default(),
            forgetting: Forgetting::new(config),
        }
    }

    /// Takes note of an input that is about to be given.
    pub fn input(&mut self, input: &HostInput, now: Instant, store: &Store) {
        if let HostInput::Request(to, request) = input {
            self.asked.insert(*to, request.clone());
            self.done.asked(request);
        }
        self.queues.input(input, now, store);
        self.watching.input(input, now, store);
    }

    /// The host went down: nobody is parked any more.
    pub fn crashed(&mut self) {
        self.asked.clear();
        self.queues.crashed();
        self.watching.crashed();
    }

    /// The host is back, with what is stored.
    pub fn restored(&mut self, store: &Store, now: Instant) {
        self.queues.restored(store, now);
        self.entries.restored(store);
    }

    /// An older copy of the storage has come back. Fences go on rising all the same.
    ///
    /// # Errors
    /// When the copy contradicts itself.
    pub fn rolled_back(&mut self, store: &Store) -> Verdict {
        self.done.rolled_back(store);
        self.idempotence.rolled_back(store)
    }

    /// Carries out what is to be stored.
    ///
    /// # Errors
    /// When something is stored that must not be.
    pub fn store(&mut self, outputs: &[HostOutput], now: Instant, store: &mut Store) -> Verdict {
        self.fences.stored(outputs)?;
        for output in outputs {
            let HostOutput::Persist(mutation) = output else {
                continue;
            };
            self.idempotence.stored(mutation)?;
            self.done.stored(mutation);
            let watched = self.watching.unknown_to(store);
            self.forgetting.stored(mutation, store, watched, now)?;
            store.apply(mutation.clone());
        }
        Ok(())
    }

    /// Takes note of an answer that leaves.
    ///
    /// # Errors
    /// When it does not fit what was asked.
    pub fn told(&mut self, to: ReplyTo, response: &Response, now: Instant) -> Verdict {
        let Some(request) = self.asked.get(&to) else {
            return Ok(());
        };
        match response {
            Response::Granted(granted) => {
                self.fences.told(&request.key, granted)?;
                self.idempotence.told(request, granted)?;
            }
            Response::Cancelled => self.idempotence.cancelled(request, now),
            _ => {}
        }
        self.done.told(request, response, now)
    }

    /// Looks at one input with everything that came of it, and carries it out.
    ///
    /// # Errors
    /// When a rule is broken.
    pub fn step(
        &mut self,
        input: &HostInput,
        now: Instant,
        outputs: &[HostOutput],
        alarm: Option<Instant>,
        store: &mut Store,
    ) -> Verdict {
        Durability::order(outputs)?;
        let request = match input {
            HostInput::Request(to, request) => Some((*to, request)),
            HostInput::Gone(_) | HostInput::List(..) | HostInput::Tick => None,
        };
        let about = request.map(|(_, request)| &request.key);
        let before: Vec<_> = about.map_or(Vec::new(), |key| store.grants(key).cloned().collect());
        let fences = fences_before(outputs, store);
        let left = waiters_that_left(outputs, store);
        let lapsed = lapsed_offers(store, now);
        let known = about.is_some_and(|key| store.knows(key));
        self.store(outputs, now, store)?;
        let granted = new_grants(&fences, &left, store);
        let step = HostStep {
            now,
            request,
            outputs,
            granted: &granted,
            before: &before,
            lapsed: &lapsed,
            store,
            alarm,
        };
        Handover::step(&step)?;
        Admission::step(&step)?;
        HostBounds::step(&self.config, &step)?;
        self.queues.step(&step)?;
        self.entries.step(&step)?;
        self.watching.step(&step)?;
        self.forgetting.step(&step, known)?;
        for output in outputs {
            if let HostOutput::Reply(to, response) = output {
                self.told(*to, response, now)?;
                self.asked.remove(to);
            }
        }
        self.done.step(&step)
    }
}

fn fences_before(outputs: &[HostOutput], store: &Store) -> BTreeMap<Key, Fence> {
    outputs
        .iter()
        .filter_map(|output| match output {
            HostOutput::Persist(Mutation::PutKey(record)) => {
                Some((record.key.clone(), store.fence(&record.key)))
            }
            _ => None,
        })
        .collect()
}

/// The ops of the waiters that leave in this step, with their numbers.
fn waiters_that_left(
    outputs: &[HostOutput],
    store: &Store,
) -> BTreeMap<Key, Vec<(leasehold::id::OpId, u64)>> {
    let mut left: BTreeMap<Key, Vec<_>> = BTreeMap::new();
    for output in outputs {
        if let HostOutput::Persist(Mutation::DeleteWaiter { key, number }) = output
            && let Some(waiter) = store.waiters(key).find(|waiter| waiter.number == *number)
        {
            left.entry(key.clone())
                .or_default()
                .push((waiter.op, *number));
        }
    }
    left
}

/// The keys on which an offer ends in this step without having been confirmed.
fn lapsed_offers(store: &Store, now: Instant) -> BTreeSet<Key> {
    let lapsed = |key: &Key| {
        store
            .grants(key)
            .any(|grant| grant.expires <= now && grant.offer != Offer::Confirmed)
    };
    store
        .keys()
        .map(|record| &record.key)
        .filter(|key| lapsed(key))
        .cloned()
        .collect()
}

/// The grants that began in this step and stand.
fn new_grants(
    fences: &BTreeMap<Key, Fence>,
    left: &BTreeMap<Key, Vec<(leasehold::id::OpId, u64)>>,
    store: &Store,
) -> Vec<NewGrant> {
    let mut granted = Vec::new();
    for (key, before) in fences {
        for grant in store.grants(key).filter(|grant| grant.fence > *before) {
            let waiters = left.get(key).map_or(&[][..], Vec::as_slice);
            let waiter = waiters.iter().find(|(op, _)| *op == grant.op);
            granted.push(NewGrant {
                key: key.clone(),
                grant: grant.clone(),
                waiter: waiter.map(|(_, number)| *number),
            });
        }
    }
    granted
}
