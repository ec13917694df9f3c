//! One chain's directory: scan it, read a number, link a number. Every name is relative to one open
//! descriptor.

use crate::base::{Mono, Version, Wall};
use crate::store::stamp;
use bytes::Bytes;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Digits of a number's name: every u64 fits, and names sort as numbers do.
const DIGITS: usize = 20;
/// Temporary files begin with this; keys never do, because `wire::key` makes none that begins with
/// a dot and a comma.
const TEMP: &str = ".,";

/// A value and what a swap has to name.
#[derive(Debug)]
pub(super) struct Value {
    pub(super) body: Bytes,
    pub(super) version: Version,
    pub(super) modified: Wall,
}

/// What a directory holds.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The highest number.
    pub(super) head: Option<u64>,
    /// All numbers, in no order.
    pub(super) numbers: Vec<u64>,
    /// Temporary files of swaps under way, or of processes that died.
    pub(super) temps: Vec<String>,
    /// Directories below.
    pub(super) dirs: Vec<String>,
}

/// An open chain directory.
#[derive(Debug)]
pub(super) struct ChainDir(OwnedFd);

impl ChainDir {
    /// Opens it; `None` if there is none.
    pub(super) fn open(path: &Path) -> io::Result<Option<ChainDir>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(fd) => Ok(Some(ChainDir(fd))),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Device and inode.
    pub(super) fn identity(&self) -> io::Result<(u64, u64)> {
        let meta = File::from(self.0.try_clone()?).metadata()?;
        Ok((meta.dev(), meta.ino()))
    }

    /// Whether both descriptors mean one directory.
    pub(super) fn is_same(&self, other: &ChainDir) -> io::Result<bool> {
        Ok(self.identity()? == other.identity()?)
    }

    /// Reads all names, then follows the numbers upwards: the head is one whose successor was seen
    /// missing.
    pub(super) fn scan(&self) -> io::Result<Scan> {
        let mut scan = Scan::default();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => self.kind_of(entry.file_name())?,
                known => Some(known),
            };
            match (kind, parse_number(name)) {
                (Some(FileType::RegularFile), Some(n)) => scan.numbers.push(n),
                (Some(FileType::RegularFile), None) if name.starts_with(TEMP) => {
                    scan.temps.push(name.to_owned());
                }
                (Some(FileType::Directory), _) => scan.dirs.push(name.to_owned()),
                _ => {}
            }
        }
        scan.head = scan.numbers.iter().copied().max();
        while let Some(next) = scan.head.and_then(|n| n.checked_add(1)) {
            if !self.has(next)? {
                break;
            }
            scan.numbers.push(next);
            scan.head = Some(next);
        }
        Ok(scan)
    }

    /// A scan that took less than `limit`, so that no head can have been collected under it.
    pub(super) fn steady_scan(&self, limit: Duration, tries: u32) -> io::Result<Scan> {
        for _ in 0..tries {
            let began: Mono = stamp::boot();
            let scan = self.scan()?;
            if stamp::boot().since(began) < limit {
                return Ok(scan);
            }
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "the directory takes too long to read"))
    }

    /// One number's value; `None` if it is gone.
    pub(super) fn value(&self, n: u64) -> io::Result<Option<Value>> {
        let Some(mut file) = self.file(n)? else { return Ok(None) };
        let meta = file.metadata()?;
        let mut body = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0));
        file.read_to_end(&mut body)?;
        let body = Bytes::from(body);
        Ok(Some(Value { version: version(n, &body), body, modified: modified(&meta) }))
    }

    /// One number's size and time; `None` if it is gone.
    pub(super) fn stat(&self, n: u64) -> io::Result<Option<(u64, Wall)>> {
        let Some(file) = self.file(n)? else { return Ok(None) };
        let meta = file.metadata()?;
        Ok(Some((meta.len(), modified(&meta))))
    }

    /// Links a new value under this number; false if the number is taken. Durable when it returns,
    /// if `sync`.
    pub(super) fn place(&self, n: u64, body: &[u8], sync: bool) -> io::Result<bool> {
        let (temp, mut file) = self.temp(n)?;
        let linked = (|| {
            file.write_all(body)?;
            if sync {
                file.sync_all()?;
            }
            match rustix::fs::linkat(&self.0, &*temp, &self.0, &*name(n), AtFlags::empty()) {
                Ok(()) => Ok(true),
                Err(Errno::EXIST) => Ok(false),
                Err(e) => Err(io::Error::from(e)),
            }
        })();
        // Best effort: a temporary file that stays is swept later.
        let _ = self.remove(&temp);
        if sync && matches!(linked, Ok(true)) {
            rustix::fs::fsync(&self.0)?;
        }
        linked
    }

    /// Removes a number. It must be collectable.
    pub(super) fn drop_number(&self, n: u64) -> io::Result<()> {
        self.remove(&name(n))
    }

    /// Removes a temporary file last written before `before`.
    pub(super) fn drop_temp(&self, temp: &str, before: Wall) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&self.0, temp, flags, Mode::empty())?);
        if modified(&file.metadata()?) < before { self.remove(temp) } else { Ok(()) }
    }

    #[allow(clippy::disallowed_methods, reason = "part of a name, never an identity")]
    fn temp(&self, n: u64) -> io::Result<(String, File)> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            // Containers that share a volume may share a process number too; O_EXCL and the clock
            // tell them apart.
            let (process, boot) = (std::process::id(), stamp::boot().0);
            let temp = format!("{TEMP}{n}.{process}.{count}.{boot}");
            match rustix::fs::openat(&self.0, &*temp, flags, Mode::from_raw_mode(0o666)) {
                Ok(fd) => return Ok((temp, File::from(fd))),
                Err(Errno::EXIST) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    fn file(&self, n: u64) -> io::Result<Option<File>> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        match rustix::fs::openat(&self.0, &*name(n), flags, Mode::empty()) {
            Ok(fd) => Ok(Some(File::from(fd))),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    fn has(&self, n: u64) -> io::Result<bool> {
        match rustix::fs::statat(&self.0, &*name(n), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    fn kind_of(&self, name: &CStr) -> io::Result<Option<FileType>> {
        match rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.0, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }
}

/// Number and content identity. The content carries a fresh nonce in every record, so its hash
/// tells two writes of one number apart.
pub(super) fn version(n: u64, body: &[u8]) -> Version {
    let hash = Sha256::digest(body);
    let hex: String = hash.iter().take(16).map(|b| format!("{b:02x}")).collect();
    Version { e_tag: Some(hex), version: Some(n.to_string()) }
}

/// The number of a version made by [`version`].
pub(super) fn number(version: &Version) -> Option<u64> {
    version.version.as_deref()?.parse().ok()
}

fn name(n: u64) -> String {
    format!("{n:020}")
}

fn parse_number(name: &str) -> Option<u64> {
    let digits = name.len() == DIGITS && name.bytes().all(|b| b.is_ascii_digit());
    if digits { name.parse().ok() } else { None }
}

fn modified(meta: &std::fs::Metadata) -> Wall {
    Wall(meta.mtime() * 1_000 + meta.mtime_nsec() / 1_000_000)
}
