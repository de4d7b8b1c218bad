//! What the pipeline asks of a codec whose chunks are independent of each other.

use crate::container::{CodedChunk, Kind};
use crate::error::Result;
use crate::simd::stream::StreamingStores;

/// Room that an encoder may use behind the end of a body while it writes.
pub const SLACK: usize = 128;

/// A codec whose chunks are independent of each other.
pub trait ChunkCodec: Sync {
    /// What an encoding thread reuses from chunk to chunk.
    type Encoder;
    /// What a decoding thread reuses.
    type Decoder;
    /// A thread's encoder; fails when memory is short.
    fn encoder(&self) -> Result<Self::Encoder>;
    /// A thread's decoder; fails when memory is short.
    fn decoder(&self) -> Result<Self::Decoder>;
    /// Encodes a chunk into `out` (at least `SLACK` bytes more than a chunk has), and has the lines of `stores` leave
    /// meanwhile: what it leaves of them goes when they are dropped; returns its kind and the bytes of its body.
    fn encode(&self, encoder: &mut Self::Encoder, data: Data, stores: StreamingStores, out: &mut [u8])
    -> (Kind, usize);
    /// Whether elements may be restored as a missing value that they are within the bound of; the next larger number
    /// then takes its place, see [`Data::beside`].
    fn comes_beside(&self) -> bool {
        false
    }
    /// Whether a codec that finds that out for itself has an element of a chunk so far that is restored so.
    fn came_beside(&self, _: &Self::Encoder) -> bool {
        false
    }
    /// Decodes a verified chunk into `out`, its bytes, and has what lies `ahead` fetched meanwhile. With `past_caches`
    /// they are written as `simd::stream` does.
    fn decode(
        &self,
        decoder: &mut Self::Decoder,
        chunk: CodedChunk,
        ahead: &[u8],
        out: &mut [u8],
        past_caches: bool,
    ) -> Result<()>;
    /// The same where it is known which one comes `next`, which is verified too: some of that may be decoded meanwhile.
    /// What is wrong with it is told when its turn comes.
    fn decode_before(
        &self,
        decoder: &mut Self::Decoder,
        chunk: CodedChunk,
        _next: Option<CodedChunk>,
        out: &mut [u8],
    ) -> Result<()> {
        self.decode(decoder, chunk, &[], out, false)
    }
    /// Decodes of a verified tile the elements on the grid of a level alone into `out`, in their order, where that is
    /// shorter than decoding all; whether it was. Of the one that comes `next` the same is wanted.
    fn decode_on_grid(
        &self,
        _decoder: &mut Self::Decoder,
        _chunk: CodedChunk,
        _next: Option<CodedChunk>,
        _level: u32,
        _out: &mut [u8],
    ) -> Result<bool> {
        Ok(false)
    }

    /// The same as `decode_before`, showing the bytes in pieces as soon as they are there, in whatever order, so that
    /// they leave while others are decoded: the place of the first one, and them, which may change. `out` is room for
    /// all.
    fn show(
        &self,
        decoder: &mut Self::Decoder,
        chunk: CodedChunk,
        next: Option<CodedChunk>,
        out: &mut [u8],
        show: &mut dyn FnMut(usize, &mut [u8]),
    ) -> Result<()> {
        self.decode_before(decoder, chunk, next, out)?;
        show(0, out);
        Ok(())
    }
}

/// The data of a chunk.
#[derive(Clone, Copy)]
pub struct Data<'a> {
    /// The number of the chunk.
    pub chunk: usize,
    /// They and what is before them in their array.
    and_before: &'a [u8],
    len: usize,
    /// What will probably be encoded next, which may be fetched meanwhile.
    pub ahead: &'a [u8],
    /// A bit for each element whose place another one holds, as it is missing; nothing where none is.
    pub missing: &'a [u64],
    /// Whether elements may be restored as a missing value: each that is within the bound of one is within that of the
    /// next larger number, too.
    pub beside: bool,
}

impl<'a> Data<'a> {
    /// Those of chunk `chunk`, `len` bytes from `at` on in `array`.
    pub fn new(array: &'a [u8], chunk: usize, at: usize, len: usize, ahead: &'a [u8]) -> Data<'a> {
        Data { chunk, and_before: &array[..at + len], len, ahead, missing: &[], beside: false }
    }

    /// The data alone.
    #[inline(always)]
    pub fn bytes(self) -> &'a [u8] {
        &self.and_before[self.and_before.len() - self.len..]
    }

    /// The same behind `bytes` more, if as many are before them.
    #[inline(always)]
    pub fn behind(self, bytes: usize) -> Option<&'a [u8]> {
        self.and_before.get(self.and_before.len().checked_sub(self.len + bytes)?..)
    }
}
