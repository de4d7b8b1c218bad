//! `sleek repack` of many files: each by a process of its own, which leaves its file whole or not at all.

mod claim;
mod list;
mod page;
mod pictures;
mod record;
mod report;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use clap::ValueEnum;
use serde_json::{Value, json};

use super::rules::Pattern;
use super::{Args, BROKEN, provenance, wish};
use crate::auto::words;
use crate::io::{Model, end_with_parent, placed, tell};
use crate::progress::Progress;
use crate::{ERROR, Outcome};
use claim::Claims;
use list::Job;
use record::Record;

/// Runs the batch.
pub fn run(args: &Args) -> Outcome {
    report::check(args.report.as_deref())?;
    let to = match (&args.to, args.dry_run) {
        (Some(to), _) => to.clone(),
        (None, true) => PathBuf::new(),
        (None, false) => {
            return Err("several files need a folder for the new ones: --to DIR (or --dry-run)".into());
        }
    };
    let paths: Vec<PathBuf> = std::iter::once(&args.input).chain(&args.output).chain(&args.more).cloned().collect();
    let jobs = list::jobs(&paths, args.recursive, &to)?;
    list::expect_other_places(&jobs, &to)?;
    if jobs.is_empty() {
        return Err(format!("{}: holds no HDF5 file", paths[0].display()));
    }
    let like = Model::of_all(jobs.iter().map(|job| job.input.as_path()));
    let mut claims = None;
    let record = match args.dry_run {
        true => None,
        false => {
            fs::create_dir_all(&to).map_err(|e| format!("{}: {e}", to.display()))?;
            list::expect_inside(&jobs, &to)?;
            claims = args.share.then(|| Claims::open(&to).map(Arc::new)).transpose()?;
            Some(Record::open(&to, request_of(args)?, like.as_ref(), claims.clone())?)
        }
    };
    let batch = Batch { args, to: &to, claims, record: Mutex::new(record), jobs: &jobs };
    let files = batch.run();
    if !args.dry_run {
        placed(&to.display().to_string());
    }
    if let Some(path) = &args.report {
        report::write(path, &files, args, like.as_ref())?;
    }
    if !args.verbosity.quiet {
        report::print(&files, args.dry_run);
    }
    let any = |status: &str| files.iter().any(|f| f["status"] == status);
    Ok(ExitCode::from(match (any("failed"), any("broken")) {
        (true, _) => ERROR,
        (false, true) => BROKEN,
        _ => 0,
    }))
}

/// What the results depend on, besides the files.
fn request_of(args: &Args) -> Result<String, String> {
    // No argument is left out by `..`, so that none is forgotten.
    #[rustfmt::skip]
    let Args {
        quality, sentinels, dataset, auto, variables, exclude, rules, even_if_larger, filter, rechunk, no_attributes,
        others, verify, dry_run: _, to: _, share: _, recursive: _, jobs: _, report: _, json: _, library: _, threads: _,
        force: _, verbosity: _, child: _, less: _, only: _, typed: _, input: _, output: _, more: _,
    } = args;
    let text_of = |file: &PathBuf| fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()));
    let asked = json!({
        "version": sleek::VERSION,
        "all": wish(args)?.words(),
        "has_bound": quality.is_given(),
        "no_fill": sentinels.no_fill,
        "datasets": dataset.iter().map(|(path, request)| json!([path, request.words()])).collect::<Vec<_>>(),
        "auto": auto.map(words),
        "variables": variables,
        "exclude": exclude.iter().map(Pattern::text).collect::<Vec<_>>(),
        "rules": rules.as_ref().map(text_of).transpose()?,
        "others": others.and_then(|others| others.to_possible_value()).map(|value| value.get_name().to_owned()),
        "even_if_larger": even_if_larger,
        "filter": filter.to_possible_value().map(|value| value.get_name().to_owned()),
        "rechunk": rechunk,
        "no_attributes": no_attributes,
        "verify": verify,
    });
    let mut text = asked.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), 0);
    Ok(format!("{:016x}", sleek::container::checksum::keyed_sum(&text)))
}

/// Files that are on their way.
struct Batch<'a> {
    args: &'a Args,
    to: &'a Path,
    /// Where other processes write there too.
    claims: Option<Arc<Claims>>,
    /// There is none where nothing is written.
    record: Mutex<Option<Record>>,
    jobs: &'a [Job],
}

impl Batch<'_> {
    /// What came of each file, in their order.
    fn run(&self) -> Vec<Value> {
        let workers = (self.args.jobs.unwrap_or(1) as usize).clamp(1, self.jobs.len());
        let total = self.jobs.iter().map(|job| job.bytes).sum();
        let mut progress = Progress::new("repacking", Some(total), self.args.verbosity.quiet);
        let mut files = vec![Value::Null; self.jobs.len()];
        let next = AtomicUsize::new(0);
        let (sender, receiver) = channel();
        std::thread::scope(|scope| {
            for _ in 0..workers {
                let (sender, next) = (sender.clone(), &next);
                scope.spawn(move || {
                    while let Some(job) = self.jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let place = self.jobs.iter().position(|j| std::ptr::eq(j, job)).unwrap_or_default();
                        if sender.send((place, self.file(job, workers))).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            for (place, file) in receiver {
                progress.add(self.jobs[place].bytes);
                files[place] = file;
            }
        });
        files
    }

    /// Does a file, unless that is done.
    fn file(&self, job: &Job, workers: usize) -> Value {
        let output = self.to.join(&job.place);
        let with_record = |f: &mut dyn FnMut(&mut Record) -> Result<(), String>| {
            let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
            record.as_mut().map_or(Ok(()), f)
        };
        let claim = match self.claims.as_ref().map(|claims| claims.take(&record::key(job))).transpose() {
            Ok(Some(None)) => return self.elsewhere(job),
            Ok(claim) => Ok(claim.flatten()),
            Err(e) => Err(e),
        };
        let (mut again, mut begun) = (None, false);
        let started = with_record(&mut |record| {
            record.look_again(job);
            again = record.done(job, &output).cloned();
            begun = record.may_replace(job, &output);
            // What is there and is not ours will be refused.
            let is_others = !begun && output.exists();
            if again.is_some() || is_others { Ok(()) } else { record.begin(job) }
        });
        if let Some(mut line) = again {
            line["status"] = json!("again");
            line["message"] = json!("was done before");
            return line;
        }
        let start = Instant::now();
        let started = claim.as_ref().map_err(String::clone).and(started);
        let done = started.and_then(|()| self.work(job, &output, begun, workers));
        let mut file = json!({
            "input": job.input.to_string_lossy(),
            "output": if self.args.dry_run { Value::Null } else { json!(output.to_string_lossy()) },
            "bytes_before": job.bytes,
            "seconds": start.elapsed().as_secs_f64(),
        });
        let done = done.and_then(|done| match done {
            Done::Broken(message) => {
                (file["status"], file["message"]) = (json!("broken"), json!(message));
                Ok(())
            }
            Done::Table(datasets) => {
                file["status"] = json!("done");
                file["bytes_after"] = json!(self.bytes_after(job, &output, &datasets)?);
                file["datasets"] = datasets;
                with_record(&mut |record| record.finish(job, file.clone()))
            }
        });
        let input = job.input.display();
        if let Err(message) = done {
            let message = message.strip_prefix(&format!("{input}: ")).unwrap_or(&message);
            (file["status"], file["message"]) = (json!("failed"), json!(message));
            file["bytes_after"] = Value::Null;
        }
        if let Some(message) = file["message"].as_str() {
            tell(&format!("sleek: {input}: {}: {message}", file["status"].as_str().unwrap_or_default()));
            let _ = with_record(&mut |record| record.give_up(job)); // what it says already leads to another try
        }
        file
    }

    /// Of a file that another process has.
    fn elsewhere(&self, job: &Job) -> Value {
        json!({
            "input": job.input.to_string_lossy(),
            "output": self.to.join(&job.place).to_string_lossy(),
            "status": "elsewhere",
            "message": "another process is at it",
            "bytes_before": job.bytes,
        })
    }

    /// Has a process of its own do a file.
    fn work(&self, job: &Job, output: &Path, replace: bool, workers: usize) -> Result<Done, String> {
        if let Some(folder) = output.parent().filter(|_| !self.args.dry_run) {
            fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        let blame = |e: std::io::Error| format!("cannot run a process: {e}");
        let mut command = Command::new(std::env::current_exe().map_err(blame)?);
        command.args(["repack", "--typed", &provenance::command(), "--only"]).arg(&job.input).arg(output);
        command.args((!self.args.json).then_some("--json"));
        command.args((replace && !self.args.force).then_some("--force"));
        command.args(std::env::args_os().skip(2));
        let threads = sleek::environment::THREADS;
        if std::env::var_os(threads).is_none() {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            command.env(threads, (cores / workers).max(1).to_string());
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        end_with_parent(&mut command, libc::SIGTERM);
        let out = command.output().map_err(blame)?;
        let said = String::from_utf8_lossy(&out.stderr).trim().to_owned();
        match out.status.code() {
            Some(0) => {
                let table = serde_json::from_slice(&out.stdout).map_err(|e| format!("no table came back: {e}"))?;
                Ok(Done::Table(table))
            }
            Some(code) if code == i32::from(BROKEN) => {
                Ok(Done::Broken(said.replace("sleek: ", "").replace('\n', "; ")))
            }
            _ if said.is_empty() => Err(format!("the work ended with {}", out.status)),
            _ => Err(said.strip_prefix("sleek: error: ").unwrap_or(&said).to_owned()),
        }
    }

    /// Bytes of the new file, or what they would be.
    fn bytes_after(&self, job: &Job, output: &Path, datasets: &Value) -> Result<u64, String> {
        if !self.args.dry_run {
            return fs::metadata(output).map(|m| m.len()).map_err(|e| format!("{}: {e}", output.display()));
        }
        let sum = |key: &str| datasets.as_array().into_iter().flatten().filter_map(|d| d[key].as_u64()).sum::<u64>();
        Ok((job.bytes + sum("stored_after")).saturating_sub(sum("stored_before")))
    }
}

/// What a process did.
enum Done {
    /// Its table of datasets.
    Table(Value),
    /// A bound did not hold, and nothing was written.
    Broken(String),
}
