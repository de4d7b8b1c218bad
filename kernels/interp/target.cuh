// Twin: src/codec/interp/body/decode.rs
// What all threads of a block know of the stream that they restore, what a warp knows of its tile, and where elements
// go.
#pragma once
#include "../common/plan.cuh"
#include "side.cuh"
#include "stream.cuh"

namespace interp {

// Where elements of an array go: a run of them, or those in a box of a level's grid.
struct Wanted {
    u8* dst;
    u64 first, count;             // of a run
    const u64 *start, *length;    // of a box, for each dimension; null for a run
    u64 stride[MAX_RANK];         // from one element of the box to the next in what is restored
    u32 boxed, level;
    u32 all;         // whether each tile has something of the box, which is the whole grid
    u32 shift[3];    // every 2^shift-th element of a tile along its axes is of the grid; 0 if dimensions are one axis
    u32 nodes;       // the level of a tile whose nodes are of the grid, but for last ones; 0 where there is none

    DEV u32 shift_of(u32 k, u32 rank) const { return k + GRID_AXES >= rank ? level : 0; }
    // Elements of the grid along dimension k before this place.
    DEV u64 on_grid(u32 k, u32 rank, u64 place) const {
        const u32 shift = shift_of(k, rank);
        return (place + ((1ull << shift) - 1)) >> shift;
    }
    DEV void set_level(const Grid& g, u32 of) {
        const u32 dimension[3] = {g.x, g.y, g.z}, side[3] = {g.a, g.b, g.c};
        level = of;
        nodes = min_of(level, (u32)TILE_LOG2);
        for (u32 a = 0; a < 3; a++) {
            shift[a] = dimension[a] < MAX_RANK ? min_of(shift_of(dimension[a], g.rank), (u32)TILE_LOG2) : 0;
            if (side[a] && shift[a] < nodes) nodes = 0;
        }
    }
    // Whether an element of a tile may be of the grid.
    DEV bool may_be(u32 x, u32 y, u32 z) const {
        return ((x & low_ones(shift[0])) | (y & low_ones(shift[1])) | (z & low_ones(shift[2]))) == 0;
    }
};

// What all threads of a block know of the stream that they work on.
template <class T> struct Stream : OpenStream<Header> {
    Meaning<T> meaning;
    Wanted wanted;

    DEV void open(const InterpDecompressArgs& args, u32 i) {
        const DecompressArgs& a = args.common;
        const Item item = this->take(a, i);
        if (status) return;
        wanted.dst = item.dst;
        wanted.boxed = a.boxed;
        wanted.set_level(head.grid, a.level);
        wanted.start = a.start;
        wanted.length = a.lens;
        wanted.first = a.first;
        wanted.count = item.count;
        wanted.all = a.boxed;
        if (a.boxed) {
            u64 step = 1;
            for (u32 k = head.grid.rank; k-- > 0;) {
                wanted.stride[k] = step;
                step *= a.lens[k];
                const u64 len = wanted.on_grid(k, head.grid.rank, head.grid.len[k]);
                if (a.start[k] > len || a.lens[k] > len - a.start[k]) status = STATUS_OUT_OF_RANGE;
                wanted.all &= a.lens[k] == len && head.grid.side[k] >= wanted.shift_of(k, head.grid.rank);
            }
        } else {
            if (a.first > head.grid.count || item.count > head.grid.count - a.first) status = STATUS_OUT_OF_RANGE;
            if (a.batch.items && item.count != head.grid.count) status = STATUS_OUT_OF_RANGE;
        }
        if (!status) meaning.set(head);
    }
};

// Where the elements of a tile go.
struct Target {
    u8* dst;
    u64 origin;         // the number of its first element in what is restored
    u64 step[3];        // from one element to the next along the axes
    u32 whole, some;    // whether all of it that is of the grid is wanted, or anything
    u64 last;           // from the first element to the last one, of a run

    DEV Target() {}
    // All of a tile, its elements side by side.
    DEV void set_dense(const Tile& t, u8* at) {
        dst = at;
        origin = 0;
        step[0] = 1;
        step[1] = t.lx;
        step[2] = t.lx * t.ly;
        whole = some = 1;
        last = t.count() - 1;
    }
    template <class T> DEV Target(const Stream<T>& s, const Tile& t) {
        const Grid& g = s.head.grid;
        const Wanted& w = s.wanted;
        dst = w.dst;
        const u64* stride = w.boxed ? w.stride : g.stride;
        step[0] = stride[g.x];
        step[1] = g.y < MAX_RANK ? stride[g.y] : 0;
        step[2] = g.z < MAX_RANK ? stride[g.z] : 0;
        if (!w.boxed) {
            const u64 last =
                t.origin + (t.lx - 1) * step[0] + (t.ly - 1) * step[1] + z_offset(g, stride, t.chunk, t.lz - 1);
            origin = t.origin - w.first;
            this->last = last - t.origin;
            whole = t.origin >= w.first && last - w.first < w.count;
            some = t.origin < w.first + w.count && last >= w.first;
            return;
        }
        // Where an axis has several dimensions each element is looked at.
        some = 1;
        whole = w.level == 0 || g.z != MANY;
        origin = 0;
        u64 rest = t.chunk;
#pragma unroll 1
        for (u32 k = g.rank; k-- > 0;) {
            const u64 begin = take_place(rest, g.tiles(k)) << g.side[k],
                      behind = min_of(begin + (1ull << g.side[k]), g.len[k]);
            const u64 at = w.on_grid(k, g.rank, begin), end = w.on_grid(k, g.rank, behind);
            const u64 from = w.start[k], to = from + w.length[k];
            origin += (at - from) * stride[k];
            whole &= at >= from && end <= to;
            some &= at < end && at < to && end > from;
        }
    }
};

// Where an element goes, if it is wanted at all.
template <class T> SELDOM bool find(const Stream<T>& s, const Target& to, const Tile& t, u32 x, u32 y, u32 z, u64& at) {
    const Grid& g = s.head.grid;
    const Wanted& w = s.wanted;
    if (to.whole || !w.boxed) {
        at = to.origin + (x >> w.shift[0]) * to.step[0] + (y >> w.shift[1]) * to.step[1] +
             (g.z == MANY ? z_offset_of_many(g, w.boxed ? w.stride : g.stride, t.chunk, z)
                          : (z >> w.shift[2]) * to.step[2]);
        return to.whole ? w.may_be(x, y, z) : at < w.count;
    }
    at = 0;
    u64 rest = t.chunk;
#pragma unroll 1
    for (u32 k = g.rank; k-- > 0;) {
        u64 c = take_place(rest, g.tiles(k)) << g.side[k];
        if (k == g.x)
            c += x;
        else if (k == g.y)
            c += y;
        else if (g.is_z(k)) {
            const u32 len = (u32)min_of(1ull << g.side[k], g.len[k] - c);
            c += z % len;
            z /= len;
        }
        const u32 shift = w.shift_of(k, g.rank);
        const u64 place = (c >> shift) - w.start[k];
        if (c != c >> shift << shift || place >= w.length[k]) return false;
        at += place * w.stride[k];
    }
    return true;
}

template <class T> DEV void put(u8* at, typename T::Word v) {
    enum { SIZE = T::BITS / 8 };
    if (((u64)at & (SIZE - 1)) == 0) {
        if (SIZE == 8) *(u64*)at = v;
        if (SIZE == 4) *(u32*)at = (u32)v;
        if (SIZE == 2) *(u16*)at = (u16)v;
        if (SIZE == 1) *at = (u8)v;
        return;
    }
#pragma unroll 1
    for (u32 i = 0; i < SIZE; i++) at[i] = (u8)(v >> (8 * i));
}
// Stores an element of a tile, if it is wanted, in the byte order of the array.
template <class T>
DEV void put_element(const Stream<T>& s, const Target& to, const Tile& t, u32 x, u32 y, u32 z, typename T::Word v) {
    if (s.head.big_endian) v = swapped<T>(v);
    u64 at;
    if (find(s, to, t, x, y, z, at)) put<T>(to.dst + at * (T::BITS / 8), v);
}
// The same of element n.
template <class T> DEV void put_number(const Stream<T>& s, const Target& to, const Tile& t, u32 n, typename T::Word v) {
    put_element(s, to, t, n % t.lx, n / t.lx % t.ly, n / t.lx / t.ly, v);
}

// An element that lies at a multiple of 4, or of its own size.
template <class T> DEV typename T::Word element_at(const u8* p) {
    if (T::BITS == 64) return *(const u32*)p | (typename T::Word)(*(const u32*)(p + 4)) << (T::BITS / 2);
    return T::BITS == 32 ? *(const u32*)p : T::BITS == 16 ? *(const u16*)p : *p;
}

}    // namespace interp
