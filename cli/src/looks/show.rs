//! `sleek show`: a picture of a field, of which no more is decoded than is seen.

use std::path::PathBuf;
use std::process::ExitCode;

use sleek::DType;
use sleek::advise::elements;
use sleek::printable::printable;

use super::picture::PlaneMap;
use crate::Outcome;
use crate::args::{self, Threads, Verbosity};
use crate::decompress::Whole;
use crate::decompress::hdf5::{Variable, rows};
use crate::frames::{FrameReader, header};
use crate::grid::{self, on_grid};
use crate::hdf5::dataset::{Block, Field};
use crate::inspect::dataset::Dataset;
use crate::inspect::stream::bound;
use crate::io::{self, Input, Output, say, tell, zeroed};
use crate::progress::{ratio, short};
use crate::verify::promise::Promise;

/// Points along each side of a picture, at most, and characters of a line.
const POINTS: u64 = 2000;
const CHARACTERS: u64 = 100;

/// Draw a slice of a compressed file or of a variable of an HDF5 file, at a stride at which it fits
#[derive(clap::Args)]
pub struct Args {
    /// The picture, as SVG with axes and a colour bar, or with a name in .png the map alone
    #[arg(short, long, value_name = "OUT", value_parser = picture, required_unless_present = "text")]
    output: Option<PathBuf>,
    /// Show blocks in the terminal
    #[arg(long, conflicts_with = "output")]
    text: bool,
    /// The slice that holds the element with these indices, the slowest first [default: the middle]
    #[arg(long, value_name = "I,I,…", value_delimiter = ',')]
    at: Vec<u64>,
    /// Show every so many-th element, a power of two [default: the least that gives 2000 points a side, 100 in a
    /// terminal]
    #[arg(long, value_name = "N", value_parser = grid::level)]
    stride: Option<u32>,
    #[command(flatten)]
    library: crate::hdf5::LibraryArg,
    #[command(flatten)]
    threads: Threads,
    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    verbosity: Verbosity,
    /// The compressed file, or FILE.nc:NAME, a variable of an HDF5 file
    #[arg(value_name = "FILE[:NAME]")]
    input: PathBuf,
}

/// The name of a file for a picture.
fn picture(name: &str) -> Result<PathBuf, String> {
    match name.ends_with(".svg") || name.ends_with(".png") {
        true => Ok(name.into()),
        false => Err("a name that ends in .svg or .png is needed".into()),
    }
}

struct Slice {
    /// The axes down and to the right.
    axes: [usize; 2],
    whole: Block,
    level: u32,
    /// What of it is on the grid.
    thin: Block,
}

impl Slice {
    /// Of an array of these dimensions.
    fn new(args: &Args, dims: &[u64]) -> Result<Slice, String> {
        if dims.contains(&0) {
            return Err(format!("{}: has no element to be shown: its dimensions are {dims:?}", args.input.display()));
        }
        let long: Vec<usize> = (0..dims.len()).filter(|k| dims[*k] > 1).collect();
        let axes = match long[..] {
            [.., y, x] => [y, x],
            _ => [dims.len().saturating_sub(2), dims.len().max(1) - 1],
        };
        let middle: Vec<u64> = dims.iter().map(|len| len / 2).collect();
        let at = if args.at.is_empty() { &middle } else { &args.at };
        if at.len() != dims.len() || at.iter().zip(dims).any(|(at, len)| at >= len) {
            return Err(format!("--at {at:?}: is no element of an array of the dimensions {dims:?}"));
        }
        let most = if args.text { CHARACTERS } else { POINTS };
        let needed = axes.iter().map(|k| dims[*k].div_ceil(most).next_power_of_two().trailing_zeros()).max();
        let level = args.stride.unwrap_or(needed.unwrap_or(0));
        let (mut start, mut count) = (at.clone(), vec![1; dims.len()]);
        for k in 0..dims.len() {
            if axes.contains(&k) {
                (start[k], count[k]) = (0, dims[k]);
            } else if k + sleek::container::GRID_AXES >= dims.len() {
                start[k] = start[k] >> level << level;
            }
        }
        let thin = on_grid(&start, &count, level);
        Ok(Slice { axes, whole: Block { start, count }, level, thin: Block { start: thin.0, count: thin.1 } })
    }

    /// The numbers of bytes, without those that stand for nothing.
    fn plane(&self, bytes: &[u8], (dtype, big_endian): (DType, bool), marks: &[u64]) -> PlaneMap {
        let marks: Vec<f64> = marks.iter().map(|bits| dtype.number(*bits)).collect();
        let mut values = Vec::new();
        elements::for_each_pair(dtype, big_endian, bytes, bytes, |(_, v), _| {
            values.push(if marks.contains(&v) { f64::NAN } else { v });
        });
        let [y, x] = self.axes;
        let columns = self.thin.count[x] as usize;
        let step = |k: usize| self.whole.count[k].div_ceil(self.thin.count[k].max(1)).next_power_of_two();
        PlaneMap { rows: values.len() / columns.max(1), columns, values, steps: [y, x].map(step), caption: Vec::new() }
    }

    /// Where it lies, in words.
    fn words(&self) -> String {
        let stride = match 1u64 << self.level {
            1 => String::new(),
            n => format!(", every {n}th element"),
        };
        let place = |k: usize| if self.axes.contains(&k) { ":".into() } else { self.whole.start[k].to_string() };
        let places: Vec<String> = (0..self.whole.start.len()).map(place).collect();
        format!("[{}]{stride}", places.join(", "))
    }
}

pub fn run(args: &Args) -> Outcome {
    args.threads.apply()?;
    if let Some(path) = &args.output {
        io::check_place(path, args.force)?;
    }
    let plane = match Variable::expect(&args.input)? {
        Some(variable) => {
            let library = args.library.library.as_deref();
            variable.with(library, |field| of_dataset(args, &field))?
        }
        None => of_streams(args)?,
    };
    let Some(path) = &args.output else {
        plane.caption.iter().for_each(|line| say!("{line}"));
        plane.text().iter().for_each(|line| say!("{line}"));
        let (low, high) = plane.range().unwrap_or((f64::NAN, f64::NAN));
        say!("' ' {} … '█' {}; '·' is missing", short(low), short(high));
        return Ok(ExitCode::SUCCESS);
    };
    let is_png = path.extension().is_some_and(|end| end == "png");
    let picture = if is_png { plane.png() } else { plane.svg() };
    let like = std::fs::metadata(crate::hdf5::split(&args.input).0).ok();
    let mut output = Output::create(path, args.force, like)?;
    output.write(&picture.map_err(|e| format!("{}: {e}", path.display()))?)?;
    output.finish()?;
    if !args.verbosity.quiet {
        tell(&format!("{}: {}", path.display(), plane.caption.join("; ")));
    }
    Ok(ExitCode::SUCCESS)
}

fn of_dataset(args: &Args, field: &Field) -> Result<PlaneMap, String> {
    let name = args.input.display().to_string();
    if !field.is_of_numbers() {
        return Err(format!("{name}: {}, not single numbers", field.stored.what));
    }
    let (slice, known, promise) = (Slice::new(args, &field.dims)?, Dataset::of(field)?, Promise::of(field)?);
    let (mut bytes, fill) = (zeroed(field.block_bytes(&slice.thin))?, field.fill_bytes());
    bytes.chunks_exact_mut(fill.len()).for_each(|element| element.copy_from_slice(&fill));
    field.each_on_grid(
        &slice.whole,
        slice.level,
        |_| Ok(()),
        |part, some| {
            rows(field.size, &slice.thin, part, &some, |at, row| {
                bytes[at as usize..][..row.len()].copy_from_slice(row);
                Ok(())
            })
        },
    )?;
    let seen = known.coded.info.iter().flat_map(|info| info.missing.bits().to_vec());
    let marks: Vec<u64> = promise.marks(field, field)?.into_iter().chain(seen).collect();
    let mut plane = slice.plane(&bytes, (field.stored.dtype, field.stored.big_endian), &marks);
    let [about, units] = field.about().map(|text| printable(&text).into_owned());
    let units = if units.is_empty() { units } else { format!(" [{units}]") };
    let title = if about.is_empty() { field.name.clone() } else { about };
    let bound = if known.request.is_some() { promise.words() } else { "as it is stored".into() };
    plane.caption = vec![
        format!("{title}{units}"),
        format!("{name}  {} {}", known.dtype, slice.words()),
        format!("{bound}, ratio {}", ratio(known.raw_bytes, known.stored_bytes)),
    ];
    Ok(plane)
}

fn of_streams(args: &Args) -> Result<PlaneMap, String> {
    let name = args.input.display().to_string();
    let (first, dims) = FrameReader::new(Input::open(&args.input)?).survey()?;
    let (slice, size) = (Slice::new(args, dims.lens())?, first.layout.dtype.size());
    let mut bytes = zeroed(slice.thin.count.iter().product::<u64>() as usize * size)?;
    let (mut reader, mut frame) = (FrameReader::new(Input::open(&args.input)?), io::Block::default());
    let (mut marks, mut all, mut block) = (Vec::new(), None, io::Block::default());
    let lens = slice.whole.count.iter().map(|len| Some(*len)).collect();
    let of_box = args::Slice { start: slice.whole.start.clone(), lens };
    let mut whole = Whole::new(Some(&of_box), slice.level);
    while reader.next(&mut frame)? {
        let info = sleek::inspect(frame.data()).map_err(|e| format!("{name}: {e}"))?;
        if let Some(part) = whole.part_of(&header(&frame)?) {
            part.restore(&frame, &mut block).map_err(|e| format!("{name}: {e}"))?;
            let (start, count) = part.on_grid();
            rows(size as u64, &slice.thin, &Block { start, count }, block.data(), |at, row| {
                bytes[at as usize..][..row.len()].copy_from_slice(row);
                Ok(())
            })?;
        }
        marks.extend(info.missing.bits().to_vec());
        all = Some(match all {
            Some(sum) => crate::inspect::stream::add(sum, &info),
            None => info,
        });
    }
    let mut plane = slice.plane(&bytes, (first.layout.dtype, first.big_endian), &marks);
    plane.caption = vec![name, format!("{} {dims} {}", first.layout.dtype.name(), slice.words())];
    plane
        .caption
        .extend(all.map(|info| format!("{}, ratio {}", bound(&info), ratio(info.raw_bytes, info.stream_bytes))));
    Ok(plane)
}
