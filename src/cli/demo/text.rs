//! What the writers write: this repository's own sources, line by line, each line marked with its
//! writer and number.
//!
//! Rule: the n-th byte a writer produces is a pure function of its letter and n, so a checker that
//! shares nothing with the writers can say what must be at each offset, and a person who reads the
//! file sees who wrote which line.

/// Real text, long lines and short ones.
const SOURCES: &[&str] = &[
    include_str!("../../base/error.rs"),
    include_str!("../../base/config.rs"),
    include_str!("../../base/name.rs"),
    include_str!("../../base/limits.rs"),
    include_str!("../../base/mutant.rs"),
    include_str!("../../base/event.rs"),
    include_str!("../run.rs"),
    include_str!("../args.rs"),
    include_str!("writer.rs"),
    include_str!("check.rs"),
];

/// One writer's text, from its first byte on, without end.
#[derive(Debug)]
pub struct Text {
    role: char,
    lines: Vec<&'static str>,
    number: usize,
    spill: Vec<u8>,
    taken: usize,
}

impl Text {
    /// The text of the writer with this letter.
    pub fn of(role: char) -> Text {
        let lines = SOURCES.iter().flat_map(|s| s.lines()).map(str::trim_end);
        let lines = lines.filter(|l| !l.is_empty()).collect();
        Text { role, lines, number: 0, spill: Vec::new(), taken: 0 }
    }

    /// Replaces the buffer's contents with the next `len` bytes.
    pub fn fill(&mut self, buffer: &mut Vec<u8>, len: usize) {
        buffer.clear();
        while buffer.len() < len {
            if self.taken == self.spill.len() {
                self.next_line();
            }
            let rest = &self.spill[self.taken..];
            let piece = rest.len().min(len - buffer.len());
            buffer.extend_from_slice(&rest[..piece]);
            self.taken += piece;
        }
    }

    fn next_line(&mut self) {
        self.spill.clear();
        self.taken = 0;
        let mut digits = *b"0000000";
        let mut n = self.number;
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (n % 10) as u8;
            n /= 10;
        }
        self.spill.push(self.role as u8);
        self.spill.push(b' ');
        self.spill.extend_from_slice(&digits);
        self.spill.extend_from_slice(b" | ");
        self.spill.extend_from_slice(self.lines[self.number % self.lines.len()].as_bytes());
        self.spill.push(b'\n');
        self.number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_the_same_however_it_is_cut() {
        let (mut whole, mut piece, mut joined) = (Vec::new(), Vec::new(), Vec::new());
        Text::of('A').fill(&mut whole, 100_000);
        let mut text = Text::of('A');
        for len in [1, 7, 4_096, 0, 95_896] {
            text.fill(&mut piece, len);
            joined.extend_from_slice(&piece);
        }
        assert_eq!(whole, joined);
        assert!(whole.starts_with(b"A 0000000 | "));
    }

    #[test]
    fn two_writers_never_write_the_same_line() {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        Text::of('A').fill(&mut a, 1_000);
        Text::of('B').fill(&mut b, 1_000);
        assert_ne!(a[..60], b[..60]);
    }
}
