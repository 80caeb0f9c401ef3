//! A share of the room for the keys of each scope, so that one can't lock the others out.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::table::Table;
use crate::name::Key;
use crate::time::{Instant, Span};

/// How long a count of who is alive is good enough: to count on each request would cost more than
/// the request.
const COUNTED_FOR: Span = Span::from_secs(1);

/// The scopes that share a host's room. A key is of the scope with the longest prefix that it
/// begins with; what no prefix covers is one more scope.
#[derive(Debug, Default)]
pub(super) struct Shares {
    /// The longest first.
    prefixes: Vec<String>,
    /// How many keys of each scope were alive when they were counted, and those let in since.
    alive: Vec<usize>,
    counted: Option<Instant>,
}

impl Shares {
    pub fn among(mut prefixes: Vec<String>) -> Self {
        prefixes.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        prefixes.dedup();
        Self {
            prefixes,
            ..Self::default()
        }
    }

    /// Whether there is so little room that it has to be shared.
    pub fn matter(&self, room: usize, table: &Table) -> bool {
        !self.prefixes.is_empty() && table.len() >= room / 2
    }

    /// Whether one more key may become alive beside those in the table. Half of the room is kept in equal
    /// shares, one for each scope; the other half is for whoever comes first.
    pub fn admit(&mut self, room: usize, key: &Key, table: &Table, now: Instant) -> bool {
        let is_recent = |counted: Instant| now.since(counted) < COUNTED_FOR;
        if !self.counted.is_some_and(is_recent) {
            self.count(table, now);
        }
        let scope = self.scope_of(key);
        let (common, share) = (room - room / 2, room / 2 / self.alive.len());
        let beyond = self.alive.iter().map(|alive| alive.saturating_sub(share));
        let is_admitted = self.alive[scope] < share || beyond.sum::<usize>() < common;
        self.alive[scope] += usize::from(is_admitted);
        is_admitted
    }

    fn count(&mut self, table: &Table, now: Instant) {
        self.counted = Some(now);
        self.alive = vec![0; self.prefixes.len() + 1];
        for slot in table.slots().filter(|slot| slot.is_alive(now)) {
            let scope = self.scope_of(slot.key());
            self.alive[scope] += 1;
        }
    }

    fn scope_of(&self, key: &Key) -> usize {
        let covers = |prefix: &String| key.as_str().starts_with(prefix.as_str());
        let first = self.prefixes.iter().position(covers);
        first.unwrap_or(self.prefixes.len())
    }
}
