// The header of a stream of the codec. Everything is checked before it is used.
#pragma once
#include "geometry.cuh"

namespace zfp {

enum : u32 { REVERSIBLE, RATE, PRECISION, ACCURACY };

// How blocks are cut off: four bytes of the header or of a tile (docs/codecs/zfp.md §1).
struct Coding {
    u32 kind;
    i32 parameter;

    // Whether the bytes are legal for elements of `dtype`.
    DEV bool read(u32 bytes, u32 dtype) {
        kind = bytes & 0xff;
        const u32 number = bytes >> 16;
        parameter = kind == ACCURACY ? (i32)(short)number : (i32)number;
        const bool is_float = DTYPE_IS_FLOAT(dtype);
        const i32 least = !is_float ? 1 : dtype == DTYPE_F64 ? 12 : 9;
        if (bytes >> 8 & 0xff) return false;
        return kind == REVERSIBLE  ? parameter == 0
               : kind == RATE      ? parameter >= least && parameter <= (i32)ZFP_MAX_BITS
               : kind == PRECISION ? parameter >= 1 && parameter <= (i32)ZFP_MAX_PRECISION
                                   : kind == ACCURACY && is_float && parameter >= -(i32)ZFP_DEPTH && parameter <= 1023;
    }
};

// Where things stand in a stream; in the shared memory of a block.
struct Header {
    Grid grid;
    u64 groups, entries_at, bodies_at, stream_bytes;
    u32 bytes;    // of the header with its extension
    u32 dtype, element_bytes, big_endian, is_float;
    Coding coding;

    DEV void layout() {
        element_bytes = bytes_of(dtype);
        is_float = DTYPE_IS_FLOAT(dtype);
        groups = (grid.chunks + GROUP_CHUNKS - 1) / GROUP_CHUNKS;
        entries_at = bytes + groups * GROUP_BYTES;
        bodies_at = (entries_at + grid.chunks * WIDE_ENTRY_BYTES + ALIGN - 1) / ALIGN * ALIGN;
    }

    // Reads and checks the 64 bytes and the extension; a status code. By one thread.
    DEV u32 read(const u8* src, u64 src_bytes) {
        if (src_bytes < HEADER_BYTES) return STATUS_TRUNCATED;
        const u64* w = (const u64*)src;
        const u64 w0 = w[0], w1 = w[1];
        if ((w0 & 0xffffffffffffull) != MAGIC48) return STATUS_NOT_SLEEK;
        if (w0 >> 48 != VERSION || (w1 & 0xff) != CODEC_ZFP) return STATUS_UNSUPPORTED_FORMAT;
        dtype = (u32)(w1 >> 8) & 0xff;
        const u32 flags = (u32)(w1 >> 24) & 0xff;
        if (flags & ~(u32)(FLAG_BIG_ENDIAN | FLAG_FAST | FLAG_MORE | FLAG_EXTENDED)) return STATUS_UNSUPPORTED_FORMAT;
        big_endian = flags & FLAG_BIG_ENDIAN;
        stream_bytes = w[3];
        if (dtype < DTYPE_F32 || dtype > DTYPE_U64 || ((u32)(w1 >> 16) & 0xff) > ZFP_MODES) return STATUS_CORRUPT;
        if (!(flags & FLAG_EXTENDED)) return STATUS_CORRUPT;    // a line in runs
        if (const u32 status = read_extension(src + HEADER_BYTES, src_bytes - HEADER_BYTES, w[2])) return status;
        layout();
        if (src_bytes < stream_bytes) return STATUS_TRUNCATED;
        if (stream_bytes < bodies_at) return STATUS_CORRUPT;
        if (dtype != DTYPE_F32 && dtype != DTYPE_F64 && dtype != DTYPE_I32 && dtype != DTYPE_I64) return STATUS_CORRUPT;
        if (!coding.read((u32)(w1 >> 32), dtype)) return STATUS_CORRUPT;
        return grid.axes > AXES ? STATUS_UNSUPPORTED_FORMAT : 0;
    }

    // The extension, of which `have` bytes are there at most.
    DEV u32 read_extension(const u8* src, u64 have, u64 count) {
        const u32* w = (const u32*)src;
        if (have < EXTENSION_BYTES) return STATUS_TRUNCATED;
        const u32 length = w[0], form = w[1], rank = form >> 24, section = w[3];
        if (length % ALIGN || length < EXTENSION_BYTES || length > MAX_EXTENSION_BYTES) return STATUS_CORRUPT;
        if (have < length) return STATUS_TRUNCATED;
        // Missing values, and fields of later versions.
        if (w[2] || (form & 0xff) > 1 || (form >> 8 & 0xff) > 1) return STATUS_UNSUPPORTED_FORMAT;
        if (rank == 0 || rank > MAX_RANK) return STATUS_CORRUPT;
        // Tiles with wide entries and no section are all that the codec has.
        if (form != (1u | 1u << 8 | rank << 24) || section) return STATUS_CORRUPT;
        const u32 sides_at = EXTENSION_BYTES + (rank > 1 ? 8 * rank : 0), end = sides_at + rank;
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
        return product > 1ull << 58 || !grid.make() || grid.count != count ? STATUS_CORRUPT : 0;
    }

    // Whether a tile may have such a body.
    DEV bool fits(u64 chunk, u32 entry) const {
        const u32 kind = entry >> WIDE_KIND_SHIFT, units = entry & WIDE_SIZE_MASK, size = element_bytes / UNIT;
        if (kind == KIND_CONSTANT) return units == size;
        if (kind == KIND_PACKED) return units >= 1 && units <= grid.capacity() * size;
        return kind == KIND_RAW && units <= grid.capacity() * size && units == tile_of(grid, chunk).count() * size;
    }
    DEV const u32* entries(const u8* src) const { return (const u32*)(src + entries_at); }
    DEV const u64* record(const u8* src, u64 group) const { return (const u64*)(src + bytes + group * GROUP_BYTES); }
};

}    // namespace zfp
