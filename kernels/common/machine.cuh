// No twin in src.
// What the kernels of codecs with tiles need of the machine they run on, besides what all do.
#pragma once
#include "platform.cuh"
#ifndef SLEEK_CPU
// What happens seldom, and has registers of its own.
#define SELDOM __device__ __noinline__
#define CONSTANT static __device__ const
DEV void store_relaxed(u32* p, u32 v) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
#endif
