//! What the sources must not hold, checked by reading them.

use std::fs;
use std::path::{Path, PathBuf};

/// The longest that a source file may be.
const MAX_LINES: usize = 450;

/// The core's sources in Rust.
fn sources() -> Vec<(PathBuf, String)> {
    let mut all = sources_in("src");
    all.retain(|(path, _)| path.extension().is_some_and(|ending| ending == "rs"));
    assert!(all.len() > 20, "the core has more files than that");
    all
}

fn sources_in(folder: &str) -> Vec<(PathBuf, String)> {
    let mut all = Vec::new();
    read(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join(folder),
        &mut all,
    );
    all
}

fn read(folder: &Path, all: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if path.is_dir() {
            read(&path, all);
        } else if matches!(ending, Some("rs" | "ts" | "lua")) {
            let text = fs::read_to_string(&path).expect("text");
            all.push((path, text));
        }
    }
}

/// The code that ships: without the unit tests at the end, comments, and the content of texts.
fn shipped(source: &str) -> String {
    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
    let mut code = String::new();
    for line in source.lines() {
        code.push_str(&without_texts(line));
        code.push('\n');
    }
    code
}

/// One line without its comment and the content of its texts. The core has no block comments, and
/// texts that span lines start with the line's first quote.
fn without_texts(line: &str) -> String {
    let mut code = String::new();
    let mut in_text = false;
    let mut chars = line.chars().peekable();
    while let Some(char) = chars.next() {
        match (in_text, char) {
            (false, '/') if chars.peek() == Some(&'/') => break,
            (true, '\\') => {
                chars.next();
            }
            (_, '"') => in_text = !in_text,
            (false, _) => code.push(char),
            (true, _) => {}
        }
    }
    code
}

/// The words and signs of the code, one by one.
fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|char: char| !(char.is_alphanumeric() || char == '_'))
        .filter(|word| !word.is_empty())
}

fn assert_absent(forbidden: &[&str], why: &str) {
    assert_absent_outside("nowhere", forbidden, why);
}

fn assert_absent_outside(exempt: &str, forbidden: &[&str], why: &str) {
    for (path, source) in sources() {
        if path.ends_with(exempt) {
            continue;
        }
        let code = shipped(&source);
        for word in words(&code) {
            assert!(
                !forbidden.contains(&word),
                "{}: {word}: {why}",
                path.display()
            );
        }
    }
}

#[test]
fn the_core_knows_no_operating_system_no_clock_and_no_randomness() {
    assert_absent(
        &[
            "std",
            "SystemTime",
            "thread",
            "getrandom",
            "rand",
            "println",
            "eprintln",
        ],
        "drivers do that",
    );
    let root = sources()
        .into_iter()
        .find(|(path, _)| path.ends_with("src/lib.rs"))
        .expect("the root of the crate");
    assert!(root.1.contains("#![no_std]"));
    assert!(root.1.contains("#![forbid(unsafe_code)]"));
}

#[test]
fn the_cores_order_is_never_that_of_a_hash() {
    assert_absent(&["HashMap", "HashSet", "RandomState"], "use an ordered map");
}

#[test]
fn the_core_counts_in_whole_numbers() {
    assert_absent_outside(
        "json/text.rs",
        &["f32", "f64"],
        "spans are whole microseconds",
    );
}

#[test]
fn the_core_does_not_panic_on_purpose() {
    assert_absent(
        &[
            "unwrap",
            "expect",
            "panic",
            "unimplemented",
            "todo",
            "unwrap_err",
            "expect_err",
            "dbg",
            "assert",
            "assert_eq",
            "assert_ne",
        ],
        "inputs come from outside",
    );
    for (path, source) in sources() {
        // As a macro alone: a function may be called so.
        assert!(
            !shipped(&source).contains("unreachable!"),
            "{}",
            path.display()
        );
    }
}

#[test]
fn the_core_does_nothing_unsafe_and_silences_no_lint() {
    for (path, source) in sources() {
        let code = shipped(&source);
        assert!(
            !words(&code).any(|word| word == "unsafe"),
            "{}",
            path.display()
        );
        assert!(!code.contains("#[allow"), "{}", path.display());
    }
}

#[test]
fn no_file_that_ships_is_too_long_to_read() {
    let folders = ["src", "bindings", "pkg/src"].map(sources_in);
    assert!(folders.iter().all(|files| files.len() > 10));
    for (path, source) in folders.into_iter().flatten() {
        let lines = source.lines().count();
        assert!(lines <= MAX_LINES, "{}: {lines} lines", path.display());
    }
}

#[test]
fn every_file_of_the_core_says_what_it_is_for() {
    for (path, source) in sources() {
        assert!(source.starts_with("//! "), "{}", path.display());
    }
}

#[test]
fn comments_texts_and_tests_are_told_from_code() {
    let code = shipped(
        "let a = \"unwrap \\\" panic\"; // expect\nb();\n#[cfg(test)]\nmod tests { panic!() }",
    );
    assert_eq!(words(&code).collect::<Vec<_>>(), ["let", "a", "b"]);
}
