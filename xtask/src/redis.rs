//! A real redis-server for tests and benchmarks.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::debian;
use crate::files::create_dir;
use crate::shell::{Cmd, During, Error, Result, TempPath, find_program};

/// The variable that tells tests and benchmarks which program to start.
pub const PROGRAM_VARIABLE: &str = "REDIS_SERVER";
/// The variable that tells benchmarks where the server that xtask started listens.
pub const URL_VARIABLE: &str = "REDIS_URL";

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

/// A server that keeps nothing and ends with us.
#[derive(Debug)]
pub struct Redis {
    process: Child,
    port: u16,
    _dir: TempPath,
}

impl Redis {
    /// Starts one on a free loopback port.
    pub fn start() -> Result<Self> {
        let program = program()?;
        let dir = TempPath::new("redis");
        create_dir(dir.path())?;
        let port = free_port()?;
        let process = Cmd::new(&program)
            .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
            .args(["--save", "", "--appendonly", "no"])
            .cwd(dir.path())
            .spawn()?;
        let mut redis = Self {
            process,
            port,
            _dir: dir,
        };
        redis.wait_until_up()?;
        Ok(redis)
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    fn wait_until_up(&mut self) -> Result {
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(10) {
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return Ok(());
            }
            let ended = self.process.try_wait();
            if ended.during(|| "watch redis-server".into())?.is_some() {
                break;
            }
            sleep(Duration::from_millis(20));
        }
        Err(Error::Rejected("redis-server did not come up".into()))
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).during(|| "find a free port".into())?;
    let address = listener.local_addr().during(|| "find a free port".into())?;
    Ok(address.port())
}
