// Twin: src/codec/sleek/decode.rs
// Stream → array. Blocks take chunks by ticket, so that no block is behind, and what is read and written at one time
// lies together in memory: body to shared memory with its checksum on the way, then each warp decodes subchunks in
// registers and stores 16 bytes a lane. Everything that steers an address is checked before it is used; checksums are
// compared at the end, so a stream that fails them has been decoded to harmless nonsense by then.
//
// A block of 4 warps shares 16 KiB and a little more:
//
//   body        the packed chunk            all threads copy it in, every warp reads it
//   part[4]     keyed sums of its words     each warp its own; thread 64 compares them with the group's checksum
//   stream      what is known of the array  lane 0 of warp 0 at the start of an array; all read it
//   parts       where its subchunks lie     warp 0 parses, all read
//   place[2]    this chunk and the next     warp 3 looks up the next while this one is decoded
//   picked[2]   what a box has of them      the same
//
//   barrier 1   place[turn] is known and nobody reads the last body any longer; then: stream → body
//   barrier 2   the body and its sums are there; then: warp 3 looks up place[turn ^ 1], thread 64 compares
//   barrier 3   parts are there, where warp 0 has parsed for all; then: body → registers → array
//   barrier 4   of a box: the chunk is in the block's memory; then: what is wanted → array
#pragma once
#include "words.cuh"

// A body to shared memory; this thread's share of its keyed sum. A short one all at once; of a long one, of which
// registers hold four parts, that takes longer.
DEV u64 fetch(const u8* src, u32 units, uint4* body) {
    u64 sum = 0;
    const uint4* from = (const uint4*)src;
    u32 i = threadIdx.x, key = key_of(4 * i);
    if (uniform(units) <= 4 * DECODE_THREADS) {
#pragma unroll
        for (u32 j = 0; j < 4; j++)
            if (i + j * DECODE_THREADS < units)
                copy_async(body + i + j * DECODE_THREADS, from + i + j * DECODE_THREADS);
        wait_for_copies();
#pragma unroll
        for (u32 j = 0; j < 4; j++)
            if (i + j * DECODE_THREADS < units)
                sum += keyed(body[i + j * DECODE_THREADS], key + j * (8 * DECODE_THREADS * KEY32));
        return sum;
    }
    for (; i + 3 * DECODE_THREADS < units; i += 4 * DECODE_THREADS) {
        uint4 q[4];
#pragma unroll
        for (u32 j = 0; j < 4; j++) q[j] = load_streaming(from + i + j * DECODE_THREADS);
#pragma unroll
        for (u32 j = 0; j < 4; j++) {
            body[i + j * DECODE_THREADS] = q[j];
            sum += keyed(q[j], key);
            key += 8 * DECODE_THREADS * KEY32;
        }
    }
    for (; i < units; i += DECODE_THREADS) {
        const uint4 q = load_streaming(from + i);
        body[i] = q;
        sum += keyed(q, key);
        key += 8 * DECODE_THREADS * KEY32;
    }
    return sum;
}

// What all threads of a block know of the stream that they work on: in shared memory, since registers are short.
template <class T> struct Stream : OpenStream<Header> {
    Quantizer<T> quantizer;
    Beside<T> beside;
    Target target;
    u8* dst;
    Box box;
    u64 begin, end;    // chunks whose groups are wanted

    enum : u32 { CHUNK_ELEMENTS = CHUNK_BYTES / (T::BITS / 8) };
    // From that of the first byte on to that of the last one.
    DEV void set_chunks(u64 first, u64 last) {
        const u64 group = (u64)CHUNK_BYTES * GROUP_CHUNKS;
        begin = first / group * GROUP_CHUNKS;
        end = min_of((last / group + 1) * GROUP_CHUNKS, head.chunks);
    }

    template <bool BOXED> DEV void open(const DecompressArgs& a, u32 i) {
        const Item item = take(a, i);
        if (!status && (a.first > head.count || item.count > head.count - a.first)) status = STATUS_OUT_OF_RANGE;
        if (!status && a.batch.items && item.count != head.count) status = STATUS_OUT_OF_RANGE;
        if (BOXED && !status && !box.make(head, a)) status = STATUS_OUT_OF_RANGE;
        if (status) return;
        quantizer.set(head.step_w, head.step_j);
        if (T::EXPONENT > 0) beside.set(head);
        dst = item.dst;
        begin = end = 0;
        if (BOXED) {
            target = {a.scratch + (u64)blockIdx.x * CHUNK_BYTES, 0, CHUNK_BYTES};
            if (box.count) set_chunks(box.place(0) * (T::BITS / 8), box.place(box.count - 1) * (T::BITS / 8));
            return;
        }
        target.begin = a.first * (T::BITS / 8);
        target.end = target.begin + item.count * (T::BITS / 8);
        target.origin = item.dst - target.begin;
        if (item.count) set_chunks(target.begin, target.end - 1);
    }
};

// Where a chunk goes: of a box to the block's memory.
template <bool BOXED> DEV u64 place_of(u64 chunk) { return BOXED ? 0 : chunk * CHUNK_BYTES; }

// What a chunk adds to the sum of all disagreements; `part` holds the warps' shares of its keyed sum.
DEV u64 compare(const u8* src, const Header& head, u64 c, const u64* part) {
    u64 keyed_sum = 0;
#pragma unroll
    for (u32 w = 0; w < DECODE_WARPS; w++) keyed_sum += part[w];
    return disagreement_of(src + head.bytes, c, keyed_sum);
}

// Decodes chunk c from the body in shared memory; false if it is not valid. For a whole block.
template <bool BOXED, class T>
DEV bool decode(const u32* body, const Body& place, const Stream<T>& stream, Parts<T>& parts, u64 c,
                const Masks<T>* masks, u32 warp, u32 lane) {
    if (place.extent == NOTHING) return true;    // only its checksum was needed
    const u64 at = place_of<BOXED>(c);
    const Target& target = stream.target;
    const bool whole = BOXED || place.extent == WHOLE, big_endian = stream.head.big_endian;
    const bool quantized = T::EXPONENT > 0 && stream.quantizer.on;
    if (place.kind != KIND_PACKED) return decode_stored<T>(body, place.kind, stream.head, target, at, whole, c, masks);
    // Of a box one way is enough: it reads as fast, and the kernel is a third shorter.
    if (!BOXED && T::EXPONENT > 0 && whole && !big_endian && (quantized || stream.head.is_float)) {
        u8* to = target.origin + at;
        if (quantized ? decode_plain<T, true>(body, place.units * ALIGN, stream.quantizer, to, masks, warp, lane)
                      : decode_plain<T, false>(body, place.units * ALIGN, stream.quantizer, to, masks, warp, lane))
            return true;
    }
    if (warp == 0) {
        const bool good =
            parse<T>(body, place.units * ALIGN, stream.head, quantized ? Swar16Quantizer<T>::offset() : 0, lane, parts);
        if (lane == 0) parts.good = good;
    }
    __syncthreads();
    if (!parts.good) return false;
    if (quantized && parts.quantized)
        decode_packed<T, T::EXPONENT != 0>(body, parts, stream.quantizer, big_endian, target, at, whole, masks, warp,
                                           lane);
    else
        decode_packed<T, false>(body, parts, stream.quantizer, big_endian, target, at, whole, masks, warp, lane);
    return true;
}

// Of a box: the chunk from which on its group has something of it, and what the chunk has itself. For a whole warp.
template <class T> DEV u64 pick_chunk(const Stream<T>& stream, u64 chunk, Picked& picked, u32 lane) {
    enum : u32 { ELEMENTS = Stream<T>::CHUNK_ELEMENTS };
    while (chunk < stream.end) {
        // Elements of the box before the chunk, and behind it; the same of its group.
        const u64 group = chunk / GROUP_CHUNKS, begin = lane < 2 ? chunk + lane : (group + (lane & 1)) * GROUP_CHUNKS;
        const u64 before = stream.box.before(min_of(begin * ELEMENTS, stream.head.count));
        const u64 first = __shfl_sync(FULL, before, 0), behind = __shfl_sync(FULL, before, 1);
        if (uniform(__shfl_sync(FULL, before, 2) != __shfl_sync(FULL, before, 3))) {
            if (lane == 0) picked.set(stream.box, chunk * ELEMENTS, first, (u32)(behind - first));
            __syncwarp();
            break;
        }
        const u64 ticket = count_if(lane == 0, &stream.control->ticket);
        chunk = stream.begin + stream.work_slots + __shfl_sync(FULL, ticket, 0);
    }
    return chunk;
}

// Picks what is wanted of a chunk that is in the block's memory. For a whole block.
template <class T> DEV void pick(const Stream<T>& stream, const Picked& picked, u64 chunk) {
    const u8* const from = stream.target.origin;
#pragma unroll 2
    for (u32 i = threadIdx.x; i < picked.count; i += DECODE_THREADS) {
        const u32 at = picked.place(i, stream.box, chunk * Stream<T>::CHUNK_ELEMENTS);
        if (T::BITS == 64) ((u64*)stream.dst)[picked.first + i] = ((const u64*)from)[at];
        if (T::BITS == 32) ((u32*)stream.dst)[picked.first + i] = ((const u32*)from)[at];
        if (T::BITS == 16) ((u16*)stream.dst)[picked.first + i] = ((const u16*)from)[at];
        if (T::BITS == 8) stream.dst[picked.first + i] = from[at];
    }
}

// Finds the body of a block's next chunk and starts it on its way to the second-level cache; for a whole warp.
template <bool BOXED, class T>
DEV void look_up(const u8* src, const Stream<T>& stream, u64 chunk, Body& place, Picked& picked, u32 lane) {
    if (BOXED) chunk = pick_chunk(stream, chunk, picked, lane);
    if (chunk >= stream.end) {
        if (lane == 0) place.chunk = chunk;
        return;
    }
    Body body = locate(src, stream.head, chunk, lane);
    body.extent = (u16)stream.target.extent(place_of<BOXED>(chunk), stream.head.chunk_bytes(chunk));
    if (BOXED && picked.count == 0) body.extent = NOTHING;
    for (u32 i = LINE_BYTES * lane; i < body.units * ALIGN; i += LINE_BYTES * 32) prefetch(src + body.at + i);
    if (lane == 0) place = body;
}

// A block's shared memory.
template <class T> struct DecodeShared {
    alignas(16) u32 body[BODY_ROOM / 4];
    u64 part[DECODE_WARPS];
    Stream<T> stream;
    Parts<T> parts;
    Body place[2];    // of this chunk and the next
    Picked picked[2];
    Masks<T> masks[T::EXPONENT > 0 ? DECODE_WARPS : 1];
};

// What lies behind the plane of a masked body (docs/reference/format.md §4); no units where that is not valid.
template <class T> DEV Body behind_plane(const u32* body, const Body& place, const Header& head) {
    const u32 start = body[0], which = start & 15, kind = start >> 6 & 3, plane = start >> 16;
    Body within = place;
    within.kind = (u16)kind;
    within.units = plane < place.units ? place.units - plane : 0;
    if (which == 0 || which >> head.values || start & 0xff30 || plane == 0) within.units = 0;
    if (kind != KIND_PACKED && (kind != KIND_CONSTANT || within.units != 1)) within.units = 0;
    return within;
}

// Works from one of an array's work slots. For a whole block.
template <bool BOXED, class T> DEV void decompress_one(DecodeShared<T>& shared, u64 work_slot) {
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const Stream<T>& stream = shared.stream;
    const u8* src = stream.src;
    u64 disagreement = 0;    // of bodies with the groups' checksums: zero in a sound stream
    u32 turn = 0;
    if (warp == DECODE_WARPS - 1)
        look_up<BOXED>(src, stream, stream.begin + work_slot, shared.place[0], shared.picked[0],
                       lane);    // while the body is on its way, the index
    bool good = check_index(src, stream.head, stream.control, work_slot, stream.work_slots) || lane;
    for (;; turn ^= 1) {
        __syncthreads();    // the place is known, and everyone is done with the body before
        const Body here = shared.place[turn];
        if (uniform(here.chunk >= stream.end)) break;
        const u64 ticket = count_if(threadIdx.x == DECODE_THREADS - 32,
                                    &stream.control->ticket);    // nobody waits for it before the body is here
        const u64 sum = warp_sum(fetch(src + here.at, here.units, (uint4*)shared.body));
        if (lane == 0) shared.part[warp] = sum;
        __syncthreads();
        if (warp == DECODE_WARPS - 1)
            look_up<BOXED>(src, stream, stream.begin + stream.work_slots + __shfl_sync(FULL, ticket, 0),
                           shared.place[turn ^ 1], shared.picked[turn ^ 1], lane);
        if (!here.units) {
            good = false;
            continue;    // the same on every thread of the block
        }
        if (threadIdx.x == DECODE_THREADS / 2) disagreement += compare(src, stream.head, here.chunk, shared.part);
        const u32* body = shared.body;
        Body within = here;
        const Masks<T>* masks = nullptr;
        if (T::EXPONENT > 0 && uniform(here.kind == KIND_PACKED && here.extent != NOTHING && stream.beside.count)) {
            shared.masks[warp].set_none(lane);
            masks = shared.masks + warp;
        } else if (T::EXPONENT > 0 && uniform(here.kind == KIND_MASKED && here.extent != NOTHING)) {
            within = behind_plane<T>(body, here, stream.head);
            if (!within.units) {
                good = false;
                continue;    // the same on every thread of the block
            }
            good &= shared.masks[warp].read(body, stream.head.missing, warp, lane);
            masks = shared.masks + warp;
            body += (here.units - within.units) * (ALIGN / 4);
        }
        if (T::EXPONENT > 0 && masks) {
            const bool replaces = within.kind == KIND_PACKED && stream.beside.count;
            if (lane == 0) shared.masks[warp].beside = replaces ? &stream.beside : nullptr;
            __syncwarp();
        }
        good &= decode<BOXED>(body, within, stream, shared.parts, here.chunk, masks, warp, lane);
        if (BOXED) {
            __syncthreads();
            pick(stream, shared.picked[turn], shared.place[turn].chunk);
        }
    }
    if (!good) fail(stream.control, STATUS_CORRUPT);
    __syncthreads();
    if (threadIdx.x == DECODE_THREADS / 2)
        close(stream.control, src, stream.head, stream.head.raw_bytes, disagreement, stream.outcome, stream.work_slots);
}

template <class T, bool BOXED> DEV void decompress(const DecompressArgs& a) {
    SHARED DecodeShared<T> shared;
    each_work_slot(
        a.batch, shared.stream, [&](u32 i) { shared.stream.template open<BOXED>(a, i); },
        [&](u64 slot) { decompress_one<BOXED>(shared, slot); });
}
