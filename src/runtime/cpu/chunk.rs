//! One chunk of an array to its body, and back: what every codec gets from the runtime. Tiles are gathered and
//! scattered, and missing values are taken out before the codec sees the data, and put back behind it.

use super::codec::{ChunkCodec, Data, SLACK};
use super::threads::Shared;
use crate::container::{CodedChunk, Header, Kind, Layout, Piece, Wanted};
use crate::error::{Result, fail};
use crate::exec::Isa;
use crate::host::memory::{Scratch, filled, gathered, reserve};
use crate::missing::collisions::{self, Collisions};
use crate::missing::plane::{self as planes, Mask};
use crate::missing::{equal, gaps};
use crate::simd::stream::{self, StreamingStores};

/// What is to be compressed, and how.
pub struct Job<'a, C> {
    codec: &'a C,
    pub layout: &'a Layout,
    isa: Isa,
    big_endian: bool,
    src: &'a [u8],
    /// The missing values that elements may come back as.
    pub collisions: Collisions,
}

/// What a thread needs to encode chunks.
pub struct ChunkEncoder<'a, C: ChunkCodec> {
    job: &'a Job<'a, C>,
    encoder: C::Encoder,
    /// The elements of a tile.
    tile: Option<Scratch>,
    masker: Option<Masker>,
}

impl<'a, C: ChunkCodec> ChunkEncoder<'a, C> {
    /// Fails when memory is short.
    pub fn new(job: &'a Job<'a, C>) -> Result<Self> {
        let layout = job.layout;
        let tile = if layout.is_linear() { None } else { Some(Scratch::new(layout.chunk_bytes())?) };
        let masker = if layout.shape.missing.is_empty() { None } else { Some(Masker::new(job)?) };
        Ok(ChunkEncoder { job, encoder: job.codec.encoder()?, tile, masker })
    }

    /// Encodes chunk `c` into `out`, as [`ChunkCodec::encode`] does; chunk `then` probably comes next.
    #[inline]
    pub fn encode(&mut self, c: usize, then: usize, stores: StreamingStores, out: &mut [u8]) -> (Kind, usize) {
        let Job { layout, src, .. } = *self.job;
        let len = layout.chunk_raw_bytes(c);
        let data = match &mut self.tile {
            None => Data::new(src, c, c * layout.chunk_bytes(), len, self.job.ahead(then)),
            Some(tile) => match layout.run_of(c) {
                Some(at) => Data::new(src, c, at as usize * layout.dtype.size(), len, &[]),
                None => {
                    gather(layout, c, src, &mut tile[..len]);
                    Data::new(tile, c, 0, len, &[])
                }
            },
        };
        if let Some(masker) = &mut self.masker
            && masker.finds(self.job, data.bytes())
        {
            return masker.encode(self.job, &mut self.encoder, data, stores, out);
        }
        self.job.encode(&mut self.encoder, data, stores, out)
    }
}

impl<'a, C: ChunkCodec> Job<'a, C> {
    /// The array `src` into a stream with this header.
    pub fn new(codec: &'a C, header: &'a Header, src: &'a [u8]) -> Result<Self> {
        let Header { layout, big_endian, abs_bound, .. } = header;
        let collisions = match codec.comes_beside() {
            true => Collisions::of(layout.dtype, &layout.shape.missing, *abs_bound)?,
            false => Collisions::default(),
        };
        Ok(Job { codec, layout, isa: Isa::best(), big_endian: *big_endian, src, collisions })
    }

    /// The data from chunk `c` on, which may be fetched ahead; nothing where they do not lie together.
    fn ahead(&self, c: usize) -> &'a [u8] {
        if self.layout.is_linear() { self.src.get(c * self.layout.chunk_bytes()..).unwrap_or_default() } else { &[] }
    }

    /// Has the codec encode elements none of which is missing.
    #[inline]
    fn encode(
        &self,
        encoder: &mut C::Encoder,
        mut data: Data,
        stores: StreamingStores,
        out: &mut [u8],
    ) -> (Kind, usize) {
        let Job { codec, layout, isa, big_endian, collisions, .. } = self;
        data.beside = collisions.allow(*isa, layout.dtype, *big_endian, data.bytes());
        let (kind, bytes) = codec.encode(encoder, data, stores, out);
        let came = codec.came_beside(encoder);
        collisions.note(came);
        if (data.beside || came) && kind == Kind::Constant {
            let element = &mut out[..layout.dtype.size()];
            collisions::replace(*isa, layout.dtype, &layout.shape.missing, false, element);
        }
        (kind, bytes)
    }
}

/// Has elements of a chunk that came back as a missing value be the next larger number, where the stream says so.
fn next_for_collisions(isa: Isa, layout: &Layout, big_endian: bool, kind: Kind, out: &mut [u8]) {
    let missing = &layout.shape.missing;
    if missing.has_next() && kind == Kind::Packed {
        collisions::replace(isa, layout.dtype, missing, big_endian, out);
    }
}

/// Copies the elements of tile `c` from their places in the array.
fn gather(layout: &Layout, c: usize, src: &[u8], tile: &mut [u8]) {
    let size = layout.dtype.size();
    layout.pieces(c, &layout.all(), false, &mut |Piece { in_chunk, in_wanted, len, rows, stride, .. }| {
        let [to, at, len, stride] = [in_chunk, in_wanted, len, stride].map(|elements| elements as usize * size);
        let rows = tile[to..to + rows as usize * len].chunks_exact_mut(len);
        for (row, to) in rows.enumerate() {
            let from = at + row * stride;
            stream::copy_row(&src[from..from + len], to);
        }
    });
}

/// Bytes before the elements that a codec is given, as if they were those of the chunk before: some look behind.
const BEFORE: usize = 1024;

/// A mask for each missing value.
fn masks(layout: &Layout) -> Result<Vec<Mask>> {
    let mut masks = Vec::new();
    reserve(&mut masks, layout.shape.missing.len())?;
    for _ in layout.shape.missing.bits() {
        masks.push(filled((layout.chunk_bytes() / layout.dtype.size()).div_ceil(64), 0)?);
    }
    Ok(masks)
}

/// Takes missing values out of chunks.
struct Masker {
    /// Bytes of an element.
    size: usize,
    block: usize,
    /// The values as little-endian words, and as words of the source.
    values: Vec<(u64, u64)>,
    masks: Vec<Mask>,
    /// Their union, and a word more.
    any: Mask,
    /// Bit k is set where value k is in the chunk.
    there: u8,
    /// The data with others in the places of missing values, behind `BEFORE` bytes.
    filled: Scratch,
    /// A body where there is no room for it behind its plane.
    body: Scratch,
}

impl Masker {
    fn new<C>(job: &Job<C>) -> Result<Masker> {
        let (layout, in_array) = (job.layout, |bits, size| in_array(bits, size, job.big_endian));
        let (size, bytes) = (layout.dtype.size(), layout.chunk_bytes());
        let capacity = bytes / size;
        Ok(Masker {
            size,
            block: planes::block_elements(capacity),
            values: gathered(layout.shape.missing.bits().iter().map(|bits| (*bits, in_array(*bits, size))))?,
            masks: masks(layout)?,
            any: filled(capacity.div_ceil(64) + 1, 0)?,
            there: 0,
            filled: Scratch::new(BEFORE + bytes)?,
            body: Scratch::new(bytes + SLACK)?,
        })
    }

    /// Whether any of the values is among the elements `data`.
    #[inline]
    fn finds<C>(&mut self, job: &Job<C>, data: &[u8]) -> bool {
        let values = self.values.iter().enumerate();
        self.there = values
            .fold(0, |there, (k, (_, value))| there | u8::from(equal::contains(job.isa, self.size, data, *value)) << k);
        self.there != 0
    }

    /// Encodes a chunk that has missing values.
    #[inline(never)]
    fn encode<C: ChunkCodec>(
        &mut self,
        job: &Job<C>,
        encoder: &mut C::Encoder,
        data: Data,
        stores: StreamingStores,
        out: &mut [u8],
    ) -> (Kind, usize) {
        let (len, n, unit) = (data.bytes().len(), data.bytes().len() / self.size, job.layout.unit());
        if let Some(k) = self.take_out(job.isa, data.bytes()) {
            let bytes = self.size.next_multiple_of(unit);
            out[..bytes].fill(0);
            out[..self.size].copy_from_slice(&self.values[k].0.to_le_bytes()[..self.size]);
            return (Kind::Constant, bytes);
        }
        self.masks.iter_mut().for_each(|mask| extend(mask, n));
        let mut rest = Data::new(&self.filled[..BEFORE + len], data.chunk, BEFORE, len, data.ahead);
        let raw_bytes = len.next_multiple_of(unit);
        let plane = planes::write_plane(job.isa, &self.masks, self.block, unit, &mut self.any, out);
        self.any.fill(0);
        self.masks.iter().for_each(|mask| self.any.iter_mut().zip(mask).for_each(|(any, word)| *any |= *word));
        rest.missing = &self.any;
        let behind = &mut out[plane..];
        let apart = behind.len() < self.body.len();
        let body = if apart { &mut self.body[..] } else { behind };
        let (kind, body_bytes) = job.encode(encoder, rest, stores, body);
        let bytes = plane + body_bytes;
        if !matches!(kind, Kind::Packed | Kind::Constant) || bytes >= raw_bytes {
            raw(self.size, job.big_endian, data.bytes(), &mut out[..raw_bytes]);
            return (Kind::Raw, raw_bytes);
        }
        planes::set_inner(kind as u8, out);
        if apart {
            out[plane..bytes].copy_from_slice(&self.body[..body_bytes]);
        }
        (Kind::Masked, bytes)
    }

    /// Marks the missing values among the elements `data`, and copies these with others in their places; returns the
    /// number of the value that all of them are.
    fn take_out(&mut self, isa: Isa, data: &[u8]) -> Option<usize> {
        let (n, words) = (data.len() / self.size, self.block / 64);
        let copy = &mut self.filled[BEFORE..BEFORE + data.len()];
        if self.there.is_power_of_two() && gaps::can_take_out(self.size, words, data.len()) {
            let k = self.there.trailing_zeros() as usize;
            self.masks.iter_mut().for_each(|mask| mask.fill(0));
            let value = self.values[k].1;
            let some = gaps::take_out(isa, self.size, words, value, data, &mut self.masks[k], copy);
            return (!some).then_some(k);
        }
        self.any.fill(0);
        for (k, (mask, (_, value))) in self.masks.iter_mut().zip(&self.values).enumerate() {
            if self.there >> k & 1 == 0 {
                mask.fill(0);
                continue;
            }
            equal::mark(isa, self.size, data, *value, mask, copy);
            self.any.iter_mut().zip(mask).for_each(|(any, word)| *any |= *word);
        }
        let full = self.masks.iter().position(|mask| is_full(mask, n));
        if full.is_none() {
            gaps::fill(isa, self.size, words, &mut self.any, data, copy);
        }
        full
    }
}

/// Whether the first `n` bits of a mask are set.
fn is_full(mask: &[u64], n: usize) -> bool {
    let (whole, rest) = (n / 64, n % 64);
    mask[..whole].iter().all(|word| *word == !0) && (rest == 0 || mask[whole] | !0 << rest == !0)
}

/// Has a mask of `n` elements go on as its last one.
fn extend(mask: &mut [u64], n: usize) {
    let last = mask[(n - 1) / 64] >> ((n - 1) % 64) & 1;
    let state = 0u64.wrapping_sub(last);
    if !n.is_multiple_of(64) {
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

/// Pieces of a chunk whose places are fetched before they come: memory is slow to give a line that is written in parts.
const FETCHED: usize = 4;

/// Where the elements that are wanted go, of which each is in one chunk; each chunk is one thread's.
pub struct Target<'a> {
    pub dst: &'a Shared,
    pub past_caches: bool,
}

impl Target<'_> {
    /// Takes bytes for the place of the first one.
    #[inline(always)]
    #[expect(unsafe_code, reason = "threads share the result, each of a part of its own")]
    fn put(&self, at: usize, bytes: &[u8]) {
        // SAFETY: only this thread has these elements; `dst` outlives the pool's scope.
        let place = unsafe { self.dst.part(at..at + bytes.len()) };
        if self.past_caches { stream::copy_row_past(bytes, place) } else { stream::copy_row(bytes, place) }
    }

    /// Has a place fetched that bytes will soon be put to.
    #[inline(always)]
    fn fetch(&self, at: usize, len: usize) {
        // What goes past the caches is not read.
        if !self.past_caches || !self.dst.is_lines(at, len) {
            (0..len.div_ceil(64) + 1).for_each(|line| stream::fetch(self.dst.at(at + line * 64)));
        }
    }
}

/// Where the pieces of a chunk are.
struct Pieces<'a> {
    pieces: &'a [Piece],
    /// Bytes of an element.
    size: usize,
}

impl Pieces<'_> {
    /// Has row `row` of piece `k` fetched.
    #[inline(always)]
    fn fetch(&self, k: usize, row: usize, target: &Target) {
        if let Some(piece) = self.pieces.get(k)
            && row < piece.rows as usize
        {
            let place = piece.in_wanted as usize + row * piece.stride as usize;
            target.fetch(place * self.size, piece.len as usize * self.size);
        }
    }

    /// Has the first pieces fetched.
    fn fetch_first(&self, target: &Target) {
        for (k, piece) in self.pieces.iter().enumerate().take(FETCHED) {
            (0..piece.rows as usize).for_each(|row| self.fetch(k, row, target));
        }
    }

    /// Puts bytes of the chunk from this one on to their places, as far as they have any.
    #[inline(always)]
    fn put(&self, first: usize, bytes: &[u8], target: &Target) {
        let size = self.size;
        let (first, end) = (first / size, (first + bytes.len()) / size);
        let end_of = |piece: &Piece| (piece.in_chunk + piece.rows * piece.len) as usize;
        let before = self.pieces.partition_point(|piece| end_of(piece) <= first);
        for (k, piece) in self.pieces.iter().enumerate().skip(before) {
            let (begin, len) = (piece.in_chunk as usize, piece.len as usize);
            if begin >= end {
                break;
            }
            let (mut at, until) = (first.max(begin), end.min(end_of(piece)));
            let (mut row, mut column) = ((at - begin) / len, (at - begin) % len);
            while at < until {
                self.fetch(k + FETCHED, row, target);
                let some = (len - column).min(until - at);
                let place = piece.in_wanted as usize + row * piece.stride as usize + column;
                target.put(place * size, &bytes[(at - first) * size..(at - first + some) * size]);
                (at, row, column) = (at + some, row + 1, 0);
            }
        }
    }
}

/// What a thread needs to decode chunks.
pub struct ChunkDecoder<'a, C: ChunkCodec> {
    codec: &'a C,
    layout: &'a Layout,
    isa: Isa,
    big_endian: bool,
    decoder: C::Decoder,
    /// The elements of a chunk that cannot be decoded where they belong; made when the first one comes.
    apart: Option<Scratch>,
    masks: Vec<Mask>,
    /// Where the elements of a chunk belong.
    pieces: Vec<Piece>,
}

impl<'a, C: ChunkCodec> ChunkDecoder<'a, C> {
    /// For a stream with this header; fails when memory is short.
    pub fn new(codec: &'a C, header: &'a Header) -> Result<Self> {
        let Header { layout, big_endian, .. } = header;
        let (isa, big_endian, decoder) = (Isa::best(), *big_endian, codec.decoder()?);
        let (masks, pieces) = (masks(layout)?, Vec::new());
        Ok(ChunkDecoder { codec, layout, isa, big_endian, decoder, apart: None, masks, pieces })
    }

    /// Decodes a verified chunk into `out`, its bytes, before the one that comes `next`. Of an array in runs, what lies
    /// `ahead` is fetched meanwhile, and the bytes may go past the caches, as [`ChunkCodec::decode`] does it.
    #[inline]
    pub fn decode(
        &mut self,
        chunk: CodedChunk,
        next: Option<CodedChunk>,
        ahead: &[u8],
        out: &mut [u8],
        past_caches: bool,
    ) -> Result<()> {
        if chunk.kind != Kind::Masked {
            return self.unmasked(chunk, next, ahead, out, past_caches);
        }
        if !past_caches {
            return self.masked(chunk, ahead, out);
        }
        let mut apart = self.take_apart()?;
        self.masked(chunk, ahead, &mut apart[..out.len()])?;
        stream::copy(&apart[..out.len()], out);
        self.apart = Some(apart);
        Ok(())
    }

    /// Decodes a chunk, and shows its bytes.
    pub fn decode_apart(
        &mut self,
        chunk: CodedChunk,
        next: Option<CodedChunk>,
        show: impl FnOnce(&[u8]),
    ) -> Result<()> {
        let mut apart = self.take_apart()?;
        let out = &mut apart[..self.layout.chunk_raw_bytes(chunk.number)];
        self.decode(chunk, next, &[], out, false)?;
        show(out);
        self.apart = Some(apart);
        Ok(())
    }

    /// Decodes a chunk; what is `wanted` of it goes to its place.
    #[inline(never)]
    pub fn decode_pieces(
        &mut self,
        chunk: CodedChunk,
        next: Option<CodedChunk>,
        wanted: &Wanted,
        target: &Target,
    ) -> Result<()> {
        let (mut apart, size) = (self.take_apart()?, self.layout.dtype.size());
        let level = wanted.on_level().map_or(0, |(_, level)| level);
        let is_thin = level > 0 && !self.layout.is_linear() && self.thin(chunk, next, level, &mut apart)?;
        self.find_pieces(chunk.number, wanted, is_thin)?;
        let out = &mut apart[..self.layout.chunk_raw_bytes(chunk.number)];
        if level > 0 || chunk.kind == Kind::Masked {
            if !is_thin {
                self.decode(chunk, None, &[], out, false)?;
            }
            self.pieces.iter_mut().for_each(|piece| close_up(piece, size, out));
            Pieces { pieces: &self.pieces, size }.put(0, out, target);
        } else {
            let ChunkDecoder { codec, layout, isa, big_endian, decoder, pieces, .. } = self;
            let (next, pieces) = (next.filter(|next| next.kind != Kind::Masked), Pieces { pieces, size });
            pieces.fetch_first(target);
            codec.show(decoder, chunk, next, out, &mut |first, bytes| {
                next_for_collisions(*isa, layout, *big_endian, chunk.kind, bytes);
                pieces.put(first, bytes, target);
            })?;
        }
        self.apart = Some(apart);
        Ok(())
    }

    /// Decodes of a tile what is on the grid of a level alone, if the codec can.
    fn thin(&mut self, chunk: CodedChunk, next: Option<CodedChunk>, level: u32, apart: &mut [u8]) -> Result<bool> {
        let (number, size) = (chunk.number, self.layout.dtype.size());
        let thin = self.layout.tile(number).on_grid(level);
        let out = &mut apart[..thin.count() as usize * size];
        let inner = if chunk.kind == Kind::Masked { self.behind_plane(chunk)? } else { chunk };
        let next = next.filter(|next| next.kind != Kind::Masked);
        if !self.codec.decode_on_grid(&mut self.decoder, inner, next, level, out)? {
            return Ok(false);
        }
        next_for_collisions(self.isa, self.layout, self.big_endian, inner.kind, out);
        if chunk.kind == Kind::Masked {
            let wanted = Wanted::Box { region: thin, level };
            self.layout.pieces(number, &wanted, false, &mut |Piece { in_chunk, in_wanted, len, step, .. }| {
                let those = out[in_wanted as usize * size..].chunks_exact_mut(size).take(len as usize);
                for (place, i) in those.zip((in_chunk as usize..).step_by(step as usize)) {
                    for (mask, bits) in self.masks.iter().zip(self.layout.shape.missing.bits()) {
                        if mask[i / 64] >> (i % 64) & 1 == 1 {
                            place.copy_from_slice(&in_array(*bits, size, self.big_endian).to_le_bytes()[..size]);
                        }
                    }
                }
            });
        }
        Ok(true)
    }

    /// Finds where the wanted elements of a chunk belong.
    fn find_pieces(&mut self, chunk: usize, wanted: &Wanted, is_thin: bool) -> Result<()> {
        loop {
            let (pieces, mut lacking) = (&mut self.pieces, 0);
            pieces.clear();
            self.layout.pieces(chunk, wanted, is_thin, &mut |piece| {
                if pieces.len() < pieces.capacity() { pieces.push(piece) } else { lacking += 1 }
            });
            if lacking == 0 {
                return Ok(());
            }
            let all = pieces.len() + lacking;
            pieces.clear();
            reserve(pieces, all)?;
        }
    }

    fn take_apart(&mut self) -> Result<Scratch> {
        match self.apart.take() {
            Some(apart) => Ok(apart),
            None => Scratch::new(self.layout.chunk_bytes()),
        }
    }

    #[inline]
    fn unmasked(
        &mut self,
        chunk: CodedChunk,
        next: Option<CodedChunk>,
        ahead: &[u8],
        out: &mut [u8],
        past_caches: bool,
    ) -> Result<()> {
        let next = next.filter(|next| next.kind != Kind::Masked);
        match self.layout.is_linear() {
            true => self.codec.decode(&mut self.decoder, chunk, ahead, out, past_caches)?,
            false => self.codec.decode_before(&mut self.decoder, chunk, next, out)?,
        }
        next_for_collisions(self.isa, self.layout, self.big_endian, chunk.kind, out);
        Ok(())
    }

    /// Reads the plane of a chunk; what is behind it.
    fn behind_plane<'c>(&mut self, chunk: CodedChunk<'c>) -> Result<CodedChunk<'c>> {
        let (size, unit) = (self.layout.dtype.size(), self.layout.unit());
        let capacity = self.layout.chunk_bytes() / size;
        let plane = planes::read_plane(self.isa, chunk.body.bytes(), capacity, unit, &mut self.masks)?;
        let kind = Kind::of(plane.inner.into());
        let body = chunk.body.behind(plane.bytes);
        let fits = kind == Kind::Packed || kind == Kind::Constant && body.len == size.next_multiple_of(unit);
        if !fits {
            return fail!(Corrupt, "a masked body has one of kind {kind:?} and {} bytes within", body.len);
        }
        Ok(CodedChunk { kind, body, ..chunk })
    }

    /// Decodes what is behind the plane, and puts the missing values over it.
    fn masked(&mut self, chunk: CodedChunk, ahead: &[u8], out: &mut [u8]) -> Result<()> {
        let (inner, size) = (self.behind_plane(chunk)?, self.layout.dtype.size());
        self.unmasked(inner, None, ahead, out, false)?;
        for (mask, bits) in self.masks.iter().zip(self.layout.shape.missing.bits()) {
            gaps::put(self.isa, size, mask, in_array(*bits, size, self.big_endian), out);
        }
        Ok(())
    }
}

/// The bits of an element as the array has them.
fn in_array(bits: u64, size: usize, big_endian: bool) -> u64 {
    if big_endian { bits.swap_bytes() >> (64 - 8 * size) } else { bits }
}

/// Has the elements of a piece, of `size` bytes, follow each other in a chunk, from where the first one is on.
fn close_up(piece: &mut Piece, size: usize, chunk: &mut [u8]) {
    fn of<const N: usize>(Piece { in_chunk, len, step, .. }: Piece, chunk: &mut [u8]) {
        let elements = &mut chunk.as_chunks_mut::<N>().0[in_chunk as usize..];
        (1..len as usize).for_each(|i| elements[i] = elements[i * step as usize]);
    }
    match size {
        _ if piece.step == 1 => {}
        1 => of::<1>(*piece, chunk),
        2 => of::<2>(*piece, chunk),
        4 => of::<4>(*piece, chunk),
        _ => of::<8>(*piece, chunk),
    }
    piece.step = 1;
}
