// Stream → array. Blocks take chunks by ticket, so that no block is behind, and what is read and written at one time
// lies together in memory: body to shared memory with its checksum on the way, then each warp decodes subchunks in
// registers and stores 16 bytes a lane. Everything that steers an address is checked before it is used; checksums are
// compared at the end, so a stream that fails them has been decoded to harmless nonsense by then.
//
// A block of 4 warps shares 16 KiB and a little more:
//
//   body        the packed chunk            all threads copy it in, every warp reads it
//   part[4]     keyed sums of its words     each warp its own; thread 64 compares them with the group's checksum
//   stream      what is known of the array  lane 0 of warp 0 at the start of an array; all read it
//   parts       where its subchunks lie     warp 0 parses, all read
//   place[2]    this chunk and the next     warp 3 looks up the next while this one is decoded
//
//   barrier 1   place[turn] is known and nobody reads the last body any longer; then: stream → body
//   barrier 2   the body and its sums are there; then: warp 3 looks up place[turn ^ 1], thread 64 compares
//   barrier 3   parts are there, where warp 0 has parsed for all; then: body → registers → array
#pragma once
#include "../common/bitpack.cuh"
#include "modes.cuh"
#include "swar16.cuh"
#include "../common/plan.cuh"
#include "../common/quantizer.cuh"

#define DECODE_THREADS 128
#define DECODE_WARPS (DECODE_THREADS / 32)
#define SUBCHUNKS_A_DECODER (SUBCHUNKS / DECODE_WARPS)
// Behind the largest body lies room for what is read behind a string, and for a tail that is parsed before its length
// is known to fit: bases, descriptors, high widths, flags and masks of all subchunks.
#define BODY_ROOM (CHUNK_BYTES + 1536)

// How much of a chunk is wanted: WHOLE if it can be stored by 16 bytes, too.
enum Extent { NOTHING, SOME, WHOLE };

// Where the body of a chunk lies, found by a whole warp.
struct Body {
    u64 chunk;
    u64 at;       // offset in the stream
    u32 units;    // of 16 bytes; 0: the index is not valid
    u16 kind, extent;
};

DEV Body locate(const u8* src, const Header& head, u64 chunk, u32 lane) {
    const u64 group = chunk / GROUP_CHUNKS;
    const u32 k = (u32)(chunk % GROUP_CHUNKS);
    const u64 start = *(const u64*)(src + head.bytes + group * GROUP_BYTES);
    const u64 first = group * GROUP_CHUNKS + 2 * lane;
    const u32 pair = first < head.chunks ? *(const u32*)(src + head.entries_at + first * ENTRY_BYTES) : 0;
    const u32 before =
        (2 * lane < k ? pair & ENTRY_SIZE_MASK : 0) + (2 * lane + 1 < k ? pair >> 16 & ENTRY_SIZE_MASK : 0);
    const u32 entry = __shfl_sync(FULL, pair, k >> 1) >> (16 * (k & 1)) & 0xffff;
    Body body;
    body.chunk = chunk;
    body.units = entry & ENTRY_SIZE_MASK;
    body.kind = (u16)(entry >> ENTRY_KIND_SHIFT);
    body.at = start + (u64)ALIGN * __reduce_add_sync(FULL, before);
    if (!head.fits(chunk, body.kind, body.units) || entry & ENTRY_ZERO_MASK || start % ALIGN ||
        start < head.bodies_at || start > head.stream_bytes || body.at + body.units * ALIGN > head.stream_bytes)
        body.units = 0;
    return body;
}

// What there is to know of a subchunk of a packed chunk.
template <class T> struct alignas(2 * sizeof(typename T::Word)) Subchunk {
    typename T::Word base;    // for the quantizer, its offset added
    u32 info;    // bits 0–7 width n, 8–9 mode, 10 whether sums of codes fit into 32 bits, 11–17 bits of a high part,
                 // 18–31 place in the body, in 8 bytes

    static DEV u32 mode(u32 info) { return info >> 8 & 3; }
    static DEV bool narrow(u32 info) { return info >> 10 & 1; }
    static DEV u32 high(u32 info) { return info >> 11 & 0x7f; }    // 0 where there are no exceptions
    static DEV const u32* payload(const u32* body, u32 info) { return body + (info >> 18) * 2; }
};

// Which of 32 codes are exceptions, and where their high parts begin in the body, in bits.
struct alignas(8) Patch {
    u32 places, high_parts;
};

// A packed chunk taken apart, by one warp for all.
template <class T> struct Parts {
    Subchunk<T> subchunk[SUBCHUNKS];
    Patch patch[SUBCHUNKS][T::BITS > 8 ? T::VALUES : 1];    // if any has exceptions
    u32 shift, special, quantized, good;
};

// Whether codes of so many bits leave sums of 32 bits right, so that they may be decoded as such.
template <class T> DEV bool is_narrow(u32 full, u32 mode, u32 special) {
    if (T::BITS < 64 || (mode == SUBMODE_SPECIAL && special == SPECIAL_EXPONENT)) return false;
    return full <= (mode == SUBMODE_SPECIAL ? 20 : 25);
}

// 32 bits from any byte on.
DEV u32 bits_at(const u32* body, u32 at) { return __funnelshift_r(body[at >> 2], body[(at >> 2) + 1], 8 * at); }

// How bytes that lie without gaps get to where four flags say, as __byte_perm takes it: its byte 4 is to be 0.
DEV u32 spread_by(u32 flags) {
    const u32 twice = flags | flags << 6, each = (twice | twice << 3) & 0x1111, before = each * 0x1110;
    return (before & each * 3) | (0x4444 - each * 4);
}

// Parses header and tail of a packed chunk; false if it is not valid. `offset` is added to each base that is a bin.
template <class T>
DEV bool parse(const u32* body, u32 bytes, const Header& head, typename T::Word offset, u32 lane, Parts<T>& parts) {
    typedef typename T::Word Word;
    const u8* byte = (const u8*)body;
    const u32 active = body[0], patched = body[1], units = body[2] & 0xffff, base_width = body[2] >> 16 & 0x7f;
    const u32 shift = body[2] >> 24 & 63, special = body[2] >> 30, exact = body[2] >> 23 & 1;
    const bool quantized = head.step_w && !exact;
    u32 at = CHUNK_HEADER_BYTES + units * ALIGN;
    if (patched & ~active || base_width > T::BITS || shift >= T::BITS || special > 1 || at > bytes ||
        (quantized && shift) || (exact && !head.step_w))
        return false;
    if (T::BITS == 8 && patched) return false;
    Word ref = body[3];
    if (T::BITS < 32 && body[3] >> (T::BITS & 31)) return false;
    if (T::BITS == 64) {
        ref |= (Word)((u64)body[at >> 2] << 32);
        at += 4;
    }
    const u32 bit = lane * base_width;
    const u32* w = body + (at >> 2) + (bit >> 5);
    const u64 low = __funnelshift_r(w[0], w[1], bit), high = __funnelshift_r(w[1], w[2], bit);
    Subchunk<T> sub;
    sub.base = wrap<T>(ref + ((Word)(low | high << 32) & ones<T>(base_width)) + (quantized ? offset : 0));
    at += 4 * base_width;
    const u32 below = (1u << lane) - 1;
    const bool has = active >> lane & 1, patch = patched >> lane & 1;
    const u32 descriptor = has ? byte[at + __popc(active & below)] : 0;
    at += __popc(active);
    const u32 mode = descriptor >> 6, n = has ? (descriptor & 63) + (patch ? 0 : 1) : 0;
    bool good = n <= T::BITS;
    if (mode == SUBMODE_SPECIAL && special == SPECIAL_EXPONENT)
        good &= T::EXPONENT > 0 && head.is_float && !quantized && !shift;
    const u32 rank = __popc(patched & below), patches = __popc(patched);
    const u32 h = patch ? byte[at + rank] : 0;
    at += patches;
    const u32 flags = patch ? bits_at(body, at + MASK_FLAG_BYTES(T) * rank) & low_ones(MASK_BYTES(T)) : 0,
              mask_bytes = __popc(flags);
    at += MASK_FLAG_BYTES(T) * patches;
    // Two sums at once: of payloads, at most 2^14 together, and of masks.
    const u32 length = n * (32 * T::VALUES / 64) | mask_bytes << 16;
    const u32 up_to = warp_running_sum(length), all = __shfl_sync(FULL, up_to, 31);
    if (T::BITS > 8 && patched) {
        u32 count = 0, used_masks = 0, mask = at + ((up_to - length) >> 16);
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) {
            const u32 some = flags >> (4 * i & 31) & 15, places = __byte_perm(bits_at(body, mask), 0, spread_by(some));
            parts.patch[lane][i] = {places, count * h};
            mask += __popc(some);
            count += __popc(places);
            used_masks += __popc(used_bytes(places));
        }
        at += all >> 16;
        if (patch) good &= flags && used_masks == mask_bytes && h >= 1 && h + n <= T::BITS;
        const u32 highs = good ? (count * h + 7) / 8 : 0, highs_up_to = warp_running_sum(highs);
        const u32 high_parts = 8 * (at + highs_up_to - highs), used = high_parts + count * h;
        at += __shfl_sync(FULL, highs_up_to, 31);
        good &= at <= bytes;
        if (good && used & 7) good &= byte[used >> 3] >> (used & 7) == 0;
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) parts.patch[lane][i].high_parts += high_parts;
    }
    const u32 used = all & 0xffff;
    sub.info = n | mode << 8 | (is_narrow<T>(n + h, mode, special) ? 1u << 10 : 0) | h << 11 |
               (CHUNK_HEADER_BYTES / 8 + ((up_to - length) & 0xffff)) << 18;
    parts.subchunk[lane] = sub;
    if (lane == 0) {
        parts.shift = shift;
        parts.special = special;
        parts.quantized = quantized;
    }
    good &= (used + 1) / 2 == units && (at + ALIGN - 1) / ALIGN * ALIGN == bytes;
    if (!__all_sync(FULL, good)) return false;
    // What pads payload and tail must be zero.
    const u32 payload_end = CHUNK_HEADER_BYTES + used * 8, payload_pad = CHUNK_HEADER_BYTES + units * ALIGN;
    bool zero = true;
    if (payload_end + lane < payload_pad) zero &= byte[payload_end + lane] == 0;
    if (at + lane < bytes) zero &= byte[at + lane] == 0;
    return __all_sync(FULL, zero);
}

// Codes in registers, so many in each, and by what the high part of the first of these is to be multiplied.
template <class Word, int TOGETHER> struct Codes {
    Word* words;
    Word one;

    DEV Word& word(int i) const { return words[i / TOGETHER]; }
    DEV Word factor(int i) const { return i % TOGETHER ? one << 16 : one; }
    DEV Codes behind(int n) const { return {words + n / TOGETHER, one}; }
};
// Adds to those of COUNT codes that `mask` has bits for, the first at the lowest, the next h bits of `window` each.
template <int COUNT, class Window, class Word, int TOGETHER>
DEV void add_each(Window window, u32 mask, u32 h, Codes<Word, TOGETHER> codes) {
    const Word low = sizeof(Word) == 8 ? (Word)ones<F64>(h) : (Word)low_ones(h);
#pragma unroll
    for (int i = 0; i < COUNT; i++) add_next(codes.word(i), window, mask & 1u << i, low, codes.factor(i), h);
}
// Adds to COUNT codes their high parts of h bits, together at most 64, the first of which is at `bit`, which moves on.
template <int COUNT, class Codes> DEV void add_long(const u32* body, u32& bit, u32 mask, u32 h, Codes codes) {
    const u32* w = body + (bit >> 5);
    add_each<COUNT>(__funnelshift_r(w[0], w[1], bit) | (u64)__funnelshift_r(w[1], w[2], bit) << 32, mask, h, codes);
    bit += __popc(mask & low_ones(COUNT)) * h;
}
// The same of up to BITS bits.
template <int COUNT, int BITS, class Codes>
DEV void add_high_parts(const u32* body, u32& bit, u32 mask, u32 h, Codes codes) {
    if (uniform(h <= 32 / COUNT)) {
        const u32* w = body + (bit >> 5);
        add_each<COUNT>(__funnelshift_r(w[0], w[1], bit), mask, h, codes);
        bit += __popc(mask & low_ones(COUNT)) * h;
    } else if (COUNT * BITS <= 64 || uniform(h <= 64 / COUNT)) {
        add_long<COUNT>(body, bit, mask, h, codes);
    } else {
        add_long<COUNT / 2>(body, bit, mask, h, codes);
        add_long<COUNT / 2>(body, bit, mask >> COUNT / 2, h, codes.behind(COUNT / 2));
    }
}

// The exceptions of a lane's codes.
template <class T> struct LaneExceptions {
    u32 mask, bit, h, n;    // a bit for each code, the first at the lowest; the place of the first high part, in bits;
                            // bits of these, and of what is below them

    DEV LaneExceptions(const Patch* patches, u32 info, u32 lane) {
        enum { LANES = 32 / T::VALUES };    // of a word of places
        const Patch p = patches[lane / LANES];
        const u32 before = lane % LANES * T::VALUES;
        h = Subchunk<T>::high(info);
        n = info & 0xff;
        mask = p.places >> before;
        bit = p.high_parts + __popc(p.places & low_ones(before)) * h;
    }
    DEV void add_to(typename T::Word (&v)[T::VALUES], const u32* body) {
        add_high_parts<T::VALUES, T::BITS>(body, bit, mask, h, Codes<typename T::Word, 1>{v, (typename T::Word)1 << n});
    }
    // The same of two codes in each register.
    DEV void add_to(uint4& q, const u32* body) {
        u32 v[4];
        split(q, v);
        const Codes<u32, 2> codes = {v, 1u << n};
        add_high_parts<4, T::BITS>(body, bit, mask, h, codes);
        add_high_parts<4, T::BITS>(body, bit, mask >> 4, h, codes.behind(4));
        q = join(v);
    }
};

// Where decoded bytes go: the whole 16 where they are wanted and aligned, else byte by byte within the wanted range.
struct Target {
    u8* origin;        // where byte 0 of the array would lie
    u64 begin, end;    // wanted bytes
    DEV Extent extent(u64 at, u32 bytes) const {
        if (at >= end || at + bytes <= begin) return NOTHING;
        return bytes == CHUNK_BYTES && at >= begin && at + bytes <= end && ((u64)origin & 15) == 0 ? WHOLE : SOME;
    }
    DEV void store_part(u64 at, uint4 q) const {
        u64 lo = q.x | (u64)q.y << 32, hi = q.z | (u64)q.w << 32;
#pragma unroll 1
        for (u32 i = 0; i < 16; i++) {
            if (at + i >= begin && at + i < end) origin[at + i] = (u8)lo;
            lo = lo >> 8 | hi << 56;
            hi >>= 8;
        }
    }
    DEV void store_element(u64 at, u32 size, u64 bits) const {
#pragma unroll 1
        for (u32 i = 0; i < size; i++, bits >>= 8)
            if (at + i >= begin && at + i < end) origin[at + i] = (u8)bits;
    }
    DEV void store(u64 at, bool whole_chunk, uint4 q) const {
        if (whole_chunk)
            store_streaming((uint4*)(origin + at), q);
        else
            store_part(at, q);
    }
};

// What elements of packed bodies are not: numbers of missing values, and the next larger ones that they are instead.
template <class T> struct Beside {
    typedef typename T::Word Word;
    Word from[2 * MAX_MISSING], to[2 * MAX_MISSING];    // in their order, of a zero both
    u32 count;

    DEV void set(const Header& head) {
        const Word infinity = ones<T>(T::BITS - 1) >> T::MANTISSA << T::MANTISSA, sign = (Word)1 << (T::BITS - 1);
        count = 0;
        if (!head.next) return;
#pragma unroll 1
        for (u32 k = 0; k < head.values; k++) {
            const Word m = (Word)head.missing[k], magnitude = m & ones<T>(T::BITS - 1);
            const Word next = magnitude == 0 ? 1 : m & sign ? m - 1 : m + 1;
            if (magnitude >= infinity || (next & ones<T>(T::BITS - 1)) >= infinity) continue;
            add(m, next);
            if (magnitude == 0) add(m ^ sign, next);
        }
    }
    DEV void add(Word a, Word b) {
        from[count] = a;
        to[count++] = b;
    }
    DEV void replace(Word (&v)[T::VALUES]) const {
#pragma unroll 1
        for (u32 k = 0; uniform(k) < count; k++) {
            const Word a = from[k], b = to[k];
#pragma unroll
            for (int i = 0; i < T::VALUES; i++) v[i] = v[i] == a ? b : v[i];
        }
    }
};

// Which elements of a warp's subchunks are missing: a bit for each, and two that say which value it is. Each warp reads
// what the plane tells of its own.
template <class T> struct Masks {
    typedef typename T::Word Word;
    enum {
        WORDS = SUBCHUNKS_A_DECODER * T::VALUES,
        ROUNDS = (WORDS + 31) / 32,
        FLAGS = T::VALUES / 2,     // bytes of a subchunk's flags, each for eight of its bytes of changes
        LANES = 32 / T::VALUES,    // of a word
        ALL = (1u << T::VALUES) - 1
    };
    u64 value[MAX_MISSING];
    u32 any[WORDS], low[WORDS], high[WORDS];
    u32 several;    // whether there are several values; of one alone value[0] is that
    const Beside<T>* beside;    // what is to be replaced before

    // Where no element is missing. For a whole warp.
    DEV void set_none(u32 lane) {
        for (u32 w = lane; w < WORDS; w += 32) any[w] = 0;
        if (lane == 0) several = 0;
        __syncwarp();
    }

    // The masks from the plane that a body begins with; false if it is not valid. For a whole warp.
    DEV bool read(const u32* plane, const u64* missing, u32 warp, u32 lane) {
        const u32 which = plane[0] & 15, bytes = (plane[0] >> 16) * ALIGN;
        for (u32 w = lane; w < WORDS; w += 32) any[w] = low[w] = high[w] = 0;
        if (lane < MAX_MISSING) value[lane] = missing[which & which - 1 ? lane : __ffs((i32)which) - 1];
        if (lane == 0) several = which & which - 1;
        u32 at = 4;
        bool good = true;
#pragma unroll 1
        for (u32 k = 0; good && uniform(k) < MAX_MISSING; k++)
            if (uniform(which >> k & 1)) good = read_value(plane, bytes, at, k, warp, lane);
        __syncwarp();    // lanes use what others have read
        // Fewer zero bytes than a unit follow.
        return good && bytes - at < ALIGN && (at + lane >= bytes || ((const u8*)plane)[at + lane] == 0);
    }
    // The mask of value k at byte `at`, which moves on. Lane s sees where subchunk s, which is block s of the plane,
    // has its bytes of changes, then each lane makes words of them.
    DEV bool read_value(const u32* plane, u32 bytes, u32& at, u32 k, u32 warp, u32 lane) {
        if (at + 8 > bytes) return false;
        const u32 first = bits_at(plane, at), mixed = bits_at(plane, at + 4), flags_at = at + 8;
        at = flags_at + FLAGS * __popc(mixed);
        if ((first | mixed) == 0 || at > bytes) return false;
        const bool is_mixed = mixed >> lane & 1;
        const u32 flags =
            is_mixed ? bits_at(plane, flags_at + FLAGS * __popc(mixed & low_ones(lane))) & low_ones(8 * FLAGS) : 0;
        const u32 own = __popc(flags), up_to = warp_running_sum(own), from = at + up_to - own;
        at += __shfl_sync(FULL, up_to, 31);
        if (at > bytes) return false;
        bool good = !is_mixed || flags;
#pragma unroll
        for (u32 round = 0; round < ROUNDS; round++) {
            const u32 w = 32 * round + lane, s = (warp * SUBCHUNKS_A_DECODER + w / T::VALUES) % SUBCHUNKS,
                      i = w % T::VALUES;
            const u32 all = __shfl_sync(FULL, flags, s), start = __shfl_sync(FULL, from, s), some = all >> 4 * i & 15;
            const u32 x = __byte_perm(bits_at(plane, start + __popc(all & low_ones(4 * i))), 0, spread_by(some));
            good &= __popc(used_bytes(x)) == __popc(some) && (i || !(x & 1));
            // Each bit becomes the parity of all up to it, in words before this one too.
            u32 word = x;
#pragma unroll
            for (u32 j = 1; j < 32; j *= 2) word ^= word << j;
            const u32 odd = __ballot_sync(FULL, word >> 31) & low_ones(lane) & ~low_ones(lane - i);
            if ((__popc(odd) ^ first >> s) & 1) word = ~word;
            if (w >= WORDS) continue;
            good &= !(word & any[w]);    // no element has two values
            any[w] |= word;
            if (k & 1) low[w] |= word;
            if (k & 2) high[w] |= word;
        }
        return __all_sync(FULL, good);
    }

    // A lane's elements of the warp's subchunk k, with the missing values where they belong.
    DEV uint4 put(const uint4& q, u32 k, u32 lane) const {
        const u32 w = k * T::VALUES + lane / LANES, bit = lane % LANES * T::VALUES, gaps = any[w] >> bit;
        Word v[T::VALUES];
        split(q, v);
        if (beside) beside->replace(v);
        if (uniform(several)) {
            const u32 lower = low[w] >> bit, higher = high[w] >> bit;
#pragma unroll
            for (int i = 0; i < T::VALUES; i++)
                if (gaps >> i & 1) v[i] = (Word)value[(lower >> i & 1) | (higher >> i & 1) << 1];
        } else {
            const Word one = (Word)value[0];
#pragma unroll
            for (int i = 0; i < T::VALUES; i++) v[i] = gaps >> i & 1 ? one : v[i];
        }
        return join(v);
    }
};

// Words of a subchunk from its codes.
template <class T, bool QUANTIZED>
DEV void decode_words(const u32* body, const Subchunk<T> sub, const Patch* patches, u32 special, u32 lane,
                      typename T::Word (&v)[T::VALUES]) {
    typedef Subchunk<T> S;
    const u32 n = sub.info & 0xff, mode = S::mode(sub.info);
    const u32* words = S::payload(body, sub.info);
    const bool patched = T::BITS > 8 && uniform(S::high(sub.info) != 0);
    if (T::BITS == 64 && uniform(S::narrow(sub.info))) {
        u32 x[2];
        unpack<Small64>(words, n, lane, x);
        if (patched) LaneExceptions<Small64>(patches, sub.info, lane).add_to(x, body);
        restore_words<Small64>(mode, SPECIAL_DELTA2, 0, x);
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) v[i] = sub.base + (typename T::Word)(i64)(i32)x[i & 1];
        return;
    }
    unpack<T>(words, n, lane, v);
    if constexpr (T::BITS > 8)
        if (patched) LaneExceptions<T>(patches, sub.info, lane).add_to(v, body);
    restore_words<T>(mode, QUANTIZED ? SPECIAL_DELTA2 : special, sub.base, v);
}

// The same for words of 16 bits, to their bytes: two at once.
template <class T, bool QUANTIZED>
DEV uint4 decode_swar16(const u32* body, const Subchunk<T> sub, const Patch* patches, u32 special, u32 shift, u32 lane,
                        const Swar16Quantizer<T>& quantizer) {
    typedef Subchunk<T> S;
    uint4 q = unpack_swar16(S::payload(body, sub.info), sub.info & 0xff, lane);
    if (uniform(S::high(sub.info) != 0)) LaneExceptions<T>(patches, sub.info, lane).add_to(q, body);
    q = restore_swar16<T>(S::mode(sub.info), QUANTIZED ? SPECIAL_DELTA2 : special, sub.base, q);
    if (QUANTIZED) return quantizer.restore(q);
    return shift ? each(q, [&](u32 x) { return x << shift & both(0xffffu << shift & 0xffffu); }) : q;
}

template <class T, bool QUANTIZED>
DEV void decode_packed(const u32* body, const Parts<T>& parts, const Quantizer<T>& shared_quantizer, bool big_endian,
                       const Target& target, u64 at, bool whole, const Masks<T>* masks, u32 warp, u32 lane) {
    typedef typename T::Word Word;
    const Quantizer<T> quantizer = shared_quantizer;    // in registers
    const Swar16Quantizer<T> pairs(quantizer);
    const u32 shift = parts.shift, special = parts.special;
    u32 s = warp * SUBCHUNKS_A_DECODER;
    const u32 end = s + SUBCHUNKS_A_DECODER;
    u32 in_chunk = s * SUBCHUNK_BYTES + lane * 16;
    const bool plain = whole && !big_endian && !masks;
    uint4* to = (uint4*)(target.origin + at + in_chunk);
#pragma unroll 1
    for (; s < end; s++) {
        uint4 q;
        if constexpr (T::BITS == 16) {
            q = decode_swar16<T, QUANTIZED>(body, parts.subchunk[s], parts.patch[s], special, shift, lane, pairs);
        } else {
            Word v[T::VALUES];
            decode_words<T, QUANTIZED>(body, parts.subchunk[s], parts.patch[s], special, lane, v);
            if (QUANTIZED) {
                quantizer.restore(v);
            } else if (shift) {
#pragma unroll
                for (int i = 0; i < T::VALUES; i++) v[i] = wrap<T>(v[i] << shift);
            }
            q = join(v);
        }
        if (plain) {
            store_streaming(to, q);
        } else {
            if (masks) q = masks->put(q, s % SUBCHUNKS_A_DECODER, lane);
            if (big_endian) q = swap_bytes<T>(q);
            target.store(at + in_chunk, whole, q);
        }
        in_chunk += SUBCHUNK_BYTES;
        to += SUBCHUNK_BYTES / 16;
    }
}

// A chunk as profile `fast` writes it: no exceptions, no bases, one mode. Every warp looks at its tail itself, so that
// nobody waits.
template <class T, bool QUANTIZED> struct Plain {
    u32 info;    // of subchunk `lane`: bits 0–7 width, from 8 on where its payload begins, in words

    // Whether it is such a chunk, and valid; the same on every thread of the block. Where it is not, whoever takes
    // others apart finds what is wrong.
    DEV bool parse(const u32* body, u32 bytes, u32 lane) {
        const u8* byte = (const u8*)body;
        const uint4 header = *(const uint4*)body;
        const u32 active = header.x, units = header.z & 0xffff, tail = CHUNK_HEADER_BYTES + units * ALIGN,
                  at = tail + (T::BITS == 64 ? 4 : 0);
        // Neither patched, nor a base, nor a shift.
        if (header.y | header.w | (header.z >> 16 ^ (QUANTIZED ? SPECIAL_DELTA2 : SPECIAL_EXPONENT) << 14))
            return false;
        if (at > bytes) return false;
        const bool has = active >> lane & 1;
        const u32 descriptor = byte[at + __popc(active & ((1u << lane) - 1))], n = has ? (descriptor & 63) + 1 : 0;
        const u32 length = n * (32 * T::VALUES / 64), up_to = warp_running_sum(length),
                  used = __shfl_sync(FULL, up_to, 31), end = at + __popc(active);
        info = n | (CHUNK_HEADER_BYTES / 4 + 2 * (up_to - length)) << 8;
        u32 bad = has ? descriptor >> 6 ^ (QUANTIZED ? SUBMODE_ZIGZAG : SUBMODE_SPECIAL) : 0;
        bad |= ((used + 1) / 2 ^ units) | ((end + ALIGN - 1) / ALIGN * ALIGN ^ bytes);
        if (T::BITS < 64) bad |= n > T::BITS;
        if (T::BITS == 64) bad |= body[tail / 4];
        // What pads payload and tail must be zero.
        if (used & 1) bad |= body[tail / 4 - 1] | body[tail / 4 - 2];
        if (end + lane < bytes) bad |= byte[end + lane];
        return __all_sync(FULL, bad == 0);
    }

    // MASKED: a warp has subchunks that follow each other, as its masks do.
    template <bool MASKED>
    DEV void decode(const u32* body, const Quantizer<T>& shared_quantizer, uint4* to, const Masks<T>* masks, u32 warp,
                    u32 lane) const {
        enum { STEP = MASKED ? 1 : DECODE_WARPS };
        const Quantizer<T> quantizer = shared_quantizer;    // in registers
        const Swar16Quantizer<T> swar16_quantizer(quantizer);
        const u32 begin = MASKED ? warp * SUBCHUNKS_A_DECODER : warp,
                  end = MASKED ? begin + SUBCHUNKS_A_DECODER : SUBCHUNKS;
        to += begin * 32 + lane;
        u32 next = __shfl_sync(FULL, info, begin);
#pragma unroll 2
        for (u32 s = begin; s < end; s += STEP) {
            const u32 n = next & 0xff;
            const u32* words = body + (next >> 8);
            next = __shfl_sync(FULL, info, s + STEP);    // asked for early; behind the last one any
            uint4 q;
            if constexpr (T::BITS == 16) {
                q = pairs(unpack_swar16(words, n, lane), n, swar16_quantizer);
            } else {
                typename T::Word v[T::VALUES];
                unpack<T>(words, n, lane, v);
                if (!QUANTIZED) {
#pragma unroll
                    for (int i = 0; i < T::VALUES; i++) v[i] = from_exponent_code<T>(v[i]);
                } else if (n <= Quantizer<T>::PLAIN_WIDTH) {
#pragma unroll
                    for (int i = 0; i < T::VALUES; i++) v[i] = quantizer.restore_code(v[i]);
                } else {
#pragma unroll
                    for (int i = 0; i < T::VALUES; i++) v[i] = quantizer.restore_any(from_zigzag<T>(v[i]));
                }
                q = join(v);
            }
            store_streaming(to, MASKED ? masks->put(q, s % SUBCHUNKS_A_DECODER, lane) : q);
            to += STEP * 32;
        }
    }
    // Words of 16 bits from codes of n.
    static DEV uint4 pairs(uint4 q, u32 n, const Swar16Quantizer<T>& quantizer) {
        if (!QUANTIZED) return each(q, [&](u32 c) { return from_exponent_codes<T>(c); });
        if (n <= Quantizer<T>::PLAIN_WIDTH) return each(q, [&](u32 c) { return quantizer.near_words(c); });
        return quantizer.words(q);
    }
};

template <class T, bool QUANTIZED>
DEV bool decode_plain(const u32* body, u32 bytes, const Quantizer<T>& quantizer, u8* to, const Masks<T>* masks,
                      u32 warp, u32 lane) {
    Plain<T, QUANTIZED> plain;
    if (!plain.parse(body, bytes, lane)) return false;
    if (T::EXPONENT > 0 && masks)
        plain.template decode<true>(body, quantizer, (uint4*)to, masks, warp, lane);
    else
        plain.template decode<false>(body, quantizer, (uint4*)to, masks, warp, lane);
    return true;
}

template <class T>
DEV bool decode_stored(const u32* body, u32 kind, const Header& head, const Target& target, u64 at, bool whole,
                       u64 chunk, const Masks<T>* masks) {
    const u32 bytes = head.chunk_bytes(chunk);
    const u8* byte = (const u8*)body;
    bool good = true;
    if (kind == KIND_RAW) {
        for (u32 i = bytes + threadIdx.x; i < (bytes + ALIGN - 1) / ALIGN * ALIGN; i += DECODE_THREADS)
            good &= byte[i] == 0;
    } else if (threadIdx.x < ALIGN && threadIdx.x >= T::BITS / 8) {
        good &= byte[threadIdx.x] == 0;
    }
    typename T::Word v[T::VALUES];
    split(*(const uint4*)body, v);
#pragma unroll
    for (int i = 1; i < T::VALUES; i++) v[i] = v[0];
    const uint4 same = join(v);
    // With masks a warp has subchunks that follow each other.
    const u32 lane = threadIdx.x & 31, begin = masks ? threadIdx.x / 32 * SUBCHUNKS_A_DECODER * 32 + lane : threadIdx.x,
              end = masks ? begin + SUBCHUNKS_A_DECODER * 32 : CHUNK_BYTES / 16, step = masks ? 32 : DECODE_THREADS;
    for (u32 i = begin; i < end && (i - lane) * 16 < bytes; i += step) {
        uint4 q = kind == KIND_RAW ? ((const uint4*)body)[i] : same;
        if (T::EXPONENT > 0 && masks) q = masks->put(q, i / 32 % SUBCHUNKS_A_DECODER, lane);
        if (head.big_endian) q = swap_bytes<T>(q);
        if (i * 16 < bytes) target.store(at + i * 16, whole, q);
    }
    return good;
}

// A body to shared memory; this thread's share of its keyed sum. A short one all at once; of a long one, of which
// registers hold four parts, that takes longer.
DEV u64 fetch(const u8* src, u32 units, uint4* body) {
    u64 sum = 0;
    const uint4* from = (const uint4*)src;
    u32 i = threadIdx.x, key = key_of(4 * i);
    if (uniform(units) <= 4 * DECODE_THREADS) {
#pragma unroll
        for (u32 j = 0; j < 4; j++)
            if (i + j * DECODE_THREADS < units)
                copy_async(body + i + j * DECODE_THREADS, from + i + j * DECODE_THREADS);
        wait_for_copies();
#pragma unroll
        for (u32 j = 0; j < 4; j++)
            if (i + j * DECODE_THREADS < units)
                sum += keyed(body[i + j * DECODE_THREADS], key + j * (8 * DECODE_THREADS * KEY32));
        return sum;
    }
    for (; i + 3 * DECODE_THREADS < units; i += 4 * DECODE_THREADS) {
        uint4 q[4];
#pragma unroll
        for (u32 j = 0; j < 4; j++) q[j] = load_streaming(from + i + j * DECODE_THREADS);
#pragma unroll
        for (u32 j = 0; j < 4; j++) {
            body[i + j * DECODE_THREADS] = q[j];
            sum += keyed(q[j], key);
            key += 8 * DECODE_THREADS * KEY32;
        }
    }
    for (; i < units; i += DECODE_THREADS) {
        const uint4 q = load_streaming(from + i);
        body[i] = q;
        sum += keyed(q, key);
        key += 8 * DECODE_THREADS * KEY32;
    }
    return sum;
}

// What all threads of a block know of the stream that they work on: in shared memory, since registers are short.
template <class T> struct Stream {
    const u8* src;
    Control* control;
    Outcome* outcome;
    u64 first, work_slots;    // of all arrays' work slots, those of this one
    Header head;
    Quantizer<T> quantizer;
    Beside<T> beside;
    Target target;
    u64 begin, end;    // chunks whose groups are wanted
    u32 status;

    DEV void open(const DecompressArgs& a, u32 i) {
        const Item item = item_of(a.batch, i);
        src = item.src;
        control = &a.batch.slots[i].control;
        outcome = a.batch.outcomes + i;
        first = item.first;
        work_slots = (i + 1 < a.batch.count ? a.batch.items[i + 1].first : a.batch.work_slots) - first;
        status = head.read(src, item.bytes);
        if (!status && head.dtype != a.dtype) status = STATUS_INVALID_ARGUMENT;
        if (!status && (a.first > head.count || item.count > head.count - a.first)) status = STATUS_OUT_OF_RANGE;
        if (!status && a.batch.items && item.count != head.count) status = STATUS_OUT_OF_RANGE;
        if (status) return;
        quantizer.set(head.step_w, head.step_j);
        if (T::EXPONENT > 0) beside.set(head);
        target.begin = a.first * (T::BITS / 8);
        target.end = target.begin + item.count * (T::BITS / 8);
        target.origin = item.dst - target.begin;
        const u64 group = (u64)CHUNK_BYTES * GROUP_CHUNKS;
        begin = target.begin / group * GROUP_CHUNKS;
        end = item.count ? min_of(((target.end - 1) / group + 1) * GROUP_CHUNKS, head.chunks) : 0;
    }
};

// What a chunk adds to the sum of all disagreements; `part` holds the warps' shares of its keyed sum.
DEV u64 compare(const u8* src, const Header& head, u64 c, const u64* part) {
    u64 keyed_sum = 0;
#pragma unroll
    for (u32 w = 0; w < DECODE_WARPS; w++) keyed_sum += part[w];
    const u32 k = (u32)(c % GROUP_CHUNKS);
    const u64 group = c / GROUP_CHUNKS, weight = mix(group + 1) | 1;
    const u64 sum = body_checksum(keyed_sum, k);
    return weight * (k == 0 ? sum - *(const u64*)(src + head.bytes + group * GROUP_BYTES + 8) : sum);
}

// Decodes chunk c from the body in shared memory; false if it is not valid. For a whole block.
template <class T>
DEV bool decode(const u32* body, const Body& place, const Stream<T>& stream, Parts<T>& parts, u64 c,
                const Masks<T>* masks, u32 warp, u32 lane) {
    if (place.extent == NOTHING) return true;    // only its checksum was needed
    const u64 at = c * CHUNK_BYTES;
    const Target& target = stream.target;
    const bool whole = place.extent == WHOLE, big_endian = stream.head.big_endian;
    const bool quantized = T::EXPONENT > 0 && stream.quantizer.on;
    if (place.kind != KIND_PACKED) return decode_stored<T>(body, place.kind, stream.head, target, at, whole, c, masks);
    if (T::EXPONENT > 0 && whole && !big_endian && (quantized || stream.head.is_float)) {
        u8* to = target.origin + at;
        if (quantized ? decode_plain<T, true>(body, place.units * ALIGN, stream.quantizer, to, masks, warp, lane)
                      : decode_plain<T, false>(body, place.units * ALIGN, stream.quantizer, to, masks, warp, lane))
            return true;
    }
    if (warp == 0) {
        const bool good =
            parse<T>(body, place.units * ALIGN, stream.head, quantized ? Swar16Quantizer<T>::offset() : 0, lane, parts);
        if (lane == 0) parts.good = good;
    }
    __syncthreads();
    if (!parts.good) return false;
    if (quantized && parts.quantized)
        decode_packed<T, T::EXPONENT != 0>(body, parts, stream.quantizer, big_endian, target, at, whole, masks, warp,
                                           lane);
    else
        decode_packed<T, false>(body, parts, stream.quantizer, big_endian, target, at, whole, masks, warp, lane);
    return true;
}

// Finds the body of a block's next chunk and starts it on its way to the second-level cache; for a whole warp.
template <class T> DEV void look_up(const u8* src, const Stream<T>& stream, u64 chunk, Body& place, u32 lane) {
    if (chunk >= stream.end) {
        if (lane == 0) place.chunk = chunk;
        return;
    }
    Body body = locate(src, stream.head, chunk, lane);
    body.extent = (u16)stream.target.extent(chunk * CHUNK_BYTES, stream.head.chunk_bytes(chunk));
    for (u32 i = LINE_BYTES * lane; i < body.units * ALIGN; i += LINE_BYTES * 32) prefetch(src + body.at + i);
    if (lane == 0) place = body;
}

// A block's shared memory.
template <class T> struct DecodeShared {
    alignas(16) u32 body[BODY_ROOM / 4];
    u64 part[DECODE_WARPS];
    Stream<T> stream;
    Parts<T> parts;
    Body place[2];    // of this chunk and the next
    Masks<T> masks[T::EXPONENT > 0 ? DECODE_WARPS : 1];
};

// What lies behind the plane of a masked body (docs/reference/format.md §4); no units where that is not valid.
template <class T> DEV Body behind_plane(const u32* body, const Body& place, const Header& head) {
    const u32 start = body[0], which = start & 15, kind = start >> 6 & 3, plane = start >> 16;
    Body within = place;
    within.kind = (u16)kind;
    within.units = plane < place.units ? place.units - plane : 0;
    if (which == 0 || which >> head.values || start & 0xff30 || plane == 0) within.units = 0;
    if (kind != KIND_PACKED && (kind != KIND_CONSTANT || within.units != 1)) within.units = 0;
    return within;
}

// Works from one of an array's work slots. For a whole block.
template <class T> DEV void decompress_one(DecodeShared<T>& shared, u64 work_slot) {
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const Stream<T>& stream = shared.stream;
    const u8* src = stream.src;
    u64 disagreement = 0;    // of bodies with the groups' checksums: zero in a sound stream
    u32 turn = 0;
    if (warp == DECODE_WARPS - 1)
        look_up(src, stream, stream.begin + work_slot, shared.place[0],
                lane);    // while the body is on its way, the index
    bool good = check_index(src, stream.head, stream.control, work_slot, stream.work_slots) || lane;
    for (;; turn ^= 1) {
        __syncthreads();    // the place is known, and everyone is done with the body before
        const Body here = shared.place[turn];
        if (uniform(here.chunk >= stream.end)) break;
        const u64 ticket = count_if(threadIdx.x == DECODE_THREADS - 32,
                                    &stream.control->ticket);    // nobody waits for it before the body is here
        const u64 sum = warp_sum(fetch(src + here.at, here.units, (uint4*)shared.body));
        if (lane == 0) shared.part[warp] = sum;
        __syncthreads();
        if (warp == DECODE_WARPS - 1)
            look_up(src, stream, stream.begin + stream.work_slots + __shfl_sync(FULL, ticket, 0),
                    shared.place[turn ^ 1], lane);
        if (!here.units) {
            good = false;
            continue;    // the same on every thread of the block
        }
        if (threadIdx.x == DECODE_THREADS / 2) disagreement += compare(src, stream.head, here.chunk, shared.part);
        const u32* body = shared.body;
        Body within = here;
        const Masks<T>* masks = nullptr;
        if (T::EXPONENT > 0 && uniform(here.kind == KIND_PACKED && here.extent != NOTHING && stream.beside.count)) {
            shared.masks[warp].set_none(lane);
            masks = shared.masks + warp;
        } else if (T::EXPONENT > 0 && uniform(here.kind == KIND_MASKED && here.extent != NOTHING)) {
            within = behind_plane<T>(body, here, stream.head);
            if (!within.units) {
                good = false;
                continue;    // the same on every thread of the block
            }
            good &= shared.masks[warp].read(body, stream.head.missing, warp, lane);
            masks = shared.masks + warp;
            body += (here.units - within.units) * (ALIGN / 4);
        }
        if (T::EXPONENT > 0 && masks) {
            const bool replaces = within.kind == KIND_PACKED && stream.beside.count;
            if (lane == 0) shared.masks[warp].beside = replaces ? &stream.beside : nullptr;
            __syncwarp();
        }
        good &= decode<T>(body, within, stream, shared.parts, here.chunk, masks, warp, lane);
    }
    if (!good) fail(stream.control, STATUS_CORRUPT);
    __syncthreads();
    if (threadIdx.x == DECODE_THREADS / 2)
        close(stream.control, src, stream.head, stream.head.raw_bytes, disagreement, stream.outcome, stream.work_slots);
}

template <class T> DEV void decompress(const DecompressArgs& a) {
    SHARED DecodeShared<T> shared;
    const u32 lane = threadIdx.x & 31;
    for (u64 work_slot = blockIdx.x; work_slot < a.batch.work_slots; work_slot += gridDim.x) {
        __syncthreads();    // everyone is done with the array before
        if (threadIdx.x < 32) {
            const u32 i = array_of(a.batch, work_slot, lane);
            if (lane == 0) shared.stream.open(a, i);
        }
        __syncthreads();
        if (shared.stream.status == 0) {
            decompress_one(shared, work_slot - shared.stream.first);
        } else if (work_slot == shared.stream.first && threadIdx.x == 0) {
            report(shared.stream.outcome, 0, shared.stream.status);
        }
    }
}
