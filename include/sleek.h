// SLEEK: compression of arrays of floating-point numbers, lossless or with a guaranteed error bound. The method is that
// of Akathoott, Rodriguez and Burtscher (IPDPS 2026).
//
//     sleek_params params;
//     sleek_params_init(&params);
//     sleek_params_parse(&params, "abs=1e-3");
//     params.dtype = SLEEK_F32;
//     size_t room = sleek_compress_bound(&params, count), size = 0;
//     if (sleek_compress(&params, values, count, stream, room, &size, NULL)) puts(sleek_last_error());
//
// An array is its elements one after the other, the last dimension fastest; params.dims tells its shape. An absolute
// bound is in the unit of the values. The others are parts: of the value range (SLEEK_NOA), of each value (SLEEK_REL).
// In comments v is a value and r what is restored of it.
//
// A function that can fail returns a status code, SLEEK_OK (0) or SLEEK_E_...; sleek_last_error() then explains it. No
// function prints, exits, raises a signal, or lets an exception or a Rust panic out. Sizes are in bytes, and called
// ..._bytes, ..._size or ..._capacity; counts are in elements.
//
// Threads: every function may be called from any number of threads at once, as long as no thread changes the memory
// that another one passed. The library starts threads of its own, which block all signals. It works in
// a child after fork(). No function takes more than 32 KiB of its caller's stack.
//
// This file is written by cbindgen from src/api; do not edit it.


#ifndef SLEEK_H
#define SLEEK_H

#include <stddef.h>
#include <stdint.h>

// The version of this header; sleek_version() tells that of the library.
#define SLEEK_VERSION "0.4.0"

// The filter's id in HDF5: the number that `H5Pset_filter` takes and that files carry.
#define SLEEK_ID 47474

// Status codes: what a function returns. A number is never reused.
typedef enum sleek_status {
    // Success.
    SLEEK_OK = 0,
    // A pointer that must not be NULL was NULL.
    SLEEK_E_NULL_POINTER = 1,
    // An argument or a field of sleek_params has a value outside its documented range.
    SLEEK_E_INVALID_ARGUMENT = 2,
    // The error bound is not a number, negative or infinite.
    SLEEK_E_INVALID_BOUND = 3,
    // The mode cannot be applied to this element type (a lossy mode on integers).
    SLEEK_E_UNSUPPORTED_TYPE = 4,
    // The destination is too small.
    SLEEK_E_BUFFER_TOO_SMALL = 5,
    // The bytes are not a SLEEK stream.
    SLEEK_E_NOT_SLEEK = 6,
    // The stream's format version or codec is not known to this library.
    SLEEK_E_UNSUPPORTED_FORMAT = 7,
    // The stream ends before its stated length.
    SLEEK_E_TRUNCATED = 8,
    // A checksum or a structural check failed.
    SLEEK_E_CORRUPT = 9,
    // Memory could not be allocated.
    SLEEK_E_OUT_OF_MEMORY = 10,
    // The requested device cannot be used.
    SLEEK_E_DEVICE = 11,
    // The requested elements lie outside the array.
    SLEEK_E_OUT_OF_RANGE = 12,
    // HDF5 refused a call or is not reachable.
    SLEEK_E_HDF5 = 13,
    // A bug in the library; please report it.
    SLEEK_E_INTERNAL = 99,
} sleek_status;

// Element types.
typedef enum sleek_dtype {
    // IEEE 754 binary32, float.
    SLEEK_F32 = 1,
    // IEEE 754 binary64, double.
    SLEEK_F64 = 2,
    // IEEE 754 binary16.
    SLEEK_F16 = 3,
    // bfloat16: the upper half of a binary32.
    SLEEK_BF16 = 4,
    // int8_t; integers have no bound: they take mode lossless, or with codec zfp a rate or a precision.
    SLEEK_I8 = 5,
    // int16_t
    SLEEK_I16 = 6,
    // int32_t
    SLEEK_I32 = 7,
    // int64_t
    SLEEK_I64 = 8,
    // uint8_t
    SLEEK_U8 = 9,
    // uint16_t
    SLEEK_U16 = 10,
    // uint32_t
    SLEEK_U32 = 11,
    // uint64_t
    SLEEK_U64 = 12,
} sleek_dtype;

// How values may change, v being the original and r the restored value. NaN and infinities always come back bit for
// bit; -0 may come back as +0 with SLEEK_ABS and SLEEK_NOA.
typedef enum sleek_mode {
    // Every bit comes back.
    SLEEK_LOSSLESS = 0,
    // |v - r| <= bound.
    SLEEK_ABS = 1,
    // |v - r| <= bound * value range; see range and fill_value of sleek_params.
    SLEEK_NOA = 2,
    // |v - r| <= bound * |v|, zeros exact.
    SLEEK_REL = 3,
    // bound is how many bits each value takes; nothing is promised of v - r. Numbers near the largest finite one may
    // come back as infinity. Codec zfp.
    SLEEK_RATE = 4,
    // bound is how many bits of each value are kept, counted from the largest of its block; nothing is promised of
    // v - r, as for SLEEK_RATE. Codec zfp.
    SLEEK_PRECISION = 5,
} sleek_mode;

// Methods of compression.
typedef enum sleek_codec {
    // The one that the profile goes with.
    SLEEK_CODEC_DEFAULT = 0,
    // SLEEK.
    SLEEK_CODEC_SLEEK = 1,
    // ZFP: transformed blocks of 4^d values, at a fixed rate, precision or accuracy, or lossless. f32, f64, i32, i64.
    SLEEK_CODEC_ZFP = 3,
    // Interpolation along all dimensions and an entropy coder: the smallest stream.
    SLEEK_CODEC_INTERP = 5,
} sleek_codec;

// What the encoder may spend on the ratio. A decoder reads all without being told.
typedef enum sleek_profile {
    // The default, at about the speed of memory: the best of several predictions for every 4 KiB, and the bound used
    // in full.
    SLEEK_ADAPTIVE = 0,
    // The transform of the published SLEEK alone: a little faster, larger streams, the bound rounded down to a power
    // of two.
    SLEEK_FAST = 1,
    // The smallest stream, several times slower: prediction along the dimensions of the array, an entropy coder, and
    // the bound used in full.
    SLEEK_SMALL = 2,
} sleek_profile;

// Where the work runs.
typedef enum sleek_device {
    // Where the data is.
    SLEEK_AUTO = 0,
    // On the CPU.
    SLEEK_CPU = 1,
    // On an NVIDIA GPU; SLEEK_E_DEVICE when that is not possible.
    SLEEK_CUDA = 2,
} sleek_device;

// What sleek_find_bound() is to meet.
typedef enum sleek_target {
    // So many times smaller, at least.
    SLEEK_TARGET_RATIO = 0,
    // A stream of so many bytes, at most.
    SLEEK_TARGET_SIZE = 1,
    // So many dB, at least: 20 log10(value range / root mean square error).
    SLEEK_TARGET_PSNR = 2,
    // Such a structural similarity, at least: above 0 and below 1, the mean over windows of 8 x 8 values of the two
    // fastest dimensions.
    SLEEK_TARGET_SSIM = 3,
} sleek_target;

// How a dataset was written or read.
typedef enum sleek_h5d_route {
    // Nothing was selected.
    SLEEK_H5D_NOTHING = 0,
    // By H5Dwrite() or H5Dread(); the reason says why.
    SLEEK_H5D_ORDINARY = 1,
    // Chunk by chunk, on the CPU's threads.
    SLEEK_H5D_THREADS = 2,
    // Chunk by chunk, on the GPU.
    SLEEK_H5D_GPU = 3,
} sleek_h5d_route;

// An array in memory that is kept compressed: each block of 4^d elements takes the same number of bytes, and any
// element is read and written by itself. Opaque.
typedef struct sleek_array sleek_array;

// What sleek_compress() is to do. Set up with sleek_params_init(), then change fields.
typedef struct sleek_params {
    // Bytes of this struct, as sleek_params_init() sets it. A program compiled with a newer header may pass a larger
    // struct, as long as all fields that this library does not know are 0.
    size_t struct_size;
    // SLEEK_F32 ... SLEEK_U64; no default.
    int32_t dtype;
    // SLEEK_LOSSLESS (default), SLEEK_ABS, SLEEK_NOA, SLEEK_REL, SLEEK_RATE or SLEEK_PRECISION.
    int32_t mode;
    // SLEEK_CODEC_DEFAULT (default) or a codec.
    int32_t codec;
    // SLEEK_ADAPTIVE (default), SLEEK_FAST or SLEEK_SMALL.
    int32_t profile;
    // The error bound, finite and >= 0, in the unit of the data for SLEEK_ABS and a fraction for SLEEK_NOA and
    // SLEEK_REL; 0 means lossless. Never loosened. Mode lossless ignores it. For SLEEK_RATE and SLEEK_PRECISION the
    // bits of a value, > 0 and <= 64; for SLEEK_PRECISION a whole number.
    double bound;
    // SLEEK_NOA: the value range to use, > 0; 0 (default) for maximum - minimum of the finite values in the buffer.
    double range;
    // With has_fill_value a missing value: the element of dtype nearest to this number. See missing.
    double fill_value;
    // 1 if fill_value is set, 0 (default) if not.
    int32_t has_fill_value;
    // 1 if the elements are big-endian in src, whatever the machine; they come back so. 0 (default): little-endian.
    int32_t big_endian;
    // SLEEK_AUTO (default), SLEEK_CPU or SLEEK_CUDA.
    int32_t device;
    // Threads to use at most; 0 (default) for the environment variable SLEEK_NUM_THREADS, else one under MPI, else one
    // for each core. Small arrays use fewer.
    int32_t threads;
    // The lengths of the array's dimensions, slowest first, whose product is the number of elements; NULL (default)
    // with rank 0 for one dimension. Read during the call only.
    const uint64_t *dims;
    // How many dims there are, at most 32; 0 (default) for one dimension.
    int32_t rank;
    // How many of missing are set, at most 4 together with fill_value.
    int32_t missing_count;
    // Bits of elements that are no data, in the low bits: NaN, or a mark such as -9999. Each such element comes back
    // bit for bit, no other element comes back equal to one, and none counts for the range of SLEEK_NOA.
    // Floating-point types only; integers all come back anyway.
    uint64_t missing[4];
    // 1: where there is a bound, one more pass over the array finds undeclared fill values, such as -9999 among values
    // from 0 to 1, which are kept as if they were in missing. 0 (default), and -1, which "no-fill" in words sets: no
    // value is a missing one but those above. Asynchronous calls and batches refuse it, since the host waits for what
    // is found.
    int32_t find_fill;
    // 1: sleek_params_of_chunk() has measured the range of a chunk that is written again and again. 0 (default).
    int32_t rewritten;
    // Zero.
    uint32_t reserved[2];
} sleek_params;

// What a stream holds, as sleek_inspect() tells it.
typedef struct sleek_info {
    // Bytes of this struct; the caller sets it to sizeof(sleek_info).
    size_t struct_size;
    // Version of the stream format.
    int32_t format_version;
    // The codec, SLEEK_CODEC_SLEEK, SLEEK_CODEC_INTERP or SLEEK_CODEC_ZFP.
    int32_t codec;
    // SLEEK_F32 ... SLEEK_U64.
    int32_t dtype;
    // Bytes of an element.
    int32_t element_bytes;
    // The mode that was asked for.
    int32_t mode;
    // The profile of the encoder.
    int32_t profile;
    // 1 if the restored elements are big-endian.
    int32_t big_endian;
    // How many dimensions the array has; sleek_inspect_dims() tells them.
    int32_t rank;
    // Elements of the array.
    uint64_t count;
    // Bytes of the array: what sleek_decompress() writes.
    uint64_t raw_bytes;
    // Bytes of the stream.
    uint64_t stream_bytes;
    // The bound that was asked for, or the rate or precision.
    double bound;
    // The value range that SLEEK_NOA used, else 0.
    double range;
    // The absolute bound that is guaranteed; 0 if there is none (SLEEK_LOSSLESS, SLEEK_REL, SLEEK_RATE,
    // SLEEK_PRECISION, or no error at all).
    double abs_bound;
    // Chunks (16 KiB of data) that were compressed.
    uint64_t chunks_packed;
    // Chunks that are stored as they are.
    uint64_t chunks_raw;
    // Chunks of one repeated value.
    uint64_t chunks_constant;
    // Chunks with missing values and other ones.
    uint64_t chunks_masked;
    // How many missing values the stream names.
    uint64_t missing_count;
    // Their bits.
    uint64_t missing[4];
    // How many of them, the last ones, nobody named: they were found.
    uint64_t missing_found;
} sleek_info;

// What a chunk of a stream holds; see sleek_chunk_ranges().
typedef struct sleek_chunk_range {
    // The smallest number that comes back, infinities among them; infinity where there is none. Integers beyond 2^53
    // are rounded away from the others.
    double least;
    // The largest one, the same; minus infinity where there is none.
    double most;
    // The sum of all numbers, rounded in f64 on the way.
    double sum;
    // How many numbers there are.
    uint64_t count;
    // How many elements are a missing value of the stream.
    uint64_t missing;
    // How many others are NaN.
    uint64_t nan;
    // Zero.
    uint64_t reserved[2];
} sleek_chunk_range;

// What an asynchronous call leaves in GPU memory when the stream has passed it.
typedef struct sleek_result {
    // Bytes of the stream or of the whole array; 0 after an error.
    uint64_t bytes;
    // SLEEK_OK or SLEEK_E_....
    int32_t status;
    // 0.
    int32_t reserved;
} sleek_result;

// What sleek_h5d_write() or sleek_h5d_read() did.
typedef struct sleek_h5d_info {
    // Bytes of this struct; the caller sets it to sizeof(sleek_h5d_info).
    size_t struct_size;
    // SLEEK_H5D_NOTHING, _ORDINARY, _THREADS or _GPU.
    int32_t route;
    // 1 if GPU memory was copied to or from the host uncompressed.
    int32_t staged;
    // Chunks of the dataset; 0 on the ordinary route.
    uint64_t chunks;
    // Bytes of the array.
    uint64_t raw_bytes;
    // Bytes of its chunks in the file; 0 on the ordinary route.
    uint64_t stored_bytes;
    // Zero.
    uint64_t reserved[3];
    // Why this route, as a sentence that ends with 0.
    char reason[192];
} sleek_h5d_info;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The filter's H5Z_class2_t, for H5Zregister() and h5py's register_filter(). `sleek_hdf5.h` has more for HDF5.
const void *sleek_h5_class(void);

// Sets every field of params to its default: mode lossless, codec and profile default, device and threads automatic,
// no range, no fill value. dtype stays 0, which is no element type: the caller sets it.
//
// In all releases of this ABI the function writes the 128 bytes of the struct's first version. So it is safe for a
// program that was compiled with an older header.
//
// Errors: SLEEK_E_NULL_POINTER.
int32_t sleek_params_init(struct sleek_params *params);

// Sets mode, bound, range, fill value and profile of params to what a text asks for: "abs=1e-3", "noa=1e-4",
// "noa=1e-4,range=50,fill=-9999", "rel=1e-2,profile=fast", "lossless". Those that the text does not name become the
// default. It sets codec where it has codec=, find_fill where it has no-fill, and missing where it has the bits of a
// value, fill=0x7fc00000, or a second number, of which it takes the element of dtype. All other fields stay as they
// are. Numbers have a decimal point whatever the locale.
//
// - params: set up by sleek_params_init(); unchanged after an error.
// - text: ends with 0. Exactly one of abs=, noa=, rel=, rate=, precision= and lossless must be in it.
//
// Errors: SLEEK_E_NULL_POINTER; SLEEK_E_INVALID_ARGUMENT; SLEEK_E_INVALID_BOUND.
int32_t sleek_params_parse(struct sleek_params *params, const char *text);

// Sets bound and range of params for one chunk of an array that is kept in chunks which are restored, changed and
// compressed anew, as Zarr keeps them: SLEEK_NOA without a range takes the range of this chunk, in which neither
// missing values count, named or found, nor zeros, nor what the last element is equal to, which may be the rim that
// was filled; and a step of a power of two, with which the bound holds however often that happens. Other requests stay
// as they are.
//
// - params: set up by sleek_params_init(); unchanged after an error.
// - src: count elements of params->dtype in host memory.
//
// Errors: SLEEK_E_NULL_POINTER; what is wrong with params.
int32_t sleek_params_of_chunk(struct sleek_params *params, const void *src, size_t count);

// The most bytes that a stream of count elements of params->dtype can take, whatever the data: a dst_capacity with
// which sleek_compress cannot run out of room. With codec SLEEK it exceeds the size of the array by less than 128
// bytes and 1/7000. Dimensions, missing values and those that may be found add up to 304 bytes.
//
// Returns 0 on failure, never otherwise; the reason is in sleek_last_error().
size_t sleek_compress_bound(const struct sleek_params *params, size_t count);

// Compresses an array into a stream that can be decoded without knowing params.
//
// - params: what to do; only read.
// - src: count elements of params->dtype, contiguous, in host, GPU or managed memory, of any alignment; NULL only if
//   count is 0. An array of several dimensions is passed as the one-dimensional sequence that it is in memory;
//   params->dims says how long they are.
// - dst: where the stream goes: dst_capacity bytes of host, GPU or managed memory, of any alignment, not overlapping
//   src. With at least sleek_compress_bound() bytes the call cannot run out of room; fewer are enough if the data
//   compresses well. The memory need not be initialised. After an error its contents are undefined.
// - dst_bytes: receives the bytes of the stream, 0 after an error. Not NULL.
// - stream: the CUDA stream to work on if src or dst is GPU memory (NULL: the default stream); else NULL.
//
// The bytes of the stream depend on the data and on params, but not on the number of threads or the machine. The call
// returns when all work is done, allocates nothing that the caller has to free, and keeps no pointer.
//
// Returns SLEEK_OK or: SLEEK_E_NULL_POINTER; SLEEK_E_INVALID_ARGUMENT (a field of params, dimensions that do not make
// up count, overlap, count too large, a stream); SLEEK_E_INVALID_BOUND; SLEEK_E_UNSUPPORTED_TYPE (a lossy mode on
// integers); SLEEK_E_BUFFER_TOO_SMALL; SLEEK_E_DEVICE; SLEEK_E_OUT_OF_MEMORY; SLEEK_E_INTERNAL.
int32_t sleek_compress(const struct sleek_params *params,
                       const void *src,
                       size_t count,
                       void *dst,
                       size_t dst_capacity,
                       size_t *dst_bytes,
                       void *stream);

// Restores the whole array from a stream.
//
// - src: the stream, exactly src_bytes bytes of host, GPU or managed memory, of any alignment.
// - dst: receives the array: dst_capacity bytes of host, GPU or managed memory, of any alignment, not overlapping src;
//   at least raw_bytes of sleek_inspect(). NULL only if the array is empty. Elements come back in the byte order that
//   they had. After an error the contents are undefined.
// - dst_bytes: receives the bytes of the array, 0 after an error. May be NULL.
// - stream: as for sleek_compress().
//
// Every checksum is verified. The CPU does that before it decodes the bytes that it covers. A GPU does it before the
// call returns: damage is an error, but dst has been written. No input, however damaged, makes the function read or
// write outside the two buffers.
//
// Returns SLEEK_OK or: SLEEK_E_NULL_POINTER; SLEEK_E_INVALID_ARGUMENT (overlap, a stream);
// SLEEK_E_BUFFER_TOO_SMALL; SLEEK_E_NOT_SLEEK; SLEEK_E_UNSUPPORTED_FORMAT; SLEEK_E_TRUNCATED;
// SLEEK_E_CORRUPT; SLEEK_E_OUT_OF_MEMORY; SLEEK_E_INTERNAL.
int32_t sleek_decompress(const void *src,
                         size_t src_bytes,
                         void *dst,
                         size_t dst_capacity,
                         size_t *dst_bytes,
                         void *stream);

// Restores the whole array from a stream that must be of this type and length. Use it where memory was made
// beforehand: it is sleek_decompress() without a copy of the header from GPU memory.
//
// - dtype, big_endian: the elements that dst is for, SLEEK_F32 ... SLEEK_U64, and 1 if they are big-endian, else 0.
// - dst_bytes: bytes of dst, which the array has to fill.
// - src, src_bytes, dst, stream: as for sleek_decompress().
//
// Returns SLEEK_OK, SLEEK_E_INVALID_ARGUMENT if the stream is of another type, byte order or length, when dst was not
// touched, or an error as of sleek_decompress().
int32_t sleek_decompress_as(int32_t dtype,
                            int32_t big_endian,
                            const void *src,
                            size_t src_bytes,
                            void *dst,
                            size_t dst_bytes,
                            void *stream);

// Restores the elements first ... first + count - 1 from a stream, and decodes only the chunks (16 KiB of data each)
// that hold them.
//
// src, src_bytes, stream: as for sleek_decompress(). dst receives count times the element's size in bytes, at most
// dst_capacity; it may be NULL if count is 0. The header, the index, and the groups of 64 chunks that are touched are
// verified; damage elsewhere in the stream is not noticed.
//
// Returns SLEEK_OK, SLEEK_E_OUT_OF_RANGE if the array does not have all these elements, or an error as of
// sleek_decompress().
int32_t sleek_decompress_range(const void *src,
                               size_t src_bytes,
                               uint64_t first,
                               size_t count,
                               void *dst,
                               size_t dst_capacity,
                               void *stream);

// Restores a box of elements from a stream: along each dimension k the count[k] elements from start[k] on, and decodes
// only the chunks that hold them.
//
// - src, src_bytes, stream: as for sleek_decompress().
// - rank: the number of the array's dimensions, 1 ... 32, as sleek_inspect() tells it; 1 for an array that was
//   compressed without dimensions.
// - start, count: rank numbers each in host memory, slowest dimension first, in elements; only read.
//   sleek_inspect_dims() tells what there is.
// - dst: receives the box without gaps, its last dimension fastest: the product of all count[k] times the element's
//   size in bytes, at most dst_capacity. It may be NULL if the box is empty. After an error its contents are
//   undefined.
//
// What is verified is as for sleek_decompress_range(). Any number of threads may read from one stream at once.
//
// Returns SLEEK_OK, SLEEK_E_OUT_OF_RANGE if the box does not lie in the array, SLEEK_E_INVALID_ARGUMENT if the array
// has another rank, or an error as of sleek_decompress().
int32_t sleek_decompress_box(const void *src,
                             size_t src_bytes,
                             int32_t rank,
                             const uint64_t *start,
                             const uint64_t *count,
                             void *dst,
                             size_t dst_capacity,
                             void *stream);

// Restores every 2^level-th element of a stream: those whose places along each of the last three dimensions are
// multiples of 2^level. They are, bit for bit, those that sleek_decompress() puts there. Codec interp decodes the
// leading levels of a tile alone, which takes a small part of the time; of other codecs one chunk after the other is
// decoded and thinned. The array is never held.
//
// - src, src_bytes, stream: as for sleek_decompress().
// - level: 0 ... 63; 0 is every element.
// - rank, start, count: a box, as for sleek_decompress_box(); or 0, NULL and NULL for the whole array.
// - dst: receives the elements without gaps, the last dimension fastest: along each of the last three dimensions
//   ceil((start + count) / 2^level) - ceil(start / 2^level) of them, along others count. At most dst_capacity bytes;
//   it may be NULL if there are none. After an error its contents are undefined.
// - dst_bytes: receives the bytes written, 0 after an error. May be NULL.
//
// What is verified is as for sleek_decompress_range(). Of a body whose leading levels alone are decoded the rest is
// compared with the checksum, and not looked at further.
//
// Returns SLEEK_OK, SLEEK_E_OUT_OF_RANGE if the box does not lie in the array, SLEEK_E_INVALID_ARGUMENT if the array
// has another rank or the level is greater, or an error as of sleek_decompress().
int32_t sleek_decompress_coarse(const void *src,
                                size_t src_bytes,
                                uint32_t level,
                                int32_t rank,
                                const uint64_t *start,
                                const uint64_t *count,
                                void *dst,
                                size_t dst_capacity,
                                size_t *dst_bytes,
                                void *stream);

// Tells what a stream holds without decoding it.
//
// - src: a stream, at the start of src_bytes bytes of host, device or managed memory; more may follow it,
//   info->stream_bytes says where. Of one in device memory header and index alone are copied to the host.
// - info: the caller sets info->struct_size = sizeof *info; all other fields are written. Fields that this library
//   does not know are set to 0. After an error only struct_size is defined.
//
// Header and index are verified by their checksum; the data is not looked at.
//
// Returns SLEEK_OK or: SLEEK_E_NULL_POINTER; SLEEK_E_INVALID_ARGUMENT (struct_size); SLEEK_E_NOT_SLEEK;
// SLEEK_E_UNSUPPORTED_FORMAT; SLEEK_E_TRUNCATED; SLEEK_E_CORRUPT; SLEEK_E_DEVICE; SLEEK_E_OUT_OF_MEMORY;
// SLEEK_E_INTERNAL.
int32_t sleek_inspect(const void *src, size_t src_bytes, struct sleek_info *info);

// Tells the lengths of the dimensions of a stream's array, slowest first; their product is the number of elements.
//
// - src, src_bytes: as for sleek_inspect().
// - dims: receives a number for each dimension; room for dims_capacity of them in host memory. 32 are always enough.
//   May be NULL if dims_capacity is 0.
// - rank: receives the number of dimensions, also if dims has too little room; 0 after any other error. Not NULL.
//
// An array that was compressed without dimensions has one.
//
// Returns SLEEK_OK, SLEEK_E_BUFFER_TOO_SMALL, or an error as of sleek_inspect().
int32_t sleek_inspect_dims(const void *src, size_t src_bytes, uint64_t *dims, size_t dims_capacity, int32_t *rank);

// Tells the sides of a stream's chunks, which sleek_chunk_ranges() and readers of boxes go by.
//
// - src, src_bytes: as for sleek_inspect().
// - sides: receives a number for each dimension, room for sides_capacity of them in host memory; 32 are always enough.
//   Chunks are boxes with these sides, those at the end of a dimension shorter, the last dimension's first.
// - rank: receives the number of dimensions; or 0 if chunks are runs of elements, whatever the dimensions: then
//   sides[0] is the length of a run, of which the last one may be shorter. 0 after an error. Not NULL.
//
// Returns SLEEK_OK, SLEEK_E_BUFFER_TOO_SMALL, or an error as of sleek_inspect().
int32_t sleek_chunk_sides(const void *src, size_t src_bytes, uint64_t *sides, size_t sides_capacity, int32_t *rank);

// Tells what each chunk of a stream holds: exactly the ends of the values that come back, and how many are numbers,
// missing values and NaN. Their sum is rounded in f64 on the way. Chunk after chunk is decoded by several threads, and
// the array is never held. Whoever asks often keeps what this tells, and decodes only the chunks that may answer.
//
// - src, src_bytes: the stream, exactly src_bytes bytes of host, GPU or managed memory.
// - ranges: receives one for each chunk, in their order; room for capacity of them in host memory. May be NULL if
//   capacity is 0.
// - count: receives the number of chunks, also if ranges has too little room; 0 after any other error. Not NULL.
//
// Returns SLEEK_OK, SLEEK_E_BUFFER_TOO_SMALL, or an error as of sleek_decompress().
int32_t sleek_chunk_ranges(const void *src,
                           size_t src_bytes,
                           struct sleek_chunk_range *ranges,
                           size_t capacity,
                           size_t *count);

// Restores whole chunks of a stream, one behind the other: those that may answer a question, by what
// sleek_chunk_ranges() told of them.
//
// - src, src_bytes: as for sleek_chunk_ranges().
// - chunks, count: the numbers of that many chunks, each greater than the one before, in host memory. chunks may be
//   NULL if count is 0.
// - dst: receives the elements, those of a chunk in the order of its box, at most dst_capacity bytes of host memory.
//   It may be NULL if there are none. After an error its contents are undefined.
//
// What is verified is as for sleek_decompress_range().
//
// Returns SLEEK_OK, SLEEK_E_OUT_OF_RANGE if there is no such chunk, or an error as of sleek_decompress().
int32_t sleek_decompress_chunks(const void *src,
                                size_t src_bytes,
                                const uint64_t *chunks,
                                size_t count,
                                void *dst,
                                size_t dst_capacity);

// The text of the last error of a SLEEK function on the calling thread, in English and UTF-8. It names the wrong value
// and the right ones. It is empty if there was no error. A call that succeeds leaves the text as it is.
//
// The pointer is never NULL and belongs to the library. It is valid until the thread ends; the text changes with the
// next error on this thread.
const char *sleek_last_error(void);

// A fixed English text for a status code (SLEEK_OK and SLEEK_E_...; any other number is said to be unknown). Never
// NULL; belongs to the library and stays valid.
const char *sleek_strerror(int32_t code);

// The version of the library that is loaded, "major.minor.patch"; compare with SLEEK_VERSION, that of the header.
// Never NULL; belongs to the library and stays valid.
const char *sleek_version(void);

// Sets mode and bound of params to what meets a target on an array: SLEEK_ABS with a bound, or SLEEK_LOSSLESS. What
// they were does not matter. A ratio or a size is exceeded by at most 2 %, where a bound gives that.
//
// - params: set up by sleek_params_init(); unchanged after an error.
// - src: count elements of params->dtype in host memory, whose dimensions params->dims may tell.
// - target, value: a sleek_target and its number.
//
// The bound is searched for on a sample of 8 MiB and then tried on the whole array, 2 to 16 times, in host memory.
// NaN, infinities and missing values do not count for quality.
//
// Errors: SLEEK_E_NULL_POINTER; SLEEK_E_INVALID_ARGUMENT (a target that no bound meets: the text names the nearest one
// that can be met); SLEEK_E_UNSUPPORTED_TYPE (integers); SLEEK_E_OUT_OF_MEMORY.
int32_t sleek_find_bound(struct sleek_params *params, const void *src, size_t count, int32_t target, double value);

// Makes an array of zeros.
//
// - params: dtype SLEEK_F32, SLEEK_F64, SLEEK_I32 or SLEEK_I64; codec SLEEK_CODEC_ZFP; mode SLEEK_RATE, bound the
//   bits of each value; dims and rank, 1 to 4. The rate is rounded up so that a block of 4^rank values takes a
//   multiple of 64 bits.
// - cache_bytes: room for decoded blocks; 0 for as many as the square root of the number of all blocks.
// - array: receives the array, NULL after an error; for sleek_array_free().
//
// A rate promises a size, not a bound: what is read is not exactly what was written, and what is read and written
// again changes again.
//
// Errors: SLEEK_E_NULL_POINTER; SLEEK_E_INVALID_ARGUMENT; SLEEK_E_INVALID_BOUND; SLEEK_E_UNSUPPORTED_TYPE;
// SLEEK_E_OUT_OF_MEMORY.
int32_t sleek_array_create(const struct sleek_params *params, size_t cache_bytes, struct sleek_array **array);

// Reads a box: along each dimension k the count[k] elements from start[k] on.
//
// - start, count: a number for each dimension of the array, slowest first.
// - dst: receives the box without gaps, its last dimension fastest, in the byte order of the machine; dst_capacity
//   bytes.
//
// Any number of threads may read and write one array; they take turns. A forked child may use it too, unless another
// thread was inside it at the fork: then every use but sleek_array_free() is SLEEK_E_INVALID_ARGUMENT.
//
// Errors: SLEEK_E_NULL_POINTER; SLEEK_E_OUT_OF_RANGE; SLEEK_E_BUFFER_TOO_SMALL; SLEEK_E_INVALID_ARGUMENT;
// SLEEK_E_INTERNAL.
int32_t sleek_array_read(struct sleek_array *array,
                         const uint64_t *start,
                         const uint64_t *count,
                         void *dst,
                         size_t dst_capacity);

// Writes such a box from src_bytes bytes at src. Floats must be finite. Elements are encoded when their block leaves
// the cache, or by sleek_array_flush().
//
// Errors: SLEEK_E_NULL_POINTER; SLEEK_E_OUT_OF_RANGE; SLEEK_E_BUFFER_TOO_SMALL (src_bytes are less than the box has);
// SLEEK_E_INVALID_ARGUMENT (a float that is not finite); SLEEK_E_INTERNAL.
int32_t sleek_array_write(struct sleek_array *array,
                          const uint64_t *start,
                          const uint64_t *count,
                          const void *src,
                          size_t src_bytes);

// Encodes all that was written and is in the cache still. What is read afterwards of a block that had left the cache
// is the same as before.
//
// Errors: SLEEK_E_NULL_POINTER; SLEEK_E_INTERNAL.
int32_t sleek_array_flush(struct sleek_array *array);

// Copies the compressed blocks, those that were changed encoded, to dst, which may be memory of the host or of a GPU:
// for kernels that use sleek_array.cuh. A call waits for its copy.
//
// - dst_capacity: sleek_array_bytes() at least.
// - stream: a CUstream (cudaStream_t) that the copy goes behind; NULL for the default one. Of no matter in host
//   memory.
//
// Errors: SLEEK_E_NULL_POINTER; SLEEK_E_BUFFER_TOO_SMALL; SLEEK_E_DEVICE; SLEEK_E_INVALID_ARGUMENT; SLEEK_E_INTERNAL.
int32_t sleek_array_blocks(struct sleek_array *array, void *dst, size_t dst_capacity, void *stream);

// Copies compressed blocks, such as a kernel has written, into an array of the same dimensions, type and rate. src
// lies in memory of the host or of a GPU. The array's former content and cache are gone. An error leaves the array as
// it was; for that the call needs memory for as many blocks again.
//
// - src_bytes: sleek_array_bytes().
// - stream: as for sleek_array_blocks().
//
// Errors: SLEEK_E_NULL_POINTER; SLEEK_E_INVALID_ARGUMENT (src_bytes are not what the blocks take);
// SLEEK_E_OUT_OF_MEMORY; SLEEK_E_DEVICE; SLEEK_E_INTERNAL.
int32_t sleek_array_set_blocks(struct sleek_array *array, const void *src, size_t src_bytes, void *stream);

// The bytes that the compressed blocks take, and, in cache_bytes unless that is NULL, those of the cache. 0 if array
// is NULL.
size_t sleek_array_bytes(const struct sleek_array *array, size_t *cache_bytes);

// Frees an array, which nobody may use any more; NULL is nothing.
void sleek_array_free(struct sleek_array *array);

// Where sleek_compress() would run for these pointers, and why, as a sentence ("cuda device 0 (NVIDIA H200, ...): the
// source is in GPU memory", "cpu: the data is in host memory", "none: ..." with the reason). On a GPU the sentence
// goes on with the codecs that have no kernels, or none that compress, if there are some: the CPU does the rest.
//
// - device: what is asked for, one of sleek_device.
// - src, dst: may be NULL, which counts as host memory; nothing is read or written.
// - text: receives at most capacity bytes, the terminating 0 included.
//
// The function loads no driver and creates no context unless the GPU is asked for.
//
// Returns SLEEK_OK or: SLEEK_E_NULL_POINTER; SLEEK_E_INVALID_ARGUMENT (device); SLEEK_E_BUFFER_TOO_SMALL;
// SLEEK_E_OUT_OF_MEMORY; SLEEK_E_INTERNAL.
int32_t sleek_device_info(int32_t device, const void *src, const void *dst, char *text, size_t capacity);

// Bytes of GPU memory that an asynchronous call needs as workspace, aligned to 16. The workspace belongs to one call
// until the stream has passed it.
//
// Never 0.
size_t sleek_workspace_bytes(void);

// Loads what asynchronous calls with the codec and the dtype of params need on the GPU with this number. Call it
// before a stream is captured into a graph, since loading cannot be captured. Call it before a measurement, too: the
// driver may compile kernels for seconds.
//
// Returns SLEEK_OK or: SLEEK_E_NULL_POINTER; SLEEK_E_INVALID_ARGUMENT; SLEEK_E_UNSUPPORTED_TYPE (of elements that the
// codec does not take); SLEEK_E_DEVICE (also of a codec that has no kernels); SLEEK_E_INTERNAL.
int32_t sleek_device_prepare(const struct sleek_params *params, int32_t ordinal, void *stream);

// sleek_compress() for pipelines on the GPU: enqueues the work on stream and returns at once. It does not wait, and
// can be captured into a CUDA graph (see sleek_device_prepare()). It allocates nothing, but for codec interp.
//
// - src: count elements in GPU memory; faster if aligned to 16.
// - dst: dst_capacity bytes of GPU memory, aligned to 16.
// - result: GPU memory, aligned to 8, that receives what sleek_compress() would return.
// - workspace: at least sleek_workspace_bytes() of GPU memory, aligned to 16.
//
// All memory must stay valid until the stream has passed the work. Codec interp takes memory from the device's pool,
// allocated and freed in the order of the stream.
//
// Returns SLEEK_OK if the work was enqueued, or an error as of sleek_compress(). SLEEK_E_DEVICE also means that the
// codec has no kernels for the request; the CPU cannot do it here.
int32_t sleek_compress_async(const struct sleek_params *params,
                             const void *src,
                             size_t count,
                             void *dst,
                             size_t dst_capacity,
                             struct sleek_result *result,
                             void *workspace,
                             size_t workspace_bytes,
                             void *stream);

// sleek_decompress_range() for pipelines on the GPU, on the terms of sleek_compress_async().
//
// - params: only its codec (0: by its profile) and its dtype count. In result a stream of another codec is
//   SLEEK_E_UNSUPPORTED_FORMAT, one of other elements SLEEK_E_INVALID_ARGUMENT.
// - src: a stream in GPU memory, aligned to 16. src_bytes may be more than it takes, such as the capacity that was
//   given for compressing it.
// - dst: receives elements first ... first + count - 1.
//
// No stream, however damaged, makes the work read or write outside these ranges.
//
// Returns SLEEK_OK if the work was enqueued, or an error as of sleek_decompress().
int32_t sleek_decompress_async(const struct sleek_params *params,
                               const void *src,
                               size_t src_bytes,
                               uint64_t first,
                               size_t count,
                               void *dst,
                               size_t dst_capacity,
                               struct sleek_result *result,
                               void *workspace,
                               size_t workspace_bytes,
                               void *stream);

// Bytes of GPU memory that a batched call for so many arrays needs as workspace, aligned to 16. The workspace belongs
// to one call until the stream has passed it.
//
// Never 0.
size_t sleek_batch_workspace_bytes(size_t arrays);

// sleek_compress_async() for many arrays at once, such as the chunks of a dataset: one call takes little longer than
// one for a single array of their total size. The streams are those of single calls.
//
// - params: for all arrays. With mode noa and no range given, each array's own range counts.
// - src, counts, dst, dst_capacities: for each array what sleek_compress_async() takes as src, count, dst and
//   dst_capacity. These lists are in host memory and may go away when the function returns.
// - results: GPU memory, aligned to 8, that receives one sleek_result for each array; an array that fails does not
//   touch the others.
// - workspace: at least sleek_batch_workspace_bytes(arrays) of GPU memory, aligned to 16.
//
// Returns SLEEK_OK if the work was enqueued, or an error as of sleek_compress(); then nothing was enqueued for any
// array.
int32_t sleek_compress_batch_async(const struct sleek_params *params,
                                   size_t arrays,
                                   const void *const *src,
                                   const size_t *counts,
                                   void *const *dst,
                                   const size_t *dst_capacities,
                                   struct sleek_result *results,
                                   void *workspace,
                                   size_t workspace_bytes,
                                   void *stream);

// sleek_decompress_async() for many streams at once, on the terms of sleek_compress_batch_async().
//
// - params: only its codec and its dtype count, for all streams.
// - src, src_bytes: of each stream, as sleek_decompress_async() takes them.
// - dst, counts: where each array goes, and its elements. Whole arrays are restored: a stream of another number of
//   elements is refused with SLEEK_E_OUT_OF_RANGE in its result.
//
// Returns SLEEK_OK if the work was enqueued, or an error as of sleek_decompress(); then nothing was enqueued for any
// stream.
int32_t sleek_decompress_batch_async(const struct sleek_params *params,
                                     size_t arrays,
                                     const void *const *src,
                                     const size_t *src_bytes,
                                     void *const *dst,
                                     const size_t *counts,
                                     struct sleek_result *results,
                                     void *workspace,
                                     size_t workspace_bytes,
                                     void *stream);

// Writes an array in host, GPU or managed memory to a dataset that has the SLEEK filter, or to any other. Where it
// can, it makes the chunks on the GPU that has the data or on all threads, and hands them to HDF5. The file is the one
// that H5Dwrite() would make, but that undeclared missing values are not searched for. Where it cannot it calls
// H5Dwrite(), after copying the data to the host if need be.
//
// The chunks are made here if all of this holds. The dataset is chunked, SLEEK is its only filter, and its elements
// are numbers. mem_type has these elements, in any byte order. The box begins and ends between chunks or at the end of
// the dataset. dxpl has no data transform. In a file that MPI ranks share, the array is in GPU memory and has the byte
// order of the file; its chunks go in by the H5Dwrite() of all ranks.
//
// - dset, mem_type, dxpl: a dataset, the type of the elements in memory and transfer properties (0: the default), as
//   for H5Dwrite(). They are hid_t's of the HDF5, 1.10 or newer, that the calling code is linked to.
// - start, count: the box to write, as for H5Sselect_hyperslab(), one number for each dimension; NULL for the first
//   element and for everything from start on.
// - buf: the box, contiguous; NULL only if it is empty.
// - stream: the CUDA stream that the data is ready on (NULL: the default stream); NULL for host memory.
// - info: NULL, or a struct with its struct_size set, which tells what was done.
//
// HDF5 is only called from the calling thread. The call returns when HDF5 has the data, and the stream is idle then.
// Where MPI ranks share the file, every rank must call, with collective transfer properties; a rank without data
// passes a count of 0.
//
// Returns SLEEK_OK or: SLEEK_E_HDF5 (HDF5's error stack says more); SLEEK_E_NULL_POINTER; SLEEK_E_INVALID_ARGUMENT;
// SLEEK_E_OUT_OF_RANGE (the box lies outside the dataset); SLEEK_E_DEVICE; SLEEK_E_OUT_OF_MEMORY; SLEEK_E_INTERNAL.
// After an error chunks may have been written.
int32_t sleek_h5d_write(int64_t dset,
                        int64_t mem_type,
                        const uint64_t *start,
                        const uint64_t *count,
                        int64_t dxpl,
                        const void *buf,
                        void *stream,
                        struct sleek_h5d_info *info);

// Reads a dataset into an array in host, GPU or managed memory: sleek_h5d_write() the other way round, on the same
// terms.
//
// Chunks that were stored without the filter are read as they are, chunks that were never written as the fill value,
// as by H5Dread(). Damage to a chunk is an error, after which the contents of buf are undefined.
//
// Returns SLEEK_OK, SLEEK_E_NOT_SLEEK, SLEEK_E_UNSUPPORTED_FORMAT, SLEEK_E_TRUNCATED, SLEEK_E_CORRUPT, or an error as
// of sleek_h5d_write().
int32_t sleek_h5d_read(int64_t dset,
                       int64_t mem_type,
                       const uint64_t *start,
                       const uint64_t *count,
                       int64_t dxpl,
                       void *buf,
                       void *stream,
                       struct sleek_h5d_info *info);

// Tells sleek_h5d_write() and sleek_h5d_read() which HDF5 to use, for calls from this thread. It is that of the
// program or library that holds `address`, such as a function of it. NULL, as at first: that of the code that calls.
//
// For foreign-function interfaces, whose calls come from a library of their own that is linked to no HDF5, in
// processes that hold several HDF5s. Where there is none at `address` those calls return SLEEK_E_HDF5.
void sleek_h5d_user(const void *address);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SLEEK_H */
