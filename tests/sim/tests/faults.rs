//! The table of deliberate faults and the core go together. Whether each fault is noticed,
//! `cargo xtask mutants` shows.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[path = "../mutants.rs"]
mod table;

use table::{MUTANTS, Mutant};

/// Whether this is a fault that could be noticed.
fn is_a_fault(mutant: &Mutant) -> bool {
    mutant.find != mutant.replace && !mutant.checks.is_empty() && mutant.seeds > 0
}

#[test]
fn each_deliberate_fault_finds_its_text_once() {
    let core = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../src");
    for mutant in MUTANTS {
        let text = fs::read_to_string(core.join(mutant.file)).expect("a file of the core");
        let found = text.matches(mutant.find).count();
        assert_eq!(found, 1, "{} in {}", mutant.name, mutant.file);
        assert!(is_a_fault(mutant), "{}", mutant.name);
    }
    let names: BTreeSet<&str> = MUTANTS.iter().map(|mutant| mutant.name).collect();
    assert_eq!(names.len(), MUTANTS.len(), "no two of one name");
}
