//! Nothing is told before what it rests on is stored, and a host restored from storage acts like
//! the one that wrote it.

use leasehold::host::{Host, HostConfig, HostInput, HostOutput, ReplyTo};
use leasehold::id::{LeaseId, OpId};
use leasehold::protocol::{Acquire, Credential, Operation, Request, Response};
use leasehold::time::{Instant, Span};

use super::idempotence::{MEMORY, REMEMBERED};
use super::{Verdict, ensure};
use crate::store::Store;

const CHECK: &str = "durability";

/// The two checks; they need no memory.
pub struct Durability;

impl Durability {
    /// Looks at the order of a step's outputs.
    ///
    /// # Errors
    /// When an answer goes out before something is stored.
    pub fn order(outputs: &[HostOutput]) -> Verdict {
        let first_reply = outputs
            .iter()
            .position(|output| matches!(output, HostOutput::Reply(..)));
        let last_persist = outputs
            .iter()
            .rposition(|output| matches!(output, HostOutput::Persist(_)));
        ensure(
            first_reply.is_none_or(|reply| last_persist.is_none_or(|persist| persist < reply)),
            CHECK,
            || "an answer leaves before everything is stored".into(),
        )
    }

    /// Asks a host that is about to be dropped and one restored from its storage the same.
    ///
    /// # Errors
    /// When they answer differently.
    pub fn restored(mut memory: Host, config: HostConfig, store: &Store, now: Instant) -> Verdict {
        let mut restored = Host::restore(config, store.snapshot(), now);
        for probe in probes(store, now) {
            let told = ask(&mut memory, now, &probe);
            let tells = ask(&mut restored, now, &probe);
            ensure(told == tells, CHECK, || {
                format!(
                    "to {:?} memory says {told:?}, storage says {tells:?}",
                    probe.operation
                )
            })?;
        }
        Ok(())
    }
}

/// Questions that show all that is promised to survive.
fn probes(store: &Store, now: Instant) -> Vec<Request> {
    let mut probes = Vec::new();
    for record in store.keys() {
        let mut ask = |op, operation| {
            probes.push(Request {
                key: record.key.clone(),
                op,
                operation,
            });
        };
        let probe = OpId::from_bits(u128::MAX);
        ask(probe, Operation::Inspect);
        if let Some(grant) = &record.grant {
            ask(
                probe,
                Operation::Verify(Credential {
                    lease: grant.lease,
                    fence: None,
                }),
            );
            let again = Acquire::new(
                grant.holder.clone(),
                LeaseId::from_bits(7),
                grant.term,
                Span::ZERO,
            );
            ask(grant.op, Operation::Acquire(again.clone()));
            // An expiry that comes to light now makes one more: the oldest may go.
            let kept = record.past.iter().rev().take(REMEMBERED - 1);
            for past in kept.take_while(|past| now.since(past.at) < MEMORY) {
                ask(past.op, Operation::Acquire(again.clone()));
            }
        }
    }
    probes
}

fn ask(host: &mut Host, now: Instant, request: &Request) -> Option<Response> {
    let to = ReplyTo(u64::MAX);
    host.handle(now, HostInput::Request(to, request.clone()));
    let mut answer = None;
    while let Some(output) = host.poll_output() {
        if let HostOutput::Reply(asker, response) = output
            && asker == to
        {
            answer = Some(response);
        }
    }
    answer
}
