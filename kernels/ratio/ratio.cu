// Every kernel of codec ratio. `kernels/modules.toml` says which modules are made of it for each element type.
#include "decompress.cuh"
#include "../common/range.cuh"

// The most threads of a block; the host starts as many warps as share memory of a multiprocessor, and as there are tiles.
#define TILE_THREADS 1024

#define DECOMPRESS_KERNEL(name, type) \
    KERNEL(ratio_decompress_##name, TileDecompressArgs, TILE_THREADS, 1) { ratio::decompress<type>(a); }

#if !defined(ELEMENT) || ELEMENT == 1
DECOMPRESS_KERNEL(f32, F32)
#endif
#if !defined(ELEMENT) || ELEMENT == 2
DECOMPRESS_KERNEL(f64, F64)
#endif
#if !defined(ELEMENT) || ELEMENT == 3
DECOMPRESS_KERNEL(f16, F16)
#endif
#if !defined(ELEMENT) || ELEMENT == 4
DECOMPRESS_KERNEL(bf16, BF16)
#endif
#if !defined(ELEMENT) || ELEMENT == 5
DECOMPRESS_KERNEL(b8, B8)
#endif
