//! Requests as they travel.

use super::record::Record;
use super::schema::{FieldSchema, Kind, optional};
use crate::fence::{Fence, Revision};
use crate::id::{LeaseId, OpId};
use crate::invalid::{Field, Invalid};
use crate::json::Json;
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
    optional(Field::Ttl, Kind::Whole),
    // Acquire, watch: how much longer to wait, in milliseconds; absent means zero.
    optional(Field::Wait, Kind::Whole),
    // Acquire: the most holders of the key, itself included; absent means one.
    optional(Field::Limit, Kind::Whole),
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
    optional(Field::Number, Kind::Whole),
    // Finish: JSON as text.
    optional(Field::Result, Kind::JsonText),
    // Finish: how long the result is kept, in milliseconds.
    optional(Field::Keep, Kind::Whole),
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

    /// Whether [`Self::request`] would make something of it, for whoever passes it on as it is: that
    /// takes a fraction of the code.
    pub(crate) fn check(&self, verb: Verb) -> Option<()> {
        if !matches!(
            verb,
            Verb::Acquire | Verb::Cancel | Verb::Inspect | Verb::Revoke | Verb::Watch
        ) {
            self.lease(Field::Lease)?;
        }
        if matches!(verb, Verb::Acquire | Verb::Renew | Verb::Transfer) {
            self.ttl()?;
        }
        match verb {
            Verb::Acquire => {
                self.given(Self::raw, Field::Holder)?;
                self.lease(Field::Lease)?;
                self.wait()?;
                self.limit()?;
                self.fingerprint()?;
            }
            Verb::Entry => {
                self.entry_name()?;
                self.entry_value()?;
                self.given(Self::whole, Field::Number)?;
            }
            Verb::Finish => {
                self.result()?;
                self.keep()?;
            }
            Verb::Transfer => {
                self.given(Self::raw, Field::ToHolder)?;
                self.lease(Field::ToLease)?;
            }
            Verb::Watch => {
                self.revision()?;
                self.wait()?;
            }
            _ => {}
        }
        Some(())
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
