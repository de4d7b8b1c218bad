//! One codec by itself: arrays of any shape with any parameters are refused, or restored as promised, judged in exact
//! arithmetic, also where parts of what came back are written again; and streams of them with a change or two behind
//! their checksums do no harm.

use super::{Input, stream};
use crate::reference::{self, builder};
use crate::vectors::{self, exact};
use sleek::{Bound, Dims, MissingValue, MissingValues, Mode, Params, Profile};

/// The codec of the library's beginning.
pub fn sleek(bytes: &[u8]) {
    run("sleek", bytes);
}

/// The codec of the smallest files.
pub fn interp(bytes: &[u8]) {
    run("interp", bytes);
}

/// The codecs of the tests, which use what the library's leave aside. What zfp promises is judged elsewhere.
pub fn others(bytes: &[u8]) {
    let library = ["sleek", "interp", "zfp"];
    sleek::codec::REGISTRY.iter().map(|codec| codec.name()).filter(|name| !library.contains(name)).for_each(|name| {
        run(name, bytes);
    });
}

fn run(codec: &str, bytes: &[u8]) {
    let mut input = Input(bytes);
    let [shape, missing, changes, seed] = input.bytes();
    let params = params(&mut input, codec, shape, missing);
    let edits: [[u8; 5]; 3] = std::array::from_fn(|_| input.bytes());
    let data = data(input.0, &params, seed);
    let Ok(mut stream) = sleek::compress(&params, &data) else {
        assert!(sleek::compress_bound(&params, data.len() / params.dtype.size()).is_err());
        return super::refused();
    };
    let back = sleek::decompress(&stream).unwrap();
    let info = sleek::inspect(&stream).unwrap();
    exact::judge(&params, info.abs_bound, &data, &back).unwrap_or_else(|error| panic!("{error}"));
    super::coded(data.len());
    if changes >= 128 && ["sleek", "interp"].contains(&codec) && !params.bound.measures() {
        rewrite(&params, info.abs_bound, &data, back.clone(), &edits);
    }
    if changes % 4 == 0 {
        return stream::judge(&stream, Ok(back));
    }
    edits[..usize::from(changes % 4)].iter().for_each(|edit| change(&mut stream, *edit));
    builder::seal(&mut stream);
    stream::check(&stream);
}

/// Writes parts of the data again, one after the other, into what came back: the bound holds all the same.
fn rewrite(params: &Params, abs_bound: f64, data: &[u8], mut back: Vec<u8>, parts: &[[u8; 5]]) {
    let size = params.dtype.size();
    for [_, length, p0, p1, _] in parts {
        let at = usize::from(u16::from_le_bytes([*p0, *p1])) % (data.len() / size + 1) * size;
        let part = at..data.len().min(at + 16 * size * usize::from(*length));
        back[part.clone()].copy_from_slice(&data[part]);
        back = sleek::decompress(&sleek::compress(params, &back).unwrap()).unwrap();
        exact::judge(params, abs_bound, data, &back).unwrap_or_else(|error| panic!("written again: {error}"));
    }
}

/// A request that the codec takes, up to the bound and the missing values.
fn params(input: &mut Input, codec: &str, shape: u8, missing: u8) -> Params {
    let codec = sleek::codec::by_name(codec).unwrap();
    let can = codec.capabilities();
    let any = input.params();
    let dtype = can.dtypes[any.dtype as usize % can.dtypes.len()];
    let mode = if dtype.is_float() { can.modes[any.bound.mode() as usize % can.modes.len()] } else { Mode::Lossless };
    let profile = if codec.profiles().contains(&any.profile) { any.profile } else { Profile::default() };
    let number = any.bound.number().abs();
    let bound = Bound::new(mode, number).unwrap_or(Bound::Precision(number as u32)).of_range(any.bound.range());
    let mut params = Params { codec: codec.id(), dtype, profile, bound, ..any };
    if dtype.is_float() {
        let sample = |_| MissingValue::Bits(input.u64() >> (64 - 8 * dtype.size()));
        let values: Vec<_> = (0..missing % 5).map(sample).collect();
        params.missing = MissingValues::of(&values).unwrap();
    }
    // Few are of a size that makes several chunks, since they take their time; more of 16 bits, whose codes are short.
    let (rank, long) = (1 + usize::from(shape % 4), shape >= if dtype.size() == 2 { 224 } else { 252 });
    let most = if long { [20_000, 150, 28, 12][rank - 1] } else { [255, 24, 9, 5][rank - 1] };
    let mut lens: Vec<u64> = (0..rank).map(|_| 1 + u64::from(u16::from_le_bytes(input.bytes())) % most).collect();
    lens[0] = if missing >= 250 { 0 } else { lens[0] };
    params.dims = Dims::new(&lens).unwrap();
    params
}

/// An array made of the rest of the input: as it is, as steps of a walk, or of a generator; with missing values.
fn data(rest: &[u8], params: &Params, seed: u8) -> Vec<u8> {
    let (dtype, count) = (params.dtype, params.dims.count() as usize);
    let cycle = || rest.iter().chain(&[0]).cycle().take(count);
    let mut words: Vec<u64> = match seed % 4 {
        0 => {
            let mut bytes = rest.to_vec();
            bytes.resize(count * dtype.size(), 0x3f);
            vectors::to_words(dtype, &bytes)
        }
        1 | 2 => {
            let mut at = 0i64;
            let walk = cycle().map(|step| {
                at += i64::from(*step as i8);
                vectors::try_word(dtype, at, -i32::from(seed >> 4)).unwrap_or_default()
            });
            walk.collect()
        }
        _ => {
            let generator = vectors::GENERATORS[usize::from(seed / 4) % vectors::GENERATORS.len()];
            vectors::words(generator, dtype, seed.into(), count)
        }
    };
    let missing = params.missing.of_type(dtype).unwrap();
    if !missing.is_empty() {
        let places = words.iter_mut().zip(cycle());
        places.filter(|(_, b)| **b % 8 == 7).for_each(|(w, b)| *w = missing.bits()[usize::from(b / 8) % missing.len()]);
    }
    vectors::to_bytes(dtype, &words, params.big_endian)
}

/// One change of a stream: of a byte or a word anywhere, in front of the bodies or at their start, or of the length of
/// the last body.
fn change(stream: &mut Vec<u8>, [what, value, p0, p1, p2]: [u8; 5]) {
    let Ok(container) = reference::container(stream) else { return };
    let (len, bodies_at) = (stream.len(), container.bodies_at as usize);
    let place = usize::from(p0) | usize::from(p1) << 8;
    let at = match p2 % 4 {
        0 => place,
        1 => place % bodies_at.max(1),
        _ => bodies_at + place % 48,
    } % len;
    match what % 6 {
        0 => stream[at] ^= 1 << (value % 8),
        1 => stream[at] = value,
        2 => stream[at] = stream[at].wrapping_add((value as i8).signum() as u8),
        3 => {
            const NUMBERS: [u64; 6] = [0, 1, u64::MAX, 1 << 31, 1 << 62, 1 << 16];
            let width = (1 << (value % 4)).min(len - at);
            stream[at..at + width].copy_from_slice(&NUMBERS[usize::from(value / 4 % 6)].to_le_bytes()[..width]);
        }
        4 => {
            let width = 4.min(len - at);
            stream.copy_within(
                usize::from(value) % (len - width + 1)..usize::from(value) % (len - width + 1) + width,
                at,
            );
        }
        _ => resize(stream, &container, value % 2 == 0),
    }
}

/// Makes the last body longer or shorter by a unit, and tells header and index so.
fn resize(stream: &mut Vec<u8>, container: &reference::Container, longer: bool) {
    let (len, unit, width) = (stream.len() as u64, container.unit, container.entry_bytes as usize);
    if container.chunks == 0 || len < container.bodies_at + unit {
        return;
    }
    let new = if longer { len + unit } else { len - unit };
    let entry = (container.entries_at + container.entry_bytes * (container.chunks - 1)) as usize;
    let mut number = [0; 8];
    number[..width].copy_from_slice(&stream[entry..entry + width]);
    let number = u64::from_le_bytes(number).wrapping_add(if longer { 1 } else { u64::MAX });
    stream[entry..entry + width].copy_from_slice(&number.to_le_bytes()[..width]);
    stream[24..32].copy_from_slice(&new.to_le_bytes());
    stream.resize(new as usize, 0);
}
