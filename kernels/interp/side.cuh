// Twin: src/codec/interp/body/form.rs
// What stands between base and patches of a tile of elements' bits (docs/reference/codecs/interp.md §8): it is read and
// checked once, before the codes, and used as numbers come.
#pragma once
#include "../common/element.cuh"
#include "coder.cuh"

namespace interp {

// Which words stand for elements.
enum Order : u32 { NUMBERS, DECIMALS, RANKS };

// What is said there, and where lists stand: bytes from the body's first on.
struct Side {
    u32 shift, order;
    u32 digits;           // of decimals
    u32 list_at, list;    // the places of elements that are no decimals, and their bits; or ranks. And how many
};

// Reads and checks it for n elements, from `at` on, which moves behind it. For a whole warp.
template <class T> SELDOM bool read_side(const u8* body, u32 bytes, u32 n, bool is_float, u32& at, Side& side) {
    enum { SIZE = T::BITS / 8 };
    const u32 lane = threadIdx.x & 31;
    if (!has_bytes(at, bytes, 2)) return false;
    const u32 form = read16(body + at);
    at += 2;
    side.shift = form & 63;
    side.order = form >> 6;
    if (side.shift >= T::BITS || side.order > RANKS || (side.order && side.shift)) return false;
    if (side.order == DECIMALS) {
        if (!is_float || T::BITS < 32 || !has_bytes(at, bytes, 4)) return false;
        side.digits = read16(body + at);
        side.list = read16(body + at + 2);
        side.list_at = at += 4;
        if (side.digits > MOST_DIGITS || !has_bytes(at, bytes, side.list * (2 + SIZE))) return false;
        bool good = true;
#pragma unroll 1
        for (u32 i = lane; i < side.list; i += 32) {
            const u32 place = read16(body + at + 2 * i);
            good &= place < n && (i == 0 || place > read16(body + at + 2 * i - 2));
        }
        at += side.list * (2 + SIZE);
        return __all_sync(FULL, good);
    }
    if (side.order == RANKS) {
        if (!has_bytes(at, bytes, 2)) return false;
        side.list = read16(body + at);
        side.list_at = at += 2;
        const u32 used = side.list * SIZE;
        if (side.list - 1 >= MOST_RANKS || !has_bytes(at, bytes, used + used % 2)) return false;
        at += used + used % 2;
        return used % 2 == 0 || body[at - 1] == 0;
    }
    return true;
}

// An element whose bits stand at a multiple of 2, or of its own size.
template <class T> DEV typename T::Word element_in_body(const u8* p) {
    typename T::Word v = 0;
#pragma unroll
    for (u32 k = 0; k < T::BITS; k += 16) v |= (typename T::Word)(T::BITS == 8 ? *p : read16(p + k / 8)) << k;
    return v;
}

// 10^digits, which is exact for all that tiles have.
DEV double power_of(u32 digits) {
    double power = 1;
#pragma unroll 1
    for (u32 k = 0; k < digits; k++) power *= 10;
    return power;
}
// The element next to w / 10^digits, as bits: each step rounds to nearest, of two such to even. A division takes many
// registers.
SELDOM u32 decimal_of(u32 w, u32 digits) { return bits_of((float)((double)(i32)w / power_of(digits))); }
SELDOM u64 decimal_of(u64 w, u32 digits) { return bits_of((double)(i64)w / power_of(digits)); }

// A word's element, of any order; false where there is none.
template <class T> DEV bool from_word(const Side& side, const u8* body, bool is_float, typename T::Word& v) {
    typedef typename T::Word Word;
    if (side.order == NUMBERS) {
        const Word sign = (Word)1 << (T::BITS - 1), w = wrap<T>(v);
        const Word bits = is_float && negative<T>(w) ? w ^ (sign - 1) : w;
        v = is_float ? ((bits << side.shift) & (sign - 1)) | (bits & sign) : wrap<T>(bits << side.shift);
    } else if (side.order == RANKS) {
        const Word w = wrap<T>(v);
        const bool listed = w < side.list;
        v = element_in_body<T>(body + side.list_at + (listed ? (u32)w : 0) * (T::BITS / 8));
        return listed;
    } else if constexpr (T::EXPONENT && T::BITS >= 32) {
        v = decimal_of(v, side.digits);
    }
    return true;
}

}    // namespace interp
