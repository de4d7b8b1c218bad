//! Neither the number of threads nor the room for the stream changes a byte of it, and ranges of many chunks decode to
//! their part.

use crate::{common, vectors};
use sleek::container::{Header, Index};
use sleek::exec::ExecOptions;
use sleek::route::cpu;
use sleek::{Bound, DType, Dims, Kind, Mode, Params, Profile};

/// Data of every character in turn, so that chunks differ in kind and size.
fn mixed(dtype: DType, bytes: usize) -> Vec<u8> {
    let mut data = Vec::new();
    for (i, generator) in vectors::GENERATORS.iter().cycle().enumerate() {
        if data.len() >= bytes {
            break;
        }
        data.extend(vectors::bytes(generator, dtype, i as u64, 3 * 16384 / dtype.size() + 100, false));
    }
    data.truncate(bytes / dtype.size() * dtype.size());
    data
}

/// Sizes around those at which the work is shared out: a chunk, a unit, a group, a thread's least share; and that from
/// which results go past the caches.
fn sizes() -> Vec<usize> {
    let kib = [16, 64, 128, 256, 512, 1024, 1280, 3 << 10, 4 << 10, 6 << 10, 16 << 10];
    let most = if common::short() { 4 << 10 } else { 16 << 10 };
    let marks = kib.into_iter().filter(|kib| *kib <= most).map(|kib| kib << 10);
    let around = |mark| if common::short() && mark > 2 << 20 { vec![mark + 8] } else { vec![mark - 8, mark, mark + 8] };
    marks.flat_map(around).collect()
}

fn cases() -> Vec<Params> {
    vec![
        Params::new(DType::F32).with_bound(Bound::Abs(1e-3)),
        Params::new(DType::F64).with_bound(Bound::Rel(1e-6)),
        Params::new(DType::F32).with_bound(Bound::noa(1e-4)),
        Params::new(DType::U8),
        Params { profile: Profile::Small, ..Params::new(DType::F32).with_bound(Bound::Abs(1e-3)) },
    ]
}

fn read_at_once(threads: u32) -> ExecOptions {
    ExecOptions { read_at_once: true, ..ExecOptions::threads(threads) }
}

#[test]
fn neither_threads_nor_caches_change_a_byte() {
    for params in cases() {
        for size in sizes() {
            let data = mixed(params.dtype, size);
            let with = |threads| sleek::compress(&Params { threads, ..params.clone() }, &data).unwrap();
            let one = with(1);
            for threads in [2, 7, 0] {
                assert!(with(threads) == one, "{threads} threads on {size} bytes of {:?}", params.dtype);
            }
            let back = sleek::decompress(&one).unwrap();
            for options in [1, 2, 3, 7].map(ExecOptions::threads).into_iter().chain([1, 3].map(read_at_once)) {
                let mut again = vec![0xA5; data.len()];
                cpu::decompress_into(&one, &mut again, options).unwrap();
                assert!(again == back, "{options:?} decoding {size} bytes of {:?}", params.dtype);
            }
            for options in [1, 3].map(read_at_once) {
                let mut again = vec![0xA5; sleek::compress_bound(&params, data.len() / params.dtype.size()).unwrap()];
                let bytes = cpu::Request::new(&params).unwrap().compress(&data, &mut again, options).unwrap();
                assert!(again[..bytes] == one, "{options:?} encoding {size} bytes of {:?}", params.dtype);
            }
        }
    }
}

/// Every codec of the registry with arrays of each rank that it makes use of, so that there are tiles to share.
#[test]
fn threads_change_no_byte_of_any_codec() {
    for codec in sleek::codec::REGISTRY {
        let (can, id, name) = (codec.capabilities(), codec.id(), codec.name());
        let shapes: [&[u64]; 4] = [&[150_001], &[390, 385], &[52, 53, 54], &[19, 20, 20, 20]];
        for (k, lens) in shapes.into_iter().filter(|lens| lens.len() <= can.rank.max(1)).enumerate() {
            for bound in [Bound::Lossless, Bound::Abs(1e-3), Bound::noa(1e-4), Bound::Rate(11.0)] {
                let dtype = [DType::F32, DType::F64][k % 2];
                if !can.modes.contains(&bound.mode()) || !can.dtypes.contains(&dtype) {
                    continue;
                }
                let mut params = Params { codec: id, ..Params::new(dtype).with_bound(bound) };
                params.dims = Dims::new(lens).unwrap();
                let data = mixed(dtype, params.dims.count() as usize * dtype.size());
                let with = |threads| sleek::compress(&Params { threads, ..params.clone() }, &data).unwrap();
                let one = with(1);
                let back = sleek::decompress(&one).unwrap();
                for threads in 2..8 {
                    assert!(with(threads) == one, "{threads} threads of {name} with {lens:?}, {bound:?}");
                    let mut again = vec![0xA5; data.len()];
                    cpu::decompress_into(&one, &mut again, ExecOptions::threads(threads)).unwrap();
                    assert!(again == back, "{threads} threads decoding {name} with {lens:?}, {bound:?}");
                }
            }
        }
    }
}

/// The bodies of a stream.
fn bodies(stream: &[u8]) -> Vec<Vec<u8>> {
    let header = Header::read(stream).unwrap();
    let index = Index::new(&header, stream).unwrap();
    (0..header.layout.groups).flat_map(|g| index.chunks(g)).map(|chunk| chunk.body.bytes().to_vec()).collect()
}

/// Neither what is around a chunk in memory nor where it begins there: an encoder reads words where they are if it can.
#[test]
fn what_is_around_a_chunk_changes_no_byte_of_it() {
    let lossless = DType::ALL.map(Params::new);
    let fast = lossless.iter().map(|params| Params { profile: Profile::Fast, ..params.clone() });
    // A bound by the range would be another one for each chunk alone, and other values would stand apart there; tiles
    // of codec interp are longer.
    let bounded =
        cases().into_iter().filter(|params| params.bound.mode() != Mode::Noa && params.profile != Profile::Small);
    let bounded = bounded.map(|params| Params { find_fill: None, ..params });
    for params in lossless.iter().cloned().chain(fast).chain(bounded) {
        for (seed, generator) in vectors::GENERATORS.iter().enumerate() {
            let count = 3 * 16384 / params.dtype.size() + 77;
            let data = vectors::bytes(generator, params.dtype, seed as u64, count, false);
            let whole = sleek::compress(&params, &data).unwrap();
            let alone: Vec<Vec<u8>> =
                data.chunks(16384).flat_map(|chunk| bodies(&sleek::compress(&params, chunk).unwrap())).collect();
            assert!(bodies(&whole) == alone, "{generator:?} of {:?}", params.dtype);
            for offset in [1, 2, 4] {
                let moved = [&vec![0x5A; offset], &data[..]].concat();
                let again = sleek::compress(&params, &moved[offset..]).unwrap();
                assert!(again == whole, "{generator:?} of {:?}, {offset} bytes further", params.dtype);
            }
        }
    }
}

/// Calls that share a pool, that ask for different numbers of threads, and that need none.
#[test]
fn calls_from_many_threads_do_not_disturb_each_other() {
    let params = &cases()[0];
    let data = mixed(params.dtype, 5 << 20);
    let expected = sleek::compress(&Params { threads: 1, ..params.clone() }, &data).unwrap();
    let back = sleek::decompress(&expected).unwrap();
    std::thread::scope(|scope| {
        for caller in 0..6 {
            let (data, expected, back) = (&data, &expected, &back);
            scope.spawn(move || {
                for round in 0..6 {
                    let threads = 1 + (caller + round) % 4;
                    let stream = sleek::compress(&Params { threads, ..params.clone() }, data).unwrap();
                    assert!(stream == *expected, "{threads} threads for caller {caller}");
                    let mut again = vec![0xA5; data.len()];
                    cpu::decompress_into(&stream, &mut again, ExecOptions::threads(threads)).unwrap();
                    assert!(again == *back, "{threads} threads decoding for caller {caller}");
                }
            });
        }
    });
}

/// An array that goes past the caches, where whole lines are put together from several bodies: wherever the stream
/// begins in a line, its bytes are the same, and with any room nothing beyond it is written.
#[test]
fn a_large_stream_begins_and_ends_anywhere_in_a_line() {
    const GUARD: u8 = 0x5A;
    let params = &cases()[0];
    let mut data = mixed(params.dtype, 16 << 20);
    // Bodies of 16 bytes, of which several share a line, at the beginning, in between and at the end.
    for start in [0, 5 << 20, (16 << 20) - (90 << 10)] {
        data[start..start + (90 << 10)].fill(0);
    }
    let at_once = ExecOptions { read_at_once: true, ..ExecOptions::threads(1) };
    let bound = sleek::compress_bound(params, data.len() / params.dtype.size()).unwrap();
    let mut buffer = vec![GUARD; bound + 256];
    let n = cpu::Request::new(params).unwrap().compress(&data, &mut buffer, at_once).unwrap();
    let stream = buffer[..n].to_vec();
    for threads in [1, 3] {
        let places = (0..64).map(|offset| (offset, n)).chain((1..80).map(|less| (less % 64, n - less)));
        // With a step that shares no divisor with a line's 64 bytes.
        for (offset, room) in places.step_by(if common::short() { 7 } else { 3 }) {
            buffer.fill(GUARD);
            let dst = &mut buffer[offset..offset + room];
            match cpu::Request::new(params).unwrap().compress(&data, dst, ExecOptions::threads(threads)) {
                Ok(written) => assert!(room == n && dst[..written] == stream[..], "{offset} {threads}"),
                Err(error) => assert!(room < n && error.kind == Kind::BufferTooSmall, "{offset} {room} {error}"),
            }
            let around = buffer[..offset].iter().chain(&buffer[offset + room..]);
            assert!(around.copied().all(|byte| byte == GUARD), "{offset} {room} {threads}");
        }
    }
    // Codec interp leaves lines to those who come after it.
    let small = &cases()[4];
    let [past, at_once] = [ExecOptions::threads(1), at_once].map(|options| {
        let n = cpu::Request::new(small).unwrap().compress(&data, &mut buffer, options).unwrap();
        buffer[..n].to_vec()
    });
    assert!(past == at_once);
}
