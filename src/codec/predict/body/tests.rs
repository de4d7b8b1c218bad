//! Every level against the portable code, tile by tile: bodies, what they are decoded to, and what damaged ones are.

use super::{decode, encode};
use crate::codec::Codec;
use crate::codec::interp::plan::Plan;
use crate::codec::interp::quantize::lattice::Multiple;
use crate::codec::predict::Predict;
use crate::codec::predict::code::costs;
use crate::codec::predict::format::GROUP;
use crate::container::{Dims, Kind, Layout, Shape};
use crate::dtype::DType;
#[cfg(target_arch = "aarch64")]
use crate::exec::Neon;
#[cfg(target_arch = "x86_64")]
use crate::exec::{Avx2, Avx512};
use crate::exec::{Isa, Level as Processor};
use crate::params::{Bound, Params, Profile};
use crate::primitives::lorenzo::AXES;
use crate::primitives::quantize::{F16, F32, F64, Int};
use crate::simd::lanes::Lanes;
use crate::simd::{Level, Scalar, Task};

/// Pseudo-random bits.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 ^ self.0 >> 29
    }

    fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 11) % n
    }
}

/// Smooth along all axes, along one of them, rough, sparse, with far values between, almost flat, or growing from
/// one to the next.
fn number(kind: u64, i: u64, row: u64, plane: u64, random: &mut Random) -> f64 {
    let (x, y, z) = ((i % row) as f64, (i / row % plane.max(1)) as f64, (i / row / plane.max(1)) as f64);
    let noise = random.below(1 << 20) as f64 / f64::from(1 << 20) - 0.5;
    match kind {
        0 => (0.02 * x).sin() + 0.03 * y + 0.5 * (0.1 * z).cos() + 1e-3 * noise,
        1 => (7.0 * y).sin() * 100.0 + 0.01 * x,
        2 => noise * 1e3,
        3 => f64::from(u8::from(random.below(300) == 0)) * noise,
        4 if random.below(2000) == 0 => noise * 1e30,
        4 => 0.01 * x + 1e-4 * noise,
        5 => noise * 40.0 + (0.3 * x).sin() * 2e4,
        6 => f64::from(u8::from(i == 77)),
        7 => 70.0 * i as f64 + (noise * 6.0).round(),
        _ => 1e4 - 40.0 * i as f64 + 39.0 * noise,
    }
}

fn bytes(dtype: DType, numbers: impl Iterator<Item = f64>) -> Vec<u8> {
    let of = |v: f64| match dtype {
        DType::F32 => (v as f32).to_le_bytes().to_vec(),
        DType::F64 => v.to_le_bytes().to_vec(),
        // Numbers of 16 bits that have an exponent in the middle of their range.
        DType::F16 => ((((v * 100.0) as i16) & 0x7ff) as u16 | 0x3400).to_le_bytes().to_vec(),
        DType::I16 => ((v * 10.0) as i16).to_le_bytes().to_vec(),
        _ => ((v * 10.0) as i32).to_le_bytes().to_vec(),
    };
    numbers.flat_map(of).collect()
}

const SHAPES: [&[u64]; 13] = [
    &[1],
    &[40],
    &[512],
    &[16384 + 700],
    &[128, 128],
    &[130, 133],
    &[16, 1000],
    &[32, 16, 32],
    &[33, 17, 40],
    &[5, 38, 76, 38],
    &[2000, 3],
    &[4, 53, 6, 21, 2],
    &[3, 3, 2000],
];

/// A tile of the same array, and its elements.
type Before = ([usize; AXES], Kind, Vec<u8>, Vec<u8>);

/// A tile with another before or behind it comes out as it does alone, and so does the other one.
fn pair<E: Multiple, P: Level>(
    p: P,
    plan: &Plan,
    buffers: &mut decode::Buffers<E::Word>,
    tile: decode::Tile,
    alone: (bool, &[u8]),
    before: &Before,
) {
    let other = decode::Tile { number: 1000, lens: before.0, kind: before.1, body: &before.2 };
    let mut check = |tile: decode::Tile, next, (is_good, bytes): (bool, &[u8])| {
        let mut out = vec![0x33; bytes.len()];
        let done = decode::tile::<E>(p, plan, buffers, tile, next, &mut out);
        assert_eq!(done.is_ok(), is_good, "{} {:?}: {done:?}", tile.number, tile.lens);
        assert!(!is_good || out == bytes, "{} {:?}", tile.number, tile.lens);
    };
    let of_other = (true, &before.3[..]);
    check(other, Some(tile), of_other);
    check(tile, Some(other), alone);
    check(other, None, of_other);
    // Something else than what was announced.
    check(tile, Some(other), alone);
    check(tile, None, alone);
}

/// What a level makes of a tile, which must be what the portable code makes of it; and of damaged bodies.
fn compare<E: Multiple, P: Level>(
    p: P,
    plan: &Plan,
    lens: [usize; AXES],
    data: &[u8],
    before: &mut Option<Before>,
    random: &mut Random,
) {
    let room = 2 * data.len() + 4096;
    let (mut ours, mut portable) = (vec![0; room], vec![0; room]);
    let a = encode::tile::<E>(p, plan, lens, &mut encode::Buffers::new(plan).unwrap(), (data, &[]), &mut ours);
    let b = encode::tile::<E>(Scalar, plan, lens, &mut encode::Buffers::new(plan).unwrap(), (data, &[]), &mut portable);
    assert_eq!(a, b, "{lens:?}");
    let (kind, len) = a;
    assert!(ours[..len] == portable[..len], "{lens:?} {kind:?}");
    let mut buffers = decode::Buffers::new(plan).unwrap();
    let mut other = decode::Buffers::new(plan).unwrap();
    let mut body = ours[..len].to_vec();
    let before = before.get_or_insert_with(|| {
        let mut elements = vec![0; data.len()];
        let tile = decode::Tile { number: 0, lens, kind, body: &body };
        decode::tile::<E>(Scalar, plan, &mut other, tile, None, &mut elements).unwrap();
        (lens, kind, body.clone(), elements)
    });
    for damage in 0..if kind == Kind::Packed { 12 } else { 1 } {
        if damage > 0 {
            let at = random.below(if damage % 2 == 0 { len.min(12) } else { len } as u64) as usize;
            body[at] ^= 1 << random.below(8);
        }
        let (mut a, mut b) = (vec![0x55; data.len()], vec![0x55; data.len()]);
        let tile = decode::Tile { number: damage, lens, kind, body: &body };
        let of_level = decode::tile::<E>(p, plan, &mut buffers, tile, None, &mut a);
        let of_portable = decode::tile::<E>(Scalar, plan, &mut other, tile, None, &mut b);
        assert_eq!(of_level.is_ok(), of_portable.is_ok(), "{lens:?} {damage}: {of_level:?} {of_portable:?}");
        assert!(of_level.is_err() || a == b, "{lens:?} {damage}");
        if damage % 4 == 0 {
            pair::<E, P>(p, plan, &mut buffers, tile, (of_level.is_ok(), &a), before);
        }
        if damage > 0 && random.below(2) == 0 {
            body.copy_from_slice(&ours[..len]);
        }
    }
}

fn check<E: Multiple, P: Level>(p: P, dtype: DType, bounds: &[Bound]) {
    let mut random = Random(1);
    // As tests/common has it: half of the cases do, in an emulator at the least.
    let is_short = std::env::var_os("SLEEK_SHORT").is_some_and(|v| !v.is_empty());
    for bound in bounds {
        for (k, lens) in SHAPES.into_iter().enumerate() {
            let big_endian = k % 3 == 1;
            let dims = Dims::new(lens).unwrap();
            let params = Params { profile: Profile::Small, dims, big_endian, ..Params::new(dtype) };
            let params = params.with_bound(*bound);
            let shape = Predict.shape(&params, Shape { dims, ..Shape::line(0) }).unwrap();
            let layout = Layout::with(dtype, shape).unwrap();
            for kind in (0..9).filter(|kind| !is_short || (kind + k as u64).is_multiple_of(2)) {
                let (row, plane) = (lens[lens.len() - 1], lens.len().checked_sub(2).map_or(1, |i| lens[i]));
                let numbers = (0..dims.count()).map(|i| number(kind, i, row, plane, &mut random));
                let mut data = bytes(dtype, numbers.collect::<Vec<_>>().into_iter());
                if big_endian {
                    data.chunks_exact_mut(dtype.size()).for_each(<[u8]>::reverse);
                }
                let (plan, _) = Plan::for_encoding(&params, &layout, &data).unwrap();
                let mut before = None;
                // Some tiles of the array, each with the elements that lie at its start.
                for c in (0..layout.chunks).step_by(1 + layout.chunks / 3) {
                    let lens = plan.grid.lens(layout.tile(c).lens());
                    let len = lens.iter().product::<usize>() * dtype.size();
                    compare::<E, P>(p, &plan, lens, &data[data.len() - len..], &mut before, &mut random);
                }
            }
        }
    }
}

/// What a group costs, as a task of a level.
struct Cost<'a>(&'a [u32; GROUP]);

impl Task for Cost<'_> {
    type Done = Option<u32>;

    fn run<L: Lanes>(self, l: L) -> Option<u32> {
        costs::whole_cost(l, self.0)
    }
}

/// Groups of codes up to any size, with more zeros or fewer, cost the same by each level.
fn groups_cost_alike<P: Level>(p: P) {
    let mut random = Random(11);
    for most in (1..80).chain([1 << 20]) {
        for zeros in 0..4 {
            let mut codes = [0; GROUP];
            codes.iter_mut().for_each(|code| {
                let there = random.below(4) >= zeros;
                *code = if there { random.below(most) as u32 } else { 0 };
            });
            assert_eq!(p.run(Cost(&codes)), Level::run(Scalar, Cost(&codes)), "{codes:?}");
        }
    }
}

fn all_types<P: Level>(p: P) {
    groups_cost_alike(p);
    let bounds = [Bound::Abs(0.1), Bound::Abs(1e-3), Bound::noa(1e-6), Bound::Rel(1e-2), Bound::Lossless];
    check::<F32, P>(p, DType::F32, &bounds);
    check::<F64, P>(p, DType::F64, &bounds);
    check::<F16, P>(p, DType::F16, &[bounds[0], bounds[1], bounds[4]]);
    check::<Int<u16>, P>(p, DType::I16, &bounds[4..]);
    check::<Int<u32>, P>(p, DType::I32, &bounds[4..]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn avx2_is_as_the_portable_code() {
    if let Some(p) = Isa::of(Processor::Avx2).and_then(Avx2::of) {
        all_types(p);
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn avx512_is_as_the_portable_code() {
    if let Some(p) = Isa::of(Processor::Avx512).and_then(Avx512::of) {
        all_types(p);
    }
}

#[cfg(target_arch = "aarch64")]
#[test]
fn neon_is_as_the_portable_code() {
    if let Some(p) = Isa::of(Processor::Neon).and_then(Neon::of) {
        all_types(p);
    }
}
