//! The chunk index of a stream: how each chunk is stored, and where.

use super::checksum::GroupSum;
use super::constants::*;
use super::header::{Header, u16_at, u32_at, u64_at};
use super::layout::{EntryForm, Layout};
use crate::error::{Result, fail};

/// How a chunk's body is stored; the top two bits of its index entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// As the codec packs it.
    Packed = 0,
    /// The data as it is.
    Raw = 1,
    /// One element, repeated.
    Constant = 2,
    /// A plane that tells where missing values are, and a packed or constant body with the rest.
    Masked = 3,
}

impl Kind {
    /// The kind of this number, 0 … 3.
    pub fn of(number: u32) -> Kind {
        match number & 3 {
            0 => Kind::Packed,
            1 => Kind::Raw,
            2 => Kind::Constant,
            _ => Kind::Masked,
        }
    }
}

/// The chunk index of a stream that is being read.
#[derive(Clone, Copy)]
pub struct Index<'a> {
    header: &'a Header,
    layout: &'a Layout,
    stream: &'a [u8],
}

impl<'a> Index<'a> {
    /// The index of `stream`, whose header was read and verified as `header`. Checks that the chunks fill the stream
    /// exactly. Where only header and index are there, the bodies cannot be asked for.
    pub fn new(header: &'a Header, stream: &'a [u8]) -> Result<Index<'a>> {
        let index = Index::again(header, stream);
        let mut at = index.layout.bodies_at() as u64;
        for g in 0..index.layout.groups {
            if index.group_at(g) as u64 != at {
                return fail!(Corrupt, "group {g} is said to start at byte {}, it starts at {at}", index.group_at(g));
            }
            for c in index.layout.group_chunks(g) {
                let bytes = index.body_bytes(c);
                if !index.fits(c, bytes) {
                    return fail!(Corrupt, "index entry {:#x} of chunk {c} is not valid", index.entry(c));
                }
                at += bytes as u64;
            }
        }
        if at != header.stream_bytes {
            return fail!(Corrupt, "the chunks end at byte {at}, the stream at {}", header.stream_bytes);
        }
        let entries_end = index.layout.entries_at() + index.layout.chunks * index.layout.shape.entries.entry_bytes();
        if index.stream[entries_end..index.layout.bodies_at()].iter().any(|b| *b != 0) {
            return fail!(Corrupt, "the padding behind the chunk entries is not zero");
        }
        Ok(index)
    }

    /// The same of a stream that was checked before.
    pub fn again(header: &'a Header, stream: &'a [u8]) -> Index<'a> {
        let bytes = stream.len().min(header.stream_bytes as usize);
        Index { header, layout: &header.layout, stream: &stream[..bytes] }
    }

    /// The header before it.
    pub fn header(&self) -> &'a Header {
        self.header
    }

    /// The codec's own section of the header.
    pub fn section(&self) -> &'a [u8] {
        self.layout.shape.section(self.stream)
    }

    /// Whether chunk `c` may have a body of so many bytes.
    #[inline]
    fn fits(&self, c: usize, bytes: usize) -> bool {
        let unit = self.layout.unit();
        let raw = self.layout.chunk_raw_bytes(c).next_multiple_of(unit);
        match self.kind(c) {
            Kind::Packed => bytes >= unit && bytes <= self.layout.chunk_bytes(),
            Kind::Raw => bytes == raw,
            Kind::Constant => bytes == self.layout.dtype.size().next_multiple_of(unit),
            Kind::Masked => !self.layout.shape.missing.is_empty() && bytes >= 2 * unit && bytes < raw,
        }
    }

    fn entry(&self, c: usize) -> u32 {
        let at = self.layout.entries_at();
        match self.layout.shape.entries {
            EntryForm::Narrow => u16_at(self.stream, at + 2 * c).into(),
            EntryForm::Wide => u32_at(self.stream, at + 4 * c),
        }
    }

    /// How chunk `c` is stored.
    pub fn kind(&self, c: usize) -> Kind {
        Kind::of(self.entry(c) >> self.layout.shape.entries.kind_shift())
    }

    /// How many chunks are stored in each way, in the order of `Kind`.
    pub fn kinds(&self) -> [u64; 4] {
        let mut counts = [0; 4];
        (0..self.layout.chunks).for_each(|c| counts[self.kind(c) as usize] += 1);
        counts
    }

    /// Bytes of the body of chunk `c`.
    pub fn body_bytes(&self, c: usize) -> usize {
        let entries = self.layout.shape.entries;
        (self.entry(c) & ((1 << entries.kind_shift()) - 1)) as usize * entries.unit()
    }

    fn record(&self, g: usize) -> usize {
        self.layout.header_bytes + g * GROUP_BYTES
    }

    /// Offset of the first body of group `g`.
    pub fn group_at(&self, g: usize) -> usize {
        u64_at(self.stream, self.record(g)) as usize
    }

    /// Compares the bodies of group `g` with their checksum.
    pub fn verify(&self, g: usize) -> Result<()> {
        self.compare(g, GroupSum::new(self.chunks(g).map(|chunk| chunk.body.bytes())).finish())
    }

    /// Compares the checksum of the bodies of group `g` with the index.
    pub fn compare(&self, g: usize, sum: u64) -> Result<()> {
        match u64_at(self.stream, self.record(g) + 8) {
            right if right == sum => Ok(()),
            right => fail!(Corrupt, "checksum of chunk group {g} is {sum:016x}, the index says {right:016x}"),
        }
    }

    /// The chunks of group `g`.
    pub fn chunks(&self, g: usize) -> impl Iterator<Item = CodedChunk<'a>> + use<'a> {
        let index = *self;
        let mut at = index.group_at(g);
        index.layout.group_chunks(g).map(move |number| {
            let body = Body { and_rest: &index.stream[at..], len: index.body_bytes(number) };
            at += body.len;
            CodedChunk { number, kind: index.kind(number), body }
        })
    }
}

/// A chunk as a stream has it.
#[derive(Clone, Copy)]
pub struct CodedChunk<'a> {
    /// Its number.
    pub number: usize,
    /// How it is stored.
    pub kind: Kind,
    /// What is stored.
    pub body: Body<'a>,
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

    /// The same without its first `n` bytes.
    pub fn behind(self, n: usize) -> Body<'a> {
        Body { and_rest: &self.and_rest[n..], len: self.len - n }
    }
}

/// The chunk index of a stream that is being written: the first `bodies_at` bytes.
pub struct IndexMut<'a> {
    layout: &'a Layout,
    head: &'a mut [u8],
}

impl<'a> IndexMut<'a> {
    /// An empty index; `head` is the stream up to its bodies.
    pub fn new(layout: &'a Layout, head: &'a mut [u8]) -> IndexMut<'a> {
        head.fill(0);
        IndexMut { layout, head }
    }

    /// The stream's layout.
    pub fn layout(&self) -> &'a Layout {
        self.layout
    }

    /// Enters the body of chunk `c`; its bytes are whole units.
    pub fn set_chunk(&mut self, c: usize, kind: Kind, body_bytes: usize) {
        let entries = self.layout.shape.entries;
        debug_assert!(body_bytes.is_multiple_of(entries.unit()), "a body has {body_bytes} bytes, not whole units");
        let entry = (kind as u32) << entries.kind_shift() | (body_bytes / entries.unit()) as u32;
        let at = self.layout.entries_at() + c * entries.entry_bytes();
        match entries {
            EntryForm::Narrow => self.head[at..at + 2].copy_from_slice(&(entry as u16).to_le_bytes()),
            EntryForm::Wide => self.head[at..at + 4].copy_from_slice(&entry.to_le_bytes()),
        }
    }

    /// Enters where group `g` starts and what its bodies sum to.
    pub fn set_group(&mut self, g: usize, at: u64, checksum: u64) {
        let r = self.layout.header_bytes + g * GROUP_BYTES;
        self.head[r..r + 8].copy_from_slice(&at.to_le_bytes());
        self.head[r + 8..r + 16].copy_from_slice(&checksum.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;

    /// An entry counts units: what it cut off would move every body behind.
    #[test]
    #[cfg(debug_assertions)]
    #[should_panic = "a body has 17 bytes, not whole units"]
    fn a_body_is_whole_units() {
        let layout = Layout::new(DType::F32, 100).unwrap();
        let mut head = vec![0; layout.bodies_at()];
        IndexMut::new(&layout, &mut head).set_chunk(0, Kind::Packed, 17);
    }
}
