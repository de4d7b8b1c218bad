//! Geometric means over the rows of a table.

use sleek::{DType, Profile};

/// What was measured of one array.
pub struct Row {
    pub profile: Profile,
    pub dtype: DType,
    pub lossless: bool,
    pub ratio: f64,
    /// Multiples of memcpy.
    pub compress: f64,
    pub decompress: f64,
}

/// Which rows a mean is of, and what that is called.
type Kind = (&'static str, fn(&Row) -> bool);

/// The heading of the lines that `print` prints.
pub fn heading() {
    println!(
        "\n| MiB | profile | type | arrays | rows | ratio | compress × memcpy | least | decompress × memcpy | least \
        |\n|---|---|---|---|---|---|---|---|---|---|"
    );
}

/// Means of the rows of floats of 32 and 64 bits, by profile and by how far the arrays were compressed.
pub fn print(mib: usize, rows: &[Row]) {
    let kinds: [Kind; 4] = [
        ("lossless", |r| r.lossless),
        ("with a bound", |r| !r.lossless),
        ("of these, ratio from 3.5 on", |r| !r.lossless && r.ratio >= 3.5),
        ("from 10 on", |r| !r.lossless && r.ratio >= 10.0),
    ];
    for profile in [Profile::Fast, Profile::Adaptive] {
        for dtype in [DType::F32, DType::F64] {
            for (name, is_of) in kinds {
                let of: Vec<&Row> =
                    rows.iter().filter(|r| r.profile == profile && r.dtype == dtype && is_of(r)).collect();
                if of.is_empty() {
                    continue;
                }
                let mean = |f: fn(&Row) -> f64| (of.iter().map(|r| f(r).ln()).sum::<f64>() / of.len() as f64).exp();
                let least = |f: fn(&Row) -> f64| of.iter().map(|r| f(r)).fold(f64::INFINITY, f64::min);
                println!(
                    "| {mib} | {} | {} | {name} | {} | {:.2} | {:.3} | {:.2} | {:.3} | {:.2} |",
                    profile.name(),
                    dtype.name(),
                    of.len(),
                    mean(|r| r.ratio),
                    mean(|r| r.compress),
                    least(|r| r.compress),
                    mean(|r| r.decompress),
                    least(|r| r.decompress)
                );
            }
        }
    }
}
