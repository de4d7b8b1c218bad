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
    if (threadIdx.x < 32) {
        const FrontWriter w = {d.front(), Desk<T>::OUT_BYTES / 2};
        u32 at = form == NO_FORM ? 0 : write_form(d, w, form, list);
        if (uniform(d.patches)) at = write_patches(d, w, at);
        if (threadIdx.x == 0) {
            const bool listed = form != NO_FORM && form >> ORDER_SHIFT;
            const u64 element = listed ? 0 : element_of(d, numbers, form, base);
            s.coded = {s.set | s.predictor << 3 | numbers << 5 | (u32)(d.patches > 0) << 8,
                       at,
                       base,
                       d.beside ? d.head.beside_missing(element) : element,
                       s.coded.low,
                       listed};
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
    close_codes(d, way.rule.coarse ? (u32)IN_STEPS : (u32)OF_MULTIPLES, NO_FORM, (u64)(i64)d.survey.base, none);
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
            s.coded.constant = d.head.missing[all];
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
    if (threadIdx.x == 0 && !within) s.kind = KIND_RAW;
    if constexpr (T::EXPONENT)
        if (d.masked && threadIdx.x < 32) {
            const u32 bytes = write_plane(d);
            if (threadIdx.x == 0) s.plane_units = bytes / UNIT;
        }
    __syncthreads();
}

template <class T, class Code>
SELDOM bool make_words(Desk<T>& d, u32 k, const Tables& t, Bench& b, const BodyRoom& room, Body& body) {
    const Slip& s = d.slips[k];
    Coding<InWords<Code>> c(t, b, {(const Code*)d.codes(k), s.n}, s.n, 8 * sizeof(typename T::Word));
    return write_body<T>(c, s.coded, room, body);
}
// Makes the body of a tile. For a whole warp.
template <class T> DEV void make_body(Desk<T>& d, u32 k, const Tables& t, Bench& b) {
    typedef typename T::Word Word;
    enum : u32 { ROOM_HALVES = 1536 };    // of a group's words, and of table and states
    Slip& s = d.slips[k];
    const u32 raw = units_of<T>(s.n);
    const BodyRoom room = {d.out(k), Desk<T>::OUT_BYTES / 2, s.coded.front_halves + ROOM_HALVES, d.out(k), d.side(k)};
    Body body = {s.kind, raw, 0, 0, 0};
    __syncwarp();
    if (uniform(s.kind == KIND_CONSTANT)) {
        body = write_constant(room, T::BITS < 32 ? 1 : T::BITS / 32, s.coded.constant);
    } else if (uniform(s.kind == KIND_PACKED)) {
        const bool good = sizeof(Word) == 8 && uniform(s.wide) ? make_words<T, u64>(d, k, t, b, room, body)
                                                               : make_words<T, u32>(d, k, t, b, room, body);
        if (!good) body.kind = KIND_RAW;
    }
    const u32 plane = s.plane_units;
    if (uniform(body.kind == KIND_RAW || (plane && plane + body.units >= raw))) body = {KIND_RAW, raw, 0, 0, 0};
    if ((threadIdx.x & 31) == 0) {
        s.body = body;
        if (body.kind == KIND_RAW)
            s.plane_units = 0;
        else if (plane)
            *(u32*)d.plane_of(k) |= body.kind << 6;
    }
    __syncwarp();
}

}    // namespace interp::encoder
