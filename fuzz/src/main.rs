//! The command behind `cargo xtask fuzz`.

use std::fs;
use std::process::ExitCode;
use std::time::Duration;

use leasehold_fuzz::corpus;
use leasehold_fuzz::explore::{catch_panics, explore, run_quietly};
use leasehold_fuzz::targets::{TARGETS, Target, named};

const USAGE: &str = "\
[target] [--seconds N] [--seed S] [--grow]   explore one target, or each in turn
<target> --input FILE                        run one input again
  --seconds N   so long per target (10)
  --seed S      the same inputs again, as far as the time allows (1)
  --grow        put what was found into the corpus";

/// What is asked for.
struct Task {
    targets: Vec<&'static Target>,
    seconds: u64,
    seed: u64,
    grow: bool,
    input: Option<String>,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(task) = parse(&args) else {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("{USAGE}\ntargets: {}", names.join(", "));
        return ExitCode::FAILURE;
    };
    let done = match &task.input {
        Some(path) => repeat(&task, path),
        None => {
            catch_panics();
            // Every target has its turn, whatever becomes of the ones before.
            let outcomes: Vec<bool> = task.targets.iter().map(|one| visit(one, &task)).collect();
            !outcomes.contains(&false)
        }
    };
    if done {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn parse(args: &[String]) -> Option<Task> {
    let mut task = Task {
        targets: TARGETS.iter().collect(),
        seconds: 10,
        seed: 1,
        grow: false,
        input: None,
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seconds" => task.seconds = args.next()?.parse().ok()?,
            "--seed" => task.seed = args.next()?.parse().ok()?,
            "--grow" => task.grow = true,
            "--input" => task.input = Some(args.next()?.clone()),
            name => task.targets = vec![named(name)?],
        }
    }
    (task.input.is_none() || task.targets.len() == 1).then_some(task)
}

/// Runs one input for everybody to see.
fn repeat(task: &Task, path: &str) -> bool {
    let input = match fs::read(path) {
        Ok(input) => input,
        Err(error) => {
            eprintln!("{path}: {error}");
            return false;
        }
    };
    task.targets.iter().all(|target| {
        let outcome = run_quietly(target, &input);
        if let Ok(seen) = &outcome {
            println!("{}: no rule broken, {} situations", target.name, seen.len());
        }
        outcome.is_ok()
    })
}

fn visit(target: &'static Target, task: &Task) -> bool {
    let start = corpus::read(target).unwrap_or_default();
    let start = start.into_iter().map(|(_, input)| input).collect();
    let outcome = explore(target, start, task.seed, Duration::from_secs(task.seconds));
    let rate = outcome.runs as f64 / outcome.took.as_secs_f64();
    println!(
        "{:14} {:>9} runs, {rate:>8.0} per second, {:>5} situations by {:>4} inputs",
        target.name,
        outcome.runs,
        outcome.situations,
        outcome.inputs.len(),
    );
    if task.grow {
        match corpus::replace(target, &outcome.inputs) {
            Ok(kept) => println!("{:14} the corpus has {kept} inputs now", ""),
            Err(error) => eprintln!("the corpus could not be written: {error}"),
        }
    }
    match outcome.failure {
        None => true,
        Some((input, why)) => {
            report(target, &input, &why);
            false
        }
    }
}

fn report(target: &Target, input: &[u8], why: &str) {
    println!("{}: {why}", target.name);
    match corpus::keep_failure(target, input) {
        Ok(path) => println!(
            "to repeat it: cargo xtask fuzz {} --input {}",
            target.name,
            path.display()
        ),
        Err(error) => println!("{error}; the input is {input:?}"),
    }
}
