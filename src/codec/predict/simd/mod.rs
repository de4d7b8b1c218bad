//! Vectors of 32-bit numbers, once for each SIMD level, and what is compiled for each. No stage is known here: each has
//! its own methods of a level, which `for_levels` compiles.

/// Methods of a level that are one instruction, or a few.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! instructions {
    ($(fn $name:ident($($arg:ident: $t:ty),*) -> $r:ty { $body:expr })*) => {$(
        #[inline(always)]
        fn $name(self, $($arg: $t),*) -> $r {
            // SAFETY: the processor has the level, as the token says.
            unsafe { $body }
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
pub mod avx512;
pub mod lanes;
#[cfg(target_arch = "aarch64")]
pub mod neon;
pub mod vec;

use crate::primitives::quantize::Arithmetic;
use lanes::Lanes;

/// Numbers in front of those of a tile, and behind them, that are read with them.
pub const MARGIN: usize = 32;

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
}

/// What is compiled for each level.
pub trait Task {
    /// What comes of it.
    type Done;
    /// Does it with these vectors.
    fn run<L: Lanes>(self, l: L) -> Self::Done;
}

/// No more than the portable code.
#[derive(Clone, Copy)]
pub struct Scalar;

impl Arithmetic for Scalar {}
impl Level for Scalar {}

/// Calls a macro for each level with vectors: with its token, how many registers have a number for each lane, and the
/// features that it is compiled with.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! for_levels {
    ($of_level:ident) => {
        #[cfg(target_arch = "x86_64")]
        $of_level!(crate::exec::Avx2, crate::codec::predict::simd::avx2::REGISTERS, "avx2,bmi1,bmi2,lzcnt,popcnt,fma");
        #[cfg(target_arch = "x86_64")]
        $of_level!(
            crate::exec::Avx512,
            crate::codec::predict::simd::avx512::REGISTERS,
            "avx512f,avx512cd,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vnni,gfni,bmi1,bmi2,lzcnt,popcnt"
        );
        #[cfg(target_arch = "aarch64")]
        $of_level!(crate::exec::Neon, crate::codec::predict::simd::neon::REGISTERS, "neon");
    };
}
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) use for_levels;

/// A level with vectors.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! level {
    ($token:ty, $registers:expr, $features:literal) => {
        impl Level for $token {
            const HAS_VECTORS: bool = true;

            #[inline(always)]
            fn run<T: Task>(self, task: T) -> T::Done {
                #[target_feature(enable = $features)]
                fn run<T: Task>(p: $token, task: T) -> T::Done {
                    task.run(lanes::By::<_, { $registers }>(p))
                }
                // SAFETY: the processor has the level, as the token says.
                unsafe { run(self, task) }
            }
        }
    };
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
for_levels!(level);
