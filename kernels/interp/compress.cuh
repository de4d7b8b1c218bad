// Twin: src/runtime/cpu/parallel.rs
// Array → stream. Blocks take tiles by ticket, some that follow each other at once: of each all threads find the codes,
// then a warp makes words of each. Sizes of bodies are published as soon as they are known, and the bodies go to their
// places when the sizes of all before them are. Until then they are staged, and the block goes on. Tickets are in the
// order of the bodies, so that a block waits for such alone as have begun before it.
//
// A block shares INTERP_NUMBER_BYTES and 4 · INTERP_ERRORS bytes, as long as the host says:
//
//   v      numbers of a tile; at the same place what warps need that make words
//   e      errors of nodes (forward.cuh); at the same place what ranks are found by
//
// and besides the desk, with what is known of array and tiles. Functions say for whom they are and where barriers are.
#pragma once
#include "../common/range.cuh"
#include "encode.cuh"

namespace interp::encoder {

// How arrays are cut, and what follows for a stream; by one thread.
DEV void lay_out(Header& head, const InterpCompressArgs& a, u64 count) {
    const CompressArgs& c = a.common;
    head.dtype = c.dtype;
    head.big_endian = c.big_endian;
    head.values = c.values;
    Grid& g = head.grid;
    g.rank = a.rank;
    for (u32 k = 0; k < g.rank; k++) {
        g.len[k] = a.lens[k];
        g.side[k] = a.sides_log2[k];
    }
    if (g.rank == 1) {
        g.len[0] = count;
        g.side[0] = (u8)(count < 2 ? 0 : min_of(top_bit(min_of(count, 1ull << 20) - 1) + 1, (u32)TILE_LOG2));
    }
    g.make();
    for (u32 k = 0; k < head.values; k++) head.missing[k] = c.missing[k];
    const u32 extension = EXTENSION_BYTES + 8 * ((g.rank > 1 ? g.rank : 0) + head.values) + g.rank;
    head.bytes = HEADER_BYTES + (extension + ALIGN - 1) / ALIGN * ALIGN;
    head.layout();
}

// The multiplier of the lattice for a bound and the quantizer's step within it: src/codec/interp/lattice.rs.
DEV u32 multiplier_of(const Plan& plan, u32 dtype) {
    const bool exact = dtype == DTYPE_F32 ? plan.step_j >= -100 : dtype == DTYPE_F64 && plan.step_j >= -960;
    if (!plan.step_w || !exact) return 0;
    const double most_error = 7.53125, most = (double)MOST_MULTIPLIER;
    const double of_bound = plan.abs_bound * float_of((u64)(8 - plan.step_j + 1023) << 52);
    const double quotient = of_bound / most_error;
    u32 multiplier = (u32)(quotient < most ? quotient : most);
    if ((double)multiplier * most_error > of_bound) multiplier--;
    if (multiplier % 2 == 0) multiplier--;
    return multiplier >= LEAST_MULTIPLIER && multiplier <= MOST_MULTIPLIER ? multiplier : 0;
}

// Length and checksum of a stream, whose index has the keyed sum `sum`, and the outcome; `next`: whether numbers next
// to missing values take elements' places. By one thread.
DEV void close_stream(u8* dst, const Header& head, u64 bytes, u64 sum, u32 status, bool next, Outcome* outcome) {
    report(outcome, bytes, status);
    if (status) return;
    u64* w = (u64*)dst;
    w[3] = bytes;
    if (next) w[HEADER_BYTES / 8 + 1] |= 1 << 16;
    for (u32 i = 0; i < head.bytes / 8; i++)
        if (i != 7) sum += (w[i] & 0xffffffff) * key_of(2 * i) + (w[i] >> 32) * key_of(2 * i + 1);
    w[7] = mix(sum + KEY64 * head.bodies_at);
}

DEV void write_head(const CompressArgs& a, const Header& head, const Plan& plan, u64 count, u8* dst) {
    const Grid& g = head.grid;
    u64* w = (u64*)dst;
    for (u32 i = 0; i < head.bytes / 8; i++) w[i] = 0;
    const u64 flags = (a.big_endian ? FLAG_BIG_ENDIAN : 0) | FLAG_EXTENDED;
    w[0] = MAGIC48 | (u64)VERSION << 48;
    w[1] = CODEC_INTERP | a.dtype << 8 | a.mode << 16 | flags << 24 | (u64)(u16)plan.step_j << 32 |
           (u64)plan.step_w << 48 | (u64)multiplier_of(plan, a.dtype) << 56;
    w[2] = count;
    w[4] = a.mode == MODE_LOSSLESS ? 0 : bits_of(a.bound);
    w[5] = bits_of(plan.range);
    w[6] = bits_of(plan.abs_bound);
    w += HEADER_BYTES / 8;
    w[0] = (head.bytes - HEADER_BYTES) | (u64)(1 | 1 << 8 | g.rank << 24) << 32;
    w[1] = head.values | a.found << 8;
    w += 2;
    for (u32 k = 0; g.rank > 1 && k < g.rank; k++) *w++ = g.len[k];
    for (u32 k = 0; k < head.values; k++) *w++ = head.missing[k];
    for (u32 k = 0; k < g.rank; k++) ((u8*)w)[k] = g.side[k];
}

// Before the tiles: what follows from the bound, an empty index, the header but for its length and checksum.
DEV void begin_compress(const InterpCompressArgs& args) {
    SHARED Header head;
    const CompressArgs& a = args.common;
    const Share share(a.batch);
    const Item item = item_of(a.batch, share.item);
    Slot& slot = a.batch.slots[share.item];
    if (threadIdx.x == 0) lay_out(head, args, item.count);
    __syncthreads();
    const bool room = item.bytes >= head.bodies_at;
    if (room)
        for (u64 at = head.bytes / 16 + (u64)share.rank * blockDim.x + threadIdx.x; at < head.bodies_at / 16;
             at += (u64)share.of * blockDim.x)
            ((uint4*)item.dst)[at] = make_uint4(0, 0, 0, 0);
    if (share.rank || threadIdx.x) return;
    const Plan plan = resolve(a, item.count, slot.control.range);
    slot.plan = plan;
    Control& control = slot.control;
    control.ticket = control.slots = 0;
    control.end = head.bodies_at;
    control.index_sum = control.disagreement = 0;
    control.closed = 0;
    control.status = room ? 0 : STATUS_BUFFER_TOO_SMALL;
    if (room) write_head(a, head, plan, item.count, item.dst);
    if (!room || head.grid.chunks == 0)
        close_stream(item.dst, head, head.bodies_at, 0, control.status, false, a.batch.outcomes + share.item);
}

// The array of a desk, as those who count the sizes of bodies know it.
template <class T> struct Job {
    const Header& head;
    u8* dst;

    DEV u32* entries() const { return (u32*)(dst + head.entries_at); }
    DEV u64* record(u64 group) const { return (u64*)(dst + head.bytes + group * GROUP_BYTES); }
};

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
    bin = q.bin(Quantizer<T>::number_of_element(bits), (typename T::Float)0);
    const Word value = Quantizer<T>::element_bits(q.small_value(bin));
    if (!(magnitude_of(bin) < q.k) || !(value == bits || (magnitude == 0 && value == 0))) return false;
    bin = wrap<T>(beyond_lattice(d, bin));
    return true;
}

// Takes a work slot's array over. By one thread.
template <class T> DEV void open(Desk<T>& d, const InterpCompressArgs& args, u32 i) {
    const CompressArgs& a = args.common;
    Slot& slot = a.batch.slots[i];
    const Plan plan = slot.plan;
    d.item = item_of(a.batch, i);
    d.control = &slot.control;
    d.outcome = a.batch.outcomes + i;
    lay_out(d.head, args, d.item.count);
    d.head.step_w = plan.step_w;
    d.head.step_j = plan.step_j;
    d.head.multiplier = multiplier_of(plan, a.dtype);
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
    const u64 at = s.t.origin + x * g.stride[g.x] + (g.y < MAX_RANK ? y * g.stride[g.y] : 0) +
                   z_offset(g, g.stride, s.chunk, z);
    const u8* const p = d.item.src + at * (T::BITS / 8);
    const Word word = d.aligned && T::BITS >= 32 ? *(const Word*)p : joined<T>(p);
    return d.head.big_endian ? swapped<T>(word) : word;
}

// Word i of a body.
template <class T> DEV u32 word_of(const Desk<T>& d, u32 k, u32 i) {
    const Slip& s = d.slips[k];
    if (i < s.plane_units) return ((const u32*)d.plane_of(k))[i];
    i -= s.plane_units;
    if (s.kind == KIND_CONSTANT) return (u32)(s.constant >> (32 * i));
    if (s.kind == KIND_PACKED) {
        const u32 before = s.units - s.low_words;
        if (i >= before) return ((const u32*)(d.out(k) + Desk<T>::OUT_BYTES))[(i32)(i - before) - (i32)s.low_words];
        const auto half = [&](u32 h) -> u32 {
            if (h < s.prefix_halves) return s.prefix[h];
            h -= s.prefix_halves;
            if (h < s.front_halves) return ((const u16*)d.out(k))[h];
            h -= s.front_halves;
            if (h < s.side_halves) return d.side(k)[h];
            h -= s.side_halves;
            return h < s.word_halves ? s.words[h] : 0;
        };
        return half(2 * i) | half(2 * i + 1) << 16;
    }
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

// Brings the body that has waited longest to its place in the stream and enters it there, if the sizes of all before it
// are known; WAIT: as soon as they are. `known`: where one before it is, which the first warp knows. For a whole block;
// a barrier before and behind.
template <bool WAIT, class T> DEV bool place(Desk<T>& d, Mark& known) {
    const Job<T> job = {d.head, d.item.dst};
    const u32 lane = threadIdx.x & 31;
    const Waiting body = d.waiting[d.first % WAITING];
    if (threadIdx.x < 32) {
        const bool there = count_up_to<WAIT>(job, known, body.chunk, lane);
        if (lane == 0) {
            d.flag = there;
            d.found = known.units;
        }
    }
    __syncthreads();
    const bool there = d.flag;
    const u64 before = d.found;
    __syncthreads();    // all have seen it
    if (!there) return false;
    known = {body.chunk + 1, before + body.units};
    const u64 at = d.head.bodies_at + before * UNIT, end = at + (u64)body.units * UNIT;
    Control& control = *d.control;
    const u32 k = (u32)(body.chunk % GROUP_CHUNKS);
    u64* const record = job.record(body.chunk / GROUP_CHUNKS);
    if (threadIdx.x == 0 && k == 0) store_relaxed(&record[0], at);
    const bool fits = end <= d.item.bytes;
    if (fits) {
        u32* const to = (u32*)(d.item.dst + at);
        const u32* const from = d.staging() + body.at;
#pragma unroll 8
        for (u32 i = threadIdx.x; i < body.units; i += blockDim.x) to[i] = from[i];
    }
    if (threadIdx.x == 0) {
        if (!fits) fail(&control, STATUS_BUFFER_TOO_SMALL);
        add_relaxed(&record[1], body_checksum(body.sum, k));
        if (body.chunk + 1 == d.head.grid.chunks) control.end = end;
        d.flag = count_in(&control.closed, 1) + 1 == (u32)d.head.grid.chunks;
        d.first++;
    }
    __syncthreads();
    if (d.flag) {
        u64 all = 0;
        for (u64 g = threadIdx.x; g < d.head.groups; g += blockDim.x)
            all +=
                keyed(load_relaxed((const uint4*)job.record(g)), key_of((u32)((d.head.bytes + g * GROUP_BYTES) / 4)));
        all = block_sum(all, d.part);
        if (threadIdx.x == 0)
            close_stream(d.item.dst, d.head, load_relaxed(&control.end), all + load_relaxed(&control.index_sum),
                         load_relaxed(&control.status), load_relaxed(&control.disagreement) != 0, d.outcome);
    }
    __syncthreads();
    return true;
}

// Where a body of so many words may be staged, or ~0 as long as others are in the way. Bodies stand one behind the
// other in a ring, each in one piece.
template <class T> DEV u32 room_for(const Desk<T>& d, u32 units) {
    if (d.first == d.behind) return 0;
    if (d.behind - d.first == WAITING) return ~0u;
    const u32 oldest = d.waiting[d.first % WAITING].at, next = d.staged_to;
    if (next > oldest) {
        if (Desk<T>::STAGING - next >= units) return next;
        return oldest > units ? 0 : ~0u;
    }
    return oldest - next > units ? next : ~0u;
}

// Stages a body, whose size is told; then those go to their places that can. For a whole block; a barrier before and
// behind.
template <class T> DEV void stage(Desk<T>& d, u32 k, Mark& known) {
    const u32 units = d.slips[k].plane_units + d.slips[k].units;
    u32 at = room_for(d, units);
    while (at == ~0u) {
        place<true>(d, known);
        at = room_for(d, units);
    }
    u32* const to = d.staging() + at;
    u64 sum = 0;
#pragma unroll 4
    for (u32 i = threadIdx.x; i < units; i += blockDim.x) {
        const u32 word = word_of(d, k, i);
        to[i] = word;
        sum += (u64)word * key_of(i);
    }
    sum = block_sum(sum, d.part);
    if (threadIdx.x == 0) {
        d.waiting[d.behind % WAITING] = {d.slips[k].chunk, sum, units, at};
        d.staged_to = at + units;
        d.behind++;
    }
    __syncthreads();
    while (d.first != d.behind && place<false>(d, known)) {}
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
        s.plane_units = s.has_codes = s.direct = s.wide = s.low = 0;
        d.masked = d.which = d.beside = d.patches = 0;
        d.survey = {0, 0, 0, 0, 0, 0};
    }
    __syncthreads();
    gather(d);
    __syncthreads();
}

// The desk of a block, which begins.
template <class T> DEV void begin_desk(Desk<T>& d, Shelf shelf, const InterpCompressArgs& a) {
    static_assert(Desk<T>::BYTES <= INTERP_DESK_WORDS * Desk<T>::WORD_BYTES + INTERP_DESK_BYTES, "what the host gives");
    static_assert(sizeof(Trial) * MOST_TRIALS == INTERP_TRIALS_BYTES, "what the host gives");
    if (threadIdx.x == 0) {
        d.at = a.scratch + (u64)blockIdx.x * (INTERP_DESK_WORDS * Desk<T>::WORD_BYTES + INTERP_DESK_BYTES);
        d.levels.len[0] = 0;
        d.first = d.behind = d.staged_to = 0;
        // Behind what ranks are found by, while there are no errors.
        d.widths = (u32 (*)[WIDTHS])(shelf.e + sizeof(RankRoom<typename T::Word>) / 4);
    }
    __syncthreads();
}

// Trials of some tiles of each array, a block for each.
template <class T> DEV void try_tile(Desk<T>& d, Shelf shelf, Trial* trial) {
    if (threadIdx.x == 0) trial->there = 0;
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
        if (d.item.bytes < d.head.bodies_at || k >= trials_of(d.head.grid.chunks)) continue;
        take_tile(d, 0, tried(d.head.grid.chunks, k));
        try_tile(d, shelf, (Trial*)a.trials + i);
    }
}

template <class T> DEV void compress(const InterpCompressArgs& a) {
    SHARED_BYTES(shared);
    SHARED Desk<T> d;
    const Shelf shelf = {(u32*)shared, (u32*)shared + INTERP_NUMBER_BYTES / 4};
    Tables& tables = *(Tables*)shared;
    Bench* const benches = (Bench*)((u8*)shared + sizeof(Tables));
    static_assert(sizeof(Tables) + MOST_TOGETHER * sizeof(Bench) <= INTERP_NUMBER_BYTES, "they stand where numbers do");
    static_assert(sizeof(RankRoom<typename T::Word>) + 4 * SETS * WIDTHS <= 4 * INTERP_ERRORS, "where errors stand");
    const Batch& batch = a.common.batch;
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    begin_desk(d, shelf, a);
    for (u64 work_slot = blockIdx.x; uniform(work_slot < batch.work_slots); work_slot += gridDim.x) {
        __syncthreads();    // everyone is done with the array before
        if (threadIdx.x < 32) {
            const u32 i = array_of(batch, work_slot, lane);
            if (lane == 0) open(d, a, i);
            __syncwarp();
            const u64 chunks = d.head.grid.chunks;
            const Trial* const trials = (const Trial*)a.trials + (u64)i * MOST_TRIALS;
            const Choice choice = choice_of(trials, chunks ? trials_of(chunks) : 0);
            if (lane == 0) {
                d.choice = choice;
                const u64 each = chunks / gridDim.x;
                d.together = each < 1 ? 1 : (u32)min_of(each, (u64)MOST_TOGETHER);
            }
        }
        __syncthreads();
        // Without room for the index there is nothing to do, and the outcome says so.
        if (d.item.bytes < d.head.bodies_at) continue;
        Mark known = {0, 0};
        for (;;) {
            __syncthreads();    // everyone is done with the tiles before
            if (threadIdx.x == 0) d.ticket = atomicAdd(&d.control->ticket, (u64)d.together);
            __syncthreads();
            if (d.ticket >= d.head.grid.chunks) break;
            const u64 first = d.ticket;
            const u32 count = (u32)min_of((u64)d.together, d.head.grid.chunks - first);
#pragma unroll 1
            for (u32 k = 0; uniform(k < count); k++) {
                take_tile(d, k, first + k);
                code_tile(d, shelf);
            }
            __syncthreads();
            make_symbols(tables);
            __syncthreads();
            if (warp < count) {
                make_body(d, warp, tables, benches[warp]);
                const Slip& s = d.slips[warp];
                if (lane == 0) {
                    const u32 kind = s.plane_units ? (u32)KIND_MASKED : s.kind,
                              entry = (s.plane_units + s.units) | kind << WIDE_KIND_SHIFT;
                    const Job<T> job = {d.head, d.item.dst};
                    store_relaxed(job.entries() + s.chunk, entry);
                    add_relaxed(&d.control->index_sum, (u64)entry * key_of((u32)(d.head.entries_at / 4 + s.chunk)));
                }
            }
            __syncthreads();
#pragma unroll 1
            for (u32 k = 0; uniform(k < count); k++) stage(d, k, known);
        }
        while (d.first != d.behind) place<true>(d, known);
    }
}

}    // namespace interp::encoder
