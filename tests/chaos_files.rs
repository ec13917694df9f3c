//! Files under chaos: seeded runs of writers in turn, zombies and readers.
//!
//! Every run is a seed. Writers come one after another, each while the former still believes in
//! itself and goes on; one request in five meets a fault. What was acked stays, in its place
//! (P1), nothing a former writer sends after its successor opened shows (P2), and what a reader has
//! seen never shrinks or changes (P3). Then the same runs without one protection each.
#![allow(missing_docs)]

mod file;

use file::*;
use tenure::sim::{Chaos, SimChance};

const WRITERS: u64 = 4;
const STEPS: u64 = 10;

/// A writer and everything it was told to write, from where it began.
struct Author {
    writer: FileWriter,
    from: u64,
    wrote: Vec<u8>,
}

impl Author {
    /// The bytes it was told are stored.
    fn acked(&self) -> &[u8] {
        &self.wrote[..(self.writer.acked().saturating_sub(self.from)) as usize]
    }

    async fn write(&mut self, bytes: &[u8], flush: Option<Duration>) {
        let (taken, _) = self.writer.write(bytes, SOON).await;
        self.wrote.extend_from_slice(&bytes[..taken]);
        if flush.is_some() {
            let _ = self.writer.hflush(flush).await;
        }
    }
}

/// A reader and the most it ever showed.
struct Witness {
    reader: FileReader,
    seen: Vec<u8>,
}

impl Witness {
    /// Looks again: `None` if nothing could be read, else whether all that was seen is still there.
    async fn look(&mut self) -> Option<bool> {
        let length = self.reader.refresh().await.ok()?;
        let now = self.reader.read_at(0, length as usize).await.ok()?;
        let same = now.len() >= self.seen.len() && now[..self.seen.len()] == self.seen[..];
        self.seen = now.to_vec();
        Some(same)
    }
}

struct Play {
    scene: Scene,
    chance: Arc<SimChance>,
    authors: Vec<Author>,
    witness: Option<Witness>,
}

impl Play {
    /// The next writer opens, once a healthy store lets it; the others know nothing of it.
    async fn succeed(&mut self, create: bool) -> Result<(), String> {
        let mode = if create { Mode::Create { overwrite: false } } else { Mode::Append };
        let opened = loop {
            match self.scene.open(mode).await {
                Ok(writer) => break writer,
                Err(e) if e.status() == Status::AlreadyExists => {
                    break self.scene.open(Mode::Append).await.map_err(|e| e.to_string())?;
                }
                Err(e)
                    if matches!(e.status(), Status::OutcomeUnknown | Status::StoreUnavailable) => {}
                Err(e) => return Err(format!("could not open: {e}")),
            }
        };
        let from = opened.position();
        // Everything acked before this open lies below it.
        let acked = self.authors.iter().map(|a| a.from + a.acked().len() as u64).max();
        if acked.unwrap_or(0) > from {
            return Err(format!("opened at {from}, acked up to {acked:?}"));
        }
        self.authors.push(Author { writer: opened, from, wrote: Vec::new() });
        Ok(())
    }

    async fn step(&mut self, turn: u64) -> Result<(), String> {
        let who = match self.chance.bits() % 3 {
            // A zombie goes on.
            0 => (self.chance.bits() % self.authors.len() as u64) as usize,
            _ => self.authors.len() - 1,
        };
        let len = match self.chance.bits() % 4 {
            0 => 1 + self.chance.bits() % 200_000,
            _ => 1 + self.chance.bits() % 3_000,
        };
        let bytes: Vec<u8> =
            (0..len).map(|i| (turn * 37 + who as u64 * 101 + i / 7) as u8).collect();
        let flush = [None, Some(Duration::ZERO), SOON, Some(Duration::from_secs(40))]
            [(self.chance.bits() % 4) as usize];
        self.authors[who].write(&bytes, flush).await;
        if self.chance.bits().is_multiple_of(4) {
            tokio::time::sleep(Duration::from_millis(self.chance.bits() % 30_000)).await;
        }
        if let Some(witness) = &mut self.witness
            && witness.look().await == Some(false)
        {
            return Err("a reader saw bytes that are gone or changed".into());
        }
        Ok(())
    }

    /// Every acked byte is in the file, in its place.
    async fn judge(&mut self) -> Result<(), String> {
        let opened = FileReader::open(self.scene.ctx.clone(), path()).await;
        let read = match opened {
            Ok(reader) => reader.read_at(0, 1 << 30).await,
            Err(e) => Err(e),
        };
        let content = read.map_err(|e| format!("not readable: {e}"))?;
        for (n, author) in self.authors.iter().enumerate() {
            let (from, acked) = (author.from as usize, author.acked());
            if content.get(from..from + acked.len()) != Some(acked) {
                return Err(format!("writer {n}: acked bytes are not in the file"));
            }
            let next = self.authors.get(n + 1).map(|a| a.from as usize);
            let end = next.unwrap_or(content.len());
            let shown = content.get(from..end).ok_or("the file is shorter than an open of it")?;
            // Its part is a prefix of what it wrote.
            if !author.wrote.starts_with(shown) {
                return Err(format!("writer {n}: its part of the file is not what it wrote"));
            }
        }
        if let Some(witness) = &mut self.witness
            && witness.look().await == Some(false)
        {
            return Err("a reader saw bytes that are gone or changed".into());
        }
        Ok(())
    }
}

async fn play(seed: u64, missing: Option<Protection>) -> Result<u64, String> {
    let scene = Scene::with(missing, |c| {
        c.segment_max = 64 << 10;
        c.request_timeout = Duration::from_secs(5);
    });
    let chance = SimChance::new(seed ^ 0xf11e);
    let mut play = Play { scene, chance, authors: Vec::new(), witness: None };
    play.succeed(true).await?;
    for turn in 0..WRITERS {
        play.scene.sim.rage(Chaos::ROUGH, seed * 97 + turn);
        if turn > 0 {
            play.succeed(false).await?;
        }
        if play.witness.is_none()
            && let Ok(reader) = FileReader::open(play.scene.ctx.clone(), path()).await
        {
            play.witness = Some(Witness { reader, seen: Vec::new() });
        }
        for step in 0..STEPS {
            play.step(turn * STEPS + step).await?;
        }
    }
    play.scene.sim.heal();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let last = play.authors.last().ok_or("nobody")?;
    last.writer.close(LONG).await.map_err(|e| format!("could not close: {e}"))?;
    play.judge().await?;
    Ok(play.authors.iter().map(|a| a.acked().len() as u64).sum())
}

fn one(seed: u64, missing: Option<Protection>) -> Result<u64, String> {
    let (tell, told) = std::sync::mpsc::channel();
    let whole = std::panic::AssertUnwindSafe(|| {
        run(async move {
            let _ = tell.send(play(seed, missing).await);
        });
    });
    std::panic::catch_unwind(whole).map_err(|_| "it panicked or hung".to_owned())?;
    told.recv().map_err(|e| e.to_string())?
}

/// What went wrong in which seed, and the bytes acked over all.
fn all(seeds: u64, missing: Option<Protection>) -> (Vec<String>, u64) {
    let half = |parity: u64| {
        std::thread::spawn(move || {
            let mine = (0..seeds).filter(|s| s % 2 == parity);
            mine.map(|s| one(s, missing).map_err(|e| format!("seed {s}: {e}"))).collect::<Vec<_>>()
        })
    };
    let (even, odd) = (half(0), half(1));
    let ended = [even, odd].map(|h| h.join().expect("no panic"));
    let ended: Vec<_> = ended.into_iter().flatten().collect();
    let acked = ended.iter().filter_map(|e| e.as_ref().ok()).sum();
    (ended.into_iter().filter_map(Result::err).collect(), acked)
}

#[test]
fn acked_bytes_stay_and_readers_never_shrink_whatever_the_store_does() {
    let (bad, acked) = all(200, None);
    assert!(bad.is_empty(), "{} seeds: {:?}", bad.len(), &bad[..bad.len().min(5)]);
    println!("200 seeds, {acked} bytes acked");
    assert!(acked > 200 * 100_000, "too quiet to prove anything: {acked} bytes acked");
}

#[test]
fn the_same_runs_catch_writers_that_lack_a_protection() {
    let seeds = 40;
    let mut never = Vec::new();
    for (protection, must) in [
        (Protection::Seal, true),
        (Protection::OrderedAck, true),
        (Protection::ForeignCheck, true),
        (Protection::SealPastData, false),
        (Protection::SealSize, false),
        (Protection::OpenId, false),
    ] {
        let (bad, _) = all(seeds, Some(protection));
        println!("without {protection:?}: caught in {} of {seeds} seeds", bad.len());
        if must && bad.is_empty() {
            never.push(protection);
        }
    }
    assert!(never.is_empty(), "never caught: {never:?}");
}
