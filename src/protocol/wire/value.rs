//! How each kind of value stands in a record.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use super::request::{Repeat, Verb};
use super::response::Outcome;
use crate::fence::{Fence, Revision};
use crate::id::{LeaseId, OpId};
use crate::invalid::Field;
use crate::json::{self, Json, Writer};
use crate::name::{EntryName, Fingerprint, HolderName, Key};
use crate::protocol::{Code, VERSION};

/// A kind of JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any JSON.
    Any,
    /// True or false.
    Flag,
    /// A list of values.
    List(&'static Kind),
    /// Values by name.
    Map(&'static Kind),
    /// An object with these fields.
    Record(&'static [FieldSchema]),
    /// A string.
    Text,
    /// A whole number.
    Whole,
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

/// A value of some kind.
pub(crate) trait Value: Sized {
    const KIND: Kind;
    /// What it must be, for somebody who sent something else or nothing.
    const EXPECTED: &'static str;

    /// The value, from how it stands in the text.
    fn read(value: &str) -> Option<Self>;
    fn write(&self, json: &mut Writer);
}

/// A value that may be absent.
pub(crate) trait Slot: Sized {
    const KIND: Kind;
    const REQUIRED: bool = false;

    fn take(value: Option<&str>) -> Result<Self, &'static str>;
    fn is_absent(&self) -> bool;
    fn write(&self, json: &mut Writer);
}

impl<T: Value> Slot for Option<T> {
    const KIND: Kind = T::KIND;

    fn take(value: Option<&str>) -> Result<Self, &'static str> {
        match value {
            Some(value) => T::read(value).map(Some).ok_or(T::EXPECTED),
            None => Ok(None),
        }
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }

    fn write(&self, json: &mut Writer) {
        if let Some(value) = self {
            value.write(json);
        }
    }
}

/// Always there.
impl<T: Value> Slot for T {
    const KIND: Kind = T::KIND;
    const REQUIRED: bool = true;

    fn take(value: Option<&str>) -> Result<Self, &'static str> {
        value.and_then(T::read).ok_or(T::EXPECTED)
    }

    fn is_absent(&self) -> bool {
        false
    }

    fn write(&self, json: &mut Writer) {
        Value::write(self, json);
    }
}

/// False where it is absent.
impl Slot for bool {
    const KIND: Kind = Kind::Flag;

    fn take(value: Option<&str>) -> Result<Self, &'static str> {
        match value {
            Some("true") => Ok(true),
            Some("false") | None => Ok(false),
            Some(_) => Err("must be true or false"),
        }
    }

    fn is_absent(&self) -> bool {
        !self
    }

    fn write(&self, json: &mut Writer) {
        json.truth(*self);
    }
}

macro_rules! whole {
    ($($type:ty),*) => {$(
        impl Value for $type {
            const KIND: Kind = Kind::Whole;
            const EXPECTED: &'static str = "must be a whole number";

            fn read(value: &str) -> Option<Self> {
                json::whole(value)?.try_into().ok()
            }

            fn write(&self, json: &mut Writer) {
                json.digits((*self).into());
            }
        }
    )*};
}

whole!(u32, u64);

impl Value for String {
    const KIND: Kind = Kind::Text;
    const EXPECTED: &'static str = "must be a string without lone surrogates";

    fn read(value: &str) -> Option<Self> {
        json::text(value)
    }

    fn write(&self, json: &mut Writer) {
        json.quoted(self);
    }
}

impl Value for Cow<'static, str> {
    const KIND: Kind = Kind::Text;
    const EXPECTED: &'static str = String::EXPECTED;

    fn read(value: &str) -> Option<Self> {
        String::read(value).map(Cow::Owned)
    }

    fn write(&self, json: &mut Writer) {
        json.quoted(self);
    }
}

macro_rules! parsed {
    ($($type:ty, $expected:literal, $write:expr;)*) => {$(
        impl Value for $type {
            const KIND: Kind = Kind::Text;
            const EXPECTED: &'static str = $expected;

            fn read(value: &str) -> Option<Self> {
                <$type>::from_str(&json::text(value)?).ok()
            }

            fn write(&self, json: &mut Writer) {
                let write: fn(&Self, &mut Writer) = $write;
                write(self, json);
            }
        }
    )*};
}

parsed! {
    OpId, "must be 32 hexadecimal digits", |id, json| json.quoted(&id.to_hex());
    LeaseId, "must be 32 hexadecimal digits", |id, json| json.quoted(&id.to_hex());
    Fence, "must be a decimal number below 2^64, as a string", |fence, json| json.quoted_digits(fence.value());
    Revision, "must be a decimal number below 2^64, as a string", |revision, json| json.quoted_digits(revision.value());
}

macro_rules! named {
    ($($type:ty, $expected:literal;)*) => {$(
        impl Value for $type {
            const KIND: Kind = Kind::Text;
            const EXPECTED: &'static str = $expected;

            fn read(value: &str) -> Option<Self> {
                <$type>::parse(&json::text(value)?).ok()
            }

            fn write(&self, json: &mut Writer) {
                json.quoted(self.as_str());
            }
        }
    )*};
}

named! {
    EntryName, "must be a string of 1 to 128 bytes of UTF-8 without lone surrogates";
    Fingerprint, "must be a string of 1 to 128 bytes of UTF-8 without lone surrogates";
    HolderName, "must be a string of 1 to 256 bytes of UTF-8 without lone surrogates";
    Key, "must be a string of 1 to 512 bytes of UTF-8 without lone surrogates";
}

macro_rules! words {
    ($($type:ty),*) => {$(
        impl Value for $type {
            const KIND: Kind = Kind::Text;
            const EXPECTED: &'static str = "must be one of the protocol's";

            fn read(value: &str) -> Option<Self> {
                <$type>::from_name(&json::text(value)?)
            }

            fn write(&self, json: &mut Writer) {
                json.quoted(self.name());
            }
        }
    )*};
}

words!(Code, Outcome, Repeat, Verb);

/// The protocol's version, as a number: there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "u32", try_from = "u32")]
pub struct Version;

impl From<Version> for u32 {
    fn from(Version: Version) -> Self {
        VERSION
    }
}

impl TryFrom<u32> for Version {
    type Error = &'static str;

    fn try_from(version: u32) -> Result<Self, Self::Error> {
        (version == VERSION).then_some(Self).ok_or(Self::EXPECTED)
    }
}

impl Value for Version {
    const KIND: Kind = Kind::Whole;
    const EXPECTED: &'static str = "must be 1";

    fn read(value: &str) -> Option<Self> {
        (json::whole(value)? == u64::from(VERSION)).then_some(Self)
    }

    fn write(&self, json: &mut Writer) {
        json.digits(VERSION.into());
    }
}

/// JSON as it is.
impl Value for Json {
    const KIND: Kind = Kind::Any;
    const EXPECTED: &'static str = "must be JSON";

    fn read(value: &str) -> Option<Self> {
        Self::parse(value)
    }

    fn write(&self, json: &mut Writer) {
        json.raw(self.as_str());
    }
}

/// JSON as text: whoever only passes it on need not look into it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct JsonText(pub Json);

impl From<JsonText> for String {
    fn from(JsonText(json): JsonText) -> Self {
        json.as_str().into()
    }
}

impl TryFrom<String> for JsonText {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Json::parse(&text).map(Self).ok_or(Self::EXPECTED)
    }
}

impl Value for JsonText {
    const KIND: Kind = Kind::Text;
    const EXPECTED: &'static str = "must be JSON as text, nested at most 64 deep";

    fn read(value: &str) -> Option<Self> {
        Json::parse(&json::text(value)?).map(Self)
    }

    fn write(&self, json: &mut Writer) {
        json.quoted(self.0.as_str());
    }
}

impl<T: Value> Value for Vec<T> {
    const KIND: Kind = Kind::List(&T::KIND);
    const EXPECTED: &'static str = T::EXPECTED;

    fn read(value: &str) -> Option<Self> {
        let mut items = Self::new();
        json::array(value, &mut |item| {
            items.push(T::read(item)?);
            Some(())
        })?;
        Some(items)
    }

    fn write(&self, json: &mut Writer) {
        json.items(self, |json, item| item.write(json));
    }
}

impl<T: Value> Value for BTreeMap<EntryName, T> {
    const KIND: Kind = Kind::Map(&T::KIND);
    const EXPECTED: &'static str = T::EXPECTED;

    fn read(value: &str) -> Option<Self> {
        let mut entries = Self::new();
        json::fields(value, &mut |name, value| {
            entries.insert(EntryName::read(name)?, T::read(value)?);
            Some(())
        })?;
        Some(entries)
    }

    fn write(&self, json: &mut Writer) {
        json.object(|json| {
            for (name, value) in self {
                value.write(json.name(name.as_str()));
            }
        });
    }
}
