//! `sleek decompress`

use std::path::PathBuf;
use std::process::ExitCode;

use crate::args::{Threads, Verbosity};
use crate::frames::{self, FrameReader};
use crate::io::{Input, Output, tell};
use crate::progress::{Array, Progress, summary};
use crate::{Outcome, pipeline};

/// Restore an array from a compressed file
#[derive(clap::Args)]
pub struct Args {
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
    /// The array, as the plain bytes of its elements; - is standard output
    #[arg(value_name = "OUT")]
    output: PathBuf,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Outcome {
    args.threads.apply()?;
    let input = Input::open(&args.input)?;
    let mut output = Output::create(&args.output, args.force, input.rights.as_ref())?;
    let mut progress = Progress::new("restoring", input.bytes, args.verbosity.quiet);
    let (from, to) = (input.name.clone(), output.name.clone());
    let (mut bytes_in, mut bytes_out) = (0, 0);
    let mut reader = FrameReader::new(input);
    pipeline::run(
        |frame| reader.next(frame),
        |frame, outlet| {
            let header = frames::header(frame)?;
            for piece in frames::pieces(&header) {
                let mut block = outlet.block()?;
                piece.restore(frame, &mut block).map_err(|e| format!("{from}: {e}"))?;
                bytes_out += block.data().len() as u64;
                outlet.send(block)?;
            }
            bytes_in += frame.data().len() as u64;
            progress.add(frame.data().len() as u64);
            Ok(())
        },
        |data| output.write(data),
    )?;
    output.finish()?;
    let time = progress.finish();
    if !args.verbosity.quiet {
        tell(&summary(Array::Out, &from, &to, bytes_in, bytes_out, time));
    }
    Ok(ExitCode::SUCCESS)
}
