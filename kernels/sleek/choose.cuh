// Twin: src/codec/sleek/choose.rs
// The choice of mode and width, by the rules of src/codec/sleek/choose.rs. A warp has a tile of eight subchunks, a
// quarter of a chunk. What concerns all values of a subchunk is done by the warp for one subchunk after the other; what
// then is left to decide, by the lanes for all of them at once.
#pragma once
#include "swar16.cuh"

#define SUBCHUNK_VALUES(T) (32 * T::VALUES)
#define BYTES_A_BIT(T) (4 * T::VALUES)    // bytes that a subchunk takes for each bit of its width

// How a subchunk is to be packed.
template <class T> struct Choice {
    u32 mode;
    u32 width;     // bits in the payload
    u32 high;      // bits of an exception's high part
    u32 counts;    // see counts_of
    u32 based;     // whether the base is a word
    typename T::Word base;
};

// Width of the high parts, flags, masks, high parts.
template <class T> DEV u32 exception_bytes(u32 count, u32 mask_bytes, u32 high) {
    return 1 + MASK_FLAG_BYTES(T) + mask_bytes + (count * high + 7) / 8;
}

// What is known of a subchunk once its values were looked at; four lanes have that of a subchunk.
template <class T> struct Survey {
    typename T::Word first, least;    // the first word may give way to another base
    typename T::Word spread;          // the largest value's offset from the least
    typename T::Word origin;          // what all are counted from
    typename T::Word any;             // OR of the codes

    DEV u32 plain() const { return width_of(spread); }    // of the offsets
    DEV u32 full() const { return width_of(any); }        // of the largest code
};

// Distance from 0 as a signed number.
template <class T> DEV typename T::Word magnitude(typename T::Word x) {
    return negative<T>(x) ? wrap<T>((typename T::Word)0 - x) : x;
}

// Widths of two words in the halves of one; each is less by one.
template <class T> DEV u32 widths_of(typename T::Word low, typename T::Word high) {
    return top_bit(low) + (top_bit(high) << 16);
}

DEV u32 max_of(u32 a, u32 b) { return a > b ? a : b; }

// Half of a countdown's code; of words that are no numbers nobody asks for it.
template <class T> DEV typename T::Word half_code(typename T::Word x, typename T::Word top) {
    if constexpr (T::EXPONENT > 0) return Countdown<T>::half_code(x, top);
    return x;
}

// The codes of a warp's subchunks are in its tile in two orders: a lane writes a vector of each subchunk, and reads a
// strip, which is 8 vectors of one. The first of all strips lie beside each other, then the second, and so on, and a
// gap behind each of these rows has neither order meet in one bank.
enum { STRIP_VECTORS = 8, TILE_VECTORS = STRIP_VECTORS * (32 + 2) };
template <class T> struct Tile {
    typedef typename VectorOf<T>::Type Vector;
    enum { ROW = 32 + 16 / sizeof(Vector), CODE_BYTES = sizeof(Vector) / T::VALUES };
    static_assert(STRIP_VECTORS * ROW * sizeof(Vector) <= TILE_VECTORS * sizeof(uint4), "fits");
    Vector* vectors;

    DEV explicit Tile(uint4* tile) : vectors((Vector*)tile) {}
    // The vector of a lane in a subchunk.
    DEV Vector& at(u32 subchunk, u32 lane) const {
        return vectors[lane % STRIP_VECTORS * ROW + lane / STRIP_VECTORS + 32 / STRIP_VECTORS * subchunk];
    }
};
template <class T> struct Strip {
    enum { VECTORS = STRIP_VECTORS, OF_SUBCHUNK = 32 / VECTORS, CODES = VECTORS * T::VALUES };
    enum { NEXT = Tile<T>::ROW, END = VECTORS * NEXT };    // from one vector to the next, and behind the last
    typedef typename Tile<T>::Vector Vector;
    Vector* first;
    u32 lane;

    DEV Strip(const Tile<T>& tile, u32 lane) : first(tile.vectors + lane), lane(lane) {}
    DEV Vector& operator[](u32 at) const { return first[at]; }
    // Whether the subchunk begins with it; if not, the last vector of the strip before it, else its own first one.
    DEV bool is_first() const { return lane % OF_SUBCHUNK == 0; }
    DEV Vector before() const { return first[is_first() ? 0 : END - NEXT - 1]; }
    DEV typename T::Word code(u32 i) const {
        enum { BYTES = Tile<T>::CODE_BYTES, GAP = (NEXT - 1) * sizeof(Vector) };    // from a vector's end to the next
        const u32 of_vector = optimisation_barrier(i & ~(T::VALUES - 1u));
        const void* p = (const u8*)first + of_vector * (GAP / T::VALUES) + i * BYTES;
        return BYTES == 8   ? (typename T::Word) * (const u64*)p
               : BYTES == 4 ? (typename T::Word) * (const u32*)p
                            : (typename T::Word) * (const u16*)p;
    }
};

// Where the samples of step 1 lie: each lane has COUNT, the last of each of its fours, of as many subchunks; of words
// of 64 bits only half of the lanes has one.
template <class T> struct ModeSample {
    static_assert(WARP_TILE == SUBCHUNKS / 4 && MODE_SAMPLE == 4 * WARP_TILE,
                  "a sample of one subchunk where the last has its four");
    enum {
        COUNT = T::VALUES >= 4 ? T::VALUES / 4 : 1,
        LANES = MODE_SAMPLE / T::VALUES,
        ALL = WARP_TILE * SUBCHUNK_VALUES(T) / MODE_SAMPLE
    };
    u32 from, lane;    // the first of the subchunks, and on which lane its values are
    bool has;

    DEV explicit ModeSample(u32 self) {
        has = T::VALUES >= 4 || self < ALL;
        from = T::VALUES >= 4 ? (LANES - 1 - self % LANES) * COUNT : self % WARP_TILE;
        lane = T::VALUES >= 4 ? self : (self / WARP_TILE % 2 * LANES + LANES - 1 - 2 * from);
    }
    static DEV int place(int j) { return T::VALUES - 1 - 4 * j; }
};

// Step 1 for the integers in the tile: the mode with the least total of widths over the samples, and whether the
// special one's is so near that it may replace that. `first`, `least` and, for a countdown, `top` are on the lanes of
// each subchunk.
template <class T>
DEV u32 mode_of(u32 special, const Tile<T>& tile, u32 self, typename T::Word first, typename T::Word least,
                typename T::Word top, bool& is_near) {
    typedef typename T::Word Word;
    const ModeSample<T> sample(self);
    u32 offset_zigzag = 0, delta_special = 0;    // totals; each sample adds one too little
#pragma unroll
    for (int j = 0; j < ModeSample<T>::COUNT; j++) {
        const u32 s = sample.from + j;
        Word x[T::VALUES], before[T::VALUES];
        split(tile.at(s, sample.lane), x);
        const int i = sample.place(j);
        // Where a lane has two words, the second one before its last is its neighbour's.
        if (T::VALUES == 2) split(tile.at(s, sample.lane - 1), before);
        const Word before2 = T::VALUES == 2 ? before[1] : x[i - 2 & T::VALUES - 1];
        const Word d = wrap<T>(x[i] - x[i - 1]);
        const Word other = special == SPECIAL_COUNTDOWN ? half_code<T>(x[i], __shfl_sync(FULL, top, 4 * s))
                                                        : magnitude<T>(wrap<T>(d - (x[i - 1] - before2)));
        offset_zigzag += widths_of<T>(wrap<T>(x[i] - __shfl_sync(FULL, least, 4 * s)),
                                      magnitude<T>(wrap<T>(x[i] - __shfl_sync(FULL, first, 4 * s))));
        delta_special += widths_of<T>(magnitude<T>(d), other);
    }
    offset_zigzag = __reduce_add_sync(FULL, sample.has ? offset_zigzag : 0);
    delta_special = __reduce_add_sync(FULL, sample.has ? delta_special : 0);
    // The mode below its total: the least has the least total and, among these, is the first mode. Totals have 11 bits.
    const u32 short_by = 4 * ModeSample<T>::ALL * 0x10001u;
    offset_zigzag = 4 * offset_zigzag + (short_by + (SUBMODE_ZIGZAG << 16 | SUBMODE_OFFSET));
    delta_special = 4 * delta_special + (short_by + (SUBMODE_SPECIAL << 16 | SUBMODE_DELTA));
    const u32 best = uniform(min_of(min_of(offset_zigzag & 0xffff, offset_zigzag >> 16),
                                    min_of(delta_special & 0xffff, delta_special >> 16)));
    is_near = delta_special >> 18 <= (best >> 2) + NEAR_TOTALS;
    return best & 3;
}

// Whether a countdown takes the place of `mode` in a tile, by the largest sampled widths of each subchunk.
template <class T>
DEV bool by_countdown(u32 mode, const Tile<T>& tile, u32 self, typename T::Word first, typename T::Word least,
                      typename T::Word top) {
    typedef typename T::Word Word;
    enum { UNSEEN = SUBCHUNK_VALUES(T) == 2 * MODE_SAMPLE ? 4 : 0, APART = WARP_TILE / ModeSample<T>::COUNT };
    const ModeSample<T> sample(self);
    i32 sum = 0;    // by how much the mode's own are longer
#pragma unroll
    for (int j = 0; j < ModeSample<T>::COUNT; j++) {
        const u32 s = sample.from + j;
        Word x[T::VALUES];
        split(tile.at(s, sample.lane), x);
        const int i = sample.place(j);
        const Word base = __shfl_sync(FULL, mode == SUBMODE_OFFSET ? least : first, 4 * s);
        Word code = wrap<T>(x[i] - (mode == SUBMODE_DELTA ? x[i - 1] : base));
        if (mode != SUBMODE_OFFSET) code = magnitude<T>(code);
        const Word counted = half_code<T>(x[i], __shfl_sync(FULL, top, 4 * s));
        u32 width = sample.has ? width_of(code) : 0, half = sample.has ? width_of(counted) : 0;
#pragma unroll
        for (u32 of_same = APART; of_same < 32; of_same *= 2) {
            width = max_of(width, __shfl_xor_sync(FULL, width, of_same));
            half = max_of(half, __shfl_xor_sync(FULL, half, of_same));
        }
        sum += (i32)(width - half);
    }
    sum = (i32)__reduce_add_sync(FULL, self < APART ? (u32)sum : 0);
    return sum + UNSEEN > (mode == SUBMODE_OFFSET ? (i32)WARP_TILE : 0);
}

// Least and largest of a subchunk's words, as signed numbers.
template <class T>
DEV void extremes(const typename T::Word (&x)[T::VALUES], typename T::Word& least, typename T::Word& most) {
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
    least = biased<T>(warp_min(low));
    most = biased<T>(warp_max(high));
}

// Of some numbers how many have more than w bits, for all w at once: bit w of these words, the first of which counts 1,
// the next 2, and so on.
template <class T> struct Wider {
    typedef typename T::Word Bits;
    enum {
        SAMPLES = SUBCHUNK_VALUES(T) / SAMPLE,
        SWAR16 = T::BITS == 16
    };    // of a subchunk; whether halves of a word count different numbers
    enum { OF_STRIP = SAMPLES / (SWAR16 ? 8 : 4), PLANES = OF_STRIP == 8 ? 4 : 3, ALL = PLANES + 2 + SWAR16 };
    Bits plane[ALL];

    DEV Wider() {
#pragma unroll
        for (int k = 0; k < ALL; k++) plane[k] = 0;
    }
    // One more, two more.
    DEV void count(Bits one) { carry(one, 0); }
    DEV void count(Bits one, Bits another) {
        const Bits both = (plane[0] & (one | another)) | (one & another);
        plane[0] ^= one ^ another;
        carry(both, 1);
    }
    DEV void carry(Bits more, int from) {
#pragma unroll
        for (int k = from; k < PLANES; k++) {
            const Bits next = plane[k] & more;
            plane[k] ^= more;
            more = next;
        }
    }
    // Adds what `other` gives for each word.
    template <int N, class F> DEV void add(const F& other) {
        Bits carry = 0;
#pragma unroll
        for (int k = 0; k < N; k++) {
            const Bits b = other(plane[k]), sum = plane[k] ^ b ^ carry;
            carry = (plane[k] & b) | (carry & (plane[k] | b));
            plane[k] = sum;
        }
        plane[N] = carry;
    }
    // The sum over the four lanes of a subchunk.
    DEV void add_lanes(u32 lane) {
        if (SWAR16) add<PLANES>([](Bits x) { return x >> 16; });
        add<ALL - 2>([&](Bits x) { return __shfl_sync(FULL, x, lane ^ 1); });
        add<ALL - 1>([&](Bits x) { return __shfl_sync(FULL, x, lane ^ 2); });
    }
    // For which w there are more than `MAX_EXCEPTIONS / SAMPLE`.
    DEV Bits many() const {
        static_assert(MAX_EXCEPTIONS / SAMPLE == 8, "bit 3 and another, or one above");
        Bits many = plane[3] & (plane[2] | plane[1] | plane[0]);
#pragma unroll
        for (int k = 4; k < ALL; k++) many |= plane[k];
        return many;
    }
    // How many have more than w bits.
    DEV u32 more_than(u32 w) const {
        u32 n = 0;
#pragma unroll
        for (int k = ALL; k-- > 0;) n = __funnelshift_l(plane[k] << (31 - w & 31), n, 1);
        return n;
    }
};

// Of words of 64 bits the widths themselves, until it is known which of all widths are to be told apart.
struct Widths {
    enum { STEP = 28 };    // so that of 32 widths there are three beyond those from one step to the next
    u32 four;              // a byte each

    DEV Widths() : four(0) {}
    DEV void count(u64 code) { four = four << 8 | width_of(code); }
    // The last step that the width is not below which leaves few enough of the subchunk's samples wider.
    DEV u32 lowest(u32 lane) const {
        u32 wider = more_than(STEP) | more_than(2 * STEP) << 16;
        wider += __shfl_sync(FULL, wider, lane ^ 1);
        wider += __shfl_sync(FULL, wider, lane ^ 2);
        return ((wider & 0xffff) > MAX_EXCEPTIONS / SAMPLE ? STEP : 0) +
               ((wider >> 16) > MAX_EXCEPTIONS / SAMPLE ? STEP : 0);
    }
    // How many of a lane's have more than w bits, w < 127.
    DEV u32 more_than(u32 w) const { return __popc((four + (127 - w) * 0x01010101u) & 0x80808080u); }
    // How many have more than `from` + w bits.
    DEV Wider<Small64> above(u32 from) const {
        Wider<Small64> wider;
#pragma unroll
        for (int i = 0; i < 32; i += 8) wider.count(low_ones(at_least_0((i32)(four >> i & 0xff) - (i32)from)));
        return wider;
    }
};
template <class T> using Samples = typename If<T::BITS == 64, Widths, Wider<T>>::Type;

// The largest of a subchunk's words, rotated left by one bit, on each of its lanes: that of `signed_most`, the
// largest as signed numbers, or of the largest as unsigned ones.
template <class T> DEV typename T::Word largest_rotated(const Strip<T>& strip, typename T::Word signed_most) {
    typedef typename T::Word Word;
    Word most = 0;
    u32 upper = 0;    // of words of 16 bits, those in upper halves; `most` those in lower ones
#pragma unroll 1
    for (u32 at = 0; uniform(at) < Strip<T>::END; at = optimisation_barrier(at + 2 * Strip<T>::NEXT)) {
#pragma unroll
        for (u32 j = 0; j < 2; j++) {
            if constexpr (T::BITS == 16) {
                u32 x[4];
                split(strip[at + j * Strip<T>::NEXT], x);
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    upper = max_of(upper, x[i]);
                    most = max_of((u32)most, x[i] << 16);
                }
                continue;
            }
            Word x[T::VALUES];
            split(strip[at + j * Strip<T>::NEXT], x);
#pragma unroll
            for (int i = 0; i < T::VALUES; i++) most = x[i] > most ? x[i] : most;
        }
    }
    if (T::BITS == 16) most = max_of(upper, (u32)most) >> 16;
#pragma unroll
    for (u32 of_same = 1; of_same <= 2; of_same *= 2) {
        const Word other = __shfl_xor_sync(FULL, most, of_same);
        most = other > most ? other : most;
    }
    const Word a = rotated<T>(most), b = rotated<T>(signed_most);
    return a > b ? a : b;
}

// The strip's integers to their codes in MODE, of which the sampled ones are counted. Returns the OR of the codes.
// `start`: what was before the strip's words, or what these are counted from.
template <class T, u32 MODE, u32 SPECIAL>
DEV typename T::Word encode_strip(const Strip<T>& strip, typename T::Word base, Samples<T>& samples, Before<T>& start) {
    typedef typename T::Word Word;
    Before<T> before = {base, 0};
    if (MODE == SUBMODE_DELTA || (MODE == SUBMODE_SPECIAL && SPECIAL == SPECIAL_DELTA2)) {
        typename T::Word x[T::VALUES];
        split(strip.before(), x);
        before.set(x, strip.is_first());
        __syncwarp();
    }
    start = before;
    Word all = 0;
#pragma unroll 1
    for (u32 at = 0; uniform(at) < Strip<T>::END; at = optimisation_barrier(at + 2 * Strip<T>::NEXT)) {
        const typename Strip<T>::Vector row[2] = {strip[at],
                                                  strip[at + Strip<T>::NEXT]};    // both, before anything is stored
        Word sampled[2];
#pragma unroll
        for (u32 j = 0; j < 2; j++) {
            if constexpr (T::BITS == 16) {
                const uint4 codes = codes_of_swar16<T>(MODE, SPECIAL, base, before, row[j]);
                strip[at + j * Strip<T>::NEXT] = codes;
                all |= codes.x | codes.y | codes.z | codes.w;
                samples.count(filled_up(codes.y >> 16) | filled_up(codes.w >> 16) << 16);
                continue;
            }
            Word x[T::VALUES];
            split(row[j], x);
            codes_of<T>(MODE, SPECIAL, base, before, x);
            strip[at + j * Strip<T>::NEXT] = join(x);
#pragma unroll
            for (int v = 0; v < T::VALUES; v++) all |= x[v];
            if constexpr (T::BITS == 64)
                sampled[j] = x[T::VALUES - 1];
            else
                sampled[j] = filled_up(x[T::VALUES - 1]);
        }
        if constexpr (T::VALUES == SAMPLE)
            samples.count(sampled[0], sampled[1]);
        else if constexpr (T::VALUES < SAMPLE)
            samples.count(sampled[1]);
    }
    return all;
}
// Each mode has a loop of its own, so that none asks for it. MAPPED: whether the exponent map is among them.
template <class T, bool MAPPED>
DEV typename T::Word encode_as(u32 mode, u32 special, const Strip<T>& strip, typename T::Word base, Samples<T>& samples,
                               Before<T>& start) {
    if (mode == SUBMODE_OFFSET) return encode_strip<T, SUBMODE_OFFSET, SPECIAL_DELTA2>(strip, base, samples, start);
    if (mode == SUBMODE_ZIGZAG) return encode_strip<T, SUBMODE_ZIGZAG, SPECIAL_DELTA2>(strip, base, samples, start);
    if (mode == SUBMODE_DELTA) return encode_strip<T, SUBMODE_DELTA, SPECIAL_DELTA2>(strip, base, samples, start);
    if constexpr (T::EXPONENT > 0)
        if (special == SPECIAL_COUNTDOWN)
            return encode_strip<T, SUBMODE_SPECIAL, SPECIAL_COUNTDOWN>(strip, base, samples, start);
    if constexpr (T::EXPONENT > 0 && MAPPED)
        if (special == SPECIAL_EXPONENT)
            return encode_strip<T, SUBMODE_SPECIAL, SPECIAL_EXPONENT>(strip, base, samples, start);
    return encode_strip<T, SUBMODE_SPECIAL, SPECIAL_DELTA2>(strip, base, samples, start);
}

// The strip's codes, of any mode but a countdown, to offsets from the word `least`, where they are `wanted`.
template <class T>
DEV void to_offsets(const Strip<T>& strip, u32 mode, Before<T> before, typename T::Word least, bool wanted) {
#pragma unroll 1
    for (u32 at = 0; uniform(at) < Strip<T>::END; at = optimisation_barrier(at + Strip<T>::NEXT)) {
        typename T::Word v[T::VALUES];
        split(strip[at], v);
#pragma unroll
        for (int i = 0; i < T::VALUES; i++) {
            v[i] = from_zigzag<T>(v[i]);
            if (uniform(mode == SUBMODE_SPECIAL)) v[i] = before.difference += v[i];
            v[i] += before.word;
            if (uniform(mode != SUBMODE_ZIGZAG)) before.word = v[i];
            v[i] -= least;
        }
        if (wanted) strip[at] = join(v);
    }
}

// Of the widths that the lanes of a subchunk try, and of which `wider` samples have more bits, the one with the fewest
// bytes.
template <class T> DEV u32 best_width(u32 width, u32 wider, u32 full, u32 lane) {
    // The complement of the width below the bytes: the least has the fewest bytes and, among these, the largest width.
    u32 rank = BYTES_A_BIT(T) * full << 8 | (0xff - full);
    const u32 count = wider * SAMPLE, bytes = BYTES_A_BIT(T) * width +
                                              exception_bytes<T>(count, min_of(count / 2, MASK_BYTES(T)), full - width);
    rank = min_of(rank, width < full ? bytes << 8 | (0xff - width) : ~0u);
    rank = min_of(rank, __shfl_sync(FULL, rank, lane ^ 1));
    rank = min_of(rank, __shfl_sync(FULL, rank, lane ^ 2));
    return 0xff - (rank & 0xff);
}
// Step 2: the width that the sampled codes speak for. Four lanes have a subchunk, of whose words of BITS bits the
// largest code has `full`.
template <class T, u32 BITS> DEV u32 fitting_width(Wider<T>& wider, u32 full, u32 lane) {
    wider.add_lanes(lane);
    // The smallest width that leaves few enough; the widest one if none does, which then never pays. From there on each
    // lane tries another.
    const typename T::Word many = wider.many() & ones<T>(BITS > T::BITS ? T::BITS : BITS - 1);
    const u32 width = width_of(many) + lane % 4;
    return best_width<T>(width, wider.more_than(width), full, lane);
}
// The same of words of 64 bits.
template <class T, u32 BITS> DEV u32 fitting_width(const Widths& widths, u32 full, u32 lane) {
    const u32 from = widths.lowest(lane);
    Wider<Small64> wider = widths.above(from);
    wider.add_lanes(lane);
    const u32 above = width_of(wider.many()) + lane % 4;
    return best_width<T>(from + above, wider.more_than(above), full, lane);
}

// Which codes of a strip have more bits than a width: a bit for each, the lowest for the first.
template <class T> using Wide = typename If<T::VALUES == 8, u64, u32>::Type;
// How many there are, and from bit 9 on how many mask bytes have some; of a subchunk they can be added up.
DEV u32 counts_of(u32 places) { return __popc(places) | __popc(used_bytes(places)) << 9; }
DEV u32 counts_of(u64 places) { return counts_of((u32)places) + counts_of((u32)(places >> 32)); }

template <class T> DEV u32 wide_codes(const Strip<T>& strip, u32 width) {
    const typename T::Word rest = ~low_bits<T>(width);    // with it narrower codes stay within a word
    u32 places = 0;
#pragma unroll 1
    for (u32 at = Strip<T>::END; uniform(at) > 0; at = optimisation_barrier(at - 2 * Strip<T>::NEXT)) {
#pragma unroll
        for (u32 i = 1; i <= 2; i++) {
            typename T::Word v[T::VALUES];
            split(strip[at - i * Strip<T>::NEXT], v);
#pragma unroll
            for (int j = T::VALUES - 1; j >= 0; j--) places = with_carry(places, v[j], rest);
        }
    }
    return places;
}

// The same of words of 16 bits.
template <class T> DEV u64 wide_swar16(const Strip<T>& strip, u32 width) {
    const u32 mask = both(low_ones(width));
    u32 within[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < STRIP_VECTORS; i++) {
        const u32 eight = codes_within(strip[i * Strip<T>::NEXT], mask);
        within[i / 4] += i % 4 == 0 ? eight >> 7 : eight << (8 * (i % 4) - 7 & 31);
    }
    return width == T::BITS ? 0 : ~((u64)within[1] << 32 | within[0]);
}

// The choice for a subchunk with codes of more than `width` bits, as many as `counts` says; step 3 with it.
template <class T> DEV Choice<T> decide(const Survey<T>& s, u32 mode, u32 special, u32 width, u32 counts) {
    const u32 count = counts & 0x1ff, mask_bytes = counts >> 9;
    const u32 full = s.full(), plain = s.plain();
    const u32 full_bytes = BYTES_A_BIT(T) * full,
              with = BYTES_A_BIT(T) * width + exception_bytes<T>(count, mask_bytes, full - width);
    const bool patched = width < full && count <= MAX_EXCEPTIONS && with < full_bytes;
    if (mode != SUBMODE_OFFSET && BYTES_A_BIT(T) * plain <= (patched ? with : full_bytes))
        return {SUBMODE_OFFSET, plain, 0, 0, 1, s.least};
    return {mode,
            patched ? width : full,
            patched ? full - width : 0,
            patched ? counts : 0,
            mode != SUBMODE_SPECIAL || special != SPECIAL_COUNTDOWN,
            mode == SUBMODE_OFFSET ? s.least : s.first};
}
