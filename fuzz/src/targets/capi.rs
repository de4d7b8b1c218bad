//! The C functions with hostile arguments: structs of any content and size, null and unaligned pointers, buffers too
//! small.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};

use super::Input;
use crate::reference::builder::seal;
use sleek as _; // the library that the functions below are linked to

// Names of parameters are in include/sleek.h.
type Struct = *mut c_void;
type Src = *const c_void;
type Dst = *mut c_void;
type N = usize;

unsafe extern "C" {
    fn sleek_params_init(_: Struct) -> i32;
    fn sleek_compress_bound(_: Src, count: N) -> N;
    fn sleek_compress(_: Src, src: Src, count: N, dst: Dst, _: N, bytes: *mut N, stream: Dst) -> i32;
    fn sleek_decompress(src: Src, _: N, dst: Dst, _: N, bytes: *mut N, stream: Dst) -> i32;
    fn sleek_decompress_range(src: Src, _: N, first: u64, count: N, dst: Dst, _: N, stream: Dst) -> i32;
    #[rustfmt::skip]
    fn sleek_decompress_box(
        src: Src,
        _: N,
        rank: i32,
        start: *const u64,
        count: *const u64,
        dst: Dst,
        _: N,
        stream: Dst,
    ) -> i32;
    fn sleek_inspect_dims(src: Src, _: N, dims: *mut u64, _: N, rank: *mut i32) -> i32;
    fn sleek_inspect(src: Src, _: N, info: Struct) -> i32;
    fn sleek_last_error() -> *const c_char;
    fn sleek_strerror(code: i32) -> *const c_char;
}

const PARAMS_BYTES: usize = 128;
/// Where in the struct the pointer to dimensions is.
const DIMS_AT: usize = 64;
/// The longest struct that the library takes.
const STRUCT_BYTES: usize = 4096;

/// Every code is known, and a failure has a text.
fn check(code: i32) {
    assert!(code == 0 || (1..=13).contains(&code), "code {code}");
    // SAFETY: both are NUL-terminated and live on.
    let (last, text) = unsafe { (CStr::from_ptr(sleek_last_error()), CStr::from_ptr(sleek_strerror(code))) };
    if code != 0 {
        assert!(last.to_str().unwrap().starts_with(text.to_str().unwrap()), "{code}: {last:?}");
    }
}

/// A struct at an address of any alignment, the rest of its room zero.
fn hostile_struct(input: &mut Input, len: usize) -> Vec<u8> {
    let mut room = vec![0u8; STRUCT_BYTES + 8];
    // SAFETY: more room than a sleek_params takes.
    check(unsafe { sleek_params_init(room.as_mut_ptr().cast()) });
    for _ in 0..input.u8() % 8 {
        let at = usize::from(input.u8()) % len;
        room[at] = input.u8();
    }
    let shift = usize::from(input.u8() % 8);
    room.copy_within(..len, shift);
    room.drain(..shift);
    room
}

/// Runs the target.
pub fn run(bytes: &[u8]) {
    let mut input = Input(bytes);
    let mut params = hostile_struct(&mut input, PARAMS_BYTES);
    // A pointer cannot be checked, so it is null or leads to as many numbers as can be asked for.
    let lens: [u64; 32] = std::array::from_fn(|_| if input.u8() < 200 { input.u8().into() } else { input.u64() });
    let dims = if input.u8() % 4 == 0 { 0 } else { lens.as_ptr().expose_provenance() };
    params[DIMS_AT..DIMS_AT + 8].copy_from_slice(&dims.to_ne_bytes());
    let mut info = hostile_struct(&mut input, 8);
    let (pointers, count, capacity) = (input.u8(), input.u64(), usize::from(input.u32() as u16));
    let mut dst = vec![0u8; capacity];
    let mut dst_bytes = 0usize;
    let given = |bit: u8, pointer: *const c_void| if pointers & bit == 0 { pointer } else { null() };
    let mut stream = input.0.to_vec();
    // The caller must have the elements that it says it has; sizes up to 8 bytes an element.
    let elements = (count as usize).min(stream.len() / 8);
    // SAFETY: every pointer is null or leads to as much as the call is told.
    unsafe {
        sleek_compress_bound(given(1, params.as_ptr().cast()), count as usize);
        let out = if pointers & 4 == 0 { dst.as_mut_ptr() } else { null_mut() };
        let to = if pointers & 8 == 0 { &raw mut dst_bytes } else { null_mut() };
        let device = if pointers & 48 == 48 { dst.as_mut_ptr().cast() } else { null_mut() };
        let source = given(2, stream.as_ptr().cast());
        let parameters = given(1, params.as_ptr().cast());
        check(sleek_compress(parameters, source, elements, out.cast(), capacity, to, device));
        assert!(dst_bytes <= capacity);
        if pointers & 64 == 0 {
            seal(&mut stream);
        }
        let source = given(2, stream.as_ptr().cast());
        check(sleek_inspect(source, stream.len(), info.as_mut_ptr().cast()));
        check(sleek_decompress(source, stream.len(), out.cast(), capacity, to, device));
        assert!(dst_bytes <= capacity);
        let (first, count) = (count >> 32, count as u32 as usize);
        check(sleek_decompress_range(source, stream.len(), first, count, out.cast(), capacity, device));
        let (start, mut found, mut rank) = ([first; 32], [0u64; 32], -1);
        let asked = i32::from(pointers) % 40 - 3;
        check(sleek_decompress_box(
            source,
            stream.len(),
            asked,
            if pointers & 8 == 0 { start.as_ptr() } else { null() },
            lens.as_ptr(),
            out.cast(),
            capacity,
            device,
        ));
        let room = usize::from(pointers % 33);
        let code = sleek_inspect_dims(source, stream.len(), found.as_mut_ptr(), room, &mut rank);
        check(code);
        assert!(code != 0 || (1..=room as i32).contains(&rank) && found[room..].iter().all(|len| *len == 0));
    }
}
