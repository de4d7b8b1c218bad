// The library in the life of a process: calls from many threads, error texts of their own, work in a forked child.
#include "check.h"

#include <dirent.h>
#include <pthread.h>

enum { COUNT = 1 << 20, THREADS = 8 };
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

int main(void) {
    for (int i = 0; i < COUNT; i++) field[i] = i % 1000 * 0.25;
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
