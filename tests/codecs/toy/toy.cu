// The kernels of the toy codec, of which tests/codecs/toy/README.md says the bytes. They are to be right and short: a
// block takes an array, a thread its tiles, one after the other, and thread 0 alone does what is not of one tile.
//
// Nothing is shared but what thread 0 read of a stream (Shared, in decode).
//
//   encode      each tile's kind, length and body to the scratch memory
//   assemble    header, index and bodies from there, in a second kernel
//   decode      barrier: thread 0 has read header, index and checksums; barrier: every tile is done
#include "../../../kernels/common/batch.cuh"
#include "../../../kernels/common/checksum.cuh"

namespace toy {

#define TOY_THREADS 32
#define TOY_CODEC 255
#define TOY_MAX_RANK 4
#define TOY_SECTION_BYTES 12
// In scratch memory a tile has an entry of so many bytes, a word for each element, and its body.
#define TOY_ENTRY_BYTES 16

// Structs of gpu.rs, where their sizes are asserted too.
struct CompressArgs {
    Batch batch;
    u64 lens[TOY_MAX_RANK];    // of every array; unless the rank is 1, when the item has it
    double bound, step;
    u8* scratch;
    u64 scratch_of_array, scratch_of_tile;
    u32 rank, dtype, mode, big_endian;
};
static_assert(sizeof(CompressArgs) == 168, "as in gpu.rs");
struct DecompressArgs {
    Batch batch;
    u64 first;
    u64 start[TOY_MAX_RANK], lens[TOY_MAX_RANK];    // of a box
    u32 rank;                                       // of the box; 0 where none is asked for
    u32 dtype;
};
static_assert(sizeof(DecompressArgs) == 160, "as in gpu.rs");

DEV u32 side_log2_of(u32 rank) { return rank == 1 ? 10 : rank == 2 ? 5 : rank == 3 ? 3 : 2; }

// What follows from dimensions and element type, and the number that steps are of.
struct Shape {
    u64 lens[TOY_MAX_RANK], count, chunks, groups, entries_at, bodies_at;
    u32 rank, dtype, size, header_bytes, big_endian;
    double step;

    DEV void lay_out() {
        const u64 side = 1ull << side_log2_of(rank);
        size = DTYPE_BYTES(dtype);
        chunks = count ? 1 : 0;
        for (u32 k = 0; k < rank; k++) chunks *= (lens[k] + side - 1) / side;
        groups = (chunks + GROUP_CHUNKS - 1) / GROUP_CHUNKS;
        header_bytes = HEADER_BYTES + (extension_end() + ALIGN - 1) / ALIGN * ALIGN;
        entries_at = header_bytes + groups * GROUP_BYTES;
        bodies_at = (entries_at + 4 * chunks + ALIGN - 1) / ALIGN * ALIGN;
    }
    // Bytes of the extension up to what it begins with.
    DEV u32 sides_at() const { return EXTENSION_BYTES + (rank > 1 ? 8 * rank : 0); }
    DEV u32 extension_end() const { return sides_at() + rank + TOY_SECTION_BYTES; }
    DEV u64 mask() const { return ~0ull >> (64 - 8 * size); }
    DEV i64 is_signed(u64 word) const { return (i64)(word << (64 - 8 * size)) >> (64 - 8 * size); }
    DEV double number(u64 word) const { return size == 4 ? (double)float_of((u32)word) : float_of(word); }
    DEV u64 restored(u64 bin) const {
        const double product = (double)is_signed(bin) * step;
        return size == 4 ? bits_of((float)product) : bits_of(product);
    }
};

// Loops here are in many places: unrolled, they would double the archive.
// The box of elements of a chunk.
struct Tile {
    u64 start[TOY_MAX_RANK], lens[TOY_MAX_RANK], count;

    DEV Tile(const Shape& shape, u64 chunk) : count(1) {
        const u64 side = 1ull << side_log2_of(shape.rank);
#pragma unroll 1
        for (u32 k = shape.rank; k-- > 0;) {
            const u64 along = (shape.lens[k] + side - 1) / side;
            start[k] = chunk % along * side;
            lens[k] = min_of(side, shape.lens[k] - start[k]);
            count *= lens[k];
            chunk /= along;
        }
    }
    // Where element n of the tile is along each dimension.
    DEV void place(const Shape& shape, u64 n, u64* at) const {
#pragma unroll 1
        for (u32 k = shape.rank; k-- > 0;) {
            at[k] = start[k] + n % lens[k];
            n /= lens[k];
        }
    }
    // The number of element n in the array.
    DEV u64 number(const Shape& shape, u64 n) const {
        u64 at[TOY_MAX_RANK], number = 0;
        place(shape, n, at);
#pragma unroll 1
        for (u32 k = 0; k < shape.rank; k++) number = number * shape.lens[k] + at[k];
        return number;
    }
    DEV u64 line(const Shape& shape) const { return lens[shape.rank - 1]; }
};

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

// A tile that is compressed.
struct Encoder {
    const Shape& shape;
    const Tile tile;
    const u8* src;
    double bound;
    u64* words;    // of the elements: their bits, then bins if all have one

    // The bin of an element, if what it restores is good enough.
    DEV bool bin(u64 element, u64& bin) const {
        const double x = shape.number(element), nearest = rint(x / shape.step);
        const double limit = shape.dtype == DTYPE_F32 ? 2147483647.0 : 4503599627370496.0;
        if (!(nearest <= limit && nearest >= -limit)) return false;
        bin = (u64)(i64)nearest & shape.mask();
        const double error = x - shape.number(shape.restored(bin));
        return error <= bound && error >= -bound;
    }
    DEV bool take_elements() const {
        bool alike = true;
        for (u64 n = 0; n < tile.count; n++) {
            words[n] = load(src + tile.number(shape, n) * shape.size, shape.size, shape.big_endian);
            alike = alike && words[n] == words[0];
        }
        return alike;
    }
    DEV bool take_bins() const {
        if (shape.step == 0.0) return false;
        for (u64 n = 0; n < tile.count; n++) {
            u64 word;
            if (bin(words[n], word)) {
                words[n] = word;
                continue;
            }
            take_elements();
            return false;
        }
        return true;
    }
    DEV u64 code(u64 n) const {
        const u64 line = tile.line(shape);
        u64 before = 0;
        if (n % line)
            before = words[n - 1];
        else if (n)
            before = words[n - line];
        const i64 d = shape.is_signed((words[n] - before) & shape.mask());
        return ((u64)d << 1 ^ (u64)(d >> 63)) & shape.mask();
    }

    // Writes the body to `out`; its bytes, and its kind.
    DEV u32 encode(u8* out, u32& kind) const {
        kind = KIND_CONSTANT;
        if (take_elements()) {
            store(out, shape.size, words[0], false);
            return shape.size;
        }
        const bool bins = take_bins();
        u64 all = 0;
        for (u64 n = 0; n < tile.count; n++) all |= code(n);
        u32 width = 0;
        for (; all; all >>= 8) width++;
        const u32 end = (u32)(4 + width * tile.count), bytes = (end + 3) / 4 * 4;
        if (bytes >= shape.size * tile.count) {
            kind = KIND_RAW;
            if (bins) take_elements();
            for (u64 n = 0; n < tile.count; n++) store(out + n * shape.size, shape.size, words[n], false);
            return (u32)(shape.size * tile.count);
        }
        kind = KIND_PACKED;
        store(out, 4, (u32)bins | width << 8, false);
        for (u64 n = 0; n < tile.count; n++) store(out + 4 + n * width, width, code(n), false);
        for (u32 i = end; i < bytes; i++) out[i] = 0;
        return bytes;
    }
};

DEV Shape shape_of(const CompressArgs& a, const Item& item) {
    Shape shape;
    shape.rank = a.rank;
    shape.count = item.count;
    for (u32 k = 0; k < a.rank; k++) shape.lens[k] = a.rank == 1 ? item.count : a.lens[k];
    shape.dtype = a.dtype;
    shape.big_endian = a.big_endian;
    shape.step = a.step;
    shape.lay_out();
    return shape;
}

// Where a tile's body is in scratch memory.
DEV u64 body_at(const Shape& shape) { return TOY_ENTRY_BYTES + (8ull << shape.rank * side_log2_of(shape.rank)); }

DEV void encode(const CompressArgs& a) {
    for (u32 i = blockIdx.x; i < a.batch.count; i += gridDim.x) {
        const Item item = item_of(a.batch, i);
        const Shape shape = shape_of(a, item);
        for (u64 c = threadIdx.x; c < shape.chunks; c += blockDim.x) {
            u32* entry = (u32*)(a.scratch + i * a.scratch_of_array + c * a.scratch_of_tile);
            u64* words = (u64*)((u8*)entry + TOY_ENTRY_BYTES);
            const Encoder encoder = {shape, Tile(shape, c), item.src, a.bound, words};
            entry[1] = encoder.encode((u8*)entry + body_at(shape), entry[0]);
        }
    }
}

// Keyed sum of words, the first of which is word `at`.
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

DEV void write_head(const CompressArgs& a, const Shape& shape, u8* dst) {
    for (u64 i = 0; i < shape.bodies_at / 8; i++) ((u64*)dst)[i] = 0;
    u64* w = (u64*)dst;
    w[0] = MAGIC48 | (u64)VERSION << 48;
    w[1] = TOY_CODEC | a.dtype << 8 | a.mode << 16 | (u64)(FLAG_EXTENDED | (a.big_endian ? FLAG_BIG_ENDIAN : 0)) << 24;
    w[2] = shape.count;
    w[4] = bits_of(a.bound);
    w[6] = shape.step == 0.0 ? 0 : bits_of(a.bound);
    u8* extension = dst + HEADER_BYTES;
    store(extension, 4, shape.header_bytes - HEADER_BYTES, false);
    extension[4] = extension[5] = 1;    // tiles, wide entries
    extension[7] = (u8)shape.rank;
    store(extension + 12, 4, TOY_SECTION_BYTES, false);
    for (u32 k = 0; shape.rank > 1 && k < shape.rank; k++)
        store(extension + EXTENSION_BYTES + 8 * k, 8, shape.lens[k], false);
    for (u32 k = 0; k < shape.rank; k++) extension[shape.sides_at() + k] = (u8)side_log2_of(shape.rank);
    store(extension + shape.sides_at() + shape.rank, 8, bits_of(shape.step), false);
}

// By one thread.
DEV void assemble(const CompressArgs& a, u32 i) {
    const Item item = item_of(a.batch, i);
    const Shape shape = shape_of(a, item);
    const u8* tiles = a.scratch + i * a.scratch_of_array;
    u64 end = shape.bodies_at;
    for (u64 c = 0; c < shape.chunks; c++) end += ((const u32*)(tiles + c * a.scratch_of_tile))[1];
    if (end > item.bytes) return report(a.batch.outcomes + i, 0, STATUS_BUFFER_TOO_SMALL);
    write_head(a, shape, item.dst);
    ((u64*)item.dst)[3] = end;
    u64 at = shape.bodies_at;
    for (u64 c = 0; c < shape.chunks; c++) {
        const u32* entry = (const u32*)(tiles + c * a.scratch_of_tile);
        const u32 *from = entry + body_at(shape) / 4, words = entry[1] / 4;
        u64* record = (u64*)(item.dst + shape.header_bytes + c / GROUP_CHUNKS * GROUP_BYTES);
        if (c % GROUP_CHUNKS == 0) record[0] = at;
        record[1] += body_checksum(keyed_sum(from, words), (u32)(c % GROUP_CHUNKS));
        ((u32*)(item.dst + shape.entries_at))[c] = words | entry[0] << 30;
        for (u32 k = 0; k < words; k++) ((u32*)(item.dst + at))[k] = from[k];
        at += entry[1];
    }
    ((u64*)item.dst)[7] = index_checksum(item.dst, shape.bodies_at);
    report(a.batch.outcomes + i, end, 0);
}

// What thread 0 has read of a stream.
struct Shared {
    Item item;
    Shape shape;
    u64 stream_bytes;
    u32 status;

    // Header and extension; a status code.
    DEV u32 read(const u8* src, u64 have) {
        if (have < HEADER_BYTES) return STATUS_TRUNCATED;
        const u64* w = (const u64*)src;
        if ((w[0] & 0xffffffffffffull) != MAGIC48) return STATUS_NOT_SLEEK;
        if (w[0] >> 48 != VERSION || (w[1] & 0xff) != TOY_CODEC) return STATUS_UNSUPPORTED_FORMAT;
        const u32 flags = (u32)(w[1] >> 24) & 0xff, mode = (u32)(w[1] >> 16) & 0xff;
        if (flags & ~(u32)(FLAG_BIG_ENDIAN | FLAG_FAST | FLAG_MORE | FLAG_EXTENDED)) return STATUS_UNSUPPORTED_FORMAT;
        shape.dtype = (u32)(w[1] >> 8) & 0xff;
        shape.big_endian = flags & FLAG_BIG_ENDIAN;
        shape.count = w[2];
        stream_bytes = w[3];
        if (shape.dtype != DTYPE_F32 && shape.dtype != DTYPE_F64 && shape.dtype != DTYPE_I32) return STATUS_CORRUPT;
        if (mode > MODE_ABS || w[1] >> 32 || !(flags & FLAG_EXTENDED)) return STATUS_CORRUPT;
        if (const u32 status = read_extension(src + HEADER_BYTES, have - HEADER_BYTES)) return status;
        if (have < stream_bytes) return STATUS_TRUNCATED;
        return stream_bytes < shape.bodies_at ? STATUS_CORRUPT : 0;
    }
    DEV u32 read_extension(const u8* extension, u64 have) {
        if (have < EXTENSION_BYTES) return STATUS_TRUNCATED;
        const u32 length = (u32)load(extension, 4, false);
        if (length % ALIGN || length < EXTENSION_BYTES || length > MAX_EXTENSION_BYTES) return STATUS_CORRUPT;
        if (have < length) return STATUS_TRUNCATED;
        if (load(extension + 8, 4, false)) return STATUS_UNSUPPORTED_FORMAT;    // missing values, and later fields
        shape.rank = extension[7];
        if (extension[4] != 1 || extension[5] != 1 || extension[6] || shape.rank < 1 || shape.rank > TOY_MAX_RANK)
            return STATUS_CORRUPT;
        if (load(extension + 12, 4, false) != TOY_SECTION_BYTES) return STATUS_CORRUPT;
        u64 product = 1;
        bool empty = false;
        for (u32 k = 0; k < shape.rank; k++) {
            const u64 len = shape.rank == 1 ? shape.count : load(extension + EXTENSION_BYTES + 8 * k, 8, false);
            shape.lens[k] = len;
            empty = empty || len == 0;
            if (len && (len > 1ull << 58 || product > (1ull << 58) / len)) return STATUS_CORRUPT;
            product *= len ? len : 1;
        }
        if (shape.count != (empty ? 0 : product)) return STATUS_CORRUPT;
        shape.lay_out();
        if (shape.header_bytes != HEADER_BYTES + length) return STATUS_CORRUPT;
        for (u32 k = 0; k < shape.rank; k++)
            if (extension[shape.sides_at() + k] != side_log2_of(shape.rank)) return STATUS_CORRUPT;
        const u8* section = extension + shape.sides_at() + shape.rank;
        for (u32 i = 8; section + i < extension + length; i++)
            if (section[i]) return STATUS_CORRUPT;
        const u64 bits = load(section, 8, false), exponent = bits >> 52;
        if (bits && (bits << 12 || exponent == 0 || exponent > 2046 || !DTYPE_IS_FLOAT(shape.dtype)))
            return STATUS_CORRUPT;
        shape.step = float_of(bits);
        return 0;
    }
    DEV u32 entry(u64 c) const { return ((const u32*)(item.src + shape.entries_at))[c]; }
    static DEV u64 body_bytes(u32 entry) { return 4ull * (entry & 0x3fffffff); }

    // The checksums, and whether the bodies fill the stream.
    DEV bool index_is_valid() const {
        if (((const u64*)item.src)[7] != index_checksum(item.src, shape.bodies_at)) return false;
        u64 at = shape.bodies_at;
        for (u64 c = 0, sum = 0; c < shape.chunks; c++) {
            const u64* record = (const u64*)(item.src + shape.header_bytes + c / GROUP_CHUNKS * GROUP_BYTES);
            if (c % GROUP_CHUNKS == 0 && record[0] != at) return false;
            const u32 kind = entry(c) >> 30;
            const u64 bytes = body_bytes(entry(c)), raw = Tile(shape, c).count * shape.size;
            const u64 most = (u64)shape.size << shape.rank * side_log2_of(shape.rank);
            const bool fits = kind == KIND_PACKED     ? bytes >= 4 && bytes <= most
                              : kind == KIND_RAW      ? bytes == raw
                              : kind == KIND_CONSTANT ? bytes == shape.size
                                                      : false;
            if (!fits || bytes > stream_bytes - at) return false;
            sum += body_checksum(keyed_sum((const u32*)(item.src + at), bytes / 4), (u32)(c % GROUP_CHUNKS));
            at += bytes;
            if ((c + 1) % GROUP_CHUNKS && c + 1 < shape.chunks) continue;
            if (record[1] != sum) return false;
            sum = 0;
        }
        for (u64 i = shape.entries_at + 4 * shape.chunks; i < shape.bodies_at; i++)
            if (item.src[i]) return false;
        return at == stream_bytes;
    }
    DEV const u8* body(u64 chunk) const {
        const u64 group = chunk / GROUP_CHUNKS;
        u64 at = ((const u64*)(item.src + shape.header_bytes + group * GROUP_BYTES))[0];
        for (u64 c = group * GROUP_CHUNKS; c < chunk; c++) at += body_bytes(entry(c));
        return item.src + at;
    }
};

// Stores what is wanted of a tile.
struct Target {
    const DecompressArgs& a;
    const Shared& shared;
    const Tile& tile;

    DEV void store(u64 n, u64 word) const {
        const Shape& shape = shared.shape;
        u64 at[TOY_MAX_RANK], number = tile.number(shape, n) - a.first;
        if (a.rank) {
            tile.place(shape, n, at);
            number = 0;
            for (u32 k = 0; k < a.rank; k++) {
                if (at[k] < a.start[k] || at[k] - a.start[k] >= a.lens[k]) return;
                number = number * a.lens[k] + at[k] - a.start[k];
            }
        }
        if (number < shared.item.count)
            toy::store(shared.item.dst + number * shape.size, shape.size, word, shape.big_endian);
    }
};

// False where a body is not valid.
DEV bool decode_tile(const Shared& shared, const Tile& tile, u64 c, const Target& target) {
    const Shape& shape = shared.shape;
    const u32 kind = shared.entry(c) >> 30, size = shape.size;
    const u64 bytes = Shared::body_bytes(shared.entry(c));
    const u8* body = shared.body(c);
    if (kind != KIND_PACKED) {
        for (u64 n = 0; n < tile.count; n++)
            target.store(n, load(body + (kind == KIND_RAW ? n * size : 0), size, false));
        return true;
    }
    const u32 form = body[0], width = body[1];
    if (form > 1 || (form && shape.step == 0.0) || width > size || body[2] || body[3]) return false;
    const u64 end = 4 + width * tile.count;
    if (bytes != (end + 3) / 4 * 4) return false;
    for (u64 i = end; i < bytes; i++)
        if (body[i]) return false;
    u64 word = 0, of_line = 0;
    for (u64 n = 0; n < tile.count; n++) {
        const u64 code = load(body + 4 + n * width, width, false);
        const u64 difference = code >> 1 ^ (0 - (code & 1));
        const bool begins = n % tile.line(shape) == 0;
        word = ((begins ? of_line : word) + difference) & shape.mask();
        if (begins) of_line = word;
        target.store(n, form ? shape.restored(word) : word);
    }
    return true;
}

DEV void decode(const DecompressArgs& a) {
    SHARED Shared shared;
    for (u32 i = blockIdx.x; i < a.batch.count; i += gridDim.x) {
        if (threadIdx.x == 0) {
            shared.item = item_of(a.batch, i);
            shared.status = shared.read(shared.item.src, shared.item.bytes);
            const Shape& shape = shared.shape;
            const u64 count = shared.item.count;
            if (!shared.status && shape.dtype != a.dtype) shared.status = STATUS_INVALID_ARGUMENT;
            if (!shared.status && !a.rank && (a.first > shape.count || count > shape.count - a.first))
                shared.status = STATUS_OUT_OF_RANGE;
            if (!shared.status && a.batch.items && count != shape.count) shared.status = STATUS_OUT_OF_RANGE;
            if (!shared.status && a.rank && a.rank != shape.rank) shared.status = STATUS_OUT_OF_RANGE;
            if (!shared.status && !shared.index_is_valid()) shared.status = STATUS_CORRUPT;
        }
        __syncthreads();
        for (u64 c = threadIdx.x; !shared.status && c < shared.shape.chunks; c += blockDim.x) {
            const Tile tile(shared.shape, c);
            if (!decode_tile(shared, tile, c, Target{a, shared, tile})) atomicMax(&shared.status, STATUS_CORRUPT);
        }
        __syncthreads();
        if (threadIdx.x == 0) report(a.batch.outcomes + i, shared.shape.count * shared.shape.size, shared.status);
        __syncthreads();
    }
}

}

GRID_KERNEL(toy_list, ListArgs, 96) { list_items(a); }
KERNEL(toy_encode, toy::CompressArgs, TOY_THREADS) { toy::encode(a); }
KERNEL(toy_assemble, toy::CompressArgs, TOY_THREADS) {
    for (u32 i = blockIdx.x; threadIdx.x == 0 && i < a.batch.count; i += gridDim.x) toy::assemble(a, i);
}
KERNEL(toy_decode, toy::DecompressArgs, TOY_THREADS) { toy::decode(a); }
