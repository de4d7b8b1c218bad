// The field in the memory of a GPU, one for each rank of a node as long as there are some.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "field.h"

#define CUDA(call)                                                         \
    do {                                                                   \
        const cudaError_t error = (call);                                  \
        if (error != cudaSuccess) {                                        \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error)); \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

static bool on_gpu;

template <typename Function> __global__ void each(size_t values, Function f) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < values; i += (size_t)gridDim.x * blockDim.x)
        f(i);
}

template <typename Function> static void launch(size_t values, Function f) {
    each<<<4096, 256>>>(values, f);
    CUDA(cudaGetLastError());
}

extern "C" const char* field_open(int local) {
    static cudaDeviceProp device;
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
        return fprintf(stderr, "no GPU is here\n"), exit(1), "";
    CUDA(cudaSetDevice(local % devices));
    CUDA(cudaGetDeviceProperties(&device, local % devices));
    on_gpu = true;
    return device.name;
}

extern "C" int field_on_gpu(void) { return on_gpu; }

extern "C" float* field_new(size_t values) {
    float* u;
    CUDA(cudaMalloc(&u, values * sizeof(float)));
    return u;
}

extern "C" void field_free(float* u) { CUDA(cudaFree(u)); }

extern "C" float* field_host(size_t values) {
    float* host;
    CUDA(cudaMallocHost(&host, values * sizeof(float)));
    return host;
}

extern "C" void field_host_free(float* host) { CUDA(cudaFreeHost(host)); }

extern "C" void field_copy(float* to, const float* from, size_t values) {
    CUDA(cudaMemcpy(to, from, values * sizeof(float), cudaMemcpyDefault));
}

extern "C" void field_begin(float* u, slab s) {
    launch(plane_of(s) * (s.planes + 2), [=] __device__(size_t i) {
        const size_t row = i / s.nx;
        u[i] = temperature((int)(i % s.nx), (int)(row % s.ny), (int)(row / s.ny) + s.first - 1);
    });
}

__global__ void step(const float* u, float* next, slab s) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y, k = 1 + blockIdx.z;
    if (i < s.nx) next[k * plane_of(s) + (size_t)j * s.nx + i] = stepped(u, s, i, j, k);
}

extern "C" void field_step(const float* u, float* next, slab s) {
    if (s.planes == 0) return;
    step<<<dim3((s.nx + 127) / 128, s.ny, s.planes), 128>>>(u, next, s);
    CUDA(cudaGetLastError());
}

extern "C" void field_wait(void) { CUDA(cudaDeviceSynchronize()); }

extern "C" double field_difference(const float* a, const float* b, size_t values) {
    // The bits of floats that are not negative go up as the floats do, and NaN's are above all.
    unsigned *most, bits = 0;
    CUDA(cudaMalloc(&most, sizeof *most));
    CUDA(cudaMemset(most, 0, sizeof *most));
    launch(values, [=] __device__(size_t i) {
        const unsigned d = __float_as_uint(fabsf(a[i] - b[i]));
        if (d > *(volatile unsigned*)most) atomicMax(most, d);
    });
    CUDA(cudaMemcpy(&bits, most, sizeof bits, cudaMemcpyDefault));
    CUDA(cudaFree(most));
    float difference;
    memcpy(&difference, &bits, sizeof bits);
    return difference;
}
