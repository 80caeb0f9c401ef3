//! Numbers that travel as decimal text: a JavaScript number is not exact above 2^53.

use alloc::string::String;
use core::fmt;

/// The text is not a decimal number below 2^64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseDecimalError;

impl fmt::Display for ParseDecimalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be a decimal string below 2^64")
    }
}

impl core::error::Error for ParseDecimalError {}

pub(crate) fn parse(text: &str) -> Result<u64, ParseDecimalError> {
    let number = text.bytes().try_fold(0_u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    });
    number.filter(|_| !text.is_empty()).ok_or(ParseDecimalError)
}

/// A number in decimal, without the formatting machinery: that weighs more than what uses this.
pub(crate) fn text(number: u64) -> String {
    let mut digits = if number >= 10 {
        text(number / 10)
    } else {
        String::new()
    };
    digits.push(char::from(b'0' + (number % 10) as u8));
    digits
}

/// A number of its own kind.
macro_rules! decimal {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u64);

        impl $name {
            /// The number with this value.
            pub const fn from_value(value: u64) -> Self {
                Self(value)
            }

            /// Its value.
            pub const fn value(self) -> u64 {
                self.0
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Display::fmt(&self.0, f)
            }
        }

        impl core::str::FromStr for $name {
            type Err = crate::decimal::ParseDecimalError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                crate::decimal::parse(text).map(Self)
            }
        }

        impl From<$name> for alloc::string::String {
            fn from(number: $name) -> Self {
                alloc::string::ToString::to_string(&number.0)
            }
        }
    };
}

pub(crate) use decimal;
