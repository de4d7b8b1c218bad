//! The compressed file of a safetensors file: its header as a stream of bytes, then for each tensor its streams.

use sleek::{DType, Mode, Params, Profile};

use super::head::{Head, Tensor};
use crate::frames::{self, FRAME_BYTES, FrameReader};
use crate::io::{Block, Input};
use crate::progress::some_of;

/// How the file begins.
const MAGIC: [u8; 6] = [0x89, b'S', b'L', b'T', b'N', b'S'];
const VERSION: u16 = 1;
/// Bytes before the first stream: magic, version, and eight that are zero.
const PREFIX_BYTES: usize = 16;

/// Whether a file that begins so is one.
pub fn is_packed(first: &[u8]) -> bool {
    first.starts_with(&MAGIC)
}

/// How the file begins: all before the streams of tensors.
pub fn beginning(head: &Head) -> Result<Vec<u8>, String> {
    let mut prefix = [0; PREFIX_BYTES];
    prefix[..6].copy_from_slice(&MAGIC);
    prefix[6..8].copy_from_slice(&VERSION.to_le_bytes());
    let params = Params { profile: Profile::Small, ..Params::new(DType::U8) };
    let stream = sleek::compress(&params, &head.bytes).map_err(|e| e.to_string())?;
    Ok([&prefix[..], &stream].concat())
}

/// Reads such a file, frame by frame.
pub struct Reader {
    pub name: String,
    /// Bytes of a regular file.
    pub bytes: Option<u64>,
    pub head: Head,
    /// Bytes before the streams of tensors.
    pub beginning: u64,
    frames: FrameReader,
    /// The tensor whose frames come next.
    at: usize,
}

impl Reader {
    /// Reads what stands before the tensors.
    pub fn new(mut input: Input) -> Result<Reader, String> {
        let (name, bytes) = (input.name.clone(), input.bytes);
        let blame = |e: String| format!("{name}: {e}");
        let mut block = Block::default();
        input.fill(&mut block, PREFIX_BYTES)?;
        check_prefix(block.data()).map_err(blame)?;
        let mut frames = FrameReader::of_parts(input, PREFIX_BYTES as u64);
        frames.next(&mut block)?;
        let head = read_head(&block).map_err(|e| blame(format!("the header of its tensors: {e}")))?;
        let beginning = (PREFIX_BYTES + block.data().len()) as u64;
        frames.next_part();
        Ok(Reader { name, bytes, head, beginning, frames, at: 0 })
    }

    /// Reads the next frame of a tensor; false when all tensors are there, and nothing else.
    pub fn next(&mut self, block: &mut Block) -> Result<bool, String> {
        while let Some(tensor) = self.head.tensors.get(self.at) {
            // One without data has no streams.
            if tensor.bytes() > 0 && self.frames.next(block)? {
                return self.check_frame(tensor, block).map(|()| true);
            }
            self.end_part()?;
        }
        match self.frames.at_end()? {
            true => Ok(false),
            false => Err(format!("{}: something follows the last of its tensors", self.name)),
        }
    }

    /// Goes to the frames of one tensor, by name. `next_of` reads them.
    pub fn seek(&mut self, name: &str) -> Result<(), String> {
        let Some(place) = self.head.tensors.iter().position(|t| t.name == name) else {
            return Err(self.no_such(name));
        };
        while self.at < place {
            let tensor = &self.head.tensors[self.at];
            if tensor.bytes() > 0 {
                self.frames.pass_part().map_err(|e| self.blame(tensor, &e))?;
            }
            self.at += 1;
        }
        Ok(())
    }

    /// The place of the tensor whose frames come now.
    pub fn place(&self) -> usize {
        self.at
    }

    /// That tensor.
    pub fn tensor(&self) -> &Tensor {
        &self.head.tensors[self.at]
    }

    /// Reads the next frame of the tensor that `seek` went to; false when there are no more.
    pub fn next_of(&mut self, block: &mut Block) -> Result<bool, String> {
        let tensor = &self.head.tensors[self.at];
        if tensor.bytes() == 0 {
            return Ok(false);
        }
        match self.frames.next(block)? {
            true => self.check_frame(tensor, block).map(|()| true),
            false => self.check_count(u64::ne).map(|()| false),
        }
    }

    fn end_part(&mut self) -> Result<(), String> {
        if self.head.tensors[self.at].bytes() > 0 {
            self.check_count(u64::ne)?;
            self.frames.next_part();
        }
        self.at += 1;
        Ok(())
    }

    /// Refuses a frame that is none of the tensor.
    fn check_frame(&self, tensor: &Tensor, frame: &Block) -> Result<(), String> {
        let (found, expected) = (frames::header(frame)?.layout.dtype, tensor.dtype);
        if found != expected {
            let (found, kind, expected) = (found.name(), &tensor.kind, expected.name());
            return Err(self.blame(tensor, &format!("its stream has elements {found}, {kind} takes {expected}")));
        }
        self.check_count(u64::gt)
    }

    /// Refuses frames whose elements are more than the tensor's, or at its end not as many.
    fn check_count(&self, wrong: impl Fn(&u64, &u64) -> bool) -> Result<(), String> {
        let tensor = self.tensor();
        let (count, expected) = (self.frames.dims()?.count(), tensor.count());
        match wrong(&count, &expected) {
            true => Err(self.blame(tensor, &format!("its streams hold {count} elements, its header says {expected}"))),
            false => Ok(()),
        }
    }

    fn blame(&self, tensor: &Tensor, message: &str) -> String {
        format!("{}: tensor '{}': {message}", self.name, tensor.name)
    }

    fn no_such(&self, name: &str) -> String {
        let known = some_of(self.head.tensors.iter().map(|t| t.name.clone()));
        format!("--tensor {name}: {} has no such tensor; it has {known}", self.name)
    }
}

fn check_prefix(prefix: &[u8]) -> Result<(), String> {
    if prefix.len() < PREFIX_BYTES || !is_packed(prefix) {
        return Err("is no compressed file of tensors".into());
    }
    let version = u16::from_le_bytes([prefix[6], prefix[7]]);
    if version != VERSION {
        return Err(format!("is a file of tensors of version {version}; this command reads version {VERSION}"));
    }
    match prefix[8..].iter().any(|b| *b != 0) {
        true => Err(format!("bytes 8 to 15 are {:02x?}, not zero", &prefix[8..])),
        false => Ok(()),
    }
}

/// The header that the first stream holds.
fn read_head(stream: &Block) -> Result<Head, String> {
    let header = frames::header(stream)?;
    let (kind, count) = (header.layout.dtype, header.layout.count);
    if kind != DType::U8 || header.mode != Mode::Lossless || header.more {
        return Err("is no stream of bytes".into());
    }
    // Safetensors' own limit is not far above, and a small stream may claim a huge array.
    if count > 2 * FRAME_BYTES as u64 {
        return Err(format!("is to have {count} bytes"));
    }
    let bytes = sleek::decompress(stream.data()).map_err(|e| e.to_string())?;
    Head::parse(&bytes)
}
