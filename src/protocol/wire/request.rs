//! Requests as they travel.

use alloc::string::String;

use super::record::record;
use super::value::{Value, Version};
use crate::fence::Fence;
use crate::id::{LeaseId, OpId};
use crate::invalid::{Field, Invalid};
use crate::json::Writer;
use crate::name::{HolderName, Key};
use crate::protocol::{Acquire, Credential, Operation, Request, Transfer, parse_ttl, parse_wait};
use crate::time::Span;
use crate::words::words;

words! {
    /// An operation's name.
    pub enum Verb {
        /// [`Operation::Acquire`].
        Acquire = "acquire",
        /// [`Operation::Cancel`].
        Cancel = "cancel",
        /// [`Operation::Inspect`].
        Inspect = "inspect",
        /// [`Operation::Release`].
        Release = "release",
        /// [`Operation::Renew`].
        Renew = "renew",
        /// [`Operation::Revoke`].
        Revoke = "revoke",
        /// [`Operation::Transfer`].
        Transfer = "transfer",
        /// [`Operation::Verify`].
        Verify = "verify",
    }
}

record! {
    /// A [`Request`] as it travels.
    pub struct WireRequest {
        /// Protocol version.
        v: Option<Version> => Version,
        /// The operation's name.
        operation: Option<Verb> => Operation,
        /// The key.
        key: Option<Key> => Key,
        /// The op id.
        op: Option<OpId> => Op,
        /// Acquire: who would hold it.
        holder: Option<HolderName> => Holder,
        /// Acquire: the proposed lease id. Elsewhere: the credential.
        lease: Option<LeaseId> => Lease,
        /// Release, renew, transfer, verify: the fence of the grant that is meant.
        fence: Option<Fence> => Fence,
        /// Transfer: who holds it next.
        to_holder: Option<HolderName> => ToHolder,
        /// Transfer: the successor's lease id.
        to_lease: Option<LeaseId> => ToLease,
        /// Acquire, renew, transfer: the grant's length in milliseconds.
        ttl_ms: Option<u64> => Ttl,
        /// Acquire: how much longer to wait, in milliseconds; absent means zero.
        wait_ms: Option<u64> => Wait,
        /// Acquire: answer a lease this holder has already with that lease.
        reentrant: bool => Reentrant,
    }
}

impl Request {
    /// The request in a JSON text.
    ///
    /// # Errors
    /// [`Invalid`] naming the field that no host would accept.
    pub fn from_json(text: &str) -> Result<Self, Invalid> {
        WireRequest::from_json(text)?.try_into()
    }

    /// The request as a JSON text.
    pub fn to_json(&self) -> String {
        Writer::of(|json| WireRequest::from(self).write(json))
    }
}

impl TryFrom<WireRequest> for Request {
    type Error = Invalid;

    fn try_from(wire: WireRequest) -> Result<Self, Invalid> {
        given(wire.v, Field::Version)?;
        let operation = wire.operation()?;
        Ok(Self {
            key: given(wire.key, Field::Key)?,
            op: given(wire.op, Field::Op)?,
            operation,
        })
    }
}

impl WireRequest {
    fn operation(&self) -> Result<Operation, Invalid> {
        Ok(match given(self.operation, Field::Operation)? {
            Verb::Acquire => Operation::Acquire(Acquire {
                holder: given(self.holder.clone(), Field::Holder)?,
                lease: given(self.lease, Field::Lease)?,
                ttl: self.ttl()?,
                wait: parse_wait(self.wait_ms.unwrap_or(0))?,
                reentrant: self.reentrant,
            }),
            Verb::Cancel => Operation::Cancel,
            Verb::Inspect => Operation::Inspect,
            Verb::Release => Operation::Release(self.credential()?),
            Verb::Renew => Operation::Renew {
                credential: self.credential()?,
                ttl: self.ttl()?,
            },
            Verb::Revoke => Operation::Revoke,
            Verb::Transfer => Operation::Transfer(Transfer {
                credential: self.credential()?,
                successor: given(self.to_holder.clone(), Field::ToHolder)?,
                lease: given(self.to_lease, Field::ToLease)?,
                ttl: self.ttl()?,
            }),
            Verb::Verify => Operation::Verify(self.credential()?),
        })
    }

    fn credential(&self) -> Result<Credential, Invalid> {
        Ok(Credential {
            lease: given(self.lease, Field::Lease)?,
            fence: self.fence,
        })
    }

    fn ttl(&self) -> Result<Span, Invalid> {
        parse_ttl(given(self.ttl_ms, Field::Ttl)?)
    }
}

/// What the operation can't do without.
fn given<T: Value>(value: Option<T>, field: Field) -> Result<T, Invalid> {
    value.ok_or(Invalid::new(field, T::EXPECTED))
}

impl From<&Request> for WireRequest {
    fn from(request: &Request) -> Self {
        let mut wire = Self {
            v: Some(Version),
            key: Some(request.key.clone()),
            op: Some(request.op),
            ..Self::default()
        };
        wire.operation = Some(match &request.operation {
            Operation::Acquire(acquire) => {
                wire.holder = Some(acquire.holder.clone());
                wire.lease = Some(acquire.lease);
                wire.ttl_ms = Some(acquire.ttl.as_millis_floor());
                wire.wait_ms = Some(acquire.wait.as_millis_floor());
                wire.reentrant = acquire.reentrant;
                Verb::Acquire
            }
            Operation::Cancel => Verb::Cancel,
            Operation::Inspect => Verb::Inspect,
            Operation::Release(credential) => {
                wire.set_credential(credential);
                Verb::Release
            }
            Operation::Renew { credential, ttl } => {
                wire.set_credential(credential);
                wire.ttl_ms = Some(ttl.as_millis_floor());
                Verb::Renew
            }
            Operation::Revoke => Verb::Revoke,
            Operation::Transfer(transfer) => {
                wire.set_credential(&transfer.credential);
                wire.to_holder = Some(transfer.successor.clone());
                wire.to_lease = Some(transfer.lease);
                wire.ttl_ms = Some(transfer.ttl.as_millis_floor());
                Verb::Transfer
            }
            Operation::Verify(credential) => {
                wire.set_credential(credential);
                Verb::Verify
            }
        });
        wire
    }
}

impl WireRequest {
    fn set_credential(&mut self, credential: &Credential) {
        self.lease = Some(credential.lease);
        self.fence = credential.fence;
    }
}
