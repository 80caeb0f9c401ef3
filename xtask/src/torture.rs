//! `cargo xtask torture`: the simulation, for as long as one likes.

use crate::files::Repo;
use crate::shell::{Cmd, Error, Result};
use crate::wasm_toolchain::cargo;

/// Passes `--seed N` and `--minutes M` on to the simulation.
pub fn run(repo: &Repo, args: &[String]) -> Result {
    let known = |name: &String| name == "--seed" || name == "--minutes";
    if !args.len().is_multiple_of(2) || !args.iter().step_by(2).all(known) {
        return Err(Error::Rejected(
            "cargo xtask torture [--seed N] [--minutes M]".into(),
        ));
    }
    Cmd::new(cargo())
        .args(["run", "--release", "--package", "leasehold-sim", "--"])
        .args(args)
        .cwd(repo.root())
        .stream()
}
