// A fork in the midst of the library's first use: the child must not wait for what a thread of the parent had begun.
#include "check.h"

#include <pthread.h>
#include <time.h>

#ifndef ROUNDS
#define ROUNDS 300
#endif

enum { COUNT = 1 << 16, THREADS = 4, CHILDREN = 5 };
static float field[COUNT];
static pthread_barrier_t begin;
static volatile int done;

static void work_on(int threads) {
    sleek_params p = defaults(SLEEK_F32);
    p.threads = threads;
    there_and_back(p, field, COUNT, sizeof *field, NULL, 0);
    CHECK(strcmp(sleek_strerror(SLEEK_OK), "no error") == 0);
}

static void *caller(void *number) {
    int n = (int)(size_t)number;
    pthread_barrier_wait(&begin);
    do work_on(1 + n++ % 4);
    while (!done);
    return NULL;
}

static long since(struct timespec from) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - from.tv_sec) * 1000000000L + now.tv_nsec - from.tv_nsec;
}

// Threads that begin at once, and children forked from `delay` ns after that.
static void first_use(long delay) {
    pthread_t threads[THREADS];
    pid_t children[CHILDREN];
    struct timespec start;
    pthread_barrier_init(&begin, NULL, THREADS + 1);
    for (size_t i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, caller, (void *)i) == 0);
    pthread_barrier_wait(&begin);
    clock_gettime(CLOCK_MONOTONIC, &start);
    while (since(start) < delay);
    for (int i = 0; i < CHILDREN; i++)
        if ((children[i] = fork()) == 0) {
            alarm(900);
            work_on(1 + i % 3);
            _exit(0);
        }
    for (int i = 0; i < CHILDREN; i++) {
        int status = 1;
        CHECK(children[i] > 0 && waitpid(children[i], &status, 0) == children[i] && status == 0);
    }
    done = 1;
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(void) {
    for (int i = 0; i < COUNT; i++) field[i] = (float)(i % 1000) * 0.25f;
    // Every round is a process in which the library is loaded and not yet used.
    for (int round = 0; round < ROUNDS; round++) {
        // Most of the first use happens in the first 0.3 ms, the pool's in 3 ms.
        const long last = round % 3 == 0 ? 50000L : round % 3 == 1 ? 300000L : 3000000L;
        IN_CHILD(first_use(last * (round / 3) / (ROUNDS / 3)));
    }
    puts("first uses and forks are fine");
    return 0;
}
