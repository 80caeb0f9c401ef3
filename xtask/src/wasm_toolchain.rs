//! A Rust that can build for WebAssembly: the current one, rustup's, or Debian's.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::debian;
use crate::files::{Repo, create_dir, files_ending, remove_dir, replace_dir, write_all};
use crate::shell::{Cmd, During, Error, Result, TempPath, find_program, step};

/// The one target that every binding is built for.
pub const TARGET: &str = "wasm32-unknown-unknown";

const DEBIAN_PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld"];
const DEBIAN_CARGO: &str = "/usr/bin/cargo";
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_STD_SOURCE: &str = "/usr/lib/rustlib/src/rust";

/// How to call a cargo that builds for [`TARGET`].
#[derive(Debug)]
pub struct WasmRust {
    cargo: PathBuf,
    /// Set when this is not the toolchain that runs us.
    other_rustc: Option<PathBuf>,
    linker: Option<&'static str>,
    flags: Vec<OsString>,
}

impl WasmRust {
    /// Finds a toolchain, or makes one.
    pub fn find(repo: &Repo) -> Result<Self> {
        if current_has_std() {
            return Self::current(repo);
        }
        // Made before: don't ask rustup again for what it could not give then.
        if let Some(sysroot) = finished_sysroot(repo) {
            return Ok(Self::debian(repo, &sysroot));
        }
        if find_program("rustup").is_some() {
            let added = step(&format!("rustup target add {TARGET}"), || {
                Cmd::new("rustup")
                    .args(["target", "add", TARGET])
                    .env("RUSTUP_MAX_RETRIES", "0")
                    .limit(Duration::from_secs(90))
                    .quiet()
            });
            if added.is_ok() && current_has_std() {
                return Self::current(repo);
            }
            eprintln!("xtask: rustup has no {TARGET} for this toolchain; trying Debian's packages");
        }
        debian::install(
            &DEBIAN_PACKAGES,
            "a Rust that can build for WebAssembly",
            &format!("`rustup target add {TARGET}` where rustup can reach its server"),
        )?;
        Ok(Self::debian(repo, &make_sysroot(repo)?))
    }

    fn current(repo: &Repo) -> Result<Self> {
        let linker = if current_has_linker() {
            None
        } else {
            debian::install(
                &["lld"],
                "a WebAssembly linker",
                "any LLVM that has `wasm-ld`",
            )?;
            Some("wasm-ld")
        };
        Ok(Self {
            cargo: cargo(),
            other_rustc: None,
            linker,
            flags: shorter_paths(repo),
        })
    }

    fn debian(repo: &Repo, sysroot: &Path) -> Self {
        let mut flags = shorter_paths(repo);
        let mut flag = OsString::from("--sysroot=");
        flag.push(sysroot);
        flags.push(flag);
        Self {
            cargo: DEBIAN_CARGO.into(),
            other_rustc: Some(DEBIAN_RUSTC.into()),
            linker: Some("wasm-ld"),
            flags,
        }
    }

    /// `cargo <subcommand> --target wasm32-unknown-unknown`.
    pub fn cargo(&self, subcommand: &str) -> Cmd {
        // Our flags have to win over RUSTFLAGS: without the sysroot nothing builds. They don't
        // reach build scripts and macros, since a target is given.
        let flags = self.flags.join(&OsString::from("\u{1f}"));
        let mut cmd = Cmd::new(&self.cargo)
            .args([subcommand, "--target", TARGET])
            .env_remove("RUSTFLAGS")
            .env("CARGO_ENCODED_RUSTFLAGS", flags);
        if let Some(rustc) = &self.other_rustc {
            cmd = other_toolchain(cmd, rustc);
        }
        if let Some(linker) = self.linker {
            cmd = cmd.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
        }
        cmd
    }
}

/// The cargo that runs us, or the one on PATH.
pub fn cargo() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from)
}

fn rustc() -> PathBuf {
    std::env::var_os("RUSTC").map_or_else(|| "rustc".into(), PathBuf::from)
}

/// Takes away what rustup and the cargo that runs us would make another toolchain believe.
fn other_toolchain(cmd: Cmd, rustc: &Path) -> Cmd {
    [
        "RUSTUP_TOOLCHAIN",
        "RUSTDOC",
        "RUST_RECURSION_COUNT",
        "LD_LIBRARY_PATH",
    ]
    .into_iter()
    .fold(cmd, Cmd::env_remove)
    .env("RUSTC", rustc)
}

fn current_has_std() -> bool {
    let printed = Cmd::new(rustc())
        .args(["--target", TARGET, "--print", "target-libdir"])
        .read();
    printed.is_ok_and(|dir| has_std(Path::new(&dir)))
}

fn has_std(libdir: &Path) -> bool {
    files_ending(libdir, ".rlib").iter().any(|file| {
        file.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("libstd-"))
    })
}

fn current_has_linker() -> bool {
    // The host's libraries are in <sysroot>/lib/rustlib/<host>/lib, its tools beside them.
    let printed = Cmd::new(rustc()).args(["--print", "target-libdir"]).read();
    let own = printed.is_ok_and(|dir| Path::new(&dir).with_file_name("bin/rust-lld").is_file());
    own || find_program("rust-lld").is_some()
}

/// Keeps this machine's folders out of panic messages, which also makes them shorter.
fn shorter_paths(repo: &Repo) -> Vec<OsString> {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let registries = home
        .and_then(|home| fs::read_dir(home.join("registry/src")).ok())
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| (entry.path(), "crates"));
    let mut pairs: Vec<(PathBuf, &str)> = registries.collect();
    pairs.sort();
    pairs.push((repo.root().to_owned(), "leasehold"));
    pairs
        .into_iter()
        .map(|(from, to)| {
            let mut flag = OsString::from("--remap-path-prefix=");
            flag.push(from);
            flag.push("=");
            flag.push(to);
            flag
        })
        .collect()
}

fn sysroot_path(repo: &Repo) -> Option<PathBuf> {
    let version = other_toolchain(Cmd::new(DEBIAN_RUSTC), Path::new(DEBIAN_RUSTC))
        .arg("-vV")
        .read()
        .ok()?;
    let release = version.lines().find_map(|l| l.strip_prefix("release: "))?;
    Some(repo.path(".tools").join(format!("wasm-sysroot-{release}")))
}

fn libdir(sysroot: &Path) -> PathBuf {
    sysroot.join("lib/rustlib").join(TARGET).join("lib")
}

fn finished_sysroot(repo: &Repo) -> Option<PathBuf> {
    let ready = DEBIAN_PACKAGES.iter().all(|p| debian::is_installed(p));
    let sysroot = sysroot_path(repo).filter(|_| ready)?;
    has_std(&libdir(&sysroot)).then_some(sysroot)
}

/// Builds Debian's standard library for [`TARGET`] into a sysroot of our own.
///
/// Only the target's libraries are there: macros and build scripts are compiled for the host with
/// the sysroot that the compiler finds by itself.
fn make_sysroot(repo: &Repo) -> Result<PathBuf> {
    let place = sysroot_path(repo).ok_or_else(|| {
        Error::missing(
            format!("a working {DEBIAN_RUSTC}"),
            "as root `apt-get install --reinstall rustc-web`",
        )
    })?;
    if has_std(&libdir(&place)) {
        return Ok(place);
    }
    let name = format!("building the standard library for {TARGET}, once, about 45 s");
    step(&name, || {
        // Outside the repository, or its workspace would claim the package.
        let scratch = TempPath::new("std");
        let dir = scratch.path();
        write_all(
            &dir.join("Cargo.toml"),
            b"[package]\nname = \"nothing\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n",
        )?;
        write_all(&dir.join("lib.rs"), b"#![no_std]\n")?;
        let source = fs::canonicalize(DEBIAN_STD_SOURCE)
            .during(|| format!("find the library sources at {DEBIAN_STD_SOURCE}"))?;
        // Bitcode, since the bindings are linked with full LTO.
        let flags = [
            "-Cembed-bitcode=yes".to_owned(),
            format!("--remap-path-prefix={}=rust", source.display()),
            format!("--remap-path-prefix={DEBIAN_STD_SOURCE}=rust"),
        ];
        other_toolchain(Cmd::new(DEBIAN_CARGO), Path::new(DEBIAN_RUSTC))
            .args(["build", "--release", "--target", TARGET])
            .args(["-Zbuild-std=std,panic_abort", "--target-dir", "target"])
            .cwd(dir)
            .env("RUSTC_BOOTSTRAP", "1")
            .env_remove("RUSTFLAGS")
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
            .quiet()
            .map_err(|error| {
                eprintln!("{error}");
                Error::missing(
                    format!("a standard library for {TARGET}"),
                    "give cargo access to its registry once; if it named another reason above, `apt-get install --reinstall rust-web-src`",
                )
            })?;
        let built = dir.join("target").join(TARGET).join("release/deps");
        let unfinished = place.with_extension("new");
        remove_dir(&unfinished)?;
        create_dir(&libdir(&unfinished))?;
        for rlib in files_ending(&built, ".rlib") {
            let Some(name) = rlib.file_name() else {
                continue;
            };
            if !name.to_string_lossy().starts_with("libnothing-") {
                let to = libdir(&unfinished).join(name);
                fs::copy(&rlib, &to).during(|| format!("write {}", to.display()))?;
            }
        }
        replace_dir(&unfinished, &place)
    })?;
    Ok(place)
}
