//! The body of a packed chunk taken apart. Everything is checked before it is used: a body that passed its checksum may
//! still be hostile.

use super::constants::*;
use super::plan::Plan;
use crate::codec::shared::reader::{take, zero};
use crate::codec::sleek::format::{ChunkHeader, Special, SubMode, Subchunks};
use crate::codec::sleek::simd::{self, Masks, Simd, count_of};
use crate::container::constants::*;
use crate::error::{Result, fail};
use crate::simd::word::Word;

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
    /// Which of its values are exceptions; only of a subchunk that has any.
    pub masks: [Masks; SUBCHUNKS],
    /// Where the high parts of these begin.
    pub highs_at: [u16; SUBCHUNKS],
    /// Bits of a high part.
    pub high_widths: [u8; SUBCHUNKS],
}

impl<W: Word> Parts<W> {
    /// Of a chunk that has nothing.
    pub fn new() -> Parts<W> {
        Parts {
            header: ChunkHeader::EMPTY,
            descriptors: [0; SUBCHUNKS],
            widths: [0; SUBCHUNKS],
            full: [0; SUBCHUNKS],
            widest: 0,
            bases: [W::ZERO; SUBCHUNKS],
            payload_at: [0; SUBCHUNKS],
            masks: [[0; _]; SUBCHUNKS],
            highs_at: [0; SUBCHUNKS],
            high_widths: [0; SUBCHUNKS],
        }
    }

    /// Reads and checks header and tail of the first `len` bytes of `body`, for subchunks of S elements, into parts
    /// that are new. Behind these bytes `READ_SLACK` are readable, but for the portable level.
    #[inline(always)]
    pub fn read<const S: usize, P: Simd<W, S>>(&mut self, p: P, plan: &Plan, body: &[u8], len: usize) -> Result<()> {
        let (readable, body) = (body, &body[..len]);
        self.header = ChunkHeader::read(body, W::BITS)?;
        if self.header.patched != 0 && W::BITS == 8 {
            return fail!(Corrupt, "exceptions in a chunk of {} elements", plan.dtype.name());
        }
        let mut tail = &body[CHUNK_HEADER_BYTES + self.header.payload_units as usize * ALIGN..];
        self.read_bases::<S, P>(p, &mut tail, readable, len)?;
        self.read_descriptors::<S, P>(p, &mut tail, body)?;
        self.read_exceptions::<S, P>(p, &mut tail, readable, body)?;
        if tail.len() >= ALIGN {
            return fail!(Corrupt, "{} bytes behind a chunk's tail", tail.len());
        }
        zero(tail)
    }

    #[inline(always)]
    fn read_bases<const S: usize, P: Simd<W, S>>(
        &mut self,
        p: P,
        tail: &mut &[u8],
        readable: &[u8],
        len: usize,
    ) -> Result<()> {
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
        let packed = &readable[len - tail.len()..];
        take(tail, 4 * width as usize)?;
        if width > 0 {
            p.unpack_bases(packed, width, &mut self.bases);
        }
        self.bases.iter_mut().for_each(|base| *base = base.add(W::from_u64(reference)));
        Ok(())
    }

    #[inline(always)]
    fn read_descriptors<const S: usize, P: Simd<W, S>>(&mut self, p: P, tail: &mut &[u8], body: &[u8]) -> Result<()> {
        let (active, patched) = (self.header.active, self.header.patched);
        self.descriptors = p.expand(active, take(tail, active.count_ones() as usize)?);
        for s in 0..SUBCHUNKS {
            let width = (self.descriptors[s] & 63) + (patched >> s & 1 ^ 1) as u8;
            self.widths[s] = if active >> s & 1 == 1 { width } else { 0 };
        }
        self.widest = self.widths.into_iter().fold(0, u8::max).into();
        if self.widest > W::BITS {
            return fail!(Corrupt, "width {} of a {}-bit element", self.widest, W::BITS);
        }
        // Together as much as the chunk at the most.
        let payloads = self.widths.map(|width| (S / 8) as u16 * u16::from(width));
        self.payload_at = p.sums_before(&payloads, CHUNK_HEADER_BYTES as u16);
        let payload = usize::from(self.payload_at[SUBCHUNKS - 1] + payloads[SUBCHUNKS - 1]) - CHUNK_HEADER_BYTES;
        let room = self.header.payload_units as usize * ALIGN;
        if payload.next_multiple_of(ALIGN) != room {
            return fail!(Corrupt, "payload of {payload} bytes, the chunk has {room}");
        }
        zero(&body[CHUNK_HEADER_BYTES + payload..CHUNK_HEADER_BYTES + room])
    }

    #[inline(always)]
    fn read_exceptions<const S: usize, P: Simd<W, S>>(
        &mut self,
        p: P,
        tail: &mut &[u8],
        readable: &[u8],
        body: &[u8],
    ) -> Result<()> {
        let patched = self.header.patched;
        self.full = self.widths;
        if patched == 0 {
            return Ok(());
        }
        let n = patched.count_ones() as usize;
        self.high_widths = p.expand(patched, take(tail, n)?);
        let is_patched = p.expand(patched, &[1; SUBCHUNKS]);
        let mut wrong = 0;
        for (s, is_patched) in is_patched.into_iter().enumerate() {
            self.full[s] = self.full[s].wrapping_add(self.high_widths[s]);
            let is_wrong = (self.high_widths[s] == 0)
                | (u32::from(self.high_widths[s]) > W::BITS)
                | (u32::from(self.full[s]) > W::BITS);
            wrong |= u8::from(is_wrong) & is_patched;
        }
        if wrong != 0 {
            return fail!(Corrupt, "high parts of {:?} bits above {:?}", self.high_widths, self.widths);
        }
        self.read_masks::<S, P>(p, tail, readable, body.len())?;
        self.find_highs::<S>(tail, body)?;
        self.widest = self.full.into_iter().fold(0, u8::max).into();
        Ok(())
    }

    /// Which values of the patched subchunks are exceptions.
    #[inline(always)]
    fn read_masks<const S: usize, P: Simd<W, S>>(
        &mut self,
        p: P,
        tail: &mut &[u8],
        mut readable: &[u8],
        len: usize,
    ) -> Result<()> {
        let flag_bytes = S / MASK_BYTE_VALUES / 8;
        let flags = take(tail, self.header.patched.count_ones() as usize * flag_bytes)?;
        // What is behind a list may be read: from there on a load need not ask where it ends.
        readable = &readable[len - tail.len()..];
        let mut is_wrong = false;
        for (s, flags) in Subchunks(self.header.patched).zip(flags.chunks_exact(flag_bytes)) {
            let flags = flags.iter().rev().fold(0, |all, byte| all << 8 | u32::from(*byte));
            let count = take(tail, flags.count_ones() as usize)?.len();
            let masks = p.masks::<S>(flags, readable);
            readable = &readable[count..];
            is_wrong |= flags == 0 || simd::flags::<S>(&masks) != flags;
            self.masks[s] = masks;
        }
        if is_wrong { fail!(Corrupt, "a mask byte that is 0 and said not to be") } else { Ok(()) }
    }

    /// Where the high parts of the patched subchunks begin.
    #[inline(always)]
    fn find_highs<const S: usize>(&mut self, tail: &mut &[u8], body: &[u8]) -> Result<()> {
        let mut is_wrong = false;
        for s in Subchunks(self.header.patched) {
            let bits = count_of::<S>(&self.masks[s]) * usize::from(self.high_widths[s]);
            self.highs_at[s] = (body.len() - tail.len()) as u16;
            let highs = take(tail, bits.div_ceil(8))?;
            // Bits behind the last one.
            is_wrong |= u32::from(highs[highs.len() - 1]) >> (8 - (bits.wrapping_neg() & 7)) != 0;
        }
        if is_wrong { fail!(Corrupt, "bits behind the last high part") } else { Ok(()) }
    }

    /// Refuses combinations of mode, quantizer and shift that the format does not define.
    pub fn check_domain(&self, plan: &Plan) -> Result<()> {
        let quantized = plan.quantizer.is_some() && !self.header.exact;
        let of_floats = self.header.special != Special::Delta2
            && SubMode::of(self.descriptors.into_iter().fold(0, u8::max)) == SubMode::Special;
        if self.header.exact && plan.quantizer.is_none()
            || quantized && self.header.shift != 0
            || of_floats && (quantized || self.header.shift != 0 || !plan.dtype.is_float())
        {
            return fail!(Corrupt, "chunk header {:?} does not go with the stream's header", self.header);
        }
        Ok(())
    }
}
