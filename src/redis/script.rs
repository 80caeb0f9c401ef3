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
        "fa7bc105217081b165a9b902ba6c13cbb2c905c4",
        "a7909ccf7a0c38374c131243d2689d05721790b1";
    CANCEL = "cancel",
        "57efeec0cc449a434b66ff6dc2876045e36577da",
        "ac52401e81c863aa34efd5b2eeddfdf77b3fa3c4";
    INSPECT = "inspect",
        "23c242731deb7fb1926409436afc94f528fdbc45",
        "ea11f75fa892d457bb87b5ea53f9d061a090574b";
    RELEASE = "release",
        "aea01c2e14b4cbbca4bba37e9c805a13cf1ef940",
        "6121eec513221425e699decf02443c3572298465";
    RENEW = "renew",
        "8959017ffa7a65a9a817ad1fd61b4934c8862bab",
        "18382cdd4d6142f27fdf325094ea66e16be1ae13";
    REVOKE = "revoke",
        "6d9e1c27ca254f83ee9852526c03c2ef6551c57e",
        "d45d252293e23ebeb4a4eae1637b113c62810244";
    TRANSFER = "transfer",
        "4899f005732f54070ff6b528020bb766c541e841",
        "08d44a4572c3f9c5434955d892e93577c80d2dda";
}
