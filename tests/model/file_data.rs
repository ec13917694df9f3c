//! Model D: the bytes of one file, its writers, its recoverers and a reader. No clock at all.
//!
//! Question: can an acknowledged byte be lost, or a byte of a former writer appear after a newer
//! one opened the file, whoever is paused for however long? Every writer here may be a zombie,
//! because nothing asks a lease.
//!
//! State: the manifest (a register), the data directories (positions written once), the writers,
//! the requests under way, what was acknowledged. Steps: a writer opens (read the manifest, list
//! the tail, seal it, swap the manifest), sends segments, resends them, closes; requests land late;
//! blocks are compacted and their segments collected; a reader looks in two steps.
//!
//! Properties: P1 no acknowledged byte is lost; P2 the file is the writers' prefixes in epoch
//! order, without holes; P3 what is visible only grows. Not here: delete, overwrite, checkpoints,
//! the sweep of block objects (model F).

use crate::run::{Expect, Run, reaches, run};
use stateright::{Model, Property};

/// One segment's content: ten times the writer's number, plus the segment's.
pub type Tag = u8;
/// What a position that should hold data and does not reads as.
const HOLE: Tag = 99;
/// Positions of a directory.
const POSITIONS: usize = 4;
/// Opens per epoch.
const OPENS: u8 = 4;
const NOBODY: u8 = 255;

/// The rule that a mutation takes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    NoSeal,
    AckOutOfOrder,
    GcTakesSeals,
    ListBlindToSeals,
    NoIfMatch,
    ReaderTrustsFirstManifest,
    OneDirectoryPerEpoch,
    SegmentsOverwrite,
    SealerStopsAtData,
    NoEpochComparison,
    AppendAfterAmbiguousClose,
}

#[derive(Clone, Debug)]
struct FileData {
    writers: usize,
    segments: u8,
    pipeline: u8,
    /// PUTs given up in the whole run.
    abandoned: u8,
    reader: bool,
    compaction: bool,
    close: bool,
    /// Every writer opens under the same lease epoch.
    same_epoch: bool,
    flaw: Option<Flaw>,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
enum Cell {
    /// A segment and its writer's nonce.
    Data(Tag, u8),
    Seal,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
struct Block {
    dir: u8,
    len: u8,
    compacted: Option<Vec<Tag>>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
struct Manifest {
    version: u8,
    epoch: u8,
    open: u8,
    writer: u8,
    tail: Option<u8>,
    blocks: Vec<Block>,
    closed: bool,
}

impl Manifest {
    /// With the tail turned into a block of `len` segments.
    fn finalised(&self, len: u8) -> Manifest {
        let mut next = self.clone();
        if let Some(dir) = next.tail.take() {
            next.blocks.push(Block { dir, len, compacted: None });
        }
        next.version += 1;
        next
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Put { dir: u8, at: u8, cell: Cell },
    Swap { over: u8, next: Box<Manifest> },
}

impl What {
    fn is_segment(&self) -> bool {
        matches!(self, What::Put { cell: Cell::Data(..), .. })
    }
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

/// Where a writer stands. The manifest is the one it read.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
enum Stage {
    Start,
    Read(Box<Manifest>),
    /// The tail ends at this position and must be sealed there.
    Seal(Box<Manifest>, u8),
    SealSent(Box<Manifest>, u8),
    Sealed(Box<Manifest>, u8),
    OpenSent,
    Streaming,
    Closing,
    CloseSent,
    Closed,
    Fenced,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct Writer {
    stage: Stage,
    /// What the file held when this writer opened it.
    base: Vec<Tag>,
    dir: u8,
    sent: u8,
    landed: Vec<bool>,
    acked: u8,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct Reader {
    read: Option<Box<Manifest>>,
    last: Vec<Tag>,
    /// Acknowledged when the look began: it must be seen.
    floor: Vec<Tag>,
    looks: u8,
}

/// Which property this state has already broken.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq)]
struct Broken {
    acked_lost: bool,
    disordered: bool,
    shrank: bool,
    reader_went_back: bool,
    reader_missed_acked: bool,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct World {
    manifest: Manifest,
    data: Vec<[Option<Cell>; POSITIONS]>,
    writers: Vec<Writer>,
    requests: Vec<Request>,
    given_up: u8,
    acked: Vec<Tag>,
    reader: Reader,
    broken: Broken,
    /// The finalised content under each open, for the writer whose swap was it.
    bases: Vec<(u8, Vec<Tag>)>,
}

#[derive(Clone, Debug, Hash, PartialEq)]
enum Step {
    Read(usize),
    List(usize),
    Seal(usize),
    Open(usize),
    Send(usize),
    Resend(usize, u8),
    Close(usize),
    Answer(usize),
    GiveUp(usize),
    Land(usize),
    Compact(usize),
    Collect(usize),
    ReaderReads,
    ReaderLists,
}

fn is_prefix(short: &[Tag], long: &[Tag]) -> bool {
    long.starts_with(short)
}

fn tag(writer: usize, segment: u8) -> Tag {
    (writer as u8 + 1) * 10 + segment
}

impl World {
    fn segment_of(request: &Request) -> Option<u8> {
        match request.what {
            What::Put { cell: Cell::Data(..), at, .. } => Some(at),
            _ => None,
        }
    }

    fn cell(&self, dir: u8, at: u8) -> Option<Cell> {
        self.data[usize::from(dir)][usize::from(at)]
    }

    /// How many positions from the first on hold data.
    fn run_of(&self, dir: u8, blind_to_seals: bool) -> u8 {
        let counts = |cell: &&Option<Cell>| match cell {
            Some(Cell::Data(..)) => true,
            Some(Cell::Seal) => blind_to_seals,
            None => false,
        };
        self.data[usize::from(dir)].iter().take_while(counts).count() as u8
    }

    fn tags(&self, dir: u8, len: u8) -> Vec<Tag> {
        let cells = self.data[usize::from(dir)].iter().take(usize::from(len));
        cells.map(|c| if let Some(Cell::Data(tag, _)) = c { *tag } else { HOLE }).collect()
    }

    fn blocks(&self, manifest: &Manifest) -> Vec<Tag> {
        let content = |b: &Block| b.compacted.clone().unwrap_or_else(|| self.tags(b.dir, b.len));
        manifest.blocks.iter().flat_map(content).collect()
    }

    fn view(&self, manifest: &Manifest) -> Vec<Tag> {
        let mut all = self.blocks(manifest);
        if let Some(dir) = manifest.tail {
            all.extend(self.tags(dir, self.run_of(dir, false)));
        }
        all
    }

    fn visible(&self) -> Vec<Tag> {
        self.view(&self.manifest)
    }

    fn send(&mut self, writer: usize, what: What) {
        let writer = writer as u8;
        let answer = Answer::Waiting;
        self.requests.push(Request { writer, abandoned: false, what, answer });
    }
}

impl FileData {
    fn base() -> FileData {
        FileData {
            writers: 2,
            segments: 2,
            pipeline: 2,
            abandoned: 1,
            reader: false,
            compaction: false,
            close: false,
            same_epoch: false,
            flaw: None,
        }
    }

    fn lacks(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    fn epoch_of(&self, writer: usize) -> u8 {
        if self.same_epoch { 1 } else { writer as u8 + 1 }
    }

    fn dir_of(epoch: u8, open: u8) -> u8 {
        (epoch - 1) * OPENS + open
    }

    fn read(&self, w: &mut World, i: usize) {
        let manifest = w.manifest.clone();
        let epoch = self.epoch_of(i);
        let own_open = self.lacks(Flaw::OneDirectoryPerEpoch)
            && manifest.epoch == epoch
            && manifest.writer == i as u8;
        let fenced = manifest.epoch > epoch || own_open;
        w.writers[i].stage = if fenced && !self.lacks(Flaw::NoEpochComparison) {
            Stage::Fenced
        } else {
            Stage::Read(Box::new(manifest))
        };
    }

    fn list(&self, w: &mut World, i: usize) -> Option<()> {
        let Stage::Read(manifest) = w.writers[i].stage.clone() else { return None };
        let shared = self.lacks(Flaw::OneDirectoryPerEpoch);
        let own = Self::dir_of(self.epoch_of(i), 0);
        w.writers[i].stage = match manifest.tail {
            None => Stage::Sealed(manifest, 0),
            Some(dir) if shared && dir == own => Stage::Sealed(manifest, 0),
            Some(dir) => {
                let end = w.run_of(dir, self.lacks(Flaw::ListBlindToSeals));
                if usize::from(end) >= POSITIONS {
                    return None;
                }
                let sealed = w.cell(dir, end) == Some(Cell::Seal);
                if sealed || self.lacks(Flaw::NoSeal) {
                    Stage::Sealed(manifest, end)
                } else {
                    Stage::Seal(manifest, end)
                }
            }
        };
        Some(())
    }

    fn open(&self, w: &mut World, i: usize) -> Option<()> {
        let Stage::Sealed(manifest, end) = w.writers[i].stage.clone() else { return None };
        let epoch = self.epoch_of(i);
        let shared = self.lacks(Flaw::OneDirectoryPerEpoch);
        let mut next = manifest.finalised(end);
        next.closed = false;
        next.open = if manifest.epoch == epoch && !shared { manifest.open + 1 } else { 0 };
        next.epoch = epoch;
        next.writer = i as u8;
        if next.open >= OPENS {
            return None;
        }
        let dir = Self::dir_of(epoch, next.open);
        next.tail = Some(dir);
        if shared && manifest.tail == Some(dir) {
            next = (*manifest).clone();
            next.version += 1;
            next.writer = i as u8;
        }
        w.send(i, What::Swap { over: manifest.version, next: Box::new(next) });
        w.writers[i].stage = Stage::OpenSent;
        Some(())
    }

    fn close_file(&self, w: &mut World, i: usize) {
        let manifest = w.manifest.clone();
        let mine = manifest.writer == i as u8;
        let writer = &mut w.writers[i];
        if mine && manifest.closed {
            writer.stage = Stage::Closed;
        } else if !mine || manifest.tail != Some(writer.dir) {
            writer.stage = Stage::Fenced;
        } else {
            writer.stage = Stage::CloseSent;
            let mut next = manifest.finalised(writer.sent);
            next.closed = true;
            w.send(i, What::Swap { over: manifest.version, next: Box::new(next) });
        }
    }

    fn give_up(&self, w: &mut World, k: usize) {
        w.given_up += 1;
        w.requests[k].abandoned = true;
        let segment = w.requests[k].what.is_segment();
        let writer = &mut w.writers[usize::from(w.requests[k].writer)];
        let resumes = self.lacks(Flaw::AppendAfterAmbiguousClose);
        writer.stage = match writer.stage.clone() {
            Stage::SealSent(manifest, end) => Stage::Seal(manifest, end),
            Stage::OpenSent if !segment => Stage::Start,
            Stage::CloseSent if !segment && resumes => Stage::Streaming,
            Stage::CloseSent if !segment => Stage::Closing,
            stage => stage,
        };
    }

    fn land(&self, w: &mut World, k: usize) {
        let request = w.requests[k].clone();
        let landed = match request.what {
            What::Put { dir, at, cell } => {
                let free = w.cell(dir, at).is_none();
                let data = matches!(cell, Cell::Data(..));
                let lands = free || data && self.lacks(Flaw::SegmentsOverwrite);
                if lands {
                    w.data[usize::from(dir)][usize::from(at)] = Some(cell);
                }
                lands
            }
            What::Swap { over, next } => {
                let lands = w.manifest.version == over || self.lacks(Flaw::NoIfMatch);
                if lands {
                    w.manifest = *next;
                    if let Some(dir) = w.manifest.tail {
                        let base = w.blocks(&w.manifest);
                        w.bases.retain(|(other, _)| *other != dir);
                        w.bases.push((dir, base));
                        w.bases.sort();
                    }
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

    fn answer(&self, w: &mut World, k: usize) -> Option<()> {
        let request = w.requests.remove(k);
        let i = usize::from(request.writer);
        let landed = request.answer == Answer::Landed;
        let stage = w.writers[i].stage.clone();
        match (request.what, stage) {
            (What::Put { cell: Cell::Seal, dir, at }, Stage::SealSent(manifest, _)) => {
                w.writers[i].stage = self.seal_answer(w, manifest, dir, at, landed)?;
            }
            (What::Swap { next, .. }, Stage::OpenSent) => {
                let dir = next.tail.unwrap();
                let base = w.bases.iter().find(|(d, _)| *d == dir).map(|(_, base)| base.clone());
                let writer = &mut w.writers[i];
                if landed {
                    writer.base = base.unwrap_or_default();
                    writer.dir = dir;
                    writer.stage = Stage::Streaming;
                } else {
                    writer.stage = Stage::Start;
                }
            }
            (What::Swap { .. }, Stage::CloseSent) => {
                let resumes = self.lacks(Flaw::AppendAfterAmbiguousClose);
                w.writers[i].stage = match (landed, resumes) {
                    (true, _) => Stage::Closed,
                    (false, true) => Stage::Streaming,
                    (false, false) => Stage::Closing,
                };
            }
            (What::Put { cell: cell @ Cell::Data(..), dir, at }, Stage::Streaming) => {
                let found = w.cell(dir, at);
                if landed || found == Some(cell) {
                    self.acknowledge(w, i, at);
                } else if found.is_some() {
                    w.writers[i].stage = Stage::Fenced;
                }
            }
            _ => {}
        }
        Some(())
    }

    /// A seal landed, or something is there already: a seal will do, data must be passed.
    fn seal_answer(
        &self,
        w: &World,
        manifest: Box<Manifest>,
        dir: u8,
        at: u8,
        landed: bool,
    ) -> Option<Stage> {
        let found = w.cell(dir, at);
        let stops = landed || found == Some(Cell::Seal) || self.lacks(Flaw::SealerStopsAtData);
        Some(match found {
            None if !landed => Stage::Seal(manifest, at),
            _ if stops => Stage::Sealed(manifest, at),
            _ if usize::from(at) + 1 >= POSITIONS => return None,
            _ => Stage::Seal(manifest, at + 1),
        })
    }

    fn acknowledge(&self, w: &mut World, i: usize, at: u8) {
        let writer = &mut w.writers[i];
        writer.landed[usize::from(at)] = true;
        while writer.acked < writer.sent && writer.landed[usize::from(writer.acked)] {
            writer.acked += 1;
        }
        let upto = if self.lacks(Flaw::AckOutOfOrder) { at + 1 } else { writer.acked };
        let mut whole = writer.base.clone();
        whole.extend((0..upto).map(|k| tag(i, k)));
        if upto == 0 {
            return;
        }
        if is_prefix(&w.acked, &whole) {
            w.acked = whole;
        } else if !is_prefix(&whole, &w.acked) {
            w.broken.acked_lost = true;
        }
    }

    fn reader_lists(&self, w: &mut World) -> Option<()> {
        let first = w.reader.read.take()?;
        w.reader.looks += 1;
        let trusts = self.lacks(Flaw::ReaderTrustsFirstManifest);
        if trusts || w.manifest.tail == first.tail {
            let view = if trusts { w.view(&first) } else { w.visible() };
            w.broken.reader_went_back |= !is_prefix(&w.reader.last, &view);
            w.broken.reader_missed_acked |= !is_prefix(&w.reader.floor, &view);
            w.reader.last = view;
        }
        w.reader.floor = Vec::new();
        Some(())
    }

    fn judge(&self, before: &World, w: &mut World) {
        let (old, new) = (before.visible(), w.visible());
        w.broken.shrank |= !is_prefix(&old, &new);
        w.broken.acked_lost |= !is_prefix(&w.acked, &new);
        let follows = |k: usize| new[k] % 10 == 0 || k > 0 && new[k - 1] + 1 == new[k];
        let gapless = (0..new.len()).all(follows);
        let backwards = !self.same_epoch && new.windows(2).any(|p| p[0] / 10 > p[1] / 10);
        w.broken.disordered |= !gapless || backwards || new.contains(&HOLE);
    }
}

impl Model for FileData {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        let writer = Writer {
            stage: Stage::Start,
            base: Vec::new(),
            dir: 0,
            sent: 0,
            landed: Vec::new(),
            acked: 0,
        };
        let manifest = Manifest {
            version: 0,
            epoch: 0,
            open: 0,
            writer: NOBODY,
            tail: None,
            blocks: Vec::new(),
            closed: false,
        };
        vec![World {
            manifest,
            data: vec![[None; POSITIONS]; self.writers * usize::from(OPENS)],
            writers: vec![writer; self.writers],
            requests: Vec::new(),
            given_up: 0,
            acked: Vec::new(),
            reader: Reader { read: None, last: Vec::new(), floor: Vec::new(), looks: 0 },
            broken: Broken::default(),
            bases: Vec::new(),
        }]
    }

    fn actions(&self, w: &World, steps: &mut Vec<Step>) {
        if w.broken != Broken::default() {
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
        for (i, writer) in w.writers.iter().enumerate() {
            match writer.stage {
                Stage::Start => steps.push(Step::Read(i)),
                Stage::Read(_) => steps.push(Step::List(i)),
                Stage::Seal(..) => steps.push(Step::Seal(i)),
                Stage::Sealed(..) => steps.push(Step::Open(i)),
                Stage::Closing => steps.push(Step::Close(i)),
                Stage::Streaming => self.streaming_steps(w, i, steps),
                _ => {}
            }
        }
        if self.compaction {
            for (b, block) in w.manifest.blocks.iter().enumerate() {
                let cells = w.data[usize::from(block.dir)];
                if block.compacted.is_none() && block.len > 0 {
                    steps.push(Step::Compact(b));
                } else if block.compacted.is_some()
                    && cells.iter().any(|c| matches!(c, Some(Cell::Data(..))))
                {
                    steps.push(Step::Collect(b));
                }
            }
        }
        if self.reader && w.reader.looks < 3 {
            let looking = w.reader.read.is_some();
            steps.push(if looking { Step::ReaderLists } else { Step::ReaderReads });
        }
    }

    fn next_state(&self, before: &World, step: Step) -> Option<World> {
        let mut w = before.clone();
        match step {
            Step::Read(i) => self.read(&mut w, i),
            Step::List(i) => self.list(&mut w, i)?,
            Step::Seal(i) => {
                let Stage::Seal(manifest, at) = w.writers[i].stage.clone() else { return None };
                w.send(i, What::Put { dir: manifest.tail?, at, cell: Cell::Seal });
                w.writers[i].stage = Stage::SealSent(manifest, at);
            }
            Step::Open(i) => self.open(&mut w, i)?,
            Step::Send(i) => {
                let writer = &mut w.writers[i];
                let (dir, at) = (writer.dir, writer.sent);
                writer.sent += 1;
                writer.landed.push(false);
                w.send(i, What::Put { dir, at, cell: Cell::Data(tag(i, at), i as u8) });
            }
            Step::Resend(i, at) => {
                let dir = w.writers[i].dir;
                w.send(i, What::Put { dir, at, cell: Cell::Data(tag(i, at), i as u8) });
            }
            Step::Close(i) => self.close_file(&mut w, i),
            Step::Answer(k) => self.answer(&mut w, k)?,
            Step::GiveUp(k) => self.give_up(&mut w, k),
            Step::Land(k) => self.land(&mut w, k),
            Step::Compact(b) => {
                let block = &w.manifest.blocks[b];
                let content = w.tags(block.dir, block.len);
                w.manifest.blocks[b].compacted = Some(content);
                w.manifest.version += 1;
            }
            Step::Collect(b) => {
                let dir = usize::from(w.manifest.blocks[b].dir);
                for cell in &mut w.data[dir] {
                    if matches!(cell, Some(Cell::Data(..))) || self.lacks(Flaw::GcTakesSeals) {
                        *cell = None;
                    }
                }
            }
            Step::ReaderReads => {
                w.reader.read = Some(Box::new(w.manifest.clone()));
                w.reader.floor = w.acked.clone();
            }
            Step::ReaderLists => self.reader_lists(&mut w)?,
        }
        // Answers for a writer that is over no longer matter.
        for request in &mut w.requests {
            let stage = &w.writers[usize::from(request.writer)].stage;
            request.abandoned |= matches!(stage, Stage::Fenced | Stage::Closed);
        }
        w.requests.retain(|r| !r.abandoned || r.answer == Answer::Waiting);
        w.requests.sort();
        self.judge(before, &mut w);
        Some(w)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("P1 acked is never lost", |_, w: &World| !w.broken.acked_lost),
            Property::always("P2 epoch order, no holes", |_, w: &World| !w.broken.disordered),
            Property::always("P3 the visible only grows", |_, w: &World| !w.broken.shrank),
            Property::always("P3r a reader never goes back", |_, w: &World| {
                !w.broken.reader_went_back
            }),
            Property::always("P1r a read sees what was acked", |_, w: &World| {
                !w.broken.reader_missed_acked
            }),
            Property::sometimes("two epochs acked", |m: &FileData, w: &World| {
                let by = |writer: u8| w.acked.iter().any(|t| t / 10 == writer);
                m.same_epoch || by(1) && by(2)
            }),
            Property::sometimes("a zombie is fenced mid-stream", |m: &FileData, w: &World| {
                let first = &w.writers[0];
                m.segments == 1 || first.stage == Stage::Fenced && first.acked >= 1
            }),
        ]
    }
}

impl FileData {
    fn streaming_steps(&self, w: &World, i: usize, steps: &mut Vec<Step>) {
        let writer = &w.writers[i];
        if writer.sent < self.segments && writer.sent - writer.acked < self.pipeline {
            steps.push(Step::Send(i));
        }
        for at in 0..writer.sent {
            let under_way = |r: &Request| {
                usize::from(r.writer) == i && !r.abandoned && World::segment_of(r) == Some(at)
            };
            if !writer.landed[usize::from(at)] && !w.requests.iter().any(under_way) {
                steps.push(Step::Resend(i, at));
            }
        }
        if self.close && writer.acked == writer.sent && writer.sent > 0 {
            steps.push(Step::Close(i));
        }
    }
}

/// Every run of this model.
pub fn runs() -> Vec<Run> {
    use Expect::{Breaks, Holds};
    let base = FileData::base;
    let without = |flaw| FileData { flaw: Some(flaw), ..base() };
    let three = || FileData { writers: 3, segments: 1, pipeline: 1, abandoned: 0, ..base() };
    let read = || FileData { compaction: true, reader: true, abandoned: 0, ..base() };
    let twin = || FileData { same_epoch: true, ..base() };
    let closing = || FileData { close: true, ..base() };
    let collecting = || FileData { compaction: true, ..base() };
    let wide = || FileData { writers: 3, ..base() };
    let streaming = |_: &FileData, w: &World| w.writers[1].stage == Stage::Streaming;
    vec![
        run("D1 2 writers, 2 segments, pipeline 2, 1 late PUT", base(), Holds).states(9_478),
        run("D2 the same and close", closing(), Holds).states(19_111),
        run("D3 3 writers, 1 segment", three(), Holds).states(3_304),
        run("D4 compaction and collection of segments", collecting(), Holds).states(16_270),
        run("D5 and a reader in steps", read(), Holds).states(33_115),
        run("D6 two opens under one lease epoch", twin(), Holds).states(17_124),
        reaches(
            "D7 a second writer can always get to streaming",
            FileData { segments: 1, ..base() },
            |_, _| true,
            streaming,
            Holds,
        )
        .states(1_540),
        run("D8 3 writers, 2 segments, 2 late PUTs", FileData { abandoned: 2, ..wide() }, Holds)
            .states(8_285_312)
            .large(),
        run(
            "D9 reader, compaction, close, 1 late PUT",
            FileData { abandoned: 1, close: true, ..read() },
            Holds,
        )
        .states(4_893_903)
        .large(),
        run(
            "D10 3 writers, compaction, close",
            FileData { compaction: true, close: true, ..wide() },
            Holds,
        )
        .states(30_043_982)
        .large(),
        run(
            "D11 3 segments, pipeline 3, 2 late PUTs, compaction",
            FileData { segments: 3, pipeline: 3, abandoned: 2, ..collecting() },
            Holds,
        )
        .states(2_229_190)
        .large(),
        run("mutation: no seal", without(Flaw::NoSeal), Breaks("P1")),
        run("mutation: acks out of order", without(Flaw::AckOutOfOrder), Breaks("P1")),
        run(
            "mutation: collection takes seals",
            FileData { flaw: Some(Flaw::GcTakesSeals), ..collecting() },
            Breaks("P1"),
        ),
        run(
            "mutation: LIST cannot tell a seal from data",
            FileData { flaw: Some(Flaw::ListBlindToSeals), abandoned: 0, ..wide() },
            Breaks("P2"),
        ),
        run("mutation: the sealer stops at data", without(Flaw::SealerStopsAtData), Breaks("P1")),
        run("mutation: manifest swap without If-Match", without(Flaw::NoIfMatch), Breaks("P1")),
        run(
            "mutation: no epoch comparison at open",
            without(Flaw::NoEpochComparison),
            Breaks("P2"),
        ),
        run("mutation: a segment overwrites", without(Flaw::SegmentsOverwrite), Breaks("P1")),
        run(
            "mutation: two opens share a directory",
            FileData { flaw: Some(Flaw::OneDirectoryPerEpoch), ..twin() },
            Breaks("P2"),
        ),
        run(
            "mutation: appends after an ambiguous close",
            FileData { flaw: Some(Flaw::AppendAfterAmbiguousClose), ..closing() },
            Breaks("P3"),
        ),
        run(
            "mutation: the reader trusts its first manifest",
            FileData { flaw: Some(Flaw::ReaderTrustsFirstManifest), ..read() },
            Breaks("P1r"),
        ),
    ]
}
