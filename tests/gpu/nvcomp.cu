/* nvCOMP's codecs on the arrays of `gpu bench`: copies of a field, timed by CUDA events beside a device-to-device copy.
 * Every buffer is there before a run is timed, and what was restored is compared with the field. nvcomp FOLDER [MIB
 * [REPEATS]] Fields are FOLDER/*.f32 and *.f64. nvCOMP is not free software and no part of this repository; bench.sh
 * builds this program where SLEEK_NVCOMP names a folder with its include/ and lib64/: pip download --no-deps
 * nvidia-libnvcomp-cu13 && unzip -q nvidia_libnvcomp_cu13*.whl && export SLEEK_NVCOMP=$PWD/nvidia/libnvcomp (cu12 for a
 * driver of CUDA 12). Bitcomp takes the array whole, the others take chunks of 64 KiB, which nvCOMP recommends; their
 * ratio counts what chunks take, not the room between them. */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>
#include <cuda_runtime.h>
#include <nvcomp.h>
#include <nvcomp/native/bitcomp.h>

#define OK(call)                                                              \
    do {                                                                      \
        const int e = (int)(call);                                            \
        if (e) {                                                              \
            fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, e); \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

static const size_t CHUNK = 64 << 10;
static const double BOUNDS[] = {1e-1, 1e-2, 1e-3, 1e-4, 1e-6};
static size_t bytes = 512 << 20;
static int repeats = 11;

/* GPU memory for `count` values, set from the host where they are given. */
template <class T> struct Memory {
    T* at = nullptr;
    size_t count;
    explicit Memory(size_t count) : count(count) {
        OK(cudaMalloc((void**)&at, std::max(count, (size_t)1) * sizeof(T)));
    }
    explicit Memory(const std::vector<T>& v) : Memory(v.size()) {
        OK(cudaMemcpy(at, v.data(), count * sizeof(T), cudaMemcpyDefault));
    }
    Memory(const Memory&) = delete;
    ~Memory() { cudaFree(at); }
    std::vector<T> read() const {
        std::vector<T> v(count);
        OK(cudaMemcpy(v.data(), at, count * sizeof(T), cudaMemcpyDefault));
        return v;
    }
};

static char *whole, *restored; /* in GPU memory: the array, and what came back */

struct Codec {
    virtual ~Codec() {}
    virtual void compress() = 0;
    virtual void decompress() = 0;
    virtual size_t size() = 0; /* compressed */
};

/* A codec that takes chunks. Api has names and types of one. */
template <class Api> struct Batched : Codec {
    typename Api::Pack pack;
    typename Api::Unpack unpack = Api::unpack();
    const size_t chunks = bytes / CHUNK, room = room_of(pack), pack_room = pack_room_of(),
                 unpack_room = unpack_room_of();
    Memory<char> packed{chunks * room}, workspace{std::max(pack_room, unpack_room)};
    Memory<void*> from{places(whole, CHUNK)}, to{places(packed.at, room)}, back{places(restored, CHUNK)};
    Memory<size_t> lengths{std::vector<size_t>(chunks, CHUNK)}, sizes{chunks}, restored_lengths{chunks};
    Memory<nvcompStatus_t> states{chunks};

    explicit Batched(typename Api::Pack pack) : pack(pack) {}

    static size_t room_of(const typename Api::Pack& pack) {
        size_t n;
        OK(Api::room(CHUNK, pack, &n));
        return (n + 255) / 256 * 256;
    }
    size_t pack_room_of() const {
        size_t n;
        OK(Api::pack_room(chunks, CHUNK, pack, &n, bytes, 0));
        return n;
    }
    size_t unpack_room_of() const {
        size_t n;
        OK(Api::unpack_room(chunks, CHUNK, unpack, &n, bytes, 0));
        return n;
    }
    std::vector<void*> places(char* first, size_t apart) const {
        std::vector<void*> v(chunks);
        for (size_t i = 0; i < chunks; i++) v[i] = first + i * apart;
        return v;
    }
    void compress() override {
        OK(Api::compress(from.at, lengths.at, CHUNK, chunks, workspace.at, pack_room, to.at, sizes.at, pack, states.at,
                         0));
    }
    void decompress() override {
        OK(Api::decompress(to.at, sizes.at, lengths.at, restored_lengths.at, chunks, workspace.at, unpack_room, back.at,
                           unpack, states.at, 0));
    }
    size_t size() override {
        for (nvcompStatus_t s : states.read()) OK(s);
        size_t sum = 0;
        for (size_t n : sizes.read()) sum += n;
        return sum;
    }
};

#define BATCHED(name)                                                                    \
    struct name {                                                                        \
        typedef nvcompBatched##name##CompressOpts_t Pack;                                \
        typedef nvcompBatched##name##DecompressOpts_t Unpack;                            \
        static Pack pack() { return nvcompBatched##name##CompressDefaultOpts; }          \
        static Unpack unpack() { return nvcompBatched##name##DecompressDefaultOpts; }    \
        static constexpr auto room = nvcompBatched##name##CompressGetMaxOutputChunkSize; \
        static constexpr auto pack_room = nvcompBatched##name##CompressGetTempSize;      \
        static constexpr auto unpack_room = nvcompBatched##name##DecompressGetTempSize;  \
        static constexpr auto compress = nvcompBatched##name##CompressAsync;             \
        static constexpr auto decompress = nvcompBatched##name##DecompressAsync;         \
    };
BATCHED(ANS)
BATCHED(Cascaded)
BATCHED(LZ4)

/* Bitcomp by its own interface; a bound of 0 is lossless. */
struct Bitcomp : Codec {
    bitcompHandle_t plan;
    size_t width;
    double bound;
    Memory<char> packed{bitcompMaxBuflen(bytes)};

    Bitcomp(size_t width, double bound, bitcompAlgorithm_t algorithm) : width(width), bound(bound) {
        const bitcompDataType_t lossless = width == 4 ? BITCOMP_UNSIGNED_32BIT : BITCOMP_UNSIGNED_64BIT,
                                lossy = width == 4 ? BITCOMP_FP32_DATA : BITCOMP_FP64_DATA;
        OK(bitcompCreatePlan(&plan, bytes, bound > 0 ? lossy : lossless,
                             bound > 0 ? BITCOMP_LOSSY_FP_TO_SIGNED : BITCOMP_LOSSLESS, algorithm));
    }
    ~Bitcomp() override { OK(bitcompDestroyPlan(plan)); }
    void compress() override {
        if (bound == 0)
            OK(bitcompCompressLossless(plan, whole, packed.at));
        else if (width == 4)
            OK(bitcompCompressLossy_fp32(plan, (const float*)whole, packed.at, (float)(2 * bound)));
        else
            OK(bitcompCompressLossy_fp64(plan, (const double*)whole, packed.at, 2 * bound));
    }
    void decompress() override { OK(bitcompUncompress(plan, packed.at, restored)); }
    size_t size() override {
        size_t n;
        OK(bitcompGetCompressedSize(packed.at, &n));
        return n;
    }
};

/* The largest difference, as bits of a double, and how many words differ. */
template <class F, class Word> __global__ void compare(const F* a, const F* b, size_t n, unsigned long long* found) {
    const size_t step = (size_t)gridDim.x * blockDim.x;
    double worst = 0;
    unsigned long long differ = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const double d = fabs((double)a[i] - (double)b[i]);
        if (((const Word*)a)[i] == ((const Word*)b)[i]) continue;
        worst = d > worst || d != d ? d : worst;
        differ++;
    }
    atomicMax(&found[0], (unsigned long long)__double_as_longlong(worst));
    atomicAdd(&found[1], differ);
}

template <class Run> static double milliseconds(Run run) {
    std::vector<float> times;
    cudaEvent_t begin, end;
    OK(cudaEventCreate(&begin));
    OK(cudaEventCreate(&end));
    for (int i = 0; i < repeats + 2; i++) {
        float t;
        run();    // the processor is ahead by then
        OK(cudaEventRecord(begin, 0));
        run();
        OK(cudaEventRecord(end, 0));
        OK(cudaEventSynchronize(end));
        OK(cudaEventElapsedTime(&t, begin, end));
        if (i >= 2) times.push_back(t);
    }
    OK(cudaEventDestroy(begin));
    OK(cudaEventDestroy(end));
    std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
    return times[repeats / 2];
}

static double copy() {
    return milliseconds([] { OK(cudaMemcpyAsync(restored, whole, bytes, cudaMemcpyDeviceToDevice, 0)); });
}

/* A row: figures, and that the array came back, within the bound where there is one. */
static void row(const std::string& field, size_t width, double bound, const char* bound_name, const char* name,
                Codec& codec) {
    const double before = copy(), c = milliseconds([&] { codec.compress(); });
    const size_t size = codec.size();
    OK(cudaMemset(restored, 0xa5, bytes));
    const double d = milliseconds([&] { codec.decompress(); });
    codec.size();
    Memory<unsigned long long> found(std::vector<unsigned long long>{0, 0});
    if (width == 4)
        compare<float, unsigned><<<1024, 256>>>((const float*)whole, (const float*)restored, bytes / 4, found.at);
    else
        compare<double, unsigned long long>
            <<<1024, 256>>>((const double*)whole, (const double*)restored, bytes / 8, found.at);
    OK(cudaGetLastError());
    const std::vector<unsigned long long> f = found.read();
    double worst;
    memcpy(&worst, &f[0], sizeof worst);
    if (bound == 0 && f[1]) {
        fprintf(stderr, "%s restored %s differently\n", name, field.c_str());
        exit(1);
    }
    char error[32] = "0";
    if (bound > 0) snprintf(error, sizeof error, "%.2f", worst / bound);
    const double memcpy_time = (before + copy()) / 2;
    printf("| %s | %s | %s | %.2f | %.2f | %.2f | %s |\n", field.c_str(), bound_name, name, (double)bytes / size,
           memcpy_time / c, memcpy_time / d, error);
    fflush(stdout);
}

/* Largest minus smallest value; the fill value of levitus_temp is none, as in `gpu bench`. */
template <class F> static double range_of(const std::vector<char>& data) {
    const F* v = (const F*)data.data();
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < data.size() / sizeof(F); i++) {
        if (v[i] == (F)-1e10) continue;
        least = std::min(least, (double)v[i]);
        most = std::max(most, (double)v[i]);
    }
    return most - least;
}

static std::vector<char> contents(const std::filesystem::path& path) {
    std::vector<char> data(std::filesystem::file_size(path));
    FILE* in = fopen(path.c_str(), "rb");
    if (!in || fread(data.data(), 1, data.size(), in) != data.size()) {
        fprintf(stderr, "%s cannot be read\n", path.c_str());
        exit(1);
    }
    fclose(in);
    return data;
}

static void rows(const std::filesystem::path& path) {
    const std::string name = path.filename().string();
    const size_t width = path.extension() == ".f32" ? 4 : 8;
    const std::vector<char> data = contents(path);
    for (size_t at = 0; at < bytes; at += data.size())
        OK(cudaMemcpy(whole + at, data.data(), std::min(data.size(), bytes - at), cudaMemcpyDefault));
    auto lossless = [&](const char* codec_name, auto make) {
        auto codec = make();
        row(name, width, 0, "lossless", codec_name, codec);
    };
    lossless("Bitcomp", [&] { return Bitcomp(width, 0, BITCOMP_DEFAULT_ALGO); });
    lossless("Bitcomp, sparse", [&] { return Bitcomp(width, 0, BITCOMP_SPARSE_ALGO); });
    lossless("ANS", [&] { return Batched<ANS>(ANS::pack()); });
    if (width == 4)
        lossless("ANS of floats", [&] {
            auto options = ANS::pack();
            options.data_type = NVCOMP_TYPE_FLOAT32;
            return Batched<ANS>(options);
        });
    lossless("Cascaded", [&] {
        auto options = Cascaded::pack();
        options.common_opts.data_type = width == 4 ? NVCOMP_TYPE_UINT : NVCOMP_TYPE_ULONGLONG;
        return Batched<Cascaded>(options);
    });
    lossless("LZ4", [&] {
        auto options = LZ4::pack();
        options.data_type = NVCOMP_TYPE_UINT;
        return Batched<LZ4>(options);
    });
    const double range = width == 4 ? range_of<float>(data) : range_of<double>(data);
    for (double bound : BOUNDS) {
        char text[32];
        snprintf(text, sizeof text, "1e%.0f", log10(bound));
        Bitcomp codec(width, bound * range, BITCOMP_DEFAULT_ALGO);
        row(name, width, bound * range, text, "Bitcomp", codec);
    }
}

int main(int argc, char** argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: nvcomp FOLDER [MIB [REPEATS]]\n");
        return 2;
    }
    if (argc > 2) bytes = (size_t)atol(argv[2]) << 20;
    if (argc > 3) repeats = atoi(argv[3]);
    nvcompProperties_t properties;
    OK(nvcompGetProperties(&properties));
    Memory<char> array(bytes), back(bytes);
    whole = array.at;
    restored = back.at;
    std::vector<std::filesystem::path> fields;
    for (auto& entry : std::filesystem::directory_iterator(argv[1]))
        if (entry.path().extension() == ".f32" || entry.path().extension() == ".f64") fields.push_back(entry.path());
    std::sort(fields.begin(), fields.end());
    printf("nvCOMP %u.%u.%u:\n\n", properties.version / 1000, properties.version / 100 % 10, properties.version % 100);
    printf(
        "| field | bound | nvCOMP codec | ratio | compress × memcpy | decompress × memcpy | largest error / bound |\n"
        "|---|---|---|---|---|---|---|\n");
    for (auto& field : fields) rows(field);
    printf("\nmemcpy: %.0f GB/s of %zu MiB\n", bytes / 1e6 / copy(), bytes >> 20);
}
