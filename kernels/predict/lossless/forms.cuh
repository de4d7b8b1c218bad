// Twin: src/codec/predict/body/lossless/mod.rs
// What a tile is tried with bit for bit, and what that is made of.
#pragma once
#include "../body.cuh"

namespace predict {

enum : u32 {
    OPEN = ~0u,    // low bits are to be found
    HASHES = 1 << HASH_LOG2,
    ENTERED_OF_ASKED = ASKED * SEGMENT / ENTERED,
    MOST_ASKED = ELEMENTS / (ASKED * SEGMENT),
    PLACES_OF_RANKS = 1024,
};

// How a tile is to be coded.
template <class Word> struct Choice {
    u32 form, set, own_table;
    Word base, slope;
    u32 low, bare, bare_codes, digits;
    u64 cost;
};

// What is taken from words that grow along a row, so that codes need no sign, as codec/predict/body/lossless/slope.rs
// has it.
template <class Word> struct Rise {
    bool there, is_line;
    Word slope, first;    // times the number of each; from all, if codes are no differences
    u32 low;              // low bits of codes that stand beside the coder
    u64 cost;
};

// All of a tile, or a part of it, of which each element stands for some.
struct Share_of {
    u32 n;
    u64 share;

    DEV u64 cost(u64 symbols, u32 table_bytes) const { return share * symbols + 8 * BIT * (u64)table_bytes; }
};

// What distances are chosen by.
struct Bench_of_lags {
    struct Costs {
        u32 least[ELEMENTS / SEGMENT];         // in bits of a segment from bit 16 on, and the distance
        u16 of_near[2][ELEMENTS / SEGMENT];    // in bits
    };
    union {
        u32 seen[HASHES];    // numbers, plus 1, of the words with this hash that were entered last
        Costs costs;
    };
    union {
        u16 entered[ELEMENTS / ENTERED];    // hashes
        u16 hashes[PREDICT_THREADS];
    };
    // Of asked segments: hashes of words, distances, and what these, 0 and 1 take, in bits.
    u16 probed[MOST_ASKED * ASKED_WORDS], distances[MOST_ASKED * ASKED_WORDS], bits[MOST_ASKED][ASKED_WORDS + 2];
};

// What is counted and found, in shared memory.
template <class Word> struct Bench_of_forms {
    u32 own[SYMBOLS], trial[SYMBOLS], best_count[SYMBOLS];    // frequencies, frequencies, counts
    u64 fixed[ELEMENTS / GROUP];                              // what groups cost by the tables that are always there
    Word list[2 * SYMBOLS];    // of ranks; the second half holds them in any order while it is made
    u32 listed;
    u16 ranks[PLACES_OF_RANKS];    // places in the list, where elements are found by a hash; the list's length for none
    union {
        u32 widths[65];
        u32 first[PLACES_OF_RANKS];    // numbers, plus 1, of elements that stand for all that are equal
        Bench_of_lags lags;
        u32 before[MASK_WORDS + 1];
    };
};

template <class T> struct Forms {
    typedef typename T::Word Word;
    enum : bool { HAS_DECIMALS = T::EXPONENT && T::BITS >= 32, HAS_RANKS = T::BITS > 8 };
    Desk<T>& d;
    Bench_of_coder& b;
    Bench_of_forms<Word>& f;
    u32 n;

    static_assert(sizeof(Bench_of_forms<Word>) <= 4 * PREDICT_ERRORS, "it stands where errors do");

    DEV Forms(Desk<T>& d, Shelf shelf)
        : d(d), b(*(Bench_of_coder*)shelf.v), f(*(Bench_of_forms<Word>*)shelf.e), n(d.n) {}
    DEV Word* words() const { return d.numbers_of_bins(); }
    DEV Word* codes() const { return d.trial(); }
    DEV Word* best() const { return d.best(); }

    // A tile, and what is known of it before any form is tried.
    struct Known {
        Choice<Word> plain;     // its shift, and the base that is taken from its words
        u32 set, magnitudes;    // the axes along which differences look shortest; the form of magnitudes
        Rise<Word> rise;
    };

    // tables.cuh
    SELDOM u32 fit_all();
    DEV void clear_counts();
    DEV void copy_table(const u32* from, u32* to);
    DEV u64 cost_of_counts();

    // low.cuh
    static DEV u64 cost_of_low(u32 n, u32 bits, u32 bare_codes) {
        return 32 + 8 * (u64)(((n - bare_codes) * bits + 15) / 16 * 2);
    }
    DEV u32 low_bits(u32 count);
    DEV void take_out_bare(const Choice<Word>& choice, Word* to);
    SELDOM u32 write_low(const Choice<Word>& choice, u32 at);

    // tokens.cuh
    DEV u64 make_tokens(const Share_of& part, u32 low);
    SELDOM Choice<Word> tokens_with_low(Choice<Word> choice, const Share_of& part, u32 bits);
    SELDOM Choice<Word> tokens(Choice<Word> choice, const Share_of& part, u32 low);
    DEV u64 cost_by_table(u32 g, u32 count) const;
    // The tokens of this lane's codes of a group.
    DEV u32& four_tokens(u32 g) const { return ((u32*)d.tokens())[g * (GROUP / QUAD) + (threadIdx.x & 31)]; }

    // symbols.cuh
    DEV u32 bare_codes_of(const u32* counts, u32 count, u32 bits, u32& symbol);
    DEV void halve_counts();
    SELDOM Choice<Word> symbols(u32 form, const Share_of& part, bool is_signed);
    DEV bool numbers(Choice<Word>& choice, const Share_of& part);

    // sample.cuh
    DEV u32 sample_share() const;
    // Which group is looked at as number k.
    static DEV u32 sampled_group(u32 k, u32 every) { return every * k + 5 * k % every; }
    template <class Of> DEV u32 take_sample(Of word);
    SELDOM u32 axes();
    static DEV u32 tried(const u64 (&costs)[PLAIN_FORMS], bool two);

    // slope.cuh
    template <class Of> DEV void ends(u32 from, u32 to, Of value, Word& least, Word& most);
    DEV u64 widths(u32 from, u32 to, Word least);
    DEV Word step_of_row() const;
    SELDOM Rise<Word> rise(const Choice<Word>& choice);
    DEV Word code_with(const Rise<Word>& rise, u32 i) const;
    SELDOM Choice<Word> sloped(Choice<Word> choice, const Rise<Word>& rise, const Share_of& part, u32 low);

    // lags.cuh
    static DEV u32 hash(Word word, Word next);
    DEV u32 hash(u32 i) const;
    DEV u32 bits_at(u32 i, u32 lag) const;
    DEV void ask(u32 asked);
    DEV u32 bits_of_asked(u32 asked);
    SELDOM bool lags_may_pay(u32 set, u64 of_axes, u64 least);
    DEV void find_distances(u16* distances);
    DEV void cost_distances(const u16* distances);
    DEV bool choose_lags();
    DEV u32 changed_lags() const;
    SELDOM bool lags(Choice<Word>& choice);
    SELDOM void try_lags(const Known& known, Choice<Word>& least);
    SELDOM bool may_take_lags(const Known& known, const u64 (&costs)[PLAIN_FORMS]);
    DEV u32 write_lags(u8* side, u32 at);

    // ranks.cuh
    DEV bool may_be_few();
    static DEV u32 place_of(Word element);
    SELDOM bool make_list();
    DEV u32 rank_of(Word element) const;
    SELDOM void try_ranks(Choice<Word>& least);

    // decimals.cuh
    static DEV double value_of(Word bits) { return (double)Quantizer<T>::number_of_element(bits); }
    static DEV bool integer_of(Word bits, u32 digits, Word& k);
    DEV u32 digits_of() const;
    DEV bool are_nearer(u32 digits) const;
    DEV bool make_integers(u32 digits, u32& odd);
    SELDOM u32 find_digits(bool nearer);
    SELDOM void try_decimals(u32 digits, Choice<Word>& least);

    // choose.cuh
    DEV Choice<Word> differences(const Choice<Word>& choice, const Rise<Word>& rise, u32 low);
    DEV void keep_if_less(Choice<Word>& least, const Choice<Word>& choice);
    static DEV Word magnitude_word(Word bits, u32 shift) { return rotated<T>(bits) >> shift; }
    DEV void take_words(Word base);
    SELDOM void try_plain(const Known& known, u32 form, u32 low, Choice<Word>& least);
    template <class Of> DEV u64 look_at_symbols(u32 form, const Share_of& part, bool is_signed, Of word);
    SELDOM u32 look(const Known& known, u64 (&costs)[PLAIN_FORMS]);
    SELDOM Choice<Word> choose();

    // side.cuh
    SELDOM u32 write_side(const Choice<Word>& choice);
    static DEV void put_word(u8* to, Word word) {
        for (u32 k = 0; 16 * k < T::BITS; k++) ((u16*)to)[k] = (u16)(word >> (16 * k));
    }
};

}    // namespace predict
