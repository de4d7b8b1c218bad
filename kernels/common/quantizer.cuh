// Twin: src/primitives/quantize.rs
// The quantizer, docs/reference/codecs/sleek.md §6. Every operation is one IEEE operation rounded to nearest: compile
// with -fmad=false.
#pragma once
#include "element.cuh"

// Added to a number, rounds it to a whole one, ties to even, and leaves that in the low bits.
DEV float magic_of(float) { return 12582912.0f; }
DEV double magic_of(double) { return 6755399441055744.0; }
DEV float magnitude_of_number(float v) { return fabsf(v); }
DEV double magnitude_of_number(double v) { return fabs(v); }

template <class T> struct Quantizer {
    typedef typename T::Word Word;
    typedef typename T::Float Float;
    u32 on;      // 0: values are integers
    Word k;      // K: from here on words stand for bits
    Word top;    // T: bits of the first number that is kept bit for bit
    Float step;
    Float shift_back;    // −step · MIDDLE, exactly
    // For encoding: 1 / step, the bound rounded down, the first number that is kept bit for bit, and what plain_bin may
    // be asked for.
    Float inverse, bound, far, limit;
    u32 certain;    // bins below this need no check

    DEV void set(u32 step_w, i32 step_j) {
        on = step_w;
        if (!on) return;
        k = (((Word)1 << T::MANTISSA) + 3) / step_w + 1;
        top = (Word)(step_j + (i32)T::MANTISSA + (i32)T::BIAS) << T::MANTISSA;
        step = power((i32)step_j) * (Float)step_w;
        shift_back = -(step * float_of(middle((Float)0)));
    }

    DEV void set_bound(double abs_bound) {
        if (!on) return;
        inverse = (Float)1 / step;
        bound = rounded_down(abs_bound, (Float)0);
        limit = far = number_of_element(top);
        // So far bins of F64 fit into a word of 32 bits, their second differences and the zigzag codes of these too.
        if (T::BITS == 64) limit = least_of(limit, power(28) * step);
    }
    // The rounded quotient is the bin wherever it is below `certain`: see certain_bins in src/primitives/quantize.rs.
    DEV void set_certain(double abs_bound) {
        if (!on) return;
        const double most = T::BITS == 64 ? (double)(1 << 28) : (double)(1 << (PLAIN_WIDTH - 1 & 31));
        const double bins = (abs_bound / (double)step - 0.5) * (0.5 * (double)((u64)1 << T::MANTISSA)) - 2.0;
        certain = (u32)(on == 4 || bins > most ? most : bins > 0.0 ? bins : 0.0);
    }
    static DEV Float least_of(Float a, Float b) { return a < b ? a : b; }
    static DEV double rounded_down(double x, double) { return x; }
    static DEV float rounded_down(double x, float) {
        const double largest = (double)float_of(0x7f7fffffu);
        const double y = x < largest ? x : largest;
        const float f = (float)y;
        return (double)f > y ? float_of(bits_of(f) - 1) : f;
    }

    // 2^e of a normal number.
    static DEV Float power(i32 e) { return power_of(e, (Float)0); }
    static DEV float power_of(i32 e, float) { return float_of((u32)(e + 127) << 23); }
    static DEV double power_of(i32 e, double) { return float_of((u64)(e + 1023) << 52); }

    static DEV Float magic() { return magic_of((Float)0); }
    // A small integer as a float without a conversion instruction: magic + x is exact.
    static DEV Float number(Word x) { return float_of(x + bits_of(magic())) - magic(); }

    // The bits of MIDDLE = 2^m + 2^(m−3), m the mantissa bits of Float: plus an integer x they are the bits of MIDDLE +
    // x, if |x| ≤ 2^(m−3), and so far numbers are below T. One multiplication and addition makes of that x · step,
    // exactly, since the product is one of Float's numbers.
    static DEV u32 middle(float) { return 0x4B100000u; }
    static DEV u64 middle(double) { return 0x4332000000000000ull; }
    DEV Float from_middle_of(Word bits) const { return fused(float_of(bits), step, shift_back); }

    static DEV Word extended(Word x) { return T::BITS == 16 ? (Word)(i32)(short)x : x; }

    // The integer of an element: its bin, or the distance of its bits from those of T.
    DEV Word bin_of(Word bits) const {
        const Word magnitude = bits & ones<T>(T::BITS - 1);
        if (magnitude >= top) {
            const Word far = magnitude - top + k;
            return wrap<T>(negative<T>(bits) ? 0 - far : far);
        }
        return wrap<T>(bin(number_of_element(bits)));
    }
    // The rounded quotient, then one exact check.
    DEV Word bin(Float v) const {
        const Float biased = v * inverse + magic(), error = v - (biased - magic()) * step;
        return bits_of(biased) - bits_of(magic()) + (error > bound) - (error < -bound);
    }

    // How far a number is from a multiple of the step; the product is exact where this counts, that is below T.
    DEV Float error_of(Float v, Float multiple) const { return fused(-multiple, step, v); }
    // The rounded quotient, raised by RAISED; clears `plain` where it may not be the bin: of 32 bits, if all are in
    // `plain_range`, else if v is below `limit`.
    enum { RAISED = T::BITS == 32 ? 0x4B400000 : T::BITS == 64 ? 1 << 30 : 0 };
    DEV Word plain_bin(Word bits, bool& plain) const {
        const Float v = number_of_element(bits);
        if (T::BITS == 64) plain &= magnitude_of(v) < limit;
        Float error;
        const Word bin = quotient(v, error);
        plain &= error <= bound;
        return bin + RAISED;
    }
    // The same without a check, for bins below `certain`; of words of 64 bits the lower half, which is all if nothing
    // is set in `beyond`.
    DEV u32 sure_bin(float v, u32&) const { return bits_of(v * inverse + 12582912.0f); }
    DEV u32 sure_bin(double v, u32& beyond) const {
        const u64 biased = bits_of(v * inverse + (6755399441055744.0 + (double)RAISED));
        beyond |= (u32)(biased >> 32) ^ 0x43380000u;
        return (u32)biased;
    }
    // What to add to a quotient so that the result's bits, less those of WHOLE, are its bin counted from `origin`, an
    // even number, `below` the bin of an element or less by one.
    DEV float counted_from(u32 bits, u32 below, u32& origin) const {
        origin = (sure_bin(number_of_element(bits), origin) - (0x4B400000u + below)) & ~1u;
        return float_of(0x4B400000u - origin);
    }
    DEV double counted_from(u64 bits, u32 below, u64& origin) const {
        origin =
            (bits_of(number_of_element(bits) * inverse + 6755399441055744.0) - (0x4338000000000000ull + below)) & ~1ull;
        return float_of(0x4338000000000000ull - origin);
    }
    DEV bool certain_range(u32 least, u32 most) const {
        return (i32)(RAISED - certain) < (i32)least && (i32)most < (i32)(RAISED + certain);
    }
    // The bin of any element, if the rounded quotient is the bin where there is one, that is if the largest error,
    // `worst`, is within the bound.
    DEV Word any_bin(Word bits, Float& worst) const {
        const Word magnitude = bits & ones<T>(T::BITS - 1), beyond = magnitude + (k - top);
        const bool close = magnitude < top;
        Float error;
        const Word bin = quotient(number_of_element(bits), error);
        worst = most_of(worst, close ? error : (Float)0);
        return wrap<T>(close ? bin : negative<T>(bits) ? 0 - beyond : beyond);
    }
    DEV Word quotient(Float v, Float& error) const {
        const Float biased = v * inverse + magic();
        error = magnitude_of(error_of(v, biased - magic()));
        return bits_of(biased) - bits_of(magic());
    }
    static DEV float most_of(float a, float b) { return fmaxf(a, b); }
    static DEV double most_of(double a, double b) { return a < b ? b : a; }
    // Whether numbers in these bins, which are raised, are below `limit`, and of 32 bits what plain_bin says of them
    // holds.
    static DEV bool plain_range(Word least, Word most) {
        typedef typename T::Signed Signed;
        const Signed far = T::BITS == 64 ? 1 << 28 : 1 << (PLAIN_WIDTH - 1 & 31);
        return (Signed)least >= (Signed)RAISED - far && (Signed)most <= (Signed)RAISED + far;
    }

    // Codes of up to so many bits stand for numbers below T.
    enum { PLAIN_WIDTH = T::MANTISSA - 2 };

    // Zigzag codes for profile `fast`, whose step is a power of two: dividing by it is exact and the quotient is
    // rounded once, so the bin is the nearest one, half a step away at most. No bound is less, so nothing is checked.

    // The code of a number below T; of others one of more than PLAIN_WIDTH bits, or that of a number below T where the
    // top bit comes to be set in `signs`, as the quotient is so far below zero.
    DEV Word nearest_code(Word bits, Word& signs) const { return nearest_code_of(number_of_element(bits), signs); }
    DEV Word nearest_code_of(Float v, Word& signs) const {
        const Word biased = bits_of(fused(v, inverse, magic()));
        signs |= biased;
        const Word twice = 2 * biased - 2 * bits_of(magic());
        return twice ^ (Word)((typename T::Signed)twice >> (8 * sizeof(Word) - 1));
    }
    // The code of any element.
    DEV Word any_code(Word bits) const {
        const Float v = number_of_element(bits);
        Word signs = 0;
        const Word code = nearest_code_of(v, signs), kept = 2 * bits + 2 * (k - top) - (bits >> (T::BITS - 1));
        return magnitude_of(v) < far ? code : kept;
    }
    static DEV Float magnitude_of(Float v) { return magnitude_of_number(v); }

    static DEV Float number_of_element(Word bits);

    DEV Float small_value(Word x) const { return number(extended(x)) * step; }

    // Element bits of word x.
    DEV Word restore_any(Word x) const {
        const bool minus = negative<T>(x);
        const Word a = wrap<T>(minus ? 0 - x : x);
        if (a < k) return element_bits(small_value(x));
        return wrap<T>(a - k + top) | (minus ? (Word)1 << (T::BITS - 1) : 0);
    }

    // Element bits of a zigzag code of at most PLAIN_WIDTH bits.
    DEV Word restore_code(Word code) const {
        const Float magnitude = from_middle_of((code + 1 + 2 * offset()) >> 1);
        return element_bits(float_of(bits_of(magnitude) ^ code << (8 * sizeof(Word) - 1)));
    }

    // What is added to the words of a lane before `restore` gets them.
    static DEV Word offset() { return middle((Float)0); }

    // Element bits of a lane's words, to which `offset` was added. For a whole warp.
    DEV void restore(Word (&v)[T::VALUES]) const {
        const Word half = (Word)1 << (T::MANTISSA - 3);
        Word beyond = 0;
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) beyond |= v[i] ^ (offset() - half);
        if (__all_sync(FULL, beyond >> (T::MANTISSA - 2) == 0)) {
            change<T>(v, [&](Word x) { return element_bits(from_middle_of(x)); });
        } else {
            change<T>(v, [&](Word x) { return restore_any(x - offset()); });
        }
    }

    static DEV Word element_bits(Float v);
};

template <> DEV u32 Quantizer<F32>::element_bits(float v) { return bits_of(v); }
template <> DEV u64 Quantizer<F64>::element_bits(double v) { return bits_of(v); }
template <> DEV u32 Quantizer<F16>::element_bits(float v) { return halves_of(v, 0.0f) & 0xffff; }
template <> DEV u32 Quantizer<BF16>::element_bits(float v) { return bits_of(v) >> 16; }
template <> DEV u32 Quantizer<B8>::element_bits(float) { return 0; }

template <> DEV float Quantizer<F32>::number_of_element(u32 bits) { return float_of(bits); }
template <> DEV double Quantizer<F64>::number_of_element(u64 bits) { return float_of(bits); }
template <> DEV float Quantizer<F16>::number_of_element(u32 bits) { return float_of_half(bits); }
template <> DEV float Quantizer<BF16>::number_of_element(u32 bits) { return float_of(bits << 16); }
template <> DEV float Quantizer<B8>::number_of_element(u32) { return 0.0f; }
