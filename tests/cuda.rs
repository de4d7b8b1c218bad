//! The GPU path without a GPU: tests/gpu/driver.cpp stands in for the CUDA driver and runs the library's own kernels on the CPU,
//! so that host code and kernels are tested together, bit for bit against the CPU path.
#![allow(clippy::undocumented_unsafe_blocks)] // every one calls the stand-in driver, or reads its memory, which is the host's
#![cfg(all(feature = "cuda", target_os = "linux"))]

#[path = "gpu/shim.rs"]
mod shim;

use std::ffi::c_void;
use std::path::PathBuf;

use sleek::cuda::batch::{self, Item};
use sleek::device::{self, Place};
use sleek::{DType, Device, Kind, Mode, Params, Profile};

use shim::{Memory, Shim};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn element(dtype: DType, v: f64) -> Vec<u8> {
    match dtype {
        DType::F32 => (v as f32).to_le_bytes().to_vec(),
        DType::F64 => v.to_le_bytes().to_vec(),
        DType::BF16 => ((v as f32).to_bits() >> 16).to_le_bytes()[..2].to_vec(),
        DType::F16 => {
            // Rounded toward zero; too large becomes infinite, too small zero.
            let b = (v as f32).to_bits();
            let e = (b >> 23 & 255) as i32 - 112;
            let h = if e >= 31 {
                0x7c00
            } else if e <= 0 {
                0
            } else {
                (e as u32) << 10 | b >> 13 & 0x3ff
            };
            (h | b >> 16 & 0x8000).to_le_bytes()[..2].to_vec()
        }
        _ => (v as i64).to_le_bytes()[..dtype.size()].to_vec(),
    }
}

/// Kinds of data that between them reach every mode, width and chunk kind.
const KINDS: [&str; 10] =
    ["smooth", "noise", "bits", "constant", "steps", "spikes", "ramp", "specials", "widths", "far"];

fn data(kind: &str, dtype: DType, count: usize, r: &mut Random) -> Vec<u8> {
    let size = dtype.size();
    let mut out = Vec::with_capacity(count * size);
    let scale = if dtype == DType::F16 { 50.0 } else { 100.0 };
    let mut walk = 280.0;
    for i in 0..count {
        let x = i as f64;
        let v = match kind {
            "smooth" => scale * ((x * 0.003).sin() + 0.1 * (x * 0.05).cos()),
            "noise" => scale * (r.unit() - 0.5),
            "constant" => 7.25,
            "steps" => (i / 700) as f64 * 3.0,
            "spikes" => {
                if r.next().is_multiple_of(50) {
                    1000.0 * r.unit()
                } else {
                    0.5 * r.unit()
                }
            }
            // Here and there as many steps of 2^-6 below zero as twice the number that rounds in the kernels.
            "far" => match r.next() % 300 {
                0 => -393216.0 + r.unit(),
                1 => -211106232532992.0 + r.unit(),
                _ => 5.0 * r.unit(),
            },
            "ramp" => x * 0.25 + x * x * 1e-4,
            "widths" => {
                walk += (r.unit() - 0.5) * f64::from(1u32 << (i / 300 % 28)) * 1e-3;
                walk
            }
            _ => 0.0,
        };
        match kind {
            "bits" => out.extend_from_slice(&r.next().to_le_bytes()[..size]),
            "specials" if dtype.is_float() => {
                let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 1e-40, -1e38, 1.0, 3e38, 5e-324];
                let v = if r.next().is_multiple_of(9) { odd[(r.next() % 10) as usize] } else { r.unit() - 0.5 };
                out.extend(element(dtype, v));
            }
            "specials" => out.extend(element(dtype, if r.next().is_multiple_of(9) { -1e18 } else { x })),
            _ => out.extend(element(dtype, v)),
        }
    }
    out
}

fn settings(dtype: DType) -> Vec<Params> {
    let mut all = vec![Params::new(dtype)];
    if dtype.is_float() {
        for (mode, bound) in [
            (Mode::Abs, 0.01),
            (Mode::Abs, 3.0),
            (Mode::Noa, 1e-3),
            (Mode::Rel, 1e-2),
            (Mode::Noa, 1e-6),
            (Mode::Abs, 0.0),
        ] {
            all.push(Params::new(dtype).with_bound(mode, bound));
        }
    }
    let fast: Vec<Params> = all.iter().map(|p| Params { profile: Profile::Fast, ..p.clone() }).collect();
    all.extend(fast);
    let swapped: Vec<Params> = all.iter().take(3).map(|p| Params { big_endian: true, ..p.clone() }).collect();
    all.extend(swapped);
    all
}

fn swap(bytes: &mut [u8], size: usize) {
    bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
}

/// Compresses and restores on both paths and compares every byte; device pointers with the given offset.
fn compare(shim: &'static Shim, p: &Params, bytes: &[u8], offset: usize, what: &str) {
    let size = p.dtype.size();
    let count = bytes.len() / size;
    let expected = sleek::compress(p, bytes).unwrap();
    let room = sleek::compress_bound(p, count).unwrap();
    let src = shim.upload(0, bytes, offset);
    let dst = shim.allocate(0, room);
    let n = unsafe { device::compress(p, src.at(offset), count, dst.at(0), room, std::ptr::null_mut()) }.unwrap();
    let stream = dst.read(0, n);
    if stream != expected {
        let at = stream.iter().zip(&expected).position(|(a, b)| a != b);
        panic!("{what} {p:?}: {n} bytes, {} expected, first difference at {at:?}", expected.len());
    }
    let back = shim.allocate(0, bytes.len() + offset);
    let restored = sleek::decompress(&expected).unwrap();
    let n = unsafe {
        device::decompress(
            Device::Auto,
            dst.at(0),
            stream.len(),
            None,
            back.at(offset),
            bytes.len(),
            std::ptr::null_mut(),
        )
    };
    assert_eq!(n.unwrap_or_else(|e| panic!("{what} {p:?}: {e}")), bytes.len());
    if back.read(offset, bytes.len()) != restored {
        let got = back.read(offset, bytes.len());
        let at = got.iter().zip(&restored).position(|(a, b)| a != b);
        panic!("{what} {p:?}: restored differently from byte {at:?}");
    }
}

#[test]
fn every_type_mode_and_profile_gives_the_bytes_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(88172645463325252);
    for dtype in DType::ALL {
        let per_chunk = 16384 / dtype.size();
        for (i, kind) in KINDS.into_iter().enumerate() {
            // Two chunks and a part, so that a chunk is whole, one follows another, and the last one is short.
            let count = 2 * per_chunk + [1, per_chunk / 3, per_chunk - 1][i % 3];
            let bytes = data(kind, dtype, count, &mut r);
            for (j, p) in settings(dtype).iter().enumerate() {
                let mut bytes = bytes.clone();
                if p.big_endian {
                    swap(&mut bytes, dtype.size());
                }
                shim.set([4, 1, 3][(i + j) % 3], (i * 31 + j) as u32 % 5);
                compare(shim, p, &bytes, 0, &format!("{kind} {dtype:?} {count}"));
            }
        }
    }
}

/// Words of 16 bits go two in a register: every one of them, beside its neighbour, beside that of the other sign, and beside any.
#[test]
fn every_word_of_16_bits() {
    let (shim, _turn) = Shim::get();
    for dtype in [DType::F16, DType::BF16] {
        for factor in [1u16, 0x8001, 40503] {
            let bytes: Vec<u8> = (0..=u16::MAX).flat_map(|i| i.wrapping_mul(factor).to_le_bytes()).collect();
            for profile in [Profile::Fast, Profile::Adaptive] {
                let lossless = Params { profile, ..Params::new(dtype) };
                compare(shim, &lossless, &bytes, 0, &format!("factor {factor}"));
                for bound in [0.1, 1.25, 1.5, 1.75, 9.0] {
                    let p = lossless.clone().with_bound(Mode::Abs, bound);
                    compare(shim, &p, &bytes, 0, &format!("factor {factor}"));
                }
            }
        }
        // Powers of two and the words beside them, each alone in a subchunk: where numbers are kept bit for bit begins at one.
        let alone = |w: u16| (0..256).flat_map(move |i| if i == w % 251 { w } else { 0 }.to_le_bytes());
        let powers = (0..=u16::MAX).step_by(1 << 10).flat_map(|w| [w.wrapping_sub(1), w, w + 1]);
        let fast = Params { profile: Profile::Fast, ..Params::new(dtype) };
        compare(shim, &fast.with_bound(Mode::Abs, 0.1), &powers.flat_map(alone).collect::<Vec<u8>>(), 0, "alone");
    }
}

#[test]
fn bins_of_values_between_two_are_those_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(7);
    for dtype in [DType::F32, DType::F64] {
        // Where the step is twice the bound no bin is sure without a check, as it is for 0.375 and 5, else those near 0 are.
        for bound in [0.375, 5.0, 0.3, 1e-3] {
            let bytes: Vec<u8> = (0..3 * 16384 / dtype.size() + 7)
                .flat_map(|i| {
                    let bin = ((r.unit() - 0.5) * f64::from(1u32 << (i / 256 % 22))).round();
                    let beside = [0.0, 1e-7, -1e-7][i % 3] * (bin.abs() + 1.0);
                    element(dtype, (2.0 * bin + 1.0 + beside) * bound)
                })
                .collect();
            shim.set(2, u32::from(bound < 1.0));
            compare(shim, &Params::new(dtype).with_bound(Mode::Abs, bound), &bytes, 0, &format!("{dtype:?} {bound}"));
        }
    }
}

#[test]
fn every_length_and_alignment() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(2463534242);
    for dtype in [DType::F32, DType::F64, DType::BF16, DType::U8] {
        let per_chunk = 16384 / dtype.size();
        for count in [0, 1, 2, 3, 127, 128, 129, per_chunk - 1, per_chunk, per_chunk + 1, 5 * per_chunk] {
            let bytes = data("smooth", dtype, count, &mut r);
            for p in [Params::new(dtype), Params { profile: Profile::Fast, ..Params::new(dtype) }] {
                compare(shim, &p, &bytes, 0, "length");
                compare(shim, &p, &bytes, dtype.size(), "offset");
            }
        }
    }
}

#[test]
fn many_chunks_wait_for_each_other() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(77);
    // More than a group, more than the look-ahead reads at once.
    let bytes = data("widths", DType::F32, 4096 * 300 + 17, &mut r);
    for (blocks, seed) in [(1, 0), (2, 3), (7, 1), (8, 9)] {
        shim.set(blocks, seed);
        let p = Params { profile: Profile::Fast, ..Params::new(DType::F32).with_bound(Mode::Noa, 1e-4) };
        compare(shim, &p, &bytes, 0, "many");
    }
    compare(shim, &Params::new(DType::F32).with_bound(Mode::Abs, 1e-2), &bytes, 0, "many");
}

#[test]
fn ranges() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(5);
    for dtype in [DType::F32, DType::F64, DType::F16] {
        let size = dtype.size();
        let count = 70 * 16384 / size + 100;
        let bytes = data("smooth", dtype, count, &mut r);
        let stream = sleek::compress(&Params::new(dtype).with_bound(Mode::Abs, 1e-3), &bytes).unwrap();
        let whole = sleek::decompress(&stream).unwrap();
        let src = shim.upload(0, &stream, 0);
        for (first, n) in [
            (0, count),
            (0, 1),
            (count - 1, 1),
            (4095, 2),
            (4096, 4096),
            (1000, 12345),
            (64 * 16384 / size - 3, 50),
            (17, 0),
        ] {
            let dst = shim.allocate(0, n * size);
            let written = unsafe {
                device::decompress(
                    Device::Auto,
                    src.at(0),
                    stream.len(),
                    Some((first as u64, n)),
                    dst.at(0),
                    n * size,
                    std::ptr::null_mut(),
                )
            };
            assert_eq!(written.unwrap(), n * size);
            assert_eq!(dst.read(0, n * size), &whole[first * size..(first + n) * size], "{dtype:?} {first} {n}");
        }
        let dst = shim.allocate(0, size);
        let beyond = unsafe {
            device::decompress(
                Device::Auto,
                src.at(0),
                stream.len(),
                Some((count as u64, 1)),
                dst.at(0),
                size,
                std::ptr::null_mut(),
            )
        };
        assert_eq!(beyond.unwrap_err().kind, Kind::OutOfRange);
    }
}

/// The header has the range, so that equal bytes are equal ranges.
#[test]
fn value_ranges_leave_out_what_does_not_count() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(4711);
    let (infinity, nan) = (f64::INFINITY, f64::NAN);
    // What lies among smooth data, the first of it at both ends; and fill values: ends of the range, what hides an end, no number of the type.
    let odd = [[-200.0, 300.0, 7.0], [-0.0, 0.0, -200.0], [nan, infinity, -infinity], [300.0, nan, -infinity]];
    let fills = [None, Some(300.0), Some(-200.0), Some(0.0), Some(nan), Some(infinity), Some(0.1), Some(1e300)];
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        let size = dtype.size();
        // One element; less than a vector; several pieces, some vectors and a few elements more; and all of these at any offset.
        for (round, count) in [1, 5, 16 / size, (2 * 16384 + 1600) / size + 3].into_iter().enumerate() {
            for (i, fill) in fills.into_iter().enumerate() {
                let kept = odd[(round + i) % odd.len()];
                let mut bytes = data("smooth", dtype, count, &mut r);
                for at in [0, count - 1].into_iter().chain((0..count).filter(|_| r.next().is_multiple_of(40))) {
                    let v = if at == 0 || at + 1 == count { kept[0] } else { kept[at % 3] };
                    bytes[at * size..(at + 1) * size].copy_from_slice(&element(dtype, v));
                }
                check_range(shim, dtype, fill, i, &mut bytes);
            }
            // Nothing counts; zeros alone; numbers below the normal ones; any bits.
            for (i, v) in [nan, infinity, -infinity, 5.0, 0.0, -0.0].into_iter().enumerate() {
                let mut bytes = element(dtype, v).repeat(count);
                if v == 0.0 {
                    (0..count).step_by(3).for_each(|at| bytes[(at + 1) * size - 1] ^= 0x80);
                }
                check_range(shim, dtype, Some(5.0), i, &mut bytes);
            }
            let mut bytes = data("bits", dtype, count, &mut r);
            check_range(shim, dtype, None, round, &mut bytes);
            // Without the exponent, whose lowest bits are in the byte below the highest where it has 8 or 11.
            let kept = if dtype == DType::F16 { [0xff, 0x83] } else { [0x0f, 0x80] };
            bytes.chunks_exact_mut(size).for_each(|b| (0..2).for_each(|i| b[size - 2 + i] &= kept[i]));
            check_range(shim, dtype, None, round + 1, &mut bytes);
        }
    }
}

/// Compares a range that is measured on both paths, in either byte order, at an offset that goes with `round`.
fn check_range(shim: &'static Shim, dtype: DType, fill: Option<f64>, round: usize, bytes: &mut [u8]) {
    let offset = [0, dtype.size(), 1, 16 - dtype.size()][round % 4];
    let p = Params { fill_value: fill, profile: Profile::Fast, ..Params::new(dtype).with_bound(Mode::Noa, 1e-3) };
    compare(shim, &p, bytes, offset, &format!("offset {offset}, fill value {fill:?}"));
    swap(bytes, dtype.size());
    compare(shim, &Params { big_endian: true, ..p }, bytes, offset, &format!("offset {offset}, fill value {fill:?}"));
    swap(bytes, dtype.size());
}

/// Puts a checksum that fits over header and index, and over group 0, as a hostile writer would.
fn resign(stream: &mut [u8]) {
    use sleek::stage::checksum;
    let count = u64::from_le_bytes(stream[16..24].try_into().unwrap());
    if count > 1 << 20 {
        return;
    }
    let chunks = (count as usize * 4).div_ceil(16384);
    let groups = chunks.div_ceil(64);
    let entries = 64 + 16 * groups;
    let bodies = (entries + 2 * chunks).next_multiple_of(16);
    if bodies > stream.len() {
        return;
    }
    let mut at = bodies;
    for g in 0..groups {
        let mut sum = 0u64;
        for c in g * 64..((g + 1) * 64).min(chunks) {
            let units = (stream[entries + 2 * c] as usize | (stream[entries + 2 * c + 1] as usize & 7) << 8) * 16;
            let Some(body) = stream.get(at..at + units) else { return };
            sum = sum.wrapping_add(checksum::of_chunk(body, c % 64));
            at += units;
        }
        stream[64 + 16 * g + 8..64 + 16 * g + 16].copy_from_slice(&sum.to_le_bytes());
    }
    let sum = checksum::of_index(&stream[..bodies]);
    stream[56..64].copy_from_slice(&sum.to_le_bytes());
}

#[test]
fn corrupt_streams_are_refused_as_on_the_cpu() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(99);
    let bytes = data("spikes", DType::F32, 4096 * 2, &mut r);
    let p = Params::new(DType::F32).with_bound(Mode::Abs, 1e-2);
    let sound = sleek::compress(&p, &bytes).unwrap();
    let mut refused = 0;
    for round in 0..600 {
        let mut stream = sound.clone();
        for _ in 0..=round % 3 {
            // Header and tails steer the decoder; the payload does not.
            let at = match r.next() % 4 {
                0 => r.next() as usize % 96,
                1 => 96 + r.next() as usize % 16,
                _ => r.next() as usize % stream.len(),
            };
            stream[at] ^= 1 << (r.next() % 8);
        }
        if round % 4 == 3 {
            stream.truncate(r.next() as usize % stream.len());
        } else if round % 2 == 0 {
            resign(&mut stream);
        }
        let src = shim.upload(0, &stream, 0);
        let dst = shim.allocate(0, bytes.len() + 64);
        let gpu = unsafe {
            device::decompress(
                Device::Auto,
                src.at(0),
                stream.len(),
                None,
                dst.at(0),
                bytes.len(),
                std::ptr::null_mut(),
            )
        };
        let cpu = sleek::decompress(&stream);
        assert_eq!(gpu.is_ok(), cpu.is_ok(), "round {round}: {gpu:?}, {:?}", cpu.err());
        refused += u32::from(cpu.is_err());
        if let Ok(restored) = cpu {
            assert_eq!(dst.read(0, restored.len()), restored);
        }
        assert!(dst.read(bytes.len(), 64).iter().all(|b| *b == 0xA5), "round {round}: written beyond the end");
    }
    assert!((300..600).contains(&refused), "{refused}");
}

#[test]
fn pointers_of_every_kind_mix() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(3);
    let bytes = data("smooth", DType::F64, 5000, &mut r);
    let p = Params::new(DType::F64).with_bound(Mode::Abs, 1e-4);
    let expected = sleek::compress(&p, &bytes).unwrap();
    let room = sleek::compress_bound(&p, 5000).unwrap();
    // Device 1, to see that the number is found out.
    let (on_gpu, gpu_room) = (shim.upload(1, &bytes, 0), shim.allocate(1, room));
    assert_eq!(device::place(on_gpu.at(8).cast()), Place::Device(1));
    assert_eq!(device::place(bytes.as_ptr().cast()), Place::Host);
    let mut host = vec![0; room];
    // Device to host: a compressed download. A caller's context stays current.
    shim.set_current(0x1000);
    let n = unsafe { device::compress(&p, on_gpu.at(0), 5000, host.as_mut_ptr(), room, std::ptr::null_mut()) }.unwrap();
    assert_eq!(host[..n], expected);
    // A context keeps one workspace; nothing else of a call stays. Device 0 has its own from here on.
    let cuda = Params { device: Device::Cuda, ..p.clone() };
    unsafe { device::compress(&cuda, bytes.as_ptr(), 5000, host.as_mut_ptr(), room, std::ptr::null_mut()) }.unwrap();
    let live = shim.number("shim_live_allocations");
    // Host to device: the compressed upload of a stream.
    let back = shim.allocate(1, bytes.len());
    unsafe { device::decompress(Device::Auto, host.as_ptr(), n, None, back.at(0), bytes.len(), std::ptr::null_mut()) }
        .unwrap();
    assert_eq!(back.read(0, bytes.len()), sleek::decompress(&expected).unwrap());
    drop(back);
    // Host to device compression, and everything on the host by request.
    let n = unsafe { device::compress(&p, bytes.as_ptr(), 5000, gpu_room.at(0), room, std::ptr::null_mut()) }.unwrap();
    assert_eq!(gpu_room.read(0, n), expected);
    let launches = shim.number("shim_launches");
    let n = unsafe { device::compress(&cuda, bytes.as_ptr(), 5000, host.as_mut_ptr(), room, std::ptr::null_mut()) }
        .unwrap();
    assert_eq!(host[..n], expected);
    assert!(shim.number("shim_launches") > launches);
    assert_eq!(shim.current(), 0x1000);
    assert_eq!(shim.number("shim_live_allocations"), live);
    assert_eq!(gpu_room.read(0, n), expected);
    // A stream of the other device, and a CPU that cannot reach the data.
    let stream = 0x5000 as *mut c_void;
    let wrong = unsafe { device::compress(&p, on_gpu.at(0), 5000, host.as_mut_ptr(), room, stream) };
    assert_eq!(wrong.unwrap_err().kind, Kind::InvalidArgument);
    let cpu = Params { device: Device::Cpu, ..p.clone() };
    let wrong = unsafe { device::compress(&cpu, on_gpu.at(0), 5000, host.as_mut_ptr(), room, std::ptr::null_mut()) };
    assert_eq!(wrong.unwrap_err().kind, Kind::InvalidArgument);
    // The caller's stream is the one that is used.
    let stream = 0x5100 as *mut c_void;
    unsafe { device::compress(&p, on_gpu.at(0), 5000, host.as_mut_ptr(), room, stream) }.unwrap();
    let last: extern "C" fn() -> *mut c_void = unsafe { std::mem::transmute(shim.symbol("shim_last_stream")) };
    assert_eq!(last(), stream);
    assert_eq!(shim.current(), 0x1000);
    shim.set_current(0);
}

#[test]
fn too_little_room() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(4);
    let bytes = data("bits", DType::F32, 4096 * 3, &mut r);
    let p = Params::new(DType::F32);
    let need = sleek::compress(&p, &bytes).unwrap().len();
    let src = shim.upload(0, &bytes, 0);
    for room in [0, 64, 100, need - 1, need] {
        let dst = shim.allocate(0, need + 64);
        let done = unsafe { device::compress(&p, src.at(0), 4096 * 3, dst.at(0), room, std::ptr::null_mut()) };
        if room == need {
            assert_eq!(done.unwrap(), need);
        } else {
            assert_eq!(done.unwrap_err().kind, Kind::BufferTooSmall, "{room}");
        }
        assert!(dst.read(room, need + 64 - room).iter().all(|b| *b == 0xA5), "{room}");
    }
}

#[test]
fn asynchronous_calls_leave_their_result_on_the_device() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(6);
    let bytes = data("smooth", DType::F32, 10000, &mut r);
    let p = Params::new(DType::F32).with_bound(Mode::Noa, 1e-3);
    let expected = sleek::compress(&p, &bytes).unwrap();
    let room = sleek::compress_bound(&p, 10000).unwrap();
    let (src, dst, back) = (shim.upload(0, &bytes, 0), shim.allocate(0, room), shim.allocate(0, bytes.len()));
    let (workspace, result) = (shim.allocate(0, sleek::cuda::WORKSPACE_BYTES), shim.allocate(0, 16));
    sleek::cuda::prepare(DType::F32, 0, std::ptr::null_mut()).unwrap();
    let (live, waits) = (shim.number("shim_live_allocations"), shim.number("shim_waits"));
    unsafe {
        let null = std::ptr::null_mut();
        sleek::cuda::compress_async(&p, src.at(0), 10000, dst.at(0), room, result.at(0), workspace.at(0), null)
            .unwrap();
        assert_eq!(result.read(0, 8), (expected.len() as u64).to_le_bytes());
        assert_eq!(dst.read(0, expected.len()), expected);
        sleek::cuda::decompress_async(
            DType::F32,
            dst.at(0),
            room,
            back.at(0),
            (0, 10000),
            result.at(0),
            workspace.at(0),
            null,
        )
        .unwrap();
        assert_eq!(result.read(8, 4), [0; 4]);
        assert_eq!(back.read(0, bytes.len()), sleek::decompress(&expected).unwrap());
        let wrong =
            sleek::cuda::compress_async(&p, src.at(0), 10000, dst.at(4), room - 4, result.at(0), workspace.at(0), null);
        assert_eq!(wrong.unwrap_err().kind, Kind::InvalidArgument);
    }
    assert_eq!((shim.number("shim_live_allocations"), shim.number("shim_waits")), (live, waits));
}

#[test]
fn a_batch_gives_the_bytes_of_single_calls() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(31);
    for (round, (dtype, profile)) in
        [(DType::F32, Profile::Fast), (DType::F64, Profile::Adaptive), (DType::U16, Profile::Adaptive)]
            .into_iter()
            .enumerate()
    {
        let per_chunk = 16384 / dtype.size();
        // More arrays than one launch lists; some empty, one of more than a group, some whose stream will not fit.
        let arrays: Vec<Vec<u8>> = (0..100)
            .map(|i| {
                let count = [0, 1, 100, per_chunk, 3 * per_chunk + 5, per_chunk - 1][i % 6];
                data(KINDS[i % 10], dtype, if i == 50 { 70 * per_chunk } else { count }, &mut r)
            })
            .collect();
        let mut p = Params { profile, ..Params::new(dtype) };
        if dtype.is_float() {
            p = p.with_bound(Mode::Noa, 1e-3);
        }
        let expected: Vec<Vec<u8>> = arrays.iter().map(|a| sleek::compress(&p, a).unwrap()).collect();
        let small = |i: usize| i % 40 == 9;
        let count = |i: usize| arrays[i].len() / dtype.size();
        let room =
            |i: usize| if small(i) { expected[i].len() - 16 } else { sleek::compress_bound(&p, count(i)).unwrap() };
        let src: Vec<Memory> = arrays.iter().map(|a| shim.upload(0, a, 0)).collect();
        let dst: Vec<Memory> = (0..arrays.len()).map(|i| shim.allocate(0, room(i) + 64)).collect();
        let back: Vec<Memory> = arrays.iter().map(|a| shim.allocate(0, a.len())).collect();
        let workspace = shim.allocate(0, batch::workspace_bytes(arrays.len()));
        let results = shim.allocate(0, 16 * arrays.len());
        let result = |i: usize| {
            let bytes = results.read(16 * i, 12);
            let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
            (word(0) as usize, word(8) as i32)
        };
        shim.set([5, 1, 3][round], round as u32);
        sleek::cuda::prepare(dtype, 0, std::ptr::null_mut()).unwrap();
        let (live, waits) = (shim.number("shim_live_allocations"), shim.number("shim_waits"));
        let null = std::ptr::null_mut();
        let items: Vec<Item> =
            (0..arrays.len()).map(|i| Item::new(src[i].at(0), dst[i].at(0), count(i) as u64, room(i) as u64)).collect();
        unsafe { batch::compress_async(&p, &items, results.at(0), workspace.at(0), null) }.unwrap();
        for i in 0..arrays.len() {
            if small(i) {
                assert_eq!(result(i), (0, Kind::BufferTooSmall.code()), "{i}");
            } else {
                assert_eq!(result(i), (expected[i].len(), 0), "{i}");
                assert!(dst[i].read(0, expected[i].len()) == expected[i], "{dtype:?} {i}");
            }
            assert!(dst[i].read(room(i), 64).iter().all(|b| *b == 0xA5), "{i}");
        }
        // One stream is damaged, one belongs to an array of another length.
        unsafe { *dst[50].at(expected[50].len() - 1) ^= 1 };
        let items: Vec<Item> = (0..arrays.len())
            .map(|i| Item::new(dst[i].at(0), back[i].at(0), count(i) as u64 - u64::from(i == 2), room(i) as u64))
            .collect();
        unsafe { batch::decompress_async(dtype, &items, results.at(0), workspace.at(0), null) }.unwrap();
        for i in (0..arrays.len()).filter(|i| !small(*i)) {
            let status = if i == 50 {
                Kind::Corrupt.code()
            } else if i == 2 {
                Kind::OutOfRange.code()
            } else {
                0
            };
            assert_eq!(result(i).1, status, "{i}");
            if status == 0 {
                assert_eq!(result(i).0, arrays[i].len());
                assert!(back[i].read(0, arrays[i].len()) == sleek::decompress(&expected[i]).unwrap(), "{dtype:?} {i}");
            }
        }
        assert_eq!((shim.number("shim_live_allocations"), shim.number("shim_waits")), (live, waits));
        let mut crooked = items;
        crooked[7] = Item::new(dst[7].at(4), back[7].at(0), 1, 64);
        let wrong = unsafe { batch::decompress_async(dtype, &crooked, results.at(0), workspace.at(0), null) };
        assert_eq!(wrong.unwrap_err().kind, Kind::InvalidArgument);
        unsafe { batch::compress_async(&p, &[], results.at(0), workspace.at(0), null) }.unwrap();
    }
}

#[test]
fn real_fields() {
    let (shim, _turn) = Shim::get();
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let dtype = match path.extension().and_then(|x| x.to_str()) {
            Some("f32") => DType::F32,
            Some("f64") => DType::F64,
            _ => continue,
        };
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.truncate(400_000);
        for p in [
            Params::new(dtype),
            Params::new(dtype).with_bound(Mode::Noa, 1e-3),
            Params::new(dtype).with_bound(Mode::Noa, 1e-6),
        ] {
            compare(shim, &p, &bytes, 0, &path.display().to_string());
            compare(shim, &Params { profile: Profile::Fast, ..p }, &bytes, 0, &path.display().to_string());
        }
    }
}

/// `sleek_params` of include/sleek.h, as a C program has it.
#[repr(C)]
struct CParams {
    struct_size: usize,
    dtype: i32,
    mode: i32,
    codec: i32,
    profile: i32,
    bound: f64,
    rest: [u64; 12],
}

type Pointer = *mut c_void;

unsafe extern "C" {
    fn sleek_params_init(params: *mut CParams) -> i32;
    fn sleek_compress(
        p: *const CParams,
        src: Pointer,
        n: usize,
        dst: Pointer,
        room: usize,
        bytes: *mut usize,
        stream: Pointer,
    ) -> i32;
    fn sleek_decompress(
        src: Pointer,
        bytes: usize,
        dst: Pointer,
        room: usize,
        written: *mut usize,
        stream: Pointer,
    ) -> i32;
    fn sleek_inspect(src: Pointer, bytes: usize, info: *mut u64) -> i32;
    fn sleek_workspace_bytes() -> usize;
    fn sleek_batch_workspace_bytes(arrays: usize) -> usize;
    #[rustfmt::skip]
    fn sleek_compress_batch_async(
        p: *const CParams,
        arrays: usize,
        src: *const Pointer,
        counts: *const usize,
        dst: *const Pointer,
        rooms: *const usize,
        results: Pointer,
        workspace: Pointer,
        bytes: usize,
        stream: Pointer,
    ) -> i32;
    #[rustfmt::skip]
    fn sleek_decompress_batch_async(
        p: *const CParams,
        arrays: usize,
        src: *const Pointer,
        src_bytes: *const usize,
        dst: *const Pointer,
        counts: *const usize,
        results: Pointer,
        workspace: Pointer,
        bytes: usize,
        stream: Pointer,
    ) -> i32;
    fn sleek_device_prepare(p: *const CParams, ordinal: i32, stream: Pointer) -> i32;
    fn sleek_device_info(device: i32, src: Pointer, dst: Pointer, text: *mut u8, capacity: usize) -> i32;
    #[rustfmt::skip]
    fn sleek_compress_async(
        p: *const CParams,
        src: Pointer,
        n: usize,
        dst: Pointer,
        room: usize,
        result: Pointer,
        workspace: Pointer,
        bytes: usize,
        stream: Pointer,
    ) -> i32;
    #[rustfmt::skip]
    fn sleek_decompress_async(
        p: *const CParams,
        src: Pointer,
        bytes: usize,
        first: u64,
        n: usize,
        dst: Pointer,
        room: usize,
        result: Pointer,
        workspace: Pointer,
        w_bytes: usize,
        stream: Pointer,
    ) -> i32;
}

#[test]
fn the_c_interface_takes_device_pointers() {
    let (shim, _turn) = Shim::get();
    let bytes = data("smooth", DType::F32, 9000, &mut Random(8));
    let p = Params::new(DType::F32).with_bound(Mode::Abs, 1e-3);
    let expected = sleek::compress(&p, &bytes).unwrap();
    let room = sleek::compress_bound(&p, 9000).unwrap();
    let (src, dst, back) = (shim.upload(0, &bytes, 0), shim.allocate(0, room), shim.allocate(0, bytes.len()));
    let (result, workspace) = (shim.allocate(0, 16), shim.allocate(0, 512));
    let at = |m: &Memory| m.at(0).cast::<c_void>();
    let null = std::ptr::null_mut();
    let mut c = CParams { struct_size: 0, dtype: 0, mode: 0, codec: 0, profile: 0, bound: 0.0, rest: [0; 12] };
    let mut n = 0;
    unsafe {
        assert_eq!(sleek_params_init(&mut c), 0);
        (c.dtype, c.mode, c.bound) = (1, 1, 1e-3);
        assert_eq!(sleek_compress(&c, at(&src), 9000, at(&dst), room, &mut n, null), 0);
        assert_eq!(dst.read(0, n), expected);
        assert_eq!(sleek_decompress(at(&dst), n, at(&back), bytes.len(), &mut n, null), 0);
        let restored = sleek::decompress(&expected).unwrap();
        assert_eq!(back.read(0, n), restored);

        assert_eq!(sleek_workspace_bytes(), 512);
        assert_eq!(sleek_device_prepare(&c, 0, null), 0);
        let (other, w) = (shim.allocate(0, room), at(&workspace));
        assert_eq!(sleek_compress_async(&c, at(&src), 9000, at(&other), room, at(&result), w, 512, null), 0);
        assert_eq!(other.read(0, expected.len()), expected);
        let to = at(&back);
        assert_eq!(sleek_decompress_async(&c, at(&other), room, 100, 50, to, 200, at(&result), w, 512, null), 0);
        assert_eq!(result.read(8, 4), [0; 4]);
        assert_eq!(back.read(0, 200), restored[400..600]);
        // The same as a batch: twice whole, and a part.
        {
            let (two, w_bytes) = (shim.allocate(0, room), sleek_batch_workspace_bytes(3));
            let (w, results) = (shim.allocate(0, w_bytes), shim.allocate(0, 48));
            let third = shim.allocate(0, room);
            let (from, to) = ([at(&src), at(&src), at(&src)], [at(&other), at(&two), at(&third)]);
            let (counts, rooms) = ([9000, 9000, 4321], [room; 3]);
            let (f, n, t, c_rooms) = (from.as_ptr(), counts.as_ptr(), to.as_ptr(), rooms.as_ptr());
            let r = at(&results);
            assert_eq!(sleek_compress_batch_async(&c, 3, f, n, t, c_rooms, r, at(&w), w_bytes, null), 0);
            assert_eq!(two.read(0, expected.len()), expected);
            let part = sleek::compress(&p, &bytes[..4321 * 4]).unwrap();
            assert_eq!(third.read(0, part.len()), part);
            let backs = [at(&back), at(&src)];
            let done = sleek_decompress_batch_async(&c, 2, t, c_rooms, backs.as_ptr(), n, r, at(&w), w_bytes, null);
            assert_eq!((done, back.read(0, restored.len()) == restored), (0, true));
            let wrong = sleek_compress_batch_async(&c, 3, f, n, t, c_rooms, r, at(&w), w_bytes - 1, null);
            assert_eq!(wrong, Kind::BufferTooSmall.code());
            let wrong = sleek_compress_batch_async(&c, 3, f, n, std::ptr::null(), c_rooms, r, at(&w), w_bytes, null);
            assert_eq!(wrong, Kind::NullPointer.code());
        }

        // Another element type is refused on the device, too small a workspace at once.
        c.dtype = 2;
        assert_eq!(sleek_decompress_async(&c, at(&other), room, 0, 25, to, 200, at(&result), w, 512, null), 0);
        assert_eq!(result.read(8, 4), Kind::InvalidArgument.code().to_le_bytes());
        let small = sleek_compress_async(&c, at(&src), 10, at(&other), room, at(&result), w, 100, null);
        assert_eq!(small, Kind::BufferTooSmall.code());

        let mut text = [0u8; 200];
        assert_eq!(sleek_device_info(0, at(&src), null, text.as_mut_ptr(), text.len()), 0);
        assert!(text.starts_with(b"cuda device 0 (shim, compute capability 9.0): the source is in GPU memory\0"));
        assert_eq!(sleek_device_info(0, null, null, text.as_mut_ptr(), 3), Kind::BufferTooSmall.code());
    }
}

#[test]
fn inspection_copies_header_and_index_alone() {
    let (shim, _turn) = Shim::get();
    let bytes = data("smooth", DType::F32, 70 * 4096, &mut Random(9));
    let stream = sleek::compress(&Params::new(DType::F32), &bytes).unwrap();
    // The bytes copied, the status, and what is said of the stream: sleek_info is twenty words, the first its size.
    let inspect = |src: Pointer, bytes| {
        let (mut info, before) = ([0u64; 20], shim.number("shim_copied"));
        info[0] = 160;
        let status = unsafe { sleek_inspect(src, bytes, info.as_mut_ptr()) };
        (shim.number("shim_copied").wrapping_sub(before), status, info)
    };
    let (_, _, said) = inspect(stream.as_ptr().cast_mut().cast(), stream.len());
    assert_eq!((said[7], said[11] + said[12] + said[13]), (stream.len() as u64, 70));
    let there = shim.upload(0, &stream, 0);
    let at = there.at(0).cast();
    // 70 chunks are two groups; header and index end at a multiple of 16.
    let (head, index) = (64, 64 + 2 * 16 + 70 * 2 + 4);
    assert_eq!(inspect(at, stream.len()), (head + index, 0, said));
    let of = |kind: Kind| kind.code();
    let refused = |bytes| inspect(at, bytes).1;
    assert_eq!(refused(stream.len() - 1), of(Kind::Truncated));
    assert_eq!(refused(63), of(Kind::Truncated));
    for (at, kind) in [(0, Kind::NotSleek), (20, Kind::Corrupt), (70, Kind::Corrupt)] {
        let mut damaged = stream.clone();
        damaged[at] ^= 0x40;
        let there = shim.upload(0, &damaged, 0);
        assert_eq!(inspect(there.at(0).cast(), damaged.len()).1, of(kind), "byte {at}");
        assert_eq!(sleek::inspect(&damaged).unwrap_err().kind, kind, "byte {at}");
    }
}
