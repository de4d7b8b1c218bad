//! Ratios over the real fields: geometric means for each type, profile and bound, with the largest error against the
//! bound.
//!
//! `cargo bench --bench ratio [-- --fields] [--profile P] [NAME]`; with `--fields` also one line for each field; with a
//! name those alone that have it in theirs.

#[path = "fields.rs"]
mod fields;

use fields::Field;
use sleek::{Bound, DType, Params, Profile};

fn main() {
    let each = std::env::args().any(|a| a == "--fields");
    let args: Vec<String> = std::env::args().skip(1).collect();
    let at = args.iter().position(|a| a == "--profile");
    let wanted = at.map(|at| args.get(at + 1).expect("a profile behind --profile").clone());
    let is_name = |k: usize, a: &str| !a.starts_with("--") && at.is_none_or(|at| k != at + 1);
    let only = args.iter().enumerate().find(|(k, a)| is_name(*k, a)).map_or("", |(_, a)| a);
    let all = fields::load();
    println!("| type | profile | bound × range | ratio (geometric mean) | largest error / bound |");
    println!("|---|---|---|---|---|");
    for dtype in [DType::F32, DType::F64] {
        for profile in Profile::ALL.into_iter().filter(|p| wanted.as_deref().is_none_or(|w| w == p.name())) {
            for bound in [1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 0.0] {
                let of_type: Vec<&Field> = all.iter().filter(|f| f.dtype == dtype && f.name.contains(only)).collect();
                if of_type.is_empty() {
                    continue;
                }
                let results: Vec<(f64, f64)> = of_type.iter().map(|f| run(f, profile, bound)).collect();
                let mean = (results.iter().map(|r| r.0.ln()).sum::<f64>() / results.len() as f64).exp();
                let worst = results.iter().map(|r| r.1).fold(0.0, f64::max);
                let shown = if bound == 0.0 { "lossless".into() } else { format!("{bound:e}") };
                println!("| {} | {} | {shown} | {mean:.3} | {worst:.4} |", dtype.name(), profile.name());
                if each {
                    for (f, r) in of_type.iter().zip(&results) {
                        println!("|  | {} |  | {:.3} | {:.4} |", f.name, r.0, r.1);
                    }
                }
                assert!(worst <= 1.0, "the bound is broken");
            }
        }
    }
}

/// Ratio, and largest error / bound.
fn run(field: &Field, profile: Profile, bound: f64) -> (f64, f64) {
    let mut params =
        Params::new(field.dtype).with_bound(if bound == 0.0 { Bound::Lossless } else { Bound::noa(bound) });
    params.profile = profile;
    params.dims = field.dims;
    params.missing = sleek::MissingValues::number(field.fill);
    let stream = sleek::compress(&params, &field.bytes).expect("compress");
    let back = sleek::decompress(&stream).expect("decompress");
    if bound == 0.0 {
        assert!(back == field.bytes, "{}: not lossless", field.name);
        return (field.bytes.len() as f64 / stream.len() as f64, 0.0);
    }
    let abs = sleek::inspect(&stream).expect("inspect").abs_bound;
    let worst = values(field.dtype, &field.bytes)
        .zip(values(field.dtype, &back))
        .map(|(a, b)| if a.to_bits() == b.to_bits() { 0.0 } else { (a - b).abs() / abs })
        .fold(0.0, f64::max);
    (field.bytes.len() as f64 / stream.len() as f64, worst)
}

fn values(dtype: DType, bytes: &[u8]) -> impl Iterator<Item = f64> {
    bytes.chunks_exact(dtype.size()).map(move |b| match dtype {
        DType::F64 => f64::from_le_bytes(b.try_into().expect("8 bytes")),
        _ => f32::from_le_bytes(b.try_into().expect("4 bytes")).into(),
    })
}
