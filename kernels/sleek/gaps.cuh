// Missing values of a chunk (docs/format.md §5): which elements have one, told by a plane before the body, and what the
// body holds in their places: the element before them in their subchunk, which is a block of the plane.
//
// Each warp looks at its own subchunks and leaves what the others need of them in Gaps. The plane is made from the
// elements once more, when the chunk is packed: to keep its bits until then there is no room.
#pragma once
#include "layout.cuh"

// What a chunk's subchunks say.
template <class T> struct Gaps {
    typedef typename T::Word Word;
    u32 first[MAX_MISSING], mixed[MAX_MISSING];    // of each value as the plane has them
    u8 changes[MAX_MISSING][SUBCHUNKS];            // bytes of changes
    Word element[COMPRESS_WARPS];                  // of each warp: the first element that is there
    Word tail;                                     // the last element that is there of the subchunk that data end in
    u8 there[COMPRESS_WARPS];                      // of each warp: whether there is one
    u8 some[COMPRESS_WARPS];                       // of each warp: whether one is missing
    u8 all[COMPRESS_WARPS];                        // of each warp: bit k: all are value k
    u32 has_tail;

    DEV bool any_some() const { return *(const u32*)some; }
    DEV bool any_there() const { return *(const u32*)there; }
    // The value that all elements are, counted from 1; 0 where there is none.
    DEV u32 only() const { return __ffs((i32)(all[0] & all[1] & all[2] & all[3])); }
    DEV bool is_masked() const { return any_some() && !only(); }
    // The first element that is there.
    DEV Word first_element() const { return element[(__ffs((i32) * (const u32*)there) - 1) / 8 & 3]; }
};

// The missing values of a stream, and how its elements lie in memory.
template <class T> struct Finder {
    typedef typename T::Word Word;
    enum { ALL = (1u << T::VALUES) - 1, FLAG_BYTES = T::VALUES / 2, LANES_A_BYTE = 8 / T::VALUES };
    const CompressArgs& a;
    u32 lane, warp;

    DEV Word value(u32 k) const { return (Word)a.missing[k]; }
    // A bit for each of a lane's words that is value k.
    DEV u32 hits(const Word (&v)[T::VALUES], u32 k) const {
        const Word value = this->value(k);
        u32 bits = 0;
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) bits |= (u32)(v[i] == value) << i;
        return bits;
    }
    // The same for any of them.
    DEV u32 any_hits(const Word (&v)[T::VALUES]) const {
        u32 bits = 0;
#pragma unroll 1
        for (u32 k = 0; k < a.values; k++) bits |= hits(v, k);
        return bits;
    }
    // A byte of changes on each lane that begins one, 0 on the others. For a whole warp.
    DEV u32 changes(u32 hits) const {
        const u32 below = __shfl_sync(FULL, hits >> (T::VALUES - 1), lane ? lane - 1 : 0);
        const u32 before = lane ? below : hits & 1;
        u32 x = (hits ^ (hits << 1 | before)) & ALL;
        if (T::VALUES == 2) x |= __shfl_sync(FULL, x, lane | 1) << 2;
        if (T::VALUES <= 4) x |= __shfl_sync(FULL, x, lane | (T::VALUES == 2 ? 2 : 1)) << 4;
        return lane % LANES_A_BYTE == 0 ? x : 0;
    }

    // What the warp's subchunks of a chunk of so many `bytes` say; `words` has the elements of subchunk k of the warp.
    template <class F> DEV void look(Gaps<T>& gaps, bool some, u32 bytes, const F& words) const {
        const u32 last = (bytes - 1) / SUBCHUNK_BYTES;
        u32 there = !some, all = some ? low_ones(a.values) : 0;
        Word first = 0, w[T::VALUES];
        if (!some) {
            split(words(0), w);
            first = __shfl_sync(FULL, w[0], 0);
        }
#pragma unroll 1
        for (u32 j = 0; j < a.values; j++) {
            if (lane == 0) {
                ((u8*)&gaps.first[j])[warp] = 0;
                ((u8*)&gaps.mixed[j])[warp] = 0;
            }
            if (lane < SUBCHUNKS_A_WARP) gaps.changes[j][warp * SUBCHUNKS_A_WARP + lane] = 0;
        }
        __syncwarp();
#pragma unroll 1
        for (u32 k = 0; uniform(some && k < SUBCHUNKS_A_WARP); k++) {
            const u32 s = warp * SUBCHUNKS_A_WARP + k;
            u32 union_of = 0;
            split(words(k), w);
#pragma unroll 1
            for (u32 j = 0; j < a.values; j++) {
                const u32 own = hits(w, j);
                const u32 bytes_of_changes = __popc(__ballot_sync(FULL, changes(own) != 0));
                union_of |= own;
                if (!__all_sync(FULL, own == ALL)) all &= ~(1u << j);
                if (lane == 0) {
                    ((u8*)&gaps.first[j])[warp] |= (own & 1) << k;
                    ((u8*)&gaps.mixed[j])[warp] |= (bytes_of_changes != 0) << k;
                    gaps.changes[j][s] = (u8)bytes_of_changes;
                }
            }
            const u32 valid = __ballot_sync(FULL, union_of != ALL);
            const Word head = __shfl_sync(FULL, first_of(w, union_of), valid ? __ffs((i32)valid) - 1 : 0);
            const Word tail = __shfl_sync(FULL, last_of(w, union_of), valid ? top_bit(valid) : 0);
            if (valid && !there) {
                there = 1;
                first = head;
            }
            if (lane == 0 && s == last) {
                gaps.tail = tail;
                gaps.has_tail = valid != 0;
            }
        }
        if (lane == 0) {
            gaps.element[warp] = first;
            gaps.there[warp] = (u8)there;
            gaps.some[warp] = (u8)some;
            gaps.all[warp] = (u8)all;
        }
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

    // The words of the warp's subchunk k of such a chunk with others in the places of missing ones. For a whole warp.
    DEV uint4 filled(const Gaps<T>& gaps, uint4 q, u32 k, u32 bytes) const {
        Word v[T::VALUES];
        split(q, v);
        const u32 missing = any_hits(v), valid = __ballot_sync(FULL, missing != ALL), below = valid & low_ones(lane);
        const Word head = __shfl_sync(FULL, first_of(v, missing), valid ? __ffs((i32)valid) - 1 : 0);
        const Word before = __shfl_sync(FULL, last_of(v, missing), below ? top_bit(below) : 0);
        Word last = below ? before : head;
        if (!valid) {
            const bool behind = (warp * SUBCHUNKS_A_WARP + k) * SUBCHUNK_BYTES >= bytes && gaps.has_tail;
            last = behind ? gaps.tail : gaps.first_element();
        }
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) v[i] = last = missing >> i & 1 ? last : v[i];
        return join(v);
    }

    // Units of the plane. For a whole warp.
    DEV u32 plane_units(const Gaps<T>& gaps) const {
        u32 bytes = 4;
#pragma unroll 1
        for (u32 j = 0; j < a.values; j++)
            if (uniform(gaps.first[j] | gaps.mixed[j]))
                bytes += 8 + FLAG_BYTES * __popc(gaps.mixed[j]) + __reduce_add_sync(FULL, gaps.changes[j][lane]);
        return (bytes + ALIGN - 1) / ALIGN;
    }

    // The plane, where there are zeros; each warp tells of its subchunks.
    template <class F>
    DEV void write_plane(u32* plane, const Gaps<T>& gaps, u32 units, u32 inner, const F& words) const {
        u32 at = 4, which = 0;
#pragma unroll 1
        for (u32 j = 0; j < a.values; j++) {
            const u32 first = gaps.first[j], mixed = gaps.mixed[j];
            if (!uniform(first | mixed)) continue;
            which |= 1u << j;
            const u32 own = gaps.changes[j][lane], up_to = warp_running_sum(own);
            const u32 flags_at = at + 8, changes_at = flags_at + FLAG_BYTES * __popc(mixed);
            if (threadIdx.x == 0) {
                or_bits(plane, 8 * at, first);
                or_bits(plane, 8 * (at + 4), mixed);
            }
#pragma unroll 1
            for (u32 k = 0; uniform(k) < SUBCHUNKS_A_WARP; k++) {
                const u32 s = warp * SUBCHUNKS_A_WARP + k;
                const u32 before = __shfl_sync(FULL, up_to - own, s);
                if (!uniform(mixed >> s & 1)) continue;
                Word v[T::VALUES];
                split(words(k), v);
                const u32 byte = changes(hits(v, j)), used = __ballot_sync(FULL, byte != 0);
                if (byte == 0) continue;
                or_within(plane, 8 * (changes_at + before + __popc(used & low_ones(lane))), byte);
                const u32 flags = flags_at + FLAG_BYTES * __popc(mixed & low_ones(s));
                or_within(plane, 8 * flags + lane / LANES_A_BYTE, 1);
            }
            __syncwarp();
            at = changes_at + __shfl_sync(FULL, up_to, 31);
        }
        if (threadIdx.x == 0) or_within(plane, 0, which | inner << 6 | units << 16);
    }
};
