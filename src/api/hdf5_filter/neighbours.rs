//! What may stand behind SLEEK in a pipeline: a filter that changes bytes, as those of numbers that it knows to be
//! there, would change a stream, of which nothing could be read again. HDF5 asks nobody; so `set_local` refuses such a
//! dataset.

use std::ffi::{c_int, c_uint};

use crate::error::{Result, fail};

/// `H5Z_FILTER_SHUFFLE`.
pub(crate) const SHUFFLE: c_int = 2;
/// `H5Z_FILTER_FLETCHER32`.
pub(super) const FLETCHER32: c_int = 3;
/// Of its registered filters one cuts floats.
const BLOSC2: c_int = 32026;
/// The word of Blosc2 that says what it does before it compresses; up to this number nothing is lost.
const BLOSC2_FILTER: (usize, c_uint) = (5, 3);

/// Filters that give back every byte of whatever they are given.
const LOSSLESS: [(c_int, &str); 12] = [
    (1, "deflate"),
    (SHUFFLE, "shuffle"),
    (FLETCHER32, "fletcher32"),
    (305, "LZO"),
    (307, "bzip2"),
    (32000, "LZF"),
    (32001, "Blosc"),
    (32003, "Snappy"),
    (32004, "LZ4"),
    (32008, "bitshuffle"),
    (32015, "Zstandard"),
    (BLOSC2, "Blosc2"),
];

/// Refuses a filter behind SLEEK that may not give its bytes back.
pub fn check_behind(id: c_int, words: &[c_uint]) -> Result<()> {
    let (at, last) = BLOSC2_FILTER;
    if id == BLOSC2 && words.get(at).is_some_and(|w| *w > last) {
        return fail!(InvalidArgument, "Blosc2 behind SLEEK with its filter {}, which may cut bytes off", words[at]);
    }
    if LOSSLESS.iter().any(|(known, _)| *known == id) {
        return Ok(());
    }
    let name = match id {
        4 => " (szip)",
        5 => " (n-bit)",
        6 => " (scale-offset)",
        32013 => " (ZFP)",
        _ => "",
    };
    let names = LOSSLESS.map(|(_, name)| name).join(", ");
    fail!(InvalidArgument, "filter {id}{name} behind SLEEK may not give its bytes back; those that do are {names}")
}
