// A tile's own table, by the rules of src/codec/ratio/counts.rs and own_table.rs: how often tokens occur in the groups
// of each class, the frequencies that fit, which classes it is for, and its bytes. By one warp; a lane has every 32nd
// symbol.
//
//   counts   TILE_COUNT_BYTES of each warp   how often the tokens of each class occur; once that is known, instead:
//   what
//                                            encodes the table's symbols, and behind it their frequencies
#pragma once
#include "stream.cuh"
#include "tables.h"

namespace ratio {

enum : u32 { OWN = TABLES - 1, PARTS = (TOKENS + 31) / 32, FREQUENCIES_AT = 8 * TOKENS, BIT = 256 };

struct Symbols {
    uint2 of[TABLES][TOKENS];
    // For the sums of magnitudes of groups, and such of sparse ones: the class, and its greatest token in the high
    // byte.
    u16 classes[2 * 128];
    // What symbols cost, one table behind the other.
    u16 costs[sizeof(FREQUENCIES) / sizeof(FREQUENCIES[0])];
};
enum : u32 { CLASSES_AT = 8 * TABLES * TOKENS, COSTS_AT = CLASSES_AT + 2 * 2 * 128 };
static_assert(sizeof(Symbols) <= TILE_SYMBOL_BYTES, "what the host reckons with");
static_assert(4 * sizeof(Symbols::costs) / 2 <= TILE_COUNT_BYTES, "what the host reckons with");

// What encodes a symbol: reciprocal; start, shift and what the frequency leaves of 1024. As Symbol of
// src/primitives/rans.rs, but that a symbol of frequency 1, whose quotient is the state itself, has one less as
// quotient and as much more as its start.
DEV uint2 symbol_of(u32 start, u32 frequency) {
    const u32 shift = frequency > 1 ? top_bit(frequency - 1) + 1 : 0;
    const u32 reciprocal = frequency > 1 ? (u32)(((1ull << (31 + shift)) + frequency - 1) / frequency) : ~0u;
    const u32 bias = frequency > 1 ? start : start + (1u << TABLE_BITS) - 1;
    return make_uint2(reciprocal, bias | (shift ? shift - 1 : 0) << 11 | ((1u << TABLE_BITS) - frequency) << 21);
}

// Parts of a bit that a symbol of a frequency costs.
DEV u32 cost_of(u32 frequency) {
    const u32 octave = frequency ? top_bit(frequency) : 0;
    u64 mantissa = (u64)frequency << (31 - octave);
    u32 log = octave;
#pragma unroll 1
    for (u32 k = 1; k < BIT; k *= 2) {
        mantissa = (mantissa * mantissa) >> 31;
        const u32 carry = (u32)(mantissa >> 32);
        log = log << 1 | carry;
        mantissa >>= carry;
    }
    return frequency ? TABLE_BITS * BIT - log : 0xffff;
}

DEV u32 tokens_of(u32 cls) { return FIRSTS[cls + 1] - FIRSTS[cls]; }

// What all tokens of a class add up to, each by what `weight` says of it (token, part).
template <class Weight> DEV u32 sum_of(u32 counts, u32 cls, u32 lane, Weight weight) {
    u32 sum = 0;
#pragma unroll
    for (u32 k = 0; k < PARTS; k++) {
        const u32 t = 32 * k + lane;
        if (t < tokens_of(cls)) sum += load_shared32(counts + 4 * (FIRSTS[cls] + t)) * weight(t, k);
    }
    return __reduce_add_sync(FULL, sum);
}

// The frequencies that fit symbols which occur so often.
template <u32 N> DEV void fit_to(const u32 (&n)[N], u32 lane, u32 (&f)[N]) {
    u32 all = 0, sum = 0;
#pragma unroll
    for (u32 k = 0; k < N; k++) all += n[k];
    all = __reduce_add_sync(FULL, all);
    all = all ? all : 1;
#pragma unroll
    for (u32 k = 0; k < N; k++) {
        const u32 part = ((n[k] << TABLE_BITS) + all / 2) / all;
        f[k] = n[k] == 0 ? 0 : part < 1 ? 1 : min_of(part, (1u << TABLE_BITS) - 1);
        sum += f[k];
    }
    sum = __reduce_add_sync(FULL, sum);
    const auto change = [&](u32 symbol, u32 by) {
#pragma unroll
        for (u32 k = 0; k < N; k++) f[k] += 32 * k + lane == symbol ? by : 0;
    };
#pragma unroll 1
    while (uniform(sum != 1u << TABLE_BITS)) {
        u32 key = 0;
#pragma unroll
        for (u32 k = 0; k < N; k++) {
            const u32 own = f[k] << 8 | (255 - (32 * k + lane));
            key = own > key ? own : key;
        }
        key = __reduce_max_sync(FULL, key);
        const u32 greatest = 255 - (key & 255), of = key >> 8;
        if (sum < 1u << TABLE_BITS) {
            const u32 more = min_of((1u << TABLE_BITS) - sum, (1u << TABLE_BITS) - 1 - of);
            change(greatest, more);
            sum += more;
            if (sum < 1u << TABLE_BITS) {
                change(greatest == 0, 1);
                sum++;
            }
        } else {
            const u32 less = min_of(sum - (1u << TABLE_BITS), of < 16 ? 1 : of / 8);
            change(greatest, 0 - less);
            sum -= less;
        }
    }
}

// The frequencies that fit the tokens of some classes.
DEV void fit(u32 counts, u32 chosen, u32 lane, u32 (&f)[PARTS]) {
    u32 n[PARTS];
#pragma unroll
    for (u32 k = 0; k < PARTS; k++) n[k] = 0;
#pragma unroll 1
    for (u32 left = chosen; uniform(left); left &= left - 1) {
        const u32 cls = top_bit(left & (0 - left));
#pragma unroll
        for (u32 k = 0; k < PARTS; k++)
            if (32 * k + lane < tokens_of(cls)) n[k] += load_shared32(counts + 4 * (FIRSTS[cls] + 32 * k + lane));
    }
    fit_to(n, lane, f);
}

// The bytes of a table; where it is not null, they are written there.
template <u32 N> DEV u32 put_table(const u32 (&f)[N], u32 lane, u8* to) {
    u32 there[N], last = 0, at = 0;
#pragma unroll
    for (u32 k = 0; k < N; k++) {
        there[k] = __ballot_sync(FULL, f[k] > 0);
        last = there[k] ? 32 * k + top_bit(there[k]) : last;
    }
#pragma unroll
    for (u32 k = 0; k < N; k++) {
        const u32 t = 32 * k + lane, before = lane ? there[k] >> ((lane - 1) & 31) & 1
                                              : k  ? there[k ? k - 1 : 0] >> 31
                                                   : 1;
        const u32 n = t > last ? 0 : f[k] == 0 ? 2 * before : f[k] < 128 ? 1 : 2;
        const u32 up_to = warp_running_sum(n);
        if (to && n) {
            u8* p = to + at + up_to - n;
            u32 next = t;
#pragma unroll
            for (u32 q = N; q-- > k;) {
                const u32 rest = q == k ? there[q] & ~low_ones(lane) : there[q];
                next = rest ? 32 * q + top_bit(rest & (0 - rest)) : next;
            }
            if (f[k] == 0) {
                p[0] = 0;
                p[1] = (u8)(next - t - 1);
            } else if (n == 1) {
                p[0] = (u8)f[k];
            } else {
                p[0] = (u8)(128 | f[k] >> 8);
                p[1] = (u8)f[k];
            }
        }
        at += __shfl_sync(FULL, up_to, 31);
    }
    if (to && at % 2 && lane == 0) to[at] = 0;
    return at + at % 2;
}

// The table of a tile: the class that groups of each class get, four bits each; and its bytes, 0 where there is none.
struct OwnTable {
    u64 classes;
    u32 bytes;

    DEV u32 class_of(u32 cls) const { return (u32)(classes >> (4 * cls)) & 15; }
};

// Chooses for the tokens that were counted, of the classes that `used` has a bit for. For a whole warp.
SELDOM OwnTable choose_own(u32 symbols, u32 counts, u32 used) {
    const u32 lane = threadIdx.x & 31;
    u32 f[PARTS], cost[PARTS], chosen = 0, for_all = 0, without = 0, tokens = 0;
    const auto refit = [&](u32 some) {
        fit(counts, some, lane, f);
#pragma unroll
        for (u32 k = 0; k < PARTS; k++) cost[k] = cost_of(f[k]);
    };
    const auto own = [&](u32 cls) { return sum_of(counts, cls, lane, [&](u32, u32 k) { return cost[k]; }); };
    const auto by = [&](u32 cls, u32 table) {
        return sum_of(counts, cls, lane,
                      [&](u32 t, u32) { return load_shared16(symbols + COSTS_AT + 2 * (FIRSTS[table] + t)); });
    };
    const auto instead = [&](u32 cls) { return by(cls, cls == OWN ? WIDEST_SPARSE : cls); };
    refit(used);
#pragma unroll 1
    for (u32 left = used; uniform(left); left &= left - 1) {
        const u32 cls = top_bit(left & (0 - left)), of_own = own(cls);
        chosen |= (u32)(of_own < instead(cls)) << cls;
        for_all += of_own;
        without += by(cls, cls);
        tokens += sum_of(counts, cls, lane, [](u32, u32) { return 1; });
    }
    u32 bytes = put_table(f, lane, nullptr);
    for_all += 8 * BIT * bytes;
    u32 with = for_all;
    if (uniform(chosen != used)) {
        refit(chosen);
        bytes = put_table(f, lane, nullptr);
        with = 8 * BIT * bytes;
#pragma unroll 1
        for (u32 left = used; uniform(left); left &= left - 1) {
            const u32 cls = top_bit(left & (0 - left));
            with += uniform(chosen >> cls & 1) ? own(cls) : instead(cls);
        }
        // Groups that all have one class say nothing of it.
        if (uniform(for_all <= with + BIT * (tokens / GROUP))) {
            chosen = used;
            refit(used);
            bytes = put_table(f, lane, nullptr);
            with = for_all;
        }
    }
    OwnTable table = {0xfedcba9876543210ull, 0};
    if (uniform(with >= without)) return table;
    table.bytes = bytes;
    if (!(chosen >> OWN & 1)) table.classes ^= (u64)(OWN ^ WIDEST_SPARSE) << (4 * OWN);
#pragma unroll 1
    for (u32 left = chosen; uniform(left); left &= left - 1) table.classes |= 15ull << (4 * top_bit(left & (0 - left)));
    __syncwarp();    // all have read the counts
    u32 start = 0;
#pragma unroll
    for (u32 k = 0; k < PARTS; k++) {
        const u32 t = 32 * k + lane, up_to = warp_running_sum(f[k]);
        const uint2 s = symbol_of(start + up_to - f[k], f[k]);
        if (t < TOKENS) {
            store_shared32(counts + 8 * t, s.x);
            store_shared32(counts + 8 * t + 4, s.y);
            store_shared32(counts + FREQUENCIES_AT + 4 * t, f[k]);
        }
        start += __shfl_sync(FULL, up_to, 31);
    }
    __syncwarp();
    return table;
}

// Writes the table that was chosen. For a whole warp.
DEV void write_own(u32 counts, u8* to) {
    const u32 lane = threadIdx.x & 31;
    u32 f[PARTS];
#pragma unroll
    for (u32 k = 0; k < PARTS; k++)
        f[k] = 32 * k + lane < TOKENS ? load_shared32(counts + FREQUENCIES_AT + 4 * (32 * k + lane)) : 0;
    put_table(f, lane, to);
}

// No token was met yet. For a whole warp.
DEV void clear_counts(u32 counts) {
    __syncwarp();
    for (u32 i = threadIdx.x & 31; i < TILE_COUNT_BYTES / 16; i += 32)
        store_shared128(counts + 16 * i, make_uint4(0, 0, 0, 0));
    __syncwarp();
}

}    // namespace ratio
