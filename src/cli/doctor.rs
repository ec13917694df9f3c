//! `tenure doctor URL`: may this store be trusted with a lease?

use super::exit::{Failure, STORE};
use super::show::{Show, Tint};
use super::units::{duration, millis};
use serde_json::json;
use std::process::ExitCode;
use tenure::store::probe::Report;
use tenure::{Client, Config};

/// Columns of a terminal that nobody made wider.
const WIDTH: usize = 100;

/// Probes the store and shows every property; exit 2 if it is not fit.
pub async fn doctor(url: &str, config: Config, show: &Show) -> Result<ExitCode, Failure> {
    let soft = config.limits.soft;
    let client = Client::open(url, config).await?;
    let report = client.doctor().await?;
    let fit = report.checks.iter().all(|c| c.ok);
    let guard = tenure::base::Limits::guard(soft, report.grain, report.skew);
    if show.is_table() {
        table(&report, show)?;
        show.line("")?;
        if fit {
            let (grain, skew) = (duration(report.grain), duration(report.skew));
            let within = duration(soft + guard * 2 + report.grain);
            let soft = duration(soft);
            let text = format!(
                "grain {grain} · skew {skew} · soft {soft}: a crashed holder is replaced within \
                 {within} and 12 requests"
            );
            show.line(&show.paint(Tint::Dim, &text))?;
        }
        show.line(&verdict(&report, fit, show))?;
    } else {
        let value = json!({
            "store": report.store,
            "fit": fit,
            "grain_ms": millis(report.grain),
            "skew_ms": millis(report.skew),
            "soft_ms": millis(soft),
            "guard_ms": millis(guard),
            "checks": report.checks.iter().map(|c| json!({
                "name": c.name, "ok": c.ok, "detail": c.detail,
            })).collect::<Vec<_>>(),
        });
        show.facts(Vec::new(), &value)?;
    }
    Ok(if fit { ExitCode::SUCCESS } else { ExitCode::from(STORE) })
}

fn table(report: &Report, show: &Show) -> Result<(), Failure> {
    show.line(&show.paint(Tint::Bold, &report.store))?;
    let wide = report.checks.iter().map(|c| c.name.len()).max().unwrap_or(0);
    for check in &report.checks {
        let mark = match check.ok {
            true => show.paint(Tint::Good, "ok    "),
            false => show.paint(Tint::Bad, "FAILED"),
        };
        // mark, name and the gaps around them
        let lead = 6 + wide + 6;
        let mut lines = wrapped(&check.detail, WIDTH.saturating_sub(lead)).into_iter();
        let first = show.paint(Tint::Dim, &lines.next().unwrap_or_default());
        show.line(format!("  {mark}  {:<wide$}  {first}", check.name).trim_end())?;
        for more in lines {
            show.line(&format!("{:lead$}{}", "", show.paint(Tint::Dim, &more)))?;
        }
    }
    Ok(())
}

/// A text in lines of at most `width` columns, broken at spaces.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn verdict(report: &Report, fit: bool, show: &Show) -> String {
    if fit {
        return show.paint(Tint::Good, "fit: leases and files are safe on this store");
    }
    let failed: Vec<&str> = report.checks.iter().filter(|c| !c.ok).map(|c| c.name).collect();
    let do_not = if failed.len() == 1 { "does not" } else { "do not" };
    let failed = failed.join(", ");
    let text = format!("not fit: {failed} {do_not} hold; tenure refuses this store");
    show.paint(Tint::Bad, &text)
}
