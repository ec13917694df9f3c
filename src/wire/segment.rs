//! Segments: how a run of bytes, a seal, a block and an index look in the store.
//!
//! Question: given an object's bytes, whose are they, where do they belong, and are they whole?
//! Rule: every object begins with one 64-byte header that says so and is checked by itself; a data
//! payload is followed by one CRC-32C for each 64 KiB of it, so that a reader can verify the part
//! it needs. The payload's length follows from the object's size as well as from the header, and
//! the two must agree. The obvious rule, one checksum of the whole, forces a reader of 100 bytes to
//! fetch 4 MiB. A seal is the header alone: exactly 64 bytes, while data has at least 69. So the
//! *sizes* in a LIST tell them apart and a recoverer needs no GET (PROTOCOL trap 8).
//!
//! ```text
//!  0 magic "tnre"   4 version   5 kind   6 zero[2]   8 epoch   16 seq   24 file offset
//! 32 payload length       40 open        44 writer nonce[16]     60 crc32c of bytes 0..60
//! ```
//! Numbers are little-endian; the nonce is big-endian, as it is written in names. The header does
//! not carry the payload's checksum: one writer sends one payload for one sequence number, ever, so
//! an equal header means an equal segment.
//!
//! Invariants: a flipped byte anywhere is noticed
//! (`file_wire::every_flipped_byte_of_a_segment_is_noticed`); encoding copies no payload
//! (`file_wire::encoding_hands_the_packets_through_untouched`); packet boundaries leave no trace
//! (`file_wire::the_bytes_do_not_depend_on_how_they_were_packed`). What is not here: keys
//! (`wire::key`), which segment is effective (`decide::tail`).

use crate::base::{Epoch, Error, Id128, Result, Status, WriterId};
use bytes::Bytes;
use crc_fast::{CrcAlgorithm, Digest};
use std::ops::Range;

/// Bytes of a header, and so of a seal.
pub const HEADER: usize = 64;
/// Payload bytes under one checksum.
pub const UNIT: u64 = 64 << 10;

const MAGIC: [u8; 4] = *b"tnre";
const VERSION: u8 = 1;
const CRC_AT: usize = 60;

/// What an object under `data/` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SegmentKind {
    /// One segment of a writer.
    Data = 1,
    /// The end of a directory: nothing at or behind it counts.
    Seal = 2,
    /// A compacted run of segments.
    Block = 3,
    /// The payload lengths of a block's segments.
    Index = 4,
}

/// The first 64 bytes of every object under `data/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What it is.
    pub kind: SegmentKind,
    /// Who wrote it: of a seal, who sealed.
    pub by: WriterId,
    /// Its sequence number in its directory.
    pub seq: u64,
    /// Where its first byte belongs in the file.
    pub offset: u64,
    /// Bytes of payload.
    pub len: u64,
    /// The nonce of that writer.
    pub nonce: Id128,
}

impl Header {
    /// The 64 bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADER] {
        let mut b = [0; HEADER];
        b[..4].copy_from_slice(&MAGIC);
        b[4] = VERSION;
        b[5] = self.kind as u8;
        b[8..16].copy_from_slice(&self.by.epoch.0.to_le_bytes());
        b[16..24].copy_from_slice(&self.seq.to_le_bytes());
        b[24..32].copy_from_slice(&self.offset.to_le_bytes());
        b[32..40].copy_from_slice(&self.len.to_le_bytes());
        b[40..44].copy_from_slice(&self.by.open.to_le_bytes());
        b[44..60].copy_from_slice(&self.nonce.to_bytes());
        let crc = crc32c(&b[..CRC_AT]);
        b[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        b
    }

    /// Reads and checks the first 64 bytes of `object`, which is `key` (for the error).
    pub fn decode(object: &[u8], key: &str) -> Result<Header> {
        let Some(b) = object.first_chunk::<HEADER>() else {
            let what = format!("{} bytes, expected a header of {HEADER}", object.len());
            return Err(corrupt(key, what));
        };
        if b[..4] != MAGIC {
            return Err(corrupt(key, "it does not begin with the magic of a segment".into()));
        }
        if u32_at(b, CRC_AT) != crc32c(&b[..CRC_AT]) {
            return Err(corrupt(key, "the header's checksum does not match".into()));
        }
        if b[4] != VERSION {
            let what = format!("segment version {}, this library reads {VERSION}", b[4]);
            return Err(Error::new(Status::Unsupported, what).on(key));
        }
        let kind = match b[5] {
            1 => SegmentKind::Data,
            2 => SegmentKind::Seal,
            3 => SegmentKind::Block,
            4 => SegmentKind::Index,
            other => return Err(corrupt(key, format!("unknown kind {other} of segment"))),
        };
        let by = WriterId { epoch: Epoch(u64_at(b, 8)), open: u32_at(b, 40) };
        let mut nonce = [0; 16];
        nonce.copy_from_slice(&b[44..60]);
        let (seq, offset, len) = (u64_at(b, 16), u64_at(b, 24), u64_at(b, 32));
        let exact = |n: u64| n <= Epoch::MAX.0;
        if !exact(by.epoch.0) || by.open > WriterId::MAX_OPEN || !exact(offset) || !exact(len) {
            return Err(corrupt(key, format!("writer {by} at {offset}+{len} is out of range")));
        }
        Ok(Header { kind, by, seq, offset, len, nonce: Id128::from_bytes(nonce) })
    }
}

/// The seal of `dir`-position `seq`, sealed by `by`: exactly 64 bytes.
#[must_use]
pub fn seal(by: WriterId, nonce: Id128, seq: u64, offset: u64) -> Bytes {
    let header = Header { kind: SegmentKind::Seal, by, seq, offset, len: 0, nonce };
    Bytes::copy_from_slice(&header.encode())
}

/// The pieces of a data object, in order: header, packets as they are, checksum table. `header.len`
/// must be the packets' total.
#[must_use]
pub fn encode(header: &Header, packets: &[Bytes]) -> Vec<Bytes> {
    debug_assert_eq!(header.len, packets.iter().map(|p| p.len() as u64).sum::<u64>());
    let mut pieces = Vec::with_capacity(packets.len() + 2);
    pieces.push(Bytes::copy_from_slice(&header.encode()));
    pieces.extend(packets.iter().cloned());
    pieces.push(Bytes::from(table(packets)));
    pieces
}

/// Bytes of an object with `len` bytes of payload.
#[must_use]
pub fn object_size(len: u64) -> u64 {
    HEADER as u64 + len + 4 * len.div_ceil(UNIT)
}

/// What an object's size alone says: `None` for a size that nothing of ours has.
#[must_use]
pub fn told_by_size(size: u64) -> Option<SizeTells> {
    let rest = size.checked_sub(HEADER as u64)?;
    if rest == 0 {
        return Some(SizeTells::Seal);
    }
    let units = rest.div_ceil(UNIT + 4);
    let len = rest.checked_sub(4 * units)?;
    (len > 0 && object_size(len) == size).then_some(SizeTells::Data(len))
}

/// What a LIST row is, by its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeTells {
    /// Exactly a header.
    Seal,
    /// A header, this many bytes of payload, and their checksums.
    Data(u64),
}

/// The whole units that cover `part` of a payload of `len` bytes.
#[must_use]
pub fn covering_units(part: &Range<u64>, len: u64) -> Range<u64> {
    part.start / UNIT..part.end.min(len).div_ceil(UNIT)
}

/// Where those units lie in the object: payload range and checksum range.
#[must_use]
pub fn unit_ranges(units: &Range<u64>, len: u64) -> (Range<u64>, Range<u64>) {
    let head = HEADER as u64;
    let payload = head + units.start * UNIT..head + (units.end * UNIT).min(len);
    let table = head + len + 4 * units.start..head + len + 4 * units.end;
    (payload, table)
}

/// Verifies whole units against their checksums. The error names the first bad byte range by its
/// offset in the file: `at` is where the first unit belongs.
pub fn verify(units: &[u8], table: &[u8], key: &str, at: u64) -> Result<()> {
    let expected = (units.len() as u64).div_ceil(UNIT) * 4;
    if table.len() as u64 != expected {
        let what = format!("{} bytes of checksums, expected {expected}", table.len());
        return Err(corrupt(key, what));
    }
    for (i, (unit, crc)) in units.chunks(UNIT as usize).zip(table.chunks_exact(4)).enumerate() {
        if crc32c(unit).to_le_bytes() != crc {
            let from = at + i as u64 * UNIT;
            let what =
                format!("bad checksum in bytes {from}..{} of the file", from + unit.len() as u64);
            return Err(corrupt(key, what));
        }
    }
    Ok(())
}

/// Splits a whole data object into header and payload. With `check` the payload is verified too.
pub fn decode(object: &Bytes, key: &str, check: bool) -> Result<(Header, Bytes)> {
    let header = Header::decode(object, key)?;
    if object_size(header.len) != object.len() as u64 {
        let what = format!(
            "{} bytes for a payload of {} at offset {} of the file",
            object.len(),
            header.len,
            header.offset
        );
        return Err(corrupt(key, what));
    }
    let end = HEADER + header.len as usize;
    if check {
        verify(&object[HEADER..end], &object[end..], key, header.offset)?;
    }
    Ok((header, object.slice(HEADER..end)))
}

/// An index object: the payload lengths of a block's segments.
pub fn encode_index(header: &Header, lengths: &[u32]) -> Bytes {
    let mut out = Vec::with_capacity(HEADER + lengths.len() * 4 + 4);
    out.extend_from_slice(&header.encode());
    lengths.iter().for_each(|l| out.extend_from_slice(&l.to_le_bytes()));
    let crc = crc32c(&out[HEADER..]);
    out.extend_from_slice(&crc.to_le_bytes());
    Bytes::from(out)
}

/// Reads an index object of `n` segments.
pub fn decode_index(object: &[u8], n: u64, key: &str) -> Result<Vec<u32>> {
    let header = Header::decode(object, key)?;
    let body = &object[HEADER..];
    if header.kind != SegmentKind::Index
        || Some(body.len() as u64) != n.checked_mul(4).and_then(|b| b.checked_add(4))
    {
        let what = format!("{:?} of {} bytes, expected {n} lengths", header.kind, object.len());
        return Err(corrupt(key, what));
    }
    let (lengths, crc) = body.split_at(body.len() - 4);
    if crc32c(lengths).to_le_bytes() != crc {
        return Err(corrupt(key, "the index's checksum does not match".into()));
    }
    Ok(lengths.chunks_exact(4).map(|c| u32_at(c, 0)).collect())
}

/// CRC-32C (Castagnoli).
#[must_use]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(bytes)
}

/// One CRC-32C for each 64 KiB of the payload, whatever pieces it comes in. A piece that is a whole
/// unit, the common case, takes the short way.
fn table(packets: &[Bytes]) -> Vec<u8> {
    let total: usize = packets.iter().map(Bytes::len).sum();
    let mut out = Vec::with_capacity(total.div_ceil(UNIT as usize) * 4);
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    let mut filled = 0;
    for packet in packets {
        let mut rest = &packet[..];
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(UNIT as usize - filled));
            if now.len() == UNIT as usize {
                out.extend_from_slice(&crc32c(now).to_le_bytes());
            } else {
                digest.update(now);
                filled += now.len();
                if filled == UNIT as usize {
                    out.extend_from_slice(&(digest.finalize_reset() as u32).to_le_bytes());
                    filled = 0;
                }
            }
            rest = later;
        }
    }
    if filled > 0 {
        out.extend_from_slice(&(digest.finalize() as u32).to_le_bytes());
    }
    out
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().rev().fold(0, |n, b| n << 8 | u32::from(*b))
}

fn corrupt(key: &str, what: String) -> Error {
    Error::new(Status::Corrupt, what).on(key)
}
