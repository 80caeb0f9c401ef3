//! Enumerations whose variants travel as words.

/// Where a word stands among others.
pub(crate) fn index(words: &[&str], word: &str) -> Option<usize> {
    words.iter().position(|known| *known == word)
}

/// An enumeration with one word for each variant: both ways between the two, and all of them.
macro_rules! words {
    (
        $(#[$doc:meta])*
        pub enum $name:ident {
            $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $name {
            /// Every variant.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Every word, in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word,)+];

            /// The word for it, as it travels.
            pub const fn name(self) -> &'static str {
                Self::WORDS[self as usize]
            }

            /// The variant with this word.
            pub fn from_name(word: &str) -> Option<Self> {
                let index = crate::words::index(Self::WORDS, word)?;
                Self::ALL.get(index).copied()
            }
        }
    };
}

pub(crate) use words;
