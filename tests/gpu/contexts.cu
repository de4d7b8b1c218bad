/* Graphs and contexts on one GPU: what is captured once and replayed on other data, and calls in contexts that a
 * program made itself, give the bytes of the CPU. contexts */
#include <cmath>
#include <cstring>
#include <vector>
#include <cuda.h>
#include "must.h"

typedef std::vector<float> Array;
typedef std::vector<unsigned char> Bytes;

static const size_t SIDE = 96, COUNT = SIDE * SIDE * SIDE, SMALL = 5000, ARRAYS = 300;

static sleek_params params(int profile, int device) {
    sleek_params p;
    CHECK(sleek_params_init(&p) == SLEEK_OK);
    p.dtype = SLEEK_F32;
    p.mode = SLEEK_ABS;
    p.bound = 1e-3;
    p.profile = profile;
    p.device = device;
    static const uint64_t dims[3] = {SIDE, SIDE, SIDE};
    p.dims = dims;
    p.rank = 3;
    return p;
}
static sleek_params params_of_small(int profile, int device) {
    sleek_params p = params(profile, device);
    p.dims = NULL;
    p.rank = 0;
    return p;
}

static Array field(int round) {
    Array f(COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        const float x = i % SIDE, y = i / SIDE % SIDE, z = i / (SIDE * SIDE);
        f[i] = sinf(0.05f * (x + round)) * cosf(0.07f * y) + 0.3f * sinf(0.11f * (z + 0.5f * x));
    }
    return f;
}

static Bytes of_cpu(const sleek_params& p, const float* array, size_t count) {
    Bytes stream(sleek_compress_bound(&p, count));
    size_t bytes = 0;
    CHECK(sleek_compress(&p, array, count, stream.data(), stream.size(), &bytes, NULL) == SLEEK_OK);
    stream.resize(bytes);
    return stream;
}

static bool same(const void* at, const Bytes& wanted) {
    Bytes got(wanted.size());
    CUDA(cudaMemcpy(got.data(), at, got.size(), cudaMemcpyDefault));
    return got == wanted;
}

static void* device(size_t bytes) {
    void* at;
    CUDA(cudaMalloc(&at, bytes));
    return at;
}

static void instantiate(cudaGraph_t graph, cudaGraphExec_t* run) {
    CUDA(cudaGraphInstantiate(run, graph, 0));
    CUDA(cudaGraphDestroy(graph));
}

/* Compresses, restores, and compresses many small arrays in one graph, which runs on three fields. */
static void graphs(int profile) {
    const sleek_params p = params(profile, SLEEK_AUTO), small = params_of_small(profile, SLEEK_AUTO);
    const size_t room = sleek_compress_bound(&p, COUNT), stride = (sleek_compress_bound(&small, SMALL) + 15) / 16 * 16,
                 space = sleek_workspace_bytes(), batch_space = sleek_batch_workspace_bytes(ARRAYS);
    // Arrays overlap, so that there are many.
    const size_t shift = (COUNT - SMALL) / ARRAYS / 4 * 4;
    float *source = (float*)device(4 * COUNT), *back = (float*)device(4 * COUNT);
    char *packed = (char*)device(room), *many = (char*)device(ARRAYS * stride), *workspace = (char*)device(space),
         *batch_workspace = (char*)device(batch_space);
    sleek_result* const results = (sleek_result*)device((2 + ARRAYS) * sizeof(sleek_result));
    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(sleek_device_prepare(&p, 0, stream) == SLEEK_OK);
    cudaGraph_t graph;
    cudaGraphExec_t run;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    {
        // The lists are gone when the graph runs.
        std::vector<const void*> src;
        std::vector<void*> dst;
        const std::vector<size_t> counts(ARRAYS, SMALL), rooms(ARRAYS, stride);
        for (size_t i = 0; i < ARRAYS; i++) src.push_back(source + i * shift), dst.push_back(many + i * stride);
        CHECK(sleek_compress_async(&p, source, COUNT, packed, room, results, workspace, space, stream) == SLEEK_OK);
        CHECK(sleek_decompress_async(&p, packed, room, 0, COUNT, back, 4 * COUNT, results + 1, workspace, space,
                                     stream) == SLEEK_OK);
        CHECK(sleek_compress_batch_async(&small, ARRAYS, src.data(), counts.data(), dst.data(), rooms.data(),
                                         results + 2, batch_workspace, batch_space, stream) == SLEEK_OK);
    }
    CUDA(cudaStreamEndCapture(stream, &graph));
    instantiate(graph, &run);
    const sleek_params cpu = params(profile, SLEEK_CPU), small_cpu = params_of_small(profile, SLEEK_CPU);
    for (int round = 0; round < 3; round++) {
        const Array array = field(round);
        CUDA(cudaMemcpy(source, array.data(), 4 * COUNT, cudaMemcpyDefault));
        CUDA(cudaDeviceSynchronize());
        CUDA(cudaGraphLaunch(run, stream));
        CUDA(cudaStreamSynchronize(stream));
        std::vector<sleek_result> told(2 + ARRAYS);
        CUDA(cudaMemcpy(told.data(), results, told.size() * sizeof(sleek_result), cudaMemcpyDefault));
        for (const sleek_result& r : told) CHECK(r.status == SLEEK_OK);
        const Bytes wanted = of_cpu(cpu, array.data(), COUNT);
        CHECK(told[0].bytes == wanted.size() && same(packed, wanted));
        Bytes restored(4 * COUNT);
        size_t bytes = 0;
        CHECK(sleek_decompress(wanted.data(), wanted.size(), restored.data(), restored.size(), &bytes, NULL) ==
              SLEEK_OK);
        CHECK(same(back, restored));
        for (size_t i = 0; i < ARRAYS; i += 7)
            CHECK(same(many + i * stride, of_cpu(small_cpu, array.data() + i * shift, SMALL)));
    }
    CUDA(cudaGraphExecDestroy(run));
    CUDA(cudaStreamDestroy(stream));
    for (void* at : {(void*)source, (void*)back, (void*)packed, (void*)many, (void*)workspace, (void*)batch_workspace,
                     (void*)results})
        CUDA(cudaFree(at));
}

/* A context of the program's own, which is current then. */
static CUcontext new_context() {
    CUcontext context;
#if CUDA_VERSION >= 13000
    CUDA(cuCtxCreate(&context, NULL, 0, 0));
#else
    CUDA(cuCtxCreate(&context, 0, 0));
#endif
    return context;
}

/* Calls in a context of the program's own: by its stream from wherever, or where it is current. */
static void contexts(const Array& array, const Bytes& wanted) {
    const sleek_params p = params(SLEEK_SMALL, SLEEK_AUTO);
    const size_t room = sleek_compress_bound(&p, COUNT);
    CUcontext own[2], before;
    CUstream streams[2];
    CUdeviceptr sources[2], packed[2];
    CUDA(cuCtxGetCurrent(&before));
    for (int k = 0; k < 2; k++) {
        own[k] = new_context();
        CUDA(cuStreamCreate(&streams[k], CU_STREAM_NON_BLOCKING));
        CUDA(cuMemAlloc(&sources[k], 4 * COUNT));
        CUDA(cuMemAlloc(&packed[k], room));
        CUDA(cuMemcpyHtoD(sources[k], array.data(), 4 * COUNT));
    }
    for (int current = -1; current < 2; current++)
        for (int k = 0; k < 2; k++) {
            CUcontext now = current < 0 ? before : own[current], then;
            CUDA(cuCtxSetCurrent(now));
            for (CUstream stream : {streams[k], (CUstream)NULL}) {
                if (stream == NULL && current != k) continue;
                size_t bytes = 0;
                CHECK(sleek_compress(&p, (void*)sources[k], COUNT, (void*)packed[k], room, &bytes, stream) == SLEEK_OK);
                CUDA(cuCtxGetCurrent(&then));
                CHECK(then == now);
                CUDA(cuCtxSetCurrent(own[k]));
                Bytes got(bytes);
                CUDA(cuMemcpyDtoH(got.data(), packed[k], bytes));
                CUDA(cuCtxSetCurrent(now));
                CHECK(got == wanted);
            }
        }
    for (int k = 0; k < 2; k++) CUDA(cuCtxDestroy(own[k]));
    // Another one, when kernels were loaded in one that is gone.
    own[0] = new_context();
    CUDA(cuMemAlloc(&packed[0], room));
    size_t bytes = 0;
    CHECK(sleek_compress(&p, array.data(), COUNT, (void*)packed[0], room, &bytes, NULL) == SLEEK_OK);
    Bytes got(bytes);
    CUDA(cuMemcpyDtoH(got.data(), packed[0], bytes));
    CHECK(got == wanted);
    CUDA(cuCtxDestroy(own[0]));
    CUDA(cuCtxSetCurrent(before));
}

int main() {
    CUDA(cudaSetDevice(0));
    CUDA(cudaFree(NULL));
    for (int profile : {SLEEK_FAST, SLEEK_ADAPTIVE, SLEEK_SMALL}) graphs(profile);
    const Array array = field(9);
    contexts(array, of_cpu(params(SLEEK_SMALL, SLEEK_CPU), array.data(), COUNT));
    printf("graphs of three profiles on three fields, and contexts of a program's own: the bytes of the CPU\n");
    return 0;
}
