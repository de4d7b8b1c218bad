// Compressed arrays: elements and boxes, the cache, threads, and what is refused.
#include "check.h"

#include <math.h>
#include <pthread.h>

enum { X = 37, Y = 22, Z = 9, READERS = 4 };

static sleek_params rated(double rate, const uint64_t* dims, int32_t rank) {
    sleek_params p = defaults(SLEEK_F64);
    p.codec = SLEEK_CODEC_ZFP;
    p.mode = SLEEK_RATE;
    p.bound = rate;
    p.dims = dims;
    p.rank = rank;
    return p;
}

static double value(uint64_t z, uint64_t y, uint64_t x) { return sin(0.1 * (double)x) + 0.01 * (double)(y * z); }

static void* reads(void* array) {
    for (uint64_t i = 0; i < 2000; i++) {
        const uint64_t start[3] = {i % Z, i * 7 % Y, i * 13 % X}, one[3] = {1, 1, 1};
        double got;
        CHECK(sleek_array_read(array, start, one, &got, sizeof got) == SLEEK_OK);
        CHECK(fabs(got - value(start[0], start[1], start[2])) < 1e-3);
    }
    return NULL;
}

int main(void) {
    const uint64_t dims[3] = {Z, Y, X}, origin[3] = {0, 0, 0}, one[3] = {1, 1, 1};
    const sleek_params p = rated(16, dims, 3);
    sleek_array* array;
    CHECK(sleek_array_create(&p, 0, &array) == SLEEK_OK && array != NULL);
    size_t cache;
    CHECK(sleek_array_bytes(array, &cache) == 3 * 6 * 10 * 64 * 2 && cache > 0 && sleek_array_bytes(array, NULL) > 0);

    static double whole[Z][Y][X], back[Z][Y][X];
    CHECK(sleek_array_read(array, origin, dims, back, sizeof back) == SLEEK_OK && back[3][2][1] == 0);
    for (uint64_t z = 0; z < Z; z++)
        for (uint64_t y = 0; y < Y; y++)
            for (uint64_t x = 0; x < X; x++) whole[z][y][x] = value(z, y, x);
    CHECK(sleek_array_write(array, origin, dims, whole, sizeof whole) == SLEEK_OK && sleek_array_flush(array) == SLEEK_OK);
    CHECK(sleek_array_read(array, origin, dims, back, sizeof back) == SLEEK_OK);
    double worst = 0;
    for (uint64_t i = 0; i < Z * Y * X; i++) worst = fmax(worst, fabs((&back[0][0][0])[i] - (&whole[0][0][0])[i]));
    CHECK(worst > 0 && worst < 1e-3);

    pthread_t readers[READERS];
    for (int i = 0; i < READERS; i++) CHECK(pthread_create(&readers[i], NULL, reads, array) == 0);
    for (int i = 0; i < READERS; i++) CHECK(pthread_join(readers[i], NULL) == 0);

    // A row, written as a box, and one element of it.
    const uint64_t row[3] = {8, 21, 3}, along[3] = {1, 1, 30};
    double line[30], got;
    for (int x = 0; x < 30; x++) line[x] = x;
    CHECK(sleek_array_write(array, row, along, line, sizeof line) == SLEEK_OK);
    const uint64_t at[3] = {8, 21, 13};
    CHECK(sleek_array_read(array, at, one, &got, sizeof got) == SLEEK_OK && fabs(got - 10) < 0.1);

    const uint64_t beyond[3] = {0, Y, 0}, none[3] = {0, 0, 0};
    CHECK_FAILS(SLEEK_E_OUT_OF_RANGE, "22", sleek_array_read(array, beyond, one, &got, sizeof got));
    CHECK(sleek_array_read(array, beyond, none, NULL, 0) == SLEEK_OK);
    CHECK(sleek_array_read(array, beyond, none, NULL, 8) == SLEEK_OK);
    CHECK_FAILS(SLEEK_E_BUFFER_TOO_SMALL, "7 bytes", sleek_array_read(array, origin, one, &got, 7));
    CHECK_FAILS(SLEEK_E_BUFFER_TOO_SMALL, "0 bytes", sleek_array_write(array, origin, one, NULL, 0));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "dst", sleek_array_read(array, origin, one, NULL, 8));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "start", sleek_array_read(array, NULL, one, &got, 8));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "array", sleek_array_read(NULL, origin, one, &got, 8));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "array", sleek_array_flush(NULL));
    // A refused copy of blocks loses nothing, not even what is in the cache alone.
    const size_t bytes = sleek_array_bytes(array, NULL);
    CHECK(sleek_array_write(array, origin, dims, whole, sizeof whole) == SLEEK_OK);
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "23040", sleek_array_set_blocks(array, back, bytes - 1, NULL));
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "src", sleek_array_set_blocks(array, NULL, bytes, NULL));
    CHECK(sleek_array_read(array, origin, dims, back, sizeof back) == SLEEK_OK);
    for (uint64_t i = 0; i < Z * Y * X; i++) CHECK(fabs((&back[0][0][0])[i] - (&whole[0][0][0])[i]) < 1e-3);
    CHECK(sleek_array_blocks(array, back, bytes, NULL) == SLEEK_OK && bytes < sizeof back);
    CHECK(sleek_array_write(array, origin, one, &got, sizeof got) == SLEEK_OK);
    CHECK(sleek_array_set_blocks(array, back, bytes, NULL) == SLEEK_OK);
    CHECK(sleek_array_read(array, row, one, &got, sizeof got) == SLEEK_OK && fabs(got - whole[8][21][3]) < 1e-3);

    const double infinite = INFINITY;
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "not finite", sleek_array_write(array, origin, one, &infinite, 8));
    sleek_array_free(array);
    sleek_array_free(NULL);

    sleek_params wrong = p;
    wrong.mode = SLEEK_PRECISION;
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "mode rate", sleek_array_create(&wrong, 0, &array));
    CHECK(array == NULL);
    const uint64_t five[5] = {2, 2, 2, 2, 2};
    wrong = rated(8, five, 5);
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "5 dimensions", sleek_array_create(&wrong, 0, &array));
    const uint64_t huge[4] = {1u << 20, 1u << 20, 1u << 10, 1u << 7};
    wrong = rated(64, huge, 4);
    CHECK(sleek_array_create(&wrong, 0, &array) == SLEEK_E_OUT_OF_MEMORY && array == NULL);
    CHECK_FAILS(SLEEK_E_NULL_POINTER, "array", sleek_array_create(&p, 0, NULL));
    printf("compressed arrays are fine\n");
    return 0;
}
