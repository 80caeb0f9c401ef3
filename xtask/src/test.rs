//! `cargo xtask test`: every test there is, or a quick share of them.

use std::path::PathBuf;
use std::time::Duration;

use crate::core_alone;
use crate::files::{Repo, files_below};
use crate::package;
use crate::servers::{CHROMIUM, DATABASES, REDIS};
use crate::shell::{Cmd, Result, Steps};
use crate::size;
use crate::wasm::BINDINGS;
use crate::wasm_toolchain::cargo;

/// Well above what all of them take: node's own limit doesn't end a file that won't exit.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// The folders of TypeScript tests that `--quick` runs: each part of the package, and every host.
const QUICK: [&str; 4] = ["client", "coordination", "contract", "workerd"];

/// Builds, then runs what tells of most mistakes in a few minutes. For the inner loop alone: what
/// takes long, or starts other people's tools, is left to [`run`].
pub fn quick(repo: &Repo) -> Result {
    let built = package::build(repo)?;
    let mut steps = Steps::default();
    // The simulation's share shrinks by itself where it is not optimised.
    steps.run("Rust tests, with a few simulated schedules", || {
        rust_tests(repo, &[], None)
    });
    let files: Vec<PathBuf> = QUICK
        .iter()
        .flat_map(|folder| files_below(&repo.path("tests/ts").join(folder), ".test.ts"))
        .collect();
    steps.run("TypeScript tests", || {
        let node = built.node.node().env(REDIS.variable, REDIS.program()?);
        typescript_tests(node, &files, None)
    });
    steps.finish()
}

/// Builds, then runs what the filter lets through; one failure doesn't stop the rest.
pub fn run(repo: &Repo, filter: Option<&str>) -> Result {
    let built = package::build(repo)?;
    let mut steps = Steps::default();
    steps.run("Rust tests", || {
        rust_tests(repo, &["--exclude", "leasehold-sim"], filter)
    });
    steps.run("simulation", || simulation(repo, filter));
    steps.run("the core alone, as wasm", || {
        core_alone::check(repo, &built)
    });
    let (scripts, pattern) = scripts(repo, filter);
    let (packaging, scripts): (Vec<_>, Vec<_>) = scripts
        .into_iter()
        .partition(|path| path.starts_with(repo.path("tests/packaging")));
    if !scripts.is_empty() {
        steps.run("TypeScript tests", || {
            let mut node = built.node.node().arg("--test-timeout=300000");
            for server in DATABASES.iter().chain([&REDIS]) {
                node = node.env(server.variable, server.program()?);
            }
            typescript_tests(node, &scripts, pattern)
        });
    }
    if !packaging.is_empty() {
        // By itself: bundlers take all cores, which tests with a clock would feel.
        steps.run("packaging matrix", || {
            let node = built.node.node();
            let node = node.env(CHROMIUM.variable, CHROMIUM.program()?);
            typescript_tests(node, &packaging, pattern)
        });
    }
    steps.run("sizes", || size::report(repo, &built.node));
    steps.finish()
}

fn rust_tests(repo: &Repo, apart: &[&str], filter: Option<&str>) -> Result {
    // The bindings decide nothing and only run as wasm: the TypeScript tests are theirs.
    let excluded = BINDINGS.iter().flat_map(|b| ["--exclude", b.package()]);
    Cmd::new(cargo())
        .args(["test", "--workspace"])
        .args(excluded)
        .args(apart)
        .args(filter)
        .cwd(repo.root())
        .stream()
}

/// Optimised: what counts is the number of schedules.
fn simulation(repo: &Repo, filter: Option<&str>) -> Result {
    Cmd::new(cargo())
        .args(["test", "--release", "--package", "leasehold-sim"])
        .args(filter)
        .cwd(repo.root())
        .stream()
}

/// The test files whose path has the filter in it; if there are none, all of them, to run the tests
/// whose name has it.
fn scripts<'f>(repo: &Repo, filter: Option<&'f str>) -> (Vec<PathBuf>, Option<&'f str>) {
    let all = files_below(&repo.path("tests"), ".test.ts");
    let Some(filter) = filter else {
        return (all, None);
    };
    let (named, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|path| {
        let inside = path.strip_prefix(repo.root()).unwrap_or(path);
        inside.to_string_lossy().contains(filter)
    });
    if named.is_empty() {
        (others, Some(filter))
    } else {
        (named, None)
    }
}

fn typescript_tests(node: Cmd, files: &[PathBuf], pattern: Option<&str>) -> Result {
    let mut node = node.args(["--test", "--test-concurrency=2"]);
    if let Some(pattern) = pattern {
        // A file of which no test runs may skip the hooks that would stop what it started.
        node = node
            .arg("--test-force-exit")
            .arg(format!("--test-name-pattern={pattern}"));
    }
    node.args(files).limit(LONGEST).stream()
}
