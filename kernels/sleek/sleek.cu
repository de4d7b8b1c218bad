// Twin: src/codec/sleek/mod.rs
// Every kernel of codec sleek. `kernels/modules.toml` says which modules are made of it for each element type: the long
// encoders are modules of their own, so that a program loads only what it uses.
#include "decompress.cuh"
#include "encode_fast.cuh"
#include "encode_generic.cuh"
#include "../common/range.cuh"

// The host reads the block size of a kernel from its launch bounds.
#define BEGIN_THREADS 256
#define LIST_THREADS 96

// PART: 1 for the encoder for everything alone, 2 for the adaptive one, 3 and 4 for the adaptive one and that of `fast`
// where there are missing values, 0 for all the rest; the tests have all.
#if !defined(PART) || PART == 0
#define KERNELS(name, type)                                                                            \
    KERNEL(sleek_decompress_##name, DecompressArgs, DECODE_THREADS, 9) { decompress<type, false>(a); } \
    KERNEL(sleek_decompress_box_##name, DecompressArgs, DECODE_THREADS, 9) { decompress<type, true>(a); }
#define FLOAT_KERNELS(name, type)                                                                     \
    KERNELS(name, type)                                                                               \
    KERNEL(sleek_compress_fast_##name, CompressArgs, COMPRESS_THREADS, 6) { compress_fast<type>(a); } \
    GRID_KERNEL(sleek_range_##name, CompressArgs, RANGE_THREADS) { measure_range<type>(a); }
GRID_KERNEL(sleek_begin_compress, CompressArgs, BEGIN_THREADS) { begin_compress(a); }
GRID_KERNEL(sleek_list, ListArgs, LIST_THREADS) { list_items(a); }
#else
#define KERNELS(name, type)
#define FLOAT_KERNELS(name, type)
#endif
#if !defined(PART) || PART == 1
// VALUES: missing ones that there may be.
#define GENERAL_KERNEL(name, type, VALUES)                                                  \
    KERNEL(sleek_compress_general_##name, CompressArgs, COMPRESS_THREADS, VALUES ? 5 : 6) { \
        compress_arrays<type, false, VALUES>(a);                                            \
    }
#else
#define GENERAL_KERNEL(name, type, VALUES)
#endif
#if !defined(PART) || PART == 2
#define ADAPTIVE_KERNEL(name, type) \
    KERNEL(sleek_compress_adaptive_##name, CompressArgs, COMPRESS_THREADS, 6) { compress_arrays<type, true>(a); }
#else
#define ADAPTIVE_KERNEL(name, type)
#endif
#if !defined(PART) || PART == 3
#define MISSING_ADAPTIVE_KERNEL(name, type)                                             \
    KERNEL(sleek_compress_missing_adaptive_##name, CompressArgs, COMPRESS_THREADS, 5) { \
        compress_arrays<type, true, FEW_MISSING>(a);                                    \
    }
#else
#define MISSING_ADAPTIVE_KERNEL(name, type)
#endif
#if !defined(PART) || PART == 4
#define MISSING_FAST_KERNEL(name, type)                                             \
    KERNEL(sleek_compress_missing_fast_##name, CompressArgs, COMPRESS_THREADS, 5) { \
        compress_fast<type, FEW_MISSING>(a);                                        \
    }
#else
#define MISSING_FAST_KERNEL(name, type)
#endif

#if defined(ELEMENT_f32) || defined(SLEEK_CPU)
FLOAT_KERNELS(f32, F32)
GENERAL_KERNEL(f32, F32, MAX_MISSING)
ADAPTIVE_KERNEL(f32, F32)
MISSING_ADAPTIVE_KERNEL(f32, F32)
MISSING_FAST_KERNEL(f32, F32)
#endif
#if defined(ELEMENT_f64) || defined(SLEEK_CPU)
FLOAT_KERNELS(f64, F64)
GENERAL_KERNEL(f64, F64, MAX_MISSING)
ADAPTIVE_KERNEL(f64, F64)
MISSING_ADAPTIVE_KERNEL(f64, F64)
MISSING_FAST_KERNEL(f64, F64)
#endif
#if defined(ELEMENT_f16) || defined(SLEEK_CPU)
FLOAT_KERNELS(f16, F16)
GENERAL_KERNEL(f16, F16, MAX_MISSING)
#endif
#if defined(ELEMENT_bf16) || defined(SLEEK_CPU)
FLOAT_KERNELS(bf16, BF16)
GENERAL_KERNEL(bf16, BF16, MAX_MISSING)
#endif
#if defined(ELEMENT_b8) || defined(SLEEK_CPU)
KERNELS(b8, B8)
GENERAL_KERNEL(b8, B8, 0)
#endif
