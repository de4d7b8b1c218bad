// Twin: src/codec/interp/body/decode.rs
// One block, one tile: from codes to elements in the array (docs/reference/codecs/interp.md §6 to §8), then patches,
// elements that are no decimals, and missing values.
#pragma once
#include "nodes.cuh"
#include "tile.cuh"

namespace interp {

// What the threads of a block share while they restore a tile, besides its numbers.
template <class T> struct Bench {
    AxisRecipes recipes;
    Partial<typename T::Word> partial;
    Partial<u32> narrow;
};

// Four neighbours of a row.
DEV void put_four(u8* at, const u32 (&v)[QUAD], F32) { store_streaming((uint4*)at, join(v)); }
DEV void put_four(u8* at, const u64 (&v)[QUAD], F64) {
    store_streaming((uint4*)at, join({v[0], v[1]}));
    store_streaming((uint4*)at + 1, join({v[2], v[3]}));
}
DEV void put_four_halves(u8* at, const u32 (&v)[QUAD]) {
    *(uint2*)at = make_uint2(__byte_perm(v[0], v[1], 0x5410), __byte_perm(v[2], v[3], 0x5410));
}
DEV void put_four(u8* at, const u32 (&v)[QUAD], F16) { put_four_halves(at, v); }
DEV void put_four(u8* at, const u32 (&v)[QUAD], BF16) { put_four_halves(at, v); }
DEV void put_four(u8* at, const u32 (&v)[QUAD], B8) {
    *(u32*)at = (v[0] & 0xff) | (v[1] & 0xff) << 8 | (v[2] & 0xff) << 16 | v[3] << 24;
}

// Stores what `element` says of each number of a tile. For a whole block.
template <class T, class Element> DEV void put_all(const Stream<T>& s, const Own<T>& own, Element element) {
    enum : u32 { SIZE = T::BITS / 8, TOGETHER = QUAD * SIZE < 16 ? QUAD * SIZE : 16 };
    typedef typename T::Word Word;
    const Tile& t = own.t;
    const Target& to = own.to;
    const u32* const shift = s.wanted.shift;
    const u32 n = t.count(), nx = (t.lx + low_ones(shift[0])) >> shift[0], ny = (t.ly + low_ones(shift[1])) >> shift[1],
              nz = (t.lz + low_ones(shift[2])) >> shift[2];
    const bool simple = to.whole && s.head.grid.z != MANY && !s.head.big_endian;
    const u64 x_step = to.step[0] * SIZE, y_step = to.step[1] * SIZE, z_step = to.step[2] * SIZE;
    u8* const first = to.dst + to.origin * SIZE;
    if (simple && nx * ny * nz == n && to.step[0] == 1 && t.lx % QUAD == 0 &&
        ((u64)first | y_step | z_step) % TOGETHER == 0) {
        const u32 quads = t.lx / QUAD;
        const Divisor row(quads), plane(quads * t.ly);
#pragma unroll 1
        for (u32 i = threadIdx.x; QUAD * i < n; i += blockDim.x) {
            const u32 z = plane.divide(i), rest = i - z * plane.by, y = row.divide(rest), x = rest - y * row.by;
            Word v[QUAD];
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) v[j] = element(QUAD * i + j);
            put_four(first + x * (QUAD * SIZE) + y * y_step + z * z_step, v, T());
        }
        return;
    }
    const u32 level = own.level, across = nodes_of(t.lx, level), numbers = across * nodes_of(t.ly, level);
    const Divisor row(nx), plane(nx * ny);
    const bool direct = simple && (u64)to.dst % SIZE == 0;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < nx * ny * nz; i += blockDim.x) {
        const u32 z = plane.divide(i), rest = i - z * plane.by, y = row.divide(rest), x = rest - y * row.by,
                  of_x = x << shift[0], of_y = y << shift[1], of_z = z << shift[2];
        const Word v = element((of_z >> level) * numbers + (of_y >> level) * across + (of_x >> level));
        if (direct)
            put<T>(first + x * x_step + y * y_step + z * z_step, v);
        else
            put_element(s, to, t, of_x, of_y, of_z, v);
    }
}

// Stores what a packed body says of element n, or the number next to a missing value.
template <class T> DEV void put_restored(const Stream<T>& s, const Own<T>& own, u32 n, typename T::Word v) {
    if (T::EXPONENT && s.head.next) v = (typename T::Word)s.head.beside_missing(v);
    put_number(s, own.to, own.t, n, v);
}

// Patches over what was restored; `number` tells an element's, with the base. For a whole warp; __syncwarp before.
template <class T, class Number> SELDOM bool put_patches(const Stream<T>& s, const Own<T>& own, Number number) {
    enum { SIZE = T::BITS / 8 };
    typedef typename T::Word Word;
    bool good = true;
    u32 exceptions;
    each_patch(own.body, own.patches, own.t.count(), exceptions, [&](u32, u32 i, u32 kind, u32 before) {
        const Tile& t = own.t;
        if (kind == NO_CORRECTION || !s.wanted.may_be(i % t.lx, i / t.lx % t.ly, i / t.lx / t.ly)) return;
        Word v = 0;
        if (kind == 0) {
            const u8* p = own.body + own.patches.bits_at + (own.patches.same ? 0 : before * SIZE);
            v = element_in_body<T>(p);
        } else {
            const Word x = number(i);
            u32 multiple = (u32)x;
            if (own.head.numbers() == OF_BINS) {
                good &= s.meaning.lattice.has_bin(x);
                multiple *= LATTICE_STEP;
            }
            v = s.meaning.lattice.multiple((i32)(multiple + kind - NO_CORRECTION));
        }
        put_restored(s, own, i, v);
    });
    return good;
}

// Stores the elements of a tile; `element` is given a number's place, and says whether there is one. For a whole block;
// a barrier before.
template <class T, class Element>
DEV void put_elements(const Stream<T>& s, const Own<T>& own, bool& good, Element element) {
    put_all(s, own, [&s, &good, element](u32 i) {
        const typename T::Word v = element(i, good);
        return T::EXPONENT && s.head.next ? (typename T::Word)s.head.beside_missing(v) : v;
    });
}

// A raw body, or a constant one. For a whole block.
template <class T> DEV bool put_stored(const Stream<T>& s, const Own<T>& own) {
    enum { SIZE = T::BITS / 8 };
    const bool raw = own.kind == KIND_RAW;
    const u32 used = raw ? own.t.count() * SIZE : SIZE, at = used + threadIdx.x;
    put_all(s, own, [&](u32 i) { return element_at<T>(own.body + (raw ? i * SIZE : 0)); });
    return at >= own.bytes || own.body[at] == 0;
}

DEV u32 read32(const u8* p) { return p[0] | p[1] << 8 | p[2] << 16 | (u32)p[3] << 24; }
template <class T> DEV void put_value(const Stream<T>& s, const Own<T>& own, u32 n, u64 mask, u64 bits) {
    const Tile& t = own.t;
    if (!own.to.some) return;
    typename T::Word v = (typename T::Word)bits;
    if (s.head.big_endian) v = swapped<T>(v);
#pragma unroll 1
    for (; mask && n < t.count(); mask >>= 1, n++) {
        if (!(mask & 1)) continue;
        u64 place;
        const u32 x = n % t.lx, y = n / t.lx % t.ly, z = n / t.lx / t.ly;
        if (find(s, own.to, t, x, y, z, place)) put<T>(own.to.dst + place * (T::BITS / 8), v);
    }
}

// The plane of a masked body (docs/reference/format.md §5), and the missing values over what was restored. Lane b has
// block b of the plane, and goes through its bits 64 by 64, of all values at a time. For a whole warp.
template <class T> SELDOM bool put_missing(const Stream<T>& s, const Own<T>& own, const u8* body, u32 plane) {
    const u32 lane = threadIdx.x & 31, which = body[0] & 15, capacity = s.head.grid.capacity();
    const u32 block = capacity / 32 > 64 ? capacity / 32 : 64, words = block / 64,
              blocks = (capacity + block - 1) / block;
    u32 at = 4, first[MAX_MISSING], flags[MAX_MISSING], changes[MAX_MISSING];
    bool good = true;
    __syncwarp();
#pragma unroll
    for (u32 k = 0; k < MAX_MISSING; k++) {
        first[k] = flags[k] = changes[k] = 0;
        if (!uniform(which >> k & 1)) continue;
        if (at + 8 > plane) return false;
        const u32 starts = read32(body + at), mixed = read32(body + at + 4), beyond = ~low_ones(blocks);
        at += 8;
        if ((starts | mixed) == 0 || (starts | mixed) & beyond || at + words * __popc(mixed) > plane) return false;
        first[k] = starts >> lane & 1;
        u32 own_bytes = 0;
        if (mixed >> lane & 1) {
            flags[k] = at + words * __popc(mixed & low_ones(lane));
            for (u32 w = 0; w < words; w++) own_bytes += __popc((u32)body[flags[k] + w]);
            good &= own_bytes != 0;
        }
        at += words * __popc(mixed);
        const u32 up_to = warp_running_sum(own_bytes);
        changes[k] = at + up_to - own_bytes;
        at += __shfl_sync(FULL, up_to, 31);
        if (at > plane) return false;
    }
    good &= plane - at < UNIT && (at + lane >= plane || body[at + lane] == 0);
    if (lane < blocks)
#pragma unroll 1
        for (u32 w = 0; w < words; w++) {
            u64 seen = 0;
#pragma unroll
            for (u32 k = 0; k < MAX_MISSING; k++) {
                if (!(which >> k & 1)) continue;
                u64 mask = 0;
                const u32 flag = flags[k] ? body[flags[k] + w] : 0;
#pragma unroll 1
                for (u32 j = 0; j < 8; j++)
                    if (flag >> j & 1) {
                        const u32 change = body[changes[k]++];
                        good &= change != 0;
                        mask |= (u64)change << (8 * j);
                    }
                if (w == 0) good &= !(mask & 1);
#pragma unroll
                for (u32 j = 1; j < 64; j *= 2) mask ^= mask << j;
                if (first[k]) mask = ~mask;
                first[k] = (u32)(mask >> 63);
                good &= !(mask & seen);
                seen |= mask;
                put_value(s, own, lane * block + w * 64, mask, s.head.missing[k]);
            }
        }
    return __all_sync(FULL, good);
}

// Codes of a tile in words.
struct WordsOfCodes {
    enum : bool { ENCODES = false };
    u32* at;

    DEV u32 operator()(u32 n) const { return difference_of(at[n]); }
    DEV u32 keep(u32 n, u32 difference) const {
        at[n] = code_of(difference);
        return 0;
    }
};

// The numbers of an interpolated tile from its codes, those of a level's nodes. `e`: room for errors of nodes. For a
// whole block; barriers before and behind.
template <bool ROUGH>
DEV void interpolate_words(const Tile& t, u32 level, TileHead head, WordsOfCodes codes, u32* v, u32* e,
                           AxisRecipes& axes) {
    const bool two = t.lz == 1;
    const u32 len[3] = {t.lx, two ? 1 : t.ly, two ? t.ly : t.lz}, row = nodes_of(len[0], level);
    axes.make_for(len);
    const auto recipes = [&](u32 a, u32 k) { return axes(a, k, len[a]); };
    const TileNodes<decltype(recipes)> nodes = {
        {len[0], len[1], len[2]}, row, row * nodes_of(len[1], level), level, recipes};
    const u32 set = two ? (head.set() & X_AXIS) | (head.set() & Y_AXIS) << 1 : head.set();
    for (u32 k = level; set && k < DIFFERENCE_LEVELS && k <= nodes.last_level(); k++) sum_classes(nodes, codes, k, set);
    make_levels<ROUGH, AnyNumbers<ROUGH>>(nodes, v, e, codes, head.numbers() == IN_STEPS, 0);
}

// Restores a tile whose codes are in words. `v` and `e`: shared memory for its numbers, if they have 32 bits, and for
// errors of nodes. For a whole block; a barrier before and behind.
template <class T>
DEV bool restore_packed(const Stream<T>& s, const Own<T>& own, typename T::Word* words, u32* v, u32* e,
                        Bench<T>& bench) {
    typedef typename T::Word Word;
    const Tile& t = own.t;
    const u32 n = t.count(), set = own.head.set(), numbers = own.head.numbers(), predictor = own.head.predictor();
    const Box box = {{t.lx, t.ly, t.lz}, {1, t.lx, t.lx * t.ly}};
    // Of 64 bits they stay where words are.
    const bool in_words = T::BITS == 64 && !own.head.is_interpolated();
    if (predictor == SMOOTH) {
        interpolate_words<false>(t, own.level, own.head, WordsOfCodes{(u32*)words}, v, e, bench.recipes);
    } else if (predictor == ROUGH) {
        interpolate_words<true>(t, own.level, own.head, WordsOfCodes{(u32*)words}, v, e, bench.recipes);
    } else {
        const bool axes = predictor == BY_AXES;
#pragma unroll 4
        for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
            const Word w = axes ? difference_of(words[i]) : words[i];
            if (in_words)
                words[i] = w;
            else
                v[i] = (u32)w;
        }
        __syncthreads();
        if (axes && in_words)
            sum_box(words, box, set, bench.partial);
        else if (axes)
            sum_box(v, box, set, bench.narrow);
    }
    const Word base = own.base;
    const auto number = [=](u32 i) { return (in_words ? words[i] : (Word)(i64)(i32)v[i]) + base; };
    bool good = true;
    if (numbers == OF_BITS) {
        const Side side = own.side;
        const u8* const body = own.body;
        const bool is_float = s.head.is_float;
        put_elements(s, own, good, [=](u32 i, bool& good) {
            Word element = number(i);
            good &= from_word<T>(side, body, is_float, element);
            return element;
        });
        if (side.order != DECIMALS) return good;
        // Elements that are no decimals go over what was restored.
        __syncthreads();
        const u8* const places = body + side.list_at;
#pragma unroll 1
        for (u32 i = threadIdx.x; i < side.list; i += blockDim.x)
            put_restored(s, own, read16(places + 2 * i),
                         element_in_body<T>(places + 2 * side.list + i * (T::BITS / 8)));
        return good;
    }
    if (numbers == OF_BINS) {
        const Meaning<T> meaning = s.meaning;
        put_elements(s, own, good, [=](u32 i, bool&) { return meaning.bin(number(i)); });
    } else {
        const Lattice<T> lattice = s.meaning.lattice;
        put_elements(s, own, good, [=](u32 i, bool&) { return lattice.multiple((i32)(u32)number(i)); });
    }
    if (own.head.has_patches()) {
        __syncthreads();
        if (threadIdx.x < 32)
            good &= put_patches(s, own,
                                [&](u32 i) { return number(own.place(i % t.lx, i / t.lx % t.ly, i / t.lx / t.ly)); });
    }
    return good;
}

// The same of any tile.
template <class T>
DEV bool restore_tile(const Stream<T>& s, const Own<T>& own, typename T::Word* words, u32* v, u32* e, Bench<T>& bench) {
    bool good = own.state == STORED ? put_stored(s, own) : restore_packed(s, own, words, v, e, bench);
    if (T::EXPONENT && own.plane) {
        __syncthreads();
        if (threadIdx.x < 32) good &= put_missing(s, own, own.body - own.plane, own.plane);
    }
    return good;
}

}    // namespace interp
