// Whether an array may have a missing value that nobody named, by its bins: they are looked at while they are coded, and
// the array itself only where there may be one (kernels/common/marks.cuh). src/runtime/cpu/watched.rs does the same.
//
// An element lies within a step of its bin. Where the next bins on both sides, among some of the array's, are close to
// its ends no end is a mark, unless it is one of the usual ones.
#pragma once
#include "../common/machine.cuh"
#include "../common/range.cuh"

// So many steps may two distances be longer together than by their bins.
#define WATCH_SLACK 4
#define NO_BIN ((i32)0x80000000)    // below all others
#define FAR_BIN 0x7fffffff          // it, and those that 32 bits do not hold

// The largest bin that a block has met and another one next to it; the same of bins with the other sign.
struct Watch {
    i32 most[2], least[2];

    DEV void clear() { most[0] = most[1] = least[0] = least[1] = NO_BIN; }
    // Takes the least and the largest of some bins of each lane, NO_BIN with the sign turned if there are none. For a
    // whole warp, in whose shared memory this is.
    DEV void see(i32 low, i32 high) {
        const bool news = (high > most[1] && high != most[0]) || (low > least[1] && low != least[0]);
        if (__any_sync(FULL, news)) take(low, high);
    }
    // `low` has its sign turned.
    SELDOM void take(i32 low, i32 high) {
        // What is next to the largest bin may be the largest of another lane, or the least of this one.
        const i32 all_high = __reduce_max_sync(FULL, high), all_low = __reduce_max_sync(FULL, low),
                  other_low = high == NO_BIN || 0 - low == all_high ? NO_BIN : 0 - low,
                  other_high = low == NO_BIN || 0 - high == all_low ? NO_BIN : 0 - high,
                  next_high = __reduce_max_sync(FULL, high == all_high ? other_low : high),
                  next_low = __reduce_max_sync(FULL, low == all_low ? other_high : low);
        if ((threadIdx.x & 31) == 0) {
            keep(most, all_high, next_high);
            keep(least, all_low, next_low);
        }
        __syncwarp();
    }
    // Other warps may do the same; of two that meet the smaller one is not the largest of all.
    static DEV void keep(i32* two, i32 largest, i32 next) {
        const i32 before = atomicMax(&two[0], largest);
        const i32 second = before > largest ? largest : before < largest && before > next ? before : next;
        if (second != NO_BIN) atomicMax(&two[1], second);
    }
    // Takes floats of each lane; infinities are far.
    template <class T> DEV void see_floats(const Quantizer<T>& quantizer, const Extremes<T, 0>& floats) {
        const bool any = floats.low <= floats.high;
        see(any ? bin(quantizer, 0 - floats.low) : NO_BIN, any ? bin(quantizer, floats.high) : NO_BIN);
    }
    template <class T> static DEV i32 bin(const Quantizer<T>& quantizer, typename T::Float v) {
        typename T::Float error;
        const typename T::Word bin = quantizer.quotient(v, error);
        if (!(v < quantizer.far)) return FAR_BIN;
        return v > -quantizer.far ? narrowed((i64)(typename T::Signed)bin) : -FAR_BIN;
    }
    static DEV i32 narrowed(i64 bin) { return bin > FAR_BIN ? FAR_BIN : bin < -FAR_BIN ? -FAR_BIN : (i32)bin; }
    // To those of an array.
    DEV void tell(u64* seen) const {
        if (most[0] == NO_BIN) return;
        const Two high = {key_of(most[0]), key_of(most[1])}, low = {key_of(least[0]), key_of(least[1])};
        high.keep(seen, seen + 1);
        low.keep(seen + 2, seen + 3);
    }
    // Keys are above 0, but for none.
    static DEV u64 key_of(i32 bin) { return (u32)bin ^ 1u << 31; }
    static DEV i64 bin_of(u64 key) { return (i32)((u32)key ^ 1u << 31); }
};

// Whether an array that was compressed may have a mark. For a whole warp.
template <class T> DEV bool may_have_marks(const CompressArgs& a, const Slot& slot) {
    const u64* const seen = slot.seen + SEEN_WHILE;
    const Plan& plan = slot.plan;
    if (slot.control.status || !plan.step_w || !seen[1] || !seen[3]) return true;
    const i64 top = Watch::bin_of(seen[0]), below = Watch::bin_of(seen[1]), bottom = 0 - Watch::bin_of(seen[2]),
              above = 0 - Watch::bin_of(seen[3]);
    // From there on bins are elements' bits.
    const i64 of_type = (i64)((((u64)1 << T::MANTISSA) + 3) / plan.step_w + 1),
              far = of_type < FAR_BIN ? of_type : FAR_BIN;
    if (top >= far || bottom <= -far) return true;
    const i64 others = below - above;
    if (top - below + WATCH_SLACK > others || above - bottom + WATCH_SLACK > others) return true;
    const double step = (double)(Quantizer<T>::power((i32)plan.step_j) * (typename T::Float)plan.step_w);
    bool near = false;
#pragma unroll 1
    for (u32 i = threadIdx.x & 31; i < USUAL; i += 32)
        for (u32 end = 0; end < 2; end++) {
            const double v = (double)(end ? bottom : top) * step, off = (v < 0.0 ? -v : v) - a.usual[i];
            near |= (off < 0.0 ? -off : off) <= 2.0 * step;
        }
    return __any_sync(FULL, near);
}

// The range of an array, where nobody has seen enough of it.
template <class T> DEV void measure_range_in_doubt(const CompressArgs& a) {
    const Share share(a.batch);
    if (a.search == SEARCH_WHILE && !may_have_marks<T>(a, a.batch.slots[share.item])) return;
    measure_range<T>(a);
}
