//! The integers of a chunk as its body.

use super::buffers::{Scratch, view};
use super::choose::{self, Choices, Lists};
use super::constants::*;
use super::countdown;
use super::integers::{Domain, Integers};
use super::plan::Plan;
use crate::codec::sleek::format::{ChunkHeader, Special, Subchunks};
use crate::codec::sleek::simd::{self, MASK_BYTES, Simd};
use crate::container::constants::*;
use crate::primitives::quantize::Element;
use crate::simd::bits::BitWriter;
use crate::simd::stream::MemoryQueues;
use crate::simd::word::Word;

/// Packs the chunk; see `encode::encode`.
#[inline(always)]
pub fn pack_chunk<E: Element, X: Element, const S: usize, P: Simd<X::Word, S>>(
    p: P,
    plan: &Plan,
    domain: &Domain<E::Word>,
    Integers { words, extremes }: &Integers<X::Word, S>,
    Scratch { codes, lists, exceptions }: &mut Scratch,
    queues: &mut MemoryQueues,
    out: &mut [u8],
) -> Option<usize> {
    let (codes, lists) = (view::<[[X::Word; S]; SUBCHUNKS]>(codes), view(lists));
    let adaptive = extremes.is_some();
    let mut choices = match extremes {
        Some(extremes) => {
            choose::adaptive::<X, S, P>(p, domain.special, words, extremes, codes, lists, &mut queues.prefetch)
        }
        None => Choices::NONE,
    };
    let mut at = CHUNK_HEADER_BYTES;
    let (lines, stores) = (queues.prefetch.left() / SUBCHUNKS, queues.stores.left().div_ceil(SUBCHUNKS));
    for s in 0..SUBCHUNKS {
        queues.prefetch.fetch(lines);
        queues.stores.put(stores);
        // Without a choice to be made for the whole chunk, each subchunk's codes may take the place of the last one's.
        let codes = &mut codes[if adaptive { s } else { 0 }];
        if !adaptive {
            choose::fast::<X, S, P>(p, plan, domain.special, words, s, codes, &mut choices);
        }
        let width = u32::from(choices.widths[s]);
        let packed_bytes = S * width as usize / 8;
        if at + packed_bytes > CHUNK_BYTES {
            return None;
        }
        if width > 0 {
            p.pack(codes, width, &mut out[at..]);
        }
        at += packed_bytes;
    }
    let payload = at - CHUNK_HEADER_BYTES;
    let padded = payload.next_multiple_of(ALIGN);
    out[at..at + padded - payload].fill(0);
    let tail = Tail::new(&choices, choices.bases.map(|base| domain.word(base)));
    let exceptions = Exceptions::<S>::pack::<X::Word, P>(p, &choices, tail.patched, lists, exceptions);
    Some(tail.write::<E, S>(plan, domain, padded, &exceptions, out))
}

/// The exceptions of a chunk as they are stored, but for the widths of high parts: those of the patched subchunks one
/// behind the other.
struct Exceptions<'a, const S: usize> {
    /// Which mask bytes are not 0.
    flags: [[u8; 4]; SUBCHUNKS],
    /// These mask bytes.
    masks: &'a [u8],
    /// High parts.
    highs: &'a [u8],
}

impl<'a, const S: usize> Exceptions<'a, S> {
    /// Those of the subchunks `patched`, in `place`.
    #[inline(always)]
    fn pack<W: Word, P: Simd<W, S>>(
        p: P,
        choices: &Choices<W>,
        patched: u32,
        lists: &Lists<W, S>,
        place: &'a mut [u8],
    ) -> Self {
        let (masks, highs) = place.split_at_mut((SUBCHUNKS + 1) * MASK_BYTES);
        let (mut flags, mut masks_end, mut highs_end) = ([[0; 4]; SUBCHUNKS], 0, 0);
        for (s, own) in Subchunks(patched).zip(&mut flags) {
            let flags = simd::flags::<S>(&lists.masks[s]);
            *own = flags.to_le_bytes();
            let place = masks[masks_end..].first_chunk_mut().expect("room for all that there may be");
            p.compress::<S>(&lists.masks[s], flags, place);
            masks_end += choices.mask_bytes[s] as usize;
            let (count, high_width) = (choices.exceptions[s] as usize, choices.full_widths[s] - choices.widths[s]);
            highs_end += p.pack_highs(&lists.highs[s], count, high_width.into(), &mut highs[highs_end..]);
        }
        Exceptions { flags, masks: &masks[..masks_end], highs: &highs[..highs_end] }
    }
}

/// What the tail of a chunk is made of.
struct Tail<W> {
    active: u32,
    patched: u32,
    /// Of each subchunk, whether it is active or not.
    descriptors: [u8; SUBCHUNKS],
    /// Bases, and bit s set where that of subchunk s is a word.
    bases: [W; SUBCHUNKS],
    based: u32,
    /// Bits of the high parts of each subchunk's exceptions.
    high_widths: [u8; SUBCHUNKS],
}

/// Of the numbers of all subchunks those of the subchunks `of`.
#[inline(always)]
fn chosen<'a>(of: u32, list: &'a [u8; SUBCHUNKS], place: &'a mut [u8; SUBCHUNKS]) -> &'a [u8; SUBCHUNKS] {
    if of == u32::MAX {
        return list;
    }
    Subchunks(of).zip(&mut *place).for_each(|(s, place)| *place = list[s]);
    place
}

impl<W: Word> Tail<W> {
    /// For these choices and bases.
    #[inline(always)]
    fn new<X>(choices: &Choices<X>, bases: [W; SUBCHUNKS]) -> Self {
        let of_each = |number: [u16; SUBCHUNKS]| number.map(|n| n as u8);
        let (mut descriptors, mut high_widths) = ([0; SUBCHUNKS], [0; SUBCHUNKS]);
        for s in 0..SUBCHUNKS {
            let width = choices.widths[s].wrapping_sub((choices.exceptions[s] == 0) as u16) & 63;
            descriptors[s] = choices.modes[s] << 6 | width;
            high_widths[s] = choices.full_widths[s] - choices.widths[s];
        }
        Tail {
            active: Subchunks::which(|s| choices.full_widths[s] > 0).0,
            patched: Subchunks::which(|s| choices.exceptions[s] > 0).0,
            descriptors: of_each(descriptors),
            bases,
            based: choices.based,
            high_widths: of_each(high_widths),
        }
    }

    /// Writes header and tail around the payload; returns the bytes of the body. Beyond `CHUNK_BYTES` nothing is
    /// written.
    #[inline(always)]
    fn write<E: Element<Word = W>, const S: usize>(
        mut self,
        plan: &Plan,
        domain: &Domain<W>,
        payload: usize,
        exceptions: &Exceptions<S>,
        out: &mut [u8],
    ) -> usize {
        let (reference, width) = self.rebase((W::ONE << countdown::base_bits(E::EXPONENT_BITS)).sub(W::ONE));
        // Without a countdown decoders that know of none can read it.
        let special = match domain.special {
            Special::Countdown if self.based == u32::MAX => Special::Exponent,
            special => special,
        };
        let header = ChunkHeader {
            active: self.active,
            patched: self.patched,
            payload_units: (payload / ALIGN) as u16,
            base_width: width as u8,
            exact: plan.exact_apart,
            shift: domain.shift as u8,
            special,
            base_ref_low: reference.to_u64() as u32,
        };
        let (active, patched) = (self.active.count_ones() as usize, self.patched.count_ones() as usize);
        let high_bytes = if W::BITS == 64 { 4 } else { 0 };
        let flag_bytes = S / MASK_BYTE_VALUES / 8;
        let of_exceptions = patched * (1 + flag_bytes) + exceptions.masks.len() + exceptions.highs.len();
        let used = high_bytes + 4 * width as usize + active + of_exceptions;
        let start = CHUNK_HEADER_BYTES + payload;
        let end = (start + used).next_multiple_of(ALIGN);
        if end > CHUNK_BYTES {
            return end;
        }
        out[..CHUNK_HEADER_BYTES].copy_from_slice(&header.to_bytes());
        let mut rest = &mut out[start..end];
        let mut put = |bytes: &[u8]| {
            let (place, behind) = std::mem::take(&mut rest).split_at_mut(bytes.len());
            place.copy_from_slice(bytes);
            rest = behind;
        };
        put(&((reference.to_u64() >> 32) as u32).to_le_bytes()[..high_bytes]);
        put(self.pack_bases(width, &mut [0; 4 * 64]));
        for (of, list) in [(self.active, &self.descriptors), (self.patched, &self.high_widths)] {
            put(&chosen(of, list, &mut [0; SUBCHUNKS])[..of.count_ones() as usize]);
        }
        exceptions.flags[..patched].iter().for_each(|flags| put(&flags[..flag_bytes]));
        put(exceptions.masks);
        put(exceptions.highs);
        rest.fill(0);
        end
    }

    /// The offsets of the bases, packed.
    #[inline(always)]
    fn pack_bases<'b>(&self, width: u32, place: &'b mut [u8; 4 * 64]) -> &'b [u8] {
        if width > 0 {
            let mut packed = BitWriter::new(place);
            self.bases.iter().for_each(|b| packed.push(b.to_u64(), width));
            packed.finish();
        }
        &place[..4 * width as usize]
    }

    /// Turns the bases into offsets from the least of those that are words, or else of the others; returns it and the
    /// width of the offsets. Of a base that is no word `counted` has the bits that count.
    #[inline(always)]
    fn rebase(&mut self, counted: W) -> (W, u32) {
        let none = self.based == 0;
        let bias = if none { W::ZERO } else { W::SIGN };
        let mut least = !W::ZERO;
        for s in 0..SUBCHUNKS {
            let is_asked = none || self.based >> s & 1 == 1;
            least = least.min(if is_asked { self.bases[s] ^ bias } else { !W::ZERO });
        }
        let (reference, mut any) = (least ^ bias, W::ZERO);
        for s in 0..SUBCHUNKS {
            let counts = if self.based >> s & 1 == 1 { !W::ZERO } else { counted };
            self.bases[s] = self.bases[s].sub(reference) & counts;
            any = any | self.bases[s];
        }
        (reference, any.width())
    }
}
