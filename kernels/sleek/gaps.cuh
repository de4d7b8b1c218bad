// Twin: src/missing/gaps/mod.rs
// Missing values of a chunk (docs/reference/format.md §5): which elements have one, told by a plane before the body,
// and what the body holds in their places: the element before them in their subchunk, which is a block of the plane.
//
// Each lane makes a bit for each of its words, of which a warp has eight subchunks. In the order of the elements these
// are words of a mask, of which a lane has one or two: all that the plane tells follows by a few operations on them.
// Chunks without missing values cost the comparisons and one vote.
#pragma once
#include "../common/beside.cuh"
#include "layout.cuh"

// A bit for each of a lane's words: word i of the warp's subchunk k is bit k · VALUES + i.
template <class T> using HitsOf = typename If<T::VALUES == 8, u64, u32>::Type;

// What a chunk's subchunks say, of up to MOST values.
template <class T, u32 MOST> struct Gaps {
    enum { FIRST = 0x80 };
    u8 told[MOST][SUBCHUNKS];    // of each value: bytes of changes, and whether the first element has it
    u8 some[COMPRESS_WARPS];     // of each warp: whether one is missing
    u8 all[COMPRESS_WARPS];      // of each warp: bit k: all are value k
    u32 collides;                // whether an integer would come back as a missing value

    // The value that all elements are, counted from 1; 0 where there is none.
    DEV u32 only() const { return __ffs((i32)(all[0] & all[1] & all[2] & all[3])); }
    DEV bool is_masked() const { return *(const u32*)some && !only(); }
};

// What each warp of a block has to say about a chunk, a number of up to 7 bits, in a byte of its own. No barrier, for
// most need not know what others say.
struct Vote {
    static_assert(COMPRESS_WARPS == 4, "a byte each");
    u32 said;

    DEV void say(u32 number, u32 warp, u32 lane) {
        if (lane == 0) atomicOr(&said, (0x80 | number) << 8 * warp);
    }
    // What all said, once they have.
    DEV u32 wait(u32 lane) {
        u32 all;
        do {
            YIELD();
            all = __shfl_sync(FULL, lane ? 0 : atomicOr(&said, 0u), 0);
        } while (uniform(~all & 0x80808080u));
        return all & 0x7f7f7f7fu;
    }
};

// What is kept of up to MOST missing values, where a kernel knows of such.
template <class T, u32 MOST> struct Missing {
    Gaps<T, MOST> gaps[2];    // of chunks of even and odd rounds
    // Each warp its own, if one is missing there: of each value a bit for each element that differs from the one before
    // it in its subchunk, in the order of the elements.
    u32 changes[MOST][COMPRESS_WARPS][SUBCHUNKS_A_WARP * T::VALUES];
    typename T::Word taken[MOST];    // integers that would come back as missing values
    u32 taken_count;
    Vote there;    // in which of a warp's subchunks the first element is that is there
};
template <class T> struct Missing<T, 0> {};

// Whether a bin comes back as a missing value, and which.
template <class T> DEV bool has_bin(const Quantizer<T>& quantizer, typename T::Word bits, typename T::Word& bin) {
    typedef typename T::Word Word;
    const Word magnitude = bits & ones<T>(T::BITS - 1);
    // What is beyond the quantizer's range keeps its bits; the last bin may lie there, or a little beyond.
    if (magnitude > quantizer.top + 3) return false;
    bin = wrap<T>(quantizer.bin(Quantizer<T>::number_of_element(bits)));
    const Word value = quantizer.restore_any(bin), distance = wrap<T>(negative<T>(bin) ? 0 - bin : bin);
    return distance < quantizer.k && (value == bits || (magnitude == 0 && value == 0));
}

// The missing values of a stream, what a chunk says of them, and where lanes keep which of their words are which.
template <class T, u32 MOST> struct Finder {
    typedef typename T::Word Word;
    typedef HitsOf<T> Hits;
    enum {
        PER_WARP = SUBCHUNKS_A_WARP,
        ALL = (1u << T::VALUES) - 1,
        FLAG_BYTES = T::VALUES / 2,
        MASK_WORDS = PER_WARP * T::VALUES,    // of a value's mask that the warp has: T::VALUES of each subchunk
        MASK_ROWS = (MASK_WORDS + 31) / 32,
        IS_THERE = 0x40    // in what a warp says: that it has an element that is no missing value
    };
    const CompressArgs& a;
    Missing<T, MOST>& kept;
    Gaps<T, MOST>& gaps;
    u32 lane, warp;

    DEV u32 values() const { return a.values; }
    DEV Word value(u32 k) const { return (Word)a.missing[k]; }
    // A bit for each of a lane's words that is `value`, the lowest one `at`.
    static DEV void hits(const Word (&v)[T::VALUES], Word value, u32& bits, u32 at = 0) {
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) set_if_equal(bits, 1u << (at + i), v[i], value);
    }
    // The same for any of them.
    DEV u32 any_hits(const Word (&v)[T::VALUES]) const {
        u32 bits = 0;
#pragma unroll 1
        for (u32 k = 0; k < values(); k++) hits(v, value(k), bits);
        return bits;
    }
    // All of a lane's bits, and the first of each subchunk.
    static DEV Hits whole() { return (Hits) ~(Hits)0 >> (8 * sizeof(Hits) - PER_WARP * T::VALUES); }
    static DEV Hits lowest() { return whole() / ALL; }
    static DEV u32 place_of_lowest(u32 bits) { return __ffs((i32)bits) - 1; }
    static DEV u32 place_of_lowest(u64 bits) {
        return (u32)bits ? __ffs((i32)(u32)bits) - 1 : 31 + __ffs((i32)(u32)(bits >> 32));
    }
    // A bit for each word of a lane that is `value`.
    static DEV Hits hits(const uint4 (&q)[PER_WARP], Word value) {
        enum { PARTS = 4, BITS = 2 * T::VALUES };    // two subchunks each, so that none waits for another
        u32 part[PARTS] = {0, 0, 0, 0};
#pragma unroll
        for (int k = 0; k < PER_WARP; k++) {
            Word v[T::VALUES];
            split(q[k], v);
            hits(v, value, part[k / 2], k % 2 * T::VALUES);
        }
        return (Hits)(part[0] | part[1] << BITS) | (Hits)(part[2] | part[3] << BITS) << 2 * BITS;
    }
    // The same for any of the values.
    DEV Hits missing(const uint4 (&q)[PER_WARP]) const {
        Hits any = 0;
#pragma unroll 1
        for (u32 j = 0; j < values(); j++) any |= hits(q, value(j));
        return any;
    }
    // Of each lane's first words in the subchunks: the bits of the words before them. For a whole warp.
    DEV Hits before_first(Hits own, Hits of_first_lane) const {
        const Hits below = __shfl_sync(FULL, own, lane ? lane - 1 : 0) >> (T::VALUES - 1);
        return (lane ? below : of_first_lane) & lowest();
    }
    // A mask of the warp's words in the order of the elements, by way of memory. For a whole warp.
    static DEV void put_mask(Hits own, u8* bytes, u32 lane) {
        u32 x = (u32)own, low = x, high = (u32)((u64)own >> 32);
        if (T::VALUES == 2) {
            const u32 next = __shfl_sync(FULL, x, lane ^ 1);
            x = (x & 0x3333) | (next & 0x3333) << 2 | ((x >> 2 & 0x3333) | (next & 0xcccc)) << 16;
        }
        if (T::VALUES < 8) {
            const u32 next = __shfl_sync(FULL, x, lane ^ (T::VALUES == 2 ? 2 : 1));
            low = (x & 0x0f0f0f0f) | (next & 0x0f0f0f0f) << 4;
            high = (x >> 4 & 0x0f0f0f0f) | (next & 0xf0f0f0f0);
        }
        // A byte of each subchunk: pairs of lanes have their halves beside each other.
        if (lane * T::VALUES % 8 == 0) {
#pragma unroll
            for (u32 k = 0; k < PER_WARP; k++) {
                const u32 half = T::VALUES == 4 ? k : (k & 1) * 4 + k / 2;
                const u32 byte =
                    T::VALUES == 8 ? (k < 4 ? low : high) >> 8 * (k & 3) : (half & 1 ? high : low) >> 8 * (half / 2);
                bytes[k * 4 * T::VALUES + lane * T::VALUES / 8] = (u8)byte;
            }
        }
        __syncwarp();
    }
    // The changes of the warp's words that are value j, and what its subchunks say of them. For a whole warp.
    DEV void tell_changes(Hits own, u32 j) const {
        u32* words = kept.changes[j][warp];
        put_mask(own, (u8*)words, lane);
#pragma unroll
        for (u32 row = 0; row < MASK_ROWS; row++) {
            const u32 at = 32 * row + lane;
            const bool is_first = at % T::VALUES == 0, there = at < MASK_WORDS;
            const u32 word = there ? words[at] : 0, below = __shfl_sync(FULL, word, lane ? lane - 1 : 0);
            const u32 changes = word ^ __funnelshift_l(is_first ? word << 31 : below, word, 1);
            if (there) words[at] = changes;
            u32 bytes = __popc(used_bytes(changes));
#pragma unroll
            for (u32 distance = 1; distance < T::VALUES; distance *= 2)
                bytes += __shfl_sync(FULL, bytes, lane ^ distance);
            if (is_first && there)
                gaps.told[j][warp * PER_WARP + at / T::VALUES] = (u8)(bytes | (word & 1 ? gaps.FIRST : 0));
        }
    }

    // Whether any of the warp's words is missing.
    DEV bool is_any_missing(const uint4 (&q)[PER_WARP]) const {
        bool any = false;
#pragma unroll 1
        for (u32 j = 0; j < values(); j++) {
            const Word value = this->value(j);
#pragma unroll
            for (int k = 0; k < PER_WARP; k++) any |= any_of<T>(q[k], [&](Word v) { return v == value; });
        }
        return __any_sync(FULL, any);
    }
    // What the warp's words say; which of a lane's are missing. Where a warp had missing ones before, it will again.
    DEV Hits look(const uint4 (&q)[PER_WARP]) const {
        const bool may_be = uniform(gaps.some[warp]) || is_any_missing(q);
        Hits missing = 0;
        u32 all = 0;
#pragma unroll 1
        for (u32 j = 0; j < values(); j++) {
            if (uniform(may_be)) {
                const Hits own = hits(q, value(j));
                missing |= own;
                all |= (u32)__all_sync(FULL, own == whole()) << j;
                tell_changes(own, j);
            } else if (lane < PER_WARP) {
                gaps.told[j][warp * PER_WARP + lane] = 0;
            }
        }
        const bool some = __any_sync(FULL, missing != 0);
        if (lane == 0) {
            gaps.some[warp] = (u8)some;
            gaps.all[warp] = (u8)all;
        }
        return missing;
    }
    // The first subchunk of the warp in which a word is there; PER_WARP where there is none. For a whole warp.
    static DEV u32 first_subchunk(Hits missing) {
        Hits there = whole() & ~missing;
#pragma unroll
        for (int i = 1; i < T::VALUES; i *= 2) there |= there >> i;
        there = warp_or(there & lowest());
        return there ? place_of_lowest(there) / T::VALUES : PER_WARP;
    }

    static DEV Word first_of(const Word (&v)[T::VALUES], u32 missing) {
        Word first = v[T::VALUES - 1];
#pragma unroll
        for (int i = T::VALUES - 2; i >= 0; i--) first = missing >> i & 1 ? first : v[i];
        return first;
    }
    static DEV Word last_of(const Word (&v)[T::VALUES], u32 missing) {
        Word last = v[0];
#pragma unroll
        for (int i = 1; i < T::VALUES; i++) last = missing >> i & 1 ? last : v[i];
        return last;
    }
    // Of a subchunk's words the first or the last that is there; false where none is. For a whole warp.
    DEV bool find(const uint4& q, bool wants_last, Word& found) const {
        Word v[T::VALUES];
        split(q, v);
        const u32 missing = any_hits(v), valid = __ballot_sync(FULL, missing != ALL);
        if (!uniform(valid)) return false;
        const Word own = wants_last ? last_of(v, missing) : first_of(v, missing);
        found = __shfl_sync(FULL, own, wants_last ? top_bit(valid) : __ffs((i32)valid) - 1);
        return true;
    }

    // The words of a subchunk, of which some are there, with others in the places of missing ones. For a whole warp.
    DEV uint4 filled(const uint4& q, u32 missing, u32 valid) const {
        Word v[T::VALUES];
        split(q, v);
        const u32 below = valid & low_ones(lane);
        const Word head = __shfl_sync(FULL, first_of(v, missing), __ffs((i32)valid) - 1);
        const Word before = __shfl_sync(FULL, last_of(v, missing), below ? top_bit(below) : 0);
        Word last = below ? before : head;
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) v[i] = last = missing >> i & 1 ? last : v[i];
        return join(v);
    }
    // What the warp's words say, to the others too; which of a lane's are missing.
    DEV Hits tell(const uint4 (&q)[PER_WARP]) const {
        const Hits missing = look(q);
        __syncwarp();    // all see what one has written
        const u32 at = uniform(gaps.some[warp]) ? first_subchunk(missing) : 0;
        kept.there.say(at < PER_WARP ? IS_THERE | at : 0, warp, lane);
        return missing;
    }
    // What the warp's subchunk k takes that has nothing but missing values: the first element of the chunk that is
    // there; behind the end of the data the last one of the subchunk that they end in. False where there is none.
    // `vector` loads a lane's words of the chunk. For a whole warp, which waits for the others.
    template <class F> DEV bool find_other(u32 bytes, u32 k, const F& vector, Word& other) const {
        if (uniform(is_behind(bytes, k))) {
            const u32 last = (bytes - 1) / SUBCHUNK_BYTES * SUBCHUNK_BYTES;
            if (find(vector(last + lane * 16), true, other)) return true;
        }
        const u32 told = kept.there.wait(lane), which = told & IS_THERE * 0x01010101u;
        if (!uniform(which)) return false;
        const u32 first = (__ffs((i32)which) - 1) / 8, subchunk = first * PER_WARP + (told >> 8 * first & PER_WARP - 1);
        return find(vector(subchunk * SUBCHUNK_BYTES + lane * 16), false, other);
    }
    // Whether the warp's subchunk k is one of those behind the end of the data.
    DEV bool is_behind(u32 bytes, u32 k) const { return (warp * PER_WARP + k) * SUBCHUNK_BYTES >= bytes; }
    // Puts others into the places of `missing` words of a warp that has such, by way of its tile, where they stay. The
    // chunk has so many `bytes`; `vector` as above. For a whole warp.
    template <class Words, class F>
    DEV void fill(uint4 (&q)[PER_WARP], Hits missing, const Words& tile, u32 bytes, const F& vector) const {
#pragma unroll
        for (int k = 0; k < PER_WARP; k++) tile.at(k, lane) = q[k];
        __syncwarp();    // lanes read their neighbours'
        // A word whose neighbour below is there, or on the same lane, takes that one; other subchunks are filled as a
        // whole.
        const Hits hard = warp_or(missing & before_first(missing, whole()));
#pragma unroll 1
        for (Hits left = missing & ~(Hits)(hard * ALL); left; left &= left - 1) {
            const u32 at = place_of_lowest(left), k = at / T::VALUES, i = at % T::VALUES;
            put(tile.at(k, lane), i, get(tile.at(k, i ? lane : lane - 1), (i - 1) % T::VALUES));
        }
        __syncwarp();
        u32 known = 0;    // whether it was asked for what empty subchunks take, and whether there is such
        Word all = 0;
#pragma unroll 1
        for (Hits left = hard; uniform(left != 0); left &= left - 1) {
            const u32 at = place_of_lowest(left), k = at / T::VALUES, own = (u32)(missing >> at) & ALL;
            const u32 valid = __ballot_sync(FULL, own != ALL);
            uint4& words = tile.at(k, lane);
            if (uniform(valid)) {
                words = filled(words, own, valid);
                continue;
            }
            if (uniform(!known || is_behind(bytes, k))) known = 1 + find_other(bytes, k, vector, all);
            if (uniform(known == 2)) words = all_of<T>(all);
        }
#pragma unroll
        for (int k = 0; k < PER_WARP; k++) q[k] = tile.at(k, lane);
    }
    static DEV Word get(const uint4& q, u32 i) {
        return T::BITS == 64   ? (Word)((const u64*)&q)[i]
               : T::BITS == 32 ? (Word)((const u32*)&q)[i]
                               : (Word)((const u16*)&q)[i];
    }
    static DEV void put(uint4& q, u32 i, Word v) {
        if (T::BITS == 64) ((u64*)&q)[i] = v;
        if (T::BITS == 32) ((u32*)&q)[i] = (u32)v;
        if (T::BITS == 16) ((u16*)&q)[i] = (u16)v;
    }

    // The least number within the bound of the one next to value j; infinite where that may not take a number's place.
    DEV double least_beside(u32 j, double abs_bound) const {
        Word next;
        bool there = next_above<T>(value(j), next);
        for (u32 k = 0; k < values(); k++) there &= next != value(k);
        return there ? least_within((double)Quantizer<T>::number_of_element(next), abs_bound) : nowhere();
    }
    // The same for a relative bound (bound::least_relative, plan::colliding).
    DEV double least_beside_relative(u32 j) const {
        Word next;
        bool there = next_above<T>(value(j), next) && a.bound < 1.0;
        for (u32 k = 0; k < values(); k++) there &= next != value(k) && (value(k) & ones<T>(T::BITS - 1)) != 0;
        return there ? least_relative((double)Quantizer<T>::number_of_element(next), a.bound) : nowhere();
    }
    // Whether all of a chunk's elements that would come back as missing value j are at least `least`, so that the next
    // larger number may take their place; `integer` tells what an element becomes, `same` what that value is, and
    // `words` a lane's of the warp's subchunk k, without missing ones.
    template <class I, class F> DEV bool are_beside(Word same, double least, const I& integer, const F& words) const {
        bool far = false;
#pragma unroll 1
        for (u32 k = 0; uniform(k) < PER_WARP; k++)
            far |= any_of<T>(words(k), [&](Word v) {
                return integer(v) == same && (double)Quantizer<T>::number_of_element(v) < least;
            });
        return !far;
    }
    // Whether all elements that are rounded to missing values are so within the relative bound. For a whole block.
    template <class R, class F> DEV bool all_round_beside(const R& rounding, const F& words) const {
        bool good = true;
#pragma unroll 1
        for (u32 j = 0; uniform(j) < values(); j++)
            good &= are_beside(value(j), least_beside_relative(j), [&](Word v) { return rounding.apply(v); }, words);
        return !__syncthreads_or(!good);
    }
    // The same of elements with bins (all_come_beside in src/codec/sleek/collide.rs).
    template <class F> DEV bool all_come_beside(const Quantizer<T>& quantizer, double abs_bound, const F& words) const {
        bool good = true;
#pragma unroll 1
        for (u32 j = 0; uniform(j) < values(); j++) {
            Word bin;
            if (has_bin(quantizer, value(j), bin))
                good &= are_beside(bin, least_beside(j, abs_bound), [&](Word v) { return quantizer.bin_of(v); }, words);
        }
        return !__syncthreads_or(!good);
    }
    // What a constant chunk has that would come back as a missing value.
    DEV Word beside_missing(Word bits) const {
        Word next;
        for (u32 j = 0; j < values(); j++) {
            const Word m = value(j);
            const bool same = bits == m || ((bits | m) & ones<T>(T::BITS - 1)) == 0;
            if (same && next_above<T>(m, next)) return next;
        }
        return bits;
    }

    // What subchunk `lane` says of value j: bytes of changes. And all of them: where it stands first, and changes.
    DEV u32 changes_of(u32 j, u32& first, u32& mixed) const {
        const u32 told = gaps.told[j][lane], bytes = told & (gaps.FIRST - 1);
        first = __ballot_sync(FULL, told >= gaps.FIRST);
        mixed = __ballot_sync(FULL, bytes);
        return bytes;
    }
    // Units of the plane. For a whole warp.
    DEV u32 plane_units() const {
        u32 bytes = 4, first, mixed;
#pragma unroll 1
        for (u32 j = 0; j < values(); j++) {
            const u32 own = changes_of(j, first, mixed);
            if (uniform(first | mixed)) bytes += 8 + FLAG_BYTES * __popc(mixed) + __reduce_add_sync(FULL, own);
        }
        return (bytes + ALIGN - 1) / ALIGN;
    }

    // The plane; each warp tells of its subchunks. Byte by byte, for no two write to the same.
    DEV void write_plane(u8* plane, u32 units, u32 inner) const {
        u32 at = 4, which = 0, first, mixed;
#pragma unroll 1
        for (u32 j = 0; j < values(); j++) {
            const u32 own = changes_of(j, first, mixed);
            if (!uniform(first | mixed)) continue;
            which |= 1u << j;
            const u32 up_to = warp_running_sum(own), flags_at = at + 8,
                      changes_at = flags_at + FLAG_BYTES * __popc(mixed);
            if (threadIdx.x < 8) plane[at + lane] = (u8)((lane < 4 ? first : mixed) >> 8 * (lane & 3));
            if (uniform(mixed >> warp * PER_WARP & 0xff))
                write_changes(plane, j, flags_at, changes_at + up_to - own, mixed);
            at = changes_at + __shfl_sync(FULL, up_to, 31);
        }
        if (warp == 0 && at + lane < units * ALIGN) plane[at + lane] = 0;
        if (threadIdx.x == 0) *(u32*)plane = which | inner << 6 | units << 16;
    }
    // Flags and changes of the warp's subchunks; `changes_at`: where those of subchunk `lane` begin.
    DEV void write_changes(u8* plane, u32 j, u32 flags_at, u32 changes_at, u32 mixed) const {
#pragma unroll
        for (u32 row = 0; row < MASK_ROWS; row++) {
            const u32 at = 32 * row + lane;
            const u32 subchunk = warp * PER_WARP + at / T::VALUES % PER_WARP;
            u32 changes = at < MASK_WORDS ? kept.changes[j][warp][at] : 0;
            const u32 used = used_bytes(changes), own = __popc(used), up_to = running_sum<T::VALUES>(own);
            u8* to = plane + __shfl_sync(FULL, changes_at, subchunk) + up_to - own;
#pragma unroll
            for (int i = 0; i < 4; i++, changes >>= 8)
                if (changes & 0xff) *to++ = (u8)changes;
            // A bit for each byte; two lanes have a byte of such.
            const u32 bits = (used >> 7) * 0x10204080u >> 28, next = __shfl_sync(FULL, bits, lane ^ 1);
            if (lane % 2 == 0 && at < MASK_WORDS && mixed >> subchunk & 1)
                plane[flags_at + FLAG_BYTES * __popc(mixed & low_ones(subchunk)) + at % T::VALUES / 2] =
                    (u8)(bits | next << 4);
        }
    }
};
