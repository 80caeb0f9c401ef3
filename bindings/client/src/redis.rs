//! A request to a Redis: when its commands are sent. Here and not in a module of its own, which would
//! need most of this one once more.

use alloc::string::String;

use leasehold::json::Writer;
use leasehold::protocol::Invalid;
use leasehold::redis::{Call, Step};
use leasehold::time::Instant;
use leasehold_records::complaint;
use leasehold_records::number::span;
use wasm_bindgen::prelude::*;

/// What has happened to a call.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum Happened {
    /// It begins, or its rest is over.
    Poll = "poll",
    /// The same, while another call with the same op is under way.
    Superseded = "superseded",
    /// The server has refused the last command as a whole, and may take it otherwise.
    Resend = "resend",
    /// It is to wait on, by its answer.
    Queued = "queued",
}

/// One request on its way to a Redis and back. What is to be done next is a record in JSON, or what is
/// wrong with the request.
#[wasm_bindgen]
pub struct RedisCall(Result<Call, Invalid>);

#[wasm_bindgen]
impl RedisCall {
    /// A call for a request as JSON.
    #[wasm_bindgen(constructor)]
    pub fn new(request: &str) -> Self {
        Self(Call::new(request))
    }

    /// What to do now that this has happened; `ahead` and `quiet_ms` come with an answer that it is to
    /// wait on.
    pub fn step(
        &mut self,
        now_ms: f64,
        happened: Happened,
        ahead: u32,
        quiet_ms: Option<f64>,
    ) -> String {
        let call = match &mut self.0 {
            Err(invalid) => return complaint(invalid),
            Ok(call) => call,
        };
        let now = Instant::ZERO + span(now_ms);
        let step = match happened {
            Happened::Queued => call.queued(now, ahead, quiet_ms.map(span)),
            Happened::Resend => call.resend(now),
            Happened::Superseded => call.superseded(now),
            _ => call.poll(now),
        };
        Writer::of(|json| write(json, call, &step))
    }
}

fn write(json: &mut Writer, call: &Call, step: &Step) {
    match step {
        Step::Queued(ahead) => {
            json.text("type", "queued");
            json.number("waiters", u64::from(*ahead));
        }
        Step::Failed => json.text("type", "failed"),
        Step::Rest { gap, is_hinted } => {
            json.text("type", "rest");
            json.number("gapMs", gap.as_millis_ceil());
            json.flag("isHinted", *is_hinted);
        }
        Step::Send {
            waited,
            waits,
            timeout,
            afresh,
        } => {
            json.text("type", "send");
            json.text("op", &call.names().op);
            json.text("key", &call.names().key);
            json.number("waitedMs", waited.as_millis_floor());
            json.flag("waits", *waits);
            if let Some(timeout) = timeout {
                json.number("timeoutMs", timeout.as_millis_ceil());
            }
            json.flag("afresh", *afresh);
        }
    }
}
