//! Debian packages, where this machine has them and we may install them.

use std::time::Duration;

use crate::shell::{Cmd, Error, Result, find_program, step};

/// Whether a package is installed.
pub fn is_installed(package: &str) -> bool {
    Cmd::new("dpkg-query")
        .args(["-W", "-f", "${db:Status-Status}", package])
        .read()
        .is_ok_and(|status| status == "installed")
}

/// Installs what is missing, or says in one line what to install.
pub fn install(packages: &[&str], what: &str, elsewhere: &str) -> Result {
    let missing: Vec<&str> = packages
        .iter()
        .copied()
        .filter(|package| !is_installed(package))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let remedy = format!(
        "as root `apt-get install {}`, or {elsewhere}",
        missing.join(" ")
    );
    if find_program("apt-get").is_none() || !is_root() {
        return Err(Error::missing(what, remedy));
    }
    step(
        &format!("installing Debian's {}", missing.join(" ")),
        || {
            // A stale index is no reason to stop: the packages may still be there.
            let _ = apt_get().arg("update").quiet();
            apt_get()
                .args(["install", "-y", "--no-install-recommends"])
                .args(&missing)
                .quiet()
                .map_err(|error| {
                    eprintln!("{error}");
                    Error::missing(what, format!("a working package source, then {remedy}"))
                })
        },
    )
}

fn apt_get() -> Cmd {
    Cmd::new("apt-get")
        .env("DEBIAN_FRONTEND", "noninteractive")
        .args(["-q", "-o", "DPkg::Lock::Timeout=120"])
        .limit(Duration::from_secs(600))
}

fn is_root() -> bool {
    Cmd::new("id").arg("-u").read().is_ok_and(|id| id == "0")
}
