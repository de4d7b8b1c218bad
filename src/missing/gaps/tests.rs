use super::words::WORD;
use super::*;
use crate::exec::{Isa, Level};

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
                        let right = |(i, from): (usize, &usize)| dst[i * size..][..size] == src[from * size..][..size];
                        assert!(taken.iter().enumerate().all(right), "{isa:?} {size} {n} {words}");
                    }
                }
            }
        }
    }
}
