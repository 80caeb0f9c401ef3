//! `cargo xtask bench`: the figures in `docs/figures.md`.

use std::path::Path;
use std::time::Duration;

use crate::files::{Repo, files_ending};
use crate::package::{self, Built};
use crate::servers::REDIS;
use crate::shell::{Cmd, Error, Result, Steps};
use crate::size;
use crate::wasm_toolchain::cargo;

/// The sizes of what is published are figures too.
const SIZES: &str = "sizes";

/// Each takes up to a minute on a calm machine; one that hangs must not hold the others up.
const LONGEST: Duration = Duration::from_secs(5 * 60);

/// Builds, then runs the benchmarks whose names contain `name`, one at a time.
pub fn run(repo: &Repo, name: Option<&str>) -> Result {
    let native = stems(&repo.path("benches"), ".rs");
    let scripts = stems(&repo.path("bench"), ".bench.ts");
    let wanted = |stem: &str| name.is_none_or(|name| stem.contains(name));
    let all = || native.iter().chain(&scripts).map(String::as_str);
    if !all().chain([SIZES]).any(wanted) {
        let known: Vec<&str> = all().chain([SIZES]).collect();
        return Err(Error::Rejected(format!(
            "no such benchmark; there are: {}",
            known.join(", ")
        )));
    }

    let built = package::build(repo)?;
    let mut steps = Steps::default();
    if wanted(SIZES) {
        steps.run(SIZES, || size::report(repo, &built.node));
    }
    for stem in native.iter().filter(|stem| wanted(stem)) {
        steps.run(&format!("benchmark {stem}"), || run_native(repo, stem));
    }
    for stem in scripts.iter().filter(|stem| wanted(stem)) {
        steps.run(&format!("benchmark {stem}"), || run_script(&built, stem));
    }
    steps.finish()
}

fn run_native(repo: &Repo, stem: &str) -> Result {
    Cmd::new(cargo())
        .args(["bench", "--bench", stem])
        .cwd(repo.root())
        .stream()
}

/// A script starts the servers that it needs, so that none sees what another left.
fn run_script(built: &Built, stem: &str) -> Result {
    built
        .node
        .node()
        .env(REDIS.variable, REDIS.program()?)
        .arg(format!("bench/{stem}.bench.ts"))
        .limit(LONGEST)
        .stream()
}

fn stems(dir: &Path, ending: &str) -> Vec<String> {
    files_ending(dir, ending)
        .iter()
        .filter_map(|path| path.file_name()?.to_str()?.strip_suffix(ending))
        .map(str::to_owned)
        .collect()
}
