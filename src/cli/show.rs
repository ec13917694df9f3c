//! Answers on stdout, everything else on stderr; colours only where a person looks.

use super::args::{Color, Output};
use super::exit::Failure;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use serde_json::Value;
use std::io::{IsTerminal, Write};

/// How this command answers.
#[derive(Clone, Copy, Debug)]
pub struct Show {
    output: Output,
    color_out: bool,
    color_err: bool,
}

/// A tint: what a person should notice first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tint {
    /// As it is.
    Plain,
    /// Less important.
    Dim,
    /// A heading.
    Bold,
    /// Good.
    Good,
    /// Bad.
    Bad,
    /// Worth a look.
    Warn,
    /// The first writer.
    Blue,
    /// The second writer.
    Magenta,
    /// The third writer.
    Cyan,
}

impl Tint {
    fn code(self) -> &'static str {
        match self {
            Tint::Plain => "0",
            Tint::Dim => "2",
            Tint::Bold => "1",
            Tint::Good => "32",
            Tint::Bad => "31;1",
            Tint::Warn => "33",
            Tint::Blue => "34;1",
            Tint::Magenta => "35;1",
            Tint::Cyan => "36;1",
        }
    }
}

impl Show {
    /// Decides once.
    pub fn new(output: Output, color: Color) -> Show {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let choose = |terminal: bool| match color {
            Color::Auto => terminal && !plain,
            Color::Always => true,
            Color::Never => false,
        };
        Show {
            output,
            color_out: choose(std::io::stdout().is_terminal()),
            color_err: choose(std::io::stderr().is_terminal()),
        }
    }

    /// Whether people read it.
    pub fn is_table(&self) -> bool {
        self.output == Output::Table
    }

    /// Whether each row is a JSON line of its own.
    pub fn is_lines(&self) -> bool {
        self.output == Output::Jsonl
    }

    /// Text with a tint, if colours are on.
    pub fn paint(&self, tint: Tint, text: &str) -> String {
        paint(self.color_out, tint, text)
    }

    /// One line on stdout.
    pub fn line(&self, text: &str) -> Result<(), Failure> {
        self.bytes(format!("{text}\n").as_bytes())
    }

    /// Bytes on stdout.
    pub fn bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        out.write_all(bytes).and_then(|()| out.flush()).map_err(|e| Failure::io("stdout", e))
    }

    /// A list: a table, one JSON array, or one object a line.
    pub fn rows(&self, head: &[&str], rows: Vec<(Vec<String>, Value)>) -> Result<(), Failure> {
        match self.output {
            Output::Table => {
                let clean = |cells: Vec<String>| cells.iter().map(|c| printable(c)).collect();
                let cells = rows.into_iter().map(|(cells, _)| clean(cells)).collect();
                self.line(&self.table(head, cells))
            }
            Output::Json => {
                let all = rows.into_iter().map(|(_, value)| value).collect();
                self.json(&Value::Array(all))
            }
            Output::Jsonl => rows.iter().try_for_each(|(_, value)| self.line(&value.to_string())),
        }
    }

    /// One thing: its facts under each other, or one JSON object.
    pub fn facts(&self, facts: Vec<(&str, String)>, value: &Value) -> Result<(), Failure> {
        match self.output {
            Output::Table => {
                let wide = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
                for (name, fact) in facts {
                    let name = self.paint(Tint::Dim, &format!("{name:<wide$}"));
                    self.line(&format!("{name}  {}", printable(&fact)))?;
                }
                Ok(())
            }
            Output::Json => self.json(value),
            Output::Jsonl => self.line(&value.to_string()),
        }
    }

    /// One JSON value, indented.
    pub fn json(&self, value: &Value) -> Result<(), Failure> {
        self.line(&format!("{value:#}"))
    }

    /// Aligned columns: numbers to the right, no frame.
    pub fn table(&self, head: &[&str], rows: Vec<Vec<String>>) -> String {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        let numeric = |i: usize| {
            rows.iter().all(|row| {
                row.get(i).is_some_and(|t| t == "-" || t.starts_with(|c: char| c.is_ascii_digit()))
            })
        };
        let right: Vec<bool> = (0..head.len()).map(numeric).collect();
        let align = |i: usize| if right[i] { CellAlignment::Right } else { CellAlignment::Left };
        table.set_header(
            head.iter()
                .enumerate()
                .map(|(i, h)| Cell::new(h.to_uppercase()).set_alignment(align(i))),
        );
        for row in rows {
            let cells = row.into_iter().enumerate();
            table.add_row(cells.map(|(i, text)| Cell::new(text).set_alignment(align(i))));
        }
        let text: Vec<String> = table.lines().map(|l| l.trim_end().to_owned()).collect();
        match text.split_first() {
            Some((first, rest)) if self.color_out => {
                let head = self.paint(Tint::Dim, first);
                std::iter::once(head).chain(rest.iter().cloned()).collect::<Vec<_>>().join("\n")
            }
            _ => text.join("\n"),
        }
    }

    /// What went wrong, on stderr.
    pub fn error(&self, text: &str) {
        let label = paint(self.color_err, Tint::Bad, "error");
        let _ = writeln!(std::io::stderr(), "{label}: {}", printable(text));
    }

    /// What to do about it, on stderr.
    pub fn hint(&self, text: &str) {
        let label = paint(self.color_err, Tint::Dim, " hint");
        let _ = writeln!(std::io::stderr(), "{label}: {text}");
    }

    /// Something a person should know, on stderr.
    pub fn note(&self, text: &str) {
        let label = paint(self.color_err, Tint::Dim, " note");
        let _ = writeln!(std::io::stderr(), "{label}: {text}");
    }
}

/// Names and notes come from whoever wrote them: a control character in one must neither move a
/// terminal's cursor nor break a row.
fn printable(text: &str) -> String {
    let each = |c: char| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    text.chars().map(each).collect()
}

fn paint(on: bool, tint: Tint, text: &str) -> String {
    if on && tint != Tint::Plain {
        format!("\x1b[{}m{text}\x1b[0m", tint.code())
    } else {
        text.to_owned()
    }
}

/// A word to the person at the terminal, on stderr.
pub fn prompt(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// One line on stdout, for programs, whatever the output format.
pub fn answer(line: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|e| Failure::io("stdout", e))
}
