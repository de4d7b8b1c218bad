//! What holds for every codec of the registry on device pointers, and knows none of them: the bytes of the CPU, by
//! kernels where there are some; whole arrays, ranges, boxes, asynchronous calls and batches; refusals by name.

use std::ptr::null_mut;

use sleek::codec::{Codec, REGISTRY};
use sleek::route::batch::{self, Item};
use sleek::route::device::refuses;
use sleek::{Bound, DType, Device, Kind, MissingValue, MissingValues, Mode, Params, Profile, route};

use crate::missing::seal_header;
use crate::shim::{Memory, Shim};
use crate::vectors::requests::{SHAPES, array, dims, plain_requests, requests, takes};
use crate::vectors::{self, Random};

/// Every request with arrays of shapes that its codec takes; fewer where time matters.
fn cases() -> impl Iterator<Item = (Params, Vec<u8>)> {
    let every = if crate::common::short() { 5 } else { 1 };
    let of_request = |(codec, params): (&'static dyn Codec, Params)| {
        let of_shape = move |(k, shape): (usize, &[u64])| {
            let generator = ["walk", "specials", "noise", "constant"][k % 4];
            let params = Params { dims: dims(shape), big_endian: k % 3 == 1, ..params.clone() };
            let data = array(generator, &params, k as u64);
            (params, data)
        };
        SHAPES.into_iter().enumerate().filter(move |(_, shape)| takes(codec, shape)).map(of_shape)
    };
    requests().flat_map(of_request).enumerate().filter(move |(k, _)| k % every == 0).map(|(_, case)| case)
}

/// Why the kernels do not compress this, if they do not.
fn refused(params: &Params, count: usize) -> Option<String> {
    refuses(params, &sleek::codec::layout(params, count as u64).unwrap()).unwrap()
}

fn count_of(params: &Params, data: &[u8]) -> usize {
    data.len() / params.dtype.size()
}

/// What the stand-in has launched meanwhile.
fn launches(shim: &Shim, call: impl FnOnce()) -> i32 {
    let before = shim.number("shim_launches");
    call();
    shim.number("shim_launches") - before
}

#[test]
fn device_pointers_give_the_bytes_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    for (k, (params, data)) in cases().enumerate() {
        shim.set(1 + k as u32 % 4, k as u32 % 5);
        let count = count_of(&params, &data);
        let (stream, room) = (sleek::compress(&params, &data).unwrap(), sleek::compress_bound(&params, count).unwrap());
        let (src, dst) = (shim.upload(0, &data, 0), shim.allocate(0, room));
        let launched = launches(shim, || {
            let n = unsafe { route::compress(&params, src.at(0), count, dst.at(0), room, null_mut()) };
            assert!(dst.read(0, n.unwrap_or_else(|e| panic!("{params:?}: {e}"))) == stream, "{params:?}");
        });
        assert_eq!(launched == 0, refused(&params, count).is_some(), "{params:?}");
        let restored = sleek::decompress(&stream).unwrap();
        let back = shim.allocate(0, data.len() + 64);
        let n = unsafe {
            route::decompress(Device::Auto, dst.at(0), stream.len(), None, back.at(0), data.len(), null_mut())
        };
        assert_eq!(n.unwrap_or_else(|e| panic!("{params:?}: {e}")), data.len());
        assert!(back.read(0, data.len()) == restored, "{params:?}");
        assert!(back.read(data.len(), 64).iter().all(|b| *b == 0xA5), "{params:?}: written beyond the end");
    }
}

#[test]
fn parts_of_arrays_are_those_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    let random = &mut Random(5);
    for (params, data) in cases() {
        let (size, shape, total) = (params.dtype.size(), params.dims, params.dims.count());
        let stream = sleek::compress(&params, &data).unwrap();
        let there = shim.upload(0, &stream, 0);
        for _ in 0..3 {
            let first = random.below(total + 1);
            let count = random.below(total - first + 1) as usize;
            let mut part = vec![0; count * size];
            sleek::decompress_range_into(&stream, first, count, &mut part).unwrap();
            let back = shim.allocate(0, part.len() + 64);
            let (src, to, range) = (there.at(0), back.at(0), Some((first, count)));
            let n = unsafe {
                route::decompress(Device::Auto, src, stream.len(), range, to, part.len(), null_mut()).unwrap()
            };
            assert!((n, back.read(0, n)) == (part.len(), part), "{params:?}: {count} from {first}");
            assert!(back.read(n, 64).iter().all(|b| *b == 0xA5), "{params:?}: written beyond the range");

            let start: Vec<u64> = shape.lens().iter().map(|len| random.below(len + 1)).collect();
            let lens: Vec<u64> =
                shape.lens().iter().zip(&start).map(|(len, start)| random.below(len - start + 1)).collect();
            let mut part = vec![0; lens.iter().product::<u64>() as usize * size];
            sleek::decompress_box_into(&stream, &start, &lens, &mut part).unwrap();
            let back = shim.allocate(0, part.len() + 64);
            let n = unsafe {
                let (from, to) = ((src.cast_const(), stream.len()), (back.at(0), part.len()));
                route::decompress_coarse(from, 0, Some((&start, &lens)), to, null_mut()).unwrap()
            };
            assert!((n, back.read(0, n)) == (part.len(), part), "{params:?}: {lens:?} from {start:?}");
            assert!(back.read(n, 64).iter().all(|b| *b == 0xA5), "{params:?}: written beyond the box");
        }
        let beyond = unsafe {
            route::decompress(Device::Auto, there.at(0), stream.len(), Some((total, 1)), null_mut(), 8, null_mut())
        };
        assert_eq!(beyond.unwrap_err().kind, Kind::OutOfRange);
        let lens = vec![1; shape.rank()];
        let beyond = unsafe {
            route::decompress_coarse(
                (there.at(0), stream.len()),
                0,
                Some((shape.lens(), &lens)),
                (null_mut(), 8),
                null_mut(),
            )
        };
        assert_eq!(beyond.unwrap_err().kind, Kind::OutOfRange);
    }
}

/// Previews of the whole and of boxes are those of the CPU, with missing values among them or without.
#[test]
fn previews_are_those_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    let random = &mut Random(70);
    let shapes = SHAPES.into_iter().chain([&[40u64, 33, 35][..], &[300, 310], &[70_001], &[2, 3, 20, 17, 30]]);
    let shapes: Vec<&[u64]> = shapes.collect();
    let every = if crate::common::short() { 11 } else { 3 };
    for (k, (codec, params)) in requests().enumerate() {
        for (s, shape) in shapes.iter().enumerate().filter(|(_, shape)| takes(codec, shape)) {
            if (k + 2 * s) % every != 0 {
                continue;
            }
            let (dtype, generator) = (params.dtype, ["walk", "parabola", "constant", "specials"][(k + s) % 4]);
            let mut params = Params { dims: dims(shape), big_endian: (k + s) % 2 == 1, ..params.clone() };
            let mut words = vectors::words(generator, dtype, s as u64, params.dims.count() as usize);
            if let (0, Some(mark)) = ((k + s / 4) % 3, words.first().copied()) {
                vectors::strew(&mut words, &[mark], [2, 30][s % 2], 7);
                params.missing = MissingValues::of(&[MissingValue::Bits(mark)]).unwrap();
            }
            let stream = sleek::compress(&params, &vectors::to_bytes(dtype, &words, params.big_endian)).unwrap();
            let there = shim.upload(0, &stream, 0);
            shim.set(1 + k as u32 % 4, s as u32 % 5);
            for level in [1, 2, 1 + random.below(8) as u32, 63, 0] {
                let start: Vec<u64> = shape.iter().map(|len| random.below(len + 1)).collect();
                let lens: Vec<u64> = shape.iter().zip(&start).map(|(len, at)| random.below(len - at + 1)).collect();
                for part in [None, Some((&start[..], &lens[..]))] {
                    let mut expected = vec![0; words.len() * dtype.size()];
                    let n = sleek::decompress_coarse_into(&stream, level, part, &mut expected).unwrap();
                    let offset = [0, dtype.size(), 1][s % 3];
                    let back = shim.allocate(0, offset + n + 64);
                    let launched = launches(shim, || {
                        let (from, to) = ((there.at(0).cast_const(), stream.len()), (back.at(offset), n));
                        let done = unsafe { route::decompress_coarse(from, level, part, to, null_mut()) };
                        assert_eq!(done.unwrap_or_else(|e| panic!("{params:?}: {e}")), n);
                    });
                    let what = format!("{params:?} {generator}: level {level} of {part:?}");
                    assert!(back.read(offset, n) == expected[..n], "{what}");
                    assert!(back.read(offset + n, 64).iter().all(|b| *b == 0xA5), "{what}: written beyond the end");
                    let by_cpu = refused(&params, words.len()).is_some() || (codec.name() == "toy" && level > 0);
                    assert_eq!(launched == 0, by_cpu, "{what}");
                }
            }
            let small = unsafe {
                let (from, to) = ((there.at(0).cast_const(), stream.len()), (null_mut(), 0));
                route::decompress_coarse(from, 40, None, to, null_mut())
            };
            assert_eq!(small.map_err(|e| e.kind).err(), (!words.is_empty()).then_some(Kind::BufferTooSmall));
        }
    }
}

/// Of many groups of chunks some have nothing of a preview, and some chunks of the others: of long rows, of short ones
/// in many dimensions, and of a line.
#[test]
fn previews_of_many_groups_are_those_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    let random = &mut Random(11);
    for (k, shape) in [&[11u64, 190, 500][..], &[3, 130, 5, 4, 7, 90], &[2_400_001], &[1300, 1800]].iter().enumerate() {
        let dtype = [DType::F32, DType::U8, DType::F64, DType::I16][k];
        let params = Params { dims: dims(shape), profile: Profile::Adaptive, ..Params::new(dtype) };
        let words = vectors::words("walk", dtype, k as u64, params.dims.count() as usize);
        let stream = sleek::compress(&params, &vectors::to_bytes(dtype, &words, false)).unwrap();
        let src = shim.upload(0, &stream, 0);
        shim.set(3 + k as u32, k as u32);
        let mut expected = vec![0; words.len() * dtype.size()];
        for level in [0, 1, 2, 3, 7] {
            let start: Vec<u64> = shape.iter().map(|len| random.below(len / 2)).collect();
            let lens: Vec<u64> = shape.iter().zip(&start).map(|(len, at)| 1 + random.below(len - at)).collect();
            for part in [None, Some((&start[..], &lens[..]))] {
                let n = sleek::decompress_coarse_into(&stream, level, part, &mut expected).unwrap();
                let back = shim.allocate(0, n + 64);
                let (from, to) = ((src.at(0).cast_const(), stream.len()), (back.at(0), n));
                let done = unsafe { route::decompress_coarse(from, level, part, to, null_mut()) };
                assert_eq!(done.unwrap_or_else(|e| panic!("{shape:?}: {e}")), n);
                assert!(back.read(0, n) == expected[..n], "{shape:?}: level {level} of {part:?}");
                assert!(back.read(n, 64).iter().all(|b| *b == 0xA5), "{shape:?}: written beyond the end");
            }
        }
    }
}

/// Bytes and status that a call left on the device for array `i`.
fn outcome(results: &Memory, i: usize) -> (usize, i32) {
    let bytes = results.read(16 * i, 16);
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!((word(4), word(12)), (0, 0), "{i}");
    (word(0) as usize, word(8) as i32)
}

#[test]
fn asynchronous_calls_and_batches_give_the_bytes_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    for (k, (params, data)) in cases().enumerate() {
        let (count, size) = (count_of(&params, &data), params.dtype.size());
        if refused(&params, count).is_some() {
            continue;
        }
        shim.set(1 + k as u32 % 4, k as u32 % 5);
        let (stream, room) = (sleek::compress(&params, &data).unwrap(), sleek::compress_bound(&params, count).unwrap());
        let restored = sleek::decompress(&stream).unwrap();
        let src = shim.upload(0, &data, 0);
        let [dst, other] = [(); 2].map(|()| shim.allocate(0, room));
        let [back, again] = [(); 2].map(|()| shim.allocate(0, data.len() + 64));
        let (results, workspace) = (shim.allocate(0, 48), shim.allocate(0, batch::workspace_bytes(3)));
        let (to, w) = (results.at(0), workspace.at(0));
        route::prepare(&params, 0, null_mut()).unwrap();
        let waits = shim.number("shim_waits");
        unsafe {
            route::compress_async(&params, src.at(0), count, dst.at(0), room, to, w, null_mut()).unwrap();
            assert_eq!(outcome(&results, 0), (stream.len(), 0), "{params:?}");
            assert!(dst.read(0, stream.len()) == stream, "{params:?}");
            let part = (count as u64 / 3, count as u64 / 2);
            route::decompress_async(&params, dst.at(0), room, back.at(0), part, to, w, null_mut()).unwrap();
            assert_eq!(outcome(&results, 0).1, 0, "{params:?}");
            let (first, bytes) = (part.0 as usize * size, part.1 as usize * size);
            assert!(back.read(0, bytes) == restored[first..first + bytes], "{params:?}");
            assert!(back.read(bytes, 64).iter().all(|b| *b == 0xA5), "{params:?}");

            // Twice the array, and one for whose stream there is no room.
            let short = sleek::codec::layout(&params, count as u64).unwrap().bodies_at();
            let third = shim.allocate(0, short);
            let items = [(&dst, room), (&other, room), (&third, short)]
                .map(|(to, room)| Item::new(src.at(0), to.at(0), count as u64, room as u64));
            batch::compress_async(&params, &items, to, w, null_mut()).unwrap();
            assert!(other.read(0, stream.len()) == stream, "{params:?}");
            let small = if stream.len() > short { (0, Kind::BufferTooSmall.code()) } else { (short, 0) };
            let expected = [(stream.len(), 0), (stream.len(), 0), small];
            assert_eq!([0, 1, 2].map(|i| outcome(&results, i)), expected, "{params:?}");

            // Both streams, and one that is said to hold another number of elements.
            let items = [(&dst, &back, count), (&other, &again, count), (&dst, &back, count + 1)]
                .map(|(from, to, count)| Item::new(from.at(0), to.at(0), count as u64, room as u64));
            batch::decompress_async(&params, &items, to, w, null_mut()).unwrap();
            let wrong = (0, Kind::OutOfRange.code());
            let expected = [(data.len(), 0), (data.len(), 0), wrong];
            assert_eq!([0, 1, 2].map(|i| outcome(&results, i)), expected, "{params:?}");
            assert!(again.read(0, data.len()) == restored, "{params:?}");
        }
        assert_eq!(shim.number("shim_waits"), waits, "{params:?}");
    }
}

#[test]
fn damaged_streams_get_the_verdict_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    let every = if crate::common::short() { 29 } else { 7 };
    for params in plain_requests() {
        let rank = sleek::codec::by_id(params.codec).unwrap().capabilities().rank;
        let params = Params { dims: dims([&[700][..], &[23, 31]][rank.min(2) - 1]), ..params };
        let sound = sleek::compress(&params, &array("walk", &params, 1)).unwrap();
        let bytes = params.dims.count() as usize * params.dtype.size();
        let cut = (0..sound.len()).step_by(every).map(|n| sound[..n].to_vec());
        let flipped = (0..8 * sound.len()).step_by(every).map(|bit| {
            let mut stream = sound.clone();
            stream[bit / 8] ^= 1 << (bit % 8);
            stream
        });
        for (k, stream) in cut.chain(flipped).enumerate() {
            let (src, dst) = (shim.upload(0, &stream, 0), shim.allocate(0, bytes + 64));
            let done =
                unsafe { route::decompress(Device::Auto, src.at(0), stream.len(), None, dst.at(0), bytes, null_mut()) };
            let error = done.expect_err(&format!("codec {}: damage {k} was not noticed", params.codec));
            assert_ne!(error.kind, Kind::Internal, "codec {}: damage {k}: {error}", params.codec);
            assert!(dst.read(bytes, 64).iter().all(|b| *b == 0xA5), "codec {}: damage {k}", params.codec);
        }
    }
}

/// What has no kernels goes by the CPU, unless the GPU was demanded or the CPU cannot do it: then the error names the
/// codec.
#[test]
fn what_has_no_kernels_is_refused_by_name_where_only_they_would_do() {
    let (shim, _turn) = Shim::get();
    let mut seen = 0;
    for params in plain_requests() {
        let codec = sleek::codec::by_id(params.codec).unwrap();
        let rank = codec.capabilities().rank;
        let of_shape = Params { dims: dims([&[700][..], &[23, 31]][rank.min(2) - 1]), ..params.clone() };
        // Whatever codec has kernels, few have some for missing values.
        for params in [Params { missing: MissingValues::number(Some(-9999.0)), ..of_shape.clone() }, of_shape] {
            let data = array("walk", &params, 2);
            let count = count_of(&params, &data);
            let Some(why) = refused(&params, count) else { continue };
            seen += 1;
            assert!(why.contains(&format!("codec {}", codec.name())), "{why}");
            let stream = sleek::compress(&params, &data).unwrap();
            let room = sleek::compress_bound(&params, count).unwrap();
            let (src, dst) = (shim.upload(0, &data, 0), shim.allocate(0, room));
            let (results, workspace) = (shim.allocate(0, 16), shim.allocate(0, batch::workspace_bytes(1)));
            let (to, w) = (results.at(0), workspace.at(0));
            let n = unsafe { route::compress(&params, src.at(0), count, dst.at(0), room, null_mut()) }.unwrap();
            assert!(dst.read(0, n) == stream, "{params:?}");
            let demanded = Params { device: Device::Cuda, ..params.clone() };
            let items = [Item::new(src.at(0), dst.at(0), count as u64, room as u64)];
            let errors = unsafe {
                [
                    route::compress(&demanded, src.at(0), count, dst.at(0), room, null_mut()).unwrap_err(),
                    route::compress_async(&params, src.at(0), count, dst.at(0), room, to, w, null_mut()).unwrap_err(),
                    batch::compress_async(&params, &items, to, w, null_mut()).unwrap_err(),
                ]
            };
            for error in errors {
                assert_eq!(error.kind, Kind::Device, "{error}");
                assert!(error.message.contains(&why), "{error}");
            }
            if codec.gpu().is_some() {
                continue;
            }
            let errors = unsafe {
                let (from, back, all) = (dst.at(0), src.at(0), (0, count as u64));
                [
                    route::prepare(&params, 0, null_mut()).unwrap_err(),
                    route::decompress(Device::Cuda, from, n, None, back, data.len(), null_mut()).unwrap_err(),
                    route::decompress_async(&params, from, n, back, all, to, w, null_mut()).unwrap_err(),
                    batch::decompress_async(&params, &items, to, w, null_mut()).unwrap_err(),
                ]
            };
            for error in errors {
                assert_eq!(error.kind, Kind::Device, "{error}");
                assert!(error.message.contains(&format!("codec {} has no kernels", codec.name())), "{error}");
            }
        }
    }
    assert!(seen > 0, "everything has kernels: this test shows nothing");
}

/// The same errors through every door for device pointers, with the value that is wrong.
#[test]
fn bad_requests_are_refused_by_value_on_device_pointers() {
    let (shim, _turn) = Shim::get();
    let (src, dst) = (shim.allocate(0, 4096), shim.allocate(0, 16384));
    let (results, workspace) = (shim.allocate(0, 16), shim.allocate(0, batch::workspace_bytes(1)));
    let (to, w) = (results.at(0), workspace.at(0));
    let compress = |params: &Params, count: usize| unsafe {
        let items = [Item::new(src.at(0), dst.at(0), count as u64, 16384)];
        [
            route::compress(params, src.at(0), count, dst.at(0), 16384, null_mut()).unwrap_err(),
            route::compress_async(params, src.at(0), count, dst.at(0), 16384, to, w, null_mut()).unwrap_err(),
            batch::compress_async(params, &items, to, w, null_mut()).unwrap_err(),
        ]
    };
    let restore = |params: &Params| unsafe {
        let items = [Item::new(src.at(0), dst.at(0), 10, 4096)];
        [
            route::prepare(params, 0, null_mut()).unwrap_err(),
            route::decompress_async(params, src.at(0), 4096, dst.at(0), (0, 10), to, w, null_mut()).unwrap_err(),
            batch::decompress_async(params, &items, to, w, null_mut()).unwrap_err(),
        ]
    };
    let told = |errors: [sleek::Error; 3], kind: Kind, words: &[&str]| {
        for error in errors {
            assert_eq!(error.kind, kind, "{error}");
            assert!(words.iter().all(|word| error.message.contains(word)), "{error}: no {words:?}");
        }
    };
    let unknown = (6..=255u8).find(|id| REGISTRY.iter().all(|codec| codec.id() != *id)).unwrap();
    let params = Params { codec: unknown, ..Params::new(DType::F32) };
    let name = format!("codec {unknown} is unknown");
    told(compress(&params, 10), Kind::InvalidArgument, &[&name]);
    told(restore(&params), Kind::InvalidArgument, &[&name]);
    for codec in REGISTRY {
        let can = codec.capabilities();
        let params = Params { codec: codec.id(), ..Params::new(can.dtypes[0]) };
        for dtype in DType::ALL.into_iter().filter(|dtype| !can.dtypes.contains(dtype)) {
            let params = Params { dtype, ..params.clone() };
            told(compress(&params, 10), Kind::UnsupportedType, &[codec.name(), dtype.name()]);
            told(restore(&params), Kind::UnsupportedType, &[codec.name(), dtype.name()]);
        }
        for mode in [Mode::Abs, Mode::Noa, Mode::Rel].into_iter().filter(|mode| !can.modes.contains(mode)) {
            let params = params.clone().with_bound(Bound::new(mode, 0.1).unwrap());
            told(compress(&params, 10), Kind::InvalidArgument, &[codec.name(), mode.name()]);
        }
        let crooked = Params { dims: dims(&[3, 4]), ..params.clone() };
        told(compress(&crooked, 13), Kind::InvalidArgument, &["dimensions 3x4 are 12 elements; the array has 13"]);
        if can.rank > 1 && can.rank < 32 {
            let deep = Params { dims: dims(&vec![1; can.rank + 1]), ..params.clone() };
            let ranks = [can.rank, can.rank + 1].map(|n| n.to_string());
            if sleek::codec::layout(&deep, 1).is_err() {
                told(compress(&deep, 1), Kind::InvalidArgument, &[codec.name(), &ranks[0], &ranks[1]]);
            }
        }
        // A box of another number of dimensions, and a stream whose codec nobody knows.
        let shape = [&[70][..], &[7, 10]][can.rank.min(2) - 1];
        let params = Params { dims: dims(shape), ..params };
        let mut stream = sleek::compress(&params, &array("walk", &params, 3)).unwrap();
        let there = shim.upload(0, &stream, 0);
        let deep = vec![0; shape.len() + 1];
        let wrong = unsafe {
            route::decompress_coarse(
                (there.at(0), stream.len()),
                0,
                Some((&deep, &deep)),
                (dst.at(0), 4096),
                null_mut(),
            )
        };
        let error = wrong.unwrap_err();
        assert_eq!(error.kind, Kind::InvalidArgument, "{error}");
        stream[8] = unknown;
        seal_header(&mut stream);
        let there = shim.upload(0, &stream, 0);
        let wrong = unsafe {
            route::decompress(Device::Auto, there.at(0), stream.len(), None, dst.at(0), 4096, null_mut()).unwrap_err()
        };
        assert_eq!(wrong.kind, Kind::UnsupportedFormat);
        assert!(wrong.message.contains(&format!("codec {unknown} ")), "{wrong}");
    }
}

/// Kernels look at the codec, its word, the geometry and the section of a stream of no elements too.
#[test]
fn empty_streams_are_checked_as_by_the_cpu() {
    let (shim, _turn) = Shim::get();
    let mut refused = 0;
    for params in plain_requests() {
        let can = sleek::codec::by_id(params.codec).unwrap().capabilities();
        for lens in [&[0u64][..], &[0, 7]].into_iter().filter(|lens| lens.len() <= can.rank) {
            let params = Params { dims: dims(lens), ..params.clone() };
            let empty = sleek::compress(&params, &[]).unwrap();
            let header = sleek::container::Header::read(&empty).unwrap().layout.header_bytes;
            let behind = 64 + 16 + if lens.len() > 1 { 8 * lens.len() } else { 0 };
            let places = [8].into_iter().chain(12..16).chain(68..71).chain(behind..header).filter(|at| *at < header);
            for (at, value) in places.flat_map(|at| [0, 1, 2, 3, 5, 9, 14, 0x80, 0xff].map(|value| (at, value))) {
                let mut changed = empty.clone();
                changed[at] = value;
                if sleek::container::Header::peek(&changed, changed.len() as u64).is_err() {
                    continue;
                }
                seal_header(&mut changed);
                let by_cpu = sleek::decompress(&changed);
                let (src, dst) = (shim.upload(0, &changed, 0), shim.allocate(0, 64));
                let by_gpu = unsafe {
                    route::decompress(Device::Auto, src.at(0), changed.len(), None, dst.at(0), 0, null_mut())
                };
                assert_eq!(
                    by_gpu.is_err(),
                    by_cpu.is_err(),
                    "{params:?}: byte {at} is {value}: {by_cpu:?}, {by_gpu:?}"
                );
                refused += usize::from(by_gpu.is_err());
            }
        }
    }
    assert!(refused > 100, "{refused}");
}
