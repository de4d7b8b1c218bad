//! Kernels give the bytes of the CPU, restore the same values, and refuse the same streams.

use sleek::{Bound, DType, MissingValue, MissingValues, Params, Profile};

use crate::both::{Part, compare, restores, verdict};
use crate::forms::{COMPARED, compared};
use crate::inputs::{KINDS, Random, data, element, settings, swap};
use crate::reference::builder::seal;
use crate::shim::Shim;
use crate::vectors;

#[test]
fn every_type_mode_and_profile_gives_the_bytes_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(88172645463325252);
    for dtype in DType::ALL {
        let per_chunk = 16384 / dtype.size();
        for (i, kind) in KINDS.into_iter().enumerate() {
            // Two chunks and a part, so that a chunk is whole, one follows another, and the last one is short.
            let count = 2 * per_chunk + [1, per_chunk / 3, per_chunk - 1][i % 3];
            let bytes = data(kind, dtype, count, &mut r);
            // Where time matters, every kind with every third setting and every setting with every third kind.
            let every = if crate::common::short() { 3 } else { 1 };
            for (j, p) in settings(dtype).iter().enumerate().filter(|(j, _)| (i + j) % every == 0) {
                let mut bytes = bytes.clone();
                if p.big_endian {
                    swap(&mut bytes, dtype.size());
                }
                shim.set([4, 1, 3][(i + j) % 3], (i * 31 + j) as u32 % 5);
                compare(shim, p, &bytes, 0, &format!("{kind} {dtype:?} {count}"));
            }
        }
    }
}

/// Lossless chunks with tiles that a countdown takes, or nearly, in both byte orders, with missing values or without.
#[test]
fn chunks_by_a_countdown() {
    let (shim, _turn) = Shim::get();
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        let n = 3 * 16384 / dtype.size() + 77;
        for (i, kind) in COMPARED.into_iter().chain(["weights", "pruned", "repeats", "specials"]).enumerate() {
            let words = compared(kind, dtype, n);
            let missing = [words[n / 3]].map(MissingValue::Bits);
            let p = Params { big_endian: i % 3 == 2, ..Params::new(dtype) };
            let bytes = vectors::to_bytes(dtype, &words, p.big_endian);
            shim.set([4, 1, 3][i % 3], i as u32 % 5);
            compare(shim, &p, &bytes, 0, kind);
            let p = Params { missing: MissingValues::of(&missing[..i % 2]).unwrap(), ..p };
            compare(shim, &p, &bytes, dtype.size() * (i % 2), kind);
        }
    }
}

/// Words of 16 bits go two in a register: every one of them, beside its neighbour, beside that of the other sign, and
/// beside any.
#[test]
fn every_word_of_16_bits() {
    let (shim, _turn) = Shim::get();
    for dtype in [DType::F16, DType::BF16] {
        let factors = [1u16, 0x8001, 40503];
        let (factors, bounds) = match crate::common::short() {
            true => (&factors[2..], &[0.1, 1.5, 9.0][..]),
            false => (&factors[..], &[0.1, 1.25, 1.5, 1.75, 9.0][..]),
        };
        for factor in factors {
            let bytes: Vec<u8> = (0..=u16::MAX).flat_map(|i| i.wrapping_mul(*factor).to_le_bytes()).collect();
            for profile in [Profile::Fast, Profile::Adaptive] {
                let lossless = Params { profile, ..Params::new(dtype) };
                compare(shim, &lossless, &bytes, 0, &format!("factor {factor}"));
                for bound in bounds {
                    let p = lossless.clone().with_bound(Bound::Abs(*bound));
                    compare(shim, &p, &bytes, 0, &format!("factor {factor}"));
                }
            }
        }
        // Powers of two and the words beside them, each alone in a subchunk: where numbers are kept bit for bit begins
        // at one.
        let alone = |w: u16| (0..256).flat_map(move |i| if i == w % 251 { w } else { 0 }.to_le_bytes());
        let powers = (0..=u16::MAX).step_by(1 << 10).flat_map(|w| [w.wrapping_sub(1), w, w + 1]);
        let fast = Params { profile: Profile::Fast, ..Params::new(dtype) };
        compare(shim, &fast.with_bound(Bound::Abs(0.1)), &powers.flat_map(alone).collect::<Vec<u8>>(), 0, "alone");
    }
}

#[test]
fn bins_of_values_between_two_are_those_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(7);
    for dtype in [DType::F32, DType::F64] {
        // Where the step is twice the bound no bin is sure without a check, as it is for 0.375 and 5, else those near 0
        // are.
        for bound in [0.375, 5.0, 0.3, 1e-3] {
            let bytes: Vec<u8> = (0..3 * 16384 / dtype.size() + 7)
                .flat_map(|i| {
                    let bin = ((r.unit() - 0.5) * f64::from(1u32 << (i / 256 % 22))).round();
                    let beside = [0.0, 1e-7, -1e-7][i % 3] * (bin.abs() + 1.0);
                    element(dtype, (2.0 * bin + 1.0 + beside) * bound)
                })
                .collect();
            shim.set(2, u32::from(bound < 1.0));
            compare(shim, &Params::new(dtype).with_bound(Bound::Abs(bound)), &bytes, 0, &format!("{dtype:?} {bound}"));
        }
    }
}

#[test]
fn every_length_and_alignment() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(2463534242);
    for dtype in [DType::F32, DType::F64, DType::BF16, DType::U8] {
        let per_chunk = 16384 / dtype.size();
        for count in [0, 1, 2, 3, 127, 128, 129, per_chunk - 1, per_chunk, per_chunk + 1, 5 * per_chunk] {
            let bytes = data("smooth", dtype, count, &mut r);
            for p in [Params::new(dtype), Params { profile: Profile::Fast, ..Params::new(dtype) }] {
                compare(shim, &p, &bytes, 0, "length");
                compare(shim, &p, &bytes, dtype.size(), "offset");
            }
        }
    }
}

#[test]
fn many_chunks_wait_for_each_other() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(77);
    // More than a group.
    let bytes = data("widths", DType::F32, 4096 * 300 + 17, &mut r);
    for (blocks, seed) in [(1, 0), (2, 3), (7, 1), (8, 9)] {
        shim.set(blocks, seed);
        let p = Params { profile: Profile::Fast, ..Params::new(DType::F32).with_bound(Bound::noa(1e-4)) };
        compare(shim, &p, &bytes, 0, "many");
    }
    compare(shim, &Params::new(DType::F32).with_bound(Bound::Abs(1e-2)), &bytes, 0, "many");
}

#[test]
fn sizes_between_any_two_chunks_are_added_up() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(11);
    // Between chunks of a block there are about as many others as blocks; a look-up that asks for 1024 at once may need
    // several.
    let entries: Vec<u16> = (0..4096).map(|_| (1 + r.next() % 1024) as u16 | ((r.next() % 3) as u16) << 14).collect();
    let bytes: Vec<u8> = entries.iter().flat_map(|e| e.to_le_bytes()).collect();
    let index = shim.upload(0, &bytes, 0);
    for begin in (0..20).chain([1000, 2047]) {
        for n in (0..30).chain([791, 1015, 1016, 1023, 1024, 1025, 1032, 1033, 2040]) {
            let expected: u64 = entries[begin..begin + n].iter().map(|e| u64::from(e & 0x7ff)).sum();
            let found = shim.units_between(index.at(0).cast(), begin as u64, (begin + n) as u64);
            assert_eq!(found, expected, "{n} from {begin}");
        }
    }
}

#[test]
fn ranges() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(5);
    for dtype in [DType::F32, DType::F64, DType::F16] {
        let per_chunk = 16384 / dtype.size();
        let count = 70 * per_chunk + 100;
        let bytes = data("smooth", dtype, count, &mut r);
        let stream = sleek::compress(&Params::new(dtype).with_bound(Bound::Abs(1e-3)), &bytes).unwrap();
        let ends = [(0, count), (0, 1), (count - 1, 1), (17, 0), (64 * per_chunk - 3, 50)];
        for (first, n) in ends.into_iter().chain([(4095, 2), (4096, 4096), (1000, 12345)]) {
            restores(shim, &stream, Part::Range(first as u64, n), 0, &format!("{dtype:?}"));
        }
    }
}

/// The header has the range, so that equal bytes are equal ranges.
#[test]
fn value_ranges_leave_out_what_does_not_count() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(4711);
    let (infinity, nan) = (f64::INFINITY, f64::NAN);
    // What lies among smooth data, the first of it at both ends; and fill values: ends of the range, what hides an end,
    // no number of the type.
    let odd = [[-200.0, 300.0, 7.0], [-0.0, 0.0, -200.0], [nan, infinity, -infinity], [300.0, nan, -infinity]];
    let fills = [None, Some(300.0), Some(-200.0), Some(0.0), Some(nan), Some(infinity), Some(0.1), Some(1e300)];
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        let size = dtype.size();
        // One element; less than a vector; several pieces, some vectors and a few elements more; and all of these at
        // any offset.
        for (round, count) in [1, 5, 16 / size, (2 * 16384 + 1600) / size + 3].into_iter().enumerate() {
            for (i, fill) in fills.into_iter().enumerate() {
                let kept = odd[(round + i) % odd.len()];
                let mut bytes = data("smooth", dtype, count, &mut r);
                for at in [0, count - 1].into_iter().chain((0..count).filter(|_| r.next().is_multiple_of(40))) {
                    let v = if at == 0 || at + 1 == count { kept[0] } else { kept[at % 3] };
                    bytes[at * size..(at + 1) * size].copy_from_slice(&element(dtype, v));
                }
                check_range(shim, dtype, fill, i, &mut bytes);
            }
            // Nothing counts; zeros alone; numbers below the normal ones; any bits.
            for (i, v) in [nan, infinity, -infinity, 5.0, 0.0, -0.0].into_iter().enumerate() {
                let mut bytes = element(dtype, v).repeat(count);
                if v == 0.0 {
                    (0..count).step_by(3).for_each(|at| bytes[(at + 1) * size - 1] ^= 0x80);
                }
                check_range(shim, dtype, Some(5.0), i, &mut bytes);
            }
            let mut bytes = data("bits", dtype, count, &mut r);
            check_range(shim, dtype, None, round, &mut bytes);
            // Without the exponent, whose lowest bits are in the byte below the highest where it has 8 or 11.
            let kept = if dtype == DType::F16 { [0xff, 0x83] } else { [0x0f, 0x80] };
            bytes.chunks_exact_mut(size).for_each(|b| (0..2).for_each(|i| b[size - 2 + i] &= kept[i]));
            check_range(shim, dtype, None, round + 1, &mut bytes);
        }
    }
}

/// Compares a range that is measured on both paths, in either byte order, at an offset that goes with `round`.
fn check_range(shim: &'static Shim, dtype: DType, fill: Option<f64>, round: usize, bytes: &mut [u8]) {
    let offset = [0, dtype.size(), 1, 16 - dtype.size()][round % 4];
    let p = Params {
        missing: MissingValues::number(fill),
        profile: Profile::Fast,
        ..Params::new(dtype).with_bound(Bound::noa(1e-3))
    };
    compare(shim, &p, bytes, offset, &format!("offset {offset}, fill value {fill:?}"));
    swap(bytes, dtype.size());
    compare(shim, &Params { big_endian: true, ..p }, bytes, offset, &format!("offset {offset}, fill value {fill:?}"));
    swap(bytes, dtype.size());
}

#[test]
fn corrupt_streams_are_refused_as_on_the_cpu() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(99);
    let bytes = data("spikes", DType::F32, 4096 * 2, &mut r);
    let p = Params::new(DType::F32).with_bound(Bound::Abs(1e-2));
    let sound = sleek::compress(&p, &bytes).unwrap();
    let mut good = 0;
    for round in 0..600 {
        let mut stream = sound.clone();
        for _ in 0..=round % 3 {
            // Header and tails steer the decoder; the payload does not.
            let at = match r.next() % 4 {
                0 => r.next() as usize % 96,
                1 => 96 + r.next() as usize % 16,
                _ => r.next() as usize % stream.len(),
            };
            stream[at] ^= 1 << (r.next() % 8);
        }
        if round % 4 == 3 {
            stream.truncate(r.next() as usize % stream.len());
        } else if round % 2 == 0 {
            seal(&mut stream);
        }
        good += u32::from(verdict(shim, &stream, bytes.len(), &format!("round {round}")));
    }
    assert!((1..300).contains(&good), "{good}");
}

#[test]
fn real_fields() {
    let (shim, _turn) = Shim::get();
    for path in crate::common::sample_fields() {
        let dtype = DType::from_name(path.extension().unwrap().to_str().unwrap()).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.truncate(400_000);
        for (bound, profile) in [Bound::Lossless, Bound::noa(1e-3), Bound::noa(1e-6)]
            .into_iter()
            .flat_map(|bound| [(bound, Profile::Adaptive), (bound, Profile::Fast)])
        {
            let p = Params { profile, ..Params::new(dtype).with_bound(bound) };
            compare(shim, &p, &bytes, 0, &path.display().to_string());
        }
    }
}

/// Bins of a quarter of a chunk, close enough together for the kernels' words of 16 bits or just not, from wherever
/// they are counted; and one that is much further away. Each chunk is an array, since after a few that are not close
/// together none is asked for.
#[test]
fn bins_close_together_and_far_apart() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(6364136223846793005);
    for dtype in [DType::F32, DType::F64] {
        let quarter = 4096 / dtype.size() as i64;
        let mut chunks = Vec::new();
        for base in [0i64, 1, -5, 7777, -100_001, 1_000_001] {
            for spread in [0i64, 1, 100, 4000, 8190, 8191, 8192, 16383, 16384, 40000] {
                let (least, most) = (base, base + spread);
                let any = |r: &mut Random| least + (r.next() % (spread as u64 + 1)) as i64;
                let mut bins: Vec<i64> = (0..quarter).map(|_| any(&mut r)).collect();
                // The first one is the least or the largest; differences of differences are as large as they get.
                bins.extend((0..quarter).map(|i| [least, most][i as usize % 2]));
                bins.extend((0..quarter).map(|i| [most, least, least, most][i as usize % 4]));
                // All but one along a line.
                bins.extend((0..quarter).map(|i| if i == quarter / 2 { most } else { least + i * spread / quarter }));
                chunks.push(bins);
            }
            for far in [1i64 << 13, 1 << 16, 1 << 21, 1 << 23, 1 << 24, 1 << 25, 1 << 30] {
                let at = (r.next() % (4 * quarter as u64)) as i64;
                for far in [base - far, base + far] {
                    chunks.push(
                        (0..4 * quarter).map(|i| if i == at { far } else { base + (r.next() % 2) as i64 }).collect(),
                    );
                }
            }
        }
        // The last one is hardly more than half a step, by whose inverse nothing is divided exactly: beyond a few bins
        // the quotient needs a check.
        for (bound, step) in [(0.5, 1.0), (0.37, 0.74), (0.501, 1.0), (0.87501, 1.75)] {
            let p = Params::new(dtype).with_bound(Bound::Abs(bound));
            for (i, bins) in chunks.iter().enumerate() {
                // In the middle of a bin, between two of them, or anywhere.
                let inside = |r: &mut Random| [0.0, 0.5, r.unit() - 0.5][i % 3];
                let bytes: Vec<u8> =
                    bins.iter().flat_map(|b| element(dtype, (*b as f64 + inside(&mut r)) * step)).collect();
                compare(shim, &p, &bytes, 0, &format!("chunk {i}"));
            }
        }
    }
}

/// Whole numbers under bounds finer than half their distance, and numbers whose neighbours are further apart than a
/// step: chunks for which elements' bits may take fewer bytes than bins.
fn bits_or_bins(dtype: DType, count: usize, r: &mut Random) -> Vec<(&'static str, Vec<u8>)> {
    let of = |number: &mut dyn FnMut(usize) -> f64| (0..count).flat_map(|i| element(dtype, number(i))).collect();
    let mut walk = 1000.0;
    vec![
        ("ramp", of(&mut |i| i as f64 % 2000.0)),
        ("whole", of(&mut |_| (r.next() % 2000) as f64)),
        ("near", of(&mut |_| 1000.0 + (r.next() % 8) as f64)),
        (
            "walk",
            of(&mut |_| {
                walk += (r.next() % 5) as f64 - 2.0;
                walk
            }),
        ),
        ("even", of(&mut |i| if i % 4096 < 600 { 4.0 } else { 0.1 * r.unit() })),
        ("zeros", of(&mut |i| if i % 3000 < 700 { 0.0 } else { (r.next() % 300) as f64 })),
        ("eighths", of(&mut |_| (r.next() % 64) as f64 / 8.0)),
        ("far", of(&mut |_| 1e4 * (1.0 + r.unit()))),
    ]
}

#[test]
fn bits_where_bins_take_more() {
    let (shim, _turn) = Shim::get();
    let mut r = Random(8675309);
    let mut round = 0;
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        let count = 16384 / dtype.size() + 700;
        for (name, bytes) in bits_or_bins(dtype, count, &mut r) {
            for bound in [1e-6, 1e-3, 0.12] {
                for profile in [Profile::Fast, Profile::Adaptive] {
                    let p = Params { profile, ..Params::new(dtype).with_bound(Bound::Abs(bound)) };
                    shim.set(1 + round % 4, round % 5);
                    compare(shim, &p, &bytes, [0, 0, dtype.size()][round as usize % 3], name);
                    round += 1;
                }
            }
        }
    }
}
