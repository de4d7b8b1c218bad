//! Arrays of several dimensions with any codec: refused, or restored as promised; boxes of them are what plain slicing
//! of the whole gives, and boxes elsewhere are refused.

use super::Input;
use crate::vectors::{exact, part as part_of};
use sleek::codec::REGISTRY;
use sleek::{Dims, Kind, MissingValue, MissingValues, Params, Profile};

/// Compares a box of `stream` with the same of the `whole` array.
pub fn compare(stream: &[u8], whole: &[u8], size: usize, dims: &[u64], start: &[u64], lens: &[u64]) {
    let inside = start.iter().zip(lens).zip(dims).all(|((s, n), len)| s.checked_add(*n).is_some_and(|end| end <= *len));
    let mut part = vec![0xa5; whole.len()];
    match sleek::decompress_box_into(stream, start, lens, &mut part) {
        Ok(()) => {
            assert!(inside, "{lens:?} from {start:?} of {dims:?}");
            let expected = part_of(whole, size, dims, (start, lens), 0);
            assert!(part[..expected.len()] == expected, "{lens:?} from {start:?} of {dims:?} differ");
            assert!(part[expected.len()..].iter().all(|byte| *byte == 0xa5));
        }
        Err(error) => assert!(!inside && error.kind == Kind::OutOfRange, "{error}"),
    }
}

/// Compares what is on the grid of a level with the same of the `whole` array.
pub fn compare_coarse(stream: &[u8], whole: &[u8], size: usize, dims: &[u64], level: u32) {
    let expected = part_of(whole, size, dims, (&vec![0; dims.len()], dims), level);
    let mut part = vec![0xa5; expected.len()];
    assert_eq!(sleek::decompress_coarse_into(stream, level, None, &mut part).unwrap(), part.len());
    assert!(part == expected, "level {level} of {dims:?}");
}

/// Runs the target.
pub fn run(bytes: &[u8]) {
    let mut input = Input(bytes);
    let [codec, rank, missing] = input.bytes();
    let codec = REGISTRY[usize::from(codec) % REGISTRY.len()];
    let any = input.params();
    let profile = if codec.profiles().contains(&any.profile) { any.profile } else { Profile::default() };
    let mut params = Params { codec: codec.id(), profile, ..any };
    let size = params.dtype.size();
    let rank = 1 + usize::from(rank % 5);
    let lens: Vec<u64> = (0..rank).map(|_| u64::from(input.u8() % [255, 30, 12, 7, 4][rank - 1])).collect();
    let values = (0..missing % 5).map(|_| MissingValue::Bits(input.u64() >> (64 - 8 * size)));
    params.missing = MissingValues::of(&values.collect::<Vec<_>>()).unwrap();
    params.dims = Dims::new(&lens).unwrap();
    let (start, part): (Vec<u64>, Vec<u64>) = lens
        .iter()
        .map(|len| {
            let start = u64::from(input.u8()) % (len + 1);
            (start, u64::from(input.u8()) % (len - start + 1))
        })
        .unzip();
    let far: Vec<u64> = (0..rank).map(|_| input.u64()).collect();
    let mut data = input.0.to_vec();
    data.resize(params.dims.count() as usize * size, 0x3f);
    let stream = match sleek::compress(&params, &data) {
        Ok(stream) => stream,
        Err(error) => {
            assert!(sleek::compress_bound(&params, data.len() / size).is_err(), "{error}");
            return super::refused();
        }
    };
    assert!(stream.len() <= sleek::compress_bound(&params, data.len() / size).unwrap());
    let back = sleek::decompress(&stream).unwrap();
    super::stream::judge(&stream, Ok(back.clone()));
    let info = sleek::inspect(&stream).unwrap();
    assert_eq!(info.dims, params.dims);
    exact::judge(&params, info.abs_bound, &data, &back).unwrap_or_else(|error| panic!("{error}"));
    super::coded(data.len());
    compare(&stream, &back, size, &lens, &start, &part);
    compare(&stream, &back, size, &lens, &far, &part);
    compare(&stream, &back, size, &lens, &start, &far);
    compare_coarse(&stream, &back, size, &lens, u32::from(missing / 5) % 7);
}
