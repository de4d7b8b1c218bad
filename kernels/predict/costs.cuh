// Twin: src/codec/predict/code/costs.rs
// What codes cost about, and which class a group gets.
#pragma once
#include "desk.cuh"

namespace predict {

enum : u32 {
    NO_COST = 0xffff,
};

// The token of a code, and its raw bits.
DEV u32 token_of_code(u64 code, u32& raw) {
    raw = 0;
    if (code < DIRECT) return (u32)code;
    const u32 octave = top_bit(code);
    raw = octave - 1;
    return DIRECT + (octave - 6) * 2 + (u32)(code >> raw & 1);
}
DEV u32 token_of_code(u32 code, u32& raw) {
    raw = 0;
    if (code < DIRECT) return code;
    const u32 octave = top_bit(code);
    raw = octave - 1;
    return DIRECT + (octave - 6) * 2 + (code >> raw & 1);
}

// What a symbol costs by its frequency.
DEV u32 cost_of(u32 frequency) { return frequency ? TABLE_BITS * BIT - log2_of(frequency) : (u32)NO_COST; }
// What a token costs in a table that is always there.
DEV u32 token_cost(u32 cls, u32 token) {
    const u32 at = FIRSTS[cls] + token;
    return at < FIRSTS[cls + 1] ? TOKEN_COSTS[at] : (u32)NO_COST;
}
// The same of a token that is a code, in PARTS of a bit.
DEV u32 direct_cost(u32 cls, u32 token) {
    const u32 at = FIRSTS[cls] + token;
    return at < FIRSTS[cls + 1] ? TOKEN_COSTS[at] * PARTS / BIT : 255;
}

// The class of a group by its codes, and maybe another one to be taken if its table costs less; else the same.
struct Classes {
    u32 first, second;
};
DEV Classes classes_of(u32 sum, u32 nonzeros, u64 most) {
    const u32 octave = nonzeros ? top_bit(nonzeros) : 0;
    const u32 half = nonzeros ? 2 * octave + ((nonzeros * nonzeros) >> (2 * octave + 1) != 0) : 0;
    u32 quarter = 0;
    if (sum) {
        const u32 of_sum = top_bit(sum);
        quarter = 1 + 4 * of_sum + (u32)(((u64)sum << 2) >> of_sum & 3);
    }
    const u32 all = CLASSES[half * 128 + quarter], first = all & 15, second = all >> 4 & 15, widest = all >> 8;
    u32 raw;
    const u32 token = token_of_code(most, raw);
    const bool by_first = token < (u32)FIRSTS[first + 1] - FIRSTS[first],
               by_second = token < (u32)FIRSTS[second + 1] - FIRSTS[second];
    if (by_first && by_second) return {first, most < DIRECT ? second : first};
    const u32 one = by_first ? first : by_second ? second : widest;
    return {one, one};
}

// What a warp knows of a group of codes, of which each lane has four; those that there are not are 0.
struct GroupSums {
    u32 sum, nonzeros;
    u64 most;
};
DEV u32 warp_max(u32 x) { return __reduce_max_sync(FULL, x); }
DEV u64 warp_most(u64 x) {
    const u32 high = __reduce_max_sync(FULL, (u32)(x >> 32));
    return (u64)high << 32 | __reduce_max_sync(FULL, (u32)(x >> 32) == high ? (u32)x : 0);
}
template <class Word> DEV GroupSums sums_of(const Word (&code)[QUAD]) {
    u32 sum = 0, nonzeros = 0;
    Word most = 0;
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) {
        const Word magnitude = (code[j] >> 1) + (code[j] & 1);
        sum += magnitude < MOST_MAGNITUDE ? (u32)magnitude : (u32)MOST_MAGNITUDE;
        nonzeros += code[j] != 0;
        most = code[j] > most ? code[j] : most;
    }
    sum = __reduce_add_sync(FULL, sum);
    if (!uniform(sum)) return {0, 0, 0};
    const u64 greatest = sizeof(Word) == 8 ? warp_most(most) : (u64)warp_max((u32)most);
    return {sum, __reduce_add_sync(FULL, nonzeros), greatest};
}

// The class that a group gets among the tables that are always there. For a whole warp.
template <class Word> DEV u32 class_of(const Word (&code)[QUAD]) {
    const GroupSums sums = sums_of(code);
    if (!uniform(sums.sum)) return 0;
    const Classes cls = classes_of(sums.sum, sums.nonzeros, sums.most);
    if (uniform(cls.first == cls.second)) return cls.first;
    u32 cost = 0, other = 0;
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) {
        cost += direct_cost(cls.first, (u32)code[j] & (DIRECT - 1));
        other += direct_cost(cls.second, (u32)code[j] & (DIRECT - 1));
    }
    return __reduce_add_sync(FULL, other) < __reduce_add_sync(FULL, cost) ? cls.second : cls.first;
}

// Where the costs of direct tokens stand in shared memory, behind what errors of nodes take: of each class and each
// token, in PARTS of a bit.
enum : u32 { DIRECT_COSTS_AT = PREDICT_NUMBER_BYTES / 4 + PREDICT_ERRORS - TABLES * DIRECT / 4 };
// For a whole block; a barrier has to follow.
DEV void make_direct_costs() {
    SHARED_BYTES(shared);
    u8* const costs = (u8*)((u32*)shared + DIRECT_COSTS_AT);
#pragma unroll 1
    for (u32 i = threadIdx.x; i < TABLES * DIRECT; i += blockDim.x) costs[i] = (u8)direct_cost(i / DIRECT, i % DIRECT);
}

// What codes of a group cost in the better of two classes, or, if not all are direct, in the first one; `has`: a bit
// for each of the lane's codes, `whole`: all of the group are there. For a whole warp.
DEV u32 cost_in_classes(const u32 (&code)[QUAD], u32 has, bool whole, u32 first, u32 second, bool are_direct) {
    u32 cost = 0;
    if (uniform(are_direct)) {
        SHARED_BYTES(shared);
        const u8* const costs = (const u8*)((u32*)shared + DIRECT_COSTS_AT);
        // Those of both classes, which are below 2^16.
        const u8 *const by_first = costs + first * DIRECT, *const by_second = costs + second * DIRECT;
        if (uniform(whole)) {
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) cost += by_first[code[j]] + ((u32)by_second[code[j]] << 16);
        } else {
#pragma unroll
            for (u32 j = 0; j < QUAD; j++)
                if (has >> j & 1) cost += by_first[code[j]] + ((u32)by_second[code[j]] << 16);
        }
        cost = __reduce_add_sync(FULL, cost);
        cost = min_of(cost & 0xffff, cost >> 16);
        return (cost ? cost : 1) * (BIT / PARTS);
    }
    const u32 at = FIRSTS[first], tokens = FIRSTS[first + 1] - at;
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) {
        if (!(has >> j & 1)) continue;
        u32 raw;
        const u32 token = token_of_code(code[j], raw);
        cost += (token < tokens ? TOKEN_COSTS[at + token] : (u32)NO_COST) + BIT * raw;
    }
    return __reduce_add_sync(FULL, cost);
}

// A lane's codes of a group of n; those that there are not are 0. Codes begin at a multiple of 16 bytes.
DEV u32 take_codes(const u32* codes, u32 n, u32 group, u32 lane, u32 (&code)[QUAD]) {
    const u32 first = group * GROUP + lane * QUAD, has = codes_there(n, group, lane);
    if (has == low_ones(QUAD)) {
        const uint4 q = *(const uint4*)(codes + first);
        code[0] = q.x;
        code[1] = q.y;
        code[2] = q.z;
        code[3] = q.w;
        return has;
    }
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) code[j] = has >> j & 1 ? codes[first + j] : 0;
    return has;
}
template <class Word> DEV u32 take_codes(const Word* codes, u32 n, u32 group, u32 lane, Word (&code)[QUAD]) {
    const u32 has = codes_there(n, group, lane), first = group * GROUP + lane * QUAD;
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) code[j] = has >> j & 1 ? codes[first + j] : 0;
    return has;
}

// What n codes cost in the tables that are always there. For a whole block; a barrier before.
template <class T> SELDOM u64 fixed_cost(Desk<T>& d, const u32* codes, u32 n) {
    const u32 lane = threadIdx.x & 31, groups = (n + GROUP - 1) / GROUP, warps = blockDim.x / 32;
    u64 cost = 0;
    // Each lane knows of one of up to 32 groups, while all look at each.
#pragma unroll 1
    for (u32 first = threadIdx.x / 32; uniform(first < groups); first += 32 * warps) {
        GroupSums own = {0, 0, 0};
        u32 of = 0;
#pragma unroll 1
        for (u32 g = first; uniform(of < 32 && g < groups); g += warps, of++) {
            u32 code[QUAD];
            take_codes(codes, n, g, lane, code);
            const GroupSums sums = sums_of(code);
            if (lane == of) own = sums;
        }
        const Classes cls = classes_of(own.sum, own.nonzeros, own.most);
        const u32 kind = cls.first | cls.second << 4 | (u32)(own.most < DIRECT) << 8;
        u32 left = __ballot_sync(FULL, own.sum != 0);
        cost += (u64)(of - __popc(left)) * (BIT / 4);
#pragma unroll 1
        for (; uniform(left); left &= left - 1) {
            const u32 k = __ffs((i32)left) - 1, g = first + k * warps, both = __shfl_sync(FULL, kind, k);
            u32 code[QUAD];
            const u32 has = take_codes(codes, n, g, lane, code);
            cost += CLASS_COST + cost_in_classes(code, has, (g + 1) * GROUP <= n, both & 15, both >> 4 & 15, both >> 8);
        }
    }
    return block_sum(lane ? 0 : cost, d.part);
}

// What n codes cost, of which each stands for `share`: in these tables, or in one of their own. `counts`: room for as
// many as there are symbols, in shared memory. For a whole block; a barrier before.
template <class T> SELDOM u64 code_cost(Desk<T>& d, const u32* codes, u32 n, u64 share, u32* counts) {
    const u64 fixed = fixed_cost(d, codes, n);
    if (fixed < (u64)LOW_COST * n) return fixed;
    for (u32 s = threadIdx.x; s < SYMBOLS; s += blockDim.x) counts[s] = 0;
    __syncthreads();
    u64 own = 0;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
        u32 raw;
        atomicAdd(counts + token_of_code(codes[i], raw), 1u);
        own += BIT * raw;
    }
    __syncthreads();
    const u32 total = log2_of(n), s = threadIdx.x, count = s < SYMBOLS ? counts[s] : 0;
    if (count) own += (u64)count * (total - log2_of(count));
    own = block_sum(own, d.part);
    const u64 symbols = block_sum((u64)(count != 0), d.part);
    const u64 cost = own + own / 32 + symbols * TABLE_COST / share;
    return cost < fixed ? cost : fixed;
}

// Of n codes the sum of the logarithms of what the magnitudes of groups add up to. For a whole block; a barrier before.
template <class T> SELDOM u64 cost_of_sums(Desk<T>& d, const u32* codes, u32 n) {
    const u32 lane = threadIdx.x & 31, groups = (n + GROUP - 1) / GROUP;
    u64 cost = 0;
#pragma unroll 1
    for (u32 g = threadIdx.x / 32; uniform(g < groups); g += blockDim.x / 32) {
        u32 code[QUAD], sum = 0;
        take_codes(codes, n, g, lane, code);
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) sum += (code[j] >> 1) + (code[j] & 1);
        cost += logarithm(__reduce_add_sync(FULL, sum));
    }
    return block_sum(lane ? 0 : cost, d.part);
}

// Adds to the costs of sets of axes what the differences along each cost about: the sum of the logarithms of what the
// magnitudes of groups of a box add up to. FACES: those of a face are along all axes. `without`: axes that mean
// nothing. `group_of`: which groups are looked at. `Sum` holds the sum of the magnitudes of a group. For a whole block,
// which finds the costs behind the next barrier.
DEV u64 sum_of_warp(u32 x) { return __reduce_add_sync(FULL, x); }
DEV u64 sum_of_warp(u64 x) { return warp_sum(x); }
struct AllGroups {
    DEV u32 operator()(u32 k) const { return k; }
};
template <bool FACES, class Sum, class T, class Word, class At, class GroupOf = AllGroups>
DEV void add_costs_of_sets(Desk<T>& d, Places box, u32 without, At value, u32 looked_at = ~0u,
                           GroupOf group_of = GroupOf()) {
    const u32 lane = threadIdx.x & 31, n = box.count(), groups = min_of((n + GROUP - 1) / GROUP, looked_at);
    u64 costs[SETS];
#pragma unroll
    for (u32 s = 0; s < SETS; s++) costs[s] = 0;
#pragma unroll 1
    for (u32 k = threadIdx.x / 32; uniform(k < groups); k += blockDim.x / 32) {
        const u32 g = group_of(k);
        Sum sums[SETS];
#pragma unroll
        for (u32 s = 0; s < SETS; s++) sums[s] = 0;
#pragma unroll 1
        for (u32 i = g * GROUP + lane; i < min_of(n, (g + 1) * GROUP); i += 32) {
            u32 x, y, z;
            box.of(i, x, y, z);
            Corners<Word> corners(box, x, y, z, value);
            corners.differ();
#pragma unroll
            for (u32 s = 0; s < SETS; s++) {
                const Word of_set = FACES && on_face(s, x, y, z) ? corners.at[SETS - 1] : corners.at[s];
                sums[s] += (Sum)magnitude_limited(magnitude_of(T::BITS < 32 ? (Word)extended<T>(of_set) : of_set));
            }
        }
        __syncwarp();
#pragma unroll
        for (u32 s = 0; s < SETS; s++) costs[s] += logarithm(sum_of_warp(sums[s]));
    }
    __syncthreads();
    if (lane == 0)
#pragma unroll
        for (u32 s = 0; s < SETS; s++)
            for (u32 of = 0; of < SETS; of++)
                if ((of & ~without) == s) atomicAdd(&d.costs[of], costs[s]);
}

// The class that a group gets among the tables that are always there, with costs of direct tokens in shared memory, and
// whether all its codes are such. For a whole warp.
template <class Word> DEV u32 class_of(const Word (&code)[QUAD], bool& are_direct) {
    const GroupSums sums = sums_of(code);
    are_direct = sums.most < DIRECT;
    if (!uniform(sums.sum)) return 0;
    const Classes cls = classes_of(sums.sum, sums.nonzeros, sums.most);
    if (uniform(cls.first == cls.second)) return cls.first;
    SHARED_BYTES(shared);
    const u8* const costs = (const u8*)((u32*)shared + DIRECT_COSTS_AT);
    u32 cost = 0;
#pragma unroll
    for (u32 j = 0; j < QUAD; j++)
        cost += costs[cls.first * DIRECT + (u32)code[j]] | (u32)costs[cls.second * DIRECT + (u32)code[j]] << 16;
    cost = __reduce_add_sync(FULL, cost);
    return cost >> 16 < (cost & 0xffff) ? cls.second : cls.first;
}

// Whether a box can be gone through by quads: none has elements of two rows, and all groups are whole.
DEV bool has_quads(const Places& box) { return box.lx % QUAD == 0 && box.count() % GROUP == 0; }

// Four elements of a row with the one before them: as they are, and less those along y, z and both.
struct Quads {
    u32 x, y, z;
    u32 own[QUAD + 1], of_y[QUAD + 1], of_z[QUAD + 1], both[QUAD + 1];

    DEV Quads(const Places& box, u32 i, const u32* numbers) {
        box.of(i, x, y, z);
        const u32 row = box.lx, plane = box.lx * box.ly;
        const auto load = [&](u32 at, bool there, u32(&to)[QUAD + 1]) {
            const uint4 q = there ? *(const uint4*)(numbers + at) : make_uint4(0, 0, 0, 0);
            to[0] = there && x > 0 ? numbers[at - 1] : 0;
            to[1] = q.x;
            to[2] = q.y;
            to[3] = q.z;
            to[4] = q.w;
        };
        load(i, true, own);
        load(i - row, y > 0, of_y);
        load(i - plane, z > 0, of_z);
        load(i - row - plane, y > 0 && z > 0, both);
#pragma unroll
        for (u32 j = 0; j <= QUAD; j++) {
            both[j] = (own[j] - of_y[j]) - (of_z[j] - both[j]);
            of_y[j] = own[j] - of_y[j];
            of_z[j] = own[j] - of_z[j];
        }
    }
};

// The codes of differences of numbers along a set of axes that is not empty, of a box that has quads. For a whole
// block.
DEV void codes_by_quads(const Places& box, u32 set, const u32* numbers, u32* codes) {
    const u32 n = box.count();
#pragma unroll 1
    for (u32 i = QUAD * threadIdx.x; i < n; i += QUAD * blockDim.x) {
        const Quads q(box, i, numbers);
        const bool on_faces = !(set & 2 && q.y) && !(set & 4 && q.z);
        u32 code[QUAD];
#pragma unroll
        for (u32 j = 1; j <= QUAD; j++) {
            const u32 across = set & 2   ? set & 4 ? q.both[j] : q.of_y[j]
                               : set & 4 ? q.of_z[j]
                                         : q.own[j],
                      before = set & 2   ? set & 4 ? q.both[j - 1] : q.of_y[j - 1]
                               : set & 4 ? q.of_z[j - 1]
                                         : q.own[j - 1];
            const bool on_face = on_faces && !(set & 1 && (j > 1 || q.x));
            code[j - 1] = code_of(on_face ? q.both[j] - q.both[j - 1] : across - (set & 1 ? before : 0));
        }
        *(uint4*)(codes + i) = make_uint4(code[0], code[1], code[2], code[3]);
    }
}

// The same as `add_costs_of_sets<true>` of u32, for a box that has quads.
template <class T> DEV void add_costs_by_quads(Desk<T>& d, Places box, const u32* numbers) {
    const u32 lane = threadIdx.x & 31, groups = box.count() / GROUP;
    u32 cost = 0;    // of the set of this lane's number
#pragma unroll 1
    for (u32 g = threadIdx.x / 32; uniform(g < groups); g += blockDim.x / 32) {
        const Quads q(box, g * GROUP + lane * QUAD, numbers);
        u32 sums[SETS] = {0, 0, 0, 0, 0, 0, 0, 0};
#pragma unroll
        for (u32 j = 1; j <= QUAD; j++) {
            const u32 all = q.both[j] - q.both[j - 1];
            const bool first = j == 1 && q.x == 0;
            sums[0] += magnitude_of(q.own[j]);
            sums[1] += magnitude_of(first ? all : q.own[j] - q.own[j - 1]);
            sums[2] += magnitude_of(q.y == 0 ? all : q.of_y[j]);
            sums[3] += magnitude_of(first && q.y == 0 ? all : q.of_y[j] - q.of_y[j - 1]);
            sums[4] += magnitude_of(q.z == 0 ? all : q.of_z[j]);
            sums[5] += magnitude_of(first && q.z == 0 ? all : q.of_z[j] - q.of_z[j - 1]);
            sums[6] += magnitude_of(q.y == 0 && q.z == 0 ? all : q.both[j]);
            sums[7] += magnitude_of(all);
        }
        u32 sum = 0;
#pragma unroll
        for (u32 s = 0; s < SETS; s++) {
            const u32 of_set = __reduce_add_sync(FULL, sums[s]);
            if (lane == s) sum = of_set;
        }
        cost += (u32)logarithm(sum);
    }
    if (lane < SETS) atomicAdd(&d.costs[lane], (u64)cost);
}

// The same as `add_costs_of_sets<false>` of the codes of a class of one new axis, along the two other axes.
template <class T> DEV void add_costs_of_class(Desk<T>& d, Places cls, u32 axis, const u32* codes) {
    const u32 lane = threadIdx.x & 31, n = cls.count(), groups = (n + GROUP - 1) / GROUP,
              by_one = axis == 0 ? cls.lx : 1, by_other = axis == 2 ? cls.lx : cls.lx * cls.ly;
    u32 cost = 0;    // of the set of this lane's number: bit 0 the first one of these axes, bit 1 the second
#pragma unroll 1
    for (u32 g = threadIdx.x / 32; uniform(g < groups); g += blockDim.x / 32) {
        u32 sums[4] = {0, 0, 0, 0};
#pragma unroll 1
        for (u32 i = g * GROUP + lane; i < min_of(n, (g + 1) * GROUP); i += 32) {
            u32 x, y, z;
            cls.of(i, x, y, z);
            const bool one = axis == 0 ? y : x, other = axis == 2 ? y : z;
            const u32 own = difference_of(codes[i]), of_one = one ? difference_of(codes[i - by_one]) : 0,
                      of_other = other ? difference_of(codes[i - by_other]) : 0,
                      of_both = one && other ? difference_of(codes[i - by_one - by_other]) : 0;
            sums[0] += magnitude_of(own);
            sums[1] += magnitude_of(own - of_one);
            sums[2] += magnitude_of(own - of_other);
            sums[3] += magnitude_of(own - of_one - (of_other - of_both));
        }
        __syncwarp();
        u32 sum = 0;
#pragma unroll
        for (u32 s = 0; s < 4; s++) {
            const u32 of_set = __reduce_add_sync(FULL, sums[s]);
            if (lane == s) sum = of_set;
        }
        cost += (u32)logarithm(sum);
    }
    if (lane < 4) {
        const u32 one = axis == 0 ? 2 : 1, other = axis == 2 ? 2 : 4,
                  set = (lane & 1 ? one : 0) | (lane & 2 ? other : 0);
        atomicAdd(&d.costs[set], (u64)cost);
        atomicAdd(&d.costs[set | 1u << axis], (u64)cost);
    }
}

}    // namespace predict
