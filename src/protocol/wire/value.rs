//! How each kind of value stands in a record.

use alloc::borrow::Cow;
use alloc::string::String;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use super::request::Verb;
use super::response::Outcome;
use crate::fence::Fence;
use crate::id::{LeaseId, OpId};
use crate::invalid::Field;
use crate::json::{self, Writer};
use crate::name::{HolderName, Key};
use crate::protocol::{Code, VERSION};

/// A kind of JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// True or false.
    Flag,
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
}

/// A value of some kind.
pub(super) trait Value: Sized {
    const KIND: Kind;
    /// What it must be, for somebody who sent something else or nothing.
    const EXPECTED: &'static str;

    /// The value, from how it stands in the text.
    fn read(value: &str) -> Option<Self>;
    fn write(&self, json: &mut Writer);
}

/// A value that may be absent. JSON's `null` is the same as absent.
pub(super) trait Slot: Sized {
    const KIND: Kind;

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

words!(Code, Outcome, Verb);

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
