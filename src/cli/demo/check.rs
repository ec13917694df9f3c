//! The checker: a process that trusts nobody. It knows the three ledgers and the file, and compares
//! them byte for byte.
//!
//! The claim: the file is the writers' texts one after the other, in the order of their epochs;
//! each part is a prefix of what its writer wrote; no part is shorter than its writer was promised.
//! So every acked byte is there once, in order, and nothing else is.

use super::ledger::Entries;
use super::message::{Check, Findings, Part};
use super::text::Text;
use crate::cli::args::DemoCheck;
use crate::cli::exit::{CHECK, Failure};
use crate::cli::units::grouped;
use std::process::ExitCode;
use tenure::{Client, Config, FileReader};

/// Bytes compared at a time.
const CHUNK: usize = 1 << 20;

/// Compares, tells what it found as JSON, and exits with 8 if a check failed.
pub async fn check(order: DemoCheck, config: Config) -> Result<ExitCode, Failure> {
    let client = Client::open(&order.url, config).await?;
    let reader = client.open_file(&order.path).await?;
    let length = reader.refresh().await?;
    let ledger = |role| {
        Entries::read(&order.ledgers, role)
            .map_err(|e| Failure::io(format!("the ledger of {role}"), e))
    };
    let mut ledgers = ['A', 'B', 'C'].into_iter().map(ledger).collect::<Result<Vec<_>, _>>()?;
    ledgers.sort_by_key(|l| l.epoch);
    let mut found = Findings { length_bytes: length, ..Findings::default() };
    found.checks.push(ledgers_grow(&ledgers));
    found.checks.push(epochs_grow(&ledgers));
    found.checks.push(Check::new(
        "the file is closed",
        reader.is_closed(),
        format!("{} bytes", grouped(length)),
    ));
    for (i, entries) in ledgers.iter().enumerate() {
        let end = ledgers.get(i + 1).map_or(length, |next| next.base);
        found.checks.push(promise(entries, end));
        found.checks.push(same_bytes(&reader, entries, end).await);
        found.parts.push(Part {
            role: entries.role,
            epoch: entries.epoch,
            begin: entries.base,
            end,
            acked: entries.acked(),
            acks: entries.acks.len(),
        });
    }
    let good = found.checks.iter().all(|c| c.ok);
    let text = serde_json::to_string(&found)
        .map_err(|e| Failure::own(crate::cli::exit::BUG, format!("the findings: {e}")))?;
    crate::cli::show::answer(&text)?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::from(CHECK) })
}

fn ledgers_grow(ledgers: &[Entries]) -> Check {
    let bad: String = ledgers.iter().filter(|l| !l.only_grows()).map(|l| l.role).collect();
    let acks: usize = ledgers.iter().map(|l| l.acks.len()).sum();
    let detail = match bad.is_empty() {
        true => format!("{} acks in three ledgers", grouped(acks as u64)),
        false => format!("not so in the ledger of {bad}"),
    };
    Check::new("acks only ever grow", bad.is_empty(), detail)
}

fn epochs_grow(ledgers: &[Entries]) -> Check {
    let from_zero = ledgers.first().is_some_and(|first| first.base == 0);
    let grow = ledgers.windows(2).all(|p| p[0].epoch < p[1].epoch && p[0].base <= p[1].base);
    let order: Vec<String> = ledgers.iter().map(|l| format!("{} {}", l.role, l.epoch)).collect();
    Check::new("each writer has a higher epoch", from_zero && grow, order.join(" < "))
}

/// What was acked is in the writer's part of the file.
fn promise(entries: &Entries, end: u64) -> Check {
    let (role, acked) = (entries.role, entries.acked());
    let name = format!("{role}: every acked byte is in the file");
    if acked <= end {
        let detail = format!("acked up to {}, kept up to {}", grouped(acked), grouped(end));
        return Check::new(name, true, detail);
    }
    let detail = format!(
        "{} acked bytes are gone: acked up to {}, but its part ends at {}",
        grouped(acked - end),
        grouped(acked),
        grouped(end)
    );
    Check::new(name, false, detail)
}

/// The writer's part of the file is exactly what it wrote there: nobody else's bytes, none twice,
/// none missing.
async fn same_bytes(reader: &FileReader, entries: &Entries, end: u64) -> Check {
    let name = format!("{}: its part holds exactly its text", entries.role);
    let (mut text, mut expected, mut offset) = (Text::of(entries.role), Vec::new(), entries.base);
    while offset < end {
        let len = usize::try_from(end - offset).map_or(CHUNK, |left| left.min(CHUNK));
        let seen = match reader.read_at(offset, len).await {
            Ok(seen) if seen.len() == len => seen,
            Ok(seen) => {
                let detail = format!("{} bytes at {offset}, expected {len}", seen.len());
                return Check::new(name, false, detail);
            }
            Err(error) => return Check::new(name, false, format!("at {offset}: {error:?}")),
        };
        text.fill(&mut expected, len);
        if let Some(at) = (0..len).find(|i| expected[*i] != seen[*i]) {
            let detail = format!(
                "byte {}: expected {:?}, found {:?}",
                grouped(offset + at as u64),
                excerpt(&expected[at..]),
                excerpt(&seen[at..])
            );
            return Check::new(name, false, detail);
        }
        offset += len as u64;
    }
    Check::new(name, true, format!("{} bytes compared", grouped(end.saturating_sub(entries.base))))
}

fn excerpt(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(32)]).into_owned()
}
