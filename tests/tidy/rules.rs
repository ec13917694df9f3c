//! The rules, one function each, and for each a test that shows it can fail.

use super::source::Source;

/// Columns of a page.
pub const COLUMNS: usize = 100;
/// Lines of a source file, tests apart.
pub const FILE_LINES: usize = 600;
/// Lines of a function, tests apart.
pub const FUNCTION_LINES: usize = 70;
/// Lines of the median source file.
pub const MEDIAN_LINES: usize = 220;

/// The layers from the bottom up. A layer may name itself and those before it.
const LAYERS: &[&str] = &["base", "wire", "decide", "store", "drive", "api"];
/// Above the layers: each may name every layer, but not its neighbour.
const TOPS: &[&str] = &["ffi", "cli"];
/// The deterministic world: sees every layer, is seen only by tests and behind its feature.
const WORLD: &str = "sim";

/// A layer names only layers below it.
pub fn layers(source: &Source) -> Vec<String> {
    let Some(layer) = source.layer().filter(|_| source.is_rust()) else { return Vec::new() };
    let allowed = |named: &str| match layer {
        _ if named == layer => true,
        _ if named == WORLD => false,
        "bin" | WORLD => true,
        _ if TOPS.contains(&layer) => !TOPS.contains(&named),
        _ => rank(layer).is_some_and(|own| rank(named).is_some_and(|other| other < own)),
    };
    let known = |name: &str| {
        LAYERS.contains(&name) || TOPS.contains(&name) || name == WORLD || name == "bin"
    };
    if !known(layer) {
        return vec![format!("{}:1: {layer:?} is not a layer of the house", source.path)];
    }
    let bad = |(at, named): (usize, String)| {
        if known(&named) && !allowed(&named) && !behind_sim(source, at) {
            return Some(source.at(at, format!("{layer}/ looks up to {named}/")));
        }
        // The crate's root re-exports every layer: through it a layer could see what is above it.
        let hidden = rank(layer).is_some() && named.starts_with(char::is_uppercase);
        hidden.then(|| source.at(at, format!("{named} through the root: name its layer")))
    };
    named_modules(source).into_iter().filter_map(bad).collect()
}

fn rank(layer: &str) -> Option<usize> {
    LAYERS.iter().position(|l| *l == layer)
}

/// The first path segment after every `crate::`, also inside `use crate::{a, b::c}`.
fn named_modules(source: &Source) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let roots = ["crate::", "super::super::"];
    let starts = roots.iter().flat_map(|r| source.find(r).into_iter().map(move |at| (at, r.len())));
    for (at, length) in starts {
        let rest = &source.code[at + length..];
        let Some(group) = rest.strip_prefix('{') else {
            found.push((at, first_word(rest)));
            continue;
        };
        let mut depth = 0;
        let mut start = 0;
        for (i, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => {
                    found.push((at, first_word(&group[start..i])));
                    break;
                }
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    found.push((at, first_word(&group[start..i])));
                    start = i + 1;
                }
                _ => {}
            }
        }
    }
    found
}

fn first_word(text: &str) -> String {
    text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// Whether one of the two lines above, or the file itself, is compiled for tests or `sim` only.
fn behind_sim(source: &Source, at: usize) -> bool {
    let before: Vec<&str> = source.text[..at].lines().rev().skip(1).take(2).collect();
    let gate = |line: &&str| line.contains("cfg(") && line.contains("feature = \"sim\"");
    source.is_test() || before.iter().any(gate)
}

/// The pure layers know no clock, no executor, no store and no chance.
pub fn purity(source: &Source) -> Vec<String> {
    const PURE: &[&str] = &["base", "wire", "decide"];
    const FORBIDDEN: &[&str] = &[
        "Instant",
        "SystemTime",
        "async",
        "await",
        "tokio",
        "futures",
        "object_store",
        "slatedb",
        "rand",
        "fastrand",
        "getrandom",
        "std::fs",
        "std::net",
        "std::thread",
        "std::env",
    ];
    if !source.layer().is_some_and(|l| PURE.contains(&l)) || source.is_test() {
        return Vec::new();
    }
    let at_all = |word: &&str| {
        source
            .find(word)
            .into_iter()
            .map(|at| source.at(at, format!("{word} in a pure layer")))
            .collect::<Vec<_>>()
    };
    FORBIDDEN.iter().flat_map(at_all).collect()
}

/// `unsafe` only where the wall to other languages and the fork and clock shims are.
pub fn unsafe_rooms(source: &Source) -> Vec<String> {
    const ROOMS: &[&str] = &["src/ffi/", "src/drive/fork.rs", "src/drive/clock.rs"];
    // Tests that stand in for a host program call the C interface.
    let host = source.path.starts_with("tests/") || source.path.starts_with("benches/");
    if !source.is_rust() || host || ROOMS.iter().any(|r| source.path.starts_with(r)) {
        return Vec::new();
    }
    source.find("unsafe").into_iter().map(|at| source.at(at, "unsafe outside its rooms")).collect()
}

/// Nothing is left for later, and no test is switched off.
pub fn unfinished(source: &Source) -> Vec<String> {
    const MACROS: &[&str] = &["todo!", "unimplemented!", "dbg!"];
    const ATTRIBUTES: &[&str] = &["#[ignore", "assert!(true)"];
    if !source.is_rust() {
        return Vec::new();
    }
    let found = |word: &&str| {
        source
            .find(word)
            .into_iter()
            .map(|at| source.at(at, format!("{word} is not finished work")))
            .collect::<Vec<_>>()
    };
    let mut all: Vec<String> = MACROS.iter().chain(ATTRIBUTES).flat_map(found).collect();
    for (i, line) in source.text.lines().enumerate() {
        if ["FIX", "XX", "HA"].iter().zip(["ME", "X", "CK"]).any(|(a, b)| marker(line, a, b)) {
            all.push(format!("{}:{}: a note for later", source.path, i + 1));
        }
    }
    all
}

/// Whether the line holds the word made of both halves (written apart, so as not to find itself).
fn marker(line: &str, first: &str, second: &str) -> bool {
    let word = format!("{first}{second}");
    let whole = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric());
    line.match_indices(&word).any(|(at, _)| {
        whole(line[..at].chars().next_back()) && whole(line[at + word.len()..].chars().next())
    })
}

/// A library prints nothing: only the command line does.
pub fn silence(source: &Source) -> Vec<String> {
    const PRINTS: &[&str] = &["println!", "eprintln!", "print!", "eprint!"];
    let speaks = ["src/cli/", "src/bin/"].iter().any(|p| source.path.starts_with(p));
    if !source.path.starts_with("src/") || speaks || source.is_test() {
        return Vec::new();
    }
    let found = |word: &&str| {
        source
            .find(word)
            .into_iter()
            .map(|at| source.at(at, format!("{word} in the library")))
            .collect::<Vec<_>>()
    };
    PRINTS.iter().flat_map(found).collect()
}

/// Tasks run on the library's runtimes: on a caller's runtime they would die with it.
pub fn spawning(source: &Source) -> Vec<String> {
    const STRAY: &[&str] = &["tokio::spawn", "task::spawn(", "spawn_blocking(", "Handle::current"];
    let own = ["src/cli/", "src/bin/"].iter().any(|p| source.path.starts_with(p));
    if !source.path.starts_with("src/") || own || source.is_test() {
        return Vec::new();
    }
    let outside_tests = &source.code[..tests_at(source)];
    let found = |word: &&str| {
        source
            .find(word)
            .into_iter()
            .filter(|at| *at < outside_tests.len())
            .map(|at| source.at(at, format!("{word}: spawn on World::control or World::data")))
            .collect::<Vec<_>>()
    };
    STRAY.iter().flat_map(found).collect()
}

/// Where the test module at the end of a file begins, or the file's length.
fn tests_at(source: &Source) -> usize {
    source.code.find("#[cfg(test)]").unwrap_or(source.code.len())
}

/// No path of somebody's machine.
pub fn machine_paths(source: &Source) -> Vec<String> {
    let roots = ["home", "root", "Users", "work"];
    let mut found = Vec::new();
    for (i, line) in source.text.lines().enumerate() {
        let named = |root: &&str| {
            let path = format!("/{root}/");
            line.match_indices(&path).any(|(at, _)| {
                let before = line[..at].chars().next_back();
                let after = line[at + path.len()..].chars().next();
                let joined = |c: char| c.is_alphanumeric() || "._-}{>)*/".contains(c);
                !before.is_some_and(joined) && after.is_some_and(|c| c.is_alphanumeric())
            })
        };
        if roots.iter().any(named) {
            found.push(format!("{}:{}: a machine's path", source.path, i + 1));
        }
    }
    found
}

/// A document names a test only if there is one: `tests/<file>::<name>`, between backquotes.
pub fn named_tests(source: &Source, text_of: impl Fn(&str) -> Option<String>) -> Vec<String> {
    if !source.path.starts_with("docs/") {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (i, line) in source.text.lines().enumerate() {
        for span in line.split('`').skip(1).step_by(2).filter(|s| s.starts_with("tests/")) {
            let Some((file, name)) = span.split_once("::") else { continue };
            if !text_of(file).is_some_and(|text| text.contains(name)) {
                found.push(format!("{}:{}: there is no test {span}", source.path, i + 1));
            }
        }
    }
    found
}

/// Every Rust file begins by saying what it is for.
pub fn module_doc(source: &Source) -> Vec<String> {
    if !source.is_rust() {
        return Vec::new();
    }
    let documented = source.text.lines().take(5).any(|l| l.starts_with("//! "));
    if documented {
        return Vec::new();
    }
    vec![format!("{}:1: no module doc (//!)", source.path)]
}

/// Functions with their lengths in lines, first to last brace, by the shape rustfmt gives them.
pub fn functions(source: &Source) -> Vec<(String, usize)> {
    let lines: Vec<&str> = source.code.lines().collect();
    let limit = source.code[..tests_at(source)].lines().count();
    let mut found = Vec::new();
    for (first, line) in lines.iter().enumerate().take(limit) {
        let Some(name) = declared(line) else { continue };
        let indent = &line[..line.len() - line.trim_start().len()];
        let close = format!("{indent}}}");
        let ends =
            |l: &&str| l.trim_end() == close || l.trim_end().ends_with(';') && same(l, indent);
        if let Some(length) = lines[first..].iter().position(ends) {
            found.push((name, length + 1));
        }
    }
    found
}

/// Whether a line stands at exactly this indent.
fn same(line: &str, indent: &str) -> bool {
    line.strip_prefix(indent).is_some_and(|rest| !rest.starts_with(' '))
}

/// The name a line declares a function by.
fn declared(line: &str) -> Option<String> {
    let (before, after) = line.split_once("fn ")?;
    let words = ["pub", "async", "unsafe", "extern", "const", "default"];
    let quiet = |w: &str| words.contains(&w) || w.starts_with("pub(") || w.starts_with('"');
    if !before.split_whitespace().all(quiet) || line.trim_end().ends_with("}") {
        return None;
    }
    let name = first_word(after);
    (!name.is_empty()).then_some(name)
}

/// The median length of the files under `src/`, tests apart.
pub fn median_lines(sources: &[Source]) -> usize {
    let ours = |s: &&Source| s.path.starts_with("src/") && s.is_rust() && !s.is_test();
    let mut sizes: Vec<usize> =
        sources.iter().filter(ours).map(|s| s.text.lines().count()).collect();
    sizes.sort_unstable();
    sizes.get(sizes.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a rule finds in one injected file.
    fn found(rule: fn(&Source) -> Vec<String>, path: &str, text: &str) -> usize {
        rule(&Source::new(path, text)).len()
    }

    #[test]
    fn a_layer_that_looks_up_is_found() {
        assert_eq!(found(layers, "src/wire/a.rs", "use crate::drive::World;\n"), 1);
        assert_eq!(found(layers, "src/base/a.rs", "use crate::{base::Error, wire::key};\n"), 1);
        assert_eq!(found(layers, "src/store/a.rs", "fn f(x: crate::api::Client) {}\n"), 1);
        assert_eq!(found(layers, "src/ffi/a.rs", "use crate::cli::run;\n"), 1);
        assert_eq!(found(layers, "src/util/a.rs", ""), 1);
        assert_eq!(found(layers, "src/wire/a.rs", "use super::super::drive::World;\n"), 1);
        assert_eq!(found(layers, "src/drive/a.rs", "use crate::Client;\n"), 1);
    }

    #[test]
    fn a_layer_that_looks_down_or_at_itself_is_fine() {
        assert_eq!(found(layers, "src/api/a.rs", "use crate::{api::Wait, drive::World};\n"), 0);
        assert_eq!(
            found(layers, "src/drive/a.rs", "// see crate::api\nuse crate::wire::key;\n"),
            0
        );
        assert_eq!(
            found(layers, "src/ffi/a.rs", "use crate::Error;\nuse crate::api::Client;\n"),
            0
        );
    }

    #[test]
    fn the_simulated_world_is_seen_behind_its_feature_only() {
        let used = "use crate::sim::Clock;\n";
        let gated = format!("#[cfg(feature = \"sim\")]\n{used}");
        assert_eq!(found(layers, "src/api/a.rs", used), 1);
        assert_eq!(found(layers, "src/api/a.rs", &gated), 0);
    }

    #[test]
    fn clocks_tasks_stores_and_chance_in_a_pure_layer_are_found() {
        for text in [
            "use std::time::Instant;\n",
            "let t = SystemTime::now();\n",
            "async fn f() {}\n",
            "use tokio::sync::Mutex;\n",
            "use slatedb::object_store::Path;\n",
            "let x = rand::random();\n",
        ] {
            assert_ne!(found(purity, "src/decide/a.rs", text), 0, "{text}");
            assert_eq!(found(purity, "src/drive/a.rs", text), 0, "{text}");
        }
        assert_eq!(found(purity, "src/base/a.rs", "// no async here\nlet operand = 1;\n"), 0);
    }

    #[test]
    fn unsafe_outside_its_rooms_is_found() {
        let text = "fn f() { unsafe { g() } }\n";
        assert_eq!(found(unsafe_rooms, "src/store/a.rs", text), 1);
        assert_eq!(found(unsafe_rooms, "src/ffi/a.rs", text), 0);
        assert_eq!(found(unsafe_rooms, "src/drive/clock.rs", text), 0);
        assert_eq!(found(unsafe_rooms, "src/base/a.rs", "#![deny(unsafe_code)] // unsafe\n"), 0);
    }

    #[test]
    fn unfinished_and_disarmed_places_are_found() {
        let bang = |word: &str| format!("fn f() {{ {word}!() }}\n");
        assert_eq!(found(unfinished, "src/a.rs", &bang("todo")), 1);
        assert_eq!(found(unfinished, "src/a.rs", &bang("unimplemented")), 1);
        assert_eq!(found(unfinished, "tests/a.rs", &bang("dbg")), 1);
        assert_eq!(found(unfinished, "tests/a.rs", "#[ignore]\nfn f() {}\n"), 1);
        assert_eq!(found(unfinished, "src/a.rs", &format!("// {}{}: later\n", "FIX", "ME")), 1);
        assert_eq!(found(unfinished, "src/a.rs", "// a todo!() in prose\n"), 0);
    }

    #[test]
    fn a_library_that_prints_is_found() {
        let text = "fn f() { println!() }\n";
        assert_eq!(found(silence, "src/api/a.rs", text), 1);
        assert_eq!(found(silence, "src/cli/a.rs", text), 0);
        assert_eq!(found(silence, "src/bin/tenure.rs", text), 0);
    }

    #[test]
    fn a_task_on_the_callers_runtime_is_found() {
        let text = "fn f() { tokio::spawn(g()); }\n";
        assert_eq!(found(spawning, "src/drive/a.rs", text), 1);
        let tested = format!("#[cfg(test)]\nmod tests {{\n{text}}}\n");
        assert_eq!(found(spawning, "src/drive/a.rs", &tested), 0);
    }

    #[test]
    fn a_machine_path_is_found() {
        let path = |root: &str| format!("let p = \"/{root}/me/x\";\n");
        for root in ["home", "root", "Users", "work"] {
            assert_eq!(found(machine_paths, "src/a.rs", &path(root)), 1, "{root}");
        }
        assert_eq!(found(machine_paths, "src/a.rs", "// target/work/x and s3://b/home/x\n"), 0);
    }

    #[test]
    fn a_document_that_names_a_missing_test_is_found() {
        let page = Source::new("docs/a.md", "see `tests/b.rs::it_holds` and `tests/b.rs::gone`\n");
        let tests = |file: &str| (file == "tests/b.rs").then(|| "fn it_holds() {}".to_owned());
        assert_eq!(named_tests(&page, tests).len(), 1);
        assert_eq!(named_tests(&page, |_| None).len(), 2);
    }

    #[test]
    fn a_module_without_a_doc_is_found() {
        assert_eq!(found(module_doc, "src/a.rs", "pub fn f() {}\n"), 1);
        assert_eq!(found(module_doc, "src/a.rs", "//! What it is for.\n"), 0);
    }

    #[test]
    fn functions_are_measured_from_name_to_last_brace() {
        let text =
            "impl A {\n    pub async fn f(\n        x: u8,\n    ) {\n        g();\n    }\n}\n";
        assert_eq!(functions(&Source::new("a.rs", text)), vec![("f".to_owned(), 5)]);
        let declaration =
            "trait A {\n    fn f(&self);\n    fn g(&self) {\n        h();\n    }\n}\n";
        let rows = functions(&Source::new("a.rs", declaration));
        assert_eq!(rows, vec![("f".to_owned(), 1), ("g".to_owned(), 3)]);
    }

    #[test]
    fn the_median_is_the_middle_file() {
        let file = |n: usize| Source::new("src/a.rs", &"//\n".repeat(n));
        assert_eq!(median_lines(&[file(1), file(900), file(5)]), 5);
    }
}
