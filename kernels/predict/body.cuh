// Twin: src/codec/predict/body/encode.rs
// A tile within the bound to a body.
#pragma once
#include "choose.cuh"
#include "beside.cuh"
#include "code.cuh"
#include "tile.cuh"

namespace predict {

enum : u32 { NO_FORM = ~0u, SPARSE_HALVES = 5632 };

// What a head says.
struct Said {
    u32 set, predictor, map, has_table, form;
    u64 base;    // extended
};

// A word as a number of 64 bits.
template <class T> DEV u64 extended_word(typename T::Word w) {
    return T::BITS == 64 ? (u64)w : (u64)(i64)(i32)extended<T>(w);
}

// The further words of a base.
DEV u32 words_of_base(u64 base) {
    const u64 magnitude = base ^ (u64)((i64)base >> 63);
    const u32 bits = magnitude ? top_bit(magnitude) + 2 : 1;
    const u32 words = bits > BASE_BITS ? (bits - BASE_BITS + 15) / 16 : 0;
    return words == 3 ? 4 : words;
}
// Bytes of what stands before the patches.
DEV u32 prefix_bytes(const Said& said) {
    return HEAD_BYTES + (said.form != NO_FORM ? 2 : 0) + 2 * words_of_base(said.base);
}

// Puts a packed body together. By one thread.
DEV void make_body(Body& body, const Said& said, u32 sparse, u32 change, u32 longest, u32 is_masked,
                   const Piece& patches, const Piece& side, u32 state_halves, const Piece& words) {
    const u32 base_words = words_of_base(said.base);
    const u32 bits = said.set | said.predictor << 3 | said.map << 5 | said.has_table << 7 |
                     (u32)(patches.halves > 0) << 8 | sparse << 9 | change << 10 | longest << 18 | is_masked << 23 |
                     min_of(base_words, 3u) << 24 | (u32)said.base << (32 - BASE_BITS);
    body.prefix[0] = (u16)bits;
    body.prefix[1] = (u16)(bits >> 16);
    u32 halves = 2;
    if (said.form != NO_FORM) body.prefix[halves++] = (u16)said.form;
    for (u32 k = 0; k < base_words; k++) body.prefix[halves++] = (u16)((u64)((i64)said.base >> BASE_BITS) >> (16 * k));
    body.kind = KIND_PACKED;
    body.pieces[0] = {body.prefix, halves};
    body.pieces[1] = patches;
    body.pieces[2] = side;
    body.pieces[3] = {(const u16*)body.states, state_halves};
    body.pieces[4] = words;
    u32 all = 0;
    for (u32 k = 0; k < 5; k++) all += body.pieces[k].halves;
    body.bytes = (all + 1) / 2 * 4;
}

// The patches of a body.
template <class T> DEV Piece patches_of(const Desk<T>& d, const Said& said) {
    return {(const u16*)d.patches(), said.form == NO_FORM ? d.patch_halves : 0};
}

// A tile of codes that are all 0.
template <class T> DEV void make_empty(Desk<T>& d, Body& body, const Said& said) {
    if (threadIdx.x == 0) make_body(body, said, 0, NEVER, 0, 0, patches_of(d, said), {nullptr, 0}, 0, {nullptr, 0});
    __syncthreads();
}

// Encodes codes of up to 32 bits, or more, by the tables that are always there and one of the tile's own where that
// takes less, or by few of its lanes. For a whole block; a barrier before and behind.
template <class T, class Word>
SELDOM void code_tile(Desk<T>& d, Shelf shelf, Body& body, Said said, const Word* codes) {
    const u32 which = (u32)(&body - d.body);    // words of both bodies of a tile are kept apart
    Bench_of_coder& b = *(Bench_of_coder*)shelf.v;
    const u32 n = d.n;
    for (u32 i = threadIdx.x; i < ALL_SYMBOLS; i += blockDim.x) b.symbols[i] = d.symbols()[i];
    take_groups(b, codes, n);
    const bool own = choose_table(b, d.part);
    // A warp makes words of the codes, another one writes the table, and a third one tries to make a sparse tile.
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32, halves = Desk<T>::STREAM_HALVES;
    u16* const stream = d.stream(which);
    Writer w;
    u32 longest = 0, is_masked = 0, state_halves = 0;
    if (warp == 0) {
        w.begin(stream, halves, lane);
        const u64 classes = b.own_classes;
        list_groups(b, n, own, [&](u32 g) { return own ? (u32)(classes >> (4 * b.classes[g])) & 15 : b.classes[g]; });
        encode_listed(b, codes, n, false, w);
        state_halves = write_states(w.x, body.states, longest, is_masked);
    } else if (warp == 1) {
        if (lane == 0) b.table_halves = own ? write_table(b, d.table(which)) / 2 : 0;
    } else if (warp == 2) {
        bool far = false;
        if (sizeof(Word) == 8)
            for (u32 i = lane; i < n; i += 32) far |= (u64)codes[i] >> 32 != 0;
        u32 sparse = ~0u, head_bytes = 0;
        if (!uniform(__any_sync(FULL, far)))
            sparse = encode_sparse(b, codes, n, stream, SPARSE_HALVES, (u8*)body.sparse_head, head_bytes);
        if (lane == 0) {
            b.sparse = sparse;
            b.sparse_head_bytes = head_bytes;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        const Piece patches = patches_of(d, said);
        const u32 sparse = b.sparse, head_bytes = b.sparse_head_bytes, table_halves = b.table_halves;
        if (sparse != ~0u && head_bytes / 2 + sparse < state_halves + table_halves + halves - w.at) {
            make_body(body, said, 1, 0, 0, 0, patches, {body.sparse_head, head_bytes / 2}, 0,
                      {stream + SPARSE_HALVES - sparse, sparse});
        } else {
            said.has_table = own;
            make_body(body, said, 0, w.change, longest, is_masked, patches, {(const u16*)d.table(which), table_halves},
                      state_halves, {stream + w.at, halves - w.at});
        }
    }
    __syncthreads();
}

// Whether any of n codes is not 0. For a whole block; a barrier before and behind.
template <class T, class Word> DEV bool any_code(Desk<T>& d, const Word* codes) {
    u32 any = 0;
#pragma unroll 8
    for (u32 i = threadIdx.x; i < d.n; i += blockDim.x) any |= codes[i] != 0;
    return block_or(any, d.part) != 0;
}

// Whether words hold all codes of interpolation, which have up to 25 bits, whatever the type. For a whole block; a
// barrier before and behind.
template <class T> DEV bool fit_words(Desk<T>& d, const u32* codes) {
    if constexpr (T::BITS < 32) {
        u32 all = 0;
#pragma unroll 8
        for (u32 i = threadIdx.x; i < d.n; i += blockDim.x) all |= codes[i];
        return block_or(all, d.part) >> T::BITS == 0;
    }
    return true;
}

// Encodes multiples by interpolation; false where that cannot be, or an element would come back as a missing value. For
// a whole block; a barrier before and behind.
template <class T> SELDOM bool interpolated(Desk<T>& d, Shelf shelf, Body& body, Rule rule) {
    u32* const v = shelf.v;
    u32* const codes = (u32*)d.codes();
    copy_words(v, d.numbers(), d.n);
    __syncthreads();
    const bool masked = is_masked(d);
    if (!encode_numbers(d, shelf, d.box, rule, masked ? d.not_counted() : nullptr, codes)) return false;
    if (threadIdx.x == 0) d.corrections = 0;
    __syncthreads();
    if (rule.coarse && d.survey.on && !find_corrections(d, [=](u32 i) { return v[i]; })) return false;
#pragma unroll 1
    for (u32 k = 0; k < d.head.values && !d.beside; k++) {
        i32 number;
        if (!multiple_of(d, (typename T::Word)d.head.missing[k], number)) continue;
        const u32 same = (u32)number - (u32)d.survey.base;
        u32 any = 0;
#pragma unroll 1
        for (u32 i = threadIdx.x; i < d.n; i += blockDim.x)
            any |= v[i] == same && !(masked && has_bit(d.not_counted(), i));
        if (block_or(any, d.part)) return false;
    }
    write_patches(d);
    const Said said = {rule.set, 1 + rule.rough, rule.coarse ? (u32)ON_LATTICE : (u32)MULTIPLES,
                       0,        NO_FORM,        (u64)(i64)d.survey.base};
    if (d.survey.small && !masked ? d.has_codes : any_code(d, codes))
        code_tile(d, shelf, body, said, codes);
    else
        make_empty(d, body, said);
    return true;
}

// Along which axes differences of words are taken, or what is taken from the words before:
// src/codec/predict/predict/axes.rs. For a whole block; a barrier before and behind.
template <class T> SELDOM u32 choose_by_some(Desk<T>& d, Shelf shelf, const typename T::Word* words, u64& middle) {
    typedef typename T::Word Word;
    u64* const second = (u64*)shelf.e;    // of the second round
    const Grid& g = d.head.grid;
    const u32 groups = (g.capacity() + GROUP - 1) / GROUP, sets = g.set() + 1,
              every = groups / SAMPLED_GROUPS ? groups / SAMPLED_GROUPS : 1, shift = top_bit(every);
    const auto is_sampled = [=](u32 group, u32 round) {
        return ((group ^ (group >> shift) ^ (round * every / 2)) & (every - 1)) == 0;
    };
    if (threadIdx.x < SETS) d.costs[threadIdx.x] = second[threadIdx.x] = 0;
    __syncthreads();
    const Places box = d.box;
    const u32 a = g.a, b = g.b, capacity = g.capacity(), lane = threadIdx.x & 31;
    const i64 none_least = (i64)(~0ull >> 1), none_most = -none_least - 1;
    i64 least[2] = {none_least, none_least}, most[2] = {none_most, none_most};
    u64 costs[2] = {0, 0};    // of the set of this lane's number
    u64 seen[2] = {0, 0};
    // Groups are those of a whole tile, so that some elements may not be there.
#pragma unroll 1
    for (u32 group = threadIdx.x / 32; uniform(group < groups); group += blockDim.x / 32) {
        const bool in[2] = {is_sampled(group, 0), is_sampled(group, 1)};
        if (!uniform(in[0] | in[1])) continue;
        u64 sums[SETS] = {0, 0, 0, 0, 0, 0, 0, 0};
        bool any = false;
#pragma unroll 1
        for (u32 k = lane; k < GROUP; k += 32) {
            const u32 at = group * GROUP + k, x = at & low_ones(a), y = at >> a & low_ones(b), z = at >> (a + b);
            if (at >= capacity || x >= box.lx || y >= box.ly || z >= box.lz) continue;
            any = true;
            const i64 own = (i64)extended_word<T>(words[(z * box.ly + y) * box.lx + x]);
#pragma unroll
            for (u32 r = 0; r < 2; r++) {
                if (!in[r]) continue;
                least[r] = own < least[r] ? own : least[r];
                most[r] = own > most[r] ? own : most[r];
            }
            Corners<Word> corners(box, x, y, z, [=](u32 k) { return words[k]; });
            corners.differ();
#pragma unroll
            for (u32 s = 0; s < SETS; s++) {
                const Word of_set = on_face(s, x, y, z) ? corners.at[SETS - 1] : corners.at[s];
                sums[s] += magnitude_limited(magnitude_of(extended<T>(of_set)));
            }
        }
        __syncwarp();
        u64 sum = 0;
#pragma unroll
        for (u32 s = 0; s < SETS; s++) {
            const u64 of_set = warp_sum(sums[s]);
            if (lane == s) sum = of_set;
        }
        const u64 cost = logarithm(sum);
        const bool is_there = __any_sync(FULL, any);
        for (u32 r = 0; r < 2; r++) {
            if (!in[r]) continue;
            costs[r] += cost;
            seen[r] += lane == 0 && is_there;
        }
    }
    if (lane < SETS) {
        atomicAdd(&d.costs[lane], costs[0]);
        atomicAdd(&second[lane], costs[1]);
    }
#pragma unroll
    for (u32 r = 0; r < 2; r++) {
        least[r] = block_min(least[r], d.part);
        most[r] = block_max(most[r], d.part);
        seen[r] = block_sum(seen[r], d.part);
    }
    u32 best = 0;
    for (u32 s = 1; s < sets; s++)
        if (d.costs[s] < d.costs[best]) best = s;
    u64 cost = d.costs[best];
    i64 first = least[0], last = most[0];
    u64 all = seen[0];
    if (groups > SAMPLED_GROUPS && first < last && cost < SMALL_COST * all) {
        best = 0;
        for (u32 s = 1; s < sets; s++)
            if (d.costs[s] + second[s] < d.costs[best] + second[best]) best = s;
        cost = d.costs[best] + second[best];
        first = least[1] < first ? least[1] : first;
        last = most[1] > last ? most[1] : last;
        all += seen[1];
    }
    const u64 length = (u64)last - (u64)first;
    middle = 0;
    if (all * logarithm(min_of(length, (u64)1 << 56) * (GROUP / 4)) < cost) {
        best = 0;
        middle = (u64)first + length / 2;
    }
    __syncthreads();    // all have seen the costs
    return best;
}

// The element that a word stands for.
template <class T> DEV typename T::Word element_of(const Desk<T>& d, u32 form, typename T::Word word) {
    if (form == NO_FORM) return d.meaning.bin(word);
    from_word<T>(TileForm::of(form), Side(), nullptr, d.head.is_float, word);
    return word;
}

// Packs words, from which `base` was taken: bins, or elements' bits in a form. For a whole block; a barrier before and
// behind.
template <class T>
SELDOM void pack(Desk<T>& d, Shelf shelf, Body& body, typename T::Word* words, typename T::Word base, u32 form) {
    typedef typename T::Word Word;
    // Eight short words, and 128 such sums, must fit 32 bits, and eight a word.
    enum : u32 { SHORT_BITS = T::BITS < 32 ? T::BITS - 5 : 21 };
    Said said = {0, 0, form != NO_FORM && d.head.step_w ? (u32)EXACT : (u32)PLAIN, 0, form, extended_word<T>(base)};
    Word far = 0, large = 0;
#pragma unroll 8
    for (u32 i = threadIdx.x; i < d.n; i += blockDim.x) {
        far |= (words[i] + ((Word)1 << SHORT_BITS)) >> (SHORT_BITS + 1);
        large |= (words[i] + (Word)SMALL_NUMBER) / (2 * SMALL_NUMBER);
    }
    const u32 size = block_or((u32)(far != 0) | (u32)(large != 0) << 1, d.part);
    if (threadIdx.x == 0) d.survey.small = size == 0;
    if (!(size & 1) && d.head.grid.is_smooth()) {
        u32* const numbers = d.numbers();
        u32* const codes = (u32*)d.codes();
#pragma unroll 8
        for (u32 i = threadIdx.x; i < d.n; i += blockDim.x) numbers[i] = (u32)words[i];
        __syncthreads();
        const Way way = choose_exact(d, shelf, numbers);
        if (way.interpolated) {
            copy_words(shelf.v, numbers, d.n);
            __syncthreads();
            if (encode_numbers(d, shelf, d.box, way.rule, nullptr, codes) && fit_words(d, codes) &&
                any_code(d, codes)) {
                said.set = way.rule.set;
                said.predictor = 1 + way.rule.rough;
                code_tile(d, shelf, body, said, codes);
                return;
            }
        }
    }
    u64 middle;
    const u32 set = choose_by_some(d, shelf, words, middle);
    said.set = set;
    base += (Word)middle;
    said.base = extended_word<T>(base);
    Word* const codes = d.codes();
    const Places box = d.box;
    Walk w(box, threadIdx.x, blockDim.x);
#pragma unroll 1
    for (u32 i = threadIdx.x; i < box.count(); i += blockDim.x, w.next())
        codes[i] = code_of(
            extended<T>(middle     ? words[i] - (Word)middle
                        : set == 0 ? words[i]
                                   : lorenzo<Word>(box, set, i, w.x, w.y, w.z, [=](u32 k) { return words[k]; })));
    __syncthreads();
    if (any_code(d, codes)) {
        code_tile(d, shelf, body, said, codes);
        return;
    }
    const u32 bytes = T::BITS == 64 ? 8 : 4;
    if (patches_of(d, said).halves || bytes > (prefix_bytes(said) + 3) / 4 * 4) {
        make_empty(d, body, said);
        return;
    }
    if (threadIdx.x == 0) {
        body.kind = KIND_CONSTANT;
        body.bytes = bytes;
        body.constant = element_of(d, form, base);
    }
    __syncthreads();
}

// Whether a word is a bin, or rounded bits, of a missing value, which it may not be.
template <class T> DEV bool collides(const Desk<T>& d, typename T::Word word) {
    bool any = false;
#pragma unroll 1
    for (u32 k = 0; k < d.collisions && !d.beside; k++) any |= word == d.colliding[k];
    return any;
}

// Encodes elements by bins; false where one would come back as a missing value. For a whole block; a barrier before and
// behind.
template <class T> SELDOM bool in_bins(Desk<T>& d, Shelf shelf, Body& body, const typename T::Word* elements) {
    typedef typename T::Word Word;
    look(d, elements);
    Word* const words = d.numbers_of_bins();
    const Word base = bin_of(d, elements[0]);
    __syncthreads();
    u32 any = 0;
#pragma unroll 2
    for (u32 i = threadIdx.x; i < d.n; i += blockDim.x) {
        const Word bin = bin_of(d, elements[i]);
        any |= collides(d, bin);
        words[i] = extended<T>(bin - base);
    }
    if (block_or(any, d.part)) return false;
    pack(d, shelf, body, words, base, NO_FORM);
    return true;
}

// The multiples that bins do not restore; false if they are too many. For a whole block; a barrier before and behind.
template <class T> SELDOM bool correct_bins(Desk<T>& d, const typename T::Word* elements) {
    if (d.survey.on == 0) return true;
    return find_corrections(d, [&](u32 i) {
        const u32 own = d.numbers()[i], number = own + (u32)d.survey.base;
        if ((i32)number % (i32)LATTICE_STEP == 0) return own;
        return (u32)bin_of(d, elements[i]) * LATTICE_STEP - (u32)d.survey.base;
    });
}

// Encodes within the bound by multiples, or by bins with what these do not restore; false where that cannot be. For a
// whole block; a barrier before and behind.
template <class T> SELDOM bool on_lattice(Desk<T>& d, Shelf shelf, Body& body) {
    typedef typename T::Word Word;
    if (!survey_whole(d)) {
        look(d, d.elements());
        survey(d);
    }
    if (!find_exceptions(d)) return false;
    if (d.head.grid.is_smooth()) {
        const Way way = choose(d, shelf);
        if (way.interpolated && interpolated(d, shelf, body, way.rule)) return true;
    }
    if (threadIdx.x == 0) d.corrections = 0;
    __syncthreads();
    const Word* elements = d.elements();
    if (d.exceptions) {
        Word* const filled = d.numbers_of_bins();
        fill_exceptions(d, filled);
        elements = filled;
    }
    if (!correct_bins(d, elements)) return false;
    write_patches(d);
    return in_bins(d, shelf, body, elements);
}

// Encodes within the bound by bins or multiples; false where that cannot be. For a whole block; a barrier before and
// behind.
template <class T> SELDOM bool quantized(Desk<T>& d, Shelf shelf, Body& body) {
    if (threadIdx.x == 0) d.patch_halves = d.corrections = d.exceptions = 0;
    __syncthreads();
    if constexpr (T::BITS >= 32)
        if (d.head.multiplier) return on_lattice(d, shelf, body);
    return in_bins(d, shelf, body, d.elements());
}

// Zero bits at the low end of a word that has others.
template <class Word> DEV u32 zeros_below(Word any) { return any ? top_bit((Word)(any & (0 - any))) : 0; }
// An element's bits as a number in the order of elements, without so many of its low bits.
template <class T> DEV typename T::Word ordered(const Desk<T>& d, typename T::Word w, u32 shift) {
    const typename T::Word number = extended<T>(negative<T>(w) && d.head.is_float ? w ^ ones<T>(T::BITS - 1) : w);
    return (typename T::Word)((typename T::Signed)number >> shift);
}
// Encodes by elements' bits, rounded to fewer mantissa bits if asked; false where that cannot be. For a whole block; a
// barrier before and behind.
template <class T> SELDOM bool by_bits(Desk<T>& d, Shelf shelf, Body& body, u32 drop) {
    typedef typename T::Word Word;
    enum : u32 { MANTISSA = T::MANTISSA };
    const Word sign = (Word)1 << (T::BITS - 1), infinity = ones<T>(T::BITS - 1) >> MANTISSA << MANTISSA;
    const Word low = drop ? ((Word)1 << drop) - 1 : 0, half = drop ? (Word)1 << (drop - 1) : 0;
    const Word* const elements = d.elements();
    Word* const words = d.numbers_of_bins();
    Word all = 0;
    u32 bad = 0, collided = 0;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < d.n; i += blockDim.x) {
        Word w = elements[i];
        if (drop) {
            const Word a = w & ~sign, rounded = (a + (half - 1) + (a >> drop & 1)) & ~low;
            const bool special = a >= infinity;
            bad |= (special && (a & low)) || (!special && rounded >= infinity) || (a < (Word)1 << MANTISSA && a != 0);
            w = rounded | (w & sign);
            collided |= collides(d, w);
        }
        words[i] = w;
        all |= w;
    }
    if (threadIdx.x == 0) d.patch_halves = 0;
    const u32 both = block_or(bad | collided << 1, d.part);
    if (both & 1 || (both && !all_come_beside(d, words))) return false;
    all = block_or(all, d.part);
    const u32 shift = zeros_below(all);
    const Word base = ordered(d, words[0], shift);
    __syncthreads();    // all have it
#pragma unroll 1
    for (u32 i = threadIdx.x; i < d.n; i += blockDim.x) words[i] = extended<T>(ordered(d, words[i], shift) - base);
    __syncthreads();
    pack(d, shelf, body, words, base, shift);
    return true;
}

}    // namespace predict
