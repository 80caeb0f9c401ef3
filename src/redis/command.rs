//! From requests to commands.

use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::script::{self, Script};
use crate::hash::fnv1a;
use crate::id::{OpId, hex};
use crate::name::Key;
use crate::protocol::{Credential, Field, Invalid, Operation, Request};
use crate::time::Span;

/// The most waiters for one key.
const MAX_WAITERS: &str = "1024";

/// How long after its last poll a waiter still counts as there.
pub(super) const WINDOW: Span = Span::from_secs(3);

/// Where the acquire script's arguments say whether to wait.
const WAITS: usize = 4;

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

    /// The name of one of a key's records. The part in braces decides where a cluster keeps it, so
    /// that all records of a key lie together; `k:` keeps it from being empty whatever the key is.
    fn record(&self, key: &Key, what: &str) -> String {
        [&self.0, ":{k:", key.as_str(), "}:", what].concat()
    }
}

/// The channel on which the waiter with this op is told that it may be its turn. It does not
/// reveal the op, which is a secret.
pub fn channel(prefix: &Prefix, op: OpId) -> String {
    // 64 of 128 bits, which cannot be led back.
    let hash = fnv1a(&op.to_bits().to_be_bytes());
    [&prefix.0, ":wake:", &hex(&hash.to_be_bytes())].concat()
}

/// A script and what to run it on.
#[derive(Debug)]
pub(super) struct Invocation {
    script: &'static Script,
    keys: Vec<String>,
    args: Vec<String>,
}

impl Invocation {
    pub fn new(prefix: &Prefix, request: &Request) -> Option<Self> {
        let op = request.op.to_hex();
        let (script, records, args): (_, &[&str], _) = match &request.operation {
            Operation::Acquire(acquire) => (
                &script::ACQUIRE,
                &["lease", "fence", "queue", "presence"],
                vec![
                    op,
                    acquire.lease.to_hex(),
                    acquire.holder.as_str().to_string(),
                    millis(acquire.ttl),
                    flag(!acquire.wait.is_zero()),
                    flag(false),
                    millis(WINDOW),
                    channel(prefix, request.op),
                    MAX_WAITERS.to_string(),
                ],
            ),
            Operation::Cancel => (&script::CANCEL, &["lease", "queue", "presence"], vec![op]),
            Operation::Inspect => (&script::INSPECT, &["lease", "queue", "presence"], vec![]),
            Operation::Release(credential) => {
                let [id, fence] = proof(*credential);
                (
                    &script::RELEASE,
                    &["lease", "queue", "presence"],
                    vec![op, id, fence],
                )
            }
            Operation::Renew { credential, ttl } => {
                let [id, fence] = proof(*credential);
                (&script::RENEW, &["lease"], vec![id, fence, millis(*ttl)])
            }
            Operation::Revoke { .. } => {
                (&script::REVOKE, &["lease", "queue", "presence"], vec![op])
            }
            Operation::Transfer(transfer) => {
                let [id, fence] = proof(transfer.credential);
                (
                    &script::TRANSFER,
                    &["lease", "fence"],
                    vec![
                        op,
                        id,
                        fence,
                        transfer.successor.as_str().to_string(),
                        transfer.lease.to_hex(),
                        millis(transfer.ttl),
                    ],
                )
            }
            Operation::Entry(_) | Operation::Finish(_) | Operation::Watch(_) => return None,
            // To renew by nothing is to ask.
            Operation::Verify(credential) => {
                let [id, fence] = proof(*credential);
                let nothing = millis(Span::ZERO);
                (&script::RENEW, &["lease"], vec![id, fence, nothing])
            }
        };
        Some(Self {
            script,
            keys: records
                .iter()
                .map(|what| prefix.record(&request.key, what))
                .collect(),
            args,
        })
    }

    /// The command that the script calls on this line of its text.
    pub fn called_on(&self, line: usize, key_locking: bool) -> Option<String> {
        self.script.called_on(line, key_locking)
    }

    /// Makes an acquire one that leaves the queue unless it is granted.
    pub fn stop_waiting(&mut self) {
        if let Some(waits) = self.args.get_mut(WAITS) {
            *waits = flag(false);
        }
    }

    /// The command, with the script by its hash or as text.
    pub fn command(&self, by_text: bool, key_locking: bool) -> Vec<String> {
        let head = if by_text {
            ["EVAL".to_string(), self.script.text(key_locking)]
        } else {
            [
                "EVALSHA".to_string(),
                self.script.hash(key_locking).to_string(),
            ]
        };
        let mut command = Vec::from(head);
        command.push(self.keys.len().to_string());
        command.extend_from_slice(&self.keys);
        command.extend_from_slice(&self.args);
        command
    }
}

fn millis(span: Span) -> String {
    span.as_millis_floor().to_string()
}

fn flag(set: bool) -> String {
    if set { "1" } else { "0" }.to_string()
}

/// The id and the fence of the grant that is meant; without one it is empty.
fn proof(credential: Credential) -> [String; 2] {
    let fence = credential.fence.map(String::from).unwrap_or_default();
    [credential.lease.to_hex(), fence]
}
