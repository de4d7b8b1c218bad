//! Where things stand in a stream: what follows from element type, dimensions and geometry alone.

use super::constants::*;
use super::dims::{Dims, MAX_LEVEL, MAX_RANK, Region, Row};
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
    /// A box.
    Region(Region),
    /// A box of the grid of a level, [`Region::on_grid`].
    Grid {
        /// The box.
        region: Region,
        /// The level, 1 or more.
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
        match level {
            0 => Ok(Wanted::Region(region)),
            1..=MAX_LEVEL => Ok(Wanted::Grid { region: region.on_grid(level), level }),
            _ => fail!(InvalidArgument, "level {level}; 0 to {MAX_LEVEL}"),
        }
    }

    /// The box, and the level of its grid, if it is one.
    pub fn on_level(&self) -> Option<(&Region, u32)> {
        match self {
            Wanted::Range { .. } | Wanted::Chunks { .. } => None,
            Wanted::Region(region) => Some((region, 0)),
            Wanted::Grid { region, level } => Some((region, *level)),
        }
    }

    /// Elements.
    pub fn count(&self) -> u64 {
        match self {
            Wanted::Range { count, .. } | Wanted::Chunks { count, .. } => *count,
            Wanted::Region(region) | Wanted::Grid { region, .. } => region.count(),
        }
    }
}

/// Elements of a chunk that are equally far from each other there, and follow each other in what is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comb {
    /// The number of the first one in the chunk.
    pub in_chunk: usize,
    /// The number of the first one in what is wanted.
    pub in_wanted: usize,
    /// Elements.
    pub len: usize,
    /// From one to the next in the chunk.
    pub step: usize,
}

/// Rows of elements that lie behind each other in a chunk as well as in what is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The number of the first one in the chunk.
    pub in_chunk: u64,
    /// The number of the first one in what is wanted.
    pub in_wanted: u64,
    /// Elements of a row.
    pub len: u64,
    /// Rows. In the chunk each follows the one before.
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

    /// The number of the first element of tile `c`, if all of it follow each other in the array.
    pub fn run_of(&self, c: usize) -> Option<u64> {
        let tile = self.tile(c);
        let (lens, dims) = (tile.lens(), self.shape.dims.lens());
        // Behind the first dimension along which the tile has more than one element it has all there is.
        let behind = lens.iter().position(|len| *len > 1).map_or(lens.len(), |k| k + 1);
        (lens[behind..] == dims[behind..])
            .then(|| dims.iter().zip(tile.start()).fold(0, |at, (len, start)| at * len + start))
    }

    /// Chunks among which are all that have something of what is wanted, which is not nothing.
    pub fn chunks_of(&self, wanted: &Wanted) -> std::ops::Range<usize> {
        let (region, level) = match wanted {
            Wanted::Range { .. } | Wanted::Chunks { .. } => return 0..self.chunks,
            Wanted::Region(region) => (region, 0),
            Wanted::Grid { region, level } => (region, *level),
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
            Wanted::Range { first: 0, count } if *count == self.shape.dims.count() => *count > 0,
            Wanted::Grid { region, level } if self.is_linear() => self.combs(c, region, *level, false, &mut |_| ()),
            Wanted::Grid { region, level } => self.tile(c).on_grid(*level).intersection(region).is_some(),
            _ => self.pieces(c, wanted, &mut |_| ()),
        }
    }

    /// Shows the pieces of chunk `c` that are `wanted`, in the order in which they lie in it; whether there are any.
    ///
    /// Never inlined: its boxes of 32 dimensions would lie on the stack of whoever decodes a chunk between two calls.
    #[inline(never)]
    pub fn pieces(&self, c: usize, wanted: &Wanted, show: &mut dyn FnMut(Piece)) -> bool {
        let dims = &self.shape.dims;
        let mut any = false;
        let mut show_rows = |in_chunk, in_wanted, len, rows, stride| {
            any = true;
            show(Piece { in_chunk, in_wanted, len, rows, stride });
        };
        let mut show = |in_chunk, in_wanted, len| show_rows(in_chunk, in_wanted, len, 1, 0);
        // What a row has in common with a run of elements: its place in the row's box, its place in the run, its
        // length.
        let common = |row: Row, (first, count): (u64, u64)| {
            let (start, end) = (row.at.max(first), (row.at + row.len).min(first + count));
            (start < end).then(|| (start - row.at + row.in_box, start - first, end - start))
        };
        match (&self.shape.geometry, wanted) {
            // These have no rows, but combs or all.
            (_, Wanted::Grid { .. } | Wanted::Chunks { .. }) => {}
            (Geometry::Linear { chunk_log2 }, wanted) => {
                let size = self.dtype.size() as u64;
                let run = (((c as u64) << chunk_log2) / size, self.chunk_raw_bytes(c) as u64 / size);
                let mut show = |row| {
                    if let Some((in_wanted, in_chunk, len)) = common(row, run) {
                        show(in_chunk, in_wanted, len);
                    }
                };
                if let Wanted::Region(region) = wanted {
                    region.rows(dims, run.0).take_while(|row| row.at < run.0 + run.1).for_each(show);
                } else if let Wanted::Range { first, count } = wanted {
                    show(Row { at: *first, in_box: 0, len: *count });
                }
            }
            (Geometry::Tile { .. }, Wanted::Range { first, count }) => {
                let wanted = (*first, *count);
                let tile = self.tile(c);
                let (begin, end) = tile.reach(dims);
                if begin >= *first && end <= *first + *count {
                    tile.strips(dims, |strip| {
                        let Row { at, in_box, len } = strip.first;
                        show_rows(in_box, at - first, len, strip.rows, strip.stride);
                    });
                    return any;
                }
                let rows = tile.rows(dims, *first).take_while(|row| row.at < wanted.0 + wanted.1);
                for (in_chunk, in_wanted, len) in rows.filter_map(|row| common(row, wanted)) {
                    show(in_chunk, in_wanted, len);
                }
            }
            (Geometry::Tile { .. }, Wanted::Region(region)) => {
                let tile = self.tile(c);
                let Some(both) = tile.intersection(region) else { return false };
                let len = both.lens()[dims.rank() - 1];
                let first = [&tile, region].map(|of| of.number_of(both.start()));
                both.lines(first, &[tile.strides(), region.strides()], |[in_tile, in_wanted]| {
                    show(in_tile, in_wanted, len);
                });
            }
        }
        any
    }

    /// Shows those elements of chunk `c` that are in a box of the grid of a level, in their order, by their numbers in
    /// the chunk or, if it `is_thin`, in what of its tile is on the grid; whether there are any.
    #[inline(never)]
    pub fn combs(&self, c: usize, region: &Region, level: u32, is_thin: bool, show: &mut dyn FnMut(Comb)) -> bool {
        let (dims, mut any) = (&self.shape.dims, false);
        let step = if is_thin { 1 } else { 1u64 << level };
        let mut show = |in_chunk: u64, in_wanted: u64, len: u64| {
            any = true;
            show(Comb {
                in_chunk: in_chunk as usize,
                in_wanted: in_wanted as usize,
                len: len as usize,
                step: step as usize,
            });
        };
        if self.is_linear() {
            let size = self.dtype.size() as u64;
            let first = c as u64 * self.chunk_bytes() as u64 / size;
            let end = first + self.chunk_raw_bytes(c) as u64 / size;
            let line_len = region.lens()[dims.rank() - 1];
            let line_at = |line| {
                let position = region.off_grid(level, region.line(line));
                dims.lens().iter().zip(position).fold(0, |at, (len, place)| at * len + place)
            };
            let Some(reach) = line_len.checked_sub(1).map(|last| last * step) else { return false };
            // The first line that does not end before the chunk, by bisection: lines stand in the order of the array.
            let (mut line, mut high) = (0, region.line_count());
            while line < high {
                let middle = line + (high - line) / 2;
                if line_at(middle) + reach < first { line = middle + 1 } else { high = middle }
            }
            for line in line..region.line_count() {
                let at = line_at(line);
                if at >= end {
                    break;
                }
                let skipped = first.saturating_sub(at).div_ceil(step);
                let until = (end - at).div_ceil(step).min(line_len);
                if skipped < until {
                    show(at + skipped * step - first, line * line_len + skipped, until - skipped);
                }
            }
            return any;
        }
        let tile = self.tile(c);
        let thin = tile.on_grid(level);
        let Some(both) = thin.intersection(region) else { return false };
        let (start, len) = (both.line(0), both.lens()[dims.rank() - 1]);
        let (first, strides) = match is_thin {
            true => (thin.number_of(&start), thin.strides()),
            // Steps of the grid.
            false => (tile.number_of(&tile.off_grid(level, start)), tile.off_grid(level, tile.strides())),
        };
        both.lines([first, region.number_of(&start)], &[strides, region.strides()], |[in_chunk, in_wanted]| {
            show(in_chunk, in_wanted, len);
        });
        any
    }

    /// Chunks of group `g`.
    pub fn group_chunks(&self, g: usize) -> std::ops::Range<usize> {
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
    fn tiles_cover_an_array_once() {
        for (lens, sides) in
            [(&[10u64, 7][..], &[2u8, 1][..]), (&[5, 1, 9], &[1, 3, 2]), (&[33], &[4]), (&[0, 4], &[1, 1])]
        {
            let layout = tiled(lens, sides);
            let dims = Dims::new(lens).unwrap();
            let mut seen = vec![0; dims.count() as usize];
            for c in 0..layout.chunks {
                let rows: Vec<_> = layout.tile(c).rows(&dims, 0).collect();
                assert_eq!(layout.chunk_raw_bytes(c) as u64, 4 * rows.iter().map(|r| r.len).sum::<u64>());
                rows.iter().flat_map(|r| r.at..r.at + r.len).for_each(|i| seen[i as usize] += 1);
            }
            assert!(seen.iter().all(|n| *n == 1), "{lens:?} {sides:?}");
        }
    }

    /// Every range and a spread of boxes, of tiles and of runs: each wanted element comes once, from the chunk that
    /// holds it.
    #[test]
    fn pieces_are_what_is_wanted() {
        let dims = Dims::new(&[5, 6, 4]).unwrap();
        let tile = tiled(&[5, 6, 4], &[1, 2, 1]);
        let wide = Dims::new(&[3, 700, 5]).unwrap();
        let run = Shape { dims: wide, geometry: Geometry::Linear { chunk_log2: 12 }, ..Shape::line(0) };
        let run = Layout::with(DType::F32, run).unwrap();
        let ranges = |n: u64| {
            (0..n).step_by(1 + n as usize / 30).flat_map(move |a| [0, 1, 7, n - a].map(move |c| (a, c.min(n - a))))
        };
        let mut cases = vec![];
        for (layout, dims) in [(tile, dims), (run, wide)] {
            cases.extend(ranges(dims.count()).map(|(first, count)| (layout, Wanted::Range { first, count })));
            for k in 0..60u64 {
                let start: Vec<u64> = dims.lens().iter().zip([7, 3, 5]).map(|(n, m)| k * m % n).collect();
                let lens: Vec<u64> = dims
                    .lens()
                    .iter()
                    .zip(&start)
                    .zip([2, 11, 3])
                    .map(|((n, s), m)| (k * m % n + 1).min(n - s))
                    .collect();
                let region = Region::new(&dims, &start, &lens).unwrap();
                cases.push((layout, Wanted::Region(region)));
                cases.push((layout, Wanted::on_grid(region, 1 + k as u32 % 4).unwrap()));
            }
        }
        for (layout, wanted) in cases {
            let dims = layout.shape.dims;
            let expected: Vec<u64> = match &wanted {
                Wanted::Range { first, count } => (*first..first + count).collect(),
                Wanted::Region(region) => region.rows(&dims, 0).flat_map(|r| r.at..r.at + r.len).collect(),
                Wanted::Chunks { .. } => unreachable!("no case has them"),
                Wanted::Grid { region, level } => {
                    let number = |at: [u64; MAX_RANK]| (0..3).fold(0, |n, k| n * dims.lens()[k] + at[k]);
                    let line = |(at, len)| (0..len).map(move |i| number(region.off_grid(*level, at)) + (i << level));
                    let lines = (0..region.line_count()).map(|n| (region.line(n), region.lens()[2]));
                    lines.flat_map(line).collect()
                }
            };
            let touched: Vec<_> = (0..layout.chunks).filter(|c| layout.touches(*c, &wanted)).collect();
            if let (Wanted::Region(_) | Wanted::Grid { .. }, [first, ..]) = (&wanted, &touched[..]) {
                assert_eq!(layout.chunks_of(&wanted), *first..touched[touched.len() - 1] + 1);
            }
            let mut found = vec![None; expected.len()];
            for c in 0..layout.chunks {
                let own: Vec<u64> = if layout.is_linear() {
                    let first = (c * layout.chunk_bytes()) as u64 / 4;
                    (first..first + layout.chunk_raw_bytes(c) as u64 / 4).collect()
                } else {
                    layout.tile(c).rows(&dims, 0).flat_map(|r| r.at..r.at + r.len).collect()
                };
                if let Wanted::Grid { region, level } = &wanted {
                    let any = layout.combs(c, region, *level, false, &mut |comb| {
                        for i in 0..comb.len {
                            let element = own[comb.in_chunk + i * comb.step];
                            assert!(found[comb.in_wanted + i].replace(element).is_none());
                        }
                    });
                    assert_eq!(any, layout.touches(c, &wanted));
                    continue;
                }
                layout.pieces(c, &wanted, &mut |piece| {
                    for (row, i) in (0..piece.rows).flat_map(|row| (0..piece.len).map(move |i| (row, i))) {
                        let place = &mut found[(piece.in_wanted + row * piece.stride + i) as usize];
                        assert!(place.replace(own[(piece.in_chunk + row * piece.len + i) as usize]).is_none());
                    }
                });
            }
            assert_eq!(found, expected.into_iter().map(Some).collect::<Vec<_>>(), "{wanted:?}");
        }
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
