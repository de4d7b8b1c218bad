// One warp, one tile of an array: its words (docs/codecs/ratio.md §6), their differences along any set of axes, and the
// set that our encoder takes, by the rules of src/codec/ratio/predict.rs. Neighbours are read again where they are
// needed, from the caches mostly, so that no lane keeps more than its own four places.
#pragma once
#include "../common/plan.cuh"
#include "../common/quantizer.cuh"
#include "stream.cuh"
#include "tables.h"

namespace ratio {

// Rounds off mantissa bits (src/primitives/round.rs); a tile in which that would not be exact enough stays as it is.
template <class T> struct Rounding {
    typedef typename T::Word Word;
    u32 drop;
    static DEV Word infinity() { return ones<T>(T::BITS - 1) >> T::MANTISSA << T::MANTISSA; }
    DEV Word round(Word v) const {
        const Word a = v & ones<T>(T::BITS - 1);
        return (a + ((((Word)1 << (drop - 1)) - 1) + (a >> drop & 1))) & ~ones<T>(drop);
    }
    DEV bool inexact(Word v) const {
        const Word a = v & ones<T>(T::BITS - 1);
        const bool special = a >= infinity();
        return special ? (a & ones<T>(drop)) != 0 : round(v) >= infinity() || (a < (Word)1 << T::MANTISSA && a != 0);
    }
    DEV Word apply(Word v) const { return round(v) | (v & (Word)1 << (T::BITS - 1)); }
};

// What words stand for: bins, or elements' bits, of which mode rel rounds off `drop` and all have `shift` zeros at
// their end.
enum Meaning { BINS, BITS };

// The array that a warp works on, and its tile.
template <class T> struct Source {
    const u8* src;
    const Grid* grid;
    Tile t;
    u64 step[3];    // from one element to the next along the axes
    u32 big_endian, is_float, meaning, shift, drop;
    Quantizer<T> quantizer;
    typename T::Word base;

    DEV u64 number_of(u32 x, u32 y, u32 z) const {
        const u64 far = grid->z == MANY ? z_offset(*grid, grid->stride, t.chunk, z) : z * step[2];
        return t.origin + x * step[0] + y * step[1] + far;
    }
    DEV typename T::Word element(u32 x, u32 y, u32 z) const {
        enum { SIZE = T::BITS / 8 };
        const typename T::Word v = element_at(src + number_of(x, y, z) * SIZE);
        return big_endian ? swapped<T>(v) : v;
    }
    // As it lies in memory, wherever that is.
    DEV static typename T::Word element_at(const u8* p) {
        enum { SIZE = T::BITS / 8 };
        typedef typename T::Word Word;
        if (((u64)p & (SIZE - 1)) == 0)
            return SIZE == 8 ? (Word) * (const u64*)p : SIZE == 4 ? *(const u32*)p : SIZE == 2 ? *(const u16*)p : *p;
        Word v = 0;
        for (u32 i = SIZE; i-- > 0;) v = (v << (T::BITS == 8 ? 0 : 8)) | p[i];
        return v;
    }
    DEV const u8* place_of_element(u32 x, u32 y, u32 z) const { return src + number_of(x, y, z) * (T::BITS / 8); }
    // The elements of four places in a row from p on; of those that have none 0.
    DEV void elements(const u8* p, u32 has, typename T::Word (&v)[QUAD]) const {
        enum { SIZE = T::BITS / 8, TOGETHER = QUAD * SIZE < 16 ? QUAD * SIZE : 16 };
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) v[j] = 0;
        if (has == 15 && step[0] == 1 && ((u64)p & (TOGETHER - 1)) == 0) {
            take_four(p, v, T());
        } else {
#pragma unroll
            for (u32 j = 0; j < QUAD; j++)
                if (has >> j & 1) v[j] = element_at(p + j * step[0] * SIZE);
        }
        if (big_endian) {
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) v[j] = swapped<T>(v[j]);
        }
    }
    DEV static void take_four(const u8* p, u32 (&v)[QUAD], F32) { split(*(const uint4*)p, v); }
    DEV static void take_four(const u8* p, u64 (&v)[QUAD], F64) {
        const uint4 a = ((const uint4*)p)[0], b = ((const uint4*)p)[1];
        v[0] = a.x | (u64)a.y << 32;
        v[1] = a.z | (u64)a.w << 32;
        v[2] = b.x | (u64)b.y << 32;
        v[3] = b.z | (u64)b.w << 32;
    }
    DEV static void take_four(const u8* p, u32 (&v)[QUAD], F16) { split(*(const uint2*)p, v); }
    DEV static void take_four(const u8* p, u32 (&v)[QUAD], BF16) { split(*(const uint2*)p, v); }
    DEV static void take_four(const u8* p, u32 (&v)[QUAD], B8) {
        const u32 q = *(const u32*)p;
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) v[j] = q >> (8 * j) & 0xff;
    }

    // The word of an element, the base taken away; modulo 2^W.
    DEV typename T::Word word(typename T::Word bits) const {
        if (T::EXPONENT && meaning == BINS) return quantizer.bin_of(bits) - base;
        if (T::EXPONENT && drop) bits = Rounding<T>{drop}.apply(bits);
        return number_of_bits(bits) - base;
    }
    // A number in the order of the elements, without zeros that all have at their end.
    DEV typename T::Word number_of_bits(typename T::Word bits) const {
        typedef typename T::Word Word;
        if (is_float && negative<T>(bits)) bits ^= ((Word)1 << (T::BITS - 1)) - 1;
        return (Word)(extended(bits) >> shift);
    }
    DEV static typename T::Signed extended(typename T::Word v) {
        enum { ABOVE = 8 * sizeof(v) - T::BITS };
        return (typename T::Signed)(v << ABOVE) >> ABOVE;
    }
    // Words of four places in a row.
    template <class Form> DEV void words(const u8* p, u32 has, typename Form::Word (&v)[QUAD], u32& beyond) const {
        typename T::Word e[QUAD];
        elements(p, has, e);
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) v[j] = has >> j & 1 ? Form::word(*this, e[j], beyond) : 0;
    }
    // That of an element, if there is one.
    template <class Form> DEV typename Form::Word word_at(bool there, u32 x, u32 y, u32 z, u32& beyond) const {
        return there ? Form::word(*this, element(x, y, z), beyond) : 0;
    }
    // Where a lane's value j is, of a quad at `place`; of tiles that are narrower than a quad each on its own.
    DEV Quad one_of(const Quad& q, u32 place, u32 j) const {
        if (grid->a < 2) return place_of(*grid, t, place + j);
        const Quad one = {q.x + j, q.y, q.z, q.has >> j & 1};
        return one;
    }
};

// How words are computed: as any, or as bins below 2^20, with sums of 32 bits; `beyond` becomes other than 0 where an
// element does not have such a bin, and then the tile is looked at anew.
template <class T> struct AnyWords {
    typedef typename T::Word Word;
    typedef u64 Sum;
    enum { CHECKED = 0 };
    DEV static Word word(const Source<T>& s, typename T::Word bits, u32&) { return s.word(bits); }
    DEV static Word narrow(Word d) { return (Word)Source<T>::extended(d); }
};
#define FEW_BINS (1u << 20)
template <class T> struct FewBins {
    typedef u32 Word;
    typedef u32 Sum;
    enum { CHECKED = 1 };
    DEV static u32 word(const Source<T>& s, typename T::Word bits, u32& beyond) {
        return few(s, Quantizer<T>::number_of_element(bits), beyond) - (u32)s.base;
    }
    // Of words of 16 bits all are such.
    DEV static u32 narrow(u32 d) { return d; }
    DEV static u32 few(const Source<T>& s, float v, u32& beyond) {
        const Quantizer<T>& q = s.quantizer;
        const float biased = v * q.inverse + 12582912.0f;
        const u32 bin = bits_of(biased) - 0x4B400000u;
        const bool near = fabsf(fused(12582912.0f - biased, q.step, v)) <= q.bound;
        beyond |= near ? (bin + FEW_BINS) & ~(2 * FEW_BINS - 1) : 1;
        return bin;
    }
    DEV static u32 few(const Source<T>& s, double v, u32& beyond) {
        const Quantizer<T>& q = s.quantizer;
        const double biased = v * q.inverse + 6755399441055744.0;
        const u64 bin = bits_of(biased) - 0x4338000000000000ull;
        const bool near = fabs(fused(6755399441055744.0 - biased, q.step, v)) <= q.bound;
        beyond |= near && bin + FEW_BINS < 2 * FEW_BINS ? 0 : 1;
        return (u32)bin;
    }
};
// The same where it is known that all are so.
template <class T> struct KnownFewBins : FewBins<T> {
    enum { CHECKED = 0 };
    DEV static u32 word(const Source<T>& s, typename T::Word bits, u32&) {
        return known(s, Quantizer<T>::number_of_element(bits));
    }
    DEV static u32 known(const Source<T>& s, float v) {
        return bits_of(v * s.quantizer.inverse + 12582912.0f) - (0x4B400000u + (u32)s.base);
    }
    DEV static u32 known(const Source<T>& s, double v) {
        return (u32)bits_of(v * s.quantizer.inverse + 6755399441055744.0) - (u32)s.base;
    }
};

// The words of a lane's places, and their differences along y and z.
template <class T, class Form, class Behind> struct Rows {
    typedef typename Form::Word Word;
    Word own[QUAD], y[QUAD], z[QUAD], yz[QUAD];    // before differences along x

    DEV void read(const Source<T>& s, const Quad& q, u32 place, u32 set, u32& beyond) {
        Word zy[QUAD];
        if (s.grid->a >= 2) {
            const u8* p = s.place_of_element(q.x, q.y, q.z);
            const u64 up = s.step[1] * (T::BITS / 8);
            s.template words<Form>(p, q.has, own, beyond);
            s.template words<Behind>(p - up, set & 2 && q.y ? q.has : 0, y, beyond);
            if (set & 4) {
                p = s.grid->z == MANY && q.z ? s.place_of_element(q.x, q.y, q.z - 1) : p - s.step[2] * (T::BITS / 8);
                s.template words<Behind>(p, q.z ? q.has : 0, z, beyond);
                s.template words<Behind>(p - up, set & 2 && q.y && q.z ? q.has : 0, zy, beyond);
            } else {
#pragma unroll
                for (u32 j = 0; j < QUAD; j++) z[j] = zy[j] = 0;
            }
        } else {
#pragma unroll 1
            for (u32 k = 0; k < QUAD; k++) {
                const Quad o = place_of(*s.grid, s.t, place + k);
                const bool by_y = o.has && set & 2 && o.y, by_z = o.has && set & 4 && o.z;
                const Word w[4] = {s.template word_at<Form>(o.has, o.x, o.y, o.z, beyond),
                                   s.template word_at<Form>(by_y, o.x, o.y - 1, o.z, beyond),
                                   s.template word_at<Form>(by_z, o.x, o.y, o.z - 1, beyond),
                                   s.template word_at<Form>(by_y && by_z, o.x, o.y - 1, o.z - 1, beyond)};
#pragma unroll
                for (u32 j = 0; j < QUAD; j++)
                    if (j == k) {
                        own[j] = w[0];
                        y[j] = w[1];
                        z[j] = w[2];
                        zy[j] = w[3];
                    }
            }
        }
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            y[j] = own[j] - y[j];
            z[j] = own[j] - z[j];
            yz[j] = y[j] + z[j] - own[j] + zy[j];
        }
    }
};

// Differences along x too. `first`: what is before the places of lane 0, where their row began in another group; a: the
// length of rows, as a power of two.
template <class Word>
DEV void along_x(const Word (&v)[QUAD], Word first, const Quad& q, u32 a, u32 lane, Word (&d)[QUAD]) {
    Word before = __shfl_sync(FULL, v[3], lane ? lane - 1 : 0);
    before = lane == 0 ? first : before;
    d[0] = v[0] - (a >= 2 && q.x ? before : 0);
#pragma unroll
    for (u32 j = 1; j < QUAD; j++) d[j] = v[j] - (a >= 2 || j & a ? v[j - 1] : 0);
}
// What is before the places of lane 0, in the rows that differences along y and z need: own, y, z, yz. Only rows of
// several groups have any.
template <class T, class Form>
DEV void before_first(const Source<T>& s, const Quad& q, u32 set, u32 lane, typename Form::Word (&f)[4]) {
    f[0] = f[1] = f[2] = f[3] = 0;
    if (s.grid->a <= 7 || lane || !q.x || !(set & 1) || !q.has) return;
    u32 beyond = 0;
    const bool by_y = set & 2 && q.y, by_z = set & 4 && q.z;
    f[0] = s.template word_at<Form>(true, q.x - 1, q.y, q.z, beyond);
    f[1] = f[0] - s.template word_at<Form>(by_y, q.x - 1, q.y - 1, q.z, beyond);
    f[2] = f[0] - s.template word_at<Form>(by_z, q.x - 1, q.y, q.z - 1, beyond);
    f[3] = f[1] + f[2] - f[0] + s.template word_at<Form>(by_y && by_z, q.x - 1, q.y - 1, q.z - 1, beyond);
}

// The differences of a lane's words along a set of axes, whatever is on its face.
template <class T, class Form>
DEV void differences(const Source<T>& s, const Quad& q, u32 place, u32 set, u32 lane, typename Form::Word (&d)[QUAD]) {
    typedef typename Form::Word Word;
    Rows<T, Form, Form> rows;
    u32 beyond = 0;
    rows.read(s, q, place, set, beyond);
    Word row[QUAD];
#pragma unroll
    for (u32 j = 0; j < QUAD; j++)
        row[j] = set & 4 ? (set & 2 ? rows.yz[j] : rows.z[j]) : set & 2 ? rows.y[j] : rows.own[j];
    if (uniform(set & 1)) {
        Word before[4];
        before_first<T, Form>(s, q, set, lane, before);
        along_x(row, set & 4 ? (set & 2 ? before[3] : before[2]) : set & 2 ? before[1] : before[0], q, s.grid->a, lane, d);
        return;
    }
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) d[j] = row[j];
}

// Whether a place is on the face of a set: its coordinates along all axes of the set are 0.
DEV bool on_face(u32 set, const Quad& q) { return !(set & 1 && q.x) && !(set & 2 && q.y) && !(set & 4 && q.z); }

DEV u32 magnitude_of(u32 d) { return (i32)d < 0 ? 0 - d : d; }
DEV u64 magnitude_of(u64 d) { return (i64)d < 0 ? 0 - d : d; }

// 256 times the logarithm of a sum, rounded to what is easily computed.
DEV u32 logarithm(u64 sum) {
    sum += 16;
    const u32 octave = top_bit(sum);
    const u32 behind = octave >= 8 ? (u32)(sum >> (octave - 8)) : (u32)sum << (8 - octave);
    return octave << 8 | (behind & 255);
}

// What is known of a tile's elements.
template <class T> struct Survey {
    typename T::Word any, most;    // the OR of all; the largest magnitude
    u32 exact;                     // whether rounding would do harm
};

DEV u32 warp_max_of(u32 v) { return __reduce_max_sync(FULL, v); }
DEV u64 warp_max_of(u64 v) { return ~warp_min(~v); }

template <class T> SELDOM Survey<T> survey(const Source<T>& s) {
    typedef typename T::Word Word;
    const u32 lane = threadIdx.x & 31;
    Word any = 0, rounded = 0, most = 0;
    bool exact = false;
    const Rounding<T> rounding = {s.drop};
#pragma unroll 1
    for (u32 i = 0; uniform(i < s.grid->groups()); i++) {
#pragma unroll 1
        for (u32 j = 0; j < QUAD; j++) {
            const Quad q = place_of(*s.grid, s.t, i * GROUP + lane * QUAD + j);
            if (!q.has) continue;
            const Word v = s.element(q.x, q.y, q.z), magnitude = v & ones<T>(T::BITS - 1);
            any |= v;
            most = magnitude > most ? magnitude : most;
            if (T::EXPONENT && s.drop) {
                exact |= rounding.inexact(v);
                rounded |= rounding.apply(v);
            }
        }
    }
    exact = __any_sync(FULL, exact);
    return {warp_or(s.drop && !exact ? rounded : any), warp_max_of(most), exact};
}

DEV u32 warp_total(u32 v) { return __reduce_add_sync(FULL, v); }
DEV u64 warp_total(u64 v) { return warp_sum(v); }
// What a difference counts: its magnitude, which has a limit.
template <class T, class Sum> DEV Sum counted(u32 d) { return magnitude_of(d); }
template <class T, class Sum> DEV Sum counted(u64 d) { return (Sum)min_of(magnitude_of(d), 1ull << 56); }

// A set of axes, and whether words are what the form says.
struct Choice {
    u32 set, good;
};

// The set of axes, out of those along which tiles have several elements, whose differences look shortest.
template <class T, class Form, class Behind> SELDOM Choice choose(const Source<T>& s) {
    typedef typename Form::Word Word;
    typedef typename Form::Sum Sum;
    enum { OF_SAMPLE = 128 };
    const u32 lane = threadIdx.x & 31, allowed = s.grid->set(), groups = s.grid->groups(), a = s.grid->a;
    const bool full = s.t.count() == s.grid->capacity() && groups * GROUP == s.t.count() && a >= 2;
    Sum now[8], next[8];                     // of each set: this lane's sums of the sample, and of the one behind it
    u32 cost = 0, sample = 0, beyond = 0;    // cost: of set lane % 8
#pragma unroll
    for (u32 set = 0; set < 8; set++) now[set] = next[set] = 0;
    // Each lane takes the logarithm of one set's sum.
    const auto flush = [&]() {
        Sum own = 0;
#pragma unroll
        for (u32 set = 0; set < 8; set++) {
            if ((set & ~allowed) == 0) {
                const Sum all = warp_total(now[set]);
                own = lane % 8 == set ? all : own;
            }
            now[set] = next[set];
            next[set] = 0;
        }
        cost += logarithm(own);
        sample++;
    };
#pragma unroll 1
    for (u32 i = 0; uniform(i < groups); i++) {
        const Quad q = quad_of(*s.grid, s.t, i, lane);
        const u32 place = i * GROUP + lane * QUAD;
        u32 in_now = 15, last = i;
        if (!uniform(full)) {
            if (!uniform(__any_sync(FULL, q.has))) continue;
            u32 n[QUAD], low = ~0u, high = 0;
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) {
                const Quad o = s.one_of(q, place, j);
                n[j] = ((o.z * s.t.ly + o.y) * s.t.lx + o.x) / OF_SAMPLE;
                if (o.has) low = min_of(low, n[j]);
                if (o.has) high = n[j];
            }
            // A group has elements of two samples at most, of which the first may be the one behind this.
            const u32 first = __reduce_min_sync(FULL, low);
            if (uniform(first > sample)) flush();
            in_now = 0;
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) in_now |= (n[j] == sample) << j;
            last = __reduce_max_sync(FULL, high);
        }
        Rows<T, Form, Behind> rows;
        rows.read(s, q, place, allowed, beyond);
        Word before[4];
        before_first<T, Form>(s, q, allowed, lane, before);
        Word d[8][QUAD];    // differences along each set, whatever is on a face
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            d[0][j] = rows.own[j];
            d[2][j] = rows.y[j];
            d[4][j] = rows.z[j];
            d[6][j] = rows.yz[j];
        }
#pragma unroll
        for (u32 set = 0; set < 8; set += 2) along_x(d[set], before[set / 2], q, a, lane, d[set + 1]);
        // Of the elements on the face of a set those along the other axes count.
        if (uniform(a < 2 || __any_sync(FULL, (allowed & 2 && q.y == 0) || (allowed & 4 && q.z == 0)))) {
            u32 faces[QUAD];    // a bit for each set
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) {
                faces[j] = 0;
                const Quad o = s.one_of(q, place, j);
#pragma unroll
                for (u32 set = 1; set < 8; set++) faces[j] |= on_face(set, o) << set;
            }
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) {
#pragma unroll
                for (u32 set = 1; set < 4; set++) {
                    const Word one = d[set][j], other = d[7 - set][j];
                    d[set][j] = faces[j] >> set & 1 ? other : one;
                    d[7 - set][j] = faces[j] >> (7 - set) & 1 ? one : other;
                }
                d[7][j] = faces[j] >> 7 & 1 ? d[0][j] : d[7][j];
            }
        } else {
            d[1][0] = q.x == 0 ? d[6][0] : d[1][0];
        }
        if (uniform(full || __all_sync(FULL, q.has == 15 && in_now == 15))) {
#pragma unroll
            for (u32 set = 0; set < 8; set++)
#pragma unroll
                for (u32 j = 0; j < QUAD; j++) now[set] += counted<T, Sum>(Form::narrow(d[set][j]));
        } else {
#pragma unroll
            for (u32 set = 0; set < 8; set++)
#pragma unroll
                for (u32 j = 0; j < QUAD; j++) {
                    const Sum m = q.has >> j & 1 ? counted<T, Sum>(Form::narrow(d[set][j])) : 0;
                    now[set] += in_now >> j & 1 ? m : 0;
                    next[set] += in_now >> j & 1 ? 0 : m;
                }
        }
        if (Form::CHECKED && uniform(__any_sync(FULL, beyond))) return {0, 0};
        if (uniform(full || last > sample)) flush();
    }
    if (!uniform(full)) flush();
    u32 chosen = 0, least = __shfl_sync(FULL, cost, 0);
    for (u32 set = 1; set < 8; set++) {
        const u32 other = __shfl_sync(FULL, cost, set);
        if ((set & ~allowed) || other >= least) continue;
        chosen = set;
        least = other;
    }
    return {chosen, 1};
}

}    // namespace ratio
