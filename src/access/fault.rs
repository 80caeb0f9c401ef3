//! What is wrong with a configuration, for whoever has to mend it.

use alloc::string::String;
use alloc::vec::Vec;

use crate::decimal;

/// One thing that is wrong with a variable. Quotes nothing of it: any part may be a secret in the
/// wrong place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    variable: &'static str,
    entry: Option<usize>,
    flaw: Flaw,
}

/// In which way it is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// A token that is there already.
    Duplicate,
    /// An entry of a list that is no object.
    Entry,
    /// A field that an entry does not have.
    Field,
    /// There is no token.
    NoToken,
    /// Not text: bound as a JSON variable, perhaps.
    NotText,
    /// No origin of pages.
    Origin,
    /// Prefixes that are no list of texts.
    Prefixes,
    /// Rights that are no list of rights.
    Rights,
    /// A token that can be guessed.
    Short,
    /// An entry without a token.
    Token,
    /// A token that no header can carry.
    Unmatchable,
    /// Neither a token nor a list.
    Unreadable,
}

impl Flaw {
    const fn message(self) -> &'static str {
        match self {
            Self::Duplicate => "repeats a token: give each one entry with all its prefixes",
            Self::Entry => "must be an object with a token",
            Self::Field => "has a field other than token, prefixes and rights, or one twice",
            Self::NoToken => "is not set: nobody has access",
            Self::NotText => "must be a secret or a text, not a JSON variable",
            Self::Origin => "must be an origin such as https://app.example.com",
            Self::Prefixes => "must have a list of texts as prefixes",
            Self::Rights => "must have a list of hold, inspect, revoke as rights",
            Self::Short => "has a token of fewer than 16 characters",
            Self::Token => "must have a text as token",
            Self::Unmatchable => {
                "has a token that no request can show: printable ASCII without spaces is needed"
            }
            Self::Unreadable => "is neither one token nor a JSON list of {token, prefixes, rights}",
        }
    }
}

impl Fault {
    /// The tokens, or the entry of that number in their list.
    pub const fn of_tokens(entry: Option<usize>, flaw: Flaw) -> Self {
        Self {
            variable: "LEASEHOLD_TOKENS",
            entry,
            flaw,
        }
    }

    /// The operator's token.
    pub const fn of_operator(flaw: Flaw) -> Self {
        Self {
            variable: "LEASEHOLD_OPERATOR_TOKEN",
            entry: None,
            flaw,
        }
    }

    /// The origins, or the one of that number.
    pub const fn of_origins(entry: Option<usize>, flaw: Flaw) -> Self {
        Self {
            variable: "LEASEHOLD_ORIGINS",
            entry,
            flaw,
        }
    }

    /// A sentence for the log.
    pub fn message(&self) -> String {
        let mut message = String::from(self.variable);
        if let Some(entry) = self.entry {
            message.push_str(", entry ");
            message.push_str(&decimal::text(entry as u64));
        }
        message.push(' ');
        message.push_str(self.flaw.message());
        message.push('.');
        message
    }
}

impl From<Fault> for Vec<Fault> {
    fn from(fault: Fault) -> Self {
        Self::from([fault])
    }
}
