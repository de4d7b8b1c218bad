//! `sleek decompress`

use std::path::PathBuf;
use std::process::ExitCode;

use sleek::Dims;
use sleek::container::{Header, Region};

use crate::args::{self, Slice, Threads, Verbosity};
use crate::frames::{self, FrameReader};
use crate::io::{Block, Input, Output, tell};
use crate::progress::{Array, Progress, summary};
use crate::{Outcome, pipeline, tensors};

/// Restore an array, or a safetensors file, from a compressed file
#[derive(clap::Args)]
pub struct Args {
    /// Restore a box of the array only: START:LEN along each of its dimensions, the slowest first; START: or : to the
    /// end
    #[arg(long = "box", value_name = "START:LEN,…", value_parser = args::slice)]
    slice: Option<Slice>,
    /// Of a compressed safetensors file: restore the plain bytes of this tensor only
    #[arg(long, value_name = "NAME", conflicts_with = "slice")]
    tensor: Option<String>,
    #[command(flatten)]
    threads: Threads,
    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    verbosity: Verbosity,
    /// The compressed file; - is standard input
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The array, as the plain bytes of its elements, or the safetensors file; - is standard output
    #[arg(value_name = "OUT")]
    output: PathBuf,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Outcome {
    args.threads.apply()?;
    let mut input = Input::open(&args.input)?;
    if tensors::is_packed(input.peek(tensors::FIRST_BYTES)?) {
        return tensors(args, input);
    }
    if let Some(name) = &args.tensor {
        return Err(format!("--tensor {name}: {} is not the compressed file of a safetensors file", input.name));
    }
    let mut output = Output::create(&args.output, args.force, input.rights.as_ref())?;
    let mut progress = Progress::new("restoring", input.bytes, args.verbosity.quiet);
    let (from, to) = (input.name.clone(), output.name.clone());
    let (mut bytes_in, mut bytes_out) = (0, 0);
    let mut reader = FrameReader::new(input);
    let mut whole = args.slice.as_ref().map(Whole::new);
    pipeline::run(
        |frame| reader.next(frame),
        |frame, outlet| {
            let header = frames::header(frame)?;
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
    output.finish()?;
    let time = progress.finish();
    if !args.verbosity.quiet {
        tell(&summary(Array::Out, &from, &to, bytes_in, bytes_out, time));
    }
    Ok(ExitCode::SUCCESS)
}

fn tensors(args: &Args, input: Input) -> Outcome {
    if args.slice.is_some() {
        return Err(format!("--box: {} has many arrays; --tensor NAME restores one of them", input.name));
    }
    let output = |input: &Input| Output::create(&args.output, args.force, input.rights.as_ref());
    tensors::decompress(input, args.tensor.as_deref(), args.verbosity.quiet, output)?;
    Ok(ExitCode::SUCCESS)
}

/// A box of the whole array, of which each frame has a part.
struct Whole<'a> {
    slice: &'a Slice,
    /// The dimensions of all frames so far.
    lens: Vec<u64>,
    axis: usize,
}

/// A box of a frame.
struct Part {
    start: Vec<u64>,
    lens: Vec<u64>,
    size: usize,
}

impl Whole<'_> {
    fn new(slice: &Slice) -> Whole<'_> {
        Whole { slice, lens: Vec::new(), axis: 0 }
    }

    /// What the next frame has of the box. Nothing where the box lies beyond the array, for which `check` has the
    /// words.
    fn part_of(&mut self, header: &Header) -> Option<Part> {
        let dims = header.layout.shape.dims;
        if self.lens.is_empty() {
            (self.lens, self.axis) = (dims.lens().to_vec(), frames::axis_of(header));
            self.lens[self.axis] = 0;
        }
        let before = self.lens[self.axis];
        let here = dims.lens()[self.axis];
        self.lens[self.axis] = before.saturating_add(here);
        if self.slice.start.len() != dims.rank() {
            return None;
        }
        let (mut start, mut lens) = self.region(dims.lens());
        // Along the axis of the frames the box is cut to what the frame has.
        let first = self.slice.start[self.axis];
        let end = self.slice.lens[self.axis].map_or(u64::MAX, |len| first.saturating_add(len));
        let (from, to) = (first.max(before), end.min(self.lens[self.axis]));
        (start[self.axis], lens[self.axis]) = (from.saturating_sub(before), to.saturating_sub(from));
        let region = Region::new(&dims, &start, &lens).ok()?;
        (region.count() > 0).then(|| Part { start, lens, size: header.layout.dtype.size() })
    }

    /// The box in an array of these dimensions.
    fn region(&self, dims: &[u64]) -> (Vec<u64>, Vec<u64>) {
        let Slice { start, lens } = self.slice;
        let rest = |k: usize| dims[k].saturating_sub(start[k]);
        (start.clone(), lens.iter().enumerate().map(|(k, len)| len.unwrap_or_else(|| rest(k))).collect())
    }

    /// Refuses a box that does not lie in the whole array.
    fn check(&self) -> Result<(), String> {
        let dims = Dims::new(&self.lens).map_err(|e| e.message)?;
        let (start, lens) = if self.slice.start.len() == dims.rank() {
            self.region(dims.lens())
        } else {
            (self.slice.start.clone(), Vec::new())
        };
        Region::new(&dims, &start, &lens).map(drop).map_err(|e| e.message)
    }
}

impl Part {
    fn restore(&self, frame: &Block, block: &mut Block) -> Result<(), String> {
        let count: u64 = self.lens.iter().product();
        let room = block.room(count as usize * self.size);
        sleek::decompress_box_into(frame.data(), &self.start, &self.lens, room).map_err(|e| e.to_string())
    }
}
