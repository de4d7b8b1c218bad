//! Where data comes from and goes to: files, pipes, `-`. A result file appears complete or not at all.

mod below;
mod input;
mod leftovers;
mod memory;
mod output;
mod place;
mod signals;
mod staging;
mod turned;

use std::fmt;
use std::io::{self, Write};
use std::sync::OnceLock;

use serde_json::Value;
use sleek::printable::{printable, printable_lines, steers};

pub use below::{all_below, files_below};
pub use input::Input;
use memory::zeroed_by_system;
pub use memory::{is_out_of_memory, is_there, reserve, zeroed};
pub use output::{Output, check_place};
pub use signals::{remove_on_signal, remove_unfinished, settle_signals};
pub use staging::Staging;

/// A buffer that is filled again and again without being zeroed again.
#[derive(Default)]
pub struct Block {
    bytes: Vec<u8>,
    used: usize,
    /// Whether more blocks follow, where that matters.
    pub more: bool,
}

impl Block {
    /// Room for `n` bytes, whatever they hold.
    pub fn room(&mut self, n: usize) -> Result<&mut [u8], String> {
        if self.bytes.len() < n {
            self.bytes = zeroed_by_system(n)?;
        }
        self.used = n;
        Ok(&mut self.bytes[..n])
    }

    /// Keeps the first `n` bytes of the room.
    pub fn keep(&mut self, n: usize) {
        debug_assert!(n <= self.used);
        self.used = n;
    }

    pub fn keep_bytes(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.room(bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    pub fn data(&self) -> &[u8] {
        &self.bytes[..self.used]
    }
}

/// Prints a line at once, as `println!` does, but without its panic: `said` has what went wrong.
macro_rules! say {
    ($($text:tt)*) => { $crate::io::print_line(format_args!($($text)*)) };
}
pub(crate) use say;

/// The first line that could not be printed.
static UNSAID: OnceLock<io::Error> = OnceLock::new();

pub fn print_line(line: fmt::Arguments) {
    print_text(&printable_lines(&line.to_string()));
}

/// Prints JSON on several lines. What steers a terminal is written as JSON has it, so that programs read it still.
pub fn say_json(value: &Value) {
    print_text(&harmless(format!("{value:#}")));
}

/// The same on one line.
pub fn say_json_line(value: &Value) {
    print_text(&harmless(value.to_string()));
}

/// JSON in which no text has a character that steers; those of its own are line breaks alone.
fn harmless(json: String) -> String {
    let is_in_text = |c: char| steers(c) && c != '\n';
    if !json.contains(is_in_text) {
        return json;
    }
    let mut shown = String::with_capacity(json.len() + 8);
    for c in json.chars() {
        if is_in_text(c) { shown += &format!("\\u{:04x}", c as u32) } else { shown.push(c) }
    }
    shown
}

fn print_text(text: &str) {
    if let Err(e) = writeln!(io::stdout().lock(), "{text}") {
        let _ = UNSAID.set(e); // the first error is the cause
    }
}

/// What has come into its place, for an error that comes later.
static PLACED: OnceLock<String> = OnceLock::new();

/// Says that a file, or a folder of files, is whole and in its place.
pub fn placed(name: &str) {
    let _ = PLACED.set(name.to_owned()); // the first is what was asked for
}

/// Whether standard output has taken every line.
pub fn said() -> Result<(), String> {
    match UNSAID.get() {
        Some(e) => Err(match PLACED.get() {
            Some(name) => format!("standard output: {e}; {name} is whole and in its place all the same"),
            None => format!("standard output: {e}"),
        }),
        None => Ok(()),
    }
}

/// Prints a line on standard error. Where that fails nobody is left to be told.
pub fn tell(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", printable(line));
}

/// Prints why the command fails. A message may have a list, of lines that begin with two spaces.
pub fn tell_error(message: &str) {
    let lines: Vec<_> = message.split("\n  ").map(printable).collect();
    let _ = writeln!(io::stderr().lock(), "sleek: error: {}", lines.join("\n  "));
}

pub fn tell_lines(lines: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", printable_lines(lines));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_stays_json_and_steers_nothing() {
        let name = "a\nb\u{9b}c\u{7f}\u{2028}\u{1b}";
        let value = serde_json::json!({"name": name});
        for text in [harmless(format!("{value:#}")), harmless(value.to_string())] {
            assert!(!text.contains(|c| steers(c) && c != '\n'), "{text:?}");
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        }
    }
}
