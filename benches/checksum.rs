//! What the checksums cost: the time to sum all bodies of a stream, chunk by chunk as the encoder does and group by
//! group as the decoder does, as a part of the time to compress and to decompress, which include it. One thread,
//! processor time. Encoder and decoder sum a body that is in the cache because they have just written it or are about
//! to read it: so each is summed once to bring it there, and only the sums that follow are counted.
//!
//! `cargo bench --bench checksum [-- MIB]`. Each field is tiled to MIB MiB (16); the figures are medians of 9 rounds.

#[path = "../tests/gpu/fields.rs"]
mod fields;

use std::hint::black_box;

use sleek::container::checksum;
use sleek::container::constants::GROUP_CHUNKS;
use sleek::container::{Header, Index};
use sleek::{Bound, Mode, Params, Profile};

const ROUNDS: usize = 9;
/// Sums of a body that is in the cache.
const REPEATS: usize = 4;

/// Processor time of this process.
fn seconds() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on every POSIX system, and `t` is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}

/// Seconds of `work`, the median of some rounds.
fn time(mut work: impl FnMut()) -> f64 {
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = seconds();
            work();
            seconds() - start
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

/// The checksums of all groups, by chunks, each body summed `times` times.
fn by_chunks(header: &Header, index: &Index, times: usize) -> u64 {
    let sum = |c: usize, body: &[u8]| {
        (0..times).fold(0u64, |a, _| a.wrapping_add(checksum::of_chunk(black_box(body), c % GROUP_CHUNKS)))
    };
    let group = |g| index.chunks(g).map(|c| sum(c.number, c.body.bytes()));
    (0..header.layout.groups).flat_map(group).fold(0, u64::wrapping_add)
}

/// The checksums of all groups, each group summed `times` times.
fn by_groups(header: &Header, index: &Index, times: usize) -> u64 {
    let group = |g| checksum::GroupSum::new(black_box(index).chunks(g).map(|c| c.body.bytes())).finish();
    (0..header.layout.groups).flat_map(|g| (0..times).map(move |_| group(g))).fold(0, u64::wrapping_add)
}

fn main() {
    let mib = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(16usize);
    println!("| type | profile | bound | field | ratio | checksum / compress | checksum / decompress |");
    println!("|---|---|---|---|---|---|---|");
    let (mut worst, mut total) = ([0f64; 2], [0f64; 4]);
    for field in fields::load() {
        let src: Vec<u8> = field.bytes.iter().copied().cycle().take(mib << 20).collect();
        let mut back = vec![0u8; src.len()];
        for (profile, bound) in
            [(Profile::Fast, 1e-3), (Profile::Adaptive, 1e-3), (Profile::Fast, 0.0), (Profile::Adaptive, 0.0)]
        {
            let mode = if bound == 0.0 { Mode::Lossless } else { Mode::Noa };
            let params = Params {
                profile,
                missing: sleek::MissingValues::number(field.fill),
                threads: 1,
                ..Params::new(field.dtype).with_bound(Bound::new(mode, bound).unwrap())
            };
            let mut dst = vec![0u8; sleek::compress_bound(&params, src.len() / field.dtype.size()).expect("bound")];
            let mut n = 0;
            let compress = time(|| n = sleek::compress_into(&params, &src, &mut dst).expect("compress"));
            let stream = &dst[..n];
            let decompress = time(|| {
                sleek::decompress_into_with(stream, &mut back, 1).expect("decompress");
            });
            let header = Header::read(stream).expect("header");
            let index = Index::new(&header, stream).expect("index");
            let in_cache = |sums: fn(&Header, &Index, usize) -> u64| {
                let summed = |times| {
                    time(|| {
                        black_box(sums(&header, &index, times));
                    })
                };
                (summed(1 + REPEATS) - summed(1)) / REPEATS as f64
            };
            let checksums = [in_cache(by_chunks), in_cache(by_groups)];
            let parts = [checksums[0] / compress, checksums[1] / decompress];
            println!(
                "| {} | {} | {} | {} | {:.2} | {:.1} % | {:.1} % |",
                field.dtype.name(),
                profile.name(),
                if bound == 0.0 { "lossless".to_string() } else { format!("noa {bound:e}") },
                field.name,
                src.len() as f64 / n as f64,
                100.0 * parts[0],
                100.0 * parts[1]
            );
            worst = [worst[0].max(parts[0]), worst[1].max(parts[1])];
            total = [total[0] + compress, total[1] + decompress, total[2] + checksums[0], total[3] + checksums[1]];
        }
    }
    println!(
        "\nOver all: {:.1} % of compressing (at most {:.1} %), {:.1} % of decompressing (at most {:.1} %).",
        100.0 * total[2] / total[0],
        100.0 * worst[0],
        100.0 * total[3] / total[1],
        100.0 * worst[1]
    );
}
