//! Requests as they travel.

use alloc::string::String;

use super::record::Record;
use super::schema::{FieldSchema, Kind, optional};
use crate::fence::{Fence, Revision};
use crate::id::{LeaseId, OpId, hex};
use crate::invalid::{Field, Invalid};
use crate::json::{Json, Writer};
use crate::name::{EntryName, Fingerprint, HolderName, Key};
use crate::protocol::{
    Acquire, Call, Credential, Entry, Finish, Limit, List, MAX_RESULT_BYTES, MAX_VALUE_BYTES,
    Operation, Request, Transfer, VERSION, Watch, parse_keep, parse_ttl, parse_wait,
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

/// The fields of a [`Call`] as it travels. Which of them there are depends on the operation.
pub const REQUEST: &[FieldSchema] = &[
    // Protocol version.
    optional(Field::Version, Kind::Version),
    // The operation's name.
    optional(Field::Operation, Kind::Word(Verb::WORDS)),
    // The key. None for a list.
    optional(Field::Key, Kind::Text),
    // The op id.
    optional(Field::Op, Kind::Id),
    // Acquire: who would hold it.
    optional(Field::Holder, Kind::Name(HolderName::MAX_BYTES)),
    // Acquire: the proposed lease id. Elsewhere: the credential.
    optional(Field::Lease, Kind::Id),
    // With a credential: the fence of the grant that is meant. Revoke: the only grant to end.
    optional(Field::Fence, Kind::Decimal),
    // Transfer: who holds it next.
    optional(Field::ToHolder, Kind::Name(HolderName::MAX_BYTES)),
    // Transfer: the successor's lease id.
    optional(Field::ToLease, Kind::Id),
    // Acquire, renew, transfer: the grant's length in milliseconds.
    optional(Field::Ttl, Kind::WHOLE),
    // Acquire, watch: how much longer to wait, in milliseconds; absent means zero.
    optional(Field::Wait, Kind::WHOLE),
    // Acquire: the most holders of the key, itself included; absent means one.
    optional(Field::Limit, Kind::WHOLE),
    // Acquire: what the id of a running grant does; absent means nothing.
    optional(Field::Repeat, Kind::Word(Repeat::WORDS)),
    // Acquire: end all running grants in its favour.
    optional(Field::Steal, Kind::Flag),
    // Acquire: what tells its input from another's.
    optional(Field::Fingerprint, Kind::Name(Fingerprint::MAX_BYTES)),
    // Entry: its name.
    optional(Field::Name, Kind::Text),
    // Entry: its value, JSON as text; absent means delete.
    optional(Field::Value, Kind::JsonText),
    // Entry: which change this is, rising with every change to the lease's entries.
    optional(Field::Number, Kind::WHOLE),
    // Finish: JSON as text.
    optional(Field::Result, Kind::JsonText),
    // Finish: how long the result is kept, in milliseconds.
    optional(Field::Keep, Kind::WHOLE),
    // List: what keys begin with; absent means all.
    optional(Field::Prefix, Kind::Text),
    // List: where the last answer ended. Watch: the known revision.
    optional(Field::After, Kind::Text),
];

impl Call {
    /// The call in a JSON text.
    ///
    /// # Errors
    /// [`Invalid`] naming the field that no host would accept.
    pub fn from_json(text: &str) -> Result<Self, Invalid> {
        let record = Record::read(text, REQUEST)?;
        record.made(record.call(record.verb()))
    }

    /// The call in what was posted to an operation's path, and need not name the operation.
    ///
    /// # Errors
    /// [`Invalid`] naming the field that no host would accept.
    pub fn from_body(operation: Verb, body: &str) -> Result<Self, Invalid> {
        let record = Record::read(body, REQUEST)?;
        if record.verb().is_some_and(|named| named != operation) {
            let expected = "must be the path's, or absent";
            return Err(Invalid::new(Field::Operation, expected));
        }
        record.made(record.call(Some(operation)))
    }

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
    /// The request in a JSON text.
    ///
    /// # Errors
    /// [`Invalid`] naming the field that no host would accept.
    pub fn from_json(text: &str) -> Result<Self, Invalid> {
        let record = Record::read(text, REQUEST)?;
        record.made(record.request(record.verb()))
    }

    /// The request as a JSON text.
    pub fn to_json(&self) -> String {
        Writer::of(|json| self.write(json))
    }
}

/// What requests are made of: each is nothing where it is missing or where no host would accept it.
impl Record<'_> {
    fn call(&self, verb: Option<Verb>) -> Option<Call> {
        Some(match self.spoken(verb)? {
            Verb::List => Call::List(self.list()),
            _ => Call::Request(self.request(verb)?),
        })
    }

    fn request(&self, verb: Option<Verb>) -> Option<Request> {
        let operation = self.operation(self.spoken(verb)?)?;
        Some(Request {
            key: self.key()?,
            op: self.op()?,
            operation,
        })
    }

    fn operation(&self, verb: Verb) -> Option<Operation> {
        Some(match verb {
            Verb::Acquire => Operation::Acquire(self.acquire()?),
            Verb::Cancel => Operation::Cancel,
            Verb::Entry => Operation::Entry(Entry {
                credential: self.credential()?,
                name: self.entry_name()?,
                value: self.entry_value()?,
                number: self.given(Self::whole, Field::Number)?,
            }),
            Verb::Finish => Operation::Finish(Finish {
                credential: self.credential()?,
                result: self.result()?,
                keep: self.keep()?,
            }),
            Verb::Inspect => Operation::Inspect,
            Verb::List => {
                return self.checked(Err(Invalid::new(
                    Field::Operation,
                    "must be another: this host cannot enumerate its keys",
                )));
            }
            Verb::Release => Operation::Release(self.credential()?),
            Verb::Renew => Operation::Renew {
                credential: self.credential()?,
                ttl: self.ttl()?,
            },
            Verb::Revoke => Operation::Revoke {
                fence: self.fence(),
            },
            Verb::Transfer => Operation::Transfer(Transfer {
                credential: self.credential()?,
                successor: self.given(Self::holder, Field::ToHolder)?,
                lease: self.lease(Field::ToLease)?,
                ttl: self.ttl()?,
            }),
            Verb::Verify => Operation::Verify(self.credential()?),
            Verb::Watch => Operation::Watch(Watch {
                after: self.revision()?,
                wait: self.wait()?,
            }),
        })
    }

    fn acquire(&self) -> Option<Acquire> {
        Some(Acquire {
            holder: self.given(Self::holder, Field::Holder)?,
            lease: self.lease(Field::Lease)?,
            ttl: self.ttl()?,
            wait: self.wait()?,
            limit: self.limit()?,
            extend: self.has(Field::Repeat),
            steal: self.flag(Field::Steal),
            fingerprint: self.fingerprint()?,
        })
    }

    fn credential(&self) -> Option<Credential> {
        Some(Credential {
            lease: self.lease(Field::Lease)?,
            fence: self.fence(),
        })
    }

    pub(crate) fn list(&self) -> List {
        List {
            prefix: self.text(Field::Prefix).unwrap_or_default().into(),
            after: self.text(Field::After).map(Into::into),
        }
    }

    /// The operation, if this is our version.
    pub(crate) fn spoken(&self, verb: Option<Verb>) -> Option<Verb> {
        self.given(Self::raw, Field::Version)?;
        self.given(|_, _| verb, Field::Operation)
    }

    /// The operation, whatever the version.
    pub fn verb(&self) -> Option<Verb> {
        Verb::from_name(&self.text(Field::Operation)?)
    }

    /// The key.
    pub fn key(&self) -> Option<Key> {
        self.checked(Key::parse(&self.given(Self::text, Field::Key)?))
    }

    /// The op.
    pub(crate) fn op(&self) -> Option<OpId> {
        self.given(Self::id, Field::Op).map(OpId::from_bits)
    }

    /// A lease's id.
    pub fn lease(&self, field: Field) -> Option<LeaseId> {
        self.given(Self::id, field).map(LeaseId::from_bits)
    }

    /// The fence, which may be left out.
    pub fn fence(&self) -> Option<Fence> {
        self.decimal(Field::Fence).map(Fence::from_value)
    }

    /// The length of a term.
    pub fn ttl(&self) -> Option<Span> {
        self.checked(parse_ttl(self.given(Self::whole, Field::Ttl)?))
    }

    /// How long to wait: not at all unless it says so.
    pub fn wait(&self) -> Option<Span> {
        self.checked(parse_wait(self.whole(Field::Wait).unwrap_or_default()))
    }

    /// The limit: one unless it says so.
    pub fn limit(&self) -> Option<Limit> {
        self.checked(Limit::parse(self.whole(Field::Limit).unwrap_or(1)))
    }

    /// The fingerprint, which may be left out.
    pub fn fingerprint(&self) -> Option<Option<Fingerprint>> {
        let text = self.text(Field::Fingerprint);
        self.checked(text.map(|text| Fingerprint::parse(&text)).transpose())
    }

    /// The name of an entry.
    pub fn entry_name(&self) -> Option<EntryName> {
        let name = self.given(Self::text, Field::Name)?;
        self.checked(if name.len() > EntryName::MAX_BYTES {
            Err(too_large(Field::Name, "must not be longer than 128 bytes"))
        } else {
            EntryName::parse(&name)
        })
    }

    /// The value of an entry, which may be left out.
    pub(crate) fn entry_value(&self) -> Option<Option<Json>> {
        let value = self.json(Field::Value);
        let length = value.as_ref().map_or(0, |value| value.as_str().len());
        self.checked(if length > MAX_VALUE_BYTES {
            let expected = "must not be longer than 4096 bytes";
            Err(too_large(Field::Value, expected))
        } else {
            Ok(value)
        })
    }

    /// The result of finished work.
    pub(crate) fn result(&self) -> Option<Json> {
        let result = self.given(Self::json, Field::Result)?;
        self.checked(if result.as_str().len() > MAX_RESULT_BYTES {
            let expected = "must not be longer than 8192 bytes";
            Err(Invalid::new(Field::Result, expected))
        } else {
            Ok(result)
        })
    }

    /// How long a result is kept.
    pub fn keep(&self) -> Option<Span> {
        self.checked(parse_keep(self.given(Self::whole, Field::Keep)?))
    }

    /// The revision that is known, which may be left out.
    pub(crate) fn revision(&self) -> Option<Option<Revision>> {
        let unknown = Invalid::new(Field::After, "must be a revision that a host has told");
        let after = self.text(Field::After).map(|after| after.parse());
        self.checked(after.transpose().map_err(|_| unknown))
    }
}

fn too_large(field: Field, expected: &'static str) -> Invalid {
    Invalid::new(field, expected).because("entry-too-large")
}

impl Request {
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
