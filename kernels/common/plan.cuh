// Twin: src/bound.rs
// What a whole stream needs to be encoded, resolved on the device (src/bound.rs has the same rules), and the header
// around it.
#pragma once
#include "container.cuh"
#include "element.cuh"

DEV double next_down(double x) { return float_of(bits_of(x) - 1); }
DEV double next_up(double x) {
    const u64 bits = bits_of(x);
    return float_of(bits << 1 == 0 ? 1ull : bits >> 63 ? bits - 1 : bits + 1);
}
DEV double largest_double() { return float_of((u64)0x7fefffffffffffffull); }
DEV bool is_infinite(double x) { return bits_of(x) == 0x7ff0000000000000ull; }

// a · b for a, b ≥ 0, rounded down.
DEV double mul_down(double a, double b) {
    const double p = a * b;
    if (is_infinite(p)) return largest_double();
    const bool inexact_up = fma(a, b, -p) < 0.0 || (p < 1e-290 && p > 0.0);
    return inexact_up ? next_down(p) : p;
}

// hi − lo for hi ≥ lo, rounded down.
DEV double sub_down(double hi, double lo) {
    const double d = hi - lo;
    if (is_infinite(d)) return largest_double();
    const double bb = d - hi;
    const double err = (hi - (d - bb)) + (-lo - bb);
    return err < 0.0 ? next_down(d) : d;
}

// The largest step with step / 2 ≤ abs; step_w = 0 where the type has none so small.
DEV void choose_step(Plan& plan, u32 dtype, bool fast) {
    plan.step_w = 0;
    plan.step_j = 0;
    if (!plan.is_float || !(plan.abs_bound >= float_of((u64)1 << 52))) {
        plan.abs_bound = 0.0;
        return;
    }
    const i32 low = STEP_MIN(dtype), high = STEP_MAX(dtype);
    const u64 b = bits_of(plan.abs_bound);
    const i32 j = (i32)(b >> 52) - 1024;
    if (j < low) {
        plan.abs_bound = 0.0;
        return;
    }
    plan.step_j = j > high ? high : j;
    plan.step_w = fast ? 4 : j > high ? 7 : 4 + (u32)(b >> 50 & 3);
}

// Key of a float whose order is the order of the numbers; never 0.
DEV u64 order_of(float v) {
    const u32 b = bits_of(v);
    return b >> 31 ? (u32)~b : b | 1u << 31;
}
DEV u64 order_of(double v) {
    const u64 b = bits_of(v);
    return b >> 63 ? ~b : b | 1ull << 63;
}
DEV double value_of_order(u64 key, bool is_double) {
    if (is_double) return float_of(key >> 63 ? key & ~(1ull << 63) : ~key);
    return (double)float_of((u32)key >> 31 ? (u32)key & ~(1u << 31) : ~(u32)key);
}
// Of an inverted key.
DEV double value_of_inverted(u64 key, bool is_double) {
    return value_of_order((is_double ? ~0ull : 0xffffffffull) - key, is_double);
}

// The value range that the keys of range.cuh say; 0 where there is no number.
DEV double range_of(const u64* range, bool is_double) {
    if (range[0] == 0) return 0.0;
    return sub_down(value_of_order(range[0], is_double), value_of_inverted(range[1], is_double));
}

DEV Plan resolve(const CompressArgs& a, u64 count, const u64* range) {
    Plan plan;
    Header head;
    head.count = count;
    head.dtype = a.dtype;
    head.bytes = HEADER_BYTES + a.extension_bytes;
    head.layout();
    plan.count = count;
    plan.raw_bytes = head.raw_bytes;
    plan.chunks = head.chunks;
    plan.groups = head.groups;
    plan.records_at = head.bytes;
    plan.entries_at = head.entries_at;
    plan.bodies_at = head.bodies_at;
    plan.big_endian = a.big_endian;
    plan.is_float = head.is_float;
    plan.rounded = a.rounded;
    plan.drop = a.drop;
    plan.range = 0.0;
    plan.abs_bound = a.mode == MODE_ABS ? a.bound : 0.0;
    if (a.mode == MODE_NOA) {
        plan.range = a.has_range ? a.range : range_of(range, a.dtype == DTYPE_F64);
        plan.abs_bound = mul_down(a.bound, plan.range);
    }
    if (a.exact) {
        plan.range = plan.abs_bound = 0.0;
        plan.rounded = plan.drop = 0;
    }
    choose_step(plan, a.dtype, a.fast);
    return plan;
}

// Nothing is shared and there is no barrier: thread 0 of an array's first block writes plan and header, all the index.
// Before the chunks: the plan, an empty index, the header but for its length and checksum. Leaves nothing to do in an
// array that has no chunks, or no room for its index. Meanwhile what the next kernel loads first of an array alone
// comes to the second-level cache: a line for each thread here.
DEV void begin_compress(const CompressArgs& a) {
    const Share share(a.batch);
    const Item item = item_of(a.batch, share.item);
    const u64 ahead = ((u64)share.rank * blockDim.x + threadIdx.x) * LINE_BYTES;
    if (!a.batch.items && ahead < item.count * bytes_of(a.dtype)) prefetch(item.src + ahead);
    Slot& slot = a.batch.slots[share.item];
    Plan plan = resolve(a, item.count, slot.control.range);
    const bool room = item.bytes >= plan.bodies_at;
    if (room) share.clear(item.dst, plan.records_at, plan.bodies_at);
    if (share.rank || threadIdx.x) return;
    if (!room) plan.chunks = 0;
    slot.plan = plan;
    begin(slot.control, plan.bodies_at, 0);
    if (room) {
        u64* w = (u64*)item.dst;
        const u64 flags = (a.big_endian ? FLAG_BIG_ENDIAN : 0) | (a.fast ? FLAG_FAST : 0) |
                          (plan.records_at > HEADER_BYTES ? FLAG_EXTENDED : 0);
        w[0] = MAGIC48 | (u64)VERSION << 48;
        w[1] = CODEC_SLEEK | a.dtype << 8 | a.mode << 16 | flags << 24 | (u64)(u16)plan.step_j << 32 |
               (u64)plan.step_w << 48;
        w[2] = item.count;
        w[3] = 0;
        w[4] = a.mode == MODE_LOSSLESS ? 0 : bits_of(a.bound);
        w[5] = bits_of(plan.range);
        w[6] = bits_of(plan.abs_bound);
        w[7] = 0;
        for (u32 i = 0; i < a.extension_bytes / 8; i++) w[8 + i] = a.extension[i];
    }
    if (plan.chunks == 0)
        close_stream(item.dst, plan.records_at, plan.bodies_at, plan.bodies_at, 0, room ? 0 : STATUS_BUFFER_TOO_SMALL,
                     a.batch.outcomes + share.item);
}
