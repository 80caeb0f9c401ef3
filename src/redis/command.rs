//! From requests to commands.

use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::script;
use super::word::{NONE, escape, number};
use crate::hash::fnv1a;
use crate::host::{HostConfig, MAX_PAST, MEMORY};
use crate::id::{OpId, hex};
use crate::name::Key;
use crate::protocol::{
    Credential, Field, Invalid, MAX_ENTRIES, MAX_ENTRIES_BYTES, Operation, Request,
};
use crate::time::Span;

/// What all keys and channels of one user of the database begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix(String);

impl Prefix {
    /// `leasehold`.
    pub fn standard() -> Self {
        Self("leasehold".to_string())
    }

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

/// Where whoever waits with this request is told that it may be time to ask again.
pub fn channel(prefix: &Prefix, request: &Request) -> String {
    match request.operation {
        Operation::Watch(_) => watchers(prefix, &request.key),
        _ => prefix.channel(":wake:", &mark(request.op)),
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
    pub fn new(prefix: &Prefix, request: &Request) -> Self {
        let mut args = vec![String::new(), mark(request.op)];
        let operation = arguments(&request.operation, &mut args);
        if let Some(first) = args.first_mut() {
            *first = operation.to_string();
        }
        Self {
            keys: records(prefix, &request.key).into(),
            settings: settings(prefix, watchers(prefix, &request.key)),
            args,
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

/// Adds the operation's arguments, in the order in which the script takes them; gives its name.
fn arguments(operation: &Operation, args: &mut Vec<String>) -> &'static str {
    match operation {
        Operation::Acquire(acquire) => {
            args.extend([
                acquire.lease.to_hex(),
                escape(acquire.holder.as_str()),
                micros(acquire.ttl),
                number(acquire.limit.holders().into()),
                flag(acquire.extend),
                flag(acquire.steal),
                optional(acquire.fingerprint.as_ref(), |print| escape(print.as_str())),
                flag(!acquire.wait.is_zero()),
            ]);
            "acquire"
        }
        Operation::Cancel => "cancel",
        Operation::Entry(entry) => {
            let value = entry.value.as_ref();
            let size = entry.name.as_str().len() + value.map_or(0, |value| value.as_str().len());
            args.extend(proof(entry.credential));
            args.extend([
                escape(entry.name.as_str()),
                optional(value, |value| escape(value.as_str())),
                number(size as u64),
                number(entry.number),
                number(MAX_ENTRIES as u64),
                number(MAX_ENTRIES_BYTES as u64),
            ]);
            "entry"
        }
        Operation::Finish(finish) => {
            args.extend(proof(finish.credential));
            args.extend([escape(finish.result.as_str()), micros(finish.keep)]);
            "finish"
        }
        Operation::Inspect => "inspect",
        Operation::Release(credential) => {
            args.extend(proof(*credential));
            "release"
        }
        Operation::Renew { credential, ttl } => {
            args.extend(proof(*credential));
            args.push(micros(*ttl));
            "renew"
        }
        Operation::Revoke { fence } => {
            args.push(optional(fence.as_ref(), |fence| number(fence.value())));
            "revoke"
        }
        Operation::Transfer(transfer) => {
            args.extend(proof(transfer.credential));
            args.extend([
                escape(transfer.successor.as_str()),
                transfer.lease.to_hex(),
                micros(transfer.ttl),
            ]);
            "transfer"
        }
        Operation::Verify(credential) => {
            args.extend(proof(*credential));
            "verify"
        }
        Operation::Watch(watch) => {
            args.push(optional(watch.after.as_ref(), |after| {
                number(after.value())
            }));
            args.push(flag(!watch.wait.is_zero()));
            "watch"
        }
    }
}

fn micros(span: Span) -> String {
    number(span.as_micros())
}

fn flag(set: bool) -> String {
    if set { "1" } else { "0" }.to_string()
}

fn proof(credential: Credential) -> [String; 2] {
    let fence = optional(credential.fence.as_ref(), |fence| number(fence.value()));
    [credential.lease.to_hex(), fence]
}

fn optional<T>(value: Option<&T>, word: impl FnOnce(&T) -> String) -> String {
    value.map_or_else(|| NONE.to_string(), word)
}
