//! `cargo xtask size`: what a user's bundle grows by, and the ceilings.

use crate::files::Repo;
use crate::node::Node;
use crate::shell::{Error, Result};

/// One kilobyte, in every figure and ceiling here.
const KB: f64 = 1024.0;

/// Something a user bundles: minified JavaScript, and the wasm it loads.
#[derive(Debug)]
struct Bundle {
    name: &'static str,
    entries: &'static [&'static str],
    wasm: &'static [&'static str],
    limits: Option<Limits>,
}

/// For JavaScript and wasm together, each compressed by gzip, in KB.
#[derive(Debug)]
struct Limits {
    target: f64,
    ceiling: f64,
}

const BUNDLES: [Bundle; 4] = [
    Bundle {
        name: "client",
        entries: &["index.js"],
        wasm: &["client"],
        limits: Some(Limits {
            target: 34.0,
            ceiling: 38.0,
        }),
    },
    Bundle {
        name: "upstash",
        entries: &["index.js", "backends/upstash.js"],
        wasm: &["client", "redis"],
        limits: None,
    },
    Bundle {
        name: "memory",
        entries: &["backends/memory.js"],
        wasm: &["memory"],
        limits: None,
    },
    Bundle {
        name: "host",
        entries: &["host/lease-host.js"],
        wasm: &["host"],
        limits: Some(Limits {
            target: 60.0,
            ceiling: 80.0,
        }),
    },
];

/// Bytes as they are and compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sizes {
    raw: u32,
    gzip: u32,
    brotli: u32,
}

impl Sizes {
    fn plus(self, other: Self) -> Self {
        Self {
            raw: self.raw + other.raw,
            gzip: self.gzip + other.gzip,
            brotli: self.brotli + other.brotli,
        }
    }
}

/// Prints every size; fails when one is over its ceiling.
pub fn report(repo: &Repo, node: &Node) -> Result {
    println!("sizes in KB of 1024 bytes; JavaScript minified by esbuild, wasm kept apart");
    println!(
        "{:<9} {:<5} {:>8} {:>8} {:>8}",
        "bundle", "part", "raw", "gzip", "brotli"
    );
    let mut over = Vec::new();
    for bundle in &BUNDLES {
        let missing = bundle.missing(repo);
        if !missing.is_empty() {
            println!("{:<9} not measured: no {}", bundle.name, missing.join(", "));
            continue;
        }
        let (js, wasm) = bundle.measure(repo, node)?;
        let total = js.plus(wasm);
        for (part, sizes) in [("js", js), ("wasm", wasm), ("total", total)] {
            println!("{}", row(bundle.name, part, sizes));
        }
        over.extend(bundle.judge(total));
    }
    if over.is_empty() {
        Ok(())
    } else {
        Err(Error::Rejected(over.join("\n")))
    }
}

fn row(name: &str, part: &str, sizes: Sizes) -> String {
    let [raw, gzip, brotli] = [sizes.raw, sizes.gzip, sizes.brotli].map(kb);
    format!("{name:<9} {part:<5} {raw:>8.2} {gzip:>8.2} {brotli:>8.2}")
}

fn kb(bytes: u32) -> f64 {
    f64::from(bytes) / KB
}

impl Bundle {
    fn files(&self) -> impl Iterator<Item = String> {
        let entries = self.entries.iter().map(|entry| format!("pkg/dist/{entry}"));
        let wasm = self
            .wasm
            .iter()
            .map(|name| format!("pkg/wasm/{name}/{name}_bg.wasm"));
        entries.chain(wasm)
    }

    fn missing(&self, repo: &Repo) -> Vec<String> {
        self.files().filter(|f| !repo.path(f).is_file()).collect()
    }

    fn measure(&self, repo: &Repo, node: &Node) -> Result<(Sizes, Sizes)> {
        let printed = node
            .node()
            .arg(repo.path("xtask/js/size.mjs"))
            .args(self.files())
            .read()?;
        parse(&printed).ok_or_else(|| {
            Error::Rejected(format!("size.mjs printed what we can't read: {printed}"))
        })
    }

    fn judge(&self, total: Sizes) -> Option<String> {
        let limits = self.limits.as_ref()?;
        let gzip = kb(total.gzip);
        if gzip > limits.ceiling {
            return Some(format!(
                "{} is {gzip:.2} KB by gzip, over its ceiling of {} KB",
                self.name, limits.ceiling
            ));
        }
        if gzip > limits.target {
            println!(
                "{:<9} over its target of {} KB by gzip (ceiling {} KB)",
                self.name, limits.target, limits.ceiling
            );
        }
        None
    }
}

/// Reads two lines of three numbers: JavaScript, then wasm.
fn parse(printed: &str) -> Option<(Sizes, Sizes)> {
    let mut lines = printed.lines().map(|line| {
        let mut numbers = line.split_whitespace().map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Sizes {
            raw: next()?,
            gzip: next()?,
            brotli: next()?,
        })
    });
    Some((lines.next()??, lines.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Sizes = Sizes {
        raw: 3,
        gzip: 2,
        brotli: 1,
    };

    #[test]
    fn two_lines_of_three_numbers_are_read() {
        assert_eq!(parse("3 2 1\n3 2 1"), Some((SMALL, SMALL)));
        assert_eq!(parse("3 2 1"), None);
        assert_eq!(parse("3 2\n3 2 1"), None);
        assert_eq!(parse("a b c\n3 2 1"), None);
    }

    #[test]
    fn only_a_total_above_the_ceiling_is_refused() {
        let [client, ..] = &BUNDLES;
        let at = |gzip| Sizes { gzip, ..SMALL };
        assert_eq!(client.judge(at(30 * 1024)), None);
        assert!(client.judge(at(30 * 1024 + 1)).is_some());
    }
}
