//! Vectors of 32-bit numbers, once for each SIMD level, and what is made of them: groups of codes (`group`), and tiles
//! whose words are short numbers (`short`). A scalar level has none of it: `encode` and `decode` say what comes out.

#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
pub mod avx512;
pub mod group;
pub mod lanes;
#[cfg(target_arch = "aarch64")]
pub mod neon;
pub mod short;
#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests;

use super::counts::TokenCounts;
use super::encode::State;
use super::format::Grid;
use super::lattice::{Bins, Multiple};
use super::lossless::encode::Own;
use super::plan::Plan;
use crate::error::Result;
#[cfg(target_arch = "aarch64")]
use crate::exec::Neon;
#[cfg(target_arch = "x86_64")]
use crate::exec::{Avx2, Avx512};
use crate::primitives::lorenzo::AXES;
use crate::primitives::quantize::Arithmetic;
use crate::primitives::rans::LANES;
use crate::primitives::word::Word;
use lanes::Lanes;
use short::{Coded, Codes, STEP, ShortBins, ShortBuffers, ShortTile, Sums};

/// What a level does in its own way. A value of it is the right to its instructions.
pub trait Level: Arithmetic + Copy {
    /// Whether differences are restored by vectors.
    const HAS_VECTORS: bool = false;

    /// The same of a level at hand.
    fn has_vectors(self) -> bool {
        Self::HAS_VECTORS
    }

    /// Does a task with the level's vectors. Never inlined: the stack would hold what all tasks of a tile need.
    #[inline(never)]
    fn run<T: Task>(self, task: T) -> T::Done {
        task.run(lanes::Portable)
    }

    /// Encodes so many codes that stand in their places, by a table of the tile's own where that takes less, see
    /// `short::encode_codes`; `None` if the level does so no faster than the portable code.
    fn encode_codes(self, _: usize, _: &mut TokenCounts, _: &mut ShortBuffers) -> Option<(State, usize, bool)> {
        None
    }

    /// Elements as words, and all bits that any of them has, and the largest magnitude of their bits.
    #[inline(always)]
    fn load<W: Word>(self, big_endian: bool, data: &[u8], elements: &mut [W]) -> (W, W) {
        load_all(big_endian, data, elements)
    }

    /// The bins of elements.
    #[inline(always)]
    fn quantize<E: Multiple>(self, bins: &Bins, words: &mut [E::Word]) {
        quantize_all::<E>(bins, words);
    }

    /// The bins of elements as short numbers, see `short::shorten_bins`; `None` if the level has no use for them.
    fn shorten_bins<E: Multiple>(
        self,
        _: &Plan,
        _: &Bins,
        _: &[u8],
        _: &mut ShortBuffers,
    ) -> Option<ShortBins<E::Word>> {
        None
    }

    /// Words as short numbers; whether they are.
    fn shorten<W: Word>(self, words: &[W], buffers: &mut ShortBuffers) -> bool {
        short::shorten(words, buffers)
    }

    /// Encodes so many short numbers of a tile with these lengths, see `short::encode_tile`; `None` if the level does
    /// so no faster than the portable code.
    fn encode_short(
        self,
        _: &Grid,
        _: [usize; AXES],
        _: usize,
        _: &mut TokenCounts,
        _: &mut ShortBuffers,
    ) -> Option<ShortTile> {
        None
    }

    /// Encodes so many codes that were put to their places, by a table of the tile's own if there is one: how coding
    /// ended, and where the words begin; `None` if the level does so no faster than the portable code.
    fn encode_placed(self, _: usize, _: Option<Own>, _: &mut ShortBuffers) -> Option<(State, usize)> {
        None
    }

    /// Decodes a packed tile to its differences; `false` if some are too long for 32 bits, or the level does so no
    /// faster than the portable code.
    fn decode_short(self, _: Coded, _: &mut Codes) -> Result<bool> {
        Ok(false)
    }

    /// Decodes two at once, which takes less time than one after the other; `false` if both have to be decoded alone.
    fn decode_two(self, _: [Coded; 2], _: &mut [Codes; 2]) -> bool {
        false
    }

    /// Shows the words of differences along axes: see `short::restore`.
    fn restore<W: Word>(
        self,
        _set: u8,
        _lens: [usize; AXES],
        _places: &[u32],
        _sums: &mut Sums<W>,
        _show: impl FnMut(usize, &[W; STEP], usize),
    ) {
    }
}

/// What is compiled for each level.
pub trait Task {
    /// What comes of it.
    type Done;
    /// Does it with these vectors.
    fn run<L: Lanes>(self, l: L) -> Self::Done;
}

#[inline(always)]
fn load_all<W: Word>(big_endian: bool, data: &[u8], elements: &mut [W]) -> (W, W) {
    let (mut any, mut largest) = (W::ZERO, W::ZERO);
    for (w, bytes) in elements.iter_mut().zip(data.chunks_exact(size_of::<W>())) {
        let word = W::load(bytes);
        let word = if big_endian { word.swap() } else { word };
        any = any | word;
        largest = largest.max(word & !W::SIGN);
        *w = word;
    }
    (any, largest)
}

#[inline(always)]
fn quantize_all<E: Multiple>(bins: &Bins, words: &mut [E::Word]) {
    let (whole, rest) = words.as_chunks_mut::<64>();
    whole.iter_mut().for_each(|words| bins.encode::<E, 64>(words));
    rest.as_chunks_mut::<1>().0.iter_mut().for_each(|word| bins.encode::<E, 1>(word));
}

/// No more than the portable code.
#[derive(Clone, Copy)]
pub struct Scalar;

impl Arithmetic for Scalar {}
impl Level for Scalar {}

/// The methods of a level with vectors, compiled for it.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! level {
    ($token:ty, $registers:expr, $features:literal) => {
        impl Level for $token {
            const HAS_VECTORS: bool = true;

            #[inline(always)]
            fn load<W: Word>(self, big_endian: bool, data: &[u8], elements: &mut [W]) -> (W, W) {
                #[target_feature(enable = $features)]
                fn run<W: Word>(big_endian: bool, data: &[u8], elements: &mut [W]) -> (W, W) {
                    if big_endian { load_all(true, data, elements) } else { load_all(false, data, elements) }
                }
                // SAFETY: the processor has the level, as the token says.
                unsafe { run(big_endian, data, elements) }
            }

            #[inline(always)]
            fn quantize<E: Multiple>(self, bins: &Bins, words: &mut [E::Word]) {
                #[target_feature(enable = $features)]
                fn run<E: Multiple>(bins: &Bins, words: &mut [E::Word]) {
                    quantize_all::<E>(bins, words);
                }
                // SAFETY: as above.
                unsafe { run::<E>(bins, words) }
            }

            #[inline(always)]
            fn run<T: Task>(self, task: T) -> T::Done {
                #[target_feature(enable = $features)]
                fn run<T: Task>(p: $token, task: T) -> T::Done {
                    task.run(lanes::By::<_, { $registers }>(p))
                }
                // SAFETY: as above.
                unsafe { run(self, task) }
            }

            fn encode_codes(
                self,
                n: usize,
                counts: &mut TokenCounts,
                buffers: &mut ShortBuffers,
            ) -> Option<(State, usize, bool)> {
                #[target_feature(enable = $features)]
                fn run(
                    p: $token,
                    n: usize,
                    counts: &mut TokenCounts,
                    buffers: &mut ShortBuffers,
                ) -> (State, usize, bool) {
                    buffers.clear_behind(n);
                    short::encode_codes::<_, { $registers }>(p, n, counts, buffers)
                }
                // SAFETY: as above.
                Some(unsafe { run(self, n, counts, buffers) })
            }

            fn shorten_bins<E: Multiple>(
                self,
                plan: &Plan,
                bins: &Bins,
                data: &[u8],
                buffers: &mut ShortBuffers,
            ) -> Option<ShortBins<E::Word>> {
                #[target_feature(enable = $features)]
                fn run<E: Multiple>(
                    plan: &Plan,
                    bins: &Bins,
                    data: &[u8],
                    buffers: &mut ShortBuffers,
                ) -> ShortBins<E::Word> {
                    short::shorten_bins::<E>(plan, bins, data, buffers)
                }
                // SAFETY: as above.
                Some(unsafe { run::<E>(plan, bins, data, buffers) })
            }

            fn shorten<W: Word>(self, words: &[W], buffers: &mut ShortBuffers) -> bool {
                #[target_feature(enable = $features)]
                fn run<W: Word>(words: &[W], buffers: &mut ShortBuffers) -> bool {
                    short::shorten(words, buffers)
                }
                // SAFETY: as above.
                unsafe { run(words, buffers) }
            }

            fn encode_short(
                self,
                grid: &Grid,
                lens: [usize; AXES],
                n: usize,
                counts: &mut TokenCounts,
                buffers: &mut ShortBuffers,
            ) -> Option<ShortTile> {
                #[target_feature(enable = $features)]
                fn run(
                    p: $token,
                    grid: &Grid,
                    lens: [usize; AXES],
                    n: usize,
                    counts: &mut TokenCounts,
                    buffers: &mut ShortBuffers,
                ) -> ShortTile {
                    short::encode_tile::<_, { $registers }>(p, grid, lens, n, counts, buffers)
                }
                // SAFETY: as above.
                Some(unsafe { run(self, grid, lens, n, counts, buffers) })
            }

            fn encode_placed(self, n: usize, own: Option<Own>, buffers: &mut ShortBuffers) -> Option<(State, usize)> {
                #[target_feature(enable = $features)]
                fn run(p: $token, n: usize, own: Option<Own>, buffers: &mut ShortBuffers) -> (State, usize) {
                    short::encode_placed::<_, { $registers }>(p, n, own, buffers)
                }
                // SAFETY: as above.
                Some(unsafe { run(self, n, own, buffers) })
            }

            fn decode_short(self, tile: Coded, codes: &mut Codes) -> Result<bool> {
                #[target_feature(enable = $features)]
                fn run(p: $token, tile: Coded, codes: &mut Codes) -> Result<bool> {
                    short::decode_tile::<_, { $registers }>(p, tile, codes)
                }
                // SAFETY: as above.
                unsafe { run(self, tile, codes) }
            }

            fn decode_two(self, tiles: [Coded; 2], codes: &mut [Codes; 2]) -> bool {
                #[target_feature(enable = $features)]
                fn run(p: $token, tiles: [Coded; 2], codes: &mut [Codes; 2]) -> bool {
                    short::decode_tiles::<_, { $registers }>(p, tiles, codes)
                }
                // SAFETY: as above.
                unsafe { run(self, tiles, codes) }
            }

            fn restore<W: Word>(
                self,
                set: u8,
                lens: [usize; AXES],
                places: &[u32],
                sums: &mut Sums<W>,
                show: impl FnMut(usize, &[W; STEP], usize),
            ) {
                #[target_feature(enable = $features)]
                fn run<W: Word>(
                    p: $token,
                    set: u8,
                    lens: [usize; AXES],
                    places: &[u32],
                    sums: &mut Sums<W>,
                    show: impl FnMut(usize, &[W; STEP], usize),
                ) {
                    short::restore::<W, _, { $registers }>(p, set, lens, places, sums, show)
                }
                // SAFETY: as above.
                unsafe { run(self, set, lens, places, sums, show) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
level!(Avx2, avx2::REGISTERS, "avx2,bmi1,bmi2,lzcnt,popcnt,fma");
#[cfg(target_arch = "x86_64")]
level!(
    Avx512,
    avx512::REGISTERS,
    "avx512f,avx512cd,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vnni,gfni,avx2,bmi1,bmi2,lzcnt,popcnt,fma"
);
#[cfg(target_arch = "aarch64")]
level!(Neon, neon::REGISTERS, "neon");

/// The vectors of a level: M of them have a number for each of 32 lanes, the first one those of the first lanes.
/// Numbers are unsigned unless something else is said; those that are compared are below 2^31.
pub trait Simd<const M: usize>: Arithmetic + Copy {
    /// As many numbers as a register takes.
    type V: Copy;
    /// For each number whether something is so.
    type Mask: Copy;

    /// The first numbers of a slice.
    fn load(self, from: &[u32]) -> Self::V;
    /// Stores them at the start of a slice.
    fn store(self, v: Self::V, to: &mut [u32]);
    /// The same number everywhere.
    fn splat(self, number: u32) -> Self::V;
    /// Sum modulo 2^32.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// Difference modulo 2^32.
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// Product modulo 2^32.
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// The upper 32 bits of the product.
    fn mul_high(self, a: Self::V, b: Self::V) -> Self::V;
    /// Bits that both have.
    fn and(self, a: Self::V, b: Self::V) -> Self::V;
    /// Bits that one of them has.
    fn or(self, a: Self::V, b: Self::V) -> Self::V;
    /// Bits that exactly one of them has.
    fn xor(self, a: Self::V, b: Self::V) -> Self::V;
    /// The greater one.
    fn max(self, a: Self::V, b: Self::V) -> Self::V;
    /// The smaller one.
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    /// Distance from 0 as signed numbers.
    fn magnitude(self, v: Self::V) -> Self::V;
    /// Shifted to the left.
    fn left<const N: u32>(self, v: Self::V) -> Self::V;
    /// Shifted to the right.
    fn right<const N: u32>(self, v: Self::V) -> Self::V;
    /// Shifted to the right, with copies of the sign.
    fn right_signed<const N: u32>(self, v: Self::V) -> Self::V;
    /// The integer nearest to v · factor of signed numbers, in the arithmetic of f32; of two such the even one.
    fn nearest(self, v: Self::V, factor: f32) -> Self::V;
    /// Shifted to the left by as many bits each, below 128; from 32 on nothing is left.
    fn left_by(self, v: Self::V, bits: Self::V) -> Self::V;
    /// Shifted to the right by as many bits each, below 128; from 32 on nothing is left.
    fn right_by(self, v: Self::V, bits: Self::V) -> Self::V;
    /// Position of the highest bit of each number; all are 1 … 2^25.
    fn octave(self, v: Self::V) -> Self::V;
    /// Whether a < b.
    fn less(self, a: Self::V, b: Self::V) -> Self::Mask;
    /// Both.
    fn both(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// The lowest bits, one for each number.
    fn mask(self, bits: u32) -> Self::Mask;
    /// A bit for each number.
    fn bits(self, mask: Self::Mask) -> u32;
    /// Of a where the mask says so, of b elsewhere.
    fn select(self, mask: Self::Mask, a: Self::V, b: Self::V) -> Self::V;
    /// The entries of a table at these places modulo L, a power of two.
    fn look_up<const L: usize>(self, table: &[u32; L], index: Self::V) -> Self::V;
    /// Tokens below this are looked up by `look_up_few`.
    const FEW: u32;
    /// `look_up` where all indices are below `FEW`.
    fn look_up_few<const L: usize>(self, table: &[u32; L], index: Self::V) -> Self::V;
    /// The sum of all numbers.
    fn total(self, v: Self::V) -> u32;
    /// The largest one.
    fn largest(self, v: Self::V) -> u32;

    /// Four times as many numbers below 2^8 as bytes, four neighbours to each number of a vector.
    fn pack_bytes(self, from: &[u32]) -> Self::V;
    /// Signed bytes as four times as many numbers.
    fn unpack_bytes(self, bytes: Self::V, to: &mut [u32]);
    /// How many bytes are equal to this one.
    fn occurrences(self, bytes: Self::V, byte: u8) -> u32;
    /// Adds to the counts of 64 tokens, from 64 · `range` on, those of a group, four bytes for each lane; `false` if
    /// they are better counted one by one.
    #[inline(always)]
    fn count_range(self, _tokens: &[u32; LANES], _range: u32, _counts: &mut [u16; 64]) -> bool {
        false
    }
    /// Of two vectors the numbers at even places, and those at odd ones.
    fn unzip(self, a: Self::V, b: Self::V) -> [Self::V; 2];
    /// The inverse of `unzip`.
    fn zip(self, even: Self::V, odd: Self::V) -> [Self::V; 2];
    /// The numbers with the ones before them: the last of those before comes first.
    fn shifted_in(self, before: Self::V, v: Self::V) -> Self::V;
    /// Of bytes below 2^7 half of each, rounded up, and of these the sum of four neighbours.
    fn sums_of_halves(self, bytes: Self::V) -> Self::V;
    /// What bytes below 64 cost by a table, summed up by fours.
    fn direct_costs(self, bytes: Self::V, table: &[u8; 64]) -> Self::V;
    /// Four times as many numbers: of each four neighbours the first ones, the second ones and so on.
    fn load_quads(self, from: &[u32]) -> [Self::V; 4];
    /// The inverse of `load_quads`.
    fn store_quads(self, v: [Self::V; 4], to: &mut [u32]);

    /// Takes 16 bits from each of the states that a mask tells, and puts them in front of the words that begin at
    /// `at`, in the order of the lanes.
    fn put(self, states: &mut [Self::V; M], masks: [Self::Mask; M], words: &mut [u16], at: &mut usize);
    /// Gives the states that a mask tells 16 bits each of the words from `at` on, in the order of the lanes; at least
    /// 32 words are there.
    fn refill(self, states: &mut [Self::V; M], masks: [Self::Mask; M], words: &[[u8; 2]], at: &mut usize);

    /// `look_up` where all indices are below 64.
    #[inline(always)]
    fn look_up_direct<const L: usize>(self, table: &[u32; L], index: Self::V) -> Self::V {
        self.look_up(table, index)
    }

    /// For each of 16 words the sum of those up to it, and of all that were given with this carry before, which begins
    /// as 0. Of words of 32 and 64 bits.
    fn running_sums<W: Word>(self, words: &mut [W; 16], carry: &mut Self::V);
}
