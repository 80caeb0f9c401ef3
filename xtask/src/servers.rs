//! The real database servers that tests and benchmarks start, and the browser.

use std::fs;
use std::path::PathBuf;

use crate::debian;
use crate::shell::{Error, Result, find_program};

/// A server or browser, and how tests learn where it is.
#[derive(Debug)]
pub struct Server {
    /// The variable that tells tests and benchmarks which program to start.
    pub variable: &'static str,
    program: &'static str,
    package: &'static str,
    /// Where Debian puts it beside the folders of PATH; `*` is one folder, the last by name.
    elsewhere: &'static str,
}

/// What the Redis tests and the benchmarks start.
pub const REDIS: Server = Server {
    variable: "REDIS_SERVER",
    program: "redis-server",
    package: "redis-server",
    elsewhere: "/usr/bin",
};

/// What the tests of fenced tables start beside it.
pub const DATABASES: [Server; 2] = [
    Server {
        // The server itself lies beside it.
        variable: "INITDB",
        program: "initdb",
        package: "postgresql",
        elsewhere: "/usr/lib/postgresql/*/bin",
    },
    Server {
        variable: "MARIADBD",
        program: "mariadbd",
        package: "mariadb-server",
        elsewhere: "/usr/sbin",
    },
];

/// What the packaging matrix opens pages in.
pub const CHROMIUM: Server = Server {
    variable: "CHROMIUM",
    program: "chromium",
    package: "chromium",
    elsewhere: "/usr/bin",
};

impl Server {
    /// Finds the program, or installs it.
    pub fn program(&self) -> Result<PathBuf> {
        if let Some(found) = self.find() {
            return Ok(found);
        }
        debian::install(
            &[self.package],
            self.program,
            &format!("install {} and put it on PATH", self.program),
        )?;
        self.find().ok_or_else(|| {
            Error::missing(
                format!("{} on PATH, though its package is installed", self.program),
                "put the folder it is in on PATH",
            )
        })
    }

    fn find(&self) -> Option<PathBuf> {
        find_program(self.program).or_else(|| {
            let file = folder(self.elsewhere)?.join(self.program);
            file.is_file().then_some(file)
        })
    }
}

fn folder(pattern: &str) -> Option<PathBuf> {
    let Some((above, below)) = pattern.split_once("/*/") else {
        return Some(pattern.into());
    };
    let mut found: Vec<PathBuf> = fs::read_dir(above)
        .ok()?
        .flatten()
        .map(|entry| entry.path().join(below))
        .collect();
    found.sort();
    found.pop()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_folder_of_a_pattern_is_taken() {
        let root = crate::shell::TempPath::new("servers");
        for version in ["14", "15"] {
            fs::create_dir_all(root.path().join(version).join("bin")).unwrap();
        }
        let pattern = format!("{}/*/bin", root.path().display());
        assert_eq!(folder(&pattern), Some(root.path().join("15/bin")));
        assert_eq!(folder("/nowhere/*/bin"), None);
        assert_eq!(folder("/usr/sbin"), Some("/usr/sbin".into()));
    }
}
