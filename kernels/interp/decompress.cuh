// Twin: src/codec/interp/body/decode.rs
// Stream → array, any tiles; of an array alone those on the list that alone.cuh leaves. Blocks take INTERP_TOGETHER
// tiles at once, or fewer of small arrays, by ticket. A warp reads and decodes each of them (tile.cuh), then the whole
// block restores them one by one (restore.cuh). What steers an address is checked before it is used; checksums are
// compared at the end, so a stream that fails them has been decoded to harmless nonsense by then.
//
// A block shares INTERP_NUMBER_BYTES, and INTERP_WARP_BYTES for each warp, as long as the host says:
//
//   slots    the tables of tokens (coder.cuh)     all threads make them, all read
//   ring     words of a body on their way, behind the tables     each warp its own
//   v        numbers of a tile, at the same place, while it is restored; of a level where own tables are     all
//   threads own      the slots of a tile's own table      each warp its own e        errors of nodes, where these are,
//   or behind the numbers (nodes.cuh)     all threads
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
//   barrier 5   the tables are there, where a body is to be read
//   barrier 6   codes are there
//   barrier 7   everyone is done with a tile
//   barrier 8   all warps have left the array; then: thread 0 hands in what the block did
#pragma once
#include "restore.cuh"

namespace interp {

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
    Own<T> own[INTERP_TOGETHER];
    Bench<T> bench;
    u64 begin, disagreements[MOST_WARPS];
};

// Reads a tile and decodes its codes, into words; `added` if its sum of disagreements is. For a whole warp.
template <class T>
DEV bool read_tile(const Stream<T>& s, Own<T>& own, u64 chunk, const Places& places, typename T::Word* codes,
                   bool added, u64& disagreement) {
    u64 more;
    if (!find_tile(s, own, chunk, more)) return false;
    if (!added) disagreement += more;
    if (!uniform(own.to.some)) return true;
    const bool packed = uniform(own.kind == KIND_PACKED);
    if (packed && !read_packed(s, own, places, codes)) return false;
    if ((threadIdx.x & 31) == 0) own.state = packed ? PACKED : STORED;
    return true;
}

// Works from one of an array's work slots. `codes`: where the block keeps those of its tiles. For a whole block.
template <class T>
DEV void decompress_one(Shared<T>& a, const Tiles<T>& tiles, u32* v, const Places& places, typename T::Word* codes,
                        u64 work_slot) {
    const Stream<T>& s = a.stream;
    const u32 lane = threadIdx.x & 31, warp = uniform(threadIdx.x >> 5);
    const bool listed = tiles.are_for(s);
    const u64 chunks = listed ? tiles.list->count : s.head.grid.chunks, each = chunks / s.work_slots;
    const u32 together = (u32)min_of(each ? each : 1, (u64)INTERP_TOGETHER);
    const bool all = !s.wanted.boxed && s.wanted.count == s.head.grid.count;
    const bool any = s.wanted.boxed || s.wanted.count > 0;
    bool good = check_index(s.src, s.head, s.control, work_slot, s.work_slots);
    u64 disagreement = 0;
    bool has_tables = false;
    for (;;) {
        __syncthreads();    // everyone is done with the tiles before
        if (threadIdx.x == 0) a.begin = count_if(true, &s.control->ticket) * together;
        __syncthreads();
        const u64 begin = a.begin, place = begin + warp;
        if (begin >= chunks || !any) break;
        const bool there = warp < together && place < chunks;
        const u32 entry = there && listed ? tiles.list->tiles()[place] : 0;
        if (__syncthreads_or(there) && !has_tables) {
            make_tables(v);
            __syncthreads();
            has_tables = true;
        }
        if (uniform(warp < together)) {
            if (lane == 0) a.own[warp].state = NOTHING;
            const u64 chunk = listed ? entry & ~ADDED : place;
            if (uniform(there) && (uniform(all) || group_is_wanted(s, chunk / GROUP_CHUNKS, lane)))
                good &= read_tile(s, a.own[warp], chunk, places, codes + ((u64)warp << TILE_LOG2), entry & ADDED,
                                  disagreement);
        }
        __syncthreads();
#pragma unroll 1
        for (u32 w = 0; w < together; w++) {
            const Own<T>& own = a.own[w];
            if (own.state == NOTHING) continue;
            u32* const beside = v + INTERP_NUMBER_BYTES / 4;
            has_tables &= own.level || own.state == STORED;
            good &= restore_tile(s, own, codes + ((u64)w << TILE_LOG2), own.level ? beside : v,
                                 own.level ? beside + own.codes() : beside, a.bench);
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

template <class T> DEV void decompress(const InterpDecompressArgs& a) {
    SHARED_BYTES(shared);
    SHARED Shared<T> own;
    static_assert(INTERP_TOGETHER <= MOST_WARPS, "a warp for each tile");
    static_assert(TABLE_BYTES <= INTERP_WARP_BYTES && 4 * INTERP_ERRORS == INTERP_TOGETHER * INTERP_WARP_BYTES,
                  "errors stand where own tables do");
    static_assert((TABLES - 1) * TABLE_BYTES + INTERP_TOGETHER * RING_BYTES <= INTERP_NUMBER_BYTES,
                  "tables and rings stand where numbers do");
    u32* const v = (u32*)shared;
    const u32 warp = uniform(threadIdx.x >> 5), slots = shared_address(shared);
    const Places places = {slots, slots + INTERP_NUMBER_BYTES + warp * INTERP_WARP_BYTES,
                           slots + (TABLES - 1) * TABLE_BYTES + warp * RING_BYTES};
    typename T::Word* const codes =
        (typename T::Word*)a.common.scratch + ((u64)blockIdx.x * INTERP_TOGETHER << TILE_LOG2);
    if (threadIdx.x == 0) own.bench.recipes.len[0][0] = 0;
    each_work_slot(
        a.common.batch, own.stream, [&](u32 i) { own.stream.open(a, i); },
        [&](u64 slot) { decompress_one(own, Tiles<T>(a), v, places, codes, slot); });
}

}    // namespace interp
