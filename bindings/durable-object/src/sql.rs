//! What the object needs of the runtime: the SQL of its storage.
#![allow(missing_docs, reason = "the runtime's own")]

use alloc::vec::Vec;

use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// A storage's SQL.
    pub type SqlStorage;

    #[wasm_bindgen(method, catch, js_name = exec)]
    pub fn run(this: &SqlStorage, query: &str) -> Result<Cursor, JsValue>;

    #[wasm_bindgen(method, catch, js_name = exec)]
    pub fn run_for(this: &SqlStorage, query: &str, place: &str) -> Result<Cursor, JsValue>;

    #[wasm_bindgen(method, catch, js_name = exec)]
    pub fn put_text(
        this: &SqlStorage,
        query: &str,
        place: &str,
        value: &str,
    ) -> Result<Cursor, JsValue>;

    /// The bytes are read before it returns.
    #[wasm_bindgen(method, catch, js_name = exec)]
    pub fn put_bytes(
        this: &SqlStorage,
        query: &str,
        place: &str,
        value: &[u8],
    ) -> Result<Cursor, JsValue>;

    /// What a statement gives.
    pub type Cursor;

    #[wasm_bindgen(method, catch, js_name = toArray)]
    pub fn rows(this: &Cursor) -> Result<Vec<Found>, JsValue>;

    /// A row with these columns, as far as it was asked for them.
    pub type Found;

    #[wasm_bindgen(method, getter)]
    pub fn place(this: &Found) -> JsValue;

    #[wasm_bindgen(method, getter)]
    pub fn value(this: &Found) -> JsValue;

    type Uint8Array;

    #[wasm_bindgen(constructor)]
    fn new(buffer: &JsValue) -> Uint8Array;

    #[wasm_bindgen(method)]
    fn slice(this: &Uint8Array) -> Vec<u8>;
}

/// The bytes of a column.
pub(crate) fn bytes(column: &JsValue) -> Vec<u8> {
    Uint8Array::new(column).slice()
}
