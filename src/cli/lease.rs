//! `tenure lease ls|show|break`: who holds what, since when, and how to end a holder that is gone.

use super::args::{Break, KindArg};
use super::exit::Failure;
use super::show::Show;
use super::units::{duration, millis};
use serde_json::{Value, json};
use std::process::ExitCode;
use tenure::{Client, Config, LeaseInfo};

/// Every record.
pub async fn ls(
    url: &str,
    kind: Option<KindArg>,
    config: Config,
    show: &Show,
) -> Result<ExitCode, Failure> {
    let client = Client::open(url, config).await?;
    let leases = client.leases(kind.map(Into::into)).await?;
    let head = ["kind", "name", "state", "epoch", "holder", "renewed", "soft", "how", "note"];
    let rows = leases.iter().map(|lease| (cells(lease), value(lease))).collect();
    show.rows(&head, rows)?;
    Ok(ExitCode::SUCCESS)
}

/// One record.
pub async fn show(
    url: &str,
    name: &str,
    kind: KindArg,
    config: Config,
    show: &Show,
) -> Result<ExitCode, Failure> {
    let client = Client::open(url, config).await?;
    let lease = client.inspect(kind.into(), name).await?;
    show.facts(facts(&lease), &value(&lease))?;
    Ok(ExitCode::SUCCESS)
}

/// Observes, then takes the lease away. Any sign of life is `LEASE_HELD` and changes nothing.
pub async fn break_lease(order: Break, config: Config, show: &Show) -> Result<ExitCode, Failure> {
    let client = Client::open(&order.url, config).await?;
    if !order.observe.is_zero() {
        show.note(&format!(
            "watching {}/{} for {} before anything is changed",
            tenure::Kind::from(order.kind),
            order.name,
            duration(order.observe)
        ));
    }
    let kind = order.kind.into();
    let lease = client.break_lease(kind, &order.name, order.observe, &order.note).await?;
    show.facts(facts(&lease), &value(&lease))?;
    if lease.how == "forced" {
        show.note(&format!(
            "the former holder may believe in itself for up to {} more; its writes do not count",
            duration(lease.soft)
        ));
    } else {
        show.note("nobody holds it; nothing was changed");
    }
    Ok(ExitCode::SUCCESS)
}

/// One word for what the record and the session say together.
fn state(lease: &LeaseInfo) -> &'static str {
    match (lease.held, lease.age, lease.recover_attempts) {
        (_, _, Some(attempts)) if attempts >= 8 => "quarantined",
        (_, _, Some(_)) => "recovering",
        (false, ..) => "released",
        (true, Some(age), None) if age > lease.soft => "lapsed",
        (true, ..) => "held",
    }
}

fn renewed(lease: &LeaseInfo) -> String {
    lease.age.map_or_else(|| "-".into(), |age| format!("{} ago", duration(age)))
}

fn cells(lease: &LeaseInfo) -> Vec<String> {
    vec![
        lease.kind.to_string(),
        lease.name.clone(),
        state(lease).into(),
        lease.epoch.to_string(),
        lease.node.clone(),
        renewed(lease),
        duration(lease.soft),
        lease.how.clone(),
        lease.note.clone().unwrap_or_default(),
    ]
}

fn facts(lease: &LeaseInfo) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("resource", format!("{}/{}", lease.kind, lease.name)),
        ("state", state(lease).into()),
        ("epoch", lease.epoch.to_string()),
        (if lease.held { "holder" } else { "last holder" }, lease.node.clone()),
        ("session", lease.session.clone()),
        ("how", lease.how.clone()),
        ("soft limit", duration(lease.soft)),
        ("renewed", renewed(lease)),
    ];
    if let Some(attempts) = lease.recover_attempts {
        facts.push(("recovery", format!("tried {attempts} times")));
    }
    if let Some(note) = &lease.note {
        facts.push(("note", note.clone()));
    }
    facts
}

fn value(lease: &LeaseInfo) -> Value {
    json!({
        "kind": lease.kind.as_str(),
        "name": lease.name,
        "state": state(lease),
        "held": lease.held,
        "epoch": lease.epoch.0,
        "holder": lease.node,
        "session": lease.session,
        "how": lease.how,
        "soft_ms": millis(lease.soft),
        "age_ms": lease.age.map(millis),
        "recover_attempts": lease.recover_attempts,
        "note": lease.note,
        "modified_unix_ms": lease.modified.0,
    })
}
