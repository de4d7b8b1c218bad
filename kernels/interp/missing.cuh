// Twin: src/missing/plane.rs, src/missing/gaps/mod.rs
// Missing values taken out of a tile that is compressed, and the plane that tells where they are
// (docs/reference/format.md §5).
#pragma once
#include "survey.cuh"

namespace interp::encoder {

// Elements of a block of a plane.
DEV u32 block_of_plane(u32 capacity) { return capacity / 32 > 64 ? capacity / 32 : 64; }

// Marks the missing values among the elements, and puts others in their places: in each block of the plane the element
// before them, at its start the first that is there, and in a block of nothing else the first of all. Which value all
// elements are, or ~0. For a whole block; a barrier before and behind.
template <class T> SELDOM u32 take_out(Desk<T>& d) {
    typedef typename T::Word Word;
    const u32 n = d.n, whole = (n + 31) / 32 * 32, values = d.head.values,
              block = block_of_plane(d.head.grid.capacity());
    Word* const elements = d.elements();
    u32 counts[MAX_MISSING] = {0, 0, 0, 0}, first = ~0u, any = 0;
    u32* const there = d.spare_mask();
#pragma unroll 1
    for (u32 i = threadIdx.x; i < whole; i += blockDim.x) {
        const Word own = i < n ? elements[i] : 0;
        bool missing = false;
#pragma unroll
        for (u32 k = 0; k < MAX_MISSING; k++) {
            if (k >= values) break;
            const bool is_it = i < n && own == (Word)d.head.missing[k];
            put_bit(d.value_mask(k), i, is_it);
            counts[k] += is_it;
            missing |= is_it;
        }
        put_bit(d.missing(), i, missing);
        put_bit(there, i, i < n && !missing);
        if (i < n && !missing && first == ~0u) first = i;
    }
    first = block_min(first, d.part);
    u32 which = 0, all = ~0u;
#pragma unroll
    for (u32 k = 0; k < MAX_MISSING; k++) {
        const u32 count = block_sum(counts[k], d.part);
        any += count;
        which |= (u32)(count > 0) << k;
        if (count == n) all = k;
    }
    if (threadIdx.x == 0) {
        d.masked = any > 0;
        d.which = which;
    }
    __syncthreads();
    if (!any || all != ~0u || first == ~0u) return all;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
        if (!has_bit(d.missing(), i)) continue;
        const u32 begin = i / block * block, end = min_of(n, begin + block);
        u32 from = bit_before(there, i);
        if (from == ~0u || from < begin) {
            from = first;
            for (u32 w = begin / 32; 32 * w < end; w++)
                if (there[w]) {
                    from = 32 * w + __ffs((i32)there[w]) - 1;
                    break;
                }
        }
        elements[i] = elements[from];
    }
    __syncthreads();
    return all;
}

// Word w of 64 bits of the mask of a value; behind the last element it goes on as there.
template <class T> DEV u64 mask_word(const Desk<T>& d, u32 k, u32 w) {
    const u32 *const mask = d.value_mask(k), n = d.n, words = (n + 31) / 32;
    const u64 word = (2 * w < words ? mask[2 * w] : 0) | (u64)(2 * w + 1 < words ? mask[2 * w + 1] : 0) << 32;
    if (64 * (w + 1) <= n) return word;
    const u64 state = has_bit(mask, n - 1) ? ~0ull : 0;
    return 64 * w >= n ? state : word | state << (n % 64);
}

// Writes the plane, but for the kind of the body behind it; its bytes. Lane b has block b of each mask. For a whole
// warp.
template <class T> SELDOM u32 write_plane(Desk<T>& d) {
    const u32 lane = threadIdx.x & 31, capacity = d.head.grid.capacity(), block = block_of_plane(capacity),
              words = block / 64, blocks = (capacity + block - 1) / block;
    u8* const out = d.plane();
    u32 at = 4;
#pragma unroll 1
    for (u32 k = 0; k < d.head.values; k++) {
        if (!(d.which >> k & 1)) continue;
        // All words of the mask that there are belong to blocks.
        const u32 all = (capacity + 63) / 64;
        const auto change = [&](u32 w) {
            const u32 i = lane * words + w;
            const u64 word = mask_word(d, k, i), before = w == 0 ? word & 1 : mask_word(d, k, i - 1) >> 63;
            return word ^ (word << 1 | before);
        };
        u32 bytes = 0;
        bool starts = false;
        if (lane < blocks) {
            starts = mask_word(d, k, lane * words) & 1;
            for (u32 w = 0; w < words && lane * words + w < all; w++) {
                const u64 changes = change(w);
                bytes += __popc(used_bytes((u32)changes)) + __popc(used_bytes((u32)(changes >> 32)));
            }
        }
        __syncwarp();
        const u32 first = __ballot_sync(FULL, starts), mixed = __ballot_sync(FULL, bytes > 0),
                  up_to = warp_running_sum(bytes), total = __shfl_sync(FULL, up_to, 31);
        const u32 of_words = min_of(words, all);
        u32 flags_at = at + 8 + of_words * __popc(mixed & low_ones(lane)),
            bytes_at = at + 8 + of_words * __popc(mixed) + up_to - bytes;
        if (lane < 4) {
            out[at + lane] = (u8)(first >> (8 * lane));
            out[at + 4 + lane] = (u8)(mixed >> (8 * lane));
        }
        if (bytes)
            for (u32 w = 0; w < of_words; w++) {
                const u64 changes = change(w);
                u32 flags = 0;
                for (u32 j = 0; j < 8; j++) {
                    const u8 byte = (u8)(changes >> (8 * j));
                    if (byte) {
                        flags |= 1 << j;
                        out[bytes_at++] = byte;
                    }
                }
                out[flags_at++] = (u8)flags;
            }
        at += 8 + of_words * __popc(mixed) + total;
        __syncwarp();
    }
    const u32 end = (at + UNIT - 1) / UNIT * UNIT;
    if (lane == 0) {
        for (u32 i = at; i < end; i++) out[i] = 0;
        out[0] = (u8)d.which;
        out[1] = 0;
        *(u16*)(out + 2) = (u16)(end / UNIT);
    }
    __syncwarp();
    return end;
}

}    // namespace interp::encoder
