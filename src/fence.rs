//! Fences: the numbers a resource checks.

use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number that strictly rises with every grant and transfer of a key, for ever.
///
/// A resource that refuses any fence lower than the highest it has seen is never written by a
/// stale holder. Public: it opens nothing. It travels as a decimal string, since a JavaScript
/// number is not exact above 2^53.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(u64);

impl Fence {
    /// Lower than any fence ever granted.
    pub const NONE: Self = Self(0);

    /// The fence with this value.
    pub const fn from_value(value: u64) -> Self {
        Self(value)
    }

    /// The fence's value.
    pub const fn value(self) -> u64 {
        self.0
    }

    /// The next higher fence, or `None` after 2^64 − 1 grants.
    pub const fn next(self) -> Option<Self> {
        match self.0.checked_add(1) {
            Some(value) => Some(Self(value)),
            None => None,
        }
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The text is not a decimal number below 2^64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseFenceError;

impl fmt::Display for ParseFenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a fence is a decimal string below 2^64")
    }
}

impl core::error::Error for ParseFenceError {}

impl FromStr for Fence {
    type Err = ParseFenceError;

    fn from_str(text: &str) -> Result<Self, ParseFenceError> {
        // `u64::from_str` would also take a leading plus sign.
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(ParseFenceError);
        }
        text.parse().map(Self).map_err(|_| ParseFenceError)
    }
}

impl From<Fence> for String {
    fn from(fence: Fence) -> Self {
        fence.0.to_string()
    }
}

impl Serialize for Fence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&String::from(*self))
    }
}

impl<'de> Deserialize<'de> for Fence {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(DecimalVisitor)
    }
}

struct DecimalVisitor;

impl Visitor<'_> for DecimalVisitor {
    type Value = Fence;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&ParseFenceError, f)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Fence, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_exact_beyond_two_to_the_53() {
        for value in [0, 1, 9_007_199_254_740_993, u64::MAX] {
            let fence = Fence::from_value(value);
            assert_eq!(String::from(fence).parse(), Ok(fence));
        }
        assert_eq!(
            "9007199254740993".parse::<Fence>().map(Fence::value),
            Ok(9_007_199_254_740_993)
        );
    }

    #[test]
    fn refuses_what_is_not_a_decimal_number() {
        for text in ["", "+1", "-1", "1.0", "0x1", " 1", "18446744073709551616"] {
            assert_eq!(text.parse::<Fence>(), Err(ParseFenceError), "{text}");
        }
    }

    #[test]
    fn ends_rather_than_wraps() {
        assert_eq!(Fence::from_value(u64::MAX).next(), None);
        assert_eq!(Fence::NONE.next(), Some(Fence::from_value(1)));
    }
}
