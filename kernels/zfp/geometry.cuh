// Twin: src/codec/zfp/format.rs, src/codec/zfp/shape.rs
// Tiles of an array and where their elements are (docs/reference/codecs/zfp.md §2).
#pragma once
#include "../common/constants.h"
#include "../common/tiles.cuh"
#include "launch.h"

namespace zfp {

// The most axes of tiles.
enum : u32 { AXES = ZFP_MAX_AXES };

// How an array is cut.
struct Grid : TileGrid {
    u32 axes;    // dimensions along which tiles have blocks

    // False where the codec has no such tiles. By one thread.
    DEV bool make() {
        bool whole = measure(ZFP_TILE_LOG2);
        axes = 0;
#pragma unroll 1
        for (u32 k = 0; k < rank; k++) {
            axes += side[k] > 0;
            whole &= side[k] == 0 || side[k] >= ZFP_BLOCK_LOG2;
        }
        return whole && axes > 0 && axes <= ZFP_MAX_AXES;
    }
};

// A tile of an array, and where its elements are there.
struct Tile {
    u64 origin, step[AXES];    // the number of its first element; from one element to the next along an axis
    u32 len[AXES];             // along the axes; 1 along those that there are not

    DEV u32 count() const { return len[0] * len[1] * len[2] * len[3]; }
    DEV u64 place(u32 x, u32 y, u32 z, u32 w) const {
        return origin + x * step[0] + y * step[1] + z * step[2] + w * step[3];
    }
    DEV u64 place(u32 n) const {
        const u32 y = n / len[0], z = y / len[1], w = z / len[2];
        return place(n % len[0], y % len[1], z % len[2], w);
    }
    // Blocks along an axis.
    DEV u32 blocks(u32 a) const { return (len[a] + 3) / 4; }
    DEV u32 blocks() const { return blocks(0) * blocks(1) * blocks(2) * blocks(3); }
};

DEV Tile tile_of(const Grid& g, u64 chunk) {
    Tile t = {0, {0, 0, 0, 0}, {1, 1, 1, 1}};
    u32 a = 0;
#pragma unroll 1
    for (u32 k = g.rank; k-- > 0;) {
        const u64 along = g.tiles(k), start = chunk % along << g.side[k];
        chunk /= along;
        t.origin += start * g.stride[k];
        if (g.side[k] == 0) continue;
        const u32 len = (u32)min_of(1ull << g.side[k], g.len[k] - start);
#pragma unroll
        for (u32 i = 0; i < AXES; i++)
            if (i == a) {
                t.len[i] = len;
                t.step[i] = g.stride[k];
            }
        a++;
    }
    return t;
}

// Where a block begins in its tile, along the axes.
struct Corner {
    u32 x, y, z, w;
};
// Of a tile, or of what is restored from one.
template <class Tile> DEV Corner corner_of(const Tile& t, u32 block) {
    const u32 y = block / t.blocks(0), z = y / t.blocks(1), w = z / t.blocks(2);
    return {4 * (block % t.blocks(0)), 4 * (y % t.blocks(1)), 4 * (z % t.blocks(2)), 4 * w};
}

}    // namespace zfp
