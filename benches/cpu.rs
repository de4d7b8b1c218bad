//! Speed in memory on the CPU, per field, type, profile, bound and SIMD level: against memcpy in the same rounds,
//! against one thread, and in the processor's instructions and cycles where it lets them be counted.
//!
//! `cargo bench --bench cpu [-- --mib N --rounds N --threads N --field NAME --profile NAMES --bound B --level NAME
//! --cpu-time --json FILE]`
//!
//! NAMES are separated by commas; the level `best` is the processor's own.
//! Each field is repeated along its slowest dimension up to N MiB (128), and profile small is given the shape. In a
//! round memcpy, compress and decompress take turns, on one thread and on N (all cores); figures are medians of 5
//! rounds. GB/s counts uncompressed bytes. Each level runs in a process of its own.

#[path = "counter.rs"]
mod counter;
#[path = "fields.rs"]
mod fields;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use counter::{Counter, Event};
use fields::Field;
use serde_json::{Value, json};
use sleek::exec::{Isa, Level};
use sleek::{Bound, Dims, MissingValues, Mode, Params, Profile};

struct Options {
    bytes: usize,
    rounds: usize,
    threads: u32,
    cpu_time: bool,
    field: String,
    profile: String,
    /// 0 for lossless; without it both that are measured.
    bound: Option<f64>,
    level: String,
    json: Option<String>,
    /// Measure at the level of this process and print rows for the parent.
    rows: bool,
}

fn options() -> Options {
    let args: Vec<String> = std::env::args().collect();
    let value = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).cloned();
    let number = |name: &str, default: usize| value(name).and_then(|v| v.parse().ok()).unwrap_or(default);
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    Options {
        bytes: number("--mib", 128) << 20,
        rounds: number("--rounds", 5),
        threads: number("--threads", cores) as u32,
        cpu_time: args.iter().any(|a| a == "--cpu-time"),
        field: value("--field").unwrap_or_default(),
        profile: value("--profile").unwrap_or_default(),
        bound: value("--bound").and_then(|v| v.parse().ok()),
        level: value("--level").unwrap_or_default(),
        json: value("--json"),
        rows: args.iter().any(|a| a == "--rows"),
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

fn seconds(cpu_time: bool, work: impl FnOnce()) -> f64 {
    let (wall, cpu) = (Instant::now(), cpu_seconds());
    work();
    if cpu_time { cpu_seconds() - cpu } else { wall.elapsed().as_secs_f64() }
}

/// Events per value of `work`, or null.
fn per_value(event: Event, values: usize, work: impl FnOnce()) -> Value {
    match Counter::open(event).and_then(|mut c| c.count(work)) {
        Some(n) => json!(n as f64 / values as f64),
        None => Value::Null,
    }
}

/// The field repeated along its slowest dimension as often as `bytes` hold it: shape and bytes.
fn repeated(field: &Field, bytes: usize) -> (Dims, usize) {
    let mut lens = field.dims.lens().to_vec();
    let row = field.bytes.len() / lens[0] as usize;
    lens[0] = (bytes / row) as u64;
    (Dims::new(&lens).expect("a shape"), bytes / row * row)
}

/// One field, profile and bound at the level of this process.
fn row(o: &Options, field: &Field, src: &[u8], copy: &mut [u8], profile: Profile, bound: f64) -> Value {
    let range = sleek::primitives::range::value_range(field.dtype, false, field.fill.as_slice(), &field.bytes);
    let abs = bound * range.map_or(1.0, |(lo, hi)| hi - lo);
    let mode = if bound == 0.0 { Mode::Lossless } else { Mode::Abs };
    // Profile small is told all that there is to tell of a field.
    let told = profile == Profile::Small;
    let dims = if told { repeated(field, src.len()).0 } else { Dims::NONE };
    let missing = MissingValues::number(field.fill.filter(|_| told));
    let params = |threads| Params {
        profile,
        threads,
        dims,
        missing,
        ..Params::new(field.dtype).with_bound(Bound::new(mode, abs).unwrap())
    };
    let values = src.len() / field.dtype.size();
    let mut dst = vec![0u8; sleek::compress_bound(&params(1), values).expect("bound")];
    let mut n = 0;
    let mut compress = |threads| n = sleek::compress_into(&params(threads), src, &mut dst).expect("compress");
    let instructions = per_value(Event::Instructions, values, || compress(1));
    let cycles = per_value(Event::Cycles, values, || compress(1));
    // The first round warms up.
    let mut rounds = Vec::new();
    for _ in 0..=o.rounds {
        let memcpy = seconds(o.cpu_time, || copy.copy_from_slice(src));
        let there = seconds(o.cpu_time, || compress(1));
        let there_all = if o.threads > 1 { seconds(o.cpu_time, || compress(o.threads)) } else { f64::NAN };
        rounds.push([memcpy, there, there_all, f64::NAN, f64::NAN]);
    }
    let stream = &dst[..n];
    let mut decompress = |threads| {
        sleek::decompress_into_with(stream, copy, threads).expect("decompress");
    };
    let instructions_back = per_value(Event::Instructions, values, || decompress(1));
    let cycles_back = per_value(Event::Cycles, values, || decompress(1));
    for round in &mut rounds {
        round[3] = seconds(o.cpu_time, || decompress(1));
        round[4] = if o.threads > 1 { seconds(o.cpu_time, || decompress(o.threads)) } else { f64::NAN };
    }
    let rounds = &rounds[1..];
    let of = |f: &dyn Fn(&[f64; 5]) -> f64| median(rounds.iter().map(f).collect());
    let gb = src.len() as f64 / 1e9;
    json!({
        "level": Isa::best().level().name(), "dtype": field.dtype.name(), "profile": profile.name(), "bound": bound,
        "field": field.name, "ratio": src.len() as f64 / n as f64, "threads": o.threads, "mib": o.bytes >> 20,
        "memcpy": of(&|r| gb / r[0]),
        "compress": of(&|r| gb / r[1]), "compress_memcpy": of(&|r| r[0] / r[1]), "compress_all": of(&|r| r[1] / r[2]),
        "decompress": of(&|r| gb / r[3]),
        "decompress_memcpy": of(&|r| r[0] / r[3]), "decompress_all": of(&|r| r[3] / r[4]),
        "compress_instructions": instructions, "compress_cycles": cycles,
        "decompress_instructions": instructions_back, "decompress_cycles": cycles_back,
    })
}

/// Prints a row for every field, profile and bound.
fn measure(o: &Options) {
    for field in fields::load().into_iter().filter(|f| f.name.contains(&o.field)) {
        let bytes = repeated(&field, o.bytes).1;
        let src: Vec<u8> = field.bytes.iter().copied().cycle().take(bytes).collect();
        let mut copy = vec![0u8; src.len()];
        let wanted = |p: &Profile| o.profile.is_empty() || o.profile.split(',').any(|name| name == p.name());
        for profile in Profile::ALL.into_iter().filter(wanted) {
            let bounds: &[f64] = match (profile, Isa::best().level()) {
                (Profile::Small, Level::Scalar) => &[1e-3], // The others take minutes.
                (Profile::Small, _) => &[1e-3, 1e-6, 0.0],
                _ => &[1e-3, 0.0],
            };
            for bound in bounds.iter().copied().filter(|b| o.bound.is_none_or(|wanted| wanted == *b)) {
                println!("{}", row(o, &field, &src, &mut copy, profile, bound));
            }
        }
    }
}

fn is_wanted(level: Level, name: &str) -> bool {
    if name == "best" { level == Isa::best().level() } else { level.name().contains(name) }
}

/// The rows of `level`, measured in a process of its own: below the best one with one thread and at most 3 rounds.
fn rows_of(level: Level, o: &Options) -> Vec<Value> {
    let best = level == Isa::best().level();
    let threads = if best { o.threads } else { 1 };
    let rounds = if best { o.rounds } else { o.rounds.min(3) };
    let own = std::env::current_exe().expect("this program");
    let mut child = Command::new(own)
        .args(["--rows", "--threads", &threads.to_string(), "--rounds", &rounds.to_string()])
        .args(std::env::args().skip(1))
        .env("SLEEK_SIMD", level.name())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program again");
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let rows = lines.map(|l| serde_json::from_str(&l.expect("a line")).expect("a row"));
    let rows: Vec<Value> = rows.inspect(|r| println!("{}", line(r))).collect();
    assert!(child.wait().expect("its end").success(), "level {}", level.name());
    rows
}

fn bound_name(row: &Value) -> String {
    match row["bound"].as_f64() {
        Some(b) if b > 0.0 => format!("{b:e}"),
        _ => "lossless".into(),
    }
}

fn text(row: &Value, name: &str) -> String {
    row[name].as_str().unwrap_or_default().to_string()
}

/// A figure, or "-" where there is none.
fn figure(row: &Value, name: &str) -> String {
    row[name].as_f64().map_or("-".into(), |v| format!("{v:.2}"))
}

const FIGURES: [(&str, &str); 11] = [
    ("ratio", "ratio"),
    ("compress", "compress GB/s"),
    ("compress_memcpy", "× memcpy"),
    ("compress_all", "all cores / one"),
    ("compress_instructions", "instructions/value"),
    ("compress_cycles", "cycles/value"),
    ("decompress", "decompress GB/s"),
    ("decompress_memcpy", "× memcpy"),
    ("decompress_all", "all cores / one"),
    ("decompress_instructions", "instructions/value"),
    ("decompress_cycles", "cycles/value"),
];

fn line(row: &Value) -> String {
    let key = [text(row, "level"), text(row, "dtype"), text(row, "profile"), bound_name(row), text(row, "field")];
    let cells = key.into_iter().chain(FIGURES.iter().map(|(name, _)| figure(row, name)));
    format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
}

fn head(first: &[&str], figures: &[&str]) -> String {
    let cells: Vec<&str> = first.iter().chain(figures).copied().collect();
    format!("| {} |\n|{}", cells.join(" | "), "---|".repeat(cells.len()))
}

fn geometric_mean<'a>(rows: impl IntoIterator<Item = &'a Value>, name: &str) -> Option<f64> {
    let logs: Option<Vec<f64>> = rows.into_iter().map(|r| r[name].as_f64().map(f64::ln)).collect();
    logs.filter(|l| !l.is_empty()).map(|l| (l.iter().sum::<f64>() / l.len() as f64).exp())
}

/// Geometric means over the fields.
fn summary(rows: &[Value]) {
    let mut groups = BTreeMap::<_, Vec<&Value>>::new();
    for r in rows {
        let key = (text(r, "dtype"), text(r, "profile"), bound_name(r), text(r, "level"));
        groups.entry(key).or_default().push(r);
    }
    let figures = ["memcpy", "compress_memcpy", "decompress_memcpy", "compress_all", "decompress_all"];
    let names = ["memcpy GB/s", "compress × memcpy", "decompress × memcpy", "compress all cores / one", "decompress"];
    println!("\nGeometric means over the fields:\n");
    println!("{}", head(&["type", "profile", "bound", "level"], &names));
    for ((dtype, profile, bound, level), rows) in groups {
        let means = figures.map(|f| geometric_mean(rows.iter().copied(), f).map_or("-".into(), |v| format!("{v:.2}")));
        println!("| {dtype} | {profile} | {bound} | {level} | {} |", means.join(" | "));
    }
}

/// What one core is to reach at 1e-3, as multiples of memcpy, and all cores as multiples of one: (level, profile,
/// compress, decompress).
const TARGETS: [(&str, &str, f64, f64); 5] = [
    ("avx512", "adaptive", 0.6, 0.9),
    ("avx512", "fast", 0.8, 1.1),
    ("avx2", "adaptive", 0.4, 0.6),
    ("avx512", "small", 0.25, 0.4),
    ("avx2", "small", 0.125, 0.2),
];
const TARGET_TWO_CORES: f64 = 1.7;

/// The means beside what is aimed at.
fn targets(rows: &[Value]) {
    println!("\nAgainst the targets at 1e-3, geometric means:\n");
    println!("{}", head(&["what", "type"], &["compress", "target", "decompress", "target"]));
    let show = |what: &str, dtype: &str, of: &[&Value], figures: [&str; 2], aims: [f64; 2]| {
        let means = figures.map(|f| geometric_mean(of.iter().copied(), f));
        if let [Some(there), Some(back)] = means {
            println!("| {what} | {dtype} | {there:.2} | {} | {back:.2} | {} |", aims[0], aims[1]);
        }
    };
    for dtype in ["f32", "f64"] {
        let at = |level: &str, profile: &str| -> Vec<&Value> {
            let wanted = |r: &&Value| r["level"] == level && r["profile"] == profile && r["dtype"] == dtype;
            rows.iter().filter(|r| r["bound"] == 1e-3).filter(wanted).collect()
        };
        for (level, profile, there, back) in TARGETS {
            let what = format!("{level}, {profile}: × memcpy");
            show(&what, dtype, &at(level, profile), ["compress_memcpy", "decompress_memcpy"], [there, back]);
        }
        for profile in ["adaptive", "fast"] {
            let of = at(Isa::best().level().name(), profile);
            let two = of.iter().all(|r| r["threads"] == 2);
            if two {
                let what = format!("two cores, {profile}: × one core");
                show(&what, dtype, &of, ["compress_all", "decompress_all"], [TARGET_TWO_CORES; 2]);
            }
        }
    }
}

fn main() {
    let o = options();
    if o.rows {
        return measure(&o);
    }
    let names = FIGURES.map(|(_, name)| name);
    println!("{}", head(&["level", "type", "profile", "bound", "field"], &names));
    let levels = Level::ALL.into_iter().rev().filter(|l| l.is_available() && is_wanted(*l, &o.level));
    let rows: Vec<Value> = levels.flat_map(|l| rows_of(l, &o)).collect();
    summary(&rows);
    targets(&rows);
    if let Some(path) = o.json {
        std::fs::write(&path, serde_json::to_string_pretty(&rows).expect("rows")).expect("the JSON file");
    }
}
