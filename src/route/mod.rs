//! The calls: where do a call's pointers lead, and who does the work. Doors reach codecs through here alone.

#[cfg(feature = "cuda")]
pub mod batch;
pub mod cpu;
#[cfg_attr(not(feature = "cuda"), path = "absent.rs")]
pub mod device;
mod limits;
pub mod ranges;
pub mod recompression;

use std::borrow::Cow;
use std::ffi::c_void;

use crate::container::{Header, Wanted};
use crate::error::{Result, fail};
use crate::exec::{ExecOptions, MemorySpace};
use crate::params::{Device, Params};

pub use crate::exec::WORKSPACE_BYTES;
#[cfg(feature = "cuda")]
pub use batch::{compress_one as compress_async, decompress_one as decompress_async};
#[cfg(not(feature = "cuda"))]
pub use device::{batch, compress_async, decompress_async};
pub use device::{gpus, place, prepare};

/// What requests and streams are asked of codecs, whoever does the work.
pub use crate::codec::{Codec, chosen, profile_of, refuse_retired, zfp::array};

/// Ids of codecs, as the C interface has them.
pub mod ids {
    pub use crate::codec::{interp::format::CODEC_INTERP, sleek::constants::CODEC_SLEEK, zfp::format::CODEC_ZFP};
}

/// A decision, and the reason for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The GPU's number; none for the CPU.
    pub ordinal: Option<i32>,
    /// Why, for a person.
    pub reason: &'static str,
}

/// Decides from the device asked for, where the data comes from and goes to, and whether a CUDA stream was given.
/// `default` is the GPU to use where neither pointer names one.
pub fn route(asked: Device, src: MemorySpace, dst: MemorySpace, stream: bool, default: i32) -> Result<Route> {
    use MemorySpace::{Device as On, Host, Managed};
    let gpu = |ordinal, reason| Ok(Route { ordinal: Some(ordinal), reason });
    let cpu = |reason| Ok(Route { ordinal: None, reason });
    match (asked, src, dst) {
        (Device::Cpu, On(d), _) | (Device::Cpu, _, On(d)) => {
            fail!(
                InvalidArgument,
                "device cpu was asked for, but data lies in the memory of GPU {d}: ask for auto or cuda"
            )
        }
        (_, On(a), On(b)) if a != b => fail!(InvalidArgument, "source and destination lie on two GPUs, {a} and {b}"),
        (_, On(d), _) => gpu(d, "the source is in GPU memory"),
        (_, _, On(d)) => gpu(d, "the destination is in GPU memory"),
        (Device::Cpu, ..) => cpu("the CPU was asked for"),
        (Device::Cuda, Managed(d), _) | (Device::Cuda, _, Managed(d)) => gpu(d, "the GPU was asked for"),
        (Device::Cuda, ..) => gpu(default, "the GPU was asked for"),
        (Device::Auto, Managed(d), _) | (Device::Auto, _, Managed(d)) => gpu(d, "the data is in managed memory"),
        (Device::Auto, Host, Host) if stream => {
            fail!(InvalidArgument, "a stream was given; it must be NULL for data in host memory")
        }
        (Device::Auto, Host, Host) => cpu("the data is in host memory"),
    }
}

/// The GPU that a pointer leads to.
pub fn gpu_of(pointer: *const c_void) -> Option<i32> {
    match place(pointer) {
        MemorySpace::Host => None,
        MemorySpace::Device(ordinal) | MemorySpace::Managed(ordinal) => Some(ordinal),
    }
}

/// Copies bytes between memories of the host and of GPUs, behind what is on the stream, and waits for it.
///
/// # Safety
/// Both ranges are valid, and do not overlap.
pub unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize, stream: *mut c_void) -> Result<()> {
    match gpu_of(to.cast()).or_else(|| gpu_of(from.cast())) {
        None => {
            // SAFETY: the contract.
            unsafe { to.copy_from_nonoverlapping(from, bytes) };
            Ok(())
        }
        // SAFETY: the contract.
        Some(ordinal) => unsafe { device::copy(to, from, bytes, ordinal, stream) },
    }
}

/// [`route`] for two pointers. Null is an array without elements, which is nowhere: it goes with any stream.
pub fn route_of(asked: Device, src: *const c_void, dst: *const c_void, stream: *mut c_void) -> Result<Route> {
    let default = device::default_for(asked)?;
    let waits = !(stream.is_null() || src.is_null() || dst.is_null());
    route(asked, place(src), place(dst), waits, default)
}

/// Compresses `count` elements at `src` into `dst`; returns the bytes of the stream.
///
/// # Safety
/// `src` is readable for `count` elements, `dst` writable for `capacity` bytes, and they do not overlap. Either may be
/// host, device or managed memory. `stream` is null or a CUDA stream.
pub unsafe fn compress(
    params: &Params,
    src: *const u8,
    count: usize,
    dst: *mut u8,
    capacity: usize,
    stream: *mut c_void,
) -> Result<usize> {
    let bytes = params.dtype.bytes_of(count)?;
    let route = route_of(params.device, src.cast(), dst.cast_const().cast(), stream)?;
    match route.ordinal {
        // SAFETY: the contract of this function.
        Some(ordinal) => unsafe { device::compress(params, src, count, dst, capacity, ordinal, stream) },
        // SAFETY: as above, and host memory.
        None => unsafe {
            let (src, dst) = (slice(src, bytes), slice_mut(dst, capacity));
            cpu::Request::new(params)?.compress(src, dst, ExecOptions::threads(params.threads))
        },
    }
}

/// Restores what `wanted` says of the stream's header; returns the bytes written. On a GPU the header may be damaged.
///
/// # Safety
/// As for [`compress`].
pub unsafe fn restore(
    asked: Device,
    (src, src_bytes): (*const u8, usize),
    (dst, capacity): (*mut u8, usize),
    stream: *mut c_void,
    wanted: impl FnOnce(&Header) -> Result<Wanted>,
) -> Result<usize> {
    match route_of(asked, src.cast(), dst.cast_const().cast(), stream)?.ordinal {
        // SAFETY: the contract of this function, here and below.
        Some(ordinal) => unsafe {
            device::decompress(asked, (src, src_bytes), wanted, (dst, capacity), (ordinal, stream))
        },
        // SAFETY: as above, and host memory.
        None => unsafe {
            let stream = cpu::Stream::open(slice(src, src_bytes))?;
            stream.restore(slice_mut(dst, capacity), ExecOptions::threads(0), wanted)
        },
    }
}

/// [`restore`] of the whole array, or of `range` of its elements (first, count).
///
/// # Safety
/// As for [`compress`].
pub unsafe fn decompress(
    asked: Device,
    src: *const u8,
    src_bytes: usize,
    range: Option<(u64, usize)>,
    dst: *mut u8,
    capacity: usize,
    stream: *mut c_void,
) -> Result<usize> {
    let wanted = |header: &Header| {
        let (first, count) = range.map_or((0, header.layout.count), |(first, count)| (first, count as u64));
        cpu::range(header, first, count)
    };
    // SAFETY: the contract of this function.
    unsafe { restore(asked, (src, src_bytes), (dst, capacity), stream, wanted) }
}

/// [`restore`] of what of the whole, or of a box, is on the grid of a level.
///
/// # Safety
/// As for [`compress`].
pub unsafe fn decompress_coarse(
    from: (*const u8, usize),
    level: u32,
    part: Option<(&[u64], &[u64])>,
    to: (*mut u8, usize),
    stream: *mut c_void,
) -> Result<usize> {
    // SAFETY: the contract of this function.
    unsafe { restore(Device::Auto, from, to, stream, |header| cpu::coarse(header, level, part)) }
}

/// A copy of header and index of a stream that the host cannot reach; `None` for one that it can. Nothing is verified
/// but the lengths.
///
/// # Safety
/// `src` is readable for `bytes` where it lies.
pub unsafe fn head_copy(src: *const u8, bytes: usize) -> Result<Option<Vec<u8>>> {
    match place(src.cast()) {
        MemorySpace::Host | MemorySpace::Managed(_) => Ok(None),
        MemorySpace::Device(d) => {
            // SAFETY: the contract of this function, here and below.
            let copy = |n| unsafe { device::download(src, n, d) };
            copy(Header::fetch(bytes, copy)?.layout.bodies_at()).map(Some)
        }
    }
}

/// What a stream holds chunk by chunk, wherever it lies.
///
/// # Safety
/// `src` is readable for `bytes` where it lies.
pub unsafe fn chunk_ranges(src: *const u8, bytes: usize) -> Result<Vec<ranges::ChunkRange>> {
    // SAFETY: the contract.
    ranges::chunk_ranges(&unsafe { reachable(src, bytes) }?)
}

/// Restores whole chunks of a stream, wherever it lies, into host memory; returns the bytes written.
///
/// # Safety
/// `src` is readable for `bytes` where it lies, and `dst` writable for `capacity`.
pub unsafe fn decompress_chunks(
    (src, bytes): (*const u8, usize),
    numbers: &[u64],
    (dst, capacity): (*mut u8, usize),
) -> Result<usize> {
    // SAFETY: the contract.
    let (stream, dst) = unsafe { (reachable(src, bytes)?, slice_mut(dst, capacity)) };
    cpu::decompress_chunks_into(&stream, numbers, dst)
}

/// The bytes at `src`, or a copy of what the host cannot reach.
///
/// # Safety
/// `src` is readable for `bytes` where it lies.
unsafe fn reachable<'a>(src: *const u8, bytes: usize) -> Result<Cow<'a, [u8]>> {
    match place(src.cast()) {
        // SAFETY: the contract.
        MemorySpace::Device(d) => unsafe { device::download(src, bytes, d) }.map(Cow::Owned),
        // SAFETY: as above.
        _ => Ok(Cow::Borrowed(unsafe { slice(src, bytes) })),
    }
}

/// A sentence on where the work would run and why.
pub fn describe(asked: Device, src: *const c_void, dst: *const c_void) -> String {
    match route_of(asked, src, dst, std::ptr::null_mut()) {
        Err(e) => format!("none: {}", e.message),
        Ok(Route { ordinal: None, reason }) => format!("cpu: {reason}"),
        Ok(Route { ordinal: Some(d), reason }) => {
            device::describe(d, reason).unwrap_or_else(|e| format!("none: {}", e.message))
        }
    }
}

/// # Safety
/// `pointer` is readable for `bytes` of host memory; null only if `bytes` is 0.
unsafe fn slice<'a>(pointer: *const u8, bytes: usize) -> &'a [u8] {
    if bytes == 0 {
        return &[];
    }
    // SAFETY: the contract.
    unsafe { std::slice::from_raw_parts(pointer, bytes) }
}

/// # Safety
/// `pointer` is writable for `bytes` of host memory; null only if `bytes` is 0.
unsafe fn slice_mut<'a>(pointer: *mut u8, bytes: usize) -> &'a mut [u8] {
    if bytes == 0 {
        return &mut [];
    }
    // SAFETY: the contract.
    unsafe { std::slice::from_raw_parts_mut(pointer, bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;
    use crate::exec::MemorySpace::{Device as On, Host, Managed};

    #[test]
    fn work_goes_to_the_data() {
        let ordinal = |asked, src, dst| route(asked, src, dst, false, 3).unwrap().ordinal;
        assert_eq!(ordinal(Device::Auto, Host, Host), None);
        assert_eq!(ordinal(Device::Cpu, Host, Managed(1)), None);
        assert_eq!(ordinal(Device::Auto, On(1), Host), Some(1));
        assert_eq!(ordinal(Device::Auto, Host, On(2)), Some(2));
        assert_eq!(ordinal(Device::Auto, Managed(0), On(2)), Some(2));
        assert_eq!(ordinal(Device::Auto, Managed(1), Host), Some(1));
        assert_eq!(ordinal(Device::Cuda, Host, Host), Some(3));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let kind = |asked, src, dst, stream| route(asked, src, dst, stream, 0).unwrap_err().kind;
        assert_eq!(kind(Device::Cpu, On(0), Host, false), Kind::InvalidArgument);
        assert_eq!(kind(Device::Auto, On(0), On(1), false), Kind::InvalidArgument);
        assert_eq!(kind(Device::Auto, Host, Host, true), Kind::InvalidArgument);
    }
}
