// Twin: src/codec/interp/mod.rs
// Every kernel of codec interp. `kernels/modules.toml` says which modules are made of it for each element type.
#include "alone.cuh"
#include "code_tiles.cuh"
#include "entropy.cuh"
#include "general.cuh"
#include "place.cuh"

#define LIST_TILES_THREADS 96
#define BEGIN_TILES_THREADS 256

// PART: 0 for the decoder, 1 for the encoder; the tests have both.
#if !defined(PART) || PART == 0
#define DECODER(name, type) \
    KERNEL(interp_decompress_##name, InterpDecompressArgs, INTERP_THREADS, 2) { interp::decompress<type>(a); }
#define STAGES(name, type)                                                                                             \
    DECODER(name, type)                                                                                                \
    KERNEL(interp_decode_##name, InterpDecompressArgs, 32 * DECODE_WARPS, 1) { interp::decode_tiles<type, false>(a); } \
    KERNEL(interp_restore_##name, InterpDecompressArgs, 128, 4) { interp::restore_tiles<type>(a); }                    \
    KERNEL(interp_decode_nodes_##name, InterpDecompressArgs, 32 * DECODE_WARPS, 1) {                                   \
        interp::decode_tiles<type, true>(a);                                                                           \
    }                                                                                                                  \
    KERNEL(interp_restore_nodes_##name, InterpDecompressArgs, 128, 4) { interp::restore_nodes<type>(a); }
GRID_KERNEL(interp_list, ListArgs, LIST_TILES_THREADS) { list_items(a); }
#else
#define DECODER(name, type)
#define STAGES(name, type)
#endif
#if !defined(PART) || PART == 1
#define LOSSLESS_ENCODER(name, type)                                                                                   \
    KERNEL(interp_compress_##name, InterpCompressArgs, INTERP_THREADS, 2) { interp::encoder::compress_left<type>(a); } \
    GRID_KERNEL(interp_try_##name, InterpCompressArgs, INTERP_THREADS, 2) { interp::encoder::try_tiles<type>(a); }     \
    GRID_KERNEL(interp_place_##name, InterpCompressArgs, 32 * PLACE_WARPS) { interp::encoder::place_bodies<type>(a); } \
    GRID_KERNEL(interp_begin_compress_##name, InterpCompressArgs, BEGIN_TILES_THREADS) {                               \
        interp::encoder::begin_compress(a);                                                                            \
    }
#define ENCODER(name, type)      \
    LOSSLESS_ENCODER(name, type) \
    GRID_KERNEL(interp_range_##name, InterpCompressArgs, RANGE_THREADS) { measure_range<type>(a.common); }
// P: blocks of the kernel that makes codes of 8 bits, on a multiprocessor.
#define WHOLE_ENCODER(name, type, P)                                                                                  \
    ENCODER(name, type)                                                                                               \
    KERNEL(interp_predict_##name, InterpCompressArgs, 128, P) { interp::encoder::predict_tiles<type, false>(a); }     \
    KERNEL(interp_predict_wide_##name, InterpCompressArgs, 128, 2) { interp::encoder::predict_tiles<type, true>(a); } \
    KERNEL(interp_entropy_##name, InterpCompressArgs, 32 * ENTROPY_WARPS, 1) { interp::encoder::write_bodies<type>(a); }
#else
#define LOSSLESS_ENCODER(name, type)
#define ENCODER(name, type)
#define WHOLE_ENCODER(name, type, P)
#endif

#if defined(ELEMENT_f32) || defined(SLEEK_CPU)
STAGES(f32, F32)
WHOLE_ENCODER(f32, F32, 4)
#endif
#if defined(ELEMENT_f64) || defined(SLEEK_CPU)
STAGES(f64, F64)
WHOLE_ENCODER(f64, F64, 3)
#endif
#if defined(ELEMENT_f16) || defined(SLEEK_CPU)
DECODER(f16, F16)
ENCODER(f16, F16)
#endif
#if defined(ELEMENT_bf16) || defined(SLEEK_CPU)
DECODER(bf16, BF16)
ENCODER(bf16, BF16)
#endif
#if defined(ELEMENT_b8) || defined(SLEEK_CPU)
DECODER(b8, B8)
LOSSLESS_ENCODER(b8, B8)
#endif
