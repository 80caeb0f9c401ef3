//! What happens next.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::machine::TrueTime;

/// Things to come, the soonest first; things of one instant in the order in which they were put.
pub struct Agenda<T> {
    heap: BinaryHeap<Reverse<Entry<T>>>,
    numbers: u64,
}

struct Entry<T> {
    at: TrueTime,
    number: u64,
    what: T,
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            numbers: 0,
        }
    }
}

impl<T> Agenda<T> {
    /// Puts something on the agenda.
    pub fn put(&mut self, at: TrueTime, what: T) {
        self.numbers += 1;
        let number = self.numbers;
        self.heap.push(Reverse(Entry { at, number, what }));
    }

    /// Takes the next thing off it.
    pub fn take(&mut self) -> Option<(TrueTime, T)> {
        let Reverse(Entry { at, what, .. }) = self.heap.pop()?;
        Some((at, what))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl<T> Eq for Entry<T> {}
