// Compressed arrays in GPU memory, for a program's own kernels: functions that load and store a block of 4^D values, or
// one value, at a fixed rate. Blocks have the bits of those of sleek_array_... (sleek.h): sleek_array_blocks() brings
// them to GPU memory, sleek_array_set_blocks() back.
//
//     __global__ void scale(sleek::device_array<double, 3> u) {
//         const uint64_t n = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
//         if (n >= u.blocks()) return;
//         double v[64];
//         u.load(n, v);                            // v[x + 4 * y + 16 * z]
//         for (double& x : v) x *= 2;
//         u.store(n, v);                           // beyond the array's edges v is ignored
//     }
//     scale<<<...>>>({memory, {nz, ny, nx}, sleek::block_bytes<double, 3>(16.0)});
//
// Threads may load any blocks at once; a block that one of them stores, or sets a value of, nobody else may touch
// meanwhile. Values must be finite; a block of which all are below 2^-120 (float) or 2^-1013 (double) comes back as
// zeros. A thread keeps its block in registers, or in local memory where it is large. C++14; without nvcc everything is
// for the CPU. Not with -ftz=true or --use_fast_math: blocks would have other bits.
#ifndef SLEEK_ARRAY_CUH
#define SLEEK_ARRAY_CUH

#if !defined(__CUDACC_RTC__)
#include <stdint.h>
#include <string.h>
#endif

#if defined(__CUDACC__)
#define SLEEK_DEVICE __host__ __device__ inline
// Blocks of 4^4 are too many instructions.
#define SLEEK_UNROLL _Pragma("unroll (D < 4 ? SIZE : 1)")
#else
#define SLEEK_DEVICE inline
#define SLEEK_UNROLL
#endif

namespace sleek {

// Bytes of a block of 4^D values at `rate` bits for each of them: whole words of 64 bits, as on the host. T is float or
// double; 0 where the rate is none.
template <class T, unsigned D> SLEEK_DEVICE uint32_t block_bytes(double rate) {
    const uint32_t size = 1u << (2 * D), least = sizeof(T) == 4 ? 9 : 12;
    if (!(rate > 0) || rate > 16658) return 0;
    uint32_t bits = (uint32_t)(size * rate + 0.5);
    if (bits < least) bits = least;
    return (bits + 63) / 64 * 8;
}

namespace zfp {

template <class T> struct number;
template <> struct number<float> {
    typedef uint32_t word;
    typedef int32_t integer;
    enum : int { BITS = 32, MANTISSA = 23, BIAS = 127, EXPONENT = 8 };
};
template <> struct number<double> {
    typedef uint64_t word;
    typedef int64_t integer;
    enum : int { BITS = 64, MANTISSA = 52, BIAS = 1023, EXPONENT = 11 };
};

template <class To, class From> SLEEK_DEVICE To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From), "of one size");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
// 2^e, rounded.
template <class T> SLEEK_DEVICE T power(int e) {
    typedef number<T> N;
    typedef typename N::word word;
    const int normal = 1 - N::BIAS, least = normal - N::MANTISSA;
    return bits_as<T>(e >= normal ? (word)(e + N::BIAS) << N::MANTISSA : e >= least ? (word)1 << (e - least) : (word)0);
}

// Where coefficient i lies in its block.
template <unsigned D> SLEEK_DEVICE unsigned place(unsigned i) {
    static constexpr uint8_t TWO[16] = {0, 1, 4, 5, 2, 8, 6, 9, 3, 12, 10, 7, 13, 11, 14, 15};
    static constexpr uint8_t THREE[64] = {
        0,  1,  4,  16, 20, 17, 5,  2,  8,  32, 21, 6,  18, 24, 9,  33, 36, 3,  12, 48, 22, 25,
        37, 40, 34, 10, 7,  19, 28, 13, 49, 52, 41, 38, 26, 23, 29, 53, 11, 35, 44, 14, 50, 56,
        42, 27, 39, 45, 30, 54, 57, 60, 51, 15, 43, 46, 58, 61, 55, 31, 62, 59, 47, 63,
    };
    static constexpr uint8_t FOUR[256] = {
        0,   1,   4,   16,  64,  5,   80,  17,  68,  65,  20,  2,   8,   32,  128, 84,  81,  69,  21,  6,   18,  66,
        24,  72,  9,   96,  33,  36,  129, 132, 144, 3,   12,  48,  192, 85,  82,  70,  22,  73,  25,  88,  37,  100,
        97,  148, 145, 133, 10,  160, 34,  136, 130, 40,  7,   19,  67,  28,  76,  13,  112, 49,  52,  193, 196, 208,
        86,  89,  101, 149, 161, 137, 41,  134, 38,  164, 26,  152, 146, 104, 98,  74,  83,  71,  23,  77,  29,  92,
        53,  116, 113, 212, 209, 197, 11,  35,  131, 44,  140, 14,  176, 50,  56,  194, 200, 224, 90,  165, 102, 153,
        150, 105, 168, 162, 138, 42,  87,  93,  117, 213, 27,  75,  99,  39,  135, 147, 108, 45,  141, 156, 30,  78,
        177, 180, 54,  114, 120, 57,  198, 210, 216, 201, 225, 228, 15,  240, 51,  204, 195, 60,  169, 166, 154, 106,
        91,  103, 151, 109, 157, 94,  181, 118, 121, 214, 217, 229, 163, 139, 43,  142, 46,  172, 58,  184, 178, 232,
        226, 202, 241, 205, 61,  199, 55,  244, 31,  220, 211, 124, 115, 79,  170, 167, 155, 107, 158, 110, 173, 122,
        185, 182, 233, 230, 218, 95,  245, 119, 221, 215, 125, 242, 206, 62,  203, 59,  248, 47,  236, 227, 188, 179,
        143, 171, 174, 186, 234, 246, 222, 126, 219, 123, 249, 111, 237, 231, 189, 183, 159, 252, 243, 207, 63,  175,
        250, 187, 238, 235, 190, 253, 247, 223, 127, 254, 251, 239, 191, 255,
    };
    return D == 1 ? i : D == 2 ? TWO[i & 15] : D == 3 ? THREE[i & 63] : FOUR[i & 255];
}

template <class W> SLEEK_DEVICE W half(W x) { return sizeof(W) == 4 ? (W)((int32_t)x >> 1) : (W)((int64_t)x >> 1); }
template <class W> SLEEK_DEVICE void forward(W& x, W& y, W& z, W& w) {
    x = half<W>(x + w), w -= x;
    z = half<W>(z + y), y -= z;
    x = half<W>(x + z), z -= x;
    w = half<W>(w + y), y -= w;
    w += half(y), y -= half(w);
}
template <class W> SLEEK_DEVICE void inverse(W& x, W& y, W& z, W& w) {
    y += half(w), w -= half(y);
    y += w, w += w - y;
    z += x, x += x - z;
    y += z, z += z - y;
    w += x, x += x - w;
}

// The bits of a block: those that have no room are dropped, and those that are not there are 0.
struct writer {
    uint32_t* words;
    uint64_t pending;
    uint32_t count, at, most;

    SLEEK_DEVICE void put(uint32_t value, uint32_t bits) {    // at most 32
        pending |= (uint64_t)value << count;
        count += bits;
        if (count < 32) return;
        if (at < most) words[at] = (uint32_t)pending;
        at++;
        pending >>= 32;
        count -= 32;
    }
    SLEEK_DEVICE bool full() const { return at >= most; }
    SLEEK_DEVICE void close() {
        for (; at < most; at++, pending = 0) words[at] = (uint32_t)pending;
    }
};
struct reader {
    const uint32_t* words;
    uint64_t ahead;
    uint32_t there, next, most;

    SLEEK_DEVICE uint32_t peek() {    // 32 bits
        if (there < 32) {
            ahead |= (uint64_t)(next < most ? words[next] : 0) << there;
            next++;
            there += 32;
        }
        return (uint32_t)ahead;
    }
    SLEEK_DEVICE void skip(uint32_t bits) {    // of those that were seen
        ahead >>= bits;
        there -= bits;
    }
    SLEEK_DEVICE uint32_t take(uint32_t bits) {    // at most 32
        const uint32_t value = peek() & (bits < 32 ? (1u << bits) - 1 : ~0u);
        skip(bits);
        return value;
    }
};

SLEEK_DEVICE uint32_t low(uint32_t bits) { return bits < 32 ? (1u << bits) - 1 : ~0u; }
SLEEK_DEVICE uint32_t first_one(uint32_t x) {    // of a number that has one
#if defined(__CUDA_ARCH__)
    return __ffs((int)x) - 1;
#else
    return (uint32_t)__builtin_ctz(x);
#endif
}
// How many of the first n bits are in word w.
SLEEK_DEVICE uint32_t bits_in(uint32_t n, uint32_t w) { return n <= 32 * w ? 0 : n - 32 * w < 32 ? n - 32 * w : 32; }

// The bit planes of a block, as docs/reference/codecs/zfp.md §4 has them. U is the word of a coefficient.
template <unsigned D, class U> SLEEK_DEVICE void put_planes(writer& out, const U* u, uint32_t planes) {
    enum : uint32_t { SIZE = 1u << (2 * D), WORDS = SIZE < 32 ? 1 : SIZE / 32, EACH = SIZE < 32 ? SIZE : 32 };
    uint32_t n = 0;
    for (uint32_t k = 0; k < planes && !out.full(); k++) {
        uint32_t x[WORDS];
        for (uint32_t w = 0; w < WORDS; w++) {
            x[w] = 0;
            for (uint32_t i = EACH; i-- > 0;)
                x[w] = x[w] << 1 | (uint32_t)(u[32 * w + i] >> (8 * sizeof(U) - 1 - k) & 1);
            const uint32_t m = bits_in(n, w);
            if (m) out.put(x[w] & low(m), m);
        }
        while (n < SIZE) {
            uint32_t p = SIZE;
            for (uint32_t w = WORDS; w-- > 0;) {
                const uint32_t rest = x[w] & ~low(bits_in(n, w));
                if (rest) p = 32 * w + first_one(rest);
            }
            if (p >= SIZE) {
                out.put(0, 1);
                break;
            }
            // A one, zeros, and the one that ends them, which the last coefficient goes without.
            uint32_t zeros = p - n;
            out.put(1, 1);
            for (; zeros >= 31; zeros -= 31) out.put(0, 31);
            const uint32_t last = p + 1 < SIZE;
            out.put(last << zeros, zeros + last);
            n = p + 1;
        }
    }
}
template <unsigned D, class U> SLEEK_DEVICE void get_planes(reader& in, U* u, uint32_t planes, uint32_t budget) {
    enum : uint32_t { SIZE = 1u << (2 * D), WORDS = SIZE < 32 ? 1 : SIZE / 32, EACH = SIZE < 32 ? SIZE : 32 };
    for (uint32_t i = 0; i < SIZE; i++) u[i] = 0;
    uint32_t n = 0;
    for (uint32_t k = 0; k < planes && budget; k++) {
        uint32_t x[WORDS];
        const uint32_t known = n < budget ? n : budget;
        budget -= known;
        for (uint32_t w = 0; w < WORDS; w++) x[w] = in.take(bits_in(known, w));
        while (n < SIZE && budget) {
            budget--;
            if (!in.take(1)) break;
            uint32_t most = SIZE - 1 - n < budget ? SIZE - 1 - n : budget;
            while (most) {
                const uint32_t seen = most < 32 ? most : 32, one = in.peek() & low(seen);
                const uint32_t zeros = one ? first_one(one) : seen, used = zeros + (one != 0);
                in.skip(used);
                budget -= used;
                n += zeros;
                most = one ? 0 : most - seen;
            }
            x[n / 32] |= 1u << (n & 31);
            n++;
        }
        for (uint32_t w = 0; w < WORDS; w++)
            for (uint32_t i = 0; i < EACH; i++) u[32 * w + i] |= (U)(x[w] >> i & 1) << (8 * sizeof(U) - 1 - k);
    }
}

template <class T, unsigned D> SLEEK_DEVICE uint32_t planes_of(int t) {
    const int needed = t + 1074 + 2 * (int)D + 2, most = number<T>::BITS;
    return needed < 0 ? 0 : needed < most ? (uint32_t)needed : (uint32_t)most;
}

template <class T, unsigned D> SLEEK_DEVICE void encode(const T* v, uint32_t* words, uint32_t count) {
    typedef number<T> N;
    typedef typename N::word word;
    enum : unsigned { SIZE = 1u << (2 * D) };
    writer out = {words, 0, 0, 0, count};
    word largest = 0;
    for (unsigned i = 0; i < SIZE; i++) {
        const word magnitude = bits_as<word>(v[i]) & ((word) ~(word)0 >> 1);
        largest = magnitude > largest ? magnitude : largest;
    }
    // All magnitudes are below 2^t.
    const int t = (int)(largest >> N::MANTISSA) - (N::BIAS - 1);
    const uint32_t planes = planes_of<T, D>(t);
    if (largest == 0 || planes == 0 || largest >= (word)(2 * N::BIAS + 1) << N::MANTISSA) {
        out.close();
        return;
    }
    out.put(2 * (uint32_t)(t + N::BIAS) + 1, 1 + N::EXPONENT);
    // Where the factor is too large for the type it is taken in two steps, both exact.
    const int all = N::BITS - 2 - t, one = t >= N::BITS - 2 - N::BIAS ? 0 : 64;
    const T first = power<T>(one), second = power<T>(all - one);
    word p[SIZE], u[SIZE];
    SLEEK_UNROLL
    for (unsigned i = 0; i < SIZE; i++) p[i] = (word)(typename N::integer)(v[i] * first * second);
    SLEEK_UNROLL
    for (unsigned a = 0; a < D; a++) {
        const unsigned s = 1u << (2 * a);
        SLEEK_UNROLL
        for (unsigned i = 0; i < SIZE; i++)
            if ((i >> (2 * a) & 3) == 0) forward(p[i], p[i + s], p[i + 2 * s], p[i + 3 * s]);
    }
    const word mask = (word)0xaaaaaaaaaaaaaaaaull;
    SLEEK_UNROLL
    for (unsigned i = 0; i < SIZE; i++) u[i] = (p[place<D>(i)] + mask) ^ mask;
    put_planes<D>(out, u, planes);
    out.close();
}

template <class T, unsigned D> SLEEK_DEVICE void decode(const uint32_t* words, uint32_t count, T* v) {
    typedef number<T> N;
    typedef typename N::word word;
    enum : unsigned { SIZE = 1u << (2 * D) };
    reader in = {words, 0, 0, 0, count};
    if (!in.take(1)) {
        for (unsigned i = 0; i < SIZE; i++) v[i] = 0;
        return;
    }
    const int t = (int)in.take(N::EXPONENT) - N::BIAS;
    word u[SIZE], p[SIZE];
    get_planes<D>(in, u, planes_of<T, D>(t), 32 * count - 1 - N::EXPONENT);
    const word mask = (word)0xaaaaaaaaaaaaaaaaull;
    SLEEK_UNROLL
    for (unsigned i = 0; i < SIZE; i++) p[place<D>(i)] = (u[i] ^ mask) - mask;
    SLEEK_UNROLL
    for (unsigned b = 0; b < D; b++) {
        const unsigned a = D - 1 - b, s = 1u << (2 * a);
        SLEEK_UNROLL
        for (unsigned i = 0; i < SIZE; i++)
            if ((i >> (2 * a) & 3) == 0) inverse(p[i], p[i + s], p[i + 2 * s], p[i + 3 * s]);
    }
    const T factor = power<T>(t - (N::BITS - 2));
    SLEEK_UNROLL
    for (unsigned i = 0; i < SIZE; i++) v[i] = factor * (T)(typename N::integer)p[i];
}

}    // namespace zfp

// An array whose compressed blocks are in GPU memory; it owns nothing, and goes to a kernel by value. T is float or
// double, D 1 to 4.
template <class T, unsigned D> struct device_array {
    static_assert(D >= 1 && D <= 4, "1 to 4 dimensions");
    enum : unsigned { SIZE = 1u << (2 * D) };

    // The blocks, one behind the other, aligned to 8 bytes; the lengths, slowest dimension first; bytes of a block.
    uint32_t* words;
    uint64_t lens[D];
    uint32_t bytes_each;

    // Blocks along a dimension, and all of them; along the last dimension they follow each other.
    SLEEK_DEVICE uint64_t along(unsigned d) const { return (lens[d] + 3) / 4; }
    SLEEK_DEVICE uint64_t blocks() const {
        uint64_t n = 1;
        for (unsigned d = 0; d < D; d++) n *= along(d);
        return n;
    }
    // Bytes of all of them.
    SLEEK_DEVICE uint64_t bytes() const { return blocks() * bytes_each; }
    // The block that has an element.
    SLEEK_DEVICE uint64_t block_of(const uint64_t (&at)[D]) const {
        uint64_t n = 0;
        for (unsigned d = 0; d < D; d++) n = n * along(d) + at[d] / 4;
        return n;
    }
    // Where an element is in its block.
    SLEEK_DEVICE static unsigned inside(const uint64_t (&at)[D]) {
        unsigned n = 0;
        for (unsigned d = 0; d < D; d++) n = 4 * n + (unsigned)(at[d] & 3);
        return n;
    }
    // The first element of a block.
    SLEEK_DEVICE void start_of(uint64_t block, uint64_t (&at)[D]) const {
        for (unsigned d = D; d-- > 0; block /= along(d)) at[d] = 4 * (block % along(d));
    }

    // Decodes a block; beyond the array's edges there are numbers that mean nothing.
    SLEEK_DEVICE void load(uint64_t block, T (&v)[SIZE]) const {
        zfp::decode<T, D>(words + block * (bytes_each / 4), bytes_each / 4, v);
    }
    // Encodes a block. What of it lies beyond the edges gets numbers that cost little, whatever is in v.
    SLEEK_DEVICE void store(uint64_t block, const T (&v)[SIZE]) const {
        uint32_t* to = words + block * (bytes_each / 4);
        uint64_t at[D];
        start_of(block, at);
        T p[SIZE];
        SLEEK_UNROLL
        for (unsigned i = 0; i < SIZE; i++) p[i] = v[i];
        // Along each dimension an element beyond the edge is as the one before it, the fourth as the first.
        SLEEK_UNROLL
        for (unsigned d = 0; d < D; d++) {
            const unsigned shift = 2 * (D - 1 - d);
            if (at[d] + 4 <= lens[d]) continue;
            const unsigned n = (unsigned)(lens[d] - at[d]);
            SLEEK_UNROLL
            for (unsigned i = 0; i < SIZE; i++) {
                const unsigned k = i >> shift & 3;
                if (k >= n) p[i] = p[i - ((k == 3 ? 3u : 1u) << shift)];
            }
        }
        zfp::encode<T, D>(p, to, bytes_each / 4);
    }
    // One element; the whole of its block is decoded for it.
    SLEEK_DEVICE T get(const uint64_t (&at)[D]) const {
        T v[SIZE];
        load(block_of(at), v);
        return v[inside(at)];
    }
    // Changes one, for which its block is decoded and encoded: the others in it are rounded again.
    SLEEK_DEVICE void set(const uint64_t (&at)[D], T value) const {
        T v[SIZE];
        const uint64_t block = block_of(at);
        load(block, v);
        v[inside(at)] = value;
        store(block, v);
    }
};

}    // namespace sleek

#endif
