//! The header of a packed chunk.

use super::constants::*;
use crate::container::constants::ALIGN;
use crate::error::{Result, fail};

/// How a subchunk's codes become integers; the top two bits of its descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SubMode {
    /// Frame of reference: base + code.
    Offset = 0,
    /// base + zigzag(code).
    ZigZag = 1,
    /// Difference to the value before, the base before the first: zigzag(code).
    Delta = 2,
    /// What the chunk's `Special` says.
    Special = 3,
}

impl SubMode {
    /// The mode of a descriptor byte.
    pub fn of(descriptor: u8) -> SubMode {
        match descriptor >> 6 {
            0 => SubMode::Offset,
            1 => SubMode::ZigZag,
            2 => SubMode::Delta,
            _ => SubMode::Special,
        }
    }
}

/// What `SubMode::Special` means in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Special {
    /// The paper's exponent map (Algorithm 1); bits of the value, no base.
    Exponent = 0,
    /// Second difference.
    Delta2 = 1,
    /// Magnitudes counted down from a top, which the base tells.
    Countdown = 2,
}

/// The subchunks of which the bits are set, the first one first.
#[derive(Clone, Copy, Debug)]
pub struct Subchunks(pub u32);

impl Subchunks {
    /// Those that `are_meant`. Made without branches, for what cannot be predicted.
    #[inline(always)]
    pub fn which(are_meant: impl Fn(usize) -> bool) -> Subchunks {
        Subchunks((0..SUBCHUNKS).fold(0, |all, s| all | (are_meant(s) as u32) << s))
    }
}

impl Iterator for Subchunks {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let s = self.0.trailing_zeros() as usize;
        self.0 &= self.0.wrapping_sub(1);
        (s < SUBCHUNKS).then_some(s)
    }
}

/// The first 16 bytes of a packed chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkHeader {
    /// Bit s: subchunk s has a descriptor.
    pub active: u32,
    /// Bit s: subchunk s has exceptions.
    pub patched: u32,
    /// Payload in units of 16 bytes.
    pub payload_units: u16,
    /// Bits of each packed base.
    pub base_width: u8,
    /// The words are the elements' bits, in a stream of bins.
    pub exact: bool,
    /// Zero bits dropped from the low end of every value.
    pub shift: u8,
    /// Meaning of `SubMode::Special`.
    pub special: Special,
    /// Low 32 bits of the base that the packed bases are added to.
    pub base_ref_low: u32,
}

impl ChunkHeader {
    /// Of a chunk that has nothing.
    pub const EMPTY: ChunkHeader = ChunkHeader {
        active: 0,
        patched: 0,
        payload_units: 0,
        base_width: 0,
        exact: false,
        shift: 0,
        special: Special::Exponent,
        base_ref_low: 0,
    };

    /// The 16 bytes.
    pub fn to_bytes(self) -> [u8; CHUNK_HEADER_BYTES] {
        let mut b = [0; CHUNK_HEADER_BYTES];
        b[0..4].copy_from_slice(&self.active.to_le_bytes());
        b[4..8].copy_from_slice(&self.patched.to_le_bytes());
        b[8..10].copy_from_slice(&self.payload_units.to_le_bytes());
        b[10] = self.base_width | u8::from(self.exact) << 7;
        b[11] = self.shift | (self.special as u8) << 6;
        b[12..16].copy_from_slice(&self.base_ref_low.to_le_bytes());
        b
    }

    /// Reads the header of a chunk of `word_bits`-bit elements and checks each field on its own.
    pub fn read(body: &[u8], word_bits: u32) -> Result<ChunkHeader> {
        let Some(b) = body.first_chunk::<CHUNK_HEADER_BYTES>() else {
            return fail!(Corrupt, "a packed chunk of {} bytes", body.len());
        };
        let header = ChunkHeader {
            active: u32::from_le_bytes([b[0], b[1], b[2], b[3]]),
            patched: u32::from_le_bytes([b[4], b[5], b[6], b[7]]),
            payload_units: u16::from_le_bytes([b[8], b[9]]),
            base_width: b[10] & 0x7f,
            exact: b[10] >> 7 == 1,
            shift: b[11] & 63,
            special: match b[11] >> 6 {
                0 => Special::Exponent,
                1 => Special::Delta2,
                2 => Special::Countdown,
                x => return fail!(Corrupt, "special mode {x} is not defined"),
            },
            base_ref_low: u32::from_le_bytes([b[12], b[13], b[14], b[15]]),
        };
        let payload_end = CHUNK_HEADER_BYTES + header.payload_units as usize * ALIGN;
        if header.patched & !header.active != 0
            || header.base_width as u32 > word_bits
            || header.shift as u32 >= word_bits
            || payload_end > body.len()
        {
            return fail!(Corrupt, "chunk header {header:?} is not consistent");
        }
        Ok(header)
    }
}
