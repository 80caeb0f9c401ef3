//! Writes the Redis host's script as a JavaScript module: `leasehold-redis <folder>`.

mod shorten;

use std::path::Path;
use std::{env, fs, io};

use leasehold::json::Writer;
use leasehold::redis::{FOREIGN, KEY_LOCKING, script};
use sha1_smol::Sha1;

const TYPES: &str = "import type { WireResponse } from \"../../src/lease/backend.js\";

/** A script and its SHA-1, as Redis knows it. */
export interface Script {
  readonly text: string;
  readonly hash: string;
}

/** The script for servers that know the key-locking flag. */
export const locking: Script;

/** The script for all others. */
export const plain: Script;

/** The refusal of a value at one of our names that we did not write. */
export const foreign: WireResponse;
";

fn main() -> io::Result<()> {
    let folder = env::args().nth(1).ok_or(io::ErrorKind::InvalidInput)?;
    let text = shorten::shortened(&script());
    let hash = |text: &str| Sha1::from(text).digest().to_string();
    let mut quoted = Writer::new();
    quoted.quoted(&text);
    let module = format!(
        "const text = {};\nexport const plain = {{ text, hash: \"{}\" }};\nexport const locking = {{ text: {KEY_LOCKING:?} + text, hash: \"{}\" }};\nexport const foreign = {};\n",
        String::from(quoted),
        hash(&text),
        hash(&[KEY_LOCKING, &text].concat()),
        FOREIGN.to_json(),
    );
    fs::create_dir_all(&folder)?;
    let folder = Path::new(&folder);
    fs::write(folder.join("script.js"), module)?;
    fs::write(folder.join("script.d.ts"), TYPES)
}
