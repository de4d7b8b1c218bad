//! Coding takes no memory for each chunk or tile: a call that codes three times as many asks for memory as often. And a
//! thread takes no more than it is said to.

mod common;
mod vectors;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use sleek::exec::ExecOptions;
use sleek::route::cpu;
use sleek::{Bound, DType, MissingValues, Params, Profile};
use vectors::requests::{dims, requests};

thread_local! {
    /// How often this thread asked for memory.
    static ASKED: Cell<usize> = const { Cell::new(0) };
    /// Bytes that it has more than it had at first, and the most that it had.
    static HELD: Cell<[isize; 2]> = const { Cell::new([0; 2]) };
}

/// Notes that this thread has so many bytes more.
fn hold(bytes: isize) {
    let [held, most] = HELD.get();
    HELD.set([held + bytes, most.max(held + bytes)]);
}

struct Counting;

// SAFETY: what the system's allocator does, counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.set(ASKED.get() + 1);
        hold(layout.size() as isize);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        hold(-(layout.size() as isize));
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        ASKED.set(ASKED.get() + 1);
        hold(bytes as isize - layout.size() as isize);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(at, layout, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn asked(call: impl FnOnce()) -> usize {
    let before = ASKED.get();
    call();
    ASKED.get() - before
}

/// Elements of a piece, in which data are of one kind. That is a tile of codec interp.
const PIECE: usize = 128 * 128;

/// How often each call asks for memory for so many pieces, in which data of every kind take turns, every other one with
/// `mark` among them.
fn calls(params: &Params, pieces: usize, mark: Option<u64>) -> [usize; 5] {
    let params = Params { dims: dims(&[128 * pieces as u64, 128]), ..params.clone() };
    let (size, count) = (params.dtype.size(), params.dims.count() as usize);
    let mut words = Vec::new();
    for (k, generator) in vectors::GENERATORS.iter().cycle().take(pieces).enumerate() {
        words.extend(vectors::words(generator, params.dtype, k as u64, PIECE));
        if let (Some(mark), 1) = (mark, k % 2) {
            words[k * PIECE..].iter_mut().step_by(97).for_each(|word| *word = mark);
        }
    }
    let data = vectors::to_bytes(params.dtype, &words, params.big_endian);
    let mut stream = vec![0; sleek::compress_bound(&params, count).unwrap()];
    let (mut back, mut bytes) = (vec![0; data.len()], 0);
    let options = ExecOptions::threads(params.threads);
    let compress = asked(|| bytes = cpu::Request::new(&params).unwrap().compress(&data, &mut stream, options).unwrap());
    let stream = &stream[..bytes];
    let decompress = asked(|| assert_eq!(cpu::decompress_into(stream, &mut back, options).unwrap(), data.len()));
    let range = asked(|| sleek::decompress_range_into(stream, 1, count - 2, &mut back[..(count - 2) * size]).unwrap());
    let lens = [128 * pieces as u64 - 2, 126];
    let room = lens.iter().product::<u64>() as usize * size;
    let a_box = asked(|| sleek::decompress_box_into(stream, &[1, 1], &lens, &mut back[..room]).unwrap());
    let coarse = asked(|| assert!(sleek::decompress_coarse_into(stream, 1, None, &mut back).unwrap() > 0));
    [compress, decompress, range, a_box, coarse]
}

#[test]
fn a_call_asks_as_often_for_many_tiles_as_for_few() {
    // SAFETY: no other thread looks at variables.
    unsafe { std::env::set_var("SLEEK_NUM_THREADS", "1") };
    let every = if common::short() { 3 } else { 1 };
    let (few, many) = (vectors::GENERATORS.len(), 3 * vectors::GENERATORS.len());
    let mut checked = [0; 6];
    for (k, (codec, params)) in requests().enumerate().filter(|(k, _)| k % every == 0) {
        let profiles = if codec.profiles().is_empty() { &[Profile::Adaptive] } else { codec.profiles() };
        for (profile, mark) in profiles.iter().flat_map(|profile| [(profile, None), (profile, Some(-77.0))]) {
            let missing = MissingValues::number(mark);
            let params = Params { profile: *profile, missing, threads: 1, big_endian: k % 2 == 1, ..params.clone() };
            let Ok(bits) = missing.of_type(params.dtype) else { continue };
            if sleek::compress_bound(&params, few * PIECE).is_err() {
                continue;
            }
            let mark = bits.bits().first().copied();
            // What is set up once in a process.
            calls(&params, 1, mark);
            let (of_few, of_many) = (calls(&params, few, mark), calls(&params, many, mark));
            // Buffers of zfp-rs grow when a longer block comes, those of codec interp with what its first tiles are.
            let grown = if ["zfp", "interp"].contains(&codec.name()) { 4 } else { 0 };
            let none_asks_more = of_few.iter().zip(&of_many).all(|(few, many)| *many <= few + grown);
            assert!(
                none_asks_more,
                "{params:?}: compress, decompress, range, box, preview ask {of_few:?}, then {of_many:?}"
            );
            // Where missing values are found in the end an array is encoded twice.
            assert!(of_few.iter().all(|n| *n < 200), "{params:?}: {of_few:?}");
            checked[usize::from(codec.id()).min(5)] += 1;
        }
    }
    assert!([1, 3, 5].iter().all(|id| checked[*id] >= 5), "{checked:?}");
}

/// The most KiB that a new thread has beside the array and the stream while it compresses, and while it decompresses.
fn most_held(params: &Params) -> [usize; 2] {
    std::thread::scope(|scope| scope.spawn(|| most_held_here(params)).join().expect("a thread that measures"))
}

fn most_held_here(params: &Params) -> [usize; 2] {
    let count = params.dims.count() as usize;
    let mut words = Vec::new();
    for (k, generator) in vectors::GENERATORS.iter().cycle().take(count.div_ceil(PIECE)).enumerate() {
        words.extend(vectors::words(generator, params.dtype, k as u64, PIECE));
    }
    let data = vectors::to_bytes(params.dtype, &words[..count], params.big_endian);
    let mut stream = vec![0; sleek::compress_bound(params, count).unwrap()];
    let (mut back, mut bytes) = (vec![0; data.len()], 0);
    let options = ExecOptions::threads(1);
    let most = |call: &mut dyn FnMut()| {
        HELD.set([0; 2]);
        call();
        HELD.get()[1] as usize / 1024
    };
    let compress =
        most(&mut || bytes = cpu::Request::new(params).unwrap().compress(&data, &mut stream, options).unwrap());
    let decompress = most(&mut || {
        cpu::decompress_into(&stream[..bytes], &mut back, options).unwrap();
    });
    [compress, decompress]
}

/// KiB that a thread takes to compress, without and with missing values, and to decompress. A tile of 16384 words takes
/// 64 KiB, or 128; an encoder has elements, numbers, codes, multiples and levels of it, and some of them twice.
const MOST_HELD: [(DType, [usize; 3]); 2] = [(DType::F32, [2300, 2492, 1112]), (DType::F64, [3020, 3412, 1240])];

#[test]
fn a_thread_of_codec_interp_takes_little_memory() {
    // SAFETY: no other thread looks at variables.
    unsafe { std::env::set_var("SLEEK_NUM_THREADS", "1") };
    for (dtype, [plain, with_missing, to_read]) in MOST_HELD {
        for lens in [&[64, 96, 80][..], &[700, 700], &[500_000], &[4096, 3]] {
            for bound in [Bound::Abs(1e-3), Bound::Lossless, Bound::Rel(1e-3)] {
                for (missing, to_write) in [(None, plain), (Some(-77.0), with_missing)] {
                    let params = Params { profile: Profile::Small, dims: dims(lens), threads: 1, ..Params::new(dtype) };
                    let params = Params { missing: MissingValues::number(missing), ..params.with_bound(bound) };
                    let held = most_held(&params);
                    println!("{dtype:?} {lens:?} {bound:?} {missing:?}: {held:?} KiB");
                    assert!(held[0] <= to_write && held[1] <= to_read, "{dtype:?} {lens:?} {bound:?}: {held:?} KiB");
                    // What is measured is what a tile takes.
                    assert!(held[0] > 512 && held[1] > 128, "{dtype:?} {lens:?} {bound:?}: {held:?} KiB");
                }
            }
        }
    }
}
