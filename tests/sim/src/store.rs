//! A host's storage: mutations in, snapshot out.

use std::collections::BTreeMap;

use leasehold::fence::Fence;
use leasehold::host::{KeyRecord, Mutation, Snapshot, WaiterRecord};
use leasehold::name::Key;

/// What has been stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Store {
    floor: Fence,
    keys: BTreeMap<Key, KeyRecord>,
    waiters: BTreeMap<Key, BTreeMap<u64, WaiterRecord>>,
}

impl Store {
    /// A storage with this content.
    pub fn from_snapshot(snapshot: Snapshot) -> Self {
        let mut store = Self::default();
        store.apply(Mutation::PutFloor(snapshot.floor));
        let keys = snapshot.keys.into_iter().map(Mutation::PutKey);
        let waiters = snapshot.waiters.into_iter().map(Mutation::PutWaiter);
        keys.chain(waiters)
            .for_each(|mutation| store.apply(mutation));
        store
    }

    /// Carries out one mutation.
    pub fn apply(&mut self, mutation: Mutation) {
        match mutation {
            Mutation::DeleteKey(key) => {
                self.keys.remove(&key);
            }
            Mutation::DeleteWaiter { key, number } => {
                if let Some(waiters) = self.waiters.get_mut(&key) {
                    waiters.remove(&number);
                }
            }
            Mutation::PutFloor(floor) => self.floor = floor,
            Mutation::PutKey(record) => {
                self.keys.insert(record.key.clone(), record);
            }
            Mutation::PutWaiter(record) => {
                self.waiters
                    .entry(record.key.clone())
                    .or_default()
                    .insert(record.number, record);
            }
        }
    }

    /// What a host is restored from.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            floor: self.floor,
            keys: self.keys.values().cloned().collect(),
            waiters: self.all_waiters().cloned().collect(),
        }
    }

    /// All keys' records.
    pub fn keys(&self) -> impl Iterator<Item = &KeyRecord> {
        self.keys.values()
    }

    /// One key's record.
    pub fn key(&self, key: &Key) -> Option<&KeyRecord> {
        self.keys.get(key)
    }

    /// All waiters, key by key in their order.
    pub fn all_waiters(&self) -> impl Iterator<Item = &WaiterRecord> {
        self.waiters.values().flat_map(BTreeMap::values)
    }

    /// One key's waiters in their order.
    pub fn waiters(&self, key: &Key) -> impl Iterator<Item = &WaiterRecord> {
        self.waiters.get(key).into_iter().flat_map(BTreeMap::values)
    }
}
