//! What is asked of every codec of the registry, by tests that know none of them.

use sleek::codec::{Codec, REGISTRY};
use sleek::{Bound, DType, Dims, Mode, Params};

/// Every codec with every element type, mode and number of dimensions that it takes.
pub fn requests() -> impl Iterator<Item = (&'static dyn Codec, Params)> {
    REGISTRY.iter().flat_map(|codec| {
        let can = codec.capabilities();
        let modes = move |dtype: &DType| {
            let dtype = *dtype;
            can.modes.iter().filter(move |mode| dtype.is_float() || !mode.has_bound()).map(move |mode| {
                let bound = match mode {
                    Mode::Rate => 11.5,
                    Mode::Precision => 19.0,
                    _ if dtype.size() == 2 => 0.03,
                    _ => 1e-3,
                };
                Params { codec: codec.id(), ..Params::new(dtype).with_bound(Bound::new(*mode, bound).unwrap()) }
            })
        };
        can.dtypes.iter().flat_map(modes).map(|params| (*codec, params))
    })
}

/// One request for each codec, which the parts of its streams do not depend on much.
pub fn plain_requests() -> impl Iterator<Item = Params> {
    REGISTRY.iter().map(|codec| {
        let can = codec.capabilities();
        let lossy = can.modes.iter().find(|mode| **mode != Mode::Lossless).unwrap_or(&Mode::Lossless);
        Params { codec: codec.id(), ..Params::new(can.dtypes[0]).with_bound(Bound::new(*lossy, 1e-3).unwrap()) }
    })
}

pub fn dims(lens: &[u64]) -> Dims {
    Dims::new(lens).unwrap()
}

pub fn array(generator: &str, params: &Params, seed: u64) -> Vec<u8> {
    super::bytes(generator, params.dtype, seed, params.dims.count() as usize, params.big_endian)
}

/// Numbers of dimensions, and lengths that are no multiple of anything.
pub const SHAPES: [&[u64]; 14] = [
    &[0],
    &[1],
    &[5],
    &[1025],
    &[9001],
    &[0, 7],
    &[1, 1],
    &[33, 65],
    &[3, 3001],
    &[7, 9, 11],
    &[40, 1, 70],
    &[3, 5, 7, 9],
    &[2, 1, 33, 41],
    &[17, 4, 5, 6],
];

pub fn takes(codec: &dyn Codec, dims: &[u64]) -> bool {
    // A codec that makes no use of dimensions takes any number of them.
    let rank = codec.capabilities().rank;
    rank == 1 || dims.len() <= rank
}
