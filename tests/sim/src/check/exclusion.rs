//! Guarantee A: by true time, no more holders believe that they hold a key than each of them puts up
//! with.

use std::collections::{BTreeMap, BTreeSet};

use leasehold::fence::Fence;
use leasehold::id::LeaseId;

use crate::machine::TrueTime;

/// A stretch of true time in which one holder, asked at any instant by its own clock, would have
/// said that it holds the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Belief {
    /// The key's number.
    pub key: usize,
    /// Who.
    pub who: Who,
    /// Under which grant.
    pub lease: LeaseId,
    /// With which fence.
    pub fence: Fence,
    /// The most holders, itself included, that it puts up with.
    pub limit: u32,
    /// From when on.
    pub from: TrueTime,
    /// Until before when.
    pub until: TrueTime,
}

impl Belief {
    fn grant(&self) -> (usize, LeaseId, Fence) {
        (self.key, self.lease, self.fence)
    }
}

/// One holder: a client in one of its lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Who {
    /// The client.
    pub client: usize,
    /// Which of its lives.
    pub life: u32,
}

impl Who {
    /// Nobody who ever believes.
    pub const NOBODY: Self = Self {
        client: usize::MAX,
        life: 0,
    };
}

/// All beliefs of a run.
#[derive(Default)]
pub struct Exclusion {
    beliefs: Vec<Belief>,
    revoked: BTreeMap<(usize, LeaseId), TrueTime>,
}

impl Exclusion {
    /// Takes note of a belief that has ended.
    pub fn believed(&mut self, belief: Belief) {
        self.beliefs.push(belief);
    }

    /// An operator has ended this lease, which its holder learns at its next word with the host.
    pub fn revoked(&mut self, key: usize, lease: LeaseId, at: TrueTime) {
        self.revoked.entry((key, lease)).or_insert(at);
    }

    /// Two beliefs in different grants of one key at one time, one of them too many, if there are such.
    pub fn overlap(&self) -> Option<(Belief, Belief)> {
        let mut beliefs: Vec<Belief> = self.beliefs.iter().map(|b| self.clip(*b)).collect();
        beliefs.retain(|belief| belief.from < belief.until);
        beliefs.sort_by_key(|belief| (belief.key, belief.from));
        let mut running: Vec<Belief> = Vec::new();
        for belief in beliefs {
            running.retain(|other| other.key == belief.key && other.until > belief.from);
            running.push(belief);
            let grants: BTreeSet<_> = running.iter().map(Belief::grant).collect();
            let least = running.iter().min_by_key(|belief| belief.limit)?;
            if grants.len() > least.limit as usize {
                let other = running
                    .iter()
                    .find(|other| other.grant() != belief.grant())?;
                return Some((*other, belief));
            }
        }
        None
    }

    fn clip(&self, belief: Belief) -> Belief {
        let revoked = self.revoked.get(&(belief.key, belief.lease));
        Belief {
            until: belief.until.min(*revoked.unwrap_or(&belief.until)),
            ..belief
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn belief(key: usize, lease: u128, from: TrueTime, until: TrueTime) -> Belief {
        Belief {
            key,
            who: Who { client: 0, life: 0 },
            lease: LeaseId::from_bits(lease),
            fence: Fence::from_value(lease as u64),
            limit: 1,
            from,
            until,
        }
    }

    fn overlaps(beliefs: &[Belief]) -> bool {
        let mut exclusion = Exclusion::default();
        beliefs.iter().for_each(|b| exclusion.believed(*b));
        exclusion.overlap().is_some()
    }

    #[test]
    fn finds_an_overlap_behind_a_longer_one() {
        assert!(overlaps(&[belief(0, 1, 0, 100), belief(0, 2, 99, 120)]));
        assert!(overlaps(&[
            belief(0, 1, 0, 100),
            belief(0, 1, 10, 20),
            belief(0, 2, 50, 60),
        ]));
    }

    #[test]
    fn as_many_believe_as_the_least_patient_puts_up_with() {
        let at_most = |limit, lease| Belief {
            limit,
            ..belief(0, lease, 0, 100)
        };
        assert!(!overlaps(&[at_most(2, 1), at_most(3, 2)]));
        assert!(overlaps(&[at_most(3, 1), at_most(3, 2), at_most(2, 3)]));
        assert!(overlaps(&[at_most(1_024, 1), at_most(1, 2)]));
    }

    #[test]
    fn touching_sharing_and_other_keys_are_fine() {
        assert!(!overlaps(&[belief(0, 1, 0, 100), belief(0, 2, 100, 120)]));
        assert!(!overlaps(&[belief(0, 1, 0, 100), belief(0, 1, 50, 120)]));
        assert!(!overlaps(&[belief(0, 1, 0, 100), belief(1, 2, 50, 120)]));
    }

    #[test]
    fn what_was_revoked_is_excused_from_then_on() {
        let mut exclusion = Exclusion::default();
        exclusion.believed(belief(0, 1, 0, 100));
        exclusion.believed(belief(0, 2, 50, 120));
        let lease = LeaseId::from_bits(1);
        exclusion.revoked(0, lease, 60);
        assert!(exclusion.overlap().is_some());
        exclusion.revoked(0, LeaseId::from_bits(2), 50);
        assert!(exclusion.overlap().is_none());
    }
}
