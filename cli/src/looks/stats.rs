//! `sleek stats`: what a field holds, in a few numbers.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;
use sleek::{ChunkRange, Info, Mode};

use crate::Outcome;
use crate::args::Threads;
use crate::decompress::hdf5::Variable;
use crate::frames::FrameReader;
use crate::io::{Block, Input, say, say_json};
use crate::progress::figure;

const AFTER_HELP: &str = "Numbers are those that come back, chunk after chunk decoded and none kept. Behind ± stands \
how far those before compression may be from them at most, by the bound.";

/// Tell what a compressed file or a variable of an HDF5 file holds: how many values, the least, the largest, and the
/// mean with a guaranteed interval
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print what each chunk holds, too: numbers, missing values, NaN, least, largest
    #[arg(long)]
    chunks: bool,
    #[command(flatten)]
    library: crate::hdf5::LibraryArg,
    #[command(flatten)]
    threads: Threads,
    /// The compressed file, or FILE.nc:NAME, a variable of an HDF5 file
    #[arg(value_name = "FILE[:NAME]")]
    input: PathBuf,
}

struct Stats {
    name: String,
    dtype: &'static str,
    dims: Vec<u64>,
    all: ChunkRange,
    /// Elements of chunks that were never written.
    absent: u64,
    /// The sum of the largest errors that numbers may have, and the largest of all; none where nothing is promised.
    errors: Option<(f64, f64)>,
    /// What each chunk holds, if that is wanted.
    chunks: Option<Vec<ChunkRange>>,
}

impl Stats {
    fn new(args: &Args, dtype: &'static str) -> Stats {
        Stats {
            name: args.input.display().to_string(),
            dtype,
            dims: Vec::new(),
            all: ChunkRange::NONE,
            absent: 0,
            errors: Some((0.0, 0.0)),
            chunks: args.chunks.then(Vec::new),
        }
    }

    /// Adds what has a bound of this much, or none.
    fn add(&mut self, range: &ChunkRange, bound: Option<f64>) {
        self.chunks.iter_mut().for_each(|chunks| chunks.push(*range));
        self.all.add(range);
        let both = self.errors.zip(bound);
        self.errors = both.map(|((sum, largest), bound)| (sum + bound * range.count as f64, largest.max(bound)));
    }

    fn print(&self, as_json: bool) {
        let all = &self.all;
        let shape: Vec<String> = self.dims.iter().map(u64::to_string).collect();
        let mean = self.errors.map_or((all.mean(0.0).0, f64::INFINITY), |(sum, _)| all.mean(sum / all.count as f64));
        let bound = self.errors.map_or(f64::INFINITY, |(_, largest)| largest);
        if as_json {
            let finite = |x: f64| if x.is_finite() { json!(x) } else { json!(null) };
            let number = |x: f64| if all.count > 0 { finite(x) } else { json!(null) };
            let of_chunk = |range: &ChunkRange| {
                let ChunkRange { least, most, count, missing, nan, .. } = *range;
                json!({"count": count, "missing": missing, "nan": nan, "min": finite(least), "max": finite(most)})
            };
            let mut told = json!({
                "name": self.name, "dtype": self.dtype, "dims": self.dims, "count": all.count, "missing": all.missing,
                "nan": all.nan, "not_written": self.absent, "min": number(all.least), "max": number(all.most),
                "mean": number(mean.0), "bound": number(bound), "mean_within": number(mean.1),
            });
            if let Some(chunks) = &self.chunks {
                told["chunks"] = chunks.iter().map(of_chunk).collect();
            }
            return say_json(&told);
        }
        for ChunkRange { least, most, count, missing, nan, .. } in self.chunks.iter().flatten() {
            say!("{count:>10} {missing:>10} {nan:>10} {least:>12.4e} {most:>12.4e}");
        }
        say!("{}  {} {}", self.name, self.dtype, shape.join("x"));
        say!("{:<13}{}", "numbers", all.count);
        for (label, n) in [("missing", all.missing), ("NaN", all.nan), ("not written", self.absent)] {
            if n > 0 {
                say!("{label:<13}{n}");
            }
        }
        if all.count == 0 {
            return;
        }
        let within = |x: f64| match x {
            0.0 => String::new(),
            x if x.is_finite() => format!(" ± {x:.3e}"),
            _ => " (nothing is promised)".into(),
        };
        say!("{:<13}{}{}", "min", figure(all.least), within(bound));
        say!("{:<13}{}{}", "max", figure(all.most), within(bound));
        say!("{:<13}{}{}", "mean", figure(mean.0), within(mean.1));
    }
}

/// The largest absolute error of numbers that came back in a range.
fn absolute(mode: Mode, bound: f64, abs_bound: f64, range: &ChunkRange) -> Option<f64> {
    match mode {
        Mode::Lossless => Some(0.0),
        Mode::Abs | Mode::Noa => Some(abs_bound),
        // |v| ≤ |r| / (1 − bound)
        Mode::Rel if range.count == 0 => Some(0.0),
        Mode::Rel if bound < 1.0 => {
            let largest = range.least.abs().max(range.most.abs());
            Some((largest * bound / (1.0 - bound)).next_up().next_up())
        }
        _ => None,
    }
}

pub fn run(args: &Args) -> Outcome {
    args.threads.apply()?;
    if let Some(variable) = Variable::expect(&args.input)? {
        let library = args.library.library.as_deref();
        let stats = variable.with(library, |field| of_dataset(&field, args))?;
        stats.print(args.json);
        return Ok(ExitCode::SUCCESS);
    }
    of_streams(args)?.print(args.json);
    Ok(ExitCode::SUCCESS)
}

fn of_streams(args: &Args) -> Result<Stats, String> {
    let mut stats = Stats::new(args, "");
    let (mut reader, mut frame) = (FrameReader::new(Input::open(&args.input)?), Block::default());
    while reader.next(&mut frame)? {
        let blame = |e: sleek::Error| format!("{}: {e}", stats.name);
        let Info { dtype, mode, bound, abs_bound, .. } = sleek::inspect(frame.data()).map_err(blame)?;
        stats.dtype = dtype.name();
        let ranges = sleek::chunk_ranges(frame.data()).map_err(blame)?;
        ranges.iter().for_each(|range| stats.add(range, absolute(mode, bound, abs_bound, range)));
    }
    stats.dims = reader.dims()?.lens().to_vec();
    Ok(stats)
}

fn of_dataset(field: &crate::hdf5::dataset::Field, args: &Args) -> Result<Stats, String> {
    use crate::hdf5::dataset::Block;
    use crate::verify::promise::Promise;

    if !field.is_of_numbers() {
        return Err(format!("{}: {}, not single numbers", args.input.display(), field.stored.what));
    }
    let (dtype, promise) = (field.stored.dtype, Promise::of(field)?);
    // What nobody named is a number: the filter searches chunk by chunk, with what HDF5 puts behind a field's end.
    let marks = promise.marks(field, field)?;
    let mut stats = Stats { dims: field.dims.clone(), ..Stats::new(args, dtype.name()) };
    let chunks = field.blocks_in_chunks()?;
    let big_endian = field.stored.big_endian;
    let work = |_: &Block, bytes: Vec<u8>| Ok(ChunkRange::of(dtype, big_endian, &marks, &bytes));
    field.each_chunk(&chunks, work, |chunk, range| {
        let (mode, limit) = (promise.bound.mode(), promise.limit(field, chunk)?);
        stats.add(&range, absolute(mode, limit, limit, &range));
        Ok(())
    })?;
    let seen = stats.all.count + stats.all.missing + stats.all.nan;
    stats.absent = field.dims.iter().product::<u64>() - seen;
    Ok(stats)
}
