//! `tenure demo`: why this project exists, in a few seconds, with real processes, real signals and
//! real bytes.
//!
//! Question: what happens to a file when its writer is killed in mid-flight, and when a frozen one
//! comes back? Rule: the demo does to three ordinary writers what production does to them, and a
//! fourth process that shares nothing with them compares the file with what they were promised. Why
//! not trust the writers' own word: a zombie believes its acks. The files: `text` (what is
//! written), `writer` (one writer), `ledger` (what it was promised), `actor`, `slots` and `story`
//! (who does what to whom), `check` (the checker), `timeline` (what a person sees).

mod actor;
pub mod check;
mod ledger;
mod message;
mod slots;
mod stage;
mod story;
mod text;
mod timeline;
pub mod writer;

use super::args::Demo;
use super::exit::{CHECK, Failure};
use super::show::Show;
use super::units::duration;
use stage::Stage;
use std::process::ExitCode;
use story::Story;
use tenure::base::Limits;
use tenure::{Client, Config};
use timeline::Timeline;

/// Plays the story, has it checked, and exits with 8 if a check failed.
pub async fn demo(
    order: &Demo,
    config: Config,
    set: &[String],
    show: &Show,
) -> Result<ExitCode, Failure> {
    let stage = Stage::build(order, config, set)?;
    let client = Client::open(&stage.url, stage.config.clone()).await?;
    let report = client.doctor().await?;
    let soft = stage.config.limits.soft;
    let guard = Limits::guard(soft, report.grain, report.skew);
    let timeline = Timeline::begin(show);
    timeline.headline(&stage.url, &duration(soft), &duration(guard), order.size)?;
    let mut story = Story::begin(&stage, &client, timeline, guard, report.grain)?;
    story.play().await?;
    let (found, checks) = story.verify()?;
    let good = story.timeline.close(&found, &checks, &stage.kept())?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::from(CHECK) })
}
