//! What `sleek analyze` advises: for digits, a bound under which rounding brings them back; for all else nothing, with
//! a word of caution where magnitudes reach far. docs/guide/bounds.md says what it does.

use serde_json::Value;

use crate::Bench;

/// Numbers between 0 and 1, the same ones each time.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Of standard deviation 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

const COUNT: usize = 60_000;

fn smooth(i: usize) -> f64 {
    5.0 * (i as f64 * 0.01).sin() + 2.0 * (i as f64 * 0.0013).cos()
}

fn field(value: impl FnMut(usize) -> f64) -> Vec<f64> {
    (0..COUNT).map(value).collect()
}

fn advice(bench: &Bench, values: &[f64], single: bool) -> Value {
    let name = if single { "field.f32" } else { "field.f64" };
    let bytes = |v: &f64| if single { (*v as f32).to_le_bytes().to_vec() } else { v.to_le_bytes().to_vec() };
    bench.put(name, &values.iter().flat_map(bytes).collect::<Vec<u8>>());
    bench.json(&format!("analyze --json {name}"))
}

fn none(report: &Value, caution: &str) {
    let verdict = report["verdict"].as_str().unwrap();
    assert!(report["advice"].is_null() && report["digits"].is_null(), "{report}");
    assert!(verdict.starts_with("No bound is advised") && verdict.contains(caution), "{report}");
    // The words of `cd_values` for lossless: no line that is printed loses anything.
    assert_eq!(report["cd_values"][1], 0, "{report}");
}

#[test]
fn fields_without_digits() {
    let bench = Bench::new();
    let mut random = Random(5);
    let noisy = advice(&bench, &field(|i| smooth(i) + 1e-3 * random.normal()), false);
    none(&noisy, "advised: the values have no last digit in common, from which one would follow. Next: choose");
    assert_eq!(noisy["seen"].as_array().unwrap().len(), 0, "{noisy}");
    none(&advice(&bench, &field(smooth), true), "a figure: sleek repack --psnr 80.");
    bench.ok("compress -q --psnr 80 field.f32");
}

/// Coefficients of a series that decays.
#[test]
fn magnitudes_over_many_decades() {
    let mut random = Random(7);
    let series = field(|i| 360.0 * random.uniform() * 10f64.powi(-(i as i32 % 13)));
    none(&advice(&Bench::new(), &series, false), "decades, where small values may matter as much as large ones");
}

#[test]
fn decimals() {
    let bench = Bench::new();
    for k in 1..=6 {
        let scale = 10f64.powi(k);
        let mut random = Random(9);
        let rounded = field(|i| ((smooth(i) + 0.3 * random.normal() / scale) * scale).round() / scale);
        for single in [false, true] {
            let report = advice(&bench, &rounded, single);
            // Their rounding is noise of 0.29 of the last digit; under this bound rounding again brings them back.
            let expected: f64 = format!("4e-{}", k + 1).parse().unwrap();
            assert_eq!(report["advice"], expected, "{k}: {report}");
            let digits = if k == 1 { "decimals of 1 digit".into() } else { format!("decimals of {k} digits") };
            assert_eq!(report["seen"][0], digits);
        }
    }
    let mut random = Random(11);
    let table = field(|i| (random.uniform() * [360.0, 2.0, 1e4][i % 3] * 100.0).round() / 100.0);
    let report = advice(&bench, &table, false);
    assert_eq!(report["advice"], 4e-3, "{report}");
    bench.ok("compress --abs 4e-3 --no-fill field.f64 --dtype f64 field.sleek");
    bench.ok("decompress field.sleek back.f64");
    let back = bench.get("back.f64");
    for (v, r) in table.iter().zip(back.as_chunks::<8>().0) {
        assert_eq!((f64::from_le_bytes(*r) * 100.0).round() / 100.0, *v);
    }
}

/// Bits that were rounded away are named, whether they are zero or set, and what takes them.
#[test]
fn bits_that_were_rounded_away() {
    let bench = Bench::new();
    let mut random = Random(17);
    let values = field(|i| (smooth(i) + 1e-3 * random.normal()).exp());
    for (single, used, all) in [(true, 10u32, 23u32), (true, 20, 23), (false, 23, 52)] {
        let idle = all - used;
        let cut = |v: &f64, set: bool| match single {
            true => {
                let bits = (*v as f32).to_bits() >> idle << idle;
                f64::from(f32::from_bits(bits | if set { (1 << idle) - 1 } else { 0 }))
            }
            false => f64::from_bits(v.to_bits() >> idle << idle),
        };
        let zero: Vec<f64> = values.iter().map(|v| cut(v, false)).collect();
        let groomed: Vec<f64> = values.iter().enumerate().map(|(i, v)| cut(v, single && i % 2 == 1)).collect();
        for rounded in [&zero, &groomed] {
            let report = advice(&bench, rounded, single);
            let seen = report["seen"].as_array().unwrap();
            assert!(seen.iter().any(|word| *word == format!("{used} of {all} bits in use")), "{report}");
            none(&report, &format!("{used} of {all} bits of each mantissa are in use"));
        }
    }
    for single in [true, false] {
        let report = advice(&bench, &values, single);
        assert!(!report["seen"].to_string().contains("bits in use"), "{report}");
    }
}

#[test]
fn random_values_without_advice() {
    let bench = Bench::new();
    let mut random = Random(13);
    let values: Vec<f64> = (0..8000).map(|_| 360.0 * random.uniform()).collect();
    bench.put("ra.f32", &values.iter().flat_map(|v| (*v as f32).to_le_bytes()).collect::<Vec<u8>>());
    let table = String::from_utf8(bench.ok("analyze ra.f32 --dims 80,100")).unwrap();
    assert!(table.contains("No bound is advised: ") && table.contains("small: ratio of profile small"), "{table}");
    for title in ["Bounds by the value range (--noa), ", "Bounds by each value (--rel)\n"] {
        assert!(table.contains(&format!("\n\n{title}")), "{table}");
    }
    assert!(table.contains("  sleek compress --dtype f32 --lossless ra.f32 ra.f32.sleek"), "{table}");
    bench.fails("analyze ra.f32 --dims 80,99", "holds 8000 f32 elements; --dims 80x99 says 7920");
}

/// The original would be lost.
#[test]
fn the_output_is_not_the_input() {
    let bench = Bench::new();
    bench.put("x.f32", &[0; 4000]);
    bench.fails("compress --dtype f32 --abs 1e-3 -f x.f32 ./x.f32", "is the input");
    assert_eq!(bench.get("x.f32"), [0; 4000]);
}
