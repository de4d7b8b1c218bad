//! Gaps, which a mask tells with a bit for each element: others put into them, and what was there put back. Elements
//! are words of 2, 4 or 8 bytes, as they lie in memory.

use std::hint::select_unpredictable;

use super::equal;
use super::word::Word;
use crate::exec::Isa;
#[cfg(target_arch = "x86_64")]
use crate::exec::Level;

/// Elements of a mask's word.
const WORD: usize = 64;

/// Puts other elements into the gaps of `dst`, a copy of `src`, of which the missing elements are those with a bit in
/// `mask`: in each block of so many `words` of the mask the element before them, at its start the first that is there,
/// and in a block of nothing else the first of all. `mask` has a word more than the elements need at least; its bits
/// behind them become set.
pub fn fill(isa: Isa, size: usize, words: usize, mask: &mut [u64], src: &[u8], dst: &mut [u8]) {
    match size {
        2 => fill_words::<u16>(isa, words, mask, src, dst),
        4 => fill_words::<u32>(isa, words, mask, src, dst),
        _ => fill_words::<u64>(isa, words, mask, src, dst),
    }
}

#[inline(always)]
fn fill_words<W: Word>(isa: Isa, words: usize, mask: &mut [u64], src: &[u8], dst: &mut [u8]) {
    let n = src.len() / size_of::<W>();
    assert!(dst.len() == src.len() && mask.len() * WORD >= n + WORD);
    if !n.is_multiple_of(WORD) {
        mask[n / WORD] |= !0 << (n % WORD);
    }
    mask[n.div_ceil(WORD)..].fill(!0);
    let mask = &mask[..n.div_ceil(WORD) + 1];
    let Some(i) = mask.iter().position(|word| *word != !0) else { return };
    let of_all = i * WORD + mask[i].trailing_ones() as usize;
    let mut before = Before { mask, words, of_all, last: of_all };
    #[cfg(target_arch = "x86_64")]
    if isa.level() == Level::Avx512 {
        // SAFETY: the processor has the level, as the consent says.
        return unsafe { avx512::fill::<W>(&mut before, src, dst) };
    }
    #[cfg(target_arch = "x86_64")]
    if isa.level() == Level::Avx2 {
        // SAFETY: as above.
        return unsafe { avx2::fill::<W>(&mut before, src, dst) };
    }
    let _ = isa;
    let missing = mask[..n.div_ceil(WORD)].iter().enumerate().filter(|(_, word)| **word != 0);
    for (i, word) in missing {
        let element = before.word(i);
        fill_word::<W>(*word, element, i, src, dst);
    }
}

/// The elements of word `i` of a mask: what comes before them is element `before`.
#[inline(always)]
fn fill_word<W: Word>(word: u64, before: usize, i: usize, src: &[u8], dst: &mut [u8]) {
    let size = size_of::<W>();
    let mut last = W::load(&src[before * size..]);
    let (from, to) = (i * WORD * size, ((i + 1) * WORD * size).min(src.len()));
    let elements = dst[from..to].chunks_exact_mut(size);
    if word == !0 {
        return elements.for_each(|element| last.store(element));
    }
    for (j, (element, source)) in elements.zip(src[from..to].chunks_exact(size)).enumerate() {
        last = select_unpredictable(word >> j & 1 == 1, last, W::load(source));
        last.store(element);
    }
}

/// The elements behind the last whole word.
#[cfg(target_arch = "x86_64")]
#[cold]
#[inline(never)]
fn fill_rest<W: Word>(before: &mut Before, src: &[u8], dst: &mut [u8]) {
    let i = src.len() / (WORD * size_of::<W>());
    if !src.len().is_multiple_of(WORD * size_of::<W>()) && before.mask[i] != 0 {
        let element = before.word(i);
        fill_word::<W>(before.mask[i], element, i, src, dst);
    }
}

/// Which element comes before those of a mask's word.
struct Before<'a> {
    mask: &'a [u64],
    /// Of a block.
    words: usize,
    /// The first element that is there.
    of_all: usize,
    /// Of the word asked for last.
    last: usize,
}

impl Before<'_> {
    /// Of word `i`; each that has gaps is asked for, in their order. Whether a word begins a block is as good as random
    /// where gaps are: a branch would often go wrong.
    #[inline(always)]
    fn word(&mut self, i: usize) -> usize {
        let starts = i & (self.words - 1) == 0;
        let (here, prior) = (!self.mask[i], !self.mask[i.saturating_sub(1)]);
        let there = select_unpredictable(starts, here, prior);
        let in_block = i * WORD + here.trailing_zeros() as usize;
        let in_prior = (i * WORD).wrapping_sub(1 + prior.leading_zeros() as usize);
        self.last = if there != 0 {
            select_unpredictable(starts, in_block, in_prior)
        } else if starts {
            self.first_behind(i)
        } else {
            self.last
        };
        self.last
    }

    /// The first element of the block whose first word is `i`, which has none.
    fn first_behind(&self, i: usize) -> usize {
        let block = self.mask[i..].iter().take(self.words);
        let first = block.enumerate().find(|(_, word)| **word != !0);
        first.map_or(self.of_all, |(k, word)| (i + k) * WORD + word.trailing_ones() as usize)
    }
}

/// The most words of a block that `take_out` takes.
const MOST_WORDS: usize = 8;

/// Whether `take_out` takes `bytes` of elements of `size` bytes in blocks of so many `words`: whole blocks, no more
/// than a plane has.
pub fn can_take_out(size: usize, words: usize, bytes: usize) -> bool {
    let block = words * WORD * size;
    words <= MOST_WORDS && bytes.is_multiple_of(block) && (1..=32).contains(&(bytes / block))
}

/// Marks the elements of `src` with the bits of `value` in `mask`, which has room for a bit each, and copies all to
/// `dst`, with others in their places as `fill` has it: one pass where a gap is a single element that does not begin a
/// block. `can_take_out` has to hold. False if there is nothing else than gaps.
pub fn take_out(isa: Isa, size: usize, words: usize, value: u64, src: &[u8], mask: &mut [u64], dst: &mut [u8]) -> bool {
    assert!(can_take_out(size, words, src.len()) && dst.len() == src.len());
    let mask = &mut mask[..src.len() / (WORD * size)];
    // Bit b is set where block b has nothing but gaps.
    let empty = match (isa.level(), size) {
        // SAFETY: the processor has the level, as the consent says; there are as many bytes in whole blocks.
        #[cfg(target_arch = "x86_64")]
        (Level::Avx512, 2) => unsafe { avx512::words16::take_out(words, value, src, mask, dst) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        (Level::Avx512, 4) => unsafe { avx512::words32::take_out(words, value, src, mask, dst) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        (Level::Avx512, _) => unsafe { avx512::words64::take_out(words, value, src, mask, dst) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        (Level::Avx2, 2) => unsafe { avx2::take_out::<u16>(words, value, src, mask, dst) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        (Level::Avx2, 4) => unsafe { avx2::take_out::<u32>(words, value, src, mask, dst) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        (Level::Avx2, _) => unsafe { avx2::take_out::<u64>(words, value, src, mask, dst) },
        (_, 2) => take_out_words::<u16>(isa, words, value, src, mask, dst),
        (_, 4) => take_out_words::<u32>(isa, words, value, src, mask, dst),
        _ => take_out_words::<u64>(isa, words, value, src, mask, dst),
    };
    if empty == 0 {
        return true;
    }
    let Some(i) = mask.iter().position(|word| *word != !0) else { return false };
    let of_all = i * WORD + mask[i].trailing_ones() as usize;
    let element = &src[of_all * size..][..size];
    for (_, block) in dst.chunks_exact_mut(words * WORD * size).enumerate().filter(|(b, _)| empty >> b & 1 == 1) {
        match size {
            2 => fill_with::<u16>(element, block),
            4 => fill_with::<u32>(element, block),
            _ => fill_with::<u64>(element, block),
        }
    }
    true
}

/// Fills `place` with one element.
#[inline(always)]
fn fill_with<W: Word>(element: &[u8], place: &mut [u8]) {
    let element = W::load(element);
    place.chunks_exact_mut(size_of::<W>()).for_each(|place| element.store(place));
}

/// `take_out` without instructions of its own.
fn take_out_words<W: Word>(isa: Isa, words: usize, value: u64, src: &[u8], mask: &mut [u64], dst: &mut [u8]) -> u32 {
    let (size, mut empty) = (size_of::<W>(), 0);
    equal::mark(isa, size, src, value, mask, dst);
    let block = words * WORD * size;
    let blocks = src.chunks_exact(block).zip(dst.chunks_exact_mut(block)).zip(mask.chunks_exact(words));
    for (b, ((from, to), mask)) in blocks.enumerate().filter(|(_, (_, mask))| mask.iter().any(|word| *word != 0)) {
        let some = each_word_of_block(mask, |i, before| {
            if mask[i] != 0 {
                fill_word::<W>(mask[i], before, i, from, to);
            }
        });
        empty |= u32::from(!some) << b;
    }
    empty
}

/// Calls `each` for the words of a block's `mask`, with the element of the block that comes before them; false if the
/// block has none.
#[inline(always)]
fn each_word_of_block(mask: &[u64], mut each: impl FnMut(usize, usize)) -> bool {
    let Some(first) = mask.iter().position(|word| *word != !0) else { return false };
    let mut before = first * WORD + mask[first].trailing_ones() as usize;
    for (i, word) in mask.iter().enumerate() {
        each(i, before);
        let last = (i * WORD + WORD - 1).wrapping_sub((!word).leading_zeros() as usize);
        before = select_unpredictable(*word == !0, before, last);
    }
    true
}

/// Puts the low bytes of `value` where `mask` has bits among the elements of `dst`, words of `size` bytes.
pub fn put(isa: Isa, size: usize, mask: &[u64], value: u64, dst: &mut [u8]) {
    match size {
        2 => put_words::<u16>(isa, mask, value, dst),
        4 => put_words::<u32>(isa, mask, value, dst),
        _ => put_words::<u64>(isa, mask, value, dst),
    }
}

#[inline(always)]
fn put_words<W: Word>(isa: Isa, mask: &[u64], value: u64, dst: &mut [u8]) {
    let n = dst.len() / size_of::<W>();
    let (whole, rest) = mask[..n.div_ceil(WORD)].split_at(n / WORD);
    let (blocks, tail) = dst.split_at_mut(whole.len() * WORD * size_of::<W>());
    let value = W::from_u64(value);
    match isa.level() {
        // SAFETY: the processor has the level, as the consent says.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { avx512::put(whole, value, blocks) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2::put(whole, value, blocks) },
        _ => put_bits(whole, value, blocks),
    }
    rest.iter().for_each(|word| put_bits(&[word & !(!0 << (n % WORD))], value, tail));
}

/// Bit by bit, but for whole words.
#[inline(always)]
fn put_bits<W: Word>(mask: &[u64], value: W, dst: &mut [u8]) {
    let size = size_of::<W>();
    for (word, block) in mask.iter().zip(dst.chunks_mut(WORD * size)).filter(|(word, _)| **word != 0) {
        if *word == !0 {
            block.chunks_exact_mut(size).for_each(|element| value.store(element));
            continue;
        }
        let mut bits = *word;
        while bits != 0 {
            value.store(&mut block[bits.trailing_zeros() as usize * size..][..size]);
            bits &= bits - 1;
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    use super::{Before, WORD, Word, fill_rest};
    use crate::primitives::equal::avx512::opaque;

    /// Bit i is set where word i of up to 64 is not zero.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn nonzero(words: &[u64]) -> u64 {
        let (vectors, rest) = words.as_chunks::<8>();
        let mut bits = 0;
        for (k, vector) in vectors.iter().enumerate() {
            // SAFETY: 64 bytes are a vector.
            let vector = unsafe { _mm512_loadu_si512(vector.as_ptr().cast()) };
            bits |= u64::from(_mm512_test_epi64_mask(vector, vector)) << (8 * k);
        }
        rest.iter().enumerate().fold(bits, |bits, (i, word)| bits | u64::from(*word != 0) << (8 * vectors.len() + i))
    }

    /// Calls `each` with the number of every word that is not zero. Most words are or are not in no order that a branch
    /// for each could foresee.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt")]
    fn each_nonzero(words: &[u64], mut each: impl FnMut(usize)) {
        for (k, words) in words.chunks(64).enumerate() {
            let mut bits = nonzero(words);
            while bits != 0 {
                each(64 * k + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }

    /// As `super::fill`. Each lane of a vector takes the lane that the highest bit among its own and those below tells,
    /// which is a count of leading zeros; without a bit the number of zeros leads to the last lane of the vector
    /// before.
    #[target_feature(enable = "avx512f,avx512cd,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt")]
    pub fn fill<W: Word>(before: &mut Before, src: &[u8], dst: &mut [u8]) {
        let (mask, block) = (before.mask, WORD * size_of::<W>());
        let bits = mask.as_ptr().cast::<u8>();
        let whole = src.len() / block;
        assert!(mask.len() > whole && dst.len() == src.len());
        each_nonzero(&mask[..whole], |i| {
            let element = before.word(i);
            assert!((element + 1) * size_of::<W>() <= src.len());
            // SAFETY: the block's bytes are within both slices, which are of one length, and so is the element before
            // them; the mask has another word behind this one.
            unsafe {
                let (from, to) = (src.as_ptr().add(i * block), dst.as_mut_ptr().add(i * block));
                let (bits, element) = (bits.add(8 * i), src.as_ptr().add(element * size_of::<W>()));
                match size_of::<W>() {
                    2 => block16(bits, element, from, to),
                    4 => block32(bits, element, from, to),
                    _ => block64(bits, element, from, to),
                }
            }
        });
        fill_rest::<W>(before, src, dst);
    }

    /// For each of N lanes of 32 bits the bits up to that of its element: of `first`, and of every `step`-th behind it.
    const fn up_to<const N: usize>(first: u32, step: u32) -> [u32; N] {
        let mut lanes = [0; N];
        let mut i = 0;
        while i < N {
            lanes[i] = (2u64.wrapping_shl(first + step * i as u32)).wrapping_sub(1) as u32;
            i += 1;
        }
        lanes
    }

    static UP_TO: [u32; 16] = up_to(0, 1);
    static UP_TO_EVEN: [u32; 16] = up_to(0, 2);
    static UP_TO_ODD: [u32; 16] = up_to(1, 2);
    static UP_TO_WIDE: [u64; 8] = [1, 3, 7, 15, 31, 63, 127, 255];

    /// The 64 elements from `from` on to `to`; `bits` are those of a mask, `element` comes before them.
    ///
    /// # Safety
    /// There are as many elements, and 8 bytes more behind the 8 of the mask.
    #[inline]
    #[target_feature(enable = "avx512f,avx512cd,avx512bw")]
    unsafe fn block32(bits: *const u8, element: *const u8, from: *const u8, to: *mut u8) {
        // SAFETY: as the caller promises.
        unsafe {
            let up_to = _mm512_loadu_si512(UP_TO.as_ptr().cast());
            let mut before = _mm512_set1_epi32(element.cast::<i32>().read_unaligned());
            for k in 0..4 {
                let missing = opaque(_mm512_set1_epi32(bits.add(2 * k).cast::<i32>().read_unaligned()));
                let zeros = _mm512_lzcnt_epi32(_mm512_andnot_si512(missing, up_to));
                let lanes = _mm512_xor_si512(zeros, _mm512_set1_epi32(31));
                let vector = _mm512_loadu_si512(from.add(64 * k).cast());
                before = _mm512_permutex2var_epi32(vector, lanes, before);
                _mm512_storeu_si512(to.add(64 * k).cast(), before);
            }
        }
    }

    /// The same for elements of 64 bits.
    ///
    /// # Safety
    /// As there.
    #[inline]
    #[target_feature(enable = "avx512f,avx512cd,avx512bw")]
    unsafe fn block64(bits: *const u8, element: *const u8, from: *const u8, to: *mut u8) {
        // SAFETY: as the caller promises.
        unsafe {
            let up_to = _mm512_loadu_si512(UP_TO_WIDE.as_ptr().cast());
            let mut before = _mm512_set1_epi64(element.cast::<i64>().read_unaligned());
            for k in 0..8 {
                let missing = opaque(_mm512_set1_epi64(bits.add(k).cast::<i64>().read_unaligned()));
                let zeros = _mm512_lzcnt_epi64(_mm512_andnot_si512(missing, up_to));
                let lanes = _mm512_xor_si512(zeros, _mm512_set1_epi64(63));
                let vector = _mm512_loadu_si512(from.add(64 * k).cast());
                before = _mm512_permutex2var_epi64(vector, lanes, before);
                _mm512_storeu_si512(to.add(64 * k).cast(), before);
            }
        }
    }

    /// The same for elements of 16 bits: the zeros are counted for even and odd lanes.
    ///
    /// # Safety
    /// As there.
    #[inline]
    #[target_feature(enable = "avx512f,avx512cd,avx512bw")]
    unsafe fn block16(bits: *const u8, element: *const u8, from: *const u8, to: *mut u8) {
        // SAFETY: as the caller promises.
        unsafe {
            let even = _mm512_loadu_si512(UP_TO_EVEN.as_ptr().cast());
            let odd = _mm512_loadu_si512(UP_TO_ODD.as_ptr().cast());
            let mut before = _mm512_set1_epi16(element.cast::<i16>().read_unaligned());
            for k in 0..2 {
                let missing = opaque(_mm512_set1_epi32(bits.add(4 * k).cast::<i32>().read_unaligned()));
                let low = _mm512_lzcnt_epi32(_mm512_andnot_si512(missing, even));
                let high = _mm512_lzcnt_epi32(_mm512_andnot_si512(missing, odd));
                let zeros = _mm512_or_si512(low, _mm512_slli_epi32::<16>(high));
                let lanes = _mm512_xor_si512(zeros, _mm512_set1_epi16(31));
                let vector = _mm512_loadu_si512(from.add(64 * k).cast());
                before = _mm512_permutex2var_epi16(vector, lanes, before);
                _mm512_storeu_si512(to.add(64 * k).cast(), before);
            }
        }
    }

    /// `super::take_out` for one width of words: each vector is compared, and its gaps take what the vector has that
    /// begins one element before; `$shift` puts that into some of its lanes.
    macro_rules! words {
        ($name:ident, $w:ty, $set:ident, $eq:ident, $shift:ident, $block:ident) => {
            pub mod $name {
                use super::super::{MOST_WORDS, each_word_of_block};
                use super::*;

                /// The vectors of 64 elements, and their bytes.
                const VECTORS: usize = size_of::<$w>();
                const BYTES: usize = 64 * VECTORS;

                /// Returns the blocks that have nothing but gaps.
                ///
                /// # Safety
                /// `src` and `dst` have 64 elements for each word of `mask`, and these are whole blocks, 32 at most.
                #[target_feature(enable = "avx512f,avx512cd,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
                pub unsafe fn take_out(words: usize, value: u64, src: &[u8], mask: &mut [u64], dst: &mut [u8]) -> u32 {
                    let wanted = $set(value as _);
                    let mut empty = 0;
                    for (b, mask) in mask.chunks_exact_mut(words).enumerate() {
                        let at = b * words * BYTES;
                        // SAFETY: as the caller promises.
                        let (from, to) = unsafe { (src.as_ptr().add(at), dst.as_mut_ptr().add(at)) };
                        let (mut before, mut last, mut runs) = (wanted, 1, 0);
                        for (i, word) in mask.iter_mut().enumerate() {
                            *word = 0;
                            for k in 0..VECTORS {
                                // SAFETY: the vectors of a block are within it.
                                unsafe {
                                    let at = BYTES * i + 64 * k;
                                    let vector = opaque(_mm512_loadu_si512(from.add(at).cast()));
                                    let gaps = $eq(vector, wanted);
                                    _mm512_storeu_si512(to.add(at).cast(), $shift(vector, gaps, before));
                                    *word |= (gaps as u64) << (64 / VECTORS * k);
                                    before = vector;
                                }
                            }
                            runs |= *word & (*word << 1 | last);
                            last = *word >> 63;
                        }
                        if runs != 0 {
                            // SAFETY: as the caller promises.
                            empty |= u32::from(!unsafe { fill_block(mask, from, to) }) << b;
                        }
                    }
                    empty
                }

                /// Fills a block whose gaps are longer; false if there is nothing else.
                ///
                /// # Safety
                /// There are 64 elements for each word of `mask`.
                #[inline]
                #[target_feature(enable = "avx512f,avx512cd,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt")]
                unsafe fn fill_block(mask: &[u64], from: *const u8, to: *mut u8) -> bool {
                    let mut bits = [0; MOST_WORDS + 1];
                    bits[..mask.len()].copy_from_slice(mask);
                    each_word_of_block(mask, |i, before| {
                        // SAFETY: as the caller promises; there is a word more.
                        unsafe {
                            let bits = bits.as_ptr().add(i).cast();
                            $block(bits, from.add(before * size_of::<$w>()), from.add(BYTES * i), to.add(BYTES * i));
                        }
                    })
                }
            }
        };
    }

    words!(words16, u16, _mm512_set1_epi16, _mm512_cmpeq_epi16_mask, shift16, block16);
    words!(words32, u32, _mm512_set1_epi32, _mm512_cmpeq_epi32_mask, shift32, block32);
    words!(words64, u64, _mm512_set1_epi64, _mm512_cmpeq_epi64_mask, shift64, block64);

    /// The lanes of `vector`, but for `lanes` each the one below; the lowest follows the highest of `before`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn shift32(vector: __m512i, lanes: __mmask16, before: __m512i) -> __m512i {
        _mm512_mask_alignr_epi32::<15>(vector, lanes, vector, before)
    }

    /// The same for lanes of 64 bits.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn shift64(vector: __m512i, lanes: __mmask8, before: __m512i) -> __m512i {
        _mm512_mask_alignr_epi64::<7>(vector, lanes, vector, before)
    }

    /// The same for lanes of 16 bits: of the pairs of lanes, each with its lower neighbour's upper one.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn shift16(vector: __m512i, lanes: __mmask32, before: __m512i) -> __m512i {
        let below = _mm512_alignr_epi32::<15>(vector, before);
        let shifted = _mm512_or_si512(_mm512_slli_epi32::<16>(vector), _mm512_srli_epi32::<16>(below));
        _mm512_mask_mov_epi16(vector, lanes, shifted)
    }

    /// As `super::put`, for a whole number of blocks.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt")]
    pub fn put<W: Word>(mask: &[u64], value: W, dst: &mut [u8]) {
        let block = WORD * size_of::<W>();
        assert!(dst.len() == mask.len() * block);
        each_nonzero(mask, |i| {
            let word = mask[i];
            // SAFETY: the block's bytes are within the slice.
            unsafe {
                let to = dst.as_mut_ptr().add(i * block);
                match size_of::<W>() {
                    2 => (0..2).for_each(|k| {
                        let value = _mm512_set1_epi16(value.to_u64() as i16);
                        _mm512_mask_storeu_epi16(to.add(64 * k).cast(), (word >> (32 * k)) as u32, value);
                    }),
                    4 => (0..4).for_each(|k| {
                        let value = _mm512_set1_epi32(value.to_u64() as i32);
                        _mm512_mask_storeu_epi32(to.add(64 * k).cast(), (word >> (16 * k)) as u16, value);
                    }),
                    _ => (0..8).for_each(|k| {
                        let value = _mm512_set1_epi64(value.to_u64() as i64);
                        _mm512_mask_storeu_epi64(to.add(64 * k).cast(), (word >> (8 * k)) as u8, value);
                    }),
                }
            }
        });
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{Before, WORD, Word, each_word_of_block, fill_rest, put_bits};

    /// No lane: twice it, as a byte, is as negative.
    const NONE: u8 = 0xc0;

    /// For every set of 8 lanes, which of them is the last one up to each lane.
    static LAST: [[u8; 8]; 256] = {
        let mut last = [[NONE; 8]; 256];
        let mut i = 0;
        while i < 8 * 256 {
            let (set, lane) = (i / 8, i % 8);
            if set >> lane & 1 == 1 {
                last[set][lane] = lane as u8;
            } else if lane > 0 {
                last[set][lane] = last[set][lane - 1];
            }
            i += 1;
        }
        last
    };

    /// As `super::fill`.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub fn fill<W: Word>(before: &mut Before, src: &[u8], dst: &mut [u8]) {
        let (mask, block) = (before.mask, WORD * size_of::<W>());
        let blocks = src.chunks_exact(block).zip(dst.chunks_exact_mut(block));
        for (i, (from, to)) in blocks.enumerate().filter(|(i, _)| mask[*i] != 0) {
            fill_block(mask[i], W::load(&src[before.word(i) * size_of::<W>()..]), from, to);
        }
        fill_rest::<W>(before, src, dst);
    }

    /// The elements of a word that is not 0; `element` comes before them.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn fill_block<W: Word>(word: u64, element: W, from: &[u8], to: &mut [u8]) {
        let bits = element.to_u64();
        match size_of::<W>() {
            _ if word == !0 => to.chunks_exact_mut(size_of::<W>()).for_each(|place| element.store(place)),
            _ if word.count_ones() < MANY => fill_bits(word, element, to),
            2 => block16(!word, bits as i16, from, to),
            4 => block32(!word, bits as i32, from, to),
            _ => block64(!word, bits as i64, from, to),
        }
    }

    /// The elements of a word, `bits`, of which few are missing.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    fn fill_bits<W: Word>(mut bits: u64, element: W, to: &mut [u8]) {
        let size = size_of::<W>();
        while bits != 0 {
            let i = bits.trailing_zeros() as usize;
            let before = if i == 0 { element } else { W::load(&to[(i - 1) * size..]) };
            before.store(&mut to[i * size..][..size]);
            bits &= bits - 1;
        }
    }

    /// The last lanes for the low 8 bits of `valid`.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn last(valid: u64) -> __m128i {
        // SAFETY: an entry has 8 bytes.
        unsafe { _mm_loadl_epi64(LAST[(valid & 0xff) as usize].as_ptr().cast()) }
    }

    /// 64 elements; `valid` are those that are there.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn block32(valid: u64, element: i32, from: &[u8], to: &mut [u8]) {
        let mut before = _mm256_set1_epi32(element);
        for (k, (from, to)) in from.chunks_exact(32).zip(to.chunks_exact_mut(32)).enumerate() {
            let lanes = _mm256_cvtepi8_epi32(last(valid >> (8 * k)));
            // SAFETY: 32 bytes are a vector.
            let vector = unsafe { _mm256_loadu_si256(from.as_ptr().cast()) };
            let vector = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(vector, lanes));
            let both = _mm256_blendv_ps(vector, _mm256_castsi256_ps(before), _mm256_castsi256_ps(lanes));
            before = _mm256_permutevar8x32_epi32(_mm256_castps_si256(both), _mm256_set1_epi32(7));
            // SAFETY: as above.
            unsafe { _mm256_storeu_ps(to.as_mut_ptr().cast(), both) };
        }
    }

    /// The same for elements of 64 bits: each lane is two of 32.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn block64(valid: u64, element: i64, from: &[u8], to: &mut [u8]) {
        let mut before = _mm256_set1_epi64x(element);
        for (k, (from, to)) in from.chunks_exact(32).zip(to.chunks_exact_mut(32)).enumerate() {
            let lanes = _mm256_cvtepi8_epi64(last(valid >> (4 * k)));
            let low = _mm256_add_epi64(lanes, lanes);
            let high = _mm256_slli_epi64::<32>(_mm256_add_epi64(low, _mm256_set1_epi64x(1)));
            let halves = _mm256_blend_epi32::<0b1010_1010>(low, high);
            // SAFETY: 32 bytes are a vector.
            let vector = unsafe { _mm256_loadu_si256(from.as_ptr().cast()) };
            let vector = _mm256_castsi256_pd(_mm256_permutevar8x32_epi32(vector, halves));
            let both = _mm256_blendv_pd(vector, _mm256_castsi256_pd(before), _mm256_castsi256_pd(lanes));
            before = _mm256_permute4x64_epi64::<0b11_11_11_11>(_mm256_castpd_si256(both));
            // SAFETY: as above.
            unsafe { _mm256_storeu_pd(to.as_mut_ptr().cast(), both) };
        }
    }

    /// The same for elements of 16 bits, eight at a time: each is two bytes.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn block16(valid: u64, element: i16, from: &[u8], to: &mut [u8]) {
        let mut before = _mm_set1_epi16(element);
        for (k, (from, to)) in from.chunks_exact(16).zip(to.chunks_exact_mut(16)).enumerate() {
            let lanes = last(valid >> (8 * k));
            let low = _mm_add_epi8(lanes, lanes);
            let bytes = _mm_unpacklo_epi8(low, _mm_or_si128(low, _mm_set1_epi8(1)));
            // SAFETY: 16 bytes are a vector.
            let vector = unsafe { _mm_loadu_si128(from.as_ptr().cast()) };
            let both = _mm_blendv_epi8(_mm_shuffle_epi8(vector, bytes), before, bytes);
            before = _mm_shuffle_epi8(both, _mm_set1_epi16(0x0f0e));
            // SAFETY: as above.
            unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), both) };
        }
    }

    /// As `super::avx512::words32::take_out`.
    ///
    /// # Safety
    /// `src` and `dst` have 64 elements for each word of `mask`, and these are whole blocks, 32 at most.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub unsafe fn take_out<W: Word>(words: usize, value: u64, src: &[u8], mask: &mut [u64], dst: &mut [u8]) -> u32 {
        let (size, bytes) = (size_of::<W>(), WORD * size_of::<W>());
        let wanted = match size {
            2 => _mm256_set1_epi16(value as i16),
            4 => _mm256_set1_epi32(value as i32),
            _ => _mm256_set1_epi64x(value as i64),
        };
        let (mut empty, block) = (0, words * bytes);
        let blocks = src.chunks_exact(block).zip(dst.chunks_exact_mut(block)).zip(mask.chunks_exact_mut(words));
        for (b, ((from, to), mask)) in blocks.enumerate() {
            let (mut last, mut runs) = (1, 0);
            for (i, word) in mask.iter_mut().enumerate() {
                let (mut bits, mut before) = (0, wanted);
                for k in 0..2 * size {
                    let at = bytes * i + 32 * k;
                    // SAFETY: the vectors of a block are within it, and so is what is an element before them, but for
                    // the first.
                    let equal = unsafe {
                        let vector = _mm256_loadu_si256(from.as_ptr().add(at).cast());
                        let shifted = from.as_ptr().add(if at == 0 { 0 } else { at - size });
                        let shifted = _mm256_loadu_si256(shifted.cast());
                        let equal = match size {
                            2 => _mm256_cmpeq_epi16(vector, wanted),
                            4 => _mm256_cmpeq_epi32(vector, wanted),
                            _ => _mm256_cmpeq_epi64(vector, wanted),
                        };
                        let filled = _mm256_blendv_epi8(vector, shifted, equal);
                        _mm256_storeu_si256(to.as_mut_ptr().add(at).cast(), filled);
                        equal
                    };
                    bits |= match size {
                        2 if k % 2 == 0 => 0,
                        2 => {
                            let both = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(before, equal));
                            u64::from(_mm256_movemask_epi8(both) as u32) << (16 * (k - 1))
                        }
                        4 => (_mm256_movemask_ps(_mm256_castsi256_ps(equal)) as u64) << (8 * k),
                        _ => (_mm256_movemask_pd(_mm256_castsi256_pd(equal)) as u64) << (4 * k),
                    };
                    before = equal;
                }
                // What is before the first vector is not there to be taken.
                let first = if i == 0 { (1 << (32 / size)) - 1 } else { 0 };
                runs |= bits & (bits << 1 | last | first);
                (*word, last) = (bits, bits >> 63);
            }
            if runs != 0 {
                let each = |i: usize, before: usize| {
                    if mask[i] == 0 {
                        return;
                    }
                    let element = W::load(&from[before * size..]);
                    fill_block(mask[i], element, &from[bytes * i..][..bytes], &mut to[bytes * i..][..bytes]);
                };
                empty |= u32::from(!each_word_of_block(mask, each)) << b;
            }
        }
        empty
    }

    /// Words with fewer bits are gone through bit by bit.
    const MANY: u32 = 12;

    /// As `super::put`, for a whole number of blocks.
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    pub fn put<W: Word>(mask: &[u64], value: W, dst: &mut [u8]) {
        let block = WORD * size_of::<W>();
        for (word, dst) in mask.iter().zip(dst.chunks_exact_mut(block)).filter(|(word, _)| **word != 0) {
            if word.count_ones() < MANY || *word == !0 {
                put_bits(&[*word], value, dst);
                continue;
            }
            let lanes = 32 / size_of::<W>();
            for (k, vector) in dst.chunks_exact_mut(32).enumerate() {
                let bits = word >> (lanes * k);
                let (chosen, value) = match size_of::<W>() {
                    2 => {
                        let each = _mm256_setr_epi16(
                            1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, -32768,
                        );
                        let bits = _mm256_and_si256(_mm256_set1_epi16(bits as i16), each);
                        (_mm256_cmpeq_epi16(bits, each), _mm256_set1_epi16(value.to_u64() as i16))
                    }
                    4 => {
                        let each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
                        let bits = _mm256_and_si256(_mm256_set1_epi32(bits as i32), each);
                        (_mm256_cmpeq_epi32(bits, each), _mm256_set1_epi32(value.to_u64() as i32))
                    }
                    _ => {
                        let each = _mm256_setr_epi64x(1, 2, 4, 8);
                        let bits = _mm256_and_si256(_mm256_set1_epi64x(bits as i64), each);
                        (_mm256_cmpeq_epi64(bits, each), _mm256_set1_epi64x(value.to_u64() as i64))
                    }
                };
                // SAFETY: 32 bytes are a vector.
                unsafe {
                    let there = _mm256_loadu_si256(vector.as_ptr().cast());
                    let both = _mm256_blendv_epi8(there, value, chosen);
                    _mm256_storeu_si256(vector.as_mut_ptr().cast(), both);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::Level;

    /// Masks of every kind for `n` elements.
    fn masks(n: usize) -> Vec<Vec<u64>> {
        let kinds: [&dyn Fn(usize) -> bool; 9] = [
            &|_| false,
            &|_| true,
            &|i| i < 3 || (10..80).contains(&i) || i >= 150,
            &|i| i % 2 == 0,
            &|i| i % 67 == 0,
            &|i| i.wrapping_mul(2_654_435_761) >> 7 & 1 == 0,
            &|i| i / 100 % 2 == 0,
            &|i| i / 300 % 3 > 0,
            &|i| i + 1 != n,
        ];
        kinds.iter().map(|missing| mask_of(n, missing)).collect()
    }

    fn mask_of(n: usize, missing: &dyn Fn(usize) -> bool) -> Vec<u64> {
        let mut mask = vec![0u64; n / WORD + 2];
        (0..n).filter(|i| missing(*i)).for_each(|i| mask[i / WORD] |= 1 << (i % WORD));
        mask
    }

    fn elements(n: usize, size: usize) -> Vec<u8> {
        (0..n).flat_map(|i| (i as u64 * 0x0101_0001_0001).to_le_bytes()[..size].to_vec()).collect()
    }

    /// What the format's documentation says, element by element.
    fn expected(n: usize, block: usize, mask: &[u64]) -> Vec<usize> {
        let missing = |i: usize| mask[i / WORD] >> (i % WORD) & 1 == 1;
        let first = |from: usize, to: usize| (from..to.min(n)).find(|i| !missing(*i));
        let (of_all, mut taken) = (first(0, n), Vec::new());
        for i in 0..n {
            let of_block = || first(i, i / block * block + block).or(of_all).unwrap_or(i);
            taken.push(match missing(i) {
                false => i,
                true if of_all.is_none() => i,
                true if i % block == 0 => of_block(),
                true => taken[i - 1],
            });
        }
        taken
    }

    #[test]
    fn gaps_are_filled_and_put_back_at_every_level_size_and_length() {
        for isa in Level::ALL.into_iter().filter_map(Isa::of) {
            for n in (1..300).chain([512, 1000, 2048, 4096, 8191]) {
                for (size, words) in [(2, 1), (2, 4), (4, 1), (4, 2), (8, 1), (8, 8)] {
                    for mask in masks(n) {
                        let src = elements(n, size);
                        let (mut dst, mut own) = (src.clone(), mask.clone());
                        fill(isa, size, words, &mut own, &src, &mut dst);
                        let taken = expected(n, words * WORD, &mask);
                        for (i, from) in taken.iter().enumerate() {
                            let (is, should) = (&dst[i * size..][..size], &src[from * size..][..size]);
                            assert!(is == should, "{isa:?} {size} {n} {words}: element {i} is not {from}");
                        }
                        put(isa, size, &mask, 0xa5a4_a3a2_a1a0_9f9e, &mut dst);
                        for i in 0..n {
                            let gap = mask[i / WORD] >> (i % WORD) & 1 == 1;
                            let value = 0xa5a4_a3a2_a1a0_9f9eu64.to_le_bytes();
                            let should = if gap { &value[..size] } else { &src[i * size..][..size] };
                            assert!(&dst[i * size..][..size] == should, "{isa:?} {size} {n}: element {i}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn gaps_are_taken_out_at_every_level_size_and_length() {
        for isa in Level::ALL.into_iter().filter_map(Isa::of) {
            for (size, words) in [(2, 1), (2, 4), (4, 1), (4, 2), (8, 1), (8, 8)] {
                for blocks in [1, 2, 5, 31, 32] {
                    let n = blocks * words * WORD;
                    for mask in masks(n) {
                        let (mut src, mut own) = (elements(n, size), vec![!0; n / WORD + 1]);
                        put(isa, size, &mask, 0x7fff_7fff_7fff_7fff, &mut src);
                        let mut dst = vec![0xaa; src.len()];
                        let some = take_out(isa, size, words, 0x7fff_7fff_7fff_7fff, &src, &mut own, &mut dst);
                        assert_eq!(some, mask[..n / WORD].iter().any(|word| *word != !0));
                        assert!(own[..n / WORD] == mask[..n / WORD] && own[n / WORD] == !0, "{isa:?} {size} {n}");
                        if some {
                            let taken = expected(n, words * WORD, &mask);
                            let right =
                                |(i, from): (usize, &usize)| dst[i * size..][..size] == src[from * size..][..size];
                            assert!(taken.iter().enumerate().all(right), "{isa:?} {size} {n} {words}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn missing_elements_become_those_before_them() {
        let mask = mask_of(200, &|i| i < 3 || (10..80).contains(&i) || i >= 150);
        for isa in Level::ALL.into_iter().filter_map(Isa::of) {
            let src: Vec<u8> = (0..200u16).flat_map(u16::to_le_bytes).collect();
            let mut dst = src.clone();
            fill(isa, 2, 1, &mut mask.clone(), &src, &mut dst);
            let some: Vec<u16> = dst.chunks_exact(2).map(|e| u16::from_le_bytes([e[0], e[1]])).collect();
            assert_eq!(some[..4], [3, 3, 3, 3]);
            assert_eq!((some[9], some[10], some[63], some[64], some[79], some[80]), (9, 9, 9, 80, 80, 80));
            assert_eq!((some[149], some[150], some[191], some[192], some[199]), (149, 149, 149, 3, 3));
        }
    }
}
