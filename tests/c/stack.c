/* What calls take of the caller's stack: at most 32 KiB, as sleek.h promises, since threads of 64 KiB and the user-level threads of
 * Argobots call us too. Each call runs on a thread whose stack was painted before; what it touched shows. For optimized builds, at
 * the level SLEEK_SIMD; with an argument all calls are listed. Calls on GPU memory are made where there is no GPU, and fail: what a
 * driver takes is not ours. */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <sleek.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STACK = 1 << 20, PROMISED = 32 << 10, PAINT = 0xa5, BYTES = 17 << 20, CHUNKS_AT_MOST = BYTES / 1024 };

/* H5Z_class2_t and H5Z_FLAG_REVERSE. */
struct filter_class {
    int version, id;
    unsigned encoder, decoder;
    const char *name;
    void *can_apply, *set_local;
    size_t (*filter)(unsigned flags, size_t words, const unsigned *cd, size_t bytes, size_t *room, void **chunk);
};
enum { REVERSE = 0x100 };

enum what {
    NOTHING, COMPRESS, DECOMPRESS, RANGE, BOX, INSPECT, BOUND, INIT, PARSE, OF_CHUNK, AS, COARSE, CHUNKS, DIMS, SIDES, RANGES, FILTER, UNFILTER,
    TEXTS, DEVICE, PREPARE, ASYNC, ASYNC_BACK, BATCH, BATCH_BACK, FIND_RATIO, FIND_SIZE, FIND_PSNR, FIND_SSIM,
    CREATE, WRITE, READ, FLUSH, BLOCKS, SET_BLOCKS, FREE, CALLS
};
static const char *const names[] = {
    "nothing", "compress", "decompress", "decompress_range", "decompress_box", "inspect", "compress_bound", "params_init",
    "params_parse", "params_of_chunk", "decompress_as", "decompress_coarse", "decompress_chunks", "inspect_dims", "chunk_sides",
    "chunk_ranges", "the filter, writing", "the filter, reading", "texts and sizes", "device_info", "device_prepare", "compress_async", "decompress_async",
    "compress_batch_async", "decompress_batch_async", "find_bound, ratio", "find_bound, size", "find_bound, PSNR", "find_bound, SSIM",
    "array_create", "array_write", "array_read", "array_flush", "array_blocks", "array_set_blocks", "array_free"};
/* So many values at most are searched for a bound, which takes dozens of tries. */
enum { SEARCHED = 5000 };

struct call {
    enum what what;
    sleek_params *params;
    const void *array;
    size_t count, size;
    unsigned char *stream;
    size_t capacity, bytes;
    unsigned char *back;
    sleek_chunk_range *ranges;
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
    const size_t searched = c->count < SEARCHED ? c->count : SEARCHED;
    const double targets[] = {4, (double)(searched * c->size / 4), 67.3, 0.99};
    const uint64_t first = 0;
    const void *const from = c->array;
    void *const to = c->back;
    uint64_t numbers[32];
    int32_t known;
    sleek_params params;
    sleek_info info;
    size_t done;
    char text[300];
    info.struct_size = sizeof info;
    if (c->params) params = *c->params;
    if (searched < c->count) params.dims = NULL, params.rank = 0;
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
    case INIT: c->status = sleek_params_init(&params); break;
    case PARSE: c->status = sleek_params_parse(&params, "noa=1e-4,range=50,fill=-9999,fill=0x1,fill=0x2,profile=small,codec=interp,no-fill"); break;
    case OF_CHUNK: c->status = sleek_params_of_chunk(&params, c->array, searched); break;
    case AS: c->status = sleek_decompress_as(c->params->dtype, 0, c->stream, c->bytes, c->back, raw, NULL); break;
    case COARSE: c->status = sleek_decompress_coarse(c->stream, c->bytes, 1, rank, start, count, c->back, raw, &done, NULL); break;
    case CHUNKS: c->status = sleek_decompress_chunks(c->stream, c->bytes, &first, 1, c->back, raw); break;
    case DIMS: c->status = sleek_inspect_dims(c->stream, c->bytes, numbers, 32, &known); break;
    case SIDES: c->status = sleek_chunk_sides(c->stream, c->bytes, numbers, 32, &known); break;
    case RANGES: c->status = sleek_chunk_ranges(c->stream, c->bytes, c->ranges, CHUNKS_AT_MOST, &done); break;
    case TEXTS:
        done = sleek_workspace_bytes() + sleek_batch_workspace_bytes(10);
        done += strlen(sleek_strerror(3)) + strlen(sleek_version()) + strlen(sleek_last_error());
        c->status = done ? 0 : 99;
        sleek_h5d_user(NULL);
        break;
    // What these answer hangs on the machine.
    case DEVICE: sleek_device_info(SLEEK_CUDA, c->array, c->back, text, sizeof text); break;
    case PREPARE: sleek_device_prepare(c->params, 0, NULL); break;
    case ASYNC: sleek_compress_async(c->params, c->array, c->count, c->stream, c->capacity, (sleek_result *)c->ranges, c->ranges, 4096, NULL); break;
    case ASYNC_BACK:
        sleek_decompress_async(c->params, c->stream, c->bytes, 0, c->count, c->back, raw, (sleek_result *)c->ranges, c->ranges, 4096, NULL);
        break;
    case BATCH:
        sleek_compress_batch_async(c->params, 1, &from, &c->count, &to, &raw, (sleek_result *)c->ranges, c->ranges, 4096, NULL);
        break;
    case BATCH_BACK:
        sleek_decompress_batch_async(c->params, 1, &from, &raw, &to, &c->count, (sleek_result *)c->ranges, c->ranges, 4096, NULL);
        break;
    case FIND_RATIO:
    case FIND_SIZE:
    case FIND_PSNR:
    case FIND_SSIM:
        c->status = sleek_find_bound(&params, c->array, searched, SLEEK_TARGET_RATIO + (c->what - FIND_RATIO), targets[c->what - FIND_RATIO]);
        // Of noise no bound may make a quarter.
        if (c->what <= FIND_SIZE && strstr(sleek_last_error(), "the nearest that can be met")) c->status = 0;
        break;
    case CREATE: c->status = sleek_array_create(c->params, 4096, &c->compressed); break;
    case WRITE: c->status = sleek_array_write(c->compressed, start, count, c->array, raw); break;
    case READ: c->status = sleek_array_read(c->compressed, start, count, c->back, raw); break;
    case FLUSH: c->status = sleek_array_flush(c->compressed); break;
    case BLOCKS: c->status = sleek_array_blocks(c->compressed, c->ranges, CHUNKS_AT_MOST, NULL); break;
    case SET_BLOCKS: c->status = sleek_array_set_blocks(c->compressed, c->ranges, sleek_array_bytes(c->compressed, NULL), NULL); break;
    case FREE: sleek_array_free(c->compressed); break;
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
    enum { TYPES = 6, FLOATS = 3, SHAPES = 5, LARGE = 1, FEW = 4 };
    static const int types[TYPES] = {SLEEK_F32, SLEEK_F64, SLEEK_F16, SLEEK_I16, SLEEK_U8, SLEEK_I64}, sizes[TYPES] = {4, 8, 2, 2, 1, 8};
    static const size_t counts[SHAPES] = {1000, 0, 23 * 4 * 29, 2044, 3};
    static const int ranks[SHAPES] = {0, 4, 3, 1, 1};
    const char *const level = getenv("SLEEK_SIMD");
    struct call c;
    size_t worst = 0, nothing;
    static float whole_floats[23 * 4 * 29];
    static double whole_doubles[23 * 4 * 29];
    int failed = 0, gpu = 0;
    char text[300];
    double *doubles = malloc(BYTES);
    float *floats = malloc(BYTES);
    memset(&c, 0, sizeof c);
    for (size_t i = 0; i < BYTES / sizeof *floats; i++) floats[i] = (float)(i % 50 == 7 ? -9999.0 : 280.0 + sin(i / 30.0));
    for (size_t i = 0; i < BYTES / sizeof *doubles; i++) doubles[i] = floats[i];
    for (int i = 0; i < 23 * 4 * 29; i++) whole_doubles[i] = whole_floats[i] = floorf(1000 * sinf(i * 0.03f));
    // The first thread binds functions as it ends.
    touched(&c);
    nothing = touched(&c);
    c.ranges = calloc(CHUNKS_AT_MOST, sizeof *c.ranges);
    if (sleek_device_info(SLEEK_CUDA, NULL, NULL, text, sizeof text) || strncmp(text, "none", 4)) gpu = 1;
    for (int t = 0; t < TYPES; t++)
        for (int n = 0; n < SHAPES; n++)
            for (int mode = SLEEK_LOSSLESS; mode <= SLEEK_PRECISION; mode++)
                for (int profile = SLEEK_ADAPTIVE; profile <= ZFP_4D; profile++) {
                    const int zfp = profile >= ZFP, is_float = t < FLOATS;
                    const int rank = zfp ? profile - ZFP + 1 : profile == SLEEK_SMALL ? ranks[n] : 0, side = n ? 4 : 5;
                    uint64_t dims[4] = {n == 2 ? 23 : side, side, side};
                    sleek_params params;
                    // What of zfp is ours is not done by vectors.
                    if (zfp && (level || n > LARGE)) continue;
                    if (!is_float && mode != SLEEK_LOSSLESS && !(zfp && sizes[t] >= 4 && mode > SLEEK_REL)) continue;
                    if (zfp ? mode == SLEEK_NOA || mode == SLEEK_REL || sizes[t] < 4 : mode > SLEEK_REL) continue;
                    sleek_params_init(&params);
                    params.dtype = types[t], params.mode = mode, params.threads = 1, params.bound = mode > SLEEK_REL ? 11 : 1e-3;
                    params.profile = zfp ? SLEEK_ADAPTIVE : profile, params.codec = zfp ? SLEEK_CODEC_ZFP : SLEEK_CODEC_DEFAULT;
                    c.params = &params, c.array = sizes[t] < 8 ? (n > LARGE ? whole_floats : floats) : (void *)(n > LARGE ? whole_doubles : doubles);
                    c.size = (size_t)sizes[t], c.count = n == LARGE ? BYTES / c.size : counts[n];
                    if (rank) dims[rank - 1] = c.count, params.dims = dims, params.rank = rank;
                    for (int k = 0; k < rank - 1; k++) dims[rank - 1] /= dims[k];
                    words_of(&c);
                    // Of some the fill value is named, of others it is looked for.
                    params.fill_value = n == FEW ? whole_floats[1] : -9999.0, params.has_fill_value = is_float && n != LARGE && n != 3, params.find_fill = !zfp && n >= LARGE;
                    c.capacity = sleek_compress_bound(&params, c.count);
                    c.stream = malloc(c.capacity), c.back = malloc(c.count * c.size);
                    c.chunk_bytes = c.count * c.size, c.chunk = malloc(c.chunk_bytes);
                    memcpy(c.chunk, c.array, c.chunk_bytes);
                    c.compressed = NULL;
                    for (c.what = COMPRESS; c.what < CALLS; c.what++) {
                        size_t bytes;
                        if (c.what == CREATE) params.has_fill_value = 0;
                        if (c.what >= CREATE && (!zfp || n || mode != SLEEK_RATE)) break;
                        if (c.what >= DEVICE && c.what <= BATCH_BACK && gpu) continue;
                        if (c.what >= FIND_RATIO && c.what <= FIND_SSIM && (!is_float || mode != SLEEK_ABS)) continue;
                        bytes = touched(&c) - nothing;
                        if (c.status) printf("%s, type %d, mode %d, profile %d: %s\n", names[c.what], types[t], mode, profile, sleek_strerror(c.status)), exit(1);
                        if (bytes > worst) worst = bytes;
                        if (bytes > PROMISED || count > 1)
                            printf("%zu bytes of stack: %s of %zu values, type %d, mode %d, profile %d\n", bytes, names[c.what], c.count, types[t], mode, profile);
                        failed |= bytes > PROMISED;
                    }
                    free(c.stream), free(c.back), free(c.chunk);
                }
    printf("stack: %zu bytes at most\n", worst);
    free(doubles), free(floats), free(c.ranges);
    (void)arguments;
    return failed;
}
