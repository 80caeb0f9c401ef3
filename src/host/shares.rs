//! A share of the room for the keys of each scope, so that one can't lock the others out.

use alloc::string::String;
use alloc::vec::Vec;

use crate::name::Key;

/// The scopes that share a host's room. A key is of the scope with the longest prefix that it
/// begins with; what no prefix covers is one more scope.
#[derive(Debug, Default)]
pub(super) struct Shares {
    /// The longest first.
    prefixes: Vec<String>,
}

impl Shares {
    pub fn among(mut prefixes: Vec<String>) -> Self {
        prefixes.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        prefixes.dedup();
        Self { prefixes }
    }

    /// Whether a new key may come in beside those that are alive. Half of the room is for whoever
    /// comes; the other half is kept in equal shares.
    pub fn admit<'a>(&self, room: usize, key: &Key, alive: impl Iterator<Item = &'a Key>) -> bool {
        if self.prefixes.is_empty() {
            return true;
        }
        let scope = self.scope_of(key);
        let (mut all, mut same) = (0, 0);
        for key in alive {
            all += 1;
            same += usize::from(self.scope_of(key) == scope);
        }
        let free = room / 2;
        all < free || same < free / (self.prefixes.len() + 1)
    }

    fn scope_of(&self, key: &Key) -> usize {
        let covers = |prefix: &String| key.as_str().starts_with(prefix.as_str());
        let first = self.prefixes.iter().position(covers);
        first.unwrap_or(self.prefixes.len())
    }
}
