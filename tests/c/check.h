// What the C tests share: every failed check names its line and the library's own words.
#ifndef SLEEK_CHECK_H
#define SLEEK_CHECK_H

#include <sleek.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                              \
    do {                                                                                              \
        if (!(condition)) {                                                                           \
            fprintf(stderr, "%s:%d: %s: \"%s\"\n", __FILE__, __LINE__, #condition, sleek_last_error()); \
            exit(1);                                                                                  \
        }                                                                                             \
    } while (0)

// Fails with this code, and with an error text that begins with the code's description and contains `words`.
#define CHECK_FAILS(code, words, call)                                                               \
    do {                                                                                             \
        CHECK((call) == (code));                                                                     \
        CHECK(strncmp(sleek_last_error(), sleek_strerror(code), strlen(sleek_strerror(code))) == 0); \
        CHECK(strstr(sleek_last_error(), words) != NULL);                                            \
    } while (0)

// A forked child does this, ends well, and does not hang.
#define IN_CHILD(work)                                                                   \
    do {                                                                                 \
        int status = 1;                                                                  \
        const pid_t child = fork();                                                      \
        if (child == 0) {                                                                \
            alarm(900);                                                                  \
            work;                                                                        \
            _exit(0);                                                                    \
        }                                                                                \
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);          \
    } while (0)

static inline sleek_params defaults(int32_t dtype) {
    sleek_params p;
    CHECK(sleek_params_init(&p) == SLEEK_OK);
    p.dtype = dtype;
    return p;
}

// An array there and back, losslessly, by so many threads; if `expected`, these are the bytes of its stream.
static inline void there_and_back(sleek_params p, const void *field, size_t count, size_t size, const void *expected, size_t expected_bytes) {
    size_t bound = sleek_compress_bound(&p, count), bytes = 0;
    unsigned char *stream = malloc(bound), *back = malloc(count * size);
    CHECK(sleek_compress(&p, field, count, stream, bound, &bytes, NULL) == SLEEK_OK);
    CHECK(expected == NULL || (bytes == expected_bytes && memcmp(stream, expected, bytes) == 0));
    CHECK(sleek_decompress(stream, bytes, back, count * size, NULL, NULL) == SLEEK_OK);
    CHECK(memcmp(field, back, count * size) == 0);
    free(stream), free(back);
}

#endif
