//! Codec zfp: its kernels give the bytes of the CPU and restore the same values.

use sleek::{Bound, DType, Params};

use crate::both::compare;
use crate::shim::Shim;
use crate::vectors::requests::{array, dims};

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
