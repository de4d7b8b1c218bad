//! Batches in both directions, captured into a graph, against the CPU's streams.

use std::ffi::c_void;
use std::ptr::null_mut;

use cudarc::driver::sys;
use route::batch::Item;
use sleek::{Params, route};

use super::{Memory, Random, odd, ok};

/// `arrays` of random lengths, less than what `most` says of each, in bytes; some are empty.
pub fn check(p: &Params, arrays: usize, most: impl Fn(usize) -> usize, r: &mut Random) {
    let size = p.dtype.size();
    let length = |i: usize, r: &mut Random| if i.is_multiple_of(7) { 0 } else { r.next() as usize % most(i) };
    let data: Vec<Vec<u8>> = (0..arrays)
        .map(|i| {
            let bytes = length(i, r);
            odd(p.dtype, bytes, r)
        })
        .collect();
    let room = |i: usize| sleek::compress_bound(p, data[i].len() / size).unwrap();
    let src: Vec<Memory> = data.iter().map(|d| Memory::of(d)).collect();
    let dst: Vec<Memory> = (0..arrays).map(|i| Memory::new(room(i))).collect();
    let back: Vec<Memory> = data.iter().map(|d| Memory::new(d.len())).collect();
    let (made, restored) = (Memory::new(16 * arrays), Memory::new(16 * arrays));
    let workspaces = [0, 1].map(|_| Memory::new(route::batch::workspace_bytes(arrays)));
    let item = |i: usize, from: &Memory, to: &Memory| {
        Item::new(from.at(0), to.at(0), (data[i].len() / size) as u64, room(i) as u64)
    };
    let there: Vec<Item> = (0..arrays).map(|i| item(i, &src[i], &dst[i])).collect();
    let again: Vec<Item> = (0..arrays).map(|i| item(i, &dst[i], &back[i])).collect();
    route::prepare(p, 0, null_mut()).unwrap();
    let (mut stream, mut graph, mut ready) = (null_mut(), null_mut(), null_mut());
    unsafe {
        ok(sys::cuStreamCreate(&mut stream, 1));
        ok(sys::cuStreamBeginCapture_v2(stream, sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL));
        let s = stream.cast::<c_void>();
        route::batch::compress_async(p, &there, made.at(0), workspaces[0].at(0), s).unwrap();
        route::batch::decompress_async(p, &again, restored.at(0), workspaces[1].at(0), s).unwrap();
        ok(sys::cuStreamEndCapture(stream, &mut graph));
        ok(sys::cuGraphInstantiateWithFlags(&mut ready, graph, 0));
        ok(sys::cuGraphLaunch(ready, stream));
        ok(sys::cuStreamSynchronize(stream));
        ok(sys::cuGraphExecDestroy(ready));
        ok(sys::cuGraphDestroy(graph));
        ok(sys::cuStreamDestroy_v2(stream));
    }
    for (i, d) in data.iter().enumerate() {
        let expected = sleek::compress(p, d).unwrap();
        let length = u64::from_le_bytes(made.read(16 * i, 8).try_into().unwrap()) as usize;
        assert_eq!((length, restored.read(16 * i + 8, 4)), (expected.len(), vec![0; 4]), "array {i} of the batch");
        assert!(dst[i].read(0, length) == expected, "array {i} of the batch: streams differ");
        let restored = sleek::decompress(&expected).unwrap();
        assert!(back[i].read(0, d.len()) == restored, "array {i} of the batch: restored differently");
    }
}
