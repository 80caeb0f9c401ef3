//! The few things this crate asks of JavaScript.

use alloc::string::String;

use leasehold::protocol::Invalid;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = Reflect, js_name = get)]
    fn reflect_get(record: &JsValue, field: &str) -> JsValue;

    #[wasm_bindgen(js_namespace = JSON, js_name = parse)]
    fn json_parse(text: &str) -> JsValue;
}

/// A field of a plain record, which the caller has to have made so: reading it runs no code.
pub fn field(record: &JsValue, name: &str) -> JsValue {
    reflect_get(record, name)
}

/// A field that is there.
pub fn present(record: &JsValue, name: &str) -> Option<JsValue> {
    let value = field(record, name);
    (!value.is_null() && !value.is_undefined()).then_some(value)
}

/// JSON being written, object by object.
///
/// One text and one `JSON.parse` cost a fraction of the code and of the crossings that it takes to
/// build objects field by field, and of what a general serialiser takes.
pub struct Json(String);

impl Json {
    /// An object with these fields.
    pub fn of(fields: impl FnOnce(&mut Self)) -> JsValue {
        let mut json = Self(String::new());
        json.object(fields);
        json_parse(&json.0)
    }

    /// What is wrong with an argument.
    pub fn complaint(invalid: Invalid) -> JsValue {
        Self::of(|json| {
            json.text("field", invalid.field.name());
            json.text("message", invalid.expected);
        })
    }

    /// An object, as an item of an array.
    pub fn object(&mut self, fields: impl FnOnce(&mut Self)) {
        self.enclosed('{', fields, '}');
    }

    /// A field that is an array.
    pub fn array<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        write: impl Fn(&mut Self, T),
    ) {
        self.name(name);
        self.enclosed(
            '[',
            |json| {
                for item in items {
                    json.separate();
                    write(json, item);
                }
            },
            ']',
        );
    }

    /// A field that is an object.
    pub fn record(&mut self, name: &str, fields: impl FnOnce(&mut Self)) {
        self.name(name);
        self.object(fields);
    }

    /// A field that is text.
    pub fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        self.quoted(value);
    }

    /// A field that is text, if there is any.
    pub fn optional(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.text(name, value);
        }
    }

    /// A field that is a number, if there is one.
    pub fn optional_number(&mut self, name: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.number(name, value);
        }
    }

    /// A field that is a number.
    pub fn number(&mut self, name: &str, value: u64) {
        self.name(name);
        self.digits(value);
    }

    /// A number that may be too large for JavaScript's, as text.
    pub fn decimal(&mut self, name: &str, value: u64) {
        self.name(name);
        self.0.push('"');
        self.digits(value);
        self.0.push('"');
    }

    /// A field that is true or false.
    pub fn flag(&mut self, name: &str, value: bool) {
        self.name(name);
        self.0.push_str(if value { "true" } else { "false" });
    }

    fn enclosed(&mut self, open: char, inner: impl FnOnce(&mut Self), close: char) {
        self.0.push(open);
        inner(self);
        self.0.push(close);
    }

    fn name(&mut self, name: &str) {
        self.separate();
        self.quoted(name);
        self.0.push(':');
    }

    fn separate(&mut self) {
        if !self.0.ends_with(['{', '[']) && !self.0.is_empty() {
            self.0.push(',');
        }
    }

    /// A number, as an item of an array.
    pub fn digits(&mut self, value: u64) {
        if value >= 10 {
            self.digits(value / 10);
        }
        self.0.push(char::from(b'0' + (value % 10) as u8));
    }

    /// Text, as an item of an array.
    pub fn quoted(&mut self, text: &str) {
        self.0.push('"');
        for char in text.chars() {
            match char {
                '"' | '\\' => {
                    self.0.push('\\');
                    self.0.push(char);
                }
                '\0'..='\x1f' => {
                    self.0.push_str("\\u00");
                    self.0.push(if char < '\x10' { '0' } else { '1' });
                    self.0
                        .push(char::from(b"0123456789abcdef"[char as usize & 15]));
                }
                _ => self.0.push(char),
            }
        }
        self.0.push('"');
    }
}
