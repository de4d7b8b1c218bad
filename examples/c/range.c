// Reads a few values from the middle of a compressed array, and shows what an error looks like.
//
//   cc range.c -lsleek -o range && ./range
#include <inttypes.h>
#include <sleek.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    const size_t count = 1000000;
    double *series = malloc(count * sizeof *series);
    for (size_t i = 0; i < count; i++) series[i] = 0.5 * (double)i;

    sleek_params params;
    sleek_params_init(&params);
    params.dtype = SLEEK_F64; // lossless, unless told otherwise
    size_t capacity = sleek_compress_bound(&params, count), bytes;
    unsigned char *stream = malloc(capacity);
    if (sleek_compress(&params, series, count, stream, capacity, &bytes, NULL) != SLEEK_OK) {
        fprintf(stderr, "compress: %s\n", sleek_last_error());
        return 1;
    }

    // Only the chunks that hold these values are decoded.
    double values[4];
    const uint64_t first = 777777;
    if (sleek_decompress_range(stream, bytes, first, 4, values, sizeof values, NULL) != SLEEK_OK) {
        fprintf(stderr, "range: %s\n", sleek_last_error());
        return 1;
    }
    for (size_t i = 0; i < 4; i++) printf("series[%" PRIu64 "] = %.1f\n", first + i, values[i]);

    // Errors have a code to decide by and a text to show. Here: a range behind the end, and a damaged stream.
    int32_t code = sleek_decompress_range(stream, bytes, count - 1, 4, values, sizeof values, NULL);
    printf("code %d: %s\n", (int)code, sleek_last_error());
    stream[bytes - 1] ^= 1;
    code = sleek_decompress_range(stream, bytes, count - 1, 1, values, sizeof values, NULL);
    printf("code %d: %s\n", (int)code, sleek_last_error());
    free(series), free(stream);
    return code == SLEEK_E_CORRUPT ? 0 : 1;
}
