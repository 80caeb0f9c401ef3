//! What the fields of a record must be.

use super::record::Record;
use crate::decimal;
use crate::id::from_hex;
use crate::invalid::Field;
use crate::json;
use crate::protocol::VERSION;
use crate::words;

/// A kind of JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any JSON.
    Any,
    /// A string: a number below 2^64 in decimal.
    Decimal,
    /// A whole number below 2^32.
    Count,
    /// True or false.
    Flag,
    /// A string: 32 hexadecimal digits.
    Id,
    /// A string: JSON as text, for whoever only passes it on.
    JsonText,
    /// A list of values.
    List(&'static Kind),
    /// Values by an entry's name.
    Map(&'static Kind),
    /// A string: of so many bytes at most, and not empty.
    Name(usize),
    /// An object with these fields.
    Record(&'static [FieldSchema]),
    /// A string.
    Text,
    /// The protocol's version, as a number: there is one.
    Version,
    /// A whole number that JavaScript counts exactly.
    Whole,
    /// A string: one of these.
    Word(&'static [&'static str]),
}

/// A field of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldSchema {
    /// Its name.
    pub field: Field,
    /// What its value is.
    pub kind: Kind,
    /// Whether it is always there.
    pub required: bool,
}

/// A field that may be absent.
pub const fn optional(field: Field, kind: Kind) -> FieldSchema {
    FieldSchema {
        field,
        kind,
        required: false,
    }
}

/// A field that is always there.
pub(super) const fn required(field: Field, kind: Kind) -> FieldSchema {
    FieldSchema {
        field,
        kind,
        required: true,
    }
}

impl Kind {
    /// Whether a value, as it stands in a text, is of this kind.
    pub(super) fn fits(self, value: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Flag => value == "true" || value == "false",
            Self::Version => json::whole(value) == Some(VERSION.into()),
            Self::Count => json::whole(value).is_some_and(|number| number <= u32::MAX.into()),
            Self::Whole => json::whole(value).is_some(),
            Self::List(item) => json::array(value, &mut |value| accept(item.fits(value))).is_some(),
            Self::Map(item) => {
                let entry = &mut |name: &str, value: &str| {
                    accept(Self::Name(128).fits(name) && item.fits(value))
                };
                json::fields(value, entry).is_some()
            }
            Self::Record(schema) => Record::read(value, schema).is_ok(),
            _ => json::text(value).is_some_and(|text| self.fits_text(&text)),
        }
    }

    fn fits_text(self, text: &str) -> bool {
        match self {
            Self::Decimal => decimal::parse(text).is_ok(),
            Self::Id => from_hex(text).is_ok(),
            Self::JsonText => json::is_json(text),
            Self::Name(most) => !text.is_empty() && text.len() <= most,
            Self::Word(words) => words::index(words, text).is_some(),
            _ => true,
        }
    }

    /// What it must be, for somebody who sent something else or nothing.
    pub(super) const fn expected(self) -> &'static str {
        match self {
            Self::Any => "must be JSON",
            Self::Decimal => "must be a decimal number below 2^64, as a string",
            Self::Flag => "must be true or false",
            Self::Id => "must be 32 hexadecimal digits",
            Self::JsonText => "must be JSON as text, nested at most 64 deep",
            Self::Name(128) => {
                "must be a string of 1 to 128 bytes of UTF-8 without lone surrogates"
            }
            Self::Name(_) => "must be a string of 1 to 256 bytes of UTF-8 without lone surrogates",
            Self::List(_) | Self::Map(_) | Self::Record(_) => "must be as the protocol says",
            Self::Text => "must be a string without lone surrogates",
            Self::Version => "must be 1",
            Self::Count | Self::Whole => "must be a whole number",
            Self::Word(_) => "must be one of the protocol's",
        }
    }
}

fn accept(fits: bool) -> Option<()> {
    fits.then_some(())
}
