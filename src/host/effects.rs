//! What a step brings about.

use alloc::vec::Vec;

use super::ReplyTo;
use super::record::Mutation;
use crate::protocol::Response;

/// What a step has brought about so far: mutations come before answers, whatever their order here.
#[derive(Debug, Default)]
pub(super) struct Effects {
    pub mutations: Vec<Mutation>,
    pub replies: Vec<(ReplyTo, Response)>,
    /// The number of the last waiter.
    pub last_number: u64,
}

impl Effects {
    pub fn persist(&mut self, mutation: Mutation) {
        self.mutations.push(mutation);
    }

    pub fn reply(&mut self, to: ReplyTo, response: Response) {
        self.replies.push((to, response));
    }

    pub fn has_replied(&self, to: ReplyTo) -> bool {
        self.replies.iter().any(|(replied, _)| *replied == to)
    }

    pub fn next_number(&mut self) -> u64 {
        self.last_number = self.last_number.saturating_add(1);
        self.last_number
    }
}
