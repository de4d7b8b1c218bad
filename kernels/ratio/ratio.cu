// Every kernel of codec ratio. `kernels/modules.toml` says which modules are made of it for each element type.
#include "compress.cuh"
#include "decompress.cuh"
#include "../common/range.cuh"

// The most threads of a block; the host starts as many warps as share memory of a multiprocessor, and as there are
// tiles.
#define DECODE_TILE_THREADS 512
#define ENCODE_TILE_THREADS (32 * ENCODE_WARPS)
#define BEGIN_TILES_THREADS 256
#define LIST_TILES_THREADS 96

// PART: 0 for the decoder and what goes before encoding, 1 for the encoder; the tests have all.
#if !defined(PART) || PART == 0
#define TILE_KERNELS(name, type) \
    KERNEL(ratio_decompress_##name, TileDecompressArgs, DECODE_TILE_THREADS, 1) { ratio::decompress<type>(a); }
#define RANGE_KERNEL(name, type) \
    GRID_KERNEL(ratio_range_##name, CompressArgs, RANGE_THREADS) { measure_range<type>(a); }
GRID_KERNEL(ratio_begin_compress, TileCompressArgs, BEGIN_TILES_THREADS) { ratio::begin_compress(a); }
GRID_KERNEL(ratio_list, ListArgs, LIST_TILES_THREADS) { list_items(a); }
#else
#define TILE_KERNELS(name, type)
#define RANGE_KERNEL(name, type)
#endif
#if !defined(PART) || PART == 1
#define ENCODER_KERNEL(name, type) \
    KERNEL(ratio_compress_##name, TileCompressArgs, ENCODE_TILE_THREADS, 1) { ratio::compress<type>(a); }
#else
#define ENCODER_KERNEL(name, type)
#endif
#if !defined(ELEMENT) || ELEMENT == 1
TILE_KERNELS(f32, F32)
RANGE_KERNEL(f32, F32)
ENCODER_KERNEL(f32, F32)
#endif
#if !defined(ELEMENT) || ELEMENT == 2
TILE_KERNELS(f64, F64)
RANGE_KERNEL(f64, F64)
ENCODER_KERNEL(f64, F64)
#endif
#if !defined(ELEMENT) || ELEMENT == 3
TILE_KERNELS(f16, F16)
RANGE_KERNEL(f16, F16)
ENCODER_KERNEL(f16, F16)
#endif
#if !defined(ELEMENT) || ELEMENT == 4
TILE_KERNELS(bf16, BF16)
RANGE_KERNEL(bf16, BF16)
ENCODER_KERNEL(bf16, BF16)
#endif
#if !defined(ELEMENT) || ELEMENT == 5
TILE_KERNELS(b8, B8)
ENCODER_KERNEL(b8, B8)
#endif
