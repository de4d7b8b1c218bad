//! Codec zfp: its kernels give the bytes of the CPU, restore the same values, and refuse the same streams.

use sleek::{Bound, DType, Params};

use crate::both::{compare, verdict};
use crate::reference::builder::seal;
use crate::shim::Shim;
use crate::vectors::requests::{array, dims};
use crate::vectors::{self, Random};

const TYPES: [DType; 4] = [DType::F32, DType::F64, DType::I32, DType::I64];

/// Tiles of one to four axes, whole and cut off, with parts of blocks at every edge.
const SHAPES: [&[u64]; 18] = [
    &[4],
    &[130],
    &[9001],
    &[9, 6],
    &[130, 67],
    &[3, 5000],
    &[7000, 2],
    &[17, 18, 19],
    &[40, 33, 35],
    &[4, 4, 4],
    &[64, 3, 200],
    &[2, 9, 1, 13, 8],
    &[1, 1, 5, 1, 70],
    &[4, 4, 4, 4],
    &[9, 10, 7, 6],
    &[5, 16, 8, 12],
    &[40, 5, 4, 17],
    &[6, 2, 5, 9, 7, 1],
];

fn params(dtype: DType, bound: Bound, lens: &[u64]) -> Params {
    // Kernels do not search for missing values.
    Params { codec: 3, dims: dims(lens), find_fill: None, ..Params::new(dtype).with_bound(bound) }
}

/// Every kind of coding, from the least that a block may have to more than it needs.
fn modes(dtype: DType) -> Vec<Bound> {
    let sizes = [1.0, 3.0, 7.25, 24.0, 40.0].map(Bound::Rate);
    let planes = [1, 13, 31, 64].map(Bound::Precision);
    let bounds = [0.0, 1e-30, 1e-6, 0.05, 1e4, 1e30].map(Bound::Abs);
    let bounds = bounds.into_iter().filter(|_| dtype.is_float());
    sizes.into_iter().chain(planes).chain(bounds).chain([Bound::Lossless]).collect()
}

#[test]
fn tiles_of_every_type_mode_and_shape_give_the_bytes_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    let every = if crate::common::short() { 15 } else { 3 }; // the stand-in takes its time
    let mut round = 0;
    for dtype in TYPES {
        for bound in modes(dtype) {
            for (k, shape) in SHAPES.into_iter().enumerate() {
                for generator in ["walk", "signed", "specials", "noise", "decades", "constant", "coarse"] {
                    round += 1;
                    if round % every != 0 {
                        continue;
                    }
                    let params = Params { big_endian: round % 3 == 1, ..params(dtype, bound, shape) };
                    shim.set(1 + round as u32 % 4, round as u32 % 5);
                    let offset = [0, dtype.size(), 1][round % 3];
                    compare(shim, &params, &array(generator, &params, k as u64), offset, generator);
                }
            }
        }
    }
}

/// Bounds near the last place, tiny numbers, and some that are not finite: tiles with parameters of their own.
#[test]
fn tiles_whose_bound_does_not_hold_are_those_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    let random = &mut Random(77);
    for round in 0..if crate::common::short() { 30 } else { 100 } {
        let dtype = [DType::F32, DType::F64][round % 2];
        let (mantissa, _) = vectors::float_layout(dtype).unwrap();
        let scale = [0, 8, -60, -110, 60][round / 2 % 5];
        let specials = vectors::specials(dtype);
        let words: Vec<u64> = (0..4096 + 130)
            .map(|i| match random.below(400) {
                0 if round % 3 == 0 => specials[random.below(specials.len() as u64) as usize],
                1 if round % 5 == 0 => random.next() & vectors::mask(dtype),
                _ => dtype.nearest((100.0 * (i as f64 * 0.01).sin()) * vectors::exact::power(scale)),
            })
            .collect();
        let bound = vectors::exact::power(scale + 6 - mantissa as i32 + random.below(18) as i32);
        let shapes: [&[u64]; 5] = [&[4226], &[2, 2113], &[2, 2113, 1], &[9, 21, 22], &[5, 8, 9, 9]];
        let (shape, bytes) = (shapes[round % 5], vectors::to_bytes(dtype, &words, false));
        let count = shape.iter().product::<u64>() as usize * dtype.size();
        compare(shim, &params(dtype, Bound::Abs(bound), shape), &bytes[..count], 0, "near the last place");
    }
}

/// Streams whose checksums are right and whose bodies are not: the same verdict, and the same values if it is good.
#[test]
fn hostile_bodies_get_the_verdict_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    let random = &mut Random(9);
    let mut sound = 0;
    for round in 0..if crate::common::short() { 300 } else { 1000 } {
        let dtype = TYPES[round % 4];
        let modes = modes(dtype);
        let bound = modes[round / 4 % modes.len()];
        let shape: &[u64] = [&[5000][..], &[70, 90], &[17, 18, 19], &[9, 8, 10, 7]][round / 3 % 4];
        let params = params(dtype, bound, shape);
        let mut stream = sleek::compress(&params, &array("walk", &params, 3)).unwrap();
        let bodies = stream.len() / 4;
        for _ in 0..1 + round % 9 {
            // The parameters in the header, or a bit of the bodies.
            match random.below(8) {
                0 => stream[12 + random.below(4) as usize] = random.next() as u8,
                _ => {
                    let at = stream.len() - 1 - random.below(bodies as u64) as usize;
                    stream[at] ^= 1 << random.below(8);
                }
            }
        }
        seal(&mut stream);
        let bytes = params.dims.count() as usize * dtype.size();
        shim.set(1 + round as u32 % 4, round as u32 % 5);
        sound += u32::from(verdict(shim, &stream, bytes, &format!("{params:?}")));
    }
    assert!(sound > 50, "{sound} streams that restore something");
}

/// More tiles than twice the warps that the device holds: a warp takes several at once, and lanes read planes of each.
#[test]
fn warps_that_take_several_tiles_restore_them() {
    let (shim, _turn) = Shim::get();
    let cases: [(DType, Bound, &[u64]); 4] = [
        (DType::F32, Bound::Abs(0.05), &[100, 66, 70]),
        (DType::F32, Bound::Abs(0.05), &[40, 33, 20, 12]),
        (DType::F64, Bound::Lossless, &[40, 33, 20, 12]),
        (DType::F64, Bound::Precision(13), &[400_000]),
    ];
    let count = if crate::common::short() { 2 } else { 4 };
    for (k, (dtype, bound, shape)) in cases.into_iter().take(count).enumerate() {
        let params = params(dtype, bound, shape);
        shim.set(1 + k as u32, k as u32);
        compare(shim, &params, &array("walk", &params, k as u64), 0, "several tiles at once");
    }
}
