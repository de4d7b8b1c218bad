//! `gpu check` and its parts: bytes of the GPU beside those of the CPU.

use sleek::Dims;

use super::*;

/// A field's bounds in every way: none, sizes, shares of its range, and the same as absolute ones.
fn bounds(field: &Field) -> Vec<Bound> {
    // What does not count for the range is not in it.
    let fills: Vec<f64> = field.fill.into_iter().collect();
    let range = value_range(field.dtype, false, &fills, &field.bytes).map_or(1.0, |(min, max)| max - min);
    let range = range.max(f64::MIN_POSITIVE);
    let shares = SHARES.map(|share| Bound::Noa { share, range: Some(range) });
    let abs = [1e-1, 1e-3, 1e-6].map(|share| Bound::Abs(share * range));
    [Bound::Lossless, Bound::Rate(8.0), Bound::Precision(17)].into_iter().chain(shares).chain(abs).collect()
}

/// What is asked of an array with these dimensions: each of the bounds that a profile or codec zfp takes.
fn requests(dtype: DType, lens: &[u64], bounds: &[Bound]) -> Vec<Params> {
    let dims = Dims::new(lens).unwrap();
    let profiles = Profile::ALL.map(|profile| Params { profile, dims, ..Params::new(dtype) });
    let coders = profiles.into_iter().chain([Params { codec: 3, dims, ..Params::new(dtype) }]);
    let of_coder = |p: Params| bounds.iter().map(move |bound| p.clone().with_bound(*bound));
    coders.flat_map(of_coder).filter(|p| sleek::codec::chosen(p).is_ok()).collect()
}

/// Both paths on one array: the same stream, the same array back from it, and parts and previews; `None` if there are
/// no kernels for it.
pub fn compare(p: &Params, bytes: &[u8], offset: usize, what: &str) -> Option<Vec<u8>> {
    let count = bytes.len() / p.dtype.size();
    let expected = sleek::compress(p, bytes).unwrap();
    let room = sleek::compress_bound(p, count).unwrap();
    let (src, dst, back) =
        (Memory::of(&[&vec![0; offset], bytes].concat()), Memory::new(room), Memory::new(bytes.len() + offset + 64));
    let by_kernels = Params { device: Device::Cuda, ..p.clone() };
    let done = unsafe { route::compress(&by_kernels, src.at(offset), count, dst.at(0), room, null_mut()) };
    if done.as_ref().is_err_and(|e| e.message.contains("has no kernels for")) {
        return None;
    }
    let n = done.unwrap_or_else(|e| panic!("{what} {p:?}: {e}"));
    same(&dst.read(0, n), &expected, || format!("{what} {p:?}: the stream"));
    let restored = sleek::decompress(&expected).unwrap();
    let done = unsafe { route::decompress(Device::Cuda, dst.at(0), n, None, back.at(offset), bytes.len(), null_mut()) };
    assert_eq!(done.unwrap_or_else(|e| panic!("{what} {p:?}: {e}")), bytes.len());
    same(&back.read(offset, bytes.len()), &restored, || format!("{what} {p:?}: the array"));
    untouched(&back, offset + bytes.len());
    parts(p, &expected, &restored, &dst);
    Some(restored)
}

fn same(got: &[u8], expected: &[u8], what: impl Fn() -> String) {
    let at = got.iter().zip(expected).position(|(a, b)| a != b);
    let lengths = (got.len(), expected.len());
    assert!(got == expected, "{} is another one from byte {at:?} on, {lengths:?}", what());
}

/// Nothing is written behind what was asked for.
fn untouched(memory: &Memory, end: usize) {
    assert!(memory.read(end, 64).iter().all(|b| *b == 0xA5), "written beyond the end");
}

/// A range, a box, and previews of the whole and of the box are those of the CPU.
fn parts(p: &Params, stream: &[u8], restored: &[u8], src: &Memory) {
    let (r, size) = (&mut Random(stream.len() as u64), p.dtype.size());
    let count = (restored.len() / size) as u64;
    let first = r.below(count + 1);
    let range = (first, r.below(count - first + 1) as usize);
    let offset = [0, size][r.below(2) as usize];
    let back = Memory::new(offset + range.1 * size + 64);
    let from = (src.at(0).cast_const(), stream.len());
    let to = (back.at(offset), range.1 * size);
    let done = unsafe { route::decompress(Device::Cuda, from.0, from.1, Some(range), to.0, to.1, null_mut()) };
    assert_eq!(done.unwrap_or_else(|e| panic!("{p:?}: {e}")), to.1);
    same(&back.read(offset, to.1), &restored[first as usize * size..][..to.1], || format!("{p:?}: {range:?}"));
    untouched(&back, offset + to.1);
    let lens = if p.dims.rank() == 0 { vec![count] } else { p.dims.lens().to_vec() };
    let start: Vec<u64> = lens.iter().map(|len| r.below(*len + 1)).collect();
    let sides: Vec<u64> = lens.iter().zip(&start).map(|(len, at)| r.below(len - at + 1)).collect();
    let some = Some((&start[..], &sides[..]));
    for (level, part) in [(0, some), (1 + r.below(5) as u32, some), (1 + r.below(5) as u32, None)] {
        let mut expected = vec![0; restored.len()];
        let n = sleek::decompress_coarse_into(stream, level, part, &mut expected).unwrap();
        let back = Memory::new(n + 64);
        let done = unsafe { route::decompress_coarse(from, level, part, (back.at(0), n), null_mut()) };
        assert_eq!(done.unwrap_or_else(|e| panic!("{p:?}: {e}")), n);
        same(&back.read(0, n), &expected[..n], || format!("{p:?}: level {level} of {part:?}"));
        untouched(&back, n);
    }
}

/// Bits that no field has: random words cut to a random width per stretch, with runs, specials and outliers.
fn odd(bytes: usize, r: &mut Random) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes + 8);
    let (mut left, mut keep, mut base) = (0u64, 0u64, 0u64);
    while out.len() < bytes {
        if left == 0 {
            left = r.below(900) + 1;
            keep = u64::MAX >> r.below(64);
            base = if r.below(3) == 0 { 0 } else { r.next() };
        }
        left -= 1;
        let outlier = if r.below(97) == 0 { r.next() } else { 0 };
        out.extend_from_slice(&(base.wrapping_add((r.next() & keep) ^ outlier)).to_le_bytes());
    }
    out.truncate(bytes);
    out
}

/// Elements of some kind: odd bits; bits that grow along a row, or fall; waves with a little noise.
fn elements(round: usize, dtype: DType, count: usize, r: &mut Random) -> Vec<u8> {
    let width = 8 * dtype.size() as u32;
    if round % 4 < 2 {
        return odd(count * dtype.size(), r);
    }
    let step = (r.next() >> (64 - width / 2)) as i64 * if round % 5 == 4 { -1 } else { 1 };
    let mut at = r.next() as i64 >> (67 - width);
    let row = |_| {
        at = at.wrapping_add(if round % 8 < 4 { step } else { r.around(step.unsigned_abs()) + step });
        at as u64
    };
    let words: Vec<u64> = match round % 4 {
        2 => (0..count).map(row).collect(),
        _ => vectors::words("wave", dtype, round as u64, count),
    };
    vectors::to_bytes(dtype, &words, false)
}

/// Checks all of it, or one part.
pub fn check(part: &str) {
    let small = is_small();
    type Part = fn(bool, &mut Random) -> usize;
    let all: [(&str, Part); 5] =
        [("fields", of_fields), ("odd", of_odd), ("damage", damaged), ("batches", batches), ("large", large)];
    for (name, check) in all.into_iter().filter(|(name, _)| part.is_empty() || *name == part) {
        println!("gpu check: {name}, {} arrays: all as on the CPU", check(small, &mut Random(7)));
    }
}

/// Every field in every way; with its fill values named, and searched for; and what came back once more, with a part
/// that is new.
fn of_fields(small: bool, _: &mut Random) -> usize {
    let mut n = 0;
    for field in fields::load() {
        let slab: u64 = field.dims.lens()[1..].iter().product::<u64>() * field.dtype.size() as u64;
        let mut lens = field.dims.lens().to_vec();
        if small {
            lens[0] = (200_000 / slab).clamp(1, lens[0]);
        }
        let bytes = &field.bytes[..(lens[0] * slab) as usize];
        for (k, p) in requests(field.dtype, &lens, &bounds(&field)).into_iter().enumerate() {
            if small && k % 5 != 0 {
                continue;
            }
            let mut back = compare(&p, bytes, 0, &field.name).expect("kernels for every type, mode and profile");
            n += 1;
            if field.fill.is_some() {
                let named = Params { missing: MissingValues::number(field.fill), ..p.clone() };
                let searched = Params { find_fill: Some(true), ..p.clone() };
                n += [named, searched].into_iter().filter_map(|p| compare(&p, bytes, 0, &field.name)).count();
            }
            if p.profile == Profile::Small {
                let part = bytes.len() / 32 * 8;
                back[..part].copy_from_slice(&bytes[..part]);
                n += compare(&p, &back, 0, &field.name).map_or(0, |_| 1);
            }
        }
    }
    n
}

/// Arrays of odd elements, types, shapes and bounds, some of them long; without missing values, and with some at rates
/// from one to all.
fn of_odd(small: bool, r: &mut Random) -> usize {
    let mut n = 0;
    for round in 0..if small { 60 } else { 1500 } {
        let dtype = DType::ALL[round % DType::ALL.len()];
        let rank = 1 + r.below(4) as usize;
        let most = [200_000, 700, 90, 30][rank - 1];
        let lens: Vec<u64> = match !small && round % 50 == 49 {
            true => vec![40_000_000 / dtype.size() as u64],
            false => (0..rank).map(|_| 1 + r.below(most)).collect(),
        };
        let sizes = [Bound::Rate(1.0 + r.below(400) as f64 / 10.0), Bound::Precision(1 + r.below(64) as u32)];
        let errors = [Bound::Abs(0.37), Bound::Abs(1e-20), Bound::Abs(1e20), Bound::Rel(1e-2), Bound::noa(1e-5)];
        let all = requests(dtype, &lens, &[&sizes[..], &errors, &[Bound::Lossless]].concat());
        let p = Params { big_endian: round % 7 == 3, ..all[r.below(all.len() as u64) as usize].clone() };
        let mut bytes = elements(r.below(8) as usize, dtype, lens.iter().product::<u64>() as usize, r);
        let offset = [0, dtype.size()][usize::from(round % 4 == 1)];
        compare(&p, &bytes, offset, "odd").expect("kernels for every type, mode and profile");
        n += 1;
        if dtype.is_float() {
            let first = vectors::to_words(dtype, &bytes[..dtype.size()])[0];
            let marks = [first, dtype.nearest(-999.0), dtype.nearest(f64::NAN), dtype.nearest(7.0)];
            let marks = &marks[..1 + r.below(4) as usize];
            let one_in = [1, 2, 30, 1000][r.below(4) as usize];
            for element in bytes.chunks_exact_mut(dtype.size()) {
                if r.below(one_in) == 0 {
                    let mark = marks[r.below(marks.len() as u64) as usize];
                    element.copy_from_slice(&vectors::to_bytes(dtype, &[mark], p.big_endian));
                }
            }
            let named: Vec<_> = marks.iter().map(|bits| MissingValue::Bits(*bits)).collect();
            let p = Params { missing: MissingValues::of(&named).unwrap(), ..p };
            n += compare(&p, &bytes, offset, "odd, with missing values").map_or(0, |_| 1);
        }
    }
    n
}

/// Damaged streams are refused where the CPU refuses them and never written beyond the end.
fn damaged(small: bool, r: &mut Random) -> usize {
    let lens = [20, 50, 50];
    let bytes = vectors::bytes("wave", DType::F32, 3, 50_000, false);
    let rounds = if small { 20 } else { 300 };
    let all = requests(DType::F32, &lens, &[Bound::Lossless, Bound::Abs(1e-4)]);
    for p in &all {
        let sound = sleek::compress(p, &bytes).unwrap();
        for round in 0..rounds {
            let mut stream = sound.clone();
            let at = r.below(stream.len() as u64) as usize;
            stream[if round % 2 == 0 { at } else { at % 300 }] ^= 1 << r.below(8);
            let (src, dst) = (Memory::of(&stream), Memory::new(bytes.len() + 64));
            let (from, to) = (src.at(0), dst.at(0));
            let gpu = unsafe { route::decompress(Device::Cuda, from, stream.len(), None, to, bytes.len(), null_mut()) };
            assert!(gpu.is_err() && sleek::decompress(&stream).is_err(), "{p:?}, round {round}");
            untouched(&dst, bytes.len());
        }
    }
    rounds * all.len()
}

/// Batches of arrays of all lengths, some of them empty and one of them long. Graphs are in contexts.cu.
fn batches(small: bool, r: &mut Random) -> usize {
    let arrays = if small { 20 } else { 500 };
    for profile in Profile::ALL {
        let p = Params { profile, ..Params::new(DType::F64).with_bound(Bound::noa(1e-4)) };
        let most = |i: usize| if i == 3 { 600_000 } else { 25_000 };
        let length = |i: usize, r: &mut Random| if i.is_multiple_of(7) { 0 } else { r.below(most(i)) as usize };
        let data: Vec<Vec<u8>> = (0..arrays).map(|i| odd(8 * length(i, r), r)).collect();
        let room = |i: usize| sleek::compress_bound(&p, data[i].len() / 8).unwrap();
        let src: Vec<Memory> = data.iter().map(|d| Memory::of(d)).collect();
        let dst: Vec<Memory> = (0..arrays).map(|i| Memory::new(room(i))).collect();
        let back: Vec<Memory> = data.iter().map(|d| Memory::new(d.len())).collect();
        let (made, restored) = (Memory::new(16 * arrays), Memory::new(16 * arrays));
        let workspace = Memory::new(route::batch::workspace_bytes(arrays));
        let items = |from: &[Memory], to: &[Memory]| -> Vec<Item> {
            let item = |i: usize| Item::new(from[i].at(0), to[i].at(0), data[i].len() as u64 / 8, room(i) as u64);
            (0..arrays).map(item).collect()
        };
        route::prepare(&p, 0, null_mut()).unwrap();
        let w = workspace.at(0);
        unsafe {
            route::batch::compress_async(&p, &items(&src, &dst), made.at(0), w, null_mut()).unwrap();
            route::batch::decompress_async(&p, &items(&dst, &back), restored.at(0), w, null_mut()).unwrap();
        }
        finished();
        for (i, d) in data.iter().enumerate() {
            let expected = sleek::compress(&p, d).unwrap();
            assert_eq!((result(&made, i), result(&restored, i).1), ((expected.len(), 0), 0), "array {i}");
            same(&dst[i].read(0, expected.len()), &expected, || format!("stream {i} of the batch"));
            let restored = sleek::decompress(&expected).unwrap();
            same(&back[i].read(0, d.len()), &restored, || format!("array {i} of the batch"));
        }
    }
    3 * arrays
}

/// More than 4 GiB of each codec, bit for bit and within a bound, made by repetition on the device. What comes back is
/// compared on the host piece by piece, with what the CPU makes of one: pieces end where chunks do.
fn large(small: bool, r: &mut Random) -> usize {
    if small {
        return 0;
    }
    let (piece, copies) = (odd(64 << 20, r), 67);
    let total = piece.len() * copies;
    let src = Memory::new(total);
    for i in 0..copies {
        ok(unsafe { sys::cuMemcpyHtoD_v2(src.0 + (i * piece.len()) as u64, piece.as_ptr().cast(), piece.len()) });
    }
    let lossless = Params { device: Device::Cuda, ..Params::new(DType::F64) };
    let all = [
        Params { profile: Profile::Fast, ..lossless.clone() },
        Params { profile: Profile::Adaptive, ..lossless.clone().with_bound(Bound::Abs(0.37)) },
        Params { codec: 3, ..lossless.with_bound(Bound::Rate(16.0)) },
    ];
    for p in &all {
        let room = sleek::compress_bound(p, total / 8).unwrap();
        let (dst, back) = (Memory::new(room), Memory::new(total));
        let n = unsafe { route::compress(p, src.at(0), total / 8, dst.at(0), room, null_mut()) }.unwrap();
        unsafe { route::decompress(Device::Cuda, dst.at(0), n, None, back.at(0), total, null_mut()) }.unwrap();
        let wanted = sleek::decompress(&sleek::compress(p, &piece).unwrap()).unwrap();
        assert!(p.bound != Bound::Lossless || wanted == piece);
        for i in [0, 1, copies / 2, copies - 1] {
            same(&back.read(i * piece.len(), piece.len()), &wanted, || format!("piece {i}, {p:?}"));
        }
    }
    all.len()
}

/// Writes arrays of the matrix (tests/matrix) on the GPU for so many seconds, from number `first` on, each history as
/// on the CPU: streams and restored arrays are equal to the CPU's, where there are kernels. How many arrays that were.
pub fn matrix(seconds: u64, first: u64) -> u64 {
    let begun = std::time::Instant::now();
    let mut seed = first;
    while begun.elapsed().as_secs() < seconds {
        let case = Case::new(seed);
        let result = case.run(&mut |params, data| {
            compare(params, data, 0, &format!("array {seed}"));
            let stream = sleek::compress(params, data).map_err(|e| e.to_string())?;
            let abs_bound = sleek::inspect(&stream).map_err(|e| e.to_string())?.abs_bound;
            Ok(Coded { back: sleek::decompress(&stream).map_err(|e| e.to_string())?, abs_bound })
        });
        result.unwrap_or_else(|what| panic!("array {seed}, {}: {what}", case.name()));
        seed += 1;
    }
    seed - first
}
