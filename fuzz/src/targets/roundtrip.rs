//! Any data with any parameters: refused with a reason, or restored as promised, judged in exact arithmetic.

use super::Input;
use crate::vectors::{exact, words_of};
use sleek::{Mode, Params};

/// Least and greatest finite value that is not the fill value.
fn range(params: &Params, data: &[u8]) -> (f64, f64) {
    let words = words_of(params.dtype, data, params.big_endian);
    let values = words.into_iter().map(|w| exact::value(params.dtype, w));
    let values = values.filter(|v| v.is_finite() && Some(*v) != params.fill_number());
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)))
}

/// Runs the target.
pub fn run(bytes: &[u8]) {
    let mut input = Input(bytes);
    let params = input.params();
    // A few bytes make a long array by repetition: chunks fill up. Few are that long, since they take their time.
    let (repeats, long) = (usize::from(input.u8()), usize::from(input.u8()));
    let repeats = 1 + if long < 4 { repeats * (1 + long) } else { repeats % 8 };
    let data = input.0.repeat(repeats.min(1 + (40 << 10) / input.0.len().max(1)));
    let stream = match sleek::compress(&params, &data) {
        Ok(stream) => stream,
        Err(error) => {
            let whole = data.len().is_multiple_of(params.dtype.size());
            assert!(sleek::codec::chosen(&params).is_err() || !whole, "{error}");
            return super::refused();
        }
    };
    assert!(stream.len() <= sleek::compress_bound(&params, data.len() / params.dtype.size()).unwrap());
    let back = sleek::decompress(&stream).unwrap();
    // Parts of it are decoded too, which takes its time.
    if data.len() <= 20 << 10 {
        super::stream::judge(&stream, Ok(back.clone()));
    }
    let info = sleek::inspect(&stream).unwrap();
    if let Err(error) = exact::judge(&params, info.abs_bound, &data, &back) {
        panic!("{error}");
    }
    super::coded(data.len());
    if params.bound.mode() == Mode::Noa && info.abs_bound != 0.0 {
        let (lo, hi) = params.bound.range().map_or_else(|| range(&params, &data), |range| (0.0, range));
        assert!(exact::within_range(info.abs_bound, params.bound.number(), lo, hi), "{} {lo} {hi}", info.abs_bound);
    }
}
