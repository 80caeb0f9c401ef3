//! `cargo xtask`: sets up what a clone needs, then builds, tests, measures and shows it.

mod debian;
mod files;
mod node;
mod package;
mod shell;
mod wasm;
mod wasm_toolchain;

use std::process::ExitCode;
use std::time::Instant;

use crate::files::Repo;
use crate::shell::{Error, Result};

const USAGE: &str = "\
cargo xtask <command>
  build          make pkg/ ready for `npm pack`";

fn main() -> ExitCode {
    let started = Instant::now();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (command, argument) = (args.first(), args.get(1));
    match run(command.map(String::as_str), argument.map(String::as_str)) {
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

fn run(command: Option<&str>, _argument: Option<&str>) -> Result {
    let repo = Repo::here()?;
    match command {
        Some("build") => package::build(&repo).map(drop),
        Some("help" | "--help" | "-h") => {
            println!("{USAGE}");
            Ok(())
        }
        _ => Err(Error::Rejected(format!("no such command\n{USAGE}"))),
    }
}
