//! `cargo xtask bench`: the figures that the README quotes.

use std::path::Path;

use crate::files::{Repo, files_ending};
use crate::package;
use crate::redis::{self, Redis};
use crate::shell::{Cmd, Error, Result, Steps};
use crate::size;
use crate::wasm_toolchain::cargo;

/// Builds, then runs the benchmarks whose names contain `name`, one at a time.
pub fn run(repo: &Repo, name: Option<&str>) -> Result {
    let wanted = |stem: &str| name.is_none_or(|name| stem.contains(name));
    let native = stems(&repo.path("benches"), ".rs");
    let scripts = stems(&repo.path("bench"), ".bench.ts");
    if !native.iter().chain(&scripts).any(|stem| wanted(stem)) && !wanted("size") {
        let known = [native, scripts, vec!["size".to_owned()]].concat();
        return Err(Error::Rejected(format!(
            "no such benchmark; there are: {}",
            known.join(", ")
        )));
    }

    let built = package::build(repo)?;
    let mut steps = Steps::default();
    for stem in native.iter().filter(|stem| wanted(stem)) {
        steps.run(&format!("benchmark {stem}"), || {
            Cmd::new(cargo())
                .args(["bench", "--bench", stem])
                .cwd(repo.root())
                .stream()
        });
    }
    for stem in scripts.iter().filter(|stem| wanted(stem)) {
        steps.run(&format!("benchmark {stem}"), || {
            // One server each, so that no benchmark sees what another left.
            let server = Redis::start()?;
            built
                .node
                .node()
                .arg(format!("bench/{stem}.bench.ts"))
                .env(redis::PROGRAM_VARIABLE, redis::program()?)
                .env(redis::URL_VARIABLE, server.url())
                .stream()
        });
    }
    if wanted("size") {
        steps.run("sizes", || size::report(repo, &built.node));
    }
    steps.finish()
}

fn stems(dir: &Path, ending: &str) -> Vec<String> {
    files_ending(dir, ending)
        .iter()
        .filter_map(|path| path.file_name()?.to_str()?.strip_suffix(ending))
        .map(str::to_owned)
        .collect()
}
