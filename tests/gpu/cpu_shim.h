// Runs a CUDA kernel source on the CPU: a fiber for each CUDA thread, an operating-system thread for each resident
// block, so that blocks really do wait for each other. The order of the fibers can be shuffled by a seed. Lanes that
// meet at different places of the source end the program, and shared memory begins as noise. It shows no weak-memory
// bugs; compute-sanitizer on a GPU does (tests/gpu/check.sh).
#pragma once
#include <link.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef unsigned long long u64;
typedef int32_t i32;
typedef long long i64;
struct alignas(16) uint4 {
    u32 x, y, z, w;
};
struct alignas(8) uint2 {
    u32 x, y;
};
static inline uint2 make_uint2(u32 x, u32 y) { return uint2{x, y}; }
static inline uint4 make_uint4(u32 x, u32 y, u32 z, u32 w) { return uint4{x, y, z, w}; }

#define DEV inline
#define SELDOM inline
// Kernels enter themselves into a list, which the stand-in driver looks them up in. `turns`: any number of blocks does
// the work.
#define SHIM_KERNEL(turns, name, Args, threads, ...)                                                                  \
    static void name(const Args a);                                                                                   \
    static const shim::Registered registered_##name({#name, threads, [](void* a) { name(*(const Args*)a); }, turns}); \
    static void name(const Args a)
#define KERNEL(...) SHIM_KERNEL(true, __VA_ARGS__, )
#define GRID_KERNEL(...) SHIM_KERNEL(false, __VA_ARGS__, )
#define SHARED static thread_local
#define CONSTANT static const

namespace shim {
struct Kernel {
    const char* name;
    int threads;
    void (*run)(void*);
    bool turns;
};
inline std::vector<Kernel>& kernels() {
    static std::vector<Kernel> all;
    return all;
}
struct Registered {
    Registered(Kernel k) { kernels().push_back(k); }
};

struct Fiber {
#if defined(__x86_64__)
    void* stack_pointer;
#else
    ucontext_t context;
#endif
    char* stack;
    u32 thread;
    std::vector<std::pair<uint4*, const uint4*>> copies;    // that nobody has waited for yet
};
struct Warp {
    u32 arrived = 0, place = 0;
    u32 ready = 0;       // a set of lanes: those that wait for nobody
    u32 at_block = 0;    // those that wait for the block
    u32 generation = 0;
    u64 slot[2][32];    // what lanes tell each other, by turns
};
struct Block {
    u32 index, grid, threads, live, arrived = 0, any = 0, any_result = 0;
    std::vector<Fiber> fibers;
    std::vector<Warp> warps;
    std::function<void()> body;
#if defined(__x86_64__)
    void* main;
#else
    ucontext_t main;
#endif
};
inline thread_local Block* block;
inline thread_local Fiber* fiber;

#if defined(__x86_64__)
extern "C" void shim_switch(void** save, void* load);
asm(R"(
.text
.weak shim_switch
shim_switch:
 pushq %rbp
 pushq %rbx
 pushq %r12
 pushq %r13
 pushq %r14
 pushq %r15
 movq %rsp,(%rdi)
 movq %rsi,%rsp
 popq %r15
 popq %r14
 popq %r13
 popq %r12
 popq %rbx
 popq %rbp
 ret
)");
inline void to_main() { shim_switch(&fiber->stack_pointer, block->main); }
inline void to_fiber(Fiber& f) { shim_switch(&block->main, f.stack_pointer); }
#else
inline void to_main() { swapcontext(&fiber->context, &block->main); }
inline void to_fiber(Fiber& f) { swapcontext(&block->main, &f.context); }
#endif

inline Warp& warp() { return block->warps[fiber->thread >> 5]; }
inline u32 lane_bit() { return 1u << (fiber->thread & 31); }

inline void release_block() {
    block->arrived = 0;
    block->any_result = block->any;
    block->any = 0;
    for (Warp& w : block->warps) {
        w.ready |= w.at_block;
        w.at_block = 0;
    }
}
inline void entry() {
    block->body();
    warp().ready &= ~lane_bit();
    block->live--;
    // A finished thread no longer counts at barriers.
    if (block->live && block->arrived == block->live) release_block();
    for (;;) to_main();
}
inline void block_sync() {
    if (++block->arrived == block->live) return release_block();
    Warp& w = warp();
    w.ready &= ~lane_bit();
    w.at_block |= lane_bit();
    to_main();
}
// `place`: the line of the source.
inline void warp_sync(u32 place) {
    Warp& w = warp();
    if (w.arrived == 0) w.place = place;
    if (w.place != place) {
        fprintf(stderr, "lanes of a warp meet at lines %u and %u\n", w.place, place);
        abort();
    }
    if (++w.arrived == 32) {
        w.arrived = 0;
        w.generation++;
        w.ready = ~0u;
    } else {
        w.ready &= ~lane_bit();
        to_main();
    }
}
// What all lanes of the warp have told. It stays until they meet for the second time from here.
inline const u64* tell(u64 bits, u32 place) {
    Warp& w = warp();
    u64* const slot = w.slot[w.generation % 2];
    slot[fiber->thread & 31] = bits;
    warp_sync(place);
    return slot;
}
template <class T> inline T shuffle(T v, u32 from, u32 place) {
    u64 bits = 0;
    memcpy(&bits, &v, sizeof v);
    bits = tell(bits, place)[from & 31];
    memcpy(&v, &bits, sizeof v);
    return v;
}
template <class Op> inline u32 reduce(u32 v, u32 place, Op op) {
    const u64* const told = tell(v, place);
    u32 r = (u32)told[0];
    for (int i = 1; i < 32; i++) r = op(r, (u32)told[i]);
    return r;
}

// Fills what this thread has of the library's thread-local variables, the shared memory of a block among them.
inline void fill_shared_memory() {
    block = nullptr;    // from now on there are some
    const void* own = &block;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* own) {
            for (int i = 0; info->dlpi_tls_data && i < info->dlpi_phnum; i++) {
                char* begin = (char*)info->dlpi_tls_data;
                const size_t bytes = info->dlpi_phdr[i].p_memsz;
                if (info->dlpi_phdr[i].p_type == PT_TLS && own >= begin && own < begin + bytes)
                    memset(begin, 0xa7, bytes);
            }
            return 0;
        },
        (void*)own);
}

// Stacks of fibers, which the next block takes over.
enum : size_t { STACK_BYTES = 128 << 10 };
struct Stacks {
    std::mutex lock;
    std::vector<char*> free;

    char* take() {
        const std::lock_guard<std::mutex> guard(lock);
        if (free.empty()) return (char*)malloc(STACK_BYTES);
        char* stack = free.back();
        free.pop_back();
        return stack;
    }
    void give(char* stack) {
        const std::lock_guard<std::mutex> guard(lock);
        free.push_back(stack);
    }
};
inline Stacks& stacks() {
    static Stacks* const all = new Stacks;
    return *all;
}

inline void run_block(u32 index, u32 grid, u32 threads, const std::function<void()>& body, u32 seed) {
    fill_shared_memory();
    Block b;
    b.index = index;
    b.grid = grid;
    b.threads = b.live = threads;
    b.fibers.resize(threads);
    b.warps.resize((threads + 31) / 32);
    b.body = body;
    block = &b;
    for (u32 i = 0; i < threads; i++) {
        Fiber& f = b.fibers[i];
        f.thread = i;
        b.warps[i / 32].ready |= 1u << (i % 32);
        f.stack = stacks().take();
#if defined(__x86_64__)
        u64* sp = (u64*)((uintptr_t)(f.stack + STACK_BYTES) & ~15ull);
        *--sp = 0;
        *--sp = (u64)(void*)&entry;
        for (int k = 0; k < 6; k++) *--sp = 0;
        f.stack_pointer = sp;
#else
        getcontext(&f.context);
        f.context.uc_stack.ss_sp = f.stack;
        f.context.uc_stack.ss_size = STACK_BYTES;
        f.context.uc_link = nullptr;
        makecontext(&f.context, entry, 0);
#endif
    }
    u32 random = seed * 2654435761u + 1;
    while (b.live) {
        u32 ready = 0;
        for (const Warp& w : b.warps) ready |= w.ready;
        if (!ready) {
            fprintf(stderr, "all threads of block %u wait for others\n", index);
            abort();
        }
        u32 offset = 0;
        if (seed) {
            random = random * 1664525u + 1013904223u;
            offset = random % threads;
        }
        // Warps in turns, from thread `offset` on; the lanes before it come last.
        for (u32 i = 0; i <= b.warps.size(); i++) {
            const u32 number = (offset / 32 + i) % b.warps.size(), from = ~0u << (offset % 32);
            // One warp lags behind the others, which may then be as far ahead of it as barriers allow.
            if (seed && number == seed % (u32)b.warps.size() && (random >> 8) % 8) continue;
            u32 lanes = b.warps[number].ready & (i == 0 ? from : i == b.warps.size() ? ~from : ~0u);
            for (; lanes; lanes &= lanes - 1) {
                fiber = &b.fibers[32 * number + __builtin_ctz(lanes)];
                to_fiber(*fiber);
            }
        }
    }
    for (auto& f : b.fibers) stacks().give(f.stack);
}
inline void launch(u32 grid, u32 at_once, u32 threads, const std::function<void()>& body, u32 seed) {
    for (u32 first = 0; first < grid; first += at_once) {
        std::vector<std::thread> blocks;
        for (u32 i = first; i < grid && i < first + at_once; i++)
            blocks.emplace_back([=] { run_block(i, grid, threads, body, seed ? seed + i : 0); });
        for (auto& b : blocks) b.join();
    }
}
struct Index {
    u32 x;
};
}

#define threadIdx (shim::Index{shim::fiber->thread})
#define blockIdx (shim::Index{shim::block->index})
#define blockDim (shim::Index{shim::block->threads})
#define gridDim (shim::Index{shim::block->grid})
#define YIELD() shim::to_main()

inline void __syncthreads() { shim::block_sync(); }
inline int __syncthreads_or(int p) {
    shim::block->any |= p != 0;
    shim::block_sync();
    return (int)shim::block->any_result;
}
#define AT_LINE u32 place = __builtin_LINE()
inline void __syncwarp(u32 = ~0u, AT_LINE) { shim::warp_sync(place); }
template <class T> T __shfl_sync(u32, T v, u32 from, AT_LINE) { return shim::shuffle(v, from, place); }
template <class T> T __shfl_down_sync(u32, T v, u32 d, AT_LINE) {
    const u32 l = shim::fiber->thread & 31;
    return shim::shuffle(v, l + d < 32 ? l + d : l, place);
}
template <class T> T __shfl_up_sync(u32, T v, u32 d, AT_LINE) {
    const u32 l = shim::fiber->thread & 31;
    return shim::shuffle(v, l >= d ? l - d : l, place);
}
template <class T> T __shfl_xor_sync(u32, T v, u32 mask, AT_LINE) {
    return shim::shuffle(v, (shim::fiber->thread & 31) ^ mask, place);
}
inline u32 __reduce_or_sync(u32, u32 v, AT_LINE) {
    return shim::reduce(v, place, [](u32 a, u32 b) { return a | b; });
}
inline u32 __reduce_add_sync(u32, u32 v, AT_LINE) {
    return shim::reduce(v, place, [](u32 a, u32 b) { return a + b; });
}
inline u32 __reduce_min_sync(u32, u32 v, AT_LINE) {
    return shim::reduce(v, place, [](u32 a, u32 b) { return a < b ? a : b; });
}
inline u32 __reduce_max_sync(u32, u32 v, AT_LINE) {
    return shim::reduce(v, place, [](u32 a, u32 b) { return a > b ? a : b; });
}
inline i32 __reduce_min_sync(u32, i32 v, AT_LINE) {
    return (i32)shim::reduce((u32)v, place, [](u32 a, u32 b) { return (i32)a < (i32)b ? a : b; });
}
inline i32 __reduce_max_sync(u32, i32 v, AT_LINE) {
    return (i32)shim::reduce((u32)v, place, [](u32 a, u32 b) { return (i32)a > (i32)b ? a : b; });
}
inline u32 __ballot_sync(u32 m, bool p, AT_LINE) {
    return __reduce_or_sync(m, p ? 1u << (shim::fiber->thread & 31) : 0, place);
}
inline int __any_sync(u32 m, bool p, AT_LINE) { return __ballot_sync(m, p, place) != 0; }
inline int __all_sync(u32 m, bool p, AT_LINE) { return __ballot_sync(m, p, place) == ~0u; }
inline u32 __funnelshift_l(u32 lo, u32 hi, u32 s) {
    s &= 31;
    return s ? hi << s | lo >> (32 - s) : hi;
}
inline u32 __funnelshift_r(u32 lo, u32 hi, u32 s) {
    s &= 31;
    return s ? lo >> s | hi << (32 - s) : lo;
}
inline u32 __funnelshift_rc(u32 lo, u32 hi, u32 s) { return s >= 32 ? hi : __funnelshift_r(lo, hi, s); }
inline u32 __funnelshift_lc(u32 lo, u32 hi, u32 s) { return s >= 32 ? lo : __funnelshift_l(lo, hi, s); }
inline u32 __byte_perm(u32 a, u32 b, u32 s) {
    const u64 bytes = a | (u64)b << 32;
    u32 r = 0;
    for (int i = 0; i < 4; i++) r |= (u32)(bytes >> (8 * (s >> (4 * i) & 7)) & 0xff) << (8 * i);
    return r;
}
inline u32 sum_of_products(u32 a, u32 b, u32 sum) {
    for (int i = 0; i < 32; i += 8) sum += (a >> i & 0xff) * (b >> i & 0xff);
    return sum;
}
template <class A> u32 uniform(A number, AT_LINE) {
    static_assert(sizeof(A) <= sizeof(u32), "a word");
    const u32 x = (u32)number;
    if (shim::shuffle(x, 0, place) != x) {
        fprintf(stderr, "a promise is broken: %u is not the same on all lanes\n", x);
        abort();
    }
    return x;
}
inline u32 optimisation_barrier(u32 x) { return x; }
template <u32 LANES = 32, class T> void add_from_below(T& sum, u32 distance) {
    const T below = __shfl_up_sync(~0u, sum, distance);
    if (shim::fiber->thread % LANES >= distance) sum += below;
}
template <class Word, class Window> void add_next(Word& sum, Window& window, u32 wanted, Word low, Word factor, u32 h) {
    if (!wanted) return;
    sum += (Word)(window & low) * factor;
    window = h < 8 * sizeof window ? window >> h : 0;
}
template <class Word> void set_if_equal(u32& bits, u32 bit, Word a, Word b) {
    if (a == b) bits |= bit;
}
template <class Word> u32 with_carry(u32 bits, Word v, Word rest) { return 2 * bits + ((Word)(v + rest) < v); }
inline u32 low_ones(u32 bits) { return bits < 32 ? (1u << bits) - 1 : ~0u; }
inline u32 spread_lowest(u32 x) { return 0 - (x & 1); }
inline u32 add_halves(u32 x, u32 sum) { return (x & 0xffffu) + (x >> 16) + sum; }
inline u32 spread_highest(u32 x) { return (x >> 15 & 0x00010001u) * 0xffffu; }
inline u32 times_within(u32 all, u32 number) { return number ? all / number : ~0u; }
inline u32 least_halves(u32 a, u32 b) {
    return ((a & 0xffffu) < (b & 0xffffu) ? a : b) & 0xffffu | (a >> 16 < b >> 16 ? a : b) & ~0xffffu;
}
inline u32 most_halves(u32 a, u32 b) {
    return ((a & 0xffffu) > (b & 0xffffu) ? a : b) & 0xffffu | (a >> 16 > b >> 16 ? a : b) & ~0xffffu;
}
inline float fused(float a, float b, float c) { return std::fma(a, b, c); }
inline double fused(double a, double b, double c) { return std::fma(a, b, c); }
inline u32 top_bit(u32 x) { return x ? 31 - __builtin_clz(x) : ~0u; }
inline u32 top_bit(u64 x) { return x ? 63 - __builtin_clzll(x) : ~0u; }
inline u32 filled_up(u32 x) { return x ? ~0u >> __builtin_clz(x) : 0; }
inline int __ffs(i32 x) { return __builtin_ffs(x); }
inline int __popc(u32 x) { return __builtin_popcount(x); }
template <class T> T atomicAdd(T* p, T v) { return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST); }
template <class T> T atomicOr(T* p, T v) { return __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST); }
template <class T> T atomicCAS(T* p, T old, T v) {
    __atomic_compare_exchange_n(p, &old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return old;
}
template <class T> T atomicMax(T* p, T v) {
    T old = __atomic_load_n(p, __ATOMIC_SEQ_CST);
    while (old < v && !__atomic_compare_exchange_n(p, &old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
    return old;
}

inline void store_relaxed(u64* p, u64 v) { __atomic_store_n(p, v, __ATOMIC_RELAXED); }
inline u32 count_in(u32* p, u32 v) { return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST); }
inline u32 load_relaxed(const u32* p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
inline u32 load_relaxed(const u16* p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
inline u64 load_relaxed(const u64* p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
inline void store_relaxed(u16* p, u16 v) { __atomic_store_n(p, v, __ATOMIC_RELAXED); }
inline u64 count_if(bool wanted, u64* p) { return wanted ? __atomic_fetch_add(p, 1, __ATOMIC_RELAXED) : 0; }
inline void add_relaxed(u64* p, u64 v) { __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }
inline uint4 load_relaxed(const uint4* p) {
    const u64* w = (const u64*)p;
    const u64 a = __atomic_load_n(w, __ATOMIC_RELAXED), b = __atomic_load_n(w + 1, __ATOMIC_RELAXED);
    return make_uint4((u32)a, (u32)(a >> 32), (u32)b, (u32)(b >> 32));
}
inline uint4 load_streaming(const uint4* p) { return *p; }
inline void store_streaming(uint4* p, uint4 v) { *p = v; }
inline void copy_async(uint4* to, const uint4* from) { shim::fiber->copies.push_back({to, from}); }
inline void wait_for_copies() {
    for (const auto& [to, from] : shim::fiber->copies) *to = *from;
    shim::fiber->copies.clear();
}
// Dynamic shared memory; its addresses are places in it. Copies into it are there at once.
inline const u32 SHARED_ROOM = 232448;
inline thread_local uint4 shared_bytes[SHARED_ROOM / 16];
#define SHARED_BYTES(name) uint4* const name = shared_bytes
inline u32 shared_address(const void* p) { return (u32)((const u8*)p - (const u8*)shared_bytes); }
inline u8* shared_at(u32 at, u32 bytes) {
    if (at + bytes > SHARED_ROOM) abort();
    return (u8*)shared_bytes + at;
}
inline void copy_async(u32 to, const u8* from, u32 bytes) {
    uint4 q = make_uint4(0, 0, 0, 0);
    memcpy(&q, from, bytes < 16 ? bytes & ~3u : 16);
    memcpy(shared_at(to, 16), &q, 16);
}
inline void close_lot() {}
inline void wait_for_older_lots() {}
inline u32 load_shared16(u32 at) {
    u16 v;
    memcpy(&v, shared_at(at, 2), 2);
    return v;
}
inline u32 load_shared32(u32 at) {
    u32 v;
    memcpy(&v, shared_at(at, 4), 4);
    return v;
}
inline void store_element(u8* p, u32 v) { *(u32*)p = v; }
inline void store_element(u8* p, u64 v) { *(u64*)p = v; }
inline u32 at_word(u32 at, u32 i) { return at + 4 * i; }
inline void store_shared32(u32 at, u32 v) { memcpy(shared_at(at, 4), &v, 4); }
inline u32 high_product(u32 a, u32 b) { return (u32)((u64)a * b >> 32); }
inline void store_relaxed(u32* p, u32 v) { __atomic_store_n(p, v, __ATOMIC_RELAXED); }
inline void prefetch(const u8*) {}
inline void hold_back() {}
inline void hold_back_for(u32) { hold_back(); }

inline float float_of(u32 b) {
    float f;
    memcpy(&f, &b, 4);
    return f;
}
inline double float_of(u64 b) {
    double f;
    memcpy(&f, &b, 8);
    return f;
}
inline u32 bits_of(float f) {
    u32 b;
    memcpy(&b, &f, 4);
    return b;
}
inline u64 bits_of(double f) {
    u64 b;
    memcpy(&b, &f, 8);
    return b;
}
// Exact for the numbers that the quantizer makes: those that binary16 has.
inline u32 halves_of(float lo, float hi) {
    auto half = [](float x) {
        const float magnitude = float_of(bits_of(x) & 0x7fffffffu) * float_of(0x07800000u);
        return bits_of(magnitude) >> 13 | (bits_of(x) >> 16 & 0x8000u);
    };
    return half(lo) | half(hi) << 16;
}
inline float float_of_half(u32 b) {
    const u32 sign = (b & 0x8000u) << 16;
    if ((b & 0x7c00u) == 0x7c00u) return float_of(sign | 0x7f800000u | (b & 0x3ffu) << 13);
    return float_of(bits_of(float_of((b & 0x7fffu) << 13) * float_of(0x77800000u)) | sign);
}
