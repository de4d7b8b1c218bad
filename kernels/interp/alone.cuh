// Twin: src/codec/interp/body/decode.rs
// Stream → array, floats with bins, of an array alone, in two kernels. `decode`: a warp finds, checks and decodes a
// tile, whose codes come to stand where its elements will. `restore`: a block makes elements of them (march.cuh,
// along.cuh). Tiles that a block cannot take come on a list, which decompress.cuh takes behind both.
//
// A block of `decode` shares the tables of tokens, and for each warp the slots of its tile's own table and a ring, as
// long as the host says, and besides
//
//   stream   what is known of the array     thread 0 at the start; all read it
//   own      what is known of a tile        its warp; copied to the table of tiles in global memory
//
//   barrier 1   stream and tables are there
//
// A block of `restore` shares codes and what is made of them, where struct Shape says, and RestoreShared.
//
// Where a level of a box is wanted this goes wave by wave, and each tile has a slot. Codes of nodes are words there,
// and a block of `restore_nodes` shares these, numbers and errors. Any other tile has its codes and elements there as
// in an array, for `restore`, and `restore_nodes` picks what is wanted.
#pragma once
#include "along.cuh"
#include "decompress.cuh"
#include "march.cuh"
#include "nodes.cuh"

namespace interp {

enum : u32 { FARTHEST = (1u << 31) - 1024 };    // bytes from a tile's first element to its last

// Where a level is wanted, the slot of tile i of a wave.
DEV u32* slot_of(const InterpDecompressArgs& a, u64 i) { return (u32*)a.common.scratch + i * a.words; }

// The bytes that a block of `restore` shares for a tile. For a whole warp, whose lane 0 knows whether one can take it.
template <class T> DEV u32 shared_bytes_of(const Stream<T>& s, const Own<T>& own, bool takes) {
    u32 bytes = ~0u;
    if ((threadIdx.x & 31) == 0 && takes) {
        Shape shape;
        shape.of[0] = 0;
        shape.make(own.t, own.head.set(), own.head.is_interpolated());
        bytes = shape.bytes;
    }
    return uniform(__shfl_sync(FULL, bytes, 0));
}

// Decodes all codes of a packed body, from byte `at` on, to units: of how many bits, or NOTHING where these are not
// enough. False where the body is not valid. For a whole warp.
template <class T>
DEV bool read_units(const Stream<T>& s, const Own<T>& own, const Places& places, u32 at, const Units<T>& units,
                    u32& state) {
    InUnits<T> keep = {units, uniform(own.t.count()), 0, 0, 0};
    // Once more with 16 bits where 8 turn out not to be enough.
    for (;;) {
        if (!read_rest(s, own, places, at, ALL_CODES, keep)) return false;
        if (uniform(keep.by16 || keep.has_kept() || !keep.may_keep())) break;
        keep.by16 = 1;
        keep.any_long = keep.any = 0;
    }
    state = !uniform(keep.has_kept()) ? NOTHING : keep.by16 ? HALVES : BYTES;
    return true;
}

// Decodes a tile, if its codes may stand in the place of its elements: says so in `own.state`. False where the body is
// not valid. For a whole warp.
template <class T>
DEV bool decode_tile(const Stream<T>& s, Own<T>& own, u64 chunk, const Places& places, u64& disagreement) {
    const u32 lane = threadIdx.x & 31;
    u64 more;
    if (!find_tile(s, own, chunk, more)) return false;
    if (!uniform(own.to.whole)) return true;
    u32 state = STORED, wide = 0;
    if (uniform(own.kind == KIND_PACKED)) {
        u32 at;
        if (!read_front(s, own, places, at)) return false;
        const bool is_near = own.to.step[0] == 1 && own.to.last < FARTHEST / (T::BITS / 8);
        const u32 bytes = shared_bytes_of(s, own, is_near);
        if (bytes > RESTORE_WIDE_BYTES) return true;
        wide = bytes > RESTORE_BYTES;
        if (!read_units(s, own, places, at, Units<T>(own.t, own.to), state)) return false;
        if (state == NOTHING) return true;
    }
    disagreement += more;
    if (lane == 0) {
        own.state = state;
        own.wide = wide;
    }
    __syncwarp();
    return true;
}

// Decodes the codes of a level's nodes to words, or all of a tile that has none; says in `own.state` what is done about
// it. False where the body is not valid. For a whole warp.
template <class T>
DEV bool decode_nodes_of(const Stream<T>& s, Own<T>& own, u64 chunk, const Places& places, u32 room, u32* slot,
                         u64& disagreement) {
    u64 more;
    u32 at;
    if (!find_tile(s, own, chunk, more)) return false;
    disagreement += more;
    const bool packed = uniform(own.kind == KIND_PACKED);
    u32 state = packed ? PACKED : STORED, wide = 0;
    if (uniform(own.to.some) && packed) {
        if (!read_front(s, own, places, at)) return false;
        const u32 wanted = uniform(own.codes());
        if (uniform(own.level)) {
            if (wanted > room) return true;
            InWords<u32> keep = {slot};
            if (!read_rest(s, own, places, at, wanted, keep)) return false;
        } else {
            if (shared_bytes_of(s, own, true) > RESTORE_BYTES) return true;
            if ((threadIdx.x & 31) == 0) own.to.set_dense(own.t, (u8*)slot);
            __syncwarp();
            if (!read_units(s, own, places, at, Units<T>(own.t, own.to), state)) return false;
            wide = IN_SLOT;
        }
    }
    if ((threadIdx.x & 31) == 0) {
        own.state = state;
        own.wide = wide;
    }
    __syncwarp();
    return true;
}

template <class T> struct DecodeShared {
    Stream<T> stream;
    Own<T> own[DECODE_WARPS];
};
// NODES: tiles of a wave, of which nodes may be wanted alone.
template <class T, bool NODES> DEV void decode_tiles(const InterpDecompressArgs& a) {
    SHARED_BYTES(shared);
    SHARED DecodeShared<T> own;
    static_assert((TABLES - 1) * TABLE_BYTES == DECODE_TABLE_BYTES && TABLE_BYTES + RING_BYTES == DECODE_WARP_BYTES &&
                      sizeof(Own<T>) <= TILE_BYTES && sizeof(List) == INTERP_LIST_BYTES && sizeof(Own<T>) % 16 == 0,
                  "what the host reckons with");
    const u32 lane = threadIdx.x & 31, warp = uniform(threadIdx.x >> 5), warps = blockDim.x / 32,
              slots = shared_address(shared), mine = slots + DECODE_TABLE_BYTES + warp * DECODE_WARP_BYTES;
    const Places places = {slots, mine, mine + TABLE_BYTES};
    if (threadIdx.x == 0) own.stream.open(a, 0);
    make_tables((u32*)shared);
    __syncthreads();
    const Stream<T>& s = own.stream;
    const Tiles<T> tiles(a);
    if (!tiles.are_for(s)) return;
    u64 disagreement = 0;
    bool good = true;
    // The first tiles are given to all blocks alike.
    const u64 first = NODES ? a.first_tile : 0, chunks = s.head.grid.chunks,
              end = NODES ? min_of(a.end_tile, chunks) : chunks, together = (u64)gridDim.x * warps;
    u64 chunk = first + (u64)warp * gridDim.x + blockIdx.x;
    while (uniform(chunk < end)) {
        Own<T>& of_tile = own.own[warp];
        Own<T>& told = tiles.own[chunk - first];
        if (lane == 0) of_tile.state = NOTHING;
        const bool asked = !NODES || s.wanted.all || group_is_wanted(s, chunk / GROUP_CHUNKS, lane);
        bool valid = true;
        if constexpr (!NODES)
            valid = decode_tile(s, of_tile, chunk, places, disagreement);
        else if (asked)
            valid = decode_nodes_of(s, of_tile, chunk, places, a.words, slot_of(a, chunk - first), disagreement);
        good &= valid;
        wait_for_copies();
        __syncwarp();
        const bool left = asked && valid && of_tile.state == NOTHING;
        for (u32 i = lane; i < sizeof(Own<T>) / 4; i += 32) ((u32*)&told)[i] = ((const u32*)&of_tile)[i];
        u64 next = NODES ? chunk + together : 0;
        if (lane == 0) {
            if (left) tiles.list->add(chunk, NODES ? (u32)ADDED : 0);
            if (of_tile.state != NOTHING && of_tile.wide) add_relaxed(&tiles.list->wide, (u64)1);
            if (!NODES) next = count_if(true, &tiles.list->ticket) + together;
        }
        __syncwarp();    // all have copied it
        chunk = NODES ? next : __shfl_sync(FULL, next, 0);
    }
    if (lane) return;
    if (!good) fail(s.control, STATUS_CORRUPT);
    if (disagreement) add_relaxed(&s.control->disagreement, disagreement);
}

// What a block of `restore` shares besides codes, coarse nodes and turns.
template <class T> struct RestoreShared {
    Stream<T> stream;
    Own<T> own[2];    // of the tile at hand and the next one, by turns
    AxisRecipes recipes;
    Shape shape;
    Partial<u32> partial;
};

// What became of a tile.
enum Fate : u32 { DONE, LEFT };

// The differences of a tile's codes, from the place of its elements. By a whole block; a barrier has to follow.
template <class T> DEV void load_codes(const Own<T>& own, const Units<T>& units, ShortCodes codes) {
    const u32 n = own.t.count();
    const bool halves = own.state == HALVES;
    if (units.is_aligned() && own.t.lx % QUAD == 0) {
        const u32 all = unit_of(n - 1, halves);
#pragma unroll 4
        for (u32 unit = 4 * threadIdx.x; unit <= all; unit += 4 * RESTORE_THREADS) {
            const uint4 q = *(const uint4*)units.at(unit);
            if (halves || unit < LONG_CODES / 2) {
                codes.keep_halves(2 * unit, q.x, q.y);
                if (2 * unit + 4 < n) codes.keep_halves(2 * unit + 4, q.z, q.w);
            } else {
                const u32 i = LONG_CODES + 4 * (unit - LONG_CODES / 2), word[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
                for (u32 k = 0; k < 4; k++)
                    if (i + 4 * k < n) codes.keep_bytes(i + 4 * k, word[k]);
            }
        }
    } else {
#pragma unroll 4
        for (u32 i = QUAD * threadIdx.x; i < n; i += QUAD * RESTORE_THREADS) {
            const u32 unit = unit_of(i, halves), q = *(const u32*)units.at(unit);
            if (halves || i < LONG_CODES)
                codes.keep_halves(i, q, i + 2 < n ? *(const u32*)units.at(unit + 1) : 0);
            else
                codes.keep_bytes(i, q);
        }
    }
    // The code behind the last one is 0.
    if (threadIdx.x == 0) codes.keep_bytes((n + QUAD - 1) / QUAD * QUAD, 0);
}

// The elements of an interpolated tile whose codes are there. For a whole block.
template <class T, bool ROUGH>
DEV Fate interpolate_tile(const Stream<T>& s, const Own<T>& own, const Units<T>& units, RestoreShared<T>& shared,
                          u8* room, ShortCodes codes) {
    const Shape& p = shared.shape;
    const bool in_steps = own.head.numbers() == IN_STEPS, of_bins = own.head.numbers() == OF_BINS;
    const auto recipes = [&shared](u32 a, u32 k) {
        const Shape& p = shared.shape;
        return shared.recipes(a == 2 ? p.z_axis : a, k, p.len[a]);
    };
    const TileNodes<decltype(recipes)> nodes = {{p.len[0], p.len[1], p.len[2]}, p.row, p.plane, 1, recipes};
    if (p.set) {
        u32 far = 0;
        for (u32 k = 0; k < DIFFERENCE_LEVELS && k <= nodes.last_level(); k++)
            far |= sum_classes(nodes, codes, k, p.set);
        if (__syncthreads_or(far != 0)) return LEFT;
    }
    u32* const words = (u32*)room;
    const u32 all = make_levels<ROUGH, SmallNumbers<ROUGH>>(nodes, words + p.odd, words + p.turns_at, codes, in_steps,
                                                            T::BITS == 32 ? (u32)own.base : 0);
    // Sums with weights have 32 bits.
    if (__syncthreads_or(all >= 2 * LevelNodes<ROUGH, SmallNumbers<ROUGH>, ShortCodes>::TOO_FAR)) return LEFT;
    const Finest<T, ROUGH> finest = {p,
                                     recipes(0, 0),
                                     recipes(1, 0),
                                     recipes(2, 0),
                                     words,
                                     codes,
                                     words + p.turns_at,
                                     words + p.face_at,
                                     in_steps ? (u32)LATTICE_STEP : 1,
                                     units.first,
                                     (u32)units.y_step,
                                     (u32)(own.t.lz == 1 ? units.y_step : units.z_step),
                                     units.is_aligned() && !p.odd,
                                     of_bins ? 0 : (u32)own.base,
                                     of_bins ? 1 : s.meaning.lattice.fine};
    if (!ROUGH && p.rows > 1 && p.len[1] % 2 == 0) finest.make_face();
    finest.go();
    if (!of_bins) return DONE;
    // Where bins stand as floats.
    const Meaning<T> meaning = s.meaning;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < own.t.count(); i += RESTORE_THREADS) {
        typename T::Word* const at = (typename T::Word*)units.of_element(i);
        *at = meaning.bin((typename T::Word)(i64)float_of(*at) + (T::BITS == 64 ? own.base : 0));
    }
    return DONE;
}

// Restores a tile whose codes stand in its place. For a whole block; a barrier before and behind.
template <class T> DEV Fate restore_decoded(const Stream<T>& s, const Own<T>& own, RestoreShared<T>& shared, u8* room) {
    typedef typename T::Word Word;
    const Shape& p = shared.shape;
    if (threadIdx.x == 0) shared.shape.make(own.t, own.head.set(), own.head.is_interpolated());
    __syncthreads();
    const Units<T> units(own.t, own.to);
    const ShortCodes codes = {room + p.codes_at};
    load_codes(own, units, codes);
    __syncthreads();
    Fate fate = DONE;
    if (own.head.predictor() == SMOOTH) {
        fate = interpolate_tile<T, false>(s, own, units, shared, room, codes);
    } else if (own.head.predictor() == ROUGH) {
        fate = interpolate_tile<T, true>(s, own, units, shared, room, codes);
    } else {
        u32* const words = (u32*)room;
        const AlongAxes<T> along = {p,
                                    codes,
                                    words,
                                    words + p.face_at / 2,
                                    words + p.face_at,
                                    words + p.face_at + 2 * p.len[2],
                                    s.meaning,
                                    own.base,
                                    units.first,
                                    (u32)units.y_step,
                                    (u32)(own.t.lz == 1 ? units.y_step : units.z_step),
                                    units.is_aligned()};
        if (p.set) along.make_corner(shared.partial);
        along.go();
    }
    if (fate != DONE || !own.head.has_patches()) return fate;
    bool good = true;
    if (threadIdx.x < 32) {
        const bool of_bins = own.head.numbers() == OF_BINS;
        const Lattice<T>& lattice = s.meaning.lattice;
        put_patches(s, own, [&](u32 i) {
            i32 multiple;
            good &= lattice.number_of(*(const Word*)units.of_element(i), multiple);
            if (!of_bins) return (Word)(i64)multiple;
            const i32 x = multiple / (i32)LATTICE_STEP;
            good &= lattice.has_bin((Word)(i64)x);
            return (Word)(i64)x;
        });
    }
    return __syncthreads_or(!good) ? LEFT : DONE;
}

// Of the tiles that take more room than RESTORE_BYTES, or of all others; or those in slots of a wave.
template <class T> DEV void restore_tiles(const InterpDecompressArgs& a) {
    SHARED_BYTES(room);
    SHARED RestoreShared<T> own;
    const Tiles<T> tiles(a);
    if (a.wide && tiles.list->wide == 0) return;
    if (threadIdx.x == 0) {
        own.stream.open(a, 0);
        own.recipes.measure(own.stream.head.grid);
        own.shape.of[0] = 0;
    }
    __syncthreads();
    const Stream<T>& s = own.stream;
    // An array without elements has axes without nodes.
    if (!tiles.are_for(s) || s.head.grid.chunks == 0) return;
    own.recipes.make();
    const u64 count = min_of(a.end_tile, s.head.grid.chunks) - a.first_tile;
    const auto fetch = [&](u64 i, u32 turn) {
        if (i < count && threadIdx.x < sizeof(Own<T>) / 16)
            copy_async((uint4*)&own.own[turn] + threadIdx.x, (const uint4*)(tiles.own + i) + threadIdx.x);
    };
    bool good = true;
    u32 turn = 0;
    fetch(blockIdx.x, turn);
#pragma unroll 1
    for (u64 i = blockIdx.x; i < count; i += gridDim.x, turn ^= 1) {
        wait_for_copies();
        __syncthreads();    // what is known of the tile is there, and everyone is done with the one before
        fetch(i + gridDim.x, turn ^ 1);
        const Own<T>& told = own.own[turn];
        if (told.state == NOTHING || told.wide != a.wide) continue;
        Fate fate = DONE;
        if (told.state == STORED)
            good &= put_stored(s, told);
        else
            fate = restore_decoded(s, told, own, (u8*)room);
        if (fate == DONE && told.plane) {
            __syncthreads();
            if (threadIdx.x < 32) good &= put_missing(s, told, told.body - told.plane, told.plane);
        }
        if (threadIdx.x || fate != LEFT) continue;
        tiles.list->add(told.t.chunk, ADDED);
        tiles.own[i].state = NOTHING;
    }
    if (!good) fail(s.control, STATUS_CORRUPT);
}

// The stages where a level of a box is wanted, of a wave of tiles.
template <class T> struct NodesShared {
    Stream<T> stream;
    Own<T> own;
    Bench<T> bench;
};
template <class T> DEV void restore_nodes(const InterpDecompressArgs& a) {
    typedef typename T::Word Word;
    SHARED_BYTES(shared);
    SHARED NodesShared<T> own;
    const Tiles<T> tiles(a);
    if (threadIdx.x == 0) {
        own.stream.open(a, 0);
        own.bench.recipes.len[0][0] = 0;
    }
    __syncthreads();
    const Stream<T>& s = own.stream;
    if (!tiles.are_for(s)) return;
    u32* const codes = (u32*)shared;
    const u64 count = min_of(a.end_tile, s.head.grid.chunks) - a.first_tile;
    bool good = true;
#pragma unroll 1
    for (u64 i = blockIdx.x; i < count; i += gridDim.x) {
        __syncthreads();    // everyone is done with the tile before
        for (u32 k = threadIdx.x; k < sizeof(Own<T>) / 4; k += blockDim.x)
            ((u32*)&own.own)[k] = ((const u32*)(tiles.own + i))[k];
        __syncthreads();
        if (own.own.state == NOTHING || !own.own.to.some) continue;
        if (own.own.wide == IN_SLOT) {
            __syncthreads();    // everyone has read the target
            if (threadIdx.x == 0) own.own.to = Target(s, own.own.t);
            __syncthreads();
            const Word* const from = (const Word*)slot_of(a, i);
            put_all(s, own.own, [from](u32 k) { return from[k]; });
            continue;
        }
        const u32 n = own.own.state == PACKED ? own.own.codes() : 0;
        for (u32 k = threadIdx.x; k < n; k += blockDim.x) codes[k] = slot_of(a, i)[k];
        __syncthreads();
        good &= restore_tile(s, own.own, (Word*)codes, codes + n, codes + 2 * n, own.bench);
    }
    if (!good) fail(s.control, STATUS_CORRUPT);
}

}    // namespace interp
