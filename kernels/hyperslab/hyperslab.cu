// Twin: src/api/hdf5_direct/boxes.rs
// Hyperslabs of an array of up to eight dimensions to and from the chunks of an HDF5 dataset, and finished streams side
// by side.
//
// Nothing is shared and there is no barrier: a warp takes a piece of a row of a chunk, or a block part of a stream.
#include "../common/platform.cuh"
#include "launch.h"

#define SLAB_THREADS 256
// A row of a chunk: where it begins in the array, in elements, and how many of them the array has.
struct Run {
    u64 at, inside;
};

DEV Run run_of(const SlabArgs& a, u64 chunk, u64 row) {
    u64 g = a.first + chunk, at = 0, scale = 1, inside = 0;
    bool there = true;
#pragma unroll 1
    for (i32 d = (i32)a.rank - 1; d >= 0; d--) {
        const u64 size = a.size[d], tile = a.tile[d], grid = (size + tile - 1) / tile, origin = g % grid * tile;
        g /= grid;
        if (d == (i32)a.rank - 1) {
            inside = min_of(tile, size - origin);
            at = origin;
        } else {
            const u64 place = origin + row % tile;
            row /= tile;
            there = there && place < size;
            at += place * scale;
        }
        scale *= size;
    }
    return Run{at, there ? inside : 0};
}

template <class W> DEV W turned(W v, u32 swap) {
    if (!swap) return v;
    W r = 0;
#pragma unroll
    for (u32 i = 0; i < sizeof(W); i++) r = (W)((u64)r << 8 | ((u64)v >> 8 * i & 255));
    return r;
}

template <class W, bool GATHER> DEV void move_slab(const SlabArgs& a) {
    const u32 lane = threadIdx.x & 31, warps = blockDim.x >> 5;
    const u64 width = a.tile[a.rank - 1], units = a.count * a.rows * a.pieces;
    for (u64 u = (u64)blockIdx.x * warps + (threadIdx.x >> 5); u < units; u += (u64)gridDim.x * warps) {
        const u64 piece = u % a.pieces, row = u / a.pieces % a.rows, chunk = u / a.pieces / a.rows;
        u8* const at = GATHER ? a.chunks + chunk * a.stride : (u8*)a.sources[chunk];
        if (!at) continue;
        const Run run = run_of(a, chunk, row);
        W *const inside = (W*)a.array + run.at, *const outside = (W*)at + row * width;
        const u64 end = min_of(GATHER ? width : run.inside, (piece + 1) * PIECE_ELEMENTS);
#pragma unroll 4
        for (u64 x = piece * PIECE_ELEMENTS + lane; x < end; x += 32) {
            if (GATHER)
                outside[x] = x < run.inside ? turned(inside[x], a.swap) : (W)a.pad;
            else
                inside[x] = turned(outside[x], a.swap);
        }
    }
}

DEV u64 aligned(u64 bytes) { return (bytes + 15) / 16 * 16; }

DEV void pack_streams(const PackArgs& a) {
    for (u32 u = blockIdx.x; u < a.count * a.parts; u += gridDim.x) {
        const u32 i = u / a.parts, part = u % a.parts;
        u64 at = 0;
#pragma unroll 1
        for (u32 before = 0; before < i; before++) at += aligned(a.outcomes[before].bytes);
        const uint4* const from = (const uint4*)(a.streams + i * a.stride);
        uint4* const to = (uint4*)(a.packed + at);
        const u64 n = aligned(a.outcomes[i].bytes) / 16;
        for (u64 x = (u64)part * blockDim.x + threadIdx.x; x < n; x += (u64)a.parts * blockDim.x) to[x] = from[x];
    }
}

#define SLABS(bytes, W)                                                             \
    KERNEL(sleek_gather_##bytes, SlabArgs, SLAB_THREADS) { move_slab<W, true>(a); } \
    KERNEL(sleek_scatter_##bytes, SlabArgs, SLAB_THREADS) { move_slab<W, false>(a); }
SLABS(1, u8)
SLABS(2, u16)
SLABS(4, u32)
SLABS(8, u64)
KERNEL(sleek_pack, PackArgs, SLAB_THREADS) { pack_streams(a); }
