//! What a host restored from storage must have in common with the one that stored it.

use std::collections::BTreeMap;

use leasehold::host::{Host, HostInput, HostOutput, ReplyTo};
use leasehold::id::{LeaseId, OpId};
use leasehold::name::Key;
use leasehold::protocol::{Credential, Operation, Request, Response, Transfer};
use leasehold::time::{Instant, Span};

use crate::sample;

/// Asks both the same about these ops, in a way that first changes nothing and then empties the
/// queues: they must agree. Neither is of use afterwards.
pub fn same_behaviour(
    stored: &mut Host,
    restored: &mut Host,
    now: Instant,
    ops: &BTreeMap<Key, Vec<OpId>>,
) {
    let mut both = Both {
        hosts: [stored, restored],
        now,
        asked: 0,
    };
    for (key, ops) in ops {
        both.ask(key, fresh(0), Operation::Inspect);
        for &op in ops {
            let credential = any_fence(sample::lease_of(op));
            both.ask(key, op, Operation::Verify(credential));
            // Under a credential that opens nothing they tell what has become of the op.
            both.ask(key, op, Operation::Release(nothing()));
            both.ask(key, op, transfer(sample::lease_of(op)));
        }
    }
    for key in ops.keys() {
        both.empty_queue(key);
    }
}

/// A credential that opens nothing.
fn nothing() -> Credential {
    any_fence(LeaseId::from_bits(u128::MAX))
}

fn any_fence(lease: LeaseId) -> Credential {
    Credential { lease, fence: None }
}

fn transfer(lease: LeaseId) -> Operation {
    let mut first = crate::bytes::Bytes::new(&[]);
    Operation::Transfer(Transfer {
        credential: nothing(),
        successor: sample::holder(&mut first),
        lease,
        ttl: Span::from_secs(1),
    })
}

/// An op that no story uses.
fn fresh(number: u128) -> OpId {
    OpId::from_bits(u128::MAX - number)
}

struct Both<'a> {
    hosts: [&'a mut Host; 2],
    now: Instant,
    asked: u64,
}

impl Both<'_> {
    /// Takes the grant away again and again, so that it goes from waiter to waiter.
    fn empty_queue(&mut self, key: &Key) {
        for _ in 0..8 {
            let answer = self.ask(key, fresh(0), Operation::Inspect);
            if !matches!(answer, Response::State(state) if !state.holders.is_empty()) {
                return;
            }
            let op = fresh(1 + u128::from(self.asked));
            self.ask(key, op, Operation::Revoke { fence: None });
        }
        panic!("a queue without an end");
    }

    fn ask(&mut self, key: &Key, op: OpId, operation: Operation) -> Response {
        self.asked += 1;
        let to = ReplyTo(u64::MAX - self.asked);
        let request = Request {
            key: key.clone(),
            op,
            operation,
        };
        let answers = self.hosts.each_mut().map(|host| {
            host.handle(self.now, HostInput::Request(to, request.clone()));
            let mut answer = None;
            while let Some(output) = host.poll_output() {
                if let HostOutput::Reply(asker, response) = output
                    && asker == to
                {
                    answer = Some(response);
                }
            }
            answer.expect("an answer at once")
        });
        let [stored, restored] = answers;
        assert_eq!(restored, stored, "after a restart: {request:?}");
        restored
    }
}
