// One warp, one tile of an array: its words (docs/codecs/ratio.md §6), their differences along any set of axes, and the
// set that our encoder takes, by the rules of src/codec/ratio/predict.rs. Words are computed once and kept at their
// places, in memory that is the warp's own, from where neighbours are read again as they are needed.
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
    u32 copied;    // whether it is a copy of the tile alone (gaps.cuh), which this warp has made
    Quantizer<T> quantizer;
    typename T::Word base;
    u8* words;     // where they are kept, at their places
    u32 plane;     // where the warp's shared memory is
    u32 counts;    // and in it how often tokens occur (own_table.cuh)

    DEV u64 number_of(u32 x, u32 y, u32 z) const {
        const u64 far = grid->z == MANY && !copied ? z_offset(*grid, grid->stride, t.chunk, z) : z * step[2];
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
    // The elements of a lane's places, 0 where there is none; returns which have one.
    DEV u32 elements_at(u32 group, u32 lane, typename T::Word (&v)[QUAD]) const {
        const Quad q = quad_of(*grid, t, group, lane);
        if (grid->a >= 2) {
            elements(q.has ? place_of_element(q.x, q.y, q.z) : src, q.has, v);
            return q.has;
        }
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) v[j] = 0;
#pragma unroll 1
        for (u32 k = 0; k < QUAD; k++) {
            const Quad o = place_of(*grid, t, group * GROUP + lane * QUAD + k);
            const typename T::Word one = o.has ? element(o.x, o.y, o.z) : 0;
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) v[j] = j == k ? one : v[j];
        }
        return q.has;
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
    DEV static Word word(const Source<T>& s, typename T::Word bits, u32&) { return s.word(bits); }
};
#define FEW_BINS (1u << 20)
template <class T> struct FewBins {
    typedef u32 Word;
    typedef u32 Sum;
    DEV static u32 word(const Source<T>& s, typename T::Word bits, u32& beyond) {
        return few(s, Quantizer<T>::number_of_element(bits), beyond) - (u32)s.base;
    }
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
// A difference of words as a signed number; those of bins in 32 bits are such.
template <class T, class Word> DEV Word narrow(Word d) {
    return sizeof(d) == sizeof(typename T::Word) ? (Word)Source<T>::extended((typename T::Word)d) : d;
}

DEV void load_words(const u32* p, u32 (&v)[QUAD]) { split(*(const uint4*)p, v); }
DEV void load_words(const u64* p, u64 (&v)[QUAD]) {
    const uint4 a = ((const uint4*)p)[0], b = ((const uint4*)p)[1];
    v[0] = a.x | (u64)a.y << 32;
    v[1] = a.z | (u64)a.w << 32;
    v[2] = b.x | (u64)b.y << 32;
    v[3] = b.z | (u64)b.w << 32;
}
DEV void store_words(u32* p, const u32 (&v)[QUAD]) { *(uint4*)p = make_uint4(v[0], v[1], v[2], v[3]); }
DEV void store_words(u64* p, const u64 (&v)[QUAD]) {
    ((uint4*)p)[0] = make_uint4((u32)v[0], (u32)(v[0] >> 32), (u32)v[1], (u32)(v[1] >> 32));
    ((uint4*)p)[1] = make_uint4((u32)v[2], (u32)(v[2] >> 32), (u32)v[3], (u32)(v[3] >> 32));
}
template <class Word> DEV void load_words_if(bool there, const Word* p, Word (&v)[QUAD]) {
    if (there) {
        load_words(p, v);
    } else {
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) v[j] = 0;
    }
}

// The words of a lane's places, and their differences along y and z, before those along x.
template <class Word> struct Rows {
    Word own[QUAD], y[QUAD], z[QUAD], yz[QUAD];
    Word before[4];    // the same of what is before the places of lane 0, where their row began in another group

    // Asks for them, and their neighbours; `axes`: those along which differences may be asked for.
    DEV void load(const Grid& g, const Word* words, const Quad& q, u32 place, u32 axes, u32 lane) {
        const u32 up = 1u << g.a, back = 1u << (g.a + g.b);
        const bool by_y = axes & 2 && q.y, by_z = axes & 4 && q.z;
        before[0] = before[1] = before[2] = before[3] = 0;
        if (g.a >= 2) {
            const Word* p = words + place;
            load_words(p, own);
            load_words_if(by_y, p - up, y);
            load_words_if(by_z, p - back, z);
            load_words_if(by_y && by_z, p - back - up, yz);
            if (g.a > 7 && lane == 0 && q.x) {
                before[0] = p[-1];
                if (by_y) before[1] = *(p - up - 1);
                if (by_z) before[2] = *(p - back - 1);
                if (by_y && by_z) before[3] = *(p - back - up - 1);
            }
        } else {
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) {
                const Word* p = words + place + j;
                const bool y_of = axes & 2 && (place + j) >> g.a & low_ones(g.b),
                           z_of = axes & 4 && (place + j) >> (g.a + g.b);
                own[j] = *p;
                y[j] = y_of ? *(p - up) : 0;
                z[j] = z_of ? *(p - back) : 0;
                yz[j] = y_of && z_of ? *(p - back - up) : 0;
            }
        }
    }
    // Neighbours to differences.
    DEV void subtract() {
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) subtract(own[j], y[j], z[j], yz[j]);
        subtract(before[0], before[1], before[2], before[3]);
    }
    DEV static void subtract(Word own, Word& y, Word& z, Word& yz) {
        y = own - y;
        z = own - z;
        yz = y + z - own + yz;
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

// The differences of a lane's words along a set of axes, whatever is on its face.
template <class Word>
DEV void differences(const Rows<Word>& rows, const Quad& q, u32 a, u32 set, u32 lane, Word (&d)[QUAD]) {
    Word row[QUAD];
#pragma unroll
    for (u32 j = 0; j < QUAD; j++)
        row[j] = set & 4 ? (set & 2 ? rows.yz[j] : rows.z[j]) : set & 2 ? rows.y[j] : rows.own[j];
    if (uniform(set & 1)) {
        const Word first = set & 4   ? (set & 2 ? rows.before[3] : rows.before[2])
                           : set & 2 ? rows.before[1]
                                     : rows.before[0];
        along_x(row, first, q, a, lane, d);
        return;
    }
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) d[j] = row[j];
}

// Whether a place is on the face of a set: its coordinates along all axes of the set are 0.
DEV bool on_face(u32 set, const Quad& q) { return !(set & 1 && q.x) && !(set & 2 && q.y) && !(set & 4 && q.z); }

DEV i32 signed_of(u32 v) { return (i32)v; }
DEV i64 signed_of(u64 v) { return (i64)v; }
DEV u32 magnitude_of(u32 d) { return (i32)d < 0 ? 0 - d : d; }
DEV u64 magnitude_of(u64 d) { return (i64)d < 0 ? 0 - d : d; }

// 256 times the logarithm of a sum, rounded to what is easily computed; 0 for 0.
DEV u32 logarithm(u64 sum) {
    sum += 16;
    const u32 octave = top_bit(sum);
    const u32 behind = octave >= 8 ? (u32)(sum >> (octave - 8)) : (u32)sum << (8 - octave);
    return (octave << 8 | (behind & 255)) - (4 << 8);
}

// Says what words are, and takes the first as their base. For a whole warp.
template <class T> DEV void mean(Source<T>& s, u32 meaning, u32 shift, u32 drop) {
    __syncwarp();
    if ((threadIdx.x & 31) == 0) {
        s.meaning = meaning;
        s.shift = shift;
        s.drop = drop;
        s.base = 0;
        s.base = s.word(s.element(0, 0, 0));
    }
    __syncwarp();
}
template <class T> DEV u32 zeros_below(typename T::Word any) {
    return any ? top_bit(any & ((typename T::Word)0 - any)) : 0;
}

// What is known of a tile's elements.
template <class T> struct Survey {
    typename T::Word any, most;    // the OR of all; the largest magnitude
    u32 exact;                     // whether rounding would do harm, or words are not what the form says
};

DEV u32 warp_max_of(u32 v) { return __reduce_max_sync(FULL, v); }
DEV u64 warp_max_of(u64 v) { return ~warp_min(~v); }

// Puts the base of a tile's words so far, a signed number, from where it is. For a whole warp.
template <class T, class Word> DEV void measure_from(Source<T>& s, Word middle) {
    if (!uniform(middle != 0)) return;
    __syncwarp();
    if ((threadIdx.x & 31) == 0) s.base += (typename T::Word)(typename T::Signed)(i64)(signed_of(middle));
    __syncwarp();
}

// Calls `visit` for each group of a tile with its number, which of a lane's places have an element, and these. Those of
// so many groups, by default of a batch, are on their way together.
template <u32 TOGETHER = BATCH_GROUPS, class T, class Visit> DEV void for_all(const Source<T>& s, Visit visit) {
    const u32 lane = threadIdx.x & 31, groups = s.grid->groups();
#pragma unroll 1
    for (u32 i = 0; uniform(i < groups); i += TOGETHER) {
        typename T::Word e[TOGETHER][QUAD];
        u32 has[TOGETHER];
#pragma unroll
        for (u32 k = 0; k < TOGETHER; k++) has[k] = s.elements_at(i + k, lane, e[k]);
#pragma unroll
        for (u32 k = 0; k < TOGETHER; k++) visit(i + k, has[k], e[k]);
    }
}

template <class T> SELDOM Survey<T> survey(const Source<T>& source) {
    typedef typename T::Word Word;
    const Source<T> s = source;
    Word any = 0, rounded = 0, most = 0;
    bool exact = false;
    const Rounding<T> rounding = {s.drop};
    for_all(s, [&](u32, u32 has, const Word(&e)[QUAD]) {
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            const Word v = e[j], magnitude = v & ones<T>(T::BITS - 1);
            any |= v;
            most = magnitude > most ? magnitude : most;
            if (T::EXPONENT && s.drop && has >> j & 1) {
                exact |= rounding.inexact(v);
                rounded |= rounding.apply(v);
            }
        }
    });
    exact = __any_sync(FULL, exact);
    return {warp_or(s.drop && !exact ? rounded : any), warp_max_of(most), exact};
}

// Puts the words of a tile into their places, 0 where there is no element. `exact` of what it returns: whether one is
// not what the form says.
template <class T, class Form> SELDOM Survey<T> take_in(const Source<T>& source) {
    typedef typename T::Word Word;
    const Source<T> s = source;
    const u32 lane = threadIdx.x & 31;
    typename Form::Word* words = (typename Form::Word*)s.words + lane * QUAD;
    Word any = 0, most = 0;
    u32 beyond = 0;
    for_all(s, [&](u32 group, u32 has, const Word(&e)[QUAD]) {
        typename Form::Word w[QUAD];
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            const Word magnitude = e[j] & ones<T>(T::BITS - 1);
            any |= e[j];
            most = magnitude > most ? magnitude : most;
            w[j] = has >> j & 1 ? Form::word(s, e[j], beyond) : 0;
        }
        store_words(words + group * GROUP, w);
    });
    __syncwarp();
    return {warp_or(any), warp_max_of(most), (u32)__any_sync(FULL, beyond)};
}

// What a difference counts: its magnitude, which has a limit.
template <class T, class Sum> DEV Sum counted(u32 d) { return magnitude_of(d); }
template <class T, class Sum> DEV Sum counted(u64 d) { return (Sum)min_of(magnitude_of(d), 1ull << 56); }

// 256 times the logarithm of the sum over the warp of numbers below 2^30, or of any.
DEV u32 logarithm_of_all(u32 v) {
    const u64 high = __reduce_add_sync(FULL, v >> 16);
    return logarithm((high << 16) + __reduce_add_sync(FULL, v & 0xffff));
}
DEV u32 logarithm_of_all(u64 v) { return logarithm(warp_sum(v)); }

// Where `choose` has words from: those that the warp keeps at their places.
template <class Word> struct Kept {
    const Grid& grid;
    const Word* words;
    DEV void load(Rows<Word>& rows, const Quad& q, u32 group, u32 axes, u32 lane) const {
        rows.load(grid, words, q, group * GROUP + lane * QUAD, axes, lane);
    }
};

// What is done with a tile's words: the axes along which differences are taken; what is subtracted before, 0 if there
// are such axes.
template <class Word> struct Choice {
    u32 set;
    Word middle;
};
// Words whose order as unsigned numbers is that of signed ones; the inverse is the same.
template <class Word> DEV Word in_order(Word w) { return w ^ (Word)1 << (8 * sizeof(Word) - 1); }

// The set of axes, out of those along which tiles have several elements, whose differences look shortest in the groups
// that are looked at, or the middle of their words (src/codec/ratio/predict.rs).
template <class T, class Form, class Words> SELDOM Choice<typename Form::Word> choose(const Source<T>& s, Words words) {
    typedef typename Form::Word Word;
    typedef typename Form::Sum Sum;
    const u32 lane = threadIdx.x & 31, allowed = s.grid->set(), groups = s.grid->groups(), a = s.grid->a;
    u32 cost = lane % 8 & ~allowed ? ~0u : 0;    // of set lane % 8
    Word first = ~(Word)0, last = 0;             // the words that were met, in order
    u32 seen = 0, round = 0;                     // seen: groups
#pragma unroll 1
    for (u32 i = 0;; i++) {
        if (uniform(i == groups)) {
            first = ~warp_max_of((Word)~first);
            last = warp_max_of(last);
            const u32 least = __reduce_min_sync(FULL, cost);
            const bool small = first < last && least < 256 * seen;
            if (!uniform(++round < SAMPLE_ROUNDS && groups > SAMPLED_GROUPS && small)) break;
            i = 0;
        }
        if (!uniform(is_sampled(i, groups, round))) continue;
        const Quad q = quad_of(*s.grid, s.t, i, lane);
        if (!uniform(__any_sync(FULL, q.has))) continue;
        seen++;
        const u32 place = i * GROUP + lane * QUAD;
        Rows<Word> rows;
        words.load(rows, q, i, allowed, lane);
        rows.subtract();
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            const Word word = in_order(narrow<T>(rows.own[j]));
            first = q.has >> j & 1 ? min_of(first, word) : first;
            last = q.has >> j & 1 && word > last ? word : last;
        }
        Word d[8][QUAD];    // differences along each set, whatever is on a face
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            d[0][j] = rows.own[j];
            d[2][j] = rows.y[j];
            d[4][j] = rows.z[j];
            d[6][j] = rows.yz[j];
        }
#pragma unroll
        for (u32 set = 0; set < 8; set += 2) along_x(d[set], rows.before[set / 2], q, a, lane, d[set + 1]);
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
        // Each lane takes the logarithm of one set's sum.
        u32 own = 0;
#pragma unroll
        for (u32 set = 0; set < 8; set++) {
            if (set & ~allowed) continue;
            Sum sum = 0;
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) sum += q.has >> j & 1 ? counted<T, Sum>(narrow<T>(d[set][j])) : 0;
            const u32 of_set = logarithm_of_all(sum);
            own = lane % 8 == set ? of_set : own;
        }
        cost += own;
    }
    Choice<Word> chosen = {0, 0};
    u32 least = __shfl_sync(FULL, cost, 0);
    for (u32 set = 1; set < 8; set++) {
        const u32 other = __shfl_sync(FULL, cost, set);
        if ((set & ~allowed) || other >= least) continue;
        chosen.set = set;
        least = other;
    }
    const u64 length = (u64)(Word)(last - first);
    if (uniform(seen * logarithm(min_of(length, 1ull << 56) * (GROUP / 4)) < least))
        chosen = {0, in_order(first) + (Word)(length / 2)};
    return chosen;
}

}    // namespace ratio
