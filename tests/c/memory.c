// Want of memory: under every limit of the address space a call succeeds or says that memory is short.
#include "check.h"

#include <sys/resource.h>

enum { COUNT = 1 << 20 };
static float field[COUNT];
static unsigned char *stream, *expected;
static size_t bound, expected_bytes;

// Bytes of address space in use.
static size_t in_use(void) {
    FILE *statm = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    CHECK(statm != NULL && fscanf(statm, "%lu", &pages) == 1);
    fclose(statm);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static int compress(void) {
    sleek_params p = defaults(SLEEK_F32);
    size_t bytes = 0;
    p.threads = 4;
    int code = sleek_compress(&p, field, COUNT, stream, bound, &bytes, NULL);
    if (code == SLEEK_OK) CHECK(bytes == expected_bytes && memcmp(stream, expected, bytes) == 0);
    return code;
}

static int decompress(void) {
    static float back[COUNT];
    int code = sleek_decompress(expected, expected_bytes, back, sizeof back, NULL, NULL);
    if (code == SLEEK_OK) CHECK(memcmp(back, field, sizeof field) == 0);
    return code;
}

// Runs `call` in a child that may have `room` bytes more than it has; its code.
static int starved(int (*call)(void), size_t room) {
    pid_t child = fork();
    if (child == 0) {
        size_t limit = in_use() + room;
        struct rlimit space = {limit, limit};
        CHECK(setrlimit(RLIMIT_AS, &space) == 0);
        alarm(900);
        _exit(call());
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    if (!WIFEXITED(status)) fprintf(stderr, "signal %d with %zu bytes of room\n", WTERMSIG(status), room);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

int main(void) {
    for (int i = 0; i < COUNT; i++) field[i] = (float)(i % 1000) * 0.25f;
    sleek_params p = defaults(SLEEK_F32);
    bound = sleek_compress_bound(&p, COUNT);
    stream = malloc(bound), expected = malloc(bound);
    memset(stream, 1, bound);
    p.threads = 1;
    CHECK(sleek_compress(&p, field, COUNT, expected, bound, &expected_bytes, NULL) == SLEEK_OK);
    int short_of_memory = 0, fine = 0;
    // Stacks of four threads take 8 MiB and more.
    for (size_t kib = 0; kib <= 32 << 10; kib += kib < 2 << 10 ? 64 : kib < 12 << 10 ? 160 : kib / 2) {
        int code = starved(compress, kib << 10);
        CHECK(code == SLEEK_OK || code == SLEEK_E_OUT_OF_MEMORY);
        short_of_memory += code == SLEEK_E_OUT_OF_MEMORY, fine += code == SLEEK_OK;
        // Buffers are on the heap, so that small stacks do: decompression says so too where there is no room for them.
        int back = starved(decompress, kib << 10);
        CHECK(back == SLEEK_OK || (back == SLEEK_E_OUT_OF_MEMORY && code == SLEEK_E_OUT_OF_MEMORY && kib < 512));
    }
    CHECK(fine > 0);
    printf("want of memory is an error (%d short, %d fine)\n", short_of_memory, fine);
    free(stream), free(expected);
    return 0;
}
