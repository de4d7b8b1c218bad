// A packed body whose codes are symbols, most often the leading bits of elements, with low bits beside the coder: from
// codes to elements group by group, without anything of the tile being kept.
#pragma once
#include "target.cuh"

namespace ratio {

// Where the quads of a whole tile lie, where a lane's four places are neighbours in a row and each group lies in one
// plane; elements are counted from the tile's first one.
struct Quads {
    u64 at;                            // of this lane's quad of the next group, in bytes
    u64 step, row_step, plane_step;    // to the next group; more behind the last one of a row, of a plane
    u32 row_mask, plane_mask;          // of the numbers of groups: none of these bits in those behind them

    // Whether quads of a tile lie so, all of which is there and wanted, and are stored as one.
    template <class T> DEV static bool fit(const Grid& g, const Tile& t, const Target& to) {
        enum { SIZE = T::BITS / 8, TOGETHER = QUAD * SIZE < 16 ? QUAD * SIZE : 16 };
        const u64 together =
            (u64)to.dst | to.origin * SIZE | (g.b ? to.step[1] * SIZE : 0) | (g.c ? to.step[2] * SIZE : 0);
        return to.together && g.z != MANY && (g.c == 0 || g.a + g.b >= GROUP_LOG2) && t.count() == g.capacity() &&
               g.capacity() % BATCH == 0 && together % TOGETHER == 0;
    }
    DEV Quads(const Grid& g, const Target& to, u32 size, u32 lane) {
        const bool is_part = g.a > GROUP_LOG2;    // of a row
        at = ((QUAD * lane & low_ones(g.a)) + (QUAD * lane >> g.a) * to.step[1]) * size;
        step = (is_part ? (u64)GROUP : to.step[1] << (GROUP_LOG2 - g.a)) * size;
        row_step = is_part ? (to.step[1] - (1u << g.a)) * size : 0;
        plane_step = g.c ? (to.step[2] - (to.step[1] << g.b)) * size : 0;
        row_mask = uniform(is_part ? low_ones(g.a - GROUP_LOG2) : ~0u);
        plane_mask = uniform(g.c ? low_ones(g.a + g.b - GROUP_LOG2) : ~0u);
    }
    // Moves on, behind a group.
    DEV void pass(u32 group) {
        at += step;
        if (((group + 1) & row_mask) == 0) at += row_step;
        if (((group + 1) & plane_mask) == 0) at += plane_step;
    }
};

// Decodes a packed body of a tile whose quads fit, and whose elements' order is that of numbers or magnitudes. AGAIN: a
// group has one of the tables of all tiles. It has registers of its own. For a whole warp; slots and ring are addresses
// in shared memory.
template <class T>
SELDOM Verdict packed_quads(const Stream<T>& s, const Own<T>& own, const u8* body, u32 bytes, u32 ring) {
    typedef typename T::Word Word;
    const u32 lane = threadIdx.x & 31, groups = s.head.grid.groups();
    const TileForm form = TileForm::of(uniform(own.side.form));
    const Prefix<T> p = read_prefix<T>(s.head, body, bytes, 0, lane, uniform(own.side.states_at));
    if (!uniform(p.good)) return BAD;
    Coder c;
    c.x = p.state;
    c.threshold = p.change == NEVER ? 0 : LOW;
    c.begin(p.words, s.src + s.head.stream_bytes, ring, lane);
    const u32 classes = read_classes(c, groups, 15, lane);
    if (uniform(__any_sync(FULL, (classes ^ classes >> 1) & 0x7777))) return AGAIN;
    LowBits low;
    if (uniform(form.low)) low.begin(own.side, body, bytes);
    const bool known = form.low && low.all_have(true);
    const u32 change = uniform(p.change), is_float = uniform(s.head.is_float), table = table_at(ring),
              big_endian = uniform(s.head.big_endian);
    // Mostly no group has codes that are all 0.
    const bool always = uniform(__all_sync(FULL, classes == 0xffff || BATCH_GROUPS * lane >= groups));
    Quads quads(s.head.grid, own.to, T::BITS / 8, lane);
    u8* const out = own.to.dst + own.to.origin * (T::BITS / 8);
    const Word base = p.base;
    bool good = true;
#pragma unroll 1
    for (u32 i = 0; uniform(i < groups); i++) {
        if (uniform(i == change)) good &= c.change();
        FourNumbers<Word> numbers;
        if (known) numbers.ask(low, i * GROUP + lane * QUAD);
        Word v[QUAD] = {0, 0, 0, 0};
        if (always || uniform(__shfl_sync(FULL, classes, i / BATCH_GROUPS) >> (4 * (i % BATCH_GROUPS)) & 15)) {
            c.top_up(lane);
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) v[j] = c.symbol<true>(table, true) >> 10 & 0xfff;
        }
        if (known) {
            numbers.template complete<true>(low, i * GROUP + lane * QUAD, 15, v);
        } else if (uniform(form.low)) {
            u32 takes;
            const u32 first = low.take(v, 15, takes);
            numbers.ask(low, first);
            numbers.template complete<false>(low, first, takes, v);
        }
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) v[j] += base;
        if (uniform(form.order == NUMBERS)) {
            from_numbers<T>(is_float, form.shift, v);
        } else {
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) v[j] = turned<T>(v[j] << form.shift);
        }
        if (big_endian) {
#pragma unroll
            for (u32 j = 0; j < QUAD; j++) v[j] = swapped<T>(v[j]);
        }
        put_four(out + quads.at, v, T());
        quads.pass(i);
    }
    if (uniform(change == groups)) good &= c.change();
    if (uniform(form.low) && !known) good &= low.taken == own.side.numbers;
    return uniform(__all_sync(FULL, good)) && uniform(ended_well(c, body + bytes)) ? GOOD : BAD;
}

// Decodes any such body.
template <class T>
SELDOM bool packed_symbols(const Stream<T>& s, const Own<T>& own, const u8* body, u32 bytes, u32 slots, u32 ring) {
    typedef typename T::Word Word;
    const Grid& g = s.head.grid;
    const u32 lane = threadIdx.x & 31, groups = g.groups();
    const TileForm form = TileForm::of(uniform(own.side.form));
    const Prefix<T> p = read_prefix<T>(s.head, body, bytes, 0, lane, uniform(own.side.states_at));
    if (!uniform(p.good)) return false;
    Coder c;
    c.x = p.state;
    c.threshold = p.change == NEVER ? 0 : LOW;
    c.begin(p.words, s.src + s.head.stream_bytes, ring, lane);
    const u32 classes = read_classes(c, groups, groups_that_exist(g, own.t, lane), lane);
    LowBits low;
    if (uniform(form.low)) low.begin(own.side, body, bytes);
    const u32 change = uniform(p.change), is_float = uniform(s.head.is_float);
    bool good = true;
#pragma unroll 1
    for (u32 i = 0; uniform(i < groups); i++) {
        if (uniform(i == change)) good &= c.change();
        const u32 cls = __shfl_sync(FULL, classes, i / BATCH_GROUPS) >> (4 * (i % BATCH_GROUPS)) & 15;
        const Quad q = quad_of(g, own.t, i, lane);
        u32 code[QUAD] = {0, 0, 0, 0};
        if (uniform(cls))
            decode_symbols(c, table_of(slots, table_at(ring), true, cls), cls == TABLES - 1, q.has, lane, code);
        Word v[QUAD];
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) v[j] = code[j];
        if (uniform(form.low)) low.complete(v, q.has);
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) v[j] += p.base;
        good &= from_words<T>(form, own.side, body, is_float, q.has, v);
        put_quad<T>(s, own.to, own.t, q, i, lane, v);
    }
    if (uniform(change == groups)) good &= c.change();
    if (uniform(form.low)) good &= low.taken == own.side.numbers;
    return uniform(__all_sync(FULL, good)) && uniform(ended_well(c, body + bytes));
}

}    // namespace ratio
