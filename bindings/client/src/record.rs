//! The plain records that a step is told in.

use alloc::vec::Vec;

use leasehold::fence::Fence;
use leasehold::holder::{Config, Event, Failure, Holder, Output, Release, Send};
use leasehold::id::{AttemptId, LeaseId};
use leasehold::protocol::wire::WireRequest;
use leasehold::protocol::{Invalid, Request};
use leasehold::time::{Instant, Span};
use wasm_bindgen::JsValue;

use crate::js::Json;

/// The longest a JavaScript timer can be set for. Waking early does no harm.
const MAX_TIMER_MS: u64 = i32::MAX as u64;

/// Everything the machine has to say, in one record.
pub(crate) fn drain(machine: &mut Holder, now: Instant) -> JsValue {
    let mut sends: Vec<Send> = Vec::new();
    let mut drops: Vec<AttemptId> = Vec::new();
    let mut events: Vec<Event> = Vec::new();
    let mut wake = None;
    while let Some(output) = machine.poll_output() {
        match output {
            Output::Drop(attempt) => drops.push(attempt),
            Output::Event(event) => events.push(event),
            Output::Send(send) => sends.push(send),
            Output::Wake { at, .. } => wake = Some(at),
        }
    }
    let mut json = Json::new();
    json.object(|json| {
        json.array("sends", &sends, |json, send| {
            self::send(json, send.attempt, &send.request, send.timeout, send.rebind);
        });
        json.array("drops", &drops, |json, attempt| {
            json.digits(u64::from(attempt.0));
        });
        json.array("events", &events, event);
        if let Some(at) = wake {
            json.number("wakeInMs", at.since(now).as_millis_ceil().min(MAX_TIMER_MS));
        }
    });
    json.parse()
}

/// A request outside any lease's life, to be sent once.
pub(crate) fn single(request: &Request) -> JsValue {
    let mut json = Json::new();
    send(&mut json, AttemptId(0), request, Config::OP_TIMEOUT, false);
    json.parse()
}

pub(crate) fn invalid(invalid: Invalid) -> JsValue {
    let mut json = Json::new();
    json.object(|json| {
        json.text("field", invalid.field.name());
        json.text("message", invalid.expected);
    });
    json.parse()
}

fn send(json: &mut Json, attempt: AttemptId, request: &Request, timeout: Span, rebind: bool) {
    json.object(|json| {
        json.number("attempt", u64::from(attempt.0));
        json.record("request", |json| self::request(json, request));
        json.number("timeoutMs", timeout.as_millis_ceil());
        json.flag("rebind", rebind);
    });
}

fn request(json: &mut Json, request: &Request) {
    let wire = WireRequest::from(request);
    json.number("v", u64::from(wire.v));
    json.text("operation", &wire.operation);
    json.text("key", &wire.key);
    if let Some(op) = wire.op {
        json.text("op", &op.to_hex());
    }
    optional(json, "holder", wire.holder.as_deref());
    lease(json, "lease", wire.lease);
    optional(json, "toHolder", wire.to_holder.as_deref());
    lease(json, "toLease", wire.to_lease);
    if let Some(ttl) = wire.ttl_ms {
        json.number("ttlMs", ttl);
    }
    if let Some(wait) = wire.wait_ms {
        json.number("waitMs", wait);
    }
    if wire.reentrant {
        json.flag("reentrant", true);
    }
}

fn optional(json: &mut Json, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        json.text(name, text);
    }
}

fn lease(json: &mut Json, name: &str, lease: Option<LeaseId>) {
    if let Some(lease) = lease {
        json.text(name, &lease.to_hex());
    }
}

fn event(json: &mut Json, event: &Event) {
    json.object(|json| match event {
        Event::Closed => kind(json, "closed"),
        Event::Failed(failure) => settled(json, "failed", Some(failure)),
        Event::Granted(grant) => {
            kind(json, "granted");
            granted(json, grant.lease, grant.fence);
            remaining(json, grant.remaining);
        }
        Event::Jeopardy { remaining } => lasting(json, "jeopardy", *remaining),
        Event::Lost(reason) => ended(json, "lost", reason.name()),
        Event::Queued { ahead } => {
            kind(json, "queued");
            json.number("ahead", u64::from(*ahead));
        }
        Event::Released(Release::Done) => kind(json, "released"),
        Event::Released(Release::NotHeld(why)) => ended(json, "releasefailed", why.name()),
        Event::Released(Release::Unconfirmed) => ended(json, "releasefailed", "unconfirmed"),
        Event::RenewFailed {
            failure,
            remaining: left,
        } => {
            settled(json, "renewfailed", Some(failure));
            remaining(json, *left);
        }
        Event::Renewed { remaining } => lasting(json, "renewed", *remaining),
        Event::RenewSettled(outcome) => settled(json, "renewsettled", outcome.as_ref().err()),
        Event::Safe { remaining } => lasting(json, "safe", *remaining),
        Event::TransferSettled(Ok(successor)) => {
            kind(json, "transfersettled");
            granted(json, successor.lease, successor.fence);
            json.text("holder", successor.holder.as_str());
            json.number("ttlMs", successor.ttl.as_millis_floor());
        }
        Event::TransferSettled(Err(failure)) => settled(json, "transfersettled", Some(failure)),
        Event::VerifySettled(outcome) => settled(json, "verifysettled", outcome.as_ref().err()),
    });
}

fn kind(json: &mut Json, kind: &str) {
    json.text("type", kind);
}

fn lasting(json: &mut Json, kind: &str, left: Span) {
    self::kind(json, kind);
    remaining(json, left);
}

fn remaining(json: &mut Json, left: Span) {
    json.number("remainingMs", left.as_millis_floor());
}

fn ended(json: &mut Json, kind: &str, reason: &str) {
    self::kind(json, kind);
    json.text("reason", reason);
}

fn granted(json: &mut Json, lease: LeaseId, fence: Fence) {
    json.text("lease", &lease.to_hex());
    json.decimal("fence", fence.value());
}

/// Something that has come to its end: badly, if there is a failure.
fn settled(json: &mut Json, kind: &str, failure: Option<&Failure>) {
    self::kind(json, kind);
    let Some(failure) = failure else { return };
    json.text("code", failure.code.name());
    json.text("reason", &failure.reason);
    json.text("message", &failure.message);
    optional(
        json,
        "holder",
        failure.holder.as_ref().map(|holder| holder.as_str()),
    );
    if let Some(retry_after) = failure.retry_after {
        json.number("retryAfterMs", retry_after.as_millis_ceil());
    }
}
