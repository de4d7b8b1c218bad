//! What an encoder or decoder needs to know of a whole stream.

use super::constants::CODEC_SLEEK;
use crate::bound;
use crate::codec::shared::promise::{self, Promise};
use crate::container::{EntryForm, Geometry, Header, Layout};
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::host::fpu;
use crate::missing::{MAX_MISSING, Missing, next_above};
use crate::params::{Params, Profile};
use crate::primitives::quantize::{self, Quantizer};

/// Parameters of every chunk of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Element type.
    pub dtype: DType,
    /// Source and restored elements are big-endian.
    pub big_endian: bool,
    /// Floats become bins of this quantizer; without one, words are coded as they are.
    pub quantizer: Option<Quantizer>,
    /// Mantissa bits to round to before the words are coded (`Rel`).
    pub keep_bits: Option<u32>,
    /// Speed or ratio.
    pub profile: Profile,
    /// The chunk is one of elements' bits in a stream of bins.
    pub exact_apart: bool,
    /// Integers that would come back as a missing value, and how many there are: bins, or elements' bits where those
    /// are rounded.
    colliding: ([Collision; MAX_MISSING], usize),
}

/// An integer that comes back as a missing value.
#[derive(Clone, Copy, Debug)]
pub struct Collision {
    /// The integer.
    pub integer: u64,
    /// The value.
    missing: u64,
    /// The next larger number, which takes its place where an element is not that value.
    next: u64,
    /// The least element of the bin that is within the bound of that number; infinite where no number may do so.
    pub least: f64,
}

impl Collision {
    const NONE: Collision = Collision { integer: 0, missing: 0, next: 0, least: f64::INFINITY };
}

/// See `Plan::colliding`. An element that is equal to a missing value is not among what is encoded. The bound is an
/// absolute one with a quantizer, otherwise relative to each element.
fn colliding(
    dtype: DType,
    missing: &Missing,
    quantizer: Option<&Quantizer>,
    keep_bits: Option<u32>,
    bound: f64,
) -> ([Collision; MAX_MISSING], usize) {
    // A zero that is not a missing value, but equal to one, must not become another number where zeros stay.
    let has_zero = missing.bits().iter().any(|bits| dtype.number(*bits) == 0.0);
    let has_next = quantizer.is_some() || keep_bits.is_some() && !has_zero;
    let least_beside = |next| match quantizer {
        // A little more, since the difference is rounded.
        Some(_) => (dtype.number(next) - bound).next_up(),
        None => bound::least_relative(dtype.number(next), bound),
    };
    let mut all = ([Collision::NONE; MAX_MISSING], 0);
    for bits in missing.bits() {
        let integer = match quantizer {
            Some(q) => quantize::bin_of(dtype, q, *bits),
            None => keep_bits.map(|_| *bits),
        };
        let Some(integer) = integer else { continue };
        let next = next_above(dtype, *bits).filter(|next| has_next && !missing.bits().contains(next));
        let least = next.map_or(f64::INFINITY, least_beside);
        all.0[all.1] = Collision { integer, missing: *bits, next: next.unwrap_or(*bits), least };
        all.1 += 1;
    }
    all
}

impl Plan {
    /// From what the user asks for (checked), and the data where a range is to be measured. The header lacks its
    /// length.
    pub fn for_encoding(params: &Params, layout: &Layout, src: &[u8]) -> (Plan, Header) {
        let _fpu = fpu::Guard::standard();
        let dtype = params.dtype;
        let promise = Promise::new(params, layout, src);
        let Promise { abs, step, keep_bits, .. } = promise;
        let header = promise.header(params, layout, CODEC_SLEEK, 0);
        let quantizer = step.map(|s| Quantizer::new(dtype, s, abs));
        let bound = if quantizer.is_some() { abs } else { params.bound.number() };
        let plan = Plan {
            dtype,
            big_endian: params.big_endian,
            quantizer,
            keep_bits,
            profile: params.profile,
            exact_apart: false,
            colliding: colliding(dtype, &layout.shape.missing, quantizer.as_ref(), keep_bits, bound),
        };
        (plan, header)
    }

    /// The plan of a chunk that is coded by its elements' bits, unchanged.
    pub fn of_bits(&self) -> Plan {
        Plan {
            quantizer: None,
            keep_bits: None,
            exact_apart: self.quantizer.is_some(),
            colliding: ([Collision::NONE; MAX_MISSING], 0),
            ..*self
        }
    }

    /// Whether low bits that are zero in all words of a chunk are dropped.
    pub fn drops_zeros(&self) -> bool {
        self.profile != Profile::Fast || self.keep_bits.is_some()
    }

    /// The integers that come back as a missing value.
    pub fn collisions(&self) -> &[Collision] {
        &self.colliding.0[..self.colliding.1]
    }

    /// What an element is stored as that a constant chunk is to have: not as a missing value.
    pub fn beside_missing(&self, element: u64) -> u64 {
        let magnitude = |bits: u64| bits & ((1 << (8 * self.dtype.size() - 1)) - 1);
        // Both zeros are equal.
        let is = |c: &&Collision| c.missing == element || magnitude(c.missing | element) == 0;
        self.collisions().iter().find(is).map_or(element, |c| c.next)
    }

    /// From a stream's verified header.
    pub fn for_decoding(header: &Header) -> Result<Plan> {
        let _fpu = fpu::Guard::standard();
        let (dtype, shape) = (header.layout.dtype, &header.layout.shape);
        if shape.geometry != Geometry::DEFAULT || shape.entries != EntryForm::Narrow || shape.section_bytes != 0 {
            return fail!(
                Corrupt,
                "{:?}, {:?} entries, or a section of {} bytes are not codec sleek's",
                shape.geometry,
                shape.entries,
                shape.section_bytes
            );
        }
        let [.., zero] = header.word;
        if zero != 0 {
            return fail!(UnsupportedFormat, "reserved header fields are set (byte 15 is {zero:#x})");
        }
        let (step, _) = promise::step_of(header.word, dtype)?;
        Ok(Plan {
            dtype,
            big_endian: header.big_endian,
            quantizer: step.map(|step| Quantizer::new(dtype, step, header.abs_bound)),
            keep_bits: None,
            profile: header.profile,
            exact_apart: false,
            colliding: ([Collision::NONE; MAX_MISSING], 0),
        })
    }
}
