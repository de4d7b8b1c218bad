//! What an encoder's integers come back as, if that is a missing value which the element is not.

use super::promise::Promise;
use crate::bound;
use crate::container::Layout;
use crate::missing::{MAX_MISSING, next_above};
use crate::params::Params;

/// An integer that comes back as a missing value.
#[derive(Clone, Copy, Debug)]
pub struct Collision {
    /// The integer: a bin, or an element's bits where those are rounded.
    pub integer: u64,
    /// The value.
    pub missing: u64,
    /// The next larger number, which takes its place where an element is not that value.
    pub next: u64,
    /// The least element of the integer that is within the bound of that number; infinite where no number may do so.
    pub least: f64,
}

/// Those of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Colliding {
    all: [Collision; MAX_MISSING],
    count: usize,
}

impl Colliding {
    /// None.
    pub const NONE: Colliding =
        Colliding { all: [Collision { integer: 0, missing: 0, next: 0, least: f64::INFINITY }; MAX_MISSING], count: 0 };

    /// Those of a request; `bin_of` is the bin of a value that is equal to one, of streams of bins. An element that is
    /// equal to a missing value is not among what is encoded.
    pub fn of(
        promise: &Promise,
        params: &Params,
        layout: &Layout,
        bin_of: Option<&dyn Fn(u64) -> Option<u64>>,
    ) -> Colliding {
        let (dtype, missing) = (params.dtype, layout.shape.missing.bits());
        // A zero that is not a missing value, but equal to one, must not become another number where zeros stay.
        let has_zero = missing.iter().any(|bits| dtype.number(*bits) == 0.0);
        let has_next = bin_of.is_some() || promise.keep_bits.is_some() && !has_zero;
        let least_beside = |next| match bin_of {
            // A little more, since the difference is rounded.
            Some(_) => (dtype.number(next) - promise.abs).next_up(),
            None => bound::least_relative(dtype.number(next), params.bound.number()),
        };
        let mut colliding = Colliding::NONE;
        for bits in missing {
            let integer = match bin_of {
                Some(bin_of) => bin_of(*bits),
                None => promise.keep_bits.map(|_| *bits),
            };
            let Some(integer) = integer else { continue };
            let next = next_above(dtype, *bits).filter(|next| has_next && !missing.contains(next));
            let least = next.map_or(f64::INFINITY, least_beside);
            colliding.all[colliding.count] = Collision { integer, missing: *bits, next: next.unwrap_or(*bits), least };
            colliding.count += 1;
        }
        colliding
    }
}

impl std::ops::Deref for Colliding {
    type Target = [Collision];

    fn deref(&self) -> &[Collision] {
        &self.all[..self.count]
    }
}
