/* Compresses and restores a field so many times each: program PARAMETERS TYPE BYTES FILE TIMES_COMPRESSED TIMES_RESTORED [DIM...]. */
#include <sleek.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    const size_t bytes = strtoul(arguments[3], NULL, 10), size = atoi(arguments[2]) == SLEEK_F64 ? 8 : 4, values = bytes / size;
    FILE *file = fopen(arguments[4], "rb");
    char *array = malloc(bytes), *stream;
    uint64_t dims[4];
    size_t capacity, length = 0, done;
    sleek_params params;
    if (!file || fread(array, 1, bytes, file) != bytes || sleek_params_init(&params) || sleek_params_parse(&params, arguments[1])) return 1;
    params.dtype = atoi(arguments[2]), params.threads = 1;
    for (int k = 7; k < count; k++) dims[k - 7] = strtoul(arguments[k], NULL, 10);
#ifndef NO_DIMS /* which older versions have not */
    if (count > 7) params.dims = dims, params.rank = count - 7;
#endif
    capacity = sleek_compress_bound(&params, values), stream = malloc(capacity);
    for (int i = atoi(arguments[5]); i > 0; i--)
        if (sleek_compress(&params, array, values, stream, capacity, &length, NULL)) return 2;
    for (int i = atoi(arguments[6]); i > 0; i--)
        if (sleek_decompress(stream, length, array, bytes, &done, NULL)) return 3;
    return 0;
}
