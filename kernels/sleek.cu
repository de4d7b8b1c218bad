// Every kernel of the library. `kernels/build.py` makes a PTX file for each element type of it, so that a program pays for
// compiling only what it uses.
#include "decompress.cuh"
#include "fast.cuh"
#include "general.cuh"
#include "range.cuh"

// The host reads the block size of a kernel from its launch bounds.
#define RANGE_THREADS 256
#define BEGIN_THREADS 256
#define LIST_THREADS 96

#define KERNELS(name, type) \
    KERNEL void __launch_bounds__(DECODE_THREADS, 8) sleek_decompress_##name(const DecompressArgs a) { decompress<type>(a); } \
    KERNEL void __launch_bounds__(COMPRESS_THREADS, 6) sleek_compress_general_##name(const CompressArgs a) { compress_general<type>(a); }
#define FLOAT_KERNELS(name, type) \
    KERNELS(name, type) \
    KERNEL void __launch_bounds__(COMPRESS_THREADS, 6) sleek_compress_fast_##name(const CompressArgs a) { compress_fast<type>(a); } \
    KERNEL void __launch_bounds__(RANGE_THREADS) sleek_range_##name(const CompressArgs a) { measure_range<type>(a); }

#if !defined(ELEMENT) || ELEMENT == 1
FLOAT_KERNELS(f32, F32)
#endif
#if !defined(ELEMENT) || ELEMENT == 2
FLOAT_KERNELS(f64, F64)
#endif
#if !defined(ELEMENT) || ELEMENT == 3
FLOAT_KERNELS(f16, F16)
#endif
#if !defined(ELEMENT) || ELEMENT == 4
FLOAT_KERNELS(bf16, BF16)
#endif
#if !defined(ELEMENT) || ELEMENT == 5
KERNELS(b8, B8)
#endif

KERNEL void __launch_bounds__(BEGIN_THREADS) sleek_begin_compress(const CompressArgs a) { begin_compress(a); }
KERNEL void __launch_bounds__(LIST_THREADS) sleek_list(const ListArgs a) { list_items(a); }
