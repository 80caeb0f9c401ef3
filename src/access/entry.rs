//! One token, the keys it opens and what it may do with them.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::Flaw;
use crate::protocol::Operation;
use crate::protocol::wire::Verb;
use crate::words::words;

/// One token, the keys it opens and what it may do with them.
#[derive(Clone, PartialEq, Eq)]
pub struct Entry {
    /// The token. Secret.
    pub token: String,
    /// What a key must begin with, one of these; `None` opens every key, an empty list opens none.
    pub prefixes: Option<Vec<String>>,
    /// What it may do.
    pub rights: Rights,
}

/// Prints no character of the token.
impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("prefixes", &self.prefixes)
            .field("rights", &self.rights)
            .finish_non_exhaustive()
    }
}

impl Entry {
    /// The least a token must have: below that it can be guessed.
    pub const MIN_TOKEN_BYTES: usize = 16;

    pub(super) fn checked(self) -> Result<Self, Flaw> {
        check_token(&self.token).map(|()| self)
    }

    pub(super) fn covers(&self, key: &str) -> bool {
        self.prefixes.as_ref().is_none_or(|prefixes| {
            prefixes
                .iter()
                .any(|prefix| key.as_bytes().starts_with(prefix.as_bytes()))
        })
    }
}

/// A token has to go through a header as it is.
pub(super) fn check_token(token: &str) -> Result<(), Flaw> {
    if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Flaw::Unmatchable);
    }
    if token.len() < Entry::MIN_TOKEN_BYTES {
        return Err(Flaw::Short);
    }
    Ok(())
}

words! {
    /// One thing that a token may do.
    pub enum Right {
        /// Acquire leases, and whatever a holder does with its own.
        Hold = "hold",
        /// See who holds what.
        Inspect = "inspect",
        /// End anybody's lease.
        Revoke = "revoke",
    }
}

impl Right {
    /// The right that an operation takes.
    pub const fn for_operation(operation: Verb) -> Self {
        match operation {
            Verb::Acquire
            | Verb::Cancel
            | Verb::Entry
            | Verb::Finish
            | Verb::Release
            | Verb::Renew
            | Verb::Transfer
            | Verb::Verify => Self::Hold,
            Verb::Inspect | Verb::List | Verb::Watch => Self::Inspect,
            Verb::Revoke => Self::Revoke,
        }
    }

    /// The right that a request takes beside its operation's: to steal is to revoke.
    pub const fn beside(operation: &Operation) -> Option<Self> {
        match operation {
            Operation::Acquire(acquire) if acquire.steal => Some(Self::Revoke),
            _ => None,
        }
    }

    pub(super) const fn missing(self) -> &'static str {
        match self {
            Self::Hold => "The token may not hold leases: its rights lack \"hold\".",
            Self::Inspect => "The token may not inspect keys: its rights lack \"inspect\".",
            Self::Revoke => "The token may not revoke leases: its rights lack \"revoke\".",
        }
    }
}

/// What a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights(u8);

impl Rights {
    /// Everything.
    pub const ALL: Self = Self(0b111);

    /// What a token may do that a list says nothing about: not to other people's leases.
    pub const DEFAULT: Self = Self(0b011);

    /// These, by their names.
    ///
    /// # Errors
    /// [`Flaw::Rights`] for a name that is none, or no name at all.
    pub fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, Flaw> {
        let mut bits = 0;
        for name in names {
            bits |= bit(Right::from_name(name).ok_or(Flaw::Rights)?);
        }
        if bits == 0 {
            return Err(Flaw::Rights);
        }
        Ok(Self(bits))
    }

    /// Whether it is one of them.
    pub const fn include(self, right: Right) -> bool {
        self.0 & bit(right) != 0
    }
}

const fn bit(right: Right) -> u8 {
    1 << right as u8
}
