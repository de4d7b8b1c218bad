//! Which files `sleek repack --to` reads, and where the results go.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::hdf5::{FileKind, is_called_so, kind_of};
use crate::io::files_below;

/// A file to be read.
pub struct Job {
    pub input: PathBuf,
    /// Where the result goes, below `--to`.
    pub place: PathBuf,
    pub bytes: u64,
}

/// A share of the files: number I of N.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    number: usize,
    of: usize,
}

impl Part {
    pub fn parse(text: &str) -> Result<Part, String> {
        let numbers = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Part { number, of }),
            _ => Err(format!("'{text}' is not I/N with I from 1 to N, as in 3/8")),
        }
    }

    /// Every N-th job.
    pub fn of(self, jobs: Vec<Job>) -> Vec<Job> {
        jobs.into_iter().skip(self.number - 1).step_by(self.of).collect()
    }
}

/// The files that are named, and with `recursive` those in folders that are named. Of what is in a folder only HDF5
/// files are taken, and classic netCDF files, which get a message; others that are called so, as empty ones or what a
/// server sent in their place, are `passed_over`. `to` is never looked into.
pub fn jobs(paths: &[PathBuf], recursive: bool, to: &Path, passed_over: &mut Vec<PathBuf>) -> Result<Vec<Job>, String> {
    let to_itself = fs::canonicalize(to).ok();
    let mut jobs = Vec::new();
    for path in paths {
        let blame = |e: std::io::Error| format!("{}: {e}", path.display());
        let real = fs::canonicalize(path).map_err(blame)?;
        if to_itself.as_ref() == Some(&real) {
            return Err(format!("--to {}: is the folder to be read; another folder is needed", to.display()));
        }
        match (real.is_dir(), recursive) {
            (true, true) => {
                let is_result = |below: &Path| to_itself.as_ref().is_some_and(|to| real.join(below).starts_with(to));
                for below in files_below(path)?.into_iter().filter(|below| !is_result(below)) {
                    let file = path.join(&below);
                    match is_field(path, &below) {
                        true => jobs.push(job(&file, below)?),
                        false if !is_called_so(&file) => {}
                        false if matches!(kind_of(&file), Ok(FileKind::Other)) => passed_over.push(file),
                        false => {}
                    }
                }
            }
            (true, false) => return Err(format!("{}: is a folder; -r takes what is in it", path.display())),
            (false, _) => {
                let name = path.file_name().ok_or_else(|| format!("{}: is not a file name", path.display()))?;
                jobs.push(job(path, name.into())?);
            }
        }
        if let Some(to_itself) = to_itself.as_ref().filter(|to| to.starts_with(&real)) {
            expect_results(&jobs, to, to_itself)?;
        }
    }
    expect_different_places(&jobs)?;
    expect_no_input(&jobs, to)?;
    Ok(jobs)
}

/// Whether a file in a folder is to be read. Hidden files are those that are being written.
fn is_field(folder: &Path, below: &Path) -> bool {
    let is_hidden = below.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    !is_hidden && !matches!(kind_of(&folder.join(below)), Ok(FileKind::Other))
}

fn job(input: &Path, place: PathBuf) -> Result<Job, String> {
    let bytes = fs::metadata(input).map_err(|e| format!("{}: {e}", input.display()))?.len();
    Ok(Job { input: input.to_path_buf(), place, bytes })
}

/// Two files may not go to one place.
fn expect_different_places(jobs: &[Job]) -> Result<(), String> {
    let mut taken = BTreeMap::new();
    for job in jobs {
        if let Some(other) = taken.insert(&job.place, &job.input) {
            let (a, b, place) = (other.display(), job.input.display(), job.place.display());
            return Err(format!("{a} and {b} would both become {place}; name the folder above them, with -r"));
        }
    }
    Ok(())
}

/// `--to` may lie in a folder that is read. Files in it are not read, so all must be results.
fn expect_results(jobs: &[Job], to: &Path, to_itself: &Path) -> Result<(), String> {
    let places: BTreeSet<&Path> = jobs.iter().map(|job| job.place.as_path()).collect();
    let fields = files_below(to_itself)?.into_iter().filter(|below| is_field(to_itself, below));
    match fields.into_iter().find(|below| !places.contains(below.as_path())) {
        Some(other) => Err(format!(
            "--to {}: lies in the folder to be read, and {} in it is no result of that; another folder is needed",
            to.display(),
            other.display()
        )),
        None => Ok(()),
    }
}

/// No file may be replaced that is read, whatever `--force` says: `--to` is for new files.
fn expect_no_input(jobs: &[Job], to: &Path) -> Result<(), String> {
    let inputs: BTreeSet<PathBuf> = jobs.iter().filter_map(|job| fs::canonicalize(&job.input).ok()).collect();
    let is_input = |job: &&Job| fs::canonicalize(to.join(&job.place)).is_ok_and(|place| inputs.contains(&place));
    match jobs.iter().find(is_input) {
        Some(job) => Err(format!(
            "--to {}: {} is one of the files to be read; another folder is needed",
            to.display(),
            job.place.display()
        )),
        None => Ok(()),
    }
}

/// Whether the result of a job is there: each appears whole or not at all, so it is if it is no older than the input.
pub fn is_done(job: &Job, output: &Path) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|meta| meta.modified()).ok();
    let is_newer = changed(output).zip(changed(&job.input)).is_some_and(|(new, old)| new >= old);
    is_newer && matches!(kind_of(output), Ok(FileKind::Hdf5))
}
