//! `sleek completions`, for packaging/install.sh

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::{Cli, Outcome};

/// Print what a shell needs to complete the arguments of this command
#[derive(clap::Args)]
pub struct Args {
    shell: Shell,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Outcome {
    generate(args.shell, &mut Cli::command(), "sleek", &mut std::io::stdout());
    Ok(ExitCode::SUCCESS)
}
