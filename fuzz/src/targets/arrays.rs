//! Compressed arrays: boxes read and written in any order; what is refused changes nothing; blocks say the same to any
//! array of the kind; a forked child reads what its parent has, or is told why it cannot, and never hangs.

use super::Input;
use sleek::codec::zfp::array::CompressedArray;
use sleek::codec::zfp::format::CODEC_ZFP;
use sleek::{Bound, DType, Dims, Params};

/// Elements of a box from the fuzzer's bytes: whole numbers, and now and then something that a block cannot hold.
fn elements(dtype: DType, count: usize, input: &mut Input) -> Vec<u8> {
    let (scale, seed) = (f64::from(input.u8()), input.u8());
    let odd = if input.u8() == 0 { [f64::NAN, f64::INFINITY][usize::from(seed % 2)] } else { 1.0 };
    let value = |i: usize| scale * f64::from((i as u8).wrapping_mul(seed)) + if i + 1 == count { odd } else { 0.0 };
    (0..count).flat_map(|i| dtype.nearest(value(i)).to_le_bytes()[..dtype.size()].to_vec()).collect()
}

/// A box within dimensions, or now and then outside.
fn place(lens: &[u64], input: &mut Input) -> (Vec<u64>, Vec<u64>) {
    let beyond = u64::from(input.u8() == 0);
    let one = |len: &u64| {
        let start = u64::from(input.u8()) % len;
        (start, 1 + u64::from(input.u8()) % (len - start) + beyond * len)
    };
    lens.iter().map(one).unzip()
}

fn whole(array: &CompressedArray, lens: &[u64], bytes: usize) -> Vec<u8> {
    let mut all = vec![0; bytes];
    array.read(&vec![0; lens.len()], lens, &mut all).unwrap();
    all
}

/// All blocks. Elements would not do: those in the cache are as they were written, until others take their place.
fn blocks_of(array: &CompressedArray) -> Vec<u64> {
    let mut blocks = Vec::new();
    let copy = |words: &[u64]| {
        blocks.extend_from_slice(words);
        Ok(())
    };
    array.blocks_as_they_are(copy).unwrap();
    blocks
}

/// A child reads and writes all, while another thread of its parent may be inside the array at the fork.
fn fork(array: &CompressedArray, lens: &[u64], expected: &[u8]) {
    let (start, mut part) = (vec![0; lens.len()], vec![0; expected.len()]);
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let busy = scope.spawn(|| {
            let mut own = vec![0; expected.len()];
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                array.read(&vec![0; lens.len()], lens, &mut own).unwrap();
            }
        });
        // SAFETY: the child calls the array and ends, without the runtime of its parent.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: of this process alone. A child that hangs ends by a signal, which its parent sees.
            unsafe { libc::alarm(20) };
            let right = match array.read(&start, lens, &mut part) {
                Ok(_) => part == expected && array.write(&start, lens, &part).is_ok() && array.flush().is_ok(),
                Err(error) => error.message.contains("forked"),
            };
            // SAFETY: nothing of the parent's is to be finished here.
            unsafe { libc::_exit(if right { 0 } else { 1 }) };
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        busy.join().unwrap();
        let mut status = -1;
        // SAFETY: a child of this process.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0, "the child's array");
    });
}

/// Runs the target.
pub fn run(bytes: &[u8]) {
    let mut input = Input(bytes);
    let [kind, rank, rate, cache, forks] = input.bytes();
    let dtype = [DType::F32, DType::F64][usize::from(kind % 2)];
    let rank = 1 + usize::from(rank % 4);
    let lens: Vec<u64> = (0..rank).map(|_| 1 + u64::from(input.u8()) % [200, 30, 9, 6][rank - 1]).collect();
    let count = lens.iter().product::<u64>() as usize;
    let params = Params {
        codec: CODEC_ZFP,
        bound: Bound::Rate(1.0 + f64::from(rate % 64) / 2.0),
        dims: Dims::new(&lens).unwrap(),
        ..Params::new(dtype)
    };
    let Ok(array) = CompressedArray::new(&params, 1 + usize::from(cache) * 16) else {
        assert!(sleek::codec::chosen(&params).is_err(), "{params:?}");
        return;
    };
    let size = dtype.size();
    while !input.0.is_empty() {
        let operation = input.u8();
        let (start, part) = place(&lens, &mut input);
        let bytes = part.iter().product::<u64>() as usize * size;
        let inside = start.iter().zip(&part).zip(&lens).all(|((start, part), len)| start + part <= *len);
        match operation % 4 {
            0 => {
                let before = blocks_of(&array);
                let data = elements(dtype, bytes / size, &mut input);
                let finite = data.chunks_exact(size).all(|b| dtype.number(word(b)).is_finite());
                let done = array.write(&start, &part, &data);
                assert_eq!(done.is_ok(), inside && finite, "{lens:?}: {part:?} from {start:?}: {done:?}");
                if done.is_err() {
                    assert!(blocks_of(&array) == before, "a refused write changes nothing");
                }
            }
            1 => array.flush().unwrap(),
            2 => {
                let words = array.bytes()[0];
                assert!(array.set_blocks(words + 8, |_| panic!("asked for")).is_err());
                let before = blocks_of(&array);
                let error = || sleek::compress(&Params::new(DType::F32), &[0]).unwrap_err();
                assert!(array.set_blocks(words, |_| Err(error())).is_err());
                assert!(blocks_of(&array) == before, "refused blocks change nothing");
            }
            _ => {
                let mut own = vec![0xa5; bytes.min(1 << 20)];
                assert_eq!(array.read(&start, &part, &mut own).is_ok(), inside);
            }
        }
    }
    // Blocks are the same wherever they are read; the cache may still have what was written.
    let other = CompressedArray::new(&params, 1 << 20).unwrap();
    let blocks = blocks_of(&array);
    for array in [&other, &array] {
        let written = |words: &mut [u64]| {
            words.copy_from_slice(&blocks);
            Ok(())
        };
        array.set_blocks(8 * blocks.len(), written).unwrap();
    }
    let expected = whole(&other, &lens, count * size);
    assert!(whole(&array, &lens, count * size) == expected, "{params:?}: the blocks are read in two ways");
    assert!(blocks_of(&other) == blocks, "{params:?}: reading changes blocks");
    // Where the fuzzer watches memory its own allocator may hang a child: there tests/streams/fuzz.rs forks alone.
    #[allow(unexpected_cfgs)]
    if forks < 4 && !cfg!(fuzzing) {
        fork(&array, &lens, &expected);
    }
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}
