//! Profile `small`: what the page's decoder says of its streams, buffers that threads keep, what few bytes it takes,
//! and shapes of tiles. The rest is in tests/streams/interp.rs.

use crate::{reference, vectors};
use reference::builder::seal;
use sleek::{Bound, DType, Dims, Mode, Params, Profile};
use vectors::{Random, exact};

fn params(dtype: DType, bound: Bound, lens: &[u64]) -> Params {
    let dims = Dims::new(lens).unwrap();
    Params { profile: Profile::Small, dims, ..Params::new(dtype).with_bound(bound) }
}

fn checked(params: &Params, data: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let stream = sleek::compress(params, data).unwrap();
    let back = sleek::decompress(&stream).unwrap();
    let info = sleek::inspect(&stream).unwrap();
    assert_eq!((info.codec, info.profile), (5, Profile::Small));
    exact::judge(params, info.abs_bound, data, &back).unwrap_or_else(|error| panic!("{error}"));
    (stream, back)
}

fn modes(dtype: DType) -> Vec<Bound> {
    match dtype.is_float() {
        true => vec![Bound::Lossless, Bound::Abs(0.05), Bound::noa(1e-5), Bound::Rel(0.01)],
        false => vec![Bound::Lossless],
    }
}

const SHAPES: [&[u64]; 9] =
    [&[1], &[130], &[700], &[20000], &[130, 131], &[3, 5000], &[40, 33, 35], &[3, 5, 7, 40], &[2, 1, 9, 1, 30, 31]];

/// The page's decoder, which shares no code with ours, reads the same; and what came back compresses to itself.
#[test]
fn the_page_says_the_same() {
    for dtype in DType::ALL {
        for bound in modes(dtype) {
            for (k, shape) in SHAPES.into_iter().enumerate() {
                let generator = ["walk", "signed", "specials", "noise"][(k + dtype as usize) % 4];
                let params = Params { big_endian: k % 3 == 1, ..params(dtype, bound, shape) };
                let data = vectors::bytes(generator, dtype, k as u64, params.dims.count() as usize, params.big_endian);
                let (stream, back) = checked(&params, &data);
                let read = reference::decode(&stream).unwrap_or_else(|e| panic!("{params:?} {generator}: {e}"));
                assert!(read == back, "{params:?} {generator}");
                let abs = params.clone().with_bound(Bound::Abs(sleek::inspect(&stream).unwrap().abs_bound));
                let again = if bound.mode() == Mode::Noa { abs } else { params };
                assert!(checked(&again, &back).1 == back, "{again:?} {generator}");
            }
        }
    }
}

/// A thread keeps its buffers from array to array, of damaged streams too: they change no byte.
#[test]
fn buffers_that_a_thread_keeps_change_nothing() {
    for (k, dtype) in DType::ALL.into_iter().enumerate() {
        for bound in modes(dtype) {
            for shape in SHAPES {
                let params = params(dtype, bound, shape);
                let data = vectors::bytes("walk", dtype, k as u64, params.dims.count() as usize, false);
                let (stream, back) = checked(&params, &data);
                let mut damaged = stream.clone();
                let at = damaged.len() * 3 / 4;
                damaged[at] ^= 0x55;
                seal(&mut damaged);
                let _ = sleek::decompress(&damaged);
                let fresh = std::thread::spawn(move || checked(&params, &data)).join().unwrap();
                assert!(fresh == (stream.clone(), back.clone()), "{dtype:?} {bound:?} {shape:?}");
                assert!(sleek::decompress(&stream).unwrap() == back, "{dtype:?} {bound:?} {shape:?}");
            }
        }
    }
}

/// Tiles that are all the same, and smooth ones, cost next to nothing.
#[test]
fn what_is_predicted_takes_no_bytes() {
    let lens = [64u64, 64, 64];
    let params = params(DType::F32, Bound::Abs(0.25), &lens);
    let plane = |i: u64| (i % 64) as f32 + (i / 64 % 64) as f32 * 3.0 - (i / 4096) as f32;
    let data: Vec<u8> = (0..64 * 64 * 64).flat_map(|i| plane(i).to_le_bytes()).collect();
    let (stream, _) = checked(&params, &data);
    // Whole numbers that are multiples of the fine lattice, one of 67 here, have to stay what they are.
    assert!(stream.len() < data.len() / 140, "{} bytes", stream.len());
    let (stream, _) = checked(&params, &vec![0; data.len()]);
    assert!(stream.len() < 500, "{} bytes", stream.len());
}

/// Words of any order take what they say and no more: of 40 that are as frequent 5.3 bits, not the 6 of differences.
/// Components of vectors are not mixed.
#[test]
fn words_of_any_order_are_measured_from_their_middle() {
    let random = &mut Random(5);
    let n = 40_000;
    let data: Vec<u8> = (0..n).flat_map(|_| (random.below(40) as f32).to_le_bytes()).collect();
    let (stream, _) = checked(&params(DType::F32, Bound::Abs(0.5), &[n]), &data);
    assert!(stream.len() < n as usize * 56 / 80, "{} bytes", stream.len());
    let of = |most: u64, random: &mut Random| -> Vec<u8> {
        (0..n).flat_map(|_| (1e4 * most as f32 + random.below(most) as f32).to_le_bytes()).collect()
    };
    let parts = [3, 100, 1].map(|most| of(most, random));
    let apart =
        parts.iter().map(|part| checked(&params(DType::F32, Bound::Abs(0.5), &[n]), part).0.len()).sum::<usize>();
    let (stream, _) = checked(&params(DType::F32, Bound::Abs(0.5), &[3, n]), &parts.concat());
    assert!(stream.len() < apart, "{} bytes, {apart} apart", stream.len());
}

/// Few bins, whose middle is near all of them, are no words of any order yet: differences are shorter still.
#[test]
fn few_bins_with_an_order_are_predicted() {
    let value = |i: u64| 1.5 * ((i % 256) as f32 / 40.0).sin() * ((i / 256) as f32 / 30.0).cos();
    let data: Vec<u8> = (0..256 * 256).flat_map(|i| value(i).to_le_bytes()).collect();
    let (stream, _) = checked(&params(DType::F32, Bound::Abs(0.5), &[256, 256]), &data);
    assert!(stream.len() < 2500, "{} bytes", stream.len());
}

/// Rows that differ from zero where a first look at a tile does not see them, but for one value.
#[test]
fn axes_are_chosen_by_a_second_look_where_little_is_seen() {
    let row = |y: u64, x: u64| match y % 8 == (y / 8 % 8) ^ 4 {
        true => (x / 4) as f32,
        false => f32::from(u8::from((x, y) == (5, 0))),
    };
    let data: Vec<u8> = (0..128 * 128).flat_map(|i| row(i / 128, i % 128).to_le_bytes()).collect();
    let (stream, _) = checked(&params(DType::F32, Bound::Abs(0.25), &[128, 128]), &data);
    // Without differences 16 rows would take 5 bits a value, which are 1280 bytes.
    assert!(stream.len() < 900, "{} bytes", stream.len());
}

/// Dimensions of one element change nothing but their own entries, and rank 32 is as good as any.
#[test]
fn dimensions_of_one_element_are_passed_over() {
    let data = vectors::bytes("walk", DType::F64, 3, 40 * 50 * 20, false);
    let bodies = |lens: &[u64]| {
        let stream = checked(&params(DType::F64, Bound::Abs(1e-3), lens), &data).0;
        stream[reference::container(&stream).unwrap().bodies_at as usize..].to_vec()
    };
    let plain = bodies(&[40, 50, 20]);
    assert!(bodies(&[1, 40, 1, 1, 50, 20, 1]) == plain);
    let mut deep = [1; 32];
    (deep[3], deep[17], deep[31]) = (40, 50, 20);
    assert!(bodies(&deep) == plain);
}

#[test]
fn every_simd_level_says_the_same() {
    let alike = [
        "small::the_page",
        "small::what_is_predicted",
        "small::dimensions_of_one",
        "small::words_of_any",
        "small::axes_are",
        "small::few_bins",
    ];
    vectors::levels::at_lower_levels(&alike);
}
