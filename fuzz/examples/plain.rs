//! Mutations of a corpus without a fuzzer, which sees no coverage and is many times as quick:
//! plain TARGET EXECUTIONS SECONDS SEED FILE FOLDER... prints how many it made. FILE has the input that it is at, so that
//! one that ends the process is not lost.

use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Instant;

use sleek_fuzz::mutations::{MOST_BYTES, files, mutated};
use sleek_fuzz::{targets, vectors::Random};

fn main() {
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
    let (start, mut random, mut made) = (Instant::now(), Random(seed), 0);
    while made < executions && (made % 256 != 0 || start.elapsed().as_secs() < seconds) {
        let bytes = mutated(&mut random, &seeds);
        // The length stands first.
        room[..8].copy_from_slice(&bytes.len().to_le_bytes());
        room[8..8 + bytes.len()].copy_from_slice(&bytes);
        run(&bytes);
        made += 1;
    }
    println!("{made}");
}
