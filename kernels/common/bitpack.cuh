// Twin: src/codec/sleek/pack.rs
// A subchunk's codes as consecutive n-bit numbers, lowest bit first. A lane holds VALUES consecutive codes, so its part
// is one string of VALUES·n ≤ 128 bits.
#pragma once
#include "element.cuh"

// A lane's string, cut into codes.
DEV void cut(const u32 (&y)[5], u32 n, u64 (&v)[2]) {
    const u64 mask = ones<F64>(n);
    v[0] = (y[0] | (u64)y[1] << 32) & mask;
    u32 lo, hi;
    if (n < 32) {
        lo = __funnelshift_r(y[0], y[1], n);
        hi = __funnelshift_r(y[1], y[2], n);
    } else {
        lo = __funnelshift_rc(y[1], y[2], n - 32);
        hi = __funnelshift_rc(y[2], y[3], n - 32);
    }
    v[1] = (lo | (u64)hi << 32) & mask;
}
DEV void cut(const u32 (&y)[5], u32 n, u32 (&v)[2]) {
    const u32 mask = low_ones(n);
    v[0] = y[0] & mask;
    v[1] = (u32)((y[0] | (u64)y[1] << 32) >> n) & mask;
}
DEV void cut(const u32 (&y)[5], u32 n, u32 (&v)[4]) {
    const u32 mask = low_ones(n);
    const u64 a = y[0] | (u64)y[1] << 32;
    v[0] = y[0] & mask;
    v[1] = (u32)(a >> n) & mask;
    if (n < 16) {
        v[2] = (u32)(a >> (2 * n)) & mask;
        v[3] = (u32)(a >> (3 * n)) & mask;
        return;
    }
    const u32 low = __funnelshift_rc(y[1], y[2], 2 * n - 32), high = __funnelshift_rc(y[2], y[3], 2 * n - 32);
    v[2] = low & mask;
    v[3] = (u32)((low | (u64)high << 32) >> n) & mask;
}
DEV void cut(const u32 (&y)[5], u32 n, u32 (&v)[8]) {
    const u32 mask = (1u << n) - 1, half = 4 * n;
    u64 s = y[0] | (u64)y[1] << 32;
#pragma unroll
    for (int i = 0; i < 4; i++) v[i] = (u32)(s >> (i * n)) & mask;
    const u32 lo = half < 32 ? __funnelshift_r(y[0], y[1], half) : __funnelshift_rc(y[1], y[2], half - 32);
    const u32 hi = half < 32 ? __funnelshift_r(y[1], y[2], half) : __funnelshift_rc(y[2], y[3], half - 32);
    s = lo | (u64)hi << 32;
#pragma unroll
    for (int i = 0; i < 4; i++) v[4 + i] = (u32)(s >> (i * n)) & mask;
}
DEV void cut(const u32 (&y)[5], u32 n, u32 (&v)[16]) {
    const u32 mask = (1u << n) - 1, quarter = 4 * n;
    const u64 a = y[0] | (u64)y[1] << 32, b = y[2] | (u64)y[3] << 32;
#pragma unroll
    for (int g = 0; g < 4; g++) {
        const u32 at = g * quarter;    // at most 96
        const u64 s = at < 64 ? (at ? a >> at | b << (64 - at) : a) : b >> (at - 64);
#pragma unroll
        for (int i = 0; i < 4; i++) v[4 * g + i] = (u32)(s >> (i * n)) & mask;
    }
}

// The same of a string that one word holds.
template <int N> DEV void cut(u32 y, u32 n, u32 (&v)[N]) {
    const u32 mask = low_ones(n);
#pragma unroll
    for (int i = 0; i < N; i++, y >>= n) v[i] = y & mask;
}
DEV void cut(u32 y, u32 n, u64 (&v)[2]) {
    v[0] = y & low_ones(n);
    v[1] = y >> n & low_ones(n);
}

// Codes of this lane from the packed words of a subchunk. Reads up to 4 words past them.
template <class T> DEV void unpack(const u32* words, u32 n, u32 lane, typename T::Word (&v)[T::VALUES]) {
    n = uniform(n);
    const u32 bits = T::VALUES * n, at = T::VALUES * lane * n;
    const u32* w = words + (at >> 5);
    // Words behind the string are read, not used: the buffer goes on. Where n is 0 the mask leaves nothing of them.
    if (bits <= 32) {
        cut(__funnelshift_r(w[0], w[1], at), n, v);
        return;
    }
    u32 y[5];
    const u32 x1 = w[1], x2 = w[2];
    y[0] = __funnelshift_r(w[0], x1, at);
    y[1] = __funnelshift_r(x1, x2, at);
    y[2] = y[3] = y[4] = 0;
    if (bits > 64) {
        const u32 x3 = w[3], x4 = w[4];
        y[2] = __funnelshift_r(x2, x3, at);
        y[3] = __funnelshift_r(x3, x4, at);
    }
    cut(y, n, v);
}

// Stores the words of a packed subchunk: bit `bits`·lane + i of them is bit i of this lane's string y of `bits` bits,
// which is zero behind its end; WORDS whole ones fit into it. A lane stores the words that begin in its string; the
// rest of the last one it gets from the lanes behind. `bits` is the same on all lanes.
template <int WORDS> DEV void store_strings(u32* words, const u32 (&y)[4], const u32 bits, const u32 lane) {
    const u32 at = bits * lane, o = (0 - at) & 31;
    u32* w = words + ((at + 31) >> 5);
    if (WORDS == 0) {
        // Double short strings until three of them cover a word that begins in the first.
        u32 s = y[0], have = bits, lanes = 1;
        while (uniform(have) < 16) {
            s += __shfl_down_sync(FULL, s, lanes) << have;
            have *= 2;
            lanes *= 2;
        }
        const u32 s1 = __shfl_down_sync(FULL, s, lanes), s2 = __shfl_down_sync(FULL, s, 2 * lanes);
        // A lane whose string has no word's begin stores nothing, and shifts by anything.
        const u32 word = s >> o | s1 << ((have - o) & 31) | __funnelshift_lc(0u, s2, 2 * have - o);
        if (o < bits) w[0] = word;
    } else if (WORDS == 4) {
        // Strings begin at even words.
        uint2* pair = (uint2*)w;
        pair[0] = make_uint2(y[0], y[1]);
        pair[1] = make_uint2(y[2], y[3]);
    } else {
        const u32 next = __shfl_down_sync(FULL, y[0], 1), s = bits & 31;
        const u32 last = y[WORDS] + (next << s), rest = __funnelshift_l(next, 0u, s);
#pragma unroll
        for (int i = 0; i < WORDS; i++) w[i] = __funnelshift_r(y[i], i + 1 < WORDS ? y[i + 1] : last, o);
        const u32 more = __funnelshift_r(last, rest, o);
        if (o < s) w[WORDS] = more;
    }
}

// Quarter i of a lane's codes: a number of VALUES·n/4 bits; one = 2^n.
DEV u32 quarter(const u32 (&v)[4], int i, u32) { return v[i]; }
DEV u32 quarter(const u32 (&v)[8], int i, u32 one) { return v[2 * i + 1] * one + v[2 * i]; }
DEV u32 quarter(const u32 (&v)[16], int i, u32 one) {
    return (v[4 * i + 3] * one + v[4 * i + 2]) * (one * one) + (v[4 * i + 1] * one + v[4 * i]);
}
template <int WORDS, int N> DEV void half(const u32 (&v)[N], int i, u32 n, u32& low, u32& high) {
    const u32 one = 1u << n, bits = N / 4 * n, left = quarter(v, 2 * i, one), right = quarter(v, 2 * i + 1, one);
    low = right * (1u << bits) + left;
    high = WORDS < 2 ? 0 : right >> (32 - bits);
}
template <int WORDS> DEV void half(const u64 (&v)[2], int i, u32, u32& low, u32& high) {
    low = (u32)v[i];
    high = (u32)(v[i] >> 32);
}

// A lane's codes as one string that WORDS whole words fit into.
template <class T, int WORDS> DEV void string_of(const typename T::Word (&v)[T::VALUES], u32 n, u32 (&y)[4]) {
    if (WORDS == 4) {
        const uint4 q = join(v);
        y[0] = q.x;
        y[1] = q.y;
        y[2] = q.z;
        y[3] = q.w;
        return;
    }
    const u32 bits = T::VALUES * n / 2;
    u32 low[2], high[2];
    half<WORDS>(v, 0, n, low[0], high[0]);
    half<WORDS>(v, 1, n, low[1], high[1]);
    y[0] = low[0];
    if (WORDS < 2) {
        // Both halves together take less than two words.
        y[0] += low[1] << bits;
        y[1] = WORDS == 0 ? 0 : low[1] >> (32 - bits);
        y[2] = y[3] = 0;
    } else {
        const u32 s = bits - 32;
        y[1] = high[0] + (low[1] << s);
        y[2] = __funnelshift_l(low[1], high[1], s);
        y[3] = __funnelshift_l(high[1], 0u, s);
    }
}

template <class T, int WORDS> DEV void pack_words(u32* words, const typename T::Word (&v)[T::VALUES], u32 n, u32 lane) {
    u32 y[4];
    string_of<T, WORDS>(v, n, y);
    store_strings<WORDS>(words, y, T::VALUES * n, lane);
}

// Whether a lane's codes of n bits are a string that does not fill a word.
template <class T> DEV bool is_short(u32 n) { return n < 32 / T::VALUES; }
// That string.
template <class T> DEV u32 short_string(const typename T::Word (&v)[T::VALUES], u32 n) {
    u32 y[4];
    string_of<T, 0>(v, n, y);
    return y[0];
}

// Packs a subchunk's codes, each below 2^n; n is the same on all lanes, and `uniform`. Of longer strings than that.
template <class T> DEV void pack_long(u32* words, const typename T::Word (&v)[T::VALUES], u32 n, u32 lane) {
    const u32 bits = T::VALUES * n;
    if (bits < 64)
        pack_words<T, 1>(words, v, n, lane);
    else if (bits < 96)
        pack_words<T, 2>(words, v, n, lane);
    else if (bits < 128)
        pack_words<T, 3>(words, v, n, lane);
    else
        pack_words<T, 4>(words, v, n, lane);
}
// The same of any.
template <class T> DEV void pack(u32* words, const typename T::Word (&v)[T::VALUES], u32 n, u32 lane) {
    n = uniform(n);
    if (!is_short<T>(n))
        pack_long<T>(words, v, n, lane);
    else if (n)
        pack_words<T, 0>(words, v, n, lane);
}

// Packs one value of `bits` ≤ 64 a lane.
DEV void pack_one_each(u32* words, u64 value, u32 bits, u32 lane) {
    bits = uniform(bits);
    const u32 y[4] = {(u32)value, (u32)(value >> 32), 0, 0};
    if (bits == 0) return;
    if (bits < 32)
        store_strings<0>(words, y, bits, lane);
    else if (bits < 64)
        store_strings<1>(words, y, bits, lane);
    else
        store_strings<2>(words, y, bits, lane);
}

// Strings of up to 32 bits one after the other: bit 0 of the first is bit `at` of `to`.
struct Appender {
    u32* to;
    u32 at, word;

    // Bits above `bits` are 0.
    DEV void add(u32 string, u32 bits) {
        word |= __funnelshift_l(0u, string, at);
        const u32 end = optimisation_barrier(at + bits);
        if ((at ^ end) & 32) {
            *to++ = word;
            word = __funnelshift_l(string, 0u, at);
        }
        at = end;
    }
    // The same of up to 64 bits.
    DEV void add(u64 string, u32 bits) {
        const u32 low = (u32)string, high = (u32)(string >> 32), end = optimisation_barrier(at + bits),
                  words = (end >> 5) - (at >> 5);
        const u32 first = word | __funnelshift_l(0u, low, at), second = __funnelshift_l(low, high, at),
                  third = __funnelshift_l(high, 0u, at);
        if (words) to[0] = first;
        if (words == 2) to[1] = second;
        word = words == 0 ? first : words == 1 ? second : third;
        to += words;
        at = end;
    }
    // What is left in `word`, for a whole warp: two lanes may meet within a word, and what the second has of it is
    // there by now.
    DEV void finish() const {
        __syncwarp();
        if (at & 31) *to |= word;
    }
};

// Codes of n bits in the halves of a register to a number of 2n bits; the same of four registers.
DEV u32 without_gap(u32 x, u32 gap) { return (x >> 16) * gap + x; }
DEV u32 closed_up(u32 x, u32 n) { return without_gap(x, (1u << n) - 0x10000u); }
DEV uint4 closed_up(uint4 q, u32 n) {
    const u32 gap = (1u << n) - 0x10000u;
    return make_uint4(without_gap(q.x, gap), without_gap(q.y, gap), without_gap(q.z, gap), without_gap(q.w, gap));
}

// A vector of codes of n bits, so many of which as TOGETHER fit into 32 bits, or 0 if one may not. `mask` has n bits,
// 32 at most; one = 2^n, where two fit.
template <class T, int TOGETHER>
DEV void append(Appender& to, typename VectorOf<T>::Type codes, u32 n, u32 mask, u32 one) {
    if constexpr (T::BITS == 16) {
        const u32 both = mask * 0x10001u;
        const uint4 v = closed_up(make_uint4(codes.x & both, codes.y & both, codes.z & both, codes.w & both), n);
        to.add(v.y * (one * one) + v.x, 4 * n);
        to.add(v.w * (one * one) + v.z, 4 * n);
        return;
    }
    typename T::Word v[T::VALUES];
    split(codes, v);
    if constexpr (TOGETHER == 0) {
        const u64 mask_of_both = ones<F64>(n);
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) to.add((u64)v[i] & mask_of_both, n);
        return;
    }
#pragma unroll
    for (int i = 0; i < T::VALUES; i += TOGETHER ? TOGETHER : 1) {
        u32 string = (u32)v[i] & mask;
        if constexpr (TOGETHER >= 2) string += ((u32)v[i + 1] & mask) * one;
        if constexpr (TOGETHER == 4) string += (((u32)v[i + 3] & mask) * one + ((u32)v[i + 2] & mask)) * (one * one);
        to.add(string, TOGETHER * n);
    }
}

// Short strings of a warp's subchunks, for lanes to pack a strip each, which takes a third of the instructions: an
// eighth of eight subchunks' strings, those of consecutive lanes. Stored by subchunk and read by strip, both without
// two lanes at a bank.
struct ShortStrings {
    enum {
        STRIP = 8,
        OF_SUBCHUNK = 32 / STRIP,
        ROW = 32 + OF_SUBCHUNK
    };    // lanes of a strip, strips of a subchunk, and from one word of a strip to the next
    u32 words[(STRIP - 1) * ROW + 32];

    DEV void put(u32 string, u32 subchunk, u32 lane) {
        words[lane % STRIP * ROW + lane / STRIP + OF_SUBCHUNK * subchunk] = string;
    }
    // Word i of the lane's strip.
    DEV u32 of_strip(u32 i, u32 lane) const { return words[i * ROW + lane]; }
};
