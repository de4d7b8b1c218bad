// What the C tests share: every failed check names its line and the library's own words.
#ifndef SLEEK_CHECK_H
#define SLEEK_CHECK_H

#include <sleek.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static inline sleek_params defaults(int32_t dtype) {
    sleek_params p;
    CHECK(sleek_params_init(&p) == SLEEK_OK);
    p.dtype = dtype;
    return p;
}

#endif
