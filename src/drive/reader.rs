//! Reading a file, also while it is written.
//!
//! Question: what does a reader see, and what does looking cost? Rule: a reader is bound to the
//! incarnation it first saw and never asks the lease. What it has shown never shrinks or changes: a
//! new view is taken only if it is at least as long. A segment that is gone means the manifest
//! moved on (compaction), so the view is renewed and the same offset tried again; gone under an
//! unchanged manifest is damage. A follower asks for the *next* sequence number (one GET), not for
//! a LIST, at intervals that grow up to a second and start over with each find; since a file may be
//! closed or moved on without anything appearing there, the manifest is asked for too,
//! conditionally, after each second look in vain.
//!
//! Invariants: `file_read::*`, `file_follow::*`. What is not here: which bytes are visible
//! (`drive::view`), checking them (`drive::fetch`).

use super::context::{FileContext, is_transient};
use super::fetch::{self, Kept};
use super::view::{Piece, View, block_pieces, look_again, missing};
use crate::base::{Error, FilePath, Result, Status, WriterId};
use crate::store::Read;
use crate::wire::key;
use crate::wire::manifest::Block;
use crate::wire::segment::{HEADER, Header, SegmentKind, decode_index};
use bytes::{Bytes, BytesMut};
use futures::stream::{self, StreamExt, TryStreamExt};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Segments fetched at once.
const PARALLEL: usize = 8;
/// Views renewed for one read before a missing object is believed missing.
const RENEWALS_MAX: u32 = 4;
const POLL_FIRST: Duration = Duration::from_millis(10);
const POLL_LONGEST: Duration = Duration::from_secs(1);

/// A reader bound to one incarnation.
#[derive(Debug)]
pub(crate) struct Reader {
    ctx: FileContext,
    path: FilePath,
    incarnation: u64,
    view: Mutex<Arc<View>>,
    /// Segments of finalised blocks, by the block's directory, first number and object.
    blocks: Mutex<HashMap<BlockName, Arc<Vec<Piece>>>>,
    kept: Kept,
    /// Where the last read ended.
    last_end: AtomicU64,
}

type BlockName = (WriterId, u64, Option<crate::base::Id128>);

impl Reader {
    pub(crate) async fn open(ctx: FileContext, path: FilePath) -> Result<Reader> {
        let view = look_again(&ctx, &path, None).await?;
        Ok(Reader {
            incarnation: view.manifest.incarnation,
            ctx,
            path,
            view: Mutex::new(Arc::new(view)),
            blocks: Mutex::default(),
            kept: Kept::default(),
            last_end: AtomicU64::new(0),
        })
    }

    pub(crate) fn context(&self) -> &FileContext {
        &self.ctx
    }

    pub(crate) fn view(&self) -> Arc<View> {
        lock(&self.view).clone()
    }

    /// Looks again. Keeps the old view if the new one shows less (it was taken by a slower look).
    pub(crate) async fn refresh(&self) -> Result<u64> {
        let view = look_again(&self.ctx, &self.path, Some(self.incarnation)).await?;
        Ok(self.adopt(view))
    }

    fn adopt(&self, view: View) -> u64 {
        let mut held = lock(&self.view);
        if view.length() >= held.length() {
            *held = Arc::new(view);
        }
        held.length()
    }

    pub(crate) async fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        let view = self.view();
        let end = offset.saturating_add(len as u64).min(view.length());
        if offset >= end {
            return Ok(Bytes::new());
        }
        let sequential = self.last_end.swap(end, Ordering::AcqRel) == offset;
        let mut view = view;
        for _ in 0..RENEWALS_MAX {
            match self.read_view(&view, offset..end, sequential).await {
                Err(gone) if gone.status() == Status::NotFound => {
                    let before = view.version.clone();
                    self.refresh().await?;
                    view = self.view();
                    if view.version == before {
                        return Err(gone.with_status(Status::Corrupt));
                    }
                }
                read => return read,
            }
        }
        let what = "its segments moved on faster than they could be read";
        Err(Error::new(Status::StoreUnavailable, what).on(&self.path))
    }

    async fn read_view(&self, view: &View, range: Range<u64>, sequential: bool) -> Result<Bytes> {
        let pieces = self.pieces(view, &range).await?;
        let parts = pieces.into_iter().map(|piece| {
            let from = range.start.max(piece.offset) - piece.offset;
            let to = range.end.min(piece.offset + piece.len) - piece.offset;
            async move {
                let part = fetch::part(&self.ctx, &self.kept, &piece, from..to, sequential).await?;
                part.ok_or_else(|| missing(&piece.key, piece.offset))
            }
        });
        let mut parts: Vec<Bytes> = stream::iter(parts).buffered(PARALLEL).try_collect().await?;
        if parts.len() == 1 {
            return Ok(parts.remove(0));
        }
        let mut whole = BytesMut::with_capacity((range.end - range.start) as usize);
        parts.iter().for_each(|part| whole.extend_from_slice(part));
        Ok(whole.freeze())
    }

    /// The objects that hold `range`, in file order.
    async fn pieces(&self, view: &View, range: &Range<u64>) -> Result<Vec<Piece>> {
        let mut found = Vec::new();
        let blocks = &view.manifest.blocks;
        let first = blocks.partition_point(|b| b.offset + b.len <= range.start);
        for block in blocks[first..].iter().take_while(|b| b.offset < range.end) {
            let segments = self.segments(view, block).await?;
            found.extend_from_slice(overlapping(&segments, range));
        }
        found.extend_from_slice(overlapping(&view.tail, range));
        Ok(found)
    }

    async fn segments(&self, view: &View, block: &Block) -> Result<Arc<Vec<Piece>>> {
        let name = (block.dir, block.first, block.compacted);
        if let Some(known) = lock(&self.blocks).get(&name) {
            return Ok(known.clone());
        }
        let file_id = view.manifest.file_id;
        let pieces = match (block.compacted, block.index) {
            (Some(object), _) => {
                let key = format!("data/{file_id}/blocks/{object}").into();
                vec![Piece { offset: block.offset, len: block.len, key }]
            }
            (None, Some(index)) => match self.indexed(view, block, index).await? {
                Some(pieces) => pieces,
                None => block_pieces(&self.ctx, file_id, block).await?,
            },
            (None, None) => block_pieces(&self.ctx, file_id, block).await?,
        };
        let pieces = Arc::new(pieces);
        lock(&self.blocks).insert(name, pieces.clone());
        Ok(pieces)
    }

    /// A block's segments from its index object; `None` if there is no such object any more.
    async fn indexed(
        &self,
        view: &View,
        block: &Block,
        index: crate::base::Id128,
    ) -> Result<Option<Vec<Piece>>> {
        let file_id = view.manifest.file_id;
        let key = key::index(file_id, index);
        let found = self.ctx.ask(&key, self.ctx.store.blobs.read(&key, None)).await?;
        let Some(object) = found else { return Ok(None) };
        let lengths = decode_index(&object, block.n, &key)?;
        if lengths.iter().map(|l| u64::from(*l)).sum::<u64>() != block.len {
            let what = format!("its lengths do not add up to the block's {}", block.len);
            return Err(Error::new(Status::Corrupt, what).on(&key));
        }
        let mut offset = block.offset;
        let pieces = (block.first..).zip(lengths).map(|(seq, len)| {
            let key = key::segment_at(file_id, block.dir, seq).into();
            let piece = Piece { offset, len: u64::from(len), key };
            offset += piece.len;
            piece
        });
        Ok(Some(pieces.collect()))
    }

    /// Follows the file until it is `length` long, or closed.
    pub(crate) async fn follow(&self, length: u64) -> Result<u64> {
        let mut interval = POLL_FIRST;
        let mut in_vain = 0_u32;
        let mut looked = false;
        loop {
            let view = self.view();
            if view.length() >= length || view.is_closed() {
                return Ok(view.length());
            }
            // One whole look first: the view may be old, and asking for segment after segment would
            // take as long as reading.
            let news = match looked {
                true => self.poll(&view, in_vain % 2 == 1).await,
                false => self.refresh().await.map(|_| true),
            };
            looked |= news.is_ok();
            match news {
                Ok(true) => (interval, in_vain) = (POLL_FIRST, 0),
                Ok(false) => {
                    self.ctx.sleep(interval).await;
                    interval = (interval * 3 / 2).min(POLL_LONGEST);
                    in_vain += 1;
                }
                Err(e) if is_transient(&e) => {
                    self.ctx.sleep(POLL_LONGEST).await;
                }
                Err(e) => return Err(e),
            }
        }
    }

    /// One look for something new: the next segment, or with `manifest` also a new manifest.
    /// Returns whether there was.
    async fn poll(&self, view: &View, manifest: bool) -> Result<bool> {
        let next = if view.sealed { None } else { view.next() };
        if let Some((dir, seq)) = next {
            let key = key::segment_at(view.manifest.file_id, dir, seq);
            let range = Some(0..HEADER as u64);
            let found = self.ctx.ask(&key, self.ctx.store.blobs.read(&key, range)).await?;
            if let Some(header) = found {
                self.extend(view, &Header::decode(&header, &key)?, &key)?;
                return Ok(true);
            }
        }
        if !manifest && next.is_some() {
            return Ok(false);
        }
        match self.ctx.manifest_if_changed(&self.path, Some(&view.version)).await? {
            Read::Unchanged => Ok(false),
            Read::Absent | Read::Present(_) => {
                self.refresh().await?;
                Ok(true)
            }
        }
    }

    /// Adds the segment (or the seal) that appeared behind the view.
    fn extend(&self, view: &View, header: &Header, key: &str) -> Result<()> {
        let sealed = header.kind == SegmentKind::Seal;
        let mut tail = view.tail.clone();
        if !sealed {
            if header.offset != view.length() || header.len == 0 {
                let what = format!(
                    "it says offset {} of the file, expected {}",
                    header.offset,
                    view.length()
                );
                return Err(Error::new(Status::Corrupt, what).on(key));
            }
            tail.push(Piece { offset: header.offset, len: header.len, key: key.into() });
        }
        let (manifest, version) = (view.manifest.clone(), view.version.clone());
        let _ = self.adopt(View { manifest, version, tail, sealed });
        Ok(())
    }
}

fn overlapping<'a>(pieces: &'a [Piece], range: &Range<u64>) -> &'a [Piece] {
    let from = pieces.partition_point(|p| p.offset + p.len <= range.start);
    let to = pieces.partition_point(|p| p.offset < range.end);
    &pieces[from..to.max(from)]
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
