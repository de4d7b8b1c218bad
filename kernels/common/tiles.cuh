// Twin: src/container/index.rs
// The index of a stream of tiles, whose entries are wide: what container.cuh knows of runs. Everything is checked
// before it is used. A `Head` has
//
//   grid.chunks, groups, bytes, entries_at, bodies_at, stream_bytes     as Header of container.cuh
//   fits(chunk, entry)      whether a tile may have such a body
//   entries(src), record(src, group)                                    where they stand
//
// and a `Job` what an encoder needs of them: head, entries(), record(group).
#pragma once
#include "container.cuh"
#include "element.cuh"
#include "lookback.cuh"
#include "machine.cuh"

// An element's bits in the byte order of the array.
template <class T> DEV typename T::Word swapped(typename T::Word v) {
    if (T::BITS == 64) return __byte_perm((u32)((u64)v >> 32), 0, 0x0123) | (u64)__byte_perm((u32)v, 0, 0x0123) << 32;
    if (T::BITS == 32) return __byte_perm((u32)v, 0, 0x0123);
    return T::BITS == 16 ? __byte_perm((u32)v, 0, 0x4401) : v;
}

// Header of a stream of tiles, as far as codecs have it in common; in the shared memory of a block. A codec's own
// begins with it.
template <class Grid> struct TileHeader {
    Grid grid;
    u64 groups, entries_at, bodies_at, stream_bytes;
    u64 missing[MAX_MISSING];
    u32 bytes, values;    // of the header with its extension; missing values
    u32 next;             // what packed bodies restore as a missing value is the next larger number
    u32 dtype, element_bytes, big_endian, is_float;

    DEV void layout() {
        element_bytes = bytes_of(dtype);
        is_float = DTYPE_IS_FLOAT(dtype);
        groups = (grid.chunks + GROUP_CHUNKS - 1) / GROUP_CHUNKS;
        entries_at = bytes + groups * GROUP_BYTES;
        bodies_at = (entries_at + grid.chunks * WIDE_ENTRY_BYTES + ALIGN - 1) / ALIGN * ALIGN;
    }

    // Reads and checks the 64 bytes and the extension of a stream of `codec`, whose modes are those up to `last_mode`,
    // but for the codec's eight bytes; a status code. By one thread.
    DEV u32 read_tiles(const u8* src, u64 src_bytes, u32 codec, u32 last_mode) {
        if (src_bytes < HEADER_BYTES) return STATUS_TRUNCATED;
        const u64* w = (const u64*)src;
        const u64 w0 = w[0], w1 = w[1];
        if ((w0 & 0xffffffffffffull) != MAGIC48) return STATUS_NOT_SLEEK;
        if (w0 >> 48 != VERSION || (w1 & 0xff) != codec) return STATUS_UNSUPPORTED_FORMAT;
        dtype = (u32)(w1 >> 8) & 0xff;
        const u32 flags = (u32)(w1 >> 24) & 0xff;
        if (flags & ~(u32)(FLAG_BIG_ENDIAN | FLAG_FAST | FLAG_MORE | FLAG_EXTENDED)) return STATUS_UNSUPPORTED_FORMAT;
        big_endian = flags & FLAG_BIG_ENDIAN;
        stream_bytes = w[3];
        if (dtype < DTYPE_F32 || dtype > DTYPE_U64 || ((u32)(w1 >> 16) & 0xff) > last_mode) return STATUS_CORRUPT;
        if (!(flags & FLAG_EXTENDED)) return STATUS_CORRUPT;    // a line in runs
        if (const u32 status = read_extension(src + HEADER_BYTES, src_bytes - HEADER_BYTES, w[2])) return status;
        layout();
        if (src_bytes < stream_bytes) return STATUS_TRUNCATED;
        return stream_bytes < bodies_at ? STATUS_CORRUPT : 0;
    }

    // The extension, of which `have` bytes are there at most.
    DEV u32 read_extension(const u8* src, u64 have, u64 count) {
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
        // Tiles with wide entries and no section are all that these codecs have.
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
        return missing_are_valid(number + lens, values, dtype, missing) ? 0 : STATUS_CORRUPT;
    }
    // What an element of a packed body is that was restored as `bits`. The largest numbers, and what is none, have none
    // behind them.
    DEV u64 beside_missing(u64 bits) const {
        const u64 sign = 1ull << (8 * element_bytes - 1);
        const u64 infinity = dtype == DTYPE_F64   ? 0x7ffull << 52
                             : dtype == DTYPE_F32 ? 0xffull << 23
                             : dtype == DTYPE_F16 ? 0x1full << 10
                                                  : 0xffull << 7;
        bits &= sign | (sign - 1);
#pragma unroll 1
        for (u32 k = 0; k < values; k++) {
            const u64 m = missing[k], magnitude = m & (sign - 1);
            const u64 above = magnitude == 0 ? 1 : m & sign ? m - 1 : m + 1;
            const bool same = bits == m || ((bits | m) & (sign - 1)) == 0;
            if (same && magnitude < infinity && (above & (sign - 1)) < infinity) bits = above;
        }
        return bits;
    }
    DEV const u32* entries(const u8* src) const { return (const u32*)(src + entries_at); }
    DEV const u64* record(const u8* src, u64 group) const { return (const u64*)(src + bytes + group * GROUP_BYTES); }
};

// One warp per group: are its entries valid, does it end where the next begins? Adds this thread's share of the keyed
// sum over header and index to the control block. False where the index is not valid. By blocks 0 … blocks − 1.
template <class Head> DEV bool check_index(const u8* src, const Head& head, Control* control, u64 block, u64 blocks) {
    const u32 lane = threadIdx.x & 31;
    const u64 warps = blocks * (blockDim.x / 32), warp = block * (blockDim.x / 32) + threadIdx.x / 32;
    const u32* words = (const u32*)src;
    u64 sum = 0;
    bool good = true;
    if (warp == 0)
        for (u32 i = lane; i < head.bytes / 4; i += 32)
            if (i != 14 && i != 15) sum += (u64)words[i] * key_of(i);
    if (warp == 0 && head.groups == 0) good = head.stream_bytes == head.bytes;
    for (u64 g = warp; uniform(g < head.groups); g += warps) {
        const u32 record = (u32)((head.bytes + g * GROUP_BYTES) / 4);
        if (lane < GROUP_BYTES / 4) sum += (u64)words[record + lane] * key_of(record + lane);
        const u64 at = head.entries_at / 4 + g * GROUP_CHUNKS;
        u64 units = 0;
#pragma unroll 1
        for (u32 i = lane; i < GROUP_CHUNKS; i += 32) {
            if (at + i >= head.bodies_at / 4) break;
            const u32 entry = words[at + i];
            sum += (u64)entry * key_of((u32)(at + i));
            const u64 chunk = g * GROUP_CHUNKS + i;
            if (chunk >= head.grid.chunks) {
                good &= entry == 0;
                continue;
            }
            good &= head.fits(chunk, entry);
            units += entry & WIDE_SIZE_MASK;
        }
        // The padding behind the last entries, where they fill their group.
        const u64 rest = at + GROUP_CHUNKS + lane;
        if (g + 1 == head.groups && rest < head.bodies_at / 4) good &= words[rest] == 0;
        const u64 start = head.record(src, g)[0],
                  next = g + 1 < head.groups ? head.record(src, g + 1)[0] : head.stream_bytes;
        good &= (g > 0 || start == head.bodies_at) && start + UNIT * warp_sum(units) == next;
    }
    sum = warp_sum(sum);
    if (lane == 0 && sum) add_relaxed(&control->index_sum, sum);
    return __all_sync(FULL, good);
}

// A body in a stream.
struct WideBody {
    u64 at;
    u32 bytes, kind;    // bytes: 0 if the index is not valid
};

// Found by a whole warp.
template <class Head> DEV WideBody locate(const u8* src, const Head& head, u64 chunk, u32 lane) {
    const u64 group = chunk / GROUP_CHUNKS;
    const u32 k = (u32)(chunk % GROUP_CHUNKS);
    const u32* entries = head.entries(src) + group * GROUP_CHUNKS;
    const u64 start = head.record(src, group)[0], there = head.grid.chunks - group * GROUP_CHUNKS;
    const u32 first = 2 * lane < there ? entries[2 * lane] : 0,
              second = 2 * lane + 1 < there ? entries[2 * lane + 1] : 0;
    u64 before = (2 * lane < k ? first & WIDE_SIZE_MASK : 0) + (u64)(2 * lane + 1 < k ? second & WIDE_SIZE_MASK : 0);
    before = warp_sum(before);
    const u32 entry = __shfl_sync(FULL, k & 1 ? second : first, k >> 1);
    WideBody body;
    body.kind = entry >> WIDE_KIND_SHIFT;
    body.at = start + before * UNIT;
    const u64 bytes = (u64)(entry & WIDE_SIZE_MASK) * UNIT;
    const bool good = head.fits(chunk, entry) && start % UNIT == 0 && start >= head.bodies_at &&
                      start <= head.stream_bytes && body.at + bytes <= head.stream_bytes;
    body.bytes = good ? (u32)bytes : 0;
    return body;
}

// The keyed sum of a body, of which this lane has its share. For a whole warp; all of a body comes to the second-level
// cache on the way.
DEV u64 keyed_sum(const u8* body, u32 bytes, u32 lane) {
    const u32* words = (const u32*)body;
    const u32 n = bytes / 4;
    u64 sum = 0;
    // Words up to the first multiple of 16 bytes, then as uint4.
    const u32 head = min_of((u32)(0 - ((u64)body >> 2)) & 3, n), vectors = (n - head) / 4;
    const uint4* q = (const uint4*)(words + head);
    u32 i = lane;
#pragma unroll 1
    for (; i + 96 < vectors; i += 128) {
        const uint4 a = q[i], b = q[i + 32], c = q[i + 64], d = q[i + 96];
        const u32 key = key_of(head + 4 * i);
        sum += keyed(a, key) + keyed(b, key + 256 * KEY32) + keyed(c, key + 512 * KEY32) + keyed(d, key + 768 * KEY32);
    }
#pragma unroll 1
    for (; i < vectors; i += 32) sum += keyed(q[i], key_of(head + 4 * i));
    if (lane < head) sum += (u64)words[lane] * key_of(lane);
    const u32 rest = head + 4 * vectors + lane;
    if (rest < n) sum += (u64)words[rest] * key_of(rest);
    return sum;
}

// What a body adds to the sum of all disagreements with the groups' checksums.
template <class Head> DEV u64 disagreement_of(const u8* src, const Head& head, u64 chunk, u64 keyed_sum) {
    const u32 k = (u32)(chunk % GROUP_CHUNKS);
    const u64 group = chunk / GROUP_CHUNKS, weight = mix(group + 1) | 1;
    const u64 sum = body_checksum(keyed_sum, k);
    return weight * (k == 0 ? sum - head.record(src, group)[1] : sum);
}

// Moves the mark `known` on to `chunk`, as units of all bodies before: counted from the nearest group whose record says
// where it begins, if one behind `known` does. WAIT: waits for sizes that are not published yet; else false is returned
// where there are such. For a whole warp.
template <bool WAIT, class Job> DEV bool count_up_to(const Job& job, Mark& known, u64 chunk, u32 lane) {
    enum { ENTRIES_TOGETHER = 16 };
    const u64 group = chunk / GROUP_CHUNKS, mine = (group - lane) * GROUP_CHUNKS;
    u64 place = 0;
    if (lane <= group && mine > known.chunk) place = load_relaxed(job.record(group - lane));
    const u32 told = __ballot_sync(FULL, place != 0);
    if (uniform(told != 0)) {
        const u32 nearest = __ffs((i32)told) - 1;
        known = {(group - nearest) * GROUP_CHUNKS, (__shfl_sync(FULL, place, nearest) - job.head.bodies_at) / UNIT};
    }
    while (uniform(known.chunk < chunk)) {
        const u32 n = (u32)min_of(chunk - known.chunk, (u64)32 * ENTRIES_TOGETHER);
        const u32* entries = job.entries() + known.chunk;
        u32 sum;
        // Thousands of warps may ask, each for 2 KiB: the longer one has waited, the less often it does.
        for (u32 pause = 100;; pause = min_of(2 * pause, 3200u)) {
            YIELD();
            u32 entry[ENTRIES_TOGETHER];
            bool there = true;
            sum = 0;
#pragma unroll
            for (u32 k = 0; k < ENTRIES_TOGETHER; k++)
                entry[k] = lane + 32 * k < n ? load_relaxed(entries + lane + 32 * k) : 1u << WIDE_KIND_SHIFT;
#pragma unroll
            for (u32 k = 0; k < ENTRIES_TOGETHER; k++) {
                there &= entry[k] != 0;
                sum += entry[k] & WIDE_SIZE_MASK;
            }
            if (uniform(__all_sync(FULL, there))) break;
            if (!WAIT) return false;
            hold_back_for(pause);
        }
        known.chunk += n;
        known.units += __reduce_add_sync(FULL, sum);
    }
    return true;
}
// The same, with waiting; how many these are.
template <class Job> DEV u64 units_before(const Job& job, Mark known, u64 chunk, u32 lane) {
    count_up_to<true>(job, known, chunk, lane);
    return known.units;
}
