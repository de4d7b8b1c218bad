//! The command `sleek`, driven as a user drives it.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

mod about;
mod codecs;
#[path = "../../../tests/common/mod.rs"]
mod common;
mod faults;
mod golden;
#[path = "../../../tests/vectors/manifest.rs"]
mod manifest;
mod missing;
mod pipes;
#[path = "../../../tests/reference/mod.rs"]
mod reference;
mod refusals;
mod shapes;
mod streams;
mod test;
#[path = "../../../tests/vectors/mod.rs"]
mod vectors;

/// A directory of its own for each test.
struct Bench {
    dir: TempDir,
}

impl Bench {
    fn new() -> Bench {
        Bench { dir: TempDir::new().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
    }

    fn get(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sleek"));
        command.args(args.split_whitespace()).current_dir(self.dir.path());
        command
    }

    fn run(&self, args: &str) -> Output {
        common::output(&mut self.command(args))
    }

    /// Runs what must succeed; returns standard output.
    fn ok(&self, args: &str) -> Vec<u8> {
        let out = self.run(args);
        assert!(out.status.success(), "sleek {args}: {}", stderr(&out));
        out.stdout
    }

    /// Runs what must fail with exit code 2 and a message that has `part` in it, and must leave no file behind.
    fn fails(&self, args: &str, part: &str) {
        let before = self.files();
        let out = self.run(args);
        let message = stderr(&out);
        assert_eq!(out.status.code(), Some(2), "sleek {args}: {message}");
        assert!(message.starts_with("sleek: error: "), "sleek {args}: {message}");
        assert!(message.contains(part), "sleek {args}: no '{part}' in: {message}");
        assert!(message.lines().count() == 1 || message.ends_with("try '--help'.\n"), "{message}");
        assert_eq!(self.files(), before, "sleek {args} left files");
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<_> = fs::read_dir(self.dir.path()).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        files
    }

    fn json(&self, args: &str) -> Value {
        serde_json::from_slice(&self.ok(args)).unwrap()
    }

    /// Runs with `input` on standard input.
    fn piped(&self, args: &str, input: &[u8]) -> Output {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // A command that refuses its input closes the pipe early.
        let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let out = child.wait_with_output().unwrap();
        feeder.join().unwrap();
        out
    }
}

fn stderr(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

fn wave(n: usize) -> Vec<f32> {
    (0..n).map(|i| 250.0 + 10.0 * (i as f32 * 0.01).sin()).collect()
}

fn bytes_of(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn floats_of(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

fn max_error(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(x, y)| (f64::from(*x) - f64::from(*y)).abs()).fold(0.0, f64::max)
}
