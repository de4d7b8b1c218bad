//! The enumerators and structs of the header, pinned to the library's own types at compile time. Their documentation is
//! that of the header, hence without markup.
#![allow(non_camel_case_types, dead_code)] // the names are those of the header, which C uses

use crate::dtype::DType;
use crate::error::Kind;
use crate::params::{Device, Mode, Profile};

/// Status codes: what a function returns. A number is never reused.
#[repr(C)]
pub enum sleek_status {
    /// Success.
    SLEEK_OK = 0,
    /// A pointer that must not be NULL was NULL.
    SLEEK_E_NULL_POINTER = 1,
    /// An argument or a field of sleek_params has a value outside its documented range.
    SLEEK_E_INVALID_ARGUMENT = 2,
    /// The error bound is not a number, negative or infinite.
    SLEEK_E_INVALID_BOUND = 3,
    /// The mode cannot be applied to this element type (a lossy mode on integers).
    SLEEK_E_UNSUPPORTED_TYPE = 4,
    /// The destination is too small.
    SLEEK_E_BUFFER_TOO_SMALL = 5,
    /// The bytes are not a SLEEK stream.
    SLEEK_E_NOT_SLEEK = 6,
    /// The stream's format version or codec is not known to this library.
    SLEEK_E_UNSUPPORTED_FORMAT = 7,
    /// The stream ends before its stated length.
    SLEEK_E_TRUNCATED = 8,
    /// A checksum or a structural check failed.
    SLEEK_E_CORRUPT = 9,
    /// Memory could not be allocated.
    SLEEK_E_OUT_OF_MEMORY = 10,
    /// The requested device cannot be used.
    SLEEK_E_DEVICE = 11,
    /// The requested elements lie outside the array.
    SLEEK_E_OUT_OF_RANGE = 12,
    /// HDF5 refused a call or is not reachable.
    SLEEK_E_HDF5 = 13,
    /// A bug in the library; please report it.
    SLEEK_E_INTERNAL = 99,
}

/// Element types.
#[repr(C)]
pub enum sleek_dtype {
    /// IEEE 754 binary32, float.
    SLEEK_F32 = 1,
    /// IEEE 754 binary64, double.
    SLEEK_F64 = 2,
    /// IEEE 754 binary16.
    SLEEK_F16 = 3,
    /// bfloat16: the upper half of a binary32.
    SLEEK_BF16 = 4,
    /// int8_t; integers have no bound: they take mode lossless, or with codec zfp a rate or a precision.
    SLEEK_I8 = 5,
    /// int16_t
    SLEEK_I16 = 6,
    /// int32_t
    SLEEK_I32 = 7,
    /// int64_t
    SLEEK_I64 = 8,
    /// uint8_t
    SLEEK_U8 = 9,
    /// uint16_t
    SLEEK_U16 = 10,
    /// uint32_t
    SLEEK_U32 = 11,
    /// uint64_t
    SLEEK_U64 = 12,
}

/// How values may change, v being the original and r the restored value. NaN and infinities always come back bit for
/// bit; -0 may come back as +0 with SLEEK_ABS and SLEEK_NOA.
#[repr(C)]
pub enum sleek_mode {
    /// Every bit comes back.
    SLEEK_LOSSLESS = 0,
    /// |v - r| <= bound.
    SLEEK_ABS = 1,
    /// |v - r| <= bound * value range; see range and fill_value of sleek_params.
    SLEEK_NOA = 2,
    /// |v - r| <= bound * |v|, zeros exact.
    SLEEK_REL = 3,
    /// bound is how many bits each value takes; nothing is promised of v - r. Numbers near the largest finite one may
    /// come back as infinity. Codec zfp.
    SLEEK_RATE = 4,
    /// bound is how many bits of each value are kept, counted from the largest of its block; nothing is promised of
    /// v - r, as for SLEEK_RATE. Codec zfp.
    SLEEK_PRECISION = 5,
}

/// Methods of compression.
#[repr(C)]
pub enum sleek_codec {
    /// The one that the profile goes with.
    SLEEK_CODEC_DEFAULT = 0,
    /// SLEEK.
    SLEEK_CODEC_SLEEK = 1,
    /// ZFP: transformed blocks of 4^d values, at a fixed rate, precision or accuracy, or lossless. f32, f64, i32, i64.
    SLEEK_CODEC_ZFP = 3,
    /// Interpolation along all dimensions and an entropy coder: the smallest stream.
    SLEEK_CODEC_INTERP = 5,
}

/// What the encoder may spend on the ratio. A decoder reads all without being told.
#[repr(C)]
pub enum sleek_profile {
    /// The default, at about the speed of memory: the best of several predictions for every 4 KiB, and the bound used
    /// in full.
    SLEEK_ADAPTIVE = 0,
    /// The transform of the published SLEEK alone: a little faster, larger streams, the bound rounded down to a power
    /// of two.
    SLEEK_FAST = 1,
    /// The smallest stream, several times slower: prediction along the dimensions of the array, an entropy coder, and
    /// the bound used in full.
    SLEEK_SMALL = 2,
}

/// What sleek_find_bound() is to meet.
#[repr(C)]
pub enum sleek_target {
    /// So many times smaller, at least.
    SLEEK_TARGET_RATIO = 0,
    /// A stream of so many bytes, at most.
    SLEEK_TARGET_SIZE = 1,
    /// So many dB, at least: 20 log10(value range / root mean square error).
    SLEEK_TARGET_PSNR = 2,
    /// Such a structural similarity, at least: above 0 and below 1, the mean over windows of 8 x 8 values of the two
    /// fastest dimensions.
    SLEEK_TARGET_SSIM = 3,
}

/// Where the work runs.
#[repr(C)]
pub enum sleek_device {
    /// Where the data is.
    SLEEK_AUTO = 0,
    /// On the CPU.
    SLEEK_CPU = 1,
    /// On an NVIDIA GPU; SLEEK_E_DEVICE when that is not possible.
    SLEEK_CUDA = 2,
}

/// What sleek_compress() is to do. Set up with sleek_params_init(), then change fields.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sleek_params {
    /// Bytes of this struct, as sleek_params_init() sets it. A program compiled with a newer header may pass a larger
    /// struct, as long as all fields that this library does not know are 0.
    pub struct_size: usize,
    /// SLEEK_F32 ... SLEEK_U64; no default.
    pub dtype: i32,
    /// SLEEK_LOSSLESS (default), SLEEK_ABS, SLEEK_NOA, SLEEK_REL, SLEEK_RATE or SLEEK_PRECISION.
    pub mode: i32,
    /// SLEEK_CODEC_DEFAULT (default) or a codec.
    pub codec: i32,
    /// SLEEK_ADAPTIVE (default), SLEEK_FAST or SLEEK_SMALL.
    pub profile: i32,
    /// The error bound, finite and >= 0, in the unit of the data for SLEEK_ABS and a fraction for SLEEK_NOA and
    /// SLEEK_REL; 0 means lossless. Never loosened. Mode lossless ignores it. For SLEEK_RATE and SLEEK_PRECISION the
    /// bits of a value, > 0 and <= 64; for SLEEK_PRECISION a whole number.
    pub bound: f64,
    /// SLEEK_NOA: the value range to use, > 0; 0 (default) for maximum - minimum of the finite values in the buffer.
    pub range: f64,
    /// With has_fill_value a missing value: the element of dtype nearest to this number. See missing.
    pub fill_value: f64,
    /// 1 if fill_value is set, 0 (default) if not.
    pub has_fill_value: i32,
    /// 1 if the elements are big-endian in src, whatever the machine; they come back so. 0 (default): little-endian.
    pub big_endian: i32,
    /// SLEEK_AUTO (default), SLEEK_CPU or SLEEK_CUDA.
    pub device: i32,
    /// Threads to use at most; 0 (default) for the environment variable SLEEK_NUM_THREADS, else one under MPI, else one
    /// for each core. Small arrays use fewer.
    pub threads: i32,
    /// The lengths of the array's dimensions, slowest first, whose product is the number of elements; NULL (default)
    /// with rank 0 for one dimension. Read during the call only.
    pub dims: *const u64,
    /// How many dims there are, at most 32; 0 (default) for one dimension.
    pub rank: i32,
    /// How many of missing are set, at most 4 together with fill_value.
    pub missing_count: i32,
    /// Bits of elements that are no data, in the low bits: NaN, or a mark such as -9999. Each such element comes back
    /// bit for bit, no other element comes back equal to one, and none counts for the range of SLEEK_NOA.
    /// Floating-point types only; integers all come back anyway.
    pub missing: [u64; 4],
    /// 1: where there is a bound, one more pass over the array finds undeclared fill values, such as -9999 among values
    /// from 0 to 1, which are kept as if they were in missing. 0 (default), and -1, which "no-fill" in words sets: no
    /// value is a missing one but those above. Asynchronous calls and batches refuse it, since the host waits for what
    /// is found.
    pub find_fill: i32,
    /// 1: sleek_params_of_chunk() has measured the range of a chunk that is written again and again. 0 (default).
    pub rewritten: i32,
    /// Zero.
    pub reserved: [u32; 2],
}

/// What a stream holds, as sleek_inspect() tells it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sleek_info {
    /// Bytes of this struct; the caller sets it to sizeof(sleek_info).
    pub struct_size: usize,
    /// Version of the stream format.
    pub format_version: i32,
    /// The codec, SLEEK_CODEC_SLEEK, SLEEK_CODEC_INTERP or SLEEK_CODEC_ZFP.
    pub codec: i32,
    /// SLEEK_F32 ... SLEEK_U64.
    pub dtype: i32,
    /// Bytes of an element.
    pub element_bytes: i32,
    /// The mode that was asked for.
    pub mode: i32,
    /// The profile of the encoder.
    pub profile: i32,
    /// 1 if the restored elements are big-endian.
    pub big_endian: i32,
    /// How many dimensions the array has; sleek_inspect_dims() tells them.
    pub rank: i32,
    /// Elements of the array.
    pub count: u64,
    /// Bytes of the array: what sleek_decompress() writes.
    pub raw_bytes: u64,
    /// Bytes of the stream.
    pub stream_bytes: u64,
    /// The bound that was asked for, or the rate or precision.
    pub bound: f64,
    /// The value range that SLEEK_NOA used, else 0.
    pub range: f64,
    /// The absolute bound that is guaranteed; 0 if there is none (SLEEK_LOSSLESS, SLEEK_REL, SLEEK_RATE,
    /// SLEEK_PRECISION, or no error at all).
    pub abs_bound: f64,
    /// Chunks (16 KiB of data) that were compressed.
    pub chunks_packed: u64,
    /// Chunks that are stored as they are.
    pub chunks_raw: u64,
    /// Chunks of one repeated value.
    pub chunks_constant: u64,
    /// Chunks with missing values and other ones.
    pub chunks_masked: u64,
    /// How many missing values the stream names.
    pub missing_count: u64,
    /// Their bits.
    pub missing: [u64; 4],
    /// How many of them, the last ones, nobody named: they were found.
    pub missing_found: u64,
}

const _: () = {
    // Both structs: without padding, so a copy of their bytes is defined, and fixed for this ABI.
    assert!(size_of::<usize>() != 8 || size_of::<sleek_params>() == 128);
    assert!(size_of::<usize>() != 8 || size_of::<sleek_info>() == 168);
};

/// Each value of a type of the library has an enumerator of the same number. Of each the last is looked at, and how
/// many there are: tests/abi and the streams keep the numbers.
macro_rules! pin {
    ($($ours:ident::$last:ident is $c:ident::$enumerator:ident, of $count:literal);+) => {
        const _: () = {
            $(assert!($ours::ALL.len() == $count && $ours::$last as i32 == $c::$enumerator as i32);)+
        };
    };
}

pin!(
    DType::U64 is sleek_dtype::SLEEK_U64, of 12;
    Mode::Precision is sleek_mode::SLEEK_PRECISION, of 6;
    Profile::Small is sleek_profile::SLEEK_SMALL, of 3;
    Device::Cuda is sleek_device::SLEEK_CUDA, of 3;
    Kind::Internal is sleek_status::SLEEK_E_INTERNAL, of 14
);
const _: () = assert!(
    sleek_codec::SLEEK_CODEC_SLEEK as u8 == crate::route::ids::CODEC_SLEEK
        && sleek_codec::SLEEK_CODEC_INTERP as u8 == crate::route::ids::CODEC_INTERP
        && sleek_codec::SLEEK_CODEC_ZFP as u8 == crate::route::ids::CODEC_ZFP
);

/// What a chunk of a stream holds; see sleek_chunk_ranges().
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sleek_chunk_range {
    /// The smallest number that comes back, infinities among them; infinity where there is none. Integers beyond 2^53
    /// are rounded away from the others.
    pub least: f64,
    /// The largest one, the same; minus infinity where there is none.
    pub most: f64,
    /// The sum of all numbers, rounded in f64 on the way.
    pub sum: f64,
    /// How many numbers there are.
    pub count: u64,
    /// How many elements are a missing value of the stream.
    pub missing: u64,
    /// How many others are NaN.
    pub nan: u64,
    /// Zero.
    pub reserved: [u64; 2],
}
