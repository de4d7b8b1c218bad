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
// An element that may lie across two words.
template <class T> SELDOM typename T::Word joined(const u8* p) {
    typename T::Word word = 0;
#pragma unroll 1
    for (u32 i = 0; i < T::BITS / 8; i++) word |= (typename T::Word)p[i] << (8 * i);
    return word;
}

// How an array is cut, as far as codecs have it in common; in the shared memory of a block.
struct TileGrid {
    u64 len[MAX_RANK], stride[MAX_RANK];    // along a dimension; from one element to the next
    u64 count, chunks;
    u8 side[MAX_RANK];    // of tiles, as powers of two
    u32 rank, total;      // Σ of the sides

    // From rank, lengths and sides; false where these add up to more than `most`. By one thread.
    DEV bool measure(u32 most) {
        u64 step = 1;
        chunks = count = 1;
        total = 0;
#pragma unroll 1
        for (u32 k = rank; k-- > 0;) {
            if (side[k] > most) return false;
            stride[k] = step;
            step *= len[k];
            count *= len[k];
            const u64 along = tiles(k);
            if (along && chunks > (1ull << 58) / along) return false;
            chunks *= along;
            total += side[k];
        }
        return total <= most;
    }
    // Tiles along a dimension.
    DEV u64 tiles(u32 k) const { return (len[k] + ((1ull << side[k]) - 1)) >> side[k]; }
    DEV u32 capacity() const { return 1u << total; }
};

// Header of a stream of tiles, as far as codecs have it in common. A codec's own begins with it.
template <class Grid> struct TileHeader : StreamHead {
    enum : u32 { GROUP_WORDS = GROUP_CHUNKS, BODY_UNIT = UNIT };
    Grid grid;

    DEV void layout() { lay_out_index(grid.chunks, WIDE_ENTRY_BYTES); }
    // How an array of `count` elements is cut by what a launch says; a line has tiles of 2^side. By one thread.
    template <class Args> DEV void lay_out(const Args& a, u64 count, u32 side) {
        const u32 rank = grid.rank = a.rank;
        for (u32 k = 0; k < rank; k++) {
            grid.len[k] = rank == 1 ? count : a.lens[k];
            grid.side[k] = rank == 1 ? (u8)side : a.sides_log2[k];
        }
        grid.make();
        const u32 extension = EXTENSION_BYTES + 8 * ((rank > 1 ? rank : 0) + values) + rank;
        bytes = HEADER_BYTES + (extension + ALIGN - 1) / ALIGN * ALIGN;
        layout();
    }
    // Writes it, but for length, checksum and what is not known here: `first` is its second word, `found` how many of
    // the missing values were. By one thread.
    DEV void write(u8* dst, u64 first, u64 count, u32 found) const {
        u64* w = (u64*)dst;
        for (u32 i = 0; i < bytes / 8; i++) w[i] = 0;
        w[0] = MAGIC48 | (u64)VERSION << 48;
        w[1] = first | (u64)dtype << 8 | (u64)((big_endian ? FLAG_BIG_ENDIAN : 0) | FLAG_EXTENDED) << 24;
        w[2] = count;
        w += HEADER_BYTES / 8;
        w[0] = (bytes - HEADER_BYTES) | (u64)(1 | 1 << 8 | grid.rank << 24) << 32;
        w[1] = values | found << 8;
        w += 2;
        for (u32 k = 0; grid.rank > 1 && k < grid.rank; k++) *w++ = grid.len[k];
        for (u32 k = 0; k < values; k++) *w++ = missing[k];
        for (u32 k = 0; k < grid.rank; k++) ((u8*)w)[k] = grid.side[k];
    }

    // Reads and checks the 64 bytes and the extension of a stream of `codec`, whose modes are those up to `last_mode`,
    // but for the codec's eight bytes; a status code. By one thread.
    DEV u32 read_tiles(const u8* src, u64 src_bytes, u32 codec, u32 last_mode) {
        u32 flags;
        if (const u32 status = read_first(src, src_bytes, codec, flags)) return status;
        if (flags & ~(u32)(FLAG_BIG_ENDIAN | FLAG_FAST | FLAG_MORE | FLAG_EXTENDED)) return STATUS_UNSUPPORTED_FORMAT;
        if (!type_is_valid(src, last_mode) || !(flags & FLAG_EXTENDED)) return STATUS_CORRUPT;    // a line in runs
        const u64 count = ((const u64*)src)[2];
        if (const u32 status = read_extension(src + HEADER_BYTES, src_bytes - HEADER_BYTES, count)) return status;
        layout();
        if (src_bytes < stream_bytes) return STATUS_TRUNCATED;
        return stream_bytes < bodies_at ? STATUS_CORRUPT : 0;
    }

    // The extension, of which `have` bytes are there at most.
    DEV u32 read_extension(const u8* src, u64 have, u64 count) {
        if (const u32 status = read_form(src, have)) return status;
        const u32 length = bytes - HEADER_BYTES, form = ((const u32*)src)[1], rank = form >> 24;
        // Tiles with wide entries and no section are all that these codecs have.
        if (form != (1u | 1u << 8 | rank << 24) || ((const u32*)src)[3]) return STATUS_CORRUPT;
        const u32 lens = rank > 1 ? rank : 0, sides_at = EXTENSION_BYTES + 8 * (lens + values), end = sides_at + rank;
        if ((end + ALIGN - 1) / ALIGN * ALIGN != length) return STATUS_CORRUPT;
#pragma unroll 1
        for (u32 i = end; i < length; i++)
            if (src[i]) return STATUS_CORRUPT;
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

// The same as of runs.
template <class Head> DEV u32 units_of(const Head& head, u64 chunk, u32 entry, bool& good) {
    good &= chunk >= head.grid.chunks ? entry == 0 : head.fits(chunk, entry);
    return entry & WIDE_SIZE_MASK;
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

// Enters a body that ends at `end` into its group's record and the sums of the array; whether it was the last of all.
// By one thread.
DEV bool enter_body(Control& control, u64* record, u64 entries_at, u32 entry, u64 chunk, u64 chunks, u64 sum, u64 end) {
    add_relaxed(&record[1], body_checksum(sum, (u32)(chunk % GROUP_CHUNKS)));
    add_relaxed(&control.index_sum, (u64)entry * key_of((u32)(entries_at / 4 + chunk)));
    if (chunk + 1 == chunks) control.end = end;
    return count_in(&control.closed, 1) + 1 == (u32)chunks;
}
// Closes a stream of so many tiles all of whose bodies are there. For a whole warp.
DEV void close_index(u8* dst, u64 head_bytes, u64 chunks, u64 bodies_at, const Control& control, Outcome* outcome,
                     u32 lane) {
    u64 sum = 0;
    for (u64 g = lane; g < (chunks + GROUP_CHUNKS - 1) / GROUP_CHUNKS; g += 32)
        sum += keyed(load_relaxed((const uint4*)(dst + head_bytes + g * GROUP_BYTES)),
                     key_of((u32)((head_bytes + g * GROUP_BYTES) / 4)));
    sum = warp_sum(sum);
    if (lane == 0)
        close_stream(dst, head_bytes, bodies_at, load_relaxed(&control.end), sum + load_relaxed(&control.index_sum),
                     load_relaxed(&control.status), outcome);
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
