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
    /// For Workers, which take the wasm as modules of their own.
    workerd: Limits,
    /// For everywhere else: the wasm stands in the JavaScript as text. Nothing, if it is for Workers only.
    inlined: Option<Limits>,
}

/// For JavaScript and wasm together, each compressed by gzip, in KB.
#[derive(Debug)]
struct Limits {
    target: f64,
    ceiling: f64,
}

const fn limits(target: f64, ceiling: f64) -> Limits {
    Limits { target, ceiling }
}

const UNLIMITED: Limits = limits(f64::INFINITY, f64::INFINITY);

/// The targets are what is wanted; the ceilings are today's sizes and a little, so that none grows
/// unnoticed while the machines are still too large.
const BUNDLES: [Bundle; 5] = [
    Bundle {
        name: "client",
        entries: &["leasehold"],
        workerd: limits(34.0, 44.0),
        inlined: Some(limits(46.0, 53.0)),
    },
    Bundle {
        name: "client and upstash",
        entries: &["leasehold", "leasehold/upstash"],
        workerd: limits(48.0, 55.0),
        inlined: Some(limits(64.0, 64.0)),
    },
    Bundle {
        name: "client and memory",
        entries: &["leasehold", "leasehold/memory"],
        workerd: UNLIMITED,
        inlined: Some(UNLIMITED),
    },
    // Whoever checks fences beside a database has no client, and no wasm.
    Bundle {
        name: "fence",
        entries: &["leasehold/fence"],
        workerd: limits(7.0, 7.0),
        inlined: Some(limits(7.0, 7.0)),
    },
    Bundle {
        name: "host",
        entries: &["leasehold/host"],
        workerd: limits(80.0, 80.0),
        inlined: None,
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

    fn shown(self) -> [String; 3] {
        [self.raw, self.gzip, self.brotli].map(|bytes| format!("{:.2}", kb(bytes)))
    }
}

/// Prints every size; fails when one is over its ceiling.
pub fn report(repo: &Repo, node: &Node) -> Result {
    println!("sizes in KB of 1024 bytes; JavaScript minified by esbuild");
    println!("{}", row("bundle", "part", ["raw", "gzip", "brotli"]));
    let mut over = Vec::new();
    for bundle in &BUNDLES {
        let inlined = bundle.inlined.as_ref().map(|limits| ("default", limits));
        for (condition, limits) in [Some(("workerd", &bundle.workerd)), inlined]
            .into_iter()
            .flatten()
        {
            let (js, wasm) = bundle.measure(repo, node, condition)?;
            let total = js.plus(wasm);
            let name = format!("{}, {condition}", bundle.name);
            if wasm.raw > 0 {
                println!("{}", row(&name, "js", js.shown()));
                println!("{}", row(&name, "wasm", wasm.shown()));
            }
            println!("{}", row(&name, "total", total.shown()));
            over.extend(limits.judge(&name, total));
        }
    }
    if over.is_empty() {
        Ok(())
    } else {
        Err(Error::Rejected(over.join("\n")))
    }
}

fn row(name: &str, part: &str, sizes: [impl std::fmt::Display; 3]) -> String {
    let [raw, gzip, brotli] = sizes;
    format!("{name:<27} {part:<5} {raw:>8} {gzip:>8} {brotli:>8}")
}

fn kb(bytes: u32) -> f64 {
    f64::from(bytes) / KB
}

impl Bundle {
    fn measure(&self, repo: &Repo, node: &Node, condition: &str) -> Result<(Sizes, Sizes)> {
        let printed = node
            .node()
            .arg(repo.path("xtask/js/size.mjs"))
            .arg(condition)
            .args(self.entries)
            .read()?;
        parse(&printed).ok_or_else(|| {
            Error::Rejected(format!("size.mjs printed what we can't read: {printed}"))
        })
    }
}

impl Limits {
    fn judge(&self, name: &str, total: Sizes) -> Option<String> {
        let Self { target, ceiling } = self;
        let gzip = kb(total.gzip);
        if gzip > *ceiling {
            return Some(format!(
                "{name} is {gzip:.2} KB by gzip, over its ceiling of {ceiling} KB"
            ));
        }
        if gzip > *target {
            println!("{name}: over its target of {target} KB by gzip (ceiling {ceiling} KB)");
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
        let at = |gzip| Sizes { gzip, ..SMALL };
        let judge = |gzip| limits(20.0, 30.0).judge("client", at(gzip));
        assert_eq!(judge(30 * 1024), None);
        assert!(judge(30 * 1024 + 1).is_some());
    }
}
