//! What holds for every codec of the registry, and knows none of them: arrays come back as promised, whole and in
//! parts; damaged streams are refused; requests that cannot be honoured are refused by name.

use crate::{reference, vectors};
use reference::builder::seal;
use sleek::codec::REGISTRY;
use sleek::container::{Header, Index, MAX_RANK};
use sleek::{Bound, DType, Dims, Kind, MissingValue, MissingValues, Mode, Params};
use vectors::part;
use vectors::requests::{SHAPES, array, dims, plain_requests, requests, takes};
use vectors::{Random, exact};

fn checked(params: &Params, data: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let count = data.len() / params.dtype.size();
    let stream = sleek::compress(params, data).unwrap_or_else(|error| panic!("{params:?}: {error}"));
    assert!(stream.len() <= sleek::compress_bound(params, count).unwrap(), "{params:?}: {} bytes", stream.len());
    let back = sleek::decompress(&stream).unwrap_or_else(|error| panic!("{params:?}: {error}"));
    let info = sleek::inspect(&stream).unwrap();
    exact::judge(params, info.abs_bound, data, &back).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((info.codec, info.count, info.dtype), (params.codec, count as u64, params.dtype));
    assert_eq!((info.stream_bytes, info.raw_bytes), (stream.len() as u64, data.len() as u64));
    assert_eq!(info.dims, params.dims.of_count(count as u64).unwrap(), "{params:?}");
    (stream, back)
}

#[test]
fn ids_and_names_are_each_codecs_own() {
    assert!(REGISTRY.iter().all(|codec| codec.id() != 0 && !codec.name().is_empty()));
    assert!(REGISTRY.windows(2).all(|pair| pair[0].id() < pair[1].id()), "the registry is in the order of ids");
    for codec in REGISTRY {
        assert_eq!(sleek::codec::by_name(codec.name()).unwrap().id(), codec.id());
        assert_eq!(sleek::codec::by_id(codec.id()).unwrap().name(), codec.name());
        assert_eq!(sleek::text::parse(&format!("lossless,codec={}", codec.name())).unwrap().codec, codec.id());
    }
}

#[test]
fn parts_are_parts_of_the_whole() {
    let random = &mut Random(11);
    for (codec, params) in requests() {
        for shape in SHAPES.into_iter().filter(|shape| takes(codec, shape)) {
            let params = Params { dims: dims(shape), ..params.clone() };
            let size = params.dtype.size();
            let (stream, whole) = checked(&params, &array("walk", &params, 5));
            let total = params.dims.count();
            for _ in 0..6 {
                let first = random.below(total + 1);
                let count = random.below(total - first + 1);
                let mut part = vec![0xa5; count as usize * size];
                sleek::decompress_range_into(&stream, first, count as usize, &mut part).unwrap();
                assert!(part == whole[first as usize * size..][..part.len()], "{params:?}: {count} from {first}");
                let start: Vec<u64> = shape.iter().map(|len| random.below(len + 1)).collect();
                let lens: Vec<u64> =
                    shape.iter().zip(&start).map(|(len, start)| random.below(len - start + 1)).collect();
                let expected = vectors::part(&whole, size, shape, (&start, &lens), 0);
                let mut part = vec![0xa5; expected.len()];
                sleek::decompress_box_into(&stream, &start, &lens, &mut part).unwrap();
                assert!(part == expected, "{params:?}: {lens:?} from {start:?}");
            }
            let beyond = sleek::decompress_range_into(&stream, total, 1, &mut [0; 8]).unwrap_err();
            assert_eq!(beyond.kind, Kind::OutOfRange);
            let beyond = sleek::decompress_box_into(&stream, shape, &vec![1; shape.len()], &mut [0; 8]).unwrap_err();
            assert_eq!(beyond.kind, Kind::OutOfRange, "{beyond}");
            let deeper = vec![0; shape.len() + 1];
            let of_rank = sleek::decompress_box_into(&stream, &deeper, &deeper, &mut [0; 8]).unwrap_err();
            assert_eq!(of_rank.kind, Kind::InvalidArgument, "{of_rank}");
        }
    }
}

/// Coarse previews of the whole and of boxes are the elements of the whole at these places, of every codec, type, mode,
/// shape and level, with missing values among them or without.
#[test]
fn previews_are_what_the_whole_has_there() {
    let random = &mut Random(70);
    let shapes = SHAPES.into_iter().chain([&[40u64, 33, 35][..], &[300, 310], &[70_001], &[2, 3, 20, 17, 30]]);
    let shapes: Vec<&[u64]> = shapes.collect();
    for (k, (codec, params)) in requests().enumerate() {
        for (s, shape) in shapes.iter().enumerate().filter(|(_, shape)| takes(codec, shape)) {
            for generator in ["walk", ["parabola", "specials", "constant", "noise"][(k + s) % 4]] {
                let dtype = params.dtype;
                let params = Params { dims: dims(shape), big_endian: (k + s) % 2 == 1, ..params.clone() };
                let count = params.dims.count() as usize;
                let mut words = vectors::words(generator, dtype, s as u64, count);
                let mut missing = MissingValues::default();
                if let (true, Some(mark)) = ((k + s) % 3 == 0, words.first().copied()) {
                    vectors::strew(&mut words, &[mark], [2, 30][s % 2], 7);
                    missing = MissingValues::of(&[MissingValue::Bits(mark)]).unwrap();
                }
                let data = vectors::to_bytes(dtype, &words, params.big_endian);
                let (stream, whole) = checked(&Params { missing, ..params.clone() }, &data);
                for level in [1, 2, 3, 1 + random.below(8) as u32, 63, 0] {
                    let start: Vec<u64> = shape.iter().map(|len| random.below(len + 1)).collect();
                    let lens: Vec<u64> =
                        shape.iter().zip(&start).map(|(len, start)| random.below(len - start + 1)).collect();
                    let all = (vec![0; shape.len()], shape.to_vec());
                    for (start, lens) in [all, (start, lens)] {
                        let expected = part(&whole, dtype.size(), shape, (&start, &lens), level);
                        let mut part = vec![0xa5; expected.len() + 3];
                        let is_all = lens == *shape;
                        let of = if is_all && level % 2 == 0 { None } else { Some((&start[..], &lens[..])) };
                        let n = sleek::decompress_coarse_into(&stream, level, of, &mut part).unwrap();
                        assert!(
                            n == expected.len() && part[n..] == [0xa5; 3],
                            "{params:?}: {n} bytes of level {level}"
                        );
                        assert!(
                            part[..n] == expected,
                            "{params:?} {generator}: level {level}, {lens:?} from {start:?}"
                        );
                    }
                }
                let too_deep = sleek::decompress_coarse_into(&stream, 64, None, &mut []).unwrap_err();
                assert_eq!((too_deep.kind, &too_deep.message[..]), (Kind::InvalidArgument, "level 64; 0 to 63"));
                if count > 0 {
                    let small = sleek::decompress_coarse_into(&stream, 40, None, &mut []).unwrap_err();
                    assert_eq!(small.kind, Kind::BufferTooSmall, "{small}");
                }
            }
        }
    }
}

/// Of tiles of codec interp a preview decodes the leading levels alone: what is broken behind them is not met.
#[test]
fn previews_decode_leading_levels_alone() {
    let random = &mut Random(71);
    let params = Params { codec: 5, dims: dims(&[40, 33, 35]), ..Params::new(DType::F32).with_bound(Bound::Abs(1e-3)) };
    let words: Vec<u64> = (0..params.dims.count())
        .map(|i| {
            let [x, y, z] = [i % 35, i / 35 % 33, i / 35 / 33].map(|at| at as f64);
            DType::F32.nearest((x / 7.0).sin() + (y / 9.0).cos() * (z / 5.0).sin() + random.below(100) as f64 * 1e-4)
        })
        .collect();
    let (stream, whole) = checked(&params, &vectors::to_bytes(DType::F32, &words, false));
    let of = reference::container(&stream).unwrap();
    let body = of.entry(&stream, 0).unwrap().1;
    let mut passed = 0;
    for _ in 0..40 {
        let mut broken = stream.clone();
        broken[(of.bodies_at + body - 1 - random.below(body / 4)) as usize] ^= 1 << random.below(8);
        seal(&mut broken);
        if sleek::decompress(&broken).is_ok() {
            continue;
        }
        let expected = part(&whole, 4, params.dims.lens(), (&[0; 3], params.dims.lens()), 2);
        let mut part = vec![0; expected.len()];
        sleek::decompress_coarse_into(&broken, 2, None, &mut part).unwrap();
        assert!(part == expected);
        passed += 1;
    }
    assert!(passed > 20, "{passed}");
}

/// What is told of each chunk is what comes back of it, of every codec, type, mode and shape.
#[test]
fn ranges_are_those_of_chunks() {
    for (k, (codec, params)) in requests().enumerate() {
        for (s, shape) in SHAPES.into_iter().enumerate().filter(|(_, shape)| takes(codec, shape)) {
            let dtype = params.dtype;
            let params = Params { dims: dims(shape), big_endian: (k + s) % 2 == 1, ..params.clone() };
            let generator = ["walk", "specials", "constant"][(k + s) % 3];
            let mut words = vectors::words(generator, dtype, s as u64, params.dims.count() as usize);
            let mut missing = MissingValues::default();
            if let (true, Some(mark)) = (s % 2 == 0, words.first().copied()) {
                vectors::strew(&mut words, &[mark], 3, 7);
                missing = MissingValues::of(&[MissingValue::Bits(mark)]).unwrap();
            }
            let params = Params { missing, ..params };
            let (stream, whole) = checked(&params, &vectors::to_bytes(dtype, &words, params.big_endian));
            let ranges = sleek::chunk_ranges(&stream).unwrap();
            let (layout, marks) = (Header::read(&stream).unwrap().layout, sleek::inspect(&stream).unwrap().missing);
            assert_eq!(ranges.len(), layout.chunks);
            let (mut some, mut together) = (Vec::new(), Vec::new());
            for (c, range) in ranges.into_iter().enumerate() {
                let mut bytes = match layout.is_linear() {
                    true => whole[c * layout.chunk_bytes()..][..layout.chunk_raw_bytes(c)].to_vec(),
                    false => part(&whole, dtype.size(), shape, (layout.tile(c).start(), layout.tile(c).lens()), 0),
                };
                if (c + k) % 3 != 1 {
                    some.push(c as u64);
                    together.extend_from_slice(&bytes);
                }
                if params.big_endian {
                    bytes.chunks_exact_mut(dtype.size()).for_each(<[u8]>::reverse);
                }
                let bits = vectors::to_words(dtype, &bytes).into_iter();
                let (lost, there): (Vec<u64>, Vec<u64>) = bits.partition(|bits| marks.bits().contains(bits));
                let all = there.iter().map(|bits| dtype.number(*bits));
                let (nan, numbers): (Vec<f64>, Vec<f64>) = all.partition(|v| v.is_nan());
                let counts = [range.count, range.missing, range.nan].map(|n| n as usize);
                assert_eq!(counts, [numbers.len(), lost.len(), nan.len()], "{params:?} {generator}, chunk {c}");
                let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
                let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                // Integers of 64 bits are rounded away from the others.
                let slack = if dtype.size() == 8 && !dtype.is_float() { 4096.0 } else { 0.0 };
                let ends = [(least, range.least), (range.most, most)];
                let fit = ends.into_iter().all(|(a, b)| a == b || a >= b && a - b <= slack);
                assert!(fit, "{params:?} {generator}, chunk {c}: {range:?}, not {least} to {most}");
                let (sum, size) = (numbers.iter().sum::<f64>(), numbers.iter().map(|v| v.abs()).sum::<f64>());
                assert!(
                    !sum.is_finite() || (range.sum - sum).abs() <= 1e-12 * size,
                    "{params:?}: {range:?}, sum {sum}"
                );
            }
            let mut back = vec![0; together.len() + 1];
            let n = sleek::decompress_chunks_into(&stream, &some, &mut back).unwrap();
            assert!(back[..n] == together, "{params:?} {generator}");
            if stream.len() > 64 {
                let last = stream.len() - 1;
                let broken = [&stream[..last], &[stream[last] ^ 1]].concat();
                assert!(sleek::chunk_ranges(&broken).is_err(), "{params:?}");
                let chunk = (layout.chunks as u64).checked_sub(1).into_iter().collect::<Vec<_>>();
                assert!(sleek::decompress_chunks_into(&broken, &chunk, &mut vec![0; whole.len()]).is_err());
            }
        }
    }
}

/// Whole chunks come where there is room, from whatever thread; numbers that rise, of chunks that there are.
#[test]
fn whole_chunks_are_those_that_are_named() {
    for (k, profile) in sleek::Profile::ALL.into_iter().enumerate() {
        let data = vectors::bytes("walk", DType::F32, k as u64, 2_000_000, false);
        let params = Params { profile, ..Params::new(DType::F32).with_bound(Bound::Abs(0.01)) };
        let stream = sleek::compress(&params, &data).unwrap();
        let whole = sleek::decompress(&stream).unwrap();
        let layout = Header::read(&stream).unwrap().layout;
        let numbers: Vec<u64> = (0..layout.chunks as u64).filter(|c| c % 70 > 66).collect();
        let bytes = |c: &u64| &whole[*c as usize * layout.chunk_bytes()..][..layout.chunk_raw_bytes(*c as usize)];
        let expected: Vec<u8> = numbers.iter().flat_map(|c| bytes(c).to_vec()).collect();
        let mut back = vec![0; expected.len()];
        assert_eq!(sleek::decompress_chunks_into(&stream, &numbers, &mut back).unwrap(), expected.len());
        assert!(back == expected && numbers.len() > 2, "{profile:?}");
        let kind = |numbers: &[u64], room: usize| {
            sleek::decompress_chunks_into(&stream, numbers, &mut vec![0; room]).unwrap_err().kind
        };
        assert_eq!(kind(&[layout.chunks as u64], whole.len()), sleek::Kind::OutOfRange);
        assert_eq!(kind(&[1, 1], whole.len()), sleek::Kind::InvalidArgument);
        assert_eq!(kind(&[2, 1], whole.len()), sleek::Kind::InvalidArgument);
        assert_eq!(kind(&[0], layout.chunk_bytes() - 1), sleek::Kind::BufferTooSmall);
        assert_eq!(sleek::decompress_chunks_into(&stream, &[], &mut []).unwrap(), 0);
    }
}

/// The mean that is told lies no further from that of the values than is said.
#[test]
fn means_have_a_guaranteed_interval() {
    let params = Params { dims: dims(&[70, 80]), ..Params::new(DType::F32).with_bound(Bound::Abs(0.01)) };
    for (k, profile) in sleek::Profile::ALL.into_iter().enumerate() {
        let words = vectors::words("walk", DType::F32, k as u64, 5600);
        let params = Params { profile, ..params.clone() };
        let stream = sleek::compress(&params, &vectors::to_bytes(DType::F32, &words, false)).unwrap();
        let mut all = sleek::ChunkRange::NONE;
        sleek::chunk_ranges(&stream).unwrap().iter().for_each(|range| all.add(range));
        let mean = words.iter().map(|bits| DType::F32.number(*bits)).sum::<f64>() / 5600.0;
        let (told, within) = all.mean(0.01);
        assert!((told - mean).abs() <= within && within < 0.02, "{told} ± {within}, {mean}");
    }
}

/// Whether a box has an element of chunk `c`.
fn touches(of: &reference::Container, c: u64, (start, lens): (&[u64], &[u64])) -> bool {
    let (chunk_start, chunk_lens) = of.chunk(c);
    if chunk_start.len() == start.len() {
        let meet = |k: usize| start[k] < chunk_start[k] + chunk_lens[k] && chunk_start[k] < start[k] + lens[k];
        return (0..start.len()).all(meet);
    }
    // A run of elements: row by row.
    let run = chunk_start[0]..chunk_start[0] + chunk_lens[0];
    let [.., row] = lens else { return false };
    (0..lens.iter().product::<u64>()).step_by(*row as usize).any(|mut i| {
        let (mut at, mut stride) = (0, 1);
        for k in (0..start.len()).rev() {
            at += (start[k] + i % lens[k]) * stride;
            i /= lens[k];
            stride *= of.dims[k];
        }
        at < run.end && run.start < at + row
    })
}

/// Changes the body of chunk `c`, behind valid checksums, so that it cannot be decoded; false if any body will do.
fn break_chunk(stream: &mut [u8], of: &reference::Container, c: u64, random: &mut Random) -> bool {
    let before: u64 = (0..c).map(|c| of.entry(stream, c).unwrap().1).sum();
    let (at, len) = ((of.bodies_at + before) as usize, of.entry(stream, c).unwrap().1);
    let sound = stream.to_vec();
    (0..40).any(|_| {
        stream.copy_from_slice(&sound);
        (0..3).for_each(|_| stream[at + random.below(len.min(16)) as usize] ^= 1 << random.below(8));
        seal(stream);
        sleek::decompress(stream).is_err()
    })
}

/// Ranges and boxes decode the chunks that have some of their elements and no other: one that nobody can decode is in
/// the way of these alone.
#[test]
fn chunks_that_are_not_touched_are_not_decoded() {
    let random = &mut Random(31);
    for params in plain_requests() {
        let shape = [50u64, 60, 70];
        let params = Params { dims: dims(&shape), ..params };
        let size = params.dtype.size();
        let (stream, whole) = checked(&params, &array("walk", &params, 9));
        let of = reference::container(&stream).unwrap();
        let (mut met, mut passed) = (0, 0);
        for _ in 0..8 {
            let (c, mut broken) = (random.below(of.chunks), stream.clone());
            if !break_chunk(&mut broken, &of, c, random) {
                continue;
            }
            for round in 0..24 {
                let most = |len: u64| [2, 20, len][round % 3].min(len);
                let lens: Vec<u64> = shape.iter().map(|len| 1 + random.below(most(*len))).collect();
                let start: Vec<u64> = shape.iter().zip(&lens).map(|(all, len)| random.below(all - len + 1)).collect();
                let expected = part(&whole, size, &shape, (&start, &lens), 0);
                let mut part = vec![0xa5; expected.len()];
                let done = sleek::decompress_box_into(&broken, &start, &lens, &mut part);
                let is_met = touches(&of, c, (&start, &lens));
                assert_eq!(done.is_err(), is_met, "{params:?}: chunk {c}, {lens:?} from {start:?}: {done:?}");
                assert!(is_met || part == expected, "{params:?}: {lens:?} from {start:?}");
                (met, passed) = (met + u32::from(is_met), passed + u32::from(!is_met));

                // Of a range, the rows that it has a part of.
                let (first, count) = (random.below(params.dims.count()), lens.iter().product::<u64>());
                let count = count.min(params.dims.count() - first);
                let mut part = vec![0xa5; count as usize * size];
                let done = sleek::decompress_range_into(&broken, first, count as usize, &mut part);
                let rows = (first..first + count).map(|i| [i / 4200, i / 70 % 60, i % 70]);
                let is_met = rows.clone().any(|at| touches(&of, c, (&at, &[1, 1, 1])));
                assert_eq!(done.is_err(), is_met, "{params:?}: chunk {c}, {count} from {first}: {done:?}");
                assert!(is_met || part == whole[first as usize * size..][..part.len()], "{count} from {first}");
            }
        }
        let hint = "no body could be damaged if all are raw or constant";
        assert!(met > 3 && passed > 50, "{params:?}: {met} met, {passed} passed by; {hint}");
    }
}

/// Which elements are missing comes back exactly, both ways, whatever the rate, the values and the mode.
#[test]
fn missing_values_come_back_and_no_others() {
    for (codec, params) in requests().filter(|(_, params)| params.dtype.is_float()) {
        let dtype = params.dtype;
        let nan = dtype.nearest(f64::NAN);
        // Of these 0 and 1 are close to what the data are, and 0 stands for both zeros.
        let values = [&[MissingValue::Number(-9999.0)][..], &[MissingValue::Bits(nan | 1), MissingValue::Number(1.0)]];
        let more = [&[MissingValue::Number(0.0)][..], &[MissingValue::Number(1e20), MissingValue::Bits(nan)]];
        for (k, named) in values.into_iter().chain(more).enumerate() {
            let missing = MissingValues::of(named).unwrap();
            let bits = missing.of_type(dtype).unwrap();
            for (rate, shape) in [(0u64, &[9001u64][..]), (1, &[101, 97]), (500, &[23, 19, 21]), (1000, &[5000])] {
                if !takes(codec, shape) {
                    continue;
                }
                let params = Params { dims: dims(shape), missing, big_endian: k % 2 == 1, ..params.clone() };
                let random = &mut Random(rate + 1);
                let generator = ["walk", "signed", "specials"][(rate as usize + k) % 3];
                let words = vectors::words(generator, dtype, 7, params.dims.count() as usize).into_iter();
                let pick = |w| {
                    if random.below(1000) < rate { bits.bits()[random.below(bits.len() as u64) as usize] } else { w }
                };
                let words: Vec<u64> = words.map(pick).collect();
                let data = vectors::to_bytes(dtype, &words, params.big_endian);
                let (stream, mut back) = checked(&params, &data);
                if params.big_endian {
                    back.chunks_exact_mut(dtype.size()).for_each(<[u8]>::reverse);
                }
                let is_missing = |w: &u64| bits.bits().contains(w);
                for (i, (v, r)) in words.iter().zip(vectors::to_words(dtype, &back)).enumerate() {
                    let alike = if is_missing(v) || is_missing(&r) { *v == r } else { true };
                    assert!(alike, "{params:?} {generator}: element {i}, {v:#x}, came back as {r:#x}");
                }
                assert_eq!(sleek::inspect(&stream).unwrap().missing.told(), bits.bits());
            }
        }
    }
}

#[test]
fn a_destination_too_small_is_refused_and_nothing_behind_it_written() {
    for (codec, params) in requests() {
        let shape = [&[2000u64][..], &[50, 40]][codec.capabilities().rank.min(2) - 1];
        let params = Params { dims: dims(shape), ..params };
        let data = array("walk", &params, 9);
        let (stream, back) = checked(&params, &data);
        let mut dst = vec![0xa5; stream.len()];
        for capacity in (0..stream.len()).step_by(1 + stream.len() / 50).chain([stream.len() - 1]) {
            dst.fill(0xa5);
            let error = sleek::compress_into(&params, &data, &mut dst[..capacity]).unwrap_err();
            assert_eq!(error.kind, Kind::BufferTooSmall, "{params:?}: {capacity} bytes: {error}");
            assert!(dst[capacity..].iter().all(|byte| *byte == 0xa5));
        }
        assert_eq!(sleek::compress_into(&params, &data, &mut dst).unwrap(), stream.len());
        let error = sleek::decompress_into(&stream, &mut vec![0; back.len() - 1]).unwrap_err();
        assert_eq!(error.kind, Kind::BufferTooSmall);
    }
}

/// Small streams with everything that header, extension and index can have: dimensions, missing values, each kind of
/// chunk.
fn samples() -> Vec<Vec<u8>> {
    let of = |params: Params| {
        let can = sleek::codec::by_id(params.codec).unwrap().capabilities();
        let shapes: [&[u64]; 3] = [&[700], &[23, 31], &[5, 11, 13]];
        let mut streams = vec![];
        for (k, shape) in shapes.into_iter().enumerate().filter(|(_, shape)| can.rank == 1 || shape.len() <= can.rank) {
            let missing = MissingValues::number((k > 0 && params.dtype.is_float()).then_some(-9999.0));
            let params = Params { dims: dims(shape), missing, ..params.clone() };
            let mut words = vectors::words("walk", params.dtype, k as u64, params.dims.count() as usize);
            let bits = missing.of_type(params.dtype).unwrap();
            let random = &mut Random(k as u64);
            for (i, word) in words.iter_mut().enumerate() {
                if let Some(value) = bits.bits().first().filter(|_| i / 100 % 3 == 1 || random.below(20) == 0) {
                    *word = *value;
                }
            }
            streams.push(sleek::compress(&params, &vectors::to_bytes(params.dtype, &words, false)).unwrap());
        }
        streams
    };
    plain_requests().flat_map(of).collect()
}

#[test]
fn the_samples_have_masked_chunks_and_extensions() {
    for codec in REGISTRY {
        let of_codec = |stream: &&Vec<u8>| stream[8] == codec.id();
        let samples = samples();
        let is_masked = |stream: &Vec<u8>| sleek::inspect(stream).unwrap().chunks[3] > 0;
        let is_extended = |stream: &Vec<u8>| stream[11] & 8 != 0;
        assert!(samples.iter().filter(of_codec).any(is_masked), "{}: no masked chunk; are all raw?", codec.name());
        assert!(samples.iter().filter(of_codec).any(is_extended), "{}: no extension", codec.name());
    }
}

/// The verdict on a stream: the bytes or the kind of error. Parts of it are refused, or parts of the whole.
fn verdict(stream: &[u8]) -> Result<Vec<u8>, Kind> {
    let whole = sleek::decompress(stream).map_err(|error| error.kind);
    assert_ne!(whole.as_ref().err(), Some(&Kind::Internal));
    let inspected = sleek::inspect(stream);
    let Ok(bytes) = &whole else { return whole };
    let info = inspected.expect("a stream that decodes can be inspected");
    let (size, lens) = (info.dtype.size(), info.dims.lens());
    let start: Vec<u64> = lens.iter().map(|len| len / 3).collect();
    let part: Vec<u64> = lens.iter().zip(&start).map(|(len, start)| (len - start).min(9)).collect();
    let expected = vectors::part(bytes, size, lens, (&start, &part), 0);
    let mut out = vec![0xa5; expected.len()];
    sleek::decompress_box_into(stream, &start, &part, &mut out).unwrap();
    assert!(out == expected, "a box differs");
    whole
}

/// Changes behind valid checksums: of every byte of what stands before the bodies, and of many within. The line that
/// this prints is compared across SIMD levels.
#[test]
fn resealed_mutations_do_no_harm() {
    let random = &mut Random(23);
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |bytes: &[u8]| bytes.iter().for_each(|b| hash = (hash ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3));
    let (mut taken, mut refused) = (0u64, 0u64);
    for stream in samples() {
        let head = reference::container(&stream).unwrap().bodies_at as usize;
        let of_head = (0..head).flat_map(|at| [0x01u8, 0x02, 0x04, 0x08, 0x40, 0x80, 0xff].map(|x| vec![(at, x)]));
        let of_bodies = (0..1500).map(|_| {
            let places = 1 + random.below(3);
            let len = (stream.len() - head) as u64;
            (0..places).map(|_| (head + random.below(len) as usize, 1 << random.below(8))).collect()
        });
        for changes in of_head.chain(of_bodies.collect::<Vec<Vec<(usize, u8)>>>()) {
            let mut damaged = stream.clone();
            changes.iter().for_each(|(at, pattern)| damaged[*at] ^= pattern);
            seal(&mut damaged);
            match verdict(&damaged) {
                Ok(bytes) => {
                    taken += 1;
                    add(&bytes);
                }
                Err(kind) => {
                    refused += 1;
                    add(&kind.code().to_le_bytes());
                }
            }
        }
    }
    assert!(taken > 100 && refused > 1000, "{taken} taken, {refused} refused");
    println!("streams:{taken} taken, {refused} refused, {hash:016x}");
}

#[test]
fn every_simd_level_says_the_same_of_mutations() {
    vectors::levels::alike_at_all_levels("container::resealed_mutations_do_no_harm");
}

fn refusal(params: &Params, count: usize) -> sleek::Error {
    let data = vec![0; count * params.dtype.size()];
    sleek::compress(params, &data).expect_err(&format!("{params:?}"))
}

#[test]
fn what_a_codec_cannot_do_is_refused_by_name() {
    for codec in REGISTRY {
        let can = codec.capabilities();
        let base = Params { codec: codec.id(), ..Params::new(can.dtypes[0]) };
        for dtype in DType::ALL.into_iter().filter(|dtype| !can.dtypes.contains(dtype)) {
            let error = refusal(&Params { dtype, ..base.clone() }, 10);
            let right = can.dtypes.iter().all(|dtype| error.message.contains(dtype.name()));
            assert!(right && error.message.contains(dtype.name()) && error.message.contains(codec.name()), "{error}");
            assert_eq!(error.kind, Kind::UnsupportedType);
        }
        for mode in Mode::ALL.into_iter().filter(|m| !can.modes.contains(m)) {
            let error = refusal(
                &base.clone().with_bound(Bound::new(mode, if mode.has_bound() { 0.1 } else { 8.0 }).unwrap()),
                10,
            );
            let right = can.modes.iter().all(|mode| error.message.contains(mode.name()));
            assert!(right && error.message.contains(mode.name()) && error.message.contains(codec.name()), "{error}");
            assert_eq!(error.kind, Kind::InvalidArgument);
        }
        let error = refusal(&Params { dims: dims(&[3, 4]), ..base.clone() }, 13);
        assert_eq!(error.message, "dimensions 3x4 are 12 elements; the array has 13");
        // No array has more dimensions than that.
        if can.rank == MAX_RANK {
            continue;
        }
        let deep = vec![1; can.rank + 1];
        match sleek::compress(&Params { dims: dims(&deep), ..base.clone() }, &vec![0; base.dtype.size()]) {
            Ok(stream) => assert_eq!(sleek::decompress(&stream).unwrap().len(), base.dtype.size()),
            Err(error) => {
                assert_eq!(error.kind, Kind::InvalidArgument);
                let words = [codec.name(), &can.rank.to_string(), &deep.len().to_string()];
                assert!(words.iter().all(|word| error.message.contains(word)), "{error}");
            }
        }
    }
    assert_eq!(Dims::new(&[]).unwrap_err().message, "rank 0; 1 to 32 dimensions are possible");
    assert_eq!(Dims::new(&[1; MAX_RANK + 1]).unwrap_err().message, "rank 33; 1 to 32 dimensions are possible");
    for lens in [&[1 << 32, 1 << 32][..], &[0, u64::MAX, 2]] {
        assert!(Dims::new(lens).unwrap_err().message.contains("more elements than fit in memory"), "{lens:?}");
    }
}

#[test]
fn a_codec_that_nobody_knows_is_refused_by_number() {
    let unknown = (6..=255u8).find(|id| REGISTRY.iter().all(|codec| codec.id() != *id)).unwrap();
    let error = refusal(&Params { codec: unknown, ..Params::new(DType::F32) }, 10);
    assert_eq!(error.kind, Kind::InvalidArgument);
    let names = |text: &str| REGISTRY.iter().all(|codec| text.contains(codec.name()));
    assert!(error.message.contains(&format!("codec {unknown} ")) && names(&error.message), "{error}");
    let mut stream = samples().swap_remove(0);
    stream[8] = unknown;
    seal(&mut stream);
    let error = sleek::decompress(&stream).unwrap_err();
    assert_eq!(error.kind, Kind::UnsupportedFormat);
    assert!(error.message.contains(&format!("codec {unknown} ")) && names(&error.message), "{error}");
    let error = sleek::codec::by_name("nobody").err().unwrap();
    assert!(error.message.contains("'nobody'") && names(&error.message), "{error}");
}

/// Codecs 2 and 4 were ratio and predict, in pre-releases: no other codec gets their numbers or their names.
#[test]
fn codecs_of_old_are_refused_by_name() {
    for (id, name, release) in [(2, "ratio", "0.2"), (4, "predict", "0.4")] {
        let asked = format!("codec {id} ({name}) existed in pre-releases of {release} only; codec interp replaces it");
        let error = refusal(&Params { codec: id, ..Params::new(DType::F32) }, 10);
        assert_eq!((error.kind, &error.message), (Kind::InvalidArgument, &asked));
        let error = sleek::codec::by_name(name).err().unwrap();
        assert_eq!((error.kind, &error.message), (Kind::InvalidArgument, &asked));
        let mut stream = samples().swap_remove(0);
        stream[8] = id;
        seal(&mut stream);
        let was =
            format!("codec {id} ({name}) was written by a pre-release of {release}; this library does not read it");
        for error in [sleek::decompress(&stream).unwrap_err(), sleek::inspect(&stream).unwrap_err()] {
            assert_eq!((error.kind, &error.message), (Kind::UnsupportedFormat, &was));
        }
    }
}

/// Codecs for tests alone are in no build that a user gets: no other feature has them, and nothing that packages asks
/// for all.
#[test]
fn no_build_that_is_shipped_has_the_codecs_of_tests() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let features = manifest.split("[features]").nth(1).unwrap().split("\n[").next().unwrap();
    let naming: Vec<&str> = features.lines().filter(|line| line.contains("test-codecs")).collect();
    assert!(naming.len() == 1 && naming[0].starts_with("test-codecs = []"), "{naming:?}");
    let mut folders = vec![root.join("packaging"), root.join("python"), root.join("cmake")];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if let Ok(text) = std::fs::read_to_string(&entry) {
                seen += 1;
                let builds = |line: &&str| line.contains("--all-features") || line.contains("test-codecs");
                assert_eq!(text.lines().find(builds), None, "{}", entry.display());
            }
        }
    }
    assert!(seen > 3, "{seen} files");
}

/// Whether what is wrong is the header alone: index and lengths fit.
fn header_is_refused(stream: &[u8]) -> bool {
    let fits = |stream: &[u8]| Header::read(stream).is_ok_and(|header| Index::new(&header, stream).is_ok());
    fits(stream) && sleek::inspect(stream).is_err()
}

/// Where nothing is to be decoded the codec, its word, the geometry and the section are looked at all the same.
#[test]
fn empty_streams_are_checked_as_any_other() {
    for params in plain_requests() {
        let can = sleek::codec::by_id(params.codec).unwrap().capabilities();
        let shapes = [(&[0u64][..], &[5u64][..]), (&[0, 7], &[3, 7])];
        let mut refused = 0;
        for (none, some) in shapes.into_iter().filter(|(none, _)| none.len() <= can.rank) {
            let of = |lens: &[u64]| {
                let params = Params { dims: dims(lens), ..params.clone() };
                sleek::compress(&params, &array("walk", &params, 3)).unwrap()
            };
            let (mut empty, full) = (of(none), of(some));
            let headers = [&empty, &full].map(|stream| Header::read(stream).unwrap().layout.header_bytes);
            assert_eq!(headers[0], headers[1]);
            // The same tiles.
            let behind = 64 + 16 + if none.len() > 1 { 8 * none.len() } else { 0 };
            if headers[0] > behind {
                empty[behind..headers[0]].copy_from_slice(&full[behind..headers[0]]);
            }
            // Codec and word; geometry and form of the index; and what stands behind the dimensions.
            for at in
                [8].into_iter().chain(12..16).chain(68..71).chain(behind..headers[0]).filter(|at| *at < headers[0])
            {
                for value in 0..=255 {
                    let [empty, full] = [&empty, &full].map(|stream| {
                        let mut changed = stream.clone();
                        changed[at] = value;
                        seal(&mut changed);
                        changed
                    });
                    if !header_is_refused(&full) {
                        continue;
                    }
                    refused += 1;
                    let what = format!("{params:?}: byte {at} is {value}");
                    assert!(sleek::inspect(&empty).is_err(), "{what}");
                    assert!(sleek::decompress(&empty).is_err(), "{what}");
                    assert!(sleek::decompress_range_into(&empty, 0, 0, &mut []).is_err(), "{what}");
                    let start = vec![0; none.len()];
                    assert!(sleek::decompress_box_into(&empty, &start, none, &mut []).is_err(), "{what}");
                }
            }
        }
        assert!(refused > 500, "{params:?}: {refused}");
    }
}
