//! `sleek completions`, for packaging/install.sh

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::io::say;
use crate::{Cli, Outcome};

/// Print what a shell needs to complete the arguments of this command
#[derive(clap::Args)]
pub struct Args {
    shell: Shell,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Outcome {
    let mut script = Vec::new();
    generate(args.shell, &mut Cli::command(), "sleek", &mut script);
    say!("{}", String::from_utf8_lossy(&script).trim_end());
    Ok(ExitCode::SUCCESS)
}
