//! Codec interp: what kernels compress and restore against what the CPU does, and times beside a copy on the device.

use super::*;
use sleek::{Bound, Dims};

/// The request of the profile; missing values are searched for where a test says so.
fn profile(p: Params, lens: &[u64]) -> Params {
    Params { profile: Profile::Small, dims: Dims::new(lens).unwrap(), find_fill: None, ..p }
}

/// The bounds of a field: 0 stands for lossless. What does not count for the range is not in it.
fn bounded(field: &Field, bound: f64) -> Params {
    let fills: Vec<f64> = field.fill.into_iter().collect();
    let range = value_range(field.dtype, false, &fills, &field.bytes).map(|(min, max)| max - min);
    match bound {
        0.0 => Params::new(field.dtype),
        _ => Params::new(field.dtype).with_bound(Bound::Noa { share: bound, range }),
    }
}

/// Compresses on the GPU and compares every byte with the stream of the CPU.
fn compresses(p: &Params, bytes: &[u8], offset: usize, stream: &[u8], what: &str) {
    let room = sleek::compress_bound(p, bytes.len() / p.dtype.size()).unwrap();
    let (src, dst) = (Memory::new(bytes.len() + offset), Memory::new(room));
    ok(unsafe { sys::cuMemcpyHtoD_v2(src.0 + offset as u64, bytes.as_ptr().cast(), bytes.len()) });
    finished();
    let asked = Params { device: Device::Cuda, ..p.clone() };
    let count = bytes.len() / p.dtype.size();
    let n = unsafe { route::compress(&asked, src.at(offset), count, dst.at(0), room, null_mut()) };
    let got = dst.read(0, n.unwrap_or_else(|e| panic!("{what} {p:?}: {e}")));
    let at = got.iter().zip(stream).position(|(a, b)| a != b);
    let lengths = (got.len(), stream.len());
    assert!(got == stream, "{what} {p:?}: compressed differently from byte {at:?} on, {lengths:?}");
}

/// Restores a stream of the CPU's on the GPU and compares every byte with what the CPU restores, which comes back; the
/// stream is what the GPU makes, too.
fn restores(p: &Params, bytes: &[u8], offset: usize, what: &str) -> Vec<u8> {
    let stream = sleek::compress(p, bytes).unwrap();
    compresses(p, bytes, offset, &stream, what);
    let expected = sleek::decompress(&stream).unwrap();
    let (src, back) = (Memory::of(&stream), Memory::new(bytes.len() + offset + 64));
    let n = unsafe {
        let to = back.at(offset);
        route::decompress(Device::Cuda, src.at(0), stream.len(), None, to, bytes.len(), null_mut())
    };
    assert_eq!(n.unwrap_or_else(|e| panic!("{what} {p:?}: {e}")), bytes.len());
    let got = back.read(offset, bytes.len());
    let at = got.iter().zip(&expected).position(|(a, b)| a != b);
    assert!(got == expected, "{what} {p:?}: restored differently from byte {at:?} on");
    assert!(back.read(offset + bytes.len(), 64).iter().all(|b| *b == 0xA5), "{what} {p:?}: written beyond the end");
    looks(p, &stream, &src, bytes.len(), what);
    expected
}

/// Previews of an array of so many bytes, and of a box of it, are those of the CPU.
pub fn looks(p: &Params, stream: &[u8], src: &Memory, bytes: usize, what: &str) {
    let r = &mut Random(bytes as u64 + stream.len() as u64);
    let lens = if p.dims.rank() == 0 { vec![(bytes / p.dtype.size()) as u64] } else { p.dims.lens().to_vec() };
    let start: Vec<u64> = lens.iter().map(|len| r.next() % len.max(&1)).collect();
    let sides: Vec<u64> = lens.iter().zip(&start).map(|(len, at)| r.next() % (len - at + 1)).collect();
    let offset = if r.next().is_multiple_of(2) { 0 } else { p.dtype.size() };
    for part in [None, Some((&start[..], &sides[..]))] {
        let level = 1 + r.next() as u32 % 5;
        let mut expected = vec![0; bytes];
        let n = sleek::decompress_coarse_into(stream, level, part, &mut expected).unwrap();
        let back = Memory::new(offset + n + 64);
        let (from, to) = ((src.at(0).cast_const(), stream.len()), (back.at(offset), n));
        let done = unsafe { route::decompress_coarse(from, level, part, to, null_mut()) };
        assert_eq!(done.unwrap_or_else(|e| panic!("{what} {p:?}: {e}")), n);
        let got = back.read(offset, n);
        let at = got.iter().zip(&expected).position(|(a, b)| a != b);
        assert!(got == expected[..n], "{what} {p:?}: level {level} of {part:?} is another one from byte {at:?} on");
        assert!(back.read(offset + n, 64).iter().all(|b| *b == 0xA5), "{what} {p:?}: written beyond the preview");
    }
}

/// A field of waves and a little noise, of which codec interp interpolates nearly all tiles.
fn waves() -> Field {
    let (r, lens) = (&mut Random(5), [64u64, 128, 256]);
    let value = |n: u64| {
        let [x, y, z] = [n % lens[2], n / lens[2] % lens[1], n / lens[2] / lens[1]].map(|at| at as f32);
        (x * 0.11).sin() * (y * 0.07).cos() + (z * 0.05 + x * 0.02).sin() + (y * 0.31).sin() * 0.1
    };
    let noise = |r: &mut Random| (r.next() % 1000) as f32 * 4e-6;
    let bytes = (0..lens.iter().product()).flat_map(|n| (value(n) + noise(r)).to_le_bytes()).collect();
    Field { name: "waves".into(), dtype: DType::F32, bytes, dims: Dims::new(&lens).unwrap(), fill: None }
}

/// What previews of every second, fourth and eighth element take, beside the whole: synchronous calls. Each is what the
/// whole has there.
pub fn previews(mib: usize, reps: usize) {
    println!("\n| {mib} MiB | profile | ratio | whole µs | stride 2 | 4 | 8 | µs |\n|---|---|---|---|---|---|---|---|");
    let fields = fields::load().into_iter().chain([waves()]);
    for field in fields.filter(|f| f.dims.rank() == 3 && f.dtype == DType::F32) {
        let (lens, bytes) = repeated(&field, mib << 20);
        for name in [Profile::Small, Profile::Adaptive] {
            let p = Params { profile: name, ..profile(bounded(&field, 1e-3), &lens) };
            let stream = sleek::compress(&p, &bytes).unwrap();
            let (src, back) = (Memory::of(&stream), Memory::new(bytes.len()));
            let mut all = Vec::new();
            let [whole, of2, of4, of8] = [0, 1, 2, 3].map(|level| {
                let (from, to) = ((src.at(0).cast_const(), stream.len()), (back.at(0), bytes.len()));
                let call = || unsafe { route::decompress_coarse(from, level, None, to, null_mut()) }.unwrap();
                let n = call();
                let got = back.read(0, n);
                if level == 0 {
                    all = got;
                } else {
                    assert!(got == thinned(&all, &lens, level), "{} {name:?}: level {level}", field.name);
                }
                clock(reps, || {
                    call();
                })
            });
            println!(
                "| {} | {} | {:.2} | {whole:.0} | {:.3} | {:.3} | {:.3} | {of2:.0} {of4:.0} {of8:.0} |",
                field.name,
                name.name(),
                bytes.len() as f64 / stream.len() as f64,
                of2 / whole,
                of4 / whole,
                of8 / whole
            );
        }
    }
}

/// The elements of four bytes at multiples of 2^level along three axes.
fn thinned(all: &[u8], lens: &[u64], level: u32) -> Vec<u8> {
    let [z, y, x] = [0, 1, 2].map(|k| lens[k] as usize);
    let (rows, mut some) = (all.as_chunks::<4>().0, Vec::new());
    for row in (0..z).step_by(1 << level).flat_map(|i| (0..y).step_by(1 << level).map(move |j| (i * y + j) * x)) {
        rows[row..row + x].iter().step_by(1 << level).for_each(|element| some.extend_from_slice(element));
    }
    some
}

/// Every field at every bound, with its fill values named too, and what came back once more with a part that is new;
/// arrays of odd bits and shapes, without and with missing values; damaged streams; parts.
pub fn check(small: bool) -> usize {
    let mut n = 0;
    for field in fields::load() {
        let slab: u64 = field.dims.lens()[1..].iter().product::<u64>() * field.dtype.size() as u64;
        let mut lens = field.dims.lens().to_vec();
        if small {
            lens[0] = (200_000 / slab).clamp(1, lens[0]);
        }
        let bytes = &field.bytes[..(lens[0] * slab) as usize];
        for bound in [1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 0.0] {
            let p = profile(bounded(&field, bound), &lens);
            let mut back = restores(&p, bytes, 0, &field.name);
            n += 1;
            if field.fill.is_some() {
                restores(&Params { missing: MissingValues::number(field.fill), ..p.clone() }, bytes, 0, &field.name);
                restores(&Params { find_fill: Some(true), ..p.clone() }, bytes, 0, &field.name);
                n += 2;
            }
            if bound > 0.0 {
                let part = bytes.len() / 32 * 8;
                back[..part].copy_from_slice(&bytes[..part]);
                restores(&p, &back, 0, &field.name);
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
                0 => p.with_bound(Bound::Abs(0.37)),
                1 => p.with_bound(Bound::Rel(1e-2)),
                2 => p.with_bound(Bound::noa(1e-5)),
                3 => p.with_bound(Bound::Abs(1e-20)),
                _ => p,
            };
        }
        p.big_endian = round % 7 == 3;
        let p = profile(p, &lens);
        let offset = if round % 4 == 1 { dtype.size() } else { 0 };
        restores(&p, &bytes, offset, "odd tiles");
        n += 1;
        if dtype.is_float() {
            let mark = bytes[..dtype.size()].to_vec();
            for element in bytes.chunks_exact_mut(dtype.size()).step_by(1 + (r.next() % 90) as usize) {
                element.copy_from_slice(&mark);
            }
            let of = |bits: u64, byte: &u8| bits << 8 | u64::from(*byte);
            let bits = if p.big_endian { mark.iter().fold(0, of) } else { mark.iter().rev().fold(0, of) };
            let missing = MissingValues::of(&[MissingValue::Bits(bits)]).unwrap();
            restores(&Params { missing, ..p }, &bytes, offset, "odd tiles with missing values");
            n += 1;
        }
    }
    n += rows(&mut r, if small { 24 } else { 240 });
    n += parts(&mut r, if small { 10 } else { 200 });
    damaged(&mut r, if small { 20 } else { 300 });
    n
}

/// Elements whose bits grow along a row, or fall: by one step, by one and a little, by any, by any with some the other
/// way.
fn rows(r: &mut Random, rounds: usize) -> usize {
    for round in 0..rounds {
        let dtype = DType::ALL[round % DType::ALL.len()];
        let (kind, width) = (round / DType::ALL.len() % 4, 8 * dtype.size() as u32);
        let count = 1 + r.next() % 50_000;
        let step = (r.next() >> (64 - width / 2)) as i64 * if round % 5 == 4 { -1 } else { 1 };
        let mut at = r.next() as i64 >> (67 - width);
        let bytes = (0..count).flat_map(|i| {
            let some = (r.next() >> 1) as i64 % (2 * step.abs() + 1) * step.signum();
            at = at.wrapping_add(if kind < 2 {
                step
            } else {
                some - if kind == 3 && i % 300 == 0 { step * 9 } else { 0 }
            });
            let bits = at.wrapping_add(if kind == 1 { some / 3 } else { 0 }) as u64;
            (if round % 7 == 3 { bits.swap_bytes() >> (64 - width) } else { bits })
                .to_le_bytes()
                .into_iter()
                .take(dtype.size())
        });
        let p = profile(Params { big_endian: round % 7 == 3, ..Params::new(dtype) }, &[count]);
        restores(&p, &bytes.collect::<Vec<u8>>(), if round % 4 == 1 { dtype.size() } else { 0 }, "rows");
    }
    rounds
}

/// A smooth field and a little noise.
fn smooth(lens: &[u64], r: &mut Random) -> Vec<u8> {
    let value = |mut n: u64, r: &mut Random| {
        let mut v = (r.next() % 1000) as f32 * 1e-6;
        for (k, len) in lens.iter().enumerate().rev() {
            v += ((n % len) as f32 * (0.02 + 0.03 * k as f32)).sin();
            n /= len;
        }
        v
    };
    (0..lens.iter().product()).flat_map(|n| value(n, r).to_le_bytes()).collect()
}

/// Ranges and boxes.
fn parts(r: &mut Random, rounds: usize) -> usize {
    let lens = [70, 100, 90];
    let bytes = smooth(&lens, r);
    let p = profile(Params::new(DType::F32).with_bound(Bound::noa(1e-3)), &lens);
    let stream = sleek::compress(&p, &bytes).unwrap();
    let whole = sleek::decompress(&stream).unwrap();
    let src = Memory::of(&stream);
    for _ in 0..rounds {
        let first = r.next() % p.dims.count();
        let count = (r.next() % (p.dims.count() - first + 1)) as usize;
        let back = Memory::new(4 * count + 64);
        let (from, range) = (src.at(0), Some((first, count)));
        let n = unsafe {
            route::decompress(Device::Cuda, from, stream.len(), range, back.at(0), 4 * count, null_mut()).unwrap()
        };
        assert!(back.read(0, n) == whole[4 * first as usize..][..4 * count], "{count} from {first}");
        assert!(back.read(n, 64).iter().all(|b| *b == 0xA5), "written beyond the range");
        let start = lens.map(|len| r.next() % len);
        let sides: Vec<u64> = lens.iter().zip(start).map(|(len, s)| 1 + r.next() % (len - s)).collect();
        let mut part = vec![0; 4 * sides.iter().product::<u64>() as usize];
        sleek::decompress_box_into(&stream, &start, &sides, &mut part).unwrap();
        let back = Memory::new(part.len() + 64);
        let n = unsafe {
            let to = (back.at(0), part.len());
            route::decompress_coarse((from, stream.len()), 0, Some((&start, &sides)), to, null_mut()).unwrap()
        };
        assert!(n == part.len() && back.read(0, n) == part, "{sides:?} from {start:?}");
        assert!(back.read(n, 64).iter().all(|b| *b == 0xA5), "written beyond the box");
    }
    2 * rounds
}

/// Damaged streams are refused where the CPU refuses them and never written beyond the end.
fn damaged(r: &mut Random, rounds: u32) {
    let lens = [20, 50, 50];
    let bytes = smooth(&lens, r);
    let p = profile(Params::new(DType::F32).with_bound(Bound::noa(1e-4)), &lens);
    let sound = sleek::compress(&p, &bytes).unwrap();
    for round in 0..rounds {
        let mut stream = sound.clone();
        let at = r.next() as usize % stream.len();
        stream[if round % 2 == 0 { at } else { at % 300 }] ^= 1 << (r.next() % 8);
        let (src, dst) = (Memory::of(&stream), Memory::new(bytes.len() + 4096));
        let gpu = unsafe {
            route::decompress(Device::Cuda, src.at(0), stream.len(), None, dst.at(0), bytes.len(), null_mut())
        };
        assert!(gpu.is_err() && sleek::decompress(&stream).is_err(), "round {round}");
        assert!(dst.read(bytes.len(), 4096).iter().all(|b| *b == 0xA5), "round {round}: written beyond the end");
    }
}

/// A field repeated, or cut off, along its first dimension to about so many bytes.
fn repeated(field: &Field, bytes: usize) -> (Vec<u64>, Vec<u8>) {
    let mut lens = field.dims.lens().to_vec();
    let slab = lens[1..].iter().product::<u64>() as usize * field.dtype.size();
    lens[0] = (bytes / slab).max(1) as u64;
    (lens.clone(), field.bytes.iter().cycle().take(lens[0] as usize * slab).copied().collect())
}

/// One table: all fields at each bound, and the geometric means; 0 stands for lossless.
pub fn bench(mib: usize, reps: usize, bounds: &[f64]) {
    table(&fields::load(), mib, reps, bounds);
}

/// The same of a field of 32-bit floats as other types, integers losslessly alone.
pub fn bench_types(mib: usize, reps: usize) {
    for field in fields::load().iter().find(|f| f.name.starts_with("navy")).map(other_types).into_iter().flatten() {
        let bounds: &[f64] = if field.dtype.is_float() { &[1e-1, 1e-3, 0.0] } else { &[0.0] };
        table(&[field], mib, reps, bounds);
    }
}

fn table(fields: &[Field], mib: usize, reps: usize, bounds: &[f64]) {
    println!(
        "\n| {mib} MiB | bound | ratio | compress × memcpy | µs | decompress × memcpy | µs |\n\
         |---|---|---|---|---|---|---|"
    );
    let mut means = std::collections::BTreeMap::<String, Vec<[f64; 3]>>::new();
    for field in fields {
        let (lens, bytes) = repeated(field, mib << 20);
        let (src, back) = (Memory::of(&bytes), Memory::new(bytes.len()));
        let count = bytes.len() / field.dtype.size();
        let memcpy = time(reps, || ok(unsafe { sys::cuMemcpyDtoDAsync_v2(back.0, src.0, bytes.len(), null_mut()) }));
        for bound in bounds {
            let p = profile(bounded(field, *bound), &lens);
            let stream = sleek::compress(&p, &bytes).unwrap();
            let (from, workspace, outcome) =
                (Memory::of(&stream), Memory::new(route::WORKSPACE_BYTES), Memory::new(16));
            let d = time(reps, || unsafe {
                let (all, o, w) = ((0, count as u64), outcome.at(0), workspace.at(0));
                route::decompress_async(&p, from.at(0), stream.len(), back.at(0), all, o, w, null_mut()).unwrap();
            });
            assert_eq!(result(&outcome).1, 0, "{} {p:?}", field.name);
            let room = sleek::compress_bound(&p, count).unwrap();
            let dst = Memory::new(room);
            let c = time(reps, || unsafe {
                let (o, w) = (outcome.at(0), workspace.at(0));
                route::compress_async(&p, src.at(0), count, dst.at(0), room, o, w, null_mut()).unwrap();
            });
            assert_eq!(result(&outcome).1, 0, "{} {p:?}", field.name);
            assert!(dst.read(0, stream.len()) == stream, "{} {p:?}: compressed differently", field.name);
            let name = if *bound == 0.0 { "lossless".into() } else { format!("{bound:e}") };
            let row = [bytes.len() as f64 / stream.len() as f64, memcpy / c, memcpy / d];
            let [ratio, compress, decompress] = row;
            println!(
                "| {} | {name} | {ratio:.2} | {compress:.3} | {:.0} | {decompress:.3} | {:.0} |",
                field.name,
                1e3 * c,
                1e3 * d
            );
            means.entry(format!("{} {name}", field.dtype.name())).or_default().push(row);
        }
    }
    for (name, rows) in means {
        let mean = |k: usize| (rows.iter().map(|row| row[k].ln()).sum::<f64>() / rows.len() as f64).exp();
        println!("| **mean {name}** | | {:.2} | {:.3} | | {:.3} | |", mean(0), mean(1), mean(2));
    }
}
