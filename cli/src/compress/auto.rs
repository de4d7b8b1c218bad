//! `sleek compress --auto`: the profile and the codec that suit an array.

use sleek::Params;

use super::cut::Cut;
use crate::auto::{Aim, SAMPLE_BYTES};
use crate::io::{Block, Input};

/// Bytes of a piece of the sample, about.
const PIECE_BYTES: usize = 512 << 10;

/// The parameters with the best profile and codec for the input, which is read from its start then.
pub fn choose(auto: Aim, params: &Params, cut: &Cut, input: &mut Input) -> Result<Params, String> {
    let Some(bytes) = input.bytes else {
        return Err(format!("--auto: a sample is read first, and {} can be read only once", input.name));
    };
    let sample = sample(bytes, cut.slab_bytes(params.dtype.size()), input)?;
    Ok(auto.choose(&sample, params, |params, part| {
        let dims = cut.dims((part.len() / params.dtype.size()) as u64)?;
        Ok::<_, String>(Params { dims, ..params.clone() })
    }))
}

/// Pieces of whole slabs from all over the input.
fn sample(bytes: u64, slab: usize, input: &mut Input) -> Result<Vec<Vec<u8>>, String> {
    let piece = (PIECE_BYTES / slab).max(1).saturating_mul(slab);
    let step = (bytes / SAMPLE_BYTES).max(1);
    let (mut pieces, mut block) = (Vec::new(), Block::default());
    input.pass((step / 2).saturating_mul(piece as u64))?;
    // The last piece may be shorter; of a short array it is the only one.
    while input.fill(&mut block, piece)? > 0 {
        pieces.push(block.data().to_vec());
        input.pass((step - 1).saturating_mul(piece as u64))?;
    }
    input.rewind()?;
    Ok(pieces)
}
