// The encoder for everything: both profiles, all element types, byte orders and alignments.
//
// A block has two chunks on their way: while the codes of one are chosen the one before lies packed. Then that goes to its place, whose sizes before it
// are known by now, and the other is packed where it lay.
#pragma once
#include "choose.cuh"
#include "compress.cuh"

// What the warps of a block tell each other of a chunk.
template <class T> struct Told {
    typename T::Word base[SUBCHUNKS];
    u32 choice[SUBCHUNKS];     // bits 0–7 width, 8–9 mode, 10 based, 16–23 exceptions, 24–31 bits of a high part
    typename T::Word first[COMPRESS_WARPS];    // of each warp: the word that all its words equal
    uint4 same;                                // of each warp: whether they do
};

template <class T> struct Shared {
    Desk desk;
    u32 round[3];                              // rounds so far: for each of a round's three parts, between which are barriers
    Packed packed[4];                          // of the last rounds
    Told<T> told[2];                           // of even and odd rounds, since a warp may be ahead of another
    u64 part[COMPRESS_WARPS];                  // of each warp: units that it found between the two chunks before
    uint4 body[BODY_VECTORS];                  // as it is built
    uint4 stage[CHUNK_BYTES / 16];             // the codes of the chunk, at their slots
    alignas(16) u8 widths[SUBCHUNKS][Sample<T>::ALL];    // of the sampled codes
    u16 exceptions[SUBCHUNKS * MAX_EXCEPTIONS];    // of each warp: where on the stage they are
    u32 listed_at[SUBCHUNKS], listed[COMPRESS_WARPS];    // where those of a subchunk begin in this list, and where those of a warp end
    u64 any[COMPRESS_WARPS];                   // of each warp: OR of its words
    Quantizer<T> quantizer;
    u32 far[COMPRESS_WARPS];                   // of each warp: whether its last numbers had bins that are not plain
};

// The layout of a packed chunk, on lane s for subchunk s.
template <class T> struct Layout {
    u32 choice, active, patched, payload_units, base_width, tail, exceptions, bytes;
    u32 payload;       // of this subchunk: its width, and from bit 8 on where its payload begins in the body, in 8 bytes
    u32 blob;          // offset of its exceptions
    typename T::Word ref, base;

    DEV u32 bases() const { return tail + (T::BITS == 64 ? 4 : 0); }
};

template <class T> DEV Layout<T> lay_out(const Told<T>& told, u32 lane) {
    Layout<T> l;
    l.choice = told.choice[lane];
    const u32 width = l.choice & 0xff, count = l.choice >> 16 & 0xff, high = l.choice >> 24;
    const bool based = l.choice >> 10 & 1;
    l.active = __ballot_sync(FULL, width || count);
    l.patched = __ballot_sync(FULL, count != 0);
    // Two sums at once: of payloads, at most 2^14 together, and of exceptions, at most 32 · (32 + 256).
    const u32 length = width * (SUBCHUNK_VALUES(T) / 8) | (count + (count * high + 7) / 8) << 16;
    const u32 up_to = warp_running_sum(length), before = up_to - length, all = __shfl_sync(FULL, up_to, 31);
    l.payload = (CHUNK_HEADER_BYTES + (before & 0xffff)) / 8 << 8 | width;
    l.payload_units = ((all & 0xffff) + ALIGN - 1) / ALIGN;
    l.tail = CHUNK_HEADER_BYTES + l.payload_units * ALIGN;
    l.ref = 0;
    l.base = 0;
    l.base_width = 0;
    if (__any_sync(FULL, based)) {
        l.ref = biased<T>(warp_min(based ? biased<T>(told.base[lane]) : ones<T>(T::BITS)));
        l.base = based ? wrap<T>(told.base[lane] - l.ref) : 0;
        l.base_width = width_of(warp_or(l.base));
    }
    l.exceptions = l.bases() + 4 * l.base_width + __popc(l.active);
    const u32 blobs = (all >> 16) + 2 * __popc(l.patched);
    l.blob = l.exceptions + 2 * __popc(l.patched) + (before >> 16);
    l.bytes = (l.exceptions + blobs + ALIGN - 1) / ALIGN * ALIGN;
    return l;
}

// Bits at a place that holds none yet; of others' bits around them nothing is lost.
template <class Word> DEV void or_bits(u32* words, u32 at, Word value, u32 bits) {
    const u32 o = at & 31;
    u32* w = words + (at >> 5);
    atomicOr(w, (u32)value << o);
    if (o + bits > 32) atomicOr(w + 1, (u32)(value >> (31 - o) >> 1));
    if (sizeof(Word) == 8 && o + bits > 64) atomicOr(w + 2, (u32)(value >> (64 - o & 63)));
}
DEV void or_byte(u8* body, u32 at, u32 value) { atomicOr((u32*)body + at / 4, value << (8 * (at & 3))); }

// Header and bases of a packed chunk; by one warp. What is zero is there.
template <class T> DEV void write_bases(u8* body, const Layout<T>& l, u32 shift, u32 special, u32 lane) {
    u32* words = (u32*)body;
    if (lane == 0) {
        words[0] = l.active;
        words[1] = l.patched;
        words[2] = l.payload_units | l.base_width << 16 | (shift | special << 6) << 24;
        words[3] = (u32)l.ref;
        if (T::BITS == 64) words[l.tail / 4] = (u32)((u64)l.ref >> 32);
    }
    pack_one_each(words + l.bases() / 4, l.base, l.base_width, lane);
}
// Modes and widths, and how many exceptions there are; by another warp.
template <class T> DEV void write_descriptors(u8* body, const Layout<T>& l, u32 lane) {
    const u32 width = l.choice & 0xff, count = l.choice >> 16 & 0xff, high = l.choice >> 24, mode = l.choice >> 8 & 3, below = (1u << lane) - 1;
    if (l.active >> lane & 1) or_byte(body, l.bases() + 4 * l.base_width + __popc(l.active & below), mode << 6 | (width - (count ? 0 : 1)));
    if (count) {
        const u32 at = l.exceptions + __popc(l.patched & below);
        or_byte(body, at, count);
        or_byte(body, at + __popc(l.patched), high);
    }
}

// The exceptions that a warp listed, one a lane: their places, and what they hold above their width. The list says where in `codes` they are, `at`
// where in the list those of each subchunk begin.
template <class T> DEV void write_exceptions(u8* body, const Layout<T>& l, const u16* list, u32 listed, const u32* at, const u8* codes, u32 lane) {
    typedef typename T::Word Word;
    for (u32 first = 0; uniform(first) < uniform(listed); first += 32) {
        const u32 i = first + lane, entry = i < listed ? list[i] : 0, s = entry / SUBCHUNK_BYTES, place = place_of_code<T>(entry);
        const u32 choice = __shfl_sync(FULL, l.choice, s), blob = __shfl_sync(FULL, l.blob, s), rank = i - at[s];
        const u32 width = choice & 0xff, count = choice >> 16 & 0xff, high = choice >> 24;
        if (i >= listed || count == 0) continue;
        const void* at_code = codes + entry;
        const Word code = T::BITS == 64 ? (Word)*(const u64*)at_code : T::BITS == 32 ? (Word)*(const u32*)at_code : (Word)*(const u16*)at_code;
        or_byte(body, blob + rank, place);
        or_bits((u32*)body, 8 * (blob + count) + rank * high, (Word)(code >> width), high);
    }
}

// Rounds off mantissa bits (src/stage/round.rs); a chunk in which that would not be exact enough stays as it is.
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

template <class T> struct GeneralEncoder {
    typedef typename T::Word Word;
    enum { WARPS = COMPRESS_WARPS, PER_WARP = SUBCHUNKS_A_WARP };
    enum { CHOOSE, PLACE, PACK };    // parts of a round

    Compressor block;
    Desk& desk;
    Shared<T>& shared;
    const Plan& plan;
    uint4* body;
    uint4* stage;
    u32 lane, warp, shift, special;
    bool fast;        // the profile
    Quantizer<T>& quantizer;    // there is no register to keep it in

    DEV GeneralEncoder(const CompressArgs& a, Shared<T>& shared)
        : block(a, shared.desk), desk(shared.desk), shared(shared), plan(desk.job.plan), body(shared.body), stage(shared.stage),
          lane(threadIdx.x & 31), warp(uniform(threadIdx.x >> 5)), fast(a.fast), quantizer(shared.quantizer) {}

    DEV void run() {
        while (block.enter()) {
            if (threadIdx.x == 0) {
                quantizer.set(plan.step_w, plan.step_j);
                quantizer.set_bound(plan.abs_bound);
            }
            for (u32 i = threadIdx.x; i < BODY_VECTORS; i += COMPRESS_THREADS) body[i] = make_uint4(0, 0, 0, 0);
            if (threadIdx.x < 4) shared.packed[threadIdx.x].there = 0;
            if (lane == 0) shared.far[warp] = 0;
            if (threadIdx.x == 0) shared.round[CHOOSE] = 0;
            __syncthreads();
            while (uniform(desk.chunk[shared.round[CHOOSE] & 1] < plan.chunks)) step();
            find_place();
            __syncthreads();
            place();
            if (threadIdx.x == 0) shared.round[PACK] = shared.round[PLACE];
            __syncthreads();
            record();
        }
    }

    DEV Told<T>& told(u32 part) const { return shared.told[shared.round[part] & 1]; }
    // The chunk of so many rounds before.
    DEV Packed& packed(u32 round, u32 ago) const { return shared.packed[(round - ago) & 3]; }

    // Chooses for a chunk, places the one before, and packs. Each part reads for itself which round it is: there is no register to keep it in.
    DEV void step() {
        {
            const u64 c = desk.chunk[shared.round[CHOOSE] & 1];
            choose(c, desk.job.source(c));
        }
        find_place();
        __syncthreads();
        // Published first of all, since others wait for it.
        const Layout<T> l = lay_out<T>(told(PLACE), lane);
        const u32 entry = publish(l);
        u64 following = 0;
        if (threadIdx.x == 0) following = block.ticket();
        place();
        if (threadIdx.x == 0) {
            const u32 round = shared.round[PLACE];
            packed(round, 0) = {desk.chunk[round & 1], 0, entry, 1};
            desk.chunk[~round & 1] = following;
            shared.round[PACK] = round;
            shared.round[CHOOSE] = round + 1;
        }
        __syncthreads();
        record();
        pack_chunk(packed(shared.round[PACK], 0).c, l, uniform(entry >> ENTRY_KIND_SHIFT));
    }
    DEV u32 publish(const Layout<T>& l) const {
        const Told<T>& told = this->told(PLACE);
        bool constant = told.same.x & told.same.y & told.same.z & told.same.w;
        if (uniform(constant))
            for (int w = 1; w < WARPS; w++) constant &= told.first[w] == told.first[0];
        const u64 c = desk.chunk[shared.round[PLACE] & 1];
        return desk.job.publish(c, desk.job.bytes_of(c), constant, l.bytes);
    }

    // The chunk of the round before, if there was one: finds out where it goes, each warp a part of that; places it; enters it.
    DEV void find_place() const {
        const u32 round = shared.round[CHOOSE];
        const Packed &earlier = packed(round, 2), &last = packed(round, 1);
        if (threadIdx.x == 0) shared.round[PLACE] = round;
        if (uniform(last.there)) {
            const u64 units = units_between(desk.job.entries(), earlier.there ? earlier.c + 1 : 0, last.c, lane, warp, WARPS);
            if (lane == 0) shared.part[warp] = units;
        }
    }
    DEV void place() {
        const u32 round = shared.round[PLACE];
        const Packed& earlier = packed(round, 2);
        Packed& last = packed(round, 1);
        if (uniform(last.there)) {
            u64 before = earlier.there ? earlier.before + earlier.units() : 0;
#pragma unroll
            for (int w = 0; w < WARPS; w++) before += shared.part[w];
            block.place<true>(body, {last.c, before, last.entry, 1});
            if (threadIdx.x == COMPRESS_THREADS - 1) last.before = before;
        }
    }
    DEV void record() {
        const Packed& last = packed(shared.round[PACK], 1);
        // Of the warp that has the least to do.
        if (threadIdx.x == 32 && last.there) block.record(last);
    }

    // The words of the chunk as integers x, docs/format.md §3.2.
    DEV void to_integers(uint4 (&q)[PER_WARP]) {
        shift = 0;
        special = SPECIAL_DELTA2;
        if (uniform(quantizer.on)) return;    // for each subchunk when its turn comes
        if (uniform(plan.drop)) round_off(q);
        if (!fast || plan.rounded) drop_common_zeros(q);
        if (shift == 0 && T::EXPONENT > 0 && plan.is_float) special = SPECIAL_EXPONENT;
    }

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
                    if (pass == 0) inexact |= rounding.inexact(v[i]);
                    else v[i] = rounding.apply(v[i]);
                }
                if (pass == 1) q[k] = join(v);
            }
            if (pass == 0 && __syncthreads_or(inexact)) return;
        }
    }

    DEV void drop_common_zeros(uint4 (&q)[PER_WARP]) {
        uint4 any = q[0];
#pragma unroll
        for (int k = 1; k < PER_WARP; k++) any = make_uint4(any.x | q[k].x, any.y | q[k].y, any.z | q[k].z, any.w | q[k].w);
        Word v[T::VALUES], word = 0;
        split(any, v);
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) word |= v[i];
        word = warp_or(word);
        if (lane == 0) shared.any[warp] = word;
        __syncthreads();
        u64 all = 0;
#pragma unroll
        for (int w = 0; w < WARPS; w++) all |= shared.any[w];
        if (all == 0 || all & 1) return;
        shift = (u32)__ffsll((i64)all) - 1;
#pragma unroll
        for (int k = 0; k < PER_WARP; k++) {
            split(q[k], v);
#pragma unroll
            for (int i = 0; i < T::VALUES; i++) v[i] = shift_right(v[i]);
            q[k] = join(v);
        }
    }

    // With copies of the sign bit.
    DEV Word shift_right(Word v) const {
        const Word sign = negative<T>(v) ? ones<T>(T::BITS) : 0;
        return v >> shift | wrap<T>(sign << (T::BITS - shift));
    }

    // Bits of the element that integer x stands for.
    DEV Word element_of(Word x) const { return quantizer.on ? quantizer.restore_any(x) : wrap<T>(x << shift); }

    // The subchunk's choice as the others need it, by the lane that keeps it.
    DEV void tell(const Choice<T>& c, u32 s) const {
        told(CHOOSE).choice[s] = c.width | c.mode << 8 | c.based << 10 | c.count << 16 | c.high << 24;
        told(CHOOSE).base[s] = wrap<T>(c.base - raised());
    }
    DEV Word raised() const { return quantizer.on ? (Word)Quantizer<T>::RAISED : 0; }
    DEV void tell_same(bool same, Word first) const {
        if (lane) return;
        (&told(CHOOSE).same.x)[warp] = same;
        told(CHOOSE).first[warp] = first;
    }

    // The warp's integers to the stage, the least and the largest of each subchunk to its lane; false if not all bins are plain.
    template <class W, bool QUANTIZED> DEV bool to_stage(const uint4 (&q)[PER_WARP], uint4* words, typename W::Word& least, typename W::Word& most) const {
        const Quantizer<T> quantizer = this->quantizer;
        bool plain = true;
        least = most = 0;
#pragma unroll
        for (int k = 0; k < PER_WARP; k++) {
            typename W::Word x[W::VALUES], low, high;
            if (QUANTIZED) {
                Word v[T::VALUES];
                split(q[k], v);
#pragma unroll
                for (int i = 0; i < T::VALUES; i++) x[i] = wrap<W>((typename W::Word)quantizer.plain_bin(v[i], plain));
            } else {
                split(q[k], x);
            }
            words[slot(k, lane)] = join(x);
            extremes<W>(x, low, high);
            if (lane == k) {
                least = low;
                most = high;
            }
        }
        return !QUANTIZED || __all_sync(FULL, plain && (lane >= PER_WARP || quantizer.plain_range(least, most)));
    }
    // The same for any bins of elements that are on the stage.
    DEV bool bins_to_stage(uint4* words, Word& least, Word& most) const {
        const Quantizer<T> quantizer = this->quantizer;
        bool plain = true;
#pragma unroll 1
        for (u32 k = 0; uniform(k) < PER_WARP; k++) {
            uint4& mine = words[slot(k, lane)];
            Word v[T::VALUES], x[T::VALUES], low, high;
            bool near = true;
            split(mine, v);
#pragma unroll
            for (int i = 0; i < T::VALUES; i++) x[i] = quantizer.any_bin(v[i], near, plain);
            if (!__all_sync(FULL, near)) {
                quantizer.bins_of(v);
#pragma unroll
                for (int i = 0; i < T::VALUES; i++) x[i] = v[i];
            }
            extremes<T>(x, low, high);
#pragma unroll
            for (int i = 0; i < T::VALUES; i++) x[i] = wrap<T>(x[i] + Quantizer<T>::RAISED);
            mine = join(x);
            if (lane == k) {
                least = low + Quantizer<T>::RAISED;
                most = high + Quantizer<T>::RAISED;
            }
        }
        return __all_sync(FULL, plain && (lane >= PER_WARP || quantizer.plain_range(least, most)));
    }
    // Bins of the elements in q, as above. Where those before were not plain, these may not be either, and are not tried as such.
    DEV void quantize(uint4 (&q)[PER_WARP], const Source& source, uint4* words, Word& least, Word& most, bool& small) const {
        bool plain = !uniform(shared.far[warp]);
        const bool tried = plain;
        if (tried) {
            if constexpr (T::BITS == 64) {
                u32 low, high;
                plain = to_stage<Small64, true>(q, words, low, high);
                small = plain;
                least = (u64)(i64)(i32)low;
                most = (u64)(i64)(i32)high;
            } else {
                plain = to_stage<T, true>(q, words, least, most);
            }
        }
        if (uniform(plain)) return;
        if (tried) load(q, source);
#pragma unroll
        for (int k = 0; k < PER_WARP; k++) words[slot(k, lane)] = q[k];
        const bool far = !bins_to_stage(words, least, most);
        __syncwarp();
        if (lane == 0) shared.far[warp] = far;
    }
    // What can be said of the integers before there are codes. Where words of 64 bits take no more than half of them they are `small`.
    DEV Survey<T> survey(uint4 (&q)[PER_WARP], const Source& source, uint4* words, bool& small) const {
        Survey<T> s;
        Word most;
        small = false;
        if (T::EXPONENT > 0 && uniform(quantizer.on)) quantize(q, source, words, s.least, most, small);
        else to_stage<T, false>(q, words, s.least, most);
        s.spread = wrap<T>(most - s.least);
        return s;
    }

    // Of small words only the lower halves count.
    DEV u32 mode_of(const Survey<T>& s, const uint4* words, bool small) const {
        if (T::BITS == 64 && uniform(small)) return ::mode_of<Small64>(special, words, lane, (u32)s.first, (u32)s.least);
        return ::mode_of<T>(special, words, lane, s.first, s.least);
    }
    DEV Word encode_as(u32 mode, Word base, uint4* words, u8* widths, bool small) const {
        if (T::BITS == 64 && uniform(small)) return ::encode_as<Small64>(mode, special, words, lane, (u32)base, widths);
        return ::encode_as<T>(mode, special, words, lane, base, widths);
    }

    // The integers of the chunk to codes on the stage, and what is chosen for them.
    DEV void choose_for(uint4 (&q)[PER_WARP], const Source& source) {
        static_assert(PER_WARP == QUARTER && PER_WARP * Strip::OF_SUBCHUNK == 32, "a warp has a quarter, four lanes a subchunk");
        uint4* words = stage + warp * PER_WARP * 32;
        u8* widths = shared.widths[warp * PER_WARP];
        bool small;
        Survey<T> s = survey(q, source, words, small);
        __syncwarp();
        s.first = first_of(words[slot(lane % PER_WARP, 0)], small);
        const Word least = __shfl_sync(FULL, s.least, 0);
        tell_same(__all_sync(FULL, lane >= PER_WARP || (s.spread == 0 && s.least == least)), wrap<T>(least - raised()));
        Choice<T> c;
        if (uniform(fast)) {
            c = {quantizer.on ? MODE_ZIGZAG : special == SPECIAL_EXPONENT ? MODE_SPECIAL : MODE_OFFSET, 0, 0, 0, 0, quantizer.on ? raised() : s.least};
            c.based = c.mode == MODE_OFFSET;
            c.width = width_of(encode_as(uniform(c.mode), c.base, words, widths, small));
        } else {
            const u32 mode = uniform(mode_of(s, words, small));
            s.any = encode_as(mode, mode == MODE_OFFSET ? s.least : s.first, words, widths, small);
            c = choose_widths(s, mode, widths, words, small);
        }
        if (lane < PER_WARP) tell(c, warp * PER_WARP + lane);
    }
    static DEV Word first_of(const uint4& q, bool small) {
        if (T::BITS == 64) return small ? (u64)(i64)(i32)q.x : q.x | (u64)q.y << 32;
        return wrap<T>(q.x);
    }

    // Steps 2 and 3.
    DEV Choice<T> choose_widths(const Survey<T>& s, u32 mode, const u8* widths, uint4* words, bool small) {
        const u32 full = s.full();
        u32 width = full, count = 0;
        if (T::BITS > 8) {
            __syncwarp();
            const u32 most = __reduce_max_sync(FULL, lane < PER_WARP ? full : 0), full_here = __shfl_sync(FULL, full, lane / 4);
            small = T::BITS == 64 && special == SPECIAL_DELTA2 && __all_sync(FULL, lane >= PER_WARP || (full <= 32 && s.plain() <= 32));
            const u32 fitting = fitting_width<T>(widths + lane / 4 * Sample<T>::ALL, full_here, most, lane);
            if (__any_sync(FULL, fitting < full_here)) {
                count = __shfl_sync(FULL, list(most, fitting), lane * 4 & 31);
                width = __shfl_sync(FULL, fitting, lane * 4 & 31);
            } else if (lane == 0) {
                shared.listed[warp] = 0;
            }
        }
        const Choice<T> c = decide<T>(s, mode, special, width, count);
        __syncwarp();
        // What the words are to be counted from. Where all codes are 0, all integers are equal, and codes of any mode those of offsets.
        const Word base = wrap<T>((mode == MODE_SPECIAL && special == SPECIAL_EXPONENT ? 0 : s.first) - s.least);
        for (u32 left = __ballot_sync(FULL, c.mode != mode && full && lane < PER_WARP); uniform(left); left &= left - 1) {
            const u32 k = __ffs((i32)left) - 1;
            to_offsets(words[slot(k, lane)], small, mode, __shfl_sync(FULL, base, k));
        }
        return c;
    }

    // Lists the codes of more than `width` bits, each lane those of its strip; returns how many there are in the strip's subchunk. The warp's codes
    // have at most `most` bits.
    DEV u32 list(u32 most, u32 width) {
        const Strip strip(stage, warp * PER_WARP, lane);
        typename Wide<T>::Places places;
        if constexpr (T::BITS == 64) {
            if (uniform(most < 32)) places = wide_codes<Small64, true>(strip, width);
            else places = wide_codes<T, false>(strip, width);
        } else {
            if (T::BITS == 32 && uniform(most < 32)) places = wide_codes<T, T::BITS == 32>(strip, width);
            else places = wide_codes<T, false>(strip, width);
        }
        u32 count = count_of(places), all = count + __shfl_sync(FULL, count, lane ^ 1);
        all += __shfl_sync(FULL, all, lane ^ 2);
        if (all > MAX_EXCEPTIONS) places = count = 0;
        const u32 up_to = warp_running_sum(count), begin = up_to - count;
        if (lane % Strip::OF_SUBCHUNK == 0) shared.listed_at[warp * PER_WARP + lane / 4] = begin;
        if (lane == 31) shared.listed[warp] = up_to;
        u16* list = shared.exceptions + warp * (PER_WARP * MAX_EXCEPTIONS) + begin;
        while (places) {
            const u32 top = top_bit(places);
            places ^= (typename Wide<T>::Places)1 << top;
            *list++ = (u16)strip.from_behind<T>(top);
        }
        return all;
    }
    // Codes of another mode to offsets from the least word, from which the mode's own base is `base` away.
    DEV void to_offsets(uint4& codes, bool small, u32 mode, Word base) const {
        if (T::BITS == 64 && uniform(small)) {
            u32 v[2];
            split(codes, v);
            restore_words<Small64>(mode, special, (u32)base, v);
            codes = join(v);
            return;
        }
        Word v[T::VALUES];
        split(codes, v);
        restore_words<T>(mode, special, base, v);
        if (mode == MODE_SPECIAL && special == SPECIAL_EXPONENT) {
#pragma unroll
            for (int i = 0; i < T::VALUES; i++) v[i] = wrap<T>(v[i] + base);
        }
        codes = join(v);
    }

    // The words of chunk c to codes on the stage, and what is chosen for them.
    DEV void choose(u64 c, const Source& source) {
        uint4 q[PER_WARP];
        load(q, source);
        if (source.whole) block.prefetch_ahead(c);
        to_integers(q);
        choose_for(q, source);
    }
    DEV void load(uint4 (&q)[PER_WARP], const Source& source) const {
        if (source.whole) {
            const uint4* from = (const uint4*)(source.start + place_of(0));
#pragma unroll
            for (int k = 0; k < PER_WARP; k++) q[k] = load_streaming(from + k * (SUBCHUNK_BYTES / 16));
        } else {
#pragma unroll
            for (int k = 0; k < PER_WARP; k++) q[k] = source.load<T>(place_of(k), true);
        }
        if (uniform(plan.big_endian)) {
#pragma unroll
            for (int k = 0; k < PER_WARP; k++) q[k] = swap_bytes<T>(q[k]);
        }
    }

    // The body of the chunk on the stage, where there are zeros.
    DEV void pack_chunk(u64 c, const Layout<T>& l, u32 kind) {
        if (kind == KIND_PACKED) {
            pack_all(l.payload);
            if (T::BITS > 8 && !uniform(fast)) write_exceptions<T>((u8*)body, l, shared.exceptions + warp * (PER_WARP * MAX_EXCEPTIONS), shared.listed[warp], shared.listed_at, (const u8*)stage, lane);
            if (warp == WARPS - 2) write_bases<T>((u8*)body, l, shift, special, lane);
            if (warp == WARPS - 1) write_descriptors<T>((u8*)body, l, lane);
            __syncwarp();
        } else if (kind == KIND_RAW) {
            const Source source = desk.job.source(c);
#pragma unroll 1
            for (int k = 0; k < PER_WARP; k++) {
                uint4 r = source.load<T>(place_of(k), false);
                if (plan.big_endian) r = swap_bytes<T>(r);
                body[place_of(k) / 16] = r;
            }
        } else if (threadIdx.x == 0) {
            const u64 bits = element_of(told(PACK).first[0]);
            body[0] = make_uint4((u32)bits, (u32)(bits >> 32), 0, 0);
        }
    }

    DEV u32 place_of(int k) const { return ::place_of(warp, k, lane); }

    // The warp's subchunks: each lane its strip, where lanes then hardly ever write to the same bank; else one subchunk after the other.
    DEV void pack_all(u32 payloads) const {
        const u32 payload = __shfl_sync(FULL, payloads, warp * PER_WARP + lane / 4), widest = uniform(__reduce_max_sync(FULL, payload & 0xff));
        if (T::BITS >= 32 && widest <= 32) {
            pack_strip(payload, widest);
        } else {
#pragma unroll 1
            for (u32 s = warp * PER_WARP; uniform(s) < (warp + 1) * PER_WARP; s++) pack_one(__shfl_sync(FULL, payloads, s), stage[slot(s, lane)]);
        }
    }
    DEV void pack_one(u32 payload, uint4 codes) const {
        const u32 width = payload & 0xff;
        Word v[T::VALUES];
        split(codes, v);
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) v[i] &= low_bits<T>(width);
        pack<T>((u32*)body + (payload >> 8) * 2, v, width, lane);
    }
    // Two strips may meet within a word where words have 64 bits; the second one's part of it is there first.
    DEV void pack_strip(u32 payload, u32 widest) const {
        const u32 n = payload & 0xff, bit = lane % 4 * (Strip::VECTORS * T::VALUES) * n;
        Appender to = {(u32*)body + (payload >> 8) * 2 + bit / 32, bit % 32, 0};
        const Strip strip(stage, warp * PER_WARP, lane);
        if (T::BITS == 32 && widest <= 8) append_strip<T::BITS == 32 ? 4 : 1>(to, strip, n);
        else if (widest <= 16) append_strip<2>(to, strip, n);
        else append_strip<1>(to, strip, n);
        if (T::BITS == 64) {
            __syncwarp();
            if (to.at & 31) *to.to |= to.word;
        }
    }
    template <int TOGETHER> DEV static void append_strip(Appender& to, const Strip& strip, u32 n) {
        const u32 mask = low_bits<F32>(n), one = settled(1u << n);
#pragma unroll 1
        for (u32 i = 0; i < Strip::VECTORS; i++) append<T, TOGETHER>(to, strip[i], n, mask, one);
    }
};

template <class T> DEV void compress_general(const CompressArgs& a) {
    SHARED Shared<T> shared;
    GeneralEncoder<T> encoder(a, shared);
    encoder.run();
}
