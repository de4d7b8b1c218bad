//! Missing values that nobody named: what the encoder finds is what docs/reference/format.md §5.1 says; it comes back,
//! and nothing else comes back equal to it.

use super::Input;
use crate::vectors::sentinel::found;
use crate::vectors::{exact, to_bytes, words_of};
use sleek::codec::zfp::format::CODEC_ZFP;
use sleek::{DType, Params};

/// An array of a few values, and of a slope where a byte says so.
fn values(dtype: DType, input: &mut Input) -> Vec<f64> {
    const SOME: [f64; 12] = [-9999.0, 1e20, 0.0, -77.25, 9.96921e36, 1e30, -999.0, 99.0, 5e3, f64::NAN, -1e4, 65504.0];
    let (scale, middle) = (input.f64(), input.f64());
    let picked: [usize; 4] = std::array::from_fn(|_| usize::from(input.u8()));
    let own = input.f64();
    let palette = picked.map(|k| if k < 200 { SOME[k % SOME.len()] } else { own });
    let repeats = 1 + usize::from(input.u8() % 32) * usize::from(input.u8() % 8);
    let bytes = input.0.repeat(repeats.min(1 + (20 << 10) / input.0.len().max(1)));
    let value = |(i, byte): (usize, &u8)| match byte {
        0..=15 => palette[usize::from(byte % 4)],
        _ => middle + scale * (f64::from(*byte) + (i % 97) as f64 / 97.0),
    };
    bytes.iter().enumerate().map(value).map(|v| dtype.number(dtype.nearest(v))).collect()
}

/// Runs the target.
pub fn run(bytes: &[u8]) {
    let mut input = Input(bytes);
    let mut params = input.params();
    if !params.dtype.is_float() {
        params.dtype = [DType::F32, DType::F64, DType::F16, DType::BF16][usize::from(input.u8() % 4)];
    }
    params.find_fill = Some(input.u8() != 0);
    let values = values(params.dtype, &mut input);
    let words: Vec<u64> = values.iter().map(|v| params.dtype.nearest(*v)).collect();
    let data = to_bytes(params.dtype, &words, params.big_endian);
    let Ok(stream) = sleek::compress(&params, &data) else {
        assert!(sleek::codec::chosen(&params).is_err());
        return super::refused();
    };
    let back = sleek::decompress(&stream).unwrap();
    let info = sleek::inspect(&stream).unwrap();
    if let Err(error) = exact::judge(&params, info.abs_bound, &data, &back) {
        panic!("{error}");
    }
    super::coded(data.len());
    check(&params, &values, &info, &data, &back);
    let again = Params { threads: 1 + params.threads % 3, ..params };
    assert!(sleek::compress(&again, &data).unwrap() == stream, "the bytes depend on threads");
}

fn check(params: &Params, values: &[f64], info: &sleek::Info, data: &[u8], back: &[u8]) {
    let number = |bits: &u64| params.dtype.number(*bits);
    let told: Vec<f64> = info.missing.told().iter().map(number).collect();
    // Of zeros there are two. NaN and infinities are found besides.
    let mut marks: Vec<f64> = Vec::new();
    for mark in info.missing.bits()[told.len()..].iter().map(number).filter(|mark| mark.is_finite()) {
        if !marks.contains(&mark) {
            marks.push(mark);
        }
    }
    let is_on = params.find_fill == Some(true) && params.bound.mode().has_bound() && params.bound.number() > 0.0;
    let is_wanted = is_on && params.codec != CODEC_ZFP && told.len() <= 2;
    let counted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite() && !told.contains(v)).collect();
    let (expected, few) =
        if is_wanted { found(params.dtype, params.bound, told.len(), &counted) } else { (vec![], false) };
    assert_eq!(marks, expected, "{params:?}");
    assert!(!few || data == back, "few values are kept exactly");
    // By their bits: where there is room for one zero alone, the other one is a number.
    let found = &info.missing.bits()[told.len()..];
    let zeros = found.iter().filter(|bits| number(bits) == 0.0).count();
    assert!(zeros != 1 || info.missing.bits().len() == 4 || told.contains(&0.0), "{params:?}: one zero of two");
    let is_mark = |bits: u64| found.contains(&bits);
    for (v, r) in values.iter().zip(words_of(params.dtype, back, params.big_endian)) {
        let word = params.dtype.nearest(*v);
        assert!(is_mark(word) == is_mark(r), "{params:?}: {v} came back as {}", number(&r));
    }
}
