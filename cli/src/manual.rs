//! The manual page and `--help` are of one source: the page's options are what the arguments say. SLEEK_UPDATE=1
//! writes them.

use std::collections::BTreeMap;
use std::fmt::Write;

use clap::{Arg, Command, CommandFactory};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../packaging/sleek.1");
/// What is written by hand ends before the first and goes on with the second.
const ENDS: [&str; 2] = [".SH COMMON OPTIONS\n", ".SH EXIT STATUS\n"];
/// An option that so many subcommands describe in the same words stands once, in front of them.
const COMMON: usize = 3;

/// Text as roff reads it: hyphens to copy, no line that looks like a request.
fn roff(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    let lines = text.lines().map(|line| match line.trim_end() {
        "" => ".PP".to_string(),
        line if line.starts_with(['.', '\'']) => format!("\\&{line}"),
        line => line.to_string(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// An option or argument with all that help says of it.
fn entry(arg: &Arg) -> String {
    let short = arg.get_short().map(|c| format!("-{c}"));
    let names: Vec<String> = short.into_iter().chain(arg.get_long().map(|long| format!("--{long}"))).collect();
    let values: Vec<&str> = arg.get_value_names().into_iter().flatten().map(|name| name.as_str()).collect();
    let takes = arg.get_action().takes_values();
    let value = if takes { format!(" \\fI{}\\fR", roff(&values.join(" "))) } else { String::new() };
    let mut text = format!(".TP\n\\fB{}\\fR{value}\n", roff(&names.join("\\fR, \\fB")).replace("\\e", "\\"));
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    text += &roff(&help);
    let defaults: Vec<_> = arg.get_default_values().iter().map(|v| v.to_string_lossy()).collect();
    if takes && !defaults.is_empty() {
        write!(text, " [default: {}]", roff(&defaults.join(" "))).unwrap();
    }
    let possible: Vec<String> =
        arg.get_possible_values().iter().filter(|v| !v.is_hide_set()).map(|v| v.get_name().to_string()).collect();
    if takes && !possible.is_empty() {
        write!(text, " [{}]", roff(&possible.join(", "))).unwrap();
    }
    text + "\n"
}

/// The options of a subcommand, those with a name alone.
fn entries(command: &Command) -> Vec<String> {
    let own = command.get_arguments().filter(|a| !a.is_hide_set() && a.get_long().is_some());
    own.filter(|a| !matches!(a.get_long(), Some("help" | "version"))).map(entry).collect()
}

/// What stands between the parts that are written by hand.
fn options(program: &Command) -> String {
    let commands: Vec<&Command> = program.get_subcommands().collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    commands.iter().flat_map(|c| entries(c)).for_each(|text| *counts.entry(text).or_default() += 1);
    let is_common = |text: &String| counts[text] >= COMMON;
    let mut common: Vec<String> = Vec::new();
    let mut sections = String::from(".SH SUBCOMMANDS\n");
    for command in commands {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        writeln!(sections, ".SS {}\n{}.", command.get_name(), roff(about.trim_end_matches('.'))).unwrap();
        let (shared, own): (Vec<String>, Vec<String>) = entries(command).into_iter().partition(is_common);
        let new: Vec<String> = shared.into_iter().filter(|text| !common.contains(text)).collect();
        common.extend(new);
        sections += &own.concat();
        if let Some(more) = command.get_after_help() {
            writeln!(sections, ".PP\n{}", roff(more.to_string().trim())).unwrap();
        }
    }
    format!("Of the subcommands whose \\fB\\-\\-help\\fR has them.\n{}{sections}", common.concat())
}

#[test]
fn the_manual_says_what_help_says() {
    let text = std::fs::read_to_string(PAGE).unwrap();
    let [begin, end] = ENDS.map(|heading| text.find(heading).unwrap_or_else(|| panic!("no {heading}")));
    let mut program = crate::Cli::command();
    program.build();
    let made = options(&program);
    let new = [&text[..begin + ENDS[0].len()], &made, &text[end..]].concat();
    if std::env::var_os("SLEEK_UPDATE").is_some() {
        return std::fs::write(PAGE, &new).unwrap();
    }
    assert!(text == new, "packaging/sleek.1 is not what --help says: SLEEK_UPDATE=1 cargo test -p sleek-cli manual");
}

#[test]
fn roff_reads_what_is_text() {
    assert_eq!(roff("a-b\n.x\n\n'y \\"), "a\\-b\n\\&.x\n.PP\n\\&'y \\e");
    let flag = entry(&Arg::new("q").short('q').long("so-so").action(clap::ArgAction::SetTrue).help("No bar"));
    assert_eq!(flag, ".TP\n\\fB\\-q\\fR, \\fB\\-\\-so\\-so\\fR\nNo bar\n");
    let value = entry(&Arg::new("n").long("n").value_name("N").help("Of 1-2").default_value("3"));
    assert_eq!(value, ".TP\n\\fB\\-\\-n\\fR \\fIN\\fR\nOf 1\\-2 [default: 3]\n");
}
