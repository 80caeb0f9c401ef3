//! Enumerations whose variants travel as words.

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

            /// The word for it, as it travels.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// The variant with this word.
            pub fn from_name(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|variant| variant.name() == word)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = <alloc::borrow::Cow<'_, str>>::deserialize(deserializer)?;
                Self::from_name(&word).ok_or_else(|| {
                    serde::de::Error::custom(concat!(stringify!($name), " has no such word"))
                })
            }
        }
    };
}

pub(crate) use words;
