//! What an encoder or decoder needs to know of a whole stream.

use super::constants::CODEC_SLEEK;
use crate::codec::shared::colliding::{Colliding, Collision};
use crate::codec::shared::promise::{self, Promise};
use crate::container::{EntryForm, Geometry, Header, Layout};
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::host::fpu;
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
    /// The integers that come back as a missing value.
    pub colliding: Colliding,
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
        let bin_of = quantizer.as_ref().map(|q| move |bits| quantize::bin_of(dtype, q, bits));
        let plan = Plan {
            dtype,
            big_endian: params.big_endian,
            quantizer,
            keep_bits,
            profile: params.profile,
            exact_apart: false,
            colliding: Colliding::of(&promise, params, layout, bin_of.as_ref().map(|bin_of| bin_of as _)),
        };
        (plan, header)
    }

    /// The plan of a chunk that is coded by its elements' bits, unchanged.
    pub fn of_bits(&self) -> Plan {
        Plan {
            quantizer: None,
            keep_bits: None,
            exact_apart: self.quantizer.is_some(),
            colliding: Colliding::NONE,
            ..*self
        }
    }

    /// Whether low bits that are zero in all words of a chunk are dropped.
    pub fn drops_zeros(&self) -> bool {
        self.profile != Profile::Fast || self.keep_bits.is_some()
    }

    /// What an element is stored as that a constant chunk is to have: not as a missing value.
    pub fn beside_missing(&self, element: u64) -> u64 {
        let magnitude = |bits: u64| bits & ((1 << (8 * self.dtype.size() - 1)) - 1);
        // Both zeros are equal.
        let is = |c: &&Collision| c.missing == element || magnitude(c.missing | element) == 0;
        self.colliding.iter().find(is).map_or(element, |c| c.next)
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
            colliding: Colliding::NONE,
        })
    }
}
