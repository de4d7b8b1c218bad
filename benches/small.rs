//! Small arrays: what a call costs, and from which size on more threads pay.
//!
//! `cargo bench --bench small [-- --cpu-time]`. Arrays of each size are cut from the first field of a type, compressed
//! and restored one after the other for 0.05 s; GB/s, medians of 7 rounds in which one thread and all cores take turns;
//! noa 1e-3.

#[path = "fields.rs"]
mod fields;

use std::time::{Duration, Instant};

use sleek::{DType, Mode, Params, Profile};

const ROUNDS: usize = 7;
const ROUND: f64 = 0.05;

/// Time that has passed, or that the processor worked for this process.
fn clock(cpu_time: bool) -> Duration {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let which = if cpu_time { libc::CLOCK_PROCESS_CPUTIME_ID } else { libc::CLOCK_MONOTONIC };
    // SAFETY: the clocks exist on every POSIX system, and `t` is ours.
    unsafe { libc::clock_gettime(which, &mut t) };
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

/// GB/s of `work` on array after array.
fn speed<'a>(cpu_time: bool, arrays: impl Iterator<Item = &'a [u8]> + Clone, mut work: impl FnMut(&[u8])) -> f64 {
    let (wall, start, mut bytes) = (Instant::now(), clock(cpu_time), 0);
    for array in arrays.cycle() {
        work(array);
        bytes += array.len();
        if wall.elapsed().as_secs_f64() > ROUND {
            break;
        }
    }
    bytes as f64 / 1e9 / (clock(cpu_time) - start).as_secs_f64()
}

fn median(mut v: Vec<f64>) -> f64 {
    v.sort_by(f64::total_cmp);
    v[v.len() / 2]
}

fn main() {
    let cpu_time = std::env::args().any(|a| a == "--cpu-time");
    println!("| field | profile | KiB | compress, 1 thread | all cores | decompress, 1 thread | all cores |");
    println!("|---|---|---|---|---|---|---|");
    let all = fields::load();
    for dtype in [DType::F32, DType::F64] {
        let field = all.iter().find(|f| f.dtype == dtype && f.fill.is_none()).expect("a field of the type");
        let data: Vec<u8> = field.bytes.iter().copied().cycle().take(16 << 20).collect();
        for profile in [Profile::Fast, Profile::Adaptive] {
            for kib in [1, 4, 16, 64, 256, 1024, 4096] {
                let arrays = data.chunks_exact(kib << 10);
                let params = |threads| Params { profile, threads, ..Params::new(dtype).with_bound(Mode::Noa, 1e-3) };
                let mut dst = vec![0u8; sleek::compress_bound(&params(1), (kib << 10) / dtype.size()).expect("bound")];
                let streams: Vec<Vec<u8>> =
                    arrays.clone().map(|a| sleek::compress(&params(1), a).expect("compress")).collect();
                let mut back = vec![0u8; kib << 10];
                let mut figures = [const { Vec::new() }; 4];
                for _ in 0..ROUNDS {
                    for (i, threads) in [1, 0].into_iter().enumerate() {
                        figures[i].push(speed(cpu_time, arrays.clone(), |a| {
                            sleek::compress_into(&params(threads), a, &mut dst).expect("compress");
                        }));
                        let compressed = speed(cpu_time, streams.iter().map(Vec::as_slice), |s| {
                            sleek::decompress_into_with(s, &mut back, threads).expect("decompress");
                        });
                        let ratio = data.len() as f64 / streams.iter().map(Vec::len).sum::<usize>() as f64;
                        figures[2 + i].push(compressed * ratio);
                    }
                }
                let cells = figures.map(|v| format!("{:.2}", median(v)));
                println!("| {} | {} | {kib} | {} |", field.name, profile.name(), cells.join(" | "));
            }
        }
    }
}
