//! Which process has a file of a folder that several work into, of one machine or of many that share a file system.
//!
//! Each file has a name of its own in a folder beside the results. Who makes `NAME.0`, which one process alone can, has
//! the file; a claim whose holder is gone is taken over by making `NAME.1`, and so on: the highest number counts. What
//! came of it stands in `NAME.done`, before the claim goes.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

/// The folder's name.
pub const FOLDER: &str = ".sleek-repack.d";
/// How often a holder says that it is still there.
const BEAT: Duration = Duration::from_secs(20);
/// A holder on another machine that was silent for so many seconds is gone.
const SILENCE: i64 = 300;

/// The claims of this process.
pub struct Claims {
    folder: PathBuf,
    me: Value,
    held: Arc<Mutex<Vec<PathBuf>>>,
    /// Ends the beat along with the process' claims.
    _beat: Sender<()>,
}

/// A file that this process has until it is dropped.
pub struct Claim<'a> {
    claims: &'a Claims,
    /// Those that were taken over, and the own one last.
    files: Vec<PathBuf>,
}

impl Claims {
    /// Those in the folder of results.
    pub fn open(to: &Path) -> Result<Claims, String> {
        let folder = to.join(FOLDER);
        let made = fs::DirBuilder::new().mode(0o700).create(&folder);
        if let Err(e) = made.or_else(|e| if e.kind() == ErrorKind::AlreadyExists { Ok(()) } else { Err(e) }) {
            return Err(format!("{}: {e}", folder.display()));
        }
        if !fs::symlink_metadata(&folder).is_ok_and(|meta| meta.is_dir()) {
            return Err(format!("{}: is not a folder", folder.display()));
        }
        let held = Arc::new(Mutex::new(Vec::new()));
        Ok(Claims { folder, me: myself(), _beat: beat(&held), held })
    }

    /// Takes a file, unless somebody has it.
    pub fn take(&self, key: &str) -> Result<Option<Claim<'_>>, String> {
        let numbered = |n: usize| self.folder.join(format!("{}.{n}", name(key)));
        let mut files = Vec::new();
        loop {
            let path = numbered(files.len());
            match self.make(&path) {
                Ok(()) => {
                    self.held().push(path.clone());
                    files.push(path);
                    let is_outnumbered = numbered(files.len()).exists();
                    let claim = Claim { claims: self, files };
                    return Ok(Some(claim).filter(|_| !is_outnumbered));
                }
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                    match self.is_alive(&path) {
                        Some(true) => return Ok(None),
                        Some(false) => files.push(path),
                        None => files.clear(), // it went meanwhile: from the first on
                    }
                }
                Err(e) => return Err(format!("{}: {e}", path.display())),
            }
        }
    }

    /// Makes a claim and who holds it at once, so that none is seen without; where there are no links, in two steps.
    fn make(&self, path: &Path) -> std::io::Result<()> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let who = self.me.to_string();
        let new = self.folder.join(format!("{}.{}.new", name(&who), COUNT.fetch_add(1, Ordering::Relaxed)));
        let write = |mut file: File| file.write_all(who.as_bytes()).and_then(|()| file.sync_all());
        create(&new).and_then(write)?;
        let linked = fs::hard_link(&new, path);
        let _ = fs::remove_file(&new); // it has served
        match linked {
            Err(e) if e.kind() != ErrorKind::AlreadyExists => {
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).and_then(write)
            }
            linked => linked,
        }
    }

    /// What was said last of a file.
    pub fn said(&self, key: &str) -> Option<Value> {
        said(&self.folder.join(format!("{}.done", name(key)))).filter(|line| line["place"] == key)
    }

    /// Says what came of a file, or that it is begun.
    pub fn say(&self, key: &str, line: &Value) -> Result<(), String> {
        let [new, path] = [format!("{}.{}.new", name(key), std::process::id()), format!("{}.done", name(key))]
            .map(|name| self.folder.join(name));
        let blame = |e: std::io::Error| format!("{}: {e}", path.display());
        let mut file = create(&new).map_err(blame)?;
        file.write_all(line.to_string().as_bytes()).and_then(|()| file.sync_all()).map_err(blame)?;
        fs::rename(&new, &path).map_err(blame)
    }

    /// Whether the holder of a claim is there; none where there is no claim. One that is just being written is alive.
    fn is_alive(&self, path: &Path) -> Option<bool> {
        let text = fs::read(path).ok()?;
        let who: Value = serde_json::from_slice(&text).unwrap_or_default();
        if who["machine"] == self.me["machine"] {
            let since = started(who["process"].as_u64().unwrap_or(0));
            return Some(who["started"] == since && !since.is_null());
        }
        let said = fs::metadata(path).ok()?.mtime();
        Some(self.now().map_or(true, |now| now - said < SILENCE))
    }

    /// The time by the clock of the file system, in seconds.
    fn now(&self) -> std::io::Result<i64> {
        let path = self.folder.join(format!("now.{}", std::process::id()));
        let now = create(&path).and_then(|mut file| file.write_all(b"?").and_then(|()| file.metadata()));
        let _ = fs::remove_file(&path); // it has served
        now.map(|meta| meta.mtime())
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Vec<PathBuf>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Claim<'_> {
    /// The own claim goes last: until then the file is not free.
    fn drop(&mut self) {
        self.claims.held().retain(|path| !self.files.contains(path));
        for path in &self.files {
            let _ = fs::remove_file(path); // what is left is a claim of a process that is gone
        }
    }
}

/// All that was said in a folder of results.
pub fn all_said(to: &Path) -> Vec<Value> {
    let entries = fs::read_dir(to.join(FOLDER)).into_iter().flatten().flatten().map(|e| e.path());
    entries.filter(|path| path.extension().is_some_and(|end| end == "done")).filter_map(|path| said(&path)).collect()
}

/// Forgets what was said of a file, as something newer stands elsewhere.
pub fn forget(to: &Path, key: &str) {
    let _ = fs::remove_file(to.join(FOLDER).join(format!("{}.done", name(key)))); // mostly there is none
}

fn said(path: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn create(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(path)
}

/// A file's name among the claims, which may be longer than the name of a file can be.
fn name(key: &str) -> String {
    let mut text = key.as_bytes().to_vec();
    text.resize(text.len().next_multiple_of(4), 0);
    format!("{:016x}", sleek::container::checksum::keyed_sum(&text))
}

/// This process, among all of all machines.
fn myself() -> Value {
    let process = std::process::id();
    json!({"machine": machine(), "process": process, "started": started(process.into())})
}

/// This machine since it was started, and the part of it whose processes are seen.
fn machine() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let seen = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{} {} {}", host.trim(), boot.trim(), seen.display())
}

/// When a process began, by its kernel's count; null where there is none, or no kernel that tells.
fn started(process: u64) -> Value {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // Its name, in brackets, may have spaces.
    let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
    let is_gone = matches!(fields.first(), Some(&"Z" | &"X"));
    fields.get(19).filter(|_| !is_gone).map_or(Value::Null, |since| json!(since))
}

/// Says now and then that the holder of these claims is there, until the sender goes.
fn beat(held: &Arc<Mutex<Vec<PathBuf>>>) -> Sender<()> {
    let (sender, receiver) = channel();
    let held = Arc::clone(held);
    std::thread::spawn(move || {
        while receiver.recv_timeout(BEAT) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            for path in held.lock().unwrap_or_else(PoisonError::into_inner).iter() {
                let touched = OpenOptions::new().write(true).open(path).and_then(|f| f.set_modified(SystemTime::now()));
                let _ = touched; // the next beat may come through
            }
        }
    });
    sender
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A claim as a process on another machine leaves it, so many seconds ago.
    fn of_another(claims: &Claims, key: &str, seconds: u64) {
        let path = claims.folder.join(format!("{}.0", name(key)));
        fs::write(&path, json!({"machine": "elsewhere", "process": 1, "started": "1"}).to_string()).unwrap();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    }

    #[test]
    fn one_alone_has_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let claims = Claims::open(folder.path()).unwrap();
        let first = claims.take("a").unwrap();
        assert!(first.is_some() && claims.take("a").unwrap().is_none() && claims.take("b").unwrap().is_some());
        drop(first);
        assert!(claims.take("a").unwrap().is_some());
        // Of many that try at once one has it.
        let had = std::sync::atomic::AtomicU32::new(0);
        let all = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    all.wait();
                    let claim = claims.take("c").unwrap();
                    had.fetch_add(u32::from(claim.is_some()), std::sync::atomic::Ordering::Relaxed);
                    all.wait();
                });
            }
        });
        assert_eq!(had.into_inner(), 1);
        assert_eq!(fs::read_dir(folder.path().join(FOLDER)).unwrap().count(), 0);
    }

    #[test]
    fn who_is_gone_has_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let claims = Claims::open(folder.path()).unwrap();
        of_another(&claims, "a", 10);
        assert!(claims.take("a").unwrap().is_none());
        of_another(&claims, "a", 1000);
        let taken = claims.take("a").unwrap().unwrap();
        assert!(taken.files.len() == 2 && claims.take("a").unwrap().is_none());
        drop(taken);
        // A process of this machine that is no more, and one that has the number of another.
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        for (process, started) in [(u64::from(child.id()), "1"), (u64::from(std::process::id()), "1")] {
            let gone = json!({"machine": claims.me["machine"], "process": process, "started": started});
            fs::write(claims.folder.join(format!("{}.0", name("a"))), gone.to_string()).unwrap();
            assert!(claims.take("a").unwrap().is_some(), "{process}");
        }
        assert_eq!(fs::read_dir(folder.path().join(FOLDER)).unwrap().count(), 0);
    }

    #[test]
    fn what_was_said_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let claims = Claims::open(folder.path()).unwrap();
        claims.say("a", &json!({"place": "a", "done": true})).unwrap();
        assert!(claims.said("a").is_some() && claims.said("b").is_none());
        assert_eq!(all_said(folder.path()).len(), 1);
        forget(folder.path(), "a");
        assert!(claims.said("a").is_none());
    }
}
