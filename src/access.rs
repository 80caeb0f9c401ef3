//! Who may operate on which keys: bearer tokens with scopes, for hosts that anyone can reach.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::hint::black_box;

use crate::protocol::{Code, Refusal};

/// One token and the keys it opens.
#[derive(Clone, PartialEq, Eq)]
pub struct Entry {
    /// The token. Secret.
    pub token: String,
    /// What a key must begin with, one of these; `None` opens every key, an empty list opens none.
    pub prefixes: Option<Vec<String>>,
}

/// Prints no character of the token.
impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("prefixes", &self.prefixes)
            .finish_non_exhaustive()
    }
}

/// The tokens that a host accepts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    entries: Vec<Entry>,
}

/// Why entries are no basis for access: a reason to refuse everybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misconfigured {
    /// There is no entry.
    NoToken,
    /// A token has fewer than [`Access::MIN_TOKEN_BYTES`].
    ShortToken,
    /// The configuration is no list of entries.
    Unreadable,
}

impl Misconfigured {
    const fn message(self) -> &'static str {
        match self {
            Self::NoToken => "No token is configured: set the secret LEASEHOLD_TOKENS.",
            Self::ShortToken => {
                "The secret LEASEHOLD_TOKENS has a token shorter than 16 bytes: make it longer."
            }
            Self::Unreadable => {
                "The secret LEASEHOLD_TOKENS is neither one token nor a JSON list of \
                 {\"token\", \"prefixes\"}."
            }
        }
    }
}

impl From<Misconfigured> for Refusal {
    fn from(misconfigured: Misconfigured) -> Self {
        Self::new(Code::Unavailable, "not-configured", misconfigured.message())
    }
}

impl Access {
    /// The least a token must have: below that it can be guessed.
    pub const MIN_TOKEN_BYTES: usize = 16;

    /// Access by these entries. Several of one token add up.
    ///
    /// # Errors
    /// [`Misconfigured`] when there is none or one is too weak.
    pub fn new(entries: Vec<Entry>) -> Result<Self, Misconfigured> {
        if entries.is_empty() {
            return Err(Misconfigured::NoToken);
        }
        let weak = |entry: &Entry| entry.token.len() < Self::MIN_TOKEN_BYTES;
        if entries.iter().any(weak) {
            return Err(Misconfigured::ShortToken);
        }
        Ok(Self { entries })
    }

    /// Whether this token is one of those accepted, whatever its keys.
    ///
    /// # Errors
    /// `unauthorized` when it is not.
    pub fn authenticate(&self, bearer: &str) -> Result<(), Refusal> {
        self.judge(bearer, |_| true)
    }

    /// Whether this token opens this key.
    ///
    /// # Errors
    /// `unauthorized` when the token is not accepted, `out-of-scope` when it opens other keys only.
    pub fn check(&self, bearer: &str, key: &str) -> Result<(), Refusal> {
        self.judge(bearer, |entry| entry.covers(key))
    }

    /// Goes through all entries, so that the time taken tells nothing about any token.
    fn judge(&self, bearer: &str, covers: impl Fn(&Entry) -> bool) -> Result<(), Refusal> {
        let mut known = false;
        let mut open = false;
        for entry in &self.entries {
            let same = is_same(bearer.as_bytes(), entry.token.as_bytes());
            known |= same;
            open |= same & covers(entry);
        }
        match (known, open) {
            (true, true) => Ok(()),
            (true, false) => Err(denied(
                "out-of-scope",
                "The token does not open this key: use one whose prefixes cover it.",
            )),
            (false, _) => Err(denied(
                "unauthorized",
                "A bearer token that this host accepts is needed.",
            )),
        }
    }
}

impl Entry {
    fn covers(&self, key: &str) -> bool {
        self.prefixes.as_ref().is_none_or(|prefixes| {
            prefixes
                .iter()
                .any(|prefix| key.as_bytes().starts_with(prefix.as_bytes()))
        })
    }
}

/// Compares in a time that depends on the lengths alone.
fn is_same(given: &[u8], token: &[u8]) -> bool {
    let mut difference = given.len() ^ token.len();
    for (position, byte) in token.iter().enumerate() {
        let other = given.get(position).copied().unwrap_or(!byte);
        difference |= usize::from(black_box(byte ^ other));
    }
    black_box(difference) == 0
}

fn denied(reason: &'static str, message: &'static str) -> Refusal {
    Refusal::new(Code::Denied, reason, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString;
    use alloc::vec;

    const TOKEN: &str = "0123456789abcdef";
    const ORDERS: &str = "orders-0123456789";

    fn entry(token: &str, prefixes: Option<&[&str]>) -> Entry {
        Entry {
            token: token.to_string(),
            prefixes: prefixes.map(|all| all.iter().map(|text| text.to_string()).collect()),
        }
    }

    fn access(entries: Vec<Entry>) -> Access {
        Access::new(entries).expect("configured")
    }

    fn reason(result: Result<(), Refusal>) -> Option<String> {
        result.err().map(|refusal| refusal.reason.into_owned())
    }

    #[test]
    fn a_token_without_prefixes_opens_every_key() {
        let access = access(vec![entry(TOKEN, None)]);
        assert_eq!(access.check(TOKEN, "order:42"), Ok(()));
        assert_eq!(access.check(TOKEN, "\0"), Ok(()));
        assert_eq!(access.authenticate(TOKEN), Ok(()));
    }

    #[test]
    fn only_the_whole_token_counts() {
        let access = access(vec![entry(TOKEN, None), entry(ORDERS, Some(&["orders:"]))]);
        for wrong in [
            "",
            "0123456789abcde",
            "0123456789abcdef0",
            "0123456789abcdeF",
            "1123456789abcdef",
            "orders-0123456788",
        ] {
            let found = reason(access.check(wrong, "orders:1"));
            assert_eq!(found.as_deref(), Some("unauthorized"), "{wrong:?}");
            let found = reason(access.authenticate(wrong));
            assert_eq!(found.as_deref(), Some("unauthorized"), "{wrong:?}");
        }
    }

    #[test]
    fn a_scope_is_what_a_key_begins_with() {
        let scoped = access(vec![entry(ORDERS, Some(&["orders:", "é"]))]);
        for inside in ["orders:", "orders:42", "été"] {
            assert_eq!(scoped.check(ORDERS, inside), Ok(()), "{inside}");
        }
        for outside in ["orders", "Orders:42", " orders:42", "e\u{301}té"] {
            let found = reason(scoped.check(ORDERS, outside));
            assert_eq!(found.as_deref(), Some("out-of-scope"), "{outside}");
        }
        assert_eq!(scoped.authenticate(ORDERS), Ok(()));
    }

    #[test]
    fn no_prefix_opens_nothing_and_the_empty_one_everything() {
        let none = access(vec![entry(TOKEN, Some(&[]))]);
        assert_eq!(
            reason(none.check(TOKEN, "a")).as_deref(),
            Some("out-of-scope")
        );
        let all = access(vec![entry(TOKEN, Some(&[""]))]);
        assert_eq!(all.check(TOKEN, "a"), Ok(()));
    }

    #[test]
    fn entries_of_one_token_add_up() {
        let access = access(vec![
            entry(TOKEN, Some(&["a:"])),
            entry(TOKEN, Some(&["b:"])),
        ]);
        assert_eq!(access.check(TOKEN, "a:1"), Ok(()));
        assert_eq!(access.check(TOKEN, "b:1"), Ok(()));
        assert!(access.check(TOKEN, "c:1").is_err());
    }

    #[test]
    fn weak_or_missing_tokens_open_nothing() {
        assert_eq!(Access::new(vec![]), Err(Misconfigured::NoToken));
        let short = vec![entry(TOKEN, None), entry("0123456789abcde", None)];
        assert_eq!(Access::new(short), Err(Misconfigured::ShortToken));
        for cause in [
            Misconfigured::NoToken,
            Misconfigured::ShortToken,
            Misconfigured::Unreadable,
        ] {
            let refusal = Refusal::from(cause);
            assert_eq!(refusal.code, Code::Unavailable);
            assert_eq!(refusal.reason, "not-configured");
            assert!(refusal.message.contains("LEASEHOLD_TOKENS"));
        }
    }

    #[test]
    fn debug_shows_no_token() {
        let shown = format!("{:?}", access(vec![entry(TOKEN, None)]));
        assert!(!shown.contains(TOKEN), "{shown}");
    }
}
