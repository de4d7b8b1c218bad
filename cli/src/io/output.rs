//! Where a result goes: a stream takes bytes as they come, a file appears complete or not at all.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use super::Staging;
use super::place::Place;

/// Where a result goes.
pub struct Output {
    pub name: String,
    sink: Sink,
}

enum Sink {
    /// A pipe, a device or a file that was open before: bytes go out as they come.
    Direct(File),
    /// A new file beside its place.
    Staged(Box<Staging>),
}

impl Output {
    /// Prepares to write `path`; `-` is standard output. An existing file is refused without `force`. A new one can be
    /// read by whoever can read the file `like`.
    pub fn create(path: &Path, force: bool, like: Option<Metadata>) -> Result<Output, String> {
        let name = path.display().to_string();
        let blame = |e: io::Error| format!("{name}: {e}");
        let target = match path.as_os_str() == "-" {
            true => return Output::stream(1, "standard output".into()),
            false => match Place::of(path).map_err(blame)? {
                Place::Descriptor(number) => return Output::stream(number, name),
                Place::File(target) => target,
            },
        };
        let sink = match fs::metadata(&target) {
            Ok(meta) if meta.is_dir() => return Err(format!("{name}: is a directory; a file name or - is needed")),
            Ok(meta) if meta.is_file() && !force => return Err(exists(&name)),
            Ok(meta) if !meta.is_file() => OpenOptions::new().write(true).open(target).map(Sink::Direct),
            _ => Staging::new(&name, target, force, like).map(|staging| Sink::Staged(Box::new(staging))),
        };
        Ok(Output { sink: sink.map_err(blame)?, name })
    }

    /// An open file of this process.
    fn stream(number: i32, name: String) -> Result<Output, String> {
        let file = open_file(number).map_err(|e| format!("{name}: {e}"))?;
        match file.is_terminal() {
            true => Err(format!("{name} is a terminal; name a file or send it to a pipe")),
            false => Ok(Output { name, sink: Sink::Direct(file) }),
        }
    }

    pub fn write(&mut self, data: &[u8]) -> Result<(), String> {
        self.file().write_all(data).map_err(|e| format!("{}: {e}", self.name))
    }

    pub fn file(&self) -> &File {
        match &self.sink {
            Sink::Direct(file) => file,
            Sink::Staged(staging) => staging.file(),
        }
    }

    /// Whether bytes can go to any place in it.
    pub fn is_file(&self) -> bool {
        matches!(self.sink, Sink::Staged(_))
    }

    /// Puts the result in its place.
    pub fn finish(self) -> Result<(), String> {
        match self.sink {
            Sink::Direct(_) => Ok(()),
            Sink::Staged(staging) => staging.finish(),
        }
    }
}

pub fn exists(name: &str) -> String {
    format!("{name} exists; --force replaces it")
}

/// A file that this process has open, under a number of its own.
fn open_file(number: i32) -> io::Result<File> {
    use std::os::fd::{FromRawFd, OwnedFd};
    // SAFETY: a plain call, which takes any number.
    match unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: made just now and nobody else's.
        own => Ok(File::from(unsafe { OwnedFd::from_raw_fd(own) })),
    }
}

/// The place of a new file; refuses one where there is something that must not be replaced, or that is a stream.
pub fn check_place(path: &Path, force: bool) -> Result<PathBuf, String> {
    let name = path.display().to_string();
    let target = match Place::of(path).map_err(|e| format!("{name}: {e}"))? {
        Place::Descriptor(_) => return Err(format!("{name}: is a stream; a file name is needed")),
        Place::File(target) => target,
    };
    match fs::metadata(&target) {
        Ok(meta) if !meta.is_file() => Err(format!("{name}: is not a regular file; a file name is needed")),
        Ok(_) if !force => Err(exists(&name)),
        _ => Ok(target),
    }
}
