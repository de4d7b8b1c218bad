//! Who may read a new file: nobody but its owner while it is written, then those who could read what it was made of, or what it
//! replaces.

use std::fs::{File, Metadata};
use std::io;

#[cfg(unix)]
pub use unix::take_over;

#[cfg(unix)]
mod unix {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

    use crate::io::tell;

    /// Gives a new file the owner, the group and the permissions of the one that it replaces, else the permissions of the one that
    /// `like` tells of, else those that the user's mask gives.
    pub fn take_over(file: &File, replaced: Option<&Metadata>, like: Option<&Metadata>, name: &str) -> io::Result<()> {
        if let Some(old) = replaced {
            keep_owner(file, old, name)?;
        }
        let mode = match replaced.or(like) {
            Some(model) => mode_like(model, file.metadata()?.gid()),
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
        if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
            let (owner, group) = (old.uid(), old.gid());
            tell(&format!(
                "sleek: {name}: owner {owner} and group {group} could not be kept; they are {} and {} now",
                new.uid(),
                new.gid()
            ));
        }
        Ok(())
    }

    /// The permissions of a file, for one of `group`: another group gets no more than everybody had.
    fn mode_like(model: &Metadata, group: u32) -> u32 {
        let mode = model.mode() & 0o777;
        if model.gid() == group { mode } else { mode & (0o707 | (mode & 0o7) << 3) }
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
pub fn take_over(_: &File, _: Option<&Metadata>, _: Option<&Metadata>, _: &str) -> io::Result<()> {
    Ok(())
}
