//! Where data comes from.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::Block;
use super::rights::Model;

/// A file or standard input, with the name to call it in messages.
pub struct Input {
    pub name: String,
    source: Source,
    /// Bytes of a regular file; `None` for what can be read only once.
    pub bytes: Option<u64>,
    /// The rights of a regular file.
    pub rights: Option<Model>,
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
            let (name, rights) = ("standard input".into(), Model::of(&file));
            return Ok(Input { name, source: Source { file, ahead: None }, bytes: None, rights });
        }
        let name = path.display().to_string();
        let file = File::open(path).map_err(|e| format!("{name}: {e}"))?;
        let meta = file.metadata().map_err(|e| format!("{name}: {e}"))?;
        if meta.is_dir() {
            return Err(format!("{name}: is a directory; a file or - is needed"));
        }
        let (rights, bytes) = (Model::of(&file), meta.is_file().then_some(meta.len()));
        Ok(Input { name, source: Source { file, ahead: None }, bytes, rights })
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

    /// Goes past the first `n` bytes of a regular file.
    pub fn skip(&mut self, n: u64) -> Result<(), String> {
        self.source.ahead = None;
        self.source.file.seek(SeekFrom::Start(n)).map(drop).map_err(|e| format!("{}: {e}", self.name))
    }

    /// Back to the first byte of a regular file.
    pub fn rewind(&mut self) -> Result<(), String> {
        self.skip(0)
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
