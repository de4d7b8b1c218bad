// Twin: src/codec/sleek/encode.rs
// The encoder for everything: both profiles, all element types, byte orders and alignments. And, of the same parts, one
// for the adaptive profile alone and words in the machine's byte order, which has a loop for arrays that are quantized
// and one for the others: a loop longer than the caches for instructions waits for them.
//
// A block has two chunks on their way: while the codes of one are chosen the one before lies packed. Then that goes to
// its place, whose sizes before it are known by now, and the other is packed where it lay. One warp, the leader warp,
// lays that out while the others place.
//
// A block of 4 warps shares:
//
//   tile[4]             codes of the chunk, a tile of  each warp its own
//                       8 subchunks for each warp
//   places, before      where a tile has exceptions    each warp its own, while it chooses
//   told                the choice of each subchunk    each warp its own; warp 0 (leader) reads all
//   laid                the layout of the chunk        warp 0 writes, all read
//   body                the chunk before as packed,    all warps build their parts; warps 1 to 3 place it, and
//                       then this one                  leave zeros
//   packed[4]           number, size and place         warp 0 publishes; the first fills in the place
//   zeros, inexact      votes                          all warps, with atomics and no barrier
//   state, quantizer    of the array                   thread 0 at the start of an array
//
//   a round:    each warp chooses for its tile; the first one looks up where the chunk before goes
//   barrier 1   choices and the place are there; then: warp 0 lays out this chunk, publishes its size and takes the
//               next ticket, the others move the chunk before from the body to the stream
//   barrier 2   the layout is there and the body is zero; then: one thread records the chunk before, all pack this one
#pragma once
#include "choose.cuh"
#include "compress.cuh"
#include "gaps.cuh"
#include "layout.cuh"
#include "quantize_tile.cuh"

// What the leader warp tells the warps.
template <class T> struct ChunkLayout {
    ChunkHeader<T> header;
    u32 plane, inner;          // of a masked chunk: units of its plane, and the kind of the body behind it
    u32 payload[SUBCHUNKS];    // as in Layout
    Exceptions exceptions[SUBCHUNKS];
};

template <class T, u32 MISSING> struct Shared {
    BlockState state;
    u32 round[3];        // rounds so far: for each of a round's three parts, between which are barriers
    u32 arrived;         // of all rounds: warps that have chosen
    Packed packed[4];    // of the last rounds
    Told<T> told;
    ChunkLayout<T> laid;
    uint4 body[BODY_VECTORS];                    // as it is built
    uint4 tile[COMPRESS_WARPS][TILE_VECTORS];    // the codes of the chunk, at their slots
    // Of each lane's strip: where there are exceptions, if its subchunk has any; and what the subchunk's strips before
    // it have of these, see counts_of.
    Wide<T> places[COMPRESS_WARPS][T::BITS > 8 ? 32 : 1];
    u32 before[COMPRESS_WARPS][T::BITS > 8 ? 32 : 1];
    Vote zeros;      // zeros that all words of a warp end in
    u32 shift;       // so many zeros were dropped; of the first warp, which is the leader warp
    Vote inexact;    // whether rounding would not be exact enough for a warp
    Quantizer<T> quantizer;
    u32 size[COMPRESS_WARPS];    // of each warp: the words that its codes are
    u32 bins[COMPRESS_WARPS];    // of each warp: what its last numbers took
    u32 attempt;                 // at the chunk
    Missing<T, MISSING> missing;
};

// Rounds off mantissa bits (src/primitives/round.rs); a chunk in which that would not be exact enough stays as it is.
template <class T> struct Rounding {
    typedef typename T::Word Word;
    u32 drop;
    static DEV Word magnitude(Word v) { return v & ones<T>(T::BITS - 1); }
    static DEV Word infinity() { return ones<T>(T::BITS - 1) >> T::MANTISSA << T::MANTISSA; }
    DEV Word round(Word v) const {
        const Word a = magnitude(v);
        return (a + ((((Word)1 << (drop - 1)) - 1) + (a >> drop & 1))) & ~ones<T>(drop);
    }
    DEV bool inexact(Word v) const {
        const Word a = magnitude(v);
        const bool special = a >= infinity();
        return special ? (a & ones<T>(drop)) != 0 : round(v) >= infinity() || (a < (Word)1 << T::MANTISSA && a != 0);
    }
    DEV Word apply(Word v) const { return round(v) | (v & ((Word)1 << (T::BITS - 1))); }
};

// What an encoder is for: anything, or the adaptive profile of words in the machine's byte order, of which none or all
// are quantized.
enum Use { ANYTHING, INTEGERS, BINS };

// ADAPTIVE: whether it is in the kernel for that profile alone. MISSING: of how many missing values it knows.
template <class T, Use USE, bool ADAPTIVE, u32 MISSING> struct GeneralEncoder {
    typedef typename T::Word Word;
    enum { WARPS = COMPRESS_WARPS, PER_WARP = SUBCHUNKS_A_WARP };
    enum { CHOOSE, PLACE, PACK };    // parts of a round
    typedef ::TileIntegers<T> TileIntegers;
    typedef Half<T> H;
    enum { LEADER_WARP = 0 };                  // the warp that lays out and never places
    enum { LANES = Strip<T>::OF_SUBCHUNK };    // of a subchunk, each with a strip of it

    Compressor& block;
    BlockState& state;
    Shared<T, MISSING>& shared;
    const Plan& plan;
    uint4* body;
    uint4* words;    // the warp's tile
    u32 lane, warp, special;
    u32 shift;                  // zeros that were dropped of the chunk; shared.shift may not be there yet
    Quantizer<T>& quantizer;    // there is no register to keep it in

    DEV GeneralEncoder(Compressor& block, Shared<T, MISSING>& shared)
        : block(block),
          state(shared.state),
          shared(shared),
          plan(state.job.plan),
          body(shared.body),
          words(shared.tile[uniform(threadIdx.x >> 5)]),
          lane(threadIdx.x & 31),
          warp(uniform(threadIdx.x >> 5)),
          quantizer(shared.quantizer) {}

    // Asked for only where it is not known.
    DEV bool fast() const { return USE == ANYTHING && block.a.fast; }
    DEV bool quantized() const { return T::EXPONENT > 0 && (USE == ANYTHING ? quantizer.on : USE == BINS); }
    // What the whole warp knows of these; where it is known beforehand the compiler shall know.
    static DEV bool together(bool x) { return USE == ANYTHING ? uniform(x) : x; }

    DEV void begin() const {
        if (threadIdx.x == 0) {
            quantizer.set(plan.step_w, plan.step_j);
            quantizer.set_bound(plan.abs_bound);
            quantizer.set_certain(plan.abs_bound);
        }
        for (u32 i = threadIdx.x; i < BODY_VECTORS; i += COMPRESS_THREADS) body[i] = make_uint4(0, 0, 0, 0);
        if (threadIdx.x < 4) shared.packed[threadIdx.x].there = 0;
        if (lane == 0) shared.bins[warp] = TileIntegers::SURE;
        if (threadIdx.x == 0) state.sums[LEADER_WARP] = shared.zeros.said = shared.inexact.said = 0;
        if (threadIdx.x == 0) shared.round[CHOOSE] = shared.arrived = shared.attempt = 0;
        if constexpr (MISSING > 0) {
            if (lane < 2) shared.missing.gaps[lane].some[warp] = 0;
            __syncthreads();
            if (threadIdx.x == 0) {
                shared.missing.there.said = shared.missing.gaps[0].collides = shared.missing.gaps[1].collides = 0;
                take_integers();
            }
        }
        __syncthreads();
    }
    // All chunks of an array that this block takes; the last one is not placed yet. False where it is to be decided
    // what is tried next.
    DEV bool run() {
        while (uniform(state.chunk[shared.round[CHOOSE] & 1] < plan.chunks))
            if (!step()) return false;
        return true;
    }
    DEV void finish() {
        find_place();
        __syncthreads();
        if (warp != LEADER_WARP) place();
        if (threadIdx.x == 0) shared.round[PACK] = shared.round[PLACE];
        __syncthreads();
        record();
    }

    // The chunk of so many rounds before.
    DEV Packed& packed(u32 round, u32 ago) const { return shared.packed[(round - ago) & 3]; }

    // Chooses for a chunk, places the one before, and packs. Each part reads for itself which round it is: there is no
    // register to keep it in. False where something is to be decided: about what was chosen, of which nothing is known
    // to others yet, or, once the chunk is packed that was not only tried by the plan, about the next one.
    DEV bool step() {
        if (MISSING == 0 || uniform(shared.attempt != KEPT)) {
            const u64 c = state.chunk[shared.round[CHOOSE] & 1];
            choose(c, state.job.source(c));
        } else {
            special = SPECIAL_DELTA2;
            if (is_float()) special = special_of_floats();
        }
        find_place();
        __syncthreads();
        if (MISSING > 0 && T::EXPONENT > 0 && uniform(collides(PLACE))) return false;
        Chosen choice = {0};
        Word base = 0;
        if (warp == LEADER_WARP)
            lay_out_chunk(choice, base);
        else
            place();
        __syncthreads();
        record();
        const Packed& packed = this->packed(shared.round[PACK], 0);
        pack_chunk(packed.c, uniform(packed.entry >> ENTRY_KIND_SHIFT), choice, base);
        return MISSING == 0 || uniform(shared.attempt == BY_PLAN);
    }

    // Whether an element of the chunk would come back as a missing value.
    DEV bool collides(u32 part) const {
        // A chunk of one missing value is constant, whatever its elements would be otherwise.
        if constexpr (MISSING > 0) return shared.attempt == BY_PLAN && !gaps(part).only() && gaps(part).collides;
        return false;
    }
    // Decides what is tried next. Apart from the loop over the chunks, which keeps its registers.
    DEV void settle() {
        u32 next = BY_PLAN;
        if (uniform(collides(PLACE))) {
            const u32 entry = entry_of(lay_out<T>(shared.told, lane));
            next = uniform(entry >> ENTRY_KIND_SHIFT == KIND_RAW) || all_come_beside() ? KEPT : BY_BITS;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            if constexpr (MISSING > 0) {
                gaps(CHOOSE).collides = 0;
                if (next != KEPT) shared.missing.there.said = 0;
            }
            if (next != KEPT) quantizer.on = next == BY_BITS ? 0 : plan.step_w;
            shared.attempt = next;
            // Who chooses again votes again.
            if (next != KEPT) shared.zeros.said = 0;
        }
        __syncthreads();
    }
    // Whether the chunk's elements that would come back as missing values may come back as the next larger numbers. For
    // a whole block.
    DEV bool all_come_beside() const {
        if constexpr (MISSING > 0 && T::EXPONENT > 0) {
            if (!quantized() && !plan.drop) return false;
            const Source source = state.job.source(state.chunk[shared.round[CHOOSE] & 1]);
            const auto words = [&](u32 k) { return filled_vector(source, k); };
            const bool all = quantized() ? finder().all_come_beside(quantizer, plan.abs_bound, words)
                                         : finder().all_round_beside(Rounding<T>{plan.drop}, words);
            if (!all) return false;
            if (threadIdx.x == 0) state.beside = 1;
            return true;
        }
        return false;
    }
    // The elements of the warp's subchunk k.
    DEV uint4 word_vector(const Source& source, u32 k) const { return vector_at(source, place_of(k)); }
    DEV uint4 vector_at(const Source& source, u32 at) const {
        const uint4 q = source.load<T>(at, true);
        return USE == ANYTHING && plan.big_endian ? swap_bytes<T>(q) : q;
    }
    // The same with others in the places of missing ones.
    DEV uint4 filled_vector(const Source& source, u32 k) const {
        const uint4 q = word_vector(source, k);
        if constexpr (MISSING > 0) {
            Word v[T::VALUES];
            split(q, v);
            const u32 missing = finder().any_hits(v), valid = __ballot_sync(FULL, missing != Finder::ALL);
            if (uniform(valid)) return finder().filled(q, missing, valid);
            Word all;
            const auto vector = [&](u32 at) { return vector_at(source, at); };
            return finder().find_other(source.bytes, k, vector, all) ? all_of<T>(all) : q;
        }
        return q;
    }
    // Lays out the chunk, while the other warps place the one before, and takes the next; the counter answers late.
    // What there is still to write of each subchunk comes back.
    DEV void lay_out_chunk(Chosen& choice, Word& base) {
        const u64 following = count_if(lane == 0, &state.job.slot->control.ticket);
        const Layout<T> l = lay_out<T>(shared.told, lane);
        const u32 entry = with_plane(entry_of(l));
        state.job.publish(state.chunk[shared.round[PLACE] & 1], entry);
        shared.laid.payload[lane] = l.payload;
        if (T::BITS > 8 && !together(fast())) shared.laid.exceptions[lane] = l.exceptions;
        if (lane == 0) {
            const u32 round = shared.round[PLACE];
            shared.laid.header = l.header;
            shared.zeros.said = shared.inexact.said = 0;
            if constexpr (MISSING > 0) shared.missing.there.said = shared.missing.gaps[~round & 1].collides = 0;
            packed(round, 0) = {state.chunk[round & 1], 0, entry, 1};
            shared.round[PACK] = round;
            shared.round[CHOOSE] = round + 1;
            state.take(following, ~round & 1);
        }
        choice = l.choice;
        base = l.base;
    }
    DEV u32 entry_of(const Layout<T>& l) const {
        const Told<T>& told = shared.told;
        bool constant = told.same.x & told.same.y & told.same.z & told.same.w;
        if (uniform(constant))
            for (int w = 1; w < WARPS; w++) constant &= told.first[w] == told.first[0];
        const u64 c = state.chunk[shared.round[PLACE] & 1];
        if constexpr (MISSING > 0) constant |= gaps(PLACE).only() != 0;
        return Job::entry_of(state.job.bytes_of(c), constant, l.bytes);
    }
    // The same with the plane, which the chunk may have before its body. For the leader warp.
    DEV u32 with_plane(u32 entry) const {
        if constexpr (MISSING > 0) {
            if (!uniform(gaps(PLACE).is_masked())) return entry;
            const u32 plane = finder(PLACE).plane_units(), units = plane + (entry & ENTRY_SIZE_MASK);
            const u32 kind = entry >> ENTRY_KIND_SHIFT;
            const u32 raw = (state.job.bytes_of(state.chunk[shared.round[PLACE] & 1]) + ALIGN - 1) / ALIGN;
            if (kind == KIND_RAW || units >= raw) return raw | KIND_RAW << ENTRY_KIND_SHIFT;
            if (lane == 0) {
                shared.laid.plane = plane;
                shared.laid.inner = kind;
            }
            return units | KIND_MASKED << ENTRY_KIND_SHIFT;
        }
        return entry;
    }
    typedef ::Finder<T, MISSING ? MISSING : 1> Finder;
    DEV auto& gaps(u32 part) const { return shared.missing.gaps[shared.round[part] & 1]; }
    DEV Finder finder(u32 part = CHOOSE) const { return {block.a, shared.missing, gaps(part), lane, warp}; }
    DEV bool has_gaps() const { return uniform(gaps(CHOOSE).some[warp]); }

    // Integers that would come back as one of the missing values: bins of their own, or elements' bits where these are
    // rounded (src/codec/sleek/plan.rs).
    DEV void take_integers() const {
        shared.missing.taken_count = 0;
        if (!quantized() && !plan.drop) return;
        for (u32 k = 0; k < finder().values(); k++) {
            const Word bits = finder().value(k);
            Word integer = bits;
            if (quantized() && !has_bin(quantizer, bits, integer)) continue;
            shared.missing.taken[shared.missing.taken_count++] = integer;
        }
    }
    // Tells if one of the warp's integers in the tile is such, before they become codes.
    template <class W> DEV void tell_collisions(const Survey<T>& s) const {
        if (shared.attempt != BY_PLAN) return;
        for (u32 j = 0; j < shared.missing.taken_count; j++) {
            Word x = shared.missing.taken[j];
            if (!quantized()) {
                if (x & ones<T>(shift)) continue;
                x = shift_right(x, shift);
            }
            x = wrap<T>(x - s.origin);
            const typename W::Word y = (typename W::Word)x;
            if (W::BITS < T::BITS && extended(y) != x) continue;
            // Few subchunks reach so far.
            if (T::BITS > 16 && !__any_sync(FULL, x - s.least <= s.spread)) continue;
            u32 same = 0;
#pragma unroll 1
            for (u32 k = 0; k < PER_WARP; k++)
                same |= any_of<W>(integers<W>().at(k, lane), [&](typename W::Word v) -> u32 { return v == y; });
            if (same) gaps(CHOOSE).collides = 1;
        }
    }
    // Takes the missing values out of the warp's words, which `q` has as they are in the source; `first`: whether it is
    // not known yet what the warp has. Other warps are waited for where a subchunk has nothing else.
    DEV void take_gaps(uint4 (&q)[PER_WARP], const Source& source, bool first) const {
        const auto missing = first ? finder().tell(q) : finder().missing(q);
        if (!has_gaps()) return;
        finder().fill(q, missing, tile(), source.bytes, [&](u32 at) { return vector_at(source, at); });
        __syncwarp();    // all have read theirs before integers come there
    }

    // The chunk of the round before, if there was one: finds out where it goes; all but the leader warp place it; the
    // second warp enters it. To choose takes so long that the warp that is here first is done before the others come.
    DEV void find_place() const {
        const u32 round = shared.round[CHOOSE];
        Packed& last = packed(round, 1);
        if (threadIdx.x == 0) shared.round[PLACE] = round;
        const bool first =
            __shfl_sync(FULL, lane ? 0 : atomicAdd(&shared.arrived, optimisation_barrier(1)), 0) % WARPS == 0;
        if (uniform(first && last.there)) {
            const u64 before = state.job.find_place(last.c, packed(round, 2).end(), lane);
            if (lane == 0) last.before = before;
        }
    }
    DEV void place() {
        const Packed& last = packed(shared.round[PLACE], 1);
        if (uniform(last.there)) block.place<true, LEADER_WARP + 1>(body, last);
    }
    DEV void record() {
        const Packed& last = packed(shared.round[PACK], 1);
        if (threadIdx.x == 32 && last.there) block.record(last);
    }

    // The words of the chunk as integers x, docs/reference/codecs/sleek.md §3.
    DEV void to_integers(uint4 (&q)[PER_WARP]) {
        if (threadIdx.x == 0) shared.shift = 0;
        shift = 0;
        special = SPECIAL_DELTA2;
        if (together(quantized())) return;    // for each subchunk when its turn comes
        if (USE == ANYTHING && uniform(rounds())) round_off(q);
        const bool shifted = (!fast() || (plan.rounded && rounds())) && drop_common_zeros(q);
        if (!shifted && T::EXPONENT > 0 && plan.is_float) special = special_of_floats();
    }
    DEV u32 special_of_floats() const { return fast() ? SPECIAL_EXPONENT : SPECIAL_COUNTDOWN; }

    // Whether mantissa bits are rounded off: not of elements' own bits.
    DEV bool rounds() const { return plan.drop && !(MISSING > 0 && shared.attempt == BY_BITS); }
    DEV void round_off(uint4 (&q)[PER_WARP]) {
        const Rounding<T> rounding = {plan.drop};
        bool inexact = false;
        for (int pass = 0; pass < 2; pass++) {
#pragma unroll
            for (int k = 0; k < PER_WARP; k++) {
                Word v[T::VALUES];
                split(q[k], v);
#pragma unroll
                for (int i = 0; i < T::VALUES; i++) {
                    if (pass == 0)
                        inexact |= rounding.inexact(v[i]);
                    else
                        v[i] = rounding.apply(v[i]);
                }
                if (pass == 1) q[k] = join(v);
            }
            if (pass == 0) {
                shared.inexact.say(__any_sync(FULL, inexact), warp, lane);
                if (uniform(shared.inexact.wait(lane))) return;
            }
        }
    }

    // Of words that were chosen for before.
    DEV bool is_float() const { return T::EXPONENT > 0 && !quantized() && plan.is_float && shared.shift == 0; }

    // Returns whether there were any.
    DEV bool drop_common_zeros(uint4 (&q)[PER_WARP]) {
        uint4 any = q[0];
#pragma unroll
        for (int k = 1; k < PER_WARP; k++)
            any = make_uint4(any.x | q[k].x, any.y | q[k].y, any.z | q[k].z, any.w | q[k].w);
        const Word word = warp_or(any_of<T>(any, [](Word v) { return v; }));
        const u32 ends_in = word ? top_bit(word & ((Word)0 - word)) : T::BITS;
        shared.zeros.say(ends_in, warp, lane);
        // Whoever has an odd word knows the answer, and does not wait for the others.
        if (uniform(ends_in == 0)) return false;
        const u32 all = shared.zeros.wait(lane);
        const u32 least = min_of(min_of(all & 0xff, all >> 8 & 0xff), min_of(all >> 16 & 0xff, all >> 24));
        if (least == 0 || least == T::BITS) return false;
        if (threadIdx.x == 0) shared.shift = least;
        shift = least;
#pragma unroll
        for (int k = 0; k < PER_WARP; k++) q[k] = changed<T>(q[k], [&](Word v) { return shift_right(v, least); });
        return true;
    }

    // With copies of the sign bit.
    static DEV Word shift_right(Word v, u32 shift) {
        if (T::BITS == 64) return (Word)((i64)v >> shift);
        return wrap<T>((Word)((i32)((u32)v << (32 - T::BITS & 31)) >> (shift + (32 - T::BITS & 31))));
    }

    // Bits of the element that integer x stands for.
    DEV Word element_of(Word x) const { return quantized() ? quantizer.restore_any(x) : wrap<T>(x << shared.shift); }

    // The subchunk's choice as the others need it, by the lane that keeps it. `origin`: what the integers were counted
    // from.
    DEV void tell(const Choice<T>& c, u32 s, Word origin) const {
        shared.told.choice[s] = Chosen::of(c);
        shared.told.base[s] = wrap<T>(c.base + origin);
    }
    DEV Word raised() const { return quantized() ? (Word)Quantizer<T>::RAISED : 0; }
    DEV void tell_same(bool same, Word first) const {
        if (lane) return;
        ((u32*)&shared.told.same)[warp] = same;
        shared.told.first[warp] = first;
    }

    // What words a warp's integers and codes are: as they are, of half the bits, or, where bins are close together, of
    // 16 (encode_narrow16.cuh).
    enum { WHOLE, SMALL, NARROW };
    template <class W> struct Words {
        typedef W Type;
    };
    // What `f` does with the words of this size; the compiler sees only those that there may be.
    template <class F> DEV void of_size(u32 size, const F& f) const {
        if constexpr (USE == BINS)
            if (uniform(size) == NARROW) return f(Words<typename NarrowOf<T>::Type>());
        if constexpr (T::BITS == 64 && USE != INTEGERS)
            if (uniform(size) == SMALL) return f(Words<H>());
        f(Words<T>());
    }
    template <class W> static constexpr bool is_narrow16() { return W::BITS == 16 && T::BITS > 16; }
    // The warp's integers, and their codes.
    template <class W> DEV Tile<W> integers() const { return Tile<W>(words); }
    template <class W> DEV Strip<W> codes() const {
        if constexpr (is_narrow16<W>()) return Strip<W>(narrow16_codes<W>(words), lane);
        return Strip<W>(Tile<W>(words), lane);
    }

    // The chunk's words once more, where another way is tried at them; false where that is for the caller to do, as
    // what takes missing values out of them is in the code once.
    DEV bool reload(uint4 (&q)[PER_WARP], const Source& source) const {
        if constexpr (MISSING == 0) load(q, source);
        return MISSING == 0;
    }
    // Bins of the elements in q to the tile; false if there are none yet, and another `way` is to be tried. What the
    // words before took is tried first.
    enum Way { NARROWEST, NARROW_ENOUGH, WIDEST };
    DEV bool quantize(const TileIntegers& integers, uint4 (&q)[PER_WARP], const Source& source, Survey<T>& s,
                      Word& most, u32& size, u32& way) const {
        const u32 before = uniform(shared.bins[warp]);
        if constexpr (USE == BINS) {
            if (way == NARROWEST && before == TileIntegers::SURE && uniform(state.narrow16)) {
                u32 low, high;
                const bool done = integers.narrow16_to_tile(q, low, high, s.origin);
                size = NARROW;
                s.least = low;
                most = high;
                if (uniform(done)) return true;
                s.origin = 0 - raised();
                way = NARROW_ENOUGH;
                if (lane == 0) add_relaxed(&state.job.slot->control.ticket, WIDE_WARP);
                __syncwarp();
                // Again, or there would have to be registers for what is rarely asked for.
                if (!reload(q, source)) return false;
            }
        }
        if (way != WIDEST && before != TileIntegers::ANY) {
            typedef Half<T> W;
            typename W::Word low, high;
            bool done;
            if (before == TileIntegers::SURE)
                done = integers.template to_tile<W, TileIntegers::SURE>(q, low, high);
            else if constexpr (T::BITS == 64)
                done = integers.template one_by_one<W>(q, low, high);
            else
                done = integers.checked_bins(q, low, high);
            size = T::BITS == 64 ? SMALL : WHOLE;
            s.least = extended(low);
            most = extended(high);
            if (uniform(done)) return true;
            way = WIDEST;
            __syncwarp();
            if (!reload(q, source)) return false;
        } else {
            __syncwarp();
        }
#pragma unroll
        for (int k = 0; k < PER_WARP; k++) tile().at(k, lane) = q[k];
        const bool plain = integers.bins_to_tile(s.least, most);
        size = WHOLE;
        __syncwarp();
        // Where bins once were not certain, others will not be either.
        if (lane == 0) shared.bins[warp] = plain ? TileIntegers::CHECKED : TileIntegers::ANY;
        return true;
    }
    static DEV u64 extended(u32 x) { return (u64)(i64)(i32)x; }
    // What can be said of the integers before there are codes; false as `quantize`.
    DEV bool survey(uint4 (&q)[PER_WARP], const Source& source, Survey<T>& s, u32& size, u32& way) const {
        const TileIntegers integers = {words, quantizer, lane};
        Word most;
        size = WHOLE;
        s.origin = 0 - raised();
        if (T::EXPONENT > 0 && together(quantized())) {
            if constexpr (T::BITS == 16)
                integers.swar16_to_tile(q, s.least, most);
            else if (!quantize(integers, q, source, s, most, size, way))
                return false;
        } else {
            integers.template to_tile<T, TileIntegers::NONE>(q, s.least, most);
        }
        s.spread = wrap<T>(most - s.least);
        return true;
    }

    // What is known of a strip once it has codes: what was before it, or the codes themselves, where there are
    // registers for these.
    template <class W, bool IS_TIGHT> struct Kept {
        typedef Before<W> Type;
    };
    template <class W> struct Kept<W, true> {
        typedef NarrowStrip<W> Type;
    };
    template <class W> using KeptOf = typename Kept<W, is_narrow16<W>()>::Type;

    // The integers in the tile to their codes; `most` is the largest one. The OR of a subchunk's codes, the width that
    // they speak for, and what is kept of the strip.
    template <class W>
    DEV typename W::Word encode(u32 mode, typename W::Word base, typename W::Word most, u32& fitting,
                                KeptOf<W>& kept) const {
        __syncwarp();    // everyone has seen the integers that others overwrite
        Samples<W> samples;
        typename W::Word any;
        if constexpr (is_narrow16<W>())
            any = encode_narrow16_as<W>(mode, Strip<W>(integers<W>(), lane), codes<W>(), base, samples, kept);
        else if constexpr (MAY_COUNT<W>) {
            const bool down = uniform(counts_down(mode));
            if (down) base = Countdown<W>::base(largest_rotated<W>(codes<W>(), most));
            any = encode_as<W, USE == ANYTHING>(mode, special, codes<W>(), down ? Countdown<W>::top(base) : base,
                                                samples, kept);
            if (down) kept.word = base;
        } else
            any = encode_as<W, false>(mode, SPECIAL_DELTA2, codes<W>(), base, samples, kept);
        any |= __shfl_sync(FULL, any, lane ^ 1);
        any |= __shfl_sync(FULL, any, lane ^ 2);
        if (W::BITS == 16) any = wrap<W>(any | any >> 16);
        fitting = width_of(any);
        if (T::BITS > 8 && !together(fast())) fitting = fitting_width<W, T::BITS>(samples, fitting, lane);
        return any;
    }

    // The integers of the chunk to codes in the tile, and what is chosen for them.
    // False as `quantize`.
    DEV bool choose_for(uint4 (&q)[PER_WARP], const Source& source, u32& way) {
        static_assert(PER_WARP == WARP_TILE && PER_WARP * LANES == 32, "a warp has a quarter");
        u32 size;
        Survey<T> s;
        if (!survey(q, source, s, size, way)) return false;
        __syncwarp();
        if constexpr (MISSING > 0 && !(ADAPTIVE && USE == INTEGERS))
            of_size(size, [&](auto words) { tell_collisions<typename decltype(words)::Type>(s); });
        if ((USE == BINS || T::BITS == 64) && lane == 0) shared.size[warp] = size;
        of_size(size, [&](auto words) { choose_words<typename decltype(words)::Type>(s); });
        return true;
    }
    // Whether words of this size may be lossless floats.
    template <class W> static constexpr bool MAY_COUNT = T::EXPONENT > 0 && USE != BINS && (u32)W::BITS == (u32)T::BITS;
    DEV bool counts_down(u32 mode) const { return mode == SUBMODE_SPECIAL && special == SPECIAL_COUNTDOWN; }
    // Step 1.
    template <class W> DEV u32 mode_of(const Survey<T>& s) const {
        const typename W::Word first = (typename W::Word)s.first, least = (typename W::Word)s.least;
        bool is_near;
        if constexpr (MAY_COUNT<W>) {
            const Word top = Countdown<T>::top_of(s.least, wrap<T>(s.least + s.spread));
            const u32 mode = ::mode_of<W>(special, integers<W>(), lane, first, least, top, is_near);
            if (!uniform(is_near && special == SPECIAL_COUNTDOWN && mode != SUBMODE_SPECIAL)) return mode;
            return by_countdown<W>(mode, integers<W>(), lane, first, least, top) ? SUBMODE_SPECIAL : mode;
        }
        return ::mode_of<W>(SPECIAL_DELTA2, integers<W>(), lane, first, least, 0, is_near);
    }
    template <class W> DEV void choose_words(Survey<T>& s) {
        s.first = first_of(integers<W>(), lane / LANES);
        const Word least = __shfl_sync(FULL, s.least, 0);
        tell_same(__all_sync(FULL, s.spread == 0 && s.least == least), wrap<T>(least + s.origin));
        u32 fitting;
        KeptOf<W> kept;
        Choice<T> c;
        if (together(fast())) {
            c = {quantized()                   ? SUBMODE_ZIGZAG
                 : special == SPECIAL_EXPONENT ? SUBMODE_SPECIAL
                                               : SUBMODE_OFFSET,
                 0,
                 0,
                 0,
                 0,
                 quantized()                   ? raised()
                 : special == SPECIAL_EXPONENT ? (Word)0
                                               : s.least};
            c.based = c.mode == SUBMODE_OFFSET;
            c.width = width_of(encode<W>(uniform(c.mode), (typename W::Word)c.base, 0, fitting, kept));
        } else {
            const u32 mode = uniform(mode_of<W>(s));
            s.any = encode<W>(mode, (typename W::Word)(mode == SUBMODE_OFFSET ? s.least : s.first),
                              (typename W::Word)wrap<T>(s.least + s.spread), fitting, kept);
            if constexpr (MAY_COUNT<W>)
                if (uniform(counts_down(mode))) s.first = kept.word;
            c = choose_widths<W>(s, mode, fitting, kept);
        }
        if (lane % LANES == 0) tell(c, warp * PER_WARP + lane / LANES, s.origin);
    }
    static DEV Word first_of(const Tile<Small64>& tile, u32 subchunk) { return extended(tile.at(subchunk, 0).x); }
    template <class W> static DEV Word first_of(const Tile<W>& tile, u32 subchunk) {
        typename W::Word x[W::VALUES];
        split(tile.at(subchunk, 0), x);
        return x[0];
    }
    DEV Tile<T> tile() const { return Tile<T>(words); }

    // Step 3, after codes of more than `fitting` bits were looked for.
    template <class W> DEV Choice<T> choose_widths(const Survey<T>& s, u32 mode, u32 fitting, const KeptOf<W>& kept) {
        const u32 full = s.full();
        u32 counts = 0;
        if (T::BITS > 8 && __any_sync(FULL, fitting < full)) counts = find_wide<W>(fitting, kept);
        const Choice<T> c = decide<T>(s, mode, special, fitting, counts);
        __syncwarp();
        // Where all codes are 0, all integers are equal, and codes of any mode those of offsets.
        const bool other = c.mode != mode && full;
        if constexpr (is_narrow16<W>()) {
            if (uniform(__any_sync(FULL, other)))
                to_narrow16_offsets<W>(Strip<W>(integers<W>(), lane), codes<W>(), (u32)s.least, other);
            return c;
        }
        if constexpr (T::BITS == 64 && W::BITS == 32) {
            if (uniform(__any_sync(FULL, other)))
                ::to_offsets<W>(codes<W>(), mode, kept, (typename W::Word)s.least, other);
            return c;
        }
        for (u32 left = __ballot_sync(FULL, other && lane % LANES == 0); uniform(left); left &= left - 1) {
            const u32 first = __ffs((i32)left) - 1;
            to_offsets(first / LANES, mode, __shfl_sync(FULL, s.first, first), __shfl_sync(FULL, s.least, first));
        }
        return c;
    }

    // Finds the codes of more than `width` bits, each lane those of its strip; returns how many there are in the
    // strip's subchunk.
    template <class W> DEV u32 find_wide(u32 width, const KeptOf<W>& kept) {
        Wide<W> places;
        if constexpr (is_narrow16<W>())
            places = wide_narrow16<W>(kept, width);
        else if constexpr (W::BITS == 16)
            places = wide_swar16(codes<W>(), width);
        else
            places = wide_codes<W>(codes<W>(), width);
        shared.places[warp][lane] = places;
        const u32 own = counts_of(places), up_to = running_sum<LANES>(own);
        shared.before[warp][lane] = up_to - own;
        return __shfl_sync(FULL, up_to, lane | (LANES - 1));
    }
    // A subchunk's codes, of the mode's own `base`, to offsets from the `least` word.
    DEV void to_offsets(u32 k, u32 mode, Word base, Word least) const {
        uint4& codes = tile().at(k, lane);
        const bool down = T::EXPONENT > 0 && counts_down(mode);
        if (!down) base = wrap<T>(base - least);
        if constexpr (T::BITS == 16) {
            codes = restore_swar16<T>(mode, special, base, codes);
            if (down) codes = each(codes, [&](u32 x) { return less(x, least, least << 16); });
            return;
        }
        Word v[T::VALUES];
        split(codes, v);
        restore_words<T>(mode, special, base, v);
        if (down) change<T>(v, [&](Word x) { return wrap<T>(x - least); });
        codes = join(v);
    }

    // The words of chunk c to codes in the tile, and what is chosen for them.
    DEV void choose(u64 c, const Source& source) {
        u32 way = NARROWEST;
        while (!try_to_choose(source, way)) {}
        if (source.whole) block.prefetch_ahead(c);
    }
    DEV bool try_to_choose(const Source& source, u32& way) {
        uint4 q[PER_WARP];
        load(q, source);
        if constexpr (MISSING > 0) take_gaps(q, source, way == NARROWEST);
        to_integers(q);
        return choose_for(q, source, way);
    }
    DEV void load(uint4 (&q)[PER_WARP], const Source& source) const {
        if (source.whole) {
            const uint4* from = (const uint4*)(source.start + place_of(0));
#pragma unroll
            for (int k = 0; k < PER_WARP; k++) q[k] = load_streaming(from + k * (SUBCHUNK_BYTES / 16));
        } else {
            // By way of the tile, in a loop that is short in code.
#pragma unroll 1
            for (int k = 0; k < PER_WARP; k++) tile().at(k, lane) = source.load<T>(place_of(k), true);
#pragma unroll
            for (int k = 0; k < PER_WARP; k++) q[k] = tile().at(k, lane);
            __syncwarp();
        }
        if (USE == ANYTHING && uniform(plan.big_endian)) {
#pragma unroll
            for (int k = 0; k < PER_WARP; k++) q[k] = swap_bytes<T>(q[k]);
        }
    }

    // The body of the chunk in the tile, where there are zeros, behind its plane, if it has one.
    DEV void pack_chunk(u64 c, u32 kind, Chosen choice, Word base) {
        if constexpr (MISSING > 0) {
            u32 plane = 0;
            if (kind == KIND_MASKED) {
                plane = uniform(shared.laid.plane);
                kind = uniform(shared.laid.inner);
                finder(PACK).write_plane((u8*)body, plane, kind);
            }
            body += plane;
            pack_body(c, kind, choice, base);
            body -= plane;
        } else {
            pack_body(c, kind, choice, base);
        }
    }
    DEV void pack_body(u64 c, u32 kind, Chosen choice, Word base) {
        if (kind == KIND_PACKED) {
            if (warp == LEADER_WARP) {
                const ChunkHeader<T> header = shared.laid.header;
                // Without a countdown decoders that know of none can read it.
                const bool counts = special != SPECIAL_COUNTDOWN || __any_sync(FULL, !choice.based());
                write_bases<T>((u8*)body, header, base, exact(), shared.shift, counts ? special : SPECIAL_EXPONENT,
                               lane);
                write_descriptors<T>((u8*)body, header, choice, lane);
            }
            of_size(shared.size[warp], [&](auto words) {
                typedef typename decltype(words)::Type W;
                pack_all<W>();
                if (T::BITS > 8 && !together(fast())) exceptions<W>();
            });
            __syncwarp();
        } else if (kind == KIND_RAW) {
            const Source source = state.job.source(c);
#pragma unroll 1
            for (int k = 0; k < PER_WARP; k++) {
                uint4 r = source.load<T>(place_of(k), false);
                if (USE == ANYTHING && plan.big_endian) r = swap_bytes<T>(r);
                body[place_of(k) / 16] = r;
            }
        } else if (threadIdx.x == 0) {
            u64 bits = element_of(shared.told.first[0]);
            if constexpr (MISSING > 0) {
                // Zeros are never rounded to.
                if (quantized() || (plan.drop && bits & ones<T>(T::BITS - 1)))
                    bits = finder(PACK).beside_missing((Word)bits);
                if (const u32 only = gaps(PACK).only()) bits = finder().value(only - 1);
            }
            body[0] = make_uint4((u32)bits, (u32)(bits >> 32), 0, 0);
        }
    }

    // Whether the words are elements' bits in a stream of bins.
    DEV u32 exact() const { return T::EXPONENT > 0 && USE != BINS && plan.step_w && !quantized(); }

    DEV u32 place_of(int k) const { return ::place_of(warp, k, lane); }

    template <class W> DEV void exceptions() const {
        const Exceptions e = shared.laid.exceptions[warp * PER_WARP + lane / LANES];
        if (__any_sync(FULL, e.high()))
            write_exceptions<W>((u8*)body, e, shared.places[warp][lane], shared.before[warp][lane], codes<W>());
    }

    // Whether lanes hardly ever write to the same bank if each packs its strip, of n bits a code. Words of 32 bits:
    // strips begin n words apart, so that those of more than two subchunks meet where n is a multiple of 8.
    static DEV bool by_strips(u32 n, u32 widest) {
        if (T::BITS == 64) return !__any_sync(FULL, n >= 32 && n % 16 == 0);
        if (T::BITS == 32) return __popc(__ballot_sync(FULL, n > 16 && n % 8 == 0)) <= 8;
        return T::BITS == 16 && widest <= 8;
    }
    // The warp's subchunks: each lane its strip, or one subchunk after the other.
    template <class W> DEV void pack_all() const {
        const u32* payloads = shared.laid.payload + warp * PER_WARP;
        const u32 payload = payloads[lane / 4], n = payload & 0xff, widest = uniform(__reduce_max_sync(FULL, n));
        if (W::BITS != T::BITS || by_strips(n, widest)) {
            pack_strip<W>(payload, widest);
        } else {
#pragma unroll 1
            for (u32 k = 0; uniform(k) < PER_WARP; k++) pack_one(payloads[k], tile().at(k, lane));
        }
    }
    DEV void pack_one(u32 payload, uint4 codes) const {
        const u32 width = payload & 0xff;
        if constexpr (T::BITS == 16) {
            pack_swar16((u32*)body + (payload >> 8) * 2,
                        each(codes, [&](u32 c) { return c & both(low_bits<T>(width)); }), width, lane);
            return;
        }
        Word v[T::VALUES];
        split(codes, v);
        change<T>(v, [&](Word x) { return x & low_bits<T>(width); });
        pack<T>((u32*)body + (payload >> 8) * 2, v, width, lane);
    }
    template <class W> DEV void pack_strip(u32 payload, u32 widest) const {
        const u32 n = payload & 0xff, bit = lane % 4 * Strip<W>::CODES * n;
        Appender to = {(u32*)body + (payload >> 8) * 2 + bit / 32, bit % 32, 0};
        const Strip<W> strip = codes<W>();
        if constexpr (is_narrow16<W>())
            append_narrow16<W>(to, strip, n, widest);
        else if constexpr (W::BITS == 64)
            append_strip<W, 0>(to, strip, n);
        else if constexpr (W::BITS == 16)
            append_strip<W, 4>(to, strip, n);
        else if (W::VALUES == 4 && widest <= 8)
            append_strip<W, W::VALUES == 4 ? 4 : 1>(to, strip, n);
        else if (widest <= 16)
            append_strip<W, 2>(to, strip, n);
        else
            append_strip<W, 1>(to, strip, n);
        if (W::VALUES == 2) to.finish();    // else strips are whole words
    }
    template <class W, int TOGETHER> DEV static void append_strip(Appender& to, const Strip<W>& strip, u32 n) {
        const u32 mask = low_bits<F32>(n), one = optimisation_barrier(1u << (n & 31));
#pragma unroll 1
        for (u32 at = 0; uniform(at) < Strip<W>::END; at = optimisation_barrier(at + 2 * Strip<W>::NEXT)) {
            const typename Tile<W>::Vector codes = strip[at],
                                           next = strip[at + Strip<W>::NEXT];    // both, before anything is stored
            append<W, TOGETHER>(to, codes, n, mask, one);
            append<W, TOGETHER>(to, next, n, mask, one);
        }
    }
};

// The loop over arrays is also what a chunk that is not settled comes back to: with another loop between this one and
// that over the chunks there would not be registers enough.
template <class T, bool ADAPTIVE, u32 MISSING = 0> DEV void compress_arrays(const CompressArgs& a) {
    SHARED Shared<T, MISSING> shared;
    Compressor block(a, shared.state);
    GeneralEncoder<T, ANYTHING, ADAPTIVE, MISSING> encoder(block, shared);
    GeneralEncoder<T, ADAPTIVE ? BINS : ANYTHING, ADAPTIVE, MISSING> bins(block, shared);
    GeneralEncoder<T, ADAPTIVE ? INTEGERS : ANYTHING, ADAPTIVE, MISSING> integers(block, shared);
    for (u32 done = true;;) {
        if (uniform(done)) {
            if (!block.enter()) return;
            encoder.begin();
        }
        if constexpr (!ADAPTIVE)
            done = encoder.run();
        else
            done = uniform(shared.quantizer.on) ? bins.run() : integers.run();
        done = optimisation_barrier(done);
        if (uniform(done))
            encoder.finish();
        else if constexpr (MISSING > 0)
            encoder.settle();
    }
}
