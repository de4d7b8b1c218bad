//! `sleek compress --ratio`, `--size`, `--psnr`, `--ssim`.

use std::fs;

use super::{Bench, bytes_of, common, stderr};

/// A wave with noise: there is a bound for every ratio.
fn field(n: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut noise = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let value = |i: usize, noise: f64| if i % 1000 == 7 { -9999.0 } else { (i as f64 * 1e-3).sin() * 50.0 + noise };
    (0..n).flat_map(|i| (value(i, noise()) as f32).to_le_bytes()).collect()
}

/// The bound that a target came to, as the command says it.
fn came_to(bench: &Bench, args: &str) -> String {
    let out = bench.run(args);
    let said = stderr(&out);
    assert!(out.status.success(), "{args}: {said}");
    said.split(" is met by ").nth(1).unwrap_or_else(|| panic!("{said}")).split(": ").next().unwrap().to_owned()
}

/// A bound that is a little smaller or larger.
fn scaled(bound: &str, by: f64) -> String {
    format!("--abs {:e}", bound.strip_prefix("--abs ").unwrap().parse::<f64>().unwrap() * by)
}

#[test]
fn targets_are_met_and_said_as_a_bound() {
    let bench = Bench::new();
    let raw = field(200_000);
    bench.put("in", &raw);
    let compress = "compress -f --dtype f32 --fill -9999";
    for (target, more) in [
        ("--ratio 5", ""),
        ("--ratio 3.5", "--dims 200x1000 --profile small"),
        ("--size 170000", "--frame-bytes 400000"),
        ("--ratio 12", "--frame-bytes 4096 --dims 200,1000"),
    ] {
        let bound = came_to(&bench, &format!("{compress} {target} {more} in out"));
        let size = bench.get("out").len() as f64;
        let most =
            if target == "--size 170000" { 1.7e5 } else { raw.len() as f64 / target[8..].parse::<f64>().unwrap() };
        assert!(size <= most, "{target} {more}: {size} bytes, at most {most}");
        // The quantizer has four steps in each power of two: beyond 2 % it is the first of them that gets there.
        bench.ok(&format!("{compress} {} {more} in less", scaled(&bound, 0.99)));
        let less = bench.get("less").len() as f64;
        assert!(size * 1.0201 >= most || less > most, "{target} {more}: {size} bytes, {less} by less than {bound}");
        bench.ok(&format!("{compress} {bound} {more} in again"));
        assert!(bench.get("again") == bench.get("out"), "{target}: {bound}");
    }
    for db in [40.0, 73.0, 101.0] {
        let bound = came_to(&bench, &format!("{compress} --psnr {db} in out"));
        let psnr = bench.json("verify --json in out")["psnr"].as_f64().unwrap();
        assert!(psnr >= db, "{db} dB: {psnr} by {bound}");
        bench.ok(&format!("{compress} {} in out", scaled(&bound, 1.01)));
        let worse = bench.json("verify --json in out")["psnr"].as_f64().unwrap();
        assert!(psnr < db + 0.101 || worse < db, "{db} dB: {psnr}, {worse} by more than {bound}");
    }
    for ssim in [0.9, 0.9995] {
        let reached = || bench.json("verify --quality --json in out")["quality"]["ssim"].as_f64().unwrap();
        let bound = came_to(&bench, &format!("{compress} --ssim {ssim} in out"));
        let found = reached();
        assert!(found >= ssim, "{ssim}: {found} by {bound}");
        bench.ok(&format!("{compress} {} in out", scaled(&bound, 1.03)));
        assert!(1.0 - found > 0.949 * (1.0 - ssim) || reached() < ssim, "{ssim}: {found}, {} by more", reached());
    }
}

#[test]
fn targets_that_need_no_bound_or_have_none() {
    let bench = Bench::new();
    bench.put("in", &field(20_000));
    bench.put("constant", &7f32.to_le_bytes().repeat(50_000));
    assert_eq!(came_to(&bench, "compress -f --dtype f32 --fill -9999 --ratio 1.01 in out"), "--lossless");
    assert_eq!(came_to(&bench, "compress -f --dtype f32 --ratio 50 constant out"), "--lossless");
    bench.fails("compress -f --dtype f32 --fill -9999 --ratio 1e7 in new", "cannot be met");
    bench.fails("compress -f --dtype f32 --fill -9999 --size 10 in new", "cannot be met");
    bench.ok("compress -f --dtype f32 --ratio 5 in new");
    std::fs::remove_file(bench.path("new")).unwrap();
    bench.fails("compress --dtype f32 --ratio -5 in new", "--ratio -5");
    bench.fails("compress --dtype f32 --psnr 0 in new", "--psnr 0");
    bench.fails("compress --dtype f32 --ssim 1 in new", "between 0 and 1");
    bench.fails("compress --dtype f32 --size 0 in new", "--size 0");
    bench.fails("compress --dtype f32 --ratio 5 --range 3 in new", "goes with --noa");
    bench.fails("compress --dtype i32 --ratio 5 in new", "i32");
    bench.fails("h5args --ratio 5", "needs the data");
    let out = bench.piped("compress --dtype f32 --ratio 5 - new", &field(100));
    assert!(stderr(&out).contains("can be read only once"), "{}", stderr(&out));
}

/// A target that nothing meets names the nearest that can be met, which then is met. No exit code of 0 says less.
#[test]
fn targets_that_nothing_meets_name_the_nearest() {
    let bench = Bench::new();
    let mut state = 1u64;
    let mut bits = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 32) as u32
    };
    let noise: Vec<f32> = (0..20_000).map(|_| (bits() >> 8) as f32).collect();
    let mut spike: Vec<f32> = noise.iter().map(|v| v * 1e-7).collect();
    spike[777] = 3e38;
    bench.put("constant", &7f32.to_le_bytes().repeat(50));
    bench.put("nan", &(0..20_000).flat_map(|_| (0x7f80_0001 | bits() >> 10).to_le_bytes()).collect::<Vec<_>>());
    bench.put("noise", &bytes_of(&noise));
    bench.put("spike", &bytes_of(&spike));
    let compress = "compress -f --dtype f32 --no-fill";
    for (name, target) in
        [("constant", "--ratio 10"), ("constant", "--size 20"), ("nan", "--ratio 10"), ("noise", "--ratio 100000")]
    {
        let out = bench.run(&format!("{compress} {target} {name} out"));
        let said = stderr(&out);
        assert_eq!(out.status.code(), Some(2), "{name} {target}: {said}");
        assert!(said.contains(&format!("{target}: cannot be met")), "{said}");
        let nearest = said.trim_end().rsplit("the nearest that can be met is ").next().unwrap();
        came_to(&bench, &format!("{compress} {nearest} {name} out"));
    }
    bench.put("empty", b"");
    bench.ok(&format!("{compress} --ratio 10 empty out"));
    // One value that is far from all others leaves the bounds that are a part of the range too coarse for these.
    for (name, ratio) in [("noise", 2.0), ("noise", 10.0), ("spike", 2.0), ("spike", 10.0)] {
        let bound = came_to(&bench, &format!("{compress} --ratio {ratio} {name} out"));
        let found = 80_000.0 / bench.get("out").len() as f64;
        assert!((ratio..1.1 * ratio).contains(&found), "{name} {ratio}: {found} by {bound}");
    }
    // Of quality without loss there is enough.
    for name in ["noise", "nan", "constant"] {
        came_to(&bench, &format!("{compress} --psnr 3000 {name} out"));
        bench.ok("decompress -f out back");
        assert!(bench.get("back") == bench.get(name), "{name}");
    }
}

/// Squares of such values are no f64: what they give is no number, and meets nothing.
#[test]
fn targets_of_the_largest_numbers() {
    let bench = Bench::new();
    let field = |size: f64| -> Vec<u8> {
        (0..40_000)
            .flat_map(|i| (size * ((f64::from(i) * 1e-2).sin() + f64::from(i % 7) * 0.01)).to_le_bytes())
            .collect()
    };
    bench.put("usual", &field(1.0));
    for (name, size) in [("large", 2f64.powi(600)), ("largest", 2f64.powi(900)), ("small", 2f64.powi(-600))] {
        bench.put(name, &field(size));
        for target in ["--psnr 60", "--ssim 0.9999"] {
            let found = [("usual", 1.0), (name, size)].map(|(file, size)| {
                let bound =
                    came_to(&bench, &format!("compress -f --dtype f64 --dims 200x200 --no-fill {target} {file} out"));
                bound.strip_prefix("--abs ").unwrap_or_else(|| panic!("{bound}")).parse::<f64>().unwrap() / size
            });
            assert!((found[1] / found[0] - 1.0).abs() < 0.2, "{name} {target}: {found:?}");
        }
    }
}

/// The real fields: two per cent, or the smallest bound that is beyond; a PSNR never missed.
#[test]
fn targets_of_real_fields() {
    let Some(folder) = common::data_dir() else { return };
    let bench = Bench::new();
    for (name, dtype) in [("navy_uwnd_132x73x144.f32", "f32"), ("pyro_quad_state_4x256x256.f64", "f64")] {
        fs::copy(folder.join(name), bench.path("in")).unwrap();
        let raw = fs::metadata(bench.path("in")).unwrap().len() as f64;
        came_to(&bench, &format!("compress -f --dtype {dtype} --no-fill --ratio 10 in out"));
        let ratio = raw / bench.get("out").len() as f64;
        assert!((10.0..10.2).contains(&ratio), "{name}: {ratio}");
        came_to(&bench, &format!("compress -f --dtype {dtype} --no-fill --psnr 70 in out"));
        let psnr = bench.json("verify --json in out")["psnr"].as_f64().unwrap();
        assert!((70.0..71.0).contains(&psnr), "{name}: {psnr}");
    }
}
