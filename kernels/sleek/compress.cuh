// Twin: src/runtime/cpu/compress.rs
// Array → stream. Blocks take chunks by ticket; encode_generic.cuh and encode_fast.cuh encode them in shared memory. A
// chunk's size is published as soon as it is known, and its body goes to its place when the sizes of all chunks before
// it are.
#pragma once
#include "../common/bitpack.cuh"
#include "../common/checksum.cuh"
#include "../common/lookback.cuh"
#include "../common/plan.cuh"

#define COMPRESS_THREADS 128
#define COMPRESS_WARPS (COMPRESS_THREADS / 32)
#define SUBCHUNKS_A_WARP (SUBCHUNKS / COMPRESS_WARPS)
#define BODY_VECTORS (CHUNK_BYTES / 16)

// A chunk of the source: whole and aligned, or with care.
struct Source {
    const u8* start;
    u32 bytes;    // of the chunk
    bool whole;

    // 16 bytes from `at` on; beyond the end either zeros or the last element again.
    template <class T> DEV uint4 load(u32 at, bool repeat) const {
        if (whole) return load_streaming((const uint4*)(start + at));
        u64 lo = 0, hi = 0;
#pragma unroll 1
        for (u32 i = 16; i-- > 0;) {
            u32 from = at + i;
            const bool behind = from >= bytes;
            if (behind) from = bytes - T::BITS / 8 + from % (T::BITS / 8);
            hi = hi << 8 | lo >> 56;
            lo = lo << 8 | (behind && !repeat ? 0 : start[from]);
        }
        return make_uint4((u32)lo, (u32)(lo >> 32), (u32)hi, (u32)(hi >> 32));
    }
};

// The array that a block works on.
struct Job {
    Item item;
    Slot* slot;
    Outcome* outcome;
    Plan plan;
    u64 whole;    // chunks that are whole, of an array that is aligned to 16

    DEV u16* entries() const { return (u16*)(item.dst + plan.entries_at); }
    DEV uint4* records() const { return (uint4*)(item.dst + plan.records_at); }
    DEV u64 place_of(u64 units) const { return plan.bodies_at + units * ALIGN; }

    // The raw bytes of a chunk.
    DEV u32 bytes_of(u64 c) const { return (u32)min_of(plan.raw_bytes - c * CHUNK_BYTES, (u64)CHUNK_BYTES); }

    DEV Source source(u64 c) const {
        Source s;
        s.start = item.src + c * CHUNK_BYTES;
        s.whole = uniform(c < whole);
        s.bytes = s.whole ? CHUNK_BYTES : bytes_of(c);
        return s;
    }

    // Units of all chunks before chunk c, of which the mark `known` is one; if a group begins with it, its record says
    // so at once. For a whole warp.
    DEV u64 find_place(u64 c, Mark known, u32 lane) const {
        const u64 units = units_before(records(), entries(), plan.bodies_at, known, c, lane);
        if (lane == 0 && c % GROUP_CHUNKS == 0) store_relaxed((u64*)(records() + c / GROUP_CHUNKS), place_of(units));
        return units;
    }

    // What the index says of a chunk whose packed body would take `bytes`.
    static DEV u32 entry_of(u32 raw_bytes, bool constant, u32 bytes) {
        const u32 raw_units = (raw_bytes + ALIGN - 1) / ALIGN;
        const u32 units = constant ? 1 : min_of(bytes / ALIGN, raw_units);
        const u32 kind = constant ? KIND_CONSTANT : units < raw_units ? KIND_PACKED : KIND_RAW;
        return units | kind << ENTRY_KIND_SHIFT;
    }
    // Makes it known to the other blocks.
    DEV void publish(u64 c, u32 entry) const {
        if (threadIdx.x == 0) store_relaxed(entries() + c, (u16)entry);
    }
};

// Once one warp for so many chunks of an array found its bins too far apart for words of 16 bits, nobody tries that
// again there: both ways together are more than the caches for instructions hold.
#define CHUNKS_A_WIDE_WARP 32

// What a block shares, whoever encodes.
struct BlockState {
    Job job;
    u64 chunk[2];                // the block's, now and next
    u64 sums[COMPRESS_WARPS];    // of each warp: its part of a body's checksum
    u64 index_sum;               // keyed sum of the entries that this block made in this array
    u32 done;                    // and how many
    u32 last;                    // whether this block closes the stream
    u32 beside;                  // whether numbers next to missing values take elements' places in one of them
    u32 more;                    // whether there was a work slot
    u32 narrow16;                // whether words of 16 bits are worth a try for the next one

    // The block's next chunk, by what the counter says.
    DEV void take(u64 ticket, u32 i) {
        chunk[i] = ticket % WIDE_WARP;
        narrow16 = ticket / WIDE_WARP <= job.plan.chunks / CHUNKS_A_WIDE_WARP;
    }
};

// What a block tries at a chunk: what the plan says, which is kept where elements that would come back as a missing
// value may come back as the next larger number; elements' bits where they may not.
enum Attempt { BY_PLAN, KEPT, BY_BITS };

// A chunk whose body is done, but not in its place.
struct Packed {
    u64 c, before;       // its number, and the units of all chunks before it, once they are known
    u32 entry, there;    // there: whether this is a chunk at all

    DEV u32 units() const { return entry & ENTRY_SIZE_MASK; }
    // Of the chunk behind it; what is not there was before all chunks.
    DEV Mark end() const { return there ? Mark{c + 1, before + units()} : Mark{0, 0}; }
};

// Where a lane's 16 bytes of the warp's subchunk k lie in the chunk.
DEV u32 place_of(u32 warp, u32 k, u32 lane) { return (warp * SUBCHUNKS_A_WARP + k) * SUBCHUNK_BYTES + lane * 16; }

// What every encoder does with its array.
struct Compressor {
    const CompressArgs& a;
    BlockState& state;
    u32 lane, warp;

    DEV Compressor(const CompressArgs& a, BlockState& state)
        : a(a), state(state), lane(threadIdx.x & 31), warp(uniform(threadIdx.x >> 5)) {
        if (threadIdx.x == 0) state.index_sum = state.done = state.beside = state.more = 0;
    }

    // Takes a work slot at an array, and the first chunk there; false if none is left. For the whole block.
    DEV bool enter() {
        __syncthreads();
        leave();
        __syncthreads();    // everyone is done with the array before
        if (warp == 0) {
            // Of one array alone a block asks for a chunk at once, and has had it where there was `more` before.
            const bool alone = !a.batch.items;
            const u64 before =
                count_if(lane == 0, alone ? &a.batch.slots->control.ticket : &a.batch.slots->control.slots);
            bool more;
            u32 i = 0;
            if (alone) {
                more = !state.more;
                __syncwarp();    // all have read it
            } else {
                const u64 work_slot = __shfl_sync(FULL, before, 0);
                more = work_slot < a.batch.work_slots;
                if (more) i = array_of(a.batch, work_slot, lane);
            }
            if (lane == 0) {
                state.more = more;
                if (more) {
                    state.job = {item_of(a.batch, i), a.batch.slots + i, a.batch.outcomes + i, a.batch.slots[i].plan,
                                 0};
                    if (((u64)state.job.item.src & 15) == 0) state.job.whole = state.job.plan.raw_bytes / CHUNK_BYTES;
                    state.take(alone ? before : count_if(true, &state.job.slot->control.ticket), 0);
                }
            }
        }
        __syncthreads();
        return uniform(state.more);
    }

    // Hands in what this block did of its array; the last of the blocks closes the stream. For the whole block.
    DEV void leave() {
        if (threadIdx.x == COMPRESS_THREADS - 1) {
            state.last = false;
            if (state.done) {
                Control& control = state.job.slot->control;
                add_relaxed(&control.index_sum, state.index_sum);
                if (state.beside) add_relaxed(&control.disagreement, (u64)1);
                state.last = count_in(&control.closed, state.done) + state.done == (u32)state.job.plan.chunks;
                state.index_sum = state.done = state.beside = 0;
            }
        }
        __syncthreads();
        if (uniform(state.last)) close();
    }

    // Records are asked for four at a time, as each answer takes long.
    DEV void close() {
        enum { TOGETHER = 4 };
        const Job& job = state.job;
        Control& control = job.slot->control;
        const u64 others = load_relaxed(&control.index_sum), end = load_relaxed(&control.end);
        const u32 status = load_relaxed(&control.status);
        u64 sum = 0;
        for (u64 g = threadIdx.x; g < job.plan.groups; g += TOGETHER * COMPRESS_THREADS) {
            uint4 q[TOGETHER];
#pragma unroll
            for (u32 j = 0; j < TOGETHER; j++)
                q[j] = load_relaxed(job.records() + min_of(g + j * COMPRESS_THREADS, job.plan.groups - 1));
#pragma unroll
            for (u32 j = 0; j < TOGETHER; j++) {
                const u64 at = g + j * COMPRESS_THREADS;
                if (at < job.plan.groups) sum += keyed(q[j], key_of((u32)(job.plan.records_at + at * GROUP_BYTES) / 4));
            }
        }
        sum = warp_sum(sum);
        if (lane == 0) state.sums[warp] = sum;
        __syncthreads();
        if (threadIdx.x) return;
        for (u32 w = 1; w < COMPRESS_WARPS; w++) sum += state.sums[w];
        if (load_relaxed(&control.disagreement)) ((u64*)job.item.dst)[HEADER_BYTES / 8 + 1] |= 1 << 16;
        close_stream(job.item.dst, job.plan.records_at, job.plan.bodies_at, end, sum + others, status, job.outcome);
    }

    // Whoever takes the chunk as far ahead as there are blocks will find it in the second-level cache.
    DEV void prefetch_ahead(u64 c) const {
        const u64 ahead = c + gridDim.x;
        if (ahead < state.job.whole) prefetch(state.job.item.src + ahead * CHUNK_BYTES + threadIdx.x * LINE_BYTES);
    }

    // Copies a body to its place in the stream, if it fits there, and where CLEAR sets it to zero. For the warps of a
    // block from FIRST on.
    template <bool CLEAR = false, u32 FIRST = 0> DEV void place(uint4* body, const Packed& chunk) {
        const u32 threads = COMPRESS_THREADS - 32 * FIRST;
        const u32 units = chunk.units();
        const u64 at = state.job.place_of(chunk.before);
        const bool fits = at + units * ALIGN <= state.job.item.bytes;
        uint4* to = (uint4*)(state.job.item.dst + at);
        u64 sum = 0;
        u32 i = fits ? threadIdx.x - 32 * FIRST : units, key = key_of(4 * i);
#pragma unroll 1
        for (; i < units; i += threads) {
            const uint4 q = body[i];
            sum += keyed(q, key);
            store_streaming(to + i, q);
            if (CLEAR) body[i] = make_uint4(0, 0, 0, 0);
            key += 8 * threads * KEY32;
        }
        sum = warp_sum(sum);
        if (lane == 0) state.sums[warp] = sum;
    }

    // Enters a chunk that was placed into its group's record and the sums of the array; by the last thread.
    DEV void record(const Packed& chunk) {
        const Job& job = state.job;
        const u64 c = chunk.c, at = job.place_of(chunk.before), end = job.place_of(chunk.before + chunk.units());
        u64 sum = 0;
        for (int w = 0; w < COMPRESS_WARPS; w++) sum += state.sums[w];
        u64* group = (u64*)(job.records() + c / GROUP_CHUNKS);
        add_relaxed(&group[1], body_checksum(sum, (u32)(c % GROUP_CHUNKS)));
        if (c % GROUP_CHUNKS == 0) store_relaxed(&group[0], at);
        if (c + 1 == job.plan.chunks) job.slot->control.end = end;
        if (end > job.item.bytes) fail(&job.slot->control, STATUS_BUFFER_TOO_SMALL);
        state.index_sum += (u64)(chunk.entry << (16 * (c & 1))) * key_of((u32)(job.plan.entries_at / 4 + c / 2));
        state.done++;
    }
};
