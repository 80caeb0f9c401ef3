//! Explores schedules, or repeats one: `leasehold-sim [--seed N] [--seeds N] [--minutes M]`.
//! Judges the history of a real run: `leasehold-sim --history FILE [--fences-only]`.

use std::process::ExitCode;
use std::time::Duration;

use leasehold_sim::batch::{self, Extent};
use leasehold_sim::history;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    if let Ok(seed) = std::env::var("LEASEHOLD_SEED") {
        return repeat(number("LEASEHOLD_SEED", &seed)?);
    }
    let history: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, file, rest @ ..] = &history[..]
        && flag == "--history"
    {
        let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
        let exclusion = !rest.iter().any(|flag| flag == "--fences-only");
        println!("{}", history::judge(&text, exclusion)?);
        return Ok(());
    }
    let mut extent = Extent {
        first: 0,
        seeds: u64::MAX,
        time: Duration::from_secs(60),
        threads: 2,
    };
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        let value = args.next().ok_or_else(|| format!("{name} needs a value"))?;
        let value = number(&name, &value)?;
        match name.as_str() {
            "--seed" => extent.first = value,
            "--seeds" => (extent.seeds, extent.time) = (value, Duration::MAX),
            "--minutes" => extent.time = Duration::from_secs(value * 60),
            "--threads" => extent.threads = value as usize,
            _ => return Err(format!("{name} is not known")),
        }
    }
    println!("from seed {}", extent.first);
    let report = batch::run(extent);
    print!("{report}");
    report.judge()
}

/// Runs one seed and tells all that happened in it.
fn repeat(seed: u64) -> Result<(), String> {
    let (outcome, violation) = batch::run_seed(seed, true);
    for line in &outcome.trace {
        println!("{line}");
    }
    match violation {
        Some(violation) => Err(format!(
            "seed {seed} breaks `{}`: {}",
            violation.check, violation.what
        )),
        None => {
            println!("seed {seed} breaks no rule ({} grants)", outcome.grants);
            Ok(())
        }
    }
}

fn number(name: &str, text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("{name}: {text} is not a whole number"))
}
