// Every element type in every mode that it takes, through the C interface: round trip, bound, ranges, inspection.
#include "check.h"

#include <math.h>

static const size_t SIZE[] = {0, 4, 8, 2, 2, 1, 2, 4, 8, 1, 2, 4, 8};

// An element's bits, whatever its byte order.
static uint64_t bits(const unsigned char *p, size_t size, int big) {
    uint64_t word = 0;
    for (size_t i = 0; i < size; i++) word |= (uint64_t)p[big ? size - 1 - i : i] << (8 * i);
    return word;
}

static void put(unsigned char *p, size_t size, int big, uint64_t word) {
    for (size_t i = 0; i < size; i++) p[big ? size - 1 - i : i] = (unsigned char)(word >> (8 * i));
}

// A float's value from its bits: sign, exponent and mantissa fields of the four types.
static double value(uint64_t word, int32_t dtype) {
    static const int MANTISSA[] = {0, 23, 52, 10, 7}, BIAS[] = {0, 127, 1023, 15, 127};
    int m = MANTISSA[dtype], b = BIAS[dtype], w = 8 * (int)SIZE[dtype];
    uint64_t fraction = word & ((1ull << m) - 1), exponent = (word >> m) & (2ull * (unsigned)b + 1);
    double sign = word >> (w - 1) ? -1.0 : 1.0;
    if (exponent == 2ull * (unsigned)b + 1) return fraction ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0) return sign * ldexp((double)fraction, 1 - b - m);
    return sign * ldexp((double)(fraction | 1ull << m), (int)exponent - b - m);
}

// A walk that is smooth for most of the array, with a constant stretch, and NaN, infinities and zeros in between.
static void fill(unsigned char *data, size_t count, int32_t dtype, int big) {
    static const uint64_t ONE[] = {0, 0x3f800000, 0x3ff0000000000000, 0x3c00, 0x3f80};
    static const int WALK[] = {0, 16, 45, 7, 5};
    uint64_t random = 88172645463325252ull, at = 0;
    for (size_t i = 0; i < count; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        if (i % 50000 < 30000) at += random % 3;
        uint64_t word = at;
        if (dtype <= SLEEK_BF16) {
            word = ONE[dtype] + ((at % 61) << (WALK[dtype] - 5)) + (random >> 60);
            if (random >> 32 & 1) word |= 1ull << (8 * SIZE[dtype] - 1);
            if (i % 997 == 5) word = (ONE[dtype] | ONE[dtype] << 1);                    // infinity or NaN, by type
            if (i % 991 == 7) word = (uint64_t)(i % 2) << (8 * SIZE[dtype] - 1);       // a zero of either sign
        }
        put(data + i * SIZE[dtype], SIZE[dtype], big, word);
    }
}

// The allowance for a value.
static double allowed(const sleek_params *p, double range, double v) {
    switch (p->mode) {
    case SLEEK_ABS: return p->bound;
    case SLEEK_NOA: return p->bound * range;
    default: return p->bound * fabs(v);
    }
}

static void compare(const sleek_params *p, const unsigned char *a, const unsigned char *b, size_t count) {
    size_t size = SIZE[p->dtype];
    if (p->mode == SLEEK_LOSSLESS) {
        CHECK(memcmp(a, b, count * size) == 0);
        return;
    }
    double low = (double)INFINITY, high = -(double)INFINITY;
    for (size_t i = 0; i < count; i++) {
        double v = value(bits(a + i * size, size, p->big_endian), p->dtype);
        if (isfinite(v)) low = fmin(low, v), high = fmax(high, v);
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t v = bits(a + i * size, size, p->big_endian), r = bits(b + i * size, size, p->big_endian);
        double x = value(v, p->dtype);
        if (!isfinite(x)) CHECK(v == r);
        else CHECK(fabs(x - value(r, p->dtype)) <= allowed(p, high - low, x));
    }
}

static void inspect(const sleek_params *p, const void *stream, size_t bytes, size_t count) {
    sleek_info info;
    memset(&info, 0xff, sizeof info);
    info.struct_size = sizeof info;
    CHECK(sleek_inspect(stream, bytes, &info) == SLEEK_OK);
    CHECK(info.struct_size == sizeof info && info.format_version == 1);
    CHECK(info.codec == (p->codec ? p->codec : SLEEK_CODEC_SLEEK));
    CHECK(info.dtype == p->dtype && info.element_bytes == (int32_t)SIZE[p->dtype]);
    CHECK(info.mode == p->mode && info.big_endian == p->big_endian);
    // Codec interp has one profile, which is in the stream whatever was asked.
    CHECK(info.profile == (info.codec == SLEEK_CODEC_INTERP ? SLEEK_SMALL : p->profile));
    CHECK(info.count == count && info.raw_bytes == count * SIZE[p->dtype] && info.stream_bytes == bytes);
    if (info.codec == SLEEK_CODEC_SLEEK) {
        uint64_t chunks = info.chunks_packed + info.chunks_raw + info.chunks_constant + info.chunks_masked;
        CHECK(chunks == (info.raw_bytes + 16383) / 16384);
    }
    uint64_t dims[32];
    int32_t rank = 0;
    CHECK(sleek_inspect_dims(stream, bytes, dims, 32, &rank) == SLEEK_OK);
    CHECK(rank == info.rank && rank == (p->rank ? p->rank : 1));
    for (int32_t k = 0; k < p->rank; k++) CHECK(dims[k] == p->dims[k]);
    if (p->rank == 0) CHECK(dims[0] == count);
    CHECK(info.missing_count == (uint64_t)p->missing_count);
    CHECK(memcmp(info.missing, p->missing, sizeof info.missing) == 0);
    if (p->mode == SLEEK_ABS) CHECK(info.bound == p->bound && info.abs_bound <= p->bound);
}

static void ranges(const sleek_params *p, const void *stream, size_t bytes, const unsigned char *whole, size_t count) {
    size_t size = SIZE[p->dtype], chunk = 16384 / size;
    size_t firsts[] = {0, 1, chunk - 1, chunk, count / 2, count - 1}, counts[] = {1, 3, chunk, chunk + 1, count};
    for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            size_t first = firsts[f], n = counts[c];
            if (first >= count || n > count - first) continue;
            unsigned char *part = malloc(n * size);
            CHECK(sleek_decompress_range(stream, bytes, first, n, part, n * size, NULL) == SLEEK_OK);
            CHECK(memcmp(part, whole + first * size, n * size) == 0);
            free(part);
        }
}

// Boxes of an array of rank 3, beside what the whole has there.
static void boxes(const sleek_params *p, const void *stream, size_t bytes, const unsigned char *whole) {
    static const uint64_t BOXES[][6] = {{0, 0, 0, 1, 1, 1},    {1, 2, 3, 5, 1, 4},   {0, 0, 0, 23, 29, 31},
                                        {22, 28, 30, 1, 1, 1}, {3, 0, 0, 2, 29, 31}, {7, 9, 30, 16, 20, 1}};
    size_t size = SIZE[p->dtype];
    for (size_t b = 0; b < sizeof BOXES / sizeof *BOXES; b++) {
        const uint64_t *start = BOXES[b], *count = start + 3;
        size_t box_bytes = count[0] * count[1] * count[2] * size;
        unsigned char *part = malloc(box_bytes), *at = part;
        CHECK(sleek_decompress_box(stream, bytes, 3, start, count, part, box_bytes, NULL) == SLEEK_OK);
        for (uint64_t i = 0; i < count[0]; i++)
            for (uint64_t j = 0; j < count[1]; j++, at += count[2] * size) {
                uint64_t element = ((start[0] + i) * p->dims[1] + start[1] + j) * p->dims[2] + start[2];
                CHECK(memcmp(at, whole + element * size, count[2] * size) == 0);
            }
        free(part);
    }
}

// One array there and back, in buffers of exactly the promised size, so that a memory checker sees a byte too many.
static void roundtrip(sleek_params p, size_t count) {
    size_t size = SIZE[p.dtype], raw = count * size, bytes = 1, again = 1, back = 1;
    size_t bound = sleek_compress_bound(&p, count);
    if (p.codec <= SLEEK_CODEC_SLEEK) CHECK(bound <= raw + raw / 7000 + 128 + (p.rank || p.missing_count || p.mode ? 304 : 0));
    CHECK(bound >= raw);
    unsigned char *src = malloc(raw + 1), *stream = malloc(bound), *second = malloc(bound), *dst = malloc(raw + 1);
    fill(src + 1, count, p.dtype, p.big_endian);
    CHECK(sleek_compress(&p, src + 1, count, stream, bound, &bytes, NULL) == SLEEK_OK);
    CHECK(bytes >= 64 && bytes <= bound);
    p.threads = 3;
    CHECK(sleek_compress(&p, src + 1, count, second, bound, &again, NULL) == SLEEK_OK);
    CHECK(again == bytes && memcmp(stream, second, bytes) == 0);
    p.threads = 0;
    CHECK(sleek_decompress(stream, bytes, dst + 1, raw, &back, NULL) == SLEEK_OK);
    CHECK(back == raw);
    compare(&p, src + 1, dst + 1, count);
    inspect(&p, stream, bytes, count);
    if (count) ranges(&p, stream, bytes, dst + 1, count);
    if (p.rank == 3) boxes(&p, stream, bytes, dst + 1);
    free(src), free(stream), free(second), free(dst);
}

// A request in words sets what it is about, back to the default too, and nothing else.
static void in_words(void) {
    sleek_params p = defaults(SLEEK_F64), q = defaults(SLEEK_F64);
    p.threads = q.threads = 2;
    CHECK(sleek_params_parse(&p, "noa=0.25, range=50, fill=-9999, profile=fast") == SLEEK_OK);
    q.mode = SLEEK_NOA, q.bound = 0.25, q.range = 50, q.has_fill_value = 1, q.fill_value = -9999, q.profile = SLEEK_FAST;
    CHECK(memcmp(&p, &q, sizeof p) == 0);
    CHECK(sleek_params_parse(&p, "abs=1e-3") == SLEEK_OK);
    q = defaults(SLEEK_F64);
    q.threads = 2, q.mode = SLEEK_ABS, q.bound = 1e-3;
    CHECK(memcmp(&p, &q, sizeof p) == 0);
    CHECK(sleek_params_parse(&p, "abs=1e-3,no-fill") == SLEEK_OK);
    q.find_fill = -1;
    CHECK(memcmp(&p, &q, sizeof p) == 0);
    p.codec = q.codec = SLEEK_CODEC_INTERP, p.missing[0] = q.missing[0] = 77, p.missing[1] = q.missing[1] = 78;
    p.missing_count = q.missing_count = 2;
    CHECK(sleek_params_parse(&p, "abs=1e-3") == SLEEK_OK && memcmp(&p, &q, sizeof p) == 0);
    CHECK(sleek_params_parse(&p, "abs=1e-3,codec=sleek,fill=0x7fc00000") == SLEEK_OK);
    q.codec = SLEEK_CODEC_SLEEK, q.missing[0] = 0x7fc00000, q.missing_count = 1;
    CHECK(memcmp(&p, &q, sizeof p) == 0);
    // Of a second number it takes the element of dtype.
    CHECK(sleek_params_parse(&p, "abs=1e-3,codec=sleek,fill=-9999,fill=1") == SLEEK_OK);
    q.missing[0] = 0x3ff0000000000000, q.fill_value = -9999, q.has_fill_value = 1;
    CHECK(memcmp(&p, &q, sizeof p) == 0);
    p.dtype = 0;
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "set dtype before", sleek_params_parse(&p, "abs=1e-3,fill=-9999,fill=1"));
    p.dtype = SLEEK_F64, p.has_fill_value = q.has_fill_value = 0, p.fill_value = q.fill_value = 0;
    p.codec = SLEEK_CODEC_DEFAULT, p.missing_count = 0, memset(p.missing, 0, sizeof p.missing);
    q.find_fill = 2;
    CHECK(sleek_compress_bound(&q, 1) == 0 && strstr(sleek_last_error(), "find_fill 2"));
    roundtrip(p, 20000);
}

// Every element type in every mode with the codec of this number, as far as it takes them; three dimensions; missing
// values.
static void with_codec(int32_t codec) {
    static const size_t COUNTS[] = {0, 1, 2047, 2048, 2049, 20000, 300001};
    static const uint64_t DIMS[] = {23, 29, 31};
    static const uint64_t NAN_BITS[] = {0, 0x7fc00000, 0x7ff8000000000000, 0x7e00, 0x7fc0};
    int taken = 0;
    for (int32_t dtype = SLEEK_F32; dtype <= SLEEK_U64; dtype++)
        for (int32_t mode = SLEEK_LOSSLESS; mode <= (dtype <= SLEEK_BF16 ? SLEEK_REL : SLEEK_LOSSLESS); mode++) {
            sleek_params p = defaults(dtype);
            p.codec = codec, p.mode = mode, p.bound = 1.0 / 128;
            // What another codec does not take it refuses; SLEEK takes all.
            if (sleek_compress_bound(&p, 1) == 0) {
                CHECK(codec > SLEEK_CODEC_SLEEK && strstr(sleek_last_error(), "was asked for"));
                continue;
            }
            taken++;
            for (size_t c = 0; c < sizeof COUNTS / sizeof *COUNTS; c++) {
                p.big_endian = c % 2;
                // Others have profiles of their own, or none.
                p.profile = c % 3 == 2 && codec <= SLEEK_CODEC_SLEEK ? SLEEK_FAST : SLEEK_ADAPTIVE;
                roundtrip(p, COUNTS[c]);
            }
            p.dims = DIMS, p.rank = 3;
            roundtrip(p, 23 * 29 * 31);
            if (dtype > SLEEK_BF16) continue;
            p.missing_count = 1, p.missing[0] = NAN_BITS[dtype];
            roundtrip(p, 23 * 29 * 31);
        }
    CHECK(taken > 0);
}

// Arguments are numbers of codecs; none means the default.
int main(int argc, char **argv) {
    in_words();
    if (argc < 2) with_codec(SLEEK_CODEC_DEFAULT);
    for (int i = 1; i < argc; i++) with_codec(atoi(argv[i]));
    // No call failed since.
    if (argc < 2) CHECK(strstr(sleek_last_error(), "find_fill 2"));
    puts("round trips are fine");
    return 0;
}
