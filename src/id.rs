//! Random 128-bit identities.

use alloc::string::String;
use core::fmt;
use core::str::FromStr;

macro_rules! random_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u128);

        impl $name {
            /// The id with these 128 bits.
            pub const fn from_bits(bits: u128) -> Self {
                Self(bits)
            }

            /// The id's 128 bits.
            pub const fn to_bits(self) -> u128 {
                self.0
            }

            /// The id as 32 lower-case hexadecimal digits, as it travels.
            pub fn to_hex(self) -> String {
                hex(&self.0.to_be_bytes())
            }
        }

        /// Prints no digit: ids are credentials and must not reach a log.
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(..)"))
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                from_hex(text).map(Self)
            }
        }
    };
}

random_id! {
    /// One intention of a client, the same in every attempt to get it through. Repeating an
    /// operation under its id has the effect of one. Secret: a repeated acquire is answered with
    /// the lease it was granted.
    OpId
}

random_id! {
    /// One grant, and the credential for it: renewing, releasing and transferring name it.
    LeaseId
}

/// The text is not 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseIdError;

impl fmt::Display for ParseIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an id is 32 hexadecimal digits")
    }
}

impl core::error::Error for ParseIdError {}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            let from = if digit < 10 { b'0' } else { b'a' - 10 };
            text.push(char::from(from + digit));
        }
    }
    text
}

pub(crate) fn from_hex(text: &str) -> Result<u128, ParseIdError> {
    if text.len() != 32 {
        return Err(ParseIdError);
    }
    text.bytes().try_fold(0, |bits: u128, byte| {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            _ => return Err(ParseIdError),
        };
        Ok(bits << 4 | u128::from(digit))
    })
}

/// Names one send of a request. Only the answer to an attempt that is still awaited counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId(pub u32);

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn hex_round_trips_and_is_padded() {
        let id = LeaseId::from_bits(0xab);
        assert_eq!(id.to_hex(), "000000000000000000000000000000ab");
        assert_eq!(id.to_hex().parse(), Ok(id));
        assert_eq!("000000000000000000000000000000AB".parse(), Ok(id));
        let all = LeaseId::from_bits(u128::MAX);
        assert_eq!(all.to_hex().parse(), Ok(all));
    }

    #[test]
    fn refuses_anything_but_32_hex_digits() {
        for text in [
            "",
            "ab",
            "g0000000000000000000000000000000",
            "é00000000000000000000000000000",
        ] {
            assert_eq!(text.parse::<OpId>(), Err(ParseIdError), "{text}");
        }
    }

    #[test]
    fn debug_shows_no_digit_of_a_credential() {
        assert_eq!(format!("{:?}", LeaseId::from_bits(7)), "LeaseId(..)");
    }
}
