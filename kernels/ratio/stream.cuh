// The header of a stream of the codec. Everything is checked before it is used.
#pragma once
#include "../common/quantizer.cuh"
#include "../common/tiles.cuh"
#include "geometry.cuh"
#include "launch.h"
#include "tables.h"

namespace ratio {

// Words of a lane to elements' bits; `bins`: whether they are bins. For a whole warp.
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
    const Word sign = (Word)1 << (T::BITS - 1);
#pragma unroll
    for (u32 j = 0; j < QUAD; j++) {
        const Word w = wrap<T>(v[j]);
        const Word bits = is_float && negative<T>(w) ? w ^ (sign - 1) : w;
        v[j] = is_float ? ((bits << shift) & (sign - 1)) | (bits & sign) : wrap<T>(bits << shift);
    }
}

// Where things stand in a stream; in the shared memory of a block.
struct Header {
    Grid grid;
    u64 groups, entries_at, bodies_at, stream_bytes;
    u64 missing[MAX_MISSING];
    u32 bytes, values;    // of the header with its extension; missing values
    u32 dtype, element_bytes, big_endian, is_float, step_w;
    i32 step_j;

    DEV void layout() {
        element_bytes = bytes_of(dtype);
        is_float = DTYPE_IS_FLOAT(dtype);
        groups = (grid.chunks + GROUP_CHUNKS - 1) / GROUP_CHUNKS;
        entries_at = bytes + groups * GROUP_BYTES;
        bodies_at = (entries_at + grid.chunks * WIDE_ENTRY_BYTES + ALIGN - 1) / ALIGN * ALIGN;
    }
    // Bytes of a raw body of so many elements.
    DEV u32 raw_bytes(u32 elements) const { return (elements * element_bytes + UNIT - 1) / UNIT * UNIT; }

    // Reads and checks the 64 bytes and the extension; a status code. By one thread.
    DEV u32 read(const u8* src, u64 src_bytes) {
        if (src_bytes < HEADER_BYTES) return STATUS_TRUNCATED;
        const u64* w = (const u64*)src;
        const u64 w0 = w[0], w1 = w[1];
        if ((w0 & 0xffffffffffffull) != MAGIC48) return STATUS_NOT_SLEEK;
        if (w0 >> 48 != VERSION || (w1 & 0xff) != CODEC_RATIO) return STATUS_UNSUPPORTED_FORMAT;
        dtype = (u32)(w1 >> 8) & 0xff;
        const u32 flags = (u32)(w1 >> 24) & 0xff;
        if (flags & ~(u32)(FLAG_BIG_ENDIAN | FLAG_FAST | FLAG_MORE | FLAG_EXTENDED)) return STATUS_UNSUPPORTED_FORMAT;
        big_endian = flags & FLAG_BIG_ENDIAN;
        step_j = (i32)(short)(w1 >> 32);
        step_w = (u32)(w1 >> 48) & 0xff;
        stream_bytes = w[3];
        if (dtype < DTYPE_F32 || dtype > DTYPE_U64 || ((u32)(w1 >> 16) & 0xff) > MODE_REL) return STATUS_CORRUPT;
        if (!(flags & FLAG_EXTENDED)) return STATUS_CORRUPT;    // a line in runs
        if (const u32 status = read_extension(src + HEADER_BYTES, src_bytes - HEADER_BYTES, w[2])) return status;
        layout();
        if (src_bytes < stream_bytes) return STATUS_TRUNCATED;
        if (stream_bytes < bodies_at) return STATUS_CORRUPT;
        if (w1 >> 56) return STATUS_UNSUPPORTED_FORMAT;
        return step_is_valid() ? 0 : STATUS_CORRUPT;
    }

    // The extension, of which `have` bytes are there at most.
    DEV u32 read_extension(const u8* src, u64 have, u64 count) {
        const u32* w = (const u32*)src;
        if (have < EXTENSION_BYTES) return STATUS_TRUNCATED;
        const u32 length = w[0], form = w[1], rank = form >> 24, section = w[3];
        if (length % ALIGN || length < EXTENSION_BYTES || length > MAX_EXTENSION_BYTES) return STATUS_CORRUPT;
        if (have < length) return STATUS_TRUNCATED;
        values = w[2] & 0xff;
        if (w[2] >> 8 || (form & 0xff) > 1 || (form >> 8 & 0xff) > 1) return STATUS_UNSUPPORTED_FORMAT;
        if (rank == 0 || rank > MAX_RANK || values > MAX_MISSING) return STATUS_CORRUPT;
        // Tiles with wide entries and no section are all that the codec has.
        if (form != (1u | 1u << 8 | rank << 24) || section) return STATUS_CORRUPT;
        const u32 lens = rank > 1 ? rank : 0, sides_at = EXTENSION_BYTES + 8 * (lens + values), end = sides_at + rank;
        if ((end + ALIGN - 1) / ALIGN * ALIGN != length) return STATUS_CORRUPT;
#pragma unroll 1
        for (u32 i = end; i < length; i++)
            if (src[i]) return STATUS_CORRUPT;
        bytes = HEADER_BYTES + length;
        const u64* number = (const u64*)(src + EXTENSION_BYTES);
        grid.rank = rank;
        u64 product = 1;    // of the lengths that are not 0
#pragma unroll 1
        for (u32 k = 0; k < rank; k++) {
            const u64 n = rank > 1 ? number[k] : count;
            grid.len[k] = n;
            grid.side[k] = src[sides_at + k];
            if (n == 0) continue;
            if (n > ~0ull >> 1 || product > (~0ull >> 1) / n) return STATUS_CORRUPT;
            product *= n;
        }
        if (product > 1ull << 58 || !grid.make() || grid.count != count) return STATUS_CORRUPT;
        return missing_are_valid(number + lens) ? 0 : STATUS_CORRUPT;
    }
    DEV bool missing_are_valid(const u64* value) {
        const u32 size = bytes_of(dtype);
        if (values && !DTYPE_IS_FLOAT(dtype)) return false;
#pragma unroll 1
        for (u32 k = 0; k < values; k++) {
            missing[k] = value[k];
            if (value[k] >> (8 * size - 1) > 1) return false;
#pragma unroll 1
            for (u32 j = 0; j < k; j++)
                if (value[j] == value[k]) return false;
        }
        return true;
    }
    DEV bool step_is_valid() const {
        if (step_w == 0) return step_j == 0;
        if (step_w < 4 || step_w > 7 || !is_float) return false;
        const i32 low = STEP_MIN(dtype), high = STEP_MAX(dtype);
        return step_j >= low && step_j <= high;
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
    DEV const u32* entries(const u8* src) const { return (const u32*)(src + entries_at); }
    DEV const u64* record(const u8* src, u64 group) const { return (const u64*)(src + bytes + group * GROUP_BYTES); }
};

}    // namespace ratio
