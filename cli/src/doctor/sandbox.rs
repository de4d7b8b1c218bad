//! Trying libraries in a child process, which may crash or hang as it likes.

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

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
    /// Of each dataset that was written and read back the bytes that it took, and how.
    pub stored: Vec<String>,
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
            "stored" => self.stored.push(value.into()),
            _ => {}
        }
    }
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
    let blame = |e: &dyn std::fmt::Display| format!("cannot start a child process: {e}");
    let child = command.spawn().map_err(|e| blame(&e))?;
    let (number, (sender, receiver)) = (child.id() as i32, channel());
    thread::spawn(move || sender.send(child.wait_with_output()));
    let ended = receiver.recv_timeout(PATIENCE);
    let hangs = ended.is_err();
    if hangs {
        // SAFETY: a plain call; nobody has waited for this child, so the number is its own.
        unsafe { libc::kill(number, libc::SIGKILL) };
    }
    let output = ended.or_else(|_| receiver.recv()).map_err(|e| blame(&e))?.map_err(|e| blame(&e))?;
    let [out, complaints] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    Ok((out, complaints, Some(output.status).filter(|_| !hangs)))
}

/// A request of the user's would take the place of the one that is tried, and what cannot be understood was found
/// before: neither is a fault of the library.
fn leave_out_variables(command: &mut Command) {
    command.env_remove("SLEEK_PARAMS");
    if sleek::exec::check_environment().is_err() {
        command.env_remove(sleek::environment::THREADS).env_remove(sleek::environment::SIMD);
    }
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
