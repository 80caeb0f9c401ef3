//! The host machine for use inside the holders' own process. Converts; decides nothing.

use leasehold::host::{Host, HostConfig, HostInput, HostOutput, ReplyTo};
use leasehold::protocol::wire::{WireRequest, WireResponse};
use leasehold::protocol::{Field, Invalid, Request, Response};
use leasehold::time::{Instant, Span};
use serde::Serialize;
use wasm_bindgen::prelude::*;

/// The longest a JavaScript timer can be set for. Waking early does no harm.
const MAX_TIMER_MS: u64 = i32::MAX as u64;

/// A host that forgets everything with the process.
#[wasm_bindgen]
pub struct MemoryHost {
    machine: Host,
    alarm: Option<Instant>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Step {
    replies: Vec<Reply>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alarm_in_ms: Option<u32>,
}

#[derive(Serialize)]
struct Reply {
    to: u32,
    response: WireResponse,
}

#[wasm_bindgen]
impl MemoryHost {
    /// A host that has never granted anything.
    #[wasm_bindgen(constructor)]
    #[allow(clippy::new_without_default, reason = "called from JavaScript alone")]
    pub fn new() -> Self {
        Self {
            machine: Host::new(HostConfig::EMBEDDED),
            alarm: None,
        }
    }

    /// Takes a request, to be answered to `to` now or later.
    pub fn request(&mut self, now_ms: f64, to: u32, request: JsValue) -> JsValue {
        match read(request) {
            Ok(request) => self.step(now_ms, HostInput::Request(reply_to(to), request)),
            Err(invalid) => plain(&Step {
                replies: vec![Reply {
                    to,
                    response: Response::Refused(invalid.into()).into(),
                }],
                alarm_in_ms: self.alarm_in_ms(instant(now_ms)),
            }),
        }
    }

    /// Does what is due.
    pub fn tick(&mut self, now_ms: f64) -> JsValue {
        self.alarm = None;
        self.step(now_ms, HostInput::Tick)
    }

    /// Takes note that nobody awaits the answer to `to` any more.
    pub fn gone(&mut self, now_ms: f64, to: u32) -> JsValue {
        self.step(now_ms, HostInput::Gone(reply_to(to)))
    }

    fn step(&mut self, now_ms: f64, input: HostInput) -> JsValue {
        let now = instant(now_ms);
        self.machine.handle(now, input);
        let mut replies = Vec::new();
        while let Some(output) = self.machine.poll_output() {
            match output {
                HostOutput::Alarm(at) => self.alarm = at,
                // The machine itself is the only record.
                HostOutput::Persist(_) => {}
                HostOutput::Reply(ReplyTo(to), response) => replies.push(Reply {
                    to: to as u32,
                    response: response.into(),
                }),
            }
        }
        plain(&Step {
            replies,
            alarm_in_ms: self.alarm_in_ms(now),
        })
    }

    fn alarm_in_ms(&self, now: Instant) -> Option<u32> {
        let wait = self.alarm?.since(now).as_millis_ceil();
        Some(wait.min(MAX_TIMER_MS) as u32)
    }
}

fn read(request: JsValue) -> Result<Request, Invalid> {
    serde_wasm_bindgen::from_value::<WireRequest>(request)
        .map_err(|_| Invalid::new(Field::Request, "is not one of this protocol"))?
        .try_into()
}

fn reply_to(ticket: u32) -> ReplyTo {
    ReplyTo(u64::from(ticket))
}

fn instant(millis: f64) -> Instant {
    Instant::ZERO + Span::from_micros((millis * 1_000.0) as u64)
}

fn plain(step: &Step) -> JsValue {
    serde_wasm_bindgen::to_value(step).unwrap_or(JsValue::UNDEFINED)
}
