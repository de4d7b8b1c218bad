//! Where things stand in a stream: what follows from element type, dimensions and geometry alone.

use std::ops::Range;

use super::constants::*;
use super::dims::{Dims, MAX_LEVEL, MAX_RANK, Region};
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::missing::Missing;

/// How an array is cut into chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Geometry {
    /// Runs of 2^`chunk_log2` bytes, whatever the dimensions.
    Linear {
        /// 12 to 17.
        chunk_log2: u8,
    },
    /// Boxes of elements, cut off at the array's edges.
    Tile {
        /// Of each dimension the side of a tile, as a power of two.
        sides_log2: [u8; MAX_RANK],
    },
}

impl Geometry {
    /// Runs of 16 KiB: what a stream without an extension has.
    pub const DEFAULT: Geometry = Geometry::Linear { chunk_log2: CHUNK_BYTES.trailing_zeros() as u8 };

    /// Tiles with sides of these powers of two.
    pub fn tile(sides_log2: &[u8]) -> Geometry {
        let mut sides = [0; MAX_RANK];
        sides[..sides_log2.len()].copy_from_slice(sides_log2);
        Geometry::Tile { sides_log2: sides }
    }
}

/// How a chunk's entry in the index is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EntryForm {
    /// 2 bytes; bodies are multiples of 16 bytes.
    Narrow = 0,
    /// 4 bytes; bodies are multiples of 4 bytes.
    Wide = 1,
}

impl EntryForm {
    /// Bytes of an entry.
    pub fn entry_bytes(self) -> usize {
        match self {
            EntryForm::Narrow => ENTRY_BYTES,
            EntryForm::Wide => 2 * ENTRY_BYTES,
        }
    }

    /// What a body is a multiple of.
    pub fn unit(self) -> usize {
        match self {
            EntryForm::Narrow => ALIGN,
            EntryForm::Wide => 4,
        }
    }

    /// Position of the chunk's kind in an entry.
    pub fn kind_shift(self) -> u32 {
        8 * self.entry_bytes() as u32 - 2
    }
}

/// Everything of a stream's shape that a codec decides before it encodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The array's dimensions.
    pub dims: Dims,
    /// How it is cut.
    pub geometry: Geometry,
    /// How entries are written.
    pub entries: EntryForm,
    /// The missing values.
    pub missing: Missing,
    /// Bytes of the codec's own section.
    pub section_bytes: usize,
}

impl Shape {
    /// A line of `count` elements in runs of 16 KiB.
    pub fn line(count: u64) -> Shape {
        Shape {
            dims: Dims::line(count),
            geometry: Geometry::DEFAULT,
            entries: EntryForm::Narrow,
            missing: Missing::NONE,
            section_bytes: 0,
        }
    }

    /// Whether the header's 64 bytes say it all.
    pub fn is_plain(&self) -> bool {
        *self == Shape::line(self.dims.count())
    }

    /// Bytes of the header's extension.
    pub fn extension_bytes(&self) -> usize {
        if self.is_plain() {
            return 0;
        }
        (self.section_at() + self.section_bytes).next_multiple_of(ALIGN)
    }
}

/// What of an array is to be restored.
#[allow(clippy::large_enum_variant)] // one for a whole call
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Elements that follow each other.
    Range {
        /// The first.
        first: u64,
        /// How many.
        count: u64,
    },
    /// A box of the grid of a level, [`Region::on_grid`].
    Box {
        /// The box.
        region: Region,
        /// The level; 0 for all elements.
        level: u32,
    },
    /// Whole chunks, one behind the other, in the order of their numbers.
    Chunks {
        /// The number of each, and that of its first element among what is wanted.
        starts: Vec<(usize, u64)>,
        /// Elements of all.
        count: u64,
    },
}

impl Wanted {
    /// What of a box lies on the grid of a level.
    pub fn on_grid(region: Region, level: u32) -> Result<Wanted> {
        if level > MAX_LEVEL {
            return fail!(InvalidArgument, "level {level}; 0 to {MAX_LEVEL}");
        }
        Ok(Wanted::Box { region: region.on_grid(level), level })
    }

    /// The box, and the level of its grid, if it is one.
    pub fn on_level(&self) -> Option<(&Region, u32)> {
        match self {
            Wanted::Range { .. } | Wanted::Chunks { .. } => None,
            Wanted::Box { region, level } => Some((region, *level)),
        }
    }

    /// Elements.
    pub fn count(&self) -> u64 {
        match self {
            Wanted::Range { count, .. } | Wanted::Chunks { count, .. } => *count,
            Wanted::Box { region, .. } => region.count(),
        }
    }
}

/// Rows of elements that follow each other in what is wanted, and are equally far from each other in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The number of the first one in the chunk.
    pub in_chunk: u64,
    /// The number of the first one in what is wanted.
    pub in_wanted: u64,
    /// Elements of a row.
    pub len: u64,
    /// From one to the next in the chunk.
    pub step: u64,
    /// Rows; several only where the step is 1 and each follows the one before in the chunk.
    pub rows: u64,
    /// Elements from the start of a row to that of the next in what is wanted.
    pub stride: u64,
}

/// Where things stand in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Element type.
    pub dtype: DType,
    /// Elements in the array.
    pub count: u64,
    /// Bytes of the array.
    pub raw_bytes: u64,
    /// Dimensions, geometry and what the header's extension says besides.
    pub shape: Shape,
    /// Bytes of the header with its extension.
    pub header_bytes: usize,
    /// Chunks.
    pub chunks: usize,
    /// Groups of chunks.
    pub groups: usize,
}

impl Layout {
    /// The layout of a line of `count` elements; an error when their bytes do not fit an address space.
    pub fn new(dtype: DType, count: u64) -> Result<Layout> {
        Layout::with(dtype, Shape::line(count))
    }

    /// The layout of an array of this shape.
    pub fn with(dtype: DType, shape: Shape) -> Result<Layout> {
        let (count, size) = (shape.dims.count(), dtype.size() as u64);
        let Some(raw_bytes) = count.checked_mul(size).filter(|b| *b <= isize::MAX as u64 / 2) else {
            return fail!(InvalidArgument, "{count} elements of {size} bytes do not fit in memory");
        };
        check_geometry(dtype, &shape)?;
        let chunks = match &shape.geometry {
            Geometry::Linear { chunk_log2 } => raw_bytes.div_ceil(1 << chunk_log2),
            Geometry::Tile { .. } if count == 0 => 0,
            Geometry::Tile { sides_log2 } => tiles(&shape.dims, sides_log2).product(),
        } as usize;
        // So that no sum of the index's parts overflows.
        if chunks > isize::MAX as usize / (2 * GROUP_BYTES) {
            return fail!(InvalidArgument, "{chunks} chunks; their index does not fit in memory");
        }
        let header_bytes = HEADER_BYTES + shape.extension_bytes();
        Ok(Layout { dtype, count, raw_bytes, shape, header_bytes, chunks, groups: chunks.div_ceil(GROUP_CHUNKS) })
    }

    /// Offset of the chunk entries.
    pub fn entries_at(&self) -> usize {
        self.header_bytes + self.groups * GROUP_BYTES
    }

    /// Offset of the first chunk body: the end of header and index.
    pub fn bodies_at(&self) -> usize {
        (self.entries_at() + self.chunks * self.shape.entries.entry_bytes()).next_multiple_of(ALIGN)
    }

    /// What bodies are multiples of.
    pub fn unit(&self) -> usize {
        self.shape.entries.unit()
    }

    /// The most bytes of data that a chunk has.
    pub fn chunk_bytes(&self) -> usize {
        match &self.shape.geometry {
            Geometry::Linear { chunk_log2 } => 1 << chunk_log2,
            Geometry::Tile { sides_log2 } => self.dtype.size() << sides_log2.iter().map(|s| u32::from(*s)).sum::<u32>(),
        }
    }

    /// Whether chunks are runs of the array's bytes.
    pub fn is_linear(&self) -> bool {
        matches!(self.shape.geometry, Geometry::Linear { .. })
    }

    /// Bytes of data in chunk `c`.
    #[inline]
    pub fn chunk_raw_bytes(&self, c: usize) -> usize {
        match &self.shape.geometry {
            Geometry::Linear { chunk_log2 } => {
                let chunk = 1u64 << chunk_log2;
                (self.raw_bytes - c as u64 * chunk).min(chunk) as usize
            }
            Geometry::Tile { .. } => self.tile(c).count() as usize * self.dtype.size(),
        }
    }

    /// The box of elements that chunk `c` holds; of an array in runs, a box of its bytes has no meaning.
    pub fn tile(&self, c: usize) -> Region {
        let Geometry::Tile { sides_log2 } = &self.shape.geometry else {
            unreachable!("asked for the tile of an array in runs");
        };
        Region::tile(&self.shape.dims, sides_log2, c as u64)
    }

    /// The number of the first element of chunk `c`, if all of it follow each other in the array.
    pub fn run_of(&self, c: usize) -> Option<u64> {
        if self.is_linear() {
            return Some(self.run(c).start);
        }
        let tile = self.tile(c);
        let (lens, dims) = (tile.lens(), self.shape.dims.lens());
        // Behind the first dimension along which the tile has more than one element it has all there is.
        let behind = lens.iter().position(|len| *len > 1).map_or(lens.len(), |k| k + 1);
        (lens[behind..] == dims[behind..])
            .then(|| dims.iter().zip(tile.start()).fold(0, |at, (len, start)| at * len + start))
    }

    /// The whole array.
    pub fn all(&self) -> Wanted {
        Wanted::Range { first: 0, count: self.count }
    }

    /// Chunks among which are all that have something of what is wanted, which is not nothing.
    pub fn chunks_of(&self, wanted: &Wanted) -> Range<usize> {
        let (region, level) = match wanted {
            Wanted::Range { first, count } if self.is_linear() => {
                let [start, end] = [*first, first + count].map(|at| at as usize * self.dtype.size());
                return start / self.chunk_bytes()..end.div_ceil(self.chunk_bytes());
            }
            Wanted::Range { .. } => return 0..self.chunks,
            Wanted::Chunks { starts, .. } => {
                return starts.first().map_or(0..0, |(c, _)| *c..starts[starts.len() - 1].0 + 1);
            }
            Wanted::Box { region, level } => (region, *level),
        };
        // Chunks come in the order of the corners that they hold.
        let [first, last] = region.corners().map(|corner| self.chunk_of(&region.off_grid(level, corner)));
        first..last + 1
    }

    /// The chunk that holds an element.
    fn chunk_of(&self, position: &[u64; MAX_RANK]) -> usize {
        let along = self.shape.dims.lens().iter().zip(position);
        match &self.shape.geometry {
            Geometry::Tile { sides_log2 } => {
                let tiles = tiles(&self.shape.dims, sides_log2).zip(along.zip(sides_log2));
                tiles.fold(0, |chunk, (tiles, ((_, at), side))| chunk * tiles + (at >> side)) as usize
            }
            Geometry::Linear { chunk_log2 } => {
                let number = along.fold(0, |number, (len, at)| number * len + at);
                ((number * self.dtype.size() as u64) >> chunk_log2) as usize
            }
        }
    }

    /// Whether anything of chunk `c` is `wanted`.
    pub fn touches(&self, c: usize, wanted: &Wanted) -> bool {
        match wanted {
            Wanted::Chunks { starts, .. } => starts.binary_search_by_key(&c, |(c, _)| *c).is_ok(),
            Wanted::Range { first: 0, count } if *count == self.count => *count > 0,
            Wanted::Range { first, count } if self.is_linear() => {
                let run = self.run(c);
                run.start.max(*first) < run.end.min(first + count)
            }
            Wanted::Box { region, level } if !self.is_linear() => {
                self.tile(c).on_grid(*level).intersection(region).is_some()
            }
            _ => self.pieces(c, wanted, false, &mut |_| ()),
        }
    }

    /// Shows the pieces of chunk `c` that are `wanted`, in the order in which they lie in it; whether there are any. Of
    /// a tile that `is_thin` the chunk holds what is on the grid of the level alone. Whole chunks have no pieces.
    ///
    /// Never inlined: its boxes of 32 dimensions would lie on the stack of whoever decodes a chunk between two calls.
    #[inline(never)]
    pub fn pieces(&self, c: usize, wanted: &Wanted, is_thin: bool, show: &mut dyn FnMut(Piece)) -> bool {
        let all = Region::all(&self.shape.dims);
        let (region, level) = wanted.on_level().unwrap_or((&all, 0));
        let (tile, run) = match self.is_linear() {
            true => (all, self.run(c)),
            false => (self.tile(c), 0..u64::MAX),
        };
        let range = match wanted {
            Wanted::Range { first, count } => *first..first + count,
            _ => 0..u64::MAX,
        };
        let thin = tile.on_grid(level);
        let Some(both) = thin.intersection(region) else { return false };
        let [start, _] = both.corners();
        let (in_chunk, of_chunk) = match is_thin {
            true => (thin.number_of(&start), thin.strides()),
            false => (tile.number_of(&tile.off_grid(level, start)), tile.off_grid(level, tile.strides())),
        };
        let rows = Rows {
            lens: both.lens(),
            first: [in_chunk, region.number_of(&start)],
            strides: [of_chunk, region.strides()],
            // Of an array in runs its own numbers are those in the chunk, else those in a range.
            decisive: usize::from(!self.is_linear()),
            within: run.start.max(range.start)..run.end.min(range.end),
            zeros: [run.start, range.start],
        };
        rows.show(show)
    }

    /// The elements of run `c`, by their numbers in the array.
    fn run(&self, c: usize) -> Range<u64> {
        let size = self.dtype.size();
        let first = c * self.chunk_bytes() / size;
        first as u64..(first + self.chunk_raw_bytes(c) / size) as u64
    }

    /// Chunks of group `g`.
    pub fn group_chunks(&self, g: usize) -> Range<usize> {
        g * GROUP_CHUNKS..((g + 1) * GROUP_CHUNKS).min(self.chunks)
    }

    /// The largest stream: every chunk raw.
    pub fn max_stream_bytes(&self) -> Result<usize> {
        // Runs but the last are whole units; each tile may be cut.
        let padding = if self.is_linear() { self.unit() } else { self.chunks.saturating_mul(self.unit()) };
        match self.bodies_at().checked_add(self.raw_bytes as usize).and_then(|n| n.checked_add(padding)) {
            Some(_) if self.is_linear() => {
                Ok(self.bodies_at() + (self.raw_bytes as usize).next_multiple_of(self.unit()))
            }
            Some(bytes) => Ok(bytes),
            None => fail!(InvalidArgument, "{} elements do not fit in memory as a stream", self.count),
        }
    }
}

/// A box of elements, each of which has two numbers: in a chunk and in what is wanted, or in the array where they come
/// from a run or a range.
struct Rows<'a> {
    lens: &'a [u64],
    /// The numbers of the first element.
    first: [u64; 2],
    /// How far apart the numbers of neighbours along each dimension are.
    strides: [[u64; MAX_RANK]; 2],
    /// Which of the numbers has to be `within`; both rise from row to row.
    decisive: usize,
    within: Range<u64>,
    /// The numbers of what is to be counted from 0.
    zeros: [u64; 2],
}

impl Rows<'_> {
    /// Shows the pieces in their order; whether there are any.
    fn show(&self, show: &mut dyn FnMut(Piece)) -> bool {
        let Rows { lens, strides, decisive, within, zeros, .. } = self;
        // Dimensions whose lines follow each other make rows longer.
        let mut axis = lens.len() - 1;
        let (mut len, step) = (lens[axis], strides.map(|strides| strides[axis]));
        while axis > 0 && (0..2).all(|i| strides[i][axis - 1] == len * step[i]) {
            axis -= 1;
            len *= lens[axis];
        }
        // Rows along the dimension before are a strip.
        let (outer, rows, stride) = match axis.checked_sub(1) {
            Some(k) => (k, lens[k], strides.map(|strides| strides[k])),
            None => (0, 1, [0; 2]),
        };
        let in_row = (len - 1) * step[*decisive];
        let in_strip = in_row + (rows - 1) * stride[*decisive];
        let are_together = step[0] == 1 && (rows == 1 || stride[0] == len);
        let strips = lens[..outer].iter().product();
        let mut any = false;
        let mut show = |at: [u64; 2], len, rows| {
            any = true;
            let [in_chunk, in_wanted] = [at[0] - zeros[0], at[1] - zeros[1]];
            show(Piece { in_chunk, in_wanted, len, step: step[0], rows, stride: stride[1] });
        };
        for strip in self.first_strip(outer, strips, in_strip)..strips {
            let at = self.strip(outer, strip);
            let first = at[*decisive];
            if first >= within.end {
                break;
            }
            let is_whole = within.start <= first && first + in_strip < within.end;
            if is_whole && are_together {
                show(at, len, rows);
                continue;
            }
            let skipped = within.start.saturating_sub(first + in_row).div_ceil(stride[*decisive].max(1));
            for row in skipped..rows {
                let at = [0, 1].map(|i| at[i] + row * stride[i]);
                let (mut skipped, mut until) = (0, len);
                if !is_whole {
                    let first = at[*decisive];
                    skipped = within.start.saturating_sub(first).div_ceil(step[*decisive]);
                    until = len.min(within.end.saturating_sub(first).div_ceil(step[*decisive]));
                }
                if skipped >= until {
                    break;
                }
                show([0, 1].map(|i| at[i] + skipped * step[i]), until - skipped, 1);
            }
        }
        any
    }

    /// The numbers that the first element of a strip along dimension `outer` has.
    fn strip(&self, outer: usize, mut strip: u64) -> [u64; 2] {
        let mut at = self.first;
        for k in (0..outer).rev() {
            let place = strip % self.lens[k];
            strip /= self.lens[k];
            (0..2).for_each(|i| at[i] += place * self.strides[i][k]);
        }
        at
    }

    /// The first of so many strips that does not end before what counts, by bisection.
    fn first_strip(&self, outer: usize, strips: u64, in_strip: u64) -> u64 {
        let (mut low, mut high) = (0, if self.within.start == 0 { 0 } else { strips });
        while low < high {
            let middle = low + (high - low) / 2;
            let end = self.strip(outer, middle)[self.decisive] + in_strip;
            if end < self.within.start { low = middle + 1 } else { high = middle }
        }
        low
    }
}

/// Tiles along each dimension.
fn tiles<'a>(dims: &'a Dims, sides_log2: &'a [u8; MAX_RANK]) -> impl Iterator<Item = u64> + 'a {
    dims.lens().iter().zip(sides_log2).map(|(len, side)| len.div_ceil(1 << side))
}

/// Refuses what the format does not allow.
fn check_geometry(dtype: DType, shape: &Shape) -> Result<()> {
    let fits = match &shape.geometry {
        Geometry::Linear { chunk_log2 } => (MIN_CHUNK_LOG2..=MAX_CHUNK_LOG2).contains(chunk_log2),
        Geometry::Tile { sides_log2 } => {
            let elements: u32 = sides_log2.iter().map(|side| u32::from(*side)).sum();
            elements + dtype.size().trailing_zeros() <= u32::from(MAX_CHUNK_LOG2)
                && sides_log2[shape.dims.rank()..].iter().all(|side| *side == 0)
        }
    };
    if fits {
        Ok(())
    } else {
        fail!(InvalidArgument, "chunks of {:?} for {} elements are not defined", shape.geometry, dtype.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tiled(lens: &[u64], sides_log2: &[u8]) -> Layout {
        let dims = Dims::new(lens).unwrap();
        let shape = Shape { dims, geometry: Geometry::tile(sides_log2), ..Shape::line(dims.count()) };
        Layout::with(DType::F32, shape).unwrap()
    }

    #[test]
    fn a_plain_array_needs_no_extension() {
        let layout = Layout::new(DType::F64, 10_000).unwrap();
        assert_eq!((layout.header_bytes, layout.chunks, layout.chunk_bytes()), (64, 5, 16384));
        assert_eq!(tiled(&[4, 4, 4], &[2, 2, 2]).header_bytes, 64 + 48);
    }

    #[test]
    fn chunks_beyond_what_the_format_has_are_refused() {
        let of = |geometry| Layout::with(DType::F64, Shape { geometry, ..Shape::line(100) });
        assert!(of(Geometry::Linear { chunk_log2: 18 }).is_err());
        assert!(of(Geometry::tile(&[14])).is_ok());
        assert!(of(Geometry::tile(&[15])).is_err());
        assert!(of(Geometry::tile(&[1, 1])).is_err(), "two sides in one dimension");
    }
}
