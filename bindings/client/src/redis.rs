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

    /// What to do at the start, and after a rest; then another call with the same op may be under way.
    pub fn poll(&mut self, now_ms: f64, is_superseded: bool) -> String {
        self.step(now_ms, &|call, now| {
            if is_superseded {
                call.superseded(now)
            } else {
                call.poll(now)
            }
        })
    }

    /// What to do when the server has refused the last command as a whole, and may take it otherwise.
    pub fn resend(&mut self, now_ms: f64) -> String {
        self.step(now_ms, &|call, now| call.resend(now))
    }

    /// What to do after an answer that it is to wait on.
    pub fn queued(&mut self, now_ms: f64, ahead: u32, quiet_ms: Option<f64>) -> String {
        self.step(now_ms, &|call, now| {
            call.queued(now, ahead, quiet_ms.map(span))
        })
    }

    fn step(&mut self, now_ms: f64, step: &dyn Fn(&mut Call, Instant) -> Step) -> String {
        match &mut self.0 {
            Err(invalid) => complaint(invalid),
            Ok(call) => {
                let step = step(call, Instant::ZERO + span(now_ms));
                Writer::of(|json| write(json, call, &step))
            }
        }
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
