//! The host machine in a Durable Object's storage. Converts and stores; decides nothing.
//!
//! Every step is synchronous, so all it reads and writes is one transaction of the caller's. A
//! step that throws leaves this object behind the storage: drop it and make a new one.

mod access;
mod record;
mod row;
mod store;

use std::cell::RefCell;

use leasehold::host::{Host, HostConfig, HostInput, HostOutput, ReplyTo};
use leasehold::protocol::{Request, Response};
use leasehold::time::Instant;
use leasehold_records::number;
use wasm_bindgen::prelude::*;
use worker_sys::DurableObjectState;

use record::Step;
use store::Store;

/// The state of one Durable Object: what its storage holds, and who waits for an answer.
#[wasm_bindgen]
pub struct LeaseObject {
    store: Store,
    host: RefCell<Option<Host>>,
}

#[wasm_bindgen]
impl LeaseObject {
    /// An object that reads its storage at its first step.
    #[wasm_bindgen(constructor)]
    pub fn new(state: &DurableObjectState) -> Result<Self, JsValue> {
        Ok(Self {
            store: Store::new(state.storage()?.sql()),
            host: RefCell::new(None),
        })
    }

    /// Takes a request, as JSON. Its answer may come with a later step.
    pub fn call(&self, now_ms: f64, to: f64, request: &str) -> Result<String, JsValue> {
        let to = ReplyTo(to as u64);
        match Request::from_json(request) {
            Ok(request) => self.step(now_ms, HostInput::Request(to, request)),
            // The same for every state, so no storage needs to be asked.
            Err(invalid) => Ok(Step::refusing(to, invalid).into_json()),
        }
    }

    /// Does what is due.
    pub fn tick(&self, now_ms: f64) -> Result<String, JsValue> {
        self.step(now_ms, HostInput::Tick)
    }

    /// Takes note that nobody awaits this answer any more.
    pub fn gone(&self, now_ms: f64, to: f64) -> Result<String, JsValue> {
        self.step(now_ms, HostInput::Gone(ReplyTo(to as u64)))
    }

    fn step(&self, now_ms: f64, input: HostInput) -> Result<String, JsValue> {
        let now = Instant::ZERO + number::span(now_ms);
        // Taken out, not borrowed: after an error what is in here would be ahead of the storage.
        let mut host = match self.host.take() {
            Some(host) => host,
            None => Host::restore(HostConfig::DURABLE_OBJECT, self.store.load()?, now),
        };
        host.handle(now, input);
        let mut step = Step::default();
        let mut written = false;
        while let Some(output) = host.poll_output() {
            match output {
                HostOutput::Alarm(at) => step.alarm = Some(at.map(|at| at.since(now))),
                HostOutput::Persist(mutation) => {
                    self.store.apply(mutation)?;
                    written = true;
                }
                HostOutput::Reply(to, response) => step.replies.push((to, response)),
            }
        }
        if !written {
            self.store.touch()?;
        }
        self.host.replace(Some(host));
        Ok(step.into_json())
    }
}

/// Why no host would carry out this request, in JSON, if that is so.
#[wasm_bindgen]
pub fn refusal(request: &str) -> Option<String> {
    let invalid = Request::from_json(request).err()?;
    Some(Response::Refused(invalid.into()).to_json())
}
