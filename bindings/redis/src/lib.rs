//! The Redis host's scripts for TypeScript: what to send, and what came back. Converts; decides
//! nothing.

use leasehold::protocol::wire::{WireRequest, WireResponse};
use leasehold::protocol::{Field, Invalid, Request};
use leasehold::redis::{self, Prefix, Reply};
use leasehold::time::Span;
use serde::Serialize;
use wasm_bindgen::prelude::*;

/// One request on its way to a Redis and back.
#[wasm_bindgen]
pub struct RedisCall {
    call: redis::Call,
}

/// What to do next.
#[derive(Serialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
enum Step {
    /// Answer the request with this.
    Done { response: Box<WireResponse> },
    /// The outcome is unknown.
    Failed,
    /// Wait so long, or until the channel has a message; then poll.
    Rest { gap_ms: u32, channel: String },
    /// Send this and hand in the reply.
    Send {
        command: Vec<String>,
        timeout_ms: u32,
    },
}

#[wasm_bindgen]
impl RedisCall {
    /// A call for a request, under this prefix. `keyLocking` as the last call left it, or true.
    #[wasm_bindgen(constructor)]
    pub fn new(request: JsValue, prefix: &str, key_locking: bool) -> Result<RedisCall, JsValue> {
        let request = read(request).map_err(refused)?;
        let prefix = Prefix::parse(prefix).map_err(invalid)?;
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
        plain(self.call.poll())
    }

    /// Takes the words of a script's answer.
    pub fn replied(&mut self, words: Vec<String>) -> JsValue {
        plain(self.call.replied(&Reply::Words(words)))
    }

    /// Takes the server's error.
    pub fn refused(&mut self, error: String) -> JsValue {
        plain(self.call.replied(&Reply::Error(error)))
    }
}

/// Throws the record of a bad prefix.
#[wasm_bindgen(js_name = checkPrefix)]
pub fn check_prefix(prefix: &str) -> Result<(), JsValue> {
    Prefix::parse(prefix).map(drop).map_err(invalid)
}

fn read(request: JsValue) -> Result<Request, Invalid> {
    serde_wasm_bindgen::from_value::<WireRequest>(request)
        .map_err(|_| Invalid::new(Field::Request, "is not one of this protocol"))?
        .try_into()
}

/// A bad request is answered like any other.
fn refused(invalid: Invalid) -> JsValue {
    let response = leasehold::protocol::Response::Refused(invalid.into());
    record(&Step::Done {
        response: Box::new(response.into()),
    })
}

#[derive(Serialize)]
struct Complaint {
    field: &'static str,
    message: &'static str,
}

fn invalid(invalid: Invalid) -> JsValue {
    record(&Complaint {
        field: invalid.field.name(),
        message: invalid.expected,
    })
}

fn plain(step: redis::Step) -> JsValue {
    record(&match step {
        redis::Step::Done(response) => Step::Done {
            response: Box::new(response.into()),
        },
        redis::Step::Failed => Step::Failed,
        redis::Step::Rest { gap, channel } => Step::Rest {
            gap_ms: millis(gap),
            channel,
        },
        redis::Step::Send { command, timeout } => Step::Send {
            command,
            timeout_ms: millis(timeout),
        },
    })
}

fn millis(span: Span) -> u32 {
    u32::try_from(span.as_millis_ceil()).unwrap_or(u32::MAX)
}

fn record(value: &impl Serialize) -> JsValue {
    serde_wasm_bindgen::to_value(value).unwrap_or(JsValue::UNDEFINED)
}
