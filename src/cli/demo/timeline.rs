//! The demo as a person sees it: one line for each thing that happens, when it happens; then who
//! wrote what, and the verdict.

use super::message::{Check, Findings};
use crate::cli::exit::Failure;
use crate::cli::show::{Show, Tint};
use crate::cli::units::{bytes, grouped};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Collects what happens, and shows it as it comes.
#[derive(Debug)]
pub struct Timeline<'a> {
    show: &'a Show,
    started: Instant,
    events: Vec<Value>,
}

impl<'a> Timeline<'a> {
    /// Begins now.
    pub fn begin(show: &'a Show) -> Timeline<'a> {
        Timeline { show, started: Instant::now(), events: Vec::new() }
    }

    /// What this is about, before it begins.
    pub fn headline(&self, store: &str, soft: &str, guard: &str, size: u64) -> Result<(), Failure> {
        if !self.show.is_table() {
            return Ok(());
        }
        let dim = |text: &str| self.show.paint(Tint::Dim, text);
        self.show.line("")?;
        self.show.line(&self.show.paint(Tint::Bold, "  tenure · who may write?"))?;
        self.show.line("")?;
        self.show.line("  Three processes want to append to one file in one store; each holds")?;
        self.show
            .line("  its acknowledgements in a ledger on disk. One is killed, one is frozen")?;
        self.show.line("  and comes back. No acked byte may be lost, no stale byte may get in.")?;
        self.show.line("")?;
        self.show.line(&format!("  {}  {store}", dim("store")))?;
        self.show.line(&format!("  {}  soft {soft} + guard {guard}", dim("lease")))?;
        let text = format!("{} of this repository's sources, or a little more", bytes(size));
        self.show.line(&format!("  {}  {text}", dim("text ")))?;
        self.show.line("")?;
        let head =
            format!("  {:>8}  {:<3}  {:<16}  {:>10}  {}", "TIME", "WHO", "EPOCH", "ACKED", "");
        self.show.line(&dim(head.trim_end()))
    }

    /// One thing that happened. `word` is the loud part, `text` the quiet one.
    pub fn event(&mut self, event: Event<'_>) -> Result<(), Failure> {
        let at = event.at.saturating_duration_since(self.started);
        let value = json!({
            "at_ms": u64::try_from(at.as_millis()).unwrap_or(u64::MAX),
            "process": event.role.to_string(),
            "epoch": event.epoch,
            "acked_bytes": event.acked,
            "event": event.word,
            "text": event.text,
        });
        if self.show.is_lines() {
            self.show.line(&value.to_string())?;
        }
        self.events.push(value);
        if !self.show.is_table() {
            return Ok(());
        }
        let epoch = event.epoch.map_or(String::new(), |e| e.to_string());
        let acked = event.acked.map_or(String::new(), bytes);
        let line = format!(
            "  {:>8}  {}  {:<16}  {:>10}  {} {}",
            seconds(at),
            self.show.paint(tint(event.role), &format!("{:<3}", event.role)),
            epoch,
            acked,
            self.show.paint(event.tint, event.word),
            event.text
        );
        self.show.line(line.trim_end())
    }

    /// Who wrote what, each check, and the verdict.
    pub fn close(&self, found: &Findings, checks: &[Check], kept: &str) -> Result<bool, Failure> {
        let failed: Vec<&str> = checks.iter().filter(|c| !c.ok).map(|c| c.name.as_str()).collect();
        let good = failed.is_empty();
        if self.show.is_table() {
            self.parts(found)?;
            self.checks(checks)?;
            if !kept.is_empty() {
                self.show.line(&format!("  {}  {kept}", self.show.paint(Tint::Dim, "kept")))?;
                self.show.line("")?;
            }
            let verdict = match good {
                true => self.show.paint(Tint::Good, "PASS"),
                false => self.show.paint(Tint::Bad, "FAIL"),
            };
            let text = match good {
                true => "every acked byte is there once, in order, and nothing else is".into(),
                false => failed.join("; "),
            };
            self.show.line(&format!("  {verdict}  {text}"))?;
            self.show.line("")?;
            return Ok(good);
        }
        let result = json!({
            "verdict": if good { "pass" } else { "fail" },
            "failed": failed,
            "length_bytes": found.length_bytes,
            "parts": found.parts,
            "checks": checks,
            "kept": kept,
        });
        if self.show.is_lines() {
            self.show.line(&result.to_string())?;
        } else {
            self.show.json(&json!({ "events": self.events, "result": result }))?;
        }
        Ok(good)
    }

    /// The file as a bar, then as numbers.
    fn parts(&self, found: &Findings) -> Result<(), Failure> {
        const WIDE: u64 = 60;
        let mut bar = String::new();
        for part in &found.parts {
            let cell = |offset: u64| offset * WIDE / found.length_bytes.max(1);
            let wide = cell(part.end).saturating_sub(cell(part.begin));
            let piece = part.role.to_string().repeat(usize::try_from(wide).unwrap_or(0));
            bar.push_str(&self.show.paint(tint(part.role), &piece));
        }
        self.show.line("")?;
        self.show.line(&format!("  the file  {bar}"))?;
        self.show.line("")?;
        let head = ["who", "epoch", "from", "to", "acked to", "acks"];
        let rows = found.parts.iter().map(|part| {
            vec![
                part.role.to_string(),
                part.epoch.to_string(),
                grouped(part.begin),
                grouped(part.end),
                grouped(part.acked),
                grouped(part.acks as u64),
            ]
        });
        for line in self.show.table(&head, rows.collect()).lines() {
            self.show.line(&format!(" {line}"))?;
        }
        self.show.line("")
    }

    fn checks(&self, checks: &[Check]) -> Result<(), Failure> {
        let wide = checks.iter().map(|c| c.name.chars().count()).max().unwrap_or(0);
        for check in checks {
            let mark = match check.ok {
                true => self.show.paint(Tint::Good, "ok    "),
                false => self.show.paint(Tint::Bad, "FAILED"),
            };
            let pad = " ".repeat(wide - check.name.chars().count());
            let detail = self.show.paint(Tint::Dim, &check.detail);
            self.show.line(&format!("  {mark}  {}{pad}  {detail}", check.name))?;
        }
        self.show.line("")
    }
}

/// One thing that happened.
#[derive(Clone, Debug)]
pub struct Event<'a> {
    /// When.
    pub at: Instant,
    /// To whom.
    pub role: char,
    /// Its epoch, if it has one.
    pub epoch: Option<u64>,
    /// How far its acks are, if it has any.
    pub acked: Option<u64>,
    /// The loud part.
    pub word: &'a str,
    /// Its tint.
    pub tint: Tint,
    /// The quiet part.
    pub text: String,
}

fn tint(role: char) -> Tint {
    match role {
        'A' => Tint::Blue,
        'B' => Tint::Magenta,
        _ => Tint::Cyan,
    }
}

/// Hundredths: what the eye compares in the first column.
pub fn seconds(d: Duration) -> String {
    format!("{:.2} s", d.as_secs_f64())
}
