//! Which files a batch is of, and where each one goes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::record;
use crate::hdf5::{FileKind, kind_of};

/// A file of the batch.
#[derive(Clone)]
pub struct Job {
    pub input: PathBuf,
    /// Where it goes, below the folder for all of them.
    pub place: PathBuf,
    pub bytes: u64,
    /// Nanoseconds of the system's clock at which it was last changed.
    pub changed: u64,
}

/// The files that are named, and with `recursive` those in the folders that are named. Of what is in a folder only HDF5
/// files are taken, and classic netCDF files, which get a message. `to` is never looked into.
pub fn jobs(paths: &[PathBuf], recursive: bool, to: &Path) -> Result<Vec<Job>, String> {
    let to_itself = fs::canonicalize(to).ok();
    let mut jobs = Vec::new();
    for path in paths {
        let meta = fs::metadata(path).map_err(|e| format!("{}: {e}", path.display()))?;
        if to_itself.is_some() && fs::canonicalize(path).ok() == to_itself {
            return Err(format!("--to {}: is the folder to be read; another folder is needed", to.display()));
        }
        match (meta.is_dir(), recursive) {
            (true, true) if is_filled_part_of(path, to_itself.as_deref()) => {
                return Err(format!(
                    "--to {}: lies in {} and has files that no batch wrote, which would not be read; another folder \
                     is needed",
                    to.display(),
                    path.display()
                ));
            }
            (true, true) => walk(path, Path::new(""), to_itself.as_deref(), &mut jobs)?,
            (true, false) => return Err(format!("{}: is a folder; -r takes what is in it", path.display())),
            (false, _) => {
                let name = path.file_name().ok_or_else(|| format!("{}: is not a file name", path.display()))?;
                jobs.push(job(path, name.into())?);
            }
        }
    }
    expect_different_places(&jobs)?;
    Ok(jobs)
}

/// All files below `folder`, in the order of their names; links to folders are not followed.
fn walk(folder: &Path, below: &Path, to: Option<&Path>, jobs: &mut Vec<Job>) -> Result<(), String> {
    if to.is_some() && fs::canonicalize(folder).ok().as_deref() == to {
        return Ok(());
    }
    let blame = |e: std::io::Error| format!("{}: {e}", folder.display());
    let entries: Result<Vec<_>, _> = fs::read_dir(folder).map_err(blame)?.collect();
    let mut entries = entries.map_err(blame)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, below) = (entry.path(), below.join(entry.file_name()));
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        match entry.file_type().map_err(blame)?.is_dir() {
            true => walk(&path, &below, to, jobs)?,
            // Hidden files are what is being written.
            false if !is_hidden && path.is_file() && !matches!(kind_of(&path), Ok(FileKind::Other)) => {
                jobs.push(job(&path, below)?);
            }
            false => {}
        }
    }
    Ok(())
}

fn job(input: &Path, place: PathBuf) -> Result<Job, String> {
    let blame = |e: std::io::Error| format!("{}: {e}", input.display());
    let meta = fs::metadata(input).map_err(blame)?;
    let since = meta.modified().map_err(blame)?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let changed = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
    Ok(Job { input: input.to_path_buf(), place, bytes: meta.len(), changed })
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

/// Whether the folder for the new files lies below one that is read, and has files of its own.
fn is_filled_part_of(folder: &Path, to: Option<&Path>) -> bool {
    let (Some(to), Ok(folder)) = (to, fs::canonicalize(folder)) else { return false };
    let is_filled = || fs::read_dir(to).is_ok_and(|mut entries| entries.next().is_some());
    to.starts_with(folder) && is_filled() && fs::symlink_metadata(to.join(record::NAME)).is_err()
}

/// New files stay below `to`, which is there: no link in it leads elsewhere, such as to what is read.
pub fn expect_inside(jobs: &[Job], to: &Path) -> Result<(), String> {
    let blame = |e: std::io::Error| format!("{}: {e}", to.display());
    let folder = fs::canonicalize(to).map_err(blame)?;
    match jobs.iter().find(|job| leads_out(&folder, &job.place)) {
        Some(job) => Err(format!(
            "--to {}: {} leads out of this folder by a link; links in it are not followed",
            to.display(),
            job.place.display()
        )),
        None => Ok(()),
    }
}

/// Whether a part of the path below `folder` is a link that leads elsewhere, or to nothing.
fn leads_out(folder: &Path, below: &Path) -> bool {
    let mut path = folder.to_path_buf();
    below.components().any(|part| {
        path.push(part);
        let is_link = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_symlink());
        is_link && !fs::canonicalize(&path).is_ok_and(|real| real.starts_with(folder))
    })
}

/// No file of the batch may be replaced by it, whatever `--force` says: `--to` is for new files.
pub fn expect_other_places(jobs: &[Job], to: &Path) -> Result<(), String> {
    let inputs: BTreeMap<_, _> = jobs.iter().filter_map(|j| Some((fs::canonicalize(&j.input).ok()?, j))).collect();
    let replaced =
        |job: &Job| fs::canonicalize(to.join(&job.place)).ok().is_some_and(|place| inputs.contains_key(&place));
    match jobs.iter().find(|job| replaced(job)) {
        Some(job) => Err(format!(
            "--to {}: {} is one of the files to be read; another folder is needed",
            to.display(),
            job.place.display()
        )),
        None => Ok(()),
    }
}
