//! `sleek decompress`

pub mod hdf5;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sleek::Dims;
use sleek::container::{Header, Region};

use crate::args::{self, Slice, Threads, Verbosity};
use crate::foreign::foreign;
use crate::frames::{self, FrameReader, SUFFIX};
use crate::io::{Block, Input, Output, tell};
use crate::progress::{Array, Progress, summary};
use crate::{Outcome, grid, npy, pipeline};

/// Restore an array, as plain bytes or an NPY file; an HDF5 file without our filter, or a variable
#[derive(clap::Args)]
pub struct Args {
    /// Restore a box of the array only: START:LEN along each of its dimensions, the slowest first; START: or : to the
    /// end
    #[arg(long = "box", value_name = "START:LEN,…", value_parser = args::slice)]
    slice: Option<Slice>,
    /// Restore every so many-th element along the last three dimensions only: a power of two
    #[arg(long, value_name = "N", value_parser = grid::level, default_value = "1", hide_default_value = true)]
    stride: u32,
    /// Write an NPY file, as where the name of OUT ends in .npy
    #[arg(long)]
    npy: bool,
    #[command(flatten)]
    library: crate::hdf5::LibraryArg,
    #[command(flatten)]
    threads: Threads,
    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    verbosity: Verbosity,
    /// The compressed file; - is standard input. FILE.nc:NAME is a variable of an HDF5 file
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The array, as the plain bytes of its elements, or with a name in .npy as an NPY file; - is standard
    /// output [default: IN without its .sleek, - of standard input]
    #[arg(value_name = "OUT")]
    output: Option<PathBuf>,
}

pub fn run(args: &Args) -> Outcome {
    args.threads.apply()?;
    if let Some(variable) = hdf5::Variable::named(&args.input) {
        return variable.write(args);
    }
    if crate::hdf5::is_hdf5(&args.input) {
        return hdf5::whole(args);
    }
    let mut input = Input::open(&args.input)?;
    if let Some(what) = foreign(&mut input)? {
        return Err(format!("{}: is {what}", input.name));
    }
    let (known, mut told) = (known_dims(args, &input)?, None);
    let mut output = Output::create(args.output()?, args.force, input.rights.clone())?;
    let mut progress = Progress::new("restoring", input.bytes, args.verbosity.quiet);
    let (from, to) = (input.name.clone(), output.name.clone());
    let (mut bytes_in, mut bytes_out) = (0, 0);
    let mut reader = FrameReader::new(input);
    let mut last = Dims::NONE;
    let mut whole = (args.slice.is_some() || args.stride > 0).then(|| Whole::new(args.slice.as_ref(), args.stride));
    pipeline::run(
        |frame| {
            let is_one = reader.next(frame)?;
            last = reader.dims()?;
            Ok(is_one)
        },
        |frame, outlet| {
            let header = frames::header(frame)?;
            if args.is_npy() && told.is_none() {
                let (bytes, dims) = npy_header(args, known, &header, &from)?;
                let mut block = outlet.block()?;
                block.keep_bytes(&bytes)?;
                outlet.send(block)?;
                told = Some(dims);
            }
            let mut send = |restore: &dyn Fn(&mut Block) -> Result<(), String>| {
                let mut block = outlet.block()?;
                restore(&mut block).map_err(|e| format!("{from}: {e}"))?;
                bytes_out += block.data().len() as u64;
                outlet.send(block)
            };
            match &mut whole {
                Some(whole) => {
                    if let Some(part) = whole.part_of(&header) {
                        send(&|block| part.restore(frame, block))?;
                    }
                }
                None => {
                    for piece in frames::pieces(&header) {
                        send(&|block| piece.restore(frame, block))?;
                    }
                }
            }
            bytes_in += frame.data().len() as u64;
            progress.add(frame.data().len() as u64);
            Ok(())
        },
        |data| output.write(data),
    )?;
    if let Some(whole) = &whole {
        whole.check().map_err(|e| format!("--box: {from}: {e}"))?;
    }
    if let Some(told) = told.filter(|told| *told != last) {
        return Err(format!("{from}: changed from {told} to {last} while it was read"));
    }
    output.finish()?;
    let time = progress.finish();
    if !args.verbosity.quiet {
        tell(&summary(Array::Out, &from, &to, bytes_in, bytes_out, time));
    }
    Ok(ExitCode::SUCCESS)
}

impl Args {
    /// Whether an NPY file is to be written.
    fn is_npy(&self) -> bool {
        self.npy || self.output().is_ok_and(npy::is_name)
    }

    fn output(&self) -> Result<&Path, String> {
        let text = self.input.to_str().unwrap_or_default();
        let is_pipe = (text == "-").then_some("-");
        let beside = text.strip_suffix(SUFFIX).filter(|name| !name.is_empty()).or(is_pipe).map(Path::new);
        self.output.as_deref().or(beside).ok_or_else(|| format!("OUT: is needed, as {text} does not end in {SUFFIX}"))
    }
}

/// The dimensions of the whole array, where the header of an NPY file is to tell them before all elements: of a regular
/// file, which can be read twice.
fn known_dims(args: &Args, input: &Input) -> Result<Option<Dims>, String> {
    match args.is_npy() && input.bytes.is_some() {
        true => FrameReader::new(Input::open(&args.input)?).survey().map(|(_, dims)| Some(dims)),
        false => Ok(None),
    }
}

/// The header of an NPY file, and the dimensions of the whole array, which the first stream tells where they are not
/// known.
fn npy_header(args: &Args, known: Option<Dims>, first: &Header, from: &str) -> Result<(Vec<u8>, Dims), String> {
    let dims = match known {
        Some(dims) => dims,
        None if first.more => {
            return Err(format!(
                "{from}: has several streams, and the header of an NPY file tells how long they are together: a file \
                 is needed that can be read twice"
            ));
        }
        None => first.layout.shape.dims,
    };
    let (start, lens) = match &args.slice {
        None => (vec![0; dims.rank()], dims.lens().to_vec()),
        Some(slice) => {
            let region = slice.region_in(&dims).map_err(|e| format!("--box: {from}: {e}"))?;
            (region.start().to_vec(), region.lens().to_vec())
        }
    };
    let lens = grid::on_grid(&start, &lens, args.stride).1;
    Ok((npy::header(first.layout.dtype, first.big_endian, &lens), dims))
}

/// A box of the whole array, of which each frame has a part, or what of it is on a grid.
pub struct Whole<'a> {
    slice: Option<&'a Slice>,
    level: u32,
    /// The dimensions of all frames so far.
    lens: Vec<u64>,
    axis: usize,
}

/// A box of a frame that begins at a place in the whole array.
pub struct SlicePart {
    at: Vec<u64>,
    start: Vec<u64>,
    lens: Vec<u64>,
    level: u32,
    size: usize,
}

impl Whole<'_> {
    pub fn new(slice: Option<&Slice>, level: u32) -> Whole<'_> {
        Whole { slice, level, lens: Vec::new(), axis: 0 }
    }

    /// What the next frame has of the box. Nothing where the box lies beyond the array, for which `check` has the
    /// words.
    pub fn part_of(&mut self, header: &Header) -> Option<SlicePart> {
        let dims = header.layout.shape.dims;
        if self.lens.is_empty() {
            (self.lens, self.axis) = (dims.lens().to_vec(), frames::axis_of(header));
            self.lens[self.axis] = 0;
        }
        let before = self.lens[self.axis];
        let here = dims.lens()[self.axis];
        self.lens[self.axis] = before.saturating_add(here);
        let (mut start, mut lens) = (vec![0; dims.rank()], dims.lens().to_vec());
        if let Some(slice) = self.slice {
            if slice.start.len() != dims.rank() {
                return None;
            }
            (start, lens) = slice.resolved(dims.lens());
            // Along the axis of the frames the box is cut to what the frame has.
            let first = slice.start[self.axis];
            let end = slice.lens[self.axis].map_or(u64::MAX, |len| first.saturating_add(len));
            let (from, to) = (first.max(before), end.min(self.lens[self.axis]));
            (start[self.axis], lens[self.axis]) = (from.saturating_sub(before), to.saturating_sub(from));
        }
        let region = Region::new(&dims, &start, &lens).ok()?;
        let mut at = vec![0; dims.rank()];
        at[self.axis] = before;
        let part = SlicePart { at, start, lens, level: self.level, size: header.layout.dtype.size() };
        (region.count() > 0 && part.on_grid().1.iter().all(|len| *len > 0)).then_some(part)
    }

    /// Refuses a box that does not lie in the whole array.
    fn check(&self) -> Result<(), String> {
        let dims = Dims::new(&self.lens).map_err(|e| e.message)?;
        self.slice.map_or(Ok(()), |slice| slice.region_in(&dims).map(drop))
    }
}

impl Slice {
    /// Where it starts and how long it is in an array of these dimensions, of which there are as many.
    fn resolved(&self, dims: &[u64]) -> (Vec<u64>, Vec<u64>) {
        let rest = |k: usize| dims[k].saturating_sub(self.start[k]);
        (self.start.clone(), self.lens.iter().enumerate().map(|(k, len)| len.unwrap_or_else(|| rest(k))).collect())
    }

    /// The box in an array; an error where it does not lie in it.
    fn region_in(&self, dims: &Dims) -> Result<Region, String> {
        let (start, lens) = match self.start.len() == dims.rank() {
            true => self.resolved(dims.lens()),
            false => (self.start.clone(), Vec::new()),
        };
        Region::new(dims, &start, &lens).map_err(|e| e.message)
    }
}

impl SlicePart {
    /// What of it is on the grid of the whole array.
    pub fn on_grid(&self) -> (Vec<u64>, Vec<u64>) {
        let start: Vec<u64> = self.start.iter().zip(&self.at).map(|(start, at)| start + at).collect();
        grid::on_grid(&start, &self.lens, self.level)
    }

    pub fn restore(&self, frame: &Block, block: &mut Block) -> Result<(), String> {
        if self.level > 0 {
            let (start, lens) = self.on_grid();
            let bytes = grid::of_stream(frame.data(), &self.at, (&start, &lens), self.level, self.size)?;
            block.keep_bytes(&bytes)?;
            return Ok(());
        }
        let count: u64 = self.lens.iter().product();
        let room = block.room(count as usize * self.size)?;
        sleek::decompress_box_into(frame.data(), &self.start, &self.lens, room).map_err(|e| e.to_string())
    }
}
