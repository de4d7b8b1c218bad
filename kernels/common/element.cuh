// Twin: src/codec/sleek/exponent_map.rs
// Element types: how a lane's 16 bytes split into words, and the exponent map (docs/reference/codecs/sleek.md §4).
#pragma once
#include "platform.cuh"
#include "constants.h"

// An element type. BITS: W of the format. VALUES: words in a lane's vector, of 16 bytes. A word of up to 32 bits lives
// zero-extended in a u32.
template <class W, class S, class F, u32 W_BITS, u32 COUNT, u32 OF_MANTISSA = 0, u32 OF_BIAS = 0> struct TypeOf {
    typedef W Word;
    typedef S Signed;
    typedef F Float;
    enum {
        BITS = W_BITS,
        VALUES = COUNT,
        EXPONENT = OF_MANTISSA ? W_BITS - 1 - OF_MANTISSA : 0,
        MANTISSA = OF_MANTISSA,
        BIAS = OF_BIAS
    };
};
struct F32 : TypeOf<u32, i32, float, 32, 4, F32_MANTISSA, F32_BIAS> {};
struct F64 : TypeOf<u64, i64, double, 64, 2, F64_MANTISSA, F64_BIAS> {};
struct F16 : TypeOf<u32, i32, float, 16, 8, F16_MANTISSA, F16_BIAS> {};
struct BF16 : TypeOf<u32, i32, float, 16, 8, BF16_MANTISSA, BF16_BIAS> {};
struct B8 : TypeOf<u32, i32, float, 8, 16> {};
// Words of F64 that are known to be small enough: a lane's two in 8 bytes.
struct Small64 : TypeOf<u32, i32, float, 32, 2> {};
// Words that take so few bits that differences of their differences, as codes, have no more than 15; a lane's in 8
// bytes and in 4.
struct Narrow32 : TypeOf<u32, i32, float, 16, 4> {};
struct Narrow64 : TypeOf<u32, i32, float, 16, 2> {};

// One of two types.
template <bool FIRST, class A, class B> struct If {
    typedef A Type;
};
template <class A, class B> struct If<false, A, B> {
    typedef B Type;
};

// Of a subchunk: how many times it has eight words, and the bytes that have a bit for each of these.
#define MASK_BYTES(T) (4 * T::VALUES)
#define MASK_FLAG_BYTES(T) (MASK_BYTES(T) / 8)

// A lane's words of a subchunk.
template <class T> struct VectorOf {
    typedef uint4 Type;
};
template <> struct VectorOf<Small64> {
    typedef uint2 Type;
};
template <> struct VectorOf<Narrow32> {
    typedef uint2 Type;
};
template <> struct VectorOf<Narrow64> {
    typedef u32 Type;
};

template <class T> DEV typename T::Word ones(u32 bits) {
    typedef typename T::Word Word;
    return bits >= 8 * sizeof(Word) ? ~(Word)0 : ((Word)1 << bits) - 1;
}

// A mask of up to all bits, without a comparison.
template <class T> DEV typename T::Word low_bits(u32 bits) {
    return T::BITS == 64 ? ones<T>(bits) : (typename T::Word) ~__funnelshift_lc(0u, ~0u, bits);
}

template <class T> DEV typename T::Word wrap(typename T::Word x) {
    return T::BITS < 32 ? x & (((typename T::Word)1 << (T::BITS & 31)) - 1) : x;
}

DEV void split(uint4 q, u64 (&v)[2]) {
    v[0] = q.x | (u64)q.y << 32;
    v[1] = q.z | (u64)q.w << 32;
}
DEV void split(uint2 q, u32 (&v)[2]) {
    v[0] = q.x;
    v[1] = q.y;
}
DEV void split(uint2 q, u32 (&v)[4]) {
    v[0] = q.x & 0xffff;
    v[1] = q.x >> 16;
    v[2] = q.y & 0xffff;
    v[3] = q.y >> 16;
}
DEV void split(u32 q, u32 (&v)[2]) {
    v[0] = q & 0xffff;
    v[1] = q >> 16;
}
DEV void split(uint4 q, u32 (&v)[4]) {
    v[0] = q.x;
    v[1] = q.y;
    v[2] = q.z;
    v[3] = q.w;
}
DEV void split(uint4 q, u32 (&v)[8]) {
    const u32 w[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
    for (int i = 0; i < 8; i++) v[i] = w[i >> 1] >> (16 * (i & 1)) & 0xffff;
}
DEV void split(uint4 q, u32 (&v)[16]) {
    const u32 w[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
    for (int i = 0; i < 16; i++) v[i] = w[i >> 2] >> (8 * (i & 3)) & 0xff;
}

// The inverse of split; bits above the word are dropped.
DEV uint4 join(const u64 (&v)[2]) { return make_uint4((u32)v[0], (u32)(v[0] >> 32), (u32)v[1], (u32)(v[1] >> 32)); }
DEV uint2 join(const u32 (&v)[2]) { return make_uint2(v[0], v[1]); }
DEV uint4 join(const u32 (&v)[4]) { return make_uint4(v[0], v[1], v[2], v[3]); }
DEV uint4 join(const u32 (&v)[8]) {
    return make_uint4(__byte_perm(v[0], v[1], 0x5410), __byte_perm(v[2], v[3], 0x5410), __byte_perm(v[4], v[5], 0x5410),
                      __byte_perm(v[6], v[7], 0x5410));
}
DEV uint4 join(const u32 (&v)[16]) {
    u32 w[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        w[i] = __byte_perm(__byte_perm(v[4 * i], v[4 * i + 1], 0x0040), __byte_perm(v[4 * i + 2], v[4 * i + 3], 0x0040),
                           0x5410);
    return make_uint4(w[0], w[1], w[2], w[3]);
}

// Changes each of a lane's words; the same in their vector.
template <class T, class F> DEV void change(typename T::Word (&v)[T::VALUES], const F& f) {
#pragma unroll
    for (int i = 0; i < T::VALUES; i++) v[i] = f(v[i]);
}
template <class T, class F> DEV uint4 changed(uint4 q, const F& f) {
    typename T::Word v[T::VALUES];
    split(q, v);
    change<T>(v, f);
    return join(v);
}
// All bits of what is said of each word.
template <class T, class F> DEV auto any_of(typename VectorOf<T>::Type q, const F& f) {
    typename T::Word v[T::VALUES];
    split(q, v);
    auto any = f(v[0]);
#pragma unroll
    for (int i = 1; i < T::VALUES; i++) any |= f(v[i]);
    return any;
}
// A vector of one word.
template <class T> DEV uint4 all_of(typename T::Word x) {
    return changed<T>(make_uint4(0, 0, 0, 0), [=](typename T::Word) { return x; });
}

// Other byte order.
template <class T> DEV uint4 swap_bytes(uint4 q) {
    if (T::BITS == 16)
        return make_uint4(__byte_perm(q.x, 0, 0x2301), __byte_perm(q.y, 0, 0x2301), __byte_perm(q.z, 0, 0x2301),
                          __byte_perm(q.w, 0, 0x2301));
    if (T::BITS == 8) return q;
    const uint4 r = make_uint4(__byte_perm(q.x, 0, 0x0123), __byte_perm(q.y, 0, 0x0123), __byte_perm(q.z, 0, 0x0123),
                               __byte_perm(q.w, 0, 0x0123));
    return T::BITS == 64 ? make_uint4(r.y, r.x, r.w, r.z) : r;
}

// Does this word, taken as signed, lie below zero?
template <class T> DEV bool negative(typename T::Word x) { return x >> (T::BITS - 1) & 1; }

DEV u32 signs_of(u32 c) { return spread_lowest(c); }
DEV u64 signs_of(u64 c) { return (u64)(i64)(i32)spread_lowest((u32)c); }
template <class T> DEV typename T::Word from_zigzag(typename T::Word c) { return wrap<T>((c >> 1) ^ signs_of(c)); }
template <class T> DEV typename T::Word to_zigzag(typename T::Word x) {
    typedef typename T::Word Word;
    if constexpr (T::BITS == 64) {
        const u32 signs =
            optimisation_barrier((u32)((i32)(x >> 32) >> 31));    // for both halves; ptxas would make it twice
        return x << 1 ^ (signs | (u64)signs << 32);
    }
    return wrap<T>((x << 1) ^ ((Word)0 - (x >> (T::BITS - 1) & 1)));
}

// M and its inverse in the short form: rotated by one, words of exponent 1 to the middle count down through the odd
// codes.
template <class T> DEV typename T::Word to_exponent_code(typename T::Word x) {
    typedef typename T::Word Word;
    const Word first = (Word)1 << (T::BITS - T::EXPONENT);
    const Word u = wrap<T>((x << 2) | (x >> (T::BITS - 1) << 1));
    return negative<T>(wrap<T>(2 * x - first)) ? u : wrap<T>(2 * first - 1 - u);
}
// Even codes count from zero on, and skip those words behind exponent 0; odd ones, all their bits flipped, from
// exponent 1 on.
template <class T> DEV typename T::Word from_exponent_code(typename T::Word c) {
    enum { TOP = T::BITS < 32 ? T::BITS : 32 };    // bits of the half that has the exponent, or of the word
    const u32 first = 1u << (TOP - T::EXPONENT), odd = spread_lowest((u32)c), high = (u32)(c >> (T::BITS - TOP)) ^ odd;
    const u32 skipped = high >= 2 * first ? 1u << (TOP - 2) : 0, more = (skipped & ~odd) | (first / 2 & odd);
    if constexpr (T::BITS == 64) {
        const u32 low = (u32)c ^ odd;
        return __funnelshift_r(low, high, 2) | (u64)(__funnelshift_r(high, low, 2) + more) << 32;
    }
    const u32 x = wrap<T>(high);
    return wrap<T>((x >> 2 | x << (T::BITS - 2 & 31)) + more);
}

// The countdown (docs/reference/codecs/sleek.md §5): words rotated left by one bit, counted down from a top that a base
// tells.
template <class T> DEV typename T::Word rotated(typename T::Word x) { return wrap<T>(x << 1 | x >> (T::BITS - 1)); }
template <class T> struct Countdown {
    typedef typename T::Word Word;
    enum { BASE_BITS = T::EXPONENT + 2, BELOW = T::BITS - BASE_BITS };

    // Of words of which `largest`, rotated, is the largest.
    static DEV Word base(Word largest) { return largest >> BELOW; }
    static DEV Word top(Word base) { return wrap<T>(((base + 1) << BELOW) + 1); }
    // The top that is nearest above two words.
    static DEV Word top_of(Word a, Word b) {
        const Word x = rotated<T>(a), y = rotated<T>(b);
        return top(base(x > y ? x : y));
    }
    // Of a word below the top.
    static DEV Word code(Word x, Word top) {
        const Word y = rotated<T>(x);
        return y >> 1 ? wrap<T>(top - y) : y;
    }
    static DEV Word word(Word c, Word top) {
        const Word y = c >> 1 ? wrap<T>(top - c) : c;
        return wrap<T>(y >> 1 | y << (T::BITS - 1));
    }
    // Half of what a code may be, of a word that may lie above the top.
    static DEV Word half_code(Word x, Word top) {
        const Word distance = wrap<T>(top - rotated<T>(x));
        return wrap<T>(x << 1) ? (negative<T>(distance) ? wrap<T>((Word)0 - distance) : distance) >> 1 : 0;
    }
};

// Bits up to and with the highest one.
DEV u32 width_of(u32 x) { return top_bit(x) + 1; }
DEV u32 width_of(u64 x) { return top_bit(x) + 1; }
DEV u32 warp_or(u32 x) { return __reduce_or_sync(FULL, x); }
DEV u64 warp_or(u64 x) { return __reduce_or_sync(FULL, (u32)x) | (u64)__reduce_or_sync(FULL, (u32)(x >> 32)) << 32; }
DEV u32 warp_min(u32 x) { return __reduce_min_sync(FULL, x); }
DEV u64 warp_min(u64 x) {
    const u32 high = __reduce_min_sync(FULL, (u32)(x >> 32));
    return (u64)high << 32 | __reduce_min_sync(FULL, (u32)(x >> 32) == high ? (u32)x : ~0u);
}
DEV u32 warp_max(u32 x) { return __reduce_max_sync(FULL, x); }
DEV u64 warp_max(u64 x) { return ~warp_min(~x); }

// Order of signed numbers as an order of unsigned ones.
template <class T> DEV typename T::Word biased(typename T::Word x) { return x ^ (typename T::Word)1 << (T::BITS - 1); }
