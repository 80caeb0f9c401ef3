//! Proof that the core needs nothing: it links into a wasm without std, and imports nothing.

use std::fs;

use crate::files::{Repo, write_all};
use crate::package::Built;
use crate::shell::{During, Error, Result};
use crate::wasm_toolchain::TARGET;

const MANIFEST: &[u8] = br#"[package]
name = "core-alone"
edition = "2024"

[lib]
path = "lib.rs"
crate-type = ["cdylib"]

[dependencies]
leasehold = { path = "../../.." }

[workspace]
"#;

/// A second panic handler is an error, so this compiles only if nothing below it uses std.
const SOURCE: &[u8] = br#"#![no_std]
use core::alloc::{GlobalAlloc, Layout};
use leasehold as _;

struct NoMemory;

unsafe impl GlobalAlloc for NoMemory {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        core::ptr::null_mut()
    }
    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static ALLOCATOR: NoMemory = NoMemory;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
"#;

const PRINT_IMPORTS: &str = "\
const bytes = require('node:fs').readFileSync(process.argv[1]);
const imports = WebAssembly.Module.imports(new WebAssembly.Module(bytes));
console.log(imports.map((i) => `${i.module}.${i.name}`).join(' '));";

/// Builds such a crate and looks at what came out.
pub fn check(repo: &Repo, built: &Built) -> Result {
    let dir = repo.path("target/xtask/core-alone");
    write_all(&dir.join("Cargo.toml"), MANIFEST)?;
    write_all(&dir.join("lib.rs"), SOURCE)?;
    // The same versions as everywhere else, and so no download.
    fs::copy(repo.path("Cargo.lock"), dir.join("Cargo.lock"))
        .during(|| "copy Cargo.lock".into())?;
    let target_dir = repo.path("target/wasm");
    built
        .rust
        .cargo("build")
        .args(["--release", "--quiet", "--target-dir"])
        .arg(&target_dir)
        .cwd(&dir)
        .stream()?;
    let wasm = target_dir.join(TARGET).join("release/core_alone.wasm");
    let imports = built
        .node
        .node()
        .args(["--eval", PRINT_IMPORTS])
        .arg(&wasm)
        .read()?;
    if imports.is_empty() {
        Ok(())
    } else {
        Err(Error::Rejected(format!("the core imports {imports}")))
    }
}
