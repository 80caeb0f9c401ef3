//! `cargo xtask`: sets up what a clone needs, then builds, tests, measures and shows it.

mod bench;
mod check;
mod core_alone;
mod debian;
mod demo;
mod files;
mod fuzz;
mod mutants;
mod node;
mod package;
mod servers;
mod shell;
mod size;
mod test;
mod torture;
mod wasm;
mod wasm_toolchain;

use std::process::ExitCode;
use std::time::Instant;

use crate::files::Repo;
use crate::shell::{Error, Result};

const USAGE: &str = "\
cargo xtask <command>
  demo           show the main job on a local Workers runtime
  test [filter]  build, then run every test, or those that the filter names
  test --quick   build, then run a share that takes a few minutes
  build          make pkg/ ready for `npm pack`
  check          format, lint, types, licences
  size           print what a bundle grows by, and hold it to the ceilings
  bench [name]   run the benchmarks, or those that the name fits
  fuzz [target] [--seconds N] [--seed S]   explore inputs beyond the committed corpus
  mutants [name] break the core on purpose, each time in a copy: the simulation has to notice
  torture [--seed N] [--minutes M]   explore simulated schedules beyond the tests' share";

fn main() -> ExitCode {
    let started = Instant::now();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (command, argument) = (args.first(), args.get(1));
    match run(
        command.map(String::as_str),
        argument.map(String::as_str),
        args.get(1..).unwrap_or_default(),
    ) {
        Ok(()) => {
            eprintln!("xtask: done in {:.1} s", started.elapsed().as_secs_f64());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Option<&str>, argument: Option<&str>, rest: &[String]) -> Result {
    let repo = Repo::here()?;
    match command {
        Some("build") => package::build(&repo).map(drop),
        Some("test") if argument == Some("--quick") => test::quick(&repo),
        Some("test") => test::run(&repo, argument),
        Some("demo") => demo::run(&repo),
        Some("check") => check::run(&repo),
        Some("size") => size::report(&repo, &package::build(&repo)?.node),
        Some("bench") => bench::run(&repo, argument),
        Some("fuzz") => fuzz::run(&repo, rest),
        Some("mutants") => mutants::run(&repo, mutants::only(rest)),
        Some("torture") => torture::run(&repo, rest),
        Some("help" | "--help" | "-h") => {
            println!("{USAGE}");
            Ok(())
        }
        _ => Err(Error::Rejected(format!("no such command\n{USAGE}"))),
    }
}
