//! Every level against the portable code, function by function.

use super::{HIGHS, HIGHS_SLACK, MASK_BYTES, Masks, READ_SLACK, Simd, SimdLevel, count_of, flags, positions};
use crate::codec::sleek::constants::{MAX_EXCEPTIONS, SAMPLE, SUBCHUNK_BYTES, SUBCHUNKS, WARP_TILE};
use crate::codec::sleek::countdown;
#[cfg(target_arch = "x86_64")]
use crate::exec::{Avx512, Isa, Level};
use crate::simd::bits::BitWriter;
use crate::simd::stream::{self, Line};
use crate::simd::word::Word;
use crate::simd::{Scalar, each_level};

/// Pseudo-random bits.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 ^ self.0 >> 29
    }
}

/// S words: any of at most `n` bits, powers of two and their neighbours, or few wide ones among narrow ones.
fn words<W: Word, const S: usize>(r: &mut Random, n: u32) -> [[W; S]; 4] {
    let low = u64::MAX >> (64 - n);
    let edge = |i: usize| W::from_u64((1u64 << (i as u32 / 3 % W::BITS)).wrapping_add(i as u64 % 3).wrapping_sub(1));
    let few = |i: u64, x: u64| if i.is_multiple_of(11) { x & low } else { x & low >> (n * 3 / 4) };
    [
        std::array::from_fn(|_| W::from_u64(r.next() & low)),
        std::array::from_fn(|i| edge(i + n as usize)),
        std::array::from_fn(|i| W::ZERO.sub(edge(i + n as usize))),
        std::array::from_fn(|_| W::from_u64(few(r.next() >> 40, r.next()))),
    ]
}

fn check<W: Word, const S: usize, P: Simd<W, S>>(p: P, exponent_bits: u32) {
    let mut r = Random(1);
    for n in 1..=W::BITS {
        let of_width = words::<W, S>(&mut r, n);
        of_warp_tiles::<W, S, P>(p, &of_width, exponent_bits);
        for codes in of_width {
            packing::<W, S, P>(p, &codes, n);
            choosing::<W, S, P>(p, &codes);
            if S <= 256 {
                exceptions::<W, S, P>(p, &codes, n * 3 / 4);
            }
        }
    }
}

fn packing<W: Word, const S: usize, P: Simd<W, S>>(p: P, codes: &[W; S], n: u32) {
    let bytes = S * n as usize / 8;
    let (mut packed, mut expected) = (vec![0xaa; bytes + READ_SLACK], vec![0xaa; bytes + READ_SLACK]);
    p.pack(codes, n, &mut packed);
    Scalar.pack(codes, n, &mut expected);
    assert_eq!(packed[..bytes], expected[..bytes], "{n} bits of {codes:x?}");
    let mut back = [W::ZERO; S];
    p.unpack(&packed, n, &mut back);
    let low = W::from_u64(u64::MAX >> (64 - n));
    assert_eq!(back, codes.map(|c| c & low), "{n} bits");
    let mut bases = [W::ZERO; SUBCHUNKS];
    p.unpack_bases(&packed, n, &mut bases);
    assert_eq!(bases, back[..SUBCHUNKS], "{n} bits");
    for second_difference in [false, true] {
        let (mut sums, mut expected) = (*codes, *codes);
        p.zigzag_delta_decode(codes[7], second_difference, &mut sums);
        Scalar.zigzag_delta_decode(codes[7], second_difference, &mut expected);
        assert_eq!(sums, expected, "{codes:x?}");
        let (mut sums, mut expected) = (*codes, *codes);
        let fit = p.try_zigzag_delta_decode(second_difference, &mut sums);
        assert_eq!(fit, Scalar.try_zigzag_delta_decode(second_difference, &mut expected), "{codes:x?}");
        if fit {
            assert_eq!(sums, expected, "{codes:x?}");
            let mut exact = codes.map(|c| c.unzigzag().extend());
            running_sums(second_difference, &mut exact);
            assert_eq!(sums.map(W::extend), exact, "{codes:x?}");
        }
    }
}

/// In numbers so wide that nothing is lost.
fn running_sums<const S: usize>(second_difference: bool, x: &mut [u64; S]) {
    for _ in 0..1 + u32::from(second_difference) {
        (1..S).for_each(|i| x[i] = x[i].wrapping_add(x[i - 1]));
    }
}

/// NEON has none of its own.
#[cfg(target_arch = "x86_64")]
fn bytes<const S: usize, P: SimdLevel>(p: P) {
    let mut r = Random(1);
    for n in 1..=8 {
        for codes in words::<u8, S>(&mut r, n).into_iter().chain([[0xfe; S], [0xff; S]]) {
            for second_difference in [false, true] {
                let (mut sums, mut exact) = ([0; S], codes.map(|c| c.unzigzag().extend()));
                p.zigzag_delta_decode_bytes(0, second_difference, &codes, &mut sums);
                running_sums(second_difference, &mut exact);
                assert_eq!(sums.map(u32::extend), exact, "{codes:x?}");
                let from_zero = sums;
                p.zigzag_delta_decode_bytes(u32::MAX - 7, second_difference, &codes, &mut sums);
                assert_eq!(sums, from_zero.map(|x| x.wrapping_sub(8)), "{codes:x?}");
            }
        }
    }
}

fn of_warp_tiles<W: Word, const S: usize, P: Simd<W, S>>(p: P, words: &[[W; S]; 4], exponent_bits: u32) {
    let mut tile: [[W; S]; WARP_TILE] = std::array::from_fn(|s| words[s % 4]);
    tile.iter_mut().enumerate().for_each(|(s, x)| x.rotate_left(s));
    assert_eq!(p.extremes(&tile), Scalar.extremes(&tile), "{tile:x?}");
    let tops = tile.map(|x| countdown::top_of(x[3], x[5], exponent_bits));
    for tops in [None, Some(&tops)] {
        for least in [tile.map(|x| x[9]), [W::ZERO; WARP_TILE]] {
            assert_eq!(p.totals(&tile, &least, tops), Scalar.totals(&tile, &least, tops), "{words:x?}");
        }
    }
}

fn choosing<W: Word, const S: usize, P: Simd<W, S>>(p: P, codes: &[W; S]) {
    assert_eq!(p.width(codes), Scalar.width(codes), "{codes:x?}");
    let (mut widths, mut expected) = ([0; S], [0; S]);
    p.widths(codes, &mut widths);
    Scalar.widths(codes, &mut expected);
    widths[..S / SAMPLE].sort();
    expected[..S / SAMPLE].sort();
    assert_eq!(widths[..S / SAMPLE], expected[..S / SAMPLE], "{codes:x?}");
}

fn exceptions<W: Word, const S: usize, P: Simd<W, S>>(p: P, codes: &[W; S], width: u32) {
    let (mut highs, mut expected_highs) = ([!W::ZERO; HIGHS], [!W::ZERO; HIGHS]);
    let masks = p.extract_exceptions(codes, width, &mut highs);
    assert_eq!(masks, Scalar.extract_exceptions(codes, width, &mut expected_highs), "{width} of {codes:x?}");
    let count = count_of::<S>(&masks);
    if count > MAX_EXCEPTIONS {
        return merged::<W, S, P>(p, codes, width);
    }
    assert_eq!(highs[..count], expected_highs[..count]);
    let n = Scalar.width(codes).saturating_sub(width).max(1);
    let mut packed = vec![0xaa; HIGHS_SLACK + READ_SLACK];
    let mut expected = packed.clone();
    let bytes = p.pack_highs(&highs, count, n, &mut packed);
    assert_eq!(bytes, Simd::<W, S>::pack_highs(Scalar, &expected_highs, count, n, &mut expected));
    assert_eq!(packed[..bytes], expected[..bytes], "{count} high parts of {n} bits");
    merged::<W, S, P>(p, codes, width);
}

/// Codes of more than `width` bits from their parts, however many these are.
fn merged<W: Word, const S: usize, P: Simd<W, S>>(p: P, codes: &[W; S], width: u32) {
    let low = W::from_u64((1u64 << width) - 1);
    let n = Scalar.width(codes).saturating_sub(width).max(1);
    let wide = |i: &usize| codes[*i] & !low != W::ZERO;
    let mut masks: Masks = [0; _];
    (0..S).filter(wide).for_each(|i| masks[i / 64] |= 1 << (i % 64));
    assert!(positions(&masks).eq((0..S).filter(wide)) && count_of::<S>(&masks) == (0..S).filter(wide).count());
    let mut packed = vec![0; 8 * S + READ_SLACK];
    let mut writer = BitWriter::new(&mut packed);
    (0..S).filter(wide).for_each(|i| writer.push((codes[i] >> width).to_u64(), n));
    let bytes = writer.finish();
    let mut back = codes.map(|c| c & low);
    p.apply_exceptions(&mut back, width, &masks, &packed[..bytes + READ_SLACK], n);
    assert_eq!(back, *codes, "high parts of {n} bits above {width}");
}

fn transpose<const S: usize, P: SimdLevel>(p: P) {
    let widths: [[u8; S]; SUBCHUNKS] =
        std::array::from_fn(|s| std::array::from_fn(|k| (s * S + k).wrapping_mul(2654435761) as u8 >> 1));
    let (mut rows, mut expected) = ([[0; SUBCHUNKS]; S], [[0; SUBCHUNKS]; S]);
    p.transpose(&widths, &mut rows);
    Scalar.transpose(&widths, &mut expected);
    for limits in [[0; SUBCHUNKS], [70; SUBCHUNKS], rows[3]] {
        assert_eq!(p.wider(&rows, &limits), Scalar.wider(&expected, &limits));
    }
    rows.sort();
    expected.sort();
    assert_eq!(rows, expected);
}

fn lists<P: SimdLevel>(p: P) {
    let mut r = Random(1);
    let list: [u8; SUBCHUNKS] = std::array::from_fn(|s| s as u8 + 1);
    for of in (0..100).map(|_| r.next() as u32).chain([0, 1, u32::MAX]) {
        let list = &list[..of.count_ones() as usize];
        let expanded = p.expand(of, list);
        assert_eq!(expanded, Scalar.expand(of, list));
        let mut masks: Masks = [0; _];
        masks.iter_mut().zip(expanded.as_chunks().0).for_each(|(m, bytes)| *m = u64::from_le_bytes(*bytes));
        let readable: Vec<u8> = list.iter().copied().chain([0xaa; READ_SLACK]).collect();
        assert_eq!(p.masks::<256>(of, &readable), masks);
        assert_eq!(p.masks::<128>(of & 0xffff, &readable)[..2], masks[..2]);
        assert_eq!(flags::<256>(&masks), of);
        let mut compressed = [0xaa; MASK_BYTES + 8];
        p.compress::<256>(&masks, of, &mut compressed);
        assert_eq!(compressed[..list.len()], *list);
    }
    for limit in [1, 512, 2047] {
        let numbers = std::array::from_fn(|_| (r.next() % limit) as u16);
        assert_eq!(p.sums_before(&numbers, 16), Scalar.sums_before(&numbers, 16));
    }
}

/// Chunks of all kinds of lengths, wherever they begin.
fn streams<P: SimdLevel>(p: P) {
    let src: Vec<u8> = (0..6 * SUBCHUNK_BYTES).map(|i| (i * 2654435761) as u8 ^ (i >> 8) as u8).collect();
    for offset in 0..=64 {
        for len in [1, 2, 3, 6].map(|n| n * SUBCHUNK_BYTES) {
            let (mut buffer, mut last) = (vec![0xaa; len + 200], Line::ZERO);
            let chunk = &mut buffer[offset..offset + len];
            for (at, subchunk) in src[..len].chunks(SUBCHUNK_BYTES).enumerate() {
                let mut staged = [Line::ZERO; SUBCHUNK_BYTES / 64];
                stream::bytes_of(&mut staged)[..subchunk.len()].copy_from_slice(subchunk);
                p.stream(&staged, chunk, at * SUBCHUNK_BYTES, &mut last);
            }
            stream::fence();
            assert_eq!(buffer[offset..offset + len], src[..len], "{len} bytes at {offset}");
            assert!(buffer[..offset].iter().chain(&buffer[offset + len..]).all(|b| *b == 0xaa));
        }
    }
}

fn all<P>(p: P)
where
    P: SimdLevel + Simd<u16, 64> + Simd<u16, 128> + Simd<u16, 256> + Simd<u32, 128> + Simd<u64, 64>,
{
    streams(p);
    check::<u16, 64, _>(p, 5);
    check::<u16, 128, _>(p, 5);
    check::<u16, 256, _>(p, 5);
    check::<u32, 128, _>(p, 8);
    check::<u64, 64, _>(p, 11);
    transpose::<64, _>(p);
    transpose::<128, _>(p);
    transpose::<256, _>(p);
    lists(p);
}

#[test]
fn every_level_agrees() {
    streams(Scalar);
    each_level!(p => all(p));
    #[cfg(target_arch = "x86_64")]
    if let Some(p) = Isa::of(Level::Avx512).and_then(Avx512::of) {
        check::<u8, 512, _>(p, 4);
        check::<u8, 64, _>(p, 4);
        check::<u8, 128, _>(p, 4);
        bytes::<64, _>(p);
        bytes::<128, _>(p);
        bytes::<256, _>(p);
    }
}
