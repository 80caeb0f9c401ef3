//! `cargo xtask mutants`: deliberate faults in a copy of the core, each of which the simulation has
//! to notice.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::files::{Repo, create_dir, files_below, replace_dir, write_all};
use crate::shell::{Cmd, During, Error, Result};
use crate::wasm_toolchain::cargo;

#[path = "../../tests/sim/mutants.rs"]
mod table;

use table::{MUTANTS, Mutant};

/// A mutant may also make the simulation run for ever.
fn patience(seeds: u64) -> Duration {
    Duration::from_secs(60 + seeds / 50)
}

/// How a mutant fared.
enum Fate {
    Noticed { check: String, seed: u64 },
    Hangs,
    Survived,
}

/// The name after `--only`, or a name by itself.
pub fn only(args: &[String]) -> Option<&str> {
    let name = args.iter().find(|arg| *arg != "--only");
    name.map(String::as_str)
}

/// Tries all mutants, or those whose name has `only` in it.
pub fn run(repo: &Repo, only: Option<&str>) -> Result {
    let wanted = only.unwrap_or_default();
    let mutants: Vec<&Mutant> = MUTANTS
        .iter()
        .filter(|mutant| mutant.name.contains(wanted))
        .collect();
    let bench = Bench::set_up(repo)?;
    let mut survivors = Vec::new();
    println!("| deliberate fault | noticed by | first seed | seeds allowed |");
    println!("|---|---|---|---|");
    for mutant in mutants {
        let fate = bench.try_out(mutant)?;
        let (noticed, seed) = match &fate {
            Fate::Noticed { check, seed } => (check.as_str(), seed.to_string()),
            Fate::Hangs => ("does not end", "–".into()),
            Fate::Survived => ("**nothing**", "–".into()),
        };
        println!(
            "| {} | {noticed} | {seed} | {} |",
            mutant.name, mutant.seeds
        );
        let expected = match &fate {
            Fate::Noticed { check, .. } => mutant.checks.contains(&check.as_str()),
            Fate::Hangs => true,
            Fate::Survived => false,
        };
        if !expected {
            survivors.push(mutant.name);
        }
    }
    if survivors.is_empty() {
        return Ok(());
    }
    Err(Error::Rejected(format!(
        "not noticed, or not by the check that should: {}",
        survivors.join("; ")
    )))
}

/// A copy of the core and the simulation, in which one file at a time is changed.
struct Bench {
    core: PathBuf,
    dir: PathBuf,
}

impl Bench {
    fn set_up(repo: &Repo) -> Result<Self> {
        let dir = repo.path("target/mutants/bench");
        create_dir(&dir)?;
        let manifest = read(&repo.path("Cargo.toml"))?;
        let manifest = bench_manifest(&manifest);
        write_all(&dir.join("Cargo.toml"), manifest.as_bytes())?;
        copy(&repo.path("Cargo.lock"), &dir.join("Cargo.lock"))?;
        copy(
            &repo.path("tests/sim/Cargo.toml"),
            &dir.join("tests/sim/Cargo.toml"),
        )?;
        for folder in ["src", "tests/sim/src"] {
            let fresh = dir.join("fresh");
            // The core includes more than Rust.
            for file in files_below(&repo.path(folder), "") {
                let inside = file.strip_prefix(repo.path(folder)).unwrap_or(&file);
                copy(&file, &fresh.join(inside))?;
            }
            replace_dir(&fresh, &dir.join(folder))?;
        }
        let bench = Self {
            core: dir.join("src"),
            dir,
        };
        // The simulation has to be content with the core as it is.
        match bench.judge(1_000)? {
            Fate::Survived => Ok(bench),
            Fate::Noticed { check, seed } => Err(Error::Rejected(format!(
                "seed {seed} breaks `{check}` without any mutant"
            ))),
            Fate::Hangs => Err(Error::Rejected("the simulation does not end".into())),
        }
    }

    fn try_out(&self, mutant: &Mutant) -> Result<Fate> {
        let path = self.core.join(mutant.file);
        let original = read(&path)?;
        let found = original.matches(mutant.find).count();
        if found != 1 {
            return Err(Error::Rejected(format!(
                "mutant \"{}\": its text is found {found} times in src/{}; bring tests/sim/mutants.rs along",
                mutant.name, mutant.file
            )));
        }
        let changed = original.replacen(mutant.find, mutant.replace, 1);
        write_all(&path, changed.as_bytes())?;
        let fate = self.judge(mutant.seeds);
        write_all(&path, original.as_bytes())?;
        fate
    }

    /// Builds the simulation and runs this many seeds.
    fn judge(&self, seeds: u64) -> Result<Fate> {
        let target = self.dir.join("../target");
        Cmd::new(cargo())
            .args([
                "build",
                "--quiet",
                "--offline",
                "--package",
                "leasehold-sim",
            ])
            .args(["--config", "profile.dev.opt-level=1"])
            .args(["--config", "profile.dev.debug=false"])
            .arg("--target-dir")
            .arg(&target)
            .env("RUSTFLAGS", "--cap-lints allow")
            .cwd(&self.dir)
            .quiet()?;
        let ran = Cmd::new(target.join("debug/leasehold-sim"))
            .args(["--seeds", &seeds.to_string()])
            .limit(patience(seeds))
            .quiet();
        match ran {
            Ok(()) => Ok(Fate::Survived),
            Err(Error::Command { tail, outcome, .. }) => Ok(match noticed(&tail) {
                Some((seed, check)) => Fate::Noticed { check, seed },
                None if outcome.starts_with("did not") => Fate::Hangs,
                // A fault of the world that never came about says nothing of the mutant.
                None if tail.contains(" never ") => Fate::Survived,
                None => return Err(Error::Rejected(format!("the simulation failed: {tail}"))),
            }),
            Err(other) => Err(other),
        }
    }
}

/// The workspace's manifest with two members, and without the core's own benches and tests.
fn bench_manifest(manifest: &str) -> String {
    let mut kept = true;
    let mut lines = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            kept = !line.starts_with("[[") && line != "[dev-dependencies]";
        }
        if line.starts_with("members = ") {
            lines.push(r#"members = [".", "tests/sim"]"#);
        } else if kept {
            lines.push(line);
        }
    }
    lines.join("\n")
}

/// Reads "seed 7 breaks `fences`: …".
fn noticed(said: &str) -> Option<(u64, String)> {
    let (_, rest) = said.rsplit_once("seed ")?;
    let (seed, rest) = rest.split_once(" breaks `")?;
    let (check, _) = rest.split_once('`')?;
    Some((seed.parse().ok()?, check.to_owned()))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).during(|| format!("read {}", path.display()))
}

fn copy(from: &Path, to: &Path) -> Result {
    write_all(to, read(from)?.as_bytes())
}
