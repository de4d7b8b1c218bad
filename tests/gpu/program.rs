//! `gpu check`: CPU and GPU bytes on real fields and odd inputs. `gpu bench`: time beside a device-to-device copy.
//! For a machine with a GPU; tests/gpu/check.sh and tests/gpu/bench.sh run it.

#![allow(clippy::undocumented_unsafe_blocks)] // every one calls the driver on live locals and memory of `Memory`

mod bench;
#[path = "../matrix/cases.rs"]
mod cases;
mod check;
mod fields;
#[path = "../vectors/mod.rs"]
mod vectors;

use std::ffi::c_void;
use std::ptr::null_mut;

use cases::{Case, Coded};
use cudarc::driver::sys::{self, CUevent, CUresult};
use fields::Field;
use route::batch::Item;
use sleek::primitives::range::value_range;
use sleek::{Bound, DType, Device, MissingValue, MissingValues, Params, Profile, route, runtime::cuda};
use vectors::Random;

/// Shares of a field's range that tests and tables take as its bound.
const SHARES: [f64; 5] = [1e-1, 1e-2, 1e-3, 1e-4, 1e-6];

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

/// Bytes and status that a call left for array `i`.
fn result(at: &Memory, i: usize) -> (usize, u32) {
    let r = at.read(16 * i, 16);
    let word = |i: usize| u32::from_le_bytes([r[i], r[i + 1], r[i + 2], r[i + 3]]);
    (word(0) as usize | (word(4) as usize) << 32, word(8))
}

/// Under compute-sanitizer everything takes a hundred times as long.
fn is_small() -> bool {
    std::env::var_os("SLEEK_GPU_SMALL").is_some()
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

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    enter();
    route::prepare(&Params::new(DType::F32), 0, null_mut()).unwrap_or_else(|e| panic!("{e}"));
    let (name, major, minor) = cuda::describe(0).unwrap_or_else(|e| panic!("{e}"));
    println!("{name}, compute capability {major}.{minor}");
    let number = |i: usize, otherwise: usize| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(otherwise);
    let (mib, reps) = (number(1, 512), number(2, 11));
    match args.first().map(String::as_str) {
        Some("check") => check::check(args.get(1).map_or("", |part| part)),
        Some("check-matrix") => {
            let (seconds, first) = (number(1, 60) as u64, number(2, 0) as u64);
            let arrays = check::matrix(seconds, first);
            println!("gpu check: {arrays} arrays of the matrix, from {first} on, equal to the CPU's")
        }
        Some("bench") => bench::bench(mib, reps),
        Some("interp-quick") => {
            let asked: Vec<f64> = args.iter().skip(3).filter_map(|a| a.parse().ok()).collect();
            bench::interp(mib, reps, if asked.is_empty() { &[1e-1, 1e-3] } else { &asked })
        }
        Some("previews") => bench::previews(mib, reps),
        Some("batches") => bench::batches(mib, reps),
        Some("calls") => bench::calls(number(1, 21)),
        _ => panic!(
            "gpu check [fields | odd | damage | batches | large] | check-matrix [seconds] [first] | calls [repeats] \
             | interp-quick [MiB] [repeats] [bound…] | bench, previews, batches [MiB] [repeats]"
        ),
    }
}
