/* A 3-D heat equation on the GPU whose checkpoints go to HDF5 compressed, straight from GPU memory, and which restarts
 * from its own.
 *
 *     nvcc -O2 -Iinclude $(pkg-config --cflags hdf5) examples/cuda/heat.cu -o heat -lsleek $(pkg-config --libs hdf5)
 *     HDF5_PLUGIN_PATH=<directory of libsleek.so> ./heat heat.h5
 *
 * It runs 2 x STEPS steps and writes a checkpoint in the middle, then starts again from the checkpoint and compares:
 * what the compression changed in the checkpoint, against its bound, and what became of that by the end. */
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <sleek.h>
#include <sleek_hdf5.h>

static const hsize_t N = 256, STEPS = 200;
static const double BOUND = 1e-3; /* kelvin */

#define CUDA(call)                                                     \
    do {                                                               \
        cudaError_t e = (call);                                        \
        if (e != cudaSuccess) {                                        \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e)); \
            exit(1);                                                   \
        }                                                              \
    } while (0)
#define HDF5(call)                                 \
    do {                                           \
        if ((call) < 0) {                          \
            fprintf(stderr, "%s failed\n", #call); \
            exit(1);                               \
        }                                          \
    } while (0)
#define SLEEK(call)                                                 \
    do {                                                            \
        if ((call) != SLEEK_OK) {                                   \
            fprintf(stderr, "%s: %s\n", #call, sleek_last_error()); \
            exit(1);                                                \
        }                                                           \
    } while (0)

__global__ void begin(float* u, unsigned n) {
    const unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, z = blockIdx.z;
    if (x >= n) return;
    const float a = (float)x / n - 0.4f, b = (float)y / n - 0.5f, c = (float)z / n - 0.6f;
    u[(z * (size_t)n + y) * n + x] =
        280 + 60 * expf(-40 * (a * a + b * b + c * c)) + 5 * sinf(12 * a) * cosf(9 * b + 7 * c);
}

/* An explicit step; the border keeps its temperature. */
__global__ void step(const float* u, float* next, unsigned n) {
    const unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, z = blockIdx.z;
    if (x >= n) return;
    const size_t i = (z * (size_t)n + y) * n + x, row = n, plane = (size_t)n * n;
    const bool rim = x == 0 || y == 0 || z == 0 || x == n - 1 || y == n - 1 || z == n - 1;
    next[i] =
        rim ? u[i]
            : u[i] + 0.15f * (u[i - 1] + u[i + 1] + u[i - row] + u[i + row] + u[i - plane] + u[i + plane] - 6 * u[i]);
}

static void run(float*& u, float*& other, hsize_t steps, cudaStream_t stream) {
    const dim3 blocks((unsigned)(N + 127) / 128, (unsigned)N, (unsigned)N);
    for (hsize_t s = 0; s < steps; s++) {
        step<<<blocks, 128, 0, stream>>>(u, other, (unsigned)N);
        float* t = u;
        u = other;
        other = t;
    }
    CUDA(cudaGetLastError());
}

static void save(const char* path, const float* u, cudaStream_t stream) {
    const hsize_t dims[3] = {N, N, N}, chunk[3] = {64, 64, N};
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(3, dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    HDF5(file);
    HDF5(H5Pset_chunk(dcpl, 3, chunk));
    HDF5(H5Pset_sleek_abs(dcpl, BOUND));
    hid_t dset = H5Dcreate2(file, "temperature", H5T_IEEE_F32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    HDF5(dset);
    sleek_h5d_info info;
    info.struct_size = sizeof info;
    SLEEK(H5Dwrite_sleek(dset, H5T_NATIVE_FLOAT, NULL, NULL, H5P_DEFAULT, u, stream, &info));
    printf("checkpoint: %llu chunks, %.1f MB as %.1f MB, ratio %.2f (%s)\n", (unsigned long long)info.chunks,
           info.raw_bytes / 1e6, info.stored_bytes / 1e6, (double)info.raw_bytes / info.stored_bytes, info.reason);
    if (info.route != SLEEK_H5D_GPU) exit(1);
    HDF5(H5Dclose(dset));
    HDF5(H5Pclose(dcpl));
    HDF5(H5Sclose(space));
    HDF5(H5Fclose(file));
}

static void load(const char* path, float* u, cudaStream_t stream) {
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), dset = H5Dopen2(file, "temperature", H5P_DEFAULT);
    HDF5(dset);
    SLEEK(H5Dread_sleek(dset, H5T_NATIVE_FLOAT, NULL, NULL, H5P_DEFAULT, u, stream, NULL));
    HDF5(H5Dclose(dset));
    HDF5(H5Fclose(file));
}

static double largest_difference(const float* a, const float* b) {
    std::vector<float> x(N * N * N), y(N * N * N);
    CUDA(cudaMemcpy(x.data(), a, x.size() * sizeof(float), cudaMemcpyDefault));
    CUDA(cudaMemcpy(y.data(), b, y.size() * sizeof(float), cudaMemcpyDefault));
    double most = 0;
    for (size_t i = 0; i < x.size(); i++) most = fmax(most, fabs((double)x[i] - y[i]));
    return most;
}

int main(int argc, char** argv) {
    const char* path = argc > 1 ? argv[1] : "heat.h5";
    const size_t bytes = N * N * N * sizeof(float);
    float *u, *middle, *again, *spare;
    cudaStream_t stream;
    CUDA(cudaMalloc(&u, bytes));
    CUDA(cudaMalloc(&middle, bytes));
    CUDA(cudaMalloc(&again, bytes));
    CUDA(cudaMalloc(&spare, bytes));
    CUDA(cudaStreamCreate(&stream));

    begin<<<dim3((unsigned)(N + 127) / 128, (unsigned)N, (unsigned)N), 128, 0, stream>>>(u, (unsigned)N);
    run(u, spare, STEPS, stream);
    save(path, u, stream); /* in stream order: no copy to the host, no synchronisation before it */
    CUDA(cudaMemcpyAsync(middle, u, bytes, cudaMemcpyDeviceToDevice, stream));
    run(u, spare, STEPS, stream);
    CUDA(cudaStreamSynchronize(stream));

    load(path, again, stream);
    const double error = largest_difference(middle, again);
    run(again, spare, STEPS, stream);
    CUDA(cudaStreamSynchronize(stream));
    const double later = largest_difference(u, again);
    printf("error introduced: %.3g, bound %.3g: %s\n", error, BOUND, error <= BOUND ? "kept" : "BROKEN");
    printf("difference after %llu more steps: %.3g\n", (unsigned long long)STEPS, later);
    return error <= BOUND && later <= BOUND + 1e-3 ? 0 : 1;
}
