//! All keys of a host, and what is due when.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::config::HostConfig;
use super::key::KeyMachine;
use crate::hash::fnv1a;
use crate::name::Key;
use crate::time::Instant;

/// The keys, indexed by when they need attention, by how long they have been idle and by when they
/// can be forgotten.
#[derive(Debug, Default)]
pub(super) struct Table {
    keys: BTreeMap<Place, Entry>,
    due: Index,
    idle: Index,
    vanishing: Index,
}

type Index = BTreeSet<(Instant, Key)>;

/// Where a key is kept. In order of a hash that lies in the tree itself: to compare texts, each in a
/// place of its own, would take most of the time among a million of them.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    hash: u64,
    key: Key,
}

impl Place {
    fn of(key: &Key) -> Self {
        Self {
            hash: fnv1a(key.as_str().as_bytes()),
            key: key.clone(),
        }
    }
}

/// A key with the instants under which the indexes list it, so that it is always taken out again
/// before it is put in anew.
#[derive(Debug)]
struct Entry {
    machine: KeyMachine,
    due: Option<Instant>,
    /// From then on it is idle, or later: a renewal need not move it.
    idle: Option<Instant>,
    /// From then on it can be forgotten, or later.
    vanishing: Option<Instant>,
}

impl Table {
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    pub fn machines(&self) -> impl Iterator<Item = &KeyMachine> {
        self.keys.values().map(|entry| &entry.machine)
    }

    /// Whether nobody has an interest in the key now, known or not.
    pub fn is_idle(&self, key: &Key, now: Instant) -> bool {
        let entry = self.keys.get(&Place::of(key));
        entry.is_none_or(|entry| entry.machine.is_idle(now))
    }

    pub fn contains(&self, key: &Key) -> bool {
        self.keys.contains_key(&Place::of(key))
    }

    pub fn get_mut(&mut self, key: &Key) -> Option<&mut KeyMachine> {
        let entry = self.keys.get_mut(&Place::of(key))?;
        Some(&mut entry.machine)
    }

    pub fn get_or_insert(
        &mut self,
        key: &Key,
        make: impl FnOnce() -> KeyMachine,
    ) -> &mut KeyMachine {
        let entry = self.keys.entry(Place::of(key)).or_insert_with(|| Entry {
            machine: make(),
            due: None,
            idle: None,
            vanishing: None,
        });
        &mut entry.machine
    }

    /// Brings the indexes in line with the key's state. A key that nobody has an interest in and
    /// that was never stored is dropped.
    pub fn book(&mut self, config: &HostConfig, key: &Key, now: Instant) {
        let place = Place::of(key);
        let Some(entry) = self.keys.get_mut(&place) else {
            return;
        };
        let machine = &entry.machine;
        let idle = machine.idle_from(now);
        let needed_until = idle.map(|idle| idle.max(machine.remembers_until()));
        let dropped = !machine.is_stored() && needed_until.is_some_and(|until| until <= now);
        let after = |at: Option<Instant>| at.filter(|_| !dropped);
        relist(&mut self.due, key, &mut entry.due, after(machine.due()));
        let lazily = |listed: Option<Instant>, at: Option<Instant>| {
            at.map(|at| listed.map_or(at, |listed| listed.min(at)))
        };
        let listed = lazily(entry.idle, after(idle));
        relist(&mut self.idle, key, &mut entry.idle, listed);
        let vanishing = after(machine.vanishes_from(config, now));
        let listed = lazily(entry.vanishing, vanishing);
        relist(&mut self.vanishing, key, &mut entry.vanishing, listed);
        if dropped {
            self.keys.remove(&place);
        }
    }

    /// The same for all keys, which come from storage.
    pub fn book_all(&mut self, config: &HostConfig, now: Instant) {
        let keys: Vec<Key> = self.keys.keys().map(|place| place.key.clone()).collect();
        for key in keys {
            if let Some(machine) = self.get_mut(&key) {
                machine.restored(now);
            }
            self.book(config, &key, now);
        }
    }

    /// When the first key needs attention.
    pub fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// When the first key can perhaps be forgotten.
    pub fn next_vanishing(&self) -> Option<Instant> {
        self.vanishing.first().map(|(at, _)| *at)
    }

    /// A key that needs attention now.
    pub fn first_due(&self, now: Instant) -> Option<Key> {
        let first = self.due.first().filter(|(at, _)| *at <= now);
        first.map(|(_, key)| key.clone())
    }

    /// A key that can perhaps be forgotten now.
    pub fn first_vanishing(&self, now: Instant) -> Option<Key> {
        let first = self.vanishing.first().filter(|(at, _)| *at <= now);
        first.map(|(_, key)| key.clone())
    }

    /// Takes the key out if it can be forgotten now; else lists it for when it can.
    pub fn vanish(&mut self, config: &HostConfig, key: &Key, now: Instant) -> bool {
        let place = Place::of(key);
        let Some(entry) = self.keys.get_mut(&place) else {
            return false;
        };
        let from = entry.machine.vanishes_from(config, now);
        relist(&mut self.vanishing, key, &mut entry.vanishing, from);
        let vanishes = from.is_some_and(|from| from <= now);
        if vanishes {
            self.remove(key);
        }
        vanishes
    }

    /// Whether so many keys are idle now. Those that only seemed so are listed anew, so that nobody has
    /// to go through them again.
    pub fn has_idle(&mut self, now: Instant, wanted: usize) -> bool {
        let (mut idle, mut used) = (0, Vec::new());
        let mut listed = self.idle.iter().take_while(|(at, _)| *at <= now);
        while idle < wanted
            && let Some((_, key)) = listed.next()
        {
            if self.is_idle(key, now) {
                idle += 1;
            } else {
                used.push(key.clone());
            }
        }
        for key in used {
            if let Some(entry) = self.keys.get_mut(&Place::of(&key)) {
                let from = entry.machine.idle_from(now);
                relist(&mut self.idle, &key, &mut entry.idle, from);
            }
        }
        idle == wanted
    }

    /// The key that has been idle for longest, where [`Self::has_idle`] has found one.
    pub fn longest_idle(&self) -> Option<Key> {
        self.idle.first().map(|(_, key)| key.clone())
    }

    /// Takes the key out.
    pub fn remove(&mut self, key: &Key) -> Option<KeyMachine> {
        let mut entry = self.keys.remove(&Place::of(key))?;
        relist(&mut self.due, key, &mut entry.due, None);
        relist(&mut self.idle, key, &mut entry.idle, None);
        relist(&mut self.vanishing, key, &mut entry.vanishing, None);
        Some(entry.machine)
    }

    /// The first so many keys in order of their names that begin with this prefix, come after that
    /// name, and have something to show.
    pub fn page(&self, prefix: &str, after: Option<&str>, most: usize) -> Vec<Key> {
        let mut page: Vec<Key> = Vec::new();
        for (Place { key, .. }, entry) in &self.keys {
            let name = key.as_str();
            let wanted = name.starts_with(prefix) && after.is_none_or(|after| name > after);
            if wanted && entry.machine.is_visible() {
                let position = page.partition_point(|before| before < key);
                page.insert(position, key.clone());
                page.truncate(most);
            }
        }
        page
    }
}

fn relist(index: &mut Index, key: &Key, listed: &mut Option<Instant>, at: Option<Instant>) {
    if *listed == at {
        return;
    }
    if let Some(before) = *listed {
        index.remove(&(before, key.clone()));
    }
    if let Some(at) = at {
        index.insert((at, key.clone()));
    }
    *listed = at;
}
