//! Names that parse or refuse: resources, file paths, node names.
//!
//! Rule: a name is checked once, at the door, and the error quotes the offending part; past the
//! door it is a type. Why not check where it is used: a name becomes an object key in a dozen
//! places, and one that forgets lets `..` through. What is not here: object keys (`wire::key`).

use super::{Error, Result, Status};
use std::fmt;

/// The longest name, in bytes of UTF-8.
pub const NAME_MAX: usize = 1_024;
/// The longest segment of a path after percent-encoding, in bytes: local file systems stop at 255.
pub const SEGMENT_MAX: usize = 180;

/// Which family a leased resource belongs to. A file, a cell and a bare lease of one name never
/// share a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// An append-only file.
    File,
    /// A SlateDB database.
    Cell,
    /// A bare lease.
    Lease,
}

impl Kind {
    /// Every kind.
    pub const ALL: &[Kind] = &[Kind::File, Kind::Cell, Kind::Lease];

    /// The word in object keys and on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::File => "file",
            Kind::Cell => "cell",
            Kind::Lease => "lease",
        }
    }

    /// Reads the word, or says what was expected.
    pub fn parse(text: &str) -> Result<Kind> {
        let known = Self::ALL.iter().copied().find(|k| k.as_str() == text);
        known.ok_or_else(|| {
            Error::new(
                Status::InvalidArgument,
                format!("unknown kind {text:?}: expected file, cell or lease"),
            )
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A thing exactly one process may write at a time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Resource {
    kind: Kind,
    name: String,
}

impl Resource {
    /// Checks a name given by a user. Names that start with `_tenure` are the library's own and
    /// refused here.
    pub fn new(kind: Kind, name: &str) -> Result<Resource> {
        check_path("resource name", name)?;
        if name.starts_with("_tenure") {
            return Err(Error::new(
                Status::InvalidArgument,
                format!("resource name {name:?} begins with the reserved _tenure"),
            ));
        }
        Ok(Resource { kind, name: name.to_owned() })
    }

    /// Its family.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its name inside the family.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}

/// The path of an append-only file, relative to the base: `logs/2026/app`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FilePath(String);

impl FilePath {
    /// Checks a path given by a user.
    pub fn new(path: &str) -> Result<FilePath> {
        check_path("path", path)?;
        Ok(FilePath(path.to_owned()))
    }

    /// The path as given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The lease that guards this file.
    #[must_use]
    pub fn resource(&self) -> Resource {
        Resource { kind: Kind::File, name: self.0.clone() }
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Percent-encodes everything but letters, digits, `_`, `-` and `.`.
#[must_use]
pub fn encode(text: &str) -> String {
    use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
    const KEEP: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'-').remove(b'.');
    utf8_percent_encode(text, KEEP).to_string()
}

/// A node's name: letters, digits, `_ . -`, not `.` or `..`, at most 180 bytes.
pub fn check_node(name: &str) -> Result<()> {
    let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
    if name.is_empty()
        || name.len() > SEGMENT_MAX
        || name == "."
        || name == ".."
        || !name.bytes().all(good)
    {
        return Err(Error::new(
            Status::InvalidArgument,
            format!("node name {name:?}: expected 1 to 180 letters, digits, '_', '.' or '-'"),
        ));
    }
    Ok(())
}

fn check_path(what: &str, text: &str) -> Result<()> {
    let refuse = |why: String| {
        Err(Error::new(Status::InvalidArgument, format!("{what} {:?}: {why}", shorten(text))))
    };
    if text.is_empty() {
        return refuse("it is empty".into());
    }
    if text.len() > NAME_MAX {
        return refuse(format!("{} bytes, expected at most {NAME_MAX}", text.len()));
    }
    if text.starts_with('/') {
        return refuse("it starts with a slash; expected a name relative to the base".into());
    }
    for (i, segment) in text.split('/').enumerate() {
        let part = i + 1;
        let encoded = encode(segment).len();
        match segment {
            "" => return refuse(format!("segment {part} is empty")),
            "." | ".." => {
                return refuse(format!("segment {part} is {segment:?}, which is not a name"));
            }
            _ if encoded > SEGMENT_MAX => {
                return refuse(format!(
                    "segment {part} {:?} takes {encoded} encoded bytes; at most {SEGMENT_MAX} fit",
                    shorten(segment)
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

fn shorten(text: &str) -> String {
    if text.chars().count() <= 60 {
        text.to_owned()
    } else {
        text.chars().take(57).chain("...".chars()).collect()
    }
}
