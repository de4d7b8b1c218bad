//! What an encoder or decoder needs to know of a whole stream.

use super::lattice::{Bins, Lattice, MULTIPLIERS};
use crate::bound::Step;
use crate::codec::interp::format::{CODEC_INTERP, Grid};
use crate::codec::shared::colliding::Colliding;
use crate::codec::shared::promise::{self, Promise};
use crate::container::{Header, Layout};
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::host::fpu;
use crate::params::Params;
use crate::primitives::quantize::Quantizer;

/// Parameters of every tile of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Where the tiles are.
    pub layout: Layout,
    /// What shape they have.
    pub grid: Grid,
    /// Source and restored elements are big-endian.
    pub big_endian: bool,
    /// Floats become these bins; without them words are made of elements' bits.
    pub bins: Option<Bins>,
    /// Mantissa bits to round to before (`Rel`).
    pub keep_bits: Option<u32>,
    /// The bins, or rounded bits, that no element may become: those of missing values.
    pub colliding: Colliding,
    /// The array was, and will be, written with other ranges.
    pub rewritten: bool,
}

impl Plan {
    /// From what the user asks for (checked), and the data where a range is to be measured. The header lacks its
    /// length.
    pub fn for_encoding(params: &Params, layout: &Layout, src: &[u8]) -> Result<(Plan, Header)> {
        let _fpu = fpu::Guard::standard();
        let dtype = params.dtype;
        let promise = Promise::new(params, layout, src);
        let Promise { abs, step, keep_bits, .. } = promise;
        let multiplier = step.map_or(0, |step| Lattice::multiplier(dtype, step, abs));
        let header = promise.header(params, layout, CODEC_INTERP, multiplier);
        let bins = step.map(|step| bins(dtype, step, multiplier, abs));
        let bin_of = bins.as_ref().map(|bins| move |bits| bins.of(dtype, bits));
        let plan = Plan {
            layout: *layout,
            grid: Grid::new(layout)?,
            big_endian: params.big_endian,
            bins,
            keep_bits,
            colliding: Colliding::of(&promise, params, layout, bin_of.as_ref().map(|bin_of| bin_of as _)),
            rewritten: params.rewritten,
        };
        Ok((plan, header))
    }

    /// The fine lattice, if there is one.
    pub fn lattice(&self) -> Option<&Lattice> {
        self.bins.as_ref()?.lattice.as_ref()
    }

    /// From a stream's verified header.
    pub fn for_decoding(header: &Header) -> Result<Plan> {
        let _fpu = fpu::Guard::standard();
        let layout = &header.layout;
        let dtype = layout.dtype;
        if layout.unit() != 4 || layout.shape.section_bytes != 0 {
            return fail!(
                Corrupt,
                "codec interp has no streams with units of {} and a section of {} bytes",
                layout.unit(),
                layout.shape.section_bytes
            );
        }
        let (step, multiplier) = promise::step_of(header.word, dtype)?;
        let is_legal = |step| Lattice::is_for(dtype, step) && MULTIPLIERS.contains(&multiplier);
        if multiplier != 0 && !step.is_some_and(is_legal) {
            let Step { w, j } = step.unwrap_or(Step { w: 0, j: 0 });
            return fail!(Corrupt, "multiplier {multiplier} of step {w} * 2^{j} is not legal");
        }
        Ok(Plan {
            layout: *layout,
            grid: Grid::new(layout)?,
            big_endian: header.big_endian,
            bins: step.map(|step| bins(dtype, step, multiplier, header.abs_bound)),
            keep_bits: None,
            colliding: Colliding::NONE,
            rewritten: false,
        })
    }

    /// Whether elements may come back as these bits of a float, wherever they stand.
    pub fn restores(&self, bits: u64) -> bool {
        self.bins.is_some_and(|bins| bins.restores(self.layout.dtype, bits))
    }
}

/// The bins of a step and of a multiplier, where that is not 0.
fn bins(dtype: DType, step: Step, multiplier: u8, abs: f64) -> Bins {
    let lattice = (multiplier != 0).then(|| Lattice::new(dtype, step, multiplier));
    Bins { quantizer: Quantizer::new(dtype, step, abs), lattice }
}
