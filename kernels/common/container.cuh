// Twin: src/container/header.rs, src/container/index.rs
// Header and index of a stream, and what a launch leaves behind for the host.
#pragma once
#include "batch.cuh"
#include "checksum.cuh"

#define WIDE_WARP (1ull << 40)    // above the number of any chunk

// `bytes` are those of a call that failed in nothing.
DEV void report(Outcome* outcome, u64 bytes, u32 status) {
    outcome->bytes = status ? 0 : bytes;
    outcome->status = status;
    outcome->zero = 0;
}

DEV void fail(Control* control, u32 status) { atomicMax(&control->status, status); }

// Of an element.
DEV u32 bytes_of(u32 dtype) { return DTYPE_BYTES(dtype); }

// Takes the missing values of an extension over, if they are legal for elements of `dtype`.
DEV bool missing_are_valid(const u64* value, u32 values, u32 dtype, u64* missing) {
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
// Whether a stream of elements of `dtype` may have the step w · 2^j; 0 · 2^0 is none.
DEV bool step_is_valid(u32 w, i32 j, u32 dtype) {
    if (w == 0) return j == 0;
    if (w < 4 || w > 7 || !DTYPE_IS_FLOAT(dtype)) return false;
    const i32 low = STEP_MIN(dtype), high = STEP_MAX(dtype);
    return j >= low && j <= high;
}

struct Header {
    u64 count, chunks, groups, entries_at, bodies_at, raw_bytes, stream_bytes;
    u64 missing[MAX_MISSING];
    u32 bytes, values;    // of the header with its extension, before the group records; missing values
    u32 next;             // whether a packed element that is restored as one is the next larger number
    u32 dtype, element_bytes, big_endian, is_float, step_w;
    i32 step_j;

    DEV u32 chunk_bytes(u64 c) const { return (u32)min_of(raw_bytes - c * CHUNK_BYTES, (u64)CHUNK_BYTES); }

    DEV void layout() {
        element_bytes = bytes_of(dtype);
        is_float = DTYPE_IS_FLOAT(dtype);
        raw_bytes = count * element_bytes;
        chunks = (raw_bytes + CHUNK_BYTES - 1) / CHUNK_BYTES;
        groups = (chunks + GROUP_CHUNKS - 1) / GROUP_CHUNKS;
        entries_at = bytes + groups * GROUP_BYTES;
        bodies_at = (entries_at + chunks * ENTRY_BYTES + ALIGN - 1) / ALIGN * ALIGN;
    }

    // Reads and checks the 64 bytes and the extension; a status code.
    DEV u32 read(const u8* src, u64 src_bytes) {
        if (src_bytes < HEADER_BYTES) return STATUS_TRUNCATED;
        const u64* w = (const u64*)src;
        const u64 w0 = w[0], w1 = w[1];
        if ((w0 & 0xffffffffffffull) != MAGIC48) return STATUS_NOT_SLEEK;
        if (w0 >> 48 != VERSION || (w1 & 0xff) != CODEC_SLEEK) return STATUS_UNSUPPORTED_FORMAT;
        dtype = (u32)(w1 >> 8) & 0xff;
        const u32 flags = (u32)(w1 >> 24) & 0xff;
        big_endian = flags & FLAG_BIG_ENDIAN;
        step_j = (i32)(short)(w1 >> 32);
        step_w = (u32)(w1 >> 48) & 0xff;
        count = w[2];
        stream_bytes = w[3];
        if (dtype < DTYPE_F32 || dtype > DTYPE_U64 || ((u32)(w1 >> 16) & 0xff) > MODE_REL) return STATUS_CORRUPT;
        if (count > (1ull << 58)) return STATUS_CORRUPT;
        bytes = HEADER_BYTES;
        values = next = 0;
        if (flags & FLAG_EXTENDED)
            if (const u32 status = read_extension(src + HEADER_BYTES, src_bytes - HEADER_BYTES)) return status;
        layout();
        if (src_bytes < stream_bytes) return STATUS_TRUNCATED;
        if (stream_bytes < bodies_at) return STATUS_CORRUPT;
        if (flags & ~(u32)(FLAG_BIG_ENDIAN | FLAG_FAST | FLAG_MORE | FLAG_EXTENDED) || w1 >> 56)
            return STATUS_UNSUPPORTED_FORMAT;
        return step_is_valid(step_w, step_j, dtype) ? 0 : STATUS_CORRUPT;
    }

    // The extension, of which `have` bytes are there at most. Kernels know dimensions and missing values, else runs of
    // CHUNK_BYTES and narrow entries alone.
    DEV u32 read_extension(const u8* src, u64 have) {
        const u32* w = (const u32*)src;
        if (have < EXTENSION_BYTES) return STATUS_TRUNCATED;
        const u32 length = w[0], form = w[1], rank = form >> 24, section = w[3];
        if (length % ALIGN || length < EXTENSION_BYTES || length > MAX_EXTENSION_BYTES) return STATUS_CORRUPT;
        if (have < length) return STATUS_TRUNCATED;
        values = w[2] & 0xff;
        next = w[2] >> 16;
        if (next > 1 || (form & 0xff) > 1 || (form >> 8 & 0xff) > 1) return STATUS_UNSUPPORTED_FORMAT;
        if (rank == 0 || rank > MAX_RANK || values > MAX_MISSING || (w[2] >> 8 & 0xff) > values || next > values)
            return STATUS_CORRUPT;
        if (form & 0xffff || section || 1u << (form >> 16 & 31) != CHUNK_BYTES || form >> 21 & 7)
            return STATUS_UNSUPPORTED_FORMAT;
        const u32 lens = rank > 1 ? rank : 0, numbers = lens + values;
        const u64* number = (const u64*)(src + EXTENSION_BYTES);
        const u32 end = EXTENSION_BYTES + 8 * numbers;
        if (numbers == 0 || (end + ALIGN - 1) / ALIGN * ALIGN != length) return STATUS_CORRUPT;
        if (end < length && number[numbers]) return STATUS_CORRUPT;
        bytes = HEADER_BYTES + length;
        return dims_are_valid(number, lens) && missing_are_valid(number + lens, values, dtype, missing)
                   ? 0
                   : STATUS_CORRUPT;
    }
    DEV bool dims_are_valid(const u64* len, u32 lens) const {
        u64 product = 1;    // of those that are not 0
        bool empty = false;
#pragma unroll 1
        for (u32 k = 0; k < lens; k++) {
            const u64 n = len[k];
            empty |= n == 0;
            if (n == 0) continue;
            if (n > ~0ull >> 1 || product > (~0ull >> 1) / n) return false;
            product *= n;
        }
        return lens == 0 || count == (empty ? 0 : product);
    }

    // Whether a chunk may have such a body.
    DEV bool fits(u64 chunk, u32 kind, u32 units) const {
        const u32 raw = (chunk_bytes(chunk) + ALIGN - 1) / ALIGN;
        return kind == KIND_PACKED   ? units >= 1 && units <= CHUNK_BYTES / ALIGN
               : kind == KIND_RAW    ? units == raw
               : kind == KIND_MASKED ? values && units >= 2 && units < raw
                                     : units == 1;
    }
};

// One warp per group: are its entries valid, does it end where the next begins? Adds this thread's share of the keyed
// sum over header and index to the control block. False where the index is not valid. By blocks 0 … blocks − 1.
DEV bool check_index(const u8* src, const Header& head, Control* control, u64 block, u64 blocks) {
    const u32 lane = threadIdx.x & 31;
    const u64 warps = blocks * (blockDim.x / 32), warp = block * (blockDim.x / 32) + threadIdx.x / 32;
    const u32* words = (const u32*)src;
    u64 sum = 0;
    bool good = true;
    if (warp == 0)
        for (u32 i = lane; i < head.bytes / 4; i += 32)
            if (i != 14 && i != 15) sum += (u64)words[i] * key_of(i);
    if (warp == 0 && head.groups == 0) good = head.stream_bytes == head.bytes;
    for (u64 g = warp; g < head.groups; g += warps) {
        const u32 record = (u32)((head.bytes + g * GROUP_BYTES) / 4);
        if (lane < GROUP_BYTES / 4) sum += (u64)words[record + lane] * key_of(record + lane);
        const u64 first = g * GROUP_CHUNKS + 2 * lane;
        const u64 at = head.entries_at + first * ENTRY_BYTES;
        u32 units = 0;
        if (at < head.bodies_at) {
            const u32 pair = words[at / 4];
            sum += (u64)pair * key_of((u32)(at / 4));
#pragma unroll
            for (u32 i = 0; i < 2; i++) {
                const u32 entry = pair >> (16 * i) & 0xffff;
                if (first + i >= head.chunks) {
                    good &= entry == 0;
                    continue;
                }
                const u32 n = entry & ENTRY_SIZE_MASK;
                good &= !(entry & ENTRY_ZERO_MASK) && head.fits(first + i, entry >> ENTRY_KIND_SHIFT, n);
                units += n;
            }
        }
        // The padding behind the last entries belongs to the last group's warp.
        const u64 rest = head.entries_at + (g + 1) * GROUP_CHUNKS * ENTRY_BYTES + 4 * lane;
        if (g + 1 == head.groups && rest < head.bodies_at) good &= words[rest / 4] == 0;
        const u64* records = (const u64*)(src + head.bytes);
        const u64 start = records[2 * g], next = g + 1 < head.groups ? records[2 * g + 2] : head.stream_bytes;
        good &= (g > 0 || start == head.bodies_at) && start + (u64)ALIGN * __reduce_add_sync(FULL, units) == next;
    }
    sum = warp_sum(sum);
    if (lane == 0 && sum) add_relaxed(&control->index_sum, sum);
    return __all_sync(FULL, good);
}

// A block's last act in an array, of which `bytes` were restored. The last of its blocks compares the checksums and
// leaves the result. By one thread.
template <class Head>
DEV void close(Control* control, const u8* src, const Head& head, u64 bytes, u64 disagreement, Outcome* outcome,
               u64 blocks) {
    if (disagreement) add_relaxed(&control->disagreement, disagreement);
    if (count_in(&control->closed, 1) + 1 != (u32)blocks) return;
    const u64 sum = load_relaxed(&control->index_sum), differ = load_relaxed(&control->disagreement);
    const u64 stored = ((const u64*)src)[7];
    u32 status = load_relaxed(&control->status);
    if (mix(sum + KEY64 * head.bodies_at) != stored || differ)
        status = status > STATUS_CORRUPT ? status : STATUS_CORRUPT;
    report(outcome, bytes, status);
}
