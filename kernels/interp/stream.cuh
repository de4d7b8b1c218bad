// Twin: src/codec/interp/format.rs
// The header of a stream of the codec, and the elements of its bins and multiples (docs/reference/codecs/interp.md
// §1). Everything is checked before it is used.
#pragma once
#include "../common/quantizer.cuh"
#include "../common/tiles.cuh"
#include "geometry.cuh"
#include "launch.h"
#include "tables.h"

namespace interp {

// What numbers of a packed body are, and how they are predicted.
enum Numbers : u32 { OF_BITS, OF_BINS, IN_STEPS, OF_MULTIPLES };
enum Predictor : u32 { BY_AXES, SMOOTH, ROUGH, BY_SYMBOLS };

struct Header : TileHeader<Grid> {
    u32 step_w;
    i32 step_j;
    u32 multiplier;

    // Bytes of a raw body of so many elements.
    DEV u32 raw_bytes(u32 elements) const { return (elements * element_bytes + UNIT - 1) / UNIT * UNIT; }

    // Reads and checks it all; a status code. By one thread.
    DEV u32 read(const u8* src, u64 src_bytes) {
        if (const u32 status = read_tiles(src, src_bytes, CODEC_INTERP, MODE_REL)) return status;
        const u64 w = ((const u64*)src)[1];
        step_j = (i32)(short)(w >> 32);
        step_w = (u32)(w >> 48) & 0xff;
        multiplier = (u32)(w >> 56);
        if (!step_is_valid(step_w, step_j, dtype)) return STATUS_CORRUPT;
        return multiplier == 0 || lattice_is_valid() ? 0 : STATUS_CORRUPT;
    }
    DEV bool lattice_is_valid() const {
        // Its arithmetic must be exact.
        const bool of_type = dtype == DTYPE_F32 ? step_j >= -100 : dtype == DTYPE_F64 && step_j >= -960;
        return step_w && of_type && multiplier >= LEAST_MULTIPLIER && multiplier <= MOST_MULTIPLIER;
    }

    // Whether a tile may have such a body.
    DEV bool fits(u64 chunk, u32 entry) const {
        const u32 kind = entry >> WIDE_KIND_SHIFT, units = entry & WIDE_SIZE_MASK;
        const u32 whole = (grid.capacity() * element_bytes + UNIT - 1) / UNIT;
        if (kind == KIND_CONSTANT) return units == (element_bytes + UNIT - 1) / UNIT;
        if (kind == KIND_PACKED) return units >= 1 && units <= grid.capacity() * element_bytes / UNIT;
        if (units > whole) return false;
        const u32 raw = raw_bytes(tile_of(grid, chunk).count()) / UNIT;
        return kind == KIND_RAW ? units == raw : values && units >= 2 && units < raw;
    }
};

// The lattice of a type that has none.
template <class T> struct Lattice {
    typedef typename T::Word Word;
    DEV void set(const Header&) {}
    DEV Word multiple(i32) const { return 0; }
    DEV bool number_of(Word, i32&) const { return false; }
    DEV bool has_bin(Word) const { return false; }
    DEV bool bin(Word&, Word&) const { return false; }
};

// That of a float type: multiples of `fine`.
template <class T> struct RealLattice {
    typedef typename T::Word Word;
    typedef typename T::Float Float;
    Float fine, inverse;
    Word first, shift;    // of bins; 0 without a lattice

    DEV void set(const Header& head) {
        first = shift = 0;
        if (!head.multiplier) return;
        const u32 border = T::BITS == 32 ? BORDER_F32 : BORDER_F64;
        fine = (Float)head.multiplier * Quantizer<T>::power(head.step_j - 8);
        inverse = (Float)1 / fine;
        first = border / LATTICE_STEP + 1;
        shift = first - (Word)((u64)border * head.multiplier / (256 * head.step_w));
    }
    // The bits of a multiple.
    DEV Word multiple(i32 number) const { return bits_of((Float)number * fine); }
    // The multiple that an element is, if it may be one.
    DEV bool number_of(Word bits, i32& number) const {
        const Float limit = T::BITS == 32 ? (Float)(2 * BORDER_F32) : (Float)(2 * BORDER_F64);
        const Float quotient = Quantizer<T>::number_of_element(bits) * inverse;
        number = rounded(quotient);
        return Quantizer<T>::magnitude_of(quotient) < limit;
    }
    static DEV i32 rounded(Float x) { return (i32)((u32)bits_of(x + magic_of(x)) - (u32)bits_of(magic_of(x))); }
    // Whether a bin is one of the lattice.
    DEV bool has_bin(Word x) const { return (negative<T>(x) ? 0 - x : x) < first; }
    // The element of a bin of the lattice; else false, and x becomes the quantizer's bin.
    DEV bool bin(Word& x, Word& element) const {
        if (!first) return false;
        const bool minus = negative<T>(x);
        if (has_bin(x)) {
            element = multiple((i32)((u32)x * LATTICE_STEP));
            return true;
        }
        x = minus ? x + shift : x - shift;
        return false;
    }
};
template <> struct Lattice<F32> : RealLattice<F32> {};
template <> struct Lattice<F64> : RealLattice<F64> {};

// What numbers stand for in a stream.
template <class T> struct Meaning {
    typedef typename T::Word Word;
    Quantizer<T> quantizer;
    Lattice<T> lattice;

    DEV void set(const Header& head) {
        quantizer.set(head.step_w, head.step_j);
        lattice.set(head);
    }
    // The bits of a bin's element.
    DEV Word bin(Word x) const {
        Word element;
        if (lattice.bin(x, element)) return element;
        return quantizer.restore_any(wrap<T>(x));
    }
};

}    // namespace interp
