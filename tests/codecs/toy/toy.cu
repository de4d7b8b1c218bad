// The kernels of the toy codec, of which tests/codecs/toy/README.md says the bytes. They are to be right and short: of
// lines alone, without missing values; the CPU does the rest. A block takes an array, thread 0 what is not a tile's.
//
// Nothing is shared but what thread 0 read of a stream (Shared, in decompress).
//
//   compress      thread 0 alone writes header, index and bodies
//   decompress    barrier: thread 0 has read header, index and checksums; barrier: every tile is done
#include "../../../kernels/common/batch.cuh"
#include "../../../kernels/common/checksum.cuh"

namespace toy {

#define TOY_THREADS 32
#define TOY_CODEC 255
#define TOY_SIDE_LOG2 10
// The header with its extension: tiles of a line with wide entries, and a section of 12 bytes behind the side.
#define TOY_HEAD_BYTES 96
#define TOY_FORM (32 | (u64)(1 | 1 << 8 | 1 << 24) << 32)
#define TOY_SECTION (12ull << 32)
#define TOY_SIDE_AT 80
#define TOY_STEP_AT 81

// As in gpu.rs, where its size is asserted too.
struct CompressArgs {
    Batch batch;
    double bound, step;
    u32 dtype, mode, big_endian, zero;
};
static_assert(sizeof(CompressArgs) == 112, "as in gpu.rs");

DEV u64 load(const u8* from, u32 size, bool big_endian) {
    u64 word = 0;
#pragma unroll 1
    for (u32 i = 0; i < size; i++) word |= (u64)from[i] << 8 * (big_endian ? size - 1 - i : i);
    return word;
}
DEV void store(u8* to, u32 size, u64 word, bool big_endian) {
#pragma unroll 1
    for (u32 i = 0; i < size; i++) to[big_endian ? size - 1 - i : i] = (u8)(word >> 8 * i);
}

// What follows from length and element type, and the number that steps are of.
struct Line {
    u64 count, chunks, entries_at, bodies_at;
    u32 dtype, size, big_endian;
    double step, bound;

    DEV void lay_out() {
        size = DTYPE_BYTES(dtype);
        chunks = (count + (1u << TOY_SIDE_LOG2) - 1) >> TOY_SIDE_LOG2;
        entries_at = TOY_HEAD_BYTES + (chunks + GROUP_CHUNKS - 1) / GROUP_CHUNKS * GROUP_BYTES;
        bodies_at = (entries_at + 4 * chunks + ALIGN - 1) / ALIGN * ALIGN;
    }
    DEV u32 elements(u64 c) const { return (u32)min_of(1ull << TOY_SIDE_LOG2, count - (c << TOY_SIDE_LOG2)); }
    DEV u64 mask() const { return ~0ull >> (64 - 8 * size); }
    DEV i64 is_signed(u64 word) const { return (i64)(word << (64 - 8 * size)) >> (64 - 8 * size); }
    DEV double number(u64 word) const { return size == 4 ? (double)float_of((u32)word) : float_of(word); }
    DEV u64 restored(u64 bin) const {
        const double product = (double)is_signed(bin) * step;
        return size == 4 ? bits_of((float)product) : bits_of(product);
    }
    // The bin of an element, if what it restores is good enough.
    DEV bool bin(u64 element, u64& bin) const {
        if (step == 0.0) return false;
        const double x = number(element), nearest = rint(x / step);
        const double limit = dtype == DTYPE_F32 ? 2147483647.0 : 4503599627370496.0;
        if (!(nearest <= limit && nearest >= -limit)) return false;
        bin = (u64)(i64)nearest & mask();
        const double error = x - number(restored(bin));
        return error <= bound && error >= -bound;
    }
};

// A tile that is compressed.
struct Tile {
    const Line& line;
    const u8* src;
    u32 count;
    bool bins;    // whether each element has one

    DEV u64 element(u32 n) const { return load(src + n * line.size, line.size, line.big_endian); }
    DEV u64 word(u32 n) const {
        u64 bin = 0;
        return bins && line.bin(element(n), bin) ? bin : element(n);
    }
    DEV u64 code(u32 n) const {
        const i64 d = line.is_signed((word(n) - (n ? word(n - 1) : 0)) & line.mask());
        return ((u64)d << 1 ^ (u64)(d >> 63)) & line.mask();
    }
    // Writes the body to `out` where there is room; its bytes, and its kind.
    DEV u32 encode(u8* out, u64 room, u32& kind) {
        bool alike = true;
        u64 bin, all = 0;
        for (u32 n = 0; n < count; n++) {
            alike = alike && element(n) == element(0);
            bins = bins && line.bin(element(n), bin);
        }
        for (u32 n = 0; n < count; n++) all |= code(n);
        u32 width = 0;
        for (; all; all >>= 8) width++;
        const u32 end = 4 + width * count, packed = (end + 3) / 4 * 4, raw = line.size * count;
        kind = alike ? KIND_CONSTANT : packed < raw ? KIND_PACKED : KIND_RAW;
        const u32 bytes = alike ? line.size : min_of(packed, raw);
        if (bytes > room) return bytes;
        if (kind == KIND_PACKED) {
            store(out, 4, (u32)bins | width << 8, false);
            for (u32 n = 0; n < count; n++) store(out + 4 + n * width, width, code(n), false);
            for (u32 i = end; i < bytes; i++) out[i] = 0;
        } else {
            for (u32 n = 0; n < bytes / line.size; n++) store(out + n * line.size, line.size, element(n), false);
        }
        return bytes;
    }
};

// Keyed sum of words, the first of which is word 0.
DEV u64 keyed_sum(const u32* words, u64 count) {
    u64 sum = 0;
    for (u64 i = 0; i < count; i++) sum += (u64)words[i] * key_of((u32)i);
    return sum;
}
// Of header and index, its own field left out.
DEV u64 index_checksum(const u8* stream, u64 bodies_at) {
    const u32* w = (const u32*)stream;
    const u64 own = (u64)w[14] * key_of(14) + (u64)w[15] * key_of(15);
    return mix(keyed_sum(w, bodies_at / 4) - own + KEY64 * bodies_at);
}

DEV void report(Outcome* outcome, u64 bytes, u32 status) { *outcome = {status ? 0 : bytes, status, 0}; }

// By one thread.
DEV void compress(const CompressArgs& a, u32 i) {
    const Item item = item_of(a.batch, i);
    Line line = {item.count, 0, 0, 0, a.dtype, 0, a.big_endian, a.step, a.bound};
    line.lay_out();
    u64 at = line.bodies_at;
    if (at > item.bytes) return report(a.batch.outcomes + i, 0, STATUS_BUFFER_TOO_SMALL);
    u64* w = (u64*)item.dst;
    for (u64 k = 0; k < at / 8; k++) w[k] = 0;
    for (u64 c = 0; c < line.chunks; c++) {
        u32 kind;
        Tile tile = {line, item.src + (c << TOY_SIDE_LOG2) * line.size, line.elements(c), true};
        const u32 bytes = tile.encode(item.dst + at, item.bytes - at, kind);
        if (bytes > item.bytes - at) return report(a.batch.outcomes + i, 0, STATUS_BUFFER_TOO_SMALL);
        u64* record = (u64*)(item.dst + TOY_HEAD_BYTES + c / GROUP_CHUNKS * GROUP_BYTES);
        if (c % GROUP_CHUNKS == 0) record[0] = at;
        record[1] += body_checksum(keyed_sum((const u32*)(item.dst + at), bytes / 4), (u32)(c % GROUP_CHUNKS));
        ((u32*)(item.dst + line.entries_at))[c] = bytes / 4 | kind << 30;
        at += bytes;
    }
    w[0] = MAGIC48 | (u64)VERSION << 48;
    w[1] = TOY_CODEC | a.dtype << 8 | a.mode << 16 | (u64)(FLAG_EXTENDED | (a.big_endian ? FLAG_BIG_ENDIAN : 0)) << 24;
    w[2] = line.count;
    w[3] = at;
    w[4] = bits_of(a.bound);
    w[6] = a.step == 0.0 ? 0 : bits_of(a.bound);
    w[8] = TOY_FORM;
    w[9] = TOY_SECTION;
    item.dst[TOY_SIDE_AT] = TOY_SIDE_LOG2;
    store(item.dst + TOY_STEP_AT, 8, bits_of(a.step), false);
    w[7] = index_checksum(item.dst, line.bodies_at);
    report(a.batch.outcomes + i, at, 0);
}

// What thread 0 has read of a stream.
struct Shared {
    Item item;
    Line line;
    u32 status;

    // Header and extension; a status code.
    DEV u32 read() {
        const u8* src = item.src;
        const u64* w = (const u64*)src;
        if (item.bytes < HEADER_BYTES) return STATUS_TRUNCATED;
        if ((w[0] & 0xffffffffffffull) != MAGIC48) return STATUS_NOT_SLEEK;
        const u32 flags = (u32)(w[1] >> 24) & 0xff, mode = (u32)(w[1] >> 16) & 0xff;
        if (w[0] >> 48 != VERSION || (w[1] & 0xff) != TOY_CODEC) return STATUS_UNSUPPORTED_FORMAT;
        if (flags & ~(u32)(FLAG_BIG_ENDIAN | FLAG_FAST | FLAG_MORE | FLAG_EXTENDED)) return STATUS_UNSUPPORTED_FORMAT;
        const u32 dtype = line.dtype = (u32)(w[1] >> 8) & 0xff;
        if (dtype != DTYPE_F32 && dtype != DTYPE_F64 && dtype != DTYPE_I32) return STATUS_CORRUPT;
        if (mode > MODE_ABS || w[1] >> 32 || !(flags & FLAG_EXTENDED) || w[2] > 1ull << 58) return STATUS_CORRUPT;
        if (item.bytes < TOY_HEAD_BYTES) return STATUS_TRUNCATED;
        // Dimensions and missing values are left to the CPU.
        if (w[8] != TOY_FORM || w[9] != TOY_SECTION) return STATUS_UNSUPPORTED_FORMAT;
        const u64 bits = load(src + TOY_STEP_AT, 8, false), exponent = bits >> 52;
        if (src[TOY_SIDE_AT] != TOY_SIDE_LOG2 || load(src + TOY_STEP_AT + 8, 7, false)) return STATUS_CORRUPT;
        if (bits && (bits << 12 || exponent == 0 || exponent > 2046 || !DTYPE_IS_FLOAT(dtype))) return STATUS_CORRUPT;
        line.step = float_of(bits);
        line.count = w[2];
        line.big_endian = flags & FLAG_BIG_ENDIAN;
        line.lay_out();
        if (item.bytes < w[3]) return STATUS_TRUNCATED;
        return w[3] < line.bodies_at || !index_is_valid(w[3]) ? STATUS_CORRUPT : 0;
    }
    DEV u32 entry(u64 c) const { return ((const u32*)(item.src + line.entries_at))[c]; }
    static DEV u64 body_bytes(u32 entry) { return 4ull * (entry & 0x3fffffff); }

    // The checksums, and whether the bodies fill the stream.
    DEV bool index_is_valid(u64 stream_bytes) const {
        if (((const u64*)item.src)[7] != index_checksum(item.src, line.bodies_at)) return false;
        u64 at = line.bodies_at;
        for (u64 c = 0, sum = 0; c < line.chunks; c++) {
            const u64* record = (const u64*)(item.src + TOY_HEAD_BYTES + c / GROUP_CHUNKS * GROUP_BYTES);
            if (c % GROUP_CHUNKS == 0 && record[0] != at) return false;
            const u32 kind = entry(c) >> 30;
            const u64 bytes = body_bytes(entry(c)), raw = (u64)line.elements(c) * line.size;
            const bool fits = kind == KIND_PACKED     ? bytes >= 4 && bytes <= (u64)line.size << TOY_SIDE_LOG2
                              : kind == KIND_RAW      ? bytes == raw
                              : kind == KIND_CONSTANT ? bytes == line.size
                                                      : false;
            if (!fits || bytes > stream_bytes - at) return false;
            sum += body_checksum(keyed_sum((const u32*)(item.src + at), bytes / 4), (u32)(c % GROUP_CHUNKS));
            at += bytes;
            if ((c + 1) % GROUP_CHUNKS && c + 1 < line.chunks) continue;
            if (record[1] != sum) return false;
            sum = 0;
        }
        for (u64 i = line.entries_at + 4 * line.chunks; i < line.bodies_at; i++)
            if (item.src[i]) return false;
        return at == stream_bytes;
    }
    DEV const u8* body(u64 chunk) const {
        const u64 group = chunk / GROUP_CHUNKS;
        u64 at = ((const u64*)(item.src + TOY_HEAD_BYTES + group * GROUP_BYTES))[0];
        for (u64 c = group * GROUP_CHUNKS; c < chunk; c++) at += body_bytes(entry(c));
        return item.src + at;
    }

    // Restores what is wanted of a tile, from element `first` on; false where the body is not valid.
    DEV bool restore(u64 c, u64 first) const {
        const u32 kind = entry(c) >> 30, size = line.size, count = line.elements(c);
        const u8* in = body(c);
        const u32 form = in[0], width = in[1], end = 4 + width * count;
        if (kind == KIND_PACKED) {
            if (form > 1 || (form && line.step == 0.0) || width > size || in[2] || in[3]) return false;
            if (body_bytes(entry(c)) != (end + 3) / 4 * 4) return false;
            for (u32 i = end; i % 4; i++)
                if (in[i]) return false;
        }
        u64 word = 0;
        for (u32 n = 0; n < count; n++) {
            u64 element = load(in + (kind == KIND_RAW ? n * size : 0), size, false);
            if (kind == KIND_PACKED) {
                const u64 code = load(in + 4 + n * width, width, false);
                word = (word + (code >> 1 ^ (0 - (code & 1)))) & line.mask();
                element = form ? line.restored(word) : word;
            }
            const u64 number = (c << TOY_SIDE_LOG2) + n - first;
            if (number < item.count) store(item.dst + number * size, size, element, line.big_endian);
        }
        return true;
    }
};

DEV void decompress(const DecompressArgs& a) {
    SHARED Shared shared;
    for (u32 i = blockIdx.x; i < a.batch.count; i += gridDim.x) {
        if (threadIdx.x == 0) {
            shared.item = item_of(a.batch, i);
            const u64 count = shared.item.count;
            u32 status = shared.read();
            const u64 all = shared.line.count;
            if (!status && shared.line.dtype != a.dtype) status = STATUS_INVALID_ARGUMENT;
            if (!status && (a.first > all || count > all - a.first || (a.batch.items && count != all)))
                status = STATUS_OUT_OF_RANGE;
            shared.status = status;
        }
        __syncthreads();
        for (u64 c = threadIdx.x; !shared.status && c < shared.line.chunks; c += blockDim.x)
            if (!shared.restore(c, a.first)) atomicMax(&shared.status, STATUS_CORRUPT);
        __syncthreads();
        if (threadIdx.x == 0) report(a.batch.outcomes + i, shared.line.count * shared.line.size, shared.status);
        __syncthreads();
    }
}

}

GRID_KERNEL(toy_list, ListArgs, 96) { list_items(a); }
KERNEL(toy_compress, toy::CompressArgs, TOY_THREADS) {
    for (u32 i = blockIdx.x; threadIdx.x == 0 && i < a.batch.count; i += gridDim.x) toy::compress(a, i);
}
KERNEL(toy_decompress, DecompressArgs, TOY_THREADS) { toy::decompress(a); }
