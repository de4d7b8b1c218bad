//! Two datasets that are compared, part by part.

use sleek::DType;
use sleek::advise::elements;
use sleek::hdf5::Stored;

use super::difference::{Difference, PLANE_ELEMENTS, Rule, Valid};
use super::promise::Promise;
use crate::hdf5::dataset::{Block, Cut, Field, cut};
use crate::hdf5::parallel::Decoder;
use crate::pipeline::in_order;
use crate::progress::Progress;
use crate::quality::{Figure, Figures, Quality, Wanted};

/// Chunks smaller than this are read several at once.
const FEW_BYTES: u64 = 16 << 10;
/// Elements of planes that are taken together.
const PART_ELEMENTS: u64 = 1 << 19;
/// A dataset and its restored form.
pub struct Pair<'f> {
    pub dtype: DType,
    big_endian: bool,
    /// An array of numbers in each element is one dimension more.
    dims: Vec<u64>,
    /// The bits of missing values: those of the restored form, and those that one of both declares.
    marks: Vec<u64>,
    valid: Option<Valid>,
    old: &'f Field<'f>,
    new: &'f Field<'f>,
    pub promise: Promise,
}

type Boxes = Box<dyn Iterator<Item = Block>>;

/// A box of both.
struct PairPart {
    start: Vec<u64>,
    count: Vec<u64>,
    original: Vec<u8>,
    restored: Vec<u8>,
    /// What an error is held against; 0 where nothing may change or nothing is promised.
    limit: f64,
}

/// How a field is cut into parts.
#[derive(Clone, Copy, PartialEq)]
enum Parts {
    /// As its chunks are, or runs of elements, but for chunks that neither side has in its file.
    Stored,
    /// The same with these.
    All,
    /// Into whole planes of the two fastest dimensions.
    Planes,
}

/// Two types, with their byte orders where these alone differ.
pub fn types_in_words(both: [&Stored; 2]) -> [String; 2] {
    let differ_in_order = both[0].what == both[1].what && both[0].big_endian != both[1].big_endian;
    both.map(|Stored { what, big_endian, .. }| match (differ_in_order, big_endian) {
        (false, _) => what.clone(),
        (true, false) => format!("little-endian {what}"),
        (true, true) => format!("big-endian {what}"),
    })
}

impl<'f> Pair<'f> {
    /// Two datasets of one shape and type.
    pub fn of_datasets(old: &'f Field<'f>, new: &'f Field<'f>) -> Result<Pair<'f>, String> {
        Pair::of_promise(old, new, Promise::since(old, new)?)
    }

    /// The same under this promise.
    pub fn of_promise(old: &'f Field<'f>, new: &'f Field<'f>, promise: Promise) -> Result<Pair<'f>, String> {
        if old.dims != new.dims || old.stored != new.stored {
            let [here, there] = types_in_words([&old.stored, &new.stored]);
            let (name, dims) = (&old.name, (&new.dims, &old.dims));
            return Err(format!("{name}: {there} of shape {:?} there, here {here} of {:?}", dims.0, dims.1));
        }
        let (dtype, big_endian) = (old.stored.dtype, old.stored.big_endian);
        let marks = promise.marks(old, new)?;
        let mut dims = old.dims.clone();
        let inner = old.size / dtype.size() as u64;
        if inner > 1 {
            dims.push(inner); // an array of numbers in each element
        }
        let valid = promise.valid(old)?;
        Ok(Pair { dtype, big_endian, dims, marks, valid, old, new, promise })
    }

    pub fn difference(&self, progress: &mut Progress) -> Result<Difference, String> {
        let rule = self.rule();
        let mut all = Difference::default();
        let work = |part: &PairPart| {
            let of = Difference::of(&rule, part.limit, &part.original, &part.restored, |n| part.index(n));
            (of, part.original.len())
        };
        let skipped = self.each(Parts::Stored, work, |(difference, bytes)| {
            progress.add(bytes as u64);
            all.join(&difference);
            Ok(())
        })?;
        if let Some(skipped) = skipped {
            // Elements that nobody wrote are as the two fill values are.
            let limit = self.promise.limit(self.new, &skipped.first)?;
            let (old, new) = (self.old.fill_bytes(), self.new.fill_bytes());
            let of = Difference::of(&rule, limit, &old, &new, |_| skipped.first.start.clone());
            all.join(&of.times(skipped.elements));
        }
        Ok(all)
    }

    /// The figures that are asked for, of which `difference` knows some.
    pub fn figures(&self, wanted: &Wanted, difference: &Difference) -> Result<Figures, String> {
        let (rule, empty) = (&self.rule(), || Quality::new(wanted, difference.count, difference.range()));
        let mut all = empty();
        let mut take = |part: Quality| {
            all.join(&part);
            Ok(())
        };
        let of = |part: &PairPart, add: fn(&mut Quality, &[u64], &[f64], &[f64])| {
            let (mut quality, (original, restored)) = (empty(), rule.values(&part.original, &part.restored));
            add(&mut quality, &part.count, &original, &restored);
            quality
        };
        // The others come with the comparison, or of planes.
        if [Figure::Mean, Figure::Pearson, Figure::Ks, Figure::Ssim].iter().any(|figure| wanted.contains(figure)) {
            let parts = if self.fills_do_not_count() { Parts::Stored } else { Parts::All };
            self.each(parts, |part| of(part, Quality::add), &mut take)?;
        }
        if wanted.contains(&Figure::Dssim) && self.has_planes() {
            self.each(Parts::Planes, |part| of(part, Quality::add_planes), &mut take)?;
        }
        Ok(all.figures(difference.figures()))
    }

    /// Shows every part to `work`, which any thread does, and what comes of it to `take`, in order. What neither side
    /// has in its file is left out and told.
    fn each<T: Send>(
        &self,
        parts: Parts,
        work: impl Fn(&PairPart) -> T + Sync,
        mut take: impl FnMut(T) -> Result<(), String>,
    ) -> Result<Option<Skipped>, String> {
        let Pair { old, new, promise, .. } = self;
        let (decoders, inner) = ([Decoder::of(old)?, Decoder::of(new)?], self.inner());
        let (boxes, skipped) = self.boxes(parts)?;
        let blame = |k: usize, part: &Block, e| format!("{} file: {e}, at {:?}", ["first", "second"][k], part.start);
        in_order(
            boxes,
            |part| {
                let read = |k: usize| decoders[k].read([old, new][k], part).map_err(|e| blame(k, part, e));
                let limit = if parts == Parts::Planes { 0.0 } else { promise.limit(new, part)? };
                Ok(([read(0)?, read(1)?], limit))
            },
            |part, ([a, b], limit)| {
                let original = decoders[0].bytes(part, a).map_err(|e| blame(0, part, e))?;
                let restored = decoders[1].bytes(part, b).map_err(|e| blame(1, part, e))?;
                let start = part.start.iter().copied().chain(inner.map(|_| 0)).collect();
                let count = part.count.iter().copied().chain(inner).collect();
                Ok(work(&PairPart { start, count, original, restored, limit }))
            },
            |_, done| take(done?),
        )?;
        Ok(skipped)
    }

    /// Numbers of an element, if it has several.
    fn inner(&self) -> Option<u64> {
        (self.dims.len() > self.old.dims.len()).then(|| self.dims[self.dims.len() - 1])
    }

    /// The boxes of two datasets, and what is left out of them.
    fn boxes(&self, parts: Parts) -> Result<(Boxes, Option<Skipped>), String> {
        let Pair { old, new, promise, .. } = self;
        if parts == Parts::Planes {
            return Ok((Box::new(self.boxes_of_planes(new)), None));
        }
        let (grid, other) = if new.is_chunked { (new, old) } else { (old, new) };
        if parts == Parts::Stored
            && let Some(stored) = grid.chunks_with(other)?
        {
            let skipped = Skipped::of(grid, &stored);
            return Ok((Box::new(stored.into_iter()), skipped));
        }
        let chunk = new.chunk.iter().product::<u64>().saturating_mul(new.size);
        let by_chunk = promise.is_by_chunk() || (new.is_chunked && chunk >= FEW_BYTES);
        Ok((Box::new(if by_chunk { new.blocks_of_all_chunks() } else { old.all_blocks() }), None))
    }

    /// Boxes of as many planes as chunks reach over, as far as these are not too many.
    fn boxes_of_planes(&self, field: &Field) -> Cut {
        let rank = field.dims.len();
        // An array in each element is a dimension of the pair, and none of the field.
        let outer = self.dims.len() - 2;
        let mut shape: Vec<u64> = (0..rank).map(|i| if i < outer { 1 } else { field.dims[i].max(1) }).collect();
        if outer > 0 {
            let elements: u64 = self.dims[outer..].iter().product();
            shape[outer - 1] = field.chunk[outer - 1].min(PART_ELEMENTS / elements.max(1)).max(1);
        }
        cut(&field.dims, &shape)
    }

    /// Whether it has planes that are small enough.
    fn has_planes(&self) -> bool {
        self.dims.len() > 1 && self.dims.iter().rev().take(2).product::<u64>() <= PLANE_ELEMENTS
    }

    /// Whether what nobody wrote counts for no figure: it is missing, or no number.
    fn fills_do_not_count(&self) -> bool {
        let mut do_not = true;
        elements::for_each_pair(self.dtype, self.big_endian, &self.old.fill_bytes(), &self.new.fill_bytes(), |v, r| {
            let is_none = |(bits, value): (u64, f64)| !value.is_finite() || self.marks.contains(&bits);
            do_not &= is_none(v) || is_none(r);
        });
        do_not
    }

    fn rule(&self) -> Rule {
        Rule::new(self.dtype, self.big_endian, self.promise.bound.mode(), &self.marks).with_valid(self.valid)
    }
}

/// Elements of two datasets that neither has in its file.
pub struct Skipped {
    /// The first chunk of them.
    pub first: Block,
    elements: u64,
}

impl Skipped {
    /// What is not among these chunks of a dataset, which are in their order.
    pub fn of(field: &Field, chunks: &[Block]) -> Option<Skipped> {
        let all = field.dims.iter().fold(1, |n: u64, len| n.saturating_mul(*len));
        let elements = all - chunks.iter().map(|chunk| chunk.count.iter().product::<u64>()).sum::<u64>();
        let mut others = chunks.iter();
        let first = field.blocks_of_all_chunks().find(|chunk| others.next().is_none_or(|o| o.start != chunk.start))?;
        Some(Skipped { first, elements })
    }
}

impl PairPart {
    /// The indices of the `n`th element.
    fn index(&self, mut n: u64) -> Vec<u64> {
        let mut index = self.start.clone();
        for (at, len) in index.iter_mut().zip(&self.count).rev() {
            *at += n % len;
            n /= len;
        }
        index
    }
}
