// Twin: src/codec/predict/code/counts.rs
// What words cost as symbols.
#pragma once
#include "forms.cuh"

namespace predict {

// The symbol that occurs most, and how many codes have it if all of these are without low bits.
template <class T> DEV u32 Forms<T>::bare_codes_of(const u32* counts, u32 count, u32 bits, u32& symbol) {
    u32 key = 0;
    for (u32 s = threadIdx.x; s < SYMBOLS; s += blockDim.x) {
        const u32 own = counts[s] << 8 | (SYMBOLS - 1 - s);
        key = own > key ? own : key;
    }
    key = block_max(key, d.part);
    symbol = SYMBOLS - 1 - (key & (SYMBOLS - 1));
    const u32 most = key >> 8;
    if (bits == 0 || 16 * most <= count) return 0;
    const Word first = (Word)symbol << bits;
    u32 low = 0;
#pragma unroll 4
    for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
        const Word code = codes()[i];
        low |= code >> bits == symbol && code != first;
    }
    return block_or(low, d.part) ? 0 : most;
}

// Counts of symbols with another low bit. For a whole block; a barrier before and behind.
template <class T> DEV void Forms<T>::halve_counts() {
    static_assert(PREDICT_EXACT_THREADS >= SYMBOLS / 2, "a thread for each symbol that is left");
    const u32 s = threadIdx.x, two = s < SYMBOLS / 2 ? b.count[2 * s] + b.count[2 * s + 1] : 0;
    __syncthreads();
    for (u32 k = s; k < SYMBOLS; k += blockDim.x) b.count[k] = k < SYMBOLS / 2 ? two : 0;
    __syncthreads();
}
// What the words that stand as codes cost as symbols.
template <class T> SELDOM Choice<typename T::Word> Forms<T>::symbols(u32 form, const Share_of& part, bool is_signed) {
    const Word sign = is_signed ? (Word)1 << (T::BITS - 1) : 0;
    Word least = ~(Word)0, most = 0;
    __syncthreads();
#pragma unroll 4
    for (u32 i = threadIdx.x; i < part.n; i += blockDim.x) {
        const Word code = wrap<T>(codes()[i]) ^ sign;
        least = code < least ? code : least;
        most = code > most ? code : most;
    }
    least = block_min(least, d.part);
    most = block_max(most, d.part);
    const u32 width = most > least ? width_of((Word)(most - least)) : 0;
    u32 bits = width > 8 ? width - 8 : 0;
    if ((most - (least >> bits << bits)) >> bits >= SYMBOLS) bits++;
    const Word first = least >> bits << bits;
    clear_counts();
#pragma unroll 4
    for (u32 i = threadIdx.x; i < part.n; i += blockDim.x) {
        const Word code = (wrap<T>(codes()[i]) ^ sign) - first;
        codes()[i] = code;
        atomicAdd(b.count + (u32)(code >> bits), 1u);
    }
    __syncthreads();
    u32 symbol;
    const auto cost = [&](u32 bits) {
        const u32 bytes = fit_all();
        const u32 bare = bare_codes_of(b.count, part.n, bits, symbol);
        const u64 low = bits ? cost_of_low(part.n, bits, bare) : 0;
        return part.cost(cost_of_counts() + BIT * low, bytes);
    };
    u64 least_cost = cost(bits);
    u32 best_bits = bits;
    copy_table(b.frequency, f.own);
    copy_table(b.count, f.best_count);
    for (;;) {
        u32 others = 0;
        for (u32 s = threadIdx.x; s < SYMBOLS; s += blockDim.x) others |= s > 0 && b.count[s];
        if (bits + 1 >= T::BITS || !block_or(others, d.part)) break;
        halve_counts();
        bits++;
        const u64 one = cost(bits);
        if (one >= least_cost) break;
        least_cost = one;
        best_bits = bits;
        copy_table(b.frequency, f.own);
        copy_table(b.count, f.best_count);
    }
    Choice<Word> choice = {};
    choice.low = best_bits;
    choice.bare_codes = bare_codes_of(f.best_count, part.n, best_bits, symbol);
    choice.bare = choice.bare_codes ? symbol : 0;
    choice.form = form | BY_SYMBOLS << 8 | (u32)(best_bits > 0) << 10;
    choice.base = first ^ sign;
    choice.own_table = 1;
    choice.cost = least_cost;
    return choice;
}

// The words that stand as codes, where many are zero; false if not.
template <class T> DEV bool Forms<T>::numbers(Choice<Word>& choice, const Share_of& part) {
    u32 zeros = 0;
    __syncthreads();
    for (u32 i = threadIdx.x; i < part.n; i += blockDim.x) zeros += codes()[i] == 0;
    zeros = block_sum(zeros, d.part);
    if ((part.share == 1 ? 16 : 128) * zeros < part.n) return false;
#pragma unroll 4
    for (u32 i = threadIdx.x; i < part.n; i += blockDim.x) codes()[i] = code_of(codes()[i]);
    __syncthreads();
    choice = tokens(choice, part, OPEN);
    return true;
}

}    // namespace predict
