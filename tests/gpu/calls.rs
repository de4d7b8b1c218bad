//! `gpu calls` and `gpu first`: whole calls as a program makes them.

use super::*;

/// Median microseconds of a whole call.
pub fn clock(reps: usize, mut run: impl FnMut()) -> f64 {
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

/// Whole synchronous calls, and transfers between GPU and pinned host memory against raw pinned copies.
pub fn calls(reps: usize) {
    println!(
        "\n| field | KiB | ratio | compress µs | decompress µs | to host µs | raw copy µs | times | from host µs | raw \
        copy µs | times |\n|---|---|---|---|---|---|---|---|---|---|---|"
    );
    for field in fields::load().iter().filter(|f| ["navy", "cth", "axisem"].iter().any(|n| f.name.starts_with(n))) {
        // Around ratios of 4, 8 and 60.
        let p = Params { profile: Profile::Fast, ..Params::new(DType::F32).with_bound(Bound::noa(1e-3)) };
        for kib in [64usize, 256, 1024, 4096, 16384, 65536, 262144] {
            call(&field.name, &p, &field.bytes.iter().cycle().take(kib << 10).copied().collect::<Vec<_>>(), reps);
        }
    }
}

pub fn call(name: &str, p: &Params, data: &[u8], reps: usize) {
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
    let c = clock(reps, || {
        compress(dst.at(0));
    });
    let d = clock(reps, || decompress(dst.at(0), n));
    let down = clock(reps, || {
        compress(host);
    });
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

/// A smooth array of about 1 MiB.
pub fn smooth(dtype: DType) -> Vec<u8> {
    let wave = (0..(1usize << 20) / dtype.size()).map(|i| (i as f64 * 1e-3).sin());
    match dtype {
        DType::F32 => wave.flat_map(|v| (v as f32).to_le_bytes()).collect(),
        DType::F64 => wave.flat_map(f64::to_le_bytes).collect(),
        // The upper half of an f32 is a bf16; with the exponent of 1, ten bits of mantissa make an f16.
        DType::BF16 => wave.flat_map(|v| ((v as f32).to_bits() >> 16).to_le_bytes()[..2].to_vec()).collect(),
        DType::F16 => wave.flat_map(|v| (0x3c00 | (500.0 + 500.0 * v) as u16).to_le_bytes()).collect(),
        _ => wave.flat_map(|v| ((100.0 * v) as i64).to_le_bytes()[..dtype.size()].to_vec()).collect(),
    }
}

/// What a program may ask for first, such that each module of kernels is loaded by some of it; `None` where it is not
/// for this type.
pub fn first_asked(what: &str, dtype: DType) -> Option<Params> {
    let lossless = Params { device: Device::Cuda, ..Params::new(dtype) };
    let bounded = if dtype.is_float() { lossless.clone().with_bound(Bound::noa(1e-3)) } else { lossless.clone() };
    let missing = MissingValues::of(&[MissingValue::Number(-9999.0)]).unwrap();
    match what {
        "fast" => Some(Params { profile: Profile::Fast, ..bounded }),
        "adaptive" => Some(Params { profile: Profile::Adaptive, ..bounded }),
        "zfp" => matches!(dtype, DType::F32 | DType::F64)
            .then(|| Params { codec: 3, ..lossless.with_bound(Bound::Rate(16.0)) }),
        "fast, a missing value" if dtype.is_float() => Some(Params { profile: Profile::Fast, missing, ..bounded }),
        "adaptive, a missing value" if dtype.is_float() => {
            Some(Params { profile: Profile::Adaptive, missing, ..bounded })
        }
        _ => None,
    }
}

/// What a first call takes above later ones, in new processes whose driver keeps nothing of what it compiled.
pub fn first() {
    println!("\n| type | asked | first compress ms | above a later one | first decompress ms | above a later one |");
    println!("|---|---|---|---|---|---|");
    let mut most = 0f64;
    for dtype in DType::ALL {
        let all = ["fast", "adaptive", "zfp", "fast, a missing value", "adaptive, a missing value"];
        for what in all.into_iter().filter(|what| first_asked(what, dtype).is_some()) {
            let of = |call: &str| {
                let told = std::process::Command::new(std::env::current_exe().unwrap())
                    .args(["first-call", dtype.name(), what, call])
                    .env("CUDA_CACHE_DISABLE", "1")
                    .output()
                    .unwrap();
                assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
                let text = String::from_utf8(told.stdout).unwrap();
                let (first, later) = text.trim().split_once(' ').unwrap();
                let (first, later) = (first.parse::<f64>().unwrap(), later.parse::<f64>().unwrap());
                (first, first - later)
            };
            let ((c, c_above), (d, d_above)) = (of("compress"), of("decompress"));
            most = most.max(c_above).max(d_above);
            println!("| {} | {what} | {c:.1} | {c_above:.1} | {d:.1} | {d_above:.1} |", dtype.name());
        }
    }
    println!("\nA first call takes at most {most:.1} ms above later ones; 100 are allowed.");
}

/// Milliseconds of the first call of this process, and the median of later ones.
pub fn first_call(dtype: &str, what: &str, call: &str) {
    let dtype = DType::from_name(dtype).unwrap();
    let p = first_asked(what, dtype).unwrap_or_else(|| panic!("{what} is not for {}", dtype.name()));
    let data = smooth(dtype);
    let count = data.len() / dtype.size();
    let room = sleek::compress_bound(&p, count).unwrap();
    // By the CPU, so that no kernel is there yet.
    let stream = sleek::compress(&Params { device: Device::Cpu, ..p.clone() }, &data).unwrap();
    let (src, from, to) = (Memory::of(&data), Memory::of(&stream), Memory::new(room.max(data.len())));
    let run = || match call {
        "compress" => {
            unsafe { route::compress(&p, src.at(0), count, to.at(0), room, null_mut()) }.unwrap();
        }
        _ => {
            unsafe {
                route::decompress(Device::Cuda, from.at(0), stream.len(), None, to.at(0), data.len(), null_mut())
            }
            .unwrap();
        }
    };
    let start = std::time::Instant::now();
    run();
    let first = start.elapsed().as_secs_f64() * 1e3;
    let wanted: &[u8] = if call == "compress" { &stream } else { &sleek::decompress(&stream).unwrap() };
    assert!(to.read(0, wanted.len()) == wanted, "the bytes are not those of the CPU");
    println!("{first} {}", clock(11, run) / 1e3);
}
