//! Mutations of a corpus without a fuzzer, which sees no coverage and is many times as quick:
//! plain TARGET EXECUTIONS SECONDS SEED FILE FOLDER... FILE has the input that it is at, so that one that ends the
//! process is not lost. Inputs that take long are taken less often than quick ones: a fuzzer gathers long arrays, of
//! which a hundredth part is enough.
//! Prints how many executions it made, less those whose request was refused, so that no array was coded; then how many
//! those were, and of the arrays how many had less than 256, 2048 and 16384 bytes, and more.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, Instant};

use sleek_fuzz::mutations::{MOST_BYTES, files, mutated};
use sleek_fuzz::targets::{self, Counts};
use sleek_fuzz::vectors::Random;

fn main() {
    keep_memory();
    let arguments: Vec<String> = std::env::args().collect();
    let [_, target, executions, seconds, seed, file, folders @ ..] = &arguments[..] else {
        panic!("plain TARGET EXECUTIONS SECONDS SEED FILE FOLDER...");
    };
    let (_, run) = *targets::ALL.iter().find(|(name, _)| name == target).expect("a target");
    let [executions, seconds, seed] = [executions, seconds, seed].map(|n| n.parse::<u64>().expect("a number"));
    let mut seeds: Vec<Vec<u8>> = folders.iter().flat_map(|folder| files(Path::new(folder))).collect();
    seeds.retain(|bytes| !bytes.is_empty());

    let current = std::fs::File::options().read(true).write(true).create(true).truncate(true).open(file).unwrap();
    current.set_len(MOST_BYTES as u64 + 8).unwrap();
    // SAFETY: the file is that long, and nobody else's.
    let room = unsafe {
        let (len, access) = (MOST_BYTES + 8, libc::PROT_READ | libc::PROT_WRITE);
        let start = libc::mmap(std::ptr::null_mut(), len, access, libc::MAP_SHARED, current.as_raw_fd(), 0);
        assert_ne!(start, libc::MAP_FAILED);
        std::slice::from_raw_parts_mut(start.cast::<u8>(), len)
    };
    let mut try_one = |bytes: &[u8]| {
        // The length stands first.
        room[..8].copy_from_slice(&bytes.len().to_le_bytes());
        room[8..8 + bytes.len()].copy_from_slice(bytes);
        let start = Instant::now();
        run(bytes);
        start.elapsed()
    };
    let seeds = by_time(&seeds, &mut try_one);
    targets::take_counts();
    let (start, mut random, mut made, mut counts) = (Instant::now(), Random(seed), 0, Counts::default());
    while made < executions && start.elapsed().as_secs() < seconds {
        (0..256).for_each(|_| _ = try_one(&mutated(&mut random, &seeds)));
        let of_some = targets::take_counts();
        made += 256 - of_some.refused;
        counts.refused += of_some.refused;
        counts.coded.iter_mut().zip(of_some.coded).for_each(|(sum, some)| *sum += some);
    }
    let Counts { refused, coded: [least, short, middle, long] } = counts;
    println!("{made} {refused} {least} {short} {middle} {long}");
}

/// Each seed as often as its time allows: one to `MOST` times, the quicker half most often; those that are refused
/// once.
fn by_time<'a>(seeds: &'a [Vec<u8>], mut time: impl FnMut(&[u8]) -> Duration) -> Vec<&'a [u8]> {
    const MOST: u128 = 128;
    // The first time warms up.
    let mut taken = |seed: &&Vec<u8>| {
        time(seed);
        targets::take_counts().refused == 0
    };
    let (taken, refused): (Vec<_>, Vec<_>) = seeds.iter().partition(|seed| taken(seed));
    let times: Vec<u128> = taken.iter().map(|seed| time(seed).min(time(seed)).as_nanos().max(1)).collect();
    let mut sorted = times.clone();
    sorted.sort();
    let quick = sorted[sorted.len() / 2];
    let often = |time: &u128| (MOST * quick / time).clamp(1, MOST) as usize;
    let taken = taken.iter().zip(&times).flat_map(|(seed, time)| std::iter::repeat_n(&seed[..], often(time)));
    taken.chain(refused.iter().map(|seed| &seed[..])).collect()
}

/// Blocks up to a megabyte that were freed are kept for their thread by size, a power of two: for the many that an
/// execution takes malloc needs a tenth of the time.
struct Kept;

#[global_allocator]
static KEPT: Kept = Kept;

thread_local! {
    /// The first free block of each size, each of which begins with the address of the next.
    static FREE: [Cell<*mut u8>; 21] = const { [const { Cell::new(std::ptr::null_mut()) }; 21] };
}

impl Kept {
    /// The logarithm of the size of such a block, if it is one.
    fn size_log2(layout: Layout) -> Option<usize> {
        (layout.size() <= 1 << 20 && layout.align() <= 16)
            .then(|| layout.size().max(32).next_power_of_two().ilog2() as usize)
    }
}

// SAFETY: a block is in one list or in use; each is as long and as aligned as System made it for this size.
unsafe impl GlobalAlloc for Kept {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the layout is the caller's, or one of a power of two bytes; a block in a list begins with an address.
        unsafe {
            let Some(log2) = Self::size_log2(layout) else { return System.alloc(layout) };
            FREE.with(|free| match free[log2].get() {
                block if block.is_null() => System.alloc(Layout::from_size_align_unchecked(1 << log2, 16)),
                block => {
                    free[log2].set(block.cast::<*mut u8>().read());
                    block
                }
            })
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block is the caller's, who gives it up, and has room for an address.
        unsafe {
            let Some(log2) = Self::size_log2(layout) else { return System.dealloc(block, layout) };
            FREE.with(|free| block.cast::<*mut u8>().write(free[log2].replace(block)));
        }
    }
}

/// Memory that was freed is kept: an array's pages would come anew from the system at each execution.
fn keep_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: takes two numbers.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 30);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 1 << 30);
    }
}
