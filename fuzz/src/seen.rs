//! What a run came through: the explorer's sense of what is new.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The situations that one run, or many, came through.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    situations: BTreeSet<u64>,
}

impl Seen {
    /// Notes a situation. Whatever is hashed should take few values: kinds, not contents.
    pub fn note(&mut self, situation: impl Hash) {
        let mut hasher = DefaultHasher::new();
        situation.hash(&mut hasher);
        self.situations.insert(hasher.finish());
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.situations.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.situations.is_empty()
    }

    /// How many of `other`'s situations are not among these.
    pub fn lacks(&self, other: &Self) -> usize {
        other.situations.difference(&self.situations).count()
    }

    /// Adds `other`'s situations to these.
    pub fn add(&mut self, other: &Self) {
        self.situations.extend(&other.situations);
    }

    /// `other`'s situations that are not among these.
    pub fn news(&self, other: &Self) -> Self {
        let news = other.situations.difference(&self.situations);
        Self {
            situations: news.copied().collect(),
        }
    }
}

/// A count as a situation: 0, 1, 2, 3, 4 and more, 8 and more, …
pub fn roughly(count: usize) -> usize {
    if count < 4 { count } else { 1 << count.ilog2() }
}
