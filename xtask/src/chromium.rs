//! The real browser that tests open pages in.

use std::path::PathBuf;

use crate::debian;
use crate::shell::{Error, Result, find_program};

/// The variable that tells tests which program to start.
pub const PROGRAM_VARIABLE: &str = "CHROMIUM";

/// Finds Chromium or Chrome, or installs it.
pub fn program() -> Result<PathBuf> {
    let find = || {
        ["chromium", "chromium-browser", "google-chrome"]
            .into_iter()
            .find_map(find_program)
    };
    if let Some(found) = find() {
        return Ok(found);
    }
    debian::install(
        &["chromium"],
        "Chromium",
        "install Chromium or Chrome and put it on PATH",
    )?;
    find().ok_or_else(|| {
        Error::missing(
            "chromium on PATH, though its package is installed",
            "put the folder it is in on PATH",
        )
    })
}
