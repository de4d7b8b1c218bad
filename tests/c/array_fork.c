// Compressed arrays in children that are forked while other threads are inside them.
#include "check.h"

#include <pthread.h>

enum { SIDE = 16, CHILDREN = 100, ARRAYS = 2 };
static sleek_array* arrays[ARRAYS];
static double field[SIDE * SIDE * SIDE];
static const uint64_t dims[3] = {SIDE, SIDE, SIDE}, origin[3] = {0, 0, 0};
static volatile int ended;

static void* writes(void* unused) {
    while (!ended) CHECK(sleek_array_write(arrays[0], origin, dims, field, sizeof field) == SLEEK_OK);
    return unused;
}

// Whether an array can be used; if not, every call says so.
static int usable(sleek_array* array) {
    static double back[SIDE * SIDE * SIDE];
    const int32_t code = sleek_array_read(array, origin, dims, back, sizeof back);
    if (code == SLEEK_OK) {
        CHECK(memcmp(back, field, sizeof back) == 0 && sleek_array_flush(array) == SLEEK_OK);
        return 1;
    }
    CHECK(code == SLEEK_E_INVALID_ARGUMENT && strstr(sleek_last_error(), "forked") != NULL);
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "forked", sleek_array_flush(array));
    CHECK_FAILS(SLEEK_E_INVALID_ARGUMENT, "forked", sleek_array_set_blocks(array, back, sleek_array_bytes(array, NULL), NULL));
    return 0;
}

static void child(void) {
    alarm(900);
    CHECK(usable(arrays[1]));
    const int lost = !usable(arrays[0]);
    CHECK(usable(arrays[0]) == !lost);
    for (int i = 0; i < ARRAYS; i++) sleek_array_free(arrays[i]);
    _exit(lost ? 7 : 0);
}

int main(void) {
    sleek_params p = defaults(SLEEK_F64);
    p.codec = SLEEK_CODEC_ZFP, p.mode = SLEEK_RATE, p.bound = 64, p.dims = dims, p.rank = 3;
    for (int i = 0; i < SIDE * SIDE * SIDE; i++) field[i] = i % 7;
    for (int i = 0; i < ARRAYS; i++) {
        CHECK(sleek_array_create(&p, 0, &arrays[i]) == SLEEK_OK);
        CHECK(sleek_array_write(arrays[i], origin, dims, field, sizeof field) == SLEEK_OK);
    }
    pthread_t writer;
    CHECK(pthread_create(&writer, NULL, writes, NULL) == 0);
    int lost = 0;
    for (int i = 0; i < CHILDREN; i++) {
        const pid_t pid = fork();
        if (pid == 0) child();
        int status = 1;
        CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
        CHECK(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 7);
        lost += WEXITSTATUS(status) == 7;
    }
    ended = 1;
    CHECK(pthread_join(writer, NULL) == 0 && usable(arrays[0]) && lost > 0);
    printf("no child waits for ever\n");
    return 0;
}
