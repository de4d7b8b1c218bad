// The header of a stream of the codec. Everything is checked before it is used.
#pragma once
#include "../common/quantizer.cuh"
#include "../common/tiles.cuh"
#include "geometry.cuh"
#include "launch.h"
#include "tables.h"

namespace ratio {

// Words of a lane to elements' bits: numbers of their order, without `shift` zero bits.
template <class T> DEV void from_numbers(u32 is_float, u32 shift, typename T::Word (&v)[QUAD]) {
    typedef typename T::Word Word;
    const Word sign = (Word)1 << (T::BITS - 1);
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) {
        const Word w = wrap<T>(v[j]);
        const Word bits = is_float && negative<T>(w) ? w ^ (sign - 1) : w;
        v[j] = is_float ? ((bits << shift) & (sign - 1)) | (bits & sign) : wrap<T>(bits << shift);
    }
}
// The same; `bins`: whether they are bins. For a whole warp.
template <class T>
DEV void restore(const Quantizer<T>& quantizer, bool bins, u32 is_float, u32 shift, typename T::Word (&v)[QUAD]) {
    typedef typename T::Word Word;
    if (T::EXPONENT && uniform(bins)) {
        const Word half = (Word)1 << (T::MANTISSA - 3), offset = Quantizer<T>::offset();
        Word beyond = 0;
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            v[j] = Quantizer<T>::extended(v[j]) + offset;
            beyond |= v[j] - (offset - half);
        }
        if (uniform(__all_sync(FULL, beyond >> (T::MANTISSA - 2) == 0))) {
#pragma unroll
            for (u32 j = 0; j < QUAD; j++)
                v[j] = Quantizer<T>::element_bits(quantizer.from_middle_of(v[j], (typename T::Float)0));
        } else {
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) v[j] = quantizer.restore_any(wrap<T>(v[j] - offset));
        }
        return;
    }
    from_numbers<T>(is_float, shift, v);
}

struct Header : TileHeader<Grid> {
    u32 step_w;
    i32 step_j;

    // Bytes of a raw body of so many elements.
    DEV u32 raw_bytes(u32 elements) const { return (elements * element_bytes + UNIT - 1) / UNIT * UNIT; }

    // Reads and checks it all; a status code. By one thread.
    DEV u32 read(const u8* src, u64 src_bytes) {
        if (const u32 status = read_tiles(src, src_bytes, CODEC_RATIO, MODE_REL)) return status;
        const u64 w = ((const u64*)src)[1];
        step_j = (i32)(short)(w >> 32);
        step_w = (u32)(w >> 48) & 0xff;
        if (w >> 56) return STATUS_UNSUPPORTED_FORMAT;
        return step_is_valid(step_w, step_j, dtype) ? 0 : STATUS_CORRUPT;
    }

    // Whether a tile may have such a body.
    DEV bool fits(u64 chunk, u32 entry) const {
        const u32 kind = entry >> WIDE_KIND_SHIFT, units = entry & WIDE_SIZE_MASK;
        const u32 whole = (grid.capacity() * element_bytes + UNIT - 1) / UNIT;
        if (kind == KIND_CONSTANT) return units == (element_bytes + UNIT - 1) / UNIT;
        if (kind == KIND_PACKED) return units >= 1 && units <= grid.capacity() * element_bytes / UNIT;
        if (units > whole) return false;
        const u32 raw = raw_bytes(tile_of(grid, chunk).count()) / UNIT;
        return kind == KIND_RAW ? units == raw : values && units >= 2 && units < raw;
    }
};

// What lengths of final states are counted from, where the longest has so many bits.
DEV u32 floor_of(u32 longest) { return longest >= 1 << LENGTH_BITS ? longest - ((1 << LENGTH_BITS) - 1) : 0; }
// Bits that are there of a state whose length is so much above that.
DEV u32 bits_of_state(u32 floor, u32 above) { return above ? floor + above - 1 : floor; }

}    // namespace ratio
