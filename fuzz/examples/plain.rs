//! Mutations of a corpus without a fuzzer, which sees no coverage and is many times as quick:
//! plain TARGET EXECUTIONS SECONDS SEED FILE FOLDER... prints how many it made. FILE has the input that it is at, so that
//! one that ends the process is not lost. Inputs that take long are taken less often than quick ones: a fuzzer gathers
//! long arrays, of which a hundredth part is enough.

use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, Instant};

use sleek_fuzz::mutations::{MOST_BYTES, files, mutated};
use sleek_fuzz::{targets, vectors::Random};

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
    let (start, mut random, mut made) = (Instant::now(), Random(seed), 0);
    while made < executions && (made % 256 != 0 || start.elapsed().as_secs() < seconds) {
        try_one(&mutated(&mut random, &seeds));
        made += 1;
    }
    println!("{made}");
}

/// Each seed as often as its time allows: one to `MOST` times, the quicker half most often.
fn by_time<'a>(seeds: &'a [Vec<u8>], mut time: impl FnMut(&[u8]) -> Duration) -> Vec<&'a [u8]> {
    const MOST: u128 = 16;
    // The first time warms up.
    seeds.iter().for_each(|seed| _ = time(seed));
    let times: Vec<u128> = seeds.iter().map(|seed| time(seed).min(time(seed)).as_nanos().max(1)).collect();
    let mut sorted = times.clone();
    sorted.sort();
    let quick = sorted[sorted.len() / 2];
    let often = |time: &u128| (MOST * quick / time).clamp(1, MOST) as usize;
    seeds.iter().zip(&times).flat_map(|(seed, time)| std::iter::repeat_n(&seed[..], often(time))).collect()
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
