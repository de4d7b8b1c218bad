//! A codec for tests, in the bytes of `tests/codecs/toy/README.md`: tiles of up to four dimensions, wide entries, a
//! section of its own. It is there to show that the library has nothing of SLEEK's outside SLEEK's folder.

#[allow(unsafe_code)] // launches of kernels
#[cfg(feature = "cuda")]
mod gpu;

use crate::codec::{Capabilities, Codec, CpuCodec, Info, ShowChunk};
use crate::container::{CodedChunk, EntryForm, Geometry, Header, Index, Kind, Layout, Region, Shape, Wanted};
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::exec::ExecOptions;
use crate::host::fpu;
use crate::host::memory::reserve;
use crate::missing::Missing;
use crate::params::{Bound, Mode, Params};
use crate::runtime::cpu::{self, ChunkCodec, Data};
use crate::simd::stream::StreamingStores;

const ID: u8 = 255;
const SECTION_BYTES: usize = 12;
const BODY_HEADER_BYTES: usize = 4;
/// By rank the side of a tile, as a power of two.
const SIDE_LOG2: [u8; 5] = [0, 10, 5, 3, 2];
const MAX_RANK: usize = SIDE_LOG2.len() - 1;

/// The codec of this module.
pub struct Toy;

impl Codec for Toy {
    fn id(&self) -> u8 {
        ID
    }

    fn name(&self) -> &'static str {
        "toy"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            dtypes: &[DType::F32, DType::F64, DType::I32],
            modes: &[Mode::Lossless, Mode::Abs],
            rank: MAX_RANK,
        }
    }

    fn shape(&self, _: &Params, shape: Shape) -> Result<Shape> {
        let rank = shape.dims.rank();
        let Some(side) = SIDE_LOG2.get(rank) else {
            return fail!(InvalidArgument, "codec toy takes 1 to {MAX_RANK} dimensions; {} are {rank}", shape.dims);
        };
        let geometry = Geometry::tile(&[*side; MAX_RANK][..rank]);
        Ok(Shape { geometry, entries: EntryForm::Wide, section_bytes: SECTION_BYTES, ..shape })
    }

    fn cpu(&self) -> &dyn CpuCodec {
        self
    }

    #[cfg(feature = "cuda")]
    fn gpu(&self) -> Option<&dyn crate::codec::shared::gpu_codec::GpuCodec> {
        Some(self)
    }
}

impl CpuCodec for Toy {
    fn compress(
        &self,
        params: &Params,
        layout: &Layout,
        src: &[u8],
        dst: &mut [u8],
        options: ExecOptions,
    ) -> Result<usize> {
        let bound = match params.bound {
            Bound::Abs(bound) if !params.exact => bound,
            _ => 0.0,
        };
        let step = step_for(bound);
        let mut header = Header {
            layout: *layout,
            codec: ID,
            mode: params.bound.mode(),
            profile: params.profile,
            big_endian: params.big_endian,
            more: false,
            word: [0; 4],
            bound,
            range: 0.0,
            abs_bound: if step == 0.0 { 0.0 } else { bound },
            stream_bytes: 0,
        };
        let mut section = [0; SECTION_BYTES];
        section[..8].copy_from_slice(&step.to_le_bytes());
        let tiles = Tiles { layout: *layout, big_endian: params.big_endian, step, bound };
        cpu::compress(&tiles, &mut header, &section, options, src, dst)
    }

    fn decompress(&self, index: &Index, wanted: &Wanted, dst: &mut [u8], options: ExecOptions) -> Result<()> {
        cpu::decompress(&Tiles::of_stream(index)?, index, wanted, dst, options)
    }

    fn each_chunk(&self, index: &Index, options: ExecOptions, show: ShowChunk) -> Result<()> {
        cpu::each_chunk(&Tiles::of_stream(index)?, index, options, show)
    }

    fn inspect(&self, index: &Index, info: &mut Info) -> Result<()> {
        info.step = Tiles::of_stream(index)?.step;
        Ok(())
    }
}

/// The greatest power of two that is not above `bound`, if it is a normal number.
fn step_for(bound: f64) -> f64 {
    f64::from_bits(bound.to_bits() & f64::INFINITY.to_bits())
}

/// The coder of the tiles of one stream.
struct Tiles {
    layout: Layout,
    big_endian: bool,
    step: f64,
    bound: f64,
}

impl Tiles {
    /// From a stream's verified header and index.
    fn of_stream(index: &Index) -> Result<Tiles> {
        let header = index.header();
        let layout = header.layout;
        let side = SIDE_LOG2.get(layout.shape.dims.rank());
        let expected = side.map(|side| Geometry::tile(&[*side; MAX_RANK][..layout.shape.dims.rank()]));
        if expected != Some(layout.shape.geometry) || layout.shape.entries != EntryForm::Wide {
            return fail!(
                Corrupt,
                "codec toy has no streams of {:?} in {:?}",
                layout.shape.dims,
                layout.shape.geometry
            );
        }
        let (can, dtype, mode) = (Toy.capabilities(), layout.dtype, header.mode);
        if !can.dtypes.contains(&dtype) || !can.modes.contains(&mode) {
            return fail!(Corrupt, "codec toy has no streams of {} with mode {}", dtype.name(), mode.name());
        }
        let section = index.section();
        let step = match section.split_first_chunk::<8>() {
            Some((step, [0, 0, 0, 0])) => f64::from_le_bytes(*step),
            _ => return fail!(Corrupt, "the section of codec toy is {section:02x?}"),
        };
        let is_power = step.is_normal() && step == step_for(step);
        if header.word != [0; 4] || !(step.to_bits() == 0 || is_power && layout.dtype.is_float()) {
            return fail!(Corrupt, "step {step} of codec toy, and {:02x?} in its header", header.word);
        }
        Ok(Tiles { layout, big_endian: header.big_endian, step, bound: 0.0 })
    }

    fn size(&self) -> usize {
        self.layout.dtype.size()
    }

    fn missing(&self) -> &Missing {
        &self.layout.shape.missing
    }

    /// Room for the words of a tile.
    fn words(&self) -> Result<Vec<u64>> {
        let mut words = Vec::new();
        reserve(&mut words, self.layout.chunk_bytes() / self.size())?;
        Ok(words)
    }

    /// The low bits of a word that an element has.
    fn mask(&self) -> u64 {
        !0 >> (64 - 8 * self.size())
    }

    fn signed(&self, word: u64) -> i64 {
        let unused = 64 - 8 * self.size() as u32;
        (word << unused) as i64 >> unused
    }

    fn number(&self, word: u64) -> f64 {
        self.layout.dtype.number(word)
    }

    /// The bits that bin `bin` restores.
    fn restored(&self, bin: u64) -> u64 {
        let number = self.signed(bin) as f64 * self.step;
        match self.layout.dtype {
            DType::F32 => (number as f32).to_bits().into(),
            _ => number.to_bits(),
        }
    }

    /// The bin of an element, if what it restores is good enough.
    fn bin(&self, element: u64) -> Option<u64> {
        let x = self.number(element);
        let bin = (x / self.step).round_ties_even();
        // Products of these are exact, and so are differences to what is near them.
        let limit = if self.layout.dtype == DType::F32 { f64::from(i32::MAX) } else { (1u64 << 52) as f64 };
        if self.step == 0.0 || bin.is_nan() || bin.abs() > limit {
            return None;
        }
        let bin = bin as i64 as u64 & self.mask();
        let restored = self.restored(bin);
        let is_near = (x - self.number(restored)).abs() <= self.bound;
        let becomes_missing = restored != element && self.missing().bits().contains(&restored);
        (is_near && !becomes_missing).then_some(bin)
    }

    /// Shows of each element in order its number and that of the element before it on its line, or above it.
    fn neighbours(tile: &Region, mut show: impl FnMut(usize, Option<usize>)) {
        let line = tile.lens()[tile.lens().len() - 1] as usize;
        for i in 0..tile.count() as usize {
            let before = if i % line == 0 { i.checked_sub(line) } else { Some(i - 1) };
            show(i, before);
        }
    }

    /// Packs `words` into `out`; `None` if that takes as many bytes as the data.
    fn pack(&self, form: u8, words: &[u64], tile: &Region, out: &mut [u8]) -> Option<usize> {
        let (size, mask) = (self.size(), self.mask());
        let code = |i: usize, before: Option<usize>| {
            let difference = self.signed(words[i].wrapping_sub(before.map_or(0, |b| words[b])) & mask);
            (difference << 1 ^ difference >> 63) as u64 & mask
        };
        let mut all = 0;
        Tiles::neighbours(tile, |i, before| all |= code(i, before));
        let width = (64 - all.leading_zeros()).div_ceil(8) as usize;
        let end = BODY_HEADER_BYTES + width * words.len();
        let bytes = end.next_multiple_of(4);
        if bytes >= size * words.len() {
            return None;
        }
        out[..BODY_HEADER_BYTES].copy_from_slice(&[form, width as u8, 0, 0]);
        Tiles::neighbours(tile, |i, before| {
            let at = BODY_HEADER_BYTES + i * width;
            out[at..at + width].copy_from_slice(&code(i, before).to_le_bytes()[..width]);
        });
        out[end..bytes].fill(0);
        Some(bytes)
    }

    /// The elements of a packed body.
    fn unpack(&self, body: &[u8], tile: &Region, words: &mut Vec<u64>) -> Result<()> {
        let count = tile.count() as usize;
        let Some((&[form, width, 0, 0], codes)) = body.split_first_chunk::<BODY_HEADER_BYTES>() else {
            return fail!(Corrupt, "a body of codec toy begins with {:02x?}", &body[..body.len().min(4)]);
        };
        let width = usize::from(width);
        if form > 1 || form == 1 && self.step == 0.0 || width > self.size() {
            return fail!(Corrupt, "a body of codec toy has form {form} and width {width}");
        }
        let (codes, padding) = codes.split_at_checked(count * width).unwrap_or((&[], &[1]));
        if padding.len() > 3 || padding.iter().any(|b| *b != 0) {
            return fail!(Corrupt, "{} bytes of codec toy are not {count} codes of {width}", body.len());
        }
        words.clear();
        Tiles::neighbours(tile, |i, before| {
            let code = word(&codes[i * width..][..width]);
            let difference = (code >> 1) ^ (code & 1).wrapping_neg();
            words.push(before.map_or(0, |b| words[b]).wrapping_add(difference) & self.mask());
        });
        if form == 1 {
            words.iter_mut().for_each(|word| *word = self.restored(*word));
        }
        Ok(())
    }
}

/// The little-endian number of up to eight bytes.
fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// What an encoding thread keeps.
struct Encoder {
    _fpu: fpu::Guard,
    elements: Vec<u64>,
    bins: Vec<u64>,
}

/// What a decoding thread keeps.
struct Decoder {
    _fpu: fpu::Guard,
    words: Vec<u64>,
}

impl ChunkCodec for Tiles {
    type Encoder = Encoder;
    type Decoder = Decoder;

    fn encoder(&self) -> Result<Encoder> {
        Ok(Encoder { _fpu: fpu::Guard::standard(), elements: self.words()?, bins: self.words()? })
    }

    fn decoder(&self) -> Result<Decoder> {
        Ok(Decoder { _fpu: fpu::Guard::standard(), words: self.words()? })
    }

    fn encode(&self, encoder: &mut Encoder, data: Data, _: StreamingStores, out: &mut [u8]) -> (Kind, usize) {
        let (size, tile) = (self.size(), self.layout.tile(data.chunk));
        let Encoder { elements, bins, .. } = encoder;
        let of_source = |bytes: &[u8]| match self.big_endian {
            true => word(bytes).swap_bytes() >> (64 - 8 * size),
            false => word(bytes),
        };
        elements.clear();
        elements.extend(data.bytes().chunks_exact(size).map(of_source));
        if elements.iter().all(|element| *element == elements[0]) {
            out[..size].copy_from_slice(&elements[0].to_le_bytes()[..size]);
            return (Kind::Constant, size);
        }
        bins.clear();
        bins.extend(elements.iter().map_while(|element| self.bin(*element)));
        let all_have_bins = bins.len() == elements.len();
        let (form, words) = if all_have_bins { (1, bins) } else { (0, &mut *elements) };
        if let Some(bytes) = self.pack(form, words, &tile, out) {
            return (Kind::Packed, bytes);
        }
        for (place, element) in out.chunks_exact_mut(size).zip(elements.iter()) {
            place.copy_from_slice(&element.to_le_bytes()[..size]);
        }
        (Kind::Raw, data.bytes().len())
    }

    fn decode(&self, decoder: &mut Decoder, chunk: CodedChunk, _: &[u8], out: &mut [u8], _: bool) -> Result<()> {
        let (size, words, body) = (self.size(), &mut decoder.words, chunk.body.bytes());
        match chunk.kind {
            Kind::Packed => self.unpack(body, &self.layout.tile(chunk.number), words)?,
            // Elements have 4 or 8 bytes, so these bodies have no padding.
            Kind::Raw | Kind::Constant => {
                words.clear();
                words.extend(body.chunks_exact(size).map(word).cycle().take(out.len() / size));
            }
            Kind::Masked => return fail!(Internal, "a masked body was given to codec toy"),
        }
        for (place, word) in out.chunks_exact_mut(size).zip(words) {
            place.copy_from_slice(&word.to_le_bytes()[..size]);
            if self.big_endian {
                place.reverse();
            }
        }
        Ok(())
    }
}
