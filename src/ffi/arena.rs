//! Where handles live: one static array of equal cells that is never given back.
//!
//! Question: how can a pointer from C be judged without trusting it? Rule: a handle is an address
//! inside [`ARENA`]; the cell's word is read (an atomic that always exists) and must equal exactly
//! what this handle of this type in this process would have. One comparison covers a wrong type, a
//! freed handle, a misaligned pointer and a handle of the parent process; one range check covers
//! every foreign pointer, which is never dereferenced.
//!
//! Why not a table of indices? Go and valgrind expect a C pointer to be an address, and a small
//! integer in a pointer is fatal to Go's collector. Why a static and not `mmap`? It is zero pages
//! until touched, needs no initialisation, cannot fail, and its address is a link-time constant.
//!
//! The word: `magic << 32 | fork << 8 | round`. The handle is the cell's address plus `round`, a
//! multiple of 8 below 64 that moves on at every free. So a stale handle is taken for a live one
//! only if its cell was reused a multiple of 8 times for the same type; cells are reused first in,
//! first out, and only after [`QUARANTINE`] others. A dead cell has magic zero.
//!
//! The free list is intrusive and guarded by a spin lock that `fork` takes first
//! (`pthread_atfork`), so that the child never inherits it held. Invariants:
//! `cells_are_reused_in_order`, `a_stale_handle_is_refused_after_reuse`. What is not here: what a
//! cell's value is ([`super::handle`]).

use crate::drive::fork;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::*};

/// Handles that may be alive at once, errors and events included: 16 MiB of address space.
pub(super) const CELLS: usize = 1 << 18;
/// Freed cells that rest before the first of them is used again.
pub(super) const QUARANTINE: u32 = 1_024;
/// Bytes of a cell: one cache line, so that two handles never share one.
const CELL: usize = 64;
/// The end of the free list.
const NONE: u32 = u32::MAX;

/// One handle's place.
#[repr(C, align(64))]
pub(super) struct Cell {
    /// What the cell is: see the module's text.
    word: AtomicU64,
    /// The value, as `Arc::into_raw` gave it; null in a dead cell.
    value: AtomicPtr<()>,
    /// The next free cell.
    next: AtomicU32,
}

// SAFETY: a cell is three atomics; all zeroes are a value of each: word 0 is dead, the null
// pointer, link 0 that is never followed. Not written as an array of cells, because the compiler
// would evaluate a quarter of a million of them.
static ARENA: [Cell; CELLS] = unsafe { std::mem::MaybeUninit::zeroed().assume_init() };

/// The cell an address falls into, if it is one of ours. Reads nothing.
#[inline]
pub(super) fn at(address: usize) -> Option<&'static Cell> {
    let offset = address.wrapping_sub(ARENA.as_ptr() as usize);
    ARENA.get(offset / CELL)
}

/// What the word of a live cell must be for this handle.
#[inline]
fn expected(magic: u32, address: usize) -> u64 {
    u64::from(magic) << 32 | fork_bits() | (address % CELL) as u64
}

/// The process's generation as the middle of a word: 24 bits are enough, since it only has to
/// differ from the ancestors'.
#[inline]
fn fork_bits() -> u64 {
    (fork::generation() & 0x00FF_FFFF) << 8
}

/// What a handle turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// A living handle of the asked type.
    Live,
    /// Living, but made before this process was forked from its parent.
    Forked,
    /// Freed, of another type, or not exactly a handle.
    Stale,
}

impl Cell {
    /// Whether `address` is a living handle of this type in this process.
    #[inline]
    pub(super) fn is_live(&self, magic: u32, address: usize) -> bool {
        self.word.load(Acquire) == expected(magic, address)
    }

    /// The same with the reason, for the error's sake.
    #[cold]
    pub(super) fn state(&self, magic: u32, address: usize) -> State {
        let word = self.word.load(Acquire);
        let same = word >> 32 == u64::from(magic) && word % 64 == (address % CELL) as u64;
        match same {
            true if word == expected(magic, address) => State::Live,
            true => State::Forked,
            false => State::Stale,
        }
    }

    /// The value. Meaningful only while the cell is live and pinned.
    #[inline]
    pub(super) fn value(&self) -> *mut () {
        self.value.load(Relaxed)
    }

    /// Ends a live cell; true for exactly one caller. `state` must have been asked: a forked cell
    /// ends too.
    pub(super) fn kill(&self, magic: u32, address: usize) -> bool {
        let word = self.word.load(Relaxed);
        let mine = word >> 32 == u64::from(magic) && word % 64 == (address % CELL) as u64;
        let dead = (word + 8) % 64;
        // SeqCst: ordered before the scan for pins that follows (see `pin`).
        mine && self.word.compare_exchange(word, dead, SeqCst, Relaxed).is_ok()
    }

    fn index(&'static self) -> u32 {
        ((std::ptr::from_ref(self) as usize - ARENA.as_ptr() as usize) / CELL) as u32
    }
}

/// Makes a live handle of a value. `None` if [`CELLS`] handles are alive; the value stays with the
/// caller.
pub(super) fn make(magic: u32, value: *mut ()) -> Option<usize> {
    FORK_HOOKS.call_once(install_fork_hooks);
    let cell = FREE.take()?;
    let address = std::ptr::from_ref(cell) as usize + (cell.word.load(Relaxed) % 64) as usize;
    cell.value.store(value, Relaxed);
    // Release: who sees the word sees the value.
    cell.word.store(expected(magic, address), Release);
    Some(address)
}

/// Gives a dead cell back, and its value to the caller. Only after `kill` said true and nobody pins
/// it.
pub(super) fn recycle(cell: &'static Cell) -> *mut () {
    let value = cell.value.swap(std::ptr::null_mut(), Relaxed);
    FREE.put(cell);
    value
}

/// The free cells, oldest first. Fields are atomics only to be a static; the lock orders them.
struct FreeList {
    locked: AtomicBool,
    head: AtomicU32,
    tail: AtomicU32,
    resting: AtomicU32,
    fresh: AtomicU32,
}

static FREE: FreeList = FreeList {
    locked: AtomicBool::new(false),
    head: AtomicU32::new(NONE),
    tail: AtomicU32::new(NONE),
    resting: AtomicU32::new(0),
    fresh: AtomicU32::new(0),
};

impl FreeList {
    fn lock(&self) {
        while self.locked.swap(true, Acquire) {
            // The holder runs a few stores; it is only ever late because it was preempted.
            std::thread::yield_now();
        }
    }

    fn unlock(&self) {
        self.locked.store(false, Release);
    }

    fn take(&self) -> Option<&'static Cell> {
        self.lock();
        let fresh = self.fresh.load(Relaxed);
        let exhausted = fresh as usize == CELLS;
        let cell = if self.resting.load(Relaxed) > if exhausted { 0 } else { QUARANTINE } {
            let oldest = &ARENA[self.head.load(Relaxed) as usize];
            self.head.store(oldest.next.load(Relaxed), Relaxed);
            self.resting.fetch_sub(1, Relaxed);
            Some(oldest)
        } else if exhausted {
            None
        } else {
            self.fresh.store(fresh + 1, Relaxed);
            Some(&ARENA[fresh as usize])
        };
        self.unlock();
        cell
    }

    fn put(&self, cell: &'static Cell) {
        let index = cell.index();
        cell.next.store(NONE, Relaxed);
        self.lock();
        match self.resting.fetch_add(1, Relaxed) {
            0 => self.head.store(index, Relaxed),
            _ => ARENA[self.tail.load(Relaxed) as usize].next.store(index, Relaxed),
        }
        self.tail.store(index, Relaxed);
        self.unlock();
    }
}

static FORK_HOOKS: Once = Once::new();

fn install_fork_hooks() {
    // SAFETY: three functions with the C ABI that outlive the process's use of them; they take no
    // lock but ours and allocate nothing.
    let rc = unsafe { libc::pthread_atfork(Some(before), Some(parent), Some(child)) };
    debug_assert_eq!(rc, 0, "pthread_atfork fails only without memory");

    extern "C" fn before() {
        FREE.lock();
    }
    extern "C" fn parent() {
        FREE.unlock();
    }
    extern "C" fn child() {
        FREE.unlock();
        super::pin::forget_other_threads();
    }
}
