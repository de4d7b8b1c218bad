// Twin: src/codec/interp/mod.rs
// Every kernel of codec interp. `kernels/modules.toml` says which modules are made of it for each element type.
#include "decompress.cuh"

#define LIST_TILES_THREADS 96

// PART: 0 for the decoder, 1 for the encoder; the tests have both.
#if !defined(PART) || PART == 0
#define DECODER(name, type) \
    KERNEL(interp_decompress_##name, InterpDecompressArgs, INTERP_THREADS, 2) { interp::decompress<type>(a); }
GRID_KERNEL(interp_list, ListArgs, LIST_TILES_THREADS) { list_items(a); }
#else
#define DECODER(name, type)
#endif

#if !defined(ELEMENT) || ELEMENT == 1
DECODER(f32, F32)
#endif
#if !defined(ELEMENT) || ELEMENT == 2
DECODER(f64, F64)
#endif
#if !defined(ELEMENT) || ELEMENT == 3
DECODER(f16, F16)
#endif
#if !defined(ELEMENT) || ELEMENT == 4
DECODER(bf16, BF16)
#endif
#if !defined(ELEMENT) || ELEMENT == 5
DECODER(b8, B8)
#endif
