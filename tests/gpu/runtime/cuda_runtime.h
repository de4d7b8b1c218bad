/* As much of CUDA's runtime interface as docs/guide/gpu.md needs, for machines without CUDA; runtime.c is behind it. */
#ifndef SLEEK_TESTS_CUDA_RUNTIME_H
#define SLEEK_TESTS_CUDA_RUNTIME_H
#include <stddef.h>

enum cudaError { cudaSuccess = 0 };
typedef enum cudaError cudaError_t;
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };

/* Work is done when it is enqueued, also where it is captured: launching a graph does it no second time. */
typedef void *cudaStream_t, *cudaGraph_t, *cudaGraphExec_t;
enum { cudaStreamNonBlocking = 1, cudaStreamCaptureModeGlobal = 0 };
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ready, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t ready, cudaStream_t stream);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMalloc(void **p, size_t bytes);
cudaError_t cudaFree(void *p);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
#endif
