//! Where a path leads.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where a path leads.
pub enum Place {
    /// To an open file of this process, which is to be written from where it stands.
    Descriptor(i32),
    /// To this file, which may not be there and is no link.
    File(PathBuf),
}

impl Place {
    /// Where `path` leads. What a link leads to need not be there yet.
    pub fn of(path: &Path) -> io::Result<Place> {
        if let Some(number) = descriptor(path) {
            return Ok(Place::Descriptor(number));
        }
        match (fs::read_link(path), fs::canonicalize(path)) {
            (Err(_), _) => Ok(Place::File(path.to_path_buf())),
            (Ok(_), Ok(real)) => Ok(Place::File(real)),
            (Ok(target), Err(e)) if e.kind() == io::ErrorKind::NotFound => {
                Ok(Place::File(path.parent().unwrap_or(Path::new("")).join(target)))
            }
            (Ok(_), Err(e)) => Err(e),
        }
    }
}

/// The number of an open file, by the names under which the system shows those of this process.
fn descriptor(path: &Path) -> Option<i32> {
    let text = path.to_str()?;
    let number = ["/dev/fd/", "/proc/self/fd/"].iter().find_map(|folder| text.strip_prefix(folder)?.parse().ok());
    number.or((text == "/dev/stdout").then_some(1))
}
