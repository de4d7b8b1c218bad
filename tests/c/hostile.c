// Wrong arguments and damaged streams: each is refused with its own code and a text that names the fault. The codec is the
// library's choice, or the one whose number is given.
#include "check.h"

#include <math.h>

enum { COUNT = 5000 };
static float field[COUNT], restored[COUNT];
static unsigned char stream[4 * COUNT + 1000], copy[sizeof stream];
static size_t stream_bytes;
static int32_t codec;

static sleek_params request(int32_t dtype) {
    sleek_params p = defaults(dtype);
    p.codec = codec;
    return p;
}

static int32_t compress(const sleek_params *p, size_t count) {
    size_t bytes = 1;
    int32_t code = sleek_compress(p, field, count, copy, sizeof copy, &bytes, NULL);
    CHECK((code == SLEEK_OK) == (bytes != 0));
    return code;
}

static int32_t decompress(const void *src, size_t bytes) {
    size_t back = 1;
    int32_t code = sleek_decompress(src, bytes, restored, sizeof restored, &back, NULL);
    CHECK((code == SLEEK_OK) == (back != 0));
    return code;
}

static int32_t range(uint64_t first, size_t count, size_t capacity) {
    return sleek_decompress_range(stream, stream_bytes, first, count, restored, capacity, NULL);
}

static void null_pointers(void) {
    sleek_params p = request(SLEEK_F32);
    sleek_info info = {.struct_size = sizeof info};
    size_t bytes = 1;
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "params", sleek_params_init(NULL));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "params", sleek_params_parse(NULL, "abs=1"));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "text", sleek_params_parse(&p, NULL));
    CHECK(sleek_compress_bound(NULL, 1) == 0 && strstr(sleek_last_error(), "params is NULL"));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "params", sleek_compress(NULL, field, 1, copy, sizeof copy, &bytes, NULL));
    CHECK(bytes == 0);
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "src", sleek_compress(&p, NULL, 1, copy, sizeof copy, &bytes, NULL));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "dst", sleek_compress(&p, field, 1, NULL, sizeof copy, &bytes, NULL));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "dst_bytes", sleek_compress(&p, field, 1, copy, sizeof copy, NULL, NULL));
    CHECK_FAILS(SLEEK_E_BUFFER_TOO_SMALL, "0 bytes", sleek_compress(&p, field, 1, NULL, 0, &bytes, NULL));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "src", sleek_decompress(NULL, 0, restored, sizeof restored, &bytes, NULL));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "dst", sleek_decompress(stream, stream_bytes, NULL, 9, &bytes, NULL));
    CHECK_FAILS(SLEEK_E_BUFFER_TOO_SMALL, "0 bytes", sleek_decompress(stream, stream_bytes, NULL, 0, &bytes, NULL));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "src", sleek_decompress_range(NULL, 9, 0, 1, restored, 4, NULL));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "dst", sleek_decompress_range(stream, stream_bytes, 0, 1, NULL, 4, NULL));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "src", sleek_inspect(NULL, 9, &info));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "info", sleek_inspect(stream, stream_bytes, NULL));
    // What may be NULL.
    size_t empty = sleek_compress_bound(&p, 0);
    CHECK(sleek_compress(&p, NULL, 0, copy, empty, &bytes, NULL) == SLEEK_OK && bytes == empty);
    CHECK(sleek_decompress(copy, empty, NULL, 0, &bytes, NULL) == SLEEK_OK && bytes == 0);
    CHECK(sleek_decompress_range(copy, empty, 0, 0, NULL, 0, NULL) == SLEEK_OK);
    CHECK(sleek_decompress(copy, empty, NULL, 9, &bytes, NULL) == SLEEK_OK && bytes == 0);
    CHECK(sleek_decompress_range(stream, stream_bytes, 0, 0, NULL, 9, NULL) == SLEEK_OK);
    CHECK(sleek_decompress_chunks(stream, stream_bytes, NULL, 0, NULL, 9) == SLEEK_OK);
    const uint64_t chunk = 0;
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "dst", sleek_decompress_chunks(stream, stream_bytes, &chunk, 1, NULL, 9));
    CHECK(sleek_decompress(stream, stream_bytes, restored, sizeof restored, NULL, NULL) == SLEEK_OK);
}

// The stream of `field` for memory that was made for something else.
static void another_type(void) {
    static float as[COUNT];
    size_t bytes = sizeof as;
    CHECK(sleek_decompress(stream, stream_bytes, restored, sizeof restored, NULL, NULL) == SLEEK_OK);
    CHECK(sleek_decompress_as(SLEEK_F32, 0, stream, stream_bytes, as, bytes, NULL) == SLEEK_OK);
    CHECK(memcmp(as, restored, sizeof as) == 0);
    memset(as, 7, sizeof as);
    memset(restored, 7, sizeof restored);
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "holds f32; i32 is expected", sleek_decompress_as(SLEEK_I32, 0, stream, stream_bytes, as, bytes, NULL));
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "big-endian f32 is expected", sleek_decompress_as(SLEEK_F32, 1, stream, stream_bytes, as, bytes, NULL));
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "big_endian 2", sleek_decompress_as(SLEEK_F32, 2, stream, stream_bytes, as, bytes, NULL));
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "dtype", sleek_decompress_as(0, 0, stream, stream_bytes, as, bytes, NULL));
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "20000 bytes; 19996", sleek_decompress_as(SLEEK_F32, 0, stream, stream_bytes, as, bytes - 4, NULL));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "src", sleek_decompress_as(SLEEK_F32, 0, NULL, stream_bytes, as, bytes, NULL));
    CHECK_FAILS(SLEEK_E_TRUNCATED, "", sleek_decompress_as(SLEEK_F32, 0, stream, stream_bytes - 1, as, bytes, NULL));
    // A damaged header is damage, whatever type it names.
    memcpy(copy, stream, stream_bytes);
    sleek_info info = {.struct_size = sizeof info};
    size_t at = 0;
    for (; at < 64; at++) {
        copy[at] ^= SLEEK_F32 ^ SLEEK_I32;
        int32_t code = sleek_decompress_as(SLEEK_I32, 0, copy, stream_bytes, as, bytes, NULL);
        CHECK(code != SLEEK_OK && code != SLEEK_E_INVALID_ARGUMENT && code == sleek_inspect(copy, stream_bytes, &info));
        copy[at] ^= SLEEK_F32 ^ SLEEK_I32;
    }
    CHECK(memcmp(as, restored, sizeof as) == 0);
}

static void requests_in_words(void) {
    sleek_params p = request(SLEEK_F16), before;
    p.threads = 2;
    before = p;
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "unknown", sleek_params_parse(&p, ""));
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "no mode", sleek_params_parse(&p, "profile=fast"));
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "'much'", sleek_params_parse(&p, "much"));
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "'profile=best' is unknown", sleek_params_parse(&p, "abs=1,profile=best"));
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "second mode", sleek_params_parse(&p, "abs=1,rel=1"));
    CHECK_FAILS(SLEEK_E_INVALID_BOUND, "-1", sleek_params_parse(&p, "abs=-1"));
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "unknown", sleek_params_parse(&p, "abs=1,\xff"));
    CHECK(memcmp(&p, &before, sizeof p) == 0);
    p.struct_size = 8;
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "sleek_params", sleek_params_parse(&p, "abs=1"));
}

// `field = value` in otherwise good parameters is refused.
#define REFUSED(code, words, field, value)         \
    do {                                           \
        sleek_params bad = request(SLEEK_F32);    \
        bad.mode = SLEEK_NOA;                      \
        bad.bound = 0.25;                          \
        bad.field = (value);                       \
        CHECK_FAILS(code, words, compress(&bad, COUNT)); \
    } while (0)

static void parameters(void) {
    REFUSED(SLEEK_E_INVALID_ARGUMENT, "dtype code 0", dtype, 0);
    REFUSED(SLEEK_E_INVALID_ARGUMENT, "dtype code 13", dtype, 13);
    REFUSED(SLEEK_E_INVALID_ARGUMENT, "dtype -1", dtype, -1);
    REFUSED(SLEEK_E_UNSUPPORTED_TYPE, "i32", dtype, SLEEK_I32);
    REFUSED(SLEEK_E_INVALID_ARGUMENT, "mode 6", mode, 6);
    REFUSED(SLEEK_E_INVALID_ARGUMENT, "codec 99", codec, 99);
    REFUSED(SLEEK_E_INVALID_ARGUMENT, "codec 2 (ratio) existed", codec, 2);
    REFUSED(SLEEK_E_INVALID_ARGUMENT, "profile 3", profile, 3);
    REFUSED(SLEEK_E_INVALID_ARGUMENT, "device 3", device, 3);
    sleek_params on_gpu = request(SLEEK_F32);
    on_gpu.device = SLEEK_CUDA;
    const int on_a_gpu = compress(&on_gpu, COUNT);
    CHECK(on_a_gpu == SLEEK_OK || on_a_gpu == SLEEK_E_DEVICE);    // as the machine has one or not
    REFUSED(SLEEK_E_INVALID_ARGUMENT, "threads -2", threads, -2);
    REFUSED(SLEEK_E_INVALID_ARGUMENT, "has_fill_value 2", has_fill_value, 2);
    REFUSED(SLEEK_E_INVALID_ARGUMENT, "big_endian -1", big_endian, -1);
    REFUSED(SLEEK_E_INVALID_ARGUMENT, "reserved", reserved[1], 1);
    REFUSED(SLEEK_E_INVALID_ARGUMENT, "codec -1", codec, -1);
    REFUSED(SLEEK_E_INVALID_ARGUMENT, "codec 256", codec, 256);
    REFUSED(SLEEK_E_INVALID_ARGUMENT, "rank -1; 1 to 32", rank, -1);
    REFUSED(SLEEK_E_INVALID_ARGUMENT, "rank 33; 1 to 32", rank, 33);
    REFUSED(SLEEK_E_NULL_POINTER, "dims is NULL", rank, 3);
    REFUSED(SLEEK_E_INVALID_ARGUMENT, "missing_count -1", missing_count, -1);
    REFUSED(SLEEK_E_INVALID_ARGUMENT, "missing_count 5; at most 4", missing_count, 5);
    REFUSED(SLEEK_E_INVALID_BOUND, "-1", bound, -1.0);
    REFUSED(SLEEK_E_INVALID_BOUND, "NaN", bound, (double)NAN);
    REFUSED(SLEEK_E_INVALID_BOUND, "inf", bound, (double)INFINITY);
    REFUSED(SLEEK_E_INVALID_ARGUMENT, "value range -1", range, -1.0);
    REFUSED(SLEEK_E_INVALID_ARGUMENT, "value range NaN", range, (double)NAN);
    REFUSED(SLEEK_E_INVALID_ARGUMENT, "struct_size 0", struct_size, 0);
    REFUSED(SLEEK_E_INVALID_ARGUMENT, "struct_size 20", struct_size, 20);
    REFUSED(SLEEK_E_INVALID_ARGUMENT, "struct_size", struct_size, (size_t)-8);
}

// What a codec cannot do, with what it can.
static void codecs(void) {
    sleek_params p = request(SLEEK_F16);
    p.codec = SLEEK_CODEC_ZFP;
    CHECK_FAILS(SLEEK_E_UNSUPPORTED_TYPE, "codec zfp takes f32, f64, i32, i64; f16 was asked for", compress(&p, COUNT));
    p = request(SLEEK_F32);
    p.codec = SLEEK_CODEC_ZFP, p.mode = SLEEK_REL, p.bound = 0.25;
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "codec zfp has the modes lossless, abs, rate, precision; rel was asked for", compress(&p, COUNT));
    p.codec = SLEEK_CODEC_SLEEK, p.mode = SLEEK_RATE, p.bound = 8;
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "codec sleek has the modes lossless, abs, noa, rel; rate was asked for", compress(&p, COUNT));
}

// Dimensions that are not the array's, and missing values that its elements cannot have.
static void dimensions_and_missing_values(void) {
    static const uint64_t OTHER[] = {50, 101}, HUGE_ONES[] = {1ull << 40, 1ull << 40}, HIDDEN[] = {0, UINT64_MAX, 2};
    sleek_params p = request(SLEEK_F32);
    p.rank = 2, p.dims = OTHER;
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "50x101 are 5050 elements; the array has 5000", compress(&p, COUNT));
    CHECK(sleek_compress_bound(&p, COUNT) == 0 && sleek_compress_bound(&p, 5050) > 0);
    p.dims = HUGE_ONES;
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "1099511627776x1099511627776", compress(&p, COUNT));
    p.rank = 3, p.dims = HIDDEN;
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "more elements than fit in memory", compress(&p, 0));

    p = request(SLEEK_F16);
    p.missing_count = 1, p.missing[0] = 0x10000;
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "missing value 0x10000", compress(&p, COUNT));
    p = request(SLEEK_F32);
    p.missing_count = 4, p.has_fill_value = 1;
    for (int k = 0; k < 4; k++) p.missing[k] = 7 + (uint64_t)k;
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "5 missing values", compress(&p, COUNT));
}

// Boxes and dimensions of a stream of rank 2.
static void boxes(void) {
    static const uint64_t LENS[] = {50, 100}, ZERO[] = {0, 0, 0}, ONE[] = {1, 1, 1};
    static const uint64_t END[] = {50, 0}, FAR_OFF[] = {UINT64_MAX, 0};
    sleek_params p = request(SLEEK_F32);
    p.rank = 2, p.dims = LENS;
    size_t bytes = 0;
    CHECK(sleek_compress(&p, field, COUNT, copy, sizeof copy, &bytes, NULL) == SLEEK_OK);
    const size_t size = sizeof restored;
    CHECK(sleek_decompress_box(copy, bytes, 2, ZERO, LENS, restored, size, NULL) == SLEEK_OK);
    CHECK(memcmp(restored, field, size) == 0);
    CHECK(sleek_decompress_box(copy, bytes, 2, END, ZERO, NULL, 0, NULL) == SLEEK_OK);
    CHECK(sleek_decompress_box(copy, bytes, 2, END, ZERO, NULL, 9, NULL) == SLEEK_OK);
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "src", sleek_decompress_box(NULL, bytes, 2, ZERO, ONE, restored, size, NULL));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "start", sleek_decompress_box(copy, bytes, 2, NULL, ONE, restored, size, NULL));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "count", sleek_decompress_box(copy, bytes, 2, ZERO, NULL, restored, size, NULL));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "dst", sleek_decompress_box(copy, bytes, 2, ZERO, ONE, NULL, 4, NULL));
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "rank 0; 1 to 32",
                sleek_decompress_box(copy, bytes, 0, ZERO, ONE, restored, size, NULL));
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "rank 33; 1 to 32",
                sleek_decompress_box(copy, bytes, 33, ZERO, ONE, restored, size, NULL));
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "rank 3 in an array of rank 2 (50x100)",
                sleek_decompress_box(copy, bytes, 3, ZERO, ONE, restored, size, NULL));
    CHECK_FAILS(SLEEK_E_OUT_OF_RANGE, "dimension 0; the array (50x100) has 50",
                sleek_decompress_box(copy, bytes, 2, END, ONE, restored, size, NULL));
    CHECK_FAILS(SLEEK_E_OUT_OF_RANGE, "dimension 0",
                sleek_decompress_box(copy, bytes, 2, FAR_OFF, LENS, restored, size, NULL));
    CHECK_FAILS(SLEEK_E_BUFFER_TOO_SMALL, "3 bytes",
                sleek_decompress_box(copy, bytes, 2, ZERO, ONE, restored, 3, NULL));
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "overlap",
                sleek_decompress_box(copy, bytes, 2, ZERO, ONE, copy + 8, 4, NULL));
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "stream",
                sleek_decompress_box(copy, bytes, 2, ZERO, ONE, restored, size, &bytes));
    CHECK_FAILS(SLEEK_E_TRUNCATED, "", sleek_decompress_box(copy, bytes - 1, 2, ZERO, ONE, restored, size, NULL));

    size_t coarse = 1;
    CHECK(sleek_decompress_coarse(copy, bytes, 1, 0, NULL, NULL, restored, size, &coarse, NULL) == SLEEK_OK);
    CHECK(coarse == 25 * 50 * 4 && memcmp(restored, field, 4) == 0);
    for (size_t i = 0; i < 25 * 50; i++) CHECK(memcmp(restored + i, field + i / 50 * 200 + i % 50 * 2, 4) == 0);
    CHECK(sleek_decompress_coarse(copy, bytes, 1, 2, ONE, LENS, NULL, 0, NULL, NULL) == SLEEK_E_OUT_OF_RANGE);
    CHECK(sleek_decompress_coarse(copy, bytes, 1, 2, ONE, ONE, NULL, 0, &coarse, NULL) == SLEEK_OK && coarse == 0);
    CHECK(sleek_decompress_coarse(copy, bytes, 1, 2, ONE, ONE, NULL, 9, &coarse, NULL) == SLEEK_OK && coarse == 0);
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "src",
                sleek_decompress_coarse(NULL, bytes, 1, 2, ZERO, ONE, restored, size, &coarse, NULL));
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "rank 0; 1 to 32",
                sleek_decompress_coarse(copy, bytes, 1, 0, ZERO, NULL, restored, size, &coarse, NULL));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "count",
                sleek_decompress_coarse(copy, bytes, 1, 2, ZERO, NULL, restored, size, &coarse, NULL));
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "level 64; 0 to 63",
                sleek_decompress_coarse(copy, bytes, 64, 2, ZERO, ONE, restored, size, &coarse, NULL));
    CHECK_FAILS(SLEEK_E_BUFFER_TOO_SMALL, "3 bytes",
                sleek_decompress_coarse(copy, bytes, 9, 0, NULL, NULL, restored, 3, &coarse, NULL));
    CHECK_FAILS(SLEEK_E_TRUNCATED, "",
                sleek_decompress_coarse(copy, bytes - 1, 1, 0, NULL, NULL, restored, size, &coarse, NULL));

    uint64_t dims[32] = {0};
    int32_t rank = 7;
    static sleek_chunk_range ranges[4];
    size_t chunks = 7;
    CHECK(sleek_chunk_ranges(copy, bytes, ranges, 4, &chunks) == SLEEK_OK && chunks >= 1 && chunks <= 4);
    uint64_t numbers = 0;
    for (size_t i = 0; i < chunks; i++) numbers += ranges[i].count + ranges[i].missing + ranges[i].nan;
    CHECK(numbers == COUNT && ranges[0].least >= -1.001 && ranges[0].most <= 1.001 && ranges[0].least < ranges[0].most);
    CHECK_FAILS(SLEEK_E_BUFFER_TOO_SMALL, "room for 0 chunks", sleek_chunk_ranges(copy, bytes, NULL, 0, &chunks));
    CHECK(chunks >= 1);
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "ranges", sleek_chunk_ranges(copy, bytes, NULL, 4, &chunks));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "count", sleek_chunk_ranges(copy, bytes, ranges, 4, NULL));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "src", sleek_chunk_ranges(NULL, bytes, ranges, 4, &chunks));
    CHECK_FAILS(SLEEK_E_TRUNCATED, "", sleek_chunk_ranges(copy, bytes - 1, ranges, 4, &chunks));
    CHECK(sleek_decompress_chunks(copy, bytes, ZERO, 1, restored, size) == SLEEK_OK);
    CHECK(sleek_decompress_chunks(copy, bytes, NULL, 0, NULL, 0) == SLEEK_OK);
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "src", sleek_decompress_chunks(NULL, bytes, ZERO, 1, restored, size));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "chunks", sleek_decompress_chunks(copy, bytes, NULL, 1, restored, size));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "dst", sleek_decompress_chunks(copy, bytes, ZERO, 1, NULL, size));
    CHECK_FAILS(SLEEK_E_OUT_OF_RANGE, "chunk 50", sleek_decompress_chunks(copy, bytes, LENS, 1, restored, size));
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "must rise", sleek_decompress_chunks(copy, bytes, ZERO, 2, restored, size));
    CHECK_FAILS(SLEEK_E_BUFFER_TOO_SMALL, "3 bytes", sleek_decompress_chunks(copy, bytes, ZERO, 1, restored, 3));
    CHECK(sleek_chunk_sides(copy, bytes, dims, 32, &rank) == SLEEK_OK && dims[0] > 0 && (rank == 0 || rank == 2));
    CHECK_FAILS(SLEEK_E_BUFFER_TOO_SMALL, "room for 0 sides", sleek_chunk_sides(copy, bytes, dims, 0, &rank));
    CHECK(rank == 0);
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "sides", sleek_chunk_sides(copy, bytes, NULL, 4, &rank));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "rank", sleek_chunk_sides(copy, bytes, dims, 4, NULL));
    CHECK(sleek_inspect_dims(copy, bytes, dims, 32, &rank) == SLEEK_OK && rank == 2 && dims[0] == 50 && dims[1] == 100);
    CHECK_FAILS(SLEEK_E_BUFFER_TOO_SMALL, "room for 1 dims", sleek_inspect_dims(copy, bytes, dims, 1, &rank));
    CHECK(rank == 2 && sleek_inspect_dims(copy, bytes, NULL, 0, &rank) == SLEEK_E_BUFFER_TOO_SMALL && rank == 2);
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "dims", sleek_inspect_dims(copy, bytes, NULL, 2, &rank));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "rank", sleek_inspect_dims(copy, bytes, dims, 2, NULL));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "src", sleek_inspect_dims(NULL, bytes, dims, 2, &rank));
    CHECK(rank == 0);
    // Without dimensions there is one.
    CHECK(sleek_inspect_dims(stream, stream_bytes, dims, 32, &rank) == SLEEK_OK && rank == 1 && dims[0] == COUNT);
    CHECK(sleek_decompress_box(stream, stream_bytes, 1, ONE, ONE, restored, size, NULL) == SLEEK_OK);
    CHECK(memcmp(restored, field + 1, 4) == 0);
    // Damage of the extension.
    for (size_t i = 0; i < bytes; i++) {
        copy[i] ^= (unsigned char)(1 << i % 8);
        CHECK(decompress(copy, bytes) != SLEEK_OK);
        copy[i] ^= (unsigned char)(1 << i % 8);
    }
}

// A struct of an older header has its last fields missing, one of a newer header has more.
static void struct_sizes(void) {
    struct { sleek_params known; uint64_t unknown[2]; } newer = {request(SLEEK_F32), {0, 0}};
    newer.known.struct_size = sizeof newer;
    CHECK(compress(&newer.known, COUNT) == SLEEK_OK);
    newer.unknown[1] = 1ull << 40;
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "is older than the header", compress(&newer.known, COUNT));

    sleek_params older = request(SLEEK_F32);
    older.struct_size = offsetof(sleek_params, codec);
    memset(&older.codec, 0xff, sizeof older - older.struct_size);
    CHECK(compress(&older, COUNT) == SLEEK_OK);
    CHECK(codec != 0 || memcmp(copy, stream, stream_bytes) == 0);

    struct { sleek_info known; uint64_t unknown; } info = {.known = {.struct_size = sizeof info}, .unknown = 7};
    CHECK(sleek_inspect(stream, stream_bytes, &info.known) == SLEEK_OK);
    CHECK(info.known.count == COUNT && info.known.struct_size == sizeof info && info.unknown == 0);
    info.known.struct_size = offsetof(sleek_info, bound);
    info.known.bound = 42;
    CHECK(sleek_inspect(stream, stream_bytes, &info.known) == SLEEK_OK && info.known.bound == 42);
    info.known.struct_size = 8;
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "struct_size 8", sleek_inspect(stream, stream_bytes, &info.known));
}

static void buffers(void) {
    sleek_params p = request(SLEEK_F32);
    size_t bytes = 1;
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "elements", compress(&p, SIZE_MAX));
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "address space", compress(&p, SIZE_MAX / 4));
    CHECK(sleek_compress_bound(&p, SIZE_MAX) == 0 && sleek_compress_bound(&p, SIZE_MAX / 4) == 0);
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "address space",
                sleek_compress(&p, field, COUNT, copy, SIZE_MAX, &bytes, NULL));
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "overlap",
                sleek_compress(&p, field, COUNT, field, sizeof field, &bytes, NULL));
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "overlap",
                sleek_compress(&p, field, COUNT, field + COUNT - 1, 4, &bytes, NULL));
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "overlap",
                sleek_decompress(stream, stream_bytes, stream + stream_bytes - 1, 1, &bytes, NULL));
    CHECK(bytes == 0);
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "stream",
                sleek_compress(&p, field, COUNT, copy, sizeof copy, &bytes, &bytes));
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "stream",
                sleek_decompress(stream, stream_bytes, restored, sizeof restored, &bytes, &bytes));
    // Side by side is no overlap.
    memcpy(copy, stream, stream_bytes);
    CHECK(sleek_decompress(copy, stream_bytes, restored, sizeof restored, &bytes, NULL) == SLEEK_OK);
    // One byte less than needed, in either direction; nothing behind the destination changes.
    for (size_t capacity = 0; capacity < stream_bytes; capacity += 1 + capacity / 3) {
        memset(copy, 0xa5, sizeof copy);
        int32_t code = sleek_compress(&p, field, COUNT, copy, capacity, &bytes, NULL);
        CHECK(code == SLEEK_E_BUFFER_TOO_SMALL && bytes == 0);
        for (size_t i = capacity; i < sizeof copy; i++) CHECK(copy[i] == 0xa5);
    }
    CHECK(sleek_compress(&p, field, COUNT, copy, stream_bytes, &bytes, NULL) == SLEEK_OK && bytes == stream_bytes);
    CHECK_FAILS(SLEEK_E_BUFFER_TOO_SMALL, "20000",
                sleek_decompress(stream, stream_bytes, restored, sizeof restored - 1, &bytes, NULL));
}

static void ranges(void) {
    CHECK(range(COUNT - 1, 1, 4) == SLEEK_OK && restored[0] == field[COUNT - 1]);
    CHECK(range(COUNT, 0, 0) == SLEEK_OK);
    CHECK_FAILS(SLEEK_E_OUT_OF_RANGE, "5000", range(COUNT, 1, 4));
    CHECK_FAILS(SLEEK_E_OUT_OF_RANGE, "5000", range(COUNT + 1, 0, 4));
    CHECK_FAILS(SLEEK_E_OUT_OF_RANGE, "5000", range(0, COUNT + 1, sizeof restored));
    CHECK_FAILS(SLEEK_E_OUT_OF_RANGE, "5000", range(UINT64_MAX, 2, sizeof restored));
    CHECK_FAILS(SLEEK_E_OUT_OF_RANGE, "5000", range(1, SIZE_MAX, sizeof restored));
    CHECK_FAILS(SLEEK_E_BUFFER_TOO_SMALL, "7", range(0, 2, 7));
}

static void damage(void) {
    CHECK(decompress(stream, stream_bytes) == SLEEK_OK);
    CHECK_FAILS(SLEEK_E_NOT_SLEEK, "first bytes", decompress(field, sizeof field));
    CHECK_FAILS(SLEEK_E_NOT_SLEEK, "", decompress(stream, 0));
    CHECK_FAILS(SLEEK_E_CORRUPT, "follow", decompress(stream, stream_bytes + 1));
    for (size_t bytes = 6; bytes < stream_bytes; bytes++) CHECK(decompress(stream, bytes) == SLEEK_E_TRUNCATED);
    memcpy(copy, stream, stream_bytes);
    for (size_t i = 0; i < stream_bytes; i++) {
        copy[i] ^= (unsigned char)(1 << i % 8);
        CHECK(decompress(copy, stream_bytes) != SLEEK_OK);
        copy[i] = stream[i];
    }
    copy[6] = 2;
    CHECK_FAILS(SLEEK_E_UNSUPPORTED_FORMAT, "version 2", decompress(copy, stream_bytes));
}

static void texts(void) {
    CHECK(strcmp(sleek_version(), SLEEK_VERSION) == 0);
    for (int32_t code = -1; code < 100; code++) CHECK(strlen(sleek_strerror(code)) > 4);
    CHECK(strcmp(sleek_strerror(SLEEK_OK), "no error") == 0);
    CHECK(strcmp(sleek_strerror(12345), sleek_strerror(-1)) == 0);
    CHECK(strcmp(sleek_strerror(SLEEK_E_CORRUPT), sleek_strerror(SLEEK_E_TRUNCATED)) != 0);
    decompress(field, sizeof field);
    const char *text = sleek_last_error();
    CHECK(decompress(stream, stream_bytes) == SLEEK_OK && strstr(text, "not a SLEEK stream") == text);
}

int main(int argc, char **argv) {
    codec = argc > 1 ? atoi(argv[1]) : 0;
    CHECK(strcmp(sleek_last_error(), "") == 0);
    for (int i = 0; i < COUNT; i++) field[i] = (float)sin(i * 0.01);
    sleek_params p = request(SLEEK_F32);
    CHECK(sleek_compress(&p, field, COUNT, stream, sizeof stream, &stream_bytes, NULL) == SLEEK_OK);
    null_pointers();
    another_type();
    requests_in_words();
    parameters();
    codecs();
    dimensions_and_missing_values();
    struct_sizes();
    buffers();
    ranges();
    boxes();
    damage();
    texts();
    puts("every fault is refused");
    return 0;
}
