//! One thing done by the CPU and by the kernels: the same bytes, the same refusals, and nothing written elsewhere.

use std::ptr::null_mut;

use sleek::route::batch::{self, Item};
use sleek::route::device::refuses;
use sleek::{Device, Error, Kind, Params, route};

use crate::shim::{Memory, Shim};

/// What is restored of an array.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    Whole,
    /// Elements from one on, so many.
    Range(u64, usize),
    /// What is on the grid of a level, of a box or of all.
    Grid(u32, Option<(&'a [u64], &'a [u64])>),
}

/// Why the kernels do not compress this, if they do not.
pub fn refused(params: &Params, count: usize) -> Option<String> {
    refuses(sleek::route::cpu::Request::new(params).unwrap(), count).unwrap()
}

/// What the stand-in has launched meanwhile.
pub fn launches<T>(shim: &Shim, call: impl FnOnce() -> T) -> (i32, T) {
    let before = shim.number("shim_launches");
    let done = call();
    (shim.number("shim_launches") - before, done)
}

fn alike(got: &[u8], expected: &[u8], what: impl Fn() -> String) {
    let at = got.iter().zip(expected).position(|(a, b)| a != b);
    assert!(got == expected, "{}: another one from byte {at:?} on of {}, {}", what(), got.len(), expected.len());
}

/// Nothing is written behind what was asked for.
pub fn untouched(memory: &Memory, end: usize) {
    assert!(memory.read(end, 64).iter().all(|b| *b == 0xA5), "written beyond the end");
}

/// Restores a part of a stream of the device into so many bytes there.
fn restored(shim: &'static Shim, stream: &[u8], part: Part, bytes: usize, offset: usize) -> Result<Vec<u8>, Error> {
    let (src, back) = (shim.upload(0, stream, 0), shim.allocate(0, offset + bytes + 64));
    let (from, to) = ((src.at(0).cast_const(), stream.len()), (back.at(offset), bytes));
    let whole = |range| unsafe { route::decompress(Device::Auto, from.0, from.1, range, to.0, to.1, null_mut()) };
    let done = match part {
        Part::Whole => whole(None),
        Part::Range(first, count) => whole(Some((first, count))),
        Part::Grid(level, of) => unsafe { route::decompress_coarse(from, level, of, to, null_mut()) },
    };
    untouched(&back, offset + bytes);
    done.map(|n| back.read(offset, n))
}

/// Restores a part of a sound stream on both sides; how many kernels were launched, and the bytes.
pub fn restores(shim: &'static Shim, stream: &[u8], part: Part, offset: usize, what: &str) -> (i32, Vec<u8>) {
    let info = sleek::inspect(stream).unwrap();
    let mut expected = vec![0; info.raw_bytes as usize];
    let n = match part {
        Part::Whole => sleek::decompress_into(stream, &mut expected).unwrap(),
        Part::Range(first, count) => {
            expected.truncate(count * info.dtype.size());
            sleek::decompress_range_into(stream, first, count, &mut expected).unwrap();
            expected.len()
        }
        Part::Grid(level, of) => sleek::decompress_coarse_into(stream, level, of, &mut expected).unwrap(),
    };
    expected.truncate(n);
    let (launched, got) = launches(shim, || restored(shim, stream, part, n, offset));
    let got = got.unwrap_or_else(|e| panic!("{what}: {e}"));
    alike(&got, &expected, || format!("{what}: {part:?}"));
    (launched, expected)
}

/// The same verdict on a stream that may be damaged, for the same kind of reason in those of tiles, and the same bytes
/// where it is good; whether it is.
pub fn verdict(shim: &'static Shim, stream: &[u8], bytes: usize, what: &str) -> bool {
    let (gpu, cpu) = (restored(shim, stream, Part::Whole, bytes, 0), sleek::decompress(stream));
    match (&gpu, &cpu) {
        (Ok(gpu), Ok(cpu)) => alike(gpu, cpu, || what.into()),
        (Err(gpu), Err(cpu)) if stream.get(8).is_none_or(|codec| ![3, 5].contains(codec)) => {
            assert_ne!(gpu.kind, Kind::Internal, "{what}: {cpu}")
        }
        _ => assert_eq!(gpu.as_ref().map_err(|e| e.kind).err(), cpu.as_ref().map_err(|e| e.kind).err(), "{what}"),
    }
    cpu.is_ok()
}

/// Compresses and restores on both sides, by kernels unless there are none, from and to memory with this offset.
pub fn compare(shim: &'static Shim, p: &Params, bytes: &[u8], offset: usize, what: &str) -> Vec<u8> {
    let count = bytes.len() / p.dtype.size();
    let expected = sleek::compress(p, bytes).unwrap();
    let room = sleek::compress_bound(p, count).unwrap();
    let (src, dst) = (shim.upload(0, bytes, offset), shim.allocate(0, room));
    let (launched, done) =
        launches(shim, || unsafe { route::compress(p, src.at(offset), count, dst.at(0), room, null_mut()) });
    let stream = dst.read(0, done.unwrap_or_else(|e| panic!("{what} {p:?}: {e}")));
    alike(&stream, &expected, || format!("{what} {p:?}"));
    let by_kernels = refused(p, count).is_none();
    assert!(p.find_fill.is_some() || (launched > 0) == by_kernels, "{what} {p:?}: {launched} launches");
    let (launched, _) = restores(shim, &stream, Part::Whole, offset, what);
    assert!(launched > 0 || !by_kernels, "{what} {p:?}: the CPU restored it");
    stream
}

/// Bytes and status that a call left on the device for array `i`.
pub fn outcome(results: &Memory, i: usize) -> (usize, i32) {
    let bytes = results.read(16 * i, 16);
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!((word(4), word(12)), (0, 0), "{i}");
    (word(0) as usize, word(8) as i32)
}

/// Compresses arrays in one call of a batch, and the first one alone; then restores all, and a part of the first one.
/// Nothing stays allocated, and nobody waits.
pub fn enqueue(shim: &'static Shim, p: &Params, arrays: &[Vec<u8>]) {
    let size = p.dtype.size();
    let count = |i: usize| arrays[i].len() / size;
    let expected: Vec<Vec<u8>> = arrays.iter().map(|a| sleek::compress(p, a).unwrap()).collect();
    let room = |i: usize| sleek::compress_bound(p, count(i)).unwrap();
    let src: Vec<Memory> = arrays.iter().map(|a| shim.upload(0, a, 0)).collect();
    let dst: Vec<Memory> = (0..arrays.len()).map(|i| shim.allocate(0, room(i) + 64)).collect();
    let back: Vec<Memory> = arrays.iter().map(|a| shim.allocate(0, a.len() + 64)).collect();
    let (results, workspace) =
        (shim.allocate(0, 16 * arrays.len()), shim.allocate(0, batch::workspace_bytes(arrays.len())));
    let (alone, some) = (shim.allocate(0, room(0)), shim.allocate(0, arrays[0].len() + 64));
    let (to, w) = (results.at(0), workspace.at(0));
    let items = |from: &[Memory], to: &[Memory]| -> Vec<Item> {
        let item = |i: usize| Item::new(from[i].at(0), to[i].at(0), count(i) as u64, room(i) as u64);
        (0..arrays.len()).map(item).collect()
    };
    let (there, again) = (items(&src, &dst), items(&dst, &back));
    route::prepare(p, 0, null_mut()).unwrap();
    let (live, waits) = (shim.number("shim_live_allocations"), shim.number("shim_waits"));
    unsafe { route::compress_async(p, src[0].at(0), count(0), alone.at(0), room(0), to, w, null_mut()) }.unwrap();
    assert_eq!(outcome(&results, 0), (expected[0].len(), 0), "{p:?}");
    alike(&alone.read(0, expected[0].len()), &expected[0], || format!("{p:?}: alone"));
    let part = (count(0) as u64 / 3, count(0) as u64 / 2);
    unsafe { route::decompress_async(p, alone.at(0), room(0), some.at(0), part, to, w, null_mut()) }.unwrap();
    assert_eq!(outcome(&results, 0).1, 0, "{p:?}");
    let (first, bytes) = (part.0 as usize * size, part.1 as usize * size);
    let whole = sleek::decompress(&expected[0]).unwrap();
    alike(&some.read(0, bytes), &whole[first..first + bytes], || format!("{p:?}: a part"));
    untouched(&some, bytes);
    unsafe { batch::compress_async(p, &there, to, w, null_mut()) }.unwrap();
    for (i, stream) in expected.iter().enumerate() {
        assert_eq!(outcome(&results, i), (stream.len(), 0), "{p:?}: array {i}");
        alike(&dst[i].read(0, stream.len()), stream, || format!("{p:?}: array {i}"));
        untouched(&dst[i], room(i));
    }
    unsafe { batch::decompress_async(p, &again, to, w, null_mut()) }.unwrap();
    for (i, stream) in expected.iter().enumerate() {
        assert_eq!(outcome(&results, i), (arrays[i].len(), 0), "{p:?}: array {i}");
        alike(&back[i].read(0, arrays[i].len()), &sleek::decompress(stream).unwrap(), || format!("{p:?}: array {i}"));
        untouched(&back[i], arrays[i].len());
    }
    assert_eq!((shim.number("shim_live_allocations"), shim.number("shim_waits")), (live, waits), "{p:?}");
}
