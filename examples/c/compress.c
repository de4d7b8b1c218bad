// Compresses an array with an absolute error bound, restores it, and reports ratio and largest error.
//
//   cc compress.c -lsleek -lm -o compress && ./compress
#include <math.h>
#include <sleek.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int32_t code, const char *what) {
    if (code != SLEEK_OK) {
        fprintf(stderr, "%s: %s\n", what, sleek_last_error());
        exit(1);
    }
}

int main(void) {
    // A field of 512 x 512 values; the library sees the sequence of all its values.
    const size_t n = 512, count = n * n;
    float *field = malloc(count * sizeof *field);
    for (size_t i = 0; i < count; i++)
        field[i] = 280.0f + 10.0f * sinf(0.02f * (float)(i / n)) * cosf(0.03f * (float)(i % n));

    sleek_params params;
    sleek_params_init(&params);
    params.dtype = SLEEK_F32;
    params.mode = SLEEK_ABS;
    params.bound = 1e-3;

    size_t capacity = sleek_compress_bound(&params, count), bytes;
    void *stream = malloc(capacity);
    check(sleek_compress(&params, field, count, stream, capacity, &bytes, NULL), "compress");

    // The stream says what it holds, so this could be another program on another machine.
    sleek_info info = {.struct_size = sizeof info};
    check(sleek_inspect(stream, bytes, &info), "inspect");
    float *restored = malloc(info.raw_bytes);
    check(sleek_decompress(stream, bytes, restored, info.raw_bytes, NULL, NULL), "decompress");

    double worst = 0;
    for (size_t i = 0; i < count; i++) worst = fmax(worst, fabs((double)field[i] - (double)restored[i]));
    printf("%zu -> %zu bytes, ratio %.2f, largest error %.3g of %g\n", count * sizeof *field, bytes,
           (double)(count * sizeof *field) / (double)bytes, worst, params.bound);
    free(field), free(stream), free(restored);
    return worst <= params.bound ? 0 : 1;
}
