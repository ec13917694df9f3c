//! Fetching verified bytes of one stored object.
//!
//! Question: which bytes are asked for, and are they right? Rule: nothing is handed out that was
//! not checked: the header says the object belongs here, and the checksum of every 64 KiB unit that
//! is touched matches. A reader that goes on where it stopped gets whole segments, several at a
//! time, and the last few are kept; a reader that jumps gets the units it needs and their
//! checksums, so 100 bytes of a 4 MiB segment cost 64 KiB. Damage is `Corrupt` with the object's
//! name and the place in the file: never a shorter file, never a repair.
//!
//! Invariants: `file_read::{a_flipped_byte_in_a_segment_is_corrupt_with_its_name,
//! a_random_read_fetches_units_not_segments}`. What is not here: which objects make up the file
//! (`drive::view`).

use super::context::FileContext;
use super::view::Piece;
use crate::base::{Error, Protection, Result, Status};
use crate::wire::segment::{self, HEADER, Header, SegmentKind, covering_units, unit_ranges};
use bytes::Bytes;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Whole payloads kept: enough for the segments fetched in parallel.
const KEPT: usize = 8;
/// Above this a payload is never fetched whole for a part of it.
const WHOLE_MAX: u64 = 64 << 20;
/// Below this a payload is always fetched whole.
const WHOLE_MIN: u64 = 256 << 10;

/// The last payloads, by key. Segments never change, so nothing here goes stale.
#[derive(Debug, Default)]
pub(crate) struct Kept(Mutex<VecDeque<(Arc<str>, Bytes)>>);

impl Kept {
    fn find(&self, key: &str) -> Option<Bytes> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(k, _)| &**k == key).map(|(_, payload)| payload.clone())
    }

    fn keep(&self, key: &Arc<str>, payload: &Bytes) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.iter().any(|(k, _)| k == key) {
            return;
        }
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back((key.clone(), payload.clone()));
    }
}

/// `part` of a piece's payload, verified; `Ok(None)`: the object is not there.
pub(crate) async fn part(
    ctx: &FileContext,
    kept: &Kept,
    piece: &Piece,
    part: Range<u64>,
    sequential: bool,
) -> Result<Option<Bytes>> {
    if let Some(payload) = kept.find(&piece.key) {
        return Ok(Some(payload.slice(part.start as usize..part.end as usize)));
    }
    let wanted = part.end - part.start;
    let worth_it = sequential || wanted * 4 >= piece.len;
    if piece.len <= WHOLE_MIN || (worth_it && piece.len <= WHOLE_MAX) {
        let Some(payload) = whole(ctx, piece).await? else { return Ok(None) };
        kept.keep(&piece.key, &payload);
        return Ok(Some(payload.slice(part.start as usize..part.end as usize)));
    }
    units(ctx, piece, part).await
}

async fn whole(ctx: &FileContext, piece: &Piece) -> Result<Option<Bytes>> {
    let Some(object) = get(ctx, piece, None).await? else { return Ok(None) };
    let check = !ctx.world.mutant.lacks(Protection::VerifyOnRead);
    let (header, payload) =
        segment::decode(&object, &piece.key, check).map_err(|e| at(e, piece))?;
    belongs(&header, piece)?;
    Ok(Some(payload))
}

async fn units(ctx: &FileContext, piece: &Piece, part: Range<u64>) -> Result<Option<Bytes>> {
    let units = covering_units(&part, piece.len);
    let (payload, table) = unit_ranges(&units, piece.len);
    let (header, bytes, table) = futures::try_join!(
        get(ctx, piece, Some(0..HEADER as u64)),
        get(ctx, piece, Some(payload.clone())),
        get(ctx, piece, Some(table)),
    )?;
    let (Some(header), Some(bytes), Some(table)) = (header, bytes, table) else {
        return Ok(None);
    };
    belongs(&Header::decode(&header, &piece.key).map_err(|e| at(e, piece))?, piece)?;
    if bytes.len() as u64 != payload.end - payload.start {
        return Err(cut_short(piece));
    }
    let first = units.start * segment::UNIT;
    if !ctx.world.mutant.lacks(Protection::VerifyOnRead) {
        segment::verify(&bytes, &table, &piece.key, piece.offset + first)?;
    }
    Ok(Some(bytes.slice((part.start - first) as usize..(part.end - first) as usize)))
}

async fn get(ctx: &FileContext, piece: &Piece, range: Option<Range<u64>>) -> Result<Option<Bytes>> {
    ctx.ask(&piece.key, ctx.store.blobs.read(&piece.key, range)).await
}

fn belongs(header: &Header, piece: &Piece) -> Result<()> {
    let data = matches!(header.kind, SegmentKind::Data | SegmentKind::Block);
    if data && header.offset == piece.offset && header.len == piece.len {
        return Ok(());
    }
    let what = format!(
        "it is {:?} of {} bytes at {}, expected data of {} bytes at {} of the file",
        header.kind, header.len, header.offset, piece.len, piece.offset
    );
    Err(Error::new(Status::Corrupt, what).on(&piece.key))
}

fn cut_short(piece: &Piece) -> Error {
    let what = format!("it is shorter than its {} bytes (offset {})", piece.len, piece.offset);
    Error::new(Status::Corrupt, what).on(&piece.key)
}

/// A damaged header cannot say where it belonged; the reader can.
fn at(error: Error, piece: &Piece) -> Error {
    if error.status() != Status::Corrupt || error.message().contains("of the file") {
        return error;
    }
    let what = format!("{} (offset {} of the file)", error.message(), piece.offset);
    Error::new(Status::Corrupt, what).on(&piece.key)
}
