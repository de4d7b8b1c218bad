//! Codec ratio: its kernels restore lossless tiles of every form as the CPU does, and refuse the same ones.

use std::collections::BTreeSet;
use std::ptr::null_mut;

use sleek::route::batch::{self, Item};
use sleek::{DType, Device, MissingValue, MissingValues, Params, Profile, route};

use crate::common;
use crate::forms::{KINDS, form_name, forms, params, words};
use crate::reference;
use crate::reference::builder::seal;
use crate::shim::{Memory, Shim};
use crate::vectors::{self, Random};

/// Restores a stream by kernels alone: what they give, or that they refuse it. Nothing is written beyond the array.
fn restored(shim: &'static Shim, stream: &[u8], bytes: usize, offset: usize) -> Option<Vec<u8>> {
    let (src, dst) = (shim.upload(0, stream, 0), shim.allocate(0, bytes + offset + 64));
    let done =
        unsafe { route::decompress(Device::Cuda, src.at(0), stream.len(), None, dst.at(offset), bytes, null_mut()) };
    assert!(dst.read(bytes + offset, 64).iter().all(|b| *b == 0xA5), "written beyond the end");
    match done {
        Ok(n) => Some(dst.read(offset, n)),
        Err(e) => {
            assert_eq!(e.kind, sleek::Kind::Corrupt, "{e}");
            None
        }
    }
}

/// Lines and tiles of one to three axes and several dimensions on one, whole and cut off, narrow ones.
const SHAPES: [&[u64]; 10] = [
    &[5000],
    &[1 << 14],
    &[130, 131],
    &[3, 2100],
    &[9, 30, 17],
    &[32, 32, 16],
    &[2600, 2],
    &[5, 6, 7, 8, 4],
    &[31],
    &[128, 128],
];

/// All types, kinds of data and shapes, in both byte orders, at odd places, with missing values; a range and a box.
#[test]
fn every_form_is_restored() {
    let (shim, _turn) = Shim::get();
    let mut seen = BTreeSet::new();
    let mut round = 0usize;
    for dtype in DType::ALL {
        for kind in KINDS.into_iter().filter(|kind| dtype.is_float() || *kind != "decimals") {
            for _ in 0..if common::short() { 2 } else { 3 } {
                round += 1;
                let lens = SHAPES[(round + round / 13) % SHAPES.len()];
                let p = Params { big_endian: round % 4 == 3, ..params(dtype, lens) };
                let n = p.dims.count() as usize;
                let words = words(kind, dtype, n);
                let missing = [words[n / 2], words[n / 3]].map(MissingValue::Bits);
                let named =
                    if dtype.is_float() && round % 3 == 1 && missing[0] != missing[1] { &missing[..] } else { &[] };
                let p = Params { missing: MissingValues::of(named).unwrap(), ..p };
                let data = vectors::to_bytes(dtype, &words, p.big_endian);
                let stream = sleek::compress(&p, &data).unwrap();
                shim.set([2, 1, 3][round % 3], round as u32 % 5);
                let (size, what) = (dtype.size(), format!("{dtype:?} {kind} {lens:?} {named:?}"));
                let offset = if round % 5 == 2 { size } else { 0 };
                assert!(restored(shim, &stream, data.len(), offset).expect(&what) == data, "{what}");
                seen.extend(forms(&stream).into_iter().map(form_name));
                if round.is_multiple_of(2) {
                    part(shim, &stream, lens, size, &data, round as u64);
                }
            }
        }
    }
    for form in [
        "numbers axes",
        "numbers axes table",
        "numbers axes table low",
        "numbers symbols table",
        "numbers symbols table low",
        "magnitudes symbols table low",
        "numbers lags",
        "decimals axes table",
        "decimals axes table low",
        "ranks symbols table",
    ] {
        assert!(seen.contains(form), "no {form:?} among {seen:?}");
    }
}

/// A range and a box of an array.
fn part(shim: &'static Shim, stream: &[u8], lens: &[u64], size: usize, data: &[u8], seed: u64) {
    let random = &mut Random(seed);
    let count = (data.len() / size) as u64;
    let src = shim.upload(0, stream, 0);
    let first = random.below(count);
    let n = random.below(count - first + 1) as usize;
    let back = shim.allocate(0, n * size + 64);
    let range = Some((first, n));
    let done =
        unsafe { route::decompress(Device::Cuda, src.at(0), stream.len(), range, back.at(0), n * size, null_mut()) };
    assert_eq!(done.unwrap(), n * size);
    assert!(back.read(0, n * size) == data[first as usize * size..][..n * size], "{lens:?} {first} {n}");
    let start: Vec<u64> = lens.iter().map(|len| random.below(*len)).collect();
    let part: Vec<u64> = lens.iter().zip(&start).map(|(len, s)| random.below(len - s) + 1).collect();
    let mut expected = vec![0; part.iter().product::<u64>() as usize * size];
    sleek::decompress_box_into(stream, &start, &part, &mut expected).unwrap();
    let boxed = shim.allocate(0, expected.len() + 64);
    let done = unsafe {
        route::decompress_box(src.at(0), stream.len(), &start, &part, boxed.at(0), expected.len(), null_mut())
    };
    assert_eq!(done.unwrap(), expected.len());
    assert!(boxed.read(0, expected.len()) == expected, "{lens:?} {start:?} {part:?}");
    assert!(back.read(n * size, 64).iter().chain(&boxed.read(expected.len(), 64)).all(|b| *b == 0xA5), "{lens:?}");
}

/// Some tensors in one launch, and a part of one, without the host waiting for anything.
#[test]
fn lossless_batches_are_restored() {
    let (shim, _turn) = Shim::get();
    for (dtype, kind) in [(DType::BF16, "weights"), (DType::F32, "smooth"), (DType::F64, "repeats")] {
        let counts = [3000usize, 0, 17, 1 << 14, 20_000];
        let arrays = counts.map(|n| vectors::to_bytes(dtype, &words(kind, dtype, n), false));
        let p = Params { profile: Profile::Small, ..Params::new(dtype) };
        let streams: Vec<Vec<u8>> = arrays.iter().map(|bytes| sleek::compress(&p, bytes).unwrap()).collect();
        let src: Vec<Memory> = streams.iter().map(|stream| shim.upload(0, stream, 0)).collect();
        let back: Vec<Memory> = arrays.iter().map(|bytes| shim.allocate(0, bytes.len() + 64)).collect();
        let items: Vec<Item> = (0..arrays.len())
            .map(|i| Item::new(src[i].at(0), back[i].at(0), counts[i] as u64, streams[i].len() as u64))
            .collect();
        let n = arrays.len();
        let (results, workspace) = (shim.allocate(0, 16 * n), shim.allocate(0, batch::workspace_bytes(n)));
        let (to, w) = (results.at(0), workspace.at(0));
        route::prepare(&p, 0, null_mut()).unwrap();
        let waits = shim.number("shim_waits");
        unsafe { batch::decompress_async(&p, &items, to, w, null_mut()).unwrap() };
        for (i, bytes) in arrays.iter().enumerate() {
            assert_eq!(results.read(16 * i + 8, 4), [0; 4], "{dtype:?} {i}");
            assert!(back[i].read(0, bytes.len()) == *bytes, "{dtype:?} {i}");
            assert!(back[i].read(bytes.len(), 64).iter().all(|b| *b == 0xA5), "{dtype:?} {i}");
        }
        let last = &arrays[4];
        let bytes = 9000 * dtype.size();
        let part = shim.allocate(0, bytes);
        let all = streams[4].len();
        unsafe {
            route::decompress_async(&p, src[4].at(0), all, part.at(0), (10_000, 9000), to, w, null_mut()).unwrap();
        }
        assert_eq!(results.read(8, 4), [0; 4]);
        assert!(part.read(0, bytes) == last[10_000 * dtype.size()..][..bytes], "{dtype:?}");
        assert_eq!(shim.number("shim_waits"), waits);
    }
}

/// Golden streams of all forms, and of tensors.
#[test]
fn golden_forms_are_restored() {
    let (shim, _turn) = Shim::get();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/lossless");
    let mut n = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let stream = std::fs::read(entry.unwrap().path()).unwrap();
        let data = sleek::decompress(&stream).unwrap();
        assert!(restored(shim, &stream, data.len(), 0).unwrap() == data);
        n += 1;
    }
    assert!(n >= 7, "{n} streams");
}

/// Tiles whose form says something else than what they were made of, behind valid checksums: every order with every
/// prediction that goes with the rest of a tile; and changed bits anywhere.
#[test]
fn hostile_forms_get_the_verdict_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    let random = &mut Random(11);
    let cases: [(DType, &str, &[u64]); 8] = [
        (DType::F32, "decimals", &[9, 170]),
        (DType::F64, "repeats", &[1500]),
        (DType::BF16, "pruned", &[1500]),
        (DType::BF16, "weights", &[16, 128]),
        (DType::U8, "few", &[1500]),
        (DType::F32, "smooth", &[13, 11, 10]),
        (DType::F32, "levels", &[2, 750]),
        (DType::F64, "table", &[17, 90]),
    ];
    let (mut taken, mut refused) = (0, 0);
    for (case, (dtype, kind, lens)) in cases.into_iter().enumerate() {
        let params = params(dtype, lens);
        let data = vectors::to_bytes(dtype, &words(kind, dtype, params.dims.count() as usize), false);
        let sound = sleek::compress(&params, &data).unwrap();
        let head = reference::container(&sound).unwrap().bodies_at as usize;
        // Bits 6 to 10 of the form, then anything.
        let forms = (0..32u16).map(|bits| {
            let mut stream = sound.clone();
            let form = u16::from_le_bytes([stream[head + 4], stream[head + 5]]) & 0xf83f | bits << 6;
            stream[head + 4..head + 6].copy_from_slice(&form.to_le_bytes());
            stream
        });
        let rounds = if common::short() { 60 } else { 150 };
        let damaged = (0..rounds).map(|k| {
            let mut stream = sound.clone();
            let room = ((stream.len() - head) as u64).min([6, 40, 300, u64::MAX][k % 4]);
            for _ in 0..1 + random.below(3) {
                stream[head + random.below(room) as usize] ^= 1 << random.below(8);
            }
            stream
        });
        for (k, mut stream) in forms.chain(damaged).enumerate() {
            seal(&mut stream);
            shim.set(1 + k as u32 % 2, k as u32 % 5);
            let (ours, cpu) = (restored(shim, &stream, data.len(), 0), sleek::decompress(&stream));
            assert_eq!(ours.is_some(), cpu.is_ok(), "{dtype:?} {kind} {k}: {:?}", cpu.err());
            assert!(ours == cpu.ok(), "{dtype:?} {kind} {k}: restored differently");
            *if ours.is_some() { &mut taken } else { &mut refused } += 1;
        }
        assert!(taken > case, "{dtype:?} {kind}: no change is taken");
    }
    assert!(refused > 200, "{taken} taken, {refused} refused");
}
