// What a code moves between two GPUs: raw, and compressed on the way, over the link between them and through the host.
// Wall time of one message, medians; a line for each size and profile. The received array is compared each time.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <sleek.h>
#include "field.h"

#define CUDA(call)                                                                        \
    do {                                                                                  \
        const cudaError_t e = (call);                                                     \
        if (e != cudaSuccess) {                                                           \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #call, cudaGetErrorString(e)); \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)
#define SLEEK(call)                                                                    \
    do {                                                                               \
        if ((call) != SLEEK_OK) {                                                      \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #call, sleek_last_error()); \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

static const double BOUND = 0.05;
static const size_t MIB = 1u << 20, LARGEST = 256 * MIB;
static size_t room;

struct Side {
    int device;
    cudaStream_t stream;
    float* array;
    unsigned char* packed;
    sleek_result *results, *told;
    void* workspace;
};

__global__ void begin(float* u, size_t values) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < values; i += (size_t)gridDim.x * blockDim.x)
        u[i] = temperature((int)(i % 512), (int)(i / 512 % 512), (int)(i / (512 * 512)));
}

static sleek_params params(int profile, size_t bytes) {
    static uint64_t dims[2];
    sleek_params p;
    SLEEK(sleek_params_init(&p));
    dims[0] = bytes / 4 / 512;
    dims[1] = 512;
    p.dtype = SLEEK_F32;
    p.mode = SLEEK_ABS;
    p.bound = BOUND;
    p.profile = profile;
    p.device = SLEEK_CUDA;
    p.dims = dims;
    p.rank = 2;
    return p;
}

static void on(const Side& s) { CUDA(cudaSetDevice(s.device)); }

static void finish(const Side& s) {
    on(s);
    CUDA(cudaStreamSynchronize(s.stream));
}

static Side side(int device, const sleek_params& p) {
    Side s;
    s.device = device;
    on(s);
    CUDA(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc(&s.array, LARGEST));
    CUDA(cudaMalloc(&s.packed, room));
    CUDA(cudaMalloc(&s.results, sizeof *s.results));
    CUDA(cudaMallocHost(&s.told, sizeof *s.told));
    CUDA(cudaMalloc(&s.workspace, sleek_workspace_bytes()));
    SLEEK(sleek_device_prepare(&p, device, s.stream));
    return s;
}

template <typename Work> static double median_us(Work work) {
    std::vector<double> times;
    for (int i = 0; i < 23; i++) {
        const auto start = std::chrono::steady_clock::now();
        work();
        const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
        if (i >= 3) times.push_back(took.count());
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

static void compress(const sleek_params& p, const Side& s, size_t bytes) {
    SLEEK(sleek_compress_async(&p, s.array, bytes / 4, s.packed, room, s.results, s.workspace, sleek_workspace_bytes(),
                               s.stream));
}

static void decompress(const sleek_params& p, const Side& s, size_t packed, size_t bytes) {
    SLEEK(sleek_decompress_async(&p, s.packed, packed, 0, bytes / 4, s.array, bytes, s.results, s.workspace,
                                 sleek_workspace_bytes(), s.stream));
}

static size_t told_bytes(const Side& s) {
    CUDA(cudaMemcpyAsync(s.told, s.results, sizeof *s.told, cudaMemcpyDeviceToHost, s.stream));
    finish(s);
    SLEEK(s.told->status);
    return s.told->bytes;
}

static double largest_error(const Side& a, const Side& b, size_t bytes) {
    std::vector<float> x(bytes / 4), y(bytes / 4);
    CUDA(cudaMemcpy(x.data(), a.array, bytes, cudaMemcpyDefault));
    CUDA(cudaMemcpy(y.data(), b.array, bytes, cudaMemcpyDefault));
    double most = 0;
    for (size_t i = 0; i < x.size(); i++) {
        const double d = std::fabs((double)x[i] - y[i]);
        if (!(d <= most)) most = d;
    }
    return most;
}

static void one_size(const char* profile, const sleek_params& p, Side& from, Side& to, unsigned char* pinned,
                     size_t bytes) {
    const auto peer = [&](void* dst, const void* src, size_t n) {
        on(from);
        CUDA(cudaMemcpyPeerAsync(dst, to.device, src, from.device, n, from.stream));
        finish(from);
    };
    const auto staged = [&](void* dst, const void* src, size_t n) {
        on(from);
        CUDA(cudaMemcpyAsync(pinned, src, n, cudaMemcpyDeviceToHost, from.stream));
        finish(from);
        on(to);
        CUDA(cudaMemcpyAsync(dst, pinned, n, cudaMemcpyHostToDevice, to.stream));
        finish(to);
    };
    const auto compressed = [&](auto copy) {
        on(from);
        compress(p, from, bytes);
        const size_t n = told_bytes(from);
        copy(to.packed, from.packed, n);
        on(to);
        decompress(p, to, n, bytes);
        finish(to);
        return n;
    };
    const double raw_peer = median_us([&] { peer(to.array, from.array, bytes); });
    const double raw_host = median_us([&] { staged(to.array, from.array, bytes); });
    on(to);
    CUDA(cudaMemset(to.array, 0xff, bytes));
    CUDA(cudaDeviceSynchronize());
    const size_t n = compressed(peer);
    double error = largest_error(from, to, bytes);
    const double by_peer = median_us([&] { compressed(peer); });
    on(to);
    CUDA(cudaMemset(to.array, 0xff, bytes));
    CUDA(cudaDeviceSynchronize());
    const double by_host = median_us([&] { compressed(staged); });
    const double other = largest_error(from, to, bytes);
    if (!(other <= error)) error = other;
    on(from);
    const double pack = median_us([&] { compress(p, from, bytes), finish(from); });
    on(to);
    const double unpack = median_us([&] { decompress(p, to, n, bytes), finish(to); });
    printf("%-8s %5zu %6.2f %8.1f %8.1f %6.2f %8.1f %8.1f %6.2f %8.1f %8.1f %8.1e %s\n", profile, bytes / MIB,
           (double)bytes / n, raw_peer, by_peer, raw_peer / by_peer, raw_host, by_host, raw_host / by_host, pack,
           unpack, error, error <= BOUND ? "kept" : "BROKEN");
    fflush(stdout);
    if (!(error <= BOUND)) exit(1);
}

int main() {
    int devices = 0, reach = 0;
    CUDA(cudaGetDeviceCount(&devices));
    const int there = devices > 1 ? 1 : 0;
    if (there != 0) {
        CUDA(cudaDeviceCanAccessPeer(&reach, 0, there));
        if (reach) {
            CUDA(cudaSetDevice(0));
            CUDA(cudaDeviceEnablePeerAccess(there, 0));
            CUDA(cudaSetDevice(there));
            CUDA(cudaDeviceEnablePeerAccess(0, 0));
        }
    }
    printf("halo, us of a message, %d GPUs, %s\n", devices, reach ? "peers" : "NOT PEERS");
    printf("%-8s %5s %6s %8s %8s %6s %8s %8s %6s %8s %8s\n", "profile", "MiB", "ratio", "peer raw", "packed", "gain",
           "host raw", "packed", "gain", "compress", "restore");
    unsigned char* pinned;
    CUDA(cudaMallocHost(&pinned, LARGEST + MIB));
    static const struct {
        const char* name;
        int profile;
    } profiles[] = {{"fast", SLEEK_FAST}, {"adaptive", SLEEK_ADAPTIVE}};
    for (const auto& one : profiles) {
        const sleek_params p = params(one.profile, LARGEST);
        room = sleek_compress_bound(&p, LARGEST / 4);
        Side from = side(0, p), to = side(there, p);
        on(from);
        begin<<<4096, 256, 0, from.stream>>>(from.array, LARGEST / 4);
        CUDA(cudaGetLastError());
        finish(from);
        for (const size_t mib : {1, 4, 16, 32, 64, 256})
            one_size(one.name, params(one.profile, mib * MIB), from, to, pinned, mib * MIB);
        for (Side* s : {&from, &to}) {
            on(*s);
            CUDA(cudaFree(s->array));
            CUDA(cudaFree(s->packed));
        }
    }
}
