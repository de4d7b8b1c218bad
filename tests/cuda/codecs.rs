//! What holds for every codec of the registry on device pointers, and knows none of them: the bytes of the CPU, by
//! kernels where there are some; whole arrays, ranges, boxes, asynchronous calls and batches; refusals by name.

use std::ptr::null_mut;

use sleek::codec::{Codec, REGISTRY};
use sleek::route::batch::{self, Item};
use sleek::{Bound, DType, Device, Kind, MissingValue, MissingValues, Mode, Params, Profile, route};

use crate::both::{Part, compare, enqueue, outcome, refused, restores, verdict};
use crate::reference::{self, builder::seal};
use crate::shim::Shim;
use crate::vectors::requests::{SHAPES, array, dims, plain_requests, requests, takes};
use crate::vectors::{self, Random};

/// Every request with arrays of shapes that its codec takes; fewer where time matters.
fn cases() -> impl Iterator<Item = (Params, Vec<u8>)> {
    let every = if crate::common::short() { 5 } else { 1 };
    let of_request = |(codec, params): (&'static dyn Codec, Params)| {
        let of_shape = move |(k, shape): (usize, &[u64])| {
            let (profiles, kind) = (codec.profiles(), k + params.dtype as usize + params.bound.mode() as usize);
            let profile = if profiles.is_empty() { params.profile } else { profiles[kind % profiles.len()] };
            let params = Params { profile, dims: dims(shape), big_endian: k % 3 == 1, ..params.clone() };
            let data = array(vectors::GENERATORS[kind % vectors::GENERATORS.len()], &params, k as u64);
            (params, data)
        };
        SHAPES.into_iter().enumerate().filter(move |(_, shape)| takes(codec, shape)).map(of_shape)
    };
    requests().flat_map(of_request).enumerate().filter(move |(k, _)| k % every == 0).map(|(_, case)| case)
}

fn count_of(params: &Params, data: &[u8]) -> usize {
    data.len() / params.dtype.size()
}

#[test]
fn device_pointers_give_the_bytes_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    for (k, (params, data)) in cases().enumerate() {
        shim.set(1 + k as u32 % 4, k as u32 % 5);
        compare(shim, &params, &data, 0, "a codec");
    }
}

/// Start and lengths of some box.
fn a_box(shape: &[u64], random: &mut Random) -> (Vec<u64>, Vec<u64>) {
    let start: Vec<u64> = shape.iter().map(|len| random.below(len + 1)).collect();
    let lens = shape.iter().zip(&start).map(|(len, start)| random.below(len - start + 1)).collect();
    (start, lens)
}

/// Ranges, and previews of the whole and of boxes, are those of the CPU, with missing values among them or without.
#[test]
fn parts_and_previews_are_those_of_the_cpu() {
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
            shim.set(1 + k as u32 % 4, s as u32 % 5);
            let first = random.below(words.len() as u64 + 1);
            let range = Part::Range(first, random.below(words.len() as u64 - first + 1) as usize);
            restores(shim, &stream, range, 0, &format!("{params:?} {generator}"));
            for level in [1, 2, 1 + random.below(8) as u32, 63, 0] {
                let (start, lens) = a_box(shape, random);
                for part in [None, Some((&start[..], &lens[..]))] {
                    let (what, offset) = (format!("{params:?} {generator}"), [0, dtype.size(), 1][s % 3]);
                    let (launched, _) = restores(shim, &stream, Part::Grid(level, part), offset, &what);
                    // Codecs of tests may leave boxes and previews to the CPU.
                    let by_kernels = refused(&params, words.len()).is_none();
                    assert!((launched > 0) == by_kernels || codec.id() > 127, "{what}: level {level} of {part:?}");
                }
            }
            let there = shim.upload(0, &stream, 0);
            let (from, ones) = ((there.at(0).cast_const(), stream.len()), vec![1; shape.len()]);
            let beyond = (Some((words.len() as u64, 1)), Some((&shape[..], &ones[..])));
            let (small, beyond) = unsafe {
                (
                    route::decompress_coarse(from, 40, None, (null_mut(), 0), null_mut()),
                    [
                        route::decompress(Device::Auto, from.0, from.1, beyond.0, null_mut(), 8, null_mut()),
                        route::decompress_coarse(from, 0, beyond.1, (null_mut(), 8), null_mut()),
                    ],
                )
            };
            assert!(beyond.into_iter().all(|error| error.unwrap_err().kind == Kind::OutOfRange), "{params:?}");
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
        shim.set(3 + k as u32, k as u32);
        for level in [0, 1, 2, 3, 7] {
            let start: Vec<u64> = shape.iter().map(|len| random.below(len / 2)).collect();
            let lens: Vec<u64> = shape.iter().zip(&start).map(|(len, at)| 1 + random.below(len - at)).collect();
            for part in [None, Some((&start[..], &lens[..]))] {
                restores(shim, &stream, Part::Grid(level, part), 0, &format!("{shape:?}"));
            }
        }
    }
}

#[test]
fn asynchronous_calls_and_batches_give_the_bytes_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    for (k, (params, data)) in cases().enumerate() {
        let count = count_of(&params, &data);
        if refused(&params, count).is_some() {
            continue;
        }
        shim.set(1 + k as u32 % 4, k as u32 % 5);
        enqueue(shim, &params, &[data.clone(), data.clone()]);
        // An array for whose stream there is no room, and a stream that is said to hold another number of elements.
        let stream = sleek::compress(&params, &data).unwrap();
        let short = sleek::codec::layout(&params, count as u64).unwrap().bodies_at();
        let (src, there, dst) = (shim.upload(0, &data, 0), shim.upload(0, &stream, 0), shim.allocate(0, short));
        let (results, workspace) = (shim.allocate(0, 16), shim.allocate(0, batch::workspace_bytes(1)));
        let (to, w) = (results.at(0), workspace.at(0));
        let item = [Item::new(src.at(0), dst.at(0), count as u64, short as u64)];
        unsafe { batch::compress_async(&params, &item, to, w, null_mut()) }.unwrap();
        let small = if stream.len() > short { (0, Kind::BufferTooSmall.code()) } else { (short, 0) };
        assert_eq!(outcome(&results, 0), small, "{params:?}");
        let item = [Item::new(there.at(0), src.at(0), count as u64 + 1, stream.len() as u64)];
        unsafe { batch::decompress_async(&params, &item, to, w, null_mut()) }.unwrap();
        assert_eq!(outcome(&results, 0), (0, Kind::OutOfRange.code()), "{params:?}");
    }
}

/// The golden streams, which have every feature of the format.
fn golden_streams() -> Vec<(String, Vec<u8>)> {
    let vectors = crate::common::root().join("tests/vectors");
    let folders = ["", "lossless", "zfp"].map(|folder| std::fs::read_dir(vectors.join(folder)).unwrap());
    let mut paths: Vec<_> = folders.into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "slk"));
    paths.sort();
    paths.into_iter().map(|path| (path.display().to_string(), std::fs::read(path).unwrap())).collect()
}

/// They come back by kernels; cut, changed, and changed behind checksums that are right again they get the CPU's
/// verdict.
#[test]
fn golden_streams_and_damage_get_the_verdict_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    let (random, mut outcomes) = (&mut Random(77), [0, 0]);
    let rounds = if crate::common::short() { 8 } else { 60 };
    for (k, (name, sound)) in golden_streams().into_iter().enumerate() {
        shim.set(1 + k as u32 % 4, k as u32 % 5);
        let (launched, back) = restores(shim, &sound, Part::Whole, 0, &name);
        // Tiles of zfp with parameters of their own are the CPU's.
        assert!(launched > 0 || sound[8] == 3, "{name}: the CPU restored it");
        let of = reference::container(&sound).unwrap();
        let (index, head) = (of.header_bytes as usize, of.bodies_at as usize);
        let (bodies, all) = (sound.len() - head, sound.len() as u64);
        let unsealed = [sound[..random.below(all) as usize].to_vec(), {
            let mut flipped = sound.clone();
            flipped[random.below(all) as usize] ^= 1 << random.below(8);
            flipped
        }];
        let sealed = (0..if bodies > 0 { rounds } else { 0 }).map(|_| {
            let mut stream = sound.clone();
            for _ in 0..1 + random.below(3) {
                // The codec's word, the index, the first bytes of bodies, which say the most, or any of them.
                let at = match random.below(8) {
                    0 => 12 + random.below(4) as usize,
                    1 => index + random.below((head - index) as u64) as usize,
                    2..5 => head + random.below(bodies.min(40) as u64) as usize,
                    _ => head + random.below(bodies as u64) as usize,
                };
                stream[at] ^= 1 << random.below(8);
            }
            seal(&mut stream);
            stream
        });
        for (round, stream) in unsealed.into_iter().chain(sealed.collect::<Vec<_>>()).enumerate() {
            let is_good = verdict(shim, &stream, back.len(), &format!("{name}, round {round}"));
            assert!(round > 1 || !is_good, "{name}: damage was not noticed");
            outcomes[usize::from(is_good)] += 1;
        }
    }
    assert!(outcomes[0] > 300 && outcomes[1] > 100, "{outcomes:?} are refused, and taken");
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
        let (from, to) = ((there.at(0).cast_const(), stream.len()), (dst.at(0), 4096));
        let error = unsafe { route::decompress_coarse(from, 0, Some((&deep, &deep)), to, null_mut()) }.unwrap_err();
        assert_eq!(error.kind, Kind::InvalidArgument, "{error}");
        stream[8] = unknown;
        seal(&mut stream);
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
                seal(&mut changed);
                refused += usize::from(!verdict(shim, &changed, 0, &format!("{params:?}: byte {at} is {value}")));
            }
        }
    }
    assert!(refused > 100, "{refused}");
}
