//! `cargo xtask test`: every test there is.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::core_alone;
use crate::files::{Repo, files_below};
use crate::node::Node;
use crate::package;
use crate::servers::{DATABASES, REDIS};
use crate::shell::{Cmd, Result, Steps};
use crate::size;
use crate::wasm::BINDINGS;
use crate::wasm_toolchain::cargo;

/// Well above what all of them take: node's own limit doesn't end a file that won't exit.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// Builds, then runs what the filter lets through; one failure doesn't stop the rest.
pub fn run(repo: &Repo, filter: Option<&str>) -> Result {
    let built = package::build(repo)?;
    let mut steps = Steps::default();
    steps.run("Rust tests", || rust_tests(repo, filter));
    steps.run("simulation", || simulation(repo, filter));
    steps.run("the core alone, as wasm", || {
        core_alone::check(repo, &built)
    });
    steps.run("TypeScript tests", || {
        typescript_tests(repo, &built.node, filter)
    });
    steps.run("sizes", || size::report(repo, &built.node));
    steps.finish()
}

fn rust_tests(repo: &Repo, filter: Option<&str>) -> Result {
    // The bindings decide nothing and only run as wasm: the TypeScript tests are theirs.
    let excluded = BINDINGS.iter().flat_map(|b| ["--exclude", b.package()]);
    Cmd::new(cargo())
        .args(["test", "--workspace", "--exclude", "leasehold-sim"])
        .args(excluded)
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

fn typescript_tests(repo: &Repo, node: &Node, filter: Option<&str>) -> Result {
    let all = files_below(&repo.path("tests"), ".test.ts");
    if all.is_empty() {
        eprintln!("xtask: no TypeScript tests yet");
        return Ok(());
    }
    let mut args: Vec<OsString> = vec![
        "--test".into(),
        "--test-concurrency=2".into(),
        "--test-timeout=300000".into(),
    ];
    let named = |path: &&PathBuf| {
        let inside = path.strip_prefix(repo.root()).unwrap_or(path);
        filter.is_none_or(|filter| inside.to_string_lossy().contains(filter))
    };
    let mut files: Vec<&PathBuf> = all.iter().filter(named).collect();
    if let Some(filter) = filter.filter(|_| files.is_empty()) {
        // A file of which no test runs may skip the hooks that would stop what it started.
        args.push("--test-force-exit".into());
        args.push(format!("--test-name-pattern={filter}").into());
        files = all.iter().collect();
    }
    args.extend(files.into_iter().map(Into::into));
    let mut tests = node.node();
    for database in &DATABASES {
        tests = tests.env(database.variable, database.program()?);
    }
    tests
        .env(REDIS.variable, REDIS.program()?)
        .args(args)
        .limit(LONGEST)
        .stream()
}
