//! Arrays and settings to try.

use sleek::{Bound, DType, Params, Profile};

pub use crate::vectors::Random;

pub fn element(dtype: DType, v: f64) -> Vec<u8> {
    let bits = if dtype.is_float() { dtype.nearest(v) } else { v as i64 as u64 };
    bits.to_le_bytes()[..dtype.size()].to_vec()
}

/// Elements of so many numbers, in the byte order of the request.
pub fn array(p: &Params, count: usize, mut number: impl FnMut(usize) -> f64) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..count).flat_map(|i| element(p.dtype, number(i))).collect();
    if p.big_endian {
        swap(&mut bytes, p.dtype.size());
    }
    bytes
}

/// Kinds of data that between them reach every mode, width and chunk kind.
pub const KINDS: [&str; 10] =
    ["smooth", "noise", "bits", "constant", "steps", "spikes", "ramp", "specials", "widths", "far"];

pub fn data(kind: &str, dtype: DType, count: usize, r: &mut Random) -> Vec<u8> {
    let size = dtype.size();
    let mut out = Vec::with_capacity(count * size);
    let scale = if dtype == DType::F16 { 50.0 } else { 100.0 };
    let mut walk = 280.0;
    for i in 0..count {
        let x = i as f64;
        let v = match kind {
            "smooth" => scale * ((x * 0.003).sin() + 0.1 * (x * 0.05).cos()),
            "noise" => scale * (r.unit() - 0.5),
            "constant" => 7.25,
            "steps" => (i / 700) as f64 * 3.0,
            "spikes" => {
                if r.next().is_multiple_of(50) {
                    1000.0 * r.unit()
                } else {
                    0.5 * r.unit()
                }
            }
            // Here and there as many steps of 2^-6 below zero as twice the number that rounds in the kernels.
            "far" => match r.next() % 300 {
                0 => -393216.0 + r.unit(),
                1 => -211106232532992.0 + r.unit(),
                _ => 5.0 * r.unit(),
            },
            "ramp" => x * 0.25 + x * x * 1e-4,
            "widths" => {
                walk += (r.unit() - 0.5) * f64::from(1u32 << (i / 300 % 28)) * 1e-3;
                walk
            }
            _ => 0.0,
        };
        match kind {
            "bits" => out.extend_from_slice(&r.next().to_le_bytes()[..size]),
            "specials" if dtype.is_float() => {
                let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 1e-40, -1e38, 1.0, 3e38, 5e-324];
                let v = if r.next().is_multiple_of(9) { odd[(r.next() % 10) as usize] } else { r.unit() - 0.5 };
                out.extend(element(dtype, v));
            }
            "specials" => out.extend(element(dtype, if r.next().is_multiple_of(9) { -1e18 } else { x })),
            _ => out.extend(element(dtype, v)),
        }
    }
    out
}

pub fn settings(dtype: DType) -> Vec<Params> {
    let mut all = vec![Params::new(dtype)];
    if dtype.is_float() {
        for bound in
            [Bound::Abs(0.01), Bound::Abs(3.0), Bound::noa(1e-3), Bound::Rel(1e-2), Bound::noa(1e-6), Bound::Abs(0.0)]
        {
            all.push(Params::new(dtype).with_bound(bound));
        }
    }
    let fast: Vec<Params> = all.iter().map(|p| Params { profile: Profile::Fast, ..p.clone() }).collect();
    all.extend(fast);
    let swapped: Vec<Params> = all.iter().take(3).map(|p| Params { big_endian: true, ..p.clone() }).collect();
    all.extend(swapped);
    all
}

pub fn swap(bytes: &mut [u8], size: usize) {
    bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
}
