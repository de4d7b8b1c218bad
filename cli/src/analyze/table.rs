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
use crate::sentinel::text;

/// Columns that all tables have after their first two.
const HEAD: &str = "  ratio    small max error RMS error  PSNR";
/// What they are.
const LEGEND: &str = "small: ratio of profile small; PSNR in dB";
/// What to do where no bound is advised. The figure is one that every field has.
const NEXT: &str = "Next: choose one from the table by what the data is for, or by a figure, such as --psnr 80.";

pub fn print(analysis: &Analysis) {
    let (sample, ladder) = (&analysis.sample, &analysis.ladder);
    let (lo, hi) = sample.extremes;
    let fills: Vec<String> = sample.fills().iter().filter(|f| !f.is_nan()).map(|f| text(sample.dtype, *f)).collect();
    let fill = if fills.is_empty() { String::new() } else { format!(", without the missing {}", fills.join(", ")) };
    say!("{}", printable(&sample.name));
    say!("  {} values, {}, from {} to {}{fill}", sample.count, sample.dtype.name(), short(lo), short(hi));
    let (tried, all) = (sample.bytes() as u64, sample.count * sample.dtype.size() as u64);
    let range = short(sample.range());
    say!("  tried on {} of {}; PSNR and noa refer to the whole range {range}", bytes(tried), bytes(all));
    let seen = analysis.seen.describe();
    if !seen.is_empty() {
        say!("  seen: {}", seen.join(", "));
    }
    say!("  {LEGEND}\n\n{:>8}{:>9}{HEAD}", "", "abs");
    row_line("lossless", &ladder.lossless);
    ladder.digits.iter().for_each(|rung| row_line("digits", rung));
    for (title, name, rungs) in [
        ("Bounds by the value range (--noa), which are absolute ones (--abs)", "noa", &ladder.range),
        ("Bounds by each value (--rel)", "rel", &ladder.relative),
    ] {
        if !rungs.is_empty() {
            say!("\n{title}\n{name:>8}{:>9}{HEAD}", if name == "noa" { "abs" } else { "" });
            rungs.iter().for_each(|rung| row_line(&format!("{:e}", rung.bound), rung));
        }
    }
    say!("\n{}", verdict(analysis));
    commands(analysis);
}

fn row_line(first: &str, rung: &Rung) {
    let abs = if rung.abs > 0.0 { format!("{:.1e}", rung.abs) } else { String::new() };
    let error = |e: f64| if e == 0.0 { "0".into() } else { format!("{e:.2e}") };
    say!(
        "{first:>8}{abs:>9}{:>7}{:>9}{:>10}{:>10}{:>6.1}",
        ratio(rung.ratio),
        rung.smallest.map_or("-".into(), ratio),
        error(rung.max_error),
        error(rung.rms_error),
        rung.psnr,
    );
}

fn ratio(r: f64) -> String {
    if r < 1000.0 { format!("{r:.2}") } else { format!("{r:.0}") }
}

/// What is advised and why, or that nothing is, in a few sentences.
fn verdict(analysis: &Analysis) -> String {
    match (&analysis.ladder.digits, analysis.seen.grid) {
        (Some(rung), Some(grid)) => {
            let words = grid.words();
            format!("Digits: abs {:e}. Seen: {words}; rounding what is restored brings every value back.", rung.abs)
        }
        _ => {
            let no_digit = "the values have no last digit in common, from which one would follow";
            let why = analysis.seen.caution().unwrap_or(no_digit.into());
            format!("No bound is advised: {why}. {NEXT}")
        }
    }
}

/// The bound that the commands show: what is advised, or nothing that could be wrong.
fn suggestion(analysis: &Analysis) -> (Params, &'static str) {
    let base = Params { missing: analysis.sample.missing, ..Params::new(DType::F32) };
    match &analysis.ladder.digits {
        Some(rung) => (base.with_bound(Bound::Abs(rung.abs)), "for these digits"),
        None => (Params::new(DType::F32), "lossless, as no bound is advised"),
    }
}

fn commands(analysis: &Analysis) {
    let (params, why) = suggestion(analysis);
    let said = &analysis.sample.fill;
    let (bound, request, fill) = match params.bound.mode() {
        Mode::Lossless => ("--lossless".into(), "lossless".into(), String::new()),
        mode => {
            let number = params.bound.number();
            let mut fill: String = said.named.iter().map(|value| format!(" --fill {}", named(value))).collect();
            fill += if said.may_be_data { " --no-fill" } else { "" };
            (format!("--{} {number:e}", mode.name()), format!("{}={number:e}", mode.name()), fill)
        }
    };
    say!("\nCommands, {why} (other bounds: sleek h5args):");
    match &analysis.sample.place {
        Some((file, dataset)) => {
            let file = quoted(&file.display().to_string());
            say!("  sleek repack{fill} --dataset {} {file} new.h5", quoted(&format!("{dataset}={request}")));
            let filter = format!("{dataset}:{}", user_defined(&cd_values_of(&params)));
            say!("  h5repack -f {} {file} new.h5", quoted(&filter));
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

pub fn to_json(analysis: &Analysis) -> Value {
    let (sample, ladder) = (&analysis.sample, &analysis.ladder);
    let (params, _) = suggestion(analysis);
    let rows = std::iter::once(&ladder.lossless).chain(&ladder.range).chain(&ladder.relative).map(row_json);
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
        "advice": ladder.digits.as_ref().map(|rung| rung.abs),
        "verdict": verdict(analysis),
        "rows": rows.collect::<Vec<_>>(),
        "digits": ladder.digits.as_ref().map(|rung| json!({
            "spacing": analysis.seen.grid.map(|grid| grid.spacing()),
            "row": row_json(rung),
        })),
        "filter_id": FILTER_ID,
        "cd_values": cd_values_of(&params),
    })
}

fn row_json(rung: &Rung) -> Value {
    json!({
        "mode": rung.mode.name(),
        "bound": rung.bound,
        "abs_bound": rung.abs,
        "ratio": rung.ratio,
        "smallest_ratio": rung.smallest,
        "max_error": rung.max_error,
        "rms_error": rung.rms_error,
        "psnr": rung.psnr,
    })
}
