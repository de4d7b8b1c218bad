// Twin: src/runtime/cpu/parallel.rs
// Array → stream. Blocks take tiles by ticket, and each makes the body of its own from end to end: all threads look for
// the way to predict it and make its codes, a warp makes words of these. A body's size is published as soon as it is
// known, and it goes to its place when the sizes of all before it are. Until then it is staged, and the block goes on
// with the next tile. Tickets are in the order of the bodies, so that a block waits for such alone as have begun before
// it.
//
// A block shares PREDICT_NUMBER_BYTES and 4 · PREDICT_ERRORS bytes, as long as the host says:
//
//   v      numbers of a tile, or of a part of it; at the same place what a warp needs that makes words
//   e      errors of nodes (interp.cuh); at the same place what is counted
//
// or PREDICT_EXACT_BYTES of lossless arrays, where e lies over the symbols of v, which come after it.
//
// and besides the desk, with what is known of array and tile. Functions say for whom they are and where barriers are.
#pragma once
#include "../common/range.cuh"
#include "lossless.cuh"
#include "missing.cuh"

namespace predict {

// How arrays are cut, and what follows for a stream; by one thread.
DEV void lay_out(Header& head, const PredictCompressArgs& a, u64 count) {
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

// The multiplier of the lattice for a bound and the quantizer's step within it: src/codec/predict/map/lattice.rs.
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
    w[1] = CODEC_PREDICT | a.dtype << 8 | a.mode << 16 | flags << 24 | (u64)(u16)plan.step_j << 32 |
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
DEV void begin_compress(const PredictCompressArgs& args) {
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
template <class T> DEV void open(Desk<T>& d, const PredictCompressArgs& args, u32 i) {
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
    d.lossless = !plan.step_w && !d.drop;
    d.aligned = (u64)d.item.src % (T::BITS / 8) == 0;
    d.collisions = d.nexts = 0;
    for (u32 k = 0; k < d.head.values; k++) {
        typename T::Word word = (typename T::Word)d.head.missing[k];
        if constexpr (T::EXPONENT && T::BITS >= 32) {
            i32 number;
            if (multiple_of(d, word, number) && next_above<T>(word, d.next[d.nexts])) d.nexts++;
        }
        if (plan.step_w ? bin_equal_to(d, word, word) : d.drop > 0) d.colliding[d.collisions++] = word;
    }
}

// The body of a tile, of those that a desk has. For a whole block; a barrier before and behind.
template <class T> DEV u32 encode(Desk<T>& d, Shelf shelf) {
    const u32 raw_bytes = d.raw_bytes();
    bool within;
    if constexpr (T::EXPONENT)
        within = d.lossless      ? code_exactly(d, shelf, d.body[0], ~0ull)
                 : d.head.step_w ? quantized(d, shelf, d.body[0])
                                 : by_bits(d, shelf, d.body[0], d.drop);
    else
        within = code_exactly(d, shelf, d.body[0], ~0ull);
    within = within && d.body[0].bytes < raw_bytes;
    const u32 limit = within ? d.body[0].bytes : raw_bytes;
    if constexpr (T::EXPONENT)
        if (!d.lossless && (!within || may_be_smaller(d, shelf, limit))) {
            const u64 most = 8 * (u64)BIT * (limit + limit / 64);
            if (code_exactly(d, shelf, d.body[1], most) && d.body[1].bytes < limit) return 1;
        }
    if (!within) {
        __syncthreads();    // all have seen its bytes
        if (threadIdx.x == 0) {
            d.body[0].kind = KIND_RAW;
            d.body[0].bytes = raw_bytes;
        }
        __syncthreads();
    }
    return 0;
}

// What is known of a body that goes to the stream.
struct Made {
    const Body* body;
    u32 kind, plane_units, units;
};

// The body of a tile with what missing values add to it. For a whole block; a barrier before and behind.
template <class T> DEV Made make(Desk<T>& d, Shelf shelf) {
    u32 all = ~0u;
    if constexpr (T::EXPONENT)
        if (d.head.values) all = take_out(d);
    if (all != ~0u) {
        if (threadIdx.x == 0) d.body[0].constant = d.head.missing[all];
        __syncthreads();
        return {d.body, KIND_CONSTANT, 0, T::BITS < 32 ? 1 : d.head.element_bytes / UNIT};
    }
    if constexpr (T::EXPONENT)
        if (d.head.values && d.head.step_w) look_beside(d);
    Body& body = d.body[encode(d, shelf)];
    const bool changes = d.beside && body.kind == KIND_CONSTANT;
    if (threadIdx.x == 0 && changes) body.constant = d.head.beside_missing(body.constant);
    __syncthreads();
    const u32 units = body.bytes / UNIT;
    if (!T::EXPONENT || !d.masked) return {&body, body.kind, 0, units};
    if (threadIdx.x < 32) {
        const u32 bytes = write_plane(d);
        if (threadIdx.x == 0) {
            d.plane_bytes = bytes;
            d.plane()[0] |= body.kind << 6;
        }
    }
    __syncthreads();
    const u32 plane_units = d.plane_bytes / UNIT, raw_units = d.raw_bytes() / UNIT;
    if (body.kind == KIND_RAW || plane_units + units >= raw_units) return {&body, KIND_RAW, 0, raw_units};
    return {&body, KIND_MASKED, plane_units, plane_units + units};
}

// An element as it was before missing values were taken out.
template <class T> DEV typename T::Word element_before(const Desk<T>& d, u32 i) {
    if (T::EXPONENT && d.masked && has_bit(d.missing(), i))
#pragma unroll 1
        for (u32 k = 0; k < d.head.values; k++)
            if (has_bit(d.value_mask(k), i)) return (typename T::Word)d.head.missing[k];
    return d.elements()[i];
}

// Word i of a body.
template <class T> DEV u32 word_of(const Desk<T>& d, const Made& made, u32 i) {
    if (i < made.plane_units) return ((const u32*)d.plane())[i];
    i -= made.plane_units;
    const bool raw = made.kind == KIND_RAW;
    if (!raw && made.kind != KIND_CONSTANT && made.body->kind == KIND_PACKED)
        return made.body->half(2 * i) | made.body->half(2 * i + 1) << 16;
    if (!raw) return (u32)(made.body->constant >> (32 * i));
    if constexpr (T::BITS >= 32) {
        return (u32)(element_before(d, i / (T::BITS / 32)) >> (T::BITS == 64 ? 32 * (i % 2) : 0));
    } else {
        enum : u32 { EACH = 32 / T::BITS };
        u32 word = 0;
        for (u32 k = 0; k < EACH && i * EACH + k < d.n; k++) word |= element_before(d, i * EACH + k) << (k * T::BITS);
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

// Tells the size of a body and stages it; then those go to their places that can. For a whole block; a barrier before
// and behind.
template <class T> DEV void enter(Desk<T>& d, const Made& made, Mark& known) {
    const Job<T> job = {d.head, d.item.dst};
    const u32 units = made.units, entry = units | made.kind << WIDE_KIND_SHIFT;
    if (threadIdx.x == 0) {
        store_relaxed(job.entries() + d.chunk, entry);
        add_relaxed(&d.control->index_sum, (u64)entry * key_of((u32)(d.head.entries_at / 4 + d.chunk)));
    }
    u32 at = room_for(d, units);
    while (at == ~0u) {
        place<true>(d, known);
        at = room_for(d, units);
    }
    u32* const to = d.staging() + at;
    u64 sum = 0;
#pragma unroll 4
    for (u32 i = threadIdx.x; i < units; i += blockDim.x) {
        const u32 word = word_of(d, made, i);
        to[i] = word;
        sum += (u64)word * key_of(i);
    }
    sum = block_sum(sum, d.part);
    if (threadIdx.x == 0) {
        d.waiting[d.behind % WAITING] = {d.chunk, sum, units, at};
        d.staged_to = at + units;
        d.behind++;
    }
    __syncthreads();
    while (d.first != d.behind && place<false>(d, known)) {}
}

template <class T> DEV void compress(const PredictCompressArgs& a) {
    SHARED_BYTES(shared);
    SHARED Desk<T> d;
    // Blocks of lossless arrays share less, and keep less, so that there are more of them.
    const bool exact = a.common.mode == MODE_LOSSLESS;
    static_assert(EXACT_FORMS_AT + sizeof(Bench_of_forms<typename T::Word>) <= PREDICT_EXACT_BYTES &&
                      sizeof(Bench_of_coder) <= PREDICT_EXACT_BYTES,
                  "what the host reckons with");
    const Shelf shelf = {(u32*)shared, (u32*)shared + (exact ? (u32)EXACT_FORMS_AT : PREDICT_NUMBER_BYTES) / 4};
    const Batch& batch = a.common.batch;
    const u32 lane = threadIdx.x & 31;
    if (threadIdx.x == 0) {
        const u32 words = exact ? PREDICT_EXACT_WORDS : PREDICT_DESK_WORDS;
        d.at = a.scratch + (u64)blockIdx.x * (words * Desk<T>::WORD_BYTES + PREDICT_DESK_BYTES);
        d.levels.len[0] = d.levels_of_parts().len[0] = 0;
        d.first = d.behind = d.staged_to = 0;
    }
    __syncthreads();
    make_symbols(d.symbols());
    for (u64 work_slot = blockIdx.x; uniform(work_slot < batch.work_slots); work_slot += gridDim.x) {
        __syncthreads();    // everyone is done with the array before
        if (threadIdx.x < 32) {
            const u32 i = array_of(batch, work_slot, lane);
            if (lane == 0) open(d, a, i);
        }
        __syncthreads();
        // Without room for the index there is nothing to do, and the outcome says so.
        if (d.item.bytes < d.head.bodies_at) continue;
        Mark known = {0, 0};
        for (;;) {
            __syncthreads();    // everyone is done with the tile before
            if (threadIdx.x == 0) {
                d.chunk = count_if(true, &d.control->ticket);
                if (d.chunk < d.head.grid.chunks) {
                    d.t = tile_of(d.head.grid, d.chunk);
                    d.box = {d.t.lx, d.t.ly, d.t.lz};
                    d.n = d.t.count();
                    d.masked = d.which = d.beside = 0;
                }
            }
            __syncthreads();
            if (d.chunk >= d.head.grid.chunks) break;
            gather(d);
            __syncthreads();
            enter(d, make(d, shelf), known);
        }
        while (d.first != d.behind) place<true>(d, known);
    }
}

}    // namespace predict
