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
        "c647c73ff4710c42fcce743a15ed8e08b006c4bb",
        "fad20e81240f67809abf65c20b4be85567d26506";
    CANCEL = "cancel",
        "fca6348819f76110dfb2c88ded04cc887bd3b7c8",
        "60af2e6f75347fcef41911a77b8237bebd9fb72e";
    INSPECT = "inspect",
        "c606ff6c717f0a207082d6723ea35e8e788d0092",
        "6ba078a0666bb746446d608b4f88a87c39a744f8";
    RELEASE = "release",
        "0b6e82f4a19d6700ae3c99b289bda8cba2e534cd",
        "f8f8f3a1be49c1b18f9040cd44e81fd03b28abf1";
    RENEW = "renew",
        "d7593379a3ae0cc45c26bbde6741c4eb4929eb9b",
        "1198742073db5f72898793f16c7ca4b81087d427";
    REVOKE = "revoke",
        "3e4d719943d47b2974a0d3ce5d86e18455a09de3",
        "7e67a99def341f3c5e9cedab9608130e48a56e7b";
    TRANSFER = "transfer",
        "58f7a70c9424c4bebc971fd075e4818d6a68ce40",
        "e2d9f9c8c106bd22de0f91f84521b516d4e93bd8";
}
