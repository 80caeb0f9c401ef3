//! `cargo xtask fuzz`: goes on exploring where the committed corpus ends.

use crate::files::Repo;
use crate::shell::{Cmd, Result};
use crate::wasm_toolchain::cargo;

/// Passes everything on to the explorer, which is built for speed with all checks on.
pub fn run(repo: &Repo, args: &[String]) -> Result {
    Cmd::new(cargo())
        .args(["run", "--profile", "fuzz", "--package", "leasehold-fuzz"])
        .arg("--")
        .args(args)
        .cwd(repo.root())
        .stream()
}
