// Twin: src/codec/interp/body/decode.rs, src/codec/interp/body/patches.rs
// One warp, one tile: what a packed body says, checked, and its codes (docs/reference/codecs/interp.md §3 to §5, §7),
// which come to stand in global memory for the block that restores the tile (restore.cuh).
#pragma once
#include "../common/plan.cuh"
#include "levels.cuh"
#include "target.cuh"

namespace interp {

// What there is of a tile: nothing, the elements of its body, or its codes: in words, or in place of its elements, with
// 8 bits each or with 16.
enum State : u32 { NOTHING, STORED, PACKED, BYTES, HALVES };

// The first word of a packed tile.
struct TileHead {
    u32 bits;

    DEV u32 set() const { return bits & 7; }
    DEV u32 predictor() const { return bits >> 3 & 3; }
    DEV u32 numbers() const { return bits >> 5 & 3; }
    DEV bool has_table() const { return bits >> 7 & 1; }
    DEV bool has_patches() const { return bits >> 8 & 1; }
    DEV bool is_sparse() const { return bits >> 9 & 1; }
    DEV u32 change() const { return bits >> 10 & 255; }
    DEV u32 longest() const { return bits >> 18 & 31; }
    DEV u32 base_words() const { return (bits >> 23 & 3) == 3 ? 4 : bits >> 23 & 3; }
    DEV u32 low() const { return bits >> 25 & 63; }
    DEV bool is_interpolated() const { return predictor() == SMOOTH || predictor() == ROUGH; }

    // Whether a tile of so many groups may have it, in a stream with this header, of numbers of so many bits.
    DEV bool is_legal(const Header& head, u32 groups, u32 number_bits) const {
        const bool symbols = predictor() == BY_SYMBOLS, has_bins = head.step_w, has_lattice = head.multiplier;
        const bool good = bits >> 31 == 0 && (change() <= groups || change() == NEVER) && longest() <= STATE_BITS &&
                          low() <= number_bits - LEAST_ABOVE_LOW &&
                          !(is_sparse() && (change() || longest() || low() || has_table() || symbols)) &&
                          !(symbols && (!has_table() || numbers() != OF_BITS || set())) &&
                          (!has_patches() || has_lattice) && (!is_interpolated() || head.grid.is_smooth()) &&
                          !(set() & ~head.grid.set());
        return good && (numbers() == OF_BITS   ? !has_bins
                        : numbers() == OF_BINS ? has_bins
                                               : has_lattice && is_interpolated());
    }
};

// The base, whose words stand from `at` on, which moves behind them.
template <class Word> DEV Word read_base(const u8* body, u32 words, u32& at) {
    u64 base = 0;
#pragma unroll 1
    for (u32 k = 0; k < words; k++, at += 2) base |= (u64)read16(body + at) << (16 * k);
    const u32 width = 16 * words;
    return (Word)(width == 0 || width == 64 ? base : (u64)((i64)(base << (64 - width)) >> (64 - width)));
}

// The patches of a tile: how many entries, where these stand, and the bits of exceptions.
struct Patches {
    u32 count, at, bits_at;
    u32 same;    // all exceptions have the same bits
};

// Shows the place among the entries, the element, the kind, and the number of exceptions before, of all patches of a
// tile of n elements, which a warp does together; false if an element is not below n.
template <class Show> DEV bool each_patch(const u8* body, const Patches& patches, u32 n, u32& exceptions, Show show) {
    const u32 lane = threadIdx.x & 31;
    u32 next = 0;
    exceptions = 0;
#pragma unroll 1
    for (u32 first = 0; uniform(first < patches.count); first += 32) {
        const bool has = first + lane < patches.count;
        const u32 entry = has ? read16(body + patches.at + 2 * (first + lane)) : 0,
                  kind = entry & ((1u << KIND_BITS) - 1), gap = entry >> KIND_BITS;
        const u32 behind = next + warp_running_sum(has ? gap + 1 : 0);
        const u32 exception = __ballot_sync(FULL, has && kind == 0);
        if (uniform(__any_sync(FULL, has && behind > n))) return false;
        if (has) show(first + lane, behind - 1, kind, exceptions + __popc(exception & low_ones(lane)));
        next = __shfl_sync(FULL, behind, 31);
        exceptions += __popc(exception);
    }
    return true;
}
struct Nothing {
    DEV void operator()(u32, u32, u32, u32) const {}
};

// Reads and checks them, from `at` on, which moves behind them. For a whole warp.
template <class T> SELDOM bool read_patches(const u8* body, u32 bytes, u32 n, u32& at, Patches& patches) {
    enum { SIZE = T::BITS / 8 };
    if (!has_bytes(at, bytes, 2)) return false;
    const u32 head = read16(body + at);
    patches.count = head & (ALL_SAME - 1);
    patches.same = head / ALL_SAME;
    patches.at = at + 2;
    if (patches.count - 1 >= n || !has_bytes(patches.at, bytes, 2 * patches.count)) return false;
    patches.bits_at = at = patches.at + 2 * patches.count;
    u32 exceptions;
    if (!each_patch(body, patches, n, exceptions, Nothing())) return false;
    const u32 used = SIZE * (patches.same ? min_of(exceptions, 1u) : exceptions);
    at += used;
    return has_bytes(patches.bits_at, bytes, used);
}

// What a block knows of a tile, in its shared memory.
template <class T> struct alignas(16) Own {
    Tile t;
    Target to;
    const u8* body;    // behind the plane of missing values
    u32 bytes, kind, state;
    u32 plane;    // bytes of the plane of missing values, 0 without one
    u32 wide;     // 1 where it takes the block with more room, or IN_SLOT
    u32 level;    // that whose nodes are all there is of it; 0 for all elements
    TileHead head;
    typename T::Word base;
    Side side;
    Patches patches;

    // Codes that are wanted, the first ones.
    DEV u32 codes() const { return nodes_of(t.lx, level) * nodes_of(t.ly, level) * nodes_of(t.lz, level); }
    // The place of an element's number among them.
    DEV u32 place(u32 x, u32 y, u32 z) const {
        return ((z >> level) * nodes_of(t.ly, level) + (y >> level)) * nodes_of(t.lx, level) + (x >> level);
    }
};

enum : u32 { ALL_CODES = ~0u };

// A code as it is kept: as it is, or of a difference that is cut to 32 bits.
DEV void put_code(u32* to, u32 code) { *to = code; }
DEV void put_code(u64* to, u64 code) { *to = code; }
DEV void put_code(u32* to, u64 code) { *to = code_of((u32)difference_of(code)); }

// Tiles for decompress.cuh: their numbers stand behind this, with ADDED where the sum of disagreements has them
// already.
struct List {
    u64 ticket;    // tiles that `decode` has handed out, beside the first of each warp
    u64 count;     // of the list
    u64 wide;      // tiles that take the block with more room, or are restored in slots
    u64 zero;

    DEV u32* tiles() { return (u32*)(this + 1); }
    DEV void add(u64 chunk, u32 flags) { tiles()[count_if(true, &count)] = (u32)chunk | flags; }
};
enum : u32 { ADDED = 1u << 31 };

// The memory that kernels share: a list, and a table of what is known of tiles, both with room for so many.
template <class T> struct Tiles {
    List* list;
    Own<T>* own;
    u64 room;

    DEV explicit Tiles(const InterpDecompressArgs& a) : list((List*)a.list), own((Own<T>*)a.tiles), room(a.room) {}
    // Whether codes of an array's tiles may stand in the place of elements.
    DEV bool are_for(const Stream<T>& s) const {
        return T::BITS >= 32 && room && !s.status && s.head.grid.chunks <= room && s.head.grid.z != MANY &&
               s.head.step_w && !s.head.next && !s.head.big_endian && (u64)s.wanted.dst % (T::BITS / 8) == 0;
    }
};

// Of codes that stand in the place of elements the first ones have 16 bits, the others 8, or all have 16.
enum : u32 { LONG_GROUPS = LONG_CODES / GROUP };
DEV u32 unit_of(u32 code, bool by16) {
    return by16 || code < LONG_CODES ? code / 2 : LONG_CODES / 2 + (code - LONG_CODES) / 4;
}

// The places of a tile's elements, in their order, as units of four bytes.
template <class T> struct Units {
    enum : u32 { SIZE = T::BITS / 8 };
    u8* first;
    u64 y_step, z_step;    // bytes
    Divisor row, plane;

    DEV Units(const Tile& t, const Target& to)
        : first(to.dst + to.origin * SIZE),
          y_step(to.step[1] * SIZE),
          z_step(to.step[2] * SIZE),
          row(t.lx),
          plane(t.ly) {}
    DEV u8* of_element(u32 i) const {
        const u32 line = row.divide(i), x = i - line * row.by, z = plane.divide(line), y = line - z * plane.by;
        return first + x * SIZE + y * y_step + z * z_step;
    }
    DEV u8* at(u32 unit) const { return SIZE == 8 ? of_element(unit / 2) + unit % 2 * 4 : of_element(unit); }
    DEV bool is_aligned() const { return ((u64)first | y_step | z_step) % 16 == 0; }
};

// Keeps codes in units.
template <class T> struct InUnits {
    enum : u32 { FAR_BITS = 14 };
    typedef typename T::Word Word;
    Units<T> units;
    u32 n, by16;
    Word any_long, any;    // all bits of codes that are kept with 16 bits anyway, and of the others

    // Groups of these classes have some codes of more than 8 bits.
    DEV void learn(u32 classes) {
        bool wide = false;
#pragma unroll
        for (u32 s = 0; s < CLASSES_OF_LANE; s++) {
            const u32 cls = classes >> (8 * s) & 255;
            wide |= CLASSES_OF_LANE * (threadIdx.x & 31) + s >= LONG_GROUPS && cls > PLAIN && cls != WIDE;
        }
        if (__any_sync(FULL, wide)) by16 = 1;
    }
    DEV void note(bool is_long, Word all) {
        any_long |= is_long ? all : 0;
        any |= is_long ? 0 : all;
    }
    DEV void put(u32 group, u32 lane, const Word (&code)[QUAD]) {
        const u32 i = group * GROUP + lane * QUAD, c[QUAD] = {(u32)code[0], (u32)code[1], (u32)code[2], (u32)code[3]};
        note(group < LONG_GROUPS, code[0] | code[1] | code[2] | code[3]);
        if (i >= n) return;
        const u32 unit = unit_of(i, by16);
        if (group < LONG_GROUPS || by16) {
            *(u32*)units.at(unit) = __byte_perm(c[0], c[1], 0x5410);
            if (i + 2 < n) *(u32*)units.at(unit + 1) = __byte_perm(c[2], c[3], 0x5410);
        } else {
            *(u32*)units.at(unit) =
                __byte_perm(__byte_perm(c[0], c[1], 0x0040), __byte_perm(c[2], c[3], 0x0040), 0x5410);
        }
    }
    DEV void put_one(u32 i, Word code) {
        note(i < LONG_CODES, code);
        u8* const to = units.at(unit_of(i, by16));
        if (i < LONG_CODES || by16)
            ((u16*)to)[i % 2] = (u16)code;
        else
            to[i % 4] = (u8)code;
    }
    DEV void clear(u32, u32 lane) {
        const u32 last = unit_of(n - 1, by16);
#pragma unroll 1
        for (u32 i = lane; i <= last; i += 32) *(u32*)units.at(i) = 0;
        __syncwarp();
    }
    // Whether no code was too long for its place; and whether none would be, with 16 bits.
    DEV bool has_kept() const { return !__any_sync(FULL, any_long >> 16 || any >> (by16 ? (u32)FAR_BITS : 8)); }
    DEV bool may_keep() const { return !__any_sync(FULL, any_long >> 16 || any >> FAR_BITS); }
};

// Keeps the codes of a tile in words, four neighbours at a time, or one among zeros.
template <class Kept> struct InWords {
    Kept* codes;

    template <class Word> DEV void put(u32 group, u32 lane, const Word (&code)[QUAD]) {
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) put_code(codes + group * GROUP + lane * QUAD + j, code[j]);
    }
    template <class Word> DEV void put_one(u32 i, Word code) { put_code(codes + i, code); }
    DEV void clear(u32 groups, u32 lane) {
#pragma unroll 1
        for (u32 i = lane; i < groups * GROUP * (u32)sizeof(Kept) / 16; i += 32)
            ((uint4*)codes)[i] = make_uint4(0, 0, 0, 0);
    }
    DEV void learn(u32) {}
};

// Where the tables of a warp are, as addresses in shared memory: those of all tiles, the own one of its tile, and the
// ring.
struct Places {
    u32 slots, own, ring;
};

// The codes of a sparse tile of n elements, from `at` on; as many as are wanted are written. By one lane, but for
// zeros; where there is room the words come to the ring first.
template <class Word, class Keep>
SELDOM bool read_sparse(const u8* body, u32 bytes, u32 at, u32 n, u32 wanted, const Places& places, Keep& keep) {
    enum : u32 { ZEROS = 8 };
    const u32 lane = threadIdx.x & 31, groups = (n + GROUP - 1) / GROUP;
    if (!has_bytes(at, bytes, 2)) return false;
    const u32 head = read16(body + at), coded = (head & 127) + 1, is_long = head >> 7 & 1;
    if (coded > groups || head >> 9) return false;
    at += 2;
    if (!has_bytes(at, bytes, is_long ? 4 : 2)) return false;
    u32 x = read16(body + at) | (is_long ? read16(body + at + 2) << 16 : 0);
    at += is_long ? 4 : 2;
    u32 count = (bytes - at) / 2;
    const u8* const words = body + at;
    if ((count & 1) != (head >> 8 & 1)) {
        if (count == 0) return false;
        count--;
        // Bodies are whole units, so that an odd byte is none.
        if (read16(words + 2 * count)) return false;
    }
    keep.clear(wanted < n ? (wanted + GROUP - 1) / GROUP : groups, lane);
    // Bodies begin at multiples of 4.
    const u32 skipped = at % 4, halves = count + skipped / 2;
    const bool in_ring = 2 * halves <= RING_BYTES;
    for (u32 i = lane; in_ring && 2 * i < halves; i += 32)
        store_shared32(places.ring + 4 * i, *(const u32*)(words - skipped + 4 * i));
    __syncwarp();
    bool good = true;
    if (lane == 0) {
        u32 taken = 0, before = FIRST;
        const auto refill = [&] {
            if (x >= LOW || taken == count) return;
            const u32 word = in_ring ? load_shared16(places.ring + skipped + 2 * taken) : read16(words + 2 * taken);
            x = x << 16 | word;
            taken++;
        };
#pragma unroll 1
        for (u32 g = 0; g < coded && g * GROUP < wanted; g++) {
            const u32 cls = before = class_behind(before, x);
            refill();
            if (cls == 0) continue;
            const u32 end = min_of(n, (g + 1) * GROUP), table = table_of(places.slots, 0, false, cls),
                      shift = shift_of(cls, 0);
            const u32 zeros = load_shared32(table) >> 22;
#pragma unroll 1
            for (u32 i = g * GROUP; i < end;) {
                // Most codes are 0, and take no word: as many as fit at once, without the table.
                u32 after = x;
                bool all = shift == 0 && i + ZEROS <= end;
#pragma unroll
                for (u32 k = 0; k < ZEROS; k++) {
                    const u32 slot = after & ((1u << TABLE_BITS) - 1);
                    all &= slot < zeros;
                    after = zeros * (after >> TABLE_BITS) + slot;
                }
                if (all && after >= LOW) {
                    x = after;
                    i += ZEROS;
                    continue;
                }
#pragma unroll 1
                for (const u32 until = min_of(i + ZEROS, end); i < until; i++) {
                    const u32 e = load_shared32(at_word(table, x & ((1u << TABLE_BITS) - 1)));
                    x = (e >> 22) * (x >> TABLE_BITS) + (e & ((1u << TABLE_BITS) - 1));
                    if ((top_of(e) | raw_of(e) | shift) == 0 && x >= LOW) continue;
                    refill();
                    const u32 raw = raw_of(e) + shift;
                    Word code = shifted(top_of(e), raw, (Word)0);
#pragma unroll 1
                    for (u32 from = 0; from < raw; from += RAW_BITS) {
                        const u32 n = min_of(raw - from, (u32)RAW_BITS);
                        if (from < 8 * sizeof(Word)) code |= (Word)(x & low_ones(n)) << from;
                        x >>= n;
                        refill();
                    }
                    if (code) keep.put_one(i, code);
                }
            }
        }
        good = wanted < n || (x == 1 && taken == count);
    }
    __syncwarp();
    return __all_sync(FULL, good);
}

// The bits of codes that stand apart: of all groups, whose classes a lane has as Coder::read_classes says; and those of
// the groups before each of its own. For a whole warp.
DEV u32 low_bits_of(u32 classes, u32 low, u32 n, u32 lane, u32 (&before)[CLASSES_OF_LANE]) {
    u32 own = 0;
#pragma unroll
    for (u32 s = 0; s < CLASSES_OF_LANE; s++) {
        const u32 cls = classes >> (8 * s) & 255, first = (CLASSES_OF_LANE * lane + s) * GROUP;
        before[s] = own;
        if (cls) own += shift_of(cls, low) * min_of(n - first, (u32)GROUP);
    }
    const u32 up_to = warp_running_sum(own);
#pragma unroll
    for (u32 s = 0; s < CLASSES_OF_LANE; s++) before[s] += up_to - own;
    return __shfl_sync(FULL, up_to, 31);
}

// Decodes as many codes as are wanted of a tile of n elements, from byte `at` of its body on. What is behind them is
// not looked at. For a whole warp.
template <class Word, class Keep>
DEV bool read_codes(const u8* body, u32 bytes, const u8* last, u32 at, TileHead head, u32 n, u32 wanted,
                    const Places& places, Keep& keep) {
    enum : u32 { FEW_LOW = 32 / QUAD };
    const u32 lane = threadIdx.x & 31, groups = (n + GROUP - 1) / GROUP;
    const bool symbols = head.predictor() == BY_SYMBOLS;
    const u32 change = uniform(head.change());
    Coder c;
    if (!uniform(__all_sync(FULL, read_states(body, bytes, at, head.longest(), c.x)))) return false;
    __syncwarp();    // the table is there
    c.threshold = change == NEVER ? 0 : LOW;
    c.begin(body + at, last, places.ring, lane);
    const u32 classes = c.read_classes(groups, lane);
    keep.learn(classes);
    u32 before[CLASSES_OF_LANE];
    const u32 low_bits = low_bits_of(classes, head.low(), n, lane, before), low_bytes = (low_bits + 31) / 32 * 4;
    bool good = has_bytes(at, bytes, low_bytes);
    const u32 low_at = bytes - low_bytes;
    if (!uniform(good)) return false;
    if (low_bits % 32) good &= *(const u32*)(body + bytes - 4) >> low_bits % 32 == 0;
#pragma unroll 1
    for (u32 i = 0; uniform(i < groups && i * GROUP < wanted); i++) {
        if (uniform(i == change)) good &= c.change();
        const u32 s = i % CLASSES_OF_LANE, of = i / CLASSES_OF_LANE;
        const u32 cls = uniform(__shfl_sync(FULL, classes, of) >> (8 * s) & 255);
        const bool whole = (i + 1) * GROUP <= n;
        const u32 has = whole ? 15 : codes_there(n, i, lane);
        Word code[QUAD] = {0, 0, 0, 0};
        if (cls) {
            const u32 table = table_of(places.slots, places.own, head.has_table(), cls),
                      shift = shift_of(cls, head.low());
            // Bits that stand apart: few are asked for before the words are decoded.
            u32 bit = 0, few = 0;
            if (uniform(shift)) {
                const u32 mine = s == 0 ? before[0] : s == 1 ? before[1] : s == 2 ? before[2] : before[3];
                bit = __shfl_sync(FULL, mine, of) + shift * QUAD * lane;
                const u32 bits = shift * __popc(has);
                if (uniform(shift <= FEW_LOW) && bits) few = take_bits(body, low_at, bit, bits, 0u);
            }
            if (uniform(symbols))
                decode_symbols(c, table, cls == OWN, has, lane, code);
            else if (uniform(whole))
                decode_group<Word, true>(c, table, 15, lane, code);
            else
                decode_group<Word, false>(c, table, has, lane, code);
            if (uniform(shift)) {
#pragma unroll
                for (u32 j = 0; j < QUAD; j++, bit += shift) {
                    if (!(has >> j & 1)) continue;
                    const Word low = shift <= FEW_LOW ? (Word)(few >> (j * shift) & low_ones(shift))
                                                      : take_bits(body, low_at, bit, shift, (Word)0);
                    code[j] = code[j] << shift | low;
                }
            }
        }
        keep.put(i, lane, code);
    }
    if (uniform(change == groups && wanted >= n)) good &= c.change();
    wait_for_copies();
    __syncwarp();
    return __all_sync(FULL, good) && (wanted < n || c.ended_well(body + low_at));
}

// Reads and checks what a packed body says before its codes; `at` becomes where these begin. For a whole warp.
template <class T> DEV bool read_front(const Stream<T>& s, Own<T>& own, const Places& places, u32& at) {
    typedef typename T::Word Word;
    const u32 lane = threadIdx.x & 31, n = uniform(own.t.count());
    const u8* const body = own.body;
    const u32 bytes = uniform(own.bytes);
    const TileHead head = {*(const u32*)body};
    at = HEAD_BYTES;
    if (!uniform(head.is_legal(s.head, (n + GROUP - 1) / GROUP, 8 * sizeof(Word)))) return false;
    if (!has_bytes(at, bytes, 2 * head.base_words())) return false;
    const Word base = read_base<Word>(body, head.base_words(), at);
    Side side = {0, NUMBERS, 0, 0, 0};
    Patches patches = {0, 0, 0, 0};
    if (uniform(head.numbers() == OF_BITS) && !uniform(read_side<T>(body, bytes, n, s.head.is_float, at, side)))
        return false;
    if (uniform(head.has_patches()) && !uniform(read_patches<T>(body, bytes, n, at, patches))) return false;
    if (lane == 0) {
        own.head = head;
        own.base = base;
        own.side = side;
        own.patches = patches;
        own.level = head.is_interpolated() && side.order == NUMBERS ? s.wanted.nodes : 0;
    }
    if (uniform(head.has_table()) && !uniform(read_own(body, bytes, at, places.own, head.predictor() == BY_SYMBOLS)))
        return false;
    __syncwarp();
    return true;
}

// Decodes as many codes of a packed body as are wanted, from byte `at` on. For a whole warp.
template <class T, class Keep>
DEV bool read_rest(const Stream<T>& s, const Own<T>& own, const Places& places, u32 at, u32 wanted, Keep& keep) {
    typedef typename T::Word Word;
    const u32 n = uniform(own.t.count()), bytes = uniform(own.bytes);
    const TileHead head = {uniform(own.head.bits)};
    return uniform(head.is_sparse())
               ? read_sparse<Word>(own.body, bytes, at, n, wanted, places, keep)
               : read_codes<Word>(own.body, bytes, s.src + s.head.stream_bytes, at, head, n, wanted, places, keep);
}

// The same of a tile, in words. Numbers that are interpolated have 32 bits.
template <class T>
DEV bool read_packed(const Stream<T>& s, Own<T>& own, const Places& places, typename T::Word* codes) {
    u32 at;
    if (!read_front(s, own, places, at)) return false;
    const u32 wanted = uniform(own.codes());
    if (T::BITS == 64 && uniform(own.head.is_interpolated())) {
        InWords<u32> keep = {(u32*)codes};
        return read_rest(s, own, places, at, wanted, keep);
    }
    InWords<typename T::Word> keep = {codes};
    return read_rest(s, own, places, at, wanted, keep);
}

// Finds a tile and what is to be known of it, but for what a packed body says; what it adds to the disagreement with
// checksums. False where the body is not valid. For a whole warp.
template <class T> DEV bool find_tile(const Stream<T>& s, Own<T>& own, u64 chunk, u64& disagreement) {
    const u32 lane = threadIdx.x & 31;
    const WideBody body = locate(s.src, s.head, chunk, lane);
    if (!uniform(body.bytes)) return false;
    const u8* const at = s.src + body.at;
    disagreement = disagreement_of(s.src + s.head.bytes, chunk, warp_sum(keyed_sum(at, body.bytes, lane)));
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
        own.level = 0;
        own.state = NOTHING;
    }
    __syncwarp();
    return true;
}

}    // namespace interp
