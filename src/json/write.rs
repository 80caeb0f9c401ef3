//! Writing.

use alloc::string::String;

use crate::id::hex;

/// JSON being written, object by object.
#[derive(Debug, Default)]
pub struct Writer(String);

impl Writer {
    /// Nothing so far.
    pub const fn new() -> Self {
        Self(String::new())
    }

    /// The text of an object with these fields.
    pub fn of(fields: impl FnOnce(&mut Self)) -> String {
        let mut json = Self::default();
        json.object(fields);
        json.0
    }

    /// An object, as a value.
    pub fn object(&mut self, fields: impl FnOnce(&mut Self)) {
        self.0.push('{');
        fields(self);
        self.0.push('}');
    }

    /// An array, as a value.
    pub fn items<T>(&mut self, items: impl IntoIterator<Item = T>, write: impl Fn(&mut Self, T)) {
        self.0.push('[');
        for item in items {
            write(self.item(), item);
        }
        self.0.push(']');
    }

    /// Another item of an array. Its value comes next.
    pub fn item(&mut self) -> &mut Self {
        self.separate();
        self
    }

    /// Text, as a value.
    pub fn quoted(&mut self, text: &str) {
        self.0.push('"');
        let mut from = 0;
        for (at, byte) in text.bytes().enumerate() {
            if byte < b' ' || byte == b'"' || byte == b'\\' {
                self.raw(text.get(from..at).unwrap_or_default());
                self.escaped(byte);
                from = at + 1;
            }
        }
        self.raw(text.get(from..).unwrap_or_default());
        self.0.push('"');
    }

    fn escaped(&mut self, byte: u8) {
        if byte >= b' ' {
            self.0.push('\\');
            self.0.push(char::from(byte));
        } else {
            self.raw("\\u");
            self.raw(&hex(&[0, byte]));
        }
    }

    /// A number, as a value.
    pub fn digits(&mut self, value: u64) {
        if value >= 10 {
            self.digits(value / 10);
        }
        self.0.push(char::from(b'0' + (value % 10) as u8));
    }

    /// A number that may be too large for JavaScript's, as text.
    pub fn quoted_digits(&mut self, value: u64) {
        self.0.push('"');
        self.digits(value);
        self.0.push('"');
    }

    /// True or false, as a value.
    pub fn truth(&mut self, value: bool) {
        self.raw(if value { "true" } else { "false" });
    }

    /// JSON that is written already, as a value.
    pub fn raw(&mut self, json: &str) {
        self.0.push_str(json);
    }

    /// A field's name. Its value comes next.
    pub fn name(&mut self, name: &str) -> &mut Self {
        self.separate();
        self.quoted(name);
        self.0.push(':');
        self
    }

    /// A field that is an array.
    pub fn array<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        write: impl Fn(&mut Self, T),
    ) {
        self.name(name).items(items, write);
    }

    /// A field that is an array of the items in `items`.
    pub fn list(&mut self, name: &str, items: &Self) {
        self.name(name).0.push('[');
        self.raw(&items.0);
        self.0.push(']');
    }

    /// A field that is an object.
    pub fn record(&mut self, name: &str, fields: impl FnOnce(&mut Self)) {
        self.name(name).object(fields);
    }

    /// A field that is text.
    pub fn text(&mut self, name: &str, value: &str) {
        self.name(name).quoted(value);
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
        self.name(name).digits(value);
    }

    /// A field that is a number which may be too large for JavaScript's, as text.
    pub fn decimal(&mut self, name: &str, value: u64) {
        self.name(name).quoted_digits(value);
    }

    /// A field that is true or false.
    pub fn flag(&mut self, name: &str, value: bool) {
        self.name(name).truth(value);
    }

    fn separate(&mut self) {
        if !matches!(self.0.as_bytes().last(), None | Some(b'{' | b'[')) {
            self.0.push(',');
        }
    }
}

impl From<Writer> for String {
    fn from(json: Writer) -> Self {
        json.0
    }
}
