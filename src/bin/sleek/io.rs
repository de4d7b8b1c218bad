//! Where data comes from and goes to: files, pipes, `-`. A result file appears complete or not at all.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A buffer that is filled again and again without being zeroed again.
#[derive(Default)]
pub struct Block {
    bytes: Vec<u8>,
    used: usize,
    /// Whether more blocks follow, where that matters.
    pub more: bool,
}

impl Block {
    /// Room for `n` bytes, whatever they hold.
    pub fn room(&mut self, n: usize) -> &mut [u8] {
        if self.bytes.len() < n {
            // Zeroed by the system, page by page where they are used: a small file takes little of a large room.
            self.bytes = vec![0; n];
        }
        self.used = n;
        &mut self.bytes[..n]
    }

    /// Keeps the first `n` bytes of the room.
    pub fn keep(&mut self, n: usize) {
        debug_assert!(n <= self.used);
        self.used = n;
    }

    /// What was kept.
    pub fn data(&self) -> &[u8] {
        &self.bytes[..self.used]
    }
}

/// A file or standard input, with the name to call it in messages.
pub struct Input {
    pub name: String,
    source: Source,
    /// Bytes of a regular file; `None` for what can be read only once.
    pub bytes: Option<u64>,
}

/// A file of which one byte may have been read ahead.
struct Source {
    file: File,
    ahead: Option<u8>,
}

impl Read for Source {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match (self.ahead.take(), room.first_mut()) {
            (Some(byte), Some(first)) => {
                *first = byte;
                Ok(1)
            }
            (ahead, _) => {
                self.ahead = ahead;
                self.file.read(room)
            }
        }
    }
}

impl Input {
    /// Opens `path`; `-` is standard input.
    pub fn open(path: &Path) -> Result<Input, String> {
        if path.as_os_str() == "-" {
            let file = standard_input().map_err(|e| format!("standard input: {e}"))?;
            return Ok(Input { name: "standard input".into(), source: Source { file, ahead: None }, bytes: None });
        }
        let name = path.display().to_string();
        let file = File::open(path).map_err(|e| format!("{name}: {e}"))?;
        let meta = file.metadata().map_err(|e| format!("{name}: {e}"))?;
        if meta.is_dir() {
            return Err(format!("{name}: is a directory; a file or - is needed"));
        }
        Ok(Input { name, source: Source { file, ahead: None }, bytes: meta.is_file().then_some(meta.len()) })
    }

    /// Reads `n` bytes, or as many as are left.
    pub fn fill(&mut self, block: &mut Block, n: usize) -> Result<usize, String> {
        let room = block.room(n);
        let mut got = 0;
        while got < n {
            match self.source.read(&mut room[got..]) {
                Ok(0) => break,
                Ok(k) => got += k,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(format!("{}: {e}", self.name)),
            }
        }
        block.keep(got);
        Ok(got)
    }

    /// Whether there is more to read, which waits for it if need be.
    pub fn more(&mut self) -> Result<bool, String> {
        let mut byte = [0];
        while self.source.ahead.is_none() {
            match self.source.file.read(&mut byte) {
                Ok(0) => return Ok(false),
                Ok(_) => self.source.ahead = Some(byte[0]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(format!("{}: {e}", self.name)),
            }
        }
        Ok(true)
    }

    /// Appends up to `n` bytes to what `block` holds; memory grows only as data comes.
    pub fn append(&mut self, block: &mut Block, n: u64) -> Result<(), String> {
        block.bytes.truncate(block.used);
        let mut source = (&mut self.source).take(n);
        source.read_to_end(&mut block.bytes).map_err(|e| format!("{}: {e}", self.name))?;
        block.used = block.bytes.len();
        Ok(())
    }

    /// Back to the first byte of a regular file.
    pub fn rewind(&mut self) -> Result<(), String> {
        self.source.ahead = None;
        self.source.file.seek(SeekFrom::Start(0)).map(drop).map_err(|e| format!("{}: {e}", self.name))
    }
}

#[cfg(unix)]
fn standard_input() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

#[cfg(not(unix))]
fn standard_input() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
}

/// Prints a line at once, as `println!` does, but without its panic: `said` has what went wrong.
macro_rules! say {
    ($($text:tt)*) => { $crate::io::print_line(format_args!($($text)*)) };
}
pub(crate) use say;

/// The first line that could not be printed.
static UNSAID: OnceLock<io::Error> = OnceLock::new();

pub fn print_line(line: fmt::Arguments) {
    if let Err(e) = writeln!(io::stdout().lock(), "{line}") {
        let _ = UNSAID.set(e); // the first error is the cause
    }
}

/// Whether standard output has taken every line.
pub fn said() -> Result<(), String> {
    match UNSAID.get() {
        Some(e) => Err(format!("standard output: {e}")),
        None => Ok(()),
    }
}

/// Prints a line on standard error. Where that fails nobody is left to be told.
pub fn tell(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Where a result goes.
pub struct Output {
    pub name: String,
    sink: Sink,
}

enum Sink {
    /// A pipe, a device or standard output: bytes go out as they come.
    Direct(Box<dyn Write + Send>),
    /// A new file beside its place.
    Staged { file: File, staging: Staging },
}

impl Output {
    /// Prepares to write `path`; `-` is standard output. An existing file is refused without `force`.
    pub fn create(path: &Path, force: bool) -> Result<Output, String> {
        if path.as_os_str() == "-" {
            return standard_output();
        }
        let name = path.display().to_string();
        let sink = match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => return Err(format!("{name}: is a directory; a file name or - is needed")),
            Ok(meta) if meta.is_file() && !force => return Err(exists(&name)),
            Ok(meta) if !meta.is_file() => OpenOptions::new().write(true).open(path).map(|f| Sink::Direct(Box::new(f))),
            _ => Staging::new(path, force).map(|(file, staging)| Sink::Staged { file, staging }),
        };
        Ok(Output { sink: sink.map_err(|e| format!("{name}: {e}"))?, name })
    }

    /// Writes all of `data`.
    pub fn write(&mut self, data: &[u8]) -> Result<(), String> {
        let sink: &mut dyn Write = match &mut self.sink {
            Sink::Direct(w) => w,
            Sink::Staged { file, .. } => file,
        };
        sink.write_all(data).map_err(|e| format!("{}: {e}", self.name))
    }

    /// Puts the result in its place.
    pub fn finish(self) -> Result<(), String> {
        let done = match self.sink {
            Sink::Direct(mut w) => w.flush(),
            Sink::Staged { staging, .. } => return staging.finish(),
        };
        done.map_err(|e| format!("{}: {e}", self.name))
    }
}

fn exists(name: &str) -> String {
    format!("{name} exists; --force replaces it")
}

fn standard_output() -> Result<Output, String> {
    if io::stdout().is_terminal() {
        return Err("standard output is a terminal; name a file or send it to a pipe".into());
    }
    Ok(Output { name: "standard output".into(), sink: Sink::Direct(Box::new(io::stdout())) })
}

/// A new file beside its place, moved there in `finish`.
pub struct Staging {
    staged: Staged,
    target: PathBuf,
    force: bool,
}

impl Staging {
    /// Makes an empty file under a hidden name.
    pub fn new(path: &Path, force: bool) -> io::Result<(File, Staging)> {
        // The target of a symbolic link is replaced, not the link.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let Some(name) = target.file_name() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a file name"));
        };
        let hidden = format!(".{}.sleek-{}", name.to_string_lossy(), std::process::id());
        let path = target.with_file_name(hidden);
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        Ok((file, Staging { staged: Staged::new(path), target, force }))
    }

    /// Where the file is for now.
    pub fn path(&self) -> &Path {
        &self.staged.path
    }

    /// Puts the file in its place.
    pub fn finish(self) -> Result<(), String> {
        let name = self.target.display().to_string();
        let done = match self.force {
            true => self.staged.replace(&self.target),
            // Linking fails if the name was taken meanwhile; renaming would replace it.
            false => match fs::hard_link(&self.staged.path, &self.target) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Err(exists(&name)),
                Err(_) => self.staged.replace(&self.target),
                Ok(()) => Ok(()),
            },
        };
        done.map_err(|e| format!("{name}: {e}"))
    }
}

/// Refuses a place where there is something that must not be replaced.
pub fn check_place(path: &Path, force: bool) -> Result<(), String> {
    let name = path.display().to_string();
    match fs::metadata(path) {
        Ok(meta) if !meta.is_file() => Err(format!("{name}: is not a regular file; a file name is needed")),
        Ok(_) if !force => Err(exists(&name)),
        _ => Ok(()),
    }
}

/// A temporary file that goes away unless it is renamed: on drop, and when a signal ends the process.
struct Staged {
    path: PathBuf,
}

impl Staged {
    fn new(path: PathBuf) -> Staged {
        signals::remove_on_signal(Some(&path));
        Staged { path }
    }

    fn replace(&self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        signals::remove_on_signal(None);
        let _ = fs::remove_file(&self.path); // after a rename there is nothing left to remove
    }
}

/// Lets a closed pipe end the process as it ends every other tool, rather than fail each print. A file that reaches the
/// limit of sizes (`ulimit -f`) fails its write instead, so that it goes away as on a full disk.
pub fn settle_signals() {
    #[cfg(unix)]
    // SAFETY: restores a default disposition and ignores a signal, before any thread runs.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

#[cfg(unix)]
pub use signals::end_on_signal;

#[cfg(unix)]
mod signals {
    use std::ffi::{CString, c_char, c_int};
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;
    use std::ptr;
    use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

    static DOOMED: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());
    static CHILD: AtomicI32 = AtomicI32::new(0);

    /// Names the one file that must not survive an interruption.
    pub fn remove_on_signal(path: Option<&Path>) {
        let name = path.and_then(|p| CString::new(p.as_os_str().as_bytes()).ok());
        // The old name is leaked: a handler may be reading it.
        DOOMED.store(name.map_or(ptr::null_mut(), CString::into_raw), Ordering::SeqCst);
        catch_all();
    }

    /// Names the one child process that must not survive an interruption: it may be writing that file.
    pub fn end_on_signal(child: Option<u32>) {
        CHILD.store(child.map_or(0, |id| id as i32), Ordering::SeqCst);
        catch_all();
    }

    fn catch_all() {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGPIPE] {
            // SAFETY: `remove_and_die` only makes async-signal-safe calls.
            unsafe { catch(signal) };
        }
    }

    /// # Safety
    /// `remove_and_die` must be async-signal-safe.
    unsafe fn catch(signal: c_int) {
        let handler = remove_and_die as extern "C" fn(c_int);
        // SAFETY: valid signal numbers and a handler of the right type. An ignored signal (nohup) stays ignored.
        unsafe {
            if libc::signal(signal, handler as libc::sighandler_t) == libc::SIG_IGN {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
    }

    extern "C" fn remove_and_die(signal: c_int) {
        let (child, name) = (CHILD.load(Ordering::SeqCst), DOOMED.load(Ordering::SeqCst));
        // SAFETY: these functions are async-signal-safe; `child` is not waited for yet, `name` is a leaked C string or
        // null.
        unsafe {
            if child > 0 {
                libc::kill(child, libc::SIGKILL);
                libc::waitpid(child, ptr::null_mut(), 0);
            }
            if !name.is_null() {
                libc::unlink(name);
            }
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

#[cfg(not(unix))]
mod signals {
    pub fn remove_on_signal(_: Option<&std::path::Path>) {}
}
