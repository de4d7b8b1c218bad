// The choice of mode and width for a subchunk, by the rules of src/codec/sleek/choose.rs. What concerns all values of a subchunk is done by
// the warp for one subchunk after the other; what then is left to decide, by the lanes for all subchunks of the warp at once.
#pragma once
#include "modes.cuh"

#define SUBCHUNK_VALUES(T) (32 * T::VALUES)
#define BYTES_A_BIT(T) (4 * T::VALUES)    // bytes that a subchunk takes for each bit of its width

// How a subchunk is to be packed.
template <class T> struct Choice {
    u32 mode;
    u32 width;     // bits in the payload
    u32 high;      // bits of an exception's high part
    u32 count;     // exceptions
    u32 based;     // whether the base counts
    typename T::Word base;
};

DEV u32 exception_bytes(u32 count, u32 high) { return 2 + count + (count * high + 7) / 8; }

// The sampled words of a lane, of each SAMPLE in the subchunk the last. Of two words a lane only every other lane has one.
template <class T> struct Sample {
    enum { COUNT = T::VALUES >= SAMPLE ? T::VALUES / SAMPLE : 1, FIRST = (T::VALUES >= SAMPLE ? SAMPLE : T::VALUES) - 1, ALL = SUBCHUNK_VALUES(T) / SAMPLE };
    static DEV bool has(u32 lane) { return T::VALUES >= SAMPLE || (lane & (SAMPLE / T::VALUES - 1)) == SAMPLE / T::VALUES - 1; }
    static DEV int place(int i) { return FIRST + i * SAMPLE; }

    // The widths of the sampled codes of a subchunk to `widths`.
    static DEV void keep_widths(const typename T::Word (&codes)[T::VALUES], u32 lane, u8* widths) {
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            if (has(lane)) widths[(lane * T::VALUES + place(i)) / SAMPLE] = (u8)width_of(codes[place(i)]);
    }
};

// What is known of a subchunk once its values were looked at.
template <class T> struct Survey {
    typename T::Word base, least;
    typename T::Word spread;    // the largest value's offset from the least
    typename T::Word any;       // OR of the codes
    u32 mode;

    DEV u32 plain() const { return width_of(spread); }    // of the offsets
    DEV u32 full() const { return width_of(any); }        // of the largest code
};

// Distance from 0 as a signed number.
template <class T> DEV typename T::Word magnitude(typename T::Word x) { return negative<T>(x) ? wrap<T>((typename T::Word)0 - x) : x; }

// Widths of two words in the halves of one; each is less by one.
template <class T> DEV u32 widths_of(typename T::Word low, typename T::Word high) { return top_bit(low) + (top_bit(high) << 16); }

// The totals of offset, zigzag, delta and special over the samples: this lane's share, offset and delta in the low halves. Each sample
// adds one too little.
template <class T, bool EXPONENTS> DEV void totals(u32 lane, const typename T::Word (&x)[T::VALUES], typename T::Word first, typename T::Word least,
                                                   u32& offset_zigzag, u32& delta_special) {
    typedef typename T::Word Word;
    offset_zigzag = delta_special = 0;
    // Where a lane has two words, the second one before its last is its neighbour's.
    const Word neighbour = T::VALUES < SAMPLE && !EXPONENTS ? __shfl_up_sync(FULL, x[T::VALUES - 1], 1) : 0;
#pragma unroll
    for (int i = 0; i < Sample<T>::COUNT; i++) {
        const int at = Sample<T>::place(i);
        const Word before2 = at >= 2 ? x[at - 2 & T::VALUES - 1] : neighbour;
        const Word d = wrap<T>(x[at] - x[at - 1]);
        const Word other = EXPONENTS ? to_exponent_code<T>(x[at]) >> 1 : magnitude<T>(wrap<T>(d - (x[at - 1] - before2)));
        offset_zigzag += widths_of<T>(wrap<T>(x[at] - least), magnitude<T>(wrap<T>(x[at] - first)));
        delta_special += widths_of<T>(magnitude<T>(d), other);
    }
    if (!Sample<T>::has(lane)) offset_zigzag = delta_special = 0;
}

// Least and largest of a subchunk's words, as signed numbers.
template <class T> DEV void extremes(const typename T::Word (&x)[T::VALUES], typename T::Word& least, typename T::Word& most) {
    typedef typename T::Word Word;
    if (T::BITS == 32) {
        i32 low = (i32)x[0], high = low;
#pragma unroll
        for (int i = 1; i < T::VALUES; i++) {
            low = (i32)x[i] < low ? (i32)x[i] : low;
            high = (i32)x[i] > high ? (i32)x[i] : high;
        }
        least = (Word)(u32)__reduce_min_sync(FULL, low);
        most = (Word)(u32)__reduce_max_sync(FULL, high);
        return;
    }
    Word low = biased<T>(x[0]), high = low;
#pragma unroll
    for (int i = 1; i < T::VALUES; i++) {
        const Word b = biased<T>(x[i]);
        low = b < low ? b : low;
        high = b > high ? b : high;
    }
    const Word all = ones<T>(T::BITS);
    least = biased<T>(warp_min(low));
    most = biased<T>(warp_min((Word)(all - high)) ^ all);
}

// Steps 1 and 2 for the integers in `x`, which lie between `least` and `most`: leaves the codes there, and the widths of the sampled ones in
// `widths`, unless all are 0. Where EXPONENTS, the special mode is the exponent map.
template <class T, bool EXPONENTS> DEV Survey<T> survey(typename T::Word least, typename T::Word most, u32 lane, typename T::Word (&x)[T::VALUES],
                                                              u8* widths) {
    typedef typename T::Word Word;
    const Word first = __shfl_sync(FULL, x[0], 0);
    Survey<T> s = {first, first, 0, 0, MODE_OFFSET};
    if (least == most) {
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) x[i] = 0;
        return s;
    }
    u32 low_pair, high_pair;
    totals<T, EXPONENTS>(lane, x, first, least, low_pair, high_pair);
    low_pair = __reduce_add_sync(FULL, low_pair);
    high_pair = __reduce_add_sync(FULL, high_pair);
    // The mode below its total: the least has the least total and, among these, is the first mode. Totals have 11 bits.
    const u32 short_by = 4 * Sample<T>::ALL * 0x10001u;
    low_pair = 4 * low_pair + (short_by + (MODE_ZIGZAG << 16 | MODE_OFFSET));
    high_pair = 4 * high_pair + (short_by + (MODE_SPECIAL << 16 | MODE_DELTA));
    s.mode = min_of(min_of(low_pair & 0xffff, low_pair >> 16), min_of(high_pair & 0xffff, high_pair >> 16)) & 3;
    s.base = s.mode == MODE_OFFSET ? least : EXPONENTS && s.mode == MODE_SPECIAL ? 0 : first;
    Word codes[T::VALUES], any = 0;
    codes_of<T>(s.mode, EXPONENTS ? SPECIAL_EXPONENT : SPECIAL_DELTA2, s.base, lane, x, codes);
#pragma unroll
    for (int i = 0; i < T::VALUES; i++) {
        any |= codes[i];
        x[i] = codes[i];
    }
    if (T::BITS > 8) Sample<T>::keep_widths(codes, lane, widths);
    s.any = warp_or(any);
    s.spread = wrap<T>(most - least);
    s.least = least;
    return s;
}

// The sampled widths of a subchunk, four in a word.
template <class T> struct Widths {
    enum { WORDS = Sample<T>::ALL / 4 };
    u32 four[WORDS];

    DEV void read(const u8* widths) {
#pragma unroll
        for (int i = 0; i < WORDS; i += 4) {
            const uint4 q = *(const uint4*)(widths + 4 * i);
            four[i] = q.x; four[i + 1] = q.y; four[i + 2] = q.z; four[i + 3] = q.w;
        }
    }
    // How many are above `width`: adding carries these, and no others, into the top bit of their byte.
    DEV u32 wider(u32 width) const {
        const u32 one = 0x01010101u, add = (127 - width) * one;
        u32 sum = 0;
#pragma unroll
        for (int i = 0; i < WORDS; i++) sum += (four[i] + add) >> 7 & one;
        return sum * one >> 24;
    }
};

// Step 3 for eight subchunks: the width that the sampled codes speak for. Four lanes for a subchunk, of which all know the width `full` of the
// largest code, and `most`, the largest of these widths.
template <class T> DEV u32 fitting_width(const u8* widths, u32 full, u32 most, u32 lane) {
    const u32 c = lane & 3;
    Widths<T> sampled;
    sampled.read(widths);
    // The smallest width that leaves few enough; the widest one if none does, which then never pays. Each lane tries another.
    u32 narrowest = 0;
#pragma unroll 1
    for (u32 size = min_of(T::BITS, most + 1); size > 1; size = (size + 4) / 5) {
        const u32 step = (size + 4) / 5, width = narrowest + (c + 1) * step - 1;
        const bool many = width < T::BITS - 1 && SAMPLE * sampled.wider(width) > MAX_EXCEPTIONS;
        narrowest += step * __popc(__ballot_sync(FULL, many) >> (lane & ~3u) & 15);
    }
    // The complement of the width below the bytes: the least has the fewest bytes and, among these, the largest width.
    u32 rank = BYTES_A_BIT(T) * full << 8 | (0xff - full);
    const u32 width = narrowest + c;
    if (width < full) {
        const u32 bytes = BYTES_A_BIT(T) * width + exception_bytes(SAMPLE * sampled.wider(width), full - width);
        rank = min_of(rank, bytes << 8 | (0xff - width));
    }
    rank = min_of(rank, __shfl_sync(FULL, rank, lane ^ 1));
    rank = min_of(rank, __shfl_sync(FULL, rank, lane ^ 2));
    return 0xff - (rank & 0xff);
}

// How many codes have more than `width` bits. Where these are exceptions, `list` gets their places from `rank` on; `tag` is the lane's first
// place, `below` marks the lanes before.
template <class T> DEV u32 list_exceptions(const typename T::Word (&codes)[T::VALUES], u32 width, u32 below, u32 tag, u16* list, u32 rank) {
    const typename T::Word most = low_bits<T>(width);
    u32 over[T::VALUES], count = 0;
#pragma unroll
    for (int i = 0; i < T::VALUES; i++) {
        over[i] = __ballot_sync(FULL, codes[i] > most);
        count += __popc(over[i]);
    }
    if (uniform(count) > MAX_EXCEPTIONS) return count;
#pragma unroll
    for (int i = 0; i < T::VALUES; i++) rank += __popc(over[i] & below);
    tag = settled(tag);
#pragma unroll
    for (int i = 0; i < T::VALUES; i++) {
        rank = settled(rank);
        if (codes[i] > most) list[rank++] = (u16)(tag + i);
    }
    return count;
}

// The choice for a subchunk with `count` codes of more than `width` bits; step 4 with it.
template <class T> DEV Choice<T> decide(const Survey<T>& s, u32 special, u32 width, u32 count) {
    const u32 full = s.full(), plain = s.plain();
    const u32 full_bytes = BYTES_A_BIT(T) * full, with = BYTES_A_BIT(T) * width + exception_bytes(count, full - width);
    const bool patched = width < full && count <= MAX_EXCEPTIONS && with < full_bytes;
    if (s.mode != MODE_OFFSET && BYTES_A_BIT(T) * plain <= (patched ? with : full_bytes)) return {MODE_OFFSET, plain, 0, 0, 1, s.least};
    const u32 based = s.mode != MODE_SPECIAL || special != SPECIAL_EXPONENT;
    return {s.mode, patched ? width : full, patched ? full - width : 0, patched ? count : 0, based, s.base};
}

// The paper's transform alone.
template <class T> DEV Choice<T> choose_fast(bool quantized, u32 special, typename T::Word (&x)[T::VALUES]) {
    typedef typename T::Word Word;
    Choice<T> choice = {MODE_OFFSET, 0, 0, 0, 0, 0};
    if (quantized) {
        choice.mode = MODE_ZIGZAG;
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) x[i] = to_zigzag<T>(x[i]);
    } else if (special == SPECIAL_EXPONENT) {
        choice.mode = MODE_SPECIAL;
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) x[i] = to_exponent_code<T>(x[i]);
    } else {
        Word low = biased<T>(x[0]);
#pragma unroll
        for (int i = 1; i < T::VALUES; i++) low = biased<T>(x[i]) < low ? biased<T>(x[i]) : low;
        choice.base = biased<T>(warp_min(low));
        choice.based = 1;
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) x[i] = wrap<T>(x[i] - choice.base);
    }
    Word any = 0;
#pragma unroll
    for (int i = 0; i < T::VALUES; i++) any |= x[i];
    choice.width = width_of(warp_or(any));
    return choice;
}
