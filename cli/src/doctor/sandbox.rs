//! Trying libraries in a child process, which may crash or hang as it likes.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use sleek::Profile;

/// The variable by which a user says where HDF5 plugins are.
pub const PATH_VARIABLE: &str = "HDF5_PLUGIN_PATH";

/// A library that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(30);
/// Lines of error messages worth showing.
const COMPLAINTS: usize = 6;

/// What a child process found out about a libhdf5.
#[derive(Default)]
pub struct Findings {
    pub version: Option<String>,
    pub directories: Vec<PathBuf>,
    pub available: bool,
    /// Of each dataset that was written and read back, its bytes, the bytes that it took, and the profile.
    pub stored: Vec<(u64, u64, String)>,
    /// How the child ended, if not well.
    pub ended: Option<String>,
    pub complaints: Vec<String>,
}

impl Findings {
    /// The filter does what it should.
    pub fn works(&self) -> bool {
        self.available && self.stored.len() == Profile::ALL.len() && self.ended.is_none()
    }

    /// HDF5 before 1.10 has another binary interface.
    pub fn too_old(&self) -> bool {
        self.version.as_deref().is_some_and(|v| ["1.8.", "1.6."].iter().any(|old| v.starts_with(old)))
    }

    /// Takes in a line that the child printed: a key and what belongs to it.
    fn take(&mut self, line: &str) {
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        match key {
            "version" => self.version = Some(value.into()),
            "directory" => self.directories.push(value.into()),
            "available" => self.available = true,
            "stored" => self.stored.extend(stored(value)),
            _ => {}
        }
    }
}

/// What was stored of a dataset, as a child says it.
fn stored(value: &str) -> Option<(u64, u64, String)> {
    let mut words = value.split(' ');
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?, words.next()?.into()))
}

/// Tries a libhdf5, with `plugins` as its plugin directory if given, else with what it finds by itself.
pub fn try_library(file: &Path, plugins: Option<&Path>) -> Findings {
    let mut findings = Findings::default();
    match child("--probe-library", file, plugins) {
        Err(e) => findings.ended = Some(e),
        Ok((out, complaints, status)) => {
            out.lines().for_each(|line| findings.take(line));
            findings.complaints = telling(&complaints);
            findings.ended = ending(status);
        }
    }
    findings
}

/// The version of a plugin file.
pub fn plugin_version(file: &Path) -> Result<String, String> {
    let (out, complaints, status) = child("--probe-plugin", file, None)?;
    if let Some(how) = ending(status) {
        return Err(how);
    }
    match out.trim().strip_prefix("version ") {
        Some(version) => Ok(version.into()),
        None => Err(complaints.trim().trim_start_matches("sleek: error: ").into()),
    }
}

fn ending(status: Option<ExitStatus>) -> Option<String> {
    match status {
        None => Some(format!("it hangs; stopped after {} s", PATIENCE.as_secs())),
        Some(status) => status.signal().map(|n| format!("it crashes (signal {n})")),
    }
}

/// What a child process wrote to standard output and standard error, and how it ended: `None` if it had to be stopped.
type Ran = (String, String, Option<ExitStatus>);

fn child(what: &str, file: &Path, plugins: Option<&Path>) -> Result<Ran, String> {
    let exe = std::env::current_exe().map_err(|e| format!("cannot find this command: {e}"))?;
    let mut command = Command::new(exe);
    command.args([OsStr::new("doctor"), OsStr::new(what), file.as_os_str()]);
    command.env("SLEEK_LOG", "stderr").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(dir) = plugins {
        command.env(PATH_VARIABLE, dir);
    }
    leave_out_variables(&mut command);
    let mut child = command.spawn().map_err(|e| format!("cannot start a child process: {e}"))?;
    let (out, complaints) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let start = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if start.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(5)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                break None;
            }
        }
    };
    Ok((out.join().unwrap_or_default(), complaints.join().unwrap_or_default(), status))
}

/// A request of the user's would take the place of the one that is tried, and what cannot be understood was found
/// before: neither is a fault of the library.
fn leave_out_variables(command: &mut Command) {
    command.env_remove("SLEEK_PARAMS");
    if sleek::exec::check_environment().is_err() {
        command.env_remove(sleek::environment::THREADS).env_remove(sleek::environment::SIMD);
    }
}

/// Reads a pipe to its end beside everything else, so that a child never waits for us.
fn collect(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes); // what came before an error is still of use
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// The lines that tell something: our own, and of HDF5's stack only the sentences, not the codes around them.
fn telling(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter_map(|line| match line.strip_prefix('#') {
        Some(entry) => entry.split_once("(): ").map(|(_, sentence)| format!("HDF5: {sentence}")),
        None if line.starts_with("sleek") => Some(line.to_owned()),
        None => None,
    });
    let mut seen = std::collections::BTreeSet::new();
    lines.filter(|line| seen.insert(line.clone())).take(COMPLAINTS).collect()
}
