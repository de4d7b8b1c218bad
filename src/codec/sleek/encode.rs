//! One chunk to its body.

use super::choose::{self, Choice, Survey, Window};
use super::plan::Plan;
use crate::error::Result;
use crate::format::constants::*;
use crate::format::{ChunkHeader, Kind, Special};
use crate::memory::filled;
use crate::params::Profile;
use crate::stage::quantize::{self, Element, mantissa_and_bias};
use crate::stage::round;
use crate::stage::simd::scalar::BitWriter;
use crate::stage::simd::{POSITIONS_SLACK, Simd};
use crate::stage::word::Word;

/// Buffers that an encoder reuses from chunk to chunk.
#[derive(Default)]
pub struct Buffers {
    /// The chunk's words, after a row of padding: a subchunk's window begins two words before it.
    words: Vec<u64>,
    /// Positions and high parts of the chunk's exceptions.
    exceptions: Vec<u8>,
}

/// The most that the exceptions of a chunk take: positions and full words, and a word that a `BitWriter` may reach behind them.
const EXCEPTIONS_BYTES: usize = SUBCHUNKS * MAX_EXCEPTIONS * 9 + POSITIONS_SLACK;

impl Buffers {
    /// Allocates them.
    pub fn new() -> Result<Buffers> {
        Ok(Buffers { words: filled((SUBCHUNK_BYTES + CHUNK_BYTES) / 8, 0)?, exceptions: filled(EXCEPTIONS_BYTES, 0)? })
    }
}

/// A subchunk of padding, then the subchunks of the chunk.
type Words<W, const S: usize> = [[W; S]; SUBCHUNKS + 1];

fn words<W: Word, const S: usize>(buffer: &mut [u64]) -> &mut Words<W, S> {
    assert!(size_of_val(buffer) >= size_of::<Words<W, S>>());
    // SAFETY: large enough by the assertion; u64 is aligned for every word, and every bit pattern is a word.
    unsafe { &mut *buffer.as_mut_ptr().cast() }
}

/// How the words of a chunk become integers, the same for all its subchunks.
struct Domain {
    shift: u32,
    special: Special,
}

/// Encodes the chunk `src` into `out`, which has `cpu::SLACK` bytes to spare; returns the kind and size of the body.
#[inline(always)]
pub fn chunk<E: Element, const S: usize, P: Simd<E::Word, S>>(
    plan: &Plan,
    buffers: &mut Buffers,
    src: &[u8],
    out: &mut [u8],
) -> (Kind, usize) {
    let raw_bytes = src.len().next_multiple_of(ALIGN);
    let words = words::<E::Word, S>(&mut buffers.words);
    load::<E::Word, S>(plan, src, words);
    let domain = to_integers::<E, S>(plan, words);
    if is_constant(words) {
        out[..ALIGN].fill(0);
        to_element::<E>(plan, &domain, words[1][0]).store(out);
        return (Kind::Constant, ALIGN);
    }
    match pack_chunk::<E, S, P>(plan, &domain, words, &mut buffers.exceptions, out) {
        Some(bytes) if bytes < raw_bytes => (Kind::Packed, bytes),
        _ => {
            raw::<E::Word>(plan, src, &mut out[..raw_bytes]);
            (Kind::Raw, raw_bytes)
        }
    }
}

/// Reads the chunk's words, extended by its last one.
#[inline(always)]
fn load<W: Word, const S: usize>(plan: &Plan, src: &[u8], words: &mut Words<W, S>) {
    let size = size_of::<W>();
    let words = words[1..].as_flattened_mut();
    let n = src.len() / size;
    for (w, b) in words.iter_mut().zip(src.chunks_exact(size)) {
        *w = W::load(b);
    }
    if plan.big_endian {
        words[..n].iter_mut().for_each(|w| *w = w.swap());
    }
    let last = words[n - 1];
    words[n..].fill(last);
}

/// The data as little-endian words.
fn raw<W: Word>(plan: &Plan, src: &[u8], out: &mut [u8]) {
    out[src.len()..].fill(0);
    out[..src.len()].copy_from_slice(src);
    if plan.big_endian {
        out[..src.len()].chunks_exact_mut(size_of::<W>()).for_each(<[u8]>::reverse);
    }
}

/// Words to the integers x of docs/format.md §3.2, in place.
#[inline(always)]
fn to_integers<E: Element, const S: usize>(plan: &Plan, words: &mut Words<E::Word, S>) -> Domain {
    if let Some(q) = &plan.quantizer {
        words[1..].iter_mut().for_each(|subchunk| quantize::encode::<E, S>(q, subchunk));
        return Domain { shift: 0, special: Special::Delta2 };
    }
    let words = words[1..].as_flattened_mut();
    if let Some(keep) = plan.keep_bits {
        round::encode(words, mantissa_and_bias(plan.dtype).0, keep);
    }
    let shift = if plan.profile == Profile::Fast && plan.keep_bits.is_none() { 0 } else { common_zeros(words) };
    if shift > 0 {
        words.iter_mut().for_each(|w| *w = w.sar(shift));
    }
    let exponent = shift == 0 && E::EXPONENT_BITS > 0;
    Domain { shift, special: if exponent { Special::Exponent } else { Special::Delta2 } }
}

/// Zero bits at the low end of every word; 0 if all words are zero.
#[inline(always)]
fn common_zeros<W: Word>(words: &[W]) -> u32 {
    let any = words.iter().fold(W::ZERO, |a, w| a | *w);
    if any == W::ZERO { 0 } else { any.trailing_zeros() }
}

#[inline(always)]
fn is_constant<W: Word, const S: usize>(words: &Words<W, S>) -> bool {
    let first = words[1][0];
    words[1..].iter().all(|s| s.iter().fold(W::ZERO, |d, w| d | (*w ^ first)) == W::ZERO)
}

/// The element's bits for its integer.
#[inline(always)]
fn to_element<E: Element>(plan: &Plan, domain: &Domain, x: E::Word) -> E::Word {
    match &plan.quantizer {
        Some(q) => quantize::decode::<E>(q, x),
        None => x << domain.shift,
    }
}

/// What the tail of a chunk is made of, lists as long as subchunks were entered.
struct Tail<'a, W> {
    active: u32,
    patched: u32,
    descriptors: [u8; SUBCHUNKS],
    /// Bases, and bit s set where subchunk s has one.
    bases: [W; SUBCHUNKS],
    based: u32,
    counts: [u8; SUBCHUNKS],
    high_widths: [u8; SUBCHUNKS],
    exceptions: &'a mut [u8],
    exceptions_len: usize,
}

/// Packs the chunk; `None` if its payload alone is no smaller than the data.
#[inline(always)]
fn pack_chunk<E: Element, const S: usize, P: Simd<E::Word, S>>(
    plan: &Plan,
    domain: &Domain,
    words: &Words<E::Word, S>,
    exceptions: &mut [u8],
    out: &mut [u8],
) -> Option<usize> {
    let mut tail = Tail {
        active: 0,
        patched: 0,
        descriptors: [0; SUBCHUNKS],
        bases: [E::Word::ZERO; SUBCHUNKS],
        based: 0,
        counts: [0; SUBCHUNKS],
        high_widths: [0; SUBCHUNKS],
        exceptions,
        exceptions_len: 0,
    };
    let mut at = CHUNK_HEADER_BYTES;
    let (mut codes, mut widths) = ([E::Word::ZERO; S], [0; S]);
    let window = |s: usize| Window(&words.as_flattened()[(s + 1) * S - 2..(s + 2) * S]);
    let mut surveys = [Survey::NONE; SUBCHUNKS];
    if plan.profile == Profile::Adaptive {
        (0..SUBCHUNKS).for_each(|s| surveys[s] = choose::survey::<E, S>(domain.special, window(s)));
    }
    for (s, survey) in surveys.iter().enumerate() {
        let x = window(s);
        let choice = match plan.profile {
            Profile::Adaptive => choose::adaptive::<E, S, P>(domain.special, x, survey, &mut codes, &mut widths),
            Profile::Fast => choose::fast::<E, S>(plan, domain.special, x, &mut codes),
        };
        tail.enter::<S, P>(s, &choice, &codes, &widths);
        let packed_bytes = S * choice.width as usize / 8;
        if at + packed_bytes > CHUNK_BYTES {
            return None;
        }
        if choice.width > 0 {
            P::pack(&codes, choice.width, &mut out[at..]);
        }
        at += packed_bytes;
    }
    let payload = at - CHUNK_HEADER_BYTES;
    let padded = payload.next_multiple_of(ALIGN);
    out[at..at + padded - payload].fill(0);
    Some(tail.write(domain, padded, out))
}

impl<W: Word> Tail<'_, W> {
    /// Enters the choice for subchunk `s`, and the exceptions among its codes.
    #[inline(always)]
    fn enter<const S: usize, P: Simd<W, S>>(&mut self, s: usize, choice: &Choice<W>, codes: &[W; S], widths: &[u8; S]) {
        let is_patched = choice.width < choice.full;
        if choice.full > 0 {
            self.descriptors[self.active.count_ones() as usize] =
                (choice.mode as u8) << 6 | (choice.width - !is_patched as u32) as u8;
            self.active |= 1 << s;
        }
        if is_patched {
            self.split::<S, P>(choice.width, choice.full, codes, widths);
            self.patched |= 1 << s;
        }
        self.bases[s] = choice.base.unwrap_or(W::ZERO);
        self.based |= (choice.base.is_some() as u32) << s;
    }

    /// Lists the positions and high parts of the codes that exceed `width` bits.
    #[inline(always)]
    fn split<const S: usize, P: Simd<W, S>>(&mut self, width: u32, full: u32, codes: &[W; S], widths: &[u8; S]) {
        let place = &mut self.exceptions[self.exceptions_len..];
        let count = P::positions(widths, width, place);
        let (positions, highs) = place.split_at_mut(count);
        let mut highs = BitWriter::new(highs);
        positions.iter().for_each(|p| highs.push((codes[*p as usize] >> width).to_u64(), full - width));
        let i = self.patched.count_ones() as usize;
        self.counts[i] = count as u8;
        self.high_widths[i] = (full - width) as u8;
        self.exceptions_len += count + highs.finish();
    }

    /// Writes header and tail around the payload; returns the bytes of the body. Beyond `CHUNK_BYTES` nothing is written.
    #[inline(always)]
    fn write(&mut self, domain: &Domain, payload: usize, out: &mut [u8]) -> usize {
        let (reference, width) = self.rebase();
        let header = ChunkHeader {
            active: self.active,
            patched: self.patched,
            payload_units: (payload / ALIGN) as u16,
            base_width: width as u8,
            shift: domain.shift as u8,
            special: domain.special,
            base_ref_low: reference.to_u64() as u32,
        };
        let (active, patched) = (self.active.count_ones() as usize, self.patched.count_ones() as usize);
        let high_bytes = if W::BITS == 64 { 4 } else { 0 };
        let used = high_bytes + 4 * width as usize + active + 2 * patched + self.exceptions_len;
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
        put(&self.descriptors[..active]);
        put(&self.counts[..patched]);
        put(&self.high_widths[..patched]);
        put(&self.exceptions[..self.exceptions_len]);
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

    /// Turns the bases that count into offsets from the least of them, the others into 0; returns it and the width of the offsets.
    #[inline(always)]
    fn rebase(&mut self) -> (W, u32) {
        let mut least = !W::ZERO;
        for s in 0..SUBCHUNKS {
            let counts = self.based >> s & 1 == 1;
            least = least.min(if counts { self.bases[s].biased() } else { !W::ZERO });
        }
        let reference = if self.based == 0 { W::ZERO } else { least.biased() };
        let mut any = W::ZERO;
        for s in 0..SUBCHUNKS {
            let counts = self.based >> s & 1 == 1;
            self.bases[s] = if counts { self.bases[s].sub(reference) } else { W::ZERO };
            any = any | self.bases[s];
        }
        (reference, any.width())
    }
}
