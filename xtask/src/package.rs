//! `cargo xtask build`: everything that `npm pack` in `pkg/` needs.

use crate::files::{Repo, copy, remove_dir, replace_dir};
use crate::node::Node;
use crate::shell::{Cmd, Result, step};
use crate::wasm::BINDINGS;
use crate::wasm_toolchain::{WasmRust, cargo};

/// What a build leaves behind for the steps after it.
#[derive(Debug)]
pub struct Built {
    /// The Node to run with.
    pub node: Node,
    /// The Rust to build for WebAssembly with.
    pub rust: WasmRust,
}

/// Brings `pkg/` up to date.
pub fn build(repo: &Repo) -> Result<Built> {
    let _lock = repo.lock()?;
    let node = Node::find(repo)?;
    node.install_packages(repo)?;
    let rust = WasmRust::find(repo)?;
    for binding in &BINDINGS {
        binding.build(repo, &rust, &node)?;
    }
    write_script(repo)?;
    bundle(repo, &node)?;
    copy_documents(repo)?;
    Ok(Built { node, rust })
}

/// The Redis host's script, as a module of JavaScript.
fn write_script(repo: &Repo) -> Result {
    step("Redis script", || {
        let (mark, place) = ("redis-script", repo.path("pkg/wasm/redis"));
        let inputs = [repo.path("src"), repo.path("bindings/redis")];
        if place.is_dir() && repo.is_fresh(mark, &inputs) {
            return Ok(());
        }
        remove_dir(&place)?;
        Cmd::new(cargo())
            .args(["run", "--quiet", "--package", "leasehold-redis", "--"])
            .arg(place)
            .cwd(repo.root())
            .stream()?;
        repo.mark(mark)
    })
}

/// The documents that npm expects inside the package's folder.
fn copy_documents(repo: &Repo) -> Result {
    for name in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        copy(&repo.path(name), &repo.path("pkg").join(name))?;
    }
    Ok(())
}

/// `pkg/dist`: declarations by the compiler, JavaScript by the bundler.
fn bundle(repo: &Repo, node: &Node) -> Result {
    let place = repo.path("pkg/dist");
    let bundler = repo.path("xtask/js/bundle.mjs");
    let inputs = [
        repo.path("pkg/tsconfig.json"),
        repo.path("pkg/src"),
        repo.path("pkg/wasm"),
        repo.path("pkg/entries.json"),
        repo.path("pkg/package.json"),
        repo.path("package-lock.json"),
        bundler.clone(),
    ];
    if place.is_dir() && repo.is_fresh("bundle", &inputs) {
        return Ok(());
    }
    step("TypeScript", || {
        let unfinished = repo.path("pkg/dist.new");
        remove_dir(&unfinished)?;
        node.tool("typescript/bin/tsc")
            .args(["-p", "pkg", "--outDir"])
            .arg(unfinished.join("types"))
            .stream()?;
        node.node().arg(&bundler).arg(&unfinished).stream()?;
        replace_dir(&unfinished, &place)?;
        repo.mark("bundle")
    })
}
