//! Vectors of elements as they lie in memory: which are equal to one that stands for gaps, and what fills these.

#[cfg(target_arch = "x86_64")]
use super::word::Word;

/// The vectors of a level for elements that are words of one width.
#[cfg(target_arch = "x86_64")]
pub trait ElementVectors<W: Word>: Copy {
    /// Elements of a vector.
    const N: usize;
    /// Of a word of a mask with fewer gaps these are gone through one by one.
    const FEW: u32;
    /// A vector.
    type V: Copy;
    /// For each element whether something is so.
    type Mask: Copy;

    /// The first elements.
    fn load(self, from: &[u8]) -> Self::V;
    /// Stores them at the start of a slice.
    fn store(self, v: Self::V, to: &mut [u8]);
    /// The same element everywhere.
    fn splat(self, element: W) -> Self::V;
    /// Where they are the same.
    fn equal(self, a: Self::V, b: Self::V) -> Self::Mask;
    /// Either.
    fn either(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Whether it is so for any element.
    fn any(self, mask: Self::Mask) -> bool;
    /// A bit for each element.
    fn bits(self, mask: Self::Mask) -> u64;
    /// The inverse; what is behind the lowest bits does not count.
    fn mask(self, bits: u64) -> Self::Mask;
    /// Of a where the mask says so, of b elsewhere.
    fn select(self, mask: Self::Mask, a: Self::V, b: Self::V) -> Self::V;
    /// The elements with the ones before them: the last of those before comes first.
    fn shifted_in(self, before: Self::V, v: Self::V) -> Self::V;
    /// In each gap, which a bit tells, what comes before it; before all the last of those before.
    fn fill(self, v: Self::V, gaps: u64, before: Self::V) -> Self::V;
}

/// Loops over the vectors of elements, compiled for each level that has them, in modules `avx2` and `avx512`.
#[cfg(target_arch = "x86_64")]
macro_rules! element_loops {
    ($(fn $name:ident $arguments:tt $(-> $r:ty)?;)*) => {
        $crate::simd::elements::element_loops!(@ avx2, Avx2, $(fn $name $arguments $(-> $r)?;)*);
        $crate::simd::elements::element_loops!(@ avx512, Avx512, $(fn $name $arguments $(-> $r)?;)*);
    };
    (@ $module:ident, $level:tt, $(fn $name:ident($($arg:ident: $t:ty),*) $(-> $r:ty)?;)*) => {
        pub mod $module {
            use super::*;

            $($crate::simd::given! { $level,
                pub fn $name[W: Word][W](p: $crate::exec::$level, $($arg: $t),*) $(-> $r)?
                where [$crate::exec::$level: ElementVectors<W>] {
                    super::$name::<W, $crate::exec::$level>(p, $($arg),*)
                }
            })*
        }
    };
}

/// Returns what such a loop in a module gives, where the processor has vectors; elements have `size` bytes.
macro_rules! by_vectors {
    ($isa:expr, $size:expr, $module:ident::$function:ident($($arg:expr),*)) => {
        #[cfg(target_arch = "x86_64")]
        {
            macro_rules! of {
                ($level:ident, $loops:ident) => {
                    if let Some(p) = $crate::exec::$level::of($isa) {
                        return $crate::simd::word::by_size!($size, $module::$loops::$function(p, $($arg),*));
                    }
                };
            }
            of!(Avx512, avx512);
            of!(Avx2, avx2);
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = $isa;
    };
}

pub(crate) use by_vectors;
#[cfg(target_arch = "x86_64")]
pub(crate) use element_loops;
