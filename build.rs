//! Generates the C header into `OUT_DIR/tenure.h` and names the shared library.
//!
//! The checked-in `include/tenure.h` is the blessed copy: `tests/c_abi.rs` compares the two, and `TENURE_BLESS=1` writes it anew.

use std::path::PathBuf;

/// The sources of the header, in the order in which a reader meets their nouns.
const SOURCES: &[&str] = &[
    "status",
    "library",
    "error",
    "text",
    "config",
    "client",
    "event",
    "lease",
    "lease_info",
    "file",
    "file_info",
    "reader",
];

fn main() {
    println!("cargo:rerun-if-changed=cbindgen.toml");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtenure.so.0");

    let config = cbindgen::Config::from_file("cbindgen.toml").expect("cbindgen.toml is readable");
    let mut builder = cbindgen::Builder::new().with_config(config);
    for noun in SOURCES {
        let source = format!("src/ffi/{noun}.rs");
        println!("cargo:rerun-if-changed={source}");
        builder = builder.with_src(source);
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let bindings = builder.generate().expect("src/ffi declares only what C can say");
    bindings.write_to_file(out.join("tenure.h"));
    println!("cargo:rustc-env=TENURE_HEADER={}", out.join("tenure.h").display());
}
