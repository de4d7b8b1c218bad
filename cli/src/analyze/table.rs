//! What `sleek analyze` prints.

use serde_json::{Value, json};
use sleek::hdf5::{FILTER_ID, cd_values_of};
use sleek::printable::printable;
use sleek::{Bound, DType, MissingValue, Mode, Params};

use super::Analysis;
use super::ladder::Rung;
use crate::args::quoted;
use crate::h5args::user_defined;
use crate::io::say;
use crate::progress::{bytes, short};
use crate::quality::{Figure, Figures};
use crate::sentinel::text;

/// Columns that all tables have after their first two.
const HEAD: &str = "  ratio    small max error RMS error  PSNR   in   out";
/// What they are.
const LEGEND: &str = "small: ratio of profile small; PSNR in dB; in, out: GB/s packed, restored";

pub fn print(analysis: &Analysis) {
    let (sample, ladder) = (&analysis.sample, &analysis.ladder);
    let (lo, hi) = sample.extremes;
    let fills: Vec<String> = sample.fills().iter().filter(|f| !f.is_nan()).map(|f| text(sample.dtype, *f)).collect();
    let fill = if fills.is_empty() { String::new() } else { format!(", without the missing {}", fills.join(", ")) };
    say!("{}", printable(&sample.name));
    say!("  {} values, {}, from {} to {}{fill}", sample.count, sample.dtype.name(), short(lo), short(hi));
    let (tried, all) = (sample.bytes() as u64, sample.count * sample.dtype.size() as u64);
    say!(
        "  tried on {} of {}; PSNR and noa refer to the whole range {}",
        bytes(tried),
        bytes(all),
        short(sample.range())
    );
    let seen = analysis.seen.describe();
    if !seen.is_empty() {
        say!("  {}", in_lines(&format!("seen: {}", seen.join(", ")), 78).replace('\n', "\n  "));
    }
    if !analysis.brief {
        say!("  {LEGEND}\n\n{:>8}{:>9}{HEAD}", "", "");
        row_line("lossless", "", &ladder.lossless);
    }
    if !ladder.range.is_empty() {
        say!("\nBounds by the value range (--noa), which are absolute ones (--abs)");
        say!("{:>8}{:>9}{HEAD}", "noa", "abs");
        let mut digits = ladder.digits.as_ref();
        for row in decades(&ladder.range) {
            if let Some(d) = digits.take_if(|d| d.abs > row.abs) {
                digits_line(analysis, d);
            }
            row_line(&format!("{:e}", row.bound), &format!("{:.1e}", row.abs), row);
        }
        if let Some(d) = digits {
            digits_line(analysis, d);
        }
    }
    if !ladder.relative.is_empty() {
        say!("\nBounds by each value (--rel), and the largest error by its value");
        say!("{:>8}{:>9}{HEAD}", "rel", "largest");
        for row in decades(&ladder.relative) {
            row_line(&format!("{:e}", row.bound), &format!("{:.1e}", row.max_relative), row);
        }
    }
    figures(analysis);
    say!("\n{}", in_lines(&verdict(analysis), 80));
    commands(analysis);
}

/// The figures under each bound, and the coarsest that meets the limits.
fn figures(analysis: &Analysis) {
    let ladder = &analysis.ladder;
    if ladder.lossless.figures.is_some() {
        let shown = [Figure::Mean, Figure::Pearson, Figure::Ks, Figure::Ssim, Figure::Dssim];
        let head: String = shown.iter().map(|figure| format!("{:>13}", figure.title())).collect();
        say!("\n{:>8}{head}", "noa");
        for row in decades(&ladder.range) {
            let Some(figures) = &row.figures else { continue };
            let cells: String = shown.iter().map(|figure| format!("{:>13}", figures.words(*figure))).collect();
            say!("{:>8}{cells}", format!("{:e}", row.bound));
        }
    }
    if analysis.limits.any() {
        let words = analysis.limits.words();
        match analysis.within_limits() {
            Some(row) => {
                say!("\n{words}: met by --noa {:e} (--abs {:e}), ratio {}", row.bound, row.abs, ratio(row.ratio))
            }
            None => say!("\n{words}: MISSED by every bound that was tried; --lossless is left"),
        }
    }
}

/// Powers of ten; the rows between them are in JSON alone.
fn decades(rows: &[Rung]) -> impl Iterator<Item = &Rung> {
    rows.iter().filter(|r| format!("{:e}", r.bound).starts_with("1e"))
}

fn digits_line(analysis: &Analysis, row: &Rung) {
    row_line(&format!("*{:.1e}", row.abs / analysis.sample.range()), &format!("{:.1e}", row.abs), row);
}

fn row_line(first: &str, second: &str, row: &Rung) {
    let psnr = if row.psnr.is_finite() { format!("{:.1}", row.psnr) } else { "inf".into() };
    say!(
        "{first:>8}{second:>9}{:>7}{:>9}{:>10}{:>10}{psnr:>6}{:>5.1}{:>6.1}",
        ratio(row.ratio),
        row.smallest.map_or("-".into(), ratio),
        error(row.max_error),
        error(row.rms_error),
        row.compress_speed / 1e9,
        row.decompress_speed / 1e9,
    );
}

fn error(e: f64) -> String {
    if e == 0.0 { "0".into() } else { format!("{e:.2e}") }
}

fn ratio(r: f64) -> String {
    if r < 1000.0 { format!("{r:.2}") } else { format!("{r:.0}") }
}

/// What to do where no bound is advised. The figure is one that every field has.
const NEXT: &str = "Next: choose one from the table by what the data is for, or by a figure: sleek analyze --psnr 80.";

/// What is advised and why, or that nothing is, in a few sentences.
pub fn verdict(analysis: &Analysis) -> String {
    match &analysis.ladder.digits {
        Some(row) => format!("* Digits: abs {:e}. {}.", row.abs, digits(analysis)),
        None => {
            let caution = analysis.seen.rounded().or(analysis.seen.caution());
            let why = caution.unwrap_or("the values have no last digit in common, from which one would follow".into());
            format!("No bound is advised: {why}. {NEXT}")
        }
    }
}

fn digits(analysis: &Analysis) -> String {
    let what = match analysis.seen.grid.map(|grid| (grid.decimals, grid.spacing)) {
        Some((Some(0), _)) => "Every value is a whole number".into(),
        Some((Some(1), _)) => "Every value has at most 1 digit behind the point".into(),
        Some((Some(k), _)) if k > 0 => format!("Every value has at most {k} digits behind the point"),
        Some((_, spacing)) => format!("Every value is a multiple of {spacing:.6e}, from the smallest on"),
        None => String::new(),
    };
    format!("{what}: rounding what is restored brings every value back")
}

/// The bound that the commands show: what is advised, or nothing that could be wrong.
fn suggestion(analysis: &Analysis) -> (Params, &'static str) {
    let base = Params { missing: analysis.sample.missing, ..Params::new(DType::F32) };
    match &analysis.ladder.digits {
        Some(row) => (base.with_bound(Bound::Abs(row.abs)), "for these digits"),
        None => (Params::new(DType::F32), "lossless, as no bound is advised"),
    }
}

fn commands(analysis: &Analysis) {
    let (params, why) = suggestion(analysis);
    let bound = match params.bound.mode() {
        Mode::Lossless => "--lossless".into(),
        mode => format!("--{} {:e}", mode.name(), params.bound.number()),
    };
    let said = &analysis.sample.fill;
    let lossy = params.bound != Bound::Lossless;
    let fills = said.named.iter().filter(|_| lossy);
    let mut fill: String = fills.map(|value| format!(" --fill {}", named(value))).collect();
    if lossy && said.may_be_data {
        fill += " --no-fill";
    }
    say!("\nCommands, {why} (other bounds: sleek h5args):");
    match &analysis.sample.place {
        Some((file, dataset)) => {
            let file = quoted(&file.display().to_string());
            let request = match params.bound.mode() {
                Mode::Lossless => "lossless".into(),
                mode => format!("{}={:e}", mode.name(), params.bound.number()),
            };
            let asked = quoted(&format!("{dataset}={request}"));
            say!("  sleek repack{fill} --dataset {asked} {file} new.h5");
            say!("  h5repack -f {} {file} new.h5", quoted(&h5repack(&params, dataset)));
        }
        None => {
            let order = if analysis.sample.big_endian { " --big-endian" } else { "" };
            let (dtype, name) = (analysis.sample.dtype.name(), &analysis.sample.name);
            let [file, new] = [name.clone(), format!("{name}.sleek")].map(|name| quoted(&name));
            say!("  sleek compress --dtype {dtype}{order} {bound}{fill} {file} {new}");
        }
    }
}

/// A missing value as `--fill` takes it.
fn named(value: MissingValue) -> String {
    match value {
        MissingValue::Number(x) => text(DType::F64, x),
        MissingValue::Bits(bits) => format!("{bits:#x}"),
    }
}

/// `-f` of `h5repack` with the filter for one dataset.
fn h5repack(params: &Params, dataset: &str) -> String {
    format!("{dataset}:{}", user_defined(&cd_values_of(params)))
}

/// Broken at spaces.
fn in_lines(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().filter(|l| l.is_empty() || l.chars().count() + 1 + word.chars().count() <= width);
        match line {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => line.extend([" ", word]),
            None => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

pub fn to_json(analysis: &Analysis) -> Value {
    let (sample, ladder) = (&analysis.sample, &analysis.ladder);
    let (params, _) = suggestion(analysis);
    let mut rows = vec![row_json(&ladder.lossless)];
    rows.extend(ladder.range.iter().chain(&ladder.relative).map(row_json));
    json!({
        "field": sample.name,
        "dtype": sample.dtype.name(),
        "count": sample.count,
        "minimum": sample.extremes.0,
        "maximum": sample.extremes.1,
        "value_range": sample.range(),
        "missing": sample.fills(),
        "sample_bytes": sample.bytes(),
        "seen": analysis.seen.describe(),
        "advice": ladder.digits.as_ref().map(|row| row.abs),
        "verdict": verdict(analysis),
        "within_limits": analysis.limits.any().then(|| analysis.within_limits().map(row_json)),
        "rows": rows,
        "digits": ladder.digits.as_ref().map(|row| json!({
            "spacing": analysis.seen.grid.map(|grid| grid.spacing),
            "row": row_json(row),
        })),
        "filter_id": FILTER_ID,
        "cd_values": cd_values_of(&params),
    })
}

fn row_json(row: &Rung) -> Value {
    json!({
        "mode": row.mode.name(),
        "bound": row.bound,
        "abs_bound": row.abs,
        "ratio": row.ratio,
        "smallest_ratio": row.smallest,
        "bits_per_value": row.bits,
        "max_error": row.max_error,
        "max_relative_error": row.max_relative,
        "rms_error": row.rms_error,
        "psnr": row.psnr,
        "quality": row.figures.as_ref().map(Figures::to_json),
        "compress_bytes_per_second": row.compress_speed,
        "decompress_bytes_per_second": row.decompress_speed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_spaces() {
        assert_eq!(in_lines("one two three", 7), "one two\nthree");
        assert_eq!(in_lines("", 7), "");
        assert_eq!((short(0.0012345678), short(-2e9)), ("0.0012346".into(), "-2e9".into()));
    }
}
