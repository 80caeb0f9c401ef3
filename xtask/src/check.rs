//! `cargo xtask check`: what a reviewer shouldn't have to look for.

use std::fs;
use std::path::PathBuf;

use crate::files::Repo;
use crate::node::Node;
use crate::package;
use crate::shell::{Cmd, Error, Result, Steps, find_program};
use crate::wasm::BINDINGS;
use crate::wasm_toolchain::cargo;

/// Builds (types are generated), then runs every check.
pub fn run(repo: &Repo) -> Result {
    let node = package::build(repo)?.node;
    let mut steps = Steps::default();
    steps.run("cargo fmt", || {
        cargo_tool(repo, "rustfmt", &["fmt", "--all", "--check"])
    });
    steps.run("cargo clippy", || {
        let args = ["clippy", "--workspace", "--all-targets"];
        let all = [&args[..], &["--", "-D", "warnings"]].concat();
        cargo_tool(repo, "clippy", &all)
    });
    steps.run("cargo doc", || {
        Cmd::new(cargo())
            .args(["doc", "--quiet", "--no-deps", "--package", "leasehold"])
            .env("RUSTDOCFLAGS", "-D warnings")
            .cwd(repo.root())
            .stream()
    });
    for folder in ["pkg", "tests", "examples", "examples/workers", "bench"] {
        let config = format!("{folder}/tsconfig.json");
        if repo.path(&config).is_file() {
            steps.run(&format!("types of {folder}"), || {
                node.tool("typescript/bin/tsc")
                    .args(["--noEmit", "--strict", "-p", &config])
                    .stream()
            });
        }
    }
    steps.run("biome", || {
        node.tool("@biomejs/biome/bin/biome").arg("ci").stream()
    });
    steps.run("licences", || {
        node.node()
            .arg(repo.path("xtask/js/licences.mjs"))
            .arg(cargo())
            .args(BINDINGS.iter().map(|binding| binding.package()))
            .arg("--")
            .args(locked_folders(repo)?)
            .stream()
    });
    steps.run("npm publish", || {
        // Without provenance, which only the release workflow can give.
        let publish = ["publish", "--dry-run", "--access", "public"];
        node.npm()?.args(publish).cwd(repo.path("pkg")).stream()
    });
    steps.run("cargo publish", || {
        // What isn't committed yet may be checked too.
        let publish = ["publish", "--workspace", "--dry-run", "--allow-dirty"];
        Cmd::new(cargo())
            .args(publish)
            .args(["--quiet", "--locked"])
            .cwd(repo.root())
            .stream()
    });
    steps.run("no paths of one machine", || no_machine_paths(repo));
    steps.run("advisories", || advisories(repo, &node));
    steps.finish()
}

fn cargo_tool(repo: &Repo, component: &str, args: &[&str]) -> Result {
    let present = Cmd::new(cargo()).args([args[0], "--version"]).read();
    if present.is_err() {
        return Err(Error::missing(
            format!("cargo {}", args[0]),
            format!("`rustup component add {component}`"),
        ));
    }
    Cmd::new(cargo()).args(args).cwd(repo.root()).stream()
}

/// Folders that are somebody's own, cut in two so that this file passes.
const PRIVATE: [&str; 5] = [
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
    concat!("/wo", "rk/"),
    concat!("C:", "\\"),
];

fn no_machine_paths(repo: &Repo) -> Result {
    let listed = Cmd::new("git").args(["ls-files"]).cwd(repo.root()).read()?;
    let mut found = Vec::new();
    for file in listed.lines() {
        // A binary file, or one that is being moved, has no lines to look at.
        let Ok(text) = fs::read_to_string(repo.path(file)) else {
            continue;
        };
        for (number, line) in text.lines().enumerate() {
            if PRIVATE.iter().any(|private| names_folder(line, private)) {
                found.push(format!("{file}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    if found.is_empty() {
        Ok(())
    } else {
        Err(Error::Rejected(found.join("\n")))
    }
}

/// Whether the folder stands at the start of a path, not inside an address or a longer path.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "/._-}*".contains(c))
    })
}

/// What the public workflow sets: there, a check that can't run has failed.
const ADVISORIES: &str = "LEASEHOLD_ADVISORIES";

fn advisories(repo: &Repo, node: &Node) -> Result {
    if std::env::var_os(ADVISORIES).is_none() {
        eprintln!("xtask: skipped: they need a server; {ADVISORIES}=required asks for them");
        return Ok(());
    }
    let Some((program, args)) = [("cargo-deny", "check advisories"), ("cargo-audit", "audit")]
        .into_iter()
        .find_map(|(name, args)| Some((find_program(name)?, args)))
    else {
        return Err(Error::missing(
            "cargo-deny or cargo-audit",
            "`cargo install cargo-audit --locked`",
        ));
    };
    Cmd::new(program)
        .args(args.split(' '))
        .cwd(repo.root())
        .stream()?;
    for folder in locked_folders(repo)? {
        let audit = ["audit", "--audit-level=high"];
        node.npm()?.args(audit).cwd(&folder).stream()?;
    }
    Ok(())
}

/// The folders whose npm packages a lock file names.
fn locked_folders(repo: &Repo) -> Result<Vec<PathBuf>> {
    let listed = Cmd::new("git")
        .args(["ls-files", "package-lock.json", "**/package-lock.json"])
        .cwd(repo.root())
        .read()?;
    let folder = |file: &str| Some(repo.path(file).parent()?.to_owned());
    Ok(listed.lines().filter_map(folder).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_folder_is_told_from_a_part_of_an_address() {
        let [root, home, ..] = PRIVATE;
        assert!(names_folder(&format!("cd {root}project"), root));
        assert!(names_folder(&format!("\"{home}ann/x\""), home));
        assert!(!names_folder(&format!("example.org{home}page"), home));
        assert!(!names_folder("nothing here", home));
    }
}
