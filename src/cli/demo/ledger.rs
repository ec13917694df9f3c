//! What a writer was promised, on disk before it believes it: the evidence of the demo.
//!
//! `<role>.ledger` is text: `epoch base` on the first line, then one acked offset a line, each
//! fsynced before the next ack is looked at. What is in it was acked; the last acks before a kill
//! may be missing, never the other way round. `<role>.written` is the position after the last
//! accepted write: not fsynced (a killed process does not lose the page cache), it only shows how
//! much was under way.

use std::fs::File;
use std::io::{Error, ErrorKind, Result, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A ledger being written.
#[derive(Debug)]
pub struct Ledger {
    file: File,
}

impl Ledger {
    /// Begins it. An older one is replaced: its writer is gone.
    pub fn begin(directory: &Path, role: char, epoch: u64, base: u64) -> Result<Ledger> {
        let mut file = File::create(path(directory, role, "ledger"))?;
        writeln!(file, "{epoch} {base}")?;
        file.sync_all()?;
        File::open(directory)?.sync_all()?;
        Ok(Ledger { file })
    }

    /// Adds one acked offset; returns once it is on disk.
    pub fn ack(&mut self, offset: u64) -> Result<()> {
        self.file.write_all(format!("{offset}\n").as_bytes())?;
        self.file.sync_data()
    }
}

/// The mark of the last accepted write.
#[derive(Debug)]
pub struct Mark {
    file: File,
}

impl Mark {
    /// Begins it.
    pub fn begin(directory: &Path, role: char) -> Result<Mark> {
        Ok(Mark { file: File::create(path(directory, role, "written"))? })
    }

    /// Moves it.
    pub fn set(&self, position: u64) -> Result<()> {
        self.file.write_all_at(&position.to_le_bytes(), 0)
    }
}

/// A ledger as its reader finds it.
#[derive(Clone, Debug)]
pub struct Entries {
    /// The writer's letter.
    pub role: char,
    /// Its epoch.
    pub epoch: u64,
    /// Where it began.
    pub base: u64,
    /// Every acked offset, in order.
    pub acks: Vec<u64>,
}

impl Entries {
    /// Reads a ledger. A last line without its end (the writer was killed inside the call) is not
    /// an ack.
    pub fn read(directory: &Path, role: char) -> Result<Entries> {
        let text = std::fs::read_to_string(path(directory, role, "ledger"))?;
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let odd = |line: &str| Error::new(ErrorKind::InvalidData, format!("ledger line {line:?}"));
        let number = |word: &str| word.parse::<u64>().map_err(|_| odd(word));
        let mut lines = whole.lines();
        let head = lines.next().unwrap_or_default();
        let (epoch, base) = head.split_once(' ').ok_or_else(|| odd(head))?;
        let acks = lines.map(number).collect::<Result<Vec<u64>>>()?;
        Ok(Entries { role, epoch: number(epoch)?, base: number(base)?, acks })
    }

    /// The last acked offset: the base if nothing was acked.
    pub fn acked(&self) -> u64 {
        self.acks.last().copied().unwrap_or(self.base)
    }

    /// Whether each ack is beyond the one before.
    pub fn only_grows(&self) -> bool {
        self.acks.windows(2).all(|pair| pair[0] < pair[1])
            && self.acks.first().is_none_or(|first| *first > self.base)
    }
}

/// The position after a writer's last accepted write; zero if it never wrote.
pub fn written(directory: &Path, role: char) -> u64 {
    let bytes = std::fs::read(path(directory, role, "written")).unwrap_or_default();
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

fn path(directory: &Path, role: char, what: &str) -> PathBuf {
    directory.join(format!("{role}.{what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> PathBuf {
        let place = std::env::temp_dir().join(format!("tenure-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&place).expect("a directory");
        place
    }

    #[test]
    fn what_was_acked_is_read_back() {
        let place = place("ledger");
        let mut ledger = Ledger::begin(&place, 'A', 7, 100).expect("begins");
        for offset in [150, 300] {
            ledger.ack(offset).expect("acks");
        }
        let entries = Entries::read(&place, 'A').expect("reads");
        assert_eq!((entries.epoch, entries.base, entries.acked()), (7, 100, 300));
        assert!(entries.only_grows());
        std::fs::remove_dir_all(place).expect("removed");
    }

    #[test]
    fn a_line_cut_off_by_a_kill_is_no_ack() {
        let place = place("torn-ledger");
        std::fs::write(place.join("B.ledger"), "7 0\n100\n20").expect("written");
        let entries = Entries::read(&place, 'B').expect("reads");
        assert_eq!(entries.acked(), 100);
        std::fs::remove_dir_all(place).expect("removed");
    }

    #[test]
    fn a_ledger_that_goes_back_is_noticed() {
        let entries = |acks: &[u64]| Entries { role: 'C', epoch: 1, base: 10, acks: acks.to_vec() };
        assert!(entries(&[]).only_grows());
        assert!(entries(&[11, 20]).only_grows());
        assert!(!entries(&[20, 20]).only_grows());
        assert!(!entries(&[10]).only_grows());
    }
}
