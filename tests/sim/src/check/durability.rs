//! Nothing is told before what it rests on is stored, and a host restored from storage acts like
//! the one that wrote it.

use leasehold::fence::Revision;
use leasehold::host::{Host, HostConfig, HostInput, HostOutput, ReplyTo};
use leasehold::id::{LeaseId, OpId};
use leasehold::name::HolderName;
use leasehold::protocol::{Acquire, Credential, Operation, Request, Response};
use leasehold::time::{Instant, Span};

use super::idempotence::MEMORY;
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
            let told = stored(ask(&mut memory, now, &probe));
            let tells = stored(ask(&mut restored, now, &probe));
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
        // Who of those that wait is there, and so has the key by now, only memory knows.
        if store.waiters(&record.key).next().is_none() {
            ask(probe, Operation::Inspect);
        }
        for grant in store.grants(&record.key) {
            let credential = Credential {
                lease: grant.lease,
                fence: Some(grant.fence),
            };
            ask(probe, Operation::Verify(credential));
            ask(grant.op, Operation::Acquire(again(grant.holder.clone())));
        }
        for past in record
            .past
            .iter()
            .filter(|past| now.since(past.at) < MEMORY)
        {
            let holder = HolderName::parse("again").expect("a name");
            ask(past.op, Operation::Acquire(again(holder)));
        }
    }
    probes
}

fn again(holder: HolderName) -> Acquire {
    Acquire::new(
        holder,
        LeaseId::from_bits(7),
        Span::from_secs(10),
        Span::ZERO,
    )
}

/// Without what need not be stored: a queue may have changed the revision, who of it is there only
/// memory knows, and after a restart a new grant may begin as an offer.
fn stored(response: Option<Response>) -> Option<Response> {
    response.map(|mut response| {
        match &mut response {
            Response::State(state) => state.revision = Revision::ABSENT,
            Response::Granted(granted) => {
                granted.wanted = 0;
                if !granted.replayed {
                    granted.ttl = Span::ZERO;
                }
            }
            Response::Renewed { wanted, .. } => *wanted = 0,
            Response::NotHolder { present, .. } => *present = None,
            _ => {}
        }
        response
    })
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
