//! A source file, and the same file with comments and literals blanked out.
//!
//! Rules about code must not trip over prose: "unwrap" in a comment is fine. The blanking keeps the
//! line structure, so that a finding can name its line.

/// One file of the tree.
#[derive(Debug)]
pub struct Source {
    /// Its path, relative to the root, with forward slashes.
    pub path: String,
    /// As it is.
    pub text: String,
    /// With comments and the contents of string and character literals replaced by spaces.
    pub code: String,
}

impl Source {
    /// A file from its path and text; the code view is only meaningful for Rust.
    pub fn new(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned(), code: blank(text) }
    }

    /// Whether it is Rust.
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The layer it belongs to: the first folder under `src/`, or `None` for the crate's roots.
    pub fn layer(&self) -> Option<&str> {
        let inner = self.path.strip_prefix("src/")?;
        match inner.split_once('/') {
            Some((layer, _)) => Some(layer),
            None => None,
        }
    }

    /// Whether it is test code by its place: `tests/`, or a test module in a sibling file.
    pub fn is_test(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or("");
        !self.path.starts_with("src/")
            || name == "tests.rs"
            || name.ends_with("_tests.rs")
            || name.ends_with("_test.rs")
            || self.path.contains("/tests/")
    }

    /// A finding on the line of a byte position in `code`.
    pub fn at(&self, byte: usize, what: impl std::fmt::Display) -> String {
        let line = self.code[..byte].bytes().filter(|b| *b == b'\n').count() + 1;
        format!("{}:{line}: {what}", self.path)
    }

    /// Byte positions in `code` where `word` stands as a whole word.
    pub fn find(&self, word: &str) -> Vec<usize> {
        let joins = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let whole = |at: &usize| {
            let before = self.code[..*at].chars().next_back();
            let after = self.code[at + word.len()..].chars().next();
            let starts = word.starts_with(|c: char| c.is_alphanumeric());
            let ends = word.ends_with(|c: char| c.is_alphanumeric() || c == '_');
            !(starts && joins(before) || ends && joins(after))
        };
        self.code.match_indices(word).map(|(at, _)| at).filter(whole).collect()
    }
}

/// Where the blanking stands.
enum State {
    Code,
    Line,
    Block(usize),
    Text,
    Raw(usize),
}

/// Replaces comments and literals by spaces, keeping line breaks and byte positions.
fn blank(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out: Vec<u8> = Vec::with_capacity(bytes.len());
    let mut state = State::Code;
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let (keep, step) = match &mut state {
            State::Code => code(rest, bytes[..at].last().copied(), &mut state),
            State::Line => {
                if rest[0] == b'\n' {
                    state = State::Code;
                }
                (false, 1)
            }
            State::Block(depth) => block(rest, *depth, &mut state),
            State::Text => match rest[0] {
                b'\\' => (false, 2.min(rest.len())),
                b'"' => {
                    state = State::Code;
                    (true, 1)
                }
                _ => (false, 1),
            },
            State::Raw(hashes) => {
                let end = 1 + *hashes;
                let closes =
                    rest[0] == b'"' && rest.len() >= end && rest[1..end].iter().all(|b| *b == b'#');
                if closes {
                    state = State::Code;
                }
                (closes, if closes { end } else { 1 })
            }
        };
        for byte in &bytes[at..at + step] {
            out.push(if keep || *byte == b'\n' { *byte } else { b' ' });
        }
        at += step;
    }
    String::from_utf8(out).expect("only whole characters are kept, the rest is ASCII spaces")
}

/// One step in code: what opens here, whether it is kept, and how far to go.
fn code(rest: &[u8], before: Option<u8>, state: &mut State) -> (bool, usize) {
    let joined = before.is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_');
    if rest.starts_with(b"//") {
        *state = State::Line;
        return (false, 2);
    }
    if rest.starts_with(b"/*") {
        *state = State::Block(1);
        return (false, 2);
    }
    if rest[0] == b'"' {
        *state = State::Text;
        return (true, 1);
    }
    if let Some((hashes, step)) = raw_open(rest).filter(|_| !joined) {
        *state = State::Raw(hashes);
        return (true, step);
    }
    if rest[0] == b'\'' {
        return char_literal(rest).map_or((true, 1), |len| (false, len));
    }
    (true, 1)
}

fn block(rest: &[u8], depth: usize, state: &mut State) -> (bool, usize) {
    if rest.starts_with(b"/*") {
        *state = State::Block(depth + 1);
        return (false, 2);
    }
    if rest.starts_with(b"*/") {
        *state = if depth == 1 { State::Code } else { State::Block(depth - 1) };
        return (false, 2);
    }
    (false, 1)
}

/// `r"`, `r#"`, `br##"` …: the number of hashes and the length of the opening.
fn raw_open(rest: &[u8]) -> Option<(usize, usize)> {
    let r = usize::from(rest[0] == b'b');
    if rest.get(r) != Some(&b'r') {
        return None;
    }
    let hashes = rest[r + 1..].iter().take_while(|b| **b == b'#').count();
    (rest.get(r + 1 + hashes) == Some(&b'"')).then_some((hashes, r + 2 + hashes))
}

/// The length of a character literal, or `None` for a lifetime.
fn char_literal(rest: &[u8]) -> Option<usize> {
    if rest.get(1) == Some(&b'\\') {
        let close = rest.iter().skip(3).position(|b| *b == b'\'')?;
        return Some(close + 4);
    }
    let width = rest[1..].iter().take(5).position(|b| *b == b'\'')?;
    let one = std::str::from_utf8(&rest[1..=width]).ok()?;
    (one.chars().count() == 1).then_some(width + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_and_code_is_kept() {
        let text = "a(); // todo!()\n/* b /* c */ d */ e(\"f\\\"g\", 'h', '\\'');\nlet i: &'j str;";
        let code = blank(text);
        for gone in ["todo", "b", "c", "d", "f", "g", "h"] {
            assert!(!code.contains(gone), "{gone} should be blank in {code:?}");
        }
        for kept in ["a();", "e(", "let i: &'j str;"] {
            assert!(code.contains(kept), "{kept} should be kept in {code:?}");
        }
        assert_eq!(code.len(), text.len());
    }

    #[test]
    fn raw_strings_end_at_their_own_hashes() {
        let code = blank("x(r#\"dbg!(\"no\")\"#, br\"dbg!\"); y();");
        assert!(!code.contains("dbg"), "{code:?}");
        assert!(code.ends_with("y();"), "{code:?}");
    }

    #[test]
    fn a_word_is_found_whole_only() {
        let source = Source::new("a.rs", "async fn asynchronous() {}\n");
        assert_eq!(source.find("async").len(), 1);
    }
}
