/* Heat that spreads from a point, on a grid whose state is kept in compressed arrays in GPU memory (sleek_array.cuh):
 * what becomes of the result, of the memory and of the time, beside arrays of double and float.
 * examples/cpp/diffusion.cpp does the same on the CPU.
 *
 *     nvcc -O2 -std=c++17 -Iinclude examples/cuda/diffusion.cu -o diffusion
 *     ./diffusion [side of the grid] [steps]
 */
#include <sleek_array.cuh>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA(call)                                                     \
    do {                                                               \
        cudaError_t e = (call);                                        \
        if (e != cudaSuccess) {                                        \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e)); \
            exit(1);                                                   \
        }                                                              \
    } while (0)

typedef unsigned long long number;
typedef sleek::device_array<double, 2> grid;

static const double K = 0.2;

/* u + k * Laplacian(u); 0 at the edges. */
__device__ static double moved(double here, double above, double below, double left, double right) {
    return here + K * (above + below + left + right - 4 * here);
}

/* A thread for each element of a plain grid. */
template <class T> __global__ void step(const T* u, T* next, number side) {
    const number x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= side) return;
    const number i = y * side + x;
    const bool inside = x > 0 && y > 0 && x + 1 < side && y + 1 < side;
    next[i] = inside ? (T)moved(u[i], u[i - side], u[i + side], u[i - 1], u[i + 1]) : u[i];
}

/* A thread for each block of a compressed one, which it makes of its own elements and of those next to it in four
 * others. */
__global__ void step(grid u, grid next) {
    const number n = blockIdx.x * (number)blockDim.x + threadIdx.x, wide = u.along(1), high = u.along(0);
    if (n >= wide * high) return;
    const number bx = n % wide, by = n / wide;
    double here[16], other[16], around[6][6] = {};
    u.load(n, here);
    for (int i = 0; i < 16; i++) around[1 + i / 4][1 + i % 4] = here[i];
    if (by > 0) {
        u.load(n - wide, other);
        for (int i = 0; i < 4; i++) around[0][1 + i] = other[12 + i];
    }
    if (by + 1 < high) {
        u.load(n + wide, other);
        for (int i = 0; i < 4; i++) around[5][1 + i] = other[i];
    }
    if (bx > 0) {
        u.load(n - 1, other);
        for (int i = 0; i < 4; i++) around[1 + i][0] = other[4 * i + 3];
    }
    if (bx + 1 < wide) {
        u.load(n + 1, other);
        for (int i = 0; i < 4; i++) around[1 + i][5] = other[4 * i];
    }
    for (int i = 0; i < 16; i++) {
        const int y = 1 + i / 4, x = 1 + i % 4;
        const number at_y = 4 * by + i / 4, at_x = 4 * bx + i % 4;
        const bool inside = at_x > 0 && at_y > 0 && at_x + 1 < u.lens[1] && at_y + 1 < u.lens[0];
        if (inside)
            here[i] = moved(around[y][x], around[y - 1][x], around[y + 1][x], around[y][x - 1], around[y][x + 1]);
    }
    next.store(n, here);
}

__global__ void begin(grid u) {
    const uint64_t at[2] = {u.lens[0] / 2, u.lens[1] / 2};
    u.set(at, 1e6);
}

__global__ void read(grid u, double* to) {
    const number n = blockIdx.x * (number)blockDim.x + threadIdx.x;
    if (n >= u.blocks()) return;
    double v[16];
    uint64_t start[2];
    u.load(n, v);
    u.start_of(n, start);
    for (int i = 0; i < 16; i++) {
        const uint64_t y = start[0] + i / 4, x = start[1] + i % 4;
        if (y < u.lens[0] && x < u.lens[1]) to[y * u.lens[1] + x] = v[i];
    }
}

struct result {
    std::vector<double> state;
    double seconds, bytes;
};

/* Runs all steps and takes their time. */
template <class Step> static double timed(int steps, Step one) {
    cudaEvent_t start, end;
    float ms;
    CUDA(cudaEventCreate(&start));
    CUDA(cudaEventCreate(&end));
    CUDA(cudaEventRecord(start));
    for (int s = 0; s < steps; s++) one(s);
    CUDA(cudaGetLastError());
    CUDA(cudaEventRecord(end));
    CUDA(cudaEventSynchronize(end));
    CUDA(cudaEventElapsedTime(&ms, start, end));
    CUDA(cudaEventDestroy(start));
    CUDA(cudaEventDestroy(end));
    return ms / 1e3;
}

template <class T> static result plain(number side, int steps) {
    T* u[2];
    const size_t bytes = side * side * sizeof(T);
    std::vector<T> state(side * side, 0);
    state[side / 2 * side + side / 2] = (T)1e6;
    for (T*& one : u) {
        CUDA(cudaMalloc(&one, bytes));
        CUDA(cudaMemcpy(one, state.data(), bytes, cudaMemcpyHostToDevice));
    }
    const dim3 blocks((unsigned)((side + 127) / 128), (unsigned)side);
    const double seconds = timed(steps, [&](int s) { step<T><<<blocks, 128>>>(u[s & 1], u[~s & 1], side); });
    CUDA(cudaMemcpy(state.data(), u[steps & 1], bytes, cudaMemcpyDeviceToHost));
    for (T* one : u) CUDA(cudaFree(one));
    return {std::vector<double>(state.begin(), state.end()), seconds, (double)bytes};
}

static result compressed(number side, int steps, double rate) {
    grid u[2];
    double* all;
    for (grid& one : u) {
        one = grid{nullptr, {side, side}, sleek::block_bytes<double, 2>(rate)};
        CUDA(cudaMalloc(&one.words, one.bytes()));
        /* Blocks of zeros. */
        CUDA(cudaMemset(one.words, 0, one.bytes()));
    }
    begin<<<1, 1>>>(u[0]);
    const unsigned blocks = (unsigned)((u[0].blocks() + 127) / 128);
    const double seconds = timed(steps, [&](int s) { step<<<blocks, 128>>>(u[s & 1], u[~s & 1]); });
    result r{std::vector<double>(side * side), seconds, (double)u[0].bytes()};
    CUDA(cudaMalloc(&all, side * side * sizeof(double)));
    read<<<blocks, 128>>>(u[steps & 1], all);
    CUDA(cudaMemcpy(r.state.data(), all, side * side * sizeof(double), cudaMemcpyDeviceToHost));
    CUDA(cudaFree(all));
    for (grid& one : u) CUDA(cudaFree(one.words));
    return r;
}

/* The largest error, as a part of the largest value. */
static double report(const char* name, const result& r, const result& exact) {
    double largest = 0, square = 0, top = 0;
    for (size_t i = 0; i < r.state.size(); i++) {
        const double error = std::fabs(r.state[i] - exact.state[i]);
        largest = std::max(largest, error);
        square += error * error;
        top = std::max(top, std::fabs(exact.state[i]));
    }
    printf("| %-18s | %8.0f | %9.2e | %9.2e | %6.2f |\n", name, r.bytes / 1024, largest / top,
           std::sqrt(square / (double)r.state.size()) / top, r.seconds / exact.seconds);
    return largest / top;
}

int main(int argc, char** argv) {
    const long side = argc > 1 ? atol(argv[1]) : 2048;
    const int steps = argc > 2 ? atoi(argv[2]) : 400;
    if (side < 8 || side > 60000 || steps < 1) {
        fprintf(stderr, "usage: diffusion [side of the grid, 8 to 60000] [steps]\n");
        return 2;
    }
    const result exact = plain<double>((number)side, steps);
    printf("%ld x %ld, %d steps; errors as parts of the largest value\n\n", side, side, steps);
    printf("| state              |      KiB |   largest |       rms |   time |\n|---|---|---|---|---|\n");
    report("double", exact, exact);
    const double single = report("float", plain<float>((number)side, steps), exact);
    double best = 1;
    for (int rate : {32, 24, 16, 12, 8}) {
        char name[32];
        snprintf(name, sizeof name, "double at %d bits", rate);
        best = std::min(best, report(name, compressed((number)side, steps, rate), exact));
    }
    /* At the size of floats the error is far smaller than theirs. */
    return best < single ? 0 : 1;
}
