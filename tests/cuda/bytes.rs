//! Kernels give the bytes of the CPU: what the arrays of the matrix and the golden streams do not reach.

use sleek::{Bound, DType, MissingValue, MissingValues, Params, Profile};

use crate::both::compare;
use crate::forms::{COMPARED, compared};
use crate::shim::Shim;
use crate::vectors::{self, Random};

/// Lossless chunks with tiles that a countdown takes, or nearly, in both byte orders, with missing values or without.
#[test]
fn chunks_by_a_countdown() {
    let (shim, _turn) = Shim::get();
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        let n = 3 * 16384 / dtype.size() + 77;
        for (i, kind) in COMPARED.into_iter().chain(["weights", "pruned", "repeats", "specials"]).enumerate() {
            let words = compared(kind, dtype, n);
            let missing = [words[n / 3]].map(MissingValue::Bits);
            let p = Params { big_endian: i % 3 == 2, ..Params::new(dtype) };
            let bytes = vectors::to_bytes(dtype, &words, p.big_endian);
            shim.set([4, 1, 3][i % 3], i as u32 % 5);
            compare(shim, &p, &bytes, 0, kind);
            let p = Params { missing: MissingValues::of(&missing[..i % 2]).unwrap(), ..p };
            compare(shim, &p, &bytes, dtype.size() * (i % 2), kind);
        }
    }
}

/// Words of 16 bits go two in a register: every one of them, beside its neighbour, beside that of the other sign, and
/// beside any.
#[test]
fn every_word_of_16_bits() {
    let (shim, _turn) = Shim::get();
    for dtype in [DType::F16, DType::BF16] {
        let factors = [1u16, 0x8001, 40503];
        let (factors, bounds) = match crate::common::short() {
            true => (&factors[2..], &[0.1, 1.5, 9.0][..]),
            false => (&factors[..], &[0.1, 1.25, 1.5, 1.75, 9.0][..]),
        };
        for factor in factors {
            let bytes: Vec<u8> = (0..=u16::MAX).flat_map(|i| i.wrapping_mul(*factor).to_le_bytes()).collect();
            for profile in [Profile::Fast, Profile::Adaptive] {
                let lossless = Params { profile, ..Params::new(dtype) };
                compare(shim, &lossless, &bytes, 0, &format!("factor {factor}"));
                for bound in bounds {
                    let p = lossless.clone().with_bound(Bound::Abs(*bound));
                    compare(shim, &p, &bytes, 0, &format!("factor {factor}"));
                }
            }
        }
        // Powers of two and the words beside them, each alone in a subchunk: where numbers are kept bit for bit begins
        // at one.
        let alone = |w: u16| (0..256).flat_map(move |i| if i == w % 251 { w } else { 0 }.to_le_bytes());
        let powers = (0..=u16::MAX).step_by(1 << 10).flat_map(|w| [w.wrapping_sub(1), w, w + 1]);
        let fast = Params { profile: Profile::Fast, ..Params::new(dtype) };
        compare(shim, &fast.with_bound(Bound::Abs(0.1)), &powers.flat_map(alone).collect::<Vec<u8>>(), 0, "alone");
    }
}

/// Bins of a quarter of a chunk, close enough together for the kernels' words of 16 bits or just not, from wherever
/// they are counted; and one that is much further away. Each chunk is an array, since after a few that are not close
/// together none is asked for.
#[test]
fn bins_close_together_and_far_apart() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(6364136223846793005);
    for dtype in [DType::F32, DType::F64] {
        let quarter = 4096 / dtype.size() as i64;
        let mut chunks = Vec::new();
        for base in [0i64, 1, -5, 7777, -100_001, 1_000_001] {
            for spread in [0i64, 1, 100, 4000, 8190, 8191, 8192, 16383, 16384, 40000] {
                let (least, most) = (base, base + spread);
                let any = |r: &mut Random| least + r.below(spread as u64 + 1) as i64;
                let mut bins: Vec<i64> = (0..quarter).map(|_| any(&mut r)).collect();
                // The first one is the least or the largest; differences of differences are as large as they get.
                bins.extend((0..quarter).map(|i| [least, most][i as usize % 2]));
                bins.extend((0..quarter).map(|i| [most, least, least, most][i as usize % 4]));
                // All but one along a line.
                bins.extend((0..quarter).map(|i| if i == quarter / 2 { most } else { least + i * spread / quarter }));
                chunks.push(bins);
            }
            for far in [1i64 << 13, 1 << 16, 1 << 21, 1 << 23, 1 << 24, 1 << 25, 1 << 30] {
                let at = r.below(4 * quarter as u64) as i64;
                for far in [base - far, base + far] {
                    chunks
                        .push((0..4 * quarter).map(|i| if i == at { far } else { base + r.below(2) as i64 }).collect());
                }
            }
        }
        // The last one is hardly more than half a step, by whose inverse nothing is divided exactly: beyond a few bins
        // the quotient needs a check.
        for (bound, step) in [(0.5, 1.0), (0.37, 0.74), (0.501, 1.0), (0.87501, 1.75)] {
            let p = Params::new(dtype).with_bound(Bound::Abs(bound));
            for (i, bins) in chunks.iter().enumerate() {
                // In the middle of a bin, between two of them, or anywhere.
                let inside = |r: &mut Random| [0.0, 0.5, r.unit() - 0.5][i % 3];
                let words: Vec<u64> =
                    bins.iter().map(|bin| dtype.nearest((*bin as f64 + inside(&mut r)) * step)).collect();
                compare(shim, &p, &vectors::to_bytes(dtype, &words, false), 0, &format!("chunk {i}"));
            }
        }
    }
}

#[test]
fn many_chunks_wait_for_each_other() {
    let (shim, _turn) = Shim::get();
    // More than a group, of chunks of any width.
    let count = 4096 * 300 + 17;
    let mut words = vectors::words("walk", DType::F32, 77, count);
    let pieces = words.chunks_mut(3000).zip(vectors::GENERATORS.iter().cycle());
    pieces.for_each(|(piece, kind)| piece.copy_from_slice(&vectors::words(kind, DType::F32, 7, piece.len())));
    let bytes = vectors::to_bytes(DType::F32, &words, false);
    for (blocks, seed) in [(1, 0), (2, 3), (7, 1), (8, 9)] {
        shim.set(blocks, seed);
        let p = Params { profile: Profile::Fast, ..Params::new(DType::F32).with_bound(Bound::noa(1e-4)) };
        compare(shim, &p, &bytes, 0, "many");
    }
    compare(shim, &Params::new(DType::F32).with_bound(Bound::Abs(1e-2)), &bytes, 0, "many");
}

#[test]
fn sizes_between_any_two_chunks_are_added_up() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(11);
    // Between chunks of a block there are about as many others as blocks; a look-up that asks for 1024 at once may need
    // several.
    let entries: Vec<u16> = (0..4096).map(|_| (1 + r.next() % 1024) as u16 | ((r.next() % 3) as u16) << 14).collect();
    let bytes: Vec<u8> = entries.iter().flat_map(|e| e.to_le_bytes()).collect();
    let index = shim.upload(0, &bytes, 0);
    for begin in (0..20).chain([1000, 2047]) {
        for n in (0..30).chain([791, 1015, 1016, 1023, 1024, 1025, 1032, 1033, 2040]) {
            let expected: u64 = entries[begin..begin + n].iter().map(|e| u64::from(e & 0x7ff)).sum();
            let found = shim.units_between(index.at(0).cast(), begin as u64, (begin + n) as u64);
            assert_eq!(found, expected, "{n} from {begin}");
        }
    }
}
