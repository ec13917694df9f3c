//! Whose process is this? A generation word that changes in a forked child.
//!
//! Rule: every handle remembers the generation it was born in; in a child they differ, the handle
//! answers `FORKED` and frees without input or output. Why not `getpid`: 142 ns a call against one
//! load; and a pid can come back. The word lives on a page the kernel wipes on fork
//! (`MADV_WIPEONFORK`), which also covers a raw `clone`; a `pthread_atfork` handler covers kernels
//! without it. The handler takes no lock and closes nothing.
#![allow(unsafe_code)]

use crate::base::{Error, Result, Status};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

static WORD: OnceLock<&'static AtomicU64> = OnceLock::new();
/// In ordinary memory, copied into the child: numbers there go on from the parent's.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// The generation of this process: equal as long as nobody forked.
#[must_use]
pub fn generation() -> u64 {
    let word = *WORD.get_or_init(place);
    let seen = word.load(Ordering::Relaxed);
    if seen != 0 {
        return seen;
    }
    let fresh = NEXT.fetch_add(1, Ordering::Relaxed) + 1;
    match word.compare_exchange(0, fresh, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => fresh,
        Err(other) => other,
    }
}

/// Whether the process was forked since `born`.
#[must_use]
pub fn forked_since(born: u64) -> bool {
    generation() != born
}

/// Refuses use in a forked child of the process in which something was `born`.
pub fn own_process(born: u64) -> Result<()> {
    if forked_since(born) {
        let why = "the process was forked; this handle belongs to the parent, open a new client";
        return Err(Error::new(Status::Forked, why));
    }
    Ok(())
}

/// A value that belongs to the process that made it: in a forked child it is refused, and never
/// dropped, because its locks and threads may be in any state.
#[derive(Debug)]
pub struct Owned<T> {
    born: u64,
    value: Option<T>,
}

impl<T> Owned<T> {
    /// Belongs to this process.
    pub fn new(value: T) -> Owned<T> {
        Owned { born: generation(), value: Some(value) }
    }

    /// The value, or `Forked`. One load.
    #[inline]
    pub fn get(&self) -> Result<&T> {
        match &self.value {
            Some(value) if !forked_since(self.born) => Ok(value),
            _ => own_process(self.born).and(Err(Error::new(Status::Closed, "already dropped"))),
        }
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if forked_since(self.born) {
            std::mem::forget(self.value.take());
        }
    }
}

/// A static value that each process generation makes anew: what the parent left (a lock held by a
/// thread that does not exist here) is never touched.
#[derive(Debug)]
pub struct PerProcess<T> {
    current: AtomicPtr<(u64, T)>,
}

impl<T: Send + Sync> PerProcess<T> {
    /// Nothing yet.
    #[must_use]
    pub const fn new() -> PerProcess<T> {
        PerProcess { current: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// This process's value; made on first use. The parent's is left behind, never freed.
    pub fn get(&'static self, make: impl Fn() -> T) -> &'static T {
        let born = generation();
        loop {
            let seen = self.current.load(Ordering::Acquire);
            // SAFETY: the pointer is null or was leaked from a box below, and is never freed.
            if let Some((generation, value)) = unsafe { seen.as_ref() }
                && *generation == born
            {
                return value;
            }
            let fresh = Box::into_raw(Box::new((born, make())));
            let order = (Ordering::AcqRel, Ordering::Acquire);
            if self.current.compare_exchange(seen, fresh, order.0, order.1).is_err() {
                // SAFETY: `fresh` was not published, so this is its only owner.
                drop(unsafe { Box::from_raw(fresh) });
            }
        }
    }
}

impl<T: Send + Sync> Default for PerProcess<T> {
    fn default() -> PerProcess<T> {
        PerProcess::new()
    }
}

fn place() -> &'static AtomicU64 {
    // SAFETY: an anonymous private page of our own, never unmapped, zero-filled and aligned, so it
    // is a valid AtomicU64 for ever. Failure falls back to the heap.
    let page = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        libc::mmap(std::ptr::null_mut(), 4_096, prot, flags, -1, 0)
    };
    if page == libc::MAP_FAILED {
        // SAFETY: the handler only stores to a static atomic.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        return Box::leak(Box::new(AtomicU64::new(0)));
    }
    // SAFETY: advising our own page; refusal is harmless because of the handler below, which only
    // stores to a static atomic.
    unsafe {
        libc::madvise(page, 4_096, libc::MADV_WIPEONFORK);
        libc::pthread_atfork(None, None, Some(in_child));
        &*page.cast::<AtomicU64>()
    }
}

extern "C" fn in_child() {
    if let Some(word) = WORD.get() {
        word.store(0, Ordering::Relaxed);
    }
}

/// Blocks every signal in the calling thread: the library's threads never run a handler of the
/// host's.
pub fn block_signals() {
    // SAFETY: plain libc calls on a local signal set.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
    }
}
