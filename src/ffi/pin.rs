//! How a use and a concurrent free are told apart, for about two nanoseconds a call.
//!
//! Question: a thread is inside `tenure_file_write`; another frees the file. Who destroys the
//! writer, and when? Rule: a user announces the cell in its thread's own slot *before* it reads the
//! cell's word; a free kills the word *before* it looks at the slots. Whoever comes second sees the
//! other: either the user finds a dead word and answers INVALID_ARGUMENT, or the free waits until
//! the slot moves on.
//!
//! Why not a reference count in the cell? Two locked instructions a call are 10 ns, half of what a
//! whole 100-byte write may cost, and threads sharing a file would pass one cache line around. Here
//! the user's side is two plain stores, because the order between its store and its load is imposed
//! from the other side: `membarrier(2)` makes every thread of the process pass a full fence, once
//! per free. Where the kernel refuses, the user's side fences itself.
//!
//! A pin is short: calls that wait take a counted reference under the pin and drop the pin first
//! ([`super::handle::share`]), so a free spins over a memory copy at worst. A call made by a log
//! callback never gets here, so a thread pins one cell at a time.
//!
//! Invariants: `free_waits_for_a_pinned_use`, `racing_frees_and_uses_touch_nothing_freed`.

use std::cell::Cell as Local;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::*, compiler_fence, fence};

/// One thread's announcement. Slots are reused by later threads and never freed; two cache lines,
/// so that neighbours do not disturb each other.
#[repr(align(128))]
struct Slot {
    pinned: AtomicUsize,
    taken: AtomicBool,
    next: AtomicPtr<Slot>,
}

static SLOTS: AtomicPtr<Slot> = AtomicPtr::new(null_mut());
/// Whether `membarrier` works, so that users need no fence of their own.
static ASYMMETRIC: AtomicBool = AtomicBool::new(false);

thread_local! {
    // Without destructor, so that reading it is one address computation.
    static MINE: Local<Option<&'static Slot>> = const { Local::new(None) };
    static CALLING_BACK: Local<bool> = const { Local::new(false) };
    static GIVE_BACK: GiveBack = const { GiveBack };
}

/// Returns the thread's slot when the thread ends.
struct GiveBack;

impl Drop for GiveBack {
    fn drop(&mut self) {
        if let Some(slot) = MINE.take() {
            slot.taken.store(false, Release);
        }
    }
}

/// While this lives, the cell at `address` is not destroyed.
pub(super) struct Pin(&'static Slot);

impl Drop for Pin {
    #[inline]
    fn drop(&mut self) {
        self.0.pinned.store(0, Release);
    }
}

/// Announces that this thread is about to use the cell; look at its word only afterwards.
#[inline]
pub(super) fn pin(cell: usize) -> Pin {
    let slot = MINE.get().unwrap_or_else(claim);
    slot.pinned.store(cell, Relaxed);
    if ASYMMETRIC.load(Relaxed) {
        compiler_fence(SeqCst)
    } else {
        fence(SeqCst)
    }
    Pin(slot)
}

/// Waits until no thread pins a cell whose word is dead. False if that cannot be known: then the
/// value must be leaked.
#[must_use = "false obliges you to leak the value"]
pub(super) fn drain(cell: usize) -> bool {
    fence(SeqCst);
    if ASYMMETRIC.load(Relaxed) && !barrier::everywhere() {
        return false;
    }
    let mut next = SLOTS.load(Acquire);
    // SAFETY: slots come from `Box::leak` and are never freed, so every pointer of the list stays
    // valid.
    while let Some(slot) = unsafe { next.as_ref() } {
        while slot.pinned.load(Acquire) == cell {
            std::thread::yield_now();
        }
        next = slot.next.load(Relaxed);
    }
    true
}

/// In a forked child only the forking thread lives on; what the others announced there is void.
pub(super) fn forget_other_threads() {
    let mine = MINE.get().map_or(null_mut(), |s| std::ptr::from_ref(s).cast_mut());
    let mut next = SLOTS.load(Acquire);
    // SAFETY: as in `drain`.
    while let Some(slot) = unsafe { next.as_ref() } {
        if next != mine {
            slot.pinned.store(0, Relaxed);
            slot.taken.store(false, Relaxed);
        }
        next = slot.next.load(Relaxed);
    }
}

/// Whether this thread is inside a callback of ours.
#[inline]
pub(super) fn calling_back() -> bool {
    CALLING_BACK.get()
}

/// Runs a callback of the host; what it calls of us meanwhile answers REENTRANT.
pub(super) fn call_back(callback: impl FnOnce()) {
    let before = CALLING_BACK.replace(true);
    callback();
    CALLING_BACK.set(before);
}

/// A thread's first call: takes a slot left by an ended thread, or adds one.
#[cold]
fn claim() -> &'static Slot {
    if !ASYMMETRIC.load(Relaxed) && barrier::register() {
        ASYMMETRIC.store(true, Relaxed);
    }
    let slot = vacant().unwrap_or_else(add);
    MINE.set(Some(slot));
    // Refused only while the thread ends; then the slot stays taken, once per such thread.
    let _ = GIVE_BACK.try_with(|_| ());
    slot
}

fn vacant() -> Option<&'static Slot> {
    let mut next = SLOTS.load(Acquire);
    // SAFETY: as in `drain`.
    while let Some(slot) = unsafe { next.as_ref() } {
        if slot.taken.compare_exchange(false, true, Acquire, Relaxed).is_ok() {
            return Some(slot);
        }
        next = slot.next.load(Relaxed);
    }
    None
}

fn add() -> &'static Slot {
    let slot: &'static Slot = Box::leak(Box::new(Slot {
        pinned: AtomicUsize::new(0),
        taken: AtomicBool::new(true),
        next: AtomicPtr::new(null_mut()),
    }));
    let mut head = SLOTS.load(Relaxed);
    loop {
        slot.next.store(head, Relaxed);
        let new = std::ptr::from_ref(slot).cast_mut();
        match SLOTS.compare_exchange_weak(head, new, AcqRel, Relaxed) {
            Ok(_) => return slot,
            Err(other) => head = other,
        }
    }
}

/// `membarrier(2)`, private and expedited: a few microseconds, no scheduler involved.
#[cfg(target_os = "linux")]
mod barrier {
    const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

    fn call(command: libc::c_int) -> bool {
        // SAFETY: membarrier takes two integers and touches no memory of ours.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0) == 0 }
    }

    pub(super) fn register() -> bool {
        call(REGISTER_PRIVATE_EXPEDITED)
    }

    /// A forked child may have lost the registration; then once more.
    pub(super) fn everywhere() -> bool {
        call(PRIVATE_EXPEDITED) || (register() && call(PRIVATE_EXPEDITED))
    }
}

#[cfg(not(target_os = "linux"))]
mod barrier {
    pub(super) fn register() -> bool {
        false
    }
    pub(super) fn everywhere() -> bool {
        false
    }
}
