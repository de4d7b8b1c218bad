/* CUDA's runtime on top of the stand-in driver, ../driver.cpp. */
#include <cuda_runtime.h>
#include <stdint.h>

int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuMemAlloc_v2(uint64_t *p, size_t bytes);
int cuMemFree_v2(uint64_t p);
int cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, void *stream);

cudaError_t cudaMalloc(void **p, size_t bytes)
{
    /* The runtime makes a context at its first use. */
    static void *context;
    uint64_t at = 0;
    if (!context && (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0)))
        return (cudaError_t)1;
    int status = cuCtxSetCurrent(context);
    if (!status)
        status = cuMemAlloc_v2(&at, bytes);
    *p = (void *)(uintptr_t)at;
    return (cudaError_t)status;
}

cudaError_t cudaFree(void *p) { return (cudaError_t)cuMemFree_v2((uintptr_t)p); }

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    (void)kind;
    return (cudaError_t)cuMemcpyAsync((uintptr_t)to, (uintptr_t)from, bytes, NULL);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    (void)kind;
    return (cudaError_t)cuMemcpyAsync((uintptr_t)to, (uintptr_t)from, bytes, stream);
}

/* A stream of the stand-in's first device. */
static cudaStream_t const STREAM = (cudaStream_t)0x4010;
static int capturing;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    *stream = STREAM;
    return (cudaError_t)(flags != cudaStreamNonBlocking);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return (cudaError_t)(stream != STREAM || capturing); }

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode)
{
    capturing = mode == cudaStreamCaptureModeGlobal;
    return (cudaError_t)(stream != STREAM);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    *graph = &capturing;
    return (cudaError_t)(stream != STREAM || capturing-- != 1);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ready, cudaGraph_t graph, unsigned long long flags)
{
    *ready = graph;
    return (cudaError_t)(flags != 0);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t ready, cudaStream_t stream)
{
    return (cudaError_t)(ready != &capturing || stream != STREAM || capturing);
}
