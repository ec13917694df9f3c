//! The files the rules look at: what git would commit, without build output.

use super::ratchet::Ratchet;
use super::source::Source;
use std::path::{Path, PathBuf};

const RATCHET: &str = "tests/tidy_ratchet.toml";
const LOOKED_AT: &[&str] = &["rs", "c", "h", "hpp", "cpp", "go", "py", "md", "toml", "sh"];
const SKIPPED: &[&str] = &["target", ".git", ".venv", "node_modules", "book"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every file the house rules apply to, in path order.
pub fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    walk(&root(), &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(found.iter().any(|s| s.path == "src/lib.rs"), "the walk lost the sources");
    found
}

fn walk(folder: &Path, found: &mut Vec<Source>) {
    let entries = std::fs::read_dir(folder).expect("a folder of the tree is readable");
    for entry in entries {
        let path = entry.expect("a row of a readable folder").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !SKIPPED.contains(&name.as_str()) {
                walk(&path, found);
            }
            continue;
        }
        let ext = path.extension().unwrap_or_default().to_string_lossy();
        if LOOKED_AT.contains(&ext.as_ref()) || name == "Makefile" || path.ends_with(".ci/run") {
            let inner = path.strip_prefix(root()).expect("the walk stays inside the root");
            let text = std::fs::read_to_string(&path).expect("a source file is UTF-8");
            found.push(Source::new(&inner.to_string_lossy(), &text));
        }
    }
}

/// One file of the tree, if it is there.
pub fn text(path: &str) -> Option<String> {
    std::fs::read_to_string(root().join(path)).ok()
}

/// The grandfathered sizes.
pub fn ratchet() -> Ratchet {
    let text = std::fs::read_to_string(root().join(RATCHET)).expect("the ratchet is in the tree");
    Ratchet::parse(&text).unwrap_or_else(|why| panic!("{RATCHET}: {why}"))
}

/// Writes the list back after it was lowered.
pub fn write_ratchet(ratchet: &Ratchet) {
    std::fs::write(root().join(RATCHET), ratchet.to_string()).expect("the tree is writable");
}
