//! `tenure file cat|ls|stat`: reading never asks a lease.

use super::args::Cat;
use super::exit::Failure;
use super::show::Show;
use super::units::{bytes, grouped};
use serde_json::{Value, json};
use std::process::ExitCode;
use tenure::{Client, Config, FileStat};

/// Bytes asked for at a time.
const CHUNK: usize = 1 << 20;

/// A file to stdout, following it until it is closed if asked.
pub async fn cat(order: Cat, config: Config, show: &Show) -> Result<ExitCode, Failure> {
    let client = Client::open(&order.url, config).await?;
    let reader = client.open_file(&order.path).await?;
    reader.refresh().await?;
    let mut offset = order.offset;
    loop {
        let piece = reader.read_at(offset, CHUNK).await?;
        if !piece.is_empty() {
            show.bytes(&piece)?;
            offset += piece.len() as u64;
            continue;
        }
        if !order.follow || (reader.is_closed() && reader.visible_length() <= offset) {
            return Ok(ExitCode::SUCCESS);
        }
        reader.wait(offset + 1, None).await?;
    }
}

/// Files under a prefix.
pub async fn ls(url: &str, prefix: &str, config: Config, show: &Show) -> Result<ExitCode, Failure> {
    let client = Client::open(url, config).await?;
    let files = client.files(prefix).await?;
    let rows = files.iter().map(|file| {
        let cells = vec![
            grouped(file.length),
            state(file).into(),
            file.epoch.to_string(),
            file.blocks.to_string(),
            file.path.clone(),
        ];
        (cells, value(file, None))
    });
    show.rows(&["bytes", "state", "epoch", "blocks", "path"], rows.collect())?;
    Ok(ExitCode::SUCCESS)
}

/// One file, with what readers see of an open tail.
pub async fn stat(url: &str, path: &str, config: Config, show: &Show) -> Result<ExitCode, Failure> {
    let client = Client::open(url, config).await?;
    let file = client.stat(path).await?;
    let visible = match file.closed {
        true => file.length,
        false => client.open_file(path).await?.refresh().await?,
    };
    let both = |n: u64| match n {
        0..1_024 => format!("{n} bytes"),
        _ => format!("{} bytes ({})", grouped(n), bytes(n)),
    };
    let facts = vec![
        ("path", file.path.clone()),
        ("state", state(&file).into()),
        ("visible", both(visible)),
        ("finalised", both(file.length)),
        ("blocks", file.blocks.to_string()),
        ("epoch", file.epoch.to_string()),
        ("incarnation", file.incarnation.to_string()),
    ];
    show.facts(facts, &value(&file, Some(visible)))?;
    Ok(ExitCode::SUCCESS)
}

fn state(file: &FileStat) -> &'static str {
    if file.closed { "closed" } else { "open" }
}

fn value(file: &FileStat, visible: Option<u64>) -> Value {
    let mut value = json!({
        "path": file.path,
        "state": state(file),
        "length_bytes": file.length,
        "epoch": file.epoch.0,
        "blocks": file.blocks,
        "incarnation": file.incarnation,
    });
    if let (Some(visible), Some(fields)) = (visible, value.as_object_mut()) {
        fields.insert("visible_bytes".into(), json!(visible));
    }
    value
}
