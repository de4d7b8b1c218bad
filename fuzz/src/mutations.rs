//! Mutations of a corpus without a fuzzer.

use std::path::{Path, PathBuf};

use crate::vectors::Random;

/// The longest input; the fuzzer has the same limit (fuzz/run.sh).
pub const MOST_BYTES: usize = 8192;

/// The files of a folder, in the order of their names.
pub fn files(folder: &Path) -> Vec<Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect();
    paths.sort();
    let read = |path: &PathBuf| std::fs::read(path).unwrap();
    paths.iter().map(read).filter(|bytes| bytes.len() <= MOST_BYTES).collect()
}

/// An input with a few edits.
pub fn mutated(random: &mut Random, seeds: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut pick = || seeds[random.below(seeds.len() as u64) as usize].as_ref();
    let (mut bytes, other) = (pick().to_vec(), pick());
    for _ in 0..1 + random.below(4) {
        if !bytes.is_empty() {
            edit(random, &mut bytes, other);
        }
    }
    bytes
}

/// One of the edits that fuzzers make.
fn edit(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8]) {
    const NUMBERS: [u64; 8] = [0, 1, 0x7f, 0x80, 0xff, 1 << 15, u32::MAX as u64, u64::MAX];
    let len = bytes.len() as u64;
    let (from, to) = (random.below(len) as usize, random.below(len) as usize);
    let run = (1 + random.below(24) as usize).min(bytes.len() - from.max(to));
    match random.below(9) {
        0 => bytes[from] = random.next() as u8,
        1 => bytes[from] ^= 1 << random.below(8),
        2 => bytes[from] = bytes[from].wrapping_add(random.around(3) as u8),
        3 => {
            let number = NUMBERS[random.below(8) as usize].wrapping_add(random.around(1) as u64).to_le_bytes();
            let width = (1 << random.below(4)).min(bytes.len() - from);
            bytes[from..from + width].copy_from_slice(&number[..width]);
        }
        4 => bytes.copy_within(from..from + run, to),
        5 if run < bytes.len() => drop(bytes.drain(from..from + run)),
        6 => {
            let piece = bytes[from..from + run].to_vec();
            bytes.splice(to..to, piece);
        }
        7 if from > 0 => bytes.truncate(from),
        _ => {
            let run = (1 + random.below(64) as usize).min(other.len().saturating_sub(from));
            bytes.splice(from..from, other.iter().skip(from).take(run).copied());
        }
    }
    bytes.truncate(MOST_BYTES);
}
