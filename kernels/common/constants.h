// Constants of the crate, made by `SLEEK_UPDATE=1 cargo test --test capi`; do not edit.
#pragma once
#define VERSION 0x1u
#define HEADER_BYTES 0x40u
#define CHUNK_BYTES 0x4000u
#define SUBCHUNK_BYTES 0x200u
#define SUBCHUNKS 0x20u
#define GROUP_CHUNKS 0x40u
#define GROUP_BYTES 0x10u
#define ENTRY_BYTES 0x2u
#define ALIGN 0x10u
#define CHUNK_HEADER_BYTES 0x10u
#define ENTRY_SIZE_MASK 0x7ffu
#define ENTRY_KIND_SHIFT 0xeu
#define ENTRY_ZERO_MASK 0x3800u
#define KIND_PACKED 0x0u
#define KIND_RAW 0x1u
#define KIND_CONSTANT 0x2u
#define KIND_MASKED 0x3u
#define SUBMODE_OFFSET 0x0u
#define SUBMODE_ZIGZAG 0x1u
#define SUBMODE_DELTA 0x2u
#define SUBMODE_SPECIAL 0x3u
#define SPECIAL_EXPONENT 0x0u
#define SPECIAL_DELTA2 0x1u
#define SPECIAL_COUNTDOWN 0x2u
#define MODE_LOSSLESS 0x0u
#define MODE_ABS 0x1u
#define MODE_NOA 0x2u
#define MODE_REL 0x3u
#define CODEC_SLEEK 0x1u
#define FLAG_BIG_ENDIAN 0x1u
#define FLAG_FAST 0x2u
#define FLAG_MORE 0x4u
#define FLAG_EXTENDED 0x8u
#define EXTENSION_BYTES 0x10u
#define MAX_EXTENSION_BYTES 0x100000u
#define MAX_RANK 0x20u
#define GRID_AXES 0x3u
#define MAX_MISSING 0x4u
#define KEY32 0x9e3779b1u
#define MAX_EXCEPTIONS 0x20u
#define WARP_TILE 0x8u
#define MODE_SAMPLE 0x20u
#define SAMPLE 0x4u
#define NEAR_TOTALS 0x30u
#define FEW_MISSING 0x2u
#define STATUS_INVALID_ARGUMENT 0x2u
#define STATUS_BUFFER_TOO_SMALL 0x5u
#define STATUS_NOT_SLEEK 0x6u
#define STATUS_UNSUPPORTED_FORMAT 0x7u
#define STATUS_TRUNCATED 0x8u
#define STATUS_CORRUPT 0x9u
#define STATUS_OUT_OF_RANGE 0xcu
#define KEY64 0x9e3779b97f4a7c15ull
#define MAGIC48 0x4b45454c5389ull

#define DTYPE_F32 1u
#define DTYPE_F64 2u
#define DTYPE_F16 3u
#define DTYPE_BF16 4u
#define DTYPE_I8 5u
#define DTYPE_I16 6u
#define DTYPE_I32 7u
#define DTYPE_I64 8u
#define DTYPE_U8 9u
#define DTYPE_U16 10u
#define DTYPE_U32 11u
#define DTYPE_U64 12u
#define F32_MANTISSA 23
#define F32_BIAS 127
#define F64_MANTISSA 52
#define F64_BIAS 1023
#define F16_MANTISSA 10
#define F16_BIAS 15
#define BF16_MANTISSA 7
#define BF16_BIAS 127
#define DTYPE_IS_FLOAT(dtype) ((dtype) <= DTYPE_BF16)
#define DTYPE_BYTES(dtype) ((dtype) == DTYPE_F64 || (dtype) == DTYPE_I64 || (dtype) == DTYPE_U64 ? 8u : \
    (dtype) == DTYPE_F32 || (dtype) == DTYPE_I32 || (dtype) == DTYPE_U32 ? 4u : \
    (dtype) == DTYPE_I8 || (dtype) == DTYPE_U8 ? 1u : \
    2u)
// Exponents of the steps of a float type.
#define STEP_MIN(dtype) ((dtype) == DTYPE_F64 ? -1022 : \
    (dtype) == DTYPE_F16 ? -24 : \
    -126)
#define STEP_MAX(dtype) ((dtype) == DTYPE_F64 ? 960 : \
    (dtype) == DTYPE_F16 ? 5 : \
    100)
