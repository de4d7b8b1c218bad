// Every kernel of codec predict. `kernels/modules.toml` says which modules are made of it for each element type.
#include "decompress.cuh"

#define LIST_TILES_THREADS 96
#define TILE_KERNELS(name, type) \
    KERNEL(predict_decompress_##name, PredictDecompressArgs, PREDICT_THREADS, 2) { predict::decompress<type>(a); }
GRID_KERNEL(predict_list, ListArgs, LIST_TILES_THREADS) { list_items(a); }

#if !defined(ELEMENT) || ELEMENT == 1
TILE_KERNELS(f32, F32)
#endif
#if !defined(ELEMENT) || ELEMENT == 2
TILE_KERNELS(f64, F64)
#endif
#if !defined(ELEMENT) || ELEMENT == 3
TILE_KERNELS(f16, F16)
#endif
#if !defined(ELEMENT) || ELEMENT == 4
TILE_KERNELS(bf16, BF16)
#endif
#if !defined(ELEMENT) || ELEMENT == 5
TILE_KERNELS(b8, B8)
#endif
