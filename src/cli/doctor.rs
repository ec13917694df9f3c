//! `tenure doctor URL`: may this store be trusted with a lease?

use super::exit::{Failure, STORE};
use super::show::{Show, Tint};
use super::units::{duration, millis};
use serde_json::json;
use std::process::ExitCode;
use tenure::store::probe::Report;
use tenure::{Client, Config};

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
        let text = format!(
            "grain {} · skew {} · soft {}: a crashed holder is replaced within {} and 12 requests",
            duration(report.grain),
            duration(report.skew),
            duration(soft),
            duration(soft + guard + report.grain)
        );
        show.line(&show.paint(Tint::Dim, &text))?;
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
        let detail = show.paint(Tint::Dim, &check.detail);
        show.line(format!("  {mark}  {:<wide$}  {detail}", check.name).trim_end())?;
    }
    Ok(())
}

fn verdict(report: &Report, fit: bool, show: &Show) -> String {
    if fit {
        return show.paint(Tint::Good, "fit: leases and files are safe on this store");
    }
    let failed: Vec<&str> = report.checks.iter().filter(|c| !c.ok).map(|c| c.name).collect();
    let text = format!("not fit: {} does not hold; tenure refuses this store", failed.join(", "));
    show.paint(Tint::Bad, &text)
}
