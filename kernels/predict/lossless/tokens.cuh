// Twin: src/codec/predict/code/token_costs.rs
// What codes cost as tokens.
#pragma once
#include "forms.cuh"

namespace predict {

// Tokens of codes without so many low bits, and their raw bits together. Barriers before and behind.
template <class T> DEV u64 Forms<T>::make_tokens(const Share_of& part, u32 low) {
    u64 raw = 0;
#pragma unroll 4
    for (u32 i = threadIdx.x; i < part.n; i += blockDim.x) {
        u32 bits;
        d.tokens()[i] = (u8)token_of_code((Word)(codes()[i] >> low), bits);
        raw += bits;
    }
    return block_sum(raw, d.part);
}

template <class T>
SELDOM Choice<typename T::Word> Forms<T>::tokens_with_low(Choice<Word> choice, const Share_of& part, u32 bits) {
    const u64 raw = BIT * (make_tokens(part, bits) + cost_of_low(part.n, bits, 0));
    clear_counts();
#pragma unroll 4
    for (u32 i = threadIdx.x; i < part.n; i += blockDim.x) atomicAdd(b.count + d.tokens()[i], 1u);
    __syncthreads();
    const u32 bytes = fit_all();
    copy_table(b.frequency, f.own);
    choice.form |= 1 << 10;
    choice.own_table = 1;
    choice.low = bits;
    choice.bare = choice.bare_codes = 0;
    choice.cost = part.cost(cost_of_counts() + raw, bytes);
    return choice;
}

// What the codes cost as tokens, with and without a table of their own.
template <class T>
SELDOM Choice<typename T::Word> Forms<T>::tokens(Choice<Word> choice, const Share_of& part, u32 low) {
    if (low != OPEN && low > 0) return tokens_with_low(choice, part, low);
    const u32 lane = threadIdx.x & 31, groups = (part.n + GROUP - 1) / GROUP;
    u64 raw = 0, plain = 0;
    clear_counts();
#pragma unroll 1
    for (u32 g = threadIdx.x / 32; uniform(g < groups); g += blockDim.x / 32) {
        Quad<Word> quad;
        quad.take(codes(), part.n, g, lane, false);
        const u32 cls = class_of(quad.code);
        u32 cost = 0;
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            if (!(quad.has >> j & 1)) continue;
            raw += quad.raw[j];
            if (cls) cost += token_cost(cls, quad.token[j]);
            atomicAdd(b.count + quad.token[j], 1u);
        }
        four_tokens(g) = quad.token[0] | quad.token[1] << 8 | quad.token[2] << 16 | quad.token[3] << 24;
        __syncwarp();
        cost = __reduce_add_sync(FULL, cost);
        if (lane == 0) {
            plain += cost;
            f.fixed[g] = cls == OWN ? ~0ull : cost;
        }
    }
    raw = BIT * block_sum(raw, d.part);
    plain = block_sum(plain, d.part) + raw;
    choice.low = choice.bare = choice.bare_codes = 0;
    choice.own_table = 0;
    choice.cost = part.cost(plain, 0);
    // First for all groups, then for those that cost more by a fixed table; it has all tokens.
    fit_all();
    for (u32 s = threadIdx.x; s < SYMBOLS; s += blockDim.x) b.count[s] = b.count[s] > 0;
    __syncthreads();
#pragma unroll 1
    for (u32 g = threadIdx.x / 32; uniform(g < groups); g += blockDim.x / 32)
        if (cost_by_table(g, part.n) < f.fixed[g]) {
            const u32 there = codes_there(part.n, g, lane), four = four_tokens(g);
#pragma unroll
            for (u32 j = 0; j < QUAD; j++)
                if (there >> j & 1) atomicAdd(b.count + (four >> (8 * j) & 255), 1u);
        }
    __syncthreads();
    const u32 bytes = fit_all();
    u64 symbols = 0;
#pragma unroll 1
    for (u32 g = threadIdx.x / 32; uniform(g < groups); g += blockDim.x / 32) {
        const u64 own = cost_by_table(g, part.n);
        if (lane == 0) symbols += min_of(own, f.fixed[g]);
    }
    const u64 own = part.cost(block_sum(symbols, d.part) + raw, bytes);
    copy_table(b.frequency, f.own);
    if (own < choice.cost) {
        choice.own_table = 1;
        choice.cost = own;
    }
    const u32 bits = low == OPEN ? low_bits(part.n) : 0;
    if (bits < FEWEST_LOW) return choice;
    copy_table(f.own, f.trial);
    const Choice<Word> with_low = tokens_with_low(choice, part, bits);
    if (with_low.cost > choice.cost + choice.cost / FASTER) {
        copy_table(f.trial, f.own);
        return choice;
    }
    return with_low;
}

// What a group's tokens cost by the table. For a whole warp.
template <class T> DEV u64 Forms<T>::cost_by_table(u32 g, u32 count) const {
    const u32 there = codes_there(count, g, threadIdx.x & 31), four = four_tokens(g);
    u32 cost = 0;
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) cost += there >> j & 1 ? b.cost[four >> (8 * j) & 255] : 0;
    __syncwarp();
    return __reduce_add_sync(FULL, cost);
}

}    // namespace predict
