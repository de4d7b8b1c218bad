//! Codes that the static tables of codec predict code, for `train.py` beside this file.
//! `cargo bench --bench codes -- FOLDER` writes a file into FOLDER for each field of `SLEEK_DATA` and each bound.
//!
//! A file has 64 tiles, or all if there are fewer. A tile has a u32, how many groups it has. Each group has a u32, the
//! sum of its magnitudes, and 128 bytes, its tokens; a byte of 255 stands for a code that is not there.

#[path = "../../tests/gpu/fields.rs"]
mod fields;

use std::path::PathBuf;

use sleek::codec::predict::format::{GROUP, token};
use sleek::{Bound, Params, Profile};

const BOUNDS: [f64; 5] = [1e-1, 1e-2, 1e-3, 1e-4, 1e-6];
const TILES: usize = 64;
/// Magnitudes count as no more than this, as in the encoder.
const MOST: u64 = 1 << 23;
const ABSENT: u8 = 255;

fn main() {
    let folder = std::env::args().skip(1).find(|a| !a.starts_with("--")).expect("a folder");
    for field in fields::load() {
        for bound in BOUNDS {
            let mut params = Params::new(field.dtype).with_bound(Bound::noa(bound));
            params.profile = Profile::Small;
            params.dims = field.dims;
            params.missing = sleek::MissingValues::number(field.fill);
            let stream = sleek::compress(&params, &field.bytes).expect("compress");
            let mut tiles = Vec::new();
            sleek::codec::predict::codes(&stream, &mut |codes| tiles.push(tile(codes))).expect("codes");
            let step = tiles.len().div_ceil(TILES).max(1);
            let some: Vec<u8> = tiles.into_iter().step_by(step).flatten().collect();
            let path = PathBuf::from(&folder).join(format!("{}_{bound:e}", field.name));
            std::fs::write(&path, some).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        }
    }
}

/// The bytes of a tile.
fn tile(codes: &[u64]) -> Vec<u8> {
    let mut bytes = (codes.len().div_ceil(GROUP) as u32).to_le_bytes().to_vec();
    for group in codes.chunks(GROUP) {
        let sum: u64 = group.iter().map(|c| ((c >> 1) + (c & 1)).min(MOST)).sum();
        bytes.extend((sum as u32).to_le_bytes());
        let mut tokens = [ABSENT; GROUP];
        tokens.iter_mut().zip(group).for_each(|(t, c)| *t = token(*c).0 as u8);
        bytes.extend(tokens);
    }
    bytes
}
