// Array → stream. Warps take tiles by ticket, and each makes the body of its own from end to end, in a place of memory
// that is its own. A body's size is published as soon as it is known, and it goes to its place when the sizes of all
// before it are. Until then it stays where it was made, and the warp goes on with another tile: tiles take times of
// their own, and who waited for those before would take as long as the slowest. Tickets are in the order of the bodies,
// so that a warp waits for such alone as have begun before it.
//
// A block shares
//
//   symbols   the tables (encode.cuh)                    all warps make them, all read
//   job       what is known of the array                 thread 0 at the start of an array; all read it
//   source    of each warp: its tile, and what words are   lane 0 writes it, the warp reads
//   waiting   of each warp: bodies that are made           lane 0 writes, the warp reads
//   shared    of each warp: what encode_rows.cuh,          each warp its own
//             own_table.cuh and lossless_costs.cuh say
//
//   barrier 1   everyone is done with the array before
//   barrier 2   the array is known, and the tables
#pragma once
#include "encode_rows.cuh"
#include "bounded.cuh"
#include "gaps.cuh"

namespace ratio {

// How arrays are cut, and what follows for a stream; by one thread.
DEV void lay_out(Header& head, const TileCompressArgs& a, u64 count) {
    head.dtype = a.common.dtype;
    head.values = a.common.values;
    head.big_endian = a.common.big_endian;
    head.step_w = 0;
    head.step_j = 0;
    Grid& g = head.grid;
    g.rank = a.tiling.rank;
    for (u32 k = 0; k < g.rank; k++) {
        g.len[k] = a.tiling.lens[k];
        g.side[k] = a.tiling.sides_log2[k];
    }
    if (g.rank == 1) {
        g.len[0] = count;
        g.side[0] = (u8)(count < 2 ? 0 : min_of(top_bit(min_of(count, 1ull << 20) - 1) + 1, (u32)TILE_LOG2));
    }
    g.make();
    const u32 extension = EXTENSION_BYTES + 8 * ((g.rank > 1 ? g.rank : 0) + head.values) + g.rank;
    head.bytes = HEADER_BYTES + (extension + ALIGN - 1) / ALIGN * ALIGN;
    head.layout();
}

// Before the tiles: the plan, an empty index, the header but for its length and checksum. Thread 0 of an array's first
// block writes plan and header, all the index.
DEV void begin_compress(const TileCompressArgs& args) {
    SHARED Header head;
    const CompressArgs& a = args.common;
    const Share share(a.batch);
    const Item item = item_of(a.batch, share.item);
    if (threadIdx.x == 0) lay_out(head, args, item.count);
    __syncthreads();
    const bool room = item.bytes >= head.bodies_at;
    if (room)
        for (u64 i = head.bytes / 16 + (u64)share.rank * blockDim.x + threadIdx.x; i < head.bodies_at / 16;
             i += (u64)share.of * blockDim.x)
            ((uint4*)item.dst)[i] = make_uint4(0, 0, 0, 0);
    if (share.rank || threadIdx.x) return;
    Slot& slot = a.batch.slots[share.item];
    Plan plan = resolve(a, item.count, slot.control);
    plan.chunks = room ? head.grid.chunks : 0;
    plan.groups = head.groups;
    plan.records_at = head.bytes;
    plan.entries_at = head.entries_at;
    plan.bodies_at = head.bodies_at;
    slot.plan = plan;
    slot.control.ticket = slot.control.slots = 0;
    slot.control.end = head.bodies_at;
    slot.control.index_sum = 0;
    slot.control.closed = slot.control.status = 0;
    if (room) {
        u64* w = (u64*)item.dst;
        const u64 flags = (a.big_endian ? FLAG_BIG_ENDIAN : 0) | (a.fast ? FLAG_FAST : 0) | FLAG_EXTENDED;
        w[0] = MAGIC48 | (u64)VERSION << 48;
        w[1] = CODEC_RATIO | a.dtype << 8 | a.mode << 16 | flags << 24 | (u64)(u16)plan.step_j << 32 |
               (u64)plan.step_w << 48;
        w[2] = item.count;
        w[3] = 0;
        w[4] = a.mode == MODE_LOSSLESS ? 0 : bits_of(a.bound);
        w[5] = bits_of(plan.range);
        w[6] = bits_of(plan.abs_bound);
        w[7] = 0;
        w += HEADER_BYTES / 8;
        const Grid& g = head.grid;
        for (u32 i = 2; i < (head.bytes - HEADER_BYTES) / 8; i++) w[i] = 0;
        w[0] = (head.bytes - HEADER_BYTES) | (u64)(1 | 1 << 8 | g.rank << 24) << 32;
        w[1] = a.values;
        w += 2;
        for (u32 k = 0; g.rank > 1 && k < g.rank; k++) *w++ = g.len[k];
        for (u32 k = 0; k < a.values; k++) *w++ = a.missing[k];
        u8* sides = (u8*)w;
        for (u32 k = 0; k < g.rank; k++) sides[k] = g.side[k];
    }
    if (plan.chunks == 0)
        seal(item.dst, plan, plan.bodies_at, 0, room ? 0 : STATUS_BUFFER_TOO_SMALL, a.batch.outcomes + share.item);
}

// The array that a block works on.
template <class T> struct Job {
    Item item;
    Slot* slot;
    Outcome* outcome;
    Plan plan;
    Header head;
    Quantizer<T> quantizer;
    Missing<T> missing;

    DEV u32* entries() const { return (u32*)(item.dst + head.entries_at); }
    DEV u64* record(u64 group) const { return (u64*)(item.dst + head.bytes + group * GROUP_BYTES); }
};

// Word i of the raw body of a tile.
template <class T> DEV u32 raw_word(const Source<T>& s, u32 i) {
    enum { SIZE = T::BITS / 8, IN_WORD = SIZE < 4 ? 4 / SIZE : 1 };
    u32 word = 0;
#pragma unroll
    for (u32 k = 0; k < IN_WORD; k++) {
        const u32 n = SIZE == 8 ? i / 2 : i * IN_WORD + k;
        if (n >= s.t.count()) break;
        const typename T::Word v = s.element(n % s.t.lx, n / s.t.lx % s.t.ly, n / s.t.lx / s.t.ly);
        word |= SIZE == 8 ? (u32)(v >> (32 * (i & 1) & (8 * sizeof(v) - 1))) : (u32)v << (8 * SIZE * k & 31);
    }
    return word;
}

// Copies a body to its place; what this lane has of its keyed sum.
template <class T> SELDOM u64 put_raw(const Source<T>& s, u32* to, u32 words) {
    u64 sum = 0;
    for (u32 i = threadIdx.x & 31; i < words; i += 32) {
        const u32 word = raw_word(s, i);
        to[i] = word;
        sum += (u64)word * key_of(i);
    }
    return sum;
}
DEV u64 put_body(const u8* body, u32* to, u32 words) {
    const u16* from = (const u16*)body;
    u64 sum = 0;
#pragma unroll 4
    for (u32 i = threadIdx.x & 31; i < words; i += 32) {
        const u32 word = from[2 * i] | (u32)from[2 * i + 1] << 16;
        to[i] = word;
        sum += (u64)word * key_of(i);
    }
    return sum;
}

// The body of a tile whose words are at their places.
template <class T, class Form> DEV Made body_of(Source<T>& s, u32 symbols, u8* end, u32 limit) {
    typedef typename Form::Word Word;
    const Kept<Word> kept = {*s.grid, (const Word*)s.words};
    const Choice<Word> choice = choose<T, Form>(s, kept);
    measure_from(s, choice.middle);
    return encode<T, Word>(s, symbols, choice, end, limit);
}
template <class T, class Words>
DEV ByRows<T> body_by_rows(Source<T>& s, u32 symbols, const Words& words, u8* end, u32 limit) {
    return uniform(s.grid->a > GROUP_LOG2) ? encode_rows<T, true>(s, symbols, words, s.plane, end, limit)
                                           : encode_rows<T, false>(s, symbols, words, s.plane, end, limit);
}
// The same of elements' bits, from which `drop` bits are rounded off.
template <class T>
SELDOM Made body_of_bits(Source<T>& s, u32 symbols, typename T::Word any, u32 drop, u8* end, u32 limit) {
    mean(s, BITS, zeros_below<T>(any), drop);
    if constexpr (T::EXPONENT != 0 && T::BITS <= 32) {
        if (uniform(by_rows(s))) return body_by_rows(s, symbols, ElementBits<T>(s), end, limit).made;
    }
    take_in<T, AnyWords<T>>(s);
    return body_of<T, AnyWords<T>>(s, symbols, end, limit);
}
// Brings a body to its place in the stream and enters it there. `body`: null for a raw one. For a whole warp.
template <class T>
SELDOM void put_in(const Job<T>& job, const Source<T>& s, u64 chunk, u32 entry, const u8* body, u64 units_before) {
    const u32 lane = threadIdx.x & 31, units = entry & WIDE_SIZE_MASK, k = (u32)(chunk % GROUP_CHUNKS);
    const u64 at = job.head.bodies_at + units_before * UNIT, end = at + (u64)units * UNIT;
    Control& control = job.slot->control;
    u64* record = job.record(chunk / GROUP_CHUNKS);
    if (lane == 0 && k == 0) store_relaxed(&record[0], at);
    u64 sum = 0;
    if (uniform(end <= job.item.bytes)) {
        u32* to = (u32*)(job.item.dst + at);
        sum = warp_sum(uniform(body == nullptr) ? put_raw(s, to, units) : put_body(body, to, units));
    } else {
        fail(&control, STATUS_BUFFER_TOO_SMALL);
    }
    bool last = false;
    if (lane == 0) {
        add_relaxed(&record[1], body_checksum(sum, k));
        add_relaxed(&control.index_sum, (u64)entry * key_of((u32)(job.head.entries_at / 4 + chunk)));
        if (chunk + 1 == job.plan.chunks) control.end = end;
        last = count_in(&control.closed, 1) + 1 == (u32)job.plan.chunks;
    }
    if (!uniform(__any_sync(FULL, last))) return;
    u64 all = 0;
    for (u64 g = lane; g < job.head.groups; g += 32)
        all += keyed(load_relaxed((const uint4*)job.record(g)), key_of((u32)((job.head.bytes + g * GROUP_BYTES) / 4)));
    all = warp_sum(all);
    if (lane == 0)
        seal(job.item.dst, job.plan, load_relaxed(&control.end), all + load_relaxed(&control.index_sum),
             load_relaxed(&control.status), job.outcome);
}

// A body that is made, while sizes before it are not known.
struct Waiting {
    u64 chunk;
    u32 entry;
    u32 from, to;    // where it begins and ends, as bytes in front of the room's end
};
#define MOST_WAITING 16

// A warp's own memory, behind what it has for the words of a tile: bodies that are made wait in it, from its end on,
// for their places in the stream, while the warp goes on with the next tile.
template <class T> struct Room {
    const Job<T>& job;
    const Source<T>& s;
    Waiting* waiting;       // in shared memory; lane 0 writes
    u8 *low, *end, *top;    // a body is made below `top`
    u8* floor;              // and above this
    u32 first, count;
    Mark known;

    // Brings the oldest body to its place, if that is known or can be waited for.
    template <bool WAIT> DEV bool put_first() {
        const Waiting w = waiting[first % MOST_WAITING];
        if (!count_up_to<WAIT>(job, known, w.chunk, threadIdx.x & 31)) return false;
        put_in(job, s, w.chunk, w.entry, end - w.from, known.units);
        known = {w.chunk + 1, known.units + (w.entry & WIDE_SIZE_MASK)};
        first++;
        count--;
        return true;
    }
    DEV void put_ready() {
        while (uniform(count > 0))
            if (!uniform(put_first<false>())) break;
    }
    DEV void clear() {
        while (uniform(count > 0)) put_first<true>();
        top = end;
    }
    // Makes room for a body of so many bytes. Behind the room's beginning comes its end, where the oldest were.
    DEV void make(u32 bytes) {
        for (;;) {
            floor = low;
            if (uniform(count == 0)) {
                top = end;
                return;
            }
            u8* oldest = end - waiting[first % MOST_WAITING].to;
            const bool above = top >= oldest;
            if (above) floor = oldest;
            if (uniform(count < MOST_WAITING && (u64)(top - floor) >= bytes)) return;
            if (uniform(!above && count < MOST_WAITING))
                top = end;
            else
                put_first<true>();
        }
    }
    // Publishes the size of the body of a tile, which others may wait for; it goes to its place when that is known.
    DEV void enter(u64 chunk, const Made& made, u32 raw_bytes) {
        const bool is_raw = uniform(made.bytes == NO_BODY);
        const u32 lane = threadIdx.x & 31,
                  entry = (is_raw ? raw_bytes : made.bytes) / UNIT | (is_raw ? KIND_RAW : made.kind) << WIDE_KIND_SHIFT;
        if (lane == 0) store_relaxed(job.entries() + chunk, entry);
        if (is_raw) {
            clear();
            count_up_to<true>(job, known, chunk, lane);
            put_in(job, s, chunk, entry, nullptr, known.units);
            known = {chunk + 1, known.units + (entry & WIDE_SIZE_MASK)};
            return;
        }
        const u32 from = (u32)(end - made.body), to = (u32)(end - top);
        if (lane == 0) {
            const Waiting w = {chunk, entry, from, to};
            waiting[(first + count) % MOST_WAITING] = w;
        }
        __syncwarp();
        count++;
        top = end - (from + 15) / 16 * 16 - 16;
        put_ready();
    }
};

// The body of a tile's bins, of any tile and any bins. Bins that are all below 2^20 are computed in few instructions,
// and have 32 bits.
template <class T> SELDOM Made body_of_any_bins(Source<T>& s, u32 symbols, Survey<T>& all, u8* end, u32 limit) {
    if constexpr (T::BITS >= 32) {
        if (uniform((u64)(s.base + FEW_BINS) < 2 * FEW_BINS)) {
            all = take_in<T, FewBins<T>>(s);
            if (!uniform(all.exact)) return body_of<T, FewBins<T>>(s, symbols, end, limit);
        }
    }
    all = take_in<T, AnyWords<T>>(s);
    return body_of<T, AnyWords<T>>(s, symbols, end, limit);
}
// The same, by rows where that can be done; `all` becomes what is known of the tile's elements.
template <class T> DEV Made body_of_bins(Source<T>& s, u32 symbols, Survey<T>& all, Room<T>& room, u32 limit) {
    mean(s, BINS, 0, 0);
    if constexpr (T::EXPONENT != 0) {
        const NearBins<T> bins(s);
        if (uniform(by_rows(s) && !bins.beyond)) {
            const ByRows<T> rows = body_by_rows(s, symbols, bins, room.top, limit);
            all = rows.all;
            if (!uniform(rows.beyond)) return rows.made;
        }
    }
    return body_of_any_bins(s, symbols, all, room.top, limit);
}

// The body of a tile by its bins, or by its elements' bits that are rounded; NO_BODY are its bytes where these cannot
// be.
template <class T>
DEV Made body_within_bound(Source<T>& s, u32 symbols, const Plan& plan, Survey<T>& all, Room<T>& room, u32 limit) {
    if (uniform(plan.step_w)) return body_of_bins(s, symbols, all, room, limit);
    mean(s, BITS, 0, plan.drop);
    all = survey(s);
    if (uniform(all.exact)) return {KIND_RAW, NO_BODY, 0, nullptr};
    return body_of_bits(s, symbols, all.any, plan.drop, room.top, limit);
}

// The shortest body of a tile, by the rules of src/codec/ratio/encode.rs; NO_BODY are its bytes where it is to be raw.
// `collides`: whether an element would come back as a missing value, so that bits are kept; `plane`: how many bytes are
// to come in front.
template <class T>
SELDOM Made shortest(Source<T>& s, u32 symbols, const Plan& plan, Room<T>& room, u32 raw_bytes, u32 collides,
                     u32 plane) {
    const bool has_bins = uniform(plan.step_w != 0),
               is_bounded = T::EXPONENT && uniform((has_bins || plan.rounded) && !collides);
    Survey<T> all;
#pragma unroll 1
    for (bool again = false; is_bounded; again = true) {
        const Made made = body_within_bound(s, symbols, plan, all, room, raw_bytes);
        const bool there = uniform(made.bytes != NO_BODY);
        if (again || (there && !uniform(forms_may_be_smaller(s, all, plan, made.bytes)))) return made;
        // The second body is put in front of the first, if there is room for both.
        const bool both = there && (u64)(made.body - room.floor) >= made.bytes + plane + TILE_BODY_SLACK;
        u8* front = uniform(both) ? (u8*)((u64)made.body & ~15ull) - 16 : room.top;
        const u32 limit = min_of(raw_bytes, made.bytes);
        const Made other = lossless_body(s, symbols, has_bins, front, limit, most_cost(limit));
        if (uniform(other.bytes != NO_BODY || !there)) return other;
        if (uniform(both)) return made;
    }
    return lossless_body(s, symbols, has_bins, room.top, raw_bytes, ~0u);
}

// Points a source at the array. By one thread.
template <class T> DEV void read_array(Source<T>& s, const Job<T>& job) {
    const Grid& g = job.head.grid;
    s.src = job.item.src;
    s.step[0] = g.stride[g.x];
    s.step[1] = g.y < MAX_RANK ? g.stride[g.y] : 0;
    s.step[2] = g.z < MAX_RANK ? g.stride[g.z] : 0;
    s.big_endian = job.head.big_endian;
    s.copied = 0;
}

// The body of a tile; NO_BODY are its bytes where it is to be raw.
template <class T> DEV Made body_of_tile(const Job<T>& job, Source<T>& s, u32 symbols, Room<T>& room, u32 raw_bytes) {
    Look found = {0, 0, 0};
    u32 plane = 0;
    if constexpr (T::EXPONENT > 0) {
        if (uniform(job.missing.count)) plane = take_out(s, job.missing, found);
        if (uniform(found.only)) return missing_tile<T>(job.missing.value[found.only - 1], room.top);
    }
    const Made made = shortest(s, symbols, job.plan, room, raw_bytes, found.collides, plane);
    if (!uniform(plane)) return made;
    __syncwarp();
    if ((threadIdx.x & 31) == 0) read_array(s, job);
    return put_plane(s, made, plane, raw_bytes);
}

#define ENCODE_WARPS 16

template <class T> DEV void compress(const TileCompressArgs& args) {
    SHARED Job<T> job;
    SHARED Source<T> sources[ENCODE_WARPS];
    SHARED Waiting waiting[ENCODE_WARPS][MOST_WAITING];
    SHARED_BYTES(shared);
    const CompressArgs& a = args.common;
    const Batch& batch = a.batch;
    make_symbols(*(Symbols*)shared);
    const u32 symbols = shared_address(shared), of_block = TILE_SYMBOL_BYTES + TILE_COST_BYTES;
    make_costs(symbols);
    const u32 lane = threadIdx.x & 31, warp = uniform(threadIdx.x >> 5);
    const u64 own = (u64)blockIdx.x * (blockDim.x / 32) + warp;
    u8* end = args.bodies + (own + 1) * args.room - 16;
    Source<T>& s = sources[warp];
    for (u64 work_slot = blockIdx.x; uniform(work_slot < batch.work_slots); work_slot += gridDim.x) {
        __syncthreads();
        if (threadIdx.x < 32) {
            const u32 i = array_of(batch, work_slot, lane);
            if (lane == 0) {
                job.item = item_of(batch, i);
                job.slot = batch.slots + i;
                job.outcome = batch.outcomes + i;
                job.plan = job.slot->plan;
                lay_out(job.head, args, job.item.count);
                job.quantizer.set(job.plan.step_w, job.plan.step_j);
                job.quantizer.set_bound(job.plan.abs_bound);
                job.missing.set(a, job.plan, job.quantizer);
            }
        }
        __syncthreads();
        Room<T> room = {job, s, waiting[warp], args.bodies + own * args.room + args.words, end, end, end, 0, 0, {0, 0}};
        for (;;) {
            const u64 chunk = __shfl_sync(FULL, count_if(lane == 0, &job.slot->control.ticket), 0);
            if (uniform(chunk >= job.plan.chunks || own >= args.warps)) break;
            if (lane == 0) {
                read_array(s, job);
                s.grid = &job.head.grid;
                s.t = tile_of(job.head.grid, chunk);
                s.is_float = job.head.is_float;
                s.quantizer = job.quantizer;
                s.words = args.bodies + own * args.room + lossless_bytes<T>();
                s.plane = symbols + of_block + warp * TILE_ENCODE_WARP_BYTES;
                s.counts = s.plane + TILE_PLANE_BYTES + TILE_STAGE_BYTES;
            }
            __syncwarp();
            const u32 raw_bytes = job.head.raw_bytes(s.t.count());
            room.make(raw_bytes + TILE_BODY_SLACK);
            const Made made = body_of_tile<T>(job, s, symbols, room, raw_bytes);
            room.enter(chunk, made, raw_bytes);
            __syncwarp();    // all are done with the source
        }
        room.clear();
    }
}

}    // namespace ratio
