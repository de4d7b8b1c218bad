//! Interpolation inside a tile, in integers: levels from coarse to fine, on each of which the new nodes are predicted
//! from the restored ones around them (docs/reference/codecs/interp.md §6).

pub mod encode;
pub mod layout;
pub mod march;
pub mod weights;

pub use encode::{Buffers, Encode, Load, Restored};
pub use layout::{ABSENT, DIFFERENCE_LEVELS, FEW, SHORTEST_ROW, can_interpolate};
pub use weights::WEIGHT_BITS;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::interp::format::{Interpolation, LATTICE_STEP};
    use crate::codec::interp::predict::decode;
    use crate::primitives::lorenzo::AXES;
    use crate::simd::numbers::LONGEST;
    use crate::simd::{Level, Scalar, each_level};

    const LENS: [[usize; AXES]; 18] = [
        [1, 1, 1],
        [2, 2, 2],
        [9, 1, 1],
        [300, 1, 1],
        [1, 9, 4],
        [16, 16, 16],
        [33, 5, 3],
        [8, 1, 40],
        [130, 17, 1],
        [32, 32, 16],
        [17, 33, 9],
        [20, 31, 12],
        [64, 64, 1],
        [3, 3, 200],
        [2, 2, 128],
        [2, 300, 1],
        [1, 2, 900],
        [4, 1, 3],
    ];

    fn rules() -> impl Iterator<Item = Interpolation> {
        (0..32u8).map(|i| Interpolation { rough: i & 1 == 1, in_steps: i & 2 == 2, axes: i >> 2 })
    }

    /// A smooth field with some noise, and some elements that do not count.
    fn field(lens: [usize; AXES]) -> (Vec<u32>, Vec<u32>) {
        let n: usize = lens.iter().product();
        let mut noise = 1u32;
        let mut random = || {
            noise = noise.wrapping_mul(1664525).wrapping_add(1013904223);
            noise >> 24
        };
        let number = |i: usize| {
            let [x, y, z] = [i % lens[0], i / lens[0] % lens[1], i / lens[0] / lens[1]].map(|v| v as f64);
            ((x / 7.0).sin() + (y / 5.0).cos() * (z / 9.0).sin()) * 9000.0
        };
        let numbers = (0..n).map(|i| (number(i) as i32 + random() as i32) as u32).collect();
        (numbers, (0..n).map(|_| if random() < 40 { 0 } else { u32::MAX }).collect())
    }

    /// A level restores these numbers from codes of 32 bits, and of 16 if they fit.
    fn restore(p: impl Level, lens: [usize; AXES], rule: Interpolation, signed: &[u32], restored: &[u32]) {
        let mut short: Vec<u16> = signed.iter().map(|code| *code as u16).collect();
        let fits = signed[..restored.len()].iter().all(|code| *code as i16 as u32 == *code);
        for is_short in [false, true] {
            let mut decoded = vec![0; restored.len()];
            let mut show = |at: usize, numbers: &[u32]| decoded[at..at + numbers.len()].copy_from_slice(numbers);
            let (buffers, mut long) = (&mut decode::Buffers::new(lens).unwrap(), signed.to_vec());
            // Sums of short codes may be too long for them.
            let (level, show) = (0, &mut show);
            let is_done = match is_short {
                true => p.run(decode::Decode { rule, level, lens, buffers, codes: &mut short[..], show }),
                false => p.run(decode::Decode { rule, level, lens, buffers, codes: &mut long[..], show }),
            };
            assert!(is_done || is_short);
            assert!(!is_done || is_short && !fits || decoded == restored, "{lens:?} {rule:?} {is_short}");
        }
    }

    /// What is encoded is restored by the decoder as by the encoder, no more than half a step off where it counts.
    #[test]
    fn decoders_restore_what_encoders_do() {
        for lens in LENS {
            let (numbers, mask) = field(lens);
            let n = numbers.len();
            for (rule, masked) in rules().flat_map(|rule| [(rule, false), (rule, true)]) {
                let mut buffers = Buffers::new(lens).unwrap();
                let (mut codes, mut restored) = (vec![0; n + LONGEST], vec![0; n]);
                let marked = |(number, mask): (&u32, &u32)| if masked && *mask == 0 { ABSENT } else { *number };
                let marked: Vec<u32> = numbers.iter().zip(&mask).map(marked).collect();
                Scalar.run(Load { lens, numbers: &marked, is_masked: masked, buffers: &mut buffers });
                assert!(Scalar.run(Encode { rule, buffers: &mut buffers, codes: &mut codes }));
                Scalar.run(Restored { buffers: &mut buffers, numbers: &mut restored });
                let signed: Vec<u32> = codes.iter().map(|c| c >> 1 ^ 0u32.wrapping_sub(c & 1)).collect();
                restore(Scalar, lens, rule, &signed, &restored);
                each_level!(p => restore(p, lens, rule, &signed, &restored));
                let most = if rule.in_steps { LATTICE_STEP / 2 } else { 0 };
                let counts = |i: &usize| !masked || mask[*i] != 0;
                let off = |i: usize| (numbers[i].wrapping_sub(restored[i]) as i32).unsigned_abs();
                let worst = (0..n).filter(counts).map(off).max().unwrap();
                assert!(worst <= most, "{lens:?} {rule:?} {masked}: {worst}");
            }
        }
    }
}
