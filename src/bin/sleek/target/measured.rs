//! What comes of a bound.

use sleek::{DType, Params};

use crate::element;

/// Bytes and errors of what was compressed.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    pub raw: u64,
    pub packed: u64,
    /// Sum of the squares of all errors.
    pub squares: f64,
    /// Values that count: finite ones that are not missing.
    pub count: u64,
    /// The value range of the whole field, for the PSNR.
    pub range: f64,
}

impl Measured {
    /// Nothing yet, of a field of this value range.
    pub fn new(range: f64) -> Measured {
        Measured { range, ..Measured::default() }
    }

    pub fn ratio(&self) -> f64 {
        self.raw as f64 / self.packed.max(1) as f64
    }

    /// In dB; infinite if there is no error.
    pub fn psnr(&self) -> f64 {
        20.0 * (self.range / (self.squares / self.count.max(1) as f64).sqrt()).log10()
    }

    /// Takes in a part: its bytes, and what they are compressed to.
    pub fn add(&mut self, raw: usize, packed: usize) {
        self.raw += raw as u64;
        self.packed += packed as u64;
    }

    /// Takes in the errors of a part, of which this is the stream.
    pub fn add_errors(&mut self, params: &Params, fills: &[f64], data: &[u8], stream: &[u8]) -> Result<(), String> {
        let mut back = vec![0; data.len()];
        sleek::decompress_into(stream, &mut back).map_err(|e| e.to_string())?;
        let (squares, count) = errors(params.dtype, params.big_endian, fills, data, &back);
        self.squares += squares;
        self.count += count;
        Ok(())
    }
}

/// The sum of squares of the errors of the values that count, and how many these are.
fn errors(dtype: DType, big_endian: bool, fills: &[f64], data: &[u8], back: &[u8]) -> (f64, u64) {
    let (mut squares, mut count) = (0.0, 0);
    element::for_each_pair(dtype, big_endian, data, back, |(_, v), (_, r)| {
        if v.is_finite() && !fills.contains(&v) {
            squares += (v - r) * (v - r);
            count += 1;
        }
    });
    (squares, count)
}
