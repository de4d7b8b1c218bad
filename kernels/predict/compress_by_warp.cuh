// The bodies of whole tiles of small numbers, most of those of simulation fields, by a warp each: from the elements to
// the words, without a barrier. What needs anything else is for the block (body.cuh), and so is a tile that a warp
// gives up.
//
// Of what the block shares each warp has WARP_BYTES, and behind all of these are the costs of direct tokens:
//
//   nodes    nodes of level 1, and codes behind them; at the same place what is counted, and costs of sets, where a
//            part is tried; then the bench of the coder     each warp its own
//   body     the body, until it is entered                  the same
//
// Of the memory of the block, as far as it is not for staging, each warp has Places_of_warp, or Trial_of_warp before.
#pragma once
#include "body.cuh"
#include "encode_rows.cuh"
#include "lossless.cuh"

namespace predict {

enum : u32 {
    WARPS = PREDICT_THREADS / 32,
    WARP_BYTES = (4 * DIRECT_COSTS_AT) / WARPS / 16 * 16,
    BODY_BYTES = (sizeof(Body) + 15) / 16 * 16,
    // More elements than these are never corrected by a warp.
    MOST_MULTIPLES = ELEMENTS / 64,
    WORD_HALVES = 25600,
    // A block that has fewer tiles to do makes them one by one.
    FEWEST_TOGETHER = 2,
};
static_assert(4 * (COARSE_NODES + 3 + 32 * INSIDE) + BODY_BYTES <= WARP_BYTES &&
                  sizeof(Bench_of_coder) + BODY_BYTES <= WARP_BYTES,
              "what a warp shares");

// What a warp has of the memory of its block.
struct Places_of_warp {
    u16 codes[ELEMENTS], words[WORD_HALVES];
    u32 corrected[MASK_WORDS];
    signed char by[ELEMENTS];
    u8 patches[2048], table[1024];
};

// What it has there while it tries a part.
struct Trial_of_warp {
    u32 numbers[SAMPLE_ELEMENTS], bins[SAMPLE_ELEMENTS], codes[SAMPLE_ELEMENTS], other[SAMPLE_ELEMENTS];
    u16 kept[SAMPLE_ELEMENTS];
};
static_assert(sizeof(Trial_of_warp) <= sizeof(Places_of_warp), "it stands there");

// A tile that a warp may encode, and what is known of it.
template <class T> struct Looked_at {
    u64 chunk;
    Tile t;
    Way way;
    i32 base;
    u32 on;                           // multiples
    typename T::Word any, largest;    // all bits of the elements, and the largest magnitude
    // Whether the way is known, but for what all of the tile would tell; a warp may encode it, and has.
    u32 is_known, asks_all, is_for_warp, done;
};

// An element of a tile, by its number.
template <class T> struct Elements_of {
    const u8* src;
    u32 lx, ly;
    u64 y_step, z_step;    // bytes

    DEV typename T::Word operator[](u32 i) const {
        const u32 row = times_within(i, lx), z = times_within(row, ly);
        return *(const typename T::Word*)(src + (u64)(i - row * lx) * (T::BITS / 8) + (row - z * ly) * y_step +
                                          z * z_step);
    }
};

// Whether warps may encode tiles of an array.
template <class T> DEV bool is_for_warps(const Desk<T>& d) {
    const Grid& g = d.head.grid;
    const bool fits = 1u << g.a <= LONGEST_ROW && 1u << g.b <= LONGEST_ROW && 1u << g.c <= LONGEST_ROW &&
                      (1u << g.b == INSIDE || 1u << g.c == INSIDE);
    return fits && d.head.multiplier && !d.head.big_endian && !d.head.values && d.aligned && g.z < MAX_RANK &&
           g.stride[g.x] == 1 && (g.stride[g.y] | g.stride[g.z]) < 1u << 28 && g.is_smooth();
}
// Or this one of them.
DEV bool is_for_a_warp(const Tile& t) {
    const u32 inside = t.lz == INSIDE ? t.lz : t.ly, other = t.lz == INSIDE ? t.ly : t.lz;
    return t.lx > 2 && inside == INSIDE && other > 2;
}

// What a warp of a block has: where its nodes stand, its body and its memory.
DEV u32* nodes_of_warp(u32 warp) {
    SHARED_BYTES(shared);
    return (u32*)((u8*)shared + warp * WARP_BYTES);
}
DEV Body& body_of_warp(u32 warp) { return *(Body*)((u8*)nodes_of_warp(warp + 1) - BODY_BYTES); }
template <class T> DEV Places_of_warp& places_of_warp(const Desk<T>& d, u32 warp) {
    static_assert(sizeof(Places_of_warp) % 16 == 0 &&
                      WARPS * sizeof(Places_of_warp) <= Desk<T>::STAGED_AT * (u64)Desk<T>::WORD_BYTES,
                  "it is not for staging");
    return ((Places_of_warp*)d.at)[warp];
}

// Writes the patches of a tile's corrections, and how many halves they are; `ordered`: room for MOST_MULTIPLES. For a
// whole warp.
SELDOM u32 write_corrections(Places_of_warp& p, u32 n, u32* ordered) {
    const u32 lane = threadIdx.x & 31;
    u32 count = 0;
    for (u32 w = lane; 32 * w < n; w += 32) count += __popc(p.corrected[w]);
    count = __reduce_add_sync(FULL, count);
    if (!uniform(count)) return 0;
    each_bit(p.corrected, n, [=](u32 rank, u32 i) { ordered[rank] = i; });
    __syncwarp();
    u32 at = 4;
#pragma unroll 1
    for (u32 first = 0; uniform(first < count); first += 32) {
        const u32 k = first + lane, i = k < count ? ordered[k] : 0,
                  gap = k < count ? k ? i - ordered[k - 1] - 1 : i : 0, bytes = k < count ? gap / 255 + 1 : 0,
                  up_to = warp_running_sum(bytes);
        u32 to = at + up_to - bytes;
        if (k < count) {
            for (u32 left = gap; left >= 255; left -= 255) p.patches[to++] = 255;
            p.patches[to] = (u8)(gap % 255);
        }
        at += __shfl_sync(FULL, up_to, 31);
    }
    for (u32 k = lane; k < count; k += 32) p.patches[at + k] = (u8)p.by[ordered[k]];
    at += count;
    if (lane == 0) {
        ((u16*)p.patches)[0] = (u16)count;
        ((u16*)p.patches)[1] = 0;
        p.patches[at] = 0;
    }
    __syncwarp();
    return (at + 1) / 2;
}

// Makes the body of a tile of its codes. For a whole warp.
template <class T>
SELDOM void code_by_warp(const Desk<T>& d, Bench_of_coder& b, Body& body, Said said, const Piece& patches,
                         Places_of_warp& p, u32 n) {
    const u32 lane = threadIdx.x & 31, halves = WORD_HALVES;
    const OfWarp team = {nullptr, nullptr};
    if (lane == 0) b.symbols = d.symbols();
    take_groups<true>(team, b, p.codes, n);
    const bool own = choose_table(team, b);
    Writer w;
    w.begin(p.words, halves, lane);
    list_groups(b, n, own);
    encode_listed(b, p.codes, n, w);
    u32 longest, is_masked, head_bytes = 0;
    const u32 state_halves = write_states(w.x, body.states, longest, is_masked);
    const u32 sparse = encode_sparse(b, p.codes, n, p.words, SPARSE_HALVES, (u8*)body.sparse_head, head_bytes);
    if (lane == 0) {
        const u32 table_halves = own ? write_table(b, p.table) / 2 : 0;
        if (sparse != ~0u && head_bytes / 2 + sparse < state_halves + table_halves + halves - w.at) {
            make_body(body, said, 1, 0, 0, 0, patches, {body.sparse_head, head_bytes / 2}, 0,
                      {p.words + SPARSE_HALVES - sparse, sparse});
        } else {
            said.has_table = own;
            make_body(body, said, 0, w.change, longest, is_masked, patches, {(const u16*)p.table, table_halves},
                      state_halves, {p.words + w.at, halves - w.at});
        }
    }
    __syncwarp();
}

// A tile as its rows are encoded, or a part of it that begins at `x`, `y`, `z`.
template <class T>
DEV Rows<T> rows_of(const Desk<T>& d, const Looked_at<T>& job, const Places& box, u32 x, u32 y, u32 z, Rule rule,
                    u32 warp) {
    enum : u32 { SIZE = T::BITS / 8 };
    const Grid& g = d.head.grid;
    Places_of_warp& p = places_of_warp(d, warp);
    const u64 y_step = g.stride[g.y] * SIZE, z_step = g.stride[g.z] * SIZE;
    Rows<T> q;
    q.lx = box.lx;
    q.ly = box.ly;
    q.lz = box.lz;
    q.set = rule.set;
    q.z_inside = q.lz == INSIDE;
    q.coarse_steps = rule.coarse;
    q.corrects = false;
    q.codes = p.codes;
    q.v = warp * (WARP_BYTES / 4);
    q.weights = d.row_weights();
    q.src = d.item.src + job.t.origin * SIZE + x * SIZE + y * y_step + z * z_step;
    q.in_step = (u32)(q.z_inside ? z_step : y_step);
    q.on_step = q.z_inside ? y_step : z_step;
    q.inverse = d.meaning.lattice.inverse;
    q.fine = d.meaning.lattice.fine;
    q.base = (u32)job.base;
    q.corrected = p.corrected;
    q.by = p.by;
    return q;
}
template <class T> DEV void encode_rows_by(Rows<T>& q, bool rough) {
    if (uniform(rough))
        encode_rows<T, true>(q);
    else
        encode_rows<T, false>(q);
}

// A part of a tile that is tried by a warp. What it tells is for a whole warp.
template <class T> struct CaseOfWarp {
    const Desk<T>& d;
    const Looked_at<T>& job;
    u32 warp;
    OfWarp team;
    bool& gives_up;

    enum : bool { KEEPS_BINS = true };
    enum : u32 { COSTS_AT = WARP_BYTES - BODY_BYTES - 8 * SETS, COUNTS_AT = COSTS_AT - 4 * SYMBOLS };
    DEV CaseOfWarp(const Desk<T>& d, const Looked_at<T>& job, u32 warp, bool& gives_up)
        : d(d), job(job), warp(warp), gives_up(gives_up) {
        team = {nullptr, (u64*)((u8*)nodes_of_warp(warp) + COSTS_AT)};
    }
    DEV Trial_of_warp& trial() const { return (Trial_of_warp&)places_of_warp(d, warp); }
    DEV u32* bins() const { return trial().bins; }
    DEV u32* counts() const { return (u32*)((u8*)nodes_of_warp(warp) + COUNTS_AT); }
    DEV u64 corrections_of_bins(const Part&) const { return 0; }
    DEV void mask(const Part&) const {}
    DEV bool cost_of(const Part& p, Rule rule, u32* codes, u64& cost, u64& corrections) const {
        const u32 lane = threadIdx.x & 31;
        u16* const kept = trial().kept;
        Rows<T> q = rows_of(d, job, p.box, p.x, p.y, p.z, rule, warp);
        q.codes = kept;
        __syncwarp();
        encode_rows_by(q, rule.rough);
        if (uniform(q.all >> 16)) {
            gives_up = true;
            return false;
        }
        for (u32 i = lane; i < p.n; i += 32) codes[i] = kept[i];
        __syncwarp();
        corrections = 0;
        cost = fixed_cost(team, codes, p.n);
        return true;
    }
};

// Looks at all elements of a tile; false where it is not for a warp. For a whole warp.
template <class T> SELDOM bool survey_by_warp(const Desk<T>& d, Looked_at<T>& job) {
    typedef typename T::Word Word;
    typedef typename T::Float Float;
    enum : u32 { SIZE = T::BITS / 8 };
    const u32 lane = threadIdx.x & 31, lx = uniform(job.t.lx), ly = uniform(job.t.ly), lz = uniform(job.t.lz);
    const Grid& g = d.head.grid;
    const u64 y_step = g.stride[g.y] * SIZE, z_step = g.stride[g.z] * SIZE;
    const Float fine = d.meaning.lattice.fine, inverse = d.meaning.lattice.inverse,
                near = d.border - (Float)BORDER_WIDTH;
    const Word sign = (Word)1 << (T::BITS - 1);
    const u8* const src = d.item.src + job.t.origin * SIZE;
    const u32 base = (u32)Lattice<T>::rounded(Quantizer<T>::number_of_element(*(const Word*)src) * inverse);
    const bool there = lane < lx;
    const u8* const first = src + min_of(lane, lx - 1) * SIZE;
    Word any_bits = 0, largest = 0;
    u32 any = 0, on = 0;
    bool all_within = true;
#pragma unroll 1
    for (u32 z = 0; z < lz; z++) {
        const u8* at = first + z * z_step;
#pragma unroll 4
        for (u32 y = 0; y < ly; y++, at += y_step) {
            const Word bits = *(const Word*)at, magnitude = bits & ~sign;
            const Float v = Quantizer<T>::number_of_element(bits), quotient = v * inverse;
            all_within &= Quantizer<T>::magnitude_of(quotient) < near;
            const i32 rounded = Lattice<T>::rounded(quotient);
            on += (Float)rounded * fine == v;
            const u32 number = (u32)rounded - base;
            any |= number ^ (u32)((i32)number >> 31);
            any_bits |= bits;
            largest = magnitude > largest ? magnitude : largest;
        }
    }
    any = warp_or(any | (u32)!all_within << 31);
    on = warp_total(there ? on : 0);
    any_bits = warp_or(any_bits);
    largest = warp_greatest(largest);
    if (lane == 0) {
        job.base = (i32)base;
        job.on = on;
        job.any = any_bits;
        job.largest = largest;
    }
    __syncwarp();
    // Where all are multiples the block looks at all of them.
    const u32 n = lx * ly * lz;
    return any < SMALL_NUMBER && on <= n / 64;
}

// Looks at a tile, and chooses how it is predicted, where a warp may do so. For a whole warp.
template <class T> DEV void look_by_warp(const Desk<T>& d, Looked_at<T>& job, u64 chunk, u32 warp) {
    const u32 lane = threadIdx.x & 31;
    __syncwarp();
    if (lane == 0) {
        job.chunk = chunk;
        job.t = tile_of(d.head.grid, chunk);
        job.is_known = job.asks_all = job.is_for_warp = job.done = 0;
    }
    __syncwarp();
    if (!uniform(is_for_a_warp(job.t)) || !uniform(survey_by_warp(d, job))) return;
    bool gives_up = false;
    const CaseOfWarp<T> c(d, job, warp, gives_up);
    Trial_of_warp& trial = c.trial();
    Part p;
    p.whole = {uniform(job.t.lx), uniform(job.t.ly), uniform(job.t.lz)};
    p.box = sample_of(p.whole);
    p.x = (p.whole.lx - p.box.lx) / 2;
    p.y = (p.whole.ly - p.box.ly) / 2;
    p.z = (p.whole.lz - p.box.lz) / 2;
    p.n = p.box.count();
    p.is_masked = p.corrected = false;
    p.base = job.base;
    p.step = LATTICE_STEP;
    p.share = p.whole.count() / p.n;
    p.numbers = trial.numbers;
    p.codes = trial.codes;
    p.other = trial.other;
    const Rows<T> q = rows_of(d, job, p.box, p.x, p.y, p.z, Rule{0, 0, 0}, warp);
    const u64 y_step = q.z_inside ? q.on_step : q.in_step, z_step = q.z_inside ? q.in_step : q.on_step;
    Walk w(p.box, lane, 32);
#pragma unroll 4
    for (u32 i = lane; i < p.n; i += 32, w.next())
        trial.numbers[i] =
            q.number(*(const typename T::Word*)(q.src + w.x * (T::BITS / 8) + w.y * y_step + w.z * z_step));
    __syncwarp();
    const Way way = least_way(c, p, SETS);
    if (uniform(gives_up)) return;
    if (lane == 0) {
        job.way = way;
        job.is_known = true;
        job.asks_all = p.n != p.whole.count() && way.cost < (u64)LOW_COST * p.n;
        job.is_for_warp = way.interpolated;
    }
    __syncwarp();
}

// Encodes a tile; false if it is for the block. For a whole warp, the number of which is that of its job.
template <class T> DEV bool encode_by_warp(const Desk<T>& d, const Looked_at<T>& job, u32 warp) {
    const u32 lane = threadIdx.x & 31;
    Places_of_warp& p = places_of_warp(d, warp);
    Body& body = body_of_warp(warp);
    const Places box = {uniform(job.t.lx), uniform(job.t.ly), uniform(job.t.lz)};
    const u32 n = box.count();
    const Rule rule = {uniform(job.way.rule.rough), uniform(job.way.rule.coarse), uniform(job.way.rule.set)};
    Rows<T> q = rows_of(d, job, box, 0, 0, 0, rule, warp);
    q.corrects = rule.coarse && uniform(job.on);
    if (q.corrects)
        for (u32 w = lane; 32 * w < n; w += 32) p.corrected[w] = 0;
    __syncwarp();
    encode_rows_by(q, rule.rough);
    if (uniform(q.all >> 16)) return false;
    u32* const nodes = nodes_of_warp(warp);
    const Piece patches = {(const u16*)p.patches, q.corrects ? write_corrections(p, n, nodes) : 0};
    const Said said = {rule.set, 1 + rule.rough, rule.coarse ? (u32)ON_LATTICE : (u32)MULTIPLES,
                       0,        NO_FORM,        (u64)(i64)job.base};
    __syncwarp();    // nobody uses the nodes
    if (uniform(q.all)) {
        code_by_warp(d, *(Bench_of_coder*)nodes, body, said, patches, p, n);
    } else {
        if (lane == 0) make_body(body, said, 0, NEVER, 0, 0, patches, {nullptr, 0}, 0, {nullptr, 0});
        __syncwarp();
    }
    if (uniform(body.bytes >= d.head.raw_bytes(n))) return false;
    const Elements_of<T> elements = {q.src, box.lx, box.ly, q.z_inside ? q.on_step : q.in_step,
                                     q.z_inside ? q.in_step : q.on_step};
    const Probe<T, Elements_of<T>> probe(d, elements, n, box.lx, job.any, job.largest);
    return !uniform(probe.ask(body.bytes));
}

}    // namespace predict
