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

// What an encoder begins with.
DEV void begin(Control& control, u64 end, u32 status) {
    control.ticket = control.slots = 0;
    control.end = end;
    control.index_sum = control.disagreement = 0;
    control.closed = 0;
    control.status = status;
}
// Length and checksum of a stream with a header of so many bytes, whose index has the keyed sum `sum`, and the outcome;
// by one thread.
DEV void close_stream(u8* dst, u64 head_bytes, u64 bodies_at, u64 bytes, u64 sum, u32 status, Outcome* outcome) {
    report(outcome, bytes, status);
    if (status) return;
    u64* w = (u64*)dst;
    w[3] = bytes;
    for (u32 i = 0; i < head_bytes / 8; i++)
        if (i != 7) sum += (w[i] & 0xffffffff) * key_of(2 * i) + (w[i] >> 32) * key_of(2 * i + 1);
    w[7] = mix(sum + KEY64 * bodies_at);
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

// What headers of all codecs have; in the shared memory of a block.
struct StreamHead {
    u64 groups, entries_at, bodies_at, stream_bytes;
    u64 missing[MAX_MISSING];
    u32 bytes, values;    // of the header with its extension, before the group records; missing values
    u32 next;             // whether a packed element that is restored as one is the next larger number
    u32 dtype, element_bytes, big_endian, is_float;

    // Where the index lies, with so many chunks and bytes of an entry.
    DEV void lay_out_index(u64 chunks, u32 entry_bytes) {
        element_bytes = bytes_of(dtype);
        is_float = DTYPE_IS_FLOAT(dtype);
        groups = (chunks + GROUP_CHUNKS - 1) / GROUP_CHUNKS;
        entries_at = bytes + groups * GROUP_BYTES;
        bodies_at = (entries_at + chunks * entry_bytes + ALIGN - 1) / ALIGN * ALIGN;
    }
    // Reads and checks what the 64 bytes of a stream of `codec` begin with; a status code.
    DEV u32 read_first(const u8* src, u64 src_bytes, u32 codec, u32& flags) {
        if (src_bytes < HEADER_BYTES) return STATUS_TRUNCATED;
        const u64* w = (const u64*)src;
        if ((w[0] & 0xffffffffffffull) != MAGIC48) return STATUS_NOT_SLEEK;
        if (w[0] >> 48 != VERSION || (w[1] & 0xff) != codec) return STATUS_UNSUPPORTED_FORMAT;
        dtype = (u32)(w[1] >> 8) & 0xff;
        flags = (u32)(w[1] >> 24) & 0xff;
        big_endian = flags & FLAG_BIG_ENDIAN;
        stream_bytes = w[3];
        return 0;
    }
    // Whether type and mode, of those up to `last_mode`, are such.
    DEV bool type_is_valid(const u8* src, u32 last_mode) const {
        return dtype >= DTYPE_F32 && dtype <= DTYPE_U64 && (((const u64*)src)[1] >> 16 & 0xff) <= last_mode;
    }
    // What an extension begins with, of which `have` bytes are there at most.
    DEV u32 read_form(const u8* src, u64 have) {
        const u32* w = (const u32*)src;
        if (have < EXTENSION_BYTES) return STATUS_TRUNCATED;
        const u32 length = w[0], form = w[1], rank = form >> 24;
        if (length % ALIGN || length < EXTENSION_BYTES || length > MAX_EXTENSION_BYTES) return STATUS_CORRUPT;
        if (have < length) return STATUS_TRUNCATED;
        values = w[2] & 0xff;
        next = w[2] >> 16;
        bytes = HEADER_BYTES + length;
        if (next > 1 || (form & 0xff) > 1 || (form >> 8 & 0xff) > 1) return STATUS_UNSUPPORTED_FORMAT;
        return rank == 0 || rank > MAX_RANK || values > MAX_MISSING || (w[2] >> 8 & 0xff) > values || next > values
                   ? STATUS_CORRUPT
                   : 0;
    }
};

// The header of a stream in runs.
struct Header : StreamHead {
    enum : u32 { GROUP_WORDS = GROUP_CHUNKS / 2, BODY_UNIT = ALIGN };    // of a group's entries; bytes of a unit
    u64 count, chunks, raw_bytes;
    const u64* len;    // of each dimension
    u32 rank;          // dimensions
    u32 step_w;
    i32 step_j;

    DEV u32 chunk_bytes(u64 c) const { return (u32)min_of(raw_bytes - c * CHUNK_BYTES, (u64)CHUNK_BYTES); }

    DEV void layout() {
        raw_bytes = count * bytes_of(dtype);
        chunks = (raw_bytes + CHUNK_BYTES - 1) / CHUNK_BYTES;
        lay_out_index(chunks, ENTRY_BYTES);
    }

    // Reads and checks the 64 bytes and the extension; a status code.
    DEV u32 read(const u8* src, u64 src_bytes) {
        u32 flags;
        if (const u32 status = read_first(src, src_bytes, CODEC_SLEEK, flags)) return status;
        const u64* w = (const u64*)src;
        step_j = (i32)(short)(w[1] >> 32);
        step_w = (u32)(w[1] >> 48) & 0xff;
        count = w[2];
        if (!type_is_valid(src, MODE_REL) || count > (1ull << 58)) return STATUS_CORRUPT;
        bytes = HEADER_BYTES;
        len = w + 2;
        rank = 1;
        values = next = 0;
        if (flags & FLAG_EXTENDED)
            if (const u32 status = read_extension(src + HEADER_BYTES, src_bytes - HEADER_BYTES)) return status;
        layout();
        if (src_bytes < stream_bytes) return STATUS_TRUNCATED;
        if (stream_bytes < bodies_at) return STATUS_CORRUPT;
        if (flags & ~(u32)(FLAG_BIG_ENDIAN | FLAG_FAST | FLAG_MORE | FLAG_EXTENDED) || w[1] >> 56)
            return STATUS_UNSUPPORTED_FORMAT;
        return step_is_valid(step_w, step_j, dtype) ? 0 : STATUS_CORRUPT;
    }

    // The extension. Kernels know dimensions and missing values, else runs of CHUNK_BYTES and narrow entries alone.
    DEV u32 read_extension(const u8* src, u64 have) {
        if (const u32 status = read_form(src, have)) return status;
        const u32 form = ((const u32*)src)[1];
        rank = form >> 24;
        if (form & 0xffff || ((const u32*)src)[3] || 1u << (form >> 16 & 31) != CHUNK_BYTES || form >> 21 & 7)
            return STATUS_UNSUPPORTED_FORMAT;
        const u32 lens = rank > 1 ? rank : 0, numbers = lens + values;
        const u64* number = (const u64*)(src + EXTENSION_BYTES);
        const u32 end = HEADER_BYTES + EXTENSION_BYTES + 8 * numbers;
        if (numbers == 0 || (end + ALIGN - 1) / ALIGN * ALIGN != bytes) return STATUS_CORRUPT;
        if (end < bytes && number[numbers]) return STATUS_CORRUPT;
        if (lens) len = number;
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

// Units of the entries in a word of the index, of which the first is that of chunk `first`; clears `good` where one is
// not valid.
DEV u32 units_of(const Header& head, u64 first, u32 pair, bool& good) {
    u32 units = 0;
#pragma unroll
    for (u32 i = 0; i < 2; i++) {
        const u32 entry = pair >> (16 * i) & 0xffff, n = entry & ENTRY_SIZE_MASK;
        good &= first + i >= head.chunks
                    ? entry == 0
                    : !(entry & ENTRY_ZERO_MASK) && head.fits(first + i, entry >> ENTRY_KIND_SHIFT, n);
        units += n;
    }
    return units;
}

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
        const u64 at = head.entries_at / 4 + g * Head::GROUP_WORDS, end = head.bodies_at / 4;
        u64 units = 0;
#pragma unroll 1
        for (u64 i = lane; i < Head::GROUP_WORDS && at + i < end; i += 32) {
            const u32 word = words[at + i];
            sum += (u64)word * key_of((u32)(at + i));
            units += units_of(head, g * GROUP_CHUNKS + i * (GROUP_CHUNKS / Head::GROUP_WORDS), word, good);
        }
        // The padding behind the last entries, where they fill their group.
        const u64 rest = at + Head::GROUP_WORDS + lane;
        if (g + 1 == head.groups && rest < end) good &= words[rest] == 0;
        const u64* const records = (const u64*)(src + head.bytes);
        const u64 next = g + 1 < head.groups ? records[2 * g + 2] : head.stream_bytes;
        good &= (g > 0 || records[0] == head.bodies_at) && records[2 * g] + Head::BODY_UNIT * warp_sum(units) == next;
    }
    sum = warp_sum(sum);
    if (lane == 0 && sum) add_relaxed(&control->index_sum, sum);
    return __all_sync(FULL, good);
}

// What a body adds to the sum of all disagreements with the groups' checksums.
DEV u64 disagreement_of(const u8* records, u64 chunk, u64 keyed_sum) {
    const u32 k = (u32)(chunk % GROUP_CHUNKS);
    const u64 group = chunk / GROUP_CHUNKS, weight = mix(group + 1) | 1, sum = body_checksum(keyed_sum, k);
    return weight * (k == 0 ? sum - ((const u64*)(records + group * GROUP_BYTES))[1] : sum);
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

// What all threads of a block know of the stream that they restore, as far as codecs have it in common.
template <class Head> struct OpenStream {
    const u8* src;
    Control* control;
    Outcome* outcome;
    u64 first_slot, work_slots;    // of all arrays' work slots, those of this one
    Head head;
    u32 status;

    // Takes array i of a batch; its item. By one thread.
    DEV Item take(const DecompressArgs& a, u32 i) {
        const Item item = item_of(a.batch, i);
        src = item.src;
        control = &a.batch.slots[i].control;
        outcome = a.batch.outcomes + i;
        first_slot = item.first;
        work_slots = (i + 1 < a.batch.count ? a.batch.items[i + 1].first : a.batch.work_slots) - first_slot;
        status = head.read(src, item.bytes);
        if (!status && head.dtype != a.dtype) status = STATUS_INVALID_ARGUMENT;
        return item;
    }
};
// Takes work slots of a batch: `open` makes `stream` what is known of the array, and `work` is given the slot's number
// there, if the array can be restored. For a whole block.
template <class Stream, class Open, class Work>
DEV void each_work_slot(const Batch& batch, const Stream& stream, Open open, Work work) {
    for (u64 slot = blockIdx.x; uniform(slot < batch.work_slots); slot += gridDim.x) {
        __syncthreads();    // everyone is done with the array before
        if (threadIdx.x < 32) {
            const u32 i = array_of(batch, slot, threadIdx.x);
            if (threadIdx.x == 0) open(i);
        }
        __syncthreads();
        if (stream.status == 0)
            work(slot - stream.first_slot);
        else if (slot == stream.first_slot && threadIdx.x == 0)
            report(stream.outcome, 0, stream.status);
    }
}
