// Twin: src/codec/zfp/tile.rs
// A block and its bits (docs/reference/codecs/zfp.md §3 to §7): transforms, bit planes, numbers.
//
// Of up to three axes a block is the work of one lane. Its elements are in registers; its bit planes, and the bits that
// they are coded as, in the lane's column of the warp's words in shared memory: 32 columns beside each other, so that
// word i of each is in a bank of its own. Coefficients become planes, and planes coefficients, by exchanges of bits
// between registers. What codes planes is the same for every number of axes.
#pragma once
#include "stream.cuh"

namespace zfp {

template <u32 D> struct Block {
    enum : u32 { SIZE = 1u << (2 * D), WORDS = SIZE < 32 ? 1 : SIZE / 32, FIELD = SIZE < 32 ? SIZE : 32 };
};
// The values of a block.
template <class T, u32 D> using Values = typename T::Word[Block<D>::SIZE];
// Elements of a block with so many axes.
DEV u32 size_of(u32 axes) { return 1u << (2 * axes); }

// Words of a column: those of the planes of a block with three axes, and what their bits may be ahead of them where
// they take their place. Nine blocks of four axes have room in the columns of a warp.
template <class T> struct Column {
    enum : u32 { WORDS = 9 * T::BITS / 4, OF_WARP = 32 * WORDS };
};

// The place of each coefficient.
CONSTANT u8 ORDER_2[16] = {0, 1, 4, 5, 2, 8, 6, 9, 3, 12, 10, 7, 13, 11, 14, 15};
CONSTANT u8 ORDER_3[64] = {
    0,  1,  4,  16, 20, 17, 5,  2,  8,  32, 21, 6,  18, 24, 9,  33, 36, 3,  12, 48, 22, 25,
    37, 40, 34, 10, 7,  19, 28, 13, 49, 52, 41, 38, 26, 23, 29, 53, 11, 35, 44, 14, 50, 56,
    42, 27, 39, 45, 30, 54, 57, 60, 51, 15, 43, 46, 58, 61, 55, 31, 62, 59, 47, 63,
};
CONSTANT u8 ORDER_4[256] = {
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
template <u32 D> DEV u32 place_of(u32 i) { return D == 1 ? i : D == 2 ? ORDER_2[i & 15] : ORDER_3[i & 63]; }

DEV u32 half(u32 x) { return (u32)((i32)x >> 1); }
DEV u64 half(u64 x) { return (u64)((i64)x >> 1); }
// Every second bit: numbers to base −2.
template <class T> DEV typename T::Word mask() { return (typename T::Word)0xaaaaaaaaaaaaaaaaull; }

struct Forward {
    enum : bool { BACK = false };
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
    enum : bool { BACK = true };
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
    enum : bool { BACK = false };
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
    enum : bool { BACK = true };
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
// Back the last axis comes first.
template <class T, class Step, u32 D> DEV void transform(Values<T, D>& p) {
#pragma unroll
    for (u32 a = 0; a < D; a++) lift_along<T, Step, D>(p, Step::BACK ? D - 1 - a : a);
}

// Numbers to base −2, the coefficients, and back.
template <class T> DEV typename T::Word to_coefficient(typename T::Word q) { return (q + mask<T>()) ^ mask<T>(); }
template <class T> DEV typename T::Word from_coefficient(typename T::Word u) { return (u ^ mask<T>()) - mask<T>(); }

// Bits of each field of 2·S bits whose lower half has S.
template <u32 S> DEV u32 lower_halves() { return 0xffffffffu / ((1u << S) + 1); }
// Of two rows, the one that has the lower halves of both, and the one that has the upper halves.
template <u32 S> DEV u32 join_lower(u32 a, u32 b) {
    if (S == 16) return __byte_perm(a, b, 0x5410);
    if (S == 8) return __byte_perm(a, b, 0x6240);
    return (a & lower_halves<S>()) | (b << S & ~lower_halves<S>());
}
template <u32 S> DEV u32 join_upper(u32 a, u32 b) {
    if (S == 16) return __byte_perm(a, b, 0x7632);
    if (S == 8) return __byte_perm(a, b, 0x7351);
    return (a >> S & lower_halves<S>()) | (b & ~lower_halves<S>());
}
template <u32 S, u32 N> DEV void exchange(u32 (&x)[N]) {
    if (S >= N) return;
#pragma unroll
    for (u32 i = 0; i < N; i++)
        if (!(i & S)) {
            const u32 a = x[i], b = x[(i + S) % N];
            x[i] = join_lower<S>(a, b);
            x[(i + S) % N] = join_upper<S>(a, b);
        }
}
// Bit j of each field of N bits in row i to bit i of that field in row j.
template <u32 N> DEV void transpose(u32 (&x)[N]) {
    exchange<16>(x);
    exchange<8>(x);
    exchange<4>(x);
    exchange<2>(x);
    exchange<1>(x);
}
// The same with a row on each lane. For a whole warp.
template <u32 S> DEV u32 exchange(u32 x, u32 lane) {
    const u32 other = __shfl_sync(FULL, x, lane ^ S);
    return lane & S ? join_upper<S>(other, x) : join_lower<S>(x, other);
}
DEV u32 transpose(u32 x, u32 lane) {
    return exchange<1>(exchange<2>(exchange<4>(exchange<8>(exchange<16>(x, lane), lane), lane), lane), lane);
}

// Where plane k of a block stands: its first word, and the place of its first bit there. Of up to two axes a word has
// planes of a block's size beside each other; of more a plane has words of its own, the highest one first.
template <class T> DEV u32 word_of_plane(u32 axes, u32 k) {
    const u32 size = size_of(axes);
    return axes < 3 ? (k >> 5) * size + (k & (size - 1)) : (T::BITS - 1 - k) << (2 * axes - 5);
}
DEV u32 bit_of_plane(u32 axes, u32 k) { return axes < 3 ? k & 31 & ~(size_of(axes) - 1) : 0; }
// Words of all planes.
template <class T> DEV u32 words_of_planes(u32 axes) { return size_of(axes) * (T::BITS / 32); }
// Of a column, the word where an encoder has the planes: at its end, the bits of the block from its begin on.
template <class T> DEV u32 planes_at(u32 axes) { return Column<T>::WORDS - words_of_planes<T>(axes); }

// Coefficients to planes in a column, and back.
template <class T, u32 D> DEV void store_planes(const Values<T, D>& u, u32* planes) {
    enum : u32 { FIELD = Block<D>::FIELD };
#pragma unroll
    for (u32 part = 0; part < T::BITS / 32; part++)
#pragma unroll
        for (u32 w = 0; w < Block<D>::WORDS; w++) {
            u32 x[FIELD];
#pragma unroll
            for (u32 i = 0; i < FIELD; i++) x[i] = (u32)(u[FIELD * w + i] >> (32 * part));
            transpose(x);
#pragma unroll
            for (u32 i = 0; i < FIELD; i++) planes[32 * (word_of_plane<T>(D, 32 * part + i) + w)] = x[i];
        }
}
template <class T, u32 D> DEV void load_planes(const u32* planes, Values<T, D>& u) {
    enum : u32 { FIELD = Block<D>::FIELD };
#pragma unroll
    for (u32 w = 0; w < Block<D>::WORDS; w++)
#pragma unroll
        for (u32 part = 0; part < T::BITS / 32; part++) {
            u32 x[FIELD];
#pragma unroll
            for (u32 i = 0; i < FIELD; i++) x[i] = planes[32 * (word_of_plane<T>(D, 32 * part + i) + w)];
            transpose(x);
#pragma unroll
            for (u32 i = 0; i < FIELD; i++) {
                const typename T::Word half = (typename T::Word)x[i] << (32 * part);
                u[FIELD * w + i] = part ? u[FIELD * w + i] | half : half;
            }
        }
}

// The bits of a block, in words of a column.
struct Writer {
    u32* words;
    u64 pending;
    u32 count, at;    // bits that are pending; words that are written

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
    u32 count, at;           // words; the next bit
    u32 low, high, ahead;    // the word where it is, and two more

    DEV u32 word(u32 i) const { return i < count ? words[i] : 0; }
    DEV void seek(u32 bit) {
        at = bit;
        low = word(bit / 32);
        high = word(bit / 32 + 1);
        ahead = word(bit / 32 + 2);
    }
    // The next 32 bits.
    DEV u32 peek() const { return __funnelshift_r(low, high, at); }
    DEV void skip(u32 bits) {    // at most 32
        const u32 before = at;
        at += bits;
        if ((before ^ at) < 32) return;
        low = high;
        high = ahead;
        ahead = word(at / 32 + 2);
    }
    DEV u32 take(u32 bits) {    // at most 32
        const u32 value = peek() & low_ones(bits);
        skip(bits);
        return value;
    }
};

// How many of the first n bits are in word w.
DEV u32 bits_in(u32 n, u32 w) { return n > 32 * w ? min_of(n - 32 * w, 32u) : 0; }
// The place of the lowest one.
DEV u32 lowest_bit(u32 x) { return (u32)__ffs((i32)x) - 1; }

// How a lane reads or stores the elements of a block: 16 bytes at a time, one at a time, or by way of where they are
// staged, which is where rows are cut off, lie across words or have their bytes turned round.
enum : u32 { VECTORS, ELEMENTS, STAGED };

// What stands before the planes of a block, and how many of them there are.
struct Start {
    u32 head, bits, planes;
    i32 t;
    bool scaled;      // integers stand for floats below 2^t
    bool is_kept;     // whether the bound holds, as far as that is known
    bool in_doubt;    // whether to look at every element
};

// Writes the planes that a column has, as many of them as begin before bit `end`, to its begin; the bits. Of three axes
// they overtake no plane that is still to be read.
template <class T> DEV u32 put_planes(u32* column, u32 axes, const Start& start, u32 end) {
    const u32 size = size_of(axes), *planes = column + 32 * planes_at<T>(axes);
    Writer out = {column, start.head, start.bits, 0};
    u32 n = 0;
#pragma unroll 1
    for (u32 k = T::BITS, last = T::BITS - start.planes; k > last && out.bits() < end;) {
        k--;
        const u32* words = planes + 32 * word_of_plane<T>(axes, k);
        u32 low = words[0], high = 0;
        if (axes == 3)
            high = words[32];
        else
            low = low >> bit_of_plane(axes, k) & low_ones(size);
        const u32 known = low_ones(min_of(n, 32u));
        out.put(low & known, min_of(n, 32u));
        low &= ~known;
        if (n > 32) {
            const u32 more = low_ones(n - 32);
            out.put(high & more, n - 32);
            high &= ~more;
        }
#pragma unroll 1
        while (n < size) {
            if (!(low | high)) {
                out.put(0, 1);
                break;
            }
            const u32 p = low ? lowest_bit(low) : 32 + lowest_bit(high);
            high &= low ? ~0u : high - 1;
            low &= low - 1;
            // A one, zeros, and the one that ends them, which the last coefficient goes without.
            const u32 zeros = p - n, ended = p + 1 < size;
            if (zeros < 31) {
                out.put(1 | ended << (zeros + 1), 1 + zeros + ended);
            } else {
                out.put(1, 32);
                out.put(ended << (zeros - 31 & 31), zeros - 31 + ended);
            }
            n = p + 1;
        }
    }
    out.close();
    return out.bits();
}

// Zeros where the last of the bits that were seen is none: how many of `most` there are before a one, more than 31.
DEV u32 long_run(Reader& in, u32 most) {
    u32 zeros = 31;
    in.skip(32);
#pragma unroll 1
    while (zeros < most) {
        const u32 seen = min_of(most - zeros, 32u), one = in.peek() & low_ones(seen);
        const u32 next = one ? lowest_bit(one) : seen;
        in.skip(next + (one != 0));
        zeros += next;
        if (one) break;
    }
    return zeros;
}

// Reads planes, up to bit `end`, into words that are 0 so far and `step` apart.
template <class T> DEV void get_planes(Reader& in, u32* words, u32 step, u32 axes, u32 planes, u32 end) {
    const u32 size = size_of(axes);
    u32 n = 0;
#pragma unroll 1
    for (u32 k = T::BITS, last = T::BITS - planes; k > last && in.at < end;) {
        k--;
        u32* plane = words + step * word_of_plane<T>(axes, k);
        const u32 shift = bit_of_plane(axes, k);
        u32 known = min_of(n, end - in.at);
#pragma unroll 1
        for (u32 w = 0; known; w += step) {
            const u32 m = min_of(known, 32u);
            atomicOr(plane + w, in.take(m) << shift);
            known -= m;
        }
#pragma unroll 1
        while (n < size && in.at < end) {
            const u32 seen = in.peek();
            if (!(seen & 1)) {
                in.skip(1);
                break;
            }
            // Zeros follow, at most so many, and a one if there are fewer.
            const u32 most = min_of(size - 1 - n, end - in.at - 1);
            u32 zeros = min_of(lowest_bit(seen >> 1 | 1u << 31), most);
            if (zeros < 31 || most == 31)
                in.skip(1 + zeros + (zeros < most));
            else
                zeros = long_run(in, most);
            n += zeros;
            atomicOr(plane + step * (n >> 5), 1u << (shift + (n & 31)));
            n++;
        }
    }
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
DEV u32 planes_of(const Coding& c, i32 t, u32 axes) {
    const i32 most = c.kind == PRECISION ? c.parameter : (i32)ZFP_MAX_PRECISION;
    const i32 needed = t - (c.kind == ACCURACY ? c.parameter : -(i32)ZFP_DEPTH) + 2 * (i32)axes + 2;
    return (u32)(needed < 0 ? 0 : needed < most ? needed : most);
}
DEV u32 planes_of_integers(const Coding& c) { return c.kind == PRECISION ? (u32)c.parameter : ZFP_MAX_PRECISION; }

// Whether |v − r| ≤ bound, in exact arithmetic (src/codec/zfp/element.rs).
DEV bool is_within(double v, double r, double bound) {
    const double d = v - r, size = fabs(d), t = d - v, error = (v - (d - t)) - (r + t);
    return size < bound || (size == bound && (d < 0.0 ? -error : error) <= 0.0);
}

// The largest number of a type that is not above a bound.
DEV float rounded_down(double bound, float) {
    const u32 bits = bits_of((float)bound);
    return float_of(bits - ((double)float_of(bits) > bound));
}
DEV double rounded_down(double bound, double) { return bound; }
DEV float size_of_difference(float a, float b) { return fabsf(a - b); }
DEV double size_of_difference(double a, double b) { return fabs(a - b); }

// The start of a block of elements whose largest magnitude is `largest`, of which one at least is not 0 if `any` is
// not, and which come back from integers if they are `exact`; without planes where it has none.
template <class T>
DEV Start start_of(typename T::Word largest, typename T::Word any, bool exact, bool is_float, const Coding& c,
                   u32 axes) {
    typedef Numbers<T> Number;
    const i32 t = Number::exponent(largest);
    Start s = {0, 0, min_of(planes_of_integers(c), (u32)T::BITS), t, false, true, false};
    if (!is_float) return s;
    const u32 exponent = (u32)(t + T::BIAS);
    if (c.kind != REVERSIBLE) {
        s.is_kept = Number::is_finite(largest);
        s.planes = s.is_kept && largest ? min_of(planes_of(c, t, axes), (u32)T::BITS) : 0;
        s.scaled = s.planes != 0;
        s.head = s.scaled ? 2 * exponent + 1 : 0;
        s.bits = s.scaled ? 1 + T::EXPONENT : 1;
    } else if (!any) {
        s.planes = 0;
        s.bits = 1;
    } else {
        s.scaled = exact && largest && t >= Number::LEAST_FACTOR;
        s.head = s.scaled ? 1 | exponent << 2 : 3;
        s.bits = s.scaled ? 2 + T::EXPONENT : 2;
    }
    return s;
}
// A reversible block has as many planes as its coefficients use, and says so.
template <class T> DEV void count_planes(Start& s, typename T::Word used) {
    s.planes = used ? T::BITS - top_bit(used & ((typename T::Word)0 - used)) : 1;
    s.head |= (s.planes - 1) << s.bits;
    s.bits += Numbers<T>::PRECISION_BITS;
}
// The upper bits that so many planes have, of at least one.
template <class T> DEV typename T::Word upper_bits(u32 planes) {
    return (typename T::Word) ~(typename T::Word)0 << (T::BITS - planes);
}

// What stands before the planes of a block that is read.
template <class T> DEV Start get_start(Reader& in, bool is_float, const Coding& c, u32 axes) {
    Start s = {0, 0, planes_of_integers(c), 0, false, true, false};
    if (is_float) {
        s.planes = 0;
        if (!in.take(1)) return s;
        s.scaled = c.kind != REVERSIBLE || !in.take(1);
        if (s.scaled) s.t = (i32)in.take(T::EXPONENT) - T::BIAS;
        s.planes = planes_of(c, s.t, axes);
    }
    if (c.kind == REVERSIBLE) s.planes = in.take(Numbers<T>::PRECISION_BITS) + 1;
    s.planes = min_of(s.planes, (u32)T::BITS);
    return s;
}

}    // namespace zfp
