//! Generates the C header into `OUT_DIR/tenure.h` and names the shared library.
//!
//! cbindgen translates the declarations of `src/ffi`; this file only sets them: one section a noun,
//! in the order of the source, comments wrapped for a terminal. The checked-in `include/tenure.h`
//! is the blessed copy: `tests/c_abi.rs` compares the two, and `TENURE_BLESS=1 cargo test --test
//! c_abi header` writes it anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

/// The sources of the header with their titles, in the order in which a reader meets them.
const SOURCES: &[(&str, &str)] = &[
    ("status", "Statuses"),
    ("library", "Library: versions, features, log"),
    ("error", "Errors: why a call failed"),
    ("text", "Texts made for the caller"),
    ("config", "Config: what a client is told before it opens"),
    ("client", "Client: one process's connection to one base URL"),
    ("event", "Events: what happened to a client"),
    ("lease", "Leases: who may act for a resource"),
    ("lease_info", "Leases by name, without holding them"),
    ("file", "Files: the one writer of an append-only file"),
    ("file_info", "Files by path, without writing or reading them"),
    ("reader", "Readers: reading a file, also while it is written"),
];

/// Columns of a comment.
const WIDTH: usize = 80;

fn main() {
    println!("cargo:rerun-if-changed=cbindgen.toml");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtenure.so.0");
    // Dependencies export C symbols of their own; a host must see ours alone.
    println!("cargo:rustc-cdylib-link-arg=-Wl,--exclude-libs,ALL");

    let config = cbindgen::Config::from_file("cbindgen.toml").expect("cbindgen.toml is readable");
    let mut builder = cbindgen::Builder::new().with_config(config);
    for (noun, _) in SOURCES {
        println!("cargo:rerun-if-changed=src/ffi/{noun}.rs");
        builder = builder.with_src(format!("src/ffi/{noun}.rs"));
    }
    let mut generated = Vec::new();
    let bindings = builder.generate().expect("src/ffi declares only what C can say");
    bindings.write(&mut generated);
    let generated = String::from_utf8(generated).expect("cbindgen writes UTF-8");

    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    std::fs::write(out.join("tenure.h"), set(&generated)).expect("OUT_DIR is writable");
    println!("cargo:rustc-env=TENURE_HEADER={}", out.join("tenure.h").display());
}

/// The header as it is read: preamble, handles, then a section for each noun.
fn set(generated: &str) -> String {
    let includes = generated.find("#include <stdbool.h>").expect("the includes are configured");
    let body = includes + generated[includes..].find("\n\n").expect("declarations follow");
    let mut header = generated[..body].to_owned();
    header.push_str("\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");

    // cbindgen separates declarations by blank lines and leaves none inside.
    let mut blocks: BTreeMap<&str, &str> = generated[body..]
        .split("\n\n")
        .map(|block| block.trim_matches('\n'))
        .filter_map(|block| Some((declared(block)?, block)))
        .collect();

    let sections: Vec<_> = SOURCES.iter().map(|(noun, title)| (title, names(noun))).collect();
    banner(&mut header, "Handles: opaque, made by the library, freed by their _free");
    for name in sections.iter().flat_map(|(_, names)| names) {
        if blocks.get(name.as_str()).is_some_and(|b| b.contains("typedef struct tenure_")) {
            place(&mut header, blocks.remove(name.as_str()).unwrap_or_default());
        }
    }
    for (title, names) in &sections {
        banner(&mut header, title);
        for name in names {
            if let Some(block) = blocks.remove(name.as_str()) {
                place(&mut header, block);
            }
        }
    }
    assert!(blocks.is_empty(), "declared in no source: {:?}", blocks.keys());
    header.push_str("\n#ifdef __cplusplus\n}\n#endif\n\n#endif /* TENURE_H */\n");
    header
}

fn banner(header: &mut String, title: &str) {
    let _ = write!(header, "\n\n/* {:-<74} */\n/* {title:<74} */\n/* {:-<74} */\n", "", "");
}

/// What a block declares; `None` for the frame around the declarations.
fn declared(block: &str) -> Option<&str> {
    let code = block.rfind("*/\n").filter(|_| !block.ends_with("};")).map_or(0, |end| end + 3);
    let code = &block[code..];
    let rest = if let Some(rest) = code.strip_prefix("#define ") {
        rest
    } else if let Some(callback) = code.find("(*") {
        &code[callback + 2..]
    } else if let Some(last) = code.strip_suffix(';').filter(|_| !code.contains('(')) {
        &last[last.rfind(' ')? + 1..]
    } else {
        let open = code.find('(')?;
        &code[code[..open].rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |i| i + 1)..]
    };
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    (end > 0 && rest[..end].to_lowercase().starts_with("tenure_")).then_some(&rest[..end])
}

/// The public names of a source, in its order.
fn names(noun: &str) -> Vec<String> {
    let path = format!("src/ffi/{noun}.rs");
    let source = std::fs::read_to_string(&path).expect("listed sources exist");
    let starts = [
        "pub type ",
        "pub const ",
        "pub struct ",
        "pub unsafe extern \"C\" fn ",
        "pub extern \"C\" fn ",
    ];
    source
        .lines()
        .filter_map(|line| starts.iter().find_map(|start| line.strip_prefix(start)))
        .map(|rest| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
        .collect()
}

/// One declaration with its comment. Constants stand close together.
fn place(header: &mut String, block: &str) {
    header.push('\n');
    let mut comment: Vec<&str> = Vec::new();
    let mut indent = "";
    for line in block.lines() {
        let text = line.trim_start();
        match text {
            "/**" => indent = &line[..line.len() - text.len()],
            "*/" => write_comment(header, indent, &std::mem::take(&mut comment)),
            _ if text.starts_with("* ") || text == "*" => comment.push(text[1..].trim()),
            _ => {
                header.push_str(line);
                header.push('\n');
            }
        }
    }
}

/// A comment, wrapped: paragraphs and list items.
fn write_comment(header: &mut String, indent: &str, lines: &[&str]) {
    let mut paragraphs: Vec<String> = Vec::new();
    let mut fresh = true;
    for line in lines {
        if line.is_empty() {
            paragraphs.push(String::new());
        } else if fresh || line.starts_with("- ") {
            paragraphs.push((*line).to_owned());
        } else if let Some(last) = paragraphs.last_mut() {
            last.push(' ');
            last.push_str(line);
        }
        fresh = line.is_empty();
    }
    if let [one] = &paragraphs[..]
        && indent.len() + one.len() + 7 <= WIDTH
    {
        let _ = writeln!(header, "{indent}/** {one} */");
        return;
    }
    let _ = writeln!(header, "{indent}/**");
    for paragraph in &paragraphs {
        let hang = if paragraph.starts_with("- ") { "  " } else { "" };
        let mut row = format!("{indent} *");
        for word in paragraph.split(' ').filter(|word| !word.is_empty()) {
            if row.len() + 1 + word.len() > WIDTH {
                header.push_str(&row);
                row = format!("\n{indent} *{hang}");
                // The line feed is not a column.
                header.push_str(&row[..1]);
                row.remove(0);
            }
            row.push(' ');
            row.push_str(word);
        }
        let _ = writeln!(header, "{row}");
    }
    let _ = writeln!(header, "{indent} */");
}
