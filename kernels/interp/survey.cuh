// Twin: src/codec/interp/quantize/encode.rs
// The elements of a tile, and what they are as multiples of the fine lattice, or as bins.
#pragma once
#include "desk.cuh"

namespace interp::encoder {

// Copies the elements of a tile. For a whole block; a barrier before and behind.
template <class T> DEV void gather(Desk<T>& d) {
    typedef typename T::Word Word;
    const Tile& t = d.t;
    const Grid& g = d.head.grid;
    const u64 x_step = g.stride[g.x], y_step = g.y < MAX_RANK ? g.stride[g.y] : 0;
    Word* const to = d.elements();
    const Places box = d.box;
    const u32 n = d.n;
    const bool turn = d.head.big_endian, aligned = d.aligned, many = g.z == MANY;
    const u64 z_step = g.z < MAX_RANK ? g.stride[g.z] : 0;
    const u8* const first = d.item.src + t.origin * (T::BITS / 8);
    // As many as 16 bytes hold, where these lie together.
    enum : u32 { SEVERAL = 128 / T::BITS };
    const bool together = !many && !turn && x_step == 1 && (box.lx | y_step | z_step) % SEVERAL == 0;
    if (together && (u64)first % 16 == 0) {
        const Places vectors = {box.lx / SEVERAL, box.ly, box.lz};
#pragma unroll 2
        for (u32 i = threadIdx.x; i < n / SEVERAL; i += blockDim.x) {
            u32 x, y, z;
            vectors.of(i, x, y, z);
            const uint4 all =
                load_streaming((const uint4*)(first + (x * SEVERAL + y * y_step + z * z_step) * (T::BITS / 8)));
            if constexpr (T::BITS >= 32) {
                ((uint4*)to)[i] = all;
            } else {
                Word own[SEVERAL];
                split(all, own);
#pragma unroll
                for (u32 k = 0; k < SEVERAL; k += QUAD)
                    ((uint4*)to)[(i * SEVERAL + k) / QUAD] = make_uint4(own[k], own[k + 1], own[k + 2], own[k + 3]);
            }
        }
        return;
    }
#pragma unroll 1
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
        u32 x, y, z;
        box.of(i, x, y, z);
        const u64 plane = many ? z_offset_of_many(g, g.stride, t.chunk, z) : z * z_step;
        const u8* const p = first + (x * x_step + y * y_step + plane) * (T::BITS / 8);
        const Word word = aligned && T::BITS >= 32 ? *(const Word*)p : joined<T>(p);
        to[i] = turn ? swapped<T>(word) : word;
    }
}

// The bin for one of the quantizer's, beyond the lattice if there is one.
template <class T> DEV typename T::Word beyond_lattice(const Desk<T>& d, typename T::Word bin) {
    if constexpr (T::BITS >= 32) {
        const Lattice<T>& lattice = d.meaning.lattice;
        if (lattice.first) return negative<T>(bin) ? bin - lattice.shift : bin + lattice.shift;
    }
    return bin;
}
// The bin of any element, of the lattice or beyond.
template <class T> DEV typename T::Word bin_of(const Desk<T>& d, typename T::Word bits) {
    typedef typename T::Word Word;
    typedef typename T::Float Float;
    if constexpr (T::BITS >= 32) {
        const Lattice<T>& lattice = d.meaning.lattice;
        const Float quotient = Quantizer<T>::number_of_element(bits) * lattice.inverse, magic = magic_of(quotient);
        if (lattice.first && Quantizer<T>::magnitude_of(quotient) < d.border) {
            const Float number = (quotient + magic) - magic;
            return bits_of(number * ((Float)1 / (Float)LATTICE_STEP) + magic) - bits_of(magic);
        }
    }
    return beyond_lattice(d, d.meaning.quantizer.bin_of(bits));
}

// The multiple that an element is equal to, on the border too, if there is one.
template <class T> DEV bool multiple_of(const Desk<T>& d, typename T::Word bits, i32& number) {
    typedef typename T::Word Word;
    const Lattice<T>& lattice = d.meaning.lattice;
    if (!lattice.first || !lattice.number_of(bits, number)) return false;
    const Word sign = (Word)1 << (T::BITS - 1);
    return lattice.multiple(number) == bits || (number == 0 && (bits & ~sign) == 0);
}

// Makes multiples of the elements; exceptions are those of the mask `wide`. For a whole block; a barrier before and
// behind.
template <class T> SELDOM void survey(Desk<T>& d) {
    typedef typename T::Word Word;
    typedef typename T::Float Float;
    const Lattice<T> lattice = d.meaning.lattice;
    const u32 n = d.n, whole = (n + 31) / 32 * 32;
    const Float border = d.border, near = border - (Float)BORDER_WIDTH, far = border + (Float)BORDER_WIDTH;
    const Word* const elements = d.elements();
    u32* const numbers = d.multiples();
    // The base is the first one that counts, most often that of the first element.
    const auto quotient_of = [&](Word bits) { return Quantizer<T>::number_of_element(bits) * lattice.inverse; };
    const Float of_first = quotient_of(elements[0]);
    const bool known = Quantizer<T>::magnitude_of(of_first) < near && !(d.masked && has_bit(d.missing(), 0));
    i32 base = known ? Lattice<T>::rounded(of_first) : 0;
    u32 first = ~0u, on = 0, beyond = 0, any = 0;
#pragma unroll 1
    for (u32 begin = threadIdx.x; begin < whole; begin += 4 * blockDim.x) {
        Word bits[4];
#pragma unroll
        for (u32 k = 0; k < 4; k++) {
            const u32 i = begin + k * blockDim.x;
            bits[k] = i < n ? elements[i] : 0;
        }
#pragma unroll
        for (u32 k = 0; k < 4; k++) {
            const u32 i = begin + k * blockDim.x;
            if (i >= whole) break;
            const Float v = Quantizer<T>::number_of_element(bits[k]);
            const Float quotient = v * lattice.inverse, magnitude = Quantizer<T>::magnitude_of(quotient);
            const bool within = magnitude < near, counted = i < n && !(d.masked && has_bit(d.missing(), i));
            const i32 number = within ? Lattice<T>::rounded(quotient) : 0;
            const bool is_on = counted && within && (Float)number * lattice.fine == v;
            const u32 from_base = (u32)number - (u32)base;
            if (i < n) numbers[i] = from_base;
            put_bit(d.on(), i, is_on);
            put_bit(d.wide(), i, counted && !within);
            put_bit(d.near_border(), i, counted && !within && magnitude < far);
            put_bit(d.absent(), i, i < n && !(counted && within));
            on += is_on;
            beyond += counted && !(magnitude < far);
            if (counted && within) {
                any |= from_base ^ (u32)((i32)from_base >> 31);
                if (first == ~0u) first = i;
            }
        }
    }
    on = block_sum(on, d.part);
    beyond = block_sum(beyond, d.part);
    // More may come to the border when an array is written again, and exceptions are to stay exceptions.
    const bool few = beyond <= n / ONE_EXCEPTION_OF;
    if (!known) {
        first = block_min(first, d.part);
        base = first == ~0u ? 0 : (i32)numbers[first];
        any = 0;
        __syncthreads();    // all have the base
#pragma unroll 1
        for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
            const u32 number = numbers[i] - (u32)base;
            numbers[i] = number;
            if (!has_bit(d.absent(), i)) any |= number ^ (u32)((i32)number >> 31);
        }
    }
    any = block_or(any, d.part);
    if (!few)
        for (u32 w = threadIdx.x; w < whole / 32; w += blockDim.x) d.wide()[w] = d.near_border()[w];
    __syncthreads();
    // What takes the place of a missing value is not rounded again.
    u32 off = 0;
    if (d.nexts)
#pragma unroll 1
        for (u32 i = threadIdx.x; i < whole; i += blockDim.x) {
            bool is_next = false;
            for (u32 k = 0; k < d.nexts; k++) is_next |= i < n && elements[i] == d.next[k];
            const u32 bits = __ballot_sync(FULL, is_next);
            if (i % 32) continue;
            off += __popc(bits & d.on()[i / 32]);
            d.on()[i / 32] &= ~bits;
            d.wide()[i / 32] |= bits;
        }
    off = block_sum(off, d.part);
    u32 exceptions = 0;
    for (u32 w = threadIdx.x; w < whole / 32; w += blockDim.x) {
        const u32 wide = d.wide()[w];
        exceptions += __popc(wide);
        d.absent()[w] = (d.masked ? d.missing()[w] : 0) | wide;
        d.patched()[w] = wide;
        d.spare_mask()[w] = ~wide;
    }
    exceptions = block_sum(exceptions, d.part);
    // In their places stand the multiples before them.
    if (exceptions) {
#pragma unroll 1
        for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
            if (!has_bit(d.wide(), i)) continue;
            const u32 from = bit_before(d.spare_mask(), i);
            numbers[i] = numbers[from == ~0u ? 0 : from];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        d.patches = exceptions;
        const bool masked = d.masked || exceptions;
        d.survey = {base, on - off, exceptions, masked,
                    few && any < MOST_NUMBER && n >= FEWEST && d.head.grid.is_smooth()};
    }
    __syncthreads();
}

// Adds the corrections of multiples that `restored` says are restored as others. For a whole block; a barrier before
// and behind.
template <class T, class Restored> DEV void correct(Desk<T>& d, Restored restored) {
    u32 count = 0;
#pragma unroll 1
    for (u32 w = threadIdx.x; 32 * w < d.n; w += blockDim.x) {
        u32 corrected = 0;
#pragma unroll 1
        for (u32 bits = d.on()[w]; bits; bits &= bits - 1) {
            const u32 lowest = __ffs((i32)bits) - 1, i = 32 * w + lowest;
            const i32 by = (i32)(d.multiples()[i] - restored(i));
            if (by == 0) continue;
            corrected |= 1u << lowest;
            d.by()[i] = (signed char)by;
        }
        d.patched()[w] |= corrected;
        count += __popc(corrected);
    }
    count = block_sum(count, d.part);
    if (threadIdx.x == 0) d.patches += count;
    __syncthreads();
}

// Writes halves of a front up to the one behind `room`, and counts all.
struct FrontWriter {
    u16* to;
    u32 room;

    DEV void put(u32 at, u32 half) const {
        if (at < room) to[at] = (u16)half;
    }
    template <class Word> DEV void element(u32 at, Word bits, u32 bytes) const {
        for (u32 b = 0; b < bytes; b += 2) put(at + b / 2, (u32)(bits >> (8 * b)) & 0xffff);
    }
};

// Writes the patches of a tile from half `at` on; where they end. For a whole warp.
template <class T> SELDOM u32 write_patches(const Desk<T>& d, const FrontWriter& w, u32 at) {
    enum : u32 { GAP_BITS = 12, MOST_GAP = (1 << GAP_BITS) - 1, SAME = 1 << 15, NOTHING = 8, SIZE = T::BITS / 8 };
    const u32 lane = threadIdx.x & 31, words = (d.n + 31) / 32;
    const u32 head_at = at++, begin = at;
    u32 next = 0, exceptions = 0;
    bool same = true;
    typename T::Word one = 0;
#pragma unroll 1
    for (u32 first = 0; uniform(first < words); first += 32) {
        const u32 k = first + lane, bits = k < words ? d.patched()[k] : 0, wide = k < words ? d.wide()[k] : 0;
        // Where the patch before this word's first ends.
        u32 up_to = bits ? 32 * k + top_bit(bits) + 1 : 0;
        for (u32 distance = 1; distance < 32; distance *= 2) {
            const u32 other = __shfl_sync(FULL, up_to, lane - min_of(distance, lane));
            up_to = other > up_to ? other : up_to;
        }
        up_to = up_to > next ? up_to : next;
        u32 from = __shfl_sync(FULL, up_to, lane ? lane - 1 : 0);
        from = lane ? from : next;
        next = __shfl_sync(FULL, up_to, 31);
        u32 count = 0;
        for (u32 left = bits, p = from; left; left &= left - 1) {
            const u32 i = 32 * k + __ffs((i32)left) - 1;
            count += 1 + ((i - p) >> GAP_BITS);
            p = i + 1;
        }
        const u32 all = warp_running_sum(count);
        u32 to = at + all - count;
        for (u32 left = bits, p = from; left; left &= left - 1) {
            const u32 lowest = __ffs((i32)left) - 1, i = 32 * k + lowest;
            u32 gap = i - p;
            for (; gap > MOST_GAP; gap -= MOST_GAP + 1) w.put(to++, MOST_GAP << 4 | NOTHING);
            w.put(to++, gap << 4 | (wide >> lowest & 1 ? 0 : (u32)(NOTHING + d.by()[i])));
            p = i + 1;
        }
        at += __shfl_sync(FULL, all, 31);
        // Whether all exceptions have the bits of the first one.
        const u32 has = __ballot_sync(FULL, wide != 0);
        if (uniform(has)) {
            const u32 of = __ffs((i32)has) - 1, i = 32 * (first + of) + __ffs((i32)__shfl_sync(FULL, wide, of)) - 1;
            if (exceptions == 0) one = d.elements()[i];
            for (u32 left = wide; left; left &= left - 1) same &= d.elements()[32 * k + __ffs((i32)left) - 1] == one;
            exceptions += __reduce_add_sync(FULL, __popc(wide));
        }
    }
    same = __all_sync(FULL, same);
    if (lane == 0) w.put(head_at, (at - begin) | (same ? (u32)SAME : 0));
    if (uniform(exceptions) && uniform(same)) {
        if (lane == 0) w.element(at, one, SIZE);
        return at + SIZE / 2;
    }
#pragma unroll 1
    for (u32 first = 0; uniform(first < words && !same); first += 32) {
        const u32 k = first + lane, wide = k < words ? d.wide()[k] : 0, count = __popc(wide),
                  up_to = warp_running_sum(count);
        u32 to = at + (up_to - count) * (SIZE / 2);
        for (u32 left = wide; left; left &= left - 1, to += SIZE / 2)
            w.element(to, d.elements()[32 * k + __ffs((i32)left) - 1], SIZE);
        at += __shfl_sync(FULL, up_to, 31) * (SIZE / 2);
    }
    return at;
}

// Bins of the elements, in the places of these; in those of exceptions stand others. False where one is that of a
// missing value. For a whole block; a barrier before and behind.
template <class T> SELDOM bool make_bins(Desk<T>& d) {
    typedef typename T::Word Word;
    const u32 n = d.n;
    const bool excepted = d.survey.wide && d.meaning.quantizer.on && d.patches;
    u32 first = ~0u, collided = 0;
    if (excepted) {
        for (u32 i = threadIdx.x; i < n; i += blockDim.x)
            if (has_bit(d.spare_mask(), i) && first == ~0u) first = i;
        first = block_min(first, d.part);
    }
#pragma unroll 1
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
        u32 from = i;
        if (excepted && has_bit(d.wide(), i)) {
            from = bit_before(d.spare_mask(), i);
            if (from == ~0u) from = first;
        }
        const Word bin = bin_of(d, from == ~0u ? (Word)0 : d.elements()[from]);
        d.numbers()[i] = bin;
        for (u32 k = 0; k < d.collisions && !d.beside; k++) collided |= bin == d.colliding[k];
    }
    return block_or(collided, d.part) == 0;
}

// The numbers become those less the first one, which is the base. For a whole block; a barrier before and behind.
template <class T> DEV void take_base(Desk<T>& d) {
    typedef typename T::Word Word;
    const Word first = extended<T>(d.numbers()[0]);
    __syncthreads();    // all have it
#pragma unroll 4
    for (u32 i = threadIdx.x; i < d.n; i += blockDim.x) d.numbers()[i] = extended<T>(d.numbers()[i]) - first;
    if (threadIdx.x == 0) {
        d.base = first;
        d.middle = 0;
    }
    __syncthreads();
}

}    // namespace interp::encoder
