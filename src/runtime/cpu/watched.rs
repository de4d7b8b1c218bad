//! What an array is known to have while it is encoded: where a codec tells between which numbers each chunk lies,
//! nobody looks at the elements, unless these tell that there may be marks (`primitives::marks`).

use crate::dtype::DType;
use crate::exec::Isa;
use crate::host::memory::Heap;
use crate::primitives::marks::{self, Closer};
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

/// The chunk that has an end of an array.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Its first byte and how many it has.
    at: usize,
    len: usize,
    /// No other chunk has elements so far out.
    alone: bool,
}

/// Smallest and largest elements of an array's chunks.
pub struct Watched {
    dtype: DType,
    big_endian: bool,
    /// The ends of what spans told, each as far off as `reach`. Elements next to them are farther away than twice that.
    ends: Option<Ends>,
    reach: f64,
    /// Which chunks have the smallest and the largest element, where they are known.
    places: [Option<Place>; 2],
    /// What was looked at.
    seen: Option<Heap<Watch>>,
    /// There was no memory to look at a chunk.
    lacks: bool,
}

impl Watched {
    /// Nothing is known of an array of floats.
    pub fn new(dtype: DType, big_endian: bool) -> Watched {
        Watched { dtype, big_endian, ends: None, reach: 0.0, places: [None; 2], seen: None, lacks: false }
    }

    /// For another thread of the same array.
    pub fn anew(&self) -> Watched {
        Watched::new(self.dtype, self.big_endian)
    }

    /// Takes note of a chunk, of which a codec knows the span or not; `at` is its first byte in the array, if its
    /// elements lie together.
    #[inline]
    pub fn note(&mut self, span: Option<Span>, at: Option<usize>, bytes: &[u8]) {
        match span {
            Some(Span { least, most, reach }) => {
                self.reach = self.reach.max(reach);
                let place = at.map(|at| Place { at, len: bytes.len(), alone: true });
                self.add(least, place);
                self.add(most, place);
            }
            None => self.look(bytes),
        }
    }

    /// Takes an element of a chunk, which may be `reach` off.
    #[inline]
    fn add(&mut self, v: f64, place: Option<Place>) {
        let apart = 2.0 * self.reach;
        let Some(Ends { low, high, above_low, below_high }) = &mut self.ends else {
            self.ends = Some(Ends { low: v, high: v, above_low: v, below_high: v });
            self.places = [place; 2];
            return;
        };
        let far = [*low - v, v - *high];
        for (own, far) in self.places.iter_mut().zip(far) {
            match own {
                _ if far > apart => *own = place,
                Some(own) if far >= -apart => own.alone &= place.is_some_and(|place| place.at == own.at),
                _ => {}
            }
        }
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
            self.seen = Heap::new(Watch::new(Isa::best(), self.dtype, self.big_endian, &[])).ok();
        }
        match &mut self.seen {
            Some(seen) => seen.see(bytes),
            None => self.lacks = true,
        }
    }

    /// Adds what another thread knows of the same array.
    pub fn join(&mut self, other: &mut Watched) {
        self.lacks |= other.lacks;
        self.reach = self.reach.max(other.reach);
        match (&mut self.seen, &mut other.seen) {
            (Some(own), Some(other)) => own.join(other),
            (own, other) => *own = own.take().or_else(|| other.take()),
        }
        if let Some(ends) = other.ends {
            self.add_all(ends, other.places);
        }
    }

    fn add_all(&mut self, ends: Ends, [low, high]: [Option<Place>; 2]) {
        self.add(ends.low, low);
        self.add(ends.high, high);
        self.add(ends.above_low, low);
        self.add(ends.below_high, high);
    }

    /// What is to be thought of the array, whose bytes are `src` and of which the numbers `known` do not count.
    pub fn verdict(&mut self, known: &[f64], src: &[u8]) -> Verdict {
        if self.lacks {
            return Verdict::Unknown;
        }
        if let Some(ends) = self.seen.as_ref().and_then(|seen| seen.ends()) {
            if !ends.low.is_finite() || !ends.high.is_finite() {
                return if self.ends.is_none() { Verdict::Ends(ends) } else { Verdict::Unknown };
            }
            self.add_all(ends, [None; 2]);
        }
        if self.clears([Closer::UNKNOWN; 2]) {
            return Verdict::NoMarks;
        }
        let closer = self.look_again(known, src);
        match self.ends {
            _ if self.clears(closer) => Verdict::NoMarks,
            Some(ends) if self.reach == 0.0 => Verdict::Ends(ends),
            _ => Verdict::Unknown,
        }
    }

    /// Whether there are no marks.
    fn clears(&self, closer: [Closer; 2]) -> bool {
        self.ends.is_none_or(|ends| marks::clears(self.dtype, &ends, self.reach, closer))
    }

    /// Looks at the chunks that have the ends: what lies next to these is often in the same chunk.
    fn look_again(&mut self, known: &[f64], src: &[u8]) -> [Closer; 2] {
        let places = self.places;
        [0, 1].map(|end| places[end].map_or(Closer::UNKNOWN, |place| self.look_at(end, place, known, src)))
    }

    /// Looks at the chunk that has the smallest or the largest element.
    fn look_at(&mut self, end: usize, place: Place, known: &[f64], src: &[u8]) -> Closer {
        let (dtype, big_endian, chunk) = (self.dtype, self.big_endian, &src[place.at..place.at + place.len]);
        let mut watch = Watch::new(Isa::best(), dtype, big_endian, known);
        watch.see(chunk);
        let Some(ends) = watch.ends().filter(|ends| ends.low.is_finite() && ends.high.is_finite()) else {
            return Closer::UNKNOWN;
        };
        self.add_all(ends, [Some(place); 2]);
        let (own, next) = [(ends.low, ends.above_low), (ends.high, ends.below_high)][end];
        let gap = if own == next { f64::INFINITY } else { (own - next).abs() };
        Closer { once: place.alone && marks::count(dtype, big_endian, own, chunk) == 1, gap }
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
