// Missing values of a tile (docs/format.md §5): which elements have one, told by a plane before the body, and what the
// body holds in their places: the element before them in their block of the plane. One warp looks at its tile, and
// where some are missing makes a copy of it without gaps, one row behind the other, which is then encoded as any tile
// is.
//
//   masks   of each value a bit for each element, in the order of the raw body; where the warp has bins and counts
//   later copy    the elements of the tile, in memory that is the warp's own, behind its words; then the plane
//
// No element may come back as a missing value: where a bin, or what is rounded, equals one, elements' bits are kept.
#pragma once
#include "encode_rows.cuh"

namespace ratio {

enum { TILE_MASK_BYTES = (1 << TILE_LOG2) / 8, MASKS_TOGETHER = 4 };
static_assert(MAX_MISSING * TILE_MASK_BYTES <= TILE_ENCODE_WARP_BYTES, "the masks of a tile");

// The missing values of an array, and what no element may become.
template <class T> struct Missing {
    typedef typename T::Word Word;
    Word value[MAX_MISSING], bin[MAX_MISSING];
    u32 count, bins, drop;    // bins: a bit for each value that a bin comes back as; drop: what is rounded off
    // What has the bin of a value lies no further from it.
    typename T::Float reach;

    // By one thread; as src/codec/ratio/plan.rs has it.
    DEV void set(const CompressArgs& a, const Plan& plan, const Quantizer<T>& q) {
        count = T::EXPONENT ? a.values : 0;
        bins = 0;
        drop = plan.rounded ? plan.drop : 0;
        reach = q.on ? q.step + q.step : 0;
#pragma unroll 1
        for (u32 k = 0; k < count; k++) {
            value[k] = (Word)a.missing[k];
            const Word magnitude = value[k] & ones<T>(T::BITS - 1);
            // What is beyond the quantizer's range keeps its bits; the last bin may lie a little beyond.
            if (!q.on || magnitude > q.top + 3) continue;
            const Word x = wrap<T>(q.bin(Quantizer<T>::number_of_element(value[k]), (typename T::Float)0));
            const Word restored = q.restore_any(x), far = wrap<T>(negative<T>(x) ? 0 - x : x);
            bin[k] = x;
            // Both zeros are equal.
            if (far < q.k && (restored == value[k] || (magnitude == 0 && restored == 0))) bins |= 1u << k;
        }
    }
    // Whether an element may come back as value k, or is it; asked of every element, so it takes little.
    DEV bool is_close(u32 k, Word bits) const {
        return bits == value[k] || drop ||
               (bins >> k & 1 && Quantizer<T>::magnitude_of(Quantizer<T>::number_of_element(bits) -
                                                            Quantizer<T>::number_of_element(value[k])) <= reach);
    }
    // Whether an element that is none of them would come back as one.
    DEV bool collides(const Quantizer<T>& q, Word bits) const {
        bool same = false;
        const Word becomes = bins ? q.bin_of(bits) : Rounding<T>{drop}.apply(bits);
#pragma unroll 1
        for (u32 k = 0; k < count; k++) same |= bins ? bins >> k & 1 && bin[k] == becomes : value[k] == becomes;
        return same;
    }
};

// What is known of the missing values of a tile.
struct Look {
    u32 some, only;    // whether there is one; the value that all are, counted from 1, or 0
    u32 collides;      // whether another element would come back as one
};

// In a tile of any kind.
template <class T> SELDOM Look look_for(const Source<T>& source, const Missing<T>& missing) {
    typedef typename T::Word Word;
    const Source<T> s = source;
    const u32 count = missing.count, may_collide = missing.bins | missing.drop;
    u32 any = 0, others = 0;
    bool there = false, collides = false;
    for_all<2>(s, [&](u32, u32 has, const Word(&e)[QUAD]) {
        u32 hits[QUAD] = {0, 0, 0, 0};
#pragma unroll 1
        for (u32 k = 0; k < count; k++) {
            const Word value = missing.value[k];
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) hits[j] |= (u32)(e[j] == value) << k;
        }
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            if (!(has >> j & 1)) continue;
            any |= hits[j];
            others |= ~hits[j];
            there |= hits[j] == 0;
        }
        u32 close = 0;
#pragma unroll 1
        for (u32 k = 0; k < count; k++)
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) close |= hits[j] == 0 && missing.is_close(k, e[j]) ? 1u << j : 0;
        if (!(may_collide && close & has)) return;
        // Once in the code, as it is long.
#pragma unroll 1
        for (u32 j = 0; j < QUAD; j++) {
            Word v = e[0];
            u32 hit = hits[0];
#pragma unroll
            for (u32 i = 1; i < QUAD; i++) {
                v = i == j ? e[i] : v;
                hit = i == j ? hits[i] : hit;
            }
            collides |= has >> j & 1 && hit == 0 && missing.collides(s.quantizer, v);
        }
    });
    any = __reduce_or_sync(FULL, any);
    others = __reduce_or_sync(FULL, others);
    // Where nothing is there to be put into their places, missing values stay, and count as any elements.
    if (!__any_sync(FULL, there) && may_collide)
#pragma unroll 1
        for (u32 k = 0; k < count; k++) collides |= any >> k & 1 && missing.collides(s.quantizer, missing.value[k]);
    return {any != 0, (u32)__ffs((i32)(any & ~others)), (u32)__any_sync(FULL, collides)};
}

// The body of a tile that is nothing but the missing value `bits`, below `end`. For a whole warp.
template <class T> DEV Made missing_tile(typename T::Word bits, u8* end) {
    enum { BYTES = (T::BITS / 8 + UNIT - 1) / UNIT * UNIT };
    const u32 lane = threadIdx.x & 31;
    if (lane < BYTES / 2) ((u16*)(end - BYTES))[lane] = 2 * lane < T::BITS / 8 ? (u16)((u64)bits >> (16 * lane)) : 0;
    __syncwarp();
    return {KIND_CONSTANT, BYTES, 0, end - BYTES};
}

template <class T> DEV void store_element(u8* copy, u32 n, typename T::Word v) {
    if (T::BITS == 64) ((u64*)copy)[n] = v;
    if (T::BITS == 32) ((u32*)copy)[n] = (u32)v;
    if (T::BITS == 16) ((u16*)copy)[n] = (u16)v;
}

// A tile's masks, and how they are divided into blocks.
struct Masks {
    u32 at, count, elements;    // where they are; of how many values; elements of the tile
    u32 block, blocks;          // elements of a block; blocks of the plane

    DEV Masks(u32 place, u32 values, const Grid& g, const Tile& t) {
        at = place;
        count = values;
        elements = t.count();
        block = g.capacity() / 32 > 64 ? g.capacity() / 32 : 64;
        blocks = (g.capacity() + block - 1) / block;
    }
    DEV u32 words() const { return blocks * (block / 32); }
    // Which of the 32 elements of a word the tile has.
    DEV u32 inside(u32 word) const { return 32 * word < elements ? low_ones(elements - 32 * word) : 0; }
    DEV u32 place(u32 k, u32 word) const { return at + k * TILE_MASK_BYTES + 4 * word; }
    // Which of them have a number.
    DEV u32 there(u32 word) const {
        u32 gaps = 0;
#pragma unroll 1
        for (u32 k = 0; k < count; k++) gaps |= load_shared32(place(k, word));
        return ~gaps & inside(word);
    }
    // A bit for each element of 64 where a value begins or ends, but not at the start of a block.
    DEV uint2 changes(u32 k, u32 word, bool starts) const {
        const uint2 x = load_shared64(place(k, word));
        const u32 before = starts ? x.x & 1 : load_shared32(place(k, word - 1)) >> 31;
        return make_uint2(x.x ^ (x.x << 1 | before), x.y ^ (x.y << 1 | x.x >> 31));
    }
};

#define NO_ELEMENT 0xffffffffu

// The element of a tile that a lane has, one of 32 in a row of elements that are counted row by row; only of tiles that
// are coded by rows.
template <class T> struct Walk {
    enum { SIZE = T::BITS / 8 };
    const u8* at;
    u32 x, y, lx, ly;
    u64 behind_row, behind_plane;    // from where a row would go on to where the next one begins, and of planes

    DEV Walk(const Source<T>& s, u32 lane) {
        lx = s.t.lx;
        ly = s.t.ly;
        behind_row = (s.step[1] - lx) * SIZE;
        behind_plane = (s.step[2] - ly * s.step[1]) * SIZE;
        at = s.place_of_element(0, 0, 0) + lane * SIZE;
        x = lane;
        y = 0;
        wrap();
    }
    DEV void wrap() {
        while (x >= lx) {
            x -= lx;
            at += behind_row;
            if (++y < ly) continue;
            y = 0;
            at += behind_plane;
        }
    }
    DEV void next() {
        x += 32;
        at += 32 * SIZE;
        wrap();
    }
};

// What is told of a tile's words of 32 elements, one after the other.
template <class T> struct Marker {
    typedef typename T::Word Word;
    const Missing<T>& missing;
    const Masks& masks;
    u8* copy;
    u32 lane, first,
        last;    // the first element that there is; a bit for each value, whether the tile's last one is it

    DEV void tell(u32 word, Word v) {
        const u32 n = 32 * word + lane, inside = masks.inside(word);
        u32 there = inside;
#pragma unroll 1
        for (u32 k = 0; k < masks.count; k++) {
            u32 bits = __ballot_sync(FULL, n < masks.elements && v == missing.value[k]);
            there &= ~bits;
            // Behind the last element a mask goes on as there.
            if (32 * (word + 1) >= masks.elements) {
                if (inside) last |= (bits >> top_bit(inside) & 1) << k;
                bits |= last >> k & 1 ? ~inside : 0;
            }
            if (lane == 0) store_shared32(masks.place(k, word), bits);
        }
        if (first == NO_ELEMENT && there) first = 32 * word + __ffs((i32)there) - 1;
        if (n < masks.elements) store_element<T>(copy, n, v);
    }
};

// The same as `mark` of a tile that is coded by rows, and what there is to know of it.
template <class T>
SELDOM u32 mark_rows(const Source<T>& s, const Missing<T>& missing, const Masks& masks, u8* copy, Look& found) {
    typedef typename T::Word Word;
    const u32 lane = threadIdx.x & 31, may_collide = missing.bins;
    Marker<T> marker = {missing, masks, copy, lane, NO_ELEMENT, 0};
    Walk<T> walk(s, lane);
    u32 any = 0, others = 0;
    bool collides = false;
#pragma unroll 1
    for (u32 i = 0; uniform(i < masks.words()); i += MASKS_TOGETHER) {
        Word v[MASKS_TOGETHER];
#pragma unroll
        for (u32 j = 0; j < MASKS_TOGETHER; j++) {
            v[j] = 32 * (i + j) + lane < masks.elements ? element_of(walk.at, false, T()) : 0;
            walk.next();
        }
#pragma unroll
        for (u32 j = 0; j < MASKS_TOGETHER; j++) {
            if (32 * (i + j) + lane >= masks.elements) continue;
            u32 hits = 0;
            bool close = false;
#pragma unroll 1
            for (u32 k = 0; k < masks.count; k++) {
                hits |= (u32)(v[j] == missing.value[k]) << k;
                close |= missing.is_close(k, v[j]);
            }
            any |= hits;
            others |= ~hits;
            if (may_collide && close && !hits) collides |= missing.collides(s.quantizer, v[j]);
        }
        __syncwarp();
#pragma unroll
        for (u32 j = 0; j < MASKS_TOGETHER; j++) marker.tell(i + j, v[j]);
    }
    any = __reduce_or_sync(FULL, any);
    others = __reduce_or_sync(FULL, others);
    // As in look_for.
    if (marker.first == NO_ELEMENT && may_collide)
#pragma unroll 1
        for (u32 k = 0; k < masks.count; k++)
            collides |= any >> k & 1 && missing.collides(s.quantizer, missing.value[k]);
    found = {any != 0, (u32)__ffs((i32)(any & ~others)), (u32)__any_sync(FULL, collides)};
    __syncwarp();
    return marker.first;
}

// Marks a tile's missing values and copies its elements; returns the first one that there is.
template <class T> DEV u32 mark(const Source<T>& s, const Missing<T>& missing, const Masks& masks, u8* copy) {
    typedef typename T::Word Word;
    const u32 lane = threadIdx.x & 31, lx = s.t.lx, ly = s.t.ly;
    Marker<T> marker = {missing, masks, copy, lane, NO_ELEMENT, 0};
#pragma unroll 1
    for (u32 i = 0; uniform(i < masks.words()); i += MASKS_TOGETHER) {
        Word v[MASKS_TOGETHER];
#pragma unroll
        for (u32 j = 0; j < MASKS_TOGETHER; j++) {
            const u32 n = 32 * (i + j) + lane;
            v[j] = n < masks.elements ? s.element(n % lx, n / lx % ly, n / lx / ly) : 0;
        }
#pragma unroll
        for (u32 j = 0; j < MASKS_TOGETHER; j++) marker.tell(i + j, v[j]);
    }
    __syncwarp();
    return marker.first;
}

// Puts others into the places of missing elements: those before them in their block, at its start the first that there
// is, and in a block of nothing else `first`, the tile's. Where the tile has none at all they stay.
template <class T> SELDOM void fill(const Masks& masks, u8* copy, u32 first) {
    typedef typename T::Word Word;
    const u32 lane = threadIdx.x & 31, of_block = masks.block / 32;
    u32 last = first;
    if (uniform(first == NO_ELEMENT)) return;
#pragma unroll 1
    for (u32 i = 0; uniform(i < masks.words()); i += MASKS_TOGETHER) {
        Word v[MASKS_TOGETHER];
        u32 gap = 0;
#pragma unroll
        for (u32 j = 0; j < MASKS_TOGETHER; j++) {
            const u32 word = i + j, n = 32 * word + lane;
            if (uniform(word % of_block == 0)) {
                const u32 own = lane < of_block && word < masks.words() ? masks.there(word + lane) : 0,
                          some = __ballot_sync(FULL, own != 0), from = some ? __ffs((i32)some) - 1 : 0,
                          bits = __shfl_sync(FULL, own, from);
                last = some ? 32 * (word + from) + __ffs((i32)bits) - 1 : first;
            }
            const u32 there = masks.there(word), before = there & low_ones(lane + 1);
            if (uniform(there == ~0u)) {
                last = 32 * word + 31;
                continue;
            }
            const bool is_gap = n < masks.elements && !(there >> lane & 1);
            const u32 from = before ? 32 * word + top_bit(before) : last;
            gap |= (u32)is_gap << j;
            v[j] = is_gap ? Source<T>::element_at(copy + from * (T::BITS / 8)) : 0;
            if (there) last = 32 * word + top_bit(there);
        }
#pragma unroll
        for (u32 j = 0; j < MASKS_TOGETHER; j++)
            if (gap >> j & 1) store_element<T>(copy, 32 * (i + j) + lane, v[j]);
    }
    __syncwarp();
}

// Writes the plane but for the kind of the body behind it; returns its bytes. Lane b has block b.
SELDOM u32 write_plane(const Masks& masks, u8* plane) {
    const u32 lane = threadIdx.x & 31, words = masks.block / 64;
    u32 at = 4, which = 0;
#pragma unroll 1
    for (u32 k = 0; k < masks.count; k++) {
        const u32 from = lane * 2 * words;
        u32 bytes = 0;
        bool starts = false;
        if (lane < masks.blocks) {
            starts = load_shared32(masks.place(k, from)) & 1;
#pragma unroll 1
            for (u32 w = 0; w < words; w++) {
                const uint2 x = masks.changes(k, from + 2 * w, w == 0);
                bytes += __popc(used_bytes(x.x)) + __popc(used_bytes(x.y));
            }
        }
        const u32 first = __ballot_sync(FULL, starts), mixed = __ballot_sync(FULL, bytes != 0);
        if (!uniform(first | mixed)) continue;
        which |= 1u << k;
        const u32 up_to = warp_running_sum(bytes), behind_flags = at + 8 + words * __popc(mixed);
        if (lane < 8) plane[at + lane] = (u8)((lane < 4 ? first : mixed) >> (8 * (lane & 3)));
        u8 *flags = plane + at + 8 + words * __popc(mixed & low_ones(lane)),
           *next = plane + behind_flags + up_to - bytes;
#pragma unroll 1
        for (u32 w = 0; bytes && w < words; w++) {
            const uint2 x = masks.changes(k, from + 2 * w, w == 0);
            u32 used = 0;
#pragma unroll 1
            for (u32 j = 0; j < 8; j++) {
                const u32 byte = (j < 4 ? x.x : x.y) >> (8 * (j & 3)) & 0xff;
                if (!byte) continue;
                used |= 1u << j;
                *next++ = (u8)byte;
            }
            flags[w] = (u8)used;
        }
        at = behind_flags + __shfl_sync(FULL, up_to, 31);
    }
    const u32 end = (at + UNIT - 1) / UNIT * UNIT;
    if (lane < end - at) plane[at + lane] = 0;
    if (lane == 0) ((u32*)plane)[0] = which | end / UNIT << 16;
    __syncwarp();
    return end;
}

// Where the copy of a tile is, and its plane.
template <class T> DEV u8* copy_of(const Source<T>& s) { return s.words + (sizeof(typename T::Word) << TILE_LOG2); }
template <class T> DEV u8* plane_of(const Source<T>& s) { return copy_of(s) + ((T::BITS / 8) << TILE_LOG2); }

// Whether no element of a tile that is coded by rows is close to a missing value. For a whole warp.
template <class T, bool LINE> SELDOM bool is_far(const Source<T>& s, const Missing<T>& missing) {
    enum { TOGETHER = 4 };
    const u32 lane = threadIdx.x & 31, groups = s.grid->groups(), count = missing.count;
    const Rows128<LINE> rows(*s.grid, s.t, s.step, lane);
    const u8* tile = s.place_of_element(0, 0, 0);
    u32 at[QUAD];
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) at[j] = rows.offset(j, lane) * (T::BITS / 8);
#pragma unroll 1
    for (u32 i = 0; uniform(i < groups); i += TOGETHER) {
        Strides<T> e[TOGETHER];
#pragma unroll
        for (u32 k = 0; k < TOGETHER; k++) e[k].load(tile, false, rows, at, i + k, lane);
        bool close = false;
#pragma unroll 1
        for (u32 m = 0; uniform(m < count); m++) {
#pragma unroll
            for (u32 k = 0; k < TOGETHER; k++)
#pragma unroll
                for (u32 j = 0; j < QUAD; j++) close |= missing.is_close(m, e[k].v[j]);
        }
        if (uniform(__any_sync(FULL, close))) return false;
    }
    return true;
}

// Looks for missing values in a tile and takes them out of one that has some, and others; the source becomes what is
// left, and the bytes of the plane that tells where they were are returned. For a whole warp.
template <class T> SELDOM u32 take_out(Source<T>& s, const Missing<T>& missing, Look& found) {
    u8* const copy = copy_of(s);
    const Masks masks(s.plane, missing.count, *s.grid, s.t);
    u32 first;
    if (!uniform(missing.drop) && uniform(by_rows(s))) {
        found = {0, 0, 0};
        // Of most tiles where none is missing one look says all.
        if (uniform(s.grid->a > GROUP_LOG2) ? is_far<T, true>(s, missing) : is_far<T, false>(s, missing)) return 0;
        first = mark_rows(s, missing, masks, copy, found);
        if (uniform(!found.some || found.only)) return 0;
    } else {
        found = look_for(s, missing);
        if (uniform(!found.some || found.only)) return 0;
        first = mark(s, missing, masks, copy);
    }
    fill<T>(masks, copy, first);
    const u32 bytes = write_plane(masks, plane_of(s));
    if ((threadIdx.x & 31) == 0) {
        s.src = copy - s.t.origin * (T::BITS / 8);
        s.step[0] = 1;
        s.step[1] = s.t.lx;
        s.step[2] = s.t.lx * s.t.ly;
        s.big_endian = 0;
        s.copied = 1;
    }
    __syncwarp();
    return bytes;
}

// Puts the plane in front of a body; what is then as long as the elements is no body. For a whole warp.
template <class T> SELDOM Made put_plane(const Source<T>& s, const Made& made, u32 plane_bytes, u32 raw_bytes) {
    if (uniform(made.bytes == NO_BODY || plane_bytes + made.bytes >= raw_bytes))
        return {KIND_RAW, NO_BODY, made.set, nullptr};
    const u16* plane = (const u16*)plane_of(s);
    u8* body = made.body - plane_bytes;
    for (u32 i = threadIdx.x & 31; i < plane_bytes / 2; i += 32)
        ((u16*)body)[i] = (u16)(plane[i] | (i == 0 ? made.kind << 6 : 0));
    __syncwarp();
    return {KIND_MASKED, plane_bytes + made.bytes, made.set, body};
}

}    // namespace ratio
