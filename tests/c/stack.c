/* What calls take of the caller's stack: at most 32 KiB, as sleek.h promises, since threads of 64 KiB and the user-level threads of
 * Argobots call us too. Each call runs on a thread whose stack was painted before; what it touched shows. For optimized builds, at
 * the level SLEEK_SIMD; with an argument all calls are listed. */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <sleek.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STACK = 1 << 20, PROMISED = 32 << 10, PAINT = 0xa5, BYTES = 17 << 20 };

/* H5Z_class2_t and H5Z_FLAG_REVERSE. */
struct filter_class {
    int version, id;
    unsigned encoder, decoder;
    const char *name;
    void *can_apply, *set_local;
    size_t (*filter)(unsigned flags, size_t words, const unsigned *cd, size_t bytes, size_t *room, void **chunk);
};
enum { REVERSE = 0x100 };

enum what { NOTHING, COMPRESS, DECOMPRESS, RANGE, BOX, INSPECT, BOUND, FILTER, UNFILTER, CREATE, WRITE, READ, FLUSH, CALLS };
static const char *const names[] = {"nothing", "compress", "decompress", "decompress_range", "decompress_box", "inspect", "compress_bound",
                                    "the filter, writing", "the filter, reading", "array_create", "array_write", "array_read", "array_flush"};

struct call {
    enum what what;
    sleek_params *params;
    const void *array;
    size_t count, size;
    unsigned char *stream;
    size_t capacity, bytes;
    unsigned char *back;
    unsigned words[16];
    size_t number_of_words;
    void *chunk;
    size_t chunk_bytes;
    sleek_array *compressed;
    int status;
};

/* The long form of cd_values (docs/reference/api.md). */
static void words_of(struct call *c) {
    const sleek_params *p = c->params;
    unsigned *w = c->words, n = 2;
    const unsigned rank = p->rank ? (unsigned)p->rank : 1;
    w[0] = 3 | (unsigned)p->mode << 8 | (unsigned)p->profile << 12 | (unsigned)p->codec << 16;
    w[1] = (unsigned)p->dtype | rank << 9 | (unsigned)c->size << 15;
    if (p->mode != SLEEK_LOSSLESS) memcpy(w + n, &p->bound, 8), n += 2;
    for (unsigned k = 0; k < rank; k++) w[n++] = p->rank ? (unsigned)p->dims[k] : (unsigned)c->count;
    c->number_of_words = n;
}

static void *run(void *argument) {
    static const uint64_t starts[4] = {1, 0, 2, 1};
    struct call *c = argument;
    const struct filter_class *class = sleek_h5_class();
    const size_t raw = c->count * c->size;
    uint64_t start[4], count[4];
    const int rank = c->params && c->params->rank ? c->params->rank : 1;
    sleek_info info;
    size_t done;
    info.struct_size = sizeof info;
    for (int k = 0; c->params && k < rank; k++) {
        const uint64_t dim = c->params->rank ? c->params->dims[k] : c->count;
        start[k] = starts[k], count[k] = dim - starts[k] - (dim > 4);
    }
    switch (c->what) {
    case NOTHING: break;
    case COMPRESS: c->status = sleek_compress(c->params, c->array, c->count, c->stream, c->capacity, &c->bytes, NULL); break;
    case DECOMPRESS: c->status = sleek_decompress(c->stream, c->bytes, c->back, raw, &done, NULL); break;
    case RANGE: c->status = sleek_decompress_range(c->stream, c->bytes, c->count / 3, c->count / 2, c->back, raw, NULL); break;
    case BOX: c->status = sleek_decompress_box(c->stream, c->bytes, rank, start, count, c->back, raw, NULL); break;
    case INSPECT: c->status = sleek_inspect(c->stream, c->bytes, &info); break;
    case BOUND: c->status = sleek_compress_bound(c->params, c->count) ? 0 : 99; break;
    case FILTER:
        c->bytes = class->filter(0, c->number_of_words, c->words, raw, &c->chunk_bytes, &c->chunk);
        c->status = c->bytes ? 0 : 99;
        break;
    case UNFILTER:
        c->status = class->filter(REVERSE, c->number_of_words, c->words, c->bytes, &c->chunk_bytes, &c->chunk) == raw ? 0 : 99;
        break;
    case CREATE: c->status = sleek_array_create(c->params, 4096, &c->compressed); break;
    case WRITE: c->status = sleek_array_write(c->compressed, start, count, c->array, raw); break;
    case READ: c->status = sleek_array_read(c->compressed, start, count, c->back, raw); break;
    case FLUSH: c->status = sleek_array_flush(c->compressed); break;
    case CALLS: break;
    }
    return NULL;
}

static size_t touched(struct call *c) {
    pthread_attr_t attributes;
    pthread_t thread;
    unsigned char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t i = 0;
    if (stack == MAP_FAILED) exit(2);
    memset(stack, PAINT, STACK);
    pthread_attr_init(&attributes);
    if (pthread_attr_setstack(&attributes, stack, STACK) || pthread_create(&thread, &attributes, run, c)) exit(2);
    pthread_join(thread, NULL);
    while (i < STACK && stack[i] == PAINT) i++;
    munmap(stack, STACK);
    return STACK - i;
}

int main(int count, char **arguments) {
    /* The profiles, then zfp with blocks of each number of dimensions. */
    enum { ZFP = SLEEK_SMALL + 1, ZFP_4D = ZFP + 3 };
    static const int types[] = {SLEEK_F32, SLEEK_F64, SLEEK_I16, SLEEK_U8, SLEEK_I64}, sizes[] = {4, 8, 2, 1, 8};
    const char *const level = getenv("SLEEK_SIMD");
    struct call c;
    size_t worst = 0, nothing;
    int failed = 0;
    double *doubles = malloc(BYTES);
    float *floats = malloc(BYTES);
    memset(&c, 0, sizeof c);
    for (size_t i = 0; i < BYTES / sizeof *floats; i++) floats[i] = (float)(i % 50 == 7 ? -9999.0 : 280.0 + sin(i / 30.0));
    for (size_t i = 0; i < BYTES / sizeof *doubles; i++) doubles[i] = floats[i];
    // The first thread binds functions as it ends.
    touched(&c);
    nothing = touched(&c);
    for (int t = 0; t < 5; t++)
        for (int n = 0; n < 2; n++)
            for (int mode = SLEEK_LOSSLESS; mode <= SLEEK_PRECISION; mode++)
                for (int profile = SLEEK_ADAPTIVE; profile <= ZFP_4D; profile++) {
                    const int zfp = profile >= ZFP, is_float = t < 2;
                    const int rank = zfp ? profile - ZFP + 1 : profile == SLEEK_SMALL && n ? 4 : 0;
                    uint64_t dims[4] = {n ? 4 : 5, n ? 4 : 5, n ? 4 : 5};
                    sleek_params params;
                    // What of zfp is ours is not done by vectors.
                    if (level && zfp) continue;
                    if (!is_float && mode != SLEEK_LOSSLESS && !(zfp && t == 4 && mode > SLEEK_REL)) continue;
                    if (zfp ? mode == SLEEK_NOA || mode == SLEEK_REL || t == 2 || t == 3 : mode > SLEEK_REL) continue;
                    sleek_params_init(&params);
                    params.dtype = types[t], params.mode = mode, params.threads = 1, params.bound = mode > SLEEK_REL ? 11 : 1e-3;
                    params.profile = zfp ? SLEEK_ADAPTIVE : profile, params.codec = zfp ? SLEEK_CODEC_ZFP : SLEEK_CODEC_DEFAULT;
                    c.params = &params, c.array = t == 0 ? (void *)floats : doubles, c.size = (size_t)sizes[t], c.count = n ? BYTES / c.size : 1000;
                    if (rank) dims[rank - 1] = c.count, params.dims = dims, params.rank = rank;
                    for (int k = 0; k < rank - 1; k++) dims[rank - 1] /= dims[k];
                    words_of(&c);
                    params.fill_value = -9999.0, params.has_fill_value = is_float;
                    c.capacity = sleek_compress_bound(&params, c.count);
                    c.stream = malloc(c.capacity), c.back = malloc(c.count * c.size);
                    c.chunk_bytes = c.count * c.size, c.chunk = malloc(c.chunk_bytes);
                    memcpy(c.chunk, c.array, c.chunk_bytes);
                    c.compressed = NULL;
                    for (c.what = COMPRESS; c.what < CALLS; c.what++) {
                        size_t bytes;
                        if (c.what == CREATE) params.has_fill_value = 0;
                        if (c.what >= CREATE && (!zfp || n || mode != SLEEK_RATE)) break;
                        bytes = touched(&c) - nothing;
                        if (c.status) printf("%s, type %d, mode %d, profile %d: %s\n", names[c.what], types[t], mode, profile, sleek_last_error()), exit(1);
                        if (bytes > worst) worst = bytes;
                        if (bytes > PROMISED || count > 1)
                            printf("%zu bytes of stack: %s of %zu values, type %d, mode %d, profile %d\n", bytes, names[c.what], c.count, types[t], mode, profile);
                        failed |= bytes > PROMISED;
                    }
                    sleek_array_free(c.compressed);
                    free(c.stream), free(c.back), free(c.chunk);
                }
    printf("stack: %zu bytes at most\n", worst);
    free(doubles), free(floats);
    (void)arguments;
    return failed;
}
