// Twin: src/codec/interp/quantize/encode.rs, src/codec/interp/quantize/decimals.rs, src/codec/interp/quantize/ranks.rs
// What elements' bits are as numbers: in their order, integers over a power of ten, or places in a list.
#pragma once
#include "beside.cuh"
#include "choose.cuh"
#include "side.cuh"
#include "words.cuh"

namespace interp::encoder {

enum : u32 { ORDER_SHIFT = 6, RANK_PLACES = 1024 };

// What is kept of ranks: elements by the place where they are looked for, their ranks, and the list.
template <class Word> struct RankRoom {
    u32 first[RANK_PLACES];
    u16 ranks[RANK_PLACES];
    Word list[MOST_RANKS], any_order[MOST_RANKS];
};

DEV double value_of(u32 bits) { return (double)float_of(bits); }
DEV double value_of(u64 bits) { return float_of(bits); }
DEV u32 over_power(u32 k, double power) { return bits_of((float)((double)(i32)k / power)); }
DEV u64 over_power(u64 k, double power) { return bits_of((double)(i64)k / power); }
// The integer of an element times a power of ten, if that gives it back.
template <class T> DEV bool integer_of(typename T::Word bits, double power, typename T::Word& k) {
    const double round = 6755399441055744.0, most = T::BITS == 64 ? 2251799813685248.0 : 2147483648.0;
    const double whole = (value_of(bits) * power + round) - round;
    k = 0;
    if (!(fabs(whole) < most)) return false;
    k = (typename T::Word)(i64)whole;
    return over_power(k, power) == bits;
}

// A number of an element's bits, in the order of elements.
template <class T> DEV typename T::Word in_order(const Desk<T>& d, typename T::Word w, u32 shift) {
    typedef typename T::Word Word;
    const Word sign = (Word)1 << (T::BITS - 1);
    if (d.head.is_float) {
        w = (w & sign) | (w & (sign - 1)) >> shift;
        return extended<T>(w & sign ? w ^ (sign - 1) : w);
    }
    if (d.head.dtype >= DTYPE_U8) return w >> shift;
    return sizeof(Word) == 8 ? (Word)((i64)extended<T>(w) >> shift) : (Word)((i32)extended<T>(w) >> shift);
}
DEV u32 zeros_below(u32 x) { return __ffs((i32)x) - 1; }
DEV u32 zeros_below(u64 x) { return (u32)x ? zeros_below((u32)x) : 32 + zeros_below((u32)(x >> 32)); }

// The elements as numbers in their order; how many zero bits they have at the low end. For a whole block; a barrier
// before and behind.
template <class T> SELDOM u32 take_in_order(Desk<T>& d) {
    typename T::Word any = 0;
    for (u32 i = threadIdx.x; i < d.n; i += blockDim.x) any |= d.elements()[i];
    any = block_or(any, d.part);
    u32 shift = any ? zeros_below(any) : 0;
    if (d.head.is_float) shift = min_of(shift, (u32)T::BITS - 1);
    for (u32 i = threadIdx.x; i < d.n; i += blockDim.x) d.numbers()[i] = in_order(d, d.elements()[i], shift);
    __syncthreads();
    const typename T::Word first = d.numbers()[0];
    __syncthreads();    // all have it
    for (u32 i = threadIdx.x; i < d.n; i += blockDim.x) d.numbers()[i] -= first;
    if (threadIdx.x == 0) {
        d.base = first;
        d.middle = 0;
    }
    __syncthreads();
    return shift;
}

// The elements, rounded in mode rel where they may be. For a whole block; a barrier before and behind.
template <class T> SELDOM void round_elements(Desk<T>& d) {
    typedef typename T::Word Word;
    enum : u32 { MANTISSA = T::MANTISSA };
    const u32 drop = d.drop;
    if (!drop) return;
    const Word sign = (Word)1 << (T::BITS - 1), infinity = ones<T>(T::BITS - 1) >> MANTISSA << MANTISSA;
    const Word low = ((Word)1 << drop) - 1, half = (Word)1 << (drop - 1);
    u32 bad = 0, collided = 0;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < d.n; i += blockDim.x) {
        const Word w = d.elements()[i], a = w & ~sign, rounded = (a + (half - 1) + (a >> drop & 1)) & ~low,
                   own = rounded | (w & sign);
        const bool special = a >= infinity;
        bad |= (special && (a & low)) || (!special && rounded >= infinity) || (a < (Word)1 << MANTISSA && a != 0);
        for (u32 k = 0; k < d.collisions; k++) collided |= own == d.colliding[k];
        d.other()[i] = own;
    }
    const u32 both = block_or(bad | collided << 1, d.part);
    if (both & 1 || (both && !all_come_beside(d, d.other()))) return;
    for (u32 i = threadIdx.x; i < d.n; i += blockDim.x) d.elements()[i] = d.other()[i];
    __syncthreads();
}

// The elements as integers over a power of ten at `other`, if almost all are: `d.digits`, `d.odd`, and those that are
// not in the mask `wide`. For a whole block; a barrier before and behind.
template <class T> SELDOM bool find_decimals(Desk<T>& d) {
    typedef typename T::Word Word;
    const u32 n = d.n, lane = threadIdx.x & 31, whole = (n + 31) / 32 * 32;
    if (threadIdx.x < 32) {
        const u32 i = lane * ((n + 31) / 32);
        u32 digits = 0;
#pragma unroll 1
        for (; digits <= MOST_DIGITS; digits++) {
            Word k;
            const bool odd = i < n && !integer_of<T>(d.elements()[i], power_of(digits), k);
            if (uniform(__popc(__ballot_sync(FULL, odd)) <= MOST_ODD)) break;
        }
        if (lane == 0) d.digits = digits;
    }
    __syncthreads();
    if (d.digits > MOST_DIGITS) return false;
    const double power = power_of(d.digits);
    u32 odd = 0;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < whole; i += blockDim.x) {
        Word k = 0;
        const bool good = i < n && integer_of<T>(d.elements()[i], power, k);
        put_bit(d.spare_mask(), i, good);
        put_bit(d.wide(), i, i < n && !good);
        if (i < n) d.other()[i] = k;
        odd += i < n && !good;
    }
    odd = block_sum(odd, d.part);
    if (threadIdx.x == 0) d.odd = odd;
    __syncthreads();
    if (odd > n / 8) return false;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
        if (has_bit(d.spare_mask(), i)) continue;
        const u32 from = bit_before(d.spare_mask(), i);
        d.other()[i] = from == ~0u ? 0 : d.other()[from];
    }
    __syncthreads();
    return true;
}

// Where an element is looked for first.
template <class Word> DEV u32 rank_place(Word element) { return (u32)(((u64)element * KEY64) >> 54); }
// The ranks of elements at `other`, if there are few distinct ones, which are listed then. For a whole block; a barrier
// before and behind.
template <class T> SELDOM bool find_ranks(Desk<T>& d, RankRoom<typename T::Word>& r) {
    typedef typename T::Word Word;
    const u32 n = d.n, step = (n + SAMPLE_ALIKE - 1) / SAMPLE_ALIKE, t = threadIdx.x;
    const Word* const elements = d.elements();
    u32 is_alike = 0;
    if (t < SAMPLE_ALIKE && t * step < n)
        for (u32 k = 0; k < t; k++) is_alike |= elements[k * step] == elements[t * step];
    if (block_sum(is_alike, d.part) < 2) return false;
    for (u32 p = t; p < RANK_PLACES; p += blockDim.x) r.first[p] = 0;
    if (t == 0) d.listed = 0;
    __syncthreads();
    // The first thread with an element enters it where no other stands, at its place or behind that.
    u32 is_new = 0;
#pragma unroll 1
    for (u32 i = t; i < n && is_new <= MOST_RANKS; i += blockDim.x) {
        const Word own = elements[i];
        for (u32 p = rank_place(own);; p = (p + 1) % RANK_PLACES) {
            u32 first = r.first[p];
            if (first == 0) first = atomicCAS(r.first + p, 0u, i + 1);
            if (first == 0) is_new = atomicAdd(&d.listed, 1u) + 1;
            if (first == 0 || elements[first - 1] == own) break;
        }
    }
    __syncthreads();
    const u32 count = d.listed;
    __syncthreads();
    if (count > MOST_RANKS) return false;
    if (t == 0) d.count = 0;
    __syncthreads();
    // First in any order, then each where as many are below as there are before it.
    for (u32 p = t; p < RANK_PLACES; p += blockDim.x)
        if (r.first[p]) r.any_order[atomicAdd(&d.count, 1u)] = elements[r.first[p] - 1];
    __syncthreads();
    for (u32 p = t; p < RANK_PLACES; p += blockDim.x) {
        if (!r.first[p]) continue;
        const Word own = elements[r.first[p] - 1];
        u32 rank = 0;
        for (u32 k = 0; k < count; k++) rank += r.any_order[k] < own;
        r.list[rank] = own;
        r.ranks[p] = (u16)rank;
    }
    __syncthreads();
#pragma unroll 1
    for (u32 i = t; i < n; i += blockDim.x) {
        u32 p = rank_place(elements[i]);
        while (r.list[r.ranks[p]] != elements[i]) p = (p + 1) % RANK_PLACES;
        d.other()[i] = r.ranks[p];
    }
    __syncthreads();
    return true;
}

// Takes the numbers at `other` less the first one, with a form of so many bits, if they cost less than `cost`. For a
// whole block; a barrier before and behind.
template <class T> SELDOM bool take_if_less(Desk<T>& d, u32 form_bits, u64& cost) {
    typedef typename T::Word Word;
    const Word* const other = d.other();
    const Word first = other[0];
    u64 own;
    best_set<true, Word>(d, d.box, {true, (Word)(0 - first)}, own, [=](u32 i) { return (Word)(other[i] - first); });
    own += (u64)BIT * form_bits;
    if (own >= cost) return false;
    cost = own;
    for (u32 i = threadIdx.x; i < d.n; i += blockDim.x) d.numbers()[i] = other[i] - first;
    if (threadIdx.x == 0) d.base = first;
    __syncthreads();
    return true;
}

// Writes a form and what goes with it; how many halves. For a whole warp.
template <class T>
SELDOM u32 write_form(const Desk<T>& d, const FrontWriter& w, u32 form, const typename T::Word* list) {
    enum : u32 { SIZE = T::BITS / 8 };
    const u32 lane = threadIdx.x & 31;
    if (lane == 0) w.put(0, form);
    u32 at = 1;
    if (form >> ORDER_SHIFT == DECIMALS) {
        if (lane == 0) {
            w.put(1, d.digits);
            w.put(2, d.odd);
        }
        at = 3;
#pragma unroll 1
        for (u32 k = lane; uniform(k - lane < (d.n + 31) / 32); k += 32) {
            const u32 odd = 32 * k < d.n ? d.wide()[k] : 0, up_to = warp_running_sum((u32)__popc(odd));
            u32 to = at + up_to - __popc(odd);
            for (u32 left = odd; left; left &= left - 1, to++) {
                const u32 i = 32 * k + __ffs((i32)left) - 1, rank = to - 3;
                w.put(to, i);
                w.element(3 + d.odd + rank * (SIZE / 2), d.elements()[i], SIZE);
            }
            at += __shfl_sync(FULL, up_to, 31);
        }
        return 3 + d.odd * (1 + SIZE / 2);
    }
    if (form >> ORDER_SHIFT == RANKS) {
        if (lane == 0) w.put(1, d.listed);
        if (SIZE == 1) {
            for (u32 k = lane; k < (d.listed + 1) / 2; k += 32)
                w.put(2 + k, (u32)list[2 * k] | (2 * k + 1 < d.listed ? (u32)list[2 * k + 1] << 8 : 0));
            return 2 + (d.listed + 1) / 2;
        }
        for (u32 k = lane; k < d.listed; k += 32) w.element(2 + k * (SIZE / 2), list[k], SIZE);
        return 2 + d.listed * (SIZE / 2);
    }
    return at;
}

// Whether numbers as symbols, of which low bits stand apart, cost less than what was chosen; they are codes then. For a
// whole block; a barrier before and behind.
template <class T> SELDOM bool symbols_are_better(Desk<T>& d, Bench& b) {
    typedef typename T::Word Word;
    const u32 n = d.n;
    const Word* const numbers = d.numbers();
    i64 least, most;
    find_ends(d, least, most);
    const u64 range = (u64)most - (u64)least;
    const u32 width = range ? top_bit(range) + 1 : 0, low = width > 8 ? width - 8 : 0;
    if (low > 8 * sizeof(Word) - LEAST_ABOVE_LOW) return false;
    for (u32 s = threadIdx.x; s < SYMBOLS; s += blockDim.x) b.count[s] = 0;
    __syncthreads();
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(b.count + (u32)((numbers[i] - (Word)least) >> low), 1u);
    __syncthreads();
    if (threadIdx.x < 32) {
        fit(b);
        u64 cost = 0;
        for (u32 s = threadIdx.x; s < SYMBOLS; s += 32) cost += (u64)b.count[s] * b.cost[s];
        cost = warp_sum(cost) + (u64)BIT * (8 * (u64)table_bytes(b) + (u64)low * n);
        if (threadIdx.x == 0) d.flag = with_states(cost) < d.cost;
    }
    __syncthreads();
    const bool better = d.flag;
    __syncthreads();    // all have seen it
    if (!better) return false;
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) d.all_codes()[i] = numbers[i] - (Word)least;
    if (threadIdx.x == 0) {
        Slip& slip = d.own();
        slip.set = 0;
        slip.predictor = BY_SYMBOLS;
        slip.coded.low = low;
        slip.wide = sizeof(Word) == 8;
        d.middle = (Word)least;
    }
    __syncthreads();
    return true;
}

}    // namespace interp::encoder
