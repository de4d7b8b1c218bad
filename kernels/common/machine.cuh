// No twin in src.
// What the kernels of codecs need of the machine they run on, besides what all do.
#pragma once
#include "platform.cuh"
#ifndef SLEEK_CPU
// Arguments stay where the launch puts them, also where something points to them.
#undef KERNEL
#define KERNEL(name, Args, ...) \
    extern "C" __global__ void __launch_bounds__(__VA_ARGS__) name(const __grid_constant__ Args a)
// What happens seldom, and has registers of its own.
#define SELDOM __device__ __noinline__
#define CONSTANT static __device__ const
DEV void store_relaxed(u32* p, u32 v) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
#endif
