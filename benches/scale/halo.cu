// What a code moves between two GPUs: raw, and compressed on the way, from 64 KiB to 64 MiB; what a call takes of the
// host; and many arrays of 64 KiB at once. Wall time in microseconds, medians; one line of JSON for each size and
// profile.
//     nvcc -O2 -std=c++17 -Iinclude benches/scale/halo.cu -o halo -lsleek && ./halo
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <sleek.h>
#include "../../examples/mpi/scale/field.h"

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
static const size_t LARGEST = 64u << 20, ARRAY = 64u << 10;
static int there;    // the second GPU, or the first once more

// A GPU's part: a stream, the array, its compressed form, and what the calls need.
struct Side {
    int device;
    cudaStream_t stream;
    float* array;
    unsigned char* packed;
    sleek_result *results, *told;
    void* workspace;
    size_t workspace_bytes;
};

static size_t room;

// For arrays of so many bytes, planes of rows of 512.
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
    const size_t arrays = LARGEST / ARRAY;
    s.workspace_bytes = std::max(sleek_workspace_bytes(), sleek_batch_workspace_bytes(arrays));
    CUDA(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc(&s.array, LARGEST));
    CUDA(cudaMalloc(&s.packed, room));
    CUDA(cudaMalloc(&s.results, arrays * sizeof *s.results));
    CUDA(cudaMallocHost(&s.told, arrays * sizeof *s.told));
    CUDA(cudaMalloc(&s.workspace, s.workspace_bytes));
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

// The same work between two events: what of it the GPU takes.
template <typename Work> static double device_us(const Side& s, Work work) {
    cudaEvent_t start, end;
    on(s);
    CUDA(cudaEventCreate(&start));
    CUDA(cudaEventCreate(&end));
    std::vector<float> times;
    for (int i = 0; i < 23; i++) {
        float ms;
        CUDA(cudaEventRecord(start, s.stream));
        work();
        CUDA(cudaEventRecord(end, s.stream));
        CUDA(cudaEventSynchronize(end));
        CUDA(cudaEventElapsedTime(&ms, start, end));
        if (i >= 3) times.push_back(1000 * ms);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

static void compress(const sleek_params& p, const Side& s, size_t bytes) {
    SLEEK(sleek_compress_async(&p, s.array, bytes / 4, s.packed, room, s.results, s.workspace, s.workspace_bytes,
                               s.stream));
}

static void decompress(const sleek_params& p, const Side& s, size_t packed, size_t bytes) {
    SLEEK(sleek_decompress_async(&p, s.packed, packed, 0, bytes / 4, s.array, bytes, s.results, s.workspace,
                                 s.workspace_bytes, s.stream));
}

// The bytes of the stream, which the host must know before it can copy no more than those.
static size_t packed_bytes(const Side& s) {
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
        const size_t n = packed_bytes(from);
        copy(to.packed, from.packed, n);
        on(to);
        decompress(p, to, n, bytes);
        finish(to);
        return n;
    };
    const double raw_peer = median_us([&] { peer(to.array, from.array, bytes); });
    const double raw_staged = median_us([&] { staged(to.array, from.array, bytes); });
    CUDA(cudaMemset(to.array, 0xff, bytes));
    const size_t n = compressed(peer);
    const double error = largest_error(from, to, bytes);
    if (!(error <= BOUND)) fprintf(stderr, "%s, %zu bytes: error %g\n", profile, bytes, error), exit(1);
    const double by_peer = median_us([&] { compressed(peer); }), by_staged = median_us([&] { compressed(staged); });
    on(from);
    const double call = median_us([&] { compress(p, from, bytes); });
    finish(from);
    const double whole = median_us([&] { compress(p, from, bytes), finish(from); });
    const double kernels = device_us(from, [&] { compress(p, from, bytes); });
    on(to);
    const double call_back = median_us([&] { decompress(p, to, n, bytes); });
    finish(to);
    const double whole_back = median_us([&] { decompress(p, to, n, bytes), finish(to); });
    const double kernels_back = device_us(to, [&] { decompress(p, to, n, bytes); });
    printf(
        "{\"profile\": \"%s\", \"bytes\": %zu, \"ratio\": %.2f, \"raw_peer_us\": %.1f, "
        "\"packed_peer_us\": %.1f, \"raw_staged_us\": %.1f, \"packed_staged_us\": %.1f, "
        "\"compress_us\": %.1f, \"compress_device_us\": %.1f, \"compress_call_us\": %.1f, "
        "\"decompress_us\": %.1f, \"decompress_device_us\": %.1f, \"decompress_call_us\": %.1f}\n",
        profile, bytes, (double)bytes / n, raw_peer, by_peer, raw_staged, by_staged, whole, kernels, call, whole_back,
        kernels_back, call_back);
}

// All of the largest array as arrays of 64 KiB in one call.
static void batch(const char* profile, const sleek_params& p, Side& s, size_t stride) {
    const size_t arrays = LARGEST / ARRAY;
    std::vector<const void*> src, streams;
    std::vector<void*> dst, back;
    std::vector<size_t> counts(arrays, ARRAY / 4), rooms(arrays, stride), sizes;
    for (size_t i = 0; i < arrays; i++) {
        src.push_back((char*)s.array + i * ARRAY);
        back.push_back((char*)s.array + i * ARRAY);
        dst.push_back(s.packed + i * stride);
        streams.push_back(s.packed + i * stride);
    }
    on(s);
    const auto pack = [&] {
        SLEEK(sleek_compress_batch_async(&p, arrays, src.data(), counts.data(), dst.data(), rooms.data(), s.results,
                                         s.workspace, s.workspace_bytes, s.stream));
    };
    pack();
    CUDA(cudaMemcpyAsync(s.told, s.results, arrays * sizeof *s.told, cudaMemcpyDeviceToHost, s.stream));
    finish(s);
    size_t packed = 0;
    for (size_t i = 0; i < arrays; i++) {
        SLEEK(s.told[i].status);
        sizes.push_back(s.told[i].bytes);
        packed += s.told[i].bytes;
    }
    const double there_us = device_us(s, pack);
    const double back_us = device_us(s, [&] {
        SLEEK(sleek_decompress_batch_async(&p, arrays, streams.data(), sizes.data(), back.data(), counts.data(),
                                           s.results, s.workspace, s.workspace_bytes, s.stream));
    });
    float* copy;
    CUDA(cudaMalloc(&copy, LARGEST));
    const double copy_us =
        device_us(s, [&] { CUDA(cudaMemcpyAsync(copy, s.array, LARGEST, cudaMemcpyDeviceToDevice, s.stream)); });
    CUDA(cudaFree(copy));
    printf(
        "{\"profile\": \"%s\", \"arrays\": %zu, \"array_bytes\": %zu, \"ratio\": %.2f, "
        "\"compress_gbs\": %.1f, \"decompress_gbs\": %.1f, \"memcpy_gbs\": %.1f}\n",
        profile, arrays, ARRAY, (double)LARGEST / packed, LARGEST / there_us / 1e3, LARGEST / back_us / 1e3,
        LARGEST / copy_us / 1e3);
}

int main() {
    int devices = 0, reach = 0;
    CUDA(cudaGetDeviceCount(&devices));
    there = devices > 1 ? 1 : 0;
    if (there != 0) {
        CUDA(cudaDeviceCanAccessPeer(&reach, 0, there));
        if (reach) {
            CUDA(cudaSetDevice(0));
            CUDA(cudaDeviceEnablePeerAccess(there, 0));
            CUDA(cudaSetDevice(there));
            CUDA(cudaDeviceEnablePeerAccess(0, 0));
        }
    }
    cudaDeviceProp about;
    CUDA(cudaGetDeviceProperties(&about, 0));
    fprintf(stderr, "%d x %s, %s\n", devices, about.name, reach ? "peers" : "not peers");
    std::vector<float> field(LARGEST / 4);
    for (size_t i = 0; i < field.size(); i++)
        field[i] = temperature((int)(i % 512), (int)(i / 512 % 512), (int)(i / (512 * 512)));
    unsigned char* pinned;
    CUDA(cudaMallocHost(&pinned, 2 * LARGEST));
    static const struct {
        const char* name;
        int profile;
    } profiles[] = {{"adaptive", SLEEK_ADAPTIVE}, {"fast", SLEEK_FAST}, {"small", SLEEK_SMALL}};
    for (const auto& one : profiles) {
        sleek_params p = params(one.profile, ARRAY);
        const size_t stride = (sleek_compress_bound(&p, ARRAY / 4) + 255) / 256 * 256;
        p = params(one.profile, LARGEST);
        room = std::max(sleek_compress_bound(&p, LARGEST / 4), stride * (LARGEST / ARRAY));
        Side from = side(0, p), to = side(there, p);
        CUDA(cudaMemcpy(from.array, field.data(), LARGEST, cudaMemcpyDefault));
        for (size_t bytes = 64u << 10; bytes <= LARGEST; bytes *= bytes < 16u << 20 ? 4 : 2)
            one_size(one.name, params(one.profile, bytes), from, to, pinned, bytes);
        batch(one.name, params(one.profile, ARRAY), from, stride);
        fflush(stdout);
        for (Side* s : {&from, &to}) {
            on(*s);
            CUDA(cudaFree(s->array));
            CUDA(cudaFree(s->packed));
        }
    }
}
