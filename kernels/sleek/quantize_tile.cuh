// Twin: src/codec/sleek/integers.rs
// The integers of a warp's subchunks in its tile, and the least and the largest of each: words as they are, or the bins
// of elements.
#pragma once
#include "encode_narrow16.cuh"

// What words become whose bins take no more than half of them.
template <class T> using Half = typename If<T::BITS == 64, Small64, T>::Type;

template <class T> struct TileIntegers {
    typedef typename T::Word Word;
    enum { PER_WARP = SUBCHUNKS_A_WARP };
    enum { SURE, CHECKED, ANY, NONE };    // what bins take: no check, one, or a look at each; or there are none

    uint4* words;    // the warp's tile
    const Quantizer<T>& quantizer;
    u32 lane;

    DEV Tile<T> tile() const { return Tile<T>(words); }

    // The warp's integers to the tile, the least and the largest of each subchunk to its lanes. The words are integers
    // as they are, or bins found with no check; false if not all of them can be found so.
    template <class W, u32 TAKEN>
    DEV bool to_tile(const uint4 (&q)[PER_WARP], typename W::Word& least, typename W::Word& most) const {
        const Quantizer<T> quantizer = this->quantizer;
        u32 beyond = 0;
        least = most = 0;
#pragma unroll
        for (int k = 0; k < PER_WARP; k++) {
            if constexpr (T::BITS == 16) {
                tile().at(k, lane) = q[k];
                keep_extremes(k, q[k], least, most);
                continue;
            }
            typename W::Word x[W::VALUES];
            if constexpr (TAKEN == NONE) {
                split(q[k], x);
            } else {
                Word v[T::VALUES];
                split(q[k], v);
#pragma unroll
                for (int i = 0; i < T::VALUES; i++)
                    x[i] = quantizer.sure_bin(Quantizer<T>::number_of_element(v[i]), beyond);
            }
            Tile<W>(words).at(k, lane) = join(x);
            if (T::BITS < 64) keep_extremes<W>(k, x, least, most);
        }
        if (T::BITS == 64) find_extremes<W>(least, most);
        return TAKEN == NONE || __all_sync(FULL, beyond == 0 && quantizer.certain_range((u32)least, (u32)most));
    }
    template <class W>
    DEV void keep_extremes(u32 k, const typename W::Word (&x)[W::VALUES], typename W::Word& least,
                           typename W::Word& most) const {
        typename W::Word low, high;
        extremes<W>(x, low, high);
        keep(k, low, high, least, most);
    }
    DEV void keep_extremes(u32 k, uint4 pairs, u32& least, u32& most) const {
        u32 low, high;
        extremes_of_swar16(pairs, low, high);
        keep(k, low, high, least, most);
    }
    template <class Number> DEV void keep(u32 k, Number low, Number high, Number& least, Number& most) const {
        if (lane / Strip<T>::OF_SUBCHUNK == k) {
            least = low;
            most = high;
        }
    }
    // The same of what is in the tile, by strips: a reduction over the lanes of words of 64 bits takes four times as
    // much as of others.
    template <class W> DEV void find_extremes(typename W::Word& least, typename W::Word& most) const {
        __syncwarp();
        const Strip<W> strip(Tile<W>(words), lane);
        typename W::Word first[W::VALUES];
        split(strip[0], first);
        typename W::Signed low = first[0], high = low;
        // In a loop that is short in code.
#pragma unroll 1
        for (u32 at = 0; uniform(at) < Strip<W>::END; at = optimisation_barrier(at + 2 * Strip<W>::NEXT)) {
            const typename Strip<W>::Vector row[2] = {strip[at], strip[at + Strip<W>::NEXT]};
#pragma unroll
            for (u32 i = 0; i < 2; i++) {
                typename W::Word x[W::VALUES];
                split(row[i], x);
                const typename W::Signed a = x[0], b = x[1];
                const bool rising = a < b;
                low = least_of(low, rising ? a : b);
                high = most_of(high, rising ? b : a);
            }
        }
#pragma unroll
        for (u32 distance = 1; distance < Strip<W>::OF_SUBCHUNK; distance *= 2) {
            low = least_of(low, __shfl_sync(FULL, low, lane ^ distance));
            high = most_of(high, __shfl_sync(FULL, high, lane ^ distance));
        }
        least = (typename W::Word)low;
        most = (typename W::Word)high;
    }
    template <class Number> static DEV Number least_of(Number a, Number b) { return b < a ? b : a; }
    template <class Number> static DEV Number most_of(Number a, Number b) { return a < b ? b : a; }
    // The warp's bins to the tile as words of 16 bits, counted from `origin`, and the least and the largest of each
    // subchunk to its lanes; false if they are not close enough together, or need a check.
    DEV bool narrow16_to_tile(const uint4 (&q)[PER_WARP], u32& least, u32& most, Word& origin) const {
        typedef typename NarrowOf<T>::Type W;
        const Quantizer<T> quantizer = this->quantizer;
        Word first[T::VALUES];
        split(q[0], first);
        const auto middle = quantizer.counted_from(__shfl_sync(FULL, first[0], 0), NARROW_SPAN, origin);
        const Tile<W> tile(words);
        bool near = true;
        if constexpr (T::BITS == 32) {
            least = most = 0;
#pragma unroll
            for (int k = 0; k < PER_WARP; k++) {
                u32 x[4];
                split(q[k], x);
#pragma unroll
                for (int i = 0; i < 4; i++)
                    x[i] = bits_of(Quantizer<T>::number_of_element(x[i]) * quantizer.inverse + middle);
                tile.at(k, lane) = make_uint2(__byte_perm(x[0], x[1], 0x5410), __byte_perm(x[2], x[3], 0x5410));
                keep_extremes<T>(k, x, least, most);
            }
        } else {
            const u64 whole = bits_of(6755399441055744.0);
            u32 beyond = 0, low = 0;
#pragma unroll
            for (int k = 0; k < PER_WARP; k++) {
                u64 x[2];
                split(q[k], x);
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    x[i] = bits_of(Quantizer<T>::number_of_element(x[i]) * quantizer.inverse + middle);
                    beyond |= (u32)(x[i] >> 32) ^ (u32)(whole >> 32);
                    low |= (u32)x[i];
                }
                tile.at(k, lane) = __byte_perm((u32)x[0], (u32)x[1], 0x5410);
            }
            near = __all_sync(FULL, beyond == 0 && low < 2 * NARROW_SPAN) && origin == (Word)(i64)(i32)origin;
            __syncwarp();
            find_narrow16_extremes(Strip<W>(tile, lane), least, most);
        }
        // As signed numbers, for what is far below comes out below zero.
        const u32 zero = T::BITS == 32 ? bits_of(12582912.0f) : 0;
        const u32 lowest = (u32)__reduce_min_sync(FULL, (i32)least) - zero,
                  highest = (u32)__reduce_max_sync(FULL, (i32)most) - zero;
        least -= zero;
        most -= zero;
        const u32 raised = (u32)origin + Quantizer<T>::RAISED;
        return near && lowest < 2 * NARROW_SPAN && highest - lowest < NARROW_SPAN &&
               quantizer.certain_range(raised + lowest, raised + highest);
    }
    // Least and largest of each subchunk to its lanes, by strips.
    template <class W> DEV void find_narrow16_extremes(const Strip<W>& strip, u32& least, u32& most) const {
        u32 low = 0x7bff7bffu, high = 0;
#pragma unroll 1
        for (u32 at = 0; uniform(at) < Strip<W>::END; at = optimisation_barrier(at + NarrowRow<W>::NEXT)) {
            NarrowRow<W> row;
            row.load(strip, at);
#pragma unroll
            for (u32 i = 0; i < NARROW_SWAR16; i++) {
                low = least_halves(low, row.x[i]);
                high = most_halves(high, row.x[i]);
            }
        }
        // The least below, and above it how far the largest is from that.
        low = least_halves(low, low >> 16), high = most_halves(high, high >> 16);
        u32 all = __byte_perm(low, 0x7bffu - (high & 0xffff), 0x5410);
        all = least_halves(all, __shfl_sync(FULL, all, lane ^ 1));
        all = least_halves(all, __shfl_sync(FULL, all, lane ^ 2));
        least = all & 0xffff;
        most = 0x7bffu - (all >> 16);
    }
    // Bins of words of 16 bits, which need no check.
    DEV void swar16_to_tile(const uint4 (&q)[PER_WARP], u32& least, u32& most) const {
        const Swar16Quantizer<T> pairs(quantizer);
        through_tile(q, least, most, [&](uint4 v) { return pairs.integers(v); });
    }
    // By way of the tile, in a loop that is short in code: each vector of q as `integers` makes it.
    template <class F>
    DEV void through_tile(const uint4 (&q)[PER_WARP], u32& least, u32& most, const F& integers) const {
        least = most = 0;
#pragma unroll
        for (int k = 0; k < PER_WARP; k++) tile().at(k, lane) = q[k];
#pragma unroll 1
        for (u32 k = 0; uniform(k) < PER_WARP; k += 2) {
#pragma unroll
            for (u32 i = 0; i < 2; i++) {
                const uint4 x = integers(tile().at(k + i, lane));
                tile().at(k + i, lane) = x;
                if constexpr (T::BITS == 16) {
                    keep_extremes(k + i, x, least, most);
                } else {
                    Word v[T::VALUES];
                    split(x, v);
                    keep_extremes<T>(k + i, v, least, most);
                }
            }
        }
    }
    // The same with a check, in a loop that is short in code: registers cannot be indexed, but moved on.
    template <class W>
    DEV bool one_by_one(uint4 (&q)[PER_WARP], typename W::Word& least, typename W::Word& most) const {
        const Quantizer<T> quantizer = this->quantizer;
        bool plain = true;
#pragma unroll 1
        for (u32 k = 0; uniform(k) < PER_WARP; k++) {
            const uint4 now = q[0];
#pragma unroll
            for (int j = 1; j < PER_WARP; j++) q[j - 1] = q[j];
            q[PER_WARP - 1] = now;
            Word v[T::VALUES];
            typename W::Word x[W::VALUES];
            split(now, v);
#pragma unroll
            for (int i = 0; i < T::VALUES; i++) x[i] = wrap<W>((typename W::Word)quantizer.plain_bin(v[i], plain));
            Tile<W>(words).at(k, lane) = join(x);
        }
        find_extremes<W>(least, most);
        return __all_sync(FULL, plain);
    }
    // The same where words have 32 bits.
    DEV bool checked_bins(const uint4 (&q)[PER_WARP], u32& least, u32& most) const {
        const Quantizer<T> quantizer = this->quantizer;
        bool plain = true;
        through_tile(q, least, most,
                     [&](uint4 v) { return changed<T>(v, [&](Word x) { return quantizer.plain_bin(x, plain); }); });
        return __all_sync(FULL, plain && quantizer.plain_range(least, most));
    }
    // The same for any bins of elements that are in the tile.
    DEV bool bins_to_tile(Word& least, Word& most) const {
        const Quantizer<T> quantizer = this->quantizer;
        bool plain = true;
#pragma unroll 1
        for (u32 k = 0; uniform(k) < PER_WARP; k++) {
            uint4& mine = tile().at(k, lane);
            Word v[T::VALUES], x[T::VALUES], low, high;
            typename T::Float worst = 0;
            split(mine, v);
#pragma unroll
            for (int i = 0; i < T::VALUES; i++) x[i] = quantizer.any_bin(v[i], worst);
            if (!__all_sync(FULL, worst <= quantizer.bound)) {
                __syncwarp();    // else numbers of the loop would be kept for what is rare
                split(mine, x);
                change<T>(x, [&](Word word) { return quantizer.bin_of(word); });
                plain = false;
            }
            extremes<T>(x, low, high);
            change<T>(x, [](Word bin) { return wrap<T>(bin + Quantizer<T>::RAISED); });
            mine = join(x);
            keep(k, (Word)(low + Quantizer<T>::RAISED), (Word)(high + Quantizer<T>::RAISED), least, most);
        }
        return __all_sync(FULL, plain && quantizer.plain_range(least, most));
    }
};
