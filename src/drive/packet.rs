//! Copying into a packet.
//!
//! Question: how do bytes get from the caller into a 64 KiB packet fast? Rule: in pieces of 2 KiB. glibc 2.36's `memcpy` of 4 KiB and more falls from
//! 57 to 3.4 GB/s when the destination's page offset lies just above the source's, which a stream of odd-sized writes hits all the time; below
//! that size it takes another way. What is not here: where packets come from (`drive::budget`).

use bytes::BytesMut;

const PIECE: usize = 2 << 10;

/// Appends `bytes`; the packet must have room for them.
#[inline]
pub fn fill(packet: &mut BytesMut, bytes: &[u8]) {
    if bytes.len() < 2 * PIECE {
        packet.extend_from_slice(bytes);
    } else {
        bytes.chunks(PIECE).for_each(|piece| packet.extend_from_slice(piece));
    }
}
