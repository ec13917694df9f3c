//! The base directory of a `file://` store: where a key lives, and how directories become durable.

use super::errors;
use crate::base::{Error, Result, Status};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Directories known to be durable. Forgetting them costs a flush each.
const KNOWN_MAX: usize = 4_096;

/// The directory of a `file://` store. It is made by the first write.
#[derive(Clone, Debug)]
pub(super) struct Base {
    root: PathBuf,
    /// Whether files and directories are flushed before a write is told as landed.
    pub(super) fsync: bool,
    durable: Arc<Mutex<HashSet<PathBuf>>>,
}

impl Base {
    pub(super) fn new(root: PathBuf, fsync: bool) -> Base {
        Base { root, fsync, durable: Arc::default() }
    }

    /// The directory itself.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Where a key lives. Keys are built by `wire::key`; one that leaves the base is refused all
    /// the same.
    pub(super) fn path(&self, key: &str) -> Result<PathBuf> {
        let bad =
            |part: &str| part.is_empty() || part == "." || part == ".." || part.contains('\0');
        if key.split('/').any(bad) {
            let what = "the key has an empty, '.' or '..' segment";
            return Err(Error::new(Status::InvalidArgument, what).on(key));
        }
        Ok(self.root.join(key))
    }

    /// Where a prefix lives: empty, or a key and a slash.
    pub(super) fn prefix(&self, prefix: &str) -> Result<PathBuf> {
        match prefix.strip_suffix('/') {
            Some(key) => self.path(key),
            None if prefix.is_empty() => Ok(self.root.clone()),
            None => {
                let what = "expected a prefix that ends in a slash";
                Err(Error::new(Status::InvalidArgument, what).on(prefix))
            }
        }
    }

    /// Makes a directory and those above it; each is durable in its parent when this returns,
    /// whoever made it: another process may have made it and not flushed it yet.
    pub(super) fn make(&self, dir: &Path) -> io::Result<()> {
        match fs::create_dir(dir) {
            Ok(()) => {}
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                let above = dir.parent().ok_or(e)?;
                self.make(above)?;
                return self.make(dir);
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                return Err(io::ErrorKind::NotADirectory.into());
            }
            Err(e) => return Err(e),
        }
        if self.fsync { self.settle(dir) } else { Ok(()) }
    }

    /// Flushes the entries that lead from the base's parent to this directory, unless this process
    /// did so before.
    fn settle(&self, dir: &Path) -> io::Result<()> {
        for at in dir.ancestors().take_while(|at| at.starts_with(&self.root)) {
            if self.durable().contains(at) {
                break;
            }
            if let Some(above) = at.parent() {
                File::open(above)?.sync_all()?;
            }
        }
        let mut durable = self.durable();
        if durable.len() >= KNOWN_MAX {
            durable.clear();
        }
        let known = dir.ancestors().take_while(|at| at.starts_with(&self.root));
        durable.extend(known.map(Path::to_owned));
        Ok(())
    }

    fn durable(&self) -> std::sync::MutexGuard<'_, HashSet<PathBuf>> {
        self.durable.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs blocking work off the runtime's threads. The work goes on if the caller leaves.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(e) => Err(Error::new(Status::Internal, "file work was cut short").because(e)),
    }
}

/// The directory a `file://` URL names.
pub(super) fn directory(url: &str) -> Result<PathBuf> {
    use percent_encoding::percent_decode_str;
    let refuse = |why: &str| {
        let what = format!("{url:?}: expected file:///absolute/directory, {why}");
        Error::new(Status::InvalidArgument, what)
    };
    let rest = url.strip_prefix("file://").ok_or_else(|| refuse("with two slashes"))?;
    let rest = rest.strip_prefix("localhost").filter(|r| r.starts_with('/')).unwrap_or(rest);
    if !rest.starts_with('/') {
        return Err(refuse("but the path is relative"));
    }
    if rest.contains(['?', '#']) {
        return Err(refuse("with '?' and '#' written as %3F and %23"));
    }
    let path = percent_decode_str(rest).decode_utf8().map_err(|_| refuse("in UTF-8"))?;
    if path.contains('\0') {
        return Err(refuse("without a zero byte"));
    }
    if path.split('/').any(|part| part == "..") {
        return Err(refuse("without '..'"));
    }
    let path: PathBuf = Path::new(&*path).components().collect();
    Ok(path)
}

/// `errors::io` with the key of the base itself.
pub(super) fn at_base(e: io::Error, base: &Base, doing: &'static str) -> Error {
    errors::io(e, &base.root().display().to_string(), doing)
}
