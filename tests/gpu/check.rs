//! `gpu check` and its parts: bytes of the GPU beside those of the CPU.

use super::*;

/// Codec sleek, both profiles: losslessly, and at each bound.
pub fn settings(field: &Field, bounds: &[f64]) -> Vec<Params> {
    let mut all = Vec::new();
    // Streams with missing values are not compressed in a stream's order: such a field's range is given instead.
    let fills: Vec<f64> = field.fill.into_iter().collect();
    let values = (!fills.is_empty()).then(|| value_range(field.dtype, false, &fills, &field.bytes)).flatten();
    let range = values.map(|(min, max)| max - min);
    for profile in [Profile::Fast, Profile::Adaptive] {
        all.push(Params { profile, ..Params::new(field.dtype) });
        for bound in bounds {
            all.push(Params { profile, ..Params::new(field.dtype).with_bound(Bound::Noa { share: *bound, range }) });
        }
    }
    all
}

/// Fields of each float type with up to four missing values at rates from none to all, in every mode.
pub fn missing(r: &mut Random, small: bool) -> usize {
    let values = [-999.0, f64::NAN, 7.0, 1e4].map(MissingValue::Number);
    let modes = [Bound::Lossless, Bound::Abs(0.37), Bound::noa(1e-3), Bound::Rel(1e-2), Bound::Abs(1e-3)];
    let mut n = 0;
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        for one_in in [0, 1_000_000, 100, 2, 1] {
            for (round, bound) in modes.into_iter().enumerate() {
                let named = &values[..1 + (n % 4)];
                let bits: Vec<u64> = named.iter().map(|v| v.bits(dtype).unwrap()).collect();
                let size = dtype.size();
                let bytes = if small { 100_000 } else { 2_500_000 };
                let mut bytes: Vec<u8> = match round % 2 {
                    0 => smooth(dtype).into_iter().cycle().take(bytes).collect(),
                    _ => odd(dtype, bytes, r),
                };
                let big_endian = n % 5 == 3;
                for element in bytes.chunks_exact_mut(size) {
                    if one_in > 0 && r.next().is_multiple_of(one_in) {
                        let k = r.next() as usize % bits.len();
                        element.copy_from_slice(&bits[k].to_le_bytes()[..size]);
                    }
                    if big_endian {
                        element.reverse();
                    }
                }
                for profile in [Profile::Fast, Profile::Adaptive] {
                    let missing = MissingValues::of(named).unwrap();
                    let p = Params { profile, missing, big_endian, ..Params::new(dtype).with_bound(bound) };
                    compare(&p, &bytes, if n % 4 == 1 { size } else { 0 }, "missing");
                }
                n += 1;
            }
        }
    }
    2 * n
}

/// Both paths on one array: the same stream, the same array back, from the GPU's stream and from the CPU's.
pub fn compare(p: &Params, bytes: &[u8], offset: usize, what: &str) {
    assert!(compare_if_taken(p, bytes, offset, what), "{what} {p:?}: there are no kernels for it");
}

/// The same; whether there are kernels for it.
pub fn compare_if_taken(p: &Params, bytes: &[u8], offset: usize, what: &str) -> bool {
    let count = bytes.len() / p.dtype.size();
    let expected = sleek::compress(p, bytes).unwrap();
    let room = sleek::compress_bound(p, count).unwrap();
    let mut shifted = vec![0; offset];
    shifted.extend_from_slice(bytes);
    let (src, dst, back) = (Memory::of(&shifted), Memory::new(room), Memory::new(bytes.len() + offset));
    let n = match unsafe { route::compress(p, src.at(offset), count, dst.at(0), room, null_mut()) } {
        Err(e) if e.to_string().contains("has no kernels for") => return false,
        done => done.unwrap(),
    };
    assert!(dst.read(0, n) == expected, "{what} {p:?}: streams differ ({n} and {} bytes)", expected.len());
    let restored =
        unsafe { route::decompress(Device::Cuda, dst.at(0), n, None, back.at(offset), bytes.len(), null_mut()) };
    let n = match restored {
        Err(e) if e.to_string().contains("has no kernels for") => return false,
        done => done.unwrap(),
    };
    assert_eq!(n, bytes.len());
    assert!(back.read(offset, n) == sleek::decompress(&expected).unwrap(), "{what} {p:?}: restored differently");
    interp::looks(p, &expected, &dst, bytes.len(), what);
    true
}

/// Bits that no field has: random words cut to a random width per stretch, with runs, specials and outliers.
pub fn odd(dtype: DType, bytes: usize, r: &mut Random) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes + 8);
    let (mut left, mut keep, mut base) = (0u64, 0u64, 0u64);
    while out.len() < bytes {
        if left == 0 {
            left = r.next() % 900 + 1;
            keep = u64::MAX >> (r.next() % 64);
            base = if r.next().is_multiple_of(3) { 0 } else { r.next() };
        }
        left -= 1;
        let outlier = if r.next().is_multiple_of(97) { r.next() } else { 0 };
        out.extend_from_slice(&(base.wrapping_add((r.next() & keep) ^ outlier)).to_le_bytes()[..dtype.size()]);
    }
    out.truncate(bytes / dtype.size() * dtype.size());
    out
}

pub fn check() {
    let small = is_small();
    let mut n = 0;
    for mut field in fields::load() {
        if small {
            field.bytes.truncate(200_000);
        }
        for p in settings(&field, &[1e-1, 1e-2, 1e-3, 1e-4, 1e-6]) {
            compare(&p, &field.bytes, 0, &field.name);
            n += 1;
        }
    }
    let mut r = Random(0x9E3779B97F4A7C15);
    for dtype in DType::ALL {
        for round in 0..if small { 6 } else { 24 } {
            let bytes = match round {
                0..8 => r.next() as usize % 70000,
                8..20 => r.next() as usize % 3_000_000,
                _ => 40_000_000,
            };
            let bytes = if small { bytes % 100_000 } else { bytes };
            let bytes = odd(dtype, bytes, &mut r);
            let mut p = Params::new(dtype);
            if dtype.is_float() {
                p = match round % 5 {
                    0 => p.with_bound(Bound::Abs(0.37)),
                    1 => p.with_bound(Bound::Rel(1e-2)),
                    2 => p.with_bound(Bound::noa(1e-5)),
                    _ => p,
                };
            }
            p.profile = if round % 2 == 0 { Profile::Fast } else { Profile::Adaptive };
            p.big_endian = round % 7 == 3;
            compare(&p, &bytes, if round % 4 == 1 { dtype.size() } else { 0 }, "odd");
            n += 1;
        }
    }
    n += missing(&mut r, small);
    n += interp::check(small);
    n += zfp::check(small);
    corrupt(&mut r, if small { 20 } else { 300 });
    graph();
    batch(&mut r, if small { 20 } else { 500 });
    if !small {
        large();
    }
    println!("gpu check: {n} arrays, streams and restored arrays equal to the CPU's");
}

/// Damaged streams are refused where the CPU refuses them and never written beyond the end.
pub fn corrupt(r: &mut Random, rounds: u32) {
    let bytes = odd(DType::F32, 200_000, r);
    let sound = sleek::compress(&Params::new(DType::F32), &bytes).unwrap();
    for round in 0..rounds {
        let mut stream = sound.clone();
        let at = r.next() as usize % stream.len();
        stream[if round % 2 == 0 { at } else { at % 200 }] ^= 1 << (r.next() % 8);
        let (src, dst) = (Memory::of(&stream), Memory::new(bytes.len() + 4096));
        let gpu = unsafe {
            route::decompress(Device::Auto, src.at(0), stream.len(), None, dst.at(0), bytes.len(), null_mut())
        };
        assert!(gpu.is_err() && sleek::decompress(&stream).is_err(), "round {round}");
        assert!(dst.read(bytes.len(), 4096).iter().all(|b| *b == 0xA5), "round {round}: written beyond the end");
    }
}

/// Both asynchronous calls in a CUDA graph on a stream of its own, replayed on other data.
pub fn graph() {
    let p = Params::new(DType::F32).with_bound(Bound::noa(1e-4));
    let (first, second) = (odd(DType::F32, 3_000_000, &mut Random(21)), odd(DType::F32, 3_000_000, &mut Random(22)));
    let count = first.len() / 4;
    let room = sleek::compress_bound(&p, count).unwrap();
    let (src, dst, back) = (Memory::of(&first), Memory::new(room), Memory::new(first.len()));
    let (workspace, other) = (Memory::new(route::WORKSPACE_BYTES), Memory::new(route::WORKSPACE_BYTES));
    let (made, restored) = (Memory::new(16), Memory::new(16));
    let (mut stream, mut graph, mut ready) = (null_mut(), null_mut(), null_mut());
    unsafe {
        ok(sys::cuStreamCreate(&mut stream, 1));
        ok(sys::cuStreamBeginCapture_v2(stream, sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL));
        let s = stream.cast::<c_void>();
        route::compress_async(&p, src.at(0), count, dst.at(0), room, made.at(0), workspace.at(0), s).unwrap();
        route::decompress_async(&p, dst.at(0), room, back.at(0), (0, count as u64), restored.at(0), other.at(0), s)
            .unwrap();
        ok(sys::cuStreamEndCapture(stream, &mut graph));
        ok(sys::cuGraphInstantiateWithFlags(&mut ready, graph, 0));
        for data in [&first, &second] {
            ok(sys::cuMemcpyHtoD_v2(src.0, data.as_ptr().cast(), data.len()));
            finished();
            ok(sys::cuGraphLaunch(ready, stream));
            ok(sys::cuStreamSynchronize(stream));
            let expected = sleek::compress(&p, data).unwrap();
            assert_eq!((result(&made), result(&restored).1), ((expected.len(), 0), 0));
            assert!(
                dst.read(0, expected.len()) == expected
                    && back.read(0, data.len()) == sleek::decompress(&expected).unwrap()
            );
        }
        ok(sys::cuGraphExecDestroy(ready));
        ok(sys::cuGraphDestroy(graph));
        ok(sys::cuStreamDestroy_v2(stream));
    }
}

/// A batch of arrays of all lengths, one of them long, of each profile of codec sleek.
pub fn batch(r: &mut Random, arrays: usize) {
    for profile in [Profile::Fast, Profile::Adaptive] {
        let p = Params { profile, ..Params::new(DType::F64).with_bound(Bound::noa(1e-4)) };
        captured::check(&p, arrays, |i| if i == 3 { 5_000_000 } else { 200_000 }, r);
    }
}

/// More than 4 GiB of each codec, bit for bit and within a bound, made by repetition on the device. What comes back is
/// compared on the host piece by piece, with what the CPU makes of one: pieces end where chunks do.
pub fn large() {
    let piece = odd(DType::F64, 64 << 20, &mut Random(5));
    let copies = 67;
    let total = piece.len() * copies;
    let src = Memory::new(total);
    for i in 0..copies {
        ok(unsafe { sys::cuMemcpyHtoD_v2(src.0 + (i * piece.len()) as u64, piece.as_ptr().cast(), piece.len()) });
    }
    let lossless = Params { device: Device::Cuda, ..Params::new(DType::F64) };
    let bounded = lossless.clone().with_bound(Bound::Abs(0.37));
    for p in [
        Params { profile: Profile::Fast, ..lossless.clone() },
        Params { profile: Profile::Adaptive, ..bounded },
        Params { codec: 3, ..lossless.with_bound(Bound::Rate(16.0)) },
    ] {
        large_one(&p, &src, &piece, copies);
    }
}

pub fn large_one(p: &Params, src: &Memory, piece: &[u8], copies: usize) {
    let total = piece.len() * copies;
    let room = sleek::compress_bound(p, total / 8).unwrap();
    let (dst, back) = (Memory::new(room), Memory::new(total));
    let n = unsafe { route::compress(p, src.at(0), total / 8, dst.at(0), room, null_mut()) }.unwrap();
    unsafe { route::decompress(Device::Cuda, dst.at(0), n, None, back.at(0), total, null_mut()) }.unwrap();
    let wanted = sleek::decompress(&sleek::compress(p, piece).unwrap()).unwrap();
    assert!(p.bound != Bound::Lossless || wanted == piece);
    for i in [0, 1, copies / 2, copies - 1] {
        assert!(back.read(i * piece.len(), piece.len()) == wanted, "piece {i}, {p:?}");
    }
    let gib = |bytes: usize| bytes as f64 / (1u64 << 30) as f64;
    println!(
        "{:.2} GiB there and back, stream of {:.2} GiB: {}, {}",
        gib(total),
        gib(n),
        p.profile.name(),
        p.bound.mode().name()
    );
}
