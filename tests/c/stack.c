/* What calls take of the caller's stack: at most 16 KiB, as sleek.h promises (48 with profile ratio and codec zfp), since
 * threads of 64 KiB and the user-level threads of
 * Argobots call us too. Each call runs on a thread whose stack was painted before; what it touched shows. For optimized builds. */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <sleek.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STACK = 1 << 20, PROMISED = 16 << 10, PROMISED_OTHERS = 48 << 10, PAINT = 0xa5, VALUES = 6 << 20 };

struct call {
    int what;
    const sleek_params *params;
    const void *array;
    size_t count, size;
    unsigned char *stream;
    size_t capacity, bytes;
    unsigned char *back;
    int status;
};

static void *run(void *argument) {
    struct call *c = argument;
    sleek_info info;
    size_t done;
    info.struct_size = sizeof info;
    switch (c->what) {
    case 0: break;
    case 1: c->status = sleek_compress(c->params, c->array, c->count, c->stream, c->capacity, &c->bytes, NULL); break;
    case 2: c->status = sleek_decompress(c->stream, c->bytes, c->back, c->count * c->size, &done, NULL); break;
    case 3: c->status = sleek_decompress_range(c->stream, c->bytes, c->count / 3, c->count / 2, c->back, c->count * c->size, NULL); break;
    case 4: c->status = sleek_inspect(c->stream, c->bytes, &info); break;
    case 5: c->status = sleek_compress_bound(c->params, c->count) ? 0 : 99; break;
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

int main(void) {
    static const char *names[] = {"nothing", "compress", "decompress", "decompress_range", "inspect", "compress_bound"};
    static const int types[] = {SLEEK_F32, SLEEK_F64, SLEEK_I16, SLEEK_U8}, sizes[] = {4, 8, 2, 1};
    static const size_t counts[] = {1000, VALUES};
    struct call c;
    size_t worst = 0, nothing;
    double *doubles = malloc(VALUES * sizeof *doubles);
    float *floats = malloc(VALUES * sizeof *floats);
    memset(&c, 0, sizeof c);
    for (size_t i = 0; i < VALUES; i++) floats[i] = (float)(doubles[i] = i % 50 == 7 ? -9999.0 : 280.0 + sin(i / 30.0));
    c.what = 0;
    nothing = touched(&c);
    for (int t = 0; t < 4; t++)
        for (int n = 0; n < 2; n++)
            for (int mode = SLEEK_LOSSLESS; mode <= SLEEK_PRECISION; mode++)
                // The profiles, then zfp with a line and with as many dimensions as its blocks have.
                for (int profile = SLEEK_ADAPTIVE; profile <= SLEEK_RATIO + 2; profile++) {
                    static const uint64_t dims[2][4] = {{5, 5, 5, 8}, {4, 4, 4, VALUES / 64}};
                    const int zfp = profile > SLEEK_RATIO;
                    sleek_params params;
                    if (t > 1 && (mode != SLEEK_LOSSLESS || zfp)) continue;
                    if (zfp ? mode == SLEEK_NOA || mode == SLEEK_REL : mode > SLEEK_REL) continue;
                    sleek_params_init(&params);
                    params.dtype = types[t], params.mode = mode, params.threads = 1, params.bound = mode > SLEEK_REL ? 11 : 1e-3;
                    params.profile = zfp ? SLEEK_ADAPTIVE : profile, params.codec = zfp ? SLEEK_CODEC_ZFP : SLEEK_CODEC_DEFAULT;
                    if (profile == SLEEK_RATIO + 2) params.dims = dims[n], params.rank = 4;
                    params.fill_value = -9999.0, params.has_fill_value = t < 2;
                    c.params = &params, c.array = t == 0 ? (void *)floats : doubles, c.count = counts[n], c.size = (size_t)sizes[t];
                    c.capacity = sleek_compress_bound(&params, c.count);
                    c.stream = malloc(c.capacity), c.back = malloc(c.count * c.size);
                    for (c.what = 1; c.what <= 5; c.what++) {
                        const size_t bytes = touched(&c) - nothing;
                        if (c.status) printf("%s: %s\n", names[c.what], sleek_last_error()), exit(1);
                        const int deep = profile >= SLEEK_RATIO;
                        if (bytes > worst && !deep) worst = bytes;
                        if (bytes > (deep ? PROMISED_OTHERS : PROMISED)) {
                            printf("%s of %zu values, type %d, mode %d, profile %d: %zu bytes of stack\n", names[c.what], c.count, types[t], mode, profile, bytes);
                            return 1;
                        }
                    }
                    free(c.stream), free(c.back);
                }
    printf("stack: %zu bytes at most\n", worst);
    free(doubles), free(floats);
    return 0;
}
