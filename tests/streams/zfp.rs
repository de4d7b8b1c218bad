//! Codec zfp: what the page's decoder says of its streams, golden bytes, the bound where zfp's own does not hold,
//! hostile bodies, and the size of a rate.

use crate::{reference, vectors};
use reference::builder::seal;
use sleek::{Bound, DType, Dims, Mode, Params};
use vectors::{Random, exact};

const CODEC: u8 = 3;
const TYPES: [DType; 4] = [DType::F32, DType::F64, DType::I32, DType::I64];

fn params(dtype: DType, bound: Bound, lens: &[u64]) -> Params {
    Params { codec: CODEC, dims: Dims::new(lens).unwrap(), ..Params::new(dtype).with_bound(bound) }
}

fn checked(params: &Params, data: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let stream = sleek::compress(params, data).unwrap();
    let back = sleek::decompress(&stream).unwrap();
    let info = sleek::inspect(&stream).unwrap();
    assert_eq!((info.codec, info.mode), (CODEC, params.bound.mode()));
    exact::judge(params, info.abs_bound, data, &back).unwrap_or_else(|error| panic!("{error}"));
    (stream, back)
}

fn modes(dtype: DType) -> Vec<Bound> {
    let sizes = [Bound::Lossless, Bound::Rate(7.25), Bound::Rate(24.0), Bound::Precision(13)];
    let bounds = [Bound::Abs(0.05), Bound::Abs(1e-6), Bound::Abs(0.0)];
    sizes.into_iter().chain(bounds.into_iter().filter(|_| dtype.is_float())).collect()
}

const SHAPES: [&[u64]; 11] = [
    &[1],
    &[5],
    &[4099],
    &[9, 6],
    &[67, 131],
    &[3, 700],
    &[17, 18, 19],
    &[40, 3, 5],
    &[9, 10, 6, 7],
    &[2, 9, 1, 13, 8],
    &[4, 5, 4, 6, 5],
];

/// The page's decoder, which shares no code with ours, reads the same.
#[test]
fn the_page_says_the_same() {
    for dtype in TYPES {
        for bound in modes(dtype) {
            for (k, shape) in SHAPES.into_iter().enumerate() {
                for generator in ["walk", ["signed", "specials", "noise", "decades"][k % 4]] {
                    let params = Params { big_endian: k % 3 == 1, ..params(dtype, bound, shape) };
                    let count = params.dims.count() as usize;
                    let data = vectors::bytes(generator, dtype, k as u64, count, params.big_endian);
                    let (stream, back) = checked(&params, &data);
                    let read = reference::decode(&stream).unwrap_or_else(|e| panic!("{params:?} {generator}: {e}"));
                    assert!(read == back, "{params:?} {generator}");
                }
            }
        }
    }
}

/// Name, type, mode, its number and shape of each golden stream.
const GOLDEN: [(&str, DType, Bound, &[u64]); 19] = [
    ("f32-abs", DType::F32, Bound::Abs(0.01), &[21, 18]),
    ("f32-abs-infinite", DType::F32, Bound::Abs(1e-2), &[100]),
    ("f32-rate", DType::F32, Bound::Rate(9.5), &[10, 9, 7]),
    ("f32-precision", DType::F32, Bound::Precision(14), &[5, 6, 7, 3]),
    ("f32-lossless", DType::F32, Bound::Lossless, &[130]),
    ("f32-abs-zeros", DType::F32, Bound::Abs(1e-2), &[70]),
    ("f32-rate-zeros", DType::F32, Bound::Rate(11.0), &[70]),
    ("f64-lossless-zeros", DType::F64, Bound::Lossless, &[70]),
    ("f32-abs-found", DType::F32, Bound::Abs(1e-2), &[12, 30]),
    ("f64-precision-found", DType::F64, Bound::Precision(20), &[200]),
    ("f64-abs", DType::F64, Bound::Abs(1e-4), &[5, 4, 7, 6]),
    ("f64-rate", DType::F64, Bound::Rate(16.0), &[70]),
    ("f64-lossless", DType::F64, Bound::Lossless, &[12, 3, 11]),
    ("f64-abs-big-endian", DType::F64, Bound::Abs(0.01), &[6, 5, 7]),
    ("f32-lossless-raw", DType::F32, Bound::Lossless, &[9, 11]),
    ("i32-rate", DType::I32, Bound::Rate(7.0), &[9, 9]),
    ("i32-lossless", DType::I32, Bound::Lossless, &[6, 7, 8]),
    ("i64-precision", DType::I64, Bound::Precision(22), &[2, 9, 8]),
    ("i64-lossless", DType::I64, Bound::Lossless, &[5, 5, 5, 5]),
];

/// `SLEEK_UPDATE=1` rewrites them; never for a format that was released.
#[test]
fn golden_streams_do_not_change() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/zfp");
    for (name, dtype, bound, lens) in GOLDEN {
        let big_endian = name.ends_with("big-endian");
        let params = Params { big_endian, find_fill: Some(!name.ends_with("infinite")), ..params(dtype, bound, lens) };
        let generator = if name.ends_with("raw") { "noise" } else { "walk" };
        let mut words = vectors::words(generator, dtype, 6, params.dims.count() as usize);
        if name == "f32-abs-infinite" {
            words[50] = dtype.nearest(f64::INFINITY);
        }
        if name.ends_with("zeros") {
            words[16..28].fill(0); // three whole blocks
        }
        if name.ends_with("found") {
            words[40..90].fill(dtype.nearest(-9999.0));
        }
        let (stream, back) = checked(&params, &vectors::to_bytes(dtype, &words, big_endian));
        let path = folder.join(format!("{name}.slk"));
        if std::env::var_os("SLEEK_UPDATE").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, &stream).unwrap();
        }
        let golden = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(stream == golden, "{name}: the encoder writes other bytes");
        assert!(reference::decode(&golden).unwrap() == back, "{name}");
        assert_eq!(has_own_parameters(&golden), name == "f32-abs-infinite", "{name}");
    }
}

/// Values at which zfp by itself breaks its bound: near the last place, of very different magnitude, tiny, not finite.
#[test]
fn bounds_hold_where_zfp_breaks_them() {
    let random = &mut Random(77);
    let mut own = 0;
    for round in 0..400 {
        let dtype = [DType::F32, DType::F64][round % 2];
        let (mantissa, _) = vectors::float_layout(dtype).unwrap();
        let specials = vectors::specials(dtype);
        let scale = [0, 8, -60, -90, 60][round / 2 % 5];
        let words: Vec<u64> = (0..4096 + 130)
            .map(|i| match random.below(400) {
                0 if round % 3 == 0 => specials[random.below(specials.len() as u64) as usize],
                1 if round % 5 == 0 => random.next() & vectors::mask(dtype),
                _ => dtype.nearest(
                    (100.0 * (i as f64 * 0.01).sin() + random.around(1000) as f64 / 900.0) * exact::power(scale),
                ),
            })
            .collect();
        // From half a unit of the largest values to a great many.
        let bound =
            exact::power(scale + 6 - mantissa as i32 + random.below(18) as i32) * (1.0 + 0.1 * (round % 7) as f64);
        let lens: [&[u64]; 4] = [&[4226], &[2, 2113], &[2, 2113], &[2113, 2]];
        let (stream, _) =
            checked(&params(dtype, Bound::Abs(bound), lens[round % 4]), &vectors::to_bytes(dtype, &words, false));
        own += u64::from(has_own_parameters(&stream));
    }
    assert!(own > 50, "{own} streams with tiles that have parameters of their own");
}

/// Whether a packed tile of the stream has parameters of its own.
fn has_own_parameters(stream: &[u8]) -> bool {
    let container = reference::container(stream).unwrap();
    (0..container.chunks).any(|c| matches!(container.entry(stream, c), Ok((0, bytes)) if bytes % 8 == 4))
}

/// A rate is what tiles take: blocks times their bits.
#[test]
fn a_rate_is_a_size() {
    for dtype in TYPES {
        for (lens, blocks) in [(&[4096u64 * 3][..], 1024u64), (&[128, 192], 256), (&[32, 32, 48], 64), (&[16; 4], 16)] {
            for rate in [4.0, 8.5, 16.0] {
                let params = params(dtype, Bound::Rate(rate), lens);
                let count = params.dims.count();
                let (stream, _) = checked(&params, &vectors::bytes("walk", dtype, 2, count as usize, false));
                let container = reference::container(&stream).unwrap();
                let bits = ((4096 / blocks) as f64 * rate + 0.5).floor() as u64;
                let bits = bits.max(if !dtype.is_float() {
                    1
                } else if dtype == DType::F32 {
                    9
                } else {
                    12
                });
                let expected = container.bodies_at + container.chunks * (blocks * bits).div_ceil(64) * 8;
                assert_eq!(stream.len() as u64, expected, "{dtype:?} {lens:?} {rate}");
            }
        }
    }
    let low = sleek::compress(&params(DType::I32, Bound::Rate(0.1), &[64]), &[0; 256]).unwrap_err();
    assert!(low.message.contains("rate 0.1") && low.message.contains("no bit"), "{low}");
}

/// Behind valid checksums a body may say anything.
#[test]
fn hostile_bodies_do_no_harm() {
    let random = &mut Random(5);
    let (mut taken, mut refused) = (0, 0);
    let cases = [
        (DType::F32, Bound::Abs(1e-3), &[3000u64][..]),
        (DType::F64, Bound::Rate(9.0), &[60, 70]),
        (DType::I32, Bound::Lossless, &[9, 20, 30]),
        (DType::F64, Bound::Lossless, &[9, 8, 7, 6]),
        (DType::I64, Bound::Precision(20), &[9, 8, 7, 6]),
        (DType::F32, Bound::Abs(1e-6), &[30, 31]),
    ];
    for (dtype, bound, lens) in cases {
        let params = params(dtype, bound, lens);
        let data = vectors::bytes("walk", dtype, 1, params.dims.count() as usize, false);
        let (stream, _) = checked(&params, &data);
        let head = reference::container(&stream).unwrap().bodies_at as usize;
        for k in 0..400 {
            let mut damaged = stream.clone();
            let body = (stream.len() - head) as u64;
            let room = if k % 2 == 0 { body.min(40) } else { body };
            for _ in 0..1 + random.below(3) {
                damaged[head + random.below(room) as usize] ^= 1 << random.below(8);
            }
            if k % 5 == 0 {
                damaged[12 + random.below(4) as usize] ^= 1 << random.below(8);
            }
            seal(&mut damaged);
            let ours = sleek::decompress(&damaged);
            let page = reference::decode(&damaged);
            assert_eq!(ours.is_ok(), page.is_ok(), "{dtype:?} {k}: {:?} {:?}", ours.err(), page.err());
            match (ours, page) {
                (Ok(ours), Ok(page)) => {
                    // NaN that arithmetic makes have no certain bits.
                    let alike = |(a, b): (&u64, &u64)| a == b || dtype.number(*a).is_nan() && dtype.number(*b).is_nan();
                    let (ours, page) = (vectors::to_words(dtype, &ours), vectors::to_words(dtype, &page));
                    assert!(ours.iter().zip(&page).all(alike), "{dtype:?} {k}");
                    taken += 1;
                }
                _ => refused += 1,
            }
        }
    }
    assert!(taken > 100 && refused > 500, "{taken} taken, {refused} refused");
}

/// Undeclared fill values come back bit for bit under a precision too, and an array of two numbers is exact.
/// Under a rate nothing is searched for.
#[test]
fn marks_are_found_where_no_size_is_asked_for() {
    for dtype in [DType::F32, DType::F64] {
        let (mark, number) = (dtype.nearest(-9999.0), |word: u64| dtype.number(word));
        let mut words = vectors::words("walk", dtype, 3, 9000);
        words[4000..4700].fill(mark);
        words[8000] = mark;
        for (k, bound) in [Bound::Precision(14), Bound::Abs(0.01), Bound::Rate(8.0)].into_iter().enumerate() {
            let params = Params { big_endian: k == 1, find_fill: Some(true), ..params(dtype, bound, &[90, 100]) };
            let data = vectors::to_bytes(dtype, &words, params.big_endian);
            let (stream, back) = checked(&params, &data);
            let found = sleek::inspect(&stream).unwrap().missing.found();
            assert_eq!(found, usize::from(bound.mode() != Mode::Rate), "{params:?}");
            if found > 0 {
                assert!(reference::decode(&stream).unwrap() == back, "{params:?}");
                for (v, r) in words.iter().zip(vectors::words_of(dtype, &back, params.big_endian)) {
                    assert!(if *v == mark { r == mark } else { number(r) != number(mark) }, "{v:x} {r:x}");
                }
            }
        }
        let two: Vec<u64> = (0..900).map(|i| if i % 7 < 3 { mark } else { dtype.nearest(0.1) }).collect();
        let data = vectors::to_bytes(dtype, &two, false);
        for bound in [Bound::Precision(9), Bound::Abs(0.5)] {
            let params = Params { find_fill: Some(true), ..params(dtype, bound, &[30, 30]) };
            assert!(checked(&params, &data).1 == data, "{bound:?}");
        }
    }
}
