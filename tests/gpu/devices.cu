/* Several GPUs in one process: each works on what lies in its memory, whichever is current, and whichever that was
 * stays so. devices With one GPU it checks what there is to check with one. */
#include <atomic>
#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>
#include <dlfcn.h>
#include "must.h"

static const size_t COUNT = 3000001, BYTES = COUNT * sizeof(float);
static std::vector<float> field(COUNT), expected(COUNT);
static std::vector<unsigned char> stream_of_cpu;
static size_t room;
static std::atomic<int> calls{0};

static sleek_params params(int device) {
    sleek_params p;
    CHECK(sleek_params_init(&p) == SLEEK_OK);
    p.dtype = SLEEK_F32;
    p.mode = SLEEK_ABS;
    p.bound = 1e-3;
    p.device = device;
    return p;
}

/* What the CPU makes of the field. */
static void expect() {
    for (size_t i = 0; i < COUNT; i++) field[i] = sinf(1e-4f * i) + 0.01f * cosf(0.3f * i);
    const sleek_params p = params(SLEEK_CPU);
    room = sleek_compress_bound(&p, COUNT);
    stream_of_cpu.resize(room);
    size_t bytes = 0;
    CHECK(sleek_compress(&p, field.data(), COUNT, stream_of_cpu.data(), room, &bytes, NULL) == SLEEK_OK);
    stream_of_cpu.resize(bytes);
    CHECK(sleek_decompress(stream_of_cpu.data(), bytes, expected.data(), BYTES, NULL, NULL) == SLEEK_OK);
}

static bool same(const void* at, const void* wanted, size_t bytes) {
    std::vector<unsigned char> got(bytes);
    CUDA(cudaMemcpy(got.data(), at, bytes, cudaMemcpyDefault));
    return memcmp(got.data(), wanted, bytes) == 0;
}

/* Memory of a GPU, whichever is current; of the host for -1, managed for -2. It holds nothing that an earlier call left
 * there. */
struct Memory {
    void* at = NULL;
    int where;
    Memory(size_t bytes, int where) : where(where) {
        int current;
        CUDA(cudaGetDevice(&current));
        if (where >= 0) CUDA(cudaSetDevice(where));
        if (where == -1)
            CHECK((at = malloc(bytes)) != NULL);
        else if (where == -2)
            CUDA(cudaMallocManaged(&at, bytes, cudaMemAttachGlobal));
        else
            CUDA(cudaMalloc(&at, bytes));
        if (where == -1)
            memset(at, 0xa5, bytes);
        else
            CUDA(cudaMemset(at, 0xa5, bytes));
        CUDA(cudaDeviceSynchronize());
        CUDA(cudaSetDevice(current));
    }
    Memory(const Memory&) = delete;
    ~Memory() {
        if (where == -1)
            free(at);
        else
            cudaFree(at);
    }
};

static bool is_current(int wanted) {
    int current;
    CUDA(cudaGetDevice(&current));
    return current == wanted;
}

/* There and back between two memories, by calls that wait. */
static void round_trip(int from, int to, cudaStream_t stream, int current) {
    const sleek_params p = params(SLEEK_AUTO);
    Memory source(BYTES, from), packed(room, to), restored(BYTES, from);
    CUDA(cudaMemcpy(source.at, field.data(), BYTES, cudaMemcpyDefault));
    CUDA(cudaDeviceSynchronize());
    size_t bytes = 0;
    CHECK(sleek_compress(&p, source.at, COUNT, packed.at, room, &bytes, stream) == SLEEK_OK);
    CHECK(bytes == stream_of_cpu.size() && same(packed.at, stream_of_cpu.data(), bytes));
    CHECK(sleek_decompress(packed.at, bytes, restored.at, BYTES, &bytes, stream) == SLEEK_OK);
    CHECK(bytes == BYTES && same(restored.at, expected.data(), BYTES));
    CHECK(is_current(current));
    calls += 2;
}

/* The same by calls that only enqueue. */
static void enqueued(int where, cudaStream_t stream, int current) {
    const sleek_params p = params(SLEEK_AUTO);
    const size_t space = sleek_workspace_bytes();
    Memory source(BYTES, where), packed(room, where), restored(BYTES, where), result(2 * sizeof(sleek_result), where),
        workspace(space, where);
    sleek_result *results = (sleek_result*)result.at, got[2];
    CUDA(cudaMemcpy(source.at, field.data(), BYTES, cudaMemcpyDefault));
    CUDA(cudaDeviceSynchronize());
    CHECK(sleek_compress_async(&p, source.at, COUNT, packed.at, room, results, workspace.at, space, stream) ==
          SLEEK_OK);
    CHECK(sleek_decompress_async(&p, packed.at, room, 0, COUNT, restored.at, BYTES, results + 1, workspace.at, space,
                                 stream) == SLEEK_OK);
    CHECK(is_current(current));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaMemcpy(got, results, sizeof got, cudaMemcpyDefault));
    CHECK(got[0].status == SLEEK_OK && got[0].bytes == stream_of_cpu.size() && got[1].status == SLEEK_OK);
    CHECK(same(packed.at, stream_of_cpu.data(), stream_of_cpu.size()) && same(restored.at, expected.data(), BYTES));
    calls += 2;
}

static void work_on(int where, int current) {
    cudaStream_t stream;
    CUDA(cudaSetDevice(where));
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaSetDevice(current));
    for (cudaStream_t s : {(cudaStream_t)0, stream}) {
        round_trip(where, where, s, current);
        round_trip(where, -1, s, current);
        round_trip(-1, where, s, current);
        round_trip(where, -2, s, current);
    }
    enqueued(where, stream, current);
    Memory source(BYTES, where);
    char text[256];
    CHECK(sleek_device_info(SLEEK_AUTO, source.at, NULL, text, sizeof text) == SLEEK_OK);
    CHECK(strncmp(text, ("cuda device " + std::to_string(where)).c_str(), 13) == 0);
    CUDA(cudaStreamDestroy(stream));
}

/* What has to be refused: two GPUs in one call, a stream of another one. */
static void refused(int one, int other) {
    const sleek_params p = params(SLEEK_AUTO);
    Memory source(BYTES, one), there(room, other), here(room, one);
    cudaStream_t stream;
    size_t bytes = 1;
    CUDA(cudaSetDevice(other));
    CUDA(cudaStreamCreate(&stream));
    CHECK(sleek_compress(&p, source.at, COUNT, there.at, room, &bytes, NULL) == SLEEK_E_INVALID_ARGUMENT && bytes == 0);
    CHECK(strstr(sleek_last_error(), "two GPUs") != NULL);
    CHECK(sleek_compress(&p, source.at, COUNT, here.at, room, &bytes, stream) == SLEEK_E_INVALID_ARGUMENT &&
          bytes == 0);
    CHECK(strstr(sleek_last_error(), "another device") != NULL);
    CHECK(is_current(other));
    CUDA(cudaStreamDestroy(stream));
}

/* Whether a device's own context is there. */
static bool is_in_use(int device) {
    static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    typedef int (*State)(int, unsigned*, int*);
    const State state = (State)dlsym(driver, "cuDevicePrimaryCtxGetState");
    unsigned flags;
    int active = -1;
    CHECK(state != NULL && state(device, &flags, &active) == 0);
    return active;
}

int main() {
    int n;
    CUDA(cudaGetDeviceCount(&n));
    expect();
    CUDA(cudaSetDevice(n - 1));
    work_on(n - 1, n - 1);
    for (int other = 0; other < n - 1; other++) CHECK(!is_in_use(other));
    for (int where = 0; where < n; where++)
        for (int current = 0; current < n; current++) work_on(where, current);
    if (n > 1) refused(0, 1), refused(1, 0);
    std::vector<std::thread> threads;
    for (int t = 0; t < 2 * n; t++)
        threads.emplace_back([t, n] {
            CUDA(cudaSetDevice(t % n));
            for (int round = 0; round < 5; round++) work_on(t % n, t % n);
        });
    for (std::thread& t : threads) t.join();
    printf("%d GPUs: %d calls, each on the GPU of its data, the current one left as it was\n", n, calls.load());
    return 0;
}
