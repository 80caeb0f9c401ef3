//! The inputs that are kept, as files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::explore::run_quietly;
use crate::seen::Seen;
use crate::targets::Target;

/// The most inputs that a target's corpus keeps.
pub const MOST: usize = 48;

/// Where a target's corpus lies.
pub fn folder(target: &Target) -> PathBuf {
    root().join("corpus").join(target.name)
}

/// Where inputs go that broke a rule. Not committed.
pub fn failures() -> PathBuf {
    root().join("failures")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files of a target's corpus, by name, with what is in them.
pub fn read(target: &Target) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder(target))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        all.push((name, fs::read(entry.path())?));
    }
    all.sort();
    Ok(all)
}

/// Replaces a target's corpus by the few of `inputs` that together come through the most.
pub fn replace(target: &Target, inputs: &[Vec<u8>]) -> io::Result<usize> {
    let folder = folder(target);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let chosen = choose(target, inputs);
    for input in &chosen {
        fs::write(folder.join(file_name(input)), input)?;
    }
    Ok(chosen.len())
}

/// Keeps an input that broke a rule, and says where.
pub fn keep_failure(target: &Target, input: &[u8]) -> io::Result<PathBuf> {
    fs::create_dir_all(failures())?;
    let path = failures().join(format!("{}-{}", target.name, file_name(input)));
    fs::write(&path, input)?;
    Ok(path)
}

/// Greedily: each time the input that adds the most, of equals the shortest.
fn choose<'a>(target: &Target, inputs: &'a [Vec<u8>]) -> Vec<&'a Vec<u8>> {
    let mut candidates: Vec<(&Vec<u8>, Seen)> = inputs
        .iter()
        .filter_map(|input| Some((input, run_quietly(target, input).ok()?)))
        .collect();
    candidates.sort_by_key(|(input, _)| input.len());
    let mut chosen = Vec::new();
    let mut covered = Seen::default();
    while chosen.len() < MOST {
        candidates.retain(|(_, seen)| covered.lacks(seen) > 0);
        let gain = |index: &usize| {
            let (input, seen) = &candidates[*index];
            (covered.lacks(seen), std::cmp::Reverse(input.len()))
        };
        let Some(best) = (0..candidates.len()).max_by_key(gain) else {
            break;
        };
        let (input, seen) = candidates.swap_remove(best);
        covered.add(&seen);
        chosen.push(input);
    }
    chosen
}

/// A name that the content determines (FNV-1a: Fowler, Noll, Vo).
fn file_name(input: &[u8]) -> String {
    let hash = input.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}
