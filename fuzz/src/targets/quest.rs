//! Requests for a ratio, a size or a PSNR: the bound that is found meets them; what is refused cannot be met without a
//! loss of nothing, and says what can.

use super::Input;
use crate::vectors::{exact, words_of};
use sleek::advise::{Target, find_bound};
use sleek::{DType, Dims, Kind, MissingValues, Params};

/// A target of any kind; most are such as people ask for.
fn target(input: &mut Input, bytes: usize) -> Target {
    let [kind, odd, number] = input.bytes();
    let share = f64::from(number) / 256.0;
    let any = |usual: f64, input: &mut Input| if odd == 0 { input.f64() } else { usual };
    match kind % 6 {
        0 | 1 => Target::Ratio(any(0.5 + 20.0 * share, input)),
        2 => Target::Size((bytes as f64 * any(share, input)) as u64),
        3 | 4 => Target::Psnr(any(200.0 * share, input)),
        _ => Target::Ssim(any(share.sqrt(), input)),
    }
}

fn numbers(params: &Params, bytes: &[u8]) -> Vec<f64> {
    let words = words_of(params.dtype, bytes, params.big_endian);
    words.into_iter().map(|word| params.dtype.number(word)).collect()
}

/// In dB, of all numbers but the `marks`; `None` where numbers are so large or small that squares are not.
fn psnr(values: &[f64], restored: &[f64], marks: &[f64]) -> Option<f64> {
    let counted: Vec<(f64, f64)> = values.iter().copied().zip(restored.iter().copied()).collect();
    let counted: Vec<_> = counted.into_iter().filter(|(v, _)| v.is_finite() && !marks.contains(v)).collect();
    let (low, high) = counted.iter().fold((f64::MAX, f64::MIN), |(low, high), (v, _)| (low.min(*v), high.max(*v)));
    let range = high - low;
    if !(1e-100..1e100).contains(&range) {
        return None;
    }
    let squares: f64 = counted.iter().map(|(v, r)| ((v - r) / range).powi(2)).sum();
    Some(-10.0 * (squares / counted.len() as f64).log10())
}

/// Runs the target.
pub fn run(bytes: &[u8]) {
    let mut input = Input(bytes);
    let mut params = input.params();
    if !params.dtype.is_float() {
        params.dtype = [DType::F32, DType::F64, DType::F16, DType::BF16][usize::from(input.u8() % 4)];
    }
    let repeats = 1 + usize::from(input.u8() % 16);
    let mut wanted = target(&mut input, 4096);
    let mut data = input.0.repeat(repeats.min(1 + (6 << 10) / input.0.len().max(1)));
    data.truncate(data.len() / params.dtype.size() * params.dtype.size());
    let count = (data.len() / params.dtype.size()) as u64;
    if count.is_multiple_of(8) && count > 0 {
        params.dims = Dims::new(&[count / 8, 8]).unwrap();
    }
    if let Target::Size(size) = wanted {
        wanted = Target::Size((u128::from(size) * data.len() as u128 / 4096) as u64);
    }
    let found = match find_bound(&params, &data, wanted) {
        Ok(found) => found,
        Err(error) => return refused(&params, &data, wanted, &error),
    };
    assert_eq!((found.dims, &found.missing), (params.dims, &params.missing));
    let stream = sleek::compress(&found, &data).unwrap();
    let back = sleek::decompress(&stream).unwrap();
    let info = sleek::inspect(&stream).unwrap();
    exact::judge(&found, info.abs_bound, &data, &back).unwrap_or_else(|error| panic!("{error}"));
    let marks: Vec<f64> = info.missing.bits().iter().map(|bits| params.dtype.number(*bits)).collect();
    let met = match wanted {
        Target::Ratio(ratio) => data.len() as f64 >= ratio * stream.len() as f64 * (1.0 - 1e-12) || data.is_empty(),
        Target::Size(size) => stream.len() as u64 <= size || data.is_empty(),
        // Found on the whole; one of many errors that are added in another order.
        Target::Psnr(db) => {
            let is = psnr(&numbers(&params, &data), &numbers(&params, &back), &marks);
            is.is_none_or(|is| is > db - 1e-6)
        }
        _ => true,
    };
    assert!(met, "{wanted}: {} bytes of {} by {found:?}", stream.len(), data.len());
}

/// No request is refused that lossless compression meets, and what is refused for itself says so.
fn refused(params: &Params, data: &[u8], wanted: Target, error: &sleek::Error) {
    assert!(matches!(error.kind, Kind::InvalidArgument | Kind::UnsupportedType), "{error}");
    if wanted.needs().is_some() || params.missing != MissingValues::of(&[]).unwrap() {
        return;
    }
    let Ok(stream) = sleek::compress(&params.clone().with_bound(sleek::Bound::Lossless), data) else { return };
    let met = match wanted {
        Target::Ratio(ratio) => data.len() as f64 >= ratio * stream.len() as f64 * (1.0 + 1e-12),
        Target::Size(size) => stream.len() as u64 <= size,
        _ => true,
    };
    assert!(!met, "{wanted}: lossless takes {} bytes of {}, but: {error}", stream.len(), data.len());
}
