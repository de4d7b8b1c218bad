// A packed body whose codes are symbols, most often the leading bits of elements, with low bits beside the coder: from
// codes to elements group by group, without anything of the tile being kept.
#pragma once
#include "target.cuh"

namespace ratio {

// Where the quads of a tile lie, where a lane's four places are neighbours in a row and each group lies in one plane;
// elements are counted from the tile's first one.
struct Quads {
    u32 a, b, lx, ly, lz;
    u32 x, row;    // of the group, in which this lane's quad lies
    u64 pitch, plane_pitch, at;    // from one row or plane to the next; of the quad, from the group's first element
    bool full;                     // all places have an element

    // Whether quads of a tile lie so, all of which is wanted.
    DEV static bool fit(const Grid& g, const Target& to) {
        return to.whole && g.a >= 2 && g.z != MANY && to.step[0] == 1 && (g.c == 0 || g.a + g.b >= GROUP_LOG2);
    }
    DEV Quads(const Grid& g, const Tile& t, const Target& to, u32 lane) {
        a = uniform(g.a);
        b = uniform(g.b);
        lx = uniform(t.lx);
        ly = uniform(t.ly);
        lz = uniform(t.lz);
        pitch = to.step[1];
        plane_pitch = to.step[2];
        x = QUAD * lane & low_ones(a);
        row = QUAD * lane >> a;
        at = x + row * pitch;
        full = uniform(t.count() == g.capacity() && g.capacity() % BATCH == 0);
    }
    DEV u32 x_of(u32 group) const { return a > GROUP_LOG2 ? (group & low_ones(a - GROUP_LOG2)) * GROUP : 0; }
    // Rows before a group's first one, of all planes.
    DEV u32 rows_before(u32 group) const {
        return a > GROUP_LOG2 ? group >> (a - GROUP_LOG2) : group << (GROUP_LOG2 - a);
    }
    DEV bool exists(u32 group) const {
        const u32 rows = rows_before(group);
        return x_of(group) < lx && (rows & low_ones(b)) < ly && rows >> b < lz;
    }
    // Which of a lane's quad have an element.
    DEV u32 has(u32 group) const {
        if (full) return 15;
        const u32 rows = rows_before(group), from = x_of(group) + x;
        if (from >= lx || (rows & low_ones(b)) + row >= ly || rows >> b >= lz) return 0;
        return low_ones(min_of(lx - from, (u32)QUAD));
    }
    DEV u64 start(u32 group) const {
        const u32 rows = rows_before(group);
        return x_of(group) + (rows & low_ones(b)) * pitch + (rows >> b) * plane_pitch + at;
    }
};

// Stores a lane's quad at a place of memory.
template <class T> DEV void put_at(u8* to, u32 has, u32 big_endian, typename T::Word (&v)[QUAD]) {
    enum { SIZE = T::BITS / 8, TOGETHER = QUAD * SIZE < 16 ? QUAD * SIZE : 16 };
    if (big_endian) {
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) v[j] = swapped<T>(v[j]);
    }
    if (has == 15 && ((u64)to & (TOGETHER - 1)) == 0) {
        put_four(to, v, T());
        return;
    }
#pragma unroll
    for (u32 j = 0; j < QUAD; j++)
        if (has >> j & 1) put<T>(to + j * SIZE, v[j]);
}

// Decodes a packed body. It has registers of its own. For a whole warp; slots and ring are addresses in shared memory.
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
    const bool by_quads = uniform(Quads::fit(g, own.to));
    const Quads quads(g, own.t, own.to, lane);
    // Lane l learns of groups 4·l … 4·l + 3 which of them have an element.
    u32 some = quads.full ? 15 : 0;
    if (!quads.full)
#pragma unroll 1
        for (u32 i = 0; uniform(i < groups); i++) {
            const bool any = by_quads ? quads.exists(i) : __any_sync(FULL, quad_of(g, own.t, i, lane).has);
            if (i / BATCH_GROUPS == lane) some |= (u32)any << i % BATCH_GROUPS;
        }
    const u32 classes = read_classes(c, groups, some, lane);
    LowBits low;
    if (uniform(form.low)) low.begin(own.side, body, bytes);
    // Where the numbers of a group begin is known before its codes are.
    const bool known = form.low && low.all_have(quads.full);
    const u32 change = uniform(p.change), is_float = uniform(s.head.is_float), big_endian = uniform(s.head.big_endian);
    const double power = power_of(own.side.digits);
    u8* const out = own.to.dst + own.to.origin * (T::BITS / 8);
    bool good = true;
#pragma unroll 1
    for (u32 i = 0; uniform(i < groups); i++) {
        if (uniform(i == change)) good &= c.change();
        const u32 cls = __shfl_sync(FULL, classes, i / BATCH_GROUPS) >> (4 * (i % BATCH_GROUPS)) & 15;
        Quad q;
        if (!by_quads) q = quad_of(g, own.t, i, lane);
        const u32 has = by_quads ? quads.has(i) : q.has;
        FourNumbers<Word> numbers;
        if (known) numbers.ask(low, i * GROUP + lane * QUAD);
        u32 code[QUAD] = {0, 0, 0, 0};
        if (uniform(cls)) {
            const bool direct = cls == TABLES - 1;
            decode_symbols(c, table_of(slots, table_at(ring), true, cls), direct, has, lane, code);
        }
        Word v[QUAD];
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) v[j] = code[j];
        if (known)
            numbers.complete(low, i * GROUP + lane * QUAD, v);
        else if (uniform(form.low))
            low.complete(v, has);
#pragma unroll
        for (u32 j = 0; j < QUAD; j++) v[j] += p.base;
        good &= from_words<T>(form, own.side, body, power, is_float, has, v);
        if (by_quads)
            put_at<T>(out + quads.start(i) * (T::BITS / 8), has, big_endian, v);
        else
            put_quad<T>(s, own.to, own.t, q, i, lane, v);
    }
    if (uniform(change == groups)) good &= c.change();
    if (uniform(form.low) && !known) good &= low.taken == own.side.numbers;
    return uniform(__all_sync(FULL, good)) && uniform(ended_well(c, body + bytes));
}

}    // namespace ratio
