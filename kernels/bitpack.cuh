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
DEV void cut(const u32 (&y)[5], u32 n, u32 (&v)[4]) {
    if (n == 32) {
#pragma unroll
        for (int i = 0; i < 4; i++) v[i] = y[i];
        return;
    }
    const u32 mask = (1u << n) - 1, n2 = 2 * n, n3 = 3 * n;
    v[0] = y[0] & mask;
    if (n <= 8) {
        v[1] = y[0] >> n & mask;
        v[2] = y[0] >> n2 & mask;
        v[3] = y[0] >> n3 & mask;
        return;
    }
    v[1] = __funnelshift_r(y[0], y[1], n) & mask;
    if (n3 < 32) {
        v[2] = __funnelshift_r(y[0], y[1], n2) & mask;
        v[3] = __funnelshift_r(y[0], y[1], n3) & mask;
    } else if (n2 < 32) {
        v[2] = __funnelshift_r(y[0], y[1], n2) & mask;
        v[3] = __funnelshift_r(y[1], y[2], n3 - 32) & mask;
    } else {
        v[2] = __funnelshift_r(y[1], y[2], n2 - 32) & mask;
        v[3] = (n3 < 64 ? __funnelshift_r(y[1], y[2], n3 - 32) : __funnelshift_r(y[2], y[3], n3 - 64)) & mask;
    }
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
        const u32 at = g * quarter;     // at most 96
        const u64 s = at < 64 ? (at ? a >> at | b << (64 - at) : a) : b >> (at - 64);
#pragma unroll
        for (int i = 0; i < 4; i++) v[4 * g + i] = (u32)(s >> (i * n)) & mask;
    }
}

// Codes of this lane from the packed words of a subchunk. Reads up to 4 words past them.
template <class T> DEV void unpack(const u32* words, u32 n, u32 lane, typename T::Word (&v)[T::VALUES]) {
    const u32 bits = T::VALUES * n, at = bits * lane, o = at & 31;
    const u32* w = words + (at >> 5);
    // Words behind the string are read, not used: the buffer goes on. Where n is 0 the mask leaves nothing of them.
    u32 y[5];
    const u32 x0 = w[0], x1 = w[1];
    y[0] = __funnelshift_r(x0, x1, o);
    y[1] = y[2] = y[3] = y[4] = 0;
    if (bits > 32) {
        const u32 x2 = w[2];
        y[1] = __funnelshift_r(x1, x2, o);
        if (bits > 64) {
            const u32 x3 = w[3], x4 = w[4];
            y[2] = __funnelshift_r(x2, x3, o);
            y[3] = __funnelshift_r(x3, x4, o);
        }
    }
    cut(y, n, v);
}

// The words of a packed subchunk: bit `bits`·lane + i of them is bit i of this lane's string y of `bits` ≤ 128 bits, which is
// zero behind its end. A lane stores the words that begin in its string; the rest of the last one it gets from the lanes behind.
DEV void store_strings(u32* words, const u32 (&y)[4], const u32 bits, const u32 lane) {
    if (bits == 0) return;
    const u32 at = bits * lane, o = (0 - at) & 31;
    u32* w = words + ((at + 31) >> 5);
    if (bits < 32) {
        // Double short strings until three of them cover a word that begins in the first.
        u32 s = y[0], have = bits, lanes = 1;
        while (have < 16) {
            s |= __shfl_down_sync(FULL, s, lanes) << have;
            have *= 2;
            lanes *= 2;
        }
        const u32 s1 = __shfl_down_sync(FULL, s, lanes), s2 = __shfl_down_sync(FULL, s, 2 * lanes);
        if (o < bits) w[0] = s >> o | __funnelshift_lc(0u, s1, have - o) | __funnelshift_lc(0u, s2, 2 * have - o);
        return;
    }
    if (bits == 128) {
        // Strings begin at even words.
        uint2* pair = (uint2*)w;
        pair[0] = make_uint2(y[0], y[1]);
        pair[1] = make_uint2(y[2], y[3]);
        return;
    }
    const u32 next = __shfl_down_sync(FULL, y[0], 1), s = bits & 31;
    const u32 low = next << s, high = __funnelshift_l(next, 0u, s);
    // Words that begin in the string: bits/32, or one more.
    const bool more = o < s;
    if (bits < 64) {
        const u32 y1 = y[1] | low;
        w[0] = __funnelshift_r(y[0], y1, o);
        if (more) w[1] = __funnelshift_r(y1, high, o);
    } else if (bits < 96) {
        const u32 y2 = y[2] | low;
        w[0] = __funnelshift_r(y[0], y[1], o);
        w[1] = __funnelshift_r(y[1], y2, o);
        if (more) w[2] = __funnelshift_r(y2, high, o);
    } else {
        const u32 y3 = y[3] | low;
        w[0] = __funnelshift_r(y[0], y[1], o);
        w[1] = __funnelshift_r(y[1], y[2], o);
        w[2] = __funnelshift_r(y[2], y3, o);
        if (more) w[3] = __funnelshift_r(y3, high, o);
    }
}

// y = a below b, where a takes `at` ≤ 64 bits.
DEV void join_halves(u64 a, u64 b, u32 at, u32 (&y)[4]) {
    const u64 lo = at < 64 ? a | b << at : a, hi = at == 0 ? 0 : at < 64 ? b >> (64 - at) : b;
    y[0] = (u32)lo;
    y[1] = (u32)(lo >> 32);
    y[2] = (u32)hi;
    y[3] = (u32)(hi >> 32);
}

// A lane's codes as one string; n is the same on all lanes.
DEV void string_of(const u64 (&v)[2], u32 n, u32 (&y)[4]) {
    const u32 low = (u32)v[1], high = (u32)(v[1] >> 32);
    y[0] = (u32)v[0];
    y[1] = (u32)(v[0] >> 32);
    y[2] = y[3] = 0;
    if (n < 32) {
        y[0] |= low << n;
        y[1] = __funnelshift_l(low, high, n);
    } else {
        const u32 s = n & 31;
        y[1] |= n == 64 ? 0 : low << s;
        y[2] = n == 64 ? low : __funnelshift_l(low, high, s);
        y[3] = n == 64 ? high : __funnelshift_l(high, 0u, s);
    }
}
DEV void string_of(const u32 (&v)[4], u32 n, u32 (&y)[4]) {
    if (n == 32) {
#pragma unroll
        for (int i = 0; i < 4; i++) y[i] = v[i];
        return;
    }
    const u32 one = 1u << n;
    y[2] = y[3] = 0;
    if (n < 8) {
        y[0] = (v[3] * one + v[2]) * (one * one) + (v[1] * one + v[0]);
        y[1] = 0;
        return;
    }
    const u64 a = (u64)v[1] * one + v[0], b = (u64)v[3] * one + v[2];
    const u32 bl = (u32)b, bh = (u32)(b >> 32);
    y[0] = (u32)a;
    y[1] = (u32)(a >> 32);
    if (n < 16) {
        y[0] |= bl << (2 * n);
        y[1] = __funnelshift_l(bl, 0u, 2 * n);
    } else {
        const u32 s = 2 * n - 32;
        y[1] |= bl << s;
        y[2] = __funnelshift_l(bl, bh, s);
        y[3] = __funnelshift_l(bh, 0u, s);
    }
}
DEV void string_of(const u32 (&v)[8], u32 n, u32 (&y)[4]) {
    u64 half[2];
#pragma unroll
    for (int i = 0; i < 2; i++) half[i] = (v[4 * i] | v[4 * i + 1] << n) | (u64)(v[4 * i + 2] | v[4 * i + 3] << n) << (2 * n);
    join_halves(half[0], half[1], 4 * n, y);
}
DEV void string_of(const u32 (&v)[16], u32 n, u32 (&y)[4]) {
    u64 half[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        u32 quarter[2];
#pragma unroll
        for (int j = 0; j < 2; j++) {
            const int k = 8 * i + 4 * j;
            quarter[j] = v[k] | v[k + 1] << n | v[k + 2] << (2 * n) | v[k + 3] << (3 * n);
        }
        half[i] = quarter[0] | (u64)quarter[1] << (4 * n);
    }
    join_halves(half[0], half[1], 8 * n, y);
}

// Packs a subchunk's codes, each below 2^n.
template <class T> DEV void pack(u32* words, const typename T::Word (&v)[T::VALUES], u32 n, u32 lane) {
    u32 y[4];
    string_of(v, n, y);
    store_strings(words, y, T::VALUES * n, lane);
}

// Packs one value of `bits` ≤ 64 a lane.
DEV void pack_one_each(u32* words, u64 value, u32 bits, u32 lane) {
    const u32 y[4] = {(u32)value, (u32)(value >> 32), 0, 0};
    store_strings(words, y, bits, lane);
}
