//! A host's storage: mutations in, snapshot out.

use std::collections::BTreeMap;

use leasehold::fence::Fence;
use leasehold::host::{
    EntryRecord, Floor, GrantRecord, KeyRecord, Mutation, Snapshot, WaiterRecord,
};
use leasehold::json::Json;
use leasehold::name::{EntryName, Key};
use leasehold::time::Instant;

/// What has been stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Store {
    floor: Floor,
    keys: BTreeMap<Key, KeyRecord>,
    /// Grants in slots that are not the first.
    grants: BTreeMap<(Key, u32), GrantRecord>,
    entries: BTreeMap<(Key, u32), BTreeMap<EntryName, Json>>,
    waiters: BTreeMap<Key, BTreeMap<u64, WaiterRecord>>,
}

impl Store {
    /// Carries out one mutation.
    pub fn apply(&mut self, mutation: Mutation) {
        match mutation {
            Mutation::DeleteEntry { key, slot, name } => {
                let place = (key, slot);
                if let Some(entries) = self.entries.get_mut(&place) {
                    entries.remove(&name);
                    if entries.is_empty() {
                        self.entries.remove(&place);
                    }
                }
            }
            Mutation::DeleteGrant { key, slot } => {
                self.grants.remove(&(key, slot));
            }
            Mutation::DeleteKey(key) => {
                self.keys.remove(&key);
            }
            Mutation::DeleteWaiter { key, number } => {
                if let Some(waiters) = self.waiters.get_mut(&key) {
                    waiters.remove(&number);
                }
            }
            Mutation::PutEntry(entry) => {
                let entries = self.entries.entry((entry.key, entry.slot)).or_default();
                entries.insert(entry.name, entry.value);
            }
            Mutation::PutFloor(floor) => self.floor = floor,
            Mutation::PutGrant { key, grant } => {
                self.grants.insert((key, grant.slot), grant);
            }
            Mutation::PutKey(record) => {
                self.keys.insert(record.key.clone(), record);
            }
            Mutation::PutWaiter(record) => {
                let waiters = self.waiters.entry(record.key.clone()).or_default();
                waiters.insert(record.number, record);
            }
        }
    }

    /// What a host is restored from.
    pub fn snapshot(&self) -> Snapshot {
        let grants = self.grants.iter();
        let entries = self.entries.iter().flat_map(|((key, slot), entries)| {
            entries.iter().map(|(name, value)| EntryRecord {
                key: key.clone(),
                slot: *slot,
                name: name.clone(),
                value: value.clone(),
            })
        });
        Snapshot {
            floor: self.floor,
            keys: self.keys.values().cloned().collect(),
            grants: grants
                .map(|((key, _), grant)| (key.clone(), grant.clone()))
                .collect(),
            entries: entries.collect(),
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

    /// The highest fence that a key has been granted, as far as that is stored.
    pub fn fence(&self, key: &Key) -> Fence {
        self.key(key).map_or(Fence::NONE, |record| record.fence)
    }

    /// One key's grants, by slot, expired ones included.
    pub fn grants(&self, key: &Key) -> impl Iterator<Item = &GrantRecord> {
        let first = self.key(key).and_then(|record| record.grant.as_ref());
        let others = (key.clone(), 0)..=(key.clone(), u32::MAX);
        first
            .into_iter()
            .chain(self.grants.range(others).map(|(_, grant)| grant))
    }

    /// One key's grants that still run.
    pub fn running(&self, key: &Key, now: Instant) -> Vec<&GrantRecord> {
        self.grants(key)
            .filter(|grant| grant.expires > now)
            .collect()
    }

    /// The entries of the grant in this slot.
    pub fn entries(&self, key: &Key, slot: u32) -> BTreeMap<EntryName, Json> {
        let entries = self.entries.get(&(key.clone(), slot));
        entries.cloned().unwrap_or_default()
    }

    /// Whether the key's record is stored.
    pub fn knows(&self, key: &Key) -> bool {
        self.keys.contains_key(key)
    }

    /// Whether entries are stored that no running or lapsed grant of the key has.
    pub fn entries_left(&self, key: &Key) -> bool {
        self.entries
            .iter()
            .any(|((of, _), entries)| of == key && !entries.is_empty())
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

impl From<Snapshot> for Store {
    fn from(snapshot: Snapshot) -> Self {
        let grants = snapshot.grants.into_iter();
        let mut store = Self::default();
        let mutations = [Mutation::PutFloor(snapshot.floor)]
            .into_iter()
            .chain(snapshot.keys.into_iter().map(Mutation::PutKey))
            .chain(grants.map(|(key, grant)| Mutation::PutGrant { key, grant }))
            .chain(snapshot.entries.into_iter().map(Mutation::PutEntry))
            .chain(snapshot.waiters.into_iter().map(Mutation::PutWaiter));
        mutations.for_each(|mutation| store.apply(mutation));
        store
    }
}
