//! Whether a call takes the same time again and again: many calls in a row, each timed by itself.

use super::*;

/// What each of so many calls in a row took, in milliseconds, enqueued together: no time passes between them in which
/// the GPU has nothing to do.
fn each(calls: usize, mut run: impl FnMut()) -> Vec<f64> {
    let mut events: Vec<CUevent> = vec![null_mut(); calls + 1];
    for event in &mut events {
        ok(unsafe { sys::cuEventCreate(event, 0) });
    }
    (0..10).for_each(|_| run());
    for (k, event) in events.iter().enumerate() {
        ok(unsafe { sys::cuEventRecord(*event, null_mut()) });
        if k < calls {
            run();
        }
    }
    finished();
    let between = |pair: &[CUevent]| {
        let mut ms = 0f32;
        ok(unsafe { sys::cuEventElapsedTime(&mut ms, pair[0], pair[1]) });
        f64::from(ms)
    };
    let all = events.windows(2).map(between).collect();
    for event in events {
        ok(unsafe { sys::cuEventDestroy_v2(event) });
    }
    all
}

/// Prints least, median and most of the calls, how many are a tenth away from the median, and the longest row of such.
fn print(name: &str, all: &[f64]) {
    let mut sorted = all.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = sorted[sorted.len() / 2];
    let is_away = |ms: &f64| (ms / median - 1.0).abs() > 0.1;
    let longest = all.split(|ms| !is_away(ms)).map(<[f64]>::len).max().unwrap_or(0);
    let us = |ms: f64| 1e3 * ms;
    println!(
        "| {name} | {:.0} | {:.0} | {:.0} | {:.0} | {} | {longest} |",
        us(median),
        us(sorted[0]),
        us(sorted[sorted.len() * 99 / 100]),
        us(sorted[sorted.len() - 1]),
        all.iter().filter(|ms| is_away(ms)).count(),
    );
}

/// A copy, and every field and bound whose adaptive ratio is above 30, with `fast` beside it.
pub fn bench(mib: usize, calls: usize) {
    println!(
        "\n| {mib} MiB, {calls} calls in a row | median µs | least | 99 % | most | a tenth away | of these in a row |"
    );
    println!("|---|---|---|---|---|---|---|");
    let bench = Bench::new(mib, 3);
    let (src, dst) = (bench.src.at(0), bench.dst.at(0));
    let copy = || ok(unsafe { sys::cuMemcpyDtoDAsync_v2(bench.back.0, bench.src.0, bench.bytes, null_mut()) });
    print("copy", &each(calls, copy));
    for field in fields::load() {
        bench.fill(&field);
        for p in settings(&field, &[1e-1, 1e-3]).iter().filter(|p| p.bound.mode() == Mode::Noa) {
            let adaptive = Params { profile: Profile::Adaptive, ..p.clone() };
            bench.compress(&adaptive);
            let (n, _) = result(&bench.outcome);
            // The range is measured once, as a program does that knows its data.
            let range = bench.dst.read(40, 8).try_into().map(f64::from_le_bytes).unwrap_or(0.0);
            if bench.bytes < 30 * n || range <= 0.0 {
                continue;
            }
            let p = p.clone().with_bound(p.bound.of_range(Some(range)));
            let (count, room) = (bench.bytes / p.dtype.size(), bench.bytes + bench.bytes / 4096 + 4096);
            let (o, w) = (bench.outcome.at(0), bench.workspace.at(0));
            let compress = || unsafe { route::compress_async(&p, src, count, dst, room, o, w, null_mut()).unwrap() };
            let name = format!("{} {:e} {}", field.name, p.bound.number(), p.profile.name());
            print(&name, &each(calls, compress));
            assert_eq!(result(&bench.outcome).1, 0, "{name}");
        }
    }
}
