//! Stream header and its extension: writing, and checked reading.

use super::checksum;
use super::constants::*;
use super::dims::{Dims, MAX_RANK};
use super::layout::{EntryForm, Geometry, Layout, Shape};
use crate::dtype::DType;
use crate::error::{Error, Kind, Result, fail};
use crate::missing::{MAX_MISSING, Missing};
use crate::mode::{Mode, Profile};

/// The fields of a stream header.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// Element type, dimensions and geometry, with what follows from them.
    pub layout: Layout,
    /// Codec id.
    pub codec: u8,
    /// What the user asked for.
    pub mode: Mode,
    /// Speed or ratio (informative).
    pub profile: Profile,
    /// Elements are big-endian in the restored array.
    pub big_endian: bool,
    /// Another stream of the same file follows; without a meaning for this one.
    pub more: bool,
    /// Four bytes of the codec's own.
    pub word: [u8; 4],
    /// The bound that the user gave.
    pub bound: f64,
    /// The value range that `Noa` used, else 0.
    pub range: f64,
    /// The guaranteed absolute bound, 0 where there is none.
    pub abs_bound: f64,
    /// Bytes of the whole stream.
    pub stream_bytes: u64,
}

pub(super) fn u16_at(b: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([b[at], b[at + 1]])
}

pub(super) fn u32_at(b: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]])
}

pub(super) fn u64_at(b: &[u8], at: usize) -> u64 {
    let mut w = [0; 8];
    w.copy_from_slice(&b[at..at + 8]);
    u64::from_le_bytes(w)
}

/// Puts the checksum of header and index into the header.
fn seal(head: &mut [u8]) {
    let sum = checksum::of_index(head);
    head[56..64].copy_from_slice(&sum.to_le_bytes());
}

/// What a wrong header says is damage, not a mistake of the caller.
fn corrupt(e: Error) -> Error {
    Error::new(Kind::Corrupt, e.message)
}

impl Header {
    /// Writes the header with its checksum over header and index; the index in `stream` must be complete. `section` is
    /// the codec's own, of as many bytes as the shape says.
    pub fn write(&self, section: &[u8], stream: &mut [u8]) {
        let shape = &self.layout.shape;
        let flags = if self.big_endian { FLAG_BIG_ENDIAN } else { 0 }
            | if self.profile == Profile::Fast { FLAG_FAST } else { 0 }
            | if self.more { FLAG_MORE } else { 0 }
            | if shape.is_plain() { 0 } else { FLAG_EXTENDED };
        stream[..6].copy_from_slice(&MAGIC);
        stream[6..8].copy_from_slice(&VERSION.to_le_bytes());
        stream[8..12].copy_from_slice(&[self.codec, self.layout.dtype as u8, self.mode as u8, flags]);
        stream[12..16].copy_from_slice(&self.word);
        stream[16..24].copy_from_slice(&self.layout.count.to_le_bytes());
        stream[24..32].copy_from_slice(&self.stream_bytes.to_le_bytes());
        stream[32..40].copy_from_slice(&self.bound.to_le_bytes());
        stream[40..48].copy_from_slice(&self.range.to_le_bytes());
        stream[48..56].copy_from_slice(&self.abs_bound.to_le_bytes());
        stream[56..64].fill(0);
        if !shape.is_plain() {
            shape.write_extension(section, &mut stream[HEADER_BYTES..self.layout.header_bytes]);
        }
        seal(&mut stream[..self.layout.bodies_at()]);
    }

    /// Says in a stream's header that another stream follows in its file.
    pub fn mark_more(stream: &mut [u8]) -> Result<()> {
        let header = Header::read(stream)?;
        stream[11] |= FLAG_MORE;
        seal(&mut stream[..header.layout.bodies_at()]);
        Ok(())
    }

    /// Reads and verifies header and index. `stream` may be longer than the stream it begins with.
    pub fn read(stream: &[u8]) -> Result<Header> {
        Header::read_part(stream, stream.len() as u64)
    }

    /// As [`Header::read`], where `have` bytes of a stream are there, of which `head` holds at least header and index.
    pub fn read_part(head: &[u8], have: u64) -> Result<Header> {
        let header = Header::peek(head, have)?;
        header.verify(head)?;
        Ok(header)
    }

    /// [`Header::peek`] of a stream that lies where only `copy` reaches, which gives so many of its first bytes.
    pub fn fetch(have: usize, copy: impl Fn(usize) -> Result<Vec<u8>>) -> Result<Header> {
        let mut head = copy(have.min(HEADER_BYTES + EXTENSION_BYTES))?;
        if head.len() == HEADER_BYTES + EXTENSION_BYTES && head[11] & FLAG_EXTENDED != 0 {
            let extension = u32_at(&head, HEADER_BYTES) as usize;
            head = copy(have.min(HEADER_BYTES + extension.clamp(EXTENSION_BYTES, MAX_EXTENSION_BYTES)))?;
        }
        Header::peek(&head, have as u64)
    }

    /// Reads the header alone, not verified but for the lengths: header and index lie within the `have` bytes that are
    /// there, of which `stream` holds all of the header.
    pub fn peek(stream: &[u8], have: u64) -> Result<Header> {
        let head = &stream[..stream.len().min(HEADER_BYTES)];
        if head.len() < 6 || head[..6] != MAGIC {
            let seen = &head[..head.len().min(6)];
            return fail!(NotSleek, "the first bytes are {seen:02x?}, not {MAGIC:02x?}");
        }
        if head.len() < HEADER_BYTES {
            return fail!(Truncated, "{} bytes; the header alone takes {HEADER_BYTES}", head.len());
        }
        let version = u16_at(head, 6);
        if version != VERSION {
            return fail!(UnsupportedFormat, "format version {version}; this library reads version {VERSION}");
        }
        let flags = head[11];
        if flags & !(FLAG_BIG_ENDIAN | FLAG_FAST | FLAG_MORE | FLAG_EXTENDED) != 0 {
            return fail!(UnsupportedFormat, "reserved header fields are set (flags {flags:#x})");
        }
        let dtype = DType::from_code(head[9].into()).map_err(corrupt)?;
        let mode = Mode::from_code(head[10].into()).map_err(corrupt)?;
        let count = u64_at(head, 16);
        let shape = match flags & FLAG_EXTENDED {
            0 => Shape::line(count),
            _ => read_extension(dtype, count, &stream[HEADER_BYTES..], have - HEADER_BYTES as u64)?,
        };
        let header = Header {
            layout: Layout::with(dtype, shape).map_err(corrupt)?,
            codec: head[8],
            mode,
            profile: if flags & FLAG_FAST != 0 { Profile::Fast } else { Profile::Adaptive },
            big_endian: flags & FLAG_BIG_ENDIAN != 0,
            more: flags & FLAG_MORE != 0,
            word: [head[12], head[13], head[14], head[15]],
            bound: f64::from_bits(u64_at(head, 32)),
            range: f64::from_bits(u64_at(head, 40)),
            abs_bound: f64::from_bits(u64_at(head, 48)),
            stream_bytes: u64_at(head, 24),
        };
        header.check_lengths(have)?;
        Ok(header)
    }

    fn check_lengths(&self, have: u64) -> Result<()> {
        if have < self.stream_bytes {
            return fail!(Truncated, "{have} bytes of a stream of {}", self.stream_bytes);
        }
        let bodies_at = self.layout.bodies_at() as u64;
        if self.stream_bytes < bodies_at {
            return fail!(Corrupt, "stream length {} is below header and index, {bodies_at} bytes", self.stream_bytes);
        }
        Ok(())
    }

    fn verify(&self, stream: &[u8]) -> Result<()> {
        let stored = u64_at(stream, 56);
        let computed = checksum::of_index(&stream[..self.layout.bodies_at()]);
        if stored != computed {
            return fail!(Corrupt, "checksum of header and index is {computed:016x}, the header says {stored:016x}");
        }
        Ok(())
    }

    /// The codec's own section of the stream with this header.
    pub fn section<'a>(&self, stream: &'a [u8]) -> &'a [u8] {
        self.layout.shape.section(stream)
    }
}

impl Shape {
    /// The codec's own section of a stream of this shape.
    pub(super) fn section<'a>(&self, stream: &'a [u8]) -> &'a [u8] {
        // Without an extension there may be nothing behind the header.
        match self.section_bytes {
            0 => &[],
            bytes => &stream[HEADER_BYTES + self.section_at()..][..bytes],
        }
    }

    /// Where the codec's section begins in the extension.
    pub(super) fn section_at(&self) -> usize {
        let dims = if self.dims.rank() > 1 { 8 * self.dims.rank() } else { 0 };
        let sides = if matches!(self.geometry, Geometry::Tile { .. }) { self.dims.rank() } else { 0 };
        EXTENSION_BYTES + dims + 8 * self.missing.len() + sides
    }
}

/// Codes of the geometry in the extension.
const LINEAR: u8 = 0;
const TILE: u8 = 1;

impl Shape {
    /// Writes the header's extension, of which all bytes are `out`.
    pub(crate) fn write_extension(&self, section: &[u8], out: &mut [u8]) {
        assert_eq!(section.len(), self.section_bytes, "the codec's section is as long as its shape says");
        let (geometry, chunk_log2, sides) = match &self.geometry {
            Geometry::Linear { chunk_log2 } => (LINEAR, *chunk_log2, &[][..]),
            Geometry::Tile { sides_log2 } => (TILE, 0, &sides_log2[..self.dims.rank()]),
        };
        out.fill(0);
        let bytes = out.len() as u32;
        out[0..4].copy_from_slice(&bytes.to_le_bytes());
        let rank = self.dims.rank() as u8;
        out[4..9].copy_from_slice(&[geometry, self.entries as u8, chunk_log2, rank, self.missing.len() as u8]);
        out[9] = self.missing.found() as u8;
        out[10] = self.missing.has_next().into();
        out[12..16].copy_from_slice(&(section.len() as u32).to_le_bytes());
        let mut rest = &mut out[EXTENSION_BYTES..];
        let mut put = |bytes: &[u8]| {
            let (place, behind) = std::mem::take(&mut rest).split_at_mut(bytes.len());
            place.copy_from_slice(bytes);
            rest = behind;
        };
        if rank > 1 {
            self.dims.lens().iter().for_each(|len| put(&len.to_le_bytes()));
        }
        self.missing.bits().iter().for_each(|bits| put(&bits.to_le_bytes()));
        put(sides);
        put(section);
    }
}

/// Reads the extension at the start of `bytes`, of which `have` are there in all.
fn read_extension(dtype: DType, count: u64, bytes: &[u8], have: u64) -> Result<Shape> {
    if have < EXTENSION_BYTES as u64 {
        return fail!(Truncated, "{have} bytes behind the header; its extension takes at least {EXTENSION_BYTES}");
    }
    let length = u32_at(bytes, 0) as usize;
    if !length.is_multiple_of(ALIGN) || !(EXTENSION_BYTES..=MAX_EXTENSION_BYTES).contains(&length) {
        return fail!(Corrupt, "the header's extension is said to have {length} bytes");
    }
    if have < length as u64 {
        return fail!(Truncated, "{have} bytes of a header's extension of {length}");
    }
    let bytes = &bytes[..length];
    let &[_, _, _, _, geometry, entries, chunk_log2, rank, missing, found, next, zero, ..] = bytes else {
        return fail!(Internal, "an extension of {length} bytes");
    };
    if next > 1 || zero != 0 || geometry > TILE || entries > EntryForm::Wide as u8 {
        return fail!(
            UnsupportedFormat,
            "the header's extension has fields of a later version ({:02x?})",
            &bytes[4..12]
        );
    }
    if rank == 0 || usize::from(rank) > MAX_RANK || usize::from(missing) > MAX_MISSING {
        return fail!(Corrupt, "rank {rank} and {missing} missing values in the header's extension");
    }
    let section_bytes = u32_at(bytes, 12) as usize;
    let (rank, missing) = (usize::from(rank), usize::from(missing));
    let dims_bytes = if rank > 1 { 8 * rank } else { 0 };
    let sides_at = EXTENSION_BYTES + dims_bytes + 8 * missing;
    let section_at = sides_at + if geometry == TILE { rank } else { 0 };
    let end = section_at.saturating_add(section_bytes);
    if end.next_multiple_of(ALIGN) != length || bytes[end..].iter().any(|b| *b != 0) {
        return fail!(Corrupt, "an extension of {length} bytes holds {end}, and zeros behind them");
    }
    let number = |k: usize| u64_at(bytes, EXTENSION_BYTES + 8 * k);
    let mut lens = [count; MAX_RANK];
    if rank > 1 {
        (0..rank).for_each(|k| lens[k] = number(k));
    }
    let dims = Dims::new(&lens[..rank]).map_err(corrupt)?;
    let mut values = [0; MAX_MISSING];
    (0..missing).for_each(|k| values[k] = number(dims_bytes / 8 + k));
    let Some(missing) = Missing::stored(dtype, &values[..missing], found) else {
        return fail!(Corrupt, "missing values {:x?} of {} elements", &values[..missing], dtype.name());
    };
    if next == 1 && missing.is_empty() {
        return fail!(Corrupt, "numbers next to missing values, of which there are none");
    }
    let missing = missing.with_next(next == 1);
    let geometry = match geometry {
        LINEAR => Geometry::Linear { chunk_log2 },
        _ if chunk_log2 == 0 => Geometry::tile(&bytes[sides_at..section_at]),
        _ => return fail!(Corrupt, "tiles, and runs of 2^{chunk_log2} bytes"),
    };
    let entries = if entries == 0 { EntryForm::Narrow } else { EntryForm::Wide };
    let shape = Shape { dims: dims.of_count(count).map_err(corrupt)?, geometry, entries, missing, section_bytes };
    if shape.is_plain() {
        return fail!(Corrupt, "an extension that says nothing");
    }
    Ok(shape)
}
