//! Requests as a holder writes them; `request` has how a host reads them.

use alloc::string::String;

use super::{Repeat, Verb};
use crate::fence::Fence;
use crate::id::hex;
use crate::invalid::Field;
use crate::json::{Json, Writer};
use crate::name::Fingerprint;
use crate::protocol::{Call, Credential, Limit, List, Operation, Request, VERSION};
use crate::time::Span;

impl Call {
    /// The call as a JSON text.
    pub fn to_json(&self) -> String {
        match self {
            Self::List(list) => list.to_json(),
            Self::Request(request) => request.to_json(),
        }
    }
}

impl List {
    /// The list as a JSON text.
    pub fn to_json(&self) -> String {
        Writer::of(|json| {
            begin(json, Verb::List);
            json.text(Field::Prefix.name(), &self.prefix);
            json.optional(Field::After.name(), self.after.as_deref());
        })
    }
}

impl Request {
    /// The request as a JSON text.
    pub fn to_json(&self) -> String {
        Writer::of(|json| self.write(json))
    }

    /// Writes the request's fields.
    pub fn write(&self, json: &mut Writer) {
        begin(json, self.operation.verb());
        json.text(Field::Key.name(), self.key.as_str());
        id(json, Field::Op, self.op.to_bits());
        match &self.operation {
            Operation::Acquire(acquire) => {
                json.text(Field::Holder.name(), acquire.holder.as_str());
                id(json, Field::Lease, acquire.lease.to_bits());
                millis(json, Field::Ttl, acquire.ttl);
                millis(json, Field::Wait, acquire.wait);
                if acquire.limit > Limit::EXCLUSIVE {
                    json.number(Field::Limit.name(), acquire.limit.holders().into());
                }
                if acquire.extend {
                    json.text(Field::Repeat.name(), Repeat::Extend.name());
                }
                if acquire.steal {
                    json.flag(Field::Steal.name(), true);
                }
                let fingerprint = acquire.fingerprint.as_ref();
                json.optional(
                    Field::Fingerprint.name(),
                    fingerprint.map(Fingerprint::as_str),
                );
            }
            Operation::Cancel | Operation::Inspect => {}
            Operation::Entry(entry) => {
                credential(json, &entry.credential);
                json.text(Field::Name.name(), entry.name.as_str());
                json.optional(Field::Value.name(), entry.value.as_ref().map(Json::as_str));
                json.number(Field::Number.name(), entry.number);
            }
            Operation::Finish(finish) => {
                credential(json, &finish.credential);
                json.text(Field::Result.name(), finish.result.as_str());
                millis(json, Field::Keep, finish.keep);
            }
            Operation::Release(proof) | Operation::Verify(proof) => credential(json, proof),
            Operation::Renew {
                credential: proof,
                ttl,
            } => {
                credential(json, proof);
                millis(json, Field::Ttl, *ttl);
            }
            Operation::Revoke { fence: meant } => fence(json, Field::Fence, *meant),
            Operation::Transfer(transfer) => {
                credential(json, &transfer.credential);
                json.text(Field::ToHolder.name(), transfer.successor.as_str());
                id(json, Field::ToLease, transfer.lease.to_bits());
                millis(json, Field::Ttl, transfer.ttl);
            }
            Operation::Watch(watch) => {
                if let Some(after) = watch.after {
                    json.decimal(Field::After.name(), after.value());
                }
                millis(json, Field::Wait, watch.wait);
            }
        }
    }
}

impl Operation {
    /// Its name.
    const fn verb(&self) -> Verb {
        match self {
            Self::Acquire(_) => Verb::Acquire,
            Self::Cancel => Verb::Cancel,
            Self::Entry(_) => Verb::Entry,
            Self::Finish(_) => Verb::Finish,
            Self::Inspect => Verb::Inspect,
            Self::Release(_) => Verb::Release,
            Self::Renew { .. } => Verb::Renew,
            Self::Revoke { .. } => Verb::Revoke,
            Self::Transfer(_) => Verb::Transfer,
            Self::Verify(_) => Verb::Verify,
            Self::Watch(_) => Verb::Watch,
        }
    }
}

fn begin(json: &mut Writer, verb: Verb) {
    json.number(Field::Version.name(), VERSION.into());
    json.text(Field::Operation.name(), verb.name());
}

fn credential(json: &mut Writer, proof: &Credential) {
    id(json, Field::Lease, proof.lease.to_bits());
    fence(json, Field::Fence, proof.fence);
}

/// An id, which is 128 bits.
pub(super) fn id(json: &mut Writer, field: Field, bits: u128) {
    json.text(field.name(), &hex(&bits.to_be_bytes()));
}

/// A fence, if there is one.
pub(super) fn fence(json: &mut Writer, field: Field, fence: Option<Fence>) {
    if let Some(fence) = fence {
        json.decimal(field.name(), fence.value());
    }
}

fn millis(json: &mut Writer, field: Field, span: Span) {
    json.number(field.name(), span.as_millis_floor());
}
