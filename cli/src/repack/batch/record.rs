//! What a batch has done, line by line in a file of the folder that it writes to: who starts it again goes on from
//! there.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::claim::{self, Claims};
use super::list::Job;
use crate::io::{Model, restrict};

/// The file's name.
pub const NAME: &str = ".sleek-repack.jsonl";

/// The record of a folder, which no other process has meanwhile.
pub struct Record {
    file: File,
    /// The folder that is written to.
    to: PathBuf,
    /// Where several processes write to it: they say what they do to each other, and not in the file.
    claims: Option<Arc<Claims>>,
    path: PathBuf,
    /// What the batch was asked for; a file that was done for another request is to be done again.
    request: String,
    /// The last line of each place.
    lines: BTreeMap<String, Value>,
}

impl Record {
    /// Opens the record of the folder, or begins it. It names what is in files, so only those can read it who can read
    /// `like`.
    pub fn open(
        folder: &Path,
        request: String,
        like: Option<&Model>,
        claims: Option<Arc<Claims>>,
    ) -> Result<Record, String> {
        let path = folder.join(NAME);
        let blame = |e: std::io::Error| format!("{}: {e}", path.display());
        let mut file = opened(&path, like).map_err(blame)?;
        // SAFETY: the descriptor is open. The lock goes away with the process, however that ends.
        let lock = |kind| unsafe { libc::flock(file.as_raw_fd(), kind | libc::LOCK_NB) };
        // File systems without locks have claims all the same.
        let is_taken = match claims {
            None => lock(libc::LOCK_EX) != 0,
            Some(_) => lock(libc::LOCK_SH) != 0 && Error::last_os_error().kind() == ErrorKind::WouldBlock,
        };
        if is_taken {
            return Err(format!(
                "{}: another sleek repack is at work in this folder; --share, given to all of them, shares the work",
                folder.display()
            ));
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(blame)?;
        let lines = String::from_utf8_lossy(&text);
        // A line that was cut off says nothing.
        let lines = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let lines = lines.chain(claim::all_said(folder));
        let lines = lines.filter_map(|line| Some((line["place"].as_str()?.to_owned(), line))).collect();
        if text.last().is_some_and(|end| *end != b'\n') {
            file.write_all(b"\n").map_err(blame)?;
        }
        Ok(Record { file, path, to: folder.to_path_buf(), claims, request, lines })
    }

    /// Takes notice of what others have said of a file meanwhile.
    pub fn look_again(&mut self, job: &Job) {
        if let Some(line) = self.claims.as_ref().and_then(|claims| claims.said(&key(job))) {
            self.lines.insert(key(job), line);
        }
    }

    /// What was said of a file that is done: as it is now, for this request, and its result is there.
    pub fn done(&self, job: &Job, output: &Path) -> Option<&Value> {
        let line = self.lines.get(&key(job)).filter(|line| line["done"] == true && self.is_of(line, job))?;
        let size = std::fs::metadata(output).ok()?.len();
        (line["bytes_after"] == size).then_some(line)
    }

    /// Whether what is at a file's place was put there by a batch, and so may be replaced: what it was doing when it
    /// ended, or what it said it did.
    pub fn may_replace(&self, job: &Job, output: &Path) -> bool {
        let Some(line) = self.lines.get(&key(job)) else { return false };
        let size = std::fs::metadata(output).map_or(0, |m| m.len());
        line["done"] == false || (line["done"] == true && line["bytes_after"] == size)
    }

    fn is_of(&self, line: &Value, job: &Job) -> bool {
        line["request"] == self.request.as_str()
            && line["bytes_before"] == job.bytes
            && line["changed"] == job.changed
            && line["input"] == job.input.to_string_lossy().as_ref()
    }

    /// Says that a file is begun, before anything of it is written.
    pub fn begin(&mut self, job: &Job) -> Result<(), String> {
        self.add(json!({"place": key(job), "done": false}))
    }

    /// Says that nothing came of a file.
    pub fn give_up(&mut self, job: &Job) -> Result<(), String> {
        self.add(json!({"place": key(job), "done": null}))
    }

    /// Says what came of a file.
    pub fn finish(&mut self, job: &Job, mut result: Value) -> Result<(), String> {
        result["place"] = json!(key(job));
        result["done"] = json!(true);
        result["request"] = json!(self.request);
        result["changed"] = json!(job.changed);
        self.add(result)
    }

    fn add(&mut self, line: Value) -> Result<(), String> {
        let key = line["place"].as_str().unwrap_or_default();
        if let Some(claims) = &self.claims {
            return claims.say(key, &line);
        }
        claim::forget(&self.to, key);
        let blame = |e: std::io::Error| format!("{}: {e}", self.path.display());
        self.file.write_all(format!("{line}\n").as_bytes()).map_err(blame)
    }
}

/// The record at `path`, which must be a regular file: a link would have another file written to, and a pipe waited
/// for.
fn opened(path: &Path, like: Option<&Model>) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let (file, is_new) = match options.clone().create_new(true).open(path) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => (options.open(path), false),
        made => (made, true),
    };
    let file = file.map_err(|e| match e.raw_os_error() {
        Some(libc::ELOOP) => Error::other("is a link; a regular file is needed"),
        _ => e,
    })?;
    if !file.metadata()?.is_file() {
        return Err(Error::other("is not a regular file"));
    }
    let restricted = like.map_or(Ok(()), |like| restrict(&file, like, is_new));
    // One that somebody else owns stays as it is.
    if is_new { restricted.map(|()| file) } else { Ok(file) }
}

/// The name of a file among all of them.
pub fn key(job: &Job) -> String {
    job.place.to_string_lossy().into_owned()
}
