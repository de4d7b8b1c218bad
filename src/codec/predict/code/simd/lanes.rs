//! The lanes of a group, as vectors have them.

// Iterators and closures over vectors may stay calls, which code without a level's instructions then makes.
#![allow(clippy::needless_range_loop)]

use crate::codec::predict::format::{QUAD, RUN, RUNS};
use crate::primitives::rans::LANES;
use crate::simd::vec::Simd;

/// Where the bits of a lane's four values stand among those of a run.
static IN_RUN: [u32; LANES] = {
    let mut shifts = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        shifts[lane] = (QUAD * (lane % (RUN / QUAD))) as u32;
        lane += 1;
    }
    shifts
};

/// For each lane a bit for each of its values, from a bit for each place of the four runs of a group.
#[inline(always)]
pub fn quads_of<P: Simd<M>, const M: usize>(p: P, runs: &[u32; RUNS]) -> [P::V; M] {
    let n = LANES / M;
    let mut quads = [p.splat(0); M];
    for k in 0..M {
        let first = k * RUNS / M;
        let mut bits = p.splat(runs[first]);
        if M < RUNS {
            bits = p.select(p.mask(0xFF), bits, p.splat(runs[first + 1]));
        }
        quads[k] = p.right_by(bits, p.load(&IN_RUN[k * n..]));
    }
    quads
}

/// The lanes that have value j.
#[inline(always)]
pub fn has_value<P: Simd<M>, const M: usize>(p: P, quads: P::V, j: u32) -> P::Mask {
    p.less(p.splat(0), p.and(quads, p.splat(1 << j)))
}

/// The numbers of all lanes.
#[inline(always)]
pub fn lanes_of<P: Simd<M>, const M: usize>(p: P, x: &[P::V; M]) -> [u32; LANES] {
    let mut lanes = [0; LANES];
    for k in 0..M {
        p.store(x[k], &mut lanes[k * (LANES / M)..]);
    }
    lanes
}
