//! A new file that takes its place when it is complete. Until then only its owner can read it, and where the disk has
//! files without a name it has none: then nothing is left of it however the process ends.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::output::exists;
use super::rights::Model;
use super::{rights, signals};

/// Bytes that a file's name may have everywhere.
const NAME_BYTES: usize = 255;
/// Names that are tried: another machine may have a process of this number in the same folder.
const TRIES: u32 = 100;

/// A new file on its way to its place.
pub struct Staging {
    file: File,
    /// Its name for now, if it has one.
    hidden: Option<Hidden>,
    target: PathBuf,
    /// What the user calls it.
    name: String,
    force: bool,
    like: Option<Model>,
}

impl Staging {
    /// Makes an empty file for the place `target`, which is no link. It will be as private as the file that it
    /// replaces, else as `like`.
    pub fn new(name: &str, target: PathBuf, force: bool, like: Option<&Model>) -> io::Result<Staging> {
        let (file, hidden) = match unnamed(&target) {
            Some(file) => (file, None),
            None => Hidden::create(&target).map(|(file, hidden)| (file, Some(hidden)))?,
        };
        Ok(Staging { file, hidden, target, name: name.to_owned(), force, like: like.cloned() })
    }

    /// The same under a name, for another process to write.
    pub fn named(name: &str, target: PathBuf, force: bool, like: Option<&Model>) -> io::Result<(PathBuf, Staging)> {
        let (file, hidden) = Hidden::create(&target)?;
        let (path, hidden) = (hidden.path.clone(), Some(hidden));
        Ok((path, Staging { file, hidden, target, name: name.to_owned(), force, like: like.cloned() }))
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Puts the file in its place.
    pub fn finish(self) -> Result<(), String> {
        self.settle()?;
        super::placed(&self.name);
        Ok(())
    }

    fn settle(&self) -> Result<(), String> {
        let blame = |e: io::Error| format!("{}: {e}", self.name);
        let old = if self.force { Model::at(&self.target) } else { None };
        rights::take_over(&self.file, old.as_ref(), self.like.as_ref(), &self.name).map_err(blame)?;
        if old.is_some() {
            return self.replace().map_err(blame);
        }
        // Linking fails if the name was taken meanwhile; renaming would replace it.
        match link(&self.file, self.hidden.as_ref(), &self.target) {
            Ok(()) => Ok(()),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && self.force => self.replace().map_err(blame),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(exists(&self.name)),
            // A disk without second names.
            Err(e) => match &self.hidden {
                Some(hidden) => fs::rename(&hidden.path, &self.target).map_err(blame),
                None => Err(blame(e)),
            },
        }
    }

    /// Takes the place of a file, which may be the only copy of what is in it: the new one must be on the disk before.
    fn replace(&self) -> io::Result<()> {
        self.file.sync_all()?;
        let linked = match &self.hidden {
            Some(_) => None,
            None => Some(Hidden::named(&self.target, |path| link(&self.file, None, path))?.1),
        };
        if let Some(hidden) = self.hidden.as_ref().or(linked.as_ref()) {
            fs::rename(&hidden.path, &self.target)?;
        }
        // Not every system lets folders be opened.
        let folder = self.target.parent().filter(|f| *f != Path::new("")).unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).or(Ok(()))
    }
}

/// A new file in the folder of `target`, without a name; `None` where there are none.
#[cfg(target_os = "linux")]
fn unnamed(target: &Path) -> Option<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let folder = target.parent().filter(|f| *f != Path::new("")).unwrap_or(Path::new("."));
    let file = OpenOptions::new().write(true).mode(0o600).custom_flags(libc::O_TMPFILE).open(folder).ok()?;
    // Its name comes by the one under which the system shows it.
    fs::metadata(shown(&file)).is_ok().then_some(file)
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_target: &Path) -> Option<File> {
    None
}

/// The name under which the system shows an open file to this process.
#[cfg(target_os = "linux")]
fn shown(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd;
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Gives a file a name that nothing has.
#[cfg(target_os = "linux")]
fn link(file: &File, hidden: Option<&Hidden>, to: &Path) -> io::Result<()> {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    if let Some(hidden) = hidden {
        return fs::hard_link(&hidden.path, to);
    }
    let name = |path: &Path| CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other);
    let (from, to) = (name(&shown(file))?, name(to)?);
    let (here, follow) = (libc::AT_FDCWD, libc::AT_SYMLINK_FOLLOW);
    // SAFETY: two C strings that outlive the call.
    match unsafe { libc::linkat(here, from.as_ptr(), here, to.as_ptr(), follow) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(not(target_os = "linux"))]
fn link(_file: &File, hidden: Option<&Hidden>, to: &Path) -> io::Result<()> {
    hidden.map_or(Err(io::ErrorKind::Unsupported.into()), |hidden| fs::hard_link(&hidden.path, to))
}

/// A hidden name that goes away, unless the file is renamed: on drop, and when a signal ends the process.
struct Hidden {
    path: PathBuf,
}

impl Hidden {
    /// Makes a new file beside its place that only its owner can read.
    fn create(target: &Path) -> io::Result<(File, Hidden)> {
        Hidden::named(target, |path| {
            let mut options = OpenOptions::new();
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            options.write(true).create_new(true).open(path)
        })
    }

    /// Has `make` use a name that nothing has.
    fn named<T>(target: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(T, Hidden)> {
        let Some(name) = target.file_name() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a file name"));
        };
        let mut tries = 0;
        loop {
            let path = target.with_file_name(hidden_name(&name.to_string_lossy(), tries));
            // A signal that came between the two would leave the file behind.
            let held = signals::Held::all();
            match make(&path) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && tries < TRIES => tries += 1,
                made => {
                    let made = made?;
                    signals::remove_on_signal(Some(&path));
                    drop(held);
                    return Ok((made, Hidden { path }));
                }
            }
        }
    }
}

/// A name that tells whose it is, as long as names may be.
fn hidden_name(name: &str, tries: u32) -> OsString {
    let end = match tries {
        0 => format!(".sleek-{}", std::process::id()),
        _ => format!(".sleek-{}-{tries}", std::process::id()),
    };
    let mut kept = name.len().min(NAME_BYTES - 1 - end.len());
    while !name.is_char_boundary(kept) {
        kept -= 1;
    }
    format!(".{}{end}", &name[..kept]).into()
}

impl Drop for Hidden {
    fn drop(&mut self) {
        signals::remove_on_signal(None);
        let _ = fs::remove_file(&self.path); // after a rename there is nothing left to remove
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_names_are_short_enough() {
        for name in ["x".repeat(300), "ä".repeat(127), "out".into()] {
            for tries in [0, 1, TRIES] {
                let hidden = hidden_name(&name, tries).into_string().unwrap();
                assert!(hidden.len() <= NAME_BYTES && hidden.starts_with(&format!(".{}", &name[..2])), "{hidden}");
            }
        }
        assert_eq!(hidden_name("out", 2).into_string().unwrap(), format!(".out.sleek-{}-2", std::process::id()));
    }
}
