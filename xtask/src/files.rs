//! Files: what is newer than what, and replacing a folder in one go.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::shell::{During, Error, Result};

/// The repository's folders.
#[derive(Debug, Clone)]
pub struct Repo {
    root: PathBuf,
}

impl Repo {
    /// The repository that this program was built in.
    pub fn here() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
        match root {
            Some(root) if root.join("Cargo.lock").is_file() => Ok(Self {
                root: root.to_owned(),
            }),
            _ => Err(Error::Rejected(
                "the repository has moved since xtask was built; run it as `cargo xtask` in a clone"
                    .into(),
            )),
        }
    }

    /// A path inside the repository.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// The repository's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Marks a step as done; see [`Repo::is_fresh`].
    pub fn mark(&self, step: &str) -> Result {
        let stamp = self.stamp(step);
        write_all(&stamp, b"")
    }

    /// Whether the step was marked after every one of its inputs last changed.
    ///
    /// Folders count, so that a removed file makes a step stale too. So does this program:
    /// an edited xtask may do the step differently.
    pub fn is_fresh(&self, step: &str, inputs: &[PathBuf]) -> bool {
        let Some(done) = modified(&self.stamp(step)) else {
            return false;
        };
        let program = std::env::current_exe().ok();
        inputs
            .iter()
            .chain(program.as_ref())
            .all(|input| newest(input).is_none_or(|changed| changed < done))
    }

    fn stamp(&self, step: &str) -> PathBuf {
        self.path("target/xtask").join(format!("{step}.done"))
    }

    /// Keeps a second xtask in the same clone from building at the same time.
    pub fn lock(&self) -> Result<File> {
        let path = self.path("target/xtask/lock");
        create_parent(&path)?;
        let file = File::create(&path).during(|| format!("create {}", path.display()))?;
        if file.try_lock().is_err() {
            eprintln!("xtask: waiting for another xtask in this clone");
            file.lock().during(|| "lock the build folder".into())?;
        }
        Ok(file)
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|meta| meta.modified()).ok()
}

fn newest(path: &Path) -> Option<SystemTime> {
    let own = modified(path)?;
    let Ok(entries) = fs::read_dir(path) else {
        return Some(own);
    };
    entries
        .flatten()
        .filter_map(|entry| newest(&entry.path()))
        .chain([own])
        .max()
}

/// Creates the folder that a file goes to.
pub fn create_parent(path: &Path) -> Result {
    match path.parent() {
        Some(parent) => create_dir(parent),
        None => Ok(()),
    }
}

/// Creates a folder and those above it.
pub fn create_dir(path: &Path) -> Result {
    fs::create_dir_all(path).during(|| format!("create {}", path.display()))
}

/// Writes a file, creating its folder.
pub fn write_all(path: &Path, bytes: &[u8]) -> Result {
    create_parent(path)?;
    fs::write(path, bytes).during(|| format!("write {}", path.display()))
}

/// Copies a file.
pub fn copy(from: &Path, to: &Path) -> Result {
    fs::copy(from, to)
        .map(drop)
        .during(|| format!("copy {}", from.display()))
}

/// Removes a folder if it is there.
pub fn remove_dir(path: &Path) -> Result {
    if path.exists() {
        fs::remove_dir_all(path).during(|| format!("remove {}", path.display()))?;
    }
    Ok(())
}

/// Puts a finished folder in the place of an old one.
pub fn replace_dir(finished: &Path, place: &Path) -> Result {
    remove_dir(place)?;
    create_parent(place)?;
    fs::rename(finished, place).during(|| format!("move {} into place", finished.display()))
}

/// The files directly in a folder whose names end so, in order.
pub fn files_ending(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_file() && path.to_string_lossy().ends_with(ending))
        .collect();
    found.sort();
    found
}

/// The files in a folder and below whose names end so, in order; not what npm has installed there.
pub fn files_below(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = files_ending(dir, ending);
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.path().is_dir() && entry.file_name() != "node_modules" {
            found.extend(files_below(&entry.path(), ending));
        }
    }
    found.sort();
    found
}
