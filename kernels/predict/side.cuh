// Twin: src/codec/predict/body/lossless/decode.rs
// What stands between base and states of a tile of elements' bits (docs/reference/codecs/predict.md §10 to §13): it is
// read and checked once, before the codes, and used as these come.
#pragma once
#include "coder.cuh"

namespace predict {

// Where it stands: bytes from the body's first on. In the shared memory of a warp.
struct Side {
    u32 form;             // its number; 0 where there is none
    u64 slope;            // extended; 0 where there is none
    u32 digits, odd;      // decimals: and how many elements are none
    u32 list_at, list;    // the places of these, and their bits; or ranks, and how many
    u32 lags_at;
    u32 low_at, bits, bare, numbers;    // low bits: of a number; codes without, above 255 if all have; how many numbers
};

// Reads the lags of n elements, from `at` on, which moves behind them. For a whole warp.
DEV bool read_lags(const u8* body, u32 bytes, u32 n, u32& at) {
    const u32 lane = threadIdx.x & 31, segments = (n + SEGMENT - 1) / SEGMENT,
              masks = (segments + MASK_SEGMENTS - 1) / MASK_SEGMENTS;
    if (!has_bytes(at, bytes, 2 * masks)) return false;
    const u8* const mask_at = body + at;
    at += 2 * masks;
    bool good = true;
#pragma unroll 1
    for (u32 first = 0; uniform(first < masks); first += 32) {
        const u32 m = first + lane, mask = m < masks ? read16(mask_at + 2 * m) : 0;
        if (m + 1 == masks && segments % MASK_SEGMENTS) good &= mask >> segments % MASK_SEGMENTS == 0;
        const u32 up_to = warp_running_sum((u32)__popc(mask)), all = __shfl_sync(FULL, up_to, 31);
        if (!has_bytes(at, bytes, 2 * all)) return false;
        const u8* p = body + at + 2 * (up_to - __popc(mask));
#pragma unroll 1
        for (u32 left = mask; left; left &= left - 1, p += 2) {
            const u32 segment = m * MASK_SEGMENTS + __ffs((i32)left) - 1, lag = read16(p);
            good &= lag <= 1 || (lag >= SEGMENT && lag <= segment * SEGMENT);
        }
        at += 2 * all;
    }
    return good;
}

// Reads and checks all of it, from `at` on, which moves behind it; `table`: where the slots of the tile's own table are
// to be, if it has one. For a whole warp.
template <class T>
SELDOM bool read_side(u32 bits, bool has_table, u32 n, const u8* body, u32 bytes, u32& at, u32 table, Side& told) {
    enum { SIZE = T::BITS / 8 };
    const u32 lane = threadIdx.x & 31;
    Side side = {bits, 0, 0, 0, 0, 0, 0, 0, 0, 256, 0};
    const TileForm form = TileForm::of(side.form);
    bool good = true;
    if (uniform(form.slope)) {
        const u32 halves = 1u << (form.slope - 1);
        if (!has_bytes(at, bytes, 2 * halves)) return false;
#pragma unroll 1
        for (u32 k = 0; k < halves; k++) side.slope |= (u64)read16(body + at + 2 * k) << (16 * k);
        side.slope = (u64)((i64)(side.slope << (64 - 16 * halves)) >> (64 - 16 * halves));
        at += 2 * halves;
    }
    if (uniform(form.order == DECIMALS)) {
        if (!has_bytes(at, bytes, 4)) return false;
        side.digits = read16(body + at);
        side.odd = read16(body + at + 2);
        side.list_at = at += 4;
        if (side.digits > MOST_DIGITS || !has_bytes(at, bytes, side.odd * (2 + SIZE))) return false;
#pragma unroll 1
        for (u32 i = lane; i < side.odd; i += 32) {
            const u32 place = read16(body + at + 2 * i);
            good &= place < n && (i == 0 || place > read16(body + at + 2 * i - 2));
        }
        at += side.odd * (2 + SIZE);
    }
    if (uniform(form.order == RANKS)) {
        if (!has_bytes(at, bytes, 2)) return false;
        side.list = read16(body + at);
        side.list_at = at += 2;
        const u32 used = side.list * SIZE;
        if (side.list - 1 >= MOST_RANKS || !has_bytes(at, bytes, used + used % 2)) return false;
        if (used % 2) good &= body[at + used] == 0;
        at += used + used % 2;
    }
    if (uniform(form.prediction == BY_LAGS)) {
        side.lags_at = at;
        good &= read_lags(body, bytes, n, at);
        if (!uniform(__all_sync(FULL, good))) return false;
    }
    if (uniform(has_table)) {
        const u8* p = body + at;
        if (!uniform(read_own(p, body + bytes, table, form.prediction == BY_SYMBOLS))) return false;
        at = (u32)(p - body);
    }
    if (uniform(form.low)) {
        if (!has_bytes(at, bytes, 4)) return false;
        const u32 without = read16(body + at + 2);
        side.bits = body[at];
        side.bare = without ? body[at + 1] : 256;
        if (side.bits == 0 || side.bits >= T::BITS || without > n || (without == 0 && body[at + 1])) return false;
        side.numbers = n - without;
        side.low_at = at += 4;
        const u32 used = side.numbers * side.bits, plane = (used + 15) / 16 * 2;
        if (!has_bytes(at, bytes, plane)) return false;
        if (used % 16) good &= read16(body + at + plane - 2) >> used % 16 == 0;
        at += plane;
    }
    if (lane == 0) told = side;
    good = __all_sync(FULL, good);
    __syncwarp();
    return good;
}

// The low bits of codes, as these come. No number is read from behind the body, whatever the codes are.
struct LowBits {
    const u32* words;
    u32 last, skipped;    // the last word that may be read; bits before the first number
    u32 bits, bare;
    u32 taken;    // numbers

    DEV LowBits() {
        words = nullptr;
        last = skipped = bits = bare = taken = 0;
    }
    DEV void begin(const Side& side, const u8* body, u32 bytes) {
        bits = uniform(side.bits);
        bare = uniform(side.bare);
        taken = 0;
        const u32 at = side.low_at & ~3u, there = (bytes - at) / 4;
        words = (const u32*)(there ? body + at : body);
        last = there ? there - 1 : 0;
        skipped = 8 * (side.low_at & 3);
    }
    DEV u32 word(u32 i) const { return words[min_of(i, last)]; }
    DEV void number(u32 k, u32& v) const {
        const u32 bit = skipped + k * bits;
        v = __funnelshift_r(word(bit / 32), word(bit / 32 + 1), bit & 31) & low_ones(bits);
    }
    DEV void number(u32 k, u64& v) const {
        const u32 bit = skipped + k * bits, a = word(bit / 32), b = word(bit / 32 + 1), c = word(bit / 32 + 2);
        v = (__funnelshift_r(a, b, bit & 31) | (u64)__funnelshift_r(b, c, bit & 31) << 32) & (((u64)1 << bits) - 1);
    }
    // Which of a lane's codes have a number, and the first of these; moves on behind the group.
    template <class Word> DEV u32 take(const Word (&code)[QUAD], u32 has, u32& takes) {
        takes = has;
        if (uniform(bare < 256)) {
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) takes &= ~((u32)(code[j] == bare) << j);
        }
        const u32 up_to = warp_running_sum((u32)__popc(takes)), first = taken + up_to - __popc(takes);
        taken += __shfl_sync(FULL, up_to, 31);
        return first;
    }
    // Completes the codes of a group, of which a lane has those that `has` says. For a whole warp.
    template <class Word> DEV void complete(Word (&code)[QUAD], u32 has) {
        u32 takes, k = take(code, has, takes);
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) {
            Word v = 0;
            if (takes >> j & 1) number(k++, v);
            code[j] = code[j] << bits | v;
        }
    }
};

// An element whose bits stand at a multiple of 2, or of its own size.
template <class T> DEV typename T::Word element_in_body(const u8* p) {
    typename T::Word v = 0;
#pragma unroll
    for (u32 k = 0; k < T::BITS; k += 16) v |= (typename T::Word)(T::BITS == 8 ? *p : read16(p + k / 8)) << k;
    return v;
}

// A division takes many registers.
SELDOM u32 seldom_decimal(u32 w, u32 digits) { return decimal_of(w, power_of(digits)); }
SELDOM u64 seldom_decimal(u64 w, u32 digits) { return decimal_of(w, power_of(digits)); }

// A word's element, of any order; false where there is none.
template <class T>
DEV bool from_word(const TileForm& form, const Side& side, const u8* body, bool is_float, typename T::Word& v) {
    typedef typename T::Word Word;
    if (form.order == NUMBERS) {
        const Word sign = (Word)1 << (T::BITS - 1), w = wrap<T>(v);
        const Word bits = is_float && negative<T>(w) ? w ^ (sign - 1) : w;
        v = is_float ? ((bits << form.shift) & (sign - 1)) | (bits & sign) : wrap<T>(bits << form.shift);
    } else if (form.order == MAGNITUDES) {
        v = turned<T>(v << form.shift);
    } else if (form.order == RANKS) {
        const Word w = wrap<T>(v);
        const bool listed = w < side.list;
        v = element_in_body<T>(body + side.list_at + (listed ? (u32)w : 0) * (T::BITS / 8));
        return listed;
    } else if constexpr (T::EXPONENT && T::BITS >= 32) {
        v = seldom_decimal(v, side.digits);
    }
    return true;
}

// Numbers from their differences to those a lag before them, in place: 32 elements at a time, or 16 where one of these
// may need another. For a whole warp.
template <class Word> DEV void undo_lags(const u8* body, u32 lags_at, u32 n, Word* words) {
    const u32 lane = threadIdx.x & 31, segments = (n + SEGMENT - 1) / SEGMENT;
    const u8 *mask_at = body + lags_at, *next = mask_at + 2 * ((segments + MASK_SEGMENTS - 1) / MASK_SEGMENTS);
    u32 before = 1;    // the lag
    Word last = 0;     // the number before
    __syncwarp();
#pragma unroll 1
    for (u32 first = 0; uniform(first < segments); first += MASK_SEGMENTS) {
        // Lane l learns of segment l.
        const u32 mask = read16(mask_at + first / MASK_SEGMENTS * 2), up_to = __popc(mask & low_ones((lane & 15) + 1));
        const u32 own = up_to ? read16(next + 2 * up_to - 2) : before;
        before = __shfl_sync(FULL, own, 15);
        next += 2 * __popc(mask);
#pragma unroll 1
        for (u32 s = 0; uniform(s < MASK_SEGMENTS && (first + s) * SEGMENT < n); s += 2) {
            const u32 at = (first + s) * SEGMENT + lane, half = lane / SEGMENT;
            const u32 a = __shfl_sync(FULL, own, s), b = __shfl_sync(FULL, own, s + 1), lag = half ? b : a;
            Word v = at < n ? words[at] : 0;
            if (uniform(a == 1 && b == 1)) {
                v = warp_running_sum(v) + last;
            } else if (uniform(a != 1 && (b == 0 || b >= 2 * SEGMENT))) {
                if (lag && at < n) v += words[at - lag];
            } else {
#pragma unroll 1
                for (u32 part = 0; part < 2; part++) {
                    const u32 of = part ? b : a;
                    if (uniform(of == 1)) {
                        const Word begin = part == half && lane % SEGMENT == 0 ? last : 0;
                        const Word sum = warp_running_sum(part == half ? v + begin : (Word)0);
                        v = part == half ? sum : v;
                    } else if (part == half && of && at < n) {
                        v += words[at - of];
                    }
                    last = __shfl_sync(FULL, v, 16 * part + 15);
                    if (part == 0 && half == 0 && at < n) words[at] = v;
                    __syncwarp();
                }
            }
            if (at < n) words[at] = v;
            last = __shfl_sync(FULL, v, 31);
            __syncwarp();
        }
    }
}

}    // namespace predict
