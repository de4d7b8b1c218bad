//! Codec ratio: arrays with their dimensions kept, bytes against the CPU's, and times beside a device-to-device copy.

use super::*;
use sleek::Dims;

fn profile(p: Params, lens: &[u64]) -> Params {
    Params { profile: Profile::Small, dims: Dims::new(lens).unwrap(), ..p }
}

/// The bounds of a field: 0 stands for lossless. What does not count for the range is not in it.
pub fn bounded(field: &Field, bound: f64) -> Params {
    let fills: Vec<f64> = field.fill.into_iter().collect();
    let range = value_range(field.dtype, false, &fills, &field.bytes).map(|(min, max)| max - min);
    match bound {
        0.0 => Params::new(field.dtype),
        _ => Params { range, ..Params::new(field.dtype).with_bound(Mode::Noa, bound) },
    }
}

/// Every field at every bound, with its fill values named too; arrays of odd bits and shapes, without and with missing
/// values; damaged streams; a batch in a graph.
pub fn check(small: bool) -> usize {
    let mut n = 0;
    for field in fields::load() {
        let slab: u64 = field.dims.lens()[1..].iter().product::<u64>() * field.dtype.size() as u64;
        let mut lens = field.dims.lens().to_vec();
        if small {
            lens[0] = (200_000 / slab).clamp(1, lens[0]);
        }
        let bytes = &field.bytes[..(lens[0] * slab) as usize];
        for bound in [1e-1, 1e-3, 1e-6, 0.0] {
            let p = profile(bounded(&field, bound), &lens);
            compare(&p, bytes, 0, &field.name);
            n += 1;
            if field.fill.is_some() {
                compare(&Params { missing: MissingValues::number(field.fill), ..p }, bytes, 0, &field.name);
                n += 1;
            }
        }
    }
    let mut r = Random(0xD1B5_4A32_D192_ED03);
    for round in 0..if small { 30 } else { 500 } {
        let dtype = DType::ALL[round % DType::ALL.len()];
        let rank = 1 + r.next() as usize % 4;
        let most = [200_000, 700, 90, 30][rank - 1];
        let lens: Vec<u64> = (0..rank).map(|_| 1 + r.next() % most).collect();
        let count: u64 = lens.iter().product();
        let mut bytes = odd(dtype, count as usize * dtype.size(), &mut r);
        let mut p = Params::new(dtype);
        if dtype.is_float() {
            p = match round / 12 % 5 {
                0 => p.with_bound(Mode::Abs, 0.37),
                1 => p.with_bound(Mode::Rel, 1e-2),
                2 => p.with_bound(Mode::Noa, 1e-5),
                3 => p.with_bound(Mode::Abs, 1e-20),
                _ => p,
            };
        }
        p.big_endian = round % 7 == 3;
        let p = profile(p, &lens);
        let offset = if round % 4 == 1 { dtype.size() } else { 0 };
        compare(&p, &bytes, offset, "odd tiles");
        n += 1;
        if dtype.is_float() {
            let p = Params { missing: with_missing(&p, &mut bytes, &mut r), ..p };
            compare(&p, &bytes, offset, "odd tiles with missing values");
            n += 1;
        }
    }
    for tensor in tensors(if small { 100_000 } else { 5_000_000 }) {
        compare(&profile(Params::new(tensor.dtype), tensor.dims.lens()), &tensor.bytes, 0, &tensor.name);
        n += 1;
    }
    damaged(&mut r, if small { 20 } else { 300 });
    batch(&mut r, if small { 10 } else { 200 });
    n
}

/// Takes up to four of an array's own elements, whose neighbours may come back as they are, for missing values, and
/// puts these at all rates, alone and in runs, into the array.
fn with_missing(p: &Params, bytes: &mut [u8], r: &mut Random) -> MissingValues {
    let size = p.dtype.size();
    let n = (bytes.len() / size) as u64;
    let values: Vec<Vec<u8>> = (0..1 + r.next() % 4)
        .map(|_| {
            let at = (r.next() % n) as usize * size;
            bytes[at..at + size].to_vec()
        })
        .collect();
    let (one_in, run) = ([0, 1, 2, 50, 5000][r.next() as usize % 5], [1, 1, 20, 3000][r.next() as usize % 4]);
    let (mut left, mut value) = (0, &values[0]);
    for element in bytes.chunks_exact_mut(size).filter(|_| one_in > 0) {
        if left == 0 && r.next().is_multiple_of(one_in * run) {
            (left, value) = (run, &values[r.next() as usize % values.len()]);
        }
        if left > 0 {
            element.copy_from_slice(value);
            left -= 1;
        }
    }
    let bits = |value: &Vec<u8>| {
        let of = |bits: u64, byte: &u8| bits << 8 | u64::from(*byte);
        MissingValue::Bits(if p.big_endian { value.iter().fold(0, of) } else { value.iter().rev().fold(0, of) })
    };
    MissingValues::of(&values.iter().map(bits).collect::<Vec<_>>()).unwrap()
}

/// Damaged streams are refused where the CPU refuses them and never written beyond the end.
fn damaged(r: &mut Random, rounds: u32) {
    let lens = [20, 50, 50];
    let bytes = odd(DType::F32, 200_000, r);
    let sound = sleek::compress(&profile(Params::new(DType::F32), &lens), &bytes).unwrap();
    for round in 0..rounds {
        let mut stream = sound.clone();
        let at = r.next() as usize % stream.len();
        stream[if round % 2 == 0 { at } else { at % 300 }] ^= 1 << (r.next() % 8);
        let (src, dst) = (Memory::of(&stream), Memory::new(bytes.len() + 4096));
        let gpu = unsafe {
            route::decompress(Device::Auto, src.at(0), stream.len(), None, dst.at(0), bytes.len(), null_mut())
        };
        assert!(gpu.is_err() && sleek::decompress(&stream).is_err(), "round {round}");
        assert!(dst.read(bytes.len(), 4096).iter().all(|b| *b == 0xA5), "round {round}: written beyond the end");
    }
}

/// A batch of lines of all lengths.
fn batch(r: &mut Random, arrays: usize) {
    let p = Params { profile: Profile::Small, ..Params::new(DType::F32).with_bound(Mode::Abs, 1e-3) };
    captured::check(&p, arrays, |_| 400_000, r);
    for dtype in [DType::F32, DType::BF16] {
        captured::check(&Params { profile: Profile::Small, ..Params::new(dtype) }, arrays, |_| 400_000, r);
    }
}

/// About so many elements as those of a network: numbers of a bell curve about 0 as floats of each type, and such of
/// which three in four are 0.
fn tensors(count: usize) -> Vec<Field> {
    let mut r = Random(3);
    let mut bell = || (0..8).map(|_| (r.next() >> 40) as f32 / (1 << 24) as f32 - 0.5).sum::<f32>() * 0.02;
    let numbers: Vec<f32> = (0..count / 1024 * 1024).map(|_| bell()).collect();
    let pruned: Vec<f32> = numbers.iter().map(|x| if x.abs() < 0.0188 { 0.0 } else { *x }).collect();
    let dims = Dims::new(&[(numbers.len() / 1024) as u64, 1024]).unwrap();
    let bits = |x: f32, dtype: DType| match dtype {
        DType::F32 => x.to_bits().into(),
        DType::F64 => f64::from(x).to_bits(),
        DType::BF16 => u64::from(x.to_bits() >> 16),
        // None of them is below the smallest half that is normal but zeros and a few.
        _ => u64::from((x.to_bits() >> 13).saturating_sub(112 << 10) & 0x7fff | x.to_bits() >> 16 & 0x8000),
    };
    let tensor = |name: &str, numbers: &[f32], dtype: DType| Field {
        name: format!("{name} as {}", dtype.name()),
        dtype,
        bytes: numbers.iter().flat_map(|x| bits(*x, dtype).to_le_bytes()[..dtype.size()].to_vec()).collect(),
        dims,
        fill: None,
    };
    let mut all: Vec<Field> =
        [DType::F32, DType::F64, DType::F16, DType::BF16].map(|dtype| tensor("weights", &numbers, dtype)).into();
    all.extend([DType::F32, DType::BF16].map(|dtype| tensor("pruned", &pruned, dtype)));
    all
}

/// A field repeated, or cut off, along its first dimension to about so many bytes.
pub fn repeated(field: &Field, bytes: usize) -> (Vec<u64>, Vec<u8>) {
    let mut lens = field.dims.lens().to_vec();
    let slab = lens[1..].iter().product::<u64>() as usize * field.dtype.size();
    lens[0] = (bytes / slab).max(1) as u64;
    (lens.clone(), field.bytes.iter().cycle().take(lens[0] as usize * slab).copied().collect())
}

/// One table for each size: all fields at each bound, and the geometric means; 0 stands for lossless, also of tensors.
pub fn bench(sizes: &[usize], reps: usize, bounds: &[f64]) {
    for mib in sizes {
        println!("\n| {mib} MiB | bound | ratio | compress × memcpy | decompress × memcpy | µs | µs |");
        println!("|---|---|---|---|---|---|---|");
        let mut means = std::collections::BTreeMap::<String, Vec<[f64; 3]>>::new();
        let tensors = if bounds.contains(&0.0) { tensors(1 << 22) } else { Vec::new() };
        let fields = fields::load();
        for (field, is_tensor) in fields.iter().map(|f| (f, false)).chain(tensors.iter().map(|f| (f, true))) {
            let (lens, bytes) = repeated(field, mib << 20);
            let (src, back) = (Memory::of(&bytes), Memory::new(bytes.len()));
            let count = bytes.len() / field.dtype.size();
            let memcpy =
                time(reps, || ok(unsafe { sys::cuMemcpyDtoDAsync_v2(back.0, src.0, bytes.len(), null_mut()) }));
            for bound in bounds.iter().filter(|bound| !is_tensor || **bound == 0.0) {
                let p = profile(bounded(field, *bound), &lens);
                let name = if *bound == 0.0 { "lossless".into() } else { format!("{bound:e}") };
                let row = row(&p, (&src, &back), (count, reps), memcpy, &format!("{} | {name}", field.name));
                if !is_tensor {
                    means.entry(format!("{} {name}", field.dtype.name())).or_default().push(row);
                }
            }
        }
        for (name, rows) in means {
            let mean = |k: usize| (rows.iter().map(|row| row[k].ln()).sum::<f64>() / rows.len() as f64).exp();
            println!("| **mean {name}** | | {:.2} | {:.3} | {:.3} | | |", mean(0), mean(1), mean(2));
        }
    }
}

/// Times both ways and prints a row; ratio, and speeds beside that of a copy.
fn row(
    p: &Params,
    (src, back): (&Memory, &Memory),
    (count, reps): (usize, usize),
    memcpy: f64,
    name: &str,
) -> [f64; 3] {
    let (workspace, outcome) = (Memory::new(route::WORKSPACE_BYTES), Memory::new(16));
    let room = sleek::compress_bound(p, count).unwrap();
    let dst = Memory::new(room);
    let (o, w) = (outcome.at(0), workspace.at(0));
    let c = time(reps, || unsafe {
        route::compress_async(p, src.at(0), count, dst.at(0), room, o, w, null_mut()).unwrap();
    });
    let (n, status) = result(&outcome);
    assert_eq!(status, 0, "{name} {p:?}");
    let d = time(reps, || unsafe {
        route::decompress_async(p, dst.at(0), n, back.at(0), (0, count as u64), o, w, null_mut()).unwrap();
    });
    assert_eq!(result(&outcome).1, 0, "{name} {p:?}");
    let row = [(count * p.dtype.size()) as f64 / n as f64, memcpy / c, memcpy / d];
    println!("| {name} | {:.2} | {:.3} | {:.3} | {:.0} | {:.0} |", row[0], row[1], row[2], 1e3 * c, 1e3 * d);
    row
}

/// One field without a missing value, with one that is named but not there, with one in a hundred elements and every
/// second one, and with half of all rows, as land lies in the sea.
pub fn gaps(mib: usize, reps: usize) {
    println!("\n| {mib} MiB | ratio | compress × memcpy | decompress × memcpy | µs | µs |\n|---|---|---|---|---|---|");
    let Some(field) = fields::load().into_iter().find(|f| f.name.starts_with("navy")) else { return };
    let (lens, bytes) = repeated(&field, mib << 20);
    let (value, bits) = (MissingValue::Number(-9999.0), (-9999f32).to_le_bytes());
    let (count, mut r) = (bytes.len() / 4, Random(11));
    for (name, run, one_in) in [
        ("no missing value", 1, 0),
        ("one named, none there", 1, u64::MAX),
        ("one in 100 missing", 1, 100),
        ("one in 2 missing", 1, 2),
        ("half of runs of 200 missing", 200, 2),
    ] {
        let mut bytes = bytes.clone();
        for run in bytes.chunks_mut(4 * run) {
            if one_in > 0 && r.next().is_multiple_of(one_in) {
                run.chunks_exact_mut(4).for_each(|element| element.copy_from_slice(&bits));
            }
        }
        let (src, back) = (Memory::of(&bytes), Memory::new(bytes.len()));
        let memcpy = time(reps, || ok(unsafe { sys::cuMemcpyDtoDAsync_v2(back.0, src.0, bytes.len(), null_mut()) }));
        let missing = MissingValues::of(&[value][..usize::from(one_in > 0)]).unwrap();
        let p = Params { missing, ..profile(bounded(&field, 1e-3), &lens) };
        row(&p, (&src, &back), (count, reps), memcpy, name);
    }
}

/// Arrays of one size in one launch, together as large as the arrays of the table of 512 MiB.
pub fn batches(mib: usize, reps: usize) {
    println!("\n| MiB of an array | arrays | ratio | compress × memcpy | decompress × memcpy |\n|---|---|---|---|---|");
    let Some(field) = fields::load().into_iter().find(|f| f.name.starts_with("navy")) else { return };
    for each in [1usize, 4, 16, 64] {
        let (lens, bytes) = repeated(&field, each << 20);
        let (arrays, p) = (mib / each, profile(bounded(&field, 1e-3), &lens));
        let count = bytes.len() / 4;
        let room = sleek::compress_bound(&p, count).unwrap().next_multiple_of(16);
        let stride = bytes.len().next_multiple_of(16);
        let (src, dst, back) = (Memory::new(stride * arrays), Memory::new(room * arrays), Memory::new(stride * arrays));
        for i in 0..arrays {
            ok(unsafe { sys::cuMemcpyHtoD_v2(src.0 + (i * stride) as u64, bytes.as_ptr().cast(), bytes.len()) });
        }
        let (results, workspace) = (Memory::new(16 * arrays), Memory::new(route::batch::workspace_bytes(arrays)));
        let item = |i: usize, from: &Memory, to: &Memory, (a, b): (usize, usize)| {
            Item::new(from.at(i * a), to.at(i * b), count as u64, room as u64)
        };
        let there: Vec<Item> = (0..arrays).map(|i| item(i, &src, &dst, (stride, room))).collect();
        let again: Vec<Item> = (0..arrays).map(|i| item(i, &dst, &back, (room, stride))).collect();
        let memcpy =
            time(reps, || ok(unsafe { sys::cuMemcpyDtoDAsync_v2(back.0, src.0, stride * arrays, null_mut()) }));
        let (r, w) = (results.at(0), workspace.at(0));
        let c = time(reps, || unsafe { route::batch::compress_async(&p, &there, r, w, null_mut()) }.unwrap());
        let outcomes = results.read(0, 16 * arrays);
        let n: u64 = outcomes.chunks(16).map(|b| u64::from_le_bytes(b[..8].try_into().unwrap())).sum();
        let d = time(reps, || unsafe { route::batch::decompress_async(&p, &again, r, w, null_mut()) }.unwrap());
        assert!(results.read(0, 16 * arrays).chunks(16).all(|b| b[8..12] == [0; 4]));
        let ratio = (bytes.len() * arrays) as f64 / n as f64;
        println!("| {each} | {arrays} | {ratio:.2} | {:.3} | {:.3} |", memcpy / c, memcpy / d);
    }
}
