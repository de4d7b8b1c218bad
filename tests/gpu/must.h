/* How the programs here stop at a condition that does not hold, and at a call of CUDA that fails. */
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime_api.h>
#include <sleek.h>

#define CHECK(condition)                                                                     \
    do {                                                                                     \
        if (!(condition)) {                                                                  \
            fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #condition, sleek_last_error()); \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)
// Errors of the driver have the numbers of the runtime's.
#define CUDA(call)                                                                                     \
    do {                                                                                               \
        const int e = (int)(call);                                                                     \
        if (e != 0) {                                                                                  \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #call, cudaGetErrorString((cudaError_t)e)); \
            exit(1);                                                                                   \
        }                                                                                              \
    } while (0)
