/* As much of CUDA's runtime interface as docs/guide/quickstart/gpu.md needs, for machines without CUDA; runtime.c is behind it. */
#ifndef SLEEK_TESTS_CUDA_RUNTIME_H
#define SLEEK_TESTS_CUDA_RUNTIME_H
#include <stddef.h>

enum cudaError { cudaSuccess = 0 };
typedef enum cudaError cudaError_t;
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };

cudaError_t cudaMalloc(void **p, size_t bytes);
cudaError_t cudaFree(void *p);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
#endif
