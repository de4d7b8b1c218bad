//! Every number of the container. The CUDA sources take theirs from here (`kernels/common/constants.h` is generated).

/// First bytes of a stream. 0x89 and the control characters catch transfers in text mode.
pub const MAGIC: [u8; 6] = [0x89, b'S', b'L', b'E', b'E', b'K'];
/// Version of the format that this library writes, and the newest that it reads.
pub const VERSION: u16 = 1;

/// Bytes of the stream header.
pub const HEADER_BYTES: usize = 64;
/// Bytes of data in a chunk where the header does not say otherwise; only the last one may hold less.
pub const CHUNK_BYTES: usize = 16384;
/// Chunks that share a group record (offset and checksum) in the index.
pub const GROUP_CHUNKS: usize = 64;
/// Bytes of a group record.
pub const GROUP_BYTES: usize = 16;
/// Everything is aligned to this many bytes from the start of the stream; sizes in the index count this unit.
pub const ALIGN: usize = 16;

/// Bytes of a narrow index entry; a wide one has twice as many.
pub const ENTRY_BYTES: usize = 2;
/// Bits of a narrow index entry that hold the size; the two above hold the chunk's kind.
pub const ENTRY_SIZE_MASK: u16 = 0x3fff;
/// Position of the chunk kind in a narrow index entry.
pub const ENTRY_KIND_SHIFT: u32 = 14;

/// Fixed bytes at the start of the header's extension.
pub const EXTENSION_BYTES: usize = 16;
/// The longest extension that a reader takes.
pub const MAX_EXTENSION_BYTES: usize = 1 << 20;
/// Chunks have at least 2^this bytes, if they are runs.
pub const MIN_CHUNK_LOG2: u8 = 12;
/// And at most 2^this.
pub const MAX_CHUNK_LOG2: u8 = 17;

/// Header flag: elements were big-endian in the source and are restored so.
pub const FLAG_BIG_ENDIAN: u8 = 1;
/// Header flag: written by the `fast` profile (informative).
pub const FLAG_FAST: u8 = 2;
/// Header flag: in a file of several streams another one follows.
pub const FLAG_MORE: u8 = 4;
/// Header flag: an extension follows the 64 bytes.
pub const FLAG_EXTENDED: u8 = 8;

/// Checksum: key of word i is (2i + 1) × this, modulo 2^32.
pub const KEY32: u32 = 0x9E37_79B1;
/// Checksum: increment of the mixing function.
pub const KEY64: u64 = 0x9E37_79B9_7F4A_7C15;

const _: () = assert!((1usize << MAX_CHUNK_LOG2) / ALIGN <= ENTRY_SIZE_MASK as usize);
