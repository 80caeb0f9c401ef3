//! Writing.

use alloc::string::String;

/// JSON being written, object by object.
#[derive(Debug, Default)]
pub struct Writer(String);

impl Writer {
    /// The text of an object with these fields.
    pub fn of(fields: impl FnOnce(&mut Self)) -> String {
        let mut json = Self::default();
        json.object(fields);
        json.0
    }

    /// An object, as a value.
    pub fn object(&mut self, fields: impl FnOnce(&mut Self)) {
        self.enclosed('{', fields, '}');
    }

    /// An array, as a value.
    pub fn items<T>(&mut self, items: impl IntoIterator<Item = T>, write: impl Fn(&mut Self, T)) {
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

    /// Text, as a value.
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

    fn enclosed(&mut self, open: char, inner: impl FnOnce(&mut Self), close: char) {
        self.0.push(open);
        inner(self);
        self.0.push(close);
    }

    fn separate(&mut self) {
        if !self.0.ends_with(['{', '[']) && !self.0.is_empty() {
            self.0.push(',');
        }
    }
}

impl From<Writer> for String {
    fn from(json: Writer) -> Self {
        json.0
    }
}
