//! What fails on a GPU, at each call of the driver: want of memory, a context that is lost, a stream that is dead.

use std::ffi::c_void;

use sleek::route;
use sleek::{Bound, DType, Device, Error, Kind, Mode, Params, Profile};

use crate::shim::{Memory, Shim};
use crate::vectors;

const COUNT: usize = 5000;
/// What the driver says: no memory once, none any more, no code for this device, an illegal address, a failed launch, a
/// handle of nothing any more.
const FAULTS: [(i32, bool, Kind); 6] = [
    (2, false, Kind::OutOfMemory),
    (2, true, Kind::OutOfMemory),
    (209, false, Kind::Device),
    (700, true, Kind::Device),
    (719, true, Kind::Device),
    (400, true, Kind::Device),
];

/// Each call of the driver that `work` makes fails in turn: `work` says so, in the kind of the fault, or has done what
/// it is for; nothing stays allocated, the caller's context is the current one, and the next time all is as if nothing
/// had been. If it `loads`, each time in a context in which no kernel has been loaded, and in the end none is loaded
/// twice. How many faults there were.
fn survives(shim: &Shim, name: &str, loads: bool, mut work: impl FnMut() -> Result<Vec<u8>, Error>) -> i32 {
    let right = work().unwrap();
    let current = shim.current();
    let state = || {
        if loads {
            shim.renew_contexts();
        }
        // A workspace stays with each context.
        (shim.number("shim_live_allocations") + i32::from(loads), shim.number("shim_modules"))
    };
    let (_, modules) = state();
    assert!(work().unwrap() == right);
    let modules = shim.number("shim_modules") - modules;
    assert_eq!(modules > 0, loads, "{name}: modules");
    let mut all = 0;
    // Kernels take long to unpack without optimizations.
    for &(code, stays, kind) in if loads { &FAULTS[1..4] } else { &FAULTS[..] } {
        for at in 0.. {
            let (live, before) = state();
            shim.fail(at, code, stays);
            let got = work();
            let faults = shim.number("shim_faults");
            shim.fail(-1, 0, false);
            let what =
                format!("{name}: call {at} fails with {code}{}", if stays { ", those behind it too" } else { "" });
            match got {
                Ok(bytes) => assert!(bytes == right, "{what}, unnoticed"),
                Err(error) => assert!(faults > 0 && error.kind == kind, "{what}: {error}"),
            }
            assert!(shim.number("shim_live_allocations") <= live, "{what}: memory stays");
            assert_eq!(shim.current(), current, "{what}");
            assert!(work().unwrap() == right, "{what}: the next call");
            assert_eq!(shim.number("shim_modules"), before + modules, "{what}: modules stay");
            if faults == 0 {
                break;
            }
            all += faults;
            assert!(at < 1000, "{what}");
        }
    }
    all
}

fn compressed(p: &Params, src: *const u8, dst: &Memory, room: usize, stream: *mut c_void) -> Result<Vec<u8>, Error> {
    let n = unsafe { route::compress(p, src, COUNT, dst.at(0), room, stream) }?;
    Ok(dst.read(0, n))
}

#[test]
fn any_call_of_the_driver_may_fail() {
    let (shim, _turn) = Shim::get();
    let bytes = vectors::bytes("wave", DType::F32, 3, COUNT, false);
    let stream = 0x5100 as *mut c_void;
    for (profile, mode) in [(Profile::Adaptive, Mode::Abs), (Profile::Fast, Mode::Noa)] {
        let p = Params { profile, ..Params::new(DType::F32).with_bound(Bound::new(mode, 1e-3).unwrap()) };
        let (room, expected) = (sleek::compress_bound(&p, COUNT).unwrap(), sleek::compress(&p, &bytes).unwrap());
        let (src, dst) = (shim.upload(1, &bytes, 0), shim.allocate(1, room));
        let name = format!("{profile:?}, compress");
        assert!(survives(shim, &name, false, || compressed(&p, src.at(0), &dst, room, stream)) >= 20, "{name}");
        assert!(compressed(&p, src.at(0), &dst, room, stream).unwrap() == expected);

        let (packed, back) = (shim.upload(1, &expected, 0), shim.allocate(1, bytes.len()));
        let name = format!("{profile:?}, decompress");
        let faults = survives(shim, &name, false, || {
            let (from, to) = (packed.at(0), back.at(0));
            unsafe { route::decompress(Device::Auto, from, expected.len(), None, to, bytes.len(), stream) }?;
            Ok(back.read(0, bytes.len()))
        });
        assert!(faults >= 20, "{name}");

        // From and to the host.
        let cuda = Params { device: Device::Cuda, ..p.clone() };
        let mut host = vec![0; room];
        let name = format!("{profile:?}, host");
        let faults = survives(shim, &name, false, || {
            let none = std::ptr::null_mut();
            let n = unsafe { route::compress(&cuda, bytes.as_ptr(), COUNT, host.as_mut_ptr(), room, none) }?;
            Ok(host[..n].to_vec())
        });
        assert!(faults >= 20, "{name}");
    }
}

/// Modules are loaded by a context's first call. Of one that fails there none stays loaded that nobody knows of.
#[test]
fn any_call_that_loads_may_fail() {
    let (shim, _turn) = Shim::get();
    let bytes = vectors::bytes("wave", DType::F32, 3, COUNT, false);
    let codecs = [1, 3];
    let some = if crate::common::short() { 1 } else { codecs.len() };
    for (k, codec) in codecs.into_iter().take(some).enumerate() {
        let p = Params { codec, ..Params::new(DType::F32).with_bound(Bound::Abs(1e-3)) };
        let room = sleek::compress_bound(&p, COUNT).unwrap();
        let (src, dst) = (shim.upload(0, &bytes, 0), shim.allocate(0, room));
        for ptx in [false, true].into_iter().take(if k == 0 && some > 1 { 2 } else { 1 }) {
            let name = format!("codec {codec}, {}", if ptx { "PTX" } else { "code" });
            shim.refuse_cubins(ptx);
            let none = std::ptr::null_mut();
            let faults = survives(shim, &name, true, || compressed(&p, src.at(0), &dst, room, none));
            shim.refuse_cubins(false);
            assert!(faults >= 100, "{name}: {faults} faults");
        }
    }
}
