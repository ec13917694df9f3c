//! Model F: the life of one file: overwrite, delete, re-create, checkpoints, compaction,
//! collection.
//!
//! Question: when a path is written, removed and written again, while recoverers, compactors,
//! collectors and readers work from manifests that may be old, is an acknowledged byte ever lost,
//! acknowledged into a dead file, or mixed into another life of the path?
//!
//! State: as model D, plus incarnations, the directories' ages, block objects, the sweep and a
//! four-step reader. No clock, except that "seven days" is an event a writer can notice by its own
//! clock. Model B (`seed` > 0) adds a lease record that an operator deletes, so that a former
//! holder may have an epoch as large as the holder's, or larger.
//!
//! Properties: P1, P2, P3 as in model D, per incarnation; P1d nothing is acknowledged that landed
//! after its file was removed; PF nobody fences itself without cause; PX an operation removes one
//! incarnation at most; PZ a former holder never shuts out the holder.

use crate::run::{Expect, Run, run};
use stateright::{Model, Property};

/// One segment's content: ten times the writer's number, plus the segment's.
pub type Tag = u8;
const HOLE: Tag = 99;
const POSITIONS: usize = 4;
/// Opens per epoch.
const OPENS: u8 = 3;
/// Epochs of a run with a deleted record.
const EPOCHS: u8 = 6;
const NOBODY: u8 = 255;

// What a state has broken, as bits.
const ACKED_LOST: u16 = 1;
const HOLES: u16 = 2;
const SHRANK: u16 = 4;
const READER_WENT_BACK: u16 = 8;
const READER_MISSED_ACKED: u16 = 16;
const ACKED_AFTER_REMOVAL: u16 = 32;
const FALSE_FENCE: u16 = 64;
const REMOVED_TWO: u16 = 128;
const HOLDER_SHUT_OUT: u16 = 256;

/// What a writer came for.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
enum Op {
    Open,
    Overwrite,
    Delete,
}

/// The rule that a mutation takes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    RemoveWithoutSeal,
    DeleteAnyIncarnation,
    OverwriteAnyIncarnation,
    DeadSealsGoAtOnce,
    WriterIgnoresItsAge,
    CollectUnreferenced,
    ReaderIgnoresIncarnation,
    ReaderComparesDirectoryOnly,
    CheckpointWhatWasSent,
    CollectWholeDirectory,
    SweepWithoutFence,
    CompactorReusesObject,
    TombstoneDeleted,
    CompactionTakesWriter,
    CheckpointWithoutOwnership,
    CollectLiveSeals,
    RaiseWithoutSwap,
    SealWithoutTouch,
    ReopenWithoutTouch,
}

#[derive(Clone, Debug)]
struct FileLife {
    ops: Vec<Op>,
    epochs: Vec<u8>,
    segments: u8,
    pipeline: u8,
    /// PUTs given up in the whole run.
    abandoned: u8,
    reads: u8,
    checkpoints: bool,
    close: bool,
    compactions: u8,
    collections: u8,
    sweeps: u8,
    /// The first epoch after the lease record was deleted; 0: it never is.
    seed: u8,
    reopens: u8,
    flaw: Option<Flaw>,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
enum Cell {
    Data(Tag),
    Seal,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
struct Block {
    dir: u8,
    first: u8,
    len: u8,
    /// The compacted object, if any.
    object: Option<u8>,
}

impl Block {
    fn end(&self) -> u8 {
        self.first + self.len
    }
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Absent,
    Open,
    Closed,
    Deleted,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
struct Manifest {
    version: u8,
    epoch: u8,
    open: u8,
    writer: u8,
    /// The writer that began this incarnation.
    maker: u8,
    incarnation: u8,
    /// Directories below this one belong to dead incarnations.
    first: u8,
    state: State,
    blocks: Vec<Block>,
    /// The open directory and its base position.
    tail: Option<(u8, u8)>,
}

impl Manifest {
    const ABSENT: Manifest = Manifest {
        version: 0,
        epoch: 0,
        open: 0,
        writer: NOBODY,
        maker: NOBODY,
        incarnation: 0,
        first: 0,
        state: State::Absent,
        blocks: Vec::new(),
        tail: None,
    };

    fn live(&self) -> bool {
        matches!(self.state, State::Open | State::Closed)
    }

    /// The directories it names, as bits.
    fn references(&self) -> u16 {
        let blocks = self.blocks.iter().map(|b| b.dir);
        blocks.chain(self.tail.map(|(dir, _)| dir)).fold(0, |bits, dir| bits | 1 << dir)
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Put { dir: u8, at: u8, cell: Cell },
    Swap { over: u8, next: Box<Manifest>, checkpoint: bool },
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    Waiting,
    Landed,
    Refused,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
struct Request {
    writer: u8,
    abandoned: bool,
    what: What,
    answer: Answer,
}

impl Request {
    fn segment(&self) -> Option<u8> {
        match self.what {
            What::Put { cell: Cell::Data(_), at, .. } => Some(at),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
enum Stage {
    Start,
    Read(Box<Manifest>),
    Seal(Box<Manifest>, u8),
    SealSent(Box<Manifest>, u8),
    Sealed(Box<Manifest>, u8),
    SwapSent,
    Streaming,
    Closing,
    CloseSent,
    Done,
    Fenced,
}

impl Stage {
    fn over(&self) -> bool {
        matches!(self, Stage::Fenced | Stage::Done)
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct Writer {
    stage: Stage,
    epoch: u8,
    reopened: u8,
    op: Op,
    /// The incarnation it means, fixed by its first read.
    target: Option<u8>,
    dir: u8,
    sent: u8,
    landed: u8,
    acked: u8,
    checkpointing: bool,
}

impl Writer {
    fn forget_stream(&mut self) {
        (self.sent, self.landed, self.acked, self.dir) = (0, 0, 0, 0);
        self.checkpointing = false;
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
enum Reader {
    Idle,
    Read(Box<Manifest>),
    Listed(Box<Manifest>, u8),
    Confirmed(Box<Manifest>, u8),
    /// Its incarnation is gone.
    Stale,
}

/// The sweep of block objects; object numbers as bits.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
enum Sweep {
    Idle,
    Listed(u8),
    Doomed(u8),
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct Compaction {
    over: u8,
    dir: u8,
    first: u8,
    object: u8,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct World {
    manifest: Manifest,
    data: Vec<[Option<Cell>; POSITIONS]>,
    /// Positions that landed while their incarnation lived, as bits per directory.
    in_time: Vec<u8>,
    incarnation_of: Vec<u8>,
    /// Directories dead for seven days, as bits.
    aged: u16,
    writers: Vec<Writer>,
    requests: Vec<Request>,
    given_up: u8,
    /// What was acknowledged, per incarnation.
    acked: Vec<Vec<Tag>>,
    bases: Vec<Vec<Tag>>,
    objects: Vec<Option<Vec<Tag>>>,
    compaction: Option<Compaction>,
    sweep: Sweep,
    sweeps: u8,
    /// A collector's manifest: its `first` and its references.
    collecting: Option<(u8, u16)>,
    collections: u8,
    reader: Reader,
    reader_incarnation: u8,
    reader_last: Vec<Tag>,
    reader_floor: Vec<Tag>,
    reads: u8,
    /// Writers that removed an incarnation, as bits.
    removed: u8,
    holder: u8,
    holder_epoch: u8,
    broken: u16,
}

#[derive(Clone, Debug, Hash, PartialEq)]
enum Step {
    Read(usize),
    List(usize),
    Seal(usize),
    Swap(usize),
    Send(usize),
    Resend(usize, u8),
    Checkpoint(usize),
    Close(usize),
    Reopen(usize),
    Answer(usize),
    GiveUp(usize),
    Land(usize),
    /// The next writer becomes the lease's holder.
    TakeLease,
    CompactRead(usize),
    CompactSwap,
    CollectBlock(usize),
    CollectRead,
    CollectDead,
    /// Seven days pass for a dead directory.
    Age(usize),
    CollectSeal(usize),
    SweepList,
    SweepSwap,
    SweepDelete,
    DeleteTombstone,
    ReaderRead,
    ReaderList,
    ReaderConfirm,
    ReaderFetch,
}

fn is_prefix(short: &[Tag], long: &[Tag]) -> bool {
    long.starts_with(short)
}

fn tag(writer: usize, segment: u8) -> Tag {
    (writer as u8 + 1) * 10 + segment
}

impl World {
    fn cell(&self, dir: u8, at: u8) -> Option<Cell> {
        self.data[usize::from(dir)][usize::from(at)]
    }

    fn has_seal(&self, dir: usize) -> bool {
        self.data[dir].contains(&Some(Cell::Seal))
    }

    /// The first position from `base` on that holds no data.
    fn end_of(&self, dir: u8, base: u8) -> u8 {
        let is_data = |at: &usize| matches!(self.data[usize::from(dir)][*at], Some(Cell::Data(_)));
        (usize::from(base)..POSITIONS).find(|at| !is_data(at)).unwrap_or(POSITIONS) as u8
    }

    /// Appends the segments of a range; false if one is missing.
    fn fetch(&self, dir: u8, from: u8, to: u8, into: &mut Vec<Tag>) -> bool {
        let mut whole = true;
        for at in from..to {
            if let Some(Cell::Data(tag)) = self.cell(dir, at) {
                into.push(tag);
            } else {
                into.push(HOLE);
                whole = false;
            }
        }
        whole
    }

    fn blocks(&self, manifest: &Manifest) -> (Vec<Tag>, bool) {
        let mut all = Vec::new();
        let mut whole = true;
        for block in &manifest.blocks {
            match block.object.and_then(|o| self.objects[usize::from(o)].as_ref()) {
                Some(content) => all.extend(content),
                None => whole &= self.fetch(block.dir, block.first, block.end(), &mut all),
            }
        }
        (all, whole)
    }

    fn visible(&self) -> Vec<Tag> {
        let mut all = self.blocks(&self.manifest).0;
        if let Some((dir, base)) = self.manifest.tail {
            self.fetch(dir, base, self.end_of(dir, base), &mut all);
        }
        all
    }

    fn send(&mut self, writer: usize, what: What) {
        let writer = writer as u8;
        let answer = Answer::Waiting;
        self.requests.push(Request { writer, abandoned: false, what, answer });
    }

    /// A writer gives up for good. Without cause if its tail is open and unsealed.
    fn fence(&mut self, i: usize) {
        let dir = self.writers[i].dir;
        let stage = &self.writers[i].stage;
        let busy = matches!(stage, Stage::Streaming | Stage::Closing | Stage::CloseSent);
        let unsealed = self.manifest.tail.is_some_and(|(tail, base)| {
            let beyond = &self.data[usize::from(dir)][usize::from(base)..];
            tail == dir && !beyond.contains(&Some(Cell::Seal))
        });
        if busy && unsealed && self.manifest.live() {
            self.broken |= FALSE_FENCE;
        }
        self.writers[i].stage = Stage::Fenced;
    }
}

impl FileLife {
    fn base() -> FileLife {
        FileLife {
            ops: vec![Op::Open, Op::Open],
            epochs: vec![1, 2],
            segments: 2,
            pipeline: 2,
            abandoned: 1,
            reads: 0,
            checkpoints: false,
            close: false,
            compactions: 0,
            collections: 0,
            sweeps: 0,
            seed: 0,
            reopens: 0,
            flaw: None,
        }
    }

    fn lacks(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    fn dirs(&self) -> usize {
        let epochs = if self.seed > 0 { EPOCHS } else { *self.epochs.iter().max().unwrap() };
        usize::from(epochs * OPENS)
    }

    fn read(&self, w: &mut World, i: usize) -> Option<()> {
        let manifest = w.manifest.clone();
        if self.seed > 0 && !self.lawful(w, i, &manifest)? {
            w.writers[i].stage = Stage::Fenced;
            return Some(());
        }
        let writer = &mut w.writers[i];
        let target = *writer.target.get_or_insert(manifest.incarnation);
        let moved_on = manifest.incarnation != target;
        writer.stage = match self.ops[i] {
            _ if manifest.state != State::Absent && manifest.epoch > writer.epoch => Stage::Fenced,
            Op::Delete if !manifest.live() => Stage::Done,
            Op::Delete if moved_on && !self.lacks(Flaw::DeleteAnyIncarnation) => Stage::Done,
            Op::Overwrite if moved_on && !self.lacks(Flaw::OverwriteAnyIncarnation) => {
                let me = i as u8;
                if manifest.maker == me && manifest.writer == me && manifest.live() {
                    writer.op = Op::Open;
                    Stage::Read(Box::new(manifest))
                } else {
                    Stage::Fenced
                }
            }
            _ => Stage::Read(Box::new(manifest)),
        };
        Some(())
    }

    /// Model B: raises the lease's epoch above the manifest's, which only the holder can; and
    /// proves the lease before a foreign open tail is touched.
    fn lawful(&self, w: &mut World, i: usize, manifest: &Manifest) -> Option<bool> {
        let holder = usize::from(w.holder) == i;
        let ahead = manifest.state != State::Absent && manifest.epoch > w.writers[i].epoch;
        if ahead && (holder || self.lacks(Flaw::RaiseWithoutSwap)) {
            if manifest.epoch + 1 > EPOCHS {
                return None;
            }
            w.writers[i].epoch = manifest.epoch + 1;
            if holder {
                w.holder_epoch = manifest.epoch + 1;
            }
        }
        let foreign_tail = manifest.tail.is_some() && manifest.writer != i as u8;
        let unproved = [Flaw::SealWithoutTouch, Flaw::ReopenWithoutTouch, Flaw::RaiseWithoutSwap];
        let excused = unproved.iter().any(|f| self.lacks(*f));
        Some(!foreign_tail || holder || excused)
    }

    fn list(&self, w: &mut World, i: usize) -> Option<()> {
        let Stage::Read(manifest) = w.writers[i].stage.clone() else { return None };
        let removes = w.writers[i].op != Op::Open;
        w.writers[i].stage = match manifest.tail {
            None => Stage::Sealed(manifest, 0),
            Some((_, base)) if removes && self.lacks(Flaw::RemoveWithoutSeal) => {
                Stage::Sealed(manifest, base)
            }
            Some((dir, base)) => {
                let end = w.end_of(dir, base);
                if usize::from(end) >= POSITIONS {
                    return None;
                }
                match w.cell(dir, end) {
                    Some(Cell::Seal) => Stage::Sealed(manifest, end),
                    _ => Stage::Seal(manifest, end),
                }
            }
        };
        Some(())
    }

    fn swap(&self, w: &mut World, i: usize) -> Option<()> {
        let Stage::Sealed(manifest, end) = w.writers[i].stage.clone() else { return None };
        let epoch = w.writers[i].epoch;
        let again = manifest.state != State::Absent && manifest.epoch == epoch;
        let open = if again { manifest.open + 1 } else { 0 };
        if open >= OPENS {
            return None;
        }
        let dir = (epoch - 1) * OPENS + open;
        let mut next = (*manifest).clone();
        (next.version, next.epoch, next.open) = (manifest.version + 1, epoch, open);
        next.writer = i as u8;
        if w.writers[i].op == Op::Delete {
            next.state = State::Deleted;
            next.blocks = Vec::new();
            next.tail = None;
            next.first = dir + 1;
        } else {
            if w.writers[i].op == Op::Overwrite || !manifest.live() {
                next.incarnation += 1;
                next.maker = i as u8;
                next.blocks = Vec::new();
                next.first = dir;
            } else if let Some((tail, base)) = manifest.tail.filter(|(_, base)| end > *base) {
                let len = end - base;
                next.blocks.push(Block { dir: tail, first: base, len, object: None });
            }
            next.state = State::Open;
            next.tail = Some((dir, 0));
        }
        let over = manifest.version;
        w.send(i, What::Swap { over, next: Box::new(next), checkpoint: false });
        w.writers[i].stage = Stage::SwapSent;
        Some(())
    }

    /// A checkpoint moves the base to the acknowledged position; a close finalises everything.
    fn checkpoint_or_close(&self, w: &mut World, i: usize, close: bool) -> Option<()> {
        let writer = w.writers[i].clone();
        let manifest = w.manifest.clone();
        let named = manifest.writer == i as u8;
        let own_tail = named && manifest.tail.is_some_and(|(dir, _)| dir == writer.dir);
        let reckless = self.lacks(Flaw::CheckpointWithoutOwnership) && manifest.tail.is_some();
        if close && named && manifest.state == State::Closed && manifest.epoch == writer.epoch {
            w.writers[i].stage = Stage::Done;
            return Some(());
        }
        if !own_tail && !reckless || manifest.state != State::Open {
            w.fence(i);
            return Some(());
        }
        let (_, base) = manifest.tail?;
        let everything = close || self.lacks(Flaw::CheckpointWhatWasSent);
        let upto = if everything { writer.sent } else { writer.acked };
        if upto <= base && !close {
            return None;
        }
        let mut next = manifest.clone();
        next.version += 1;
        if upto > base {
            let block = Block { dir: writer.dir, first: base, len: upto - base, object: None };
            next.blocks.push(block);
        }
        if close {
            next.tail = None;
            next.state = State::Closed;
            w.writers[i].stage = Stage::CloseSent;
        } else {
            next.tail = Some((writer.dir, upto));
            w.writers[i].checkpointing = true;
        }
        let over = manifest.version;
        w.send(i, What::Swap { over, next: Box::new(next), checkpoint: !close });
        Some(())
    }

    fn give_up(&self, w: &mut World, k: usize) {
        w.given_up += 1;
        w.requests[k].abandoned = true;
        let segment = w.requests[k].segment().is_some();
        let checkpoint = matches!(w.requests[k].what, What::Swap { checkpoint: true, .. });
        let writer = &mut w.writers[usize::from(w.requests[k].writer)];
        if checkpoint {
            writer.checkpointing = false;
        } else if !segment {
            writer.stage = match writer.stage.clone() {
                Stage::SealSent(manifest, end) => Stage::Seal(manifest, end),
                Stage::SwapSent => Stage::Start,
                Stage::CloseSent => Stage::Closing,
                stage => stage,
            };
        }
    }

    fn land(&self, w: &mut World, k: usize) {
        let request = w.requests[k].clone();
        let landed = match &request.what {
            What::Put { dir, at, cell } => Self::land_put(w, usize::from(*dir), *at, *cell),
            What::Swap { over, next, checkpoint } => {
                let lands = w.manifest.version == *over;
                if lands {
                    self.land_swap(w, request.writer, next, *checkpoint);
                }
                lands
            }
        };
        if request.abandoned {
            w.requests.remove(k);
        } else {
            w.requests[k].answer = if landed { Answer::Landed } else { Answer::Refused };
        }
    }

    fn land_put(w: &mut World, dir: usize, at: u8, cell: Cell) -> bool {
        if w.data[dir][usize::from(at)].is_some() {
            return false;
        }
        w.data[dir][usize::from(at)] = Some(cell);
        let lives = w.manifest.live() && w.manifest.incarnation == w.incarnation_of[dir];
        if lives && matches!(cell, Cell::Data(_)) {
            w.in_time[dir] |= 1 << at;
        }
        true
    }

    fn land_swap(&self, w: &mut World, writer: u8, next: &Manifest, checkpoint: bool) {
        let another = next.incarnation != w.manifest.incarnation;
        if w.manifest.live() && (another || next.state == State::Deleted) {
            if w.removed >> writer & 1 == 1 {
                w.broken |= REMOVED_TWO;
            }
            w.removed |= 1 << writer;
        }
        let opens = !checkpoint && next.state == State::Open;
        let holder = usize::from(w.holder);
        let holder_writes =
            w.manifest.writer == w.holder && w.writers[holder].stage == Stage::Streaming;
        if self.seed > 0 && opens && w.holder != writer && holder_writes {
            w.broken |= HOLDER_SHUT_OUT;
        }
        let dir = |m: &Manifest| m.tail.map(|(dir, _)| dir);
        let new_dir = dir(next).filter(|_| dir(next) != dir(&w.manifest));
        w.manifest = next.clone();
        if let Some(dir) = new_dir.map(usize::from) {
            w.incarnation_of[dir] = w.manifest.incarnation;
            w.bases[dir] = w.blocks(&w.manifest).0;
        }
    }

    fn answer(&self, w: &mut World, k: usize) -> Option<()> {
        let request = w.requests.remove(k);
        let i = usize::from(request.writer);
        let landed = request.answer == Answer::Landed;
        match (request.what, w.writers[i].stage.clone()) {
            (What::Swap { checkpoint: true, .. }, _) => w.writers[i].checkpointing = false,
            (What::Put { cell: Cell::Seal, dir, at }, Stage::SealSent(manifest, _)) => {
                w.writers[i].stage = match w.cell(dir, at) {
                    _ if landed => Stage::Sealed(manifest, at),
                    Some(Cell::Seal) => Stage::Sealed(manifest, at),
                    Some(Cell::Data(_)) if usize::from(at) + 1 >= POSITIONS => return None,
                    Some(Cell::Data(_)) => Stage::Seal(manifest, at + 1),
                    None => Stage::Seal(manifest, at),
                };
            }
            (What::Swap { next, .. }, Stage::SwapSent) => {
                let writer = &mut w.writers[i];
                writer.stage = match (landed, writer.op) {
                    (false, _) => Stage::Start,
                    (true, Op::Delete) => Stage::Done,
                    (true, _) => {
                        writer.dir = next.tail?.0;
                        Stage::Streaming
                    }
                };
            }
            (What::Swap { .. }, Stage::CloseSent) => {
                w.writers[i].stage = if landed { Stage::Done } else { Stage::Closing };
            }
            (What::Put { cell: cell @ Cell::Data(_), dir, at }, Stage::Streaming) => {
                let found = w.cell(dir, at);
                let aged = w.aged >> dir & 1 == 1;
                if aged && !self.lacks(Flaw::WriterIgnoresItsAge) {
                    w.fence(i);
                } else if landed || found == Some(cell) {
                    Self::acknowledge(w, i, usize::from(dir), at);
                } else if found.is_some() {
                    w.fence(i);
                }
            }
            _ => {}
        }
        Some(())
    }

    fn acknowledge(w: &mut World, i: usize, dir: usize, at: u8) {
        let writer = &mut w.writers[i];
        writer.landed |= 1 << at;
        while writer.acked < writer.sent && writer.landed >> writer.acked & 1 == 1 {
            writer.acked += 1;
        }
        let upto = writer.acked;
        let mut whole = w.bases[dir].clone();
        for segment in 0..upto {
            whole.push(tag(i, segment));
            if w.in_time[dir] >> segment & 1 == 0 {
                w.broken |= ACKED_AFTER_REMOVAL;
            }
        }
        let acked = &mut w.acked[usize::from(w.incarnation_of[dir])];
        if upto > 0 && is_prefix(acked, &whole) {
            *acked = whole;
        } else if upto > 0 && !is_prefix(&whole, acked) {
            w.broken |= ACKED_LOST;
        }
    }

    fn compact_swap(&self, w: &mut World) -> Option<()> {
        let done = w.compaction.take()?;
        if w.manifest.version != done.over && !self.lacks(Flaw::CompactorReusesObject) {
            return Some(());
        }
        let wanted =
            |b: &&mut Block| b.dir == done.dir && b.first == done.first && b.object.is_none();
        if let Some(block) = w.manifest.blocks.iter_mut().find(wanted) {
            block.object = Some(done.object);
            w.manifest.version += 1;
            if self.lacks(Flaw::CompactionTakesWriter) {
                w.manifest.writer = NOBODY - 1;
            }
        }
        Some(())
    }

    fn collect_block(&self, w: &mut World, b: usize) -> Option<()> {
        let block = w.manifest.blocks[b];
        let before = w.data[usize::from(block.dir)];
        for (at, cell) in w.data[usize::from(block.dir)].iter_mut().enumerate() {
            let inside = (usize::from(block.first)..usize::from(block.end())).contains(&at);
            let doomed = match cell {
                Some(Cell::Data(_)) => inside || self.lacks(Flaw::CollectWholeDirectory),
                Some(Cell::Seal) => self.lacks(Flaw::CollectLiveSeals),
                None => false,
            };
            if doomed {
                *cell = None;
            }
        }
        (w.data[usize::from(block.dir)] != before).then_some(())
    }

    fn collect_dead(&self, w: &mut World) -> Option<()> {
        let (first, references) = w.collecting.take()?;
        for dir in 0..w.data.len() {
            let doomed = if self.lacks(Flaw::CollectUnreferenced) {
                references >> dir & 1 == 0
            } else {
                dir < usize::from(first)
            };
            for cell in w.data[dir].iter_mut().filter(|_| doomed) {
                if matches!(cell, Some(Cell::Data(_))) {
                    *cell = None;
                }
            }
        }
        Some(())
    }

    fn sweep_list(&self, w: &mut World) {
        w.sweeps += 1;
        let naive = self.lacks(Flaw::SweepWithoutFence);
        let used = |o: usize| w.manifest.blocks.iter().any(|b| b.object == Some(o as u8));
        let mut listed = 0;
        for (o, content) in w.objects.iter().enumerate() {
            if content.is_some() && !(naive && used(o)) {
                listed |= 1 << o;
            }
        }
        w.sweep = if naive { Sweep::Doomed(listed) } else { Sweep::Listed(listed) };
    }

    fn sweep_swap(w: &mut World) -> Option<()> {
        let Sweep::Listed(listed) = w.sweep else { return None };
        let used = w.manifest.blocks.iter().filter_map(|b| b.object);
        let doomed = used.fold(listed, |bits, o| bits & !(1 << o));
        w.sweep = Sweep::Idle;
        if doomed != 0 {
            w.manifest.version += 1;
            w.sweep = Sweep::Doomed(doomed);
        }
        Some(())
    }

    fn reader_read(&self, w: &mut World) {
        let manifest = w.manifest.clone();
        if w.reader_incarnation == 0 {
            w.reader_incarnation = manifest.incarnation;
        }
        let other = manifest.incarnation != w.reader_incarnation;
        let gone = !manifest.live() || other && !self.lacks(Flaw::ReaderIgnoresIncarnation);
        if gone {
            w.reader = Reader::Stale;
        } else {
            w.reader_floor = w.acked[usize::from(manifest.incarnation)].clone();
            w.reader = Reader::Read(Box::new(manifest));
        }
    }

    fn reader_confirm(&self, w: &mut World) -> Option<()> {
        let Reader::Listed(first, end) = w.reader.clone() else { return None };
        let second = w.manifest.clone();
        let careless = self.lacks(Flaw::ReaderComparesDirectoryOnly);
        let same = match (first.tail, second.tail) {
            (Some((a, _)), Some((b, _))) if careless => a == b,
            (a, b) => a == b,
        };
        let other = second.incarnation != w.reader_incarnation;
        if !second.live() || other && !self.lacks(Flaw::ReaderIgnoresIncarnation) {
            w.reader = Reader::Stale;
        } else if same {
            let used = if careless { first } else { Box::new(second) };
            w.reader = Reader::Confirmed(used, end);
        } else {
            w.reads += 1;
            w.reader = Reader::Idle;
        }
        Some(())
    }

    fn reader_fetch(&self, w: &mut World) -> Option<()> {
        let Reader::Confirmed(manifest, end) = w.reader.clone() else { return None };
        let (mut view, mut whole) = w.blocks(&manifest);
        if let Some((dir, base)) = manifest.tail.filter(|(_, base)| end > *base) {
            whole &= w.fetch(dir, base, end, &mut view);
        }
        w.reads += 1;
        w.reader = Reader::Idle;
        if whole {
            if !is_prefix(&w.reader_last, &view) {
                w.broken |= READER_WENT_BACK;
            }
            if !is_prefix(&w.reader_floor, &view) {
                w.broken |= READER_MISSED_ACKED;
            }
            w.reader_last = view;
        }
        Some(())
    }

    /// Forgets what can have no effect: answers nobody reads, swaps that lost, finished writers.
    fn forget_inert(&self, w: &mut World) {
        for request in &mut w.requests {
            request.abandoned |= w.writers[usize::from(request.writer)].stage.over();
        }
        let version = w.manifest.version;
        w.requests.retain(|r| {
            let lost = matches!(r.what, What::Swap { over, .. } if over != version);
            !r.abandoned || r.answer == Answer::Waiting && !lost
        });
        w.requests.sort();
        for writer in &mut w.writers {
            if writer.stage.over() {
                writer.forget_stream();
                writer.target = None;
            }
            if writer.stage == Stage::Start && writer.reopened > 0 {
                writer.forget_stream();
            }
        }
        let idle = w.reader == Reader::Idle;
        if w.reader == Reader::Stale || w.reads >= self.reads && idle {
            w.reader_last = Vec::new();
            w.reader_floor = Vec::new();
        }
        if idle {
            w.reader_floor = Vec::new();
        }
    }

    fn judge(before: &World, w: &mut World) {
        if !w.manifest.live() {
            return;
        }
        let new = w.visible();
        let same_life =
            before.manifest.live() && before.manifest.incarnation == w.manifest.incarnation;
        if same_life && !is_prefix(&before.visible(), &new) {
            w.broken |= SHRANK;
        }
        if !is_prefix(&w.acked[usize::from(w.manifest.incarnation)], &new) {
            w.broken |= ACKED_LOST;
        }
        let follows = |k: usize| new[k].is_multiple_of(10) || k > 0 && new[k - 1] + 1 == new[k];
        if new.contains(&HOLE) || !(0..new.len()).all(follows) {
            w.broken |= HOLES;
        }
    }

    fn writer_steps(&self, w: &World, i: usize, steps: &mut Vec<Step>) {
        let writer = &w.writers[i];
        match writer.stage {
            Stage::Start if writer.epoch > 0 => steps.push(Step::Read(i)),
            Stage::Fenced if writer.reopened < self.reopens => steps.push(Step::Reopen(i)),
            Stage::Read(_) => steps.push(Step::List(i)),
            Stage::Seal(..) => steps.push(Step::Seal(i)),
            Stage::Sealed(..) => steps.push(Step::Swap(i)),
            Stage::Closing => steps.push(Step::Close(i)),
            Stage::Streaming => {
                if writer.sent < self.segments && writer.sent - writer.acked < self.pipeline {
                    steps.push(Step::Send(i));
                }
                for at in 0..writer.sent {
                    let under_way = |r: &Request| {
                        usize::from(r.writer) == i && !r.abandoned && r.segment() == Some(at)
                    };
                    if writer.landed >> at & 1 == 0 && !w.requests.iter().any(under_way) {
                        steps.push(Step::Resend(i, at));
                    }
                }
                if self.checkpoints && !writer.checkpointing && writer.acked > 0 {
                    steps.push(Step::Checkpoint(i));
                }
                let flushed = writer.acked == writer.sent && writer.sent > 0;
                if self.close && !writer.checkpointing && flushed {
                    steps.push(Step::Close(i));
                }
            }
            _ => {}
        }
    }

    fn janitor_steps(&self, w: &World, steps: &mut Vec<Step>) {
        let blocks = || w.manifest.blocks.iter().enumerate();
        if w.objects.len() < usize::from(self.compactions) && w.compaction.is_none() {
            let raw = blocks().filter(|(_, b)| b.object.is_none());
            steps.extend(raw.map(|(b, _)| Step::CompactRead(b)));
        }
        if w.compaction.is_some() {
            steps.push(Step::CompactSwap);
        }
        if self.compactions > 0 {
            let left = |b: &Block| (b.first..b.end()).any(|at| w.cell(b.dir, at).is_some());
            let done = blocks().filter(|(_, b)| b.object.is_some() && left(b));
            steps.extend(done.map(|(b, _)| Step::CollectBlock(b)));
        }
        let exists = w.manifest.state != State::Absent;
        if w.collections < self.collections && w.collecting.is_none() && exists {
            steps.push(Step::CollectRead);
        }
        if w.collecting.is_some() {
            steps.push(Step::CollectDead);
        }
        if self.collections > 0 {
            let at_once = self.lacks(Flaw::DeadSealsGoAtOnce);
            let dead = usize::from(w.manifest.first).min(w.data.len());
            for dir in (0..dead).filter(|dir| w.has_seal(*dir)) {
                let aged = w.aged >> dir & 1 == 1;
                steps.push(if aged || at_once { Step::CollectSeal(dir) } else { Step::Age(dir) });
            }
        }
        match w.sweep {
            Sweep::Idle => {
                if w.sweeps < self.sweeps && w.objects.iter().any(Option::is_some) {
                    steps.push(Step::SweepList);
                }
            }
            Sweep::Listed(_) => steps.push(Step::SweepSwap),
            Sweep::Doomed(_) => steps.push(Step::SweepDelete),
        }
        if self.lacks(Flaw::TombstoneDeleted) && w.manifest.state == State::Deleted {
            steps.push(Step::DeleteTombstone);
        }
    }
}

impl Model for FileLife {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        let epoch = |i: usize| match self.seed {
            0 => self.epochs[i],
            _ if i == 0 => 2,
            _ => 0,
        };
        let writer = |(i, op): (usize, &Op)| Writer {
            stage: Stage::Start,
            epoch: epoch(i),
            reopened: 0,
            op: *op,
            target: None,
            dir: 0,
            sent: 0,
            landed: 0,
            acked: 0,
            checkpointing: false,
        };
        let dirs = self.dirs();
        vec![World {
            manifest: Manifest::ABSENT,
            data: vec![[None; POSITIONS]; dirs],
            in_time: vec![0; dirs],
            incarnation_of: vec![0; dirs],
            aged: 0,
            writers: self.ops.iter().enumerate().map(writer).collect(),
            requests: Vec::new(),
            given_up: 0,
            acked: vec![Vec::new(); self.ops.len() * 2 + 2],
            bases: vec![Vec::new(); dirs],
            objects: Vec::new(),
            compaction: None,
            sweep: Sweep::Idle,
            sweeps: 0,
            collecting: None,
            collections: 0,
            reader: Reader::Idle,
            reader_incarnation: 0,
            reader_last: Vec::new(),
            reader_floor: Vec::new(),
            reads: 0,
            removed: 0,
            holder: 0,
            holder_epoch: 2,
            broken: 0,
        }]
    }

    fn actions(&self, w: &World, steps: &mut Vec<Step>) {
        if w.broken != 0 {
            return;
        }
        for (k, request) in w.requests.iter().enumerate() {
            match (request.answer, request.abandoned) {
                (Answer::Waiting, abandoned) => {
                    steps.push(Step::Land(k));
                    if !abandoned && w.given_up < self.abandoned {
                        steps.push(Step::GiveUp(k));
                    }
                }
                (_, false) => steps.push(Step::Answer(k)),
                (_, true) => {}
            }
        }
        for i in 0..w.writers.len() {
            self.writer_steps(w, i, steps);
        }
        if self.seed > 0 && usize::from(w.holder) + 1 < self.ops.len() {
            steps.push(Step::TakeLease);
        }
        self.janitor_steps(w, steps);
        match w.reader {
            Reader::Idle => {
                let bound = w.reader_incarnation != 0;
                if w.reads < self.reads && (w.manifest.live() || bound) {
                    steps.push(Step::ReaderRead);
                }
            }
            Reader::Read(_) => steps.push(Step::ReaderList),
            Reader::Listed(..) => steps.push(Step::ReaderConfirm),
            Reader::Confirmed(..) => steps.push(Step::ReaderFetch),
            Reader::Stale => {}
        }
    }

    fn next_state(&self, before: &World, step: Step) -> Option<World> {
        let mut w = before.clone();
        match step {
            Step::Read(i) => self.read(&mut w, i)?,
            Step::List(i) => self.list(&mut w, i)?,
            Step::Seal(i) => {
                let Stage::Seal(manifest, at) = w.writers[i].stage.clone() else { return None };
                w.send(i, What::Put { dir: manifest.tail?.0, at, cell: Cell::Seal });
                w.writers[i].stage = Stage::SealSent(manifest, at);
            }
            Step::Swap(i) => self.swap(&mut w, i)?,
            Step::Send(i) => {
                let writer = &mut w.writers[i];
                let (dir, at) = (writer.dir, writer.sent);
                writer.sent += 1;
                w.send(i, What::Put { dir, at, cell: Cell::Data(tag(i, at)) });
            }
            Step::Resend(i, at) => {
                let dir = w.writers[i].dir;
                w.send(i, What::Put { dir, at, cell: Cell::Data(tag(i, at)) });
            }
            Step::Checkpoint(i) => self.checkpoint_or_close(&mut w, i, false)?,
            Step::Close(i) => self.checkpoint_or_close(&mut w, i, true)?,
            Step::Reopen(i) => {
                w.writers[i].reopened += 1;
                if usize::from(w.holder) == i || self.lacks(Flaw::ReopenWithoutTouch) {
                    w.writers[i].stage = Stage::Start;
                }
            }
            Step::Answer(k) => self.answer(&mut w, k)?,
            Step::GiveUp(k) => self.give_up(&mut w, k),
            Step::Land(k) => self.land(&mut w, k),
            Step::TakeLease => {
                w.holder += 1;
                w.holder_epoch = if w.holder == 1 { self.seed } else { w.holder_epoch + 1 };
                w.writers[usize::from(w.holder)].epoch = w.holder_epoch;
            }
            Step::CompactRead(b) => {
                let block = w.manifest.blocks[b];
                let mut content = Vec::new();
                if !w.fetch(block.dir, block.first, block.end(), &mut content) {
                    return None;
                }
                w.objects.push(Some(content));
                let (over, object) = (w.manifest.version, w.objects.len() as u8 - 1);
                let (dir, first) = (block.dir, block.first);
                w.compaction = Some(Compaction { over, dir, first, object });
            }
            Step::CompactSwap => self.compact_swap(&mut w)?,
            Step::CollectBlock(b) => self.collect_block(&mut w, b)?,
            Step::CollectRead => {
                w.collections += 1;
                w.collecting = Some((w.manifest.first, w.manifest.references()));
            }
            Step::CollectDead => self.collect_dead(&mut w)?,
            Step::Age(dir) => w.aged |= 1 << dir,
            Step::CollectSeal(dir) => {
                for cell in w.data[dir].iter_mut().filter(|c| **c == Some(Cell::Seal)) {
                    *cell = None;
                }
            }
            Step::SweepList => self.sweep_list(&mut w),
            Step::SweepSwap => Self::sweep_swap(&mut w)?,
            Step::SweepDelete => {
                let Sweep::Doomed(doomed) = w.sweep else { return None };
                for (o, content) in w.objects.iter_mut().enumerate() {
                    if doomed >> o & 1 == 1 {
                        *content = None;
                    }
                }
                w.sweep = Sweep::Idle;
            }
            Step::DeleteTombstone => {
                let (version, incarnation) = (w.manifest.version + 1, w.manifest.incarnation);
                w.manifest = Manifest { version, incarnation, ..Manifest::ABSENT };
            }
            Step::ReaderRead => self.reader_read(&mut w),
            Step::ReaderList => {
                let Reader::Read(manifest) = w.reader.clone() else { return None };
                let end = manifest.tail.map_or(0, |(dir, base)| w.end_of(dir, base));
                w.reader = Reader::Listed(manifest, end);
            }
            Step::ReaderConfirm => self.reader_confirm(&mut w)?,
            Step::ReaderFetch => self.reader_fetch(&mut w)?,
        }
        self.forget_inert(&mut w);
        Self::judge(before, &mut w);
        Some(w)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        macro_rules! never {
            ($name:literal, $bit:expr) => {
                Property::always($name, |_, w: &World| w.broken & $bit == 0)
            };
        }
        vec![
            never!("P1 acked is never lost", ACKED_LOST),
            never!("P2 no holes", HOLES),
            never!("P3 the visible only grows", SHRANK),
            never!("P3r a reader never goes back", READER_WENT_BACK),
            never!("P1r a read sees what was acked", READER_MISSED_ACKED),
            never!("P1d no ack of bytes that landed after the removal", ACKED_AFTER_REMOVAL),
            never!("PF no false fence", FALSE_FENCE),
            never!("PX an operation removes one incarnation at most", REMOVED_TWO),
            never!("PZ a former holder never shuts out the holder", HOLDER_SHUT_OUT),
            Property::sometimes("two writers acked", |_, w: &World| {
                let mut by = w.acked.iter().flatten().map(|t| t / 10);
                by.next().is_some_and(|first| by.any(|other| other != first))
            }),
            Property::sometimes("a second incarnation acked", |m: &FileLife, w: &World| {
                m.ops.iter().all(|op| *op == Op::Open) || !w.acked[2].is_empty()
            }),
            Property::sometimes("a dead seal collected", |m: &FileLife, w: &World| {
                let gone = |dir: usize| w.aged >> dir & 1 == 1 && !w.has_seal(dir);
                m.collections == 0 || (0..w.data.len()).any(gone)
            }),
        ]
    }
}

/// Every run of this model.
pub fn runs() -> Vec<Run> {
    use Expect::{Breaks, Holds};
    use Op::{Delete, Open, Overwrite};
    let base = FileLife::base;
    let with = |flaw, model: FileLife| FileLife { flaw: Some(flaw), ..model };
    let short = |ops: [Op; 3], epochs: [u8; 3]| FileLife {
        ops: ops.to_vec(),
        epochs: epochs.to_vec(),
        segments: 1,
        pipeline: 1,
        ..base()
    };
    let deleted = || FileLife { collections: 1, ..short([Open, Delete, Open], [1, 2, 3]) };
    let overwritten = || FileLife { ops: vec![Open, Overwrite], collections: 2, ..base() };
    let delete_twin = || short([Open, Delete, Open], [1, 2, 2]);
    let overwrite_twin = || short([Open, Overwrite, Open], [1, 2, 2]);
    let checkpoints = || FileLife { checkpoints: true, compactions: 1, abandoned: 0, ..base() };
    let sweeping = || FileLife { sweeps: 1, ..checkpoints() };
    let no_record =
        |seed| FileLife { abandoned: 0, seed, reopens: 1, ..short([Open, Open, Open], [1, 1, 1]) };
    let two_holders = || FileLife {
        ops: vec![Open, Open],
        segments: 2,
        pipeline: 2,
        abandoned: 1,
        ..no_record(1)
    };
    vec![
        run("F1 open, delete, re-create, 1 late PUT", deleted(), Holds),
        run("F2 open, overwrite, collection of the dead", overwritten(), Holds),
        run("F3 the same under one epoch", FileLife { epochs: vec![1, 1], ..overwritten() }, Holds),
        run("F3b ambiguous delete and re-create under one epoch", delete_twin(), Holds),
        run("F3c ambiguous overwrite and re-open under one epoch", overwrite_twin(), Holds),
        run(
            "F4 delete, re-create, a reader, collection",
            FileLife { reads: 2, abandoned: 0, ..deleted() },
            Holds,
        ),
        run("F5 checkpoints, compaction, a reader", FileLife { reads: 2, ..checkpoints() }, Holds)
            .large(),
        run("F5a checkpoints and compaction", checkpoints(), Holds),
        run(
            "F5b checkpoints and close, 1 late PUT",
            FileLife { close: true, compactions: 0, abandoned: 1, ..checkpoints() },
            Holds,
        ),
        run(
            "F6 checkpoints, 2 compactions, sweep",
            FileLife { compactions: 2, ..sweeping() },
            Holds,
        )
        .large(),
        run(
            "F8 checkpoints, compaction, 1 late PUT",
            FileLife { abandoned: 1, ..checkpoints() },
            Holds,
        )
        .large(),
        run("B1 deleted record, seed too low, re-opens", no_record(1), Holds),
        run("B2 deleted record, seed equal to the old epoch", no_record(2), Holds),
        run("B3 as B1, 2 segments, 1 late PUT", two_holders(), Holds),
        run(
            "mutation: overwrite without sealing",
            with(Flaw::RemoveWithoutSeal, overwritten()),
            Breaks("P1d"),
        ),
        run(
            "mutation: a retried delete takes any incarnation",
            with(Flaw::DeleteAnyIncarnation, delete_twin()),
            Breaks("PX"),
        ),
        run(
            "mutation: a retried overwrite takes any incarnation",
            with(Flaw::OverwriteAnyIncarnation, overwrite_twin()),
            Breaks("PX"),
        ),
        run(
            "mutation: dead seals go at once",
            with(Flaw::DeadSealsGoAtOnce, overwritten()),
            Breaks("P1d"),
        ),
        run(
            "mutation: a writer does not judge its age",
            with(Flaw::WriterIgnoresItsAge, overwritten()),
            Breaks("P1d"),
        ),
        run(
            "mutation: what a manifest does not name is collected",
            with(Flaw::CollectUnreferenced, overwritten()),
            Breaks("P3"),
        ),
        run(
            "mutation: a reader goes on in another incarnation",
            with(
                Flaw::ReaderIgnoresIncarnation,
                FileLife { reads: 2, abandoned: 0, close: true, ..overwritten() },
            ),
            Breaks("P3r"),
        ),
        run(
            "mutation: a reader compares the tail's directory only",
            with(Flaw::ReaderComparesDirectoryOnly, FileLife { reads: 2, ..checkpoints() }),
            Breaks("P1r"),
        ),
        run(
            "mutation: a checkpoint of what was sent",
            with(Flaw::CheckpointWhatWasSent, checkpoints()),
            Breaks("P2"),
        ),
        run(
            "mutation: a block's collection sweeps its directory",
            with(Flaw::CollectWholeDirectory, checkpoints()),
            Breaks("P1"),
        ),
        run(
            "mutation: a block's collection takes its seal",
            with(Flaw::CollectLiveSeals, FileLife { abandoned: 1, ..checkpoints() }),
            Breaks("P1"),
        ),
        run(
            "mutation: block objects swept without a fence",
            with(Flaw::SweepWithoutFence, sweeping()),
            Breaks("P1"),
        ),
        run(
            "mutation: a compactor offers its object twice",
            with(Flaw::CompactorReusesObject, sweeping()),
            Breaks("P1"),
        ),
        run(
            "mutation: the tombstone is deleted",
            with(Flaw::TombstoneDeleted, deleted()),
            Breaks("PF"),
        ),
        run(
            "mutation: compaction takes over the writer",
            with(Flaw::CompactionTakesWriter, checkpoints()),
            Breaks("PF"),
        ),
        run(
            "mutation: a checkpoint without ownership",
            with(Flaw::CheckpointWithoutOwnership, checkpoints()),
            Breaks("P1"),
        ),
        run(
            "mutation: the epoch is raised without a swap",
            with(Flaw::RaiseWithoutSwap, no_record(1)),
            Breaks("PZ"),
        ),
        run(
            "mutation: a foreign tail is sealed without a touch",
            with(Flaw::SealWithoutTouch, no_record(2)),
            Breaks("PZ"),
        ),
        run(
            "mutation: a fenced writer re-opens without a touch",
            with(Flaw::ReopenWithoutTouch, no_record(2)),
            Breaks("PZ"),
        ),
    ]
}
