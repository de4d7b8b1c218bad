//! One chunk to its body.

use super::choose::{self, Choice, Exceptions};
use super::plan::Plan;
use crate::format::constants::*;
use crate::format::{ChunkHeader, Kind, Special};
use crate::params::Profile;
use crate::stage::quantize::{self, Element, mantissa_and_bias};
use crate::stage::round;
use crate::stage::simd::Simd;
use crate::stage::simd::scalar::put_bits;
use crate::stage::word::Word;

/// How the words of a chunk become integers, the same for all its subchunks.
struct Domain {
    shift: u32,
    special: Special,
}

/// Encodes the chunk `src` into `out`, which has `cpu::SLACK` bytes to spare; returns the kind and size of the body.
#[inline(always)]
pub fn chunk<E: Element, const S: usize, P: Simd<E::Word, S>>(
    plan: &Plan,
    src: &[u8],
    out: &mut [u8],
) -> (Kind, usize) {
    let raw_bytes = src.len().next_multiple_of(ALIGN);
    let mut words = [[E::Word::ZERO; S]; SUBCHUNKS];
    load::<E::Word, S>(plan, src, &mut words);
    let domain = to_integers::<E, S>(plan, &mut words);
    let body = if is_constant(&words) {
        Body { kind: Kind::Constant, bytes: ALIGN }
    } else {
        pack_chunk::<E, S, P>(plan, &domain, &words, out)
    };
    match body.kind {
        Kind::Constant => {
            out[..ALIGN].fill(0);
            to_element::<E>(plan, &domain, words[0][0]).store(out);
        }
        Kind::Packed if body.bytes < raw_bytes => {}
        _ => {
            raw::<E::Word>(plan, src, &mut out[..raw_bytes]);
            return (Kind::Raw, raw_bytes);
        }
    }
    (body.kind, body.bytes)
}

struct Body {
    kind: Kind,
    bytes: usize,
}

/// Reads the chunk's words, extended by its last one.
#[inline(always)]
fn load<W: Word, const S: usize>(plan: &Plan, src: &[u8], words: &mut [[W; S]; SUBCHUNKS]) {
    let size = size_of::<W>();
    let words = words.as_flattened_mut();
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
fn to_integers<E: Element, const S: usize>(plan: &Plan, words: &mut [[E::Word; S]; SUBCHUNKS]) -> Domain {
    if let Some(q) = &plan.quantizer {
        for subchunk in words.iter_mut() {
            for w in subchunk {
                *w = quantize::encode::<E>(q, *w);
            }
        }
        return Domain { shift: 0, special: Special::Delta2 };
    }
    let words = words.as_flattened_mut();
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
fn is_constant<W: Word, const S: usize>(words: &[[W; S]; SUBCHUNKS]) -> bool {
    let first = words[0][0];
    words.iter().all(|s| s.iter().fold(W::ZERO, |d, w| d | (*w ^ first)) == W::ZERO)
}

/// The element's bits for its integer.
#[inline(always)]
fn to_element<E: Element>(plan: &Plan, domain: &Domain, x: E::Word) -> E::Word {
    match &plan.quantizer {
        Some(q) => quantize::decode::<E>(q, x),
        None => x << domain.shift,
    }
}

/// What the tail of a chunk is made of.
struct Tail<W> {
    active: u32,
    patched: u32,
    descriptors: [u8; SUBCHUNKS],
    bases: [W; SUBCHUNKS],
    /// Subchunks whose base counts.
    based: u32,
    exceptions: [Exceptions<W>; SUBCHUNKS],
}

#[inline(always)]
fn pack_chunk<E: Element, const S: usize, P: Simd<E::Word, S>>(
    plan: &Plan,
    domain: &Domain,
    words: &[[E::Word; S]; SUBCHUNKS],
    out: &mut [u8],
) -> Body {
    let mut tail = Tail {
        active: 0,
        patched: 0,
        descriptors: [0; SUBCHUNKS],
        bases: [E::Word::ZERO; SUBCHUNKS],
        based: 0,
        exceptions: [const { Exceptions::NONE }; SUBCHUNKS],
    };
    let mut at = CHUNK_HEADER_BYTES;
    for (s, x) in words.iter().enumerate() {
        let mut codes = [E::Word::ZERO; S];
        let choice: Choice<E::Word> = match plan.profile {
            Profile::Adaptive => choose::adaptive::<E, S>(domain.special, x, &mut codes, &mut tail.exceptions[s]),
            Profile::Fast => choose::fast::<E, S>(plan, domain.special, x, &mut codes),
        };
        let patched = tail.exceptions[s].count > 0;
        let packed_bytes = S * choice.width as usize / 8;
        if choice.width > 0 || patched {
            // No width leaves room for the tail beside a full payload: such a chunk is stored raw.
            if at + packed_bytes > CHUNK_BYTES {
                return Body { kind: Kind::Raw, bytes: 0 };
            }
            tail.active |= 1 << s;
            tail.patched |= (patched as u32) << s;
            tail.descriptors[s] = (choice.mode as u8) << 6 | (choice.width - !patched as u32) as u8;
            if choice.width > 0 {
                P::pack(&codes, choice.width, &mut out[at..]);
            }
            at += packed_bytes;
        }
        tail.bases[s] = choice.base.unwrap_or(E::Word::ZERO);
        tail.based |= (choice.base.is_some() as u32) << s;
    }
    let payload = at - CHUNK_HEADER_BYTES;
    let padded = payload.next_multiple_of(ALIGN);
    out[at..at + padded - payload].fill(0);
    let bytes = tail.write(domain, padded, out);
    Body { kind: Kind::Packed, bytes }
}

impl<W: Word> Tail<W> {
    /// Writes header and tail around the payload; returns the bytes of the body. Beyond `CHUNK_BYTES` nothing is written.
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
        let start = CHUNK_HEADER_BYTES + payload;
        let high_bytes = if W::BITS == 64 { 4 } else { 0 };
        let bases_bytes = 4 * width as usize;
        let patched = (0..SUBCHUNKS).filter(|s| self.patched >> s & 1 == 1);
        let blobs: usize = patched.clone().map(|s| self.exceptions[s].bytes()).sum();
        let used = high_bytes + bases_bytes + self.active.count_ones() as usize + blobs;
        let end = (start + used).next_multiple_of(ALIGN);
        if end > CHUNK_BYTES {
            return end;
        }
        out[..CHUNK_HEADER_BYTES].copy_from_slice(&header.to_bytes());
        let tail = &mut out[start..end];
        tail.fill(0);
        tail[..high_bytes].copy_from_slice(&((reference.to_u64() >> 32) as u32).to_le_bytes()[..high_bytes]);
        let mut at = high_bytes;
        if width > 0 {
            for (s, b) in self.bases.iter().enumerate() {
                put_bits(&mut tail[at..], s * width as usize, width, b.to_u64());
            }
        }
        at += bases_bytes;
        for s in (0..SUBCHUNKS).filter(|s| self.active >> s & 1 == 1) {
            tail[at] = self.descriptors[s];
            at += 1;
        }
        let n = self.patched.count_ones() as usize;
        for (i, s) in patched.clone().enumerate() {
            tail[at + i] = self.exceptions[s].count as u8;
            tail[at + n + i] = self.exceptions[s].high_width as u8;
        }
        at += 2 * n;
        for s in patched {
            at += self.exceptions[s].write(&mut tail[at..]);
        }
        end
    }

    /// Turns the bases that count into offsets from the least of them, the others into 0; returns it and the width of the offsets.
    fn rebase(&mut self) -> (W, u32) {
        let based = |s: &usize| self.based >> s & 1 == 1;
        let reference = (0..SUBCHUNKS).filter(based).map(|s| self.bases[s].biased()).min().map_or(W::ZERO, W::biased);
        let mut any = W::ZERO;
        for s in 0..SUBCHUNKS {
            self.bases[s] = if self.based >> s & 1 == 1 { self.bases[s].sub(reference) } else { W::ZERO };
            any = any | self.bases[s];
        }
        (reference, any.width())
    }
}
