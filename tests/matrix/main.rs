//! The matrix: every float type, byte order, profile and mode, with lengths, shapes, kinds of data, bounds and missing
//! values of every kind, written once, again, in parts or growing. Each array is judged in exact arithmetic, and its
//! streams are the same at every SIMD level.
//!
//! `cargo test --test matrix` takes the first arrays, more of them with `SLEEK_LONG=1`. With `SLEEK_MATRIX=SECONDS`
//! it takes so long, on all cores, from the array on that `SLEEK_MATRIX_FIRST` names, or one by the clock. The program
//! of the test needs nothing beside it: `SLEEK_MATRIX=3600 ./matrix-… --nocapture`.

mod cases;
#[path = "../vectors/mod.rs"]
mod vectors;

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cases::{Case, Coded};
use sleek::exec::{Isa, Level};
use vectors::levels::program;

/// Arrays that are always taken, and with `SLEEK_LONG=1`.
const FEW: u64 = 3000;
const MANY: u64 = 20_000;
/// Arrays that were not right once, beyond those.
const FOUND: [u64; 4] =
    [1_795_912_528_718_825, 179_593_247_820_052_049, 179_593_247_800_094_352, 179_595_920_640_021_584];
/// Arrays that a process of another level takes at once.
const ROUND: u64 = 20_000;
/// The arrays that a process is to take, as `FIRST..END`.
const ARRAYS: &str = "SLEEK_MATRIX_ARRAYS";

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text}: a whole number is needed")))
}

/// Writes and judges array `seed`; a hash of all streams, and of what came back.
fn checked(seed: u64) -> Result<u64, String> {
    let mut hasher = DefaultHasher::new();
    let case = Case::new(seed);
    let coded = case.run(&mut |params, data| {
        let stream = sleek::compress(params, data).map_err(|e| format!("is refused: {e}"))?;
        let back = sleek::decompress(&stream).map_err(|e| format!("does not come back: {e}"))?;
        let abs_bound = sleek::inspect(&stream).map_err(|e| e.to_string())?.abs_bound;
        (&stream, &back).hash(&mut hasher);
        Ok(Coded { back, abs_bound })
    });
    coded.map_err(|what| format!("array {seed}, {}: {what}", case.name()))?;
    Ok(hasher.finish())
}

/// The hashes of arrays, in their order; panics with all that is wrong. On all cores.
fn all_checked(seeds: Range<u64>) -> Vec<u64> {
    let (next, wrong) = (AtomicU64::new(seeds.start), Mutex::new(Vec::new()));
    let work = || {
        let mut hashes = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return hashes;
            }
            match std::panic::catch_unwind(|| checked(seed)) {
                Ok(Ok(hash)) => hashes.push((seed, hash)),
                Ok(Err(what)) => wrong.lock().unwrap().push(what),
                Err(_) => wrong.lock().unwrap().push(format!("array {seed}, {}: a panic", Case::new(seed).name())),
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let mut hashes = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} arrays are not right:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
    hashes.sort_unstable();
    hashes.into_iter().map(|(_, hash)| hash).collect()
}

/// What a process at a lower level is asked for.
#[test]
#[ignore = "is called by the_matrix"]
fn arrays_of_a_level() {
    let text = std::env::var(ARRAYS).expect("arrays");
    let (first, end) = text.split_once("..").expect("FIRST..END");
    let hashes = all_checked(first.parse().unwrap()..end.parse().unwrap());
    hashes.into_iter().for_each(|hash| println!("hash {hash:016x}"));
}

/// The hashes of arrays at another level.
fn at_level(level: Level, seeds: &Range<u64>) -> Vec<u64> {
    let mut command = program(std::env::current_exe().unwrap());
    command.args(["arrays_of_a_level", "--exact", "--ignored", "--nocapture"]);
    let output = command
        .env("SLEEK_SIMD", level.name())
        .env(ARRAYS, format!("{}..{}", seeds.start, seeds.end))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "at level {}:\n{text}{error}", level.name());
    let hash = |line: &str| line.split_once("hash ").map(|(_, hash)| u64::from_str_radix(hash, 16).unwrap());
    text.lines().filter_map(hash).collect()
}

/// Checks arrays at every level.
fn round(seeds: Range<u64>) {
    let best = all_checked(seeds.clone());
    for level in Level::ALL.into_iter().filter(|level| *level < Isa::best().level() && level.is_available()) {
        let other = at_level(level, &seeds);
        assert_eq!(other.len(), best.len());
        let differ: Vec<String> = (seeds.clone().zip(best.iter().zip(other)))
            .filter(|(_, (best, other))| **best != *other)
            .map(|(seed, _)| format!("array {seed}, {}", Case::new(seed).name()))
            .collect();
        assert!(differ.is_empty(), "streams of level {} differ:\n{}", level.name(), differ.join("\n"));
    }
}

#[test]
fn the_matrix() {
    let Some(seconds) = number("SLEEK_MATRIX") else {
        let long = std::env::var_os("SLEEK_LONG").is_some_and(|v| !v.is_empty());
        FOUND.into_iter().for_each(|seed| round(seed..seed + 1));
        return round(0..if long { MANY } else { FEW });
    };
    let clock = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
    let first = number("SLEEK_MATRIX_FIRST").unwrap_or(clock * 1_000_000);
    let (begun, mut next) = (Instant::now(), first);
    while begun.elapsed() < Duration::from_secs(seconds) {
        round(next..next + ROUND);
        next += ROUND;
        println!("{} arrays from {first} on in {:.0} s", next - first, begun.elapsed().as_secs_f64());
    }
}
