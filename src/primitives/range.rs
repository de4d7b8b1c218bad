//! The value range of an array, for bounds relative to it.

use super::quantize::widen_f16;
use crate::dtype::DType;
use crate::exec::Isa;
use crate::simd::word::Word;
use crate::simd::{by, stream};

/// Smallest and largest finite element other than `fills`, up to four numbers of the type; `None` if there is no such
/// element or the type is no float.
pub fn value_range(dtype: DType, big_endian: bool, fills: &[f64], bytes: &[u8]) -> Option<(f64, f64)> {
    value_range_with(Isa::best(), dtype, big_endian, fills, bytes)
}

/// The same with the instructions that `isa` consents to.
fn value_range_with(isa: Isa, dtype: DType, big_endian: bool, fills: &[f64], bytes: &[u8]) -> Option<(f64, f64)> {
    // In the other byte order, or with several fill values, loops of their own would make the library larger and, as
    // memory sets the pace, no call faster.
    if !big_endian && fills.len() < 2 {
        let done = by!(Avx512, isa, |dtype: DType, fills: &[f64], bytes: &[u8]| -> Option<(f64, f64)> {
            portable_range(dtype, false, &fills[..fills.len().min(1)], bytes)
        });
        if let Some(range) = done {
            return range;
        }
    }
    let done = by!(Avx2, isa, |dtype: DType, big_endian: bool, fills: &[f64], bytes: &[u8]| -> Option<(f64, f64)> {
        portable_range(dtype, big_endian, fills, bytes)
    });
    done.unwrap_or_else(|| portable_range(dtype, big_endian, fills, bytes))
}

/// The range of two arrays from the range of each.
pub fn join(a: Option<(f64, f64)>, b: Option<(f64, f64)>) -> Option<(f64, f64)> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        _ => a.or(b),
    }
}

/// The range as the compiler vectorises it for the function that it is inlined into.
#[inline(always)]
fn portable_range(dtype: DType, big_endian: bool, fills: &[f64], bytes: &[u8]) -> Option<(f64, f64)> {
    match dtype {
        DType::F32 => ordered::<4, u32, f32>(bytes, big_endian, f32::NEG_INFINITY, f32::from_bits, fills, |f| f as f32),
        DType::F64 => ordered::<8, u64, f64>(bytes, big_endian, f64::NEG_INFINITY, f64::from_bits, fills, |f| f),
        DType::F16 => {
            let finite = |b: u16| if b & 0x7c00 == 0x7c00 { f32::NAN } else { widen_f16(b) };
            ordered::<2, u16, f32>(bytes, big_endian, f32::NEG_INFINITY, finite, fills, |f| f as f32)
        }
        DType::BF16 => {
            let widen = |b: u16| f32::from_bits(u32::from(b) << 16);
            ordered::<2, u16, f32>(bytes, big_endian, f32::NEG_INFINITY, widen, fills, |f| f as f32)
        }
        _ => None,
    }
}

/// The scan of elements in the machine's byte order with no fill value or one, each a loop of its own, and that of all
/// else.
#[inline(always)]
fn ordered<const N: usize, W: Word, F: Float>(
    bytes: &[u8],
    big_endian: bool,
    low: F,
    float: impl Fn(W) -> F,
    fills: &[f64],
    narrow: impl Fn(f64) -> F,
) -> Option<(f64, f64)> {
    // Where there are fewer fill values a NaN stands for them: it does not count either.
    let fill = |k: usize| fills.get(k).map_or(low + -low, |f| narrow(*f));
    let word = |b: &[u8; N]| if big_endian { W::load(b).swap() } else { W::load(b) };
    match (big_endian, fills.len()) {
        // What most arrays are has a loop without a comparison too many.
        (false, 0) => scan::<N, F>(bytes, low, |b| float(W::load(b)), []),
        (false, 1) => scan::<N, F>(bytes, low, |b| float(W::load(b)), [fill(0)]),
        _ => scan::<N, F>(bytes, low, |b| float(word(b)), [0, 1, 2, 3].map(fill)),
    }
}

/// f32 or f64.
trait Float: Copy + PartialOrd + Into<f64> + std::ops::Neg<Output = Self> + std::ops::Add<Output = Self> {
    /// The negative one and the positive one.
    const INFINITIES: (Self, Self);
}

impl Float for f32 {
    const INFINITIES: (f32, f32) = (f32::NEG_INFINITY, f32::INFINITY);
}
impl Float for f64 {
    const INFINITIES: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);
}

/// Independent running extremes, so that the loop is not one chain of dependent comparisons.
const LANES: usize = 64;
/// Bytes from what is looked at to what is fetched from memory meanwhile.
const AHEAD: usize = 16384;

/// Lanes of what looks at pieces that are in the cache.
const NEAR_LANES: usize = 32;

/// Smallest and largest values, each of every N-th element.
#[derive(Clone, Copy, Debug)]
struct RangeLanes<F, const N: usize> {
    min: [F; N],
    max: [F; N],
}

impl<F: Float, const N: usize> RangeLanes<F, N> {
    /// Nothing was seen; `low` is negative infinity.
    fn new(low: F) -> RangeLanes<F, N> {
        RangeLanes { min: [-low; N], max: [low; N] }
    }

    #[inline(always)]
    fn step(&mut self, lane: usize, (least, most): (F, F)) {
        self.min[lane] = if least < self.min[lane] { least } else { self.min[lane] };
        self.max[lane] = if most > self.max[lane] { most } else { self.max[lane] };
    }

    /// Smallest and largest of all.
    #[inline(always)]
    fn ends(&self) -> Option<(F, F)> {
        let lo = by_halves(self.min, |a, b| if b < a { b } else { a });
        let hi = by_halves(self.max, |a, b| if b > a { b } else { a });
        (lo <= hi).then_some((lo, hi))
    }

    fn join(&mut self, other: &RangeLanes<F, N>) {
        (0..N).for_each(|lane| self.step(lane, (other.min[lane], other.max[lane])));
    }
}

/// What `pick` leaves of all lanes, vectors at a time.
#[inline(always)]
pub fn by_halves<T: Copy, const N: usize>(mut lanes: [T; N], pick: impl Fn(T, T) -> T) -> T {
    const { assert!(N.is_power_of_two()) };
    let mut half = N / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] = pick(lanes[i], lanes[i + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// Calls `look` with each element and its lane, and fetches what comes next meanwhile.
#[inline(always)]
fn by_lanes<const N: usize>(bytes: &[u8], mut look: impl FnMut(usize, &[u8; N])) {
    let (blocks, rest) = bytes.as_chunks::<N>().0.as_chunks::<LANES>();
    for block in blocks {
        for line in (0..LANES * N).step_by(64) {
            stream::fetch(block.as_ptr().cast::<u8>().wrapping_add(AHEAD + line));
        }
        for (lane, b) in block.iter().enumerate() {
            look(lane, b);
        }
    }
    for (lane, b) in rest.iter().enumerate() {
        look(lane, b);
    }
}

#[inline(always)]
fn scan<const N: usize, F: Float>(
    bytes: &[u8],
    low: F,
    float: impl Fn(&[u8; N]) -> F,
    fills: impl IntoIterator<Item = F> + Copy,
) -> Option<(f64, f64)> {
    let high = -low;
    let mut lanes = RangeLanes::<F, LANES>::new(low);
    by_lanes(bytes, |lane, b| {
        let v = float(b);
        // A NaN fails both comparisons; infinities and the fill values are kept out by these.
        let counts = fills.into_iter().fold((v < high) & (v > low), |counts, fill| counts & (v != fill));
        lanes.step(lane, if counts { (v, v) } else { (high, low) });
    });
    // Of −0 and +0 the lanes keep whichever came first; the sum makes both +0, so that no header depends on that.
    lanes.ends().map(|(lo, hi)| (lo.into() + 0.0, hi.into() + 0.0))
}

/// Whether any element lies from `low` to `high`, of floats; of types below f64 one just beside may count.
pub fn reaches(isa: Isa, dtype: DType, big_endian: bool, (low, high): (f64, f64), bytes: &[u8]) -> bool {
    let done = by!(Avx2, isa, |dtype: DType, big_endian: bool, low: f64, high: f64, bytes: &[u8]| -> bool {
        portable_reaches(dtype, big_endian, (low, high), bytes)
    });
    done.unwrap_or_else(|| portable_reaches(dtype, big_endian, (low, high), bytes))
}

/// The same by f64 alone, to the last bit: slower.
pub fn reaches_exactly(dtype: DType, big: bool, limits: (f64, f64), bytes: &[u8]) -> bool {
    match dtype {
        DType::F64 => any_within(bytes, big, limits, |b: u64| f64::from_bits(b)),
        DType::F16 => any_within(bytes, big, limits, |b: u16| f64::from(widen_f16(b))),
        DType::BF16 => any_within(bytes, big, limits, |b: u16| f64::from(f32::from_bits(u32::from(b) << 16))),
        _ => any_within(bytes, big, limits, |b: u32| f64::from(f32::from_bits(b))),
    }
}

#[inline(always)]
fn portable_reaches(dtype: DType, big: bool, (low, high): (f64, f64), bytes: &[u8]) -> bool {
    // Numbers of f32 from the one below to the one above: no element between is left out.
    let single = ((low as f32).next_down(), (high as f32).next_up());
    match dtype {
        DType::F64 => any_within(bytes, big, (low, high), |b: u64| f64::from_bits(b)),
        DType::F16 => any_within(bytes, big, single, widen_f16),
        DType::BF16 => any_within(bytes, big, single, |b: u16| f32::from_bits(u32::from(b) << 16)),
        _ => any_within(bytes, big, single, |b: u32| f32::from_bits(b)),
    }
}

#[inline(always)]
fn any_within<W: Word, F: Float>(bytes: &[u8], big_endian: bool, (low, high): (F, F), float: impl Fn(W) -> F) -> bool {
    let is = |b: &[u8]| {
        let word = W::load(b);
        let v = float(if big_endian { word.swap() } else { word });
        (v >= low) & (v <= high)
    };
    bytes.chunks(1024).any(|piece| piece.chunks_exact(size_of::<W>()).fold(false, |any, b| any | is(b)))
}

/// Smallest and largest element, and some that lie next to them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ends {
    /// The smallest.
    pub low: f64,
    /// The largest.
    pub high: f64,
    /// An element above the smallest one, if there is another one: no element that is known is nearer.
    pub above_low: f64,
    /// The same below the largest one.
    pub below_high: f64,
}

/// Values at most that a [`Watch`] passes over.
pub const PASSED_OVER: usize = 2;

/// Looks at pieces of an array as they go by, in the cache: two instructions for a vector of them.
#[derive(Clone)]
pub struct Watch {
    isa: Isa,
    dtype: DType,
    big_endian: bool,
    /// Numbers that do not count, or NaN, if there are `any`.
    fills: [f64; PASSED_OVER],
    any: bool,
    lanes: Both,
}

#[allow(clippy::large_enum_variant)] // one for each thread
#[derive(Clone)]
enum Both {
    F32(RangeLanes<f32, NEAR_LANES>),
    F64(RangeLanes<f64, NEAR_LANES>),
}

impl Watch {
    /// Nothing was seen yet; of floats, of which the first two of `fills` do not count.
    pub fn new(isa: Isa, dtype: DType, big_endian: bool, fills: &[f64]) -> Watch {
        let lanes = match dtype {
            DType::F64 => Both::F64(RangeLanes::new(f64::NEG_INFINITY)),
            _ => Both::F32(RangeLanes::new(f32::NEG_INFINITY)),
        };
        let numbers = std::array::from_fn(|k| fills.get(k).copied().unwrap_or(f64::NAN));
        Watch { isa, dtype, big_endian, fills: numbers, any: !fills.is_empty(), lanes }
    }

    /// Looks at whole elements that are in the cache.
    #[inline]
    pub fn see(&mut self, bytes: &[u8]) {
        self.look_at(bytes, false);
    }

    /// Looks at whole elements that are in memory.
    #[inline]
    pub fn see_far(&mut self, bytes: &[u8]) {
        self.look_at(bytes, true);
    }

    #[inline]
    fn look_at(&mut self, bytes: &[u8], far: bool) {
        let (isa, watch) = (self.isa, self);
        let done = by!(Avx512, isa, |watch: &mut Watch, bytes: &[u8], far: bool| -> () {
            watch.see_portable(bytes, far);
        });
        let done = done.or_else(|| {
            by!(Avx2, isa, |watch: &mut Watch, bytes: &[u8], far: bool| -> () {
                watch.see_portable(bytes, far);
            })
        });
        done.unwrap_or_else(|| watch.see_portable(bytes, far));
    }

    #[inline(always)]
    fn see_portable(&mut self, bytes: &[u8], far: bool) {
        let (big, any) = (self.big_endian, self.any);
        match (self.dtype, &mut self.lanes) {
            (DType::F64, Both::F64(lanes)) => {
                watch(bytes, lanes, (big, any, self.fills), far, |b: u64| f64::from_bits(b));
            }
            (dtype, Both::F32(lanes)) => {
                let how = (big, any, self.fills.map(|fill| fill as f32));
                match dtype {
                    DType::F16 => {
                        watch(
                            bytes,
                            lanes,
                            how,
                            far,
                            |b: u16| if b & 0x7c00 == 0x7c00 { f32::NAN } else { widen_f16(b) },
                        )
                    }
                    DType::BF16 => watch(bytes, lanes, how, far, |b: u16| f32::from_bits(u32::from(b) << 16)),
                    _ => watch(bytes, lanes, how, far, |b: u32| f32::from_bits(b)),
                }
            }
            _ => {}
        }
    }

    /// Adds what another one of the same type saw.
    pub fn join(&mut self, other: &Watch) {
        match (&mut self.lanes, &other.lanes) {
            (Both::F32(a), Both::F32(b)) => a.join(b),
            (Both::F64(a), Both::F64(b)) => a.join(b),
            _ => {}
        }
    }

    /// What was seen, of NaN nothing. Where there are infinities they are ends, but of f16.
    pub fn ends(&self) -> Option<Ends> {
        let watch = self;
        let done = by!(Avx2, self.isa, |watch: &Watch| -> Option<Ends> { watch.ends_portable() });
        done.unwrap_or_else(|| self.ends_portable())
    }

    #[inline(always)]
    fn ends_portable(&self) -> Option<Ends> {
        match &self.lanes {
            Both::F32(lanes) => ends_of(lanes),
            Both::F64(lanes) => ends_of(lanes),
        }
    }
}

#[inline(always)]
fn ends_of<F: Float>(lanes: &RangeLanes<F, NEAR_LANES>) -> Option<Ends> {
    let (low, high) = lanes.ends()?;
    let (least, most) = F::INFINITIES;
    // Lanes that saw nothing have infinities, which are beyond the ends.
    let RangeLanes { min, max } = lanes;
    let above = |lane: usize| match () {
        () if min[lane] > low => min[lane],
        () if max[lane] > low => max[lane],
        () => most,
    };
    let below = |lane: usize| match () {
        () if max[lane] < high => max[lane],
        () if min[lane] < high => min[lane],
        () => least,
    };
    let above_low = by_halves::<F, NEAR_LANES>(std::array::from_fn(above), |a, b| if b < a { b } else { a });
    let below_high = by_halves::<F, NEAR_LANES>(std::array::from_fn(below), |a, b| if b > a { b } else { a });
    let above_low = if above_low < high { above_low } else { high };
    let below_high = if below_high > low { below_high } else { low };
    let [low, high, above_low, below_high] = [low, high, above_low, below_high].map(|v| v.into() + 0.0);
    Some(Ends { low, high, above_low, below_high })
}

/// What elements in the machine's byte order are, without fill values, has a loop of its own.
#[inline(always)]
fn watch<W: Word, F: Float>(
    bytes: &[u8],
    lanes: &mut RangeLanes<F, NEAR_LANES>,
    (big_endian, any, fills): (bool, bool, [F; PASSED_OVER]),
    far: bool,
    float: impl Fn(W) -> F,
) {
    if !big_endian && !any {
        return watch_each(bytes, lanes, far, float);
    }
    let (least, most) = F::INFINITIES;
    let nan = least + most;
    watch_each(bytes, lanes, far, |word: W| {
        let v = float(if big_endian { word.swap() } else { word });
        fills.into_iter().fold(v, |v, fill| if v == fill { nan } else { v })
    });
}

/// A NaN fails both comparisons.
#[inline(always)]
fn watch_each<W: Word, F: Float>(
    bytes: &[u8],
    lanes: &mut RangeLanes<F, NEAR_LANES>,
    far: bool,
    float: impl Fn(W) -> F,
) {
    let mut own = *lanes;
    let mut blocks = bytes.chunks_exact(NEAR_LANES * size_of::<W>());
    for block in &mut blocks {
        if far {
            (0..block.len()).step_by(64).for_each(|line| stream::fetch(block.as_ptr().wrapping_add(AHEAD + line)));
        }
        for (lane, b) in block.chunks_exact(size_of::<W>()).enumerate() {
            let v = float(W::load(b));
            own.step(lane, (v, v));
        }
    }
    for (lane, b) in blocks.remainder().chunks_exact(size_of::<W>()).enumerate() {
        let v = float(W::load(b));
        own.step(lane, (v, v));
    }
    *lanes = own;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::Level;

    #[test]
    fn specials_and_fill_do_not_count() {
        let values = [3.0f32, f32::NAN, -2.0, f32::INFINITY, 1e36, f32::NEG_INFINITY, 7.5];
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(value_range(DType::F32, false, &[1e36f32.into()], &bytes), Some((-2.0, 7.5)));
        assert_eq!(value_range(DType::F32, false, &[], &bytes), Some((-2.0, f64::from(1e36f32))));
        let big: Vec<u8> = values.iter().flat_map(|v| v.to_be_bytes()).collect();
        assert_eq!(value_range(DType::F32, true, &[5.0, 1e36], &big), Some((-2.0, 7.5)));
        assert_eq!(value_range(DType::F64, false, &[], &f64::NAN.to_le_bytes()), None);
        let half: Vec<u8> = [0x3c00u16, 0xc000, 0x7c00, 0x0001].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(value_range(DType::F16, false, &[], &half), Some((-2.0, 1.0)));
    }

    #[test]
    fn every_length_and_instruction_set_agrees() {
        let value = |i: usize| match i * i % 11 {
            0 => f32::NAN,
            1 => f32::INFINITY,
            2 => 99.0,
            _ => ((i * 37) % 101) as f32 - 50.0,
        };
        for n in (0..300).chain([4096]) {
            let values: Vec<f32> = (0..n).map(value).collect();
            let counted = values.iter().filter(|v| v.is_finite() && **v != 99.0).map(|v| f64::from(*v));
            let expected = counted.map(|v| Some((v, v))).fold(None, join);
            let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            let wide: Vec<u8> = values.iter().flat_map(|v| f64::from(*v).to_be_bytes()).collect();
            for isa in Level::ALL.into_iter().filter_map(Isa::of) {
                assert_eq!(value_range_with(isa, DType::F32, false, &[99.0], &bytes), expected, "{n}, {isa:?}");
                assert_eq!(value_range_with(isa, DType::F64, true, &[99.0], &wide), expected, "{n}, {isa:?}");
            }
        }
    }

    #[test]
    fn a_zero_is_positive_whatever_comes_first() {
        for zeros in [[0.0f64, -0.0], [-0.0, 0.0], [-0.0, -0.0]] {
            let bytes: Vec<u8> = zeros.iter().flat_map(|v| v.to_le_bytes()).collect();
            let (lo, hi) = value_range(DType::F64, false, &[], &bytes).unwrap();
            assert_eq!((lo.to_bits(), hi.to_bits()), (0, 0));
        }
    }
}
