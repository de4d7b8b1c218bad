//! Hidden files of writers that were killed before they could remove them: the next writer in their folder does.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What stands in a hidden name before its writer.
const BY: &str = ".sleek-";

/// Folders that this process has looked through.
static SEEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// The beginning of the hidden name of a file that this process writes.
pub fn prefix(letters: &str) -> String {
    format!(".{letters}{BY}{:08x}-{}-", machine(), std::process::id())
}

/// Removes hidden files whose writers were processes of this machine, and are no more.
pub fn remove(folder: &Path) {
    if !SEEN.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.to_path_buf()) {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if writer(&entry.file_name().to_string_lossy()).is_some_and(is_gone) {
            let _ = fs::remove_file(entry.path()); // somebody else's stays
        }
    }
}

/// The process of this machine that wrote a file of this hidden name.
fn writer(name: &str) -> Option<i32> {
    let (_, by) = name.strip_prefix('.')?.rsplit_once(BY)?;
    let mut parts = by.split('-');
    let machine_of_it = u32::from_str_radix(parts.next()?, 16).ok()?;
    let process = parts.next()?.parse().ok().filter(|process| *process > 0)?;
    (machine_of_it == machine() && parts.next().is_some()).then_some(process)
}

fn is_gone(process: i32) -> bool {
    // SAFETY: signal 0 is sent to nobody.
    let answer = unsafe { libc::kill(process, 0) };
    answer == -1 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}

/// A number of the machine, and of the container in it: processes of another one have the same numbers as ours.
fn machine() -> u32 {
    let mut name = [0u8; 256];
    // SAFETY: a buffer of this length.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len()) };
    let processes = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let bytes = name.iter().take_while(|b| **b != 0).chain(processes.as_os_str().as_encoded_bytes());
    // FNV-1a
    bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_their_writer() {
        let own = format!("{}x7Yz", prefix("out"));
        assert_eq!(writer(&own), i32::try_from(std::process::id()).ok());
        let of_another_machine = format!(".out.sleek-{:08x}-12-abc", machine() ^ 1);
        for name in [&own[1..], ".out.sleek-12", ".out.sleek-zz-12-a", ".sleek", &of_another_machine] {
            assert_eq!(writer(name), None, "{name}");
        }
    }
}
