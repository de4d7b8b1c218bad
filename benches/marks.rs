//! What the search for missing values that nobody named costs on fields that have none: the time of compression with it
//! over that without, by turns, with one thread.
//!
//! `cargo bench --bench marks [-- --kib 64 --rounds 41 --profile fast --mode abs|noa|rel]`

mod fields;

use sleek::{Bound, Dims, Mode, Params, Profile, Search};

fn argument(name: &str) -> Option<String> {
    std::env::args().skip_while(|a| a != name).nth(1)
}

fn number(name: &str, default: usize) -> usize {
    argument(name).map_or(default, |v| v.parse().unwrap_or_else(|_| panic!("{name} {v}: a number is needed")))
}

/// Processor time of the whole process.
fn cpu_seconds() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on every POSIX system, and `t` is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}

/// The median of how much longer the first request takes than the second one.
fn price(each: [&Params; 2], src: &[u8], rounds: usize) -> (f64, f64) {
    let mut dst = vec![0u8; sleek::compress_bound(each[0], src.len() / each[0].dtype.size()).expect("bound")];
    // As many calls as take a while.
    let calls = (4 << 20) / src.len() + 1;
    let mut of = |params: &Params| {
        let start = cpu_seconds();
        (0..calls).for_each(|_| _ = sleek::compress_into(params, src, &mut dst).expect("compress"));
        cpu_seconds() - start
    };
    let mut ratios: Vec<f64> = (0..rounds)
        .map(|round| match round % 2 {
            0 => of(each[0]) / of(each[1]),
            _ => {
                let without = of(each[1]);
                of(each[0]) / without
            }
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    (ratios[rounds / 2], (calls * src.len()) as f64 / of(each[1]) / 1e9)
}

fn main() {
    let (bytes, rounds) = (number("--kib", 32 << 10) << 10, number("--rounds", 15));
    let wanted = argument("--profile").unwrap_or_default();
    let mode = match argument("--mode").as_deref() {
        Some("noa") => Mode::Noa,
        Some("rel") => Mode::Rel,
        _ => Mode::Abs,
    };
    let fields = fields::load();
    for profile in Profile::ALL.into_iter().filter(|p| wanted.is_empty() || wanted.split(',').any(|w| w == p.name())) {
        for size in [4, 8] {
            let (mut sum, mut n) = (0.0, 0.0);
            for field in fields.iter().filter(|f| f.fill.is_none() && f.dtype.size() == size) {
                let src: Vec<u8> = field.bytes.iter().copied().cycle().take(bytes / 8 * 8).collect();
                let range = sleek::primitives::range::value_range(field.dtype, false, &[], &src);
                let bound = if mode == Mode::Abs { 1e-3 * range.map_or(1.0, |(lo, hi)| hi - lo) } else { 1e-3 };
                let with = Params { profile, threads: 1, dims: Dims::NONE, ..Params::new(field.dtype) };
                let with = with.with_bound(Bound::new(mode, bound).unwrap());
                let without = Params { search: Search::Off, ..with.clone() };
                let found = sleek::inspect(&sleek::compress(&with, &src).expect("compress")).expect("a stream");
                let (price, speed) = price([&with, &without], &src, rounds);
                let missing = found.missing.found();
                println!(
                    "  {:20} {price:.3}  {speed:.2} GB/s{}",
                    field.name,
                    if missing > 0 { ", has marks" } else { "" }
                );
                if missing == 0 {
                    (sum, n) = (sum + price.ln(), n + 1.0);
                }
            }
            println!("{} f{} {} KiB: {:.3}", profile.name(), 8 * size, bytes >> 10, (sum / n).exp());
        }
    }
}
