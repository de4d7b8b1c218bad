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
    for (u32 k = 0; k < head.values; k++) head.missing[k] = c.missing[k];
    head.lay_out(a, count, count < 2 ? 0 : min_of(top_bit(min_of(count, 1ull << 20) - 1) + 1, (u32)TILE_LOG2));
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

// The header of an array that is compressed.
DEV void open_header(Header& head, const InterpCompressArgs& a, u64 count, const Plan& plan) {
    lay_out(head, a, count);
    head.step_w = plan.step_w;
    head.step_j = plan.step_j;
    head.multiplier = multiplier_of(plan, a.common.dtype);
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
    if (room) share.clear(item.dst, head.bytes, head.bodies_at);
    if (share.rank || threadIdx.x) return;
    Trials& trials = ((Trials*)args.trials)[share.item];
    trials.choice = {};    // read with what is known of the array before it is made
    trials.arrived = 0;
    for (u32 k = 0; k < MOST_TRIALS; k++) trials.done[k] = 0;
    const Plan plan = resolve(a, item.count, slot.control.range);
    slot.plan = plan;
    const u32 status = room ? 0 : STATUS_BUFFER_TOO_SMALL;
    begin(slot.control, head.bodies_at, status);
    if (room) {
        head.write(item.dst,
                   CODEC_INTERP | a.mode << 16 | (u64)(u16)plan.step_j << 32 | (u64)plan.step_w << 48 |
                       (u64)multiplier_of(plan, a.dtype) << 56,
                   item.count, a.found);
        u64* const w = (u64*)item.dst;
        w[4] = a.mode == MODE_LOSSLESS ? 0 : bits_of(a.bound);
        w[5] = bits_of(plan.range);
        w[6] = bits_of(plan.abs_bound);
    }
    if (!room || head.grid.chunks == 0)
        close_stream(item.dst, head.bytes, head.bodies_at, head.bodies_at, 0, status, a.batch.outcomes + share.item);
}

}    // namespace interp::encoder
