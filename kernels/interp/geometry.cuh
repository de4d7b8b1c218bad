// Twin: src/codec/interp/format.rs, src/codec/interp/tile_shape.rs
// Tiles of an array, their places and groups (docs/reference/codecs/interp.md §1, §2): src/codec/interp/format.rs in
// CUDA.
#pragma once
#include "../common/tiles.cuh"
#include "launch.h"
#include "machine.cuh"
#include "tables.h"

namespace interp {

// A dimension that is none, and several that are one axis together.
enum { NO_DIMENSION = MAX_RANK, MANY = MAX_RANK + 1 };

// How an array is cut.
struct Grid : TileGrid {
    u32 x, y, z;    // which dimensions are the axes
    u32 a, b, c;    // sides of a tile along the axes, as powers of two

    // False where the codec has no such tiles. By one thread.
    DEV bool make() {
        x = rank - 1;
        y = z = NO_DIMENSION;
        bool has_x = false;
        a = b = 0;
        if (!measure(TILE_LOG2)) return false;
#pragma unroll 1
        for (u32 k = rank; k-- > 0;) {
            if (side[k] == 0) continue;
            if (!has_x) {
                x = k;
                a = side[k];
                has_x = true;
            } else if (y == NO_DIMENSION) {
                y = k;
                b = side[k];
            } else {
                z = z == NO_DIMENSION ? k : (u32)MANY;
            }
        }
        c = total - a - b;
        return true;
    }

    // The axes along which tiles have more than one element.
    DEV u32 set() const { return (a > 0) | (b > 0) << 1 | (c > 0) << 2; }
    DEV bool is_z(u32 k) const { return k < x && k != y && side[k] > 0; }
    // Whether tiles may be interpolated: not if their rows are too short, unless they are few.
    DEV bool is_smooth() const { return 1u << a >= SHORTEST_ROW || capacity() <= FEW; }
};

// The place along a dimension of so many, of a number that goes on to the dimension before.
DEV u64 take_place(u64& rest, u64 along) {
    u64 at;
    if (((rest | along) >> 32) == 0) {
        at = (u32)rest % (u32)along;
        rest = (u32)rest / (u32)along;
    } else {
        at = rest % along;
        rest /= along;
    }
    return at;
}

// A tile of an array.
struct Tile {
    u64 chunk, origin;    // its number; that of its first element
    u32 lx, ly, lz;       // its lengths along the axes

    DEV u32 count() const { return lx * ly * lz; }
};

DEV Tile tile_of(const Grid& g, u64 chunk) {
    Tile t = {chunk, 0, 1, 1, 1};
    u64 rest = chunk;
#pragma unroll 1
    for (u32 k = g.rank; k-- > 0;) {
        const u64 start = take_place(rest, g.tiles(k)) << g.side[k];
        const u32 len = (u32)min_of(1ull << g.side[k], g.len[k] - start);
        t.origin += start * g.stride[k];
        if (k == g.x)
            t.lx = len;
        else if (k == g.y)
            t.ly = len;
        else
            t.lz *= len;
    }
    return t;
}

// How far the elements z along the third axis are from those at 0; `stride`s may be those of another array.
SELDOM u64 z_offset_of_many(const Grid& g, const u64* stride, u64 chunk, u32 z);
DEV u64 z_offset(const Grid& g, const u64* stride, u64 chunk, u32 z) {
    if (g.z == NO_DIMENSION) return 0;
    return g.z == MANY ? z_offset_of_many(g, stride, chunk, z) : z * stride[g.z];
}
SELDOM u64 z_offset_of_many(const Grid& g, const u64* stride, u64 chunk, u32 z) {
    u64 offset = 0;
#pragma unroll 1
    for (u32 k = g.rank; k-- > 0;) {
        const u64 at = take_place(chunk, g.tiles(k));
        if (!g.is_z(k)) continue;
        const u32 len = (u32)min_of(1ull << g.side[k], g.len[k] - (at << g.side[k]));
        offset += z % len * stride[k];
        z /= len;
    }
    return offset;
}

// Of codes that wait with 8 bits each, the first ones have 16.
enum : u32 { LONG_CODES = 2560 };

// Which of a lane's four codes of a group there are among n, a bit each.
DEV u32 codes_there(u32 n, u32 group, u32 lane) {
    const u32 first = group * GROUP + lane * QUAD;
    return first < n ? low_ones(min_of(n - first, (u32)QUAD)) : 0;
}

}    // namespace interp
