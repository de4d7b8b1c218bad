// Twin: src/codec/sleek/decode.rs
// From codes to the words of a chunk, and to their place.
#pragma once
#include "store.cuh"

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
                change<T>(v, [&](Word x) { return wrap<T>(x << shift); });
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
                typedef typename T::Word Word;
                if (!QUANTIZED)
                    change<T>(v, [](Word c) { return from_exponent_code<T>(c); });
                else if (n <= Quantizer<T>::PLAIN_WIDTH)
                    change<T>(v, [&](Word c) { return quantizer.restore_code(c); });
                else
                    change<T>(v, [&](Word c) { return quantizer.restore_any(from_zigzag<T>(c)); });
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
    const uint4 same = all_of<T>(v[0]);
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
