// A block and its bits (docs/codecs/zfp.md §3 to §7), each the work of one lane: transforms, bit planes, numbers.
#pragma once
#include "stream.cuh"

namespace zfp {

template <u32 D> struct Block {
    enum : u32 { SIZE = 1u << (2 * D), WORDS = SIZE < 32 ? 1 : SIZE / 32 };
};
// The values of a block.
template <class T, u32 D> using Values = typename T::Word[Block<D>::SIZE];

// The place of each coefficient.
CONSTANT u8 ORDER_2[16] = {0, 1, 4, 5, 2, 8, 6, 9, 3, 12, 10, 7, 13, 11, 14, 15};
CONSTANT u8 ORDER_3[64] = {
    0,  1,  4,  16, 20, 17, 5,  2,  8,  32, 21, 6,  18, 24, 9,  33, 36, 3,  12, 48, 22, 25,
    37, 40, 34, 10, 7,  19, 28, 13, 49, 52, 41, 38, 26, 23, 29, 53, 11, 35, 44, 14, 50, 56,
    42, 27, 39, 45, 30, 54, 57, 60, 51, 15, 43, 46, 58, 61, 55, 31, 62, 59, 47, 63,
};
template <u32 D> DEV u32 place_of(u32 i) { return D == 1 ? i : D == 2 ? ORDER_2[i & 15] : ORDER_3[i & 63]; }

DEV u32 half(u32 x) { return (u32)((i32)x >> 1); }
DEV u64 half(u64 x) { return (u64)((i64)x >> 1); }
// Every second bit: numbers to base −2.
template <class T> DEV typename T::Word mask() { return (typename T::Word)0xaaaaaaaaaaaaaaaaull; }

struct Forward {
    template <class Word> static DEV void lift(Word& x, Word& y, Word& z, Word& w) {
        x = half(x + w);
        w -= x;
        z = half(z + y);
        y -= z;
        x = half(x + z);
        z -= x;
        w = half(w + y);
        y -= w;
        w += half(y);
        y -= half(w);
    }
};
struct Inverse {
    template <class Word> static DEV void lift(Word& x, Word& y, Word& z, Word& w) {
        y += half(w);
        w -= half(y);
        y += w;
        w += w - y;
        z += x;
        x += x - z;
        y += z;
        z += z - y;
        w += x;
        x += x - w;
    }
};
struct ReversibleForward {
    template <class Word> static DEV void lift(Word& x, Word& y, Word& z, Word& w) {
        w -= z;
        z -= y;
        y -= x;
        w -= z;
        z -= y;
        w -= z;
    }
};
struct ReversibleInverse {
    template <class Word> static DEV void lift(Word& x, Word& y, Word& z, Word& w) {
        w += z;
        z += y;
        w += z;
        y += x;
        z += y;
        w += z;
    }
};
template <class T, class Step, u32 D> DEV void lift_along(Values<T, D>& p, u32 axis) {
    const u32 s = 1u << (2 * axis);
#pragma unroll
    for (u32 i = 0; i < Block<D>::SIZE; i++)
        if ((i >> (2 * axis) & 3) == 0) Step::lift(p[i], p[i + s], p[i + 2 * s], p[i + 3 * s]);
}
template <class T, class Step, u32 D> DEV void transform(Values<T, D>& p) {
#pragma unroll
    for (u32 a = 0; a < D; a++) lift_along<T, Step, D>(p, a);
}
template <class T, class Step, u32 D> DEV void transform_back(Values<T, D>& p) {
#pragma unroll
    for (u32 a = 0; a < D; a++) lift_along<T, Step, D>(p, D - 1 - a);
}

// Integers at their places to coefficients in their order, and back.
template <class T, u32 D> DEV void to_coefficients(const Values<T, D>& p, Values<T, D>& u) {
#pragma unroll
    for (u32 i = 0; i < Block<D>::SIZE; i++) u[i] = (p[place_of<D>(i)] + mask<T>()) ^ mask<T>();
}
template <class T, u32 D> DEV void from_coefficients(const Values<T, D>& u, Values<T, D>& p) {
#pragma unroll
    for (u32 i = 0; i < Block<D>::SIZE; i++) p[place_of<D>(i)] = (u[i] ^ mask<T>()) - mask<T>();
}

// The bits of a block, in words of a lane that lie 32 words apart, so that those of a warp lie together.
struct Writer {
    u32* words;
    u64 pending;
    u32 count, at;    // bits that are pending; words that are written

    DEV explicit Writer(u32* words) : words(words), pending(0), count(0), at(0) {}
    // At most 32, and the value has no more.
    DEV void put(u32 value, u32 bits) {
        pending |= (u64)value << count;
        count += bits;
        if (count < 32) return;
        words[32 * at++] = (u32)pending;
        pending >>= 32;
        count -= 32;
    }
    DEV u32 bits() const { return 32 * at + count; }
    DEV void close() const {
        if (count) words[32 * at] = (u32)pending;
    }
};

// The bits of a stream; behind its end there are zeros.
struct Reader {
    const u32* words;
    u64 ahead;
    u32 count, there, next, read;    // words; bits in `ahead`; the next word; bits that were taken

    DEV Reader(const u32* words, u32 count) : words(words), ahead(0), count(count), there(0), next(0), read(0) {}
    DEV void seek(u32 bit) {
        next = bit / 32;
        ahead = there = 0;
        read = bit;
        peek();
        ahead >>= bit % 32;
        there -= bit % 32;
    }
    // The next 32 bits.
    DEV u32 peek() {
        if (there < 32) {
            ahead |= (u64)(next < count ? words[next] : 0) << there;
            next++;
            there += 32;
        }
        return (u32)ahead;
    }
    DEV void skip(u32 bits) {    // of those that were seen
        ahead >>= bits;
        there -= bits;
        read += bits;
    }
    DEV u32 take(u32 bits) {    // at most 32
        const u32 value = peek() & low_ones(bits);
        skip(bits);
        return value;
    }
};

// Shifts the top bit out of `from`, and into `to` below its others.
#ifdef SLEEK_CPU
template <class From, class To> DEV void shift_over(From& from, To& to) {
    to = to << 1 | (To)(from >> (8 * sizeof from - 1));
    from <<= 1;
}
#else
DEV void shift_over(u32& from, u32& to) {
    asm("add.cc.u32 %0, %0, %0;\n\taddc.u32 %1, %1, %1;" : "+r"(from), "+r"(to));
}
DEV void shift_over(u64& from, u32& to) {
    asm("add.cc.u64 %0, %0, %0;\n\taddc.u32 %1, %1, %1;" : "+l"(from), "+r"(to));
}
DEV void shift_over(u32& from, u64& to) {
    asm("add.cc.u32 %0, %0, %0;\n\taddc.u64 %1, %1, %1;" : "+r"(from), "+l"(to));
}
#endif

// How many of the first n bits are in word w.
DEV u32 bits_in(u32 n, u32 w) { return n > 32 * w ? min_of(n - 32 * w, 32u) : 0; }

// The first one from bit n on; SIZE or more if there is none.
template <u32 WORDS> DEV u32 next_one(const u32 (&x)[WORDS], u32 n) {
    u32 at = 32 * WORDS;
#pragma unroll
    for (u32 w = WORDS; w-- > 0;) {
        const u32 rest = x[w] & ~low_ones(bits_in(n, w));
        if (rest) at = 32 * w + __ffs((i32)rest) - 1;
    }
    return at;
}

// Writes the upper `planes` bit planes of coefficients, which are lost; as many of them as begin before bit `end`.
template <class T, u32 D> DEV void put_planes(Writer& out, Values<T, D>& u, u32 planes, u32 end) {
    enum : u32 { SIZE = Block<D>::SIZE, WORDS = Block<D>::WORDS };
    u32 n = 0;
#pragma unroll 1
    for (u32 k = 0; k < planes && out.bits() < end; k++) {
        u32 x[WORDS];
#pragma unroll
        for (u32 w = 0; w < WORDS; w++) {
            x[w] = 0;
#pragma unroll
            for (u32 i = SIZE < 32 ? SIZE : 32; i-- > 0;) shift_over(u[32 * w + i], x[w]);
            if (const u32 m = bits_in(n, w)) out.put(x[w] & low_ones(m), m);
        }
#pragma unroll 1
        while (n < SIZE) {
            const u32 p = next_one(x, n);
            if (p >= SIZE) {
                out.put(0, 1);
                break;
            }
            // A one, zeros, and the one that ends them, which the last coefficient goes without.
            const u32 zeros = p - n, last = p + 1 < SIZE;
            if (zeros < 31) {
                out.put(1 | last << (zeros + 1), 1 + zeros + last);
            } else {
                out.put(1, 32);
                out.put(last << (zeros - 31 & 31), zeros - 31 + last);
            }
            n = p + 1;
        }
    }
}

// Reads them; `budget` bits at most.
template <class T, u32 D> DEV void get_planes(Reader& in, Values<T, D>& u, u32 planes, u32 budget) {
    enum : u32 { SIZE = Block<D>::SIZE, WORDS = Block<D>::WORDS };
#pragma unroll
    for (u32 i = 0; i < SIZE; i++) u[i] = 0;
    u32 n = 0, k = 0;
#pragma unroll 1
    for (; k < planes && budget; k++) {
        u32 x[WORDS];
        const u32 known = min_of(n, budget);
        budget -= known;
#pragma unroll
        for (u32 w = 0; w < WORDS; w++) x[w] = in.take(bits_in(known, w));
#pragma unroll 1
        while (n < SIZE && budget) {
            budget--;
            if (!in.take(1)) break;
            u32 most = min_of((u32)SIZE - 1 - n, budget);
            while (most) {
                const u32 seen = min_of(most, 32u), one = in.peek() & low_ones(seen);
                const u32 zeros = one ? __ffs((i32)one) - 1 : seen, used = zeros + (one != 0);
                in.skip(used);
                budget -= used;
                n += zeros;
                most = one ? 0 : most - seen;
            }
#pragma unroll
            for (u32 w = 0; w < WORDS; w++) x[w] |= n / 32 == w ? 1u << (n & 31) : 0;
            n++;
        }
#pragma unroll
        for (u32 w = 0; w < WORDS; w++) {
            if (SIZE < 32) x[w] <<= (32 - SIZE) & 31;
#pragma unroll
            for (u32 i = SIZE < 32 ? SIZE : 32; i-- > 0;) shift_over(x[w], u[32 * w + i]);
        }
    }
    const u32 rest = T::BITS - k;
#pragma unroll
    for (u32 i = 0; i < SIZE; i++) u[i] = rest < T::BITS ? u[i] << rest : 0;
}

// Numbers and exponents of an element type.
template <class T> struct Numbers {
    typedef typename T::Word Word;
    typedef typename T::Signed Signed;
    typedef typename T::Float Float;
    enum : u32 { PRECISION_BITS = T::BITS == 64 ? 6 : 5 };
    enum : i32 { UNIT_EXPONENT = T::BITS - 2, LEAST_FACTOR = T::BITS - 2 - T::BIAS };

    static DEV Word magnitude(Word bits) { return bits & ((Word) ~(Word)0 >> 1); }
    static DEV bool is_finite(Word magnitude) { return magnitude < (Word)(2 * T::BIAS + 1) << T::MANTISSA; }
    // t of the largest magnitude, which is not 0: all are below 2^t.
    static DEV i32 exponent(Word magnitude) { return (i32)(magnitude >> T::MANTISSA) - (T::BIAS - 1); }
    // 2^e, rounded to an element.
    static DEV Float power(i32 e) {
        const i32 normal = 1 - T::BIAS, least = normal - T::MANTISSA;
        return float_of(e >= normal  ? (Word)(e + T::BIAS) << T::MANTISSA
                        : e >= least ? (Word)1 << (e - least)
                                     : (Word)0);
    }
    static DEV Word number(Word fixed, Float factor) { return bits_of(factor * (Float)(Signed)fixed); }
    // Negative numbers have their other bits inverted.
    static DEV Word reinterpreted(Word bits) { return bits ^ magnitude((Word)((Signed)bits >> (T::BITS - 1))); }
};

// Floats below 2^t to integers: v · 2^(W − 2 − t), cut off. Where the factor is too large for the type it is taken in
// two steps, both exact.
template <class T> struct Scale {
    typedef Numbers<T> Number;
    typename T::Float first, second;

    DEV explicit Scale(i32 t) {
        const i32 all = Number::UNIT_EXPONENT - t, one = t >= Number::LEAST_FACTOR ? 0 : 64;
        first = Number::power(one);
        second = Number::power(all - one);
    }
    DEV typename T::Word fixed(typename T::Word bits) const {
        return (typename T::Word)(typename T::Signed)(float_of(bits) * first * second);
    }
};

// Bit planes of a block of floats below 2^t; and of integers.
template <u32 D> DEV u32 planes_of(const Coding& c, i32 t) {
    const i32 most = c.kind == PRECISION ? c.parameter : (i32)ZFP_MAX_PRECISION;
    const i32 needed = t - (c.kind == ACCURACY ? c.parameter : -(i32)ZFP_DEPTH) + 2 * (i32)D + 2;
    return (u32)(needed < 0 ? 0 : needed < most ? needed : most);
}
DEV u32 planes_of_integers(const Coding& c) { return c.kind == PRECISION ? (u32)c.parameter : ZFP_MAX_PRECISION; }

// Whether |v − r| ≤ bound, in exact arithmetic (src/codec/zfp/element.rs).
DEV bool is_within(double v, double r, double bound) {
    const double d = v - r, size = fabs(d), t = d - v, error = (v - (d - t)) - (r + t);
    return size < bound || (size == bound && (d < 0.0 ? -error : error) <= 0.0);
}

// Encodes the elements of a block. In kind ACCURACY `kept` says which of them came back within the bound, a bit each,
// else it is all ones; it is 0 where one is not finite and the kind is not REVERSIBLE.
template <class T, u32 D>
DEV void encode_block(Writer& out, const Values<T, D>& v, bool is_float, const Coding& c, double bound, u64& kept) {
    typedef typename T::Word Word;
    typedef Numbers<T> Number;
    enum : u32 { SIZE = Block<D>::SIZE };
    kept = ~0ull;
    Word largest = 0, any = 0, p[SIZE], u[SIZE];
#pragma unroll
    for (u32 i = 0; i < SIZE; i++) {
        const Word magnitude = Number::magnitude(v[i]);
        largest = magnitude > largest ? magnitude : largest;
        any |= v[i];
        p[i] = v[i];
    }
    const bool finite = Number::is_finite(largest), lossy = c.kind != REVERSIBLE;
    const i32 t = Number::exponent(largest);
    u32 planes = planes_of_integers(c);
    bool empty = false;
    if (is_float) {
        planes = planes_of<D>(c, t);
        if (lossy && !finite) kept = 0;
        empty = lossy ? largest == 0 || planes == 0 || !finite : any == 0;
        if (empty) {
            out.put(0, 1);
        } else {
            const typename T::Float factor = Number::power(t - Number::UNIT_EXPONENT);
            const Scale<T> scale(t);
            bool exact = true;
            if (finite) {
#pragma unroll
                for (u32 i = 0; i < SIZE; i++) {
                    p[i] = scale.fixed(v[i]);
                    exact &= Number::number(p[i], factor) == v[i];
                }
            }
            if (lossy) {
                out.put(2 * (u32)(t + T::BIAS) + 1, 1 + T::EXPONENT);
            } else if (finite && exact && largest && t >= Number::LEAST_FACTOR) {
                out.put(1, 2);
                out.put((u32)(t + T::BIAS), T::EXPONENT);
            } else {
                out.put(3, 2);
#pragma unroll
                for (u32 i = 0; i < SIZE; i++) p[i] = Number::reinterpreted(v[i]);
            }
        }
    }
    if (!empty) {
        if (lossy)
            transform<T, Forward, D>(p);
        else
            transform<T, ReversibleForward, D>(p);
        to_coefficients<T, D>(p, u);
        if (!lossy) {
            Word all = 0;
#pragma unroll
            for (u32 i = 0; i < SIZE; i++) all |= u[i];
            planes = all ? T::BITS - top_bit(all & ((Word)0 - all)) : 1;
            out.put(planes - 1, Number::PRECISION_BITS);
        }
        planes = min_of(planes, (u32)T::BITS);
        if (c.kind == ACCURACY) {
            const Word upper = (Word) ~(Word)0 << (T::BITS - planes);
#pragma unroll
            for (u32 i = 0; i < SIZE; i++) p[place_of<D>(i)] = ((u[i] & upper) ^ mask<T>()) - mask<T>();
        }
        put_planes<T, D>(out, u, planes, c.kind == RATE ? (u32)c.parameter : ~0u);
    }
    out.close();
    if (c.kind != ACCURACY || !finite) return;
    transform_back<T, Inverse, D>(p);
    // What an empty block restores is 0, whatever is in p.
    const typename T::Float factor = empty ? 0 : Number::power(t - Number::UNIT_EXPONENT);
#pragma unroll
    for (u32 i = 0; i < SIZE; i++) {
        const typename T::Float r = float_of(Number::number(p[i], factor));
        if (!is_within((double)float_of(v[i]), (double)r, bound)) kept &= ~(1ull << i);
    }
}

// Decodes them.
template <class T, u32 D> DEV void decode_block(Reader& in, Values<T, D>& v, bool is_float, const Coding& c) {
    typedef typename T::Word Word;
    typedef Numbers<T> Number;
    enum : u32 { SIZE = Block<D>::SIZE };
    const bool lossy = c.kind != REVERSIBLE;
    u32 planes = planes_of_integers(c), budget = c.kind == RATE ? (u32)c.parameter : ~0u;
    i32 t = 0;
    bool scaled = false;
    if (is_float) {
        if (!in.take(1)) {
#pragma unroll
            for (u32 i = 0; i < SIZE; i++) v[i] = 0;
            return;
        }
        scaled = lossy || !in.take(1);
        if (scaled) t = (i32)in.take(T::EXPONENT) - T::BIAS;
        planes = planes_of<D>(c, t);
        if (c.kind == RATE) budget -= 1 + T::EXPONENT;
    }
    if (!lossy) planes = in.take(Number::PRECISION_BITS) + 1;
    Word u[SIZE];
    get_planes<T, D>(in, u, min_of(planes, (u32)T::BITS), budget);
    from_coefficients<T, D>(u, v);
    if (lossy)
        transform_back<T, Inverse, D>(v);
    else
        transform_back<T, ReversibleInverse, D>(v);
    if (!is_float) return;
    const typename T::Float factor = Number::power(t - Number::UNIT_EXPONENT);
#pragma unroll
    for (u32 i = 0; i < SIZE; i++) v[i] = scaled ? Number::number(v[i], factor) : Number::reinterpreted(v[i]);
}

}    // namespace zfp
