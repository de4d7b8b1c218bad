//! Elements as words, and these as bins.

use crate::codec::interp::lattice::{Bins, Multiple};
use crate::simd::numbers::CodeVectors;
use crate::simd::word::Word;
use crate::simd::{Level, Task};

/// Elements as words.
pub fn load<W: Word>(p: impl Level, big_endian: bool, data: &[u8], elements: &mut [W]) {
    p.loops(|| {
        elements.iter_mut().zip(data.chunks_exact(size_of::<W>())).for_each(|(w, bytes)| *w = W::load(bytes));
        if big_endian {
            elements.iter_mut().for_each(|w| *w = w.swap());
        }
    });
}

/// The bins of elements, in their place.
pub struct Quantize<'a, E: Multiple> {
    /// The bins.
    pub bins: &'a Bins,
    /// The elements.
    pub words: &'a mut [E::Word],
}

impl<E: Multiple> Task for Quantize<'_, E> {
    type Done = ();

    #[inline(always)]
    fn run<P: CodeVectors<M>, const M: usize>(self, _: P) {
        // Copied, so that the compiler knows that nothing written changes them.
        let bins = *self.bins;
        let (whole, rest) = self.words.as_chunks_mut::<64>();
        whole.iter_mut().for_each(|words| bins.encode::<E, 64>(words));
        rest.as_chunks_mut::<1>().0.iter_mut().for_each(|word| bins.encode::<E, 1>(word));
    }
}
