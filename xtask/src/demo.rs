//! `cargo xtask demo`: the main job, on the real runtime.

use crate::files::Repo;
use crate::package;
use crate::shell::{Error, Result};

const SCRIPT: &str = "examples/demo/main.ts";

/// Builds and shows it.
pub fn run(repo: &Repo) -> Result {
    let script = repo.path(SCRIPT);
    if !script.is_file() {
        return Err(Error::Rejected(format!("there is no {SCRIPT} yet")));
    }
    package::build(repo)?.node.node().arg(script).stream()
}
