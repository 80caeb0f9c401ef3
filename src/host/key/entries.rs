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
        let before = grant.get(&name);
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
        let is_news = before != value.as_ref();
        grant.record.entered = number;
        grant.dirty = true;
        self.dirty = true;
        if is_news {
            self.changed = true;
            let (key, slot) = (self.key.clone(), grant.record.slot);
            fx.persist(match &value {
                Some(value) => Mutation::PutEntry(EntryRecord {
                    key,
                    slot,
                    name: name.clone(),
                    value: value.clone(),
                }),
                None => Mutation::DeleteEntry {
                    key,
                    slot,
                    name: name.clone(),
                },
            });
            grant.set(name, value);
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
