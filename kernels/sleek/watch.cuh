// Twin: src/runtime/cpu/watched.rs
// Whether an array may have a missing value that nobody named: its elements are watched while they are compressed, and
// the array is looked at once more only where there may be one (kernels/common/marks.cuh). src/runtime/cpu/watched.rs
// does the same.
//
// A number's **rank** is a word of 32 bits whose order is that of the numbers: of f64 the upper half of one. Both zeros
// have rank 0, and so have numbers of f64 that differ from these in the lower half.
#pragma once
#include "../common/range.cuh"

#define NO_RANK ((i32)0x80000000)    // below all others

// Turns the order of negative numbers round, and back.
DEV i32 rank_of_bits(u32 bits) { return (i32)(bits ^ ((u32)((i32)bits >> 31) >> 1)); }

// The ranks of the least and the largest of some elements. NaN of f32 do not count, those of f64 and infinities are
// ends.
template <class T> struct Ranks {
    i32 low = 0x7fffffff, high = NO_RANK;

    DEV void take(u64 bits) {
        const i32 rank = rank_of_bits((u32)(bits >> 32));
        low = rank < low ? rank : low;
        high = rank > high ? rank : high;
    }
    DEV i32 lowest() const { return low == -1 ? 0 : low; }
    DEV i32 highest() const { return high == -1 ? 0 : high; }
};
template <> struct Ranks<F32> {
    float low = float_of(0x7f800000u), high = -float_of(0x7f800000u);

    DEV void take(u32 bits) {
        low = fminf(float_of(bits), low);
        high = fmaxf(float_of(bits), high);
    }
    DEV i32 lowest() const { return rank_of_bits(bits_of(low + 0.0f)); }
    DEV i32 highest() const { return rank_of_bits(bits_of(high + 0.0f)); }
};

// The rank of the largest element that a block has met and another one next to it; the same of the least, negated.
struct Watch {
    i32 most[2], least[2];

    DEV void clear() { most[0] = most[1] = least[0] = least[1] = NO_RANK; }
    // Takes the elements of each lane. For a whole warp, in whose shared memory this is.
    template <class T, u32 N> DEV void see(const uint4 (&q)[N]) {
        Ranks<T> ranks;
#pragma unroll
        for (int k = 0; k < N; k++) {
            typename T::Word v[T::VALUES];
            split(q[k], v);
#pragma unroll
            for (int i = 0; i < T::VALUES; i++) ranks.take(v[i]);
        }
        const i32 low = ~ranks.lowest(), high = ranks.highest();
        const bool news = (high > most[1] && high != most[0]) || (low > least[1] && low != least[0]);
        if (__any_sync(FULL, news)) take(low, high);
    }
    DEV void take(i32 low, i32 high) {
        // What is next to the largest rank may be the largest of another lane, or the least of this one.
        const i32 all_high = __reduce_max_sync(FULL, high), all_low = __reduce_max_sync(FULL, low),
                  next_high = __reduce_max_sync(FULL, high < all_high   ? high
                                                      : ~low < all_high ? ~low
                                                                        : NO_RANK),
                  next_low = __reduce_max_sync(FULL, low < all_low     ? low
                                                     : ~high < all_low ? ~high
                                                                       : NO_RANK);
        if ((threadIdx.x & 31) == 0) {
            keep_two(most, most + 1, all_high, next_high, NO_RANK);
            keep_two(least, least + 1, all_low, next_low, NO_RANK);
        }
        __syncwarp();
    }
    // To those of an array.
    DEV void tell(u64* seen) const {
        if (most[0] == NO_RANK) return;
        const Two high = {key_of(most[0]), key_of(most[1])}, low = {key_of(least[0]), key_of(least[1])};
        high.keep(seen, seen + 1);
        low.keep(seen + 2, seen + 3);
    }
    // Keys are above 0, but for none.
    static DEV u64 key_of(i32 rank) { return (u32)rank ^ 1u << 31; }
    static DEV i32 rank_of(u64 key) { return (i32)((u32)key ^ 1u << 31); }
};

// The least and the largest number of a rank.
template <class T> struct OfRank {
    double least, most;

    DEV explicit OfRank(i32 rank) {
        const u32 bits = (u32)rank_of_bits((u32)rank);
        if (T::BITS == 32) {
            least = most = (double)float_of(bits);
            return;
        }
        const double a = float_of((u64)bits << 32), b = float_of((u64)bits << 32 | 0xffffffffu);
        least = rank == 0 ? -b : a < b ? a : b;
        most = a < b ? b : a;
    }
    DEV bool is_finite() const { return least - least == 0.0 && most - most == 0.0; }
    DEV bool may_be(double magnitude) const {
        return (least <= magnitude && magnitude <= most) || (least <= -magnitude && -magnitude <= most);
    }
};

// Whether an array that was compressed may have a mark. For a whole warp.
template <class T> DEV bool may_have_marks(const CompressArgs& a, const Slot& slot) {
    const u64* const seen = slot.seen + SEEN_WHILE;
    if (slot.control.status || !seen[1] || !seen[3]) return true;
    const OfRank<T> high(Watch::rank_of(seen[0])), below(Watch::rank_of(seen[1])), low(~Watch::rank_of(seen[2])),
        above(~Watch::rank_of(seen[3]));
    if (!high.is_finite() || !low.is_finite()) return true;
    const double others = below.least - above.most;
    if (!(high.most - below.least <= others && above.most - low.least <= others)) return true;
    bool usual = false;
#pragma unroll 1
    for (u32 i = threadIdx.x & 31; i < USUAL; i += 32) usual |= high.may_be(a.usual[i]) || low.may_be(a.usual[i]);
    return __any_sync(FULL, usual);
}

// The range of an array, where nobody has seen enough of it.
template <class T> DEV void measure_range_in_doubt(const CompressArgs& a) {
    const Share share(a.batch);
    if constexpr (T::BITS > 16)
        if (a.search == SEARCH_WHILE && !may_have_marks<T>(a, a.batch.slots[share.item])) return;
    measure_range<T>(a);
}
