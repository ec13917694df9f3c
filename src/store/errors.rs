//! What a store's error means, and how it is told without its secrets.
//!
//! Question: may this text be logged? Rule: a server's text never leaves this file as it came.
//! Request errors carry whole URLs (with a shared access signature in the query), and refusals of
//! S3 carry the string to sign: so URLs lose user and query, of an XML body only code and message
//! stay, values that were configured as secrets are struck out, and the rest is cut. The source of
//! an error built here is the cleaned text, never the original: `{:?}` of ours prints the chain.
//! Test: `tests/store_secrets.rs`.

use crate::base::{Error, Result, Status};
use slatedb::object_store as os;
use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::ops::Range;

/// The longest foreign text kept.
const TEXT_MAX: usize = 300;

/// Values that must not be shown, whatever text they appear in.
#[derive(Clone, Default)]
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    /// Values shorter than this are too likely to be part of ordinary words.
    const SHORTEST: usize = 6;

    pub(super) fn new(values: impl IntoIterator<Item = String>) -> Secrets {
        // A shared access signature is a query: its parts are secrets too, as they are written and
        // decoded.
        let mut parts: Vec<String> = Vec::new();
        for value in values {
            let decoded = percent_encoding::percent_decode_str(&value).decode_utf8_lossy();
            let pairs = value.split('&').chain(decoded.split('&'));
            parts.extend(pairs.filter_map(|pair| Some(pair.split_once('=')?.1.to_owned())));
            parts.push(value);
        }
        let mut values: Vec<String> =
            parts.into_iter().filter(|v| v.len() >= Secrets::SHORTEST).collect();
        // Longest first: one secret may contain another.
        values.sort_by_key(|v| std::cmp::Reverse(v.len()));
        Secrets(values)
    }

    /// The text without secrets, on one line, cut.
    pub(super) fn clean(&self, text: &str) -> String {
        let struck = self.0.iter().fold(text.to_owned(), |t, secret| t.replace(secret, "***"));
        let words: Vec<String> = xml_reduced(&struck).split_whitespace().map(no_query).collect();
        let line = words.join(" ");
        match line.char_indices().nth(TEXT_MAX) {
            Some((cut, _)) => format!("{}...", &line[..cut]),
            None => line,
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} secrets", self.0.len())
    }
}

/// A cleaned foreign text as the cause of an error.
#[derive(Debug)]
struct Said(String);

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for Said {}

/// An error of a file system call.
pub(super) fn io(e: io::Error, key: &str, doing: &str) -> Error {
    use io::ErrorKind as K;
    let (status, what) = match e.kind() {
        K::PermissionDenied | K::ReadOnlyFilesystem => (Status::AccessDenied, "not permitted"),
        K::StorageFull | K::QuotaExceeded | K::FileTooLarge => {
            (Status::NoSpace, "the disk is full")
        }
        K::NotADirectory => (Status::BucketNotFound, "a part of the path is not a directory"),
        K::NotFound => (Status::BucketNotFound, "the directory is gone"),
        K::InvalidFilename => (Status::InvalidArgument, "the file system refuses the name"),
        _ => (Status::StoreUnavailable, "the file system failed"),
    };
    Error::new(status, format!("{doing}: {what}")).on(key).because(e)
}

/// An error of an `object_store` call.
pub(super) fn foreign(e: &os::Error, key: &str, secrets: &Secrets) -> Error {
    if let Some(e) = io_cause(e) {
        return io(io::Error::new(e.kind(), secrets.clean(&e.to_string())), key, "store");
    }
    let text = e.to_string();
    let (status, what) = judge(e, &text);
    Error::new(status, what).on(key).because(Said(secrets.clean(&text)))
}

/// Whether "not found" means the bucket, not the object.
pub(super) fn bucket_is_missing(text: &str) -> bool {
    ["NoSuchBucket", "ContainerNotFound", "bucket does not exist", "container does not exist"]
        .iter()
        .any(|sign| text.contains(sign))
}

/// A range that begins outside the object.
pub(super) fn outside(range: &Range<u64>, size: u64) -> Error {
    let what = format!("range {}..{} begins outside {size} bytes", range.start, range.end);
    Error::new(Status::InvalidArgument, what)
}

/// The base URL as people may see it: without user, password and query.
pub(super) fn shown(url: &url::Url) -> String {
    let host = url.host_str().unwrap_or_default();
    format!("{}://{host}{}", url.scheme(), url.path().trim_end_matches('/'))
}

fn judge(e: &os::Error, text: &str) -> (Status, &'static str) {
    use os::Error as E;
    match e {
        _ if bucket_is_missing(text) => {
            (Status::BucketNotFound, "the bucket or container does not exist")
        }
        E::PermissionDenied { .. } | E::Unauthenticated { .. } => {
            (Status::AccessDenied, "the store refuses these credentials")
        }
        E::NotImplemented { .. } | E::NotSupported { .. } => {
            (Status::StoreUnsupported, "the store does not offer this request")
        }
        E::UnknownConfigurationKey { .. } | E::InvalidPath { .. } => {
            (Status::InvalidArgument, "the store's client refuses the request")
        }
        // A failed LIST keeps its status in the text only.
        _ if text.contains("status code: 403") || text.contains("status code: 401") => {
            (Status::AccessDenied, "the store refuses these credentials")
        }
        E::NotFound { .. } => (Status::NotFound, "there is no such object"),
        E::AlreadyExists { .. } => (Status::AlreadyExists, "it exists"),
        _ if text.contains("NotImplemented") => {
            (Status::StoreUnsupported, "the store does not offer this request")
        }
        _ if ["InvalidRange", "Wanted range", "status code: 416"]
            .iter()
            .any(|s| text.contains(s)) =>
        {
            (Status::InvalidArgument, "the range begins outside the object")
        }
        _ => (Status::StoreUnavailable, "the store does not answer"),
    }
}

/// The file system's error inside one of `LocalFileSystem`. HTTP errors may wrap one too: those are
/// the network's.
fn io_cause(e: &os::Error) -> Option<&io::Error> {
    if !matches!(e, os::Error::Generic { store: "LocalFileSystem", .. }) {
        return None;
    }
    let mut cause = e.source();
    while let Some(next) = cause {
        if let Some(found) = next.downcast_ref::<io::Error>() {
            return Some(found);
        }
        cause = next.source();
    }
    None
}

/// A text in which an XML body is reduced to its code and message.
fn xml_reduced(text: &str) -> String {
    let Some(at) = text.find("<?xml").or_else(|| text.find("<Error")) else {
        return text.to_owned();
    };
    let element = |name: &str| {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        let from = text.find(&open)? + open.len();
        let len = text[from..].find(&close)?;
        Some(&text[from..from + len])
    };
    let code = element("Code").unwrap_or_default();
    let message = element("Message").unwrap_or_default();
    format!("{} {code} {message}", &text[..at])
}

/// Parameters whose values are secret wherever they stand.
const SIGNED: &[&str] = &["sig=", "signature=", "credential=", "token=", "secret=", "key="];

/// A word without what may be secret in it: a URL's user and query, or a signature alone.
fn no_query(word: &str) -> String {
    let lower = word.to_ascii_lowercase();
    if let Some(at) = SIGNED.iter().filter_map(|name| lower.find(name)).min() {
        // Lower-casing ASCII moves nothing.
        return format!("{}***", no_query(&word[..at]));
    }
    let without_query = match word.find('?') {
        Some(at) if word.contains("://") || word[at..].contains('=') => &word[..at],
        _ => word,
    };
    let Some((scheme, rest)) = without_query.split_once("://") else {
        return without_query.to_owned();
    };
    let authority_end = rest.find('/').unwrap_or(rest.len());
    match rest[..authority_end].rfind('@') {
        Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
        None => without_query.to_owned(),
    }
}

/// Turns a refusal of the local client into our error.
pub(super) fn refused_option(key: &str, scheme: &str) -> Error {
    let what = format!("store.{key}: not an option of {scheme}://");
    Error::new(Status::InvalidArgument, what)
}

/// Parses a URL without ever showing it: it may carry a password.
pub(super) fn parse_url(text: &str) -> Result<url::Url> {
    url::Url::parse(text).map_err(|e| {
        Error::new(Status::InvalidArgument, format!("the base URL does not parse: {e}"))
    })
}
