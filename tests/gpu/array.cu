// Compressed arrays in GPU memory on a machine with a GPU: kernels store and load blocks that are, bit for bit, those
// of the host arrays, in 1 to 4 dimensions.
#include <sleek_array.cuh>

#include <cmath>
#include <cstring>
#include <vector>

#include "must.h"

enum { THREADS = 128 };

// The element of a plain array that element i of a block is; false beyond the edges.
template <class T, unsigned D>
__device__ bool element(const sleek::device_array<T, D>& a, const uint64_t (&start)[D], unsigned i, uint64_t& n) {
    n = 0;
    for (unsigned d = 0; d < D; d++) {
        const uint64_t at = start[d] + (i >> (2 * (D - 1 - d)) & 3);
        if (at >= a.lens[d]) return false;
        n = n * a.lens[d] + at;
    }
    return true;
}

template <class T, unsigned D> __global__ void store_all(sleek::device_array<T, D> a, const T* plain) {
    const uint64_t block = blockIdx.x * (uint64_t)THREADS + threadIdx.x;
    if (block >= a.blocks()) return;
    T v[sleek::device_array<T, D>::SIZE];
    uint64_t start[D], n;
    a.start_of(block, start);
#pragma unroll
    for (unsigned i = 0; i < sleek::device_array<T, D>::SIZE; i++) v[i] = element(a, start, i, n) ? plain[n] : (T)NAN;
    a.store(block, v);
}

template <class T, unsigned D> __global__ void load_all(sleek::device_array<T, D> a, T* plain) {
    const uint64_t block = blockIdx.x * (uint64_t)THREADS + threadIdx.x;
    if (block >= a.blocks()) return;
    T v[sleek::device_array<T, D>::SIZE];
    uint64_t start[D], n;
    a.load(block, v);
    a.start_of(block, start);
#pragma unroll
    for (unsigned i = 0; i < sleek::device_array<T, D>::SIZE; i++)
        if (element(a, start, i, n)) plain[n] = v[i];
}

// Every element by itself, beside what a block gave.
template <class T, unsigned D>
__global__ void get_all(sleek::device_array<T, D> a, const T* plain, uint64_t count, unsigned* wrong) {
    const uint64_t n = blockIdx.x * (uint64_t)THREADS + threadIdx.x;
    if (n >= count) return;
    uint64_t at[D], rest = n;
    for (unsigned d = D; d-- > 0; rest /= a.lens[d]) at[d] = rest % a.lens[d];
    if (a.get(at) != plain[n]) atomicAdd(wrong, 1u);
}

static unsigned grid(uint64_t threads) { return (unsigned)((threads + THREADS - 1) / THREADS); }

template <class T> static T number(uint64_t n, unsigned kind) {
    const double wave = sin(0.01 * (double)(n % 100003)) + 0.1 * cos(0.37 * (double)(n / 997));
    if (kind == 1) return n % 61 == 7 ? (T)1e30 : (T)wave;
    if (kind == 2) return n % 1000 < 500 ? (T)0 : (T)(1e-30 * wave);
    return (T)wave;
}

struct host_array {
    sleek_array* array = nullptr;
    template <class T, unsigned D> void make(const uint64_t (&lens)[D], double rate) {
        sleek_params p;
        CHECK(sleek_params_init(&p) == SLEEK_OK);
        p.dtype = sizeof(T) == 4 ? SLEEK_F32 : SLEEK_F64;
        p.codec = SLEEK_CODEC_ZFP;
        p.mode = SLEEK_RATE;
        p.bound = rate;
        p.dims = lens;
        p.rank = D;
        CHECK(sleek_array_create(&p, 0, &array) == SLEEK_OK);
    }
    ~host_array() { sleek_array_free(array); }
};

template <class T, unsigned D> static int check(const uint64_t (&lens)[D], double rate, unsigned kind) {
    uint64_t count = 1, origin[D] = {};
    for (uint64_t n : lens) count *= n;
    std::vector<T> plain(count), expected(count), back(count);
    for (uint64_t n = 0; n < count; n++) plain[n] = number<T>(n, kind);
    host_array host, other;
    host.make<T, D>(lens, rate);
    other.make<T, D>(lens, rate);
    CHECK(sleek_array_write(host.array, origin, lens, plain.data(), count * sizeof(T)) == SLEEK_OK);
    const size_t bytes = sleek_array_bytes(host.array, nullptr);
    std::vector<uint64_t> words(bytes / 8), made(bytes / 8);
    CHECK(sleek_array_blocks(host.array, words.data(), bytes, nullptr) == SLEEK_OK);

    sleek::device_array<T, D> a{nullptr, {}, sleek::block_bytes<T, D>(rate)};
    for (unsigned d = 0; d < D; d++) a.lens[d] = lens[d];
    CHECK(a.bytes() == bytes);
    T* elements;
    unsigned *wrong, found = 1;
    CUDA(cudaMalloc(&a.words, bytes));
    CUDA(cudaMalloc(&elements, count * sizeof(T)));
    CUDA(cudaMalloc(&wrong, sizeof *wrong));
    CUDA(cudaMemset(wrong, 0, sizeof *wrong));
    CUDA(cudaMemset(a.words, 0xA5, bytes));
    CUDA(cudaMemcpy(elements, plain.data(), count * sizeof(T), cudaMemcpyHostToDevice));
    // What kernels store, seen by the host.
    store_all<T, D><<<grid(a.blocks()), THREADS>>>(a, elements);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpy(made.data(), a.words, bytes, cudaMemcpyDeviceToHost));
    CHECK(made == words);
    CHECK(sleek_array_set_blocks(other.array, a.words, bytes, nullptr) == SLEEK_OK);
    CHECK(sleek_array_read(other.array, origin, lens, expected.data(), count * sizeof(T)) == SLEEK_OK);
    // What the host has, seen by kernels.
    CUDA(cudaMemset(a.words, 0xA5, bytes));
    CHECK(sleek_array_blocks(host.array, a.words, bytes, nullptr) == SLEEK_OK);
    load_all<T, D><<<grid(a.blocks()), THREADS>>>(a, elements);
    get_all<T, D><<<grid(count), THREADS>>>(a, elements, count, wrong);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(back.data(), elements, count * sizeof(T), cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(&found, wrong, sizeof found, cudaMemcpyDeviceToHost));
    CHECK(memcmp(back.data(), expected.data(), count * sizeof(T)) == 0 && found == 0);
    CUDA(cudaFree(a.words));
    CUDA(cudaFree(elements));
    CUDA(cudaFree(wrong));
    return 1;
}

template <class T> static int check_all() {
    int n = 0;
    for (double rate : {2.0, 8.0, 16.0, 40.0, 64.0})
        for (unsigned kind = 0; kind < 3; kind++) {
            n += check<T, 1>({100003}, rate, kind);
            n += check<T, 2>({337, 242}, rate, kind);
            n += check<T, 3>({39, 50, 61}, rate, kind);
            n += check<T, 4>({15, 9, 13, 27}, rate, kind);
        }
    return n;
}

int main() {
    printf("device arrays: %d equal to the host's\n", check_all<float>() + check_all<double>());
    return 0;
}
