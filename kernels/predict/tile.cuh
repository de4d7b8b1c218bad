// Twin: src/codec/predict/body/decode.rs
// One warp, one tile: what a packed body says, checked, and its codes (docs/reference/codecs/predict.md §3 to §6, §8),
// which come to stand in global memory for the block that restores the tile (restore.cuh).
#pragma once
#include "../common/plan.cuh"
#include "target.cuh"

namespace predict {

enum Map : u32 { PLAIN, ON_LATTICE, MULTIPLES, EXACT };
enum State : u32 { NOTHING, STORED, PACKED };

// What is known of every packed tile, in the shared memory of a block.
template <class T> struct Found {
    Tile t;
    Target to;
    const u8* body;    // behind the plane of missing values
    u32 bytes, predictor;
    u32 narrow;    // codes have 16 bits
    // Patches: how many, and where they stand.
    u32 corrections, exceptions, gaps_at, values_at, more_gaps_at, elements_at, differ;
};
// What a block knows of a tile besides.
template <class T> struct Own : Found<T> {
    u32 kind, state;
    u32 plane, mask;    // bytes of the plane of missing values, 0 without one; and the body's kind
    u32 set, map, is_bits;
    typename T::Word base;
    Side side;
};

// Goes through numbers of elements below n, which stand as gaps from p on, of which `there` bytes may be read: shows
// the place among them and the number of each. How many bytes they take, or ~0 if they are not valid. For a whole warp.
template <class Show> DEV u32 each_number(const u8* p, u32 there, u32 count, u32 n, Show show) {
    const u32 lane = threadIdx.x & 31;
    u32 found = 0, next = 0, at = 0;
#pragma unroll 1
    while (uniform(found < count)) {
        const bool has = at + lane < there;
        const u32 gap = has ? p[at + lane] : 0, ends = __ballot_sync(FULL, has && gap != 255),
                  before = __popc(ends & low_ones(lane)), number = next + warp_running_sum(gap) + before;
        const bool is_end = ends >> lane & 1;
        const u32 last_one = __ballot_sync(FULL, is_end && before + 1 == count - found);
        const u32 last = last_one ? __ffs((i32)last_one) - 1 : 31;
        const bool good = lane > last || (has && number < n);
        if (!uniform(__all_sync(FULL, good))) return ~0u;
        if (is_end && lane <= last) show(found + before, number);
        next = __shfl_sync(FULL, number + is_end, last);
        at += last + 1;
        found += last_one ? count - found : __popc(ends);
    }
    return at;
}
struct Nothing {
    DEV void operator()(u32, u32) const {}
};

// The patches of a tile of n elements, from `at` on, which moves behind them. For a whole warp.
template <class T> SELDOM bool read_patches(Found<T>& own, const u8* body, u32 bytes, u32 n, u32& at) {
    enum { SIZE = T::BITS / 8 };
    const u32 lane = threadIdx.x & 31, from = at;
    if (!has_bytes(at, bytes, 4)) return false;
    const u32 corrections = read16(body + at), exceptions = read16(body + at + 2);
    if ((corrections | exceptions) == 0 || corrections > min_of(n, (u32)MOST_CORRECTIONS) ||
        exceptions > min_of(n, (u32)MOST_EXCEPTIONS))
        return false;
    const u32 gaps_at = at + 4, gaps = each_number(body + gaps_at, bytes - gaps_at, corrections, n, Nothing());
    if (gaps == ~0u) return false;
    const u32 values_at = gaps_at + gaps;
    if (!has_bytes(values_at, bytes, corrections)) return false;
    bool good = true;
#pragma unroll 1
    for (u32 i = lane; i < corrections; i += 32) {
        const i32 by = (signed char)body[values_at + i];
        good &= by != 0 && by >= -(i32)MOST_CORRECTION && by <= (i32)MOST_CORRECTION;
    }
    if (!uniform(__all_sync(FULL, good))) return false;
    const u32 more_at = values_at + corrections,
              more = each_number(body + more_at, bytes - more_at, exceptions, n, Nothing());
    if (more == ~0u) return false;
    at = more_at + more;
    u32 differ = 0;
    if (exceptions) {
        if (!has_bytes(at, bytes, 1)) return false;
        differ = body[at++];
        if (differ > 1 || !has_bytes(at, bytes, SIZE * (differ ? exceptions : 1))) return false;
    }
    if (lane == 0) {
        own.corrections = corrections;
        own.exceptions = exceptions;
        own.gaps_at = gaps_at;
        own.values_at = values_at;
        own.more_gaps_at = more_at;
        own.elements_at = at;
        own.differ = differ;
    }
    if (exceptions) at += SIZE * (differ ? exceptions : 1);
    if ((at - from) % 2) {
        if (!has_bytes(at, bytes, 1) || body[at]) return false;
        at++;
    }
    return true;
}

// How codes were decoded: they were; they are not valid; the bits that they are kept in are not enough.
enum Verdict { GOOD, BAD, AGAIN };

// The codes of a sparse tile of n elements, as differences; all are written. By one lane, but for zeros.
template <class Word> SELDOM Verdict read_sparse(const u8* body, u32 bytes, u32 at, u32 n, u32 slots, Word* codes) {
    const u32 lane = threadIdx.x & 31;
    if (!has_bytes(at, bytes, 2)) return BAD;
    const u32 coded = body[at], flags = body[at + 1], groups = (n + GROUP - 1) / GROUP, is_long = flags & 1;
    at += 2;
    if (coded > min_of(groups, (u32)MOST_SPARSE_GROUPS) || flags > 3 || !has_bytes(at, bytes, is_long ? 4 : 2))
        return BAD;
    u32 x = read16(body + at) | (is_long ? read16(body + at + 2) << 16 : 0);
    at += is_long ? 4 : 2;
    u32 count = (bytes - at) / 2;
    const u8* const words = body + at;
    if ((count & 1) != flags >> 1) {
        if (count == 0) return BAD;
        count--;
        // Bodies are whole units, so that an odd byte is none.
        if (read16(words + 2 * count)) return BAD;
    }
#pragma unroll 1
    for (u32 i = lane; i < groups * GROUP * (u32)sizeof(Word) / 16; i += 32)
        ((uint4*)codes)[i] = make_uint4(0, 0, 0, 0);
    __syncwarp();
    bool good = true;
    if (lane == 0) {
        u32 taken = 0, before = FIRST;
        const auto refill = [&] {
            if (x < LOW && taken < count) x = x << 16 | read16(words + 2 * taken++);
        };
#pragma unroll 1
        for (u32 g = 0; g < coded; g++) {
            const u16* const starts = CLASS_STARTS + before * (TABLES + 1);
            const u32 slot = x & ((1u << TABLE_BITS) - 1);
            u32 cls = 0;
            while (starts[cls + 1] <= slot) cls++;
            x = (u32)(starts[cls + 1] - starts[cls]) * (x >> TABLE_BITS) + slot - starts[cls];
            refill();
            before = cls;
            if (cls == 0) continue;
            const u32 end = min_of(n, (g + 1) * GROUP);
#pragma unroll 1
            for (u32 i = g * GROUP; i < end; i++) {
                const u32 e =
                    load_shared32(at_word(slots + ((cls - 1) << (TABLE_BITS + 2)), x & ((1u << TABLE_BITS) - 1)));
                x = (e >> 22) * (x >> TABLE_BITS) + (e & ((1u << TABLE_BITS) - 1));
                refill();
                const u32 raw = e >> 10 & 63;
                u32 d = (u32)((i32)(e << 10) >> 26);
                if (raw) {
                    u32 code = shifted(e >> 16 & 63, raw, 0u);
#pragma unroll 1
                    for (u32 from = 0; from < raw; from += RAW_BITS) {
                        const u32 bits = min_of(raw - from, (u32)RAW_BITS);
                        if (from < 32) code |= (x & low_ones(bits)) << from;
                        x >>= bits;
                        refill();
                    }
                    d = difference_of(code);
                }
                codes[i] = (Word)(i64)(i32)d;
            }
        }
        good = x == 1 && taken == count;
    }
    __syncwarp();
    return uniform(__all_sync(FULL, good)) ? GOOD : BAD;
}

// What a head says of the codes, and where states and words stand.
struct Words {
    u32 at, longest, masked, change, has_table;
};

// Decodes codes; those of symbols as they are, others as differences. NARROW: of 16 bits each. FORMS: numbers may be
// elements' bits, of which `side` tells. For a whole warp.
template <class T, bool NARROW, bool FORMS>
DEV Verdict decode_codes(const Stream<T>& s, Found<T>& own, const Side* side, const TileForm& form, const Words& words,
                         u32 slots, u32 ring, typename T::Word* codes) {
    typedef typename T::Word Word;
    const u32 lane = threadIdx.x & 31, n = uniform(own.t.count()), groups = (n + GROUP - 1) / GROUP,
              own_table = ring + PREDICT_RING_BYTES, bytes = uniform(own.bytes), change = uniform(words.change);
    const u8* const body = own.body;
    u32 at = words.at;
    Coder c;
    if (!uniform(__all_sync(FULL, read_states(body, bytes, at, words.longest, words.masked, c.x)))) return BAD;
    __syncwarp();    // the table is there
    c.threshold = change == NEVER ? 0 : LOW;
    c.begin(body + at, s.src + s.head.stream_bytes, ring, lane);
    const u32 classes = read_classes(c, groups, lane);
    LowBits low;
    if (!NARROW && FORMS && uniform(form.low)) low.begin(*side, body, bytes);
    const bool symbols = !NARROW && FORMS && uniform(form.prediction == BY_SYMBOLS);
    bool good = true;
    // Numbers that are interpolated have 32 bits.
    const bool short_words = T::BITS == 64 && uniform(own.predictor);
    const u32 size = NARROW ? 2 : short_words ? 4 : (u32)sizeof(Word);
    u8* out = (u8*)codes + lane * QUAD * size;
#pragma unroll 1
    for (u32 i = 0; uniform(i < groups); i++, out += GROUP * size) {
        if (uniform(i == change)) good &= c.change();
        const u32 cls = uniform(__shfl_sync(FULL, classes, i / CLASSES_OF_LANE) >> (4 * (i % CLASSES_OF_LANE)) & 15);
        const u32 table = table_of(slots, own_table, words.has_table, cls);
        Word d[QUAD] = {0, 0, 0, 0};
        if (FORMS && symbols) {
            const u32 there = codes_there(n, i, lane);
            u32 code[QUAD] = {0, 0, 0, 0};
            if (uniform(cls)) decode_symbols(c, table, cls == OWN, there, lane, code);
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) d[j] = code[j];
            if (FORMS && uniform(form.low)) low.complete(d, there);
        } else {
            if (uniform(cls)) {
                if (uniform((i + 1) * GROUP <= n))
                    decode_group<T, true>(c, table, 15, lane, d);
                else
                    decode_group<T, false>(c, table, codes_there(n, i, lane), lane, d);
            }
            if (!NARROW && FORMS && uniform(form.low | form.slope)) {
#pragma unroll
                for (u32 j = 0; j < QUAD; j++) d[j] = wrap<T>(code_of(d[j]));
                if (uniform(form.low)) low.complete(d, codes_there(n, i, lane));
                if (!uniform(form.slope)) {
#pragma unroll
                    for (u32 j = 0; j < QUAD; j++) d[j] = extended_difference<T>(d[j]);
                }
            }
        }
        if (NARROW) {
            Word far = 0;
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) far |= d[j] + 0x8000;
            if (uniform(__any_sync(FULL, far >> 16 != 0))) return AGAIN;
            put_narrow_codes(out, (u32)d[0], (u32)d[1], (u32)d[2], (u32)d[3]);
        } else if (short_words) {
            const u32 low[QUAD] = {(u32)d[0], (u32)d[1], (u32)d[2], (u32)d[3]};
            put_codes((u32*)out, low);
        } else {
            put_codes((Word*)out, d);
        }
    }
    if (uniform(change == groups)) good &= c.change();
    if (!NARROW && FORMS && uniform(form.low)) good &= low.taken == side->numbers;
    if (!uniform(__all_sync(FULL, good)) || !uniform(ended_well(c, body + bytes))) return BAD;
    if (lane == 0) own.narrow = NARROW;
    return GOOD;
}

// The same, and nothing is on its way to the ring then, which others use.
template <class T, bool NARROW, bool FORMS = true>
DEV Verdict read_codes(const Stream<T>& s, Found<T>& own, const Side* side, const TileForm& form, const Words& words,
                       u32 slots, u32 ring, typename T::Word* codes) {
    const Verdict verdict = decode_codes<T, NARROW, FORMS>(s, own, side, form, words, slots, ring, codes);
    wait_for_copies();
    __syncwarp();
    return verdict;
}

// Reads and checks a packed body, and decodes its codes. `ring`: what the warp shares; `slots`: the tables. For a whole
// warp.
template <class T> DEV bool read_packed(const Stream<T>& s, Own<T>& own, u32 slots, u32 ring, typename T::Word* codes) {
    typedef typename T::Word Word;
    const u32 lane = threadIdx.x & 31, n = uniform(own.t.count()), groups = (n + GROUP - 1) / GROUP,
              own_table = ring + PREDICT_RING_BYTES;
    const u8* const body = own.body;
    const u32 bytes = uniform(own.bytes), bits = *(const u32*)body;
    const u32 set = bits & 7, predictor = bits >> 3 & 3, map = bits >> 5 & 3, has_table = bits >> 7 & 1,
              has_patches = bits >> 8 & 1, sparse = bits >> 9 & 1, change = bits >> 10 & 255, longest = bits >> 18 & 31,
              masked = bits >> 23 & 1, few = bits >> 24 & 3, base_words = few < 3 ? few : 4;
    const bool has_bins = s.head.step_w, has_lattice = s.head.multiplier;
    bool good = predictor < 3 && (change <= groups || change == NEVER) && longest <= STATE_BITS && longest >= masked &&
                !(sparse && (change || longest || has_table)) && !(set & ~s.head.grid.set()) &&
                (predictor == 0 || s.head.grid.is_smooth());
    good &= map == PLAIN   ? !has_patches || has_lattice
            : map == EXACT ? !has_patches && has_bins
                           : predictor && has_lattice;
    if (!uniform(good)) return false;
    u32 at = HEAD_BYTES, form_bits = 0;
    const bool is_bits = uniform(!has_bins || map == EXACT);
    if (is_bits) {
        if (!has_bytes(at, bytes, 2)) return false;
        form_bits = read16(body + at);
        at += 2;
        if (!TileForm::is_legal<T>(form_bits, s.head.is_float, set, has_table)) return false;
    }
    const TileForm form = TileForm::of(uniform(form_bits));
    if (form_bits >> 6 && (predictor || sparse)) return false;
    if (!has_bytes(at, bytes, 2 * base_words)) return false;
    u64 base = bits >> (32 - BASE_BITS);
#pragma unroll 1
    for (u32 k = 0; k < base_words; k++) {
        base |= (u64)read16(body + at) << (BASE_BITS + 16 * k);
        at += 2;
    }
    const u32 width = BASE_BITS + 16 * base_words;
    if (width < 64) base = (u64)((i64)(base << (64 - width)) >> (64 - width));
    if (lane == 0) {
        own.set = set;
        own.predictor = predictor;
        own.map = map;
        own.is_bits = is_bits;
        own.narrow = false;
        own.base = (Word)base;
        own.corrections = own.exceptions = 0;
        own.side.form = form_bits;
    }
    __syncwarp();
    if (uniform(has_patches) && !uniform(read_patches<T>(own, body, bytes, n, at))) return false;
    if (is_bits) {
        if (!uniform(read_side<T>(form_bits, has_table, n, body, bytes, at, own_table, own.side))) return false;
    } else if (uniform(has_table)) {
        const u8* p = body + at;
        if (!uniform(read_own(p, body + bytes, own_table, false))) return false;
        at = (u32)(p - body);
    }
    if (uniform(sparse)) {
        return (T::BITS == 64 && uniform(predictor) ? read_sparse(body, bytes, at, n, slots, (u32*)codes)
                                                    : read_sparse(body, bytes, at, n, slots, codes)) == GOOD;
    }
    const Words words = {at, longest, masked, change, has_table};
    // Of 64 bits differences along axes add up to words of as many.
    const bool may_be_narrow =
        uniform(!(form.low | form.slope) && form.prediction == BY_AXES && (T::BITS <= 32 || predictor));
    Verdict verdict = AGAIN;
    if (may_be_narrow) verdict = read_codes<T, true>(s, own, &own.side, form, words, slots, ring, codes);
    if (uniform(verdict == AGAIN)) verdict = read_codes<T, false>(s, own, &own.side, form, words, slots, ring, codes);
    if (!uniform(verdict == GOOD)) return false;
    if (uniform(form.prediction == BY_LAGS)) undo_lags(body, own.side.lags_at, n, codes);
    return true;
}

// Finds a tile and what is to be known of it, and decodes its codes; its share of the disagreement with checksums, of
// which each lane has the sum. False where the body is not valid. For a whole warp.
template <class T>
DEV bool read_tile(const Stream<T>& s, Own<T>& own, u64 chunk, u32 slots, u32 ring, typename T::Word* codes,
                   u64& disagreement) {
    const u32 lane = threadIdx.x & 31;
    const WideBody body = locate(s.src, s.head, chunk, lane);
    if (!uniform(body.bytes)) return false;
    const u8* const at = s.src + body.at;
    disagreement += disagreement_of(s.src, s.head, chunk, warp_sum(keyed_sum(at, body.bytes, lane)));
    u32 plane = 0, kind = body.kind;
    if (T::EXPONENT && uniform(kind == KIND_MASKED)) {
        const u32 head = *(const u32*)at, which = head & 15, element = (T::BITS / 8 + UNIT - 1) / UNIT * UNIT;
        plane = (head >> 16) * UNIT;
        kind = head >> 6 & 3;
        if (which == 0 || which >> s.head.values || head & 0xff30 || plane < UNIT || plane >= body.bytes) return false;
        if (kind != KIND_PACKED && (kind != KIND_CONSTANT || body.bytes - plane != element)) return false;
    }
    if (lane == 0) {
        own.t = tile_of(s.head.grid, chunk);
        own.to = Target(s, own.t);
        own.body = at + plane;
        own.bytes = body.bytes - plane;
        own.kind = kind;
        own.plane = plane;
    }
    __syncwarp();
    if (!uniform(own.to.some)) return true;
    if (uniform(kind == KIND_PACKED) && !read_packed(s, own, slots, ring, codes)) return false;
    if (lane == 0) own.state = kind == KIND_PACKED ? PACKED : STORED;
    return true;
}

}    // namespace predict
