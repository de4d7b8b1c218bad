//! Elements as words, and these as bins.

use crate::codec::interp::lattice::{Bins, Multiple};
use crate::simd::Task;
use crate::simd::numbers::CodeVectors;
use crate::simd::word::Word;

/// Elements as words: all bits that any of them has, and the largest magnitude of their bits.
pub struct Load<'a, W> {
    /// Whether they are big-endian.
    pub big_endian: bool,
    /// Their bytes.
    pub data: &'a [u8],
    /// Where the words go.
    pub elements: &'a mut [W],
}

impl<W: Word> Task for Load<'_, W> {
    type Done = (W, W);

    #[inline(always)]
    fn run<P: CodeVectors<M>, const M: usize>(self, _: P) -> (W, W) {
        // Asked before the loop, not within it.
        match self.big_endian {
            true => load::<W, true>(self.data, self.elements),
            false => load::<W, false>(self.data, self.elements),
        }
    }
}

#[inline(always)]
fn load<W: Word, const BIG_ENDIAN: bool>(data: &[u8], elements: &mut [W]) -> (W, W) {
    let (mut any, mut largest) = (W::ZERO, W::ZERO);
    for (w, bytes) in elements.iter_mut().zip(data.chunks_exact(size_of::<W>())) {
        let word = W::load(bytes);
        let word = if BIG_ENDIAN { word.swap() } else { word };
        any = any | word;
        largest = largest.max(word & !W::SIGN);
        *w = word;
    }
    (any, largest)
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
