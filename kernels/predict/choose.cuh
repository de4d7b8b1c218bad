// Twin: src/codec/predict/body/choice.rs
// How a tile of multiples, or of other numbers, is predicted: by what a part of it costs in each way.
// body/choice.rs in CUDA. Numbers of the part stand in shared memory while they are looked at or coded.
#pragma once
#include "costs.cuh"
#include "encode.cuh"
#include "survey.cuh"

namespace predict {

struct Way {
    u32 interpolated;
    Rule rule;
    u64 cost;
};

// What a block has of shared memory: numbers of a tile, and errors of nodes.
struct Shelf {
    u32 *v, *e;
};

// A part of a tile, to be tried.
struct Part {
    Places box, whole;
    u32 x, y, z;    // where it begins
    u32 n;
    bool is_masked, corrected;
    i32 base;
    u32 step;    // what bins are apart
    u64 share;
    const u32* numbers;    // its own
    u32 *codes, *other;    // room for its codes

    DEV u32 place(u32 dx, u32 dy, u32 dz) const { return ((z + dz) * whole.ly + y + dy) * whole.lx + x + dx; }
    DEV u32 place(u32 i) const {
        u32 dx, dy, dz;
        box.of(i, dx, dy, dz);
        return place(dx, dy, dz);
    }
    DEV bool is_on(const u32* on, u32 i) const { return has_bit(on, n == whole.count() ? i : place(i)); }
};

DEV Places sample_of(Places box) {
    Places s = box;
#pragma unroll 1
    while (s.count() > SAMPLE_ELEMENTS) {
        if (s.lz >= s.lx && s.lz >= s.ly)
            s.lz = (s.lz + 1) / 2;
        else if (s.ly >= s.lx)
            s.ly = (s.ly + 1) / 2;
        else
            s.lx = (s.lx + 1) / 2;
    }
    return s;
}

// The bin of a number.
DEV u32 bin_of_number(u32 number, i32 base, u32 step) {
    const u32 x = number + (u32)base;
    if (step == 1) return x;
    // The nearest one: halves do not occur, as the step is odd.
    enum : u32 { MORE = 1u << 26 };
    return (x + LATTICE_STEP / 2 + MORE * LATTICE_STEP) / LATTICE_STEP - MORE;
}

// A small part's numbers and codes stand in shared memory, behind the place where numbers are encoded. For a whole
// block; a barrier before and behind.
template <class T> DEV Part part_of(Desk<T>& d, Shelf shelf, const Places& sides, bool exact, const u32* numbers) {
    Part p;
    p.whole = d.box;
    p.box = sides;
    p.x = (d.box.lx - sides.lx) / 2;
    p.y = (d.box.ly - sides.ly) / 2;
    p.z = (d.box.lz - sides.lz) / 2;
    p.n = sides.count();
    p.is_masked = !exact && is_masked(d);
    p.corrected = !exact && d.survey.on > d.n / 64;
    p.base = exact ? 0 : d.survey.base;
    p.step = exact ? 1 : (u32)LATTICE_STEP;
    p.share = d.n / p.n;
    p.numbers = numbers;
    p.codes = (u32*)d.trial();
    p.other = (u32*)d.best();
    make_direct_costs();
    if (p.n <= SAMPLE_ELEMENTS) {
        u32* const own = shelf.v + SAMPLE_ELEMENTS;
        p.numbers = own;
        p.codes = own + SAMPLE_ELEMENTS;
        p.other = p.codes + SAMPLE_ELEMENTS;
        if ((p.box.lx | p.whole.lx | p.x) % QUAD == 0) {
            const Places quads = {p.box.lx / QUAD, p.box.ly, p.box.lz};
            Walk w(quads, threadIdx.x, blockDim.x);
#pragma unroll 4
            for (u32 i = threadIdx.x; i < p.n / QUAD; i += blockDim.x, w.next())
                ((uint4*)own)[i] = *(const uint4*)(numbers + p.place(QUAD * w.x, w.y, w.z));
        } else {
            Walk w(p.box, threadIdx.x, blockDim.x);
#pragma unroll 2
            for (u32 i = threadIdx.x; i < p.n; i += blockDim.x, w.next()) own[i] = numbers[p.place(w.x, w.y, w.z)];
        }
    }
    __syncthreads();
    return p;
}

// Encodes numbers at `v` by a rule; false where it cannot be. For a whole block; a barrier before and behind.
template <class T>
SELDOM bool encode_numbers(Desk<T>& d, Shelf shelf, Places box, Rule rule, const u32* not_counted, u32* codes) {
    if (!not_counted && d.survey.small) {
        Levels& levels = box.count() == d.n ? d.levels : d.levels_of_parts();
        const u32 e = PREDICT_NUMBER_BYTES / 4;
        u32 any = rule.rough ? encode_small<true>(0, e, box.lx, box.ly, box.lz, rule.coarse, rule.set, levels, codes,
                                                  d.differences())
                             : encode_small<false>(0, e, box.lx, box.ly, box.lz, rule.coarse, rule.set, levels, codes,
                                                   d.differences());
        any = block_or(any, d.part);
        if (threadIdx.x == 0) d.has_codes = any >> 31;
        any &= ~(1u << 31);
        return any < (rule.coarse ? 1u << 20 : 1u << 22);
    }
    Encoding encoding = {not_counted, codes, d.differences(), d.part, 0};
    Levels& levels = box.count() == d.n ? d.levels : d.levels_of_parts();
    if (rule.rough)
        interpolate<true, true>(shelf.v, shelf.e, nullptr, false, box.lx, box.ly, box.lz, rule.coarse, rule.set, levels,
                                nullptr, &encoding);
    else
        interpolate<false, true>(shelf.v, shelf.e, nullptr, false, box.lx, box.ly, box.lz, rule.coarse, rule.set,
                                 levels, nullptr, &encoding);
    const u32 any = block_or(encoding.any, d.part);
    return any < (rule.coarse ? 1u << 20 : 1u << 22);
}

// What interpolation by a rule costs, and its corrections alone; its codes are there then. False where it cannot be.
// For a whole block; a barrier before and behind.
template <class T>
SELDOM bool cost_of_rule(Desk<T>& d, Shelf shelf, Part p, Rule rule, u32* codes, u64& cost, u64& corrections) {
    copy_words(shelf.v, p.numbers, p.n);
    __syncthreads();
    if (!encode_numbers(d, shelf, p.box, rule, p.is_masked ? d.part_not_counted() : nullptr, codes)) return false;
    corrections = 0;
    if (p.corrected && rule.coarse) {
        u32 count = 0;
#pragma unroll 1
        for (u32 i = threadIdx.x; i < p.n; i += blockDim.x) count += shelf.v[i] != p.numbers[i] && p.is_on(d.on(), i);
        corrections = (u64)CORRECTION_COST * block_sum(count, d.part);
    }
    cost = corrections + fixed_cost(d, codes, p.n);
    return true;
}

// The set that costs least, out of those of axes that are longer than one element, and its cost. For a whole block; a
// barrier behind.
template <class T> DEV u32 least_of_sets(Desk<T>& d, const Places& box, u64& cost) {
    __syncthreads();
    const u32 allowed = (box.lx > 1) | (box.ly > 1) << 1 | (box.lz > 1) << 2;
    u32 best = 0;
#pragma unroll 1
    for (u32 s = 1; s < SETS; s++)
        if (!(s & ~allowed) && d.costs[s] < d.costs[best]) best = s;
    cost = d.costs[best];
    __syncthreads();    // all have seen them
    return best;
}

// The axes along which differences of a box of numbers are shortest, out of those that are longer than one element, and
// what these cost about. `Sum` holds the sum of the magnitudes of a group. For a whole block; a barrier before and
// behind.
template <class Sum, class T, class Word, class At> DEV u32 shortest_set(Desk<T>& d, Places box, At value, u64& cost) {
    if (threadIdx.x < SETS) d.costs[threadIdx.x] = 0;
    __syncthreads();
    add_costs_of_sets<true, Sum, T, Word>(d, box, 0, value);
    return least_of_sets(d, box, cost);
}
// The same as `shortest_set` of u32, of numbers in shared memory. For a whole block; a barrier before and behind.
template <class T> SELDOM u32 shortest_by_quads(Desk<T>& d, Places box, const u32* numbers, u64& cost) {
    if (threadIdx.x < SETS) d.costs[threadIdx.x] = 0;
    __syncthreads();
    add_costs_by_quads(d, box, numbers);
    return least_of_sets(d, box, cost);
}

// Bins of a part at `v`, less the first one. For a whole block; a barrier before and behind.
template <class T> DEV u32 make_bins(Desk<T>& d, Shelf shelf, Part p) {
    const u32 first = bin_of_number(p.numbers[0], p.base, p.step);
    u32 any = 0;
#pragma unroll 2
    for (u32 i = threadIdx.x; i < p.n; i += blockDim.x) {
        const u32 bin = bin_of_number(p.numbers[i], p.base, p.step) - first;
        shelf.v[i] = bin;
        any |= bin ^ (u32)((i32)bin >> 31);
    }
    return block_or(any, d.part);
}

// What corrections of multiples cost that bins do not restore. For a whole block; a barrier behind.
template <class T> DEV u64 cost_of_corrections(Desk<T>& d, const Part& p) {
    u32 count = 0;
    if (p.corrected) {
#pragma unroll 1
        for (u32 i = threadIdx.x; i < p.n; i += blockDim.x)
            count += (i32)(p.numbers[i] + (u32)p.base) % (i32)LATTICE_STEP != 0 && p.is_on(d.on(), i);
        count = block_sum(count, d.part);
    }
    __syncthreads();
    return (u64)CORRECTION_COST * count;
}

// What differences of bins along a set of axes cost, and corrections of what they do not restore. For a whole block; a
// barrier before and behind.
template <class T> SELDOM u64 cost_of_bins(Desk<T>& d, Shelf shelf, Part p, u32 set, u32* codes) {
    make_bins(d, shelf, p);
    const u32* const v = shelf.v;
    i32 least = 0x7fffffff, most = -0x7fffffff - 1;
    if (has_quads(p.box) && set) {
        codes_by_quads(p.box, set, v, codes);
        __syncthreads();
        const u64 cost = code_cost(d, codes, p.n, p.share, shelf.e);
        return cost + cost_of_corrections(d, p);
    }
    Walk w(p.box, threadIdx.x, blockDim.x);
#pragma unroll 1
    for (u32 i = threadIdx.x; i < p.n; i += blockDim.x, w.next()) {
        codes[i] = code_of(set ? lorenzo<u32>(p.box, set, i, w.x, w.y, w.z, [=](u32 k) { return v[k]; }) : v[i]);
        least = (i32)v[i] < least ? (i32)v[i] : least;
        most = (i32)v[i] > most ? (i32)v[i] : most;
    }
    __syncthreads();
    u64 cost = code_cost(d, codes, p.n, p.share, shelf.e);
    if (set == 0) {
        least = block_min(least, d.part);
        most = block_max(most, d.part);
        const u32 middle = (u32)least + (u32)((i32)((u32)most - (u32)least) / 2);
        for (u32 i = threadIdx.x; i < p.n; i += blockDim.x) codes[i] = code_of(v[i] - middle);
        __syncthreads();
        const u64 other = code_cost(d, codes, p.n, p.share, shelf.e);
        cost = other < cost ? other : cost;
    }
    return cost + cost_of_corrections(d, p);
}

// The axes along which codes of classes with one new axis differ least. For a whole block; a barrier before and behind.
template <class T> SELDOM u32 axes_of_codes(Desk<T>& d, Places box, const u32* codes) {
    if (threadIdx.x < SETS) d.costs[threadIdx.x] = 0;
    __syncthreads();
    const u32 len[3] = {box.lx, box.ly, box.lz};
    u32 coarse[3];
    for (u32 a = 0; a < 3; a++) coarse[a] = nodes_of(len[a], 1);
    u32 at = coarse[0] * coarse[1] * coarse[2];
#pragma unroll 1
    for (u32 a = 0; a < 3; a++) {
        const Places cls = {a == 0 ? len[0] - coarse[0] : coarse[0], a == 1 ? len[1] - coarse[1] : coarse[1],
                            a == 2 ? len[2] - coarse[2] : coarse[2]};
        if (cls.count() == 0) continue;
        add_costs_of_class(d, cls, a, codes + at);
        at += cls.count();
    }
    __syncthreads();
    u32 best = 0;
    for (u32 s = 1; s < SETS; s++)
        if (d.costs[s] < d.costs[best]) best = s;
    __syncthreads();
    return best;
}

// The codes with those of classes of one new axis, on the finest levels, as differences along axes. For a whole block;
// a barrier before and behind.
template <class T> SELDOM void differ(Desk<T>& d, Places box, u32 set, const u32* codes, u32* to) {
    const u32 n = box.count();
#pragma unroll 1
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) to[i] = codes[i];
    u32 len[3] = {box.lx, box.ly, box.lz};
#pragma unroll 1
    for (u32 level = 0; level < DIFFERENCE_LEVELS; level++) {
        __syncthreads();
        u32 coarse[3];
        for (u32 a = 0; a < 3; a++) coarse[a] = nodes_of(len[a], 1);
        u32 at = coarse[0] * coarse[1] * coarse[2];
#pragma unroll 1
        for (u32 a = 0; a < 3; a++) {
            const Places cls = {a == 0 ? len[0] - coarse[0] : coarse[0], a == 1 ? len[1] - coarse[1] : coarse[1],
                                a == 2 ? len[2] - coarse[2] : coarse[2]};
            const u32 count = cls.count(), along = set & ~(1u << a);
            const u32* const from = codes + at;
            if (along)
#pragma unroll 1
                for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
                    u32 x, y, z;
                    cls.of(i, x, y, z);
                    // Two axes at most.
                    const u32 by_x = along & 1 && x, by_y = along & 2 && y ? cls.lx : 0,
                              by_z = along & 4 && z ? cls.lx * cls.ly : 0, one = along & 1 ? by_x : by_y,
                              other = along & 1 && along & 2 ? by_y : by_z;
                    to[at + i] =
                        code_of(difference_along<u32>(i, one, other, [=](u32 k) { return difference_of(from[k]); }));
                }
            at += count;
        }
        if (coarse[0] <= 2 && coarse[1] <= 2 && coarse[2] <= 2) break;
        for (u32 a = 0; a < 3; a++) len[a] = coarse[a];
    }
    __syncthreads();
}

// The way that costs least; differences of codes are along `set`, where that is known, that is, below SETS. For a whole
// block; a barrier before and behind.
template <class T> SELDOM Way least_way(Desk<T>& d, Shelf shelf, Part p, u32 set) {
    const bool known = set < SETS;
    u32 *const codes = p.codes, *const other = p.other;
    if (p.is_masked) {
        const u32 whole = (p.n + 31) / 32 * 32;
#pragma unroll 1
        for (u32 i = threadIdx.x; i < whole; i += blockDim.x)
            put_bit(d.part_not_counted(), i, i < p.n && p.is_on(d.not_counted(), i));
    }
    const u32 any = make_bins(d, shelf, p);
    const u32* const v = shelf.v;
    u64 about_bins;
    const auto bin = [=](u32 i) { return v[i]; };
    const u32 of_bins = any < MOST_BIN && has_quads(p.box) ? shortest_by_quads(d, p.box, v, about_bins)
                        : any < MOST_BIN                   ? shortest_set<u32, T, u32>(d, p.box, bin, about_bins)
                                                           : shortest_set<u64, T, u32>(d, p.box, bin, about_bins);
    if (any >= MOST_BIN) about_bins = ~0ull / 2;
    Rule rule = {0, p.step > 1, known ? set : 0};
    u64 plain, corrections;
    if (!cost_of_rule(d, shelf, p, rule, codes, plain, corrections))
        return {0, {}, cost_of_bins(d, shelf, p, of_bins, other)};
    Way best = {1, rule, plain};
    const u64 far = (u64)FAR * (p.n / GROUP), about_codes = cost_of_sums(d, codes, p.n),
              bins = cost_of_bins(d, shelf, p, of_bins, other);
    if (bins <= plain) {
        best = {0, {}, bins};
        if (!known && about_bins + far < about_codes) return best;
    }
    if (!known) set = axes_of_codes(d, p.box, codes);
    if (set != rule.set) {
        differ(d, p.box, set, codes, other);
        const u64 cost = corrections + fixed_cost(d, other, p.n);
        rule.set = set;
        if (cost < best.cost) best = {1, rule, cost};
    }
    rule.set = set;
#pragma unroll 1
    for (u32 k = 0; k < (p.corrected ? 2 : 1); k++) {
        const Rule one = {k == 0, k == 0 ? rule.coarse : 0, set};
        u64 cost;
        if (cost_of_rule(d, shelf, p, one, codes, cost, corrections) && cost < best.cost) best = {1, one, cost};
    }
    return best;
}

// Chooses for a tile of multiples how it is predicted. For a whole block; a barrier before and behind.
template <class T> DEV Way choose(Desk<T>& d, Shelf shelf) {
    if (d.n < FEWEST || !d.survey.near || !has_few_wide(d)) return {0, {}, 0};
    const Places sides = d.survey.is_restored ? d.box : sample_of(d.box);
    const Way way = least_way(d, shelf, part_of(d, shelf, sides, false, d.numbers()), SETS);
    const u32 samples = sides.count();
    if (samples == d.n || way.cost >= (u64)LITTLE_COST * samples) return way;
    return least_way(d, shelf, part_of(d, shelf, d.box, false, d.numbers()), way.interpolated ? way.rule.set : 0);
}

// The same for numbers that must not change.
template <class T> DEV Way choose_exact(Desk<T>& d, Shelf shelf, const u32* numbers) {
    if (d.n < FEWEST) return {0, {}, 0};
    return least_way(d, shelf, part_of(d, shelf, sample_of(d.box), true, numbers), SETS);
}

}    // namespace predict
