//! What an array is known to have while it is encoded: a codec that tells between which numbers a chunk lies spares one
//! from looking at it, unless marks could hide there (`primitives::marks`).

use crate::dtype::DType;
use crate::primitives::marks;
use crate::primitives::range::{Ends, Watch};

/// Of a chunk that must be looked at every eighth piece may be enough.
const PIECE: usize = 1024;
const PIECES_OF: usize = 8 * PIECE;

/// Elements that were looked at, and others of which only the range is known.
#[derive(Clone)]
pub struct Watched {
    dtype: DType,
    big_endian: bool,
    seen: Watch,
    ends: Option<Ends>,
    /// How often the smallest and the largest element seen are among those seen, up to twice, if that is known.
    counts: [Option<usize>; 2],
    /// Whether more was seen than `ends` tells.
    is_behind: bool,
    /// Whether another thread has told what it knows.
    is_whole: bool,
    /// All elements but those seen lie within this.
    hull: (f64, f64),
}

impl Watched {
    /// Some elements were seen that will be seen again.
    pub fn new(dtype: DType, big_endian: bool, seen: Watch, ends: Option<Ends>) -> Watched {
        let hull = (f64::INFINITY, f64::NEG_INFINITY);
        Watched { dtype, big_endian, seen, ends, counts: [Some(0); 2], is_behind: false, is_whole: false, hull }
    }

    /// Takes note of a chunk, all of whose numbers lie within `span` if that is known.
    #[inline]
    pub fn note(&mut self, span: Option<(f64, f64)>, bytes: &[u8]) {
        let Some((least, most)) = span else { return self.look_alone(bytes) };
        if least < self.hull.0 || most > self.hull.1 {
            self.widen((least.min(self.hull.0), most.max(self.hull.1)), bytes);
        }
    }

    /// Takes `hull` if no mark can hide there, and looks at the chunk otherwise.
    #[inline(never)]
    fn widen(&mut self, hull: (f64, f64), bytes: &[u8]) {
        self.catch_up();
        if self.allows(hull) {
            self.hull = hull;
            return;
        }
        let before = self.ends;
        bytes.chunks(PIECES_OF).for_each(|part| self.seen.see(&part[..part.len().min(PIECE)]));
        self.set_ends(before);
        if self.allows(hull) {
            self.hull = hull;
        } else {
            self.look(bytes, before);
        }
    }

    /// Whether no mark can hide within `hull`, nor another one of what may be one.
    fn allows(&self, hull: (f64, f64)) -> bool {
        self.ends.is_some_and(|ends| {
            let [low, high] = marks::may_be(self.dtype, &ends, [true; 2]);
            let hides = low && hull.0 <= ends.low || high && hull.1 >= ends.high;
            !hides && marks::clears(self.dtype, &ends, hull)
        })
    }

    /// Looks at a chunk of which nothing is known, and leaves it for later what that says.
    #[inline(never)]
    fn look_alone(&mut self, bytes: &[u8]) {
        self.seen.see(bytes);
        self.counts = [None; 2];
        self.is_behind = true;
    }

    /// Looks at all of a chunk, some of which may be seen already: before it the elements seen had these ends.
    #[inline(never)]
    fn look(&mut self, bytes: &[u8], before: Option<Ends>) {
        self.seen.see(bytes);
        self.set_ends(before);
        let Some(ends) = self.ends else { return };
        let may_be = marks::may_be(self.dtype, &ends, [true; 2]);
        for (end, value) in [ends.low, ends.high].into_iter().enumerate() {
            // Nobody counts what is too near to the others.
            let known = self.counts[end].filter(|_| may_be[end]);
            let count = |known| known + marks::count(self.dtype, self.big_endian, value, bytes);
            self.counts[end] = known.map(|known| if known < 2 { count(known) } else { known });
        }
    }

    /// Ends that are others than before have not been counted yet, and are nowhere else but within the hull.
    fn set_ends(&mut self, before: Option<Ends>) {
        self.ends = self.seen.ends();
        let same = |value: fn(&Ends) -> f64| before.as_ref().map(value) == self.ends.as_ref().map(value);
        let keep = [same(|ends| ends.low), same(|ends| ends.high)];
        (0..2).filter(|end| !keep[*end]).for_each(|end| self.counts[end] = Some(0));
    }

    fn catch_up(&mut self) {
        if self.is_behind {
            (self.ends, self.is_behind) = (self.seen.ends(), false);
        }
    }

    fn clears(&self, hull: (f64, f64)) -> bool {
        self.ends.is_some_and(|ends| marks::clears(self.dtype, &ends, hull))
    }

    /// Adds what another thread knows of the same array.
    pub fn join(&mut self, other: &mut Watched) {
        other.catch_up();
        if !self.is_whole {
            // It knows what that did.
            std::mem::swap(self, other);
            self.is_whole = true;
            return;
        }
        let own = (self.ends, self.counts);
        self.seen.join(&other.seen);
        self.ends = self.seen.ends();
        self.hull = (self.hull.0.min(other.hull.0), self.hull.1.max(other.hull.1));
        for end in 0..2 {
            let value = |ends: &Option<Ends>| ends.map(|ends| [ends.low, ends.high][end]);
            let of = |(ends, counts): (Option<Ends>, [Option<usize>; 2])| match value(&ends) == value(&self.ends) {
                true => counts[end],
                false => Some(0),
            };
            self.counts[end] = of(own).zip(of((other.ends, other.counts))).map(|(a, b)| (a + b).min(2));
        }
    }

    /// What is to be thought of the array.
    pub fn verdict(&self) -> Verdict {
        let saw_all = self.hull.0 > self.hull.1;
        let Some(ends) = &self.ends else { return if saw_all { Verdict::NoMarks } else { Verdict::Unknown } };
        let is_finite = ends.low.is_finite() && ends.high.is_finite();
        // Where an end may be among what nobody has seen it may be there twice.
        let is_once = [(self.hull.0 > ends.low, 0), (self.hull.1 < ends.high, 1)]
            .map(|(is_beyond, end)| is_beyond && self.counts[end] == Some(1));
        let has_none =
            !marks::are_few(ends) && marks::may_be(self.dtype, ends, is_once.map(|once| !once)) == [false; 2];
        match saw_all || self.clears(self.hull) {
            true if is_finite && has_none => Verdict::NoMarks,
            // Whatever nobody has seen lies between these.
            _ if saw_all || self.hull.0 >= ends.low && self.hull.1 <= ends.high => Verdict::Ends(*ends),
            _ => Verdict::Unknown,
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
