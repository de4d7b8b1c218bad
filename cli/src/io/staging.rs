//! A new file that takes its place when it is complete. Until then it has a hidden name, and only its owner can read
//! it.

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tempfile::NamedTempFile;

use super::output::exists;
use super::{leftovers, signals};

/// Letters of the final name that the hidden one has: names may have 255 bytes.
const LETTERS: usize = 32;

/// A new file on its way to its place.
pub struct Staging {
    file: NamedTempFile,
    target: PathBuf,
    /// What the user calls it.
    name: String,
    force: bool,
    like: Option<Metadata>,
}

impl Staging {
    /// Makes an empty file for the place `target`, which is no link. It will be as private as the file that it
    /// replaces, else as `like`, else as the user's mask has it.
    pub fn new(name: &str, target: PathBuf, force: bool, like: Option<Metadata>) -> io::Result<Staging> {
        let letters: String = target.file_name().unwrap_or_default().to_string_lossy().chars().take(LETTERS).collect();
        leftovers::remove(folder(&target));
        signals::expect_signals();
        let file = tempfile::Builder::new().prefix(&leftovers::prefix(&letters)).tempfile_in(folder(&target));
        // Its name means nothing to a user.
        let file = file.map_err(|e| e.raw_os_error().map_or(e, io::Error::from_raw_os_error))?;
        signals::remove_on_signal(file.path());
        Ok(Staging { file, target, name: name.to_owned(), force, like: like.filter(Metadata::is_file) })
    }

    pub fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Its name for now.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Puts the file in its place: what it replaces may be the only copy, so the new one is on the disk before.
    pub fn finish(self) -> Result<(), String> {
        let Staging { file, target, name, force, like } = self;
        let blame = |e: io::Error| format!("{name}: {e}");
        let replaced = std::fs::metadata(&target).ok().filter(|meta| force && meta.is_file());
        take_over(file.as_file(), replaced, like).map_err(blame)?;
        let hidden = file.path().to_path_buf();
        let placed = match force {
            true => {
                file.as_file().sync_all().map_err(blame)?;
                file.persist(&target)
            }
            false => file.persist_noclobber(&target),
        };
        signals::finished(&hidden);
        match placed {
            Ok(_) => {}
            Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => return Err(exists(&name)),
            Err(e) => return Err(blame(e.error)),
        }
        if force {
            // Not every system lets folders be opened.
            let _ = File::open(folder(&target)).and_then(|folder| folder.sync_all());
        }
        super::placed(&name);
        Ok(())
    }
}

/// Gives a new file the owner, the group and the permissions of the one that it replaces, as far as that is allowed;
/// else the permissions of the one that it was made of, else those that the user's mask gives.
fn take_over(file: &File, replaced: Option<Metadata>, like: Option<Metadata>) -> io::Result<()> {
    if let Some(old) = &replaced {
        let _ = fchown(file, None, Some(old.gid())); // what came of it shows below
        let _ = fchown(file, Some(old.uid()), None);
    }
    let mode = match replaced.or(like) {
        Some(model) if model.gid() == file.metadata()?.gid() => model.mode() & 0o777,
        // Another group gets no more than everybody.
        Some(model) => model.mode() & (0o707 | (model.mode() & 0o7) << 3),
        None => 0o666 & !mask(),
    };
    file.set_permissions(Permissions::from_mode(mode))
}

/// The permissions that the user's new files do not get, as they were when the first thread asked.
pub fn mask() -> u32 {
    static MASK: OnceLock<u32> = OnceLock::new();
    // SAFETY: plain calls. The mask in between is the strictest.
    *MASK.get_or_init(|| unsafe {
        let mask = libc::umask(0o777);
        libc::umask(mask);
        #[allow(clippy::unnecessary_cast)] // macOS has 16 bits
        (mask as u32)
    })
}

/// The folder of a file.
fn folder(target: &Path) -> &Path {
    target.parent().filter(|f| *f != Path::new("")).unwrap_or(Path::new("."))
}
