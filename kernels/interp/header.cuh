// Twin: src/codec/interp/encoder.rs
// The header of a stream, and what follows from the bound before any tile is looked at.
#pragma once
#include "../common/range.cuh"
#include "choose.cuh"
#include "stages.cuh"

namespace interp::encoder {

// How arrays are cut, and what follows for a stream; by one thread.
DEV void lay_out(Header& head, const InterpCompressArgs& a, u64 count) {
    const CompressArgs& c = a.common;
    head.dtype = c.dtype;
    head.big_endian = c.big_endian;
    head.values = c.values;
    Grid& g = head.grid;
    g.rank = a.rank;
    for (u32 k = 0; k < g.rank; k++) {
        g.len[k] = a.lens[k];
        g.side[k] = a.sides_log2[k];
    }
    if (g.rank == 1) {
        g.len[0] = count;
        g.side[0] = (u8)(count < 2 ? 0 : min_of(top_bit(min_of(count, 1ull << 20) - 1) + 1, (u32)TILE_LOG2));
    }
    g.make();
    for (u32 k = 0; k < head.values; k++) head.missing[k] = c.missing[k];
    const u32 extension = EXTENSION_BYTES + 8 * ((g.rank > 1 ? g.rank : 0) + head.values) + g.rank;
    head.bytes = HEADER_BYTES + (extension + ALIGN - 1) / ALIGN * ALIGN;
    head.layout();
}

// The multiplier of the lattice for a bound and the quantizer's step within it: src/codec/interp/lattice.rs.
DEV u32 multiplier_of(const Plan& plan, u32 dtype) {
    const bool exact = dtype == DTYPE_F32 ? plan.step_j >= -100 : dtype == DTYPE_F64 && plan.step_j >= -960;
    if (!plan.step_w || !exact) return 0;
    const double most_error = 7.53125, most = (double)MOST_MULTIPLIER;
    const double of_bound = plan.abs_bound * float_of((u64)(8 - plan.step_j + 1023) << 52);
    const double quotient = of_bound / most_error;
    u32 multiplier = (u32)(quotient < most ? quotient : most);
    if ((double)multiplier * most_error > of_bound) multiplier--;
    if (multiplier % 2 == 0) multiplier--;
    return multiplier >= LEAST_MULTIPLIER && multiplier <= MOST_MULTIPLIER ? multiplier : 0;
}

// Length and checksum of a stream, whose index has the keyed sum `sum`, and the outcome; `next`: whether numbers next
// to missing values take elements' places. By one thread.
DEV void close_stream(u8* dst, u32 head_bytes, u64 bodies_at, u64 bytes, u64 sum, u32 status, bool next,
                      Outcome* outcome) {
    report(outcome, bytes, status);
    if (status) return;
    u64* w = (u64*)dst;
    w[3] = bytes;
    if (next) w[HEADER_BYTES / 8 + 1] |= 1 << 16;
    for (u32 i = 0; i < head_bytes / 8; i++)
        if (i != 7) sum += (w[i] & 0xffffffff) * key_of(2 * i) + (w[i] >> 32) * key_of(2 * i + 1);
    w[7] = mix(sum + KEY64 * bodies_at);
}

// The header of an array that is compressed.
DEV void open_header(Header& head, const InterpCompressArgs& a, u64 count, const Plan& plan) {
    lay_out(head, a, count);
    head.step_w = plan.step_w;
    head.step_j = plan.step_j;
    head.multiplier = multiplier_of(plan, a.common.dtype);
}

DEV void write_head(const CompressArgs& a, const Header& head, const Plan& plan, u64 count, u8* dst) {
    const Grid& g = head.grid;
    u64* w = (u64*)dst;
    for (u32 i = 0; i < head.bytes / 8; i++) w[i] = 0;
    const u64 flags = (a.big_endian ? FLAG_BIG_ENDIAN : 0) | FLAG_EXTENDED;
    w[0] = MAGIC48 | (u64)VERSION << 48;
    w[1] = CODEC_INTERP | a.dtype << 8 | a.mode << 16 | flags << 24 | (u64)(u16)plan.step_j << 32 |
           (u64)plan.step_w << 48 | (u64)multiplier_of(plan, a.dtype) << 56;
    w[2] = count;
    w[4] = a.mode == MODE_LOSSLESS ? 0 : bits_of(a.bound);
    w[5] = bits_of(plan.range);
    w[6] = bits_of(plan.abs_bound);
    w += HEADER_BYTES / 8;
    w[0] = (head.bytes - HEADER_BYTES) | (u64)(1 | 1 << 8 | g.rank << 24) << 32;
    w[1] = head.values | a.found << 8;
    w += 2;
    for (u32 k = 0; g.rank > 1 && k < g.rank; k++) *w++ = g.len[k];
    for (u32 k = 0; k < head.values; k++) *w++ = head.missing[k];
    for (u32 k = 0; k < g.rank; k++) ((u8*)w)[k] = g.side[k];
}

// Before the tiles: what follows from the bound, an empty index, the header but for its length and checksum.
DEV void begin_compress(const InterpCompressArgs& args) {
    SHARED Header head;
    const CompressArgs& a = args.common;
    const Share share(a.batch);
    const Item item = item_of(a.batch, share.item);
    Slot& slot = a.batch.slots[share.item];
    if (threadIdx.x == 0) lay_out(head, args, item.count);
    if (args.staged && blockIdx.x == 0) Wave(args, 0).weights->make();
    __syncthreads();
    const bool room = item.bytes >= head.bodies_at;
    if (room)
        for (u64 at = head.bytes / 16 + (u64)share.rank * blockDim.x + threadIdx.x; at < head.bodies_at / 16;
             at += (u64)share.of * blockDim.x)
            ((uint4*)item.dst)[at] = make_uint4(0, 0, 0, 0);
    if (share.rank || threadIdx.x) return;
    Trials& trials = ((Trials*)args.trials)[share.item];
    trials.arrived = 0;
    for (u32 k = 0; k < MOST_TRIALS; k++) trials.done[k] = 0;
    const Plan plan = resolve(a, item.count, slot.control.range);
    slot.plan = plan;
    Control& control = slot.control;
    control.ticket = control.slots = 0;
    control.end = head.bodies_at;
    control.index_sum = control.disagreement = 0;
    control.closed = 0;
    control.status = room ? 0 : STATUS_BUFFER_TOO_SMALL;
    if (room) write_head(a, head, plan, item.count, item.dst);
    if (!room || head.grid.chunks == 0)
        close_stream(item.dst, head.bytes, head.bodies_at, head.bodies_at, 0, control.status, false,
                     a.batch.outcomes + share.item);
}

}    // namespace interp::encoder
