//! A Node new enough to run TypeScript and wrangler, and the tools that npm installs.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::files::{Repo, remove_dir, replace_dir, write_all};
use crate::shell::{Cmd, Error, Result, find_program, path_with, step};

const OLDEST_MAJOR: u32 = 24;
const BROUGHT_VERSION: &str = "24.21.0";
/// Versions are pinned, so what the cache has is right; without a network, say so soon.
const NPM_NETWORK: [&str; 3] = [
    "--prefer-offline",
    "--fetch-retries=1",
    "--fetch-retry-mintimeout=1000",
];

/// The Node that everything in JavaScript runs on.
#[derive(Debug)]
pub struct Node {
    program: PathBuf,
    path: OsString,
    root: PathBuf,
}

impl Node {
    /// Finds a Node, or brings one from the npm registry.
    pub fn find(repo: &Repo) -> Result<Self> {
        let program = match find_program("node").filter(|node| is_new_enough(node)) {
            Some(installed) => installed,
            None => brought(repo)?,
        };
        let path = path_with(program.parent().unwrap_or(repo.root()));
        Ok(Self {
            program,
            path,
            root: repo.root().to_owned(),
        })
    }

    /// `node …`, in the repository.
    pub fn node(&self) -> Cmd {
        self.command(&self.program)
    }

    /// `npm …`, in the repository.
    pub fn npm(&self) -> Result<Cmd> {
        Ok(self.command(&npm()?))
    }

    /// A script of a package that npm installed, named by its path in `node_modules`.
    pub fn tool(&self, script: &str) -> Cmd {
        let script = self.root.join("node_modules").join(script);
        self.node().arg(script)
    }

    /// Installs what `package-lock.json` names, unless that has been done.
    pub fn install_packages(&self, repo: &Repo) -> Result {
        let lock = fs::read(repo.path("package-lock.json")).unwrap_or_default();
        let stamp = repo.path("node_modules/.leasehold-lock");
        if fs::read(&stamp).is_ok_and(|installed| installed == lock) {
            return Ok(());
        }
        step("npm ci", || {
            self.npm()?
                .arg("ci")
                .args(NPM_NETWORK)
                .limit(Duration::from_secs(900))
                .quiet()
                .map_err(|error| {
                    eprintln!("{error}");
                    Error::missing(
                        "the npm packages that package-lock.json names",
                        "give npm access to its registry; if npm named another reason above, `npm install` and commit the lock",
                    )
                })?;
            write_all(&stamp, &lock)
        })
    }

    fn command(&self, program: &Path) -> Cmd {
        Cmd::new(program).env("PATH", &self.path).cwd(&self.root)
    }
}

fn npm() -> Result<PathBuf> {
    find_program("npm").ok_or_else(|| {
        Error::missing(
            "npm",
            format!("install Node {OLDEST_MAJOR} or later with npm (Debian: `apt-get install nodejs npm`)"),
        )
    })
}

fn is_new_enough(node: &Path) -> bool {
    let version = Cmd::new(node).arg("--version").read().unwrap_or_default();
    let major = version.trim_start_matches('v').split('.').next();
    major.is_some_and(|major| major.parse().is_ok_and(|major: u32| major >= OLDEST_MAJOR))
}

fn brought(repo: &Repo) -> Result<PathBuf> {
    let place = repo.path(&format!(".tools/node-{BROUGHT_VERSION}"));
    // The package `node` fetches one of these in an install script; naming it needs no script.
    let package = platform_package()?;
    let program = place.join("node_modules").join(&package).join("bin/node");
    if is_new_enough(&program) {
        return Ok(program);
    }
    let npm = npm()?;
    step(
        &format!("bringing Node {BROUGHT_VERSION} from the npm registry"),
        || {
            let unfinished = place.with_extension("new");
            remove_dir(&unfinished)?;
            write_all(&unfinished.join("package.json"), b"{}")?;
            Cmd::new(&npm)
                .args([
                    "install",
                    "--no-save",
                    "--no-package-lock",
                    "--ignore-scripts",
                ])
                .args(NPM_NETWORK)
                .arg(format!("{package}@{BROUGHT_VERSION}"))
                .cwd(&unfinished)
                .limit(Duration::from_secs(600))
                .quiet()
                .and_then(|()| replace_dir(&unfinished, &place))
                .map_err(|error| {
                    eprintln!("{error}");
                    Error::missing(
                        format!("Node {OLDEST_MAJOR} or later"),
                        "install it, or give npm access to its registry",
                    )
                })
        },
    )?;
    if is_new_enough(&program) {
        Ok(program)
    } else {
        Err(Error::missing(
            format!("a Node {OLDEST_MAJOR} that runs here"),
            "install one by hand and put it first on PATH",
        ))
    }
}

fn platform_package() -> Result<String> {
    let os = match std::env::consts::OS {
        "linux" => "linux",
        "macos" => "darwin",
        other => {
            return Err(Error::missing(
                format!("Node {OLDEST_MAJOR} or later for {other}"),
                "install it and put it first on PATH",
            ));
        }
    };
    let cpu = match std::env::consts::ARCH {
        "aarch64" => "arm64",
        "x86_64" => "x64",
        other => other,
    };
    Ok(format!("node-{os}-{cpu}"))
}
