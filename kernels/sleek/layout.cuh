// Twin: src/codec/sleek/parts.rs
// A packed chunk (docs/reference/codecs/sleek.md §2): where its parts lie, and its header, bases, descriptors and
// exceptions as they are written.
#pragma once
#include "choose.cuh"
#include "compress.cuh"

// A subchunk's choice but for its base: from bit 0 on the width, 7 the mode, 9 whether its base is a word, 10 how many
// exceptions, 19 in how many mask bytes, 25 bits of a high part.
struct Chosen {
    u32 bits;

    template <class T> static DEV Chosen of(const Choice<T>& c) {
        return {c.width | c.mode << 7 | c.based << 9 | c.counts << 10 | c.high << 25};
    }
    DEV u32 width() const { return bits & 0x7f; }
    DEV u32 mode() const { return bits >> 7 & 3; }
    DEV bool based() const { return bits >> 9 & 1; }
    DEV u32 count() const { return bits >> 10 & 0x1ff; }
    DEV u32 mask_bytes() const { return bits >> 19 & 0x3f; }
    DEV u32 high() const { return bits >> 25; }
};

// What the warps of a block tell the leader warp of a chunk.
template <class T> struct Told {
    typename T::Word base[SUBCHUNKS];
    Chosen choice[SUBCHUNKS];
    typename T::Word first[COMPRESS_WARPS];    // of each warp: the word that all its words equal
    uint4 same;                                // of each warp: whether they do
};

// What a packed chunk begins with, and where its parts are.
template <class T> struct ChunkHeader {
    u32 active, patched, payload_units, base_width;
    typename T::Word ref;

    DEV u32 tail() const { return CHUNK_HEADER_BYTES + payload_units * ALIGN; }
    DEV u32 bases() const { return tail() + (T::BITS == 64 ? 4 : 0); }
    DEV u32 widths() const { return bases() + 4 * base_width; }
    DEV u32 high_widths() const { return widths() + __popc(active); }
    DEV u32 flags() const { return high_widths() + __popc(patched); }
    DEV u32 masks() const { return flags() + MASK_FLAG_BYTES(T) * __popc(patched); }
};

// Where in the body the flags, masks and high parts of a subchunk's exceptions begin.
struct alignas(16) Exceptions {
    u32 flags, masks, highs;
    u32 info;    // bits 0–7 width, 8–15 bits of a high part, 0 where there are no exceptions, from 16 on how many of
                 // these fit into 64 bits

    DEV u32 width() const { return info & 0xff; }
    DEV u32 high() const { return info >> 8 & 0xff; }
    DEV u32 together() const { return info >> 16; }
};

// The layout of a packed chunk, on lane s for subchunk s.
template <class T> struct Layout {
    ChunkHeader<T> header;
    Chosen choice;
    u32 bytes;
    u32 payload;    // of this subchunk: its width, and from bit 8 on where its payload begins in the body, in 8 bytes
    Exceptions exceptions;
    typename T::Word base;
};

template <class T> DEV Layout<T> lay_out(const Told<T>& told, u32 lane) {
    Layout<T> l;
    l.choice = told.choice[lane];
    const u32 width = l.choice.width(), count = l.choice.count(), high = l.choice.high();
    const bool based = l.choice.based();
    ChunkHeader<T>& header = l.header;
    header.active = __ballot_sync(FULL, width || count);
    header.patched = __ballot_sync(FULL, count != 0);
    // Two sums at once: of payloads, at most 2^14 together, and of masks, at most 32 · 32.
    const u32 length = width * BYTES_A_BIT(T) | l.choice.mask_bytes() << 16;
    const u32 up_to = warp_running_sum(length), before = up_to - length, all = __shfl_sync(FULL, up_to, 31);
    l.payload = (CHUNK_HEADER_BYTES + (before & 0xffff)) / 8 << 8 | width;
    header.payload_units = ((all & 0xffff) + ALIGN - 1) / ALIGN;
    // From the least of the bases that are words, or else of the others, of which some low bits count.
    const typename T::Word base = told.base[lane];
    if (__any_sync(FULL, based))
        header.ref = biased<T>(warp_min(based ? biased<T>(base) : ones<T>(T::BITS)));
    else
        header.ref = warp_min(base);
    l.base = (base - header.ref) & ones<T>(based ? (u32)T::BITS : (u32)Countdown<T>::BASE_BITS);
    header.base_width = width_of(warp_or(l.base));
    u32 end = header.high_widths();
    l.exceptions.flags = l.exceptions.masks = l.exceptions.highs = 0;    // or ptxas keeps those of the chunk before
    if (uniform(header.patched)) {
        const u32 highs = (count * high + 7) / 8, highs_up_to = warp_running_sum(highs), masks = header.masks();
        l.exceptions.flags = header.flags() + MASK_FLAG_BYTES(T) * __popc(header.patched & low_ones(lane));
        l.exceptions.masks = masks + (before >> 16);
        l.exceptions.highs = masks + (all >> 16) + highs_up_to - highs;
        end = masks + (all >> 16) + __shfl_sync(FULL, highs_up_to, 31);
    }
    l.exceptions.info = width | high << 8 | times_within(64, high) << 16;
    l.bytes = (end + ALIGN - 1) / ALIGN * ALIGN;
    return l;
}

// Bits at a place that holds none yet; of others' bits around them nothing is lost.
DEV void or_bits(u32* words, u32 at, u32 value) {
    u32* w = words + (at >> 5);
    atomicOr(w, __funnelshift_l(0u, value, at));
    const u32 more = __funnelshift_l(value, 0u, at);
    if (more) atomicOr(w + 1, more);
}
// Of bits that do not go on in the next word.
DEV void or_within(u32* words, u32 at, u32 value) { atomicOr(words + (at >> 5), __funnelshift_l(0u, value, at)); }

// The same of up to 64 bits.
DEV void or_bits(u32* words, u32 at, u64 value) {
    const u32 low = (u32)value, high = (u32)(value >> 32);
    u32* w = words + (at >> 5);
    atomicOr(w, __funnelshift_l(0u, low, at));
    const u32 second = __funnelshift_l(low, high, at), third = __funnelshift_l(high, 0u, at);
    if (second) atomicOr(w + 1, second);
    if (third) atomicOr(w + 2, third);
}

// Header and bases of a packed chunk; by one warp. What is zero is there.
template <class T>
DEV void write_bases(u8* body, const ChunkHeader<T>& h, typename T::Word base, u32 exact, u32 shift, u32 special,
                     u32 lane) {
    u32* words = (u32*)body;
    if (lane == 0) {
        words[0] = h.active;
        words[1] = h.patched;
        words[2] = h.payload_units | h.base_width << 16 | exact << 23 | (shift | special << 6) << 24;
        words[3] = (u32)h.ref;
        if (T::BITS == 64) words[h.tail() / 4] = (u32)((u64)h.ref >> 32);
    }
    pack_one_each(words + h.bases() / 4, base, h.base_width, lane);
}
// Modes and widths, and those of high parts.
template <class T> DEV void write_descriptors(u8* body, const ChunkHeader<T>& h, Chosen choice, u32 lane) {
    const u32 below = (1u << lane) - 1;
    const bool patched = choice.count();
    if (h.active >> lane & 1)
        or_within((u32*)body, 8 * (h.widths() + __popc(h.active & below)),
                  choice.mode() << 6 | (choice.width() - !patched));
    if (patched) or_within((u32*)body, 8 * (h.high_widths() + __popc(h.patched & below)), choice.high());
}

// The bytes that are not 0, closed up.
DEV u32 squeezed(u32 x) {
    if (!(x & 0xff0000)) x = __byte_perm(x, 0, 0x4310);
    if (!(x & 0xff00)) x = __byte_perm(x, 0, 0x4320);
    return x & 0xff ? x : x >> 8;
}
// The exceptions of four mask bytes, a bit of `places` each: masks from bit `at` on, which moves on; returns the flags.
DEV u32 write_masks(u32* words, u32 places, u32& at) {
    const u32 used = used_bytes(places) >> 7;
    if (places) or_bits(words, at, squeezed(places));
    at += 8 * __popc(used);
    return sum_of_products(used, 0x08040201u, 0);
}
// What the codes at `places`, from number `first` of the strip on, hold above their width, up to bit `end`, which moves
// to where they begin: from the last one on, as many at once as fit into 64 bits.
template <class T>
DEV void write_highs(u32* words, const Strip<T>& strip, u32 places, u32 first, const Exceptions& e, u32& end) {
    const u32 high = e.high(), width = e.width();
    while (places) {
        const u32 together = min_of(__popc(places), e.together());
        u64 highs = 0;
        u32 left = together;
#pragma unroll 1
        do {
            const u32 i = top_bit(places);
            places ^= 1u << i;
            highs = highs << (high & 63) | (strip.code(first + i) >> width);
        } while (--left);
        end -= together * high;
        or_bits(words, end, highs);
    }
}
// Bits one after the other, where there are none yet, between others': bit 0 of the first is bit `at` of `to`.
struct Merger {
    u32* to;
    u32 at, word;

    // Bits above `bits`, at most 32, are 0.
    DEV void add(u32 string, u32 bits) {
        word |= __funnelshift_l(0u, string, at);
        const u32 end = at + bits;
        if ((at ^ end) & 32) {
            atomicOr(to++, word);
            word = __funnelshift_l(string, 0u, at);
        }
        at = end;
    }
};
// The same of words of 64 bits from bit `begin` on, one after the other: of their high parts few fit into 64 bits.
DEV void write_highs(u32* words, const Strip<F64>& strip, u32 places, const Exceptions& e, u32 begin) {
    Merger to = {words + (begin >> 5), begin & 31, 0};
    while (places) {
        const u32 less = places - 1;
        const u64 high = strip.code(top_bit(places ^ less)) >> e.width();
        to.add((u32)high, min_of(e.high(), 32));
        if (e.high() > 32) to.add((u32)(high >> 32), e.high() - 32);
        places &= less;
    }
    if (to.word) atomicOr(to.to, to.word);
}
// The exceptions of each lane's strip; `before`: what the subchunk's strips before it have, see counts_of.
template <class T>
DEV void write_exceptions(u8* body, const Exceptions& e, Wide<T> places, u32 before, const Strip<T>& strip) {
    enum { LANES = Strip<T>::OF_SUBCHUNK, FLAGS = Strip<T>::CODES / 8 };
    if (e.high() == 0 || !places) return;
    u32* words = (u32*)body;
    u32 at = 8 * (e.masks + (before >> 9)), flags = write_masks(words, (u32)places, at);
    if (FLAGS > 4) flags |= write_masks(words, (u32)((u64)places >> 32), at) << 4;
    or_within(words, 8 * e.flags + strip.lane % LANES * FLAGS, flags);
    if constexpr (T::BITS == 64) {
        write_highs(words, strip, places, e, 8 * e.highs + (before & 0x1ff) * e.high());
    } else {
        const u32 own = __popc((u32)places) + (FLAGS > 4 ? __popc((u32)((u64)places >> 32)) : 0);
        u32 end = 8 * e.highs + ((before & 0x1ff) + own) * e.high();
        if (FLAGS > 4) write_highs<T>(words, strip, (u32)((u64)places >> 32), 32, e, end);
        write_highs<T>(words, strip, (u32)places, 0, e, end);
    }
}
