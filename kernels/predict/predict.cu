// Twin: src/codec/predict/mod.rs
// Every kernel of codec predict. `kernels/modules.toml` says which modules are made of it for each element type.
#include "compress.cuh"
#include "decompress.cuh"

#define LIST_TILES_THREADS 96
#define BEGIN_TILES_THREADS 256

// PART: 0 for the decoder, 1 for the encoder; the tests have both.
#if !defined(PART) || PART == 0
#define DECODER(name, type) \
    KERNEL(predict_decompress_##name, PredictDecompressArgs, PREDICT_THREADS, 2) { predict::decompress<type>(a); }
#define BY_WARPS(name, type) \
    KERNEL(predict_restore_##name, PredictDecompressArgs, 32 * BY_WARP_MOST, 1) { predict::restore_tiles<type>(a); }
GRID_KERNEL(predict_list, ListArgs, LIST_TILES_THREADS) { list_items(a); }
#else
#define DECODER(name, type)
#define BY_WARPS(name, type)
#endif
#if !defined(PART) || PART == 1
#define LOSSLESS_ENCODER(name, type)                                                                         \
    KERNEL(predict_compress_##name, PredictCompressArgs, PREDICT_THREADS, 2) { predict::compress<type>(a); } \
    GRID_KERNEL(predict_begin_compress_##name, PredictCompressArgs, BEGIN_TILES_THREADS) { predict::begin_compress(a); }
#define ENCODER(name, type)                                                                                  \
    LOSSLESS_ENCODER(name, type)                                                                             \
    GRID_KERNEL(predict_range_##name, PredictCompressArgs, RANGE_THREADS) { measure_range<type>(a.common); }
#else
#define LOSSLESS_ENCODER(name, type)
#define ENCODER(name, type)
#endif

#if !defined(ELEMENT) || ELEMENT == 1
DECODER(f32, F32)
BY_WARPS(f32, F32)
ENCODER(f32, F32)
#endif
#if !defined(ELEMENT) || ELEMENT == 2
DECODER(f64, F64)
ENCODER(f64, F64)
#endif
#if !defined(ELEMENT) || ELEMENT == 3
DECODER(f16, F16)
ENCODER(f16, F16)
#endif
#if !defined(ELEMENT) || ELEMENT == 4
DECODER(bf16, BF16)
ENCODER(bf16, BF16)
#endif
#if !defined(ELEMENT) || ELEMENT == 5
DECODER(b8, B8)
LOSSLESS_ENCODER(b8, B8)
#endif
