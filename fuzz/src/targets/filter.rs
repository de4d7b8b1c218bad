//! The HDF5 filter as HDF5 calls it: any words, any chunk, and what a damaged file would give it to read.

use std::ffi::c_void;

use super::Input;
use crate::reference::builder::seal;
use sleek::api::hdf5_filter::abi::{FilterClass, H5Z_FLAG_REVERSE};
use sleek::api::hdf5_filter::{caller::Caller, filter_of};

/// A chunk in memory from `malloc`, as HDF5 hands it over: `len` bytes in a buffer of `room`.
struct Chunk {
    start: *mut c_void,
    len: usize,
    room: usize,
}

impl Chunk {
    fn new(bytes: &[u8]) -> Chunk {
        // SAFETY: the block is as long as the bytes, and new.
        unsafe {
            let start = libc::malloc(bytes.len().max(1));
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), start.cast(), bytes.len());
            Chunk { start, len: bytes.len(), room: bytes.len() }
        }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: as long as the filter said.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.len) }
    }

    /// Whether the filter took it; if not, it is as it was. A failure makes the filter look for the HDF5 that has
    /// called in the program's file, which takes ten times as long as the rest: mostly there is no caller.
    fn filter(&mut self, flags: u32, words: &[u32], as_hdf5: bool) -> bool {
        let (before, room) = ((self.start, self.bytes().to_vec()), self.room);
        // SAFETY: the class lives for ever; the call is made as HDF5 makes it.
        let made = unsafe {
            let (count, first, len) = (words.len(), words.as_ptr(), self.len);
            let (room, start) = (&mut self.room, &mut self.start);
            if as_hdf5 {
                let class = &*sleek::api::hdf5_filter::sleek_h5_class().cast::<FilterClass>();
                class.filter.unwrap()(flags, count, first, len, room, start)
            } else {
                filter_of(Caller::default(), flags, (first, count), len, room, start)
            }
        };
        if made == 0 {
            assert!((self.start, self.bytes(), self.room) == (before.0, &before.1[..], room));
            return false;
        }
        // When HDF5 copies objects it takes our buffer for as large as the one that it gave.
        let room = room.max(before.1.len());
        assert!(self.room == made.max(room) || self.room == room);
        self.len = made;
        true
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: from malloc, ours or the filter's.
        unsafe { libc::free(self.start) };
    }
}

/// Runs the target.
pub fn run(bytes: &[u8]) {
    let mut input = Input(bytes);
    let (kind, extra) = (input.u8(), input.u8() % 16);
    let as_hdf5 = kind >> 3 == 0;
    let mut words = if kind & 1 == 0 { sleek::api::hdf5_filter::cd_values_of(&input.params()) } else { Vec::new() };
    words.extend((0..extra).map(|_| if kind & 2 == 0 { u32::from(input.u8()) } else { input.u32() }));
    let mut chunk = Chunk::new(input.0);
    // HDF5 has no empty chunks, and for it 0 bytes restored are a failure.
    if !input.0.is_empty() && chunk.filter(0, &words, as_hdf5) {
        assert!(chunk.filter(H5Z_FLAG_REVERSE, &words, as_hdf5), "what the filter wrote it cannot read");
        assert_eq!(chunk.len, input.0.len());
    }
    let mut stream = input.0.to_vec();
    if kind & 4 == 0 {
        seal(&mut stream);
    }
    Chunk::new(&stream).filter(H5Z_FLAG_REVERSE, &words, as_hdf5);
}
