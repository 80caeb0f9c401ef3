//! What a holder sets beside its grant. It ends with the grant.

use super::super::effects::Effects;
use super::super::record::{EntryRecord, Mutation};
use super::KeyMachine;
use crate::protocol::{Entry, MAX_ENTRIES, MAX_ENTRIES_BYTES, Refusal, Response};

impl KeyMachine {
    pub(super) fn enter(&mut self, entry: Entry, fx: &mut Effects) -> Response {
        let Entry {
            credential,
            name,
            value,
            number,
        } = entry;
        let about = credential.fence;
        let Some(position) = self.grants.opened_by(credential) else {
            return self.not_holder(about, self.memory.end_of(credential));
        };
        let taken = self.entries_bytes();
        let Some(grant) = self.grants.get_mut(position) else {
            return Response::Entered { about };
        };
        // A change that was overtaken by a later one, or has been made already.
        if number <= grant.record.entered {
            return Response::Entered { about };
        }
        let before = grant.entries.get(&name);
        if let Some(value) = &value {
            if before.is_none() && grant.entries.len() >= MAX_ENTRIES {
                return Response::Refused(Refusal::ENTRIES_FULL);
            }
            let size = |value: &str| name.as_str().len() + value.len();
            let freed = before.map_or(0, |before| size(before.as_str()));
            if taken - freed + size(value.as_str()) > MAX_ENTRIES_BYTES {
                return Response::Refused(Refusal::KEY_TOO_LARGE);
            }
        }
        let (key, slot) = (self.key.clone(), grant.record.slot);
        grant.record.entered = number;
        grant.dirty = true;
        self.dirty = true;
        match value {
            Some(value) if before != Some(&value) => {
                self.changed = true;
                grant.entries.insert(name.clone(), value.clone());
                fx.persist(Mutation::PutEntry(EntryRecord {
                    key,
                    slot,
                    name,
                    value,
                }));
            }
            Some(_) => {}
            None => {
                if grant.entries.remove(&name).is_some() {
                    self.changed = true;
                    fx.persist(Mutation::DeleteEntry { key, slot, name });
                }
            }
        }
        Response::Entered { about }
    }

    fn entries_bytes(&self) -> usize {
        let entries = self.grants.iter().flat_map(|grant| &grant.entries);
        entries
            .map(|(name, value)| name.as_str().len() + value.as_str().len())
            .sum()
    }
}
