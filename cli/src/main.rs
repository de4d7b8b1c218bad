//! The `sleek` command: one file per subcommand, and what they share in `args`, `io`, `frames`, `pipeline`, `progress`.

mod analyze;
mod args;
mod completions;
mod compress;
mod decompress;
mod doctor;
mod foreign;
mod frames;
mod grid;
mod h5args;
mod hdf5;
mod inspect;
mod io;
mod looks;
mod npy;
mod pipeline;
mod progress;
mod quality;
mod repack;
mod sentinel;
mod targets;
mod test;
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
    Stats(looks::stats::Args),
    Show(looks::show::Args),
    Verify(verify::Args),
    Test(test::Args),
    H5args(h5args::Args),
    Analyze(analyze::Args),
    Repack(repack::Args),
    Doctor(doctor::Args),
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
        Command::Stats(args) => looks::stats::run(&args),
        Command::Show(args) => looks::show::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Test(args) => test::run(&args),
        Command::H5args(args) => h5args::run(&args),
        Command::Analyze(args) => analyze::run(&args),
        Command::Repack(args) => repack::run(&args),
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    const PAGE: &str = include_str!("../../docs/guide/cli.md");

    /// What docs/guide/cli.md names is an option of some subcommand.
    #[test]
    fn the_page_has_no_option_that_is_none() {
        let command = Cli::command();
        let known: Vec<&str> =
            command.get_subcommands().flat_map(|c| c.get_arguments()).filter_map(|a| a.get_long()).collect();
        for (at, _) in PAGE.match_indices("--").filter(|(at, _)| !PAGE[..*at].ends_with('-')) {
            let name: String = PAGE[at + 2..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
            let table = name.starts_with('-') || name.is_empty();
            assert!(table || known.contains(&name.as_str()) || name == "help", "there is no --{name}");
        }
    }
}
