//! Elements as numbers by the instructions of a level.

use super::lattice::{Bins, Multiple};
use super::plan::Plan;
use super::short::{self, ShortBins};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::codec::predict::simd::for_levels;
use crate::codec::predict::simd::{self, Scalar};
use crate::primitives::word::Word;

/// What a level does in its own way of this stage.
pub trait Level: simd::Level {
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
    fn shorten_bins<E: Multiple>(self, _: &Plan, _: &Bins, _: &[u8], _: &mut [u32]) -> Option<ShortBins<E::Word>> {
        None
    }

    /// Words as short numbers; whether they are.
    fn shorten<W: Word>(self, words: &[W], short: &mut [u32]) -> bool {
        short::shorten(words, short)
    }
}

impl Level for Scalar {}

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

/// The methods of a level with vectors, compiled for it.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! level {
    ($token:ty, $registers:expr, $features:literal) => {
        impl Level for $token {
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

            fn shorten_bins<E: Multiple>(
                self,
                plan: &Plan,
                bins: &Bins,
                data: &[u8],
                short: &mut [u32],
            ) -> Option<ShortBins<E::Word>> {
                #[target_feature(enable = $features)]
                fn run<E: Multiple>(plan: &Plan, bins: &Bins, data: &[u8], short: &mut [u32]) -> ShortBins<E::Word> {
                    short::shorten_bins::<E>(plan, bins, data, short)
                }
                // SAFETY: as above.
                Some(unsafe { run::<E>(plan, bins, data, short) })
            }

            fn shorten<W: Word>(self, words: &[W], short: &mut [u32]) -> bool {
                #[target_feature(enable = $features)]
                fn run<W: Word>(words: &[W], short: &mut [u32]) -> bool {
                    short::shorten(words, short)
                }
                // SAFETY: as above.
                unsafe { run(words, short) }
            }
        }
    };
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
for_levels!(level);
