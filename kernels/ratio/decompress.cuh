// Stream → array. Warps take tiles by ticket, and each restores its own from end to end, so that no warp waits for
// another one. What steers an address is checked before it is used; checksums are compared at the end, so a stream that
// fails them has been decoded to harmless nonsense by then.
//
// A block shares TILE_BLOCK_BYTES and TILE_WARP_BYTES of each warp, as long as the host says:
//
//   slots    the tables of classes (decode.cuh)     all warps make them, all read
//   stream   what is known of the array             thread 0 at the start of an array; all read it
//   ring     words of a body on their way (decode.cuh)     each warp its own
//   sums     sums over planes or rows (sums.cuh)           each warp its own
//   stages   a group on its way between lanes (rows.cuh)   each warp its own
//   own      what is known of its tile                     lane 0 writes it, the warp reads
//   table    the slots of its tile's own table             each warp its own
//
//   barrier 1   everyone is done with the array before
//   barrier 2   the stream is known, and the tables
//   barrier 3   all warps have left the array; then: thread 0 hands in what the block did
//
// A tile whose sums need more than 32 bits, or more memory than a warp shares, is decoded anew into a place of memory
// that the warp takes for so long (scratch), as is one that is predicted by lags. A tile with a form (decode_forms.cuh)
// goes by symbols, by rows, in pieces or in memory, as packed_with_form says.
#pragma once
#include "decode_rows.cuh"
#include "decode_symbols.cuh"

namespace ratio {

// The number of a lane's value j among the elements of a tile; `place`: that of the first.
DEV u32 number_in_tile(const Grid& g, const Tile& t, Quad q, u32 place, u32 j) {
    q.x += j;
    if (g.a < 2) q = place_of(g, t, place + j);
    return (q.z * t.ly + q.y) * t.lx + q.x;
}

// Decodes a packed body of any form but those of symbols. STREAMING: in registers, and not those of lags, nor of words
// of 64 bits, but for the plain one; else into `place`. Slots, ring and sums are addresses in shared memory. For a
// whole warp.
template <class T, class Form, bool STREAMING>
DEV Verdict packed(const Stream<T>& s, const Own<T>& own, const u8* body, u32 bytes, u32 slots, u32 ring,
                   typename Form::Word* place) {
    typedef typename T::Word Word;
    const Grid& g = s.head.grid;
    const Tile& t = own.t;
    const Target& to = own.to;
    const u32 lane = threadIdx.x & 31, states_at = uniform(own.side.states_at);
    const TileForm form = TileForm::of(states_at ? uniform(own.side.form) : 0);
    const bool by_lags = form.prediction == BY_LAGS;
    const Prefix<T> p = read_prefix<T>(s.head, body, bytes, table_at(ring), lane, states_at);
    if (!uniform(p.good)) return BAD;
    const u32 groups = g.groups();
    Coder c;
    c.x = p.state;
    c.threshold = p.change == NEVER ? 0 : LOW;
    c.begin(p.words, s.src + s.head.stream_bytes, ring, lane);
    const u32 classes = read_classes(c, groups, groups_that_exist(g, t, lane), lane);
    Sums<u32, u32> add(g, ring + TILE_RING_BYTES, lane);
    LowBits low;
    if (uniform(form.low)) low.begin(own.side, body, bytes);
    Met met = {0, 0};
    bool good = true;
    const bool bins = s.head.step_w && !p.exact, has_own = uniform(p.own);
#pragma unroll 1
    for (u32 i = 0; uniform(i < groups); i++) {
        if (uniform(i == p.change)) good &= c.change();
        const u32 cls = __shfl_sync(FULL, classes, i / BATCH_GROUPS) >> (4 * (i % BATCH_GROUPS)) & 15;
        const Quad q = quad_of(g, t, i, lane);
        typename Form::Word d[QUAD] = {0, 0, 0, 0};
        if (uniform(cls)) {
            const u32 table = table_of(slots, table_at(ring), has_own, cls);
            if (uniform(__all_sync(FULL, q.has == 15)))
                decode_group<T, Form, true>(c, table, 15, lane, d, met);
            else
                decode_group<T, Form, false>(c, table, q.has, lane, d, met);
            if (STREAMING && T::BITS == 64 && uniform(__any_sync(FULL, met.far))) return AGAIN;
        }
        if (uniform(form.low)) {
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) d[j] = Form::code(d[j]);
            low.complete(d, q.has);
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) d[j] = Form::residual(T::BITS < 32 ? d[j] & low_ones(T::BITS) : d[j]);
        }
        if constexpr (STREAMING) {
            add.add(d, p.set, q, i, lane);
            Word v[QUAD];
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) v[j] = (Word)((i64)(i32)d[j] + (typename T::Signed)p.base);
            if (uniform(states_at))
                good &= from_words<T>(form, own.side, body, s.head.is_float, q.has, v);
            else
                restore<T>(s.quantizer, bins, s.head.is_float, p.shift, v);
            put_quad<T>(s, to, t, q, i, lane, v);
        } else {
            const u32 first = i * GROUP + lane * QUAD;
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) {
                const bool kept = by_lags ? q.has >> j & 1 : first + j < g.capacity();
                if (kept) place[by_lags ? number_in_tile(g, t, q, first, j) : first + j] = d[j];
            }
        }
    }
    if (uniform(p.change == groups)) good &= c.change();
    if (uniform(form.low)) good &= low.taken == own.side.numbers;
    if (!uniform(__all_sync(FULL, good)) || !uniform(ended_well(c, body + bytes))) return BAD;
    if constexpr (STREAMING) {
        const u64 sum = T::BITS == 64 ? warp_sum((u64)met.sum) : 0;
        return uniform(__any_sync(FULL, met.far) || sum >> 31) ? AGAIN : GOOD;
    } else {
        __syncwarp();
        if (uniform(by_lags))
            undo_lags(body, own.side.lags_at, t.count(), place);
        else
            add_all(g, place, p.set, lane);
#pragma unroll 1
        for (u32 i = 0; uniform(i < groups); i++) {
            const Quad q = quad_of(g, t, i, lane);
            Word v[QUAD];
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) {
                const u32 at = i * GROUP + lane * QUAD + j;
                const bool kept = by_lags ? q.has >> j & 1 : at < g.capacity();
                v[j] = (Word)(kept ? place[by_lags ? number_in_tile(g, t, q, at - j, j) : at] : 0) + p.base;
            }
            if (uniform(states_at))
                good &= from_words<T>(form, own.side, body, s.head.is_float, q.has, v);
            else
                restore<T>(s.quantizer, bins, s.head.is_float, p.shift, v);
            put_quad<T>(s, to, t, q, i, lane, v);
        }
        __syncwarp();
        return uniform(__all_sync(FULL, good)) ? GOOD : BAD;
    }
}

// The same in registers.
template <class T>
SELDOM Verdict packed_in_pieces(const Stream<T>& s, const Own<T>& own, const u8* body, u32 bytes, u32 slots, u32 ring) {
    return packed<T, Narrow, true>(s, own, body, bytes, slots, ring, nullptr);
}

// A place of memory that is this warp's until it is done; which one. For a whole warp.
template <class T> SELDOM u32 take_place(const Stream<T>& s, u64 chunk) {
    u32 mine = (u32)(chunk % s.place_count);
    if ((threadIdx.x & 31) == 0)
        while (!take_word(&s.busy[mine])) {
            mine = (mine + 1) % s.place_count;
            YIELD();
            hold_back();
        }
    mine = __shfl_sync(FULL, mine, 0);
    __syncwarp();
    return mine;
}
template <class T> DEV void give_place(const Stream<T>& s, u32 mine) {
    __syncwarp();
    if ((threadIdx.x & 31) == 0) give_word(&s.busy[mine]);
}
template <class T> DEV void* place_at(const Stream<T>& s, u32 mine) { return s.places + (u64)mine * TILE_PLACE_BYTES; }

// The same there.
template <class T>
SELDOM Verdict packed_in_memory(const Stream<T>& s, const Own<T>& own, const u8* body, u32 bytes, u32 slots, u32 ring) {
    typedef typename AllBits<T::BITS>::Form Form;
    const u32 mine = take_place(s, own.t.chunk);
    const Verdict verdict =
        packed<T, Form, false>(s, own, body, bytes, slots, ring, (typename Form::Word*)place_at(s, mine));
    give_place(s, mine);
    return verdict;
}

// A raw body, or a constant one. For a whole warp.
template <class T> SELDOM bool stored(const Stream<T>& s, const Own<T>& own, const u8* body, u32 bytes, u32 kind) {
    enum { SIZE = T::BITS / 8 };
    const Grid& g = s.head.grid;
    const Tile& t = own.t;
    const u32 lane = threadIdx.x & 31, used = kind == KIND_RAW ? t.count() * SIZE : SIZE, at = used + lane;
    const bool good = __all_sync(FULL, at >= bytes || body[at] == 0);
    if (!uniform(own.to.some)) return good;
#pragma unroll 1
    for (u32 i = 0; uniform(i < g.groups()); i++) {
        const Quad q = quad_of(g, t, i, lane);
        typename T::Word v[QUAD];
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            const u32 n = kind == KIND_RAW ? number_in_tile(g, t, q, i * GROUP + lane * QUAD, j) : 0;
            v[j] = q.has >> j & 1 ? element_at<T>(body + n * SIZE) : 0;
        }
        put_quad<T>(s, own.to, t, q, i, lane, v);
    }
    return good;
}

DEV u32 read32(const u8* p) { return p[0] | p[1] << 8 | p[2] << 16 | (u32)p[3] << 24; }
template <class T> DEV void put_value(const Stream<T>& s, const Own<T>& own, u32 n, u64 mask, u64 bits) {
    const Tile& t = own.t;
    if (!own.to.some) return;
    typename T::Word v = (typename T::Word)bits;
    if (s.head.big_endian) v = swapped<T>(v);
#pragma unroll 1
    for (; mask && n < t.count(); mask >>= 1, n++) {
        if (!(mask & 1)) continue;
        u64 place;
        const u32 x = n % t.lx, y = n / t.lx % t.ly, z = n / t.lx / t.ly;
        if (find(s, own.to, t, x, y, z, place)) put<T>(own.to.dst + place * (T::BITS / 8), v);
    }
}

// The plane of a masked body (docs/format.md §5), and the missing values over what was restored. Lane b has block b of
// the plane, and goes through its bits 64 by 64, of all values at a time. For a whole warp.
template <class T> SELDOM bool put_missing(const Stream<T>& s, const Own<T>& own, const u8* body, u32 plane) {
    const u32 lane = threadIdx.x & 31, which = body[0] & 15, capacity = s.head.grid.capacity();
    const u32 block = capacity / 32 > 64 ? capacity / 32 : 64, words = block / 64,
              blocks = (capacity + block - 1) / block;
    u32 at = 4, first[MAX_MISSING], flags[MAX_MISSING], changes[MAX_MISSING];
    bool good = true;
    __syncwarp();
#pragma unroll
    for (u32 k = 0; k < MAX_MISSING; k++) {
        first[k] = flags[k] = changes[k] = 0;
        if (!uniform(which >> k & 1)) continue;
        if (at + 8 > plane) return false;
        const u32 starts = read32(body + at), mixed = read32(body + at + 4), beyond = ~low_ones(blocks);
        at += 8;
        if ((starts | mixed) == 0 || (starts | mixed) & beyond || at + words * __popc(mixed) > plane) return false;
        first[k] = starts >> lane & 1;
        u32 own_bytes = 0;
        if (mixed >> lane & 1) {
            flags[k] = at + words * __popc(mixed & low_ones(lane));
            for (u32 w = 0; w < words; w++) own_bytes += __popc((u32)body[flags[k] + w]);
            good &= own_bytes != 0;
        }
        at += words * __popc(mixed);
        const u32 up_to = warp_running_sum(own_bytes);
        changes[k] = at + up_to - own_bytes;
        at += __shfl_sync(FULL, up_to, 31);
        if (at > plane) return false;
    }
    good &= plane - at < UNIT && (at + lane >= plane || body[at + lane] == 0);
    if (lane < blocks)
#pragma unroll 1
        for (u32 w = 0; w < words; w++) {
            u64 seen = 0;
#pragma unroll
            for (u32 k = 0; k < MAX_MISSING; k++) {
                if (!(which >> k & 1)) continue;
                u64 mask = 0;
                const u32 flag = flags[k] ? body[flags[k] + w] : 0;
#pragma unroll 1
                for (u32 j = 0; j < 8; j++)
                    if (flag >> j & 1) {
                        const u32 change = body[changes[k]++];
                        good &= change != 0;
                        mask |= (u64)change << (8 * j);
                    }
                if (w == 0) good &= !(mask & 1);
#pragma unroll
                for (u32 j = 1; j < 64; j *= 2) mask ^= mask << j;
                if (first[k]) mask = ~mask;
                first[k] = (u32)(mask >> 63);
                good &= !(mask & seen);
                seen |= mask;
                put_value(s, own, lane * block + w * 64, mask, s.head.missing[k]);
            }
        }
    return __all_sync(FULL, good);
}

// Whether a tile's body is decoded by rows; its sums are carried on in shared memory, or in a place.
template <class T> DEV bool is_by_rows(const Stream<T>& s, const Own<T>& own, bool in_place) {
    const Grid& g = s.head.grid;
    return own.to.whole && (in_place || sums_fit(g)) && rows_fit(g, own.to.step) && !s.head.big_endian &&
           ((u64)own.to.dst & (T::BITS / 8 - 1)) == 0;
}

// Decodes a packed body by rows; those whose words have 64 bits carry their sums on in a place.
template <class T>
DEV Verdict rows_with_form(const Stream<T>& s, const Own<T>& own, const u8* body, u32 bytes, u32 slots, u32 ring) {
    typedef typename AllBits<T::BITS>::Form Form;
    const u32 stages = ring + TILE_RING_BYTES + TILE_SUM_BYTES, mine = T::BITS == 64 ? take_place(s, own.t.chunk) : 0;
    void* const place = place_at(s, mine);
    const Verdict verdict = uniform(s.head.grid.a > GROUP_LOG2)
                                ? packed_rows<T, Form, true, true>(s, own, body, bytes, slots, ring, stages, place)
                                : packed_rows<T, Form, false, true>(s, own, body, bytes, slots, ring, stages, place);
    if (T::BITS == 64) give_place(s, mine);
    return verdict;
}

// Decodes a packed body of any form. For a whole warp.
template <class T>
SELDOM bool packed_with_form(const Stream<T>& s, Own<T>& own, const u8* body, u32 bytes, u32 slots, u32 ring) {
    enum { SIZE = T::BITS / 8 };
    const u32 lane = threadIdx.x & 31;
    if (!uniform(own.to.some)) return true;
    if (!uniform(read_side<T>(s.head, own.t.count(), body, bytes, table_at(ring), own.side))) return false;
    const TileForm form = TileForm::of(uniform(own.side.form));
    if (uniform(form.prediction == BY_SYMBOLS)) {
        Verdict verdict = AGAIN;
        if (uniform(form.order < DECIMALS && Quads::fit<T>(s.head.grid, own.t, own.to)))
            verdict = packed_quads<T>(s, own, body, bytes, ring);
        if (uniform(verdict == AGAIN)) verdict = packed_symbols<T>(s, own, body, bytes, slots, ring) ? GOOD : BAD;
        if (!uniform(verdict == GOOD)) return false;
    } else if (uniform(form.prediction == BY_AXES && is_by_rows(s, own, T::BITS == 64))) {
        if (rows_with_form(s, own, body, bytes, slots, ring) != GOOD) return false;
    } else if (uniform(form.prediction == BY_AXES && T::BITS <= 32 && sums_fit(s.head.grid))) {
        if (packed_in_pieces<T>(s, own, body, bytes, slots, ring) != GOOD) return false;
    } else {
        if (packed_in_memory<T>(s, own, body, bytes, slots, ring) != GOOD) return false;
    }
    // Elements that are no decimals go over what was restored.
    __syncwarp();
    const u8* const places = body + own.side.list_at;
#pragma unroll 1
    for (u32 i = lane; i < own.side.odd; i += 32)
        put_value(s, own, read16(places + 2 * i), 1, element_in_body<T>(places + 2 * own.side.odd + i * SIZE));
    __syncwarp();
    return true;
}

// Restores a tile from its body; false if that is not valid. For a whole warp.
template <class T>
DEV bool restore_tile(const Stream<T>& s, Own<T>& own, const u8* body, u32 bytes, u32 kind, u32 slots, u32 ring) {
    u32 plane = 0;
    if (T::EXPONENT && uniform(kind == KIND_MASKED)) {
        const u32 head = *(const u32*)body, which = head & 15, element = (T::BITS / 8 + UNIT - 1) / UNIT * UNIT;
        plane = (head >> 16) * UNIT;
        kind = head >> 6 & 3;
        if (which == 0 || which >> s.head.values || head & 0xff30 || plane < UNIT || plane >= bytes) return false;
        if (kind != KIND_PACKED && (kind != KIND_CONSTANT || bytes - plane != element)) return false;
    }
    bool good;
    // Words of 64 bits seldom have residuals of 32 where every bit is kept.
    const bool has_form = kind == KIND_PACKED && bytes - plane > HEAD_BYTES &&
                          (!s.head.step_w || body[plane] >> 3 & 1) &&
                          (T::BITS == 64 || read16(body + plane + HEAD_BYTES) >> 6);
    if (uniform(has_form)) {
        good = packed_with_form<T>(s, own, body + plane, bytes - plane, slots, ring);
    } else if (uniform(kind == KIND_PACKED)) {
        Verdict verdict = AGAIN;
        const Grid& g = s.head.grid;
        const bool by_rows = is_by_rows(s, own, false);
        const u32 stages = ring + TILE_RING_BYTES + TILE_SUM_BYTES;
        if (uniform(by_rows && g.a > GROUP_LOG2))
            verdict =
                packed_rows<T, Narrow, true, false>(s, own, body + plane, bytes - plane, slots, ring, stages, nullptr);
        else if (uniform(by_rows))
            verdict =
                packed_rows<T, Narrow, false, false>(s, own, body + plane, bytes - plane, slots, ring, stages, nullptr);
        else if (uniform(sums_fit(g) && own.to.some))
            verdict = packed_in_pieces<T>(s, own, body + plane, bytes - plane, slots, ring);
        if (uniform(verdict == AGAIN))
            verdict = own.to.some ? packed_in_memory<T>(s, own, body + plane, bytes - plane, slots, ring) : GOOD;
        good = verdict == GOOD;
    } else {
        good = stored<T>(s, own, body + plane, bytes - plane, kind);
    }
    if (T::EXPONENT && uniform(plane && good && own.to.some)) good = put_missing<T>(s, own, body, plane);
    return good;
}

// Whether anything of a group of tiles is wanted. For a whole warp.
template <class T> DEV bool group_is_wanted(const Stream<T>& s, u64 group, u32 lane) {
    bool some = false;
    for (u32 k = lane; k < GROUP_CHUNKS; k += 32) {
        const u64 chunk = group * GROUP_CHUNKS + k;
        if (chunk < s.head.grid.chunks) some |= Target(s, tile_of(s.head.grid, chunk)).some != 0;
    }
    return __any_sync(FULL, some);
}

// Works from one of an array's work slots. For a whole block; shared: what warps have of their own.
template <class T>
DEV void decompress_one(const Stream<T>& s, Own<T>& own, u32 slots, u32 ring, u64* disagreements, u64 work_slot) {
    const u32 lane = threadIdx.x & 31, warp = uniform(threadIdx.x >> 5);
    const u64 chunks = s.head.grid.chunks;
    const bool all = !s.wanted.boxed && s.wanted.count == s.head.grid.count;
    bool good = check_index(s.src, s.head, s.control, work_slot, s.work_slots);
    u64 disagreement = 0;
    u64 group = ~0ull;
    bool is_wanted = true;
    const bool any = s.wanted.boxed || s.wanted.count > 0;
    for (;;) {
        const u64 chunk = __shfl_sync(FULL, count_if(lane == 0, &s.control->ticket), 0);
        if (uniform(chunk >= chunks || !any)) break;
        if (!uniform(all) && chunk / GROUP_CHUNKS != group) {
            group = chunk / GROUP_CHUNKS;
            is_wanted = group_is_wanted(s, group, lane);
        }
        if (!uniform(is_wanted)) continue;
        const WideBody body = locate(s.src, s.head, chunk, lane);
        if (!uniform(body.bytes)) {
            good = false;
            continue;
        }
        const u8* at = s.src + body.at;
        const u64 sum = warp_sum(keyed_sum(at, body.bytes, lane));
        disagreement += disagreement_of(s.src, s.head, chunk, sum);
        if (lane == 0) {
            own.t = tile_of(s.head.grid, chunk);
            own.to = Target(s, own.t);
            own.side.states_at = own.side.form = 0;
        }
        __syncwarp();
        good &= restore_tile<T>(s, own, at, body.bytes, body.kind, slots, ring);
        __syncwarp();    // all are done with what is kept of the tile
    }
    if (!good && lane == 0) fail(s.control, STATUS_CORRUPT);
    if (lane == 0) disagreements[warp] = disagreement;
    __syncthreads();
    if (threadIdx.x) return;
    for (u32 w = 1; w < blockDim.x / 32; w++) disagreement += disagreements[w];
    const u64 bytes = s.wanted.boxed ? 0 : s.wanted.count * s.head.element_bytes;
    close(s.control, s.src, s.head, bytes, disagreement, s.outcome, s.work_slots);
}

template <class T> DEV void decompress(const TileDecompressArgs& a) {
    SHARED_BYTES(shared);
    SHARED Stream<T> stream;
    SHARED u64 disagreements[32];
    u8* own = (u8*)shared + TILE_BLOCK_BYTES + uniform(threadIdx.x >> 5) * TILE_WARP_BYTES;
    static_assert(sizeof(Own<T>) <= TILE_OWN_BYTES && TILE_TABLE_BYTES == 4u << TABLE_BITS,
                  "what the host reckons with");
    make_tables((u32*)shared);
    const u32 lane = threadIdx.x & 31;
    const Batch& batch = a.common.batch;
    for (u64 work_slot = blockIdx.x; uniform(work_slot < batch.work_slots); work_slot += gridDim.x) {
        __syncthreads();    // everyone is done with the array before
        if (threadIdx.x < 32) {
            const u32 i = array_of(batch, work_slot, lane);
            if (lane == 0) stream.open(a, i);
        }
        __syncthreads();
        if (stream.status == 0)
            decompress_one(stream, *(Own<T>*)(own + TILE_RING_BYTES + TILE_SUM_BYTES + TILE_STAGE_BYTES),
                           shared_address(shared), shared_address(own), disagreements, work_slot - stream.first);
        else if (work_slot == stream.first && threadIdx.x == 0)
            report(stream.outcome, 0, stream.status);
    }
}

}    // namespace ratio
