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

    /// The command that is called on this line of the text, counted from 1.
    pub(super) fn called_on(&self, line: usize, key_locking: bool) -> Option<String> {
        let text = self.text(key_locking);
        let line = text.split('\n').nth(line.checked_sub(1)?)?;
        let (_, call) = line.split_once("call('")?;
        let (command, _) = call.split_once('\'')?;
        Some(command.into())
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
        "ba7ce22e4882da30ef72867c34fcb1aeb5a61e13",
        "6e4cfa9577565d6a6cf1de9fce2e91824e3a7449";
    CANCEL = "cancel",
        "aa5c088d9a4b028d141a15b6a9815af492a0ba0c",
        "01fa25c6ecacfaace2771b4f467e3e12873c8c19";
    INSPECT = "inspect",
        "699fb1cb09e5dfbebe633b9152109113c8b3c6a7",
        "1fd093bd548022695ac6b5a7377845ac671e2e93";
    RELEASE = "release",
        "ee67e4fd02e2b433f70e70ebe6d666a33a2757bf",
        "3abfd37f1facea7073871341770899400e3f89e2";
    RENEW = "renew",
        "44dd04363b5e211e82e00ad3a97a2e9e2c8eb6e6",
        "18e13f3412b62beabf81f8d7d904f2ce9c57dd30";
    REVOKE = "revoke",
        "4d09c9258aa3087ff66789613940b56979d6f1e2",
        "f476720aeb972f370f37410d3e2369e95048511d";
    TRANSFER = "transfer",
        "d3b7e4167f75938bb9df4f00315076ac66c1740d",
        "2afbaac883652240e9159894e0c94ff52efb5caf";
}
