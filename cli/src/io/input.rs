//! Where data comes from.

use std::fs::{File, Metadata};
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::path::Path;

use super::Block;
use super::turned::in_c_order;

/// A file, or an array in memory in its place.
trait Source: Read + Seek + Send {}
impl<T: Read + Seek + Send> Source for T {}

/// A file or standard input, with the name to call it in messages.
pub struct Input {
    pub name: String,
    source: Box<dyn Source>,
    /// What was read ahead.
    ahead: Vec<u8>,
    /// Where in a regular file what is read begins.
    begin: u64,
    /// Bytes from there on; `None` for what can be read only once.
    pub bytes: Option<u64>,
    /// The rights of a regular file.
    pub rights: Option<Metadata>,
}

impl Input {
    /// Opens `path`; `-` is standard input.
    pub fn open(path: &Path) -> Result<Input, String> {
        let is_standard = path.as_os_str() == "-";
        let name = if is_standard { "standard input".into() } else { path.display().to_string() };
        let file = match is_standard {
            true => io::stdin().as_fd().try_clone_to_owned().map(File::from),
            false => File::open(path),
        };
        let opened = file.and_then(|file| Ok((file.metadata()?, file)));
        let (meta, file) = opened.map_err(|e| format!("{name}: {e}"))?;
        if meta.is_dir() {
            return Err(format!("{name}: is a directory; a file or - is needed"));
        }
        let rights = Some(meta).filter(Metadata::is_file);
        let bytes = rights.as_ref().filter(|_| !is_standard).map(Metadata::len);
        Ok(Input { name, source: Box::new(file), ahead: Vec::new(), begin: 0, bytes, rights })
    }

    /// Reads `n` bytes, or as many as are left.
    pub fn fill(&mut self, block: &mut Block, n: usize) -> Result<usize, String> {
        block.keep(0);
        self.append(block, n as u64)?;
        Ok(block.used)
    }

    /// Whether there is more to read, which waits for it if need be.
    pub fn more(&mut self) -> Result<bool, String> {
        self.peek(1).map(|ahead| !ahead.is_empty())
    }

    /// The next `n` bytes, or as many as are left, which are to be read all the same.
    pub fn peek(&mut self, n: usize) -> Result<&[u8], String> {
        let missing = n.saturating_sub(self.ahead.len()) as u64;
        let read = self.source.by_ref().take(missing).read_to_end(&mut self.ahead);
        read.map_err(|e| format!("{}: {e}", self.name))?;
        Ok(&self.ahead[..n.min(self.ahead.len())])
    }

    /// Appends up to `n` bytes to what `block` holds; memory grows only as data comes.
    pub fn append(&mut self, block: &mut Block, n: u64) -> Result<(), String> {
        block.bytes.truncate(block.used);
        let ahead = self.ahead.len().min(usize::try_from(n).unwrap_or(usize::MAX));
        block.bytes.extend(self.ahead.drain(..ahead));
        let read = self.source.by_ref().take(n - ahead as u64).read_to_end(&mut block.bytes);
        block.used = block.bytes.len();
        read.map(drop).map_err(|e| format!("{}: {e}", self.name))
    }

    /// Takes the `n` bytes that were read for no part of what is read from now on.
    pub fn begin_here(&mut self, n: u64) {
        self.begin += n;
        self.bytes = self.bytes.map(|bytes| bytes.saturating_sub(n));
    }

    /// Takes what comes, an array of `bytes` bytes in Fortran's order, into memory, and has it read in C's order.
    /// Returns how many bytes there were, of which more than one too many do not count; it is turned if they are right.
    pub fn turn(&mut self, size: usize, lens: &[u64], bytes: u64) -> Result<u64, String> {
        let name = self.name.clone();
        let no_memory = |e| format!("{name}: is in Fortran's order, so all of it is held in memory twice: {e}");
        let mut block = Block::default();
        let wanted = usize::try_from(bytes.saturating_add(1)).unwrap_or(usize::MAX);
        super::reserve(&mut block.bytes, wanted).map_err(no_memory)?;
        self.append(&mut block, bytes.saturating_add(1))?;
        let have = block.used as u64;
        if have == bytes {
            self.source = Box::new(Cursor::new(in_c_order(&block.bytes, size, lens).map_err(no_memory)?));
            (self.begin, self.bytes) = (0, Some(bytes));
        }
        Ok(have)
    }

    /// Passes the next `n` bytes, or as many as are left.
    pub fn pass(&mut self, n: u64) -> Result<(), String> {
        let ahead = n.min(self.ahead.len() as u64);
        self.ahead.drain(..ahead as usize);
        let passed = match self.bytes {
            Some(_) => i64::try_from(n - ahead).map_err(io::Error::other).and_then(|n| self.source.seek_relative(n)),
            None => io::copy(&mut self.source.by_ref().take(n - ahead), &mut io::sink()).map(drop),
        };
        passed.map_err(|e| format!("{}: {e}", self.name))
    }

    /// Back to where what is read of a regular file begins.
    pub fn rewind(&mut self) -> Result<(), String> {
        self.ahead.clear();
        self.source.seek(SeekFrom::Start(self.begin)).map(drop).map_err(|e| format!("{}: {e}", self.name))
    }
}
