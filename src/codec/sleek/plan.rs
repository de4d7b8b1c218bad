//! What an encoder or decoder needs to know of a whole stream.

use super::constants::CODEC_SLEEK;
use crate::bound::{self, Step};
use crate::container::missing::{MAX_MISSING, Missing};
use crate::container::{EntryForm, Geometry, Header, Layout};
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::host::fpu;
use crate::params::{Mode, Params, Profile};
use crate::primitives::quantize::{self, Quantizer, mantissa_and_bias};
use crate::runtime::cpu;

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
    /// What to do with the exponent map in chunks that the adaptive profile codes losslessly.
    pub exponents: Exponents,
    /// Integers that would come back as a missing value, and how many there are: bins, or elements' bits where those
    /// are rounded.
    colliding: ([u64; MAX_MISSING], usize),
}

/// How the encoder uses the exponent map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exponents {
    /// Where a warp tile's samples speak for it.
    Chosen,
    /// The same, and it is asked whether a chunk of nothing else may be smaller.
    Doubted,
    /// In every subchunk.
    Alone,
}

/// The four bytes of the header that are SLEEK's: the quantizer's step.
fn word_of(step: Step) -> [u8; 4] {
    let [j0, j1] = step.j.to_le_bytes();
    [j0, j1, step.w, 0]
}

/// See `Plan::colliding`. An element that is equal to a missing value is not among what is encoded.
fn colliding(
    dtype: DType,
    missing: &Missing,
    quantizer: Option<&Quantizer>,
    keep_bits: Option<u32>,
) -> ([u64; MAX_MISSING], usize) {
    let mut all = ([0; MAX_MISSING], 0);
    for bits in missing.bits() {
        let integer = match quantizer {
            Some(q) => quantize::bin_of(dtype, q, *bits),
            None => keep_bits.map(|_| *bits),
        };
        if let Some(integer) = integer {
            all.0[all.1] = integer;
            all.1 += 1;
        }
    }
    all
}

impl Plan {
    /// From what the user asks for (checked), and the data where a range is to be measured. The header lacks its
    /// length.
    pub fn for_encoding(params: &Params, layout: &Layout, src: &[u8]) -> (Plan, Header) {
        let _fpu = fpu::Guard::standard();
        let dtype = params.dtype;
        let (abs, range) = match params.mode {
            _ if params.has_few_values() => (0.0, 0.0),
            Mode::Abs => (params.bound, 0.0),
            Mode::Noa => {
                bound::noa(params.bound, params.range, || cpu::range_without(params, &layout.shape.missing, src))
            }
            _ => (0.0, 0.0),
        };
        let step = Step::for_bound(dtype, abs, params.profile);
        let mantissa = mantissa_and_bias(dtype).0;
        let keep_bits = (params.mode == Mode::Rel && !params.has_few_values())
            .then(|| bound::rel_mantissa_bits(params.bound, mantissa))
            .filter(|keep| *keep < mantissa);
        let header = Header {
            layout: *layout,
            codec: CODEC_SLEEK,
            mode: params.mode,
            profile: params.profile,
            big_endian: params.big_endian,
            more: false,
            word: step.map_or([0; 4], word_of),
            bound: if params.mode == Mode::Lossless { 0.0 } else { params.bound },
            range,
            abs_bound: if step.is_some() { abs } else { 0.0 },
            stream_bytes: 0,
        };
        let quantizer = step.map(|s| Quantizer::new(dtype, s, abs));
        let lossless = quantizer.is_none() && keep_bits.is_none();
        let lossless = lossless && dtype.is_float() && params.profile == Profile::Adaptive;
        let plan = Plan {
            dtype,
            big_endian: params.big_endian,
            quantizer,
            keep_bits,
            profile: params.profile,
            exact_apart: false,
            exponents: if lossless { Exponents::Doubted } else { Exponents::Chosen },
            colliding: colliding(dtype, &layout.shape.missing, quantizer.as_ref(), keep_bits),
        };
        (plan, header)
    }

    /// The plan of a chunk that is coded by its elements' bits, unchanged.
    pub fn of_bits(&self) -> Plan {
        Plan {
            quantizer: None,
            keep_bits: None,
            exact_apart: self.quantizer.is_some(),
            exponents: Exponents::Chosen,
            colliding: ([0; MAX_MISSING], 0),
            ..*self
        }
    }

    /// The plan of a second attempt at a chunk: elements' bits; by the exponent map alone, where these were the first.
    pub fn second(&self) -> Plan {
        let alone = self.exponents == Exponents::Doubted;
        Plan { exponents: if alone { Exponents::Alone } else { Exponents::Chosen }, ..self.of_bits() }
    }

    /// Whether low bits that are zero in all words of a chunk are dropped.
    pub fn drops_zeros(&self) -> bool {
        let fast = self.profile == Profile::Fast && self.keep_bits.is_none();
        !fast && self.exponents != Exponents::Alone
    }

    /// The integers that no element may become.
    pub fn collisions(&self) -> &[u64] {
        &self.colliding.0[..self.colliding.1]
    }

    /// From a stream's verified header.
    pub fn for_decoding(header: &Header) -> Result<Plan> {
        let _fpu = fpu::Guard::standard();
        let (dtype, shape) = (header.layout.dtype, &header.layout.shape);
        if shape.geometry != Geometry::DEFAULT
            || shape.entries != EntryForm::Narrow
            || shape.section_bytes != 0
            || shape.missing.has_next()
        {
            return fail!(
                Corrupt,
                "{:?}, {:?} entries, a section of {} bytes, or numbers next to missing values are not codec sleek's",
                shape.geometry,
                shape.entries,
                shape.section_bytes
            );
        }
        let [j0, j1, w, zero] = header.word;
        if zero != 0 {
            return fail!(UnsupportedFormat, "reserved header fields are set (byte 15 is {zero:#x})");
        }
        let step = Step { w, j: i16::from_le_bytes([j0, j1]) };
        let legal = match step.w {
            0 => step.j == 0,
            4..=7 => dtype.is_float() && bound::step_range(dtype).contains(&step.j),
            _ => false,
        };
        if !legal {
            return fail!(Corrupt, "quantizer step {} * 2^{} is not legal for {}", step.w, step.j, dtype.name());
        }
        Ok(Plan {
            dtype,
            big_endian: header.big_endian,
            quantizer: (step.w != 0).then(|| Quantizer::new(dtype, step, header.abs_bound)),
            keep_bits: None,
            profile: header.profile,
            exact_apart: false,
            exponents: Exponents::Chosen,
            colliding: ([0; MAX_MISSING], 0),
        })
    }
}
