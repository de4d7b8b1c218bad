// Twin: src/codec/zfp/tile.rs
// A block of four axes, the work of a warp: its elements in shared memory, eight on each lane, a line of four at a
// time; of its planes one on each lane. To code them is the work of all at once: how far the planes above a plane have
// come is the highest of their ones, and what it takes then follows from its own.
#pragma once
#include "block.cuh"

namespace zfp {

enum : u32 { WIDE_SIZE = 256, WIDE_WORDS = 8 };    // elements of such a block; words of a plane

// Steps along all axes.
template <class T, class Step> DEV void transform_lines(typename T::Word* q, u32 lane) {
#pragma unroll 1
    for (u32 a = 0; a < 4; a++) {
        const u32 axis = Step::BACK ? 3 - a : a, s = 1u << (2 * axis);
#pragma unroll 1
        for (u32 line = lane; line < WIDE_SIZE / 4; line += 32) {
            typename T::Word* p = q + ((line & (s - 1)) | (line >> (2 * axis)) << (2 * axis + 2));
            Step::lift(p[0], p[s], p[2 * s], p[3 * s]);
        }
        __syncwarp();
    }
}

// A lane's bits among those of other lanes, in words that are 0 where nobody has written; those from bit `end` on are
// dropped.
struct Splicer {
    u32* words;
    u32 end, at, count;    // the word that is being filled, and the bits that are its lanes' so far
    u64 pending;

    DEV Splicer(u32* to, u32 bit, u32 last) : words(to), end(last), at(bit / 32), count(bit & 31), pending(0) {}
    DEV void store() const {
        if (32 * at >= end) return;
        if (const u32 low = (u32)pending & low_ones(end - 32 * at)) atomicOr(words + at, low);
    }
    // At most 32, and the value has no more.
    DEV void put(u32 value, u32 bits) {
        pending |= (u64)value << count;
        count += bits;
        if (count < 32) return;
        store();
        at++;
        pending >>= 32;
        count -= 32;
    }
    // Zeros.
    DEV void skip(u32 bits) {
        count += bits;
        if (count < 32) return;
        store();
        at += count / 32;
        count &= 31;
        pending = 0;
    }
};

// What the lanes have found out of 32 planes.
struct Reach {
    u32 before, after, bits;    // coefficients that planes above have come to; that this one comes to; its bits
};
// Word w of a plane is at words[32 * w]; a plane that is not wanted has none. `come` is what came of planes above, and
// what comes of these. For a whole warp, the highest plane on lane 0.
DEV Reach reach_of(const u32* words, bool is_wanted, u32& come, u32 lane) {
    u32 after = 0, ones = 0;
    if (is_wanted)
#pragma unroll 1
        for (u32 w = 0; w < WIDE_WORDS; w++)
            if (const u32 x = words[32 * w]) after = 32 * w + top_bit(x) + 1;
    after = after > come ? after : come;
#pragma unroll
    for (u32 distance = 1; distance < 32; distance *= 2) {
        const u32 other = __shfl_up_sync(FULL, after, distance);
        after = other > after ? other : after;
    }
    const u32 above = __shfl_up_sync(FULL, after, 1), before = lane ? above : come;
    come = __shfl_sync(FULL, after, 31);
    if (!is_wanted) return {before, after, 0};
#pragma unroll 1
    for (u32 w = 0; w < WIDE_WORDS; w++) ones += __popc(words[32 * w] & ~low_ones(bits_in(before, w)));
    // Each one costs a test, and a plane that leaves some out says that there are no more. The last coefficient goes
    // without its own bit.
    const bool is_last = before < WIDE_SIZE && after == WIDE_SIZE;
    return {before, after, after + ones + (after < WIDE_SIZE) - is_last};
}
// Writes a plane.
DEV void splice_plane(u32* to, u32 at, const u32* words, const Reach& reach, u32 end) {
    if (at >= end) return;
    Splicer out(to, at, end);
    u32 n = reach.before;
#pragma unroll 1
    for (u32 w = 0; w < WIDE_WORDS; w++) {
        const u32 x = words[32 * w], m = bits_in(reach.before, w);
        out.put(x & low_ones(m), m);
        u32 rest = x & ~low_ones(m);
#pragma unroll 1
        while (rest) {
            const u32 p = 32 * w + lowest_bit(rest), zeros = p - n, ended = p + 1 < WIDE_SIZE;
            rest &= rest - 1;
            // A one, zeros, and the one that ends them, which the last coefficient goes without.
            if (zeros < 31) {
                out.put(1 | ended << (zeros + 1), 1 + zeros + ended);
            } else {
                out.put(1, 1);
                out.skip(zeros);
                out.put(ended, ended);
            }
            n = p + 1;
        }
    }
    out.store();
}

// Codes a block at bit `at` of a body; its bits, or 0 where they are more than up to `limit`, or the promise is not
// kept. For a whole warp.
template <class T, class Tile>
DEV u32 put_block(const Tile& s, u32 block, bool is_float, const Coding& c, double bound, u32 at, u32 limit,
                  u32* shared, u32* body) {
    typedef typename T::Word Word;
    typedef Numbers<T> Number;
    enum : u32 { PARTS = T::BITS / 32 };
    const u32 lane = threadIdx.x & 31;
    const Corner corner = corner_of(s.t, block);
    Word* q = (Word*)shared;
    u32 *planes = shared + WIDE_SIZE * PARTS, *bits = planes + WIDE_SIZE * PARTS;
    Word largest = 0, any = 0;
#pragma unroll 1
    for (u32 i = lane; i < WIDE_SIZE; i += 32) {
        const Word v = s.element_of(corner, i), magnitude = Number::magnitude(v);
        q[i] = v;
        largest = magnitude > largest ? magnitude : largest;
        any |= v;
    }
    largest = warp_max(largest);
    any = warp_or(any);
    const bool lossy = c.kind != REVERSIBLE;
    const i32 t = Number::exponent(largest);
    const Scale<T> scale(t);
    const typename T::Float factor = Number::power(t - Number::UNIT_EXPONENT);
    bool exact = Number::is_finite(largest);
#pragma unroll 1
    for (u32 i = lane; i < WIDE_SIZE; i += 32) exact &= Number::number(scale.fixed(q[i]), factor) == q[i];
    Start start = start_of<T>(largest, any, __all_sync(FULL, exact), is_float, c, 4);
    if (!uniform(start.is_kept)) return 0;
    if (uniform(start.planes)) {
        if (is_float)
#pragma unroll 1
            for (u32 i = lane; i < WIDE_SIZE; i += 32)
                q[i] = start.scaled ? scale.fixed(q[i]) : Number::reinterpreted(q[i]);
        __syncwarp();
        if (uniform(lossy))
            transform_lines<T, Forward>(q, lane);
        else
            transform_lines<T, ReversibleForward>(q, lane);
        const Word upper = upper_bits<T>(start.planes);
        Word used = 0;
#pragma unroll 1
        for (u32 w = 0; w < WIDE_WORDS; w++) {
            Word* place = q + ORDER_4[32 * w + lane];
            const Word u = to_coefficient<T>(*place);
            *place = from_coefficient<T>(u & upper);
            used |= u;
#pragma unroll
            for (u32 part = 0; part < PARTS; part++)
                planes[32 * (WIDE_WORDS * part + w) + 31 - lane] = transpose((u32)(u >> (32 * part)), lane);
        }
        if (!lossy) count_planes<T>(start, warp_or(used));
    }
    // Bits of the body from the word on where the block begins.
    const u32 shift = at & 31, room = c.kind == RATE ? (u32)c.parameter : WIDE_SIZE * (T::BITS + 1) + T::BITS + 32;
    for (u32 i = lane; i <= (shift + room) / 32; i += 32) bits[i] = 0;
    __syncwarp();
    if (lane == 0) {
        if (shift) bits[0] = body[at / 32];
        Splicer out(bits, shift, ~0u);
        out.put(start.head, start.bits);
        out.store();
    }
    __syncwarp();
    u32 end = shift + start.bits, come = 0;
#pragma unroll 1
    for (u32 part = PARTS; part-- > 0;) {
        const u32* words = planes + 32 * WIDE_WORDS * part + lane;
        const bool is_wanted = lane + 32 * (PARTS - 1 - part) < start.planes;
        const Reach reach = reach_of(words, is_wanted, come, lane);
        const u32 up_to = warp_running_sum(reach.bits);
        if (is_wanted) splice_plane(bits, end + up_to - reach.bits, words, reach, c.kind == RATE ? shift + room : ~0u);
        end += __shfl_sync(FULL, up_to, 31);
    }
    const u32 all = c.kind == RATE ? room : end - shift;
    bool good = all <= limit - at;
    __syncwarp();
    if (uniform(__all_sync(FULL, good)))
        for (u32 i = lane; i < (shift + all + 31) / 32; i += 32) body[at / 32 + i] = bits[i];
    if (uniform(c.kind == ACCURACY)) {
        if (uniform(start.planes)) transform_lines<T, Inverse>(q, lane);
#pragma unroll 1
        for (u32 i = lane; i < WIDE_SIZE; i += 32) {
            const Word r = start.planes ? Number::number(q[i], factor) : 0;
            if (s.has(corner, i))
                good &= is_within((double)float_of(s.element_of(corner, i)), (double)float_of(r), bound);
        }
    }
    __syncwarp();
    return uniform(__all_sync(FULL, good)) ? all : 0;
}

// The values of a block whose planes are in words that are `step` apart, into shared memory at `q`; they are those of
// integers where `start` is not of floats. For a whole warp.
template <class T>
DEV void restore_wide(const u32* planes, u32 step, typename T::Word* q, bool is_float, bool lossy, bool scaled, i32 t) {
    typedef Numbers<T> Number;
    const u32 lane = threadIdx.x & 31;
#pragma unroll 1
    for (u32 w = 0; w < WIDE_WORDS; w++) {
        typename T::Word u = 0;
#pragma unroll
        for (u32 part = 0; part < T::BITS / 32; part++) {
            const u32 plane = planes[step * (word_of_plane<T>(4, 32 * part + lane) + w)];
            u |= (typename T::Word)transpose(plane, lane) << (32 * part);
        }
        q[ORDER_4[32 * w + lane]] = from_coefficient<T>(u);
    }
    __syncwarp();
    if (uniform(lossy))
        transform_lines<T, Inverse>(q, lane);
    else
        transform_lines<T, ReversibleInverse>(q, lane);
    if (!is_float) return;
    const typename T::Float factor = Number::power(t - Number::UNIT_EXPONENT);
#pragma unroll 1
    for (u32 i = lane; i < WIDE_SIZE; i += 32)
        q[i] = scaled ? Number::number(q[i], factor) : Number::reinterpreted(q[i]);
}

}    // namespace zfp
