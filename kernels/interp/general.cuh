// Twin: src/codec/interp/encoder.rs
// Trials of tiles, and the tiles that no other kernel codes, however they are cut and whatever they hold. A block
// takes some that follow each other; of each all threads find the codes, then a warp makes words of each. Their bodies
// come to stand in their slots.
//
// A block shares INTERP_NUMBER_BYTES and 4 · INTERP_ERRORS bytes, as long as the host says:
//
//   v      numbers of a tile; at the same place what warps need that make words
//   e      errors of nodes; at the same place what ranks are found by
//
// and besides the desk, with what is known of array and tiles. Functions say for whom they are and where barriers are.
#pragma once
#include "encode.cuh"
#include "header.cuh"
#include "stages.cuh"

namespace interp::encoder {

// The bin whose value is equal to an element, if there is one.
template <class T> DEV bool bin_equal_to(const Desk<T>& d, typename T::Word bits, typename T::Word& bin) {
    typedef typename T::Word Word;
    const Quantizer<T>& q = d.meaning.quantizer;
    const Word sign = (Word)1 << (T::BITS - 1), magnitude = bits & ~sign;
    if constexpr (T::BITS >= 32) {
        const auto quotient = Quantizer<T>::number_of_element(bits) * d.meaning.lattice.inverse;
        if (d.meaning.lattice.first && Quantizer<T>::magnitude_of(quotient) < d.border) {
            i32 number;
            if (!multiple_of(d, bits, number) || number % (i32)LATTICE_STEP) return false;
            bin = (Word)(i64)(number / (i32)LATTICE_STEP);
            return true;
        }
    }
    // What is beyond the quantizer's range keeps its bits; the last bin may lie a little beyond.
    if (magnitude > q.top + 3) return false;
    bin = q.bin(Quantizer<T>::number_of_element(bits));
    const Word value = Quantizer<T>::element_bits(q.small_value(bin));
    if (!(magnitude_of(bin) < q.k) || !(value == bits || (magnitude == 0 && value == 0))) return false;
    bin = wrap<T>(beyond_lattice(d, bin));
    return true;
}

// Takes an array over. By one thread.
template <class T> DEV void open(Desk<T>& d, const InterpCompressArgs& args, u32 i) {
    const CompressArgs& a = args.common;
    Slot& slot = a.batch.slots[i];
    const Plan plan = slot.plan;
    d.item = item_of(a.batch, i);
    d.control = &slot.control;
    d.outcome = a.batch.outcomes + i;
    open_header(d.head, args, d.item.count, plan);
    d.choice = ((const Trials*)args.trials)[i].choice;
    d.meaning.set(d.head);
    d.meaning.quantizer.set_bound(plan.abs_bound);
    d.border = T::BITS == 32 ? (typename T::Float)BORDER_F32 : (typename T::Float)BORDER_F64;
    d.drop = plan.rounded ? plan.drop : 0;
    d.abs_bound = plan.abs_bound;
    d.bound = a.bound;
    d.aligned = (u64)d.item.src % (T::BITS / 8) == 0;
    d.collisions = d.nexts = 0;
    for (u32 k = 0; k < d.head.values; k++) {
        typename T::Word word = (typename T::Word)d.head.missing[k];
        if constexpr (T::EXPONENT)
            if (next_above<T>(word, d.next[d.nexts])) d.nexts++;
        if (plan.step_w ? bin_equal_to(d, word, word) : d.drop > 0) d.colliding[d.collisions++] = word;
    }
}

// A body's place in the source: an element as it was before missing values were taken out.
template <class T> DEV typename T::Word source_element(const Desk<T>& d, const Slip& s, u32 i) {
    typedef typename T::Word Word;
    const Grid& g = d.head.grid;
    u32 x, y, z;
    Places{s.t.lx, s.t.ly, s.t.lz}.of(i, x, y, z);
    const u64 at =
        s.t.origin + x * g.stride[g.x] + (g.y < MAX_RANK ? y * g.stride[g.y] : 0) + z_offset(g, g.stride, s.chunk, z);
    const u8* const p = d.item.src + at * (T::BITS / 8);
    const Word word = d.aligned && T::BITS >= 32 ? *(const Word*)p : joined<T>(p);
    return d.head.big_endian ? swapped<T>(word) : word;
}

// Word i of a body, with the plane before it.
template <class T> DEV u32 word_of(const Desk<T>& d, u32 k, u32 i) {
    const Slip& s = d.slips[k];
    if (i < s.plane_units) return ((const u32*)d.plane_of(k))[i];
    i -= s.plane_units;
    if (s.body.kind != KIND_RAW) return s.body.word(d.out(k), Desk<T>::OUT_BYTES / 2, i);
    if constexpr (T::BITS >= 32) {
        return (u32)(source_element(d, s, i / (T::BITS / 32)) >> (T::BITS == 64 ? 32 * (i % 2) : 0));
    } else {
        enum : u32 { EACH = 32 / T::BITS };
        u32 word = 0;
        for (u32 k = 0; k < EACH && i * EACH + k < s.n; k++)
            word |= source_element(d, s, i * EACH + k) << (k * T::BITS);
        return word;
    }
}

// Takes a tile over: its elements, and nothing is known of it. For a whole block, with barriers before and behind.
template <class T> DEV void take_tile(Desk<T>& d, u32 k, u64 chunk) {
    __syncthreads();    // everyone is done with the tile before
    if (threadIdx.x == 0) {
        d.slip = k;
        Slip& s = d.slips[k];
        s.chunk = chunk;
        s.t = d.t = tile_of(d.head.grid, chunk);
        d.box = {d.t.lx, d.t.ly, d.t.lz};
        s.n = d.n = d.t.count();
        s.kind = KIND_PACKED;
        s.plane_units = s.wide = s.coded.low = 0;
        d.masked = d.which = d.beside = d.patches = 0;
        d.survey = {0, 0, 0, 0, 0};
    }
    __syncthreads();
    gather(d);
    __syncthreads();
}

// The desk of a block, which begins.
template <class T> DEV void begin_desk(Desk<T>& d, Shelf shelf, const InterpCompressArgs& a) {
    static_assert(Desk<T>::BYTES <= INTERP_DESK_WORDS * Desk<T>::WORD_BYTES + INTERP_DESK_BYTES, "what the host gives");
    if (threadIdx.x == 0) {
        d.at = a.scratch + (u64)blockIdx.x * (INTERP_DESK_WORDS * Desk<T>::WORD_BYTES + INTERP_DESK_BYTES);
        d.recipes.len[0][0] = 0;
        // Behind what ranks are found by, while there are no errors.
        d.widths = (u32(*)[WIDTHS])(shelf.e + sizeof(RankRoom<typename T::Word>) / 4);
    }
    __syncthreads();
}

// Trials of some tiles of each array, a block for each.
template <class T> DEV void try_tile(Desk<T>& d, Shelf shelf, Trial* trial) {
    if (threadIdx.x == 0) *trial = {};    // what is not used is copied, too
    if (d.n < FEWEST || !d.head.grid.is_smooth()) return;
    if constexpr (T::EXPONENT) {
        if (d.head.values && take_out(d) != ~0u) return;
        if (d.head.values && d.head.step_w) look_beside(d);
    }
    bool done = false;
    if constexpr (T::EXPONENT && T::BITS >= 32)
        if (d.has_lattice()) {
            survey(d);
            done = d.survey.steps && try_part(d, shelf, 1, trial);
        }
    if (!done) {
        bool within = true;
        if (d.head.step_w) {
            if constexpr (T::EXPONENT) within = make_bins(d);
            if (within) take_base(d);
        } else {
            if constexpr (T::EXPONENT) round_elements(d);
            take_in_order(d);
        }
        if (!within || !shorten(d)) return;
        try_part(d, shelf, 0, trial);
    }
    if (threadIdx.x == 0) trial->there = 1;
}
static_assert(sizeof(Trials) % 16 == 0 && (sizeof(Trials) - sizeof(Trials::of)) % 16 == 0, "copied by 16 bytes");
template <class T> DEV void try_tiles(const InterpCompressArgs& a) {
    SHARED_BYTES(shared);
    SHARED Desk<T> d;
    const Shelf shelf = {(u32*)shared, (u32*)shared + INTERP_NUMBER_BYTES / 4};
    begin_desk(d, shelf, a);
    const u64 all = (u64)a.common.batch.count * MOST_TRIALS;
    u32 opened = ~0u;
#pragma unroll 1
    for (u64 i = blockIdx.x; uniform(i < all); i += gridDim.x) {
        const u32 array = (u32)(i / MOST_TRIALS), k = (u32)(i % MOST_TRIALS);
        __syncthreads();    // everyone is done with the array before
        if (threadIdx.x == 0 && array != opened) open(d, a, array);
        opened = array;
        __syncthreads();
        const u64 chunks = d.head.grid.chunks;
        if (d.item.bytes < d.head.bodies_at || chunks == 0 || k >= trials_of(chunks)) continue;
        Trials& trials = ((Trials*)a.trials)[array];
        // A trial that was not done as a whole tile's is done here.
        if (trials.done[k] < INTERP_TRIAL_PARTS) {
            take_tile(d, 0, tried(chunks, k));
            try_tile(d, shelf, trials.of + k);
        }
        __syncthreads();    // all have said what it costs
        // Who comes last chooses.
        if (threadIdx.x == 0) d.flag = count_in(&trials.arrived, 1) + 1 == trials_of(chunks);
        __syncthreads();
        if (d.flag) {
            copy_words(shelf.v, (const u32*)trials.of, trials_of(chunks) * sizeof(Trial) / 4);
            __syncthreads();
            if (threadIdx.x < 32) {
                const Choice choice = choice_of((const Trial*)shelf.v, trials_of(chunks));
                if (threadIdx.x == 0) trials.choice = choice;
            }
        }
    }
}

// Makes bodies of the tiles at hand, so many, in their slots. For a whole block.
template <class T> DEV void close_tiles(Desk<T>& d, const Wave& wave, Tables& tables, Bench* benches, u32 count) {
    __syncthreads();
    make_symbols(tables);
    __syncthreads();
    if (threadIdx.x / 32 < count) make_body(d, threadIdx.x / 32, tables, benches[threadIdx.x / 32]);
    __syncthreads();
#pragma unroll 1
    for (u32 k = 0; uniform(k < count); k++) {
        const Slip& s = d.slips[k];
        const u32 units = s.plane_units + s.body.units;
        u32* const to = (u32*)(wave.slot(s.tile) + wave.slot_bytes) - units;
#pragma unroll 4
        for (u32 i = threadIdx.x; i < units; i += blockDim.x) to[i] = word_of(d, k, i);
        if (threadIdx.x == 0) {
            const Body body = {s.body.kind, units, wave.slot_bytes / 2 - 2 * units, 2 * units, 0};
            wave.tiles[s.tile].close(body, s.plane_units ? (u32)KIND_MASKED : body.kind);
        }
    }
}

template <class T> DEV void compress_left(const InterpCompressArgs& a) {
    SHARED_BYTES(shared);
    SHARED Desk<T> d;
    const Shelf shelf = {(u32*)shared, (u32*)shared + INTERP_NUMBER_BYTES / 4};
    Tables& tables = *(Tables*)shared;
    Bench* const benches = (Bench*)((u8*)shared + sizeof(Tables));
    static_assert(sizeof(Tables) + MOST_TOGETHER * sizeof(Bench) <= INTERP_NUMBER_BYTES, "they stand where numbers do");
    static_assert(sizeof(RankRoom<typename T::Word>) + 4 * SETS * WIDTHS <= 4 * INTERP_ERRORS, "where errors stand");
    const u32 lane = threadIdx.x & 31;
    const Wave wave(a, slot_bytes_of<T>());
    begin_desk(d, shelf, a);
    const u32 all = a.staged ? wave.lists->left : wave.count, each = all / gridDim.x,
              together = each < 1 ? 1 : min_of(each, (u32)MOST_TOGETHER);
    u32 opened = ~0u;
#pragma unroll 1
    for (;;) {
        __syncthreads();    // everyone is done with the tiles before
        if (threadIdx.x == 0) d.count = atomicAdd(&wave.lists->taken, together);
        __syncthreads();
        const u32 first = d.count;
        if (first >= all) break;
        u32 ready = 0;
#pragma unroll 1
        for (u32 i = first; uniform(i < min_of(first + together, all)); i++) {
            const u32 tile = a.staged ? wave.left[i] : i;
            __syncthreads();    // everyone is done with the tile before
            if (threadIdx.x < 32) {
                const OfArray of = find_tile(a.common.batch, wave.first + tile, lane);
                if (lane == 0) {
                    d.found = of.chunk;
                    d.listed = of.array;
                }
            }
            __syncthreads();
            const u32 array = d.listed;
            const u64 chunk = d.found;
            if (array != opened) {
                if (ready) close_tiles(d, wave, tables, benches, ready);
                ready = 0;
                __syncthreads();
                if (threadIdx.x == 0) open(d, a, array);
                opened = array;
                __syncthreads();
            }
            // Without room for the index there is nothing to do, and the outcome says so.
            if (d.item.bytes < d.head.bodies_at) continue;
            take_tile(d, ready, chunk);
            if (threadIdx.x == 0) d.slips[ready].tile = tile;
            code_tile(d, shelf);
            ready++;
        }
        if (ready) close_tiles(d, wave, tables, benches, ready);
    }
}

}    // namespace interp::encoder
