//! The real redis-server that tests and benchmarks start.

use std::path::PathBuf;

use crate::debian;
use crate::shell::{Error, Result, find_program};

/// The variable that tells tests and benchmarks which program to start.
pub const PROGRAM_VARIABLE: &str = "REDIS_SERVER";

/// Finds redis-server, or installs it.
pub fn program() -> Result<PathBuf> {
    if let Some(found) = find_program("redis-server") {
        return Ok(found);
    }
    debian::install(
        &["redis-server"],
        "redis-server",
        "install Redis and put it on PATH",
    )?;
    find_program("redis-server").ok_or_else(|| {
        Error::missing(
            "redis-server on PATH, though its package is installed",
            "put the folder it is in on PATH",
        )
    })
}
