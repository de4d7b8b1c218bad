// Twin: src/codec/interp/quantize/encode.rs
// What whole tiles are read as, and where their codes stand until they are words: numbers of the lattice less that of
// the tile's first element, and a list of the elements that are multiples already but restored as others.
#pragma once
#include "stages.cuh"

namespace interp::encoder {

enum : u32 { PREDICT_THREADS = 128, MOST_ON = ELEMENTS / MANY_MULTIPLES };

// The whole number nearest to d / STEP, and so much; STEP is odd.
template <i32 STEP, i32 MORE = 0> DEV i32 nearest_multiple(i32 d) {
    constexpr i64 INVERSE = ((1ll << 32) + STEP / 2) / STEP;
    return (i32)(((i64)d * INVERSE + ((i64)MORE << 32) + (1ll << 31)) >> 32);
}

template <class T> struct Four {
    typename T::Float v[4];
};

// The elements of a whole tile in the array.
template <class T> struct Elements {
    typedef typename T::Float Float;
    enum : u32 { SIZE = T::BITS / 8 };
    const u8* at;
    u64 y_step, z_step;    // bytes from one row to the next, and from one plane to the next
    bool is_aligned;       // all rows begin at a multiple of 16 bytes
    Float fine, inverse, near;
    i32 base;

    DEV u64 row(u32 y, u32 z) const { return y * y_step + z * z_step; }
    DEV Float element(u64 place) const { return *(const Float*)(at + place); }
    DEV Four<T> four(u64 place) const {
        const u8* const p = at + place;
        Four<T> f;
        if (is_aligned) {
            typename T::Word w[SIZE / 4][T::VALUES];
#pragma unroll
            for (u32 i = 0; i < SIZE / 4; i++) split(((const uint4*)p)[i], w[i]);
#pragma unroll
            for (u32 i = 0; i < 4; i++) f.v[i] = float_of(w[i / T::VALUES][i % T::VALUES]);
        } else {
#pragma unroll
            for (u32 i = 0; i < 4; i++) f.v[i] = ((const Float*)p)[i];
        }
        return f;
    }
    static DEV Float magic() { return magic_of((Float)0); }
    // A number that is far has no meaning.
    DEV i32 multiple(Float v) const { return (i32)((u32)bits_of(v * inverse + magic()) - (u32)bits_of(magic())); }
    DEV i32 number(Float v) const { return (i32)(multiple(v) - (u32)base); }
    static DEV Float magnitude(Float v) { return v < 0 ? -v : v; }
    DEV bool is_on(Float v) const { return ((v * inverse + magic()) - magic()) * fine == v; }
    DEV i32 bin(Float v) const { return nearest_multiple<LATTICE_STEP>(multiple(v)); }
};

// What was met among elements.
struct Found {
    bool all_near;    // none is far
    u32 far;          // all bits of numbers with so much, of f64
    u32 any;          // all bits of numbers
    enum : u32 { MORE = 1 << 18 };

    DEV bool is_good() const { return all_near && far < 2 * MORE; }
};
// The number of an element; what was found, and whether it is equal to a multiple.
template <class T> DEV u32 number_of(const Elements<T>& e, typename T::Float v, Found& found, bool& on) {
    typedef typename T::Float Float;
    const Float quotient = v * e.inverse, with = quotient + e.magic();
    const u32 number = (u32)bits_of(with) - (u32)bits_of(e.magic()) - e.base;
    found.all_near &= e.magnitude(quotient) < e.near;
    found.any |= number;
    if (T::BITS == 64) found.far |= number + Found::MORE;
    on |= fused(with - e.magic(), e.fine, -v) == 0;
    return number;
}

// The codes of a tile in shared memory, signed: the first LONG_CODES with 16 bits, the others with 8; or all with 16.
template <bool BY16> struct TileCodes {
    enum : u32 { BYTES = BY16 ? 2u << TILE_LOG2 : LONG_CODES + (1u << TILE_LOG2), BITS = BY16 ? 16 : 8 };
    u8* at;
    u32 far;    // all bits of codes with so much that those that can be kept have none above

    // Codes the multiple of STEP nearest to d, which comes back. LONG: code n is one of the first.
    template <i32 STEP, bool LONG> DEV u32 put(u32 n, i32 d) {
        const i32 code = nearest_multiple<STEP>(d);
        keep<LONG>(n, code);
        return (u32)code * STEP;
    }
    template <bool LONG> DEV void keep(u32 n, i32 code) {
        if (BY16 || LONG || n < LONG_CODES) {
            far |= ((u32)code + (1 << 15)) >> 16 << 16;
            ((short*)at)[n] = (short)code;
        } else {
            far |= (u32)code + 128;
            at[LONG_CODES + n] = (u8)code;
        }
    }
    // The same of the finest level.
    template <i32 STEP> DEV u32 put_fine(u32 n, i32 d) {
        constexpr i32 MORE = 1 << (BITS - 1);
        const i32 with = nearest_multiple<STEP, MORE>(d), code = with - MORE;
        far |= (u32)with;
        if (BY16)
            ((short*)at)[n] = (short)code;
        else
            at[LONG_CODES + n] = (u8)code;
        return (u32)code * STEP;
    }
    DEV bool is_kept() const { return far >> BITS == 0; }
    // What four codes of a lane of a group are, in one word or two.
    DEV uint2 quad(u32 g, u32 lane) const {
        if (BY16 || g < LONG_CODES / GROUP) return *(const uint2*)(at + 2 * GROUP * g + 8 * lane);
        return make_uint2(*(const u32*)(at + LONG_CODES + GROUP * g + 4 * lane), 0);
    }
};

// Elements of a tile that are multiples, and those among them that are restored as others. In the shared memory of a
// block.
struct Corrections {
    u32 on, count, off_bins;    // multiples; those that are corrected; those that are no bins
    u32 keys[MOST_ON];          // place and correction
    u16 places[MOST_ON];        // of multiples, and what they are restored as
    u32 restored[MOST_ON];

    DEV void clear() { on = count = off_bins = 0; }
    // A multiple; by one thread.
    DEV void add(u32 place, u32 r) {
        const u32 i = atomicAdd(&on, 1u);
        if (i >= MOST_ON) return;
        places[i] = (u16)place;
        restored[i] = r;
    }
    // Compares element i of the list, v, with the number that it is restored as.
    template <class T> DEV void compare(const Elements<T>& from, u32 i, typename T::Float v, u32 r) {
        const i32 by = (i32)(from.number(v) - r);
        if (from.multiple(v) % (i32)LATTICE_STEP) atomicAdd(&off_bins, 1u);
        if (by) keys[atomicAdd(&count, 1u)] = (u32)places[i] << KIND_BITS | (u32)(by + (i32)NO_CORRECTION);
    }
};

}    // namespace interp::encoder
