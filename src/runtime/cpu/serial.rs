//! Compression by one thread: each body is encoded where it goes. Past the caches it leaves while the next one is
//! encoded.

use super::chunk::{ChunkEncoder, Job};
use super::codec::{ChunkCodec, SLACK};
use crate::container::IndexMut;
use crate::container::checksum;
use crate::container::constants::*;
use crate::error::Result;
use crate::host::memory::Scratch;
use crate::simd::stream::{self, StreamingStores};

/// Encodes every chunk; returns the bytes of all bodies, or of the first ones that are more than there is room for.
pub fn compress<C: ChunkCodec>(job: &Job<C>, index: IndexMut, past_caches: bool, bodies: &mut [u8]) -> Result<usize> {
    let body = job.layout.chunk_bytes() + SLACK;
    if past_caches {
        let mut stages = [Scratch::new(stage_bytes(body))?, Scratch::new(stage_bytes(body))?];
        let done = encode_all(job, index, &mut Staged::new(bodies, &mut stages));
        // After an error too: a copy still under way must not land on what the caller writes next.
        stream::fence();
        done
    } else {
        encode_all(job, index, &mut Direct { rest: bodies, spare: &mut Scratch::new(body)? })
    }
}

/// Where bodies go, one after the other.
trait BodySink {
    /// Where the next one is encoded, with `SLACK` to spare, and what leaves meanwhile.
    fn next(&mut self) -> (&mut [u8], StreamingStores<'_>);
    /// Takes the one that was encoded there; false if there is no room for it.
    fn take(&mut self, bytes: usize) -> bool;
    /// Completes all.
    fn finish(&mut self);
}

/// Encodes every chunk to its `place`, as long as there is room.
fn encode_all<C: ChunkCodec>(job: &Job<C>, mut index: IndexMut, place: &mut impl BodySink) -> Result<usize> {
    let layout = job.layout;
    let mut encoder = ChunkEncoder::new(job)?;
    let mut at = 0;
    for g in 0..layout.groups {
        let (start, mut sum) = (at, 0u64);
        for c in layout.group_chunks(g) {
            let (out, stores) = place.next();
            let (kind, bytes) = encoder.encode(c, c + 1, stores, out);
            sum = sum.wrapping_add(checksum::of_chunk(&out[..bytes], c % GROUP_CHUNKS));
            at += bytes;
            if !place.take(bytes) {
                return Ok(at);
            }
            index.set_chunk(c, kind, bytes);
        }
        index.set_group(g, (layout.bodies_at() + start) as u64, sum);
    }
    place.finish();
    Ok(at)
}

/// Bodies are encoded where they go, but for the last ones: an encoder needs room to spare.
struct Direct<'a> {
    /// The room that is left.
    rest: &'a mut [u8],
    spare: &'a mut [u8],
}

impl Direct<'_> {
    fn has_room_to_spare(&self) -> bool {
        self.rest.len() >= self.spare.len()
    }
}

impl BodySink for Direct<'_> {
    fn next(&mut self) -> (&mut [u8], StreamingStores<'_>) {
        let out = if self.has_room_to_spare() { &mut *self.rest } else { &mut self.spare };
        (out, StreamingStores::none())
    }

    fn take(&mut self, bytes: usize) -> bool {
        let in_place = self.has_room_to_spare();
        let Some(place) = self.rest.split_off_mut(..bytes) else { return false };
        if !in_place {
            place.copy_from_slice(&self.spare[..bytes]);
        }
        true
    }

    fn finish(&mut self) {}
}

/// Whole lines for a body of `bytes` that begins anywhere in the first one.
fn stage_bytes(bytes: usize) -> usize {
    (bytes.div_ceil(64) + 1) * 64
}

/// Bodies are encoded in two stages by turns, since an encoder's stores would have memory read that nobody needs. From
/// one whole lines leave while the next body is encoded in the other, behind what the last line had.
struct Staged<'a> {
    /// The room that is left behind what has left.
    rest: &'a mut [u8],
    /// The one that was encoded in last, and the other; each begins where a line does.
    stages: &'a mut [Scratch; 2],
    last: usize,
    /// Bytes before the bodies in the last one's first line, which are not theirs: only in the line that the first body
    /// begins in.
    before: usize,
    /// Bytes of the last one that are in use.
    used: usize,
}

impl<'a> Staged<'a> {
    fn new(bodies: &'a mut [u8], stages: &'a mut [Scratch; 2]) -> Self {
        let before = bodies.as_ptr().addr() % 64;
        Staged { rest: bodies, stages, last: 0, before, used: before }
    }
}

impl BodySink for Staged<'_> {
    fn next(&mut self) -> (&mut [u8], StreamingStores<'_>) {
        let [a, b] = &mut *self.stages;
        let (last, this) = if self.last == 0 { (a, b) } else { (b, a) };
        self.last = 1 - self.last;
        let whole = self.used / 64 * 64;
        this[..64].copy_from_slice(&last[whole..whole + 64]);
        self.used %= 64;
        if whole == 0 {
            return (&mut this[self.used..], StreamingStores::none());
        }
        let whole = &last[std::mem::take(&mut self.before)..whole];
        let place = self.rest.split_off_mut(..whole.len()).expect("room for what was taken");
        (&mut this[self.used..], StreamingStores::new(whole, place))
    }

    fn take(&mut self, bytes: usize) -> bool {
        self.used += bytes;
        self.used - self.before <= self.rest.len()
    }

    fn finish(&mut self) {
        let last = &self.stages[self.last][self.before..self.used];
        stream::copy(last, &mut self.rest[..last.len()]);
    }
}
