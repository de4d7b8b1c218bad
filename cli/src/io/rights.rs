//! Who may read a new file: nobody but its owner while it is written, then those who could read what it was made of, or
//! what it replaces.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// A file whose rights a new one gets.
#[derive(Clone)]
pub struct Model {
    #[cfg_attr(not(unix), allow(dead_code))]
    meta: Metadata,
    /// Its permissions for a group are but the most that an access list gives.
    #[cfg_attr(not(unix), allow(dead_code))]
    has_list: bool,
    /// The permissions that others which it stands for have too.
    #[cfg_attr(not(unix), allow(dead_code))]
    shared: u32,
}

impl Model {
    /// The regular file at `path`, if there is one.
    pub fn at(path: &Path) -> Option<Model> {
        let meta = std::fs::metadata(path).ok().filter(Metadata::is_file)?;
        Some(Model { meta, has_list: has_list(path), shared: EVERYTHING })
    }

    /// One for what is made of all these files: it gives nobody more than any of them.
    pub fn of_all<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Option<Model> {
        paths.into_iter().filter_map(Model::at).reduce(Model::and)
    }

    /// An open one.
    pub fn of(file: &File) -> Option<Model> {
        let meta = file.metadata().ok().filter(Metadata::is_file)?;
        Some(Model { meta, has_list: has_list_open(file), shared: EVERYTHING })
    }
}

/// All permissions.
const EVERYTHING: u32 = 0o777;

/// The name under which Linux keeps an access list.
#[cfg(target_os = "linux")]
const LIST: &std::ffi::CStr = c"system.posix_acl_access";

#[cfg(target_os = "linux")]
fn has_list(path: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let Ok(name) = std::ffi::CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: two C strings; no room, which asks for the length.
    unsafe { libc::getxattr(name.as_ptr(), LIST.as_ptr(), std::ptr::null_mut(), 0) > 0 }
}

#[cfg(target_os = "linux")]
fn has_list_open(file: &File) -> bool {
    use std::os::fd::AsRawFd;
    // SAFETY: an open file and a C string; no room, which asks for the length.
    unsafe { libc::fgetxattr(file.as_raw_fd(), LIST.as_ptr(), std::ptr::null_mut(), 0) > 0 }
}

// Elsewhere lists do not show in the permissions.
#[cfg(not(target_os = "linux"))]
fn has_list(_path: &Path) -> bool {
    false
}
#[cfg(not(target_os = "linux"))]
fn has_list_open(_file: &File) -> bool {
    false
}

#[cfg(unix)]
pub use unix::take_over;

#[cfg(unix)]
mod unix {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

    use crate::io::tell;

    /// Gives a new file the owner, the group and the permissions of the one that it replaces, else the permissions of
    /// the one that it was made of, else those that the user's mask gives.
    pub fn take_over(file: &File, replaced: Option<&Model>, like: Option<&Model>, name: &str) -> io::Result<()> {
        if let Some(old) = replaced {
            keep_owner(file, &old.meta, name)?;
        }
        let mode = match replaced.or(like) {
            Some(model) => model.mode(file.metadata()?.gid()),
            None => 0o666 & !mask(),
        };
        file.set_permissions(Permissions::from_mode(mode))
    }

    /// Who is not root may give a file to his own groups only. What cannot be kept is said: the file is as good.
    fn keep_owner(file: &File, old: &Metadata, name: &str) -> io::Result<()> {
        let new = file.metadata()?;
        if new.gid() != old.gid() {
            let _ = fchown(file, None, Some(old.gid())); // what came of it shows below
        }
        if new.uid() != old.uid() {
            let _ = fchown(file, Some(old.uid()), None);
        }
        let new = file.metadata()?;
        let (owner, group) = (old.uid(), old.gid());
        if (new.uid(), new.gid()) != (owner, group) {
            let now = format!("{} and {}", new.uid(), new.gid());
            tell(&format!("sleek: {name}: owner {owner} and group {group} could not be kept; they are {now} now"));
        }
        Ok(())
    }

    impl Model {
        /// A model for what is made of two files.
        pub(super) fn and(self, other: Model) -> Model {
            Model { shared: self.shared & other.mode(self.meta.gid()), ..self }
        }

        /// The permissions for a file of `group`: another group, and the one of a file with an access list, get no more
        /// than everybody.
        fn mode(&self, group: u32) -> u32 {
            let mode = self.meta.mode() & self.shared;
            let same = self.meta.gid() == group && !self.has_list;
            if same { mode } else { mode & (0o707 | (mode & 0o7) << 3) }
        }
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
}

/// Where there are no such permissions the folder's own count.
#[cfg(not(unix))]
pub fn take_over(_: &File, _: Option<&Model>, _: Option<&Model>, _: &str) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
impl Model {
    fn and(self, _other: Model) -> Model {
        self
    }
}
