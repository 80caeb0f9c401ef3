//! The Redis host's scripts for TypeScript: what to send, and what came back. Converts; decides
//! nothing.
#![cfg_attr(target_arch = "wasm32", no_std)]

extern crate alloc;

use alloc::string::String;

use leasehold::json::{Writer, text_items};
use leasehold::redis::{self, Reply, Step};
use leasehold::time::Instant;
use leasehold_records::number::span;
use wasm_bindgen::prelude::*;

/// One request on its way to a Redis and back. What is to be done next is a record in JSON.
#[wasm_bindgen]
pub struct RedisCall(redis::Call);

#[wasm_bindgen]
impl RedisCall {
    /// A call for a request as JSON, under this prefix. `keyLocking` as the last call left it, or true.
    #[wasm_bindgen(constructor)]
    pub fn new(request: &str, prefix: &str, key_locking: bool) -> Self {
        Self(redis::Call::new(prefix, request, key_locking))
    }

    /// Whether the server knows the key-locking flag, as far as this call has found out.
    #[wasm_bindgen(getter, js_name = keyLocking)]
    pub fn key_locking(&self) -> bool {
        self.0.key_locking()
    }

    /// The next command: at the start, and after a rest.
    pub fn poll(&mut self, now_ms: f64) -> String {
        written(self.0.poll(instant(now_ms)))
    }

    /// What to do instead of resting on: another call with the same op is under way.
    pub fn superseded(&mut self, now_ms: f64) -> String {
        written(self.0.superseded(instant(now_ms)))
    }

    /// Takes the words of a reply, as a list in JSON.
    pub fn replied(&mut self, now_ms: f64, words: &str) -> String {
        let words = Reply::Words(text_items(words).unwrap_or_default());
        written(self.0.replied(instant(now_ms), &words))
    }

    /// Takes the server's error.
    pub fn refused(&mut self, now_ms: f64, error: String) -> String {
        written(self.0.replied(instant(now_ms), &Reply::Error(error)))
    }
}

fn instant(millis: f64) -> Instant {
    Instant::ZERO + span(millis)
}

fn written(step: Step) -> String {
    Writer::of(|json| match step {
        Step::Done(response) => {
            json.text("type", "done");
            json.name("response").raw(&response);
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
            if let Some(timeout) = timeout {
                json.number("timeoutMs", timeout.as_millis_ceil());
            }
            json.flag("afresh", afresh);
        }
    })
}
