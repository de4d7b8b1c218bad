//! Every f32 there is, through encoder and decoder, judged in exact arithmetic.
//!
//! By default some hundred thousand of the 2^32 bit patterns are tried. All of them:
//!
//! ```text
//! SLEEK_EXHAUSTIVE=1 cargo test --release --test exhaustive -- --nocapture
//! ```
//!
//! prints a row for each mode and bound, and keeps it; `SLEEK_EXHAUSTIVE=resume` goes on behind the rows of a run that was
//! interrupted. `SLEEK_EXHAUSTIVE_THREADS` sets the threads (default: all cores).

#[allow(dead_code)]
mod vectors;

use sleek::{DType, Mode, Params, Profile};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use vectors::exact;

/// Consecutive patterns that make an array of their own: 64 chunks.
const BLOCK: u64 = 1 << 18;
/// Blocks of all patterns.
const BLOCKS: u64 = (1 << 32) / BLOCK;

fn rows() -> Vec<Params> {
    let two = exact::power;
    let below = |x: f64| f64::from_bits(x.to_bits() - 1);
    let row = |mode, bound, profile| Params { profile, threads: 1, ..Params::new(DType::F32).with_bound(mode, bound) };
    let (adaptive, fast) = (Profile::Adaptive, Profile::Fast);
    let mut rows = vec![row(Mode::Lossless, 0.0, adaptive), row(Mode::Lossless, 0.0, fast)];
    let abs = [
        two(-125),        // the smallest step, 4 · 2^−126
        below(two(-125)), // too small for a step
        1e-37,
        below(two(-20)), // factor 7, the bound as far above half a step as can be
        1e-10,
        1e-3,
        1.25 * two(-4), // factor 5, half a step exactly
        0.7,
        1.0,           // factor 4
        1.5 * two(10), // factor 6
        below(two(64)),
        3.5 * two(100), // the largest step, 7 · 2^100
        3e38,
        f64::MAX,
    ];
    rows.extend(abs.iter().map(|&bound| row(Mode::Abs, bound, adaptive)));
    rows.extend([1e-37, 1e-3, 0.7, 3e38].iter().map(|&bound| row(Mode::Abs, bound, fast)));
    rows.extend([3e-8, 1e-6, two(-10), 1e-3, 0.1, 0.5].iter().map(|&bound| row(Mode::Rel, bound, adaptive)));
    rows.extend([1e-3, 0.1].iter().map(|&bound| row(Mode::Rel, bound, fast)));
    rows.push(Params { range: Some(1234.5), ..row(Mode::Noa, 1e-5, adaptive) });
    rows
}

/// What a row came to.
#[derive(Default)]
struct Totals {
    patterns: u64,
    raw_chunks: u64,
    changed: u64,
    /// The largest |v − r| as a part of what is allowed.
    worst: f64,
}

impl Totals {
    fn add(&mut self, other: &Totals) {
        self.patterns += other.patterns;
        self.raw_chunks += other.raw_chunks;
        self.changed += other.changed;
        self.worst = self.worst.max(other.worst);
    }
}

/// Buffers that a thread reuses.
struct Buffers {
    data: Vec<u8>,
    stream: Vec<u8>,
    back: Vec<u8>,
}

fn block(params: &Params, start: u64, count: u64, buffers: &mut Buffers) -> Totals {
    let Buffers { data, stream, back } = buffers;
    // The profile `fast` has no bases and would store most chunks raw; subchunks of zeros in between have them packed.
    let stride = if params.profile == Profile::Fast { 2 } else { 1 };
    data.clear();
    for first in (start..start + count).step_by(128) {
        data.extend((first..(start + count).min(first + 128)).flat_map(|pattern| (pattern as u32).to_le_bytes()));
        data.resize(data.len() + (stride - 1) * 512, 0);
    }
    stream.resize(sleek::compress_bound(params, data.len() / 4).unwrap(), 0);
    back.resize(data.len(), 0);
    let bytes = sleek::compress_into(params, data, stream).unwrap();
    sleek::decompress_into(&stream[..bytes], back).unwrap();
    let info = sleek::inspect(&stream[..bytes]).unwrap();
    let abs = if params.mode == Mode::Noa { info.abs_bound } else { params.bound };
    if let Some(range) = params.range {
        assert!(exact::within_range(abs, params.bound, 0.0, range));
    }

    let mut totals = Totals { patterns: count, raw_chunks: info.chunks[1], ..Totals::default() };
    let words = back.chunks(512).step_by(stride).flat_map(|subchunk| subchunk.chunks_exact(4));
    for (pattern, word) in (start..start + count).zip(words) {
        let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]).into();
        if word != pattern {
            assert!(
                exact::keeps(params, info.abs_bound, pattern, word),
                "{pattern:#010x} came back as {word:#010x} with {params:?}"
            );
            let (v, r) = (exact::value(DType::F32, pattern), exact::value(DType::F32, word));
            let allowed = if params.mode == Mode::Rel { abs * v.abs() } else { abs };
            totals.changed += 1;
            totals.worst = totals.worst.max((v - r).abs() / allowed);
        }
    }
    totals
}

/// All blocks of a row, shared out among threads.
fn row(params: &Params, blocks: &[(u64, u64)], threads: u64) -> Totals {
    let next = AtomicU64::new(0);
    let totals = Mutex::new(Totals::default());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut buffers = Buffers { data: Vec::new(), stream: Vec::new(), back: Vec::new() };
                while let Some(&(start, count)) = blocks.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
                    let found = block(params, start, count, &mut buffers);
                    totals.lock().unwrap().add(&found);
                }
            });
        }
    });
    totals.into_inner().unwrap()
}

fn line(params: &Params, totals: &Totals) -> String {
    let bound = format!("{:e}", params.bound);
    format!(
        "| {} | {} | {} | {} | {} | {:.6} | {} |",
        params.mode.name(),
        if params.mode == Mode::Lossless { "–" } else { &bound },
        params.profile.name(),
        totals.patterns,
        totals.changed,
        totals.worst,
        totals.raw_chunks,
    )
}

#[test]
fn every_f32() {
    let wish = std::env::var("SLEEK_EXHAUSTIVE").unwrap_or_default();
    let full = wish == "1" || wish == "resume";
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let threads = std::env::var("SLEEK_EXHAUSTIVE_THREADS").ok().and_then(|n| n.parse().ok()).unwrap_or(cores);
    let blocks: Vec<(u64, u64)> = match full {
        true => (0..BLOCKS).map(|b| (b * BLOCK, BLOCK)).collect(),
        // A chunk at each of 64 places, ends of the exponent's range among them, and a last one that is not full.
        false => {
            (0..64).map(|b| (b << 26, 4096)).chain([(0x7f80_0000 - 1500, 3000), ((1 << 32) - 4000, 4000)]).collect()
        }
    };
    let kept: PathBuf = [env!("CARGO_TARGET_TMPDIR"), "exhaustive.txt"].iter().collect();
    let before = if wish == "resume" { std::fs::read_to_string(&kept).unwrap_or_default() } else { String::new() };
    if full {
        std::fs::write(&kept, &before).unwrap();
        println!("| mode | bound | profile | patterns | changed | worst error / bound | raw chunks |");
        println!("|---|---|---|---|---|---|---|");
        print!("{before}");
    }
    for params in rows().iter().skip(before.lines().count()) {
        let totals = row(params, &blocks, threads);
        assert!(totals.worst <= 1.0);
        let lossy = params.mode != Mode::Lossless && totals.changed > 0;
        assert_eq!(lossy, totals.worst > 0.0);
        // Neighbours differ little, so nearly all is packed: it is the quantizer that is tested, not the raw chunk.
        assert!(
            totals.raw_chunks * 8 <= totals.patterns / 4096,
            "{} chunks are raw with {params:?}",
            totals.raw_chunks
        );
        if full {
            assert_eq!(totals.patterns, 1 << 32);
            let line = line(params, &totals);
            println!("{line}");
            let mut file = std::fs::OpenOptions::new().append(true).open(&kept).unwrap();
            writeln!(file, "{line}").unwrap();
        }
    }
}
