//! Small arrays: what a call costs, and from which size on more threads pay.
//!
//! `cargo bench --bench small [-- --cpu-time --profile NAME]`. Arrays of each size are compressed and restored one
//! after the other for 0.05 s; GB/s, medians of 7 rounds in which one thread and all cores take turns; 1e-3 of the
//! range. They are cut from the first field of a type; profile small gets boxes of a smooth field. In brackets: the
//! time of a byte as a multiple of that in a call of 16 MiB.

#[path = "fields.rs"]
mod fields;

use std::time::{Duration, Instant};

use sleek::{Bound, DType, Dims, Params, Profile};

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

/// Boxes of `kib` KiB, one beside the other, of waves with some noise: their dimensions and bytes.
fn boxes(dtype: DType, kib: usize) -> (Dims, Vec<u8>) {
    let count = (kib << 10) / dtype.size();
    let side = 1 << count.ilog2().div_ceil(3).clamp(2, 8);
    let lens = [count / (side * side), side, side];
    let value = |i: usize| {
        let [z, y, x] = [i / (side * side), i / side % side, i % side].map(|k| k as f64);
        let noise = (i as u32).wrapping_mul(2_654_435_761) as f64 / f64::from(u32::MAX);
        (0.09 * z).sin() + (0.07 * y + 1.0).sin() + (0.05 * x + 2.0).sin() + 6e-3 * noise
    };
    let bytes = |i| match dtype {
        DType::F32 => (value(i) as f32).to_le_bytes().to_vec(),
        _ => value(i).to_le_bytes().to_vec(),
    };
    (Dims::new(&lens.map(|n| n as u64)).expect("a shape"), (0..(16 << 20) / dtype.size()).flat_map(bytes).collect())
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let cpu_time = args.iter().any(|a| a == "--cpu-time");
    let wanted = args.iter().position(|a| a == "--profile").and_then(|i| args.get(i + 1));
    println!("| field | profile | KiB | compress, 1 thread | all cores | decompress, 1 thread | all cores |");
    println!("|---|---|---|---|---|---|---|");
    let all = fields::load();
    for dtype in [DType::F32, DType::F64] {
        let field = all.iter().find(|f| f.dtype == dtype && f.fill.is_none()).expect("a field of the type");
        let lines: Vec<u8> = field.bytes.iter().copied().cycle().take(16 << 20).collect();
        for profile in [Profile::Fast, Profile::Adaptive, Profile::Small] {
            if wanted.is_some_and(|name| name != profile.name()) {
                continue;
            }
            let mut large = [f64::NAN; 4];
            for kib in [16384, 4096, 1024, 256, 64, 16, 4, 1] {
                let (dims, data) = match profile {
                    Profile::Small => boxes(dtype, kib),
                    _ => (Dims::NONE, lines.clone()),
                };
                let bound = range_value(dtype, &data) * 1e-3;
                let arrays = data.chunks_exact(kib << 10);
                let params =
                    |threads| Params { profile, threads, dims, ..Params::new(dtype).with_bound(Bound::Abs(bound)) };
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
                let speeds = figures.map(median);
                if kib == 16384 {
                    large = speeds;
                }
                let cells: Vec<String> =
                    speeds.iter().zip(large).map(|(v, whole)| format!("{v:.2} ({:.2})", whole / v)).collect();
                println!("| {} | {} | {kib} | {} |", field.name, profile.name(), cells.join(" | "));
            }
        }
    }
}

/// The range of the values.
fn range_value(dtype: DType, data: &[u8]) -> f64 {
    let (lo, hi) = sleek::primitives::range::value_range(dtype, false, &[], data).expect("numbers");
    hi - lo
}
