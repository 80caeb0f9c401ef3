//! The plain records that a step is told in.

use alloc::string::String;
use alloc::sync::Arc;

use leasehold::fence::Fence;
use leasehold::holder::{Done, Event, Failure, Holder, Output, Release, Send, Ticket};
use leasehold::id::LeaseId;
use leasehold::json::{Json, Writer};
use leasehold::time::{Instant, Span};
use leasehold_records::number::MAX_TIMER_MS;

/// Everything the machine has to say, in one record.
pub(crate) fn drain(machine: &mut Holder, now: Instant) -> String {
    let [mut sends, mut drops, mut events] = [const { Writer::new() }; 3];
    let mut wake = None;
    while let Some(output) = machine.poll_output() {
        match output {
            Output::Drop(attempt) => drops.item().digits(u64::from(attempt.0)),
            Output::Event(told) => event(events.item(), &told),
            Output::Send(send) => attempt(sends.item(), &send),
            Output::Wake { at, .. } => wake = Some(at),
        }
    }
    Writer::of(|json| {
        json.text("state", machine.state().name());
        json.list("sends", &sends);
        json.list("drops", &drops);
        json.list("events", &events);
        if let Some(at) = wake {
            json.number("wakeInMs", at.since(now).as_millis_ceil().min(MAX_TIMER_MS));
        }
    })
}

fn attempt(json: &mut Writer, send: &Send) {
    json.object(|json| {
        json.number("attempt", u64::from(send.attempt.0));
        json.record("request", |json| send.request.write(json));
        json.number("timeoutMs", send.timeout.as_millis_ceil());
        json.flag("rebind", send.rebind);
    });
}

fn event(json: &mut Writer, event: &Event) {
    json.object(|json| match event {
        Event::Closed => kind(json, "closed"),
        Event::Failed(why) => {
            kind(json, "failed");
            failure(json, why);
        }
        Event::Finished => kind(json, "finished"),
        Event::Granted(grant) => {
            kind(json, "granted");
            granted(json, grant.lease, grant.fence);
            json.number("slot", grant.slot.into());
            json.number("wanted", grant.wanted.into());
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
        Event::Released(Release::Unconfirmed) => ended(json, "releasefailed", UNCONFIRMED),
        Event::RenewFailed {
            failure: why,
            remaining: left,
        } => {
            kind(json, "renewfailed");
            failure(json, why);
            remaining(json, *left);
        }
        Event::Renewed { remaining } => lasting(json, "renewed", *remaining),
        Event::Safe { remaining } => lasting(json, "safe", *remaining),
        Event::Settled(ticket, outcome) => settled(json, *ticket, outcome),
        Event::Transferred => kind(json, "transferred"),
        Event::Wanted { waiters } => {
            kind(json, "wanted");
            json.number("waiters", u64::from(*waiters));
        }
    });
}

fn kind(json: &mut Writer, kind: &str) {
    json.text("type", kind);
}

fn lasting(json: &mut Writer, kind: &str, left: Span) {
    self::kind(json, kind);
    remaining(json, left);
}

fn remaining(json: &mut Writer, left: Span) {
    json.number("remainingMs", left.as_millis_floor());
}

fn ended(json: &mut Writer, kind: &str, reason: &str) {
    self::kind(json, kind);
    json.text("reason", reason);
}

fn granted(json: &mut Writer, lease: LeaseId, fence: Fence) {
    json.text("lease", &lease.to_hex());
    json.decimal("fence", fence.value());
}

/// What was asked for has come to its end: badly, if there is a failure.
fn settled(json: &mut Writer, Ticket(ticket): Ticket, outcome: &Result<Done, Arc<Failure>>) {
    kind(json, "settled");
    json.number("ticket", u64::from(ticket));
    match outcome {
        Err(why) => failure(json, why),
        Ok(Done::Entered | Done::Finished | Done::Renewed | Done::Verified) => {}
        Ok(Done::Released(Release::Done)) => json.flag("released", true),
        Ok(Done::Released(Release::NotHeld(why))) => unreleased(json, why.name()),
        Ok(Done::Released(Release::Unconfirmed)) => unreleased(json, UNCONFIRMED),
        Ok(Done::Transferred(successor)) => {
            granted(json, successor.lease, successor.fence);
            json.text("holder", successor.holder.as_str());
            json.number("ttlMs", successor.ttl.as_millis_floor());
        }
    }
}

const UNCONFIRMED: &str = "unconfirmed";

fn unreleased(json: &mut Writer, reason: &str) {
    json.flag("released", false);
    json.text("reason", reason);
}

fn failure(json: &mut Writer, failure: &Failure) {
    json.text("code", failure.code.name());
    json.text("reason", &failure.reason);
    json.text("message", &failure.message);
    json.optional(
        "holder",
        failure.holder.as_ref().map(|holder| holder.as_str()),
    );
    if let Some(retry_after) = failure.retry_after {
        json.number("retryAfterMs", retry_after.as_millis_ceil());
    }
    if let Some(finished) = &failure.finished {
        json.decimal("fence", finished.fence.value());
        json.number("ageMs", finished.age.as_millis_floor());
        json.optional("result", finished.result.as_ref().map(Json::as_str));
    }
}
