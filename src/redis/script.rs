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
        "e8b757e29f53e00412eec7a14c091e3f51eac1d8",
        "5b932afa318c5caba8febfab6780b12f5efc0870";
    CANCEL = "cancel",
        "6c8a618442888875819baa81682f9d36f6a7889e",
        "0e202765fb6dc05c5d6d20976698f67d7b291792";
    INSPECT = "inspect",
        "128066a53d67855c93b3887dd70dcb0782223236",
        "102e1d6a4e7f2eeaad63010035fd15fb95a71df7";
    RELEASE = "release",
        "cfe7f82901ccb248be0488bcf6f3392080fb8afd",
        "fe827443332c8b2c2ac8c1aa083a93f7d8f10e7a";
    RENEW = "renew",
        "8fb9884a1243560f38bdb3888474af5cc0b26201",
        "ebd1e3b570ea168b5252853ff65efe0e060e9642";
    REVOKE = "revoke",
        "4b3b342b1299c85c2cc70e398563f91ed3facdc1",
        "6e55b806c3a151ca42bd458c60c76421a5a7712c";
    TRANSFER = "transfer",
        "b745959b975b741161ebe591b6649fd98238f35e",
        "1c25b2e2a86a41afef2f8f83163f0fca74c8a6e1";
}
