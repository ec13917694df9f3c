//! L6: the C ABI. Which C word is which Rust value, and nothing else.
//!
//! Question: how does a program that knows no Rust hold a lease or write a file, and what happens
//! when it gets the calls wrong? Rule: conversion only. Every exported function checks its
//! arguments, crosses one wall (`wall`) and calls one method of `api/`; a decision found in this
//! folder is in the wrong place. `include/tenure.h` is generated from the documentation comments
//! here, so they are written for a reader of the header: does, returns, blocks, threads, ownership.
//!
//! Why not hand out `Box` pointers, as most bindings do? A C program frees twice, frees while
//! another thread writes, passes a lease where a file is wanted. With boxes each of those reads
//! freed memory, and a library that guards data must not corrupt it over a caller's slip. Here a
//! handle is the address of a cell in a static arena (`arena`) that is never given back, so that
//! reading any handle, living or dead, is sound, and a word in the cell says which. A value is
//! destroyed only when no thread is using it (`pin`).
//!
//! | file | what it answers |
//! |---|---|
//! | `wall` | what stops a panic, and how a result becomes a status and an error |
//! | `handle` | which C name is which Rust type; give, use, share, free |
//! | `arena` | where handles live, and why a stale one is recognised |
//! | `pin` | how a use and a concurrent free are told apart for two nanoseconds |
//! | `args` | how text, bytes and outputs come in and go out |
//! | `wait` | how a thread without a runtime waits for a future |
//! | the others | one C noun each |
//!
//! Unsafe code of the library lives in this folder (and in the fork and clock shims); each block
//! says why it is sound. Tests: the sibling `*_tests.rs` files for the machinery, `tests/c_abi.rs`
//! for the header, the exported symbols and the C programs of `tests/c/`.
//!
//! What is not here: registers, nodes, cells, hand-over. A noun is declared when it works.

#![allow(unsafe_code, reason = "the wall to C; each block says why it is sound")]
#![allow(non_camel_case_types, reason = "C names are spelled as the header spells them")]
#![allow(clippy::missing_safety_doc, reason = "the header comment is the safety contract")]

pub mod library;
pub mod status;

pub mod client;
pub mod config;
pub mod error;
pub mod event;
pub mod file;
pub mod file_info;
pub mod lease;
pub mod lease_info;
pub mod reader;
pub mod text;

mod arena;
mod args;
mod handle;
mod pin;
mod wait;
mod wall;

#[cfg(test)]
mod handle_tests;
#[cfg(test)]
mod wall_tests;
