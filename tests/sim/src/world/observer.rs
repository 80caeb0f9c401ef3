//! Who has no lease: somebody who looks at keys, watches and lists them, and an operator.

use leasehold::host::HostInput;
use leasehold::id::{AttemptId, OpId};
use leasehold::protocol::{List, Operation, Request, Watch};
use leasehold::time::Span;

use super::network::{From, Parcel};
use super::{Event, Stage, World};
use crate::check::{Verdict, Who};

/// The most looks at keys in a run.
const MOST: u64 = 60;

impl World {
    /// Somebody looks at a key, and will do so again.
    pub(super) fn observe(&mut self) -> Verdict {
        self.observations += 1;
        if self.stage >= Stage::WindingDown || self.observations > MOST {
            return Ok(());
        }
        let most = self.scenario.ttl.1.as_micros();
        let pause = self.rng.magnitude(10_000, most);
        self.agenda.put(self.now + pause, Event::Observe);
        match self.rng.below(8) {
            0 => self.list(),
            1 => self.question(Operation::Inspect),
            _ => {
                let key = self.rng.index(self.keys.len());
                let told = self.revisions.get(&self.keys[key]).copied();
                let wait = Span::from_micros(self.rng.magnitude(1, 5_000_000));
                let watch = Operation::Watch(Watch { after: told, wait });
                self.about(key, watch)
            }
        }
    }

    /// An operator ends what runs on a key.
    pub(super) fn revoke(&mut self) -> Verdict {
        self.question(Operation::Revoke { fence: None })
    }

    fn question(&mut self, operation: Operation) -> Verdict {
        let key = self.rng.index(self.keys.len());
        self.about(key, operation)
    }

    fn about(&mut self, key: usize, operation: Operation) -> Verdict {
        let from = self.stranger();
        let request = Request {
            key: self.keys[key].clone(),
            op: OpId::from_bits(self.rng.wide_bits()),
            operation,
        };
        self.reach_host(Parcel { from, request })?;
        // Some don't stay for the answer.
        if self.rng.per_mille(100) {
            return self.hang_up(from);
        }
        Ok(())
    }

    fn list(&mut self) -> Verdict {
        if self.host_stands_still() {
            return Ok(());
        }
        let from = self.stranger();
        let list = List {
            prefix: String::new(),
            after: None,
        };
        self.put_to_host(from, |to| HostInput::List(to, list))
    }

    /// None of the clients.
    fn stranger(&mut self) -> From {
        self.tickets += 1;
        From {
            who: Who::NOBODY,
            attempt: AttemptId(self.tickets),
        }
    }
}
