//! Stream header and chunk index: layout, writing, and checked reading.

use super::constants::*;
use crate::container::checksum;
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::params::{Mode, Profile};

/// Where things stand in a stream; follows from element type and count alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Element type.
    pub dtype: DType,
    /// Elements in the array.
    pub count: u64,
    /// Bytes of the array.
    pub raw_bytes: u64,
    /// Chunks.
    pub chunks: usize,
    /// Groups of chunks.
    pub groups: usize,
}

impl Layout {
    /// The layout of `count` elements; an error when their bytes do not fit an address space.
    pub fn new(dtype: DType, count: u64) -> Result<Layout> {
        let Some(raw_bytes) = count.checked_mul(dtype.size() as u64).filter(|b| *b <= isize::MAX as u64 / 2) else {
            return fail!(InvalidArgument, "{count} elements of {} bytes do not fit in memory", dtype.size());
        };
        let chunks = raw_bytes.div_ceil(CHUNK_BYTES as u64) as usize;
        Ok(Layout { dtype, count, raw_bytes, chunks, groups: chunks.div_ceil(GROUP_CHUNKS) })
    }

    /// Offset of the chunk entries.
    pub fn entries_at(&self) -> usize {
        HEADER_BYTES + self.groups * GROUP_BYTES
    }

    /// Offset of the first chunk body: the end of header and index.
    pub fn bodies_at(&self) -> usize {
        (self.entries_at() + self.chunks * ENTRY_BYTES).next_multiple_of(ALIGN)
    }

    /// Bytes of data in chunk `c`.
    pub fn chunk_raw_bytes(&self, c: usize) -> usize {
        (self.raw_bytes - (c * CHUNK_BYTES) as u64).min(CHUNK_BYTES as u64) as usize
    }

    /// Chunks of group `g`.
    pub fn group_chunks(&self, g: usize) -> std::ops::Range<usize> {
        g * GROUP_CHUNKS..((g + 1) * GROUP_CHUNKS).min(self.chunks)
    }

    /// The largest stream: every chunk raw.
    pub fn max_stream_bytes(&self) -> Result<usize> {
        Ok(self.bodies_at() + (self.raw_bytes as usize).next_multiple_of(ALIGN))
    }
}

/// How a chunk's body is stored; the top two bits of its index entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Subchunks packed with few bits.
    Packed = 0,
    /// The data as it is.
    Raw = 1,
    /// One element, repeated.
    Constant = 2,
}

/// The fields of a stream header.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// Element type and count, with what follows from them.
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
    /// Quantizer step is `step_w × 2^step_j`; `step_w` 0 means that values are coded as integers.
    pub step_w: u8,
    /// See `step_w`.
    pub step_j: i16,
    /// The bound that the user gave.
    pub bound: f64,
    /// The value range that `Noa` used, else 0.
    pub range: f64,
    /// The guaranteed absolute bound, 0 when values are coded as integers.
    pub abs_bound: f64,
    /// Bytes of the whole stream.
    pub stream_bytes: u64,
}

fn u16_at(b: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([b[at], b[at + 1]])
}

fn u64_at(b: &[u8], at: usize) -> u64 {
    let mut w = [0; 8];
    w.copy_from_slice(&b[at..at + 8]);
    u64::from_le_bytes(w)
}

impl Header {
    /// Writes the header with its checksum over header and index; the index in `stream` must be complete.
    pub fn write(&self, stream: &mut [u8]) {
        let flags = if self.big_endian { FLAG_BIG_ENDIAN } else { 0 }
            | if self.profile == Profile::Fast { FLAG_FAST } else { 0 }
            | if self.more { FLAG_MORE } else { 0 };
        stream[..6].copy_from_slice(&MAGIC);
        stream[6..8].copy_from_slice(&VERSION.to_le_bytes());
        stream[8..12].copy_from_slice(&[self.codec, self.layout.dtype as u8, self.mode as u8, flags]);
        stream[12..14].copy_from_slice(&self.step_j.to_le_bytes());
        stream[14..16].copy_from_slice(&[self.step_w, 0]);
        stream[16..24].copy_from_slice(&self.layout.count.to_le_bytes());
        stream[24..32].copy_from_slice(&self.stream_bytes.to_le_bytes());
        stream[32..40].copy_from_slice(&self.bound.to_le_bytes());
        stream[40..48].copy_from_slice(&self.range.to_le_bytes());
        stream[48..56].copy_from_slice(&self.abs_bound.to_le_bytes());
        stream[56..64].fill(0);
        let sum = checksum::of_index(&stream[..self.layout.bodies_at()]);
        stream[56..64].copy_from_slice(&sum.to_le_bytes());
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

    /// Reads the header alone, not verified but for the lengths: header and index lie within the `have` bytes that are there.
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
        let corrupt = |e: crate::error::Error| crate::error::Error::new(crate::error::Kind::Corrupt, e.message);
        let dtype = DType::from_code(head[9].into()).map_err(corrupt)?;
        let layout = Layout::new(dtype, u64_at(head, 16)).map_err(corrupt)?;
        let header = Header {
            layout,
            codec: head[8],
            mode: Mode::from_code(head[10].into()).map_err(corrupt)?,
            profile: if head[11] & FLAG_FAST != 0 { Profile::Fast } else { Profile::Adaptive },
            big_endian: head[11] & FLAG_BIG_ENDIAN != 0,
            more: head[11] & FLAG_MORE != 0,
            step_w: head[14],
            step_j: u16_at(head, 12) as i16,
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
        if stream[11] & !(FLAG_BIG_ENDIAN | FLAG_FAST | FLAG_MORE) != 0 || stream[15] != 0 {
            return fail!(UnsupportedFormat, "reserved header fields are set (flags {:#x})", stream[11]);
        }
        Ok(())
    }
}

/// The chunk index of a stream that is being read.
#[derive(Clone, Copy)]
pub struct Index<'a> {
    layout: Layout,
    stream: &'a [u8],
}

impl<'a> Index<'a> {
    /// The index of `stream`, whose header was read and verified as `header`. Checks that the chunks fill the stream exactly.
    /// Where only header and index are there, the bodies cannot be asked for.
    pub fn new(header: &Header, stream: &'a [u8]) -> Result<Index<'a>> {
        let bytes = stream.len().min(header.stream_bytes as usize);
        let index = Index { layout: header.layout, stream: &stream[..bytes] };
        let mut at = index.layout.bodies_at() as u64;
        for g in 0..index.layout.groups {
            if index.group_at(g) as u64 != at {
                return fail!(Corrupt, "group {g} is said to start at byte {}, it starts at {at}", index.group_at(g));
            }
            for c in index.layout.group_chunks(g) {
                let entry = index.entry(c);
                let units = (entry & ENTRY_SIZE_MASK) as usize;
                let raw_units = index.layout.chunk_raw_bytes(c).div_ceil(ALIGN);
                let fits = match index.kind(c) {
                    Kind::Packed => units >= 1 && units <= CHUNK_BYTES / ALIGN,
                    Kind::Raw => units == raw_units,
                    Kind::Constant => units == 1 && entry >> ENTRY_KIND_SHIFT == Kind::Constant as u16,
                };
                if !fits || entry & !(ENTRY_SIZE_MASK | 3 << ENTRY_KIND_SHIFT) != 0 {
                    return fail!(Corrupt, "index entry {entry:#06x} of chunk {c} is not valid");
                }
                at += (units * ALIGN) as u64;
            }
        }
        if at != header.stream_bytes {
            return fail!(Corrupt, "the chunks end at byte {at}, the stream at {}", header.stream_bytes);
        }
        let entries_end = index.layout.entries_at() + index.layout.chunks * ENTRY_BYTES;
        if index.stream[entries_end..index.layout.bodies_at()].iter().any(|b| *b != 0) {
            return fail!(Corrupt, "the padding behind the chunk entries is not zero");
        }
        Ok(index)
    }

    fn entry(&self, c: usize) -> u16 {
        u16_at(self.stream, self.layout.entries_at() + c * ENTRY_BYTES)
    }

    /// How chunk `c` is stored.
    pub fn kind(&self, c: usize) -> Kind {
        match self.entry(c) >> ENTRY_KIND_SHIFT {
            0 => Kind::Packed,
            1 => Kind::Raw,
            _ => Kind::Constant, // of the two that are left `new` refuses one
        }
    }

    /// How many chunks are stored in each way, in the order of `Kind`.
    pub fn kinds(&self) -> [u64; 3] {
        let mut counts = [0; 3];
        (0..self.layout.chunks).for_each(|c| counts[self.kind(c) as usize] += 1);
        counts
    }

    /// Bytes of the body of chunk `c`.
    pub fn body_bytes(&self, c: usize) -> usize {
        (self.entry(c) & ENTRY_SIZE_MASK) as usize * ALIGN
    }

    /// Offset of the first body of group `g`.
    pub fn group_at(&self, g: usize) -> usize {
        u64_at(self.stream, HEADER_BYTES + g * GROUP_BYTES) as usize
    }

    /// Checksum of the bodies of group `g`.
    pub fn group_checksum(&self, g: usize) -> u64 {
        u64_at(self.stream, HEADER_BYTES + g * GROUP_BYTES + 8)
    }

    /// Bodies of group `g`, each with its chunk number.
    pub fn bodies(&self, g: usize) -> impl Iterator<Item = (usize, Body<'a>)> + use<'a> {
        let index = *self;
        let mut at = index.group_at(g);
        index.layout.group_chunks(g).map(move |c| {
            let body = Body { and_rest: &index.stream[at..], len: index.body_bytes(c) };
            at += body.len;
            (c, body)
        })
    }
}

/// The body of a chunk, with the rest of the stream behind it: whole vectors can be read across its end.
#[derive(Clone, Copy)]
pub struct Body<'a> {
    /// The body and what follows it.
    pub and_rest: &'a [u8],
    /// Bytes of the body.
    pub len: usize,
}

impl<'a> Body<'a> {
    /// The bytes of the body alone.
    pub fn bytes(self) -> &'a [u8] {
        &self.and_rest[..self.len]
    }
}

/// The chunk index of a stream that is being written: the first `bodies_at` bytes.
pub struct IndexMut<'a> {
    layout: Layout,
    head: &'a mut [u8],
}

impl<'a> IndexMut<'a> {
    /// An empty index; `head` is the stream up to its bodies.
    pub fn new(layout: Layout, head: &'a mut [u8]) -> IndexMut<'a> {
        head.fill(0);
        IndexMut { layout, head }
    }

    /// The stream's layout.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Enters the body of chunk `c`.
    pub fn set_chunk(&mut self, c: usize, kind: Kind, body_bytes: usize) {
        let entry = (kind as u16) << ENTRY_KIND_SHIFT | (body_bytes / ALIGN) as u16;
        let at = self.layout.entries_at() + c * ENTRY_BYTES;
        self.head[at..at + 2].copy_from_slice(&entry.to_le_bytes());
    }

    /// Enters where group `g` starts and what its bodies sum to.
    pub fn set_group(&mut self, g: usize, at: u64, checksum: u64) {
        let r = HEADER_BYTES + g * GROUP_BYTES;
        self.head[r..r + 8].copy_from_slice(&at.to_le_bytes());
        self.head[r + 8..r + 16].copy_from_slice(&checksum.to_le_bytes());
    }
}
