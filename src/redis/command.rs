//! From requests to commands.

use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::script;
use super::word::{NONE, escape, number};
use crate::fence::Revision;
use crate::hash::fnv1a;
use crate::host::{HostConfig, MAX_PAST, MEMORY};
use crate::id::{OpId, hex};
use crate::json::Json;
use crate::name::{EntryName, Key};
use crate::protocol::wire::{Record, Verb};
use crate::protocol::{Field, Invalid, MAX_ENTRIES, MAX_ENTRIES_BYTES};
use crate::time::Span;

/// What all keys and channels of one user of the database begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prefix(String);

impl Prefix {
    /// # Errors
    /// [`Invalid`] unless it is 1 to 64 characters of `A–Z a–z 0–9 _ . : -`: the only ones that
    /// are safe in the name of a channel.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
        if text.is_empty() || text.len() > 64 || !text.bytes().all(safe) {
            return Err(Invalid::new(
                Field::Prefix,
                "must be 1 to 64 characters of A-Z a-z 0-9 _ . : -",
            ));
        }
        Ok(Self(text.to_string()))
    }

    /// The name of a key's document. The part in braces decides where a cluster keeps it, and the
    /// key's entries with it; `k:` keeps it from being empty whatever the key is.
    pub(super) fn document(&self, key: &str) -> String {
        [&self.0, ":{k:", key, "}:lease"].concat()
    }

    /// The name of what a key's grants carry.
    fn entries(&self, key: &str) -> String {
        [&self.0, ":{k:", key, "}:entries"].concat()
    }

    /// The key whose document has this name.
    pub(super) fn key<'a>(&self, name: &'a str) -> Option<&'a str> {
        let name = name.strip_prefix(self.0.as_str())?;
        name.strip_prefix(":{k:")?.strip_suffix("}:lease")
    }

    /// Where a waiter is told that it may be its turn, or a watcher that something has changed.
    fn channel(&self, kind: &str, whose: &str) -> String {
        [&self.0, kind, whose].concat()
    }
}

/// Where the key's watchers are told of changes.
fn watchers(prefix: &Prefix, key: &Key) -> String {
    let hash = fnv1a(key.as_str().as_bytes());
    prefix.channel(":watch:", &hex(&hash.to_be_bytes()))
}

/// What stands for an op in a database: 64 of its 128 bits, which cannot be led back, since an op
/// is a secret.
fn mark(op: OpId) -> String {
    hex(&fnv1a(&op.to_bits().to_be_bytes()).to_be_bytes())
}

/// What the script is run on.
#[derive(Debug)]
pub(super) struct Invocation {
    keys: Vec<String>,
    settings: [String; 9],
    /// The operation, its op and its arguments.
    args: Vec<String>,
}

impl Invocation {
    /// What of it is wrong is noted in the request.
    pub fn new(prefix: &Prefix, verb: Verb, request: &Record<'_>) -> Option<Self> {
        let mut args = Arguments(vec![verb.name().to_string(), String::new()]);
        args.add(verb, request);
        let Arguments(mut args) = args;
        let key = request.key()?;
        args[1] = mark(request.op()?);
        Some(Self {
            keys: records(prefix, &key).into(),
            settings: settings(prefix, watchers(prefix, &key)),
            args,
        })
    }

    /// Where whoever waits is told that it may be time to ask again.
    pub fn channel(&self) -> String {
        let [.., watchers, wakers] = &self.settings;
        match self.args.as_slice() {
            [verb, op, ..] if verb != Verb::Watch.name() => [wakers.as_str(), op].concat(),
            _ => watchers.clone(),
        }
    }

    /// Reads the documents of these keys.
    pub fn list(prefix: &Prefix, keys: &[Key]) -> Self {
        Self {
            keys: keys.iter().flat_map(|key| records(prefix, key)).collect(),
            settings: settings(prefix, String::new()),
            args: vec!["list".to_string()],
        }
    }

    /// Makes an acquire one that leaves the queue unless it is granted, and a watch one that is
    /// answered.
    pub fn stop_waiting(&mut self) {
        if let Some(waits) = self.args.last_mut() {
            *waits = flag(false);
        }
    }

    /// The command, with the script by its hash or as text.
    pub fn command(&self, by_text: bool, key_locking: bool) -> Vec<String> {
        let head = if by_text {
            ["EVAL".to_string(), script::text(key_locking)]
        } else {
            ["EVALSHA".to_string(), script::hash(key_locking).to_string()]
        };
        let mut command = Vec::from(head);
        command.push(number(self.keys.len() as u64));
        command.extend_from_slice(&self.keys);
        command.extend_from_slice(&self.settings);
        command.extend_from_slice(&self.args);
        command
    }
}

fn records(prefix: &Prefix, key: &Key) -> [String; 2] {
    [prefix.document(key.as_str()), prefix.entries(key.as_str())]
}

/// What the script is told about how a host behaves.
fn settings(prefix: &Prefix, watchers: String) -> [String; 9] {
    let config = &HostConfig::REDIS;
    [
        // The time: the server's.
        String::new(),
        micros(MEMORY),
        number(MAX_PAST as u64),
        micros(config.grace),
        micros(config.offer),
        number(config.max_waiters as u64),
        micros(config.retention),
        watchers,
        prefix.channel(":wake:", ""),
    ]
}

/// The operation and its arguments, in the order in which the script takes them. What the request
/// lacks is noted there.
struct Arguments(Vec<String>);

impl Arguments {
    fn add(&mut self, verb: Verb, request: &Record<'_>) {
        match verb {
            Verb::Acquire => {
                self.id(request, Field::Lease);
                self.holder(request, Field::Holder);
                self.span(request.ttl());
                self.number(request.limit().map(|limit| limit.holders().into()));
                self.flag(request.has(Field::Repeat));
                self.flag(request.flag(Field::Steal));
                self.optional(request.text(Field::Fingerprint), |print| escape(&print));
                self.flag(request.wait() != Some(Span::ZERO));
            }
            Verb::Entry => {
                self.proof(request);
                let (name, value) = (request.entry_name(), request.entry_value().flatten());
                let name = name.as_ref().map_or("", EntryName::as_str);
                let value = value.as_ref().map(Json::as_str);
                self.0.push(escape(name));
                self.optional(value, escape);
                self.0
                    .push(number((name.len() + value.map_or(0, str::len)) as u64));
                self.number(request.given(Record::whole, Field::Number));
                self.0.push(number(MAX_ENTRIES as u64));
                self.0.push(number(MAX_ENTRIES_BYTES as u64));
            }
            Verb::Finish => {
                self.proof(request);
                self.optional(request.result(), |result| escape(result.as_str()));
                self.span(request.keep());
            }
            Verb::Release | Verb::Verify => self.proof(request),
            Verb::Renew => {
                self.proof(request);
                self.span(request.ttl());
            }
            Verb::Revoke => self.number(request.decimal(Field::Fence)),
            Verb::Transfer => {
                self.proof(request);
                self.holder(request, Field::ToHolder);
                self.id(request, Field::ToLease);
                self.span(request.ttl());
            }
            Verb::Watch => {
                let after = request.revision().flatten();
                self.number(after.map(Revision::value));
                self.flag(request.wait() != Some(Span::ZERO));
            }
            // Lists are made of other commands.
            Verb::Cancel | Verb::Inspect | Verb::List => {}
        }
    }

    fn proof(&mut self, request: &Record<'_>) {
        self.id(request, Field::Lease);
        self.number(request.decimal(Field::Fence));
    }

    fn id(&mut self, request: &Record<'_>, field: Field) {
        let id = request.given(Record::id, field);
        self.optional(id, |bits| hex(&bits.to_be_bytes()));
    }

    fn holder(&mut self, request: &Record<'_>, field: Field) {
        let name = request.given(Record::text, field);
        self.optional(name, |name| escape(&name));
    }

    fn optional<T>(&mut self, value: Option<T>, word: impl FnOnce(T) -> String) {
        self.0.push(value.map_or_else(|| NONE.to_string(), word));
    }

    fn span(&mut self, span: Option<Span>) {
        self.number(span.map(Span::as_micros));
    }

    fn number(&mut self, value: Option<u64>) {
        self.optional(value, number);
    }

    fn flag(&mut self, set: bool) {
        self.0.push(flag(set));
    }
}

fn micros(span: Span) -> String {
    number(span.as_micros())
}

fn flag(set: bool) -> String {
    if set { "1" } else { "0" }.to_string()
}
