//! What missing values cost: ratio of the field that has some, and speed of fields with holes beside the same fields
//! without, by processor time of one thread.
//!
//! `cargo bench --bench missing [-- --mib 32 --rounds 7 --only NUMBER]`: of the kinds of holes the one of this number

mod fields;

use std::time::Instant;

use fields::Field;
use sleek::{Bound, MissingValues, Mode, Params, Profile};

/// The mark that is put into fields without one.
const MARK: f64 = 1e20;

fn cpu_seconds() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on every POSIX system, and `t` is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}

fn argument(name: &str, default: usize) -> usize {
    let mut arguments = std::env::args().skip_while(|a| a != name);
    arguments.nth(1).map_or(default, |v| v.parse().unwrap_or_else(|_| panic!("{name} {v}: a number is needed")))
}

/// Where holes are, of elements 0, 1, …
type Holes = (&'static str, fn(usize, &[bool]) -> bool);

fn scattered(i: usize) -> bool {
    (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 57 == 0
}

const HOLES: [Holes; 4] = [
    ("named, none there", |_, _| false),
    ("1 % scattered", |i, _| scattered(i)),
    ("a coast, 45 %", |i, land| land[i % land.len()]),
    ("rows of 1000, 50 %", |i, _| i / 1000 % 2 == 0),
];

/// The field with the element before it in each hole, as an encoder codes it: what the data alone take, apart from
/// finding the holes, telling where they are and putting them back.
fn without_holes(size: usize, holey: &[u8], is_hole: impl Fn(usize) -> bool) -> Vec<u8> {
    let mut filled = holey.to_vec();
    let n = holey.len() / size;
    let mut last = (0..n).find(|i| !is_hole(*i)).unwrap_or(0);
    for i in 0..n {
        if is_hole(i) {
            filled.copy_within(last * size..(last + 1) * size, i * size);
        } else {
            last = i;
        }
    }
    filled
}

/// The best speeds of `rounds` for each of some requests and arrays, in GB/s: compressing and decompressing. They take
/// turns, so that what else the machine does meets all of them.
fn speeds<const N: usize>(each: [(&Params, &[u8]); N], rounds: usize) -> [(f64, f64); N] {
    let room = |(params, src): (&Params, &[u8])| {
        vec![0u8; sleek::compress_bound(params, src.len() / params.dtype.size()).expect("bound")]
    };
    let (mut streams, mut back) = (each.map(room), vec![0u8; each[0].1.len()]);
    let mut best = [(f64::INFINITY, f64::INFINITY); N];
    for _ in 0..=rounds {
        for (((params, src), dst), best) in each.iter().zip(&mut streams).zip(&mut best) {
            let start = cpu_seconds();
            let n = sleek::compress_into(params, src, dst).expect("compress");
            let middle = cpu_seconds();
            sleek::decompress_into_with(&dst[..n], &mut back, 1).expect("decompress");
            *best = (best.0.min(middle - start), best.1.min(cpu_seconds() - middle));
        }
    }
    let gb = back.len() as f64 / 1e9;
    best.map(|(there, here)| (gb / there, gb / here))
}

fn request(field: &Field, profile: Profile, bound: f64) -> Params {
    let fills: Vec<f64> = field.fill.into_iter().collect();
    let range = sleek::primitives::range::value_range(field.dtype, false, &fills, &field.bytes);
    let abs = bound * range.map_or(1.0, |(lo, hi)| hi - lo);
    let mode = if bound == 0.0 { Mode::Lossless } else { Mode::Abs };
    Params { profile, threads: 1, ..Params::new(field.dtype).with_bound(Bound::new(mode, abs).unwrap()) }
}

fn main() {
    let (bytes, rounds, only) = (argument("--mib", 16) << 20, argument("--rounds", 5), argument("--only", 9));
    let started = Instant::now();
    let all = fields::load();
    let levitus = all.iter().find(|f| f.fill.is_some()).expect("a field with a fill value");
    let fill = (levitus.fill.unwrap_or_default() as f32).to_le_bytes();
    let land: Vec<bool> = levitus.bytes.chunks_exact(4).map(|e| e == fill).collect();
    println!("ratio of {} with its fill value named:", levitus.name);
    for profile in [Profile::Adaptive, Profile::Fast] {
        let ratio = |bound| {
            let missing = MissingValues::number(levitus.fill);
            let params = Params { missing, ..request(levitus, profile, bound) };
            let n = sleek::compress(&params, &levitus.bytes).expect("compress").len();
            format!("{:.2}", levitus.bytes.len() as f64 / n as f64)
        };
        let each: Vec<String> = [1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 0.0].map(ratio).into();
        println!("  {:8} 1e-1 … 1e-6, lossless: {}", profile.name(), each.join(" "));
    }
    println!("speed with holes / without, and of the field with its holes filled, which has none, / without:");
    println!("geometric means over the other fields (compress, decompress)");
    for profile in [Profile::Adaptive, Profile::Fast] {
        for bound in [1e-3, 0.0] {
            for (name, hole) in HOLES.into_iter().enumerate().filter(|(k, _)| only > 3 || *k == only).map(|(_, h)| h) {
                let mut sums = [0.0; 5];
                for field in all.iter().filter(|f| f.fill.is_none()) {
                    let size = field.dtype.size();
                    let src: Vec<u8> = field.bytes.iter().copied().cycle().take(bytes / 8 * 8).collect();
                    let mut holey = src.clone();
                    let mark = field.dtype.nearest(MARK).to_le_bytes();
                    let holes = holey.chunks_exact_mut(size).enumerate().filter(|(i, _)| hole(*i, &land));
                    holes.for_each(|(_, element)| element.copy_from_slice(&mark[..size]));
                    let plain = request(field, profile, bound);
                    let named = Params { missing: MissingValues::number(Some(MARK)), ..plain.clone() };
                    let filled = without_holes(size, &holey, |i| hole(i, &land));
                    let [a, b, c] = speeds([(&plain, &src), (&named, &holey), (&plain, &filled)], rounds);
                    let each = [b.0 / a.0, b.1 / a.1, c.0 / a.0, c.1 / a.1].map(f64::ln);
                    sums[..4].iter_mut().zip(each).for_each(|(sum, x)| *sum += x);
                    sums[4] += 1.0;
                }
                let [a, b, c, d] = [0, 1, 2, 3].map(|k: usize| (sums[k] / sums[4]).exp());
                let bound = if bound == 0.0 { "lossless".into() } else { format!("{bound:e}") };
                println!("  {:8} {bound:8} {name:20} {a:.3} {b:.3}  filled {c:.3} {d:.3}", profile.name());
            }
        }
    }
    eprintln!("{:.0} s", started.elapsed().as_secs_f64());
}
