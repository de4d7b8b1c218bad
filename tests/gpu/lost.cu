/* What a call says once a kernel of the host has destroyed the context: an error where data lies on the GPU, whatever
 * is asked for, and what it always says where data lies in host memory. Nothing crashes, as often as it is tried. */
#include <cmath>
#include <cmath>
#include <cstring>
#include <vector>
#include <cuda.h>
#include "must.h"

static const size_t COUNT = 300001, BYTES = COUNT * sizeof(float);
static int refused, done;

__global__ void destroy(int* at) { *at = 1; }

static sleek_params params(int device, int profile) {
    sleek_params p;
    CHECK(sleek_params_init(&p) == SLEEK_OK);
    p.dtype = SLEEK_F32, p.mode = SLEEK_ABS, p.bound = 1e-3, p.device = device, p.profile = profile;
    return p;
}

/* The verdict on a call. Where a GPU is in play it is an error, which names what happened. */
static void judge(int code, bool on_gpu) {
    if (!on_gpu) {
        CHECK(code == SLEEK_OK);
        done++;
        return;
    }
    CHECK(code == SLEEK_E_DEVICE && strlen(sleek_last_error()) > 0);
    refused++;
}

int main() {
    std::vector<float> field(COUNT), back(COUNT);
    for (size_t i = 0; i < COUNT; i++) field[i] = sinf(1e-3f * i);
    const int profiles[] = {SLEEK_ADAPTIVE, SLEEK_FAST, SLEEK_SMALL};
    std::vector<std::vector<unsigned char>> streams;
    float *values, *restored;
    unsigned char* stream_memory;
    sleek_params p = params(SLEEK_AUTO, SLEEK_ADAPTIVE);
    const size_t room = sleek_compress_bound(&p, COUNT);
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaMalloc(&values, BYTES));
    CUDA(cudaMalloc(&restored, BYTES));
    CUDA(cudaMalloc(&stream_memory, room));
    CUDA(cudaMemcpy(values, field.data(), BYTES, cudaMemcpyDefault));
    std::vector<unsigned char> host(room);
    for (int profile : profiles) {
        size_t bytes = 0;
        p = params(SLEEK_AUTO, profile);
        CHECK(sleek_compress(&p, values, COUNT, stream_memory, room, &bytes, NULL) == SLEEK_OK);
        streams.emplace_back(bytes);
        CUDA(cudaMemcpy(streams.back().data(), stream_memory, bytes, cudaMemcpyDefault));
    }

    destroy<<<1, 1>>>((int*)16);
    const cudaError_t lost = cudaDeviceSynchronize();
    CHECK(lost == cudaErrorIllegalAddress);
    unsigned kind = 0;
    const CUresult device = cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)values);
    const CUresult of_host = cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)field.data());
    printf("the driver says %d of memory of the GPU, %d of the host's\n", device, of_host);

    for (int again = 0; again < 3; again++) {
        for (int k = 0; k < 3; k++) {
            for (cudaStream_t on : {(cudaStream_t)NULL, stream}) {
                size_t bytes = 0;
                p = params(SLEEK_AUTO, profiles[k]);
                judge(sleek_compress(&p, values, COUNT, stream_memory, room, &bytes, on), true);
                CHECK(bytes == 0);
                judge(sleek_compress(&p, values, COUNT, host.data(), room, &bytes, on), true);
                judge(sleek_compress(&p, field.data(), COUNT, stream_memory, room, &bytes, on), true);
                const size_t length = streams[k].size();
                judge(sleek_decompress(streams[k].data(), length, restored, BYTES, &bytes, on), true);
                judge(sleek_decompress(stream_memory, length, back.data(), BYTES, &bytes, on), true);
            }
            size_t bytes = 0;
            p = params(SLEEK_CUDA, profiles[k]);
            judge(sleek_compress(&p, field.data(), COUNT, host.data(), room, &bytes, NULL), true);
            p = params(SLEEK_AUTO, profiles[k]);
            judge(sleek_compress(&p, field.data(), COUNT, host.data(), room, &bytes, NULL), false);
            CHECK(bytes == streams[k].size() && memcmp(host.data(), streams[k].data(), bytes) == 0);
            judge(sleek_decompress(host.data(), bytes, back.data(), BYTES, NULL, NULL), false);
            sleek_info info;
            memset(&info, 0, sizeof info);
            info.struct_size = sizeof info;
            judge(sleek_inspect(host.data(), bytes, &info), false);
        }
    }
    printf("behind a lost context %d calls were refused, %d went on in host memory\n", refused, done);
    return 0;
}
