//! The end of a session: every lease released, then the session ended by its owner.
//!
//! Rule: bounded. A store that does not answer keeps nobody: what is not released lapses with the
//! session's soft limit. An ended session frees its leases at once.

use super::renew::bounded;
use super::session::SessionCore;
use crate::decide::lease::Left;
use crate::store::Outcome;
use crate::wire::key;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Closes once; later calls wait for nothing.
pub async fn close(core: &Arc<SessionCore>) {
    if core.begin_close() {
        finish(core).await;
    }
}

/// Releases, settles and ends; at most one soft limit.
pub async fn finish(core: &Arc<SessionCore>) {
    let limit = core.identity.limits.soft.min(Duration::from_secs(30));
    let _ = timeout(limit, release_all(core)).await;
    if core.has_started() {
        end(core).await;
    }
    // What is unsettled now has no effect any more: it names a session that is over.
    core.stop_leases();
}

async fn release_all(core: &Arc<SessionCore>) {
    for slot in core.all_slots() {
        // A writer that is still open leaves its file to a recovery.
        slot.give_up(core, if slot.is_eager() { Left::Unclosed } else { Left::AsFound });
    }
    for slot in core.all_slots() {
        let mut news = slot.watch();
        loop {
            news.borrow_and_update();
            if slot.is_idle() || news.changed().await.is_err() {
                break;
            }
        }
    }
}

async fn end(core: &Arc<SessionCore>) {
    let (now, nonce) = (core.world.clock.now(), core.world.chance.id());
    let ended =
        core.with_session(|s| (!s.is_over()).then(|| (s.version().cloned(), s.end(now, nonce))));
    let Some((version, record)) = ended else { return };
    core.term.publish(core.with_session(|s| s.term()));
    // Never stored, as far as is known: there is nothing to end.
    let Some(version) = version else { return };
    let key = key::session(core.identity.sid);
    for _ in 0..3 {
        let swap = core.store.leases.swap(&key, Some(&version), record.encode());
        // Refused: a renewal of ours landed in between; the session then lapses by itself.
        let outcome = bounded(core, swap).await.unwrap_or_else(Outcome::Unknown);
        if !matches!(outcome, Outcome::Unknown(_)) {
            return;
        }
    }
}
