//! The `sleek` command: one file per subcommand, and what they share in `args`, `io`, `frames`, `pipeline`, `progress`.

#[cfg(unix)]
mod analyze;
mod args;
mod completions;
mod compress;
mod decompress;
#[cfg(unix)]
mod diff;
#[cfg(unix)]
mod doctor;
mod element;
#[cfg(unix)]
mod fourier;
mod frames;
mod h5args;
#[cfg(unix)]
mod hdf5;
mod inspect;
mod io;
mod pipeline;
#[cfg(unix)]
mod plot;
mod progress;
#[cfg(unix)]
mod repack;
mod sentinel;
mod ssim;
mod target;
mod verify;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

/// Error-bounded and lossless compression of floating-point arrays.
#[derive(Parser)]
#[command(name = "sleek", version, propagate_version = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[allow(clippy::large_enum_variant)] // there is one
#[derive(Subcommand)]
enum Command {
    Compress(compress::Args),
    Decompress(decompress::Args),
    Inspect(inspect::Args),
    Verify(verify::Args),
    H5args(h5args::Args),
    #[cfg(unix)]
    Analyze(analyze::Args),
    #[cfg(unix)]
    Repack(repack::Args),
    #[cfg(unix)]
    Diff(diff::Args),
    #[cfg(unix)]
    Doctor(doctor::Args),
    #[command(hide = true)]
    Completions(completions::Args),
}

/// Exit code of every error: of usage, of input and output, of data that cannot be read.
const ERROR: u8 = 2;

/// A message for a person, or how the command ends.
type Outcome = Result<ExitCode, String>;

fn main() -> ExitCode {
    io::settle_signals();
    let outcome = match Cli::try_parse() {
        Ok(cli) => run(cli.command),
        Err(e) => usage(&e),
    };
    outcome.and_then(|code| io::said().map(|()| code)).unwrap_or_else(|message| {
        io::tell_error(&message);
        ExitCode::from(ERROR)
    })
}

fn run(command: Command) -> Outcome {
    match command {
        Command::Compress(args) => compress::run(&args),
        Command::Decompress(args) => decompress::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::H5args(args) => h5args::run(&args),
        #[cfg(unix)]
        Command::Analyze(args) => analyze::run(&args),
        #[cfg(unix)]
        Command::Repack(args) => repack::run(&args),
        #[cfg(unix)]
        Command::Diff(args) => diff::run(&args),
        #[cfg(unix)]
        Command::Doctor(args) => doctor::run(&args),
        Command::Completions(args) => completions::run(&args),
    }
}

/// Prints what clap has to say: help and version as they are, errors in the form of all others.
fn usage(e: &clap::Error) -> Outcome {
    let is_error = e.use_stderr() && e.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if is_error {
        io::tell_lines(&format!("sleek: {}", e.render().to_string().trim_end()));
    } else {
        e.print().map_err(|e| format!("standard output: {e}"))?;
    }
    Ok(if e.use_stderr() { ExitCode::from(ERROR) } else { ExitCode::SUCCESS })
}
