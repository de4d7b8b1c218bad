//! One value put back into all gaps.

use super::words::{WORD, put_bits};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};
use crate::exec::Isa;
#[cfg(target_arch = "x86_64")]
use crate::exec::{Avx2, Avx512};
use crate::simd::word::Word;

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
    put_whole(isa, whole, value, blocks);
    rest.iter().for_each(|word| put_bits(&[word & !(!0 << (n % WORD))], value, tail));
}

/// The same for a whole number of words.
#[inline(always)]
fn put_whole<W: Word>(isa: Isa, mask: &[u64], value: W, dst: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(p) = Avx512::of(isa) {
        return avx512::put(p, mask, value, dst);
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(p) = Avx2::of(isa) {
        return avx2::put(p, mask, value, dst);
    }
    let _ = isa;
    put_bits(mask, value, dst);
}
