// The value range of an array: smallest and largest finite element other than the fill value.
#pragma once
#include "compress.cuh"

DEV u64 warp_max(u64 x) { return ~warp_min(~x); }

template <class T> DEV void measure_range(const CompressArgs& a) {
    typedef typename T::Float Float;
    const Float infinity = (Float)float_of(0x7f800000u), fill = (Float)a.fill;
    const Share share(a.batch);
    const Item item = a.batch.item(share.item);
    const u64 raw_bytes = item.count * (T::BITS / 8), all = sizeof(Float) == 8 ? ~0ull : 0xffffffffull;
    u64 most = 0, least = 0;    // largest key, largest inverted key
    for (u64 at = (u64)share.rank * CHUNK_BYTES; at < raw_bytes; at += (u64)share.of * CHUNK_BYTES) {
        Source source;
        source.start = item.src + at;
        source.bytes = (u32)min_of(raw_bytes - at, (u64)CHUNK_BYTES);
        source.whole = source.bytes == CHUNK_BYTES && ((u64)item.src & 15) == 0;
        for (u32 i = 16 * threadIdx.x; i < source.bytes; i += 16 * blockDim.x) {
            uint4 q = source.load<T>(i, true);
            if (a.big_endian) q = swap_bytes<T>(q);
            typename T::Word v[T::VALUES];
            split(q, v);
#pragma unroll
            for (int j = 0; j < T::VALUES; j++) {
                const Float x = Quantizer<T>::number_of_element(v[j]);
                if (!(x < infinity && x > -infinity) || (a.has_fill && x == fill)) continue;
                const u64 key = order_of(x + (Float)0);    // −0 counts as 0
                most = key > most ? key : most;
                least = all - key > least ? all - key : least;
            }
        }
    }
    most = warp_max(most);
    least = warp_max(least);
    if ((threadIdx.x & 31) || most == 0) return;
    u64* range = a.batch.slots[share.item].control.range;
    atomicMax(&range[0], most);
    atomicMax(&range[1], least);
}
