// Twin: src/codec/interp/rules.rs, src/codec/interp/predict/sample.rs
// What codes cost about, and what differences along sets of axes would, by some pieces of a tile's rows.
#pragma once
#include "desk.cuh"

namespace interp::encoder {

// A cost that nothing has.
#define NEVER_COST (~0ull / 4096)

// What `count` codes cost whose magnitudes add up to `sum`.
DEV u64 cost_of_sum(u64 sum, u32 count) {
    if (sum == 0) return 64;
    const u64 most = 1ull << 62, of = count ? count : 1, quotient = sum / of;
    u64 scaled = quotient >> 55 ? most : quotient * 128 + (sum - quotient * of) * 128 / of;
    scaled = scaled < 1 ? 1 : min_of(scaled, most);
    const u32 octave = top_bit(scaled),
              part = (u32)(octave >= 8 ? scaled >> (octave - 8) : scaled << (8 - octave)) & 255;
    const auto of_octave = [](u32 o) { return MEANS[min_of(o, 30u)] + 128ull * BIT * (o > 30 ? o - 30 : 0); };
    const u64 cost = of_octave(octave) + ((of_octave(octave + 1) - of_octave(octave)) * part >> 8);
    const u64 all = cost * count / 128;
    return all > 64 ? all : 64;
}

// What codes cost with the states of the lanes.
DEV u64 with_states(u64 cost) { return cost + min_of(4 * cost, (u64)STATES_COST); }

// Whether a rule that costs `rule` is taken where the sample says `axes` of axes.
DEV bool is_taken(u64 rule, u64 axes, u64 limit) {
    return rule <= FREE || rule * 256 <= axes * limit + (u64)FREE * 256;
}

DEV u32 magnitude_of_code(u32 c) { return min_of((c >> 1) + (c & 1), (u32)MOST_MAGNITUDE); }

// What n codes cost by the sums of magnitudes of their groups. For a whole block; a barrier before.
template <class T> SELDOM u64 cost_of_codes(Desk<T>& d, const u32* codes, u32 n) {
    const u32 lane = threadIdx.x & 31, groups = (n + GROUP - 1) / GROUP;
#pragma unroll 1
    for (u32 g = threadIdx.x / 32; uniform(g < groups); g += blockDim.x / 32) {
        const u32 first = g * GROUP + QUAD * lane;
        u32 sum = 0;
#pragma unroll
        for (u32 j = 0; j < QUAD; j++)
            if (first + j < n) sum += magnitude_of_code(codes[first + j]);
        sum = __reduce_add_sync(FULL, sum);
        if (lane == 0) d.of_groups[g] = sum;
    }
    __syncthreads();
    u64 cost = 0;
    u32 nonzero = 0;
    for (u32 g = threadIdx.x; g < groups; g += blockDim.x) {
        cost += cost_of_sum(d.of_groups[g], min_of(n - g * GROUP, (u32)GROUP));
        nonzero += d.of_groups[g] > 0;
    }
    cost = block_sum(cost, d.part);
    nonzero = block_sum(nonzero, d.part);
    const bool is_sparse = nonzero <= SPARSE_NONZERO && cost < STATES_COST;
    return is_sparse ? cost : with_states(cost);
}

// What magnitudes cost of which widths `of` tells how many there are. For a whole warp.
DEV u64 cost_of_widths(const u32* of) {
    const u32 lane = threadIdx.x & 31;
    u32 all = 0;
    for (u32 w = lane; w < WIDTHS; w += 32) all += of[w];
    all = __reduce_add_sync(FULL, all);
    const u32 log = log2_of(all ? all : 1);
    u64 cost = 0;
    for (u32 w = lane; w < WIDTHS; w += 32)
        if (of[w]) cost += (u64)of[w] * (BIT * w + log - log2_of(of[w]));
    return warp_sum(cost);
}
DEV u32 width_of_number(u32 magnitude) { return magnitude ? top_bit(magnitude) + 1 : 0; }
DEV u32 width_of_number(u64 magnitude) { return magnitude ? top_bit(magnitude) + 1 : 0; }
// Clears counts of widths. For a whole block, with barriers before and behind.
template <class T> DEV void clear_widths(Desk<T>& d) {
    __syncthreads();
    for (u32 i = threadIdx.x; i < SETS * WIDTHS; i += blockDim.x) (&d.widths[0][0])[i] = 0;
    __syncthreads();
}
// What those of one kind cost, of which all threads learn. For a whole block; a barrier behind.
template <class T> DEV u64 cost_of_kind(Desk<T>& d, u32 kind) {
    __syncthreads();
    if (threadIdx.x < 32) {
        const u64 cost = cost_of_widths(d.widths[kind]);
        if (threadIdx.x == 0) d.found = cost;
    }
    __syncthreads();
    return d.found;
}
// What n codes cost that differences of elements' bits have. For a whole block; a barrier before.
template <class T> SELDOM u64 cost_of_bits(Desk<T>& d, const u32* codes, u32 n) {
    clear_widths(d);
    for (u32 i = threadIdx.x; i < n; i += blockDim.x)
        atomicAdd(&d.widths[0][width_of_number((codes[i] >> 1) + (codes[i] & 1))], 1u);
    return with_states(cost_of_kind(d, 0));
}

// How pieces of rows or columns are sampled: along an axis, one of so many.
struct Pieces {
    u32 len[3], stride[3], axis, near, far, along, every, count;

    DEV Pieces(const Places& box) {
        len[0] = stride[1] = box.lx;
        len[1] = box.ly;
        len[2] = box.lz;
        stride[0] = 1;
        stride[2] = box.lx * box.ly;
        axis = box.lx >= 16 ? 0 : box.lz > box.ly ? 2 : 1;
        near = axis == 0 ? 1 : 0;
        far = axis == 2 ? 1 : 2;
        const u32 piece = min_of(len[axis], (u32)PIECE);
        along = (len[axis] + PIECE - 1) / PIECE;
        every = min_of(box.count() / (8 * piece), (u32)EVERY);
        every = every ? every : 1;
        count = len[near] * len[far] * along;
    }
};

// The cost where none of the pieces is one of so many.
constexpr u64 UNSEEN = ~0ull;

// Another origin of numbers, if there is one.
template <class Word> struct Origin {
    bool there;
    Word at;
};

// What the pieces say of differences along sets of axes: the best set, and what it costs in all. `value` tells a number
// of a place. BITS: of elements' bits, by their widths. For a whole block; a barrier before and behind.
template <bool BITS, class Word, class T, class At>
SELDOM u32 best_of(Desk<T>& d, const Places& box, u32 every, Origin<Word> zero, u64& cost, At value) {
    const Pieces p(box);
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    if (BITS) clear_widths(d);
    if (threadIdx.x < SETS) d.costs[threadIdx.x] = 0;
    __syncthreads();
    const Word first = value(0);
    u64 own_cost = 0;    // of the set of this lane's number
    u32 seen = 0;
    i64 least = (i64)(~0ull >> 1), most = -least - 1;
    // Shows a piece's elements: where it begins, how far these are from each other, how many they are.
    const auto each = [&](auto show) {
    // Each lane asks for a piece of its own whether it is one of those that are looked at.
#pragma unroll 1
        for (u32 k = 32 * warp; uniform(k < p.count); k += 32 * warps) {
            const u32 own = k + lane, row = own / p.along, far = row / p.len[p.near], near = row - far * p.len[p.near],
                      q = own - row * p.along;
            u32 left = __ballot_sync(FULL, own < p.count && (near + 3 * far + 5 * q) % every == every / 2);
#pragma unroll 1
            for (; uniform(left); left &= left - 1) {
                const u32 of = __ffs((i32)left) - 1, in_row = __shfl_sync(FULL, q, of);
                const auto second = [&](u32 at, u32 a) { return a == 0 ? at : min_of(at ? at : 1, p.len[a] - 1); };
                u32 at[3];
                at[p.near] = second(__shfl_sync(FULL, near, of), p.near);
                at[p.far] = second(__shfl_sync(FULL, far, of), p.far);
                at[p.axis] = min_of(in_row ? in_row * PIECE : 1u, p.len[p.axis] - 1);
                const u32 end = min_of(p.len[p.axis], (in_row + 1) * PIECE);
                show(at[0] + at[1] * p.stride[1] + at[2] * p.stride[2], p.stride[p.axis], end - at[p.axis],
                     at[0] ? 1u : 0u, at[1] ? p.stride[1] : 0u, at[2] ? p.stride[2] : 0u, at[0] == 0);
            }
        }
    };
    each([&](u32 place, u32 stride, u32 count, u32 x, u32 y, u32 z, bool is_first) {
        u64 sums[SETS] = {0, 0, 0, 0, 0, 0, 0, 0};
        const auto add = [&](u32 set, Word difference) {
            const Word magnitude = magnitude_of(difference);
            if (BITS)
                atomicAdd(&d.widths[set][width_of_number(magnitude)], 1u);
            else
                sums[set] += limited(magnitude);
        };
#pragma unroll 1
        for (u32 k = lane; k < count; k += 32) {
            const u32 i = place + k * stride;
            Word own[2], of_y[2], of_z[2], both[2];
#pragma unroll
            for (u32 h = 0; h < 2; h++) {
                const u32 j = i - h * x;
                own[h] = value(j);
                const Word by = value(j - y), bz = value(j - z);
                of_y[h] = own[h] - by;
                of_z[h] = own[h] - bz;
                both[h] = of_z[h] - (by - value(j - y - z));
            }
            const Word* const all[4] = {own, of_y, of_z, both};
#pragma unroll
            for (u32 s = 0; s < 4; s++) {
                const Word here = all[s][0];
                add(2 * s, s == 0 ? (Word)(here - first) : here);
                add(2 * s + 1, !is_first ? (Word)(here - all[s][1]) : s == 0 ? both[0] : here);
            }
            const i64 number = sizeof(Word) == 8 ? (i64)own[0] : (i64)(i32)own[0];
            least = number < least ? number : least;
            most = number > most ? number : most;
        }
        __syncwarp();
        u64 sum = 0;
#pragma unroll
        for (u32 s = 0; s < SETS && !BITS; s++) {
            const u64 of_set = warp_sum(sums[s]);
            if (lane == s) sum = of_set;
        }
        if (!BITS) own_cost += cost_of_sum(sum, count);
        seen += count;
    });
    if (BITS) {
        __syncthreads();
        own_cost = cost_of_widths(d.widths[warp]);
        if (lane == 0) d.costs[warp] = own_cost;
    } else if (lane < SETS) {
        atomicAdd(&d.costs[lane], own_cost);
    }
    seen = block_sum(lane ? 0 : seen, d.part);
    least = block_min(least, d.part);
    most = block_max(most, d.part);
    u64 without = d.costs[0];
    const Word middle = (Word)((u64)least + ((u64)most - (u64)least) / 2);
#pragma unroll 1
    for (u32 k = 0; k < (zero.there ? 2u : 1u); k++) {
        const Word from = k ? zero.at : middle;
        u64 distances = 0;
        if (BITS) clear_widths(d);
        each([&](u32 place, u32 stride, u32 count, u32, u32, u32, bool) {
            u64 sum = 0;
            for (u32 i = lane; i < count; i += 32) {
                const Word magnitude = magnitude_of((Word)(value(place + i * stride) - from));
                if (BITS)
                    atomicAdd(&d.widths[0][width_of_number(magnitude)], 1u);
                else
                    sum += limited(magnitude);
            }
            __syncwarp();
            if (!BITS) distances += cost_of_sum(warp_sum(sum), count);
        });
        without = min_of(without, BITS ? cost_of_kind(d, 0) : block_sum(lane ? 0 : distances, d.part));
    }
    const u32 allowed = (box.lx > 1) | (box.ly > 1) << 1 | (box.lz > 1) << 2;
    u32 best = 0;
    u64 best_cost = without;
    for (u32 s = 1; s < SETS; s++)
        if (!(s & ~allowed) && d.costs[s] < best_cost) {
            best = s;
            best_cost = d.costs[s];
        }
    cost = seen ? best_cost * box.count() / seen : UNSEEN;
    __syncthreads();    // all have seen the costs
    return best;
}
// The same; all pieces are asked of bins of a tile that looks cheap, and where none was sampled.
template <bool BITS, class Word, class T, class At>
SELDOM u32 best_set(Desk<T>& d, const Places& box, Origin<Word> zero, u64& cost, At value) {
    const u32 every = Pieces(box).every, best = best_of<BITS, Word>(d, box, every, zero, cost, value);
    if (every == 1 || (cost != UNSEEN && (BITS || cost >= (u64)LITTLE * box.count()))) return best;
    return best_of<BITS, Word>(d, box, 1, zero, cost, value);
}

}    // namespace interp::encoder
