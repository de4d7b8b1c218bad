// A libcuda.so.1 for tests: a driver of two small devices whose kernels are the library's own sources, run on the CPU
// by the shim. Device memory is plain memory that this file remembers, so a pointer's kind can be asked for. It also
// counts what the library must leave balanced; tests set how many blocks run at once and the order of the fibers.
#include "../../kernels/common/lookback.cuh"
#include <map>
#include <mutex>

namespace {
typedef int Status;
enum { SUCCESS = 0, INVALID_VALUE = 1, INVALID_DEVICE = 101, NOT_FOUND = 500 };
const int DEVICES = 2;

struct Memory {
    size_t bytes;
    int device;
    bool managed;
};
std::mutex lock;
std::map<uintptr_t, Memory> memory;
thread_local void* current;
int retained[DEVICES], launches, initialised, synchronised;
u32 copied;
void* last_stream;

u32 blocks_at_once = 4, fiber_seed = 0;
bool refuses_cubins;
int cubins, ptx_texts, modules;
u64 contexts_gone;

// The call that fails, counted from 0, with what, whether all behind it do too, and how many have. Want of memory (2)
// is of calls that allocate alone. The context that was current before can always be entered again.
int fault_at = -1, fault_code, fault_calls, faults;
bool fault_stays;
void* home;
Status fault(bool allocates) {
    if (fault_at < 0 || (fault_code == 2 && !allocates)) return SUCCESS;
    const int n = fault_calls++;
    if (n < fault_at || (n > fault_at && !fault_stays)) return SUCCESS;
    faults++;
    return fault_code;
}

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
    if (Status failed = fault(true)) return failed;
    const size_t size = (bytes + 255) / 256 * 256 + 256;
    void* m = aligned_alloc(256, size);
    if (!m) return 2;
    memset(m, 0xA5, size);
    std::lock_guard<std::mutex> g(lock);
    memory[(uintptr_t)m] = {bytes ? bytes : 1, device_of(current), managed};
    *p = (u64)m;
    return SUCCESS;
}
// Of a lost context nothing stays, whatever the call says.
Status release(u64 p) {
    std::lock_guard<std::mutex> g(lock);
    auto i = memory.find((uintptr_t)p);
    if (i == memory.end()) return INVALID_VALUE;
    memory.erase(i);
    free((void*)p);
    return fault(false);
}

Status copy(void* to, const void* from, size_t n) {
    if (Status failed = fault(false)) return failed;
    copied += (u32)n;
    memcpy(to, from, n);
    return SUCCESS;
}
}

extern "C" {
Status cuInit(unsigned) {
    initialised++;
    return SUCCESS;
}
Status cuDriverGetVersion(int* v) {
    *v = 12000;
    return SUCCESS;
}
Status cuDeviceGetCount(int* n) {
    *n = DEVICES;
    return SUCCESS;
}
Status cuDeviceGet(int* d, int ordinal) {
    if (Status failed = fault(false)) return failed;
    if (ordinal < 0 || ordinal >= DEVICES) return INVALID_DEVICE;
    *d = ordinal;
    return SUCCESS;
}
Status cuDeviceGetName(char* name, int bytes, int) {
    if (Status failed = fault(false)) return failed;
    snprintf(name, bytes, "shim");
    return SUCCESS;
}
Status cuDeviceGetAttribute(int* v, int attribute, int) {
    if (Status failed = fault(false)) return failed;
    *v = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 16 ? 4 : attribute == 97 ? 84000 : 1;
    return SUCCESS;
}
Status cuDevicePrimaryCtxRetain(void** c, int d) {
    if (Status failed = fault(false)) return failed;
    retained[d]++;
    *c = context_of(d);
    return SUCCESS;
}
Status cuDevicePrimaryCtxRelease_v2(int d) {
    retained[d]--;
    return SUCCESS;
}
Status cuDevicePrimaryCtxGetState(int d, unsigned* flags, int* active) {
    *flags = 0;
    *active = retained[d] > 0;
    return SUCCESS;
}
Status cuCtxGetCurrent(void** c) {
    if (Status failed = fault(false)) return failed;
    *c = current;
    return SUCCESS;
}
Status cuCtxSetCurrent(void* c) {
    if (Status failed = c == home ? SUCCESS : fault(false)) return failed;
    current = c;
    return SUCCESS;
}
Status cuCtxGetDevice(int* d) {
    if (Status failed = fault(false)) return failed;
    if (!current) return 201;
    *d = device_of(current);
    return SUCCESS;
}
Status cuPointerGetAttribute(void* out, int attribute, u64 p) {
    std::lock_guard<std::mutex> g(lock);
    const Memory* m = find((uintptr_t)p);
    if (!m) return INVALID_VALUE;
    switch (attribute) {
        case 2:
            *(unsigned*)out = 2;
            return SUCCESS;
        case 8:
            *(unsigned*)out = m->managed;
            return SUCCESS;
        case 9:
            *(int*)out = m->device;
            return SUCCESS;
    }
    return INVALID_VALUE;
}
Status cuMemAlloc_v2(u64* p, size_t n) { return allocate(p, n, false); }
Status cuMemAllocManaged(u64* p, size_t n, unsigned) { return allocate(p, n, true); }
// A pool is the device that it is of.
Status cuMemPoolCreate(void** pool, const void*) {
    *pool = current;
    return fault(false);
}
Status cuMemPoolSetAttribute(void*, int, void*) { return fault(false); }
Status cuMemAllocFromPoolAsync(u64* p, size_t n, void* pool, void*) {
    return pool == current ? allocate(p, n, false) : INVALID_VALUE;
}
Status cuMemFree_v2(u64 p) { return release(p); }
Status cuMemFreeAsync(u64 p, void*) { return release(p); }
Status cuMemHostAlloc(void** p, size_t n, unsigned) {
    if (Status failed = fault(true)) return failed;
    *p = aligned_alloc(4096, (n + 4095) / 4096 * 4096);
    return *p ? SUCCESS : 2;
}
Status cuMemFreeHost(void* p) {
    free(p);
    return SUCCESS;
}
Status cuMemcpyDtoHAsync_v2(void* to, u64 from, size_t n, void*) { return copy(to, (void*)from, n); }
Status cuMemcpyHtoDAsync_v2(u64 to, const void* from, size_t n, void*) { return copy((void*)to, from, n); }
Status cuMemcpyDtoDAsync_v2(u64 to, u64 from, size_t n, void*) { return copy((void*)to, (void*)from, n); }
Status cuMemcpyAsync(u64 to, u64 from, size_t n, void*) { return copy((void*)to, (void*)from, n); }
Status cuMemsetD8Async(u64 p, unsigned char v, size_t n, void*) {
    if (Status failed = fault(false)) return failed;
    memset((void*)p, v, n);
    return SUCCESS;
}
Status cuStreamSynchronize(void*) {
    synchronised++;
    return fault(false);
}
// A cubin or PTX is looked at, but not run. As a driver that is too old for the code that it is given, one may refuse
// cubins.
Status cuModuleLoadData(void** m, const void* image) {
    if (Status failed = fault(true)) return failed;
    const bool is_cubin = !memcmp(image,
                                  "\x7f"
                                  "ELF",
                                  4);
    if (is_cubin ? refuses_cubins : !strstr((const char*)image, ".target sm_80")) return 209;
    ++(is_cubin ? cubins : ptx_texts);
    modules++;
    *m = (void*)1;
    return SUCCESS;
}
Status cuModuleUnload(void*) {
    modules--;
    return fault(false);
}
Status cuModuleGetFunction(void** f, void*, const char* name) {
    if (Status failed = fault(false)) return failed;
    for (const shim::Kernel& k : shim::kernels())
        if (!strcmp(k.name, name)) {
            *f = (void*)&k;
            return SUCCESS;
        }
    return NOT_FOUND;
}
Status cuFuncGetAttribute(int* v, int attribute, void* f) {
    if (Status failed = fault(false)) return failed;
    if (attribute > 1) return INVALID_VALUE;
    *v = attribute ? 0 : ((const shim::Kernel*)f)->threads;
    return SUCCESS;
}
Status cuFuncSetAttribute(void*, int, int) { return fault(false); }
Status cuOccupancyMaxActiveBlocksPerMultiprocessor(int* n, void*, int, size_t) {
    if (Status failed = fault(false)) return failed;
    *n = 2;
    return SUCCESS;
}
Status cuLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                      unsigned shared, void* stream, void** args, void**) {
    const shim::Kernel& k = *(const shim::Kernel*)f;
    if (gy != 1 || gz != 1 || by != 1 || bz != 1 || (int)bx > k.threads || bx % 32) return INVALID_VALUE;
    if (shared > SHARED_ROOM) return INVALID_VALUE;
    if (Status failed = fault(false)) return failed;
    launches++;
    last_stream = stream;
    void* a = args[0];
    shim::launch(
        k.turns && gx > blocks_at_once ? blocks_at_once : gx, blocks_at_once, bx, [=] { k.run(a); }, fiber_seed);
    return SUCCESS;
}
Status cuCtxGetId(void* c, u64* id) {
    if (Status failed = fault(false)) return failed;
    *id = (u64)c + (contexts_gone << 32);
    return SUCCESS;
}
Status cuStreamGetCtx(void* stream, void** c) {
    if (Status failed = fault(false)) return failed;
    *c = context_of((int)((uintptr_t)stream >> 8 & 1));
    return SUCCESS;
}
Status cuGetErrorName(int, const char** s) {
    *s = "SHIM";
    return SUCCESS;
}
Status cuGetErrorString(int, const char** s) {
    *s = "an error of the shim";
    return SUCCESS;
}

// What tests set and ask. A stream is any number above 2; its bit 8 is its device.
void shim_set(u32 blocks, u32 seed) {
    blocks_at_once = blocks;
    fiber_seed = seed;
}
// What a warp finds to lie between two chunks, of an index of sizes.
u64 shim_units_between(const u16* entries, u64 begin, u64 end) {
    u64 units = 0;
    shim::launch(1, 1, 32, [&] { units = units_between_at_once(entries, begin, end, threadIdx.x); }, fiber_seed);
    return units;
}
void shim_fail(int at, int code, u32 stays) {
    fault_at = at;
    fault_code = code;
    fault_stays = stays;
    fault_calls = faults = 0;
    home = current;
}
int shim_faults() { return faults; }
// From now on each context is another one at the place of one that is gone, in which nothing is loaded.
void shim_renew_contexts() { contexts_gone++; }
int shim_modules() { return modules; }    // loaded and not unloaded
void shim_refuse_cubins(u32 yes) { refuses_cubins = yes; }
int shim_ptx_texts() { return ptx_texts; }
int shim_cubins() { return cubins; }    // loaded
int shim_waits() { return synchronised; }
int shim_copied() { return (int)copied; }    // bytes
int shim_launches() { return launches; }
int shim_initialised() { return initialised; }
int shim_retained(int d) { return retained[d]; }
void* shim_last_stream() { return last_stream; }
int shim_live_allocations() {
    std::lock_guard<std::mutex> g(lock);
    return (int)memory.size();
}
}
