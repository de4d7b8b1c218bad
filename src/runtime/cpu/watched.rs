//! What an array is known to have while it is encoded: where a codec tells between which numbers each chunk lies, nobody
//! looks at the elements, unless these tell that there may be marks (`primitives::marks`).

use crate::dtype::DType;
use crate::exec::Isa;
use crate::host::memory::on_heap;
use crate::primitives::marks;
use crate::primitives::range::{Ends, Watch};

/// Smallest and largest element of a chunk, each as far off as `reach` at most; no element is farther away.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
    /// How far off they may be.
    pub reach: f64,
}

/// Smallest and largest elements of an array's chunks.
pub struct Watched {
    dtype: DType,
    big_endian: bool,
    /// The ends of what spans told, each as far off as `reach`. Elements next to them are farther away than twice that.
    ends: Option<Ends>,
    reach: f64,
    /// What was looked at.
    seen: Option<Box<[Watch]>>,
    /// There was no memory to look at a chunk.
    lacks: bool,
}

impl Watched {
    /// Nothing is known of an array of floats.
    pub fn new(dtype: DType, big_endian: bool) -> Watched {
        Watched { dtype, big_endian, ends: None, reach: 0.0, seen: None, lacks: false }
    }

    /// For another thread of the same array.
    pub fn anew(&self) -> Watched {
        Watched::new(self.dtype, self.big_endian)
    }

    /// Takes note of a chunk, of which a codec knows the span or not.
    #[inline]
    pub fn note(&mut self, span: Option<Span>, bytes: &[u8]) {
        match span {
            Some(Span { least, most, reach }) => {
                self.reach = self.reach.max(reach);
                self.add(least);
                self.add(most);
            }
            None => self.look(bytes),
        }
    }

    /// Takes an element, which may be `reach` off.
    #[inline]
    fn add(&mut self, v: f64) {
        let apart = 2.0 * self.reach;
        let Some(Ends { low, high, above_low, below_high }) = &mut self.ends else {
            self.ends = Some(Ends { low: v, high: v, above_low: v, below_high: v });
            return;
        };
        // Where there is none the end itself stands for what is next to it.
        if v < *low {
            if v + apart < *low {
                *above_low = *low;
            }
            *low = v;
        } else if v > *low + apart && (v < *above_low || *above_low <= *low + apart) {
            *above_low = v;
        }
        if v > *high {
            if v - apart > *high {
                *below_high = *high;
            }
            *high = v;
        } else if v < *high - apart && (v > *below_high || *below_high >= *high - apart) {
            *below_high = v;
        }
    }

    #[inline(never)]
    fn look(&mut self, bytes: &[u8]) {
        if self.seen.is_none() {
            self.seen = on_heap(Watch::new(Isa::best(), self.dtype, self.big_endian, &[])).ok();
        }
        match &mut self.seen {
            Some(seen) => seen[0].see(bytes),
            None => self.lacks = true,
        }
    }

    /// Adds what another thread knows of the same array.
    pub fn join(&mut self, other: &mut Watched) {
        self.lacks |= other.lacks;
        self.reach = self.reach.max(other.reach);
        match (&mut self.seen, &mut other.seen) {
            (Some(own), Some(other)) => own[0].join(&other[0]),
            (own, other) => *own = own.take().or_else(|| other.take()),
        }
        if let Some(ends) = other.ends {
            self.add_all(ends);
        }
    }

    fn add_all(&mut self, ends: Ends) {
        [ends.low, ends.high, ends.above_low, ends.below_high].into_iter().for_each(|v| self.add(v));
    }

    /// What is to be thought of the array.
    pub fn verdict(&mut self) -> Verdict {
        if self.lacks {
            return Verdict::Unknown;
        }
        if let Some(ends) = self.seen.as_ref().and_then(|seen| seen[0].ends()) {
            if !ends.low.is_finite() || !ends.high.is_finite() {
                return if self.ends.is_none() { Verdict::Ends(ends) } else { Verdict::Unknown };
            }
            self.add_all(ends);
        }
        let Some(ends) = self.ends else { return Verdict::NoMarks };
        match marks::clears(self.dtype, &ends, self.reach) {
            true => Verdict::NoMarks,
            false if self.reach == 0.0 => Verdict::Ends(ends),
            false => Verdict::Unknown,
        }
    }
}

/// What watching an array came to.
pub enum Verdict {
    /// It has none, and more than two values, or no numbers at all.
    NoMarks,
    /// It may have some; of its numbers these are the ends, infinities among them.
    Ends(Ends),
    /// It may have some.
    Unknown,
}
