//! The Redis host's scripts for TypeScript: what to send, and what came back. Converts; decides
//! nothing.
#![cfg_attr(target_arch = "wasm32", no_std)]

extern crate alloc;

use alloc::string::String;
use alloc::vec::Vec;

use leasehold::protocol::wire::WireResponse;
use leasehold::protocol::{Request, Response};
use leasehold::redis::{self, Prefix, Reply, Step};
use leasehold_records::js::{complaint, record};
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
        let request = Request::from_json(request)
            .map_err(|invalid| step(Step::Done(Response::Refused(invalid.into()))))?;
        let prefix = Prefix::parse(prefix).map_err(complaint)?;
        Ok(Self {
            call: redis::Call::new(&prefix, &request, key_locking),
        })
    }

    /// Whether the server knows the key-locking flag, as far as this call has found out.
    #[wasm_bindgen(getter, js_name = keyLocking)]
    pub fn key_locking(&self) -> bool {
        self.call.key_locking()
    }

    /// The next command: at the start, and after a rest.
    pub fn poll(&mut self) -> JsValue {
        step(self.call.poll())
    }

    /// Takes the words of a script's answer.
    pub fn replied(&mut self, words: Vec<String>) -> JsValue {
        step(self.call.replied(&Reply::Words(words)))
    }

    /// Takes the server's error.
    pub fn refused(&mut self, error: String) -> JsValue {
        step(self.call.replied(&Reply::Error(error)))
    }
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
            json.text("channel", &channel);
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
