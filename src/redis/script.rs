//! The scripts and their hashes.

use alloc::string::String;

/// What every script begins with.
const PRELUDE: &str = include_str!("lua/prelude.lua");

/// Lets Upstash lock the script's keys instead of the whole database. It has to be the very first
/// line, and a plain Redis refuses it.
const KEY_LOCKING: &str = "#!lua flags=allow-key-locking\n";

/// One operation's script.
#[derive(Debug)]
pub struct Script {
    /// The operation's name.
    pub name: &'static str,
    body: &'static str,
    /// SHA-1 of the text with and without the key-locking line, as Redis knows it.
    hashes: [&'static str; 2],
}

impl Script {
    /// The text to send.
    pub fn text(&self, key_locking: bool) -> String {
        let flag = if key_locking { KEY_LOCKING } else { "" };
        [flag, PRELUDE, self.body].concat()
    }

    /// The text's SHA-1, in hexadecimal.
    pub const fn hash(&self, key_locking: bool) -> &'static str {
        if key_locking {
            self.hashes[0]
        } else {
            self.hashes[1]
        }
    }
}

macro_rules! scripts {
    ($($constant:ident = $name:literal, $with:literal, $without:literal;)*) => {
        $(pub(super) static $constant: Script = Script {
            name: $name,
            body: include_str!(concat!("lua/", $name, ".lua")),
            hashes: [$with, $without],
        };)*

        /// All scripts.
        pub static SCRIPTS: &[&Script] = &[$(&$constant),*];
    };
}

scripts! {
    ACQUIRE = "acquire",
        "30e43976620afabaec7428666ca10c9ce7f278f4",
        "9f59e8004c21a8514636ba995cb6e1bbed4b6d8c";
    CANCEL = "cancel",
        "bc398985d9314b411a1005448b2a5a1d78061bbf",
        "4b8bd6c65d1ce9744daa4f1aaf89447b04d64a2d";
    INSPECT = "inspect",
        "1f5ea4f8ac19d287169c9c55c76807b5460c8855",
        "bfac8ed72e535fc8bcdb1439ccfe7dc3c4ca85a4";
    RELEASE = "release",
        "5ddb3c5744c53a82b84caffb26cd782ddf4938d6",
        "66e39e708231d97ef20ae9d3cb2f97d98a3626d6";
    RENEW = "renew",
        "e67c2c1f18be82ab9bab016a398ad3e7a4163457",
        "13a92c1713cc42f71f2fe08dd5d821a2d2a478ca";
    REVOKE = "revoke",
        "9c71e1dd0bb48b374c4a882646677dbe7449b5fe",
        "e0bf9d5f156a57e7fc1d8aee53cd2a683189845c";
    TRANSFER = "transfer",
        "88e9f73ec48f34fdf2164f607da2b869265acae1",
        "517a47c0e3c79db544ade9d0913edcdc42c78a68";
}
