// Twin: src/codec/interp/predict/encode.rs
// Elements → codes, of whole tiles of 32 x 32 x 16 floats with a lattice and without missing values: a block takes a
// tile, codes it by the rule of the array and chooses between this and differences of bins. Codes that 8 bits do not
// hold make it a tile of the list `wide`, which another launch codes with 16. All that is rare is left to others.
//
// A block shares PredictRoom, as long as the host says, and besides PredictShared:
//
//   array     what is known of it         thread 0, then a barrier; all read
//   tile      what is known of it         thread 0, then a barrier; all read
#pragma once
#include "bins.cuh"
#include "header.cuh"
#include "words.cuh"
#include "predict.cuh"

namespace interp::encoder {

enum : u32 { GAP_BITS = 16 - KIND_BITS };

template <bool BY16> struct alignas(16) PredictRoom {
    u32 a[9 * PLANE + 2];    // nodes of level 1
    union {
        Turns turns;
        u32 errors[1536];    // of level 1
        u32 edges[2][2][PREDICT_THREADS / 32][32];
        u32 sorted[MOST_ON];
    };
    Face face;
    u32 odd[(BY16 ? 2 : 1) * 9 * PREDICT_THREADS];
    u8 codes[TileCodes<BY16>::BYTES + 16];    // and one that is 0
};
static_assert(sizeof(PredictRoom<false>) == INTERP_PREDICT_BYTES, "what the host reckons with");
static_assert(sizeof(PredictRoom<true>) == INTERP_PREDICT_WIDE_BYTES, "what the host reckons with");

template <class T> struct PredictShared {
    u32 array, whole;    // the array; whether it has whole tiles that are coded here
    Header head;
    Lattice<T> lattice;
    Choice choice;
    const u8* src;
    WholeWeights weights;
    Corrections corrections;
    RowSample sample;
    u32 sums[ELEMENTS / GROUP];
    u64 cost;
    u32 nonzero, flags, next;
    u64 chunk;
    Tile t;
    u64 of_trial[4];
};

// Why a tile is not coded here; and that its numbers differ.
enum : u32 { TOO_RARE = 1, TOO_LONG = 2, NOT_EVEN = 4 };

// Differences of lines of codes, LEN of each, from `first` on, in their places. For a whole block; a barrier behind.
template <bool BY16, bool LONG, u32 LEN>
DEV void differ_lines(TileCodes<BY16>& codes, u32 first, u32 step, u32 row, u32 on, u32 plane, u32 lines) {
#pragma unroll 1
    for (u32 line = threadIdx.x; line < lines; line += PREDICT_THREADS) {
        const u32 at = times_within(line, row), n = first + (line - at * row) * on + at * plane;
        const auto code = [&](u32 i) -> i32 {
            const u32 k = n + i * step;
            return BY16 || LONG ? ((const short*)codes.at)[k] : ((const signed char*)codes.at)[LONG_CODES + k];
        };
        i32 before = code(0);
#pragma unroll
        for (u32 i = 1; i < LEN; i++) {
            const i32 own = code(i), d = own - before;
            before = own;
            if (BY16 || LONG) {
                codes.far |= (u32)(d + (1 << 15)) >> 16 << 16;
                ((short*)codes.at)[n + i * step] = (short)d;
            } else {
                codes.far |= (u32)(d + 128);
                codes.at[LONG_CODES + n + i * step] = (u8)d;
            }
        }
    }
    __syncthreads();
}
// The same of the classes X, Y and Z of a level with CX coarse and FX new nodes along x and y, and CZ and FZ along z.
template <bool BY16, bool LONG, u32 CX, u32 FX, u32 CZ, u32 FZ>
DEV void differ_level(TileCodes<BY16>& codes, u32 of_x, u32 set) {
    enum : u32 { OF_Y = FX * CX * CZ, OF_Z = 2 * OF_Y };
    const u32 of_y = of_x + OF_Y, of_z = of_x + OF_Z;
    if (set & X_AXIS) {
        differ_lines<BY16, LONG, CX>(codes, of_y, 1, FX * CZ, CX, 0, FX * CZ);
        differ_lines<BY16, LONG, CX>(codes, of_z, 1, CX * FZ, CX, 0, CX * FZ);
    }
    if (set & Y_AXIS) {
        differ_lines<BY16, LONG, CX>(codes, of_x, FX, FX, 1, FX * CX, FX * CZ);
        differ_lines<BY16, LONG, CX>(codes, of_z, CX, CX, 1, CX * CX, CX * FZ);
    }
    if (set & Z_AXIS) {
        differ_lines<BY16, LONG, CZ>(codes, of_x, FX * CX, FX * CX, 1, 0, FX * CX);
        differ_lines<BY16, LONG, CZ>(codes, of_y, CX * FX, CX * FX, 1, 0, CX * FX);
    }
}

// A block that codes a tile.
template <class T, bool BY16> struct TilePredictor {
    PredictShared<T>& s;
    PredictRoom<BY16>& room;
    const Wave& wave;
    u32 tile;
    Elements<T> from;

    DEV u8* slot() const { return wave.slot(tile); }

    // Reads the coarse nodes and the numbers between them on their rows; which of the latter are equal to elements.
    DEV u32 read_first(Found& found, TileCodes<BY16>& codes) {
        const u32 t = threadIdx.x, k = t & 7, j = t >> 3;
        Corrections& c = s.corrections;
        Four<T> f[9], h;
#pragma unroll
        for (u32 i = 0; i < 9; i++) f[i] = from.four(from.row(2 * j, i < 8 ? 2 * i : 15) + 4 * k * from.SIZE);
        const bool has_more = t < 9 * 8;    // of the face y = 31
        if (has_more) h = from.four(from.row(31, j < 8 ? 2 * j : 15) + 4 * k * from.SIZE);
        const auto add = [&](bool on, u32 x, u32 y, u32 z) {
            if (on) c.add((z * 32 + y) * 32 + x, 0);
        };
        u32 odd_on = 0;
#pragma unroll
        for (u32 i = 0; i < 9; i++) {
            bool on[4] = {false, false, false, false};
            u32 v[4];
#pragma unroll
            for (u32 x = 0; x < 4; x++) v[x] = number_of(from, f[i].v[x], found, on[x]);
            u32* const a = room.a + i * PLANE + j * ROW + 2 * k;
            store_pair(a, {{v[0], v[2]}});
            if (k == 7) a[2] = v[3];
            if (BY16) {
                store_pair(room.odd + i * 256 + j * 16 + 2 * k, {{v[1], v[3]}});
            } else {
                room.odd[i * PREDICT_THREADS + t] = (v[1] & 0xffff) | v[3] << 16;
                codes.far |= ((v[1] - v[0] + 32750) | (v[3] - v[2] + 32750)) >> 16 << 16;
            }
            if (on[0] | on[1] | on[2] | on[3]) {
                const u32 z = i < 8 ? 2 * i : 15;
                add(on[0], 4 * k, 2 * j, z);
                add(on[2], 4 * k + 2, 2 * j, z);
                add(on[3] && k == 7, 31, 2 * j, z);
                odd_on |= (u32)on[1] << (2 * i) | (u32)(on[3] && k != 7) << (2 * i + 1);
            }
        }
        if (has_more) {
            bool on[4] = {false, false, false, false};
            u32 v[4];
#pragma unroll
            for (u32 x = 0; x < 4; x++) v[x] = number_of(from, h.v[x], found, on[x]);
            u32* const a = room.a + j * PLANE + 16 * ROW + 2 * k;
            store_pair(a, {{v[0], v[2]}});
            if (k == 7) a[2] = v[3];
            const u32 z = j < 8 ? 2 * j : 15;
            add(on[0], 4 * k, 31, z);
            add(on[2], 4 * k + 2, 31, z);
            add(on[3] && k == 7, 31, 31, z);
        }
        return odd_on;
    }
    // Compares multiples with what they are restored as; coarse nodes are known only now. For a whole block; a barrier
    // behind.
    DEV void compare(bool has_nodes) {
        Corrections& c = s.corrections;
        const auto node = [](u32 at, u32 last) { return at == last ? (last + 1) / 2 : at % 2 ? ~0u : at / 2; };
        for (u32 i = threadIdx.x; i < min_of(c.on, (u32)MOST_ON); i += PREDICT_THREADS) {
            const u32 place = c.places[i], x = place & 31, y = place >> 5 & 31, z = place >> 10, of_x = node(x, 31),
                      of_y = node(y, 31), of_z = node(z, 15);
            const bool is_node = has_nodes && of_x != ~0u && of_y != ~0u && of_z != ~0u;
            c.compare(from, i, from.element(from.row(y, z) + x * from.SIZE),
                      is_node ? room.a[of_z * PLANE + of_y * ROW + of_x] : c.restored[i]);
        }
        __syncthreads();
    }

    template <bool ROUGH> DEV void code_levels(Found& found, TileCodes<BY16>& codes, u32 odd_on) {
        CoarseCodes<ROUGH, BY16> coarse = {room.a, room.errors, codes, s.weights.of[ROUGH]};
        coarse.go();
        FinestCodes<T, ROUGH, BY16> finest = {
            room.a, room.odd, codes, &room.turns, &room.face, s.weights.of[ROUGH], from, found, s.corrections, odd_on};
        if (!ROUGH) finest.make_face();
        finest.go();
    }
    // Codes the tile by a rule, at `room.codes`: whether that can be, and what it costs. For a whole block; a barrier
    // before and behind.
    DEV u32 code_by(const Rule& rule) {
        Found found = {true, 0, 0};
        TileCodes<BY16> codes = {room.codes, 0};
        if (threadIdx.x == 0) {
            s.corrections.clear();
            s.flags = 0;
        }
        __syncthreads();
        const u32 odd_on = read_first(found, codes);
        __syncthreads();
        if (rule.rough)
            code_levels<true>(found, codes, odd_on);
        else
            code_levels<false>(found, codes, odd_on);
        compare(true);
        if (rule.set) {
            differ_level<BY16, false, 17, 15, 9, 7>(codes, OF_X, rule.set);
            differ_level<BY16, true, 9, 8, 5, 4>(codes, 405, rule.set);
        }
        return verdict(found, codes.is_kept());
    }
    // What all threads found.
    DEV u32 verdict(const Found& found, bool kept) {
        const u32 own =
            (found.is_good() ? 0 : (u32)TOO_RARE) | (kept ? 0 : (u32)TOO_LONG) | (found.any ? (u32)NOT_EVEN : 0);
        if (own & ~s.flags) atomicOr(&s.flags, own);
        __syncthreads();
        // Any number of multiples may be in a tile of nothing else than one number.
        const u32 flags = s.flags, many = s.corrections.on > MOST_ON && flags & NOT_EVEN ? (u32)TOO_RARE : 0,
                  all = flags & (TOO_RARE | TOO_LONG);
        __syncthreads();
        return all | many;
    }
    // What the codes cost, with corrections. For a whole block; a barrier before and behind.
    DEV u64 cost() {
        const u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32;
        const TileCodes<BY16> codes = {room.codes, 0};
        if (threadIdx.x == 0) {
            s.cost = 0;
            s.nonzero = 0;
        }
#pragma unroll 2
        for (u32 g = warp; g < ELEMENTS / GROUP; g += PREDICT_THREADS / 32) {
            const uint2 q = codes.quad(g, lane);
            u32 sum;
            if (BY16 || g < LONG_CODES / GROUP) {
                const u32 a = unsigned_halves(q.x), b = unsigned_halves(q.y);
                sum = add_halves((a >> 1 & 0x7fff7fffu) + (a & 0x00010001u),
                                 add_halves((b >> 1 & 0x7fff7fffu) + (b & 0x00010001u), 0));
            } else {
                const u32 a = unsigned_bytes(q.x);
                sum = sum_of_products((a >> 1 & 0x7f7f7f7fu) + (a & 0x01010101u), 0x01010101u, 0);
            }
            sum = __reduce_add_sync(FULL, sum);
            if (lane == 0) s.sums[g] = sum;
        }
        __syncthreads();
        static_assert(PREDICT_THREADS == ELEMENTS / GROUP, "a thread has a group");
        const u32 sum = s.sums[threadIdx.x], all = __reduce_add_sync(FULL, cost_of_small_sum(sum, GROUP)),
                  some = __popc(__ballot_sync(FULL, sum > 0));
        if (lane == 0) {
            atomicAdd(&s.cost, (u64)all);
            atomicAdd(&s.nonzero, some);
        }
        __syncthreads();
        const u64 cost = s.cost;
        const bool is_sparse = s.nonzero <= SPARSE_NONZERO && cost < STATES_COST;
        const u64 corrections = (u64)CORRECTION_COST * s.corrections.count;
        __syncthreads();    // all have seen it
        return (is_sparse ? cost : with_states(cost)) + corrections;
    }

    // Writes codes and what stands before them to the slot. For a whole block; a barrier before and behind.
    DEV void keep(u32 set, u32 predictor, u32 numbers, i32 base) {
        Corrections& c = s.corrections;
        const u32 count = c.count, t = threadIdx.x;
        const uint4* const codes = (const uint4*)room.codes;
#pragma unroll 4
        for (u32 i = t; i < TileCodes<BY16>::BYTES / 16; i += PREDICT_THREADS) ((uint4*)slot())[i] = codes[i];
        // Corrections in the order of elements.
#pragma unroll 1
        for (u32 i = t; i < count; i += PREDICT_THREADS) {
            u32 rank = 0;
            for (u32 k = 0; k < count; k++) rank += c.keys[k] < c.keys[i];
            room.sorted[rank] = c.keys[i];
        }
        __syncthreads();
        u16* const front = (u16*)(slot() + FRONT_AT);
        const auto gap = [&](u32 i) {
            return (room.sorted[i] >> KIND_BITS) - (i ? (room.sorted[i - 1] >> KIND_BITS) + 1 : 0);
        };
        u32 halves = 0;
#pragma unroll 1
        for (u32 i = t; i < count; i += PREDICT_THREADS) {
            // A gap that is too long takes a patch that changes nothing.
            u32 at = 1 + i;
            for (u32 k = 0; k < i; k++) at += gap(k) >> GAP_BITS;
            u32 own = gap(i);
            for (; own >> GAP_BITS; own -= 1 << GAP_BITS) front[at++] = (u16)(0xfff0 | NO_CORRECTION);
            front[at++] = (u16)(own << KIND_BITS | (room.sorted[i] & low_ones(KIND_BITS)));
            if (i + 1 == count) {
                front[0] = (u16)((at - 1) | ALL_SAME);
                halves = at;
            }
        }
        if (count ? halves > 0 : t == 0) {
            StageTile& to = wave.tiles[tile];
            to.stage = BY16 ? HALVES : BYTES;
            to.head = set | predictor << 3 | numbers << 5 | (u32)(count > 0) << 8;
            to.base = base;
            to.front_halves = halves;
            to.constant = s.lattice.multiple(numbers == OF_BINS ? base * (i32)LATTICE_STEP : base);
        }
        __syncthreads();
    }

    // The whole of it: 0, or why the tile is not coded here.
    DEV u32 go() {
        const Limited &first = s.choice.steps, &other = s.choice.second;
        u64 cost_of_rule = ~0ull;
        if (first.there) {
            if (const u32 why = code_by(first.rule)) return why;
            cost_of_rule = cost();
            keep(first.rule.set, 1 + first.rule.rough, IN_STEPS, from.base);
            if (cost_of_rule < (u64)LITTLE * ELEMENTS && other.there) {
                if (const u32 why = code_by(other.rule)) return why;
                const u64 of_other = cost();
                if (of_other < cost_of_rule) {
                    cost_of_rule = of_other;
                    keep(other.rule.set, 1 + other.rule.rough, IN_STEPS, from.base);
                }
            }
            if (cost_of_rule <= FREE) return 0;
        } else if (s.choice.exact.there) {
            return TOO_RARE;
        }
        u64 of_axes;
        const u32 set = axes_of_bins(from, s.sample, of_axes);
        of_axes = with_states(of_axes) + (u64)CORRECTION_COST * s.corrections.off_bins;
        if (first.there && is_taken(cost_of_rule, of_axes, first.limit)) return 0;
        if (set == 0) return TOO_RARE;
        if (const u32 why = code_bins_along(set)) return why;
        keep(set, 0, OF_BINS, from.bin(from.element(0)));
        return 0;
    }
    // Codes differences of bins along a set of axes that is not empty: 0, or why that cannot be. For a whole block; a
    // barrier before and behind.
    DEV u32 code_bins_along(u32 set) {
        Found found = {true, 0, 0};
        TileCodes<BY16> codes = {room.codes, 0};
        if (threadIdx.x == 0) {
            s.corrections.clear();
            s.flags = 0;
        }
        __syncthreads();
        code_bins(from, set, codes, s.corrections, room.edges, found);
        __syncthreads();    // all multiples are listed
        compare(false);
        return verdict(found, codes.is_kept());
    }
};

// A trial of a whole tile, one of its three parts: axes, smooth, rough. Whether that can be. For a whole block; a
// barrier before and behind.
template <class T> DEV bool try_whole(TilePredictor<T, true>& p, u32 part, Trial& trial) {
    PredictShared<T>& s = p.s;
    if (part == 0) {
        u64 sampled;
        const u32 set = axes_of_bins(p.from, s.sample, sampled);
        if (set == 0 || p.code_bins_along(set)) return false;
        const u64 cost = p.cost();
        if (threadIdx.x == 0) {
            trial.axes = cost;
            trial.sampled = with_states(sampled) + (u64)CORRECTION_COST * s.corrections.off_bins;
            trial.steps = 1;
            trial.there = 1;
        }
        return true;
    }
    if (p.code_by({part - 1, 1, 0})) return false;
    const u64 cost = p.cost();
    const short* const codes = (const short*)p.room.codes;
    const Places box = {32, 32, 16};
    cost_with_sets(s.of_trial, trial, part - 1, cost, box, 7, [=](u32 i) { return (u32)(i32)codes[i]; });
    return true;
}

// Takes an array over. By one thread.
template <class T> DEV void open(PredictShared<T>& s, const InterpCompressArgs& a, u32 array) {
    const Item item = item_of(a.common.batch, array);
    s.array = array;
    s.src = item.src;
    open_header(s.head, a, item.count, a.common.batch.slots[array].plan);
    s.lattice.set(s.head);
    s.choice = ((const Trials*)a.trials)[array].choice;
    const Grid& g = s.head.grid;
    s.whole = s.lattice.first && !s.head.values && !s.head.big_endian && g.a == 5 && g.b == 5 && g.c == 4 &&
              g.stride[g.x] == 1 && g.z < MAX_RANK && (u64)item.src % (T::BITS / 8) == 0;
    if (item.bytes < s.head.bodies_at) s.whole = 0;
}

// Whether the tile at hand is coded here.
template <class T> DEV bool has_whole_tile(const PredictShared<T>& s) {
    return s.whole && s.t.lx == 32 && s.t.ly == 32 && s.t.lz == 16;
}
template <class T> DEV Elements<T> elements_of(const PredictShared<T>& s) {
    const Grid& g = s.head.grid;
    Elements<T> from;
    from.at = s.src + s.t.origin * (T::BITS / 8);
    from.y_step = g.stride[g.y] * (T::BITS / 8);
    from.z_step = g.stride[g.z] * (T::BITS / 8);
    from.is_aligned = ((u64)from.at | from.y_step | from.z_step) % 16 == 0;
    from.fine = s.lattice.fine;
    from.inverse = s.lattice.inverse;
    from.near = (T::BITS == 32 ? BORDER_F32 : BORDER_F64) - (typename T::Float)BORDER_WIDTH;
    from.base = 0;
    from.base = from.number(from.element(0));
    return from;
}

// Trials of the tiles of large arrays, as far as these are whole: a block has a part of one.
template <class T> DEV void try_whole_tiles(const InterpCompressArgs& a, PredictShared<T>& s, PredictRoom<true>& room) {
    const Wave wave(a, slot_bytes_of<T>());
    const u64 all = (u64)a.common.batch.count * MOST_TRIALS * INTERP_TRIAL_PARTS;
#pragma unroll 1
    for (u64 i = blockIdx.x; uniform(i < all); i += gridDim.x) {
        const u32 array = (u32)(i / (MOST_TRIALS * INTERP_TRIAL_PARTS)),
                  k = (u32)(i / INTERP_TRIAL_PARTS % MOST_TRIALS), part = (u32)(i % INTERP_TRIAL_PARTS);
        __syncthreads();    // everyone is done with the part before
        if (threadIdx.x == 0) {
            if (s.array != array) open(s, a, array);
            const u64 chunks = s.head.grid.chunks;
            if (chunks < WHOLE_TRIALS) s.whole = 0;
            if (s.whole) s.t = tile_of(s.head.grid, tried(chunks, k));
        }
        __syncthreads();
        if (!has_whole_tile(s)) continue;
        Trials& trials = ((Trials*)a.trials)[array];
        TilePredictor<T, true> p = {s, room, wave, 0, elements_of(s)};
        const bool done = try_whole(p, part, trials.of[k]);
        if (threadIdx.x == 0 && done) atomicAdd(trials.done + k, 1u);
    }
}

template <class T, bool BY16> DEV void predict_tiles(const InterpCompressArgs& a) {
    SHARED_BYTES(shared);
    SHARED PredictShared<T> s;
    PredictRoom<BY16>& room = *(PredictRoom<BY16>*)shared;
    const Wave wave(a, slot_bytes_of<T>());
    // While tiles are tried there are no lists.
    const u32 count = !BY16 ? wave.count : a.trying ? 0 : wave.lists->wide, lane = threadIdx.x & 31;
    if (BY16 && !a.trying && count == 0) return;
    if (threadIdx.x == 0) s.array = ~0u;
    s.weights.take(*wave.weights);
    __syncthreads();
    if constexpr (BY16)
        if (a.trying) {
            try_whole_tiles(a, s, room);
            return;
        }
    u32 next = blockIdx.x;
#pragma unroll 1
    while (uniform(next < count)) {
        const u32 tile = BY16 ? wave.wide[next] : next;
        __syncthreads();    // everyone is done with the tile before
        if (threadIdx.x < 32) {
            const OfArray of = find_tile(a.common.batch, wave.first + tile, lane);
            if (lane == 0) {
                if (s.array != of.array) open(s, a, of.array);
                s.t = tile_of(s.head.grid, of.chunk);
                u32* const ticket = BY16 ? &wave.lists->coded_wide : &wave.lists->predicted;
                s.next = gridDim.x + atomicAdd(ticket, 1u);
            }
        }
        __syncthreads();
        u32 why = TOO_RARE;
        if (has_whole_tile(s)) {
            TilePredictor<T, BY16> p = {s, room, wave, tile, elements_of(s)};
            why = p.go();
        }
        if (threadIdx.x == 0 && why) {
            wave.tiles[tile].stage = NOT_SEEN;
            if (why & TOO_RARE || BY16)
                wave.leave(tile);
            else
                wave.wide[atomicAdd(&wave.lists->wide, 1u)] = tile;
        }
        next = s.next;
    }
}

}    // namespace interp::encoder
