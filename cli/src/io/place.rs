//! Where a path leads. Symbolic links are followed by hand: what they lead to need not be there yet, and it may be a
//! file that this process has open already, which is a stream and to be written from where it stands.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Links that a path may lead through, as for the system.
const LINKS: usize = 40;

/// Where a path leads.
pub enum Place {
    /// To an open file of this process.
    #[cfg_attr(not(unix), allow(dead_code))]
    Descriptor(i32),
    /// To this file, which may not be there and is no link.
    File(PathBuf),
}

impl Place {
    /// Where `path` leads.
    pub fn of(path: &Path) -> io::Result<Place> {
        let mut path = path.to_path_buf();
        for _ in 0..LINKS {
            let folder = match path.parent() {
                Some(folder) if folder != Path::new("") => folder,
                _ => Path::new("."),
            };
            if let Some(descriptor) = descriptor(folder, &path) {
                return Ok(Place::Descriptor(descriptor));
            }
            match fs::read_link(&path) {
                Ok(target) => path = folder.join(target),
                Err(_) => return Ok(Place::File(path)),
            }
        }
        Err(io::Error::new(io::ErrorKind::InvalidInput, "is a link that leads to no file"))
    }
}

/// The number of an open file, if the folder is the one in which the system shows those of this process.
#[cfg(unix)]
fn descriptor(folder: &Path, path: &Path) -> Option<i32> {
    let number = path.file_name()?.to_str()?.parse().ok()?;
    let folder = fs::canonicalize(folder).ok()?;
    let shown = ["/dev/fd", "/proc/self/fd", "/proc/thread-self/fd"];
    shown.iter().any(|own| fs::canonicalize(own).is_ok_and(|own| own == folder)).then_some(number)
}

#[cfg(not(unix))]
fn descriptor(_folder: &Path, _path: &Path) -> Option<i32> {
    None
}
