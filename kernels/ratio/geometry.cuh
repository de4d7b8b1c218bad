// Tiles of an array, their places and groups (docs/codecs/ratio.md §1, §2): src/codec/ratio/format.rs in CUDA.
#pragma once
#include "../common/constants.h"
#include "machine.cuh"
#include "tables.h"

namespace ratio {

// A dimension that is none, and several that are one axis together.
enum { NO_DIMENSION = MAX_RANK, MANY = MAX_RANK + 1 };
enum { GROUP_LOG2 = 7, SAMPLED_GROUPS = 16, SAMPLE_ROUNDS = 2 };
static_assert(GROUP == 1 << GROUP_LOG2, "places of a group");

// How an array is cut; in the shared memory of a block.
struct Grid {
    u64 len[MAX_RANK], stride[MAX_RANK];    // along a dimension; from one element to the next
    u64 count, chunks;
    u8 side[MAX_RANK];    // as powers of two
    u32 rank, x, y, z;    // which dimensions are the axes
    u32 a, b, c;          // sides of a tile along the axes, as powers of two

    // From rank, lengths and sides; false where the codec has no such tiles. By one thread.
    DEV bool make() {
        u32 total = 0;
        u64 step = 1;
        x = rank - 1;
        y = z = NO_DIMENSION;
        bool has_x = false;
        chunks = count = 1;
        a = b = 0;
#pragma unroll 1
        for (u32 k = rank; k-- > 0;) {
            if (side[k] > TILE_LOG2) return false;
            stride[k] = step;
            step *= len[k];
            count *= len[k];
            const u64 along = tiles(k);
            if (along && chunks > (1ull << 58) / along) return false;
            chunks *= along;
            total += side[k];
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
        return total <= TILE_LOG2;
    }

    // Tiles along a dimension.
    DEV u64 tiles(u32 k) const { return (len[k] + ((1ull << side[k]) - 1)) >> side[k]; }
    DEV u32 capacity() const { return 1u << (a + b + c); }
    DEV u32 groups() const { return (capacity() + BATCH - 1) / BATCH * BATCH_GROUPS; }
    // The axes along which tiles have more than one element.
    DEV u32 set() const { return (a > 0) | (b > 0) << 1 | (c > 0) << 2; }
    DEV bool is_z(u32 k) const { return k < x && k != y && side[k] > 0; }
    // Whether tiles are coded by rows (rows.cuh): each group is a number of rows of one plane, or a part of a line.
    DEV bool in_rows() const {
        if (a < 2 || z == MANY) return false;
        return a <= GROUP_LOG2 ? c == 0 || a + b >= GROUP_LOG2 : b == 0 && c == 0;
    }
};

// Groups of a plane, where there are several planes.
DEV u32 plane_groups(const Grid& g) {
    return g.c == 0 ? 0 : g.a + g.b > GROUP_LOG2 ? 1u << (g.a + g.b - GROUP_LOG2) : 1;
}

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

// The four places that a lane has of a group.
struct Quad {
    u32 x, y, z;
    u32 has;    // which of them have an element, a bit each
};

// Where a tile is so narrow that a lane's places are not in a row, each of them is asked for on its own.
DEV Quad place_of(const Grid& g, const Tile& t, u32 place) {
    Quad q;
    q.x = place & low_ones(g.a);
    q.y = place >> g.a & low_ones(g.b);
    q.z = place >> (g.a + g.b);
    q.has = q.x < t.lx && q.y < t.ly && q.z < t.lz;
    return q;
}
DEV Quad quad_of(const Grid& g, const Tile& t, u32 group, u32 lane) {
    const u32 place = group * GROUP + lane * QUAD;
    if (g.a >= 2) {
        Quad q = place_of(g, t, place);
        if (q.has) q.has = low_ones(min_of(t.lx - q.x, (u32)QUAD));
        return q;
    }
    Quad q = place_of(g, t, place);
#pragma unroll 1
    for (u32 j = 1; j < QUAD; j++) q.has |= place_of(g, t, place + j).has << j;
    return q;
}

// Which of the groups 4·lane … 4·lane + 3 have an element, a bit each; lanes learn of their own from all. For a whole
// warp.
DEV u32 groups_that_exist(const Grid& g, const Tile& t, u32 lane) {
    const u32 groups = g.groups();
    if (uniform(t.count() == g.capacity() && g.capacity() % BATCH == 0)) return 15;
    u32 some = 0;
#pragma unroll 1
    for (u32 i = 0; uniform(i < groups); i++) {
        const bool any = __any_sync(FULL, quad_of(g, t, i, lane).has);
        if (i / BATCH_GROUPS == lane) some |= (u32)any << i % BATCH_GROUPS;
    }
    return some;
}

// Whether a group is one of those that the choice of a set of axes looks at in a round (src/codec/ratio/predict.rs).
DEV bool is_sampled(u32 group, u32 groups, u32 round) {
    const u32 every = groups > SAMPLED_GROUPS ? groups / SAMPLED_GROUPS : 1;
    return ((group ^ group / every ^ round * every / 2) & (every - 1)) == 0;
}

}    // namespace ratio
