// Every kernel of the library. `kernels/build.py` makes a PTX file for each element type of it, so that a program pays for
// compiling only what it uses.
#include "compress.cuh"
#include "decompress.cuh"
#include "range.cuh"

// The host reads the block size of a kernel from its launch bounds.
#define FAST_THREADS 128
#define ADAPTIVE_THREADS 128
#define RANGE_THREADS 256
#define BEGIN_THREADS 256
#define FINISH_THREADS 1024
#define LIST_THREADS 96

#define KERNELS(name, type) \
    KERNEL void __launch_bounds__(DECODE_THREADS, sizeof(type::Word) == 8 ? 8 : 10) sleek_decompress_##name(const DecompressArgs a) { decompress<type>(a); } \
    KERNEL void __launch_bounds__(FAST_THREADS, sizeof(type::Word) == 8 ? 8 : 7) sleek_compress_fast_##name(const CompressArgs a) { compress<type, false, FAST_THREADS>(a); } \
    KERNEL void __launch_bounds__(ADAPTIVE_THREADS, 5) sleek_compress_adaptive_##name(const CompressArgs a) { compress<type, true, ADAPTIVE_THREADS>(a); }
#define RANGE(name, type) \
    KERNEL void __launch_bounds__(RANGE_THREADS) sleek_range_##name(const CompressArgs a) { measure_range<type>(a); }

#if !defined(ELEMENT) || ELEMENT == 1
KERNELS(f32, F32)
RANGE(f32, F32)
#endif
#if !defined(ELEMENT) || ELEMENT == 2
KERNELS(f64, F64)
RANGE(f64, F64)
#endif
#if !defined(ELEMENT) || ELEMENT == 3
KERNELS(f16, F16)
RANGE(f16, F16)
#endif
#if !defined(ELEMENT) || ELEMENT == 4
KERNELS(bf16, BF16)
RANGE(bf16, BF16)
#endif
#if !defined(ELEMENT) || ELEMENT == 5
KERNELS(b8, B8)
#endif

KERNEL void __launch_bounds__(BEGIN_THREADS) sleek_begin_compress(const CompressArgs a) { begin_compress(a); }
KERNEL void __launch_bounds__(FINISH_THREADS) sleek_finish_compress(const CompressArgs a) { finish_compress(a); }
KERNEL void __launch_bounds__(LIST_THREADS) sleek_list(const ListArgs a) { list_items(a); }
