// Twin: src/codec/zfp/format.rs
// The header of a stream of the codec. Everything is checked before it is used.
#pragma once
#include "geometry.cuh"

namespace zfp {

enum : u32 { REVERSIBLE, RATE, PRECISION, ACCURACY };

// How blocks are cut off: four bytes of the header or of a tile (docs/reference/codecs/zfp.md §1).
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

struct Header : TileHeader<Grid> {
    Coding coding;

    // Reads and checks it all; a status code. By one thread.
    DEV u32 read(const u8* src, u64 src_bytes) {
        if (const u32 status = read_tiles(src, src_bytes, CODEC_ZFP, ZFP_MODES)) return status;
        if (values) return STATUS_UNSUPPORTED_FORMAT;
        if (dtype != DTYPE_F32 && dtype != DTYPE_F64 && dtype != DTYPE_I32 && dtype != DTYPE_I64) return STATUS_CORRUPT;
        if (!coding.read((u32)(((const u64*)src)[1] >> 32), dtype)) return STATUS_CORRUPT;
        return 0;
    }

    // Whether a tile may have such a body.
    DEV bool fits(u64 chunk, u32 entry) const {
        const u32 kind = entry >> WIDE_KIND_SHIFT, units = entry & WIDE_SIZE_MASK, size = element_bytes / UNIT;
        if (kind == KIND_CONSTANT) return units == size;
        if (kind == KIND_PACKED) return units >= 1 && units <= grid.capacity() * size;
        return kind == KIND_RAW && units <= grid.capacity() * size && units == tile_of(grid, chunk).count() * size;
    }
};

}    // namespace zfp
