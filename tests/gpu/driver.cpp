// A libcuda.so.1 for tests: a driver of two small devices whose kernels are the library's own sources, run on the CPU by the shim.
// Device memory is plain memory that this file remembers, so a pointer's kind can be asked for. It also counts what the library
// must leave balanced; tests set how many blocks run at once and the order of the fibers.
#define SLEEK_CPU
#include "../../kernels/sleek/sleek.cu"
#include "../../kernels/hyperslab/hyperslab.cu"
#include <map>
#include <mutex>

namespace {
typedef int Status;
enum { SUCCESS = 0, INVALID_VALUE = 1, INVALID_DEVICE = 101, NOT_FOUND = 500 };
const int DEVICES = 2;

struct Memory { size_t bytes; int device; bool managed; };
std::mutex lock;
std::map<uintptr_t, Memory> memory;
thread_local void* current;
int retained[DEVICES], launches, initialised, synchronised;
u32 copied;
void* last_stream;

u32 blocks_at_once = 4, fiber_seed = 0;

void* context_of(int device) { return (void*)(uintptr_t)(0x1000 + device); }
int device_of(void* context) { return (int)(uintptr_t)context - 0x1000; }

const Memory* find(uintptr_t p) {
    auto i = memory.upper_bound(p);
    if (i == memory.begin()) return nullptr;
    --i;
    return p < i->first + i->second.bytes ? &i->second : nullptr;
}
Status allocate(u64* p, size_t bytes, bool managed) {
    if (!current) return 201;
    const size_t size = (bytes + 255) / 256 * 256 + 256;
    void* m = aligned_alloc(256, size);
    if (!m) return 2;
    memset(m, 0xA5, size);
    std::lock_guard<std::mutex> g(lock);
    memory[(uintptr_t)m] = {bytes ? bytes : 1, device_of(current), managed};
    *p = (u64)m;
    return SUCCESS;
}
Status release(u64 p) {
    std::lock_guard<std::mutex> g(lock);
    auto i = memory.find((uintptr_t)p);
    if (i == memory.end()) return INVALID_VALUE;
    memory.erase(i);
    free((void*)p);
    return SUCCESS;
}

Status copy(void* to, const void* from, size_t n) {
    copied += (u32)n;
    memcpy(to, from, n);
    return SUCCESS;
}

// turns: its blocks take turns, so that any number of them does the work.
struct Kernel { const char* name; int threads; void (*run)(void*); bool turns; };
#define ENTRY(name, threads, Args) {#name, threads, [](void* a) { name(*(const Args*)a); }, false}
#define TURNS(name, threads, Args) {#name, threads, [](void* a) { name(*(const Args*)a); }, true}
#define OF_TYPE(t)                                                              \
    TURNS(sleek_decompress_##t, DECODE_THREADS, DecompressArgs),                \
    TURNS(sleek_compress_general_##t, COMPRESS_THREADS, CompressArgs)
#define OF_FLOAT(t)                                                             \
    OF_TYPE(t),                                                                 \
    TURNS(sleek_compress_fast_##t, COMPRESS_THREADS, CompressArgs),             \
    ENTRY(sleek_range_##t, RANGE_THREADS, CompressArgs)
const Kernel kernels[] = {
    OF_FLOAT(f32), OF_FLOAT(f64), OF_FLOAT(f16), OF_FLOAT(bf16), OF_TYPE(b8),
    TURNS(sleek_compress_adaptive_f32, COMPRESS_THREADS, CompressArgs),
    TURNS(sleek_compress_adaptive_f64, COMPRESS_THREADS, CompressArgs),
    ENTRY(sleek_begin_compress, BEGIN_THREADS, CompressArgs),
    ENTRY(sleek_list, LIST_THREADS, ListArgs),
    TURNS(sleek_gather_1, BOX_THREADS, BoxArgs), TURNS(sleek_gather_2, BOX_THREADS, BoxArgs),
    TURNS(sleek_gather_4, BOX_THREADS, BoxArgs), TURNS(sleek_gather_8, BOX_THREADS, BoxArgs),
    TURNS(sleek_scatter_1, BOX_THREADS, BoxArgs), TURNS(sleek_scatter_2, BOX_THREADS, BoxArgs),
    TURNS(sleek_scatter_4, BOX_THREADS, BoxArgs), TURNS(sleek_scatter_8, BOX_THREADS, BoxArgs),
    TURNS(sleek_pack, BOX_THREADS, PackArgs),
};
}

extern "C" {
Status cuInit(unsigned) { initialised++; return SUCCESS; }
Status cuDriverGetVersion(int* v) { *v = 12000; return SUCCESS; }
Status cuDeviceGetCount(int* n) { *n = DEVICES; return SUCCESS; }
Status cuDeviceGet(int* d, int ordinal) { if (ordinal < 0 || ordinal >= DEVICES) return INVALID_DEVICE; *d = ordinal; return SUCCESS; }
Status cuDeviceGetName(char* name, int bytes, int) { snprintf(name, bytes, "shim"); return SUCCESS; }
Status cuDeviceGetAttribute(int* v, int attribute, int) {
    *v = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 16 ? 4 : 1;
    return SUCCESS;
}
Status cuDevicePrimaryCtxRetain(void** c, int d) { retained[d]++; *c = context_of(d); return SUCCESS; }
Status cuDevicePrimaryCtxRelease_v2(int d) { retained[d]--; return SUCCESS; }
Status cuDevicePrimaryCtxGetState(int d, unsigned* flags, int* active) { *flags = 0; *active = retained[d] > 0; return SUCCESS; }
Status cuCtxGetCurrent(void** c) { *c = current; return SUCCESS; }
Status cuCtxSetCurrent(void* c) { current = c; return SUCCESS; }
Status cuCtxGetDevice(int* d) { if (!current) return 201; *d = device_of(current); return SUCCESS; }
Status cuPointerGetAttribute(void* out, int attribute, u64 p) {
    std::lock_guard<std::mutex> g(lock);
    const Memory* m = find((uintptr_t)p);
    if (!m) return INVALID_VALUE;
    switch (attribute) {
        case 2: *(unsigned*)out = 2; return SUCCESS;
        case 8: *(unsigned*)out = m->managed; return SUCCESS;
        case 9: *(int*)out = m->device; return SUCCESS;
    }
    return INVALID_VALUE;
}
Status cuMemAlloc_v2(u64* p, size_t n) { return allocate(p, n, false); }
Status cuMemAllocManaged(u64* p, size_t n, unsigned) { return allocate(p, n, true); }
Status cuMemAllocAsync(u64* p, size_t n, void*) { return allocate(p, n, false); }
Status cuMemFree_v2(u64 p) { return release(p); }
Status cuMemFreeAsync(u64 p, void*) { return release(p); }
Status cuMemHostAlloc(void** p, size_t n, unsigned) { *p = aligned_alloc(4096, (n + 4095) / 4096 * 4096); return *p ? SUCCESS : 2; }
Status cuMemFreeHost(void* p) { free(p); return SUCCESS; }
Status cuMemcpyDtoHAsync_v2(void* to, u64 from, size_t n, void*) { return copy(to, (void*)from, n); }
Status cuMemcpyHtoDAsync_v2(u64 to, const void* from, size_t n, void*) { return copy((void*)to, from, n); }
Status cuMemcpyDtoDAsync_v2(u64 to, u64 from, size_t n, void*) { return copy((void*)to, (void*)from, n); }
Status cuMemcpyAsync(u64 to, u64 from, size_t n, void*) { return copy((void*)to, (void*)from, n); }
Status cuMemsetD8Async(u64 p, unsigned char v, size_t n, void*) { memset((void*)p, v, n); return SUCCESS; }
Status cuStreamSynchronize(void*) { synchronised++; return SUCCESS; }
Status cuModuleLoadData(void** m, const void*) { *m = (void*)1; return SUCCESS; }
Status cuModuleUnload(void*) { return SUCCESS; }
Status cuModuleGetFunction(void** f, void*, const char* name) {
    for (const Kernel& k : kernels)
        if (!strcmp(k.name, name)) { *f = (void*)&k; return SUCCESS; }
    return NOT_FOUND;
}
Status cuFuncGetAttribute(int* v, int attribute, void* f) {
    if (attribute != 0) return INVALID_VALUE;    // maximal threads per block
    *v = ((const Kernel*)f)->threads;
    return SUCCESS;
}
Status cuFuncSetAttribute(void*, int, int) { return SUCCESS; }
Status cuOccupancyMaxActiveBlocksPerMultiprocessor(int* n, void*, int, size_t) { *n = 2; return SUCCESS; }
Status cuLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned, void* stream, void** args, void**) {
    const Kernel& k = *(const Kernel*)f;
    if (gy != 1 || gz != 1 || by != 1 || bz != 1 || (int)bx != k.threads) return INVALID_VALUE;
    launches++;
    last_stream = stream;
    void* a = args[0];
    shim::launch(k.turns && gx > blocks_at_once ? blocks_at_once : gx, blocks_at_once, bx, [=] { k.run(a); }, fiber_seed);
    return SUCCESS;
}
Status cuCtxGetId(void* c, u64* id) { *id = (u64)c; return SUCCESS; }
Status cuStreamGetCtx(void* stream, void** c) { *c = context_of((int)((uintptr_t)stream >> 8 & 1)); return SUCCESS; }
Status cuGetErrorName(int, const char** s) { *s = "SHIM"; return SUCCESS; }
Status cuGetErrorString(int, const char** s) { *s = "an error of the shim"; return SUCCESS; }

// What tests set and ask. A stream is any number above 2; its bit 8 is its device.
void shim_set(u32 blocks, u32 seed) { blocks_at_once = blocks; fiber_seed = seed; }
// What a warp finds to lie between two chunks, of an index of sizes.
u64 shim_units_between(const u16* entries, u64 begin, u64 end) {
    u64 units = 0;
    shim::launch(1, 1, 32, [&] { units = units_between_at_once(entries, begin, end, threadIdx.x); }, fiber_seed);
    return units;
}
int shim_waits() { return synchronised; }
int shim_copied() { return (int)copied; }    // bytes
int shim_launches() { return launches; }
int shim_initialised() { return initialised; }
int shim_retained(int d) { return retained[d]; }
void* shim_last_stream() { return last_stream; }
int shim_live_allocations() { std::lock_guard<std::mutex> g(lock); return (int)memory.size(); }
}
