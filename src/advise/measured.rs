//! What comes of a bound.

use super::elements;
use super::ssim::{Ssim, scale_of};
use super::target::Target;
use crate::error::Result;
use crate::exec::ExecOptions;
use crate::host::memory::{filled, reserve};
use crate::params::Params;
use crate::route::cpu;

/// Bytes and errors of what was compressed.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Bytes of the array.
    pub raw: u64,
    /// Bytes of its streams.
    pub packed: u64,
    /// Sum of the squares of all errors, these times `scale`.
    squares: f64,
    /// So that no square is too large or too small for an f64.
    scale: f64,
    /// Values that count: finite ones that are not missing.
    pub count: u64,
    /// The value range of the whole field, for the PSNR.
    pub range: f64,
    /// For a target that is an SSIM.
    ssim: Option<Ssim>,
}

impl Measured {
    /// Nothing yet, of a field of this value range.
    pub fn new(target: &Target, range: f64) -> Measured {
        let ssim = matches!(target, Target::Ssim(_)).then(|| Ssim::new(range));
        Measured { range, scale: scale_of(range), ssim, ..Measured::default() }
    }

    /// How many times smaller.
    pub fn ratio(&self) -> f64 {
        self.raw as f64 / self.packed.max(1) as f64
    }

    /// Whether no error was met.
    pub fn is_exact(&self) -> bool {
        self.squares == 0.0
    }

    /// In dB; infinite if there is no error.
    pub fn psnr(&self) -> f64 {
        20.0 * (self.range * self.scale / (self.squares / self.count.max(1) as f64).sqrt()).log10()
    }

    /// The SSIM, as if nothing were lost where nothing was measured; NaN if it cannot be told.
    pub fn ssim(&self) -> f64 {
        self.ssim.as_ref().map_or(1.0, Ssim::value)
    }

    /// Takes in a part: its bytes, and what they are compressed to.
    pub fn add(&mut self, raw: usize, packed: usize) {
        self.raw += raw as u64;
        self.packed += packed as u64;
    }

    /// Takes in the errors of a part of these dimensions, and what became of it.
    pub fn add_errors(&mut self, params: &Params, fills: &[f64], dims: &[u64], data: &[u8], back: &[u8]) -> Result<()> {
        let room = if self.ssim.is_some() { data.len() / params.dtype.size() } else { 0 };
        let (mut original, mut restored) = (Vec::new(), Vec::new());
        reserve(&mut original, room)?;
        reserve(&mut restored, room)?;
        elements::for_each_pair(params.dtype, params.big_endian, data, back, |(_, v), (_, r)| {
            let counts = v.is_finite() && !fills.contains(&v);
            if counts {
                let error = (v - r) * self.scale;
                self.squares += error * error;
                self.count += 1;
            }
            if room > 0 {
                original.push(if counts { v } else { f64::NAN });
                restored.push(if counts { r } else { f64::NAN });
            }
        });
        if let Some(ssim) = &mut self.ssim {
            ssim.add(dims, &original, &restored);
        }
        Ok(())
    }
}

/// What a stream restores.
pub fn restored(stream: &[u8], bytes: usize) -> Result<Vec<u8>> {
    let mut back = filled(bytes, 0u8)?;
    cpu::decompress_into(stream, &mut back, ExecOptions::threads(0))?;
    Ok(back)
}
