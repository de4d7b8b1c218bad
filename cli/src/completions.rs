//! `sleek completions`, for packaging/install.sh and python/hatch_build.py

use std::process::ExitCode;

use clap::{CommandFactory, ValueEnum};
use clap_complete::{Shell, generate};
use clap_mangen::Man;

use crate::io::say;
use crate::{Cli, Outcome};

/// Print what a shell needs to complete the arguments of this command, or its manual page
#[derive(clap::Args)]
pub struct Args {
    #[arg(value_enum)]
    of: Form,
}

#[derive(ValueEnum, Clone, Copy)]
enum Form {
    Bash,
    Zsh,
    Fish,
    Man,
}

/// What the arguments do not say.
const ENVIRONMENT: &str = include_str!("environment.roff");

pub fn run(args: &Args) -> Outcome {
    let mut text = Vec::new();
    match args.of {
        Form::Bash => generate(Shell::Bash, &mut Cli::command(), "sleek", &mut text),
        Form::Zsh => generate(Shell::Zsh, &mut Cli::command(), "sleek", &mut text),
        Form::Fish => generate(Shell::Fish, &mut Cli::command(), "sleek", &mut text),
        Form::Man => manual(&mut text).map_err(|e| e.to_string())?,
    }
    say!("{}", String::from_utf8_lossy(&text).trim_end());
    Ok(ExitCode::SUCCESS)
}

/// One page of roff for all subcommands, each a section of it.
fn manual(page: &mut Vec<u8>) -> std::io::Result<()> {
    let mut program = Cli::command();
    program.build();
    let man = Man::new(program.clone());
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_description_section(page)?;
    for command in program.get_subcommands().filter(|command| !command.is_hide_set()) {
        let name = command.get_name();
        page.extend(format!(".SH sleek {name}\n").bytes());
        let (man, mut section) = (Man::new(command.clone()), Vec::new());
        man.render_description_section(&mut section)?;
        man.render_synopsis_section(&mut section)?;
        man.render_options_section(&mut section)?;
        man.render_extra_section(&mut section)?;
        page.extend(String::from_utf8_lossy(&section).replace(".SH ", ".SS ").bytes());
    }
    page.extend(ENVIRONMENT.bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The manual page has every option of every subcommand.
    #[test]
    fn the_manual_knows_every_option() {
        let mut page = Vec::new();
        manual(&mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        let mut count = 0;
        for command in Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            let heading = format!(".SH sleek {}\n", command.get_name());
            let section = page.split_once(&heading).unwrap().1.split(".SH ").next().unwrap();
            for argument in command.get_arguments().filter(|a| !a.is_hide_set()) {
                let Some(long) = argument.get_long() else { continue };
                let option = format!("\\-\\-{}", long.replace('-', "\\-"));
                assert!(section.contains(&option), "--{long} of {}", command.get_name());
                count += 1;
            }
        }
        assert!(count > 60, "{count}");
    }
}
