// Twin: src/codec/predict/map/survey.rs, src/codec/predict/body/closed_loop.rs
// The elements of a tile, and what they are as multiples of the fine lattice: src/codec/predict/map
// and closed_loop.rs in CUDA.
#pragma once
#include "desk.cuh"
#include "encode.cuh"

namespace predict {

// An element of the array, wherever it lies.
template <class T> SELDOM typename T::Word joined(const u8* p) {
    typename T::Word word = 0;
#pragma unroll 1
    for (u32 i = 0; i < T::BITS / 8; i++) word |= (typename T::Word)p[i] << (8 * i);
    return word;
}

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
        Walk w(vectors, threadIdx.x, blockDim.x);
#pragma unroll 2
        for (u32 i = threadIdx.x; i < n / SEVERAL; i += blockDim.x, w.next()) {
            const uint4 all =
                load_streaming((const uint4*)(first + (w.x * SEVERAL + w.y * y_step + w.z * z_step) * (T::BITS / 8)));
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
    Walk w(box, threadIdx.x, blockDim.x);
#pragma unroll 1
    for (u32 i = threadIdx.x; i < n; i += blockDim.x, w.next()) {
        const u64 z = many ? z_offset_of_many(g, g.stride, t.chunk, w.z) : w.z * z_step,
                  at = w.x * x_step + w.y * y_step + z;
        const u8* const p = first + at * (T::BITS / 8);
        const Word word = aligned && T::BITS >= 32 ? *(const Word*)p : joined<T>(p);
        to[i] = turn ? swapped<T>(word) : word;
    }
}

// Rounding to whole numbers by a sum, of both float types.
DEV float magic_of(float) { return 12582912.0f; }
DEV double magic_of(double) { return 6755399441055744.0; }

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

// Whether an element stands for the multiple nearest to it, as the number next to a missing value; only in a tile that
// may be restored so.
template <class T> DEV bool is_next(const Desk<T>& d, typename T::Word bits) {
    bool any = false;
#pragma unroll 1
    for (u32 k = 0; k < d.nexts && d.beside; k++) any |= bits == d.next[k];
    return any;
}

// Finds what the elements have in common. For a whole block; a barrier before.
template <class T> DEV void look(Desk<T>& d, const typename T::Word* elements) {
    typedef typename T::Word Word;
    const Word sign = (Word)1 << (T::BITS - 1);
    Word any = 0, largest = 0;
#pragma unroll 8
    for (u32 i = threadIdx.x; i < d.n; i += blockDim.x) {
        const Word bits = elements[i], magnitude = bits & ~sign;
        any |= bits;
        largest = magnitude > largest ? magnitude : largest;
    }
    any = block_or(any, d.part);
    largest = block_max(largest, d.part);
    if (threadIdx.x == 0) {
        d.any = any;
        d.largest = largest;
    }
    __syncthreads();
}

// A thread's part of elements: four that lie together.
DEV void load_quad(const u32* from, u32 (&to)[QUAD]) {
    const uint4 q = *(const uint4*)from;
    to[0] = q.x;
    to[1] = q.y;
    to[2] = q.z;
    to[3] = q.w;
}
DEV void load_quad(const u64* from, u64 (&to)[QUAD]) {
#pragma unroll
    for (u32 j = 0; j < QUAD; j += 2) {
        const uint4 q = ((const uint4*)from)[j / 2];
        to[j] = q.x | (u64)q.y << 32;
        to[j + 1] = q.z | (u64)q.w << 32;
    }
}

// Finds what the elements have in common, and makes multiples of them; false where some have none, or are missing. For
// a whole block; a barrier before and behind.
template <class T> SELDOM bool survey_whole(Desk<T>& d) {
    typedef typename T::Word Word;
    typedef typename T::Float Float;
    if (d.masked) return false;
    const Float fine = d.meaning.lattice.fine, inverse = d.meaning.lattice.inverse,
                near = d.border - (Float)BORDER_WIDTH;
    const u32 n = d.n;
    const Word* const elements = d.elements();
    u32 *const numbers = d.numbers(), *const on_lattice = d.on();
    const Word one = elements[0], sign = (Word)1 << (T::BITS - 1);
    const u32 base = (u32)Lattice<T>::rounded(Quantizer<T>::number_of_element(one) * inverse);
    for (u32 w = threadIdx.x; 32 * w < n; w += blockDim.x) on_lattice[w] = 0;
    __syncthreads();
    Word any_bits = 0, largest = 0;
    u32 any = 0, on = 0;
    bool all_within = true;
#pragma unroll 1
    for (u32 i = QUAD * threadIdx.x; i < n; i += QUAD * blockDim.x) {
        Word bits[QUAD];
        if (i + QUAD <= n)
            load_quad(elements + i, bits);
        else
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) bits[j] = i + j < n ? elements[i + j] : one;
        u32 number[QUAD], are_on = 0;
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            const Float v = Quantizer<T>::number_of_element(bits[j]), quotient = v * inverse;
            all_within &= Quantizer<T>::magnitude_of(quotient) < near;
            const i32 rounded = Lattice<T>::rounded(quotient);
            are_on |= (u32)((Float)rounded * fine == v || is_next(d, bits[j])) << j;
            number[j] = (u32)rounded - base;
            any |= number[j] ^ (u32)((i32)number[j] >> 31);
            any_bits |= bits[j];
            const Word magnitude = bits[j] & ~sign;
            largest = magnitude > largest ? magnitude : largest;
        }
        are_on &= low_ones(n - i);
        if (are_on) atomicOr(on_lattice + i / 32, are_on << (i % 32));
        on += __popc(are_on);
        *(uint4*)(numbers + i) = make_uint4(number[0], number[1], number[2], number[3]);
    }
    // Numbers are below 2^29, so that two bits are left.
    any = block_or(any | (u32)!all_within << 31, d.part);
    on = block_sum(on, d.part);
    any_bits = block_or(any_bits, d.part);
    largest = block_max(largest, d.part);
    if (any >> 31) return false;
    if (threadIdx.x == 0) {
        d.any = any_bits;
        d.largest = largest;
        d.survey = {(i32)base, on, 0, 0, any < MOST_NUMBER, on == n && any != 0, any < SMALL_NUMBER};
    }
    __syncthreads();
    return true;
}

// Makes multiples of the elements. For a whole block; a barrier before and behind.
template <class T> SELDOM void survey(Desk<T>& d) {
    typedef typename T::Word Word;
    typedef typename T::Float Float;
    const Lattice<T> lattice = d.meaning.lattice;
    const u32 n = d.n, whole = (n + 31) / 32 * 32;
    const Float border = d.border, near = border - (Float)BORDER_WIDTH, far = border + (Float)BORDER_WIDTH;
    const Word* const elements = d.elements();
    u32* const numbers = d.numbers();
    u32 *const is_on_lattice = d.on(), *const is_wide = d.wide(), *const is_near = d.near_border(),
               *const not_counted = d.not_counted();
    const u32* const missing = d.missing();
    const bool has_missing = d.masked;
    u32 first = ~0u, on = 0, beyond = 0;
    bool restored = true;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < whole; i += blockDim.x) {
        const Word bits = i < n ? elements[i] : 0;
        const Float v = Quantizer<T>::number_of_element(bits);
        const Float quotient = v * lattice.inverse, magnitude = Quantizer<T>::magnitude_of(quotient);
        const bool within = magnitude < near, counted = i < n && !(has_missing && has_bit(missing, i));
        const i32 number = within ? Lattice<T>::rounded(quotient) : 0;
        const bool is_on = within && ((Float)number * lattice.fine == v || is_next(d, bits));
        if (i < n) numbers[i] = (u32)number;
        put_bit(is_on_lattice, i, counted && is_on);
        put_bit(is_wide, i, counted && !within);
        put_bit(is_near, i, counted && !within && magnitude < far);
        put_bit(not_counted, i, i < n && (!counted || !within));
        on += counted && is_on;
        beyond += counted && !within;
        restored &= !counted || !within || is_on;
        if (counted && within && first == ~0u) first = i;
    }
    first = block_min(first, d.part);
    on = block_sum(on, d.part);
    beyond = block_sum(beyond, d.part);
    const bool all_restored = block_sum((u32)!restored, d.part) == 0;
    const u32 base = first == ~0u ? 0 : numbers[first];
    __syncthreads();    // all have the base
    u32 any = 0;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
        const u32 number = numbers[i] - base;
        numbers[i] = number;
        if (!has_bit(not_counted, i)) any |= number ^ (u32)((i32)number >> 31);
    }
    any = block_or(any, d.part);
    if (threadIdx.x == 0)
        d.survey = {(i32)base,
                    on,
                    beyond,
                    has_missing,
                    any < MOST_NUMBER,
                    all_restored && any != 0,
                    any < SMALL_NUMBER && !beyond && !has_missing};
    __syncthreads();
}

template <class T> DEV bool has_few_wide(const Desk<T>& d) { return d.survey.wide <= d.n / ONE_EXCEPTION_OF; }
template <class T> DEV bool is_masked(const Desk<T>& d) { return d.survey.has_missing || d.survey.wide; }

// Finds the exceptions of a tile, of which `wide` alone tells then; false if they are too many. For a whole block; a
// barrier before and behind.
template <class T> DEV bool find_exceptions(Desk<T>& d) {
    u32 count = 0;
    if (d.survey.wide) {
        const bool few = has_few_wide(d);
        for (u32 w = threadIdx.x; 32 * w < d.n; w += blockDim.x) {
            if (!few) d.wide()[w] = d.near_border()[w];
            count += __popc(d.wide()[w]);
        }
    }
    count = block_sum(count, d.part);
    if (threadIdx.x == 0) d.exceptions = count;
    __syncthreads();
    return count <= MOST_EXCEPTIONS;
}

// The elements with others in the places of those that have no multiple, which are few. For a whole block; a barrier
// before and behind.
template <class T> SELDOM void fill_exceptions(Desk<T>& d, typename T::Word* to) {
    const u32 n = d.n;
    u32 first = ~0u;
    for (u32 i = threadIdx.x; i < n; i += blockDim.x)
        if (!has_bit(d.wide(), i) && first == ~0u) first = i;
    first = block_min(first, d.part);
    // Where all are such they stay as they are.
    u32* const there = d.spare_mask();
    for (u32 w = threadIdx.x; w < (n + 31) / 32; w += blockDim.x) there[w] = ~d.wide()[w];
    __syncthreads();
#pragma unroll 1
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
        u32 from = i;
        if (has_bit(d.wide(), i)) {
            from = bit_before(there, i);
            if (from == ~0u) from = first == ~0u ? 0 : first;
        }
        to[i] = d.elements()[from];
    }
    __syncthreads();
}

// The corrections of multiples that `restored` says are restored as others; false if they are too many. For a whole
// block; a barrier before and behind.
template <class T, class Restored> DEV bool find_corrections(Desk<T>& d, Restored restored) {
    u32 count = 0;
#pragma unroll 1
    for (u32 w = threadIdx.x; 32 * w < d.n; w += blockDim.x) {
        u32 corrected = 0;
#pragma unroll 1
        for (u32 bits = d.on()[w]; bits; bits &= bits - 1) {
            const u32 lowest = __ffs((i32)bits) - 1, i = 32 * w + lowest;
            const i32 by = (i32)(d.numbers()[i] - restored(i));
            if (by == 0) continue;
            corrected |= 1u << lowest;
            d.by()[i] = (signed char)by;
        }
        d.corrected()[w] = corrected;
        count += __popc(corrected);
    }
    count = block_sum(count, d.part);
    if (threadIdx.x == 0) d.corrections = count;
    __syncthreads();
    return count <= MOST_CORRECTIONS;
}

// Shows the elements of a mask in order: their ranks, where their gaps begin, and these. Gaps begin at `at`; where they
// end. `there`: room for two numbers of each warp. For a whole block; a barrier before and behind.
template <class Show> DEV u32 each_gap(const u32* mask, u32 n, u32 at, u64* there, Show show) {
    enum : u32 { EACH = MASK_WORDS / PREDICT_THREADS };
    const u32 lane = threadIdx.x & 31, first = threadIdx.x * EACH, words = (n + 31) / 32;
    u32 bits[EACH], next = 0;
#pragma unroll
    for (u32 k = 0; k < EACH; k++) {
        bits[k] = first + k < words ? mask[first + k] : 0;
        if (bits[k]) next = 32 * (first + k) + top_bit(bits[k]) + 1;
    }
    // The greatest of the threads before.
    const auto greatest_before = [&](u32 own) {
        u32 up_to = own;
        for (u32 distance = 1; distance < 32; distance *= 2) {
            const u32 other = __shfl_sync(FULL, up_to, lane - min_of(distance, lane));
            up_to = other > up_to ? other : up_to;
        }
        if (lane == 31) ((u32*)there)[threadIdx.x / 32] = up_to;
        __syncthreads();
        u32 before = __shfl_sync(FULL, up_to, lane ? lane - 1 : 0);
        before = lane ? before : 0;
        for (u32 w = 0; w < threadIdx.x / 32; w++) before = ((u32*)there)[w] > before ? ((u32*)there)[w] : before;
        __syncthreads();
        return before;
    };
    const u32 behind = greatest_before(next);
    const auto each = [&](u32 at, u32 rank, auto tell) {
        u32 from = behind;
#pragma unroll
        for (u32 k = 0; k < EACH; k++)
#pragma unroll 1
            for (u32 left = bits[k]; left; left &= left - 1) {
                const u32 number = 32 * (first + k) + __ffs((i32)left) - 1, gap = number - from;
                tell(rank++, at, number, gap);
                at += gap / 255 + 1;
                from = number + 1;
            }
        return at;
    };
    u32 count = 0;
#pragma unroll
    for (u32 k = 0; k < EACH; k++) count += __popc(bits[k]);
    const u32 bytes = each(0, 0, [](u32, u32, u32, u32) {}), both = count << 16 | bytes, up_to = warp_running_sum(both);
    if (lane == 31) ((u32*)there)[threadIdx.x / 32] = up_to;
    __syncthreads();
    u32 before = up_to - both, all = 0;
    for (u32 w = 0; w < blockDim.x / 32; w++) {
        const u32 of = ((u32*)there)[w];
        if (w < threadIdx.x / 32) before += of;
        all += of;
    }
    each(at + (before & 0xffff), before >> 16, show);
    __syncthreads();
    return at + (all & 0xffff);
}

// Writes how many elements are between those of a mask from `at` on; where that ends. For a whole block; a barrier
// before and behind.
template <class T, class Show> DEV u32 write_gaps(Desk<T>& d, const u32* mask, u8* to, u32 at, Show show) {
    return each_gap(mask, d.n, at, d.part, [&](u32 rank, u32 at, u32 number, u32 gap) {
#pragma unroll 1
        for (; gap >= 255; gap -= 255) to[at++] = 255;
        to[at] = (u8)gap;
        show(rank, number);
    });
}

// Writes the patches of a tile, if there are any, and how long they are. For a whole block; a barrier before and
// behind.
template <class T> SELDOM void write_patches(Desk<T>& d) {
    typedef typename T::Word Word;
    u8* const to = d.patches();
    const u32 corrections = d.corrections, exceptions = d.exceptions;
    u32 at = 0;
    if (corrections | exceptions) {
        if (threadIdx.x == 0) {
            ((u16*)to)[0] = (u16)corrections;
            ((u16*)to)[1] = (u16)exceptions;
        }
        at = 4;
        // Numbers stand in order of the elements that they are of, until it is known where they go.
        u32* const ordered = (u32*)d.trial();
        if (corrections) {
            at = write_gaps(d, d.corrected(), to, at, [=](u32 rank, u32 i) { ordered[rank] = i; });
            for (u32 k = threadIdx.x; k < corrections; k += blockDim.x) to[at + k] = (u8)d.by()[ordered[k]];
            at += corrections;
            __syncthreads();
        }
        if (exceptions) {
            at = write_gaps(d, d.wide(), to, at, [=](u32 rank, u32 i) { ordered[rank] = i; });
            const Word one = d.elements()[ordered[0]];
            u32 differ = 0;
            for (u32 k = threadIdx.x; k < exceptions; k += blockDim.x) differ |= d.elements()[ordered[k]] != one;
            differ = block_or(differ, d.part);
            if (threadIdx.x == 0) to[at] = (u8)differ;
            at++;
            const u32 listed = differ ? exceptions : 1;
            for (u32 k = threadIdx.x; k < listed; k += blockDim.x) {
                const Word bits = d.elements()[ordered[k]];
                for (u32 b = 0; b < T::BITS / 8; b++) to[at + k * (T::BITS / 8) + b] = (u8)(bits >> (8 * b));
            }
            at += listed * (T::BITS / 8);
        }
        if (at % 2) {
            if (threadIdx.x == 0) to[at] = 0;
            at++;
        }
    }
    if (threadIdx.x == 0) d.patch_halves = at / 2;
    __syncthreads();
}

}    // namespace predict
