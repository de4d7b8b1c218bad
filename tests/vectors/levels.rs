//! Other SIMD levels: a process settles on one when it first codes a chunk, so each takes a process of its own.

use sleek::exec::{Isa, Level};
use std::ffi::OsString;
use std::process::Command;

/// Runs the tests of this binary whose names contain one of `names` at every level of this processor below the best.
pub fn at_lower_levels(names: &[&str]) {
    for level in Level::ALL.into_iter().filter(|level| *level < Isa::best().level() && level.is_available()) {
        output_at(level, names);
    }
}

/// Runs the test `name` at every level of this processor. It prints a line that begins with `streams:` and says
/// something of all bytes that it made, which has to be the same.
pub fn alike_at_all_levels(name: &str) {
    let of = |level| {
        let text = output_at(level, &[name, "--exact", "--nocapture"]);
        let line = text.lines().find_map(|line| line.split_once("streams:")).map(|(_, said)| said.to_string());
        line.unwrap_or_else(|| panic!("{name} says nothing of its streams:\n{text}"))
    };
    let portable = of(Level::Scalar);
    for level in Level::ALL.into_iter().filter(|level| *level != Level::Scalar && level.is_available()) {
        assert_eq!(of(level), portable, "level {}", level.name());
    }
}

/// A program built with the tests, as the emulator runs it if there is one (tests/aarch64.sh).
pub fn program(path: impl Into<OsString>) -> Command {
    let runner = std::env::var("SLEEK_TEST_RUNNER").unwrap_or_default();
    let mut words: Vec<_> = runner.split_whitespace().map(OsString::from).collect();
    words.push(path.into());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// What tests of this binary say at a level, where they must succeed.
fn output_at(level: Level, arguments: &[&str]) -> String {
    let output =
        program(std::env::current_exe().unwrap()).args(arguments).env("SLEEK_SIMD", level.name()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "at level {}:\n{text}", level.name());
    assert!(!text.contains("running 0 tests"), "no test is called {arguments:?}");
    text
}
