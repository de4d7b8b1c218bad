// Twin: src/codec/sleek/parts.rs
// A packed chunk taken apart: where its body lies, what its header and tail say, and codes with their exceptions.
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
    u64 at;       // offset in the stream; 0 if the index is not valid
    u32 units;    // of 16 bytes; 0: the same
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
        body.at = body.units = 0;
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
    if (T::BITS < 64 || (mode == SUBMODE_SPECIAL && special != SPECIAL_DELTA2)) return false;
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
    if (patched & ~active || base_width > T::BITS || shift >= T::BITS || special > SPECIAL_COUNTDOWN || at > bytes ||
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
    if (mode == SUBMODE_SPECIAL && special != SPECIAL_DELTA2)
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
