// No twin in src.
// What the kernels need of the machine they run on: CUDA, or the fibers of tests/gpu/cpu_shim.h when SLEEK_CPU is
// defined.
#pragma once
#ifdef SLEEK_CPU
#include "../../tests/gpu/cpu_shim.h"
#else
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;
#define DEV __device__ __forceinline__
// A kernel of one argument struct, with the bounds of its launch: threads of a block, from which the host knows them,
// and blocks on a multiprocessor.
#define KERNEL(name, Args, ...) extern "C" __global__ void __launch_bounds__(__VA_ARGS__) name(const Args a)
// The same where the work is divided by the number of blocks; blocks of the others take turns, so that any number of
// them does it all.
#define GRID_KERNEL KERNEL
#define SHARED __shared__
#define YIELD()
// A tenth of a microsecond: who asks at once again for what is not there yet holds up those who write it.
DEV void hold_back() { asm volatile("nanosleep.u32 100;"); }
DEV void hold_back_for(u32 nanoseconds) { asm volatile("nanosleep.u32 %0;" ::"r"(nanoseconds)); }

// Relaxed accesses: value and "it is there" are one word, so no fence is needed.
DEV void store_relaxed(u64* p, u64 v) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}
DEV void store_relaxed(u16* p, u16 v) {
    asm volatile("st.relaxed.gpu.global.u16 [%0], %1;" ::"l"(p), "h"(v) : "memory");
}
DEV uint4 load_relaxed(const uint4* p) {
    uint4 v;
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p)
                 : "memory");
    return v;
}
DEV u64 load_relaxed(const u64* p) {
    u64 v;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
    return v;
}
DEV u32 load_relaxed(const u32* p) {
    u32 v;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
DEV u32 load_relaxed(const u16* p) {
    u16 v;
    asm volatile("ld.relaxed.gpu.global.u16 %0, [%1];" : "=h"(v) : "l"(p) : "memory");
    return v;
}
// Sums in global memory that nobody waits for.
DEV void add_relaxed(u64* p, u64 v) {
    asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}
// Adds to a counter in global memory, after what this thread did; what was there. Whoever sees the sum sees that too.
DEV u32 count_in(u32* p, u32 v) {
    u32 before;
    asm volatile("fence.acq_rel.gpu;\n\tatom.relaxed.gpu.global.add.u32 %0, [%1], %2;\n\tfence.acq_rel.gpu;"
                 : "=r"(before)
                 : "l"(p), "r"(v)
                 : "memory");
    return before;
}
// Adds 1 to a counter in global memory where `wanted`; what was there. No branch, so that nobody waits before this is
// used, and no constant, which ptxas would add up over the lanes, to wait for the result and tell each its own.
DEV u64 count_if(bool wanted, u64* p) {
    u64 before = 0;
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %1, 0;\n\t@p atom.relaxed.gpu.global.add.u64 %0, [%2], %3;\n\t}"
                 : "+l"(before)
                 : "r"((u32)wanted), "l"(p), "l"((u64)wanted)
                 : "memory");
    return before;
}
// Data that is touched once: keep it from pushing out what is still needed.
DEV uint4 load_streaming(const uint4* p) { return __ldcs(p); }
DEV void store_streaming(uint4* p, uint4 v) { __stcs(p, v); }
// From global to shared memory, past the registers; there once the thread that asked has waited.
DEV void copy_async(uint4* to, const uint4* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((u32)__cvta_generic_to_shared(to)), "l"(from)
                 : "memory");
}
DEV void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }
DEV void prefetch(const u8* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }

// The place of the highest one; −1 for 0. It is one instruction, counting the zeros above it is two.
DEV u32 top_bit(u32 x) {
    u32 r;
    asm("bfind.u32 %0, %1;" : "=r"(r) : "r"(x));
    return r;
}
// No bfind of 64 bits, of which ptxas makes a branch.
DEV u32 top_bit(u64 x) {
    const u32 high = (u32)(x >> 32), place = top_bit(high ? high : (u32)x);
    return high ? place + 32 : place;
}
// All bits from the highest one down; none for 0.
DEV u32 filled_up(u32 x) {
    u32 r;
    asm("{\n\t.reg .u32 above;\n\tbfind.shiftamt.u32 above, %1;\n\tshr.u32 %0, 0xffffffff, above;\n\t}"
        : "=r"(r)
        : "r"(x));
    return r;
}
// A promise that all lanes of a warp are here, with the same value: branches on it are marked for ptxas
// (kernels/uniform.py). The CPU checks it, and that nothing longer is asked.
DEV u32 uniform(u32 x) {
    u32 r;
    asm("mov.b32 %0, %1; // uniform" : "=r"(r) : "r"(x));
    return r;
}
// The same number, computed here once, as the optimiser must think it new: the compiler would rather compute it again
// wherever it is used.
DEV u32 optimisation_barrier(u32 x) {
    asm("" : "+r"(x));
    return x;
}
// Adds to a sum that of the lane `distance` below, if there is one among those LANES that belong together: the shuffle
// itself tells.
template <u32 LANES = 32> DEV void add_from_below(u32& sum, u32 distance) {
    asm volatile(
        "{\n\t.reg .pred p;\n\t.reg .b32 r;\n\t"
        "shfl.sync.up.b32 r|p, %0, %1, %2, 0xffffffff;\n\t"
        "@p add.u32 %0, %0, r;\n\t}"
        : "+r"(sum)
        : "r"(distance), "n"((32 - LANES) << 8));
}
DEV void add_from_below(u64& sum, u32 distance) {
    u32 low = (u32)sum, high = (u32)(sum >> 32);
    asm volatile(
        "{\n\t.reg .pred p;\n\t.reg .b32 r, s;\n\t"
        "shfl.sync.up.b32 r|p, %0, %2, 0, 0xffffffff;\n\tshfl.sync.up.b32 s|p, %1, %2, 0, 0xffffffff;\n\t"
        "@p add.cc.u32 %0, %0, r;\n\t@p addc.u32 %1, %1, s;\n\t}"
        : "+r"(low), "+r"(high)
        : "r"(distance));
    sum = low | (u64)high << 32;
}
// Whether v + rest goes beyond the word, as another bit below those in `bits`.
DEV u32 with_carry(u32 bits, u32 v, u32 rest) {
    asm("{\n\t.reg .u32 sum;\n\tadd.cc.u32 sum, %1, %2;\n\taddc.u32 %0, %0, %0;\n\t}" : "+r"(bits) : "r"(v), "r"(rest));
    return bits;
}
DEV u32 with_carry(u32 bits, u64 v, u64 rest) {
    asm("{\n\t.reg .u64 sum;\n\tadd.cc.u64 sum, %1, %2;\n\taddc.u32 %0, %0, %0;\n\t}" : "+r"(bits) : "l"(v), "l"(rest));
    return bits;
}
// Sets a bit where a and b are equal: in two instructions, of which the compiler would make three.
DEV void set_if_equal(u32& bits, u32 bit, u32 a, u32 b) {
    asm("{\n\t.reg .pred p;\n\tsetp.eq.u32 p, %1, %2;\n\t@p or.b32 %0, %0, %3;\n\t}"
        : "+r"(bits)
        : "r"(a), "r"(b), "r"(bit));
}
DEV void set_if_equal(u32& bits, u32 bit, u64 a, u64 b) {
    asm("{\n\t.reg .pred p;\n\tsetp.eq.u64 p, %1, %2;\n\t@p or.b32 %0, %0, %3;\n\t}"
        : "+r"(bits)
        : "l"(a), "l"(b), "r"(bit));
}
// Both halves of x, and `sum`.
DEV u32 add_halves(u32 x, u32 sum) {
    u32 r;
    asm("dp2a.lo.u32.u32 %0, %1, 257, %2;" : "=r"(r) : "r"(x), "r"(sum));
    return r;
}
// Σ of the products of the bytes of a and b, and `sum`.
DEV u32 sum_of_products(u32 a, u32 b, u32 sum) {
    u32 r;
    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(sum));
    return r;
}
// If `wanted` is not 0, adds to a sum the bits of `window` that are in `low`, times `factor`, and these h bits leave
// the window. No branches, as the compiler would make them.
DEV void add_next(u32& sum, u32& window, u32 wanted, u32 low, u32 factor, u32 h) {
    asm("{\n\t.reg .pred p;\n\t.reg .u32 x;\n\tsetp.ne.u32 p, %2, 0;\n\tand.b32 x, %1, %3;\n\t"
        "@p mad.lo.u32 %0, x, %4, %0;\n\t@p shr.u32 %1, %1, %5;\n\t}"
        : "+r"(sum), "+r"(window)
        : "r"(wanted), "r"(low), "r"(factor), "r"(h));
}
DEV void add_next(u32& sum, u64& window, u32 wanted, u32 low, u32 factor, u32 h) {
    asm("{\n\t.reg .pred p;\n\t.reg .u32 x;\n\tsetp.ne.u32 p, %2, 0;\n\tcvt.u32.u64 x, %1;\n\tand.b32 x, x, %3;\n\t"
        "@p mad.lo.u32 %0, x, %4, %0;\n\t"
        "@p shr.u64 %1, %1, %5;\n\t}"
        : "+r"(sum), "+l"(window)
        : "r"(wanted), "r"(low), "r"(factor), "r"(h));
}
template <class Window> DEV void add_next(u64& sum, Window& window, u32 wanted, u64 low, u64 factor, u32 h) {
    if (!wanted) return;
    sum += (window & low) * factor;
    window >>= h;
}
// The low `bits` bits set, at most 32.
DEV u32 low_ones(u32 bits) {
    u32 r;
    asm("bmsk.clamp.b32 %0, 0, %1;" : "=r"(r) : "r"(bits));
    return r;
}
// All bits as the lowest one.
DEV u32 spread_lowest(u32 x) {
    u32 r;
    asm("szext.clamp.s32 %0, %1, 1;" : "=r"(r) : "r"(x));
    return r;
}
// Of each half, all bits as its highest one.
DEV u32 spread_highest(u32 x) {
    u32 r;
    asm("prmt.b32 %0, %1, 0, 0xbb99;" : "=r"(r) : "r"(x));
    return r;
}
// Of each half the smaller and the larger number, below 0x7c00: those are in the order of the numbers of 16 bits that
// they are the bits of.
DEV u32 least_halves(u32 a, u32 b) {
    u32 r;
    asm("min.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
DEV u32 most_halves(u32 a, u32 b) {
    u32 r;
    asm("max.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
// a·b + c, rounded once. Only where the product is exact; a test looks for others, which a compiler might have made.
DEV float fused(float a, float b, float c) {
    float r;
    asm("fma.rn.f32 %0, %1, %2, %3; // exact" : "=f"(r) : "f"(a), "f"(b), "f"(c));
    return r;
}
DEV double fused(double a, double b, double c) {
    double r;
    asm("fma.rn.f64 %0, %1, %2, %3; // exact" : "=d"(r) : "d"(a), "d"(b), "d"(c));
    return r;
}
// Two floats to binary16, rounded to nearest; the first into the low half.
DEV u32 halves_of(float lo, float hi) {
    u32 r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
    return r;
}
DEV float float_of_half(u32 bits) {
    float r;
    asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"((u16)bits));
    return r;
}
// How many times a number above 0 is within `all`, both small: half a unit more than that divided by it is never a
// whole number.
DEV u32 times_within(u32 all, u32 number) {
    float quotient;
    u32 r;
    asm("div.approx.f32 %0, %1, %2;" : "=f"(quotient) : "f"((float)all + 0.5f), "f"((float)number));
    asm("cvt.rzi.u32.f32 %0, %1;" : "=r"(r) : "f"(quotient));
    return r;
}
DEV float float_of(u32 bits) { return __uint_as_float(bits); }
DEV u32 bits_of(float v) { return __float_as_uint(v); }
DEV double float_of(u64 bits) { return __longlong_as_double((i64)bits); }
DEV u64 bits_of(double v) { return (u64)__double_as_longlong(v); }
#endif

#define FULL 0xffffffffu
// What one prefetch brings.
#define LINE_BYTES 128

DEV u32 min_of(u32 a, u32 b) { return a < b ? a : b; }
DEV u64 min_of(u64 a, u64 b) { return a < b ? a : b; }

// Σ over the warp, on every lane. Three warp-wide adds of 22-bit pieces are cheaper than ten shuffles.
DEV u64 warp_sum(u64 v) {
    const u32 piece = (1u << 22) - 1;
    const u64 low = __reduce_add_sync(FULL, (u32)v & piece);
    const u64 middle = __reduce_add_sync(FULL, (u32)(v >> 22) & piece);
    const u64 high = __reduce_add_sync(FULL, (u32)(v >> 44));
    return low + (middle << 22) + (high << 44);
}

// Σ over the lanes up to this one.
template <class Word> DEV Word warp_running_sum(Word sum) {
    add_from_below(sum, 1);
    add_from_below(sum, 2);
    add_from_below(sum, 4);
    add_from_below(sum, 8);
    add_from_below(sum, 16);
    return sum;
}
// The same over those LANES that belong together.
template <u32 LANES> DEV u32 running_sum(u32 sum) {
#pragma unroll
    for (u32 distance = 1; distance < LANES; distance *= 2) add_from_below<LANES>(sum, distance);
    return sum;
}

// The top bit of each byte that is not 0.
DEV u32 used_bytes(u32 x) { return (((x & 0x7f7f7f7fu) + 0x7f7f7f7fu) | x) & 0x80808080u; }
