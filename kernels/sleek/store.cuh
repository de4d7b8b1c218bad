// Twin: src/codec/sleek/decode.rs
// Where decoded bytes go, and which of them are missing values.
#pragma once
#include "../common/beside.cuh"
#include "../common/machine.cuh"
#include "parse.cuh"

// Where decoded bytes go: the whole 16 where they are wanted and aligned, else byte by byte within the wanted range.
struct Target {
    u8* origin;        // where byte 0 of the array would lie
    u64 begin, end;    // wanted bytes
    DEV Extent extent(u64 at, u32 bytes) const {
        if (at >= end || at + bytes <= begin) return NOTHING;
        return bytes == CHUNK_BYTES && at >= begin && at + bytes <= end && ((u64)origin & 15) == 0 ? WHOLE : SOME;
    }
    DEV void store_part(u64 at, uint4 q) const {
        u64 lo = q.x | (u64)q.y << 32, hi = q.z | (u64)q.w << 32;
#pragma unroll 1
        for (u32 i = 0; i < 16; i++) {
            if (at + i >= begin && at + i < end) origin[at + i] = (u8)lo;
            lo = lo >> 8 | hi << 56;
            hi >>= 8;
        }
    }
    DEV void store_element(u64 at, u32 size, u64 bits) const {
#pragma unroll 1
        for (u32 i = 0; i < size; i++, bits >>= 8)
            if (at + i >= begin && at + i < end) origin[at + i] = (u8)bits;
    }
    DEV void store(u64 at, bool whole_chunk, uint4 q) const {
        if (whole_chunk)
            store_streaming((uint4*)(origin + at), q);
        else
            store_part(at, q);
    }
};

// A box on the grid of a level, whose elements are picked from what chunks are restored to.
struct Box {
    const u64 *len, *start, *lens;    // of the array's dimensions; where it begins, and how long it is
    u64 count;                        // elements
    u32 rank, level;

    DEV u32 shift_of(u32 k) const { return k + GRID_AXES >= rank ? level : 0; }
    // False where it is not inside.
    DEV bool make(const Header& head, const DecompressArgs& a) {
        len = head.len;
        start = a.start;
        lens = a.lens;
        rank = head.rank;
        level = a.level;
        count = 1;
        bool inside = true;
#pragma unroll 1
        for (u32 k = 0; k < rank; k++) {
            const u64 all = on_grid(k, len[k]);
            inside &= start[k] <= all && lens[k] <= all - start[k];
            count *= lens[k];
        }
        return inside;
    }
    // Elements of the grid along dimension k before this place.
    DEV u64 on_grid(u32 k, u64 place) const { return (place + ((1ull << shift_of(k)) - 1)) >> shift_of(k); }
    // How many of its elements lie before this one of the array.
    DEV u64 before(u64 element) const {
        u64 n = 0, step = 1;    // of the dimensions behind this one
#pragma unroll 1
        for (u32 k = rank; k-- > 0; step *= lens[k]) {
            const u64 next = k ? quotient(element, len[k]) : 0, at = element - next * len[k], place = on_grid(k, at);
            const bool has = place >= start[k] && place - start[k] < lens[k] && place << shift_of(k) == at;
            n = (place > start[k] ? min_of(place - start[k], lens[k]) : 0) * step + (has ? n : 0);
            element = next;
        }
        return n;
    }
    // The number in the array of its element n.
    DEV u64 place(u64 n) const {
        u64 at = 0, step = 1;
#pragma unroll 1
        for (u32 k = rank; k-- > 0; step *= len[k]) {
            const u64 next = quotient(n, lens[k]);
            at += (start[k] + n - next * lens[k] << shift_of(k)) * step;
            n = next;
        }
        return at;
    }
    static DEV u64 quotient(u64 a, u64 b) { return (a | b) >> 32 ? a / b : (u64)((u32)a / (u32)b); }
};

// Those of a chunk: which of the box they are, and how the first ones lie in the chunk. Places are modulo 2^32.
struct Picked {
    enum : u32 { AXES = 3, FAR = 1u << 20 };
    u64 first;
    u32 count, at, step;          // the first one lies there; to the next one
    u32 left[AXES], len[AXES];    // along the last dimensions from the first one to the end, and in all
    u32 jump[AXES];               // where such an end is passed

    // Of the box's elements from n on, of a chunk that begins with this element.
    DEV void set(const Box& box, u64 chunk, u64 n, u32 all) {
        first = n;
        count = all;
        if (!all) return;
        at = (u32)(box.place(n) - chunk);
        u32 before = 0;
        u64 of_step = 1;
#pragma unroll 1
        for (u32 a = 0; a < AXES; a++) {
            const bool there = a < box.rank;
            const u32 k = there ? box.rank - 1 - a : 0, own = there ? (u32)(of_step << box.shift_of(k)) : 0;
            const u64 all = there ? box.lens[k] : ~0ull, next = there ? Box::quotient(n, all) : 0;
            left[a] = (u32)min_of(all - (n - next * all), (u64)FAR);
            len[a] = (u32)min_of(all, (u64)FAR);
            jump[a] = own - before;
            before = own * (u32)all;
            n = next;
            if (there) of_step *= box.len[k];
        }
        step = jump[0];
    }
    // Where element i of them lies in the chunk.
    DEV u32 place(u32 i, const Box& box, u64 chunk) const {
        u32 to = at + i * step, passed = i;
#pragma unroll
        for (u32 a = 0; a + 1 < AXES; a++) {
            passed = passed < left[a] ? 0 : 1 + times_within(passed - left[a], len[a]);
            to += passed * jump[a + 1];
        }
        return passed < left[AXES - 1] ? to : (u32)(box.place(first + i) - chunk);
    }
};

// What elements of packed bodies are not: numbers of missing values, and the next larger ones that they are instead.
template <class T> struct Beside {
    typedef typename T::Word Word;
    Word from[2 * MAX_MISSING], to[2 * MAX_MISSING];    // in their order, of a zero both
    u32 count;

    DEV void set(const Header& head) {
        count = 0;
        if (!head.next) return;
#pragma unroll 1
        for (u32 k = 0; k < head.values; k++) {
            const Word m = (Word)head.missing[k];
            Word next;
            if (!next_above<T>(m, next)) continue;
            add(m, next);
            if ((m & ones<T>(T::BITS - 1)) == 0) add(m ^ (Word)1 << (T::BITS - 1), next);
        }
    }
    DEV void add(Word a, Word b) {
        from[count] = a;
        to[count++] = b;
    }
    DEV void replace(Word (&v)[T::VALUES]) const {
#pragma unroll 1
        for (u32 k = 0; uniform(k) < count; k++) {
            const Word a = from[k], b = to[k];
            change<T>(v, [=](Word x) { return x == a ? b : x; });
        }
    }
};

// Which elements of a warp's subchunks are missing: a bit for each, and two that say which value it is. Each warp reads
// what the plane tells of its own.
template <class T> struct Masks {
    typedef typename T::Word Word;
    enum {
        WORDS = SUBCHUNKS_A_DECODER * T::VALUES,
        ROUNDS = (WORDS + 31) / 32,
        FLAGS = T::VALUES / 2,     // bytes of a subchunk's flags, each for eight of its bytes of changes
        LANES = 32 / T::VALUES,    // of a word
        ALL = (1u << T::VALUES) - 1
    };
    u64 value[MAX_MISSING];
    u32 any[WORDS], low[WORDS], high[WORDS];
    u32 several;                // whether there are several values; of one alone value[0] is that
    const Beside<T>* beside;    // what is to be replaced before

    // Where no element is missing. For a whole warp.
    DEV void set_none(u32 lane) {
        for (u32 w = lane; w < WORDS; w += 32) any[w] = 0;
        if (lane == 0) several = 0;
        __syncwarp();
    }

    // The masks from the plane that a body begins with; false if it is not valid. For a whole warp.
    DEV bool read(const u32* plane, const u64* missing, u32 warp, u32 lane) {
        const u32 which = plane[0] & 15, bytes = (plane[0] >> 16) * ALIGN;
        for (u32 w = lane; w < WORDS; w += 32) any[w] = low[w] = high[w] = 0;
        if (lane < MAX_MISSING) value[lane] = missing[which & which - 1 ? lane : __ffs((i32)which) - 1];
        if (lane == 0) several = which & which - 1;
        u32 at = 4;
        bool good = true;
#pragma unroll 1
        for (u32 k = 0; good && uniform(k) < MAX_MISSING; k++)
            if (uniform(which >> k & 1)) good = read_value(plane, bytes, at, k, warp, lane);
        __syncwarp();    // lanes use what others have read
        // Fewer zero bytes than a unit follow.
        return good && bytes - at < ALIGN && (at + lane >= bytes || ((const u8*)plane)[at + lane] == 0);
    }
    // The mask of value k at byte `at`, which moves on. Lane s sees where subchunk s, which is block s of the plane,
    // has its bytes of changes, then each lane makes words of them.
    DEV bool read_value(const u32* plane, u32 bytes, u32& at, u32 k, u32 warp, u32 lane) {
        if (at + 8 > bytes) return false;
        const u32 first = bits_at(plane, at), mixed = bits_at(plane, at + 4), flags_at = at + 8;
        at = flags_at + FLAGS * __popc(mixed);
        if ((first | mixed) == 0 || at > bytes) return false;
        const bool is_mixed = mixed >> lane & 1;
        const u32 flags =
            is_mixed ? bits_at(plane, flags_at + FLAGS * __popc(mixed & low_ones(lane))) & low_ones(8 * FLAGS) : 0;
        const u32 own = __popc(flags), up_to = warp_running_sum(own), from = at + up_to - own;
        at += __shfl_sync(FULL, up_to, 31);
        if (at > bytes) return false;
        bool good = !is_mixed || flags;
#pragma unroll
        for (u32 round = 0; round < ROUNDS; round++) {
            const u32 w = 32 * round + lane, s = (warp * SUBCHUNKS_A_DECODER + w / T::VALUES) % SUBCHUNKS,
                      i = w % T::VALUES;
            const u32 all = __shfl_sync(FULL, flags, s), start = __shfl_sync(FULL, from, s), some = all >> 4 * i & 15;
            const u32 x = __byte_perm(bits_at(plane, start + __popc(all & low_ones(4 * i))), 0, spread_by(some));
            good &= __popc(used_bytes(x)) == __popc(some) && (i || !(x & 1));
            // Each bit becomes the parity of all up to it, in words before this one too.
            u32 word = x;
#pragma unroll
            for (u32 j = 1; j < 32; j *= 2) word ^= word << j;
            const u32 odd = __ballot_sync(FULL, word >> 31) & low_ones(lane) & ~low_ones(lane - i);
            if ((__popc(odd) ^ first >> s) & 1) word = ~word;
            if (w >= WORDS) continue;
            good &= !(word & any[w]);    // no element has two values
            any[w] |= word;
            if (k & 1) low[w] |= word;
            if (k & 2) high[w] |= word;
        }
        return __all_sync(FULL, good);
    }

    // A lane's elements of the warp's subchunk k, with the missing values where they belong.
    DEV uint4 put(const uint4& q, u32 k, u32 lane) const {
        const u32 w = k * T::VALUES + lane / LANES, bit = lane % LANES * T::VALUES, gaps = any[w] >> bit;
        Word v[T::VALUES];
        split(q, v);
        if (beside) beside->replace(v);
        if (uniform(several)) {
            const u32 lower = low[w] >> bit, higher = high[w] >> bit;
#pragma unroll
            for (int i = 0; i < T::VALUES; i++)
                if (gaps >> i & 1) v[i] = (Word)value[(lower >> i & 1) | (higher >> i & 1) << 1];
        } else {
            const Word one = (Word)value[0];
#pragma unroll
            for (int i = 0; i < T::VALUES; i++) v[i] = gaps >> i & 1 ? one : v[i];
        }
        return join(v);
    }
};
