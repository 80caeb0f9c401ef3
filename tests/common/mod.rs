//! Scripted drivers for the two machines, and short names for what the tests are full of.
//!
//! Every test crate compiles its own copy and uses a part of it.
#![allow(dead_code, missing_docs)]

pub mod holding;
pub mod hosting;

use leasehold::fence::Fence;
use leasehold::id::{LeaseId, OpId};
use leasehold::name::{HolderName, Key};
use leasehold::protocol::{
    Acquire, Credential, Ended, Granted, Held, HolderState, KeyState, Operation, Refusal, Request,
    Response, Transfer,
};
use leasehold::time::{Instant, Span};
use proptest::test_runner::{Config as ProptestConfig, FileFailurePersistence};

/// So many random cases. One that fails is printed, and its seed is kept beside the test.
pub fn cases(count: u32) -> ProptestConfig {
    ProptestConfig {
        cases: count,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    }
}

pub fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

pub fn ms(millis: u64) -> Span {
    Span::from_millis(millis)
}

pub fn key(text: &str) -> Key {
    Key::parse(text).expect("a legal key")
}

pub fn name(text: &str) -> HolderName {
    HolderName::parse(text).expect("a legal name")
}

pub fn lease(bits: u128) -> LeaseId {
    LeaseId::from_bits(bits)
}

pub fn op(bits: u128) -> OpId {
    OpId::from_bits(bits)
}

pub fn fence(value: u64) -> Fence {
    Fence::from_value(value)
}

/// Operation `bits` on key `"k"`.
pub fn request(bits: u128, operation: Operation) -> Request {
    Request {
        key: key("k"),
        op: op(bits),
        operation,
    }
}

/// An acquire for `holder`; its grant has the lease id `lease_bits`.
pub fn acquire(holder: &str, lease_bits: u128, ttl_ms: u64, wait_ms: u64) -> Operation {
    Operation::Acquire(Acquire::new(
        name(holder),
        lease(lease_bits),
        ms(ttl_ms),
        ms(wait_ms),
    ))
}

pub fn by_lease(bits: u128) -> Credential {
    Credential {
        lease: lease(bits),
        fence: None,
    }
}

pub fn release(lease_bits: u128) -> Operation {
    Operation::Release(by_lease(lease_bits))
}

pub fn renew(lease_bits: u128, ttl_ms: u64) -> Operation {
    Operation::Renew {
        credential: by_lease(lease_bits),
        ttl: ms(ttl_ms),
    }
}

pub fn verify(lease_bits: u128) -> Operation {
    Operation::Verify(by_lease(lease_bits))
}

pub fn transfer(credential: Credential, to: &str, to_lease: u128, ttl_ms: u64) -> Operation {
    Operation::Transfer(Transfer {
        credential,
        successor: name(to),
        lease: lease(to_lease),
        ttl: ms(ttl_ms),
    })
}

/// The operation, about the grant with this fence alone.
pub fn of(fence_value: u64, mut operation: Operation) -> Operation {
    if let Operation::Release(credential)
    | Operation::Renew { credential, .. }
    | Operation::Verify(credential)
    | Operation::Transfer(Transfer { credential, .. }) = &mut operation
    {
        credential.fence = Some(fence(fence_value));
    }
    operation
}

/// A first-hand grant without a wait.
pub fn granted(lease_bits: u128, fence_value: u64, ttl_ms: u64) -> Response {
    Response::Granted(Granted {
        lease: lease(lease_bits),
        fence: fence(fence_value),
        ttl: ms(ttl_ms),
        waited: Span::ZERO,
        replayed: false,
        slot: 0,
        wanted: 0,
    })
}

/// A grant that ended a wait.
pub fn granted_after(lease_bits: u128, fence_value: u64, ttl_ms: u64, waited_ms: u64) -> Response {
    Response::Granted(Granted {
        lease: lease(lease_bits),
        fence: fence(fence_value),
        ttl: ms(ttl_ms),
        waited: ms(waited_ms),
        replayed: false,
        slot: 0,
        wanted: 0,
    })
}

/// A grant told again.
pub fn replayed(lease_bits: u128, fence_value: u64, ttl_ms: u64) -> Response {
    Response::Granted(Granted {
        lease: lease(lease_bits),
        fence: fence(fence_value),
        ttl: ms(ttl_ms),
        waited: Span::ZERO,
        replayed: true,
        slot: 0,
        wanted: 0,
    })
}

pub fn held_by(holder: &str, retry_after_ms: u64) -> Response {
    Response::Held(Held {
        holder: Some(name(holder)),
        fence: None,
        retry_after: ms(retry_after_ms),
        waiters: 0,
    })
}

pub fn renewed(ttl_ms: u64) -> Response {
    Response::Renewed {
        about: None,
        ttl: ms(ttl_ms),
        wanted: 0,
    }
}

pub fn not_holder(ended: Ended) -> Response {
    Response::NotHolder {
        about: None,
        ended,
        present: None,
    }
}

/// Renewed, about this very fence.
pub fn renewed_of(fence_value: u64, ttl_ms: u64) -> Response {
    Response::Renewed {
        about: Some(fence(fence_value)),
        ttl: ms(ttl_ms),
        wanted: 0,
    }
}

/// Not the holder, about this very fence.
pub fn not_holder_of(fence_value: u64, ended: Ended) -> Response {
    Response::NotHolder {
        about: Some(fence(fence_value)),
        ended,
        present: None,
    }
}

pub const RELEASED: Response = Response::Released { about: None };

/// The response as a host gives it to this request: about the fence that the request names.
pub fn about(request: &Request, mut response: Response) -> Response {
    let named = match &request.operation {
        Operation::Release(credential)
        | Operation::Renew { credential, .. }
        | Operation::Verify(credential) => credential.fence,
        Operation::Entry(entry) => entry.credential.fence,
        Operation::Finish(finish) => finish.credential.fence,
        Operation::Transfer(transfer) => transfer.credential.fence,
        _ => None,
    };
    if let Response::NotHolder { about, .. }
    | Response::Entered { about }
    | Response::Finished { about }
    | Response::Released { about }
    | Response::Renewed { about, .. } = &mut response
    {
        *about = named;
    }
    response
}

/// Key `"k"`, held by nobody.
pub fn free() -> Response {
    Response::State(KeyState::absent(key("k")))
}

/// Key `"k"`, held by `holder` alone.
pub fn info(holder: &str, fence_value: u64, remaining_ms: u64, waiters: u32) -> Response {
    let holder = HolderState {
        holder: name(holder),
        fence: fence(fence_value),
        slot: 0,
        limit: 1,
        age_ms: 0,
        remaining_ms,
        entries: Vec::new(),
    };
    Response::State(KeyState {
        holders: vec![holder],
        waiters,
        ..KeyState::absent(key("k"))
    })
}

pub fn queued(ahead: u32) -> Response {
    Response::Queued {
        ahead,
        retry_after: Span::ZERO,
    }
}

/// A refusal that says when to come back, if `retry_after_ms` does.
pub fn refused(code: leasehold::protocol::Code, retry_after_ms: Option<u64>) -> Response {
    Response::Refused(Refusal {
        retry_after: retry_after_ms.map(ms),
        ..Refusal::new(code, "a-reason", "A sentence.")
    })
}

/// One response of every kind, named.
pub fn every_response() -> Vec<(&'static str, Response)> {
    use leasehold::protocol::Code;
    let mut all = vec![
        ("cancelled", Response::Cancelled),
        ("granted", granted(77, 7, 1_000)),
        ("granted, nothing left", granted(77, 7, 0)),
        ("held", held_by("b", 500)),
        ("held by nobody", {
            Response::Held(Held {
                holder: None,
                fence: None,
                retry_after: Span::ZERO,
                waiters: 0,
            })
        }),
        ("free", free()),
        ("entered", Response::Entered { about: None }),
        ("finished", Response::Finished { about: None }),
        ("queued", queued(2)),
        ("released", RELEASED),
        ("renewed", renewed(1_000)),
        ("renewed, nothing left", renewed(0)),
        ("revoked", Response::Revoked(1)),
    ];
    for ended in [
        Ended::Cancelled,
        Ended::Expired,
        Ended::Finished,
        Ended::Released,
        Ended::Revoked,
        Ended::Transferred,
        Ended::Unknown,
    ] {
        all.push((ended.name(), not_holder(ended)));
    }
    for code in [Code::Denied, Code::Invalid, Code::Unavailable] {
        all.push((code.name(), refused(code, None)));
        all.push((code.name(), refused(code, Some(200))));
    }
    all
}
