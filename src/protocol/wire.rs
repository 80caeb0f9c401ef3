//! The form in which requests and responses travel: flat records of text and whole numbers.
//!
//! Flat, because one record with optional fields costs a fraction of the code that a tagged enum
//! does in wasm. Parsing turns a record into the typed form or into an error that names the field.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};

use serde::{Deserialize, Serialize};

use super::{
    Acquire, Code, Credential, Ended, Field, Granted, Held, Info, Invalid, Operation, Refusal,
    Request, Response, Transfer, VERSION, parse_ttl, parse_wait,
};
use crate::fence::Fence;
use crate::id::{LeaseId, OpId};
use crate::name::{HolderName, Key};
use crate::time::Span;

/// A [`Request`] on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WireRequest {
    /// Protocol version.
    pub v: u32,
    /// The operation's name: `acquire`, `cancel`, `inspect`, `release`, `renew`, `revoke`,
    /// `transfer` or `verify`.
    pub operation: Cow<'static, str>,
    /// The key.
    pub key: String,
    /// The op id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op: Option<OpId>,
    /// Acquire: who would hold it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// Acquire: the proposed lease id. Elsewhere: the credential.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseId>,
    /// Release, renew, transfer, verify: the fence of the grant that is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// Transfer: who holds it next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_holder: Option<String>,
    /// Transfer: the successor's lease id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_lease: Option<LeaseId>,
    /// Acquire, renew, transfer: the grant's length in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Acquire: how much longer to wait, in milliseconds; absent means zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// Acquire: answer a lease this holder has already with that lease.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub reentrant: bool,
}

impl TryFrom<WireRequest> for Request {
    type Error = Invalid;

    fn try_from(wire: WireRequest) -> Result<Self, Invalid> {
        if wire.v != VERSION {
            return Err(Invalid::new(Field::Version, "must be 1"));
        }
        Ok(Self {
            key: Key::parse(&wire.key)?,
            op: wire
                .op
                .ok_or(Invalid::new(Field::Op, "must be 32 hexadecimal digits"))?,
            operation: wire.operation()?,
        })
    }
}

impl WireRequest {
    fn operation(&self) -> Result<Operation, Invalid> {
        Ok(match self.operation.as_ref() {
            "acquire" => Operation::Acquire(Acquire {
                holder: name(Field::Holder, self.holder.as_deref())?,
                lease: id(Field::Lease, self.lease)?,
                ttl: self.ttl()?,
                wait: parse_wait(self.wait_ms.unwrap_or(0))?,
                reentrant: self.reentrant,
            }),
            "cancel" => Operation::Cancel,
            "inspect" => Operation::Inspect,
            "release" => Operation::Release(self.credential()?),
            "renew" => Operation::Renew {
                credential: self.credential()?,
                ttl: self.ttl()?,
            },
            "revoke" => Operation::Revoke,
            "transfer" => Operation::Transfer(Transfer {
                credential: self.credential()?,
                successor: name(Field::Successor, self.to_holder.as_deref())?,
                lease: id(Field::Successor, self.to_lease)?,
                ttl: self.ttl()?,
            }),
            "verify" => Operation::Verify(self.credential()?),
            _ => {
                return Err(Invalid::new(
                    Field::Operation,
                    "must be one of the protocol's",
                ));
            }
        })
    }

    fn credential(&self) -> Result<Credential, Invalid> {
        Ok(Credential {
            lease: id(Field::Lease, self.lease)?,
            fence: self.fence,
        })
    }

    fn ttl(&self) -> Result<Span, Invalid> {
        parse_ttl(self.ttl_ms.unwrap_or(0))
    }
}

fn name(field: Field, text: Option<&str>) -> Result<HolderName, Invalid> {
    HolderName::parse(text.unwrap_or_default()).map_err(|invalid| Invalid { field, ..invalid })
}

fn id(field: Field, lease: Option<LeaseId>) -> Result<LeaseId, Invalid> {
    lease.ok_or(Invalid::new(
        field,
        "must have an id of 32 hexadecimal digits",
    ))
}

impl From<&Request> for WireRequest {
    fn from(request: &Request) -> Self {
        let mut wire = Self {
            v: VERSION,
            key: request.key.as_str().to_string(),
            op: Some(request.op),
            ..Self::default()
        };
        wire.operation = Cow::Borrowed(match &request.operation {
            Operation::Acquire(acquire) => {
                wire.holder = Some(acquire.holder.as_str().to_string());
                wire.lease = Some(acquire.lease);
                wire.ttl_ms = Some(acquire.ttl.as_millis_floor());
                wire.wait_ms = Some(acquire.wait.as_millis_floor());
                wire.reentrant = acquire.reentrant;
                "acquire"
            }
            Operation::Cancel => "cancel",
            Operation::Inspect => "inspect",
            Operation::Release(credential) => {
                wire.set_credential(credential);
                "release"
            }
            Operation::Renew { credential, ttl } => {
                wire.set_credential(credential);
                wire.ttl_ms = Some(ttl.as_millis_floor());
                "renew"
            }
            Operation::Revoke => "revoke",
            Operation::Transfer(transfer) => {
                wire.set_credential(&transfer.credential);
                wire.to_holder = Some(transfer.successor.as_str().to_string());
                wire.to_lease = Some(transfer.lease);
                wire.ttl_ms = Some(transfer.ttl.as_millis_floor());
                "transfer"
            }
            Operation::Verify(credential) => {
                wire.set_credential(credential);
                "verify"
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

/// A [`Response`] on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WireResponse {
    /// Protocol version.
    pub v: u32,
    /// What happened: `cancelled`, `granted`, `held`, `inspected`, `not-holder`, `queued`,
    /// `refused`, `released`, `renewed` or `revoked`.
    pub outcome: Cow<'static, str>,
    /// Refused: `DENIED`, `INVALID` or `UNAVAILABLE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Cow<'static, str>>,
    /// Refused, not-holder: a stable word for the cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'static, str>>,
    /// Refused: a sentence for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Cow<'static, str>>,
    /// Granted: the lease's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseId>,
    /// Granted, inspected: the grant's fence, in decimal. Not-holder, released, renewed: the one that
    /// the request named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// Held, inspected: who holds the key. An inspected key without a holder is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// Granted, renewed, inspected: what is left of the grant, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Granted: how long the request lay waiting at the host, in milliseconds; absent means zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<u64>,
    /// Held, queued, refused: when asking again may first help, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Queued: waiters in front. Inspected: waiters in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiters: Option<u32>,
    /// Granted: an earlier attempt of the same op was granted already.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub replayed: bool,
    /// Revoked: whether there was a grant to end.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub revoked: bool,
}

/// The longest duration in an answer: what a JavaScript number still counts exactly.
pub(crate) const MAX_MILLIS: u64 = 1 << 53;

/// The answer makes no sense: the host is not one of ours, or something between changed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

impl TryFrom<WireResponse> for Response {
    type Error = Unreadable;

    fn try_from(wire: WireResponse) -> Result<Self, Unreadable> {
        if wire.v != VERSION {
            return Err(Unreadable);
        }
        Ok(match wire.outcome.as_ref() {
            "cancelled" => Self::Cancelled,
            "granted" => Self::Granted(Granted {
                lease: wire.lease.ok_or(Unreadable)?,
                fence: wire.fence.ok_or(Unreadable)?,
                ttl: span(wire.ttl_ms)?,
                waited: optional_span(wire.waited_ms)?.unwrap_or(Span::ZERO),
                replayed: wire.replayed,
            }),
            "held" => Self::Held(Held {
                holder: holder(wire.holder.as_deref())?,
                retry_after: span(wire.retry_after_ms)?,
            }),
            "inspected" => Self::Inspected(match holder(wire.holder.as_deref())? {
                None => None,
                Some(holder) => Some(Info {
                    holder,
                    fence: wire.fence.ok_or(Unreadable)?,
                    remaining: span(wire.ttl_ms)?,
                    waiters: wire.waiters.ok_or(Unreadable)?,
                }),
            }),
            "not-holder" => Self::NotHolder {
                about: wire.fence,
                ended: ended(wire.reason.as_deref()),
            },
            "queued" => Self::Queued {
                ahead: wire.waiters.ok_or(Unreadable)?,
                retry_after: optional_span(wire.retry_after_ms)?.unwrap_or(Span::ZERO),
            },
            "refused" => Self::Refused(Refusal {
                code: code(wire.code.as_deref())?,
                reason: wire.reason.ok_or(Unreadable)?,
                message: wire.message.unwrap_or_default(),
                retry_after: optional_span(wire.retry_after_ms)?,
            }),
            "released" => Self::Released { about: wire.fence },
            "renewed" => Self::Renewed {
                about: wire.fence,
                ttl: span(wire.ttl_ms)?,
            },
            "revoked" => Self::Revoked(wire.revoked),
            _ => return Err(Unreadable),
        })
    }
}

fn span(millis: Option<u64>) -> Result<Span, Unreadable> {
    optional_span(millis)?.ok_or(Unreadable)
}

/// A duration that no clock could count to is none.
fn optional_span(millis: Option<u64>) -> Result<Option<Span>, Unreadable> {
    match millis {
        Some(millis) if millis > MAX_MILLIS => Err(Unreadable),
        millis => Ok(millis.map(Span::from_millis)),
    }
}

fn holder(text: Option<&str>) -> Result<Option<HolderName>, Unreadable> {
    text.map(|text| HolderName::parse(text).map_err(|_| Unreadable))
        .transpose()
}

fn code(text: Option<&str>) -> Result<Code, Unreadable> {
    match text {
        Some("DENIED") => Ok(Code::Denied),
        Some("INVALID") => Ok(Code::Invalid),
        Some("UNAVAILABLE") => Ok(Code::Unavailable),
        _ => Err(Unreadable),
    }
}

fn ended(reason: Option<&str>) -> Ended {
    match reason {
        Some("cancelled") => Ended::Cancelled,
        Some("expired") => Ended::Expired,
        Some("foreign-value") => Ended::ForeignValue,
        Some("released") => Ended::Released,
        Some("revoked") => Ended::Revoked,
        Some("transferred") => Ended::Transferred,
        _ => Ended::Unknown,
    }
}

impl Ended {
    /// The word for it, as it travels.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::ForeignValue => "foreign-value",
            Self::Released => "released",
            Self::Revoked => "revoked",
            Self::Transferred => "transferred",
            Self::Unknown => "unknown",
        }
    }
}

impl Code {
    /// The word for it, as it travels.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Denied => "DENIED",
            Self::Invalid => "INVALID",
            Self::Unavailable => "UNAVAILABLE",
        }
    }
}

impl From<Response> for WireResponse {
    fn from(response: Response) -> Self {
        let mut wire = Self {
            v: VERSION,
            ..Self::default()
        };
        wire.outcome = Cow::Borrowed(match response {
            Response::Cancelled => "cancelled",
            Response::Granted(granted) => {
                wire.lease = Some(granted.lease);
                wire.fence = Some(granted.fence);
                wire.ttl_ms = Some(granted.ttl.as_millis_floor());
                wire.waited_ms = Some(granted.waited.as_millis_floor()).filter(|&ms| ms > 0);
                wire.replayed = granted.replayed;
                "granted"
            }
            Response::Held(held) => {
                wire.holder = held.holder.map(|holder| holder.as_str().to_string());
                wire.retry_after_ms = Some(held.retry_after.as_millis_ceil());
                "held"
            }
            Response::Inspected(info) => {
                if let Some(info) = info {
                    wire.holder = Some(info.holder.as_str().to_string());
                    wire.fence = Some(info.fence);
                    wire.ttl_ms = Some(info.remaining.as_millis_floor());
                    wire.waiters = Some(info.waiters);
                }
                "inspected"
            }
            Response::NotHolder { about, ended } => {
                wire.fence = about;
                wire.reason = Some(Cow::Borrowed(ended.name()));
                "not-holder"
            }
            Response::Queued { ahead, retry_after } => {
                wire.waiters = Some(ahead);
                wire.retry_after_ms = Some(retry_after.as_millis_ceil()).filter(|&ms| ms > 0);
                "queued"
            }
            Response::Refused(refusal) => {
                wire.code = Some(Cow::Borrowed(refusal.code.name()));
                wire.reason = Some(refusal.reason);
                wire.message = Some(refusal.message);
                wire.retry_after_ms = refusal.retry_after.map(Span::as_millis_ceil);
                "refused"
            }
            Response::Released { about } => {
                wire.fence = about;
                "released"
            }
            Response::Renewed { about, ttl } => {
                wire.fence = about;
                wire.ttl_ms = Some(ttl.as_millis_floor());
                "renewed"
            }
            Response::Revoked(revoked) => {
                wire.revoked = revoked;
                "revoked"
            }
        });
        wire
    }
}
