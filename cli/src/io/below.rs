//! What lies in folders.

use std::fs;
use std::path::{Path, PathBuf};

/// The files below a folder by their paths from there, in the order of their names; links to folders are not followed.
pub fn files_below(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    walk(folder, Path::new(""), &mut files)?;
    Ok(files)
}

fn walk(folder: &Path, below: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let blame = |e: std::io::Error| format!("{}: {e}", folder.display());
    let entries: Result<Vec<_>, _> = fs::read_dir(folder).map_err(blame)?.collect();
    let mut entries = entries.map_err(blame)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, below) = (entry.path(), below.join(entry.file_name()));
        if entry.file_type().map_err(blame)?.is_dir() {
            walk(&path, &below, files)?;
        } else if path.is_file() {
            files.push(below);
        }
    }
    Ok(())
}
