//! Where data comes from.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use super::Block;
use super::rights::Model;
use super::turned::in_c_order;

/// A file or standard input, with the name to call it in messages.
pub struct Input {
    pub name: String,
    source: Ahead,
    /// Where in a regular file what is read begins.
    begin: u64,
    /// Bytes from there on; `None` for what can be read only once.
    pub bytes: Option<u64>,
    /// The rights of a regular file.
    pub rights: Option<Model>,
}

/// A file of which a few bytes may have been read ahead.
struct Ahead {
    file: File,
    ahead: Vec<u8>,
    /// What is read in the place of the file.
    turned: Option<Cursor<Vec<u8>>>,
}

impl Ahead {
    fn of(file: File) -> Ahead {
        Ahead { file, ahead: Vec::new(), turned: None }
    }

    /// Reads what was not read ahead.
    fn read_on(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match &mut self.turned {
            Some(turned) => turned.read(room),
            None => self.file.read(room),
        }
    }
}

impl Read for Ahead {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self.ahead.len().min(room.len()) {
            0 => self.read_on(room),
            n => {
                room[..n].copy_from_slice(&self.ahead[..n]);
                self.ahead.drain(..n);
                Ok(n)
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
            return Ok(Input { name, source: Ahead::of(file), begin: 0, bytes: None, rights });
        }
        let name = path.display().to_string();
        let file = File::open(path).map_err(|e| format!("{name}: {e}"))?;
        let meta = file.metadata().map_err(|e| format!("{name}: {e}"))?;
        if meta.is_dir() {
            return Err(format!("{name}: is a directory; a file or - is needed"));
        }
        let (rights, bytes) = (Model::of(&file), meta.is_file().then_some(meta.len()));
        Ok(Input { name, source: Ahead::of(file), begin: 0, bytes, rights })
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
        self.peek(1).map(|ahead| !ahead.is_empty())
    }

    /// The next `n` bytes, or as many as are left, which are to be read all the same.
    pub fn peek(&mut self, n: usize) -> Result<&[u8], String> {
        while self.source.ahead.len() < n {
            let mut bytes = [0; 64];
            let missing = (n - self.source.ahead.len()).min(bytes.len());
            match self.source.read_on(&mut bytes[..missing]) {
                Ok(0) => break,
                Ok(k) => self.source.ahead.extend_from_slice(&bytes[..k]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(format!("{}: {e}", self.name)),
            }
        }
        let have = n.min(self.source.ahead.len());
        Ok(&self.source.ahead[..have])
    }

    /// Appends up to `n` bytes to what `block` holds; memory grows only as data comes.
    pub fn append(&mut self, block: &mut Block, n: u64) -> Result<(), String> {
        block.bytes.truncate(block.used);
        let mut source = (&mut self.source).take(n);
        source.read_to_end(&mut block.bytes).map_err(|e| format!("{}: {e}", self.name))?;
        block.used = block.bytes.len();
        Ok(())
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
            self.source.turned = Some(Cursor::new(in_c_order(&block.bytes, size, lens).map_err(no_memory)?));
            self.bytes = Some(bytes);
        }
        Ok(have)
    }

    /// Goes past the first `n` bytes of a regular file.
    pub fn skip(&mut self, n: u64) -> Result<(), String> {
        self.source.ahead.clear();
        self.source.file.seek(SeekFrom::Start(n)).map(drop).map_err(|e| format!("{}: {e}", self.name))
    }

    /// Passes the next `n` bytes, or as many as are left.
    pub fn pass(&mut self, n: u64) -> Result<(), String> {
        let ahead = n.min(self.source.ahead.len() as u64);
        self.source.ahead.drain(..ahead as usize);
        let rest = n - ahead;
        if let Some(turned) = &mut self.source.turned {
            turned.set_position(turned.position().saturating_add(rest));
            return Ok(());
        }
        let passed = match self.bytes {
            Some(_) => i64::try_from(rest).map_err(io::Error::other).and_then(|n| self.source.file.seek_relative(n)),
            None => io::copy(&mut (&mut self.source).take(rest), &mut io::sink()).map(drop),
        };
        passed.map_err(|e| format!("{}: {e}", self.name))
    }

    /// Back to where what is read of a regular file begins.
    pub fn rewind(&mut self) -> Result<(), String> {
        match &mut self.source.turned {
            Some(turned) => {
                self.source.ahead.clear();
                turned.set_position(0);
                Ok(())
            }
            None => self.skip(self.begin),
        }
    }
}

fn standard_input() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}
