// The library in the life of a process: calls from many threads, error texts of their own, work in a forked child.
#include "check.h"

#include <dirent.h>
#include <pthread.h>

enum { COUNT = 1 << 20, THREADS = 8 };
// More than a stack of the library's threads, out of which glibc takes it.
static __thread volatile char large[4 << 20];
static double field[COUNT];
static unsigned char *expected;
static size_t expected_bytes;

static void work_on(int threads) {
    sleek_params p = defaults(SLEEK_F64);
    p.threads = threads;
    there_and_back(p, field, COUNT, sizeof *field, expected, expected_bytes);
}

static void work(void) { work_on(4); }

// Threads of this process, as far as the system tells.
static int running(void) {
    DIR *tasks = opendir("/proc/self/task");
    int n = 0;
    if (tasks == NULL) return 1;
    while (readdir(tasks) != NULL) n++;
    closedir(tasks);
    return n - 2; // without . and ..
}

// Requests that grow by one leave no pool for each of them behind.
static void growing_requests(void) {
    enum { MOST = 20 };
    for (int n = 1; n <= MOST; n++) work_on(n);
    long size = 1, cores = sysconf(_SC_NPROCESSORS_ONLN);
    while (size < MOST || size < cores) size *= 2;
    CHECK(running() <= 2 * size);
}

static void *thread(void *number) {
    int me = (int)(size_t)number;
    char words[32];
    sleek_params p = defaults(1000 + me);
    CHECK(strcmp(sleek_last_error(), "") == 0);
    CHECK(sleek_compress_bound(&p, 1) == 0);
    work();
    snprintf(words, sizeof words, "dtype code %d ", 1000 + me);
    CHECK(strstr(sleek_last_error(), words) != NULL);
    return NULL;
}

// Every codec and profile on the library's threads.
static void stacks(void) {
    uint64_t dims[] = {32, 32, 32, 32};
    large[0] = 1;
    double *rough = malloc(sizeof field);
    for (unsigned i = 0, noise = 1; i < COUNT; i++) noise = noise * 1664525 + 1013904223, rough[i] = i * 1e-3 + (noise >> 8) * 1e-7;
    for (int profile = SLEEK_ADAPTIVE; profile <= SLEEK_SMALL + 1; profile++) {
        sleek_params p = defaults(SLEEK_F64);
        p.threads = 4, p.dims = dims, p.rank = 4;
        if (profile > SLEEK_SMALL) p.codec = SLEEK_CODEC_ZFP;
        else p.profile = profile;
        there_and_back(p, rough, COUNT, sizeof *rough, NULL, 0);
        CHECK(sleek_find_bound(&p, rough, COUNT, SLEEK_TARGET_PSNR, 60) == SLEEK_OK);
    }
    free(rough);
}

// A thread that is to end calls the library first, and ends behind the call.
static void *cancelled(void *unused) {
    sleek_params p = defaults(SLEEK_F64);
    size_t bound = sleek_compress_bound(&p, COUNT), bytes = 0;
    unsigned char *stream = malloc(bound);
    pthread_cancel(pthread_self());
    p.threads = 2;
    CHECK(sleek_compress(&p, field, COUNT, stream, bound, &bytes, NULL) == SLEEK_OK);
    free(stream);
    pthread_testcancel();
    return unused;
}

static void cancellation(void) {
    pthread_t thread;
    void *end = NULL;
    CHECK(pthread_create(&thread, NULL, cancelled, NULL) == 0 && pthread_join(thread, &end) == 0);
    CHECK(end == PTHREAD_CANCELED);
}

int main(void) {
    for (int i = 0; i < COUNT; i++) field[i] = i % 1000 * 0.25;
    // Both in the first calls of a process.
    IN_CHILD(cancellation());
    IN_CHILD(stacks());
    sleek_params p = defaults(SLEEK_F64);
    size_t bound = sleek_compress_bound(&p, COUNT);
    expected = malloc(bound);
    p.threads = 1;
    CHECK(sleek_compress(&p, field, COUNT, expected, bound, &expected_bytes, NULL) == SLEEK_OK);

    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, thread, (void *)i) == 0);
    for (size_t i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);

    growing_requests();
    IN_CHILD(work());
    work();
    free(expected);
    puts("threads and fork are fine");
    return 0;
}
