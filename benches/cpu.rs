//! Speed in memory on the CPU: compress and decompress against memcpy in the same run.
//!
//! `cargo bench --bench cpu [-- --mib N --rounds N --threads N --field NAME --profile NAME --cpu-time]`. Each field is tiled to N MiB (128); memcpy,
//! compress and decompress take turns; the figures are medians. GB/s counts uncompressed bytes; ×memcpy is against the memcpy
//! of the same round.

#[path = "fields.rs"]
mod fields;

use std::time::Instant;

use sleek::{Mode, Params, Profile};

struct Options {
    bytes: usize,
    rounds: usize,
    threads: u32,
    cpu_time: bool,
    field: String,
    profile: String,
}

fn options() -> Options {
    let args: Vec<String> = std::env::args().collect();
    let value = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).cloned();
    let number = |name: &str, default: usize| value(name).and_then(|v| v.parse().ok()).unwrap_or(default);
    Options {
        bytes: number("--mib", 128) << 20,
        rounds: number("--rounds", 5),
        threads: number("--threads", 1) as u32,
        cpu_time: args.iter().any(|a| a == "--cpu-time"),
        field: value("--field").unwrap_or_default(),
        profile: value("--profile").unwrap_or_default(),
    }
}

fn median(mut v: Vec<f64>) -> f64 {
    v.sort_by(f64::total_cmp);
    v[v.len() / 2]
}

/// Processor time of the whole process: what a single-threaded figure needs on a machine that is not quiet.
fn cpu_seconds() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on every POSIX system, and `t` is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}

fn seconds(cpu_time: bool, f: impl FnOnce()) -> f64 {
    let (wall, cpu) = (Instant::now(), cpu_seconds());
    f();
    if cpu_time { cpu_seconds() - cpu } else { wall.elapsed().as_secs_f64() }
}

fn main() {
    let o = options();
    println!("| type | profile | bound | field | ratio | compress GB/s | × memcpy | decompress GB/s | × memcpy |");
    println!("|---|---|---|---|---|---|---|---|---|");
    let mut sums = std::collections::BTreeMap::<String, Vec<[f64; 3]>>::new();
    for field in fields::load().into_iter().filter(|f| f.name.contains(&o.field)) {
        let src: Vec<u8> = field.bytes.iter().copied().cycle().take(o.bytes).collect();
        let mut copy = vec![0u8; src.len()];
        for (profile, bound) in
            [(Profile::Fast, 1e-3), (Profile::Adaptive, 1e-3), (Profile::Fast, 0.0), (Profile::Adaptive, 0.0)]
        {
            if !profile.name().contains(&o.profile) {
                continue;
            }
            let mode = if bound == 0.0 { Mode::Lossless } else { Mode::Abs };
            let range = sleek::stage::range::value_range(field.dtype, false, field.fill, &field.bytes);
            let abs = bound * range.map_or(1.0, |(lo, hi)| hi - lo);
            let mut params = Params::new(field.dtype).with_bound(mode, abs);
            params.profile = profile;
            params.threads = o.threads;
            let mut dst = vec![0u8; sleek::compress_bound(&params, src.len() / field.dtype.size()).expect("bound")];
            let (mut m, mut c, mut d) = (Vec::new(), Vec::new(), Vec::new());
            let mut n = 0;
            for _ in 0..=o.rounds {
                m.push(seconds(o.cpu_time, || copy.copy_from_slice(&src)));
                c.push(seconds(o.cpu_time, || n = sleek::compress_into(&params, &src, &mut dst).expect("compress")));
                d.push(seconds(o.cpu_time, || {
                    sleek::decompress_into_with(&dst[..n], &mut copy, o.threads).expect("decompress");
                }));
            }
            // The first round warms up.
            let per = |v: &[f64]| median(v[1..].to_vec());
            let ratio = |v: &[f64]| median(m[1..].iter().zip(&v[1..]).map(|(m, v)| m / v).collect());
            let gb = src.len() as f64 / 1e9;
            let (cr, dr) = (ratio(&c), ratio(&d));
            let shown = if bound == 0.0 { "lossless".to_string() } else { format!("{bound:e}") };
            println!(
                "| {} | {} | {shown} | {} | {:.2} | {:.2} | {cr:.2} | {:.2} | {dr:.2} |",
                field.dtype.name(),
                profile.name(),
                field.name,
                src.len() as f64 / n as f64,
                gb / per(&c),
                gb / per(&d)
            );
            let key = format!("{} | {} | {shown}", field.dtype.name(), profile.name());
            sums.entry(key).or_default().push([cr, dr, gb / per(&m)]);
        }
    }
    println!(
        "\n| type | profile | bound | compress × memcpy | decompress × memcpy | memcpy GB/s |\n|---|---|---|---|---|---|"
    );
    for (key, rows) in sums {
        let mean = |i: usize| (rows.iter().map(|r: &[f64; 3]| r[i].ln()).sum::<f64>() / rows.len() as f64).exp();
        println!("| {key} | {:.2} | {:.2} | {:.1} |", mean(0), mean(1), mean(2));
    }
}
