// What a call of sleek_compress and sleek_decompress takes, and what threads gain, as a program that computes meets it: between the calls
// other memory is copied, so that arrays and streams of a few MiB are in no cache that a copy of 8 MiB clears.
//
// calls FIELD.f32 BOUND [THREADS...]: an array of each size is cut from the field (repeated to 64 MiB); microseconds, medians of 31
// calls (11 from 16 MiB on), wall time; with each number of threads (1 and all processors) and both profiles, bound absolute, 0 for
// lossless. `make bench-calls` builds and runs it.
#define _GNU_SOURCE
#include <sleek.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FIELD_BYTES = 64 << 20, BETWEEN = 8 << 20, ROUNDS = 31, LARGE_ROUNDS = 11, LARGE_KIB = 16384, MOST_THREADS = 8 };
enum { SIZES = 8, PROFILES = SLEEK_FAST + 1 };
static const size_t sizes_kib[SIZES] = {4, 16, 64, 256, 1024, 4096, 16384, 32768};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *times, int n) {
    qsort(times, (size_t)n, sizeof *times, ascending);
    return times[n / 2];
}

static void *memory(size_t bytes) {
    void *p = malloc(bytes);
    if (!p) {
        fprintf(stderr, "calls: no memory for %zu bytes\n", bytes);
        exit(1);
    }
    return memset(p, 1, bytes);
}

static void check(int status) {
    if (status != SLEEK_OK) {
        fprintf(stderr, "calls: %s\n", sleek_last_error());
        exit(1);
    }
}

/// The field, over and over, in FIELD_BYTES bytes.
static char *load(const char *path) {
    char *field = memory(FIELD_BYTES);
    FILE *file = fopen(path, "rb");
    size_t bytes = file ? fread(field, 1, FIELD_BYTES, file) / sizeof(float) * sizeof(float) : 0;
    if (bytes == 0) {
        fprintf(stderr, "calls: %s: no floats to read\n", path);
        exit(1);
    }
    fclose(file);
    for (size_t at = bytes; at < FIELD_BYTES; at++) {
        field[at] = field[at - bytes];
    }
    return field;
}

/// Median microseconds of a call, each way.
typedef struct {
    double compress, decompress;
} result;

static result measure(const sleek_params *params, const char *field, size_t bytes) {
    static char *source, *target;
    if (!source) {
        source = memory(BETWEEN);
        target = memory(BETWEEN);
    }
    size_t count = bytes / sizeof(float), room = sleek_compress_bound(params, count), stream_bytes = 0;
    char *array = memory(bytes), *stream = memory(room);
    double compress[ROUNDS], decompress[ROUNDS];
    int rounds = bytes < (size_t)LARGE_KIB << 10 ? ROUNDS : LARGE_ROUNDS;
    for (int r = -1; r < rounds; r++) {
        size_t places = (FIELD_BYTES - bytes) / sizeof(float) + 1;
        memcpy(array, field + (size_t)(r + 1) * count % places * sizeof(float), bytes);
        memcpy(target, source, BETWEEN);
        double start = now();
        check(sleek_compress(params, array, count, stream, room, &stream_bytes, NULL));
        double between = now();
        memcpy(source, target, BETWEEN);
        double again = now();
        check(sleek_decompress(stream, stream_bytes, array, bytes, NULL, NULL));
        // The first call sets up what later ones find.
        if (r >= 0) {
            compress[r] = between - start;
            decompress[r] = now() - again;
        }
    }
    free(array);
    free(stream);
    return (result){median(compress, rounds), median(decompress, rounds)};
}

/// All results with `threads`, in a process of its own: decompressing takes its threads from the environment, which is read once.
static void measure_all(const char *path, double bound, int threads, result results[PROFILES][SIZES]) {
    pid_t child = fork();
    if (child == 0) {
        char number[16];
        snprintf(number, sizeof number, "%d", threads);
        setenv("SLEEK_NUM_THREADS", number, 1);
        char *field = load(path);
        for (int profile = 0; profile < PROFILES; profile++) {
            sleek_params params;
            sleek_params_init(&params);
            params.dtype = SLEEK_F32;
            params.bound = bound;
            params.mode = bound > 0 ? SLEEK_ABS : SLEEK_LOSSLESS;
            params.profile = profile;
            for (int i = 0; i < SIZES; i++) {
                results[profile][i] = measure(&params, field, sizes_kib[i] << 10);
            }
        }
        _exit(0);
    }
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "calls: the measurement with %d threads failed\n", threads);
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc < 3 || argc > 3 + MOST_THREADS) {
        fprintf(stderr, "usage: calls FIELD.f32 BOUND [THREADS...], at most %d numbers of threads\n", MOST_THREADS);
        return 2;
    }
    int threads[MOST_THREADS] = {1, (int)sysconf(_SC_NPROCESSORS_ONLN)}, kinds = argc > 3 ? argc - 3 : 2;
    for (int t = 0; t < argc - 3; t++) {
        threads[t] = atoi(argv[3 + t]);
    }
    result(*results)[PROFILES][SIZES] =
        mmap(NULL, (size_t)kinds * sizeof *results, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (results == MAP_FAILED) {
        perror("calls");
        return 1;
    }
    printf("| profile | KiB |");
    for (int t = 0; t < kinds; t++) {
        measure_all(argv[1], atof(argv[2]), threads[t], results[t]);
        printf(" compress, %d threads: us | decompress |", threads[t]);
    }
    printf("\n|---|---|");
    for (int t = 0; t < kinds; t++) {
        printf("---|---|");
    }
    printf("\n");
    for (int profile = 0; profile < PROFILES; profile++) {
        for (int i = 0; i < SIZES; i++) {
            printf("| %s | %zu |", profile == SLEEK_FAST ? "fast" : "adaptive", sizes_kib[i]);
            for (int t = 0; t < kinds; t++) {
                printf(" %.0f | %.0f |", results[t][profile][i].compress, results[t][profile][i].decompress);
            }
            printf("\n");
        }
    }
    return 0;
}
