//! The share of the simulation that every test run does.

use std::time::Duration;

use leasehold_sim::batch::{self, Extent};

/// How many schedules an unoptimised build can do in the time.
const SEEDS: u64 = if cfg!(debug_assertions) {
    4_000
} else {
    100_000
};

#[test]
fn no_schedule_breaks_a_rule() {
    let first = std::env::var("LEASEHOLD_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let extent = Extent {
        first: first.unwrap_or(0),
        seeds: if first.is_some() { 1 } else { SEEDS },
        time: Duration::MAX,
        threads: 2,
    };
    let report = batch::run(extent);
    println!("seeds from {}: {report}", extent.first);
    if let Err(why) = report.judge() {
        panic!("{why}");
    }
}

#[test]
fn seeds_that_once_broke_a_rule_do_so_no_more() {
    for line in include_str!("../regressions.txt").lines() {
        let Some(seed) = line.split_whitespace().next().filter(|word| *word != "#") else {
            continue;
        };
        let seed = seed.parse().expect("a line begins with a seed");
        let (_, violation) = batch::run_seed(seed, false);
        assert_eq!(violation, None, "{line}");
    }
}

#[test]
fn a_seed_repeats_to_the_letter() {
    for seed in 0..20 {
        let (first, _) = batch::run_seed(seed, true);
        let (second, _) = batch::run_seed(seed, true);
        assert_eq!(first.trace, second.trace, "seed {seed}");
    }
}
