//! Numbers as differences, and back, by the instructions of a level.

use super::axes::Choice;
use super::short::{self, STEP, Sums};
use crate::codec::predict::format::Grid;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::codec::predict::simd::for_levels;
use crate::codec::predict::simd::{self, Scalar};
use crate::primitives::lorenzo::AXES;
use crate::primitives::word::Word;

/// What a level does in its own way of this stage.
pub trait Level: simd::Level {
    /// The codes of short numbers of a tile with these lengths, which stand behind a margin: their differences along the
    /// axes that are chosen, or their distances from what was subtracted from them; whether any is other than 0. `None`
    /// if the level does so no faster than the portable code.
    fn differ(
        self,
        _grid: &Grid,
        _lens: [usize; AXES],
        _short: &mut [u32],
        _places: &mut [u32],
    ) -> Option<(Choice, bool)> {
        None
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

impl Level for Scalar {}

/// The methods of a level with vectors, compiled for it.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! level {
    ($token:ty, $registers:expr, $features:literal) => {
        impl Level for $token {
            fn differ(
                self,
                grid: &Grid,
                lens: [usize; AXES],
                short: &mut [u32],
                places: &mut [u32],
            ) -> Option<(Choice, bool)> {
                #[target_feature(enable = $features)]
                fn run(
                    p: $token,
                    grid: &Grid,
                    lens: [usize; AXES],
                    short: &mut [u32],
                    places: &mut [u32],
                ) -> (Choice, bool) {
                    short::differ::<_, { $registers }>(p, grid, lens, short, places)
                }
                // SAFETY: the processor has the level, as the token says.
                Some(unsafe { run(self, grid, lens, short, places) })
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

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
for_levels!(level);
