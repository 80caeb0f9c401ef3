//! Requests as they travel.

use alloc::string::String;

use super::record::record;
use super::value::{JsonText, Value, Version};
use crate::fence::Fence;
use crate::id::{LeaseId, OpId};
use crate::invalid::{Field, Invalid};
use crate::json::Writer;
use crate::name::{EntryName, Fingerprint, HolderName, Key};
use crate::protocol::{
    Acquire, Call, Credential, Entry, Finish, Limit, List, MAX_RESULT_BYTES, MAX_VALUE_BYTES,
    Operation, Request, Transfer, Watch, parse_keep, parse_ttl, parse_wait,
};
use crate::time::Span;
use crate::words::words;

words! {
    /// An operation's name.
    pub enum Verb {
        /// [`Operation::Acquire`].
        Acquire = "acquire",
        /// [`Operation::Cancel`].
        Cancel = "cancel",
        /// [`Operation::Entry`].
        Entry = "entry",
        /// [`Operation::Finish`].
        Finish = "finish",
        /// [`Operation::Inspect`].
        Inspect = "inspect",
        /// [`Call::List`].
        List = "list",
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
        /// [`Operation::Watch`].
        Watch = "watch",
    }
}

words! {
    /// What an acquire does that proposes the id of a running grant.
    pub enum Repeat {
        /// It extends it.
        Extend = "extend",
    }
}

record! {
    /// A [`Call`] as it travels. Which fields there are depends on the operation.
    #[derive(Default)]
    #[serde(default)]
    pub struct WireRequest {
        /// Protocol version.
        v: Option<Version> => Version,
        /// The operation's name.
        operation: Option<Verb> => Operation,
        /// The key. None for a list.
        key: Option<String> => Key,
        /// The op id.
        op: Option<OpId> => Op,
        /// Acquire: who would hold it.
        holder: Option<HolderName> => Holder,
        /// Acquire: the proposed lease id. Elsewhere: the credential.
        lease: Option<LeaseId> => Lease,
        /// With a credential: the fence of the grant that is meant. Revoke: the only grant to end.
        fence: Option<Fence> => Fence,
        /// Transfer: who holds it next.
        to_holder: Option<HolderName> => ToHolder,
        /// Transfer: the successor's lease id.
        to_lease: Option<LeaseId> => ToLease,
        /// Acquire, renew, transfer: the grant's length in milliseconds.
        ttl_ms: Option<u64> => Ttl,
        /// Acquire, watch: how much longer to wait, in milliseconds; absent means zero.
        wait_ms: Option<u64> => Wait,
        /// Acquire: the most holders of the key, itself included; absent means one.
        limit: Option<u64> => Limit,
        /// Acquire: what the id of a running grant does; absent means nothing.
        repeat: Option<Repeat> => Repeat,
        /// Acquire: end all running grants in its favour.
        steal: bool => Steal,
        /// Acquire: what tells its input from another's.
        fingerprint: Option<Fingerprint> => Fingerprint,
        /// Entry: its name.
        name: Option<String> => Name,
        /// Entry: its value, JSON as text; absent means delete.
        value: Option<JsonText> => Value,
        /// Entry: which change this is, rising with every change to the lease's entries.
        number: Option<u64> => Number,
        /// Finish: JSON as text.
        result: Option<JsonText> => Result,
        /// Finish: how long the result is kept, in milliseconds.
        keep_ms: Option<u64> => Keep,
        /// List: what keys begin with; absent means all.
        prefix: Option<String> => Prefix,
        /// List: where the last answer ended. Watch: the known revision.
        after: Option<String> => After,
    }
}

impl Call {
    /// The call in a JSON text.
    ///
    /// # Errors
    /// [`Invalid`] naming the field that no host would accept.
    pub fn from_json(text: &str) -> Result<Self, Invalid> {
        let wire = WireRequest::from_json(text)?;
        if wire.v.is_some() && wire.operation == Some(Verb::List) {
            return Ok(Self::List(List {
                prefix: wire.prefix.unwrap_or_default(),
                after: wire.after,
            }));
        }
        wire.try_into().map(Self::Request)
    }
}

impl List {
    /// The list as a JSON text.
    pub fn to_json(&self) -> String {
        let wire = WireRequest {
            v: Some(Version),
            operation: Some(Verb::List),
            prefix: Some(self.prefix.clone()),
            after: self.after.clone(),
            ..WireRequest::default()
        };
        Writer::of(|json| wire.write(json))
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
            key: Key::parse(&given(wire.key, Field::Key)?)?,
            op: given(wire.op, Field::Op)?,
            operation,
        })
    }
}

impl WireRequest {
    fn operation(&self) -> Result<Operation, Invalid> {
        Ok(match given(self.operation, Field::Operation)? {
            Verb::Acquire => Operation::Acquire(self.acquire()?),
            Verb::Cancel => Operation::Cancel,
            Verb::Entry => Operation::Entry(self.entry()?),
            Verb::Finish => Operation::Finish(self.finish()?),
            Verb::Inspect => Operation::Inspect,
            Verb::List => {
                return Err(Invalid::new(
                    Field::Operation,
                    "must be another: this host cannot enumerate its keys",
                ));
            }
            Verb::Release => Operation::Release(self.credential()?),
            Verb::Renew => Operation::Renew {
                credential: self.credential()?,
                ttl: self.ttl()?,
            },
            Verb::Revoke => Operation::Revoke { fence: self.fence },
            Verb::Transfer => Operation::Transfer(Transfer {
                credential: self.credential()?,
                successor: given(self.to_holder.clone(), Field::ToHolder)?,
                lease: given(self.to_lease, Field::ToLease)?,
                ttl: self.ttl()?,
            }),
            Verb::Verify => Operation::Verify(self.credential()?),
            Verb::Watch => Operation::Watch(self.watch()?),
        })
    }

    fn acquire(&self) -> Result<Acquire, Invalid> {
        Ok(Acquire {
            holder: given(self.holder.clone(), Field::Holder)?,
            lease: given(self.lease, Field::Lease)?,
            ttl: self.ttl()?,
            wait: self.wait()?,
            limit: self.limit.map_or(Ok(Limit::EXCLUSIVE), Limit::parse)?,
            extend: self.repeat == Some(Repeat::Extend),
            steal: self.steal,
            fingerprint: self.fingerprint.clone(),
        })
    }

    fn entry(&self) -> Result<Entry, Invalid> {
        let credential = self.credential()?;
        let name = given(self.name.clone(), Field::Name)?;
        if name.len() > EntryName::MAX_BYTES {
            return Err(too_large(Field::Name, "must not be longer than 128 bytes"));
        }
        let value = self.value.as_ref().map(|JsonText(value)| value.clone());
        let length = value.as_ref().map_or(0, |value| value.as_str().len());
        if length > MAX_VALUE_BYTES {
            return Err(too_large(
                Field::Value,
                "must not be longer than 4096 bytes",
            ));
        }
        Ok(Entry {
            credential,
            name: EntryName::parse(&name)?,
            value,
            number: given(self.number, Field::Number)?,
        })
    }

    fn finish(&self) -> Result<Finish, Invalid> {
        let credential = self.credential()?;
        let JsonText(result) = given(self.result.clone(), Field::Result)?;
        if result.as_str().len() > MAX_RESULT_BYTES {
            let expected = "must not be longer than 8192 bytes";
            return Err(Invalid::new(Field::Result, expected));
        }
        Ok(Finish {
            credential,
            result,
            keep: parse_keep(given(self.keep_ms, Field::Keep)?)?,
        })
    }

    fn watch(&self) -> Result<Watch, Invalid> {
        let after = self.after.as_deref().map(str::parse).transpose();
        let unknown = Invalid::new(Field::After, "must be a revision that a host has told");
        Ok(Watch {
            after: after.map_err(|_| unknown)?,
            wait: self.wait()?,
        })
    }

    fn credential(&self) -> Result<Credential, Invalid> {
        Ok(Credential {
            lease: given(self.lease, Field::Lease)?,
            fence: self.fence,
        })
    }

    fn wait(&self) -> Result<Span, Invalid> {
        parse_wait(self.wait_ms.unwrap_or(0))
    }

    fn ttl(&self) -> Result<Span, Invalid> {
        parse_ttl(given(self.ttl_ms, Field::Ttl)?)
    }
}

fn too_large(field: Field, expected: &'static str) -> Invalid {
    Invalid::new(field, expected).because("entry-too-large")
}

/// What the operation can't do without.
fn given<T: Value>(value: Option<T>, field: Field) -> Result<T, Invalid> {
    value.ok_or(Invalid::new(field, T::EXPECTED))
}

impl From<&Request> for WireRequest {
    fn from(request: &Request) -> Self {
        let mut wire = Self {
            v: Some(Version),
            key: Some(request.key.as_str().into()),
            op: Some(request.op),
            ..Self::default()
        };
        wire.operation = Some(match &request.operation {
            Operation::Acquire(acquire) => {
                wire.holder = Some(acquire.holder.clone());
                wire.lease = Some(acquire.lease);
                wire.ttl_ms = Some(acquire.ttl.as_millis_floor());
                wire.wait_ms = Some(acquire.wait.as_millis_floor());
                wire.limit = Some(u64::from(acquire.limit.holders())).filter(|limit| *limit > 1);
                wire.repeat = acquire.extend.then_some(Repeat::Extend);
                wire.steal = acquire.steal;
                wire.fingerprint = acquire.fingerprint.clone();
                Verb::Acquire
            }
            Operation::Cancel => Verb::Cancel,
            Operation::Entry(entry) => {
                wire.set_credential(&entry.credential);
                wire.name = Some(entry.name.as_str().into());
                wire.value = entry.value.clone().map(JsonText);
                wire.number = Some(entry.number);
                Verb::Entry
            }
            Operation::Finish(finish) => {
                wire.set_credential(&finish.credential);
                wire.result = Some(JsonText(finish.result.clone()));
                wire.keep_ms = Some(finish.keep.as_millis_floor());
                Verb::Finish
            }
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
            Operation::Revoke { fence } => {
                wire.fence = *fence;
                Verb::Revoke
            }
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
            Operation::Watch(watch) => {
                wire.after = watch.after.map(String::from);
                wire.wait_ms = Some(watch.wait.as_millis_floor());
                Verb::Watch
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
