// What the kernels of codec ratio need of the machine they run on, besides what all do.
#pragma once
#include "../common/machine.cuh"
#ifndef SLEEK_CPU
// From global to shared memory, the first `bytes` of 16, as far as they are whole words, behind which zeros come to
// stand; `to` as an address in shared memory. Nothing behind them is read.
DEV void copy_async(u32 to, const u8* from, u32 bytes) {
    if (bytes >= 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
        return;
    }
#pragma unroll
    for (u32 k = 0; k < 16; k += 4)
        if (k + 4 <= bytes)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to + k), "l"(from + k) : "memory");
        else
            asm volatile("st.shared.u32 [%0], %1;" ::"r"(to + k), "r"(0) : "memory");
}
// What was asked for since the last time becomes one lot; waits for all lots but the last.
DEV void close_lot() { asm volatile("cp.async.commit_group;" ::: "memory"); }
DEV void wait_for_older_lots() { asm volatile("cp.async.wait_group 1;" ::: "memory"); }
// The memory that the blocks of a launch share, as long as the host says, and places in it as addresses.
#define SHARED_BYTES(name) extern __shared__ uint4 name[]
DEV u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
// Nothing but these reads and writes what is at such addresses while a tile is coded, so that the compiler keeps its
// order without being told that memory changed.
DEV u32 load_shared16(u32 at) {
    u16 v;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(v) : "r"(at));
    return v;
}
DEV u32 load_shared32(u32 at) {
    u32 v;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(at));
    return v;
}
// The address of word i from `at` on, as one instruction.
DEV u32 at_word(u32 at, u32 i) {
    u32 r;
    asm("mad.lo.u32 %0, %1, 4, %2;" : "=r"(r) : "r"(i), "r"(at));
    return r;
}
DEV void store_shared32(u32 at, u32 v) { asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(v)); }
DEV void store_shared16(u32 at, u32 v) { asm volatile("st.shared.u16 [%0], %1;" ::"r"(at), "h"((u16)v)); }
DEV void count_shared(u32 at) { asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(at)); }
DEV uint2 load_shared64(u32 at) {
    uint2 v;
    asm volatile("ld.shared.v2.u32 {%0,%1}, [%2];" : "=r"(v.x), "=r"(v.y) : "r"(at));
    return v;
}
DEV uint4 load_shared128(u32 at) {
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(at));
    return v;
}
DEV void store_shared128(u32 at, uint4 v) {
    asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(at), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w));
}
// What nobody writes while a kernel runs, and is read once.
template <class Word> DEV Word load_once(const Word* p) { return __ldg(p); }
// Where `wanted`, puts the low half of x so many halves in front of `end`, and its high half takes its place.
DEV void put_word_if(bool wanted, u8* end, u32 halves, u32& x) {
    asm volatile(
        "{\n\t.reg .pred p;\n\t.reg .b64 a;\n\t.reg .b16 h;\n\tsetp.ne.u32 p, %1, 0;\n\t"
        "mad.wide.s32 a, %2, -2, %3;\n\tcvt.u16.u32 h, %0;\n\t@p st.global.u16 [a], h;\n\t@p shr.u32 %0, %0, 16;\n\t}"
        : "+r"(x)
        : "r"((u32)wanted), "r"(halves), "l"(end)
        : "memory");
}
// Makes a word of 0 one of 1, if it is 0; and 0 again, after all that this warp did.
DEV bool take_word(u32* p) { return atomicCAS(p, 0u, 1u) == 0 && (__threadfence(), true); }
DEV void give_word(u32* p) {
    __threadfence();
    atomicExch(p, 0u);
}
// The high half of a product.
DEV u32 high_product(u32 a, u32 b) { return __umulhi(a, b); }
// Adds to a sum that of the lane `distance` below, if there is one among those that belong together, of which
// `clamp` tells how many they are: 32 less that, times 256.
DEV void add_from_below_clamped(u32& sum, u32 distance, u32 clamp) {
    asm volatile(
        "{\n\t.reg .pred p;\n\t.reg .b32 r;\n\t"
        "shfl.sync.up.b32 r|p, %0, %1, %2, 0xffffffff;\n\t"
        "@p add.u32 %0, %0, r;\n\t}"
        : "+r"(sum)
        : "r"(distance), "r"(clamp));
}
DEV void add_from_below_clamped(u64& sum, u32 distance, u32 clamp) {
    u32 low = (u32)sum, high = (u32)(sum >> 32);
    asm volatile(
        "{\n\t.reg .pred p;\n\t.reg .b32 r, s;\n\t"
        "shfl.sync.up.b32 r|p, %0, %2, %3, 0xffffffff;\n\tshfl.sync.up.b32 s|p, %1, %2, %3, 0xffffffff;\n\t"
        "@p add.cc.u32 %0, %0, r;\n\t@p addc.u32 %1, %1, s;\n\t}"
        : "+r"(low), "+r"(high)
        : "r"(distance), "r"(clamp));
    sum = low | (u64)high << 32;
}
#endif
