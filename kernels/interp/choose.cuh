// Twin: src/codec/interp/choose.rs, src/codec/interp/predict/encode.rs
// What is chosen for an array, by trials of some tiles, and for a tile, by what its codes cost.
#pragma once
#include "costs.cuh"
#include "nodes.cuh"
#include "survey.cuh"

namespace interp::encoder {

enum : u32 { LIMIT_COUNT = sizeof(LIMITS) / sizeof(LIMITS[0]) };

// What a block has of shared memory: numbers of a tile, and errors of nodes.
struct Shelf {
    u32 *v, *e;
};

// What a trial cost: by each rule, smooth ones first; by differences along axes, and what the sample says of these.
struct Trial {
    u64 rules[2 * SETS], axes, sampled;
    u32 there, steps;    // multiples in steps, or numbers that must not change
};

// What an array's trials say. Of whole tiles parts are tried by themselves.
struct Trials {
    Choice choice;
    u32 arrived;              // trials that are done
    u32 done[MOST_TRIALS];    // parts of each that are
    Trial of[MOST_TRIALS];
};
static_assert(sizeof(Trials) == INTERP_TRIALS_BYTES, "what the host gives");

// A tile's numbers of 32 bits, or those of a part of one, that a rule is tried on.
struct Case {
    Places box;
    const u32* numbers;
    const u32* absent;    // a bit for each that does not count; null where all do
    i32 base;
    u32 steps, bits;    // multiples in steps; elements' bits

    // The nearest bin of a number.
    DEV u32 bin(u32 i) const {
        if (!steps) return numbers[i];
        const i32 half = (i32)(numbers[i] + (u32)base) + LATTICE_STEP / 2, step = LATTICE_STEP;
        return (u32)(half < 0 ? -((step - 1 - half) / step) : half / step);
    }
};

// What axes cost, and which. For a whole block; a barrier before and behind.
template <class T> DEV u32 axes_of(Desk<T>& d, const Case& c, u64& cost) {
    const Origin<u32> none = {false, 0};
    const auto bin = [&](u32 i) { return c.bin(i); };
    const u32 set =
        c.bits ? best_set<true, u32>(d, c.box, none, cost, bin) : best_set<false, u32>(d, c.box, none, cost, bin);
    cost = with_states(cost);
    return set;
}

// What codes of a case cost. For a whole block; a barrier before.
template <class T> DEV u64 cost_of(Desk<T>& d, const Case& c, const u32* codes) {
    return c.bits ? cost_of_bits(d, codes, c.box.count()) : cost_of_codes(d, codes, c.box.count());
}

// The codes of nodes as they are made. Some wait for those before them, to become differences.
struct NodeCodes {
    enum : bool { ENCODES = true };
    u32 *codes, *waiting;
    const u32* absent;    // a bit for each element that does not count; null where all do
    bool wait;

    DEV bool counts(u32 place) const { return !absent || !has_bit(absent, place); }
    // The code of a node by what it is more than predicted.
    DEV u32 encode(u32 n, u32 more, u32 step) const {
        // The nearest whole number; small ones alone are divided.
        const float inverse = 1.0f / (float)step;
        const u32 code = step == 1 ? more : bits_of((float)(i32)more * inverse + 12582912.0f) - 0x4B400000u;
        (wait ? waiting : codes)[n] = wait ? code : code_of(code);
        return code;
    }
    // Makes a code that waits what those so far before it say.
    DEV u32 follow(u32 n, u32 y, u32 z) const {
        const u32 by_y = y ? waiting[n - y] : 0, by_z = z ? waiting[n - z] : 0;
        return waiting[n] = by_y + by_z - (y && z ? waiting[n - y - z] : 0);
    }
    // Those of a class that wait become differences along axes, two at most. By a whole block.
    DEV void differ(u32 first, u32 nx, u32 ny, u32 nz, u32 along) const {
        const Places box = {nx, ny, nz};
        if (!along) return;
#pragma unroll 1
        for (u32 i = threadIdx.x; i < box.count(); i += blockDim.x) {
            u32 x, y, z;
            box.of(i, x, y, z);
            const u32 by_x = along & X_AXIS && x, by_y = along & Y_AXIS && y ? nx : 0,
                      by_z = along & Z_AXIS && z ? nx * ny : 0, one = along & X_AXIS ? by_x : by_y,
                      other = along & X_AXIS && along & Y_AXIS ? by_y : by_z;
            codes[first + i] = code_of(difference_along<u32>(first + i, one, other, [&](u32 k) { return waiting[k]; }));
        }
    }
};
// Encodes the numbers of a box at `shelf.v`, which become what is restored of them; all bits of differences.
template <bool ROUGH>
DEV u32 encode_box(AxisRecipes& axes, Shelf shelf, const Places& box, NodeCodes codes, Rule rule) {
    const bool two = box.lz == 1;
    const u32 len[3] = {box.lx, two ? 1 : box.ly, two ? box.ly : box.lz};
    axes.make_for(len);
    const auto recipes = [&](u32 a, u32 k) { return axes(a, k, len[a]); };
    const TileNodes<decltype(recipes)> nodes = {{len[0], len[1], len[2]}, box.lx, box.lx * len[1], 0, recipes};
    const u32 set = two ? (rule.set & X_AXIS) | (rule.set & Y_AXIS) << 1 : rule.set;
    return make_levels<ROUGH, AnyNumbers<ROUGH>>(nodes, shelf.v, shelf.e, codes, rule.coarse, 0, set);
}
// Encodes a case by a rule: its codes, and at `shelf.v` what is restored of it; false where it cannot be. For a whole
// block; a barrier before and behind.
template <class T> SELDOM bool code_by(Desk<T>& d, Shelf shelf, const Case& c, Rule rule) {
    copy_words(shelf.v, c.numbers, c.box.count());
    __syncthreads();
    const NodeCodes codes = {d.short_codes(), d.differences(), c.absent, false};
    const u32 own = rule.rough ? encode_box<true>(d.recipes, shelf, c.box, codes, rule)
                               : encode_box<false>(d.recipes, shelf, c.box, codes, rule);
    return !(block_or(own, d.part) >> 20 && rule.coarse);
}
// The same; what it costs with corrections of those of the numbers that `on` tells. For a whole block; a barrier before
// and behind.
template <class T> SELDOM u64 run(Desk<T>& d, Shelf shelf, const Case& c, Rule rule, const u32* on) {
    if (!code_by(d, shelf, c, rule)) return NEVER_COST;
    const u32 n = c.box.count();
    const u64 cost = cost_of(d, c, d.short_codes());
    if (!c.steps || !rule.coarse) return cost;
    u32 count = 0;
#pragma unroll 1
    for (u32 w = threadIdx.x; 32 * w < n; w += blockDim.x)
        for (u32 bits = on[w]; bits; bits &= bits - 1) {
            const u32 i = 32 * w + __ffs((i32)bits) - 1;
            count += shelf.v[i] != c.numbers[i];
        }
    return cost + (u64)CORRECTION_COST * block_sum(count, d.part);
}

// What corrections of bins cost. For a whole block.
template <class T> DEV u64 cost_of_bins(Desk<T>& d, const Case& c, const u32* on) {
    u32 count = 0;
#pragma unroll 1
    for (u32 w = threadIdx.x; 32 * w < c.box.count(); w += blockDim.x)
        for (u32 bits = on[w]; bits; bits &= bits - 1)
            count += (i32)(c.numbers[32 * w + __ffs((i32)bits) - 1] + (u32)c.base) % (i32)LATTICE_STEP != 0;
    return (u64)CORRECTION_COST * block_sum(count, d.part);
}

// How a tile is coded: along axes, or by a rule, whose codes are there then; `exactly`: its bins by the rule for these.
struct Way {
    bool exactly, interpolated;
    Rule rule;
};

// The way of a tile with many elements that are multiples already. For a whole block; a barrier before and behind.
template <class T> SELDOM Way way_of_many(Desk<T>& d, Shelf shelf, const Case& c) {
    u64 least = ~0ull;
    u32 best = 0;
#pragma unroll 1
    for (u32 k = 0; k < 5; k++) {
        const u32 rough = k == 1 || k == 4;
        const Rule rule = {rough, k < 2, d.choice.set_of(rough)};
        u64 cost;
        if (k == 2) {
            axes_of(d, c, cost);
            cost += cost_of_bins(d, c, d.on());
        } else {
            cost = run(d, shelf, c, rule, d.on());
        }
        if (cost < least) {
            least = cost;
            best = k;
        }
    }
    if (best == 2) return {false, false, {0, 0, 0}};
    const u32 rough = best == 1 || best == 4;
    const Rule rule = {rough, best < 2, d.choice.set_of(rough)};
    run(d, shelf, c, rule, d.on());
    return {false, true, rule};
}
// That of a tile of multiples that may be interpolated in steps. For a whole block; a barrier before and behind.
template <class T> SELDOM Way way_of_multiples(Desk<T>& d, Shelf shelf, const Case& c) {
    const u32 n = d.n;
    if (d.survey.on > n / MANY_MULTIPLES) return way_of_many(d, shelf, c);
    const Limited &first = d.choice.steps, &second = d.choice.second;
    if (!first.there) return {true, false, {0, 0, 0}};
    u64 cost = run(d, shelf, c, first.rule, d.on());
    if (cost >= NEVER_COST) return {true, false, {0, 0, 0}};
    Rule taken = first.rule;
    if (cost < (u64)LITTLE * n && second.there) {
        const u64 other = run(d, shelf, c, second.rule, d.on());
        if (other < cost) {
            cost = other;
            taken = second.rule;
        } else {
            run(d, shelf, c, first.rule, d.on());
        }
    }
    if (cost > FREE) {
        u64 axes;
        axes_of(d, c, axes);
        if (!is_taken(cost, axes + cost_of_bins(d, c, d.on()), first.limit)) return {false, false, {0, 0, 0}};
    }
    return {false, true, taken};
}

// The numbers, less the base, as numbers of 32 bits; false where these do not hold them. For a whole block; a barrier
// before and behind.
template <class T> DEV bool shorten(Desk<T>& d) {
    u32 beyond = 0;
#pragma unroll 4
    for (u32 i = threadIdx.x; i < d.n; i += blockDim.x) {
        const typename T::Word number = d.numbers()[i];
        d.multiples()[i] = (u32)number;
        if (T::BITS == 64) beyond |= (u32)(((u64)number + (1u << 31)) >> 32);
    }
    return block_or(beyond, d.part) == 0;
}

// The least and the greatest of the numbers. For a whole block; a barrier before.
template <class T> DEV void find_ends(Desk<T>& d, i64& least, i64& most) {
    least = (i64)(~0ull >> 1);
    most = -least - 1;
#pragma unroll 4
    for (u32 i = threadIdx.x; i < d.n; i += blockDim.x) {
        const typename T::Word word = d.numbers()[i];
        const i64 number = sizeof(word) == 8 ? (i64)word : (i64)(i32)word;
        least = number < least ? number : least;
        most = number > most ? number : most;
    }
    least = block_min(least, d.part);
    most = block_max(most, d.part);
}

// From where numbers without axes are told, so that they cost least: the first one, the middle of all, or `zero`. For a
// whole block; a barrier before.
template <bool BITS, class T> SELDOM typename T::Word origin_of(Desk<T>& d, Origin<typename T::Word> zero) {
    typedef typename T::Word Word;
    const u32 n = d.n, lane = threadIdx.x & 31, groups = (n + GROUP - 1) / GROUP;
    const Word* const numbers = d.numbers();
    i64 least, most;
    find_ends(d, least, most);
    const Word from[3] = {0, (Word)((u64)least + ((u64)most - (u64)least) / 2), zero.at};
    u64 best_cost = ~0ull;
    Word best = 0;
#pragma unroll 1
    for (u32 k = 0; k < (zero.there ? 3u : 2u); k++) {
        u64 cost = 0;
        if (BITS) {
            clear_widths(d);
            for (u32 i = threadIdx.x; i < n; i += blockDim.x)
                atomicAdd(&d.widths[0][width_of_number(magnitude_of((Word)(numbers[i] - from[k])))], 1u);
            cost = cost_of_kind(d, 0);
        } else {
#pragma unroll 1
            for (u32 g = threadIdx.x / 32; uniform(g < groups); g += blockDim.x / 32) {
                u64 sum = 0;
                for (u32 i = g * GROUP + lane; i < min_of(n, (g + 1) * GROUP); i += 32)
                    sum += limited(magnitude_of((Word)(numbers[i] - from[k])));
                __syncwarp();
                cost += cost_of_sum(warp_sum(sum), min_of(n - g * GROUP, (u32)GROUP));
            }
            cost = block_sum(lane ? 0 : cost, d.part);
        }
        if (cost < best_cost) {
            best_cost = cost;
            best = from[k];
        }
    }
    __syncthreads();    // all have seen the cost
    return best;
}

// The numbers' differences along axes as codes; without any, distances. For a whole block; a barrier before and behind.
template <bool BITS, class T> SELDOM void differ(Desk<T>& d, u32 set, Origin<typename T::Word> zero) {
    typedef typename T::Word Word;
    const Word* const numbers = d.numbers();
    const Word middle = set == 0 ? origin_of<BITS>(d, zero) : 0;
    if (threadIdx.x == 0) {
        d.middle = middle;
        d.own().wide = sizeof(Word) == 8;
    }
    Word* const codes = d.all_codes();
    const auto number = [=](u32 k) { return numbers[k]; };
#pragma unroll 1
    for (u32 i = threadIdx.x; i < d.n; i += blockDim.x)
        codes[i] = code_of(set == 0 ? (Word)(numbers[i] - middle) : lorenzo<Word>(d.box, set, i, number));
    __syncthreads();
}

// Chooses for numbers that must not change; their codes are there then. BITS: they are elements' bits. For a whole
// block; a barrier before and behind.
template <bool BITS, class T> SELDOM void code_exactly(Desk<T>& d, Shelf shelf, bool may_be_interpolated) {
    typedef typename T::Word Word;
    const Word* const numbers = d.numbers();
    const Origin<Word> zero = {BITS, (Word)(0 - d.base)};
    u64 cost;
    const u32 set = best_set<BITS, Word>(d, d.box, zero, cost, [=](u32 i) { return numbers[i]; });
    cost = with_states(cost);
    const Limited& by = d.choice.exact;
    Slip& slip = d.own();
    if (may_be_interpolated && by.there && d.n >= FEWEST && d.head.grid.is_smooth() && shorten(d)) {
        const Case c = {d.box, d.multiples(), nullptr, 0, 0, BITS};
        const u64 of_rule = run(d, shelf, c, by.rule, nullptr);
        if (is_taken(of_rule, cost, BITS ? (u32)LIMIT_OF_BITS : by.limit)) {
            if (threadIdx.x == 0) {
                slip.set = by.rule.set;
                slip.predictor = 1 + by.rule.rough;
                slip.wide = 0;
                d.cost = of_rule;
            }
            __syncthreads();
            return;
        }
    }
    if (threadIdx.x == 0) {
        slip.set = set;
        slip.predictor = 0;
        d.cost = cost;
    }
    __syncthreads();
    differ<BITS>(d, set, zero);
}

// ---- Trials.

// The tiles of an array of so many that are tried, and the k-th one.
DEV u32 trials_of(u64 count) {
    const u64 few = min_of(count, 4ull);
    return (u32)min_of(count / 8 > few ? count / 8 : few, (u64)MOST_TRIALS);
}
DEV u64 tried(u64 count, u32 k) {
    const u64 stride = count / trials_of(count);
    const u32 x = k * 2654435761u;
    return k * stride + ((x ^ x >> 15) >> 8) % stride;
}

// Adds up magnitudes of differences of signed codes in a box along both other axes than one, by subsets of these. For a
// whole block; a barrier before and behind.
template <class At> DEV void sums_of_differences(u64 (&sums)[4], const Places& box, u32 axis, At code) {
    const u32 steps[3] = {1, box.lx, box.lx * box.ly}, a = axis == 0 ? 1 : 0, b = axis == 2 ? 1 : 2;
    u64 own[4] = {0, 0, 0, 0};
    if (threadIdx.x < 4) sums[threadIdx.x] = 0;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < box.count(); i += blockDim.x) {
        u32 p[3];
        box.of(i, p[0], p[1], p[2]);
        const u32 to_a = p[a] ? steps[a] : 0, to_b = p[b] ? steps[b] : 0;
        own[0] += magnitude_of(code(i));
        own[1] += magnitude_of(difference_along<u32>(i, to_a, 0, code));
        own[2] += magnitude_of(difference_along<u32>(i, 0, to_b, code));
        own[3] += magnitude_of(difference_along<u32>(i, to_a, to_b, code));
    }
    __syncthreads();
#pragma unroll
    for (u32 k = 0; k < 4; k++) {
        const u64 sum = warp_sum(own[k]);
        if ((threadIdx.x & 31) == 0) atomicAdd(sums + k, sum);
    }
    __syncthreads();
}

// What a trial by a rule cost, whose signed codes are there, as it would with differences along each set of axes, of
// those that are allowed. For a whole block; a barrier before and behind.
template <class At>
DEV void cost_with_sets(u64 (&sums)[4], Trial& trial, u32 rough, u64 cost, const Places& box, u32 allowed, At code) {
    const u32 set = threadIdx.x % SETS;
    u64 changed = 0, unchanged = 0;
    u32 len[3] = {box.lx, box.ly, box.lz};
#pragma unroll 1
    for (u32 level = 0; level < DIFFERENCE_LEVELS; level++) {
        u32 coarse[3], at = 1;
        bool is_last = true;
        for (u32 a = 0; a < 3; a++) {
            coarse[a] = nodes_of(len[a], 1);
            is_last &= coarse[a] <= 2;
            at *= coarse[a];
        }
#pragma unroll 1
        for (u32 a = 0; a < 3; a++) {
            const Places of = {a == 0 ? len[0] - coarse[0] : coarse[0], a == 1 ? len[1] - coarse[1] : coarse[1],
                               a == 2 ? len[2] - coarse[2] : coarse[2]};
            if (of.count() == 0) continue;
            sums_of_differences(sums, of, a, [=](u32 i) { return code(at + i); });
            const u32 one = a == 0 ? set >> 1 & 1 : set & 1, other = a == 2 ? set >> 1 & 1 : set >> 2 & 1;
            changed += cost_of_sum(sums[one | other << 1], of.count());
            unchanged += cost_of_sum(sums[0], of.count());
            __syncthreads();    // all have seen the sums
            at += of.count();
        }
        if (is_last) break;
        for (u32 a = 0; a < 3; a++) len[a] = coarse[a];
    }
    const u64 all = cost + changed > unchanged ? cost + changed - unchanged : 0;
    if (threadIdx.x < SETS)
        trial.rules[rough * SETS + set] = set & ~allowed ? NEVER_COST : all > cost / 4 ? all : cost / 4;
    __syncthreads();
}

// The part of a tile that is tried: its lengths, and where it begins.
struct Part {
    Places box;
    u32 x, y, z;

    DEV Part(u64 tiles, const Places& whole) : box(whole) {
        if (tiles < WHOLE_TRIALS)
            for (u32 k = 0; k < 2; k++) {
                u32& longer = box.lz >= box.ly ? box.lz : box.ly;
                u32& side = longer > 8 ? longer : box.lx;
                side = (side + 1) / 2;
            }
        x = (whole.lx - box.lx) / 2;
        y = (whole.ly - box.ly) / 2;
        z = (whole.lz - box.lz) / 2;
    }
};

// What a part of the numbers at `multiples` costs by each rule. `steps`: multiples in steps, of which masks tell.
// Whether any rule can be. For a whole block; a barrier before and behind.
template <class T> SELDOM bool try_part(Desk<T>& d, Shelf shelf, u32 steps, Trial* trial) {
    const Part p(d.head.grid.chunks, d.box);
    const u32 n = p.box.count(), whole = (n + 31) / 32 * 32;
    u32* const numbers = (u32*)d.other();
    u32* const on = d.value_mask(0);    // no plane is written of a tile that is tried
    const i32 base = steps ? d.survey.base : 0;
    const bool masked = steps && d.survey.masked;
    u32 off = 0;
    __syncthreads();
#pragma unroll 1
    for (u32 i = threadIdx.x; i < whole; i += blockDim.x) {
        u32 x, y, z;
        p.box.of(i, x, y, z);
        const bool there = i < n;
        const u32 from = there ? ((z + p.z) * d.box.ly + y + p.y) * d.box.lx + x + p.x : 0;
        const u32 number = d.multiples()[from];
        if (there) numbers[i] = number;
        const bool is_on = there && steps && has_bit(d.on(), from);
        off += is_on && (i32)(number + (u32)base) % (i32)LATTICE_STEP != 0;
        put_bit(on, i, is_on);
        put_bit(d.part_absent(), i, there && masked && has_bit(d.absent(), from));
    }
    const u64 off_bins = (u64)CORRECTION_COST * block_sum(off, d.part);
    const u32* absent = masked ? d.part_absent() : nullptr;
    const Case c = {p.box, numbers, absent, base, steps, d.head.step_w == 0};
    u64 sampled;
    const u32 set = axes_of(d, c, sampled);
    // What axes cost in truth.
    const u32 first = c.bin(0);
    u32* const codes = d.short_codes();
#pragma unroll 1
    for (u32 i = threadIdx.x; i < n; i += blockDim.x)
        codes[i] = code_of(lorenzo<u32>(p.box, set, i, [&](u32 k) { return c.bin(k) - first; }));
    __syncthreads();
    const u64 axes = cost_of(d, c, codes) + off_bins;
    if (threadIdx.x == 0) {
        trial->axes = axes;
        trial->sampled = sampled + off_bins;
        trial->steps = steps;
    }
    bool any = false;
#pragma unroll 1
    for (u32 rough = 0; rough < 2; rough++) {
        const u64 cost = run(d, shelf, c, {rough, steps, 0}, on);
        const bool can = cost < NEVER_COST;
        any |= can;
        if (can)
            cost_with_sets(d.sums, *trial, rough, cost, p.box, d.head.grid.set(),
                           [=](u32 i) { return difference_of(codes[i]); });
        else if (threadIdx.x < SETS)
            trial->rules[rough * SETS + threadIdx.x] = NEVER_COST;
    }
    return any;
}

// The best one of some rules for trials of a kind, unless axes are as good, and its limit. For a whole warp.
DEV Limited best_rule(const Trial* trials, u32 count, u32 steps, u32 first, u32 end) {
    const u32 lane = threadIdx.x & 31;
    u64 axes = 0, cost = ~0ull;
    if (lane < 2 * SETS) {
        cost = lane >= first && lane < end ? 0 : ~0ull;
        for (u32 k = 0; k < count; k++) {
            const Trial& t = trials[k];
            if (!t.there || t.steps != steps) continue;
            axes += t.axes;
            if (cost != ~0ull) cost += min_of(t.rules[lane], t.axes);
        }
    }
    axes = __shfl_sync(FULL, axes, 0);
    const u64 least = warp_least(cost);
    const u32 best = __ffs((i32)__ballot_sync(FULL, cost == least)) - 1;
    Limited limited = {{best >= SETS, steps, best % SETS}, 0, 0};
    if (least + axes / WORTH >= axes) return limited;
    // Each limit by a lane.
    u64 with = ~0ull;
    if (lane < LIMIT_COUNT) {
        with = 0;
        for (u32 k = 0; k < count; k++) {
            const Trial& t = trials[k];
            if (!t.there || t.steps != steps) continue;
            with += is_taken(t.rules[best], t.sampled, LIMITS[lane]) ? t.rules[best] : t.axes;
        }
    }
    const u64 usual = __shfl_sync(FULL, with, 0), most = warp_least(with);
    const u32 of = __ffs((i32)__ballot_sync(FULL, with == most)) - 1;
    limited.limit = LIMITS[most + usual / LIMIT_WORTH < usual ? of : 0];
    limited.there = 1;
    return limited;
}
// What some trials say. For a whole warp.
DEV Choice choice_of(const Trial* trials, u32 count) {
    Choice c;
    c.steps = best_rule(trials, count, 1, 0, 2 * SETS);
    c.second.there = 0;
    c.second.rule = {0, 0, 0};
    c.second.limit = 0;
    if (uniform(c.steps.there))
        c.second =
            c.steps.rule.rough ? best_rule(trials, count, 1, 0, SETS) : best_rule(trials, count, 1, SETS, 2 * SETS);
    c.exact = best_rule(trials, count, 0, 0, 2 * SETS);
    return c;
}

}    // namespace interp::encoder
