//! One value put back into all gaps.

#[cfg(target_arch = "x86_64")]
use super::vectors;
use super::words::{WORD, put_bits};
use crate::exec::Isa;
use crate::simd::elements::by_vectors;
use crate::simd::word::{Word, by_size};

/// Puts the low bytes of `value` where `mask` has bits among the elements of `dst`, words of `size` bytes.
pub fn put(isa: Isa, size: usize, mask: &[u64], value: u64, dst: &mut [u8]) {
    by_size!(size, put_words(isa, mask, value, dst));
}

#[inline(always)]
fn put_words<W: Word>(isa: Isa, mask: &[u64], value: u64, dst: &mut [u8]) {
    let n = dst.len() / size_of::<W>();
    let (whole, rest) = mask[..n.div_ceil(WORD)].split_at(n / WORD);
    let (blocks, tail) = dst.split_at_mut(whole.len() * WORD * size_of::<W>());
    put_whole::<W>(isa, whole, value, blocks);
    let value = W::from_u64(value);
    rest.iter().for_each(|word| put_bits(&[word & !(!0 << (n % WORD))], value, tail));
}

/// The same for a whole number of words.
#[inline(always)]
fn put_whole<W: Word>(isa: Isa, mask: &[u64], value: u64, dst: &mut [u8]) {
    by_vectors!(isa, size_of::<W>(), vectors::put(mask, value, dst));
    put_bits(mask, W::from_u64(value), dst);
}
