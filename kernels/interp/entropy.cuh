// Twin: src/codec/interp/body/encode.rs
// Codes → words, of tiles whose codes stand in their slots: a warp takes a tile. The body comes to stand in the slot
// too.
//
// A block shares Tables, and for each warp an EntropyRoom, as long as the host says.
#pragma once
#include "stages.cuh"
#include "words.cuh"

namespace interp::encoder {

struct alignas(16) EntropyRoom {
    Bench bench;
    u16 side[SIDE_HALVES];    // table and final states
};
static_assert(sizeof(Tables) == ENTROPY_TABLE_BYTES && sizeof(EntropyRoom) == ENTROPY_WARP_BYTES,
              "what the host reckons with");

// Codes of a whole tile in its slot.
struct InSlot {
    typedef u32 Code;
    typedef uint2 Loaded;
    enum : bool { ANY = false };
    const u8* at;
    u32 by16;

    DEV u32 code(u32 i) const {
        const i32 d = by16 || i < LONG_CODES ? ((const short*)at)[i] : ((const signed char*)at)[LONG_CODES + i];
        return code_of((u32)d);
    }
    DEV bool is_long(u32 g) const { return uniform(by16 || g < LONG_CODES / GROUP); }
    DEV Loaded load(u32 g, u32 lane) const {
        g = min_of(g, (u32)(ELEMENTS / GROUP - 1));
        if (is_long(g)) return *(const uint2*)(at + 2 * GROUP * g + 8 * lane);
        return make_uint2(*(const u32*)(at + LONG_CODES + GROUP * g + 4 * lane), 0);
    }
    DEV Quad<u32> quad(const Loaded& w, u32 g) const {
        Quad<u32> q;
        q.has = low_ones(QUAD);
        if (is_long(g)) {
            const u32 a = unsigned_halves(w.x), b = unsigned_halves(w.y);
            q.code[0] = a & 0xffff;
            q.code[1] = a >> 16;
            q.code[2] = b & 0xffff;
            q.code[3] = b >> 16;
        } else {
            const u32 a = unsigned_bytes(w.x);
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) q.code[j] = a >> (8 * j) & 0xff;
        }
        return q;
    }
    DEV GroupSums<u32> sums(const Quad<u32>& q, u32 low) const {
        u32 both = 0, most = 0;
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            const u32 c = q.code[j] >> low;
            both += ((c >> 1) + (c & 1)) << 8;
            both += q.code[j] != 0;
            most = c > most ? c : most;
        }
        both = __reduce_add_sync(FULL, both);
        return {both >> 8, both & 0xff, uniform(both) ? __reduce_max_sync(FULL, most) : 0};
    }
};

// Makes the body of a tile; whether it can be one. For a whole warp.
template <class T> DEV bool write_in_slot(const Wave& wave, u32 tile, const Tables& t, EntropyRoom& room) {
    enum : u32 { ROOM_HALVES = 2048 };    // of a group's words, and all before them
    StageTile& s = wave.tiles[tile];
    u16* const out = (u16*)wave.slot(tile);
    Coding<InSlot> c(t, room.bench, {(const u8*)out, uniform(s.stage == HALVES)}, ELEMENTS, T::BITS);
    const BodyRoom place = {out, wave.slot_bytes / 2, BODY_AT / 2 + ROOM_HALVES, out + FRONT_AT / 2, room.side};
    Body body;
    if (!write_body<T>(c, s, place, body)) return false;
    if (c.lane == 0) s.close(body, body.kind);
    return true;
}

template <class T> DEV void write_bodies(const InterpCompressArgs& a) {
    SHARED_BYTES(shared);
    Tables& tables = *(Tables*)shared;
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    EntropyRoom& room = ((EntropyRoom*)((u8*)shared + sizeof(Tables)))[warp];
    const Wave wave(a, slot_bytes_of<T>());
    make_symbols(tables);
    __syncthreads();
    u32 tile = warp * gridDim.x + blockIdx.x;
#pragma unroll 1
    while (uniform(tile < wave.count)) {
        const u32 stage = uniform(wave.tiles[tile].stage);
        u32 next = 0;
        if (lane == 0) next = atomicAdd(&wave.lists->coded, 1u) + gridDim.x * warps;
        if (stage == BYTES || stage == HALVES) {
            const bool good = write_in_slot<T>(wave, tile, tables, room);
            if (lane == 0 && !good) {
                wave.tiles[tile].stage = NOT_SEEN;
                wave.leave(tile);
            }
        }
        __syncwarp();
        tile = __shfl_sync(FULL, next, 0);
    }
}

}    // namespace interp::encoder
