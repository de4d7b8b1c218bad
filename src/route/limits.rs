//! Values that stay inside limits, such as those of a valid range. A bound alone lets a fraction of 1 come back as
//! 1.0001. What was inside and would leave is put at the limit, which is no farther from it than what came back; the
//! limit is a missing value then, and so comes back exactly. Where nothing leaves, nothing changes.

use crate::bound::sub_up;
use crate::codec::Codec;
use crate::container::Header;
use crate::dtype::{DType, element_bits};
use crate::error::Result;
use crate::exec::Isa;
use crate::host::memory::{Heap, filled, gathered};
use crate::missing::{MAX_MISSING, Missing, MissingValue, next_above};
use crate::params::{Bound, Limits, Params};
use crate::primitives::range;

/// Other values take their neighbours' places in the prediction when one is put at a limit, so that others may leave.
pub const ROUNDS: usize = 8;

/// Elements nearest to limits, inside of them, and no missing values: what is put there is none.
struct Ends {
    dtype: DType,
    big_endian: bool,
    bits: [Option<u64>; 2],
    numbers: [f64; 2],
    /// What stands for an end that is a missing value, of those that elements may come back as.
    next: [Option<u64>; 2],
}

impl Ends {
    fn of(params: &Params, codec: &dyn Codec, limits: &Limits, header: &Header) -> Result<Ends> {
        let dtype = params.dtype;
        let sign = 1u64 << (8 * dtype.size() - 1);
        let missing = params.missing.of_type(dtype)?;
        // The first one from a limit on upwards; `flip` is what makes elements of these bits.
        let above = |limit: f64, flip: u64| {
            let is_missing = |bits: u64| missing.bits().iter().any(|m| dtype.number(*m) == dtype.number(bits ^ flip));
            let mut end = Some(dtype.nearest(limit));
            while let Some(bits) = end.filter(|bits| dtype.number(*bits) < limit || is_missing(*bits)) {
                end = next_above(dtype, bits);
            }
            end.map(|bits| bits ^ flip)
        };
        let ends = [above(limits.low, 0), above(-limits.high, sign)];
        let bits = ends.map(|end| end.filter(|bits| dtype.number(*bits).is_finite()));
        let number = |end: usize, none: f64| bits[end].map_or(none, |bits| dtype.number(bits));
        let numbers = [number(0, f64::NEG_INFINITY), number(1, f64::INFINITY)];
        let mut next = [None; 2];
        for (next, bits) in next.iter_mut().zip(bits) {
            if let Some(bits) = bits
                && codec.cpu().restores(header, bits)?
            {
                *next = next_above(dtype, bits);
            }
        }
        Ok(Ends { dtype, big_endian: params.big_endian, bits, numbers, next })
    }

    /// Whether an element is so near to an end that it may come back beyond it.
    fn are_near(&self, bound: Bound, absolute: f64, src: &[u8]) -> bool {
        let margin = |end: f64| match bound {
            Bound::Rel(share) if share < 0.5 => 2.0 * share * end.abs(),
            Bound::Rel(_) => f64::INFINITY,
            _ => absolute,
        };
        self.numbers.into_iter().filter(|end| end.is_finite()).any(|end| {
            let near = ((end - margin(end)).next_down(), (end + margin(end)).next_up());
            range::reaches(Isa::best(), self.dtype, self.big_endian, near, src)
        })
    }

    /// Puts what is inside in `src`, but not in `back`, at its end in `dst`; which ends those are. So it does with what
    /// came back next to an end, because that is a missing value: written again without it, it would be rounded once
    /// more.
    fn put(&self, src: &[u8], back: &[u8], dst: &mut [u8], known: &Missing, absolute: f64) -> [bool; 2] {
        let (size, mut put) = (self.dtype.size(), [false; 2]);
        let is_known = |end: usize| self.bits[end].is_some_and(|bits| known.bits().contains(&bits));
        let next = [0, 1].map(|end| self.next[end].filter(|_| is_known(end)));
        let is_within = |v: f64, end: f64| sub_up(v.max(end), v.min(end)) <= absolute;
        let is_inside = |v: f64| self.numbers[0] <= v && v <= self.numbers[1];
        let elements = src.chunks_exact(size).zip(back.chunks_exact(size)).zip(dst.chunks_exact_mut(size));
        for ((v, r), element) in elements.filter(|((v, r), _)| v != r) {
            let bits = |element| element_bits(element, self.big_endian);
            let [v, r] = [bits(v), bits(r)].map(|bits| (bits, self.dtype.number(bits)));
            let beside = (0..2).find(|end| next[*end] == Some(r.0) && is_within(v.1, self.numbers[*end]));
            if beside.is_none() && (is_inside(r.1) || !is_inside(v.1)) {
                continue;
            }
            let end = beside.unwrap_or(usize::from(r.1 > self.numbers[1]));
            put[end] = true;
            let bits = self.bits[end].unwrap_or_default().to_le_bytes();
            element.copy_from_slice(&bits[..size]);
            if self.big_endian {
                element.reverse();
            }
        }
        put
    }
}

/// What came of a round.
pub enum Put {
    /// Nothing had left.
    Nothing,
    /// All that had left is at the limits.
    All,
    /// There is no room for them among the missing values.
    NoRoom,
}

/// An array that is encoded again until what is inside of its limits stays there.
pub struct Inside {
    ends: Ends,
    /// The absolute bound; 0 of mode rel, which rounds what is next to a limit to it again.
    absolute: f64,
    /// The request, which declares limits that something was put at.
    pub params: Params,
    /// The array, with what has left at the limits.
    pub array: Vec<u8>,
    /// Room for what came back.
    pub back: Vec<u8>,
}

impl Inside {
    /// Of an array whose stream has this header; `None` where nothing is so near to a limit that it may leave.
    pub fn new(
        params: &Params,
        codec: &dyn Codec,
        limits: &Limits,
        header: &Header,
        src: &[u8],
    ) -> Result<Option<Heap<Inside>>> {
        let ends = Ends::of(params, codec, limits, header)?;
        if !ends.are_near(params.bound, header.abs_bound, src) {
            return Ok(None);
        }
        let (back, mut array) = (filled(src.len(), 0u8)?, filled(src.len(), 0u8)?);
        array.copy_from_slice(src);
        let mut params = params.clone();
        if params.bound.measures() {
            // A range without its ends would be another one.
            params.bound = params.bound.of_range(Some(header.range).filter(|range| *range > 0.0));
        }
        let absolute = if let Bound::Rel(_) = params.bound { 0.0 } else { header.abs_bound };
        Heap::new(Inside { ends, absolute, params, array, back }).map(Some)
    }

    /// Puts what has left at the limits, and declares those.
    pub fn put(&mut self, src: &[u8]) -> Result<Put> {
        let (dtype, missing) = (self.params.dtype, &mut self.params.missing);
        let known = missing.of_type(dtype)?;
        let put = self.ends.put(src, &self.back, &mut self.array, &known, self.absolute);
        if put == [false; 2] {
            return Ok(Put::Nothing);
        }
        let left = (0..2).filter(|end| put[*end]).filter_map(|end| self.ends.bits[end]);
        let new = gathered(left.filter(|bits| !known.bits().contains(bits)))?;
        // A zero is one of two.
        let zeros = new.iter().filter(|bits| dtype.number(**bits) == 0.0).count();
        if known.len() + new.len() + zeros > MAX_MISSING {
            *missing = missing.finite(dtype)?;
        }
        if missing.of_type(dtype)?.len() + new.len() + zeros > MAX_MISSING {
            return Ok(Put::NoRoom);
        }
        new.into_iter().try_for_each(|bits| self.params.missing.push_found(MissingValue::Bits(bits)))?;
        Ok(Put::All)
    }
}
