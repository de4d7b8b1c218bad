//! Who may read a new file: nobody but its owner while it is written, then those who could read what it was made of, or
//! what it replaces.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// A file whose rights a new one gets.
#[derive(Clone, Copy)]
pub struct Model {
    mode: u32,
    owner: (u32, u32),
}

impl Model {
    /// The regular file at `path`, if there is one.
    pub fn at(path: &Path) -> Option<Model> {
        std::fs::metadata(path).ok().filter(Metadata::is_file).map(|meta| Model::new(&meta))
    }

    /// An open one.
    pub fn of(file: &File) -> Option<Model> {
        file.metadata().ok().filter(Metadata::is_file).map(|meta| Model::new(&meta))
    }

    /// One for what is made of all these files: it gives nobody more than any of them.
    pub fn of_all<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Option<Model> {
        let both = |a: Model, b: Model| Model { mode: a.mode & b.for_group(a.owner.1), ..a };
        paths.into_iter().filter_map(Model::at).reduce(both)
    }

    fn new(meta: &Metadata) -> Model {
        use std::os::unix::fs::MetadataExt;
        Model { mode: meta.mode() & 0o777, owner: (meta.uid(), meta.gid()) }
    }

    /// The permissions for a file of `group`: another group gets no more than everybody.
    fn for_group(self, group: u32) -> u32 {
        if self.owner.1 == group { self.mode } else { self.mode & (0o707 | (self.mode & 0o7) << 3) }
    }
}

/// Gives a new file the owner, the group and the permissions of the one that it replaces, as far as that is allowed;
/// else the permissions of the one that it was made of, else those that the user's mask gives.
pub fn take_over(file: &File, replaced: Option<Model>, like: Option<Model>) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    if let Some(Model { owner, .. }) = replaced {
        let _ = fchown(file, None, Some(owner.1)); // what came of it shows below
        let _ = fchown(file, Some(owner.0), None);
    }
    let mode = match replaced.or(like) {
        Some(model) => model.for_group(file.metadata()?.gid()),
        None => 0o666 & !mask(),
    };
    file.set_permissions(std::fs::Permissions::from_mode(mode))
}

/// The permissions that the user's new files do not get.
fn mask() -> u32 {
    // SAFETY: plain calls. No other thread of this command makes files; the mask in between is the strictest.
    unsafe {
        let mask = libc::umask(0o777);
        libc::umask(mask);
        #[allow(clippy::unnecessary_cast)] // macOS has 16 bits
        (mask as u32)
    }
}
