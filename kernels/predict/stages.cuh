// Array → bodies of tiles with nothing special, in stages, each a kernel for all tiles of a wave: how a tile is
// predicted, its codes, the words of these. A tile that needs more stays for the kernel that makes bodies from end to
// end (compress.cuh), which brings all to their places.
//
// Between the kernels each tile of the wave has a slot in global memory:
//
//   codes     of 16 bits                                            by the second kernel, for the third
//   stream    the body, from its end on                             by the third
//   patches                                                         by the second, for the third
//   Note      what is known of the tile                             by each, for the next
#pragma once
#include "compress.cuh"

namespace predict {

enum : u32 {
    // A tile of which more elements are multiples was restored before, at least in part.
    FEW_MULTIPLES = 64,
    // Words of a group, of classes, and what stands before them, in halves.
    MOST_FRONT = 1536,
    // Places in the shared memory of the first kernel, in words: numbers of the part as they become what is restored,
    // the numbers, codes, errors.
    PART_NUMBERS = SAMPLE_ELEMENTS,
    PART_CODES = 2 * SAMPLE_ELEMENTS,
    PART_ERRORS = PART_CODES + SAMPLE_ELEMENTS / 2,
    MOST_PART_ERRORS = PREDICT_CHOOSE_BYTES / 4 - PART_ERRORS,
};

// The elements of a tile where they lie in the array.
template <class T> struct InArray {
    typedef typename T::Word Word;
    const Word* first;
    u64 x_step, y_step, z_step;
    Places box;
    u32 n;
    bool quads;

    DEV InArray(const Desk<T>& d, const Tile& t) : box({t.lx, t.ly, t.lz}), n(t.count()) {
        const Grid& g = d.head.grid;
        first = (const Word*)d.item.src + t.origin;
        x_step = g.stride[g.x];
        y_step = g.y < MAX_RANK ? g.stride[g.y] : 0;
        z_step = g.z < MAX_RANK ? g.stride[g.z] : 0;
        quads = x_step == 1 && (box.lx | y_step | z_step) % QUAD == 0 && (u64)first % 16 == 0;
    }
    DEV Word at(u32 x, u32 y, u32 z) const { return first[x * x_step + y * y_step + z * z_step]; }
    DEV Word operator[](u32 i) const {
        u32 x, y, z;
        box.of(i, x, y, z);
        return at(x, y, z);
    }
    // Shows elements in order, four at a time, with the number of the first; behind the last the first of all. For a
    // whole block.
    template <class Show> DEV void each_quad(Show show) const {
        if (quads) {
            Walk w({box.lx / QUAD, box.ly, box.lz}, threadIdx.x, blockDim.x);
#pragma unroll 2
            for (u32 i = QUAD * threadIdx.x; i < n; i += QUAD * blockDim.x, w.next()) {
                Word bits[QUAD];
                load_quad(first + w.x * QUAD + w.y * y_step + w.z * z_step, bits);
                show(i, bits);
            }
            return;
        }
#pragma unroll 1
        for (u32 i = QUAD * threadIdx.x; i < n; i += QUAD * blockDim.x) {
            Word bits[QUAD];
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) bits[j] = i + j < n ? (*this)[i + j] : first[0];
            show(i, bits);
        }
    }
};

// The multiple nearest to an element, less the base; its distance from it says whether it is one.
template <class T> struct NearestMultiple {
    typedef typename T::Float Float;
    Float fine, inverse, near;
    u32 base;

    DEV NearestMultiple(const Desk<T>& d, typename T::Word one)
        : fine(d.meaning.lattice.fine), inverse(d.meaning.lattice.inverse), near(d.border - (Float)BORDER_WIDTH),
          base((u32)Lattice<T>::rounded(Quantizer<T>::number_of_element(one) * inverse)) {}
    DEV u32 of(typename T::Word bits, bool& is_within, bool& is_on) const {
        const Float v = Quantizer<T>::number_of_element(bits), quotient = v * inverse;
        is_within = Quantizer<T>::magnitude_of(quotient) < near;
        const i32 rounded = Lattice<T>::rounded(quotient);
        is_on = (Float)rounded * fine == v;
        return (u32)rounded - base;
    }
    DEV u32 of(typename T::Word bits) const {
        return (u32)Lattice<T>::rounded(Quantizer<T>::number_of_element(bits) * inverse) - base;
    }
};

// Goes on to the next tile of a wave. For a whole block, with barriers before and behind.
template <class T> DEV void take_tile(Desk<T>& d, const PredictCompressArgs& a, u64 i) {
    __syncthreads();    // everyone is done with the tile before
    if (threadIdx.x == 0) {
        d.chunk = a.first + i;
        d.t = tile_of(d.head.grid, d.chunk);
        d.box = {d.t.lx, d.t.ly, d.t.lz};
        d.n = d.t.count();
        d.masked = d.which = 0;
    }
    __syncthreads();
}

// What a kernel of a stage begins with; false where there is nothing to do. For a whole block; a barrier behind.
template <class T> DEV bool begin_stage(Desk<T>& d, const PredictCompressArgs& a) {
    if (threadIdx.x == 0) {
        open(d, a, 0);
        d.at = a.scratch + (u64)blockIdx.x * (PREDICT_DESK_WORDS * Desk<T>::WORD_BYTES + PREDICT_DESK_BYTES);
        d.levels.len[0] = 0;
    }
    __syncthreads();
    return d.item.bytes >= d.head.bodies_at;
}

// What codes of 16 bits cost in the tables that are always there, and the sum of the logarithms of what the magnitudes
// of groups add up to. For a whole block; a barrier before.
template <class T> SELDOM u64 cost_of_short_codes(Desk<T>& d, const u16* codes, u32 n, u64& about) {
    enum : u32 { TOGETHER = 4, COUNT_BITS = 8 };
    const u32 lane = threadIdx.x & 31, groups = (n + GROUP - 1) / GROUP, warps = blockDim.x / 32;
    u32 cost = 0, logarithms = 0;
#pragma unroll 1
    for (u32 first = threadIdx.x / 32; uniform(first < groups); first += TOGETHER * warps) {
        u32 code[TOGETHER][QUAD], has[TOGETHER], both = 0, most = 0;
        // Lane k learns of group k.
#pragma unroll
        for (u32 k = 0; k < TOGETHER; k++) {
            const u32 g = first + k * warps;
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) code[k][j] = 0;
            has[k] = 0;
            if (uniform(g < groups)) has[k] = take_codes(codes, n, g, lane, code[k]);
            u32 own = 0, own_most = 0;
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) {
                own += (((code[k][j] + 1) >> 1) << COUNT_BITS) + (code[k][j] != 0);
                own_most = code[k][j] > own_most ? code[k][j] : own_most;
            }
            own = __reduce_add_sync(FULL, own);
            own_most = __reduce_max_sync(FULL, own_most);
            if (lane == k) {
                both = own;
                most = own_most;
            }
        }
        const u32 sum = both >> COUNT_BITS, nonzeros = both & low_ones(COUNT_BITS);
        const Classes cls = classes_of(sum, nonzeros, most);
        const u32 kind = cls.first | cls.second << 4 | (u32)(most < DIRECT) << 8 | (u32)(sum != 0) << 9;
        if (lane < TOGETHER && first + lane * warps < groups) {
            logarithms += (u32)logarithm((u64)sum);
            cost += sum ? (u32)CLASS_COST : BIT / 4;
        }
#pragma unroll
        for (u32 k = 0; k < TOGETHER; k++) {
            const u32 of = __shfl_sync(FULL, kind, k);
            if (!uniform(of >> 9)) continue;
            const u32 codes_cost = cost_in_classes(code[k], has[k], __all_sync(FULL, has[k] == low_ones(QUAD)), of & 15,
                                                   of >> 4 & 15, of >> 8 & 1);
            if (lane == 0) cost += codes_cost;
        }
    }
    about = block_sum((u64)logarithms, d.part);
    return block_sum((u64)cost, d.part);
}

// The same as `code_cost` of codes of 16 bits.
template <class T> SELDOM u64 cost_of_short_bins(Desk<T>& d, const u16* codes, u32 n, u64 share, u32* counts) {
    u64 about;
    const u64 fixed = cost_of_short_codes(d, codes, n, about);
    if (fixed < (u64)LOW_COST * n) return fixed;
    const u64 own = cost_in_own_table(d, codes, n, share, counts);
    return own < fixed ? own : fixed;
}

// Encodes the numbers of the part at the beginning of the shared memory by a predictor; all bits of differences of all
// threads, or of their complement, with LONG_CODE where codes are too long. For a whole block; a barrier before and
// behind.
template <bool ROUGH, class T> DEV u32 encode_part(Desk<T>& d, const Places& box, u16* codes, bool half) {
    const auto by = [&](auto of) {
        return encode_small_by<ROUGH, u16, CHOOSE_THREADS, decltype(of)>(0, PART_ERRORS, box.lx, box.ly, box.lz, true,
                                                                         0, d.levels, codes, codes);
    };
    u32 any;
    if (half && box.lx == 16 && box.ly == 16 && box.lz == 16)
        any = by(Sides<16, 16, 16>());
    else if (half && box.lx == 64 && box.ly == 64)
        any = by(Sides<64, 1, 64>());
    else
        any = by(Sides<>());
    return block_or(any, d.part) & ~(u32)ANY_CODE;
}

// Bins of n numbers in their place, their differences along the axes where these are shortest, as codes, and what these
// cost, of which each stands for `share`; ~0 where codes are too long. `about` them. `counts`: room for as many as
// there are symbols. For a whole block; a barrier before and behind.
template <class T>
SELDOM u64 cost_of_small_bins(Desk<T>& d, Places box, u32* v, u32 base, u64 share, u16* codes, u32* counts,
                              u64& about) {
    const u32 n = box.count(), first = bin_of_number(v[0], (i32)base, LATTICE_STEP);
    i32 least = 0x7fffffff, most = -0x7fffffff - 1;
    __syncthreads();    // all have the first
#pragma unroll 2
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
        const u32 bin = bin_of_number(v[i], (i32)base, LATTICE_STEP) - first;
        least = (i32)bin < least ? (i32)bin : least;
        most = (i32)bin > most ? (i32)bin : most;
        v[i] = bin;
    }
    __syncthreads();
    const bool by_quads = has_quads(box);
    const u32 set = by_quads ? shortest_by_quads(d, box, v, about)
                             : shortest_set<u32, T, u32>(d, box, [=](u32 i) { return v[i]; }, about);
    u64 cost = ~0ull;
    u32 middle = 0;
    if (set == 0) {
        least = block_min(least, d.part);
        most = block_max(most, d.part);
        middle = (u32)least + (u32)((i32)((u32)most - (u32)least) / 2);
    }
#pragma unroll 1
    for (u32 k = 0; k < (set ? 1 : 2); k++) {
        u32 any = 0;
        if (by_quads && set) {
            any = codes_by_quads(box, set, v, codes);
        } else {
            Walk w(box, threadIdx.x, blockDim.x);
#pragma unroll 1
            for (u32 i = threadIdx.x; i < n; i += blockDim.x, w.next()) {
                const u32 code =
                    code_of(set ? lorenzo<u32>(box, set, i, w.x, w.y, w.z, [=](u32 k) { return v[k]; })
                                : v[i] - (k ? middle : 0));
                codes[i] = (u16)code;
                any |= code;
            }
        }
        if (block_or(any, d.part) >> 16) return ~0ull;
        const u64 own = cost_of_short_bins(d, codes, n, share, counts);
        cost = own < cost ? own : cost;
        __syncthreads();
    }
    return cost;
}

// Chooses how a tile is predicted whose elements have small multiples, by what a part of it costs; what is to be done
// with it then. For a whole block; a barrier before and behind.
template <class T>
DEV Stage choose_small(Desk<T>& d, const InArray<T>& in, const NearestMultiple<T>& nearest, bool half, Rule& rule) {
    SHARED_BYTES(shared);
    u32* const v = (u32*)shared;
    u32* const numbers = v + PART_NUMBERS;
    u16* const codes = (u16*)(v + PART_CODES);
    u16* const other = (u16*)v;
    const Places whole = d.box, box = sample_of(whole);
    const u32 n = box.count(), x0 = (whole.lx - box.lx) / 2, y0 = (whole.ly - box.ly) / 2,
              z0 = (whole.lz - box.lz) / 2;
    if (errors_of(box.lx, box.ly, box.lz) > MOST_PART_ERRORS) return END_TO_END;
    if (in.quads && (box.lx | x0) % QUAD == 0) {
        Walk w({box.lx / QUAD, box.ly, box.lz}, threadIdx.x, CHOOSE_THREADS);
#pragma unroll 2
        for (u32 i = QUAD * threadIdx.x; i < n; i += QUAD * CHOOSE_THREADS, w.next()) {
            typename T::Word bits[QUAD];
            load_quad(in.first + x0 + w.x * QUAD + (y0 + w.y) * in.y_step + (z0 + w.z) * in.z_step, bits);
            u32 own[QUAD];
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) own[j] = nearest.of(bits[j]);
            store_quad(numbers + i, own);
        }
    } else {
        Walk w(box, threadIdx.x, CHOOSE_THREADS);
#pragma unroll 1
        for (u32 i = threadIdx.x; i < n; i += CHOOSE_THREADS, w.next())
            numbers[i] = nearest.of(in.at(x0 + w.x, y0 + w.y, z0 + w.z));
    }
    __syncthreads();
    copy_words(v, numbers, n);
    __syncthreads();
    u64 about_bins;
    const u64 bins = cost_of_small_bins(d, box, v, nearest.base, d.n / n, codes, v + PART_ERRORS, about_bins),
              few = (u64)LOW_COST * n;
    if (bins == ~0ull) return END_TO_END;
    // Interpolation.
    copy_words(v, numbers, n);
    __syncthreads();
    if (encode_part<false>(d, box, codes, half) >> 20) return END_TO_END;
    u64 about_codes, about;
    u64 least = cost_of_short_codes(d, codes, n, about_codes);
    rule = {0, 1, 0};
    bool interpolated = true;
    if (bins <= least) {
        if (about_bins + (u64)FAR * (n / GROUP) < about_codes) return n < d.n && bins < few ? IS_LOW : BY_BINS;
        interpolated = false;
        least = bins;
    }
    const u32 set = axes_of_codes(d, box, codes);
    const auto take = [&](u64 cost, u32 rough) {
        if (cost >= least) return;
        least = cost;
        rule = {rough, 1, set};
        interpolated = true;
    };
    if (set) {
        if (block_or(differ(d, box, set, codes, other), d.part) >> 16) return END_TO_END;
        take(cost_of_short_codes(d, other, n, about), 0);
    }
    __syncthreads();
    copy_words(v, numbers, n);
    __syncthreads();
    if (encode_part<true>(d, box, codes, half) >> 20) return END_TO_END;
    if (set && block_or(differ(d, box, set, codes, other), d.part) >> 16) return END_TO_END;
    take(cost_of_short_codes(d, set ? other : codes, n, about), 1);
    // A part that costs little says little.
    if (n < d.n && least < few) {
        if (!interpolated) rule.set = 0;
        return IS_LOW;
    }
    return interpolated ? IS_CHOSEN : BY_BINS;
}

// The first kernel: how the tiles of a wave are predicted.
template <class T> DEV void choose_tiles(const PredictCompressArgs& a) {
    typedef typename T::Word Word;
    SHARED Desk<T> d;
    if (!begin_stage(d, a)) return;
    if (blockIdx.x == 0 && threadIdx.x == 0) d.control->ticket = a.first;
    make_direct_costs();
    const bool are_simple = d.head.multiplier && d.head.grid.is_smooth() && d.head.grid.z != MANY && d.aligned &&
                            !d.head.big_endian && !d.head.values;
#pragma unroll 1
    for (u64 i = blockIdx.x; uniform(i < a.tiles); i += gridDim.x) {
        take_tile(d, a, i);
        Note& note = TileSlot(a, i).note();
        Note told = {};
        if (uniform(are_simple && d.n >= FEWEST)) {
            const InArray<T> in(d, d.t);
            const NearestMultiple<T> nearest(d, in.first[0]);
            const Word sign = (Word)1 << (T::BITS - 1);
            Word any_bits = 0, largest = 0;
            u32 any = 0, on = 0;
            in.each_quad([&](u32 i, const Word(&bits)[QUAD]) {
#pragma unroll
                for (u32 j = 0; j < QUAD; j++) {
                    bool is_within, is_on;
                    const u32 number = nearest.of(bits[j], is_within, is_on);
                    any |= (number ^ (u32)((i32)number >> 31)) | (u32)!is_within << 31;
                    on += is_on && i + j < in.n;
                    any_bits |= bits[j];
                    const Word magnitude = bits[j] & ~sign;
                    largest = magnitude > largest ? magnitude : largest;
                }
            });
            any = block_or(any, d.part);
            on = block_sum(on, d.part);
            any_bits = block_or(any_bits, d.part);
            largest = block_max(largest, d.part);
            Rule rule = {0, 1, 0};
            // A part would not come back as a tile does that was restored before.
            Stage stage = END_TO_END;
            if (any < SMALL_NUMBER && on <= d.n / FEW_MULTIPLES)
                stage = choose_small(d, in, nearest, any < SMALL_NUMBER / 2, rule);
            if (stage != END_TO_END)
                told = {(u32)stage, rule.set, rule.rough, on, (i32)nearest.base, 0, 0, 0, 0, any, any_bits, largest, 0};
        }
        if (threadIdx.x == 0) note = told;
    }
}

// Makes multiples of a tile at the beginning of the shared memory, and a mask of those that elements are, if there are
// any. For a whole block; a barrier before and behind.
template <class T>
SELDOM void make_multiples(Desk<T>& d, const InArray<T>& in, const NearestMultiple<T>& nearest, bool any) {
    SHARED_BYTES(shared);
    u32* const v = (u32*)shared;
    if (any)
        for (u32 w = threadIdx.x; 32 * w < d.n; w += blockDim.x) d.on()[w] = 0;
    __syncthreads();
    in.each_quad([&](u32 i, const typename T::Word(&bits)[QUAD]) {
        u32 number[QUAD], are_on = 0;
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            bool is_within, is_on;
            number[j] = nearest.of(bits[j], is_within, is_on);
            are_on |= (u32)is_on << j;
        }
        store_quad(v + i, number);
        if (any) {
            are_on &= low_ones(in.n - i);
            if (are_on) atomicOr(d.on() + i / 32, are_on << (i % 32));
        }
    });
    __syncthreads();
}

// Finds the codes of a tile by the way that was chosen, or the better one of the two where its part cost little, and
// its patches; what is to be done with it then. For a whole block; a barrier before and behind.
template <class T> DEV Stage make_codes(Desk<T>& d, const TileSlot& slot, const Note& told, Note& note) {
    SHARED_BYTES(shared);
    u32* const v = (u32*)shared;
    const InArray<T> in(d, d.t);
    const NearestMultiple<T> nearest(d, in.first[0]);
    const bool is_low = told.stage == IS_LOW, half = told.magnitude < SMALL_NUMBER / 2;
    const auto encode_by = [&](auto of, bool rough) {
        const auto encode = [&](auto rough) {
            return encode_small_by<decltype(rough)::OF != 0, u16, CODES_THREADS, decltype(of)>(
                0, PREDICT_NUMBER_BYTES / 4, d.box.lx, d.box.ly, d.box.lz, true, told.set, d.levels, slot.codes(),
                (u16*)d.differences());
        };
        return rough ? encode(Class<1>()) : encode(Class<0>());
    };
    u64 least = ~0ull;
    if (is_low) {
        u64 about;
        make_multiples(d, in, nearest, false);
        least = cost_of_small_bins(d, d.box, v, nearest.base, 1, (u16*)d.codes(), v + ELEMENTS, about);
        if (least == ~0ull) return END_TO_END;
    }
    // Of two predictors the second one is left as it is found.
    u64 cost = 0;
    u32 any = 0, rough = told.rough;
#pragma unroll 1
    for (u32 pass = is_low ? 0 : 2; pass < 3; pass++) {
        if (is_low) rough = pass != 1;
        make_multiples(d, in, nearest, told.on != 0);
        if (half && d.box.lx == 32 && d.box.ly == 32 && d.box.lz == 16)
            any = encode_by(Sides<32, 32, 16>(), rough);
        else if (half && d.box.lx == 128 && d.box.ly == 128)
            any = encode_by(Sides<128, 1, 128>(), rough);
        else
            any = encode_by(Sides<>(), rough);
        any = block_or(any, d.part);
        if ((any & ~(u32)ANY_CODE) >> 20) return END_TO_END;
        if (pass == 2) break;
        u64 about;
        const u64 own = cost_of_short_codes(d, slot.codes(), d.n, about);
        if (pass == 0) {
            cost = own;
            continue;
        }
        // Bins are taken if they do not cost more, the rough predictor if it costs less.
        const bool by_bins = least <= own;
        least = by_bins ? least : own;
        if (cost >= least) {
            if (by_bins) return BY_BINS;
            break;
        }
    }
    if (threadIdx.x == 0) d.corrections = d.exceptions = d.patch_halves = 0;
    __syncthreads();
    if (told.on) {
        const auto restored = [=](u32 i) { return v[i]; };
        if (!find_corrections(d, restored, [=](u32 i) { return nearest.of(in[i]); })) return END_TO_END;
        write_patches(d);
        const u32 halves = d.patch_halves;
        for (u32 k = threadIdx.x; k < halves; k += CODES_THREADS)
            ((u16*)slot.patches())[k] = ((const u16*)d.patches())[k];
    }
    if (threadIdx.x == 0) {
        note.rough = rough;
        note.patch_halves = d.patch_halves;
        note.any_code = any >> 31;
    }
    return HAS_CODES;
}

// The second kernel: the codes of the tiles of a wave.
template <class T> DEV void code_tiles(const PredictCompressArgs& a) {
    SHARED Desk<T> d;
    if (!begin_stage(d, a)) return;
    make_direct_costs();
#pragma unroll 1
    for (u64 i = blockIdx.x; uniform(i < a.tiles); i += gridDim.x) {
        const TileSlot slot(a, i);
        const Note told = slot.note();
        if (uniform(told.stage != IS_CHOSEN && told.stage != IS_LOW)) continue;
        take_tile(d, a, i);
        const Stage stage = make_codes(d, slot, told, slot.note());
        if (threadIdx.x == 0) slot.note().stage = stage;
    }
}

// What a warp that makes words has in shared memory; the tile's own table comes to stand in the place of what it is
// chosen by.
struct alignas(16) WarpBench {
    u32 count[SYMBOLS], cost[SYMBOLS];
    u32 sums[SYMBOLS * 2];    // of two tokens each: how often they occur in groups of each class
    u32 frequency[SYMBOLS];
    u32 listed[ELEMENTS / GROUP], list_length;
    u32 direct[ELEMENTS / GROUP / 32];
    u8 classes[ELEMENTS / GROUP], own_group[ELEMENTS / GROUP];
    u32 used, coded;
    u64 own_classes;
    u32 own_cost[TABLES], other_cost[TABLES];
    const uint4* symbols;

    DEV uint4* own() { return (uint4*)count; }
    DEV u32 own_at() const { return (u32)((const uint4*)count - symbols); }
    DEV u32 sum(u32 at) const { return sums[at / 2] >> (16 * (at % 2)) & 0xffff; }
};
static_assert(sizeof(WarpBench) % 16 == 0 && STATIC_SYMBOLS <= 4 * SYMBOLS, "the tile's own table has room");
static_assert(ALL_SYMBOLS * 16 + WORDS_THREADS / 32 * sizeof(WarpBench) == PREDICT_WORDS_BYTES, "shared memory");

// Finds the classes of groups and counts their tokens. For a whole warp.
DEV void take_groups_of_warp(WarpBench& b, const u16* codes, u32 n) {
    const u32 lane = threadIdx.x & 31, groups = (n + GROUP - 1) / GROUP;
#pragma unroll
    for (u32 s = 0; s < 2 * SYMBOLS; s += 32) b.sums[s + lane] = 0;
    if (lane < ELEMENTS / GROUP / 32) b.direct[lane] = 0;
    __syncwarp();
    u32 used = 0, coded = 0;
    u32 next[QUAD];
    u32 has_next = take_codes(codes, n, 0, lane, next);
#pragma unroll 1
    for (u32 g = 0; uniform(g < groups); g++) {
        u32 code[QUAD];
        const u32 has = has_next;
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) code[j] = next[j];
        if (uniform(g + 1 < groups)) has_next = take_codes(codes, n, g + 1, lane, next);
        bool are_direct = false;
        const u32 cls = class_of(code, are_direct);
        if (lane == 0) b.classes[g] = (u8)cls;
        if (!uniform(cls)) continue;
        used |= 1u << cls;
        coded = g + 1;
        if (lane == 0 && are_direct && (g + 1) * GROUP <= n) b.direct[g / 32] |= 1u << (g % 32);
        const u32 first = FIRSTS[cls];
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            u32 raw;
            const u32 at = first + (are_direct ? code[j] : token_of_code(code[j], raw));
            if (has >> j & 1) atomicAdd(b.sums + at / 2, 1u << (16 * (at % 2)));
        }
    }
    if (lane == 0) {
        b.used = used;
        b.coded = coded;
    }
    __syncwarp();
}

// The same as `fit_to_classes`, by a warp; `bytes` of the table.
DEV u64 fit_of_warp(WarpBench& b, u32 used, u32 chosen) {
    const u32 lane = threadIdx.x & 31;
    u32 count[SYMBOLS / 32];
#pragma unroll
    for (u32 k = 0; k < SYMBOLS / 32; k++) count[k] = 0;
#pragma unroll 1
    for (u32 left = chosen; uniform(left); left &= left - 1) {
        const u32 cls = __ffs((i32)left) - 1, first = FIRSTS[cls], tokens = FIRSTS[cls + 1] - first;
#pragma unroll
        for (u32 k = 0; k < SYMBOLS / 32; k++)
            if (lane + 32 * k < tokens) count[k] += b.sum(first + lane + 32 * k);
    }
#pragma unroll
    for (u32 k = 0; k < SYMBOLS / 32; k++) b.count[lane + 32 * k] = count[k];
    fit(b);
#pragma unroll 1
    for (u32 left = chosen; uniform(left); left &= left - 1) {
        const u32 cls = __ffs((i32)left) - 1, first = FIRSTS[cls], tokens = FIRSTS[cls + 1] - first;
        u32 cost = 0;
        for (u32 t = lane; t < tokens; t += 32) cost += b.sum(first + t) * b.cost[t];
        cost = __reduce_add_sync(FULL, cost);
        if (lane == 0) b.own_cost[cls] = cost;
    }
    __syncwarp();
    u64 cost = 8 * BIT * (u64)table_bytes(b);
#pragma unroll 1
    for (u32 left = used; left; left &= left - 1) {
        const u32 cls = __ffs((i32)left) - 1;
        cost += chosen >> cls & 1 ? b.own_cost[cls] : b.other_cost[cls];
    }
    __syncwarp();
    return cost;
}

// The same as `choose_table`, by a warp.
DEV bool choose_table_of_warp(WarpBench& b) {
    const u32 lane = threadIdx.x & 31, used = uniform(b.used);
    if (used == 0) return false;
    u32 all = 0;
    u64 plain = 0;
#pragma unroll 1
    for (u32 left = used; uniform(left); left &= left - 1) {
        const u32 cls = __ffs((i32)left) - 1, first = FIRSTS[cls], tokens = FIRSTS[cls + 1] - first;
        u32 cost = 0, other = 0;
        for (u32 t = lane; t < tokens; t += 32) {
            const u32 sum = b.sum(first + t);
            all += sum;
            cost += sum * TOKEN_COSTS[first + t];
            if (cls == OWN) other += sum * token_cost(OWN - 1, t);
        }
        cost = __reduce_add_sync(FULL, cost);
        plain += cost;
        other = cls == OWN ? __reduce_add_sync(FULL, other) : cost;
        if (lane == 0) b.other_cost[cls] = other;
    }
    __syncwarp();
    all = __reduce_add_sync(FULL, all);
    const u64 for_all = fit_of_warp(b, used, used);
    u32 chosen = 0;
#pragma unroll 1
    for (u32 left = used; left; left &= left - 1) {
        const u32 cls = __ffs((i32)left) - 1;
        if (b.own_cost[cls] < b.other_cost[cls]) chosen |= 1u << cls;
    }
    chosen = uniform(chosen);
    u64 cost = for_all;
    __syncwarp();
    if (chosen != used) {
        cost = fit_of_warp(b, used, chosen);
        // Groups that all have one class say nothing of it.
        if (uniform(for_all <= cost + BIT * (u64)(all / GROUP))) {
            chosen = used;
            cost = fit_of_warp(b, used, used);
        }
    }
    if (uniform(cost >= plain)) return false;
    u64 classes = 0;
    for (u32 cls = 1; cls < TABLES; cls++)
        classes |= (u64)(chosen >> cls & 1 ? OWN : cls == OWN ? OWN - 1 : cls) << (4 * cls);
    if (lane == 0) b.own_classes = classes;
    u32 start = 0;
    __syncwarp();
#pragma unroll 1
    for (u32 first = 0; first < SYMBOLS; first += 32) {
        const u32 f = b.frequency[first + lane], up_to = warp_running_sum(f);
        b.own()[first + lane] = symbol_of(start + up_to - f, f);
        start += __shfl_sync(FULL, up_to, 31);
    }
    __syncwarp();
    return true;
}

// Copies halves of words down to the place before `end`; where they begin. For a whole warp.
DEV u32 put_before(u16* stream, u32 end, const u16* from, u32 halves) {
    for (u32 k = threadIdx.x & 31; k < halves; k += 32) stream[end - halves + k] = from[k];
    return end - halves;
}

// The body of a tile; false where a kernel for any tile has to make it. For a whole warp.
DEV bool write_words(WarpBench& b, const TileSlot& slot, Note& note, u32 n, u32 raw_bytes) {
    const u32 lane = threadIdx.x & 31, patch_halves = note.patch_halves;
    u16* const stream = slot.stream();
    Said said = {note.set, 1 + note.rough, ON_LATTICE, 0, NO_FORM, (u64)(i64)note.base};
    u16* const halves = (u16*)b.count;    // room for what stands before the words, when the own table is done with
    u32 at = SLOT_HALVES, end = SLOT_HALVES, sparse = 0, change = NEVER, longest = 0, is_masked = 0;
    if (uniform(note.any_code)) {
        take_groups_of_warp(b, slot.codes(), n);
        const bool own = choose_table_of_warp(b);
        Writer w;
        w.begin(stream, SLOT_HALVES, lane);
        list_groups(b, n, own);
        if (!uniform(encode_listed(b, slot.codes(), n, w, MOST_FRONT))) return false;
        __syncwarp();
        const u32 state_halves = write_states(w.x, b.listed, longest, is_masked);
        u32 table_halves = 0, head_bytes = 0;
        if (own && lane == 0) table_halves = write_table(b, (u8*)halves) / 2;
        table_halves = __shfl_sync(FULL, table_halves, 0);
        __syncwarp();    // all see the table
        u8* const head = (u8*)(b.count + SYMBOLS);
        const u32 halves_of_lanes = state_halves + table_halves + SLOT_HALVES - w.at,
                  few = encode_sparse(b, slot.codes(), n, stream, SPARSE_HALVES, head, head_bytes);
        if (uniform(few != ~0u && head_bytes / 2 + few < halves_of_lanes)) {
            sparse = 1;
            change = longest = is_masked = 0;
            end = SPARSE_HALVES;
            at = put_before(stream, end - few, (const u16*)head, head_bytes / 2);
        } else {
            said.has_table = own;
            change = w.change;
            at = put_before(stream, w.at, (const u16*)b.listed, state_halves);
            at = put_before(stream, at, halves, table_halves);
        }
    }
    at = put_before(stream, at, (const u16*)slot.patches(), patch_halves);
    __syncwarp();
    u32 prefix_halves = 0;
    if (lane == 0) prefix_halves = write_prefix(halves, said, sparse, change, longest, is_masked, patch_halves > 0);
    prefix_halves = __shfl_sync(FULL, prefix_halves, 0);
    __syncwarp();
    at = put_before(stream, at, halves, prefix_halves);
    if (lane == 0) {
        note.body_at = at;
        note.body_halves = end - at;
    }
    return (end - at + 1) / 2 * 4 < raw_bytes;
}

// Of a stream and a tile what tells whether the elements may take less bit for bit.
template <class T> struct Seen {
    const Header& head;
    const Meaning<T>& meaning;
    typename T::Word any, largest;
    u32 n, drop;
    Places box;
    InArray<T> in;

    DEV const InArray<T>& elements() const { return in; }
};

// The third kernel: the bodies of the tiles of a wave, each by a warp.
template <class T> DEV void word_tiles(const PredictCompressArgs& a) {
    SHARED Desk<T> d;
    SHARED_BYTES(shared);
    if (!begin_stage(d, a)) return;
    make_symbols(shared);
    make_direct_costs();
    __syncthreads();
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32, warps = WORDS_THREADS / 32;
    WarpBench& b = *(WarpBench*)((u8*)(shared + ALL_SYMBOLS) + warp * sizeof(WarpBench));
    if (lane == 0) b.symbols = shared;
    __syncwarp();
#pragma unroll 1
    for (u64 i = (u64)warp * gridDim.x + blockIdx.x; uniform(i < a.tiles); i += (u64)gridDim.x * warps) {
        const TileSlot slot(a, i);
        Note& note = slot.note();
        if (uniform(note.stage != HAS_CODES)) continue;
        const u32 n = tile_of(d.head.grid, a.first + i).count();
        const bool made = write_words(b, slot, note, n, d.head.raw_bytes(n));
        __syncwarp();
        if (lane == 0) note.stage = made ? HAS_BODY : END_TO_END;
    }
}

// The fourth kernel: bodies of tiles that may take less bit for bit are for the kernel for any tile; a warp asks.
template <class T> DEV void probe_tiles(const PredictCompressArgs& a) {
    SHARED Desk<T> d;
    if (!begin_stage(d, a)) return;
    const u32 lane = threadIdx.x & 31, warps = blockDim.x / 32;
#pragma unroll 1
    for (u64 i = (u64)blockIdx.x * warps + threadIdx.x / 32; uniform(i < a.tiles); i += (u64)gridDim.x * warps) {
        Note& note = TileSlot(a, i).note();
        if (uniform(note.stage != HAS_BODY)) continue;
        const u32 bytes = (note.body_halves + 1) / 2 * 4;
        const Tile t = tile_of(d.head.grid, a.first + i);
        const Seen<T> seen = {d.head, d.meaning, (typename T::Word)note.any, (typename T::Word)note.largest,
                              t.count(), d.drop, {t.lx, t.ly, t.lz}, InArray<T>(d, t)};
        const u32 verdict = Probe<T, Seen<T>, InArray<T>>(seen).ask(bytes);
        __syncwarp();
        if (lane == 0 && verdict) note.stage = END_TO_END;
    }
}

}    // namespace predict
