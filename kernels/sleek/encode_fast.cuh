// Twin: src/codec/sleek/encode.rs
// The encoder of profile `fast` for floats in the machine's byte order, aligned to 16: the paper's transform, and
// nothing else.
//
// A block has three chunks on their way. One is loaded, transformed, published and packed; the one before it is packed
// and looks up where it goes, which by then is known; the one before that goes there, while the first is still coming
// in. Hardly ever does a block wait for others.
//
// A block of 4 warps shares two bodies and what its warps tell each other:
//
//   body[2]             packed chunks, in turn         each warp builds its subchunks'; all place the older one
//   packed[4]           number, size and place of the  thread 0 enters the last one; all read
//                       chunks of the last rounds
//   between[2]          sizes between two chunks       warp 1 (FINDER) adds them up
//   width, one, code    of each subchunk and warp      each warp its own; all read them to lay the chunk out
//   strings             short strings, not yet in the  each warp its own
//                       body
//   state, quantizer    of the array                   thread 0 at the start of an array
//
//   missing     what is missing, see gaps.cuh          where a kernel knows of such
//
//   a round:    load and encode chunk r in registers; chunk r − 2 from its body to the stream
//               where a warp has missing values: once all have told theirs the body is free; words whose gaps are
//               filled lie there until barrier 1
//   barrier 1   widths are known, body[r & 1] is free; then: publish the size, build the body, warp 1 looks up
//               where chunk r − 1 goes, the last thread records chunk r − 2
//   barrier 2   the body, the next chunk's number and the place of chunk r − 1 are there
#pragma once
#include "compress.cuh"
#include "gaps.cuh"
#include "swar16.cuh"

// What a block shares.
template <class T, u32 MISSING> struct FastShared {
    BlockState state;
    uint4 body[2][BODY_VECTORS];
    Packed packed[4];    // of the last rounds
    u64 between[2];      // in even and odd rounds: units between two chunks of the block
    ShortStrings strings[T::BITS > 16 ? COMPRESS_WARPS : 1];
    Quantizer<T> quantizer;
    u32 far[COMPRESS_WARPS];                  // of each warp: whether its last words had numbers beyond T
    uint4 one;                                // of each warp: whether all its codes are one
    typename T::Word code[COMPRESS_WARPS];    // of each warp: that one
    u32 attempt;                              // at the next chunk
    alignas(8) u8 width[SUBCHUNKS];
    Missing<T, MISSING> missing;
};
static_assert(6 * (sizeof(FastShared<F64, 0>) + 1024) <= 228 * 1024,
              "six blocks on a multiprocessor of compute capability 9.0");

// MISSING: of how many missing values it knows.
template <class T, u32 MISSING> struct FastEncoder {
    typedef typename T::Word Word;
    typedef ::Finder<T, MISSING ? MISSING : 1> Finder;
    enum {
        SMALL_WIDTH = Quantizer<T>::PLAIN_WIDTH,
        FINDER = 1,
        PER_WARP = SUBCHUNKS_A_WARP,
        BYTES_A_BIT = 4 * T::VALUES
    };    // bytes that a subchunk takes for each bit of its width

    Compressor block;
    BlockState& state;
    FastShared<T, MISSING>& shared;
    u32 lane, warp;

    DEV FastEncoder(const CompressArgs& a, FastShared<T, MISSING>& shared)
        : block(a, shared.state), state(shared.state), shared(shared), lane(threadIdx.x & 31), warp(threadIdx.x >> 5) {}

    DEV void run() {
        while (block.enter()) {
            if (threadIdx.x < 4) shared.packed[threadIdx.x].there = 0;
            if (lane == 0) shared.far[warp] = 0;
            if constexpr (MISSING > 0)
                if (lane == 0) gaps().some[warp] = 0;
            if (threadIdx.x == 0) {
                shared.attempt = BY_PLAN;
                shared.quantizer.set(state.job.plan.step_w, state.job.plan.step_j);
                shared.quantizer.set_bound(state.job.plan.abs_bound);
                if constexpr (MISSING > 0) {
                    shared.missing.there.said = collides(0) = collides(1) = 0;
                    take_codes();
                }
            }
            __syncthreads();
            u32 round = 0;
            while (state.chunk[round & 1] < state.job.plan.chunks) {
                const u64 c = state.chunk[round & 1];
                const u32 attempt = uniform(shared.attempt);
                const bool quantized = uniform(shared.quantizer.on && attempt != BY_BITS);
                // Together where the code for missing values would be there twice: more than caches for instructions
                // hold.
                if (MISSING > 0)
                    round += step(round, c, attempt, quantized);
                else
                    round += quantized ? step(round, c, attempt, true) : step(round, c, attempt, false);
            }
            drain(round);
        }
    }

    // The chunk of so many rounds before.
    DEV Packed& packed(u32 round, u32 ago) const { return shared.packed[(round - ago) & 3]; }

    // One chunk in, one out; false where the chunk is to be coded by elements' bits.
    DEV bool step(u32 round, u64 c, u32 attempt, bool quantized) {
        const u32 i = round & 1;
        uint4* body = shared.body[i];
        const Source source = state.job.source(c);
        uint4 q[PER_WARP];
        if (source.whole) {
            load(q, source.start);
            // Where less is written, later is better: what is ahead of all blocks stays closer to them.
            if (!quantized) block.prefetch_ahead(c);
        } else {
            load_part(q, source);
        }
        const bool first = attempt == BY_PLAN;
        if (first && packed(round, 2).there) place(round);
        if constexpr (MISSING > 0) {
            const auto missing = finder().tell(q);
            if (has_gaps()) {
                shared.missing.there.wait(lane);    // who tells is done with what is placed
                const Rows rows = {body + warp * PER_WARP * 32};
                finder().fill(q, missing, rows, source.bytes, vectors_of(source));
            }
        }
        u32 n[PER_WARP];
        quantized ? encode<true>(q, n, source, body) : encode<false>(q, n, source, body);
        if constexpr (MISSING > 0)
            if (quantized && first) tell_collisions(q, n, i);
        tell(q, n);
        __syncthreads();
        Frame frame;
        const u32 begin = frame.read(shared, warp, lane);
        bool only = false;    // a chunk of one missing value is constant, whatever it would be otherwise
        if constexpr (MISSING > 0) only = gaps().only();
        u32 entry = Job::entry_of(source.bytes, frame.constant || only, frame.bytes());
        if (first && threadIdx.x == COMPRESS_THREADS - 1 && packed(round, 2).there) block.record(packed(round, 2));
        const u32 units = entry & ENTRY_SIZE_MASK, kind = entry >> ENTRY_KIND_SHIFT;
        if constexpr (MISSING > 0) {
            if (uniform(quantized && first && !only && collides(i) && kind != KIND_RAW)) {
                if (!finder().all_come_beside(shared.quantizer, state.job.plan.abs_bound, words_of(source, body))) {
                    try_by_bits();
                    return false;
                }
                if (threadIdx.x == 0) state.beside = 1;
            }
        }
        u32 plane = 0;
        if constexpr (MISSING > 0) {
            if (uniform(gaps().is_masked())) {
                const u32 raw = (source.bytes + ALIGN - 1) / ALIGN;
                plane = finder().plane_units();
                if (kind == KIND_RAW || plane + units >= raw) plane = 0;
                entry = plane ? (plane + units) | KIND_MASKED << ENTRY_KIND_SHIFT : raw | KIND_RAW << ENTRY_KIND_SHIFT;
            }
        }
        state.job.publish(c, entry);
        if constexpr (MISSING > 0)
            if (uniform(plane)) finder().write_plane((u8*)body, plane, kind);
        if (quantized && source.whole) block.prefetch_ahead(c);
        build(body + plane, source, q, frame, begin, plane ? kind : entry >> ENTRY_KIND_SHIFT, quantized);
        const u64 following = count_if(threadIdx.x == 0, &state.job.slot->control.ticket);
        find_place(round);
        if (threadIdx.x == 0) {
            state.chunk[i ^ 1] = following;
            packed(round, 0) = {c, 0, entry, 1};
            shared.attempt = BY_PLAN;
            if constexpr (MISSING > 0) shared.missing.there.said = collides(i ^ 1) = 0;
        }
        __syncthreads();
        return true;
    }

    // A lane's words of the warp's subchunk k, with others in the places of missing ones.
    DEV auto words_of(const Source& source, const uint4* body) const {
        return [this, source, body](u32 k) {
            if constexpr (MISSING > 0)
                if (has_gaps()) return body[place_of(warp, k, lane) / 16];
            return source.load<T>(place_of(warp, k, lane), true);
        };
    }
    DEV void try_by_bits() const {
        __syncthreads();
        if (threadIdx.x == 0) {
            shared.attempt = BY_BITS;
            if constexpr (MISSING > 0) shared.missing.there.said = 0;
        }
        __syncthreads();
    }

    // The words of a warp, a subchunk behind the other.
    struct Rows {
        uint4* words;
        DEV uint4& at(u32 k, u32 lane) const { return words[32 * k + lane]; }
    };
    DEV auto& gaps() const { return shared.missing.gaps[0]; }
    // Of even and odd rounds.
    DEV u32& collides(u32 parity) const { return shared.missing.gaps[parity].collides; }
    DEV Finder finder() const { return {block.a, shared.missing, gaps(), lane, warp}; }
    DEV bool has_gaps() const { return uniform(gaps().some[warp]); }
    static DEV auto vectors_of(const Source& source) {
        return [=](u32 at) { return source.load<T>(at, true); };
    }
    // Codes of bins that would come back as missing values (src/codec/sleek/plan.rs).
    DEV void take_codes() const {
        shared.missing.taken_count = 0;
        if (!shared.quantizer.on) return;
        for (u32 k = 0; k < finder().values(); k++) {
            Word bin;
            if (has_bin(shared.quantizer, finder().value(k), bin))
                shared.missing.taken[shared.missing.taken_count++] = to_zigzag<T>(bin);
        }
    }
    // Tells if one of the warp's codes, of so many bits, is such.
    DEV void tell_collisions(const uint4 (&q)[PER_WARP], const u32 (&n)[PER_WARP], u32 parity) const {
#pragma unroll 1
        for (u32 j = 0; uniform(j < shared.missing.taken_count); j++) {
            const Word code = shared.missing.taken[j];
            const u32 width = width_of(code);
            u32 same = 0;
#pragma unroll
            for (int k = 0; k < PER_WARP; k++) {
                if (n[k] < width) continue;
                same |= any_of<T>(q[k], [&](Word v) -> u32 { return v == code; });
            }
            if (same) collides(parity) = 1;
        }
    }

    // Where the chunk of the round before goes: one warp adds up what is before it.
    DEV void find_place(u32 round) const {
        const Packed &earlier = packed(round, 2), &last = packed(round, 1);
        if (warp == FINDER && uniform(last.there)) {
            const u64 units =
                units_between_at_once(state.job.entries(), earlier.there ? earlier.c + 1 : 0, last.c, lane);
            if (lane == 0) shared.between[round & 1] = units;
        }
    }
    // The round after that it goes there.
    DEV void place(u32 round) {
        const Packed& earlier = packed(round, 3);
        Packed& chunk = packed(round, 2);
        const u64 before = (earlier.there ? earlier.before + earlier.units() : 0) + shared.between[~round & 1];
        block.place(shared.body[round & 1], {chunk.c, before, chunk.entry, 1});
        if (threadIdx.x == COMPRESS_THREADS - 1) chunk.before = before;
    }

    // Places what is packed.
    DEV void drain(u32 round) {
        find_place(round);
        for (u32 j = 0; j < 2; j++, round++) {
            __syncthreads();
            if (packed(round, 2).there) place(round);
            __syncthreads();
            if (threadIdx.x == COMPRESS_THREADS - 1 && packed(round, 2).there) block.record(packed(round, 2));
        }
    }

    // The warp's words to codes, and their widths. A warp whose last words had numbers beyond T looks for such at once,
    // as fields have them in places.
    template <bool QUANTIZED>
    DEV void encode(uint4 (&q)[PER_WARP], u32 (&n)[PER_WARP], const Source& source, const uint4* body) const {
        if constexpr (T::BITS == 16) {
            measure_swar16<QUANTIZED>(q, n);
        } else {
            const bool near = !QUANTIZED || !uniform(shared.far[warp]);
            bool again = true;
            if (near) again = measure<QUANTIZED>(q, n);
            if (QUANTIZED && uniform(again)) {
                if (near) reload(q, source, body);
                measure_far(q, n);
                bool wide = false;
#pragma unroll
                for (int k = 0; k < PER_WARP; k++) wide |= n[k] > SMALL_WIDTH;
                __syncwarp();
                if (lane == 0) shared.far[warp] = wide;
            }
        }
    }

    DEV void load(uint4 (&q)[PER_WARP], const u8* start) const {
        const uint4* from = (const uint4*)(start + place_of(warp, 0, lane));
#pragma unroll
        for (int k = 0; k < PER_WARP; k++) q[k] = load_streaming(from + k * (SUBCHUNK_BYTES / 16));
    }
    DEV void load_part(uint4 (&q)[PER_WARP], const Source& source) const {
        // Or ptxas would keep the words of the chunk before until here.
#pragma unroll
        for (int k = 0; k < PER_WARP; k++) q[k] = make_uint4(0, 0, 0, 0);
        one_by_one(q, [&](uint4, int k) { return source.load<T>(place_of(warp, k, lane), true); });
    }

    // Words of the warp's subchunks to codes, and the codes' widths; whether they need a closer look: quantized, they
    // are the codes only if the width is at most PLAIN_WIDTH.
    template <bool QUANTIZED> DEV bool measure(uint4 (&q)[PER_WARP], u32 (&n)[PER_WARP]) const {
        bool again = false;
#pragma unroll
        for (int k = 0; k < PER_WARP; k++) {
            Word v[T::VALUES], any = 0, signs = 0;
            split(q[k], v);
#pragma unroll
            for (int i = 0; i < T::VALUES; i++) {
                v[i] = QUANTIZED ? shared.quantizer.nearest_code(v[i], signs) : to_exponent_code<T>(v[i]);
                any |= v[i];
            }
            if (QUANTIZED) any |= signs & (Word)1 << (T::BITS - 1);
            n[k] = width_of(warp_or(any));
            again |= QUANTIZED && n[k] > SMALL_WIDTH;
            q[k] = join(v);
        }
        return again;
    }
    // The same for words of 16 bits, whatever numbers they are.
    template <bool QUANTIZED> DEV void measure_swar16(uint4 (&q)[PER_WARP], u32 (&n)[PER_WARP]) const {
        const Swar16Quantizer<T> quantizer(shared.quantizer);
#pragma unroll
        for (int k = 0; k < PER_WARP; k++) {
            q[k] = QUANTIZED ? quantizer.codes(q[k]) : each(q[k], [&](u32 x) { return to_exponent_codes<T>(x); });
            n[k] = width_of_swar16(warp_or(q[k].x | q[k].y | q[k].z | q[k].w));
        }
    }
    DEV void reload(uint4 (&q)[PER_WARP], const Source& source, const uint4* body) const {
        if constexpr (MISSING > 0) {
            if (has_gaps()) {
#pragma unroll
                for (int k = 0; k < PER_WARP; k++) q[k] = body[place_of(warp, k, lane) / 16];
                return;
            }
        }
        if (source.whole)
            load(q, source.start);
        else
            load_part(q, source);
    }
    // The same with numbers beyond T.
    DEV void measure_far(uint4 (&q)[PER_WARP], u32 (&n)[PER_WARP]) const {
        one_by_one(q, [&](uint4 words, int) {
            return changed<T>(words, [&](Word v) { return shared.quantizer.any_code(v); });
        });
#pragma unroll
        for (int k = 0; k < PER_WARP; k++) n[k] = width_of(warp_or(any_of<T>(q[k], [](Word v) { return v; })));
    }

    // The layout of a packed chunk.
    struct Frame {
        u32 active, payload, tail,
            used;    // subchunks of a width above 0; bytes of the payload; where the tail begins and ends
        bool constant;

        // Returns where this warp's payload begins.
        DEV u32 read(const FastShared<T, MISSING>& shared, u32 warp, u32 lane) {
            const u32 width = shared.width[lane];
            active = __ballot_sync(FULL, width);
            payload = __reduce_add_sync(FULL, width) * BYTES_A_BIT;
            tail = CHUNK_HEADER_BYTES + (payload + ALIGN - 1) / ALIGN * ALIGN;
            used = tail + (T::BITS == 64 ? 4 : 0) + __popc(active);
            const uint4 one = shared.one;
            constant = one.x & one.y & one.z & one.w;
            if (constant)
#pragma unroll
                for (int w = 1; w < COMPRESS_WARPS; w++) constant &= shared.code[w] == shared.code[0];
            return CHUNK_HEADER_BYTES + __reduce_add_sync(FULL, lane < warp * PER_WARP ? width : 0) * BYTES_A_BIT;
        }
        DEV u32 bytes() const { return (used + ALIGN - 1) / ALIGN * ALIGN; }
    };

    // The body of a chunk.
    DEV void build(uint4* body, const Source& source, const uint4 (&q)[PER_WARP], const Frame& frame, u32 begin,
                   u32 kind, bool quantized) const {
        if (kind == KIND_PACKED) {
            u32* const start = (u32*)body + begin / 4;
            u32* words = start;
            const uint2 widths = *(const uint2*)(shared.width + warp * PER_WARP);
#pragma unroll
            for (int k = 0; k < PER_WARP; k++) {
                const u32 n = uniform(byte_of(widths, k));
                if constexpr (T::BITS == 16) {
                    pack_swar16(words, q[k], n, lane);
                } else {
                    Word v[T::VALUES];
                    split(q[k], v);
                    if (is_short<T>(n))
                        shared.strings[warp].put(short_string<T>(v, n), k, lane);
                    else
                        pack_long<T>(words, v, n, lane);
                }
                words += n * (BYTES_A_BIT / 4);
            }
            if constexpr (T::BITS > 16) pack_strips(start, widths);
            if (warp == COMPRESS_WARPS - 2) write_tail(body, frame, quantized);
        } else if (kind == KIND_RAW) {
#pragma unroll 1
            for (int k = 0; k < PER_WARP; k++)
                body[place_of(warp, k, lane) / 16] = source.load<T>(place_of(warp, k, lane), false);
        } else if (threadIdx.x == 0) {
            const Word code = shared.code[0];
            u64 bits = quantized ? shared.quantizer.restore_any(from_zigzag<T>(code)) : from_exponent_code<T>(code);
            if constexpr (MISSING > 0) {
                if (quantized) bits = finder().beside_missing((Word)bits);
                if (const u32 only = gaps().only()) bits = finder().value(only - 1);
            }
            body[0] = make_uint4((u32)bits, (u32)(bits >> 32), 0, 0);
        }
    }

    // Width k of a warp's eight.
    static DEV u32 byte_of(uint2 widths, u32 k) { return (k < 4 ? widths.x : widths.y) >> (8 * (k & 3)) & 0xff; }
    // The warp's short strings to their places in its payload: each lane packs a strip of them.
    DEV void pack_strips(u32* payload, uint2 widths) const {
        const ShortStrings& strings = shared.strings[warp];
        const u32 k = lane / ShortStrings::OF_SUBCHUNK, n = byte_of(widths, k);
        const u32 bits = is_short<T>(n) ? T::VALUES * n : 0;
        if (!__any_sync(FULL, bits)) return;
        // The widths before it, a byte each.
        const u32 low = widths.x & low_ones(8 * k), high = k < 4 ? 0 : widths.y & low_ones(8 * (k - 4));
        const u32 before = sum_of_products(low, 0x01010101u, sum_of_products(high, 0x01010101u, 0u));
        const u32 bit = lane % ShortStrings::OF_SUBCHUNK * ShortStrings::STRIP * bits;
        Appender to = {payload + before * (BYTES_A_BIT / 4) + bit / 32, T::VALUES == 4 ? 0 : bit % 32, 0};
        __syncwarp();
#pragma unroll
        for (int i = 0; i < ShortStrings::STRIP; i++) to.add(strings.of_strip(i, lane), bits);
        if (T::VALUES == 2) to.finish();
    }

    // Does what is rare in a loop that is short in code: registers cannot be indexed, but moved on.
    template <class F> DEV void one_by_one(uint4 (&q)[PER_WARP], const F& f) const {
#pragma unroll 1
        for (int k = 0; k < PER_WARP; k++) {
            const uint4 x = q[0];
#pragma unroll
            for (int j = 1; j < PER_WARP; j++) q[j - 1] = q[j];
            q[PER_WARP - 1] = f(x, k);
        }
    }

    DEV void tell(const uint4 (&q)[PER_WARP], const u32 (&n)[PER_WARP]) const {
#pragma unroll
        for (int k = 0; k < PER_WARP; k++)
            if (lane == 0) shared.width[warp * PER_WARP + k] = (u8)n[k];
        Word v[T::VALUES];
        split(q[0], v);
        const Word first = __shfl_sync(FULL, v[0], 0);
        const uint4 one = all_of<T>(first);
        u32 same = 0;
        // Almost always the first subchunk says no.
        if (__all_sync(FULL, differ(q[0], one) == 0)) {
            u32 any = 0;
#pragma unroll
            for (int k = 1; k < PER_WARP; k++) any |= differ(q[k], one);
            same = __all_sync(FULL, any == 0);
            if (lane == 0) shared.code[warp] = first;
        }
        if (lane == 0) ((u32*)&shared.one)[warp] = same;
    }
    static DEV u32 differ(uint4 a, uint4 b) { return (a.x ^ b.x) | (a.y ^ b.y) | (a.z ^ b.z) | (a.w ^ b.w); }

    // Header and tail of a packed chunk, and what pads its payload; by one warp.
    DEV void write_tail(uint4* body, const Frame& frame, bool quantized) const {
        u32* words = (u32*)body;
        const u32 payload_end = CHUNK_HEADER_BYTES + frame.payload, tail = frame.tail;
        if (lane == 0) {
            const u32 special = quantized ? SPECIAL_DELTA2 : SPECIAL_EXPONENT;
            const u32 exact = !quantized && state.job.plan.step_w;
            body[0] = make_uint4(frame.active, 0, (tail - CHUNK_HEADER_BYTES) / ALIGN | exact << 23 | special << 30, 0);
        }
        // Payload and tail are multiples of 8 bytes and 16.
        if (payload_end < tail && lane < 2) words[payload_end / 4 + lane] = 0;
        if (tail + lane * 4 < frame.bytes()) words[tail / 4 + lane] = 0;
        __syncwarp();
        const u32 width = shared.width[lane], mode = quantized ? SUBMODE_ZIGZAG : SUBMODE_SPECIAL;
        if (width)
            ((u8*)body)[tail + (T::BITS == 64 ? 4 : 0) + __popc(frame.active & ((1u << lane) - 1))] =
                (u8)(mode << 6 | (width - 1));
    }
};

template <class T, u32 MISSING = 0> DEV void compress_fast(const CompressArgs& a) {
    SHARED FastShared<T, MISSING> shared;
    FastEncoder<T, MISSING> encoder(a, shared);
    encoder.run();
}
