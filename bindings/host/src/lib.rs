//! The Durable Object's host for TypeScript. Converts; decides nothing.
#![cfg_attr(target_arch = "wasm32", no_std)]

extern crate alloc;

mod door;
mod layout;

use alloc::string::String;

use leasehold::host::ReplyTo;
use leasehold::layout::Told;
use leasehold::time::Instant;
use leasehold_durable_object::{Object, SqlStorage};
use leasehold_records::number;
use wasm_bindgen::prelude::*;

use door::Door;
use layout::layout_of;

/// One Durable Object. What its methods throw leaves it behind its storage: drop it.
#[wasm_bindgen]
pub struct LeaseObject(Object);

#[wasm_bindgen]
impl LeaseObject {
    /// An object that reads its storage at its first step. The setting is a layout as text; the
    /// scopes behind the door share the room for keys.
    #[wasm_bindgen(constructor)]
    pub fn new(
        storage: SqlStorage,
        name: Option<String>,
        setting: &str,
        door: &Door,
    ) -> Result<Self, JsValue> {
        let setting = layout_of(setting)?;
        Ok(Self(Object::new(storage, name, setting, door.prefixes())))
    }

    /// Takes a call, as JSON. When the step has `ask`, the layout's register is to be asked, and the
    /// call given again with its answer, `told`; but not if the object was closed meanwhile.
    pub fn call(
        &self,
        now_ms: f64,
        to: f64,
        call: &str,
        told: Option<String>,
    ) -> Result<String, JsValue> {
        let told = told.as_deref().and_then(Told::from_json);
        let step = self.0.call(instant(now_ms), reply_to(to), call, told)?;
        Ok(step.into_json())
    }

    /// Does what is due.
    pub fn tick(&self, now_ms: f64) -> Result<String, JsValue> {
        Ok(self.0.tick(instant(now_ms))?.into_json())
    }

    /// Takes note that nobody awaits this answer any more.
    pub fn gone(&self, now_ms: f64, to: f64) -> Result<String, JsValue> {
        Ok(self.0.gone(instant(now_ms), reply_to(to))?.into_json())
    }

    /// Closes a shard: for how many milliseconds its last grant still runs.
    pub fn close(&self, now_ms: f64) -> Result<f64, JsValue> {
        Ok(self.0.close(instant(now_ms))?.as_millis_ceil() as f64)
    }

    /// In the register: tells a shard whose setting is this which layout is in force.
    pub fn ask(&self, now_ms: f64, setting: &str) -> Result<String, JsValue> {
        let told = self.0.ask(instant(now_ms), &layout_of(setting)?)?;
        Ok(told.to_json())
    }

    /// In the register: what it takes to bring its own setting into force.
    pub fn plan(&self, now_ms: f64) -> Result<String, JsValue> {
        Ok(layout::plan(self.0.plan(instant(now_ms))?))
    }

    /// In the register: all objects to be closed are, and the last of their grants runs for so long.
    pub fn change(&self, now_ms: f64, longest_ms: f64) -> Result<String, JsValue> {
        let longest = number::span(longest_ms);
        Ok(self.0.change(instant(now_ms), longest)?.to_json())
    }
}

fn reply_to(ticket: f64) -> ReplyTo {
    ReplyTo(ticket as u64)
}

/// The instant at the driver's time.
fn instant(now_ms: f64) -> Instant {
    Instant::ZERO + number::span(now_ms)
}
