//! Build script: nothing to prepare.

fn main() {}
