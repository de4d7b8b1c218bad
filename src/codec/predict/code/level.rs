//! Codes as words, and back, by the instructions of a level.

use super::counts::TokenCounts;
use super::encode::Own;
use super::states::State;
use super::vectors::{self, Buffers, Coded, Codes};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::codec::predict::simd::for_levels;
use crate::codec::predict::simd::{self, Scalar};
use crate::error::Result;

/// What a level does in its own way of this stage.
pub trait Level: simd::Level {
    /// Encodes so many codes that stand in their places, by a table of the tile's own where that takes less, see
    /// `vectors::encode_codes`; `None` if the level does so no faster than the portable code.
    fn encode_codes(self, _: usize, _: &mut TokenCounts, _: &mut Buffers) -> Option<(State, usize, bool)> {
        None
    }

    /// Encodes so many codes that were put to their places, by a table of the tile's own if there is one: how coding
    /// ended, and where the words begin; `None` if the level does so no faster than the portable code.
    fn encode_placed(self, _: usize, _: Option<Own>, _: &mut Buffers) -> Option<(State, usize)> {
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
}

impl Level for Scalar {}

/// The methods of a level with vectors, compiled for it.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! level {
    ($token:ty, $registers:expr, $features:literal) => {
        impl Level for $token {
            fn encode_codes(
                self,
                n: usize,
                counts: &mut TokenCounts,
                buffers: &mut Buffers,
            ) -> Option<(State, usize, bool)> {
                #[target_feature(enable = $features)]
                fn run(p: $token, n: usize, counts: &mut TokenCounts, buffers: &mut Buffers) -> (State, usize, bool) {
                    buffers.clear_behind(n);
                    vectors::encode_codes::<_, { $registers }>(p, n, counts, buffers)
                }
                // SAFETY: the processor has the level, as the token says.
                Some(unsafe { run(self, n, counts, buffers) })
            }

            fn encode_placed(self, n: usize, own: Option<Own>, buffers: &mut Buffers) -> Option<(State, usize)> {
                #[target_feature(enable = $features)]
                fn run(p: $token, n: usize, own: Option<Own>, buffers: &mut Buffers) -> (State, usize) {
                    vectors::encode_placed::<_, { $registers }>(p, n, own, buffers)
                }
                // SAFETY: as above.
                Some(unsafe { run(self, n, own, buffers) })
            }

            fn decode_short(self, tile: Coded, codes: &mut Codes) -> Result<bool> {
                #[target_feature(enable = $features)]
                fn run(p: $token, tile: Coded, codes: &mut Codes) -> Result<bool> {
                    vectors::decode_tile::<_, { $registers }>(p, tile, codes)
                }
                // SAFETY: as above.
                unsafe { run(self, tile, codes) }
            }

            fn decode_two(self, tiles: [Coded; 2], codes: &mut [Codes; 2]) -> bool {
                #[target_feature(enable = $features)]
                fn run(p: $token, tiles: [Coded; 2], codes: &mut [Codes; 2]) -> bool {
                    vectors::decode_tiles::<_, { $registers }>(p, tiles, codes)
                }
                // SAFETY: as above.
                unsafe { run(self, tiles, codes) }
            }
        }
    };
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
for_levels!(level);
