//! `gpu bench` and its like: time beside a device-to-device copy.

use sleek::Dims;

use super::*;

/// A field's bounds as shares of its range, which programs that know their data give; 0 stands for lossless.
fn bounded(field: &Field, share: f64) -> Params {
    let fills: Vec<f64> = field.fill.into_iter().collect();
    let range = value_range(field.dtype, false, &fills, &field.bytes).map(|(min, max)| max - min);
    let bound = if share == 0.0 { Bound::Lossless } else { Bound::Noa { share, range } };
    Params::new(field.dtype).with_bound(bound)
}

fn name_of(p: &Params) -> String {
    if p.bound == Bound::Lossless { "lossless".into() } else { format!("{:e}", p.bound.number()) }
}

/// A field repeated, or cut off, along its first dimension to about so many bytes.
fn repeated(field: &Field, bytes: usize) -> (Dims, Vec<u8>) {
    let mut lens = field.dims.lens().to_vec();
    let slab = lens[1..].iter().product::<u64>() as usize * field.dtype.size();
    lens[0] = (bytes / slab).max(1) as u64;
    let all = field.bytes.iter().cycle().take(lens[0] as usize * slab).copied().collect();
    (Dims::new(&lens).unwrap(), all)
}

/// What a device-to-device copy, compression and restoring of an array take, in milliseconds, and the bytes of its
/// stream; both ways are checked.
struct Times {
    copy: f64,
    compress: f64,
    decompress: f64,
    bytes: usize,
}

fn times(p: &Params, bytes: &[u8], reps: usize) -> Times {
    let count = bytes.len() / p.dtype.size();
    let room = sleek::compress_bound(p, count).unwrap();
    let (src, dst, back) = (Memory::of(bytes), Memory::new(room), Memory::new(bytes.len()));
    let (workspace, outcome) = (Memory::new(route::WORKSPACE_BYTES), Memory::new(16));
    let (o, w) = (outcome.at(0), workspace.at(0));
    let copy = || time(reps, || ok(unsafe { sys::cuMemcpyDtoDAsync_v2(back.0, src.0, bytes.len(), null_mut()) }));
    let before = copy();
    let compress = time(reps, || unsafe {
        route::compress_async(p, src.at(0), count, dst.at(0), room, o, w, null_mut()).unwrap();
    });
    let (n, status) = result(&outcome, 0);
    assert_eq!(status, 0, "{p:?}");
    let decompress = time(reps, || unsafe {
        let all = (0, count as u64);
        route::decompress_async(p, dst.at(0), n, back.at(0), all, o, w, null_mut()).unwrap();
    });
    assert_eq!(result(&outcome, 0).1, 0, "{p:?}");
    Times { copy: (before + copy()) / 2.0, compress, decompress, bytes: n }
}

/// Codec sleek: every field at every share, and losslessly.
pub fn bench(mib: usize, reps: usize) {
    println!(
        "| field | bound | profile | ratio | compress × memcpy | share of 2/(1+1/ratio) | GB/s | decompress × memcpy | \
         share |\n|---|---|---|---|---|---|---|---|---|"
    );
    let mut speed = 0.0;
    for field in fields::load() {
        let bytes: Vec<u8> = field.bytes.iter().cycle().take(mib << 20).copied().collect();
        for (profile, share) in [Profile::Fast, Profile::Adaptive]
            .into_iter()
            .flat_map(|p| [0.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-6].map(|share| (p, share)))
        {
            let p = Params { profile, ..bounded(&field, share) };
            let t = times(&p, &bytes, reps);
            speed = bytes.len() as f64 / 1e6 / t.copy;
            let ratio = bytes.len() as f64 / t.bytes as f64;
            let ceiling = 2.0 / (1.0 + 1.0 / ratio);
            let [c, d] = [t.compress, t.decompress].map(|ms| t.copy / ms);
            println!(
                "| {} | {} | {} | {ratio:.2} | {c:.2} | {:.0} % | {:.0} | {d:.2} | {:.0} % |",
                field.name,
                name_of(&p),
                profile.name(),
                100.0 * c / ceiling,
                c * speed,
                100.0 * d / ceiling
            );
        }
    }
    println!("\nmemcpy: {speed:.0} GB/s of {mib} MiB");
}

/// Codec interp: every field at each share.
pub fn interp(mib: usize, reps: usize, shares: &[f64]) {
    println!(
        "\n| {mib} MiB | bound | ratio | compress × memcpy | µs | decompress × memcpy | µs |\n\
        |---|---|---|---|---|---|---|"
    );
    for field in fields::load() {
        let (dims, bytes) = repeated(&field, mib << 20);
        for share in shares {
            let p = Params { profile: Profile::Small, dims, ..bounded(&field, *share) };
            let t = times(&p, &bytes, reps);
            println!(
                "| {} | {} | {:.2} | {:.3} | {:.0} | {:.3} | {:.0} |",
                field.name,
                name_of(&p),
                bytes.len() as f64 / t.bytes as f64,
                t.copy / t.compress,
                1e3 * t.compress,
                t.copy / t.decompress,
                1e3 * t.decompress
            );
        }
    }
}

/// Median microseconds of a whole call.
fn clock(reps: usize, mut run: impl FnMut()) -> f64 {
    run();
    let mut t: Vec<f64> = (0..reps)
        .map(|_| {
            let start = std::time::Instant::now();
            run();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    t.sort_by(f64::total_cmp);
    t[t.len() / 2]
}

/// A field of waves and a little noise, of which codec interp interpolates nearly all tiles.
fn waves() -> Field {
    let (r, lens) = (&mut Random(5), [64u64, 128, 256]);
    let value = |n: u64| {
        let [x, y, z] = [n % lens[2], n / lens[2] % lens[1], n / lens[2] / lens[1]].map(|at| at as f32);
        (x * 0.11).sin() * (y * 0.07).cos() + (z * 0.05 + x * 0.02).sin() + (y * 0.31).sin() * 0.1
    };
    let noise = |r: &mut Random| r.below(1000) as f32 * 4e-6;
    let bytes = (0..lens.iter().product()).flat_map(|n| (value(n) + noise(r)).to_le_bytes()).collect();
    Field { name: "waves".into(), dtype: DType::F32, bytes, dims: Dims::new(&lens).unwrap(), fill: None }
}

/// What previews of every second, fourth and eighth element take, beside the whole: synchronous calls.
pub fn previews(mib: usize, reps: usize) {
    println!("\n| {mib} MiB | profile | ratio | whole µs | stride 2 | 4 | 8 | µs |\n|---|---|---|---|---|---|---|---|");
    let fields = fields::load().into_iter().chain([waves()]);
    for field in fields.filter(|f| f.dims.rank() == 3 && f.dtype == DType::F32) {
        let (dims, bytes) = repeated(&field, mib << 20);
        for profile in [Profile::Small, Profile::Adaptive] {
            let stream = sleek::compress(&Params { profile, dims, ..bounded(&field, 1e-3) }, &bytes).unwrap();
            let (src, back) = (Memory::of(&stream), Memory::new(bytes.len()));
            let [whole, of2, of4, of8] = [0, 1, 2, 3].map(|level| {
                let (from, to) = ((src.at(0).cast_const(), stream.len()), (back.at(0), bytes.len()));
                clock(reps, || _ = unsafe { route::decompress_coarse(from, level, None, to, null_mut()) }.unwrap())
            });
            println!(
                "| {} | {} | {:.2} | {whole:.0} | {:.3} | {:.3} | {:.3} | {of2:.0} {of4:.0} {of8:.0} |",
                field.name,
                profile.name(),
                bytes.len() as f64 / stream.len() as f64,
                of2 / whole,
                of4 / whole,
                of8 / whole
            );
        }
    }
}

/// Arrays of one size in one launch, together as large as the arrays of the other table.
pub fn batches(mib: usize, reps: usize) {
    println!(
        "\n| KiB of an array | arrays | profile | ratio | compress × memcpy | decompress × memcpy \
        |\n|---|---|---|---|---|---|"
    );
    let Some(field) = fields::load().into_iter().find(|f| f.name.starts_with("navy")) else { return };
    let total = mib << 20;
    let src = Memory::of(&field.bytes.iter().cycle().take(total).copied().collect::<Vec<u8>>());
    let back = Memory::new(total);
    let memcpy = time(reps, || ok(unsafe { sys::cuMemcpyDtoDAsync_v2(back.0, src.0, total, null_mut()) }));
    for (kib, profile) in
        [64usize, 256, 1024, 4096, 16384].into_iter().flat_map(|kib| [(kib, Profile::Fast), (kib, Profile::Adaptive)])
    {
        let p = Params { profile, ..bounded(&field, 1e-3) };
        let (each, arrays) = (kib << 10, total / (kib << 10));
        let room = sleek::compress_bound(&p, each / 4).unwrap().next_multiple_of(16);
        let dst = Memory::new(room * arrays);
        let (results, workspace) = (Memory::new(16 * arrays), Memory::new(route::batch::workspace_bytes(arrays)));
        let items = |from: &Memory, to: &Memory, (a, b): (usize, usize)| -> Vec<Item> {
            let item = |i: usize| Item::new(from.at(i * a), to.at(i * b), each as u64 / 4, room as u64);
            (0..arrays).map(item).collect()
        };
        let (there, again) = (items(&src, &dst, (each, room)), items(&dst, &back, (room, each)));
        let (r, w) = (results.at(0), workspace.at(0));
        let c = time(reps, || unsafe { route::batch::compress_async(&p, &there, r, w, null_mut()) }.unwrap());
        let n: usize = (0..arrays).map(|i| result(&results, i).0).sum();
        let d = time(reps, || unsafe { route::batch::decompress_async(&p, &again, r, w, null_mut()) }.unwrap());
        assert!((0..arrays).all(|i| result(&results, i).1 == 0));
        let ratio = total as f64 / n as f64;
        println!("| {kib} | {arrays} | {} | {ratio:.2} | {:.2} | {:.2} |", profile.name(), memcpy / c, memcpy / d);
    }
}

/// Whole synchronous calls, and transfers between GPU and pinned host memory against raw pinned copies.
pub fn calls(reps: usize) {
    println!(
        "\n| field | KiB | ratio | compress µs | decompress µs | to host µs | raw copy µs | times | from host µs | raw \
        copy µs | times |\n|---|---|---|---|---|---|---|---|---|---|---|"
    );
    // Around ratios of 4, 8 and 60.
    for field in fields::load().iter().filter(|f| ["navy", "cth", "axisem"].iter().any(|n| f.name.starts_with(n))) {
        let p = Params { profile: Profile::Fast, ..Params::new(DType::F32).with_bound(Bound::noa(1e-3)) };
        for kib in [64usize, 256, 1024, 4096, 16384, 65536, 262144] {
            let data: Vec<u8> = field.bytes.iter().cycle().take(kib << 10).copied().collect();
            call(&field.name, &p, &data, reps);
        }
    }
}

fn call(name: &str, p: &Params, data: &[u8], reps: usize) {
    let (bytes, count) = (data.len(), data.len() / 4);
    let room = sleek::compress_bound(p, count).unwrap();
    let (src, dst, back) = (Memory::of(data), Memory::new(room), Memory::new(bytes));
    let mut pinned: *mut c_void = null_mut();
    ok(unsafe { sys::cuMemHostAlloc(&mut pinned, room.max(bytes), 0) });
    let host = pinned.cast::<u8>();
    let compress = |to: *mut u8| unsafe { route::compress(p, src.at(0), count, to, room, null_mut()) }.unwrap();
    let decompress = |from: *const u8, n: usize| {
        unsafe { route::decompress(Device::Auto, from, n, None, back.at(0), bytes, null_mut()) }.unwrap();
    };
    let n = compress(dst.at(0));
    let c = clock(reps, || _ = compress(dst.at(0)));
    let d = clock(reps, || decompress(dst.at(0), n));
    let down = clock(reps, || _ = compress(host));
    let up = clock(reps, || decompress(host, n));
    let raw = |copy: &dyn Fn() -> CUresult| {
        clock(reps, || {
            ok(copy());
            ok(unsafe { sys::cuStreamSynchronize(null_mut()) });
        })
    };
    let raw_down = raw(&|| unsafe { sys::cuMemcpyDtoHAsync_v2(pinned, src.0, bytes, null_mut()) });
    let raw_up = raw(&|| unsafe { sys::cuMemcpyHtoDAsync_v2(back.0, pinned, bytes, null_mut()) });
    println!(
        "| {name} | {} | {:.2} | {c:.0} | {d:.0} | {down:.0} | {raw_down:.0} | {:.1} | {up:.0} | {raw_up:.0} | {:.1} |",
        bytes >> 10,
        bytes as f64 / n as f64,
        raw_down / down,
        raw_up / up
    );
    ok(unsafe { sys::cuMemFreeHost(pinned) });
}
