// A packed chunk (docs/format.md §3): where its parts lie, and its header, bases, descriptors and exceptions as they are written.
#pragma once
#include "choose.cuh"
#include "compress.cuh"

// What the warps of a block tell the clerk of a chunk.
template <class T> struct Told {
    typename T::Word base[SUBCHUNKS];
    u32 choice[SUBCHUNKS];     // bits 0–7 width, 8–9 mode, 10 based, 16–23 exceptions, 24–31 bits of a high part
    typename T::Word first[COMPRESS_WARPS];    // of each warp: the word that all its words equal
    uint4 same;                                // of each warp: whether they do
};

// What a packed chunk begins with, and where its parts are.
template <class T> struct Header {
    u32 active, patched, payload_units, base_width;
    typename T::Word ref;

    DEV u32 tail() const { return CHUNK_HEADER_BYTES + payload_units * ALIGN; }
    DEV u32 bases() const { return tail() + (T::BITS == 64 ? 4 : 0); }
    DEV u32 widths() const { return bases() + 4 * base_width; }
    DEV u32 exceptions() const { return widths() + __popc(active); }
};

// Where the exceptions of a subchunk are written and what of: number i of the warp's list is at byte `places` + i and bit `highs` + i · `high`, which is what a
// code has above `width`. `high` is 0 where there are none.
struct alignas(16) Exceptions { u32 places, highs, width, high; };

// The layout of a packed chunk, on lane s for subchunk s.
template <class T> struct Layout {
    Header<T> header;
    u32 choice, bytes;
    u32 payload;       // of this subchunk: its width, and from bit 8 on where its payload begins in the body, in 8 bytes
    u32 blob;          // offset of its exceptions
    // What is to know of these where the subchunk's begin with number `first` of the list.
    DEV Exceptions exceptions(u32 first) const {
        const u32 count = choice >> 16 & 0xff, high = choice >> 24;
        return {blob - first, 8 * (blob + count) - first * high, choice & 0xff, count ? high : 0};
    }
    typename T::Word base;
};

template <class T> DEV Layout<T> lay_out(const Told<T>& told, u32 lane) {
    Layout<T> l;
    l.choice = told.choice[lane];
    const u32 width = l.choice & 0xff, count = l.choice >> 16 & 0xff, high = l.choice >> 24;
    const bool based = l.choice >> 10 & 1;
    Header<T>& header = l.header;
    header.active = __ballot_sync(FULL, width || count);
    header.patched = __ballot_sync(FULL, count != 0);
    // Two sums at once: of payloads, at most 2^14 together, and of exceptions, at most 32 · (32 + 256).
    const u32 length = width * (SUBCHUNK_VALUES(T) / 8) | (count + (count * high + 7) / 8) << 16;
    const u32 up_to = warp_running_sum(length), before = up_to - length, all = __shfl_sync(FULL, up_to, 31);
    l.payload = (CHUNK_HEADER_BYTES + (before & 0xffff)) / 8 << 8 | width;
    header.payload_units = ((all & 0xffff) + ALIGN - 1) / ALIGN;
    header.ref = 0;
    header.base_width = 0;
    l.base = 0;
    if (__any_sync(FULL, based)) {
        header.ref = biased<T>(warp_min(based ? biased<T>(told.base[lane]) : ones<T>(T::BITS)));
        l.base = based ? wrap<T>(told.base[lane] - header.ref) : 0;
        header.base_width = width_of(warp_or(l.base));
    }
    const u32 exceptions = header.exceptions(), patched = 2 * __popc(header.patched);
    l.blob = exceptions + patched + (before >> 16);
    l.bytes = (exceptions + (all >> 16) + patched + ALIGN - 1) / ALIGN * ALIGN;
    return l;
}

// Bits at a place that holds none yet; of others' bits around them nothing is lost.
DEV void or_bits(u32* words, u32 at, u32 value) {
    u32* w = words + (at >> 5);
    atomicOr(w, __funnelshift_l(0u, value, at));
    const u32 more = __funnelshift_l(value, 0u, at);
    if (more) atomicOr(w + 1, more);
}
DEV void or_bits(u32* words, u32 at, u64 value) {
    or_bits(words, at, (u32)value);
    if (value >> 32) or_bits(words, at + 32, (u32)(value >> 32));
}
DEV void or_byte(u8* body, u32 at, u32 value) { atomicOr((u32*)body + at / 4, __funnelshift_l(0u, value, 8 * at)); }

// Header and bases of a packed chunk; by one warp. What is zero is there.
template <class T> DEV void write_bases(u8* body, const Header<T>& h, typename T::Word base, u32 shift, u32 special, u32 lane) {
    u32* words = (u32*)body;
    if (lane == 0) {
        words[0] = h.active;
        words[1] = h.patched;
        words[2] = h.payload_units | h.base_width << 16 | (shift | special << 6) << 24;
        words[3] = (u32)h.ref;
        if (T::BITS == 64) words[h.tail() / 4] = (u32)((u64)h.ref >> 32);
    }
    pack_one_each(words + h.bases() / 4, base, h.base_width, lane);
}
// Modes and widths, and how many exceptions there are.
template <class T> DEV void write_descriptors(u8* body, const Header<T>& h, u32 choice, u32 lane) {
    const u32 width = choice & 0xff, count = choice >> 16 & 0xff, high = choice >> 24, mode = choice >> 8 & 3, below = (1u << lane) - 1;
    if (h.active >> lane & 1) or_byte(body, h.widths() + __popc(h.active & below), mode << 6 | (width - (count ? 0 : 1)));
    if (count) {
        const u32 at = h.exceptions() + __popc(h.patched & below);
        or_byte(body, at, count);
        or_byte(body, at + __popc(h.patched), high);
    }
}

// The exceptions that a warp listed, one a lane: their places, and what they hold above their width. The list says which of the warp's codes they are.
template <class T> DEV void write_exceptions(u8* body, const Exceptions* exceptions, const u16* list, u32 listed, const Stage<T>& stage, u32 lane) {
    for (u32 first = 0; uniform(first) < uniform(listed); first += 32) {
        const u32 i = first + lane, number = i < listed ? list[i] : 0;
        const Exceptions e = exceptions[number / SUBCHUNK_VALUES(T)];
        if (i >= listed || e.high == 0) continue;
        or_byte(body, e.places + i, number % SUBCHUNK_VALUES(T));
        or_bits((u32*)body, e.highs + i * e.high, (typename T::Word)(stage.code(number) >> e.width));
    }
}
