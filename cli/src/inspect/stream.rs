//! `sleek inspect` of a file of streams.

use std::process::ExitCode;

use serde_json::{Value, json};
use sleek::missing::Missing;
use sleek::{Info, MissingValue, Mode};

use crate::Outcome;
use crate::frames::FrameReader;
use crate::io::{Block, Input, say, say_json};
use crate::progress::{bytes, number, ratio};
use crate::sentinel::text;

/// The names of a stream's chunk kinds, in the order of `Info`.
const CHUNKS: [&str; 4] = ["packed", "raw", "constant", "masked"];

/// Reads the headers and the indices of all streams.
pub fn run(input: Input, as_json: bool) -> Outcome {
    let name = input.name.clone();
    let (mut reader, mut frame) = (FrameReader::new(input), Block::default());
    let (mut total, mut frames): (Option<Info>, _) = (None, 0);
    while reader.next(&mut frame)? {
        let mut info = sleek::inspect(frame.data()).map_err(|e| format!("{name}: {e}"))?;
        info.dims = reader.dims()?;
        frames += 1;
        total = Some(match total {
            Some(sum) => add(sum, &info),
            None => info,
        });
    }
    match (total, as_json) {
        (Some(info), true) => say_json(&to_json(&info, frames)),
        (Some(info), false) => print(&info, frames),
        (None, _) => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// The sum of the frames so far and another one, whose dimensions are those of all of them; what only one of them can
/// say comes from the first.
pub fn add(mut sum: Info, frame: &Info) -> Info {
    sum.count += frame.count;
    sum.dims = frame.dims;
    sum.raw_bytes += frame.raw_bytes;
    sum.stream_bytes += frame.stream_bytes;
    sum.chunks.iter_mut().zip(frame.chunks).for_each(|(s, n)| *s += n);
    // What one of them named all named. More than one stream has room for are not told.
    let found = |info: &Info| info.missing.bits()[info.missing.told().len()..].to_vec();
    let all = found(&sum).into_iter().chain(found(frame)).map(MissingValue::Bits);
    let told = sum.missing.told().iter().map(|bits| MissingValue::Bits(*bits));
    let told = Missing::named(sum.dtype, told).and_then(|told| told.and_found(sum.dtype, all));
    sum.missing = told.unwrap_or(sum.missing);
    sum
}

fn to_json(info: &Info, frames: u64) -> Value {
    json!({
        "format_version": info.version,
        "codec": codec_name(info.codec),
        "dims": info.dims.lens(),
        "dtype": info.dtype.name(),
        "big_endian": info.big_endian,
        "count": info.count,
        "raw_bytes": info.raw_bytes,
        "compressed_bytes": info.stream_bytes,
        "ratio": info.raw_bytes as f64 / info.stream_bytes as f64,
        "mode": info.mode.name(),
        "bound": info.bound,
        "range": info.range,
        "missing": missing(info)
            .map(|(bits, number, found)| json!({"bits": bits, "number": number, "found": found}))
            .collect::<Vec<_>>(),
        "abs_bound": info.abs_bound,
        "step": info.step,
        "profile": info.profile.name(),
        "frames": frames,
        "chunks": counts(info),
    })
}

/// The chunks of each kind.
fn kinds(info: &Info) -> impl Iterator<Item = (&'static str, u64)> {
    CHUNKS.into_iter().zip(info.chunks)
}

/// How many chunks there are of each kind.
pub fn counts(info: &Info) -> Value {
    kinds(info).map(|(name, n)| (name.to_owned(), json!(n))).collect()
}

/// Each missing value by its bits and as a number, and whether nobody named it.
fn missing(info: &Info) -> impl Iterator<Item = (String, f64, bool)> {
    let (digits, told) = (2 * info.dtype.size(), info.missing.told().len());
    let bits = info.missing.bits().iter().enumerate();
    bits.map(move |(k, bits)| (format!("0x{bits:0digits$x}"), info.dtype.number(*bits), k >= told))
}

/// A word on a missing value that nobody named.
pub const FOUND: &str = ", found";

pub fn codec_name(id: u8) -> &'static str {
    sleek::codec::REGISTRY.iter().find(|c| c.id() == id).map_or("unknown", |c| c.name())
}

fn print(info: &Info, frames: u64) {
    let order = if info.big_endian { ", big-endian" } else { "" };
    row("elements", &format!("{} {}{order}", info.count, info.dtype.name()));
    row("size", &format!("{} -> {}", bytes(info.raw_bytes), bytes(info.stream_bytes)));
    row("ratio", &ratio(info.raw_bytes, info.stream_bytes));
    if info.dims.rank() > 1 {
        row("dims", &info.dims.to_string());
    }
    row("bound", &bound(info));
    let missing: Vec<String> = missing(info)
        .map(|(bits, number, found)| {
            let found = if found { FOUND } else { "" };
            format!("{} ({bits}{found})", text(info.dtype, number))
        })
        .collect();
    if !missing.is_empty() {
        row("missing", &missing.join(", "));
    }
    let codec = format!("{}, profile {}, format version {}", codec_name(info.codec), info.profile.name(), info.version);
    row("codec", &codec);
    row("frames", &frames.to_string());
    row("chunks", &format!("{}: {}", info.chunks.iter().sum::<u64>(), shares(info)));
}

fn row(label: &str, value: &str) {
    say!("{label:<11}{value}");
}

/// What was asked for and what it came to.
pub fn bound(info: &Info) -> String {
    let asked = match info.mode {
        Mode::Lossless => return "lossless".into(),
        Mode::Noa => format!("noa {:e} of the value range {}", info.bound, number(info.range)),
        Mode::Rate => return format!("none: fixed rate, {} bits for each value", number(info.bound)),
        Mode::Precision => return format!("none: fixed precision, {} bits", number(info.bound)),
        mode => format!("{} {:e}", mode.name(), info.bound),
    };
    match info.mode {
        Mode::Rel => asked,
        _ if info.abs_bound > 0.0 && info.step == 0.0 => format!("{asked}: every error at most {:.4e}", info.abs_bound),
        _ if info.step > 0.0 => format!("{asked}: every error at most {:.4e}, step {:.4e}", info.abs_bound, info.step),
        _ => format!("{asked}: too small for {}, so stored losslessly", info.dtype.name()),
    }
}

/// The share of each kind of chunks that occurs.
pub fn shares(info: &Info) -> String {
    let total: u64 = info.chunks.iter().sum();
    let each = kinds(info).filter(|(_, n)| *n > 0);
    let each: Vec<String> = each.map(|(name, n)| format!("{name} {:.1} %", 100.0 * n as f64 / total as f64)).collect();
    if each.is_empty() { "no values".into() } else { each.join(", ") }
}
