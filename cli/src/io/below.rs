//! What lies in folders.

use std::fs;
use std::path::{Path, PathBuf};

/// The files below a folder by their paths from there, in the order of their names; links to folders are not followed.
pub fn files_below(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let (files, unread) = all_below(folder);
    unread.first().map_or(Ok(files), |(folder, why)| Err(format!("{}: {why}", folder.display())))
}

/// The same, with the folders that cannot be read, each with why.
pub fn all_below(folder: &Path) -> (Vec<PathBuf>, Vec<(PathBuf, String)>) {
    let (mut files, mut unread) = (Vec::new(), Vec::new());
    walk(folder, Path::new(""), &mut files, &mut unread);
    (files, unread)
}

fn walk(folder: &Path, below: &Path, files: &mut Vec<PathBuf>, unread: &mut Vec<(PathBuf, String)>) {
    let mut each = || {
        let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (path, below) = (entry.path(), below.join(entry.file_name()));
            if entry.file_type()?.is_dir() {
                walk(&path, &below, files, unread);
            } else if path.is_file() {
                files.push(below);
            }
        }
        Ok::<_, std::io::Error>(())
    };
    if let Err(e) = each() {
        unread.push((folder.to_owned(), e.to_string()));
    }
}
