//! A compressed file is one stream after another (docs/reference/format.md §8); here they are called frames.

use sleek::Dims;
use sleek::container::Header;
use sleek::container::constants::{FLAG_MORE, HEADER_BYTES, MAGIC};

use crate::io::{Block, Input};
use crate::progress::number;

/// Bytes of data in a frame that `sleek compress` writes, and the most that is restored at once.
pub const FRAME_BYTES: usize = 64 << 20;

/// What the name of a compressed file ends in, unless it is given one.
pub const SUFFIX: &str = ".sleek";

/// Offset of the number of elements in a stream's header.
const COUNT_AT: usize = 16;
/// Offset of the stream's length in its header.
const STREAM_BYTES_AT: usize = 24;
const FLAGS_AT: usize = 11;

/// Reads a compressed file frame by frame.
pub struct FrameReader {
    input: Input,
    first: Option<Header>,
    /// The length of all frames that were read, along the axis on which they follow each other.
    length: u64,
    /// Whether another frame must follow.
    more: bool,
    at: u64,
}

impl FrameReader {
    pub fn new(input: Input) -> FrameReader {
        FrameReader { input, first: None, length: 0, more: true, at: 0 }
    }

    /// The first header and the dimensions of the whole array, for which the rest of the file is passed: of all streams
    /// but the first the headers alone are looked at, and these are not verified.
    pub fn survey(mut self) -> Result<(Header, Dims), String> {
        let mut frame = Block::default();
        self.next(&mut frame)?;
        let first = header(&frame)?;
        let (name, lens) = (self.input.name.clone(), first.layout.shape.dims.lens());
        let axis = self.axis();
        let slab: u64 = lens[axis + 1..].iter().product::<u64>().max(1);
        let mut count = first.layout.count;
        while self.more {
            self.input.fill(&mut frame, HEADER_BYTES)?;
            let Some(length) = stream_bytes(frame.data()).filter(|n| *n >= HEADER_BYTES as u64) else { break };
            let elements = frame.data()[COUNT_AT..].first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            count = count.saturating_add(elements);
            self.more = frame.data()[FLAGS_AT] & FLAG_MORE != 0;
            self.input.pass(length - HEADER_BYTES as u64)?;
        }
        let mut lens = lens.to_vec();
        if first.layout.count > 0 {
            lens[axis] = count / slab;
        }
        let dims = Dims::new(&lens).map_err(|e| format!("{name}: {}", e.message))?;
        Ok((first, dims))
    }

    /// Reads the next frame into `block` and verifies its header and index; false at the end of the file.
    pub fn next(&mut self, block: &mut Block) -> Result<bool, String> {
        if self.input.fill(block, HEADER_BYTES)? == 0 {
            let name = &self.input.name;
            return match &self.first {
                None => Err(format!("{name}: is empty, not a SLEEK stream")),
                Some(_) if self.more => Err(self.blame("the file ends here, though more streams should follow")),
                Some(_) => Ok(false),
            };
        }
        if !self.more {
            return Err(self.blame("something follows the last stream of the file"));
        }
        if let Some(rest) = stream_bytes(block.data()).map(|n| n.saturating_sub(HEADER_BYTES as u64)) {
            self.input.append(block, rest)?;
        }
        let header = Header::read(block.data()).map_err(|e| self.blame(&e.to_string()))?;
        // Of a stream without elements nothing is restored by which its codec would look at the header.
        if header.layout.count == 0 {
            sleek::decompress_range_into(block.data(), 0, 0, &mut []).map_err(|e| self.blame(&e.to_string()))?;
        }
        self.expect_the_same_kind(&header)?;
        let dims = &header.layout.shape.dims;
        self.length = self.length.saturating_add(dims.lens()[self.axis()]);
        self.more = header.more;
        self.at += header.stream_bytes;
        Ok(true)
    }

    fn expect_the_same_kind(&mut self, header: &Header) -> Result<(), String> {
        let first = self.first.get_or_insert_with(|| header.clone());
        let first = &*first;
        let kind = |h: &Header| {
            [
                ("element type", h.layout.dtype.name().into()),
                ("byte order", if h.big_endian { "big-endian" } else { "little-endian" }.into()),
                ("mode", h.mode.name().into()),
                ("bound", number(h.bound)),
                ("value range", number(h.range)),
                ("codec", h.codec.to_string()),
                ("missing values", format!("{:x?}", h.layout.shape.missing.told())),
                ("dimensions", others(h, axis_of(first))),
            ]
        };
        match std::iter::zip(kind(header), kind(first)).find(|(found, expected)| found != expected) {
            None => Ok(()),
            Some(((what, found), (_, expected))) => {
                let message = format!("{what} of the stream {found}, of the first one of the file {expected}");
                Err(self.blame(&format!("{message}; they must agree")))
            }
        }
    }

    /// The axis along which frames follow each other: the first along which the first frame is longer than 1.
    pub fn axis(&self) -> usize {
        self.first.as_ref().map_or(0, axis_of)
    }

    /// The dimensions of all frames that were read.
    pub fn dims(&self) -> Result<Dims, String> {
        let Some(first) = &self.first else { return Ok(Dims::NONE) };
        let mut lens = first.layout.shape.dims.lens().to_vec();
        lens[self.axis()] = self.length;
        Dims::new(&lens).map_err(|e| self.blame(&e.message))
    }

    fn blame(&self, message: &str) -> String {
        match self.at {
            0 => format!("{}: {message}", self.input.name),
            at => format!("{}, stream at byte {at}: {message}", self.input.name),
        }
    }
}

/// The axis along which the frames of a file follow each other, by the first of them.
pub fn axis_of(first: &Header) -> usize {
    first.layout.shape.dims.lens().iter().position(|len| *len > 1).unwrap_or(0)
}

/// All dimensions but the one along `axis`, for a person.
fn others(header: &Header, axis: usize) -> String {
    let lens = header.layout.shape.dims.lens().iter().enumerate();
    let shown: Vec<String> = lens.map(|(k, len)| if k == axis { "…".into() } else { len.to_string() }).collect();
    shown.join("x")
}

/// The stated length of a stream; `None` if this is no header, which the library will put into words.
fn stream_bytes(head: &[u8]) -> Option<u64> {
    if head.len() < HEADER_BYTES || head[..MAGIC.len()] != MAGIC {
        return None;
    }
    let length = head[STREAM_BYTES_AT..].first_chunk::<8>()?;
    Some(u64::from_le_bytes(*length))
}

/// The header of a frame that was read.
pub fn header(frame: &Block) -> Result<Header, String> {
    Header::read(frame.data()).map_err(|e| e.to_string())
}

pub struct FramePiece {
    first: u64,
    count: usize,
    size: usize,
}

/// The pieces in which to restore a frame, so that a small stream of a huge array needs no huge memory.
pub fn pieces(header: &Header) -> impl Iterator<Item = FramePiece> + use<> {
    pieces_of(header, FRAME_BYTES)
}

/// The same of so many bytes.
pub fn pieces_of(header: &Header, bytes: usize) -> impl Iterator<Item = FramePiece> + use<> {
    let (count, size) = (header.layout.count, header.layout.dtype.size());
    let step = bytes / size;
    (0..count).step_by(step).map(move |first| FramePiece {
        first,
        count: (count - first).min(step as u64) as usize,
        size,
    })
}

impl FramePiece {
    pub fn restore(&self, frame: &Block, block: &mut Block) -> Result<(), String> {
        let room = block.room(self.count * self.size)?;
        sleek::decompress_range_into(frame.data(), self.first, self.count, room).map_err(|e| e.to_string())
    }
}
