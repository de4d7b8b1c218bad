//! Elements that would come back equal to a missing value which they are not: the next larger number takes its place
//! (docs/reference/format.md §5).

use std::sync::atomic::{AtomicBool, Ordering};

use super::{Missing, equal, next_above};
use crate::dtype::DType;
use crate::error::Result;
use crate::exec::Isa;
use crate::host::memory::reserve;
use crate::primitives::range;

/// What is near the missing values of an array, and whether anything was.
#[derive(Default)]
pub struct Collisions {
    near: Vec<Near>,
    met: AtomicBool,
}

/// Around one missing value.
struct Near {
    /// What may be restored as it.
    all: (f64, f64),
    /// What of that may be too far from the next larger number.
    far: (f64, f64),
}

impl Collisions {
    /// Those of an array with this absolute bound; none without one.
    pub fn of(dtype: DType, missing: &Missing, abs_bound: f64) -> Result<Collisions> {
        let mut near = Vec::new();
        reserve(&mut near, missing.len())?;
        for bits in missing.bits().iter().filter(|_| abs_bound > 0.0) {
            let m = dtype.number(*bits);
            if !m.is_finite() {
                continue;
            }
            // A little more, since differences are rounded.
            let all = ((m - abs_bound).next_down(), (m + abs_bound).next_up());
            let next = next_above(dtype, *bits).filter(|next| !missing.bits().contains(next));
            let edge = next.map_or(f64::INFINITY, |next| (dtype.number(next) - abs_bound).next_up());
            near.push(Near { all, far: (all.0, edge.min(all.1)) });
        }
        Ok(Collisions { near, met: AtomicBool::new(false) })
    }

    /// Whether the next larger numbers may be used for the elements of a chunk.
    #[inline]
    pub fn allow(&self, isa: Isa, dtype: DType, big_endian: bool, data: &[u8]) -> bool {
        if self.near.is_empty() {
            return false;
        }
        let mut met = false;
        for near in &self.near {
            if range::reaches(isa, dtype, big_endian, near.all, data) {
                if range::reaches_exactly(dtype, big_endian, near.far, data) {
                    return false;
                }
                met = true;
            }
        }
        if met {
            self.met.store(true, Ordering::Relaxed);
        }
        true
    }

    /// Notes whether the codec says so of its chunks.
    #[inline]
    pub fn note(&self, came: bool) {
        if came {
            self.met.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a chunk has elements that may be restored so.
    pub fn were_met(&self) -> bool {
        self.met.load(Ordering::Relaxed)
    }
}

/// Puts the next larger numbers into the places of elements of a chunk that have the number of a missing value; in an
/// array's elements, or in a body's words, which are little-endian.
pub fn replace(isa: Isa, dtype: DType, missing: &Missing, big_endian: bool, out: &mut [u8]) {
    let size = dtype.size();
    let in_array = |bits: u64| if big_endian { bits.swap_bytes() >> (64 - 8 * size) } else { bits };
    let sign = 1u64 << (8 * size - 1);
    for bits in missing.bits() {
        let Some(next) = next_above(dtype, *bits) else { continue };
        let zeros = [0, sign];
        let same = if bits & !sign == 0 { &zeros[..] } else { std::slice::from_ref(bits) };
        for bits in same {
            let (from, to) = (in_array(*bits).to_le_bytes(), in_array(next).to_le_bytes());
            if equal::contains(isa, size, out, in_array(*bits)) {
                let those = out.chunks_exact_mut(size).filter(|element| **element == from[..size]);
                those.for_each(|element| element.copy_from_slice(&to[..size]));
            }
        }
    }
}
