//! Object keys, relative to the base URL.
//!
//! Rule: every key is built here, from checked names. A resource's name is one percent-encoded
//! segment; over 180 encoded bytes it becomes its first 100 and a hash, so that it fits a local
//! file system and stays unique. A file's path keeps its slashes; a segment that ends in `.file` is
//! encoded once more at its dot, so that the manifest of `a` never collides with the folder of
//! `a.file/b`.

use crate::base::name::{SEGMENT_MAX, encode};
use crate::base::{FilePath, Id128, Kind, Resource, WriterId};
use sha2::{Digest, Sha256};

/// The prefix of all coordination records.
pub const ROOT: &str = "_tenure/v1/";
/// The prefix of all file manifests.
pub const FILES: &str = "files/";

/// The renewal line of a session.
#[must_use]
pub fn session(sid: Id128) -> String {
    format!("{ROOT}sessions/{sid}")
}

/// The mailbox of a session.
#[must_use]
pub fn notices(sid: Id128) -> String {
    format!("{ROOT}notices/{sid}")
}

/// The prefix of all sessions.
#[must_use]
pub fn sessions() -> String {
    format!("{ROOT}sessions/")
}

/// The record of a lease.
#[must_use]
pub fn lease(resource: &Resource) -> String {
    format!("{}{}", leases(resource.kind()), segment(resource.name()))
}

/// The prefix of all lease records of one kind.
#[must_use]
pub fn leases(kind: Kind) -> String {
    format!("{ROOT}leases/{kind}/")
}

/// What the probe found.
#[must_use]
pub fn store_report() -> String {
    format!("{ROOT}store.json")
}

/// A file's manifest.
#[must_use]
pub fn manifest(path: &FilePath) -> String {
    let segments: Vec<String> = path.as_str().split('/').map(path_segment).collect();
    format!("{FILES}{}.file", segments.join("/"))
}

/// The path whose manifest has this key, or `None` if the key is not a manifest's.
#[must_use]
pub fn manifest_path(key: &str) -> Option<FilePath> {
    let inner = key.strip_prefix(FILES)?.strip_suffix(".file")?;
    let path = percent_encoding::percent_decode_str(inner).decode_utf8().ok()?;
    FilePath::new(&path).ok()
}

/// The directory of one writer's segments, ending in a slash.
#[must_use]
pub fn data_dir(file: Id128, writer: WriterId) -> String {
    format!("data/{file}/{writer}/")
}

/// One segment or seal.
#[must_use]
pub fn segment_at(file: Id128, writer: WriterId, seq: u64) -> String {
    format!("{}{seq:010}", data_dir(file, writer))
}

/// A segment-length index of a finalised block.
#[must_use]
pub fn index(file: Id128, name: Id128) -> String {
    format!("data/{file}/index/{name}")
}

fn path_segment(text: &str) -> String {
    let encoded = encode(text);
    match encoded.strip_suffix(".file") {
        Some(stem) => format!("{stem}%2Efile"),
        None => encoded,
    }
}

fn segment(name: &str) -> String {
    let encoded = encode(name);
    if encoded.len() <= SEGMENT_MAX {
        return encoded;
    }
    // Cut at a whole escape, so that the stem still decodes.
    let mut cut = 100;
    while encoded[..cut].bytes().rev().take(2).any(|b| b == b'%') {
        cut -= 1;
    }
    format!("{}-sha256-{:x}", &encoded[..cut], Sha256::digest(name.as_bytes()))
}
