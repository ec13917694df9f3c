//! The command-line tool `tenure`.

fn main() {}
