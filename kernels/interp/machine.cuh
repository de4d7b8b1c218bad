// No twin in src.
// What the kernels of codec interp need of the machine they run on, besides what all do.
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
DEV void store_element(u8* p, u32 v) { asm volatile("st.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }
DEV void store_element(u8* p, u64 v) { asm volatile("st.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory"); }
// The high half of a product.
DEV u32 high_product(u32 a, u32 b) { return __umulhi(a, b); }
#endif
