//! Every level of instructions gives the same bytes.

use super::compress_by;
use super::format::CODEC_INTERP;
use crate::codec;
use crate::exec::{ExecOptions, Isa, Level};
use crate::params::{Bound, Params};
use crate::{DType, Dims};

/// Smooth fields with noise, with few waves in many zeros, with elements that are multiples of something, and words
/// that are anything.
const KINDS: usize = 4;
const SHAPES: [&[u64]; 7] =
    [&[18, 40, 66], &[19, 33, 32], &[130, 131], &[75, 160], &[3, 5000], &[20_000], &[2, 1, 9, 1, 30, 31]];

fn element(kind: usize, dtype: DType, dims: &[u64], i: u64, random: u64) -> u64 {
    let last = *dims.last().unwrap();
    let [x, y, z] = [i % last, i / last % 70, i / last / 70].map(|v| v as f64);
    let noise = (random % 1024) as f64 / 1024.0;
    let smooth = (x / 7.0).sin() + (y / 9.0).cos() * (z / 5.0 + 1.0).sin();
    match kind {
        0 => dtype.nearest(smooth + noise * 0.01),
        1 => dtype.nearest(if (i / 4000).is_multiple_of(5) { smooth * 100.0 } else { 0.0 }),
        2 => dtype.nearest((smooth * 50.0).round() / 8.0 + if random.is_multiple_of(300) { noise } else { 0.0 }),
        _ => random,
    }
}

#[test]
fn all_give_the_same_bytes() {
    let mut random = 1u64;
    let mut other = 0;
    for (s, shape) in SHAPES.into_iter().enumerate() {
        for (kind, dtype) in (0..KINDS).flat_map(|kind| DType::ALL.map(|dtype| (kind, dtype))) {
            let dims = Dims::new(shape).unwrap();
            let mut src = Vec::new();
            for i in 0..dims.count() {
                random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                let bits = element(kind, dtype, shape, i, random >> 20 & ((1 << 44) - 1) | random << 44);
                src.extend(&bits.to_le_bytes()[..dtype.size()]);
            }
            let bounds = [Bound::Lossless, Bound::Abs(0.2), Bound::Abs(0.002), Bound::Abs(2e-6), Bound::Rel(0.01)];
            for bound in bounds.into_iter().take(if dtype.is_float() { 5 } else { 1 }) {
                let params = Params { codec: CODEC_INTERP, dims, ..Params::new(dtype).with_bound(bound) };
                let layout = codec::layout(&params, dims.count()).unwrap();
                let stream = |level: Level| {
                    let isa = Isa::of(level)?;
                    let mut dst = vec![0; layout.max_stream_bytes().unwrap()];
                    let options = ExecOptions::threads(1);
                    // A thread of its own: what one keeps from array to array is laid out for a level.
                    let size = std::thread::scope(|scope| {
                        let work = || compress_by(isa, &params, &layout, &src, &mut dst, options).unwrap();
                        scope.spawn(work).join().unwrap()
                    });
                    dst.truncate(size);
                    Some(dst)
                };
                let portable = stream(Level::Scalar).unwrap();
                for level in Level::ALL.into_iter().filter(|level| *level != Level::Scalar) {
                    let Some(own) = stream(level) else { continue };
                    other += 1;
                    assert!(own == portable, "{} {s} {kind} {dtype:?} {bound:?}", level.name());
                }
            }
        }
    }
    let levels = Level::ALL.into_iter().filter(|level| Isa::of(*level).is_some()).count();
    assert!(other > 0 || levels == 1);
}
