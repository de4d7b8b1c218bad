// No twin in src.
// What the stages of compressing tell each other of tiles. Tiles of all arrays follow each other; those of a wave have
// slots in memory of the device:
//
//   slot    codes, then the front of a body; from its end on downwards low bits, and words before them
//   list    tiles that whole tiles' kernels leave to others
#pragma once
#include "finest.cuh"
#include "words.cuh"

namespace interp::encoder {

enum : u32 {
    FRONT_AT = 2 << TILE_LOG2,    // where a slot has the front
    FRONT_BYTES = 1024,
    BODY_AT = FRONT_AT + FRONT_BYTES,    // before which there are no words
};

// Those of a whole tile, smooth and rough: of axes of 32, levels 0 to 4, then of one of 16, levels 0 to 3.
struct WholeWeights {
    enum : u32 { OF_SHORT = 32, COUNT = OF_SHORT + 16 };
    FourWeights of[2][COUNT];

    // The first of those of a level.
    DEV static constexpr u32 first(u32 axis, u32 level) {
        return axis == 2 ? OF_SHORT + 16 - (16 >> level) : 32 - (32 >> level);
    }
    // By a whole block.
    DEV void make() {
#pragma unroll 1
        for (u32 i = threadIdx.x; i < 2 * COUNT; i += blockDim.x) {
            const bool rough = i >= COUNT;
            const u32 at = rough ? i - COUNT : i, n = at < OF_SHORT ? 32 : 16,
                      rest = (at < OF_SHORT ? (u32)OF_SHORT : (u32)COUNT) - at;
            FourWeights& w = of[rough][at];
            w = {0, 1 << WEIGHT_BITS, 0, 0};
            if (rest == 1) continue;
            const u32 level = top_bit(n) - 1 - top_bit(rest - 1), j = (n >> level) - rest;
            if (j >= nodes_of(n, level) - nodes_of(n, level + 1)) continue;
            w = make_recipe(n, level, j, rough);
        }
    }
    // Copies others. By a whole block.
    DEV void take(const WholeWeights& other) {
        for (u32 i = threadIdx.x; i < sizeof(*this) / 16; i += blockDim.x)
            ((uint4*)this)[i] = ((const uint4*)&other)[i];
    }
};

// What became of a tile.
enum Stage : u32 { NOT_SEEN, BYTES, HALVES, DONE };
struct StageTile {
    u32 stage;
    u32 head;    // set, predictor, numbers, patches
    i32 base;
    u32 front_halves;
    u64 constant;                         // the element, if all codes are 0
    u32 entry;                            // of its body in the index
    u32 first_half, halves, low_words;    // struct Body

    DEV void close(const Body& body, u32 kind) {
        stage = DONE;
        entry = body.units | kind << WIDE_KIND_SHIFT;
        first_half = body.first_half;
        halves = body.halves;
        low_words = body.low_words;
    }
    DEV Body body() const { return {0, 0, first_half, halves, low_words}; }
};
static_assert(sizeof(StageTile) == INTERP_STAGE_TILE_BYTES, "what the host gives");

// Tiles of a wave that are left to others; zero before.
struct StageLists {
    u32 wide, left;                             // how many
    u32 predicted, coded, coded_wide, taken;    // tickets
    u32 zero[2];
};
static_assert(sizeof(StageLists) == INTERP_LISTS_BYTES && sizeof(WholeWeights) == INTERP_WEIGHTS_BYTES,
              "what the host gives");

// The memory of a wave.
struct Wave {
    StageLists* lists;
    WholeWeights* weights;    // once for all waves
    u32 *wide, *left;         // numbers of tiles within the wave
    StageTile* tiles;
    u8* slots;
    u64 first;    // the number of its first tile
    u32 count;
    u32 slot_bytes;

    DEV explicit Wave(const InterpCompressArgs& a, u32 slot_bytes) : slot_bytes(slot_bytes) {
        lists = (StageLists*)a.stages;
        weights = (WholeWeights*)(a.stages + sizeof(StageLists));
        wide = (u32*)(weights + 1);
        left = wide + a.room;
        tiles = (StageTile*)(left + a.room);
        slots = (u8*)(tiles + a.room);    // of a room that is a multiple of 16
        first = a.first;
        count = a.count;
    }
    DEV u8* slot(u32 tile) const { return slots + (u64)tile * slot_bytes; }
    DEV void leave(u32 tile) const { left[atomicAdd(&lists->left, 1u)] = tile; }
};
// A body is no longer than the elements.
template <class T> DEV u32 slot_bytes_of() { return T::BITS / 8 << TILE_LOG2; }

// The array that a tile is of.
struct OfArray {
    u32 array;
    u64 chunk;
};
// For a whole warp.
DEV OfArray find_tile(const Batch& batch, u64 tile, u32 lane) {
    const u32 array = array_of(batch, tile, lane);
    return {array, tile - (batch.items ? batch.items[array].first : 0)};
}

}    // namespace interp::encoder
