// Twin: src/codec/interp/body/encode.rs
// Codes → words, of tiles whose codes stand in their slots: a warp takes a tile. The body comes to stand in the slot
// too, from its end on downwards: low bits, words, final states, a table, the front, base and head.
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
    const u8* at;
    u32 by16;

    static DEV u32 code_of_difference(i32 d) { return (u32)d << 1 ^ (u32)(d >> 31); }
    DEV u32 code(u32 i) const {
        return code_of_difference(by16 || i < LONG_CODES ? ((const short*)at)[i]
                                                         : ((const signed char*)at)[LONG_CODES + i]);
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
template <class T> DEV bool write_body(const Wave& wave, u32 tile, const Tables& t, EntropyRoom& room) {
    enum : u32 { ROOM_HALVES = 2048 };    // of a group's words, and all before them
    StageTile& s = wave.tiles[tile];
    Bench& b = room.bench;
    const u32 lane = threadIdx.x & 31, head = uniform(s.head), front = uniform(s.front_halves),
              raw_units = T::BITS / 32 << TILE_LOG2, base_halves = halves_of_base((u64)(i64)s.base),
              slot_halves = wave.slot_bytes / 2;
    u16* const out = (u16*)wave.slot(tile);
    Coding<InSlot> c(t, b, {(const u8*)out, uniform(s.stage == HALVES)}, ELEMENTS, T::BITS);
    if (lane == 0) b.has_own = 0;
    __syncwarp();
    bool any = c.find_classes();
    // Few tiles have groups all of whose codes are so long.
    if (uniform(any && c.least_sum >> (KEPT_BITS + FEWEST_LOW) >= GROUP)) {
        c.find_low(false);
        if (uniform(c.low)) any = c.find_classes();
    }
    u32 at = slot_halves, end = slot_halves, low_words = 0, bits = head;
    if (!uniform(any)) {
        const u32 element_units = T::BITS / 32;
        if (!uniform(head >> 8 & 1) && 2 + base_halves > 2 * element_units - 2) {
            if (lane == 0) {
                u32* const to = (u32*)(out + slot_halves) - element_units;
                for (u32 i = 0; i < element_units; i++) to[i] = (u32)(s.constant >> (32 * i));
                s.stage = DONE;
                s.entry = element_units | (u32)KIND_CONSTANT << WIDE_KIND_SHIFT;
                s.first_half = slot_halves - 2 * element_units;
                s.halves = 2 * element_units;
                s.low_words = 0;
            }
            return true;
        }
        // The set of axes says nothing, nor whether it is smooth.
        bits = (head & ~31u) | ((head >> 5 & 3) >= OF_STEPS) << 3 | NEVER << 10;
    } else {
        u32 sparse = ~0u;
        if (!uniform(c.low)) sparse = c.write_sparse(out + slot_halves - SPARSE_HALVES);
        if (uniform(sparse != ~0u)) {
            low_words = (c.low_bits() + 31) / 32;
            at = end = slot_halves - SPARSE_HALVES;
        } else {
            const bool own = c.choose_table();
            if (lane == 0) b.has_own = own;
            __syncwarp();
            low_words = (c.low_bits() + 31) / 32;
            if (uniform(BODY_AT / 2 + ROOM_HALVES + 2 * low_words >= slot_halves)) return false;
            at = end = slot_halves - 2 * low_words;
        }
        Writer w;
        w.begin(out, end, lane);
        if (!uniform(c.encode_all(w, false, BODY_AT / 2 + ROOM_HALVES))) return false;
        u32 side = 0, longest = 0;
        const bool has_own = b.has_own;
        if (uniform(has_own)) {
            if (lane == 0) side = write_table(b, (u8*)room.side);
            side = __shfl_sync(FULL, side, 0);
        }
        side += c.write_states(w.x, room.side + side, longest);
        at = w.at;
        if (uniform(sparse != ~0u && sparse <= side + end - at)) {
            end = slot_halves;
            at = end - sparse;
            low_words = 0;
            bits |= 1u << 9;
        } else {
            if (low_words) c.write_low((u32*)(out + slot_halves) - low_words);
            at -= side;
            for (u32 i = lane; i < side; i += 32) out[at + i] = room.side[i];
            bits |= (u32)has_own << 7 | w.change << 10 | longest << 18 | c.low << 25;
        }
    }
    bits |= min_of(base_halves, 3u) << 23;
    at -= front;
    const u16* const from = (const u16*)((const u8*)out + FRONT_AT);
    for (u32 i = lane; i < front; i += 32) out[at + i] = from[i];
    at -= 2 + base_halves;
    const u32 units = (end - at + 1) / 2 + low_words;
    if (uniform(units >= raw_units)) return false;
    if (lane == 0) {
        out[at] = (u16)bits;
        out[at + 1] = (u16)(bits >> 16);
        for (u32 k = 0; k < base_halves; k++) out[at + 2 + k] = (u16)((u64)(i64)s.base >> (16 * k));
        s.stage = DONE;
        s.entry = units | (u32)KIND_PACKED << WIDE_KIND_SHIFT;
        s.first_half = at;
        s.halves = end - at;
        s.low_words = low_words;
    }
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
            const bool good = write_body<T>(wave, tile, tables, room);
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
