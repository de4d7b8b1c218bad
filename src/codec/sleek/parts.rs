//! The body of a packed chunk taken apart. Everything is checked before it is used: a body that passed its checksum may still be hostile.

use super::plan::Plan;
use crate::error::{Result, fail};
use crate::format::constants::*;
use crate::format::{ChunkHeader, Special, SubMode, Subchunks};
use crate::stage::quantize::Element;
use crate::stage::simd::{READ_SLACK, Simd};
use crate::stage::word::Word;

/// A packed chunk taken apart: for each subchunk where its payload and its exceptions are.
pub struct Parts<W> {
    /// The chunk's header.
    pub header: ChunkHeader,
    /// Descriptors, 0 where a subchunk has none.
    pub descriptors: [u8; SUBCHUNKS],
    /// Bits of a code in the payload, 0 where a subchunk has none.
    pub widths: [u8; SUBCHUNKS],
    /// The same with the high parts.
    pub full: [u8; SUBCHUNKS],
    /// Bits of the widest code.
    pub widest: u32,
    /// What integers are counted from.
    pub bases: [W; SUBCHUNKS],
    /// Where in the body the payload of each begins.
    pub payload_at: [u16; SUBCHUNKS],
    /// Its exceptions.
    pub exceptions: [Exceptions; SUBCHUNKS],
}

/// Where the exceptions of a subchunk are in the body: positions, and the high parts behind them.
#[derive(Clone, Copy)]
pub struct Exceptions {
    /// Where the positions begin.
    pub at: u16,
    /// How many there are.
    pub count: u8,
    /// Bits of a high part.
    pub high_width: u8,
}

impl<W: Word> Parts<W> {
    /// Reads and checks header and tail of `body` for subchunks of `s_elements`.
    #[inline(always)]
    pub fn read<const S: usize, P: Simd<W, S>>(plan: &Plan, body: &[u8]) -> Result<Parts<W>> {
        let header = ChunkHeader::read(body, W::BITS)?;
        if header.patched != 0 && W::BITS == 8 {
            return fail!(Corrupt, "exceptions in a chunk of {} elements", plan.dtype.name());
        }
        let mut tail = &body[CHUNK_HEADER_BYTES + header.payload_units as usize * ALIGN..];
        let mut parts = Parts {
            header,
            descriptors: [0; SUBCHUNKS],
            widths: [0; SUBCHUNKS],
            full: [0; SUBCHUNKS],
            widest: 0,
            bases: [W::ZERO; SUBCHUNKS],
            payload_at: [0; SUBCHUNKS],
            exceptions: [Exceptions { at: 0, count: 0, high_width: 0 }; SUBCHUNKS],
        };
        parts.read_bases::<S, P>(&mut tail)?;
        parts.read_descriptors::<S>(&mut tail, body)?;
        parts.read_exceptions::<S, P>(&mut tail, body)?;
        if tail.len() >= ALIGN {
            return fail!(Corrupt, "{} bytes behind a chunk's tail", tail.len());
        }
        zero(tail)?;
        Ok(parts)
    }

    #[inline(always)]
    fn read_bases<const S: usize, P: Simd<W, S>>(&mut self, tail: &mut &[u8]) -> Result<()> {
        let low = u64::from(self.header.base_ref_low);
        let reference = if W::BITS == 64 {
            let high = take(tail, 4)?;
            low | u64::from(u32::from_le_bytes([high[0], high[1], high[2], high[3]])) << 32
        } else {
            low
        };
        if W::from_u64(reference).to_u64() != reference {
            return fail!(Corrupt, "reference base {reference:#x} is wider than an element");
        }
        let width = u32::from(self.header.base_width);
        let packed = take(tail, 4 * width as usize)?;
        if width > 0 {
            let mut readable = [0; 4 * 64 + READ_SLACK];
            readable[..packed.len()].copy_from_slice(packed);
            P::unpack_bases(&readable, width, &mut self.bases);
        }
        self.bases.iter_mut().for_each(|base| *base = base.add(W::from_u64(reference)));
        Ok(())
    }

    #[inline(always)]
    fn read_descriptors<const S: usize>(&mut self, tail: &mut &[u8], body: &[u8]) -> Result<()> {
        let (active, patched) = (self.header.active, self.header.patched);
        self.descriptors = spread(active, take(tail, active.count_ones() as usize)?);
        for s in 0..SUBCHUNKS {
            let width = (self.descriptors[s] & 63) + (patched >> s & 1 ^ 1) as u8;
            self.widths[s] = if active >> s & 1 == 1 { width } else { 0 };
        }
        self.widest = self.widths.into_iter().fold(0, u8::max).into();
        if self.widest > W::BITS {
            return fail!(Corrupt, "width {} of a {}-bit element", self.widest, W::BITS);
        }
        let mut payload = 0;
        for (at, width) in self.payload_at.iter_mut().zip(self.widths) {
            *at = (CHUNK_HEADER_BYTES + payload).min(CHUNK_BYTES) as u16;
            payload += S / 8 * usize::from(width);
        }
        let room = self.header.payload_units as usize * ALIGN;
        if payload.next_multiple_of(ALIGN) != room {
            return fail!(Corrupt, "payload of {payload} bytes, the chunk has {room}");
        }
        zero(&body[CHUNK_HEADER_BYTES + payload..CHUNK_HEADER_BYTES + room])
    }

    #[inline(always)]
    fn read_exceptions<const S: usize, P: Simd<W, S>>(&mut self, tail: &mut &[u8], body: &[u8]) -> Result<()> {
        let patched = self.header.patched;
        let n = patched.count_ones() as usize;
        let (counts, high_widths) = (spread(patched, take(tail, n)?), spread(patched, take(tail, n)?));
        // For all subchunks at once; where there are no exceptions both are 0.
        let (mut bits, mut widest, mut wrong) = ([0; SUBCHUNKS], [0; SUBCHUNKS], [false; SUBCHUNKS]);
        for s in 0..SUBCHUNKS {
            let (count, high_width) = (u16::from(counts[s]), u16::from(high_widths[s]));
            let full = u16::from(self.widths[s]) + high_width;
            let is_patched = patched >> s & 1 == 1;
            bits[s] = count * high_width;
            widest[s] = if is_patched { full } else { 0 };
            self.full[s] = full as u8;
            wrong[s] = is_patched & ((count == 0) | (count > S as u16) | (high_width == 0) | (full > W::BITS as u16));
        }
        for s in Subchunks(patched) {
            let (count, high_width) = (counts[s] as usize, u32::from(high_widths[s]));
            if wrong[s] {
                return fail!(Corrupt, "{count} exceptions of {high_width} bits above {}", self.widths[s]);
            }
            let at = body.len() - tail.len();
            let exceptions = take(tail, count + usize::from(bits[s].div_ceil(8)))?;
            let positions = &exceptions[..count];
            let last = u32::from(exceptions[exceptions.len() - 1]);
            if !P::ascend(positions)
                || positions[count - 1] as usize >= S
                || last << (bits[s].wrapping_neg() & 7) > 0xff
            {
                return fail!(Corrupt, "exceptions of subchunk {s} are not in order");
            }
            self.exceptions[s] = Exceptions { at: at as u16, count: counts[s], high_width: high_widths[s] };
        }
        self.widest = self.widest.max(widest.into_iter().fold(0, u16::max).into());
        Ok(())
    }

    /// Refuses combinations of mode, quantizer and shift that the format does not define.
    pub fn check_domain<E: Element>(&self, plan: &Plan) -> Result<()> {
        let quantized = plan.quantizer.is_some();
        let by_exponent = self.header.special == Special::Exponent
            && Subchunks(self.header.active).any(|s| SubMode::of(self.descriptors[s]) == SubMode::Special);
        if quantized && self.header.shift != 0
            || by_exponent && (quantized || self.header.shift != 0 || E::EXPONENT_BITS == 0)
        {
            return fail!(Corrupt, "chunk header {:?} does not go with the stream's header", self.header);
        }
        Ok(())
    }
}

/// The numbers of the subchunks `of`, one behind the other in `list`, each in its subchunk's place.
#[inline(always)]
fn spread(of: u32, list: &[u8]) -> [u8; SUBCHUNKS] {
    let mut all = [0; SUBCHUNKS];
    if of == u32::MAX {
        all.copy_from_slice(list);
    } else {
        Subchunks(of).zip(list).for_each(|(s, n)| all[s] = *n);
    }
    all
}

/// The first `n` bytes of `tail`, which shrinks by them.
fn take<'a>(tail: &mut &'a [u8], n: usize) -> Result<&'a [u8]> {
    match tail.split_at_checked(n) {
        Some((head, rest)) => {
            *tail = rest;
            Ok(head)
        }
        None => fail!(Corrupt, "a chunk's tail ends {} bytes early", n - tail.len()),
    }
}

/// Refuses padding that is not zero.
pub fn zero(padding: &[u8]) -> Result<()> {
    if padding.iter().any(|b| *b != 0) {
        return fail!(Corrupt, "padding bytes are not zero");
    }
    Ok(())
}
