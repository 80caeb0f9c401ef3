//! Keys and holder names: text checked once, at the border.

use alloc::sync::Arc;
use core::fmt;

use crate::invalid::{Field, Invalid};

macro_rules! bounded_name {
    ($(#[$doc:meta])* $name:ident, $field:expr, $max:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The longest allowed, in bytes of UTF-8.
            pub const MAX_BYTES: usize = $max;

            /// Takes the text as it is, byte for byte: no trimming and no Unicode normalisation.
            ///
            /// # Errors
            /// [`Invalid`] when it is empty or longer than [`Self::MAX_BYTES`].
            pub fn parse(text: &str) -> Result<Self, Invalid> {
                if text.is_empty() {
                    return Err(Invalid::new($field, "must not be empty"));
                }
                if text.len() > Self::MAX_BYTES {
                    return Err(Invalid::new(
                        $field,
                        concat!("must not be longer than ", $max, " bytes of UTF-8"),
                    ));
                }
                Ok(Self(text.into()))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
    };
}

bounded_name! {
    /// What is leased. Two keys are the same if their UTF-8 bytes are.
    Key, Field::Key, 512
}

bounded_name! {
    /// Who holds a lease: a name for people, not a credential.
    HolderName, Field::Holder, 256
}

bounded_name! {
    /// What an entry of a grant is called.
    EntryName, Field::Name, 128
}

bounded_name! {
    /// What tells the inputs of a piece of work apart: two runs over one key must have the same.
    Fingerprint, Field::Fingerprint, 128
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Debug for EntryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Prints no character: names of holders must not reach a log.
impl fmt::Debug for HolderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HolderName(..)")
    }
}

/// Prints no character: it may be made of the work's input.
impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fingerprint(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn keeps_the_text_byte_for_byte() {
        for text in [
            "12345",
            "1e3",
            "café",
            "cafe\u{301}",
            "ключ🔒",
            "\0x",
            " a ",
        ] {
            assert_eq!(
                Key::parse(text).map(|key| key.as_str() == text),
                Ok(true),
                "{text:?}"
            );
        }
        assert_ne!(Key::parse("café"), Key::parse("cafe\u{301}"));
    }

    #[test]
    fn refuses_empty_and_overlong_text() {
        assert!(Key::parse("").is_err());
        assert!(Key::parse(&"k".repeat(512)).is_ok());
        assert!(Key::parse(&"k".repeat(513)).is_err());
        // 171 three-byte characters are 513 bytes.
        assert!(Key::parse(&"語".repeat(171)).is_err());
        assert!(HolderName::parse(&"h".repeat(257)).is_err());
    }

    #[test]
    fn debug_hides_the_holder() {
        let holder = HolderName::parse("alice").map(|name| format!("{name:?}"));
        assert_eq!(holder.as_deref(), Ok("HolderName(..)"));
    }
}
