//! One chunk of an array to its body, and back: what every codec gets from the runtime. Tiles are gathered and
//! scattered, and missing values are taken out before the codec sees the data, and put back behind it.

use super::{ChunkCodec, Data, SLACK};
use crate::container::missing::{self, Mask};
use crate::container::{Body, Kind, Layout, Wanted};
use crate::error::{Result, fail};
use crate::host::memory::{Scratch, filled, reserve};
use crate::primitives::equal::equal_mask;
use crate::primitives::stream::{self, StreamingStores};

/// What a thread needs to encode chunks.
pub struct ChunkEncoder<'a, C: ChunkCodec> {
    codec: &'a C,
    layout: &'a Layout,
    encoder: C::Encoder,
    /// The elements of a tile.
    tile: Option<Scratch>,
    masker: Option<Masker>,
}

impl<'a, C: ChunkCodec> ChunkEncoder<'a, C> {
    /// For arrays of `layout`; fails when memory is short.
    pub fn new(codec: &'a C, layout: &'a Layout, big_endian: bool) -> Result<Self> {
        let tile = if layout.is_linear() { None } else { Some(Scratch::new(layout.chunk_bytes())?) };
        let masker = if layout.shape.missing.is_empty() { None } else { Some(Masker::new(layout, big_endian)?) };
        Ok(ChunkEncoder { codec, layout, encoder: codec.encoder()?, tile, masker })
    }

    /// Encodes chunk `c` of the array `src` into `out`, as [`ChunkCodec::encode`] does.
    #[inline]
    pub fn encode(
        &mut self,
        src: &[u8],
        c: usize,
        ahead: &[u8],
        stores: StreamingStores,
        out: &mut [u8],
    ) -> (Kind, usize) {
        let len = self.layout.chunk_raw_bytes(c);
        let data = match &mut self.tile {
            None => Data::new(src, c, c * self.layout.chunk_bytes(), len, ahead),
            Some(tile) => {
                gather(self.layout, c, src, &mut tile[..len]);
                Data::new(tile, c, 0, len, &[])
            }
        };
        match &mut self.masker {
            None => self.codec.encode(&mut self.encoder, data, stores, out),
            Some(masker) => masker.encode(self.codec, &mut self.encoder, data, stores, out),
        }
    }
}

/// Copies the elements of tile `c` from their places in the array.
fn gather(layout: &Layout, c: usize, src: &[u8], tile: &mut [u8]) {
    let size = layout.dtype.size();
    for row in layout.tile(c).rows(&layout.shape.dims, 0) {
        let (from, to, len) = (row.at as usize * size, row.in_box as usize * size, row.len as usize * size);
        tile[to..to + len].copy_from_slice(&src[from..from + len]);
    }
}

/// Takes missing values out of chunks.
struct Masker {
    size: usize,
    unit: usize,
    block: usize,
    big_endian: bool,
    /// The values as little-endian words, and as words of the source.
    values: Vec<(u64, u64)>,
    masks: Vec<Mask>,
    any: Mask,
    /// The data with others in the places of missing values.
    filled: Scratch,
    /// The body of that.
    body: Scratch,
}

impl Masker {
    fn new(layout: &Layout, big_endian: bool) -> Result<Masker> {
        let (size, bytes) = (layout.dtype.size(), layout.chunk_bytes());
        let capacity = bytes / size;
        let in_source = |bits: u64| if big_endian { bits.swap_bytes() >> (64 - 8 * size) } else { bits };
        let mut masks = Vec::new();
        reserve(&mut masks, layout.shape.missing.len())?;
        for _ in layout.shape.missing.bits() {
            masks.push(filled(capacity.div_ceil(64), 0)?);
        }
        Ok(Masker {
            size,
            unit: layout.unit(),
            block: missing::block_elements(capacity),
            big_endian,
            values: layout.shape.missing.bits().iter().map(|bits| (*bits, in_source(*bits))).collect(),
            masks,
            any: filled(capacity.div_ceil(64), 0)?,
            filled: Scratch::new(bytes)?,
            body: Scratch::new(bytes + SLACK)?,
        })
    }

    fn encode<C: ChunkCodec>(
        &mut self,
        codec: &C,
        encoder: &mut C::Encoder,
        data: Data,
        stores: StreamingStores,
        out: &mut [u8],
    ) -> (Kind, usize) {
        if !self.find(data.bytes()) {
            return codec.encode(encoder, data, stores, out);
        }
        let n = data.bytes().len() / self.size;
        if let Some(k) = self.masks.iter().position(|mask| is_full(mask, n)) {
            let bytes = self.size.next_multiple_of(self.unit);
            out[..bytes].fill(0);
            out[..self.size].copy_from_slice(&self.values[k].0.to_le_bytes()[..self.size]);
            return (Kind::Constant, bytes);
        }
        let filled = &mut self.filled[..data.bytes().len()];
        filled.copy_from_slice(data.bytes());
        fill(self.size, self.block, &self.any, filled);
        self.masks.iter_mut().for_each(|mask| extend(mask, n));
        let rest = Data::new(filled, data.chunk, 0, filled.len(), data.ahead);
        let (kind, body_bytes) = codec.encode(encoder, rest, stores, &mut self.body);
        let raw_bytes = data.bytes().len().next_multiple_of(self.unit);
        if matches!(kind, Kind::Packed | Kind::Constant) && body_bytes + self.unit < raw_bytes {
            let plane = missing::write_plane(&self.masks, self.block, kind as u8, self.unit, &mut self.any, out);
            let bytes = plane + body_bytes;
            if bytes < raw_bytes {
                out[plane..bytes].copy_from_slice(&self.body[..body_bytes]);
                return (Kind::Masked, bytes);
            }
        }
        raw(self.size, self.big_endian, data.bytes(), &mut out[..raw_bytes]);
        (Kind::Raw, raw_bytes)
    }

    /// Finds the missing values among the elements `data`; whether there are any.
    fn find(&mut self, data: &[u8]) -> bool {
        let mut found = false;
        for (mask, (_, value)) in self.masks.iter_mut().zip(&self.values) {
            found |= equal_mask(self.size, data, *value, mask);
        }
        if found {
            self.any.fill(0);
            self.masks.iter().for_each(|mask| self.any.iter_mut().zip(mask).for_each(|(any, word)| *any |= word));
        }
        found
    }
}

/// Whether the first `n` bits of a mask are set.
fn is_full(mask: &[u64], n: usize) -> bool {
    let (whole, rest) = (n / 64, n % 64);
    mask[..whole].iter().all(|word| *word == !0) && (rest == 0 || mask[whole] == (1 << rest) - 1)
}

/// Has a mask of `n` elements go on as its last one.
fn extend(mask: &mut [u64], n: usize) {
    let last = mask[(n - 1) / 64] >> ((n - 1) % 64) & 1;
    let state = 0u64.wrapping_sub(last);
    if n % 64 != 0 {
        mask[n / 64] |= state << (n % 64);
    }
    mask[n.div_ceil(64)..].fill(state);
}

/// The data as little-endian words, then zeros.
pub fn raw(size: usize, big_endian: bool, src: &[u8], out: &mut [u8]) {
    out[src.len()..].fill(0);
    out[..src.len()].copy_from_slice(src);
    if big_endian {
        out[..src.len()].chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
}

/// Runs of set bits among bits `from..to` of a mask.
fn runs(mask: &[u64], from: usize, to: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
    let next = move |at: usize, set: bool| {
        let mut at = at;
        while at < to {
            let word = if set { mask[at / 64] } else { !mask[at / 64] } >> (at % 64);
            if word != 0 {
                return (at + word.trailing_zeros() as usize).min(to);
            }
            at = (at / 64 + 1) * 64;
        }
        to
    };
    let mut at = from;
    std::iter::from_fn(move || {
        let start = next(at, true);
        at = next(start, false);
        (start < to).then_some((start, at))
    })
}

/// Puts other elements into the places of missing ones, which `mask` tells: in each block the element before them, at
/// its start the first that is there, and in a block of nothing else the first of the chunk (docs/codecs/README.md).
fn fill(size: usize, block: usize, mask: &[u64], elements: &mut [u8]) {
    match size {
        2 => fill_words::<2>(block, mask, elements.as_chunks_mut().0),
        4 => fill_words::<4>(block, mask, elements.as_chunks_mut().0),
        _ => fill_words::<8>(block, mask, elements.as_chunks_mut().0),
    }
}

fn fill_words<const SIZE: usize>(block: usize, mask: &[u64], elements: &mut [[u8; SIZE]]) {
    let first_valid = |from: usize, to: usize| match runs(mask, from, to).next() {
        Some((start, end)) if start == from => (end < to).then_some(end),
        _ => Some(from),
    };
    let n = elements.len();
    let Some(of_chunk) = first_valid(0, n).map(|i| elements[i]) else { return };
    for from in (0..n).step_by(block) {
        let to = (from + block).min(n);
        let words = &mask[from / 64..to.div_ceil(64)];
        if words.iter().all(|word| *word == 0) {
            continue;
        }
        let first = first_valid(from, to).map_or(of_chunk, |i| elements[i]);
        for (start, end) in runs(mask, from, to) {
            let with = if start == from { first } else { elements[start - 1] };
            elements[start..end].fill(with);
        }
    }
}

/// What a thread needs to decode chunks.
pub struct ChunkDecoder<'a, C: ChunkCodec> {
    codec: &'a C,
    layout: &'a Layout,
    big_endian: bool,
    decoder: C::Decoder,
    /// The elements of a chunk that cannot be decoded where they belong; made when the first one comes.
    apart: Option<Scratch>,
    masks: Vec<Mask>,
}

impl<'a, C: ChunkCodec> ChunkDecoder<'a, C> {
    /// For streams of `layout`; fails when memory is short.
    pub fn new(codec: &'a C, layout: &'a Layout, big_endian: bool) -> Result<Self> {
        let mut masks = Vec::new();
        reserve(&mut masks, layout.shape.missing.len())?;
        for _ in layout.shape.missing.bits() {
            masks.push(filled((layout.chunk_bytes() / layout.dtype.size()).div_ceil(64), 0)?);
        }
        Ok(ChunkDecoder { codec, layout, big_endian, decoder: codec.decoder()?, apart: None, masks })
    }

    /// Decodes a verified body into `out`, the bytes of chunk `c`, as [`ChunkCodec::decode`] does.
    #[inline]
    pub fn decode(
        &mut self,
        c: usize,
        kind: Kind,
        body: Body,
        ahead: &[u8],
        out: &mut [u8],
        past_caches: bool,
    ) -> Result<()> {
        if kind != Kind::Masked {
            return self.codec.decode(&mut self.decoder, c, kind, body, ahead, out, past_caches);
        }
        if !past_caches {
            return self.masked(c, body, ahead, out);
        }
        let mut apart = self.take_apart()?;
        self.masked(c, body, ahead, &mut apart[..out.len()])?;
        stream::copy(&apart[..out.len()], out);
        self.apart = Some(apart);
        Ok(())
    }

    /// Decodes chunk `c` and shows what is `wanted` of it: pieces of `dst`, and what belongs there.
    pub fn decode_pieces(
        &mut self,
        c: usize,
        kind: Kind,
        body: Body,
        wanted: &Wanted,
        mut put: impl FnMut(usize, &[u8]),
    ) -> Result<()> {
        let mut apart = self.take_apart()?;
        let len = self.layout.chunk_raw_bytes(c);
        self.decode(c, kind, body, &[], &mut apart[..len], false)?;
        let size = self.layout.dtype.size();
        self.layout.pieces(c, wanted, |piece| {
            let at = piece.in_chunk as usize * size;
            put(piece.in_wanted as usize * size, &apart[at..at + piece.len as usize * size]);
        });
        self.apart = Some(apart);
        Ok(())
    }

    fn take_apart(&mut self) -> Result<Scratch> {
        match self.apart.take() {
            Some(apart) => Ok(apart),
            None => Scratch::new(self.layout.chunk_bytes()),
        }
    }

    /// Decodes what is behind the plane, and puts the missing values over it.
    fn masked(&mut self, c: usize, body: Body, ahead: &[u8], out: &mut [u8]) -> Result<()> {
        let (size, unit) = (self.layout.dtype.size(), self.layout.unit());
        let capacity = self.layout.chunk_bytes() / size;
        let plane = missing::read_plane(body.bytes(), capacity, unit, &mut self.masks)?;
        let kind = Kind::of(plane.inner.into());
        let inner = body.behind(plane.bytes);
        let fits = kind == Kind::Packed || kind == Kind::Constant && inner.len == size.next_multiple_of(unit);
        if !fits {
            return fail!(Corrupt, "a masked body has one of kind {kind:?} and {} bytes within", inner.len);
        }
        self.codec.decode(&mut self.decoder, c, kind, inner, ahead, out, false)?;
        let n = out.len() / size;
        for (mask, bits) in self.masks.iter().zip(self.layout.shape.missing.bits()) {
            let mut element = bits.to_le_bytes();
            if self.big_endian {
                element[..size].reverse();
            }
            for (start, end) in runs(mask, 0, n) {
                out[start * size..end * size].chunks_exact_mut(size).for_each(|e| e.copy_from_slice(&element[..size]));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_a_mask() {
        let mask = [0b0110_0001u64, 0, !0, 1];
        assert_eq!(runs(&mask, 0, 256).collect::<Vec<_>>(), [(0, 1), (5, 7), (128, 193)]);
        assert_eq!(runs(&mask, 6, 190).collect::<Vec<_>>(), [(6, 7), (128, 190)]);
        assert_eq!(runs(&mask, 64, 128).next(), None);
    }

    #[test]
    fn missing_elements_become_those_before_them() {
        let filled = |n: usize, missing: &dyn Fn(usize) -> bool| {
            let mut elements: Vec<[u8; 2]> = (0..n).map(|i| (i as u16).to_le_bytes()).collect();
            let mut mask = vec![0u64; n.div_ceil(64)];
            (0..n).filter(|i| missing(*i)).for_each(|i| mask[i / 64] |= 1 << (i % 64));
            fill_words(64, &mask, &mut elements);
            elements.into_iter().map(u16::from_le_bytes).collect::<Vec<u16>>()
        };
        let some = filled(200, &|i| i < 3 || (10..80).contains(&i) || i >= 150);
        assert_eq!(some[..4], [3, 3, 3, 3]);
        assert_eq!((some[9], some[10], some[63], some[64], some[79], some[80]), (9, 9, 9, 80, 80, 80));
        assert_eq!((some[149], some[150], some[191], some[192], some[199]), (149, 149, 149, 3, 3));
    }
}
