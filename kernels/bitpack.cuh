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
    u32 y[5] = {0, 0, 0, 0, 0};
    u32 x[5] = {0, 0, 0, 0, 0};
    if (bits) {
        x[0] = w[0];
        x[1] = w[1];
        if (bits > 32) x[2] = w[2];
        if (bits > 64) x[3] = w[3];
        if (bits > 96) x[4] = w[4];
    }
#pragma unroll
    for (int i = 0; i < 4; i++) y[i] = __funnelshift_r(x[i], x[i + 1], o);
    cut(y, n, v);
}

// The words of a packed subchunk: bit `bits`·lane + i of them is bit i of this lane's string hi:lo of `bits` ≤ 128 bits.
// A lane stores the words that begin in its string; the rest of the last one it gets from the lanes behind.
DEV void store_strings(u32* words, u64 lo, u64 hi, u32 bits, u32 lane) {
    if (bits == 0) return;
    const u32 at = bits * lane, o = (0 - at) & 31;
    u32* w = words + ((at + 31) >> 5);
    if (bits < 32) {
        u64 s = lo;
        u32 have = bits, lanes = 1;
        while (have < 32) {
            s |= (u64)__shfl_down_sync(FULL, (u32)s, lanes) << have;
            have *= 2;
            lanes *= 2;
        }
        if (have < bits + 31) s |= (u64)__shfl_down_sync(FULL, (u32)s, lanes) << have;
        if (o < bits) w[0] = (u32)(s >> o);
        return;
    }
    u32 y[6] = {(u32)lo, (u32)(lo >> 32), (u32)hi, (u32)(hi >> 32), 0, 0};
    const u32 next = __shfl_down_sync(FULL, y[0], 1), s = bits & 31;
    const u32 low = next << s, high = __funnelshift_l(next, 0u, s);
    const u32 count = ((at + bits + 31) >> 5) - ((at + 31) >> 5);
    if (bits < 64) {
        y[1] |= low;
        y[2] = high;
        w[0] = __funnelshift_r(y[0], y[1], o);
        if (count > 1) w[1] = __funnelshift_r(y[1], y[2], o);
    } else if (bits < 96) {
        y[2] |= low;
        y[3] = high;
        w[0] = __funnelshift_r(y[0], y[1], o);
        w[1] = __funnelshift_r(y[1], y[2], o);
        if (count > 2) w[2] = __funnelshift_r(y[2], y[3], o);
    } else if (bits < 128) {
        y[3] |= low;
        y[4] = high;
        w[0] = __funnelshift_r(y[0], y[1], o);
        w[1] = __funnelshift_r(y[1], y[2], o);
        w[2] = __funnelshift_r(y[2], y[3], o);
        if (count > 3) w[3] = __funnelshift_r(y[3], y[4], o);
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++) w[i] = y[i];
    }
}

// a below b, where a takes `at` ≤ 64 bits.
DEV void join_halves(u64 a, u64 b, u32 at, u64& lo, u64& hi) {
    lo = at < 64 ? a | b << at : a;
    hi = at == 0 ? 0 : at < 64 ? b >> (64 - at) : b;
}

// A lane's codes as one string.
DEV void string_of(const u64 (&v)[2], u32 n, u64& lo, u64& hi) { join_halves(v[0], v[1], n, lo, hi); }
DEV void string_of(const u32 (&v)[4], u32 n, u64& lo, u64& hi) {
    join_halves(v[0] | (u64)v[1] << n, v[2] | (u64)v[3] << n, 2 * n, lo, hi);
}
DEV void string_of(const u32 (&v)[8], u32 n, u64& lo, u64& hi) {
    u64 half[2];
#pragma unroll
    for (int i = 0; i < 2; i++) half[i] = (v[4 * i] | v[4 * i + 1] << n) | (u64)(v[4 * i + 2] | v[4 * i + 3] << n) << (2 * n);
    join_halves(half[0], half[1], 4 * n, lo, hi);
}
DEV void string_of(const u32 (&v)[16], u32 n, u64& lo, u64& hi) {
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
    join_halves(half[0], half[1], 8 * n, lo, hi);
}

// Packs a subchunk's codes, each below 2^n.
template <class T> DEV void pack(u32* words, const typename T::Word (&v)[T::VALUES], u32 n, u32 lane) {
    u64 lo, hi;
    string_of(v, n, lo, hi);
    store_strings(words, lo, hi, T::VALUES * n, lane);
}
