//! Running commands: what they may see, what a person sees, and how they fail.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What can end a run, each with enough to act on.
#[derive(Debug)]
pub enum Error {
    /// Something this machine lacks, and how to get it.
    Missing { what: String, remedy: String },
    /// A command ran and said no, or ran out of time.
    Command {
        command: String,
        outcome: String,
        tail: String,
    },
    /// A file or process could not be handled.
    Io { action: String, source: io::Error },
    /// A check of ours found something wrong.
    Rejected(String),
    /// Several steps failed; each has already said why.
    Steps(Vec<String>),
}

/// Shorthand used throughout.
pub type Result<T = ()> = std::result::Result<T, Error>;

impl Error {
    /// One sentence of what is absent, one of how to get it.
    pub fn missing(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Missing {
            what: what.into(),
            remedy: remedy.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { what, remedy } => write!(f, "missing: {what}; to get it: {remedy}"),
            Self::Command {
                command,
                outcome,
                tail,
            } => {
                if !tail.is_empty() {
                    writeln!(f, "{tail}")?;
                }
                write!(f, "`{command}` {outcome}")
            }
            Self::Io { action, source } => write!(f, "could not {action}: {source}"),
            Self::Rejected(why) => f.write_str(why),
            Self::Steps(names) => write!(f, "failed: {}", names.join(", ")),
        }
    }
}

/// Names the action in an I/O error.
pub trait During<T> {
    /// Completes the sentence "could not …".
    fn during(self, action: impl FnOnce() -> String) -> Result<T>;
}

impl<T> During<T> for io::Result<T> {
    fn during(self, action: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|source| Error::Io {
            action: action(),
            source,
        })
    }
}

/// Announces a step, runs it, and reports its time when it was long enough to wonder about.
pub fn step<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    eprintln!("xtask: {name}");
    let started = Instant::now();
    let result = work();
    let seconds = started.elapsed().as_secs_f64();
    match &result {
        Ok(_) if seconds < 2.0 => {}
        Ok(_) => eprintln!("xtask: {name}: done in {seconds:.1} s"),
        Err(_) => eprintln!("xtask: {name}: failed after {seconds:.1} s"),
    }
    result
}

/// Runs steps that don't depend on each other, so that one failure doesn't hide the next.
#[derive(Default)]
pub struct Steps {
    failed: Vec<String>,
}

impl Steps {
    /// Runs one step and remembers its failure.
    pub fn run(&mut self, name: &str, work: impl FnOnce() -> Result) {
        if let Err(error) = step(name, work) {
            eprintln!("{error}");
            self.failed.push(name.to_owned());
        }
    }

    /// Fails with the names of all that failed.
    pub fn finish(self) -> Result {
        if self.failed.is_empty() {
            Ok(())
        } else {
            Err(Error::Steps(self.failed))
        }
    }
}

/// A command with our way of failing.
#[derive(Debug)]
pub struct Cmd {
    inner: Command,
    limit: Option<Duration>,
}

impl Cmd {
    /// A command that sees none of the variables that the cargo that runs us sets for its own children.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let mut inner = Command::new(program);
        for (name, _) in std::env::vars_os() {
            if is_cargos_own(&name) {
                inner.env_remove(name);
            }
        }
        Self { inner, limit: None }
    }

    /// Adds one argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.inner.arg(arg);
        self
    }

    /// Adds arguments.
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.inner.args(args);
        self
    }

    /// Sets one variable.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.inner.env(name, value);
        self
    }

    /// Hides one variable.
    pub fn env_remove(mut self, name: &str) -> Self {
        self.inner.env_remove(name);
        self
    }

    /// Sets the working folder.
    pub fn cwd(mut self, dir: impl AsRef<Path>) -> Self {
        self.inner.current_dir(dir);
        self
    }

    /// Ends the command after this long.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Runs it with its output visible.
    pub fn stream(mut self) -> Result {
        self.inner.stdin(Stdio::null());
        let child = self.inner.spawn();
        let status = self.wait(child)?;
        self.judge(status, String::new())
    }

    /// Runs it silently; a failure shows the end of what it said.
    pub fn quiet(mut self) -> Result {
        let log = TempPath::new("log");
        let out = File::create(log.path()).during(|| "create a log file".into())?;
        let err = out.try_clone().during(|| "share a log file".into())?;
        self.inner.stdin(Stdio::null()).stdout(out).stderr(err);
        let child = self.inner.spawn();
        let status = self.wait(child)?;
        let said = fs::read(log.path()).unwrap_or_default();
        self.judge(status, tail(&String::from_utf8_lossy(&said), 40))
    }

    /// Runs it and returns what it printed.
    pub fn read(mut self) -> Result<String> {
        let output = self
            .inner
            .stdin(Stdio::null())
            .output()
            .during(|| format!("run `{}`", self.shown()))?;
        let said = tail(&String::from_utf8_lossy(&output.stderr), 40);
        self.judge(output.status, said)?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn wait(&self, child: io::Result<Child>) -> Result<ExitStatus> {
        let mut child = child.during(|| format!("run `{}`", self.shown()))?;
        let waiting = || format!("wait for `{}`", self.shown());
        let Some(limit) = self.limit else {
            return child.wait().during(waiting);
        };
        let started = Instant::now();
        loop {
            if let Some(status) = child.try_wait().during(waiting)? {
                return Ok(status);
            }
            if started.elapsed() >= limit {
                let _ = child.kill();
                let _ = child.wait();
                return Err(Error::Command {
                    command: self.shown(),
                    outcome: format!("did not answer within {} s", limit.as_secs()),
                    tail: String::new(),
                });
            }
            sleep(Duration::from_millis(50));
        }
    }

    fn judge(&self, status: ExitStatus, tail: String) -> Result {
        if status.success() {
            return Ok(());
        }
        Err(Error::Command {
            command: self.shown(),
            outcome: format!("ended with {status}"),
            tail,
        })
    }

    fn shown(&self) -> String {
        let mut words = vec![self.inner.get_program().to_string_lossy()];
        words.extend(self.inner.get_args().map(OsStr::to_string_lossy));
        let mut line = words.join(" ");
        if let Some((cut, _)) = line.char_indices().nth(200) {
            line.truncate(cut);
            line.push('…');
        }
        line
    }
}

fn is_cargos_own(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name == "CARGO" || name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.trim_end().lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// Finds a program on PATH.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|candidate| candidate.is_file())
}

/// PATH with one more folder in front.
pub fn path_with(first: &Path) -> OsString {
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::iter::once(first.to_owned()).chain(std::env::split_paths(&rest));
    std::env::join_paths(dirs).unwrap_or(rest)
}

/// A path in the system's temporary folder, removed when dropped.
#[derive(Debug)]
pub struct TempPath(PathBuf);

impl TempPath {
    /// A fresh name; nothing is created.
    pub fn new(kind: &str) -> Self {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("leasehold-xtask-{}-{number}-{kind}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempPath {
    fn drop(&mut self) {
        if self.0.is_dir() {
            let _ = fs::remove_dir_all(&self.0);
        } else {
            let _ = fs::remove_file(&self.0);
        }
    }
}
