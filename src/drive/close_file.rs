//! Sending the close (the decisions are `decide::closing`).
//!
//! Rule: repeated until known, at most `ack_timeout`; then the outcome is *unknown*, which is what
//! it is. What is not here: the wait for acks before it, the release after it (`drive::stream`).

use super::backoff::Backoff;
use super::context::is_transient;
use super::owner::Owner;
use crate::base::{Error, Protection, Result, Status, Version};
use crate::decide::Answer;
use crate::decide::closing::{Ask, Closing};
use crate::store::Outcome;
use crate::wire::manifest::Manifest;
use std::sync::PoisonError;
use tokio::time::timeout;

/// Closes the file. `false` only of the mutant that gives up after an ambiguous answer. Errors:
/// `Fenced`, `Corrupt`, `OutcomeUnknown`.
pub(crate) async fn close(owner: &Owner, end_seq: u64, length: u64) -> Result<bool> {
    let limit = owner.ctx.config.ack_timeout;
    let mut last = None;
    match timeout(limit, until_known(owner, end_seq, length, &mut last)).await {
        Ok(known) => known,
        Err(_) => {
            let what = format!("the close was not acknowledged within {} ms", limit.as_millis());
            let error = Error::new(Status::OutcomeUnknown, what).on(&owner.path);
            Err(match last {
                Some(cause) => error.because(cause),
                None => error,
            })
        }
    }
}

async fn until_known(
    owner: &Owner,
    end_seq: u64,
    length: u64,
    last: &mut Option<Error>,
) -> Result<bool> {
    let last_left = remembered(owner);
    let closing = Closing::new(owner.path.as_str(), owner.nonce, owner.id, end_seq, length)
        .mutated(owner.ctx.world.mutant, last_left.0.nonce);
    let mut ask = closing.found(Some(last_left))?;
    let mut backoff = Backoff::default();
    loop {
        ask = match ask {
            Ask::Done => return Ok(true),
            Ask::Read => match owner.ctx.manifest(&owner.path).await {
                Ok(found) => closing.found(found)?,
                Err(e) if is_transient(&e) => {
                    *last = Some(e);
                    backoff.pause(&owner.ctx.world).await;
                    Ask::Read
                }
                Err(e) => return Err(e),
            },
            Ask::Swap { expect, mut manifest } => {
                manifest.nonce = owner.ctx.world.chance.id();
                let body = manifest.encode()?;
                match owner.ctx.swap(&owner.path, Some(&expect), body).await {
                    Outcome::Landed(_) => closing.swapped(Answer::Landed),
                    Outcome::Refused => closing.swapped(Answer::Refused),
                    Outcome::Unknown(_) if owner.lacks(Protection::CloseIsFinal) => {
                        return Ok(false);
                    }
                    Outcome::Unknown(e) => {
                        *last = Some(e);
                        backoff.pause(&owner.ctx.world).await;
                        closing.swapped(Answer::Unknown)
                    }
                }
            }
        };
    }
}

fn remembered(owner: &Owner) -> (Manifest, Version) {
    owner.manifest.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
