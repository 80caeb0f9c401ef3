//! A share of the room for the keys of each scope, so that one can't lock the others out.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::table::Table;
use crate::name::Key;
use crate::time::{Instant, Span};

/// How long a count of what is in use is good enough: to count on each request would cost more than
/// the request.
const COUNTED_FOR: Span = Span::from_secs(1);

/// The scopes that share a host's room. A key is of the scope with the longest prefix that it
/// begins with; what no prefix covers is one more scope.
#[derive(Debug, Default)]
pub(super) struct Shares {
    prefixes: Vec<String>,
    /// How many keys of each scope were in use when they were counted, and those let in since.
    used: Vec<usize>,
    counted: Option<Instant>,
}

impl Shares {
    pub fn among(prefixes: impl IntoIterator<Item = String>) -> Self {
        let mut distinct: Vec<String> = Vec::new();
        for prefix in prefixes {
            if !distinct.contains(&prefix) {
                distinct.push(prefix);
            }
        }
        Self {
            prefixes: distinct,
            ..Self::default()
        }
    }

    /// Whether there is so little room that it has to be shared.
    pub fn matter(&self, room: usize, table: &Table) -> bool {
        !self.prefixes.is_empty() && table.len() >= room / 2
    }

    /// Whether one more key may come into use beside those in the table. Half of the room is kept in equal
    /// shares, one for each scope; the other half is for whoever comes first.
    pub fn admit(&mut self, room: usize, key: &Key, table: &Table, now: Instant) -> bool {
        let is_recent = |counted: Instant| now.since(counted) < COUNTED_FOR;
        if !self.counted.is_some_and(is_recent) {
            self.count(table, now);
        }
        let share = room / 2 / self.used.len().max(1);
        let beyond = self.used.iter().map(|used| used.saturating_sub(share));
        let has_room = beyond.sum::<usize>() < room - room / 2;
        let scope = self.scope_of(key);
        let Some(used) = self.used.get_mut(scope) else {
            return false;
        };
        let is_admitted = *used < share || has_room;
        *used += usize::from(is_admitted);
        is_admitted
    }

    fn count(&mut self, table: &Table, now: Instant) {
        self.counted = Some(now);
        self.used = vec![0; self.prefixes.len() + 1];
        for machine in table.machines().filter(|machine| !machine.is_idle(now)) {
            let scope = self.scope_of(machine.key());
            if let Some(used) = self.used.get_mut(scope) {
                *used += 1;
            }
        }
    }

    fn scope_of(&self, key: &Key) -> usize {
        let (mut scope, mut longest) = (self.prefixes.len(), 0);
        for (index, prefix) in self.prefixes.iter().enumerate() {
            let is_longer = prefix.len() >= longest;
            if is_longer && key.as_str().as_bytes().starts_with(prefix.as_bytes()) {
                (scope, longest) = (index, prefix.len());
            }
        }
        scope
    }
}
