// Twin: src/codec/predict/body/decode.rs
// Stream → array: any tiles; of an array alone those on the list that warps leave (by_warp.cuh). Blocks take
// PREDICT_TOGETHER tiles at once, or fewer of small arrays, by ticket. A warp reads and decodes each of them
// (tile.cuh), then the whole block restores them one by one (restore.cuh). What steers an address is checked before it
// is used; checksums are compared at the end, so a stream that fails them has been decoded to harmless nonsense by
// then.
//
// A block shares PREDICT_NUMBER_BYTES, and PREDICT_WARP_BYTES for each warp, as long as the host says:
//
//   slots    the tables of classes (coder.cuh), while codes are decoded     all threads make them, all read
//   v        numbers of a tile, at the same place, while it is restored     all threads
//   ring     words of a body on their way, then the slots of its own table     each warp its own
//   e        errors of nodes, where these are (interp.cuh)     all threads
//
// and besides
//
//   stream   what is known of the array     thread 0 at the start of an array; all read it
//   own      what is known of each tile     its warp; then all read it
//   begin    the first of the tiles         thread 0; all read it
//   bench    what restore.cuh needs
//
//   barrier 1   everyone is done with the array before
//   barrier 2   the stream is known
//   barrier 3   everyone is done with the tiles before; then: thread 0 takes the next ones
//   barrier 4   these are known
//   barrier 5   the tables are there
//   barrier 6   codes are there
//   barrier 7   everyone is done with a tile
//   barrier 8   all warps have left the array; then: thread 0 hands in what the block did
#pragma once
#include "by_warp.cuh"

namespace predict {

// Whether anything of a group of tiles is wanted. For a whole warp.
template <class T> DEV bool group_is_wanted(const Stream<T>& s, u64 group, u32 lane) {
    bool some = false;
    for (u32 k = lane; k < GROUP_CHUNKS; k += 32) {
        const u64 chunk = group * GROUP_CHUNKS + k;
        if (chunk < s.head.grid.chunks) some |= Target(s, tile_of(s.head.grid, chunk)).some != 0;
    }
    return __any_sync(FULL, some);
}

// What the threads of a block share.
template <class T> struct Shared {
    Stream<T> stream;
    Own<T> own[PREDICT_TOGETHER];
    Bench<T> bench;
    u64 begin, disagreements[MOST_WARPS];
};

// Works from one of an array's work slots. `codes`: where the block keeps those of its tiles. For a whole block.
template <class T>
DEV void decompress_one(Shared<T>& a, List* list, u32* v, u32 ring, typename T::Word* codes, u64 work_slot) {
    const Stream<T>& s = a.stream;
    const u32 lane = threadIdx.x & 31, warp = uniform(threadIdx.x >> 5);
    const bool listed = T::BITS == 32 && is_for_warps(s);
    const u64 chunks = listed ? list->count : s.head.grid.chunks, each = chunks / s.work_slots;
    const u32 together = (u32)min_of(each ? each : 1, (u64)PREDICT_TOGETHER);
    const bool all = !s.wanted.boxed && s.wanted.count == s.head.grid.count;
    const bool any = s.wanted.boxed || s.wanted.count > 0;
    bool good = check_index(s.src, s.head, s.control, work_slot, s.work_slots);
    u64 disagreement = 0;
    for (;;) {
        __syncthreads();    // everyone is done with the tiles before
        if (threadIdx.x == 0) a.begin = count_if(true, &s.control->ticket) * together;
        __syncthreads();
        const u64 begin = a.begin, place = begin + warp;
        if (begin >= chunks || !any) break;
        make_tables(v);
        __syncthreads();
        if (uniform(warp < together)) {
            if (lane == 0) a.own[warp].state = NOTHING;
            const bool there = uniform(place < chunks);
            const u64 chunk = there && listed ? list->tiles()[place] : place;
            if (there && (uniform(all) || group_is_wanted(s, chunk / GROUP_CHUNKS, lane)))
                good &= read_tile(s, a.own[warp], chunk, shared_address(v), ring, codes + ((u64)warp << TILE_LOG2),
                                  disagreement);
        }
        __syncthreads();
#pragma unroll 1
        for (u32 w = 0; w < together; w++) {
            if (a.own[w].state == NOTHING) continue;
            good &= restore_tile(s, a.own[w], codes + ((u64)w << TILE_LOG2), v, v + PREDICT_NUMBER_BYTES / 4, a.bench);
            __syncthreads();
        }
    }
    if (!good) fail(s.control, STATUS_CORRUPT);
    if (lane == 0) a.disagreements[warp] = disagreement;
    __syncthreads();
    if (threadIdx.x) return;
    for (u32 w = 1; w < blockDim.x / 32; w++) disagreement += a.disagreements[w];
    const u64 bytes = s.wanted.boxed ? 0 : s.wanted.count * s.head.element_bytes;
    close(s.control, s.src, s.head, bytes, disagreement, s.outcome, s.work_slots);
}

template <class T> DEV void decompress(const PredictDecompressArgs& a) {
    SHARED_BYTES(shared);
    SHARED Shared<T> own;
    static_assert(PREDICT_WARP_BYTES == PREDICT_RING_BYTES + (4u << TABLE_BITS), "what the host reckons with");
    static_assert(PREDICT_TOGETHER <= MOST_WARPS, "a warp for each tile");
    static_assert(4 * PREDICT_ERRORS == PREDICT_TOGETHER * PREDICT_WARP_BYTES,
                  "errors stand where rings and tables do");
    static_assert((TABLES - 1) * (4u << TABLE_BITS) <= PREDICT_NUMBER_BYTES, "tables stand where numbers do");
    u32* const v = (u32*)shared;
    const u32 lane = threadIdx.x & 31, warp = uniform(threadIdx.x >> 5),
              ring = shared_address(shared) + PREDICT_NUMBER_BYTES + warp * PREDICT_WARP_BYTES;
    typename T::Word* const codes = (typename T::Word*)a.scratch + ((u64)blockIdx.x * PREDICT_TOGETHER << TILE_LOG2);
    const Batch& batch = a.common.batch;
    if (threadIdx.x == 0) own.bench.levels.len[0] = 0;
    for (u64 work_slot = blockIdx.x; uniform(work_slot < batch.work_slots); work_slot += gridDim.x) {
        __syncthreads();    // everyone is done with the array before
        if (threadIdx.x < 32) {
            const u32 i = array_of(batch, work_slot, lane);
            if (lane == 0) own.stream.open(a, i);
        }
        __syncthreads();
        if (own.stream.status == 0)
            decompress_one(own, (List*)a.list, v, ring, codes, work_slot - own.stream.first);
        else if (work_slot == own.stream.first && threadIdx.x == 0)
            report(own.stream.outcome, 0, own.stream.status);
    }
}

}    // namespace predict
