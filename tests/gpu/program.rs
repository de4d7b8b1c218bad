//! `gpu check`: CPU and GPU bytes on real fields and odd inputs. `gpu bench`: time beside a device-to-device copy.
//! For a machine with a GPU; tests/gpu/check.sh and tests/gpu/bench.sh run it.

#![allow(clippy::undocumented_unsafe_blocks)] // every one calls the driver on live locals and memory of `Memory`

mod captured;
#[path = "../../benches/fields.rs"]
mod fields;
mod means;
mod predict;
mod steady;
mod zfp;

use std::ffi::c_void;
use std::ptr::null_mut;

use cudarc::driver::sys::{self, CUevent, CUresult};
use fields::Field;
use means::Row;
use route::batch::Item;
use sleek::primitives::range::value_range;
use sleek::{Bound, DType, Device, MissingValue, MissingValues, Mode, Params, Profile, route, runtime::cuda};

fn ok(r: CUresult) {
    assert_eq!(r, CUresult::CUDA_SUCCESS);
}

/// Waits for what was enqueued on the default stream, which other streams do not wait for.
fn finished() {
    ok(unsafe { sys::cuCtxSynchronize() });
}

/// Device memory.
struct Memory(u64);

impl Memory {
    fn new(bytes: usize) -> Memory {
        let mut p = 0;
        ok(unsafe { sys::cuMemAlloc_v2(&mut p, bytes.max(16)) });
        ok(unsafe { sys::cuMemsetD8_v2(p, 0xA5, bytes.max(16)) });
        finished();
        Memory(p)
    }

    fn of(bytes: &[u8]) -> Memory {
        let m = Memory::new(bytes.len());
        ok(unsafe { sys::cuMemcpyHtoD_v2(m.0, bytes.as_ptr().cast(), bytes.len()) });
        finished();
        m
    }

    fn at(&self, offset: usize) -> *mut u8 {
        (self.0 + offset as u64) as *mut u8
    }

    fn read(&self, offset: usize, bytes: usize) -> Vec<u8> {
        let mut v = vec![0u8; bytes];
        ok(unsafe { sys::cuMemcpyDtoH_v2(v.as_mut_ptr().cast(), self.0 + offset as u64, bytes) });
        v
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let _ = unsafe { sys::cuMemFree_v2(self.0) };
    }
}

/// Median milliseconds of `reps` runs on the default stream, after two to warm up. Each is behind another one, during
/// which the processor has all of it enqueued: the GPU's time, not that of launches.
fn time(reps: usize, mut run: impl FnMut()) -> f64 {
    let mut events: [CUevent; 2] = [null_mut(); 2];
    for e in &mut events {
        ok(unsafe { sys::cuEventCreate(e, 0) });
    }
    let mut all = Vec::new();
    for i in 0..reps + 2 {
        let mut ms = 0f32;
        run();
        unsafe {
            ok(sys::cuEventRecord(events[0], null_mut()));
            run();
            ok(sys::cuEventRecord(events[1], null_mut()));
            ok(sys::cuEventSynchronize(events[1]));
            ok(sys::cuEventElapsedTime(&mut ms, events[0], events[1]));
        }
        if i >= 2 {
            all.push(f64::from(ms));
        }
    }
    for e in events {
        ok(unsafe { sys::cuEventDestroy_v2(e) });
    }
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn settings(field: &Field, bounds: &[f64]) -> Vec<Params> {
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

fn result(at: &Memory) -> (usize, u32) {
    let r = at.read(0, 16);
    let word = |i: usize| u32::from_le_bytes([r[i], r[i + 1], r[i + 2], r[i + 3]]);
    (word(0) as usize | (word(4) as usize) << 32, word(8))
}

/// Fields of each float type with up to four missing values at rates from none to all, in every mode.
fn missing(r: &mut Random, small: bool) -> usize {
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
fn compare(p: &Params, bytes: &[u8], offset: usize, what: &str) {
    let count = bytes.len() / p.dtype.size();
    let expected = sleek::compress(p, bytes).unwrap();
    let room = sleek::compress_bound(p, count).unwrap();
    let mut shifted = vec![0; offset];
    shifted.extend_from_slice(bytes);
    let (src, dst, back) = (Memory::of(&shifted), Memory::new(room), Memory::new(bytes.len() + offset));
    let n = unsafe { route::compress(p, src.at(offset), count, dst.at(0), room, null_mut()) }.unwrap();
    assert!(dst.read(0, n) == expected, "{what} {p:?}: streams differ ({n} and {} bytes)", expected.len());
    let n = unsafe { route::decompress(Device::Cuda, dst.at(0), n, None, back.at(offset), bytes.len(), null_mut()) }
        .unwrap();
    assert_eq!(n, bytes.len());
    assert!(back.read(offset, n) == sleek::decompress(&expected).unwrap(), "{what} {p:?}: restored differently");
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}

/// Bits that no field has: random words cut to a random width per stretch, with runs, specials and outliers.
fn odd(dtype: DType, bytes: usize, r: &mut Random) -> Vec<u8> {
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

/// Under compute-sanitizer everything takes a hundred times as long.
fn is_small() -> bool {
    std::env::var_os("SLEEK_GPU_SMALL").is_some()
}

fn check() {
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
    n += predict::check(small);
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
fn corrupt(r: &mut Random, rounds: u32) {
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
fn graph() {
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
fn batch(r: &mut Random, arrays: usize) {
    for profile in [Profile::Fast, Profile::Adaptive] {
        let p = Params { profile, ..Params::new(DType::F64).with_bound(Bound::noa(1e-4)) };
        captured::check(&p, arrays, |i| if i == 3 { 5_000_000 } else { 200_000 }, r);
    }
}

/// More than 4 GiB of each codec, bit for bit and within a bound, made by repetition on the device. What comes back is
/// compared on the host piece by piece, with what the CPU makes of one: pieces end where chunks do.
fn large() {
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

fn large_one(p: &Params, src: &Memory, piece: &[u8], copies: usize) {
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

/// Buffers that a table's rows share.
struct Bench {
    bytes: usize,
    reps: usize,
    src: Memory,
    dst: Memory,
    back: Memory,
    workspace: Memory,
    outcome: Memory,
}

impl Bench {
    fn new(mib: usize, reps: usize) -> Bench {
        let bytes = mib << 20;
        let [workspace, outcome] = [route::WORKSPACE_BYTES, 16].map(Memory::new);
        let (src, dst, back) = (Memory::new(bytes), Memory::new(bytes + bytes / 4096 + 4096), Memory::new(bytes));
        Bench { bytes, reps, src, dst, back, workspace, outcome }
    }

    /// Fills the source with copies of a field.
    fn fill(&self, field: &Field) {
        for at in (0..self.bytes).step_by(field.bytes.len()) {
            let n = field.bytes.len().min(self.bytes - at);
            ok(unsafe { sys::cuMemcpyHtoD_v2(self.src.0 + at as u64, field.bytes.as_ptr().cast(), n) });
        }
    }

    fn copy(&self) -> f64 {
        time(self.reps, || ok(unsafe { sys::cuMemcpyDtoDAsync_v2(self.back.0, self.src.0, self.bytes, null_mut()) }))
    }

    fn compress(&self, p: &Params) -> f64 {
        let (count, room) = (self.bytes / p.dtype.size(), self.bytes + self.bytes / 4096 + 4096);
        let (src, dst, outcome, workspace) = (self.src.at(0), self.dst.at(0), self.outcome.at(0), self.workspace.at(0));
        time(self.reps, || unsafe {
            route::compress_async(p, src, count, dst, room, outcome, workspace, null_mut()).unwrap()
        })
    }

    fn decompress(&self, dtype: DType, n: usize) -> f64 {
        let all = (0, (self.bytes / dtype.size()) as u64);
        let (src, dst, outcome, workspace) =
            (self.dst.at(0), self.back.at(0), self.outcome.at(0), self.workspace.at(0));
        time(self.reps, || unsafe {
            route::decompress_async(&Params::new(dtype), src, n, dst, all, outcome, workspace, null_mut()).unwrap()
        })
    }

    /// Measures an array, and prints it if there is a `name`.
    fn row(&self, name: Option<&str>, p: &Params) -> Row {
        let before = self.copy();
        // The range costs a pass over the data; programs that know it give it.
        let measured = self.compress(p);
        let range = self.dst.read(40, 8).try_into().map(f64::from_le_bytes).unwrap_or(0.0);
        let bound = p.bound.of_range(Some(range).filter(|r| *r > 0.0));
        let given = Params { bound, search: search(), ..p.clone() };
        let c = if p.bound.mode() == Mode::Noa { self.compress(&given) } else { measured };
        let (n, status) = result(&self.outcome);
        assert_eq!(status, 0, "{name:?} {p:?}");
        let d = self.decompress(p.dtype, n);
        assert_eq!(result(&self.outcome).1, 0, "{name:?} {p:?}");
        let memcpy = (before + self.copy()) / 2.0;
        let ratio = self.bytes as f64 / n as f64;
        let ceiling = 2.0 / (1.0 + 1.0 / ratio);
        let bound = if p.bound == Bound::Lossless { "lossless".into() } else { format!("{:e}", p.bound.number()) };
        if let Some(name) = name {
            println!(
                "| {name} | {bound} | {} | {ratio:.2} | {:.2} | {:.0} % | {:.2} | {:.2} | {:.0} % |",
                p.profile.name(),
                memcpy / c,
                100.0 * memcpy / c / ceiling,
                memcpy / measured,
                memcpy / d,
                100.0 * memcpy / d / ceiling
            );
        }
        let lossless = p.bound == Bound::Lossless;
        Row { profile: p.profile, dtype: p.dtype, lossless, ratio, compress: memcpy / c, decompress: memcpy / d }
    }

    /// Measures all fields at all bounds.
    fn rows(&self, bounds: &[f64], print: bool) -> Vec<Row> {
        let mut rows = Vec::new();
        for field in fields::load() {
            self.fill(&field);
            let name = print.then_some(field.name.as_str());
            rows.extend(settings(&field, bounds).iter().map(|p| self.row(name, p)));
        }
        rows
    }
}

impl Bench {
    /// Rows of a field of each width without a missing value, with one that is named but not there, with one in a
    /// hundred elements and every second one, and with half of all runs of 200, as land lies in the sea.
    fn missing(&self) {
        let mut r = Random(11);
        let value = MissingValue::Number(-9999.0);
        for field in ["navy", "mpas"]
            .into_iter()
            .filter_map(|name| fields::load().into_iter().find(|f| f.name.starts_with(name)))
        {
            let (size, bits) = (field.dtype.size(), value.bits(field.dtype).unwrap().to_le_bytes());
            for (what, run, one_in) in [
                ("no missing value", 1, 0),
                ("one named, none there", 1, u64::MAX),
                ("one in 100 missing", 1, 100),
                ("one in 2 missing", 1, 2),
                ("half of runs of 200 missing", 200, 2),
            ] {
                let mut holey = Field { name: field.name.clone(), bytes: field.bytes.clone(), ..field.clone() };
                for run in holey.bytes.chunks_mut(size * run) {
                    if one_in > 0 && r.next().is_multiple_of(one_in) {
                        run.chunks_exact_mut(size).for_each(|element| element.copy_from_slice(&bits[..size]));
                    }
                }
                self.fill(&holey);
                let missing = MissingValues::of(&[value][..usize::from(one_in > 0)]).unwrap();
                for profile in [Profile::Fast, Profile::Adaptive] {
                    let p = Params { profile, missing, ..Params::new(field.dtype).with_bound(Bound::noa(1e-3)) };
                    self.row(Some(&format!("{}, {what}", field.name)), &p);
                }
            }
        }
    }
}

/// What missing values cost codec sleek.
fn gaps(mib: usize, reps: usize) {
    println!("{HEADING}");
    let bench = Bench::new(mib, reps);
    bench.missing();
    println!("\nmemcpy: {:.0} GB/s of {mib} MiB", bench.bytes as f64 / 1e6 / bench.copy());
}

const HEADING: &str = "| field | bound | profile | ratio | compress × memcpy | share of 2/(1+1/ratio) | range measured \
too | decompress × memcpy | share |\n|---|---|---|---|---|---|---|---|---|";

const BOUNDS: [f64; 5] = [1e-1, 1e-2, 1e-3, 1e-4, 1e-6];

fn bench(mib: usize, reps: usize, bounds: &[f64]) {
    println!("{HEADING}");
    let bench = Bench::new(mib, reps);
    let rows = bench.rows(bounds, true);
    let fields = fields::load();
    for field in fields.iter().find(|f| f.name.starts_with("navy")).map(other_types).into_iter().flatten() {
        bench.fill(&field);
        let bounds: &[f64] = if field.dtype.is_float() { &[1e-3] } else { &[] };
        for p in settings(&field, bounds) {
            bench.row(Some(&field.name), &p);
        }
    }
    bench.missing();
    means::heading();
    means::print(mib, &rows);
    println!("\nmemcpy: {:.0} GB/s of {mib} MiB", bench.bytes as f64 / 1e6 / bench.copy());
}

/// Arrays of all float types bit for bit.
fn lossless(mib: usize, reps: usize) {
    println!("{HEADING}");
    let bench = Bench::new(mib, reps);
    let mut rows = Vec::new();
    for field in fields::load_types(&[DType::F32, DType::F64, DType::F16, DType::BF16]) {
        bench.fill(&field);
        rows.extend(settings(&field, &[]).iter().map(|p| bench.row(Some(&field.name), p)));
    }
    means::heading();
    means::print(mib, &rows);
    println!("\nmemcpy: {:.0} GB/s of {mib} MiB", bench.bytes as f64 / 1e6 / bench.copy());
}

/// What arrays of several sizes take, means only.
fn sizes(reps: usize) {
    means::heading();
    for mib in [128, 256, 512, 1024, 2048] {
        means::print(mib, &Bench::new(mib, reps).rows(&BOUNDS, false));
    }
}

/// A field of 32-bit floats as other types: the same numbers in hundredths as integers.
fn other_types(field: &Field) -> Vec<Field> {
    let numbers: Vec<f32> = field.bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    let as_type = |dtype: DType, f: &dyn Fn(f32) -> u64| Field {
        name: format!("{} as {}", field.name, dtype.name()),
        dtype,
        bytes: numbers.iter().flat_map(|x| f(*x).to_le_bytes()[..dtype.size()].to_vec()).collect(),
        dims: field.dims,
        fill: None,
    };
    vec![
        as_type(DType::F16, &|x| {
            let b = x.to_bits();
            let e = (b >> 23 & 255) as i32 - 112;
            u64::from((if e <= 0 { 0 } else { (e.min(30) as u32) << 10 | b >> 13 & 0x3ff }) | b >> 16 & 0x8000)
        }),
        as_type(DType::BF16, &|x| u64::from(x.to_bits() >> 16)),
        as_type(DType::I32, &|x| (100.0 * x) as i64 as u64),
        as_type(DType::I16, &|x| (100.0 * x) as i64 as u64),
        as_type(DType::U8, &|x| (x + 128.0) as u64),
    ]
}

/// Arrays of one size in one launch, together as large as the arrays of the other table.
fn batches(mib: usize, reps: usize) {
    println!(
        "\n| KiB of an array | arrays | profile | ratio | compress × memcpy | decompress × memcpy \
        |\n|---|---|---|---|---|---|"
    );
    let Some(field) = fields::load().into_iter().find(|f| f.name.starts_with("navy")) else { return };
    let bench = Bench::new(mib, reps);
    bench.fill(&field);
    let memcpy = bench.copy();
    for kib in [64usize, 256, 1024, 4096, 16384] {
        for profile in [Profile::Fast, Profile::Adaptive] {
            let base = Params { search: search(), ..Params::new(DType::F32) };
            let p = Params { profile, ..base.with_bound(Bound::Noa { share: 1e-3, range: Some(100.0) }) };
            let (each, arrays) = (kib << 10, bench.bytes / (kib << 10));
            let room = sleek::compress_bound(&p, each / 4).unwrap().next_multiple_of(16);
            let dst = Memory::new(room * arrays);
            let (results, workspace) = (Memory::new(16 * arrays), Memory::new(route::batch::workspace_bytes(arrays)));
            let item = |i: usize, from: &Memory, to: &Memory, (a, b): (usize, usize)| {
                Item::new(from.at(i * a), to.at(i * b), each as u64 / 4, room as u64)
            };
            let there: Vec<Item> = (0..arrays).map(|i| item(i, &bench.src, &dst, (each, room))).collect();
            let again: Vec<Item> = (0..arrays).map(|i| item(i, &dst, &bench.back, (room, each))).collect();
            let (r, w) = (results.at(0), workspace.at(0));
            let c = time(reps, || unsafe { route::batch::compress_async(&p, &there, r, w, null_mut()) }.unwrap());
            let n: u64 =
                results.read(0, 16 * arrays).chunks(16).map(|b| u64::from_le_bytes(b[..8].try_into().unwrap())).sum();
            let d = time(reps, || unsafe { route::batch::decompress_async(&p, &again, r, w, null_mut()) }.unwrap());
            assert!(results.read(0, 16 * arrays).chunks(16).all(|b| b[8..12] == [0; 4]));
            let ratio = bench.bytes as f64 / n as f64;
            println!("| {kib} | {arrays} | {} | {ratio:.2} | {:.2} | {:.2} |", profile.name(), memcpy / c, memcpy / d);
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

/// Whole synchronous calls, and transfers between GPU and pinned host memory against raw pinned copies.
fn calls(reps: usize) {
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
fn smooth(dtype: DType) -> Vec<u8> {
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
fn first_asked(what: &str, dtype: DType) -> Option<Params> {
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
fn first() {
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
fn first_call(dtype: &str, what: &str, call: &str) {
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

/// Makes the first device's context the current one.
fn enter() {
    cuda::usable().unwrap_or_else(|e| panic!("{e}"));
    let (mut dev, mut context) = (0, null_mut());
    unsafe {
        ok(sys::cuDeviceGet(&mut dev, 0));
        ok(sys::cuDevicePrimaryCtxRetain(&mut context, dev));
        ok(sys::cuCtxSetCurrent(context));
    }
}

/// Whether missing values that nobody named are searched for: not with the environment variable SLEEK_GPU_NO_FILL, to
/// tell what that costs.
fn search() -> sleek::Search {
    match std::env::var_os("SLEEK_GPU_NO_FILL") {
        Some(_) => sleek::Search::Off,
        None => sleek::Search::Wanted,
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    enter();
    if let [_, name, dtype, what, call] = args.as_slice()
        && name == "first-call"
    {
        return first_call(dtype, what, call);
    }
    route::prepare(&Params::new(DType::F32), 0, null_mut()).unwrap_or_else(|e| panic!("{e}"));
    let (name, major, minor) = cuda::describe(0).unwrap_or_else(|e| panic!("{e}"));
    println!("{name}, compute capability {major}.{minor}");
    let number = |i: usize, otherwise: usize| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(otherwise);
    match args.get(1).map(String::as_str) {
        Some("check") => check(),
        Some("bench") => bench(number(2, 512), number(3, 11), &BOUNDS),
        Some("lossless") => lossless(number(2, 512), number(3, 7)),
        Some("sizes") => sizes(number(2, 11)),
        Some("quick") => bench(number(2, 512), number(3, 7), &[1e-1, 1e-3]),
        Some("batches") => batches(number(2, 512), number(3, 11)),
        Some("calls") => calls(number(2, 21)),
        Some("first") => first(),
        Some("steady") => steady::bench(number(2, 512), number(3, 1000)),
        Some("check-large") => large(),
        Some("check-predict") => {
            println!("gpu check: {} arrays of codec predict equal to the CPU's", predict::check(is_small()))
        }
        Some("predict") => predict::bench(number(2, 512), number(3, 7), &[1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 0.0]),
        Some("predict-types") => predict::bench_types(number(2, 512), number(3, 7)),
        Some("predict-quick") => {
            let asked: Vec<f64> = args.iter().skip(4).filter_map(|a| a.parse().ok()).collect();
            predict::bench(number(2, 512), number(3, 5), if asked.is_empty() { &[1e-1, 1e-3] } else { &asked })
        }
        Some("check-zfp") => println!("gpu check: {} arrays of codec zfp equal to the CPU's", zfp::check(is_small())),
        Some("zfp") => zfp::bench(number(2, 512), number(3, 11)),
        Some("check-gaps") => {
            println!("gpu check: {} arrays with missing values equal to the CPU's", missing(&mut Random(7), is_small()))
        }
        Some("gaps") => gaps(number(2, 512), number(3, 11)),
        _ => panic!(
            "gpu check | bench [MiB] [repeats] | sizes [repeats] | quick [MiB] [repeats] \
             | lossless [MiB] [repeats] | check-gaps | gaps [MiB] \
            [repeats] \
             | batches [MiB] [repeats] | calls [repeats] | first | steady [MiB] [calls] | check-large \
             | check-predict | predict [MiB] [repeats] | predict-quick [MiB] [repeats] [bound…] \
             | predict-types [MiB] [repeats] | check-zfp | zfp [MiB] [repeats]"
        ),
    }
}
