//! What a host has stored, and how that may change.

use std::collections::BTreeMap;

use leasehold::fence::Fence;
use leasehold::host::{GrantRecord, HostInput, KeyRecord, Mutation, Snapshot, WaiterRecord};
use leasehold::id::OpId;
use leasehold::name::Key;
use leasehold::protocol::{Credential, Operation, Request};
use leasehold::time::Instant;

/// The most that one key remembers.
const MOST_PAST: usize = 16;

/// The sum of a host's mutations.
pub struct Storage {
    pub floor: Fence,
    pub keys: BTreeMap<Key, KeyRecord>,
    pub waiters: BTreeMap<u64, WaiterRecord>,
    /// The highest fence that each key was ever seen with, whatever was forgotten since.
    highest: BTreeMap<Key, Fence>,
}

impl Storage {
    pub fn new(floor: Fence) -> Self {
        Self {
            floor,
            keys: BTreeMap::new(),
            waiters: BTreeMap::new(),
            highest: BTreeMap::new(),
        }
    }

    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            floor: self.floor,
            keys: self.keys.values().cloned().collect(),
            waiters: self.waiters.values().cloned().collect(),
        }
    }

    /// The running grant of a key.
    pub fn grant(&self, key: &Key, now: Instant) -> Option<&GrantRecord> {
        let grant = self.keys.get(key)?.grant.as_ref()?;
        (grant.expires > now).then_some(grant)
    }

    /// The waiters for a key, the first in the queue first.
    pub fn waiters_for<'a>(&'a self, key: &'a Key) -> impl Iterator<Item = &'a WaiterRecord> {
        self.waiters
            .values()
            .filter(move |waiter| waiter.key == *key)
    }

    /// The ops that the record or the queue of each key has something about.
    pub fn ops(&self) -> BTreeMap<Key, Vec<OpId>> {
        let mut all: BTreeMap<Key, Vec<OpId>> = BTreeMap::new();
        for (key, record) in &self.keys {
            let past = record.past.iter().map(|past| past.op);
            let running = record.grant.iter().map(|grant| grant.op);
            all.entry(key.clone())
                .or_default()
                .extend(past.chain(running));
        }
        for waiter in self.waiters.values() {
            all.entry(waiter.key.clone()).or_default().push(waiter.op);
        }
        all
    }

    /// Carries out the mutations of one drain; what they change must be what `input` may change.
    pub fn apply(&mut self, now: Instant, input: &HostInput, mutations: Vec<Mutation>) {
        let waited: Vec<WaiterRecord> = self.waiters.values().cloned().collect();
        let mut granted = Vec::new();
        for mutation in mutations {
            match mutation {
                Mutation::DeleteKey(key) => {
                    let record = self.keys.remove(&key);
                    assert!(
                        record.is_none_or(|record| record.fence <= self.floor
                            && record.grant.is_none_or(|grant| grant.expires <= now)),
                        "a fence or a grant was forgotten"
                    );
                }
                Mutation::DeleteWaiter { key, number } => {
                    let waiter = self.waiters.remove(&number).expect("a stored waiter");
                    assert_eq!(waiter.key, key);
                }
                Mutation::PutFloor(floor) => {
                    assert!(floor > self.floor, "a floor only rises");
                    self.floor = floor;
                }
                Mutation::PutKey(record) => {
                    self.check(now, input, &record);
                    if let Some(grant) = self.put(record.clone()) {
                        granted.push((record.key, grant));
                    }
                }
                Mutation::PutWaiter(waiter) => {
                    let last = self.waiters.keys().next_back();
                    assert!(last < Some(&waiter.number), "a waiter goes to the end");
                    self.waiters.insert(waiter.number, waiter);
                }
            }
        }
        for (key, grant) in granted {
            self.in_order(input, &waited, &key, &grant);
        }
    }

    /// Stores a record; its grant, if it is a new one.
    fn put(&mut self, record: KeyRecord) -> Option<GrantRecord> {
        let fence = record.fence;
        let key = record.key.clone();
        let grant = record.grant.clone();
        let before = self.keys.insert(key.clone(), record);
        let before = before.map_or(Fence::NONE, |before| before.fence);
        let highest = self.highest.entry(key).or_insert(before);
        let new = fence > *highest;
        *highest = fence;
        grant.filter(|_| new)
    }

    fn check(&self, now: Instant, input: &HostInput, after: &KeyRecord) {
        let before = self.keys.get(&after.key);
        let highest = self.highest.get(&after.key).copied().unwrap_or_default();
        assert!(after.fence >= highest, "a fence only rises");
        assert_eq!(after.written, now);
        assert!(after.past.len() <= MOST_PAST, "too much is remembered");
        assert!(before.is_none_or(|before| before.written <= now));
        let Some(old) = before.and_then(|before| before.grant.as_ref()) else {
            assert!(
                after.grant.is_none() || after.fence > highest,
                "a fence twice"
            );
            return;
        };
        if after.fence == highest
            && let Some(new) = &after.grant
        {
            let same = (new.lease, new.op, &new.holder) == (old.lease, old.op, &old.holder);
            assert!(same, "another grant under the same fence");
            assert!(new.expires >= old.expires, "a term was cut short");
        } else if old.expires > now {
            assert!(
                may_end(input, &after.key, old, highest),
                "a grant was taken away: {input:?}"
            );
        }
    }

    /// A new grant went to the first waiter, or to somebody who found none.
    fn in_order(&self, input: &HostInput, waited: &[WaiterRecord], key: &Key, to: &GrantRecord) {
        let place = waited
            .iter()
            .find(|waiter| waiter.key == *key && waiter.op == to.op);
        if let HostInput::Request(
            _,
            Request {
                key: asked,
                op,
                operation,
            },
        ) = input
            && asked == key
            && *op == to.op
            && matches!(operation, Operation::Transfer(_))
        {
            return;
        }
        let passed_over = self
            .waiters_for(key)
            .find(|waiter| place.is_none_or(|place| waiter.number < place.number));
        assert!(passed_over.is_none(), "somebody was passed over");
        match (place, input) {
            (Some(place), _) => {
                assert_eq!((place.lease, &place.holder), (to.lease, &to.holder));
            }
            (None, HostInput::Request(_, request)) => {
                assert!(
                    request.key == *key
                        && request.op == to.op
                        && matches!(request.operation, Operation::Acquire(_)),
                    "granted to nobody who asked"
                );
            }
            (None, _) => panic!("granted to nobody"),
        }
    }
}

/// Whether `input` entitles to ending this running grant, which has this fence.
fn may_end(input: &HostInput, key: &Key, grant: &GrantRecord, fence: Fence) -> bool {
    let HostInput::Request(_, request) = input else {
        return false;
    };
    request.key == *key
        && match &request.operation {
            Operation::Cancel => request.op == grant.op,
            Operation::Release(credential) => opens(credential, grant, fence),
            Operation::Transfer(transfer) => opens(&transfer.credential, grant, fence),
            Operation::Entry(_) | Operation::Finish(_) | Operation::Watch(_) => false,
            Operation::Revoke { .. } => true,
            Operation::Acquire(_)
            | Operation::Inspect
            | Operation::Renew { .. }
            | Operation::Verify(_) => false,
        }
}

/// Whether this proves holding this grant, which has this fence.
pub fn opens(credential: &Credential, grant: &GrantRecord, fence: Fence) -> bool {
    credential.lease == grant.lease && credential.fence.is_none_or(|named| named == fence)
}
