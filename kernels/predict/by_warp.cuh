// Twin: src/codec/predict/body/decode.rs
// Stream → array, most tiles of simulation fields: a warp restores a tile from its words to its elements, without a
// barrier. Tiles that need anything else it puts on a list, which decompress.cuh takes.
//
// A block shares BY_WARP_TABLES bytes, and BY_WARP_BYTES for each of its warps:
//
//   slots    the tables of classes (coder.cuh)     all threads make them at the start; all read
//   ring     words of a body on their way, then the slots of its own table     each warp its own
//   v        nodes of level 1, and sums behind them, at the same place, while the tile is restored (march.cuh)     each
//            warp its own
//
// and besides
//
//   stream   what is known of the array     thread 0 at the start; all read it
//   known    what is known of a tile        lane 0 of its warp; then the warp reads it
//
// The codes of a tile stand in global memory, BY_WARP_CODES bytes for each warp.
//
//   barrier 1   the stream, the tables and the weights are there
#pragma once
#include "march.cuh"
#include "restore.cuh"

namespace predict {

// Tiles for the other kernel: their numbers stand behind this.
struct List {
    u64 ticket;    // tiles handed out, beside the first of each warp
    u64 count;     // of the list

    DEV u32* tiles() { return (u32*)(this + 1); }
};

// Whether a warp may restore tiles of this array.
template <class T> DEV bool is_for_warps(const Stream<T>& s) {
    const u32 size = T::BITS / 8;
    if (s.status || !s.list_room) return false;
    const Grid& g = s.head.grid;
    const bool fits = 1u << g.a <= LONGEST_ROW && 1u << g.b <= LONGEST_ROW && 1u << g.c <= LONGEST_ROW &&
                      (1u << g.b == INSIDE || 1u << g.c == INSIDE);
    return fits && s.head.step_w && !s.head.next && !s.head.big_endian && g.z != MANY && g.chunks <= s.list_room &&
           (u64)s.wanted.dst % size == 0;
}
// Or this tile of it.
DEV bool is_for_a_warp(const Tile& t, const Target& to) {
    const u32 inside = t.lz == INSIDE ? t.lz : t.ly, other = t.lz == INSIDE ? t.ly : t.lz;
    return to.whole && to.step[0] == 1 && to.step[t.lz == INSIDE ? 2 : 1] < 1u << 28 && t.lx > 2 &&
           t.lx <= LONGEST_ROW && inside == INSIDE && other > 2 && other <= LONGEST_ROW;
}

// What became of a tile.
enum Fate : u32 { RESTORED, DAMAGED, LEFT };

// All elements of a tile are the same. For a whole warp.
template <class T> DEV void put_constant(const Found<T>& own, typename T::Word v) {
    enum { SIZE = T::BITS / 8 };
    const Tile& t = own.t;
    const u32 lane = threadIdx.x & 31, rows = t.ly * t.lz;
    u8* const first = own.to.dst + (own.to.origin + lane) * SIZE;
    const u64 y_step = own.to.step[1] * SIZE, z_step = own.to.step[2] * SIZE;
    u32 y = 0, z = 0;
#pragma unroll 1
    for (u32 i = 0; i < rows; i++) {
        if (lane < t.lx) store_element(first + y * y_step + z * z_step, v);
        if (++y == t.ly) {
            y = 0;
            z++;
        }
    }
}

// Elements of the bins that stand where these belong. For a whole warp.
template <class T> DEV void make_elements(const Stream<T>& s, const Found<T>& own, typename T::Word base) {
    enum { SIZE = T::BITS / 8 };
    typedef typename T::Word Word;
    const Tile& t = own.t;
    const u32 lane = threadIdx.x & 31, rows = t.ly * t.lz;
    u8* const first = own.to.dst + (own.to.origin + lane) * SIZE;
    const u64 y_step = own.to.step[1] * SIZE, z_step = own.to.step[2] * SIZE;
    const Meaning<T> meaning = s.meaning;
    u32 y = 0, z = 0;
#pragma unroll 4
    for (u32 i = 0; i < rows; i++) {
        Word* const at = (Word*)(first + y * y_step + z * z_step);
        if (lane < t.lx) *at = meaning.bin(*at + base);
        if (++y == t.ly) {
            y = 0;
            z++;
        }
    }
    __syncwarp();
}

// Restores a tile, or finds that it cannot. For a whole warp.
template <class T>
DEV Fate restore_by_warp(const Stream<T>& s, Found<T>& own, u64 chunk, u32 slots, u32 ring, u32* v, u8* codes,
                         const uint4* weights, u64& disagreement) {
    typedef typename T::Word Word;
    const u32 lane = threadIdx.x & 31;
    const WideBody wide = locate(s.src, s.head, chunk, lane);
    if (!uniform(wide.bytes)) return DAMAGED;
    const u32 kind = uniform(wide.kind), bytes = uniform(wide.bytes);
    if (kind != KIND_PACKED && kind != KIND_CONSTANT) return LEFT;
    const u8* const body = s.src + wide.at;
    __syncwarp();    // all are done with the tile before
    if (lane == 0) {
        own.t = tile_of(s.head.grid, chunk);
        own.to = Target(s, own.t);
        own.body = body;
        own.bytes = bytes;
        own.corrections = own.exceptions = 0;
    }
    __syncwarp();
    if (!uniform(is_for_a_warp(own.t, own.to))) return LEFT;
    const u32 n = uniform(own.t.count()), groups = (n + GROUP - 1) / GROUP;
    const u64 sum = disagreement_of(s.src, s.head, chunk, warp_sum(keyed_sum(body, bytes, lane)));
    if (kind == KIND_CONSTANT) {
        enum { SIZE = T::BITS / 8 };
        disagreement += sum;
        put_constant(own, element_at<T>(body));
        const u32 at = SIZE + lane;
        return uniform(__all_sync(FULL, at >= bytes || body[at] == 0)) ? RESTORED : DAMAGED;
    }
    const u32 bits = *(const u32*)body;
    const u32 set = bits & 7, predictor = bits >> 3 & 3, map = bits >> 5 & 3, has_table = bits >> 7 & 1,
              has_patches = bits >> 8 & 1, sparse = bits >> 9 & 1, change = bits >> 10 & 255, longest = bits >> 18 & 31,
              masked = bits >> 23 & 1, few = bits >> 24 & 3, base_words = few < 3 ? few : 4;
    // What the other kernel knows, valid or not.
    if (uniform(predictor == 0 || map == EXACT)) return LEFT;
    const bool has_lattice = s.head.multiplier;
    const bool good = predictor < 3 && (change <= groups || change == NEVER) && longest <= STATE_BITS &&
                      longest >= masked && !(sparse && (change || longest || has_table)) &&
                      !(set & ~s.head.grid.set()) && s.head.grid.is_smooth() &&
                      (has_lattice || (map == PLAIN && !has_patches));
    u32 at = HEAD_BYTES;
    if (!uniform(good) || !has_bytes(at, bytes, 2 * base_words)) return DAMAGED;
    u64 base = bits >> (32 - BASE_BITS);
#pragma unroll 1
    for (u32 k = 0; k < base_words; k++) {
        base |= (u64)read16(body + at) << (BASE_BITS + 16 * k);
        at += 2;
    }
    const u32 width = BASE_BITS + 16 * base_words;
    if (width < 64) base = (u64)((i64)(base << (64 - width)) >> (64 - width));
    if (lane == 0) own.predictor = predictor;
    __syncwarp();
    if (uniform(has_patches) && !uniform(read_patches<T>(own, body, bytes, n, at))) return DAMAGED;
    if (uniform(has_table)) {
        const u8* p = body + at;
        if (!uniform(read_own(p, body + bytes, ring + PREDICT_RING_BYTES, false))) return DAMAGED;
        at = (u32)(p - body);
    }
    const Words words = {at, longest, masked, change, has_table};
    const TileForm form = TileForm::of(0);
    Verdict verdict = AGAIN;
    if (uniform(sparse)) {
        verdict = read_sparse(body, bytes, at, n, slots, (u32*)codes);
        if (lane == 0) own.narrow = false;
    } else {
        verdict = read_codes<T, true, false>(s, own, nullptr, form, words, slots, ring, (Word*)codes);
        if (uniform(verdict == AGAIN))
            verdict = read_codes<T, false, false>(s, own, nullptr, form, words, slots, ring, (Word*)codes);
    }
    if (!uniform(verdict == GOOD)) return DAMAGED;
    disagreement += sum;
    __syncwarp();    // all codes are there, and nobody uses the ring

    enum { SIZE = T::BITS / 8 };
    Field<T> q;
    q.lx = uniform(own.t.lx);
    q.ly = uniform(own.t.ly);
    q.lz = uniform(own.t.lz);
    q.set = set;
    q.z_inside = q.lz == INSIDE;
    q.coarse_steps = map == ON_LATTICE;
    q.plain = map == PLAIN;
    q.codes = codes;
    q.narrow = uniform(own.narrow);
    q.v = v;
    q.sums = v + COARSE_NODES + 3;
    q.weights = weights;
    q.dst = own.to.dst + own.to.origin * SIZE;
    q.in_step = (u32)own.to.step[q.z_inside ? 2 : 1] * SIZE;
    q.on_step = own.to.step[q.z_inside ? 1 : 2] * SIZE;
    q.base = (u32)base;
    q.lattice = s.meaning.lattice;
    if (uniform(predictor == 1))
        interpolate_rows<T, false>(q);
    else
        interpolate_rows<T, true>(q);
    if (uniform(q.plain)) make_elements(s, own, (Word)base);
    if (!uniform(has_patches)) return RESTORED;
    const u64 y_step = own.to.step[1], z_step = own.to.step[2];
    const bool patched = put_patches(s, own, [&](u32 i) {
        const u32 line = i / own.t.lx, x = i - line * own.t.lx, z = line / own.t.ly, y = line - z * own.t.ly;
        return *(const Word*)(own.to.dst + (own.to.origin + x + y * y_step + z * z_step) * SIZE);
    });
    return uniform(__all_sync(FULL, patched)) ? RESTORED : DAMAGED;
}

template <class T> struct SharedByWarp {
    Stream<T> stream;
    Found<T> known[BY_WARP_MOST];
};

template <class T> DEV void restore_tiles(const PredictDecompressArgs& a) {
    SHARED_BYTES(shared);
    SHARED SharedByWarp<T> own;
    static_assert(4 * (COARSE_NODES + 3 + 32 * INSIDE) <= BY_WARP_BYTES &&
                      PREDICT_RING_BYTES + (4u << TABLE_BITS) <= BY_WARP_BYTES,
                  "what a warp shares, in turn");
    static_assert((TABLES - 1) << (TABLE_BITS + 2) == BY_WARP_TABLES && sizeof(List) == LIST_BYTES &&
                      16 * ROW_WEIGHTS <= BY_WARP_WEIGHTS && 4u << TILE_LOG2 == BY_WARP_CODES,
                  "what the host reckons with");
    const u32 lane = threadIdx.x & 31, warp = uniform(threadIdx.x >> 5), warps = a.workers;
    u8* const mine = a.scratch + (u64)blockIdx.x * (BY_WARP_WEIGHTS + (u64)warps * BY_WARP_CODES);
    uint4* const weights = (uint4*)mine;
    u8* const codes = mine + BY_WARP_WEIGHTS + (u64)warp * BY_WARP_CODES;
    u32* const v = (u32*)((u8*)shared + BY_WARP_TABLES + warp * BY_WARP_BYTES);
    if (threadIdx.x == 0) own.stream.open(a, 0);
    make_tables((u32*)shared);
    lay_out_rows(weights);
    __syncthreads();
    const Stream<T>& s = own.stream;
    List* const list = (List*)a.list;
    if (!is_for_warps(s) || uniform(warp >= warps)) return;
    const u64 chunks = s.head.grid.chunks;
    u64 disagreement = 0;
    bool good = true;
    // The first tiles are given to all blocks alike.
    u64 chunk = (u64)warp * gridDim.x + blockIdx.x;
    while (uniform(chunk < chunks)) {
        const Fate fate = restore_by_warp(s, own.known[warp], chunk, shared_address(shared), shared_address(v), v,
                                          codes, weights, disagreement);
        good &= fate != DAMAGED;
        u64 next = 0;
        if (lane == 0) {
            if (fate == LEFT) list->tiles()[count_if(true, &list->count)] = (u32)chunk;
            next = count_if(true, &list->ticket) + (u64)gridDim.x * warps;
        }
        chunk = __shfl_sync(FULL, next, 0);
    }
    if (lane) return;
    if (!good) fail(s.control, STATUS_CORRUPT);
    if (disagreement) add_relaxed(&s.control->disagreement, disagreement);
}

}    // namespace predict
