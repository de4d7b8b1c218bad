// Tiles that are coded by rows: those of up to three axes whose groups of 128 places each lie in one plane, as whole
// rows, and lines. That is nearly all that our encoder makes of arrays with dimensions; what is special about others
// (narrow rows, several dimensions as one axis) is left to the general way, which gives the same bytes.
//
// A group's places lie on the lanes in two ways:
//
//   quads     place 4·lane + j: codes and what goes along x    one lane has neighbours
//   strides   place 32·j + lane: elements, y and z             lanes have neighbours, memory is read and written whole,
//                                                              and rows lie above each other in a lane
//
// They pass from one to the other through `stage`, 512 bytes of shared memory of the warp.
#pragma once
#include "stream.cuh"

namespace ratio {

// Whether a tile is coded by rows, as far as its array says; so that a lane's strides are found by numbers of 32 bits.
DEV bool rows_fit(const Grid& g, const u64* step) {
    return g.in_rows() && step[0] == 1 && step[1] < 1u << 22 && step[2] < 1ull << 32;
}

// Where the places of a tile lie, for a lane; elements are counted from the tile's first one. LINE: rows are longer
// than a group, and there is one.
template <bool LINE> struct Rows128 {
    u32 a, rows_log2, plane_log2;    // a: of a row; of the rows of a group, of the groups of a plane (0 of a line)
    u32 lx, ly, lz;
    u32 pitch, plane_pitch;    // elements from one row to the next, from one plane to the next
    u32 there;                 // of each of its strides whether it is in front of a row's end
    u32 quad;                  // how many of its quad are
    u32 row, quad_row;         // of the group, in which its first stride and its quad lie
    u32 full;                  // whether all places have an element

    DEV Rows128(const Grid& g, const Tile& t, const u64* step, u32 lane) {
        a = uniform(g.a);
        rows_log2 = LINE ? 0 : GROUP_LOG2 - a;
        plane_log2 = uniform(!LINE && a + g.b > GROUP_LOG2 ? a + g.b - GROUP_LOG2 : 0);
        lx = uniform(t.lx);
        ly = uniform(t.ly);
        lz = uniform(t.lz);
        pitch = uniform((u32)step[1]);
        plane_pitch = uniform((u32)step[2]);
        row = LINE ? 0 : lane >> a;
        quad_row = LINE ? 0 : 4 * lane >> a;
        there = 0;
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) there |= (u32)(x_of(j, lane) < lx) << j;
        const u32 x = 4 * lane & low_ones(a);
        quad = x < lx ? low_ones(min_of(lx - x, (u32)QUAD)) : 0;
        full = uniform(t.count() == g.capacity() && g.capacity() % BATCH == 0);
    }
    // Of the row or line: place of stride j of the first group.
    DEV u32 x_of(u32 j, u32 lane) const { return (32 * j + lane) & low_ones(a); }
    // How far stride j is from the group's first element.
    DEV u32 offset(u32 j, u32 lane) const { return (row + (LINE ? 0 : 32 * j >> a)) * pitch + x_of(j, lane); }
    DEV u32 y_of(u32 group) const { return LINE ? 0 : (group & low_ones(plane_log2)) << rows_log2; }
    DEV u32 z_of(u32 group) const { return LINE ? 0 : group >> plane_log2; }
    DEV Quad quad_of(u32 group, u32 lane, u32 has) const {
        const Quad q = {LINE ? group * GROUP + 4 * lane : 4 * lane & low_ones(a), y_of(group) + quad_row, z_of(group),
                        has};
        return q;
    }
    // Whether a group is the first of its plane.
    DEV bool begins_plane(u32 group) const { return (group & low_ones(plane_log2)) == 0; }
    // Whether a group has any element.
    DEV bool exists(u32 group) const { return LINE ? group * GROUP < lx : z_of(group) < lz && y_of(group) < ly; }
    // How far a group's first element is from the tile's.
    DEV u64 start(u32 group) const {
        return LINE ? group * GROUP : (u64)y_of(group) * pitch + (u64)z_of(group) * plane_pitch;
    }
    // Which strides of a group have an element, a bit each; only of a group that exists.
    DEV u32 strides(u32 group, u32 lane) const {
        if (uniform(full)) return 15;
        u32 bits = 0;
        const i32 rest = (i32)(LINE ? lx - group * GROUP - lane : ly - y_of(group) - row);
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) bits |= (u32)((i32)(LINE ? 32 * j : 32 * j >> a) < rest) << j;
        return LINE ? bits : bits & there;
    }
    // Which of a lane's quad have one.
    DEV u32 quads(u32 group, u32 lane) const {
        if (uniform(full)) return 15;
        if (LINE) {
            const i32 rest = (i32)(lx - group * GROUP - 4 * lane);
            return low_ones(rest < 0 ? 0 : min_of((u32)rest, (u32)QUAD));
        }
        return y_of(group) + quad_row < ly ? quad : 0;
    }
};

// Puts what a lane has of one way into the stage, and takes the other; `at`: where the stage is.
DEV void quads_to_strides(u32 (&v)[QUAD], u32 at, u32 lane) {
    store_shared128(at + 16 * lane, make_uint4(v[0], v[1], v[2], v[3]));
    __syncwarp();
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) v[j] = load_shared32(at + 128 * j + 4 * lane);
}
// Both stages take a half each of words of 64 bits.
DEV void quads_to_strides(u64 (&v)[QUAD], u32 at, u32 lane) {
    __syncwarp();    // all have taken those of the group before
    store_shared128(at + 16 * lane, make_uint4((u32)v[0], (u32)v[1], (u32)v[2], (u32)v[3]));
    store_shared128(at + 4 * GROUP + 16 * lane,
                    make_uint4((u32)(v[0] >> 32), (u32)(v[1] >> 32), (u32)(v[2] >> 32), (u32)(v[3] >> 32)));
    __syncwarp();
#pragma unroll
    for (u32 j = 0; j < QUAD; j++)
        v[j] = load_shared32(at + 128 * j + 4 * lane) | (u64)load_shared32(at + 4 * GROUP + 128 * j + 4 * lane) << 32;
}
DEV void strides_to_quads(u32 (&v)[QUAD], u32 at, u32 lane) {
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) store_shared32(at + 128 * j + 4 * lane, v[j]);
    __syncwarp();
    split(load_shared128(at + 16 * lane), v);
}

}    // namespace ratio
