//! From a binding crate to a small `.wasm` with its JavaScript.

use std::fs;
use std::path::{Path, PathBuf};

use wasm_bindgen_cli_support::Bindgen;

use crate::files::{Repo, files_ending, remove_dir, replace_dir};
use crate::node::Node;
use crate::shell::{During, Error, Result, step};
use crate::wasm_toolchain::{TARGET, WasmRust};

/// What the Rust target may use, so what wasm-opt has to accept. Every runtime we support has them.
const WASM_FEATURES: [&str; 8] = [
    "--enable-bulk-memory",
    "--enable-bulk-memory-opt",
    "--enable-call-indirect-overlong",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

/// A crate in `bindings/` and the name of its output in `pkg/wasm/`.
#[derive(Debug)]
pub struct Binding {
    package: &'static str,
    name: &'static str,
    /// Runs in workerd alone, once for many requests: made for speed, and with a function that
    /// replaces the instance after a trap. That comes with glue that takes no module of another realm,
    /// as others have to.
    is_host: bool,
}

/// The most memory that a module may take, in bytes. Whatever goes wrong stays small beside what a
/// process has, and an allocator never comes near the end of 32-bit addresses.
const MAX_MEMORY: u32 = 256 << 20;

/// All of them.
pub const BINDINGS: [Binding; 3] = [
    Binding {
        package: "leasehold-client",
        name: "client",
        is_host: false,
    },
    Binding {
        package: "leasehold-memory",
        name: "memory",
        is_host: false,
    },
    Binding {
        package: "leasehold-host",
        name: "host",
        is_host: true,
    },
];

impl Binding {
    /// The crate's name.
    pub fn package(&self) -> &'static str {
        self.package
    }

    /// Compiles, generates and optimises, each only where something changed.
    pub fn build(&self, repo: &Repo, rust: &WasmRust, node: &Node) -> Result {
        step(&format!("wasm: {}", self.name), || {
            let compiled = self.compile(repo, rust)?;
            let mark = format!("wasm-{}", self.name);
            let place = repo.path("pkg/wasm").join(self.name);
            let inputs = [compiled.clone(), repo.path("package-lock.json")];
            if place.is_dir() && repo.is_fresh(&mark, &inputs) {
                return Ok(());
            }
            let unfinished = repo.path("target/xtask").join(self.name);
            remove_dir(&unfinished)?;
            self.generate(&compiled, &unfinished)?;
            self.optimise(node, &unfinished)?;
            replace_dir(&unfinished, &place)?;
            repo.mark(&mark)
        })
    }

    fn compile(&self, repo: &Repo, rust: &WasmRust) -> Result<PathBuf> {
        // One call per crate: in a common one, each would get the features the others ask for.
        let target_dir = repo.path("target/wasm");
        rust.cargo("rustc")
            // Alone: beside an rlib, cargo leaves link-time optimisation out.
            .args([
                "--quiet",
                "--lib",
                "--profile",
                self.profile(),
                "--crate-type",
                "cdylib",
            ])
            .args(["--package", self.package, "--target-dir"])
            .arg(&target_dir)
            .args(["--", &format!("-Clink-arg=--max-memory={MAX_MEMORY}")])
            .cwd(repo.root())
            .stream()?;
        let file = format!("{}.wasm", self.package.replace('-', "_"));
        Ok(target_dir.join(TARGET).join(self.profile()).join(file))
    }

    /// The cargo profile.
    fn profile(&self) -> &'static str {
        if self.is_host { "wasm-host" } else { "wasm" }
    }

    fn generate(&self, compiled: &Path, to: &Path) -> Result {
        let failed = |error| {
            Error::Rejected(format!(
                "generating JavaScript for {} failed: {error:#}",
                self.package
            ))
        };
        let mut generator = Bindgen::new();
        generator
            .input_path(compiled)
            .out_name(self.name)
            .typescript(true);
        let mut output = if self.is_host {
            generator
                .omit_default_module_path(true)
                .reset_state_function(true)
                .web(true)
        } else {
            generator.bundler(true)
        }
        .and_then(Bindgen::generate_output)
        .map_err(failed)?;
        let own = format!("./{}_bg.js", self.name);
        let foreign: Vec<String> = output
            .wasm()
            .imports
            .iter()
            .filter(|import| import.module != own)
            .map(|import| format!("{}.{}", import.module, import.name))
            .collect();
        if !foreign.is_empty() {
            return Err(Error::Rejected(format!(
                "{} imports what no runtime gives it: {}",
                self.package,
                foreign.join(", ")
            )));
        }
        output.emit(to).map_err(failed)?;
        // Describes the raw exports, which nobody is to use.
        for file in files_ending(to, "_bg.wasm.d.ts") {
            fs::remove_file(&file).during(|| format!("remove {}", file.display()))?;
        }
        if !self.is_host {
            // In place of the module that loads the wasm in one way only: the package has more.
            let glue = to.join(format!("{}_bg.js", self.name));
            fs::rename(&glue, to.join(format!("{}.js", self.name)))
                .during(|| format!("rename {}", glue.display()))?;
        }
        Ok(())
    }

    fn optimise(&self, node: &Node, dir: &Path) -> Result {
        let wasm = dir.join(format!("{}_bg.wasm", self.name));
        let smaller = wasm.with_extension("opt");
        node.tool("binaryen/bin/wasm-opt")
            .arg(&wasm)
            .arg("-o")
            .arg(&smaller)
            .args(WASM_FEATURES)
            .arg(if self.is_host { "-O3" } else { "-Oz" })
            // There the stack ends, far below what it ever takes.
            .arg("--low-memory-unused")
            .args(["--strip-debug", "--strip-producers"])
            .arg("--strip-target-features")
            .quiet()?;
        fs::rename(&smaller, &wasm).during(|| format!("write {}", wasm.display()))
    }
}
