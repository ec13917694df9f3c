//! The C ABI as C sees it: the header, the exported symbols, and programs that were written from
//! the header alone.
//!
//! Question: does a C program written only from the header and its comments work? The header is
//! compiled alone in three languages and compared with the blessed copy; its example is cut out and
//! run; every program of `tests/c/` is compiled with warnings as errors and run on a store of its
//! own. `TENURE_BLESS=1 cargo test --test c_abi header` writes `include/tenure.h` anew.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

const GENERATED: &str = include_str!(env!("TENURE_HEADER"));
const STRICT: &[&str] = &["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", "-g"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A folder with the shared library under the name its programs ask for.
fn libraries() -> &'static Path {
    static PLACE: OnceLock<tempfile::TempDir> = OnceLock::new();
    let place = PLACE.get_or_init(|| {
        let place = tempfile::tempdir().unwrap();
        for name in ["libtenure.so", "libtenure.so.0"] {
            std::os::unix::fs::symlink(library(), place.path().join(name)).unwrap();
        }
        place
    });
    place.path()
}

/// The library beside this test's binary: what cargo just built. The copy one folder up is only
/// renewed by `cargo build`.
fn library() -> PathBuf {
    let library = std::env::current_exe().unwrap().with_file_name("libtenure.so");
    assert!(library.exists(), "{} was not built", library.display());
    library
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Compiles a C program against the header and the shared library.
fn compile(source: &Path, into: &Path) -> PathBuf {
    let program = into.join(source.file_stem().unwrap());
    run(Command::new("cc")
        .args(["-std=c99"])
        .args(STRICT)
        .arg("-I")
        .arg(header_folder())
        .arg(source)
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(libraries())
        .args(["-ltenure", "-lpthread"]));
    program
}

/// The generated header in a folder of its own, so that a stale blessed copy is found by one test
/// and not by all.
fn header_folder() -> &'static Path {
    static PLACE: OnceLock<tempfile::TempDir> = OnceLock::new();
    let place = PLACE.get_or_init(|| {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("tenure.h"), GENERATED).unwrap();
        place
    });
    place.path()
}

/// Runs a program of `tests/c` on a store; it must say that it is content.
fn passes(name: &str, url: impl FnOnce(&Path) -> String) {
    let place = tempfile::tempdir().unwrap();
    let program = compile(&root().join(format!("tests/c/{name}.c")), place.path());
    let store = place.path().join("store");
    std::fs::create_dir(&store).unwrap();
    let output = run(Command::new(program).arg(url(&store)).env("LD_LIBRARY_PATH", libraries()));
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{name}: ok\n"));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "the library prints nothing");
}

fn memory(_: &Path) -> String {
    "memory://c-abi".into()
}

fn file(store: &Path) -> String {
    format!("file://{}", store.display())
}

#[test]
fn header_is_blessed() {
    let path = root().join("include/tenure.h");
    if std::env::var_os("TENURE_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, GENERATED).unwrap();
    }
    let blessed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        blessed == GENERATED,
        "include/tenure.h differs from {}: look at the difference, then run with TENURE_BLESS=1",
        env!("TENURE_HEADER")
    );
}

#[test]
fn header_compiles_alone_in_every_language() {
    let place = tempfile::tempdir().unwrap();
    for (compiler, language, standard) in
        [("cc", "c", "c99"), ("cc", "c", "c11"), ("c++", "c++", "c++17")]
    {
        let source = place.path().join(format!("alone.{language}"));
        std::fs::write(&source, "#include <tenure.h>\n#include <tenure.h>\n").unwrap();
        run(Command::new(compiler)
            .arg(format!("-std={standard}"))
            .args(STRICT)
            .args(["-x", language, "-fsyntax-only", "-I"])
            .arg(header_folder())
            .arg(&source));
    }
}

#[test]
fn header_lines_fit_a_terminal() {
    let long: Vec<_> = GENERATED.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(long.is_empty(), "longer than 80 columns: {long:#?}");
}

#[test]
fn header_example_runs() {
    let (_, rest) = GENERATED.split_once("@code\n").expect("the preamble has an example");
    let (code, _) = rest.split_once(" * @endcode").unwrap();
    let code: String =
        code.lines().map(|l| format!("{}\n", l.strip_prefix(" * ").unwrap_or(""))).collect();
    let place = tempfile::tempdir().unwrap();
    let source = place.path().join("example.c");
    std::fs::write(&source, code).unwrap();
    let program = compile(&source, place.path());
    let output = run(Command::new(program).env("LD_LIBRARY_PATH", libraries()));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.starts_with("acked 6 bytes under epoch "), "{said}");
    assert!(said.ends_with("read back: hello\n"), "{said}");
}

#[test]
fn library_exports_what_the_header_declares() {
    let output = run(Command::new("nm").args(["-D", "--defined-only"]).arg(library()));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut exported: Vec<&str> = text.lines().filter_map(|l| l.split(' ').nth(2)).collect();
    exported.sort_unstable();
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let (_, declarations) = GENERATED.split_once("extern \"C\" {").unwrap();
    let mut declared: Vec<&str> = declarations
        .lines()
        .filter(|l| !l.starts_with([' ', '/', '#', '}']) && !l.starts_with("typedef"))
        .filter_map(|l| l.split_once('(').map(|(before, _)| before))
        .filter_map(|before| before.rsplit(|c| !word(c)).next())
        .collect();
    declared.sort_unstable();
    assert!(declared.len() > 60, "{declared:?}");
    assert_eq!(exported, declared);
}

#[test]
fn library_is_named_by_its_major_version() {
    let output = run(Command::new("readelf").arg("-d").arg(library()));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("Library soname: [libtenure.so.0]"), "{text}");
}

#[test]
fn every_comment_says_whether_it_blocks() {
    let mut silent = Vec::new();
    for block in GENERATED.split("\n\n").filter(|b| b.starts_with("/**") && b.contains('(')) {
        let Some((comment, code)) = block.rsplit_once("*/\n") else { continue };
        let is_function = code.trim_end().ends_with(");") && !code.starts_with("typedef");
        let comment = comment.replace("\n *", "");
        let says = ["lock", "wait", "Wait", "Static"].iter().any(|word| comment.contains(word));
        if is_function && !says {
            silent.push(code.to_owned());
        }
    }
    assert!(silent.is_empty(), "not said whether they block: {silent:#?}");
}

#[test]
fn examples_compile() {
    let place = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(root().join("examples/c")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "c") {
            compile(&path, place.path());
        }
    }
}

#[test]
fn basic_on_memory() {
    passes("basic", memory);
}

#[test]
fn basic_on_files() {
    passes("basic", file);
}

#[test]
fn contend_on_memory() {
    passes("contend", memory);
}

#[test]
fn contend_on_files() {
    passes("contend", file);
}

#[test]
fn takeover_after_kill_keeps_every_acked_byte() {
    passes("takeover", file);
}

#[test]
fn fork_leaves_the_child_without_authority() {
    passes("fork", file);
}

#[test]
fn misuse_is_a_status() {
    passes("misuse", memory);
}

#[test]
fn threads_share_a_file_and_race_its_free() {
    passes("threads", memory);
}

/// CI installs valgrind; where it is missing this says so and nothing is claimed.
#[test]
fn valgrind_finds_nothing_in_misuse_and_threads() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("valgrind is not installed: memory was not checked");
        return;
    }
    for name in ["misuse", "threads", "basic"] {
        let place = tempfile::tempdir().unwrap();
        let program = compile(&root().join(format!("tests/c/{name}.c")), place.path());
        let quiet = ["-q", "--error-exitcode=9", "--leak-check=full"];
        run(Command::new("valgrind")
            .args(quiet)
            .args(["--show-leak-kinds=definite", "--errors-for-leak-kinds=definite"])
            .arg(program)
            .arg("memory://c-abi")
            .env("LD_LIBRARY_PATH", libraries()));
    }
}
