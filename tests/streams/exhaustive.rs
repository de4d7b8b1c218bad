//! Every f32 there is, through encoder and decoder, judged in exact arithmetic.
//!
//! By default some hundred thousand of the 2^32 bit patterns are tried. All of them:
//!
//! ```text
//! SLEEK_EXHAUSTIVE=1 cargo test --release --test streams exhaustive -- --nocapture
//! ```
//!
//! prints a row for each mode and bound, and keeps it; `SLEEK_EXHAUSTIVE=resume` goes on behind the rows of a run that
//! was interrupted. `SLEEK_EXHAUSTIVE_THREADS` sets the threads (default: all cores).

use crate::vectors;
use sleek::{Bound, DType, Mode, Params, Profile};
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
    // Zeros that fill up chunks are no missing values.
    let plain = Params { threads: 1, find_fill: None, ..Params::new(DType::F32) };
    let row = |bound, profile| Params { profile, ..plain.clone().with_bound(bound) };
    let (adaptive, fast, small) = (Profile::Adaptive, Profile::Fast, Profile::Small);
    vec![
        row(Bound::Lossless, adaptive),
        row(Bound::Lossless, fast),
        row(Bound::Abs(1e-3), adaptive),
        row(Bound::Abs(0.7), adaptive),
        row(Bound::Abs(3e38), adaptive),
        row(Bound::Abs(1e-37), adaptive),
        // The smallest step, 4 · 2^−126; below it there is none.
        row(Bound::Abs(two(-125)), adaptive),
        row(Bound::Abs(below(two(-125))), adaptive),
        // The largest step, 7 · 2^100, asked for exactly and exceeded.
        row(Bound::Abs(3.5 * two(100)), adaptive),
        row(Bound::Abs(f64::MAX), adaptive),
        row(Bound::Rel(1e-3), adaptive),
        row(Bound::Rel(two(-10)), adaptive),
        row(Bound::Abs(1e-3), fast),
        row(Bound::Abs(0.7), fast),
        row(Bound::Abs(3e38), fast),
        // Each factor with half a step exactly, and as far above as can be.
        row(Bound::Abs(1.0), adaptive),
        row(Bound::Abs(1.25 * two(-4)), adaptive),
        row(Bound::Abs(1.5 * two(10)), adaptive),
        row(Bound::Abs(1.75 * two(-20)), adaptive),
        row(Bound::Abs(below(1.25)), adaptive),
        row(Bound::Abs(below(1.5 * two(-60))), adaptive),
        row(Bound::Abs(below(1.75 * two(60))), adaptive),
        row(Bound::Abs(below(2.0)), adaptive),
        row(Bound::Rel(0.5), adaptive),
        row(Bound::Rel(0.1), adaptive),
        row(Bound::Rel(1e-6), adaptive),
        row(Bound::Rel(3e-8), adaptive),
        row(Bound::Rel(1e-3), fast),
        row(Bound::Noa { share: 1e-5, range: Some(1234.5) }, adaptive),
        row(Bound::Lossless, small),
        row(Bound::Abs(1e-3), small),
        row(Bound::Abs(0.7), small),
        row(Bound::Abs(3e38), small),
        row(Bound::Abs(two(-125)), small),
        row(Bound::Abs(below(two(-125))), small),
        row(Bound::Abs(3.5 * two(100)), small),
        row(Bound::Abs(1.0), small),
        row(Bound::Abs(below(1.25)), small),
        row(Bound::Abs(below(1.5 * two(-60))), small),
        row(Bound::Abs(1.75 * two(-20)), small),
        row(Bound::Rel(1e-3), small),
        row(Bound::Rel(1e-6), small),
        row(Bound::Noa { share: 1e-5, range: Some(1234.5) }, small),
    ]
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
    let abs = if params.bound.mode() == Mode::Noa { info.abs_bound } else { params.bound.number() };
    if let Some(range) = params.bound.range() {
        assert!(exact::within_range(abs, params.bound.number(), 0.0, range));
    }

    let mut totals = Totals { patterns: count, raw_chunks: info.chunks[1], ..Totals::default() };
    let subchunks = data.chunks(512).zip(back.chunks(512)).step_by(stride);
    for (source, restored) in subchunks.filter(|(source, restored)| source != restored) {
        for (v, r) in source.chunks_exact(4).zip(restored.chunks_exact(4)) {
            let bits = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
            judge(params, abs, bits(v), bits(r), &mut totals);
        }
    }
    totals
}

/// Adds one pattern to the totals. A difference that is clearly allowed is seen by rounded arithmetic, which errs by
/// less than one part in 2^40; all others go to the exact judge.
#[inline]
fn judge(params: &Params, abs: f64, v: u32, r: u32, totals: &mut Totals) {
    if v == r {
        return;
    }
    let (a, b) = (f64::from(f32::from_bits(v)), f64::from(f32::from_bits(r)));
    let relative = params.bound.mode() == Mode::Rel;
    let allowed = if relative { abs * a.abs() } else { abs };
    let difference = (a - b).abs();
    let clear = params.bound != Bound::Lossless
        && difference < allowed * (1.0 - exact::power(-40))
        && (!relative || (v ^ r) >> 31 == 0 && a.abs() >= f32::MIN_POSITIVE.into());
    assert!(clear || exact::keeps(params, abs, v.into(), r.into()), "{v:#010x} came back as {r:#010x} with {params:?}");
    totals.changed += 1;
    totals.worst = totals.worst.max(difference / allowed);
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
    let bound = format!("{:e}", params.bound.number());
    format!(
        "| {} | {} | {} | {} | {} | {:.6} | {} |",
        params.bound.mode().name(),
        if params.bound == Bound::Lossless { "–" } else { &bound },
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
        let lossy = params.bound != Bound::Lossless && totals.changed > 0;
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
