// Twin: src/codec/interp/body/encode.rs
// A tile's elements to codes, by a block, and these to a body, by a warp.
#pragma once
#include "beside.cuh"
#include "forms.cuh"
#include "missing.cuh"

namespace interp::encoder {

enum : u32 { NO_FORM = ~0u };

// The element that a number with the base stands for.
template <class T> DEV typename T::Word element_of(const Desk<T>& d, u32 numbers, u32 form, u64 base) {
    typedef typename T::Word Word;
    if (numbers == OF_BINS) return d.meaning.bin((Word)base);
    if (numbers != OF_BITS) return d.meaning.lattice.multiple((i32)base);
    const Word sign = (Word)1 << (T::BITS - 1), w = wrap<T>((Word)base);
    const u32 shift = form & 63;
    if (!d.head.is_float) return wrap<T>(w << shift);
    const Word bits = w & sign ? w ^ (sign - 1) : w;
    return ((bits << shift) & (sign - 1)) | (bits & sign);
}

// Completes what is known of a tile whose codes are there, of numbers that are so much less than what they stand for.
// For a whole block; a barrier before and behind.
template <class T> SELDOM void close_codes(Desk<T>& d, u32 numbers, u32 form, u64 base, const typename T::Word* list) {
    Slip& s = d.own();
    u32 any = 0;
    if (s.wide)
        for (u32 i = threadIdx.x; i < d.n; i += blockDim.x) any |= ((u64*)d.short_codes())[i] != 0;
    else
#pragma unroll 8
        for (u32 i = threadIdx.x; i < d.n; i += blockDim.x) any |= d.short_codes()[i];
    any = block_or(any, d.part);
    if (threadIdx.x < 32) {
        const FrontWriter w = {(u16*)d.front(), Desk<T>::OUT_BYTES / 2};
        u32 at = form == NO_FORM ? 0 : write_form(d, w, form, list);
        if (uniform(d.patches)) at = write_patches(d, w, at);
        if (threadIdx.x == 0) {
            s.numbers = numbers;
            s.patches = d.patches > 0;
            s.base = base;
            s.front_halves = at;
            s.has_codes = any != 0;
            const u32 size = T::BITS == 64 ? 8 : 4, packed = (2 * (2 + halves_of_base(base) + at) + 3) / 4 * 4;
            const bool listed = form != NO_FORM && form >> ORDER_SHIFT;
            if (!any && !s.patches && !listed && packed >= size) {
                s.kind = KIND_CONSTANT;
                s.constant = element_of(d, numbers, form, base);
            }
        }
    }
    __syncthreads();
}

template <class T> DEV u64 extended_word(typename T::Word w) { return sizeof(w) == 8 ? (u64)w : (u64)(i64)(i32)w; }

// Whether an element that is there would come back as a missing value from what interpolation restored. For a whole
// block; a barrier before and behind.
template <class T> SELDOM bool collides(Desk<T>& d, const u32* restored) {
    bool any_collides = false;
#pragma unroll 1
    for (u32 k = 0; k < d.head.values && !d.beside; k++) {
        i32 number;
        if (!multiple_of(d, (typename T::Word)d.head.missing[k], number)) continue;
        const u32 same = (u32)number - (u32)d.survey.base;
        u32 any = 0;
#pragma unroll 1
        for (u32 i = threadIdx.x; i < d.n; i += blockDim.x)
            any |= restored[i] == same && !(d.survey.masked && has_bit(d.absent(), i));
        any_collides |= block_or(any, d.part) != 0;
    }
    return any_collides;
}

// Codes of multiples by interpolation, if that is the way; whether bins may be coded by a rule tells `exactly`. For a
// whole block; a barrier before and behind.
template <class T> SELDOM bool code_multiples(Desk<T>& d, Shelf shelf, bool& exactly) {
    survey(d);
    if (!d.survey.steps) return false;
    const Case c = {d.box, d.multiples(), d.survey.masked ? d.absent() : nullptr, d.survey.base, 1, 0};
    const Way way = way_of_multiples(d, shelf, c);
    exactly = way.exactly;
    if (!way.interpolated || collides(d, shelf.v)) return false;
    const u32* const v = shelf.v;
    if (way.rule.coarse) correct(d, [=](u32 i) { return v[i]; });
    if (threadIdx.x == 0) {
        d.own().set = way.rule.set;
        d.own().predictor = 1 + way.rule.rough;
        d.own().wide = 0;
    }
    __syncthreads();
    const typename T::Word* const none = nullptr;
    close_codes(d, way.rule.coarse ? (u32)OF_STEPS : (u32)OF_MULTIPLES, NO_FORM, (u64)(i64)d.survey.base, none);
    return true;
}
// Codes within a bound; false where an element would come back as a missing value. For a whole block; a barrier before
// and behind.
template <class T> SELDOM bool code_within_bound(Desk<T>& d, Shelf shelf) {
    typedef typename T::Word Word;
    bool exactly = true;
    if constexpr (T::BITS >= 32)
        if (d.has_lattice() && code_multiples(d, shelf, exactly)) return true;
    if (!make_bins(d)) return false;
    take_base(d);
    if constexpr (T::BITS >= 32)
        if (d.has_lattice()) {
            const Word *const numbers = d.numbers(), base = d.base;
            const u32 of_survey = (u32)d.survey.base;
            correct(d, [=](u32 i) { return (u32)(numbers[i] + base) * (u32)LATTICE_STEP - of_survey; });
        }
    code_exactly<false>(d, shelf, exactly);
    close_codes(d, OF_BINS, NO_FORM, extended_word<T>(d.base + d.middle), (const Word*)nullptr);
    return true;
}

// Codes of elements' bits, of which mode rel rounds some off. For a whole block; a barrier before and behind.
template <class T> SELDOM void code_bit_for_bit(Desk<T>& d, Shelf shelf) {
    typedef typename T::Word Word;
    if constexpr (T::EXPONENT) round_elements(d);
    u32 form = take_in_order(d);
    const Word* const numbers = d.numbers();
    u64 cost;
    best_set<true, Word>(d, d.box, {true, (Word)(0 - d.base)}, cost, [=](u32 i) { return numbers[i]; });
    if constexpr (T::EXPONENT && T::BITS >= 32)
        if (d.head.is_float && find_decimals(d) && take_if_less(d, 32 + d.odd * (16 + T::BITS), cost))
            form = DECIMALS << ORDER_SHIFT;
    RankRoom<Word>& ranks = *(RankRoom<Word>*)shelf.e;
    if (find_ranks(d, ranks)) {
        const u32 bytes = d.listed * (T::BITS / 8);
        if (take_if_less(d, 16 + 8 * (bytes + bytes % 2), cost)) form = RANKS << ORDER_SHIFT;
    }
    const bool ranked = form >> ORDER_SHIFT == RANKS;
    // Errors of nodes will stand where the list is.
    if (ranked && threadIdx.x < d.listed) d.other()[threadIdx.x] = ranks.list[threadIdx.x];
    __syncthreads();
    code_exactly<true>(d, shelf, true);
    if (ranked || T::BITS <= 16) symbols_are_better(d, *(Bench*)shelf.v);
    close_codes(d, OF_BITS, form, extended_word<T>(d.base + d.middle), (const Word*)d.other());
}

// Makes codes of the elements of the tile at hand, or finds that it needs none. For a whole block; a barrier before and
// behind.
template <class T> DEV void code_tile(Desk<T>& d, Shelf shelf) {
    Slip& s = d.own();
    u32 all = ~0u;
    if constexpr (T::EXPONENT)
        if (d.head.values) all = take_out(d);
    if (all != ~0u) {
        if (threadIdx.x == 0) {
            s.kind = KIND_CONSTANT;
            s.constant = d.head.missing[all];
            s.has_codes = 1;    // it is one whatever it takes
        }
        __syncthreads();
        return;
    }
    if constexpr (T::EXPONENT)
        if (d.head.values && d.head.step_w) look_beside(d);
    bool within = true;
    if (d.head.step_w) {
        if constexpr (T::EXPONENT) within = code_within_bound(d, shelf);
    } else {
        code_bit_for_bit(d, shelf);
    }
    if (threadIdx.x == 0) {
        if (!within) s.kind = KIND_RAW;
        if (d.beside && s.kind == KIND_CONSTANT) s.constant = d.head.beside_missing(s.constant);
    }
    if constexpr (T::EXPONENT)
        if (d.masked && threadIdx.x < 32) {
            const u32 bytes = write_plane(d);
            if (threadIdx.x == 0) s.plane_units = bytes / UNIT;
        }
    __syncthreads();
}

// Makes words of the codes of a tile. For a whole warp.
template <class T, class Code> SELDOM void make_words(Desk<T>& d, u32 k, const Tables& t, Bench& b) {
    Slip& s = d.slips[k];
    const u32 lane = threadIdx.x & 31, n = s.n, front = s.front_halves, raw = d.head.raw_bytes(n);
    Coding<InWords<Code>> c(t, b, {(const Code*)d.codes(k), n}, n, 8 * sizeof(typename T::Word));
    if (lane == 0) b.has_own = 0;
    __syncwarp();
    u32 sparse = ~0u;
    u16* const side = d.side(k);
    if (uniform(s.direct)) {
        c.low = s.low;
        for (u32 i = lane; i < SYMBOLS; i += 32) b.count[i] = 0;
        __syncwarp();
#pragma unroll 1
        for (u32 g = 0; uniform(g < c.groups); g++) {
            Code any = 0;
            c.quad(g).each([&](Code code) {
                any |= code;
                atomicAdd(b.count + (u32)(code >> c.low), 1u);
            });
            const bool some = __any_sync(FULL, any != 0);
            if (lane == 0) b.classes[g] = (u8)(some ? (u32)OWN : 0);
        }
        fit(b);
        make_own_symbols(b);
        if (lane == 0) b.has_own = 1;
    } else {
        c.find_low(s.numbers == OF_BITS);
        c.find_classes();
        if (!uniform(c.low)) sparse = c.write_sparse(d.sparse(k));
        if (uniform(sparse == ~0u)) {
            const bool own = c.choose_table();
            if (lane == 0) b.has_own = own;
        }
    }
    __syncwarp();
    const u32 has_own = b.has_own, low_words = (c.low_bits() + 31) / 32;
    u16* const out = (u16*)d.out(k);
    const u32 room = Desk<T>::OUT_BYTES / 2;
    bool good = 4 * low_words + 2 * front < raw;
    const u32 end = good ? room - 2 * low_words : room;
    Writer w;
    w.begin(out, end, lane);
    good = good && c.encode_all(w, s.direct, front + 1024);
    u32 side_halves = 0, longest = 0;
    if (uniform(good)) {
        if (has_own) {
            if (lane == 0) side_halves = write_table(b, (u8*)side);
            side_halves = __shfl_sync(FULL, side_halves, 0);
        }
        side_halves += c.write_states(w.x, side + side_halves, longest);
        if (low_words) c.write_low((u32*)(out + end));
    }
    const bool is_sparse = sparse != ~0u && (!good || sparse <= side_halves + end - w.at);
    if (lane) return;
    s.side_halves = is_sparse ? 0 : side_halves;
    s.words = is_sparse ? d.sparse(k) + SPARSE_HALVES - sparse : out + w.at;
    s.word_halves = is_sparse ? sparse : end - w.at;
    s.low_words = is_sparse ? 0 : low_words;
    if (!good && !is_sparse) s.kind = KIND_RAW;
    s.said = is_sparse ? 1u << 9 : has_own << 7 | w.change << 10 | longest << 18 | c.low << 25;
}

// Puts the head of a packed tile together and finds how long its body is. By one lane.
template <class T> DEV void close_slip(Desk<T>& d, Slip& s, u32 of_words) {
    const u32 raw_units = d.head.raw_bytes(s.n) / UNIT;
    if (s.kind == KIND_PACKED) {
        const u32 base_halves = halves_of_base(s.base);
        const u32 bits =
            s.set | s.predictor << 3 | s.numbers << 5 | s.patches << 8 | min_of(base_halves, 3u) << 23 | of_words;
        s.prefix[0] = (u16)bits;
        s.prefix[1] = (u16)(bits >> 16);
        for (u32 k = 0; k < base_halves; k++) s.prefix[2 + k] = (u16)(s.base >> (16 * k));
        s.prefix_halves = 2 + base_halves;
        s.units = (s.prefix_halves + s.front_halves + s.side_halves + s.word_halves + 1) / 2 + s.low_words;
        if (s.units >= raw_units) s.kind = KIND_RAW;
    }
    if (s.kind == KIND_CONSTANT) {
        s.units = T::BITS < 32 ? 1 : d.head.element_bytes / UNIT;
        if (s.units >= raw_units && !s.has_codes) s.kind = KIND_RAW;
    }
    if (s.kind != KIND_RAW && s.plane_units + s.units >= raw_units && s.plane_units) s.kind = KIND_RAW;
    if (s.kind == KIND_RAW) {
        s.units = raw_units;
        s.plane_units = 0;
    }
}

// Makes the body of a tile. For a whole warp.
template <class T> DEV void make_body(Desk<T>& d, u32 k, const Tables& t, Bench& b) {
    Slip& s = d.slips[k];
    const u32 lane = threadIdx.x & 31, has_codes = s.kind == KIND_PACKED && s.has_codes;
    __syncwarp();
    if (uniform(has_codes)) {
        if (sizeof(typename T::Word) == 8 && uniform(s.wide))
            make_words<T, u64>(d, k, t, b);
        else
            make_words<T, u32>(d, k, t, b);
    }
    __syncwarp();
    if (lane == 0) {
        const u32 of_words = has_codes ? s.said : NEVER << 10;
        if (s.kind == KIND_PACKED && !has_codes) {
            s.set = 0;
            s.predictor = s.numbers >= OF_STEPS;
            s.side_halves = s.word_halves = s.low_words = 0;
        }
        close_slip(d, s, of_words);
        if (s.plane_units) *(u32*)d.plane_of(k) |= s.kind << 6;
    }
    __syncwarp();
}

}    // namespace interp::encoder
