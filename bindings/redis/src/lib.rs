//! The Redis host's scripts for TypeScript: what to send, and what came back. Converts; decides
//! nothing.
#![cfg_attr(target_arch = "wasm32", no_std)]

extern crate alloc;

use alloc::string::String;
use alloc::vec::Vec;

use leasehold::protocol::wire::WireResponse;
use leasehold::protocol::{self, Response};
use leasehold::redis::{self, Prefix, Reply, Step};
use leasehold::time::Instant;
use leasehold_records::js::{complaint, record};
use leasehold_records::number::span;
use wasm_bindgen::prelude::*;

/// One request on its way to a Redis and back.
#[wasm_bindgen]
pub struct RedisCall {
    call: redis::Call,
}

#[wasm_bindgen]
impl RedisCall {
    /// A call for a request as JSON, under this prefix. `keyLocking` as the last call left it, or true.
    ///
    /// Throws the step that answers a request no host would accept.
    #[wasm_bindgen(constructor)]
    pub fn new(request: &str, prefix: &str, key_locking: bool) -> Result<RedisCall, JsValue> {
        let asked = protocol::Call::from_json(request)
            .map_err(|invalid| step(Step::Done(Response::Refused(invalid.into()))))?;
        let prefix = Prefix::parse(prefix).map_err(complaint)?;
        Ok(Self {
            call: redis::Call::new(&prefix, asked, key_locking),
        })
    }

    /// Whether the server knows the key-locking flag, as far as this call has found out.
    #[wasm_bindgen(getter, js_name = keyLocking)]
    pub fn key_locking(&self) -> bool {
        self.call.key_locking()
    }

    /// The next command: at the start, and after a rest.
    pub fn poll(&mut self, now_ms: f64) -> JsValue {
        step(self.call.poll(instant(now_ms)))
    }

    /// What to do instead of resting on: another call with the same op is under way.
    pub fn superseded(&mut self, now_ms: f64) -> JsValue {
        step(self.call.superseded(instant(now_ms)))
    }

    /// Takes the words of a reply.
    pub fn replied(&mut self, now_ms: f64, words: Vec<String>) -> JsValue {
        step(self.call.replied(instant(now_ms), &Reply::Words(words)))
    }

    /// Takes the server's error.
    pub fn refused(&mut self, now_ms: f64, error: String) -> JsValue {
        step(self.call.replied(instant(now_ms), &Reply::Error(error)))
    }
}

fn instant(millis: f64) -> Instant {
    Instant::ZERO + span(millis)
}

fn step(step: Step) -> JsValue {
    record(|json| match step {
        Step::Done(response) => {
            json.text("type", "done");
            json.record("response", |json| WireResponse::from(response).write(json));
        }
        Step::Failed => json.text("type", "failed"),
        Step::Rest { gap, channel } => {
            json.text("type", "rest");
            json.number("gapMs", gap.as_millis_ceil());
            json.optional("channel", channel.as_deref());
        }
        Step::Send {
            command,
            timeout,
            afresh,
        } => {
            json.text("type", "send");
            json.array("command", command, |json, word| json.quoted(&word));
            json.number("timeoutMs", timeout.as_millis_ceil());
            json.flag("afresh", afresh);
        }
    })
}
