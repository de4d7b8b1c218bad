// Twin: src/codec/zfp/mod.rs
// Every kernel of codec zfp. `kernels/modules.toml` says which modules are made of it for each width of elements.
// Threads of a block: as many warps as have their columns in 48 KiB.
#define ZFP_THREADS(T) (T::BITS == 32 ? 128 : 64)
#include "compress.cuh"
#include "decompress.cuh"

#define BEGIN_BLOCKS_THREADS 256
#define LIST_BLOCKS_THREADS 96

// PART: 0 for the decoder and what goes before encoding, 1 for the encoder; the tests have all.
#if !defined(PART) || PART == 0
#define DECODER_KERNEL(name, type) \
    KERNEL(zfp_decompress_##name, DecompressArgs, ZFP_THREADS(type), 4) { zfp::decompress<type>(a); }
GRID_KERNEL(zfp_begin_compress, ZfpCompressArgs, BEGIN_BLOCKS_THREADS) { zfp::begin_compress(a); }
GRID_KERNEL(zfp_list, ListArgs, LIST_BLOCKS_THREADS) { list_items(a); }
#else
#define DECODER_KERNEL(name, type)
#endif
#if !defined(PART) || PART == 1
#define ENCODER(name, type) \
    KERNEL(zfp_compress_##name, ZfpCompressArgs, ZFP_THREADS(type), 4) { zfp::compress<type>(a); }
#else
#define ENCODER(name, type)
#endif

#if defined(ELEMENT_w32) || defined(SLEEK_CPU)
DECODER_KERNEL(w32, F32)
ENCODER(w32, F32)
#endif
#if defined(ELEMENT_w64) || defined(SLEEK_CPU)
DECODER_KERNEL(w64, F64)
ENCODER(w64, F64)
#endif
