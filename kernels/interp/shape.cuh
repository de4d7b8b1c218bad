// Twin: src/codec/interp/predict/interpolation/weights.rs
// How the threads of a block share a tile of any lengths (docs/reference/codecs/interp.md §2, §6), and where its codes
// and coarse nodes stand in the memory that they share.
#pragma once
#include "nodes.cuh"
#include "tile.cuh"

namespace interp {

enum : u32 {
    RESTORE_THREADS = 128,
    MOST_LANES = 32,     // of a row that is interpolated; those of longer rows overlap
    PIECE_LANES = 30,    // of such a row that are no others' neighbours
    TURN = 2 * RESTORE_THREADS,
    TURNS = 6 * TURN,    // what rows tell each other: three sorts, two planes
};

// Of a tile. If it has two axes y takes the place of z.
struct Shape {
    u32 of[5];    // what it was made of: lengths, axes, whether interpolated
    u32 len[3], set;
    u32 z_axis;                 // the axis whose recipes those along z are
    u32 coarse[3], fresh[3];    // nodes of the finest level
    u32 of_level, first[7];     // the first code of the finest level, and of its classes X, Y, Z, XY, XZ, YZ, XYZ
    // A row has so many quads, from element 4k − 2·odd on. `lanes` threads take those of a row, or of a piece of it.
    // So many pairs of rows follow, then segments of planes.
    u32 quads, odd, lanes, lanes_log2, pieces, rows, segments, each;
    u32 row, plane;    // of coarse nodes
    // Places in the shared memory: words, and the byte of the codes.
    u32 turns_at, face_at, codes_at;
    u32 bytes;    // of shared memory; ~0 where a block cannot take it

    // By one thread; nothing if it is made already.
    DEV void make(const Tile& t, u32 axes, bool interpolated) {
        const u32 asked[5] = {t.lx, t.ly, t.lz, axes, interpolated};
        u32 other = 0;
        for (u32 i = 0; i < 5; i++) {
            other |= of[i] ^ asked[i];
            of[i] = asked[i];
        }
        if (!other) return;
        const bool two = t.lz == 1;
        z_axis = two ? 1 : 2;
        len[0] = t.lx;
        len[1] = two ? 1 : t.ly;
        len[2] = two ? t.ly : t.lz;
        set = two ? (axes & X_AXIS) | (axes & Y_AXIS) << 1 : axes;
        for (u32 a = 0; a < 3; a++) {
            coarse[a] = nodes_of(len[a], 1);
            fresh[a] = len[a] - coarse[a];
        }
        of_level = coarse[0] * coarse[1] * coarse[2];
        u32 at = of_level;
        const u32 classes[7] = {1, 2, 4, 3, 5, 6, 7};
        for (u32 c = 0; c < 7; c++) {
            first[c] = at;
            u32 n = 1;
            for (u32 a = 0; a < 3; a++) n *= classes[c] >> a & 1 ? fresh[a] : coarse[a];
            at += n;
        }
        const u32 pairs = (len[0] + 1) / 2;
        const u32 most = interpolated || len[1] > 1 ? (u32)MOST_LANES : (u32)RESTORE_THREADS;
        quads = (pairs + 1) / 2;
        odd = interpolated ? pairs & 1 : 0;
        lanes_log2 = 0;
        while (1u << lanes_log2 < min_of(quads, most)) lanes_log2++;
        lanes = 1u << lanes_log2;
        const u32 of_piece = interpolated ? (u32)PIECE_LANES : lanes;
        pieces = quads <= lanes ? 1 : (quads + of_piece - 1) / of_piece;
        rows = (len[1] + 1) / 2;
        // Sums of rows go from warp to warp.
        if (!interpolated)
            while (rows & (rows - 1)) rows++;
        const u32 planes = interpolated ? fresh[2] : len[2], room = RESTORE_THREADS / (lanes * rows);
        segments = pieces == 1 && room && planes ? min_of(room, planes) : 1;
        each = planes ? (planes + segments - 1) / segments : 1;
        segments = planes ? (planes + each - 1) / each : 1;
        row = (coarse[0] + odd + 2) & ~1u;
        plane = row * coarse[1];
        u32 words = 0;
        if (interpolated) {
            turns_at = (plane * coarse[2] + 3) / 4 * 4;
            face_at = turns_at + (rows > 1 ? (u32)TURNS : 0);
            words = face_at + (rows > 1 ? 2 * lanes * (coarse[2] + 2 * fresh[2]) : 0);
        } else {
            // What warps and segments tell each other, then sums so far of rows, then the corner.
            turns_at = 0;
            face_at = 2 * 8 * RESTORE_THREADS;
            words = face_at + 2 * len[2];
            u32 corner = 1;
            for (u32 a = 0; a < 3; a++) corner *= set >> a & 1 ? 1 : len[a];
            words += set ? corner : 0;
        }
        codes_at = (words + 3) / 4 * 16;
        bytes = codes_at + 2 * len[0] * len[1] * len[2] + 16;
        if (rows > 1 && (pieces > 1 || rows * lanes > RESTORE_THREADS)) bytes = ~0u;
    }
};

// Signed numbers of codes, two at a time.
DEV u32 two_differences(u32 z) { return (z >> 1 & 0x7fff7fffu) ^ (z & 0x00010001u) * 65535u; }

// Differences of a tile's codes in shared memory, with 16 bits each; some that are 0 stand behind them.
struct ShortCodes {
    enum : bool { ENCODES = false };
    u8* at;

    DEV u32 operator()(u32 n) const { return (u32)(i32) * (const short*)(at + 2 * n); }
    // Keeps one; not 0 if it is too long.
    DEV u32 keep(u32 n, u32 difference) const {
        *(short*)(at + 2 * n) = (short)difference;
        return (difference + (1u << 13)) >> 14;
    }
    // Keeps four codes: in two words of 16 bits each, or in one.
    DEV void keep_halves(u32 i, u32 low, u32 high) const {
        *(uint2*)(at + 2 * i) = make_uint2(two_differences(low), two_differences(high));
    }
    DEV void keep_bytes(u32 i, u32 q) const { keep_halves(i, __byte_perm(q, 0, 0x4140), __byte_perm(q, 0, 0x4342)); }
};

}    // namespace interp
