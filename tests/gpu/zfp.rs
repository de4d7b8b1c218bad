//! Codec zfp: bytes against the CPU's in every mode, and times beside a device-to-device copy.

use super::*;
use sleek::{Bound, Dims};

fn params(p: Params, lens: &[u64]) -> Params {
    Params { codec: 3, dims: Dims::new(lens).unwrap(), find_fill: None, ..p }
}

/// A field's bound, a fraction of its range, as an absolute one. What does not count for the range is not in it.
fn absolute(field: &Field, bound: f64) -> Params {
    let fills: Vec<f64> = field.fill.into_iter().collect();
    let range = value_range(field.dtype, false, &fills, &field.bytes).map_or(1.0, |(min, max)| max - min);
    Params::new(field.dtype).with_bound(Bound::Abs(bound * range.max(f64::MIN_POSITIVE)))
}

/// Every field of a type that the codec has, in every mode; arrays of odd bits and shapes.
pub fn check(small: bool) -> usize {
    let mut n = 0;
    for field in fields::load().into_iter().filter(|field| field.dtype.size() >= 4 && field.dtype.is_float()) {
        let slab: u64 = field.dims.lens()[1..].iter().product::<u64>() * field.dtype.size() as u64;
        let mut lens = field.dims.lens().to_vec();
        if small {
            lens[0] = (200_000 / slab).clamp(1, lens[0]);
        }
        let bytes = &field.bytes[..(lens[0] * slab) as usize];
        let plain = Params::new(field.dtype);
        let requests = [
            plain.clone().with_bound(Bound::Rate(8.0)),
            plain.clone().with_bound(Bound::Precision(17)),
            absolute(&field, 1e-1),
            absolute(&field, 1e-3),
            absolute(&field, 1e-6),
            plain,
        ];
        for p in requests {
            compare(&params(p, &lens), bytes, 0, &field.name);
            n += 1;
        }
    }
    let mut r = Random(0xA54F_F53A_5F1D_36F1);
    for round in 0..if small { 40 } else { 600 } {
        let dtype = [DType::F32, DType::F64, DType::I32, DType::I64][round % 4];
        let rank = 1 + r.next() as usize % 4;
        let most = [200_000, 700, 90, 30][rank - 1];
        let lens: Vec<u64> = (0..rank).map(|_| 1 + r.next() % most).collect();
        let count: u64 = lens.iter().product();
        let bytes = odd(dtype, count as usize * dtype.size(), &mut r);
        let p = Params::new(dtype);
        let mut p = match round / 4 % 6 {
            0 => p.with_bound(Bound::Rate(1.0 + (r.next() % 400) as f64 / 10.0)),
            1 => p.with_bound(Bound::Precision(1 + r.next() as u32 % 64)),
            2 if dtype.is_float() => p.with_bound(Bound::Abs(0.37)),
            3 if dtype.is_float() => p.with_bound(Bound::Abs(1e-20)),
            4 if dtype.is_float() => p.with_bound(Bound::Abs(1e20)),
            _ => p,
        };
        p.big_endian = round % 7 == 3;
        compare(&params(p, &lens), &bytes, if round % 4 == 1 { dtype.size() } else { 0 }, "odd blocks");
        n += 1;
    }
    n
}

/// The bound, a power of two, at which the bits of a value are nearest to 8.
fn of_eight_bits(field: &Field) -> Params {
    let bits = |exponent: i32| {
        let p = params(Params::new(field.dtype).with_bound(Bound::Abs(2f64.powi(exponent))), field.dims.lens());
        8.0 * sleek::compress(&p, &field.bytes).unwrap().len() as f64 / field.dims.count() as f64
    };
    let (mut low, mut high) = (-120, 120);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if bits(middle) > 8.0 { low = middle } else { high = middle }
    }
    let nearest = if bits(low) - 8.0 < 8.0 - bits(high) { low } else { high };
    Params::new(field.dtype).with_bound(Bound::Abs(2f64.powi(nearest)))
}

/// The lengths of an array of which each repetition of a field is one along a fourth dimension, where it has three.
fn lens_in_four(field: &Field, lens: &[u64]) -> Option<Vec<u64>> {
    let own = field.dims.lens();
    let whole = lens[0] / own[0];
    (own.len() == 3 && own.iter().all(|len| *len >= 4) && whole >= 4).then(|| [&[whole], own].concat())
}

/// A field repeated, or cut off, along its first dimension to about so many bytes.
fn repeated(field: &Field, bytes: usize) -> (Vec<u64>, Vec<u8>) {
    let mut lens = field.dims.lens().to_vec();
    let slab = lens[1..].iter().product::<u64>() as usize * field.dtype.size();
    lens[0] = (bytes / slab).max(1) as u64;
    (lens.clone(), field.bytes.iter().cycle().take(lens[0] as usize * slab).copied().collect())
}

/// Fields of about so many MiB at fixed rates, at bounds, and losslessly; the means are those of the fields whose
/// blocks have three axes, and of those that have four.
pub fn bench(mib: usize, reps: usize) {
    println!("\n| {mib} MiB | request | bits of a value | compress × memcpy | decompress × memcpy | GB/s | GB/s |");
    println!("|---|---|---|---|---|---|---|");
    let mut means = std::collections::BTreeMap::<(usize, String), Vec<[f64; 3]>>::new();
    for field in fields::load().into_iter().filter(|field| field.dtype.size() >= 4 && field.dtype.is_float()) {
        let (lens, bytes) = repeated(&field, mib << 20);
        let (src, back) = (Memory::of(&bytes), Memory::new(bytes.len()));
        let (workspace, outcome) = (Memory::new(route::WORKSPACE_BYTES), Memory::new(16));
        let memcpy = time(reps, || ok(unsafe { sys::cuMemcpyDtoDAsync_v2(back.0, src.0, bytes.len(), null_mut()) }));
        let plain = Params::new(field.dtype);
        let requests = [
            ("rate 8", plain.clone().with_bound(Bound::Rate(8.0))),
            ("rate 16", plain.clone().with_bound(Bound::Rate(16.0))),
            ("precision 16", plain.clone().with_bound(Bound::Precision(16))),
            ("abs 1e-3", absolute(&field, 1e-3)),
            ("abs 1e-6", absolute(&field, 1e-6)),
            ("abs of 8 bits", of_eight_bits(&field)),
            ("lossless", plain),
        ];
        let shapes: Vec<_> = std::iter::once(lens.clone()).chain(lens_in_four(&field, &lens)).collect();
        for (lens, (name, p)) in shapes.iter().flat_map(|lens| requests.iter().map(move |request| (lens, request))) {
            let p = params(p.clone(), lens);
            let count = lens.iter().product::<u64>() as usize;
            let layout = sleek::codec::layout(&p, count as u64).unwrap();
            if let Some(why) = sleek::route::device::refuses(&p, &layout).unwrap() {
                println!("| {} | {name} | {why} | | | | |", field.name);
                continue;
            }
            let room = sleek::compress_bound(&p, count).unwrap();
            let dst = Memory::new(room);
            let c = time(reps, || unsafe {
                let (o, w) = (outcome.at(0), workspace.at(0));
                route::compress_async(&p, src.at(0), count, dst.at(0), room, o, w, null_mut()).unwrap();
            });
            let (n, status) = result(&outcome);
            assert_eq!(status, 0, "{} {p:?}", field.name);
            let d = time(reps, || unsafe {
                let (all, o, w) = ((0, count as u64), outcome.at(0), workspace.at(0));
                route::decompress_async(&p, dst.at(0), n, back.at(0), all, o, w, null_mut()).unwrap();
            });
            assert_eq!(result(&outcome).1, 0, "{} {p:?}", field.name);
            let speed = |ms: f64| (count * field.dtype.size()) as f64 / ms / 1e6;
            let copied = memcpy * (count * field.dtype.size()) as f64 / bytes.len() as f64;
            let row = [8.0 * n as f64 / count as f64, copied / c, copied / d];
            println!(
                "| {}{} | {name} | {:.2} | {:.3} | {:.3} | {:.0} | {:.0} |",
                field.name,
                if lens.len() == 4 { ", 4-D" } else { "" },
                row[0],
                row[1],
                row[2],
                speed(c),
                speed(d)
            );
            let axes = lens.iter().filter(|len| **len >= 4).count();
            if axes >= 3 {
                means.entry((axes, format!("{} {name}", field.dtype.name()))).or_default().push(row);
            }
        }
    }
    for ((axes, name), rows) in means {
        let mean = |k: usize| (rows.iter().map(|row| row[k].ln()).sum::<f64>() / rows.len() as f64).exp();
        let (n, bits) = (rows.len(), mean(0));
        println!("| **mean of {n} in {axes}-D** | {name} | {bits:.2} | {:.3} | {:.3} | | |", mean(1), mean(2));
    }
}
