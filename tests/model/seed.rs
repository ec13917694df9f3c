//! Model T: the epoch of a lease record that an operator deletes, up to three times.
//!
//! Question: with which number does a record begin again, so that no token is ever given out twice
//! or goes backwards? Rule: with the store's present time, as the holder can prove it (`now_lb`).
//! Why not the `LastModified` of one's own session: it is up to a whole soft limit old, so after
//! two deletions a later holder gets a smaller token (trap 25).
//!
//! State: the clock, each session's `LastModified`, the record, the largest token given out.
//! Steps: time passes, a session renews, someone creates the absent record or acquires the present
//! one, the operator deletes it. Property: tokens are unique and growing.

use crate::run::{Expect, Run, run};
use stateright::{Model, Property};

/// Epochs per tick that a seed leaves room for.
const PER_TICK: u16 = 16;
const SOFT: u8 = 4;
const SESSIONS: usize = 3;

/// Where the first epoch of an absent record comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seed {
    /// The `LastModified` of the creator's own session.
    OwnModified,
    /// The store's present time, known up to one tick too early.
    NowLowerBound,
    /// The same, and the creator waits and proves the record before it is valid.
    ProvedAfterWait,
}

#[derive(Clone, Debug)]
struct EpochSeed {
    seed: Seed,
    /// Creations closer together than this are outside the promise.
    apart: u8,
    end: u8,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
struct Record {
    epoch: u16,
    holder: u8,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct World {
    now: u8,
    renewed_at: [u8; SESSIONS],
    record: Option<Record>,
    /// Creations that still have to be proved: epoch and time.
    unproved: [Option<(u16, u8)>; SESSIONS],
    largest: u16,
    created_at: u8,
    too_close: bool,
    deletions: u8,
    acquired_this_tick: u8,
    reused: bool,
}

impl World {
    fn grant(&mut self, epoch: u16, excused: bool) {
        if epoch <= self.largest && !excused {
            self.reused = true;
        }
        self.largest = self.largest.max(epoch);
    }
}

#[derive(Clone, Debug, Hash, PartialEq)]
enum Step {
    Tick,
    Renew(usize),
    /// By whom, and how many ticks too early the creator's idea of now is.
    Create(usize, u8),
    Acquire(usize),
    Prove(usize),
    Delete,
}

impl Model for EpochSeed {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![World {
            now: 5,
            renewed_at: [5; SESSIONS],
            record: None,
            unproved: [None; SESSIONS],
            largest: 0,
            created_at: 0,
            too_close: false,
            deletions: 0,
            acquired_this_tick: 0,
            reused: false,
        }]
    }

    fn actions(&self, w: &World, steps: &mut Vec<Step>) {
        if w.reused {
            return;
        }
        if w.now < self.end {
            steps.push(Step::Tick);
        }
        if w.deletions < 3 && w.record.is_some() {
            steps.push(Step::Delete);
        }
        for i in 0..SESSIONS {
            let valid = w.now - w.renewed_at[i] < SOFT;
            if w.renewed_at[i] < w.now {
                steps.push(Step::Renew(i));
            }
            if valid && w.record.is_none() {
                steps.extend([Step::Create(i, 0), Step::Create(i, 1)]);
            }
            let foreign = w.record.is_some_and(|r| usize::from(r.holder) != i);
            if valid && w.acquired_this_tick < 2 && foreign {
                steps.push(Step::Acquire(i));
            }
            if w.unproved[i].is_some() {
                steps.push(Step::Prove(i));
            }
        }
    }

    fn next_state(&self, before: &World, step: Step) -> Option<World> {
        let mut w = before.clone();
        match step {
            Step::Tick => {
                w.now += 1;
                w.acquired_this_tick = 0;
            }
            Step::Renew(i) => w.renewed_at[i] = w.now,
            Step::Delete => {
                w.deletions += 1;
                w.record = None;
            }
            Step::Create(i, early) => self.create(&mut w, i, early),
            Step::Acquire(i) => {
                let epoch = w.record?.epoch;
                if w.unproved.iter().flatten().any(|(unproved, _)| *unproved == epoch) {
                    return None;
                }
                w.acquired_this_tick += 1;
                w.record = Some(Record { epoch: epoch + 1, holder: i as u8 });
                let excused = w.too_close;
                w.grant(epoch + 1, excused);
            }
            Step::Prove(i) => {
                let (epoch, created) = w.unproved[i]?;
                if w.now < created + 3 {
                    return None;
                }
                w.unproved[i] = None;
                if w.record == Some(Record { epoch, holder: i as u8 }) {
                    w.grant(epoch, false);
                }
            }
        }
        Some(w)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("PT tokens are unique and growing", |_, w: &World| !w.reused),
            Property::sometimes("three deletions", |_, w: &World| w.deletions == 3),
        ]
    }
}

impl EpochSeed {
    fn create(&self, w: &mut World, i: usize, early: u8) {
        let base = match self.seed {
            Seed::OwnModified => w.renewed_at[i],
            _ => w.now.saturating_sub(early),
        };
        let epoch = u16::from(base) * PER_TICK;
        let excused = w.created_at > 0 && w.now - w.created_at < self.apart;
        w.created_at = w.now;
        w.too_close = excused;
        w.record = Some(Record { epoch, holder: i as u8 });
        if self.seed == Seed::ProvedAfterWait {
            w.unproved[i] = Some((epoch, w.now));
        } else {
            w.grant(epoch, excused);
        }
    }
}

/// Every run of this model.
pub fn runs() -> Vec<Run> {
    use Expect::{Breaks, Holds};
    let seeded = |seed, apart, end| EpochSeed { seed, apart, end };
    vec![
        run("T0 seed = now, re-creations 3 ticks apart", seeded(Seed::NowLowerBound, 3, 9), Holds),
        run("T1 the same over 12 ticks", seeded(Seed::NowLowerBound, 3, 12), Holds)
            .states(8_350_690)
            .large(),
        run(
            "T2 seed = now, wait and prove, any spacing",
            seeded(Seed::ProvedAfterWait, 0, 9),
            Holds,
        )
        .large(),
        run("mutation: seed = own LastModified", seeded(Seed::OwnModified, 3, 12), Breaks("PT")),
        run(
            "mutation: seed = now, no wait, any spacing",
            seeded(Seed::NowLowerBound, 0, 12),
            Breaks("PT"),
        ),
    ]
}
