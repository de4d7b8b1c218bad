//! `sleek repack` of many files: each by a process of its own, which leaves its file whole or not at all.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Instant;

use serde_json::{Value, json};
use sleek::printable::printable;
use tempfile::NamedTempFile;

use super::args::{Args, BROKEN};
use super::child::Done;
use super::jobs::{self, Job};
use super::repack;
use crate::hdf5::expect_hdf5;
use crate::io::{Output, placed, say, tell};
use crate::progress::{Progress, bytes, ratio};
use crate::{ERROR, Outcome};

/// What became of a file, as the report calls it.
const STATUS: [&str; 4] = ["done", "skipped", "broken", "failed"];

pub fn run(args: &Args) -> Outcome {
    let to = match (&args.to, args.dry_run) {
        (Some(to), _) => to.clone(),
        (None, true) => PathBuf::new(),
        (None, false) => {
            return Err("several files need a folder for the new ones: --to DIR (or --dry-run)".into());
        }
    };
    let paths: Vec<PathBuf> = std::iter::once(&args.input).chain(&args.output).chain(&args.more).cloned().collect();
    let mut passed_over = Vec::new();
    let jobs = jobs::jobs(&paths, args.recursive || args.dry_run, &to, &mut passed_over)?;
    if let Some(first) = passed_over.first() {
        let (n, first) = (passed_over.len(), first.display());
        tell(&format!(
            "sleek: warning: {n} files with the name of an HDF5 file are none, and were passed over: {first} …"
        ));
    }
    if jobs.is_empty() {
        return Err(format!("{}: holds no HDF5 file", paths[0].display()));
    }
    if !args.dry_run {
        fs::create_dir_all(&to).map_err(|e| format!("{}: {e}", to.display()))?;
    }
    let jobs = match args.part {
        Some(part) => part.of(jobs),
        None => jobs,
    };
    if !args.dry_run {
        placed(&to.display().to_string()); // for an error in printing, which comes when all is there
    }
    let files = Batch { args, to: &to, jobs: &jobs }.run();
    if let Some(path) = &args.report {
        let rights: Vec<Metadata> = jobs.iter().filter_map(|job| fs::metadata(&job.input).ok()).collect();
        let are_alike = rights.windows(2).all(|two| (two[0].mode(), two[0].gid()) == (two[1].mode(), two[1].gid()));
        // Of others none but the owner reads what is told of all, as a temporary file.
        let private = || NamedTempFile::new().and_then(|file| file.as_file().metadata());
        let like = if are_alike { rights.into_iter().next() } else { Some(private().map_err(|e| e.to_string())?) };
        let mut output = Output::create(path, true, like)?;
        output.write(format!("{:#}\n", json!({"files": files, "totals": totals(&files)})).as_bytes())?;
        output.finish()?;
    }
    if !args.verbosity.quiet {
        print(&files, args.dry_run);
    }
    let any = |status: &str| files.iter().any(|f| f["status"] == status);
    Ok(ExitCode::from(match (any("failed"), any("broken")) {
        (true, _) => ERROR,
        (false, true) => BROKEN,
        _ => 0,
    }))
}

/// Files that are on their way.
struct Batch<'a> {
    args: &'a Args,
    to: &'a Path,
    jobs: &'a [Job],
}

impl Batch<'_> {
    /// What became of each file, in their order.
    fn run(&self) -> Vec<Value> {
        let workers = (self.args.jobs.unwrap_or(1) as usize).clamp(1, self.jobs.len().max(1));
        let total = self.jobs.iter().map(|job| job.bytes).sum();
        let mut progress = Progress::new("repacking", Some(total), self.args.verbosity.quiet);
        let mut files = vec![Value::Null; self.jobs.len()];
        let next = AtomicUsize::new(0);
        let (sender, receiver) = channel();
        std::thread::scope(|scope| {
            for _ in 0..workers {
                let (sender, next) = (sender.clone(), &next);
                scope.spawn(move || {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(job) = self.jobs.get(at) else { break };
                        if sender.send((at, self.file(job, workers))).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            for (at, file) in receiver {
                progress.add(self.jobs[at].bytes);
                files[at] = file;
            }
        });
        files
    }

    /// Does a file, unless that is done.
    fn file(&self, job: &Job, workers: usize) -> Value {
        let output = self.to.join(&job.place);
        let mut file = json!({
            "input": job.input.to_string_lossy(),
            "output": if self.args.dry_run { Value::Null } else { json!(output.to_string_lossy()) },
            "bytes_before": job.bytes,
        });
        if !self.args.dry_run && !self.args.force && jobs::is_done(job, &output) {
            file["status"] = json!("skipped");
            file["message"] = json!("is there and no older; --force does it again");
            file["bytes_after"] = json!(fs::metadata(&output).map_or(0, |meta| meta.len()));
            return file;
        }
        let start = Instant::now();
        let done = self.work(job, &output, workers);
        let input = job.input.display();
        let (status, message, after, datasets) = done.unwrap_or_else(|message| {
            let message = message.strip_prefix(&format!("{input}: ")).unwrap_or(&message);
            ("failed", json!(message), Value::Null, Value::Null)
        });
        file["seconds"] = json!(start.elapsed().as_secs_f64());
        for (key, value) in [("message", message), ("bytes_after", after), ("datasets", datasets)] {
            if !value.is_null() {
                file[key] = value;
            }
        }
        if let Some(message) = file["message"].as_str() {
            tell(&format!("sleek: {input}: {status}: {message}"));
        }
        file["status"] = json!(status);
        file
    }

    /// Does a file: status, message, bytes of the result and table of datasets.
    fn work(&self, job: &Job, output: &Path, workers: usize) -> Result<(&'static str, Value, Value, Value), String> {
        if let Some(folder) = output.parent().filter(|_| !self.args.dry_run) {
            fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        expect_hdf5(&job.input)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        match repack(self.args, &job.input, Some(output), Some((cores / workers).max(1)))? {
            (Done::Broken(why), _) => Ok(("broken", json!(why), Value::Null, Value::Null)),
            (Done::Table(table), after) => {
                let datasets = serde_json::from_str(&table).map_err(|e| format!("no table came back: {e}"))?;
                let after = after.unwrap_or_else(|| Batch::bytes_after(job, &datasets));
                Ok(("done", Value::Null, json!(after), datasets))
            }
        }
    }

    /// Bytes that the new file would have.
    fn bytes_after(job: &Job, datasets: &Value) -> u64 {
        let sum = |key: &str| datasets.as_array().into_iter().flatten().filter_map(|d| d[key].as_u64()).sum::<u64>();
        (job.bytes + sum("stored_after")).saturating_sub(sum("stored_before"))
    }
}

/// A line for each file, and one for all.
fn print(files: &[Value], is_estimate: bool) {
    if files.is_empty() {
        return say!("no file is in this part");
    }
    let name = |file: &Value| printable(file["input"].as_str().unwrap_or_default()).into_owned();
    let widest = files.iter().map(|f| name(f).chars().count()).max().unwrap_or(0).clamp(5, 60);
    let label = if is_estimate { "estimate" } else { "ratio" };
    say!("{:<widest$} {:<9}{:>11}{:>11}{label:>10}", "file", "", "before", "after");
    for file in files {
        let (before, after) = (file["bytes_before"].as_u64().unwrap_or(0), file["bytes_after"].as_u64());
        let status = file["status"].as_str().unwrap_or_default();
        let (shown, times) = after.map_or_else(Default::default, |after| (bytes(after), ratio(before, after)));
        let line = format!("{:<widest$} {status:<9}{:>11}{shown:>11}{times:>10}", name(file), bytes(before));
        say!("{}", line.trim_end());
    }
    let totals = totals(files);
    let number = |key: &str| totals[key].as_u64().unwrap_or(0);
    let (before, after) = (number("bytes_before"), number("bytes_after"));
    let counts = STATUS.iter().filter(|status| number(status) > 0);
    let counts: Vec<String> = counts.map(|status| format!("{} {status}", number(status))).collect();
    say!("{}: {} -> {}, ratio {}", counts.join(", "), bytes(before), bytes(after), ratio(before, after));
}

/// Of the files that have a result.
fn totals(files: &[Value]) -> Value {
    let with_result = files.iter().filter(|f| !f["bytes_after"].is_null());
    let sum = |key: &str| with_result.clone().filter_map(|f| f[key].as_u64()).sum::<u64>();
    let mut totals = json!({
        "files": files.len(),
        "bytes_before": sum("bytes_before"),
        "bytes_after": sum("bytes_after"),
    });
    for status in STATUS {
        totals[status] = json!(files.iter().filter(|f| f["status"] == status).count());
    }
    totals
}
