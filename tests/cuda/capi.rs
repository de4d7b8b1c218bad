//! The C interface with device pointers.

use std::ffi::c_void;

use sleek::{Bound, DType, Kind, Params};

use crate::shim::{Memory, Shim};
use crate::vectors;

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

// Names of parameters are in include/sleek.h.
type Request = *const CParams;
type Pointer = *mut c_void;
type Pointers = *const Pointer;
type N = usize;
type Ns = *const usize;

unsafe extern "C" {
    fn sleek_params_init(_: *mut CParams) -> i32;
    fn sleek_compress(_: Request, _: Pointer, _: N, _: Pointer, _: N, _: *mut N, _: Pointer) -> i32;
    fn sleek_decompress(_: Pointer, _: N, _: Pointer, _: N, _: *mut N, _: Pointer) -> i32;
    fn sleek_inspect(_: Pointer, _: N, _: *mut u64) -> i32;
    fn sleek_workspace_bytes() -> N;
    fn sleek_batch_workspace_bytes(_: N) -> N;
    #[rustfmt::skip]
    fn sleek_compress_batch_async(
        _: Request,
        _: N,
        _: Pointers,
        _: Ns,
        _: Pointers,
        _: Ns,
        _: Pointer,
        _: Pointer,
        _: N,
        _: Pointer,
    ) -> i32;
    #[rustfmt::skip]
    fn sleek_decompress_batch_async(
        _: Request,
        _: N,
        _: Pointers,
        _: Ns,
        _: Pointers,
        _: Ns,
        _: Pointer,
        _: Pointer,
        _: N,
        _: Pointer,
    ) -> i32;
    fn sleek_device_prepare(_: Request, ordinal: i32, _: Pointer) -> i32;
    fn sleek_device_info(device: i32, _: Pointer, _: Pointer, text: *mut u8, _: N) -> i32;
    #[rustfmt::skip]
    fn sleek_compress_async(
        _: Request,
        _: Pointer,
        _: N,
        _: Pointer,
        _: N,
        _: Pointer,
        _: Pointer,
        _: N,
        _: Pointer,
    ) -> i32;
    #[rustfmt::skip]
    fn sleek_decompress_async(
        _: Request,
        _: Pointer,
        _: N,
        _: u64,
        _: N,
        _: Pointer,
        _: N,
        _: Pointer,
        _: Pointer,
        _: N,
        _: Pointer,
    ) -> i32;
    fn sleek_array_create(_: Request, cache_bytes: N, array: *mut Pointer) -> i32;
    fn sleek_array_read(_: Pointer, start: *const u64, count: *const u64, _: Pointer, _: N) -> i32;
    fn sleek_array_write(_: Pointer, start: *const u64, count: *const u64, _: Pointer, _: N) -> i32;
    fn sleek_array_blocks(_: Pointer, _: Pointer, _: N, _: Pointer) -> i32;
    fn sleek_array_set_blocks(_: Pointer, _: Pointer, _: N, _: Pointer) -> i32;
    fn sleek_array_bytes(_: Pointer, cache_bytes: *mut N) -> N;
    fn sleek_array_free(_: Pointer);
}

#[test]
fn the_c_interface_takes_device_pointers() {
    let (shim, _turn) = Shim::get();
    let bytes = vectors::bytes("wave", DType::F32, 8, 9000, false);
    let p = Params::new(DType::F32).with_bound(Bound::Abs(1e-3));
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
        let said = std::ffi::CStr::from_bytes_until_nul(&text).unwrap().to_str().unwrap();
        let rest =
            said.strip_prefix("cuda device 0 (shim, compute capability 9.0): the source is in GPU memory").unwrap();
        for codec in sleek::codec::REGISTRY {
            let does_all = codec.gpu().is_some();
            assert_eq!(rest.contains(codec.name()), !does_all, "{said}");
        }
        assert_eq!(sleek_device_info(0, null, null, text.as_mut_ptr(), 3), Kind::BufferTooSmall.code());
    }
}

/// Blocks of a compressed array go to GPU memory and come back.
#[test]
fn arrays_go_to_gpu_memory() {
    let (shim, _turn) = Shim::get();
    let (dims, zero, null) = ([30u64, 41], [0u64; 2], std::ptr::null_mut());
    let mut c = CParams { struct_size: 0, dtype: 0, mode: 0, codec: 0, profile: 0, bound: 0.0, rest: [0; 12] };
    let mut values: Vec<f32> = (0..30 * 41).map(|i| (i as f32 * 0.1).sin()).collect();
    let bytes = 4 * values.len();
    unsafe {
        assert_eq!(sleek_params_init(&mut c), 0);
        (c.dtype, c.mode, c.codec, c.bound) = (1, 4, 3, 16.0);
        // The dimensions and their number stand where a C program's do.
        c.rest[4] = dims.as_ptr() as u64;
        c.rest[5] = 2;
        let (mut a, mut b) = (null, null);
        assert_eq!((sleek_array_create(&c, 0, &mut a), sleek_array_create(&c, 0, &mut b)), (0, 0));
        let d = dims.as_ptr();
        assert_eq!(sleek_array_write(a, zero.as_ptr(), d, values.as_mut_ptr().cast(), bytes), 0);
        let size = sleek_array_bytes(a, std::ptr::null_mut());
        let there = shim.allocate(0, size);
        assert_eq!(sleek_array_blocks(a, there.at(0).cast(), size - 1, null), Kind::BufferTooSmall.code());
        assert_eq!(sleek_array_blocks(a, there.at(0).cast(), size, null), 0);
        assert!(there.read(0, size).iter().any(|byte| *byte != 0));
        assert_eq!(sleek_array_set_blocks(b, there.at(0).cast(), size - 8, null), Kind::InvalidArgument.code());
        assert_eq!(sleek_array_set_blocks(b, there.at(0).cast(), size, null), 0);
        let (mut x, mut y) = (vec![0f32; values.len()], vec![0f32; values.len()]);
        assert_eq!(sleek_array_read(a, zero.as_ptr(), d, x.as_mut_ptr().cast(), bytes), 0);
        assert_eq!(sleek_array_read(b, zero.as_ptr(), d, y.as_mut_ptr().cast(), bytes), 0);
        // Of b every block was decoded, of a some are in the cache as they were written.
        assert!(values.iter().zip(&y).all(|(v, r)| (v - r).abs() < 1e-2) && values != y);
        assert!(x.iter().zip(&y).zip(&values).all(|((x, y), v)| x == y || x == v));
        sleek_array_free(a);
        sleek_array_free(b);
    }
}

#[test]
fn inspection_copies_header_and_index_alone() {
    let (shim, _turn) = Shim::get();
    let bytes = vectors::bytes("wave", DType::F32, 9, 70 * 4096, false);
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
    // First the header and the beginning of an extension; 70 chunks are two groups, header and index end at a multiple
    // of 16.
    let (head, index) = (64 + 16, 64 + 2 * 16 + 70 * 2 + 4);
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
