//! The machinery behind every handle, with types of the tests' own.

use super::arena::{self, QUARANTINE};
use super::handle::{self, Handle};
use crate::base::{Error, Result, Status};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Barrier, Mutex};

/// The tests share one arena: those that count on its order take turns.
static TURN: Mutex<()> = Mutex::new(());

struct Apple(());
struct Pear(());

/// Tells when it is dropped, and must never be seen afterwards.
struct Probe {
    drops: Arc<AtomicUsize>,
    alive: AtomicUsize,
}

const ALIVE: usize = 0x5EED;

impl Probe {
    fn new(drops: &Arc<AtomicUsize>) -> Probe {
        Probe { drops: Arc::clone(drops), alive: AtomicUsize::new(ALIVE) }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.alive.store(0, SeqCst);
        self.drops.fetch_add(1, SeqCst);
    }
}

impl Handle for Apple {
    type Inside = Probe;
    const MAGIC: u32 = u32::from_be_bytes(*b"test");
    const NAME: &'static str = "apple";
}

impl Handle for Pear {
    type Inside = Probe;
    const MAGIC: u32 = u32::from_be_bytes(*b"pear");
    const NAME: &'static str = "pear";
}

fn status<R>(result: Result<R>) -> Status {
    result.err().map_or(Status::Ok, |e: Error| e.status())
}

fn probe() -> (*mut Apple, Arc<AtomicUsize>) {
    let drops = Arc::new(AtomicUsize::new(0));
    (handle::give::<Apple>(Probe::new(&drops)).unwrap().as_ptr(), drops)
}

fn turn() -> std::sync::MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[test]
fn a_living_handle_answers_and_a_freed_one_is_refused() {
    let _turn = turn();
    let (apple, drops) = probe();
    assert_eq!(handle::with(apple, |p| Ok(p.alive.load(SeqCst))).unwrap(), ALIVE);
    handle::free(apple);
    assert_eq!(drops.load(SeqCst), 1);
    assert_eq!(status(handle::with(apple, |_| Ok(()))), Status::InvalidArgument);
    handle::free(apple);
    assert_eq!(drops.load(SeqCst), 1, "the second free does nothing");
}

#[test]
fn null_foreign_wrong_and_crooked_handles_are_refused() {
    let _turn = turn();
    let (apple, drops) = probe();
    let foreign = Box::new([0_u64; 16]);
    let address = apple as usize;
    let wrong =
        [0, 1, usize::MAX, foreign.as_ptr() as usize, address ^ 1, address ^ 8, address ^ 64];
    for wrong in wrong {
        let wrong = wrong as *mut Apple;
        assert_eq!(status(handle::with(wrong, |_| Ok(()))), Status::InvalidArgument, "{wrong:?}");
        handle::free(wrong);
    }
    assert_eq!(status(handle::with(apple.cast::<Pear>(), |_| Ok(()))), Status::InvalidArgument);
    handle::free(apple.cast::<Pear>());
    assert_eq!(drops.load(SeqCst), 0);
    handle::free(apple);
}

#[test]
fn messages_say_what_was_wrong_with_a_handle() {
    let e = handle::with(std::ptr::null::<Apple>(), |_| Ok(())).unwrap_err();
    assert_eq!(e.to_string(), "apple is NULL");
    let e = handle::with(64 as *const Apple, |_| Ok(())).unwrap_err();
    assert!(e.to_string().starts_with("not a living apple handle"), "{e}");
}

#[test]
fn cells_are_reused_in_order() {
    let _turn = turn();
    // After this many frees the oldest of them is the next to be used.
    let first: Vec<_> = (0..QUARANTINE as usize + 8).map(|_| probe().0).collect();
    first.iter().for_each(|apple| handle::free(*apple));
    let cell = |apple: *mut Apple| apple as usize / 64;
    let again: Vec<_> = (0..first.len()).map(|_| probe().0).collect();
    let places: Vec<_> =
        again.iter().filter_map(|a| first.iter().position(|f| cell(*f) == cell(*a))).collect();
    assert!(places.is_sorted(), "first freed, first reused");
    again.iter().for_each(|apple| handle::free(*apple));
}

#[test]
fn a_stale_handle_is_refused_after_reuse() {
    let _turn = turn();
    let (stale, _) = probe();
    handle::free(stale);
    for _ in 0..4 * QUARANTINE {
        let (apple, _) = probe();
        assert_ne!(apple, stale);
        assert_eq!(status(handle::with(stale, |_| Ok(()))), Status::InvalidArgument);
        handle::free(apple);
    }
}

#[test]
fn a_shared_value_outlives_its_handle() {
    let _turn = turn();
    let (apple, drops) = probe();
    let shared = handle::share(apple).unwrap();
    handle::free(apple);
    assert_eq!((drops.load(SeqCst), shared.alive.load(SeqCst)), (0, ALIVE));
    drop(shared);
    assert_eq!(drops.load(SeqCst), 1);
}

#[test]
fn free_waits_for_a_pinned_use() {
    let _turn = turn();
    let (apple, drops) = probe();
    let (inside, freed) = (Barrier::new(2), AtomicBool::new(false));
    let address = apple as usize;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            handle::with(address as *const Apple, |p| {
                inside.wait();
                for _ in 0..1_000 {
                    std::thread::yield_now();
                    assert_eq!(p.alive.load(SeqCst), ALIVE, "dropped under a use");
                }
                assert!(!freed.load(SeqCst), "free returned while the value was in use");
                Ok(())
            })
            .unwrap();
        });
        inside.wait();
        handle::free(apple);
        freed.store(true, SeqCst);
    });
    assert_eq!(drops.load(SeqCst), 1);
}

#[test]
fn racing_frees_and_uses_touch_nothing_freed() {
    let _turn = turn();
    let drops = Arc::new(AtomicUsize::new(0));
    for _ in 0..2_000 {
        let address = handle::give::<Apple>(Probe::new(&drops)).unwrap().as_ptr() as usize;
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(move || {
                    let used = handle::with(address as *const Apple, |p| Ok(p.alive.load(SeqCst)));
                    assert!(matches!(used, Ok(ALIVE) | Err(_)));
                });
            }
            scope.spawn(move || handle::free(address as *mut Apple));
            handle::free(address as *mut Apple);
        });
    }
    assert_eq!(drops.load(SeqCst), 2_000, "each value was dropped once");
}

#[test]
fn addresses_outside_the_arena_have_no_cell() {
    assert!(arena::at(0).is_none());
    assert!(arena::at(usize::MAX).is_none());
    assert!(arena::at(&raw const TURN as usize).is_none());
}
