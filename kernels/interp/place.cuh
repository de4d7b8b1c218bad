// Twin: src/runtime/cpu/compress.rs
// Bodies of a wave → the stream and its index: a block takes some tiles that follow each other, a warp a few of them.
//
//   placed   of each of these tiles    some threads write, a barrier, all read
#pragma once
#include "header.cuh"
#include "stages.cuh"

namespace interp::encoder {

enum : u32 { PLACE_EACH = PLACE_TILES / PLACE_WARPS };

struct Placed {
    u32 array, units, kind;
    u64 chunk, chunks, bodies_at, entries_at, header_bytes;
    u8* dst;
    u64 room;    // bytes
};

// Brings the body of a tile to its place in the stream. For a whole warp.
DEV void place_body(const InterpCompressArgs& a, const Wave& wave, u32 tile, const Placed& p, u64 at, bool is_last,
                    u32 lane) {
    const StageTile& s = wave.tiles[tile];
    Control& control = a.common.batch.slots[p.array].control;
    const u64 end = at + (u64)p.units * UNIT;
    const u32 k = (u32)(p.chunk % GROUP_CHUNKS), entry = p.units | p.kind << WIDE_KIND_SHIFT;
    u64* const record = (u64*)(p.dst + p.header_bytes + p.chunk / GROUP_CHUNKS * GROUP_BYTES);
    const bool fits = end <= p.room;
    u64 sum = 0;
    if (fits) {
        const Body body = s.body();
        const u16* const slot = (const u16*)wave.slot(tile);
        u32* const to = (u32*)(p.dst + at);
#pragma unroll 4
        for (u32 i = lane; i < p.units; i += 32) {
            const u32 word = body.word(slot, wave.slot_bytes / 2, i);
            to[i] = word;
            sum += (u64)word * key_of(i);
        }
        sum = warp_sum(sum);
    }
    if (lane == 0) {
        ((u32*)(p.dst + p.entries_at))[p.chunk] = entry;
        if (k == 0) store_relaxed(&record[0], at);
        if (!fits) fail(&control, STATUS_BUFFER_TOO_SMALL);
        if (is_last) (a.wave % 2 ? control.ticket : control.slots) = end;
    }
    __syncwarp();
    bool closes = false;
    if (lane == 0) closes = enter_body(control, record, p.entries_at, entry, p.chunk, p.chunks, sum, end);
    if (!__any_sync(FULL, closes)) return;
    if (lane == 0 && load_relaxed(&control.disagreement)) ((u64*)p.dst)[HEADER_BYTES / 8 + 1] |= 1 << 16;
    close_index(p.dst, p.header_bytes, p.chunks, p.bodies_at, control, a.common.batch.outcomes + p.array, lane);
}

template <class T> DEV void place_bodies(const InterpCompressArgs& a) {
    SHARED Placed placed[PLACE_TILES];
    SHARED u64 part[PLACE_WARPS];
    SHARED Header head;    // of the array at hand
    const Wave wave(a, slot_bytes_of<T>());
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32, first = blockIdx.x * PLACE_TILES,
              count = min_of(wave.count - first, (u32)PLACE_TILES);
    const Batch& batch = a.common.batch;
    // What is known of the tiles. Those of an array follow each other.
    if (threadIdx.x < 32) {
        u32 known = ~0u;
#pragma unroll 1
        for (u32 k = 0; uniform(k < count);) {
            const OfArray of = find_tile(batch, wave.first + first + k, lane);
            const Item item = item_of(batch, of.array);
            if (lane == 0 && of.array != known) lay_out(head, a, item.count);
            known = of.array;
            __syncwarp();
            const u32 together = (u32)min_of((u64)(count - k), head.grid.chunks - of.chunk);
            for (u32 i = lane; i < together; i += 32) {
                const StageTile& t = wave.tiles[first + k + i];
                const u32 entry = t.stage == DONE ? t.entry : 0;
                placed[k + i] = {of.array,
                                 entry & WIDE_SIZE_MASK,
                                 entry >> WIDE_KIND_SHIFT,
                                 of.chunk + i,
                                 head.grid.chunks,
                                 head.bodies_at,
                                 head.entries_at,
                                 head.bytes,
                                 item.dst,
                                 item.bytes};
            }
            k += together;
            __syncwarp();    // all have read the header
        }
    }
    __syncthreads();
    // Units of the first one's array before it in this wave.
    const Placed& p = placed[0];
    u64 sum = 0;
    const u64 since = p.chunk < first ? p.chunk : first;    // tiles of the array before it in this wave
    for (u64 i = threadIdx.x; i < since; i += blockDim.x) {
        const StageTile& other = wave.tiles[first - 1 - i];
        sum += other.stage == DONE ? other.entry & WIDE_SIZE_MASK : 0;
    }
    sum = block_sum(sum, part);
#pragma unroll 1
    for (u32 e = 0; e < PLACE_EACH; e++) {
        const u32 k = warp * PLACE_EACH + e;
        if (k >= count) continue;
        const Placed& own = placed[k];
        if (own.room < own.bodies_at) continue;
        u64 units = 0;
        for (u32 i = lane; i < k; i += 32) units += placed[i].array == own.array ? placed[i].units : 0;
        units = warp_sum(units) + (own.array == placed[0].array ? sum : 0);
        Control& control = batch.slots[own.array].control;
        // Where the bodies of the waves before end.
        const u64 begin = a.wave % 2 ? control.slots : control.ticket;
        // The array's last tile in this wave knows where those of the next one begin.
        const bool is_last = own.chunk + 1 == own.chunks || first + k + 1 == wave.count;
        place_body(a, wave, first + k, own, (begin ? begin : own.bodies_at) + units * UNIT, is_last, lane);
    }
}

}    // namespace interp::encoder
