//! What the search for undeclared fill values costs: chunks as HDF5 hands them over, just written by a copy, compressed
//! with it and without by turns. One thread, processor time, the best of 9 rounds.
//!
//! `cargo bench --bench search [-- FIELD…]`, where the beginning of a name is enough.

#[path = "../tests/gpu/fields.rs"]
mod fields;

use sleek::{Bound, Params, Profile};

const ROUNDS: usize = 9;
/// Bytes of all chunks of a round.
const ROUND_BYTES: usize = 8 << 20;

/// Processor time of this process.
fn seconds() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on every POSIX system, and `t` is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}

/// The best seconds of a round without the search and with it.
fn best(params: &Params, data: &[u8], chunk_bytes: usize) -> [f64; 2] {
    let mut stream = vec![0u8; sleek::compress_bound(params, chunk_bytes / params.dtype.size()).expect("bound")];
    let mut chunk = vec![0u8; chunk_bytes];
    let mut best = [f64::MAX; 2];
    for turn in 0..2 * ROUNDS {
        let params = Params { find_fill: Some(turn % 2 == 1), ..params.clone() };
        let mut round = 0.0;
        for data in data.chunks_exact(chunk_bytes) {
            chunk.copy_from_slice(data);
            let start = seconds();
            sleek::compress_into(&params, &chunk, &mut stream).expect("compress");
            round += seconds() - start;
        }
        best[turn % 2] = round.min(best[turn % 2]);
    }
    best
}

fn main() {
    let names: Vec<String> = std::env::args().skip(1).filter(|name| !name.starts_with("--")).collect();
    println!("| field | profile | bound | KiB | GB/s without | with | cost |\n|---|---|---|---|---|---|---|");
    for field in fields::load() {
        // Where a mark is found there is more to do than a search.
        if field.fill.is_some() || !names.is_empty() && !names.iter().any(|name| field.name.starts_with(name)) {
            continue;
        }
        let data: Vec<u8> = field.bytes.iter().copied().cycle().take(ROUND_BYTES).collect();
        let range = sleek::range::value_range(field.dtype, false, &[], &field.bytes).map_or(1.0, |(lo, hi)| hi - lo);
        for (profile, share) in [Profile::Adaptive, Profile::Fast].into_iter().flat_map(|p| [(p, 1e-1), (p, 1e-3)]) {
            let bound = Bound::Abs(share * range);
            let params = Params { profile, threads: 1, ..Params::new(field.dtype).with_bound(bound) };
            for chunk_bytes in [64 << 10, 256 << 10, 1 << 20, 4 << 20] {
                let speeds = best(&params, &data, chunk_bytes).map(|seconds| ROUND_BYTES as f64 / seconds / 1e9);
                println!(
                    "| {} | {} | {share:e} | {} | {:.2} | {:.2} | {:.1} % |",
                    field.name,
                    profile.name(),
                    chunk_bytes >> 10,
                    speeds[0],
                    speeds[1],
                    100.0 * (speeds[0] / speeds[1] - 1.0)
                );
            }
        }
    }
}
