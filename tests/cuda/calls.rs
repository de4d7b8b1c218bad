//! Calls: where pointers lead, too little room, asynchronous ones, batches.

use std::ffi::c_void;

use sleek::exec::MemorySpace;
use sleek::route;
use sleek::route::batch::{self, Item};
use sleek::{Bound, DType, Device, Dims, Kind, Params, Profile};

use crate::both::{enqueue, outcome, untouched};
use crate::shim::Shim;
use crate::vectors::{self, GENERATORS};

#[test]
fn code_is_loaded_as_it_is_and_ptx_where_the_driver_refuses_it() {
    let (shim, _turn) = Shim::get();
    let bytes = vectors::bytes("wave", DType::BF16, 5, 3000, false);
    let p = Params { profile: Profile::Fast, ..Params::new(DType::BF16) };
    let (expected, room) = (sleek::compress(&p, &bytes).unwrap(), sleek::compress_bound(&p, 3000).unwrap());
    // Device 1, where no other test has these kernels: those of the base module, then the general encoder.
    let (src, dst) = (shim.upload(1, &bytes, 0), shim.allocate(1, room));
    let compress = |p: &Params| {
        let loaded = || [shim.number("shim_cubins"), shim.number("shim_ptx_texts")];
        let before = loaded();
        unsafe { route::compress(p, src.at(0), 3000, dst.at(0), room, std::ptr::null_mut()) }.unwrap();
        let after = loaded();
        [after[0] - before[0], after[1] - before[1]]
    };
    assert_eq!(compress(&p), [1, 0]);
    assert_eq!(dst.read(0, expected.len()), expected);
    shim.refuse_cubins(true);
    let general = compress(&Params { profile: Profile::Adaptive, ..p.clone() });
    shim.refuse_cubins(false);
    assert_eq!(general, [0, 1]);
    assert_eq!(compress(&p), [0, 0], "what is loaded stays");
}

#[test]
fn pointers_of_every_kind_mix() {
    let (shim, _turn) = Shim::get();
    let p = Params::new(DType::F64).with_bound(Bound::Abs(1e-4));
    mix(shim, &p);
    let dims = Dims::new(&[5, 40, 25]).unwrap();
    mix(shim, &Params { codec: 3, dims, find_fill: None, ..p });
}

/// An array of 5000 elements from and to host and devices, in every combination.
fn mix(shim: &'static Shim, p: &Params) {
    let bytes = vectors::bytes("wave", p.dtype, 3, 5000, false);
    let expected = sleek::compress(p, &bytes).unwrap();
    let room = sleek::compress_bound(p, 5000).unwrap();
    // Device 1, to see that the number is found out.
    let (on_gpu, gpu_room) = (shim.upload(1, &bytes, 0), shim.allocate(1, room));
    assert_eq!(route::place(on_gpu.at(8).cast()), MemorySpace::Device(1));
    assert_eq!(route::place(bytes.as_ptr().cast()), MemorySpace::Host);
    let mut host = vec![0; room];
    // Device to host: a compressed download. A caller's context stays current.
    shim.set_current(0x1000);
    let n = unsafe { route::compress(p, on_gpu.at(0), 5000, host.as_mut_ptr(), room, std::ptr::null_mut()) }.unwrap();
    assert_eq!(host[..n], expected);
    // A context keeps one workspace; nothing else of a call stays. Device 0 has its own from here on.
    let cuda = Params { device: Device::Cuda, ..p.clone() };
    unsafe { route::compress(&cuda, bytes.as_ptr(), 5000, host.as_mut_ptr(), room, std::ptr::null_mut()) }.unwrap();
    let live = shim.number("shim_live_allocations");
    // Host to device: the compressed upload of a stream.
    let back = shim.allocate(1, bytes.len());
    unsafe { route::decompress(Device::Auto, host.as_ptr(), n, None, back.at(0), bytes.len(), std::ptr::null_mut()) }
        .unwrap();
    assert_eq!(back.read(0, bytes.len()), sleek::decompress(&expected).unwrap());
    drop(back);
    // Host to device compression, and everything on the host by request.
    let n = unsafe { route::compress(p, bytes.as_ptr(), 5000, gpu_room.at(0), room, std::ptr::null_mut()) }.unwrap();
    assert_eq!(gpu_room.read(0, n), expected);
    let launches = shim.number("shim_launches");
    let n =
        unsafe { route::compress(&cuda, bytes.as_ptr(), 5000, host.as_mut_ptr(), room, std::ptr::null_mut()) }.unwrap();
    assert_eq!(host[..n], expected);
    assert!(shim.number("shim_launches") > launches);
    assert_eq!(shim.current(), 0x1000);
    assert_eq!(shim.number("shim_live_allocations"), live);
    assert_eq!(gpu_room.read(0, n), expected);
    // A stream of the other device, and a CPU that cannot reach the data.
    let stream = 0x5000 as *mut c_void;
    let wrong = unsafe { route::compress(p, on_gpu.at(0), 5000, host.as_mut_ptr(), room, stream) };
    assert_eq!(wrong.unwrap_err().kind, Kind::InvalidArgument);
    let cpu = Params { device: Device::Cpu, ..p.clone() };
    let wrong = unsafe { route::compress(&cpu, on_gpu.at(0), 5000, host.as_mut_ptr(), room, std::ptr::null_mut()) };
    assert_eq!(wrong.unwrap_err().kind, Kind::InvalidArgument);
    // The caller's stream is the one that is used.
    let stream = 0x5100 as *mut c_void;
    unsafe { route::compress(p, on_gpu.at(0), 5000, host.as_mut_ptr(), room, stream) }.unwrap();
    let last: extern "C" fn() -> *mut c_void = unsafe { std::mem::transmute(shim.symbol("shim_last_stream")) };
    assert_eq!(last(), stream);
    assert_eq!(shim.current(), 0x1000);
    shim.set_current(0);
}

#[test]
fn too_little_room() {
    let (shim, _turn) = Shim::get();
    let bytes = vectors::bytes("noise", DType::F32, 4, 4096 * 3, false);
    let p = Params::new(DType::F32);
    let need = sleek::compress(&p, &bytes).unwrap().len();
    let src = shim.upload(0, &bytes, 0);
    for room in [0, 64, 100, need - 1, need] {
        let dst = shim.allocate(0, need + 64);
        let done = unsafe { route::compress(&p, src.at(0), 4096 * 3, dst.at(0), room, std::ptr::null_mut()) };
        if room == need {
            assert_eq!(done.unwrap(), need);
        } else {
            assert_eq!(done.unwrap_err().kind, Kind::BufferTooSmall, "{room}");
        }
        assert!(dst.read(room, need + 64 - room).iter().all(|b| *b == 0xA5), "{room}");
    }
}

/// More arrays than one launch lists; some empty, one of more than a group.
#[test]
fn a_batch_gives_the_bytes_of_single_calls() {
    let (shim, _turn) = Shim::get();
    let all = [(DType::F32, Profile::Fast), (DType::F64, Profile::Adaptive), (DType::U16, Profile::Adaptive)];
    for (round, (dtype, profile)) in all.into_iter().enumerate() {
        let per_chunk = 16384 / dtype.size();
        let count = |i: usize| [100, 0, 1, per_chunk, 3 * per_chunk + 5, per_chunk - 1][i % 6];
        let count = |i: usize| if i == 50 { 70 * per_chunk } else { count(i) };
        let array = |i: usize| vectors::bytes(GENERATORS[i % GENERATORS.len()], dtype, i as u64, count(i), false);
        let arrays: Vec<Vec<u8>> = (0..100).map(array).collect();
        let p = Params { profile, ..Params::new(dtype) };
        let p = if dtype.is_float() { p.with_bound(Bound::noa(1e-3)) } else { p };
        shim.set([5, 1, 3][round], round as u32);
        enqueue(shim, &p, &arrays);
    }
}

/// Of streams in a batch one is damaged, one too long for its room, and the others do not mind. What cannot be enqueued
/// is refused at once, and nothing may be.
#[test]
fn faults_in_a_batch_are_its_arrays_own() {
    let (shim, _turn) = Shim::get();
    let p = Params::new(DType::F32).with_bound(Bound::Abs(1e-3));
    let bytes = vectors::bytes("walk", DType::F32, 7, 5000, false);
    let (stream, room) = (sleek::compress(&p, &bytes).unwrap(), sleek::compress_bound(&p, 5000).unwrap());
    let src = shim.upload(0, &bytes, 0);
    let dst = [room, stream.len() - 16, room].map(|room| (shim.allocate(0, room + 64), room as u64));
    let back = [(); 3].map(|()| shim.allocate(0, bytes.len()));
    let (results, workspace) = (shim.allocate(0, 48), shim.allocate(0, batch::workspace_bytes(3)));
    let (to, w, null) = (results.at(0), workspace.at(0), std::ptr::null_mut());
    let items: Vec<Item> = dst.iter().map(|(dst, room)| Item::new(src.at(0), dst.at(0), 5000, *room)).collect();
    let right = (stream.len(), 0);
    unsafe { batch::compress_async(&p, &items, to, w, null) }.unwrap();
    assert_eq!([0, 1, 2].map(|i| outcome(&results, i)), [right, (0, Kind::BufferTooSmall.code()), right]);
    untouched(&dst[1].0, stream.len() - 16);
    unsafe { *dst[0].0.at(stream.len() - 1) ^= 1 };
    let again = |i: usize| Item::new(dst[i].0.at(0), back[i].at(0), 5000, dst[i].1);
    let items = [again(0), again(2)];
    unsafe { batch::decompress_async(&p, &items, to, w, null) }.unwrap();
    assert_eq!([0, 1].map(|i| outcome(&results, i)), [(0, Kind::Corrupt.code()), (bytes.len(), 0)]);
    assert!(back[2].read(0, bytes.len()) == sleek::decompress(&stream).unwrap());
    let crooked = [Item::new(dst[2].0.at(4), back[2].at(0), 1, 64)];
    let wrong = unsafe {
        [
            batch::decompress_async(&p, &crooked, to, w, null),
            route::compress_async(&p, src.at(0), 5000, dst[2].0.at(4), room - 4, to, w, null),
        ]
    };
    assert!(wrong.into_iter().all(|error| error.unwrap_err().kind == Kind::InvalidArgument));
    unsafe { batch::compress_async(&p, &[], to, w, null) }.unwrap();
}

#[test]
fn arrays_at_even_distances_are_told_in_few_launches() {
    const COUNT: usize = 60;
    let (shim, _turn) = Shim::get();
    let p = Params { find_fill: None, ..Params::new(DType::F32).with_bound(Bound::Abs(1e-3)) };
    let room = sleek::compress_bound(&p, COUNT).unwrap().next_multiple_of(16);
    let n = 960 + 97;
    let array = |i: usize| vectors::bytes(GENERATORS[i % GENERATORS.len()], DType::F32, i as u64, COUNT, false);
    let arrays: Vec<Vec<u8>> = (0..n).map(array).collect();
    let src = shim.upload(0, &arrays.concat(), 0);
    let dst = shim.allocate(0, (n + 1) * room);
    let workspace = shim.allocate(0, batch::workspace_bytes(n));
    let results = shim.allocate(0, 16 * n);
    let place = |i: usize| dst.at((i + usize::from(i > 1000)) * room);
    let items: Vec<Item> =
        (0..n).map(|i| Item::new(src.at(4 * COUNT * i), place(i), COUNT as u64, room as u64)).collect();
    route::prepare(&p, 0, std::ptr::null_mut()).unwrap();
    let null = std::ptr::null_mut();
    let before = shim.number("shim_launches");
    unsafe { batch::compress_async(&p, &items, results.at(0), workspace.at(0), null) }.unwrap();
    // The first 960, 96 that are not even, and the last one.
    assert_eq!(shim.number("shim_launches") - before, 3 + 2);
    let told = |i: usize| u64::from_le_bytes(results.read(16 * i, 8).try_into().unwrap()) as usize;
    let streams: Vec<Vec<u8>> = arrays.iter().map(|a| sleek::compress(&p, a).unwrap()).collect();
    for (i, stream) in streams.iter().enumerate() {
        // SAFETY: so many bytes were allocated there.
        assert!(unsafe { std::slice::from_raw_parts(place(i), told(i)) } == stream, "{i}");
    }
    let back = shim.allocate(0, 4 * COUNT * n);
    let items: Vec<Item> =
        (0..n).map(|i| Item::new(place(i), back.at(4 * COUNT * i), COUNT as u64, streams[i].len() as u64)).collect();
    unsafe { batch::decompress_async(&p, &items, results.at(0), workspace.at(0), null) }.unwrap();
    let restored: Vec<u8> = streams.iter().flat_map(|s| sleek::decompress(s).unwrap()).collect();
    assert!(back.read(0, restored.len()) == restored);
}
