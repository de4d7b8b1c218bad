//! A new file that takes its place when it is complete. Until then it has a hidden name, and only its owner can read
//! it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::output::exists;
use super::rights::{self, Model};
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
    like: Option<Model>,
}

impl Staging {
    /// Makes an empty file for the place `target`, which is no link. It will be as private as the file that it
    /// replaces, else as `like`, else as the user's mask has it.
    pub fn new(name: &str, target: PathBuf, force: bool, like: Option<&Model>) -> io::Result<Staging> {
        let letters: String = target.file_name().unwrap_or_default().to_string_lossy().chars().take(LETTERS).collect();
        let prefix = leftovers::prefix(&letters);
        leftovers::remove(folder(&target));
        signals::remove_on_signal(None); // so that its thread waits before there is a file
        let file = tempfile::Builder::new().prefix(&prefix).tempfile_in(folder(&target))?;
        signals::remove_on_signal(Some(file.path().to_path_buf()));
        Ok(Staging { file, target, name: name.to_owned(), force, like: like.copied() })
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
        let replaced = Model::at(&target).filter(|_| force);
        rights::take_over(file.as_file(), replaced, like).map_err(blame)?;
        let placed = match force {
            true => {
                file.as_file().sync_all().map_err(blame)?;
                file.persist(&target)
            }
            false => file.persist_noclobber(&target),
        };
        signals::remove_on_signal(None);
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

/// The folder of a file.
fn folder(target: &Path) -> &Path {
    target.parent().filter(|f| *f != Path::new("")).unwrap_or(Path::new("."))
}
